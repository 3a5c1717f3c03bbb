/* SPDX-License-Identifier: GPL-2.0 */
/* The files of a disk: sysfs.c, snapshot.c, debugfs.c. */
#ifndef FB_FILES_H
#define FB_FILES_H

struct attribute_group;
struct fb_disk;
struct fb_disk_client;
struct seq_file;

extern const struct attribute_group *fb_sysfs_disk_groups[];
extern const struct fb_disk_client fb_sysfs_client, fb_debugfs_client;

extern const struct attribute_group fb_snapshot_group;

int fb_snapshot_print(struct fb_disk *disk, struct seq_file *m);

#endif /* FB_FILES_H */
