/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a simulated drive does next: which commands may start, which one the
 * firmware prefers.  Part of the engine; the same rules apply.
 */
#ifndef MECHDISK_QUEUE_H
#define MECHDISK_QUEUE_H

#include "mechdisk_state.h"

/**
 * struct mdq_job - something for the drive to do
 * @slot: a command, or NULL
 * @segment: cached data to be written, or NULL
 */
struct mdq_job {
	struct mde_slot *slot;
	struct mdb_segment *segment;
};

/**
 * mdq_data_ready() - when the head may begin to write some sectors of a write
 * @e: the drive
 * @bus_start: the write's data begin to arrive, ps
 * @from: sectors of it that come first
 * @n: how many are to be written now
 * @all: how many there are in all
 * @sector_ps: time that one takes to pass, ps
 *
 * No sector may pass before its data have come.
 *
 * Return: picoseconds since power-on.
 */
u64 mdq_data_ready(const struct mde *e, u64 bus_start, u32 from, u32 n, u32 all,
		   u64 sector_ps);

/**
 * mdq_position_ps() - what a piece costs from @t on, without noise
 * @e: the drive
 * @p: the piece
 * @t: when, ps
 * @write: direction
 * @bus_start: a write's data begin to arrive, ps
 * @best: any cost above that will do if it is one
 *
 * Return: the time until it has passed, less the time it takes to pass, ps.
 */
u64 mdq_position_ps(const struct mde *e, const struct mdl_piece *p, u64 t,
		    bool write, u64 bus_start, u64 best);

/**
 * mdq_cacheable() - whether a command is a write that need not reach the medium
 *	before its report
 * @e: the drive
 * @s: the command
 */
bool mdq_cacheable(const struct mde *e, const struct mde_slot *s);

/**
 * mdq_answer() - the segment that can answer a command's first sectors
 * @e: the drive
 * @s: the command
 *
 * Return: the segment, or NULL.
 */
struct mdb_segment *mdq_answer(struct mde *e, const struct mde_slot *s);

/**
 * mdq_answered() - whether the cache can answer a command
 * @e: the drive
 * @s: the command
 */
bool mdq_answered(struct mde *e, const struct mde_slot *s);

/**
 * mdq_needs_medium() - whether a command has to wait for the head
 * @e: the drive
 * @s: the command
 */
bool mdq_needs_medium(struct mde *e, struct mde_slot *s);

/**
 * mdq_room() - whether there is room for a cacheable write
 * @e: the drive
 * @s: the write
 * @into: out: the segment it joins; NULL: a new one
 */
bool mdq_room(struct mde *e, const struct mde_slot *s, struct mdb_segment **into);

/**
 * mdq_blocked() - whether a command must wait until cached data are on the medium
 * @e: the drive
 * @s: the command
 */
bool mdq_blocked(struct mde *e, const struct mde_slot *s);

/**
 * mdq_barrier() - when the commands have ended that one must not run beside
 * @e: the drive
 * @s: the command
 *
 * Return: ps; MDE_NEVER while one of them has yet to start.
 */
u64 mdq_barrier(const struct mde *e, const struct mde_slot *s);

/**
 * mdq_next_start() - when the next job can start
 * @e: the drive
 *
 * Return: ps; MDE_NEVER if there is none.
 */
u64 mdq_next_start(struct mde *e);

/**
 * mdq_next_immediate() - when the next command can start that needs no medium
 * @e: the drive
 *
 * Return: ps; MDE_NEVER if there is none.
 */
u64 mdq_next_immediate(struct mde *e);

/**
 * mdq_runs_alone() - whether a command is one that NCQ does not queue
 * @s: the command
 */
bool mdq_runs_alone(const struct mde_slot *s);

/**
 * mdq_choose() - the job to start
 * @e: the drive
 * @t: now, ps
 * @chosen: out: one of those the drive has understood by then
 */
void mdq_choose(struct mde *e, u64 t, struct mdq_job *chosen);

#endif /* MECHDISK_QUEUE_H */
