// SPDX-License-Identifier: GPL-2.0
/*
 * Our own reads: buffers, bios prepended to a foreground read, and the carrier, a request of ours
 * that the scheduler holds and aims just before it is dispatched (Documentation/design.rst). Locks:
 * fb_disk.lock.
 */
#include <linux/blk-crypto.h>
#include <linux/blk-integrity.h>
#include <linux/ioprio.h>
#include <linux/vmalloc.h>
#include <scsi/scsi_device.h>
#include <trace/events/block.h>

#include "disk/disk.h"
#include "include/compat/fb_compat.h"

/* Separate reads are never retried: a retry would take the drive from the foreground. */
#define FB_FREE_READ_OPF (REQ_OP_READ | REQ_NOWAIT | REQ_NOMERGE | REQ_FAILFAST_MASK)

/* Charge a late task's read with the time since the drive ended the command before, or got it. */
static void fb_free_read_charge(struct fb_free_read *buf, blk_status_t status)
{
	struct fb_late *late = &buf->disk->late;
	u64 from_ns = buf->began_ns ? buf->began_ns : buf->sent_ns;

	late->flying = false;
	if (status == BLK_STS_AGAIN)
		late->retry_ns = buf->ended_ns + FB_LATE_RETRY_NS;
	else
		fb_deadline_charge(&late->share,
				   buf->ended_ns - max(from_ns, buf->disk->fg.end_ns));
}

/* Commands that the device has got; if it is SCSI, those that pass by the scheduler, too. */
u32 fb_free_read_commands(const struct fb_disk *disk)
{
	const struct scsi_device *sdev = fb_disk_sdev(disk);

	return sdev ? atomic_read(&sdev->iorequest_cnt) : disk->idle.sent;
}

static void fb_free_read_ended(struct fb_free_read *buf, blk_status_t status)
{
	buf->status = status;
	buf->ended_ns = ktime_get_ns();
	if (buf->probe) {
		buf->others = fb_free_read_commands(buf->disk) - buf->commands - 1;
		/* the driver may have refused it at first */
		if (buf->rq)
			buf->began_ns = max(buf->began_ns, buf->rq->io_start_time_ns);
	}
	if (buf->kind == FB_FREE_READ_HURRIED)
		fb_free_read_charge(buf, status);
	else if (buf->kind != FB_FREE_READ_PROMOTED)
		buf->disk->reads.ended += buf->nsect;
	buf->good = buf->nsect;
	if (status) {
		fb_recovery_watch(buf);
		fb_verify_place(buf);
		/* An error cannot come from the cache. */
		buf->proven = true;
		buf->fault = fb_verify_fault(buf->disk, buf);
		/* If the command was refused, read again in another way. */
		buf->dirty |= buf->fault == FB_VERIFY_FAULT_COMMAND;
		goto ended;
	}
	fb_verify_check(buf->disk, buf, true);
	if (buf->rq && buf->how != FB_VERIFY_COMMAND) {
		buf->over = true;
		return;
	}
ended:
	buf->rq = NULL;
	buf->state = FB_FREE_READ_ENDED;
}

static void fb_free_read_end_io(struct bio *bio)
{
	struct fb_free_read *buf = bio->bi_private;
	struct fb_disk *disk = buf->disk;

	guard(spinlock_irqsave)(&disk->lock);
	if (buf->state == FB_FREE_READ_CARRIER) {
		/* The carrier was refused, returned, or read under another scheduler. */
		buf->state = FB_FREE_READ_FREE;
		if (disk->reads.carrier == buf)
			disk->reads.carrier = NULL;
	} else {
		fb_free_read_ended(buf, bio->bi_status);
	}
	wake_up(&disk->wait);
}

/* Is this bio one of our reads? @bio: any bio, or NULL. */
bool fb_free_read_is_ours(const struct bio *bio)
{
	return bio && bio->bi_end_io == fb_free_read_end_io;
}

