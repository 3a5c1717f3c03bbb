/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The gap before the next foreground request, a plan of what to read in it, and the state of
 * the search for one (freeblock paper, 2.3 and 4.3). Core; types only.
 */
#ifndef FB_PLAN_H
#define FB_PLAN_H

#include "disk_model.h"
#include "fb_bitmap.h"
#include "core/conservatism.h"

#define FB_PLAN_PIECES 4	/* of one plan: more bring nothing */
/*
 * Recommended fb_limits.hop_steps: near tracks come first, and a piece far away that is
 * worth a little more leaves less time for others. With 30, 60 and 200 steps whole scans of
 * the Atlas 10K are as fast within 1 %, and 30 look at the fewest tracks.
 */
#define FB_HOP_STEPS 30
#define FB_WEIGHT_ONE 256	/* weight of a granule where all are worth the same */
#define FB_ROOTS 1024		/* powers that fb_limits.root has, after that of 0 */

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
 * enum fb_lift - limits of the paper's scheduler that a search may lift
 * @FB_LIFT_SOURCE: it reads on the source track, too, before the arm leaves it
 * @FB_LIFT_DEST: it reads on the destination track what does not end at the request
 * @FB_LIFT_SEVERAL: it finds several pieces for one gap
 * @FB_LIFT_ALL: all of them
 *
 * The first two are allowed where the drive's look-ahead is off, or known not to be
 * triggered by them; they hold for the tracks of a plan's own pieces, too. Both sides of
 * a track's logical end take one of them and @FB_LIFT_SEVERAL.
 */
enum fb_lift {
	FB_LIFT_SOURCE = 1,
	FB_LIFT_DEST = 2,
	FB_LIFT_SEVERAL = 4,
	FB_LIFT_ALL = 7,
};

/**
 * struct fb_avoid - sectors that are not to be read in gaps
 * @first: the first
 * @end: behind the last
 */
struct fb_avoid {
	u64 first;
	u64 end;
};

/**
 * struct fb_limits - what a plan may be; what is zero lifts nothing
 * @conservatism_ns: added to each seek estimate of this decision (paper, 3.3)
 * @max_sectors: longest separate read
 * @max_prepend_sectors: longest prepend; 0 = prepending is not allowed to this request
 * @separate: separate reads are allowed
 * @granule_sectors: coverage granule, power of two
 * @lift: enum fb_lift, or-ed; 0 = the paper's limits
 * @hop_steps: steps that FB_LIFT_SEVERAL spends on one piece; 0 = until nothing is left
 *	that can be better, which on a sparse map is all that a host allows
 * @switch_ns: conservatism of a head switch; 0 = @conservatism_ns
 * @turn_ns: conservatism where the head stays on the track; 0 = @conservatism_ns
 * @leg_ns: @conservatism_ns by fb_conservatism_band() of the way's length, FB_CONSERVATISM_BANDS
 *	of them, such as fb_conservatism_odds.floor_ns; NULL = the same for all. It must outlive
 *	the search, unchanged
 * @pipe_ns: least head time of the command before a read, before a write, for these to
 *	be at the drive in time: the drive's overhead and the host's; 0 = no bound
 * @weight: of a granule, by FB_REGIONS equal parts of the cylinders, 1 .. 65535; NULL =
 *	FB_WEIGHT_ONE everywhere. It must outlive the search
 * @root: FB_WEIGHT_ONE times 0 .. FB_ROOTS to the power of 2/5: a track's granules are worth
 *	so much for how many they are, so that each is worth the more the fewer are left;
 *	NULL = all the same. It must outlive the search; see core/block_value.h
 * @miss_value: what a seek that may come too late costs, were there no margin; it
 *	is weighed against what the piece is worth; 0 = nothing
 * @miss_ns: that cost halves with each so many ns of margin: conservatism and slack
 * @avoid: no plan reads on a track that has sectors of these
 * @navoid: how many
 * @odds: the chances that were learnt, instead of @miss_ns: @miss_value is then what a lost
 *	turn costs (fb_block_value_turn()), and @leg_ns best the floor_ns of these; NULL = by
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
	u32 miss_ns;
	const struct fb_avoid *avoid;
	u32 navoid;
	const struct fb_conservatism_odds *odds;
};

/**
 * enum fb_plan_kind - what a plan asks for
 * @FB_PLAN_NONE: nothing: the next foreground request goes alone
 * @FB_PLAN_PREPEND: @piece[0] ends exactly where the foreground begins
 * @FB_PLAN_SEPARATE: pieces are commands of their own, to be sent in their order
 * @FB_PLAN_BOTH: so, but for the last, which is a prepend
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
 * @piece: granule-aligned LBN ranges (but for the end of the disk, whose last granule
 *	may be short); a prepend's end is not aligned where the foreground's beginning
 *	is not: the last partial granule is read, not delivered
 * @wanted: granules that it reads and that are wanted
 * @value: what they are worth, less what may go wrong; of two plans the one with more is
 *	better
 * @slack_ns: how much later than reckoned, conservatism included, the head may be on
 *	any leg and still make it
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
 * struct fb_spot - the head over a track at a moment
 * @place: the track, and the platter's angle then
 * @ns: the moment, from the beginning of the gap
 */
