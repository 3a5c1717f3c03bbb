/* SPDX-License-Identifier: GPL-2.0 */
/* Records of /dev/freeblock: blocks that wait to be read, joined where they are adjacent. Core. */
#ifndef FB_RECORD_H
#define FB_RECORD_H

#include "include/fb_shim.h"
#include "include/uapi/freeblock.h"

/* A block that waits to be read */
struct fb_record_slot {
	u64 first;			/* its first sector, from the start of the block device */
	u64 user_data;			/* as in struct freeblock_record */
	u32 sectors;			/* its length */
	u32 status;			/* FREEBLOCK_STATUS_OK and others */
};

/* Ring of blocks that wait */
struct fb_record_ring {
	const struct fb_record_slot *slot;
	u32 slots;
	u32 tail;			/* the next block to be read */
	u32 filled;			/* number of blocks from @tail on */
	bool has_data;			/* good blocks come with their data */
};

size_t fb_record_bytes(const struct fb_record_slot *slot, bool has_data);
u32 fb_record_next(const struct fb_record_ring *ring, size_t size, struct freeblock_record *record);

#endif /* FB_RECORD_H */