static void fb_free_read_free(const struct fb_free_reads *bufs, struct fb_free_read *buf)
{
	u32 i;

	vunmap(buf->data);
	for (i = 0; buf->chunk && i < bufs->chunks; i++)
		if (buf->chunk[i])
			__free_pages(buf->chunk[i], bufs->order);
	kfree(buf->chunk);
	kfree(buf->bvec);
	memset(buf, 0, sizeof(*buf));
}

static void *fb_free_read_map(const struct fb_free_reads *bufs, const struct fb_free_read *buf)
{
	u32 each = 1 << bufs->order, n = bufs->chunks * each, i;
	struct page **pages = kvmalloc_array(n, sizeof(*pages), GFP_KERNEL);
	void *data;

	if (!pages)
		return NULL;
	for (i = 0; i < n; i++)
		pages[i] = buf->chunk[i / each] + i % each;
	data = vmap(pages, n, VM_MAP, PAGE_KERNEL);
	kvfree(pages);
	return data;
}

static int fb_free_read_alloc(const struct fb_free_reads *bufs, struct fb_free_read *buf)
{
	gfp_t gfp = GFP_KERNEL;
	u32 i;

	/* The caller falls back to single pages if larger chunks are scarce. */
	if (bufs->order)
		gfp |= __GFP_NORETRY | __GFP_NOWARN;
	buf->chunk = kcalloc(bufs->chunks, sizeof(*buf->chunk), GFP_KERNEL);
	buf->bvec = kcalloc(bufs->chunks, sizeof(*buf->bvec), GFP_KERNEL);
	if (!buf->chunk || !buf->bvec)
		return -ENOMEM;
	for (i = 0; i < bufs->chunks; i++) {
		buf->chunk[i] = alloc_pages(gfp, bufs->order);
		if (!buf->chunk[i])
			return -ENOMEM;
	}
	buf->data = fb_free_read_map(bufs, buf);
	return buf->data ? 0 : -ENOMEM;
}

/* Without a map, FUA has to be proven by a read that is long. */
static u32 fb_free_read_size(struct fb_disk *disk)
{
	u32 spt_most, least;

	BUILD_BUG_ON(FB_LONGEST_READ_MAX % PAGE_SECTORS);
	guard(spinlock_irq)(&disk->lock);
	spt_most = disk->model ? dm_info(disk->model)->spt_most : 0;
	least = fb_level_unmapped(disk) ? fb_verify_proof(disk) : 0;
	return round_up(max(fb_longest_read(disk->granule, spt_most), least), PAGE_SECTORS);
}

/* Allocate @n more buffers, which are unused until fb_free_reads.n includes them. */
static int fb_free_read_alloc_more(struct fb_disk *disk, struct fb_free_reads *bufs, u32 n)
{
	u32 i;

	for (i = bufs->n; i < bufs->n + n; i++) {
		bufs->buf[i].disk = disk;
		if (fb_free_read_alloc(bufs, &bufs->buf[i]))
			goto free_bufs;
	}
	return 0;

free_bufs:
	do
		fb_free_read_free(bufs, &bufs->buf[i]);
	while (i-- > bufs->n);
	return -ENOMEM;
}

static u32 fb_free_read_number(u32 sectors)
{
	return sectors < FB_FREE_READ_LARGE_SECTORS ? FB_FREE_READS : FB_FREE_READS_LARGE;
}

static struct fb_free_reads *fb_free_read_try_alloc(struct fb_disk *disk, u32 order)
{
	struct fb_free_reads *bufs = kzalloc(sizeof(*bufs), GFP_KERNEL);

	if (!bufs)
		return NULL;
	bufs->sectors = fb_free_read_size(disk);
	bufs->order = order;
	bufs->chunks = DIV_ROUND_UP(bufs->sectors, PAGE_SECTORS << order);
	bufs->buf = kvcalloc(FB_FREE_READS_MAX, sizeof(*bufs->buf), GFP_KERNEL);
	if (!bufs->buf || fb_free_read_alloc_more(disk, bufs, fb_free_read_number(bufs->sectors))) {
		fb_free_read_free_all(bufs);
		return NULL;
	}
	bufs->n = fb_free_read_number(bufs->sectors);
	return bufs;
}

