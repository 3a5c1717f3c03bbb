// SPDX-License-Identifier: GPL-2.0
/* Where the groups of a map's granules lie; see core/groups.h. Core. */
#include "core/groups.h"

u32 fb_group_of(const struct disk_model *dm, u32 granule_sectors, u64 granule)
{
	struct dm_track t;

	if (!dm)
		return div_u64(granule, FB_BITMAP_SPAN);
	return dm_track_of(dm, granule * granule_sectors, &t) ? dm_tracks(dm) - 1 :
								dm_track_index(dm, &t);
}

u64 fb_group_first(const struct disk_model *dm, u32 granule_sectors, const struct fb_bitmap *bm,
		   u32 *group)
{
	struct dm_track t;
	u64 first;

	if (!dm)
		return min((u64)*group * FB_BITMAP_SPAN, bm->granules);
	for (; !dm_track_by_index(dm, *group, &t); ++*group) {
		first = fb_granule_first(granule_sectors, t.first_lbn);
		if (first * granule_sectors < t.first_lbn + t.nsect)
			return first;
	}
	return bm->granules;
}

/* in parentheses, so that checkpatch does not take it for a loop */
void (fb_for_each_run)(const struct disk_model *dm, u32 granule_sectors, u64 lbn,
		       u64 nsect, fb_runs_fn fn, void *ctx)
{
	u64 first = fb_granule_first(granule_sectors, lbn);
	u64 end = fb_granule_end(dm_info(dm)->sectors, granule_sectors, lbn + nsect), stop;
	struct dm_track t;

	while (first < end && !dm_track_of(dm, first * granule_sectors, &t)) {
		stop = fb_granule_first(granule_sectors, t.first_lbn + t.nsect);
		stop = min(stop, end);
		fn(ctx, first, stop - first, dm_track_index(dm, &t));
		first = stop;
	}
}

void (fb_for_each_count)(const struct disk_model *dm, u32 granule_sectors,
			 const struct fb_bitmap *bm, u64 first, u64 end, fb_runs_fn fn, void *ctx)
{
	u32 group = fb_group_of(dm, granule_sectors, first), next;
	u64 stop;

	for (; first < end; first = stop, group = next) {
		next = fb_bitmap_last_alike(bm, group) + 1;
		stop = fb_group_first(dm, granule_sectors, bm, &next);
		stop = min(stop, end);
		fn(ctx, first, stop - first, group);
	}
}
