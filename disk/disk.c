// SPDX-License-Identifier: GPL-2.0
/*
 * The state of a disk, found again by unique id and capacity after a scheduler switch
 * (Documentation/design.rst, Lifetime). Locks: see disk/disk.h.
 */
#include <linux/cpuhotplug.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <scsi/scsi_device.h>

#include "disk/disk.h"
#include "include/compat/fb_compat.h"

static DEFINE_MUTEX(fb_disks_mutex);
static LIST_HEAD(fb_disks);		/* the one detached last is at the end */
static LIST_HEAD(fb_disks_lost);	/* no longer found; fb_disk_lost_work() ends them */
static const struct fb_disk_client *const *fb_disk_clients;
static enum cpuhp_state fb_disk_hotplug;

/* block_class and disk_type, not exported; NULL until a scheduler attaches; under fb_disks_mutex */
static FB_COMPAT_CLASS *fb_disk_class;
static const struct device_type *fb_disk_type;

/* call a function of all clients */
#define fb_disk_tell(what, disk, ...) do {						\
	const struct fb_disk_client *const *_c;						\
											\
	for (_c = fb_disk_clients; *_c; _c++)						\
		if ((*_c)->what)							\
			(*_c)->what(disk, ##__VA_ARGS__);					\
} while (0)

/* Tell the scheduler that tasks have begun to want blocks, or no longer do. */
void fb_disk_tell_wants(struct fb_disk *disk)
{
	lockdep_assert_held(&disk->lock);
	if (disk->sched_ops)
		disk->sched_ops->wants_changed(disk);
}

/* Tell all that another part of what is known of a disk is used now. Under fb_disk.lock. */
void fb_disk_level_changed(struct fb_disk *disk)
{
	lockdep_assert_held(&disk->lock);
	if (disk->model && disk->sched_ops)
		disk->sched_ops->model_changed(disk);
	fb_disk_tell(changed, disk);
}

/* Tell all that the model has been replaced. Under fb_disk.lock. */
void fb_disk_model_swapped(struct fb_disk *disk)
{
	lockdep_assert_held(&disk->lock);
	fb_disk_tell(model_swapped, disk);
	if (disk->sched_ops)
		disk->sched_ops->model_changed(disk);
}

/* the number of disks without a gendisk that are remembered */
#define FB_DISKS_GONE 64

static const char fb_disk_multipath[] = "multipath member";

static void fb_disk_release(struct kobject *kobj)
{
	struct fb_disk *disk = container_of(kobj, struct fb_disk, folder.kobj);

	dm_free(disk->model);
	dm_free(disk->next_model);
	kvfree(disk->table);
	kvfree(disk->upload);
	fb_memory_uncharge(&disk->upload_charged, disk->upload_charged);
	kvfree(disk);
}

static struct kobj_type fb_disk_ktype = {
	.release = fb_disk_release,
	.sysfs_ops = &kobj_sysfs_ops,
};

/* ---- the identity of the device ---- */

#define FB_DISK_LARGE BIT_ULL(31)
#define FB_DISK_SMALL_GRANULE 8U
#define FB_DISK_LARGE_GRANULE 256U
#define FB_DISK_MOST_GRANULE 2048U
#define FB_DISK_GRANULES BIT_ULL(27)	/* so that a map stays below 16 MiB */

/* Strip blanks at both ends, which a model's text cannot express. */
static void fb_disk_copy_id(char *to, const char *from, size_t len)
{
	char text[DM_ID_LEN];

	snprintf(text, sizeof(text), "%.*s", (int)len, from);
	strscpy(to, strim(text), DM_ID_LEN);
}

/* The SCSI device of a disk, or of NULL, without a reference; NULL: it is none. */
struct scsi_device *fb_disk_scsi(struct gendisk *gd)
{
	struct device *parent = gd ? disk_to_dev(gd)->parent : NULL;

	return parent && scsi_is_sdev_device(parent) ? to_scsi_device(parent) : NULL;
}

