/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Disk model: where an LBN lies on the platters, and how long it takes to get there (freeblock
 * paper, 4.2). Angles are u32 fractions of a turn; times are u64 ns; LBNs are 512-byte sectors. A
 * built model never changes, except through dm_correct(), and queries never allocate, sleep or
 * lock; dm_build() and dm_free() may sleep. Core.
 */
#ifndef DISK_MODEL_H
#define DISK_MODEL_H

#include "include/fb_shim.h"

#define DM_ID_LEN 40		/* vendor, product, serial ..: text plus NUL */
#define DM_TEXT_LEN 200		/* a reason: the same */

/* Bounds on a model's values. The code that fills a struct dm_spec must enforce them. */
#define DM_CYLINDERS_MAX 16777216U
#define DM_HEADS_MAX 128U		/* cylinders * heads fits 31 bits */
#define DM_SPT_MAX 65535U		/* keeps sector -> angle exact in 64 bits */
#define DM_PERIOD_PS_MIN 1000000000ULL	/* 60 000 rpm */
#define DM_PERIOD_PS_MAX 100000000000ULL	/* 600 rpm; keeps angle -> ns in 64 bits */
#define DM_NS_MAX 1000000000U		/* one second: longest seek, settle, overhead */
#define DM_SURFACE_RUN_MAX 65535U
#define DM_GRANULE_MAX 2048U		/* sectors: 1 MiB */
#define DM_ZONES_MAX 65536U
#define DM_SEEK_POINTS_MAX 4096U	/* per profile */

struct disk_model;

/* What a model says of the whole drive; part of a compiled table, so without gaps */
struct dm_info {
	char vendor[DM_ID_LEN];		/* as in INQUIRY, trailing blanks removed */
	char product[DM_ID_LEN];	/* as in INQUIRY, trailing blanks removed */
	char serial[DM_ID_LEN];	/* unit serial number, or "" when the model fits every unit */
	char revision[DM_ID_LEN];	/* firmware, as in INQUIRY; "" when it fits all */
	char wwn[DM_ID_LEN];		/* "naa.<hex>" of one unit, or "" when it fits every one */
	char distrusted[DM_TEXT_LEN];	/* why its maker does not trust it, or "" */
	u64 sectors;			/* capacity in 512-byte LBNs */
	u64 period_ps;			/* one revolution in picoseconds */
	u32 physical_sectors;	/* physical block in 512-byte sectors (1, or 8 for 512e/4Kn) */
	u32 cylinders;
	u32 heads;			/* tracks per cylinder */
	/* cylinders whose tracks of a surface follow each other; 1: heads change after each */
	u32 surface_run;
	u32 granule_sectors;		/* coverage granule in sectors, a power of two, default 8 */
	u32 head_switch_ns;		/* track switch within a cylinder */
	u32 write_settle_ns;		/* added to a seek or head switch before a write */
	u32 read_overhead_ns;	/* idle drive: from the command's arrival to the arm moving */
	u32 write_overhead_ns;		/* the same for a write */
	u32 read_report_ns;	/* from the last sector passing the head to the host's stamp */
	u32 write_report_ns;		/* the same for a write */
	u32 zero_latency;	/* 1: it can start amid a request (paper, table 1) */
	u32 spt_most;	/* length of the longest track, physical sectors; dm_build() fills it ... */
	u32 spt_least;	/* ... and that of the shortest track of a zone that holds LBNs ... */
	u64 mapped;	/* ... and how many LBNs lie in zones that are mapped */
};

#define DM_TURN BIT_ULL(32)	/* a whole turn, where less is an angle */

/* The head over one spot of one track, of the model it is used with; queries do not check it. */
struct dm_place {
	u32 cyl;
	u32 head;			/* head (physical, serpentine order already undone) */
	u32 angle;			/* fraction of a turn, from the model's zero */
};

/* Distance in cylinders. */
static inline u32 dm_apart(const struct dm_place *a, const struct dm_place *b)
{
	return a->cyl > b->cyl ? a->cyl - b->cyl : b->cyl - a->cyl;
}

/* One track and the LBNs on it */
struct dm_track {
	u32 cyl;
	u32 head;			/* physical head */
	u32 zone;			/* private: index of its zone */
	u32 spt;			/* physical sectors on this track */
	u32 nsect;	/* LBNs on it in order, remapped ones included; 0 = spares only */
	u64 first_lbn;			/* the first of them */
	u32 angle0;			/* angle at which physical sector 0 begins */
	u32 sector_angle;		/* angle of one sector, 2^32/spt rounded down */
	bool anomalous;			/* slips or remaps touch this track: LBN order has holes */
	/* private: cached by disk_model.c */
	bool unmapped;			/* its zone's angles are not known */
	u32 front;			/* sectors before @first_lbn, unless it is anomalous */
	u64 phys0;			/* sector 0, counted from the zone's first sector */
	u64 sector;			/* angle of one sector, 2^-64 turn, rounded up */
	u32 slipped;			/* sectors of the zone slipped before @slip0 */
	u32 slip0;			/* first slip that touches the track ... */
	u32 slip1;			/* ... and the one after the last */
	u32 remap0;			/* first remapped sector of the track ... */
	u32 remap1;			/* ... and the one after the last */
};

