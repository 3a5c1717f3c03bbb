// SPDX-License-Identifier: GPL-2.0
/* Predicting the ends of commands, and learning from completions; see core/completion.h. Core. */
#include "core/completion.h"

/* later than this many turns is error recovery, or a busy host, not rotation: the head is lost */
#define FB_COMPLETION_MAX_TURNS 8

#define FB_COMPLETION_WITHIN_NS 50000	/* the bound of the paper's figure 7 */

/* ---- predictions ---- */

/* The time an idle drive takes before it moves the arm, ns. */
u64 fb_completion_overhead_ns(const struct disk_model *dm, bool write)
{
	const struct dm_info *info = dm_info(dm);

	return write ? info->write_overhead_ns : info->read_overhead_ns;
}

/*
 * Until when the command after @c, in service, is held back, as a better one may arrive; 0: it is
 * not. @lead_ns: what it takes to send one, besides the drive's overhead.
 */
u64 fb_completion_hold_ns(const struct disk_model *dm, const struct fb_completion_cmd *c,
			  u64 lead_ns)
{
	u64 end_ns = fb_completion_end_ns(c);

	lead_ns += max(fb_completion_overhead_ns(dm, false), fb_completion_overhead_ns(dm, true));
	return end_ns - min(end_ns, lead_ns);
}

/* May a command be held back? Not a long write, which would come too late and lose a turn. */
bool fb_completion_may_hold(bool write, u32 nsect)
{
	return !write || nsect < FB_COMPLETION_HOLD_SECTORS;
}

/* Where the head is when an idle drive begins a command, and when. False: unknown. */
bool fb_completion_idle_head(const struct fb_head *head, u64 now_ns, bool write,
			     struct dm_place *from, u64 *start_ns)
{
	*start_ns = now_ns + fb_completion_overhead_ns(head->dm, write);
	return fb_head_now(head, *start_ns, from);
}

/* where the head is behind the last sector; false: unknown */
static bool fb_completion_last_place(const struct disk_model *dm, const struct fb_completion_cmd *c,
				     struct dm_place *end)
{
	u64 lbn = c->lbn + c->nsect - 1;
	struct dm_place last;
	struct dm_access acc;

	if (c->unplaced || dm_place_of(dm, lbn, &last) ||
	    dm_access(dm, &last, lbn, 1, false, &acc))
		return false;
	*end = acc.end;
	return true;
}

/* Where the head is at a command's end, or behind its last sector. False: unknown. */
bool fb_completion_end_place(const struct disk_model *dm, const struct fb_completion_cmd *c,
			     struct dm_place *end)
{
	if (!c->placed)
		return fb_completion_last_place(dm, c, end);
	*end = c->acc.end;
	return true;
}

/* predict @c's access from @from, which the head leaves at @start_ns (0: unknown when) */
static void fb_completion_place(const struct disk_model *dm, struct fb_completion_cmd *c,
				const struct dm_place *from, u64 start_ns)
{
	c->placed = from && !c->unplaced &&
		    !dm_access(dm, from, c->lbn, c->nsect, c->write, &c->acc);
	c->start_ns = c->placed ? start_ns : 0;
	if (c->placed)
		c->from = *from;
}

/*
 * Where and since when the drive reads for an idle read right behind the last read, if it reads
 * ahead. False: it does not.
 */
static bool fb_completion_read_on(const struct fb_head *head, struct fb_completion_cmd *c,
				  struct dm_place *from, u64 *start_ns)
{
	c->behind = c->cause == FB_CAUSE_IDLE && head->ahead_lbn == c->lbn &&
		    c->sent_ns < head->ahead_ns + dm_period_ns(head->dm) / FB_HEAD_CACHE_PART;
	c->read_on = c->behind && head->known && head->reads_on;
	if (!c->read_on)
		return false;
	*from = head->at;
	*start_ns = head->at_ns;
	return true;
}

/*
 * Predict a command that is being sent. @before: the one in flight before it, or NULL. @tail: where
 * the head is before it, if known; out: behind it. True: it is known.
 */
bool fb_completion_predict(const struct fb_head *head, struct fb_completion_cmd *c,
			   const struct fb_completion_cmd *before, bool tail_known,
			   struct dm_place *tail)
{
	struct dm_place from = *tail;
	u64 start_ns;

	if (before)
		start_ns = fb_completion_end_ns(before);
	else if (fb_completion_read_on(head, c, &from, &start_ns))
		tail_known = true;
	else
		tail_known = fb_completion_idle_head(head, c->sent_ns, c->write, &from, &start_ns);
	fb_completion_place(head->dm, c, tail_known ? &from : NULL, start_ns);
	/* the drive is through: how soon its cache answers is not known */
	if (c->read_on && fb_completion_end_ns(c) <= c->sent_ns) {
		c->read_on = false;
		c->start_ns = 0;
	}
	return fb_completion_end_place(head->dm, c, tail);
}

