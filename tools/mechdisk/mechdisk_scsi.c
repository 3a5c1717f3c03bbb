// SPDX-License-Identifier: GPL-2.0
/*
 * The simulated drive as a SCSI low-level driver.
 *
 * Locks
 *   mdh_hosts_lock (mutex): mdh_hosts, and which targets of a host are taken.
 *   mdh_host.lock (mutex): target[] is written with it; held over a reset of all drives.
 *   md_run.lock (mechdisk_run.c): it protects mdh.scsi, too.
 *   Commands look target[] up without a lock: mdh_detach() waits for them.
 */
#include <linux/mutex.h>
#include <linux/slab.h>
#include <scsi/scsi.h>
#include <scsi/scsi_dbg.h>
#include <scsi/scsi_device.h>
#include <scsi/scsi_eh.h>
#include <scsi/scsi_host.h>
#include <scsi/scsi_tcq.h>

#include "mechdisk_compat.h"
#include "mechdisk_reply.h"
#include "mechdisk_run.h"

/* Our part of a scsi_cmnd */
struct mdh_cmd {
	struct md_cmd c;	/* the command */
	struct scsi_cmnd *cmd;	/* that scsi_cmnd */
	/* a command that the medium has no part in: too large for the stack */
	u8 list[MDY_LIST];
	struct mdy_answer answer;
};

struct mdh_host;

/* A powered-on SCSI drive */
struct mdh {
	struct md_run run;	/* the drive */
	struct mdh_host *host;	/* its host */
	struct mdy scsi;	/* what its commands leave behind */
};

/* Drives of one host. */
#define MDH_TARGETS	8

/* A host */
struct mdh_host {
	struct Scsi_Host *shost;	/* the kernel's part of it */
	struct list_head node;	/* in mdh_hosts if it is shared */
	u64 number;	/* shared by all drives with this one */
	unsigned long taken;	/* bits of the targets that are in use */
	struct mutex lock;	/* of @target */
	struct mdh *target[MDH_TARGETS];	/* the drives */
};

static DEFINE_MUTEX(mdh_hosts_lock);
static LIST_HEAD(mdh_hosts);

static struct mdh *mdh_of(struct md_run *r)
{
	return container_of(r, struct mdh, run);
}

/* NULL: no drive there. */
static struct mdh *mdh_of_device(const struct scsi_device *sdev)
{
	struct mdh_host *host = shost_priv(sdev->host);

	return READ_ONCE(host->target[sdev->id]);
}

static struct scsi_cmnd *mdh_scsi(struct md_cmd *c)
{
	return container_of(c, struct mdh_cmd, c)->cmd;
}

/* Data, moved by the worker. */

static void mdh_write(struct md_run *r, struct md_cmd *c, struct scsi_cmnd *cmd)
{
	if (md_run_write(r, c, scsi_sglist(cmd), scsi_sg_count(cmd))) {
		/* "No defect spare location available" comes closest. */
		scsi_build_sense(cmd, 0, HARDWARE_ERROR, 0x32, 0);
		scsi_set_resid(cmd, scsi_bufflen(cmd));
		return;
	}
	if (!c->range.same && !c->range.gone)
		scsi_set_resid(cmd, scsi_bufflen(cmd) - c->range.count * r->cfg->sector_bytes);
}

static void mdh_move(struct md_run *r, struct md_cmd *c)
{
	struct scsi_cmnd *cmd = mdh_scsi(c);
	u64 bytes = c->good * r->cfg->sector_bytes;

	cmd->result = SAM_STAT_GOOD;
	if (c->hw_error) {
		/* "Internal target failure": nothing was transferred. */
		scsi_build_sense(cmd, 0, HARDWARE_ERROR, 0x44, 0);
		scsi_set_resid(cmd, scsi_bufflen(cmd));
		return;
	}
	if (c->range.op == MDE_WRITE || c->range.gone)
		return mdh_write(r, c, cmd);
	if (c->range.op == MDE_READ) {
		md_run_read(r, c, scsi_sglist(cmd), scsi_sg_count(cmd), bytes);
		scsi_set_resid(cmd, scsi_bufflen(cmd) - bytes);
	}
	if (!c->asc)
		return;
	cmd->result = SAM_STAT_CHECK_CONDITION;
	mdy_bad_sector(cmd->sense_buffer, c->error, c->asc, c->info, c->range.lbn + c->good);
}

