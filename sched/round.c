// SPDX-License-Identifier: GPL-2.0
/*
 * Policies joint and auto: a round chooses the next request together with the free read before it
 * (core/joint.h). The disk's thread asks for one gap after the other and searches it; dispatch
 * settles the round with what has been found by then. Each step is short, because it is done
 * under the lock; what takes long, the search, is not. Before anything has been found the choice
 * is the request with the shortest positioning time, so the foreground waits for none of this.
 *
 * A round is valid as long as its generation is that of the mailbox (disk/gap.c): whatever voids
 * the gap voids the round. Candidates are pointers into the pool, so whoever takes a request out
 * of the pool, or moves it, voids the round first.
 *
 * Requests are ranked some at a time, so that no step is long. One that begins elsewhere after a
 * front merge is not ranked again if it has been, and is no candidate then; its turn will come.
 *
 * Locks: fb_disk.lock, held by every caller but where said.
 */
#include <linux/slab.h>

#include "disk/coverage.h"
#include "disk/trace_events.h"
#include "sched/sched.h"

/**
 * fb_round_init() - begin with no round and the default cost
 * @fs: the scheduler
 *
 * Context: may sleep.
 *
 * Return: 0 or -ENOMEM.
 */
int fb_round_init(struct fb_sched *fs)
{
	struct fb_round *round = &fs->round;

	round->order_cost = kvzalloc(sizeof(*round->order_cost), GFP_KERNEL);
	if (!round->order_cost)
		return -ENOMEM;
	fb_order_cost_init(round->order_cost);
	round->joint.cost_ppm = FB_JOINT_COST_PPM;
	return 0;
}

/**
 * fb_round_exit() - undo fb_round_init()
 * @fs: the scheduler
 */
void fb_round_exit(struct fb_sched *fs)
{
	kvfree(fs->round.order_cost);
}

/**
 * fb_round_reset() - forget what was learnt: there is another model, or none
 * @fs: the scheduler, its disk locked
 *
 * Context: fb_disk.lock held.
 */
void fb_round_reset(struct fb_sched *fs)
{
	fb_round_lose(fs);
	if (fs->fd->model)
		fb_joint_init(&fs->round.joint, fs->fd->model, fs->round.joint.cost_ppm);
}

/* ---- what the order costs ---- */

/**
 * fb_round_arrived() - note that a request has entered the pool
 * @fs: the scheduler, its disk locked
 * @fq: the request
 *
 * Context: fb_disk.lock held.
 */
void fb_round_arrived(struct fb_sched *fs, const struct fb_sched_rq *fq)
{
	lockdep_assert_held(&fs->fd->lock);
	if (fb_policy_has_cost(fs->pool.policy))
		fb_order_cost_arrived(fs->round.order_cost, &fq->fg);
}

/**
 * fb_round_lose() - note that requests go by another order, or that their places have changed
 * @fs: the scheduler, its disk locked
 *
 * Context: fb_disk.lock held.
 */
void fb_round_lose(struct fb_sched *fs)
{
	lockdep_assert_held(&fs->fd->lock);
	fb_order_cost_lost(fs->round.order_cost);
}

/**
 * fb_round_charge() - account for the choice, which goes next
 * @fs: the scheduler, its disk locked, with a choice that is still in the pool
 * @head: where the head will be
 * @now: the time
 *
 * Context: fb_disk.lock held.
 */
void fb_round_charge(struct fb_sched *fs, const struct dm_place *head, u64 now)
{
	struct fb_order_cost_sum *sum = &fs->fd->stats.order;
	const struct fb_order_cost_at at = {
		.dm = fs->fd->model,
		.odds = &fs->fd->conservatism.odds,
		.real = &fs->pool,
		.head = head,
		.now_ns = now,
		/* without free reads depth auto leaves the order to it */
		.drives = fs->auto_depth,
	};
	s64 before_ns = sum->later_ns;

	lockdep_assert_held(&fs->fd->lock);
	if (!fb_policy_has_cost(fs->pool.policy))
		return;
	/* without free reads these policies are sptf */
	if (fb_sched_is_joint(fs) && !fb_coverage_may_read(fs->fd)) {
		fb_round_lose(fs);
		return;
	}
	if (fb_order_cost_charge(fs->round.order_cost, &at, &fs->choice, sum) &&
	    fb_sched_is_joint(fs))
		fb_joint_charge(&fs->round.joint, sum->later_ns - before_ns,
				fs->auto_margin ? fs->fd->conservatism.cost_ppm : 0, fs->pool.idle,
				now);
}

/* ---- a round ---- */

static bool fb_round_is_valid(const struct fb_sched *fs)
{
	return fs->round.begun && fs->round.gen == fs->fd->mail.gen;
}

static struct fb_joint_at fb_round_at(struct fb_sched *fs, u64 now)
{
	return (struct fb_joint_at) {
		.dm = fs->fd->model,
		.odds = fs->auto_margin ? &fs->fd->conservatism.odds : NULL,
		.pool = &fs->pool,
		.head = &fs->tail,
		.now_ns = now,
	};
}

/**
 * fb_round_begin() - have the thread look for something better than the choice
 * @fs: the scheduler, its disk locked, with a predicted choice, and the head at the tail
 *
 * Context: fb_disk.lock held.
 */
void fb_round_begin(struct fb_sched *fs)
{
	struct fb_round *round = &fs->round;

	fb_gap_void(fs->fd);
	round->begun = true;
	round->ranked = false;
	fb_joint_begin(&round->r, &fs->pool, fs->choice.class);
	round->searching = false;
	round->next = 0;
	round->plan.kind = FB_PLAN_NONE;
	round->gen = fs->fd->mail.gen;
	fs->fd->mail.spent_ns = 0;
	fb_gap_ask(fs->fd, &round->joint);
}

