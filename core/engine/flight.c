// SPDX-License-Identifier: GPL-2.0
/*
 * Commands at the drive: where each will end, when the next one is sent, and what ends say
 * (core/completion.h); see core/engine/engine.h.
 */
#include "core/engine/engine.h"

static struct fb_engine_rq *fb_engine_first(struct fb_engine *e)
{
	return list_first_entry_or_null(&e->flight, struct fb_engine_rq, flight);
}

/* with a command at the drive */
static struct fb_engine_rq *fb_engine_last(const struct fb_engine *e)
{
	return list_last_entry(&e->flight, struct fb_engine_rq, flight);
}

/* ---- when the next command is sent ---- */

/* the next request may be held back: it is a short one, or there is none yet */
static bool fb_engine_may_hold(const struct fb_engine *e)
{
	const struct fb_policy_req *req = e->choice.req;

	if (!req)
		return true;
	/* a cached write that comes in a pause does not wait for the medium */
	return fb_completion_may_hold(req->write, req->nsect) &&
	       !(e->paused && fb_engine_is_cached(e, fb_engine_chosen(e)));
}

static bool fb_engine_hold(struct fb_engine *e, u64 now_ns)
{
	u64 until_ns;

	if (fb_engine_is_holding(e, now_ns) && e->paused)
		return true;
	e->window_ns = 0;
	if (!e->hold || e->drive_orders || e->pinned || !fb_engine_may_hold(e) ||
	    e->depth != FB_ENGINE_DEPTH || e->nr_flight != 1)
		return false;
	until_ns = fb_completion_hold_ns(e->dm, &fb_engine_first(e)->cmd, e->wake_ns + e->lead_ns);
	if (until_ns < now_ns)
		return false;
	e->window_ns = until_ns;
	if (e->ops->hold)
		e->ops->hold(e, until_ns);
	return true;
}

bool fb_engine_is_holding(const struct fb_engine *e, u64 now_ns)
{
	return e->window_ns && (e->nr_flight || e->paused) && !e->pinned && now_ns < e->window_ns &&
	       fb_engine_may_hold(e);
}

void fb_engine_note_late(struct fb_engine *e)
{
	if (!fb_gap_plan(e->mail) && !fb_round_has_plan(e))
		return;
	e->stats->too_late++;
	e->wake_ns = min(2 * e->wake_ns, dm_period_ns(e->dm));
}

/* where the head is at a time when the drive, which gets no other command, is idle again */
static bool fb_engine_rest_place(const struct fb_engine *e, u64 ns, struct dm_place *place)
{
	if (!fb_head_now(&e->head, ns, place))
		return false;
	if (e->nr_flight) {
		place->cyl = e->tail.cyl;
		place->head = e->tail.head;
	}
	return !e->nr_flight || e->tail_known;
}

/* is the drive idle, or about to be? Not if the end (0: unknown) is over. */
static bool fb_engine_is_ending(const struct fb_engine *e, u64 now_ns)
{
	u64 end_ns = e->nr_flight ? fb_completion_end_ns(&fb_engine_last(e)->cmd) : now_ns;

	return e->nr_flight < FB_ENGINE_DEPTH && !e->nr_untracked &&
	       end_ns < now_ns + e->lead_ns && end_ns + e->head.tolerance_ns >= now_ns;
}

/* are pauses worth it? */
static bool fb_engine_pauses(struct fb_engine *e)
{
	return e->pause_late <= FB_ENGINE_PAUSE_LATE || !(++e->pauses % FB_ENGINE_PAUSE_EVERY);
}

