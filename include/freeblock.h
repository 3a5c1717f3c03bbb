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
	/* freeblock_task_stop() was called, or the module is being unloaded */
	FREEBLOCK_STOPPED,
};

/* What a consumer needs, or-ed */
enum freeblock_flags {
	/* blocks must come from the medium, not from the drive's cache */
	FREEBLOCK_MEDIUM = BIT(0),
	/*
	 * the data is not used: @data may be NULL even with BLK_STS_OK, and the drive may be asked
	 * to verify instead of to read
	 */
	FREEBLOCK_NO_DATA = BIT(1),
	/* when everything is delivered, the task waits for more ranges instead of finishing */
	FREEBLOCK_KEEP = BIT(2),
	/*
	 * the consumer itself sets the bits of the task's coverage, with freeblock_coverage_set()
	 */
	FREEBLOCK_OWN_COVERAGE = BIT(3),
	/*
	 * reads that are sent as foreground requests for this task alone (promoted ones, and those
	 * of freeblock_task_set_foreground()) are charged to the I/O cgroup of the process that
	 * creates it
	 */
	FREEBLOCK_CHARGE = BIT(4),
};

/* How ranges are added, or-ed */
enum freeblock_add_flags {
	/* only what the task's coverage lacks when the range is entered */
	FREEBLOCK_UNCOVERED = BIT(0),
};

/* What a task's consumer may want to know, or-ed */
enum freeblock_event {
	/*
	 * everything that was added so far is delivered; only with FREEBLOCK_KEEP, and once after
	 * additions
	 */
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
	sector_t lbn;			/* first 512-byte sector */
	unsigned int sectors;	/* length; less than a granule only at the end of the disk */
	/*
	 * BLK_STS_OK; or BLK_STS_MEDIUM: the block is unreadable; or BLK_STS_IOERR: it was not
	 * tried because it lies just behind an unreadable one and the drive may take seconds for
	 * each (only with bad_quarantine_kib 0; otherwise it is tried while the disk is idle); or
	 * BLK_STS_NOTSUPP: it was read twice, and nothing shows that it came from the medium (only
	 * with FREEBLOCK_MEDIUM)
	 */
	blk_status_t status;
	/* its content, valid during the call; NULL on errors (but see FREEBLOCK_NO_DATA) */
	const void *data;
	/* freeblock_range.user_data of the range, added last, that the block lies in */
	u64 user_data;
};

/**
 * struct freeblock_ops - a consumer's callbacks
 * @flags: enum freeblock_flags, or-ed
 * @block: a block has been read; it is valid during the call
 * @ended: the task has ended, no further call follows
 * @event: something has happened (enum freeblock_event, or-ed), after the blocks that were
 *	delivered before; or NULL
 *
 * Context: all are called from a workqueue, one call at a time per task; they may sleep.
 * While @block sleeps, only its own task waits. If other tasks are active, at most
 * FREEBLOCK_HELD reads are kept for it, plus those already in flight; blocks that are read
 * for the others meanwhile are later read again for it.
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
	/* of what was added, left out since it lies behind a zone's write pointer */
	u64 unwritten;
	u64 done;			/* delivered, whatever their status */
	u64 failed;			/* delivered with a status other than BLK_STS_OK */
	u64 flying;			/* being read or delivered */
	u32 granule_sectors;		/* sectors per block */
	u32 entering;	/* ranges added, removed or promoted that are still being entered */
	bool paused;			/* paused by freeblock_task_pause() */
	/*
	 * stopped by freeblock_task_stop() or the administrator, even if it has ended; a consumer
	 * that sleeps in its callback must return
	 */
	bool stopping;
	bool room;	/* FREEBLOCK_RANGES_MAX ranges can be added, removed or promoted now */
	bool gone;			/* the disk is gone; it may come back */
	/*
	 * all that was added so far is delivered, and that was or is being told
	 * (FREEBLOCK_EVENT_CAUGHT_UP)
	 */
	bool caught_up;
	enum freeblock_wait waiting_for;	/* what keeps a running task from reading */
};

/**
 * freeblock_task_create() - create a task on a disk
 * @disk: the disk; it must have freeblock as scheduler (now or before) and a model
 * @name: shown in status files
 * @ops: callbacks; must stay valid until freeblock_task_destroy()
 * @ctx: consumer's pointer, see freeblock_task_ctx()
 *
 * The task keeps no reference to @disk: if the disk goes the task waits until it comes back.
 * Context: may sleep; not from a callback.
 * Return: the task; or ERR_PTR: -ENODEV (the disk is gone or has never had the scheduler),
 * -ENODATA (it has no model), -EBUSY (it already has FREEBLOCK_TASKS tasks that have not ended),
 * -ENOSPC (freeblock.memory_mib would be exceeded), -ENOMEM.
 */
struct freeblock_task *freeblock_task_create(struct gendisk *disk, const char *name,
					     const struct freeblock_ops *ops, void *ctx);

