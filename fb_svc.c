// SPDX-License-Identifier: GPL-2.0
/*
 * What serves the tasks of a disk: the coverage map that gaps are searched for, what of it
 * is on its way, and what it means for each task (DESIGN 6).
 *
 * Exactly once: a block is wanted, in flight or done, for each task in a map of its own.
 * While several tasks are active their wants are joined in fb_svc.all: a block that several
 * of them want is read once and shared. Only the thread changes maps; what is sent and what
 * comes back is posted to it in the state of the buffers: SENT (it marks the blocks as
 * flying) -> ENDED -> DELIVER (workqueues call the consumers; it marks as done what has been
 * served) -> FREE.
 *
 * All functions run in the thread but those that say otherwise.
 *
 * Locks: fb_disk.lock for states and counts; the table is in fb_disk.h.
 */
#include <linux/sched.h>
#include <linux/slab.h>

#include "fb_delivery.h"
#include "fb_disk.h"
#include "fb_drive_query.h"

/* ranges are entered in pieces of so many granules, between which the thread looks up */
#define FBV_CHUNK 65536

/* a task's rate is measured over so long */
#define FBV_RATE_NS (10 * (u64)NSEC_PER_SEC)

static u32 fbv_granule(const struct fb_svc *svc)
{
	return dm_info(svc->fd->model)->granule_sectors;
}

/*
 * A task whose consumer is slow gets no more for now. One that is alone may fill all buffers;
 * the next one brings its own.
 */
static bool fbv_is_stalled(const struct freeblock_task *task)
{
	return READ_ONCE(task->fd->svc->nactive) > 1 && READ_ONCE(task->held) >= FREEBLOCK_HELD;
}

static bool fbv_is_hungry(const struct freeblock_task *task)
{
	return task && READ_ONCE(task->state) == FB_TASK_RUNNING && task->wanted;
}

/**
 * fbv_wants() - does a task want blocks that may be read from this disk?
 * @fd: the disk, locked
 *
 * That its consumer is slow does not count: the foreground's order is not to change with it.
 *
 * Context: fb_disk.lock held.
 *
 * Return: true when one does.
 */
bool fbv_wants(struct fb_disk *fd)
{
	bool hungry = false;
	u32 i;

	lockdep_assert_held(&fd->lock);
	for (i = 0; fd->svc && i < FREEBLOCK_TASKS && !hungry; i++)
		hungry = fbv_is_hungry(fd->svc->task[i]);
	return hungry && !fb_disk_transparent(fd);
}

/**
 * fbv_may_read() - may free reads be planned now?
 * @fd: the disk, locked
 *
 * Context: fb_disk.lock held.
 *
 * Return: true when a task wants blocks and nothing forbids to read them in gaps.
 */
bool fbv_may_read(struct fb_disk *fd)
{
	return fbv_wants(fd) && fb_guard_on(&fd->guard, ktime_get_ns());
}

/* ---- runs of granules that lie on one track ---- */

/**
 * struct fbv_walk - what a walk over runs works on
 * @svc: the service
 * @task: of moves of a task's map
 * @map: of moves of a buffer's blocks
 * @mask: of the buffer's granules
 * @base: the buffer's first granule
 * @op: of ranges that are entered
 */
struct fbv_walk {
	struct fb_svc *svc;
	struct freeblock_task *task;
	struct fb_bitmap *map;
	unsigned long *mask;
	u64 base;
	struct fb_op *op;
};

static void fbv_each_run(struct fb_svc *svc, u64 first, u64 n, fb_runs_fn fn,
			 struct fbv_walk *walk)
{
	u32 granule = fbv_granule(svc);

	walk->svc = svc;
	fb_for_each_run(svc->fd->model, granule, first * granule, n * granule, fn, walk);
}

static void fbv_buf_runs(struct fb_svc *svc, const struct fb_buf *buf, fb_runs_fn fn,
			 struct fbv_walk *walk)
{
	walk->base = div_u64(buf->lbn, fbv_granule(svc));
	fb_for_each_run(svc->fd->model, fbv_granule(svc), buf->lbn, buf->nsect, fn, walk);
}

