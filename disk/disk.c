// SPDX-License-Identifier: GPL-2.0
/*
 * What belongs to a disk and outlives a scheduler switch.
 *
 * A struct fb_disk is made when a disk first gets the scheduler; the scheduler attaches to
 * it and detaches from it. It is found again by the device's unique id and capacity, as long
 * as the module is there, but for the oldest of many. Without an id nothing tells a device
 * that comes back from another one: then it lives as long as the gendisk.
 *
 * Calls: disk/memory.c, core/. Higher floors are told what happens to a disk through the table
 * that freeblock_main.c hands to fb_disk_init().
 * Locks: see disk/disk.h. fb_disks_mutex is taken with the queue frozen.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <scsi/scsi_device.h>

#include "disk/disk.h"
#include "disk/memory.h"
#include "include/compat/fb_compat.h"

static DEFINE_MUTEX(fb_disks_mutex);
static LIST_HEAD(fb_disks);		/* the last one detached is the last one */
static LIST_HEAD(fb_disks_lost);	/* never to be found again, for fb_disk_lost_work() */
static struct kset *fb_disk_kset;
static struct dentry *fb_disk_debugfs;
static const struct fb_disk_client *const *fb_disk_clients;

static void fb_disk_tell_changed(struct fb_disk *fd)
{
	const struct fb_disk_client *const *c;

	lockdep_assert_held(&fd->lock);
	for (c = fb_disk_clients; *c; c++)
		if ((*c)->changed)
			(*c)->changed(fd);
}

static void fb_disk_tell_gone(struct fb_disk *fd)
{
	const struct fb_disk_client *const *c;

	lockdep_assert_held(&fb_disks_mutex);
	for (c = fb_disk_clients; *c; c++)
		if ((*c)->gone)
			(*c)->gone(fd);
}

/* so many are remembered of which the gendisk is no more */
#define FB_DISKS_GONE 64

static const char fb_disk_multipath[] = "multipath member";

static void fb_disk_release(struct kobject *kobj)
{
	struct fb_disk *fd = container_of(kobj, struct fb_disk, kobj);

	dm_free(fd->model);
	kvfree(fd->text);
	kvfree(fd->upload);
	fb_memory_uncharge(&fd->upload_max, fd->upload_max);
	kfree(fd);
}

static struct kobj_type fb_disk_ktype = {
	.release = fb_disk_release,
	.sysfs_ops = &kobj_sysfs_ops,
};

/* ---- who the device is ---- */

/* blanks at either end are none of it: a model's text could not say them */
static void fb_disk_copy_id(char *to, const char *from, size_t len)
{
	size_t n = strnlen(from, min_t(size_t, len, DM_ID_LEN - 1));

	while (n && from[n - 1] == ' ')
		n--;
	for (; n && *from == ' '; from++)
		n--;
	memcpy(to, from, n);
	to[n] = '\0';
}

/**
 * fb_disk_scsi() - the SCSI device of a disk
 * @disk: the disk
 *
 * Context: any.
 *
 * Return: the device, without a reference; or NULL: it is something else.
 */
struct scsi_device *fb_disk_scsi(struct gendisk *disk)
{
	struct device *parent = disk_to_dev(disk)->parent;

	return parent && scsi_is_sdev_device(parent) ? to_scsi_device(parent) : NULL;
}

static void fb_disk_identify(struct fb_disk *fd, struct gendisk *disk)
{
	struct scsi_device *sdev = fb_disk_scsi(disk);
	u8 id[16];
	int n = 0;

	if (disk->fops->get_unique_id)
		n = disk->fops->get_unique_id(disk, id, BLK_UID_NAA);
	if (n > 0)
		snprintf(fd->id, sizeof(fd->id), "naa.%*phN", n, id);
	fd->sectors = get_capacity(disk);
	fd->diskseq = disk->diskseq;
	if (sdev) {
		fb_disk_copy_id(fd->vendor, sdev->vendor, 8);
		fb_disk_copy_id(fd->product, sdev->model, 16);
		fb_disk_copy_id(fd->revision, sdev->rev, 4);
	}
}

static bool fb_disk_on_bus(struct device *dev, const char *bus)
{
	for (; dev; dev = dev->parent)
		if (dev->bus && !strcmp(dev->bus->name, bus))
			return true;
	return false;
}

