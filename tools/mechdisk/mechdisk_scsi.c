// SPDX-License-Identifier: GPL-2.0
/*
 * The simulated drive as a SCSI low-level driver.
 *
 * A command goes through these hands:
 *   queuecommand    hands it to the engine
 *   service starts  the engine has decided when the command ends; a kernel
 *                   thread moves the data meanwhile, so that nothing remains
 *                   to be done at the end
 *   timer           completes it at the instant the engine named
 * Should the thread be late, it completes the command itself, and the delay
 * counts as lateness like the timer's own.
 *
 * Locks
 *   mdh.lock (spinlock, hard interrupt context; with PREEMPT_RT a thread's, for there
 *   the timer is soft): engine, slot, hung, fault, pages, diag, power, condition,
 *   counters, and mdh_cmd.state.  Never held over scsi_done(), which may come back with the
 *   next command, nor while bytes are copied from or to a command's buffers.
 *   Inside it: the timer's, the worker's.
 *   mds.lock (mutex, mechdisk_store.c): taken by the worker without mdh.lock.
 */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/scatterlist.h>
#include <linux/sched.h>
#include <scsi/scsi.h>
#include <scsi/scsi_dbg.h>
#include <scsi/scsi_device.h>
#include <scsi/scsi_eh.h>
#include <scsi/scsi_host.h>
#include <scsi/scsi_tcq.h>

#include "mechdisk.h"
#include "mechdisk_compat.h"

/* A completion later than this makes a run worthless. */
#define MDH_LATE_NS	10000

/**
 * enum mdh_state - where a command that wants sectors is
 * @MDH_IDLE: not ours
 * @MDH_QUEUED: in the engine, or with the worker before its end
 * @MDH_READY: data moved, waits for its end
 * @MDH_OVERDUE: past its end, waits for the worker
 * @MDH_HUNG: swallowed
 */
enum mdh_state { MDH_IDLE, MDH_QUEUED, MDH_READY, MDH_OVERDUE, MDH_HUNG };

/**
 * struct mdh_cmd - our part of a scsi_cmnd
 * @work: moves the data
 * @cmd: the command
 * @node: in mdh.hung, or on a list of commands being reset
 * @range: what it wants
 * @state: protected by mdh.lock
 * @report_ns: when it is to be reported (set at the start of its service)
 * @begun_ns: that start
 * @medium_ns: a write's data are on the medium; 0: in the cache
 * @good: sectors that go well
 * @asc: medium error after those, or 0
 * @info: the error's INFORMATION is valid
 * @hw_error: ends with a hardware error
 */
struct mdh_cmd {
	struct kthread_work work;
	struct scsi_cmnd *cmd;
	struct list_head node;
	struct mdy_range range;
	enum mdh_state state;
	u64 report_ns;
	u64 begun_ns;
	u64 medium_ns;
	u32 good;
	u8 asc;
	bool info;
	bool hw_error;
};

/**
 * struct mdh - a powered-on drive
 * @shost: its host
 * @cfg: what it is
 * @store: its data
 * @worker: moves data, SCHED_FIFO
 * @timer: fires at the engine's next event
 * @lock: see above
 * @engine: mechanics and firmware
 * @slot: commands by the engine's slot; NULL: nobody waits for that one
 * @hung: commands swallowed
 * @fault: mishaps to come
 * @pages: mode pages
 * @diag: result of the last SEND DIAGNOSTIC
 * @power: whether it has any
 * @condition: whether it spins
 * @commands: completed
 * @late_max: largest lateness, ns
 * @late_sum: of all, ns
 * @late_over: commands later than MDH_LATE_NS
 * @store_failures: writes that found no memory
 * @aborts: commands the error handler took back
 * @resets: device, bus and host resets
 */