/*
 * All runs of granules that @map has wanted blocks in. Those of a large disk take a second
 * or more: no vehicle is held meanwhile, a freeze would wait for it.
 */
static void fbv_wanted_runs(struct fb_svc *svc, const struct fb_bitmap *map, fb_runs_fn fn,
			    struct fbv_walk *walk)
{
	u64 at = fb_bitmap_next_wanted(map, 0);

	fb_vehicle_return(svc->fd);
	while (at < map->granules) {
		u64 n = min_t(u64, FBV_CHUNK, map->granules - at);

		fbv_each_run(svc, at, n, fn, walk);
		cond_resched();
		at = fb_bitmap_next_wanted(map, at + n);
	}
}

/* ---- tasks join and leave the map that gaps are searched for ---- */

static bool fbv_is_wanted(const struct fb_svc *svc, u64 granule)
{
	u32 i;

	for (i = 0; i < FREEBLOCK_TASKS; i++)
		if (svc->task[i] && svc->task[i]->active &&
		    fb_bitmap_is_wanted(&svc->task[i]->map, granule))
			return true;
	return false;
}

static void fbv_join_run(void *ctx, u64 first, u32 n, u32 group)
{
	struct fbv_walk *walk = ctx;
	u32 i;

	for (i = 0; i < n; i++)
		if (fb_bitmap_is_wanted(&walk->task->map, first + i))
			fb_bitmap_want(&walk->svc->all, first + i, 1, group);
}

static void fbv_leave_run(void *ctx, u64 first, u32 n, u32 group)
{
	struct fbv_walk *walk = ctx;
	u32 i;

	for (i = 0; i < n; i++)
		if (!fbv_is_wanted(walk->svc, first + i))
			fb_bitmap_unwant(&walk->svc->all, first + i, 1, group);
}

static struct freeblock_task *fbv_sole(const struct fb_svc *svc)
{
	u32 i;

	for (i = 0; i < FREEBLOCK_TASKS; i++)
		if (svc->task[i] && svc->task[i]->active)
			return svc->task[i];
	return NULL;
}

static void fbv_activate(struct fb_svc *svc, struct freeblock_task *task)
{
	struct fbv_walk walk = { .task = task };

	if (svc->nactive == 1) {
		fb_bitmap_copy(&svc->all, &fbv_sole(svc)->map);
		svc->joint = true;
	}
	task->active = true;
	task->rate = 0;
	task->mark_ns = ktime_get_ns();
	task->mark_done = task->map.n_done;
	WRITE_ONCE(svc->nactive, svc->nactive + 1);
	svc->weighed = NULL;
	if (svc->joint)
		fbv_wanted_runs(svc, &task->map, fbv_join_run, &walk);
}

static void fbv_deactivate(struct fb_svc *svc, struct freeblock_task *task)
{
	struct fbv_walk walk = { .task = task };

	task->active = false;
	WRITE_ONCE(svc->nactive, svc->nactive - 1);
	svc->weighed = NULL;
	if (svc->nactive > 1)
		fbv_wanted_runs(svc, &task->map, fbv_leave_run, &walk);
	else
		svc->joint = false;
}

/* it will not make its deadline at the rate at which it goes */
static bool fbv_is_late(struct freeblock_task *task, u64 now)
{
	u64 deadline_ns = READ_ONCE(task->deadline_ns);
	u64 past_ns = now - task->mark_ns;

	if (past_ns >= FBV_RATE_NS) {
		task->rate = div64_u64((task->map.n_done - task->mark_done) * NSEC_PER_SEC,
				       past_ns);
		task->mark_ns = now;
		task->mark_done = task->map.n_done;
		task->rate = max(task->rate, 1ULL);
	}
	if (!deadline_ns || !task->rate || !task->map.n_wanted || fbv_is_stalled(task))
		return false;
	return now + div64_u64(task->map.n_wanted, task->rate) * NSEC_PER_SEC > deadline_ns;
}

