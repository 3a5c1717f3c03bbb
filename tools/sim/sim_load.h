/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The foreground: who asks for what, and when (freeblock paper, 5.1).
 *
 * A closed loop of processes that each wait for their request, think, and send
 * another; or arrivals at random, however many requests wait already.
 */
#ifndef SIM_LOAD_H
#define SIM_LOAD_H

#include "../../fg_policy.h"
#include "sim_opts.h"

#define SIML_NEVER U64_MAX

/**
 * struct siml_req - a foreground request
 * @fg: its place in the pool
 * @arrived_ns: when it came
 * @after_free: a separate free read goes before it in its gap
 * @process: of the closed loop
 */
struct siml_req {
	struct fg_req fg;
	u64 arrived_ns;
	bool after_free;
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
 * @dm: model
 *
 * Ends the program when the disk is too small for the requests.
 */
void siml_init(struct siml *l, const struct simo *o, const struct disk_model *dm);

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
 * siml_done() - a request has ended
 * @l: the foreground
 * @req: the request; not to be used any more
 * @now_ns: the time
 */
void siml_done(struct siml *l, struct siml_req *req, u64 now_ns);

#endif /* SIM_LOAD_H */
