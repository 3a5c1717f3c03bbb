/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The task: the map of blocks wanted, and the plan for a gap; what tasks/task.c and
 * disk/reader.c do in the kernel.
 */
#ifndef SIM_TASK_H
#define SIM_TASK_H

#include "core/guard.h"
#include "core/lookahead.h"
#include "core/block_value.h"
#include "core/engine/engine.h"
#include "core/idle/reader.h"
#include "core/leftover.h"
#include "sim_opts.h"

#define SIMT_PARTS 10		/* a scan's speed is told for each tenth */

/**
 * struct simt - the task
 * @o: settings
 * @dm: model; NULL: none, so nothing is read in gaps
 * @sectors: of the disk
 * @bm: the map
 * @order: of idle reads
 * @ahead: the drive reads on behind an idle read, and answers from that
 * @longest: sectors of the longest idle read that there can be: it goes into a buffer of the
 *	module, whatever the policy would like
 * @bad: blocks that cannot be read
 * @lim: of every plan
 * @worth: for @lim
 * @probe: for @lim, when lifts are probed
 * @margin: for @lim, when the conservatism is learnt
 * @balanced_ns: when regions were weighed last
 * @guard: the guard; its memory is used only if @o->guard
 * @total: blocks at the beginning
 * @got: blocks read, those that were at the beginning among them
 * @begun: blocks that were read at the beginning
 * @part_ns: when each tenth of @total was done; 0: it is not
 * @gaps: searched
 * @tracks: searched
 * @most_tracks: the most in one search
 * @latency_ns: rotational latency of the gaps, sum
 * @slack_ns: slack of the plans, sum
 * @plans: gaps for which one was found
 * @leftovers: blocks read though they fit into no gap
 * @leftover: when to read such blocks
 * @paused: too many reads have failed, or taken seconds: nothing is read any more
 * @skipped: blocks given up: they cannot be read
 * @deliver: called with each block read, may be NULL ...
 * @deliver_to: ... and its first argument
 * @now_ns: for callbacks
 * @add_ns: when it will want another block; U64_MAX: never
 * @random: where
 */
struct simt {
	const struct simo *o;
	const struct disk_model *dm;
	u64 sectors;
	struct fb_bitmap bm;
	struct fb_idle_order order;
	bool ahead;
	u32 longest;
	struct fb_quarantine bad;
	struct fb_limits lim;
	struct fb_block_value worth;
	struct fb_lookahead probe;
	struct fb_conservatism margin;
	u64 balanced_ns;
	struct fb_guard guard;
	u64 total;
	u64 got;
	u64 begun;
	u64 part_ns[SIMT_PARTS];
	u64 gaps;
	u64 tracks;
	u64 most_tracks;
	u64 latency_ns;
	u64 slack_ns;
	u64 plans;
	u64 leftovers;
	struct fb_leftover leftover;
	bool paused;
	u64 skipped;
	void (*deliver)(void *to, u64 lbn, u32 nsect);
	void *deliver_to;
	u64 now_ns;
	u64 add_ns;
	u64 random;
};

/**
 * simt_init() - a task with everything still to be read
 * @t: out
 * @o: settings, kept
 * @dm: model, kept; NULL: none
 * @sectors: of the disk
 * @block: sectors in one of the drive's blocks
 * @ahead: the drive may read ahead
 *
 * Ends the program when range, granule or order do not fit the disk.
 */
void simt_init(struct simt *t, const struct simo *o, const struct disk_model *dm, u64 sectors,
	       u32 block, bool ahead);

/**
 * simt_save() - write what is left to the file that the settings name
 * @t: the task; what flies is left, too
 *
 * Ends the program when it cannot be written.
 */
void simt_save(const struct simt *t);

/**
 * simt_destroy() - free the map
 * @t: the task
 */
void simt_destroy(struct simt *t);

/**
 * simt_may_read() - are free reads to be planned?
 * @t: the task
 * @now_ns: the time
 *
 * Return: true: blocks are wanted, and the guard allows it.
 */
bool simt_may_read(struct simt *t, u64 now_ns);

/**
 * simt_add() - want another block, as its time has come
 * @t: the task
 */
void simt_add(struct simt *t);

/**
 * simt_over() - has everything been read?
 * @t: the task
 *
 * Return: true: a task there was, and nothing of it is left.
 */
bool simt_over(const struct simt *t);

/**
 * simt_settled() - note the value of the gap used last, and say what one is worth
 * @t: the task
 * @mail: the engine's gaps
 */
void simt_settled(struct simt *t, struct fb_gap_mail *mail);

/**
 * simt_search() - find what to read in a gap
 * @t: the task
 * @mail: the gap, taken (fb_gap_take()); its plan is published there, if there is one
 * @now_ns: the time
 */
void simt_search(struct simt *t, struct fb_gap_mail *mail, u64 now_ns);

/**
 * simt_ahead() - does the drive read ahead for idle reads?
 * @t: task
 *
 * Return: so.
 */
bool simt_ahead(const struct simt *t);

/**
 * simt_find_idle() - find what to read while the disk is idle
 * @t: the task
 * @ask: what it must comply with, but for what the task knows
 * @piece: out
 * @now_ns: the time
 *
 * Return: false: nothing.
 */
bool simt_find_idle(struct simt *t, struct fb_idle_order_ask *ask, struct fb_plan_piece *piece,
		    u64 now_ns);

/**
 * simt_take() - a read is sent
 * @t: the task
 * @lbn: first sector of its free part
 * @end: the one after the last
 * @now_ns: the time
 */
void simt_take(struct simt *t, u64 lbn, u64 end, u64 now_ns);

/**
 * simt_lost() - it was not carried out, or a write has overlapped it: its blocks are wanted again
 * @t: the task
 * @lbn: first sector of its free part
 * @end: the one after the last
 */
void simt_lost(struct simt *t, u64 lbn, u64 end);

/**
 * simt_ended() - it has come back
 * @t: the task
 * @read: its free part, and what came of it
 * @now_ns: the time
 */
void simt_ended(struct simt *t, const struct fb_quarantine_read *read, u64 now_ns);

/**
 * simt_block_bytes() - bytes of a block
 * @t: the task
 *
 * Return: bytes.
 */
u64 simt_block_bytes(const struct simt *t);

#endif /* SIM_TASK_H */
