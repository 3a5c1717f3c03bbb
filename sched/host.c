// SPDX-License-Identifier: GPL-2.0
/* What the kernel does for the engine (struct fb_engine_ops). Locks: fb_disk.lock, held. */
#include <linux/blk-integrity.h>
#include <linux/slab.h>

#include "sched/sched.h"
#define CREATE_TRACE_POINTS	/* they are defined here */
#include "disk/trace_events.h"

static const u64 fb_host_wake_ns = 100 * NSEC_PER_USEC;	/* the timer's, and kblockd's: at first */

static struct fb_disk *fb_host_disk(const struct fb_engine *e)
{
	struct fb_disk *disk = fb_sched_of(e)->disk;

	lockdep_assert_held(&disk->lock);
	return disk;
}

static u64 fb_host_now(const struct fb_engine *e)
{
	return ktime_get_ns();
}

/* ---- what it asks ---- */

static bool fb_host_unmapped(const struct fb_engine *e)
{
	return fb_level_unmapped(fb_host_disk(e));
}

/* A policy set by name orders without a map, unless idle_only or zones forbid any order. */
static bool fb_host_by_lbn(const struct fb_engine *e)
{
	struct fb_disk *disk = fb_host_disk(e);

	return fb_policy_needs_no_map(e->pool.policy) && fb_level_unmapped(disk) &&
	       !disk->idle_only && !disk->zone_sectors;
}

static bool fb_host_unphased(struct fb_engine *e, u64 now)
{
	return !fb_phase_on(&fb_host_disk(e)->phase, now);
}

static bool fb_host_may_read(const struct fb_engine *e, u64 now)
{
	return fb_coverage_may_read(fb_host_disk(e));
}

static void fb_host_view(struct fb_engine *e, struct fb_orders_view *v)
{
	struct fb_disk *disk = fb_host_disk(e);

	fb_measure_look(disk, fb_level_unmapped(disk) ? 0 : e->round.joint.cost_ppm, v->now_ns);
	v->withheld = fb_cost_controls(&disk->measure.cost);
	if (fb_guard_on(&disk->guard, v->now_ns))
		v->wanted = fb_coverage_wanted(disk, &v->tasks);
	if (disk->model)
		v->blocks = fb_disk_granules(disk);
	fb_destage_set_cache(&disk->destage, fb_compat_write_cache(fb_sched_of(e)->q), v->now_ns);
}

/* start the timer if time alone will change who orders, or whether free reads are sent */
static void fb_host_decided(struct fb_engine *e, bool changed)
{
	struct fb_sched *sched = fb_sched_of(e);
	struct fb_disk *disk = fb_host_disk(e);
	u64 measure_ns = fb_measure_due_ns(disk), due_ns = e->orders.due_ns;

	if (!e->auto_depth || (e->drive_orders && fb_destage_orders(&disk->destage)))
		due_ns = 0;
	else if (fb_coverage_wants(disk))
		due_ns = max(due_ns, disk->guard.off_until_ns);
	due_ns = due_ns && measure_ns ? min(due_ns, measure_ns) : due_ns + measure_ns;
	/* each request of a stream puts it off: then the timer comes early, and asks again */
	if (!due_ns || (sched->order_due_ns && sched->order_due_ns <= due_ns))
		return;
	hrtimer_start(&sched->order_timer, ns_to_ktime(due_ns), HRTIMER_MODE_ABS);
	sched->order_due_ns = due_ns;
}

/* ---- gaps ---- */

