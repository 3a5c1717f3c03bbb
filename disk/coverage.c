// SPDX-License-Identifier: GPL-2.0
/*
 * The coverage of a disk's tasks: which blocks gaps are searched for, which are in flight, and what
 * a completed read means for each task (Documentation/design.rst). All functions run in the thread
 * unless they say otherwise. Locks: fb_disk.lock for states and counts.
 */
#include <linux/slab.h>

#include "disk/disk.h"

/* Ranges are entered in pieces of this many granules; the thread does other work in between. */
#define FB_COVERAGE_CHUNK 65536
/* After so many, even within a piece, others may run. */
#define FB_COVERAGE_STEP 16384

/*
 * Count the blocks that tasks want and that may be read; a slow consumer's, too: the order of the
 * foreground must not depend on it. @tasks: out: some are at work. [L]
 */
u64 fb_coverage_wanted(struct fb_disk *disk, bool *tasks)
{
	const struct freeblock_task *task;
	u64 wanted = 0;
	u32 i = 0;

	lockdep_assert_held(&disk->lock);
	*tasks = false;
	if (!disk->cov || fb_level_unserved(disk))
		return 0;
	while ((task = fb_coverage_next_task(disk->cov, &i))) {
		if (READ_ONCE(task->state) != FB_TASK_RUNNING)
			continue;
		*tasks = true;
		wanted += task->wanted;
	}
	return wanted;
}

/* Does a task want some? Under fb_disk.lock. */
bool fb_coverage_wants(struct fb_disk *disk)
{
	bool tasks;

	return fb_coverage_wanted(disk, &tasks);
}

/* May free reads be planned now: does a task want blocks, and do the guards allow gaps? */
bool fb_coverage_may_read(struct fb_disk *disk)
{
	return fb_coverage_wants(disk) && disk->measure.may & FB_COST_GAPS &&
	       fb_guard_on(&disk->guard, ktime_get_ns());
}

/* ---- runs of granules that are counted together ---- */

/* what becomes of blocks that have come back: fb_bitmap_done() or fb_bitmap_untake() */
typedef u32 (*fb_coverage_land_fn)(struct fb_bitmap *map, u64 first, u32 n, u32 group);

/* Context of a walk over runs */
struct fb_coverage_walk {
	struct fb_coverage *cov;
	struct freeblock_task *task;	/* the task whose map is changed */
	struct fb_bitmap *map;		/* the map in which a buffer's blocks are moved */
	unsigned long *mask;		/* the buffer's granules that are moved */
	u64 base;			/* the buffer's first granule */
	fb_coverage_land_fn land;	/* what becomes of them */
	struct fb_op *op;		/* the change that is entered */
};

static void fb_coverage_runs(struct fb_coverage *cov, const struct fb_bitmap *map, u64 first,
			     u64 end, fb_runs_fn fn, struct fb_coverage_walk *walk)
{
	walk->cov = cov;
	fb_for_each_count(cov->disk->model, cov->disk->granule, map, first, end, fn, walk);
}

static void fb_coverage_each_run(struct fb_coverage *cov, const struct fb_bitmap *map, u64 first,
				 u64 n, fb_runs_fn fn, struct fb_coverage_walk *walk)
{
	u64 end = first + n, past;

	for (; first < end; first = past) {
		past = min(first + FB_COVERAGE_STEP, end);
		fb_coverage_runs(cov, map, first, past, fn, walk);
		cond_resched();
	}
}

static void fb_coverage_buf_runs(struct fb_coverage *cov, const struct fb_free_read *buf,
				 struct fb_bitmap *map, unsigned long *mask, fb_runs_fn fn,
				 fb_coverage_land_fn land)
{
	u32 granule = cov->disk->granule;
	struct fb_coverage_walk walk = {
		.map = map, .mask = mask, .base = div_u64(buf->lbn, granule), .land = land
	};

	fb_coverage_runs(cov, map, fb_granule_first(granule, buf->lbn),
			 fb_granule_end(cov->disk->sectors, granule, buf->lbn + buf->nsect),
			 fn, &walk);
}

/* ---- tasks come and go ---- */

static void fb_coverage_activate(struct fb_coverage *cov, struct freeblock_task *task)
{
	task->active = true;
	task->weighed = false;
	task->late = false;
	fb_deadline_begin(&task->pace, task->map.n_done, ktime_get_ns());
	WRITE_ONCE(cov->nactive, cov->nactive + 1);
}