/* does @a go before @b? */
static bool fbv_goes_first(const struct freeblock_task *a, const struct freeblock_task *b)
{
	u64 a_ns = a->deadline_ns ? a->deadline_ns : U64_MAX;
	u64 b_ns = b->deadline_ns ? b->deadline_ns : U64_MAX;

	return a->priority != b->priority ? a->priority > b->priority : a_ns < b_ns;
}

/**
 * fbv_idle_task() - whom idle time goes to
 * @svc: the service
 *
 * Return: the task, or NULL.
 */
struct freeblock_task *fbv_idle_task(struct fb_svc *svc)
{
	struct freeblock_task *first = NULL;
	u32 i;

	for (i = 0; i < FREEBLOCK_TASKS; i++) {
		struct freeblock_task *task = svc->task[i];

		if (fbv_is_hungry(task) && task->active && task->map.n_wanted &&
		    !fbv_is_stalled(task) &&
		    (!first || fbv_goes_first(task, first)))
			first = task;
	}
	return first;
}

/* what the gaps are searched for: all tasks' blocks, or those of one that is late */
static void fbv_pick_map(struct fb_svc *svc)
{
	struct freeblock_task *late = NULL, *task;
	u64 now = ktime_get_ns();
	u32 i;

	svc->map = NULL;
	for (i = 0; i < FREEBLOCK_TASKS; i++) {
		task = svc->task[i];
		if (!task || !task->active)
			continue;
		svc->map = svc->joint ? &svc->all : &task->map;
		if (fbv_is_late(task, now) && (!late || fbv_goes_first(task, late)))
			late = task;
	}
	if (late)
		svc->map = &late->map;
}

/**
 * fbv_weigh() - what the blocks are worth, for the next search
 * @svc: the service, with a map
 * @lim: limits of the search; its weights are valid until the next call
 */
void fbv_weigh(struct fb_svc *svc, struct fb_limits *lim)
{
	u64 now = ktime_get_ns();

	if (svc->weighed != svc->map) {
		fb_worth_init(&svc->worth, svc->map);
		svc->weighed = svc->map;
		svc->balanced_ns = now;
	}
	if (now - svc->balanced_ns >= FB_WORTH_BALANCE_NS) {
		fb_worth_balance(&svc->worth, svc->map);
		svc->balanced_ns = now;
	}
	if (lim->odds)
		lim->miss_value = fb_worth_turn(&svc->worth, lim->odds->price);
	lim->weight = svc->worth.weight;
	lim->root = svc->worth.root;
}

/* ---- changes of what a task wants ---- */

/* does this read still bring the task something? */
static bool fbv_is_on_its_way(const struct freeblock_task *task, const struct fb_buf *buf)
{
	u32 slots;

	spin_lock_irq(&task->fd->lock);
	slots = buf->pending | buf->served | buf->voided;
	if (buf->state < FB_BUF_SENT || !buf->taken)
		slots = 0;
	spin_unlock_irq(&task->fd->lock);
	return slots & BIT(task->slot);
}

/*
 * What is in flight comes from a read that was sent before it was added: it is wanted again
 * when it lands. What was added before is not: it is served by that read, though it be
 * entered only now.
 */
static void fbv_add_flying(struct fbv_walk *walk, u64 first, u32 n)
{
	const struct fb_bufs *bufs = walk->svc->fd->bufs;
	u32 granule = fbv_granule(walk->svc), i;

	for (i = 0; walk->task->map.n_flying && i < READ_ONCE(bufs->n); i++) {
		const struct fb_buf *buf = &bufs->buf[i];
		u64 base = div_u64(buf->lbn, granule);
		u64 end = min(first + n, base + DIV_ROUND_UP(buf->nsect, granule));
		unsigned int b = max(first, base) - base, e;

		if (first >= end || base >= end || buf->sent_ns > walk->op->added_ns ||
		    !fbv_is_on_its_way(walk->task, buf))
			continue;
		for_each_set_bitrange_from(b, e, buf->share[walk->task->slot].mask, end - base)
			fb_bitmap_again(&walk->task->map, base + b, e - b);
	}
}

