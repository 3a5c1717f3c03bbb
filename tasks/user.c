// SPDX-License-Identifier: GPL-2.0
/*
 * Tasks for user space: the character device /dev/freeblock/<disk>. An open file is one
 * task; the interface is include/uapi/freeblock.h. This file uses the rest of the module only
 * through include/freeblock.h, except that disk/disk.c tells it about disks.
 *
 * Blocks go through the file's queue, tasks/user_queue.c. Apart from its task, a file needs
 * memory only for that queue.
 *
 * Locks, outermost first; those of a queue nest inside none of these:
 *
 *   fb_user_file.config	mutex: serialises ioctl(). The task is created under it, once.
 *   fb_user_lock		spinlock: the list of disks, their fields and their open files.
 *			Taken while queues are frozen: nothing allocates or sleeps under it.
 *   fb_user_file.words	spinlock: guards fb_user_file.reason.
 *   fb_user_changes	mutex: serialises creation and removal of devices. Inside none of these,
 *			outside fb_user_lock.
 *
 * Devices are created and removed in a work item: devtmpfs waits for memory, which is not
 * allowed while a queue is frozen, as it is when disks come and go.
 */
#include <linux/blkdev.h>
#include <linux/cdev.h>
#include <linux/ctype.h>
#include <linux/device.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/idr.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>

#include "disk/disk.h"
#include "tasks/user.h"
#include "tasks/user_queue.h"
#include "include/compat/fb_compat.h"
#include "include/freeblock.h"
#include "include/uapi/freeblock.h"

#define FB_USER_MINORS 1024		/* maximum number of disks */

/**
 * struct fb_user_disk - a disk
 * @node: in fb_user_disks, written with fb_user_changes too; empty: forgotten
 * @minor: minor number of its device
 * @name: its name; fb_user_lock
 * @dev: number of its block device; fb_user_lock
 * @gone: the disk does not exist at present; written with fb_user_lock
 * @round: counts changes of @name, @dev and @gone; fb_user_lock
 * @files: open files; fb_user_lock
 * @shown: name of its present device, "" if there is none; fb_user_changes
 *
 * It lives from when the scheduler first sees the disk until that is forgotten and its last
 * file closed.
 */
struct fb_user_disk {
	struct list_head node;
	int minor;
	char name[DISK_NAME_LEN];
	dev_t dev;
	bool gone;
	u64 round;
	struct list_head files;
	char shown[DISK_NAME_LEN];
};

/**
 * struct fb_user_file - an open file
 * @disk: its disk
 * @node: in fb_user_disk.files
 * @config: see the table of locks
 * @task: NULL before the set-up, which sets @ops and @queue first
 * @ops: the task's callbacks
 * @queue: blocks that wait to be read
 * @started: FREEBLOCK_IOC_START has succeeded; written with @config
 * @words: see the table of locks
 * @reason: why the last failed call failed; guarded by @words
 */
struct fb_user_file {
	struct fb_user_disk *disk;
	struct list_head node;
	struct mutex config;
	struct freeblock_task *task;
	struct freeblock_ops ops;
	struct fb_user_queue queue;
	bool started;
	spinlock_t words;
	char reason[FREEBLOCK_IOC_REASON_LEN];
};

static DEFINE_MUTEX(fb_user_changes);
static DEFINE_SPINLOCK(fb_user_lock);
static LIST_HEAD(fb_user_disks);
static DEFINE_IDA(fb_user_minors);
static struct class *fb_user_class;
static struct cdev fb_user_cdev;
static dev_t fb_user_first;

/* ---- why a call failed ---- */

static int fb_user_refuse(struct fb_user_file *ff, int ret, const char *fmt, ...) __printf(3, 4);

static int fb_user_refuse(struct fb_user_file *ff, int ret, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	spin_lock(&ff->words);
	vscnprintf(ff->reason, sizeof(ff->reason), fmt, args);
	spin_unlock(&ff->words);
	va_end(args);
	return ret;
}

static int fb_user_refuse_pointer(struct fb_user_file *ff)
{
	return fb_user_refuse(ff, -EFAULT, "the argument's memory is not accessible");
}

