// SPDX-License-Identifier: GPL-2.0
/*
 * Tasks: their life, what consumers change of them, and the delivery of blocks (DESIGN 6;
 * the interface is include/freeblock.h). What is read for them is fb_svc.c's.
 *
 * Locks: fb_disk.life for creation, start and destruction; fb_disk.lock for states and
 * counts; the table is in fb_disk.h.
 */
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "fb_disk.h"
#include "fb_memory.h"
#include "fb_reader.h"

static atomic_t fb_task_last_id;
static struct workqueue_struct *fb_task_wq;

/**
 * fb_task_init() - the workqueue on which consumers are called
 *
 * Context: module init.
 *
 * Return: 0 or -ENOMEM.
 */
int fb_task_init(void)
{
	fb_task_wq = alloc_workqueue("freeblock", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	return fb_task_wq ? 0 : -ENOMEM;
}

/**
 * fb_task_exit() - undo fb_task_init()
 *
 * Context: module exit, no task left.
 */
void fb_task_exit(void)
{
	destroy_workqueue(fb_task_wq);
}

static u32 fb_task_granule(const struct freeblock_task *task)
{
	return dm_info(task->fd->model)->granule_sectors;
}

/* ---- delivery: the workqueue ---- */

struct fb_task_count {
	u64 done;
	u64 failed;
};

/* set_bit_le() itself takes an int */
static void fb_task_cover(struct freeblock_coverage *coverage, u64 block)
{
	set_bit_le(block % BITS_PER_TYPE(u64), &coverage->map[block / BITS_PER_TYPE(u64)]);
}

static void fb_task_deliver_block(struct freeblock_task *task, struct fb_buf *buf, u32 i,
				  struct fb_task_count *count)
{
	u32 granule = fb_task_granule(task);
	u64 lbn = buf->lbn + (u64)i * granule;
	u32 n = min_t(u64, granule, task->fd->sectors - lbn);
	u32 end = i * granule + n;
	blk_status_t status = BLK_STS_OK;
	const void *data = buf->data + (((size_t)i * granule) << SECTOR_SHIFT);

	if (buf->how == FB_MEDIUM_VERIFY)
		data = NULL;
	if (buf->good < end) {
		/* the first that was not read is the bad one, the drive was stopped there */
		status = buf->good >= i * granule ? BLK_STS_MEDIUM : BLK_STS_IOERR;
		data = NULL;
		count->failed++;
	}
	count->done++;
	task->ops->block(task, lbn, n, data, status);
	if (task->coverage && status == BLK_STS_OK)
		fb_task_cover(task->coverage, div_u64(lbn, granule));
	cond_resched();
}

/* the buffer stays with the task's consumer from here on, unless a write has spoilt it */
static bool fb_task_deliver_begin(struct freeblock_task *task, struct fb_buf *buf)
{
	u32 bit = BIT(task->slot);
	bool ours;

	spin_lock_irq(&task->fd->lock);
	ours = buf->state == FB_BUF_DELIVER && buf->pending & bit;
	if (ours && buf->dirty) {
		ours = false;
		buf->pending &= ~bit;
		buf->voided |= bit;
		task->held--;
		task->fd->stats.discarded++;
		wake_up(&task->fd->wait);
	}
	spin_unlock_irq(&task->fd->lock);
	return ours;
}

static void fb_task_deliver_end(struct freeblock_task *task, struct fb_buf *buf,
				const struct fb_task_count *count)
{
	spin_lock_irq(&task->fd->lock);
	task->done += count->done;
	task->failed += count->failed;
	task->held--;
	buf->pending &= ~BIT(task->slot);
	buf->served |= BIT(task->slot);
	wake_up(&task->fd->wait);
	spin_unlock_irq(&task->fd->lock);
}

static void fb_task_deliver_work(struct work_struct *work)
{
	struct freeblock_task *task = container_of(work, struct freeblock_task, deliver);
	struct fb_bufs *bufs = task->fd->bufs;
	unsigned int i;
	u32 b;

	for (b = 0; b < READ_ONCE(bufs->n); b++) {
		struct fb_buf *buf = &bufs->buf[b];
		struct fb_task_count count = {};

		if (!fb_task_deliver_begin(task, buf))
			continue;
		invalidate_kernel_vmap_range(buf->data, bufs->sectors << SECTOR_SHIFT);
		for_each_set_bit(i, buf->share[task->slot].mask, FB_BUF_GRANULES)
			fb_task_deliver_block(task, buf, i, &count);
		fb_task_deliver_end(task, buf, &count);
	}
}

/**
 * fb_task_deliver() - there is something for a task's consumer
 * @task: the task
 *
 * Context: the thread.
 */
void fb_task_deliver(struct freeblock_task *task)
{
	queue_work(fb_task_wq, &task->deliver);
}

/* ---- the end ---- */

static void fb_task_ended_work(struct work_struct *work)
{
	struct freeblock_task *task = container_of(work, struct freeblock_task, ended);

	task->ops->ended(task, task->end);
	complete_all(&task->over);
}

static void fb_task_drop_todo(struct freeblock_task *task)
{
	struct fb_op *op, *next;

	list_for_each_entry_safe(op, next, &task->todo, node) {
		list_del(&op->node);
		kvfree(op);
	}
}

/**
 * fb_task_try_end() - a task seems to be through
 * @task: the task, no longer active or without wants; nothing of it is on its way
 *
 * It is not when its consumer has just added something.
 *
 * Context: the thread; may sleep. The thread knows it no longer when it is over.
 */
void fb_task_try_end(struct freeblock_task *task)
{
	struct fb_disk *fd = task->fd;

	spin_lock_irq(&fd->lock);
	if (task->state != FB_TASK_STOPPING && (task->state != FB_TASK_RUNNING || task->ntodo)) {
		spin_unlock_irq(&fd->lock);
		return;
	}
	task->end = task->state == FB_TASK_STOPPING ? FREEBLOCK_STOPPED : FREEBLOCK_FINISHED;
	task->state = FB_TASK_OVER;
	spin_unlock_irq(&fd->lock);
	fbv_leave(fd->svc, task);
	spin_lock_irq(&fd->lock);
	fd->svc->task[task->slot] = NULL;
	spin_unlock_irq(&fd->lock);
	flush_work(&task->deliver);
	fb_task_drop_todo(task);
	queue_work(fb_task_wq, &task->ended);
}

/* ---- creation ---- */

/* a map of the disk, charged to @account */
static int fb_task_init_map(struct fb_disk *fd, struct fb_bitmap *map, u64 *account)
{
	const struct dm_info *info = dm_info(fd->model);
	u64 granules = DIV_ROUND_UP_ULL(info->sectors, info->granule_sectors);
	u32 tracks = dm_tracks(fd->model);
	int ret = fb_memory_charge(account, fb_bitmap_bytes(granules, tracks), "a task");

	if (ret)
		return ret;
	ret = fb_bitmap_init(map, granules, tracks);
	if (ret)
		fb_memory_uncharge(account, fb_bitmap_bytes(granules, tracks));
	return ret;
}

/* what serves the tasks; from the second task on with a map for what all want together */
static int fb_task_need_svc(struct fb_disk *fd)
{
	struct fb_svc *svc;

	lockdep_assert_held(&fd->life);
	if (fd->svc && fd->svc->all.wanted)
		return 0;
	if (fd->svc)
		return fb_task_init_map(fd, &fd->svc->all, &fd->svc->bytes);
	svc = kvzalloc(sizeof(*svc), GFP_KERNEL);
	if (!svc)
		return -ENOMEM;
	svc->fd = fd;
	fbb_forget(&fd->bad);
	mutex_lock(&fd->config);
	spin_lock_irq(&fd->lock);
	if (fd->model)
		fd->svc = svc;
	spin_unlock_irq(&fd->lock);
	mutex_unlock(&fd->config);
	if (fd->svc)
		return 0;
	kvfree(svc);
	return -ENODATA;
}

/* the last task is gone: nothing is wanted, nothing is on its way */
static void fb_task_drop_svc(struct fb_disk *fd)
{
	struct fb_svc *svc = fd->svc;
	struct fb_bufs *bufs;

	lockdep_assert_held(&fd->life);
	if (!svc || svc->created)
		return;
	if (svc->thread)
		kthread_stop(svc->thread);
	mutex_lock(&fd->config);
	spin_lock_irq(&fd->lock);
	bufs = fd->bufs;
	fd->bufs = NULL;
	fd->svc = NULL;
	spin_unlock_irq(&fd->lock);
	mutex_unlock(&fd->config);
	fb_buf_free_all(bufs);
	fb_bitmap_destroy(&svc->all);
	fb_memory_uncharge(&svc->bytes, svc->bytes);
	kvfree(svc);
}

static int fb_task_enter(struct freeblock_task *task)
{
	struct fb_disk *fd = task->fd;
	int ret = fb_task_need_svc(fd);

	if (ret)
		return ret;
	if (fd->svc->created == FREEBLOCK_TASKS)
		return -EBUSY;
	ret = fb_task_init_map(fd, &task->map, &task->bytes);
	if (ret) {
		fb_task_drop_svc(fd);
		return ret;
	}
	fd->svc->created++;
	return 0;
}

static struct freeblock_task *fb_task_new(struct fb_disk *fd, const char *disk, const char *name,
					  const struct freeblock_ops *ops, void *ctx)
{
	struct freeblock_task *task = kzalloc(sizeof(*task), GFP_KERNEL);

	if (!task)
		return NULL;
	task->fd = fd;
	task->id = atomic_inc_return(&fb_task_last_id);
	task->ops = ops;
	task->ctx = ctx;
	task->priority = FREEBLOCK_PRIORITY_DEFAULT;
	strscpy(task->disk, disk, sizeof(task->disk));
	strscpy(task->name, name, sizeof(task->name));
	INIT_LIST_HEAD(&task->todo);
	init_completion(&task->over);
	INIT_WORK(&task->deliver, fb_task_deliver_work);
	INIT_WORK(&task->ended, fb_task_ended_work);
	return task;
}

/* ---- the interface, documented in include/freeblock.h ---- */

struct freeblock_task *freeblock_task_create(const char *disk, const char *name,
					     const struct freeblock_ops *ops, void *ctx)
{
	struct fb_disk *fd = fb_disk_get(disk);
	unsigned int noio = memalloc_noio_save();
	struct freeblock_task *task = NULL;
	int ret = -ENODEV;

	if (!fd)
		goto out;
	task = fb_task_new(fd, disk, name, ops, ctx);
	ret = -ENOMEM;
	if (!task)
		goto put;
	mutex_lock(&fd->life);
	ret = fb_task_enter(task);
	mutex_unlock(&fd->life);
	if (!ret)
		goto out;
	kfree(task);
put:
	fb_disk_put(fd);
out:
	memalloc_noio_restore(noio);
	return ret ? ERR_PTR(ret) : task;
}
EXPORT_SYMBOL_GPL(freeblock_task_create);

/* hand a change to the thread */
static int fb_task_post(struct freeblock_task *task, struct fb_op *op)
{
	struct fb_disk *fd = task->fd;
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&fd->lock, flags);
	if (task->state >= FB_TASK_STOPPING)
		ret = -ESHUTDOWN;
	else if (task->ntodo == FREEBLOCK_RANGES)
		ret = -ENOSPC;
	if (!ret) {
		list_add_tail(&op->node, &task->todo);
		task->ntodo++;
		wake_up(&fd->wait);
	}
	spin_unlock_irqrestore(&fd->lock, flags);
	if (ret)
		kvfree(op);
	return ret;
}

