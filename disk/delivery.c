// SPDX-License-Identifier: GPL-2.0
/*
 * Delivery of blocks to consumers, the states of tasks, bad blocks, and the end of a task.
 * Consumers are called from a workqueue, one call at a time for a task. Locks: fb_disk.lock for
 * states and counts.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <scsi/scsi_device.h>

#include "disk/disk.h"

static struct workqueue_struct *fb_delivery_wq;

/* Create the workqueue on which consumers are called. At module init. Return: 0 or -ENOMEM. */
int fb_delivery_init(void)
{
	fb_delivery_wq = alloc_workqueue("freeblock", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	return fb_delivery_wq ? 0 : -ENOMEM;
}

/* Undo fb_delivery_init(). At module exit, no task left. */
void fb_delivery_exit(void)
{
	destroy_workqueue(fb_delivery_wq);
}

/* ---- events ---- */

/* Report events to a task's consumer, from the task's work; a task that is over reports none. */
void fb_delivery_raise(struct freeblock_task *task, u32 events)
{
	lockdep_assert_held(&task->disk->lock);
	if (!task->ops->event || task->state == FB_TASK_OVER)
		return;
	task->events |= events;
	queue_work(fb_delivery_wq, &task->deliver);
}

/* Tell a task's consumer, once, that everything is delivered: nothing is wanted or in flight. */
void fb_delivery_catch_up(struct freeblock_task *task)
{
	if (READ_ONCE(task->caught_up))
		return;
	guard(spinlock_irq)(&task->disk->lock);
	if (!task->ntodo && !task->caught_up) {
		task->caught_up = true;
		fb_delivery_raise(task, FREEBLOCK_EVENT_CAUGHT_UP);
	}
}

/* The last thing that the work does: what was raised before has its blocks before it. */
static void fb_delivery_tell(struct freeblock_task *task)
{
	u32 events;
	bool ended;

	spin_lock_irq(&task->disk->lock);
	events = task->events;
	ended = task->ended;
	task->events = 0;
	task->ended = false;
	spin_unlock_irq(&task->disk->lock);
	if (events)
		task->ops->event(task, events);
	if (!ended)
		return;
	task->ops->ended(task, task->end);
	complete_all(&task->over);
}

/* ---- states ---- */

static void fb_delivery_set_needs(struct fb_coverage *cov)
{
	u32 medium = 0, no_data = FREEBLOCK_NO_DATA, i = 0;
	const struct freeblock_task *task;

	lockdep_assert_held(&cov->disk->lock);
	while ((task = fb_coverage_next_task(cov, &i))) {
		if (task->state != FB_TASK_RUNNING)
			continue;
		medium |= task->ops->flags & FREEBLOCK_MEDIUM;
		no_data &= task->ops->flags;
	}
	cov->disk->needs = medium | no_data;
}

/* Also void plans that were made for the old state. */
static void fb_delivery_set_state(struct freeblock_task *task, enum fb_task_state state)
{
	lockdep_assert_held(&task->disk->lock);
	task->state = state;
	task->alarmed = false;
	task->able = false;
	task->waiting_for = FREEBLOCK_WAIT_NONE;
	fb_delivery_set_needs(task->disk->cov);
	task->disk->idle.reader.ready = false;
	fb_gap_void(&task->disk->mail);
	fb_disk_tell_wants(task->disk);
	fb_delivery_raise(task, FREEBLOCK_EVENT_CHANGED);
	wake_up(&task->probe.told);
	wake_up(&task->disk->wait);
}

/* Start a new task. Under fb_disk.life, too. Return: 0; -ESHUTDOWN: stopped meanwhile. */
int fb_delivery_start(struct freeblock_task *task)
{
	struct fb_coverage *cov = task->disk->cov;

	lockdep_assert_held(&task->disk->lock);
	if (task->state != FB_TASK_NEW)
		return -ESHUTDOWN;
	while (cov->task[task->slot])
		task->slot++;
	/* the thread looks at it without the lock */
	smp_store_release(&cov->task[task->slot], task);
	fb_delivery_set_state(task, FB_TASK_RUNNING);
	return 0;
}

/* Stop reading for a task; one that was not started is over at once, without a callback. */
void fb_delivery_stop(struct freeblock_task *task)
{
	lockdep_assert_held(&task->disk->lock);
	if (task->state == FB_TASK_NEW) {
		fb_delivery_raise(task, FREEBLOCK_EVENT_CHANGED);
		task->state = FB_TASK_OVER;
		task->end = FREEBLOCK_STOPPED;
		complete_all(&task->over);
	} else if (task->state < FB_TASK_STOPPING) {
		fb_delivery_set_state(task, FB_TASK_STOPPING);
	}
}

/* Pause or resume a task. Return: 0; -EALREADY: it is in state @to; -EINVAL: not in state @from. */
int fb_delivery_switch(struct freeblock_task *task, enum fb_task_state from, enum fb_task_state to)
{
	lockdep_assert_held(&task->disk->lock);
	if (task->state == to)
		return -EALREADY;
	if (task->state != from)
		return -EINVAL;
	fb_delivery_set_state(task, to);
	return 0;
}

/* Enter the counts of a started task, as all but the thread may see them; the thread's. */
void fb_delivery_count(struct freeblock_task *task, u64 wanted, u64 flying, u64 total)
{
	guard(spinlock_irq)(&task->disk->lock);
	swap(task->wanted, wanted);
	task->flying = flying;
	task->total = total;
	task->before = task->entered_before;
	if (!task->wanted != !wanted)
		fb_disk_tell_wants(task->disk);
}

/* ---- blocks ---- */

/* documented in include/freeblock.h; set_bit_le() itself takes an int */
void freeblock_coverage_set(struct freeblock_coverage *coverage, u64 block)
{
	set_bit_le(block % BITS_PER_TYPE(u64), &coverage->map[block / BITS_PER_TYPE(u64)]);
}
EXPORT_SYMBOL_GPL(freeblock_coverage_set);

/* Return true if the block was read without error. */
static bool fb_delivery_block(struct freeblock_task *task, struct fb_free_read *buf, u32 i)
{
	u32 granule = task->disk->granule;
	u64 lbn = buf->lbn + (u64)i * granule;
	struct freeblock_block block = {
		.lbn = lbn,
		.sectors = min_t(u64, granule, task->disk->sectors - lbn),
		.data = buf->data + (((size_t)i * granule) << SECTOR_SHIFT),
	};

	scoped_guard(spinlock, &task->cookie_lock)
		block.user_data = fb_cookie_find(&task->cookies, div_u64(lbn, granule));
	if (buf->how == FB_VERIFY_COMMAND)
		block.data = NULL;
	if (buf->good < i * granule + block.sectors) {
		/* The first sector not read is bad; the drive stopped there. */
		block.status = buf->good >= i * granule ? BLK_STS_MEDIUM : BLK_STS_IOERR;
		block.data = NULL;
	}
	if (!block.status && !buf->proven && task->ops->flags & FREEBLOCK_MEDIUM) {
		block.status = BLK_STS_NOTSUPP;
		block.data = NULL;
	}
	task->ops->block(task, &block);
	/* the consumer has got a block: nothing keeps the task from reading */
	WRITE_ONCE(task->fed_ns, ktime_get_ns());
	if (READ_ONCE(task->waiting_for))
		wake_up(&task->disk->wait);
	if (task->coverage && !block.status && !(task->ops->flags & FREEBLOCK_OWN_COVERAGE))
		freeblock_coverage_set(task->coverage, div_u64(lbn, granule));
	cond_resched();
	return !block.status;
}

/*
 * Claim a buffer for the task's consumer, unless a write has made it stale. Events run the work,
 * too, perhaps before the task has a slot or after another one has got it.
 */
static bool fb_delivery_claim(struct freeblock_task *task, struct fb_free_read *buf)
{
	bool ours;
	u32 bit;

	guard(spinlock_irq)(&task->disk->lock);
	bit = BIT(task->slot);
	ours = buf->state == FB_FREE_READ_DELIVER && buf->pending & bit &&
	       task->disk->cov->task[task->slot] == task;
	if (ours && buf->dirty) {
		ours = false;
		buf->pending &= ~bit;
		buf->voided |= bit;
		task->held--;
		wake_up(&task->disk->wait);
	}
	return ours;
}

static void fb_delivery_work(struct work_struct *work)
{
	struct freeblock_task *task = container_of(work, struct freeblock_task, deliver);
	struct fb_disk *disk = task->disk;
	/* a task that was not started may be told of events before there are buffers */
	struct fb_free_reads *bufs = READ_ONCE(disk->reads.bufs);
	struct fb_free_read *buf = NULL;
	unsigned int i;

	while (bufs && (buf = fb_free_read_next(bufs, buf))) {
		u64 done = 0, failed = 0;

		if (!fb_delivery_claim(task, buf))
			continue;
		invalidate_kernel_vmap_range(buf->data, bufs->sectors << SECTOR_SHIFT);
		for_each_set_bit(i, buf->share[task->slot].mask, FB_READ_GRANULES) {
			failed += !fb_delivery_block(task, buf, i);
			done++;
		}
		spin_lock_irq(&disk->lock);
		task->done += done;
		task->failed += failed;
		task->held--;
		buf->pending &= ~BIT(task->slot);
		buf->served |= BIT(task->slot);
		wake_up(&disk->wait);
		spin_unlock_irq(&disk->lock);
	}
	fb_delivery_tell(task);
}

/* ---- cookies ---- */

/* The thread's map says what may still be delivered: nothing waits to be entered. */
static void fb_delivery_drop_cookies(struct freeblock_task *task)
{
	const struct fb_bitmap *map = &task->map;
	u64 wanted = fb_bitmap_next_wanted(map, 0, map->granules);
	u64 flying = fb_bitmap_next_flying(map, 0);
	u32 i;

	for (i = 0; i < task->cookies.n; i++) {
		const struct fb_cookie_segment *s = &task->cookies.segment[i];

		if (wanted < s->first)
			wanted = fb_bitmap_next_wanted(map, s->first, map->granules);
		if (flying < s->first)
			flying = fb_bitmap_next_flying(map, s->first);
		if (wanted >= s->end && flying >= s->end)
			fb_cookie_drop(&task->cookies, i);
		cond_resched();
	}
	guard(spinlock)(&task->cookie_lock);
	fb_cookie_pack(&task->cookies);
}

/* Forget cookies of delivered blocks when there is little room. May sleep. */
void fb_delivery_sweep(struct freeblock_task *task)
{
	const struct fb_bitmap *map = &task->map;

	if (READ_ONCE(task->cookies.n) <= FB_COOKIES_CROWDED || READ_ONCE(task->ntodo))
		return;
	if (!task->sweep && map->n_wanted + map->n_flying &&
	    map->n_done - task->sweep_done < FREEBLOCK_RANGES_MAX)
		return;
	fb_free_read_return(task->disk);
	mutex_lock(&task->change);
	if (!READ_ONCE(task->ntodo)) {
		fb_delivery_drop_cookies(task);
		task->sweep = false;
		task->sweep_done = map->n_done;
	}
	mutex_unlock(&task->change);
	if (READ_ONCE(task->cookies.n) > FB_COOKIES_CROWDED)
		return;
	guard(spinlock_irq)(&task->disk->lock);
	fb_delivery_raise(task, FREEBLOCK_EVENT_ROOM);
}

/* Initialise a new task's work and completion. The task is not visible to others yet. */
void fb_delivery_setup(struct freeblock_task *task)
{
	task->caught_up = true;
	mutex_init(&task->change);
	spin_lock_init(&task->cookie_lock);
	init_completion(&task->over);
	init_waitqueue_head(&task->probe.told);
	INIT_WORK(&task->deliver, fb_delivery_work);
}

/* Deliver buffers to a task's consumer. Called by the thread. */
void fb_delivery_begin(struct freeblock_task *task)
{
	queue_work(fb_delivery_wq, &task->deliver);
}

/* ---- bad blocks ---- */

/* End expired zones; report bad blocks that had no uevent of their own, if due or if @flush. */
void fb_delivery_mind_bad(struct fb_coverage *cov, bool flush)
{
	struct fb_quarantine *b = &cov->disk->quarantine;
	u32 n;

	if (!b->unreported && !b->zones)
		return;
	spin_lock_irq(&cov->disk->lock);
	fb_quarantine_expire(b, ktime_get_ns());
	n = fb_quarantine_unreported(b, ktime_get_ns(), flush);
	spin_unlock_irq(&cov->disk->lock);
	if (n)
		fb_disk_uevent(cov->disk, "FREEBLOCK_BAD_MORE", n);
}

/* Pause the tasks, so that their users can decide; return how many there were. */
static u32 fb_delivery_pause_all(struct fb_coverage *cov)
{
	struct freeblock_task *task;
	u32 i = 0, paused = 0;

	guard(spinlock_irq)(&cov->disk->lock);
	while ((task = fb_coverage_next_task(cov, &i))) {
		if (fb_delivery_switch(task, FB_TASK_RUNNING, FB_TASK_PAUSED))
			continue;
		task->alarmed = true;
		paused++;
	}
	return paused;
}

/* Pause the tasks if a read of ours had the host adapter reset. Called by the thread; may sleep. */
void fb_delivery_mind_host(struct fb_coverage *cov)
{
	char name[FB_NAME_LEN];
	u32 paused;

	if (!READ_ONCE(cov->disk->recovery.stop))
		return;
	spin_lock_irq(&cov->disk->lock);
	cov->disk->recovery.stop = false;
	cov->disk->quarantine.alarms++;
	spin_unlock_irq(&cov->disk->lock);
	paused = fb_delivery_pause_all(cov);
	fb_disk_copy_name(cov->disk, name, sizeof(name));
	pr_warn("freeblock: %s: a read of ours timed out, and took a reset to end: %u tasks have been paused, as on all disks of its host adapter\n",
		name, paused);
	fb_disk_uevent(cov->disk, "FREEBLOCK_ALARM_HOST", paused);
}

static void fb_delivery_alarm(struct fb_coverage *cov, const char *name, u64 lbn, bool slow)
{
	u32 paused = fb_delivery_pause_all(cov);

	if (slow)
		pr_warn("freeblock: %s: %u slow recoveries in a row, the last at sector %llu: %u tasks have been paused\n",
			name, READ_ONCE(cov->disk->quarantine.slow_most), lbn, paused);
	else
		pr_warn("freeblock: %s: too many errors that are not the medium's, the last at sector %llu: %u tasks have been paused\n",
			name, lbn, paused);
	fb_delivery_mind_bad(cov, true);
	fb_disk_uevent(cov->disk, "FREEBLOCK_ALARM_LBN", lbn);
}

/* Have the quarantine judge a read. True: the block with its first unread sector is bad. */
bool fb_delivery_judge(struct fb_coverage *cov, const struct fb_free_read *buf)
{
	const struct fb_quarantine_read read = {
		.lbn = buf->lbn,
		.nsect = buf->nsect,
		.good = buf->good,
		.failed = buf->status,
		.named = buf->named,
		.medium = buf->fault == FB_VERIFY_FAULT_MEDIUM,
		.command = buf->how != FB_VERIFY_READ && buf->fault == FB_VERIFY_FAULT_OTHER,
		.joined = buf->kind == FB_FREE_READ_PREPENDED,
		.took_ns = buf->ended_ns - buf->sent_ns,
	};
	u32 granule = cov->disk->granule, verdict;
	u64 lbn = buf->lbn + round_down(buf->good, granule);
	struct fb_disk *disk = cov->disk;
	struct scsi_device *sdev;
	char name[FB_NAME_LEN];

	spin_lock_irq(&disk->lock);
	sdev = fb_disk_sdev(disk);
	/* of a disk that is gone, or going, errors say nothing */
	if (buf->status && (!disk->q || (sdev && !scsi_device_online(sdev)))) {
		spin_unlock_irq(&disk->lock);
		return false;
	}
	verdict = fb_quarantine_ended(&disk->quarantine, &read, ktime_get_ns());
	if (verdict & FB_QUARANTINE_KNOWN)
		fb_verify_is_bad(disk, lbn);
	spin_unlock_irq(&disk->lock);
	if (!(verdict & ~FB_QUARANTINE_KNOWN))
		return verdict;
	fb_disk_copy_name(disk, name, sizeof(name));
	if (verdict & FB_QUARANTINE_NEW)
		pr_warn_ratelimited("freeblock: %s: sectors %llu+%u cannot be read (%llu ms)\n",
				    name, lbn, granule, div_u64(read.took_ns, NSEC_PER_MSEC));
	if (verdict & FB_QUARANTINE_REPORT)
		fb_disk_uevent(disk, "FREEBLOCK_BAD_LBN", lbn);
	if (verdict & FB_QUARANTINE_DROPPED)
		pr_warn_ratelimited("freeblock: %s: there are more than %u ranges with bad blocks: the oldest is read in gaps again\n",
				    name, FB_QUARANTINE_ZONES);
	if (verdict & (FB_QUARANTINE_ALARM | FB_QUARANTINE_STOP))
		fb_delivery_alarm(cov, name, lbn, verdict & FB_QUARANTINE_ALARM);
	return verdict & FB_QUARANTINE_KNOWN;
}

/* ---- the end ---- */

/* Free a list of changes. May sleep. */
void fb_delivery_free_ops(struct list_head *ops)
{
	struct fb_op *op, *next;

	list_for_each_entry_safe(op, next, ops, node)
		kfree(op);
	INIT_LIST_HEAD(ops);
}

/* End a task, which wants nothing or is stopping, unless its consumer has just added something. */
void fb_delivery_try_end(struct freeblock_task *task)
{
	struct fb_disk *disk = task->disk;
	bool stop, over;

	guard(spinlock_irq)(&disk->lock);
	stop = task->state == FB_TASK_STOPPING;
	over = stop || (task->state == FB_TASK_RUNNING && !task->ntodo);
	if (over) {
		task->end = stop ? FREEBLOCK_STOPPED : FREEBLOCK_FINISHED;
		task->state = FB_TASK_OVER;
		task->ended = true;
		task->waiting_for = FREEBLOCK_WAIT_NONE;
		WRITE_ONCE(disk->cov->task[task->slot], NULL);
		fb_delivery_set_needs(disk->cov);
		fb_disk_tell_wants(disk);
		/* once the lock is free the task may be, too */
		queue_work(fb_delivery_wq, &task->deliver);
	}
}
