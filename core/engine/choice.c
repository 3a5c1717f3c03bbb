// SPDX-License-Identifier: GPL-2.0
/*
 * The choice of the next request, the gap before it, the plan in use, and what is sent next; see
 * core/engine/engine.h. Core.
 */
#include "core/engine/engine.h"
#include "core/search.h"

/* what a plan in time takes off fb_engine.wake_ns, of what that is above the least */
#define FB_ENGINE_WAKE_SHIFT 8

/**
 * fb_engine_init() - an engine without model and requests; the drive orders
 * @e: zeroed; the host sets @mail, @destage, @probe, @margin, @stats and @round.order_cost, and
 *	the settings if it likes others
 * @ops: the host
 */
void fb_engine_init(struct fb_engine *e, const struct fb_engine_ops *ops)
{
	e->ops = ops;
	INIT_LIST_HEAD(&e->flight);
	fb_policy_pool_init(&e->pool);
	e->pool.policy = FB_POLICY_AUTO;
	e->round.joint.cost_ppm = FB_JOINT_COST_PPM;
	e->lead_ns = FB_ENGINE_LEAD_NS;
	e->auto_depth = true;
	e->depth = FB_ENGINE_DEPTH;
	e->hold = true;
	e->auto_lift = true;
	e->lift = FB_LIFT_ALL;
	e->auto_margin = true;
	e->drive_orders = true;
}

/* ---- places ---- */

/* a request gets no place while the drive orders */
static const struct disk_model *fb_engine_map(const struct fb_engine *e,
					      const struct fb_engine_rq *rq)
{
	return rq->media && !e->drive_orders ? e->dm : NULL;
}

/**
 * fb_engine_add() - add a foreground request to the pool
 * @e: the engine
 * @rq: the request, described but for its place
 */
void fb_engine_add(struct fb_engine *e, struct fb_engine_rq *rq)
{
	fb_policy_req_place(&rq->fg, fb_engine_map(e, rq));
	fb_policy_pool_add(&e->pool, &rq->fg);
	if (fb_policy_has_cost(e->pool.policy))
		fb_order_cost_arrived(e->round.order_cost, &rq->fg);
}

static void fb_engine_place(struct fb_engine *e, struct fb_engine_rq *rq)
{
	fb_policy_pool_place(&e->pool, &rq->fg, fb_engine_map(e, rq));
}

/**
 * fb_engine_place_all() - place all pending requests again: the model or the order has changed
 * @e: the engine
 */
void fb_engine_place_all(struct fb_engine *e)
{
	enum fb_policy_class class;
	struct fb_policy_req *req;

	for (class = 0; class < FB_POLICY_CLASSES; class++)
		list_for_each_entry(req, &e->pool.reqs[class], node)
			fb_engine_place(e, container_of(req, struct fb_engine_rq, fg));
	fb_order_cost_lost(e->round.order_cost);
}

/* ---- the choice, and the gap before it ---- */

/**
 * fb_engine_drop_plan() - drop the rest of the plan in use, whose assumptions no longer hold
 * @e: the engine
 */
void fb_engine_drop_plan(struct fb_engine *e)
{
	if (e->plan.kind == FB_PLAN_NONE)
		return;
	e->stats->dropped += e->plan.npieces - e->next_piece;
	e->plan.kind = FB_PLAN_NONE;
}

/**
 * fb_engine_void() - drop the choice, its gap and its plan
 * @e: the engine
 */
void fb_engine_void(struct fb_engine *e)
{
	fb_engine_drop_plan(e);
	e->choice.req = NULL;
	e->pinned = false;
	/* its generation alone would be valid again after 2^32 */
	e->round.begun = false;
	fb_gap_void(e->mail);
}

/**
 * fb_engine_lose_head() - note that the drive does what is not followed
 * @e: the engine
 */
void fb_engine_lose_head(struct fb_engine *e)
{
	fb_head_lose(&e->head);
	e->tail_known = false;
}