/* if this is true, all writes of the set-up are visible */
static bool fb_user_has_started(const struct fb_user_file *ff)
{
	/* pairs with fb_user_start() */
	return smp_load_acquire(&ff->started);
}

/* ---- blocks ---- */

static void fb_user_block(struct freeblock_task *task, sector_t lbn, unsigned int sectors,
			  const void *data, blk_status_t status)
{
	struct fb_user_file *ff = freeblock_task_ctx(task);

	fb_user_queue_put(&ff->queue, task, lbn, sectors, data, status);
}

static void fb_user_ended(struct freeblock_task *task, enum freeblock_end why)
{
	struct fb_user_file *ff = freeblock_task_ctx(task);

	fb_user_queue_end(&ff->queue, why);
}

static ssize_t fb_user_read(struct file *file, char __user *to, size_t size, loff_t *pos)
{
	struct fb_user_file *ff = file->private_data;
	ssize_t ret;

	if (!fb_user_has_started(ff))
		return fb_user_refuse(ff, -EBADFD, "not started");
	ret = fb_user_queue_read(&ff->queue, to, size, file->f_flags & O_NONBLOCK);
	switch (ret) {
	case -EMSGSIZE:
		return fb_user_refuse(ff, ret, "a buffer of %zu bytes, the next record has %zu",
				      size, READ_ONCE(ff->queue.needed));
	case -EFAULT:
		return fb_user_refuse(ff, ret, "the buffer is not writable");
	case -ECANCELED:
		return fb_user_refuse(ff, ret, "stopped before all was delivered");
	case -ENODEV:
		return fb_user_refuse(ff, ret, "the disk is gone");
	default:
		return ret;
	}
}

static __poll_t fb_user_poll(struct file *file, poll_table *wait)
{
	struct fb_user_file *ff = file->private_data;

	poll_wait(file, &ff->queue.readable, wait);
	return fb_user_has_started(ff) ? fb_user_queue_events(&ff->queue) : EPOLLERR;
}

/* ---- set-up ---- */

/* a name must be empty or one word, as it is printed in the list of tasks */
static bool fb_user_is_name(const char *name)
{
	u32 i;

	for (i = 0; i < FREEBLOCK_IOC_NAME_LEN && name[i]; i++)
		if (!isascii(name[i]) || !isgraph(name[i]))
			return false;
	return i < FREEBLOCK_IOC_NAME_LEN;
}

static int fb_user_check_order(struct fb_user_file *ff, const struct freeblock_ioc_setup *s)
{
	if (s->order > FREEBLOCK_IOC_STAGGERED)
		return fb_user_refuse(ff, -EINVAL, "order %u is not known", s->order);
	if (s->order == FREEBLOCK_IOC_STAGGERED ? !s->regions || !s->segment_sectors :
						  s->regions || s->segment_sectors)
		return fb_user_refuse(ff, -EINVAL,
				      "%u regions and segments of %u sectors: the staggered order needs both, others none",
				      s->regions, s->segment_sectors);
	return 0;
}

static int fb_user_check_setup(struct fb_user_file *ff, const struct freeblock_ioc_setup *s)
{
	const u32 flags = FREEBLOCK_IOC_MEDIUM | FREEBLOCK_IOC_NO_DATA | FREEBLOCK_IOC_KEEP;

	if (s->version != FREEBLOCK_IOC_VERSION)
		return fb_user_refuse(ff, -EPROTONOSUPPORT, "version %u, this module knows %u",
				      s->version, FREEBLOCK_IOC_VERSION);
	if (ff->task)
		return fb_user_refuse(ff, -EALREADY, "set up already: open the device again");
	if (!capable(CAP_SYS_RAWIO))
		return fb_user_refuse(ff, -EPERM, "CAP_SYS_RAWIO is needed");
	if (s->flags & ~flags)
		return fb_user_refuse(ff, -EINVAL, "flags 0x%x are not known", s->flags & ~flags);
	if (s->priority >= FREEBLOCK_PRIORITIES)
		return fb_user_refuse(ff, -EINVAL, "priority %u, the highest is %u", s->priority,
				      FREEBLOCK_PRIORITIES - 1);
	if (s->buffer_kib && (s->buffer_kib < FREEBLOCK_IOC_BUFFER_KIB_MIN ||
			      s->buffer_kib > FREEBLOCK_IOC_BUFFER_KIB_MAX))
		return fb_user_refuse(ff, -EINVAL,
				      "a buffer of %u KiB: neither 0 nor within %u .. %u",
				      s->buffer_kib, FREEBLOCK_IOC_BUFFER_KIB_MIN,
				      FREEBLOCK_IOC_BUFFER_KIB_MAX);
	if (!fb_user_is_name(s->name))
		return fb_user_refuse(ff, -EINVAL,
				      "the name has blanks or strange characters, or does not end");
	if (memchr_inv(s->reserved, 0, sizeof(s->reserved)))
		return fb_user_refuse(ff, -EINVAL, "reserved fields are not 0");
	return fb_user_check_order(ff, s);
}

