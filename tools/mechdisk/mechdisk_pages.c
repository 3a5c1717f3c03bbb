// SPDX-License-Identifier: GPL-2.0
/*
 * Mode pages; see mechdisk_pages.h.
 */
#include "mechdisk_bytes.h"
#include "mechdisk_pages.h"

#define MDP_SENSE_10	0x5a
#define MDP_SELECT_10	0x55

/* Page control field of MODE SENSE. */
enum mdp_control { MDP_CURRENT, MDP_CHANGEABLE, MDP_DEFAULT, MDP_SAVED };

/* Page codes. */
#define MDP_RECOVERY	0x01
#define MDP_CACHING	0x08
#define MDP_CONTROL	0x0a
#define MDP_POWER	0x1a
#define MDP_ALL_PAGES	0x3f
#define MDP_ALL_SUBS	0xff
#define MDP_DPOFUA	0x10	/* device-specific parameter */
#define MDP_LONGLBA	0x01	/* MODE (10) header: 16-byte block descriptor */

/* Caching page. */
#define MDP_WCE		0x04
#define MDP_RCD		0x01
#define MDP_DISC	0x10
#define MDP_LBCSS	0x40
#define MDP_DRA		0x20
/* Power condition page, as before SPC-4: the standby timer is on. */
#define MDP_STANDBY	0x01
/* Longest body of a page, all but its first two bytes. */
#define MDP_BODY	0x12

/* A mode page */
struct mdp_page {
	u8 code;	/* page code */
	u8 len;	/* length of its body: all but the first two bytes */
};

/* In the order in which page 3Fh lists them. */
static const struct mdp_page mdp_pages[] = {
	{ .code = MDP_RECOVERY, .len = 0x0a },
	{ .code = MDP_CACHING, .len = 0x12 },
	{ .code = MDP_CONTROL, .len = 0x0a },
	{ .code = MDP_POWER, .len = 0x0a },
};

static bool mdp_has(const struct mde_config *c, const struct mdp_page *page)
{
	if (page->code == MDP_RECOVERY)
		return c->recovery_control;
	/* libata has no others (ata_scsiop_mode_sense()). */
	if (mde_is_ata(c))
		return page->code == MDP_CACHING || page->code == MDP_CONTROL;
	return page->code != MDP_POWER || c->standby_timer_ms;
}

static void mdp_defaults(const struct mde_config *c, struct mdp_modes *m)
{
	bool cache = c->segments;

	m->caching.read_cache = cache && c->read_cache;
	m->caching.look_ahead = cache && c->look_ahead;
	m->caching.write_cache = cache && c->write_segments &&
		c->write_cache_on;
}

/* Caching. */

/* A number for a field of 16 bits that only gives an idea. */
static u32 mdp_about(u64 n)
{
	return n < 0xffff ? n : 0xffff;
}

static void mdp_fill_caching(const struct mde_config *c,
			     const struct mdp_modes *m, u8 *b)
{
	u64 most = c->ahead_sectors ?: c->segment_sectors;

	if (m->caching.write_cache)
		b[0] |= MDP_WCE;
	if (!m->caching.read_cache)
		b[0] |= MDP_RCD;
	if (!c->segments)
		return;
	if (c->ahead == MDE_AHEAD_SEGMENT || c->ahead == MDE_AHEAD_STREAM)
		b[0] |= MDP_DISC;
	if (c->ahead != MDE_AHEAD_NONE) {
		put_unaligned_be16(0xffff, b + 2);
		put_unaligned_be16(mdp_about(c->ahead_least), b + 4);
		put_unaligned_be16(mdp_about(most), b + 6);
		put_unaligned_be16(mdp_about(most), b + 8);
	}
	b[10] = MDP_LBCSS;
	if (!m->caching.look_ahead)
		b[10] |= MDP_DRA;
	b[11] = c->segments;
	put_unaligned_be16(mdp_about(c->segment_sectors), b + 12);
}

static void mdp_mask_caching(const struct mde_config *c, u8 *b)
{
	if (!c->segments)
		return;
	if (c->write_segments)
		b[0] = MDP_WCE;
	/* SAT-3, 10.1.7; libata has it so, too. */
	if (mde_is_ata(c))
		return;
	b[0] |= MDP_RCD;
	b[10] = MDP_DRA;
}

static void mdp_take_caching(const struct mde_config *c, const u8 *b,
			     struct mdp_modes *m)
{
	if (!c->segments)
		return;
	m->caching.write_cache = b[0] & MDP_WCE;
	m->caching.read_cache = !(b[0] & MDP_RCD);
	m->caching.look_ahead = !(b[10] & MDP_DRA);
}

/* Control: unrestricted reordering. */
static void mdp_fill_control(u8 *b)
{
	b[1] = 0x10;
}

