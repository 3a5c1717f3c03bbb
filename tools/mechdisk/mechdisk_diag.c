// SPDX-License-Identifier: GPL-2.0
/*
 * Defect lists and address translation; see mechdisk_diag.h.
 */
#include "mechdisk_bytes.h"
#include "mechdisk_diag.h"

#define MDD_DEFECTS_12	0xb7
/* Bits of the command's and of the list's second byte. */
#define MDD_PLIST	0x10
#define MDD_GLIST	0x08
#define MDD_FORMAT	0x07

/* Diagnostic pages. */
#define MDD_SUPPORTED	0x00
#define MDD_TRANSLATE	0x40
/* Bits of the Translate Address page's byte 5. */
#define MDD_RAREA	0x80
#define MDD_ALTSEC	0x40
/* Bits of the diagnostic commands. */
#define MDD_PF		0x10
#define MDD_SELFTEST	0x04
#define MDD_CODE	0xe0
#define MDD_PCV		0x01

/* Address formats of SBC. */
enum mdd_format {
	MDD_SHORT_BLOCK = 0,
	MDD_LONG_BLOCK = 3,
	MDD_INDEX = 4,		/* bytes from index */
	MDD_SECTOR = 5		/* physical sector */
};

static bool mdd_refuse(struct mdp_error *err, u8 asc, u32 field)
{
	err->asc = asc;
	err->field = field;
	return false;
}

/* Write a place in a physical format. */
static void mdd_put_place(const struct mde_config *c, enum mdd_format format,
			  const struct mdl_piece *at, u8 *d)
{
	u32 last = at->sector;

	if (format == MDD_INDEX)
		last *= c->sector_bytes;
	put_unaligned_be24(at->cyl, d);
	d[3] = at->head;
	put_unaligned_be32(last, d + 4);
}

/* Defect lists. */

static u64 mdd_count(const struct mdd_list *l)
{
	u64 n = 0;
	u32 i;

	if (l->primary)
		for (i = 0; i < l->cfg->slips; i++)
			n += l->cfg->slip[i].count;
	if (l->grown)
		n += l->cfg->remaps;
	return n;
}

/* Leave out the first @n. */
static void mdd_skip(struct mdd_list *l, u64 n)
{
	const struct mde_config *c = l->cfg;

	while (n && l->primary && l->slip < c->slips) {
		u32 count = c->slip[l->slip].count;

		if (n < count) {
			l->done = n;
			return;
		}
		n -= count;
		l->slip++;
	}
	if (l->grown)
		l->remap = min(n, (u64)c->remaps);
}

u32 mdd_defects(const struct mde_config *cfg, const u8 *cdb,
		struct mdd_list *l, u8 header[MDD_HEADER])
{
	bool twelve = cdb[0] == MDD_DEFECTS_12;
	u8 want = cdb[twelve ? 1 : 2];
	u64 bytes, n, first = twelve ? get_unaligned_be32(cdb + 2) : 0;

	memset(l, 0, sizeof(*l));
	l->cfg = cfg;
	l->primary = want & MDD_PLIST;
	l->grown = want & MDD_GLIST;
	l->format = want & MDD_FORMAT;
	if (l->format != MDD_INDEX && l->format != MDD_SECTOR) {
		/* With no list asked for there is no format to miss. */
		l->substituted = l->primary || l->grown;
		l->format = MDD_SECTOR;
	}
	n = mdd_count(l);
	first = min(first, n);
	mdd_skip(l, first);
	bytes = (n - first) * MDD_ADDRESS;

	memset(header, 0, MDD_HEADER);
	header[1] = (want & (MDD_PLIST | MDD_GLIST)) | l->format;
	if (twelve) {
		put_unaligned_be32(bytes < U32_MAX ? bytes : U32_MAX,
				   header + 4);
		return 8;
	}
	/* All ones: there is more than the field can say; (12) gets at it. */
	put_unaligned_be16(min(bytes, (u64)0xffff), header + 2);
	return 4;
}

bool mdd_next(struct mdd_list *l, u8 descriptor[MDD_ADDRESS])
{
	const struct mde_config *c = l->cfg;
	struct mdl_piece at;

	if (l->primary && l->slip < c->slips) {
		const struct mde_slip *s = &c->slip[l->slip];

		mdl_place(c, s->zone, s->index + l->done, &at);
		if (++l->done == s->count) {
			l->slip++;
			l->done = 0;
		}
	} else if (l->grown && l->remap < c->remaps) {
		const struct mde_remap *r = &c->remap[l->remap++];

		mdl_place(c, r->zone, r->from, &at);
	} else {
		return false;
	}
	mdd_put_place(c, l->format, &at, descriptor);
	return true;
}

/* Translation of addresses. */

/**
 * struct mdd_address - a sector in both worlds
 * @lbn: its LBN
 * @at: its place
 * @none: no LBN lives there
 * @spare: its LBN has been moved there from a defective sector
 */
struct mdd_address {
	u64 lbn;
	struct mdl_piece at;
	bool none;
	bool spare;
};

static bool mdd_is_block(u8 format)
{
	return format == MDD_SHORT_BLOCK || format == MDD_LONG_BLOCK;
}

static bool mdd_is_place(u8 format)
{
	return format == MDD_INDEX || format == MDD_SECTOR;
}

static bool mdd_find_block(const struct mde_config *c, u8 format, const u8 *d,
			   struct mdd_address *a)
{
	u32 rest = 0;

	a->lbn = get_unaligned_be64(d);
	if (format == MDD_SHORT_BLOCK) {
		a->lbn = get_unaligned_be32(d);
		rest = get_unaligned_be32(d + 4);
	}
	if (rest || a->lbn >= c->sectors)
		return false;
	mdl_locate(c, a->lbn, 1, &a->at);
	a->spare = a->at.remapped;
	return true;
}

