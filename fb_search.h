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

#include "disk_model.h"
#include "fb_bitmap.h"

#define FB_PLAN_PIECES 4	/* several pieces per gap need no new shape (DESIGN 4) */

/**
 * struct fb_gap - the head's way from the request before to the next one
 * @src: where the head is at the end of the request before
 * @dst: where the next foreground request begins
 * @dst_lbn: its first LBN
 * @dst_nsect: its length
 * @dst_write: its direction
 * @lead_ns: time from @src in which the arm cannot move yet (command overhead of an
 *	idle drive); 0 in the pipeline
 */
struct fb_gap {
	struct dm_place src;
	struct dm_place dst;
	u64 dst_lbn;
	u32 dst_nsect;
	bool dst_write;
	u64 lead_ns;
};

/**
 * struct fb_limits - what a plan may be
 * @conservatism_ns: added to each seek estimate of this decision (paper, 3.3)
 * @max_sectors: longest separate read
 * @max_prepend_sectors: longest prepend; 0 = prepending is not allowed to this request
 * @separate: separate reads are allowed
 * @granule_sectors: coverage granule, power of two
 */
struct fb_limits {
	u64 conservatism_ns;
	u32 max_sectors;
	u32 max_prepend_sectors;
	bool separate;
	u32 granule_sectors;
};

enum fb_plan_kind {
	FB_PLAN_NONE,
	FB_PLAN_PREPEND,	/* piece[0] ends exactly where the foreground begins */
	FB_PLAN_SEPARATE,	/* pieces are commands of their own */
};

struct fb_plan_piece {
	u64 lbn;
	u32 nsect;
};

/**
 * struct fb_plan - the best use of a gap found so far
 * @kind: what to do
 * @npieces: pieces in use (1 as yet)
 * @piece: granule-aligned LBN ranges; a prepend's end is not aligned where the
 *	foreground's beginning is not: the last partial granule is read, not delivered
 * @wanted: granules that it reads and that are wanted
 * @slack_ns: how much later than reckoned the head may be and still make it
 */
struct fb_plan {
	enum fb_plan_kind kind;
	u32 npieces;
	struct fb_plan_piece piece[FB_PLAN_PIECES];
	u32 wanted;
	u64 slack_ns;
};

/**
 * struct fb_search - a search under way; all fields private to fb_search.c but @best,
 * @latency_ns and the counters
 * @dm: model
 * @bm: map
 * @gap: the gap
 * @lim: limits
 * @best: best plan so far
 * @latency_ns: rotational latency before the destination: the opportunity
 * @window_ns: from leaving @gap.src to the destination's first sector: seek + latency
 * @tracks: tracks examined
 * @pass: 0 destination track, 1 cylinders outward, 2 over
 * @dist: cylinder distance of the ring being examined
 * @arm: which of the four cylinders of the ring
 * @head: next head in that cylinder
 */
struct fb_search {
	const struct disk_model *dm;
	const struct fb_bitmap *bm;
	struct fb_gap gap;
	struct fb_limits lim;
	struct fb_plan best;
	u64 latency_ns;
	u64 window_ns;
	u32 tracks;
	u32 pass;
	u32 dist;
	u32 arm;
	u32 head;
};

void fb_search_start(struct fb_search *s, const struct disk_model *dm,
		     const struct fb_bitmap *bm, const struct fb_gap *gap,
		     const struct fb_limits *lim);

/* examine one more track; false: nothing left that can beat @best */
bool fb_search_step(struct fb_search *s);

/*
 * The groups (tracks) of the granules of an LBN range: calls @fn for each run of
 * granules wholly inside [@lbn, @lbn + @nsect) that share one group. The host moves
 * coverage (take, done, untake, want) with it.
 */
typedef void (*fb_runs_fn)(void *ctx, u64 first, u32 n, u32 group);
void fb_for_each_run(const struct disk_model *dm, u32 granule_sectors, u64 lbn,
		     u64 nsect, fb_runs_fn fn, void *ctx);

#endif /* FB_SEARCH_H */
