/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An md array as sysfs describes it (Documentation/admin-guide/md.rst of the kernel).
 */
#ifndef SCRUB_ARRAY_H
#define SCRUB_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "geometry.h"

#define ARRAY_NAME 64

/* A member whose data are in use */
struct array_member {
	unsigned int slot;	/* md's number */
	char name[ARRAY_NAME];	/* of the block device, as in /dev */
	uint64_t offset;	/* sector of the block device at which its data begin */
};

/* An array that can be scrubbed */
struct array {
	char name[ARRAY_NAME];	/* as in /sys/block */
	char uuid[ARRAY_NAME];	/* says which array it is */
	struct geometry geometry;
	uint64_t sectors;	/* of each member that are in use */
	struct array_member members[GEOMETRY_DISKS_MAX];	/* those in sync, by slot */
	unsigned int n;	/* how many */
	char skipped[512];	/* words about the others; "" if there are none */
};

/*
 * What sysfs says about an array. Returns 0; or -1: it cannot be scrubbed, and refusal() says why
 */
int array_read(struct array *array, const char *path);

/*
 * Whether members have changed, or md synchronises, since array_read(). refusal() says what
 */
bool array_changed(const struct array *array);

/* Whether md knows that a member lacks something there. Returns the slot, or -1 */
int array_known_bad(const struct array *array, uint64_t first, uint64_t sectors);

/* The path of a file of md's in sysfs */
void array_attribute(const struct array *array, const char *name, char *path, size_t size);

#endif /* SCRUB_ARRAY_H */