static void fbv_add_run(void *ctx, u64 first, u32 n, u32 group)
{
	struct fbv_walk *walk = ctx;
	const struct fb_op *op = walk->op;
	unsigned long b = first - op->base, e, end = b + n;

	if (!op->masked) {
		fb_bitmap_want(&walk->task->map, first, n, group);
		fbv_add_flying(walk, first, n);
	} else {
		for_each_set_bitrange_from(b, e, op->bits, end) {
			fb_bitmap_want(&walk->task->map, op->base + b, e - b, group);
			fbv_add_flying(walk, op->base + b, e - b);
		}
	}
	if (walk->task->active && walk->svc->joint)
		fbv_join_run(walk, first, n, group);
}

static void fbv_remove_run(void *ctx, u64 first, u32 n, u32 group)
{
	struct fbv_walk *walk = ctx;

	fb_bitmap_unwant(&walk->task->map, first, n, group);
	if (walk->task->active && walk->svc->joint)
		fbv_leave_run(walk, first, n, group);
}

/*
 * Read what is wanted of a range at once; it stays until all of it is done, for a read may
 * come back unread (EAGAIN) when the queue is frozen. True: it is done.
 */
static bool fbv_promote(struct fb_svc *svc, struct freeblock_task *task, struct fb_op *op)
{
	u64 end = op->first + op->n, at = op->first;
	u32 granule = fbv_granule(svc), most;
	u64 sectors = dm_info(svc->fd->model)->sectors;

	spin_lock_irq(&svc->fd->lock);
	most = svc->fd->q ? fb_vehicle_read_max(svc->fd) / granule : 0;
	spin_unlock_irq(&svc->fd->lock);
	/* what it cannot take would be read again and again */
	while (most && task->active && !fbv_is_stalled(task)) {
		u64 first = fb_bitmap_next_before(&task->map, at, end), n = 1;

		if (first >= end)
			break;
		while (n < most && first + n < end &&
		       fb_bitmap_is_wanted(&task->map, first + n))
			n++;
		if (fbb_doubts(&svc->fd->bad, first * granule, n * granule))
			n = 1;
		if (!fb_buf_read_now(svc->fd, first * granule,
				     min_t(u64, n * granule, sectors - first * granule)))
			return false;
		at = first + n;
		fbv_absorb(svc);
	}
	return fb_bitmap_next_wanted(&task->map, op->first) >= end &&
	       fb_bitmap_next_flying(&task->map, op->first) >= end;
}

/* a piece of a task's first change */
static void fbv_enter(struct fb_svc *svc, struct freeblock_task *task)
{
	struct fbv_walk walk = { .task = task };
	struct fb_op *op;
	u64 n;

	spin_lock_irq(&svc->fd->lock);
	op = list_first_entry_or_null(&task->todo, struct fb_op, node);
	spin_unlock_irq(&svc->fd->lock);
	if (!op)
		return;
	n = min_t(u64, op->n, FBV_CHUNK);
	walk.op = op;
	if (op->kind == FB_OP_PROMOTE) {
		svc->blocked = !fbv_promote(svc, task, op);
		if (svc->blocked)
			return;
		n = op->n;
	} else if (op->kind == FB_OP_ADD) {
		/* what was sent before it was added must be known to be in flight */
		fbv_absorb(svc);
		fbv_each_run(svc, op->first, n, fbv_add_run, &walk);
	} else {
		fbv_each_run(svc, op->first, n, fbv_remove_run, &walk);
	}
	op->first += n;
	op->n -= n;
	cond_resched();
	if (op->n)
		return;
	svc->weighed = NULL;
	spin_lock_irq(&svc->fd->lock);
	list_del(&op->node);
	task->ntodo--;
	spin_unlock_irq(&svc->fd->lock);
	kvfree(op);
}

