// SPDX-License-Identifier: GPL-2.0
/*
 * Commands in flight: the scheduler's side of core/completion.c, which predicts where and when
 * each will end and judges their completions. Nothing here changes the order of requests or what
 * is at the drive. Locks: fb_disk.lock, held by every caller.
 */
#include "sched/sched.h"
#include "disk/trace_events.h"

/* for this long after a reset the phase gets no new anchor */
#define FB_INFLIGHT_RESET_NS NSEC_PER_SEC

/* ---- predictions ---- */

static struct fb_sched_rq *fb_inflight_first(struct fb_sched *fs)
{
	return list_first_entry_or_null(&fs->flight, struct fb_sched_rq, flight);
}

/**
 * fb_inflight_sent() - predict a command that is about to be sent
 * @fs: the scheduler, its disk locked; its tail moves on
 * @fq: the command, described, not yet in @fs->flight
 *
 * Context: fb_disk.lock held.
 */
void fb_inflight_sent(struct fb_sched *fs, struct fb_sched_rq *fq)
{
	struct fb_destage *destage = &fs->fd->destage;
	struct fb_completion_cmd *c = &fq->cmd;
	struct fb_sched_rq *before = NULL;

	lockdep_assert_held(&fs->fd->lock);
	if (c->cause == FB_CAUSE_IDLE)
		fb_destage_idle_sent(destage, c->sent_ns);
	else
		fb_destage_sent(destage, c->sent_ns, fb_sched_is_cached(fs, fq), c->lbn, c->nsect);
	fb_completion_mark(c, &fs->lifts);
	if (fs->nr_flight)
		before = list_last_entry(&fs->flight, struct fb_sched_rq, flight);
	fs->tail_known = c->watched &&
			 fb_completion_predict(&fs->head, c, before ? &before->cmd : NULL,
					       fs->tail_known, &fs->tail);
}

/**
 * fb_inflight_ended() - note that a command is no longer at the drive, whatever came of it
 * @fs: the scheduler, its disk locked
 * @fq: the command
 * @now: time
 *
 * Context: fb_disk.lock held.
 */
void fb_inflight_ended(struct fb_sched *fs, const struct fb_sched_rq *fq, u64 now)
{
	struct fb_destage *destage = &fs->fd->destage;

	lockdep_assert_held(&fs->fd->lock);
	/* fb_idle_ended() is told of the others */
	if (fq->cmd.cause != FB_CAUSE_IDLE)
		fb_destage_ended(destage, now, fb_sched_is_cached(fs, fq));
}

/* ---- what idle reads are told of the foreground ---- */

/* nobody waits for idle reads with a cached write that is not held back */
static bool fb_inflight_waits(const struct fb_sched *fs, const struct fb_sched_rq *fq)
{
	return !fb_sched_is_cached(fs, fq) || !(fs->auto_depth || fb_sched_is_hands_off(fs));
}

/**
 * fb_inflight_arrived() - note that a foreground request has arrived whose completion will be seen
 * @fs: the scheduler, its disk locked
 * @fq: the request; NULL: it bypasses schedulers
 * @bypass: it will not be in a pool
 * @now: when it came: the same as fb_pool_add() is told, for the end is matched by it
 *
 * Context: fb_disk.lock held.
 */
void fb_inflight_arrived(struct fb_sched *fs, const struct fb_sched_rq *fq, bool bypass, u64 now)
{
	struct fb_fg_req req = { .arrived_ns = now };
	bool media = fq && fb_sched_is_media(fq);

	lockdep_assert_held(&fs->fd->lock);
	fs->fd->fg.active = true;
	if (media) {
		req.lbn = blk_rq_pos(fq->rq);
		req.nsect = blk_rq_sectors(fq->rq);
		req.write = op_is_write(req_op(fq->rq));
	}
	if (fq && !fb_inflight_waits(fs, fq)) {
		fb_idle_wrote(fs->fd, &req);
		return;
	}
	/* what waits for others' background reads, or for the cache, tells nothing of the medium */
	if (!media || bypass || fb_sched_is_cached(fs, fq) || fs->others.flying) {
		fb_idle_arrive_unfollowed(fs->fd, now, media ? &req : NULL);
		return;
	}
	fb_idle_arrive(fs->fd, now, &req);
}

/* what the foreground waits: the block layer's own counts have our reads in them, too */
static void fb_inflight_count(struct fb_stats *stats, const struct request *rq, u64 now)
{
	u64 took_ns = now - rq->start_time_ns;

	stats->fg_requests++;
	if (req_op(rq) == REQ_OP_READ) {
		stats->fg_reads++;
		stats->fg_read_ns += took_ns;
	} else if (req_op(rq) == REQ_OP_WRITE) {
		stats->fg_writes++;
		stats->fg_write_ns += took_ns;
	}
}

/**
 * fb_inflight_served() - note that a foreground request has ended
 * @fs: the scheduler, its disk locked
 * @fq: the request
 * @now: when it was reported
 *
 * Context: fb_disk.lock held.
 */
