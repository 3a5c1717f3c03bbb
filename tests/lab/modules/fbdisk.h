/* SPDX-License-Identifier: GPL-2.0 */
/* A task on a disk that is given by its name; for the test modules. */
#ifndef FBDISK_H
#define FBDISK_H

#include <linux/err.h>
#include <linux/kernel.h>

#include "fbdisk_compat.h"
#include "include/freeblock.h"

static inline struct freeblock_task *fbdisk_create_task(const char *disk, const char *name,
							const struct freeblock_ops *ops, void *ctx)
{
	struct freeblock_task *task;
	struct fbdisk_open open;
	char path[DISK_NAME_LEN + 5];

	snprintf(path, sizeof(path), "/dev/%s", disk);
	open.handle = fbdisk_open(path);
	if (IS_ERR(open.handle))
		return ERR_CAST(open.handle);
	task = freeblock_task_create(fbdisk_of(&open), name, ops, ctx);
	fbdisk_close(&open);
	return task;
}

#endif /* FBDISK_H */
