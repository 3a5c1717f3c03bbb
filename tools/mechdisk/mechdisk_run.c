// SPDX-License-Identifier: GPL-2.0
/*
 * A drive that runs in the kernel; see mechdisk_run.h.
 *
 * Locks
 *   md_run.lock (spinlock, hard interrupt context; with PREEMPT_RT a thread's, for there
 *   the timer is soft): engine, slot, hung, waking, fault, power, counters, md_cmd.state, and
 *   what a port's driver says.  Never held over md_port.done(), which may come back
 *   with the next command, nor while bytes are copied from or to a command's buffers.
 *   A port's driver may call with a lock of its own.  Inside it: the timer's, the worker's.
 *   mds.lock (mutex, mechdisk_store.c): taken by the worker without md_run.lock.
 */
#include <linux/export.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/sysfs.h>
#include <scsi/scsi_device.h>

#include "mechdisk_compat.h"
#include "mechdisk_run.h"

/* A completion later than this makes a run worthless. */
#define MD_RUN_LATE_NS	10000

/* Completion. */

/* Take note of how punctual a completion is that leaves now. */
static void md_run_note_late(struct md_run *r, const struct md_cmd *c)
{
	u64 late = ktime_get_ns() - c->report_ns;

	lockdep_assert_held(&r->lock);
	r->commands++;
	r->late_sum += late;
	if (late > r->late_max)
		r->late_max = late;
	if (late > MD_RUN_LATE_NS)
		r->late_over++;
}

/* Start the timer for the engine's next event. */
static void md_run_arm(struct md_run *r)
{
	u64 next = mde_next_event(&r->engine);

	lockdep_assert_held(&r->lock);
	if (!list_empty(&r->waking))
		next = min(next, r->awake_ns);
	if (next != MDE_NEVER && next <= r->power.cut_ns)
		hrtimer_start(&r->timer, ns_to_ktime(next), HRTIMER_MODE_ABS);
}

/* Give the worker what has started. */
static void md_run_hand_out(struct md_run *r)
{
	int i;

	lockdep_assert_held(&r->lock);
	while ((i = mde_started(&r->engine)) >= 0) {
		const struct mde_slot *s = &r->engine.slot[i];
		struct md_cmd *c = r->slot[i];

		if (!c)
			continue;
		c->report_ns = mde_report_ns(&r->engine, i);
		c->begun_ns = mde_ns(&r->engine, s->started);
		c->medium_ns = s->cacheable ? 0 : mde_ns(&r->engine, s->media_end);
		c->good = s->good;
		c->asc = s->asc;
		c->error = s->error;
		c->info = s->info;
		kthread_queue_work(r->worker, &c->work);
	}
}

/* Commands. */

bool md_run_fault(struct md_run *r, enum md_fault fault)
{
	lockdep_assert_held(&r->lock);
	if (!r->fault[fault])
		return false;
	r->fault[fault]--;
	return true;
}
EXPORT_SYMBOL_GPL(md_run_fault);

void md_run_swallow(struct md_run *r, struct md_cmd *c)
{
	lockdep_assert_held(&r->lock);
	c->state = MD_HUNG;
	list_add_tail(&c->node, &r->hung);
}
EXPORT_SYMBOL_GPL(md_run_swallow);

/* Hand a command to the engine. */
static int md_run_put_in(struct md_run *r, struct md_cmd *c)
{
	const struct mdy_range *want = &c->range;
	int i = mde_submit(&r->engine, mdx_now(&r->power), want->op, want->lbn, want->count,
			   want->flags);

	lockdep_assert_held(&r->lock);
	if (i < 0)
		return -EBUSY;
	if (!want->at_once) {
		c->state = MD_QUEUED;
		c->hw_error = want->op != MDE_FLUSH && md_run_fault(r, MD_HW_ERROR);
		r->slot[i] = c;
	}
	return 0;
}

/* The link has woken: what waits for it arrives. */
static void md_run_connect(struct md_run *r)
{
	struct md_cmd *c, *next;

	lockdep_assert_held(&r->lock);
	if (mdx_now(&r->power) < r->awake_ns)
		return;
	list_for_each_entry_safe(c, next, &r->waking, node) {
		list_del(&c->node);
		/* A port has no more commands than the engine has slots. */
		if (WARN_ON_ONCE(md_run_put_in(r, c)))
			md_run_swallow(r, c);
	}
}

