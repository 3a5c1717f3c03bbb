/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Mechanics and firmware of a simulated disk drive.
 *
 * The engine is handed a clock and commands and says when each command starts
 * at the medium and when its completion is to be reported.  It moves no data,
 * takes no lock, allocates nothing after mde_init() and uses integers only.
 * The service time of a command is T_seek + T_rotate + T_transfer (Lumb,
 * Schindler, Ganger, "Freeblock Scheduling Outside of Disk Firmware", 2.1);
 * bus transfers and command processing overlap with another command's
 * mechanics (3.3, figure 4).
 *
 * Units: instants handed in and out are u64 nanoseconds of the caller's clock.
 * Inside, instants are picoseconds since power-on (good for 213 days), and an
 * angle is a u64 fraction of a turn (2^64 = one revolution).
 */
#ifndef MECHDISK_ENGINE_H
#define MECHDISK_ENGINE_H

#include "mechdisk_shim.h"

/* Commands the drive can hold: the depth of its tagged queue. */
#define MDE_SLOTS	32
/* Bad ranges a drive can have at once. */
#define MDE_BAD_MAX	64
/* &struct mde_bad.times of a range that never recovers. */
#define MDE_ALWAYS	U32_MAX
/* Returned by mde_next_event() when nothing is going on. */
#define MDE_NEVER	U64_MAX

enum mde_order { MDE_PLAIN, MDE_SERPENTINE };
enum mde_noise { MDE_NOISE_OFF, MDE_NOISE_GAUSS, MDE_NOISE_LAPLACE };
enum mde_policy { MDE_FCFS, MDE_SPTF };
enum mde_op { MDE_READ, MDE_WRITE, MDE_VERIFY };

/**
 * struct mde_zone - cylinders with the same number of sectors per track
 * @cyl_first: first cylinder
 * @cyl_last: last cylinder
 * @spt: sectors per track, slipped and spare ones included
 * @spares: sectors at the zone's end that hold no LBN; a slip uses one up
 * @angle: where the zone's first sector starts, fraction of a turn
 * @skew_track: added at each track switch within a cylinder, fraction of a turn
 * @skew_cyl: added at each cylinder switch, fraction of a turn
 * @lbn_first: first LBN (computed)
 * @lbn_count: LBNs in the zone (computed)
 * @slip_first: index of the zone's first slip in &struct mde_config.slip
 * @slip_count: slips in the zone
 * @remap_first: index of the zone's first remap in &struct mde_config.remap
 * @remap_count: remaps in the zone
 */
struct mde_zone {
	u32 cyl_first;
	u32 cyl_last;
	u32 spt;
	u32 spares;
	u64 angle;
	u64 skew_track;
	u64 skew_cyl;
	u64 lbn_first;
	u64 lbn_count;
	u32 slip_first;
	u32 slip_count;
	u32 remap_first;
	u32 remap_count;
};

/**
 * struct mde_slip - a physical sector that LBNs skip
 * @zone: index of the zone
 * @index: sectors from the zone's first sector, in LBN order of tracks
 */
struct mde_slip {
	u32 zone;
	u64 index;
};

/**
 * struct mde_remap - a sector whose LBN lives in a spare
 * @zone: index of the zone
 * @from: the defective sector, counted as in &struct mde_slip
 * @to: the spare that replaces it
 */
struct mde_remap {
	u32 zone;
	u64 from;
	u64 to;
};

/**
 * struct mde_seek - a point of the seek curve
 * @dist: cylinders
 * @ns: time to travel that far, for a read, nanoseconds
 */
struct mde_seek {
	u32 dist;
	u64 ns;
};

/**
 * struct mde_bad - sectors that cannot be read
 * @lbn: first bad LBN
 * @count: number of bad LBNs
 * @recovery_ns: how long the drive tries before it gives up
 * @times: how many more commands fail here; MDE_ALWAYS for all
 * @asc: additional sense code to report (0x11 or 0x15)
 * @info: whether the sense data's INFORMATION field is valid
 */
