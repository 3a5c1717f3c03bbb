/* SPDX-License-Identifier: GPL-2.0 */
/* An open block device, which is a file from Linux 6.9 on. */
#ifndef FBDISK_COMPAT_H
#define FBDISK_COMPAT_H

#include <linux/blkdev.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 9, 0)

struct fbdisk_open {
	struct file *handle;
};

static inline struct file *fbdisk_open(const char *path)
{
	return bdev_file_open_by_path(path, BLK_OPEN_READ, NULL, NULL);
}

static inline struct gendisk *fbdisk_of(const struct fbdisk_open *open)
{
	return file_bdev(open->handle)->bd_disk;
}

static inline void fbdisk_close(struct fbdisk_open *open)
{
	bdev_fput(open->handle);
}

#else

struct fbdisk_open {
	struct block_device *handle;
};

static inline struct block_device *fbdisk_open(const char *path)
{
	return blkdev_get_by_path(path, FMODE_READ, NULL);
}

static inline struct gendisk *fbdisk_of(const struct fbdisk_open *open)
{
	return open->handle->bd_disk;
}

static inline void fbdisk_close(struct fbdisk_open *open)
{
	blkdev_put(open->handle, FMODE_READ);
}

#endif

#endif /* FBDISK_COMPAT_H */
