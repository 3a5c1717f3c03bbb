// SPDX-License-Identifier: GPL-2.0
/*
 * Reads that must come from the medium (Practical Scrubbing, III; Documentation/design.rst, From
 * the medium). VERIFY is disguised as a read, so that the elevator can schedule it: it is one
 * until it is handed to the driver and again once it is complete, so that the block layer's
 * accounts balance. In between it is a passthrough command. Locks: fb_disk.lock.
 */
#include <linux/kernel.h>
#include <linux/rcupdate.h>
#include <scsi/scsi_cmnd.h>
#include <scsi/scsi_eh.h>
#include <scsi/scsi_proto.h>

#include "disk/disk.h"
#include "include/compat/fb_compat.h"

/*
 * Verified sectors are rarely in the cache by chance, and a seek shorter than the model's does
 * not explain four of some thousand VERIFYs ending too early to be mechanical.
 */
#define FB_VERIFY_CAUGHT 4
#define FB_VERIFY_FORGET 1024

/*
 * Drives may try for seconds to recover a sector, some for longer than Linux's 30 s. A time-out
 * would abort the other commands in flight and reset the drive. But once a command was turned back,
 * the SCSI layer sends nothing while another is at the drive (scsi_dev_queue_ready()), and does not
 * retry after six of the queue's time-outs (sd's five retries). So a VERIFY, which may hang, has
 * four of them, up to 120 s.
 */
#define FB_VERIFY_TIMEOUTS 4
#define FB_VERIFY_TIMEOUT_MAX (120 * HZ)

/* longest VERIFY(10), in logical blocks */
#define FB_VERIFY_10_MAX 0xffff

/* Assume what the drive can do, before it has been watched; READ(6) has no FUA. */
static void fb_verify_attach(struct fb_disk *fd, struct gendisk *disk)
{
	const struct scsi_device *sdev = fb_disk_scsi(disk);
	bool long_cdbs = sdev && (sdev->use_10_for_rw || sdev->use_16_for_rw);

	spin_lock_irq(&fd->lock);
	fd->verify = (struct fb_verify) {
		.no_verify = strcmp(fd->vendor, "ATA") ? NULL : "SATA",
		.no_fua = long_cdbs ? NULL : "READ(6)",
	};
	spin_unlock_irq(&fd->lock);
}

const struct fb_disk_client fb_verify_client = {
	.attach = fb_verify_attach,
};

/**
 * fb_verify_how() - how the next separate read is to be sent
 * @fd: the disk, locked
 *
 * VERIFY transfers no data, so it is used only if no running task wants data.
 *
 * Context: fb_disk.lock held.
 *
 * Return: an enum fb_verify_how.
 */
enum fb_verify_how fb_verify_how(const struct fb_disk *fd)
{
	u32 flags = fd->needs;

	lockdep_assert_held(&fd->lock);
	if (!(flags & FREEBLOCK_MEDIUM))
		return FB_VERIFY_READ;
	if (flags & FREEBLOCK_NO_DATA && !fd->verify.no_verify)
		return FB_VERIFY_COMMAND;
	return fd->verify.no_fua ? FB_VERIFY_READ : FB_VERIFY_FUA;
}

/**
 * fb_verify_describe() - what is used for tasks that want the medium read, but no data
 * @m: the drive's abilities
 * @text: filled
 * @size: size of @text
 *
 * Context: fb_disk.lock held.
 */
void fb_verify_describe(const struct fb_verify *m, char *text, size_t size)
{
	if (!m->no_verify)
		snprintf(text, size, "verify");
	else if (!m->no_fua)
		snprintf(text, size, "fua (no verify: %s)", m->no_verify);
	else
		snprintf(text, size, "read (no verify: %s; no fua: %s)", m->no_verify, m->no_fua);
}

/**
 * fb_verify_max() - longest VERIFY
 * @fd: the disk, locked, with a queue and a model
 *
 * It needs no memory; its limits are the size of a buffer's mask and those of the drive.
 *
 * Context: fb_disk.lock held.
 *
 * Return: sectors.
 */
u32 fb_verify_max(const struct fb_disk *fd)
{
	u32 sectors = fb_longest_verify(dm_info(fd->model)->granule_sectors);
	u32 limit = min_not_zero(fd->q->limits.max_dev_sectors, queue_max_hw_sectors(fd->q));

	lockdep_assert_held(&fd->lock);
	return round_down(min(sectors, limit),
			  max(queue_physical_block_size(fd->q) >> SECTOR_SHIFT, 1U));
}