/* One cylinder */
struct dm_cylinder {
	u32 cyl;
	u32 zone;			/* private: index of its zone */
	u32 spt;			/* physical sectors on its longest track */
	bool back;			/* LBNs visit its heads from the last to the first */
};

/* The neighbours of a track that lie on its surface and follow it in LBN order */
struct dm_run {
	u32 index;			/* the track's number, as from dm_track_index() */
	bool back;	/* numbers fall from cylinder to cylinder inwards, instead of rising */
	u32 outer;			/* how many there are on lower cylinders */
	u32 inner;			/* how many there are on higher cylinders */
};

/* One media access, from the end of the previous one */
struct dm_access {
	u64 seek_ns;			/* arm, head switch and settle before the first sector */
	u64 latency_ns;	/* rotational wait before the first sector that is transferred */
	u64 total_ns;	/* time until the last sector has passed the head (the paper's head time) */
	struct dm_place end;	/* where the head is then, just after the sector transferred last */
};

/* Consecutive LBNs that pass the head within a window */
struct dm_piece {
	u64 lbn;			/* first */
	u32 nsect;			/* how many; 0 = no such piece */
};

/* ---- queries, for every caller; none of them allocates, sleeps or locks ---- */

/* Valid as long as @dm. */
const struct dm_info *dm_info(const struct disk_model *dm);
/* Time in which the platter turns by an angle, to the nearest. */
u64 dm_angle_to_ns(const struct disk_model *dm, u32 angle);
/* Angle by which the platter turns in a time, modulo a turn; within 2^-32 turn up to an hour. */
u32 dm_ns_to_angle(const struct disk_model *dm, u64 ns);
/* Time of one revolution, to the nearest. */
u64 dm_period_ns(const struct disk_model *dm);

/*
 * Find where an LBN begins, a remapped one on its spare. Where no map is, about the cylinder, and
 * any angle. 0, or -ERANGE beyond the capacity.
 */
int dm_place_of(const struct disk_model *dm, u64 lbn, struct dm_place *p);
/* Find the track of an LBN; a remapped one counts where it would lie. 0 or -ERANGE. */
int dm_track_of(const struct disk_model *dm, u64 lbn, struct dm_track *t);
/* Find the track under a physical head; @t->nsect is 0 when no LBN lies there. 0 or -ERANGE. */
int dm_track_at(const struct disk_model *dm, u32 cyl, u32 head, struct dm_track *t);
/*
 * The angle at which an LBN of a track begins. 0; -ERANGE: not on @t; -ENXIO: remapped, or no map.
 */
int dm_lbn_angle(const struct disk_model *dm, const struct dm_track *t, u64 lbn, u32 *angle);

/*
 * The seek alone (paper, 4.2): 0 on the same track; else the longer of seek and head switch, and
 * settling; and a turn to a slow zone.
 */
u64 dm_seek_ns(const struct disk_model *dm, const struct dm_place *from,
	       const struct dm_place *to, bool write);
/* The same over @cyls cylinders under one head, without a slow zone's turn: dm_slow_ns(). */
u64 dm_seek_over_ns(const struct disk_model *dm, u32 cyls, bool write);
/* What a seek over @cyls cylinders to cylinder @to takes more than elsewhere: a turn, or 0. */
u64 dm_slow_ns(const struct disk_model *dm, u32 cyls, u32 to);
/*
 * No seek over @cyls or more is shorter; U64_MAX: there is none. Unlike profiles it is monotonic.
 */
u64 dm_seek_floor_ns(const struct disk_model *dm, u32 cyls);
/* Make seeks longer by @ppm, but for a write's settle time. @dm must not be in use meanwhile. */
void dm_correct(struct disk_model *dm, s32 ppm);
/*
 * Predict seek and rotational latency to @to, as SPTF orders by: zero-latency access is ignored,
 * and so is a slow zone's turn, which no order spares.
 */
void dm_position(const struct disk_model *dm, const struct dm_place *from,
		 const struct dm_place *to, bool write, u64 *seek_ns, u64 *latency_ns);

/*
 * Predict one access (paper, figure 6: head time). With zero-latency access a head that lands
 * inside the range starts at the next sector and is done a turn later. A remapped sector costs a
 * trip to its spare. 0; -ERANGE; -ENXIO: part of it is not mapped.
 */
int dm_access(const struct disk_model *dm, const struct dm_place *from,
	      u64 lbn, u32 nsect, bool write, struct dm_access *a);

/*
 * The up to two longest LBN runs of a track that wholly pass the head from @angle on within @span
 * (2^32: a turn), in this order, the track's logical start between them (paper, figure 11).
 */
void dm_window(const struct disk_model *dm, const struct dm_track *t, u32 angle,
	       u64 span, struct dm_piece piece[2]);

