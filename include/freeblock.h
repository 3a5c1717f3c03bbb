/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Background reads without urgency, for scrubbers, scanners and backups (freeblock paper, 2.2);
 * Documentation/api.rst has the life of a task, and what is promised. Functions may sleep, and are
 * not called in callbacks, but where "any context" is said: any but hard interrupts, callbacks too.
 * Sectors have 512 bytes. -ENOSPC says that freeblock.memory_mib would be exceeded.
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
	/* foreground reads for this task alone are charged to the I/O cgroup of its creator */
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
	/* the state, waiting_for or gone may have changed; not at the end, which ended() reports */
	FREEBLOCK_EVENT_CHANGED = BIT(2),
};

/* A block that has been read; more may be added at the end */
struct freeblock_block {
	sector_t lbn;			/* first sector */
	unsigned int sectors;	/* length; less than a granule only at the end of the disk */
	/*
	 * OK; MEDIUM: unreadable; IOERR: not tried, behind an unreadable one; NOTSUPP: read twice,
	 * and perhaps not from the medium (only with FREEBLOCK_MEDIUM)
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

/*
 * Create a task on @gd, which has, or has had, freeblock as its scheduler. @name: shown in status
 * files. @ops: valid until freeblock_task_destroy(). @ctx: see freeblock_task_ctx(). Return: the
 * task; or ERR_PTR: -ENODEV (the disk is gone or has never had the scheduler), -EBUSY (it has
 * FREEBLOCK_TASKS tasks that have not ended), -ENOSPC, -ENOMEM.
 */
struct freeblock_task *freeblock_task_create(struct gendisk *disk, const char *name,
					     const struct freeblock_ops *ops, void *ctx);

/*
 * Add ranges of wanted blocks, all or, on errors, none. Each begins on a multiple of the granule,
 * and ends on one or with the disk. A block is delivered once more, from a read that is sent after
 * this call. @n: 1 .. FREEBLOCK_RANGES_MAX. @flags: enum freeblock_add_flags, or-ed. Callbacks may
 * call this, and what changes ranges below. Return: 0; -EINVAL (@n, or a range), -ESHUTDOWN
 * (stopped or ended), -ENOSPC (more than FREEBLOCK_RANGES ranges would wait to be entered, or too
 * many values of user_data be remembered: FREEBLOCK_EVENT_ROOM), -ENOMEM.
 */
int freeblock_task_add(struct freeblock_task *task, const struct freeblock_range *ranges, u32 n,
		       u32 flags);

#define FREEBLOCK_RANGES 4096		/* at most, waiting to be entered */
#define FREEBLOCK_RANGES_MAX 1024	/* at most, in one call */

/* Remove ranges from what is wanted; blocks in flight are still delivered. Errors: as above. */
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
	 * a bit per block, from the lowest bit of the first byte on. It may be read at any time,
	 * and filled while no task uses it
	 */
	__le64 map[];
};

/*
 * Create an empty coverage that fits a disk's blocks. Return: it; or ERR_PTR: -ENODEV, -ENOSPC,
 * -ENOMEM.
 */
struct freeblock_coverage *freeblock_coverage_create(struct gendisk *disk);

/* Note that a block, by its number on the disk, has been read. Any context. */
void freeblock_coverage_set(struct freeblock_coverage *coverage, u64 block);

/* Free a coverage that no task uses any more; it may be NULL. */
void freeblock_coverage_destroy(struct freeblock_coverage *coverage);

/*
 * Have a task, not yet started, set the bits of blocks when freeblock_ops.block() has returned (but
 * see FREEBLOCK_OWN_COVERAGE). @coverage: of no other task, valid until freeblock_task_destroy().
 * Return: 0; -EINVAL (it does not fit the task's blocks), -EBUSY (started already).
 */
int freeblock_task_set_coverage(struct freeblock_task *task, struct freeblock_coverage *coverage);

/*
 * Add the blocks of a range that the task's coverage lacks. Return: their number; or an error of
 * freeblock_task_add().
 */
s64 freeblock_task_add_uncovered(struct freeblock_task *task, sector_t first, sector_t count);

/*
 * Allocate zeroed memory for a consumer's tables. @what: for the log. Return: it; or ERR_PTR:
 * -ENOSPC, -ENOMEM.
 */
void *freeblock_alloc(u64 bytes, const char *what);
void freeblock_free(void *p, u64 bytes);

/*
 * Set the order of idle reads of a task, not yet started. @regions (1 .. 512) and @segment_sectors
 * (a multiple of the granule): for FREEBLOCK_ORDER_STAGGERED; otherwise 0. Return: 0; -EINVAL (an
 * invalid value), -EBUSY (started already).
 */
int freeblock_task_order(struct freeblock_task *task, enum freeblock_order order, u32 regions,
			 u32 segment_sectors);

/*
 * Idle time goes to the task with the highest priority, FREEBLOCK_PRIORITY_MIN .. _MAX, and among
 * equals to the earliest deadline; gaps serve all in turn. Any context. Return: 0; -EINVAL.
 */
int freeblock_task_set_priority(struct freeblock_task *task, s32 priority);

/*
 * Set when a task should be finished: a time of ktime_get_ns(); 0: none. While it would miss that
 * at its present rate, gaps and idle time are its. Any context.
 */
void freeblock_task_set_deadline(struct freeblock_task *task, u64 deadline_ns);

/*
 * Let a late task take @ppm millionths of the disk's time from the foreground; 0 at first. Late
 * tasks of a disk take turns. Any context. Return: 0; -EINVAL.
 */
int freeblock_task_set_foreground(struct freeblock_task *task, u32 ppm);

/*
 * Begin to read for a task. Return: 0; -EINVAL (no range was added, and no FREEBLOCK_KEEP), -EBUSY
 * (started already), -ESHUTDOWN (stopped), -ENOMEM or an error of kthread_create().
 */
int freeblock_task_start(struct freeblock_task *task);

/*
 * Read single places in idle time, before the task's blocks, and tell when: see
 * FREEBLOCK_IOC_PROBE. @timeout_ms: 0: no limit. May sleep, interruptibly; not in a callback. The
 * task is not destroyed meanwhile. Return: how many were carried out; if none was, 0 after
 * @timeout_ms, or: -EBADFD (not started), -ESHUTDOWN (stopped or ended), -ENODEV (the disk is
 * gone), -EOPNOTSUPP (zones), -EBUSY (probes of the task are under way), -ERESTARTSYS (a signal).
 */
s32 freeblock_task_probe(struct freeblock_task *task, struct freeblock_probe *probes, u32 n,
			 u32 timeout_ms);

/*
 * Read nothing for a task until it is resumed; blocks in flight are still delivered. Any context.
 * Return: 0; -EALREADY (paused or running already), -EINVAL (neither running nor paused).
 */
int freeblock_task_pause(struct freeblock_task *task);
int freeblock_task_resume(struct freeblock_task *task);

/* Read no more for a task; freeblock_ops.ended() follows if it was started. Any context. */
void freeblock_task_stop(struct freeblock_task *task);

/* Stop a task, wait until freeblock_ops.ended() has returned if it was started, and free it. */
void freeblock_task_destroy(struct freeblock_task *task);

/* @ctx of freeblock_task_create(); a task's progress; its disk's capacity. Any context. */
void *freeblock_task_ctx(const struct freeblock_task *task);
void freeblock_task_progress(struct freeblock_task *task, struct freeblock_progress *p);
u64 freeblock_task_sectors(const struct freeblock_task *task);

#endif /* FREEBLOCK_H */