/* That of an attached disk. Under fb_disk.lock. */
struct scsi_device *fb_disk_sdev(const struct fb_disk *disk)
{
	lockdep_assert_held(&disk->lock);
	return disk->q ? fb_disk_scsi(disk->q->disk) : NULL;
}

static void fb_disk_identify(struct fb_disk *disk, struct gendisk *gd)
{
	struct scsi_device *sdev = fb_disk_scsi(gd);
	u32 granule;
	u8 id[16];
	int n = 0;

	if (gd->fops->get_unique_id)
		n = gd->fops->get_unique_id(gd, id, BLK_UID_NAA);
	if (n > 0)
		snprintf(disk->id, sizeof(disk->id), "naa.%*phN", n, id);
	disk->sectors = get_capacity(gd);
	/* as extraction chooses them: what was covered stays so when there is a model */
	granule = disk->sectors < FB_DISK_LARGE ? FB_DISK_SMALL_GRANULE : FB_DISK_LARGE_GRANULE;
	granule = max(granule, queue_physical_block_size(gd->queue) >> SECTOR_SHIFT);
	while (disk->sectors > FB_DISK_GRANULES * granule && granule < FB_DISK_MOST_GRANULE)
		granule *= 2;
	disk->granule = granule;
	disk->diskseq = gd->diskseq;
	if (sdev) {
		fb_disk_copy_id(disk->vendor, sdev->vendor, 8);
		fb_disk_copy_id(disk->product, sdev->model, 16);
		fb_disk_copy_id(disk->revision, sdev->rev, 4);
	}
}

static const char *fb_disk_unfit(struct request_queue *q)
{
	if (!q->disk)
		return "no disk";
	return fb_compat_is_flash(q) ? "solid state" : NULL;
}

/* Say why no map can be used, though idle time can; NULL: one can. */
static const char *fb_disk_mapless(struct gendisk *gd)
{
	const struct device *dev;

	if (!gd)
		return NULL;
	if (blk_queue_is_zoned(gd->queue))
		return "zoned";
	if (gd->ia_ranges)
		return "multi-actuator";
	if (!fb_disk_scsi(gd))
		return "not a SCSI or SATA disk";
	for (dev = disk_to_dev(gd)->parent; dev; dev = dev->parent)
		if (dev->bus && !strcmp(dev->bus->name, "usb"))
			return "USB bridge";
	return NULL;
}

/* Is the model for this firmware revision? True also if either is unknown. */
bool fb_disk_is_firmware(const char *revision, const struct dm_info *info)
{
	return !info->revision[0] || !revision[0] || !strcmp(info->revision, revision);
}

/* Use a model its maker distrusted, or no longer; finds the phase anew. 0; -ENODATA: no model. */
int fb_disk_force(struct fb_disk *disk, u32 force)
{
	guard(mutex)(&disk->config);
	guard(spinlock_irq)(&disk->lock);
	if (!disk->model)
		return -ENODATA;
	if (force || disk->forced) {
		disk->forced = force;
		fb_phase_init(&disk->phase);
		fb_disk_level_changed(disk);
	}
	return 0;
}

/* Distrust the model if completions contradict it. Return: true if this call has begun to. */
bool fb_disk_judge(struct fb_disk *disk, const struct fb_head *h)
{
	lockdep_assert_held(&disk->lock);
	if (disk->distrusted || (!fb_head_misfit(h) && !fb_seek_fit_misfit(&disk->seek_fit)))
		return false;
	disk->distrusted = true;
	fb_disk_tell(changed, disk);
	return true;
}

/* The attached SCSI device, for scsi_device_put(); or NULL. fb_disk.lock not held. */
struct scsi_device *fb_disk_get_scsi(struct fb_disk *disk)
{
	struct scsi_device *sdev;

	guard(spinlock_irq)(&disk->lock);
	sdev = fb_disk_sdev(disk);
	if (sdev && scsi_device_get(sdev))
		sdev = NULL;
	return sdev;
}

