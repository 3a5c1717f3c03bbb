// SPDX-License-Identifier: GPL-2.0
/*
 * Who orders: the policy, one command behind another, or the drive, which then gets all that it
 * takes (core/orders.h). And what is sent next: the plan in use, the choice, or what the drive
 * orders; see core/engine/engine.h.
 */
#include "core/engine/engine.h"

/* what a plan in time takes off fb_engine.wake_ns, of what that is above the least */
#define FB_ENGINE_WAKE_SHIFT 8
#define FB_ENGINE_HOLES 20	/* 1/20 of the LBNs may be unmapped: see fb_engine_is_blind() */

/* ---- who orders ---- */

/* Note where a request about to be sent goes. True: a stream begins: fb_engine_decide() is due. */
static bool fb_engine_note_sent(struct fb_engine *e, const struct fb_engine_rq *rq, u64 now_ns)
{
	return rq->media && fb_orders_sent(&e->orders, rq->fg.lbn, rq->fg.nsect,
					   !e->nr_flight && !e->pool.count, now_ns);
}

static bool fb_engine_is_overdue(const struct fb_engine *e, u64 now_ns)
{
	const struct fb_engine_rq *rq;

	list_for_each_entry(rq, &e->flight, flight)
		if (fb_engine_is_foreground(rq) && rq->fg.deadline_ns &&
		    rq->fg.deadline_ns < now_ns)
			return true;
	return fb_policy_is_overdue(&e->pool, now_ns);
}

/* foreground requests that are pending or at the drive */
static u32 fb_engine_outstanding(const struct fb_engine *e)
{
	const struct fb_engine_rq *rq;
	u32 n = e->pool.count;

	list_for_each_entry(rq, &e->flight, flight)
		n += fb_engine_is_foreground(rq);
	return n;
}

/*
 * Is too much unmapped to order a deep foreground by the map? Beside a scan of nearline16 ten
 * outstanding requests lose 1 % where all is mapped, 4 % with one LBN in ten unmapped, 14 % with
 * two in three.
 */
static bool fb_engine_is_blind(const struct fb_engine *e)
{
	const struct dm_info *info;

	if (!e->dm)
		return false;
	info = dm_info(e->dm);
	return (info->sectors - info->mapped) * FB_ENGINE_HOLES > info->sectors &&
	       fb_engine_outstanding(e) > FB_ORDERS_SHALLOW;
}

/* does the drive order, as far as streams and wanted blocks decide it? */
static bool fb_engine_is_drives(struct fb_engine *e, u64 now_ns)
{
	struct fb_orders_view v = {
		.now_ns = now_ns,
		.outstanding = e->pool.count + e->nr_flight,
		.blind = fb_engine_is_blind(e),
	};

	e->ops->view(e, &v);
	/* the policy keeps to deadlines, the drive need not */
	if (fb_orders_is_stream(&e->orders, now_ns) && fb_engine_is_overdue(e, now_ns))
		e->orders.stream = false;
	return fb_orders_decide(&e->orders, &v);
}

/*
 * Has a random request that comes alone a gap though there is a write cache? Not beside what the
 * drive has in its own order, which is not predicted.
 */
static bool fb_engine_is_lone(const struct fb_engine *e)
{
	return fb_destage_rests(e->destage) && fb_orders_is_random(&e->orders) &&
	       (!e->drive_orders || e->nr_flight == e->nr_idle) && fb_engine_outstanding(e) < 2;
}

static void fb_engine_flip(struct fb_engine *e)
{
	struct fb_engine_rq *rq;

	e->drive_orders = !e->drive_orders;
	e->window_ns = 0;
	e->lifts = 0;
	fb_engine_void(e);
	fb_order_cost_lost(e->round.order_cost);
	/* an idle read is alone */
	if (e->nr_flight == e->nr_idle)
		return;
	/* the drive may do now what it has in another order than predicted */
	e->tail_known = false;
	fb_head_lose(&e->head);
	list_for_each_entry(rq, &e->flight, flight)
		if (rq->cmd.cause != FB_CAUSE_IDLE)
			rq->cmd.start_ns = 0;
}

/*
 * With depth auto the drive orders while no free read is wanted or the foreground is a stream, most
 * of the time while few blocks are wanted and the foreground is deep (core/orders.h), and while its
 * write cache takes writes at once (core/destage.h); with any depth while no map is used or the
 * phase is given up (core/phase.h).
 */
bool fb_engine_decide(struct fb_engine *e, u64 now_ns)
{
	bool drives = fb_engine_is_drives(e, now_ns), changed;

	drives |= fb_destage_orders(e->destage) && !fb_engine_is_lone(e);
	drives = (e->auto_depth && drives) || e->ops->unmapped(e) || e->ops->unphased(e, now_ns);
	changed = drives != e->drive_orders;
	if (changed)
		fb_engine_flip(e);
	e->ops->decided(e, changed);
	return changed;
}

