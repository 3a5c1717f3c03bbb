// SPDX-License-Identifier: GPL-2.0
/*
 * Delivery of blocks to consumers and reports to the administrator: the states of tasks, blocks,
 * bad blocks, and the end of a task. Consumers are called from a workqueue, one call at a time
 * for a task. Locks: fb_disk.lock for states and counts.
 */
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "disk/delivery.h"
#include "disk/disk.h"
#include "disk/trace_events.h"

static struct workqueue_struct *fb_delivery_wq;

/**
 * fb_delivery_init() - create the workqueue on which consumers are called
 *
 * Context: module init.
 *
 * Return: 0 or -ENOMEM.
 */
int fb_delivery_init(void)
{
	fb_delivery_wq = alloc_workqueue("freeblock", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	return fb_delivery_wq ? 0 : -ENOMEM;
}

/**
 * fb_delivery_exit() - undo fb_delivery_init()
 *
 * Context: module exit, no task left.
 */
void fb_delivery_exit(void)
{
	destroy_workqueue(fb_delivery_wq);
}

/* ---- states ---- */

/* Update the joint needs of the running tasks. */
static void fb_delivery_set_needs(struct fb_coverage *cov)
{
	u32 medium = 0, no_data = FREEBLOCK_NO_DATA, i;

	lockdep_assert_held(&cov->fd->lock);
	for (i = 0; i < FREEBLOCK_TASKS; i++) {
		const struct freeblock_task *task = cov->task[i];

		if (!task || task->state != FB_TASK_RUNNING)
			continue;
		medium |= task->ops->flags & FREEBLOCK_MEDIUM;
		no_data &= task->ops->flags;
	}
	cov->fd->needs = medium | no_data;
}

/* Also void plans that were made for the old state. */
static void fb_delivery_set_state(struct freeblock_task *task, enum fb_task_state state)
{
	lockdep_assert_held(&task->fd->lock);
	task->state = state;
	fb_delivery_set_needs(task->fd->cov);
	task->fd->idle.ready = false;
	fb_gap_void(task->fd);
	wake_up(&task->fd->wait);
}

/**
 * fb_delivery_start() - start a new task
 * @task: the task
 *
 * Context: fb_disk.life and fb_disk.lock held.
 *
 * Return: 0; -ESHUTDOWN: it has been stopped meanwhile.
 */
int fb_delivery_start(struct freeblock_task *task)
{
	struct fb_coverage *cov = task->fd->cov;

	lockdep_assert_held(&task->fd->lock);
	if (task->state != FB_TASK_NEW)
		return -ESHUTDOWN;
	while (cov->task[task->slot])
		task->slot++;
	cov->task[task->slot] = task;
	fb_delivery_set_state(task, FB_TASK_RUNNING);
	return 0;
}

/**
 * fb_delivery_stop() - stop reading for a task
 * @task: any; one that was not started is over at once, without a call of its consumer
 *
 * Context: fb_disk.lock held.
 */
void fb_delivery_stop(struct freeblock_task *task)
{
	lockdep_assert_held(&task->fd->lock);
	if (task->state == FB_TASK_NEW) {
		task->state = FB_TASK_OVER;
		task->end = FREEBLOCK_STOPPED;
		complete_all(&task->over);
	} else if (task->state < FB_TASK_STOPPING) {
		fb_delivery_set_state(task, FB_TASK_STOPPING);
	}
}

/**
 * fb_delivery_switch() - pause or resume a task
 * @task: any
 * @from: running, to pause it; paused, to resume it
 * @to: the other one
 *
 * Context: fb_disk.lock held.
 *
 * Return: 0; -EALREADY: it is in state @to; -EINVAL: it is not in state @from.
 */
int fb_delivery_switch(struct freeblock_task *task, enum fb_task_state from, enum fb_task_state to)
{
	lockdep_assert_held(&task->fd->lock);
	if (task->state == to)
		return -EALREADY;
	if (task->state != from)
		return -EINVAL;
	fb_delivery_set_state(task, to);
	return 0;
}

/* ---- blocks ---- */

/* Return true if the block was read without error. */
static bool fb_delivery_block(struct freeblock_task *task, struct fb_free_read *buf, u32 i)
{
	u32 granule = dm_info(task->fd->model)->granule_sectors;
	u64 lbn = buf->lbn + (u64)i * granule;
	u32 n = min_t(u64, granule, task->fd->sectors - lbn);
	u32 end = i * granule + n;
	blk_status_t status = BLK_STS_OK;
	const void *data = buf->data + (((size_t)i * granule) << SECTOR_SHIFT);

	if (buf->how == FB_VERIFY_COMMAND)
		data = NULL;
	if (buf->good < end) {
		/* The first sector not read is bad; the drive stopped there. */
		status = buf->good >= i * granule ? BLK_STS_MEDIUM : BLK_STS_IOERR;
		data = NULL;
	}
	task->ops->block(task, lbn, n, data, status);
	if (task->coverage && status == BLK_STS_OK) {
		u64 block = div_u64(lbn, granule);

		/* set_bit_le() itself takes an int */
		set_bit_le(block % BITS_PER_TYPE(u64),
			   &task->coverage->map[block / BITS_PER_TYPE(u64)]);
	}
	cond_resched();
	return status == BLK_STS_OK;
}

/* Claim a buffer for the task's consumer, unless a write has made it stale. */
static bool fb_delivery_claim(struct freeblock_task *task, struct fb_free_read *buf)
{
	u32 bit = BIT(task->slot);
	bool ours;

	spin_lock_irq(&task->fd->lock);
	ours = buf->state == FB_FREE_READ_DELIVER && buf->pending & bit;
	if (ours && buf->dirty) {
		ours = false;
		buf->pending &= ~bit;
		buf->voided |= bit;
		task->held--;
		task->fd->stats.discarded++;
		wake_up(&task->fd->wait);
	}
	spin_unlock_irq(&task->fd->lock);
	return ours;
}

static void fb_delivery_work(struct work_struct *work)
{
	struct freeblock_task *task = container_of(work, struct freeblock_task, deliver);
	struct fb_disk *fd = task->fd;
	struct fb_free_read *buf = NULL;
	unsigned int i;

	while ((buf = fb_free_read_next(fd->reads.bufs, buf))) {
		u64 done = 0, failed = 0;

		if (!fb_delivery_claim(task, buf))
			continue;
		invalidate_kernel_vmap_range(buf->data, fd->reads.bufs->sectors << SECTOR_SHIFT);
		for_each_set_bit(i, buf->share[task->slot].mask, FB_FREE_READ_GRANULES) {
			failed += !fb_delivery_block(task, buf, i);
			done++;
		}
		spin_lock_irq(&fd->lock);
		task->done += done;
		task->failed += failed;
		task->held--;
		buf->pending &= ~BIT(task->slot);
		buf->served |= BIT(task->slot);
		wake_up(&fd->wait);
		spin_unlock_irq(&fd->lock);
	}
}

static void fb_delivery_ended_work(struct work_struct *work)
{
	struct freeblock_task *task = container_of(work, struct freeblock_task, ended);

	task->ops->ended(task, task->end);
	complete_all(&task->over);
}

/**
 * fb_delivery_setup() - initialise a new task's works and completion
 * @task: the task
 *
 * Context: the task is not visible to others yet.
 */
void fb_delivery_setup(struct freeblock_task *task)
{
	init_completion(&task->over);
	INIT_WORK(&task->deliver, fb_delivery_work);
	INIT_WORK(&task->ended, fb_delivery_ended_work);
}

/**
 * fb_delivery_begin() - deliver buffers to a task's consumer
 * @task: the task
 *
 * Context: the thread.
 */
void fb_delivery_begin(struct freeblock_task *task)
{
	queue_work(fb_delivery_wq, &task->deliver);
}

/* ---- bad blocks ---- */

/**
 * fb_delivery_mind_bad() - end expired zones; report bad blocks that had no uevent of their own
 * @cov: the service
 * @flush: report them now, even if it is too early
 *
 * Context: may sleep; the thread, or no thread is running.
 */
void fb_delivery_mind_bad(struct fb_coverage *cov, bool flush)
{
	struct fb_quarantine *b = &cov->fd->quarantine;
	u32 n;

	if (!b->untold && !b->zones)
		return;
	spin_lock_irq(&cov->fd->lock);
	fb_quarantine_expire(b, ktime_get_ns());
	n = fb_quarantine_untold(b, ktime_get_ns(), flush);
	spin_unlock_irq(&cov->fd->lock);
	if (n)
		fb_disk_uevent(cov->fd, "FREEBLOCK_BAD_MORE", n);
}

/* Slow recoveries do not end: pause the tasks, so that their users can decide. */
static void fb_delivery_alarm(struct fb_coverage *cov, const char *name, u64 lbn)
{
	u32 i, paused = 0;

	spin_lock_irq(&cov->fd->lock);
	for (i = 0; i < FREEBLOCK_TASKS; i++)
		paused += cov->task[i] &&
			  !fb_delivery_switch(cov->task[i], FB_TASK_RUNNING, FB_TASK_PAUSED);
	spin_unlock_irq(&cov->fd->lock);
	pr_warn("freeblock: %s: %u slow recoveries in a row, the last at sector %llu: %u tasks have been paused\n",
		name, READ_ONCE(cov->fd->quarantine.slow_most), lbn, paused);
	fb_delivery_mind_bad(cov, true);
	fb_disk_uevent(cov->fd, "FREEBLOCK_ALARM_LBN", lbn);
}

/**
 * fb_delivery_judge() - pass a completed read to the quarantine, and carry out its verdict
 * @cov: the service
 * @buf: the read
 *
 * Context: the thread; may sleep.
 *
 * Return: true: the block with its first unread sector is bad.
 */
bool fb_delivery_judge(struct fb_coverage *cov, const struct fb_free_read *buf)
{
	const struct fb_quarantine_read read = {
		.lbn = buf->lbn,
		.nsect = buf->nsect,
		.good = buf->good,
		.failed = buf->status,
		.medium = buf->status == BLK_STS_MEDIUM,
		.joined = buf->joined,
		.took_ns = buf->ended_ns - buf->sent_ns,
	};
	u32 granule = dm_info(cov->fd->model)->granule_sectors, verdict;
	u64 lbn = buf->lbn + round_down(buf->good, granule);
	struct fb_disk *fd = cov->fd;
	char name[FB_NAME_LEN];

	spin_lock_irq(&fd->lock);
	verdict = fb_quarantine_ended(&fd->quarantine, &read, ktime_get_ns());
	if (verdict & FB_QUARANTINE_KNOWN)
		trace_freeblock_bad(fd, lbn, granule, read.took_ns);
	spin_unlock_irq(&fd->lock);
	if (!(verdict & ~FB_QUARANTINE_KNOWN))
		return verdict;
	fb_disk_copy_name(fd, name, sizeof(name));
	if (verdict & FB_QUARANTINE_NEW)
		pr_warn_ratelimited("freeblock: %s: sectors %llu+%u cannot be read (%llu ms)\n",
				    name, lbn, granule, div_u64(read.took_ns, NSEC_PER_MSEC));
	if (verdict & FB_QUARANTINE_TELL)
		fb_disk_uevent(fd, "FREEBLOCK_BAD_LBN", lbn);
	if (verdict & FB_QUARANTINE_DROPPED)
		pr_warn_ratelimited("freeblock: %s: there are more than %u ranges with bad blocks: the oldest is read in gaps again\n",
				    name, FB_QUARANTINE_ZONES);
	if (verdict & FB_QUARANTINE_ALARM)
		fb_delivery_alarm(cov, name, lbn);
	return verdict & FB_QUARANTINE_KNOWN;
}

/* ---- the end ---- */

/**
 * fb_delivery_drop_todo() - free the changes of a task that were not entered
 * @task: the task, over
 *
 * Context: the list is not visible to others any more.
 */
void fb_delivery_drop_todo(struct freeblock_task *task)
{
	struct fb_op *op, *next;

	list_for_each_entry_safe(op, next, &task->todo, node) {
		list_del(&op->node);
		kvfree(op);
	}
}

/**
 * fb_delivery_try_end() - end a task, unless its consumer has just added something
 * @task: the task; it is stopping or wants nothing, and nothing is in flight for it
 *
 * Context: the thread, which must not use a task that is over any more; may sleep.
 */
void fb_delivery_try_end(struct freeblock_task *task)
{
	struct fb_disk *fd = task->fd;
	bool stop, over;

	spin_lock_irq(&fd->lock);
	stop = task->state == FB_TASK_STOPPING;
	over = stop || (task->state == FB_TASK_RUNNING && !task->ntodo);
	if (over) {
		task->end = stop ? FREEBLOCK_STOPPED : FREEBLOCK_FINISHED;
		task->state = FB_TASK_OVER;
		fd->cov->task[task->slot] = NULL;
		fb_delivery_set_needs(fd->cov);
	}
	spin_unlock_irq(&fd->lock);
	if (!over)
		return;
	flush_work(&task->deliver);
	fb_delivery_drop_todo(task);
	queue_work(fb_delivery_wq, &task->ended);
}