/* ---- messages that are due under the lock; a console may take milliseconds for a line ---- */

static void fb_disk_say_work(struct work_struct *work)
{
	struct fb_disk *disk = container_of(work, struct fb_disk, say.work);
	const char *due[FB_DISK_SAY];
	char name[FB_NAME_LEN];
	u32 i;

	spin_lock_irq(&disk->lock);
	memcpy(due, disk->say.due, sizeof(due));
	memset(disk->say.due, 0, sizeof(due));
	strscpy(name, disk->name, sizeof(name));
	spin_unlock_irq(&disk->lock);
	for (i = 0; i < FB_DISK_SAY && due[i]; i++)
		pr_notice("freeblock: %s: %s\n", name, due[i]);
}

/* Have a constant text printed soon, once if it is said again before. */
void fb_disk_say(struct fb_disk *disk, const char *text)
{
	u32 i = 0;

	lockdep_assert_held(&disk->lock);
	while (i < FB_DISK_SAY && disk->say.due[i] && disk->say.due[i] != text)
		i++;
	if (i < FB_DISK_SAY)
		disk->say.due[i] = text;
	schedule_work(&disk->say.work);
}

/* ---- the list ---- */

static struct fb_disk *fb_disk_find(const struct fb_disk *like)
{
	struct fb_disk *disk;

	lockdep_assert_held(&fb_disks_mutex);
	list_for_each_entry(disk, &fb_disks, node) {
		if (disk->q || disk->sectors != like->sectors)
			continue;
		if (like->id[0] ? !strcmp(disk->id, like->id) :
				  !disk->id[0] && disk->diskseq == like->diskseq)
			return disk;
	}
	return NULL;
}

static int fb_disk_set_name(struct fb_disk *disk, const char *name)
{
	int ret;

	lockdep_assert_held(&fb_disks_mutex);
	ret = fb_folder_set_name(&disk->folder, name);
	if (ret) {
		pr_warn("freeblock: no memory to call a disk %s\n", name);
		return ret;
	}
	guard(spinlock_irq)(&disk->lock);
	strscpy(disk->name, name, sizeof(disk->name));
	return 0;
}

/* Free its name for a disk that comes under it. */
static int fb_disk_free_name(struct fb_disk *disk)
{
	static unsigned int gone;
	char name[FB_NAME_LEN];

	snprintf(name, sizeof(name), "%.*s.gone%u", min_t(int, strcspn(disk->name, "."), 16),
		 disk->name, ++gone);
	return fb_disk_set_name(disk, name);
}

static struct fb_disk *fb_disk_next_lost(void)
{
	struct fb_disk *disk;

	guard(mutex)(&fb_disks_mutex);
	disk = list_first_entry_or_null(&fb_disks_lost, struct fb_disk, node);
	if (disk)
		list_del(&disk->node);
	return disk;
}

/* Waits for accesses to the disk's files, scan and scrub, so it must not run in a queue freeze. */
static void fb_disk_lost_work(struct work_struct *work)
{
	struct fb_disk *disk;

	while ((disk = fb_disk_next_lost())) {
		fb_folder_remove(&disk->folder);
		fb_disk_tell(exit, disk);
		/* no scheduler is attached: nothing is said any more */
		flush_work(&disk->say.work);
		kobject_put(&disk->folder.kobj);
	}
}

static DECLARE_WORK(fb_disk_lost, fb_disk_lost_work);

/* Tasks of other modules stay until their owners destroy them, and keep the disk until then. */
static void fb_disk_lose(struct fb_disk *disk)
{
	fb_disk_free_name(disk);
	list_move_tail(&disk->node, &fb_disks_lost);
	schedule_work(&fb_disk_lost);
}

/* Forget the oldest disks that are gone but may come back, except those with tasks. */
static void fb_disk_cull(void)
{
	struct fb_disk *disk, *next;
	u32 n = 0;

	list_for_each_entry(disk, &fb_disks, node)
		n += disk->gone;
	list_for_each_entry_safe(disk, next, &fb_disks, node) {
		if (n <= FB_DISKS_GONE)
			return;
		if (!disk->gone || disk->q || READ_ONCE(disk->cov))
			continue;
		fb_disk_lose(disk);
		n--;
	}
}

