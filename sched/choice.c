// SPDX-License-Identifier: GPL-2.0
/*
 * The choice of the next request, the gap before it, and the plan in use: what the scheduler
 * (freeblock_iosched.c) sends next, and what may be read before it. Locks: fb_disk.lock, held by
 * every caller.
 */
#include "disk/coverage.h"
#include "sched/sched.h"
#include "disk/trace_events.h"

/*
 * Initial estimate of the time that the timer and kblockd need to send a command that was held
 * back. It is doubled, up to a turn, when a plan comes too late, and decays again over some
 * hundred plans.
 */
static const u64 fb_choice_wake_ns = 100 * NSEC_PER_USEC;
static const u32 fb_choice_wake_shift = 8;

/**
 * fb_choice_init() - start with no choice and the default settings
 * @fs: the scheduler
 */
void fb_choice_init(struct fb_sched *fs)
{
	fs->wake_ns = fb_choice_wake_ns;
}

/* ---- places ---- */

/* a request gets no place while the drive orders */
static const struct disk_model *fb_choice_model(const struct fb_sched *fs,
						const struct fb_sched_rq *fq)
{
	return fb_sched_is_media(fq) && !fs->deep ? fs->fd->model : NULL;
}

/**
 * fb_choice_place() - compute where a request begins that has arrived
 * @fs: the scheduler, its disk locked
 * @fq: the request, in no pool
 *
 * Context: fb_disk.lock held.
 */
void fb_choice_place(const struct fb_sched *fs, struct fb_sched_rq *fq)
{
	fb_policy_req_place(&fq->fg, fb_choice_model(fs, fq));
}

/**
 * fb_choice_moved() - compute again where a pending request begins
 * @fs: the scheduler, its disk locked
 * @fq: the request, of the foreground
 *
 * Context: fb_disk.lock held.
 */
void fb_choice_moved(struct fb_sched *fs, struct fb_sched_rq *fq)
{
	fb_policy_pool_place(&fs->pool, &fq->fg, fb_choice_model(fs, fq));
}

/**
 * fb_choice_place_all() - place all pending requests again: the model or the order has changed
 * @fs: the scheduler, its disk locked
 *
 * Context: fb_disk.lock held.
 */
void fb_choice_place_all(struct fb_sched *fs)
{
	enum fb_policy_class class;
	struct fb_policy_req *req;

	for (class = 0; class < FB_POLICY_CLASSES; class++)
		list_for_each_entry(req, &fs->pool.reqs[class], node)
			fb_choice_moved(fs, container_of(req, struct fb_sched_rq, fg));
	fb_round_lose(fs);
}

/* ---- the choice, and the gap before it ---- */

/**
 * fb_choice_drop_plan() - drop the rest of the plan in use, whose assumptions no longer hold
 * @fs: the scheduler, its disk locked
 *
 * Context: fb_disk.lock held.
 */
void fb_choice_drop_plan(struct fb_sched *fs)
{
	if (fs->plan.kind == FB_PLAN_NONE)
		return;
	fs->fd->stats.dropped += fs->plan.npieces - fs->next_piece;
	fs->plan.kind = FB_PLAN_NONE;
}

/**
 * fb_choice_void() - drop the choice, its gap and its plan
 * @fs: the scheduler, its disk locked
 *
 * Context: fb_disk.lock held.
 */
void fb_choice_void(struct fb_sched *fs)
{
	fb_choice_drop_plan(fs);
	fs->choice.req = NULL;
	fs->pinned = false;
	/* its generation alone would be valid again after 2^32 */
	fs->round.begun = false;
	fb_gap_void(fs->fd);
}

/**
 * fb_choice_gap_ns() - rotational latency of the choice if nothing is read before it
 * @fs: the scheduler, its disk locked, with a choice
 *
 * Context: fb_disk.lock held.
 *
 * Return: ns; 0: unknown.
 */
u64 fb_choice_gap_ns(const struct fb_sched *fs)
{
	return fs->choice.predicted ? fs->choice.pos_ns - fs->choice.seek_ns : 0;
}

/* at more depth the drive chooses; at depth 1 the command before is not yet sent */
static bool fb_choice_has_gap(const struct fb_sched *fs)
{
	return fs->nr_flight && !fs->nr_untracked && fs->depth == FB_SCHED_DEPTH &&
	       fs->tail_known && fs->choice.predicted && fb_coverage_may_read(fs->fd);
}