bool fb_engine_pause(struct fb_engine *e, u64 now_ns)
{
	const struct fb_policy_choice *choice = &e->choice;
	u64 until_ns = now_ns + e->lead_ns + e->wake_ns;
	struct dm_place from;

	if (e->paused || !e->hold || e->depth != FB_ENGINE_DEPTH || !choice->predicted ||
	    choice->expired || !fb_engine_may_hold(e) || !e->ops->may_read(e, now_ns) ||
	    fb_engine_is_cached(e, fb_engine_chosen(e)) || !fb_engine_is_ending(e, now_ns) ||
	    fb_engine_gap_ns(e) < FB_ENGINE_PAUSES * (e->lead_ns + e->wake_ns) ||
	    !fb_engine_rest_place(e, until_ns + fb_completion_overhead_ns(e->dm, false), &from) ||
	    !fb_engine_pauses(e))
		return false;
	fb_engine_note_late(e);
	e->paused = true;
	e->pause_ns = until_ns;
	e->window_ns = now_ns + e->lead_ns;
	e->tail = from;
	e->tail_known = true;
	fb_engine_choose(e, &e->tail, now_ns);
	if (e->ops->hold)
		e->ops->hold(e, e->window_ns);
	return true;
}

bool fb_engine_too_late(const struct fb_engine *e, u64 now_ns)
{
	return fb_completion_too_late(&fb_engine_last(e)->cmd, now_ns, e->lead_ns);
}

/* ---- sending ---- */

/* describe the command afresh: nothing of an earlier dispatch is kept */
static void fb_engine_describe(struct fb_engine *e, struct fb_engine_rq *rq,
			       const struct fb_engine_send *d, u64 now_ns)
{
	bool follow = e->drive_orders && e->destage->on && !e->ops->unmapped(e);

	rq->cmd = (struct fb_completion_cmd) {
		.lbn = d->lbn,
		.nsect = d->nsect,
		.write = rq->fg.write,
		.unplaced = !rq->media,
		.foreground = fb_engine_is_foreground(rq),
		.watched = fb_engine_predicts(e) || (follow && rq->ours),
		.own_order = follow,
		.cause = d->cause,
		.sent_ns = now_ns,
		.paused = d->paused,
		.leg = { .gap_ns = d->gap_ns },
		.mark = { .at = d->lifts },
	};
}

/* when will the drive have written what its cache has, if nothing else is at it? */
static void fb_engine_find_writes(struct fb_engine *e, u64 now_ns)
{
	if (!e->destage->medium && !e->ops->unmapped(e))
		fb_writeback_find(&e->destage->writeback, &e->head, now_ns);
}

static void fb_engine_predict(struct fb_engine *e, struct fb_engine_rq *rq)
{
	struct fb_completion_cmd *c = &rq->cmd, *before = NULL;
	bool cached = fb_engine_is_cached(e, rq);

	if (c->cause == FB_CAUSE_IDLE)
		fb_destage_idle_sent(e->destage, c->sent_ns);
	else if (c->nsect)
		fb_destage_sent(e->destage, c->sent_ns, cached, c->lbn, c->nsect);
	if (cached && c->nsect) {
		fb_writeback_sent(&e->destage->writeback, c->sent_ns, c->lbn, c->nsect);
		fb_engine_find_writes(e, c->sent_ns);
	}
	fb_completion_mark(c, &e->lifts);
	if (e->nr_flight)
		before = &fb_engine_last(e)->cmd;
	e->tail_known = c->watched && fb_completion_predict(&e->head, c, before, e->tail_known,
							    &e->tail);
}

void fb_engine_send(struct fb_engine *e, struct fb_engine_rq *rq, const struct fb_engine_send *d,
		    u64 now_ns)
{
	fb_engine_describe(e, rq, d, now_ns);
	/* whatever is sent ends a pause */
	e->paused = false;
	if (e->ops->submit) {
		now_ns = e->ops->submit(e, rq, now_ns);
		rq->cmd.sent_ns = now_ns;
	}
	fb_engine_predict(e, rq);
	list_add_tail(&rq->flight, &e->flight);
	e->nr_flight++;
	e->nr_idle += d->cause == FB_CAUSE_IDLE;
	if (!rq->cmd.watched)
		return;
	e->stats->max_in_flight = max_t(u64, e->stats->max_in_flight, e->nr_flight);
	fb_engine_hold(e, now_ns);
}

