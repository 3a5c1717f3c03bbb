/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The sysfs files of a disk.
 */
#ifndef FB_SYSFS_H
#define FB_SYSFS_H

struct attribute_group;
struct fb_disk_client;

extern const struct attribute_group *fb_sysfs_disk_groups[];
extern const struct fb_disk_client fb_sysfs_client;

#endif /* FB_SYSFS_H */