static void mdh_done(struct md_run *r, struct md_cmd *c)
{
	scsi_done(mdh_scsi(c));
}

/* Commands. */

/* Mishaps before the drive has even looked; true if the command has met one. */
static bool mdh_mishap(struct mdh *h, struct md_cmd *c, int *ret)
{
	struct scsi_cmnd *cmd = mdh_scsi(c);

	if (c->range.op == MDE_FLUSH)
		return false;
	*ret = 0;
	if (md_run_fault(&h->run, MD_DEVICE_BUSY)) {
		*ret = SCSI_MLQUEUE_DEVICE_BUSY;
	} else if (md_run_fault(&h->run, MD_HOST_BUSY)) {
		*ret = SCSI_MLQUEUE_HOST_BUSY;
	} else if (md_run_fault(&h->run, MD_FULL)) {
		cmd->result = SAM_STAT_TASK_SET_FULL;
		c->range.at_once = true;
	} else if (md_run_fault(&h->run, MD_ATTENTION)) {
		/* "Power on, reset, or bus device reset occurred". */
		scsi_build_sense(cmd, 0, UNIT_ATTENTION, 0x29, 0);
		scsi_set_resid(cmd, scsi_bufflen(cmd));
		c->range.at_once = true;
	} else {
		return false;
	}
	return true;
}

/* A VERIFY that looks at nothing: true if this drive's does. */
static bool mdh_pretends(struct mdh *h, struct md_cmd *c)
{
	struct scsi_cmnd *cmd = mdh_scsi(c);
	u64 how = h->run.cfg->verify;

	if (c->range.op != MDE_VERIFY || (how != MDE_VERIFY_NOTHING && how != MDE_VERIFY_FAILS))
		return false;
	if (how == MDE_VERIFY_FAILS)
		scsi_build_sense(cmd, 0, ABORTED_COMMAND, 0x44, 0);
	else
		cmd->result = SAM_STAT_GOOD;
	c->range.at_once = true;
	return true;
}

static int mdh_submit(struct mdh *h, struct md_cmd *c)
{
	int ret;

	lockdep_assert_held(&h->run.lock);
	if (mdh_mishap(h, c, &ret))
		return ret;
	if (mdh_pretends(h, c))
		return 0;
	if (c->range.op == MDE_FLUSH)
		mdh_scsi(c)->result = SAM_STAT_GOOD;
	if (md_run_submit(&h->run, c))
		return SCSI_MLQUEUE_DEVICE_BUSY;
	if (c->range.op != MDE_FLUSH)
		h->run.counts.wakes += mdy_wakes(&h->scsi, ktime_get_ns());
	return 0;
}

/*
 * Whether a command's data go the way it wants; else it fails as by an adapter.
 * Buffers of the other direction may be pages that must not be written to.
 */
static bool mdh_way(struct scsi_cmnd *cmd, enum dma_data_direction way)
{
	if (!scsi_bufflen(cmd) || cmd->sc_data_direction == way)
		return true;
	scsi_set_resid(cmd, scsi_bufflen(cmd));
	cmd->result = DID_ERROR << 16;
	return false;
}

/* True if a command that wants sectors can have them. */
static bool mdh_can(struct scsi_cmnd *cmd, const struct mde_range *range)
{
	switch (range->op) {
	case MDE_READ:
		return mdh_way(cmd, DMA_FROM_DEVICE);
	case MDE_WRITE:
		return mdh_way(cmd, DMA_TO_DEVICE);
	default:
		return true;
	}
}

/* A command that the medium has had no part in. */
static void mdh_answer(struct scsi_cmnd *cmd, const struct mdy_answer *a)
{
	if (a->len && !mdh_way(cmd, DMA_FROM_DEVICE))
		return;
	cmd->result = a->sense_len ? SAM_STAT_CHECK_CONDITION : SAM_STAT_GOOD;
	memcpy(cmd->sense_buffer, a->sense, a->sense_len);
	if (cmd->sc_data_direction == DMA_FROM_DEVICE)
		scsi_set_resid(cmd, scsi_bufflen(cmd) -
			       scsi_sg_copy_from_buffer(cmd, (void *)a->page, a->len));
}

