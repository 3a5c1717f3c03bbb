/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The simulated drive's engine in a user-space program, in simulated time.
 *
 * What a drive needs to be driven by hand: opened from its description, given
 * commands, waited for.  The subcommands are in host_replay.c, host_queue.c,
 * host_loop.c and host_probe.c; host.c parses the command line.
 */
#ifndef MECHDISK_HOST_H
#define MECHDISK_HOST_H

#include <stdnoreturn.h>

#include "../mechdisk_engine.h"
#include "../mechdisk_text.h"

/* How the next command is chosen: the drive's own policies, and one that only `queue` has. */
enum mdh_policy {
	MDH_FCFS = MDE_FCFS,
	MDH_SPTF = MDE_SPTF,
	MDH_CLOOK = MDE_CLOOK,
	MDH_SSTF = MDE_SSTF,
	MDH_LOOK
};

/* The engine counts ps in 64 bits; beyond half of them, 106 days, is no need. */
#define MDH_CLOCK_NS (U64_MAX / 2000)

/* A drive under the program's hands. */
struct mdh_drive {
	struct mde_config cfg;	/* what it is */
	struct mde mde;	/* the drive itself */
	u64 now;	/* its clock, ns */
	/* told of each command whose mechanics began, in the order of service, or NULL */
	void (*began)(struct mdh_drive *d, const struct mde_slot *s);
	void *private;	/* for @began */
};

/* The command line. */
struct mdh_options {
	const char *drive;	/* file with the description */
	char text[4096];	/* lines appended to the description */
	bool details;	/* queue prints a line for each request */
	enum mdh_policy policy;	/* how the next command is chosen */
	bool policy_given;	/* otherwise the closed loop's drive chooses by its own */
	u64 depth;	/* commands outstanding or thought about */
	u64 think_ns;	/* from a completion to the command that follows it */
	u64 requests;	/* commands to complete */
	u64 seed;	/* of the closed loop's workload */
	bool seeded;	/* @seed was given */
	u64 host_ns;	/* probe: what the host needs between a command's end and the next one */
	u64 host_jitter_ns;	/* probe: the host learns of an end up to so much later */
	bool closed;	/* queue: a request does not come before the one before has been served */
	u64 skip;	/* queue: so many requests are served before counting begins */
};

/* A command as a line of standard input gives it. */
struct mdh_line {
	enum mde_op op;	/* what to do */
	u64 lbn;	/* first LBN */
	u64 count;	/* LBNs */
	u64 ns;	/* the line's time; of what, the subcommand says */
};

/* Say what is wrong and end the program with status 1. */
noreturn void __printf(1, 2) mdh_die(const char *format, ...);

/* Let the drive choose by the command line's policy. @options: the lines to append get one more. */
void mdh_set_policy(struct mdh_options *options);

/*
 * Let the drive's angle, noise and jitter be those of --seed. @options: the lines to append get
 * one more.
 */
void mdh_set_seed(struct mdh_options *options);

/*
 * Power a drive on at time 0. Returns the drive; the program ends if the description is refused.
 * @options: the file and the lines to append to it.
 */
struct mdh_drive *mdh_open(const struct mdh_options *options);

/* Release a drive. */
void mdh_close(struct mdh_drive *d);

/* Hand the drive a command now. Returns the slot it occupies. */
int mdh_submit(struct mdh_drive *d, enum mde_op op, u64 lbn, u32 count, u32 flags);

/*
 * Let the drive live until its next report. Returns the slot reported, still to be released, or
 * -1 if it is @until. @d: the drive; its clock is set to the report. @until: but not longer than
 * this, ns.
 */
int mdh_wait(struct mdh_drive *d, u64 until);

/* Commands from standard input, one after the other. */
int mdh_replay(const struct mdh_options *options);

/*
 * The next command of standard input. The program ends if a line is no command for the drive.
 * Returns false at the end of the input.
 */
bool mdh_read_line(const struct mdh_drive *d, unsigned int *number,
		   struct mdh_line *l);

/* Commands of standard input that wait in the driver's queue. */
int mdh_queue(const struct mdh_options *options);

/* Where the LBNs on standard input live. */
int mdh_locate(const struct mdh_options *options);

/* How long moves over the cylinders on standard input take. */
int mdh_moves(const struct mdh_options *options);

/* What the program's callers must know of a drive. */
int mdh_info(const struct mdh_options *options);

/* Print what a closed loop came to. */
int mdh_loop(const struct mdh_options *options);

/* Time commands for freeblock extract. tools/probe/probe_protocol.h says how. */
int mdh_probe(const struct mdh_options *options);

#endif /* MECHDISK_HOST_H */
