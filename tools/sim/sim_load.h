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

/* A foreground request, or a read of the task's own */
struct siml_req {
	struct fb_engine_rq r;	/* the engine's part */
	u64 free_end;	/* at the drive: its free part is from its first sector to here */
	bool spoilt;	/* a foreground write overlaps the free part */
	bool busy;	/* a read of the task's own that is in use */
	u64 arrived_ns;	/* when it came */
	/* nothing is to be read before it in its gap: a command with it has failed */
	bool alone;
	bool fua;	/* a write with FUA */
	bool fsync;	/* a write that is followed by a flush */
	bool flush;	/* that flush; it is of no sectors */
	u32 tries;	/* how often it was not carried out */
	u32 process;	/* of the closed loop */
};

/* When a process sends its next request */
struct siml_wake {
	u64 ns;	/* then */
	u32 process;	/* which */
};

/* A seeded generator (splitmix64) */
struct siml_rnd {
	u64 state;	/* seed, then state */
};

/* The foreground; all private */
struct siml {
	const struct simo *o;	/* settings */
	u64 units;	/* capacity in units of @unit */
	u32 unit;	/* sectors that requests begin and end on */
	struct siml_rnd what;	/* draws requests */
	struct siml_rnd when;	/* draws times */
	/* the closed loop's processes that think, a heap by time */
	struct siml_wake wake[SIMO_PENDING_MAX];
	u32 thinking;	/* how many */
	u64 next_ns;	/* next of the arrivals at random */
	/* what the bursts' lengths are drawn from, before they are whole and bounded */
	double burst_least;
	u32 left;	/* of the burst that it belongs to, still to come */
	struct sim_trace trace;	/* all requests, if they were recorded ... */
	u32 traced;	/* ... and how many have come */
	u64 stream[SIMO_PENDING_MAX];	/* where each stream goes on */
	u64 cyl_first;	/* SIMO_CYLINDERS: first unit ... */
	u64 cyl_units;	/* ... and units of the band */
	struct siml_req req[SIMO_PENDING_MAX];	/* requests ... */
	struct siml_req *free[SIMO_PENDING_MAX];	/* ... and those not in use */
	u32 n_free;	/* how many */
};

/*
 * The foreground at time 0. Ends the program when the disk is too small for the requests, or they
 * are not whole blocks. @dm: model; NULL: there is none, and no requests within cylinders
 */
void siml_init(struct siml *l, const struct simo *o, const struct disk_model *dm, u64 sectors,
	       u32 block);

/* When the next request comes. Returns SIML_NEVER: not before one in the system has ended */
u64 siml_next_ns(const struct siml *l);

/*
 * The next request comes, now. Returns the request, without a place. Ends the program when too
 * many wait. @l: the foreground; siml_next_ns() is not SIML_NEVER
 */
struct siml_req *siml_arrive(struct siml *l);

/* The longest request there can be */
u32 siml_longest(const struct siml *l);

/* May a request be a write? */
bool siml_writes(const struct siml *l);

/* Is a trace at its end, and all its requests, too? Returns true if so; never without a trace */
bool siml_over(const struct siml *l);

/* How much of a trace has come. Returns 0 to 1; 0 without a trace */
double siml_share_done(const struct siml *l);

/* Free the trace */
void siml_destroy(struct siml *l);

/* A request has ended. @req: the request; not to be used any more */
void siml_done(struct siml *l, struct siml_req *req, u64 now_ns);

#endif /* SIM_LOAD_H */
