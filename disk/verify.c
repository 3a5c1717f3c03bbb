// SPDX-License-Identifier: GPL-2.0
/*
 * Reads that must come from the medium (Documentation/design.rst, From the medium). VERIFY is
 * disguised as a read, so that the elevator can schedule it and the block layer's accounts balance:
 * it is a passthrough command only while the driver has it. Locks: fb_disk.lock.
 */
#include <linux/rcupdate.h>
#include <scsi/scsi_cmnd.h>
#include <scsi/scsi_eh.h>
#include <scsi/scsi_proto.h>

#include "disk/disk.h"
#include "include/compat/fb_compat.h"

/* neither chance nor a seek shorter than the model's explains so many of FB_VERIFY_FORGET */
#define FB_VERIFY_CAUGHT 4
#define FB_VERIFY_FORGET 1024
/* One may fail by a unit attention or a busy host. */
#define FB_VERIFY_FAILED 2
/* what passes the head for so long, and takes no less, was read */
#define FB_VERIFY_PROOF_NS NSEC_PER_MSEC
/* where no map tells how fast sectors pass: 512 MB/s, which no disk's heads read */
#define FB_VERIFY_SECTOR_NS 1000
/* FUA that the kernel refuses on SATA is tried again after this: NCQ may be back */
#define FB_VERIFY_RETRY_NS (60 * NSEC_PER_SEC)

/* longest VERIFY(10), in logical blocks */
#define FB_VERIFY_10_MAX 0xffff

/*
 * What the drive can do is assumed until it was watched; READ(6) has no FUA. What translates for a
 * SATA drive has the ATA Information page (89h), whatever the drive's vendor.
 */
static void fb_verify_attach(struct fb_disk *disk, struct gendisk *gd)
{
	const struct scsi_device *sdev = fb_disk_scsi(gd);
	bool long_cdbs = sdev && (sdev->use_10_for_rw || sdev->use_16_for_rw);
	bool ata_page = sdev && rcu_access_pointer(sdev->vpd_pg89);

	guard(spinlock_irq)(&disk->lock);
	disk->verify = (struct fb_verify) {
		.sata = ata_page || !strcmp(disk->vendor, "ATA"),
		.verify.barred = sdev ? NULL : "not a SCSI disk",
		.fua.barred = long_cdbs ? NULL : sdev ? "READ(6)" : "not a SCSI disk",
	};
}

const struct fb_disk_client fb_verify_client = {
	.attach = fb_verify_attach,
};

/* a SATA drive's VERIFY is not queued: it waits for all others, and they for it */
static bool fb_verify_fua_first(const struct fb_verify *m)
{
	return m->sata && !m->fua.barred;
}

/* How the next separate read is sent. VERIFY transfers nothing: only if no task wants data. */
enum fb_verify_how fb_verify_how(const struct fb_disk *disk)
{
	const struct fb_verify *m = &disk->verify;
	u32 flags = disk->needs;

	lockdep_assert_held(&disk->lock);
	if (!(flags & FREEBLOCK_MEDIUM) || m->checking)
		return FB_VERIFY_READ;
	if (flags & FREEBLOCK_NO_DATA && !m->verify.barred && !fb_verify_fua_first(m))
		return FB_VERIFY_COMMAND;
	return m->fua.barred ? FB_VERIFY_READ : FB_VERIFY_FUA;
}

/* Sectors, whole blocks, of a read whose time alone proves that it reads the medium. */
u32 fb_verify_proof(const struct fb_disk *disk)
{
	return roundup(FB_VERIFY_PROOF_NS / FB_VERIFY_SECTOR_NS, disk->granule);
}

/* Least sectors of a read that is to prove its way; 0: any, as with a map its angle proves it. */
u32 fb_verify_least(const struct fb_disk *disk)
{
	const struct fb_verify *m = &disk->verify;
	enum fb_verify_how how = fb_verify_how(disk);
	bool proven = how == FB_VERIFY_COMMAND ? m->verify.proven : m->fua.proven;

	lockdep_assert_held(&disk->lock);
	if (how == FB_VERIFY_READ || proven || !fb_level_unmapped(disk))
		return 0;
	return fb_verify_proof(disk);
}

