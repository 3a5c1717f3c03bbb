/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The state of a simulated drive's engine, which its parts share; units and rules are those of
 * mechdisk_engine.h.
 */
#ifndef MECHDISK_STATE_H
#define MECHDISK_STATE_H

#include "mechdisk_cache.h"
#include "mechdisk_mech.h"

/* Commands the drive can hold: the depth of its tagged queue. */
#define MDE_SLOTS	32
/* Returned by mde_next_event() when nothing is going on. */
#define MDE_NEVER	U64_MAX
/* Flag of mde_submit(): the medium itself, not the cache. */
#define MDE_FUA		1

enum mde_op { MDE_READ, MDE_WRITE, MDE_VERIFY, MDE_FLUSH };

/* A command in the drive. */
struct mde_slot {
	u64 lbn;	/* first LBN */
	u32 count;	/* LBNs */
	enum mde_op op;	/* what to do */
	u32 flags;	/* MDE_FUA or 0 */
	enum mde_kind kind;	/* enum mde_kind, what it turned out to be */
	u64 seq;	/* commands that came before it */
	u64 arrived;	/* when it was submitted, ps */
	u64 ready;	/* when the drive has understood it, ps */
	u64 bus_start;	/* a write's data begin to arrive, ps */
	u64 started;	/* its service began, ps */
	u64 media_end;	/* its last sector has passed the head, ps */
	u64 report;	/* when its completion is to be reported, ps */
	u32 good;	/* LBNs transferred without error */
	u8 asc;	/* 0, or the additional sense code of a medium error at LBN @lbn + @good */
	u8 error;	/* enum mde_error, that error's kind */
	bool info;	/* that error's INFORMATION field is valid */
	u32 held;	/* sectors that came from the cache */
	bool cacheable;	/* a write that need not reach the medium before its report */
	u64 considered;	/* private: @start and @needs_medium are right after so many changes */
	u64 start;	/* private: when it can start, ps */
	bool needs_medium;	/* private: it has to wait for the head */
	struct mdl_piece first;	/* where the rest starts on the platter */
};

/* Reading on after a read. */
struct mde_ahead_run {
	/* where the sectors go; NULL if the drive is not reading on */
	struct mdb_segment *segment;
	u64 next;	/* LBN where the next piece starts */
	u64 limit;	/* where to stop */
	u64 t;	/* the head is free for the next piece from then on, ps */
	bool positioned;	/* @piece is being read or waited for */
	struct mdl_piece piece;	/* that piece */
	u64 arrive;	/* the head is on its track, ps */
	u64 start;	/* its first sector begins, ps */
};

/*
 * What the drive did since power-on or the last reset, as Documentation/drive-format.rst says;
 * reading ahead keeps the medium busy, but is not counted as that.
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
	u64 scans;
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

/* What happened at the medium. */
struct mde_pass {
	/*
	 * sectors read, verified or written by the head; a flush: nothing that came before it is
	 * in the cache alone any more
	 */
	enum mde_op op;
	u64 lbn;	/* first LBN; 0 of a flush */
	u32 count;	/* LBNs; 0 of a flush */
	u64 from_ns;	/* the job began; of a flush: it came */
	u64 to_ns;	/* the last sector had passed; of a flush: its report */
};

/* What the caching mode page switches. */
struct mde_caching {
	bool read_cache;	/* cached data answer reads */
	bool look_ahead;	/* the drive reads on */
	bool write_cache;	/* writes are reported before they are on the medium */
};

/* A running drive. The caller serialises all calls on one drive. */
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
	u64 last_report;	/* of a command that was at the medium, ps */
	u64 told;		/* latest report of all, ps */
	u64 internal_next;	/* ps */
	u64 scan_lbn;		/* how far the drive has scanned its medium */
	u64 ageing;		/* what a wait takes off the positioning time, fraction of 2^32 */
	bool last_write;	/* the command before was one ... */
	u64 last_end;		/* ... and ended at this LBN */
	struct mdl_piece last_read;	/* last piece that a read took off the medium */
	u64 rng_jitter;
	u64 rng_scan;
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
static inline u64 mde_ns(const struct mde *e, u64 ps)
{
	return e->origin_ns + (ps + 999) / 1000;
}

/* Make sectors unreadable. Returns 0, or -ENOSPC if MDE_BAD_MAX ranges are there already. */
static inline int mde_bad_add(struct mde *e, const struct mde_bad *bad)
{
	if (e->bads == MDE_BAD_MAX)
		return -ENOSPC;
	e->bad[e->bads++] = *bad;
	return 0;
}

#endif /* MECHDISK_STATE_H */
