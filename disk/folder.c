// SPDX-License-Identifier: GPL-2.0
/*
 * The directories of disks in sysfs and debugfs. Schedulers attach and detach with their queue
 * frozen, and memory reclaim that waits for that queue may hold the locks of either file system. So
 * a disk is only named then; a work item makes and renames its directories, in the order in which
 * names were given. Locks: fb_folder_lock, the innermost, for the list of names. Of the directories
 * the work item is the only user until fb_folder_remove(). Both allocate without I/O.
 */
#include <linux/debugfs.h>
#include <linux/slab.h>

#include "disk/parts.h"
#include "include/compat/fb_cleanup.h"
#include "include/compat/fb_compat.h"

/* A name that has been given */
struct fb_folder_name {
	struct list_head node;		/* in fb_folder_names */
	struct fb_folder *folder;	/* whose it is, with a reference */
	char name[FB_NAME_LEN];
};

/* after want of memory */
#define FB_FOLDER_RETRY (HZ / 4)

static DEFINE_SPINLOCK(fb_folder_lock);
static LIST_HEAD(fb_folder_names);	/* not yet those of the directories; the oldest first */
static struct kobject *fb_folder_sysfs;
static struct dentry *fb_folder_debugfs;
static void (*fb_folder_fill)(struct fb_folder *folder);

static struct fb_folder_name *fb_folder_next(void)
{
	struct fb_folder_name *n;

	guard(spinlock)(&fb_folder_lock);
	n = list_first_entry_or_null(&fb_folder_names, struct fb_folder_name, node);
	if (n)
		list_del(&n->node);
	return n;
}

/* They are made under a name that begins with a dot, and appear under their own with all files. */
static int fb_folder_show(struct fb_folder *folder, const char *name)
{
	char hidden[FB_NAME_LEN + 1];
	int ret = 0;

	snprintf(hidden, sizeof(hidden), ".%s", name);
	if (!folder->kobj.state_in_sysfs && !folder->debugfs) {
		folder->debugfs = debugfs_create_dir(hidden, fb_folder_debugfs);
		fb_folder_fill(folder);
	}
	if (!folder->kobj.state_in_sysfs)
		ret = kobject_add(&folder->kobj, fb_folder_sysfs, "%s", hidden);
	if (ret)
		return ret;
	fb_compat_debugfs_rename(fb_folder_debugfs, folder->debugfs, name);
	return kobject_rename(&folder->kobj, name);
}

static void fb_folder_drop(struct fb_folder_name *n)
{
	kobject_put(&n->folder->kobj);
	kfree(n);
}

static void fb_folder_work(struct work_struct *work);
static DECLARE_DELAYED_WORK(fb_folder_worker, fb_folder_work);

static void fb_folder_retry(struct fb_folder_name *n)
{
	bool gone;

	spin_lock(&fb_folder_lock);
	gone = n->folder->gone;
	if (!gone)
		list_add(&n->node, &fb_folder_names);
	spin_unlock(&fb_folder_lock);
	if (gone)
		fb_folder_drop(n);
	else
		schedule_delayed_work(&fb_folder_worker, FB_FOLDER_RETRY);
}

static void fb_folder_work(struct work_struct *work)
{
	struct fb_folder_name *n;
	int ret = 0;

	guard(fb_noio)(current);
	while (ret != -ENOMEM && (n = fb_folder_next())) {
		ret = fb_folder_show(n->folder, n->name);
		if (ret)
			pr_warn("freeblock: no directory %s: error %d\n", n->name, ret);
		if (ret == -ENOMEM)
			fb_folder_retry(n);
		else
			fb_folder_drop(n);
	}
}

/*
 * Give a disk's directories a name, when those given before have been applied. Queues may be
 * frozen. Return: 0 or -ENOMEM.
 */
int fb_folder_set_name(struct fb_folder *folder, const char *name)
{
	struct fb_folder_name *n = kmalloc(sizeof(*n), GFP_NOIO);

	if (!n)
		return -ENOMEM;
	kobject_get(&folder->kobj);
	n->folder = folder;
	strscpy(n->name, name, sizeof(n->name));
	scoped_guard(spinlock, &fb_folder_lock)
		list_add_tail(&n->node, &fb_folder_names);
	schedule_delayed_work(&fb_folder_worker, 0);
	return 0;
}

static void fb_folder_forget(struct fb_folder *folder)
{
	struct fb_folder_name *n, *next;
	LIST_HEAD(dropped);

	spin_lock(&fb_folder_lock);
	folder->gone = true;
	list_for_each_entry_safe(n, next, &fb_folder_names, node)
		if (n->folder == folder)
			list_move(&n->node, &dropped);
	spin_unlock(&fb_folder_lock);
	list_for_each_entry_safe(n, next, &dropped, node)
		fb_folder_drop(n);
}

/* Remove a disk's directories. Waits for accesses to their files: no queue of ours is frozen. */
void fb_folder_remove(struct fb_folder *folder)
{
	/* who has got its name needs it to have another one first */
	flush_delayed_work(&fb_folder_worker);
	/* without memory one is left, and may be at work again */
	fb_folder_forget(folder);
	flush_delayed_work(&fb_folder_worker);
	guard(fb_noio)(current);
	debugfs_remove_recursive(folder->debugfs);
	if (folder->kobj.state_in_sysfs)
		kobject_del(&folder->kobj);
}

/* At module init. @fill: creates a disk's files in debugfs; in sysfs they are its kobject's. */
int fb_folder_init(void (*fill)(struct fb_folder *folder))
{
	fb_folder_fill = fill;
	fb_folder_sysfs = kobject_create_and_add("freeblock", kernel_kobj);
	if (!fb_folder_sysfs)
		return -ENOMEM;
	fb_folder_debugfs = debugfs_create_dir("freeblock", NULL);
	return 0;
}

/* Undo fb_folder_init(). At module exit; all disks' directories have been removed. */
void fb_folder_exit(void)
{
	cancel_delayed_work_sync(&fb_folder_worker);
	debugfs_remove_recursive(fb_folder_debugfs);
	/* its name is free at once, whenever its last reference goes */
	kobject_del(fb_folder_sysfs);
	kobject_put(fb_folder_sysfs);
}
