// SPDX-License-Identifier: GPL-2.0
/*
 * Commands at the drive: where and when each will end, and what their completions teach:
 * head and phase, conservatism, look-ahead, the guard's count (DESIGN 4, steps 4 and 5).
 *
 * This file knows seeks and no more of blk-mq than what a request is. It changes neither
 * the order of requests nor what is at the drive: that is freeblock_iosched.c's.
 *
 * Locks: fb_disk.lock, held by every caller; the table is in fb_disk.h.
 */
#include "fb_sched.h"
#include "trace.h"

/* a completion this many turns late is recovery, not rotation: the head is lost */
static const s32 fbf_max_turns = 8;

/* ---- predictions ---- */

/**
 * fbf_overhead_ns() - what an idle drive takes before it moves the arm
 * @fs: the scheduler, its disk locked, with a model
 * @write: direction
 *
 * Context: fb_disk.lock held.
 *
 * Return: ns.
 */
u64 fbf_overhead_ns(const struct fbs *fs, bool write)
{
	const struct dm_info *info = dm_info(fs->fd->model);

	return write ? info->write_overhead_ns : info->read_overhead_ns;
}

/* reckon @fq's access from @from, which the head leaves at @start_ns (0: unknown when) */
static void fbf_predict(struct fbs *fs, struct fbs_rq *fq, const struct dm_place *from,
			u64 start_ns)
{
	fq->placed = from && fbs_is_media(fq) &&
		     !dm_access(fs->fd->model, from, fq->lbn, fq->nsect, fq->fg.write, &fq->acc);
	fq->start_ns = fq->placed ? start_ns : 0;
	if (fq->placed)
		fbm_predict(&fq->leg, fs->fd->model, from, fq->lbn, fq->nsect, &fq->acc);
}

/**
 * fbf_idle_head() - where the head will be when an idle drive begins with a command
 * @fs: the scheduler, its disk locked, with a model
 * @now: when the command is sent
 * @write: its direction
 * @from: out: the place
 * @start_ns: out: when: the arm starts when the command has been taken in
 *
 * Context: fb_disk.lock held.
 *
 * Return: false: the head or the phase is not known.
 */
bool fbf_idle_head(struct fbs *fs, u64 now, bool write, struct dm_place *from, u64 *start_ns)
{
	*start_ns = now + fbf_overhead_ns(fs, write);
	return fb_head_now(&fs->head, *start_ns, from);
}

/**
 * fbf_end_place() - where the head will be at the end of a command
 * @fs: the scheduler, its disk locked, with a model
 * @fq: the command, sent
 * @end: out: the place; without a prediction that of the last sector's end
 *
 * Context: fb_disk.lock held.
 *
 * Return: false: it is not known.
 */
bool fbf_end_place(struct fbs *fs, struct fbs_rq *fq, struct dm_place *end)
{
	struct dm_place last;
	struct dm_access acc;

	if (fq->placed) {
		*end = fq->acc.end;
		return true;
	}
	if (!fbs_is_media(fq))
		return false;
	if (dm_place_of(fs->fd->model, fq->lbn + fq->nsect - 1, &last) ||
	    dm_access(fs->fd->model, &last, fq->lbn + fq->nsect - 1, 1, false, &acc))
		return false;
	*end = acc.end;
	return true;
}

/**
 * fbf_predict_sent() - predict a command that is about to be sent
 * @fs: the scheduler, its disk locked, with a model; its tail moves on
 * @fq: the command, not yet in @fs->flight
 * @now: the time
 *
 * Context: fb_disk.lock held.
 */
void fbf_predict_sent(struct fbs *fs, struct fbs_rq *fq, u64 now)
{
	struct fbs_rq *before = NULL;
	struct dm_place from;
	u64 start_ns = 0;
	bool known;

	lockdep_assert_held(&fs->fd->lock);
	if (fs->nr_flight)
		before = list_last_entry(&fs->flight, struct fbs_rq, flight);
	if (before) {
		known = fs->tail_known;
		from = fs->tail;
		if (before->start_ns)
			start_ns = before->start_ns + before->acc.total_ns;
	} else {
		known = fbf_idle_head(fs, now, fq->fg.write, &from, &start_ns);
	}
	fbf_predict(fs, fq, known ? &from : NULL, start_ns);
	fs->tail_known = fbf_end_place(fs, fq, &fs->tail);
}

/* ---- when the next one goes ---- */

/**
 * fbf_hold() - hold the second command back?
 * @fs: the scheduler, its disk locked, with a model; its timer is started if so
 *
 * A command alone at the drive is in service. The next one is held back until this one is
 * about to end, for what comes meanwhile may be better; but it must be there in time, or
 * the drive would idle. When that end is not known nothing is held back.
 *
 * Context: fb_disk.lock held.
 *
 * Return: true: held.
 */
