/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How fast a task's blocks are read, and whether it will make its deadline at that rate. Core;
 * the caller serialises.
 */
#ifndef FB_PACE_H
#define FB_PACE_H

#include "include/fb_shim.h"

#define FB_PACE_NS 10000000000ULL	/* time over which the rate is measured */

/* A task's rate */
struct fb_pace {
	u64 mark_ns;			/* when it was last measured */
	u64 mark_done;			/* blocks done then */
	u64 rate;			/* blocks a second, at least 1; 0: not measured yet */
};

/* Begin to measure. @done: blocks done so far. */
void fb_pace_begin(struct fb_pace *p, u64 done, u64 now_ns);
/* Measure the rate if that is due. */
void fb_pace_measure(struct fb_pace *p, u64 done, u64 now_ns);
/* When it can be measured next. */
u64 fb_pace_due_ns(const struct fb_pace *p);
/* Would a task miss its deadline, 0: none? Not if its rate is not known, or nothing is left. */
bool fb_pace_is_late(const struct fb_pace *p, u64 left, u64 deadline_ns, u64 now_ns);

#endif /* FB_PACE_H */