struct mdh {
	struct Scsi_Host *shost;
	const struct mde_config *cfg;
	struct mds store;
	struct kthread_worker *worker;
	struct hrtimer timer;
	spinlock_t lock;
	struct mde engine;
	struct mdh_cmd *slot[MDE_SLOTS];
	struct list_head hung;
	u32 fault[MDH_FAULTS];
	struct mdp pages;
	struct mdd_result diag;
	struct mdx power;
	struct mdo condition;
	u64 commands;
	u64 late_max;
	u64 late_sum;
	u64 late_over;
	u64 store_failures;
	u64 aborts;
	u64 resets;
};

/* Completion. */

/* Take note of how punctual a completion is that leaves now. */
static void mdh_note_late(struct mdh *h, const struct mdh_cmd *c)
{
	u64 late = ktime_get_ns() - c->report_ns;

	lockdep_assert_held(&h->lock);
	h->commands++;
	h->late_sum += late;
	if (late > h->late_max)
		h->late_max = late;
	if (late > MDH_LATE_NS)
		h->late_over++;
}

/* Start the timer for the engine's next event. */
static void mdh_arm(struct mdh *h)
{
	u64 next = mde_next_event(&h->engine);

	lockdep_assert_held(&h->lock);
	if (next != MDE_NEVER && next <= h->power.cut_ns)
		hrtimer_start(&h->timer, ns_to_ktime(next), HRTIMER_MODE_ABS);
}

/* Give the worker what has started. */
static void mdh_hand_out(struct mdh *h)
{
	int i;

	lockdep_assert_held(&h->lock);
	while ((i = mde_started(&h->engine)) >= 0) {
		const struct mde_slot *s = &h->engine.slot[i];
		struct mdh_cmd *c = h->slot[i];

		if (!c)
			continue;
		c->report_ns = mde_report_ns(&h->engine, i);
		c->begun_ns = mde_ns(&h->engine, s->started);
		c->medium_ns = s->cacheable ? 0 : mde_ns(&h->engine, s->media_end);
		c->good = s->good;
		c->asc = s->asc;
		c->info = s->info;
		kthread_queue_work(h->worker, &c->work);
	}
}

/* Let the drive live until now. */
static void mdh_advance(struct mdh *h)
{
	lockdep_assert_held(&h->lock);
	mde_advance(&h->engine, mdx_now(&h->power));
	mdh_hand_out(h);
}

/* A command that ends now, with its data moved; NULL if there is none. */
static struct mdh_cmd *mdh_pop(struct mdh *h)
{
	int i;

	lockdep_assert_held(&h->lock);
	/*
	 * What the cache answered when it came may be due before the timer has
	 * looked at it even once.
	 */
	mdh_hand_out(h);
	while ((i = mde_due(&h->engine, mdx_now(&h->power))) >= 0) {
		struct mdh_cmd *c = h->slot[i];

		h->slot[i] = NULL;
		mde_release(&h->engine, i);
		if (!c)
			continue;
		if (c->state == MDH_READY) {
			c->state = MDH_IDLE;
			return c;
		}
		c->state = MDH_OVERDUE;
	}
	return NULL;
}

static enum hrtimer_restart mdh_timer(struct hrtimer *timer)
{
	struct mdh *h = container_of(timer, struct mdh, timer);
	struct mdh_cmd *c;
	unsigned long flags;

	spin_lock_irqsave(&h->lock, flags);
	/* Ends first: choosing the next command takes time. */
	while ((c = mdh_pop(h))) {
		mdh_note_late(h, c);
		spin_unlock_irqrestore(&h->lock, flags);
		scsi_done(c->cmd);
		spin_lock_irqsave(&h->lock, flags);
	}
	mdh_advance(h);
	mdh_arm(h);
	spin_unlock_irqrestore(&h->lock, flags);
	return HRTIMER_NORESTART;
}

/* Data, moved between the command's buffers and the store by the worker. */