static void fb_disk_set_gone(struct fb_disk *disk, bool gone)
{
	lockdep_assert_held(&fb_disks_mutex);
	guard(spinlock_irq)(&disk->lock);
	WRITE_ONCE(disk->gone, gone);
	fb_disk_tell(changed, disk);
	wake_up(&disk->wait);
}

static void fb_disk_retire(struct fb_disk *disk)
{
	lockdep_assert_held(&fb_disks_mutex);
	fb_disk_set_gone(disk, true);
	if (disk->q)
		return;
	if (disk->id[0])
		fb_disk_cull();
	else
		fb_disk_lose(disk);
}

static int fb_disk_yield_name(const char *name)
{
	struct fb_disk *disk;

	lockdep_assert_held(&fb_disks_mutex);
	list_for_each_entry(disk, &fb_disks, node) {
		if (strcmp(disk->name, name))
			continue;
		fb_disk_retire(disk);
		return strcmp(disk->name, name) ? 0 : fb_disk_free_name(disk);
	}
	return 0;
}

/* Find an attached disk with the same id: another path, whose commands the first cannot see. */
static struct fb_disk *fb_disk_twin(const struct fb_disk *like)
{
	struct fb_disk *disk;

	lockdep_assert_held(&fb_disks_mutex);
	list_for_each_entry(disk, &fb_disks, node)
		if (disk->q && like->id[0] && !strcmp(disk->id, like->id))
			return disk;
	return NULL;
}

static void fb_disk_set_unfit(struct fb_disk *disk, const char *why)
{
	lockdep_assert_held(&fb_disks_mutex);
	if (disk->unfit == why)
		return;
	guard(spinlock_irq)(&disk->lock);
	disk->unfit = why;
	fb_disk_level_changed(disk);
}

/* @path has gone: if a single path is left, it is an ordinary disk again. */
static void fb_disk_free_twin(const struct fb_disk *path)
{
	struct fb_disk *twin = fb_disk_twin(path), *disk;

	list_for_each_entry(disk, &fb_disks, node)
		if (disk != twin && disk->q && !strcmp(disk->id, path->id))
			return;
	if (twin)
		fb_disk_set_unfit(twin, fb_disk_unfit(twin->q));
}

static int fb_disk_add(struct fb_disk *disk, const char *name)
{
	int ret;

	kobject_init(&disk->folder.kobj, &fb_disk_ktype);
	mutex_init(&disk->life);
	mutex_init(&disk->config);
	spin_lock_init(&disk->lock);
	init_waitqueue_head(&disk->wait);
	fb_guard_init(&disk->guard);
	fb_lookahead_init(&disk->lookahead);
	fb_quarantine_init(&disk->quarantine);
	strscpy(disk->model_status, "none", sizeof(disk->model_status));
	INIT_WORK(&disk->say.work, fb_disk_say_work);
	fb_disk_tell(init, disk);
	ret = fb_disk_yield_name(name);
	ret = ret ? ret : fb_disk_set_name(disk, name);
	if (!ret)
		list_add_tail(&disk->node, &fb_disks);
	return ret;
}

static int fb_disk_adopt_name(struct fb_disk *disk, const char *name)
{
	int ret;

	fb_disk_set_gone(disk, false);	/* lest this one is forgotten for its name */
	ret = strcmp(disk->name, name) ? fb_disk_yield_name(name) : 0;
	ret = ret ? ret : fb_disk_set_name(disk, name);
	if (ret)
		fb_disk_set_gone(disk, true);
	return ret;
}

