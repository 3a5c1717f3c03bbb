// SPDX-License-Identifier: GPL-2.0
/*
 * Tasks: their life cycle, and the changes that consumers make (include/freeblock.h). Locks:
 * fb_disk.life for creation, start and destruction; fb_disk.lock for states and counts; the table
 * is in disk/disk.h.
 */
#include <linux/cgroup.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "disk/disk.h"
#include "tasks/tasks.h"

#define FB_TASK_OVER_STEP HZ	/* so that a long wait is not reported as a hung task */

static atomic_t fb_task_last_id;

/* ---- creation ---- */

/* The tasks that are not over, started or not. Under fb_disk.life or fb_disk.lock. */
u32 fb_task_count(const struct fb_disk *disk)
{
	const struct freeblock_task *task;
	u32 n = 0;

	lockdep_assert(lockdep_is_held(&disk->life) || lockdep_is_held(&disk->lock));
	if (!disk->cov)
		return 0;
	list_for_each_entry(task, &disk->cov->tasks, node)
		n += READ_ONCE(task->state) != FB_TASK_OVER;
	return n;
}

static int fb_task_init_map(struct fb_disk *disk, struct fb_bitmap *map, u64 *account)
{
	u64 granules = fb_disk_granules(disk);
	u32 groups;
	int ret;

	/* the thread sees to it that a map fits a model that comes later */
	scoped_guard(spinlock_irq, &disk->lock)
		groups = fb_model_groups(disk);
	ret = fb_memory_charge(account, fb_bitmap_bytes(granules, groups), "a task");
	if (ret)
		return ret;
	ret = fb_bitmap_init(map, granules, groups);
	if (ret)
		fb_memory_uncharge(account, fb_bitmap_bytes(granules, groups));
	return ret;
}

/* create the struct fb_coverage that serves all tasks */
static int fb_task_need_svc(struct fb_disk *disk)
{
	struct fb_coverage *cov;

	lockdep_assert_held(&disk->life);
	if (disk->cov)
		return 0;
	cov = kvzalloc(sizeof(*cov), GFP_KERNEL);
	if (!cov)
		return -ENOMEM;
	cov->disk = disk;
	INIT_LIST_HEAD(&cov->tasks);
	guard(mutex)(&disk->config);
	guard(spinlock_irq)(&disk->lock);
	fb_quarantine_begin(&disk->quarantine, disk->granule, disk->sectors, disk->verify.sata);
	disk->recovery.stop = false;
	disk->cov = cov;
	return 0;
}

/* free the struct fb_coverage if the last task has gone: nothing is wanted or in flight */
static void fb_task_drop_svc(struct fb_disk *disk)
{
	struct fb_coverage *cov = disk->cov;
	struct fb_free_reads *bufs;

	lockdep_assert_held(&disk->life);
	if (!cov || !list_empty(&cov->tasks))
		return;
	if (cov->thread)
		kthread_stop(cov->thread);
	fb_delivery_mind_bad(cov, true);
	mutex_lock(&disk->config);
	spin_lock_irq(&disk->lock);
	bufs = disk->reads.bufs;
	disk->reads.bufs = NULL;
	disk->cov = NULL;
	spin_unlock_irq(&disk->lock);
	fb_model_take(disk);
	mutex_unlock(&disk->config);
	fb_free_read_free_all(bufs);
	freeblock_free(cov->repeated, cov->repeated_bytes);
	fb_memory_uncharge(&cov->bytes, cov->bytes);
	kvfree(cov);
}

static int fb_task_enter(struct freeblock_task *task)
{
	struct fb_disk *disk = task->disk;
	int ret = fb_task_need_svc(disk);

	if (ret)
		return ret;
	if (fb_task_count(disk) == FREEBLOCK_TASKS)
		return -EBUSY;
	ret = fb_memory_charge(&task->bytes, FREEBLOCK_RANGES * sizeof(struct fb_op),
			       "a task's ranges");
	if (!ret)
		ret = fb_task_init_map(disk, &task->map, &task->bytes);
	if (ret) {
		fb_memory_uncharge(&task->bytes, task->bytes);
		fb_task_drop_svc(disk);
		return ret;
	}
	guard(spinlock_irq)(&disk->lock);
	list_add_tail(&task->node, &disk->cov->tasks);
	return 0;
}