/* rotational latency of the choice if nothing is read before it; 0: unknown */
static u64 fb_engine_gap_ns(const struct fb_engine *e)
{
	return e->choice.predicted ? e->choice.pos_ns - e->choice.seek_ns : 0;
}

/* at more depth the drive chooses; at depth 1 the command before is not yet sent */
static bool fb_engine_has_gap(const struct fb_engine *e, u64 now_ns)
{
	return e->nr_flight && !e->nr_untracked && e->depth == FB_ENGINE_DEPTH && e->tail_known &&
	       e->choice.predicted && e->ops->may_read(e, now_ns);
}

/**
 * fb_engine_open_gap() - offer the gap between the tail and a request to the search
 * @e: the engine
 * @rq: the request
 * @gap: the gap, see fb_engine_gap()
 * @latency_ns: its rotational latency if nothing is read before it
 * @least_value: what a plan must be worth more than
 * @shared: it is one of those that the search has asked for
 *
 * Return: false: nothing is read before the request.
 */
bool fb_engine_open_gap(struct fb_engine *e, struct fb_engine_rq *rq, const struct fb_gap *gap,
			u64 latency_ns, u64 least_value, bool shared)
{
	struct fb_limits lim;

	if (!e->ops->limit(e, rq, latency_ns, &lim))
		return false;
	lim.least_value = least_value;
	e->mail->search_ns = e->search_ns;
	e->mail->probing = e->auto_lift;
	fb_gap_open(e->mail, gap, &lim, shared);
	e->stats->gaps++;
	fb_engine_tell(e, FB_ENGINE_GAP);
	return true;
}

/* the gap before the choice, or those before what may take its place */
static void fb_engine_offer_gap(struct fb_engine *e, u64 now_ns)
{
	struct fb_engine_rq *rq = fb_engine_chosen(e);
	struct fb_gap gap;

	if (!fb_engine_has_gap(e, now_ns)) {
		fb_gap_void(e->mail);
		return;
	}
	gap = fb_engine_gap(e, rq);
	/*
	 * An expired request goes next, whatever its gap brings; and until it is known whether the
	 * foreground is a stream, none is passed over, which would cost that a turn.
	 */
	if (fb_engine_is_joint(e) && !e->choice.expired &&
	    fb_orders_may_wait(&e->orders, rq->fg.lbn))
		fb_round_begin(e);
	else if (!fb_engine_open_gap(e, rq, &gap, fb_engine_gap_ns(e), 0, false))
		fb_gap_void(e->mail);
	else
		e->ops->wake(e);
}

/* choose from the whole pool; @head: where the head will be, NULL: unknown */
static void fb_engine_choose(struct fb_engine *e, const struct dm_place *head, u64 now_ns)
{
	struct fb_engine_stats *st = e->stats;
	u64 ns = e->ops->now(e);

	fb_policy_choose(&e->pool, e->dm, head, now_ns, &e->choice);
	ns = e->ops->now(e) - ns;
	st->choices++;
	st->choice_ns += ns;
	st->choice_max_ns = max(st->choice_max_ns, ns);
	if (!e->choice.req) {
		fb_gap_void(e->mail);
		return;
	}
	fb_engine_tell(e, FB_ENGINE_CHOICE);
	fb_engine_offer_gap(e, now_ns);
}

/**
 * fb_engine_choose_again() - choose again, with the head at the tail
 * @e: the engine
 * @now_ns: the time
 *
 * If the drive is idle the choice is left to fb_engine_next().
 */
void fb_engine_choose_again(struct fb_engine *e, u64 now_ns)
{
	if (!e->nr_flight || !fb_engine_predicts(e)) {
		fb_engine_void(e);
		return;
	}
	fb_engine_choose(e, e->tail_known ? &e->tail : NULL, now_ns);
}

/**
 * fb_engine_offer() - make a request the choice if it is better, in O(1)
 * @e: the engine
 * @rq: the request, pooled; it has just arrived, or grown at its front
 * @now_ns: the time
 */
