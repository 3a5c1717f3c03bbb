/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Threshold and size of idle reads: the part of core/idle_policy.c that decides nothing by the
 * moment. Private to the two. Core; the caller serialises.
 *
 * Where idle intervals end by chance alone, to wait spares nothing: reads begin soon, and pause
 * while the budget is used up. Where those that have lasted last on, or streams go on, the budget
 * sets the threshold: it doubles as less is saved up, until what is charged is what is allowed
 * (Documentation/idle.rst).
 */
#ifndef FB_IDLE_THRESHOLD_H
#define FB_IDLE_THRESHOLD_H

#include "core/idle/state.h"

#define FB_IDLE_POLICY_WINDOW 4096	/* requests whose allowance may be saved up */
#define FB_IDLE_POLICY_START 64		/* allowances that the first so many requests may owe */

/* what may be charged to a request: less than the goal, for the account misses some of it */
static inline u64 fb_idle_policy_aim_ns(const struct fb_idle_policy *w)
{
	return w->goal_mean_ns - w->goal_mean_ns / 8;
}

/* a busy period is over */
void fb_idle_policy_count_period(struct fb_idle_policy *w);

/* the class of the idle read sent last, see core/idle/times.h */
u32 fb_idle_policy_class(const struct fb_idle_policy *w);
/* index of the size in force; how many of them keep the maximum wherever they are read */
u32 fb_idle_policy_size(const struct fb_idle_policy *w);
u32 fb_idle_policy_longest(const struct fb_idle_policy *w);

/* is it known what reads of a size take? */
bool fb_idle_policy_is_tried(const struct fb_idle_policy *w, u32 size);

/* what each request of a busy period behind idle reads waits on the mean */
u64 fb_idle_policy_hit_ns(const struct fb_idle_policy *w, u64 rest_ns);
/* what may be saved up, or owed */
u64 fb_idle_policy_most_ns(const struct fb_idle_policy *w);
/* what is saved up beyond the cost of a collision; below 0: too little */
s64 fb_idle_policy_spare_ns(const struct fb_idle_policy *w);
/* set the threshold; find the size, and set the threshold */
void fb_idle_policy_set_wait(struct fb_idle_policy *w);
void fb_idle_policy_find(struct fb_idle_policy *w);

#endif /* FB_IDLE_THRESHOLD_H */