/* Let the drive live until now. */
static void md_run_advance(struct md_run *r)
{
	lockdep_assert_held(&r->lock);
	mde_advance(&r->engine, mdx_now(&r->power));
	md_run_hand_out(r);
}

/* A command that ends now, with its data moved; NULL if there is none. */
static struct md_cmd *md_run_pop(struct md_run *r)
{
	int i;

	lockdep_assert_held(&r->lock);
	/*
	 * What the cache answered when it came may be due before the timer has
	 * looked at it even once.
	 */
	md_run_hand_out(r);
	while ((i = mde_due(&r->engine, mdx_now(&r->power))) >= 0) {
		struct md_cmd *c = r->slot[i];

		r->slot[i] = NULL;
		mde_release(&r->engine, i);
		if (!c)
			continue;
		if (c->state == MD_READY) {
			c->state = MD_IDLE;
			return c;
		}
		c->state = MD_OVERDUE;
	}
	return NULL;
}

static enum hrtimer_restart md_run_timer(struct hrtimer *timer)
{
	struct md_run *r = container_of(timer, struct md_run, timer);
	struct md_cmd *c;
	unsigned long flags;

	spin_lock_irqsave(&r->lock, flags);
	/* Ends first: choosing the next command takes time. */
	while ((c = md_run_pop(r))) {
		md_run_note_late(r, c);
		spin_unlock_irqrestore(&r->lock, flags);
		r->port->done(r, c);
		spin_lock_irqsave(&r->lock, flags);
	}
	md_run_connect(r);
	md_run_advance(r);
	md_run_arm(r);
	spin_unlock_irqrestore(&r->lock, flags);
	return HRTIMER_NORESTART;
}

/* Data, moved between the command's buffers and the store by the worker. */

static void md_run_copy(struct md_run *r, bool read, u64 pos, struct scatterlist *sgl,
			unsigned int nents, u64 bytes)
{
	struct sg_mapping_iter it;

	sg_miter_start(&it, sgl, nents, read ? SG_MITER_TO_SG : SG_MITER_FROM_SG);
	while (bytes && sg_miter_next(&it)) {
		size_t n = min_t(u64, it.length, bytes);

		if (read)
			mds_read(&r->store, pos, it.addr, n);
		else
			mds_write(&r->store, pos, it.addr, n);
		pos += n;
		bytes -= n;
	}
	sg_miter_stop(&it);
}

void md_run_read(struct md_run *r, struct md_cmd *c, struct scatterlist *sgl,
		 unsigned int nents, u64 bytes)
{
	md_run_copy(r, true, c->range.lbn * r->cfg->sector_bytes, sgl, nents, bytes);
}
EXPORT_SYMBOL_GPL(md_run_read);

/* Before a write: what the power's log wants to know of it. */
static void md_run_keep_old(struct md_run *r, const struct md_cmd *c, u64 pos, u64 len)
{
	struct mde_pass pass = {
		.lbn = c->range.lbn, .count = c->range.count,
		.from_ns = c->begun_ns, .to_ns = c->medium_ns,
	};
	void *old = mdx_old(&r->power, &pass, len);

	if (old)
		mds_read(&r->store, pos, old, len);
}

/* What a write, WRITE SAME or UNMAP puts on the medium. */
static void md_run_put(struct md_run *r, const struct md_cmd *c, struct scatterlist *sgl,
		       unsigned int nents, u64 pos, u64 len)
{
	u64 at, step = c->range.same || c->range.gone ? r->cfg->sector_bytes : len;

	for (at = pos; at < pos + len; at += step) {
		if (c->range.gone)
			mds_write(&r->store, at, page_address(ZERO_PAGE(0)), step);
		else
			md_run_copy(r, false, at, sgl, nents, step);
	}
}

int md_run_write(struct md_run *r, struct md_cmd *c, struct scatterlist *sgl,
		 unsigned int nents)
{
	u32 gone = c->range.gone, size = r->cfg->sector_bytes;
	u64 pos = (gone ? c->range.gone_lbn : c->range.lbn) * size;
	u64 len = (u64)(gone ?: c->range.count) * size;

	if (mds_prepare(&r->store, pos, len)) {
		r->store_failures++;
		return -ENOMEM;
	}
	/* What is gone stays so when the power goes. */
	if (!gone)
		md_run_keep_old(r, c, pos, len);
	md_run_put(r, c, sgl, nents, pos, len);
	mds_journal(&r->store, pos, len, c->report_ns);
	return 0;
}
EXPORT_SYMBOL_GPL(md_run_write);