static void fb_verify_cdb(struct scsi_cmnd *cmd, u64 block, u32 blocks)
{
	memset(cmd->cmnd, 0, sizeof(cmd->cmnd));
	if (block + blocks - 1 > U32_MAX || blocks > FB_VERIFY_10_MAX) {
		cmd->cmnd[0] = VERIFY_16;
		put_unaligned_be64(block, &cmd->cmnd[2]);
		put_unaligned_be32(blocks, &cmd->cmnd[10]);
		cmd->cmd_len = 16;
	} else {
		cmd->cmnd[0] = VERIFY;
		put_unaligned_be32(block, &cmd->cmnd[2]);
		put_unaligned_be16(blocks, &cmd->cmnd[7]);
		cmd->cmd_len = 10;
	}
}

static FB_COMPAT_END_IO(fb_verify_end_io)
{
	struct bio *bio = rq->end_io_data;

	rq->end_io = NULL;
	bio->bi_status = status;
	bio_endio(bio);
	return RQ_END_IO_FREE;
}

/*
 * Do what scsi_alloc_request() does, and set the command. A passthrough command without data
 * has no bio, so ours waits in end_io_data. It is not retried, and its errors and time-outs
 * are not held against the disk (scsi_noretry_cmd(), scsi_eh_action()).
 */
static void fb_verify_disguise(struct request *rq, struct bio *bio)
{
	struct scsi_cmnd *cmd = blk_mq_rq_to_pdu(rq);
	u32 shift = ilog2(queue_logical_block_size(rq->q)) - SECTOR_SHIFT;

	fb_verify_cdb(cmd, blk_rq_pos(rq) >> shift, blk_rq_sectors(rq) >> shift);
	cmd->sense_len = 0;
	cmd->flags = 0;
	cmd->jiffies_at_alloc = jiffies;
	cmd->retries = 0;
	cmd->allowed = 0;
	init_rcu_head(&cmd->rcu);
	bio->bi_iter.bi_size = 0;
	rq->bio = NULL;
	rq->biotail = NULL;
	rq->__data_len = 0;
	rq->nr_phys_segments = 0;
	rq->cmd_flags = (rq->cmd_flags & ~REQ_OP_MASK) | REQ_OP_DRV_IN;
	rq->end_io = fb_verify_end_io;
	rq->end_io_data = bio;
}

static unsigned int fb_verify_timeout(const struct request_queue *q)
{
	unsigned int most = max_t(unsigned int, q->rq_timeout, FB_VERIFY_TIMEOUT_MAX);

	return min_t(u64, most, (u64)FB_VERIFY_TIMEOUTS * q->rq_timeout);
}

/**
 * fb_verify_apply() - turn a read of ours into READ, READ with FUA or VERIFY
 * @buf: the read
 * @rq: its request, about to be handed to the driver and otherwise accounted for
 *
 * The remainder of a partly completed read passes here again, and stays what it was.
 *
 * Context: fb_disk.lock held.
 */
void fb_verify_apply(const struct fb_free_read *buf, struct request *rq)
{
	lockdep_assert_held(&buf->fd->lock);
	if (buf->kind == FB_FREE_READ_PREPENDED || rq->cmd_flags & REQ_FUA)
		return;
	if (buf->rq && buf->how != FB_VERIFY_READ)
		rq->timeout = fb_verify_timeout(rq->q);
	switch (buf->how) {
	case FB_VERIFY_READ:
		break;
	case FB_VERIFY_FUA:
		/* sd honours it in reads, too (sd_setup_read_write_cmnd()) */
		rq->cmd_flags |= REQ_FUA;
		break;
	case FB_VERIFY_COMMAND:
		fb_verify_disguise(rq, rq->bio);
		break;
	}
}

/**
 * fb_verify_restore() - turn a complete VERIFY into a read again, for the block layer's accounts
 * @rq: any request of a queue of ours
 *
 * It was accounted as a read when it started, and the end of a passthrough command is not
 * accounted (blk_do_io_stat()).
 *
 * Context: the elevator's completed_request, which is called just before the accounting; on
 * kernels that leave both out for such a command, its finish_request.
 */
void fb_verify_restore(struct request *rq)
{
	if (rq->end_io == fb_verify_end_io)
		rq->cmd_flags = (rq->cmd_flags & ~REQ_OP_MASK) | REQ_OP_READ;
}

/**
 * fb_verify_good() - how much of a failed read is good
 * @buf: the read, its request still there
 *
 * Context: fb_disk.lock held; called when its bio ends.
 *
 * Return: sectors before the first bad one; 0, too, if the drive does not name that one.
 */