static void mdh_copy(struct mdh *h, struct mdh_cmd *c, u64 bytes)
{
	struct scsi_cmnd *cmd = c->cmd;
	bool read = c->range.op == MDE_READ;
	u64 pos = c->range.lbn * h->cfg->sector_bytes;
	struct sg_mapping_iter it;

	sg_miter_start(&it, scsi_sglist(cmd), scsi_sg_count(cmd),
		       read ? SG_MITER_TO_SG : SG_MITER_FROM_SG);
	while (bytes && sg_miter_next(&it)) {
		size_t n = min_t(u64, it.length, bytes);

		if (read)
			mds_read(&h->store, pos, it.addr, n);
		else
			mds_write(&h->store, pos, it.addr, n);
		pos += n;
		bytes -= n;
	}
	sg_miter_stop(&it);
}

/* Before a write: what the power's log wants to know of it. */
static void mdh_keep_old(struct mdh *h, const struct mdh_cmd *c, u64 pos, u64 len)
{
	struct mde_pass pass = {
		.lbn = c->range.lbn, .count = c->range.count,
		.from_ns = c->begun_ns, .to_ns = c->medium_ns,
	};
	void *old = mdx_old(&h->power, &pass, len);

	if (old)
		mds_read(&h->store, pos, old, len);
}

static void mdh_write(struct mdh *h, struct mdh_cmd *c)
{
	u64 pos = c->range.lbn * h->cfg->sector_bytes;
	u64 len = c->range.count * h->cfg->sector_bytes;

	if (mds_prepare(&h->store, pos, len)) {
		/* "No defect spare location available" comes closest. */
		scsi_build_sense(c->cmd, 0, HARDWARE_ERROR, 0x32, 0);
		scsi_set_resid(c->cmd, scsi_bufflen(c->cmd));
		h->store_failures++;
		return;
	}
	mdh_keep_old(h, c, pos, len);
	mdh_copy(h, c, len);
	scsi_set_resid(c->cmd, scsi_bufflen(c->cmd) - len);
	mds_journal(&h->store, pos, len, c->report_ns);
}

/* Sense data of an unreadable sector. */
static void mdh_medium_error(struct mdh_cmd *c)
{
	u64 bad = c->range.lbn + c->good;
	/* Fixed format has no room for a large LBN. */
	int desc = bad > U32_MAX;

	scsi_build_sense(c->cmd, desc, MEDIUM_ERROR, c->asc, 0);
	if (c->info)
		scsi_set_sense_information(c->cmd->sense_buffer,
					   SCSI_SENSE_BUFFERSIZE, bad);
}

static void mdh_move(struct mdh *h, struct mdh_cmd *c)
{
	struct scsi_cmnd *cmd = c->cmd;
	u64 bytes = c->good * h->cfg->sector_bytes;

	cmd->result = SAM_STAT_GOOD;
	if (c->hw_error) {
		/* "Internal target failure": nothing was transferred. */
		scsi_build_sense(cmd, 0, HARDWARE_ERROR, 0x44, 0);
		scsi_set_resid(cmd, scsi_bufflen(cmd));
		return;
	}
	if (c->range.op == MDE_WRITE)
		return mdh_write(h, c);
	if (c->range.op == MDE_READ) {
		mdh_copy(h, c, bytes);
		scsi_set_resid(cmd, scsi_bufflen(cmd) - bytes);
	}
	if (c->asc)
		mdh_medium_error(c);
}

static void mdh_work(struct kthread_work *work)
{
	struct mdh_cmd *c = container_of(work, struct mdh_cmd, work);
	struct scsi_cmnd *cmd = c->cmd;
	struct mdh *h = shost_priv(cmd->device->host);
	bool overdue;

	mdh_move(h, c);

	spin_lock_irq(&h->lock);
	overdue = c->state == MDH_OVERDUE;
	if (overdue) {
		c->state = MDH_IDLE;
		mdh_note_late(h, c);
	} else if (c->state == MDH_QUEUED) {
		c->state = MDH_READY;
	}
	spin_unlock_irq(&h->lock);
	/* Else the timer completes it, or the error handler has taken it. */
	if (overdue)
		scsi_done(cmd);
}

/* Commands. */