static bool fb_host_limit(struct fb_engine *e, struct fb_engine_rq *r, struct fb_limits *lim)
{
	const struct fb_sched_rq *fq = fb_sched_rq_of(r);
	struct fb_sched *sched = fb_sched_of(e);
	struct fb_disk *disk = fb_host_disk(e);

	*lim = (struct fb_limits) {
		.granule_sectors = dm_info(disk->model)->granule_sectors,
		.max_sectors = fb_free_read_max(disk),
		.conservatism_ns = sched->conservatism_ns,
		.lift = e->lift,
		.hop_steps = FB_HOP_STEPS,
		.pipe_ns = { fb_completion_overhead_ns(disk->model, false) + e->lead_ns,
			     fb_completion_overhead_ns(disk->model, true) + e->lead_ns },
		/* a protection payload would not match where the carrier is aimed later */
		.separate = !blk_get_integrity(sched->q->disk),
	};
	if (e->auto_margin)
		lim->odds = &disk->conservatism.odds;
	if (!fq->prepended)
		lim->max_prepend_sectors = fb_free_read_prepend_limit(disk, fq->rq);
	return true;
}

static void fb_host_wake(struct fb_engine *e)
{
	wake_up(&fb_host_disk(e)->wait);
}

/* ---- commands ---- */

static struct fb_engine_rq *fb_host_aim(struct fb_engine *e, const struct fb_plan_piece *p,
					bool more)
{
	struct fb_disk *disk = fb_host_disk(e);
	struct request *rq = fb_free_read_send(disk, p->lbn, p->nsect, FB_FREE_READ_SEPARATE);

	if (!rq)
		return NULL;
	if (more)
		fb_free_read_need(disk);
	return &fb_sched_rq(rq)->r;
}

static bool fb_host_prepend(struct fb_engine *e, struct fb_engine_rq *r,
			    const struct fb_plan_piece *p)
{
	struct fb_sched_rq *fq = fb_sched_rq_of(r);
	bool done = fb_free_read_prepend(fb_host_disk(e), fq->rq, p->lbn, p->nsect);

	fq->prepended |= done;
	return done;
}

static void fb_host_take(struct fb_engine *e, struct fb_engine_rq *r)
{
	struct fb_sched_rq *fq = fb_sched_rq_of(r);

	fb_pool_del(fb_sched_of(e), fq);
	/* nobody tells of a discard that another one has been merged into */
	r->fg.lbn = blk_rq_pos(fq->rq);
	r->fg.nsect = blk_rq_sectors(fq->rq);
}

static void fb_host_hold(struct fb_engine *e, u64 until_ns)
{
	hrtimer_start(&fb_sched_of(e)->timer, ns_to_ktime(until_ns), HRTIMER_MODE_ABS);
}

/* ---- ends ---- */

static void fb_host_learners(struct fb_engine *e, struct fb_completion *l)
{
	struct fb_sched *sched = fb_sched_of(e);
	struct fb_disk *disk = fb_host_disk(e);

	*l = (struct fb_completion) {
		.dm = disk->model,
		.head = &e->head,
		/* the margin matters only while there are tasks that read in gaps */
		.margin = disk->cov ? &disk->conservatism : NULL,
		.calib = &disk->seek_fit,
		/* while the thread searches with the model, it corrects it (fb_model_correct()) */
		.may_correct = !disk->cov,
		.guard = &disk->guard,
		/* must not trip when the cost varies around the target by chance */
		.guard_ppm = e->auto_margin ? 2 * sched->target_ppm : sched->target_ppm,
		.probe = &disk->lookahead,
		.stats = &disk->stats.engine.ends,
	};
}

/* can the phase be found? The foreground's reads say so. */
static noinline_for_stack void fb_host_look_at_phase(struct fb_disk *disk,
						     const struct fb_completion_cmd *c, u64 now)
{
	struct fb_phase_read read = { c->lbn, c->nsect, .sent_ns = c->sent_ns, .end_ns = now };

	if (!c->foreground || c->write || c->unplaced || c->failed) {
		fb_phase_other(&disk->phase, now);
		return;
	}
	if (!fb_phase_read(&disk->phase, disk->model, &read))
		return;
	fb_gap_void(&disk->mail);
	/* later tries are silent */
	if (disk->phase.given_up == 1)
		fb_disk_say(disk,
			    "reads end at no angle of the model: it is another drive's, or the disk is a RAID or virtual; only idle time is used: measure the drive again (freeblock setup --measure)");
}

