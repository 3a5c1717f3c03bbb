/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The gap before the next foreground request, the plan of what to read in it, and the state
 * of the search for a plan (freeblock paper, 2.3 and 4.3); how granules are counted. Core.
 */
#ifndef FB_PLAN_H
#define FB_PLAN_H

#include "disk_model.h"
#include "fb_bitmap.h"
#include "core/conservatism.h"

#define FB_PLAN_PIECES 4	/* most pieces of a plan: more gain nothing */
#define FB_HOP_STEPS 32		/* recommended fb_limits.hop_steps */
/*
 * The longest read holds 1.5 of the drive's longest tracks, the most that one gap can yield; not
 * below 256 KiB (the papers' drives), nor above 1280, the default max_sectors_kb. Sectors.
 */
#define FB_LONGEST_READ_MIN 512
#define FB_LONGEST_READ_MAX 2560
#define FB_MIN_GRANULE 8
/* granules of a read of our own at most, so that a buffer's mask has a bit for each */
#define FB_READ_GRANULES (FB_LONGEST_READ_MAX / FB_MIN_GRANULE)
#define FB_WEIGHT_ONE 256	/* weight of a granule where all are worth the same */
#define FB_ROOTS 1024		/* last index of struct fb_roots.of */
#define FB_ROOT_MOST (16 * FB_WEIGHT_ONE)	/* the last root */

/* The time between the previous request and the next one */
struct fb_gap {
	struct dm_place src;		/* where the head is at the end of the previous request */
	struct dm_place dst;		/* where the next foreground request begins */
	u64 dst_lbn;			/* its first LBN */
	u32 dst_nsect;
	bool dst_write;			/* its direction */
	/* after @src the arm waits so long (an idle drive's overhead); 0 if the next is queued */
	u64 lead_ns;
};

/*
 * Limits of the paper's scheduler that a search may lift. The first two, which also hold for a
 * plan's own pieces, are allowed where they do not trigger the drive's look-ahead.
 */
enum fb_lift {
	FB_LIFT_SOURCE = 1 << 0,	/* also read on the source track before the arm leaves it */
	FB_LIFT_DEST = 1 << 1,	/* also on the destination track what does not end at the request */
	FB_LIFT_SEVERAL = 1 << 2,	/* find several pieces for one gap */
	FB_LIFT_ALL = FB_LIFT_SOURCE | FB_LIFT_DEST | FB_LIFT_SEVERAL,
};

/* Sectors that must not be read in gaps */
struct fb_avoid {
	u64 first;			/* the first */
	u64 end;			/* behind the last */
};

/* What the granules of a track are worth together (core/block_value.h), FB_WEIGHT_ONE: one */
struct fb_roots {
	u16 of[FB_ROOTS + 1];		/* by their number */
	u16 above[FB_ROOT_MOST + 1];	/* least number that is worth more than this */
};

/* Weight of a granule in each of FB_REGIONS equal parts of the cylinders */
struct fb_weights {
	u16 of[FB_REGIONS];
	u16 most;			/* the largest of them */
};

/* Limits on a plan */
struct fb_limits {
	u64 conservatism_ns;	/* added to each seek estimate of this decision (paper, 3.3) */
	u32 max_sectors;		/* longest separate read */
	u32 max_prepend_sectors;	/* longest prepend; 0 = none to this request */
	bool separate;			/* separate reads are allowed */
	u32 granule_sectors;		/* coverage granule, power of two */
	u32 lift;			/* enum fb_lift, or-ed; 0 = the paper's limits */
	/* most steps for one piece of FB_LIFT_SEVERAL; 0: until nothing better can be left */
	u32 hop_steps;
	u32 still_ns;	/* conservatism within a cylinder; 0 = @conservatism_ns */
	/* how soon behind a command's end the drive can begin a read [0] or write [1] sent then */
	u32 pipe_ns[2];
	const struct fb_weights *weights;	/* NULL: FB_WEIGHT_ONE everywhere */
	const struct fb_roots *roots;	/* NULL: all granules are worth the same */
	u64 miss_value;	/* what a lost turn costs (fb_block_value_miss()); with @odds only */
	/*
	 * the piece that is worth most in the gap must be worth this, and more than the plan costs
	 */
	u64 least_value;
	const struct fb_avoid *avoid;	/* no plan reads on a track that has any of these sectors */
	u32 navoid;
	/* learnt chances of losing a turn, see fb_limits_weigh(); NULL: misses cost nothing */
	const struct fb_conservatism_odds *odds;
};

/* What a plan asks for */
enum fb_plan_kind {
	FB_PLAN_NONE,			/* nothing: the next foreground request goes alone */
	FB_PLAN_PREPEND,		/* @piece[0] ends exactly where the foreground begins */
	FB_PLAN_SEPARATE,		/* each piece is a command of its own, sent in this order */
	FB_PLAN_BOTH,	/* the last piece is prepended, the others are commands of their own */
};

/* One range to read */
struct fb_plan_piece {
	u64 lbn;			/* first LBN */
	u32 nsect;
};

/* The best use of a gap found so far */
struct fb_plan {
	enum fb_plan_kind kind;
	u32 npieces;			/* pieces in use; 1 without FB_LIFT_SEVERAL */
	/* granule-aligned, but for a prepend's end, whose last partial granule is not delivered */
	struct fb_plan_piece piece[FB_PLAN_PIECES];
	u32 wanted;			/* wanted granules that it reads */
	u64 value;	/* their worth, less the expected cost of misses; more is better */
	u64 slack_ns;	/* so much may any leg end late, on top of the conservatism */
};

/* The head over a track at some moment */
struct fb_spot {
	struct dm_place place;		/* the track, and the platter's angle then */
	u64 ns;				/* the moment, from the beginning of the gap */
};