static struct freeblock_task *fb_task_new(struct fb_disk *disk, const char *name,
					  const struct freeblock_ops *ops, void *ctx)
{
	struct freeblock_task *task = kvzalloc(sizeof(*task), GFP_KERNEL_ACCOUNT);

	if (!task)
		return NULL;
	task->disk = disk;
	task->id = atomic_inc_return(&fb_task_last_id);
	task->ops = ops;
	task->ctx = ctx;
#ifdef CONFIG_BLK_CGROUP
	if (ops->flags & FREEBLOCK_CHARGE)
		task->css = task_get_css(current, io_cgrp_id);
#endif
	fb_disk_copy_name(disk, task->disk_name, sizeof(task->disk_name));
	strscpy(task->name, name, sizeof(task->name));
	INIT_LIST_HEAD(&task->todo);
	fb_delivery_setup(task);
	return task;
}

static void fb_task_free(struct freeblock_task *task)
{
#ifdef CONFIG_BLK_CGROUP
	if (task->css)
		css_put(task->css);
#endif
	kvfree(task);
}

/* ---- the interface, documented in include/freeblock.h ---- */

struct freeblock_task *freeblock_task_create(struct gendisk *gd, const char *name,
					     const struct freeblock_ops *ops, void *ctx)
{
	struct fb_disk *disk = fb_disk_get(gd);
	struct freeblock_task *task;
	int ret = -ENOMEM;

	guard(fb_noio)(current);
	if (!disk)
		return ERR_PTR(-ENODEV);
	task = fb_task_new(disk, name, ops, ctx);
	if (task) {
		scoped_guard(mutex, &disk->life)
			ret = fb_task_enter(task);
		if (!ret)
			return task;
		fb_task_free(task);
	}
	fb_disk_put(disk);
	return ERR_PTR(ret);
}
EXPORT_SYMBOL_GPL(freeblock_task_create);

static bool fb_task_has_range(const struct freeblock_task *task, u64 first, u64 count)
{
	u32 granule = task->disk->granule;
	u64 sectors = task->disk->sectors;

	return count && first < sectors && count <= sectors - first && !(first & (granule - 1)) &&
	       (!(count & (granule - 1)) || first + count == sectors);
}

static int fb_task_make_ops(struct freeblock_task *task, enum fb_op_kind kind, bool uncovered,
			    const struct freeblock_range *ranges, u32 n, struct list_head *ops)
{
	u32 granule = task->disk->granule, i;
	struct fb_op *op;

	for (i = 0; i < n; i++) {
		op = kzalloc(sizeof(*op), GFP_KERNEL_ACCOUNT);
		if (!op) {
			fb_delivery_free_ops(ops);
			return -ENOMEM;
		}
		op->kind = kind;
		op->uncovered = uncovered;
		op->first = div_u64(ranges[i].first, granule);
		op->n = DIV_ROUND_UP_ULL(ranges[i].count, granule);
		list_add_tail(&op->node, ops);
	}
	return 0;
}

static int fb_task_has_room(const struct freeblock_task *task, u32 n)
{
	lockdep_assert_held(&task->disk->lock);
	if (task->state >= FB_TASK_STOPPING)
		return -ESHUTDOWN;
	return task->ntodo + n > FREEBLOCK_RANGES ? -ENOSPC : 0;
}

static int fb_task_post(struct freeblock_task *task, struct list_head *ops, u32 n)
{
	struct fb_disk *disk = task->disk;
	u64 now = ktime_get_ns();
	bool added = false;
	struct fb_op *op;
	int ret;

	lockdep_assert_held(&task->change);
	list_for_each_entry(op, ops, node) {
		op->added_ns = now;
		op->initial = READ_ONCE(task->state) == FB_TASK_NEW;
		added |= op->kind == FB_OP_ADD;
	}
	guard(spinlock_irqsave)(&disk->lock);
	ret = fb_task_has_room(task, n);
	if (!ret) {
		list_splice_tail_init(ops, &task->todo);
		task->ntodo += n;
		if (added) {
			task->caught_up = false;
			task->events &= ~FREEBLOCK_EVENT_CAUGHT_UP;
		}
		wake_up(&disk->wait);
	}
	return ret;
}