void fb_inflight_served(struct fb_sched *fs, const struct fb_sched_rq *fq, u64 now)
{
	struct fb_fg_req req = {
		.lbn = fq->fg.lbn,
		.nsect = fq->fg.nsect,
		.write = fq->fg.write,
		.arrived_ns = fq->fg.arrived_ns,
	};

	lockdep_assert_held(&fs->fd->lock);
	if (!fq->own)
		fb_inflight_count(&fs->fd->stats, fq->rq, now);
	if (fq->fg.arrived_ns && fb_sched_is_media(fq) && !fb_sched_is_cached(fs, fq))
		fb_idle_served(fs->fd, now, &req);
}

/* ---- when the next command is sent ---- */

/* the next request may be held back: it is a short one, or there is none yet */
static bool fb_inflight_may_hold(const struct fb_sched *fs)
{
	const struct fb_policy_req *req = fs->choice.req;

	return !req || fb_completion_may_hold(req->write, req->nsect);
}

/**
 * fb_inflight_hold() - hold the second command back if that is possible
 * @fs: the scheduler, its disk locked, with a model
 *
 * If so, the timer that sends it is started.
 *
 * Context: fb_disk.lock held.
 *
 * Return: true if it is held back.
 */
bool fb_inflight_hold(struct fb_sched *fs)
{
	u64 until_ns;

	fs->window_ns = 0;
	if (!fs->hold || fs->deep || fs->pinned || !fb_inflight_may_hold(fs) ||
	    fs->depth != FB_SCHED_DEPTH || fs->nr_flight != 1)
		return false;
	until_ns = fb_completion_hold_ns(fs->fd->model, &fb_inflight_first(fs)->cmd,
					 fs->wake_ns + FB_SCHED_LEAD_NS);
	if (until_ns < ktime_get_ns())
		return false;
	fs->window_ns = until_ns;
	hrtimer_start(&fs->timer, ns_to_ktime(until_ns), HRTIMER_MODE_ABS);
	return true;
}

/**
 * fb_inflight_window_open() - is the second command still held back?
 * @fs: the scheduler, its disk locked
 * @now: time
 *
 * Context: fb_disk.lock held.
 *
 * Return: true if it is.
 */
bool fb_inflight_window_open(const struct fb_sched *fs, u64 now)
{
	return fs->window_ns && fs->nr_flight && !fs->pinned && now < fs->window_ns &&
	       fb_inflight_may_hold(fs);
}

/**
 * fb_inflight_too_late() - would the drive finish before a command sent now reaches it?
 * @fs: the scheduler, its disk locked, with a command at the drive
 * @now: time
 *
 * Context: fb_disk.lock held.
 *
 * Return: true if it is too late for a plan.
 */
bool fb_inflight_too_late(const struct fb_sched *fs, u64 now)
{
	const struct fb_sched_rq *last = list_last_entry(&fs->flight, struct fb_sched_rq, flight);

	return fb_completion_too_late(&last->cmd, now, FB_SCHED_LEAD_NS);
}

/**
 * fb_inflight_check_writes() - find writes in flight that overlap a read of ours just sent
 * @fs: the scheduler, its disk locked
 *
 * The drive may execute them after the read, which is then discarded, whatever it is for.
 *
 * Context: fb_disk.lock held.
 */
void fb_inflight_check_writes(struct fb_sched *fs)
{
	struct fb_sched_rq *fq;

	list_for_each_entry(fq, &fs->flight, flight)
		if (fq->cmd.write)
			fb_free_read_overlap(fs->fd, fq->cmd.lbn, fq->cmd.nsect);
	/* one without a struct fb_sched_rq may be a write to any place */
	if (fs->nr_untracked)
		fb_free_read_overlap(fs->fd, 0, fs->fd->sectors);
}

/* ---- learning from completions ---- */

static struct fb_completion fb_inflight_learners(struct fb_sched *fs)
{
	struct fb_disk *fd = fs->fd;

	return (struct fb_completion) {
		.dm = fd->model,
		.head = &fs->head,
		/* the margin matters only while there are tasks that read in gaps */
		.margin = fd->cov ? &fd->conservatism : NULL,
		.calib = &fd->seek_fit,
		/* while the thread searches with the model, it corrects it (fb_model_correct()) */
		.may_correct = !fd->cov,
		.guard = &fd->guard,
		/*
		 * It backs up the learnt conservatism, which keeps the cost at the target: it
		 * must not trip when the cost varies around the target by chance.
		 */
		.guard_ppm = fs->auto_margin ? 2 * fs->target_ppm : fs->target_ppm,
		.probe = &fd->lookahead,
		.stats = &fd->stats.ends,
	};
}

static void fb_inflight_trace(struct fb_disk *fd, const struct fb_completion_cmd *c, u64 now,
			      const struct fb_completion_result *r)
{
	if (r->predicted_ns && r->end.verdict == FB_HEAD_MECHANICAL && r->end.turns > 0)
		trace_freeblock_miss(fd, c->lbn, c->cause, r->end.turns);
	trace_freeblock_complete(fd, c->lbn, c->nsect, c->cause, r->predicted_ns, now, &r->end);
}