/* In tenths of a second, rounded up. */
static void mdp_fill_power(const struct mde_config *c, u8 *b)
{
	b[1] = MDP_STANDBY;
	put_unaligned_be32((c->standby_timer_ms + 99) / 100, b + 6);
}

/* The time limit, ms; whatever was set, sectors are read again and reassigned if they are bad. */
static void mdp_fill_recovery(const struct mde_config *c, u8 *b)
{
	put_unaligned_be16(c->recovery_limit_ms, b + 8);
}

/* Any page's body, zeroed before. */
static void mdp_fill(const struct mdp_page *page, const struct mde_config *c,
		     const struct mdp_modes *m, u8 *body)
{
	switch (page->code) {
	case MDP_RECOVERY:
		return mdp_fill_recovery(c, body);
	case MDP_CACHING:
		return mdp_fill_caching(c, m, body);
	case MDP_CONTROL:
		return mdp_fill_control(body);
	case MDP_POWER:
		return mdp_fill_power(c, body);
	}
}

void mdp_init(struct mdp *p, const struct mde_config *cfg,
	      const struct mdp_modes *saved)
{
	p->cfg = cfg;
	if (saved)
		p->saved = *saved;
	else
		mdp_defaults(cfg, &p->saved);
	p->now = p->saved;
}

/* Only what the caching page holds outlives power, and there must be any. */
static bool mdp_savable(const struct mdp *p, const struct mdp_page *page)
{
	return page->code == MDP_CACHING && p->cfg->segments;
}

/* MODE SENSE. */

static u32 mdp_put_page(const struct mdp *p, const struct mdp_page *page,
			enum mdp_control control, u8 *r)
{
	struct mdp_modes m = p->now;

	memset(r, 0, page->len + 2);
	r[0] = page->code | (mdp_savable(p, page) ? 0x80 : 0);
	r[1] = page->len;
	if (control == MDP_DEFAULT)
		mdp_defaults(p->cfg, &m);
	else if (control == MDP_SAVED)
		m = p->saved;
	if (control == MDP_CHANGEABLE && page->code == MDP_CACHING)
		mdp_mask_caching(p->cfg, r + 2);
	else if (control != MDP_CHANGEABLE)
		mdp_fill(page, p->cfg, &m, r + 2);
	return page->len + 2;
}

/* The block descriptor: capacity and length of a block. */
static u32 mdp_put_descriptor(const struct mde_config *c, bool longlba, u8 *r)
{
	memset(r, 0, 16);
	if (longlba) {
		put_unaligned_be64(c->sectors, r);
		put_unaligned_be32(c->sector_bytes, r + 12);
		return 16;
	}
	put_unaligned_be32(min_t(u64, c->sectors, U32_MAX), r);
	put_unaligned_be24(c->sector_bytes, r + 5);
	return 8;
}

static bool mdp_refuse(struct mdp_error *err, u8 asc, u32 field)
{
	err->asc = asc;
	err->field = field;
	return false;
}

static u32 mdp_put_header(const u8 *cdb, u32 descriptor, u32 len, u8 *r)
{
	if (cdb[0] != MDP_SENSE_10) {
		memset(r, 0, 4);
		r[0] = len + 4 - 1;
		r[2] = MDP_DPOFUA;
		r[3] = descriptor;
		return 4;
	}
	memset(r, 0, 8);
	put_unaligned_be16(len + 8 - 2, r);
	r[3] = MDP_DPOFUA;
	r[4] = descriptor == 16 ? MDP_LONGLBA : 0;
	put_unaligned_be16(descriptor, r + 6);
	return 8;
}

u32 mdp_sense(const struct mdp *p, const u8 *cdb, u8 r[MDP_REPLY],
	      struct mdp_error *err)
{
	enum mdp_control control = cdb[2] >> 6;
	u8 want = cdb[2] & 0x3f;
	bool longlba = cdb[0] == MDP_SENSE_10 && (cdb[1] & 0x10);
	u32 head = cdb[0] == MDP_SENSE_10 ? 8 : 4;
	u32 descriptor = 0, len, i;

	if (!p->cfg->mode_sense)
		return mdp_refuse(err, MDP_ASC_OPCODE, 0);
	if (!(cdb[1] & 0x08))
		descriptor = mdp_put_descriptor(p->cfg, longlba, r + head);
	len = descriptor;
	for (i = 0; i < ARRAY_SIZE(mdp_pages); i++)
		if (mdp_has(p->cfg, &mdp_pages[i]) &&
		    (want == mdp_pages[i].code || want == MDP_ALL_PAGES))
			len += mdp_put_page(p, &mdp_pages[i], control,
					    r + head + len);
	if (len == descriptor)
		return mdp_refuse(err, MDP_ASC_CDB, 2);
	/* No page has subpages. */
	if (cdb[3] && !(cdb[3] == MDP_ALL_SUBS && want == MDP_ALL_PAGES))
		return mdp_refuse(err, MDP_ASC_CDB, 3);
	return len + mdp_put_header(cdb, descriptor, len, r);
}

