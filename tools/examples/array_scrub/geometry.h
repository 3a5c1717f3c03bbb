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

/**
 * struct geometry - an array
 * @level: 1, 5 or 6
 * @layout: md's number of the layout, 0 for RAID1
 * @disks: members
 * @chunk: sectors of a member that follow one another in the array; 0 for RAID1
 */
struct geometry {
	unsigned int level;
	unsigned int layout;
	unsigned int disks;
	uint64_t chunk;
};

/**
 * struct geometry_row - the members of one row of chunks
 * @data: slot of each data chunk, in the array's order
 * @term: slot of each data chunk, in the order of Q's terms: @term[z] is multiplied by 2^z
 * @n: data chunks
 * @p: slot of P
 * @q: slot of Q, for RAID6
 */
struct geometry_row {
	unsigned int data[GEOMETRY_DISKS_MAX];
	unsigned int term[GEOMETRY_DISKS_MAX];
	unsigned int n;
	unsigned int p;
	unsigned int q;
};

/**
 * geometry_layout_name() - as mdadm calls it
 * @geometry: array
 *
 * Return: the name, or NULL if it is none that can be scrubbed.
 */
const char *geometry_layout_name(const struct geometry *geometry);

/**
 * geometry_row() - who is what in a row of chunks of a RAID5 or RAID6
 * @geometry: array whose layout has a name
 * @number: of the row, which is a member's sector / chunk
 * @row: returned
 */
void geometry_row(const struct geometry *geometry, uint64_t number, struct geometry_row *row);

/**
 * geometry_array_sector() - which sector of the array is a member's
 * @geometry: array
 * @row: the sector's row; not used for RAID1
 * @data: number of the data chunk in @row
 * @sector: of the member
 *
 * Return: sector of the array.
 */
uint64_t geometry_array_sector(const struct geometry *geometry, const struct geometry_row *row,
			       unsigned int data, uint64_t sector);

/**
 * geometry_span() - the sectors of the array whose writes can change sectors of members
 * @geometry: array
 * @first: first sector of the members
 * @sectors: how many
 * @low: returned: first sector of the array
 * @high: returned: the one behind the last
 */
void geometry_span(const struct geometry *geometry, uint64_t first, uint64_t sectors,
		   uint64_t *low, uint64_t *high);

#endif /* SCRUB_GEOMETRY_H */
