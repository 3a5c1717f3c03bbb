// SPDX-License-Identifier: GPL-2.0
/*
 * SCSI commands: decoding, and those that need no medium.
 *
 * Runs in queuecommand's context, takes no lock.
 */
#include <scsi/scsi.h>
#include <scsi/scsi_device.h>

#include "mechdisk.h"
#include "mechdisk_compat.h"

#define MDR_REPLY	256

/* Additional sense codes of ILLEGAL REQUEST. */
#define MDR_BAD_OPCODE	0x20
#define MDR_BAD_LBA	0x21
#define MDR_BAD_FIELD	0x24

static void mdr_refuse(struct scsi_cmnd *cmd, u8 asc)
{
	scsi_build_sense(cmd, 0, ILLEGAL_REQUEST, asc, 0);
}

/* Send the initiator at most @room bytes of a reply. */
static void mdr_send(struct scsi_cmnd *cmd, const u8 *reply, u32 len, u32 room)
{
	u32 sent = scsi_sg_copy_from_buffer(cmd, (void *)reply,
					    min(len, room));

	scsi_set_resid(cmd, scsi_bufflen(cmd) - sent);
	cmd->result = SAM_STAT_GOOD;
}

/* Copy a name padded with blanks, as SCSI wants it. */
static void mdr_pad(u8 *to, size_t size, const char *name)
{
	size_t len = strnlen(name, size);

	memset(to, ' ', size);
	memcpy(to, name, len);
}

/* FNV-1a of a name and a mark at its end. */
static u64 mdr_hash(u64 hash, const char *s)
{
	for (; *s; s++)
		hash = (hash ^ (u8)*s) * 0x100000001b3ULL;
	return (hash ^ 0xff) * 0x100000001b3ULL;
}

/* World-wide name: hash of vendor, product and serial, locally assigned. */
static u64 mdr_wwn(const struct mde_config *cfg)
{
	u64 hash = 0xcbf29ce484222325ULL;

	hash = mdr_hash(hash, cfg->vendor);
	hash = mdr_hash(hash, cfg->product);
	hash = mdr_hash(hash, cfg->serial);
	return hash >> 4 | 3ULL << 60;
}

/* One designator: Linux would prefer a T10 vendor identification to this. */
static u32 mdr_vpd_83(const struct mde_config *cfg, u8 *p)
{
	p[0] = 1;		/* binary */
	p[1] = 3;		/* NAA */
	p[3] = 8;
	put_unaligned_be64(mdr_wwn(cfg), p + 4);
	return 12;
}

/* Length of the vital product data page, or 0 if there is no such page. */
static u32 mdr_vpd(const struct mde_config *cfg, u8 page, u8 *r)
{
	static const u8 pages[] = { 0x00, 0x80, 0x83, 0xb0, 0xb1 };
	u32 len;

	switch (page) {
	case 0x00:
		len = sizeof(pages);
		memcpy(r + 4, pages, len);
		break;
	case 0x80:
		len = strlen(cfg->serial);
		memcpy(r + 4, cfg->serial, len);
		break;
	case 0x83:
		len = mdr_vpd_83(cfg, r + 4);
		break;
	case 0xb0:	/* block limits */
		len = 0x3c;
		put_unaligned_be16(1 << cfg->physical_exponent, r + 6);
		put_unaligned_be32(cfg->max_sectors, r + 8);
		break;
	case 0xb1:	/* rotation rate; 3.5 inch */
		len = 0x3c;
		put_unaligned_be16((60000000000000ULL + cfg->period_ps / 2) /
				   cfg->period_ps, r + 4);
		r[7] = 2;
		break;
	default:
		return 0;
	}
	r[1] = page;
	put_unaligned_be16(len, r + 2);
	return len + 4;
}

