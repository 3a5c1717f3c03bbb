// SPDX-License-Identifier: GPL-2.0
/*
 * The simulated drive as a SCSI low-level driver.
 *
 * Locks: md_run.lock (mechdisk_run.c), which protects pages, diag and condition, too.
 */
#include <scsi/scsi.h>
#include <scsi/scsi_dbg.h>
#include <scsi/scsi_device.h>
#include <scsi/scsi_eh.h>
#include <scsi/scsi_host.h>
#include <scsi/scsi_tcq.h>

#include "mechdisk.h"
#include "mechdisk_compat.h"

/**
 * struct mdh_cmd - our part of a scsi_cmnd
 * @c: the command
 * @cmd: that scsi_cmnd
 */
struct mdh_cmd {
	struct md_cmd c;
	struct scsi_cmnd *cmd;
};

/**
 * struct mdh - a powered-on SCSI drive
 * @run: the drive
 * @shost: its host
 * @pages: mode pages
 * @diag: result of the last SEND DIAGNOSTIC
 * @condition: whether it spins
 */
struct mdh {
	struct md_run run;
	struct Scsi_Host *shost;
	struct mdp pages;
	struct mdd_result diag;
	struct mdo condition;
};

static struct mdh *mdh_of(struct md_run *r)
{
	return container_of(r, struct mdh, run);
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

/* Sense data of an unreadable sector. */
static void mdh_medium_error(struct md_cmd *c, struct scsi_cmnd *cmd)
{
	u64 bad = c->range.lbn + c->good;
	/* Fixed format has no room for a large LBN. */
	int desc = bad > U32_MAX;

	if (c->error == MDE_ABRT)
		scsi_build_sense(cmd, desc, ABORTED_COMMAND, 0, 0);
	else if (c->error == MDE_IDNF)
		/* "Record not found". */
		scsi_build_sense(cmd, desc, MEDIUM_ERROR, 0x14, 0x01);
	else
		scsi_build_sense(cmd, desc, MEDIUM_ERROR, c->asc, 0);
	if (c->info)
		scsi_set_sense_information(cmd->sense_buffer,
					   SCSI_SENSE_BUFFERSIZE, bad);
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
	if (c->asc)
		mdh_medium_error(c, cmd);
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
		h->run.wakes += mdo_use(&h->condition, h->run.cfg, ktime_get_ns());
	return 0;
}

static MDK_QC_STATUS mdh_queuecommand(struct Scsi_Host *shost,
				      struct scsi_cmnd *cmd)
{
	struct mdh *h = shost_priv(shost);
	struct mdh_cmd *priv = scsi_cmd_priv(cmd);
	struct md_cmd *c = &priv->c;
	struct mdy_range range = { 0 };
	unsigned long flags;
	bool at_once, dead;
	int ret;

	priv->cmd = cmd;
	md_run_cmd_init(&h->run, c);
	spin_lock_irqsave(&h->run.lock, flags);
	dead = mdx_is_dead(&h->run.power);
	if (dead)
		md_run_swallow(&h->run, c);
	spin_unlock_irqrestore(&h->run.lock, flags);
	if (dead)
		return 0;
	if (!mdr_decode(h, h->run.cfg, cmd, &range)) {
		scsi_done(cmd);
		return 0;
	}
	c->range = range;

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
	struct mdh *h = shost_priv(cmd->device->host);
	struct mdh_cmd *priv = scsi_cmd_priv(cmd);
	bool deaf;

