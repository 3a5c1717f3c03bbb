// SPDX-License-Identifier: GPL-2.0
/*
 * Our own reads: their buffers, bios linked in front of a foreground read, and the
 * vehicle, a request of ours that the scheduler holds and aims just before it is sent
 * (DESIGN 4).
 *
 * Locks: fb_disk.lock guards buffer states and the vehicle; the table is in fb_disk.h.
 */
#include <linux/blk-crypto.h>
#include <linux/blk-integrity.h>
#include <linux/ioprio.h>
#include <linux/vmalloc.h>
#include <trace/events/block.h>

#include "fb_disk.h"

/* nothing of a separate read may be retried: it would take the drive from the foreground */
#define FB_VEHICLE_OPF (REQ_OP_READ | REQ_NOWAIT | REQ_NOMERGE | REQ_FAILFAST_MASK)

static void fb_buf_end_io(struct bio *bio)
{
	struct fb_buf *buf = bio->bi_private;
	struct fb_disk *fd = buf->fd;
	unsigned long flags;

	spin_lock_irqsave(&fd->lock, flags);
	if (buf->state == FB_BUF_VEHICLE) {
		/* refused at submission, returned, or read under another scheduler */
		buf->state = FB_BUF_FREE;
		if (fd->vehicle_buf == buf) {
			fd->vehicle = FB_VEHICLE_NONE;
			fd->vehicle_rq = NULL;
			fd->vehicle_buf = NULL;
		}
	} else {
		buf->status = bio->bi_status;
		buf->good = buf->nsect;
		/*
		 * Of a failed read the sectors before the bad one were completed
		 * earlier and have moved the request on.
		 */
		if (buf->status)
			buf->good = clamp_t(s64, blk_rq_pos(buf->rq) - buf->lbn, 0, buf->nsect);
		buf->rq = NULL;
		buf->state = FB_BUF_ENDED;
	}
	wake_up(&fd->wait);
	spin_unlock_irqrestore(&fd->lock, flags);
}

/**
 * fb_buf_is_ours() - is this bio one of our reads?
 * @bio: any bio, or NULL
 *
 * Context: any.
 *
 * Return: true when it is.
 */
bool fb_buf_is_ours(const struct bio *bio)
{
	return bio && bio->bi_end_io == fb_buf_end_io;
}

static void fb_buf_free(struct fb_buf *buf)
{
	int i;

	vunmap(buf->data);
	for (i = 0; i < FB_BUF_PAGES; i++)
		if (buf->pages[i])
			__free_page(buf->pages[i]);
}

static int fb_buf_alloc(struct fb_buf *buf)
{
	int i;

	for (i = 0; i < FB_BUF_PAGES; i++) {
		buf->pages[i] = alloc_page(GFP_KERNEL);
		if (!buf->pages[i])
			return -ENOMEM;
	}
	buf->data = vmap(buf->pages, FB_BUF_PAGES, VM_MAP, PAGE_KERNEL);
	return buf->data ? 0 : -ENOMEM;
}

/**
 * fb_buf_alloc_all() - buffers for a task
 * @fd: the disk
 *
 * Context: may sleep; inside memalloc_noio_save().
 *
 * Return: FB_BUFS buffers, or NULL.
 */
struct fb_buf *fb_buf_alloc_all(struct fb_disk *fd)
{
	struct fb_buf *bufs = kvcalloc(FB_BUFS, sizeof(*bufs), GFP_KERNEL);
	int i;

	if (!bufs)
		return NULL;
	for (i = 0; i < FB_BUFS; i++) {
		bufs[i].fd = fd;
		if (fb_buf_alloc(&bufs[i])) {
			fb_buf_free_all(bufs);
			return NULL;
		}
	}
	return bufs;
}

/**
 * fb_buf_free_all() - free what fb_buf_alloc_all() gave
 * @bufs: the buffers, all FB_BUF_FREE, or NULL
 *
 * Context: may sleep.
 */
void fb_buf_free_all(struct fb_buf *bufs)
{
	int i;

	if (!bufs)
		return;
	for (i = 0; i < FB_BUFS; i++) {
		WARN_ON_ONCE(bufs[i].state != FB_BUF_FREE);
		fb_buf_free(&bufs[i]);
	}
	kvfree(bufs);
}

static struct fb_buf *fb_buf_find_free(struct fb_disk *fd)
{
	int i;

	lockdep_assert_held(&fd->lock);
	for (i = 0; fd->bufs && i < FB_BUFS; i++)
		if (fd->bufs[i].state == FB_BUF_FREE)
			return &fd->bufs[i];
	return NULL;
}

static void fb_buf_setup(struct fb_buf *buf, struct block_device *bdev, blk_opf_t opf,
			 u64 lbn, u32 nsect)
{
	u32 left = nsect << SECTOR_SHIFT;
	int i;

	bio_init(&buf->bio, bdev, buf->bvec, FB_BUF_PAGES, opf);
	buf->bio.bi_iter.bi_sector = lbn;
	buf->bio.bi_end_io = fb_buf_end_io;
	buf->bio.bi_private = buf;
	for (i = 0; left; i++) {
		u32 bytes = min_t(u32, left, PAGE_SIZE);

		__bio_add_page(&buf->bio, buf->pages[i], bytes, 0);
		left -= bytes;
	}
}

