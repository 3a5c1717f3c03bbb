/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Commands in flight: predicts where and when each will end, and learns from its completion
 * about head and phase, seek times, the cost of free reads and the drive's look-ahead.
 * Core; the caller serialises. Nothing here sleeps or allocates.
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

/*
 * Sectors of a write that are not held back: when it begins the drive must have its data, and they
 * take a while on the way.
 */
#define FB_COMPLETION_HOLD_SECTORS 64

/**
 * struct fb_completion_cmd - a command, from when it is sent until its end is judged
 * @lbn: first sector, as sent
 * @nsect: sectors, as sent
 * @write: direction
 * @unplaced: it reads or writes no sectors, so where it ends is not known
 * @cause: its role in its gap
 * @foreground: it counts as a request of the foreground
 * @watched: the drive takes commands in our order, so its completion is learnt from; a
 *	command that the drive ordered may have ended anywhere
 * @own_order: the drive ordered it, or did something else first, but its completion tells where
 *	the head was
 * @failed: it did not run to its end, so its completion is not learnt from
 * @sent_ns: when it was handed to the driver
 * @start_ns: when its access begins: the end of the previous one; 0: unknown
 * @placed: @acc is valid
 * @acc: predicted access
 * @leg: what core/conservatism.h and core/seek_fit.h learn from
 * @mark: what the look-ahead probe learns from
 * @overtaken: a command sent later has ended before it, and the probe has been told
 * @observed: @verdict is valid
 * @verdict: kind of its completion
 */
struct fb_completion_cmd {
	u64 lbn;
	u32 nsect;
	bool write;
	bool unplaced;
	enum fb_cause cause;
	bool foreground;
	bool watched;
	bool own_order;
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
 * struct fb_completion_stats - counters
 * @predicted: completions with a prediction
 * @within_50us: those reported within 50 us of the predicted media end
 * @end_within_50us: those whose media end, without report noise, was within 50 us of it
 * @miss: those one turn or more later than predicted, by cause
 * @early_turn: those one turn or more earlier
 * @verdicts: completions that were judged, by kind
 * @hist: histogram of the reports' errors
 */
struct fb_completion_stats {
	u64 predicted;
	u64 within_50us;
	u64 end_within_50us;
	u64 miss[FB_CAUSES];
	u64 early_turn;
	u64 verdicts[FB_HEAD_VERDICTS];
	u64 hist[FB_HIST];
};

/**
 * struct fb_completion - what learns from completions
 * @dm: the model
 * @head: head and phase
 * @margin: odds of a lost turn; NULL: not wanted
 * @calib: corrections of seek times; NULL: none are made
 * @may_correct: @dm is not in use, so corrections may be applied at once
 * @guard: the guard; NULL: none
 * @guard_ppm: its bound
 * @probe: look-ahead probe
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
 * struct fb_completion_result - how a completion was judged
 * @end: verdict, end and turns
 * @predicted_ns: its predicted end; 0: none
 * @late_ns: measured minus predicted media end, if there was a prediction
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
 * fb_completion_end_ns() - get when a command is predicted to end
 * @c: the command
 *
 * Return: ns; 0: unknown.
 */
static inline u64 fb_completion_end_ns(const struct fb_completion_cmd *c)
{
	return c->start_ns ? c->start_ns + c->acc.total_ns : 0;
}

/**
 * fb_completion_too_late() - test whether a command ends before the next can reach the drive
 * @c: the command sent last
 * @now_ns: the time
 * @lead_ns: how long before its start a command must be sent
 *
 * Return: true if so, or if that is unknown.
 */
static inline bool fb_completion_too_late(const struct fb_completion_cmd *c, u64 now_ns,
					  u64 lead_ns)
{
	return !c->start_ns || fb_completion_end_ns(c) < now_ns + lead_ns;
}

u64 fb_completion_overhead_ns(const struct disk_model *dm, bool write);
u64 fb_completion_hold_ns(const struct disk_model *dm, const struct fb_completion_cmd *c,
			  u64 lead_ns);
bool fb_completion_may_hold(bool write, u32 nsect);
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
void fb_completion_follow(const struct fb_completion *l, const struct fb_completion_cmd *c,
			  u64 now_ns);
void fb_completion_believe(struct fb_head *head, u64 lbn, bool moved);
void fb_completion_overtaken(struct fb_lookahead *probe, struct fb_completion_cmd *c, u64 now_ns);

#endif /* FB_COMPLETION_H */