/* @disk and @round: out: the disk's name, and fb_user_disk.round for that name */
static int fb_user_check_disk(struct fb_user_file *ff, struct block_device *bdev, char *disk,
			      u64 *round)
{
	struct fb_user_disk *ud = ff->disk;
	int ret = 0;

	spin_lock(&fb_user_lock);
	if (ud->gone)
		ret = -ENODEV;
	else if (disk_devt(bdev->bd_disk) != ud->dev || !disk_live(bdev->bd_disk))
		ret = -EXDEV;
	strscpy(disk, ud->name, DISK_NAME_LEN);
	*round = ud->round;
	spin_unlock(&fb_user_lock);
	if (ret == -ENODEV)
		return fb_user_refuse(ff, ret, "the disk is gone");
	if (ret)
		return fb_user_refuse(ff, ret, "fd is of %pg: neither %s nor a partition of it",
				      bdev, disk);
	ff->queue.start = get_start_sect(bdev);
	ff->queue.sectors = bdev_nr_sectors(bdev);
	return 0;
}

static int fb_user_check_fd(struct fb_user_file *ff, int fd, char *disk, u64 *round)
{
	struct file *file = fget(fd);
	int ret;

	if (!file)
		return fb_user_refuse(ff, -EBADF, "fd %d is not open", fd);
	if (!(file->f_mode & FMODE_READ))
		ret = fb_user_refuse(ff, -EBADF, "fd %d is not open for reading", fd);
	else if (!S_ISBLK(file_inode(file)->i_mode))
		ret = fb_user_refuse(ff, -ENOTBLK, "fd %d is not of a block device", fd);
	else
		ret = fb_user_check_disk(ff, I_BDEV(file->f_mapping->host), disk, round);
	fput(file);
	return ret;
}

static int fb_user_refuse_create(struct fb_user_file *ff, int ret, const char *disk)
{
	switch (ret) {
	case -ENODEV:
		return fb_user_refuse(ff, ret, "the disk is gone");
	case -ENODATA:
		return fb_user_refuse(ff, ret, "%s has no model", disk);
	case -EBUSY:
		return fb_user_refuse(ff, ret, "%s has as many tasks as it can have", disk);
	case -ENOSPC:
		return fb_user_refuse(ff, ret, "the memory for tasks is in use");
	default:
		return fb_user_refuse(ff, ret, "no task: error %d", -ret);
	}
}

static int fb_user_alloc_queue(struct fb_user_file *ff, const struct freeblock_ioc_setup *s)
{
	u32 kib = s->buffer_kib ?: FREEBLOCK_IOC_BUFFER_KIB;
	int ret = fb_user_queue_alloc(&ff->queue, kib, !(s->flags & FREEBLOCK_IOC_NO_DATA));

	if (ret == -EINVAL)
		return fb_user_refuse(ff, ret, "a buffer of %u KiB holds no block of %u sectors",
				      kib, ff->queue.granule);
	return ret ? fb_user_refuse(ff, ret, "no memory for a buffer of %u KiB", kib) : 0;
}

/* is the task's disk still the one that fb_user_check_disk() saw? */
static int fb_user_check_task(struct fb_user_file *ff, struct freeblock_task *task, u64 round)
{
	bool same;

	spin_lock(&fb_user_lock);
	same = ff->disk->round == round && !ff->disk->gone;
	spin_unlock(&fb_user_lock);
	if (!same || ff->queue.start + ff->queue.sectors > freeblock_task_sectors(task))
		return fb_user_refuse(ff, -ENODEV, "the disk has just changed");
	return 0;
}

