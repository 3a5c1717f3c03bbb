/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How fast a task's blocks are read, and whether it will make its deadline at that rate. Core;
 * the caller serialises.
 */
#ifndef FB_PACE_H
#define FB_PACE_H

#include "include/fb_shim.h"

#define FB_PACE_NS 10000000000ULL	/* time over which the rate is measured */

/**
 * struct fb_pace - a task's rate
 * @mark_ns: when it was last measured
 * @mark_done: blocks done then
 * @rate: blocks a second, at least 1; 0: not measured yet
 */
struct fb_pace {
	u64 mark_ns;
	u64 mark_done;
	u64 rate;
};

void fb_pace_begin(struct fb_pace *p, u64 done, u64 now_ns);
void fb_pace_measure(struct fb_pace *p, u64 done, u64 now_ns);
u64 fb_pace_due_ns(const struct fb_pace *p);
bool fb_pace_is_late(const struct fb_pace *p, u64 left, u64 deadline_ns, u64 now_ns);

#endif /* FB_PACE_H */
