/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The second comparison: what differed may have been written to between the reads of two
 * members. It is read again from all of them while writes are suspended.
 */
#ifndef SCRUB_SECOND_H
#define SCRUB_SECOND_H

#include <stdint.h>

#include "compare.h"

/* Longest at once: so long do writers wait */
#define SECOND_SECTORS 128

/* What is needed for it */
struct second {
	const struct array *array;
	int fd[GEOMETRY_DISKS_MAX];	/* block devices of its members */
	unsigned char *data;	/* SECOND_SECTORS of each member */
	uint64_t times;	/* how often it was done */
	uint64_t rewritten;	/* units of a window, 4 KiB, that agreed the second time */
	uint64_t suspended_ns;	/* for how long writes were suspended, together */
	uint64_t longest_ns;	/* the longest of these */
};

/* Open the members. Returns 0; -1 with errno, and @second->times is the number of the member */
int second_init(struct second *second, const struct array *array);

void second_exit(struct second *second);

/*
 * Compare again. Returns 0; -1: the array is no longer what it was (refusal()), or writes to it
 * cannot be suspended (errno is not 0)
 */
int second_compare(struct second *second, uint64_t first, uint64_t sectors,
		   struct findings *findings);

#endif /* SCRUB_SECOND_H */
