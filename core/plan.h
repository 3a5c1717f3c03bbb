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
/*
 * Recommended fb_limits.hop_steps: near tracks come first, and a distant piece that is
 * worth a little more leaves less time for others. With 30, 60 and 200 steps the times of
 * whole scans of the Atlas 10K agree within 1 %, and 30 look at the fewest tracks.
 */
#define FB_HOP_STEPS 30
/*
 * The longest read holds 1.5 of the drive's longest tracks, the most that one gap can yield, within
 * these bounds: 256 KiB, which suits the papers' drives, and 1280 KiB, the kernel's default limit
 * for a command (max_sectors_kb). Sectors.
 */
#define FB_LONGEST_READ_MIN 512
#define FB_LONGEST_READ_MAX 2560
#define FB_MIN_GRANULE 8	/* sectors */
/* granules of a read of our own at most, so that a buffer's mask has a bit for each */
#define FB_READ_GRANULES (FB_LONGEST_READ_MAX / FB_MIN_GRANULE)
#define FB_WEIGHT_ONE 256	/* weight of a granule where all are worth the same */
#define FB_ROOTS 1024		/* last index of fb_limits.root */

/**
 * struct fb_gap - the time between the previous request and the next one
 * @src: where the head is at the end of the previous request
 * @dst: where the next foreground request begins
 * @dst_lbn: its first LBN
 * @dst_nsect: its length
 * @dst_write: its direction
 * @lead_ns: time after @src in which the arm cannot move yet (command overhead of an
 *	idle drive); 0 when the next command is queued at the drive already
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
 * enum fb_lift - limits of the paper's scheduler that a search may lift
 * @FB_LIFT_SOURCE: also read on the source track before the arm leaves it
 * @FB_LIFT_DEST: also read on the destination track what does not end at the request
 * @FB_LIFT_SEVERAL: find several pieces for one gap
 * @FB_LIFT_ALL: all of these
 *
 * The first two are allowed where the drive's look-ahead is off, or known not to be
 * triggered by them; they also apply to the tracks of a plan's own pieces. Reading on both
 * sides of a track's logical end takes one of them and @FB_LIFT_SEVERAL.
 */
enum fb_lift {
	FB_LIFT_SOURCE = 1,
	FB_LIFT_DEST = 2,
	FB_LIFT_SEVERAL = 4,
	FB_LIFT_ALL = 7,
};

/**
 * struct fb_avoid - sectors that must not be read in gaps
 * @first: the first
 * @end: behind the last
 */
struct fb_avoid {
	u64 first;
	u64 end;
};

/**
 * struct fb_limits - limits on a plan
 * @conservatism_ns: added to each seek estimate of this decision (paper, 3.3)
 * @max_sectors: longest separate read
 * @max_prepend_sectors: longest prepend; 0 = prepending is not allowed to this request
 * @separate: separate reads are allowed
 * @granule_sectors: coverage granule, power of two
 * @lift: enum fb_lift, or-ed; 0 = the paper's limits
 * @hop_steps: steps that FB_LIFT_SEVERAL spends on one piece; 0 = until nothing better can
 *	be left, which on a sparse map takes all the time a host allows
 * @switch_ns: conservatism of a head switch; 0 = @conservatism_ns
 * @turn_ns: conservatism where the head stays on the track; 0 = @conservatism_ns
 * @leg_ns: conservatism by dm_band() of the seek distance, DM_BANDS
 *	values, such as fb_conservatism_odds.floor_ns; NULL = @conservatism_ns for all. It must
 *	outlive the search, unchanged
 * @pipe_ns: least head time of a command for the read [0] or write [1] after it to reach
 *	the drive in time: the drive's overhead plus the host's; 0 = no bound
 * @weight: weight of a granule, 1 .. 65535, in each of FB_REGIONS equal parts of the
 *	cylinders; NULL = FB_WEIGHT_ONE everywhere. It must outlive the search
 * @root: FB_WEIGHT_ONE times 0 .. FB_ROOTS to the power of 2/5: what so many granules of a
 *	track are worth together, so that each is worth more as fewer are left; NULL = all are
 *	worth the same. It must outlive the search; see core/block_value.h
 * @miss_value: what a seek without any margin costs; it is weighed against what the piece
 *	is worth; 0 = nothing
 * @miss_ns: margin (conservatism and slack) that halves this cost
 * @least_value: a plan begins with the piece that is worth most in the whole gap, and only if
 *	that is worth this, and more than what the plan costs by itself; a plan of several pieces
 *	that are worth this together only is not found
 * @avoid: no plan reads on a track that has any of these sectors
 * @navoid: length of @avoid
 * @odds: learnt chances, used instead of @miss_ns: @miss_value is then what a lost turn
 *	costs (fb_block_value_miss()), and @leg_ns should be their floor_ns; NULL = use
 *	@miss_ns. It must outlive the search, unchanged
 */
