// SPDX-License-Identifier: GPL-2.0
/*
 * SCSI commands; see mechdisk_reply.h.
 */
#include "mechdisk_bytes.h"
#include "mechdisk_reply.h"
#include "mechdisk_taskfile.h"

/* Commands. */
#define MDY_TEST_UNIT	0x00
#define MDY_REQUEST_SENSE 0x03
#define MDY_INQUIRY	0x12
#define MDY_SELECT_6	0x15
#define MDY_SENSE_6	0x1a
#define MDY_START_STOP	0x1b
#define MDY_RECEIVE_DIAG 0x1c
#define MDY_SEND_DIAG	0x1d
#define MDY_CAPACITY_10	0x25
#define MDY_UNMAP	0x42
#define MDY_SELECT_10	0x55
#define MDY_SENSE_10	0x5a
#define MDY_ATA_PASS_16	0x85
#define MDY_SERVICE_16	0x9e
#define MDY_LUNS	0xa0

/* Bits and bytes of theirs. */
#define MDY_FUA		0x08	/* byte 1 of reads and writes */
#define MDY_IMMED	0x02	/* byte 1 of SYNCHRONIZE CACHE */
#define MDY_SAME_UNMAP	0x08	/* byte 1 of WRITE SAME */
#define MDY_START	0x01	/* byte 4 of START STOP UNIT */
#define MDY_NO_FLUSH	0x04	/* likewise */
#define MDY_CAPACITY_16	0x10	/* service action */
#define MDY_UNMAP_LIST	24	/* bytes of UNMAP's parameter list: one range */
#define MDY_CHECK	0x20	/* byte 2 of ATA PASS-THROUGH: registers in any case */
#define MDY_CHECK_POWER_MODE 0xe5	/* byte 14 of ATA PASS-THROUGH */

/* Sense keys, and additional sense codes beside those of mode pages. */
#define MDY_RECOVERED	0x01
#define MDY_MEDIUM	0x03
#define MDY_ILLEGAL	0x05
#define MDY_ABORTED	0x0b
#define MDY_BAD_LBA	0x21
#define MDY_LOW_POWER	0x5e
#define MDY_TOLD	0x1d	/* qualifier: ATA PASS-THROUGH INFORMATION AVAILABLE */

/* Qualifiers of MDY_LOW_POWER. */
#define MDY_IDLE_A	0x03
#define MDY_STANDBY_BY_TIMER 0x02
#define MDY_STANDBY_Z	0x04
#define MDY_IDLE_B	0x06
#define MDY_IDLE_C	0x08
#define MDY_STANDBY_Y	0x0a

#define MDY_FIXED	18	/* bytes of sense data of fixed format */
#define MDY_VALID	0x80	/* there: INFORMATION, or a pointer to a field */
#define MDY_IN_CDB	0x40	/* ... which is the command's, not its list's */

/* Who it is. */

/* Copy a name padded with blanks, as SCSI wants it. */
static void mdy_pad(u8 *to, size_t size, const char *name)
{
	size_t len = strnlen(name, size);

	memset(to, ' ', size);
	memcpy(to, name, len);
}

/* One designator: Linux would prefer a T10 vendor identification to this. A short name is locally
 * assigned (3), a long one registered extended (6), as those of logical units of arrays are.
 */
static u32 mdy_vpd_83(const struct mde_config *cfg, u8 *p)
{
	u64 naa = cfg->interface == MDE_SATA ? 5 : 3;

	p[0] = 1;		/* binary */
	p[1] = 3;		/* NAA */
	p[3] = cfg->long_id ? 16 : 8;
	put_unaligned_be64(md_tf_wwn(cfg, cfg->long_id ? 6 : naa), p + 4);
	if (cfg->long_id)
		put_unaligned_be64(~md_tf_wwn(cfg, 0), p + 12);
	return 4 + p[3];
}

/* Whether there is the ATA Information page. */
static bool mdy_has_information(const struct mde_config *cfg)
{
	return cfg->zoned == MDE_ZONED_IDENTIFY || cfg->trim || mde_is_ata(cfg);
}

/* ATA information (SAT-4 12.4.2): IDENTIFY DEVICE data (ACS-4 7.13), of which only words 69, 169
 * and 217 say something.
 */
