// SPDX-License-Identifier: GPL-2.0
/*
 * Tasks for user space: the character device /dev/freeblock. An open file is a task; the interface
 * is include/uapi/freeblock.h. This file uses the rest of the module only by include/freeblock.h. A
 * call that fails has changed nothing: what may fail comes first, the copy of its results included.
 *
 * Locks: fb_user_file.config, a mutex, serialises ioctl(), but for the wait of FREEBLOCK_IOC_PROBE;
 * fb_user_queue.reader, another one, read(). Neither nests in the other.
 */
#include <linux/blkdev.h>
#include <linux/compat.h>
#include <linux/file.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "tasks/tasks.h"
#include "tasks/user_check.h"
#include "include/compat/fb_cleanup.h"
#include "include/freeblock.h"

#define FB_USER_CLOSE (5 * HZ)	/* close() waits no longer for the task's end */
#define FB_USER_QUEUE_LOOK (HZ / 2)	/* how often a waiting callback polls for a stop */

/*
 * The queue of an open file: the task's callback puts blocks in, sleeping while there is no room,
 * and read() takes them out. The callback alone moves @head, and @filled hands blocks over.
 */
struct fb_user_queue {
	/* serialises read() while it takes blocks, not while it waits; page faults come under it */
	struct mutex reader;
	u64 start;			/* first sector of the block device on the disk */
	u64 sectors;			/* its length */
	u32 granule;			/* sectors per block */
	u32 slots;			/* length of the ring in blocks */
	struct fb_user_check_slot *slot;	/* the ring */
	void *data;			/* the blocks' data; NULL: without data */
	u32 head;			/* where the next block goes; the callback's */
	u32 tail;			/* the next block to be read; under @reader */
	atomic_t filled;		/* blocks between @tail and @head */
	u64 adds;			/* how often ranges were added */
	u64 told;	/* @adds when the reader was last told that all is delivered; @reader */
	bool tells;			/* it is to be told */
	struct freeblock_coverage *coverage;	/* blocks that were read() without error; or NULL */
	bool stalled;			/* the callback waits for room */
	size_t needed;			/* bytes of the record that did not fit a reader's buffer */
	u64 stalled_ns;			/* time for which the callback has waited; the callback's */
	bool closing;			/* the file is being closed: there are no more readers */
	bool ended;			/* the task has ended, and @why is valid */
	enum freeblock_end why;
	wait_queue_head_t readable;	/* readers wait here */
	wait_queue_head_t space;	/* the callback waits here */
};

/* Return: 0; -EINVAL: not even one block fits; -ENOSPC; -ENOMEM. The caller frees what there is. */
static int fb_user_queue_alloc(struct fb_user_queue *q, u32 kib, bool wants_data)
{
	size_t block = wants_data ? (size_t)q->granule << SECTOR_SHIFT : 0;
	struct fb_user_check_slot *slot;
	void *data;

	q->slots = ((size_t)kib << 10) / (block + sizeof(*q->slot));
	if (!q->slots)
		return -EINVAL;
	slot = freeblock_alloc(q->slots * sizeof(*slot), "a reader's records");
	if (IS_ERR(slot))
		return PTR_ERR(slot);
	q->slot = slot;
	if (!block)
		return 0;
	data = freeblock_alloc(q->slots * block, "a reader's buffer");
	if (IS_ERR(data))
		return PTR_ERR(data);
	q->data = data;
	return 0;
}

static void fb_user_queue_free(struct fb_user_queue *q)
{
	freeblock_coverage_destroy(q->coverage);
	freeblock_free(q->data, (u64)q->slots * q->granule << SECTOR_SHIFT);
	freeblock_free(q->slot, (u64)q->slots * sizeof(*q->slot));
	q->coverage = NULL;
	q->data = NULL;
	q->slot = NULL;
}

/* ---- the queue, the task's side ---- */

static u32 fb_user_queue_status(blk_status_t status)
{
	switch (status) {
	case BLK_STS_OK:
		return FREEBLOCK_STATUS_OK;
	case BLK_STS_MEDIUM:
		return FREEBLOCK_STATUS_UNREADABLE;
	case BLK_STS_NOTSUPP:
		return FREEBLOCK_STATUS_UNVERIFIED;
	default:
		return FREEBLOCK_STATUS_UNTRIED;
	}
}

static void *fb_user_queue_data(const struct fb_user_queue *q, u32 i)
{
	return q->data + (((size_t)i * q->granule) << SECTOR_SHIFT);
}

static bool fb_user_queue_has_space(const struct fb_user_queue *q)
{
	return atomic_read_acquire(&q->filled) < q->slots;
}

static struct freeblock_progress fb_user_queue_progress(struct freeblock_task *task)
{
	struct freeblock_progress progress;

	freeblock_task_progress(task, &progress);
	return progress;
}

/*
 * A reader may be slow: the wait is idle, not to be reported as a hung task. A stop by the
 * administrator is polled for: what does not fit is then dropped.
 */
static bool fb_user_queue_wait(struct fb_user_queue *q, struct freeblock_task *task)
{
	u64 begun;

	if (fb_user_queue_has_space(q))
		return true;
	begun = ktime_get_ns();
	WRITE_ONCE(q->stalled, true);
	while (!fb_user_queue_has_space(q) && !READ_ONCE(q->closing) &&
	       !fb_user_queue_progress(task).stopping) {
		wake_up(&q->readable);
		wait_event_idle_timeout(q->space,
					fb_user_queue_has_space(q) || READ_ONCE(q->closing),
					FB_USER_QUEUE_LOOK);
	}
	WRITE_ONCE(q->stalled, false);
	WRITE_ONCE(q->stalled_ns, q->stalled_ns + ktime_get_ns() - begun);
	return fb_user_queue_has_space(q);
}