/* Number of a track, below dm_tracks(): with a higher one it holds higher LBNs. */
u32 dm_track_index(const struct disk_model *dm, const struct dm_track *t);
/* Find a track by its number. 0 or -ERANGE. */
int dm_track_by_index(const struct disk_model *dm, u32 index, struct dm_track *t);
/* Find a cylinder that the disk has. */
void dm_cylinder_at(const struct disk_model *dm, u32 cyl, struct dm_cylinder *c);
/* Find a track of a cylinder; @h: counts the heads as LBNs visit them. */
void dm_cylinder_track(const struct disk_model *dm, const struct dm_cylinder *c, u32 h,
		       struct dm_track *t);
/* Sectors on the track at a place that the disk has. */
u32 dm_track_spt(const struct disk_model *dm, const struct dm_place *p);
/* Cylinders * heads: tracks without LBNs are included. */
u32 dm_tracks(const struct disk_model *dm);
/* Find which tracks of a surface follow each other in LBN order. 0 or -ERANGE. */
int dm_run_at(const struct disk_model *dm, u32 cyl, u32 head, struct dm_run *run);

/* ---- building a model: what a compiled table consists of: fixed widths, no gaps ---- */

/* The order in which LBNs go through the heads of a cylinder, or of a band of them */
enum dm_head_order {
	DM_HEADS_PLAIN,			/* 0 .. heads - 1 on every cylinder */
	DM_HEADS_SERPENTINE_ZONE,	/* backwards on odd cylinders of the zone */
	/* backwards on odd cylinders of the disk; not with a surface_run above 1 */
	DM_HEADS_SERPENTINE_DISK,
};

/* One measured point of a seek profile */
struct dm_spec_seek {
	u32 cyls;			/* distance, from 1 */
	u32 ns;
	u32 line;			/* line of the text that says so, for messages */
};

/* Sectors of a zone that hold no LBN; the LBNs move up */
struct dm_spec_slip {
	u64 at;				/* first, counted from the zone's first sector */
	u32 n;				/* how many in a row */
	u32 line;			/* line of the text that says so, for messages */
};

/* A sector whose LBN lives in one of the zone's spares */
struct dm_spec_remap {
	u64 from;			/* the sector, counted from the zone's first sector */
	u64 to;				/* the spare, counted likewise */
	u32 line;			/* line of the text that says so, for messages */
	u32 unused;
};

/* Cylinders with the same number of sectors per track under each head */
struct dm_spec_zone {
	u32 first_cyl;
	u32 last_cyl;
	u32 spt;	/* sectors per track; where heads differ, those of the longest track */
	u32 line;			/* line of the text that says so, for messages */
	u64 angle;			/* where the zone's first sector begins, 2^-64 turn */
	/* from track to track, 2^-64 turn; with a surface_run above 1, from run to run */
	u64 track_skew;
	/* more than @track_skew * (heads - 1), from cylinder to cylinder; or from track to track */
	u64 cyl_skew;
	u64 dead;			/* sectors at the zone's front that hold no LBN */
	/* no LBN unless remapped, slipped ones included; the others are at the zone's end */
	u64 spares;
	u32 head_spts;			/* of dm_spec.head_spt: 0, or one for each head */
	u32 slips;			/* how many of dm_spec.slip belong to this zone */
	u32 remaps;			/* how many of dm_spec.remap belong to this zone */
	u32 unmapped;	/* 1: its LBNs lie on its cylinders, and no more is known of where */
	u32 slow;			/* 1: each seek to it takes a turn more */
	u32 unused;
};

/* Everything a model is built from */
struct dm_spec {
	struct dm_info info;		/* what it says of the whole drive */
	u32 order;			/* enum dm_head_order */
	u32 line;	/* line of the text that states the capacity, for messages */
	const struct dm_spec_seek *seek;	/* read profile */
	u32 seeks;
	/* write profile, settle included; if it has no points, @seek plus settle is used */
	const struct dm_spec_seek *write_seek;
	u32 write_seeks;
	const struct dm_spec_zone *zone;	/* in LBN order */
	u32 zones;
	/* sectors per track by physical head, zone by zone where heads differ */
	const u16 *head_spt;
	u32 head_spts;
	const struct dm_spec_slip *slip;	/* zone by zone, ascending in each */
	u32 slips;
	const struct dm_spec_remap *remap;	/* zone by zone, ascending in each */
	u32 remaps;
};

/* Why a model could not be built */
struct dm_fault {
	u32 line;	/* line of the record at fault; 0 = the specification as a whole */
	char reason[160];		/* message without newline; names the value */
};

/* Note a fault. Return: -EINVAL. */
int dm_fault_set(struct dm_fault *fault, u32 line, const char *fmt, ...) __printf(3, 4);

/*
 * Check a specification, which is not kept, but for its single values, and build the model. May
 * sleep. 0, -EINVAL with @fault filled, or -ENOMEM.
 */
int dm_build(const struct dm_spec *spec, struct disk_model **out, struct dm_fault *fault);

/* @dm, or NULL, must not be in use. May sleep. */
void dm_free(struct disk_model *dm);

#endif /* DISK_MODEL_H */
