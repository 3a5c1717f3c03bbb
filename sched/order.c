// SPDX-License-Identifier: GPL-2.0
/*
 * Who orders: the policy, one command behind another, or the drive, which then gets all that it
 * takes. Here this is decided, and timed where time is the reason. Locks: fb_disk.lock, held by
 * every caller but where said.
 */
#include "disk/coverage.h"
#include "sched/sched.h"

/**
 * fb_order_note_sent() - note where a foreground request goes that is about to be sent
 * @fs: the scheduler, its disk locked
 * @fq: the request, not yet in @fs->flight
 * @now: time
 *
 * Context: fb_disk.lock held.
 *
 * Return: true: the foreground is a stream now, and fb_order_decide() must be called.
 */
bool fb_order_note_sent(struct fb_sched *fs, const struct fb_sched_rq *fq, u64 now)
{
	return fb_sched_is_media(fq) &&
	       fb_orders_sent(&fs->orders, fq->fg.lbn, fq->fg.nsect,
			      !fs->nr_flight && !fs->pool.count, now);
}

/* has a request been pending or at the drive for longer than it may? */
static bool fb_order_is_overdue(const struct fb_sched *fs, u64 now)
{
	const struct fb_sched_rq *fq;

	list_for_each_entry(fq, &fs->flight, flight)
		if (fb_sched_is_foreground(fq) && fq->fg.deadline_ns &&
		    fq->fg.deadline_ns < now)
			return true;
	return fb_policy_is_overdue(&fs->pool, now);
}

/* does the drive order, as far as streams and wanted blocks decide it? */
static bool fb_order_is_drives(struct fb_sched *fs, u64 now)
{
	struct fb_disk *fd = fs->fd;
	struct fb_orders_view v = {
		.now_ns = now,
		.outstanding = fs->pool.count + fs->nr_flight,
	};

	if (fb_guard_on(&fd->guard, now))
		v.wanted = fb_coverage_wanted(fd, &v.tasks);
	if (fd->model)
		v.blocks = fb_disk_granules(fd);
	if (fb_orders_is_stream(&fs->orders, now) && fb_order_is_overdue(fs, now))
		fb_orders_overdue(&fs->orders);
	return fb_orders_decide(&fs->orders, &v);
}

/* when time alone will change who orders; 0: it will not */
static u64 fb_order_due_ns(struct fb_sched *fs)
{
	u64 due_ns = fs->orders.due_ns;

	if (!fs->auto_depth || fb_destage_orders(&fs->fd->destage))
		return 0;
	if (fb_coverage_wants(fs->fd))
		due_ns = max(due_ns, fs->fd->guard.off_until_ns);
	return due_ns;
}

static void fb_order_time(struct fb_sched *fs)
{
	u64 due_ns = fb_order_due_ns(fs);

	/* each request of a stream puts it off: then the timer comes early, and asks again */
	if (!due_ns || (fs->order_due_ns && fs->order_due_ns <= due_ns))
		return;
	hrtimer_start(&fs->order_timer, ns_to_ktime(due_ns), HRTIMER_MODE_ABS);
	fs->order_due_ns = due_ns;
}

/* the drive may do now what it has in another order than was predicted; idle reads are alone */
static void fb_order_doubt(struct fb_sched *fs)
{
	struct fb_sched_rq *fq;

	list_for_each_entry(fq, &fs->flight, flight)
		if (fq->cmd.cause != FB_CAUSE_IDLE)
			fq->cmd.start_ns = 0;
}

/**
 * fb_order_decide() - decide whether the drive orders
 * @fs: the scheduler, its disk locked
 *
 * With depth auto the drive orders while no free read is wanted or the foreground is a stream,
 * because its own order gives the best response times; while few blocks are wanted, most of the
 * time, if the foreground is deep (core/orders.h); and while its write cache is on and there
 * are writes among the foreground, which would wait here for a place at the drive though the cache
 * takes them at once (core/destage.h). With any depth it orders while no map is used
 * (disk/level.c) or the phase is given up (core/phase.h). Its head is tracked meanwhile only with
 * such a cache, for idle reads. When free reads are wanted again, nothing is sent until all but
 * one of its commands have ended.
 *
 * This is called where one of its reasons changes, and has_work() only looks at what was decided:
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
 * queue soon, the caller has to see to one if the decision has changed: commands may be held back
 * for a limit that there is no longer, and those at the drive may take long.
 *
 * Context: fb_disk.lock held.
 *
 * Return: true if it has changed.
 */
bool fb_order_decide(struct fb_sched *fs)
{
	u64 now = ktime_get_ns();
	bool deep = fb_order_is_drives(fs, now);

	fb_destage_set_cache(&fs->fd->destage, fb_compat_write_cache(fs->q), now);
	deep = fs->auto_depth && (deep || fb_destage_orders(&fs->fd->destage));
	deep |= fb_level_unmapped(fs->fd) || !fb_phase_on(&fs->fd->phase, now);
	if (deep == fs->deep) {
		fb_order_time(fs);
		return false;
	}
	fs->deep = deep;
	fb_order_time(fs);
	fs->window_ns = 0;
	fs->lifts = 0;
	fs->tail_known = false;
	fb_choice_void(fs);
	fb_head_lose(&fs->head);
	fb_shadow_lose(&fs->fd->shadow);
	fb_order_doubt(fs);
	fb_choice_place_all(fs);
	return true;
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

/**
 * fb_order_run_soon() - have the queue run, which must not be done with the lock held
 * @fd: the disk, locked, with a scheduler
 *
 * Context: fb_disk.lock held.
 */
void fb_order_run_soon(struct fb_disk *fd)
{
	struct fb_sched *fs = fd->sched;

	lockdep_assert_held(&fd->lock);
	hrtimer_start(&fs->order_timer, 0, HRTIMER_MODE_ABS);
	/* until it has fired fb_order_time() must not put it off */
	fs->order_due_ns = 1;
}

/**
 * fb_order_wants_changed() - tasks have begun to want blocks, or no longer do
 * @fd: the disk, locked
 *
 * Context: fb_disk.lock held.
 */
void fb_order_wants_changed(struct fb_disk *fd)
{
	struct fb_sched *fs = fd->sched;

	lockdep_assert_held(&fd->lock);
	/* this may run before fb_disk_attach() has returned; later it is read without the lock */
	if (!fs->fd)
		fs->fd = fd;
	if (fb_order_decide(fs))
		fb_order_run_soon(fd);
}

/**
 * fb_order_init() - let the drive order until there is a reason for the policy
 * @fs: the scheduler
 */
void fb_order_init(struct fb_sched *fs)
{
	fs->deep = true;
	fs->depth = FB_SCHED_DEPTH;
	fs->auto_depth = true;
	fb_compat_timer_setup(&fs->order_timer, fb_order_timer, HRTIMER_MODE_ABS);
}

/**
 * fb_order_exit() - stop the timer
 * @fs: the scheduler, detached from its disk
 *
 * Context: may sleep; fb_disk.lock not held.
 */
void fb_order_exit(struct fb_sched *fs)
{
	hrtimer_cancel(&fs->order_timer);
}