/* where rotational positions mean nothing, or are not ours to schedule */
static const char *fb_disk_unfit(struct request_queue *q)
{
	struct gendisk *disk = q->disk;

	if (!disk)
		return "no disk";
	if (blk_queue_nonrot(q))
		return "solid state";
	if (blk_queue_is_zoned(q))
		return "zoned";
	if (disk->ia_ranges)
		return "multi-actuator";
	if (!fb_disk_scsi(disk))
		return "not a SCSI or SATA disk";
	if (fb_disk_on_bus(disk_to_dev(disk)->parent, "usb"))
		return "USB bridge";
	return NULL;
}

/**
 * fb_disk_is_firmware() - is the model that of this firmware?
 * @revision: of the firmware, which may be replaced while the disk has another scheduler
 * @info: the model's
 *
 * Context: any.
 *
 * Return: whether; true if either does not say.
 */
bool fb_disk_is_firmware(const char *revision, const struct dm_info *info)
{
	return !info->revision[0] || !revision[0] || !strcmp(info->revision, revision);
}

/**
 * fb_disk_transparent() - why the scheduler does not schedule this disk
 * @fd: the disk, locked
 *
 * Context: fb_disk.lock held.
 *
 * Return: the reason, for people, to be read while the lock is held; NULL: it does.
 */
const char *fb_disk_transparent(const struct fb_disk *fd)
{
	lockdep_assert_held(&fd->lock);
	if (!fd->q)
		return "another scheduler";
	if (fd->unfit)
		return fd->unfit;
	if (!fd->model)
		return "no model";
	if (fd->doubt[0] && !fd->forced)
		return fd->doubt;
	if (fd->distrusted)
		return "completions do not fit the model: it is wrong, or a write cache is on";
	if (!fb_disk_is_firmware(fd->revision, dm_info(fd->model)))
		return "the drive's firmware is no longer the model's";
	if (fd->sectors != dm_info(fd->model)->sectors)
		return "the disk's capacity is no longer the model's";
	return NULL;
}

/**
 * fb_disk_force() - use a model that was not trusted by whoever made it, or do not
 * @fd: the disk
 * @force: do
 *
 * Holds until another model is loaded. What completions say of the model counts still.
 *
 * Context: may sleep.
 *
 * Return: 0; -ENODATA: there is no model.
 */
int fb_disk_force(struct fb_disk *fd, bool force)
{
	int ret = 0;

	mutex_lock(&fd->config);
	if (!fd->model) {
		ret = -ENODATA;
	} else if (force != fd->forced) {
		spin_lock_irq(&fd->lock);
		fd->forced = force;
		if (fd->doubt[0] && fd->model_changed)
			fd->model_changed(fd);
		fb_disk_tell_changed(fd);
		spin_unlock_irq(&fd->lock);
	}
	mutex_unlock(&fd->config);
	return ret;
}

/**
 * fb_disk_judge() - is the model still believed?
 * @fd: the disk, locked
 * @h: what completions taught
 *
 * Context: fb_disk.lock held.
 *
 * Return: true when it has just been given up.
 */
bool fb_disk_judge(struct fb_disk *fd, const struct fb_head *h)
{
	lockdep_assert_held(&fd->lock);
	if (fd->distrusted || (!fb_head_misfit(h) && !fb_seek_fit_misfit(&fd->seek_fit)))
		return false;
	fd->distrusted = true;
	return true;
}

/**
 * fb_disk_is_single() - does the device take one command at a time?
 * @fd: the disk, locked
 *
 * Context: fb_disk.lock held.
 *
 * Return: true: it does, and so has no gap to offer.
 */
bool fb_disk_is_single(const struct fb_disk *fd)
{
	struct scsi_device *sdev;

	lockdep_assert_held(&fd->lock);
	sdev = fd->q && fd->q->disk ? fb_disk_scsi(fd->q->disk) : NULL;
	return sdev && sdev->queue_depth < 2;
}

/**
 * fb_disk_busy() - commands that the device has, whoever sent them
 * @fd: the disk, locked
 *
 * Context: fb_disk.lock held.
 *
 * Return: how many; one that is about to be dispatched is among them.
 */
u32 fb_disk_busy(const struct fb_disk *fd)
{
	struct scsi_device *sdev;

	lockdep_assert_held(&fd->lock);
	sdev = fd->q && fd->q->disk ? fb_disk_scsi(fd->q->disk) : NULL;
	return sdev ? scsi_device_busy(sdev) : 0;
}

