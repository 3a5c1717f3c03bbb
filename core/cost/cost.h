/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The guard by what the controlled trial has measured. Above the limit and an
 * eighth reads in gaps stop first, then idle reads; above three times the limit, or when of a
 * hundred reads one more is slow, both at once. They resume after ten minutes, after a day's second
 * stop twenty, then forty; a fourth within a day is for good. It takes minutes; core/guard.h is the
 * fast alarm. Core; the caller serialises.
 */
#ifndef FB_COST_H
#define FB_COST_H

#include "core/cost/trial.h"

#define FB_COST_PAUSE_NS (600 * (u64)NSEC_PER_SEC)
#define FB_COST_RESUMES 3	/* a day */
#define FB_COST_DISASTER 3	/* times the limit */
#define FB_COST_MARGIN 8	/* a part of the limit: idle reads are steered to it */
#define FB_COST_MOST_PPM FB_PPM	/* of a limit: requests take twice as long */
#define FB_COST_SLOW (FB_TRIAL_ALL / 100)	/* more reads that are slow: a disaster */

/* what may be read now */
#define FB_COST_GAPS 1
#define FB_COST_IDLE 2

/* what is allowed outside of control: all; idle reads; nothing: for a pause, or until a reset */
enum fb_cost_level { FB_COST_ALL, FB_COST_NO_GAPS, FB_COST_NOTHING, FB_COST_FOR_GOOD };

struct fb_cost {
	struct fb_trial trial;	/* what free reads cost */
	bool guarded;		/* the guard acts */
	bool gaps;		/* reads in gaps are possible, to be stopped first */
	bool wanted;		/* there is something to read, or may be at any time */
	enum fb_cost_level level;
	u64 until_ns;		/* level NO_GAPS or NOTHING: until then */
	u64 pause_ns;		/* length of the next pause */
	u64 resumed_ns[FB_COST_RESUMES];	/* when free reads resumed the last times */
	u32 resumes;		/* how often */
	u32 stops;		/* how often the guard has stopped something */
	struct fb_trial_cost stop;	/* what free reads cost when it did so last, */
	bool slow;		/* and more reads were slow: therefore */
	u32 looks;		/* blocks of the trial that have been judged */
};

/* what a block's end says */
struct fb_cost_verdict {
	u32 looks;		/* which block that was */
	struct fb_trial_verdict trial;
	bool trips;		/* the guard is to stop something, */
	bool disaster;		/* and that is everything, */
	bool slow;		/* for slow reads */
};

/* Everything is allowed, nothing wanted. @guarded: the guard acts; else it is only measured. */
void fb_cost_init(struct fb_cost *c, u64 seed, bool guarded);
/* Is there something to read, or may there be at any time? The trial runs while that is so. */
void fb_cost_want(struct fb_cost *c, bool wanted, u64 now_ns);

/* Which free reads may be sent: FB_COST_GAPS, FB_COST_IDLE; 0: stopped, or a control stretch. */
u32 fb_cost_may(struct fb_cost *c, u64 now_ns);
/* Is there a block to be judged? Then fb_cost_judge() and fb_cost_settle() are due. */
bool fb_cost_due(const struct fb_cost *c);
/* Work out what a block's end says. @c: or a copy, so that no lock needs to be held. */
void fb_cost_judge(const struct fb_cost *c, struct fb_cost_verdict *v);
/* A verdict takes effect; void if what is allowed has changed since. True: it stopped something. */
bool fb_cost_settle(struct fb_cost *c, const struct fb_cost_verdict *v, u64 now_ns);
/* Is it a control stretch, in which the drive is served as without any task? */
bool fb_cost_controls(const struct fb_cost *c);
/* When fb_cost_may() is to be asked again, if nothing happens before; or FB_TRIAL_NEVER. */
u64 fb_cost_next_ns(const struct fb_cost *c);
/* Stop free reads for good, as the guard had before a boot. */
void fb_cost_stop(struct fb_cost *c, u64 now_ns);
/* Allow everything again: somebody has acted. */
void fb_cost_reset(struct fb_cost *c, u64 now_ns);

#endif /* FB_COST_H */
