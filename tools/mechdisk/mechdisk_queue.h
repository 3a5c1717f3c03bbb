/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a simulated drive does next: which commands may start, which one the
 * firmware prefers.  Part of the engine; the same rules apply.
 */
#ifndef MECHDISK_QUEUE_H
#define MECHDISK_QUEUE_H

#include "mechdisk_state.h"

/* Something for the drive to do. */
struct mdq_job {
	struct mde_slot *slot;	/* a command, or NULL */
	struct mdb_segment *segment;	/* cached data to be written, or NULL */
};

/*
 * When the head may begin to write some sectors of a write. No sector may pass before its data
 * have come. Returns picoseconds since power-on. @bus_start: the write's data begin to arrive,
 * ps. @from: sectors of it that come first. @n: how many are to be written now. @all: how many
 * there are in all. @sector_ps: time that one takes to pass, ps.
 */
u64 mdq_data_ready(const struct mde *e, u64 bus_start, u32 from, u32 n, u32 all,
		   u64 sector_ps);

/*
 * What a piece costs from @t on, without noise. Returns the time until it has passed, less the
 * time it takes to pass, ps. @bus_start: a write's data begin to arrive, ps. @best: any cost
 * above that will do if it is one.
 */
u64 mdq_position_ps(const struct mde *e, const struct mdl_piece *p, u64 t,
		    bool write, u64 bus_start, u64 best);

/* Whether a command is a write that need not reach the medium before its report. */
bool mdq_cacheable(const struct mde *e, const struct mde_slot *s);

/* The segment that can answer a command's first sectors. Returns the segment, or NULL. */
struct mdb_segment *mdq_answer(struct mde *e, const struct mde_slot *s);

/* Whether the cache can answer a command. */
bool mdq_answered(struct mde *e, const struct mde_slot *s);

/* Whether a command has to wait for the head. */
bool mdq_needs_medium(struct mde *e, struct mde_slot *s);

/* Whether there is room for a cacheable write. @into: out: the segment it joins; NULL: a new one */
bool mdq_room(struct mde *e, const struct mde_slot *s, struct mdb_segment **into);

/* Whether a command must wait until cached data are on the medium. */
bool mdq_blocked(struct mde *e, const struct mde_slot *s);

/*
 * When the commands have ended that one must not run beside. Returns ps; MDE_NEVER while one of
 * them has yet to start.
 */
u64 mdq_barrier(const struct mde *e, const struct mde_slot *s);

/* When the next job can start. Returns ps; MDE_NEVER if there is none. */
u64 mdq_next_start(struct mde *e);

/* When the next command can start that needs no medium. Returns ps; MDE_NEVER if there is none. */
u64 mdq_next_immediate(struct mde *e);

/* Whether a command is one that NCQ does not queue. */
bool mdq_runs_alone(const struct mde_slot *s);

/* The job to start. @t: now, ps. @chosen: out: one of those the drive has understood by then. */
void mdq_choose(struct mde *e, u64 t, struct mdq_job *chosen);

#endif /* MECHDISK_QUEUE_H */