static bool fb_task_has_range(const struct freeblock_task *task, u64 first, u64 count)
{
	u32 granule = fb_task_granule(task);
	u64 sectors = dm_info(task->fd->model)->sectors;

	return count && first < sectors && count <= sectors - first && !(first & (granule - 1)) &&
	       (!(count & (granule - 1)) || first + count == sectors);
}

static int fb_task_range(struct freeblock_task *task, enum fb_op_kind kind, u64 first, u64 count)
{
	u32 granule = fb_task_granule(task);
	struct fb_op *op;

	if (!fb_task_has_range(task, first, count))
		return -EINVAL;
	op = kvzalloc(sizeof(*op), GFP_NOIO);
	if (!op)
		return -ENOMEM;
	op->kind = kind;
	op->first = div_u64(first, granule);
	op->n = DIV_ROUND_UP_ULL(count, granule);
	return fb_task_post(task, op);
}

int freeblock_task_add(struct freeblock_task *task, sector_t first, sector_t count)
{
	return fb_task_range(task, FB_OP_ADD, first, count);
}
EXPORT_SYMBOL_GPL(freeblock_task_add);

int freeblock_task_remove(struct freeblock_task *task, sector_t first, sector_t count)
{
	return fb_task_range(task, FB_OP_REMOVE, first, count);
}
EXPORT_SYMBOL_GPL(freeblock_task_remove);