/* Free all buffers. @bufs: the buffers, all FB_FREE_READ_FREE, or NULL. May sleep. */
void fb_free_read_free_all(struct fb_free_reads *bufs)
{
	u32 i;

	if (!bufs)
		return;
	for (i = 0; bufs->buf && i < bufs->n; i++) {
		WARN_ON_ONCE(bufs->buf[i].state != FB_FREE_READ_FREE);
		fb_free_read_free(bufs, &bufs->buf[i]);
	}
	kvfree(bufs->buf);
	kfree(bufs);
}

static int fb_free_read_alloc_first(struct fb_disk *disk)
{
	struct fb_free_reads *bufs = fb_free_read_try_alloc(disk, FB_FREE_READ_CHUNK_ORDER);

	bufs = bufs ? bufs : fb_free_read_try_alloc(disk, 0);
	if (!bufs)
		return -ENOMEM;
	guard(spinlock_irq)(&disk->lock);
	disk->reads.bufs = bufs;
	disk->reads.due = false;
	return 0;
}

static int fb_free_read_grow(struct fb_disk *disk, u32 n)
{
	int ret = fb_free_read_alloc_more(disk, disk->reads.bufs, n);

	if (ret)
		return ret;
	guard(spinlock_irq)(&disk->lock);
	disk->reads.bufs->n += n;
	return 0;
}

/*
 * Have buffers for so many tasks, charged to @account, until the last one is gone. May sleep.
 * Return: 0, -ENOSPC, -ENOMEM.
 */
int fb_free_read_provide(struct fb_disk *disk, u32 tasks, u64 *account)
{
	struct fb_free_reads *bufs = disk->reads.bufs;
	u32 sectors = bufs ? bufs->sectors : fb_free_read_size(disk);
	u32 n = fb_free_read_number(sectors);
	u64 bytes;
	int ret;

	lockdep_assert_held(&disk->life);
	if (bufs) {
		n += FREEBLOCK_HELD * (tasks - 1);
		n -= min(n, bufs->n);
	}
	bytes = (u64)n * sectors << SECTOR_SHIFT;
	ret = fb_memory_charge(account, bytes, "a task");
	if (ret)
		return ret;
	ret = bufs ? fb_free_read_grow(disk, n) : fb_free_read_alloc_first(disk);
	if (ret)
		fb_memory_uncharge(account, bytes);
	return ret;
}

static struct fb_free_read *fb_free_read_find_free(struct fb_disk *disk)
{
	struct fb_free_read *buf = NULL;

	lockdep_assert_held(&disk->lock);
	while ((buf = fb_free_read_next(disk->reads.bufs, buf)))
		if (buf->state == FB_FREE_READ_FREE)
			return buf;
	return NULL;
}

static void fb_free_read_setup(const struct fb_free_reads *bufs, struct fb_free_read *buf,
			       struct block_device *bdev, blk_opf_t opf, u64 lbn, u32 nsect)
{
	u32 left = nsect << SECTOR_SHIFT, chunk = PAGE_SIZE << bufs->order;
	int i;

	bio_init(&buf->bio, bdev, buf->bvec, bufs->chunks, opf);
	buf->bio.bi_iter.bi_sector = lbn;
	buf->bio.bi_end_io = fb_free_read_end_io;
	buf->bio.bi_private = buf;
	for (i = 0; left; i++) {
		u32 bytes = min(left, chunk);

		__bio_add_page(&buf->bio, buf->chunk[i], bytes, 0);
		left -= bytes;
	}
}

static void fb_free_read_aim(struct fb_free_read *buf, struct request *rq, u64 lbn, u32 nsect,
			     enum fb_free_read_kind kind)
{
	memset_after(buf, 0, disk);
	buf->rq = rq;
	buf->lbn = lbn;
	buf->nsect = nsect;
	buf->kind = kind;
	buf->sent_ns = ktime_get_ns();
	buf->state = FB_FREE_READ_SENT;
}

