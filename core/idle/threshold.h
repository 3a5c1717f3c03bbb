/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Threshold and size of idle reads, and the statistics that they are found from: the part of
 * core/idle_policy.c that decides nothing by the moment. Private to the two. Core; the caller
 * serialises.
 */
#ifndef FB_IDLE_THRESHOLD_H
#define FB_IDLE_THRESHOLD_H

#include "core/idle/state.h"

#define FB_IDLE_POLICY_LEARN 32		/* intervals before threshold and size are found */
#define FB_IDLE_POLICY_WINDOW 4096	/* requests whose allowance may be saved up */

/* what is charged to a request on the mean: less than the goal, for the account misses up to 9 % */
static inline u64 fb_idle_policy_aim_ns(const struct fb_idle_policy *w)
{
	return w->goal_mean_ns - w->goal_mean_ns / 8;
}

/* the bin of idle intervals of a length */
u32 fb_idle_policy_bin(u64 ns);
/* a busy period is over: count it and the interval before it */
void fb_idle_policy_count_period(struct fb_idle_policy *w);
void fb_idle_policy_count_interval(struct fb_idle_policy *w);

/* the class of the idle read sent last, see core/idle/times.h */
u32 fb_idle_policy_class(const struct fb_idle_policy *w);
/* index of the size in force; how many of them keep the maximum wherever they are read */
u32 fb_idle_policy_size(const struct fb_idle_policy *w);
u32 fb_idle_policy_longest(const struct fb_idle_policy *w);

/* is it known what reads of a size take? */
bool fb_idle_policy_is_tried(const struct fb_idle_policy *w, u32 size);
/* of the first command of an idle interval, and of those that follow */
void fb_idle_policy_first_cost(const struct fb_idle_policy *w, u32 size, u64 wait_ns,
			       struct fb_idle_times_mean *m);
void fb_idle_policy_next_cost(const struct fb_idle_policy *w, u32 size,
			      struct fb_idle_times_mean *m);

/* what each request of a busy period behind idle reads waits on the mean */
u64 fb_idle_policy_hit_ns(const struct fb_idle_policy *w, u64 rest_ns);
/* find threshold and size */
void fb_idle_policy_find(struct fb_idle_policy *w);

#endif /* FB_IDLE_THRESHOLD_H */
