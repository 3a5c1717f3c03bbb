/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For those who want blocks read in the gaps that a disk's foreground leaves:
 * scrubbers, scanners, backups (DESIGN 6; freeblock paper, 2.2).
 *
 * A consumer creates a task on a disk, adds ranges, starts it, and gets every
 * block of them exactly once, in the order that the disk finds cheapest. Blocks
 * are granules: granule_sectors of the disk's model, 4 KiB on small drives.
 *
 * What a block's data is: what the medium held when it was read. A foreground
 * write that the scheduler sees and that overlaps the read makes it discard the
 * data and read the block again. Writes that bypass the scheduler (passthrough,
 * FUA) and dirty pages not yet written are not seen; read a snapshot where a point
 * in time is needed.
 */
#ifndef FREEBLOCK_H
#define FREEBLOCK_H

#include <linux/blk_types.h>
#include <linux/types.h>

struct freeblock_task;

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
 * struct freeblock_ops - what a consumer is told
 * @block: one block has been read. @lbn is its first 512-byte sector, @sectors its
 *	length (less than a granule only at the end of the disk). @status is
 *	BLK_STS_OK and @data holds it; or BLK_STS_MEDIUM: the block could not be
 *	read; or BLK_STS_IOERR: it was not tried, for it lies just behind one that
 *	could not be read and the drive may take seconds for each (DESIGN 4, bad
 *	sectors). @data is NULL then. Valid during the call only.
 * @ended: the task is over, no further call follows.
 *
 * Context: both are called from a workqueue, one call at a time for a task; they may
 * sleep. While @block sleeps at most the task's own buffers wait.
 */
struct freeblock_ops {
	void (*block)(struct freeblock_task *task, sector_t lbn, unsigned int sectors,
		      const void *data, blk_status_t status);
	void (*ended)(struct freeblock_task *task, enum freeblock_end why);
};

/**
 * struct freeblock_progress - how far a task is; all counts in blocks
 * @total: registered
 * @done: delivered, whatever their status
 * @failed: delivered with a status that is not BLK_STS_OK
 * @flying: being read or delivered
 * @granule_sectors: sectors of a block
 */
struct freeblock_progress {
	u64 total;
	u64 done;
	u64 failed;
	u64 flying;
	u32 granule_sectors;
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
 * -EBUSY (it has a task: one a disk as yet), -ENOMEM.
 */
struct freeblock_task *freeblock_task_create(const char *disk, const char *name,
					     const struct freeblock_ops *ops, void *ctx);

/**
 * freeblock_task_add() - want a range
 * @task: not yet started
 * @first: first 512-byte sector, a multiple of the granule
 * @count: sectors; a multiple of the granule unless the range ends with the disk
 *
 * Context: may sleep.
 *
 * Return: 0; -EINVAL (not aligned, empty, beyond the disk), -EBUSY (started already),
 * -ENOSPC (more than FREEBLOCK_RANGES ranges).
 */
int freeblock_task_add(struct freeblock_task *task, sector_t first, sector_t count);

#define FREEBLOCK_RANGES 16

/**
 * freeblock_task_start() - begin to read
 * @task: with at least one range
 *
 * Context: may sleep. Returns at once; the task waits while its disk has another
 * scheduler, and goes on when freeblock is back.
 *
 * Return: 0; -EINVAL (no range), -EBUSY (started already), -ENOMEM or what
 * kthread_create() says.
 */
int freeblock_task_start(struct freeblock_task *task);

/**
 * freeblock_task_stop() - read no more
 * @task: any
 *
 * Context: any that may sleep, callbacks too. Returns at once; @ended follows when
 * the reads on their way are back.
 */
void freeblock_task_stop(struct freeblock_task *task);

/**
 * freeblock_task_destroy() - stop, wait for @ended, free
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
