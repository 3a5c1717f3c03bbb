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

#include "mechdisk_cache.h"
#include "mechdisk_mech.h"

/* Commands the drive can hold: the depth of its tagged queue. */
#define MDE_SLOTS	32
/* Returned by mde_next_event() when nothing is going on. */
#define MDE_NEVER	U64_MAX
/* Flag of mde_submit(): the medium itself, not the cache. */
#define MDE_FUA		1

enum mde_op { MDE_READ, MDE_WRITE, MDE_VERIFY, MDE_FLUSH };

/**
 * struct mde_slot - a command in the drive
 * @lbn: first LBN
 * @count: LBNs
 * @op: what to do
 * @flags: MDE_FUA or 0
 * @kind: enum mde_kind, what it turned out to be
 * @seq: commands that came before it
 * @arrived: when it was submitted, ps
 * @ready: when the drive has understood it, ps
 * @bus_start: a write's data begin to arrive, ps
 * @started: its service began, ps
 * @media_end: its last sector has passed the head, ps
 * @report: when its completion is to be reported, ps
 * @good: LBNs transferred without error
 * @asc: 0, or the additional sense code of a medium error at LBN @lbn + @good
 * @error: enum mde_error, that error's kind
 * @info: that error's INFORMATION field is valid
 * @held: sectors that came from the cache
 * @disconnects: a write that leaves the bus once more
 * @cacheable: a write that need not reach the medium before its report
 * @considered: private: @start and @needs_medium are right after so many changes
 * @start: private: when it can start, ps
 * @needs_medium: private: it has to wait for the head
 * @first: where the rest starts on the platter
 */
struct mde_slot {
	u64 lbn;
	u32 count;
	enum mde_op op;
	u32 flags;
	enum mde_kind kind;
	u64 seq;
	u64 arrived;
	u64 ready;
	u64 bus_start;
	u64 started;
	u64 media_end;
	u64 report;
	u32 good;
	u8 asc;
	u8 error;
	bool info;
	u32 held;
	bool disconnects;
	bool cacheable;
	u64 considered;
	u64 start;
	bool needs_medium;
	struct mdl_piece first;
};

/**
 * struct mde_ahead_run - reading on after a read
 * @segment: where the sectors go; NULL if the drive is not reading on
 * @next: LBN where the next piece starts
 * @limit: where to stop
 * @t: the head is free for the next piece from then on, ps
 * @positioned: @piece is being read or waited for
 * @piece: that piece
 * @arrive: the head is on its track, ps
 * @start: its first sector begins, ps
 */
struct mde_ahead_run {
	struct mdb_segment *segment;
	u64 next;
	u64 limit;
	u64 t;
	bool positioned;
	struct mdl_piece piece;
	u64 arrive;
	u64 start;
};

/**
 * struct mde_stats - what the drive did since power-on or the last reset
 * @reads: read commands begun
 * @fua_reads: of these, with FUA
 * @writes: write commands begun
 * @verifies: verify commands begun
 * @flushes: flush commands begun
 * @sectors_read: without error
 * @sectors_written: without error
 * @sectors_verified: without error
 * @read_hits: reads and verifies that the cache answered
 * @partial_hits: reads whose first sectors were in the cache
 * @cached_writes: writes reported before they were on the medium
 * @destages: times that the drive wrote such data to the medium
 * @internals: times that it was busy with itself
 * @seeks: moves of one cylinder or more
 * @head_switches: moves within a cylinder
 * @extra_turns: commands whose first track took more than half a turn longer
 *	than without noise
 * @medium_errors: commands ended by a bad sector
 * @max_outstanding: most commands in the drive at once
 * @busy_ps: the medium was at work, reading on apart, ps
 * @read_busy_ps: of that: for reads
 * @seek_ps: of that: seeks, head switches and settles, ps
 * @rotate_ps: of that: waiting for sectors, ps
 * @transfer_ps: of that: transferring, ps
 */
struct mde_stats {
	u64 reads;
	u64 fua_reads;
	u64 writes;
	u64 verifies;
	u64 flushes;
	u64 sectors_read;
	u64 sectors_written;
	u64 sectors_verified;
	u64 read_hits;
	u64 partial_hits;
	u64 cached_writes;
	u64 destages;
	u64 internals;
	u64 seeks;
	u64 head_switches;
	u64 extra_turns;
	u64 medium_errors;
	u64 max_outstanding;
	u64 busy_ps;
	u64 read_busy_ps;
	u64 seek_ps;
	u64 rotate_ps;
	u64 transfer_ps;
};