/* The task's callback: queue a block's part within the block device. Sleeps until there is room. */
static void fb_user_queue_put(struct fb_user_queue *q, struct freeblock_task *task,
			      const struct freeblock_block *block)
{
	u64 lbn = block->lbn, first = max(lbn, q->start);
	u64 end = min(lbn + block->sectors, q->start + q->sectors);
	const struct fb_user_check_slot slot = {
		.first = first - q->start,
		.user_data = block->user_data,
		.sectors = end - first,
		.status = fb_user_queue_status(block->status),
	};

	if (WARN_ON_ONCE(first >= end) || !fb_user_queue_wait(q, task))
		return;
	if (q->data && block->data)
		memcpy(fb_user_queue_data(q, q->head),
		       block->data + ((first - lbn) << SECTOR_SHIFT),
		       (end - first) << SECTOR_SHIFT);
	q->slot[q->head] = slot;
	q->head = q->head + 1 == q->slots ? 0 : q->head + 1;
	atomic_fetch_inc_release(&q->filled);
	wake_up(&q->readable);
}

/* ---- the queue, the reader's side ---- */

/* If true, fb_user_queue.why is valid, and the last block is in the queue. */
static bool fb_user_queue_has_ended(const struct fb_user_queue *q)
{
	/* pairs with fb_user_ended() */
	return smp_load_acquire(&q->ended);
}

static int fb_user_queue_copy(const struct fb_user_queue *q, const struct freeblock_record *record,
			      u32 n, char __user *to)
{
	u32 i = q->tail;

	if (copy_to_user(to, record, sizeof(*record)))
		return -EFAULT;
	to += sizeof(*record);
	for (; n && record->data_bytes; n--) {
		size_t bytes = fb_user_check_bytes(&q->slot[i], q->data);

		if (copy_to_user(to, fb_user_queue_data(q, i), bytes))
			return -EFAULT;
		to += bytes;
		i = i + 1 == q->slots ? 0 : i + 1;
	}
	return 0;
}

/* a block counts as covered from when all of its data are with the reader */
static void fb_user_queue_drop(struct fb_user_queue *q, u32 n)
{
	const struct fb_user_check_slot *slot;
	u32 i;

	for (i = 0; i < n; i++) {
		slot = &q->slot[q->tail];
		if (q->coverage && slot->status == FREEBLOCK_STATUS_OK)
			freeblock_coverage_set(q->coverage,
					       div_u64(q->start + slot->first, q->granule));
		q->tail = q->tail + 1 == q->slots ? 0 : q->tail + 1;
	}
	atomic_fetch_sub_release(n, &q->filled);
	wake_up(&q->space);
}

/* Is the reader to be told that all, of @adds, was delivered? What came before is in the ring. */
static bool fb_user_queue_has_event(const struct fb_user_queue *q, struct freeblock_task *task,
				    u64 *adds)
{
	/* pairs with fb_user_change(): what is counted here is known to the task */
	*adds = smp_load_acquire(&q->adds);
	return q->tells && *adds != READ_ONCE(q->told) && fb_user_queue_progress(task).caught_up;
}

/* a record leaves the ring only when all of it was copied; returns 0 if there is none */
static ssize_t fb_user_queue_take(struct fb_user_queue *q, struct freeblock_task *task,
				  char __user *to, size_t size)
{
	struct fb_user_check_ring ring = { q->slot, q->slots, .has_data = q->data };
	struct freeblock_record record;
	size_t done = 0, bytes;
	bool event;
	u64 adds;
	u32 n;

	lockdep_assert_held(&q->reader);
	for (;;) {
		event = false;
		ring.filled = atomic_read_acquire(&q->filled);
		if (!ring.filled) {
			event = fb_user_queue_has_event(q, task, &adds);
			/* blocks that came meanwhile go before it */
			ring.filled = atomic_read_acquire(&q->filled);
			event &= !ring.filled;
		}
		ring.tail = q->tail;
		if (!ring.filled && !event)
			return done;
		bytes = sizeof(record) +
			(event ? 0 : fb_user_check_bytes(&q->slot[q->tail], q->data));
		if (bytes > size - done) {
			WRITE_ONCE(q->needed, bytes);
			return done ? done : -EMSGSIZE;
		}
		n = event ? 0 : fb_user_check_next(&ring, size - done, &record);
		if (event)
			record = (struct freeblock_record) {
				.header_bytes = sizeof(record),
				.type = FREEBLOCK_RECORD_CAUGHT_UP,
			};
		if (fb_user_queue_copy(q, &record, n, to + done))
			return done ? done : -EFAULT;
		if (event)
			WRITE_ONCE(q->told, adds);
		done += sizeof(record) + record.data_bytes;
		fb_user_queue_drop(q, n);
	}
}

/* Would read() return at once: are there records of a started task, or has it ended? */
static bool fb_user_queue_is_readable(const struct fb_user_queue *q, struct freeblock_task *task)
{
	u64 adds;

	return fb_user_queue_has_ended(q) || atomic_read(&q->filled) ||
	       fb_user_queue_has_event(q, task, &adds) || fb_user_queue_progress(task).gone;
}

/*
 * Copy records to a reader. Return: bytes copied; 0: all was delivered and read; -EMSGSIZE: see
 * fb_user_queue.needed; -EFAULT; -EAGAIN; -ECANCELED: stopped before; -ENODEV: the disk is gone;
 * -ERESTARTSYS.
 */
static ssize_t fb_user_queue_read(struct fb_user_queue *q, struct freeblock_task *task,
				  char __user *to, size_t size, bool nonblock)
{
	for (;;) {
		/* checked first, so that blocks queued before the end are seen */
		bool ended = fb_user_queue_has_ended(q);
		ssize_t ret;

		/* the holder may be sleeping in a page fault */
		if (nonblock ? !mutex_trylock(&q->reader) : mutex_lock_interruptible(&q->reader))
			return nonblock ? -EAGAIN : -ERESTARTSYS;
		ret = fb_user_queue_take(q, task, to, size);
		mutex_unlock(&q->reader);
		if (ret)
			return ret;
		if (ended)
			return q->why == FREEBLOCK_FINISHED ? 0 : -ECANCELED;
		if (fb_user_queue_progress(task).gone)
			return -ENODEV;
		if (nonblock)
			return -EAGAIN;
		if (wait_event_interruptible(q->readable, fb_user_queue_is_readable(q, task)))
			return -ERESTARTSYS;
	}
}