static void fb_disk_attach_locked(struct fb_disk *disk, struct request_queue *q, bool twin)
{
	struct gendisk *gd = q->disk;

	lockdep_assert_held(&disk->lock);
	disk->unfit = twin ? fb_disk_multipath : fb_disk_unfit(q);
	disk->mapless = fb_disk_mapless(gd);
	disk->zone_sectors = blk_queue_is_zoned(q) ? q->limits.chunk_sectors : 0;
	disk->bdev = gd ? gd->part0 : NULL;
	/* Selecting the scheduler again asks for a new judgement of the model. */
	if (disk->distrusted && disk->model)
		fb_seek_fit_forget(&disk->seek_fit, disk->model);
	disk->distrusted = false;
	fb_phase_init(&disk->phase);
	disk->q = q;
	fb_disk_tell(changed, disk);
}

/*
 * A scheduler takes over a disk, and may be told of things before this returns. @head: valid until
 * it detaches. May sleep, queue frozen. Return: the disk, for fb_disk_put(); NULL: no memory.
 */
struct fb_disk *fb_disk_attach(struct request_queue *q, void *sched, const struct fb_head *head,
			       const struct fb_disk_sched_ops *ops)
{
	struct gendisk *gd = q->disk;
	const char *name = gd ? gd->disk_name : "unnamed";
	/* it has more than eight pages, which may well not be there in one piece */
	struct fb_disk *like = kvzalloc(sizeof(*like), GFP_KERNEL);
	struct fb_disk *disk, *twin;
	int ret;

	if (!like)
		return NULL;
	if (gd)
		fb_disk_identify(like, gd);
	mutex_lock(&fb_disks_mutex);
	if (gd) {
		fb_disk_class = disk_to_dev(gd)->class;
		fb_disk_type = disk_to_dev(gd)->type;
	}
	twin = fb_disk_twin(like);
	disk = fb_disk_find(like) ?: like;
	ret = disk == like ? fb_disk_add(disk, name) : fb_disk_adopt_name(disk, name);
	if (!ret) {
		kobject_get(&disk->folder.kobj);
		disk->diskseq = like->diskseq;
		if (twin)
			fb_disk_set_unfit(twin, fb_disk_multipath);
		fb_disk_tell(attach, disk, gd);
		spin_lock_irq(&disk->lock);
		strscpy(disk->revision, like->revision, sizeof(disk->revision));
		disk->sched = sched;
		disk->head = head;
		disk->sched_ops = ops;
		fb_disk_attach_locked(disk, q, twin);
		spin_unlock_irq(&disk->lock);
	}
	mutex_unlock(&fb_disks_mutex);
	if (ret && disk == like)
		fb_disk_put(like);
	else if (disk != like)
		kvfree(like);
	return ret ? NULL : disk;
}

/* Detach the scheduler; its reference stays. May sleep, queue frozen. */
void fb_disk_detach(struct fb_disk *disk)
{
	const struct gendisk *gd = disk->q->disk;

	guard(fb_noio)(current);
	guard(mutex)(&fb_disks_mutex);
	spin_lock_irq(&disk->lock);
	disk->q = NULL;
	disk->bdev = NULL;
	disk->sched = NULL;
	disk->head = NULL;
	disk->sched_ops = NULL;
	fb_disk_tell(changed, disk);
	spin_unlock_irq(&disk->lock);
	fb_disk_tell(detached, disk);
	fb_disk_free_twin(disk);
	list_move_tail(&disk->node, &fb_disks);
	if (!gd || test_bit(GD_DEAD, &gd->state))
		fb_disk_retire(disk);
}

/* Another path to the same drive has a disk of its own while both are attached. */
static bool fb_disk_is(const struct fb_disk *disk, const struct gendisk *gd)
{
	lockdep_assert_held(&fb_disks_mutex);
	return disk->q ? disk->q->disk == gd : !disk->gone && disk->diskseq == gd->diskseq;
}

/* The disk of a block device, for fb_disk_put(), or NULL. May sleep; no queue of ours is frozen. */
struct fb_disk *fb_disk_get(const struct gendisk *gd)
{
	struct fb_disk *disk;