/* MODE SELECT. */

/* The capacity cannot be changed: the descriptor is as MODE SENSE gave it. */
static bool mdp_take_descriptor(const struct mde_config *c, const u8 *d,
				u32 len, u32 at, struct mdp_error *err)
{
	u8 mine[16];

	if (!len)
		return true;
	mdp_put_descriptor(c, len == 16, mine);
	if (memcmp(d, mine, len))
		return mdp_refuse(err, MDP_ASC_LIST, at);
	return true;
}

static const struct mdp_page *mdp_find(const struct mde_config *c, u8 code)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(mdp_pages); i++)
		if (mdp_pages[i].code == code && mdp_has(c, &mdp_pages[i]))
			return &mdp_pages[i];
	return NULL;
}

/* One page, its body @b at byte @at of the list; into @m. */
static bool mdp_take_page(const struct mdp *p, const struct mdp_page *page,
			  const u8 *b, u32 at, struct mdp_modes *m,
			  struct mdp_error *err)
{
	u8 now[MDP_BODY] = { 0 }, mask[MDP_BODY] = { 0 };
	u32 i;

	mdp_fill(page, p->cfg, m, now);
	if (page->code == MDP_CACHING)
		mdp_mask_caching(p->cfg, mask);
	for (i = 0; i < page->len; i++)
		if ((b[i] ^ now[i]) & ~mask[i])
			return mdp_refuse(err, MDP_ASC_LIST, at + i);
	if (page->code == MDP_CACHING)
		mdp_take_caching(p->cfg, b, m);
	return true;
}

/* The pages from byte @at of the list on; into @m. */
static bool mdp_take_pages(const struct mdp *p, const u8 *list, u32 at, u32 len,
			   struct mdp_modes *m, struct mdp_error *err)
{
	while (at < len) {
		const struct mdp_page *page;

		/* PS means nothing here; SPF: no page has subpages. */
		page = list[at] & 0x40 ? NULL : mdp_find(p->cfg, list[at] & 0x3f);
		if (!page)
			return mdp_refuse(err, MDP_ASC_LIST, at);
		if (len - at < 2)
			return mdp_refuse(err, MDP_ASC_LENGTH, 0);
		if (list[at + 1] != page->len)
			return mdp_refuse(err, MDP_ASC_LIST, at + 1);
		if (len - at - 2 < page->len)
			return mdp_refuse(err, MDP_ASC_LENGTH, 0);
		if (!mdp_take_page(p, page, list + at + 2, at + 2, m, err))
			return false;
		at += 2 + page->len;
	}
	return true;
}

/* The list's header and block descriptor; returns where its pages begin, or 0. */
static u32 mdp_take_header(const struct mdp *p, bool ten, const u8 *list,
			   u32 len, struct mdp_error *err)
{
	u32 head = ten ? 8 : 4, medium_at = ten ? 2 : 1, length_at = ten ? 6 : 3;
	bool longlba = ten && (list[4] & MDP_LONGLBA);
	u32 descriptor = ten ? get_unaligned_be16(list + length_at) :
		list[length_at];

	if (list[medium_at])
		return mdp_refuse(err, MDP_ASC_LIST, medium_at);
	if (descriptor && descriptor != (longlba ? 16 : 8))
		return mdp_refuse(err, MDP_ASC_LIST, length_at);
	if (len - head < descriptor)
		return mdp_refuse(err, MDP_ASC_LENGTH, 0);
	if (!mdp_take_descriptor(p->cfg, list + head, descriptor, head, err))
		return 0;
	return head + descriptor;
}

bool mdp_select(struct mdp *p, const u8 *cdb, const u8 *list, u32 len,
		struct mdp_error *err)
{
	bool ten = cdb[0] == MDP_SELECT_10;
	struct mdp_modes m = p->now;
	u32 at;

	/* PF: pages as in the standard, the only ones there are. */
	if (len && !(cdb[1] & 0x10))
		return mdp_refuse(err, MDP_ASC_CDB, 1);
	if (len && len < (ten ? 8 : 4))
		return mdp_refuse(err, MDP_ASC_LENGTH, 0);
	if (len) {
		at = mdp_take_header(p, ten, list, len, err);
		if (!at || !mdp_take_pages(p, list, at, len, &m, err))
			return false;
	}
	p->now = m;
	if (cdb[1] & 0x01)
		p->saved.caching = m.caching;
	return true;
}