/* ---- ends ---- */

static void fb_engine_leave(struct fb_engine *e, struct fb_engine_rq *rq, u64 now_ns)
{
	bool last = fb_engine_last(e) == rq;

	list_del_init(&rq->flight);
	e->nr_flight--;
	/* the tail was where it would have ended: the others end elsewhere */
	if (last && e->nr_flight) {
		e->tail_known = false;
		fb_gap_void(e->mail);
		fb_engine_drop_plan(e);
	}
	/* flushes do not count */
	if (rq->cmd.cause == FB_CAUSE_IDLE) {
		e->nr_idle--;
		fb_idle_reader_ended(e->idle, !rq->cmd.failed, now_ns);
	} else if (rq->cmd.nsect) {
		fb_destage_ended(e->destage, now_ns, fb_engine_is_cached(e, rq));
	}
}

void fb_engine_off_flight(struct fb_engine *e, struct fb_engine_rq *rq, u64 now_ns)
{
	rq->cmd.failed = true;
	fb_engine_leave(e, rq, now_ns);
	fb_writeback_lose(&e->destage->writeback);
}

static void fb_engine_overtake(struct fb_engine *e, struct fb_engine_rq *rq, u64 now_ns)
{
	struct fb_engine_rq *before;

	e->stats->out_of_order++;
	fb_head_lose(&e->head);
	list_for_each_entry(before, &e->flight, flight) {
		if (before == rq)
			break;
		fb_completion_overtaken(e->probe, &before->cmd, now_ns);
	}
	rq->cmd.start_ns = 0;
}

bool fb_engine_landed(struct fb_engine *e, struct fb_engine_rq *rq, bool failed, u64 now_ns)
{
	bool overtaken = rq->cmd.watched && fb_engine_predicts(e) && e->flight.next != &rq->flight;

	if (overtaken)
		fb_engine_overtake(e, rq, now_ns);
	rq->cmd.failed = failed;
	fb_engine_leave(e, rq, now_ns);
	return overtaken;
}

/* the first command since a pause has ended: late, if the link or the drive had to wake up */
static void fb_engine_paused(struct fb_engine *e, const struct fb_head_end *end)
{
	bool late = end->verdict == FB_HEAD_ODD || end->turns > 0;

	e->pause_late -= e->pause_late >> FB_ENGINE_PAUSE_SHIFT;
	e->pause_late += late ? FB_ONE >> FB_ENGINE_PAUSE_SHIFT : 0;
}

/* learn from an end, and predict the next command again; false: the head is not where it should */
static bool fb_engine_observe(struct fb_engine *e, struct fb_engine_rq *rq, u64 now_ns)
{
	struct fb_engine_rq *next = fb_engine_first(e);
	struct fb_completion_result result;
	struct fb_completion learners;

	e->ops->learners(e, &learners);
	fb_completion_judge(&learners, &rq->cmd, now_ns, &result);
	if (result.tripped)
		fb_gap_void(e->mail);
	/* if the drive has a choice, any command may be next */
	if (next && !e->drive_orders)
		fb_completion_predict_next(&e->head, &next->cmd, e->nr_flight < e->depth,
					   &result.end);
	if (rq->cmd.paused)
		fb_engine_paused(e, &result.end);
	e->ops->learnt(e, rq, &result, now_ns);
	return result.end.verdict == FB_HEAD_MECHANICAL;
}

/* what the end of a command says of the writes in the drive's cache */
static void fb_engine_note_writes(struct fb_engine *e, const struct fb_engine_rq *rq, u64 now_ns)
{
	if (!e->destage->on || fb_engine_is_cached(e, rq) || !rq->cmd.nsect)
		return;
	fb_writeback_ended(&e->destage->writeback, &e->head, &rq->cmd);
	fb_engine_find_writes(e, now_ns);
}

/*
 * Learn from an end while the drive orders: a write cache leaves room for idle reads between its
 * own commands, so head and phase must be known.
 */