static int fb_user_dress_task(struct fb_user_file *ff, struct freeblock_task *task,
			      const struct freeblock_ioc_setup *s)
{
	struct freeblock_progress progress;
	int ret;

	freeblock_task_progress(task, &progress);
	ff->queue.granule = progress.granule_sectors;
	ret = freeblock_task_order(task, s->order, s->regions, s->segment_sectors);
	if (ret)
		return fb_user_refuse(ff, ret,
				      "%u regions of segments of %u sectors do not suit blocks of %u",
				      s->regions, s->segment_sectors, ff->queue.granule);
	freeblock_task_set_priority(task, s->priority);
	freeblock_task_set_deadline(task, s->deadline_ns);
	return fb_user_alloc_queue(ff, s);
}

static void fb_user_make_word(char *name)
{
	for (; *name; name++)
		if (!isascii(*name) || !isgraph(*name))
			*name = '_';
}

static u32 fb_user_flags(u32 flags)
{
	return (flags & FREEBLOCK_IOC_MEDIUM ? FREEBLOCK_MEDIUM : 0) |
	       (flags & FREEBLOCK_IOC_NO_DATA ? FREEBLOCK_NO_DATA : 0) |
	       (flags & FREEBLOCK_IOC_KEEP ? FREEBLOCK_KEEP : 0);
}

static int fb_user_make_task(struct fb_user_file *ff, const struct freeblock_ioc_setup *s,
			     const char *disk, u64 round)
{
	struct freeblock_task *task;
	char name[TASK_COMM_LEN];
	int ret;

	get_task_comm(name, current);
	fb_user_make_word(name);
	ff->ops.flags = fb_user_flags(s->flags);
	ff->ops.block = fb_user_block;
	ff->ops.ended = fb_user_ended;
	task = freeblock_task_create(disk, s->name[0] ? s->name : name, &ff->ops, ff);
	if (IS_ERR(task))
		return fb_user_refuse_create(ff, PTR_ERR(task), disk);
	ret = fb_user_check_task(ff, task, round);
	if (!ret)
		ret = fb_user_dress_task(ff, task, s);
	if (ret) {
		freeblock_task_destroy(task);
		fb_user_queue_free(&ff->queue);
		return ret;
	}
	ff->task = task;
	return 0;
}

static int fb_user_setup(struct fb_user_file *ff, unsigned int cmd, void __user *arg)
{
	struct freeblock_ioc_setup s;
	char disk[DISK_NAME_LEN];
	u64 round;
	int ret;

	/* test first that @arg is writable: a task that was created stays */
	if (copy_from_user(&s, arg, sizeof(s)) || copy_to_user(arg, &s, sizeof(s)))
		return fb_user_refuse_pointer(ff);
	ret = fb_user_check_setup(ff, &s);
	if (!ret)
		ret = fb_user_check_fd(ff, s.fd, disk, &round);
	if (!ret)
		ret = fb_user_make_task(ff, &s, disk, round);
	if (ret)
		return ret;
	s.sectors = ff->queue.sectors;
	s.start_sector = ff->queue.start;
	s.granule_sectors = ff->queue.granule;
	s.record_bytes = sizeof(struct freeblock_record) +
			 (ff->queue.data ? ff->queue.granule << SECTOR_SHIFT : 0);
	return copy_to_user(arg, &s, sizeof(s)) ? fb_user_refuse_pointer(ff) : 0;
}

/* ---- ranges ---- */

/* convert a range of the block device to whole blocks of the disk */
static int fb_user_check_range(struct fb_user_file *ff, const struct freeblock_ioc_range *r,
			       u64 *first, u64 *count)
{
	const struct fb_user_queue *q = &ff->queue;
	u64 begin = q->start + r->first, end = begin + r->count, last = q->start + q->sectors;

	if (memchr_inv(r->reserved, 0, sizeof(r->reserved)))
		return fb_user_refuse(ff, -EINVAL, "reserved fields are not 0");
	if (!r->count)
		return fb_user_refuse(ff, -EINVAL, "an empty range");
	if (r->first >= q->sectors || r->count > q->sectors - r->first)
		return fb_user_refuse(ff, -ERANGE,
				      "sectors %llu+%llu: the block device has %llu",
				      r->first, r->count, q->sectors);
	if ((r->first && begin % q->granule) || (end != last && end % q->granule))
		return fb_user_refuse(ff, -EINVAL,
				      "sectors %llu+%llu: not whole blocks of %u, the device begins at %llu",
				      r->first, r->count, q->granule, q->start);
	*first = round_down(begin, q->granule);
	*count = min(round_up(end, q->granule), freeblock_task_sectors(ff->task)) - *first;
	return 0;
}

