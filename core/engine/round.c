// SPDX-License-Identifier: GPL-2.0
/*
 * Policies joint and auto: a round chooses the next request together with the free read before it
 * (core/joint.h). The search asks for one gap after the other; when a command is to be sent the
 * round is settled with what has been found by then. Until then the choice is the request with the
 * shortest positioning time. A round is valid as long as its generation is that of the mailbox
 * (core/engine/gap.c). Candidates are pointers into the pool, so whoever takes a request out of the
 * pool, or moves it, voids the round first. Requests are ranked some at a time, for no step may be
 * long.
 */
#include "core/engine/engine.h"

void fb_round_charge(struct fb_engine *e, const struct dm_place *head, u64 now_ns)
{
	struct fb_order_cost_sum *sum = &e->stats->order;
	const struct fb_order_cost_at at = {
		.dm = e->dm,
		.odds = &e->margin->odds,
		.real = &e->pool,
		.head = head,
		.now_ns = now_ns,
		/* without free reads depth auto leaves the order to it */
		.drives = e->auto_depth,
	};
	s64 before_ns = sum->later_ns;
	s32 missed_ppm = e->auto_margin ? e->margin->cost_ppm : 0;

	if (!fb_policy_has_cost(e->pool.policy))
		return;
	/* without free reads these policies are sptf */
	if (fb_engine_is_joint(e) && !e->ops->may_read(e, now_ns)) {
		fb_order_cost_lost(e->round.order_cost);
		return;
	}
	if (fb_order_cost_charge(e->round.order_cost, &at, &e->choice, sum) &&
	    fb_engine_is_joint(e) &&
	    fb_joint_charge(&e->round.joint, sum->later_ns - before_ns, missed_ppm, e->pool.idle,
			    now_ns) && e->ops->priced)
		e->ops->priced(e);
}

/* ---- gaps ---- */

bool fb_engine_open_gap(struct fb_engine *e, struct fb_engine_rq *rq, const struct fb_gap *gap,
			u64 least_value, bool shared)
{
	struct fb_limits lim;

	if (!e->ops->limit(e, rq, &lim))
		return false;
	lim.least_value = least_value;
	e->mail->search_ns = e->search_ns;
	e->mail->probing = e->auto_lift;
	fb_gap_open(e->mail, gap, &lim, shared);
	e->stats->gaps++;
	return true;
}

/* ---- a round ---- */

static bool fb_round_is_valid(const struct fb_engine *e)
{
	return e->round.begun && e->round.gen == e->mail->gen;
}

static struct fb_joint_at fb_round_at(struct fb_engine *e, u64 now_ns)
{
	return (struct fb_joint_at) {
		.dm = e->dm,
		.odds = e->auto_margin ? &e->margin->odds : NULL,
		.pool = &e->pool,
		.head = &e->tail,
		.now_ns = now_ns,
	};
}

void fb_round_begin(struct fb_engine *e)
{
	struct fb_round *round = &e->round;

	fb_gap_void(e->mail);
	round->begun = true;
	round->ranked = false;
	fb_joint_begin(&round->r, &e->pool, e->choice.class);
	round->searching = false;
	round->next = 0;
	round->plan.kind = FB_PLAN_NONE;
	round->gen = e->mail->gen;
	e->mail->spent_ns = 0;
	fb_gap_ask(e->mail, &round->joint);
	e->ops->wake(e);
}

bool fb_round_has(const struct fb_engine *e, const struct fb_policy_req *req)
{
	return fb_round_is_valid(e) && fb_joint_has(&e->round.r, req);
}

static void fb_round_score(struct fb_engine *e, u32 i, const struct fb_gap *gap,
			   const struct fb_plan *plan)
{
	struct fb_joint_round *r = &e->round.r;
	struct fb_round *round = &e->round;
	bool was_best = r->scored && r->best == i;
	s64 score = r->score;

	/* a leftover has no value, and its turn has come (disk/reader.c) */
	if (plan && !plan->value)
		fb_joint_insist(r, i);
	else
		fb_joint_offer(&round->joint, e->dm, e->mail->mean, r, i, plan);
	/* a second plan without value has the score of the first, but is another one's */
	if (r->best != i || (was_best && r->score == score))
		return;
	round->plan.kind = FB_PLAN_NONE;
	if (plan)
		round->plan = *plan;
	round->gap = *gap;
	round->looked_at = round->searching;
}

static void fb_round_finish(struct fb_engine *e)
{
	struct fb_round *round = &e->round;

	if (!round->searching)
		return;
	fb_round_score(e, round->next - 1, &e->mail->gap, fb_gap_plan(e->mail));
	round->searching = false;
}

static void fb_round_open(struct fb_engine *e, u32 i)
{
	const struct fb_joint_candidate *c = &e->round.r.candidate[i];
	struct fb_engine_rq *rq = container_of(c->req, struct fb_engine_rq, fg);
	struct fb_gap gap = fb_engine_gap(e, rq);
	u64 least = fb_joint_least(&e->round.joint, e->dm, e->mail->mean, &e->round.r, i);

	if (!fb_engine_open_gap(e, rq, &gap, least, true)) {
		fb_round_score(e, i, &gap, NULL);
		return;
	}
	e->round.gen = e->mail->gen;
	e->round.searching = true;
}

bool fb_round_next(struct fb_engine *e, u64 now_ns)
{
	struct fb_round *round = &e->round;
	struct fb_joint_at at;

	if (!fb_round_is_valid(e))
		return false;
	at = fb_round_at(e, now_ns);
	if (!round->ranked) {
		round->ranked = !fb_joint_rank(&round->joint, &at, &round->r, FB_JOINT_SLICE);
		return !round->ranked || round->r.n;
	}
	fb_round_finish(e);
	/* one budget for all; the first is always looked at */
	if (round->next == round->r.n || (round->next && e->mail->spent_ns >= e->search_ns))
		return false;
	fb_joint_onward(&round->joint, &at, &round->r, round->next);
	fb_round_open(e, round->next++);
	return true;
}

bool fb_round_has_plan(const struct fb_engine *e)
{
	return fb_round_is_valid(e) && e->round.plan.kind != FB_PLAN_NONE;
}

void fb_round_settle(struct fb_engine *e)
{
	struct fb_round *round = &e->round;
	const struct fb_joint_candidate *c;

	if (!fb_round_is_valid(e) || !round->ranked)
		return;
	if (fb_gap_plan(e->mail))
		fb_round_finish(e);
	if (!round->r.scored)
		return;
	c = &round->r.candidate[round->r.best];
	e->choice.req = c->req;
	e->choice.seek_ns = c->seek_ns;
	e->choice.pos_ns = c->seek_ns + c->latency_ns;
	fb_joint_sent(&round->joint, &round->r);
	fb_gap_settle(e->mail, &round->gap, &round->plan, round->looked_at);
	round->begun = false;
}
