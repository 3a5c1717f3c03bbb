/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The data structures of a disk model: core/model_build.c builds them, disk_model.c reads
 * them. No other file may include this.
 */
#ifndef DISK_MODEL_PRIVATE_H
#define DISK_MODEL_PRIVATE_H

#include "disk_model.h"

/*
 * Angle -> ns multiplies by the period in 2^-5 ns: the slowest drive's period (100 ms)
 * fits 32 bits, and a whole turn is off by at most 1/64 ns.
 */
#define DM_PERIOD_SHIFT 5

/* ns -> angle multiplies by angle units per ns, scaled to fill 64 bits (2^63 at 1 ms) */
#define DM_RATE_SHIFT 51

/* Seek slopes are in 2^-24 ns per cylinder: off by half an ns over the longest stroke. */
#define DM_SLOPE_SHIFT 24
#define DM_LONGER_SHIFT 20

/*
 * The segment of a seek profile is looked up by the distance itself where profiles are
 * dense (paper, 4.2), and by groups of distances beyond. There a segment is longer than a
 * group on usual drives, so the right segment is the one found or the next.
 */
#define DM_NEAR 512
#define DM_FAR 2048

/* Hints where to begin the search for a zone; usual drives have several per zone. */
#define DM_HINTS 256

/**
 * struct dm_seg - one line of a seek profile
 * @base: seek time where it begins, 2^-DM_SLOPE_SHIFT ns, plus half an ns for rounding
 * @slope: 2^-DM_SLOPE_SHIFT ns per cylinder
 * @cyls: distance at which it begins; it ends where the next one begins
 * @floor: the shortest seek of all later segments, and at this one's end if it falls;
 *	see dm_curve_floor()
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
 * struct dm_spread - a point of the spread of seek times
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
 * @sector: angle of one sector of @spt, 2^-64 turn, rounded up
 * @sector_angle: the same, 2^-32 turn, rounded down
 * @first_cyl: its first cylinder
 * @cyls: how many
 * @spt: sectors per track; where heads differ, those of the longest track
 * @cyl_sectors: sectors per cylinder
 * @before: for each head the number of a cylinder's sectors under lower-numbered heads, then
 *	@cyl_sectors; NULL: tracks under all heads have the same length
 * @reverse: 1: LBNs run backwards on its even cylinders (see dm_head())
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
 * struct disk_model - a model; read-only once built, except for dm_correct()
 * @info: header facts
 * @rate: angle units per ns, 2^-DM_RATE_SHIFT
 * @period: period in 2^-DM_PERIOD_SHIFT ns
 * @serpentine: 1: LBNs run backwards on every other cylinder
 * @write_curve: the write profile was measured, not derived
 * @curve: seek profile for reads and for writes
 * @longer: by dm_band(): the part by which seeks take longer, 2^-DM_LONGER_SHIFT
 * @longer_least: the least @longer of a band and those beyond
 * @spread: how much seeks vary, or NULL
 * @spreads: points of it
 * @zones: how many
 * @zone: zones in LBN order
 * @zone_lbn: their first LBNs, in an array of their own for the search
 * @zone_cyl: their first cylinders
 * @lbn_shift: LBNs per hint, 2^n
 * @cyl_shift: cylinders per hint, 2^n
 * @lbn_hint: zone of every 2^@lbn_shift-th LBN, and of the last
 * @cyl_hint: zone of every 2^@cyl_shift-th cylinder, and of the last
 * @slip: all slips
 * @remap: all remaps
 * @before: the array that all zones' @before point into, or NULL
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
};

/* Angle of one sector of @spt, 2^-64 turn, rounded up; 0 for one sector, which begins at 0. */
static inline u64 dm_sector_of(u32 spt)
{
	return div64_u64(U64_MAX, spt) + 1;
}

/* The same, 2^-32 turn, rounded down; U32_MAX for a whole turn. */
static inline u32 dm_sector_angle_of(u64 sector)
{
	return sector ? sector >> 32 : U32_MAX;
}

static inline u64 dm_slip_end(const struct dm_slip *slip)
{
	return slip->at + slip->n;
}

/* Count the slips of the zone that begin before physical number @phys. */
static inline u32 dm_slips_before(const struct dm_zone *z, u64 phys)
{
	return fb_bisect(i, z->slips, z->slip[i].at < phys);
}

static inline u32 dm_seg_ns(const struct dm_seg *seg, u32 cyls)
{
	return (seg->base + (cyls - seg->cyls) * seg->slope) >> DM_SLOPE_SHIFT;
}

#endif /* DISK_MODEL_PRIVATE_H */