/* May FUA be sent where nobody sees if it is known? On SATA it must have been seen to work. */
bool fb_verify_has_fua(const struct fb_disk *disk)
{
	const struct fb_verify *m = &disk->verify;

	lockdep_assert_held(&disk->lock);
	return !m->fua.barred && !m->checking && (m->fua.proven || !m->sata);
}

/* Try again what the kernel refused: libata knows FUA in reads for NCQ only. */
void fb_verify_renew(struct fb_disk *disk)
{
	const struct scsi_device *sdev = fb_disk_sdev(disk);
	struct fb_verify *m = &disk->verify;
	u64 now = ktime_get_ns();

	/* nobody may want that place any more */
	if (m->checking && now >= m->check_ns + FB_VERIFY_RETRY_NS)
		m->checking = FB_VERIFY_READ;
	if (!sdev || !m->refused_ns)
		return;
	if (READ_ONCE(sdev->queue_depth) == m->depth && now < m->refused_ns + FB_VERIFY_RETRY_NS)
		return;
	m->refused_ns = 0;
	m->fua.barred = NULL;
}

/* what is used for tasks that want the medium read, but no data */
static int fb_verify_describe_best(const struct fb_verify *m, char *text, size_t size)
{
	if (fb_verify_fua_first(m))
		return scnprintf(text, size, "fua (verify is not queued: SATA)");
	if (!m->verify.barred && m->fua.barred && m->sata)
		return scnprintf(text, size, "verify (no fua: %s)", m->fua.barred);
	if (!m->verify.barred)
		return scnprintf(text, size, "verify");
	if (!m->fua.barred)
		return scnprintf(text, size, "fua (no verify: %s)", m->verify.barred);
	return scnprintf(text, size, "read (no verify: %s; no fua: %s)", m->verify.barred,
			 m->fua.barred);
}

/* How what must come from the medium is read; without such a task, how a scrub would have it. */
void fb_verify_describe(const struct fb_disk *disk, char *text, size_t size)
{
	const struct fb_verify *m = &disk->verify;

	lockdep_assert_held(&disk->lock);
	if (!(disk->needs & FREEBLOCK_MEDIUM)) {
		int n = fb_verify_describe_best(m, text, size);

		snprintf(text + n, size - n, "; no task asks for it");
	} else if (m->checking) {
		snprintf(text, size, "read (%s has failed: is the medium at fault?)",
			 m->checking == FB_VERIFY_COMMAND ? "verify" : "fua");
	} else if (disk->needs & FREEBLOCK_NO_DATA) {
		fb_verify_describe_best(m, text, size);
	} else if (!m->fua.barred) {
		snprintf(text, size, "fua (a task wants data)");
	} else {
		snprintf(text, size, "read (a task wants data; no fua: %s)", m->fua.barred);
	}
}

