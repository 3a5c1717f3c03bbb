/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a .fbdrive description says, as the engine reads it.
 *
 * Filled by mdt_parse(); Documentation/drive-format.rst gives each record's
 * unit, range and default.  A sector is an LBN of @sector_bytes bytes
 * everywhere.
 */
#ifndef MECHDISK_CONFIG_H
#define MECHDISK_CONFIG_H

#include "mechdisk_shim.h"

/* Bad ranges a drive can have at once. */
#define MDE_BAD_MAX	64
/* Regions a drive can have to which seeks take a turn longer. */
#define MDE_SLOW_MAX	16
/* Cache segments a drive can have. */
#define MDE_SEGMENTS_MAX	64
/* &struct mde_bad.times of a range that never recovers. */
#define MDE_ALWAYS	U32_MAX

/* In which order LBNs visit the heads of a cylinder. */
enum mde_order { MDE_PLAIN, MDE_SERPENTINE, MDE_SERPENTINE_DISK };
/* Where a drive says that it moves shingled data about on its own. */
enum mde_zoned { MDE_ZONED_NO, MDE_ZONED_VPD, MDE_ZONED_IDENTIFY };
enum mde_noise { MDE_NOISE_OFF, MDE_NOISE_GAUSS, MDE_NOISE_LAPLACE };
enum mde_policy { MDE_FCFS, MDE_SPTF, MDE_CLOOK, MDE_SSTF };
/*
 * Whether a drive spins: REQUEST SENSE says it (as it is, or always spun down), CHECK POWER MODE,
 * or neither.
 */
enum mde_power {
	MDE_POWER_SCSI, MDE_POWER_LOW, MDE_POWER_ACTIVE, MDE_POWER_IDLE, MDE_POWER_IDLE_A,
	MDE_POWER_IDLE_B, MDE_POWER_IDLE_C, MDE_POWER_STANDBY_Y, MDE_POWER_STANDBY, MDE_POWER_UNTOLD
};

/* What commands are when it comes to overheads. */
enum mde_kind { MDE_READ_HIT, MDE_READ_MISS, MDE_WRITE_HIT, MDE_WRITE_MISS, MDE_KINDS };

/* How far a drive reads on after a read. */
enum mde_ahead {
	MDE_AHEAD_NONE,	/* not at all */
	MDE_AHEAD_TRACK,	/* to the end of the track */
	MDE_AHEAD_CYLINDER,	/* to the end of the cylinder */
	MDE_AHEAD_SEGMENT,	/* until the segment is full, or @ahead_sectors further */
	/* to the end of the track, and of the next one if the segment began on an earlier one */
	MDE_AHEAD_STREAM
};

/**
 * enum mde_trigger - which reads make the drive read on
 * @MDE_TRIGGER_ANY: every one
 * @MDE_TRIGGER_SAME_TRACK: one that starts on the track where the read before
 *	it ended, further on
 */
enum mde_trigger { MDE_TRIGGER_ANY, MDE_TRIGGER_SAME_TRACK };

/**
 * enum mde_write_cache - which writes are reported before they are on the medium
 * @MDE_WRITE_THROUGH: none
 * @MDE_WRITE_STREAM: while a cached write is under way, only those that
 *	continue it
 * @MDE_WRITE_BACK: all that find room
 */
enum mde_write_cache { MDE_WRITE_THROUGH, MDE_WRITE_STREAM, MDE_WRITE_BACK };

/**
 * enum mde_destage - when cached writes go to the medium
 * @MDE_DESTAGE_EAGER: at once, queued like commands
 * @MDE_DESTAGE_IDLE: when no command wants the medium, or space is needed, or
 *	the host asks for it
 */
enum mde_destage { MDE_DESTAGE_EAGER, MDE_DESTAGE_IDLE };

/* What a drive is attached by. */
enum mde_interface { MDE_SCSI, MDE_SATA, MDE_INTERFACES };
/* Which error an unreadable sector is: uncorrectable, its ID is not found, command aborted. */
enum mde_error { MDE_UNC, MDE_IDNF, MDE_ABRT };

/**
 * enum mde_queueing - what may be queued beside what
 * @MDE_TAGGED: SCSI: everything
 * @MDE_NCQ: SATA: reads and writes; flush and verify wait for an empty queue
 *	and hold back what comes after them
 */