/* Repeat the prediction of the command after one that has ended. @alone: it is in service now. */
void fb_completion_predict_next(const struct fb_head *head, struct fb_completion_cmd *next,
				bool alone, const struct fb_head_end *end)
{
	struct dm_place from = head->at;
	u64 start_ns = end->end_ns;
	bool known = true;

	if (end->verdict != FB_HEAD_MECHANICAL || !alone) {
		next->start_ns = 0;
		return;
	}
	if (next->sent_ns > end->end_ns)
		known = fb_completion_idle_head(head, next->sent_ns, next->write, &from, &start_ns);
	fb_completion_place(head->dm, next, known ? &from : NULL, start_ns);
}

/* ---- learning from completions ---- */

static bool fb_completion_within(s64 error_ns)
{
	return error_ns <= FB_COMPLETION_WITHIN_NS && error_ns >= -FB_COMPLETION_WITHIN_NS;
}

static void fb_completion_count(struct fb_completion_stats *st,
				const struct fb_completion_cmd *c,
				const struct fb_completion_result *r, s32 turns)
{
	s64 bucket = div_s64(r->late_ns, FB_HIST_STEP_NS) + (r->late_ns < 0 ? 0 : 1) +
		     FB_HIST_HALF;

	st->hist[clamp_t(s64, bucket, 0, FB_HIST - 1)]++;
	st->predicted++;
	st->within_50us += fb_completion_within(r->late_ns);
	st->end_within_50us += r->end.verdict == FB_HEAD_MECHANICAL &&
			       fb_completion_within(r->end.end_ns - r->predicted_ns);
	st->miss[c->cause] += turns > 0;
	st->early_turn += turns < 0;
}

static void fb_completion_learn(const struct fb_completion *l, struct fb_completion_cmd *c,
				u64 now_ns, struct fb_completion_result *r)
{
	/* here, not when it is sent: nothing is learnt from idle reads, and those that are lost */
	fb_conservatism_predict(&c->leg, l->dm, &c->from, c->nsect, &c->acc);
	c->leg.cause = c->cause;
	c->leg.late_ns = r->late_ns;
	if (l->margin)
		fb_conservatism_learn(l->margin, now_ns, &c->leg);
	if (!l->calib || r->end.verdict == FB_HEAD_EARLY)
		return;
	fb_seek_fit_learn(l->calib, now_ns, l->dm, &c->leg, &c->acc);
	if (!fb_seek_fit_due(l->calib, now_ns))
		return;
	if (l->may_correct)
		fb_seek_fit_apply(l->calib, now_ns, l->dm);
	else
		r->correct = true;
}

/* not inline: its stack is not needed where commands are placed */
static noinline void fb_completion_compare(const struct fb_completion *l,
					   struct fb_completion_cmd *c, u64 now_ns,
					   struct fb_completion_result *r)
{
	const struct dm_info *info = dm_info(l->dm);
	u32 report_ns = c->write ? info->write_report_ns : info->read_report_ns;
	s32 turns = r->end.verdict == FB_HEAD_MECHANICAL ? r->end.turns : 0;

	r->late_ns = now_ns - report_ns - r->predicted_ns;
	fb_completion_count(l->stats, c, r, turns);
	/* an idle read is in no gap and follows no command: what is learnt below is about gaps */
	if (c->cause == FB_CAUSE_IDLE)
		return;
	fb_completion_learn(l, c, now_ns, r);
	if (l->guard)
		r->tripped = fb_guard_count(l->guard, now_ns, c->foreground,
					    turns > 0 && c->cause != FB_CAUSE_PLAIN,
					    l->guard_ppm);
	if (!c->overtaken)
		fb_lookahead_seen(l->probe, now_ns, &c->mark, &r->end);
}

/* what speaks for phase and model */
struct fb_completion_belief {
	u32 trust, fits, right;
};

/*
 * What a drive did first, such as to write from its cache, or a @late host does not speak against
 * the model, and hardly against the phase.
 */
static void fb_completion_excuse(struct fb_head *head, const struct fb_completion_belief *before,
				 const struct fb_head_end *end, bool late)
{
	bool odd = end->verdict == FB_HEAD_ODD;

	if (!odd && end->turns <= 0)
		return;
	head->right = before->right;
	if (!odd)
		return;
	if (late || before->trust >= 2)
		head->fits = before->fits;
	if (before->trust >= 2)
		head->trust = before->trust - 1;
}

static bool fb_completion_is_late(const struct fb_completion *l,
				  const struct fb_completion_result *r)
{
	return r->end.end_ns > r->predicted_ns + FB_COMPLETION_MAX_TURNS * dm_period_ns(l->dm);
}

/*
 * May a zero-latency drive's head have landed late within an idle read? It ends there then. Of
 * other reads that would excuse nearly all that is wrong.
 */