static int fb_user_refuse_range(struct fb_user_file *ff, int ret,
				const struct freeblock_ioc_range *r)
{
	switch (ret) {
	case 0:
		return 0;
	case -ESHUTDOWN:
		return fb_user_refuse(ff, ret, "the task is over");
	case -ENOSPC:
		return fb_user_refuse(ff, ret, "%u ranges wait to be entered", FREEBLOCK_RANGES);
	case -EOPNOTSUPP:
		return fb_user_refuse(ff, ret, "this module cannot do that");
	default:
		return fb_user_refuse(ff, ret, "sectors %llu+%llu: error %d", r->first, r->count,
				      -ret);
	}
}

static int fb_user_range(struct fb_user_file *ff, unsigned int cmd, void __user *arg)
{
	struct freeblock_ioc_range r;
	u64 first, count;
	int ret;

	if (copy_from_user(&r, arg, sizeof(r)))
		return fb_user_refuse_pointer(ff);
	ret = fb_user_check_range(ff, &r, &first, &count);
	if (ret)
		return ret;
	if (cmd == FREEBLOCK_IOC_PROMOTE && !ff->started)
		return fb_user_refuse(ff, -EBADFD, "not started");
	if (cmd == FREEBLOCK_IOC_ADD)
		ret = freeblock_task_add(ff->task, first, count);
	else if (cmd == FREEBLOCK_IOC_REMOVE)
		ret = freeblock_task_remove(ff->task, first, count);
	else
		ret = freeblock_task_promote(ff->task, first, count);
	return fb_user_refuse_range(ff, ret, &r);
}

/* ---- control and progress ---- */

static int fb_user_start(struct fb_user_file *ff, unsigned int cmd, void __user *arg)
{
	int ret;

	if (ff->started)
		return fb_user_refuse(ff, -EALREADY, "started already");
	ret = freeblock_task_start(ff->task);
	if (ret == -EINVAL)
		return fb_user_refuse(ff, ret, "nothing is declared");
	if (ret == -ESHUTDOWN)
		return fb_user_refuse(ff, ret, "stopped");
	if (ret)
		return fb_user_refuse(ff, ret, "not started: error %d", -ret);
	/* pairs with fb_user_has_started() */
	smp_store_release(&ff->started, true);
	return 0;
}

static int fb_user_control(struct fb_user_file *ff, unsigned int cmd, void __user *arg)
{
	int ret = 0;

	if (!ff->started)
		return fb_user_refuse(ff, -EBADFD, "not started");
	if (cmd == FREEBLOCK_IOC_STOP)
		freeblock_task_stop(ff->task);
	else if (cmd == FREEBLOCK_IOC_PAUSE)
		ret = freeblock_task_pause(ff->task);
	else
		ret = freeblock_task_resume(ff->task);
	if (ret == -EALREADY)
		return fb_user_refuse(ff, ret, cmd == FREEBLOCK_IOC_PAUSE ? "it is already paused" :
				      "it is already running");
	return ret ? fb_user_refuse(ff, -ESHUTDOWN, "the task is over") : 0;
}

static int fb_user_urgency(struct fb_user_file *ff, unsigned int cmd, void __user *arg)
{
	struct freeblock_ioc_urgency u;
	int ret;

	if (copy_from_user(&u, arg, sizeof(u)))
		return fb_user_refuse_pointer(ff);
	if (u.pad)
		return fb_user_refuse(ff, -EINVAL, "reserved fields are not 0");
	ret = freeblock_task_set_priority(ff->task, u.priority);
	if (ret)
		return fb_user_refuse(ff, ret, "priority %u, the highest is %u", u.priority,
				      FREEBLOCK_PRIORITIES - 1);
	freeblock_task_set_deadline(ff->task, u.deadline_ns);
	return 0;
}

