/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The foreground: who asks for what, and when (freeblock paper, 5.1).
 *
 * A closed loop of processes that each wait for their request, think, and send
 * another; or arrivals at random, or as recorded, however many requests wait already.
 */
#ifndef SIM_LOAD_H
#define SIM_LOAD_H

#include "core/engine/engine.h"
#include "sim_opts.h"
#include "sim_trace.h"

#define SIML_NEVER U64_MAX

/**
 * struct siml_req - a foreground request, or a read of the task's own
 * @r: the engine's part
 * @free_end: at the drive: its free part is from its first sector to here
 * @spoilt: a foreground write overlaps the free part
 * @busy: a read of the task's own that is in use
 * @arrived_ns: when it came
 * @alone: nothing is to be read before it in its gap: a command with it has failed
 * @fua: a write with FUA
 * @fsync: a write that is followed by a flush
 * @flush: that flush; it is of no sectors
 * @tries: how often it was not carried out
 * @process: of the closed loop
 */
struct siml_req {
	struct fb_engine_rq r;
	u64 free_end;
	bool spoilt;
	bool busy;
	u64 arrived_ns;
	bool alone;
	bool fua;
	bool fsync;
	bool flush;
	u32 tries;
	u32 process;
};

/**
 * struct siml_wake - when a process sends its next request
 * @ns: then
 * @process: which
 */
struct siml_wake {
	u64 ns;
	u32 process;
};

/**
 * struct siml_rnd - a seeded generator (splitmix64)
 * @state: seed, then state
 */
struct siml_rnd {
	u64 state;
};

/**
 * struct siml - the foreground; all private
 * @o: settings
 * @units: capacity in units of @unit
 * @unit: sectors that requests begin and end on
 * @what: draws requests
 * @when: draws times
 * @wake: the closed loop's processes that think, a heap by time
 * @thinking: how many
 * @next_ns: next of the arrivals at random
 * @burst_least: what the bursts' lengths are drawn from, before they are whole and bounded
 * @left: of the burst that it belongs to, still to come
 * @trace: all requests, if they were recorded ...
 * @traced: ... and how many have come
 * @stream: where each stream goes on
 * @cyl_first: SIMO_CYLINDERS: first unit ...
 * @cyl_units: ... and units of the band
 * @req: requests ...
 * @free: ... and those not in use
 * @n_free: how many
 */
struct siml {
	const struct simo *o;
	u64 units;
	u32 unit;
	struct siml_rnd what;
	struct siml_rnd when;
	struct siml_wake wake[SIMO_PENDING_MAX];
	u32 thinking;
	u64 next_ns;
	double burst_least;
	u32 left;
	struct sim_trace trace;
	u32 traced;
	u64 stream[SIMO_PENDING_MAX];
	u64 cyl_first;
	u64 cyl_units;
	struct siml_req req[SIMO_PENDING_MAX];
	struct siml_req *free[SIMO_PENDING_MAX];
	u32 n_free;
};

/**
 * siml_init() - the foreground at time 0
 * @l: out
 * @o: settings, kept
 * @dm: model; NULL: there is none, and no requests within cylinders
 * @sectors: of the disk
 * @block: sectors in one of the drive's blocks
 *
 * Ends the program when the disk is too small for the requests, or they are not whole blocks.
 */
void siml_init(struct siml *l, const struct simo *o, const struct disk_model *dm, u64 sectors,
	       u32 block);

/**
 * siml_next_ns() - when the next request comes
 * @l: the foreground
 *
 * Return: SIML_NEVER: not before one in the system has ended.
 */
u64 siml_next_ns(const struct siml *l);

/**
 * siml_arrive() - the next request comes, now
 * @l: the foreground; siml_next_ns() is not SIML_NEVER
 *
 * Return: the request, without a place. Ends the program when too many wait.
 */
struct siml_req *siml_arrive(struct siml *l);

/**
 * siml_longest() - the longest request there can be
 * @l: the foreground
 *
 * Return: sectors.
 */
u32 siml_longest(const struct siml *l);

/**
 * siml_writes() - may a request be a write?
 * @l: the foreground
 *
 * Return: true if so.
 */
bool siml_writes(const struct siml *l);

/**
 * siml_over() - is a trace at its end, and all its requests, too?
 * @l: the foreground
 *
 * Return: true if so; never without a trace.
 */
bool siml_over(const struct siml *l);

/**
 * siml_share_done() - how much of a trace has come
 * @l: the foreground
 *
 * Return: 0 to 1; 0 without a trace.
 */
double siml_share_done(const struct siml *l);

/**
 * siml_destroy() - free the trace
 * @l: the foreground
 */
void siml_destroy(struct siml *l);

/**
 * siml_done() - a request has ended
 * @l: the foreground
 * @req: the request; not to be used any more
 * @now_ns: the time
 */
void siml_done(struct siml *l, struct siml_req *req, u64 now_ns);

#endif /* SIM_LOAD_H */
