// SPDX-License-Identifier: GPL-2.0
/*
 * SCSI commands: decoding, and those that need no medium.
 *
 * Runs in queuecommand's context, which may not sleep.  Locks: md_run.lock for a moment, on
 * buffers of ours.
 */
#include <scsi/scsi.h>
#include <scsi/scsi_device.h>

#include "mechdisk.h"
#include "mechdisk_compat.h"

/* Additional sense codes of ILLEGAL REQUEST. */
#define MDR_BAD_LBA	0x21
#define MDR_BAD_FIELD	0x24

/* READ DEFECT DATA; the kernel has no names for them. */
#define MDR_DEFECTS_10	0x37
#define MDR_DEFECTS_12	0xb7

/* START STOP UNIT. */
#define MDR_START	0x01	/* byte 4 */
#define MDR_NO_FLUSH	0x04	/* byte 4 */

/* The drive, under its lock. */

static void mdr_pages(struct mdh *h, struct mdp *pages)
{
	unsigned long flags;

	spin_lock_irqsave(&h->run.lock, flags);
	*pages = h->pages;
	spin_unlock_irqrestore(&h->run.lock, flags);
}

/* 0; 1 if it ends when the write cache, now off, is empty; -EINVAL if it is refused. Repeatable. */
static int mdr_select(struct mdh *h, const u8 *cdb, const u8 *list, u32 len,
		      struct mdp_error *err)
{
	const struct mde_caching *now = &h->pages.now.caching;
	struct mde_caching before;
	unsigned long flags;
	int ret = -EINVAL;

	spin_lock_irqsave(&h->run.lock, flags);
	before = *now;
	if (mdp_select(&h->pages, cdb, list, len, err)) {
		/*
		 * Also if it had been off: a command that found the drive's
		 * queue full when it came to the flush is here once more.
		 */
		ret = !now->write_cache &&
			(before.write_cache ||
			 mdb_dirty_segments(&h->run.engine.cache));
		if (memcmp(&before, now, sizeof(before)))
			md_run_set_caching(&h->run, now);
	}
	spin_unlock_irqrestore(&h->run.lock, flags);
	return ret;
}

/* ATA PASS-THROUGH (16); repeatable. */
static enum mds_kind mdr_pass(struct mdh *h, const u8 *cdb, struct mds_answer *a)
{
	struct mde_caching *now = &h->pages.now.caching;
	struct mde_caching before;
	enum mds_kind kind;
	unsigned long flags;

	spin_lock_irqsave(&h->run.lock, flags);
	before = *now;
	kind = mds_pass(h->run.cfg, now, cdb, a);
	if (memcmp(&before, now, sizeof(before)))
		md_run_set_caching(&h->run, now);
	spin_unlock_irqrestore(&h->run.lock, flags);
	return kind;
}

static void mdr_diag_set(struct mdh *h, const struct mdd_result *result)
{
	unsigned long flags;

	spin_lock_irqsave(&h->run.lock, flags);
	h->diag = *result;
	spin_unlock_irqrestore(&h->run.lock, flags);
}

static void mdr_diag_get(struct mdh *h, struct mdd_result *result)
{
	unsigned long flags;

	spin_lock_irqsave(&h->run.lock, flags);
	*result = h->diag;
	spin_unlock_irqrestore(&h->run.lock, flags);
}

static u8 mdr_condition(struct mdh *h)
{
	unsigned long flags;
	u8 ascq;

	spin_lock_irqsave(&h->run.lock, flags);
	ascq = mdo_ascq(&h->condition, h->run.cfg, ktime_get_ns());
	spin_unlock_irqrestore(&h->run.lock, flags);
	return ascq;
}

static void mdr_start_stop(struct mdh *h, const u8 *cdb)
{
	unsigned long flags;

	spin_lock_irqsave(&h->run.lock, flags);
	mdo_start_stop(&h->condition, cdb, ktime_get_ns());
	spin_unlock_irqrestore(&h->run.lock, flags);
}

