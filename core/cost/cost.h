/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The cost of free reads and its guard. Core; the caller serialises. Nothing here sleeps or
 * allocates.
 *
 * The guard goes by what the controlled trial has measured (core/cost/trial.h). Above the limit
 * and an eighth reads in gaps stop first, then idle reads; above three times the limit, or when of
 * a hundred reads one more is slow, both at once. They resume after ten minutes, after a day's
 * second stop twenty, then forty; a fourth stop within a day is for good. It is a guard, not a
 * controller: it takes minutes. core/guard.h is the fast alarm.
 */
#ifndef FB_COST_H
#define FB_COST_H

#include "core/cost/trial.h"

#define FB_COST_PAUSE_NS (600 * 1000000000ULL)
#define FB_COST_DAY_NS (86400 * 1000000000ULL)
#define FB_COST_RESUMES 3	/* a day */
#define FB_COST_DISASTER 3	/* times the limit */
#define FB_COST_MARGIN 8	/* a part of the limit: idle reads are steered to it */
#define FB_COST_MOST_PPM 1000000	/* of a limit: requests take twice as long */
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

/**
 * fb_cost_init() - initialise, with everything allowed and nothing wanted
 * @c: the cost
 * @seed: of the trial
 * @guarded: the guard acts; false: the trial only measures
 */
void fb_cost_init(struct fb_cost *c, u64 seed, bool guarded);

/**
 * fb_cost_want() - tell whether free reads are wanted
 * @c: the cost
 * @wanted: there is something to read, or may be at any time; the trial runs while that is so
 * @now_ns: the time
 */
void fb_cost_want(struct fb_cost *c, bool wanted, u64 now_ns);

/**
 * fb_cost_may() - get which free reads may be sent
 * @c: the cost
 * @now_ns: the time
 *
 * Return: FB_COST_GAPS, FB_COST_IDLE, both, or 0. In a control stretch, which fb_cost_controls()
 * tells from a stop, that is 0. Afterwards fb_cost_due() may be true.
 */
u32 fb_cost_may(struct fb_cost *c, u64 now_ns);

/**
 * fb_cost_due() - is there a block that has not been judged?
 * @c: the cost, as of the last fb_cost_may()
 *
 * Return: true: fb_cost_judge() and fb_cost_settle() are due.
 */
bool fb_cost_due(const struct fb_cost *c);

/**
 * fb_cost_judge() - work out what a block's end says
 * @c: the cost, or a copy, so that no lock needs to be held
 * @v: out
 */
void fb_cost_judge(const struct fb_cost *c, struct fb_cost_verdict *v);

/**
 * fb_cost_settle() - have a verdict take effect
 * @c: the cost
 * @v: the verdict; void if what is allowed has changed since
 * @now_ns: the time
 *
 * Return: true: it stopped something; @c->stop says why.
 */
bool fb_cost_settle(struct fb_cost *c, const struct fb_cost_verdict *v, u64 now_ns);

/**
 * fb_cost_controls() - is it a control stretch?
 * @c: the cost, as of the last fb_cost_may()
 *
 * Return: true: the drive is to be served as without any task.
 */
bool fb_cost_controls(const struct fb_cost *c);

/**
 * fb_cost_next_ns() - when fb_cost_may() is to be asked again, if nothing happens before
 * @c: the cost
 *
 * Return: the time; FB_TRIAL_NEVER: no such moment.
 */
u64 fb_cost_next_ns(const struct fb_cost *c);

/**
 * fb_cost_stop() - stop free reads for good, as the guard had before a boot
 * @c: the cost
 * @now_ns: the time
 */
void fb_cost_stop(struct fb_cost *c, u64 now_ns);

/**
 * fb_cost_reset() - allow everything again: somebody has acted
 * @c: the cost
 * @now_ns: the time
 */
void fb_cost_reset(struct fb_cost *c, u64 now_ns);

#endif /* FB_COST_H */
