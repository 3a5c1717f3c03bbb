// SPDX-License-Identifier: GPL-2.0
/* The records of /dev/freeblock, joined where blocks are adjacent; see tasks/record.h. */
#include "tasks/record.h"

/* Bytes of the data that come with a block. @has_data: see struct fb_record_ring. */
size_t fb_record_bytes(const struct fb_record_slot *slot, bool has_data)
{
	return has_data && slot->status == FREEBLOCK_STATUS_OK ? (size_t)slot->sectors * 512 : 0;
}

/* Make the next record that fits in @size bytes with its data. Return: its slots, or 0. */
u32 fb_record_next(const struct fb_record_ring *ring, size_t size, struct freeblock_record *record)
{
	u32 i = ring->tail, n;

	*record = (struct freeblock_record) {
		.header_bytes = sizeof(*record),
		.type = FREEBLOCK_RECORD_BLOCKS,
		.status = ring->slot[i].status,
		.first = ring->slot[i].first,
		.user_data = ring->slot[i].user_data,
	};
	for (n = 0; n < ring->filled; n++) {
		const struct fb_record_slot *slot = &ring->slot[i];
		size_t bytes = fb_record_bytes(slot, ring->has_data);

		/* without data a record could exceed its 32-bit count of sectors */
		if (slot->status != record->status || slot->user_data != record->user_data ||
		    slot->first != record->first + record->sectors ||
		    slot->sectors > U32_MAX - record->sectors ||
		    sizeof(*record) + record->data_bytes + bytes > size)
			break;
		record->sectors += slot->sectors;
		record->data_bytes += bytes;
		i = i + 1 == ring->slots ? 0 : i + 1;
	}
	return n;
}
