// SPDX-License-Identifier: GPL-2.0
/*
 * How far a disk is served. Idle time needs only the disk; gaps, and an order of our own, a map
 * that fits: else the foreground passes through to the drive. Locks: fb_disk.lock.
 */
#include <linux/module.h>

#include "disk/disk.h"

static bool fb_level_idle_only;
module_param_named(idle_only, fb_level_idle_only, bool, 0444);
MODULE_PARM_DESC(idle_only, "never order, hold or join a foreground request, until a disk's own idle_only says otherwise");

static void fb_level_init(struct fb_disk *disk)
{
	disk->idle_only = fb_level_idle_only;
}

const struct fb_disk_client fb_level_client = {
	.init = fb_level_init,
};

/* Why nothing is read from this disk; NULL: it is served, at least in idle time. */
const char *fb_level_unserved(const struct fb_disk *disk)
{
	lockdep_assert_held(&disk->lock);
	if (!disk->q)
		return "another scheduler";
	if (disk->unfit)
		return disk->unfit;
	if (disk->q->disk && get_capacity(disk->q->disk) != disk->sectors)
		return "the disk's capacity has changed";
	return NULL;
}

/* Why no map of this disk is used, so requests are not ordered, nor gaps used; NULL: one is. */
const char *fb_level_unmapped(const struct fb_disk *disk)
{
	const char *why = fb_level_unserved(disk);

	if (why)
		return why;
	if (disk->mapless)
		return disk->mapless;
	if (disk->idle_only)
		return "idle_only is set";
	if (!disk->model)
		return "no model";
	if (!fb_disk_is_firmware(disk->revision, dm_info(disk->model)))
		return "the drive's firmware is no longer the model's";
	if (disk->doubt[0] && !disk->forced)
		return disk->doubt;
	if (disk->distrusted)
		return "completions do not fit the model: wrong model, write cache, or busy host";
	return NULL;
}

/* What keeps all tasks from reading; FREEBLOCK_WAIT_NONE if fb_level_unserved() is NULL. */
enum freeblock_wait fb_level_waiting_for(const struct fb_disk *disk)
{
	lockdep_assert_held(&disk->lock);
	if (!disk->q)
		return READ_ONCE(disk->gone) ? FREEBLOCK_WAIT_DISK : FREEBLOCK_WAIT_SCHEDULER;
	if (disk->unfit)
		return FREEBLOCK_WAIT_UNFIT;
	return fb_level_unserved(disk) ? FREEBLOCK_WAIT_CAPACITY : FREEBLOCK_WAIT_NONE;
}
