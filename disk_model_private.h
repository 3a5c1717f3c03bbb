/* SPDX-License-Identifier: GPL-2.0 */
/* What core/model_build.c builds and disk_model.c reads; for no other file. */
#ifndef DISK_MODEL_PRIVATE_H
#define DISK_MODEL_PRIVATE_H

#include "disk_model.h"

/* angle -> ns multiplies by the period in 2^-5 ns: a whole turn is off by at most 1/64 ns */
#define DM_PERIOD_SHIFT 5

/* ns -> angle multiplies by angle units per ns, scaled to fill 64 bits (2^63 at 1 ms) */
#define DM_RATE_SHIFT 51

/* Seek slopes are in 2^-24 ns per cylinder: off by half an ns over the longest stroke. */
#define DM_SLOPE_SHIFT 24
#define DM_LONGER_SHIFT 20

/*
 * Segments of a profile are looked up by the distance where profiles are dense (paper, 4.2), and by
 * groups of distances beyond: then it is the one found or the next.
 */
#define DM_NEAR 512
#define DM_FAR 2048

/* Hints where to begin the search for a zone; usual drives have several per zone. */
#define DM_HINTS 256

/* one line of a seek profile */
struct dm_seg {
	/* seek time where it begins, 2^-DM_SLOPE_SHIFT ns, plus half an ns for rounding */
	s64 base;
	s64 slope;	/* 2^-DM_SLOPE_SHIFT ns per cylinder */
	u32 cyls;	/* distance at which it begins; it ends where the next one begins */
	/* shortest seek of all later segments, and at its own end if it falls: dm_curve_floor() */
	u32 floor;
};

/* a seek profile, for reads or for writes */
struct dm_curve {
	u32 head_switch;	/* within a cylinder, ns */
	u32 settle;		/* part of each seek that corrections leave alone, ns */
	u32 far_shift;		/* distances per entry of @far, 2^n */
	u16 near[DM_NEAR];	/* segment of each distance below DM_NEAR */
	u16 far[DM_FAR];	/* segment of the first distance of each group */
	struct dm_seg seg[];	/* segments, and one more whose @cyls is U32_MAX */
};

/* sectors without LBN */
struct dm_slip {
	u64 at;		/* first, physical number in the zone */
	u32 before;	/* sectors slipped before it in its zone */
	u32 n;		/* how many */
};

struct dm_remap {
	u64 from;	/* physical numbers in the zone */
	u64 to;
};

struct dm_zone {
	u64 first_lbn;
	u64 lbns;			/* how many it holds */
	u64 dead;			/* physical number of the first sector that may hold one */
	u64 data_end;			/* physical number after the last that holds one */
	u64 angle;			/* angle of sector 0 of its first track, 2^-64 turn */
	/* from track to track of a cylinder, or from run to run of a surface, 2^-64 turn */
	u64 track_skew;
	/* from cylinder to cylinder, or from track to track of a run, 2^-64 turn */
	u64 cyl_skew;
	u64 sector;			/* angle of one sector of @spt, 2^-64 turn, rounded up */
	u32 sector_angle;		/* the same, 2^-32 turn, rounded down */
	u32 first_cyl;
	u32 cyls;
	u32 spt;	/* sectors per track; where heads differ, those of the longest track */
	u32 cyl_sectors;		/* sectors per cylinder */
	/* by head, a cylinder's sectors under lower ones, then @cyl_sectors; NULL: all are alike */
	const u32 *before;
	bool unmapped;	/* its cylinders are known, and no angle */
	bool slow;	/* seeks over more than a cylinder to it take a turn more */
	u32 reverse;	/* 1: LBNs run backwards on its even cylinders (see dm_head()) */
	const struct dm_slip *slip;	/* its slips, ascending */
	u32 slips;
	const struct dm_remap *remap;	/* its remapped sectors, ascending */
	u32 remaps;
};

/* read-only once built, except for dm_correct() */
struct disk_model {
	struct dm_info info;
	u64 rate;			/* angle units per ns, 2^-DM_RATE_SHIFT */
	u32 period;			/* period in 2^-DM_PERIOD_SHIFT ns */
	u32 serpentine;			/* 1: LBNs run backwards on every other cylinder, or band */
	bool write_curve;		/* the write profile was measured, not derived */
	bool slow;			/* some zones are */
	struct dm_curve *curve[2];	/* seek profile for reads and for writes */
	s32 longer;	/* the part by which seeks take longer, 2^-DM_LONGER_SHIFT */
	u32 zones;
	struct dm_zone *zone;		/* in LBN order */
	u64 *zone_lbn;			/* first LBNs, in an array of their own for the search */
	u64 *zone_cyl;			/* first cylinders, likewise */
	unsigned int lbn_shift;		/* LBNs per hint, 2^n */
	unsigned int cyl_shift;		/* cylinders per hint, 2^n */
	u16 lbn_hint[DM_HINTS + 1];	/* zone of every 2^@lbn_shift-th LBN, and of the last */
	u16 cyl_hint[DM_HINTS + 1];	/* the same of cylinders, by @cyl_shift */
	struct dm_slip *slip;		/* of all zones */
	struct dm_remap *remap;		/* of all zones */
	u32 *before;			/* the array that all zones' @before point into, or NULL */
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
