/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Coverage: which granules of a disk are wanted, in flight, done (freeblock
 * paper, 4.3). Core.
 *
 * A granule is granule_sectors consecutive LBNs. Granules belong to groups, one
 * per track: the track on which their first sector lies; the group's count of
 * wanted granules lets the search pass over what is done. The map does not know
 * tracks: its caller says which group a run belongs to, and never passes a run
 * that spans two groups.
 *
 * No locking: one thread owns a map (DESIGN 4, exactly once).
 */
#ifndef FB_BITMAP_H
#define FB_BITMAP_H

#include "include/fb_shim.h"

/**
 * struct fb_bitmap - one coverage map
 * @granules: number of granules
 * @groups: number of groups
 * @wanted: bit set = registered, not yet read
 * @flying: bit set = a read is on its way; never set together with @wanted
 * @group_wanted: wanted granules of each group
 * @n_wanted: sum of @group_wanted
 * @n_flying: granules in flight
 * @n_done: granules read since they were registered
 */
struct fb_bitmap {
	u64 granules;
	u32 groups;
	unsigned long *wanted;
	unsigned long *flying;
	u16 *group_wanted;
	u64 n_wanted;
	u64 n_flying;
	u64 n_done;
};

int fb_bitmap_init(struct fb_bitmap *bm, u64 granules, u32 groups);
void fb_bitmap_destroy(struct fb_bitmap *bm);

/* each returns how many granules changed state; granules in other states stay as they are */
u32 fb_bitmap_want(struct fb_bitmap *bm, u64 first, u32 n, u32 group);	/* not wanted, not flying -> wanted */
u32 fb_bitmap_unwant(struct fb_bitmap *bm, u64 first, u32 n, u32 group);	/* wanted -> not registered */
u32 fb_bitmap_take(struct fb_bitmap *bm, u64 first, u32 n, u32 group);	/* wanted -> flying */
u32 fb_bitmap_done(struct fb_bitmap *bm, u64 first, u32 n);		/* flying -> done */
u32 fb_bitmap_untake(struct fb_bitmap *bm, u64 first, u32 n, u32 group);	/* flying -> wanted */

bool fb_bitmap_is_wanted(const struct fb_bitmap *bm, u64 granule);
bool fb_bitmap_is_flying(const struct fb_bitmap *bm, u64 granule);
u32 fb_bitmap_count(const struct fb_bitmap *bm, u64 first, u32 n);	/* wanted ones */
u32 fb_bitmap_group(const struct fb_bitmap *bm, u32 group);

/*
 * Trim a run to begin and end with a wanted granule. Returns the number of
 * wanted granules in it and changes @first and @n; 0 leaves them alone.
 */
u32 fb_bitmap_trim(const struct fb_bitmap *bm, u64 *first, u32 *n);

/* the first flying granule at or after @from, or @granules */
u64 fb_bitmap_next_flying(const struct fb_bitmap *bm, u64 from);

#endif /* FB_BITMAP_H */