static void fb_host_learnt(struct fb_engine *e, struct fb_engine_rq *r,
			   const struct fb_completion_result *result, u64 now)
{
	const struct fb_completion_cmd *c = &r->cmd;
	struct fb_disk *disk = fb_host_disk(e);

	fb_host_look_at_phase(disk, c, now);
	if (result->correct)
		wake_up(&disk->wait);
	if (result->tripped) {
		disk->stats.guard_trips++;
		fb_disk_say(disk,
			    "free reads cost the foreground too many revolutions and stop for a while");
	}
	if (c->observed)
		trace_freeblock_complete(disk, c->lbn, c->nsect, c->cause, result->predicted_ns,
					 now, &result->end);
	if (fb_engine_predicts(e) && fb_disk_judge(disk, &e->head)) {
		fb_engine_void(e);
		fb_disk_say(disk,
			    "the model is wrong, a write cache is on, or a busy host reports completions late: requests are scheduled as by mq-deadline");
	}
}

static const struct fb_engine_ops fb_host_ops = {
	.now = fb_host_now,
	.unmapped = fb_host_unmapped,
	.by_lbn = fb_host_by_lbn,
	.unphased = fb_host_unphased,
	.may_read = fb_host_may_read,
	.view = fb_host_view,
	.decided = fb_host_decided,
	.learners = fb_host_learners,
	.learnt = fb_host_learnt,
	.limit = fb_host_limit,
	.above = fb_pool_above,
	.wake = fb_host_wake,
	.aim = fb_host_aim,
	.prepend = fb_host_prepend,
	.take = fb_host_take,
	.hold = fb_host_hold,
};

/* ---- who orders (core/engine/dispatch.c): when that is decided ---- */

/* Decide whether the drive orders, wherever a reason changes. True: the caller runs the queue. */
bool fb_host_decide(struct fb_sched *sched)
{
	lockdep_assert_held(&sched->disk->lock);
	return fb_engine_decide(&sched->engine, ktime_get_ns());
}

static enum hrtimer_restart fb_host_timer(struct hrtimer *timer)
{
	struct fb_sched *sched = container_of(timer, struct fb_sched, order_timer);

	scoped_guard(spinlock_irqsave, &sched->disk->lock) {
		sched->order_due_ns = 0;
		if (sched->disk->sched == sched)
			fb_host_decide(sched);
	}
	blk_mq_run_hw_queues(sched->q, true);
	return HRTIMER_NORESTART;
}

/* Have the queue run, which must not be done with the lock held. */
void fb_host_run_soon(struct fb_disk *disk)
{
	struct fb_sched *sched = disk->sched;

	lockdep_assert_held(&disk->lock);
	hrtimer_start(&sched->order_timer, 0, HRTIMER_MODE_ABS);
	/* until it has fired fb_host_decided() must not put it off */
	sched->order_due_ns = 1;
}

/* Tasks have begun to want blocks, or no longer do. */
void fb_host_wants_changed(struct fb_disk *disk)
{
	struct fb_sched *sched = disk->sched;

	lockdep_assert_held(&disk->lock);
	/* this may run before fb_disk_attach() has returned; later it is read without the lock */
	if (!sched->disk)
		fb_sched_set_disk(sched, disk);
	if (fb_host_decide(sched))
		fb_host_run_soon(disk);
}

/* Set up the engine, without a disk. May sleep. Return: 0 or -ENOMEM. */
int fb_host_init(struct fb_sched *sched)
{
	struct fb_engine *e = &sched->engine;

	e->round.order_cost = kvzalloc(sizeof(*e->round.order_cost), GFP_KERNEL);
	if (!e->round.order_cost)
		return -ENOMEM;
	fb_order_cost_init(e->round.order_cost);
	fb_compat_timer_setup(&sched->order_timer, fb_host_timer, HRTIMER_MODE_ABS);
	fb_engine_init(e, &fb_host_ops);
	e->wake_least_ns = fb_host_wake_ns;
	e->wake_ns = fb_host_wake_ns;
	return 0;
}

void fb_host_exit(struct fb_sched *sched)
{
	kvfree(sched->engine.round.order_cost);
}
