/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Background reads without urgency, for scrubbers, scanners and backups (freeblock paper,
 * 2.2; Practical Scrubbing; Declarative IO).
 *
 * A consumer creates a task on a disk, adds ranges, starts it, and gets every block of
 * them exactly once, in the cheapest order for the disk: in the gaps of the foreground
 * while the disk is busy, under the Waiting policy while it is idle. Blocks are granules:
 * granule_sectors of the disk's model, 4 KiB on small drives. A disk has up to
 * FREEBLOCK_TASKS tasks; a block that several of them want is read once and delivered to
 * each.
 *
 * A block's data is what the medium held when it was read. If the scheduler sees a
 * foreground write that overlaps the read, it discards the data and reads the block again.
 * It does not see writes that bypass it (passthrough, FUA) or dirty pages not yet written
 * back; read a snapshot if the data must be consistent.
 *
 * Functions may sleep, and are not called in callbacks, but where "any context" is said: any but
 * hard interrupts, callbacks too. Sectors have 512 bytes. Of the errors, -ENOSPC says that
 * freeblock.memory_mib would be exceeded.
 */
#ifndef FREEBLOCK_H
#define FREEBLOCK_H

#include <linux/bits.h>
#include <linux/blk_types.h>
#include <linux/types.h>

#include "include/uapi/freeblock.h"

struct freeblock_task;
struct gendisk;

#define FREEBLOCK_TASKS 8		/* at most, per disk */
#define FREEBLOCK_FOREGROUND_PPM_MAX 500000

/* Why a task has ended */
enum freeblock_end {
	FREEBLOCK_FINISHED,		/* every block has been delivered */
	FREEBLOCK_STOPPED,	/* by freeblock_task_stop() or the unloading of the module */
};

/* What a consumer needs, or-ed */
enum freeblock_flags {
	FREEBLOCK_MEDIUM = BIT(0),	/* blocks must not come from the drive's cache */
	/* @data may be NULL even with BLK_STS_OK: the drive may verify instead of read */
	FREEBLOCK_NO_DATA = BIT(1),
	FREEBLOCK_KEEP = BIT(2),	/* when all is delivered, wait for more ranges */
	FREEBLOCK_OWN_COVERAGE = BIT(3),	/* the consumer calls freeblock_coverage_set() */
	/*
	 * foreground reads for this task alone (promoted ones, and those of
	 * freeblock_task_set_foreground()) are charged to the I/O cgroup of who creates it
	 */
	FREEBLOCK_CHARGE = BIT(4),
};

/* How ranges are added, or-ed */
enum freeblock_add_flags {
	FREEBLOCK_UNCOVERED = BIT(0),	/* what the task's coverage lacks when they are entered */
};

/* What a task's consumer may want to know, or-ed */
enum freeblock_event {
	/* all that was added is delivered; only with FREEBLOCK_KEEP, and once after additions */
	FREEBLOCK_EVENT_CAUGHT_UP = BIT(0),
	FREEBLOCK_EVENT_ROOM = BIT(1),	/* FREEBLOCK_RANGES_MAX ranges can be added again */
	/*
	 * the state, freeblock_progress.waiting_for or .gone may have changed, and may have changed
	 * again since; not at the end, which freeblock_ops.ended() reports
	 */
	FREEBLOCK_EVENT_CHANGED = BIT(2),
};

/* A block that has been read; more may be added at the end */
struct freeblock_block {
	sector_t lbn;			/* first sector */
	unsigned int sectors;	/* length; less than a granule only at the end of the disk */
	/*
	 * BLK_STS_OK; or BLK_STS_MEDIUM: the block is unreadable; or BLK_STS_IOERR: it was not
	 * tried, as it lies just behind an unreadable one (only with bad_quarantine_kib 0: else it
	 * is tried in idle time); or BLK_STS_NOTSUPP: it was read twice, and nothing shows that it
	 * came from the medium (only with FREEBLOCK_MEDIUM)
	 */
	blk_status_t status;
	/* its content, valid during the call; NULL on errors (but see FREEBLOCK_NO_DATA) */
	const void *data;
	u64 user_data;		/* of the range, added last, that the block lies in */
};