/* An open file */
struct fb_user_file {
	struct mutex config;
	struct fb_user_check_why why;	/* why the last failed call did; guarded by @config */
	bool agreed;			/* FREEBLOCK_IOC_API has succeeded; guarded by @config */
	u64 features;			/* what was agreed on */
	struct fb_user_check_place place;	/* where the device lies on its disk */
	/* NULL before the set-up, which sets @ops, @queue and @place first */
	struct freeblock_task *task;
	struct freeblock_ops ops;	/* the task's callbacks */
	struct fb_user_queue queue;	/* blocks that wait to be read */
	struct work_struct end;		/* ends the task once the file is closed */
	struct completion ended;	/* it has */
	struct kref refs;		/* of the file, and of @end from the closing on */
	bool started;	/* FREEBLOCK_IOC_START has succeeded; written with @config */
	u32 state;	/* that which FREEBLOCK_IOC_PROGRESS returned last; written with @config */
	u32 waiting_for;		/* likewise */
};

/* ---- why a call failed ---- */

#define fb_user_refuse(ff, ret, ...) fb_user_check_refuse(&(ff)->why, ret, __VA_ARGS__)

/* why calls of include/freeblock.h fail; by the first row that fits */
static const struct fb_user_failure {
	unsigned int cmd;		/* the call that is in progress; 0: any */
	int ret;
	const char *why;
} fb_user_failures[] = {
	{ FREEBLOCK_IOC_SETUP, -ENODEV, "the disk is gone or has never had the scheduler" },
	{ FREEBLOCK_IOC_SETUP, -EBUSY, "the disk has as many tasks as it can have" },
	{ FREEBLOCK_IOC_SETUP, -ENOSPC, "the memory for tasks is in use" },
	{ FREEBLOCK_IOC_START, -EINVAL, "nothing is declared" },
	{ FREEBLOCK_IOC_PAUSE, -EALREADY, "it is already paused" },
	{ FREEBLOCK_IOC_RESUME, -EALREADY, "it is already running" },
	{ FREEBLOCK_IOC_PROBE, -EBUSY, "another thread has probes sent" },
	{ FREEBLOCK_IOC_PROBE, -EINTR, "a signal has come before a probe was done" },
	{ FREEBLOCK_IOC_PROBE, -EOPNOTSUPP, "the disk has zones that are written in sequence" },
	{ 0, -EBADFD, "not started" },
	{ 0, -ENODEV, "the disk is gone" },
	{ 0, -ENOMEM, "no memory" },
	{ 0, -ESHUTDOWN, "the task is over" },
	{ 0, -ECANCELED, "stopped before all was delivered" },
	{ 0, -EFAULT, "the buffer is not writable" },
};

static int fb_user_fail(struct fb_user_file *ff, unsigned int cmd, int ret)
{
	const struct fb_user_failure *f = fb_user_failures;

	lockdep_assert_held(&ff->config);
	if (!ret)
		return 0;
	for (; f < fb_user_failures + ARRAY_SIZE(fb_user_failures); f++)
		if (f->ret == ret && (f->cmd == cmd || !f->cmd))
			return fb_user_refuse(ff, ret, "%s", f->why);
	return fb_user_refuse(ff, ret, "error %d", -ret);
}

static int fb_user_need(struct fb_user_file *ff, u64 feature)
{
	return feature & ~ff->features ?
		fb_user_refuse(ff, -EOPNOTSUPP, "feature 0x%llx was not agreed on", feature) : 0;
}

/* if this is true, all writes of the set-up are visible */
static bool fb_user_has_started(const struct fb_user_file *ff)
{
	/* pairs with fb_user_start() */
	return smp_load_acquire(&ff->started);
}

/* ---- structures that grow ---- */

static int fb_user_refuse_pointer(struct fb_user_file *ff)
{
	return fb_user_refuse(ff, -EFAULT, "the argument's memory is not accessible");
}

/* copy a structure of @size bytes, of which @known are known, the rest being 0 */
static int fb_user_take_known(struct fb_user_file *ff, const void __user *from, u32 size, void *to,
			      u32 known)
{
	int ret = copy_struct_from_user(to, known, from, size);

	if (ret == -E2BIG)
		return fb_user_refuse(ff, ret,
				      "a field behind byte %u is not 0, and this module does not know it",
				      known);
	return ret ? fb_user_refuse_pointer(ff) : 0;
}

static void *fb_user_take_array(struct fb_user_file *ff, u64 from, u32 n, u32 size, u32 known)
{
	void *array = kvmalloc_array(n, known, GFP_KERNEL_ACCOUNT);
	int ret = 0;
	u32 i;

	if (!array)
		return ERR_PTR(fb_user_refuse(ff, -ENOMEM, "no memory for the array"));
	for (i = 0; i < n && !ret; i++)
		ret = fb_user_take_known(ff, u64_to_user_ptr(from) + (size_t)i * size, size,
					 array + (size_t)i * known, known);
	if (!ret)
		return array;
	kvfree(array);
	return ERR_PTR(ret);
}

/* copy a call's structure, which begins with its size */
static int fb_user_take(struct fb_user_file *ff, unsigned int cmd, const void __user *arg,
			void *to, u32 known)
{
	u32 size;
	int ret;

	if (get_user(size, (const u32 __user *)arg))
		return fb_user_refuse_pointer(ff);
	/* the call's number has the size of the first version */
	ret = fb_user_check_size(size, _IOC_SIZE(cmd), &ff->why);
	if (!ret)
		ret = fb_user_take_known(ff, arg, size, to, known);
	/* whatever another thread writes there meanwhile */
	*(u32 *)to = size;
	return ret;
}

static int fb_user_give(struct fb_user_file *ff, void __user *arg, const void *from, u32 known)
{
	u32 size = *(const u32 *)from;

	return copy_to_user(arg, from, min(size, known)) ? fb_user_refuse_pointer(ff) : 0;
}

