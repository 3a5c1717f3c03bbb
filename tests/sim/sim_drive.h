/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The simulated drive behind a door: mechdisk's shim and the core's both define
 * the kernel's names, so no file may include both. Include one of them before this.
 */
#ifndef SIM_DRIVE_H
#define SIM_DRIVE_H

struct sim_drive;

/**
 * struct sim_done - a completion
 * @slot: as returned by sim_drive_submit()
 * @report_ns: when it is reported
 * @started_ns: when its mechanics began (what a host cannot see)
 * @media_end_ns: when its last sector had passed the head (what a host cannot see)
 */
struct sim_done {
	int slot;
	u64 report_ns;
	u64 started_ns;
	u64 media_end_ns;
};

/**
 * sim_drive_open() - power a drive on
 * @path: its .fbdrive text
 * @noise: "laplace", "gauss", "off", or NULL: as the text says
 * @seed: 0: as the text says
 *
 * Return: the drive; ends the program when the text is missing or refused.
 */
struct sim_drive *sim_drive_open(const char *path, const char *noise, u64 seed);

/**
 * sim_drive_close() - power it off and free it
 * @d: the drive
 */
void sim_drive_close(struct sim_drive *d);

/**
 * sim_drive_submit() - hand it a command
 * @d: the drive
 * @now_ns: the time
 * @write: direction
 * @lbn: first LBN
 * @nsect: sectors
 *
 * Return: its slot.
 */
int sim_drive_submit(struct sim_drive *d, u64 now_ns, bool write, u64 lbn,
		     u32 nsect);

/**
 * sim_drive_wait() - let the drive live until it reports something
 * @d: the drive, with commands
 * @done: out: the completion; its slot is free again
 */
void sim_drive_wait(struct sim_drive *d, struct sim_done *done);

#endif /* SIM_DRIVE_H */