/**
 * struct freeblock_ops - a consumer's callbacks
 * @flags: enum freeblock_flags, or-ed
 * @block: a block has been read; it is valid during the call
 * @ended: the task has ended, no further call follows
 * @event: something has happened (enum freeblock_event, or-ed), after the blocks that were
 *	delivered before; or NULL
 *
 * All are called from a workqueue, one call at a time per task; they may sleep. While @block
 * sleeps, only its own task waits. If other tasks are active, at most FREEBLOCK_HELD reads are
 * kept for it, plus those already in flight; blocks that are read for the others meanwhile are
 * later read again for it.
 */
struct freeblock_ops {
	u32 flags;
	void (*block)(struct freeblock_task *task, const struct freeblock_block *block);
	void (*ended)(struct freeblock_task *task, enum freeblock_end why);
	void (*event)(struct freeblock_task *task, u32 events);
};

#define FREEBLOCK_HELD 2

/* Progress of a task; all counts are in blocks */
struct freeblock_progress {
	u64 total;	/* added so far; grows while ranges are entered, see @entering */
	u64 unwritten;	/* added, but left out: behind a zone's write pointer */
	u64 done;			/* delivered, whatever their status */
	u64 failed;			/* delivered with a status other than BLK_STS_OK */
	u64 flying;			/* being read or delivered */
	u32 granule_sectors;		/* sectors per block */
	u32 entering;	/* ranges added, removed or promoted that are still being entered */
	bool paused;			/* paused by freeblock_task_pause() */
	/* by whomever, even if it has ended: a consumer that sleeps in its callback must return */
	bool stopping;
	bool room;	/* FREEBLOCK_RANGES_MAX ranges can be added, removed or promoted now */
	bool gone;			/* the disk is gone; it may come back */
	bool caught_up;	/* all added is delivered: FREEBLOCK_EVENT_CAUGHT_UP was or is being told */
	enum freeblock_wait waiting_for;	/* what keeps a running task from reading */
};

/**
 * freeblock_task_create() - create a task on a disk
 * @disk: the disk, which has, or has had, freeblock as its scheduler
 * @name: shown in status files
 * @ops: callbacks; must stay valid until freeblock_task_destroy()
 * @ctx: consumer's pointer, see freeblock_task_ctx()
 *
 * The task keeps no reference to @disk: if the disk goes the task waits until it comes back.
 * Return: the task; or ERR_PTR: -ENODEV (the disk is gone or has never had the scheduler), -EBUSY
 * (it has FREEBLOCK_TASKS tasks that have not ended), -ENOSPC, -ENOMEM.
 */
struct freeblock_task *freeblock_task_create(struct gendisk *disk, const char *name,
					     const struct freeblock_ops *ops, void *ctx);

/**
 * freeblock_task_add() - add ranges of wanted blocks
 * @task: any that has not ended
 * @ranges: in sectors of the disk. Each begins on a multiple of the granule, and ends on one or
 *	with the disk. Where ranges overlap, those of earlier calls included, a block comes with
 *	freeblock_range.user_data of the one added last
 * @n: how many, 1 .. FREEBLOCK_RANGES_MAX
 * @flags: enum freeblock_add_flags, or-ed
 *
 * Either all ranges are added or, on errors, none. Each block is delivered once more, from a
 * read that is sent after this call: blocks still wanted stay wanted, delivered ones are wanted
 * again, and those in flight are wanted again once their read completes. A callback that adds
 * the block it is given therefore gets it over and over. The disk's thread enters the ranges
 * later: see freeblock_progress.entering. Callbacks may call this, and what changes ranges below.
 * Return: 0; -EINVAL (@n, or a range that is not aligned, is empty, or goes beyond the disk),
 * -ESHUTDOWN (stopped or ended), -ENOSPC (more than FREEBLOCK_RANGES ranges would wait to be
 * entered, or too many values of user_data would be remembered: FREEBLOCK_EVENT_ROOM reports
 * when there is room again), -ENOMEM.
 */