/* ---- blocks on their way ---- */

static void fbv_take_run(void *ctx, u64 first, u32 n, u32 group)
{
	struct fbv_walk *walk = ctx;
	u32 i;

	for (i = 0; i < n; i++)
		if (fb_bitmap_is_wanted(walk->map, first + i))
			__set_bit(first + i - walk->base, walk->mask);
	fb_bitmap_take(walk->map, first, n, group);
}

static void fbv_untake_run(void *ctx, u64 first, u32 n, u32 group)
{
	struct fbv_walk *walk = ctx;
	unsigned int b = first - walk->base, e, end = b + n;

	for_each_set_bitrange_from(b, e, walk->mask, end)
		fb_bitmap_untake(walk->map, walk->base + b, e - b, group);
}

static void fbv_done_run(void *ctx, u64 first, u32 n, u32 group)
{
	struct fbv_walk *walk = ctx;
	unsigned int b = first - walk->base, e, end = b + n;

	for_each_set_bitrange_from(b, e, walk->mask, end)
		fb_bitmap_done(walk->map, walk->base + b, e - b, group);
}

/* what of a read is over for all: wanted again if anybody wants it */
static void fbv_settle_run(void *ctx, u64 first, u32 n, u32 group)
{
	struct fbv_walk *walk = ctx;
	unsigned int b = first - walk->base, end = b + n;

	fbv_done_run(ctx, first, n, group);
	for_each_set_bit_from(b, walk->mask, end) {
		if (fbv_is_wanted(walk->svc, walk->base + b))
			fb_bitmap_want(walk->map, walk->base + b, 1, group);
		else
			fb_bitmap_unwant(walk->map, walk->base + b, 1, group);
	}
}

/* a task that began just now may want data that a VERIFY does not bring */
static bool fbv_is_served(const struct freeblock_task *task, const struct fb_buf *buf)
{
	return buf->how != FB_MEDIUM_VERIFY || task->ops->flags & FREEBLOCK_NO_DATA;
}

/* who wants what of a read that has been sent */
static void fbv_take(struct fb_svc *svc, struct fb_buf *buf)
{
	struct fbv_walk walk = { .svc = svc };
	u32 i, pending = 0;

	for (i = 0; i < FREEBLOCK_TASKS; i++) {
		struct freeblock_task *task = svc->task[i];

		bitmap_zero(buf->share[i].mask, FB_BUF_GRANULES);
		if (!task || !task->active || (svc->joint && fbv_is_stalled(task)) ||
		    !fbv_is_served(task, buf))
			continue;
		walk.map = &task->map;
		walk.mask = buf->share[i].mask;
		fbv_buf_runs(svc, buf, fbv_take_run, &walk);
		if (!bitmap_empty(walk.mask, FB_BUF_GRANULES))
			pending |= BIT(i);
		bitmap_or(buf->mask, buf->mask, walk.mask, FB_BUF_GRANULES);
	}
	if (svc->joint) {
		walk.map = &svc->all;
		walk.mask = buf->mask;
		fbv_buf_runs(svc, buf, fbv_take_run, &walk);
	}
	spin_lock_irq(&svc->fd->lock);
	buf->pending = pending;
	spin_unlock_irq(&svc->fd->lock);
}

static void fbv_settle(struct fb_svc *svc, struct fb_buf *buf)
{
	struct fbv_walk walk = { .svc = svc, .map = &svc->all, .mask = buf->mask };

	if (svc->joint)
		fbv_buf_runs(svc, buf, fbv_settle_run, &walk);
	spin_lock_irq(&svc->fd->lock);
	buf->state = FB_BUF_FREE;
	spin_unlock_irq(&svc->fd->lock);
}