void fb_engine_offer(struct fb_engine *e, struct fb_engine_rq *rq, u64 now_ns)
{
	if (e->pinned || !e->nr_flight || !fb_engine_predicts(e))
		return;
	if (!e->choice.req)
		fb_engine_choose_again(e, now_ns);
	else if (fb_policy_offer(&e->pool, e->dm, e->tail_known ? &e->tail : NULL, &rq->fg,
				 &e->choice))
		fb_engine_offer_gap(e, now_ns);
	else
		fb_round_offer(e, &rq->fg, now_ns);
}

/**
 * fb_engine_grown() - note that a pooled request begins at another sector
 * @e: the engine
 * @rq: the request
 * @now_ns: the time
 */
void fb_engine_grown(struct fb_engine *e, struct fb_engine_rq *rq, u64 now_ns)
{
	fb_engine_place(e, rq);
	if (e->choice.req != &rq->fg && !fb_round_has(e, &rq->fg))
		fb_engine_offer(e, rq, now_ns);
	else if (e->pinned)
		fb_engine_drop_plan(e);
	else
		fb_engine_choose_again(e, now_ns);
}

/**
 * fb_engine_remove() - take a request out of the pool
 * @e: the engine
 * @rq: the request; it may be a candidate
 */
void fb_engine_remove(struct fb_engine *e, struct fb_engine_rq *rq)
{
	if (fb_round_has(e, &rq->fg))
		fb_gap_void(e->mail);
	fb_policy_pool_del(&e->pool, &rq->fg);
}

/**
 * fb_engine_merged() - take a request out of the pool that has become part of another one
 * @e: the engine
 * @rq: the other, in the pool, too; NULL: it is not
 * @gone: the request, of the same class and direction
 * @now_ns: the time
 */
void fb_engine_merged(struct fb_engine *e, struct fb_engine_rq *rq, struct fb_engine_rq *gone,
		      u64 now_ns)
{
	if (rq)
		fb_policy_pool_merge(&e->pool, &rq->fg, &gone->fg);
	if (e->choice.req == &gone->fg || fb_round_has(e, &gone->fg)) {
		fb_gap_void(e->mail);
		fb_engine_drop_plan(e);
		e->choice.req = rq && e->pinned ? &rq->fg : NULL;
	}
	fb_engine_remove(e, gone);
	if (e->choice.req)
		return;
	e->pinned = false;
	if (e->pool.count)
		fb_engine_choose_again(e, now_ns);
}

/* ---- plans ---- */

static void fb_engine_note_late(struct fb_engine *e)
{
	if (!fb_gap_plan(e->mail) && !fb_round_has_plan(e))
		return;
	e->stats->too_late++;
	e->wake_ns = min(2 * e->wake_ns, dm_period_ns(e->dm));
}

