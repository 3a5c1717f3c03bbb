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

/**
 * struct second - what is needed for it
 * @array: array
 * @fd: block devices of its members
 * @data: SECOND_SECTORS of each member
 * @times: how often it was done
 * @rewritten: units of a window, 4 KiB, that agreed the second time
 * @suspended_ns: for how long writes were suspended, together
 * @longest_ns: the longest of these
 */
struct second {
	const struct array *array;
	int fd[GEOMETRY_DISKS_MAX];
	unsigned char *data;
	uint64_t times;
	uint64_t rewritten;
	uint64_t suspended_ns;
	uint64_t longest_ns;
};

/**
 * second_init() - open the members
 * @second: returned
 * @array: array
 *
 * Return: 0; -1 with errno, and @second->times is the number of the member.
 */
int second_init(struct second *second, const struct array *array);

/**
 * second_exit() - close them
 * @second: initialised
 */
void second_exit(struct second *second);

/**
 * second_compare() - compare again
 * @second: initialised
 * @first: first sector of the members
 * @sectors: how many, at most SECOND_SECTORS
 * @findings: list that is added to
 *
 * Return: 0; -1: the array is no longer what it was (refusal()), or writes to it cannot be
 * suspended (errno is not 0).
 */
int second_compare(struct second *second, uint64_t first, uint64_t sectors,
		   struct findings *findings);

#endif /* SCRUB_SECOND_H */