/* ---- cookies: what blocks mean to the consumer ---- */

static int fb_task_lay_cookies(struct freeblock_task *task, const struct freeblock_range *ranges,
			       u32 n, struct fb_cookies *made)
{
	u64 granule = task->disk->granule, bytes = 0;
	struct fb_cookie_segment *batch;
	u32 i;
	int ret;

	lockdep_assert_held(&task->change);
	batch = kvmalloc_array(n, sizeof(*batch), GFP_KERNEL);
	if (!batch)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		batch[i].first = div_u64(ranges[i].first, granule);
		batch[i].end = batch[i].first + DIV_ROUND_UP_ULL(ranges[i].count, granule);
		batch[i].value = ranges[i].user_data;
	}
	ret = fb_cookie_lay(&task->cookies, batch, n, made);
	kvfree(batch);
	if (!ret && fb_memory_charge(&bytes, fb_cookie_bytes(made), "a task's user_data")) {
		fb_cookie_free(made);
		ret = -ENOMEM;
	}
	return ret;
}

static void fb_task_free_cookies(struct fb_cookies *c)
{
	u64 bytes = fb_cookie_bytes(c);

	fb_memory_uncharge(&bytes, bytes);
	fb_cookie_free(c);
}

/* Both or neither: no block may come with the user_data of a change that is refused. */
static int fb_task_post_with_cookies(struct freeblock_task *task,
				     const struct freeblock_range *ranges, u32 n,
				     struct list_head *ops)
{
	bool some = task->cookies.n;
	struct fb_cookies cookies;
	int ret;
	u32 i;

	lockdep_assert_held(&task->change);
	for (i = 0; i < n && !some; i++)
		some = ranges[i].user_data;
	if (!some)
		return fb_task_post(task, ops, n);
	ret = fb_task_lay_cookies(task, ranges, n, &cookies);
	if (ret)
		return ret;
	scoped_guard(spinlock, &task->cookie_lock) {
		ret = fb_task_post(task, ops, n);
		if (!ret)
			swap(task->cookies, cookies);
	}
	fb_task_free_cookies(&cookies);
	return ret;
}

/* ---- changes ---- */

static int fb_task_change(struct freeblock_task *task, enum fb_op_kind kind, bool uncovered,
			  const struct freeblock_range *ranges, u32 n)
{
	LIST_HEAD(ops);
	int ret;
	u32 i;

	guard(fb_noio)(current);
	if (!n || n > FREEBLOCK_RANGES_MAX)
		return -EINVAL;
	for (i = 0; i < n; i++)
		if (!fb_task_has_range(task, ranges[i].first, ranges[i].count))
			return -EINVAL;
	ret = fb_task_make_ops(task, kind, uncovered, ranges, n, &ops);
	if (ret)
		return ret;
	scoped_guard(mutex, &task->change)
		ret = kind == FB_OP_ADD ? fb_task_post_with_cookies(task, ranges, n, &ops) :
					  fb_task_post(task, &ops, n);
	fb_delivery_free_ops(&ops);
	return ret;
}

int freeblock_task_add(struct freeblock_task *task, const struct freeblock_range *ranges, u32 n,
		       u32 flags)
{
	return flags & ~FREEBLOCK_UNCOVERED ? -EINVAL :
	       fb_task_change(task, FB_OP_ADD, flags & FREEBLOCK_UNCOVERED, ranges, n);
}
EXPORT_SYMBOL_GPL(freeblock_task_add);

int freeblock_task_remove(struct freeblock_task *task, const struct freeblock_range *ranges, u32 n)
{
	return fb_task_change(task, FB_OP_REMOVE, false, ranges, n);
}
EXPORT_SYMBOL_GPL(freeblock_task_remove);

int freeblock_task_promote(struct freeblock_task *task, const struct freeblock_range *ranges, u32 n)
{
	return fb_task_change(task, FB_OP_PROMOTE, false, ranges, n);
}
EXPORT_SYMBOL_GPL(freeblock_task_promote);

/* ---- coverage: what was delivered with BLK_STS_OK ---- */

