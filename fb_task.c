// SPDX-License-Identifier: GPL-2.0
/*
 * Tasks: the ranges a consumer wants, what of them has been read, and the delivery of
 * blocks (DESIGN 6; the interface is include/freeblock.h).
 *
 * Exactly once: a block is wanted, in flight or done. Only the search thread changes the
 * coverage map; what is sent and what comes back is posted to it in the state of the
 * buffers: SENT (it marks the blocks as flying) -> ENDED -> DELIVER (the workqueue calls
 * the consumer) -> DELIVERED (it marks them as done) -> FREE.
 *
 * Locks: fb_disk.config for creation, start and end; fb_disk.lock for states and counts;
 * the table is in fb_disk.h.
 */
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "fb_disk.h"

/* blocks in doubt are tried so seldom: the drive may take seconds over each */
#define FB_TASK_DOUBT_NS (5 * (u64)NSEC_PER_SEC)

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

static bool fb_task_stopping(struct freeblock_task *task)
{
	return READ_ONCE(task->state) != FB_TASK_RUNNING;
}

/**
 * fb_task_over() - has the search thread nothing left to do?
 * @task: the task
 *
 * Context: the search thread.
 *
 * Return: true when all blocks are delivered or the task is to stop.
 */
bool fb_task_over(struct freeblock_task *task)
{
	return fb_task_stopping(task) || (!task->map.n_wanted && !task->map.n_flying);
}

/**
 * fb_task_may_read() - may free reads be planned now?
 * @fd: the disk, locked
 *
 * Context: fb_disk.lock held.
 *
 * Return: true when a task wants blocks and nothing forbids to read them.
 */
bool fb_task_may_read(struct fb_disk *fd)
{
	lockdep_assert_held(&fd->lock);
	return fd->task && fd->task->state == FB_TASK_RUNNING &&
	       READ_ONCE(fd->task->map.n_wanted) && !fb_disk_transparent(fd) &&
	       fb_guard_on(&fd->guard, ktime_get_ns());
}

/* ---- the coverage map: the search thread only ---- */

static void fb_task_want_run(void *ctx, u64 first, u32 n, u32 group)
{
	struct freeblock_task *task = ctx;

	fb_bitmap_want(&task->map, first, n, group);
	cond_resched();
}

/**
 * fb_task_fill() - enter the ranges into the coverage map
 * @task: the task, started
 *
 * Context: the search thread; may sleep. Piece by piece, so that a stop does not wait for
 * the ten million tracks of a large disk.
 */
void fb_task_fill(struct freeblock_task *task)
{
	u32 granule = fb_task_granule(task);
	u64 chunk = (u64)granule << 16;
	u32 i;

	for (i = 0; i < task->ranges; i++) {
		u64 first = task->range[i].first;
		u64 left = round_up(task->range[i].count, granule);

		while (left && !fb_task_stopping(task)) {
			u64 n = min(left, chunk);

			fb_for_each_run(task->fd->model, granule, first, n, fb_task_want_run, task);
			first += n;
			left -= n;
		}
	}
	fb_worth_init(&task->worth, &task->map);
	task->balanced_ns = ktime_get_ns();
	spin_lock_irq(&task->fd->lock);
	task->total = task->map.n_wanted;
	spin_unlock_irq(&task->fd->lock);
}

/**
 * fb_task_weigh() - what the task's blocks are worth, for the next search
 * @task: the task
 * @lim: limits of the search; its weights are valid until the next call
 *
 * Context: the search thread.
 */
void fb_task_weigh(struct freeblock_task *task, struct fb_limits *lim)
{
	u64 now = ktime_get_ns();

	if (now - task->balanced_ns >= FB_WORTH_BALANCE_NS) {
		fb_worth_balance(&task->worth, &task->map);
		task->balanced_ns = now;
	}
	if (lim->odds)
		lim->miss_value = fb_worth_turn(&task->worth, lim->odds->price);
	lim->weight = task->worth.weight;
	lim->root = task->worth.root;
}

