/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Foregrounds for the tests of the controlled trial: queues whose added cost is known.
 */
#ifndef TRIAL_LOAD_H
#define TRIAL_LOAD_H

#include "core/cost/cost.h"
#include "support.h"

#define LOAD_MOST 64		/* requests in the system */
#define MS 1000000ULL
#define SEC 1000000000ULL

/* a foreground, and what serves it */
struct load {
	/* what is told of the requests; free reads cost when it allows any */
	struct fb_cost *cost;
	struct rnd r;	/* random numbers */
	u64 gap_ns;	/* mean time between arrivals, or between bursts; 0: a closed loop */
	bool regular;	/* arrivals come at whole multiples of @gap_ns */
	u32 burst;	/* requests that arrive at once */
	u32 processes;	/* of the closed loop, which do not think */
	/* one server, first come first served; else each request is served by itself */
	bool server;
	u64 took_ns;	/* mean of the service times, which are exponential */
	u64 added_ns;	/* added to a service while any free read is allowed */
	u64 gaps_ns;	/* added to a service while reads in gaps are */
	u64 lingers_ns;	/* and so long after that: the drive's cache has lost its streams */
	u64 allowed_ns;	/* when a free read was allowed last */
	u64 now_ns;	/* the time */
	u64 next_ns;	/* the next arrival */
	/* when requests end; 0: no such request. One that waits for the server: U64_MAX */
	u64 end_ns[LOAD_MOST];
	enum fb_trial_kind kind[LOAD_MOST];	/* of the requests */
	u64 at_ns[LOAD_MOST];	/* when they arrived */
	/* what is added to a service, is added to one of so many that much longer; 0: to each */
	u32 rare;
};

/**
 * load_run() - let time go on
 * @l: the foreground; what is 0 at first begins at time 0
 * @until_ns: until then
 */
void load_run(struct load *l, u64 until_ns);

/**
 * load_may() - get which free reads may be sent now, with a block that has ended judged at once
 * @l: the foreground
 *
 * Return: as fb_cost_may().
 */
u32 load_may(struct load *l);

#endif /* TRIAL_LOAD_H */
