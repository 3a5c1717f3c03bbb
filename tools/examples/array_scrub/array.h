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

/**
 * struct array_member - a member whose data are in use
 * @slot: md's number
 * @name: of the block device, as in /dev
 * @offset: sector of the block device at which its data begin
 */
struct array_member {
	unsigned int slot;
	char name[ARRAY_NAME];
	uint64_t offset;
};

/**
 * struct array - an array that can be scrubbed
 * @name: as in /sys/block
 * @uuid: says which array it is
 * @geometry: where what is
 * @sectors: of each member that are in use
 * @members: those in sync, by slot
 * @n: how many
 * @skipped: words about the others; "" if there are none
 */
struct array {
	char name[ARRAY_NAME];
	char uuid[ARRAY_NAME];
	struct geometry geometry;
	uint64_t sectors;
	struct array_member members[GEOMETRY_DISKS_MAX];
	unsigned int n;
	char skipped[512];
};

/**
 * array_read() - what sysfs says about an array
 * @array: returned
 * @path: /dev/md0
 *
 * Return: 0; or -1: it cannot be scrubbed, and refusal() says why.
 */
int array_read(struct array *array, const char *path);

/**
 * array_changed() - whether members have changed, or md synchronises, since array_read()
 * @array: array
 *
 * Return: true if it did; refusal() says what.
 */
bool array_changed(const struct array *array);

/**
 * array_known_bad() - whether md knows that a member lacks something there
 * @array: array
 * @first: first sector of the members
 * @sectors: how many
 *
 * Return: the slot, or -1.
 */
int array_known_bad(const struct array *array, uint64_t first, uint64_t sectors);

/**
 * array_attribute() - the path of a file of md's in sysfs
 * @array: array
 * @name: of the file
 * @path: returned
 * @size: of @path
 */
void array_attribute(const struct array *array, const char *name, char *path, size_t size);

#endif /* SCRUB_ARRAY_H */