static void mdr_refuse(struct scsi_cmnd *cmd, u8 asc)
{
	scsi_build_sense(cmd, 0, ILLEGAL_REQUEST, asc, 0);
}

/* Refuse with a pointer to the byte at fault. */
static void mdr_refuse_at(struct scsi_cmnd *cmd, const struct mdp_error *err)
{
	mdr_refuse(cmd, err->asc);
	if (err->asc == MDP_ASC_CDB || err->asc == MDP_ASC_LIST)
		scsi_set_sense_field_pointer(cmd->sense_buffer,
					     SCSI_SENSE_BUFFERSIZE, err->field,
					     8, err->asc == MDP_ASC_CDB);
}

/*
 * Whether a command's data go the way it wants; else it fails as by an adapter.
 * Buffers of the other direction may be pages that must not be written to.
 */
static bool mdr_way(struct scsi_cmnd *cmd, enum dma_data_direction way)
{
	if (!scsi_bufflen(cmd) || cmd->sc_data_direction == way)
		return true;
	scsi_set_resid(cmd, scsi_bufflen(cmd));
	cmd->result = DID_ERROR << 16;
	return false;
}

/* Send the initiator at most @room bytes of a reply. */
static void mdr_send(struct scsi_cmnd *cmd, const u8 *reply, u32 len, u32 room)
{
	u32 sent;

	if (!mdr_way(cmd, DMA_FROM_DEVICE))
		return;
	sent = scsi_sg_copy_from_buffer(cmd, (void *)reply, min(len, room));
	scsi_set_resid(cmd, scsi_bufflen(cmd) - sent);
	cmd->result = SAM_STAT_GOOD;
}

static void mdr_inquiry(const struct mde_config *cfg, struct scsi_cmnd *cmd)
{
	u8 r[MDY_REPLY];
	u32 len = mdy_inquiry(cfg, cmd->cmnd, r);

	if (!len)
		return mdr_refuse(cmd, MDR_BAD_FIELD);
	mdr_send(cmd, r, len, get_unaligned_be16(cmd->cmnd + 3));
}

static void mdr_capacity_10(const struct mde_config *cfg, struct scsi_cmnd *cmd)
{
	u8 r[MDY_REPLY];
	u32 len = mdy_capacity_10(cfg, r);

	mdr_send(cmd, r, len, len);
}

static void mdr_capacity_16(const struct mde_config *cfg, struct scsi_cmnd *cmd)
{
	u8 r[MDY_REPLY];
	u32 len = mdy_capacity_16(cfg, r);

	mdr_send(cmd, r, len, get_unaligned_be32(cmd->cmnd + 10));
}

static void mdr_mode_sense(struct mdh *h, struct scsi_cmnd *cmd)
{
	const u8 *cdb = cmd->cmnd;
	u32 room = cdb[0] == MODE_SENSE_10 ? get_unaligned_be16(cdb + 7) :
		cdb[4];
	struct mdp_error err;
	u8 r[MDP_REPLY];
	struct mdp pages;
	u32 len;

	mdr_pages(h, &pages);
	len = mdp_sense(&pages, cdb, r, &err);
	if (!len)
		return mdr_refuse_at(cmd, &err);
	mdr_send(cmd, r, len, room);
}

/*
 * Fetch a parameter list of @len bytes; false, and the command refused, if it
 * is longer than any we take or than what was sent.
 */
static bool mdr_fetch(struct scsi_cmnd *cmd, u8 *list, u32 len, u32 most)
{
	if (!mdr_way(cmd, DMA_TO_DEVICE))
		return false;
	if (len > most) {
		mdr_refuse(cmd, MDP_ASC_LENGTH);
		return false;
	}
	if (len > scsi_bufflen(cmd) ||
	    scsi_sg_copy_to_buffer(cmd, list, len) != len) {
		mdr_refuse(cmd, MDR_BAD_FIELD);
		return false;
	}
	scsi_set_resid(cmd, scsi_bufflen(cmd) - len);
	return true;
}

