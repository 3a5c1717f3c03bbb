/* SPDX-License-Identifier: GPL-2.0 */
/* Parts of a disk that do not know it; see disk/disk.h. */
#ifndef FB_PARTS_H
#define FB_PARTS_H

#include <linux/kobject.h>

struct dentry;

#define FB_NAME_LEN 32		/* of a disk's name, as in /sys/block */

/* ---- disk/folder.c: its directories in sysfs and debugfs ---- */

/* When, and under which names, they are there is the work item's of disk/folder.c alone. */
struct fb_folder {
	struct kobject kobj;	/* /sys/kernel/freeblock/<disk>; its owner counts references */
	struct dentry *debugfs;	/* /sys/kernel/debug/freeblock/<disk>; NULL until there is one */
	bool gone;			/* it gets no name any more; under fb_folder_lock */
};

int fb_folder_init(void (*fill)(struct fb_folder *folder));
void fb_folder_exit(void);
int fb_folder_set_name(struct fb_folder *folder, const char *name);
void fb_folder_remove(struct fb_folder *folder);

/* ---- disk/memory.c: the account of memory_mib, for all disks ---- */

int fb_memory_charge(u64 *account, u64 bytes, const char *what);
void fb_memory_uncharge(u64 *account, u64 bytes);
void fb_memory_exit(void);

#endif /* FB_PARTS_H */