/* what a call is given: its number, its structure as it was copied, and where that comes from */
struct fb_user_arg {
	unsigned int cmd;
	void __user *from;
	union {
		struct freeblock_ioc_api api;
		struct freeblock_ioc_setup setup;
		struct freeblock_ioc_ranges ranges;
		struct freeblock_ioc_bits bits;
		struct freeblock_ioc_probes probes;
		struct freeblock_ioc_urgency urgency;
		struct freeblock_ioc_progress progress;
		struct freeblock_ioc_reason reason;
	} in;
};

static int fb_user_api(struct fb_user_file *ff, struct fb_user_arg *arg)
{
	struct freeblock_ioc_api *a = &arg->in.api;
	int ret;

	if (ff->agreed)
		return fb_user_refuse(ff, -EALREADY, "agreed already");
	ret = fb_user_check_api(a, &ff->why);
	if (ret)
		return ret;
	a->offered = FB_USER_CHECK_FEATURES;
	ret = fb_user_give(ff, arg->from, a, sizeof(*a));
	if (ret)
		return ret;
	ff->features = a->features;
	ff->agreed = true;
	return 0;
}

/* ---- the task's side ---- */

static void fb_user_block(struct freeblock_task *task, const struct freeblock_block *block)
{
	struct fb_user_file *ff = freeblock_task_ctx(task);

	fb_user_queue_put(&ff->queue, task, block);
}

static void fb_user_event(struct freeblock_task *task, u32 events)
{
	struct fb_user_file *ff = freeblock_task_ctx(task);

	/* readers and poll() look themselves what there is */
	wake_up(&ff->queue.readable);
}

static void fb_user_ended(struct freeblock_task *task, enum freeblock_end why)
{
	struct fb_user_file *ff = freeblock_task_ctx(task);

	ff->queue.why = why;
	/* pairs with fb_user_queue_has_ended() */
	smp_store_release(&ff->queue.ended, true);
	wake_up(&ff->queue.readable);
}

/* ---- set-up ---- */

static int fb_user_check_fd(struct fb_user_file *ff, const struct file *file, int fd)
{
	if (!file)
		return fb_user_refuse(ff, -EBADF, "fd %d is not open", fd);
	if (!(file->f_mode & FMODE_READ))
		return fb_user_refuse(ff, -EBADF, "fd %d is not open for reading", fd);
	if (!S_ISBLK(file_inode(file)->i_mode))
		return fb_user_refuse(ff, -ENOTBLK, "fd %d is not of a block device", fd);
	return 0;
}

static int fb_user_alloc_queue(struct fb_user_file *ff, const struct freeblock_ioc_setup *s)
{
	u32 kib = s->buffer_kib ?: FREEBLOCK_BUFFER_KIB;
	struct fb_user_queue *q = &ff->queue;
	int ret;

	q->start = ff->place.start;
	q->sectors = ff->place.sectors;
	q->granule = ff->place.granule;
	q->tells = ff->features & FREEBLOCK_FEATURE_EVENTS;
	ret = fb_user_queue_alloc(q, kib, !(s->flags & FREEBLOCK_SETUP_NO_DATA));
	if (ret == -EINVAL)
		return fb_user_refuse(ff, ret, "a buffer of %u KiB holds no block of %u sectors",
				      kib, q->granule);
	if (ret)
		return fb_user_refuse(ff, ret, "no memory for a buffer of %u KiB%s", kib,
				      ret == -ENOSPC ? " in what tasks may take" : "");
	return 0;
}

static int fb_user_make_coverage(struct fb_user_file *ff, struct freeblock_task *task,
				 struct gendisk *disk)
{
	struct freeblock_coverage *coverage;

	if (!(ff->features & FREEBLOCK_FEATURE_COVERAGE))
		return 0;
	coverage = freeblock_coverage_create(disk);
	if (IS_ERR(coverage))
		return fb_user_fail(ff, FREEBLOCK_IOC_SETUP, PTR_ERR(coverage));
	ff->queue.coverage = coverage;
	if (freeblock_task_set_coverage(task, coverage))
		return fb_user_refuse(ff, -ENODEV, "the disk has just changed");
	return 0;
}

static int fb_user_dress_task(struct fb_user_file *ff, struct freeblock_task *task,
			      struct gendisk *disk, const struct freeblock_ioc_setup *s)
{
	struct freeblock_progress progress;
	int ret;

	freeblock_task_progress(task, &progress);
	ff->place.granule = progress.granule_sectors;
	ff->place.disk_sectors = freeblock_task_sectors(task);
	if (get_capacity(disk) != ff->place.disk_sectors ||
	    ff->place.start + ff->place.sectors > ff->place.disk_sectors)
		return fb_user_refuse(ff, -ENODATA,
				      "%s has %llu sectors now, and had %llu when it got the scheduler",
				      disk->disk_name, get_capacity(disk), ff->place.disk_sectors);
	ret = freeblock_task_order(task, s->order, s->regions, s->segment_sectors);
	if (ret)
		return fb_user_refuse(ff, ret,
				      "%u regions of segments of %u sectors do not suit blocks of %u",
				      s->regions, s->segment_sectors, ff->place.granule);
	freeblock_task_set_priority(task, s->priority);
	freeblock_task_set_deadline(task, s->deadline_ns);
	freeblock_task_set_foreground(task, s->foreground_ppm);
	ret = fb_user_alloc_queue(ff, s);
	return ret ? ret : fb_user_make_coverage(ff, task, disk);
}

/* the queue was never used, and may be set up again: poll() may have its wait queue */
static void fb_user_undo_setup(struct fb_user_file *ff, struct freeblock_task *task)
{
	freeblock_task_destroy(task);
	fb_user_queue_free(&ff->queue);
}