int freeblock_task_promote(struct freeblock_task *task, sector_t first, sector_t count)
{
	return fb_task_range(task, FB_OP_PROMOTE, first, count);
}
EXPORT_SYMBOL_GPL(freeblock_task_promote);

/* to want what of @n blocks will have its bit set */
static struct fb_op *fb_task_new_bits(u64 first, u64 n)
{
	struct fb_op *op = kvzalloc(struct_size(op, bits, BITS_TO_LONGS(n)), GFP_KERNEL);

	if (!op)
		return NULL;
	op->kind = FB_OP_ADD;
	op->first = first;
	op->n = n;
	op->masked = true;
	op->base = first;
	return op;
}

int freeblock_task_add_bits(struct freeblock_task *task, u64 first, const unsigned long *bits,
			    u64 n)
{
	unsigned int noio = memalloc_noio_save();
	int ret = -EINVAL;
	struct fb_op *op;

	if (!n || first >= task->map.granules || n > task->map.granules - first)
		goto out;
	ret = -ENOMEM;
	op = fb_task_new_bits(first, n);
	if (!op)
		goto out;
	memcpy(op->bits, bits, BITS_TO_LONGS(n) * sizeof(*bits));
	ret = fb_task_post(task, op);
out:
	memalloc_noio_restore(noio);
	return ret;
}
EXPORT_SYMBOL_GPL(freeblock_task_add_bits);

