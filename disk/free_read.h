/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Our own reads: their buffers, and the carrier, a request that is held until it is known what
 * it should read. Kernel only.
 */
#ifndef FB_FREE_READ_H
#define FB_FREE_READ_H

#include <linux/bio.h>
#include <linux/blk-mq.h>

#include "core/plan.h"
#include "disk/verify.h"
#include "include/freeblock.h"

struct fb_disk;

/* Buffers consist of chunks of this order, to need few segments; of pages if those are scarce. */
#define FB_FREE_READ_CHUNK_ORDER get_order(64 * 1024)

/*
 * Two for commands in flight, one for the held carrier, one being checked by its consumer, and
 * as many again to ride out a slow consumer. Large drives get fewer: sixty of them should need
 * no more than 1 GiB (Documentation/large.rst).
 */
#define FB_FREE_READS 8
#define FB_FREE_READS_LARGE 4
#define FB_FREE_READ_LARGE_SECTORS 1024	/* buffers of this size or more count as large */
/* Each further task adds what its consumer may hold, so that a slow one does not delay others. */
#define FB_FREE_READS_MAX (FB_FREE_READS + FREEBLOCK_HELD * (FREEBLOCK_TASKS - 1))

enum fb_free_read_state {
	FB_FREE_READ_FREE,		/* unused */
	FB_FREE_READ_CARRIER,		/* in the carrier, not aimed yet */
	FB_FREE_READ_SENT,		/* in flight */
	FB_FREE_READ_ENDED,		/* read, waits for the thread */
	FB_FREE_READ_DELIVER,		/* with the consumers */
};

enum fb_free_read_kind {
	FB_FREE_READ_PREPENDED,		/* in front of a foreground read, in its command */
	FB_FREE_READ_SEPARATE,		/* in a gap, a command of its own */
	FB_FREE_READ_IDLE,		/* in idle time */
	FB_FREE_READ_HURRIED,		/* takes a late task's share of the foreground's time */
	FB_FREE_READ_PROMOTED,		/* joins the foreground because its task asked for that */
	FB_FREE_READ_KINDS,
};

/**
 * struct fb_free_read - one free read and its memory
 * @bio: its bio, set up anew for each read
 * @bvec: the bio's vectors, one for each chunk
 * @chunk: its memory, fb_free_reads.chunks of them
 * @data: the same, mapped contiguously
 * @fd: the disk
 * @state: [L]
 * @dirty: [L] it must be discarded: a foreground write overlapped it, or the drive refused it
 * @taken: the thread has marked its granules as in flight
 * @kind: what it is sent as
 * @owner: the task that has it sent as a foreground read; only to be compared
 * @how: how it was sent
 * @sent_ns: when it was aimed
 * @began_ns: when it was handed to the driver; 0: it has not been [L]
 * @ended_ns: when its bio ended
 * @over: its bio has ended but its request has not: there is no verdict yet [L]
 * @proven: it came from the medium; valid from FB_FREE_READ_ENDED on
 * @rq: the request that carries it while FB_FREE_READ_SENT; NULL: a foreground read of ours [L]
 * @lbn: first sector of the free part [L]; granule-aligned
 * @nsect: its sectors [L]
 * @good: sectors read without error, valid from FB_FREE_READ_ENDED on
 * @named: the drive has named the sector behind them as the bad one
 * @fault: whose fault an error is
 * @status: how it ended
 * @mask: granules that were wanted when it was sent; bit 0 is the one at @lbn
 * @share: those that each task wanted
 * @pending: slots of tasks that it is still to be delivered to [L]
 * @served: slots of tasks that have received it, for the thread to mark as done [L]
 * @voided: slots of tasks that it is withheld from, whose blocks are wanted again [L]
 */
struct fb_free_read {
	struct bio bio;
	struct bio_vec *bvec;
	struct page **chunk;
	void *data;
	struct fb_disk *fd;
	enum fb_free_read_state state;
	bool dirty;
	bool taken;
	bool over;
	bool proven;
	enum fb_free_read_kind kind;
	const void *owner;
	enum fb_verify_how how;
	u64 sent_ns;
	u64 began_ns;
	u64 ended_ns;
	struct request *rq;
	u64 lbn;
	u32 nsect;
	u32 good;
	bool named;
	enum fb_verify_fault fault;
	blk_status_t status;
	DECLARE_BITMAP(mask, FB_READ_GRANULES);
	struct {
		DECLARE_BITMAP(mask, FB_READ_GRANULES);
	} share[FREEBLOCK_TASKS];
	u32 pending;
	u32 served;
	u32 voided;
};

/**
 * struct fb_free_reads - the buffers of a disk's tasks
 * @sectors: size of a buffer
 * @order: allocation order of its chunks
 * @chunks: chunks of a buffer
 * @n: how many buffers there are; grows with the number of tasks [L]
 * @buf: the buffers; has room for FB_FREE_READS_MAX
 */
struct fb_free_reads {
	u32 sectors;
	u32 order;
	u32 chunks;
	u32 n;
	struct fb_free_read *buf;
};

/**
 * struct fb_reads - a disk's own reads; all [L]
 * @carrier: the carrier's buffer, from its submission until it is sent or has returned; or NULL
 * @rq: its request while the scheduler holds it; or NULL
 * @due: the plan in use needs another carrier
 * @submitting: the thread is submitting a bio
 * @bufs: the buffers, from the first start of a task until the last task is destroyed; else NULL
 */
struct fb_reads {
	struct fb_free_read *carrier;
	struct request *rq;
	bool due;
	bool submitting;
	struct fb_free_reads *bufs;
};

/* The buffer behind @buf, or the first one if that is NULL. [L], or the thread */
static inline struct fb_free_read *fb_free_read_next(const struct fb_free_reads *bufs,
						     const struct fb_free_read *buf)
{
	u32 i = buf ? buf - bufs->buf + 1 : 0;

	return bufs && i < READ_ONCE(bufs->n) ? &bufs->buf[i] : NULL;
}

struct fb_free_reads *fb_free_read_alloc_all(struct fb_disk *fd);
int fb_free_read_grow(struct fb_disk *fd, u32 n);
u32 fb_free_read_missing(struct fb_disk *fd, u32 tasks);
u64 fb_free_read_bytes(struct fb_disk *fd, u32 n);
bool fb_free_read_may_promote(const struct freeblock_task *task);
bool fb_free_read_now(struct freeblock_task *task, u64 lbn, u32 nsect,
		      enum fb_free_read_kind kind);
void fb_free_read_begun(struct fb_free_read *buf, u64 now);
void fb_free_read_free_all(struct fb_free_reads *bufs);
bool fb_free_read_is_ours(const struct bio *bio);
bool fb_free_read_prepend(struct fb_disk *fd, struct request *rq, u64 lbn, u32 nsect);
u32 fb_free_read_prepend_limit(const struct fb_disk *fd, struct request *rq);
void fb_free_read_overlap(struct fb_disk *fd, u64 lbn, u64 nsect);
u32 fb_free_read_max_data(const struct fb_disk *fd);
u32 fb_free_read_max(const struct fb_disk *fd);
void fb_free_read_enter(struct fb_disk *fd, const struct fb_plan_piece *aim);
bool fb_free_read_hold(struct fb_disk *fd, struct request *rq);
struct request *fb_free_read_send(struct fb_disk *fd, u64 lbn, u32 nsect,
				  enum fb_free_read_kind kind);
void fb_free_read_need(struct fb_disk *fd);
bool fb_free_read_is_awaited(const struct fb_disk *fd);
void fb_free_read_return(struct fb_disk *fd);

#endif /* FB_FREE_READ_H */