static u32 mdy_vpd_89(const struct mde_config *cfg, u8 *p)
{
	u8 *identify = p + 56;

	mdy_pad(p + 4, 8, "MECHDISK");
	mdy_pad(p + 12, 16, "SAT");
	mdy_pad(p + 28, 4, "1");
	p[52] = 0xec;		/* IDENTIFY DEVICE */
	identify[69 * 2] = cfg->zoned == MDE_ZONED_IDENTIFY ? 2 : 0;
	identify[169 * 2] = cfg->trim;
	identify[217 * 2] = mde_rpm(cfg);
	identify[217 * 2 + 1] = mde_rpm(cfg) >> 8;
	return 0x238;
}

static u32 mdy_vpd_00(const struct mde_config *cfg, u8 *p)
{
	static const u8 pages[] = { 0x00, 0x80, 0x83, 0x89, 0xb0, 0xb1, 0xb2, 0xb9 };
	u32 len = 0, i;

	for (i = 0; i < sizeof(pages); i++)
		if ((pages[i] != 0x89 || mdy_has_information(cfg)) &&
		    (pages[i] != 0xb2 || cfg->unmap) &&
		    (pages[i] != 0xb9 || cfg->actuators > 1))
			p[len++] = pages[i];
	return len;
}

/* Concurrent positioning ranges (SBC-5 6.6.2): as long as each other, the last one longer. */
static u32 mdy_vpd_b9(const struct mde_config *cfg, u8 *p)
{
	u64 each = cfg->sectors / cfg->actuators, i;

	for (i = 0; i < cfg->actuators; i++) {
		u8 *range = p + 60 + 32 * i;

		range[0] = i;
		range[1] = 1;
		put_unaligned_be64(i * each, range + 8);
		put_unaligned_be64(i + 1 < cfg->actuators ? each : cfg->sectors - i * each,
				   range + 16);
	}
	return 60 + 32 * cfg->actuators;
}

/* Block limits (SBC-3, 6.5.3). */
static u32 mdy_vpd_b0(const struct mde_config *cfg, u8 *r)
{
	put_unaligned_be16(1 << cfg->physical_exponent, r + 6);
	put_unaligned_be32(mde_longest(cfg), r + 8);
	if (!cfg->unmap)
		return 0x3c;
	r[4] = 1;		/* WSNZ */
	put_unaligned_be32(mde_longest(cfg), r + 20);
	put_unaligned_be32(1, r + 24);
	put_unaligned_be64(mde_longest(cfg), r + 36);
	return 0x3c;
}

/* Length of the vital product data page, or 0 if there is no such page. */
static u32 mdy_vpd(const struct mde_config *cfg, u8 page, u8 *r)
{
	u32 len;

	switch (page) {
	case 0x00:
		len = mdy_vpd_00(cfg, r + 4);
		break;
	case 0x80:
		len = strlen(cfg->serial);
		memcpy(r + 4, cfg->serial, len);
		break;
	case 0x83:
		len = mdy_vpd_83(cfg, r + 4);
		break;
	case 0x89:
		if (!mdy_has_information(cfg))
			return 0;
		len = mdy_vpd_89(cfg, r + 4);
		break;
	case 0xb0:
		len = mdy_vpd_b0(cfg, r);
		break;
	case 0xb1:	/* rotation rate; 3.5 inch */
		len = 0x3c;
		put_unaligned_be16(mde_rpm(cfg), r + 4);
		r[7] = 2;
		r[8] = cfg->zoned == MDE_ZONED_VPD ? 2 << 4 : 0;
		break;
	case 0xb2:	/* logical block provisioning: LBPU, LBPWS, LBPWS10, LBPRZ */
		if (!cfg->unmap)
			return 0;
		len = 4;
		r[5] = 0xe4;
		break;
	case 0xb9:
		if (cfg->actuators < 2)
			return 0;
		len = mdy_vpd_b9(cfg, r + 4);
		break;
	default:
		return 0;
	}
	r[1] = page;
	put_unaligned_be16(len, r + 2);
	return len + 4;
}

