/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tasks: functions for the rest of the module. The interface for consumers is
 * include/freeblock.h.
 */
#ifndef FB_TASK_H
#define FB_TASK_H

#include <linux/types.h>

struct fb_disk;
struct freeblock_coverage;
struct freeblock_ops;
struct freeblock_task;

struct freeblock_task *fb_task_create(struct fb_disk *fd, const char *name,
				      const struct freeblock_ops *ops, void *ctx);
struct freeblock_coverage *fb_task_coverage(struct fb_disk *fd);

#endif /* FB_TASK_H */