static void fb_coverage_deactivate(struct fb_coverage *cov, struct freeblock_task *task)
{
	task->active = false;
	WRITE_ONCE(cov->nactive, cov->nactive - 1);
	if (cov->chosen == task)
		cov->chosen = NULL;
	if (cov->turn == task)
		cov->turn = NULL;
}

/* ---- changes of what a task wants ---- */

/* A block in flight that was added after its read was sent is wanted again when the read ends. */
static void fb_coverage_add_flying(struct fb_coverage_walk *walk, u64 first, u32 n)
{
	u32 granule = walk->cov->disk->granule;
	const struct fb_free_read *buf = NULL;

	while (walk->task->map.n_flying &&
	       (buf = fb_free_read_next(walk->cov->disk->reads.bufs, buf))) {
		u64 base = div_u64(buf->lbn, granule);
		u64 end = min(first + n, base + DIV_ROUND_UP(buf->nsect, granule));
		unsigned int b = max(first, base) - base, e;
		bool coming;

		if (first >= end || base >= end || buf->sent_ns > walk->op->added_ns)
			continue;
		/* it will still be delivered to the task, or entered into its map */
		scoped_guard(spinlock_irq, &walk->task->disk->lock)
			coming = buf->state >= FB_FREE_READ_SENT && buf->taken &&
				 (buf->pending | buf->served | buf->voided) & BIT(walk->task->slot);
		if (!coming)
			continue;
		for_each_set_bitrange_from(b, e, buf->share[walk->task->slot].mask, end - base)
			fb_bitmap_again(&walk->task->map, base + b, e - b);
	}
}

static void fb_coverage_add_some(struct fb_coverage_walk *walk, u64 first, u64 end, u32 group)
{
	fb_bitmap_want(&walk->task->map, first, end - first, group);
	fb_coverage_add_flying(walk, first, end - first);
}

/* what freeblock_task_set_coverage() gave; without that all of it */
static void fb_coverage_add_uncovered(struct fb_coverage_walk *walk, u64 first, u64 end, u32 group)
{
	const struct freeblock_coverage *coverage = walk->task->coverage;
	u64 missing, past;

	for (; first < end; first = past) {
		missing = min_t(u64, find_next_zero_bit_le(coverage->map, end, first), end);
		if (walk->op->initial)
			walk->task->entered_before += missing - first;
		first = missing;
		if (first >= end)
			return;
		past = find_next_bit_le(coverage->map, end, first);
		fb_coverage_add_some(walk, first, min(past, end), group);
	}
}

static void fb_coverage_add_run(void *ctx, u64 first, u32 n, u32 group)
{
	struct fb_coverage_walk *walk = ctx;

	if (walk->op->uncovered && walk->task->coverage)
		fb_coverage_add_uncovered(walk, first, first + n, group);
	else
		fb_coverage_add_some(walk, first, first + n, group);
}

static void fb_coverage_remove_run(void *ctx, u64 first, u32 n, u32 group)
{
	struct fb_coverage_walk *walk = ctx;

	fb_bitmap_unwant(&walk->task->map, first, n, group);
}

/* Enter an added range, but for what zones do not hold; false: that is not known now. */
static bool fb_coverage_add(struct fb_coverage_walk *walk, u64 first, u64 n)
{
	struct fb_coverage *cov = walk->cov;
	struct freeblock_task *task = walk->task;
	u32 zone = READ_ONCE(cov->disk->zone_sectors);
	unsigned long *unwritten = NULL, b, e;
	u64 wanted;

	if (zone) {
		unwritten = fb_zone_unwritten(cov->disk, zone, first, n);
		if (!unwritten)
			return false;
	}
	/* The map must show as in flight what was sent before the range was added. */
	fb_coverage_absorb(cov);
	fb_coverage_each_run(cov, &task->map, first, n, fb_coverage_add_run, walk);
	if (!unwritten)
		return true;
	wanted = task->map.n_wanted;
	for_each_set_bitrange(b, e, unwritten, n)
		fb_coverage_each_run(cov, &task->map, first + b, e - b,
				     fb_coverage_remove_run, walk);
	WRITE_ONCE(task->unwritten, task->unwritten + wanted - task->map.n_wanted);
	kvfree(unwritten);
	return true;
}