/* Length of the reply; 0: there is no such page. */
static u32 mdy_inquiry(const struct mde_config *cfg, const u8 *cdb, u8 *r)
{
	u32 len = 96;

	memset(r, 0, MDY_REPLY);
	if (cdb[1] & 1)
		return mdy_vpd(cfg, cdb[2], r);
	if (cdb[2])
		return 0;
	r[2] = 6;		/* SPC-4 */
	r[3] = 0x12;		/* HISUP, response format 2 */
	r[4] = len - 5;
	r[7] = 0x02;		/* CMDQUE */
	mdy_pad(r + 8, 8, cfg->interface == MDE_SATA ? "ATA" : cfg->vendor);
	mdy_pad(r + 16, 16, cfg->product);
	mdy_pad(r + 32, 4, cfg->revision);
	return len;
}

/* How a command ends. */

u32 mdy_sense(u8 sense[MDY_SENSE], u8 key, u8 asc)
{
	memset(sense, 0, MDY_SENSE);
	sense[0] = 0x70;
	sense[2] = key;
	sense[7] = MDY_FIXED - 8;
	sense[12] = asc;
	return MDY_FIXED;
}

u32 mdy_bad_sector(u8 sense[MDY_SENSE], enum mde_error error, u8 asc, bool info, u64 lbn)
{
	static const u8 key[] = { MDY_MEDIUM, MDY_MEDIUM, MDY_ABORTED };
	const u8 code[] = { asc, 0x14, 0 };	/* 14h 01h: RECORD NOT FOUND */
	u8 qualifier = error == MDE_IDNF;

	mdy_sense(sense, key[error], code[error]);
	sense[13] = qualifier;
	if (!info)
		return MDY_FIXED;
	if (lbn <= U32_MAX) {
		sense[0] |= MDY_VALID;
		put_unaligned_be32(lbn, sense + 3);
		return MDY_FIXED;
	}
	/* Fixed format has no room for a large LBN. */
	memset(sense, 0, MDY_SENSE);
	sense[0] = 0x72;
	sense[1] = key[error];
	sense[2] = code[error];
	sense[3] = qualifier;
	sense[7] = 12;
	sense[9] = 10;
	sense[10] = MDY_VALID;
	put_unaligned_be64(lbn, sense + 12);
	return 20;
}

static bool mdy_refuse(struct mdy_answer *a, u8 asc)
{
	a->sense_len = mdy_sense(a->sense, MDY_ILLEGAL, asc);
	return false;
}

/* With a pointer to the byte at fault. */
static bool mdy_refuse_at(struct mdy_answer *a, const struct mdp_error *err)
{
	mdy_refuse(a, err->asc);
	if (err->asc != MDP_ASC_CDB && err->asc != MDP_ASC_LIST)
		return false;
	a->sense[15] = MDY_VALID | (err->asc == MDP_ASC_CDB ? MDY_IN_CDB : 0);
	put_unaligned_be16(err->field, a->sense + 16);
	return false;
}

/* It sends @len bytes of the page, but no more than it has room for. */
static bool mdy_send(struct mdy_answer *a, u32 len, u32 room)
{
	a->len = min(len, room);
	return false;
}

/* Power conditions (SPC-5, 5.13): no time passes for the motor. */

static u8 mdy_condition(const struct mdy *y, u64 now_ns)
{
	u64 timer_ns = y->cfg->standby_timer_ms * 1000000;

	if (y->rests)
		return y->rests;
	return timer_ns && now_ns - y->used_ns >= timer_ns ? MDY_STANDBY_BY_TIMER : 0;
}

bool mdy_wakes(struct mdy *y, u64 now_ns)
{
	u8 condition = mdy_condition(y, now_ns);

	y->rests = 0;
	y->used_ns = now_ns;
	return condition && condition != MDY_IDLE_A && condition != MDY_IDLE_B;
}

/* To stop is to go to standby, as an adapter has it that translates for SATA (SBC-4, 5.27). */
static void mdy_start_stop(struct mdy *y, const u8 *cdb, u64 now_ns)
{
	/* By the modifier. */
	static const u8 idle[] = { MDY_IDLE_A, MDY_IDLE_B, MDY_IDLE_C };
	static const u8 standby[] = { MDY_STANDBY_Z, MDY_STANDBY_Y };
	u8 modifier = cdb[3] & 0x0f;

	y->rests = 0;
	y->used_ns = now_ns;
	switch (cdb[4] >> 4) {
	case 0:
		y->rests = cdb[4] & MDY_START ? 0 : MDY_STANDBY_Z;
		break;
	case 2:
		y->rests = modifier < sizeof(idle) ? idle[modifier] : 0;
		break;
	case 3:
		y->rests = modifier < sizeof(standby) ? standby[modifier] : 0;
		break;
	}
}