/* All ones, the whole track, is no sector of any track and is refused. */
static bool mdd_find_place(const struct mde_config *c, u8 format, const u8 *d,
			   struct mdd_address *a)
{
	struct mdl_piece back;
	int ret;

	a->at.cyl = get_unaligned_be24(d);
	a->at.head = d[3];
	a->at.sector = get_unaligned_be32(d + 4);
	if (format == MDD_INDEX)
		a->at.sector /= c->sector_bytes;
	ret = mdl_lbn_at(c, a->at.cyl, a->at.head, a->at.sector, &a->lbn);
	a->none = ret == -ENOENT;
	if (ret)
		return a->none;
	mdl_locate(c, a->lbn, 1, &back);
	a->spare = back.remapped;
	return true;
}

static void mdd_put_address(const struct mde_config *c, u8 format,
			    const struct mdd_address *a, u8 *d)
{
	if (format == MDD_LONG_BLOCK)
		put_unaligned_be64(a->lbn, d);
	else if (format == MDD_SHORT_BLOCK)
		put_unaligned_be32(a->lbn, d);
	else
		mdd_put_place(c, format, &a->at, d);
}

/* A whole Translate Address page is in @list. */
static bool mdd_translate(const struct mde_config *c, const u8 *list,
			  struct mdd_result *r, struct mdp_error *err)
{
	u8 from = list[4] & MDD_FORMAT, to = list[5] & MDD_FORMAT;
	struct mdd_address a = { 0 };
	bool found;

	if (!mdd_is_block(from) && !mdd_is_place(from))
		return mdd_refuse(err, MDP_ASC_LIST, 4);
	if (!mdd_is_block(to) && !mdd_is_place(to))
		return mdd_refuse(err, MDP_ASC_LIST, 5);
	if (mdd_is_block(from))
		found = mdd_find_block(c, from, list + 6, &a);
	else
		found = mdd_find_place(c, from, list + 6, &a);
	if (!found)
		return mdd_refuse(err, MDP_ASC_LIST, 6);
	/* A short block address cannot name every LBN of a large drive. */
	if (to == MDD_SHORT_BLOCK && !a.none && a.lbn > U32_MAX)
		return mdd_refuse(err, MDP_ASC_LIST, 5);

	memset(r, 0, sizeof(*r));
	r->page[0] = MDD_TRANSLATE;
	r->page[4] = from;
	r->page[5] = to | (a.none ? MDD_RAREA : 0) | (a.spare ? MDD_ALTSEC : 0);
	r->len = 6;
	/* A place that holds no LBN has no LBN to tell. */
	if (!a.none || mdd_is_place(to)) {
		mdd_put_address(c, to, &a, r->page + 6);
		r->len += MDD_ADDRESS;
	}
	put_unaligned_be16(r->len - 4, r->page + 2);
	return true;
}

static void mdd_supported(const struct mde_config *c, struct mdd_result *r)
{
	memset(r, 0, sizeof(*r));
	r->page[4] = MDD_SUPPORTED;
	r->page[5] = MDD_TRANSLATE;
	r->len = c->translate ? 6 : 5;
	put_unaligned_be16(r->len - 4, r->page + 2);
}

/* The page sent, with all its bytes. */
static bool mdd_send_page(const struct mde_config *c, const u8 *list, u32 len,
			  struct mdd_result *r, struct mdp_error *err)
{
	u32 want = list[0] == MDD_TRANSLATE ? MDD_LIST : 4;

	if (list[0] != MDD_SUPPORTED &&
	    !(list[0] == MDD_TRANSLATE && c->translate))
		return mdd_refuse(err, MDP_ASC_LIST, 0);
	if (len < 4)
		return mdd_refuse(err, MDP_ASC_LENGTH, 0);
	if (get_unaligned_be16(list + 2) != want - 4)
		return mdd_refuse(err, MDP_ASC_LIST, 2);
	if (len != want)
		return mdd_refuse(err, MDP_ASC_LENGTH, 0);
	if (list[0] == MDD_TRANSLATE)
		return mdd_translate(c, list, r, err);
	mdd_supported(c, r);
	return true;
}

bool mdd_send(const struct mde_config *cfg, const u8 *cdb, const u8 *list,
	      u32 len, struct mdd_result *r, struct mdp_error *err)
{
	/* No operation, whatever is wanted. */
	if (mde_is_ata(cfg)) {
		r->len = 0;
		return true;
	}
	/* The default self-test finds nothing; others there are none. */
	if ((cdb[1] & MDD_CODE) || ((cdb[1] & MDD_SELFTEST) && len))
		return mdd_refuse(err, MDP_ASC_CDB, 1);
	if (!len) {
		r->len = 0;
		return true;
	}
	if (!(cdb[1] & MDD_PF))
		return mdd_refuse(err, MDP_ASC_CDB, 1);
	return mdd_send_page(cfg, list, len, r, err);
}

bool mdd_receive(const struct mde_config *cfg, const u8 *cdb,
		 const struct mdd_result *last, struct mdd_result *r,
		 struct mdp_error *err)
{
	bool sent = last->len;

	/* A certain page: the list of pages, or what was translated last. */
	if (cdb[1] & MDD_PCV) {
		sent = sent && last->page[0] == cdb[2];
		if (cdb[2] != MDD_SUPPORTED && !sent)
			return mdd_refuse(err, MDP_ASC_CDB, 2);
	}
	if (sent)
		*r = *last;
	else
		mdd_supported(cfg, r);
	return true;
}