/* Read the wanted blocks of a range at once. True: all of them are done; a read may have failed. */
static bool fb_coverage_promote(struct fb_coverage *cov, struct freeblock_task *task,
				struct fb_op *op)
{
	u64 end = op->first + op->n, at = op->first;
	u32 granule = cov->disk->granule, most;
	u64 sectors = cov->disk->sectors;
	struct fb_plan_piece piece;

	scoped_guard(spinlock_irq, &cov->disk->lock)
		most = cov->disk->q ?
			fb_recovery_max(cov->disk, fb_free_read_max_data(cov->disk)) / granule : 0;
	/* A task that cannot take its blocks would have them read again and again. */
	while (most && task->active && !fb_task_choice_is_stalled(task)) {
		u64 first = fb_bitmap_next_wanted(&task->map, at, end), n = 1;

		if (first >= end)
			break;
		while (n < most && first + n < end && fb_bitmap_is_wanted(&task->map, first + n))
			n++;
		if (fb_quarantine_doubts(&cov->disk->quarantine, first * granule, n * granule))
			n = 1;
		piece.lbn = first * granule;
		piece.nsect = min(n * granule, sectors - piece.lbn);
		fb_zone_cut(cov->disk, &piece);
		if (!fb_free_read_may_promote(task) ||
		    !fb_free_read_now(task, piece.lbn, piece.nsect, FB_FREE_READ_PROMOTED))
			return false;
		at = first + DIV_ROUND_UP(piece.nsect, granule);
		fb_coverage_absorb(cov);
	}
	return fb_bitmap_next_wanted(&task->map, op->first, end) == end &&
	       fb_bitmap_next_flying(&task->map, op->first) >= end;
}

/* Enter at most @most granules of a task's first change; returns how many; 0: none can be. */
static u64 fb_coverage_enter(struct fb_coverage *cov, struct freeblock_task *task, u64 most)
{
	struct fb_coverage_walk walk = { .cov = cov, .task = task };
	struct fb_op *op;
	u64 n;

	scoped_guard(spinlock_irq, &cov->disk->lock)
		op = list_first_entry_or_null(&task->todo, struct fb_op, node);
	if (!op)
		return 0;
	n = min(op->n, most);
	walk.op = op;
	if (op->kind == FB_OP_PROMOTE) {
		n = op->n;
		cov->blocked = !fb_coverage_promote(cov, task, op);
		if (cov->blocked)
			return 0;
	} else if (op->kind == FB_OP_REMOVE) {
		fb_coverage_each_run(cov, &task->map, op->first, n, fb_coverage_remove_run,
				     &walk);
	} else if (!fb_coverage_add(&walk, op->first, n)) {
		cov->blocked = true;
		return 0;
	}
	op->first += n;
	op->n -= n;
	cond_resched();
	task->behind = READ_ONCE(task->ntodo) > 1;
	if (op->n)
		return n;
	task->weighed = false;
	task->sweep = true;
	spin_lock_irq(&cov->disk->lock);
	list_del(&op->node);
	if (--task->ntodo == FREEBLOCK_RANGES - FREEBLOCK_RANGES_MAX)
		fb_delivery_raise(task, FREEBLOCK_EVENT_ROOM);
	spin_unlock_irq(&cov->disk->lock);
	kfree(op);
	return n;
}

/*
 * Enter a task's changes, of a long one a piece. While others wait behind it nothing is read for
 * the task, so that a block comes once however often it was added.
 */
static void fb_coverage_enter_some(struct fb_coverage *cov, struct freeblock_task *task)
{
	u64 left = FB_COVERAGE_CHUNK, n;

	do {
		task->behind = false;
		n = fb_coverage_enter(cov, task, left);
		left -= min(n, left);
	} while (n && left);
}

/* ---- blocks in flight ---- */

static void fb_coverage_take_run(void *ctx, u64 first, u32 n, u32 group)
{
	struct fb_coverage_walk *walk = ctx;
	u32 i;

	for (i = 0; i < n; i++)
		if (fb_bitmap_is_wanted(walk->map, first + i))
			__set_bit(first + i - walk->base, walk->mask);
	fb_bitmap_take(walk->map, first, n, group);
}

static void fb_coverage_land_run(void *ctx, u64 first, u32 n, u32 group)
{
	struct fb_coverage_walk *walk = ctx;
	unsigned int b = first - walk->base, e, end = b + n;

	for_each_set_bitrange_from(b, e, walk->mask, end)
		walk->land(walk->map, walk->base + b, e - b, group);
}