static bool mdy_request_sense(struct mdy *y, const struct mdy_command *c, struct mdy_answer *a)
{
	u8 condition = mdy_condition(y, c->now_ns);

	if (y->cfg->power >= MDE_POWER_ACTIVE)
		return mdy_refuse(a, MDP_ASC_OPCODE);
	mdy_sense(a->page, 0, 0);
	if (y->cfg->power == MDE_POWER_LOW || condition) {
		a->page[12] = MDY_LOW_POWER;
		a->page[13] = condition;
	}
	return mdy_send(a, MDY_FIXED, c->cdb[4]);
}

/* A flush is for the engine if the drive has what it could concern. */
static bool mdy_flush(const struct mde_config *cfg, struct mde_range *r, bool at_once)
{
	memset(r, 0, sizeof(*r));
	r->op = MDE_FLUSH;
	r->at_once = at_once;
	return cfg->segments || cfg->queueing == MDE_NCQ;
}

/* ATA PASS-THROUGH (16). */

/* The drive's registers (SAT-3, 12.2.5); none of the commands that pass sets LBA. */
static void mdy_registers(const struct md_tf_result *result, u8 key, struct mdy_answer *a)
{
	u8 *s = a->sense;

	memset(s, 0, MDY_SENSE);
	s[0] = 0x72;
	s[1] = key;
	s[3] = key == MDY_RECOVERED ? MDY_TOLD : 0;
	s[7] = 14;
	s[8] = 0x09;
	s[9] = 12;
	s[11] = result->error;
	s[13] = result->count;
	s[20] = result->device;
	s[21] = result->status;
	a->sense_len = 22;
}

/* The condition that the description says, as a count (ACS-3, 7.3). */
static bool mdy_power_mode(const struct mde_config *cfg, struct mdy_answer *a)
{
	static const u8 mode[] = {
		[MDE_POWER_ACTIVE] = 0xff, [MDE_POWER_IDLE] = 0x80, [MDE_POWER_IDLE_A] = 0x81,
		[MDE_POWER_IDLE_B] = 0x82, [MDE_POWER_IDLE_C] = 0x83,
		[MDE_POWER_STANDBY_Y] = 0x01, [MDE_POWER_STANDBY] = 0x00,
	};
	struct md_tf_result result = { .status = MD_TF_READY };

	result.count = mode[cfg->power];
	mdy_registers(&result, MDY_RECOVERED, a);
	return false;
}

/* All else has state of its own, which mode pages and START STOP UNIT have here. */
static bool mdy_passes(const struct md_tf_regs *r)
{
	switch (r->command << 8 | (r->feature & 0xff)) {
	case 0xef02:	/* SET FEATURES: write cache on, off */
	case 0xef82:
	case 0xefaa:	/* look-ahead on, off */
	case 0xef55:
		return true;
	default:
		return r->command == 0xec;	/* IDENTIFY DEVICE */
	}
}

static bool mdy_pass(struct mdy *y, const u8 *cdb, struct mdy_answer *a)
{
	struct md_tf_result result = { .status = MD_TF_READY | MD_TF_ERROR, .error = MD_TF_ABRT };
	const struct md_tf_regs regs = {
		.command = cdb[14], .device = cdb[13], .feature = cdb[3] << 8 | cdb[4],
		.count = cdb[5] << 8 | cdb[6], .lba = cdb[8] | cdb[10] << 8 | (u64)cdb[12] << 16,
	};
	enum md_tf_kind kind = MD_TF_DONE;
	struct md_tf t;

	md_tf_init(&t, y->cfg, 0);
	t.caching = y->pages.now.caching;
	if (mdy_passes(&regs))
		kind = md_tf_start(&t, &regs, 0, &a->range, &result);
	y->pages.now.caching = t.caching;
	if (kind == MD_TF_RANGE)
		return mdy_flush(y->cfg, &a->range, false);
	if (result.status & MD_TF_ERROR)
		mdy_registers(&result, MDY_ABORTED, a);
	else if (cdb[2] & MDY_CHECK)
		mdy_registers(&result, MDY_RECOVERED, a);
	if (kind == MD_TF_REPLY && md_tf_reply(&t, &regs, 0, a->page))
		a->len = MD_TF_PAGE;
	return false;
}