/* moves what the tasks in @slots have of a read */
static void fbv_each_share(struct fb_svc *svc, struct fb_buf *buf, u32 slots, fb_runs_fn fn)
{
	struct fbv_walk walk = { .svc = svc };
	u32 i;

	for (i = 0; i < FREEBLOCK_TASKS; i++) {
		if (!(slots & BIT(i)))
			continue;
		walk.map = &svc->task[i]->map;
		walk.mask = buf->share[i].mask;
		fbv_buf_runs(svc, buf, fn, &walk);
	}
}

/* nobody gets it: all of it is wanted again */
static void fbv_give_up(struct fb_svc *svc, struct fb_buf *buf)
{
	fbv_each_share(svc, buf, buf->pending, fbv_untake_run);
	buf->pending = 0;
	fbv_settle(svc, buf);
}

/* is there anybody to deliver it to? Of several tasks some may be stalled */
static bool fbv_has_taker(const struct fb_svc *svc, const struct fb_plan *plan)
{
	u32 granule = fbv_granule(svc), i, k;

	if (!svc->joint)
		return true;
	for (i = 0; i < FREEBLOCK_TASKS; i++) {
		const struct freeblock_task *task = svc->task[i];

		if (!task || !task->active || fbv_is_stalled(task))
			continue;
		for (k = 0; k < plan->npieces; k++)
			if (fb_bitmap_count(&task->map, div_u64(plan->piece[k].lbn, granule),
					    DIV_ROUND_UP(plan->piece[k].nsect, granule)))
				return true;
	}
	return false;
}

/**
 * fbv_cut() - shorten a plan for a gap so that what it reads may be read, and is wanted
 * @svc: the service
 * @plan: the plan; it may read less afterwards, never anything else
 *
 * Return: false: nothing of it may be read now.
 */
bool fbv_cut(struct fb_svc *svc, struct fb_plan *plan)
{
	return fbv_has_taker(svc, plan) &&
	       fbb_cut(&svc->fd->bad, svc->map, ktime_get_ns(), plan);
}

/* ---- buffers ---- */

static void fbv_count_ended(struct fb_svc *svc, const struct fb_buf *buf, bool dirty)
{
	struct fb_stats *st = &svc->fd->stats;
	u32 granule = fbv_granule(svc);

	lockdep_assert_held(&svc->fd->lock);
	if (dirty)
		st->discarded++;
	else if (buf->status == BLK_STS_AGAIN)
		return;
	else if (buf->status)
		st->free_errors++;
	else
		st->free_sectors += (u64)bitmap_weight(buf->mask, FB_BUF_GRANULES) * granule;
}

/* what lies behind a bad block was not tried: with a quarantine it is, later */
static void fbv_cut_tail(struct fb_svc *svc, struct fb_buf *buf)
{
	unsigned int from = buf->good / fbv_granule(svc) + 1, i;
	DECLARE_BITMAP(tail, FB_BUF_GRANULES);
	struct fbv_walk walk = { .svc = svc, .mask = tail };

	if (from >= FB_BUF_GRANULES)
		return;
	for (i = 0; i <= FREEBLOCK_TASKS; i++) {
		/* the last is what all want together */
		bool all = i == FREEBLOCK_TASKS;
		unsigned long *mask = all ? buf->mask : buf->share[i].mask;

		if (all ? !svc->joint : !(buf->pending & BIT(i)))
			continue;
		walk.map = all ? &svc->all : &svc->task[i]->map;
		bitmap_copy(tail, mask, FB_BUF_GRANULES);
		bitmap_clear(tail, 0, from);
		fbv_buf_runs(svc, buf, fbv_untake_run, &walk);
		bitmap_andnot(mask, mask, tail, FB_BUF_GRANULES);
	}
}

/* who wants what the medium holds does not get what may be from the cache */
static void fbv_withhold(struct fb_svc *svc, struct fb_buf *buf)
{
	u32 i;

	lockdep_assert_held(&svc->fd->lock);
	for (i = 0; i < FREEBLOCK_TASKS; i++) {
		if (!(buf->pending & BIT(i)) ||
		    !(svc->task[i]->ops->flags & FREEBLOCK_MEDIUM))
			continue;
		buf->pending &= ~BIT(i);
		buf->voided |= BIT(i);
		svc->fd->stats.unproven++;
	}
}