static void mdr_inquiry(const struct mde_config *cfg, struct scsi_cmnd *cmd)
{
	u32 room = get_unaligned_be16(cmd->cmnd + 3);
	u8 r[MDR_REPLY] = { 0 };
	u32 len = 96;

	if (cmd->cmnd[1] & 1) {
		len = mdr_vpd(cfg, cmd->cmnd[2], r);
		if (!len)
			return mdr_refuse(cmd, MDR_BAD_FIELD);
		return mdr_send(cmd, r, len, room);
	}
	if (cmd->cmnd[2])
		return mdr_refuse(cmd, MDR_BAD_FIELD);
	r[2] = 6;		/* SPC-4 */
	r[3] = 0x12;		/* HISUP, response format 2 */
	r[4] = len - 5;
	r[7] = 0x02;		/* CMDQUE */
	mdr_pad(r + 8, 8, cfg->vendor);
	mdr_pad(r + 16, 16, cfg->product);
	mdr_pad(r + 32, 4, cfg->revision);
	mdr_send(cmd, r, len, room);
}

static void mdr_capacity_10(const struct mde_config *cfg, struct scsi_cmnd *cmd)
{
	u8 r[8];

	put_unaligned_be32(min_t(u64, cfg->sectors - 1, U32_MAX), r);
	put_unaligned_be32(MDS_SECTOR, r + 4);
	mdr_send(cmd, r, sizeof(r), sizeof(r));
}

static void mdr_capacity_16(const struct mde_config *cfg, struct scsi_cmnd *cmd)
{
	u8 r[32] = { 0 };

	put_unaligned_be64(cfg->sectors - 1, r);
	put_unaligned_be32(MDS_SECTOR, r + 8);
	r[13] = cfg->physical_exponent;
	mdr_send(cmd, r, sizeof(r), get_unaligned_be32(cmd->cmnd + 10));
}

/* The pages asked for; 0 if there is no such page. */
static u32 mdr_mode_pages(u8 page, bool changeable, u8 *r)
{
	u32 len = 0;

	if (page == 0x08 || page == 0x3f) {
		r[len] = 0x08;		/* caching: WCE = 0, RCD = 1 */
		r[len + 1] = 0x12;
		r[len + 2] = changeable ? 0 : 0x01;
		len += 0x14;
	}
	if (page == 0x0a || page == 0x3f) {
		r[len] = 0x0a;		/* control: unrestricted reordering */
		r[len + 1] = 0x0a;
		r[len + 3] = changeable ? 0 : 0x10;
		len += 0x0c;
	}
	return len;
}

static void mdr_mode_sense(struct scsi_cmnd *cmd)
{
	bool ten = cmd->cmnd[0] == MODE_SENSE_10;
	u32 head = ten ? 8 : 4;
	u32 room = ten ? get_unaligned_be16(cmd->cmnd + 7) : cmd->cmnd[4];
	u8 r[MDR_REPLY] = { 0 };
	u32 len;

	len = mdr_mode_pages(cmd->cmnd[2] & 0x3f, cmd->cmnd[2] >> 6 == 1,
			     r + head);
	if (!len || (cmd->cmnd[3] && cmd->cmnd[3] != 0xff))
		return mdr_refuse(cmd, MDR_BAD_FIELD);
	len += head;
	if (ten) {
		put_unaligned_be16(len - 2, r);
		r[3] = 0x10;		/* DPOFUA */
	} else {
		r[0] = len - 1;
		r[2] = 0x10;
	}
	mdr_send(cmd, r, len, room);
}

static void mdr_report_luns(struct scsi_cmnd *cmd)
{
	u8 r[16] = { 0 };

	put_unaligned_be32(8, r);
	mdr_send(cmd, r, sizeof(r), get_unaligned_be32(cmd->cmnd + 6));
}

static void mdr_request_sense(struct scsi_cmnd *cmd)
{
	u8 r[18] = { 0x70, 0, NO_SENSE, 0, 0, 0, 0, 10 };

	mdr_send(cmd, r, sizeof(r), cmd->cmnd[4]);
}