/* True if the write cache has been switched off and wants a flush. */
static bool mdr_mode_select(struct mdh *h, struct scsi_cmnd *cmd)
{
	const u8 *cdb = cmd->cmnd;
	u32 len = cdb[0] == MODE_SELECT_10 ? get_unaligned_be16(cdb + 7) :
		cdb[4];
	struct mdp_error err;
	u8 list[MDP_LIST];
	int ret;

	if (!mdr_fetch(cmd, list, len, sizeof(list)))
		return false;
	ret = mdr_select(h, cdb, list, len, &err);
	if (ret < 0)
		mdr_refuse_at(cmd, &err);
	else
		cmd->result = SAM_STAT_GOOD;
	return ret > 0;
}

static void mdr_send_diag(struct mdh *h, const struct mde_config *cfg,
			  struct scsi_cmnd *cmd)
{
	u32 len = get_unaligned_be16(cmd->cmnd + 3);
	struct mdd_result result = { 0 };
	struct mdp_error err;
	u8 list[MDD_LIST];

	if (!mdr_fetch(cmd, list, len, sizeof(list)))
		return;
	if (!mdd_send(cfg, cmd->cmnd, list, len, &result, &err))
		return mdr_refuse_at(cmd, &err);
	mdr_diag_set(h, &result);
	cmd->result = SAM_STAT_GOOD;
}

static void mdr_receive_diag(struct mdh *h, const struct mde_config *cfg,
			     struct scsi_cmnd *cmd)
{
	struct mdd_result last, result;
	struct mdp_error err;

	mdr_diag_get(h, &last);
	if (!mdd_receive(cfg, cmd->cmnd, &last, &result, &err))
		return mdr_refuse_at(cmd, &err);
	mdr_send(cmd, result.page, result.len,
		 get_unaligned_be16(cmd->cmnd + 3));
}

/* Send descriptors from byte @at of the reply on; returns its length. */
static u32 mdr_send_defects(struct scsi_cmnd *cmd, struct mdd_list *list,
			    u32 at, u32 room)
{
	u8 chunk[32 * MDD_ADDRESS];
	u32 n, sent;

	do {
		for (n = 0; n < sizeof(chunk); n += MDD_ADDRESS)
			if (!mdd_next(list, chunk + n))
				break;
		n = min(n, room - at);
		sent = sg_pcopy_from_buffer(scsi_sglist(cmd),
					    scsi_sg_count(cmd), chunk, n, at);
		at += sent;
	} while (sent);
	return at;
}

static void mdr_defects(const struct mde_config *cfg, struct scsi_cmnd *cmd)
{
	const u8 *cdb = cmd->cmnd;
	u32 room = cdb[0] == MDR_DEFECTS_12 ? get_unaligned_be32(cdb + 6) :
		get_unaligned_be16(cdb + 7);
	struct mdd_list list;
	u8 header[MDD_HEADER];
	u32 len;

	if (!mdr_way(cmd, DMA_FROM_DEVICE))
		return;
	room = min(room, scsi_bufflen(cmd));
	len = mdd_defects(cfg, cdb, &list, header);
	mdr_send(cmd, header, len, room);
	if (len < room)
		len = mdr_send_defects(cmd, &list, len, room);
	scsi_set_resid(cmd, scsi_bufflen(cmd) - min(len, room));
	/* "Defect list not found": here it is in another format. */
	if (list.substituted)
		scsi_build_sense(cmd, 0, RECOVERED_ERROR, 0x1c, 0);
}

static void mdr_report_luns(struct scsi_cmnd *cmd)
{
	u8 r[16] = { 0 };

	put_unaligned_be32(8, r);
	mdr_send(cmd, r, sizeof(r), get_unaligned_be32(cmd->cmnd + 6));
}