/* ---- coverage: what has been delivered in good order ---- */

/* blocks are wanted in pieces of so many bits */
#define FB_TASK_PIECE BIT(20)

static u64 fb_task_coverage_bytes(const struct freeblock_coverage *coverage)
{
	return sizeof(*coverage) + coverage->bytes;
}

/* @disk's coverage without its map; granule_sectors is 0 when it has no model */
static int fb_task_size_coverage(const char *disk, struct freeblock_coverage *size)
{
	struct fb_disk *fd = fb_disk_get(disk);

	if (!fd)
		return -ENODEV;
	mutex_lock(&fd->config);
	if (fd->model) {
		size->granule_sectors = dm_info(fd->model)->granule_sectors;
		size->blocks = DIV_ROUND_UP_ULL(dm_info(fd->model)->sectors,
						size->granule_sectors);
		size->bytes = BITS_TO_U64(size->blocks) * sizeof(u64);
	}
	mutex_unlock(&fd->config);
	fb_disk_put(fd);
	return size->granule_sectors ? 0 : -ENODATA;
}

struct freeblock_coverage *freeblock_coverage_create(const char *disk)
{
	struct freeblock_coverage size = {}, *coverage;
	int ret = fb_task_size_coverage(disk, &size);

	if (ret)
		return ERR_PTR(ret);
	coverage = freeblock_alloc(fb_task_coverage_bytes(&size), "coverage");
	if (!IS_ERR(coverage))
		memcpy(coverage, &size, sizeof(size));
	return coverage;
}
EXPORT_SYMBOL_GPL(freeblock_coverage_create);

void freeblock_coverage_destroy(struct freeblock_coverage *coverage)
{
	if (coverage)
		freeblock_free(coverage, fb_task_coverage_bytes(coverage));
}
EXPORT_SYMBOL_GPL(freeblock_coverage_destroy);

int freeblock_task_set_coverage(struct freeblock_task *task, struct freeblock_coverage *coverage)
{
	if (task->state != FB_TASK_NEW)
		return -EBUSY;
	if (coverage->granule_sectors != fb_task_granule(task) ||
	    coverage->blocks != task->map.granules)
		return -EINVAL;
	task->coverage = coverage;
	return 0;
}
EXPORT_SYMBOL_GPL(freeblock_task_set_coverage);

/* what @coverage lacks of @op's range; how many blocks that is */
static u64 fb_task_uncovered(const struct freeblock_coverage *coverage, struct fb_op *op)
{
	u64 end = op->first + op->n, at, past, found = 0;

	for (at = find_next_zero_bit_le(coverage->map, end, op->first); at < end;
	     at = find_next_zero_bit_le(coverage->map, end, past)) {
		past = find_next_bit_le(coverage->map, end, at);
		bitmap_set(op->bits, at - op->first, past - at);
		found += past - at;
	}
	return found;
}