/* Sectors of our buffers that are certain to be one segment: chunks are aligned to their size. */
static u32 fb_free_read_segment(const struct fb_disk *disk)
{
	u64 bytes = PAGE_SIZE << disk->reads.bufs->order;

	bytes = min_t(u64, bytes, rounddown_pow_of_two(queue_max_segment_size(disk->q)));
	bytes = min_t(u64, bytes - 1, queue_segment_boundary(disk->q)) + 1;
	return bytes >> SECTOR_SHIFT;
}

/* The foreground is about to write these sectors: free reads that overlap are discarded. */
void fb_free_read_overlap(struct fb_disk *disk, u64 lbn, u64 nsect)
{
	struct fb_free_read *buf = NULL;

	lockdep_assert_held(&disk->lock);
	while ((buf = fb_free_read_next(disk->reads.bufs, buf))) {
		if (buf->dirty || buf->state < FB_FREE_READ_SENT ||
		    lbn >= buf->lbn + buf->nsect || buf->lbn >= lbn + nsect)
			continue;
		buf->dirty = true;
		disk->stats.discarded++;
	}
}

/* Only here the fields of a request are set for what it reads: it begins with @nsect at @lbn. */
static void fb_free_read_load(struct fb_disk *disk, struct fb_free_read *buf, struct request *rq,
			      u64 lbn, u32 nsect, enum fb_free_read_kind kind)
{
	fb_free_read_aim(buf, rq, lbn, nsect, kind);
	rq->__sector = lbn;
	rq->__data_len += nsect << SECTOR_SHIFT;
	rq->nr_phys_segments += DIV_ROUND_UP(nsect, fb_free_read_segment(disk));
}

/* Look at each bio's flags: readahead sets failfast bits in cmd_flags, and none in its bios. */
static bool fb_free_read_may_prepend(struct request *rq)
{
	struct bio *bio;

	if (req_op(rq) != REQ_OP_READ || blk_integrity_rq(rq) || rq->rq_flags & RQF_SPECIAL_PAYLOAD)
		return false;
	/* bio_poll() needs the cookie, which only the first bio gets */
	if (rq->cmd_flags & REQ_POLLED)
		return false;
	/* the drive would hurry with our part, too, or hold it against a duration limit */
	if (fb_compat_ioprio_is_special(req_get_ioprio(rq)))
		return false;
#ifdef CONFIG_BLK_INLINE_ENCRYPTION
	if (rq->crypt_ctx)
		return false;
#endif
	if (queue_virt_boundary(rq->q))
		return false;
	__rq_for_each_bio(bio, rq)
		if (bio->bi_opf & REQ_FAILFAST_MASK || bio_has_crypt_ctx(bio) || bio_integrity(bio))
			return false;
	return true;
}

/* The most that may be prepended to this foreground request, sectors; 0: nothing. */
u32 fb_free_read_prepend_limit(const struct fb_disk *disk, struct request *rq)
{
	u32 len = blk_rq_sectors(rq);
	u32 max_len = queue_max_sectors(rq->q);
	u32 max_segs = queue_max_segments(rq->q);

	lockdep_assert_held(&disk->lock);
	if (!disk->reads.bufs || !fb_free_read_may_prepend(rq) || len >= max_len ||
	    rq->nr_phys_segments >= max_segs)
		return 0;
	max_len = fb_recovery_max(disk, min(max_len - len, disk->reads.bufs->sectors));
	return min_t(u64, max_len,
		     (u64)(max_segs - rq->nr_phys_segments) * fb_free_read_segment(disk));
}

/*
 * Prepend a free read to a foreground read that is out of the pool. An error in it ends it alone
 * (REQ_FAILFAST_TRANSPORT with RQF_MIXED_MERGE); the foreground part is issued again with its own
 * retries. The bio has no block device, lest bio_init() charges the cgroup of whoever runs the
 * queue. Return: false when it does not fit, or no buffer is free; @rq is unchanged then.
 */