/* make the choice final, and get the plan for the gap before it; NULL: none, or it is too late */
static const struct fb_plan *fb_engine_take_plan(struct fb_engine *e, u64 now_ns)
{
	const struct fb_plan *plan;

	if (!e->nr_flight)
		return NULL;
	if (e->ops->search)
		e->ops->search(e, now_ns);
	/* then no request may be preferred for a plan that cannot be used */
	if (fb_engine_too_late(e, e->ops->now(e))) {
		fb_engine_note_late(e);
		return NULL;
	}
	fb_round_settle(e);
	plan = fb_gap_plan(e->mail);
	if (!plan)
		return NULL;
	e->wake_ns -= (e->wake_ns - e->wake_least_ns) >> FB_ENGINE_WAKE_SHIFT;
	e->extra_ns = fb_search_extra_ns(e->dm, &e->mail->gap, fb_engine_gap_ns(e));
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

/* number of a plan's pieces that are sent as separate commands */
static u32 fb_engine_commands(const struct fb_plan *plan)
{
	switch (plan->kind) {
	case FB_PLAN_SEPARATE:
		return plan->npieces;
	case FB_PLAN_BOTH:
		return plan->npieces - 1;
	default:
		return 0;
	}
}

/* send the next separate command of the plan in use; NULL: there is none */
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

/* send the choice, with the plan's prepended read if there is one */
static struct fb_engine_rq *fb_engine_send_choice(struct fb_engine *e,
						  const struct fb_plan_piece *prepend,
						  struct fb_engine_send *d, u64 now_ns)
{
	struct fb_engine_rq *rq = fb_engine_chosen(e);
	bool stream;

	*d = (struct fb_engine_send) {
		.cause = e->pinned ? FB_CAUSE_AFTER : FB_CAUSE_PLAIN,
		.lbn = rq->fg.lbn,
		.nsect = rq->fg.nsect,
		.lifts = fb_engine_lifts(e),
		.gap_ns = fb_engine_gap_ns(e),
		.extra_ns = e->extra_ns,
	};
	e->ops->take(e, rq);
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
	if (!e->nr_flight) {
		known = fb_completion_idle_head(&e->head, now_ns, false, &head, &start_ns);
		fb_engine_choose(e, known ? &head : NULL, now_ns);
		fb_order_cost_lost(e->round.order_cost);
	} else if (!e->choice.req) {
		fb_engine_choose_again(e, now_ns);
	}
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
	*d = (struct fb_engine_send) {
		.cause = FB_CAUSE_PLAIN,
		.lbn = rq->fg.lbn,
		.nsect = rq->fg.nsect,
	};
	e->ops->take(e, rq);
	fb_policy_sent(&e->pool, &rq->fg, false);
	fb_engine_note_sent(e, rq, now_ns);
	fb_engine_send(e, rq, d, now_ns);
	return rq;
}

/**
 * fb_engine_is_full() - does the drive get no more commands now?
 * @e: the engine
 *
 * Return: false also while the drive orders: it gets all that it takes.
 */
bool fb_engine_is_full(const struct fb_engine *e)
{
	bool ordered = fb_engine_predicts(e) ||
		       (e->ops->by_lbn(e) && e->pool.policy != FB_POLICY_FIFO);

	return ordered && e->nr_flight >= e->depth;
}

/**
 * fb_engine_has_work() - would fb_engine_next() send something?
 * @e: the engine
 * @now_ns: the time
 */
bool fb_engine_has_work(const struct fb_engine *e, u64 now_ns)
{
	return e->pool.count && !fb_engine_is_full(e) &&
	       !(fb_engine_predicts(e) && fb_engine_is_holding(e, now_ns));
}

/**
 * fb_engine_next() - send the next command
 * @e: the engine
 * @d: out: how; the host does what it has to, and calls again until there is none
 * @now_ns: the time
 *
 * Return: the command; NULL: nothing is sent now.
 */
struct fb_engine_rq *fb_engine_next(struct fb_engine *e, struct fb_engine_send *d, u64 now_ns)
{
	if (!fb_engine_has_work(e, now_ns))
		return NULL;
	return fb_engine_predicts(e) ? fb_engine_fill(e, d, now_ns) : fb_engine_pass(e, d, now_ns);
}

/* ---- changes ---- */

/**
 * fb_engine_set_model() - there is another model, or it is used now, or no longer
 * @e: the engine
 * @dm: the model, or NULL
 * @now_ns: the time
 */
void fb_engine_set_model(struct fb_engine *e, struct disk_model *dm, u64 now_ns)
{
	struct fb_engine_rq *rq;

	e->dm = dm;
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

/**
 * fb_engine_changed() - a setting has changed
 * @e: the engine
 * @now_ns: the time
 */
void fb_engine_changed(struct fb_engine *e, u64 now_ns)
{
	fb_engine_decide(e, now_ns);
	fb_order_cost_lost(e->round.order_cost);
	if (!e->pinned)
		fb_engine_choose_again(e, now_ns);
}