	spin_lock_irq(&h->run.lock);
	deaf = md_run_fault(&h->run, MD_DEAF);
	h->run.aborts++;
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

static int mdh_reset(struct scsi_cmnd *cmd)
{
	struct mdh *h = shost_priv(cmd->device->host);
	struct md_cmd *c, *next;
	LIST_HEAD(gone);

	spin_lock_irq(&h->run.lock);
	md_run_forget_all(&h->run, &gone);
	h->run.resets++;
	spin_unlock_irq(&h->run.lock);
	md_run_settle(&h->run);

	list_for_each_entry_safe(c, next, &gone, node) {
		mdh_scsi(c)->result = DID_RESET << 16;
		scsi_done(mdh_scsi(c));
	}
	return SUCCESS;
}

/* Device and host. */

static int mdh_configure(MDK_CONFIGURE_ARGS)
{
	struct mdh *h = shost_priv(sdev->host);

	sdev->no_write_same = !h->run.cfg->unmap;
	/* Hardware errors are requeued, as sd does for real drives. */
	sdev->retry_hwerror = 1;
	blk_queue_rq_timeout(sdev->request_queue,
			     msecs_to_jiffies(h->run.cfg->timeout_ms));
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

static struct md_run *mdh_power_on(const struct mde_config *cfg,
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
	mdh_limits(shost, cfg);
	mdp_init(&h->pages, cfg, saved);
	h->condition.used_ns = ktime_get_ns();
	ret = md_run_init(&h->run, &mdh_port, cfg, shost->host_no);
	if (ret)
		goto put;
	mde_set_caching(&h->run.engine, ktime_get_ns(), &h->pages.now.caching);
	ret = mdh_start(h, parent);
	if (ret)
		goto exit;
	return &h->run;

exit:
	md_run_exit(&h->run);
put:
	scsi_host_put(shost);
	return ERR_PTR(ret);
}

static void mdh_power_off(struct md_run *r, struct mdp_modes *saved)
{
	struct mdh *h = mdh_of(r);

	/* Waits for commands in flight; those that hang time out first. */
	scsi_remove_host(h->shost);
	*saved = h->pages.saved;
	md_run_exit(r);
	scsi_host_put(h->shost);
}

static struct Scsi_Host *mdh_host(struct md_run *r)
{
	return mdh_of(r)->shost;
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

/* What commands want that the medium has no part in. */

void mdh_pages(struct mdh *h, struct mdp *pages)
{
	unsigned long flags;

	spin_lock_irqsave(&h->run.lock, flags);
	*pages = h->pages;
	spin_unlock_irqrestore(&h->run.lock, flags);
}

int mdh_mode_select(struct mdh *h, const u8 *cdb, const u8 *list, u32 len,
		    struct mdp_error *err)
{
	const struct mde_caching *now = &h->pages.now.caching;
	struct mde_caching before;
	unsigned long flags;
	int ret = -EINVAL;

	spin_lock_irqsave(&h->run.lock, flags);
	before = *now;
	if (mdp_select(&h->pages, cdb, list, len, err)) {
		/*
		 * Also if it had been off: a command that found the drive's
		 * queue full when it came to the flush is here once more.
		 */
		ret = !now->write_cache &&
			(before.write_cache ||
			 mdb_dirty_segments(&h->run.engine.cache));
		if (memcmp(&before, now, sizeof(before)))
			md_run_set_caching(&h->run, now);
	}
	spin_unlock_irqrestore(&h->run.lock, flags);
	return ret;
}

enum mds_kind mdh_pass(struct mdh *h, const u8 *cdb, struct mds_answer *a)
{
	struct mde_caching *now = &h->pages.now.caching;
	struct mde_caching before;
	enum mds_kind kind;
	unsigned long flags;

	spin_lock_irqsave(&h->run.lock, flags);
	before = *now;
	kind = mds_pass(h->run.cfg, now, cdb, a);
	if (memcmp(&before, now, sizeof(before)))
		md_run_set_caching(&h->run, now);
	spin_unlock_irqrestore(&h->run.lock, flags);
	return kind;
}

void mdh_diag_set(struct mdh *h, const struct mdd_result *result)
{
	unsigned long flags;

	spin_lock_irqsave(&h->run.lock, flags);
	h->diag = *result;
	spin_unlock_irqrestore(&h->run.lock, flags);
}

void mdh_diag_get(struct mdh *h, struct mdd_result *result)
{
	unsigned long flags;

	spin_lock_irqsave(&h->run.lock, flags);
	*result = h->diag;
	spin_unlock_irqrestore(&h->run.lock, flags);
}

u8 mdh_condition(struct mdh *h)
{
	unsigned long flags;
	u8 ascq;

	spin_lock_irqsave(&h->run.lock, flags);
	ascq = mdo_ascq(&h->condition, h->run.cfg, ktime_get_ns());
	spin_unlock_irqrestore(&h->run.lock, flags);
	return ascq;
}

void mdh_start_stop(struct mdh *h, const u8 *cdb)
{
	unsigned long flags;

	spin_lock_irqsave(&h->run.lock, flags);
	mdo_start_stop(&h->condition, cdb, ktime_get_ns());
	spin_unlock_irqrestore(&h->run.lock, flags);
}
