// SPDX-License-Identifier: GPL-2.0
/*
 * The model of a disk: it is replaced, corrected, and says how the maps of tasks count. It may come
 * while there are tasks, whose thread then puts it in force: they work on the same blocks with
 * another map. Locks: see disk/disk.h.
 */
#include "disk/disk.h"

/* granules after which others may run */
#define FB_MODEL_STEP 65536U

/* ---- how maps count ---- */

/* A map's groups: tracks, or spans of LBNs. The thread's; others hold fb_disk.lock or .config. */
u32 fb_model_groups(const struct fb_disk *fd)
{
	return fd->model ? dm_tracks(fd->model) : fb_bitmap_spans(fb_disk_granules(fd));
}

static void fb_model_recount_run(void *map, u64 first, u32 n, u32 group)
{
	fb_bitmap_recount(map, first, n, group);
}

/* Have a map count by another model's tracks. The thread's; takes a second on a large disk. */
void fb_model_regroup(struct fb_disk *fd, struct fb_bitmap *map)
{
	u64 step = (u64)FB_MODEL_STEP * fd->granule, lbn;

	fb_bitmap_regroup(map, fb_model_groups(fd));
	if (!fd->model) {
		fb_for_each_span(0, map->granules, fb_model_recount_run, map);
		return;
	}
	for (lbn = 0; lbn < fd->sectors; lbn += step) {
		fb_for_each_run(fd->model, fd->granule, lbn, min(step, fd->sectors - lbn),
				fb_model_recount_run, map);
		cond_resched();
	}
}

/* ---- the model ---- */

static void fb_model_swap(struct fb_disk *fd, struct disk_model *dm, bool same)
{
	const struct dm_info *info = dm_info(dm);
	struct disk_model *old;

	spin_lock_irq(&fd->lock);
	old = fd->model;
	fd->model = dm;
	fd->granule = info->granule_sectors;
	fd->distrusted = false;
	fd->forced = fd->forced && same;
	fd->doubt[0] = '\0';
	if (info->distrusted[0])
		snprintf(fd->doubt, sizeof(fd->doubt), "the model is distrusted: %s",
			 info->distrusted);
	fb_conservatism_init(&fd->conservatism, dm, FB_CONSERVATISM_TARGET_PPM);
	fb_seek_fit_init(&fd->seek_fit, dm);
	fb_guard_init(&fd->guard);
	fb_phase_init(&fd->phase);
	fb_disk_model_swapped(fd);
	spin_unlock_irq(&fd->lock);
	dm_free(old);
}

/* Put a waiting model in force; true: there was one. While there are tasks, the thread's. */
bool fb_model_take(struct fb_disk *fd)
{
	struct disk_model *dm;
	bool same;

	lockdep_assert_held(&fd->config);
	spin_lock_irq(&fd->lock);
	dm = fd->next_model;
	same = fd->next_same;
	WRITE_ONCE(fd->next_model, NULL);
	wake_up(&fd->wait);
	spin_unlock_irq(&fd->lock);
	if (!dm)
		return false;
	fb_model_swap(fd, dm, same);
	return true;
}

/*
 * Replace the model: at once or, while there are tasks, by their thread. @dm: the model; the disk
 * takes ownership; while there are tasks it has blocks of their size. Under fb_disk.config; may
 * sleep.
 */
void fb_model_set(struct fb_disk *fd, struct disk_model *dm, bool same)
{
	struct disk_model *old;

	lockdep_assert_held(&fd->config);
	spin_lock_irq(&fd->lock);
	old = fd->next_model;
	WRITE_ONCE(fd->next_model, dm);
	fd->next_same = same;
	wake_up(&fd->wait);
	spin_unlock_irq(&fd->lock);
	dm_free(old);
	if (!fd->cov)
		fb_model_take(fd);
}

/*
 * Apply what was learnt of seek times to the model, if that is due. Called by the thread, which
 * does not search meanwhile: only its search reads seek times without fb_disk.lock.
 */
void fb_model_correct(struct fb_disk *fd)
{
	u64 now = ktime_get_ns();

	spin_lock_irq(&fd->lock);
	if (fd->model && fb_seek_fit_due(&fd->seek_fit, now))
		fb_seek_fit_apply(&fd->seek_fit, now, fd->model);
	spin_unlock_irq(&fd->lock);
}