static u32 fb_user_state(const struct fb_user_file *ff, const struct freeblock_progress *p)
{
	if (!ff->started)
		return p->stopping ? FREEBLOCK_IOC_STOPPED : FREEBLOCK_IOC_NEW;
	if (fb_user_queue_has_ended(&ff->queue))
		return ff->queue.why == FREEBLOCK_FINISHED ? FREEBLOCK_IOC_FINISHED :
						       FREEBLOCK_IOC_STOPPED;
	return p->paused ? FREEBLOCK_IOC_PAUSED : FREEBLOCK_IOC_RUNNING;
}

static int fb_user_progress(struct fb_user_file *ff, unsigned int cmd, void __user *arg)
{
	struct freeblock_progress p = {};
	struct freeblock_ioc_progress u = {};

	freeblock_task_progress(ff->task, &p);
	u.total = p.total;
	u.done = p.done;
	u.failed = p.failed;
	u.flying = p.flying;
	u.granule_sectors = ff->queue.granule;
	u.state = fb_user_state(ff, &p);
	u.waiting = atomic_read(&ff->queue.filled);
	u.buffer_blocks = ff->queue.slots;
	u.entering = p.entering;
	u.gone = READ_ONCE(ff->disk->gone);
	u.stalled_ns = READ_ONCE(ff->queue.stalled_ns);
	return copy_to_user(arg, &u, sizeof(u)) ? fb_user_refuse_pointer(ff) : 0;
}

static int fb_user_reason(struct fb_user_file *ff, struct freeblock_ioc_reason __user *arg)
{
	struct freeblock_ioc_reason r = {};

	spin_lock(&ff->words);
	strscpy(r.text, ff->reason, sizeof(r.text));
	spin_unlock(&ff->words);
	return copy_to_user(arg, &r, sizeof(r)) ? -EFAULT : 0;
}

static const struct {
	unsigned int cmd;
	int (*call)(struct fb_user_file *ff, unsigned int cmd, void __user *arg);
} fb_user_calls[] = {
	{ FREEBLOCK_IOC_SETUP, fb_user_setup },
	{ FREEBLOCK_IOC_ADD, fb_user_range },
	{ FREEBLOCK_IOC_REMOVE, fb_user_range },
	{ FREEBLOCK_IOC_PROMOTE, fb_user_range },
	{ FREEBLOCK_IOC_START, fb_user_start },
	{ FREEBLOCK_IOC_PAUSE, fb_user_control },
	{ FREEBLOCK_IOC_RESUME, fb_user_control },
	{ FREEBLOCK_IOC_STOP, fb_user_control },
	{ FREEBLOCK_IOC_URGENCY, fb_user_urgency },
	{ FREEBLOCK_IOC_PROGRESS, fb_user_progress },
};

static long fb_user_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct fb_user_file *ff = file->private_data;
	long ret;
	u32 i = 0;

	if (cmd == FREEBLOCK_IOC_REASON)
		return fb_user_reason(ff, (void __user *)arg);
	while (i < ARRAY_SIZE(fb_user_calls) && fb_user_calls[i].cmd != cmd)
		i++;
	if (i == ARRAY_SIZE(fb_user_calls))
		return fb_user_refuse(ff, -ENOTTY, "no call 0x%x", cmd);
	if (mutex_lock_interruptible(&ff->config))
		return -ERESTARTSYS;
	if (!ff->task && cmd != FREEBLOCK_IOC_SETUP)
		ret = fb_user_refuse(ff, -EBADFD, "not set up");
	else
		ret = fb_user_calls[i].call(ff, cmd, (void __user *)arg);
	mutex_unlock(&ff->config);
	return ret;
}

/* ---- open and close ---- */

static struct fb_user_disk *fb_user_find(int minor)
{
	struct fb_user_disk *ud;

	lockdep_assert_held(&fb_user_lock);
	list_for_each_entry(ud, &fb_user_disks, node)
		if (ud->minor == minor && !ud->gone)
			return ud;
	return NULL;
}