/**
 * fb_disk_get_scsi() - the attached device
 * @fd: the disk
 *
 * Context: process context, fb_disk.lock not held.
 *
 * Return: the device, with a reference for scsi_device_put(); or NULL.
 */
struct scsi_device *fb_disk_get_scsi(struct fb_disk *fd)
{
	struct scsi_device *sdev;

	spin_lock_irq(&fd->lock);
	sdev = fd->q && fd->q->disk ? fb_disk_scsi(fd->q->disk) : NULL;
	if (sdev && scsi_device_get(sdev))
		sdev = NULL;
	spin_unlock_irq(&fd->lock);
	return sdev;
}

/* ---- the list ---- */

static struct fb_disk *fb_disk_find(const struct fb_disk *like)
{
	struct fb_disk *fd;

	lockdep_assert_held(&fb_disks_mutex);
	list_for_each_entry(fd, &fb_disks, node) {
		if (fd->q || fd->sectors != like->sectors)
			continue;
		if (like->id[0] ? !strcmp(fd->id, like->id) :
				  !fd->id[0] && fd->diskseq == like->diskseq)
			return fd;
	}
	return NULL;
}

/* the kobject's new name is that of the debugfs directory too */
static void fb_disk_rename(struct fb_disk *fd, const char *name)
{
	lockdep_assert_held(&fb_disks_mutex);
	if (kobject_rename(&fd->kobj, name)) {
		pr_warn("freeblock: cannot rename %s to %s\n", fd->name, name);
		return;
	}
	spin_lock_irq(&fd->lock);
	strscpy(fd->name, name, sizeof(fd->name));
	spin_unlock_irq(&fd->lock);
	fb_compat_debugfs_rename(fb_disk_debugfs, fd->debugfs, name);
}

/* whoever comes under its name shall have it */
static void fb_disk_free_name(struct fb_disk *fd)
{
	static unsigned int gone;
	char name[FB_NAME_LEN];

	snprintf(name, sizeof(name), "%.*s.gone%u", min_t(int, strcspn(fd->name, "."), 16),
		 fd->name, ++gone);
	fb_disk_rename(fd, name);
}

/* nobody finds it any more */
static void fb_disk_end(struct fb_disk *fd)
{
	const struct fb_disk_client *const *c;

	debugfs_remove_recursive(fd->debugfs);
	kobject_del(&fd->kobj);
	for (c = fb_disk_clients; *c; c++)
		if ((*c)->exit)
			(*c)->exit(fd);
	kobject_put(&fd->kobj);
}

static struct fb_disk *fb_disk_next_lost(void)
{
	struct fb_disk *fd;

	mutex_lock(&fb_disks_mutex);
	fd = list_first_entry_or_null(&fb_disks_lost, struct fb_disk, node);
	if (fd)
		list_del(&fd->node);
	mutex_unlock(&fb_disks_mutex);
	return fd;
}

/* waits for those who are in its files, and for scan and scrub: not where a queue is frozen */
static void fb_disk_lost_work(struct work_struct *work)
{
	struct fb_disk *fd;

	while ((fd = fb_disk_next_lost()))
		fb_disk_end(fd);
}

static DECLARE_WORK(fb_disk_lost, fb_disk_lost_work);

/* tasks that others made wait for their owners, and keep it until then */
static void fb_disk_lose(struct fb_disk *fd)
{
	fb_disk_free_name(fd);
	list_move_tail(&fd->node, &fb_disks_lost);
	schedule_work(&fb_disk_lost);
}

/* of disks that may come back the oldest are forgotten, but for those with tasks */
static void fb_disk_cull(void)
{
	struct fb_disk *fd, *next;
	u32 n = 0;

	list_for_each_entry(fd, &fb_disks, node)
		n += fd->gone;
	list_for_each_entry_safe(fd, next, &fb_disks, node) {
		if (n <= FB_DISKS_GONE)
			return;
		if (!fd->gone || fd->q || READ_ONCE(fd->cov))
			continue;
		fb_disk_lose(fd);
		n--;
	}
}

/* its gendisk is no more */
static void fb_disk_retire(struct fb_disk *fd)
{
	lockdep_assert_held(&fb_disks_mutex);
	fd->gone = true;
	fb_disk_tell_gone(fd);
	if (fd->q)
		return;
	if (fd->id[0])
		fb_disk_cull();
	else
		fb_disk_lose(fd);
}