static bool mdh_fault(struct mdh *h, enum mdh_fault fault)
{
	lockdep_assert_held(&h->lock);
	if (!h->fault[fault])
		return false;
	h->fault[fault]--;
	return true;
}

/* Keep a command until the error handler takes it back. */
static void mdh_swallow(struct mdh *h, struct mdh_cmd *c)
{
	lockdep_assert_held(&h->lock);
	c->state = MDH_HUNG;
	list_add_tail(&c->node, &h->hung);
}

/* A flush meets no mishaps: those are for commands that want sectors. */
static int mdh_submit_flush(struct mdh *h, struct mdh_cmd *c)
{
	int i;

	lockdep_assert_held(&h->lock);
	i = mde_submit(&h->engine, mdx_now(&h->power), MDE_FLUSH, 0, 0, 0);
	if (i < 0)
		return SCSI_MLQUEUE_DEVICE_BUSY;
	c->cmd->result = SAM_STAT_GOOD;
	if (!c->range.at_once) {
		c->state = MDH_QUEUED;
		c->hw_error = false;
		h->slot[i] = c;
	}
	mdh_arm(h);
	return 0;
}

static int mdh_submit(struct mdh *h, struct mdh_cmd *c)
{
	const struct mdy_range *r = &c->range;
	int i;

	lockdep_assert_held(&h->lock);
	if (r->op == MDE_FLUSH)
		return mdh_submit_flush(h, c);
	if (mdh_fault(h, MDH_DEVICE_BUSY))
		return SCSI_MLQUEUE_DEVICE_BUSY;
	if (mdh_fault(h, MDH_HOST_BUSY))
		return SCSI_MLQUEUE_HOST_BUSY;
	if (mdh_fault(h, MDH_FULL)) {
		c->cmd->result = SAM_STAT_TASK_SET_FULL;
		c->range.at_once = true;
		return 0;
	}
	if (mdh_fault(h, MDH_ATTENTION)) {
		/* "Power on, reset, or bus device reset occurred". */
		scsi_build_sense(c->cmd, 0, UNIT_ATTENTION, 0x29, 0);
		scsi_set_resid(c->cmd, scsi_bufflen(c->cmd));
		c->range.at_once = true;
		return 0;
	}
	if (mdh_fault(h, MDH_HANG)) {
		mdh_swallow(h, c);
		return 0;
	}
	i = mde_submit(&h->engine, mdx_now(&h->power), r->op, r->lbn, r->count,
		       r->flags);
	if (i < 0)
		return SCSI_MLQUEUE_DEVICE_BUSY;
	mdo_use(&h->condition, h->cfg, ktime_get_ns());
	c->state = MDH_QUEUED;
	c->hw_error = mdh_fault(h, MDH_HW_ERROR);
	h->slot[i] = c;
	/* The timer starts it, at once if need be: this must not take long. */
	mdh_arm(h);
	return 0;
}

static MDK_QC_STATUS mdh_queuecommand(struct Scsi_Host *shost,
				      struct scsi_cmnd *cmd)
{
	struct mdh *h = shost_priv(shost);
	struct mdh_cmd *c = scsi_cmd_priv(cmd);
	struct mdy_range range = { 0 };
	unsigned long flags;
	bool at_once, dead;
	int ret;

	c->cmd = cmd;
	c->state = MDH_IDLE;
	kthread_init_work(&c->work, mdh_work);
	spin_lock_irqsave(&h->lock, flags);
	dead = mdx_is_dead(&h->power);
	if (dead)
		mdh_swallow(h, c);
	spin_unlock_irqrestore(&h->lock, flags);
	if (dead)
		return 0;
	if (!mdr_decode(h, h->cfg, cmd, &range)) {
		scsi_done(cmd);
		return 0;
	}
	c->range = range;

	spin_lock_irqsave(&h->lock, flags);
	ret = mdh_submit(h, c);
	at_once = !ret && c->range.at_once;
	spin_unlock_irqrestore(&h->lock, flags);
	if (at_once)
		scsi_done(cmd);
	return ret;
}