static void fb_buf_aim(struct fb_buf *buf, struct request *rq, u64 lbn, u32 nsect)
{
	buf->rq = rq;
	buf->lbn = lbn;
	buf->nsect = nsect;
	buf->dirty = false;
	buf->taken = false;
	buf->joined = false;
	bitmap_zero(buf->mask, FB_BUF_GRANULES);
	buf->state = FB_BUF_SENT;
}

/* segments of @nsect sectors in one of our buffers, at most: one a page */
static u32 fb_buf_segments(u32 nsect)
{
	return DIV_ROUND_UP(nsect, PAGE_SECTORS);
}

/**
 * fb_buf_overlap() - the foreground is about to write these sectors
 * @fd: the disk, locked
 * @lbn: first sector
 * @nsect: how many
 *
 * Free reads that overlap and are not with their consumer yet are discarded, and their
 * blocks wanted again (DESIGN 4, exactly once). The write does not wait.
 *
 * Context: fb_disk.lock held.
 */
void fb_buf_overlap(struct fb_disk *fd, u64 lbn, u32 nsect)
{
	int i;

	lockdep_assert_held(&fd->lock);
	for (i = 0; fd->bufs && i < FB_BUFS; i++) {
		struct fb_buf *buf = &fd->bufs[i];

		if (buf->state < FB_BUF_SENT || buf->state > FB_BUF_DELIVER)
			continue;
		if (lbn < buf->lbn + buf->nsect && buf->lbn < lbn + nsect)
			buf->dirty = true;
	}
}

/*
 * Judged by each bio's own flags: readahead has all failfast bits in cmd_flags and none
 * in its bios (KERNEL-NOTES, Failfast).
 */
static bool fb_buf_may_prepend(struct request *rq)
{
	struct bio *bio;

	if (req_op(rq) != REQ_OP_READ || blk_integrity_rq(rq) || rq->rq_flags & RQF_SPECIAL_PAYLOAD)
		return false;
	/* bio_poll() needs the cookie, which is put into the first bio only */
	if (rq->cmd_flags & REQ_POLLED)
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

/**
 * fb_buf_prepend_limit() - how long a read may be linked in front of a request
 * @fd: the disk, locked
 * @rq: a foreground request of its queue
 *
 * Context: fb_disk.lock held.
 *
 * Return: sectors; 0 when nothing may be prepended to it.
 */
u32 fb_buf_prepend_limit(const struct fb_disk *fd, struct request *rq)
{
	u32 len = blk_rq_sectors(rq);
	u32 max_len = queue_max_sectors(rq->q);
	u32 max_segs = queue_max_segments(rq->q);

	lockdep_assert_held(&fd->lock);
	if (!fb_buf_may_prepend(rq) || len >= max_len || rq->nr_phys_segments >= max_segs)
		return 0;
	max_len = min_t(u32, max_len - len, FB_BUF_SECTORS);
	return min_t(u32, max_len, (max_segs - rq->nr_phys_segments) * PAGE_SECTORS);
}

/**
 * fb_buf_prepend() - link a free read in front of a foreground read
 * @fd: the disk, locked
 * @rq: the foreground request, out of the pool, not yet sent, never prepended before
 * @lbn: where the free part begins; it ends where @rq begins
 * @nsect: its sectors
 *
 * Only REQ_FAILFAST_TRANSPORT on the free part, with RQF_MIXED_MERGE: an error in the
 * free part then ends it alone, and the foreground is issued again with its ordinary
 * retries (KERNEL-NOTES, Prepending). The bio has no block device: bio_init() with one
 * would charge whichever cgroup runs the queue.
 *
 * Context: fb_disk.lock held.
 *
 * Return: false when it does not fit or no buffer is free; @rq is unchanged then.
 */
bool fb_buf_prepend(struct fb_disk *fd, struct request *rq, u64 lbn, u32 nsect)
{
	struct fb_buf *buf;
	blk_opf_t failfast;

	lockdep_assert_held(&fd->lock);
	if (nsect > fb_buf_prepend_limit(fd, rq)) {
		fd->stats.not_fit++;
		return false;
	}
	buf = fb_buf_find_free(fd);
	if (!buf) {
		fd->stats.no_buffer++;
		return false;
	}
	failfast = (rq->cmd_flags & REQ_FAILFAST_MASK) | REQ_FAILFAST_TRANSPORT;
	fb_buf_setup(buf, NULL, REQ_OP_READ | failfast, lbn, nsect);
	fb_buf_aim(buf, rq, lbn, nsect);
	buf->joined = true;
	buf->bio.bi_next = rq->bio;
	rq->bio = &buf->bio;
	rq->__sector = lbn;
	rq->__data_len += nsect << SECTOR_SHIFT;
	rq->nr_phys_segments += fb_buf_segments(nsect);
	rq->cmd_flags |= failfast;
	rq->rq_flags |= RQF_MIXED_MERGE;
	fd->stats.prepends++;
	return true;
}

/**
 * fb_vehicle_max() - longest separate read that the queue takes in one piece
 * @q: the queue
 *
 * Context: any.
 *
 * Return: sectors.
 */
u32 fb_vehicle_max(struct request_queue *q)
{
	u32 nsect = min_t(u32, queue_max_sectors(q), FB_BUF_SECTORS);

	return min_t(u32, nsect, queue_max_segments(q) * PAGE_SECTORS);
}

/**
 * fb_vehicle_enter() - send a vehicle to the scheduler, if there is none
 * @fd: the disk
 *
 * Its first aim is sector 0: should it reach another scheduler in a switch, it reads
 * that and comes back.
 *
 * Context: the search thread; does not sleep for the queue (NOWAIT).
 */
void fb_vehicle_enter(struct fb_disk *fd)
{
	struct block_device *bdev;
	struct fb_buf *buf = NULL;
	u32 nsect;

	spin_lock_irq(&fd->lock);
	if (fd->q && !fd->let_go && fd->vehicle == FB_VEHICLE_NONE)
		buf = fb_buf_find_free(fd);
	if (!buf) {
		spin_unlock_irq(&fd->lock);
		return;
	}
	buf->state = FB_BUF_VEHICLE;
	fd->vehicle = FB_VEHICLE_ENTERING;
	fd->vehicle_buf = buf;
	fd->submitting = true;
	bdev = fd->bdev;
	nsect = fb_vehicle_max(fd->q);
	spin_unlock_irq(&fd->lock);

	fb_buf_setup(buf, bdev, FB_VEHICLE_OPF, 0, nsect);
	bio_set_prio(&buf->bio, IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0));
	submit_bio_noacct(&buf->bio);

	spin_lock_irq(&fd->lock);
	fd->submitting = false;
	wake_up(&fd->wait);
	spin_unlock_irq(&fd->lock);
}

