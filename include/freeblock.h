/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For those who want blocks read without hurrying: scrubbers, scanners, backups
 * (freeblock paper, 2.2; Practical Scrubbing; Declarative IO).
 *
 * A consumer creates a task on a disk, adds ranges, starts it, and gets every block of
 * them exactly once, in the order that the disk finds cheapest: in the gaps of the
 * foreground while the disk is busy, under the Waiting policy while it is idle. Blocks
 * are granules: granule_sectors of the disk's model, 4 KiB on small drives. A disk has up
 * to FREEBLOCK_TASKS tasks; a block that several of them want is read once and delivered
 * to each.
 *
 * What a block's data is: what the medium held when it was read. A foreground
 * write that the scheduler sees and that overlaps the read makes it discard the
 * data and read the block again. Writes that bypass the scheduler (passthrough,
 * FUA) and dirty pages not yet written are not seen; read a snapshot where a point
 * in time is needed.
 */
#ifndef FREEBLOCK_H
#define FREEBLOCK_H

#include <linux/bits.h>
#include <linux/blk_types.h>
#include <linux/types.h>

struct freeblock_task;

#define FREEBLOCK_TASKS 8		/* of a disk, at most */
#define FREEBLOCK_PRIORITIES 8		/* 0 .. 7, higher ones first */
#define FREEBLOCK_PRIORITY_DEFAULT 4

/**
 * enum freeblock_end - why a task is over
 * @FREEBLOCK_FINISHED: every block has been delivered
 * @FREEBLOCK_STOPPED: freeblock_task_stop(), or the module is going
 */
enum freeblock_end {
	FREEBLOCK_FINISHED,
	FREEBLOCK_STOPPED,
};

/**
 * enum freeblock_flags - what a consumer needs, or-ed
 * @FREEBLOCK_MEDIUM: blocks must come from the medium, not from the drive's cache
 * @FREEBLOCK_NO_DATA: it does not look at the data: with BLK_STS_OK @data may be NULL,
 *	and the drive may be asked to verify instead of to read
 * @FREEBLOCK_KEEP: when all is delivered the task waits for more ranges instead of being
 *	finished
 */
enum freeblock_flags {
	FREEBLOCK_MEDIUM = BIT(0),
	FREEBLOCK_NO_DATA = BIT(1),
	FREEBLOCK_KEEP = BIT(2),
};

/**
 * enum freeblock_order - in which order blocks are read while the disk is idle
 * @FREEBLOCK_NEAR: what is cheapest from where the head is
 * @FREEBLOCK_SEQUENTIAL: ascending
 * @FREEBLOCK_STAGGERED: the first segment of each region, then the second of each ...
 *	(Practical Scrubbing, IV.A): finds bursts of bad sectors soonest
 */
enum freeblock_order {
	FREEBLOCK_NEAR,
	FREEBLOCK_SEQUENTIAL,
	FREEBLOCK_STAGGERED,
};

/**
 * struct freeblock_ops - what a consumer is told
 * @flags: enum freeblock_flags, or-ed
 * @block: one block has been read. @lbn is its first 512-byte sector, @sectors its
 *	length (less than a granule only at the end of the disk). @status is
 *	BLK_STS_OK and @data holds it (but see FREEBLOCK_NO_DATA); or BLK_STS_MEDIUM:
 *	the block could not be read; or BLK_STS_IOERR: it was not tried, for it lies
 *	just behind one that could not be read and the drive may take seconds for each
 *	(with bad_quarantine_kib 0 only; else it is tried while the disk is idle). @data
 *	is NULL then. Valid during the call only.
 * @ended: the task is over, no further call follows.
 *
 * Context: both are called from a workqueue, one call at a time for a task; they may
 * sleep. While @block sleeps, only its own task waits: while there are others, no more
 * than FREEBLOCK_HELD reads are kept for it, and those that were on their way then; what
 * else is read meanwhile for others it gets by a read of its own.
 */
struct freeblock_ops {
	u32 flags;
	void (*block)(struct freeblock_task *task, sector_t lbn, unsigned int sectors,
		      const void *data, blk_status_t status);
	void (*ended)(struct freeblock_task *task, enum freeblock_end why);
};

#define FREEBLOCK_HELD 2

/**
 * struct freeblock_progress - how far a task is; all counts in blocks
 * @total: registered; it grows while added ranges are entered, see @entering
 * @done: delivered, whatever their status
 * @failed: delivered with a status that is not BLK_STS_OK
 * @flying: being read or delivered
 * @granule_sectors: sectors of a block
 * @entering: ranges added or removed are still being entered
 * @paused: freeblock_task_pause()
 * @stopping: freeblock_task_stop(), or it was stopped by hand, be it over or not; a consumer
 *	that sleeps in its callback ends it
 */
struct freeblock_progress {
	u64 total;
	u64 done;
	u64 failed;
	u64 flying;
	u32 granule_sectors;
	bool entering;
	bool paused;
	bool stopping;
};