static void fb_coverage_take(struct fb_coverage *cov, struct fb_free_read *buf)
{
	struct freeblock_task *task;
	u32 i = 0, pending = 0;
	unsigned long *mask;

	while ((task = fb_coverage_next_task(cov, &i))) {
		if (!fb_task_choice_may_take(task))
			continue;
		/* one that started after a VERIFY was sent may want data, which that has not */
		if (buf->how == FB_VERIFY_COMMAND && !(task->ops->flags & FREEBLOCK_NO_DATA))
			continue;
		mask = buf->share[task->slot].mask;
		fb_coverage_buf_runs(cov, buf, &task->map, mask, fb_coverage_take_run, NULL);
		if (!bitmap_empty(mask, FB_READ_GRANULES))
			pending |= BIT(task->slot);
		bitmap_or(buf->mask, buf->mask, mask, FB_READ_GRANULES);
	}
	guard(spinlock_irq)(&cov->disk->lock);
	buf->pending = pending;
}

static void fb_coverage_settle(struct fb_coverage *cov, struct fb_free_read *buf)
{
	guard(spinlock_irq)(&cov->disk->lock);
	buf->state = FB_FREE_READ_FREE;
}

static void fb_coverage_land(struct fb_coverage *cov, struct fb_free_read *buf, unsigned long slots,
			     fb_coverage_land_fn land)
{
	u32 i;

	for_each_set_bit(i, &slots, FREEBLOCK_TASKS)
		fb_coverage_buf_runs(cov, buf, &cov->task[i]->map, buf->share[i].mask,
				     fb_coverage_land_run, land);
}

/* Shorten a plan to what may be read now and is wanted. False: none of it. */
bool fb_coverage_cut(struct fb_coverage *cov, struct fb_plan *plan)
{
	return fb_task_choice_may_take(cov->chosen) &&
	       fb_quarantine_cut(&cov->disk->quarantine, &cov->chosen->map, ktime_get_ns(),
				 plan);
}

/* ---- buffers ---- */

static void fb_coverage_count_ended(struct fb_coverage *cov, const struct fb_free_read *buf,
				    bool dirty)
{
	struct fb_stats *st = &cov->disk->stats;
	u32 granule = cov->disk->granule;

	lockdep_assert_held(&cov->disk->lock);
	if (dirty || buf->status == BLK_STS_AGAIN)
		return;
	if (buf->status)
		st->free_errors++;
	else
		st->free_sectors += (u64)bitmap_weight(buf->mask, FB_READ_GRANULES) * granule;
}

/* The drive did not try what follows a bad block: want it again, for the quarantine's reads. */
static void fb_coverage_cut_tail(struct fb_coverage *cov, struct fb_free_read *buf)
{
	unsigned int from = buf->good / cov->disk->granule + 1, i;
	unsigned long pending = buf->pending;
	DECLARE_BITMAP(tail, FB_READ_GRANULES);

	if (from >= FB_READ_GRANULES)
		return;
	for_each_set_bit(i, &pending, FREEBLOCK_TASKS) {
		unsigned long *mask = buf->share[i].mask;

		bitmap_copy(tail, mask, FB_READ_GRANULES);
		bitmap_clear(tail, 0, from);
		fb_coverage_buf_runs(cov, buf, &cov->task[i]->map, tail, fb_coverage_land_run,
				     fb_bitmap_untake);
		bitmap_andnot(mask, mask, tail, FB_READ_GRANULES);
	}
}

/* ---- reads for the medium that the cache may have answered: once more, before delivery ---- */

static void fb_coverage_alloc_repeated(struct fb_coverage *cov)
{
	u64 granules = fb_disk_granules(cov->disk);
	void *map;

	/* it is tried once, for a refusal has a line in the log */
	if (cov->repeated_bytes)
		return;
	cov->repeated_bytes = BITS_TO_LONGS(granules) * sizeof(long);
	map = freeblock_alloc(cov->repeated_bytes, "blocks read again");
	if (!IS_ERR(map))
		cov->repeated = map;
}

