// SPDX-License-Identifier: GPL-2.0
/*
 * The state of a disk that outlives a scheduler switch: it is found again by unique id and
 * capacity (Documentation/design.rst, Lifetime). Locks: see disk/disk.h.
 */
#include <linux/cpuhotplug.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
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
#define fb_disk_tell(what, fd, ...) do {						\
	const struct fb_disk_client *const *_c;						\
											\
	for (_c = fb_disk_clients; *_c; _c++)						\
		if ((*_c)->what)							\
			(*_c)->what(fd, ##__VA_ARGS__);					\
} while (0)

static void fb_disk_tell_changed(struct fb_disk *fd)
{
	lockdep_assert_held(&fd->lock);
	fb_disk_tell(changed, fd);
}

static void fb_disk_tell_model(struct fb_disk *fd)
{
	lockdep_assert_held(&fd->lock);
	if (fd->sched_ops)
		fd->sched_ops->model_changed(fd);
}

/* Tell the scheduler that tasks have begun to want blocks, or no longer do. */
void fb_disk_tell_wants(struct fb_disk *fd)
{
	lockdep_assert_held(&fd->lock);
	if (fd->sched_ops)
		fd->sched_ops->wants_changed(fd);
}

/* Tell all that another part of what is known of a disk is used now. Under fb_disk.lock. */
void fb_disk_level_changed(struct fb_disk *fd)
{
	if (fd->model)
		fb_disk_tell_model(fd);
	fb_disk_tell_changed(fd);
}

/* Tell all that the model has been replaced. Under fb_disk.lock. */
void fb_disk_model_swapped(struct fb_disk *fd)
{
	fb_disk_tell(model_swapped, fd);
	fb_disk_tell_model(fd);
}

/* the number of disks without a gendisk that are remembered */
#define FB_DISKS_GONE 64

static const char fb_disk_multipath[] = "multipath member";

static void fb_disk_release(struct kobject *kobj)
{
	struct fb_disk *fd = container_of(kobj, struct fb_disk, folder.kobj);

	dm_free(fd->model);
	dm_free(fd->next_model);
	kvfree(fd->table);
	kvfree(fd->upload);
	fb_memory_uncharge(&fd->upload_charged, fd->upload_charged);
	kvfree(fd);
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
	size_t n = strnlen(from, min_t(size_t, len, DM_ID_LEN - 1));

	while (n && from[n - 1] == ' ')
		n--;
	for (; n && *from == ' '; from++)
		n--;
	memcpy(to, from, n);
	to[n] = '\0';
}

/* The SCSI device of a disk, or of NULL, without a reference; NULL: it is none. */
struct scsi_device *fb_disk_scsi(struct gendisk *disk)
{
	struct device *parent = disk ? disk_to_dev(disk)->parent : NULL;

	return parent && scsi_is_sdev_device(parent) ? to_scsi_device(parent) : NULL;
}

/* That of an attached disk. Under fb_disk.lock. */
struct scsi_device *fb_disk_sdev(const struct fb_disk *fd)
{
	lockdep_assert_held(&fd->lock);
	return fd->q ? fb_disk_scsi(fd->q->disk) : NULL;
}

/*
 * Sectors of a block without a model: as extraction chooses them, so that what was covered
 * stays so when there is a model (tools/python/freeblock/extraction/modeltext.py).
 */
