/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The search for what to read in the gap before the next foreground request (freeblock paper, 2.3
 * and 4.3), in steps of one track each, so that the host can stop it at any moment. Core.
 */
#ifndef FB_SEARCH_H
#define FB_SEARCH_H

#include "core/plan.h"

/* Begin to search a gap. @bm has a group per track of @dm, which must not change meanwhile. */
void fb_search_start(struct fb_search *s, const struct disk_model *dm,
		     const struct fb_bitmap *bm, const struct fb_gap *gap,
		     const struct fb_limits *lim);

/*
 * Examine one more track, or pass over some; a better plan replaces @s->best. The order (paper,
 * 4.3) is the destination track, then cylinders at growing distance from source and destination.
 * With FB_LIFT_SEVERAL the time before and after the best piece is searched like a gap of its own.
 * About 1 us at 1 GHz. False: nothing is left that can beat @s->best.
 */
bool fb_search_step(struct fb_search *s);

#endif /* FB_SEARCH_H */