/* True if it is one for the engine; else it has been carried out or refused. */
static bool mdh_decode(struct mdh *h, struct scsi_cmnd *cmd, struct mde_range *range)
{
	const struct mde_caching *now = &h->scsi.pages.now.caching;
	u32 len = mdy_list_len(cmd->cmnd);
	struct mde_caching before;
	struct mdy_command c = { .cdb = cmd->cmnd, .bytes = scsi_bufflen(cmd) };
	struct mdh_cmd *priv = scsi_cmd_priv(cmd);
	struct mdy_answer *a = &priv->answer;
	unsigned long flags;
	bool wants;

	if (len && !mdh_way(cmd, DMA_TO_DEVICE))
		return false;
	if (len)
		c.bytes = scsi_sg_copy_to_buffer(cmd, priv->list, min_t(u32, len, MDY_LIST));
	c.list = priv->list;
	spin_lock_irqsave(&h->run.lock, flags);
	c.now_ns = ktime_get_ns();
	c.dirty = mdb_dirty_segments(&h->run.engine.cache);
	before = *now;
	wants = mdy_command(&h->scsi, &c, a);
	if (memcmp(&before, now, sizeof(before)))
		md_run_set_caching(&h->run, now);
	spin_unlock_irqrestore(&h->run.lock, flags);
	*range = a->range;
	if (wants)
		return mdh_can(cmd, range);
	mdh_answer(cmd, a);
	return false;
}

static MDK_QC_STATUS mdh_queuecommand(struct Scsi_Host *shost,
				      struct scsi_cmnd *cmd)
{
	struct mdh *h = mdh_of_device(cmd->device);
	struct mdh_cmd *priv = scsi_cmd_priv(cmd);
	struct md_cmd *c = &priv->c;
	unsigned long flags;
	bool at_once, dead;
	int ret;

	if (!h) {
		cmd->result = DID_BAD_TARGET << 16;
		scsi_done(cmd);
		return 0;
	}
	priv->cmd = cmd;
	md_run_cmd_init(&h->run, c);
	spin_lock_irqsave(&h->run.lock, flags);
	dead = mdx_is_dead(&h->run.power);
	if (dead)
		md_run_swallow(&h->run, c);
	spin_unlock_irqrestore(&h->run.lock, flags);
	if (dead)
		return 0;
	if (!mdh_decode(h, cmd, &c->range)) {
		scsi_done(cmd);
		return 0;
	}
	spin_lock_irqsave(&h->run.lock, flags);
	ret = mdh_submit(h, c);
	at_once = !ret && c->range.at_once;
	spin_unlock_irqrestore(&h->run.lock, flags);
	if (at_once)
		scsi_done(cmd);
	return ret;
}

/* Error handling: process context, no new commands for this command's device. */

static int mdh_abort(struct scsi_cmnd *cmd)
{
	struct mdh *h = mdh_of_device(cmd->device);
	struct mdh_cmd *priv = scsi_cmd_priv(cmd);
	bool deaf;

	spin_lock_irq(&h->run.lock);
	deaf = md_run_fault(&h->run, MD_DEAF);
	h->run.counts.aborts++;
	if (deaf) {
		spin_unlock_irq(&h->run.lock);
		return FAILED;
	}
	/* scsi_done() does nothing for a command that has timed out. */
	md_run_forget(&h->run, &priv->c);
	spin_unlock_irq(&h->run.lock);
	md_run_settle(&h->run);
	return SUCCESS;
}

static void mdh_reset(struct mdh *h)
{
	struct md_cmd *c, *next;
	LIST_HEAD(gone);

	spin_lock_irq(&h->run.lock);
	md_run_forget_all(&h->run, &gone);
	h->run.counts.resets++;
	spin_unlock_irq(&h->run.lock);
	md_run_settle(&h->run);

	list_for_each_entry_safe(c, next, &gone, node) {
		mdh_scsi(c)->result = DID_RESET << 16;
		scsi_done(mdh_scsi(c));
	}
}