static void md_run_work(struct kthread_work *work)
{
	struct md_cmd *c = container_of(work, struct md_cmd, work);
	struct md_run *r = c->run;
	bool ended;

	r->port->move(r, c);

	spin_lock_irq(&r->lock);
	ended = c->state == MD_OVERDUE || c->state == MD_AT_ONCE;
	if (c->state == MD_OVERDUE)
		md_run_note_late(r, c);
	if (ended)
		c->state = MD_IDLE;
	else if (c->state == MD_QUEUED)
		c->state = MD_READY;
	spin_unlock_irq(&r->lock);
	/* Else the timer completes it, or the error handler has taken it. */
	if (ended)
		r->port->done(r, c);
}

void md_run_cmd_init(struct md_run *r, struct md_cmd *c)
{
	c->run = r;
	c->state = MD_IDLE;
	c->hw_error = false;
	kthread_init_work(&c->work, md_run_work);
}
EXPORT_SYMBOL_GPL(md_run_cmd_init);

void md_run_at_once(struct md_run *r, struct md_cmd *c)
{
	lockdep_assert_held(&r->lock);
	c->state = MD_AT_ONCE;
	kthread_queue_work(r->worker, &c->work);
}
EXPORT_SYMBOL_GPL(md_run_at_once);

/* A flush meets no mishaps: those are for commands that want sectors. */
int md_run_submit(struct md_run *r, struct md_cmd *c)
{
	int ret = 0;

	lockdep_assert_held(&r->lock);
	if (c->range.op != MDE_FLUSH && md_run_fault(r, MD_HANG)) {
		md_run_swallow(r, c);
		return 0;
	}
	if (mdx_now(&r->power) < r->awake_ns) {
		c->state = MD_WAKING;
		list_add_tail(&c->node, &r->waking);
	} else {
		ret = md_run_put_in(r, c);
	}
	if (ret)
		return ret;
	/* The timer starts it, at once if need be: this must not take long. */
	md_run_arm(r);
	return 0;
}
EXPORT_SYMBOL_GPL(md_run_submit);

/* Error handling. */

void md_run_settle(struct md_run *r)
{
	hrtimer_cancel(&r->timer);
	kthread_flush_worker(r->worker);
	spin_lock_irq(&r->lock);
	md_run_connect(r);
	md_run_advance(r);
	md_run_arm(r);
	spin_unlock_irq(&r->lock);
}
EXPORT_SYMBOL_GPL(md_run_settle);

void md_run_forget(struct md_run *r, struct md_cmd *c)
{
	int i;

	lockdep_assert_held(&r->lock);
	if (c->state == MD_OVERDUE || c->state == MD_AT_ONCE)
		return;
	for (i = 0; i < MDE_SLOTS; i++) {
		if (r->slot[i] == c) {
			r->slot[i] = NULL;
			mde_release(&r->engine, i);
		}
	}
	if (c->state == MD_HUNG || c->state == MD_WAKING)
		list_del(&c->node);
	c->state = MD_IDLE;
}
EXPORT_SYMBOL_GPL(md_run_forget);

void md_run_forget_all(struct md_run *r, struct list_head *gone)
{
	struct md_cmd *c, *next;
	int i;

	lockdep_assert_held(&r->lock);
	list_for_each_entry_safe(c, next, &r->hung, node) {
		md_run_forget(r, c);
		list_add_tail(&c->node, gone);
	}
	list_for_each_entry_safe(c, next, &r->waking, node) {
		md_run_forget(r, c);
		list_add_tail(&c->node, gone);
	}
	for (i = 0; i < MDE_SLOTS; i++) {
		c = r->slot[i];
		if (!c)
			continue;
		md_run_forget(r, c);
		list_add_tail(&c->node, gone);
	}
}
EXPORT_SYMBOL_GPL(md_run_forget_all);

void md_run_set_caching(struct md_run *r, const struct mde_caching *caching)
{
	lockdep_assert_held(&r->lock);
	mde_set_caching(&r->engine, mdx_now(&r->power), caching);
	md_run_advance(r);
	md_run_arm(r);
}
EXPORT_SYMBOL_GPL(md_run_set_caching);

