// SPDX-License-Identifier: GPL-2.0
/*
 * Reads in the foreground's time. A task that would miss its deadline, and whose owner allowed
 * it, has its blocks read by requests that join the foreground, one at a time, as long as they
 * occupy the disk for no more than the share allowed (core/deadline.c). What a read is charged is
 * measured when it ends (disk/free_read.c).
 *
 * Between two of them a request of someone else's must have come: a disk without foreground is
 * left to idle time, which such reads would only interrupt.
 *
 * Locks: fb_disk.lock for fb_disk.hurry; the table is in disk/disk.h. Orders are the thread's.
 */
#include "disk/coverage.h"
#include "disk/disk.h"

/* Note a request of the foreground. */
void fb_hurry_arrive(struct fb_disk *fd)
{
	struct fb_hurry *hurry = &fd->hurry;

	lockdep_assert_held(&fd->lock);
	hurry->arrived++;
	if (!hurry->ppm || hurry->flying || hurry->arrived != hurry->seen + 1)
		return;
	fd->idle.woken = true;
	wake_up(&fd->wait);
}

/*
 * When to read in the foreground's time, past or future; FB_DEADLINE_NEVER: something must change.
 */
u64 fb_hurry_due_ns(struct fb_disk *fd)
{
	struct fb_hurry *hurry = &fd->hurry;

	lockdep_assert_held(&fd->lock);
	if (!hurry->ppm || hurry->flying || hurry->arrived == hurry->seen ||
	    fd->idle.ready || fd->idle.reading || !fb_coverage_wants(fd))
		return FB_DEADLINE_NEVER;
	return max(fb_deadline_next_ns(&hurry->share, hurry->ppm, ktime_get_ns()), hurry->retry_ns);
}

/*
 * Compute when the rate of a task with a deadline has to be measured. A task that gets nothing may
 * be late, too, though nothing wakes the thread. Called by the thread. Return: the time; U64_MAX:
 * no running task with blocks left has a deadline.
 */
u64 fb_hurry_measure_ns(const struct fb_coverage *cov)
{
	u64 due_ns = U64_MAX;
	u32 i;

	for (i = 0; i < FREEBLOCK_TASKS; i++) {
		const struct freeblock_task *task = fb_coverage_task(cov, i);

		if (task && task->active && READ_ONCE(task->deadline_ns) && task->map.n_wanted)
			due_ns = min(due_ns, fb_deadline_due_ns(&task->pace));
	}
	return due_ns;
}

/* Also note whose share counts now. */
static bool fb_hurry_is_due(struct fb_coverage *cov)
{
	struct fb_disk *fd = cov->fd;
	bool due;

	spin_lock_irq(&fd->lock);
	fd->hurry.ppm = cov->hurried ? READ_ONCE(cov->hurried->foreground_ppm) : 0;
	due = fb_hurry_due_ns(fd) <= ktime_get_ns();
	spin_unlock_irq(&fd->lock);
	return due;
}

/* Sectors that pass in half the time that a read may take; the rest is for the way there. */
static u32 fb_hurry_sectors(struct fb_disk *fd)
{
	return min_t(u64, fb_free_read_max_data(fd),
		     div_u64(FB_DEADLINE_READ_NS * 500ULL, fd->idle.wait.sector_ps));
}

/* Find what to read next, in the order of idle reads, off quarantined blocks. */
static bool fb_hurry_find(struct fb_coverage *cov, struct fb_plan_piece *piece)
{
	struct fb_plan plan = { .kind = FB_PLAN_SEPARATE, .npieces = 1 };
	struct freeblock_task *task = cov->hurried;
	struct fb_idle_order_ask ask = { .dm = cov->fd->model, .bm = &task->map };
	struct fb_disk *fd = cov->fd;

	spin_lock_irq(&fd->lock);
	/* There is no verdict on these reads: without FUA they might come from the cache. */
	if (fd->q && !(task->ops->flags & FREEBLOCK_MEDIUM && !fb_verify_has_fua(fd)))
		ask.max_sectors = fb_hurry_sectors(fd);
	spin_unlock_irq(&fd->lock);
	if (!ask.max_sectors || !fb_idle_order_next(&task->idle_order, &ask, &plan.piece[0]) ||
	    !fb_quarantine_divert(&fd->quarantine, &task->map, &plan.piece[0]) ||
	    !fb_quarantine_cut(&fd->quarantine, &task->map, ktime_get_ns(), &plan))
		return false;
	*piece = plan.piece[0];
	fb_zone_cut(fd, piece);
	return true;
}

/**
 * fb_hurry_read() - read in the foreground's time if a late task may
 * @cov: the service
 * Context: the thread; may sleep, but not for the queue.
 */
void fb_hurry_read(struct fb_coverage *cov)
{
	struct fb_disk *fd = cov->fd;
	struct fb_plan_piece piece;
	bool sent;

	if ((!cov->hurried && !READ_ONCE(fd->hurry.ppm)) || !fb_hurry_is_due(cov))
		return;
	sent = fb_hurry_find(cov, &piece) &&
	       fb_free_read_now(cov->hurried, piece.lbn, piece.nsect, FB_FREE_READ_HURRIED);
	spin_lock_irq(&fd->lock);
	fd->hurry.seen = fd->hurry.arrived;
	if (!sent)
		fd->hurry.retry_ns = ktime_get_ns() + FB_HURRY_RETRY_NS;
	spin_unlock_irq(&fd->lock);
	fb_coverage_absorb(cov);
}