/* ---- plans ---- */

/* make the choice final, and get the plan for the gap before it; NULL: none, or it is too late */
static const struct fb_plan *fb_engine_take_plan(struct fb_engine *e, u64 now_ns)
{
	const struct fb_plan *plan;

	/* behind a pause the drive must be idle, as it was to be */
	if (!e->nr_flight == !e->paused)
		return NULL;
	if (e->ops->search)
		e->ops->search(e, now_ns);
	now_ns = e->ops->now(e);
	/* then no request may be preferred for a plan that cannot be used */
	if (e->paused ? now_ns > e->pause_ns : fb_engine_too_late(e, now_ns)) {
		fb_engine_note_late(e);
		return NULL;
	}
	fb_round_settle(e);
	plan = fb_gap_plan(e->mail);
	if (!plan)
		return NULL;
	e->wake_ns -= (e->wake_ns - e->wake_least_ns) >> FB_ENGINE_WAKE_SHIFT;
	return plan;
}

/* limits that the next command of the plan in use lifts, of those it was allowed to lift */
static u32 fb_engine_lifts(const struct fb_engine *e)
{
	if (e->plan.kind == FB_PLAN_NONE)
		return 0;
	return fb_lookahead_lifts(e->dm, &e->mail->gap, &e->plan, e->next_piece) &
	       e->mail->lim.lift;
}

/* ---- sending ---- */

static u32 fb_engine_commands(const struct fb_plan *plan)
{
	if (plan->kind == FB_PLAN_SEPARATE)
		return plan->npieces;
	return plan->kind == FB_PLAN_BOTH ? plan->npieces - 1 : 0;
}

static struct fb_engine_rq *fb_engine_send_piece(struct fb_engine *e, struct fb_engine_send *d,
						 u64 now_ns)
{
	const struct fb_plan_piece *p = &e->plan.piece[e->next_piece];
	u32 n = fb_engine_commands(&e->plan);
	struct fb_engine_rq *rq;

	if (e->next_piece >= n)
		return NULL;
	rq = e->ops->aim(e, p, e->next_piece + 1 < n);
	if (!rq) {
		fb_engine_drop_plan(e);
		return NULL;
	}
	*d = (struct fb_engine_send) {
		.cause = FB_CAUSE_SEPARATE,
		.lbn = p->lbn,
		.nsect = p->nsect,
		.lifts = fb_engine_lifts(e),
		.paused = e->paused,
	};
	e->next_piece++;
	fb_engine_send(e, rq, d, now_ns);
	return rq;
}

static struct fb_engine_rq *fb_engine_begin_plan(struct fb_engine *e, const struct fb_plan *plan,
						 struct fb_engine_send *d, u64 now_ns)
{
	struct fb_engine_rq *rq;

	e->plan = *plan;
	e->next_piece = 0;
	rq = fb_engine_send_piece(e, d, now_ns);
	if (!rq)
		return NULL;
	e->pinned = true;
	fb_gap_void(e->mail);
	e->stats->several += plan->npieces > 1;
	return rq;
}

static struct fb_engine_rq *fb_engine_send_choice(struct fb_engine *e,
						  const struct fb_plan_piece *prepend,
						  struct fb_engine_send *d, u64 now_ns)
{
	struct fb_engine_rq *rq = fb_engine_chosen(e);
	bool stream;

	e->ops->take(e, rq);
	*d = (struct fb_engine_send) {
		.cause = e->pinned ? FB_CAUSE_AFTER : FB_CAUSE_PLAIN,
		.lbn = rq->fg.lbn,
		.nsect = rq->fg.nsect,
		.lifts = fb_engine_lifts(e),
		.gap_ns = fb_engine_gap_ns(e),
		.paused = e->paused,
	};
	fb_policy_sent(&e->pool, &rq->fg, e->choice.expired);
	if (prepend && e->ops->prepend(e, rq, prepend)) {
		d->cause = FB_CAUSE_PREPEND;
		d->nsect += d->lbn - prepend->lbn;
		d->lbn = prepend->lbn;
	}
	stream = fb_engine_note_sent(e, rq, now_ns);
	e->next_piece += !!prepend;
	fb_engine_void(e);
	fb_engine_send(e, rq, d, now_ns);
	/* the host asks for more until there is no work */
	if (stream)
		fb_engine_decide(e, now_ns);
	if (e->pool.count)
		fb_engine_choose_again(e, now_ns);
	return rq;
}

