/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Disk model: where an LBN lies on the platters, and how long it takes to get
 * there (freeblock paper, 4.2; DESIGN 5). Core: pure C, read-only once built.
 *
 * Angles are u32 fractions of a turn (2^32 = one revolution, so wrap-around is
 * the arithmetic's own); times are u64 nanoseconds; LBNs are 512-byte sectors.
 */
#ifndef DISK_MODEL_H
#define DISK_MODEL_H

#include "include/fb_shim.h"

#define DM_ID_LEN 40		/* vendor, product, serial: text plus NUL */

struct disk_model;

/**
 * struct dm_info - what the header records of a model say
 * @vendor: as in INQUIRY, trailing blanks removed
 * @product: as in INQUIRY, trailing blanks removed
 * @serial: unit serial number, or "" when the model fits every unit
 * @sectors: capacity in 512-byte LBNs
 * @physical_sectors: physical block in 512-byte sectors (1, or 8 for 512e/4Kn)
 * @cylinders: number of cylinders
 * @heads: tracks per cylinder
 * @granule_sectors: coverage granule in sectors, a power of two, default 8
 * @period_ps: one revolution in picoseconds
 * @head_switch_ns: track switch within a cylinder
 * @write_settle_ns: added to a seek or head switch before a write
 * @read_overhead_ns: idle drive: from the command's arrival to the arm moving
 * @write_overhead_ns: the same for a write
 * @read_report_ns: from the last sector passing the head to the host's stamp
 * @write_report_ns: the same for a write
 * @zero_latency: drive starts in mid-request where the head lands (paper, table 1)
 */
struct dm_info {
	char vendor[DM_ID_LEN];
	char product[DM_ID_LEN];
	char serial[DM_ID_LEN];
	u64 sectors;
	u32 physical_sectors;
	u32 cylinders;
	u32 heads;
	u32 granule_sectors;
	u64 period_ps;
	u32 head_switch_ns;
	u32 write_settle_ns;
	u32 read_overhead_ns;
	u32 write_overhead_ns;
	u32 read_report_ns;
	u32 write_report_ns;
	bool zero_latency;
};

/**
 * struct dm_place - the head over one spot of one track
 * @cyl: cylinder
 * @head: head (physical, serpentine order already undone)
 * @angle: fraction of a turn; the platter's zero is that of the model
 */
struct dm_place {
	u32 cyl;
	u32 head;
	u32 angle;
};

/**
 * struct dm_track - one track and the LBNs on it
 * @cyl: cylinder
 * @head: physical head
 * @zone: index of its zone, private to disk_model.c
 * @spt: physical sectors on the track
 * @nsect: LBNs that lie on it in order, remapped ones included; 0 = none (spares only)
 * @first_lbn: the first of them
 * @angle0: angle at which physical sector 0 begins
 * @sector_angle: angle of one sector, 2^32/spt rounded down
 * @anomalous: slips or remaps touch this track: LBN order has holes
 */
struct dm_track {
	u32 cyl;
	u32 head;
	u32 zone;
	u32 spt;
	u32 nsect;
	u64 first_lbn;
	u32 angle0;
	u32 sector_angle;
	bool anomalous;
};

/**
 * struct dm_access - one media access, from the end of the previous one
 * @seek_ns: arm, head switch and settle before the first sector
 * @latency_ns: rotational wait before the first sector that is transferred
 * @total_ns: until the last sector has passed the head (the paper's head time)
 * @end: where the head is then (after the sector that was transferred last)
 */
struct dm_access {
	u64 seek_ns;
	u64 latency_ns;
	u64 total_ns;
	struct dm_place end;
};

/**
 * struct dm_piece - consecutive LBNs that pass the head within a window
 * @lbn: first
 * @nsect: how many; 0 = no such piece
 * @wait: angle from the window's beginning to the first sector's beginning
 * @span: angle from the first sector's beginning to the last sector's end
 */
struct dm_piece {
	u64 lbn;
	u32 nsect;
	u32 wait;
	u32 span;
};

/* ---- what every caller may ask; none of these allocates, sleeps or locks ---- */

const struct dm_info *dm_info(const struct disk_model *dm);

/* angle <-> time for this drive's period; dm_ns_to_angle() drops whole turns */
u64 dm_angle_to_ns(const struct disk_model *dm, u32 angle);
u32 dm_ns_to_angle(const struct disk_model *dm, u64 ns);
u64 dm_period_ns(const struct disk_model *dm);

int dm_place_of(const struct disk_model *dm, u64 lbn, struct dm_place *p);
int dm_track_of(const struct disk_model *dm, u64 lbn, struct dm_track *t);
int dm_track_at(const struct disk_model *dm, u32 cyl, u32 head, struct dm_track *t);

/* angle at which @lbn, which lies on @t, begins; remapped LBNs: -ENXIO */
int dm_lbn_angle(const struct disk_model *dm, const struct dm_track *t, u64 lbn, u32 *angle);

/* the seek alone: 0 on the same track; max(seek, head switch), plus settle for a write */
u64 dm_seek_ns(const struct disk_model *dm, const struct dm_place *from,
	       const struct dm_place *to, bool write);

/* a lower bound of dm_seek_ns() for every distance of @cyls or more: for pruning */
u64 dm_seek_floor_ns(const struct disk_model *dm, u32 cyls);

/* seek and rotational latency to one place, as if without zero-latency access */
void dm_position(const struct disk_model *dm, const struct dm_place *from,
		 const struct dm_place *to, bool write, u64 *seek_ns, u64 *latency_ns);

int dm_access(const struct disk_model *dm, const struct dm_place *from,
	      u64 lbn, u32 nsect, bool write, struct dm_access *a);

/*
 * The LBN runs of @t of which every sector passes the head wholly within the
 * window that begins at @angle and lasts @span (2^32 or more: the whole track,
 * beginning at the first whole sector). Up to two: the track's logical start
 * lies between them (paper, figure 11). Runs end at slips' holes only where the
 * LBNs are not consecutive, and at remapped LBNs; of more than two runs the two
 * largest are given. @piece[0] is the one that passes first.
 */
void dm_window(const struct disk_model *dm, const struct dm_track *t, u32 angle,
	       u64 span, struct dm_piece piece[2]);

/* track number, for per-track counts: 0 .. cylinders * heads - 1, in LBN order
 * where the drive's head order allows (cyl * heads + logical head)
 */
u32 dm_track_index(const struct disk_model *dm, const struct dm_track *t);
u32 dm_tracks(const struct disk_model *dm);

/* the track with number @index; may sleep never, cost O(log zones) */
int dm_track_by_index(const struct disk_model *dm, u32 index, struct dm_track *t);

void dm_free(struct disk_model *dm);

#endif /* DISK_MODEL_H */