static bool fb_completion_has_landed(const struct fb_completion *l,
				     const struct fb_completion_cmd *c,
				     const struct fb_completion_result *r, u64 transfer_ns)
{
	u64 turn_later_ns = r->predicted_ns + dm_period_ns(l->dm);

	return c->cause == FB_CAUSE_IDLE && dm_info(l->dm)->zero_latency &&
	       r->end.verdict == FB_HEAD_ODD && r->end.end_ns <= turn_later_ns &&
	       r->end.end_ns + transfer_ns >= turn_later_ns;
}

/* does the drive go on behind this read, and did it behind the one before? */
static void fb_completion_note_ahead(struct fb_head *head, const struct fb_completion_cmd *c,
				     const struct fb_head_end *end)
{
	bool early = end->verdict == FB_HEAD_EARLY;
	struct dm_place last;

	if (c->behind && early && fb_completion_last_place(head->dm, c, &last))
		fb_head_find(head, &last, end->end_ns);
	if (c->behind)
		head->reads_on = head->known &&
				 (early || end->turns < 0 || (c->read_on && !end->turns));
	head->ahead_lbn = c->write ? 0 : c->lbn + c->nsect;
	head->ahead_ns = end->end_ns;
}

/* Learn from a completion reported at @now_ns. @r: out: how it was judged. */
void fb_completion_judge(const struct fb_completion *l, struct fb_completion_cmd *c, u64 now_ns,
			 struct fb_completion_result *r)
{
	const struct fb_completion_belief before = { .trust = l->head->trust,
		.fits = l->head->fits, .right = l->head->right };
	u64 transfer_ns = c->placed ? c->acc.total_ns - c->acc.seek_ns - c->acc.latency_ns : 0;
	struct dm_place place;

	memset(r, 0, sizeof(*r));
	r->end.verdict = FB_HEAD_ODD;
	if (!c->watched || c->failed || !fb_completion_end_place(l->dm, c, &place)) {
		fb_head_lose(l->head);
		l->head->ahead_lbn = 0;
		return;
	}
	r->predicted_ns = fb_completion_end_ns(c);
	fb_head_complete(l->head, now_ns, &place, r->predicted_ns,
			 c->read_on ? c->start_ns : max(c->start_ns, c->sent_ns), transfer_ns,
			 c->write, &r->end);
	fb_completion_note_ahead(l->head, c, &r->end);
	if (r->predicted_ns && (c->own_order || fb_completion_is_late(l, r) ||
				fb_completion_has_landed(l, c, r, transfer_ns)))
		fb_completion_excuse(l->head, &before, &r->end, fb_completion_is_late(l, r));
	/* right behind the last command: the drive had begun with it before it was asked */
	if (c->cause == FB_CAUSE_IDLE && r->end.turns < 0)
		l->head->right = before.right;
	if (r->end.verdict == FB_HEAD_MECHANICAL && r->end.turns > FB_COMPLETION_MAX_TURNS) {
		r->end.verdict = FB_HEAD_ODD;
		fb_head_lose(l->head);
	}
	c->observed = true;
	c->verdict = r->end.verdict;
	l->stats->verdicts[c->verdict]++;
	if (r->predicted_ns)
		fb_completion_compare(l, c, now_ns, r);
}

/* Follow a drive that orders by itself: a read from the medium has ended at its sectors' angle. */
void fb_completion_follow(const struct fb_completion *l, const struct fb_completion_cmd *c,
			  u64 now_ns)
{
	struct fb_head_end end;
	struct dm_place place;

	if (now_ns < c->sent_ns + dm_period_ns(l->dm) / FB_HEAD_CACHE_PART)
		return;
	if (!c->failed && !c->write && fb_completion_end_place(l->dm, c, &place))
		fb_head_complete(l->head, now_ns, &place, 0, 0, 0, false, &end);
}

/* The drive orders, and has @moved the head to a track, or is believed to be there. */
void fb_completion_believe(struct fb_head *head, u64 lbn, bool moved)
{
	struct dm_place place;

	if ((moved || !head->known) && !dm_place_of(head->dm, lbn, &place))
		fb_head_guess(head, &place);
}

/* Mark a command for the look-ahead probe; @lifts: of the last command sent; out: of this one. */
void fb_completion_mark(struct fb_completion_cmd *c, u32 *lifts)
{
	c->mark.behind = *lifts;
	c->mark.ours = c->cause != FB_CAUSE_PLAIN;
	*lifts = c->mark.at;
}

/* The drive has ended a later command before @c, which is still in flight: tell the probe. */
void fb_completion_overtaken(struct fb_lookahead *probe, struct fb_completion_cmd *c, u64 now_ns)
{
	const struct fb_head_end odd = { .verdict = FB_HEAD_ODD };

	if (!c->watched || c->overtaken)
		return;
	fb_lookahead_seen(probe, now_ns, &c->mark, &odd);
	c->overtaken = true;
}
