// SPDX-License-Identifier: GPL-2.0
/*
 * Probes: reads of single places in idle time that return their times to a task's consumer
 * (freeblock_task_probe()). All that holds idle reads back holds them back, too. Locks:
 * fb_disk.lock for struct fb_probe_call, and the consumer's array while it waits.
 */
#include <linux/jiffies.h>
#include <linux/module.h>

#include "disk/disk.h"

#define FB_PROBE_LOOK HZ	/* how often a caller looks whether the disk is gone */

/* ---- the thread's side ---- */

/* Does a running task have a probe to be sent? Under fb_disk.lock. */
bool fb_probe_waits(const struct fb_disk *disk)
{
	const struct freeblock_task *task;
	u32 i = 0;

	lockdep_assert_held(&disk->lock);
	if (!disk->cov || fb_level_unserved(disk))
		return false;
	while ((task = fb_coverage_next_task(disk->cov, &i)))
		if (task->state == FB_TASK_RUNNING && task->probe.number)
			return true;
	return false;
}

static void fb_probe_step(struct fb_probe_call *call)
{
	if (++call->at == call->n)
		call->number = 0;
	wake_up(&call->told);
}

/*
 * Get a task's next probe as an idle read; bad places, and what the queue does not take, are left
 * out. Return: the number of its call; 0: there is none.
 */
u32 fb_probe_next(struct freeblock_task *task, struct fb_plan_piece *piece)
{
	const struct fb_quarantine *b = &task->disk->quarantine;
	struct fb_probe_call *call = &task->probe;

	guard(spinlock_irq)(&task->disk->lock);
	while (call->number) {
		struct freeblock_probe *probe = &call->probes[call->at];

		piece->lbn = probe->first;
		piece->nsect = probe->count;
		if (!fb_quarantine_zone(b, probe->first, probe->count) &&
		    !fb_quarantine_doubts(b, probe->first, probe->count) &&
		    (!task->disk->q || probe->count <= fb_free_read_max(task->disk)))
			break;
		probe->status = FREEBLOCK_STATUS_UNTRIED;
		fb_probe_step(call);
	}
	return call->number;
}

static void fb_probe_fill(struct fb_probe_call *call, const struct fb_free_read *buf)
{
	struct freeblock_probe *probe = &call->probes[call->at];

	probe->status = !buf->status ? FREEBLOCK_STATUS_OK :
			buf->fault == FB_VERIFY_FAULT_MEDIUM ? FREEBLOCK_STATUS_UNREADABLE :
			FREEBLOCK_STATUS_UNTRIED;
	probe->sent_ns = buf->began_ns;
	probe->ended_ns = buf->ended_ns;
	probe->flags = (buf->others ? 0 : FREEBLOCK_PROBE_ALONE) |
		       (call->any && call->commands == buf->commands ? FREEBLOCK_PROBE_NEXT : 0) |
		       (buf->how != FB_VERIFY_READ && buf->proven ? FREEBLOCK_PROBE_MEDIUM : 0);
	call->any = true;
	call->commands = buf->commands + 1;
}

/* Write the result of a probe to the array of the call that it belongs to, if that still waits. */
static void fb_probe_tell(struct fb_coverage *cov, const struct fb_free_read *buf)
{
	struct freeblock_task *task;
	u32 i = 0;

	lockdep_assert_held(&cov->disk->lock);
	while ((task = fb_coverage_next_task(cov, &i))) {
		struct fb_probe_call *call = &task->probe;

		if (call->number != buf->probe)
			continue;
		fb_probe_fill(call, buf);
		fb_probe_step(call);
	}
}

/* A probe has ended. What was refused is sent again, in another way if the command is not known. */
void fb_probe_absorb(struct fb_coverage *cov, struct fb_free_read *buf)
{
	u32 within = buf->lbn & (cov->disk->granule - 1);
	bool refused = buf->status == BLK_STS_AGAIN || buf->fault == FB_VERIFY_FAULT_COMMAND;

	if (buf->status && !refused) {
		buf->lbn -= within;
		buf->nsect += within;
		/* 0 without a name: the place is not known, and may be the next block */
		if (buf->good || buf->named)
			buf->good += within;
		fb_delivery_judge(cov, buf);
	}
	guard(spinlock_irq)(&cov->disk->lock);
	if (buf->status && !refused)
		cov->disk->stats.free_errors++;
	if (!buf->status)
		cov->disk->quarantine.failed_row = 0;
	if (!refused)
		fb_probe_tell(cov, buf);
	cov->disk->idle.probing = false;
	buf->state = FB_FREE_READ_FREE;
}

/* ---- the consumer's side ---- */

/* Why a task's probes will never be carried out; 0: they may be. */
static int fb_probe_hopeless(const struct freeblock_task *task)
{
	if (READ_ONCE(task->disk->gone))
		return -ENODEV;
	switch (READ_ONCE(task->state)) {
	case FB_TASK_NEW:
		return -EBADFD;
	case FB_TASK_STOPPING:
	case FB_TASK_OVER:
		return -ESHUTDOWN;
	default:
		return 0;
	}
}

static int fb_probe_begin(struct freeblock_task *task, struct freeblock_probe *probes, u32 n)
{
	struct fb_probe_call *call = &task->probe;
	struct fb_disk *disk = task->disk;
	int ret;

	guard(spinlock_irq)(&disk->lock);
	ret = fb_probe_hopeless(task);
	if (!ret && disk->zone_sectors)
		ret = -EOPNOTSUPP;
	if (!ret && call->probes)
		ret = -EBUSY;
	if (!ret) {
		call->probes = probes;
		call->n = n;
		call->at = 0;
		/* never 0, and not that of a call whose last probe is still at the drive */
		disk->idle.probes += disk->idle.probes == U32_MAX ? 2 : 1;
		call->number = disk->idle.probes;
		disk->idle.woken = true;
		wake_up(&disk->wait);
	}
	return ret;
}

/* The caller stops waiting: the result of a probe that is still at the drive is dropped. */
static u32 fb_probe_end(struct freeblock_task *task)
{
	struct fb_disk *disk = task->disk;
	u32 done;

	guard(spinlock_irq)(&disk->lock);
	done = task->probe.at;
	if (task->probe.number && task->probe.number == disk->idle.probe)
		disk->idle.reader.ready = false;
	task->probe.number = 0;
	task->probe.probes = NULL;
	return done;
}

/* documented in include/freeblock.h */
s32 freeblock_task_probe(struct freeblock_task *task, struct freeblock_probe *probes, u32 n,
			 u32 timeout_ms)
{
	struct fb_probe_call *call = &task->probe;
	unsigned long end = jiffies + msecs_to_jiffies(timeout_ms);
	long left, ret;
	u32 done;

	ret = fb_probe_begin(task, probes, n);
	if (ret)
		return ret;
	do {
		left = timeout_ms ? (long)(end - jiffies) : FB_PROBE_LOOK;
		if (left <= 0)
			break;
		ret = wait_event_interruptible_timeout(call->told, !READ_ONCE(call->number),
						       min_t(long, left, FB_PROBE_LOOK));
	} while (!ret && !fb_probe_hopeless(task));
	ret = min(ret, 0L) ?: fb_probe_hopeless(task);
	done = fb_probe_end(task);
	return done ? (s32)done : ret;
}
EXPORT_SYMBOL_GPL(freeblock_task_probe);