/**
 * fb_vehicle_hold() - a request of ours has reached the scheduler
 * @fd: the disk, locked
 * @rq: request that carries one of our bios, not yet sent
 *
 * Context: fb_disk.lock held.
 *
 * Return: true when it is the vehicle and is held now; false: send it on as it is.
 */
bool fb_vehicle_hold(struct fb_disk *fd, struct request *rq)
{
	lockdep_assert_held(&fd->lock);
	if (fd->vehicle != FB_VEHICLE_ENTERING || rq->bio != &fd->vehicle_buf->bio)
		return false;
	fd->vehicle = FB_VEHICLE_HELD;
	fd->vehicle_rq = rq;
	return true;
}

/**
 * fb_vehicle_send() - aim the held vehicle, for it to be sent now
 * @fd: the disk, locked
 * @lbn: first sector
 * @nsect: sectors, at most fb_vehicle_max()
 *
 * Context: fb_disk.lock held.
 *
 * Return: the request; NULL: no vehicle is held, or the read is too long for the queue
 * as it is now.
 */
struct request *fb_vehicle_send(struct fb_disk *fd, u64 lbn, u32 nsect)
{
	struct request *rq = fd->vehicle_rq;
	struct fb_buf *buf = fd->vehicle_buf;

	lockdep_assert_held(&fd->lock);
	if (fd->vehicle != FB_VEHICLE_HELD || !rq) {
		fd->stats.no_buffer++;
		return NULL;
	}
	if (nsect > fb_vehicle_max(rq->q) || nsect > blk_rq_sectors(rq)) {
		fd->stats.not_fit++;
		return NULL;
	}
	buf->bio.bi_iter.bi_sector = lbn;
	buf->bio.bi_iter.bi_size = nsect << SECTOR_SHIFT;
	rq->__sector = lbn;
	rq->__data_len = nsect << SECTOR_SHIFT;
	rq->nr_phys_segments = fb_buf_segments(nsect);
	/* else the time it was held would count as the read's */
	rq->start_time_ns = ktime_get_ns();
	fb_buf_aim(buf, rq, lbn, nsect);
	/* it was inserted with another aim */
	trace_block_rq_insert(rq);
	fd->vehicle = FB_VEHICLE_NONE;
	fd->vehicle_rq = NULL;
	fd->vehicle_buf = NULL;
	fd->stats.separates++;
	return rq;
}

/**
 * fb_vehicle_return() - end the held vehicle unused, if there is one
 * @fd: the disk
 *
 * Quiet and of no length, or each return would log an error and count in diskstats
 * (KERNEL-NOTES, Return).
 *
 * Context: the search thread, no lock held.
 */
void fb_vehicle_return(struct fb_disk *fd)
{
	struct request *rq;

	spin_lock_irq(&fd->lock);
	rq = fd->vehicle_rq;
	fd->vehicle_rq = NULL;
	spin_unlock_irq(&fd->lock);
	if (!rq)
		return;
	rq->rq_flags |= RQF_QUIET;
	rq->bio->bi_iter.bi_size = 0;
	rq->__data_len = 0;
	blk_mq_end_request(rq, BLK_STS_AGAIN);
}