/* Error handling: process context, no new commands for this command's device. */

/* Wait for whoever may be completing a command that is no longer queued. */
static void mdh_settle(struct mdh *h)
{
	hrtimer_cancel(&h->timer);
	kthread_flush_worker(h->worker);
	spin_lock_irq(&h->lock);
	mdh_advance(h);
	mdh_arm(h);
	spin_unlock_irq(&h->lock);
}

/* Forget a command; what the head is doing for it goes on. */
static void mdh_forget(struct mdh *h, struct mdh_cmd *c)
{
	int i;

	lockdep_assert_held(&h->lock);
	for (i = 0; i < MDE_SLOTS; i++) {
		if (h->slot[i] == c) {
			h->slot[i] = NULL;
			mde_release(&h->engine, i);
		}
	}
	if (c->state == MDH_HUNG)
		list_del(&c->node);
	c->state = MDH_IDLE;
}

static int mdh_abort(struct scsi_cmnd *cmd)
{
	struct mdh *h = shost_priv(cmd->device->host);
	struct mdh_cmd *c = scsi_cmd_priv(cmd);

	spin_lock_irq(&h->lock);
	/*
	 * An overdue command stays with the worker, which completes it;
	 * scsi_done() does nothing for a command that has timed out.
	 */
	if (c->state != MDH_OVERDUE)
		mdh_forget(h, c);
	h->aborts++;
	spin_unlock_irq(&h->lock);
	mdh_settle(h);
	return SUCCESS;
}

static int mdh_reset(struct scsi_cmnd *cmd)
{
	struct mdh *h = shost_priv(cmd->device->host);
	struct mdh_cmd *c, *next;
	LIST_HEAD(gone);
	int i;

	spin_lock_irq(&h->lock);
	list_for_each_entry_safe(c, next, &h->hung, node) {
		mdh_forget(h, c);
		list_add_tail(&c->node, &gone);
	}
	for (i = 0; i < MDE_SLOTS; i++) {
		c = h->slot[i];
		if (!c)
			continue;
		mdh_forget(h, c);
		list_add_tail(&c->node, &gone);
	}
	h->resets++;
	spin_unlock_irq(&h->lock);
	mdh_settle(h);

	list_for_each_entry_safe(c, next, &gone, node) {
		c->cmd->result = DID_RESET << 16;
		scsi_done(c->cmd);
	}
	return SUCCESS;
}

/* Device and host. */

static int mdh_configure(MDK_CONFIGURE_ARGS)
{
	struct mdh *h = shost_priv(sdev->host);

	sdev->no_write_same = 1;
	/* Hardware errors are requeued, as sd does for real drives. */
	sdev->retry_hwerror = 1;
	blk_queue_rq_timeout(sdev->request_queue,
			     msecs_to_jiffies(h->cfg->timeout_ms));
	return 0;
}

/* Not const: 6.1 writes to it. */
static struct scsi_host_template mdh_template = {
	.module			= THIS_MODULE,
	.name			= "mechdisk",
	.proc_name		= "mechdisk",
	.queuecommand		= mdh_queuecommand,
	.eh_abort_handler	= mdh_abort,
	.eh_device_reset_handler = mdh_reset,
	.eh_bus_reset_handler	= mdh_reset,
	.eh_host_reset_handler	= mdh_reset,
	MDK_CONFIGURE		= mdh_configure,
	.change_queue_depth	= scsi_change_queue_depth,
	.this_id		= -1,
	.can_queue		= MDE_SLOTS,
	.cmd_per_lun		= MDE_SLOTS,
	.sg_tablesize		= SG_MAX_SEGMENTS,
	.cmd_size		= sizeof(struct mdh_cmd),
	.skip_settle_delay	= 1,
};

