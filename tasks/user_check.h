/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Checks of what programs pass to /dev/freeblock (include/uapi/freeblock.h), and the records that
 * they get. Core.
 */
#ifndef FB_USER_CHECK_H
#define FB_USER_CHECK_H

#include "include/fb_shim.h"
#include "include/uapi/freeblock.h"

#define FB_USER_CHECK_RANGE 24		/* of struct freeblock_range in the first version */
#define FB_USER_CHECK_PROBE 40		/* of struct freeblock_probe, likewise */
#define FB_USER_CHECK_SIZE_MAX 4096	/* more is no structure, but a mistake */

/* all features of this module */
#define FB_USER_CHECK_FEATURES (FREEBLOCK_FEATURE_EVENTS | FREEBLOCK_FEATURE_COVERAGE |	\
				FREEBLOCK_FEATURE_PROBES)

/* Why a call is refused */
struct fb_user_check_why {
	char text[FREEBLOCK_REASON_LEN];	/* one line */
};

/* Where a block device lies on its disk; in types of the interface, which are printed alike */
struct fb_user_check_place {
	__u64 start;			/* its first sector */
	__u64 sectors;
	__u64 disk_sectors;		/* that of the disk */
	u32 granule;			/* sectors of a block, a power of two */
	u32 logical;			/* sectors of the disk's logical block, a power of two */
};

/* A block that waits to be read */
struct fb_user_check_slot {
	u64 first;			/* its first sector, from the start of the block device */
	u64 user_data;			/* as in struct freeblock_record */
	u32 sectors;			/* its length */
	u32 status;			/* FREEBLOCK_STATUS_OK and others */
};

/* Ring of blocks that wait */
struct fb_user_check_ring {
	const struct fb_user_check_slot *slot;
	u32 slots;
	u32 tail;			/* the next block to be read */
	u32 filled;			/* number of blocks from @tail on */
	bool has_data;			/* good blocks come with their data */
};

int fb_user_check_refuse(struct fb_user_check_why *why, int ret, const char *fmt, ...)
	__printf(3, 4);
int fb_user_check_size(u32 size, u32 first, struct fb_user_check_why *why);
int fb_user_check_api(const struct freeblock_ioc_api *a, struct fb_user_check_why *why);
void fb_user_check_make_word(char *name);
int fb_user_check_setup(const struct freeblock_ioc_setup *s, struct fb_user_check_why *why);
int fb_user_check_urgency(s32 priority, u32 foreground_ppm, struct fb_user_check_why *why);
int fb_user_check_ranges(const struct freeblock_ioc_ranges *r, u32 most, u32 flags,
			 struct fb_user_check_why *why);
int fb_user_check_range(const struct fb_user_check_place *at, struct freeblock_range *r, u32 index,
			bool plain, struct fb_user_check_why *why);
u64 fb_user_check_blocks(const struct fb_user_check_place *at);
int fb_user_check_bits(const struct freeblock_ioc_bits *b, __u64 blocks,
		       struct fb_user_check_why *why);
int fb_user_check_probes(const struct freeblock_ioc_probes *p, struct fb_user_check_why *why);
int fb_user_check_probe(const struct fb_user_check_place *at, const struct freeblock_probe *p,
			u32 index, struct fb_user_check_why *why);
int fb_user_check_bits_end(const u8 *bits, u64 count, struct fb_user_check_why *why);
size_t fb_user_check_bytes(const struct fb_user_check_slot *slot, bool has_data);
u32 fb_user_check_next(const struct fb_user_check_ring *ring, size_t size,
		       struct freeblock_record *record);

#endif /* FB_USER_CHECK_H */
