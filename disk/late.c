// SPDX-License-Identifier: GPL-2.0
/*
 * Tasks that get too little. A task that would miss its deadline, and whose owner allowed it, has
 * its blocks read by requests that join the foreground, for no more than the share allowed
 * (core/deadline.c). Between two of them another request must have come: a disk without foreground
 * is left to idle time. The thread also finds what keeps a task from reading (enum freeblock_wait),
 * and tells its consumer of changes. Reasons that pass between any two reads count only when the
 * task has got no block for a while. Locks: fb_disk.lock.
 */
#include "disk/disk.h"

/* A task that has got no block for so long waits; the disk is busy so long after a request. */
#define FB_LATE_NS NSEC_PER_SEC

/* ---- reads in the foreground's time ---- */

/* When to read in the foreground's time; FB_DEADLINE_NEVER: something must change. */
u64 fb_late_read_due_ns(struct fb_disk *disk)
{
	struct fb_late *late = &disk->late;

	lockdep_assert_held(&disk->lock);
	if (!late->ppm || late->flying || late->arrived == late->seen ||
	    fb_idle_reader_is_used(&disk->idle.reader) || !fb_coverage_wants(disk))
		return FB_DEADLINE_NEVER;
	return max(fb_deadline_next_ns(&late->share, late->ppm, ktime_get_ns()), late->retry_ns);
}

/* When the rate of a task with a deadline has to be measured, though nothing wakes the thread. */
u64 fb_late_measure_ns(const struct fb_coverage *cov)
{
	const struct freeblock_task *task;
	u64 due_ns = U64_MAX;
	u32 i = 0;

	while ((task = fb_coverage_next_active(cov, &i)))
		if (READ_ONCE(task->deadline_ns) && task->map.n_wanted)
			due_ns = min(due_ns, fb_deadline_due_ns(&task->pace));
	return due_ns;
}

/* Also note whose share counts now. */
static bool fb_late_may_read(struct fb_coverage *cov)
{
	struct fb_disk *disk = cov->disk;

	guard(spinlock_irq)(&disk->lock);
	disk->late.ppm = cov->hurried ? READ_ONCE(cov->hurried->foreground_ppm) : 0;
	return fb_late_read_due_ns(disk) <= ktime_get_ns();
}

static bool fb_late_find(struct fb_coverage *cov, struct fb_plan_piece *piece)
{
	struct freeblock_task *task = cov->hurried;
	struct fb_idle_order_ask ask = { .dm = cov->disk->model, .bm = &task->map };
	struct fb_disk *disk = cov->disk;

	spin_lock_irq(&disk->lock);
	/*
	 * without FUA these might come from the cache; half of a read's time is for the way there
	 */
	if (disk->q && !(task->ops->flags & FREEBLOCK_MEDIUM && !fb_verify_has_fua(disk)))
		ask.max_sectors = min_t(u64, fb_free_read_max_data(disk),
					div_u64(FB_DEADLINE_READ_NS * 500ULL,
						disk->idle.wait.sector_ps));
	spin_unlock_irq(&disk->lock);
	if (!ask.max_sectors || !fb_idle_reader_find(&task->idle_order, &disk->quarantine, &ask,
						     piece, ktime_get_ns()))
		return false;
	fb_zone_cut(disk, piece);
	return true;
}

/* Read in the foreground's time if a late task may. Does not wait for the queue. */
void fb_late_read(struct fb_coverage *cov)
{
	struct fb_disk *disk = cov->disk;
	struct fb_plan_piece piece;
	bool sent;

	if ((!cov->hurried && !READ_ONCE(disk->late.ppm)) || !fb_late_may_read(cov))
		return;
	sent = fb_late_find(cov, &piece) &&
	       fb_free_read_now(cov->hurried, piece.lbn, piece.nsect, FB_FREE_READ_HURRIED);
	spin_lock_irq(&disk->lock);
	disk->late.seen = disk->late.arrived;
	if (!sent)
		disk->late.retry_ns = ktime_get_ns() + FB_LATE_RETRY_NS;
	spin_unlock_irq(&disk->lock);
	fb_coverage_absorb(cov);
}

/* ---- what keeps each task from reading ---- */

/* What rules out that the task gets blocks; @able: nothing does, and it wants some. */
static enum freeblock_wait fb_late_barred(const struct freeblock_task *task, bool *able)
{
	bool alarmed = task->state == FB_TASK_PAUSED && task->alarmed;
	enum freeblock_wait why = FREEBLOCK_WAIT_NONE;

	*able = false;
	if (task->state != FB_TASK_RUNNING && !alarmed)
		return FREEBLOCK_WAIT_NONE;
	if (task->wanted)
		why = fb_level_waiting_for(task->disk);
	if (!why && alarmed)
		return FREEBLOCK_WAIT_ALARM;
	*able = !why && (task->wanted || task->held);
	return why;
}

