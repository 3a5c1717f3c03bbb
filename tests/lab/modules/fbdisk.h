/* SPDX-License-Identifier: GPL-2.0 */
/* A task on a disk that is given by its name; for the test modules. */
#ifndef FBDISK_H
#define FBDISK_H

#include <linux/blkdev.h>
#include <linux/err.h>
#include <linux/kernel.h>

#include "include/freeblock.h"

static inline struct freeblock_task *fbdisk_create_task(const char *disk, const char *name,
							const struct freeblock_ops *ops, void *ctx)
{
	struct block_device *bdev;
	struct freeblock_task *task;
	char path[DISK_NAME_LEN + 5];

	snprintf(path, sizeof(path), "/dev/%s", disk);
	bdev = blkdev_get_by_path(path, FMODE_READ, NULL);
	if (IS_ERR(bdev))
		return ERR_CAST(bdev);
	task = freeblock_task_create(bdev->bd_disk, name, ops, ctx);
	blkdev_put(bdev, FMODE_READ);
	return task;
}

#endif /* FBDISK_H */