struct mde_bad {
	u64 lbn;
	u64 count;
	u64 recovery_ns;
	u32 times;
	u8 asc;
	bool info;
};

/**
 * struct mde_config - all that a .fbdrive description says
 * @vendor: for INQUIRY, NUL-terminated
 * @product: for INQUIRY
 * @revision: for INQUIRY
 * @serial: for INQUIRY
 * @period_ps: one revolution, ps
 * @rpm_error_ppm: the real speed is that much higher
 * @seed: of angle, noise and jitter
 * @heads: surfaces
 * @order: enum mde_order
 * @zone: the zones
 * @zones: how many
 * @slip: slips, by zone and index
 * @slips: how many
 * @remap: remaps, by zone and defective sector
 * @remaps: how many
 * @seek: points of the seek curve, by distance
 * @seeks: how many
 * @sectors: capacity in LBNs (computed)
 * @cylinders: how many (computed)
 * @head_switch_ns: least time of a move to another head
 * @write_settle_ns: added to a move before a write
 * @zero_latency: 0 or 1
 * @noise: enum mde_noise, on seeks
 * @noise_sd_ns: its standard deviation
 * @outlier_ppm: share of seeks that take @outlier_ns longer
 * @outlier_ns: how much longer
 * @overhead_read_ns: from arrival to readiness, read and verify
 * @overhead_write_ns: from arrival to readiness, write
 * @bus_ns: a sector's time on the bus
 * @completion_overhead_ns: from the end to the report
 * @jitter_ns: most that a report is late on top of that
 * @firmware: enum mde_policy
 * @bad: sectors unreadable from the start
 * @bads: how many ranges
 * @heal_on_write: a write makes a bad sector good, 0 or 1
 * @physical_exponent: physical block of 2^n sectors; not used by the engine,
 *	like all below
 * @queue_depth: commands the host may queue
 * @hw_queues: hardware queues of the host
 * @max_sectors: longest transfer
 * @seg_boundary: no segment crosses a multiple of it, bytes, a power of two
 * @max_segment_size: longest segment, bytes
 * @timeout_ms: before the host's error handler acts
 * @journal_records: room in the write journal
 *
 * Filled by mdt_parse(); Documentation/drive-format.rst gives each record's
 * unit, range and default.
 */
struct mde_config {
	char vendor[9];
	char product[17];
	char revision[5];
	char serial[21];

	u64 period_ps;
	s64 rpm_error_ppm;
	u64 seed;
	u64 heads;
	u64 order;
	struct mde_zone *zone;
	u32 zones;
	struct mde_slip *slip;
	u32 slips;
	struct mde_remap *remap;
	u32 remaps;
	struct mde_seek *seek;
	u32 seeks;
	u64 sectors;
	u64 cylinders;

	u64 head_switch_ns;
	u64 write_settle_ns;
	u64 zero_latency;
	u64 noise;
	u64 noise_sd_ns;
	u64 outlier_ppm;
	u64 outlier_ns;
	u64 overhead_read_ns;
	u64 overhead_write_ns;
	u64 bus_ns;
	u64 completion_overhead_ns;
	u64 jitter_ns;
	u64 firmware;

	struct mde_bad bad[MDE_BAD_MAX];
	u32 bads;
	u64 heal_on_write;

	u64 physical_exponent;
	u64 queue_depth;
	u64 hw_queues;
	u64 max_sectors;
	u64 seg_boundary;
	u64 max_segment_size;
	u64 timeout_ms;
	u64 journal_records;
};

/**
 * struct mde_piece - a stretch of a command that one pass over one track covers
 * @lbn: its first LBN
 * @lbns: LBNs in it
 * @zone: index of the zone
 * @cyl: cylinder
 * @head: surface
 * @sector: physical sector on the track where it starts
 * @phys: physical sectors the head passes over, slipped ones included
 * @spt: sectors on this track
 * @angle: where @sector starts, fraction of a turn
 * @remapped: it is a single sector living in a spare
 */