/**
 * fb_round_offer() - let a request that has just arrived, or grown, join the round
 * @fs: the scheduler, its disk locked
 * @req: the request
 *
 * Context: fb_disk.lock held.
 */
void fb_round_offer(struct fb_sched *fs, struct fb_policy_req *req)
{
	struct fb_joint_at at;

	lockdep_assert_held(&fs->fd->lock);
	if (!fb_round_is_valid(fs) || !fs->round.ranked)
		return;
	at = fb_round_at(fs, ktime_get_ns());
	if (fb_joint_arrived(&fs->round.joint, &at, &fs->round.r, req))
		fb_gap_ask(fs->fd, &fs->round.joint);
}

/**
 * fb_round_has() - does a round hold on to this request?
 * @fs: the scheduler, its disk locked
 * @req: the request
 *
 * Context: fb_disk.lock held.
 *
 * Return: true if it is a candidate of a valid round, or the next that is ranked.
 */
bool fb_round_has(const struct fb_sched *fs, const struct fb_policy_req *req)
{
	return fb_round_is_valid(fs) && fb_joint_has(&fs->round.r, req);
}

/* score a candidate, with the plan for the gap before it or without any */
static void fb_round_score(struct fb_sched *fs, u32 i, const struct fb_gap *gap,
			   const struct fb_plan *plan)
{
	struct fb_joint_round *r = &fs->round.r;
	struct fb_round *round = &fs->round;
	s64 score = r->score;
	bool scored = r->scored;

	/* a leftover has no value, and its turn has come (disk/reader.c) */
	if (plan && !plan->value)
		fb_joint_insist(r, i);
	else
		fb_joint_offer(&round->joint, fs->fd->model, fs->fd->mail.mean, r, i, plan);
	if (r->best != i || (scored && r->score == score))
		return;
	round->plan.kind = FB_PLAN_NONE;
	if (plan)
		round->plan = *plan;
	round->gap = *gap;
	round->looked_at = round->searching;
}

/* the search of a candidate's gap is over, or is given up */
static void fb_round_finish(struct fb_sched *fs)
{
	struct fb_round *round = &fs->round;

	if (!round->searching)
		return;
	fb_round_score(fs, round->next - 1, &fs->fd->mail.gap, fb_gap_plan(fs->fd));
	round->searching = false;
}

/* open the gap before a candidate, or leave it alone */
static void fb_round_open(struct fb_sched *fs, u32 i)
{
	const struct fb_joint_candidate *c = &fs->round.r.candidate[i];
	struct fb_sched_rq *fq = container_of(c->req, struct fb_sched_rq, fg);
	struct fb_limits lim;
	struct fb_gap gap;

	if (!fb_limits_of_gap(fs, fq, c->latency_ns, &gap, &lim)) {
		fb_round_score(fs, i, &gap, NULL);
		return;
	}
	lim.least_value = fb_joint_least(&fs->round.joint, fs->fd->model, fs->fd->mail.mean,
					 &fs->round.r, i);
	fb_gap_go_on(fs->fd, &gap, &lim);
	fs->round.gen = fs->fd->mail.gen;
	fs->round.searching = true;
}

/**
 * fb_round_next() - do one step towards the next gap that is to be searched
 * @fd: the disk, locked, with a round
 *
 * Context: the thread; fb_disk.lock held.
 *
 * Return: false: the round has no more gaps.
 */
bool fb_round_next(struct fb_disk *fd)
{
	struct fb_sched *fs = fd->sched;
	struct fb_round *round = &fs->round;
	struct fb_joint_at at;

	lockdep_assert_held(&fd->lock);
	if (!fb_round_is_valid(fs))
		return false;
	at = fb_round_at(fs, ktime_get_ns());
	if (!round->ranked) {
		round->ranked = !fb_joint_rank(&round->joint, &at, &round->r, FB_JOINT_SLICE);
		return !round->ranked || round->r.n;
	}
	fb_round_finish(fs);
	/* one budget for all; the first is always looked at */
	if (round->next == round->r.n || (round->next && fd->mail.spent_ns >= fs->search_ns))
		return false;
	fb_joint_onward(&round->joint, &at, &round->r, round->next);
	fb_round_open(fs, round->next++);
	return true;
}

/**
 * fb_round_has_plan() - has a plan been found for the best candidate so far?
 * @fs: the scheduler, its disk locked
 *
 * Context: fb_disk.lock held.
 */
bool fb_round_has_plan(const struct fb_sched *fs)
{
	return fb_round_is_valid(fs) && fs->round.plan.kind != FB_PLAN_NONE;
}

/**
 * fb_round_settle() - make the best candidate so far the choice, before it is sent
 * @fs: the scheduler, its disk locked, with a choice
 *
 * Context: fb_disk.lock held.
 */
void fb_round_settle(struct fb_sched *fs)
{
	struct fb_round *round = &fs->round;
	const struct fb_joint_candidate *c;

	lockdep_assert_held(&fs->fd->lock);
	if (!fb_round_is_valid(fs) || !round->ranked)
		return;
	if (fb_gap_plan(fs->fd))
		fb_round_finish(fs);
	if (!round->r.scored)
		return;
	c = &round->r.candidate[round->r.best];
	fs->choice.req = c->req;
	fs->choice.seek_ns = c->seek_ns;
	fs->choice.pos_ns = c->seek_ns + c->latency_ns;
	fs->extra_ns = fb_search_extra_ns(fs->fd->model, &round->gap, c->latency_ns);
	trace_freeblock_choice(fs->fd, &fs->pool, &fs->choice);
	fb_joint_sent(&round->joint, &round->r);
	fb_gap_settle(fs->fd, &round->gap, &round->plan, round->looked_at);
	round->begun = false;
}
