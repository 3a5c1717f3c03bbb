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

/* Who chooses the next command, in the closed loop. */
enum mdh_where { MDH_DISK, MDH_DRIVER };

/* How: the drive's own policies, and one that only `queue` has. */
enum mdh_policy {
	MDH_FCFS = MDE_FCFS,
	MDH_SPTF = MDE_SPTF,
	MDH_CLOOK = MDE_CLOOK,
	MDH_SSTF = MDE_SSTF,
	MDH_LOOK
};

/* The engine counts ps in 64 bits; beyond half of them, 106 days, is no need. */
#define MDH_CLOCK_NS (U64_MAX / 2000)

/**
 * struct mdh_drive - a drive under the program's hands
 * @cfg: what it is
 * @mde: the drive itself
 * @now: its clock, ns
 * @began: told of each command whose mechanics began, in the order of service,
 *	or NULL
 * @private: for @began
 */
struct mdh_drive {
	struct mde_config cfg;
	struct mde mde;
	u64 now;
	void (*began)(struct mdh_drive *d, const struct mde_slot *s);
	void *private;
};

/**
 * struct mdh_options - the command line
 * @drive: file with the description
 * @text: lines appended to the description
 * @details: replay prints more columns, queue a line for each request
 * @where: who chooses, in the closed loop
 * @policy: how
 * @policy_given: @policy was given; otherwise a drive that chooses does so by its own
 * @as_disksim: the driver believes of the platter what DiskSim's does
 * @depth: commands outstanding or thought about
 * @think_ns: from a completion to the command that follows it
 * @requests: commands to complete
 * @seed: of the closed loop's workload
 * @seeded: @seed was given
 * @host_ns: probe: what the host needs between a command's end and the next one
 * @host_jitter_ns: probe: the host learns of an end up to so much later
 * @closed: queue: a request does not come before the one before has been served
 * @binary: queue: requests are binary records
 * @skip: queue: so many requests are served before counting begins
 */
struct mdh_options {
	const char *drive;
	char text[4096];
	bool details;
	enum mdh_where where;
	enum mdh_policy policy;
	bool policy_given;
	bool as_disksim;
	u64 depth;
	u64 think_ns;
	u64 requests;
	u64 seed;
	bool seeded;
	u64 host_ns;
	u64 host_jitter_ns;
	bool closed;
	bool binary;
	u64 skip;
};

/**
 * struct mdh_line - a command as a line of standard input gives it
 * @op: what to do
 * @lbn: first LBN
 * @count: LBNs
 * @ns: the line's time; of what, the subcommand says
 */
struct mdh_line {
	enum mde_op op;
	u64 lbn;
	u64 count;
	u64 ns;
};

/**
 * mdh_die() - say what is wrong and end the program with status 1
 * @format: as in printf()
 */
noreturn void __printf(1, 2) mdh_die(const char *format, ...);

/**
 * mdh_set_policy() - let the drive choose by the command line's policy
 * @options: the lines to append get one more
 */
void mdh_set_policy(struct mdh_options *options);

/**
 * mdh_set_seed() - let the drive's angle, noise and jitter be those of --seed
 * @options: the lines to append get one more
 */
void mdh_set_seed(struct mdh_options *options);

/**
 * mdh_open() - power a drive on at time 0
 * @options: the file and the lines to append to it
 *
 * Return: the drive; the program ends if the description is refused.
 */
struct mdh_drive *mdh_open(const struct mdh_options *options);

/**
 * mdh_close() - release a drive
 * @d: the drive
 */
void mdh_close(struct mdh_drive *d);

/**
 * mdh_submit() - hand the drive a command now
 * @d: the drive, with a free slot
 * @op: what to do
 * @lbn: first LBN
 * @count: LBNs
 * @flags: MDE_FUA or 0
 *
 * Return: the slot it occupies.
 */
int mdh_submit(struct mdh_drive *d, enum mde_op op, u64 lbn, u32 count, u32 flags);

/**
 * mdh_wait() - let the drive live until its next report
 * @d: the drive; its clock is set to the report
 * @until: but not longer than this, ns
 *
 * Return: the slot reported, still to be released, or -1 if it is @until.
 */
int mdh_wait(struct mdh_drive *d, u64 until);

/**
 * mdh_replay() - commands from standard input, one after the other
 * @options: the command line
 *
 * Return: the program's exit status.
 */
int mdh_replay(const struct mdh_options *options);

/**
 * mdh_read_line() - the next command of standard input
 * @d: the drive
 * @number: lines read so far
 * @l: set to the command
 *
 * The program ends if a line is no command for the drive.
 *
 * Return: false at the end of the input.
 */
bool mdh_read_line(const struct mdh_drive *d, unsigned int *number,
		   struct mdh_line *l);

/**
 * mdh_check_line() - whether a drive can be given a command
 * @d: the drive
 * @l: the command
 *
 * Return: NULL, or what is wrong with it.
 */
const char *mdh_check_line(const struct mdh_drive *d, const struct mdh_line *l);

/**
 * mdh_kind_name() - a command's kind in words
 * @kind: the kind
 *
 * Return: read_hit, read_miss, write_hit or write_miss.
 */
const char *mdh_kind_name(enum mde_kind kind);

/**
 * mdh_queue() - commands of standard input that wait in the driver's queue
 * @options: the command line
 *
 * Return: the program's exit status.
 */
int mdh_queue(const struct mdh_options *options);

/**
 * mdh_locate() - where the LBNs on standard input live
 * @options: the command line
 *
 * Return: the program's exit status.
 */
int mdh_locate(const struct mdh_options *options);

/**
 * mdh_info() - what the program's callers must know of a drive
 * @options: the command line
 *
 * Return: the program's exit status.
 */
int mdh_info(const struct mdh_options *options);

/**
 * mdh_loop() - print what a closed loop came to
 * @options: the command line
 *
 * Return: the program's exit status.
 */
int mdh_loop(const struct mdh_options *options);

/**
 * mdh_probe() - time commands for freeblock extract
 * @options: the command line
 *
 * tools/probe/probe_protocol.h says how.
 *
 * Return: the program's exit status.
 */
int mdh_probe(const struct mdh_options *options);

#endif /* MECHDISK_HOST_H */