/* how many blocks of a piece are wanted */
static s64 fb_task_add_piece(struct freeblock_task *task, u64 first, u64 n)
{
	struct fb_op *op = fb_task_new_bits(first, n);
	u64 found;
	int ret;

	if (!op)
		return -ENOMEM;
	found = fb_task_uncovered(task->coverage, op);
	/* entered faster */
	op->masked = found < n;
	if (!found) {
		kvfree(op);
		return 0;
	}
	ret = fb_task_post(task, op);
	return ret ? ret : found;
}

s64 freeblock_task_add_uncovered(struct freeblock_task *task, sector_t first, sector_t count)
{
	u64 at = div_u64(first, fb_task_granule(task));
	u64 end = DIV_ROUND_UP_ULL(first + count, fb_task_granule(task));
	unsigned int noio = memalloc_noio_save();
	s64 found = 0, more = 0;

	if (!task->coverage || !fb_task_has_range(task, first, count) ||
	    find_next_bit_le(task->coverage->map, end, at) >= end) {
		more = fb_task_range(task, FB_OP_ADD, first, count);
		found = end - at;
		at = end;
	}
	for (; at < end && more >= 0; at += FB_TASK_PIECE) {
		more = fb_task_add_piece(task, at, min_t(u64, FB_TASK_PIECE, end - at));
		found += more;
		cond_resched();
	}
	memalloc_noio_restore(noio);
	return more < 0 ? more : found;
}
EXPORT_SYMBOL_GPL(freeblock_task_add_uncovered);

int freeblock_task_order(struct freeblock_task *task, enum freeblock_order order, u32 regions,
			 u32 segment_sectors)
{
	bool staggered = order == FREEBLOCK_STAGGERED;

	if (task->state != FB_TASK_NEW)
		return -EBUSY;
	if (order > FREEBLOCK_STAGGERED || staggered != !!regions ||
	    staggered != !!segment_sectors || segment_sectors & (fb_task_granule(task) - 1) ||
	    regions > FBO_REGIONS_MAX)
		return -EINVAL;
	task->order = order;
	task->regions = regions;
	task->segment_sectors = segment_sectors;
	return 0;
}
EXPORT_SYMBOL_GPL(freeblock_task_order);

int freeblock_task_set_priority(struct freeblock_task *task, u32 priority)
{
	if (priority >= FREEBLOCK_PRIORITIES)
		return -EINVAL;
	WRITE_ONCE(task->priority, priority);
	return 0;
}
EXPORT_SYMBOL_GPL(freeblock_task_set_priority);

void freeblock_task_set_deadline(struct freeblock_task *task, u64 deadline_ns)
{
	WRITE_ONCE(task->deadline_ns, deadline_ns);
}
EXPORT_SYMBOL_GPL(freeblock_task_set_deadline);

static int fb_task_first_bufs(struct fb_disk *fd)
{
	struct fb_bufs *bufs = fb_buf_alloc_all(fd);

	if (!bufs)
		return -ENOMEM;
	spin_lock_irq(&fd->lock);
	fd->bufs = bufs;
	fd->vehicle_due = false;
	spin_unlock_irq(&fd->lock);
	return 0;
}

/* buffers for one more task; they stay until the last one is gone */
static int fb_task_need_bufs(struct fb_disk *fd)
{
	u32 n = fb_buf_missing(fd, fd->svc->created);
	u64 bytes = fb_buf_bytes(fd->model, n);
	int ret = fb_memory_charge(&fd->svc->bytes, bytes, "a task");

	lockdep_assert_held(&fd->life);
	if (ret)
		return ret;
	ret = fd->bufs ? fb_buf_grow(fd, n) : fb_task_first_bufs(fd);
	if (ret)
		fb_memory_uncharge(&fd->svc->bytes, bytes);
	return ret;
}

static int fb_task_need_thread(struct freeblock_task *task)
{
	struct fb_svc *svc = task->fd->svc;
	struct task_struct *thread;

	lockdep_assert_held(&task->fd->life);
	if (svc->thread)
		return 0;
	thread = kthread_create(fb_reader_thread, svc, "freeblock/%s", task->disk);
	if (IS_ERR(thread))
		return PTR_ERR(thread);
	svc->thread = thread;
	wake_up_process(thread);
	return 0;
}