	if (test_bit(GD_DEAD, &gd->state))
		return NULL;
	guard(mutex)(&fb_disks_mutex);
	list_for_each_entry(disk, &fb_disks, node) {
		if (fb_disk_is(disk, gd)) {
			kobject_get(&disk->folder.kobj);
			return disk;
		}
	}
	return NULL;
}

static int fb_disk_is_device(struct device *dev, const void *disk)
{
	lockdep_assert_held(&fb_disks_mutex);
	return dev->type == fb_disk_type && fb_disk_is(disk, dev_to_disk(dev));
}

/* The block device's disk, for put_disk(); NULL: gone. May sleep; no queue of ours is frozen. */
struct gendisk *fb_disk_gendisk(const struct fb_disk *disk)
{
	struct device *dev = NULL;

	guard(mutex)(&fb_disks_mutex);
	if (fb_disk_class)
		dev = class_find_device(fb_disk_class, NULL, disk, fb_disk_is_device);
	return dev ? dev_to_disk(dev) : NULL;
}

/* Give back the reference of fb_disk_get() or fb_disk_attach(). May sleep. */
void fb_disk_put(struct fb_disk *disk)
{
	kobject_put(&disk->folder.kobj);
}

/* A disk's name changes when disks come and go. Under fb_disk.lock read fb_disk.name instead. */
void fb_disk_copy_name(struct fb_disk *disk, char *name, size_t size)
{
	guard(spinlock_irqsave)(&disk->lock);
	strscpy(name, disk->name, size);
}

/* Send a change uevent <what>=<value> for the disk, if it is attached. May sleep; does no I/O. */
void fb_disk_uevent(struct fb_disk *disk, const char *what, u64 value)
{
	char text[64], *env[2] = { text };
	struct device *dev = NULL;

	guard(fb_noio)(current);
	snprintf(text, sizeof(text), "%s=%llu", what, value);
	spin_lock_irq(&disk->lock);
	if (disk->q && disk->q->disk)
		dev = get_device(disk_to_dev(disk->q->disk));
	spin_unlock_irq(&disk->lock);
	if (dev)
		kobject_uevent_env(&dev->kobj, KOBJ_CHANGE, env);
	put_device(dev);
}

/* ---- module ---- */

static void fb_disk_fill_folder(struct fb_folder *folder)
{
	struct fb_disk *disk = container_of(folder, struct fb_disk, folder);

	fb_disk_tell(fill, disk);
}

/* Called before blk-mq waits for the requests of a hardware queue that loses its last CPU. */
static int fb_disk_cpu_offline(unsigned int cpu)
{
	struct fb_disk *disk;

	guard(mutex)(&fb_disks_mutex);
	list_for_each_entry(disk, &fb_disks, node)
		fb_disk_tell(cpu_offline, disk);
	return 0;
}

/* At module init. @clients: called in this order; ends with NULL. Return: 0, -ENOMEM or -ENOSPC. */
int fb_disk_init(const struct fb_disk_client *const *clients, const struct attribute_group **groups)
{
	int ret;

	fb_disk_clients = clients;
	fb_disk_ktype.default_groups = groups;
	ret = fb_folder_init(fb_disk_fill_folder);
	if (ret)
		return ret;
	/* Dynamic states are left before CPUHP_AP_BLK_MQ_ONLINE. */
	ret = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "block/freeblock:online", NULL,
					fb_disk_cpu_offline);
	if (ret < 0) {
		fb_folder_exit();
		return ret;
	}
	fb_disk_hotplug = ret;
	return 0;
}

/* At module exit: no scheduler is attached. Waits for stores to files, then stops the tasks. */
void fb_disk_exit(void)
{
	cpuhp_remove_state_nocalls(fb_disk_hotplug);
	scoped_guard(mutex, &fb_disks_mutex)
		list_splice_tail_init(&fb_disks, &fb_disks_lost);
	schedule_work(&fb_disk_lost);
	flush_work(&fb_disk_lost);
	fb_folder_exit();
}