static bool mdy_ata(struct mdy *y, const u8 *cdb, struct mdy_answer *a)
{
	u64 power = y->cfg->power;

	if (power >= MDE_POWER_ACTIVE && power != MDE_POWER_UNTOLD &&
	    cdb[14] == MDY_CHECK_POWER_MODE)
		return mdy_power_mode(y->cfg, a);
	return mde_is_ata(y->cfg) ? mdy_pass(y, cdb, a) : mdy_refuse(a, MDP_ASC_OPCODE);
}

/* Commands that name sectors. */

/* Where a command has its numbers: its length, or WRITE SAME's. */
enum mdy_form { MDY_FORM_6, MDY_FORM_10, MDY_FORM_16, MDY_SAME_10, MDY_SAME_16 };

static const struct {
	u8 opcode;
	enum mde_op op;
	enum mdy_form form;
} mdy_medium[] = {
	{ 0x08, MDE_READ, MDY_FORM_6 },
	{ 0x28, MDE_READ, MDY_FORM_10 },
	{ 0x88, MDE_READ, MDY_FORM_16 },
	{ 0x0a, MDE_WRITE, MDY_FORM_6 },
	{ 0x2a, MDE_WRITE, MDY_FORM_10 },
	{ 0x8a, MDE_WRITE, MDY_FORM_16 },
	{ 0x2f, MDE_VERIFY, MDY_FORM_10 },
	{ 0x8f, MDE_VERIFY, MDY_FORM_16 },
	{ 0x35, MDE_FLUSH, MDY_FORM_10 },	/* SYNCHRONIZE CACHE */
	{ 0x91, MDE_FLUSH, MDY_FORM_16 },
	{ 0x41, MDE_WRITE, MDY_SAME_10 },	/* WRITE SAME */
	{ 0x93, MDE_WRITE, MDY_SAME_16 },
};

static bool mdy_names_sectors(const struct mde_config *cfg, const u8 *cdb, enum mdy_form *form,
			      struct mde_range *r)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(mdy_medium) && mdy_medium[i].opcode != cdb[0]; i++)
		;
	if (i == ARRAY_SIZE(mdy_medium) || (mdy_medium[i].form >= MDY_SAME_10 && !cfg->unmap))
		return false;
	*form = mdy_medium[i].form;
	r->op = mdy_medium[i].op;
	r->same = *form >= MDY_SAME_10;
	if (*form == MDY_FORM_6) {
		r->lbn = get_unaligned_be24(cdb + 1) & 0x1fffff;
		r->count = cdb[4] ?: 256;
	} else if (*form == MDY_FORM_10 || *form == MDY_SAME_10) {
		r->lbn = get_unaligned_be32(cdb + 2);
		r->count = get_unaligned_be16(cdb + 7);
	} else {
		r->lbn = get_unaligned_be64(cdb + 2);
		r->count = get_unaligned_be32(cdb + 10);
	}
	return true;
}

/* Sectors that lose their data do so when what was cached before is on the medium. */
static bool mdy_forget(const struct mde_config *cfg, u64 lbn, u32 count, struct mdy_answer *a)
{
	if (lbn > cfg->sectors || count > cfg->sectors - lbn || count > mde_longest(cfg))
		return mdy_refuse(a, MDY_BAD_LBA);
	mdy_flush(cfg, &a->range, false);
	a->range.gone_lbn = lbn;
	a->range.gone = count;
	return true;
}

static bool mdy_unmap(const struct mde_config *cfg, const struct mdy_command *c,
		      struct mdy_answer *a)
{
	u32 len = mdy_list_len(c->cdb), bytes = len >= 8 ? get_unaligned_be16(c->list + 2) : 0;

	if ((!bytes && len && len < 8) ||
	    (bytes && (bytes != MDY_UNMAP_LIST - 8 || len < MDY_UNMAP_LIST)))
		return mdy_refuse(a, MDP_ASC_LIST);
	return mdy_forget(cfg, bytes ? get_unaligned_be64(c->list + 8) : 0,
			  bytes ? get_unaligned_be32(c->list + 16) : 0, a);
}

/* Bits of byte 1 that ask for protection information, a comparison, or the like. */
static u8 mdy_unknown_flags(const struct mde_range *r)
{
	if (r->same)
		return ~MDY_SAME_UNMAP;
	return r->op == MDE_FLUSH ? 0 : r->op == MDE_VERIFY ? 0xe6 : 0xe0;
}

