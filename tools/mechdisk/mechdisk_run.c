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
	r->counts.commands++;
	r->counts.late_sum += late;
	if (late > r->counts.late_max)
		r->counts.late_max = late;
	if (late > MD_RUN_LATE_NS)
		r->counts.late_over++;
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
	const struct mde_range *want = &c->range;
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
		r->counts.store_failures++;
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
	r->counts.link_wakes++;
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

void md_run_reset_stats(struct md_run *r)
{
	spin_lock_irq(&r->lock);
	mde_stats_reset(&r->engine);
	memset(&r->counts, 0, sizeof(r->counts));
	spin_unlock_irq(&r->lock);
	mds_journal_clear(&r->store);
}

/* What is shown, beside what the engine counts. */
struct md_shown {
	struct mde_stats e;
	struct md_counts c;
	u64 outstanding;
	u64 hung;
	u64 journal_records;
	u64 journal_overflow;
};

#define MD_E(field, unit) { #field, offsetof(struct md_shown, e.field), unit }
#define MD_PS(field) { #field "_ns", offsetof(struct md_shown, e.field##_ps), 1000 }
#define MD_C(field) { #field, offsetof(struct md_shown, c.field), 1 }
#define MD_S(field) { #field, offsetof(struct md_shown, field), 1 }

/* By name, and by how much of it is one. */
static const struct {
	const char *name;
	size_t at;
	u64 unit;
} md_run_shown[] = {
	MD_C(commands), MD_E(reads, 1), MD_E(fua_reads, 1), MD_E(writes, 1), MD_E(verifies, 1),
	MD_E(flushes, 1), MD_E(sectors_read, 1), MD_E(sectors_written, 1),
	MD_E(sectors_verified, 1), MD_S(outstanding), MD_E(max_outstanding, 1), MD_PS(busy),
	MD_PS(read_busy), MD_PS(seek), MD_PS(rotate), MD_PS(transfer), MD_E(seeks, 1),
	MD_E(head_switches, 1), MD_E(extra_turns, 1), MD_E(medium_errors, 1), MD_E(read_hits, 1),
	MD_E(partial_hits, 1), MD_E(cached_writes, 1), MD_E(destages, 1), MD_E(internals, 1),
	MD_E(scans, 1), { "late_max_ns", offsetof(struct md_shown, c.late_max), 1 },
	{ "late_mean_ns", offsetof(struct md_shown, c.late_sum), 0 },
	{ "late_over_10us", offsetof(struct md_shown, c.late_over), 1 }, MD_S(journal_records),
	MD_S(journal_overflow), MD_C(store_failures), MD_C(aborts), MD_C(resets), MD_S(hung),
	MD_C(urgent), MD_C(wakes), MD_C(link_wakes),
};

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
	struct md_shown s;
	ssize_t n = 0;
	u32 i;

	spin_lock_irq(&r->lock);
	s.e = r->engine.stats;
	s.c = r->counts;
	s.outstanding = r->engine.outstanding;
	s.hung = md_run_count_hung(r);
	spin_unlock_irq(&r->lock);
	mds_journal_state(&r->store, &s.journal_records, &s.journal_overflow);
	for (i = 0; i < ARRAY_SIZE(md_run_shown); i++)
		/* A mean is of all commands. */
		n += sysfs_emit_at(page, n, "%s %llu\n", md_run_shown[i].name,
				   *(u64 *)((char *)&s + md_run_shown[i].at) /
				   (md_run_shown[i].unit ?: max(s.c.commands, 1ULL)));
	return n;
}