static int fb_user_open(struct inode *inode, struct file *file)
{
	struct fb_user_file *ff;

	if (!capable(CAP_SYS_RAWIO))
		return -EPERM;
	ff = kzalloc(sizeof(*ff), GFP_KERNEL_ACCOUNT);
	if (!ff)
		return -ENOMEM;
	mutex_init(&ff->config);
	spin_lock_init(&ff->words);
	fb_user_queue_init(&ff->queue);
	spin_lock(&fb_user_lock);
	ff->disk = fb_user_find(iminor(inode));
	if (ff->disk) {
		ff->queue.gone = &ff->disk->gone;
		list_add_tail(&ff->node, &ff->disk->files);
	}
	spin_unlock(&fb_user_lock);
	if (!ff->disk) {
		kfree(ff);
		return -ENODEV;
	}
	file->private_data = ff;
	return stream_open(inode, file);
}

static int fb_user_release(struct inode *inode, struct file *file)
{
	struct fb_user_file *ff = file->private_data;
	bool last;

	fb_user_queue_close(&ff->queue);
	if (ff->task)
		freeblock_task_destroy(ff->task);
	spin_lock(&fb_user_lock);
	list_del(&ff->node);
	last = list_empty(&ff->disk->node) && list_empty(&ff->disk->files);
	spin_unlock(&fb_user_lock);
	if (last)
		kfree(ff->disk);
	fb_user_queue_free(&ff->queue);
	kfree(ff);
	return 0;
}

static const struct file_operations fb_user_fops = {
	.owner = THIS_MODULE,
	.open = fb_user_open,
	.read = fb_user_read,
	.poll = fb_user_poll,
	.unlocked_ioctl = fb_user_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.release = fb_user_release,
};

/* ---- devices ---- */

static char *fb_user_devnode(FB_COMPAT_CONST_DEVICE struct device *dev, umode_t *mode)
{
	return kasprintf(GFP_KERNEL, "freeblock/%s", dev_name(dev));
}

static void fb_user_hide(struct fb_user_disk *ud)
{
	if (!ud->shown[0])
		return;
	device_destroy(fb_user_class, fb_user_first + ud->minor);
	ud->shown[0] = '\0';
}

static void fb_user_show(struct fb_user_disk *ud, const char *name)
{
	struct device *dev = device_create(fb_user_class, NULL, fb_user_first + ud->minor, NULL,
					   "%s", name);

	if (IS_ERR(dev))
		pr_err("freeblock: no device freeblock/%s: error %ld\n", name, -PTR_ERR(dev));
	else
		strscpy(ud->shown, name, sizeof(ud->shown));
}

/* the name that the disk's device should have, "" if it should have no device */
static void fb_user_wanted(struct fb_user_disk *ud, char *name)
{
	spin_lock(&fb_user_lock);
	strscpy(name, ud->gone ? "" : ud->name, DISK_NAME_LEN);
	spin_unlock(&fb_user_lock);
}

static struct fb_user_disk *fb_user_after(struct fb_user_disk *ud)
{
	struct list_head *next;

	spin_lock(&fb_user_lock);
	next = ud ? ud->node.next : fb_user_disks.next;
	spin_unlock(&fb_user_lock);
	return next == &fb_user_disks ? NULL : list_entry(next, struct fb_user_disk, node);
}

/* old devices are removed first, as a disk may have taken another one's name */
static void fb_user_devices_work(struct work_struct *work)
{
	char name[DISK_NAME_LEN];
	struct fb_user_disk *ud;

	mutex_lock(&fb_user_changes);
	for (ud = fb_user_after(NULL); ud; ud = fb_user_after(ud)) {
		fb_user_wanted(ud, name);
		if (strcmp(ud->shown, name))
			fb_user_hide(ud);
	}
	for (ud = fb_user_after(NULL); ud; ud = fb_user_after(ud)) {
		fb_user_wanted(ud, name);
		if (name[0] && !ud->shown[0])
			fb_user_show(ud, name);
	}
	mutex_unlock(&fb_user_changes);
}

static DECLARE_WORK(fb_user_devices, fb_user_devices_work);

/* called with a queue frozen; returns NULL, and the disk gets no device, if this fails */
static struct fb_user_disk *fb_user_disk_new(void)
{
	struct fb_user_disk *ud = kzalloc(sizeof(*ud), GFP_NOIO);