bool fb_free_read_prepend(struct fb_disk *disk, struct request *rq, u64 lbn, u32 nsect)
{
	struct fb_free_read *buf;
	blk_opf_t failfast;

	lockdep_assert_held(&disk->lock);
	if (lbn + nsect != blk_rq_pos(rq) || nsect > fb_free_read_prepend_limit(disk, rq))
		return false;
	buf = fb_free_read_find_free(disk);
	if (!buf)
		return false;
	failfast = (rq->cmd_flags & REQ_FAILFAST_MASK) | REQ_FAILFAST_TRANSPORT;
	fb_free_read_setup(disk->reads.bufs, buf, NULL, REQ_OP_READ | failfast, lbn, nsect);
	fb_free_read_load(disk, buf, rq, lbn, nsect, FB_FREE_READ_PREPENDED);
	/* drivers may look at the first bio's */
	buf->bio.bi_ioprio = req_get_ioprio(rq);
	buf->bio.bi_next = rq->bio;
	rq->bio = &buf->bio;
	rq->cmd_flags |= failfast;
	rq->rq_flags |= RQF_MIXED_MERGE;
	fb_compat_note_segment(rq);
	return true;
}

/* The longest read that the queue takes in one piece, sectors; 0: there are no buffers. */
u32 fb_free_read_max_data(const struct fb_disk *disk)
{
	u32 nsect;

	lockdep_assert_held(&disk->lock);
	if (!disk->reads.bufs)
		return 0;
	/* Whole physical blocks, or the block layer splits the bio (get_max_io_size()). */
	nsect = round_down(min(queue_max_sectors(disk->q), disk->reads.bufs->sectors),
			   max(queue_physical_block_size(disk->q) >> SECTOR_SHIFT, 1U));
	return min_t(u64, nsect, (u64)queue_max_segments(disk->q) * fb_free_read_segment(disk));
}

/* The longest separate read, as these are sent now, sectors; 0: there are no buffers. [L] */
u32 fb_free_read_max(const struct fb_disk *disk)
{
	if (disk->reads.bufs && fb_verify_how(disk) == FB_VERIFY_COMMAND)
		return fb_recovery_max(disk, fb_verify_max(disk));
	return fb_recovery_max(disk, fb_free_read_max_data(disk));
}

/* A detaching scheduler waits until this is over (fb_reader_detached()). */
static void fb_free_read_submit(struct fb_disk *disk, struct fb_free_read *buf)
{
	submit_bio_noacct(&buf->bio);
	guard(spinlock_irq)(&disk->lock);
	disk->reads.submitting = false;
	wake_up(&disk->wait);
}

/*
 * With protection information the carrier cannot be aimed anew, as it is made at submission; nor is
 * VERIFY possible, which transfers nothing to check.
 */
static bool fb_free_read_is_fixed(struct fb_disk *disk)
{
	lockdep_assert_held(&disk->lock);
	if (!disk->q || !disk->q->disk || !blk_get_integrity(disk->q->disk))
		return false;
	if (!disk->verify.verify.barred)
		disk->verify.verify.barred = "protection information";
	return true;
}

/*
 * Send a carrier to the scheduler, if there is none. @aim: what it will read; NULL: not known yet.
 * Called by the thread; does not sleep for the queue (NOWAIT).
 */
void fb_free_read_enter(struct fb_disk *disk, const struct fb_plan_piece *aim)
{
	struct block_device *bdev;
	struct fb_free_read *buf = NULL;
	bool fixed;
	u64 lbn = 0;
	u32 nsect;

	scoped_guard(spinlock_irq, &disk->lock) {
		disk->reads.due = false;
		fixed = fb_free_read_is_fixed(disk);
		if (disk->q)
			fb_verify_renew(disk);
		if (disk->q && !disk->reads.carrier && (aim || !fixed))
			buf = fb_free_read_find_free(disk);
		if (!buf)
			return;
		buf->state = FB_FREE_READ_CARRIER;
		disk->reads.carrier = buf;
		disk->reads.submitting = true;
		bdev = disk->bdev;
		nsect = fb_free_read_max_data(disk);
		if (fixed) {
			lbn = aim->lbn;
			nsect = min(nsect, aim->nsect);
		}
	}
	fb_free_read_setup(disk->reads.bufs, buf, bdev, FB_FREE_READ_OPF, lbn, nsect);
	buf->bio.bi_ioprio = IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0);
	fb_free_read_submit(disk, buf);
}