int freeblock_task_add(struct freeblock_task *task, const struct freeblock_range *ranges, u32 n,
		       u32 flags);

#define FREEBLOCK_RANGES 4096		/* at most, waiting to be entered */
#define FREEBLOCK_RANGES_MAX 1024	/* at most, in one call */

/*
 * Remove ranges from what is wanted, and from freeblock_progress.total. Blocks in flight are still
 * delivered, once. Arguments and errors are those of freeblock_task_add(), without user_data.
 */
int freeblock_task_remove(struct freeblock_task *task, const struct freeblock_range *ranges, u32 n);

/* Read what a running task still wants of ranges at once, as foreground reads. Likewise. */
int freeblock_task_promote(struct freeblock_task *task, const struct freeblock_range *ranges,
			   u32 n);

/* Which blocks of a disk were delivered with BLK_STS_OK */
struct freeblock_coverage {
	u32 granule_sectors;		/* sectors per block */
	u64 blocks;			/* blocks of the disk */
	size_t bytes;			/* size of @map, a multiple of 8 */
	/*
	 * a bit per block, starting with the lowest bit of the first byte, whatever the machine's
	 * byte order. It may be read at any time, and filled from a saved copy while no task uses
	 * it.
	 */
	__le64 map[];
};

/*
 * Create an empty coverage that fits a disk's present blocks; it outlives tasks and models. Return:
 * the coverage; or ERR_PTR: -ENODEV, -ENOSPC, -ENOMEM, as freeblock_task_create().
 */
struct freeblock_coverage *freeblock_coverage_create(struct gendisk *disk);

/* Note that a block, by its number on the disk, has been read. Any context. */
void freeblock_coverage_set(struct freeblock_coverage *coverage, u64 block);

/* Free a coverage that no task uses any more; it may be NULL. */
void freeblock_coverage_destroy(struct freeblock_coverage *coverage);

/**
 * freeblock_task_set_coverage() - record in a coverage what a task delivers
 * @task: not yet started
 * @coverage: not used by another task; must stay valid until freeblock_task_destroy()
 *
 * A block's bit is set after freeblock_ops.block() has returned, or, with
 * FREEBLOCK_OWN_COVERAGE, by the consumer. The task never clears one.
 * Return: 0; -EINVAL (it does not fit the task's blocks), -EBUSY (started already).
 */
int freeblock_task_set_coverage(struct freeblock_task *task, struct freeblock_coverage *coverage);

/*
 * Add the blocks of a range that the task's coverage lacks; without a coverage, all. Return: their
 * number; or an error of freeblock_task_add().
 */
s64 freeblock_task_add_uncovered(struct freeblock_task *task, sector_t first, sector_t count);

/*
 * Allocate zeroed memory for a consumer's tables. @what: its purpose, for the log. Return: the
 * memory, for freeblock_free() with the same size; or ERR_PTR: -ENOSPC, -ENOMEM.
 */
void *freeblock_alloc(u64 bytes, const char *what);
void freeblock_free(void *p, u64 bytes);

/**
 * freeblock_task_order() - set the order of idle reads; the default is FREEBLOCK_ORDER_NEAR
 * @task: not yet started
 * @order: the order
 * @regions: for FREEBLOCK_ORDER_STAGGERED: 1 .. 512; otherwise 0
 * @segment_sectors: for FREEBLOCK_ORDER_STAGGERED: a multiple of the granule; otherwise 0
 * Return: 0; -EINVAL (an invalid value), -EBUSY (started already).
 */
int freeblock_task_order(struct freeblock_task *task, enum freeblock_order order, u32 regions,
			 u32 segment_sectors);

