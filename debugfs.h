/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The debugfs files of a disk.
 */
#ifndef FB_DEBUGFS_H
#define FB_DEBUGFS_H

struct fb_disk_client;

extern const struct fb_disk_client fb_debugfs_client;

#endif /* FB_DEBUGFS_H */
