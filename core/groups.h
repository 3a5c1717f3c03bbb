/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where the groups of a map's granules lie: each on a track of a model, by track number, or where
 * tracks are not known each FB_BITMAP_SPAN granules long. Core.
 */
#ifndef FB_GROUPS_H
#define FB_GROUPS_H

#include "core/plan.h"

/* Called with @n granules from @first on, which are counted for @group. @ctx: the caller's. */
typedef void (*fb_runs_fn)(void *ctx, u64 first, u32 n, u32 group);

/* The group of a granule of the disk. @dm: NULL: tracks are not known. */
u32 fb_group_of(const struct disk_model *dm, u32 granule_sectors, u64 granule);

/* The first granule of a group; if it has none, of a later one, which is @group then. */
u64 fb_group_first(const struct disk_model *dm, u32 granule_sectors, const struct fb_bitmap *bm,
		   u32 *group);

/* Call a function for each run of granules that lie wholly in a range and share one track. */
void fb_for_each_run(const struct disk_model *dm, u32 granule_sectors, u64 lbn,
		     u64 nsect, fb_runs_fn fn, void *ctx);

/*
 * The same from @first to before @end, for each run whose groups @bm counts together: so a whole
 * disk takes some steps for each count, not for each track.
 */
void fb_for_each_count(const struct disk_model *dm, u32 granule_sectors,
		       const struct fb_bitmap *bm, u64 first, u64 end, fb_runs_fn fn, void *ctx);

#endif /* FB_GROUPS_H */