/**
 * freeblock_task_add() - add ranges of wanted blocks
 * @task: any that has not ended
 * @ranges: in 512-byte sectors of the disk. Each begins on a multiple of the granule, and ends
 *	on one or with the disk. Where ranges overlap, those of earlier calls included, a block
 *	comes with freeblock_range.user_data of the one added last
 * @n: how many, 1 .. FREEBLOCK_RANGES_MAX
 * @flags: enum freeblock_add_flags, or-ed
 *
 * Either all ranges are added or, on errors, none. Each block is delivered once more, from a
 * read that is sent after this call: blocks still wanted stay wanted, delivered ones are wanted
 * again, and those in flight are wanted again once their read completes. A callback that adds
 * the block it is given therefore gets it over and over. The disk's thread enters the ranges
 * later: see freeblock_progress.entering.
 * Context: may sleep.
 * Return: 0; -EINVAL (@n, or a range that is not aligned, is empty, or goes beyond the disk),
 * -ESHUTDOWN (stopped or ended), -ENOSPC (more than FREEBLOCK_RANGES ranges would wait to be
 * entered, or too many values of user_data would be remembered: FREEBLOCK_EVENT_ROOM reports
 * when there is room again), -ENOMEM.
 */
int freeblock_task_add(struct freeblock_task *task, const struct freeblock_range *ranges, u32 n,
		       u32 flags);

#define FREEBLOCK_RANGES 4096		/* at most, waiting to be entered */
#define FREEBLOCK_RANGES_MAX 1024	/* at most, in one call */

/**
 * freeblock_task_add_bits() - add the wanted blocks of a bitmap
 * @task: any that has not ended
 * @first: number of the first bit's block
 * @bits: a set bit means wanted; the bitmap is copied
 * @n: number of bits
 *
 * Does what freeblock_task_add() does, block by block.
 * Context: may sleep.
 * Return: as freeblock_task_add().
 */
int freeblock_task_add_bits(struct freeblock_task *task, u64 first, const unsigned long *bits,
			    u64 n);

/**
 * freeblock_task_remove() - remove ranges from the wanted blocks
 * @task: any that has not ended
 * @ranges: as for freeblock_task_add(); their user_data is ignored
 * @n: how many, 1 .. FREEBLOCK_RANGES_MAX
 *
 * Blocks in flight are still delivered, once. Removed blocks no longer count in
 * freeblock_progress.total.
 * Context: may sleep.
 * Return: as freeblock_task_add().
 */
int freeblock_task_remove(struct freeblock_task *task, const struct freeblock_range *ranges,
			  u32 n);

/**
 * freeblock_task_promote() - read ranges now
 * @task: running
 * @ranges: as for freeblock_task_add(); their user_data is ignored
 * @n: how many, 1 .. FREEBLOCK_RANGES_MAX
 *
 * Blocks of the ranges that the task still wants are read at once, as foreground reads.
 * Context: may sleep.
 * Return: as freeblock_task_add().
 */
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

/**
 * freeblock_coverage_create() - create an empty coverage that fits a disk's present model
 * @disk: the disk
 *
 * It outlives tasks and models, and counts towards freeblock.memory_mib.
 * Context: may sleep.
 * Return: the coverage; or ERR_PTR: -ENODEV, -ENODATA, -ENOSPC, -ENOMEM, as
 * freeblock_task_create().
 */
struct freeblock_coverage *freeblock_coverage_create(struct gendisk *disk);

/**
 * freeblock_coverage_set() - note that a block has been read
 * @coverage: the coverage
 * @block: number of the block on the disk
 *
 * Needed with FREEBLOCK_OWN_COVERAGE only.
 * Context: any.
 */
void freeblock_coverage_set(struct freeblock_coverage *coverage, u64 block);

/**
 * freeblock_coverage_destroy() - free a coverage
 * @coverage: no longer used by a task; or NULL
 * Context: may sleep.
 */
void freeblock_coverage_destroy(struct freeblock_coverage *coverage);

/**
 * freeblock_task_set_coverage() - record in a coverage what a task delivers
 * @task: not yet started
 * @coverage: not used by another task; must stay valid until freeblock_task_destroy()
 *
 * A block's bit is set after freeblock_ops.block() has returned, or, with
 * FREEBLOCK_OWN_COVERAGE, by the consumer. The task never clears one.
 * Return: 0; -EINVAL (it does not fit the task's model), -EBUSY (started already).
 */
int freeblock_task_set_coverage(struct freeblock_task *task, struct freeblock_coverage *coverage);

/**
 * freeblock_task_add_uncovered() - add the blocks of a range that the task's coverage lacks
 * @task: any that has not ended; without a coverage the whole range is added
 * @first: first 512-byte sector, a multiple of the granule
 * @count: sectors; a multiple of the granule unless the range ends with the disk
 * Context: may sleep.
 * Return: number of blocks added; or an error as freeblock_task_add().
 */
