// SPDX-License-Identifier: GPL-2.0
/*
 * What keeps each task from reading (enum freeblock_wait). The thread finds it and tells the
 * consumer of changes; whatever may change it wakes the thread.
 *
 * Some reasons concern the disk as a whole, and last: they count at once. The others are there
 * between any two reads: they count only when the task has got no block for a while.
 *
 * Locks: fb_disk.lock; the table is in disk/disk.h.
 */
#include "disk/disk.h"

/* A task that has got no block for so long waits; the disk is busy so long after a request. */
#define FB_WAITING_NS NSEC_PER_SEC

/* What rules out that the task gets blocks; @able: nothing does, and it wants some. */
static enum freeblock_wait fb_waiting_barred(const struct freeblock_task *task, bool *able)
{
	bool alarmed = task->state == FB_TASK_PAUSED && task->alarmed;
	enum freeblock_wait why = FREEBLOCK_WAIT_NONE;

	*able = false;
	if (task->state != FB_TASK_RUNNING && !alarmed)
		return FREEBLOCK_WAIT_NONE;
	if (task->wanted)
		why = fb_level_waiting_for(task->fd);
	if (!why && alarmed)
		return FREEBLOCK_WAIT_ALARM;
	*able = !why && (task->wanted || task->held);
	return why;
}

/* Has its consumer all that it may: two reads beside other tasks, else all but the carrier's? */
static bool fb_waiting_is_full(const struct freeblock_task *task)
{
	const struct fb_reads *reads = &task->fd->reads;
	u32 most = reads->bufs->n - !!reads->carrier;

	if (READ_ONCE(task->fd->cov->nactive) > 1)
		most = FREEBLOCK_HELD;
	return task->held && (task->held >= most || !task->wanted);
}

static enum freeblock_wait fb_waiting_find(const struct freeblock_task *task, u64 now, bool *able)
{
	enum freeblock_wait why = fb_waiting_barred(task, able);
	struct fb_disk *fd = task->fd;
	u64 fed_ns = READ_ONCE(task->fed_ns);

	if (!*able || !task->able || now < fed_ns + FB_WAITING_NS)
		return why;
	if (fb_waiting_is_full(task))
		return FREEBLOCK_WAIT_READER;
	if (!task->wanted)
		return FREEBLOCK_WAIT_NONE;
	if (task->withheld_ns > fed_ns)
		return FREEBLOCK_WAIT_CACHE;
	if (!fd->fg.active && now >= fd->fg.last_ns + FB_WAITING_NS)
		return fb_drive_query_asleep(fd, now) ? FREEBLOCK_WAIT_ASLEEP : FREEBLOCK_WAIT_IDLE;
	return fb_guard_on(&fd->guard, now) ? FREEBLOCK_WAIT_GAP : FREEBLOCK_WAIT_GUARD;
}

/* A request of the foreground has arrived. */
void fb_waiting_arrive(struct fb_disk *fd)
{
	u32 i;

	lockdep_assert_held(&fd->lock);
	for (i = 0; fd->cov && i < FREEBLOCK_TASKS; i++)
		if (fd->cov->task[i] && fd->cov->task[i]->waiting_for >= FREEBLOCK_WAIT_IDLE)
			wake_up(&fd->wait);
}

/* Consumers may wait for a disk that is gone though their tasks are paused or want nothing. */
static void fb_waiting_disk_changed(struct fb_disk *fd)
{
	u32 i;

	for (i = 0; fd->cov && i < FREEBLOCK_TASKS; i++)
		if (fd->cov->task[i])
			fb_delivery_raise(fd->cov->task[i], FREEBLOCK_EVENT_CHANGED);
}

const struct fb_disk_client fb_waiting_client = {
	.changed = fb_waiting_disk_changed,
};

static u64 fb_waiting_task_due_ns(const struct freeblock_task *task, u64 now)
{
	const struct fb_disk *fd = task->fd;
	u64 patient_ns = READ_ONCE(task->fed_ns) + FB_WAITING_NS;
	u64 idle_ns = fd->fg.last_ns + FB_WAITING_NS;
	bool able;

	if (fb_waiting_find(task, now, &able) != task->waiting_for || able != task->able)
		return now;
	if (!able)
		return U64_MAX;
	if (now < patient_ns)
		return patient_ns;
	if (!fd->fg.active && now < idle_ns)
		return idle_ns;
	return task->waiting_for == FREEBLOCK_WAIT_GUARD ? fd->guard.off_until_ns : U64_MAX;
}

/* When fb_waiting_update() is due, past or future; U64_MAX: something must change. */
u64 fb_waiting_due_ns(struct fb_disk *fd)
{
	u64 now = ktime_get_ns(), due_ns = U64_MAX;
	u32 i;

	lockdep_assert_held(&fd->lock);
	for (i = 0; i < FREEBLOCK_TASKS; i++)
		if (fd->cov->task[i])
			due_ns = min(due_ns, fb_waiting_task_due_ns(fd->cov->task[i], now));
	return due_ns;
}

/* Find what keeps each task from reading, and tell consumers of changes. Called by the thread. */
void fb_waiting_update(struct fb_coverage *cov)
{
	u64 now;
	u32 i;

	spin_lock_irq(&cov->fd->lock);
	now = ktime_get_ns();
	for (i = 0; i < FREEBLOCK_TASKS; i++) {
		struct freeblock_task *task = cov->task[i];
		enum freeblock_wait why;
		bool able;

		if (!task)
			continue;
		why = fb_waiting_find(task, now, &able);
		/* from now on it could get blocks */
		if (able && !task->able)
			WRITE_ONCE(task->fed_ns, now);
		task->able = able;
		if (task->waiting_for == why)
			continue;
		task->waiting_for = why;
		fb_delivery_raise(task, FREEBLOCK_EVENT_CHANGED);
	}
	spin_unlock_irq(&cov->fd->lock);
}