struct freeblock_coverage *freeblock_coverage_create(struct gendisk *gd)
{
	struct fb_disk *disk = fb_disk_get(gd);
	struct freeblock_coverage *coverage;
	u32 granule;
	size_t bytes;
	u64 blocks;

	if (!disk)
		return ERR_PTR(-ENODEV);
	scoped_guard(mutex, &disk->config) {
		granule = disk->granule;
		blocks = fb_disk_granules(disk);
	}
	fb_disk_put(disk);
	bytes = BITS_TO_U64(blocks) * sizeof(u64);
	coverage = freeblock_alloc(sizeof(*coverage) + bytes, "coverage");
	if (IS_ERR(coverage))
		return coverage;
	coverage->granule_sectors = granule;
	coverage->blocks = blocks;
	coverage->bytes = bytes;
	return coverage;
}
EXPORT_SYMBOL_GPL(freeblock_coverage_create);

void freeblock_coverage_destroy(struct freeblock_coverage *coverage)
{
	if (coverage)
		freeblock_free(coverage, sizeof(*coverage) + coverage->bytes);
}
EXPORT_SYMBOL_GPL(freeblock_coverage_destroy);

int freeblock_task_set_coverage(struct freeblock_task *task, struct freeblock_coverage *coverage)
{
	if (READ_ONCE(task->state) != FB_TASK_NEW)
		return -EBUSY;
	if (coverage->granule_sectors != task->disk->granule ||
	    coverage->blocks != task->map.granules)
		return -EINVAL;
	task->coverage = coverage;
	return 0;
}
EXPORT_SYMBOL_GPL(freeblock_task_set_coverage);

s64 freeblock_task_add_uncovered(struct freeblock_task *task, sector_t first, sector_t count)
{
	const struct freeblock_range range = { .first = first, .count = count };
	u64 at, end, past;
	s64 found = 0;
	int ret;

	if (!fb_task_has_range(task, first, count))
		return -EINVAL;
	at = div_u64(first, task->disk->granule);
	end = DIV_ROUND_UP_ULL(first + count, task->disk->granule);
	if (!task->coverage)
		found = end - at;
	for (; task->coverage && at < end; at = past) {
		at = find_next_zero_bit_le(task->coverage->map, end, at);
		past = at < end ? find_next_bit_le(task->coverage->map, end, at) : end;
		found += past - at;
		cond_resched();
	}
	if (!found)
		return 0;
	ret = freeblock_task_add(task, &range, 1, FREEBLOCK_UNCOVERED);
	return ret ? ret : found;
}
EXPORT_SYMBOL_GPL(freeblock_task_add_uncovered);

int freeblock_task_order(struct freeblock_task *task, enum freeblock_order order, u32 regions,
			 u32 segment_sectors)
{
	bool staggered = order == FREEBLOCK_ORDER_STAGGERED;

	if (READ_ONCE(task->state) != FB_TASK_NEW)
		return -EBUSY;
	if (order > FREEBLOCK_ORDER_STAGGERED || staggered != !!regions ||
	    staggered != !!segment_sectors || segment_sectors & (task->disk->granule - 1) ||
	    regions > FB_IDLE_ORDER_REGIONS_MAX)
		return -EINVAL;
	task->order = order;
	task->regions = regions;
	task->segment_sectors = segment_sectors;
	return 0;
}
EXPORT_SYMBOL_GPL(freeblock_task_order);

int freeblock_task_set_priority(struct freeblock_task *task, s32 priority)
{
	if (priority < FREEBLOCK_PRIORITY_MIN || priority > FREEBLOCK_PRIORITY_MAX)
		return -EINVAL;
	WRITE_ONCE(task->priority, priority);
	return 0;
}
EXPORT_SYMBOL_GPL(freeblock_task_set_priority);

/* its thread may be asleep for as long as nothing happens */
static void fb_task_wake_thread(struct freeblock_task *task)
{
	guard(spinlock_irqsave)(&task->disk->lock);
	task->disk->idle.woken = true;
	wake_up(&task->disk->wait);
}

void freeblock_task_set_deadline(struct freeblock_task *task, u64 deadline_ns)
{
	WRITE_ONCE(task->deadline_ns, deadline_ns);
	fb_task_wake_thread(task);
}
EXPORT_SYMBOL_GPL(freeblock_task_set_deadline);