bool fbf_hold(struct fbs *fs)
{
	const struct fbs_rq *fq;
	u64 lead_ns;

	fs->window_ns = 0;
	if (!fs->hold || fs->depth != FBS_DEPTH || fs->nr_flight != 1 || fs->pinned)
		return false;
	fq = list_first_entry(&fs->flight, struct fbs_rq, flight);
	lead_ns = fs->wake_ns + FBS_LEAD_NS +
		  max(fbf_overhead_ns(fs, false), fbf_overhead_ns(fs, true));
	if (!fq->start_ns || fq->start_ns + fq->acc.total_ns < ktime_get_ns() + lead_ns)
		return false;
	fs->window_ns = fq->start_ns + fq->acc.total_ns - lead_ns;
	hrtimer_start(&fs->timer, ns_to_ktime(fs->window_ns), HRTIMER_MODE_ABS);
	return true;
}

/**
 * fbf_window_open() - is the second command still held back?
 * @fs: the scheduler, its disk locked
 * @now: the time
 *
 * Context: fb_disk.lock held.
 *
 * Return: true if so.
 */
bool fbf_window_open(const struct fbs *fs, u64 now)
{
	return fs->window_ns && fs->nr_flight && !fs->pinned && now < fs->window_ns;
}

/**
 * fbf_too_late() - would the drive finish before a command that is sent now is with it?
 * @fs: the scheduler, its disk locked, with a command at the drive
 * @now: the time
 *
 * Context: fb_disk.lock held.
 *
 * Return: true if so: too late for a plan.
 */
bool fbf_too_late(const struct fbs *fs, u64 now)
{
	const struct fbs_rq *last = list_last_entry(&fs->flight, struct fbs_rq, flight);

	return !last->start_ns || last->start_ns + last->acc.total_ns < now + FBS_LEAD_NS;
}

/**
 * fbf_check_writes() - a free read has been sent: have writes of its sectors been before?
 * @fs: the scheduler, its disk locked
 *
 * The drive may swap them.
 *
 * Context: fb_disk.lock held.
 */
void fbf_check_writes(struct fbs *fs)
{
	struct fbs_rq *fq;

	list_for_each_entry(fq, &fs->flight, flight)
		if (fq->fg.write)
			fb_buf_overlap(fs->fd, fq->lbn, fq->nsect);
}

/* ---- what completions teach ---- */

static bool fbf_within(s64 error_ns)
{
	return abs(error_ns) <= 50 * (s64)NSEC_PER_USEC;
}

static void fbf_count_error(struct fb_stats *st, s64 error_ns)
{
	s64 bucket = div_s64(error_ns, FB_HIST_STEP_NS) + (error_ns < 0 ? 0 : 1) + FB_HIST_HALF;

	st->hist[clamp_t(s64, bucket, 0, 2 * FB_HIST_HALF + 1)]++;
	st->predicted++;
	if (fbf_within(error_ns))
		st->within_50us++;
}

/*
 * The guard is a net below the learnt conservatism, which keeps the cost at the target:
 * it must not switch off what varies around it by chance.
 */
static u32 fbf_guard_ppm(const struct fbs *fs)
{
	return fs->auto_margin ? 2 * fs->target_ppm : fs->target_ppm;
}

/* only while something is read in gaps is it of use what they take */
static bool fbf_learns(const struct fbs *fs)
{
	return fs->fd->svc || fs->others.seen_ns;
}

static void fbf_learn(struct fbs *fs, struct fbs_rq *fq, enum fb_head_verdict verdict,
		      s64 late_ns, u64 now)
{
	static const enum fbm_cause causes[FB_CAUSES] = {
		[FB_CAUSE_PLAIN] = FBM_PLAIN,
		[FB_CAUSE_PREPEND] = FBM_BEHIND,
		[FB_CAUSE_SEPARATE] = FBM_READ,
		[FB_CAUSE_AFTER] = FBM_BEHIND,
	};

	if (fq->cause == FB_CAUSE_IDLE)
		return;
	fq->leg.cause = causes[fq->cause];
	fq->leg.late_ns = late_ns;
	fbcal_learn(fs->fd, fq, verdict, now);
	if (fbf_learns(fs))
		fbm_learn(&fs->fd->margin, now, &fq->leg);
}

