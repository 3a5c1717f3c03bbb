/* SPDX-License-Identifier: GPL-2.0 */
/*
 * sysfs and debugfs files: of a disk, and of the scheduler on a queue.
 */
#ifndef FB_SYSFS_H
#define FB_SYSFS_H

#include "include/compat/fb_compat.h"

struct fb_disk_client;

extern const struct attribute_group *fb_sysfs_disk_groups[];
extern const struct fb_disk_client fb_sysfs_client;
extern struct elv_fs_entry fb_sysfs_sched_attrs[];

#endif /* FB_SYSFS_H */