/**
 * struct mde_pass - what happened at the medium
 * @op: sectors read, verified or written by the head; a flush: nothing that came
 *	before it is in the cache alone any more
 * @lbn: first LBN; 0 of a flush
 * @count: LBNs; 0 of a flush
 * @from_ns: the job began; of a flush: it came
 * @to_ns: the last sector had passed; of a flush: its report
 */
struct mde_pass {
	enum mde_op op;
	u64 lbn;
	u32 count;
	u64 from_ns;
	u64 to_ns;
};

/**
 * struct mde_caching - what the caching mode page switches
 * @read_cache: cached data answer reads
 * @look_ahead: the drive reads on
 * @write_cache: writes are reported before they are on the medium
 */
struct mde_caching {
	bool read_cache;
	bool look_ahead;
	bool write_cache;
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
	struct mdm mech;
	struct mdb cache;
	struct mde_caching caching;
	u64 recovery_limit_ns;	/* a bad sector is given up after; 0: never before its own */
	struct mde_ahead_run ahead;
	struct mdb_segment *destaging;	/* until media_free */
	u64 changes;		/* how often something changed that commands wait for */
	u64 clock;		/* nothing new starts before, ps */
	u64 ended;		/* last report of a command released, ps, */
	u64 ended_alone;	/* ... and of one that runs alone with NCQ */
	u64 hit_bus_free;	/* from the cache to the host, ps */
	bool plain;		/* no cache, no barriers, nothing of its own to do */
	u64 media_free;		/* ps */
	u64 passed;		/* the last command's last sector had, ps */
	u64 bus_in_free;	/* to the host, ps */
	u64 bus_out_free;	/* to the drive, ps */
	u64 last_report;	/* ps */
	u64 internal_next;	/* ps */
	u64 ageing;		/* what a wait takes off the positioning time, fraction of 2^32 */
	bool last_write;	/* the command before was one ... */
	u64 last_end;		/* ... and ended at this LBN */
	u64 write_end;		/* where the last write command ended, */
	u64 written_end;	/* ... and the last write to the medium */
	struct mdl_piece last_read;	/* last piece that a read took off the medium */
	u64 rng_jitter;
	u64 seq;
	/* Slots by state; free ones are in none. */
	u32 queued;		/* wait for their service */
	u32 started;		/* mde_started() has yet to hand them out */
	u32 reporting;		/* wait for their report */
	u32 outstanding;
	struct mde_slot slot[MDE_SLOTS];
	struct mde_bad bad[MDE_BAD_MAX];
	u32 bads;
	struct mde_stats stats;
	void (*witness)(void *arg, const struct mde_pass *pass);
	void *witness_arg;
};

/* A slot's bit in the masks. */
static inline u32 mde_bit(const struct mde *e, const struct mde_slot *s)
{
	return 1U << (s - e->slot);
}

/* An instant of the caller's clock, rounded up. */
u64 mde_ns(const struct mde *e, u64 ps);

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
 * mde_watch() - have somebody told what happens at the medium
 * @e: the drive
 * @witness: called for each job, when it begins, with its whole course; what the drive
 *	reads ahead is not told, for no command has asked for it; NULL: nobody
 * @arg: handed to @witness
 */
void mde_watch(struct mde *e, void (*witness)(void *arg, const struct mde_pass *pass),
	       void *arg);

/**
 * mde_submit() - hand the drive a command
 * @e: the drive
 * @now_ns: the time, not before any time handed in earlier
 * @op: what to do
 * @lbn: first LBN
 * @count: LBNs, at least 1; the range lies inside the drive; 0 of a flush
 * @flags: MDE_FUA or 0
 *
 * The command's service begins in mde_advance() at the earliest.
 *
 * Return: the slot the command occupies until mde_release(), or -EBUSY if the
 * queue is full.
 */
int mde_submit(struct mde *e, u64 now_ns, enum mde_op op, u64 lbn, u32 count,
	       u32 flags);

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
u64 mde_next_event(struct mde *e);

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
 * mde_set_caching() - switch the cache (MODE SELECT, caching page)
 * @e: the drive
 * @now_ns: the time
 * @caching: the new state
 *
 * What is cached already stays; writes not on the medium yet go there.
 */
void mde_set_caching(struct mde *e, u64 now_ns, const struct mde_caching *caching);

/**
 * mde_hold() - the medium is not ready: the heads are not loaded, or the platters stand
 * @e: the drive
 * @now_ns: the time
 * @ns: for how long
 * @stood: the platters come to stand at any angle
 */
void mde_hold(struct mde *e, u64 now_ns, u64 ns, bool stood);

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
