/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Our own reads (disk/free_read.c): their buffers, and the carrier, a request that is held until it
 * is known what it should read. Reads that must come from the medium, not from the drive's cache
 * (disk/verify.c; Practical Scrubbing, III): how they are sent, and whether the drive obeyed.
 */
#ifndef FB_FREE_READ_H
#define FB_FREE_READ_H

#include <linux/bio.h>
#include <linux/blk-mq.h>

#include "core/head.h"
#include "core/plan.h"
#include "include/freeblock.h"

struct fb_disk;
struct fb_disk_client;

#define FB_VERIFY_TEXT 160		/* bytes that fb_verify_describe() needs */

/* How a read of ours was sent */
enum fb_verify_how {
	FB_VERIFY_READ,			/* as an ordinary read, which may come from the cache */
	FB_VERIFY_FUA,			/* READ with FUA */
	FB_VERIFY_COMMAND,		/* VERIFY: nothing is transferred */
};

/* VERIFY, or READ with FUA, on a disk; all under fb_disk.lock */
struct fb_verify_way {
	const char *barred;		/* why it is not used, as a text; NULL: it is used */
	bool proven;	/* one took as long as the medium needs; none is believed before */
	u32 early;	/* ended too early for the medium; halved every FB_VERIFY_FORGET */
	u32 watched;			/* those whose completion time was checked */
	u32 failed;			/* those in a row that failed where a READ did not */
};

/* How the drive can be made to read the medium; all under fb_disk.lock */
struct fb_verify {
	struct fb_verify_way verify;	/* VERIFY */
	struct fb_verify_way fua;	/* READ with FUA */
	bool sata;	/* the drive is one: it queues FUA, not VERIFY; only NCQ has FUA */
	bool libata;			/* the kernel's own library translates for it */
	u32 depth;			/* the queue depth when FUA was refused */
	u64 refused_ns;			/* when that was */
	enum fb_verify_how checking;	/* this failed, not by the medium: READ is to tell */
	u64 check_lbn;			/* where, if known; READ has read what lay before */
	u32 check_nsect;		/* its sectors */
	u64 check_ns;			/* when it failed */
};

/* Whose fault it is that a read of ours failed */
enum fb_verify_fault {
	FB_VERIFY_FAULT_OTHER,		/* what may pass, or the place is not known */
	FB_VERIFY_FAULT_MEDIUM,		/* the medium's */
	FB_VERIFY_FAULT_COMMAND,	/* the command is not known: read in another way */
};

/* Buffers consist of chunks of this order, to need few segments; of pages if those are scarce. */
#define FB_FREE_READ_CHUNK_ORDER get_order(64 * 1024)

/*
 * Two for commands in flight, one for the held carrier, one being checked by its consumer, and
 * as many again to ride out a slow consumer. Large drives get fewer: sixty of them should need
 * no more than 1 GiB (Documentation/results.rst).
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

/* One free read and its memory */
struct fb_free_read {
	struct bio bio;			/* its bio, set up anew for each read */
	struct bio_vec *bvec;		/* the bio's vectors, one for each chunk */
	struct page **chunk;		/* its memory, fb_free_reads.chunks of them */
	void *data;			/* the same, mapped contiguously */
	enum fb_free_read_state state;	/* [L] */
	struct fb_disk *disk;
	/* what follows is zeroed when it is aimed */
	bool dirty;	/* to be discarded: overwritten, or refused by the drive [L] */
	bool taken;			/* the thread has marked its granules as in flight */
	bool over;	/* its bio has ended but its request has not: there is no verdict yet [L] */
	bool proven;	/* it came from the medium; valid from FB_FREE_READ_ENDED on */
	enum fb_free_read_kind kind;	/* what it is sent as */
	const void *owner;		/* whose foreground read it is; only to be compared */
	enum fb_verify_how how;		/* how it was sent */
	u32 probe;	/* the call that it is a probe of; 0: it is for blocks */
	u32 commands;			/* of a probe: that the device had got before */
	u32 others;			/* of a probe: that the device got until it ended */
	u64 sent_ns;			/* when it was aimed */
	u64 began_ns;	/* when it was handed to the driver; 0: it has not been [L] */
	u64 ended_ns;			/* when its bio ended */
	/* carries it while FB_FREE_READ_SENT; NULL: a foreground read of ours [L] */
	struct request *rq;
	u64 lbn;			/* first sector of the free part [L]; granule-aligned */
	u32 nsect;			/* its sectors [L] */
	u32 good;	/* sectors read without error, valid from FB_FREE_READ_ENDED on */
	bool named;	/* the drive has named the sector behind them as the bad one */
	enum fb_verify_fault fault;	/* whose fault an error is */
	blk_status_t status;
	DECLARE_BITMAP(mask, FB_READ_GRANULES);	/* wanted when it was sent; bit 0: @lbn */
	/* those that each task wanted */
	struct {
		DECLARE_BITMAP(mask, FB_READ_GRANULES);
	} share[FREEBLOCK_TASKS];
	u32 pending;			/* slots of tasks that it is still to be delivered to [L] */
	u32 served;	/* slots of tasks that have it, for the thread to mark as done [L] */
	u32 voided;	/* slots of tasks that it is withheld from: wanted again [L] */
};

