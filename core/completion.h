/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Commands at the drive: where and when each will end, and what its completion teaches about
 * the head and the phase, seek times, the cost of free reads and the drive's look-ahead.
 * Core, the same in all hosts; the caller serialises. Nothing here sleeps or allocates.
 */
#ifndef FB_COMPLETION_H
#define FB_COMPLETION_H

#include "core/seek_fit.h"
#include "core/guard.h"
#include "core/head.h"
#include "core/conservatism.h"
#include "core/lookahead.h"

#define FB_HIST_STEP_NS 10000	/* histogram of prediction errors: 10 us a bucket ... */
#define FB_HIST_HALF 100	/* ... +-1 ms, and one bucket beyond at either side */
#define FB_HIST (2 * FB_HIST_HALF + 2)

enum fb_cause {
	FB_CAUSE_PLAIN,		/* foreground, nothing of ours before it in its gap */
	FB_CAUSE_PREPEND,	/* foreground with a prepended read */
	FB_CAUSE_SEPARATE,	/* a separate free read itself */
	FB_CAUSE_AFTER,		/* foreground just after a separate read */
	FB_CAUSE_IDLE,		/* read while nobody else wanted anything */
	FB_CAUSES,
};

/**
 * struct fb_completion_cmd - a command, from when it is sent until its end is judged
 * @lbn: first sector, as sent
 * @nsect: sectors, as sent
 * @write: direction
 * @unplaced: it reads or writes no sectors: where it ends is not known
 * @cause: what stood before it in its gap
 * @foreground: it counts as a request of the foreground
 * @watched: sent in our order: its completion teaches. What the drive ordered may have ended
 *	anywhere
 * @failed: it was not carried out, or not to its end: its completion says nothing
 * @sent_ns: when it was handed to the driver
 * @start_ns: when its access begins: the end of the one before; 0: unknown
 * @placed: @acc is valid
 * @acc: predicted access
 * @leg: what there is to learn from it
 * @mark: what the probe of look-ahead asks about it
 * @overtaken: a command sent later has ended before it: the probe knows
 * @observed: @verdict is valid
 * @verdict: what its completion was
 */
struct fb_completion_cmd {
	u64 lbn;
	u32 nsect;
	bool write;
	bool unplaced;
	enum fb_cause cause;
	bool foreground;
	bool watched;
	bool failed;
	u64 sent_ns;
	u64 start_ns;
	bool placed;
	struct dm_access acc;
	struct fb_conservatism_leg leg;
	struct fb_lookahead_mark mark;
	bool overtaken;
	bool observed;
	enum fb_head_verdict verdict;
};

/**
 * struct fb_completion_stats - what was counted
 * @predicted: completions with a prediction
 * @within_50us: of those, reports within 50 us of the predicted media end
 * @end_within_50us: of those, media ends, report noise taken off, within 50 us
 * @miss: one turn or more later than predicted, by cause
 * @early_turn: one turn or more earlier
 * @hist: errors of the reports
 */
struct fb_completion_stats {
	u64 predicted;
	u64 within_50us;
	u64 end_within_50us;
	u64 miss[FB_CAUSES];
	u64 early_turn;
	u64 hist[FB_HIST];
};

/**
 * struct fb_completion - who learns from completions
 * @dm: the model
 * @head: head and phase
 * @margin: odds of a lost turn; NULL: nobody wants to know them
 * @calib: corrections of seek times; NULL: none are made
 * @may_correct: nobody reckons with @dm meanwhile: corrections are applied at once
 * @guard: the guard; NULL: none
 * @guard_ppm: its bound
 * @probe: of look-ahead
 * @stats: counters
 */
struct fb_completion {
	struct disk_model *dm;
	struct fb_head *head;
	struct fb_conservatism *margin;
	struct fb_seek_fit *calib;
	bool may_correct;
	struct fb_guard *guard;
	u32 guard_ppm;
	struct fb_lookahead *probe;
	struct fb_completion_stats *stats;
};

/**
 * struct fb_completion_result - what a completion was
 * @end: verdict, end and turns
 * @predicted_ns: its predicted end; 0: there was none
 * @late_ns: measured less predicted media end, if there was a prediction
 * @correct: corrections of seek times are due, and @may_correct is not set
 * @tripped: the guard has just switched free reads off
 */
struct fb_completion_result {
	struct fb_head_end end;
	u64 predicted_ns;
	s64 late_ns;
	bool correct;
	bool tripped;
};

/**
 * fb_completion_end_ns() - when a command is predicted to end
 * @c: the command
 *
 * Return: ns; 0: it is not known.
 */
static inline u64 fb_completion_end_ns(const struct fb_completion_cmd *c)
{
	return c->start_ns ? c->start_ns + c->acc.total_ns : 0;
}

/**
 * fb_completion_too_late() - will a command end before the next one can be with the drive?
 * @c: the command sent last
 * @now_ns: the time
 * @lead_ns: so long before its start a command must be sent
 *
 * Return: true if so, or if that is not known.
 */
static inline bool fb_completion_too_late(const struct fb_completion_cmd *c, u64 now_ns,
					  u64 lead_ns)
{
	return !c->start_ns || fb_completion_end_ns(c) < now_ns + lead_ns;
}

u64 fb_completion_overhead_ns(const struct disk_model *dm, bool write);
u64 fb_completion_hold_ns(const struct disk_model *dm, const struct fb_completion_cmd *c,
			  u64 lead_ns);
bool fb_completion_idle_head(const struct fb_head *head, u64 now_ns, bool write,
			     struct dm_place *from, u64 *start_ns);
bool fb_completion_end_place(const struct disk_model *dm, const struct fb_completion_cmd *c,
			     struct dm_place *end);
bool fb_completion_predict(const struct fb_head *head, struct fb_completion_cmd *c,
			   const struct fb_completion_cmd *before, bool tail_known,
			   struct dm_place *tail);
void fb_completion_predict_next(const struct fb_head *head, struct fb_completion_cmd *next,
				bool alone, const struct fb_head_end *end);
void fb_completion_mark(struct fb_completion_cmd *c, u32 *lifts);
void fb_completion_judge(const struct fb_completion *l, struct fb_completion_cmd *c, u64 now_ns,
			 struct fb_completion_result *r);
void fb_completion_overtaken(struct fb_lookahead *probe, struct fb_completion_cmd *c, u64 now_ns);

#endif /* FB_COMPLETION_H */
