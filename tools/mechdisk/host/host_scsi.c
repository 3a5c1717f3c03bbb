// SPDX-License-Identifier: GPL-2.0
/*
 * SCSI commands of the simulated drive in user space; see host_scsi.h.
 */
#include "host_scsi.h"
#include "../mechdisk_bytes.h"
#include "../mechdisk_sat.h"

#define MDX_TEST_UNIT	0x00
#define MDX_REQUEST_SENSE 0x03
#define MDX_INQUIRY	0x12
#define MDX_SELECT_6	0x15
#define MDX_SENSE_6	0x1a
#define MDX_START_STOP	0x1b
#define MDX_RECEIVE_DIAG 0x1c
#define MDX_SEND_DIAG	0x1d
#define MDX_CAPACITY_10	0x25
#define MDX_DEFECTS_10	0x37
#define MDX_SELECT_10	0x55
#define MDX_SENSE_10	0x5a
#define MDX_SERVICE_16	0x9e
#define MDX_CAPACITY_16	0x10	/* service action */
#define MDX_LUNS	0xa0
#define MDX_DEFECTS_12	0xb7

#define MDX_CHECK	0x02	/* status CHECK CONDITION */

/* Additional sense codes. */
#define MDX_BAD_LBA	0x21
#define MDX_OTHER_LIST	0x1c	/* defect list not found */

/* START STOP UNIT. */
#define MDX_START	0x01	/* byte 4 */
#define MDX_NO_FLUSH	0x04	/* byte 4 */

/* Fixed format sense data. */
#define MDX_FIXED_LEN	18
#define MDX_INFO_VALID	0x80
#define MDX_FIELD_VALID	0x80
#define MDX_FIELD_CDB	0x40

/* A command under way: all that mdx_command() was given. */
struct mdx_run {
	struct mdx *x;
	struct mdh_drive *d;
	const struct prb_cdb *c;
	const u8 *out;
	u8 *in;
	struct prb_answer *a;
};

/* ---- answers ---- */

/* Fixed format; the caller adds what more there is. */
static void mdx_sense(struct mdx_run *r, u8 key, u8 asc)
{
	u8 *s = r->a->sense;

	memset(s, 0, PRB_SENSE);
	s[0] = 0x70;
	s[2] = key;
	s[7] = MDX_FIXED_LEN - 8;
	s[12] = asc;
	r->a->sense_len = MDX_FIXED_LEN;
	r->a->result.status = MDX_CHECK;
	r->a->result.asc = asc << 8;
}

static void mdx_refuse(struct mdx_run *r, u8 asc)
{
	mdx_sense(r, MDX_ILLEGAL, asc);
}

static void mdx_refuse_at(struct mdx_run *r, const struct mdp_error *err)
{
	mdx_refuse(r, err->asc);
	if (err->asc != MDP_ASC_CDB && err->asc != MDP_ASC_LIST)
		return;
	r->a->sense[15] = MDX_FIELD_VALID | (err->asc == MDP_ASC_CDB ? MDX_FIELD_CDB : 0);
	put_unaligned_be16(err->field, r->a->sense + 16);
}

/* Descriptor format, which has room for large LBNs. */
static void mdx_sense_large(struct mdx_run *r, u8 asc, u64 bad)
{
	u8 *s = r->a->sense;

	memset(s, 0, PRB_SENSE);
	s[0] = 0x72;
	s[1] = MDX_MEDIUM;
	s[2] = asc;
	s[7] = 12;
	s[9] = 10;
	s[10] = MDX_INFO_VALID;
	put_unaligned_be64(bad, s + 12);
	r->a->sense_len = 20;
}

static void mdx_medium_error(struct mdx_run *r, const struct mde_slot *s)
{
	u64 bad = s->lbn + s->good;

	mdx_sense(r, MDX_MEDIUM, s->asc);
	if (!s->info)
		return;
	if (bad > U32_MAX)
		return mdx_sense_large(r, s->asc, bad);
	r->a->sense[0] |= MDX_INFO_VALID;
	put_unaligned_be32(bad, r->a->sense + 3);
}

static void mdx_send(struct mdx_run *r, const u8 *reply, u32 len, u32 room)
{
	r->a->data = min(min(len, room), r->c->in);
	memcpy(r->in, reply, r->a->data);
}

/* ---- the medium ---- */

/* Until this command has ended; others that do are flushes nobody waits for. */
static void mdx_await(struct mdh_drive *d, int slot)
{
	int ended;

	while ((ended = mdh_wait(d, MDE_NEVER)) != slot)
		mde_release(&d->mde, ended);
}

/* Carry a command out that the engine has a part in. */
static void mdx_medium(struct mdx_run *r, const struct mdy_range *range)
{
	struct mde *e = &r->d->mde;
	int slot = mdh_submit(r->d, range->op, range->lbn, range->count, range->flags);

	if (range->at_once)
		return;
	mdx_await(r->d, slot);
	if (range->op == MDE_READ) {
		r->a->data = e->slot[slot].good * r->d->cfg.sector_bytes;
		memset(r->in, 0, r->a->data);
	}
	if (e->slot[slot].asc)
		mdx_medium_error(r, &e->slot[slot]);
	mde_release(e, slot);
}