/* offer the gap between the tail and the chosen request to the search */
static void fb_choice_open_gap(struct fb_sched *fs)
{
	struct fb_sched_rq *fq = fb_choice_request(fs);
	u64 latency_ns = fb_choice_gap_ns(fs);
	struct fb_disk *fd = fs->fd;
	struct fb_limits lim;
	struct fb_gap gap;

	if (!fb_choice_has_gap(fs)) {
		fb_gap_void(fd);
		return;
	}
	fd->mail.search_ns = fs->search_ns;
	fd->mail.probing = fs->auto_lift;
	/*
	 * An expired request goes next, whatever its gap brings; and until it is known whether the
	 * foreground is a stream, none is passed over, which would cost that a turn.
	 */
	if (fb_sched_is_joint(fs) && !fs->choice.expired &&
	    fb_orders_may_wait(&fs->orders, fq->fg.lbn)) {
		fb_round_begin(fs);
		return;
	}
	if (!fb_limits_of_gap(fs, fq, latency_ns, &gap, &lim)) {
		fb_gap_void(fd);
		return;
	}
	fs->extra_ns = fb_search_extra_ns(fd->model, &gap, latency_ns);
	fb_gap_open(fd, &gap, &lim);
}

/**
 * fb_choice_make() - choose from the whole pool
 * @fs: the scheduler, its disk locked
 * @head: where the head will be; NULL: unknown
 * @now: time
 *
 * Context: fb_disk.lock held.
 */
void fb_choice_make(struct fb_sched *fs, const struct dm_place *head, u64 now)
{
	struct fb_stats *st = &fs->fd->stats;
	u64 ns;

	fb_policy_choose(&fs->pool, fs->fd->model, head, now, &fs->choice);
	ns = ktime_get_ns() - now;
	st->choices++;
	st->choice_ns += ns;
	st->choice_max_ns = max(st->choice_max_ns, ns);
	if (!fs->choice.req) {
		fb_gap_void(fs->fd);
		return;
	}
	trace_freeblock_choice(fs->fd, &fs->pool, &fs->choice);
	fb_choice_open_gap(fs);
}

/**
 * fb_choice_renew() - choose again, with the head at the tail
 * @fs: the scheduler, its disk locked
 *
 * If the drive is idle the choice is left to dispatch.
 *
 * Context: fb_disk.lock held.
 */
void fb_choice_renew(struct fb_sched *fs)
{
	if (!fs->nr_flight || fb_sched_is_hands_off(fs)) {
		fb_choice_void(fs);
		return;
	}
	fb_choice_make(fs, fs->tail_known ? &fs->tail : NULL, ktime_get_ns());
}

/**
 * fb_choice_offer() - make a request the choice if it is better, in O(1)
 * @fs: the scheduler, its disk locked
 * @fq: the request, pooled; it has just arrived, or grown at its front
 *
 * Context: fb_disk.lock held.
 */
void fb_choice_offer(struct fb_sched *fs, struct fb_sched_rq *fq)
{
	if (fq->background || fs->pinned || !fs->nr_flight || fb_sched_is_hands_off(fs))
		return;
	if (!fs->choice.req)
		fb_choice_renew(fs);
	else if (fb_policy_offer(&fs->pool, fs->fd->model, fs->tail_known ? &fs->tail : NULL,
				 &fq->fg, &fs->choice))
		fb_choice_open_gap(fs);
	else
		fb_round_offer(fs, &fq->fg);
}

/* ---- plans ---- */

static void fb_choice_note_late(struct fb_sched *fs)
{
	if (!fb_gap_plan(fs->fd) && !fb_round_has_plan(fs))
		return;
	fs->fd->stats.too_late++;
	fs->wake_ns = min(2 * fs->wake_ns, dm_period_ns(fs->fd->model));
}

/**
 * fb_choice_take_plan() - make the choice final, and get the plan for the gap before it
 * @fs: the scheduler, its disk locked, with a choice
 * @now: time
 *
 * Context: fb_disk.lock held.
 *
 * Return: the plan, or NULL if there is none or it is too late.
 */
const struct fb_plan *fb_choice_take_plan(struct fb_sched *fs, u64 now)
{
	const struct fb_plan *plan;

	/* then no request may be preferred for a plan that cannot be used */
	if (fs->nr_flight && fb_inflight_too_late(fs, now)) {
		fb_choice_note_late(fs);
		return NULL;
	}
	fb_round_settle(fs);
	plan = fs->nr_flight ? fb_gap_plan(fs->fd) : NULL;
	if (plan)
		fs->wake_ns -= (fs->wake_ns - fb_choice_wake_ns) >> fb_choice_wake_shift;
	return plan;
}

/**
 * fb_choice_lifts() - limits that a command of a plan lifts, of those it was allowed to lift
 * @fs: the scheduler, its disk locked
 * @plan: the plan in use
 * @i: number of the command
 *
 * Context: fb_disk.lock held.
 *
 * Return: bits of enum fb_lift.
 */
u32 fb_choice_lifts(const struct fb_sched *fs, const struct fb_plan *plan, u32 i)
{
	const struct fb_disk *fd = fs->fd;

	if (plan->kind == FB_PLAN_NONE)
		return 0;
	return fb_lookahead_lifts(fd->model, &fd->mail.gap, plan, i) & fd->mail.lim.lift;
}