static void fb_task_take_run(void *ctx, u64 first, u32 n, u32 group)
{
	struct fb_buf *buf = ctx;
	struct freeblock_task *task = buf->fd->task;
	u64 base = div_u64(buf->lbn, fb_task_granule(task));
	u32 i;

	for (i = 0; i < n; i++)
		if (fb_bitmap_is_wanted(&task->map, first + i))
			__set_bit(first + i - base, buf->mask);
	fb_bitmap_take(&task->map, first, n, group);
}

static void fb_task_untake_run(void *ctx, u64 first, u32 n, u32 group)
{
	struct fb_buf *buf = ctx;
	struct freeblock_task *task = buf->fd->task;
	u64 base = div_u64(buf->lbn, fb_task_granule(task));
	u32 i;

	for (i = 0; i < n; i++)
		if (test_bit(first + i - base, buf->mask))
			fb_bitmap_untake(&task->map, first + i, 1, group);
}

static void fb_task_runs(struct fb_buf *buf, fb_runs_fn fn)
{
	struct fb_disk *fd = buf->fd;

	fb_for_each_run(fd->model, dm_info(fd->model)->granule_sectors, buf->lbn, buf->nsect,
			fn, buf);
}

static void fb_task_mark_done(struct freeblock_task *task, struct fb_buf *buf)
{
	u64 base = div_u64(buf->lbn, fb_task_granule(task));
	unsigned int i;

	for_each_set_bit(i, buf->mask, FB_BUF_GRANULES)
		fb_bitmap_done(&task->map, base + i, 1);
}

static void fb_task_set_state(struct fb_buf *buf, enum fb_buf_state state)
{
	spin_lock_irq(&buf->fd->lock);
	buf->state = state;
	spin_unlock_irq(&buf->fd->lock);
}

/* ---- blocks in doubt: the search thread only ---- */

static bool fb_task_meets(u64 first, u64 count, u64 lbn, u64 nsect)
{
	return lbn < first + count && first < lbn + nsect;
}

static bool fb_task_doubts(const struct freeblock_task *task, u64 lbn, u64 nsect)
{
	u32 i;

	for (i = 0; i < min(task->doubts, FB_TASK_DOUBTS); i++)
		if (fb_task_meets(task->doubt[i].first, task->doubt[i].count, lbn, nsect))
			return true;
	return false;
}

static void fb_task_doubt(struct freeblock_task *task, u64 lbn, u64 nsect)
{
	u32 i = task->doubts++ % FB_TASK_DOUBTS;

	task->doubt[i].first = lbn;
	task->doubt[i].count = nsect;
}

/* the first piece reads up to what is in doubt, or one block of it; false: nothing */
static bool fb_task_cut_piece(struct freeblock_task *task, struct fb_plan *plan)
{
	struct fb_plan_piece *p = &plan->piece[0];
	u32 granule = fb_task_granule(task);
	u32 i;

	for (i = 0; i < min(task->doubts, FB_TASK_DOUBTS); i++) {
		u64 first = task->doubt[i].first;

		if (!fb_task_meets(first, task->doubt[i].count, p->lbn, p->nsect))
			continue;
		if (plan->kind == FB_PLAN_PREPEND ||
		    (p->lbn >= first && ktime_get_ns() - task->doubt_ns < FB_TASK_DOUBT_NS))
			return false;
		p->nsect = p->lbn < first ? first - p->lbn : min(p->nsect, granule);
	}
	plan->wanted = fb_bitmap_count(&task->map, div_u64(p->lbn, granule),
				       DIV_ROUND_UP(p->nsect, granule));
	return true;
}

/**
 * fb_task_cut() - shorten a plan so that blocks in doubt are read alone, and seldom
 * @task: the task
 * @plan: the plan; it may read less afterwards, never anything else
 *
 * Context: the search thread.
 *
 * Return: false: nothing of it may be read now.
 */
bool fb_task_cut(struct freeblock_task *task, struct fb_plan *plan)
{
	u32 i = 0;

	/* more than are remembered: those forgotten wait like the others */
	if (task->doubts > FB_TASK_DOUBTS && ktime_get_ns() - task->failed_ns < FB_TASK_DOUBT_NS)
		return false;
	while (i < plan->npieces &&
	       !fb_task_doubts(task, plan->piece[i].lbn, plan->piece[i].nsect))
		i++;
	if (i == plan->npieces)
		return true;
	if (plan->npieces > 1)
		plan->kind = FB_PLAN_SEPARATE;
	plan->npieces = 1;
	return fb_task_cut_piece(task, plan);
}

