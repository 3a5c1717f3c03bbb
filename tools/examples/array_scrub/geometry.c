// SPDX-License-Identifier: GPL-2.0
/*
 * Layouts of RAID5 and RAID6, as raid5_compute_sector() and raid6_d0() of drivers/md/raid5.c have
 * them.
 */
#include <stddef.h>

#include "geometry.h"

enum { LEFT_ASYMMETRIC, RIGHT_ASYMMETRIC, LEFT_SYMMETRIC, RIGHT_SYMMETRIC, PARITY_FIRST,
	PARITY_LAST, LAYOUTS };

const char *geometry_layout_name(const struct geometry *geometry)
{
	static const char * const names[LAYOUTS] = {
		[LEFT_ASYMMETRIC] = "left-asymmetric",
		[RIGHT_ASYMMETRIC] = "right-asymmetric",
		[LEFT_SYMMETRIC] = "left-symmetric",
		[RIGHT_SYMMETRIC] = "right-symmetric",
		[PARITY_FIRST] = "parity-first",
		[PARITY_LAST] = "parity-last",
	};

	if (geometry->level == 1)
		return "copies";
	return geometry->layout < LAYOUTS ? names[geometry->layout] : NULL;
}

/* Slot of P in a row */
static unsigned int p_of(const struct geometry *geometry, uint64_t number)
{
	unsigned int disks = geometry->disks, turn = number % disks;

	switch (geometry->layout) {
	case LEFT_ASYMMETRIC:
	case LEFT_SYMMETRIC:
		return disks - 1 - turn;
	case RIGHT_ASYMMETRIC:
	case RIGHT_SYMMETRIC:
		return turn;
	case PARITY_FIRST:
		return 0;
	default:
		return disks - (geometry->level == 6 ? 2 : 1);
	}
}

/* Slots from a member on, around the circle, without those of parity */
static void from_slot(const struct geometry *geometry, const struct geometry_row *row,
		      unsigned int begin, unsigned int *slots)
{
	unsigned int i, n = 0;

	for (i = 0; i < geometry->disks; i++) {
		unsigned int slot = (begin + i) % geometry->disks;

		if (slot != row->p && (geometry->level != 6 || slot != row->q))
			slots[n++] = slot;
	}
}

void geometry_row(const struct geometry *geometry, uint64_t number, struct geometry_row *row)
{
	unsigned int disks = geometry->disks, last;

	row->n = disks - (geometry->level == 6 ? 2 : 1);
	row->p = p_of(geometry, number);
	row->q = (row->p + 1) % disks;
	last = geometry->level == 6 ? row->q : row->p;
	/* symmetric: the data go on behind parity; otherwise they are in the order of slots */
	if (geometry->layout == LEFT_SYMMETRIC || geometry->layout == RIGHT_SYMMETRIC)
		from_slot(geometry, row, last + 1, row->data);
	else
		from_slot(geometry, row, 0, row->data);
	/* Q's terms begin behind it, whatever the order of the data */
	from_slot(geometry, row, last + 1, row->term);
}

uint64_t geometry_array_sector(const struct geometry *geometry, const struct geometry_row *row,
			       unsigned int data, uint64_t sector)
{
	if (geometry->level == 1)
		return sector;
	return (sector / geometry->chunk * row->n + data) * geometry->chunk +
	       sector % geometry->chunk;
}

void geometry_span(const struct geometry *geometry, uint64_t first, uint64_t sectors,
		   uint64_t *low, uint64_t *high)
{
	uint64_t chunk = geometry->chunk, row;

	*low = first;
	*high = first + sectors;
	if (geometry->level == 1)
		return;
	row = (geometry->disks - (geometry->level == 6 ? 2 : 1)) * chunk;
	*low = first / chunk * row;
	*high = ((first + sectors - 1) / chunk + 1) * row;
}