/* Bytes that a command transfers. */
static u64 mdy_bytes(const struct mde_config *cfg, const struct mde_range *r)
{
	if (r->op == MDE_VERIFY)
		return 0;
	return (r->same ? 1 : r->count) * cfg->sector_bytes;
}

static bool mdy_sectors(const struct mde_config *cfg, const struct mdy_command *c,
			enum mdy_form form, struct mdy_answer *a)
{
	u8 flags = form == MDY_FORM_6 ? 0 : c->cdb[1];
	struct mde_range *r = &a->range;

	/* WRITE SAME without a count means up to the end: refused, as page B0h says (WSNZ). */
	if (flags & mdy_unknown_flags(r) || (r->same && !r->count))
		return mdy_refuse(a, MDP_ASC_CDB);
	if (r->same && flags & MDY_SAME_UNMAP)
		return mdy_forget(cfg, r->lbn, r->count, a);
	if (r->lbn >= cfg->sectors || r->count > cfg->sectors - r->lbn)
		return mdy_refuse(a, MDY_BAD_LBA);
	/* The whole cache, whatever the range. */
	if (r->op == MDE_FLUSH)
		return mdy_flush(cfg, r, flags & MDY_IMMED);
	/* VERIFY, too: its course is worked out with interrupts off. */
	if (r->count > mde_longest(cfg) || mdy_bytes(cfg, r) > c->bytes)
		return mdy_refuse(a, MDP_ASC_CDB);
	if (r->op != MDE_VERIFY && !r->same && flags & MDY_FUA)
		r->flags = MDE_FUA;
	return r->count;
}

/* Commands with a parameter list, and what they leave to be read. */

u32 mdy_list_len(const u8 *cdb)
{
	switch (cdb[0]) {
	case MDY_SELECT_6:
		return cdb[4];
	case MDY_SEND_DIAG:
		return get_unaligned_be16(cdb + 3);
	case MDY_SELECT_10:
	case MDY_UNMAP:
		return get_unaligned_be16(cdb + 7);
	default:
		return 0;
	}
}

static bool mdy_mode_sense(struct mdy *y, const u8 *cdb, struct mdy_answer *a)
{
	struct mdp_error err;
	u32 len = mdp_sense(&y->pages, cdb, a->page, &err);

	if (!len)
		return mdy_refuse_at(a, &err);
	return mdy_send(a, len, cdb[0] == MDY_SENSE_10 ? get_unaligned_be16(cdb + 7) : cdb[4]);
}

/* A write cache that is switched off is on the medium when the command ends. */
static bool mdy_mode_select(struct mdy *y, const struct mdy_command *c, struct mdy_answer *a)
{
	bool before = y->pages.now.caching.write_cache;
	struct mdp_error err;

	if (!mdp_select(&y->pages, c->cdb, c->list, mdy_list_len(c->cdb), &err))
		return mdy_refuse_at(a, &err);
	if (y->pages.now.caching.write_cache || !(before || c->dirty))
		return false;
	return mdy_flush(y->cfg, &a->range, false);
}

static bool mdy_send_diag(struct mdy *y, const struct mdy_command *c, struct mdy_answer *a)
{
	struct mdp_error err;

	if (!mdd_send(y->cfg, c->cdb, c->list, mdy_list_len(c->cdb), &y->diag, &err))
		return mdy_refuse_at(a, &err);
	return false;
}

static bool mdy_receive_diag(const struct mdy *y, const u8 *cdb, struct mdy_answer *a)
{
	if (mde_is_ata(y->cfg))
		return mdy_refuse(a, MDP_ASC_OPCODE);
	if (!y->diag.len)
		return mdy_refuse(a, MDP_ASC_CDB);
	memcpy(a->page, y->diag.page, y->diag.len);
	return mdy_send(a, y->diag.len, get_unaligned_be16(cdb + 3));
}

/* The rest. */

static bool mdy_capacity_10(const struct mde_config *cfg, struct mdy_answer *a)
{
	put_unaligned_be32(min_t(u64, cfg->sectors - 1, U32_MAX), a->page);
	put_unaligned_be32(cfg->sector_bytes, a->page + 4);
	return mdy_send(a, 8, 8);
}