static struct freeblock_task *fb_user_make_task(struct fb_user_file *ff, struct block_device *bdev,
						const struct freeblock_ioc_setup *s)
{
	struct gendisk *disk = bdev->bd_disk;
	struct freeblock_task *task;
	char name[TASK_COMM_LEN];
	int ret;

	get_task_comm(name, current);
	fb_user_check_make_word(name);
	ff->ops.flags = (s->flags & FREEBLOCK_SETUP_MEDIUM ? FREEBLOCK_MEDIUM : 0) |
			(s->flags & FREEBLOCK_SETUP_NO_DATA ? FREEBLOCK_NO_DATA : 0) |
			(s->flags & FREEBLOCK_SETUP_KEEP ? FREEBLOCK_KEEP : 0) |
			FREEBLOCK_OWN_COVERAGE | FREEBLOCK_CHARGE;
	ff->ops.block = fb_user_block;
	ff->ops.event = fb_user_event;
	ff->ops.ended = fb_user_ended;
	ff->place.start = get_start_sect(bdev);
	ff->place.sectors = bdev_nr_sectors(bdev);
	ff->place.logical = bdev_logical_block_size(bdev) >> SECTOR_SHIFT;
	task = freeblock_task_create(disk, s->name[0] ? s->name : name, &ff->ops, ff);
	if (IS_ERR(task))
		return ERR_PTR(fb_user_fail(ff, FREEBLOCK_IOC_SETUP, PTR_ERR(task)));
	ret = fb_user_dress_task(ff, task, disk, s);
	if (ret) {
		fb_user_undo_setup(ff, task);
		return ERR_PTR(ret);
	}
	return task;
}

static void fb_user_fill_setup(const struct fb_user_file *ff, struct freeblock_ioc_setup *s)
{
	s->sectors = ff->place.sectors;
	s->start_sector = ff->place.start;
	s->blocks = fb_user_check_blocks(&ff->place);
	s->granule_sectors = ff->place.granule;
	s->record_bytes = sizeof(struct freeblock_record) +
			  (ff->queue.data ? ff->place.granule << SECTOR_SHIFT : 0);
	s->ranges_max = FREEBLOCK_RANGES_MAX;
	s->pad2 = 0;
}

static int fb_user_setup(struct fb_user_file *ff, struct fb_user_arg *arg)
{
	struct freeblock_ioc_setup *s = &arg->in.setup;
	struct freeblock_task *task;
	struct file *file;
	int ret;

	if (ff->task)
		return fb_user_refuse(ff, -EALREADY, "set up already: open the device again");
	if (!capable(CAP_SYS_RAWIO))
		return fb_user_refuse(ff, -EPERM, "CAP_SYS_RAWIO is needed");
	ret = fb_user_check_setup(s, &ff->why);
	if (ret)
		return ret;
	file = fget(s->fd);
	ret = fb_user_check_fd(ff, file, s->fd);
	task = ret ? ERR_PTR(ret) : fb_user_make_task(ff, I_BDEV(file->f_mapping->host), s);
	if (file)
		fput(file);
	if (IS_ERR(task))
		return PTR_ERR(task);
	fb_user_fill_setup(ff, s);
	ret = fb_user_give(ff, arg->from, s, sizeof(*s));
	if (ret)
		fb_user_undo_setup(ff, task);
	else
		smp_store_release(&ff->task, task);	/* pairs with fb_user_poll() */
	return ret;
}

/* ---- ranges ---- */

static int fb_user_change(struct fb_user_file *ff, const struct fb_user_arg *arg,
			  const struct freeblock_range *ranges)
{
	const struct freeblock_ioc_ranges *r = &arg->in.ranges;
	int ret;

	if (arg->cmd == FREEBLOCK_IOC_REMOVE)
		return freeblock_task_remove(ff->task, ranges, r->nranges);
	if (arg->cmd == FREEBLOCK_IOC_PROMOTE)
		return freeblock_task_promote(ff->task, ranges, r->nranges);
	ret = freeblock_task_add(ff->task, ranges, r->nranges,
				 r->flags & FREEBLOCK_RANGES_UNCOVERED ? FREEBLOCK_UNCOVERED : 0);
	if (!ret) {
		/* pairs with fb_user_queue_has_event() */
		smp_store_release(&ff->queue.adds, ff->queue.adds + 1);
		/* all of it may have been delivered before it was counted */
		wake_up(&ff->queue.readable);
	}
	return ret;
}

static int fb_user_ranges(struct fb_user_file *ff, struct fb_user_arg *arg)
{
	const struct freeblock_ioc_ranges *r = &arg->in.ranges;
	bool adds = arg->cmd == FREEBLOCK_IOC_ADD;
	struct freeblock_range *ranges;
	int ret;
	u32 i;

	ret = fb_user_check_ranges(r, FREEBLOCK_RANGES_MAX, adds ? FREEBLOCK_RANGES_UNCOVERED : 0,
				   &ff->why);
	if (!ret && r->flags)
		ret = fb_user_need(ff, FREEBLOCK_FEATURE_COVERAGE);
	if (ret)
		return ret;
	ranges = fb_user_take_array(ff, r->ranges, r->nranges, r->range_bytes, sizeof(*ranges));
	if (IS_ERR(ranges))
		return PTR_ERR(ranges);
	/* each becomes one of whole blocks of the disk */
	for (i = 0; i < r->nranges && !ret; i++)
		ret = fb_user_check_range(&ff->place, &ranges[i], i, !adds, &ff->why);
	if (!ret) {
		ret = fb_user_change(ff, arg, ranges);
		ret = ret != -ENOSPC ? fb_user_fail(ff, arg->cmd, ret) : fb_user_refuse(ff, ret,
			"too many ranges wait to be entered, or too many values are remembered: %spoll for POLLOUT",
			ff->started ? "" : "start, and then ");
	}
	kvfree(ranges);
	return ret;
}

/* ---- coverage ---- */