u32 fb_verify_good(const struct fb_free_read *buf)
{
	struct request *rq = buf->rq;
	u64 bad;

	if (!rq)
		return 0;
	/*
	 * The good sectors of other reads were completed before and have advanced the request.
	 * Wrong protection information is found when it has advanced over the whole read, so
	 * that it does not say which sector is bad.
	 */
	bad = blk_rq_pos(rq);
	if (buf->how == FB_VERIFY_COMMAND) {
		const struct scsi_cmnd *cmd = blk_mq_rq_to_pdu(rq);

		if (!scsi_get_sense_info_fld(cmd->sense_buffer, SCSI_SENSE_BUFFERSIZE, &bad))
			return 0;
		bad <<= ilog2(queue_logical_block_size(rq->q)) - SECTOR_SHIFT;
	}
	return bad >= buf->lbn && bad < buf->lbn + buf->nsect ? bad - buf->lbn : 0;
}

/**
 * fb_verify_failed() - did a command fail, wholly or in part?
 * @rq: its request, of a SCSI disk, complete
 *
 * Context: any.
 *
 * Return: true if it did.
 */
bool fb_verify_failed(struct request *rq)
{
	const struct scsi_cmnd *cmd = blk_mq_rq_to_pdu(rq);

	return cmd->result;
}

/**
 * fb_verify_refused() - did a read fail because the drive does not know the command?
 * @fd: the disk, locked
 * @buf: a read that failed, its request still there
 *
 * If so, that command is not used any more.
 *
 * Context: fb_disk.lock held; called when its bio ends.
 *
 * Return: true: the error says nothing about the medium; the blocks must be read in another way.
 */
bool fb_verify_refused(struct fb_disk *fd, const struct fb_free_read *buf)
{
	const struct scsi_cmnd *cmd;
	struct scsi_sense_hdr sense;

	lockdep_assert_held(&fd->lock);
	if (buf->how == FB_VERIFY_READ || !buf->rq)
		return false;
	cmd = blk_mq_rq_to_pdu(buf->rq);
	if (!scsi_normalize_sense(cmd->sense_buffer, SCSI_SENSE_BUFFERSIZE, &sense) ||
	    sense.sense_key != ILLEGAL_REQUEST)
		return false;
	if (buf->how == FB_VERIFY_COMMAND) {
		fd->verify.no_verify = "refused by the drive";
		fb_message_note(fd, FB_MESSAGE_NO_VERIFY);
	} else {
		fd->verify.no_fua = "refused by the drive";
		fb_message_note(fd, FB_MESSAGE_NO_FUA);
	}
	return true;
}

static void fb_verify_watch(struct fb_disk *fd, struct request *rq, bool early)
{
	const struct scsi_cmnd *cmd = blk_mq_rq_to_pdu(rq);
	struct fb_verify *m = &fd->verify;

	if (++m->watched % FB_VERIFY_FORGET == 0)
		m->early /= 2;
	/* An early error does not claim to have read the medium. */
	if (!early || cmd->result || ++m->early < FB_VERIFY_CAUGHT || m->no_verify)
		return;
	m->no_verify = "answered from the cache";
	fb_message_note(fd, FB_MESSAGE_CACHED_VERIFY);
}

/**
 * fb_verify_judge() - a request that carries a read of ours is complete
 * @fd: the disk, locked
 * @rq: the request
 * @verdict: the verdict on its completion; NULL: there is none
 *
 * The block layer ends most reads' bios before their request, when there is no verdict yet:
 * such a read is over only now. A read whose bio ends later is over then, with @verdict noted.
 *
 * Context: fb_disk.lock held.
 */
void fb_verify_judge(struct fb_disk *fd, struct request *rq, const enum fb_head_verdict *verdict)
{
	struct fb_free_read *buf = NULL;

	lockdep_assert_held(&fd->lock);
	while ((buf = fb_free_read_next(fd->reads.bufs, buf))) {
		if (buf->state != FB_FREE_READ_SENT || buf->rq != rq)
			continue;
		if (verdict && buf->how == FB_VERIFY_COMMAND)
			fb_verify_watch(fd, rq, *verdict == FB_HEAD_EARLY);
		if (verdict && *verdict == FB_HEAD_MECHANICAL)
			buf->proven = true;
		if (verdict && *verdict == FB_HEAD_EARLY)
			buf->proven = false;
		/* bios that end later: of a VERIFY, and while protection information is checked */
		if (!buf->over) {
			if (buf->how != FB_VERIFY_COMMAND)
				buf->rq = NULL;
			continue;
		}
		buf->rq = NULL;
		buf->state = FB_FREE_READ_ENDED;
		wake_up(&fd->wait);
	}
}