struct fb_spot {
	struct dm_place place;
	u64 ns;
};

/**
 * struct fb_piece - a piece that fits, while searching
 * @lbn: first LBN
 * @end: after its last one
 * @wanted: granules
 * @value: as in struct fb_plan
 * @slack_ns: as in struct fb_plan
 * @begin: at its first sector
 * @stop: after its last sector
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
 * struct fb_hop - the part of a gap between two pieces, or its ends
 * @from: where it begins
 * @to: where it ends
 * @window_ns: how long it lasts
 * @last: the foreground follows
 * @write: and it writes
 */
struct fb_hop {
	struct fb_spot from;
	struct fb_spot to;
	u64 window_ns;
	bool last;
	bool write;
};

/**
 * struct fb_search_arm - cylinders at growing distance on one side of a hop's beginning or end
 * @base: cylinder of the beginning or the end
 * @dist: next distance
 * @end: first distance that is not the arm's any more
 * @up: it goes to higher cylinders
 * @inner: it goes towards the other of the two
 */
struct fb_search_arm {
	u32 base;
	u32 dist;
	u32 end;
	bool up;
	bool inner;
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
 * @extra_ns: what any read in the gap costs the foreground though it is in time: alone, its
 *	head would land within the request, and the drive begin there at once
 * @window_ns: from leaving @gap.src (after @lead_ns) to the destination's first sector:
 *	seek + latency
 * @period_ns: one revolution
 * @granule_ns: a granule's transfer time where tracks are longest
 * @fg_ns: the foreground's transfer time
 * @tracks: tracks examined
 * @floor_ns: least conservatism of a way by fb_conservatism_band() of its length, or a longer one
 * @region: FB_REGIONS / cylinders, 32 binary places
 * @most_weight: the largest weight there is
 * @most_value: no piece is worth more
 * @piece: pieces found in hops that are done
 * @npieces: how many
 * @open: bit i: the hop before @piece[i] is still to be searched
 * @at: the present hop is the one before @piece[at]
 * @hop: the present hop
 * @steps: spent on it
 * @find: its best piece; if it wants nothing: none, but one must be worth more than this
 * @need_value: @need is for this value ...
 * @need_weight: ... and this weight
 * @need: granules that a track must have to beat @find
 * @weight: of the cylinder being examined
 * @between: cylinders from its beginning to its end
 * @arm: of beginning and end, inner and outer
 * @ways_ns: seeks from the hop's beginning to the cylinder being examined and on to its end,
 *	with the same head
 * @switch_ns: what they take at least with another head
 * @track: next track of the cylinder being examined, by index
 * @track_end: the track after its last
 * @granule: where tracks share counts: its next granule ...
 * @granule_end: ... and the one after its last
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
	u32 floor_ns[FB_CONSERVATISM_BANDS];
	u32 region;
	u32 most_weight;
	u64 most_value;
	struct fb_piece piece[FB_PLAN_PIECES];
	u32 npieces;
	u32 open;
	u32 at;
	struct fb_hop hop;
	u32 steps;
	struct fb_piece find;
	u64 need_value;
	u32 need_weight;
	u32 need;
	u32 weight;
	u32 between;
	struct fb_search_arm arm[4];
	u32 ways_ns[2];
	u32 switch_ns[2];
	u32 track;
	u32 track_end;
	u64 granule;
	u64 granule_end;
	bool begun;
};

#endif /* FB_PLAN_H */