/*
 * Does a failed read tell which of its blocks is bad? The place is known if some of it was
 * read, for then the drive said where it was stopped; and if it was of one block, with no
 * foreground read behind it. The fault is the medium's if the drive says so, or if that
 * block failed before: what Linux would retry (ASC 15h), or a time-out, may be over. Until
 * both are known the blocks are wanted again, and read alone where the place is in doubt.
 */
static bool fb_task_error_is_known(struct freeblock_task *task, const struct fb_buf *buf)
{
	u32 granule = fb_task_granule(task);
	u64 bad = buf->lbn + round_down(buf->good, granule);
	bool doubted = fb_task_doubts(task, bad, 1);
	bool placed = buf->good || (!buf->joined && buf->nsect <= granule);

	if (!doubted)
		fb_task_doubt(task, bad, placed ? granule : round_up(buf->nsect, granule));
	return placed && (buf->status == BLK_STS_MEDIUM || doubted);
}

/* one step of one buffer; the search thread owns ENDED and DELIVERED ones */
static void fb_task_absorb_buf(struct freeblock_task *task, struct fb_buf *buf)
{
	enum fb_buf_state state;
	bool dirty, take;

	spin_lock_irq(&task->fd->lock);
	state = buf->state;
	dirty = buf->dirty;
	take = (state == FB_BUF_SENT || state == FB_BUF_ENDED) && !buf->taken;
	if (take)
		buf->taken = true;
	if (state == FB_BUF_ENDED && dirty)
		task->fd->stats.discarded++;
	else if (state == FB_BUF_ENDED && buf->status)
		task->fd->stats.free_errors++;
	spin_unlock_irq(&task->fd->lock);

	if (take) {
		fb_task_runs(buf, fb_task_take_run);
		if (fb_task_doubts(task, buf->lbn, buf->nsect))
			task->doubt_ns = ktime_get_ns();
	}
	if (state == FB_BUF_ENDED && !dirty && buf->status) {
		dirty = !fb_task_error_is_known(task, buf);
		task->failed_ns = ktime_get_ns();
	}
	if (state == FB_BUF_ENDED && dirty) {
		fb_task_runs(buf, fb_task_untake_run);
		fb_task_set_state(buf, FB_BUF_FREE);
	} else if (state == FB_BUF_ENDED) {
		fb_task_set_state(buf, FB_BUF_DELIVER);
		queue_work(fb_task_wq, &task->deliver);
	} else if (state == FB_BUF_DELIVERED) {
		fb_task_mark_done(task, buf);
		fb_task_set_state(buf, FB_BUF_FREE);
	}
}

/**
 * fb_task_absorb() - bring the coverage map up to date with the buffers
 * @task: the task
 *
 * Context: the search thread; may sleep.
 */
void fb_task_absorb(struct freeblock_task *task)
{
	u64 flying;
	u32 i;

	for (i = 0; i < task->fd->bufs->n; i++)
		fb_task_absorb_buf(task, &task->fd->bufs->buf[i]);
	flying = task->map.n_flying;
	spin_lock_irq(&task->fd->lock);
	task->flying = flying;
	spin_unlock_irq(&task->fd->lock);
}

/* ---- delivery: the workqueue ---- */

struct fb_task_count {
	u64 done;
	u64 failed;
};

static void fb_task_deliver_block(struct freeblock_task *task, struct fb_buf *buf, u32 i,
				  struct fb_task_count *count)
{
	u32 granule = fb_task_granule(task);
	u64 lbn = buf->lbn + (u64)i * granule;
	u32 n = min_t(u64, granule, task->fd->sectors - lbn);
	u32 end = i * granule + n;
	blk_status_t status = BLK_STS_OK;
	const void *data = buf->data + (((size_t)i * granule) << SECTOR_SHIFT);

	if (buf->good < end) {
		/* the first that was not read is the bad one, the drive was stopped there */
		status = buf->good >= i * granule ? BLK_STS_MEDIUM : BLK_STS_IOERR;
		data = NULL;
		count->failed++;
	}
	count->done++;
	task->ops->block(task, lbn, n, data, status);
	cond_resched();
}