int freeblock_task_set_foreground(struct freeblock_task *task, u32 ppm)
{
	if (ppm > FREEBLOCK_FOREGROUND_PPM_MAX)
		return -EINVAL;
	WRITE_ONCE(task->foreground_ppm, ppm);
	fb_task_wake_thread(task);
	return 0;
}
EXPORT_SYMBOL_GPL(freeblock_task_set_foreground);

static int fb_task_need_thread(struct freeblock_task *task)
{
	struct fb_coverage *cov = task->disk->cov;
	struct task_struct *thread;

	lockdep_assert_held(&task->disk->life);
	if (cov->thread)
		return 0;
	thread = kthread_create(fb_reader_thread, cov, "freeblock/%s", task->disk_name);
	if (IS_ERR(thread))
		return PTR_ERR(thread);
	cov->thread = thread;
	wake_up_process(thread);
	return 0;
}

int freeblock_task_start(struct freeblock_task *task)
{
	static const fb_idle_order_fn orders[] = {
		[FREEBLOCK_ORDER_NEAR] = fb_idle_order_near,
		[FREEBLOCK_ORDER_SEQUENTIAL] = fb_idle_order_sequential,
		[FREEBLOCK_ORDER_STAGGERED] = fb_idle_order_staggered,
	};
	struct fb_disk *disk = task->disk;
	int ret;

	guard(fb_noio)(current);
	guard(mutex)(&disk->life);
	if (READ_ONCE(task->state) != FB_TASK_NEW)
		return READ_ONCE(task->state) < FB_TASK_STOPPING ? -EBUSY : -ESHUTDOWN;
	if (!task->ntodo && !(task->ops->flags & FREEBLOCK_KEEP))
		return -EINVAL;
	ret = fb_idle_order_init(&task->idle_order, orders[task->order], disk->sectors,
				 disk->granule, task->regions, task->segment_sectors);
	if (!ret)
		ret = fb_free_read_provide(disk, fb_task_count(disk), &disk->cov->bytes);
	if (!ret)
		ret = fb_task_need_thread(task);
	if (ret)
		return ret;
	guard(spinlock_irq)(&disk->lock);
	return fb_delivery_start(task);
}
EXPORT_SYMBOL_GPL(freeblock_task_start);

void freeblock_task_stop(struct freeblock_task *task)
{
	guard(spinlock_irqsave)(&task->disk->lock);
	fb_delivery_stop(task);
}
EXPORT_SYMBOL_GPL(freeblock_task_stop);

int freeblock_task_pause(struct freeblock_task *task)
{
	guard(spinlock_irqsave)(&task->disk->lock);
	return fb_delivery_switch(task, FB_TASK_RUNNING, FB_TASK_PAUSED);
}
EXPORT_SYMBOL_GPL(freeblock_task_pause);

int freeblock_task_resume(struct freeblock_task *task)
{
	guard(spinlock_irqsave)(&task->disk->lock);
	return fb_delivery_switch(task, FB_TASK_PAUSED, FB_TASK_RUNNING);
}
EXPORT_SYMBOL_GPL(freeblock_task_resume);

void freeblock_task_destroy(struct freeblock_task *task)
{
	struct fb_disk *disk = task->disk;

	freeblock_task_stop(task);
	/* a drive that is stuck may keep a read for minutes */
	while (!wait_for_completion_timeout(&task->over, FB_TASK_OVER_STEP))
		;
	flush_work(&task->deliver);
	scoped_guard(mutex, &disk->life) {
		scoped_guard(spinlock_irq, &disk->lock)
			list_del(&task->node);
		fb_task_drop_svc(disk);
	}
	fb_delivery_free_ops(&task->todo);
	fb_task_free_cookies(&task->cookies);
	fb_bitmap_destroy(&task->map);
	fb_memory_uncharge(&task->bytes, task->bytes);
	fb_task_free(task);
	fb_disk_put(disk);
}
EXPORT_SYMBOL_GPL(freeblock_task_destroy);

void *freeblock_task_ctx(const struct freeblock_task *task)
{
	return task->ctx;
}
EXPORT_SYMBOL_GPL(freeblock_task_ctx);