enum mde_queueing { MDE_TAGGED, MDE_NCQ };

/**
 * enum mde_verify - what a VERIFY looks at
 * @MDE_VERIFY_MEDIUM: the medium
 * @MDE_VERIFY_CACHE: the cache is enough
 * @MDE_VERIFY_NOTHING: nothing: it is good at once, as of many bridges (SCSI only)
 * @MDE_VERIFY_FAILS: nothing: each fails, as of some RAID firmware
 */
enum mde_verify { MDE_VERIFY_MEDIUM, MDE_VERIFY_CACHE, MDE_VERIFY_NOTHING, MDE_VERIFY_FAILS };

/*
 * Cylinders with the same number of sectors per track, or a run: neighbouring tracks of a surface
 * whose LBNs follow each other.
 */
struct mde_zone {
	u32 cyl_first;	/* first cylinder; of a run: least number of a track */
	u32 cyl_last;	/* last cylinder; of a run: largest number of a track */
	u32 head;	/* of a run: its surface */
	bool outwards;	/* of a run: LBNs go from @cyl_last to @cyl_first */
	/*
	 * sectors per track, slipped and spare ones included; the longest, if they differ by head
	 */
	u32 spt;
	u32 *head_spt;	/* sectors per track by head number, or NULL: @spt on all */
	u64 dead;	/* sectors at the zone's start that hold no LBN */
	/* sectors that hold no LBN: the slipped ones and, for the rest, those at the zone's end */
	u64 spares;
	u64 angle;	/* where the zone's first sector starts, fraction of a turn */
	/*
	 * added at each track switch within a cylinder, fraction of a turn; where LBNs stay on a
	 * surface for a run, from run to run
	 */
	u64 skew_track;
	/*
	 * added at each cylinder switch, fraction of a turn; where LBNs stay on a surface, and in
	 * a run, from track to track of it
	 */
	u64 skew_cyl;
	u64 cyl_sectors;	/* sectors in a cylinder (computed) */
	u64 lbn_first;	/* first LBN (computed) */
	u64 lbn_count;	/* LBNs in the zone (computed) */
	u32 slip_first;	/* index of the zone's first slip in &struct mde_config.slip */
	u32 slip_count;	/* slips in the zone */
	u32 remap_first;	/* index of the zone's first remap in &struct mde_config.remap */
	u32 remap_count;	/* remaps in the zone */
};

/* Physical sectors that LBNs skip. */
struct mde_slip {
	u32 zone;	/* index of the zone */
	u32 count;	/* how many */
	/* the first: sectors from the zone's first sector, in LBN order of tracks */
	u64 index;
	u64 before;	/* sectors of the zone slipped before these (computed) */
};

/* A sector whose LBN lives in a spare. */
struct mde_remap {
	u32 zone;	/* index of the zone */
	u64 from;	/* the defective sector, counted as in &struct mde_slip */
	u64 to;	/* the spare that replaces it */
};

/* A point of the seek curve. */
struct mde_seek {
	u32 dist;	/* cylinders */
	u64 ns;	/* time to travel that far, for a read, nanoseconds */
};

/* Where each seek takes a turn longer. */
struct mde_slow {
	u32 first;	/* first cylinder */
	u32 last;	/* last cylinder */
};

/* Sectors that cannot be read. */
struct mde_bad {
	u64 lbn;	/* first bad LBN */
	u64 count;	/* number of bad LBNs */
	u64 recovery_ns;	/* how long the drive tries before it gives up */
	u32 times;	/* how many more commands fail here; MDE_ALWAYS for all */
	u8 asc;	/* additional sense code to report (0x11 or 0x15) */
	u8 error;	/* enum mde_error */
	bool info;	/* whether the sense data's INFORMATION field is valid */
};

/*
 * All that a .fbdrive description says, under the names of its records, in their units; switches
 * are 0 or 1.
 */
struct mde_config {
	char vendor[9];
	char product[17];
	char revision[5];
	char serial[21];