/* the buffer is the workqueue's from here on, unless a write has spoilt it */
static bool fb_task_deliver_begin(struct fb_buf *buf)
{
	bool ours = false;

	spin_lock_irq(&buf->fd->lock);
	if (buf->state == FB_BUF_DELIVER) {
		ours = !buf->dirty;
		if (buf->dirty) {
			buf->state = FB_BUF_ENDED;
			wake_up(&buf->fd->wait);
		}
	}
	spin_unlock_irq(&buf->fd->lock);
	return ours;
}

static void fb_task_deliver_end(struct freeblock_task *task, struct fb_buf *buf,
				const struct fb_task_count *count)
{
	struct fb_disk *fd = task->fd;

	spin_lock_irq(&fd->lock);
	task->done += count->done;
	task->failed += count->failed;
	fd->stats.free_sectors += (count->done - count->failed) * fb_task_granule(task);
	buf->state = FB_BUF_DELIVERED;
	wake_up(&fd->wait);
	spin_unlock_irq(&fd->lock);
}

static void fb_task_deliver_work(struct work_struct *work)
{
	struct freeblock_task *task = container_of(work, struct freeblock_task, deliver);
	unsigned int i;
	u32 b;

	for (b = 0; b < task->fd->bufs->n; b++) {
		struct fb_buf *buf = &task->fd->bufs->buf[b];
		struct fb_task_count count = {};

		if (!fb_task_deliver_begin(buf))
			continue;
		invalidate_kernel_vmap_range(buf->data, task->fd->bufs->sectors << SECTOR_SHIFT);
		for_each_set_bit(i, buf->mask, FB_BUF_GRANULES)
			fb_task_deliver_block(task, buf, i, &count);
		fb_task_deliver_end(task, buf, &count);
	}
}

/* ---- the end ---- */

static void fb_task_ended_work(struct work_struct *work)
{
	struct freeblock_task *task = container_of(work, struct freeblock_task, ended);

	task->ops->ended(task, task->end);
	complete_all(&task->over);
}

/**
 * fb_task_end() - the search thread is through
 * @task: the task; nothing of it is on its way
 *
 * Context: the search thread; may sleep.
 */
void fb_task_end(struct freeblock_task *task)
{
	spin_lock_irq(&task->fd->lock);
	task->end = task->state == FB_TASK_STOPPING ? FREEBLOCK_STOPPED : FREEBLOCK_FINISHED;
	task->state = FB_TASK_OVER;
	spin_unlock_irq(&task->fd->lock);
	flush_work(&task->deliver);
	queue_work(fb_task_wq, &task->ended);
}

/* ---- the interface, documented in include/freeblock.h ---- */

struct freeblock_task *freeblock_task_create(const char *disk, const char *name,
					     const struct freeblock_ops *ops, void *ctx)
{
	struct freeblock_task *task;
	struct fb_disk *fd = fb_disk_get(disk);
	int ret = 0;

	if (!fd)
		return ERR_PTR(-ENODEV);
	task = kzalloc(sizeof(*task), GFP_NOIO);
	if (!task) {
		fb_disk_put(fd);
		return ERR_PTR(-ENOMEM);
	}
	task->fd = fd;
	task->ops = ops;
	task->ctx = ctx;
	strscpy(task->disk, disk, sizeof(task->disk));
	strscpy(task->name, name, sizeof(task->name));
	init_completion(&task->over);
	INIT_WORK(&task->deliver, fb_task_deliver_work);
	INIT_WORK(&task->ended, fb_task_ended_work);

	mutex_lock(&fd->config);
	spin_lock_irq(&fd->lock);
	if (!fd->model)
		ret = -ENODATA;
	else if (fd->task)
		ret = -EBUSY;
	else
		fd->task = task;
	spin_unlock_irq(&fd->lock);
	mutex_unlock(&fd->config);
	if (ret) {
		kfree(task);
		fb_disk_put(fd);
		return ERR_PTR(ret);
	}
	return task;
}
EXPORT_SYMBOL_GPL(freeblock_task_create);