/* Whether a reset is one that fails. */
static bool mdh_is_stubborn(struct mdh *h)
{
	bool fails;

	spin_lock_irq(&h->run.lock);
	fails = md_run_fault(&h->run, MD_STUBBORN);
	spin_unlock_irq(&h->run.lock);
	return fails;
}

static int mdh_device_reset(struct scsi_cmnd *cmd)
{
	struct mdh *h = mdh_of_device(cmd->device);

	if (mdh_is_stubborn(h))
		return FAILED;
	mdh_reset(h);
	return SUCCESS;
}

static int mdh_host_reset(struct scsi_cmnd *cmd)
{
	struct mdh_host *host = shost_priv(cmd->device->host);
	int i;

	mutex_lock(&host->lock);
	for (i = 0; i < MDH_TARGETS; i++)
		if (host->target[i])
			mdh_reset(host->target[i]);
	mutex_unlock(&host->lock);
	return SUCCESS;
}

static int mdh_bus_reset(struct scsi_cmnd *cmd)
{
	return mdh_is_stubborn(mdh_of_device(cmd->device)) ? FAILED : mdh_host_reset(cmd);
}

/* Device and host. */

static int mdh_configure(MDK_CONFIGURE_ARGS)
{
	struct mdh *h = mdh_of_device(sdev);

	if (!h)
		return -ENXIO;
	sdev->no_write_same = !h->run.cfg->unmap;
	/* Hardware errors are requeued, as sd does for real drives. */
	sdev->retry_hwerror = 1;
	blk_queue_rq_timeout(sdev->request_queue,
			     msecs_to_jiffies(h->run.cfg->timeout_ms));
	scsi_change_queue_depth(sdev, h->run.cfg->queue_depth);
	return 0;
}

/* Not const: 6.1 writes to it. */
static struct scsi_host_template mdh_template = {
	.module			= THIS_MODULE,
	.name			= "mechdisk",
	.proc_name		= "mechdisk",
	.queuecommand		= mdh_queuecommand,
	.eh_abort_handler	= mdh_abort,
	.eh_device_reset_handler = mdh_device_reset,
	.eh_bus_reset_handler	= mdh_bus_reset,
	.eh_host_reset_handler	= mdh_host_reset,
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
	if (cfg->shared_host)
		shost->can_queue *= MDH_TARGETS;
	shost->max_id = cfg->shared_host ? MDH_TARGETS : 1;
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

static struct mdh_host *mdh_host_new(const struct mde_config *cfg, struct device *parent)
{
	struct Scsi_Host *shost = scsi_host_alloc(&mdh_template, sizeof(struct mdh_host));
	struct mdh_host *host;
	int ret;

	if (!shost)
		return ERR_PTR(-ENOMEM);
	host = shost_priv(shost);
	host->shost = shost;
	host->number = cfg->shared_host;
	INIT_LIST_HEAD(&host->node);
	mutex_init(&host->lock);
	mdh_limits(shost, cfg);
	ret = scsi_add_host(shost, parent);
	if (!ret)
		return host;
	scsi_host_put(shost);
	return ERR_PTR(ret);
}

/* The drives' common one, if there is any yet. */
static struct mdh_host *mdh_host_find(u64 number)
{
	struct mdh_host *host;

