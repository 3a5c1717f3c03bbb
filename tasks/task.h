/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tasks: functions for the rest of the module. The interface for consumers is
 * include/freeblock.h.
 */
#ifndef FB_TASK_H
#define FB_TASK_H

#include <linux/types.h>

struct fb_disk;

int fb_task_command(struct fb_disk *fd, const char *text);
ssize_t fb_task_list(struct fb_disk *fd, char *page);

#endif /* FB_TASK_H */