void md_run_hold(struct md_run *r, u32 ms, bool stood)
{
	lockdep_assert_held(&r->lock);
	mde_hold(&r->engine, mdx_now(&r->power), ms * (u64)NSEC_PER_MSEC, stood);
	md_run_hand_out(r);
	md_run_arm(r);
}
EXPORT_SYMBOL_GPL(md_run_hold);

bool md_run_is_idle(const struct md_run *r)
{
	lockdep_assert_held(&r->lock);
	return !r->engine.outstanding && list_empty(&r->waking);
}
EXPORT_SYMBOL_GPL(md_run_is_idle);

void md_run_wake_link(struct md_run *r, u64 ns)
{
	lockdep_assert_held(&r->lock);
	r->awake_ns = mdx_now(&r->power) + ns;
	r->link_wakes++;
}
EXPORT_SYMBOL_GPL(md_run_wake_link);

/* Power. */

int md_run_init(struct md_run *r, const struct md_port *port, const struct mde_config *cfg,
		unsigned int number)
{
	int ret;

	r->port = port;
	r->cfg = cfg;
	spin_lock_init(&r->lock);
	INIT_LIST_HEAD(&r->hung);
	INIT_LIST_HEAD(&r->waking);
	mdx_init(&r->power, &r->lock);
	mdk_timer_setup(&r->timer, md_run_timer);
	mde_init(&r->engine, cfg, ktime_get_ns());
	ret = mds_init(&r->store, cfg->journal_records);
	if (ret)
		return ret;
	r->worker = kthread_create_worker(0, "mechdisk/%u", number);
	if (IS_ERR(r->worker)) {
		mds_exit(&r->store);
		return PTR_ERR(r->worker);
	}
	sched_set_fifo(r->worker->task);
	return 0;
}
EXPORT_SYMBOL_GPL(md_run_init);

void md_run_exit(struct md_run *r)
{
	hrtimer_cancel(&r->timer);
	kthread_destroy_worker(r->worker);
	mdx_exit(&r->power);
	mds_exit(&r->store);
}
EXPORT_SYMBOL_GPL(md_run_exit);

/* What the control files want. */

static int md_run_is_disk(struct device *dev, void *name)
{
	if (!dev->type || strcmp(dev->type->name ?: "", "disk"))
		return 0;
	strscpy(name, dev_name(dev), MD_RUN_NAME);
	return 1;
}

void md_run_disk_name(struct md_run *r, char name[MD_RUN_NAME])
{
	struct scsi_device *sdev;

	name[0] = '\0';
	shost_for_each_device(sdev, r->port->host(r))
		if (sdev->id == r->id)
			device_for_each_child(&sdev->sdev_gendev, name, md_run_is_disk);
}

int md_run_cut(struct md_run *r, u64 us)
{
	int ret = mdx_plan(&r->power, ktime_get_ns() + us * NSEC_PER_USEC);

	if (ret)
		return ret;
	spin_lock_irq(&r->lock);
	mde_watch(&r->engine, mdx_pass, &r->power);
	spin_unlock_irq(&r->lock);
	return 0;
}

u64 md_run_cut_ns(struct md_run *r, bool *dead, u64 *overflow)
{
	u64 ns;

	spin_lock_irq(&r->lock);
	ns = r->power.cut_ns;
	*dead = mdx_is_dead(&r->power);
	*overflow = r->power.overflow;
	spin_unlock_irq(&r->lock);
	return ns;
}

ssize_t md_run_cut_log(struct md_run *r, loff_t pos, void *buf, size_t len)
{
	bool dead;

	/* What was under way then: after that the log does not change. */
	kthread_flush_worker(r->worker);
	spin_lock_irq(&r->lock);
	if (mdx_is_dead(&r->power))
		md_run_advance(r);
	dead = mdx_is_dead(&r->power);
	spin_unlock_irq(&r->lock);
	if (!dead)
		return -EBUSY;
	kthread_flush_worker(r->worker);
	return memory_read_from_buffer(buf, len, &pos, r->power.log, r->power.used);
}

int md_run_inject(struct md_run *r, enum md_fault fault, u32 count)
{
	if (!(r->port->faults & BIT(fault)))
		return -EOPNOTSUPP;
	spin_lock_irq(&r->lock);
	r->fault[fault] = count;
	spin_unlock_irq(&r->lock);
	return 0;
}