static u32 fb_disk_default_granule(u64 sectors, u32 physical_bytes)
{
	u32 granule = sectors < FB_DISK_LARGE ? FB_DISK_SMALL_GRANULE : FB_DISK_LARGE_GRANULE;

	granule = max(granule, physical_bytes >> SECTOR_SHIFT);
	while (sectors > FB_DISK_GRANULES * granule && granule < FB_DISK_MOST_GRANULE)
		granule *= 2;
	return granule;
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
	fd->granule = fb_disk_default_granule(fd->sectors, queue_physical_block_size(disk->queue));
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

/* Say why this device is not served at all; NULL: it is. */
static const char *fb_disk_unfit(struct request_queue *q)
{
	struct gendisk *disk = q->disk;

	if (!disk)
		return "no disk";
	if (fb_compat_is_flash(q))
		return "solid state";
	return NULL;
}

/* Say why no map can be used, though idle time can; NULL: one can. */
static const char *fb_disk_mapless(struct gendisk *disk)
{
	if (!disk)
		return NULL;
	if (blk_queue_is_zoned(disk->queue))
		return "zoned";
	if (disk->ia_ranges)
		return "multi-actuator";
	if (!fb_disk_scsi(disk))
		return "not a SCSI or SATA disk";
	if (fb_disk_on_bus(disk_to_dev(disk)->parent, "usb"))
		return "USB bridge";
	return NULL;
}

/*
 * Is the model for this firmware? @revision: firmware revision, which may change while the disk has
 * another scheduler. @info: the model's. Return: true if it is, or if either revision is unknown.
 */
bool fb_disk_is_firmware(const char *revision, const struct dm_info *info)
{
	return !info->revision[0] || !revision[0] || !strcmp(info->revision, revision);
}

/*
 * Use a model although its maker distrusted it, or stop using it. It holds until another model is
 * loaded. Completions may still prove it wrong. Finds the phase anew. Return: 0; -ENODATA: there is
 * no model.
 */
int fb_disk_force(struct fb_disk *fd, u32 force)
{
	int ret = 0;

	mutex_lock(&fd->config);
	if (!fd->model) {
		ret = -ENODATA;
	} else if (force || fd->forced) {
		spin_lock_irq(&fd->lock);
		fd->forced = force;
		fb_phase_init(&fd->phase);
		fb_disk_level_changed(fd);
		spin_unlock_irq(&fd->lock);
	}
	mutex_unlock(&fd->config);
	return ret;
}

/* Distrust the model if completions contradict it. Return: true if this call has begun to. */
bool fb_disk_judge(struct fb_disk *fd, const struct fb_head *h)
{
	lockdep_assert_held(&fd->lock);
	if (fd->distrusted || (!fb_head_misfit(h) && !fb_seek_fit_misfit(&fd->seek_fit)))
		return false;
	fd->distrusted = true;
	fb_disk_tell_changed(fd);
	return true;
}

/* The attached SCSI device, for scsi_device_put(); or NULL. fb_disk.lock not held. */
struct scsi_device *fb_disk_get_scsi(struct fb_disk *fd)
{
	struct scsi_device *sdev;

	spin_lock_irq(&fd->lock);
	sdev = fb_disk_sdev(fd);
	if (sdev && scsi_device_get(sdev))
		sdev = NULL;
	spin_unlock_irq(&fd->lock);
	return sdev;
}

/* ---- messages that are due under the lock; a console may take milliseconds for a line ---- */

static void fb_disk_say_work(struct work_struct *work)
{
	struct fb_disk *fd = container_of(work, struct fb_disk, say.work);
	const char *due[FB_DISK_SAY];
	char name[FB_NAME_LEN];
	u32 i;

	spin_lock_irq(&fd->lock);
	memcpy(due, fd->say.due, sizeof(due));
	memset(fd->say.due, 0, sizeof(due));
	strscpy(name, fd->name, sizeof(name));
	spin_unlock_irq(&fd->lock);
	for (i = 0; i < FB_DISK_SAY && due[i]; i++)
		pr_notice("freeblock: %s: %s\n", name, due[i]);
}

/* Have a constant text printed soon, once if it is said again before. */
void fb_disk_say(struct fb_disk *fd, const char *text)
{
	u32 i = 0;

	lockdep_assert_held(&fd->lock);
	while (i < FB_DISK_SAY && fd->say.due[i] && fd->say.due[i] != text)
		i++;
	if (i < FB_DISK_SAY)
		fd->say.due[i] = text;
	schedule_work(&fd->say.work);
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

/* Name a disk; its directories follow soon. */
static int fb_disk_set_name(struct fb_disk *fd, const char *name)
{
	int ret;

	lockdep_assert_held(&fb_disks_mutex);
	ret = fb_folder_set_name(&fd->folder, name);
	if (ret) {
		pr_warn("freeblock: no memory to call a disk %s\n", name);
		return ret;
	}
	spin_lock_irq(&fd->lock);
	strscpy(fd->name, name, sizeof(fd->name));
	spin_unlock_irq(&fd->lock);
	return 0;
}

/* Free its name for a disk that comes under it. */
static int fb_disk_free_name(struct fb_disk *fd)
{
	static unsigned int gone;
	char name[FB_NAME_LEN];

	snprintf(name, sizeof(name), "%.*s.gone%u", min_t(int, strcspn(fd->name, "."), 16),
		 fd->name, ++gone);
	return fb_disk_set_name(fd, name);
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

/* Waits for accesses to the disk's files, scan and scrub, so it must not run in a queue freeze. */
static void fb_disk_lost_work(struct work_struct *work)
{
	struct fb_disk *fd;

	while ((fd = fb_disk_next_lost())) {
		fb_folder_remove(&fd->folder);
		fb_disk_tell(exit, fd);
		/* no scheduler is attached: nothing is said any more */
		flush_work(&fd->say.work);
		kobject_put(&fd->folder.kobj);
	}
}

static DECLARE_WORK(fb_disk_lost, fb_disk_lost_work);

/* Tasks of other modules stay until their owners destroy them, and keep the disk until then. */
static void fb_disk_lose(struct fb_disk *fd)
{
	fb_disk_free_name(fd);
	list_move_tail(&fd->node, &fb_disks_lost);
	schedule_work(&fb_disk_lost);
}

/* Forget the oldest disks that are gone but may come back, except those with tasks. */
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

static void fb_disk_set_gone(struct fb_disk *fd, bool gone)
{
	lockdep_assert_held(&fb_disks_mutex);
	spin_lock_irq(&fd->lock);
	WRITE_ONCE(fd->gone, gone);
	fb_disk_tell_changed(fd);
	wake_up(&fd->wait);
	spin_unlock_irq(&fd->lock);
}

/* The gendisk has been removed. */
static void fb_disk_retire(struct fb_disk *fd)
{
	lockdep_assert_held(&fb_disks_mutex);
	fb_disk_set_gone(fd, true);
	if (fd->q)
		return;
	if (fd->id[0])
		fb_disk_cull();
	else
		fb_disk_lose(fd);
}

/* Take @name from a disk that is gone but still has it. */
static int fb_disk_yield_name(const char *name)
{
	struct fb_disk *fd;

	lockdep_assert_held(&fb_disks_mutex);
	list_for_each_entry(fd, &fb_disks, node) {
		if (strcmp(fd->name, name))
			continue;
		fb_disk_retire(fd);
		return strcmp(fd->name, name) ? 0 : fb_disk_free_name(fd);
	}
	return 0;
}

/* Find an attached disk with the same id: another path, whose commands the first cannot see. */
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
	fb_disk_level_changed(fd);
	spin_unlock_irq(&fd->lock);
}

/* @path has gone: if a single path is left, it is an ordinary disk again. */
static void fb_disk_free_twin(const struct fb_disk *path)
{
	struct fb_disk *twin = fb_disk_twin(path), *fd;

	list_for_each_entry(fd, &fb_disks, node)
		if (fd != twin && fd->q && !strcmp(fd->id, path->id))
			return;
	if (twin)
		fb_disk_set_unfit(twin, fb_disk_unfit(twin->q));
}

/* Take @fd, which has its identity only, into the list. */
static int fb_disk_add(struct fb_disk *fd, const char *name)
{
	int ret;

	kobject_init(&fd->folder.kobj, &fb_disk_ktype);
	mutex_init(&fd->life);
	mutex_init(&fd->config);
	spin_lock_init(&fd->lock);
	init_waitqueue_head(&fd->wait);
	fb_guard_init(&fd->guard);
	fb_lookahead_init(&fd->lookahead);
	fb_quarantine_init(&fd->quarantine);
	strscpy(fd->model_status, "none\n", sizeof(fd->model_status));
	INIT_WORK(&fd->say.work, fb_disk_say_work);
	fb_disk_tell(init, fd);
	ret = fb_disk_yield_name(name);
	ret = ret ? ret : fb_disk_set_name(fd, name);
	if (!ret)
		list_add_tail(&fd->node, &fb_disks);
	return ret;
}

/* The disk has come back, perhaps under another name. */
static int fb_disk_adopt_name(struct fb_disk *fd, const char *name)
{
	int ret;

	fb_disk_set_gone(fd, false);	/* lest this one is forgotten for its name */
	ret = strcmp(fd->name, name) ? fb_disk_yield_name(name) : 0;
	ret = ret ? ret : fb_disk_set_name(fd, name);
	if (ret)
		fb_disk_set_gone(fd, true);
	return ret;
}

static void fb_disk_attach_locked(struct fb_disk *fd, struct request_queue *q, bool twin)
{
	struct gendisk *disk = q->disk;

	lockdep_assert_held(&fd->lock);
	fd->unfit = twin ? fb_disk_multipath : fb_disk_unfit(q);
	fd->mapless = fb_disk_mapless(disk);
	fd->zone_sectors = blk_queue_is_zoned(q) ? q->limits.chunk_sectors : 0;
	fd->bdev = disk ? disk->part0 : NULL;
	/* Selecting the scheduler again asks for a new judgement of the model. */
	if (fd->distrusted && fd->model)
		fb_seek_fit_forget(&fd->seek_fit, fd->model);
	fd->distrusted = false;
	fb_phase_init(&fd->phase);
	fd->q = q;
	fb_disk_tell_changed(fd);
}

/*
 * A scheduler takes over a disk. It may be told of things before this returns. @head: its head and
 * phase, valid until it detaches; read with the lock held. Called by init_sched: may sleep, queue
 * frozen, inside memalloc_noio_save(). Return: the disk, with a reference for fb_disk_put(),
 * detached from any other queue; NULL: no memory.
 */
struct fb_disk *fb_disk_attach(struct request_queue *q, void *sched, const struct fb_head *head,
			       const struct fb_disk_sched_ops *ops)
{
	struct gendisk *disk = q->disk;
	const char *name = disk ? disk->disk_name : "unnamed";
	/* it has more than eight pages, which may well not be there in one piece */
	struct fb_disk *like = kvzalloc(sizeof(*like), GFP_KERNEL);
	struct fb_disk *fd, *twin;
	int ret;

	if (!like)
		return NULL;
	if (disk)
		fb_disk_identify(like, disk);
	mutex_lock(&fb_disks_mutex);
	if (disk) {
		fb_disk_class = disk_to_dev(disk)->class;
		fb_disk_type = disk_to_dev(disk)->type;
	}
	twin = fb_disk_twin(like);
	fd = fb_disk_find(like) ?: like;
	ret = fd == like ? fb_disk_add(fd, name) : fb_disk_adopt_name(fd, name);
	if (!ret) {
		kobject_get(&fd->folder.kobj);
		fd->diskseq = like->diskseq;
		if (twin)
			fb_disk_set_unfit(twin, fb_disk_multipath);
		fb_disk_tell(attach, fd, disk);
		spin_lock_irq(&fd->lock);
		strscpy(fd->revision, like->revision, sizeof(fd->revision));
		fd->sched = sched;
		fd->head = head;
		fd->sched_ops = ops;
		fb_disk_attach_locked(fd, q, twin);
		spin_unlock_irq(&fd->lock);
	}
	mutex_unlock(&fb_disks_mutex);
	if (ret && fd == like)
		fb_disk_put(like);
	else if (fd != like)
		kvfree(like);
	return ret ? NULL : fd;
}

/*
 * Detach the scheduler from the disk, whose tasks are suspended. @fd: the disk; the reference that
 * fb_disk_attach() took is left to the caller. Called by exit_sched: may sleep, queue frozen.
 */
void fb_disk_detach(struct fb_disk *fd)
{
	const struct gendisk *disk = fd->q->disk;
	unsigned int noio = memalloc_noio_save();

	mutex_lock(&fb_disks_mutex);
	spin_lock_irq(&fd->lock);
	fd->q = NULL;
	fd->bdev = NULL;
	fd->sched = NULL;
	fd->head = NULL;
	fd->sched_ops = NULL;
	fb_disk_tell_changed(fd);
	spin_unlock_irq(&fd->lock);
	fb_disk_tell(detached, fd);
	fb_disk_free_twin(fd);
	list_move_tail(&fd->node, &fb_disks);
	if (!disk || test_bit(GD_DEAD, &disk->state))
		fb_disk_retire(fd);
	mutex_unlock(&fb_disks_mutex);
	memalloc_noio_restore(noio);
}

/* Another path to the same drive has a disk of its own while both are attached. */
static bool fb_disk_is(const struct fb_disk *fd, const struct gendisk *disk)
{
	lockdep_assert_held(&fb_disks_mutex);
	return fd->q ? fd->q->disk == disk : !fd->gone && fd->diskseq == disk->diskseq;
}

/*
 * Get a reference to the disk of a block device. @disk: the block device's disk, to which the
 * caller has a reference. May sleep; no queue of ours is frozen. Return: the disk, for
 * fb_disk_put(); NULL: @disk is gone or has never had the scheduler.
 */
struct fb_disk *fb_disk_get(const struct gendisk *disk)
{
	struct fb_disk *fd, *found = NULL;

	if (test_bit(GD_DEAD, &disk->state))
		return NULL;
	mutex_lock(&fb_disks_mutex);
	list_for_each_entry(fd, &fb_disks, node) {
		if (!fb_disk_is(fd, disk))
			continue;
		kobject_get(&fd->folder.kobj);
		found = fd;
		break;
	}
	mutex_unlock(&fb_disks_mutex);
	return found;
}

static int fb_disk_is_device(struct device *dev, const void *fd)
{
	lockdep_assert_held(&fb_disks_mutex);
	return dev->type == fb_disk_type && fb_disk_is(fd, dev_to_disk(dev));
}

/* The block device's disk, for put_disk(); NULL: gone. May sleep; no queue of ours is frozen. */
struct gendisk *fb_disk_gendisk(const struct fb_disk *fd)
{
	struct device *dev = NULL;

	mutex_lock(&fb_disks_mutex);
	if (fb_disk_class)
		dev = class_find_device(fb_disk_class, NULL, fd, fb_disk_is_device);
	mutex_unlock(&fb_disks_mutex);
	return dev ? dev_to_disk(dev) : NULL;
}

/* Give back the reference of fb_disk_get() or fb_disk_attach(). May sleep. */
void fb_disk_put(struct fb_disk *fd)
{
	kobject_put(&fd->folder.kobj);
}

/* A disk's name changes when disks come and go. Under fb_disk.lock read fb_disk.name instead. */
void fb_disk_copy_name(struct fb_disk *fd, char *name, size_t size)
{
	unsigned long flags;

	spin_lock_irqsave(&fd->lock, flags);
	strscpy(name, fd->name, size);
	spin_unlock_irqrestore(&fd->lock, flags);
}

/* Send a change uevent <what>=<value> for the disk, if it is attached. May sleep; does no I/O. */
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

/* ---- module ---- */

static void fb_disk_fill_folder(struct fb_folder *folder)
{
	struct fb_disk *fd = container_of(folder, struct fb_disk, folder);

	fb_disk_tell(fill, fd);
}

/* Called before blk-mq waits for the requests of a hardware queue that loses its last CPU. */
static int fb_disk_cpu_offline(unsigned int cpu)
{
	struct fb_disk *fd;

	mutex_lock(&fb_disks_mutex);
	list_for_each_entry(fd, &fb_disks, node)
		fb_disk_tell(cpu_offline, fd);
	mutex_unlock(&fb_disks_mutex);
	return 0;
}

/*
 * Create the directories that disks are shown in. @clients: callbacks about disks, called in this
 * order; ends with NULL. At module init. Return: 0, -ENOMEM or -ENOSPC.
 */
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

/*
 * Stop all tasks, forget all disks. At module exit: no scheduler is attached. Waits for sysfs
 * stores before it stops the tasks that they could start.
 */
void fb_disk_exit(void)
{
	cpuhp_remove_state_nocalls(fb_disk_hotplug);
	mutex_lock(&fb_disks_mutex);
	list_splice_tail_init(&fb_disks, &fb_disks_lost);
	mutex_unlock(&fb_disks_mutex);
	schedule_work(&fb_disk_lost);
	flush_work(&fb_disk_lost);
	fb_folder_exit();
}
