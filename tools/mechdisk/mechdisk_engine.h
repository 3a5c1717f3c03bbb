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

#include "mechdisk_state.h"

/* What a command wants of the engine. */
struct mde_range {
	enum mde_op op;	/* what it wants */
	u64 lbn;	/* first sector */
	u32 count;	/* how many; 0 of a flush */
	u32 flags;	/* for mde_submit() */
	bool same;	/* a write whose data are one sector, repeated */
	u64 gone_lbn;	/* first of the sectors that lose their data when a flush ends */
	u32 gone;	/* how many */
	bool at_once;	/* it ends when it has begun (a flush with IMMED) */
};

/*
 * Power a drive on. The head is at cylinder 0, head 0; the platter's angle comes from the seed.
 * @cfg: its description; stays the caller's and must outlive the drive.
 */
void mde_init(struct mde *e, const struct mde_config *cfg, u64 now_ns);

/*
 * Have somebody told what happens at the medium. @witness: called for each job, when it begins,
 * with its whole course; what the drive reads ahead is not told, for no command has asked for it;
 * NULL: nobody. @arg: handed to @witness.
 */
void mde_watch(struct mde *e, void (*witness)(void *arg, const struct mde_pass *pass),
	       void *arg);

/*
 * Hand the drive a command. The command's service begins in mde_advance() at the earliest.
 * Returns the slot the command occupies until mde_release(), or -EBUSY if the queue is full.
 * @now_ns: the time, not before any time handed in earlier. @count: LBNs, at least 1; the range
 * lies inside the drive; 0 of a flush.
 */
int mde_submit(struct mde *e, u64 now_ns, enum mde_op op, u64 lbn, u32 count,
	       u32 flags);

/*
 * Let the drive live until a time. Each time the medium becomes free the firmware chooses among
 * the commands that it had understood by that instant, however late this call comes and whatever
 * was submitted since.
 */
void mde_advance(struct mde *e, u64 now_ns);

/*
 * A command whose service has begun. Returns a slot, each once and in the order of service, or -1.
 */
int mde_started(struct mde *e);

/*
 * A command whose completion is to be reported by now. Returns the slot with the earliest report
 * instant, or -1.  The caller releases it.
 */
int mde_due(const struct mde *e, u64 now_ns);

/*
 * When the drive next needs attention. That is, when to call mde_advance() and mde_due() next.
 * Returns nanoseconds, or MDE_NEVER.
 */
u64 mde_next_event(struct mde *e);

/*
 * When a started command's completion is to be reported. Returns nanoseconds of the caller's
 * clock.
 */
u64 mde_report_ns(const struct mde *e, int slot);

/*
 * Free a slot. A queued command is forgotten; the mechanics of a started one go on. @slot: the
 * slot, in any state.
 */
void mde_release(struct mde *e, int slot);

/* Make all sectors readable again. */
void mde_bad_clear(struct mde *e);

/* Start counting anew. */
void mde_stats_reset(struct mde *e);

/*
 * Switch the cache (MODE SELECT, caching page). What is cached already stays; writes not on the
 * medium yet go there.
 */
void mde_set_caching(struct mde *e, u64 now_ns, const struct mde_caching *caching);

/*
 * The medium is not ready: the heads are not loaded, or the platters stand. @ns: for how long.
 * @stood: the platters come to stand at any angle.
 */
void mde_hold(struct mde *e, u64 now_ns, u64 ns, bool stood);

/*
 * Put the head somewhere at a chosen angle (for tests). @e: an idle drive. @now_ns: from this
 * instant on the medium is free. @angle: fraction of a turn under the head at that instant.
 */
void mde_place_head(struct mde *e, u32 cyl, u32 head, u64 now_ns, u64 angle);

/* What is under the head: a fraction of a turn, 2^64 = one revolution. */
u64 mde_angle(const struct mde *e, u64 now_ns);

#endif /* MECHDISK_ENGINE_H */
