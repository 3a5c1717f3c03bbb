// SPDX-License-Identifier: GPL-2.0
/* Pending requests and the provisional choice among them; see core/engine/engine.h. */
#include "core/engine/engine.h"

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
	/* one pause that comes late is enough at first */
	e->pause_late = FB_ENGINE_PAUSE_LATE;
}

/* ---- places ---- */

/* while the drive orders, too: else all would be placed at once, under the lock, when it ends */
static const struct disk_model *fb_engine_map(const struct fb_engine *e,
					      const struct fb_engine_rq *rq)
{
	return rq->media ? e->dm : NULL;
}

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

void fb_engine_drop_plan(struct fb_engine *e)
{
	if (e->plan.kind == FB_PLAN_NONE)
		return;
	e->stats->dropped += e->plan.npieces - e->next_piece;
	e->plan.kind = FB_PLAN_NONE;
}

void fb_engine_void(struct fb_engine *e)
{
	fb_engine_drop_plan(e);
	e->choice.req = NULL;
	e->paused = false;
	e->pinned = false;
	/* its generation alone would be valid again after 2^32 */
	e->round.begun = false;
	fb_gap_void(e->mail);
}

void fb_engine_lose_head(struct fb_engine *e)
{
	fb_head_lose(&e->head);
	fb_writeback_lose(&e->destage->writeback);
	e->tail_known = false;
}

static void fb_engine_offer_gap(struct fb_engine *e, u64 now_ns)
{
	struct fb_engine_rq *rq = fb_engine_chosen(e);
	struct fb_gap gap;

	/* at more depth the drive chooses; at depth 1 the command before is not yet sent */
	if ((!e->nr_flight && !e->paused) || e->nr_untracked || e->depth != FB_ENGINE_DEPTH ||
	    !e->tail_known || !e->choice.predicted || !e->ops->may_read(e, now_ns)) {
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
	else if (!fb_engine_open_gap(e, rq, &gap, 0, false))
		fb_gap_void(e->mail);
	else
		e->ops->wake(e);
}

void fb_engine_choose(struct fb_engine *e, const struct dm_place *head, u64 now_ns)
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
	fb_engine_offer_gap(e, now_ns);
}

void fb_engine_choose_again(struct fb_engine *e, u64 now_ns)
{
	if (!e->nr_flight || !fb_engine_predicts(e)) {
		fb_engine_void(e);
		return;
	}
	fb_engine_choose(e, e->tail_known ? &e->tail : NULL, now_ns);
}

void fb_engine_offer(struct fb_engine *e, struct fb_engine_rq *rq, u64 now_ns)
{
	if (e->pinned || (!e->nr_flight && !e->paused) || !fb_engine_predicts(e))
		return;
	if (!e->choice.req)
		fb_engine_choose_again(e, now_ns);
	else if (fb_policy_offer(&e->pool, e->dm, e->tail_known ? &e->tail : NULL, &rq->fg,
				 &e->choice))
		fb_engine_offer_gap(e, now_ns);
}

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

void fb_engine_remove(struct fb_engine *e, struct fb_engine_rq *rq)
{
	if (fb_round_has(e, &rq->fg))
		fb_gap_void(e->mail);
	fb_policy_pool_del(&e->pool, &rq->fg);
}

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