struct mde_piece {
	u64 lbn;
	u32 lbns;
	u32 zone;
	u32 cyl;
	u32 head;
	u32 sector;
	u32 phys;
	u32 spt;
	u64 angle;
	bool remapped;
};

/**
 * struct mde_slot - a command in the drive
 * @lbn: first LBN
 * @count: LBNs
 * @op: what to do
 * @arrived: when it was submitted, ps
 * @ready: when the drive has understood it, ps
 * @data_ready: a write's data are in the drive's buffer, ps
 * @started: its mechanics began, ps
 * @media_end: the head is free again, ps
 * @report: when its completion is to be reported, ps
 * @good: LBNs transferred without error
 * @asc: 0, or the additional sense code of a medium error at LBN @lbn + @good
 * @info: that error's INFORMATION field is valid
 * @first: where it starts on the platter
 */
struct mde_slot {
	u64 lbn;
	u32 count;
	enum mde_op op;
	u64 arrived;
	u64 ready;
	u64 data_ready;
	u64 started;
	u64 media_end;
	u64 report;
	u32 good;
	u8 asc;
	bool info;
	struct mde_piece first;
};

/**
 * struct mde_stats - what the drive did since power-on or the last reset
 * @reads: read commands begun
 * @writes: write commands begun
 * @verifies: verify commands begun
 * @sectors_read: without error
 * @sectors_written: without error
 * @sectors_verified: without error
 * @seeks: moves of one cylinder or more
 * @head_switches: moves within a cylinder
 * @extra_turns: commands whose first track took more than half a turn longer
 *	than without noise
 * @medium_errors: commands ended by a bad sector
 * @max_outstanding: most commands in the drive at once
 * @busy_ps: the medium was at work, ps
 * @seek_ps: of that: seeks, head switches and settles, ps
 * @rotate_ps: of that: waiting for sectors, ps
 * @transfer_ps: of that: transferring, ps
 */
struct mde_stats {
	u64 reads;
	u64 writes;
	u64 verifies;
	u64 sectors_read;
	u64 sectors_written;
	u64 sectors_verified;
	u64 seeks;
	u64 head_switches;
	u64 extra_turns;
	u64 medium_errors;
	u64 max_outstanding;
	u64 busy_ps;
	u64 seek_ps;
	u64 rotate_ps;
	u64 transfer_ps;
};

/**
 * struct mde - a running drive
 *
 * The caller serialises all calls on one drive.
 */
struct mde {
	/* private: */
	const struct mde_config *cfg;
	u64 origin_ns;
	u64 period;		/* ps, rpm error applied */
	u64 phase0;		/* angle under the head at power-on, as ps */
	u32 cyl;
	u32 head;
	u64 media_free;		/* ps */
	u64 bus_in_free;	/* to the host, ps */
	u64 bus_out_free;	/* to the drive, ps */
	u64 last_report;	/* ps */
	u64 rng_noise;
	u64 rng_jitter;
	/* Slots by state; free ones are in none. */
	u32 queued;		/* wait for the medium */
	u32 started;		/* mde_started() has yet to hand them out */
	u32 reporting;		/* wait for their report */
	u32 outstanding;
	struct mde_slot slot[MDE_SLOTS];
	struct mde_bad bad[MDE_BAD_MAX];
	u32 bads;
	struct mde_stats stats;
};

/**
 * mde_config_finish() - compute a configuration's derived fields
 * @cfg: zones, slips and remaps filled in, sorted by zone and index
 *
 * Sets each zone's LBN range and table indices, the capacity and the number of
 * cylinders.  The caller has checked that every zone has more sectors than
 * spares.
 */
void mde_config_finish(struct mde_config *cfg);

/**
 * mde_init() - power a drive on
 * @e: the drive
 * @cfg: its description; stays the caller's and must outlive the drive
 * @now_ns: the time
 *
 * The head is at cylinder 0, head 0; the platter's angle comes from the seed.
 */
void mde_init(struct mde *e, const struct mde_config *cfg, u64 now_ns);

