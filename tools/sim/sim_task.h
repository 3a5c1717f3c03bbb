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

/* The task */
struct simt {
	const struct simo *o;	/* settings */
	const struct disk_model *dm;	/* model; NULL: none, so nothing is read in gaps */
	u64 sectors;	/* of the disk */
	struct fb_bitmap bm;	/* the map */
	struct fb_idle_order order;	/* of idle reads */
	bool ahead;	/* the drive reads on behind an idle read, and answers from that */
	/*
	 * sectors of the longest idle read that there can be: it goes into a buffer of the
	 * module, whatever the policy would like
	 */
	u32 longest;
	struct fb_quarantine bad;	/* blocks that cannot be read */
	struct fb_limits lim;	/* of every plan */
	struct fb_block_value worth;	/* for @lim */
	struct fb_lookahead probe;	/* for @lim, when lifts are probed */
	struct fb_conservatism margin;	/* for @lim, when the conservatism is learnt */
	u64 balanced_ns;	/* when regions were weighed last */
	struct fb_guard guard;	/* the guard; its memory is used only if @o->guard */
	u64 total;	/* blocks at the beginning */
	u64 got;	/* blocks read, those that were at the beginning among them */
	u64 begun;	/* blocks that were read at the beginning */
	u64 part_ns[SIMT_PARTS];	/* when each tenth of @total was done; 0: it is not */
	u64 gaps;	/* searched */
	u64 tracks;	/* searched */
	u64 most_tracks;	/* the most in one search */
	u64 latency_ns;	/* rotational latency of the gaps, sum */
	u64 slack_ns;	/* slack of the plans, sum */
	u64 plans;	/* gaps for which one was found */
	u64 leftovers;	/* blocks read though they fit into no gap */
	struct fb_leftover leftover;	/* when to read such blocks */
	bool paused;	/* too many reads have failed, or taken seconds: nothing is read any more */
	u64 skipped;	/* blocks given up: they cannot be read */
	/* called with each block read, may be NULL ... */
	void (*deliver)(void *to, u64 lbn, u32 nsect);
	void *deliver_to;	/* ... and its first argument */
	u64 now_ns;	/* for callbacks */
	u64 add_ns;	/* when it will want another block; U64_MAX: never */
	u64 random;	/* where */
};

/*
 * A task with everything still to be read. Ends the program when range, granule or order do not
 * fit the disk. @dm: model, kept; NULL: none
 */
void simt_init(struct simt *t, const struct simo *o, const struct disk_model *dm, u64 sectors,
	       u32 block, bool ahead);

/*
 * Write what is left to the file that the settings name. Ends the program when it cannot be
 * written. @t: the task; what flies is left, too
 */
void simt_save(const struct simt *t);

/* Free the map */
void simt_destroy(struct simt *t);

/* Are free reads to be planned? Returns true: blocks are wanted, and the guard allows it */
bool simt_may_read(struct simt *t, u64 now_ns);

/* Want another block, as its time has come */
void simt_add(struct simt *t);

/* Has everything been read? Returns true: a task there was, and nothing of it is left */
bool simt_over(const struct simt *t);

/* Note the value of the gap used last, and say what one is worth */
void simt_settled(struct simt *t, struct fb_gap_mail *mail);

/*
 * Find what to read in a gap. @mail: the gap, taken (fb_gap_take()); its plan is published there,
 * if there is one
 */
void simt_search(struct simt *t, struct fb_gap_mail *mail, u64 now_ns);

/* Does the drive read ahead for idle reads? */
bool simt_ahead(const struct simt *t);

/*
 * Find what to read while the disk is idle. Returns false: nothing. @ask: what it must comply
 * with, but for what the task knows
 */
bool simt_find_idle(struct simt *t, struct fb_idle_order_ask *ask, struct fb_plan_piece *piece,
		    u64 now_ns);

/* A read is sent */
void simt_take(struct simt *t, u64 lbn, u64 end, u64 now_ns);

/* It was not carried out, or a write has overlapped it: its blocks are wanted again */
void simt_lost(struct simt *t, u64 lbn, u64 end);

/* It has come back. @read: its free part, and what came of it */
void simt_ended(struct simt *t, const struct fb_quarantine_read *read, u64 now_ns);

/* Bytes of a block */
u64 simt_block_bytes(const struct simt *t);

#endif /* SIM_TASK_H */