static void mdr_request_sense(struct mdh *h, const struct mde_config *cfg, struct scsi_cmnd *cmd)
{
	u8 r[MDY_REPLY];
	u32 len = mdy_request_sense(cfg, mdr_condition(h), r);

	if (!len)
		return mdr_refuse(cmd, MDP_ASC_OPCODE);
	mdr_send(cmd, r, len, cmd->cmnd[4]);
}

/* The drive's registers are sense data. */
static void mdr_registers(struct scsi_cmnd *cmd, const u8 *sense)
{
	scsi_build_sense(cmd, 1, sense[1], sense[2], sense[3]);
	memcpy(cmd->sense_buffer, sense, MDY_ATA_SENSE);
}

/* True if the write cache has been switched off and wants a flush. */
static bool mdr_ata(struct mdh *h, const struct mde_config *cfg, struct scsi_cmnd *cmd)
{
	struct mds_answer a;
	enum mds_kind kind;

	if (mdy_ata(cfg, cmd->cmnd, a.sense)) {
		mdr_registers(cmd, a.sense);
		return false;
	}
	if (!mde_is_ata(cfg)) {
		mdr_refuse(cmd, MDP_ASC_OPCODE);
		return false;
	}
	kind = mdr_pass(h, cmd->cmnd, &a);
	if (kind == MDS_REPLY)
		mdr_send(cmd, a.page, sizeof(a.page), sizeof(a.page));
	else
		cmd->result = SAM_STAT_GOOD;
	if (a.key && kind != MDS_FLUSH)
		mdr_registers(cmd, a.sense);
	return kind == MDS_FLUSH;
}

/* Commands that need no medium. */
static void mdr_reply(struct mdh *h, const struct mde_config *cfg,
		      struct scsi_cmnd *cmd)
{
	if (!mdy_knows(cfg, cmd->cmnd[0]))
		return mdr_refuse(cmd, MDP_ASC_OPCODE);
	switch (cmd->cmnd[0]) {
	case TEST_UNIT_READY:
	case START_STOP:
	case SYNCHRONIZE_CACHE:
	case SYNCHRONIZE_CACHE_16:
		/* Nothing to flush: see mdr_flush_of(). */
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
		return mdr_mode_sense(h, cmd);
	case SEND_DIAGNOSTIC:
		return mdr_send_diag(h, cfg, cmd);
	case RECEIVE_DIAGNOSTIC:
		return mdr_receive_diag(h, cfg, cmd);
	case MDR_DEFECTS_10:
	case MDR_DEFECTS_12:
		return mdr_defects(cfg, cmd);
	case REPORT_LUNS:
		return mdr_report_luns(cmd);
	case REQUEST_SENSE:
		return mdr_request_sense(h, cfg, cmd);
	default:
		return mdr_refuse(cmd, MDP_ASC_OPCODE);
	}
}

/* A flush is for the engine if the drive has what it could concern. */
static bool mdr_flush_of(const struct mde_config *cfg, struct mdy_range *r)
{
	r->op = MDE_FLUSH;
	r->lbn = 0;
	r->count = 0;
	r->flags = 0;
	return cfg->segments || cfg->queueing == MDE_NCQ;
}

/* Commands that name no sectors; true if one wants a flush nevertheless. */
static bool mdr_other(struct mdh *h, const struct mde_config *cfg,
		      struct scsi_cmnd *cmd, struct mdy_range *r)
{
	const u8 *cdb = cmd->cmnd;

	r->at_once = false;
	switch (cdb[0]) {
	case MODE_SELECT:
	case MODE_SELECT_10:
		return mdr_mode_select(h, cmd) && mdr_flush_of(cfg, r);
	case MDY_ATA_PASS_16:
		return mdr_ata(h, cfg, cmd) && mdr_flush_of(cfg, r);
	case START_STOP:
		mdr_start_stop(h, cdb);
		r->at_once = cdb[1] & 0x01;
		if (!(cdb[4] & (MDR_START | MDR_NO_FLUSH)) && mdr_flush_of(cfg, r))
			return true;
		break;
	}
	mdr_reply(h, cfg, cmd);
	return false;
}