/*
 * Read as part of the foreground. @kind: FB_FREE_READ_HURRIED, not retried, or
 * FB_FREE_READ_PROMOTED. It fails with BLK_STS_AGAIN if the queue is frozen. REQ_META keeps it from
 * sleeping until the cgroup that is charged may read: that is in debt then. Called by the thread.
 * Return: false: there is no queue or no free buffer, or the read is too long.
 */
bool fb_free_read_now(struct freeblock_task *task, u64 lbn, u32 nsect, enum fb_free_read_kind kind)
{
	bool hurried = kind == FB_FREE_READ_HURRIED;
	struct fb_disk *disk = task->disk;
	blk_opf_t opf = REQ_OP_READ | REQ_NOWAIT | REQ_NOMERGE;
	struct block_device *bdev;
	struct fb_free_read *buf = NULL;

	spin_lock_irq(&disk->lock);
	if (disk->q && nsect <= fb_free_read_max_data(disk))
		buf = fb_free_read_find_free(disk);
	if (buf) {
		fb_free_read_aim(buf, NULL, lbn, nsect, kind);
		buf->owner = task;
		/* it is urgent, and shared: what it does not prove no task takes as proven */
		buf->how = fb_verify_how(disk);
		if (buf->how != FB_VERIFY_READ)
			buf->how = fb_verify_has_fua(disk) ? FB_VERIFY_FUA : FB_VERIFY_READ;
		buf->proven = buf->how == FB_VERIFY_FUA;
		disk->late.flying |= hurried;
		disk->reads.submitting = true;
		bdev = disk->bdev;
	}
	spin_unlock_irq(&disk->lock);
	if (!buf)
		return false;
	if (hurried)
		opf |= REQ_FAILFAST_MASK;
	if (task->css)
		opf |= REQ_META;
	fb_free_read_setup(disk->reads.bufs, buf, bdev, opf, lbn, nsect);
	/* whatever the thread's */
	buf->bio.bi_ioprio = IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, IOPRIO_BE_NORM);
	if (task->css)
		bio_associate_blkg_from_css(&buf->bio, task->css);
	fb_free_read_submit(disk, buf);
	return true;
}

/*
 * May a task have another promoted read sent? Where io.max of its cgroup holds its reads back, they
 * hold buffers: FREEBLOCK_HELD at most. Called by the thread.
 */
bool fb_free_read_may_promote(const struct freeblock_task *task)
{
	const struct fb_free_read *buf = NULL;
	struct fb_disk *disk = task->disk;
	u32 held = 0;

	if (!task->css)
		return true;
	guard(spinlock_irq)(&disk->lock);
	while ((buf = fb_free_read_next(disk->reads.bufs, buf)))
		held += buf->state == FB_FREE_READ_SENT && !buf->began_ns &&
			buf->kind == FB_FREE_READ_PROMOTED && buf->owner == task;
	return held < FREEBLOCK_HELD;
}

/* Note, and count, that a read of ours is handed to the driver; a requeued one counted before. */
void fb_free_read_begun(struct fb_free_read *buf, u64 now)
{
	struct fb_stats *st = &buf->disk->stats;

	lockdep_assert_held(&buf->disk->lock);
	if (buf->began_ns || buf->state != FB_FREE_READ_SENT)
		return;
	buf->began_ns = now;
	st->reads[buf->kind]++;
	st->read_sectors[buf->kind] += buf->nsect;
	st->fuas += buf->how == FB_VERIFY_FUA;
	st->verifies += buf->how == FB_VERIFY_COMMAND;
}