/* a read is back: who gets it, or is it to be read again? */
static void fbv_absorb_ended(struct fb_svc *svc, struct fb_buf *buf, bool dirty)
{
	bool known = !dirty && buf->status != BLK_STS_AGAIN && fb_delivery_judge(svc, buf);
	u32 i, pending;

	if ((buf->status && !known) || dirty || !buf->pending) {
		fbv_give_up(svc, buf);
		return;
	}
	if (buf->status && READ_ONCE(svc->fd->bad.quarantine_kib))
		fbv_cut_tail(svc, buf);
	spin_lock_irq(&svc->fd->lock);
	buf->state = FB_BUF_DELIVER;
	if (!buf->proven)
		fbv_withhold(svc, buf);
	pending = buf->pending;
	for (i = 0; i < FREEBLOCK_TASKS; i++)
		if (pending & BIT(i))
			svc->task[i]->held++;
	spin_unlock_irq(&svc->fd->lock);
	for (i = 0; i < FREEBLOCK_TASKS; i++)
		if (pending & BIT(i))
			fb_delivery_begin(svc->task[i]);
}

static void fbv_absorb_delivered(struct fb_svc *svc, struct fb_buf *buf)
{
	u32 served, voided, pending;

	spin_lock_irq(&svc->fd->lock);
	served = buf->served;
	voided = buf->voided;
	pending = buf->pending;
	buf->served = 0;
	buf->voided = 0;
	spin_unlock_irq(&svc->fd->lock);
	fbv_each_share(svc, buf, served, fbv_done_run);
	fbv_each_share(svc, buf, voided, fbv_untake_run);
	if (!pending)
		fbv_settle(svc, buf);
}

/* one step of one buffer; true: it has become free */
static bool fbv_absorb_buf(struct fb_svc *svc, struct fb_buf *buf)
{
	enum fb_buf_state state = READ_ONCE(buf->state);
	bool dirty, take;

	/* most have nothing for us; what is sent just now has its gap voided by that */
	if (state < FB_BUF_SENT || (state == FB_BUF_SENT && buf->taken))
		return false;
	spin_lock_irq(&svc->fd->lock);
	state = buf->state;
	dirty = buf->dirty;
	take = (state == FB_BUF_SENT || state == FB_BUF_ENDED) && !buf->taken;
	if (take)
		buf->taken = true;
	spin_unlock_irq(&svc->fd->lock);
	if (take) {
		fbv_take(svc, buf);
		fbb_sent(&svc->fd->bad, buf->lbn, buf->nsect, ktime_get_ns());
	}
	if (state == FB_BUF_ENDED) {
		spin_lock_irq(&svc->fd->lock);
		fbv_count_ended(svc, buf, dirty);
		spin_unlock_irq(&svc->fd->lock);
		fbv_absorb_ended(svc, buf, dirty);
	} else if (state == FB_BUF_DELIVER) {
		fbv_absorb_delivered(svc, buf);
	}
	return state >= FB_BUF_ENDED && READ_ONCE(buf->state) == FB_BUF_FREE &&
	       buf->status != BLK_STS_AGAIN;
}

/* the counts are written here only, so what is as it was need not be written again */
static void fbv_publish(struct fb_svc *svc)
{
	u32 i;

	for (i = 0; i < FREEBLOCK_TASKS; i++) {
		struct freeblock_task *task = svc->task[i];
		u64 wanted, flying, total;

		if (!task)
			continue;
		wanted = task->map.n_wanted;
		flying = task->map.n_flying;
		total = task->map.n_done + wanted + flying + task->map.n_again;
		if (task->wanted == wanted && task->flying == flying && task->total == total)
			continue;
		spin_lock_irq(&svc->fd->lock);
		task->wanted = wanted;
		task->flying = flying;
		task->total = total;
		spin_unlock_irq(&svc->fd->lock);
	}
}

