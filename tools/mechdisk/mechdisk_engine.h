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

/**
 * struct mde_range - what a command wants of the engine
 * @op: what it wants
 * @lbn: first sector
 * @count: how many; 0 of a flush
 * @flags: for mde_submit()
 * @same: a write whose data are one sector, repeated
 * @gone_lbn: first of the sectors that lose their data when a flush ends
 * @gone: how many
 * @at_once: it ends when it has begun (a flush with IMMED)
 */
struct mde_range {
	enum mde_op op;
	u64 lbn;
	u32 count;
	u32 flags;
	bool same;
	u64 gone_lbn;
	u32 gone;
	bool at_once;
};

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