struct fb_limits {
	u64 conservatism_ns;
	u32 max_sectors;
	u32 max_prepend_sectors;
	bool separate;
	u32 granule_sectors;
	u32 lift;
	u32 hop_steps;
	u32 switch_ns;
	u32 turn_ns;
	const u32 *leg_ns;
	u32 pipe_ns[2];
	const u16 *weight;
	const u16 *root;
	u64 miss_value;
	u64 least_value;
	u32 miss_ns;
	const struct fb_avoid *avoid;
	u32 navoid;
	const struct fb_conservatism_odds *odds;
};

/**
 * enum fb_plan_kind - what a plan asks for
 * @FB_PLAN_NONE: nothing: the next foreground request goes alone
 * @FB_PLAN_PREPEND: @piece[0] is prepended: it ends exactly where the foreground begins
 * @FB_PLAN_SEPARATE: each piece is a command of its own, sent in this order
 * @FB_PLAN_BOTH: the last piece is prepended, the others are commands of their own
 */
enum fb_plan_kind {
	FB_PLAN_NONE,
	FB_PLAN_PREPEND,
	FB_PLAN_SEPARATE,
	FB_PLAN_BOTH,
};

/**
 * struct fb_plan_piece - one range to read
 * @lbn: first LBN
 * @nsect: sectors
 */
struct fb_plan_piece {
	u64 lbn;
	u32 nsect;
};

/**
 * struct fb_plan - the best use of a gap found so far
 * @kind: what to do
 * @npieces: pieces in use; 1 without FB_LIFT_SEVERAL
 * @piece: granule-aligned LBN ranges (the disk's last granule may be short); a prepend's
 *	end is not aligned if the foreground's beginning is not: the last partial granule
 *	is read, but not delivered
 * @wanted: wanted granules that it reads
 * @value: what they are worth, less the expected cost of misses; the plan with the higher
 *	value is better
 * @slack_ns: how much later than predicted, on top of the conservatism, the head may
 *	arrive on any leg and still be in time
 */
struct fb_plan {
	enum fb_plan_kind kind;
	u32 npieces;
	struct fb_plan_piece piece[FB_PLAN_PIECES];
	u32 wanted;
	u64 value;
	u64 slack_ns;
};

/**
 * struct fb_spot - the head over a track at some moment
 * @place: the track, and the platter's angle then
 * @ns: the moment, from the beginning of the gap
 */
struct fb_spot {
	struct dm_place place;
	u64 ns;
};

/**
 * struct fb_piece - a piece that fits, during a search
 * @lbn: first LBN
 * @end: LBN after its last one
 * @wanted: wanted granules
 * @value: as in struct fb_plan
 * @slack_ns: as in struct fb_plan
 * @begin: the head at its first sector
 * @stop: the head after its last sector
 * @prepend: it ends where the foreground begins
 */
struct fb_piece {
	u64 lbn;
	u64 end;
	u32 wanted;
	u64 value;
	u64 slack_ns;
	struct fb_spot begin;
	struct fb_spot stop;
	bool prepend;
};

/**
 * struct fb_hop - a part of a gap, bounded by pieces or the gap's ends
 * @from: where it begins
 * @to: where it ends
 * @window_ns: how long it lasts
 * @last: the foreground request follows
 * @write: the foreground request follows and is a write
 */
struct fb_hop {
	struct fb_spot from;
	struct fb_spot to;
	u64 window_ns;
	bool last;
	bool write;
};

/**
 * struct fb_need - how many granules a track must have to beat a hop's best piece
 * @value: the piece's value
 * @weight: weight of the track's granules; 0 = @granules is not known yet
 * @granules: how many
 */
struct fb_need {
	u64 value;
	u32 weight;
	u32 granules;
};

/**
 * struct fb_search_arm - cylinders at growing distance on one side of a hop's beginning or end
 * @base: cylinder of the beginning or the end
 * @dist: next distance
 * @end: first distance beyond this arm
 * @up: it goes to higher cylinders
 * @inner: it goes from one end of the hop towards the other
 * @need: granules that a track of the stride being passed over must have
 */