/* Is it withheld from the tasks that need the medium's content? Not the second time. */
static bool fb_coverage_repeats(struct fb_coverage *cov, const struct fb_free_read *buf)
{
	u64 first = div_u64(buf->lbn, cov->disk->granule);
	u32 n = DIV_ROUND_UP(buf->nsect, cov->disk->granule);
	unsigned long *map, at = first % BITS_PER_LONG, pending = buf->pending;
	u32 i, flags = 0;
	bool again;

	for_each_set_bit(i, &pending, FREEBLOCK_TASKS)
		flags |= cov->task[i]->ops->flags;
	if (!(flags & FREEBLOCK_MEDIUM))
		return false;
	if (!buf->proven)
		fb_coverage_alloc_repeated(cov);
	/* without memory none is: they are reported as unverified */
	if (!cov->repeated)
		return false;
	/* bitmap_set() itself takes an int */
	map = cov->repeated + first / BITS_PER_LONG;
	again = !buf->proven && find_next_zero_bit(map, at + n, at) < at + n;
	if (again)
		bitmap_set(map, at, n);
	else
		bitmap_clear(map, at, n);
	return again;
}

static void fb_coverage_withhold(struct fb_coverage *cov, struct fb_free_read *buf)
{
	unsigned long pending = buf->pending;
	u32 i;

	lockdep_assert_held(&cov->disk->lock);
	for_each_set_bit(i, &pending, FREEBLOCK_TASKS) {
		if (!(cov->task[i]->ops->flags & FREEBLOCK_MEDIUM))
			continue;
		buf->pending &= ~BIT(i);
		buf->voided |= BIT(i);
		cov->task[i]->withheld_ns = ktime_get_ns();
	}
	cov->disk->stats.unproven += !!buf->voided;
}

static void fb_coverage_absorb_ended(struct fb_coverage *cov, struct fb_free_read *buf, bool dirty)
{
	unsigned long pending;
	bool known, repeat;
	u32 i;

	scoped_guard(spinlock_irq, &cov->disk->lock)
		fb_coverage_count_ended(cov, buf, dirty);
	known = !dirty && buf->status != BLK_STS_AGAIN && fb_delivery_judge(cov, buf);
	if ((buf->status && !known) || dirty || !buf->pending) {
		/* deliver it to no task: all of its blocks are wanted again */
		fb_coverage_land(cov, buf, buf->pending, fb_bitmap_untake);
		buf->pending = 0;
		fb_coverage_settle(cov, buf);
		return;
	}
	if (buf->status && READ_ONCE(cov->disk->quarantine.quarantine_kib))
		fb_coverage_cut_tail(cov, buf);
	repeat = fb_coverage_repeats(cov, buf);
	spin_lock_irq(&cov->disk->lock);
	buf->state = FB_FREE_READ_DELIVER;
	if (repeat)
		fb_coverage_withhold(cov, buf);
	pending = buf->pending;
	for_each_set_bit(i, &pending, FREEBLOCK_TASKS)
		cov->task[i]->held++;
	spin_unlock_irq(&cov->disk->lock);
	for_each_set_bit(i, &pending, FREEBLOCK_TASKS)
		fb_delivery_begin(cov->task[i]);
}

static void fb_coverage_absorb_delivered(struct fb_coverage *cov, struct fb_free_read *buf)
{
	u32 served, voided, pending;

	spin_lock_irq(&cov->disk->lock);
	served = buf->served;
	voided = buf->voided;
	pending = buf->pending;
	buf->served = 0;
	buf->voided = 0;
	spin_unlock_irq(&cov->disk->lock);
	fb_coverage_land(cov, buf, served, fb_bitmap_done);
	fb_coverage_land(cov, buf, voided, fb_bitmap_untake);
	if (!pending)
		fb_coverage_settle(cov, buf);
}

/* Process one buffer's state; return true if it has become free. */
static bool fb_coverage_absorb_buf(struct fb_coverage *cov, struct fb_free_read *buf)
{
	enum fb_free_read_state state = READ_ONCE(buf->state);
	bool dirty, take;

	/* Few buffers need a step. One sent meanwhile may be missed: sending it voids its gap. */
	if (state < FB_FREE_READ_SENT || (state == FB_FREE_READ_SENT && buf->taken))
		return false;
	spin_lock_irq(&cov->disk->lock);
	state = buf->state;
	dirty = buf->dirty;
	take = (state == FB_FREE_READ_SENT || state == FB_FREE_READ_ENDED) && !buf->taken;
	if (take)
		buf->taken = true;
	spin_unlock_irq(&cov->disk->lock);
	if (take && !buf->probe) {
		fb_coverage_take(cov, buf);
		fb_quarantine_sent(&cov->disk->quarantine, buf->lbn, buf->nsect, ktime_get_ns());
	}
	if (state == FB_FREE_READ_ENDED && buf->probe)
		fb_probe_absorb(cov, buf);
	else if (state == FB_FREE_READ_ENDED)
		fb_coverage_absorb_ended(cov, buf, dirty);
	else if (state == FB_FREE_READ_DELIVER)
		fb_coverage_absorb_delivered(cov, buf);
	return state >= FB_FREE_READ_ENDED && READ_ONCE(buf->state) == FB_FREE_READ_FREE &&
	       buf->status != BLK_STS_AGAIN;
}