static void fb_engine_follow(struct fb_engine *e, struct fb_engine_rq *rq, u64 now_ns)
{
	u64 lbn = rq->cmd.lbn + rq->cmd.nsect - 1;
	struct fb_completion learners;
	bool moves;

	if (!e->destage->on)
		return;
	e->ops->learners(e, &learners);
	if (rq->cmd.watched)
		fb_engine_observe(e, rq, now_ns);
	else if (rq->cmd.own_order)
		fb_completion_follow(&learners, &rq->cmd, now_ns);
	fb_engine_note_writes(e, rq, now_ns);
	moves = fb_destage_moves(e->destage, &lbn);
	if (moves || !rq->cmd.write)
		fb_completion_believe(&e->head, lbn, moves);
}

bool fb_engine_judge(struct fb_engine *e, struct fb_engine_rq *rq, bool overtaken, u64 now_ns)
{
	bool known;

	if (!fb_engine_predicts(e)) {
		if (!e->ops->unmapped(e))
			fb_engine_follow(e, rq, now_ns);
		else
			fb_writeback_lose(&e->destage->writeback);
		return true;
	}
	known = fb_engine_observe(e, rq, now_ns);
	fb_engine_note_writes(e, rq, now_ns);
	/* the start of the command in service is unknown: void what was computed from it */
	if (!known) {
		e->tail_known = e->nr_flight && e->tail_known;
		fb_gap_void(e->mail);
		fb_engine_drop_plan(e);
	}
	/* the drive changed the order: predict the tail from the last command still in flight */
	if (overtaken || !e->tail_known) {
		fb_gap_void(e->mail);
		fb_engine_drop_plan(e);
		e->tail_known = e->nr_flight &&
				fb_completion_end_place(e->dm, &fb_engine_last(e)->cmd, &e->tail);
		if (!e->pinned && e->pool.count)
			fb_engine_choose_again(e, now_ns);
	}
	return !fb_engine_hold(e, e->ops->now(e));
}

/* ---- idle reads: how they learn of the foreground, and when one is sent ---- */

void fb_engine_arrived(struct fb_engine *e, const struct fb_engine_rq *rq,
		       const struct fb_fg_req *req, bool follow, u64 now_ns)
{
	bool cached = rq && fb_engine_is_cached(e, rq);

	fb_idle_reader_withdraw(e->idle);
	/* no idle read delays a cached write, unless that is held back here */
	if (cached && (e->auto_depth || !fb_engine_predicts(e)))
		fb_idle_policy_wrote(e->idle->wait, req);
	/* what waits for others' background reads, or for the cache, tells nothing of the medium */
	else if (!follow || cached)
		fb_idle_policy_arrive_unfollowed(e->idle->wait, now_ns, req);
	else
		fb_idle_policy_arrive(e->idle->wait, now_ns, req);
}

void fb_engine_served(struct fb_engine *e, const struct fb_engine_rq *rq, u64 now_ns)
{
	const struct fb_fg_req req = {
		.lbn = rq->fg.lbn,
		.nsect = rq->fg.nsect,
		.write = rq->fg.write,
		.arrived_ns = rq->fg.arrived_ns,
	};

	if (rq->media && !fb_engine_is_cached(e, rq))
		fb_idle_policy_served(e->idle->wait, now_ns, &req);
}

bool fb_engine_idle_is_due(const struct fb_engine *e)
{
	return e->idle->ready && !e->pool.count && !e->nr_flight;
}

void fb_engine_send_idle(struct fb_engine *e, struct fb_engine_rq *rq, u64 now_ns)
{
	const struct fb_engine_send d = {
		.cause = FB_CAUSE_IDLE,
		.lbn = e->idle->piece.lbn,
		.nsect = e->idle->piece.nsect,
	};

	fb_engine_send(e, rq, &d, now_ns);
	fb_idle_reader_sent(e->idle, rq->cmd.sent_ns);
}
