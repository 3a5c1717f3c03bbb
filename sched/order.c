// SPDX-License-Identifier: GPL-2.0
/*
 * Who orders (core/engine/order.c): when that is decided, timed where time is the reason. Locks:
 * fb_disk.lock, held by every caller but where said.
 */
#include "sched/sched.h"

/* when time alone will change who orders, or whether free reads are sent; 0: it will not */
static u64 fb_order_due_ns(struct fb_sched *fs)
{
	u64 measure_ns = fb_measure_due_ns(fs->fd), due_ns = fs->engine.orders.due_ns;

	if (!fs->engine.auto_depth || fb_destage_orders(&fs->fd->destage))
		return measure_ns;
	if (fb_coverage_wants(fs->fd))
		due_ns = max(due_ns, fs->fd->guard.off_until_ns);
	return due_ns && measure_ns ? min(due_ns, measure_ns) : due_ns + measure_ns;
}

/* Start the timer if time alone will change who orders. */
void fb_order_time(struct fb_sched *fs)
{
	u64 due_ns = fb_order_due_ns(fs);

	/* each request of a stream puts it off: then the timer comes early, and asks again */
	if (!due_ns || (fs->order_due_ns && fs->order_due_ns <= due_ns))
		return;
	hrtimer_start(&fs->order_timer, ns_to_ktime(due_ns), HRTIMER_MODE_ABS);
	fs->order_due_ns = due_ns;
}

/*
 * Decide whether the drive orders (fb_engine_decide()). Return: true if that has changed. This is
 * called where one of its reasons changes, and has_work() only looks at what was decided:
 *
 *   the tunable depth		fb_iosched_changed()
 *   tasks want blocks		fb_order_wants_changed(), from those who change a task's state
 *				or the number of its wanted blocks from or to 0
 *   writes, or none for long	an insertion
 *   the disk is scheduled	fb_iosched_model_changed(): another model, forced or not, another
 *				path; a model that is distrusted now: its last completion
 *   the guard			trips at a completion; its pause ends with @order_timer
 *   the phase			is given up at a completion; the first insertion or completion
 *				after its pause ends that
 *   a stream			is found when a request is sent; it ends at a completion or
 *				insertion, when a request is overdue, too, or with @order_timer
 *   few wanted blocks		as the foreground gets deep or shallow; their second and their
 *				pause end with @order_timer
 *
 * Nobody tells of another capacity or firmware, which end scheduling, too, nor of a write cache
 * that is switched: the next insertion or completion notices. Where there may be no run of the
 * queue soon, the caller has to see to one if the decision has changed.
 */
bool fb_order_decide(struct fb_sched *fs)
{
	lockdep_assert_held(&fs->fd->lock);
	return fb_engine_decide(&fs->engine, ktime_get_ns());
}

/* ---- telling the queue ---- */

static enum hrtimer_restart fb_order_timer(struct hrtimer *timer)
{
	struct fb_sched *fs = container_of(timer, struct fb_sched, order_timer);
	unsigned long flags;

	spin_lock_irqsave(&fs->fd->lock, flags);
	fs->order_due_ns = 0;
	if (fs->fd->sched == fs)
		fb_order_decide(fs);
	spin_unlock_irqrestore(&fs->fd->lock, flags);
	blk_mq_run_hw_queues(fs->q, true);
	return HRTIMER_NORESTART;
}

/* Have the queue run, which must not be done with the lock held. */
void fb_order_run_soon(struct fb_disk *fd)
{
	struct fb_sched *fs = fd->sched;

	lockdep_assert_held(&fd->lock);
	hrtimer_start(&fs->order_timer, 0, HRTIMER_MODE_ABS);
	/* until it has fired fb_order_time() must not put it off */
	fs->order_due_ns = 1;
}

/* Tasks have begun to want blocks, or no longer do. */
void fb_order_wants_changed(struct fb_disk *fd)
{
	struct fb_sched *fs = fd->sched;

	lockdep_assert_held(&fd->lock);
	/* this may run before fb_disk_attach() has returned; later it is read without the lock */
	if (!fs->fd)
		fb_sched_set_disk(fs, fd);
	if (fb_order_decide(fs))
		fb_order_run_soon(fd);
}

void fb_order_init(struct fb_sched *fs)
{
	fb_compat_timer_setup(&fs->order_timer, fb_order_timer, HRTIMER_MODE_ABS);
}

/* The scheduler is detached from its disk. May sleep; without the lock. */
void fb_order_exit(struct fb_sched *fs)
{
	hrtimer_cancel(&fs->order_timer);
}
