// SPDX-License-Identifier: GPL-2.0
/*
 * INQUIRY, READ CAPACITY, and the fields of commands that name sectors (SPC-4,
 * SBC-3).
 */
#include "mechdisk_bytes.h"
#include "mechdisk_reply.h"

#define MDY_READ_6	0x08
#define MDY_READ_10	0x28
#define MDY_READ_12	0xa8
#define MDY_READ_16	0x88
#define MDY_WRITE_6	0x0a
#define MDY_WRITE_10	0x2a
#define MDY_WRITE_12	0xaa
#define MDY_WRITE_16	0x8a
#define MDY_VERIFY_10	0x2f
#define MDY_VERIFY_12	0xaf
#define MDY_VERIFY_16	0x8f
#define MDY_FLUSH_10	0x35	/* SYNCHRONIZE CACHE */
#define MDY_FLUSH_16	0x91
#define MDY_WRITE_SAME_10 0x41
#define MDY_WRITE_SAME_16 0x93
#define MDY_RECEIVE_DIAGNOSTIC 0x1c
#define MDY_DEFECTS_10	0x37	/* READ DEFECT DATA */
#define MDY_DEFECTS_12	0xb7

#define MDY_LOW_POWER	0x5e	/* additional sense code of NO SENSE */
#define MDY_CHECK_POWER_MODE 0xe5	/* byte 14 of ATA PASS-THROUGH (16) */

#define MDY_FUA		0x08	/* byte 1 of reads and writes */
#define MDY_IMMED	0x02	/* byte 1 of SYNCHRONIZE CACHE */
#define MDY_SAME_UNMAP	0x08	/* byte 1 of WRITE SAME */

/* Copy a name padded with blanks, as SCSI wants it. */
static void mdy_pad(u8 *to, size_t size, const char *name)
{
	size_t len = strnlen(name, size);

	memset(to, ' ', size);
	memcpy(to, name, len);
}

/* FNV-1a of a name and a mark at its end. */
static u64 mdy_hash(u64 hash, const char *s)
{
	for (; *s; s++)
		hash = (hash ^ (u8)*s) * 0x100000001b3ULL;
	return (hash ^ 0xff) * 0x100000001b3ULL;
}

u64 mdy_wwn(const struct mde_config *cfg, u64 naa)
{
	u64 hash = 0xcbf29ce484222325ULL;

	hash = mdy_hash(hash, cfg->vendor);
	hash = mdy_hash(hash, cfg->product);
	hash = mdy_hash(hash, cfg->serial);
	return hash >> 4 | naa << 60;
}
EXPORT_SYMBOL_GPL(mdy_wwn);

/* One designator: Linux would prefer a T10 vendor identification to this. A short name is locally
 * assigned (3), a long one registered extended (6), as those of logical units of arrays are.
 */
static u32 mdy_vpd_83(const struct mde_config *cfg, u8 *p)
{
	u64 naa = cfg->interface == MDE_SATA ? 5 : 3;

	p[0] = 1;		/* binary */
	p[1] = 3;		/* NAA */
	p[3] = cfg->long_id ? 16 : 8;
	put_unaligned_be64(mdy_wwn(cfg, cfg->long_id ? 6 : naa), p + 4);
	if (cfg->long_id)
		put_unaligned_be64(~mdy_wwn(cfg, 0), p + 12);
	return 4 + p[3];
}

u32 mdy_longest(const struct mde_config *cfg)
{
	return cfg->max_sectors * 512 / cfg->sector_bytes;
}
EXPORT_SYMBOL_GPL(mdy_longest);

/* Whether there is the ATA Information page. */
static bool mdy_has_information(const struct mde_config *cfg)
{
	return cfg->zoned == MDE_ZONED_IDENTIFY || cfg->trim || mde_is_ata(cfg);
}