/* Commands that need no medium. */
static void mdr_reply(const struct mde_config *cfg, struct scsi_cmnd *cmd)
{
	switch (cmd->cmnd[0]) {
	case TEST_UNIT_READY:
	case START_STOP:
	case SYNCHRONIZE_CACHE:		/* no cache: nothing to write */
	case SYNCHRONIZE_CACHE_16:
		scsi_set_resid(cmd, scsi_bufflen(cmd));
		cmd->result = SAM_STAT_GOOD;
		return;
	case INQUIRY:
		return mdr_inquiry(cfg, cmd);
	case READ_CAPACITY:
		return mdr_capacity_10(cfg, cmd);
	case SERVICE_ACTION_IN_16:
		if ((cmd->cmnd[1] & 0x1f) == SAI_READ_CAPACITY_16)
			return mdr_capacity_16(cfg, cmd);
		return mdr_refuse(cmd, MDR_BAD_FIELD);
	case MODE_SENSE:
	case MODE_SENSE_10:
		return mdr_mode_sense(cmd);
	case REPORT_LUNS:
		return mdr_report_luns(cmd);
	case REQUEST_SENSE:
		return mdr_request_sense(cmd);
	default:
		return mdr_refuse(cmd, MDR_BAD_OPCODE);
	}
}

/* Sectors a command names; false if it names none. */
static bool mdr_range_of(const u8 *cdb, struct mdr_range *r)
{
	switch (cdb[0]) {
	case READ_6:
	case WRITE_6:
		r->lbn = get_unaligned_be24(cdb + 1) & 0x1fffff;
		r->count = cdb[4] ?: 256;
		break;
	case READ_10:
	case WRITE_10:
	case VERIFY:
		r->lbn = get_unaligned_be32(cdb + 2);
		r->count = get_unaligned_be16(cdb + 7);
		break;
	case READ_16:
	case WRITE_16:
	case VERIFY_16:
		r->lbn = get_unaligned_be64(cdb + 2);
		r->count = get_unaligned_be32(cdb + 10);
		break;
	default:
		return false;
	}
	switch (cdb[0]) {
	case READ_6:
	case READ_10:
	case READ_16:
		r->op = MDE_READ;
		break;
	case WRITE_6:
	case WRITE_10:
	case WRITE_16:
		r->op = MDE_WRITE;
		break;
	default:
		r->op = MDE_VERIFY;
	}
	return true;
}

/* Byte 1 asks for protection information, or VERIFY for a comparison. */
static bool mdr_wants_more(const u8 *cdb)
{
	if (cdb[0] == READ_6 || cdb[0] == WRITE_6)
		return false;
	if (cdb[0] == VERIFY || cdb[0] == VERIFY_16)
		return cdb[1] & 0xe6;
	return cdb[1] & 0xe0;
}

bool mdr_decode(const struct mde_config *cfg, struct scsi_cmnd *cmd,
		struct mdr_range *r)
{
	if (!mdr_range_of(cmd->cmnd, r)) {
		mdr_reply(cfg, cmd);
		return false;
	}
	if (mdr_wants_more(cmd->cmnd)) {
		mdr_refuse(cmd, MDR_BAD_FIELD);
		return false;
	}
	if (r->lbn >= cfg->sectors || r->count > cfg->sectors - r->lbn) {
		mdr_refuse(cmd, MDR_BAD_LBA);
		return false;
	}
	/* The transfer must hold the sectors, and is bounded as we said. */
	if (r->op != MDE_VERIFY &&
	    ((u64)r->count * MDS_SECTOR > scsi_bufflen(cmd) ||
	     r->count > cfg->max_sectors)) {
		mdr_refuse(cmd, MDR_BAD_FIELD);
		return false;
	}
	if (!r->count) {
		cmd->result = SAM_STAT_GOOD;
		return false;
	}
	return true;
}
