/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The drive behind a door. Two are there: the simulated one (sim_drive.c: mechdisk's shim
 * and the core's both define the kernel's names, so no file may include both), and a real
 * one behind /dev/sgX (tools/sg/sg_drive.c). Include one of the shims before this.
 *
 * Sectors are of 512 bytes here, whatever the drive's blocks; times are nanoseconds
 * since power-on, or since a real drive was opened.
 */
#ifndef SIM_DRIVE_H
#define SIM_DRIVE_H

#define SIM_DRIVE_SLOTS 32	/* commands it can hold */

struct sim_drive;

/**
 * struct sim_drive_info - what a host can ask it
 * @sectors: capacity
 * @block: sectors in one of its blocks; commands are multiples of it
 * @queue: commands that a host may queue, at most SIM_DRIVE_SLOTS
 * @host_ns: what the host takes to choose and search, at most; 0 if time is simulated
 * @look_ahead_off: it says that it does not read ahead (MODE SENSE, caching page: DRA)
 * @verify: it can be told to verify
 * @write_cache: it reports writes before they are on the medium (MODE SENSE: WCE)
 */
struct sim_drive_info {
	u64 sectors;
	u32 block;
	u32 queue;
	u64 host_ns;
	bool look_ahead_off;
	bool verify;
	bool write_cache;
};

/**
 * enum sim_drive_op - what a command does
 * @SIM_DRIVE_READ: it reads
 * @SIM_DRIVE_WRITE: it writes
 * @SIM_DRIVE_VERIFY: it reads from the medium, and transfers nothing; if the drive can
 * @SIM_DRIVE_FUA: it writes, and ends when the data are on the medium; if there is a write cache
 * @SIM_DRIVE_FLUSH: it ends when all that was written is on the medium; likewise. No sectors
 */
enum sim_drive_op {
	SIM_DRIVE_READ,
	SIM_DRIVE_WRITE,
	SIM_DRIVE_VERIFY,
	SIM_DRIVE_FUA,
	SIM_DRIVE_FLUSH,
};

/**
 * enum sim_drive_outcome - how a command ended
 * @SIM_DRIVE_GOOD: well
 * @SIM_DRIVE_MEDIUM: a sector cannot be read or written
 * @SIM_DRIVE_AGAIN: not carried out, through no fault of the medium; real drives only
 */
enum sim_drive_outcome { SIM_DRIVE_GOOD, SIM_DRIVE_MEDIUM, SIM_DRIVE_AGAIN };

/**
 * struct sim_drive_done - a completion
 * @slot: as returned by sim_drive_submit()
 * @report_ns: when it is reported
 * @outcome: how it ended
 * @bad: SIM_DRIVE_MEDIUM: the sector; all before it went well. U64_MAX: unknown
 */
struct sim_drive_done {
	int slot;
	u64 report_ns;
	enum sim_drive_outcome outcome;
	u64 bad;
};

/**
 * struct sim_drive_stats - what a host cannot see
 * @busy_ns: the medium was at work, reading ahead apart
 * @seek_ns: of that: seeks, head switches, settles
 * @rotate_ns: of that: waiting for sectors
 * @transfer_ns: of that: transferring
 * @extra_turns: commands that took most of a turn longer than without noise
 * @read_hits: reads that the cache answered
 * @inside: all of it is known; else only @busy_ns, which is then the time with commands
 */
struct sim_drive_stats {
	bool inside;
	u64 busy_ns;
	u64 seek_ns;
	u64 rotate_ns;
	u64 transfer_ns;
	u64 extra_turns;
	u64 read_hits;
};

/**
 * sim_drive_open() - power a drive on
 * @path: its .fbdrive text
 * @lines: further lines, which override those of the text; each ends in a newline
 * @noise: "off", "laplace", "gauss", one of the latter two with ":" and a standard
 *	deviation in microseconds, or "": as the text says
 * @seed: of angle, noise and jitter
 *
 * Return: the drive; ends the program when the text is missing or refused.
 */
struct sim_drive *sim_drive_open(const char *path, const char *lines, const char *noise,
				 u64 seed);

/**
 * sim_drive_close() - power it off and free it
 * @d: the drive
 */
void sim_drive_close(struct sim_drive *d);

/**
 * sim_drive_info() - what it is
 * @d: the drive
 * @info: out
 */
void sim_drive_info(const struct sim_drive *d, struct sim_drive_info *info);

/**
 * sim_drive_now() - the time
 * @d: the drive
 * @now_ns: that of the event being dealt with
 *
 * Return: @now_ns if the drive is simulated, for thinking takes no time there; else the
 * clock's.
 */
u64 sim_drive_now(const struct sim_drive *d, u64 now_ns);

/**
 * sim_drive_submit() - hand it a command
 * @d: the drive
 * @now_ns: the time
 * @op: what to do
 * @lbn: first sector, a multiple of its block, as is
 * @nsect: sectors
 *
 * Return: its slot, 0 .. SIM_DRIVE_SLOTS - 1; a command that is cut through a block, or
 * one too many, ends the program.
 */
int sim_drive_submit(struct sim_drive *d, u64 now_ns, enum sim_drive_op op, u64 lbn, u32 nsect);

/**
 * sim_drive_wait() - let the drive live until it reports something
 * @d: the drive
 * @until_ns: but not beyond this
 * @done: out: the completion; its slot is free again
 *
 * Return: false: nothing is reported by @until_ns, or a real drive's host is to end.
 */
bool sim_drive_wait(struct sim_drive *d, u64 until_ns, struct sim_drive_done *done);

/**
 * sim_drive_stats() - what it has done since power-on
 * @d: the drive
 * @stats: out
 */
void sim_drive_stats(const struct sim_drive *d, struct sim_drive_stats *stats);

#endif /* SIM_DRIVE_H */