s64 freeblock_task_add_uncovered(struct freeblock_task *task, sector_t first, sector_t count);

/**
 * freeblock_alloc() - allocate zeroed memory for a consumer's tables
 * @bytes: size
 * @what: its purpose, for the log when memory_mib would be exceeded
 *
 * It counts towards freeblock.memory_mib.
 * Context: may sleep.
 * Return: the memory; or ERR_PTR: -ENOSPC (memory_mib would be exceeded), -ENOMEM.
 */
void *freeblock_alloc(u64 bytes, const char *what);

/**
 * freeblock_free() - free memory of freeblock_alloc()
 * @p: the memory, or NULL
 * @bytes: size that was asked for
 * Context: may sleep.
 */
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

/**
 * freeblock_task_set_priority() - set a task's priority
 * @task: any
 * @priority: FREEBLOCK_PRIORITY_MIN .. FREEBLOCK_PRIORITY_MAX, higher ones first
 *
 * Idle time goes to the task with the highest priority, and among equals to the one with
 * the earliest deadline; gaps serve all tasks alike; but see freeblock_task_set_deadline().
 * Context: any but hard interrupts.
 * Return: 0; -EINVAL.
 */
int freeblock_task_set_priority(struct freeblock_task *task, s32 priority);

/**
 * freeblock_task_set_deadline() - set when a task should be finished
 * @task: any
 * @deadline_ns: a time of ktime_get_ns(); 0: none
 *
 * While a task would miss its deadline at its present rate, it is late: gaps are searched for
 * its blocks only, and it gets idle time before tasks of any priority that are not late. This
 * costs the foreground nothing; but see freeblock_task_set_foreground().
 * Context: any but hard interrupts.
 */
void freeblock_task_set_deadline(struct freeblock_task *task, u64 deadline_ns);

/**
 * freeblock_task_set_foreground() - let a late task take a share of the foreground's time
 * @task: any
 * @ppm: share of the disk's time, in millionths, that the task may take while it would miss its
 *	deadline otherwise; at most FREEBLOCK_FOREGROUND_PPM_MAX, 0 at first
 *
 * Its blocks are then also read as foreground requests, which occupy the disk for @ppm of the
 * time at most, but for bursts of 100 ms. Late tasks of a disk take turns, not a share each.
 * Context: any but hard interrupts.
 * Return: 0; -EINVAL.
 */
int freeblock_task_set_foreground(struct freeblock_task *task, u32 ppm);

/**
 * freeblock_task_start() - begin to read
 * @task: not yet started
 * Context: may sleep. Does not wait for reads; the task waits while its disk has another
 * scheduler, and continues when freeblock is back.
 * Return: 0; -EINVAL (no range was added, and no FREEBLOCK_KEEP), -EBUSY (started already),
 * -ESHUTDOWN (stopped), -ENOMEM or an error of kthread_create().
 */
int freeblock_task_start(struct freeblock_task *task);

/**
 * freeblock_task_pause() - read nothing for this task until it is resumed
 * @task: any
 *
 * Blocks in flight are still delivered. The same blocks may still be read for other tasks.
 * Context: any but hard interrupts, callbacks too. Returns at once.
 * Return: 0; -EALREADY (already paused), -EINVAL (not running).
 */
int freeblock_task_pause(struct freeblock_task *task);

/**
 * freeblock_task_resume() - continue after freeblock_task_pause()
 * @task: any
 * Context: any but hard interrupts, callbacks too. Returns at once.
 * Return: 0; -EALREADY (already running), -EINVAL (neither running nor paused).
 */
int freeblock_task_resume(struct freeblock_task *task);

/**
 * freeblock_task_stop() - read no more
 * @task: any
 *
 * A task that was not started cannot be started any more and no longer counts towards
 * FREEBLOCK_TASKS; freeblock_ops.ended() is not called.
 * Context: any that may sleep, callbacks too. Returns at once; freeblock_ops.ended() is
 * called when the reads in flight have completed.
 */
void freeblock_task_stop(struct freeblock_task *task);

/**
 * freeblock_task_destroy() - stop a task and free it
 * @task: any
 *
 * If the task was started, this waits until freeblock_ops.ended() has returned.
 * Context: may sleep; not from a callback.
 */
void freeblock_task_destroy(struct freeblock_task *task);

/**
 * freeblock_task_ctx() - get the consumer's pointer
 * @task: any
 * Return: @ctx of freeblock_task_create().
 */
void *freeblock_task_ctx(const struct freeblock_task *task);

/**
 * freeblock_task_progress() - get a task's progress
 * @task: any
 * @p: filled in
 * Context: any but hard interrupts.
 */
void freeblock_task_progress(struct freeblock_task *task, struct freeblock_progress *p);

/**
 * freeblock_task_sectors() - get the capacity of a task's disk
 * @task: any
 * Return: 512-byte sectors.
 */
u64 freeblock_task_sectors(const struct freeblock_task *task);

#endif /* FREEBLOCK_H */