static void mdx_flush(struct mdx_run *r, bool at_once)
{
	struct mdy_range flush = { .op = MDE_FLUSH, .at_once = at_once };
	const struct mde_config *cfg = &r->d->cfg;

	if (cfg->segments || cfg->queueing == MDE_NCQ)
		mdx_medium(r, &flush);
}

static void mdx_sectors(struct mdx_run *r, struct mdy_range *range)
{
	const struct mde_config *cfg = &r->d->cfg;
	u64 bytes = range->count * cfg->sector_bytes;

	if (!mdy_flags(r->c->cdb, range))
		return mdx_refuse(r, MDP_ASC_CDB);
	if (range->lbn >= cfg->sectors || range->count > cfg->sectors - range->lbn)
		return mdx_refuse(r, MDX_BAD_LBA);
	if (range->op == MDE_FLUSH)
		return mdx_flush(r, range->at_once);
	if (range->count > r->x->longest ||
	    (range->op == MDE_READ && bytes > r->c->in) ||
	    (range->op == MDE_WRITE && bytes > r->c->out))
		return mdx_refuse(r, MDP_ASC_CDB);
	if (range->count)
		mdx_medium(r, range);
}

/* ---- mode pages, diagnostics, defects ---- */

static void mdx_mode_sense(struct mdx_run *r)
{
	const u8 *cdb = r->c->cdb;
	u32 room = cdb[0] == MDX_SENSE_10 ? get_unaligned_be16(cdb + 7) : cdb[4];
	struct mdp_error err;
	u8 reply[MDP_REPLY];
	u32 len = mdp_sense(&r->x->pages, cdb, reply, &err);

	if (!len)
		return mdx_refuse_at(r, &err);
	mdx_send(r, reply, len, room);
}

/* A parameter list of @len bytes was sent; else refused. */
static bool mdx_fetch(struct mdx_run *r, u32 len, u32 most)
{
	if (len <= most && len <= r->c->out)
		return true;
	mdx_refuse(r, len > most ? MDP_ASC_LENGTH : MDP_ASC_CDB);
	return false;
}

static void mdx_mode_select(struct mdx_run *r)
{
	const struct mde_caching *now = &r->x->pages.now.caching;
	struct mde_caching before = *now;
	const u8 *cdb = r->c->cdb;
	u32 len = cdb[0] == MDX_SELECT_10 ? get_unaligned_be16(cdb + 7) : cdb[4];
	struct mdp_error err;

	if (!mdx_fetch(r, len, MDP_LIST))
		return;
	if (!mdp_select(&r->x->pages, cdb, r->out, len, &err))
		return mdx_refuse_at(r, &err);
	if (memcmp(&before, now, sizeof(before)))
		mde_set_caching(&r->d->mde, r->d->now, now);
	/* What was cached is on the medium when the command ends. */
	if (before.write_cache && !now->write_cache)
		mdx_flush(r, false);
}

static void mdx_send_diag(struct mdx_run *r)
{
	u32 len = get_unaligned_be16(r->c->cdb + 3);
	struct mdd_result result = { 0 };
	struct mdp_error err;

	if (!mdx_fetch(r, len, MDD_LIST))
		return;
	if (!mdd_send(&r->d->cfg, r->c->cdb, r->out, len, &result, &err))
		return mdx_refuse_at(r, &err);
	r->x->diag = result;
}

static void mdx_receive_diag(struct mdx_run *r)
{
	struct mdd_result result;
	struct mdp_error err;

	if (!mdd_receive(&r->d->cfg, r->c->cdb, &r->x->diag, &result, &err))
		return mdx_refuse_at(r, &err);
	mdx_send(r, result.page, result.len, get_unaligned_be16(r->c->cdb + 3));
}

static void mdx_defects(struct mdx_run *r)
{
	const u8 *cdb = r->c->cdb;
	u32 room = cdb[0] == MDX_DEFECTS_12 ? get_unaligned_be32(cdb + 6) :
		get_unaligned_be16(cdb + 7);
	u8 header[MDD_HEADER], next[MDD_ADDRESS];
	struct mdd_list list;
	u32 at, n;

	room = min(room, r->c->in);
	at = min(mdd_defects(&r->d->cfg, cdb, &list, header), room);
	memcpy(r->in, header, at);
	while (at < room && mdd_next(&list, next)) {
		n = min_t(u32, room - at, sizeof(next));
		memcpy(r->in + at, next, n);
		at += n;
	}
	r->a->data = at;
	if (list.substituted)
		mdx_sense(r, MDX_RECOVERED, MDX_OTHER_LIST);
}

/* ---- the rest ---- */

static void mdx_inquiry(struct mdx_run *r)
{
	u8 reply[MDY_REPLY];
	u32 len = mdy_inquiry(&r->d->cfg, r->c->cdb, reply);

	if (!len)
		return mdx_refuse(r, MDP_ASC_CDB);
	mdx_send(r, reply, len, get_unaligned_be16(r->c->cdb + 3));
}