/* Only this function writes these counts, so it may compare them without the lock. */
static void fb_coverage_publish(struct fb_coverage *cov)
{
	struct freeblock_task *task;
	u32 i = 0;

	while ((task = fb_coverage_next_task(cov, &i))) {
		u64 wanted = task->map.n_wanted, flying = task->map.n_flying;
		u64 total = task->map.n_done + wanted + flying + task->map.n_again;

		if (task->wanted != wanted || task->flying != flying || task->total != total ||
		    task->before != task->entered_before)
			fb_delivery_count(task, wanted, flying, total);
	}
}

/* Bring the coverage maps up to date with the buffers. */
void fb_coverage_absorb(struct fb_coverage *cov)
{
	struct fb_free_read *buf = NULL;

	while ((buf = fb_free_read_next(cov->disk->reads.bufs, buf)))
		if (fb_coverage_absorb_buf(cov, buf))
			cov->blocked = false;
	fb_coverage_publish(cov);
}

/* ---- tasks ---- */

static void fb_coverage_attend_task(struct fb_coverage *cov, struct freeblock_task *task)
{
	enum fb_task_state state = READ_ONCE(task->state);

	/* a model may have come since it was made */
	if (task->map.groups != fb_model_groups(cov->disk))
		fb_model_regroup(cov->disk, &task->map);
	if (state == FB_TASK_RUNNING && !task->active)
		fb_coverage_activate(cov, task);
	else if (state != FB_TASK_RUNNING && task->active)
		fb_coverage_deactivate(cov, task);
	if (state != FB_TASK_STOPPING)
		fb_coverage_enter_some(cov, task);
	fb_delivery_sweep(task);
	if (task->map.n_flying)
		return;
	if (!task->map.n_wanted && state != FB_TASK_STOPPING && task->ops->flags & FREEBLOCK_KEEP)
		fb_delivery_catch_up(task);
	if (state == FB_TASK_STOPPING ||
	    (state == FB_TASK_RUNNING && !task->map.n_wanted && !READ_ONCE(task->ntodo) &&
	     !(task->ops->flags & FREEBLOCK_KEEP))) {
		if (task->active)
			fb_coverage_deactivate(cov, task);
		fb_delivery_try_end(task);
	}
}

/* Carry out what tasks ask for: changes, start, pause, stop; and pick the map for the search. */
void fb_coverage_attend(struct fb_coverage *cov)
{
	struct freeblock_task *task;
	u32 i = 0;

	while ((task = fb_coverage_next_task(cov, &i)))
		fb_coverage_attend_task(cov, task);
	fb_task_choice_map(cov);
	fb_coverage_publish(cov);
	fb_delivery_mind_bad(cov, false);
}

/* Do fb_coverage_absorb() and fb_coverage_attend() have anything to do? */
bool fb_coverage_has_work(struct fb_coverage *cov)
{
	const struct fb_free_read *buf = NULL;
	const struct freeblock_task *task;
	u32 i = 0;

	lockdep_assert_held(&cov->disk->lock);
	while ((task = fb_coverage_next_task(cov, &i))) {
		bool runs = task->state == FB_TASK_RUNNING, stops = task->state == FB_TASK_STOPPING;

		if (runs != task->active || (stops && !task->flying) ||
		    (!stops && task->ntodo && !cov->blocked))
			return true;
	}
	while ((buf = fb_free_read_next(cov->disk->reads.bufs, buf)))
		if (buf->state == FB_FREE_READ_ENDED ||
		    (buf->state == FB_FREE_READ_DELIVER &&
		     (buf->served || buf->voided || !buf->pending)))
			return true;
	return false;
}