/**
 * fbv_absorb() - bring the coverage maps up to date with the buffers
 * @svc: the service
 */
void fbv_absorb(struct fb_svc *svc)
{
	u32 i;

	for (i = 0; i < READ_ONCE(svc->fd->bufs->n); i++)
		if (fbv_absorb_buf(svc, &svc->fd->bufs->buf[i]))
			svc->blocked = false;
	fbv_publish(svc);
}

/**
 * fbv_ask_drive() - learn once what must be known of the drive: whether it reads ahead
 * @svc: the service
 *
 * Not while a vehicle is held: a freeze would wait for it, and the command for the
 * freeze's end.
 *
 * Context: may sleep; sends a command: the drive is to be awake.
 */
void fbv_ask_drive(struct fb_svc *svc)
{
	if (svc->asked || READ_ONCE(svc->fd->vehicle) != FB_VEHICLE_NONE)
		return;
	fb_drive_query_lookahead(svc->fd);
	svc->asked = true;
}

/* ---- tasks ---- */

/* a task seems to be through: it is to stop, or nothing is wanted; nothing is on its way */
static void fbv_try_end(struct fb_svc *svc, struct freeblock_task *task)
{
	if (task->active)
		fbv_deactivate(svc, task);
	fb_delivery_try_end(task);
}

static void fbv_attend_task(struct fb_svc *svc, struct freeblock_task *task)
{
	enum fb_task_state state = READ_ONCE(task->state);

	if (state == FB_TASK_RUNNING && !task->active)
		fbv_activate(svc, task);
	else if (state != FB_TASK_RUNNING && task->active)
		fbv_deactivate(svc, task);
	if (state != FB_TASK_STOPPING)
		fbv_enter(svc, task);
	if (task->map.n_flying)
		return;
	if (state == FB_TASK_STOPPING ||
	    (state == FB_TASK_RUNNING && !task->map.n_wanted && !READ_ONCE(task->ntodo) &&
	     !(task->ops->flags & FREEBLOCK_KEEP)))
		fbv_try_end(svc, task);
}

/**
 * fbv_attend() - what tasks ask for: changes of their wants, begin, pause, end
 * @svc: the service
 *
 * A long range is entered piece by piece, one a call. Picks the map that gaps are searched
 * for.
 */
void fbv_attend(struct fb_svc *svc)
{
	u32 i;

	for (i = 0; i < FREEBLOCK_TASKS; i++) {
		struct freeblock_task *task = READ_ONCE(svc->task[i]);

		if (task)
			fbv_attend_task(svc, task);
	}
	fbv_pick_map(svc);
	fbv_publish(svc);
	fb_delivery_mind_bad(svc, false);
}

static bool fbv_task_has_work(const struct fb_svc *svc, const struct freeblock_task *task)
{
	if (!task)
		return false;
	return (task->state == FB_TASK_RUNNING) != task->active ||
	       (task->state == FB_TASK_STOPPING && !task->flying) ||
	       (task->state != FB_TASK_STOPPING && task->ntodo && !svc->blocked);
}

/**
 * fbv_has_work() - is there anything for fbv_absorb() or fbv_attend() to do?
 * @svc: the service, its disk locked
 *
 * Context: fb_disk.lock held.
 *
 * Return: true when there is.
 */
bool fbv_has_work(struct fb_svc *svc)
{
	struct fb_bufs *bufs = svc->fd->bufs;
	bool work = false;
	u32 i;

	lockdep_assert_held(&svc->fd->lock);
	for (i = 0; !work && i < FREEBLOCK_TASKS; i++)
		work = fbv_task_has_work(svc, svc->task[i]);
	for (i = 0; !work && i < bufs->n; i++)
		work = bufs->buf[i].state == FB_BUF_ENDED ||
		       (bufs->buf[i].state == FB_BUF_DELIVER &&
			(bufs->buf[i].served || bufs->buf[i].voided || !bufs->buf[i].pending));
	return work;
}
