// SPDX-License-Identifier: GPL-2.0
/*
 * Who orders (core/engine/order.c): when that is decided. Locks: fb_disk.lock, held but where said.
 */
#include "sched/sched.h"

/* when time alone will change who orders, or whether free reads are sent; 0: it will not */
static u64 fb_order_due_ns(struct fb_sched *sched)
{
	u64 measure_ns = fb_measure_due_ns(sched->disk), due_ns = sched->engine.orders.due_ns;

	if (!sched->engine.auto_depth || fb_destage_orders(&sched->disk->destage, false))
		return measure_ns;
	if (fb_coverage_wants(sched->disk))
		due_ns = max(due_ns, sched->disk->guard.off_until_ns);
	return due_ns && measure_ns ? min(due_ns, measure_ns) : due_ns + measure_ns;
}

/* Start the timer if time alone will change who orders. */
void fb_order_time(struct fb_sched *sched)
{
	u64 due_ns = fb_order_due_ns(sched);

	/* each request of a stream puts it off: then the timer comes early, and asks again */
	if (!due_ns || (sched->order_due_ns && sched->order_due_ns <= due_ns))
		return;
	hrtimer_start(&sched->order_timer, ns_to_ktime(due_ns), HRTIMER_MODE_ABS);
	sched->order_due_ns = due_ns;
}

/*
 * Decide whether the drive orders, wherever a reason changes (Documentation/design.rst). True: that
 * has changed: the caller sees to a run of the queue.
 */
bool fb_order_decide(struct fb_sched *sched)
{
	lockdep_assert_held(&sched->disk->lock);
	return fb_engine_decide(&sched->engine, ktime_get_ns());
}

/* ---- telling the queue ---- */

static enum hrtimer_restart fb_order_timer(struct hrtimer *timer)
{
	struct fb_sched *sched = container_of(timer, struct fb_sched, order_timer);

	scoped_guard(spinlock_irqsave, &sched->disk->lock) {
		sched->order_due_ns = 0;
		if (sched->disk->sched == sched)
			fb_order_decide(sched);
	}
	blk_mq_run_hw_queues(sched->q, true);
	return HRTIMER_NORESTART;
}

/* Have the queue run, which must not be done with the lock held. */
void fb_order_run_soon(struct fb_disk *disk)
{
	struct fb_sched *sched = disk->sched;

	lockdep_assert_held(&disk->lock);
	hrtimer_start(&sched->order_timer, 0, HRTIMER_MODE_ABS);
	/* until it has fired fb_order_time() must not put it off */
	sched->order_due_ns = 1;
}

/* Tasks have begun to want blocks, or no longer do. */
void fb_order_wants_changed(struct fb_disk *disk)
{
	struct fb_sched *sched = disk->sched;

	lockdep_assert_held(&disk->lock);
	/* this may run before fb_disk_attach() has returned; later it is read without the lock */
	if (!sched->disk)
		fb_sched_set_disk(sched, disk);
	if (fb_order_decide(sched))
		fb_order_run_soon(disk);
}

void fb_order_init(struct fb_sched *sched)
{
	fb_compat_timer_setup(&sched->order_timer, fb_order_timer, HRTIMER_MODE_ABS);
}

/* The scheduler is detached from its disk. May sleep; without the lock. */
void fb_order_exit(struct fb_sched *sched)
{
	hrtimer_cancel(&sched->order_timer);
}