/**
 * freeblock_task_create() - a new task on a disk
 * @disk: the disk's name, "sda"; it must have freeblock as scheduler (now or before)
 *	and a model
 * @name: for people, in status files
 * @ops: callbacks, to stay valid until freeblock_task_destroy()
 * @ctx: the consumer's own, see freeblock_task_ctx()
 *
 * Context: may sleep; not from a callback.
 *
 * Return: the task; or ERR_PTR: -ENODEV (no such disk), -ENODATA (it has no model),
 * -EBUSY (it has FREEBLOCK_TASKS tasks that are not over), -ENOSPC (freeblock.memory_mib
 * would be exceeded), -ENOMEM.
 */
struct freeblock_task *freeblock_task_create(const char *disk, const char *name,
					     const struct freeblock_ops *ops, void *ctx);

/**
 * freeblock_task_add() - want a range
 * @task: any that is not over
 * @first: first 512-byte sector, a multiple of the granule
 * @count: sectors; a multiple of the granule unless the range ends with the disk
 *
 * Each block is delivered once more from a read that is sent after this call: blocks that
 * are wanted stay so, those that have been delivered are wanted again, and those in flight
 * are wanted again when they land. So a callback that adds what it gets will get it again,
 * and goes on doing so. Entered by the task's thread: freeblock_progress.entering.
 *
 * Context: may sleep.
 *
 * Return: 0; -EINVAL (not aligned, empty, beyond the disk), -ESHUTDOWN (stopped or over),
 * -ENOSPC (FREEBLOCK_RANGES are waiting to be entered), -ENOMEM.
 */
int freeblock_task_add(struct freeblock_task *task, sector_t first, sector_t count);

#define FREEBLOCK_RANGES 4096

/**
 * freeblock_task_add_bits() - want blocks, by a bit for each
 * @task: any that is not over
 * @first: number of the block that the first bit is for
 * @bits: set: wanted; copied
 * @n: how many bits
 *
 * What freeblock_task_add() does, block by block.
 *
 * Context: may sleep.
 *
 * Return: as freeblock_task_add().
 */
int freeblock_task_add_bits(struct freeblock_task *task, u64 first, const unsigned long *bits,
			    u64 n);

/**
 * freeblock_task_remove() - no longer want a range
 * @task: any that is not over
 * @first: first 512-byte sector, a multiple of the granule
 * @count: sectors; a multiple of the granule unless the range ends with the disk
 *
 * Blocks on their way are still delivered, once. freeblock_progress.total counts no longer
 * what is taken back.
 *
 * Context: may sleep.
 *
 * Return: as freeblock_task_add().
 */
int freeblock_task_remove(struct freeblock_task *task, sector_t first, sector_t count);

/**
 * freeblock_task_promote() - a range is needed now
 * @task: running
 * @first: first 512-byte sector, a multiple of the granule
 * @count: sectors; a multiple of the granule unless the range ends with the disk
 *
 * Blocks of the range that the task still wants are read at once, as foreground reads.
 *
 * Context: may sleep.
 *
 * Return: as freeblock_task_add().
 */
int freeblock_task_promote(struct freeblock_task *task, sector_t first, sector_t count);

/**
 * struct freeblock_coverage - which blocks of a disk were delivered with BLK_STS_OK
 * @granule_sectors: sectors of a block
 * @blocks: of the disk
 * @bytes: of @map, whole words of 64 bits
 * @map: a bit for each block, the lowest of the first byte first, whatever the byte order
 *	of the machine. Read it at any time; fill it with what was saved while no task has it
 */
struct freeblock_coverage {
	u32 granule_sectors;
	u64 blocks;
	size_t bytes;
	__le64 map[];
};

/**
 * freeblock_coverage_create() - an empty one, that fits a disk's present model
 * @disk: the disk's name
 *
 * It outlives tasks and models; it counts for freeblock.memory_mib.
 *
 * Context: may sleep.
 *
 * Return: the coverage; or ERR_PTR: -ENODEV, -ENODATA, -ENOSPC, -ENOMEM, as
 * freeblock_task_create().
 */
struct freeblock_coverage *freeblock_coverage_create(const char *disk);

/**
 * freeblock_coverage_destroy() - free it
 * @coverage: no task's any more; or NULL
 *
 * Context: may sleep.
 */
void freeblock_coverage_destroy(struct freeblock_coverage *coverage);

/**
 * freeblock_task_set_coverage() - have what is delivered noted
 * @task: not yet started
 * @coverage: not another task's, to stay valid until freeblock_task_destroy()
 *
 * A block's bit is set when @block has returned from it. The task never clears one.
 *
 * Return: 0; -EINVAL (it is of another model), -EBUSY (started already).
 */
int freeblock_task_set_coverage(struct freeblock_task *task, struct freeblock_coverage *coverage);