static int fb_user_get_coverage(struct fb_user_file *ff, struct fb_user_arg *arg)
{
	const struct freeblock_ioc_bits *b = &arg->in.bits;
	u8 __user *to = u64_to_user_ptr(b->bits);
	const __le64 *map;
	u64 at, done;
	u8 bits[256];
	u32 n, i;
	int ret;

	ret = fb_user_check_bits(b, fb_user_check_blocks(&ff->place), &ff->why);
	if (ret)
		return ret;
	map = ff->queue.coverage->map;
	for (done = 0; done < b->count; done += n) {
		n = min_t(u64, b->count - done, 8 * sizeof(bits));
		at = div_u64(ff->place.start, ff->place.granule) + b->first + done;
		memset(bits, 0, sizeof(bits));
		for (i = 0; i < n; i++, at++)
			if (le64_to_cpu(READ_ONCE(map[at / 64])) >> at % 64 & 1)
				bits[i / 8] |= 1 << i % 8;
		if (copy_to_user(to + done / 8, bits, DIV_ROUND_UP(n, 8)))
			return fb_user_refuse_pointer(ff);
		cond_resched();
	}
	return 0;
}

/* nobody else uses the coverage before the start */
static void fb_user_write_coverage(struct fb_user_file *ff, const struct freeblock_ioc_bits *b,
				   const u8 *bits)
{
	__le64 *map = ff->queue.coverage->map;
	u64 at = div_u64(ff->place.start, ff->place.granule) + b->first, i;

	for (i = 0; i < b->count; i++, at++) {
		if (!(i % BITS_PER_TYPE(u64)))
			cond_resched();
		if (bits[i / 8] >> i % 8 & 1)
			map[at / 64] |= cpu_to_le64(1ULL << at % 64);
		else
			map[at / 64] &= cpu_to_le64(~(1ULL << at % 64));
	}
}

static int fb_user_set_coverage(struct fb_user_file *ff, struct fb_user_arg *arg)
{
	const struct freeblock_ioc_bits *b = &arg->in.bits;
	u8 *bits;
	int ret;

	ret = fb_user_check_bits(b, fb_user_check_blocks(&ff->place), &ff->why);
	if (ret)
		return ret;
	if (ff->started)
		return fb_user_refuse(ff, -EBUSY, "started already");
	bits = vmemdup_user(u64_to_user_ptr(b->bits), DIV_ROUND_UP_ULL(b->count, 8));
	if (IS_ERR(bits))
		return PTR_ERR(bits) == -EFAULT ? fb_user_refuse_pointer(ff) :
		       fb_user_refuse(ff, PTR_ERR(bits), "no memory for the bits");
	ret = fb_user_check_bits_end(bits, b->count, &ff->why);
	if (!ret)
		fb_user_write_coverage(ff, b, bits);
	kvfree(bits);
	return ret;
}

/* ---- probes ---- */

static int fb_user_give_probes(struct fb_user_file *ff, const struct freeblock_ioc_probes *p,
			       struct freeblock_probe *probes)
{
	u8 __user *to = u64_to_user_ptr(p->probes);
	u32 bytes = min_t(u32, p->probe_bytes, sizeof(*probes)), i;

	for (i = 0; i < p->done; i++) {
		probes[i].first -= ff->place.start;
		if (copy_to_user(to + (size_t)i * p->probe_bytes, &probes[i], bytes))
			return fb_user_refuse_pointer(ff);
	}
	return 0;
}

/* Other calls go on while this waits: the task stays as long as the file is open. */
static int fb_user_probe(struct fb_user_file *ff, struct fb_user_arg *arg)
{
	struct freeblock_ioc_probes *p = &arg->in.probes;
	struct freeblock_probe *probes;
	int ret;
	u32 i;

	ret = fb_user_check_probes(p, &ff->why);
	if (ret)
		return ret;
	probes = fb_user_take_array(ff, p->probes, p->nprobes, p->probe_bytes, sizeof(*probes));
	if (IS_ERR(probes))
		return PTR_ERR(probes);
	for (i = 0; i < p->nprobes && !ret; i++) {
		ret = fb_user_check_probe(&ff->place, &probes[i], i, &ff->why);
		probes[i].first += ff->place.start;
	}
	if (ret)
		goto free;
	mutex_unlock(&ff->config);
	ret = freeblock_task_probe(ff->task, probes, p->nprobes, p->timeout_ms);
	mutex_lock(&ff->config);
	if (ret < 0) {
		ret = fb_user_fail(ff, arg->cmd, ret == -ERESTARTSYS ? -EINTR : ret);
		goto free;
	}
	p->done = ret;
	ret = fb_user_give_probes(ff, p, probes);
	if (!ret)
		ret = fb_user_give(ff, arg->from, p, sizeof(*p));
free:
	kvfree(probes);
	return ret;
}

/* ---- control and progress ---- */

static int fb_user_start(struct fb_user_file *ff, struct fb_user_arg *arg)
{
	int ret;

	if (ff->started)
		return fb_user_refuse(ff, -EALREADY, "started already");
	ret = freeblock_task_start(ff->task);
	if (ret)
		return fb_user_fail(ff, arg->cmd, ret);
	/* pairs with fb_user_has_started() */
	smp_store_release(&ff->started, true);
	wake_up(&ff->queue.readable);
	return 0;
}

static int fb_user_control(struct fb_user_file *ff, struct fb_user_arg *arg)
{
	int ret = 0;

	if (arg->cmd == FREEBLOCK_IOC_STOP)
		freeblock_task_stop(ff->task);
	else if (arg->cmd == FREEBLOCK_IOC_PAUSE)
		ret = freeblock_task_pause(ff->task);
	else
		ret = freeblock_task_resume(ff->task);
	return fb_user_fail(ff, arg->cmd, ret == -EINVAL ? -ESHUTDOWN : ret);
}

static int fb_user_urgency(struct fb_user_file *ff, struct fb_user_arg *arg)
{
	const struct freeblock_ioc_urgency *u = &arg->in.urgency;
	int ret;

	if (u->pad)
		return fb_user_refuse(ff, -EINVAL, "pad is not 0");
	ret = fb_user_check_urgency(u->priority, u->foreground_ppm, &ff->why);
	if (ret)
		return ret;
	freeblock_task_set_priority(ff->task, u->priority);
	freeblock_task_set_deadline(ff->task, u->deadline_ns);
	freeblock_task_set_foreground(ff->task, u->foreground_ppm);
	return 0;
}

