/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Threshold and size of idle reads, and the statistics that they are found from: the part of
 * core/idle_policy.c that decides nothing by the moment. Private to the two. Core; the caller
 * serialises.
 */
#ifndef FB_IDLE_THRESHOLD_H
#define FB_IDLE_THRESHOLD_H

#include "core/idle/state.h"

/*
 * With fewer intervals than this the threshold is 100 ms: above that most of the paper's traces
 * keep to a mean of 2 ms (table III).
 */
#define FB_IDLE_POLICY_LEARN 32
#define FB_IDLE_POLICY_ALONE_AGE 4096	/* requests after which they count half */
#define FB_IDLE_POLICY_ALONE_KNOWN 16	/* least requests for a mean */
#define FB_IDLE_POLICY_BEHIND_KNOWN 256	/* least requests for a mean that few long queues make */
#define FB_IDLE_POLICY_WINDOW 4096		/* requests whose allowance may be saved up */

/* mean cost of commands of one size */
struct fb_idle_policy_cost {
	u64 ns;		/* time of a command */
	u64 sectors;	/* sectors that it reads */
	u64 rest_ns;	/* mean rest of it when a foreground request arrives meanwhile */
};

/* the bin of idle intervals of a length */
u32 fb_idle_policy_bin(u64 ns);

/* a busy period is over: count it, what its requests waited, and the interval before it */
void fb_idle_policy_count_period(struct fb_idle_policy *w);
void fb_idle_policy_count_behind(struct fb_idle_policy *w);
void fb_idle_policy_count_interval(struct fb_idle_policy *w);

/* the time of a request that came alone */
void fb_idle_policy_count_alone(struct fb_idle_policy_first *f, u64 ns);

/* the class of the idle read sent last, see core/idle/times.h; the time that it took */
u32 fb_idle_policy_class(const struct fb_idle_policy *w);
void fb_idle_policy_count_read(struct fb_idle_policy *w, u64 ns);

/* index of the size in force; how many of them keep the maximum wherever they are read */
u32 fb_idle_policy_size(const struct fb_idle_policy *w);
u32 fb_idle_policy_longest(const struct fb_idle_policy *w);

/* of the first command of an idle interval, and of those that follow */
void fb_idle_policy_first_cost(const struct fb_idle_policy *w, u32 size, u64 wait_ns,
			       struct fb_idle_policy_cost *c);
void fb_idle_policy_next_cost(const struct fb_idle_policy *w, u32 size,
			      struct fb_idle_policy_cost *c);

/* where the drive orders only the first request waits for a read, until more is known */
bool fb_idle_policy_one_waits(const struct fb_idle_policy *w);

/* what first requests behind idle reads wait besides the rest of one */
s64 fb_idle_policy_moved_ns(const struct fb_idle_policy *w);

/* what a busy period behind idle reads waits on the mean */
u64 fb_idle_policy_hit_ns(const struct fb_idle_policy *w, u64 rest_ns);

/* find threshold and size; and fade what is not in use before */
void fb_idle_policy_find(struct fb_idle_policy *w);
void fb_idle_policy_tune(struct fb_idle_policy *w);

#endif /* FB_IDLE_THRESHOLD_H */