/**
 * freeblock_task_add_uncovered() - want what the task's coverage lacks of a range
 * @task: any that is not over; without a coverage all of the range is wanted
 * @first: first 512-byte sector, a multiple of the granule
 * @count: sectors; a multiple of the granule unless the range ends with the disk
 *
 * Context: may sleep.
 *
 * Return: how many blocks that is; or what freeblock_task_add() says, when a part of them
 * may have been added.
 */
s64 freeblock_task_add_uncovered(struct freeblock_task *task, sector_t first, sector_t count);

/**
 * freeblock_alloc() - zeroed memory for a consumer's tables
 * @bytes: how much
 * @what: for the log, when that is too much
 *
 * It counts for freeblock.memory_mib.
 *
 * Context: may sleep.
 *
 * Return: the memory; or ERR_PTR: -ENOSPC (memory_mib would be exceeded), -ENOMEM.
 */
void *freeblock_alloc(u64 bytes, const char *what);

/**
 * freeblock_free() - give back what freeblock_alloc() gave
 * @p: the memory, or NULL
 * @bytes: how much it was
 *
 * Context: may sleep.
 */
void freeblock_free(void *p, u64 bytes);

/**
 * freeblock_task_order() - the order of idle reads; FREEBLOCK_NEAR when not called
 * @task: not yet started
 * @order: which
 * @regions: of FREEBLOCK_STAGGERED, 1 .. 512; else 0
 * @segment_sectors: of FREEBLOCK_STAGGERED, a multiple of the granule; else 0
 *
 * Return: 0; -EINVAL (a value that makes no sense), -EBUSY (started already).
 */
int freeblock_task_order(struct freeblock_task *task, enum freeblock_order order, u32 regions,
			 u32 segment_sectors);

/**
 * freeblock_task_set_priority() - who goes first
 * @task: any
 * @priority: 0 .. FREEBLOCK_PRIORITIES - 1, higher ones first
 *
 * Idle time goes to the task with the highest priority, and the earliest deadline among
 * those. Gaps serve all tasks alike, but see freeblock_task_set_deadline().
 *
 * Context: any but hard interrupts.
 *
 * Return: 0; -EINVAL.
 */
int freeblock_task_set_priority(struct freeblock_task *task, u32 priority);

/**
 * freeblock_task_set_deadline() - when all of it should be done
 * @task: any
 * @deadline_ns: of ktime_get_ns(); 0: none
 *
 * While a task will not make its deadline at the rate at which it goes, gaps are
 * searched for its blocks only. The foreground pays nothing for it.
 *
 * Context: any but hard interrupts.
 */
void freeblock_task_set_deadline(struct freeblock_task *task, u64 deadline_ns);

/**
 * freeblock_task_start() - begin to read
 * @task: new
 *
 * Context: may sleep. Returns at once; the task waits while its disk has another
 * scheduler, and goes on when freeblock is back.
 *
 * Return: 0; -EINVAL (no range was added, and no FREEBLOCK_KEEP), -EBUSY (started already),
 * -ESHUTDOWN (stopped), -ENOMEM or what kthread_create() says.
 */
int freeblock_task_start(struct freeblock_task *task);

/**
 * freeblock_task_pause() - read nothing for this task until it is resumed
 * @task: any
 *
 * Blocks on their way are still delivered. Others may still read the same blocks.
 *
 * Context: any but hard interrupts, callbacks too. Returns at once.
 *
 * Return: 0; -EALREADY (it is paused), -EINVAL (not running).
 */
int freeblock_task_pause(struct freeblock_task *task);

/**
 * freeblock_task_resume() - go on after freeblock_task_pause()
 * @task: any
 *
 * Context: any but hard interrupts, callbacks too. Returns at once.
 *
 * Return: 0; -EALREADY (it is running), -EINVAL (neither).
 */
int freeblock_task_resume(struct freeblock_task *task);

/**
 * freeblock_task_stop() - read no more
 * @task: any
 *
 * One that was not started cannot be any more, and counts no longer as one of its disk's;
 * @ended is not called.
 *
 * Context: any that may sleep, callbacks too. Returns at once; @ended follows when
 * the reads on their way are back.
 */
void freeblock_task_stop(struct freeblock_task *task);

/**
 * freeblock_task_destroy() - stop, wait for @ended if it was started, free
 * @task: any
 *
 * Context: may sleep; not from a callback.
 */
void freeblock_task_destroy(struct freeblock_task *task);

/**
 * freeblock_task_ctx() - the @ctx of freeblock_task_create()
 * @task: any
 *
 * Return: the pointer.
 */
void *freeblock_task_ctx(const struct freeblock_task *task);

/**
 * freeblock_task_progress() - how far it is
 * @task: any
 * @p: filled
 *
 * Context: any but hard interrupts.
 */
void freeblock_task_progress(struct freeblock_task *task, struct freeblock_progress *p);

/**
 * freeblock_task_sectors() - capacity of the task's disk
 * @task: any
 *
 * Return: 512-byte sectors.
 */
u64 freeblock_task_sectors(const struct freeblock_task *task);

#endif /* FREEBLOCK_H */