/* a name that a disk which is gone still bears is free for its successor */
static void fb_disk_yield_name(const char *name, const struct fb_disk *to)
{
	struct fb_disk *fd;

	lockdep_assert_held(&fb_disks_mutex);
	list_for_each_entry(fd, &fb_disks, node) {
		if (fd == to || strcmp(fd->name, name))
			continue;
		fb_disk_retire(fd);
		if (!strcmp(fd->name, name))
			fb_disk_free_name(fd);
		return;
	}
}

/* an attached disk with the same id: another path to it, and nobody knows who reads what */
static struct fb_disk *fb_disk_twin(const struct fb_disk *like)
{
	struct fb_disk *fd;

	lockdep_assert_held(&fb_disks_mutex);
	list_for_each_entry(fd, &fb_disks, node)
		if (fd->q && like->id[0] && !strcmp(fd->id, like->id))
			return fd;
	return NULL;
}

static void fb_disk_set_unfit(struct fb_disk *fd, const char *why)
{
	lockdep_assert_held(&fb_disks_mutex);
	if (fd->unfit == why)
		return;
	spin_lock_irq(&fd->lock);
	fd->unfit = why;
	if (fd->model)
		fd->model_changed(fd);
	fb_disk_tell_changed(fd);
	spin_unlock_irq(&fd->lock);
}

/* @path has gone: if one path is left, it is that of an ordinary disk again */
static void fb_disk_free_twin(const struct fb_disk *path)
{
	struct fb_disk *twin = fb_disk_twin(path), *fd;

	list_for_each_entry(fd, &fb_disks, node)
		if (fd != twin && fd->q && !strcmp(fd->id, path->id))
			return;
	if (twin)
		fb_disk_set_unfit(twin, fb_disk_unfit(twin->q));
}

static struct fb_disk *fb_disk_new(const struct fb_disk *like, const char *name)
{
	struct fb_disk *fd = kzalloc(sizeof(*fd), GFP_KERNEL);
	const struct fb_disk_client *const *c;

	if (!fd)
		return NULL;
	strscpy(fd->name, name, sizeof(fd->name));
	strscpy(fd->id, like->id, sizeof(fd->id));
	strscpy(fd->vendor, like->vendor, sizeof(fd->vendor));
	strscpy(fd->product, like->product, sizeof(fd->product));
	fd->sectors = like->sectors;
	fd->diskseq = like->diskseq;
	mutex_init(&fd->life);
	mutex_init(&fd->config);
	spin_lock_init(&fd->lock);
	init_waitqueue_head(&fd->wait);
	fb_guard_init(&fd->guard);
	fb_lookahead_init(&fd->lookahead);
	strscpy(fd->model_status, "none\n", sizeof(fd->model_status));
	fd->kobj.kset = fb_disk_kset;
	fb_disk_yield_name(name, NULL);
	fd->debugfs = debugfs_create_dir(name, fb_disk_debugfs);
	for (c = fb_disk_clients; *c; c++)
		if ((*c)->init)
			(*c)->init(fd);
	if (kobject_init_and_add(&fd->kobj, &fb_disk_ktype, NULL, "%s", name)) {
		debugfs_remove_recursive(fd->debugfs);
		kobject_put(&fd->kobj);
		return NULL;
	}
	list_add_tail(&fd->node, &fb_disks);
	return fd;
}

/* it is here again, perhaps under another name */
static void fb_disk_adopt_name(struct fb_disk *fd, const char *name)
{
	fd->gone = false;
	if (!strcmp(fd->name, name))
		return;
	fb_disk_yield_name(name, fd);
	fb_disk_rename(fd, name);
}

/**
 * fb_disk_attach() - a scheduler takes over a disk
 * @q: its queue
 * @sched: the scheduler's own, for @model_changed
 * @head: its head and phase, to be read with the lock held until it detaches
 * @model_changed: called with fb_disk.lock held when fb_disk.model has been replaced
 *
 * Context: init_sched: may sleep, queue frozen, inside memalloc_noio_save().
 *
 * Return: the disk, detached from any other queue; NULL: no memory.
 */