static void mdh_limits(struct Scsi_Host *shost, const struct mde_config *cfg)
{
	shost->max_id = 1;
	shost->max_lun = 1;
	shost->max_cmd_len = 16;
	shost->cmd_per_lun = cfg->queue_depth;
	shost->nr_hw_queues = cfg->hw_queues;
	/* The drive's 32 tags are shared by all hardware queues. */
	shost->host_tagset = cfg->hw_queues > 1;
	shost->max_sectors = cfg->max_sectors;
	shost->dma_boundary = cfg->seg_boundary - 1;
	shost->max_segment_size = cfg->max_segment_size;
}

static int mdh_start(struct mdh *h, struct device *parent)
{
	struct Scsi_Host *shost = h->shost;
	int ret;

	ret = scsi_add_host(shost, parent);
	if (ret)
		return ret;
	/* No reference kept: it would pin this module. */
	ret = scsi_add_device(shost, 0, 0, 0);
	if (ret) {
		scsi_remove_host(shost);
		return ret;
	}
	/* sd probes asynchronously; the caller wants a disk, not a promise. */
	wait_for_device_probe();
	return 0;
}

struct mdh *mdh_power_on(const struct mde_config *cfg,
			 const struct mdp_modes *saved, struct device *parent)
{
	struct Scsi_Host *shost;
	struct mdh *h;
	int ret;

	shost = scsi_host_alloc(&mdh_template, sizeof(*h));
	if (!shost)
		return ERR_PTR(-ENOMEM);
	h = shost_priv(shost);
	h->shost = shost;
	h->cfg = cfg;
	spin_lock_init(&h->lock);
	INIT_LIST_HEAD(&h->hung);
	mdx_init(&h->power, &h->lock);
	h->condition.used_ns = ktime_get_ns();
	mdk_timer_setup(&h->timer, mdh_timer);
	mdh_limits(shost, cfg);
	mde_init(&h->engine, cfg, ktime_get_ns());
	mdp_init(&h->pages, cfg, saved);
	mde_set_caching(&h->engine, ktime_get_ns(), &h->pages.now.caching);

	ret = mds_init(&h->store, cfg->journal_records);
	if (ret)
		goto put;
	h->worker = kthread_create_worker(0, "mechdisk/%u", shost->host_no);
	if (IS_ERR(h->worker)) {
		ret = PTR_ERR(h->worker);
		goto store;
	}
	sched_set_fifo(h->worker->task);
	ret = mdh_start(h, parent);
	if (ret)
		goto worker;
	return h;

worker:
	hrtimer_cancel(&h->timer);
	kthread_destroy_worker(h->worker);
store:
	mds_exit(&h->store);
put:
	scsi_host_put(shost);
	return ERR_PTR(ret);
}

void mdh_power_off(struct mdh *h, struct mdp_modes *saved)
{
	/* Waits for commands in flight; those that hang time out first. */
	scsi_remove_host(h->shost);
	hrtimer_cancel(&h->timer);
	kthread_destroy_worker(h->worker);
	*saved = h->pages.saved;
	mdx_exit(&h->power);
	mds_exit(&h->store);
	scsi_host_put(h->shost);
}

static int mdh_is_disk(struct device *dev, void *name)
{
	if (!dev->type || strcmp(dev->type->name ?: "", "disk"))
		return 0;
	strscpy(name, dev_name(dev), MDH_NAME);
	return 1;
}

void mdh_disk_name(struct mdh *h, char name[MDH_NAME])
{
	struct scsi_device *sdev;

	name[0] = '\0';
	shost_for_each_device(sdev, h->shost)
		device_for_each_child(&sdev->sdev_gendev, name, mdh_is_disk);
}

/* What commands want that the medium has no part in. */

void mdh_pages(struct mdh *h, struct mdp *pages)
{
	unsigned long flags;

	spin_lock_irqsave(&h->lock, flags);
	*pages = h->pages;
	spin_unlock_irqrestore(&h->lock, flags);
}

int mdh_mode_select(struct mdh *h, const u8 *cdb, const u8 *list, u32 len,
		    struct mdp_error *err)
{
	const struct mde_caching *now = &h->pages.now.caching;
	struct mde_caching before;
	unsigned long flags;
	int ret = -EINVAL;