/* Has its consumer all that it may: two reads beside other tasks, else all but the carrier's? */
static bool fb_late_is_full(const struct freeblock_task *task)
{
	const struct fb_reads *reads = &task->disk->reads;
	u32 most = reads->bufs->n - !!reads->carrier;

	if (READ_ONCE(task->disk->cov->nactive) > 1)
		most = FREEBLOCK_HELD;
	return task->held && (task->held >= most || !task->wanted);
}

static enum freeblock_wait fb_late_why(const struct freeblock_task *task, u64 now, bool *able)
{
	enum freeblock_wait why = fb_late_barred(task, able);
	struct fb_disk *disk = task->disk;
	u64 fed_ns = READ_ONCE(task->fed_ns);

	if (!*able || !task->able || now < fed_ns + FB_LATE_NS)
		return why;
	if (fb_late_is_full(task))
		return FREEBLOCK_WAIT_READER;
	if (!task->wanted)
		return FREEBLOCK_WAIT_NONE;
	if (task->withheld_ns > fed_ns)
		return FREEBLOCK_WAIT_CACHE;
	if (!disk->fg.active && now >= disk->fg.last_ns + FB_LATE_NS)
		return fb_drive_query_asleep(disk, now) ? FREEBLOCK_WAIT_ASLEEP :
							  FREEBLOCK_WAIT_IDLE;
	return fb_guard_on(&disk->guard, now) ? FREEBLOCK_WAIT_GAP : FREEBLOCK_WAIT_GUARD;
}

/* A request of the foreground has arrived. */
void fb_late_arrive(struct fb_disk *disk)
{
	struct fb_late *late = &disk->late;
	const struct freeblock_task *task;
	u32 i = 0;

	lockdep_assert_held(&disk->lock);
	late->arrived++;
	if (!disk->cov)
		return;
	if (late->ppm && !late->flying && late->arrived == late->seen + 1) {
		disk->idle.woken = true;
		wake_up(&disk->wait);
	}
	while ((task = fb_coverage_next_task(disk->cov, &i)))
		if (task->waiting_for >= FREEBLOCK_WAIT_IDLE)
			wake_up(&disk->wait);
}

/* Consumers may wait for a disk that is gone though their tasks are paused or want nothing. */
static void fb_late_disk_changed(struct fb_disk *disk)
{
	struct freeblock_task *task;
	u32 i = 0;

	if (!disk->cov)
		return;
	while ((task = fb_coverage_next_task(disk->cov, &i)))
		fb_delivery_raise(task, FREEBLOCK_EVENT_CHANGED);
}

const struct fb_disk_client fb_late_client = {
	.changed = fb_late_disk_changed,
};

static u64 fb_late_task_due_ns(const struct freeblock_task *task, u64 now)
{
	const struct fb_disk *disk = task->disk;
	u64 patient_ns = READ_ONCE(task->fed_ns) + FB_LATE_NS;
	u64 idle_ns = disk->fg.last_ns + FB_LATE_NS;
	bool able;

	if (fb_late_why(task, now, &able) != task->waiting_for || able != task->able)
		return now;
	if (!able)
		return U64_MAX;
	if (now < patient_ns)
		return patient_ns;
	if (!disk->fg.active && now < idle_ns)
		return idle_ns;
	return task->waiting_for == FREEBLOCK_WAIT_GUARD ? disk->guard.off_until_ns : U64_MAX;
}

/* When fb_late_tell() is due, past or future; U64_MAX: something must change. */
u64 fb_late_tell_due_ns(struct fb_disk *disk)
{
	u64 now = ktime_get_ns(), due_ns = U64_MAX;
	const struct freeblock_task *task;
	u32 i = 0;

	lockdep_assert_held(&disk->lock);
	while ((task = fb_coverage_next_task(disk->cov, &i)))
		due_ns = min(due_ns, fb_late_task_due_ns(task, now));
	return due_ns;
}

/* Find what keeps each task from reading, and tell consumers of changes. Called by the thread. */
void fb_late_tell(struct fb_coverage *cov)
{
	struct freeblock_task *task;
	u64 now;
	u32 i = 0;

	guard(spinlock_irq)(&cov->disk->lock);
	now = ktime_get_ns();
	while ((task = fb_coverage_next_task(cov, &i))) {
		bool able;
		enum freeblock_wait why = fb_late_why(task, now, &able);

		/* from now on it could get blocks */
		if (able && !task->able)
			WRITE_ONCE(task->fed_ns, now);
		task->able = able;
		if (task->waiting_for == why)
			continue;
		task->waiting_for = why;
		fb_delivery_raise(task, FREEBLOCK_EVENT_CHANGED);
	}
}
