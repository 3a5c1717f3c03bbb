/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What to read in the gap before the next foreground request (freeblock paper,
 * 2.3 and 4.3). Core.
 *
 * A search is a sequence of steps, one track each, so that the host can stop it
 * at any moment (the paper's stop flag) and always has the best plan so far.
 */
#ifndef FB_SEARCH_H
#define FB_SEARCH_H

#include "core/plan.h"

/**
 * fb_search_start() - begin to look at a gap
 * @s: filled; @s->best is empty
 * @dm: model; must not change during the search
 * @bm: map with a granule per @lim->granule_sectors and a group per track of @dm
 * @gap: copied
 * @lim: copied
 *
 * Context: any; nothing in a search sleeps or allocates.
 */
void fb_search_start(struct fb_search *s, const struct disk_model *dm,
		     const struct fb_bitmap *bm, const struct fb_gap *gap,
		     const struct fb_limits *lim);

/**
 * fb_search_extra_ns() - what any read in a gap costs the foreground though it is in time
 * @dm: model
 * @gap: the gap
 * @latency_ns: its rotational latency
 *
 * Where it lands within the request, a drive with zero-latency access needs one turn from
 * there; behind a read it would wait for the first sector and then read all.
 *
 * Return: ns; 0 mostly.
 */
u64 fb_search_extra_ns(const struct disk_model *dm, const struct fb_gap *gap, u64 latency_ns);

/**
 * fb_search_step() - examine one more track, or pass over some that are done
 * @s: the search; @s->best is replaced when something better is found
 *
 * Order (paper, 4.3): the destination track, then the tracks of the cylinders at
 * distance 0, 1, 2, ... of source and destination. With FB_LIFT_SEVERAL the best piece
 * found stays, and the time before and after it is searched like a gap of its own. A piece
 * that nothing of @max_sectors can beat ends the search for it.
 * Cost: about 1 us at 1 GHz.
 *
 * Return: false: nothing is left that can beat @s->best.
 */
bool fb_search_step(struct fb_search *s);

/**
 * typedef fb_runs_fn - gets one run of granules of one group
 * @ctx: the caller's
 * @first: first granule
 * @n: how many
 * @group: their group
 */
typedef void (*fb_runs_fn)(void *ctx, u64 first, u32 n, u32 group);

/**
 * fb_for_each_run() - the groups (tracks) of the granules of an LBN range
 * @dm: model
 * @granule_sectors: coverage granule, power of two
 * @lbn: first LBN
 * @nsect: sectors
 * @fn: called, in LBN order, for each run of granules that lie wholly in the range and
 *	share one group; the host moves coverage (take, done, untake, want) with it.
 *	The disk's last granule may be short; it counts as whole.
 * @ctx: passed on
 */
void fb_for_each_run(const struct disk_model *dm, u32 granule_sectors, u64 lbn,
		     u64 nsect, fb_runs_fn fn, void *ctx);

#endif /* FB_SEARCH_H */