int freeblock_task_add(struct freeblock_task *task, sector_t first, sector_t count)
{
	u32 granule = fb_task_granule(task);
	u64 sectors = dm_info(task->fd->model)->sectors;

	if (task->state != FB_TASK_NEW)
		return -EBUSY;
	if (!count || first >= sectors || count > sectors - first || first & (granule - 1) ||
	    (count & (granule - 1) && first + count != sectors))
		return -EINVAL;
	if (task->ranges == FREEBLOCK_RANGES)
		return -ENOSPC;
	task->range[task->ranges].first = first;
	task->range[task->ranges].count = count;
	task->ranges++;
	return 0;
}
EXPORT_SYMBOL_GPL(freeblock_task_add);

static int fb_task_start_thread(struct freeblock_task *task, struct fb_bufs *bufs)
{
	struct fb_disk *fd = task->fd;
	struct task_struct *thread;

	thread = kthread_create(fb_gap_thread, task, "freeblock/%s", task->disk);
	if (IS_ERR(thread))
		return PTR_ERR(thread);
	task->thread = thread;
	spin_lock_irq(&fd->lock);
	fd->bufs = bufs;
	fd->let_go = false;
	fd->vehicle_due = false;
	task->state = FB_TASK_RUNNING;
	spin_unlock_irq(&fd->lock);
	wake_up_process(thread);
	return 0;
}

static int fb_task_start_locked(struct freeblock_task *task)
{
	struct fb_disk *fd = task->fd;
	const struct disk_model *dm = fd->model;
	struct fb_bufs *bufs;
	int ret;

	lockdep_assert_held(&fd->config);
	if (task->state != FB_TASK_NEW)
		return -EBUSY;
	if (!task->ranges)
		return -EINVAL;
	ret = fb_bitmap_init(&task->map,
			     DIV_ROUND_UP_ULL(dm_info(dm)->sectors, fb_task_granule(task)),
			     dm_tracks(dm));
	if (ret)
		return ret;
	bufs = fb_buf_alloc_all(fd);
	if (!bufs) {
		ret = -ENOMEM;
		goto free_map;
	}
	ret = fb_task_start_thread(task, bufs);
	if (ret)
		goto free_bufs;
	return 0;

free_bufs:
	fb_buf_free_all(bufs);
free_map:
	fb_bitmap_destroy(&task->map);
	return ret;
}

int freeblock_task_start(struct freeblock_task *task)
{
	unsigned int noio = memalloc_noio_save();
	int ret;

	mutex_lock(&task->fd->config);
	ret = fb_task_start_locked(task);
	mutex_unlock(&task->fd->config);
	memalloc_noio_restore(noio);
	return ret;
}
EXPORT_SYMBOL_GPL(freeblock_task_start);

void freeblock_task_stop(struct freeblock_task *task)
{
	struct fb_disk *fd = task->fd;
	unsigned long flags;

	spin_lock_irqsave(&fd->lock, flags);
	if (task->state == FB_TASK_RUNNING) {
		task->state = FB_TASK_STOPPING;
		fb_gap_void(fd);
		wake_up(&fd->wait);
	}
	spin_unlock_irqrestore(&fd->lock, flags);
}
EXPORT_SYMBOL_GPL(freeblock_task_stop);

void freeblock_task_destroy(struct freeblock_task *task)
{
	struct fb_disk *fd = task->fd;
	struct fb_bufs *bufs;

	freeblock_task_stop(task);
	if (task->thread) {
		wait_for_completion(&task->over);
		flush_work(&task->ended);
		kthread_stop(task->thread);
	}
	mutex_lock(&fd->config);
	spin_lock_irq(&fd->lock);
	bufs = fd->bufs;
	fd->bufs = NULL;
	fd->task = NULL;
	spin_unlock_irq(&fd->lock);
	mutex_unlock(&fd->config);
	fb_buf_free_all(bufs);
	fb_bitmap_destroy(&task->map);
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
	spin_unlock_irqrestore(&task->fd->lock, flags);
}
EXPORT_SYMBOL_GPL(freeblock_task_progress);

u64 freeblock_task_sectors(const struct freeblock_task *task)
{
	return dm_info(task->fd->model)->sectors;
}
EXPORT_SYMBOL_GPL(freeblock_task_sectors);