static int fb_task_init_order(struct freeblock_task *task)
{
	static const struct fbo_ops * const orders[] = {
		[FREEBLOCK_NEAR] = &fbo_near,
		[FREEBLOCK_SEQUENTIAL] = &fbo_sequential,
		[FREEBLOCK_STAGGERED] = &fbo_staggered,
	};

	return fbo_init(&task->idle_order, orders[task->order], task->fd->model,
			fb_task_granule(task), task->regions, task->segment_sectors);
}

static int fb_task_start_locked(struct freeblock_task *task)
{
	struct fb_disk *fd = task->fd;
	int ret;

	if (task->state != FB_TASK_NEW)
		return -EBUSY;
	if (!task->ntodo && !(task->ops->flags & FREEBLOCK_KEEP))
		return -EINVAL;
	ret = fb_task_init_order(task);
	if (!ret)
		ret = fb_task_need_bufs(fd);
	if (!ret)
		ret = fb_task_need_thread(task);
	if (ret)
		return ret;
	spin_lock_irq(&fd->lock);
	while (fd->svc->task[task->slot])
		task->slot++;
	fd->svc->task[task->slot] = task;
	task->state = FB_TASK_RUNNING;
	wake_up(&fd->wait);
	spin_unlock_irq(&fd->lock);
	return 0;
}

int freeblock_task_start(struct freeblock_task *task)
{
	unsigned int noio = memalloc_noio_save();
	int ret;

	mutex_lock(&task->fd->life);
	ret = fb_task_start_locked(task);
	mutex_unlock(&task->fd->life);
	memalloc_noio_restore(noio);
	return ret;
}
EXPORT_SYMBOL_GPL(freeblock_task_start);

/* no plan that was made for it may be used any more */
static void fb_task_set_state(struct freeblock_task *task, enum fb_task_state state)
{
	lockdep_assert_held(&task->fd->lock);
	task->state = state;
	task->fd->idle.ready = false;
	fb_gap_void(task->fd);
	wake_up(&task->fd->wait);
}

static void fb_task_stop_locked(struct freeblock_task *task)
{
	if (task->state == FB_TASK_RUNNING || task->state == FB_TASK_PAUSED)
		fb_task_set_state(task, FB_TASK_STOPPING);
}

static int fb_task_switch_locked(struct freeblock_task *task, enum fb_task_state from,
				 enum fb_task_state to)
{
	if (task->state == to)
		return -EALREADY;
	if (task->state != from)
		return -EINVAL;
	fb_task_set_state(task, to);
	return 0;
}

void freeblock_task_stop(struct freeblock_task *task)
{
	unsigned long flags;

	spin_lock_irqsave(&task->fd->lock, flags);
	fb_task_stop_locked(task);
	spin_unlock_irqrestore(&task->fd->lock, flags);
}
EXPORT_SYMBOL_GPL(freeblock_task_stop);

static int fb_task_switch(struct freeblock_task *task, enum fb_task_state from,
			  enum fb_task_state to)
{
	unsigned long flags;
	int ret;

	spin_lock_irqsave(&task->fd->lock, flags);
	ret = fb_task_switch_locked(task, from, to);
	spin_unlock_irqrestore(&task->fd->lock, flags);
	return ret;
}

int freeblock_task_pause(struct freeblock_task *task)
{
	return fb_task_switch(task, FB_TASK_RUNNING, FB_TASK_PAUSED);
}
EXPORT_SYMBOL_GPL(freeblock_task_pause);

int freeblock_task_resume(struct freeblock_task *task)
{
	return fb_task_switch(task, FB_TASK_PAUSED, FB_TASK_RUNNING);
}
EXPORT_SYMBOL_GPL(freeblock_task_resume);

void freeblock_task_destroy(struct freeblock_task *task)
{
	struct fb_disk *fd = task->fd;

	freeblock_task_stop(task);
	if (READ_ONCE(task->state) != FB_TASK_NEW) {
		wait_for_completion(&task->over);
		flush_work(&task->ended);
	}
	mutex_lock(&fd->life);
	fd->svc->created--;
	fb_task_drop_svc(fd);
	mutex_unlock(&fd->life);
	fb_task_drop_todo(task);
	fb_bitmap_destroy(&task->map);
	fb_memory_uncharge(&task->bytes, task->bytes);
	kfree(task);
	fb_disk_put(fd);
}
EXPORT_SYMBOL_GPL(freeblock_task_destroy);

