/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a disk model is made of: disk_model.c reads it, core/model_build.c makes it.
 * Nobody else includes this.
 */
#ifndef DISK_MODEL_PRIVATE_H
#define DISK_MODEL_PRIVATE_H

#include "disk_model.h"

/*
 * Angle -> ns multiplies by the period in 2^-5 ns: 32 bits hold the slowest
 * drive's (100 ms), and a whole turn is off by at most 1/64 ns.
 */
#define DM_PERIOD_SHIFT 5

/* ns -> angle multiplies by angle units per ns, scaled to fill 64 bits (2^63 at 1 ms) */
#define DM_RATE_SHIFT 51

/* Seek slopes in 2^-24 ns per cylinder: half an ns over the longest stroke. */
#define DM_SLOPE_SHIFT 24
#define DM_LONGER_SHIFT 20

/*
 * Which segment of a seek profile a distance lies on: looked up by the distance itself
 * where profiles are dense (paper, 4.2), by groups of distances beyond. There a segment
 * is longer than a group on usual drives, so the one found is right or the next is.
 */
#define DM_NEAR 512
#define DM_FAR 2048

/* Hints where to begin the search for a zone: several for each zone of usual drives. */
#define DM_HINTS 256

/**
 * struct dm_seg - one line of a seek profile
 * @base: seek time where it begins, 2^-DM_SLOPE_SHIFT ns, and a half ns for rounding
 * @slope: 2^-DM_SLOPE_SHIFT ns per cylinder
 * @cyls: where it begins; the next one's is where it ends
 * @floor: the shortest seek to be had anywhere beyond this segment's beginning, as
 *	far as the segment itself does not rise; see dm_curve_floor()
 */
struct dm_seg {
	s64 base;
	s64 slope;
	u32 cyls;
	u32 floor;
};

/**
 * struct dm_curve - a seek profile, for reads or for writes
 * @head_switch: within a cylinder, ns
 * @settle: part of each seek that corrections leave alone, ns
 * @far_shift: distances per entry of @far, 2^n
 * @near: segment of each distance below DM_NEAR
 * @far: segment of the first distance of each group
 * @seg: segments, and one more whose @cyls is U32_MAX
 */
struct dm_curve {
	u32 head_switch;
	u32 settle;
	u32 far_shift;
	u16 near[DM_NEAR];
	u16 far[DM_FAR];
	struct dm_seg seg[];
};

/**
 * struct dm_spread - a point of the seeks' spread
 * @cyls: distance
 * @ns: standard deviation
 */
struct dm_spread {
	u32 cyls;
	u32 ns;
};

/**
 * struct dm_slip - sectors without LBN
 * @at: first, physical number
 * @before: sectors slipped before it in its zone
 * @n: how many
 */
struct dm_slip {
	u64 at;
	u32 before;
	u32 n;
};

struct dm_remap {
	u64 from;	/* physical numbers in the zone */
	u64 to;
};

/**
 * struct dm_zone - one zone
 * @first_lbn: its first LBN
 * @lbns: how many it holds
 * @dead: physical number of the first sector that may hold one
 * @data_end: physical number after the last that holds one
 * @angle: angle of sector 0 of its first track, 2^-64 turn
 * @track_skew: from track to track of a cylinder, 2^-64 turn
 * @cyl_skew: from first track to first track of neighbouring cylinders, 2^-64 turn
 * @sector: one sector of @spt, 2^-64 turn, rounded up
 * @sector_angle: the same, 2^-32 turn, rounded down
 * @first_cyl: its first cylinder
 * @cyls: how many
 * @spt: sectors per track; of the longest, where heads differ
 * @cyl_sectors: sectors per cylinder
 * @before: where heads differ: sectors of a cylinder under the heads before each, in the
 *	order of their numbers, and at last @cyl_sectors; NULL: they do not
 * @reverse: 1: its even cylinders are the backward ones (see dm_head())
 * @slip: its slips
 * @slips: how many
 * @remap: its remapped sectors
 * @remaps: how many
 */
struct dm_zone {
	u64 first_lbn;
	u64 lbns;
	u64 dead;
	u64 data_end;
	u64 angle;
	u64 track_skew;
	u64 cyl_skew;
	u64 sector;
	u32 sector_angle;
	u32 first_cyl;
	u32 cyls;
	u32 spt;
	u32 cyl_sectors;
	const u32 *before;
	u32 reverse;
	const struct dm_slip *slip;
	u32 slips;
	const struct dm_remap *remap;
	u32 remaps;
};

/**
 * struct disk_model - a model, read-only once built but for dm_correct()
 * @info: header facts
 * @rate: angle units per ns, 2^-DM_RATE_SHIFT
 * @period: period in 2^-DM_PERIOD_SHIFT ns
 * @serpentine: 1: every other cylinder runs backwards
 * @write_curve: the write profile was measured, not derived
 * @curve: seek profile for reads and for writes
 * @longer: by dm_band(): seeks take so much longer, 2^-DM_LONGER_SHIFT
 * @longer_least: the least of a band and those beyond
 * @spread: how seeks vary, or NULL
 * @spreads: points of it
 * @zones: how many
 * @zone: zones in LBN order
 * @zone_lbn: their first LBNs, side by side for the search
 * @zone_cyl: their first cylinders
 * @lbn_shift: LBNs per hint, 2^n
 * @cyl_shift: cylinders per hint, 2^n
 * @lbn_hint: zone of every 2^@lbn_shift-th LBN, and of the last
 * @cyl_hint: zone of every 2^@cyl_shift-th cylinder, and of the last
 * @slip: all slips
 * @remap: all remaps
 * @before: what all zones' @before point into, or NULL
 * @spt_most: longest track
 * @spt_least: shortest track of a zone with LBNs
 */
struct disk_model {
	struct dm_info info;
	u64 rate;
	u32 period;
	u32 serpentine;
	bool write_curve;
	struct dm_curve *curve[2];
	s32 longer[DM_BANDS];
	s32 longer_least[DM_BANDS];
	struct dm_spread *spread;
	u32 spreads;
	u32 zones;
	struct dm_zone *zone;
	u64 *zone_lbn;
	u64 *zone_cyl;
	unsigned int lbn_shift;
	unsigned int cyl_shift;
	u16 lbn_hint[DM_HINTS + 1];
	u16 cyl_hint[DM_HINTS + 1];
	struct dm_slip *slip;
	struct dm_remap *remap;
	u32 *before;
	u32 spt_most;
	u32 spt_least;
};

/* One sector of @spt, 2^-64 turn, rounded up; of 1, which has no second to be at, 0. */
static inline u64 dm_sector_of(u32 spt)
{
	return div64_u64(U64_MAX, spt) + 1;
}

/* The same, 2^-32 turn, rounded down; a whole turn as near as 32 bits allow. */
static inline u32 dm_sector_angle_of(u64 sector)
{
	return sector ? sector >> 32 : U32_MAX;
}

static inline u64 dm_slip_end(const struct dm_slip *slip)
{
	return slip->at + slip->n;
}

/* How many slips of the zone begin before physical number @phys. */
static inline u32 dm_slips_before(const struct dm_zone *z, u64 phys)
{
	u32 lo = 0, hi = z->slips;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (z->slip[mid].at < phys)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static inline u32 dm_seg_ns(const struct dm_seg *seg, u32 cyls)
{
	return (seg->base + (cyls - seg->cyls) * seg->slope) >> DM_SLOPE_SHIFT;
}

#endif /* DISK_MODEL_PRIVATE_H */