static void fbf_count_turns(struct fbs *fs, const struct fbs_rq *fq, s32 turns, u64 now)
{
	struct fb_disk *fd = fs->fd;
	u32 missed = 0;

	if (turns > 0) {
		fd->stats.miss[fq->cause]++;
		missed = fq->cause != FB_CAUSE_PLAIN && fq->cause != FB_CAUSE_IDLE;
		trace_freeblock_miss(fd, fq->lbn, fq->cause, turns);
	} else if (turns < 0) {
		fd->stats.early_turn++;
	}
	if (fb_guard_count(&fd->guard, now, fbs_is_foreground(fq), missed, fbf_guard_ppm(fs))) {
		fb_gap_void(fd);
		pr_notice("freeblock: %s: free reads cost the foreground too many turns, off for a while\n",
			  fd->name);
	}
}

/* the request behind the one that ended at @end_ns is in service now: predict it from there */
static void fbf_predict_next(struct fbs *fs, const struct fb_head_end *end)
{
	struct fbs_rq *next = list_first_entry_or_null(&fs->flight, struct fbs_rq, flight);
	struct dm_place from;
	u64 start_ns;
	bool known;

	if (!next)
		return;
	/* of those that the drive orders any may be next */
	if (end->verdict != FB_HEAD_MECHANICAL || fs->nr_flight >= fs->depth) {
		next->start_ns = 0;
		return;
	}
	if (next->sent_ns <= end->end_ns) {
		known = true;
		from = fs->head.at;
		start_ns = end->end_ns;
	} else {
		known = fbf_idle_head(fs, next->sent_ns, next->fg.write, &from, &start_ns);
	}
	fbf_predict(fs, next, known ? &from : NULL, start_ns);
}

/**
 * fbf_observe() - learn from a completion, and predict the command behind it anew
 * @fs: the scheduler, its disk locked, with a model
 * @fq: the command that has ended, no longer in @fs->flight
 * @now: when it was reported
 *
 * Context: fb_disk.lock held.
 *
 * Return: true: it ended where it should, and so the head is known.
 */
bool fbf_observe(struct fbs *fs, struct fbs_rq *fq, u64 now)
{
	struct fb_disk *fd = fs->fd;
	const struct dm_info *info = dm_info(fd->model);
	u32 report_ns = fq->fg.write ? info->write_report_ns : info->read_report_ns;
	u64 predicted = fq->start_ns ? fq->start_ns + fq->acc.total_ns : 0;
	u64 transfer = fq->placed ? fq->acc.total_ns - fq->acc.seek_ns - fq->acc.latency_ns : 0;
	struct fb_head_end end = { .verdict = FB_HEAD_ODD };
	struct dm_place place;

	lockdep_assert_held(&fd->lock);
	if (!fbf_end_place(fs, fq, &place)) {
		fb_head_lose(&fs->head);
		fbf_predict_next(fs, &end);
		return false;
	}
	fb_head_complete(&fs->head, now, &place, predicted, max(fq->start_ns, fq->sent_ns),
			 transfer, fq->fg.write, &end);
	if (end.verdict == FB_HEAD_MECHANICAL && end.turns > fbf_max_turns) {
		end.verdict = FB_HEAD_ODD;
		fb_head_lose(&fs->head);
	}
	fq->observed = true;
	fq->verdict = end.verdict;
	if (predicted) {
		fbf_count_error(&fd->stats, (s64)(now - report_ns - predicted));
		fbf_learn(fs, fq, end.verdict, (s64)(now - report_ns - predicted), now);
		if (end.verdict == FB_HEAD_MECHANICAL && fbf_within((s64)(end.end_ns - predicted)))
			fd->stats.end_within_50us++;
		fbf_count_turns(fs, fq, end.verdict == FB_HEAD_MECHANICAL ? end.turns : 0, now);
		if (!fq->overtaken)
			fbp_seen(&fd->probe, now, &fq->mark, &end);
	}
	trace_freeblock_complete(fd, fq->lbn, fq->nsect, fq->cause, predicted, now, &end);
	fbf_predict_next(fs, &end);
	return end.verdict == FB_HEAD_MECHANICAL;
}

/**
 * fbf_overtake() - the drive did something else before it took the commands sent before @fq
 * @fs: the scheduler, its disk locked
 * @fq: the command that has ended, still in @fs->flight
 * @now: the time
 *
 * Context: fb_disk.lock held.
 */
void fbf_overtake(struct fbs *fs, const struct fbs_rq *fq, u64 now)
{
	const struct fb_head_end odd = { .verdict = FB_HEAD_ODD };
	struct fbs_rq *before;

	lockdep_assert_held(&fs->fd->lock);
	list_for_each_entry(before, &fs->flight, flight) {
		if (before == fq)
			return;
		if (!before->watched)
			continue;
		if (!before->overtaken)
			fbp_seen(&fs->fd->probe, now, &before->mark, &odd);
		before->overtaken = true;
	}
}