void freeblock_task_progress(struct freeblock_task *task, struct freeblock_progress *p)
{
	guard(spinlock_irqsave)(&task->disk->lock);
	p->total = task->total;
	p->unwritten = READ_ONCE(task->unwritten);
	p->done = task->done;
	p->failed = task->failed;
	p->flying = task->flying;
	p->granule_sectors = task->disk->granule;
	p->entering = task->ntodo;
	p->paused = task->state == FB_TASK_PAUSED;
	p->stopping = task->state == FB_TASK_STOPPING ||
		      (task->state == FB_TASK_OVER && task->end == FREEBLOCK_STOPPED);
	p->gone = READ_ONCE(task->disk->gone);
	p->caught_up = task->caught_up;
	p->room = READ_ONCE(task->cookies.n) <= FB_COOKIES_CROWDED &&
		  !fb_task_has_room(task, FREEBLOCK_RANGES_MAX);
	p->waiting_for = task->waiting_for;
}
EXPORT_SYMBOL_GPL(freeblock_task_progress);

u64 freeblock_task_sectors(const struct freeblock_task *task)
{
	return task->disk->sectors;
}
EXPORT_SYMBOL_GPL(freeblock_task_sectors);

/* ---- a disk's tasks that are not over, as its files show and control them ---- */

static const char * const fb_task_states[] = {
	[FB_TASK_NEW] = "new",
	[FB_TASK_RUNNING] = "running",
	[FB_TASK_PAUSED] = "paused",
	[FB_TASK_STOPPING] = "stopping",
	[FB_TASK_OVER] = "over",
};

/*
 * A line each: id, name, state, priority, blocks in total, done and failed, and sectors per block.
 */
void fb_task_list(struct fb_disk *disk, struct seq_file *m)
{
	const struct freeblock_task *task;

	guard(spinlock_irq)(&disk->lock);
	if (!disk->cov)
		return;
	list_for_each_entry(task, &disk->cov->tasks, node)
		if (task->state != FB_TASK_OVER)
			seq_printf(m, "%u %s %s %d %llu %llu %llu %u\n", task->id, task->name,
				   fb_task_states[task->state], READ_ONCE(task->priority),
				   task->before + task->total, task->before + task->done,
				   task->failed, disk->granule);
}

/* @word: stop, pause, or resume. Return: 0 or an error of fb_task_command(). */
static int fb_task_control(struct fb_disk *disk, u32 id, const char *word)
{
	struct freeblock_task *task;

	guard(spinlock_irq)(&disk->lock);
	if (!disk->cov)
		return -ENOENT;
	list_for_each_entry(task, &disk->cov->tasks, node) {
		if (task->id != id || task->state == FB_TASK_OVER)
			continue;
		if (word[0] == 'p')
			return fb_delivery_switch(task, FB_TASK_RUNNING, FB_TASK_PAUSED);
		if (word[0] == 'r')
			return fb_delivery_switch(task, FB_TASK_PAUSED, FB_TASK_RUNNING);
		fb_delivery_stop(task);
		return 0;
	}
	return -ENOENT;
}

/* Execute "stop ID", "pause ID" or "resume ID". 0; -EINVAL, -ENOENT (no such task), -EALREADY. */
int fb_task_command(struct fb_disk *disk, const char *text)
{
	int ret, end = 0;
	char word[8];
	u32 id;

	/* %u of sscanf() would silently truncate a longer number to 32 bits */
	if (sscanf(text, "%7s %n", word, &end) != 1 || kstrtou32(text + end, 10, &id) ||
	    (strcmp(word, "stop") && strcmp(word, "pause") && strcmp(word, "resume"))) {
		pr_err("freeblock: tasks: '%.*s' is none of stop ID, pause ID, resume ID\n",
		       (int)strcspn(text, "\n"), text);
		return -EINVAL;
	}
	ret = fb_task_control(disk, id, word);
	if (ret == -ENOENT)
		pr_err("freeblock: tasks: there is no task %u on this disk\n", id);
	else if (ret)
		pr_err("freeblock: tasks: '%s %u': it is %s\n", word, id,
		       ret != -EALREADY ? "not started, or stopping" :
		       word[0] == 'p' ? "already paused" : "already running");
	return ret;
}