	spin_lock_irqsave(&h->lock, flags);
	before = *now;
	if (mdp_select(&h->pages, cdb, list, len, err)) {
		/*
		 * Also if it had been off: a command that found the drive's
		 * queue full when it came to the flush is here once more.
		 */
		ret = !now->write_cache &&
			(before.write_cache ||
			 mdb_dirty_segments(&h->engine.cache));
		if (memcmp(&before, now, sizeof(before))) {
			mde_set_caching(&h->engine, mdx_now(&h->power), now);
			mdh_advance(h);
			mdh_arm(h);
		}
	}
	spin_unlock_irqrestore(&h->lock, flags);
	return ret;
}

void mdh_diag_set(struct mdh *h, const struct mdd_result *result)
{
	unsigned long flags;

	spin_lock_irqsave(&h->lock, flags);
	h->diag = *result;
	spin_unlock_irqrestore(&h->lock, flags);
}

void mdh_diag_get(struct mdh *h, struct mdd_result *result)
{
	unsigned long flags;

	spin_lock_irqsave(&h->lock, flags);
	*result = h->diag;
	spin_unlock_irqrestore(&h->lock, flags);
}

u8 mdh_condition(struct mdh *h)
{
	unsigned long flags;
	u8 ascq;

	spin_lock_irqsave(&h->lock, flags);
	ascq = mdo_ascq(&h->condition, h->cfg, ktime_get_ns());
	spin_unlock_irqrestore(&h->lock, flags);
	return ascq;
}

void mdh_start_stop(struct mdh *h, const u8 *cdb)
{
	unsigned long flags;

	spin_lock_irqsave(&h->lock, flags);
	mdo_start_stop(&h->condition, cdb, ktime_get_ns());
	spin_unlock_irqrestore(&h->lock, flags);
}

/* What the control files want. */

struct mds *mdh_store(struct mdh *h)
{
	return &h->store;
}

int mdh_cut(struct mdh *h, u64 us)
{
	int ret = mdx_plan(&h->power, ktime_get_ns() + us * NSEC_PER_USEC);

	if (ret)
		return ret;
	spin_lock_irq(&h->lock);
	mde_watch(&h->engine, mdx_pass, &h->power);
	spin_unlock_irq(&h->lock);
	return 0;
}

u64 mdh_cut_ns(struct mdh *h, bool *dead, u64 *overflow)
{
	u64 ns;

	spin_lock_irq(&h->lock);
	ns = h->power.cut_ns;
	*dead = mdx_is_dead(&h->power);
	*overflow = h->power.overflow;
	spin_unlock_irq(&h->lock);
	return ns;
}

ssize_t mdh_cut_log(struct mdh *h, loff_t pos, void *buf, size_t len)
{
	bool dead;

	/* What was under way then: after that the log does not change. */
	kthread_flush_worker(h->worker);
	spin_lock_irq(&h->lock);
	if (mdx_is_dead(&h->power))
		mdh_advance(h);
	dead = mdx_is_dead(&h->power);
	spin_unlock_irq(&h->lock);
	if (!dead)
		return -EBUSY;
	kthread_flush_worker(h->worker);
	return memory_read_from_buffer(buf, len, &pos, h->power.log, h->power.used);
}

void mdh_inject(struct mdh *h, enum mdh_fault fault, u32 count)
{
	spin_lock_irq(&h->lock);
	h->fault[fault] = count;
	spin_unlock_irq(&h->lock);
}

void mdh_faults_left(struct mdh *h, u32 left[MDH_FAULTS])
{
	spin_lock_irq(&h->lock);
	memcpy(left, h->fault, sizeof(h->fault));
	spin_unlock_irq(&h->lock);
}

int mdh_bad_add(struct mdh *h, const struct mde_bad *bad)
{
	int ret;

	spin_lock_irq(&h->lock);
	ret = mde_bad_add(&h->engine, bad);
	spin_unlock_irq(&h->lock);
	return ret;
}