/* The sectors that lose their data. */
static bool mdr_check_gone(const struct mde_config *cfg, struct scsi_cmnd *cmd,
			   const struct mdy_range *r)
{
	if (r->gone_lbn <= cfg->sectors && r->gone <= cfg->sectors - r->gone_lbn &&
	    r->gone <= mdy_longest(cfg))
		return true;
	mdr_refuse(cmd, MDR_BAD_LBA);
	return false;
}

/* UNMAP: it waits for the cache, and takes no sectors. */
static bool mdr_unmap(const struct mde_config *cfg, struct scsi_cmnd *cmd,
		      struct mdy_range *r)
{
	u32 len = get_unaligned_be16(cmd->cmnd + 7);
	u8 list[MDY_UNMAP_LIST] = { 0 };

	if (!mdr_fetch(cmd, list, len, sizeof(list)))
		return false;
	if (mdy_unmap(list, len, r))
		return mdr_check_gone(cfg, cmd, r);
	mdr_refuse(cmd, MDP_ASC_LIST);
	return false;
}

/* The command's sectors exist, and fit its buffers and our limit. */
static bool mdr_check_range(const struct mde_config *cfg, struct scsi_cmnd *cmd,
			    const struct mdy_range *r)
{
	if (r->lbn >= cfg->sectors || r->count > cfg->sectors - r->lbn) {
		mdr_refuse(cmd, MDR_BAD_LBA);
		return false;
	}
	if (r->op == MDE_FLUSH)
		return true;
	/* VERIFY, too: its course is worked out with interrupts off. */
	if (r->count > mdy_longest(cfg) ||
	    (r->op != MDE_VERIFY &&
	     (r->same ? 1 : r->count) * cfg->sector_bytes > scsi_bufflen(cmd))) {
		mdr_refuse(cmd, MDR_BAD_FIELD);
		return false;
	}
	return r->op == MDE_VERIFY ||
		mdr_way(cmd, r->op == MDE_READ ? DMA_FROM_DEVICE : DMA_TO_DEVICE);
}

static bool mdr_same(const struct mde_config *cfg, struct scsi_cmnd *cmd, struct mdy_range *r)
{
	if (!mdy_same_flags(cmd->cmnd, r)) {
		mdr_refuse(cmd, MDR_BAD_FIELD);
		return false;
	}
	return r->gone ? mdr_check_gone(cfg, cmd, r) : mdr_check_range(cfg, cmd, r);
}

bool mdr_decode(struct mdh *h, const struct mde_config *cfg,
		struct scsi_cmnd *cmd, struct mdy_range *r)
{
	if (cfg->unmap && cmd->cmnd[0] == MDY_UNMAP)
		return mdr_unmap(cfg, cmd, r);
	if (cfg->unmap && mdy_names_same(cmd->cmnd, r))
		return mdr_same(cfg, cmd, r);
	if (!mdy_names_sectors(cmd->cmnd, r))
		return mdr_other(h, cfg, cmd, r);
	if (!mdy_flags(cmd->cmnd, r)) {
		mdr_refuse(cmd, MDR_BAD_FIELD);
		return false;
	}
	if (!mdr_check_range(cfg, cmd, r))
		return false;
	if (r->op == MDE_FLUSH) {
		/* The whole cache, whatever the range. */
		if (mdr_flush_of(cfg, r))
			return true;
		mdr_reply(h, cfg, cmd);
		return false;
	}
	if (!r->count) {
		scsi_set_resid(cmd, scsi_bufflen(cmd));
		cmd->result = SAM_STAT_GOOD;
		return false;
	}
	return true;
}