bool mdy_knows(const struct mde_config *cfg, u8 opcode)
{
	return !mde_is_ata(cfg) || (opcode != MDY_RECEIVE_DIAGNOSTIC &&
				    opcode != MDY_DEFECTS_10 && opcode != MDY_DEFECTS_12);
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
	identify[217 * 2] = mdy_rpm(cfg);
	identify[217 * 2 + 1] = mdy_rpm(cfg) >> 8;
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
	put_unaligned_be32(mdy_longest(cfg), r + 8);
	if (!cfg->unmap)
		return 0x3c;
	r[4] = 1;		/* WSNZ */
	put_unaligned_be32(mdy_longest(cfg), r + 20);
	put_unaligned_be32(1, r + 24);
	put_unaligned_be64(mdy_longest(cfg), r + 36);
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
		put_unaligned_be16(mdy_rpm(cfg), r + 4);
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

u32 mdy_inquiry(const struct mde_config *cfg, const u8 *cdb, u8 reply[MDY_REPLY])
{
	u8 *r = reply;
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

u32 mdy_capacity_10(const struct mde_config *cfg, u8 reply[MDY_REPLY])
{
	put_unaligned_be32(min_t(u64, cfg->sectors - 1, U32_MAX), reply);
	put_unaligned_be32(cfg->sector_bytes, reply + 4);
	return 8;
}

u32 mdy_capacity_16(const struct mde_config *cfg, u8 reply[MDY_REPLY])
{
	memset(reply, 0, 32);
	put_unaligned_be64(cfg->sectors - 1, reply);
	put_unaligned_be32(cfg->sector_bytes, reply + 8);
	reply[13] = cfg->physical_exponent;
	/* The lowest aligned LBN is 0. LBPME, LBPRZ. */
	reply[14] = cfg->unmap ? 0xc0 : 0;
	return 32;
}

u32 mdy_request_sense(const struct mde_config *cfg, u8 ascq, u8 reply[MDY_REPLY])
{
	static const u8 none[18] = { 0x70, [7] = 10 };

	if (cfg->power >= MDE_POWER_ACTIVE)
		return 0;
	memcpy(reply, none, sizeof(none));
	if (cfg->power == MDE_POWER_LOW || ascq) {
		reply[12] = MDY_LOW_POWER;
		reply[13] = ascq;
	}
	return sizeof(none);
}

/*
 * CHECK POWER MODE: the registers come back as sense data (SAT-3, 12.2.5), the mode as the count
 * (ACS-3, 7.3).
 */
bool mdy_ata(const struct mde_config *cfg, const u8 *cdb, u8 *sense)
{
	static const u8 mode[] = {
		[MDE_POWER_ACTIVE] = 0xff, [MDE_POWER_IDLE] = 0x80, [MDE_POWER_IDLE_A] = 0x81,
		[MDE_POWER_IDLE_B] = 0x82, [MDE_POWER_IDLE_C] = 0x83,
		[MDE_POWER_STANDBY_Y] = 0x01, [MDE_POWER_STANDBY] = 0x00,
	};
	/* RECOVERED ERROR, ATA PASS-THROUGH INFORMATION AVAILABLE; ATA Status Return, 12 more */
	static const u8 registers[MDY_ATA_SENSE] = {
		0x72, 0x01, [3] = 0x1d, [7] = 14, 0x09, 12, [21] = 0x50 /* ready */
	};

	if (cfg->power < MDE_POWER_ACTIVE || cfg->power == MDE_POWER_UNTOLD ||
	    cdb[14] != MDY_CHECK_POWER_MODE)
		return false;
	memcpy(sense, registers, sizeof(registers));
	sense[13] = mode[cfg->power];
	return true;
}

/* Sectors a command names; false if it names none. */
static bool mdy_range_of(const u8 *cdb, struct mdy_range *r)
{
	switch (cdb[0]) {
	case MDY_READ_6:
	case MDY_WRITE_6:
		r->lbn = get_unaligned_be24(cdb + 1) & 0x1fffff;
		r->count = cdb[4] ?: 256;
		break;
	case MDY_READ_10:
	case MDY_WRITE_10:
	case MDY_VERIFY_10:
	case MDY_FLUSH_10:
		r->lbn = get_unaligned_be32(cdb + 2);
		r->count = get_unaligned_be16(cdb + 7);
		break;
	case MDY_READ_12:
	case MDY_WRITE_12:
	case MDY_VERIFY_12:
		r->lbn = get_unaligned_be32(cdb + 2);
		r->count = get_unaligned_be32(cdb + 6);
		break;
	case MDY_READ_16:
	case MDY_WRITE_16:
	case MDY_VERIFY_16:
	case MDY_FLUSH_16:
		r->lbn = get_unaligned_be64(cdb + 2);
		r->count = get_unaligned_be32(cdb + 10);
		break;
	default:
		return false;
	}
	return true;
}

static enum mde_op mdy_op_of(u8 opcode)
{
	switch (opcode) {
	case MDY_READ_6:
	case MDY_READ_10:
	case MDY_READ_12:
	case MDY_READ_16:
		return MDE_READ;
	case MDY_WRITE_6:
	case MDY_WRITE_10:
	case MDY_WRITE_12:
	case MDY_WRITE_16:
		return MDE_WRITE;
	case MDY_FLUSH_10:
	case MDY_FLUSH_16:
		return MDE_FLUSH;
	default:
		return MDE_VERIFY;
	}
}

bool mdy_names_sectors(const u8 *cdb, struct mdy_range *r)
{
	if (!mdy_range_of(cdb, r))
		return false;
	r->op = mdy_op_of(cdb[0]);
	return true;
}

bool mdy_names_same(const u8 *cdb, struct mdy_range *r)
{
	if (cdb[0] == MDY_WRITE_SAME_10) {
		r->lbn = get_unaligned_be32(cdb + 2);
		r->count = get_unaligned_be16(cdb + 7);
	} else if (cdb[0] == MDY_WRITE_SAME_16) {
		r->lbn = get_unaligned_be64(cdb + 2);
		r->count = get_unaligned_be32(cdb + 10);
	} else {
		return false;
	}
	r->op = MDE_WRITE;
	r->flags = 0;
	r->at_once = false;
	r->same = true;
	return true;
}

/* Sectors that lose their data do so when what was cached before is on the medium. */
static void mdy_forget(struct mdy_range *r, u64 lbn, u32 count)
{
	r->op = MDE_FLUSH;
	r->lbn = 0;
	r->count = 0;
	r->gone_lbn = lbn;
	r->gone = count;
}

bool mdy_unmap(const u8 *list, u32 len, struct mdy_range *r)
{
	u32 bytes = len >= 8 ? get_unaligned_be16(list + 2) : 0;

	mdy_forget(r, 0, 0);
	r->flags = 0;
	r->at_once = false;
	if (!bytes)
		return !len || len >= 8;
	if (bytes != 16 || len < MDY_UNMAP_LIST)
		return false;
	mdy_forget(r, get_unaligned_be64(list + 8), get_unaligned_be32(list + 16));
	return true;
}

bool mdy_same_flags(const u8 *cdb, struct mdy_range *r)
{
	/* No count means up to the end: refused, as page B0h says (WSNZ). */
	if (cdb[1] & ~MDY_SAME_UNMAP || !r->count)
		return false;
	if (cdb[1] & MDY_SAME_UNMAP)
		mdy_forget(r, r->lbn, r->count);
	return true;
}

bool mdy_flags(const u8 *cdb, struct mdy_range *r)
{
	r->flags = 0;
	r->at_once = false;
	if (cdb[0] == MDY_READ_6 || cdb[0] == MDY_WRITE_6)
		return true;
	switch (r->op) {
	case MDE_FLUSH:
		r->at_once = cdb[1] & MDY_IMMED;
		return true;
	case MDE_VERIFY:
		return !(cdb[1] & 0xe6);
	default:
		r->flags = cdb[1] & MDY_FUA ? MDE_FUA : 0;
		return !(cdb[1] & 0xe0);
	}
}

