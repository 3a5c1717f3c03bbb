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

/* One request */
struct sim_trace_req {
	u64 ns;	/* when it comes */
	u64 lbn;	/* first sector */
	u32 nsect;	/* sectors */
	bool write;	/* direction */
};

/* All of them */
struct sim_trace {
	struct sim_trace_req *req;	/* in order */
	u32 n;	/* how many, at least one */
	u32 longest;	/* sectors of the longest */
	bool writes;	/* one of them writes */
};

/*
 * Read and check a file. Ends the program, with file and line, when anything is wrong. Requests
 * lie on a disk of @sectors, are whole physical blocks of @physical, and have @most_sectors at
 * most
 */
void sim_trace_read(struct sim_trace *t, const char *path, u64 sectors, u32 physical,
		    u32 most_sectors);

/* Free it */
void sim_trace_free(struct sim_trace *t);

#endif /* SIM_TRACE_H */