struct fb_disk *fb_disk_attach(struct request_queue *q, void *sched, const struct fb_head *head,
			       void (*model_changed)(struct fb_disk *fd))
{
	struct gendisk *disk = q->disk;
	const char *name = disk ? disk->disk_name : "unnamed";
	struct fb_disk *like = kzalloc(sizeof(*like), GFP_KERNEL);
	const struct fb_disk_client *const *c;
	struct fb_disk *fd, *twin;

	if (!like)
		return NULL;
	if (disk)
		fb_disk_identify(like, disk);
	mutex_lock(&fb_disks_mutex);
	twin = fb_disk_twin(like);
	fd = fb_disk_find(like);
	if (fd)
		fb_disk_adopt_name(fd, name);
	else
		fd = fb_disk_new(like, name);
	if (fd) {
		kobject_get(&fd->kobj);
		if (twin)
			fb_disk_set_unfit(twin, fb_disk_multipath);
		for (c = fb_disk_clients; *c; c++)
			if ((*c)->attach)
				(*c)->attach(fd, disk);
		spin_lock_irq(&fd->lock);
		fd->sched = sched;
		fd->head = head;
		fd->model_changed = model_changed;
		fd->unfit = twin ? fb_disk_multipath : fb_disk_unfit(q);
		fd->bdev = disk ? disk->part0 : NULL;
		/* who chooses the scheduler anew wants the model judged anew */
		if (fd->distrusted && fd->model)
			fb_seek_fit_forget(&fd->seek_fit, fd->model);
		fd->distrusted = false;
		strscpy(fd->revision, like->revision, sizeof(fd->revision));
		fd->q = q;
		fb_disk_tell_changed(fd);
		spin_unlock_irq(&fd->lock);
	}
	mutex_unlock(&fb_disks_mutex);
	kfree(like);
	return fd;
}

/**
 * fb_disk_detach() - the scheduler lets go of the disk; its tasks are suspended
 * @fd: the disk
 *
 * Context: exit_sched: may sleep, queue frozen.
 */
void fb_disk_detach(struct fb_disk *fd)
{
	const struct gendisk *disk = fd->q->disk;
	const struct fb_disk_client *const *c;
	unsigned int noio = memalloc_noio_save();

	mutex_lock(&fb_disks_mutex);
	spin_lock_irq(&fd->lock);
	fd->q = NULL;
	fd->bdev = NULL;
	fd->sched = NULL;
	fd->head = NULL;
	fd->model_changed = NULL;
	fb_disk_tell_changed(fd);
	spin_unlock_irq(&fd->lock);
	for (c = fb_disk_clients; *c; c++)
		if ((*c)->detached)
			(*c)->detached(fd);
	fb_disk_free_twin(fd);
	list_move_tail(&fd->node, &fb_disks);
	if (!disk || test_bit(GD_DEAD, &disk->state))
		fb_disk_retire(fd);
	mutex_unlock(&fb_disks_mutex);
	memalloc_noio_restore(noio);
	kobject_put(&fd->kobj);
}

/**
 * fb_disk_get() - the disk of that name, with a reference
 * @name: as in /sys/kernel/freeblock
 *
 * Context: may sleep; no queue of ours is frozen.
 *
 * Return: the disk, for fb_disk_put(); or NULL.
 */
struct fb_disk *fb_disk_get(const char *name)
{
	struct fb_disk *fd, *found = NULL;

	/* kset_find_obj() would read names that a rename frees */
	mutex_lock(&fb_disks_mutex);
	list_for_each_entry(fd, &fb_disks, node) {
		if (strcmp(fd->name, name))
			continue;
		kobject_get(&fd->kobj);
		found = fd;
		break;
	}
	mutex_unlock(&fb_disks_mutex);
	return found;
}

/**
 * fb_disk_put() - give back the reference of fb_disk_get()
 * @fd: the disk
 *
 * Context: may sleep.
 */
void fb_disk_put(struct fb_disk *fd)
{
	kobject_put(&fd->kobj);
}

/**
 * fb_disk_copy_name() - a disk's name, which may change when disks come and go
 * @fd: the disk
 * @name: filled
 * @size: its size
 *
 * Context: any, fb_disk.lock not held. Who holds it reads fb_disk.name.
 */
void fb_disk_copy_name(struct fb_disk *fd, char *name, size_t size)
{
	unsigned long flags;

	spin_lock_irqsave(&fd->lock, flags);
	strscpy(name, fd->name, size);
	spin_unlock_irqrestore(&fd->lock, flags);
}