void md_run_faults_left(struct md_run *r, u32 left[MD_FAULTS])
{
	spin_lock_irq(&r->lock);
	memcpy(left, r->fault, sizeof(r->fault));
	spin_unlock_irq(&r->lock);
}

int md_run_bad_add(struct md_run *r, const struct mde_bad *bad)
{
	int ret;

	spin_lock_irq(&r->lock);
	ret = mde_bad_add(&r->engine, bad);
	spin_unlock_irq(&r->lock);
	return ret;
}

void md_run_bad_clear(struct md_run *r)
{
	spin_lock_irq(&r->lock);
	mde_bad_clear(&r->engine);
	spin_unlock_irq(&r->lock);
}

u32 md_run_bad_get(struct md_run *r, struct mde_bad *bad)
{
	u32 n;

	spin_lock_irq(&r->lock);
	n = r->engine.bads;
	memcpy(bad, r->engine.bad, n * sizeof(*bad));
	spin_unlock_irq(&r->lock);
	return n;
}

void md_run_reset_stats(struct md_run *r)
{
	spin_lock_irq(&r->lock);
	mde_stats_reset(&r->engine);
	r->commands = 0;
	r->late_max = 0;
	r->late_sum = 0;
	r->late_over = 0;
	r->store_failures = 0;
	r->aborts = 0;
	r->resets = 0;
	r->urgent = 0;
	r->wakes = 0;
	r->link_wakes = 0;
	spin_unlock_irq(&r->lock);
	mds_journal_clear(&r->store);
}

static u32 md_run_count_hung(const struct md_run *r)
{
	const struct md_cmd *c;
	u32 n = 0;

	lockdep_assert_held(&r->lock);
	list_for_each_entry(c, &r->hung, node)
		n++;
	return n;
}

ssize_t md_run_show_stats(struct md_run *r, char *page)
{
	struct mde_stats s;
	u64 commands, late_max, late_sum, late_over, failures, aborts, resets, urgent, wakes;
	u64 link_wakes, used, overflow;
	u32 outstanding, hung;

	spin_lock_irq(&r->lock);
	s = r->engine.stats;
	outstanding = r->engine.outstanding;
	commands = r->commands;
	late_max = r->late_max;
	late_sum = r->late_sum;
	late_over = r->late_over;
	failures = r->store_failures;
	aborts = r->aborts;
	resets = r->resets;
	urgent = r->urgent;
	wakes = r->wakes;
	link_wakes = r->link_wakes;
	hung = md_run_count_hung(r);
	spin_unlock_irq(&r->lock);
	mds_journal_state(&r->store, &used, &overflow);

	return sysfs_emit(page,
		"commands %llu\nreads %llu\nfua_reads %llu\nwrites %llu\nverifies %llu\n"
		"flushes %llu\n"
		"sectors_read %llu\nsectors_written %llu\n"
		"sectors_verified %llu\noutstanding %u\n"
		"max_outstanding %llu\nbusy_ns %llu\nread_busy_ns %llu\nseek_ns %llu\n"
		"rotate_ns %llu\ntransfer_ns %llu\nseeks %llu\n"
		"head_switches %llu\nextra_turns %llu\nmedium_errors %llu\n"
		"read_hits %llu\npartial_hits %llu\ncached_writes %llu\n"
		"destages %llu\ninternals %llu\nscans %llu\n"
		"late_max_ns %llu\nlate_mean_ns %llu\nlate_over_10us %llu\n"
		"journal_records %llu\njournal_overflow %llu\n"
		"store_failures %llu\naborts %llu\nresets %llu\n"
		"hung %u\nurgent %llu\nwakes %llu\nlink_wakes %llu\n",
		commands, s.reads, s.fua_reads, s.writes, s.verifies, s.flushes,
		s.sectors_read,
		s.sectors_written, s.sectors_verified, outstanding,
		s.max_outstanding, s.busy_ps / 1000, s.read_busy_ps / 1000, s.seek_ps / 1000,
		s.rotate_ps / 1000, s.transfer_ps / 1000, s.seeks,
		s.head_switches, s.extra_turns, s.medium_errors, s.read_hits,
		s.partial_hits, s.cached_writes, s.destages, s.internals, s.scans,
		late_max,
		commands ? late_sum / commands : 0, late_over, used, overflow,
		failures, aborts, resets, hung, urgent, wakes, link_wakes);
}
