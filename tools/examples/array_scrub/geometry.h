/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where md puts what: drivers/md/raid5.c and md(4). Sectors have 512 bytes; those of a member
 * are counted from where its data begin (dev-NAME/offset), so that sectors with the same number on
 * all members belong together. Slots are md's numbers of members.
 */
#ifndef SCRUB_GEOMETRY_H
#define SCRUB_GEOMETRY_H

#include <stdint.h>

#define GEOMETRY_DISKS_MAX 256

/* An array */
struct geometry {
	unsigned int level;	/* 1, 5 or 6 */
	unsigned int layout;	/* md's number of the layout, 0 for RAID1 */
	unsigned int disks;	/* members */
	uint64_t chunk;	/* sectors of a member that follow one another in the array; 0 for RAID1 */
};

/* The members of one row of chunks */
struct geometry_row {
	unsigned int data[GEOMETRY_DISKS_MAX];	/* slot of each data chunk, in the array's order */
	/* slot of each data chunk, in the order of Q's terms: @term[z] is multiplied by 2^z */
	unsigned int term[GEOMETRY_DISKS_MAX];
	unsigned int n;	/* data chunks */
	unsigned int p;	/* slot of P */
	unsigned int q;	/* slot of Q, for RAID6 */
};

/* As mdadm calls it. Returns the name, or NULL if it is none that can be scrubbed */
const char *geometry_layout_name(const struct geometry *geometry);

/* Who is what in a row of chunks of a RAID5 or RAID6 */
void geometry_row(const struct geometry *geometry, uint64_t number, struct geometry_row *row);

/* Which sector of the array is a member's. Returns sector of the array */
uint64_t geometry_array_sector(const struct geometry *geometry, const struct geometry_row *row,
			       unsigned int data, uint64_t sector);

/*
 * The sectors of the array whose writes can change sectors of members. @low: returned: first
 * sector of the array; @high: returned: the one behind the last
 */
void geometry_span(const struct geometry *geometry, uint64_t first, uint64_t sectors,
		   uint64_t *low, uint64_t *high);

#endif /* SCRUB_GEOMETRY_H */