/* The longest VERIFY, sectors. It needs no memory, but a bit in a buffer's mask for each block. */
u32 fb_verify_max(const struct fb_disk *disk)
{
	u32 sectors = fb_longest_verify(disk->granule);
	u32 limit = min_not_zero(disk->q->limits.max_dev_sectors, queue_max_hw_sectors(disk->q));

	lockdep_assert_held(&disk->lock);
	return round_down(min(sectors, limit),
			  max(queue_physical_block_size(disk->q) >> SECTOR_SHIFT, 1U));
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

/* As scsi_alloc_request() does. A passthrough command without data has no bio: ours waits. */
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

/* Make a read of ours what it is to be sent as. What is left of one that was requeued stays so. */
void fb_verify_apply(const struct fb_free_read *buf, struct request *rq)
{
	lockdep_assert_held(&buf->disk->lock);
	if (buf->kind == FB_FREE_READ_PREPENDED || rq->cmd_flags & REQ_FUA)
		return;
	switch (buf->how) {
	case FB_VERIFY_READ:
		break;
	case FB_VERIFY_FUA:
		/* sd honours it in reads, too (sd_setup_read_write_cmnd()) */
		rq->cmd_flags |= REQ_FUA;
		/* a trial says nothing in the log; bad blocks have a line of our own */
		if (!buf->disk->verify.fua.proven)
			rq->rq_flags |= RQF_QUIET;
		break;
	case FB_VERIFY_COMMAND:
		fb_verify_disguise(rq, rq->bio);
		break;
	}
}

/* Make a complete VERIFY a read again, just before the block layer accounts for its end. */
void fb_verify_restore(struct request *rq)
{
	if (rq->end_io == fb_verify_end_io)
		rq->cmd_flags = (rq->cmd_flags & ~REQ_OP_MASK) | REQ_OP_READ;
}

/* Sense data of this very command: what ended before the host saw it keeps older ones. */
static bool fb_verify_sensed(const struct scsi_cmnd *cmd, struct scsi_sense_hdr *sense)
{
	return scsi_status_is_check_condition(cmd->result) &&
	       scsi_normalize_sense(cmd->sense_buffer, SCSI_SENSE_BUFFERSIZE, sense) &&
	       !scsi_sense_is_deferred(sense);
}

/* Find the first bad sector of a failed read, whose bio ends: sets @good and @named. */
void fb_verify_place(struct fb_free_read *buf)
{
	struct request *rq = buf->rq;
	struct scsi_sense_hdr sense;
	const struct scsi_cmnd *cmd;
	u64 bad, info = 0;
	bool named;

	buf->good = 0;
	if (!rq)
		return;
	cmd = blk_mq_rq_to_pdu(rq);
	named = fb_verify_sensed(cmd, &sense) &&
		scsi_get_sense_info_fld(cmd->sense_buffer, SCSI_SENSE_BUFFERSIZE, &info);
	info <<= ilog2(queue_logical_block_size(rq->q)) - SECTOR_SHIFT;
	/* the good sectors of other reads have advanced the request */
	bad = buf->how == FB_VERIFY_COMMAND && named ? info : blk_rq_pos(rq);
	if (bad < buf->lbn || bad >= buf->lbn + buf->nsect)
		return;
	buf->good = bad - buf->lbn;
	/* of an error that it does not know the SCSI layer completes nothing before the place */
	buf->named = named && info >= bad &&
		     info - bad < queue_physical_block_size(rq->q) >> SECTOR_SHIFT;
}

/* Why a request is sent again, as a result of the SCSI layer; 0: not because it failed. */
static int fb_verify_retried(struct request *rq)
{
	struct scsi_cmnd *cmd = blk_mq_rq_to_pdu(rq);
	struct scsi_sense_hdr sense;

	/* of a partly completed one the SCSI layer has freed it, and our read is over */
	if (!(rq->rq_flags & RQF_DONTPREP))
		return 0;
	if (!scsi_normalize_sense(cmd->sense_buffer, SCSI_SENSE_BUFFERSIZE, &sense))
		return time_after_eq(jiffies, READ_ONCE(rq->deadline)) ? DID_TIME_OUT << 16 : 0;
	if (scsi_sense_is_deferred(&sense) || sense.sense_key == UNIT_ATTENTION ||
	    sense.sense_key == NOT_READY)
		return 0;
	return SAM_STAT_CHECK_CONDITION;
}

/*
 * A request with a read of ours prepended failed, and the SCSI layer is about to send it again. The
 * read ends here: five retries of it would stall the foreground, and libata would switch NCQ off.
 * What is left is prepared anew, as scsi_mq_requeue_cmd() does. Without the lock.
 */
void fb_verify_split(struct fb_disk *disk, struct request *rq)
{
	struct scsi_cmnd *cmd = blk_mq_rq_to_pdu(rq);
	struct fb_free_read *buf = NULL;
	int result = fb_verify_retried(rq);
	unsigned long flags;

	if (!result)
		return;
	spin_lock_irqsave(&disk->lock, flags);
	while ((buf = fb_free_read_next(disk->reads.bufs, buf)))
		if (buf->state == FB_FREE_READ_SENT && rq->bio == &buf->bio &&
		    buf->kind == FB_FREE_READ_PREPENDED)
			break;
	spin_unlock_irqrestore(&disk->lock, flags);
	if (!buf)
		return;
	scsi_free_sgtables(cmd);
	rq->rq_flags &= ~RQF_DONTPREP;
	cmd->retries = 0;
	cmd->jiffies_at_alloc = jiffies;
	/* it was reset for the retry; what ends here has failed */
	cmd->result = result;
	blk_update_request(rq, BLK_STS_IOERR, rq->bio->bi_iter.bi_size);
	cmd->result = 0;
}

/* Did a command fail, wholly or in part? @rq: its request, of a SCSI disk, complete. */
bool fb_verify_failed(struct request *rq)
{
	const struct scsi_cmnd *cmd = blk_mq_rq_to_pdu(rq);

	return cmd->result;
}

static struct fb_verify_way *fb_verify_way(struct fb_verify *m, enum fb_verify_how how)
{
	return how == FB_VERIFY_COMMAND ? &m->verify : &m->fua;
}

/* The command is not known: on SATA what translates says so of FUA, and not for ever. */
static void fb_verify_bar(struct fb_disk *disk, enum fb_verify_how how)
{
	struct fb_verify *m = &disk->verify;

	if (how == FB_VERIFY_COMMAND) {
		m->verify.barred = "refused by the drive";
		fb_disk_say(disk, "the drive refuses VERIFY");
	} else if (m->sata) {
		const struct scsi_device *sdev = fb_disk_sdev(disk);

		m->fua.proven = false;
		m->fua.barred = "refused: NCQ is off, or the adapter has none";
		m->depth = sdev ? READ_ONCE(sdev->queue_depth) : 0;
		m->refused_ns = ktime_get_ns();
	} else {
		m->fua.barred = "refused by the drive";
		fb_disk_say(disk, "the drive refuses READ with FUA");
	}
}

/* Has a READ read all of what a VERIFY or FUA could not? Then the command is at fault. */
void fb_verify_check(struct fb_disk *disk, const struct fb_free_read *buf, bool good)
{
	struct fb_verify *m = &disk->verify;
	u64 end = m->check_lbn + m->check_nsect, read_end = buf->lbn + buf->nsect;
	struct fb_verify_way *way;

	if (!m->checking || buf->how != FB_VERIFY_READ || read_end <= m->check_lbn ||
	    buf->lbn >= end || (good && buf->lbn > m->check_lbn))
		return;
	if (good && read_end < end) {
		m->check_lbn = read_end;
		m->check_nsect = end - read_end;
		return;
	}
	way = fb_verify_way(m, m->checking);
	if (good && ++way->failed == FB_VERIFY_FAILED) {
		way->barred = "fails where READ does not";
		fb_disk_say(disk, m->checking == FB_VERIFY_COMMAND ?
			    "VERIFY fails where READ does not and is no longer used" :
			    "READ with FUA fails where READ does not and is no longer used");
	}
	m->checking = FB_VERIFY_READ;
}

/* A bad block explains a VERIFY or FUA that failed there, and no READ will come to tell. */
void fb_verify_is_bad(struct fb_disk *disk, u64 lbn)
{
	struct fb_verify *m = &disk->verify;

	lockdep_assert_held(&disk->lock);
	if (lbn >= m->check_lbn && lbn < m->check_lbn + m->check_nsect)
		m->checking = FB_VERIFY_READ;
}

/* what the sense data say; libata's errors have no other sign (6.1: no BLK_STS_MEDIUM) */
static enum fb_verify_fault fb_verify_sense(const struct fb_free_read *buf)
{
	struct scsi_sense_hdr sense;
	const struct scsi_cmnd *cmd;

	if (buf->status == BLK_STS_MEDIUM)
		return FB_VERIFY_FAULT_MEDIUM;
	if (!buf->rq)
		return FB_VERIFY_FAULT_OTHER;
	cmd = blk_mq_rq_to_pdu(buf->rq);
	if (!fb_verify_sensed(cmd, &sense))
		return FB_VERIFY_FAULT_OTHER;
	/* not read, no mark, not found; of others a retry may be good (scsi_check_sense()) */
	if (sense.sense_key == MEDIUM_ERROR)
		return sense.asc == 0x11 || sense.asc == 0x13 || sense.asc == 0x14 ?
			FB_VERIFY_FAULT_MEDIUM : FB_VERIFY_FAULT_OTHER;
	if (sense.sense_key != ILLEGAL_REQUEST)
		return FB_VERIFY_FAULT_OTHER;
	/* an address out of range lies within the disk: the sector's ID is not found (ATA: IDNF) */
	if (sense.asc == 0x21)
		return FB_VERIFY_FAULT_MEDIUM;
	return buf->how == FB_VERIFY_READ ? FB_VERIFY_FAULT_OTHER : FB_VERIFY_FAULT_COMMAND;
}

/*
 * Why a read of ours failed. A command that fails otherwise than by the medium is not used until
 * READ has told whether it can read there.
 */
enum fb_verify_fault fb_verify_fault(struct fb_disk *disk, const struct fb_free_read *buf)
{
	enum fb_verify_fault fault = fb_verify_sense(buf);
	struct fb_verify *m = &disk->verify;

	lockdep_assert_held(&disk->lock);
	if (buf->status == BLK_STS_AGAIN)
		return fault;
	if (buf->how == FB_VERIFY_READ) {
		fb_verify_check(disk, buf, false);
	} else if (fault == FB_VERIFY_FAULT_COMMAND) {
		fb_verify_bar(disk, buf->how);
	} else if (fault == FB_VERIFY_FAULT_OTHER) {
		bool placed = buf->named || buf->good;
		u32 granule = disk->quarantine.granule, first = round_down(buf->good, granule);

		m->checking = buf->how;
		m->check_lbn = buf->lbn + first;
		m->check_nsect = placed ? min(granule, buf->nsect - first) : buf->nsect;
		m->check_ns = ktime_get_ns();
	}
	return fault;
}

/* The least time that a read's sectors take to pass the head, on the longest track; ns. */
static u64 fb_verify_pass_ns(const struct fb_disk *disk, const struct fb_free_read *buf)
{
	const struct dm_info *info;

	if (fb_level_unmapped(disk))
		return buf->nsect * FB_VERIFY_SECTOR_NS;
	info = dm_info(disk->model);
	/* a sixteenth for a drive that turns a little faster */
	return div_u64(div_u64(info->period_ps, 1000) * buf->nsect / 16 * 15,
		       info->spt_most * info->physical_sectors);
}

/* Is a VERIFY or FUA believed? If it took long enough, and one was seen to read the medium. */
static bool fb_verify_believe(struct fb_disk *disk, const struct fb_free_read *buf,
			      const enum fb_head_verdict *verdict)
{
	struct fb_verify_way *way = fb_verify_way(&disk->verify, buf->how);
	u64 pass_ns = fb_verify_pass_ns(disk, buf), took_ns = ktime_get_ns() - buf->began_ns;

	way->failed = 0;
	if (++way->watched % FB_VERIFY_FORGET == 0)
		way->early /= 2;
	if (took_ns < pass_ns || (verdict && *verdict == FB_HEAD_EARLY)) {
		if (++way->early < FB_VERIFY_CAUGHT || way->barred)
			return false;
		way->barred = "ends before the medium can be read";
		way->proven = false;
		fb_disk_say(disk, buf->how == FB_VERIFY_COMMAND ?
			    "VERIFY ends too early to have read the medium and is no longer used" :
			    "READ with FUA ends too early to have read the medium and is no longer used");
		return false;
	}
	if (pass_ns >= FB_VERIFY_PROOF_NS || (verdict && *verdict == FB_HEAD_MECHANICAL))
		way->proven = true;
	return way->proven;
}

/* May a read that has ended well, or a failed VERIFY, have come from elsewhere than the medium? */
static bool fb_verify_proves(struct fb_disk *disk, const struct fb_free_read *buf, bool failed,
			     const enum fb_head_verdict *verdict)
{
	if (failed)
		return true;
	if (buf->how != FB_VERIFY_READ && buf->rq && buf->began_ns)
		return fb_verify_believe(disk, buf, verdict);
	return verdict ? *verdict == FB_HEAD_MECHANICAL ||
			 (buf->proven && *verdict != FB_HEAD_EARLY) : buf->proven;
}

/*
 * A request with a read of ours is complete. @verdict: or NULL. Most bios end before their request:
 * such a read is over only now.
 */
void fb_verify_judge(struct fb_disk *disk, struct request *rq, const enum fb_head_verdict *verdict)
{
	struct fb_free_read *buf = NULL;
	bool failed;

	lockdep_assert_held(&disk->lock);
	while ((buf = fb_free_read_next(disk->reads.bufs, buf))) {
		if (buf->state != FB_FREE_READ_SENT || buf->rq != rq)
			continue;
		/* of a command that failed, what has ended before is good */
		failed = !buf->over && fb_verify_failed(rq);
		buf->proven = fb_verify_proves(disk, buf, failed, verdict);
		/* bios that end later: of a VERIFY, and while protection information is checked */
		if (!buf->over) {
			if (buf->how != FB_VERIFY_COMMAND)
				buf->rq = NULL;
			continue;
		}
		buf->rq = NULL;
		buf->state = FB_FREE_READ_ENDED;
		wake_up(&disk->wait);
	}
}