/**
 * mde_submit() - hand the drive a command
 * @e: the drive
 * @now_ns: the time, not before any time handed in earlier
 * @op: what to do
 * @lbn: first LBN
 * @count: LBNs, at least 1; the range lies inside the drive
 *
 * The command's service begins in mde_advance() at the earliest.
 *
 * Return: the slot the command occupies until mde_release(), or -EBUSY if the
 * queue is full.
 */
int mde_submit(struct mde *e, u64 now_ns, enum mde_op op, u64 lbn, u32 count);

/**
 * mde_advance() - let the drive live until a time
 * @e: the drive
 * @now_ns: the time
 *
 * Each time the medium becomes free the firmware chooses among the commands
 * that it had understood by that instant, however late this call comes and
 * whatever was submitted since.
 */
void mde_advance(struct mde *e, u64 now_ns);

/**
 * mde_started() - a command whose service has begun
 * @e: the drive
 *
 * Return: a slot, each once and in the order of service, or -1.
 */
int mde_started(struct mde *e);

/**
 * mde_due() - a command whose completion is to be reported by now
 * @e: the drive
 * @now_ns: the time
 *
 * Return: the slot with the earliest report instant, or -1.  The caller
 * releases it.
 */
int mde_due(const struct mde *e, u64 now_ns);

/**
 * mde_next_event() - when the drive next needs attention
 * @e: the drive
 *
 * That is, when to call mde_advance() and mde_due() next.
 *
 * Return: nanoseconds, or MDE_NEVER.
 */
u64 mde_next_event(const struct mde *e);

/**
 * mde_report_ns() - when a started command's completion is to be reported
 * @e: the drive
 * @slot: the slot
 *
 * Return: nanoseconds of the caller's clock.
 */
u64 mde_report_ns(const struct mde *e, int slot);

/**
 * mde_release() - free a slot
 * @e: the drive
 * @slot: the slot, in any state
 *
 * A queued command is forgotten; the mechanics of a started one go on.
 */
void mde_release(struct mde *e, int slot);

/**
 * mde_bad_add() - make sectors unreadable
 * @e: the drive
 * @bad: the sectors
 *
 * Return: 0, or -ENOSPC if MDE_BAD_MAX ranges are there already.
 */
int mde_bad_add(struct mde *e, const struct mde_bad *bad);

/**
 * mde_bad_clear() - make all sectors readable again
 * @e: the drive
 */
void mde_bad_clear(struct mde *e);

/**
 * mde_stats_reset() - start counting anew
 * @e: the drive
 */
void mde_stats_reset(struct mde *e);

/**
 * mde_locate() - where an LBN lives
 * @cfg: the drive's description
 * @lbn: an LBN of the drive
 * @count: LBNs wanted from there on
 * @piece: set to the longest stretch from @lbn that lies on one track,
 *         interrupted by nothing but slipped sectors, at most @count LBNs
 */
void mde_locate(const struct mde_config *cfg, u64 lbn, u32 count,
		struct mde_piece *piece);

/**
 * mde_move_ps() - time to bring the head to another track, without noise
 * @cfg: the drive's description
 * @dist: cylinders to travel
 * @other_head: the surface changes
 * @write: a write follows
 *
 * The longer of seek and head switch; a write settles after any move.
 *
 * Return: picoseconds.
 */
u64 mde_move_ps(const struct mde_config *cfg, u32 dist, bool other_head,
		bool write);

/**
 * mde_place_head() - put the head somewhere at a chosen angle (for tests)
 * @e: an idle drive
 * @cyl: cylinder
 * @head: surface
 * @now_ns: from this instant on the medium is free
 * @angle: fraction of a turn under the head at that instant
 */
void mde_place_head(struct mde *e, u32 cyl, u32 head, u64 now_ns, u64 angle);

/**
 * mde_angle() - what is under the head
 * @e: the drive
 * @now_ns: the time
 *
 * Return: fraction of a turn, 2^64 = one revolution.
 */
u64 mde_angle(const struct mde *e, u64 now_ns);

#endif /* MECHDISK_ENGINE_H */
