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

/* What a host can ask it */
struct sim_drive_info {
	u64 sectors;	/* capacity */
	u32 block;	/* sectors in one of its blocks; commands are multiples of it */
	u32 queue;	/* commands that a host may queue, at most SIM_DRIVE_SLOTS */
	/* what the host takes to choose and search, at most; 0 if time is simulated */
	u64 host_ns;
	/* it says that it does not read ahead (MODE SENSE, caching page: DRA) */
	bool look_ahead_off;
	bool verify;	/* it can be told to verify */
	/* it reports writes before they are on the medium (MODE SENSE: WCE) */
	bool write_cache;
};

/* What a command does */
enum sim_drive_op {
	SIM_DRIVE_READ,	/* it reads */
	SIM_DRIVE_WRITE,	/* it writes */
	/* it reads from the medium, and transfers nothing; if the drive can */
	SIM_DRIVE_VERIFY,
	/* it writes, and ends when the data are on the medium; if there is a write cache */
	SIM_DRIVE_FUA,
	/* it ends when all that was written is on the medium; likewise. No sectors */
	SIM_DRIVE_FLUSH,
};

/**
 * enum sim_drive_outcome - how a command ended
 * @SIM_DRIVE_GOOD: well
 * @SIM_DRIVE_MEDIUM: a sector cannot be read or written
 * @SIM_DRIVE_AGAIN: not carried out, through no fault of the medium; real drives only
 */
enum sim_drive_outcome { SIM_DRIVE_GOOD, SIM_DRIVE_MEDIUM, SIM_DRIVE_AGAIN };

/* A completion */
struct sim_drive_done {
	int slot;	/* as returned by sim_drive_submit() */
	u64 report_ns;	/* when it is reported */
	enum sim_drive_outcome outcome;	/* how it ended */
	/* SIM_DRIVE_MEDIUM: the sector; all before it went well. U64_MAX: unknown */
	u64 bad;
};

/* What a host cannot see */
struct sim_drive_stats {
	/* all of it is known; else only @busy_ns, which is then the time with commands */
	bool inside;
	u64 busy_ns;	/* the medium was at work, reading ahead apart */
	u64 seek_ns;	/* of that: seeks, head switches, settles */
	u64 rotate_ns;	/* of that: waiting for sectors */
	u64 transfer_ns;	/* of that: transferring */
	u64 extra_turns;	/* commands that took most of a turn longer than without noise */
	u64 read_hits;	/* reads that the cache answered */
};

/*
 * Power a drive on. Returns the drive; ends the program when the text is missing or refused.
 * @lines: further lines, which override those of the text; each ends in a newline. @noise: "off",
 * "laplace", "gauss", one of the latter two with ":" and a standard deviation in microseconds, or
 * "": as the text says
 */
struct sim_drive *sim_drive_open(const char *path, const char *lines, const char *noise,
				 u64 seed);

/* Power it off and free it */
void sim_drive_close(struct sim_drive *d);

/* What it is */
void sim_drive_info(const struct sim_drive *d, struct sim_drive_info *info);

/*
 * The time. Returns @now_ns if the drive is simulated, for thinking takes no time there; else the
 * clock's. @now_ns: that of the event being dealt with
 */
u64 sim_drive_now(const struct sim_drive *d, u64 now_ns);

/*
 * Hand it a command. Returns its slot, 0 .. SIM_DRIVE_SLOTS - 1; a command that is cut through a
 * block, or one too many, ends the program. @lbn: first sector, a multiple of its block, as is
 */
int sim_drive_submit(struct sim_drive *d, u64 now_ns, enum sim_drive_op op, u64 lbn, u32 nsect);

/*
 * Let the drive live until it reports something. Returns false: nothing is reported by @until_ns,
 * or a real drive's host is to end. @until_ns: but not beyond this
 */
bool sim_drive_wait(struct sim_drive *d, u64 until_ns, struct sim_drive_done *done);

/* What it has done since power-on */
void sim_drive_stats(const struct sim_drive *d, struct sim_drive_stats *stats);

#endif /* SIM_DRIVE_H */
