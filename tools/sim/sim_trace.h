/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A foreground that was recorded: a text of lines
 *
 *	MILLISECONDS LBN SECTORS R|W
 *
 * in order of time, which counts from the beginning of the run and may have decimals.
 * Empty lines, and what follows "#", mean nothing.
 */
#ifndef SIM_TRACE_H
#define SIM_TRACE_H

#include "disk_model.h"

/**
 * struct sim_trace_req - one request
 * @ns: when it comes
 * @lbn: first sector
 * @nsect: sectors
 * @write: direction
 */
struct sim_trace_req {
	u64 ns;
	u64 lbn;
	u32 nsect;
	bool write;
};

/**
 * struct sim_trace - all of them
 * @req: in order
 * @n: how many, at least one
 * @longest: sectors of the longest
 * @writes: one of them writes
 */
struct sim_trace {
	struct sim_trace_req *req;
	u32 n;
	u32 longest;
	bool writes;
};

/**
 * sim_trace_read() - read and check a file
 * @t: out
 * @path: its name
 * @sectors: of the disk: requests lie on it ...
 * @physical: ... and are whole physical blocks of so many
 * @most_sectors: longest request
 *
 * Ends the program, with file and line, when anything is wrong.
 */
void sim_trace_read(struct sim_trace *t, const char *path, u64 sectors, u32 physical,
		    u32 most_sectors);

/**
 * sim_trace_free() - free it
 * @t: the trace, or zeros
 */
void sim_trace_free(struct sim_trace *t);

#endif /* SIM_TRACE_H */