static u32 fb_user_state(const struct fb_user_file *ff, const struct freeblock_progress *p)
{
	if (!fb_user_has_started(ff))
		return p->stopping ? FREEBLOCK_STATE_STOPPED : FREEBLOCK_STATE_NEW;
	if (fb_user_queue_has_ended(&ff->queue))
		return ff->queue.why == FREEBLOCK_FINISHED ? FREEBLOCK_STATE_FINISHED :
							     FREEBLOCK_STATE_STOPPED;
	return p->paused ? FREEBLOCK_STATE_PAUSED : FREEBLOCK_STATE_RUNNING;
}

/* that the reader is slow is known here */
static u32 fb_user_waiting_for(const struct fb_user_file *ff, const struct freeblock_progress *p)
{
	bool other = p->waiting_for && p->waiting_for < FREEBLOCK_WAIT_READER;

	return READ_ONCE(ff->queue.stalled) && !other && !p->paused && !p->stopping ?
	       FREEBLOCK_WAIT_READER : p->waiting_for;
}

static int fb_user_progress(struct fb_user_file *ff, struct fb_user_arg *arg)
{
	struct freeblock_ioc_progress *u = &arg->in.progress;
	struct fb_user_queue *q = &ff->queue;
	struct freeblock_progress p;
	int ret;

	freeblock_task_progress(ff->task, &p);
	u->state = fb_user_state(ff, &p);
	u->waiting_for = fb_user_waiting_for(ff, &p);
	u->entering = p.entering;
	u->total = p.total;
	u->done = p.done;
	u->failed = p.failed;
	u->flying = p.flying;
	u->queued = atomic_read(&q->filled);
	u->buffer_blocks = q->slots;
	u->stalled_ns = READ_ONCE(q->stalled_ns);
	ret = fb_user_give(ff, arg->from, u, sizeof(*u));
	if (ret)
		return ret;
	WRITE_ONCE(ff->state, u->state);
	WRITE_ONCE(ff->waiting_for, u->waiting_for);
	return 0;
}

static int fb_user_reason(struct fb_user_file *ff, struct fb_user_arg *arg)
{
	struct freeblock_ioc_reason *r = &arg->in.reason;

	if (r->pad)
		return fb_user_refuse(ff, -EINVAL, "pad is not 0");
	BUILD_BUG_ON(sizeof(r->text) != sizeof(ff->why.text));
	strscpy_pad(r->text, ff->why.text, sizeof(r->text));
	return fb_user_give(ff, arg->from, r, sizeof(*r));
}

/* what must have been done before a call */
enum fb_user_stage { FB_USER_OPEN, FB_USER_AGREED, FB_USER_SET_UP, FB_USER_STARTED };

#define FB_USER_SIZE(member) sizeof_field(struct fb_user_arg, in.member)

static const struct fb_user_call {
	unsigned int cmd;
	enum fb_user_stage stage;
	int (*call)(struct fb_user_file *ff, struct fb_user_arg *arg);
	u32 bytes;			/* of its structure; 0: it has none */
	u64 feature;			/* that it is part of */
} fb_user_calls[] = {
	{ FREEBLOCK_IOC_API, FB_USER_OPEN, fb_user_api, FB_USER_SIZE(api) },
	{ FREEBLOCK_IOC_REASON, FB_USER_OPEN, fb_user_reason, FB_USER_SIZE(reason) },
	{ FREEBLOCK_IOC_SETUP, FB_USER_AGREED, fb_user_setup, FB_USER_SIZE(setup) },
	{ FREEBLOCK_IOC_ADD, FB_USER_SET_UP, fb_user_ranges, FB_USER_SIZE(ranges) },
	{ FREEBLOCK_IOC_REMOVE, FB_USER_SET_UP, fb_user_ranges, FB_USER_SIZE(ranges) },
	{ FREEBLOCK_IOC_PROMOTE, FB_USER_STARTED, fb_user_ranges, FB_USER_SIZE(ranges) },
	{ FREEBLOCK_IOC_START, FB_USER_SET_UP, fb_user_start },
	{ FREEBLOCK_IOC_PAUSE, FB_USER_STARTED, fb_user_control },
	{ FREEBLOCK_IOC_RESUME, FB_USER_STARTED, fb_user_control },
	{ FREEBLOCK_IOC_STOP, FB_USER_STARTED, fb_user_control },
	{ FREEBLOCK_IOC_URGENCY, FB_USER_SET_UP, fb_user_urgency, FB_USER_SIZE(urgency) },
	{ FREEBLOCK_IOC_PROGRESS, FB_USER_SET_UP, fb_user_progress, FB_USER_SIZE(progress) },
	{ FREEBLOCK_IOC_GET_COVERAGE, FB_USER_SET_UP, fb_user_get_coverage, FB_USER_SIZE(bits),
	  FREEBLOCK_FEATURE_COVERAGE },
	{ FREEBLOCK_IOC_SET_COVERAGE, FB_USER_SET_UP, fb_user_set_coverage, FB_USER_SIZE(bits),
	  FREEBLOCK_FEATURE_COVERAGE },
	{ FREEBLOCK_IOC_PROBE, FB_USER_STARTED, fb_user_probe, FB_USER_SIZE(probes),
	  FREEBLOCK_FEATURE_PROBES },
};

static int fb_user_call(struct fb_user_file *ff, const struct fb_user_call *c, void __user *from)
{
	struct fb_user_arg arg = { .cmd = c->cmd, .from = from };
	int ret;

	lockdep_assert_held(&ff->config);
	if (c->stage >= FB_USER_AGREED && !ff->agreed)
		return fb_user_refuse(ff, -EBADFD, "FREEBLOCK_IOC_API comes first");
	if (c->stage >= FB_USER_SET_UP && !ff->task)
		return fb_user_refuse(ff, -EBADFD, "not set up");
	if (c->stage >= FB_USER_STARTED && !ff->started)
		return fb_user_refuse(ff, -EBADFD, "not started");
	ret = c->bytes ? fb_user_take(ff, c->cmd, from, &arg.in, c->bytes) : 0;
	if (!ret)
		ret = fb_user_need(ff, c->feature);
	return ret ? ret : c->call(ff, &arg);
}