/* A piece that fits, during a search */
struct fb_piece {
	u64 lbn;			/* first LBN */
	u64 end;			/* LBN after its last one */
	u32 wanted;			/* wanted granules */
	u64 value;			/* as in struct fb_plan */
	u64 slack_ns;			/* as in struct fb_plan */
	struct fb_spot begin;		/* the head at its first sector */
	struct fb_spot stop;		/* the head after its last sector */
	bool prepend;			/* it ends where the foreground begins */
};

/* A part of a gap, bounded by pieces or the gap's ends */
struct fb_hop {
	struct fb_spot from;		/* where it begins */
	struct fb_spot to;		/* where it ends */
	u64 window_ns;			/* how long it lasts */
	bool last;			/* the foreground request follows */
	bool write;			/* the foreground request follows and is a write */
};

/* A track as seen from the hop */
struct fb_visit {
	const struct dm_track *t;	/* the track */
	u32 left;			/* its wanted granules */
	u32 other;	/* bits: a head switch decides the leg there, the leg from there */
	u64 leg_ns;			/* the leg there, conservatism included */
	struct fb_spot at;		/* the head's arrival */
	u64 usable_ns;			/* from then until the head must leave */
};

/* Cylinders at growing distance on one side of a hop's beginning or end */
struct fb_search_arm {
	u32 base;			/* cylinder of the beginning or the end */
	u32 dist;			/* next distance */
	u32 end;			/* first distance beyond this arm */
	u32 alike;			/* first distance in another region */
	u32 weight;			/* weight of the granules before it */
	bool up;			/* it goes to higher cylinders */
	bool inner;			/* it goes from one end of the hop towards the other */
};

/* A search under way; private but @best, @latency_ns, @window_ns and @tracks */
struct fb_search {
	const struct disk_model *dm;
	const struct dm_info *info;	/* its */
	const struct fb_bitmap *bm;
	struct fb_gap gap;		/* the gap, @lead_ns already in its source's angle */
	struct fb_limits lim;
	struct fb_plan best;
	u64 latency_ns;	/* rotational latency before the destination: the opportunity */
	u64 window_ns;	/* from leaving @gap.src to the first sector: seek + latency */
	u64 period_ns;
	u64 granule_ns;			/* a granule's transfer time where tracks are longest */
	u32 tracks;
	u32 most;			/* granules of the longest read */
	u32 most_weight;		/* the largest weight of any cylinder */
	u64 most_value;			/* upper bound on the value of a piece */
	struct fb_piece piece[FB_PLAN_PIECES];	/* pieces found in hops that are done */
	u32 npieces;
	u32 open;	/* bit i: the hop before @piece[i] is still to be searched */
	u32 at;				/* the current hop is the one before @piece[at] */
	struct fb_hop hop;
	u32 steps;			/* steps spent on it */
	u32 found_at;			/* those until its best was found */
	struct fb_piece find;		/* its best; while .wanted is 0, one must beat .value */
	u32 need;	/* granules of @weight that a track must have to beat it */
	u64 on_granule_ns;		/* a granule's transfer time on @on */
	/* by @visit.other: a track of @on needs more wanted granules than this to be better */
	u32 vain[4];
	u32 weight;			/* weight of the cylinder being examined */
	u32 between;			/* cylinders from the hop's beginning to its end */
	struct fb_search_arm arm[4];	/* arms from the hop's beginning and end, inner and outer */
	u64 ways_ns[2];	/* seeks from the hop to @on and on, without a head switch */
	u64 con_ns[2];			/* their conservatism */
	u64 slow_ns[2];			/* and what a slow zone adds */
	u64 switch_ns[2];		/* a head switch: to read, to write */
	struct fb_visit visit;		/* the track being examined */
	struct dm_cylinder on;		/* the cylinder being examined */
	u32 others;			/* the bits that its tracks' @visit.other may have */
	u32 track;			/* its next track, by index; with a surface_run, by head */
	u64 granule;	/* where tracks share counts: next granule of the cylinder being examined */
	u64 granule_end;		/* the granule after its last */
	bool begun;			/* the foreground's own track has been examined */
};

/* The longest free read. @spt_most: 0: unknown. */
static inline u32 fb_longest_read(u32 granule_sectors, u32 spt_most)
{
	u32 nsect = max(granule_sectors, spt_most + spt_most / 2);

	return min_t(u32, max_t(u32, nsect, FB_LONGEST_READ_MIN), FB_LONGEST_READ_MAX);
}

/* The longest VERIFY, which needs no memory for data. */
static inline u32 fb_longest_verify(u32 granule_sectors)
{
	return FB_READ_GRANULES * granule_sectors;
}

/* Have a search weigh the risk by learnt odds, which must outlive it. */
static inline void fb_limits_weigh(struct fb_limits *lim, const struct fb_conservatism_odds *odds)
{
	lim->odds = odds;
	lim->conservatism_ns = odds->floor_ns[FB_CONSERVATISM_SEEK];
	lim->still_ns = odds->floor_ns[FB_CONSERVATISM_STILL];
}

/* the first granule that begins at @lbn or later */
static inline u64 fb_granule_first(u32 granule_sectors, u64 lbn)
{
	return div_u64(lbn + granule_sectors - 1, granule_sectors);
}

/* the first granule that ends beyond @end; the disk's last one may be short */
static inline u64 fb_granule_end(u64 disk_sectors, u32 granule_sectors, u64 end)
{
	if (end >= disk_sectors)
		return fb_granule_first(granule_sectors, disk_sectors);
	return div_u64(end, granule_sectors);
}

/* ---- core/search.c: in steps, so that the host can stop it at any moment ---- */

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

#endif /* FB_PLAN_H */