/* Hold a request of ours if it is the carrier; false: send it on as it is. */
bool fb_free_read_hold(struct fb_disk *disk, struct request *rq)
{
	lockdep_assert_held(&disk->lock);
	if (!disk->reads.carrier || rq->bio != &disk->reads.carrier->bio)
		return false;
	disk->reads.rq = rq;
	return true;
}

static bool fb_free_read_fits(const struct fb_disk *disk, struct request *rq, u64 lbn, u32 nsect)
{
	bool verify = fb_verify_how(disk) == FB_VERIFY_COMMAND;

	if (blk_integrity_rq(rq))
		return !verify && lbn == blk_rq_pos(rq) && nsect == blk_rq_sectors(rq);
	return nsect <= fb_free_read_max(disk) && (verify || nsect <= blk_rq_sectors(rq));
}

/* Aim the held carrier, to dispatch it now. NULL: none is held, or the queue's limits forbid it. */
struct request *fb_free_read_send(struct fb_disk *disk, u64 lbn, u32 nsect,
				  enum fb_free_read_kind kind)
{
	struct request *rq = disk->reads.rq;
	struct fb_free_read *buf = disk->reads.carrier;
	enum fb_verify_how how = fb_verify_how(disk);

	lockdep_assert_held(&disk->lock);
	if (!rq || !fb_free_read_fits(disk, rq, lbn, nsect))
		return NULL;
	if (nsect <= blk_rq_sectors(rq) && fb_quarantine_by_read(&disk->quarantine, lbn, nsect))
		how = FB_VERIFY_READ;
	buf->bio.bi_iter.bi_sector = lbn;
	buf->bio.bi_iter.bi_size = nsect << SECTOR_SHIFT;
	rq->__data_len = 0;
	rq->nr_phys_segments = 0;
	fb_free_read_load(disk, buf, rq, lbn, nsect, kind);
	/* the time it was held counts neither as the read's nor as a wait for a request (iocost) */
	rq->start_time_ns = ktime_get_ns();
#ifdef CONFIG_BLK_RQ_ALLOC_TIME
	if (rq->alloc_time_ns)
		rq->alloc_time_ns = rq->start_time_ns;
#endif
	if (kind == FB_FREE_READ_IDLE) {
		buf->probe = disk->idle.probe;
		buf->commands = disk->idle.commands;
	}
	buf->how = how;
	buf->proven = how != FB_VERIFY_READ;
	/* only now is it known what it reads */
	trace_block_rq_insert(rq);
	disk->reads.carrier = NULL;
	disk->reads.rq = NULL;
	return rq;
}

/* Have the thread enter a carrier for the next separate read. */
void fb_free_read_need(struct fb_disk *disk)
{
	lockdep_assert_held(&disk->lock);
	disk->reads.due = true;
	wake_up(&disk->wait);
}

/* Does a queue freeze, or the last CPU of its hardware queue that goes, wait for the carrier? */
bool fb_free_read_is_awaited(const struct fb_disk *disk)
{
	const struct request *rq = disk->reads.rq;

	lockdep_assert_held(&disk->lock);
	return rq && (percpu_ref_is_dying(&rq->q->q_usage_counter) ||
		      test_bit(BLK_MQ_S_INACTIVE, &rq->mq_hctx->state));
}

/* End the held carrier unused: quiet and empty, for the log and diskstats. Without the lock. */
void fb_free_read_return(struct fb_disk *disk)
{
	struct request *rq;

	scoped_guard(spinlock_irqsave, &disk->lock) {
		rq = disk->reads.rq;
		disk->reads.rq = NULL;
	}
	if (!rq)
		return;
	rq->rq_flags |= RQF_QUIET;
	rq->bio->bi_iter.bi_size = 0;
	rq->__data_len = 0;
	blk_mq_end_request(rq, BLK_STS_AGAIN);
}