static bool mdy_capacity_16(const struct mde_config *cfg, const u8 *cdb, struct mdy_answer *a)
{
	if ((cdb[1] & 0x1f) != MDY_CAPACITY_16)
		return mdy_refuse(a, MDP_ASC_CDB);
	memset(a->page, 0, 32);
	put_unaligned_be64(cfg->sectors - 1, a->page);
	put_unaligned_be32(cfg->sector_bytes, a->page + 8);
	a->page[13] = cfg->physical_exponent;
	/* The lowest aligned LBN is 0. LBPME, LBPRZ. */
	a->page[14] = cfg->unmap ? 0xc0 : 0;
	return mdy_send(a, 32, get_unaligned_be32(cdb + 10));
}

/* One logical unit, number 0. */
static bool mdy_luns(const u8 *cdb, struct mdy_answer *a)
{
	memset(a->page, 0, 16);
	a->page[3] = 8;
	return mdy_send(a, 16, get_unaligned_be32(cdb + 6));
}

/* Commands that name no sectors. */
static bool mdy_other(struct mdy *y, const struct mdy_command *c, struct mdy_answer *a)
{
	const u8 *cdb = c->cdb;
	u32 len;

	switch (cdb[0]) {
	case MDY_TEST_UNIT:
		return false;
	case MDY_INQUIRY:
		len = mdy_inquiry(y->cfg, cdb, a->page);
		return len ? mdy_send(a, len, get_unaligned_be16(cdb + 3)) :
			mdy_refuse(a, MDP_ASC_CDB);
	case MDY_CAPACITY_10:
		return mdy_capacity_10(y->cfg, a);
	case MDY_SERVICE_16:
		return mdy_capacity_16(y->cfg, cdb, a);
	case MDY_LUNS:
		return mdy_luns(cdb, a);
	case MDY_REQUEST_SENSE:
		return mdy_request_sense(y, c, a);
	case MDY_START_STOP:
		mdy_start_stop(y, cdb, c->now_ns);
		return !(cdb[4] & (MDY_START | MDY_NO_FLUSH)) &&
			mdy_flush(y->cfg, &a->range, cdb[1] & 0x01);
	case MDY_SENSE_6:
	case MDY_SENSE_10:
		return mdy_mode_sense(y, cdb, a);
	case MDY_RECEIVE_DIAG:
		return mdy_receive_diag(y, cdb, a);
	case MDY_ATA_PASS_16:
		return mdy_ata(y, cdb, a);
	default:
		return mdy_refuse(a, MDP_ASC_OPCODE);
	}
}

/* Commands with a parameter list; one that is longer than what was sent is refused. */
static bool mdy_takes(struct mdy *y, const struct mdy_command *c, struct mdy_answer *a)
{
	u32 len = mdy_list_len(c->cdb);

	if (len > MDY_LIST)
		return mdy_refuse(a, MDP_ASC_LENGTH);
	if (len > c->bytes)
		return mdy_refuse(a, MDP_ASC_CDB);
	switch (c->cdb[0]) {
	case MDY_SEND_DIAG:
		return mdy_send_diag(y, c, a);
	case MDY_UNMAP:
		return y->cfg->unmap ? mdy_unmap(y->cfg, c, a) : mdy_refuse(a, MDP_ASC_OPCODE);
	default:
		return mdy_mode_select(y, c, a);
	}
}

bool mdy_command(struct mdy *y, const struct mdy_command *c, struct mdy_answer *a)
{
	enum mdy_form form;

	memset(&a->range, 0, sizeof(a->range));
	a->len = 0;
	a->sense_len = 0;
	if (mdy_names_sectors(y->cfg, c->cdb, &form, &a->range))
		return mdy_sectors(y->cfg, c, form, a);
	switch (c->cdb[0]) {
	case MDY_SELECT_6:
	case MDY_SELECT_10:
	case MDY_SEND_DIAG:
	case MDY_UNMAP:
		return mdy_takes(y, c, a);
	default:
		return mdy_other(y, c, a);
	}
}

void mdy_init(struct mdy *y, const struct mde_config *cfg, const struct mdp_modes *saved,
	      u64 now_ns)
{
	memset(y, 0, sizeof(*y));
	y->cfg = cfg;
	y->used_ns = now_ns;
	mdp_init(&y->pages, cfg, saved);
}
