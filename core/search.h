/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The search for what to read in the gap before the next foreground request (freeblock
 * paper, 2.3 and 4.3). Core.
 *
 * A search is a sequence of steps of one track each, so the host can stop it at any
 * moment (the paper's stop flag) and use the best plan found so far.
 */
#ifndef FB_SEARCH_H
#define FB_SEARCH_H

#include "core/plan.h"

/*
 * Begin to search a gap. @dm must not change during the search; @bm has a granule per
 * @lim->granule_sectors and a group per track of @dm. @gap and @lim are copied. Nothing in a search
 * sleeps or allocates.
 */
void fb_search_start(struct fb_search *s, const struct disk_model *dm,
		     const struct fb_bitmap *bm, const struct fb_gap *gap,
		     const struct fb_limits *lim);

/*
 * Examine one more track, or pass over some that are done; a better plan replaces @s->best. The
 * order (paper, 4.3) is the destination track, then the tracks of the cylinders at distance 0, 1,
 * 2, ... from source and destination. With FB_LIFT_SEVERAL the best piece found is kept, and the
 * time before and after it is searched like a gap of its own. A hop's search ends when no read of
 * fb_limits.max_sectors could beat the piece found. Cost: about 1 us at 1 GHz. False: nothing is
 * left that can beat @s->best.
 */
bool fb_search_step(struct fb_search *s);

/* Called with @n granules from @first on, all of one group. @ctx: the caller's. */
typedef void (*fb_runs_fn)(void *ctx, u64 first, u32 n, u32 group);

/*
 * Call a function, in LBN order, for each run of granules that lie wholly in a range and share one
 * group (track). The disk's last granule may be short; it counts as whole.
 */
void fb_for_each_run(const struct disk_model *dm, u32 granule_sectors, u64 lbn,
		     u64 nsect, fb_runs_fn fn, void *ctx);

/* The same where tracks are not known, by FB_BITMAP_SPAN granules. @end: behind the last one. */
void fb_for_each_span(u64 first, u64 end, fb_runs_fn fn, void *ctx);

#endif /* FB_SEARCH_H */