struct fb_search_arm {
	u32 base;
	u32 dist;
	u32 end;
	bool up;
	bool inner;
	struct fb_need need;
};

/**
 * struct fb_search - a search under way; all fields private but @best, @latency_ns,
 *	@extra_ns, @window_ns and @tracks
 * @dm: model
 * @bm: map
 * @gap: the gap, @lead_ns already in its source's angle
 * @lim: limits
 * @best: best plan so far
 * @latency_ns: rotational latency before the destination: the opportunity
 * @extra_ns: what any read in the gap costs the foreground even if all goes as planned; see
 *	fb_search_extra_ns()
 * @window_ns: from leaving @gap.src (after @lead_ns) to the destination's first sector:
 *	seek + latency
 * @period_ns: one revolution
 * @granule_ns: a granule's transfer time where tracks are longest
 * @fg_ns: the foreground's transfer time
 * @tracks: tracks examined
 * @floor_ns: least conservatism of seeks in each dm_band() or a longer one
 * @cylinders: the disk's
 * @most_weight: the largest weight of any cylinder
 * @most_value: upper bound on the value of a piece
 * @piece: pieces found in hops that are done
 * @npieces: length of @piece
 * @open: bit i: the hop before @piece[i] is still to be searched
 * @at: the current hop is the one before @piece[at]
 * @hop: the current hop
 * @steps: steps spent on it
 * @find: its best piece; if @find.wanted is 0 there is none yet, and one must be worth more
 *	than @find.value
 * @need: granules that a track of the cylinder being examined must have
 * @need_most: granules that a track must have where they are worth most
 * @granules: granules that there is time for on the cylinder being examined, at most
 * @weight: weight of the cylinder being examined
 * @between: cylinders from the hop's beginning to its end
 * @arm: arms from the hop's beginning and end, inner and outer
 * @ways_ns: seeks from the hop's beginning to the cylinder being examined and on to its end,
 *	without a head switch
 * @switch_ns: least time of such a seek with a head switch, before a read and a write
 * @cyl: the cylinder being examined
 * @track: its next track, by index; where LBNs stay on a surface for a run, by head
 * @track_end: the track after its last
 * @granule: where tracks share counts: next granule of the cylinder being examined
 * @granule_end: the granule after its last
 * @begun: the foreground's own track has been examined
 */
struct fb_search {
	const struct disk_model *dm;
	const struct fb_bitmap *bm;
	struct fb_gap gap;
	struct fb_limits lim;
	struct fb_plan best;
	u64 latency_ns;
	u64 extra_ns;
	u64 window_ns;
	u64 period_ns;
	u64 granule_ns;
	u64 fg_ns;
	u32 tracks;
	u32 floor_ns[DM_BANDS];
	u32 cylinders;
	u32 most_weight;
	u64 most_value;
	struct fb_piece piece[FB_PLAN_PIECES];
	u32 npieces;
	u32 open;
	u32 at;
	struct fb_hop hop;
	u32 steps;
	struct fb_piece find;
	struct fb_need need;
	struct fb_need need_most;
	u32 granules;
	u32 weight;
	u32 between;
	struct fb_search_arm arm[4];
	u32 ways_ns[2];
	u32 switch_ns[2];
	u32 cyl;
	u32 track;
	u32 track_end;
	u64 granule;
	u64 granule_end;
	bool begun;
};

/**
 * fb_longest_read() - get the longest free read that makes sense on a drive
 * @granule_sectors: of the coverage
 * @spt_most: sectors of its longest track; 0: unknown
 *
 * Return: sectors, see FB_LONGEST_READ_MIN.
 */
static inline u32 fb_longest_read(u32 granule_sectors, u32 spt_most)
{
	u32 nsect = max(granule_sectors, spt_most + spt_most / 2);

	return min_t(u32, max_t(u32, nsect, FB_LONGEST_READ_MIN), FB_LONGEST_READ_MAX);
}

/**
 * fb_longest_verify() - get the longest VERIFY, which needs no memory for data
 * @granule_sectors: of the coverage; a read of our own has so many granules at most
 *
 * Return: sectors.
 */
static inline u32 fb_longest_verify(u32 granule_sectors)
{
	return FB_READ_GRANULES * granule_sectors;
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

#endif /* FB_PLAN_H */