static void mdx_capacity(struct mdx_run *r)
{
	const u8 *cdb = r->c->cdb;
	u8 reply[MDY_REPLY];
	u32 len;

	if (cdb[0] == MDX_CAPACITY_10) {
		len = mdy_capacity_10(&r->d->cfg, reply);
		return mdx_send(r, reply, len, len);
	}
	if ((cdb[1] & 0x1f) != MDX_CAPACITY_16)
		return mdx_refuse(r, MDP_ASC_CDB);
	len = mdy_capacity_16(&r->d->cfg, reply);
	mdx_send(r, reply, len, get_unaligned_be32(cdb + 10));
}

/* One logical unit, number 0. */
static void mdx_luns(struct mdx_run *r)
{
	static const u8 luns[16] = { [3] = 8 };

	mdx_send(r, luns, sizeof(luns), get_unaligned_be32(r->c->cdb + 6));
}

static void mdx_request_sense(struct mdx_run *r)
{
	u8 reply[MDY_REPLY];
	u32 len = mdy_request_sense(&r->d->cfg, 0, reply);

	if (!len)
		return mdx_refuse(r, MDP_ASC_OPCODE);
	mdx_send(r, reply, len, r->c->cdb[4]);
}

/* The drive's registers are sense data. */
static void mdx_registers(struct mdx_run *r, const u8 *sense)
{
	mdx_sense(r, sense[1], sense[2]);
	memcpy(r->a->sense, sense, MDY_ATA_SENSE);
	r->a->sense_len = MDY_ATA_SENSE;
}

static void mdx_pass_ata(struct mdx_run *r)
{
	struct mde_caching *now = &r->x->pages.now.caching;
	struct mde_caching before = *now;
	struct mds_answer a;
	enum mds_kind kind = mds_pass(&r->d->cfg, now, r->c->cdb, &a);

	if (memcmp(&before, now, sizeof(before)))
		mde_set_caching(&r->d->mde, r->d->now, now);
	if (kind == MDS_FLUSH)
		return mdx_flush(r, false);
	if (kind == MDS_REPLY)
		mdx_send(r, a.page, sizeof(a.page), sizeof(a.page));
	if (a.key)
		mdx_registers(r, a.sense);
}

static void mdx_ata(struct mdx_run *r)
{
	u8 sense[MDY_ATA_SENSE];

	if (mdy_ata(&r->d->cfg, r->c->cdb, sense))
		return mdx_registers(r, sense);
	if (!mde_is_ata(&r->d->cfg))
		return mdx_refuse(r, MDP_ASC_OPCODE);
	mdx_pass_ata(r);
}

static void mdx_start_stop(struct mdx_run *r)
{
	if (!(r->c->cdb[4] & (MDX_START | MDX_NO_FLUSH)))
		mdx_flush(r, r->c->cdb[1] & 0x01);
}

static void mdx_other(struct mdx_run *r)
{
	if (!mdy_knows(&r->d->cfg, r->c->cdb[0]))
		return mdx_refuse(r, MDP_ASC_OPCODE);
	switch (r->c->cdb[0]) {
	case MDX_TEST_UNIT:
		return;
	case MDX_START_STOP:
		return mdx_start_stop(r);
	case MDX_INQUIRY:
		return mdx_inquiry(r);
	case MDX_CAPACITY_10:
	case MDX_SERVICE_16:
		return mdx_capacity(r);
	case MDX_SENSE_6:
	case MDX_SENSE_10:
		return mdx_mode_sense(r);
	case MDX_SELECT_6:
	case MDX_SELECT_10:
		return mdx_mode_select(r);
	case MDX_SEND_DIAG:
		return mdx_send_diag(r);
	case MDX_RECEIVE_DIAG:
		return mdx_receive_diag(r);
	case MDX_DEFECTS_10:
	case MDX_DEFECTS_12:
		return mdx_defects(r);
	case MDX_LUNS:
		return mdx_luns(r);
	case MDX_REQUEST_SENSE:
		return mdx_request_sense(r);
	case MDY_ATA_PASS_16:
		return mdx_ata(r);
	default:
		return mdx_refuse(r, MDP_ASC_OPCODE);
	}
}

void mdx_command(struct mdx *x, struct mdh_drive *d, const struct prb_cdb *c,
		 const u8 *out, u8 *in, struct prb_answer *a)
{
	struct mdx_run r = { .x = x, .d = d, .c = c, .out = out, .in = in, .a = a };
	struct mdy_range range;

	if (mdy_names_sectors(c->cdb, &range))
		mdx_sectors(&r, &range);
	else
		mdx_other(&r);
}

void mdx_pass(struct mdh_drive *d, u64 until)
{
	int ended;

	while ((ended = mdh_wait(d, until)) >= 0)
		mde_release(&d->mde, ended);
}

void mdx_init(struct mdx *x, struct mdh_drive *d)
{
	memset(x, 0, sizeof(*x));
	mdp_init(&x->pages, &d->cfg, NULL);
	mde_set_caching(&d->mde, d->now, &x->pages.now.caching);
	x->longest = mdy_longest(&d->cfg);
}