/* after a separate read: send the rest of its plan, then the choice */
static struct fb_engine_rq *fb_engine_go_on(struct fb_engine *e, struct fb_engine_send *d,
					    u64 now_ns)
{
	const struct fb_plan_piece *prepend = NULL;
	struct fb_engine_rq *rq;

	/* reads have been stopped, or the drive is ahead of us and the rest would be too late */
	if (!e->ops->may_read(e, now_ns) || !e->nr_flight || fb_engine_too_late(e, now_ns))
		fb_engine_drop_plan(e);
	rq = fb_engine_send_piece(e, d, now_ns);
	if (rq)
		return rq;
	if (e->plan.kind == FB_PLAN_BOTH)
		prepend = &e->plan.piece[e->next_piece];
	return fb_engine_send_choice(e, prepend, d, now_ns);
}

/* the policy orders, by the map: fill a slot (Documentation/design.rst, One request's way) */
static struct fb_engine_rq *fb_engine_fill(struct fb_engine *e, struct fb_engine_send *d,
					   u64 now_ns)
{
	const struct fb_plan *plan;
	struct fb_engine_rq *rq;
	struct dm_place head;
	u64 start_ns;
	bool known;

	e->window_ns = 0;
	if (e->pinned)
		return fb_engine_go_on(e, d, now_ns);
	if (e->paused && e->choice.req) {
		head = e->tail;
	} else if (!e->nr_flight) {
		known = fb_completion_idle_head(&e->head, now_ns, false, &head, &start_ns);
		fb_engine_choose(e, known ? &head : NULL, now_ns);
		fb_order_cost_lost(e->round.order_cost);
	} else if (!e->choice.req) {
		fb_engine_choose_again(e, now_ns);
	}
	if (fb_engine_pause(e, now_ns))
		return NULL;
	plan = fb_engine_take_plan(e, now_ns);
	fb_round_charge(e, e->nr_flight ? &e->tail : &head, now_ns);
	if (plan && plan->kind == FB_PLAN_PREPEND)
		return fb_engine_send_choice(e, &plan->piece[0], d, now_ns);
	rq = plan ? fb_engine_begin_plan(e, plan, d, now_ns) : NULL;
	return rq ? rq : fb_engine_send_choice(e, NULL, d, now_ns);
}

/* the drive orders, or there is no map: in mq-deadline's order, or the policy's own without one */
static struct fb_engine_rq *fb_engine_pass(struct fb_engine *e, struct fb_engine_send *d,
					   u64 now_ns)
{
	struct fb_policy_choice choice;
	struct fb_engine_rq *rq;

	if (e->ops->by_lbn(e))
		fb_policy_choose(&e->pool, NULL, NULL, now_ns, &choice);
	else
		choice.req = fb_policy_choose_deadline(&e->pool, now_ns, e->ops->above);
	rq = container_of(choice.req, struct fb_engine_rq, fg);
	e->ops->take(e, rq);
	*d = (struct fb_engine_send) {
		.cause = FB_CAUSE_PLAIN,
		.lbn = rq->fg.lbn,
		.nsect = rq->fg.nsect,
	};
	fb_policy_sent(&e->pool, &rq->fg, false);
	fb_engine_note_sent(e, rq, now_ns);
	fb_engine_send(e, rq, d, now_ns);
	return rq;
}

bool fb_engine_is_full(const struct fb_engine *e)
{
	bool ordered = fb_engine_predicts(e) || e->ops->by_lbn(e);

	return ordered && e->nr_flight >= e->depth;
}

bool fb_engine_has_work(const struct fb_engine *e, u64 now_ns)
{
	return e->pool.count && !fb_engine_is_full(e) &&
	       !(fb_engine_predicts(e) && fb_engine_is_holding(e, now_ns));
}

struct fb_engine_rq *fb_engine_next(struct fb_engine *e, struct fb_engine_send *d, u64 now_ns)
{
	if (!fb_engine_has_work(e, now_ns))
		return NULL;
	return fb_engine_predicts(e) ? fb_engine_fill(e, d, now_ns) : fb_engine_pass(e, d, now_ns);
}

/* ---- changes ---- */

void fb_engine_set_model(struct fb_engine *e, struct disk_model *dm, u64 now_ns)
{
	struct fb_engine_rq *rq;

	e->dm = dm;
	fb_writeback_lose(&e->destage->writeback);
	if (dm) {
		fb_head_init(&e->head, dm);
		fb_joint_init(&e->round.joint, dm, e->round.joint.cost_ppm);
	}
	e->tail_known = false;
	list_for_each_entry(rq, &e->flight, flight) {
		rq->cmd.placed = false;
		rq->cmd.start_ns = 0;
	}
	fb_engine_place_all(e);
	fb_engine_void(e);
	fb_engine_decide(e, now_ns);
}

void fb_engine_changed(struct fb_engine *e, u64 now_ns)
{
	fb_engine_decide(e, now_ns);
	fb_order_cost_lost(e->round.order_cost);
	if (!e->pinned)
		fb_engine_choose_again(e, now_ns);
}