/* The buffers of a disk's tasks */
struct fb_free_reads {
	u32 sectors;			/* size of a buffer */
	u32 order;			/* allocation order of its chunks */
	u32 chunks;			/* chunks of a buffer */
	u32 n;	/* how many buffers there are; grows with the number of tasks [L] */
	struct fb_free_read *buf;	/* the buffers; has room for FB_FREE_READS_MAX */
};

/* A disk's own reads; all [L] */
struct fb_reads {
	struct fb_free_read *carrier;	/* from submission until it is sent or back; or NULL */
	struct request *rq;		/* its request while the scheduler holds it; or NULL */
	bool due;			/* the plan in use needs another carrier */
	bool submitting;		/* the thread is submitting a bio */
	u64 ended;			/* sectors that have been read, but for late tasks' */
	struct fb_free_reads *bufs;	/* from the first start to the last destroy; or NULL */
};

/* The buffer behind @buf, or the first one if that is NULL. [L], or the thread */
static inline struct fb_free_read *fb_free_read_next(const struct fb_free_reads *bufs,
						     const struct fb_free_read *buf)
{
	u32 i = buf ? buf - bufs->buf + 1 : 0;

	return bufs && i < READ_ONCE(bufs->n) ? &bufs->buf[i] : NULL;
}

int fb_free_read_provide(struct fb_disk *disk, u32 tasks, u64 *account);
bool fb_free_read_may_promote(const struct freeblock_task *task);
bool fb_free_read_now(struct freeblock_task *task, u64 lbn, u32 nsect, enum fb_free_read_kind kind);
void fb_free_read_begun(struct fb_free_read *buf, u64 now);
void fb_free_read_free_all(struct fb_free_reads *bufs);
bool fb_free_read_is_ours(const struct bio *bio);
bool fb_free_read_prepend(struct fb_disk *disk, struct request *rq, u64 lbn, u32 nsect);
u32 fb_free_read_prepend_limit(const struct fb_disk *disk, struct request *rq);
void fb_free_read_overlap(struct fb_disk *disk, u64 lbn, u64 nsect);
u32 fb_free_read_commands(const struct fb_disk *disk);
u32 fb_free_read_max_data(const struct fb_disk *disk);
u32 fb_free_read_max(const struct fb_disk *disk);
void fb_free_read_enter(struct fb_disk *disk, const struct fb_plan_piece *aim);
bool fb_free_read_hold(struct fb_disk *disk, struct request *rq);
struct request *fb_free_read_send(struct fb_disk *disk, u64 lbn, u32 nsect,
				  enum fb_free_read_kind kind);
void fb_free_read_need(struct fb_disk *disk);
bool fb_free_read_is_awaited(const struct fb_disk *disk);
void fb_free_read_return(struct fb_disk *disk);

extern const struct fb_disk_client fb_verify_client;

enum fb_verify_how fb_verify_how(const struct fb_disk *disk);
u32 fb_verify_proof(const struct fb_disk *disk);
u32 fb_verify_least(const struct fb_disk *disk);
void fb_verify_describe(const struct fb_disk *disk, char *text, size_t size);
u32 fb_verify_max(const struct fb_disk *disk);
void fb_verify_apply(const struct fb_free_read *buf, struct request *rq);
void fb_verify_restore(struct request *rq);
void fb_verify_judge(struct fb_disk *disk, struct request *rq, const enum fb_head_verdict *verdict);
void fb_verify_place(struct fb_free_read *buf);
void fb_verify_split(struct fb_disk *disk, struct request *rq);
bool fb_verify_failed(struct request *rq);
enum fb_verify_fault fb_verify_fault(struct fb_disk *disk, const struct fb_free_read *buf);
void fb_verify_check(struct fb_disk *disk, const struct fb_free_read *buf, bool good);
void fb_verify_is_bad(struct fb_disk *disk, u64 lbn);
void fb_verify_renew(struct fb_disk *disk);
bool fb_verify_has_fua(const struct fb_disk *disk);

#endif /* FB_FREE_READ_H */