/* can the phase be found? The foreground's reads say so. */
static noinline_for_stack void
fb_inflight_look_at_phase(struct fb_sched *fs, const struct fb_sched_rq *fq, u64 now)
{
	const struct fb_completion_cmd *c = &fq->cmd;
	struct fb_disk *fd = fs->fd;
	struct fb_phase_read read = {
		.lbn = c->lbn,
		.nsect = c->nsect,
		.sent_ns = c->sent_ns,
		.end_ns = now,
	};

	if (!c->foreground || c->write || c->unplaced || c->failed) {
		fb_phase_other(&fd->phase, now);
		return;
	}
	if (!fb_phase_read(&fd->phase, fd->model, &read))
		return;
	fb_gap_void(fd);
	/* later tries are silent */
	if (fd->phase.given_up == 1)
		fb_message_note(fd, FB_MESSAGE_PHASE);
}

/**
 * fb_inflight_observe() - learn from a completion, and predict the next command again
 * @fs: the scheduler, its disk locked, with a model
 * @fq: the command that has ended, no longer in @fs->flight
 * @now: when it was reported
 *
 * Context: fb_disk.lock held.
 *
 * Return: true if it ended at the model's angle, so that the head's position is known.
 */
bool fb_inflight_observe(struct fb_sched *fs, struct fb_sched_rq *fq, u64 now)
{
	struct fb_completion learners = fb_inflight_learners(fs);
	struct fb_completion_result result;
	struct fb_sched_rq *next = fb_inflight_first(fs);
	struct fb_disk *fd = fs->fd;

	lockdep_assert_held(&fd->lock);
	fq->cmd.failed = fb_verify_failed(fq->rq);
	fb_completion_judge(&learners, &fq->cmd, now, &result);
	fb_inflight_look_at_phase(fs, fq, now);
	if (result.correct)
		wake_up(&fd->wait);
	if (result.tripped) {
		fd->stats.guard_trips++;
		fb_gap_void(fd);
		fb_message_note(fd, FB_MESSAGE_GUARD);
	}
	if (fq->cmd.observed)
		fb_inflight_trace(fd, &fq->cmd, now, &result);
	fb_shadow_learn(&fd->shadow, &fq->cmd, &result, dm_period_ns(fd->model));
	/* if the drive has a choice, any command may be next */
	if (next && !fs->deep)
		fb_completion_predict_next(&fs->head, &next->cmd, fs->nr_flight < fs->depth,
					   &result.end);
	return result.end.verdict == FB_HEAD_MECHANICAL;
}

/**
 * fb_inflight_follow() - learn from a completion while the drive orders
 * @fs: the scheduler, its disk locked, with a model
 * @fq: the command that has ended, no longer in @fs->flight
 * @now: when it was reported
 *
 * With a write cache there are idle reads between the drive's own commands, so head and phase must
 * be known. Idle reads were predicted. Of the foreground's reads it is known where they have ended,
 * and of cached writes where the drive will go.
 *
 * Context: fb_disk.lock held.
 */
void fb_inflight_follow(struct fb_sched *fs, struct fb_sched_rq *fq, u64 now)
{
	struct fb_completion learners = fb_inflight_learners(fs);
	u64 lbn = fq->cmd.lbn + fq->cmd.nsect - 1;
	bool moves;

	lockdep_assert_held(&fs->fd->lock);
	if (!fs->fd->destage.on)
		return;
	fq->cmd.failed = fb_verify_failed(fq->rq);
	if (fq->cmd.watched)
		fb_inflight_observe(fs, fq, now);
	else if (fq->cmd.own_order)
		fb_completion_follow(&learners, &fq->cmd, now);
	moves = fb_destage_moves(&fs->fd->destage, &lbn);
	if (moves || !fq->cmd.write)
		fb_completion_believe(&fs->head, lbn, moves);
}

/**
 * fb_inflight_overtake() - note that the drive executed @fq before commands sent earlier
 * @fs: the scheduler, its disk locked
 * @fq: the command that has ended, still in @fs->flight
 * @now: time
 *
 * Context: fb_disk.lock held.
 */
void fb_inflight_overtake(struct fb_sched *fs, const struct fb_sched_rq *fq, u64 now)
{
	struct fb_sched_rq *before;

	lockdep_assert_held(&fs->fd->lock);
	list_for_each_entry(before, &fs->flight, flight) {
		if (before == fq)
			return;
		fb_completion_overtaken(&fs->fd->lookahead, &before->cmd, now);
	}
}

/**
 * fb_inflight_returned() - note that the driver gave back a request to send it again
 * @fs: the scheduler, its disk locked
 * @rq: the request
 *
 * A timeout may have reset the device, which puts the phase in doubt, too. RQF_TIMED_OUT has been
 * cleared already, the deadline has not.
 *
 * Context: fb_disk.lock held.
 */
void fb_inflight_returned(struct fb_sched *fs, const struct request *rq)
{
	lockdep_assert_held(&fs->fd->lock);
	if (fs->fd->model && time_after_eq(jiffies, READ_ONCE(rq->deadline)))
		fb_head_reset(&fs->head, ktime_get_ns() + FB_INFLIGHT_RESET_NS);
	else
		fb_head_lose(&fs->head);
}