	u64 sector_bytes;
	u64 physical_exponent;
	u64 period_ps;
	s64 rpm_error_ppb;
	s64 rpm_drift_ppm;
	u64 rpm_drift_s;	/* 0: no drift */
	u64 seed;
	u64 heads;
	u64 order;	/* enum mde_order */
	u64 surface_run;
	struct mde_zone *zone;	/* the zones, or the runs */
	u32 zones;
	bool runs;	/* they are runs */
	u64 *place;	/* of runs: see mdl_index() */
	u32 *displacement;	/* NULL: 0 of all */
	u32 displacements;
	struct mde_slip *slip;
	u32 slips;
	struct mde_remap *remap;
	u32 remaps;
	struct mde_seek *seek;
	u32 seeks;
	s64 seek_drift_ppm;
	u64 seek_drift_s;	/* likewise */
	u64 sectors;	/* capacity in LBNs (computed) */
	u64 cylinders;	/* how many (computed) */

	u64 head_switch_ns;
	s64 write_settle_ns;
	u64 zero_latency;
	u64 noise;	/* enum mde_noise */
	u64 noise_sd_ns;
	u64 outlier_ppm;
	u64 outlier_ns;
	u64 overhead_ns[MDE_KINDS][2];	/* by kind, and by whether the command before was a write */
	u64 bus_ns;
	u64 bus_watermark_ppm;
	u64 completion_ns[2];	/* of reads, of writes */
	u64 jitter_ns;
	u64 early_seek;
	u64 firmware;	/* enum mde_policy */
	u64 age_ns;
	u64 bound_ms;	/* 0: never */
	u64 queueing;	/* enum mde_queueing */
	u64 verify;	/* enum mde_verify */
	u64 fua_cached;	/* a read with FUA may be answered by the cache */
	u64 translate;
	u64 zoned;	/* enum mde_zoned */
	u64 trim;
	u64 unmap;
	u64 translated;
	u64 long_id;
	u64 power;	/* enum mde_power: the record power_mode */
	u64 standby_timer_ms;	/* 0: never */
	u64 link_wake_us;	/* 0: it never sleeps */
	u64 mode_sense;
	u64 recovery_control;
	u64 recovery_limit_ms;	/* 0: no limit */
	u64 actuators;
	u64 internal_period_ns;	/* 0: never */
	u64 internal_ns;	/* for how long */
	u64 internal_cyl;	/* where that leaves the arm */
	u64 scan_idle_ns;	/* 0: never */
	u64 scan_late_us[2];	/* from, to */
	struct mde_slow slow[MDE_SLOW_MAX];
	u32 slows;

	u64 segments;	/* 0: no cache */
	u64 segment_sectors;
	u64 write_segments;
	u64 read_cache;
	u64 look_ahead;
	u64 write_cache;	/* enum mde_write_cache when on */
	u64 write_cache_on;	/* at power-on */
	u64 ahead;	/* enum mde_ahead */
	u64 ahead_sectors;	/* with MDE_AHEAD_SEGMENT: at most; 0: the segment */
	u64 ahead_trigger;	/* enum mde_trigger */
	u64 ahead_on_hit;
	u64 ahead_join;
	u64 ahead_stops_at_once;
	u64 ahead_least;
	u64 keep_passing;
	u64 discard_read;
	u64 written_hits;
	u64 append_writes;
	u64 destage;	/* enum mde_destage */
	u64 destage_delay_ns;

	struct mde_bad bad[MDE_BAD_MAX];
	u32 bads;

	u64 interface;	/* enum mde_interface; not used by the engine, like all below */
	u64 queue_depth;
	u64 shared_host;
	u64 hw_queues;
	u64 max_sectors;
	u64 seg_boundary;
	u64 max_segment_size;
	u64 timeout_ms;
	u64 journal_records;
};

/* Whether SCSI commands are translated for it, by libata, an adapter or an enclosure (SAT-4). */
static inline bool mde_is_ata(const struct mde_config *cfg)
{
	return cfg->interface == MDE_SATA || cfg->translated;
}

/* Longest transfer, LBNs. */
static inline u32 mde_longest(const struct mde_config *cfg)
{
	return cfg->max_sectors * 512 / cfg->sector_bytes;
}

/* Nominal rotation rate, turns a minute. */
static inline u16 mde_rpm(const struct mde_config *cfg)
{
	return (60000000000000ULL + cfg->period_ps / 2) / cfg->period_ps;
}

#endif /* MECHDISK_CONFIG_H */
