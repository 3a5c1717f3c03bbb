// SPDX-License-Identifier: GPL-2.0
/* The model of a disk, and how the maps of tasks count by it. Locks: see disk/disk.h. */
#include "disk/disk.h"

/* granules after which others may run */
#define FB_MODEL_STEP 65536U

/* ---- how maps count ---- */

/* A map's groups: tracks, or spans of LBNs. The thread's; others hold fb_disk.lock or .config. */
u32 fb_model_groups(const struct fb_disk *disk)
{
	return disk->model ? dm_tracks(disk->model) : fb_bitmap_spans(fb_disk_granules(disk));
}

static void fb_model_recount_run(void *map, u64 first, u32 n, u32 group)
{
	fb_bitmap_recount(map, first, n, group);
}

/* Have a map count by another model's tracks. The thread's; takes some ms on a large disk. */
void fb_model_regroup(struct fb_disk *disk, struct fb_bitmap *map)
{
	u64 first, end;

	fb_bitmap_regroup(map, fb_model_groups(disk));
	for (first = 0; first < map->granules; first = end) {
		end = min(first + FB_MODEL_STEP, map->granules);
		fb_for_each_count(disk->model, disk->granule, map, first, end,
				  fb_model_recount_run, map);
		cond_resched();
	}
}

/* ---- the model ---- */

static void fb_model_swap(struct fb_disk *disk, struct disk_model *dm, bool same)
{
	const struct dm_info *info = dm_info(dm);
	struct disk_model *old;

	spin_lock_irq(&disk->lock);
	old = disk->model;
	disk->model = dm;
	disk->granule = info->granule_sectors;
	disk->distrusted = false;
	disk->forced = disk->forced && same;
	disk->doubt[0] = '\0';
	if (info->distrusted[0])
		snprintf(disk->doubt, sizeof(disk->doubt), "the model is distrusted: %s",
			 info->distrusted);
	fb_conservatism_init(&disk->conservatism, dm, FB_CONSERVATISM_TARGET_PPM);
	fb_seek_fit_init(&disk->seek_fit, dm);
	fb_guard_init(&disk->guard);
	fb_phase_init(&disk->phase);
	fb_disk_model_swapped(disk);
	spin_unlock_irq(&disk->lock);
	dm_free(old);
}

/* Put a waiting model in force; true: there was one. While there are tasks, the thread's. */
bool fb_model_take(struct fb_disk *disk)
{
	struct disk_model *dm;
	bool same;

	lockdep_assert_held(&disk->config);
	spin_lock_irq(&disk->lock);
	dm = disk->next_model;
	same = disk->next_same;
	WRITE_ONCE(disk->next_model, NULL);
	wake_up(&disk->wait);
	spin_unlock_irq(&disk->lock);
	if (!dm)
		return false;
	fb_model_swap(disk, dm, same);
	return true;
}

/*
 * Replace the model: at once or, while there are tasks, by their thread. Takes ownership. May
 * sleep.
 */
void fb_model_set(struct fb_disk *disk, struct disk_model *dm, bool same)
{
	struct disk_model *old;

	lockdep_assert_held(&disk->config);
	spin_lock_irq(&disk->lock);
	old = disk->next_model;
	WRITE_ONCE(disk->next_model, dm);
	disk->next_same = same;
	wake_up(&disk->wait);
	spin_unlock_irq(&disk->lock);
	dm_free(old);
	if (!disk->cov)
		fb_model_take(disk);
}

/* Apply what was learnt of seek times, if due. The thread's: it searches without the lock. */
void fb_model_correct(struct fb_disk *disk)
{
	u64 now = ktime_get_ns();

	guard(spinlock_irq)(&disk->lock);
	if (disk->model && fb_seek_fit_due(&disk->seek_fit, now))
		fb_seek_fit_apply(&disk->seek_fit, now, disk->model);
}
