/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Cookies: what the blocks of a task mean to its consumer (freeblock_range.user_data): a sorted
 * array of segments that do not overlap; blocks outside of all have the value 0. A batch of ranges
 * is laid over it in a new array, so that a call that fails has changed nothing. Core.
 */
#ifndef FB_COOKIE_H
#define FB_COOKIE_H

#include "include/fb_shim.h"

#define FB_COOKIE_MAX 65536	/* segments of a task */

/* Consecutive blocks with the same value */
struct fb_cookie_segment {
	u64 first;			/* first block */
	u64 end;	/* the block behind the last one; @first: the segment is unused */
	u64 value;			/* their value */
};

/* The values of all blocks */
struct fb_cookies {
	struct fb_cookie_segment *segment;	/* segments with a value other than 0, ascending */
	u32 n;
	u32 room;			/* how many there is memory for */
};

u64 fb_cookie_find(const struct fb_cookies *c, u64 block);
int fb_cookie_lay(const struct fb_cookies *old, const struct fb_cookie_segment *range, u32 n,
		  struct fb_cookies *made);
void fb_cookie_free(struct fb_cookies *c);
u64 fb_cookie_bytes(const struct fb_cookies *c);
void fb_cookie_drop(struct fb_cookies *c, u32 i);
void fb_cookie_pack(struct fb_cookies *c);

#endif /* FB_COOKIE_H */
