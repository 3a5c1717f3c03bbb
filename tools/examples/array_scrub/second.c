// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "second.h"
#include "suspend.h"
#include "window.h"

#define SECTOR 512
#define ALIGNMENT 4096

int second_init(struct second *second, const struct array *array)
{
	unsigned int i;
	char path[ARRAY_NAME + 8];

	memset(second, 0, sizeof(*second));
	second->array = array;
	for (i = 0; i < array->n; i++)
		second->fd[i] = -1;
	if (posix_memalign((void **)&second->data, ALIGNMENT,
			   (size_t)array->n * SECOND_SECTORS * SECTOR)) {
		second->data = NULL;
		errno = ENOMEM;
		return -1;
	}
	for (i = 0; i < array->n; i++) {
		snprintf(path, sizeof(path), "/dev/%s", array->members[i].name);
		second->fd[i] = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
		if (second->fd[i] < 0) {
			second->times = i;
			return -1;
		}
	}
	return 0;
}

void second_exit(struct second *second)
{
	unsigned int i;

	for (i = 0; second->array && i < second->array->n; i++)
		if (second->fd[i] >= 0)
			close(second->fd[i]);
	free(second->data);
	second->data = NULL;
	second->array = NULL;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static unsigned char *block(const struct second *second, unsigned int member, uint64_t sector)
{
	return second->data + (member * SECOND_SECTORS + sector) * SECTOR;
}

/* -1, or the number of a member that cannot be read */
static int read_all(const struct second *second, uint64_t first, uint64_t sectors)
{
	unsigned int i;

	for (i = 0; i < second->array->n; i++) {
		off_t at = (second->array->members[i].offset + first) * SECTOR;
		ssize_t bytes = sectors * SECTOR;

		if (pread(second->fd[i], block(second, i, 0), bytes, at) != bytes)
			return i;
	}
	return -1;
}

static void judge(struct second *second, uint64_t first, uint64_t sectors,
		  struct findings *findings)
{
	const unsigned char *blocks[GEOMETRY_DISKS_MAX];
	uint64_t sector, agree = 0;
	unsigned int i;

	for (sector = 0; sector < sectors; sector++) {
		struct finding found;

		for (i = 0; i < second->array->n; i++)
			blocks[i] = block(second, i, sector);
		found = compare_sector(second->array, first + sector, blocks);
		compare_note(findings, found);
		/* of a unit that still differs the rest was not written to */
		agree = found.kind == FINDING_NONE ? agree + 1 : 0;
		if ((sector + 1) % WINDOW_UNIT && sector + 1 < sectors)
			continue;
		if (agree > sector % WINDOW_UNIT)
			second->rewritten++;
		agree = 0;
	}
}

static int each_unit(struct second *second, uint64_t first, uint64_t sectors,
		     struct findings *findings)
{
	uint64_t at;

	for (at = 0; at < sectors; at += WINDOW_UNIT) {
		uint64_t left = sectors - at;

		if (second_compare(second, first + at, left < WINDOW_UNIT ? left : WINDOW_UNIT,
				   findings))
			return -1;
	}
	return 0;
}

int second_compare(struct second *second, uint64_t first, uint64_t sectors,
		   struct findings *findings)
{
	struct finding found = { .first = first, .sectors = sectors };
	uint64_t low, high, began, took;
	int failed;

	errno = 0;
	if (array_changed(second->array)) {
		errno = 0;
		return -1;
	}
	geometry_span(&second->array->geometry, first, sectors, &low, &high);
	began = now_ns();
	if (suspend_begin(low, high))
		return -1;
	failed = read_all(second, first, sectors);
	if (!suspend_end(low, high))
		found.kind = FINDING_UNSETTLED;
	took = now_ns() - began;
	second->times++;
	second->suspended_ns += took;
	if (took > second->longest_ns)
		second->longest_ns = took;
	if (failed >= 0 && sectors > WINDOW_UNIT)
		return each_unit(second, first, sectors, findings);
	found.slot = array_known_bad(second->array, first, sectors);
	if (found.slot >= 0) {
		found.kind = FINDING_KNOWN_BAD;
	} else if (failed >= 0) {
		found.kind = FINDING_UNREADABLE;
		found.slot = second->array->members[failed].slot;
	}
	if (found.kind == FINDING_NONE)
		judge(second, first, sectors, findings);
	else
		compare_note(findings, found);
	return 0;
}