	lockdep_assert_held(&mdh_hosts_lock);
	list_for_each_entry(host, &mdh_hosts, node)
		if (host->number == number)
			return host;
	return NULL;
}

/* A host with a target for the drive. */
static int mdh_host_get(struct mdh *h, const struct mde_config *cfg, struct device *parent)
{
	struct mdh_host *host;
	int ret = 0;

	mutex_lock(&mdh_hosts_lock);
	host = mdh_host_find(cfg->shared_host);
	if (!host) {
		host = mdh_host_new(cfg, parent);
		if (!IS_ERR(host) && cfg->shared_host)
			list_add_tail(&host->node, &mdh_hosts);
	}
	if (IS_ERR(host)) {
		ret = PTR_ERR(host);
	} else if (host->taken == BIT(MDH_TARGETS) - 1) {
		ret = -ENOSPC;
	} else {
		h->host = host;
		h->run.id = ffz(host->taken);
		__set_bit(h->run.id, &host->taken);
	}
	mutex_unlock(&mdh_hosts_lock);
	return ret;
}

/* It goes with its last drive. */
static void mdh_host_put(struct mdh_host *host, unsigned int id)
{
	bool last;

	mutex_lock(&mdh_hosts_lock);
	__clear_bit(id, &host->taken);
	last = !host->taken;
	if (last)
		list_del_init(&host->node);
	mutex_unlock(&mdh_hosts_lock);
	if (!last)
		return;
	scsi_remove_host(host->shost);
	scsi_host_put(host->shost);
}

/* Waits for commands in flight; those that hang time out first. */
static void mdh_remove_device(struct mdh *h)
{
	struct Scsi_Host *shost = h->host->shost;
	struct scsi_device *sdev;
	unsigned long flags;

	/* scsi_device_get() fails while this module is being unloaded. */
	spin_lock_irqsave(shost->host_lock, flags);
	sdev = __scsi_device_lookup(shost, 0, h->run.id, 0);
	if (sdev)
		get_device(&sdev->sdev_gendev);
	spin_unlock_irqrestore(shost->host_lock, flags);
	if (!sdev)
		return;
	scsi_remove_device(sdev);
	put_device(&sdev->sdev_gendev);
}

static void mdh_publish(struct mdh *h, struct mdh *drive)
{
	mutex_lock(&h->host->lock);
	WRITE_ONCE(h->host->target[h->run.id], drive);
	mutex_unlock(&h->host->lock);
}

/* From now on no command comes for the drive. */
static void mdh_detach(struct mdh *h)
{
	/* While the drive is there: it is asked to flush. */
	mdh_remove_device(h);
	mdh_publish(h, NULL);
	/* A scan of the host may have found it once more before that. */
	mutex_lock(&h->host->shost->scan_mutex);
	mutex_unlock(&h->host->shost->scan_mutex);
	mdh_remove_device(h);
}

/* Add the disk. */
static int mdh_attach(struct mdh *h)
{
	int ret;

	mdh_publish(h, h);
	/* No reference kept: it would pin this module. */
	ret = scsi_add_device(h->host->shost, 0, h->run.id, 0);
	if (ret) {
		mdh_detach(h);
		return ret;
	}
	/* sd probes asynchronously; the caller wants a disk, not a promise. */
	wait_for_device_probe();
	return 0;
}

static int mdh_start(struct mdh *h, const struct mde_config *cfg, struct device *parent)
{
	int ret = mdh_host_get(h, cfg, parent);

	if (ret)
		return ret;
	ret = md_run_init(&h->run, &mdh_port, cfg, h->host->shost->host_no);
	if (ret)
		goto put;
	mde_set_caching(&h->run.engine, ktime_get_ns(), &h->scsi.pages.now.caching);
	ret = mdh_attach(h);
	if (!ret)
		return 0;
	md_run_exit(&h->run);
put:
	mdh_host_put(h->host, h->run.id);
	return ret;
}

static struct md_run *mdh_power_on(const struct mde_config *cfg,
				   const struct mdp_modes *saved, struct device *parent)
{
	struct mdh *h = kzalloc(sizeof(*h), GFP_KERNEL);
	int ret;

	if (!h)
		return ERR_PTR(-ENOMEM);
	mdy_init(&h->scsi, cfg, saved, ktime_get_ns());
	ret = mdh_start(h, cfg, parent);
	if (!ret)
		return &h->run;
	kfree(h);
	return ERR_PTR(ret);
}

static void mdh_power_off(struct md_run *r, struct mdp_modes *saved)
{
	struct mdh *h = mdh_of(r);

	mdh_detach(h);
	*saved = h->scsi.pages.saved;
	md_run_exit(r);
	mdh_host_put(h->host, r->id);
	kfree(h);
}

static struct Scsi_Host *mdh_host(struct md_run *r)
{
	return mdh_of(r)->host->shost;
}

const struct md_port mdh_port = {
	.name = "scsi",
	.faults = BIT(MD_FAULTS) - 1,
	.power_on = mdh_power_on,
	.power_off = mdh_power_off,
	.host = mdh_host,
	.move = mdh_move,
	.done = mdh_done,
};