/*
 * Set a task's priority, FREEBLOCK_PRIORITY_MIN .. FREEBLOCK_PRIORITY_MAX. Idle time goes to the
 * task with the highest one, and among equals to the one with the earliest deadline; gaps serve all
 * tasks alike; but see freeblock_task_set_deadline(). Any context. Return: 0; -EINVAL.
 */
int freeblock_task_set_priority(struct freeblock_task *task, s32 priority);

/*
 * Set when a task should be finished: a time of ktime_get_ns(); 0: none. While a task would miss
 * its deadline at its present rate, it is late: gaps are searched for its blocks only, and it gets
 * idle time before tasks of any priority that are not late. This costs the foreground nothing; but
 * see freeblock_task_set_foreground(). Any context.
 */
void freeblock_task_set_deadline(struct freeblock_task *task, u64 deadline_ns);

/*
 * Let a late task take a share of the foreground's time: @ppm millionths of the disk's, at most
 * FREEBLOCK_FOREGROUND_PPM_MAX; 0 at first. Its blocks are then also read as foreground requests,
 * which occupy the disk for no more, but for bursts of 100 ms. Late tasks of a disk take turns, not
 * a share each. Any context. Return: 0; -EINVAL.
 */
int freeblock_task_set_foreground(struct freeblock_task *task, u32 ppm);

/*
 * Begin to read for a task. It waits while its disk has another scheduler, and continues when
 * freeblock is back. Return: 0; -EINVAL (no range was added, and no FREEBLOCK_KEEP), -EBUSY
 * (started already), -ESHUTDOWN (stopped), -ENOMEM or an error of kthread_create().
 */
int freeblock_task_start(struct freeblock_task *task);

/**
 * freeblock_task_probe() - read single places in idle time, and tell when
 * @task: started
 * @probes: in sectors of the disk, whole logical blocks, at most a granule each; the other fields
 *	are 0. They are filled in as the reads end
 * @n: how many
 * @timeout_ms: wait no longer; 0: without a limit
 *
 * The probes are the task's idle reads, and go before its blocks; see FREEBLOCK_IOC_PROBE. May
 * sleep, interruptibly; not in a callback. The task is not destroyed meanwhile.
 * Return: how many were carried out; if none was, 0 after @timeout_ms, or: -EBADFD (not started),
 * -ESHUTDOWN (stopped or ended), -ENODEV (the disk is gone), -EOPNOTSUPP (zones), -EBUSY (somebody
 * else waits for probes of the task), -ERESTARTSYS (a signal).
 */
s32 freeblock_task_probe(struct freeblock_task *task, struct freeblock_probe *probes, u32 n,
			 u32 timeout_ms);

/*
 * Read nothing for a task until it is resumed. Blocks in flight are still delivered; others may be
 * read for other tasks. Any context. Return: 0; -EALREADY (paused or running already), -EINVAL (not
 * running, or neither running nor paused).
 */
int freeblock_task_pause(struct freeblock_task *task);
int freeblock_task_resume(struct freeblock_task *task);

/*
 * Read no more for a task. Any context. freeblock_ops.ended() is called when the reads in flight
 * have completed. One that was not started cannot be started any more and no longer counts towards
 * FREEBLOCK_TASKS; freeblock_ops.ended() is not called.
 */
void freeblock_task_stop(struct freeblock_task *task);

/* Stop a task, wait until freeblock_ops.ended() has returned if it was started, and free it. */
void freeblock_task_destroy(struct freeblock_task *task);

/* @ctx of freeblock_task_create(); a task's progress; its disk's capacity. Any context. */
void *freeblock_task_ctx(const struct freeblock_task *task);
void freeblock_task_progress(struct freeblock_task *task, struct freeblock_progress *p);
u64 freeblock_task_sectors(const struct freeblock_task *task);

#endif /* FREEBLOCK_H */