void *freeblock_task_ctx(const struct freeblock_task *task)
{
	return task->ctx;
}
EXPORT_SYMBOL_GPL(freeblock_task_ctx);

void freeblock_task_progress(struct freeblock_task *task, struct freeblock_progress *p)
{
	unsigned long flags;

	spin_lock_irqsave(&task->fd->lock, flags);
	p->total = task->total;
	p->done = task->done;
	p->failed = task->failed;
	p->flying = task->flying;
	p->granule_sectors = fb_task_granule(task);
	p->entering = task->ntodo;
	p->paused = task->state == FB_TASK_PAUSED;
	p->stopping = task->state == FB_TASK_STOPPING;
	spin_unlock_irqrestore(&task->fd->lock, flags);
}
EXPORT_SYMBOL_GPL(freeblock_task_progress);

u64 freeblock_task_sectors(const struct freeblock_task *task)
{
	return dm_info(task->fd->model)->sectors;
}
EXPORT_SYMBOL_GPL(freeblock_task_sectors);

/* ---- for people: /sys/kernel/freeblock/<disk>/tasks ---- */

static const char * const fb_task_states[] = {
	[FB_TASK_NEW] = "new",
	[FB_TASK_RUNNING] = "running",
	[FB_TASK_PAUSED] = "paused",
	[FB_TASK_STOPPING] = "stopping",
	[FB_TASK_OVER] = "over",
};

/**
 * fb_task_list() - the tasks of a disk, a line each
 * @fd: the disk
 * @page: filled: id, name, state, priority, blocks in all, delivered, failed, sectors of one
 *
 * Context: may sleep.
 *
 * Return: characters.
 */
ssize_t fb_task_list(struct fb_disk *fd, char *page)
{
	ssize_t len = 0;
	u32 i;

	spin_lock_irq(&fd->lock);
	for (i = 0; fd->svc && i < FREEBLOCK_TASKS; i++) {
		const struct freeblock_task *task = fd->svc->task[i];

		if (task)
			len += sysfs_emit_at(page, len, "%u %s %s %u %llu %llu %llu %u\n", task->id,
					     task->name, fb_task_states[task->state],
					     task->priority, task->total, task->done,
					     task->failed, fb_task_granule(task));
	}
	spin_unlock_irq(&fd->lock);
	return len;
}

static int fb_task_command_locked(struct freeblock_task *task, const char *word)
{
	if (!strcmp(word, "pause"))
		return fb_task_switch_locked(task, FB_TASK_RUNNING, FB_TASK_PAUSED);
	if (!strcmp(word, "resume"))
		return fb_task_switch_locked(task, FB_TASK_PAUSED, FB_TASK_RUNNING);
	fb_task_stop_locked(task);
	return 0;
}

/**
 * fb_task_command() - "stop ID", "pause ID" or "resume ID"
 * @fd: the disk
 * @text: the command
 *
 * Context: may sleep.
 *
 * Return: 0; -EINVAL (not a command), -ENOENT (no such task), -EALREADY.
 */
int fb_task_command(struct fb_disk *fd, const char *text)
{
	int ret = -ENOENT, end = 0;
	char word[8];
	u32 i, id;

	/* sscanf() would take the lower 32 bits of a longer number */
	if (sscanf(text, "%7s %n", word, &end) != 1 || kstrtou32(text + end, 10, &id) ||
	    (strcmp(word, "stop") && strcmp(word, "pause") && strcmp(word, "resume"))) {
		pr_err("freeblock: tasks: '%.*s' is none of stop ID, pause ID, resume ID\n",
		       (int)strcspn(text, "\n"), text);
		return -EINVAL;
	}
	spin_lock_irq(&fd->lock);
	for (i = 0; fd->svc && i < FREEBLOCK_TASKS; i++)
		if (fd->svc->task[i] && fd->svc->task[i]->id == id)
			ret = fb_task_command_locked(fd->svc->task[i], word);
	spin_unlock_irq(&fd->lock);
	if (ret == -ENOENT)
		pr_err("freeblock: tasks: there is no task %u on this disk\n", id);
	else if (ret)
		pr_err("freeblock: tasks: '%s %u': it is %s\n", word, id,
		       ret == -EALREADY ? "so already" : "stopping");
	return ret;
}
