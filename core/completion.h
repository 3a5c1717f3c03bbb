/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Commands in flight: predicts where and when each will end, and learns from its completion about
 * head and phase, seek times, lost turns and the drive's look-ahead. Core.
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

/* a longer write is not held back: when it begins the drive must have its data */
#define FB_COMPLETION_HOLD_SECTORS 64

/* A command, from when it is sent until its end is judged */
struct fb_completion_cmd {
	u64 lbn;			/* first sector, as sent */
	u32 nsect;			/* as sent */
	bool write;
	bool unplaced;	/* it reads or writes no sectors, so where it ends is not known */
	enum fb_cause cause;		/* its role in its gap */
	bool foreground;		/* it counts as a request of the foreground */
	/* learnt from: the drive takes commands in our order */
	bool watched;
	/* the drive ordered it, but its end says where the head is */
	bool own_order;
	bool paused;			/* it is the first since a pause (core/engine/engine.h) */
	bool failed;	/* it did not run to its end, so its completion is not learnt from */
	u64 sent_ns;			/* when it was handed to the driver */
	bool behind;	/* it is sent to an idle drive, and begins where the last read has ended */
	bool read_on;			/* the drive is expected to have begun with it then */
	u64 start_ns;	/* its access begins at the end of the previous one; 0: unknown */
	bool placed;			/* @from and @acc are valid */
	struct dm_place from;		/* where the head was predicted to start ... */
	struct dm_access acc;		/* ... and the access from there */
	struct fb_conservatism_leg leg;	/* for core/conservatism.h, core/seek_fit.h */
	struct fb_lookahead_mark mark;	/* for the look-ahead probe */
	bool overtaken;	/* a later command has ended first, and the probe has been told */
	bool observed;			/* @verdict is valid */
	enum fb_head_verdict verdict;
};

/* Counters */
struct fb_completion_stats {
	u64 predicted;			/* completions with a prediction */
	u64 within_50us;		/* those reported within 50 us of the predicted media end */
	u64 end_within_50us;		/* those whose media end, less report noise, was */
	u64 miss[FB_CAUSES];		/* one turn or more later than predicted */
	u64 early_turn;			/* one turn or more earlier */
	u64 verdicts[FB_HEAD_VERDICTS];	/* completions that were judged */
	u64 hist[FB_HIST];		/* of the reports' errors */
};

/* What learns from completions */
struct fb_completion {
	struct disk_model *dm;
	struct fb_head *head;
	struct fb_conservatism *margin;	/* odds of a lost turn; NULL: not wanted */
	struct fb_seek_fit *calib;	/* corrections of seek times; NULL: none */
	bool may_correct;	/* @dm is not in use, so corrections may be applied at once */
	struct fb_guard *guard;		/* or NULL */
	u32 guard_ppm;			/* its bound */
	struct fb_lookahead *probe;
	struct fb_completion_stats *stats;
};

/* How a completion was judged */
struct fb_completion_result {
	struct fb_head_end end;		/* verdict, end and turns */
	u64 predicted_ns;		/* its predicted end; 0: none */
	s64 late_ns;	/* measured minus predicted media end, if there was a prediction */
	bool correct;	/* corrections of seek times are due, and may not be applied at once */
	bool tripped;			/* the guard has just switched free reads off */
};

/* When a command is predicted to end, ns; 0: unknown. */
static inline u64 fb_completion_end_ns(const struct fb_completion_cmd *c)
{
	return c->start_ns ? c->start_ns + c->acc.total_ns : 0;
}

/* Does @c, sent last, end, or may it, before a command @lead_ns ahead can reach the drive? */
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