/**
 * fb_disk_uevent() - a change uevent of the disk, if it is attached: <what>=<value>
 * @fd: the disk
 * @what: the name
 * @value: the value
 *
 * Context: may sleep; does no I/O.
 */
void fb_disk_uevent(struct fb_disk *fd, const char *what, u64 value)
{
	unsigned int noio = memalloc_noio_save();
	char text[64], *env[2] = { text };
	struct device *dev = NULL;

	snprintf(text, sizeof(text), "%s=%llu", what, value);
	spin_lock_irq(&fd->lock);
	if (fd->q && fd->q->disk)
		dev = get_device(disk_to_dev(fd->q->disk));
	spin_unlock_irq(&fd->lock);
	if (dev)
		kobject_uevent_env(&dev->kobj, KOBJ_CHANGE, env);
	put_device(dev);
	memalloc_noio_restore(noio);
}

/* ---- the model ---- */

/**
 * fb_disk_swap_model() - put a model in force
 * @fd: the disk, without tasks
 * @dm: the model, from now on the disk's
 * @same: its text is that of the model in force, whose force goes on
 *
 * Context: fb_disk.config held; may sleep.
 */
void fb_disk_swap_model(struct fb_disk *fd, struct disk_model *dm, bool same)
{
	const struct dm_info *info = dm_info(dm);
	const struct fb_disk_client *const *c;
	struct disk_model *old;

	spin_lock_irq(&fd->lock);
	old = fd->model;
	fd->model = dm;
	fd->distrusted = false;
	fd->forced = fd->forced && same;
	fd->doubt[0] = '\0';
	if (info->distrusted[0])
		snprintf(fd->doubt, sizeof(fd->doubt), "the model is distrusted: %s",
			 info->distrusted);
	fb_conservatism_init(&fd->conservatism, dm_period_ns(dm), FB_CONSERVATISM_TARGET_PPM);
	fb_conservatism_expect(&fd->conservatism, dm);
	fb_seek_fit_init(&fd->seek_fit, dm);
	fb_guard_init(&fd->guard);
	for (c = fb_disk_clients; *c; c++)
		if ((*c)->model_swapped)
			(*c)->model_swapped(fd);
	if (fd->model_changed)
		fd->model_changed(fd);
	spin_unlock_irq(&fd->lock);
	dm_free(old);
}

/**
 * fb_disk_correct() - give the model what was learnt of its seek times, if that is due
 * @fd: the disk, with a model
 *
 * Context: the tasks' thread, which does not search meanwhile: seek times are reckoned with
 * under fb_disk.lock, and by that thread without it.
 */
void fb_disk_correct(struct fb_disk *fd)
{
	u64 now = ktime_get_ns();

	spin_lock_irq(&fd->lock);
	if (fb_seek_fit_due(&fd->seek_fit, now))
		fb_seek_fit_apply(&fd->seek_fit, now, fd->model);
	spin_unlock_irq(&fd->lock);
}

/* ---- module ---- */

/**
 * fb_disk_init() - the directories of disks
 * @clients: who is told of disks, up to a NULL; in this order
 * @groups: the files of a disk
 *
 * Context: module init.
 *
 * Return: 0 or why not.
 */
int fb_disk_init(const struct fb_disk_client *const *clients,
		 const struct attribute_group **groups)
{
	fb_disk_clients = clients;
	fb_disk_ktype.default_groups = groups;
	fb_disk_kset = kset_create_and_add("freeblock", NULL, kernel_kobj);
	if (!fb_disk_kset)
		return -ENOMEM;
	fb_disk_debugfs = debugfs_create_dir("freeblock", NULL);
	return 0;
}

/**
 * fb_disk_exit() - stop all tasks, forget all disks
 *
 * Context: module exit: no scheduler is attached. Stores are waited for before the tasks
 * they could start are stopped.
 */
void fb_disk_exit(void)
{
	mutex_lock(&fb_disks_mutex);
	list_splice_tail_init(&fb_disks, &fb_disks_lost);
	mutex_unlock(&fb_disks_mutex);
	schedule_work(&fb_disk_lost);
	flush_work(&fb_disk_lost);
	debugfs_remove_recursive(fb_disk_debugfs);
	kset_unregister(fb_disk_kset);
}