static long fb_user_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct fb_user_file *ff = file->private_data;
	long ret;
	u32 i = 0;

	while (i < ARRAY_SIZE(fb_user_calls) && fb_user_calls[i].cmd != cmd)
		i++;
	if (mutex_lock_interruptible(&ff->config))
		return -ERESTARTSYS;
	ret = i < ARRAY_SIZE(fb_user_calls) ?
	      fb_user_call(ff, &fb_user_calls[i], (void __user *)arg) :
	      fb_user_refuse(ff, -ENOTTY, "no call 0x%x", cmd);
	mutex_unlock(&ff->config);
	return ret;
}

/* ---- read and poll ---- */

static ssize_t fb_user_read(struct file *file, char __user *to, size_t size, loff_t *pos)
{
	struct fb_user_file *ff = file->private_data;
	ssize_t ret = -EBADFD;

	if (fb_user_has_started(ff))
		ret = fb_user_queue_read(&ff->queue, ff->task, to, size,
					 file->f_flags & O_NONBLOCK);
	if (ret >= 0 || ret == -EAGAIN || ret == -ERESTARTSYS)
		return ret;
	/* a call that is under way may take long, and has a reason of its own */
	if (!mutex_trylock(&ff->config))
		return ret;
	if (ret != -EMSGSIZE)
		fb_user_fail(ff, 0, ret);
	else
		fb_user_refuse(ff, ret, "a buffer of %zu bytes, the next record has %zu", size,
			       READ_ONCE(ff->queue.needed));
	mutex_unlock(&ff->config);
	return ret;
}

static __poll_t fb_user_poll(struct file *file, poll_table *wait)
{
	struct fb_user_file *ff = file->private_data;
	/* pairs with fb_user_setup() */
	struct freeblock_task *task = smp_load_acquire(&ff->task);
	struct freeblock_progress p;
	__poll_t events = 0;
	u32 state;

	poll_wait(file, &ff->queue.readable, wait);
	if (!task)
		return EPOLLERR;
	freeblock_task_progress(task, &p);
	state = fb_user_state(ff, &p);
	if (!fb_user_has_started(ff))
		events |= EPOLLERR;
	else if (fb_user_queue_is_readable(&ff->queue, task))
		events |= EPOLLIN | EPOLLRDNORM;
	if (p.gone || state == FREEBLOCK_STATE_STOPPED)
		events |= EPOLLHUP;
	/* a program that waits for nothing else must hear that there will be no room any more */
	if (p.room || state == FREEBLOCK_STATE_FINISHED)
		events |= EPOLLOUT | EPOLLWRNORM;
	if (state != READ_ONCE(ff->state) ||
	    fb_user_waiting_for(ff, &p) != READ_ONCE(ff->waiting_for))
		events |= EPOLLPRI;
	return events;
}

/* ---- open and close ---- */

static struct workqueue_struct *fb_user_wq;

static void fb_user_free(struct kref *refs)
{
	kfree(container_of(refs, struct fb_user_file, refs));
}

static void fb_user_end(struct work_struct *work)
{
	struct fb_user_file *ff = container_of(work, struct fb_user_file, end);

	freeblock_task_destroy(ff->task);
	fb_user_queue_free(&ff->queue);
	complete(&ff->ended);
	kref_put(&ff->refs, fb_user_free);
	/* fb_user_exit() waits for the rest of this function */
	module_put(THIS_MODULE);
}

static int fb_user_open(struct inode *inode, struct file *file)
{
	struct fb_user_file *ff;

	/* the module may yet fail to load, which waits for nobody */
	if (THIS_MODULE->state != MODULE_STATE_LIVE)
		return -ENODEV;
	ff = kzalloc(sizeof(*ff), GFP_KERNEL_ACCOUNT);
	if (!ff)
		return -ENOMEM;
	mutex_init(&ff->config);
	mutex_init(&ff->queue.reader);
	init_waitqueue_head(&ff->queue.readable);
	init_waitqueue_head(&ff->queue.space);
	INIT_WORK(&ff->end, fb_user_end);
	init_completion(&ff->ended);
	kref_init(&ff->refs);
	file->private_data = ff;
	return stream_open(inode, file);
}

/* if a stuck drive keeps the task's reads, the rest is left to the work, which keeps the module */
static int fb_user_release(struct inode *inode, struct file *file)
{
	struct fb_user_file *ff = file->private_data;

	/* the callback must not wait: there are no more readers */
	WRITE_ONCE(ff->queue.closing, true);
	wake_up(&ff->queue.space);
	if (ff->task) {
		freeblock_task_stop(ff->task);
		__module_get(THIS_MODULE);
		kref_get(&ff->refs);
		queue_work(fb_user_wq, &ff->end);
		wait_for_completion_timeout(&ff->ended, FB_USER_CLOSE);
	}
	kref_put(&ff->refs, fb_user_free);
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

static struct miscdevice fb_user_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "freeblock",
	.mode = 0600,
	.fops = &fb_user_fops,
};

/* ---- module ---- */

/* Create /dev/freeblock, which can be opened when the module is there. Return: 0 or an error. */
int fb_user_init(void)
{
	int ret;

	fb_user_wq = alloc_workqueue("freeblock_close", WQ_UNBOUND, 0);
	if (!fb_user_wq)
		return -ENOMEM;
	ret = misc_register(&fb_user_device);
	if (ret)
		destroy_workqueue(fb_user_wq);
	return ret;
}

/* No file is open. */
void fb_user_exit(void)
{
	misc_deregister(&fb_user_device);
	destroy_workqueue(fb_user_wq);
}
