/* SPDX-License-Identifier: GPL-2.0 */
/* A task on a disk that is given by its name; for the test modules. */
#ifndef FBDISK_H
#define FBDISK_H

#include <linux/blkdev.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/version.h>

#include "include/freeblock.h"

/* an open block device is a file from 6.9 on */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 9, 0)
typedef struct file fbdisk_handle;

static inline fbdisk_handle *fbdisk_open(const char *path)
{
	return bdev_file_open_by_path(path, BLK_OPEN_READ, NULL, NULL);
}

static inline struct gendisk *fbdisk_of(fbdisk_handle *bdev)
{
	return file_bdev(bdev)->bd_disk;
}

static inline void fbdisk_close(fbdisk_handle *bdev)
{
	bdev_fput(bdev);
}
#else
typedef struct block_device fbdisk_handle;

static inline fbdisk_handle *fbdisk_open(const char *path)
{
	return blkdev_get_by_path(path, FMODE_READ, NULL);
}

static inline struct gendisk *fbdisk_of(fbdisk_handle *bdev)
{
	return bdev->bd_disk;
}

static inline void fbdisk_close(fbdisk_handle *bdev)
{
	blkdev_put(bdev, FMODE_READ);
}
#endif

static inline struct freeblock_task *fbdisk_create_task(const char *disk, const char *name,
							const struct freeblock_ops *ops, void *ctx)
{
	struct freeblock_task *task;
	fbdisk_handle *bdev;
	char path[DISK_NAME_LEN + 5];

	snprintf(path, sizeof(path), "/dev/%s", disk);
	bdev = fbdisk_open(path);
	if (IS_ERR(bdev))
		return ERR_CAST(bdev);
	task = freeblock_task_create(fbdisk_of(bdev), name, ops, ctx);
	fbdisk_close(bdev);
	return task;
}

#endif /* FBDISK_H */
