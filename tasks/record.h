/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Records of /dev/freeblock: blocks that wait to be read, joined where they adjoin. It needs
 * nothing of the kernel, so that the unit tests have it, too.
 */
#ifndef FB_RECORD_H
#define FB_RECORD_H

#include "include/fb_shim.h"
#include "include/uapi/freeblock.h"

/**
 * struct fb_record_slot - a block that waits to be read
 * @lbn: its first sector, from the start of the block device
 * @sectors: its length
 * @status: FREEBLOCK_RECORD_OK or another
 */
struct fb_record_slot {
	u64 lbn;
	u32 sectors;
	u32 status;
};

/**
 * struct fb_record_ring - blocks that wait
 * @slot: the ring
 * @slots: its length
 * @tail: the next block
 * @filled: how many there are from there on
 * @has_data: with a good block come its data
 */
struct fb_record_ring {
	const struct fb_record_slot *slot;
	u32 slots;
	u32 tail;
	u32 filled;
	bool has_data;
};

size_t fb_record_bytes(const struct fb_record_slot *slot, bool has_data);
u32 fb_record_next(const struct fb_record_ring *ring, size_t size,
		   struct freeblock_record *record);

#endif /* FB_RECORD_H */