void mdh_bad_clear(struct mdh *h)
{
	spin_lock_irq(&h->lock);
	mde_bad_clear(&h->engine);
	spin_unlock_irq(&h->lock);
}

u32 mdh_bad_get(struct mdh *h, struct mde_bad *bad)
{
	u32 n;

	spin_lock_irq(&h->lock);
	n = h->engine.bads;
	memcpy(bad, h->engine.bad, n * sizeof(*bad));
	spin_unlock_irq(&h->lock);
	return n;
}

void mdh_reset_stats(struct mdh *h)
{
	spin_lock_irq(&h->lock);
	mde_stats_reset(&h->engine);
	h->commands = 0;
	h->late_max = 0;
	h->late_sum = 0;
	h->late_over = 0;
	h->store_failures = 0;
	h->aborts = 0;
	h->resets = 0;
	spin_unlock_irq(&h->lock);
	mds_journal_clear(&h->store);
}

static u32 mdh_count_hung(const struct mdh *h)
{
	const struct mdh_cmd *c;
	u32 n = 0;

	lockdep_assert_held(&h->lock);
	list_for_each_entry(c, &h->hung, node)
		n++;
	return n;
}

ssize_t mdh_show_stats(struct mdh *h, char *page)
{
	struct mde_stats s;
	u64 commands, late_max, late_sum, late_over, failures, aborts, resets;
	u64 used, overflow, wakes;
	u32 outstanding, hung;

	spin_lock_irq(&h->lock);
	s = h->engine.stats;
	outstanding = h->engine.outstanding;
	commands = h->commands;
	late_max = h->late_max;
	late_sum = h->late_sum;
	late_over = h->late_over;
	failures = h->store_failures;
	aborts = h->aborts;
	resets = h->resets;
	wakes = h->condition.wakes;
	hung = mdh_count_hung(h);
	spin_unlock_irq(&h->lock);
	mds_journal_state(&h->store, &used, &overflow);

	return sysfs_emit(page,
		"commands %llu\nreads %llu\nfua_reads %llu\nwrites %llu\nverifies %llu\n"
		"flushes %llu\n"
		"sectors_read %llu\nsectors_written %llu\n"
		"sectors_verified %llu\noutstanding %u\n"
		"max_outstanding %llu\nbusy_ns %llu\nread_busy_ns %llu\nseek_ns %llu\n"
		"rotate_ns %llu\ntransfer_ns %llu\nseeks %llu\n"
		"head_switches %llu\nextra_turns %llu\nmedium_errors %llu\n"
		"read_hits %llu\npartial_hits %llu\ncached_writes %llu\n"
		"destages %llu\ninternals %llu\n"
		"late_max_ns %llu\nlate_mean_ns %llu\nlate_over_10us %llu\n"
		"journal_records %llu\njournal_overflow %llu\n"
		"store_failures %llu\naborts %llu\nresets %llu\n"
		"hung %u\nwakes %llu\n",
		commands, s.reads, s.fua_reads, s.writes, s.verifies, s.flushes,
		s.sectors_read,
		s.sectors_written, s.sectors_verified, outstanding,
		s.max_outstanding, s.busy_ps / 1000, s.read_busy_ps / 1000, s.seek_ps / 1000,
		s.rotate_ps / 1000, s.transfer_ps / 1000, s.seeks,
		s.head_switches, s.extra_turns, s.medium_errors, s.read_hits,
		s.partial_hits, s.cached_writes, s.destages, s.internals,
		late_max,
		commands ? late_sum / commands : 0, late_over, used, overflow,
		failures, aborts, resets, hung, wakes);
}

static int __init mechdisk_init(void)
{
	return mdc_init();
}

static void __exit mechdisk_exit(void)
{
	mdc_exit();
}

module_init(mechdisk_init);
module_exit(mechdisk_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Simulated SCSI disk drive with mechanics");
