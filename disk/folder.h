/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The directories of a disk: one in sysfs, one in debugfs. Kernel only.
 */
#ifndef FB_FOLDER_H
#define FB_FOLDER_H

#include <linux/kobject.h>

struct dentry;

/**
 * struct fb_folder - a disk's directories
 * @kobj: /sys/kernel/freeblock/<disk>; initialised by the owner, which also counts its references
 * @debugfs: /sys/kernel/debug/freeblock/<disk>; NULL until there is one
 * @gone: it gets no name any more; under fb_folder_lock
 *
 * Whether, and under which names, they are there is the work item's of disk/folder.c alone.
 */
struct fb_folder {
	struct kobject kobj;
	struct dentry *debugfs;
	bool gone;
};

int fb_folder_init(void (*fill)(struct fb_folder *folder));
void fb_folder_exit(void);
int fb_folder_set_name(struct fb_folder *folder, const char *name);
void fb_folder_remove(struct fb_folder *folder);

#endif /* FB_FOLDER_H */