	if (!ud)
		return NULL;
	ud->minor = ida_alloc_max(&fb_user_minors, FB_USER_MINORS - 1, GFP_NOIO);
	if (ud->minor < 0) {
		pr_err("freeblock: more than %u disks: no device for this one\n", FB_USER_MINORS);
		kfree(ud);
		return NULL;
	}
	ud->gone = true;
	INIT_LIST_HEAD(&ud->files);
	spin_lock(&fb_user_lock);
	list_add_tail(&ud->node, &fb_user_disks);
	spin_unlock(&fb_user_lock);
	return ud;
}

/* the disk has appeared or changed its name: its device is created soon */
static void fb_user_disk_here(struct fb_disk *fd, struct gendisk *disk)
{
	struct fb_user_disk *ud;

	if (disk && !fd->user)
		fd->user = fb_user_disk_new();
	ud = fd->user;
	if (!disk || !ud)
		return;
	spin_lock(&fb_user_lock);
	strscpy(ud->name, disk->disk_name, sizeof(ud->name));
	ud->dev = disk_devt(disk);
	WRITE_ONCE(ud->gone, false);
	ud->round++;
	spin_unlock(&fb_user_lock);
	schedule_work(&fb_user_devices);
}

/* the disk has disappeared: its readers are woken now, its device is removed soon */
static void fb_user_disk_gone(struct fb_disk *fd)
{
	struct fb_user_disk *ud = fd->user;
	struct fb_user_file *ff;

	if (!ud)
		return;
	spin_lock(&fb_user_lock);
	WRITE_ONCE(ud->gone, true);
	ud->round++;
	list_for_each_entry(ff, &ud->files, node)
		wake_up(&ff->queue.readable);
	spin_unlock(&fb_user_lock);
	schedule_work(&fb_user_devices);
}

/* the disk is forgotten; if files are open, the last one frees @ud when it is closed */
static void fb_user_disk_free(struct fb_disk *fd)
{
	struct fb_user_disk *ud = fd->user;
	bool last;

	if (!ud)
		return;
	mutex_lock(&fb_user_changes);
	fb_user_hide(ud);
	ida_free(&fb_user_minors, ud->minor);
	spin_lock(&fb_user_lock);
	list_del_init(&ud->node);
	WRITE_ONCE(ud->gone, true);
	last = list_empty(&ud->files);
	spin_unlock(&fb_user_lock);
	mutex_unlock(&fb_user_changes);
	if (last)
		kfree(ud);
}

const struct fb_disk_client fb_user_client = {
	.attach = fb_user_disk_here,
	.gone = fb_user_disk_gone,
	.exit = fb_user_disk_free,
};

/* ---- module ---- */

/**
 * fb_user_init() - register the device class and the device numbers
 *
 * Context: module init.
 *
 * Return: 0 or an error.
 */
int fb_user_init(void)
{
	int ret = alloc_chrdev_region(&fb_user_first, 0, FB_USER_MINORS, "freeblock");

	if (ret)
		return ret;
	fb_user_class = fb_compat_class_create("freeblock");
	if (IS_ERR(fb_user_class)) {
		ret = PTR_ERR(fb_user_class);
		goto free_region;
	}
	fb_user_class->devnode = fb_user_devnode;
	cdev_init(&fb_user_cdev, &fb_user_fops);
	fb_user_cdev.owner = THIS_MODULE;
	ret = cdev_add(&fb_user_cdev, fb_user_first, FB_USER_MINORS);
	if (ret)
		goto destroy_class;
	return 0;

destroy_class:
	class_destroy(fb_user_class);
free_region:
	unregister_chrdev_region(fb_user_first, FB_USER_MINORS);
	return ret;
}

/**
 * fb_user_exit() - undo fb_user_init()
 *
 * Context: module exit; all disks have been freed.
 */
void fb_user_exit(void)
{
	flush_work(&fb_user_devices);
	cdev_del(&fb_user_cdev);
	class_destroy(fb_user_class);
	unregister_chrdev_region(fb_user_first, FB_USER_MINORS);
	ida_destroy(&fb_user_minors);
}
