// SPDX-License-Identifier: GPL-2.0
/*
 * The simulated drive as a SATA one: a libata port without a controller.
 *
 * What is above the port is the kernel's: translation of SCSI commands, NCQ tags,
 * error handler.  A command that fails while others are queued beside it ends them
 * all, and the kernel asks the drive which one it was, as with real drives.
 *
 * Locks
 *   ata_port.lock (spinlock, libata's): the kernel calls most of this with it.
 *   md_run.lock (mechdisk_run.c): inside it; protects tf, scontrol and the link's state, too.
 */
#include <linux/dma-mapping.h>
#include <linux/libata.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/slab.h>

#include "mechdisk_compat.h"
#include "mechdisk_ctl.h"
#include "mechdisk_taskfile.h"

/* SStatus: device there, link active; and its generation. */
#define MD_ATA_ONLINE	0x103
#define MD_ATA_SPEED	3

/* Without a command for so long, a link that may sleep does. */
#define MD_ATA_LINK_NS	(100 * NSEC_PER_USEC)

/* A command */
struct md_ata_cmd {
	struct md_cmd c;	/* what ports have in common */
	struct ata_queued_cmd *qc;	/* the kernel's part of it */
	unsigned int tag;	/* its tag */
	enum md_tf_kind kind;	/* what is to be done for it */
	struct md_tf_regs regs;	/* its registers */
	struct md_tf_result result;	/* those it ends with */
};

/* A powered-on SATA drive */
struct md_ata {
	struct md_run run;	/* the drive */
	struct platform_device *pdev;	/* the port's device */
	struct ata_host *host;	/* libata's */
	struct md_tf tf;	/* what the drive answers */
	u32 scontrol;	/* SControl register */
	bool link_sleeps;	/* the host lets the link sleep */
	u64 used_ns;	/* when the link was last in use */
	/* commands by tag, the error handler's own last */
	struct md_ata_cmd cmd[ATA_MAX_QUEUE + 1];
};

static struct md_ata *md_ata_of(struct md_run *r)
{
	return container_of(r, struct md_ata, run);
}

static struct md_ata *md_ata_of_port(struct ata_port *ap)
{
	return ap->host->private_data;
}

static struct md_ata_cmd *md_ata_cmd_of(struct md_cmd *c)
{
	return container_of(c, struct md_ata_cmd, c);
}

/* Registers. */

static void md_ata_read_regs(const struct ata_taskfile *tf, struct md_tf_regs *r)
{
	r->command = tf->command;
	r->device = tf->device;
	r->feature = tf->feature | tf->hob_feature << 8;
	r->count = tf->nsect | tf->hob_nsect << 8;
	r->lba = tf->lbal | tf->lbam << 8 | tf->lbah << 16 | (u64)tf->hob_lbal << 24 |
		(u64)tf->hob_lbam << 32 | (u64)tf->hob_lbah << 40;
}

static void md_ata_write_regs(const struct md_tf_result *r, struct ata_taskfile *tf)
{
	tf->status = r->status;
	tf->error = r->error;
	tf->device = r->device;
	tf->nsect = r->count;
	tf->hob_nsect = r->count >> 8;
	tf->lbal = r->lba;
	tf->lbam = r->lba >> 8;
	tf->lbah = r->lba >> 16;
	tf->hob_lbal = r->lba >> 24;
	tf->hob_lbam = r->lba >> 32;
	tf->hob_lbah = r->lba >> 40;
}

/* Data, moved by the worker. */

/* The mapping for a device may have fewer entries than there are buffers. */
static unsigned int md_ata_nents(const struct ata_queued_cmd *qc)
{
	return qc->flags & ATA_QCFLAG_DMAMAP ? qc->orig_n_elem : qc->n_elem;
}

static void md_ata_reply(struct md_ata *a, struct md_ata_cmd *p)
{
	struct ata_queued_cmd *qc = p->qc;
	u8 page[MD_TF_PAGE];
	bool more;
	u32 n;

	for (n = 0; n < DIV_ROUND_UP(qc->nbytes, MD_TF_PAGE); n++) {
		spin_lock_irq(&a->run.lock);
		more = md_tf_reply(&a->tf, &p->regs, n, page);
		spin_unlock_irq(&a->run.lock);
		if (!more)
			return;
		sg_pcopy_from_buffer(qc->sg, md_ata_nents(qc), page, sizeof(page),
				     n * sizeof(page));
	}
}

static void md_ata_take(struct md_ata *a, struct md_ata_cmd *p)
{
	struct ata_queued_cmd *qc = p->qc;
	u8 page[MD_TF_PAGE] = { 0 };

	sg_copy_to_buffer(qc->sg, md_ata_nents(qc), page, sizeof(page));
	spin_lock_irq(&a->run.lock);
	md_tf_take(&a->tf, &p->regs, page, &p->result);
	a->run.engine.recovery_limit_ns = md_tf_erc_ns(&a->tf);
	spin_unlock_irq(&a->run.lock);
}

static void md_ata_fault(struct md_ata_cmd *p)
{
	p->result.status = MD_TF_READY | MD_TF_FAULT | MD_TF_ERROR;
	p->result.error = MD_TF_ABRT;
}

static void md_ata_sectors(struct md_ata *a, struct md_ata_cmd *p)
{
	struct ata_queued_cmd *qc = p->qc;
	struct md_cmd *c = &p->c;

	if (c->hw_error)
		return md_ata_fault(p);
	if (c->range.op == MDE_WRITE) {
		if (md_run_write(&a->run, c, qc->sg, md_ata_nents(qc)))
			md_ata_fault(p);
		return;
	}
	if (c->range.op == MDE_READ)
		md_run_read(&a->run, c, qc->sg, md_ata_nents(qc),
			    c->good * a->run.cfg->sector_bytes);
	if (c->asc)
		md_tf_unreadable(c->error, c->range.lbn + (c->info ? c->good : 0),
				 &p->result);
}

static void md_ata_trim(struct md_ata *a, struct md_ata_cmd *p)
{
	struct ata_queued_cmd *qc = p->qc;
	u8 page[MD_TF_PAGE] = { 0 };
	u32 n;

	sg_copy_to_buffer(qc->sg, md_ata_nents(qc), page, sizeof(page));
	for (n = 0; n < MD_TF_TRIM_RANGES; n++) {
		if (!md_tf_trim(&a->tf, page, n, &p->c.range, &p->result))
			return;
		if (p->c.range.gone && md_run_write(&a->run, &p->c, NULL, 0))
			return md_ata_fault(p);
	}
}

static void md_ata_move(struct md_run *r, struct md_cmd *c)
{
	struct md_ata_cmd *p = md_ata_cmd_of(c);
	struct md_ata *a = md_ata_of(r);

	switch (p->kind) {
	case MD_TF_REPLY:
		return md_ata_reply(a, p);
	case MD_TF_TAKE:
		return md_ata_take(a, p);
	case MD_TF_RANGE:
		return md_ata_sectors(a, p);
	case MD_TF_TRIM:
		return md_ata_trim(a, p);
	default:
		return;
	}
}

/* Ends. */

/* Commands that the drive has dropped: the kernel knows of them, and asks no more. */
static void md_ata_drop(struct md_ata *a)
{
	struct md_cmd *c, *next;
	LIST_HEAD(gone);

	lockdep_assert_held(&a->run.lock);
	md_run_forget_all(&a->run, &gone);
	list_for_each_entry_safe(c, next, &gone, node) {
		list_del(&c->node);
		a->run.counts.aborts++;
	}
}

/* The drive drops what is queued; the error handler reads its log. */
static void md_ata_fail_queued(struct md_ata *a, struct md_ata_cmd *p)
{
	struct ata_port *ap = p->qc->ap;

	spin_lock(&a->run.lock);
	md_tf_fail_queued(&a->tf, p->tag, &p->result);
	md_ata_drop(a);
	spin_unlock(&a->run.lock);
	ap->link.eh_info.err_mask |= AC_ERR_DEV;
	ata_port_abort(ap);
}

static void md_ata_done(struct md_run *r, struct md_cmd *c)
{
	struct md_ata_cmd *p = md_ata_cmd_of(c);
	struct md_ata *a = md_ata_of(r);
	struct ata_port *ap = a->host->ports[0];
	struct ata_queued_cmd *qc;
	unsigned long flags;

	spin_lock_irqsave(ap->lock, flags);
	spin_lock(&a->run.lock);
	a->used_ns = ktime_get_ns();
	spin_unlock(&a->run.lock);
	/* None if the error handler has it meanwhile. */
	qc = ata_qc_from_tag(ap, p->tag);
	if (qc && p->result.status & MD_TF_ERROR && ata_is_ncq(qc->tf.protocol)) {
		md_ata_fail_queued(a, p);
	} else if (qc) {
		if (p->result.status & MD_TF_ERROR)
			qc->err_mask |= AC_ERR_DEV;
		ata_qc_complete(qc);
	}
	spin_unlock_irqrestore(ap->lock, flags);
}

/* Commands. */

/* The medium is wanted. */
static void md_ata_wake(struct md_ata *a, u64 now_ns)
{
	enum md_tf_condition was = md_tf_wake(&a->tf, now_ns);
	u32 ms = md_tf_recovery_ms(was);

	a->run.counts.wakes += was != MD_TF_ACTIVE && was >= MD_TF_IDLE_C;
	if (ms)
		md_run_hold(&a->run, ms, was != MD_TF_ACTIVE && was >= MD_TF_IDLE_C);
}

/*
 * A command finds the link asleep if it may sleep, and nothing has used it for a while.
 * Those that the engine has no part in wake it, and do not wait.
 */
static void md_ata_link(struct md_ata *a, u64 now_ns)
{
	if (a->link_sleeps && md_run_is_idle(&a->run) && now_ns > a->used_ns + MD_ATA_LINK_NS)
		md_run_wake_link(&a->run, a->run.cfg->link_wake_us * NSEC_PER_USEC);
}

/* A command that the drive has understood. */
static int md_ata_start(struct md_ata *a, struct md_ata_cmd *p)
{
	const struct mde_caching before = a->tf.caching;
	u64 now_ns = mdx_now(&a->run.power);
	struct md_cmd *c = &p->c;

	lockdep_assert_held(&a->run.lock);
	md_ata_link(a, now_ns);
	p->kind = md_tf_start(&a->tf, &p->regs, now_ns, &c->range, &p->result);
	if (memcmp(&before, &a->tf.caching, sizeof(before)))
		md_run_set_caching(&a->run, &a->tf.caching);
	/* what lies in between refuses it */
	if (p->kind == MD_TF_RANGE && c->range.op == MDE_VERIFY &&
	    a->run.cfg->verify == MDE_VERIFY_FAILS) {
		p->kind = MD_TF_DONE;
		p->result.status = MD_TF_READY | MD_TF_ERROR;
		p->result.error = MD_TF_ABRT;
	}
	if (p->kind != MD_TF_RANGE && p->kind != MD_TF_TRIM) {
		md_run_at_once(&a->run, c);
		return 0;
	}
	a->run.counts.urgent += md_tf_is_urgent(&p->regs);
	if (c->range.op != MDE_FLUSH)
		md_ata_wake(a, now_ns);
	return md_run_submit(&a->run, c);
}

/* 6.1 calls it in any case. */
static enum ata_completion_errors md_ata_qc_prep(struct ata_queued_cmd *qc)
{
	return AC_ERR_OK;
}

static unsigned int md_ata_qc_issue(struct ata_queued_cmd *qc)
{
	struct md_ata *a = md_ata_of_port(qc->ap);
	struct md_ata_cmd *p = &a->cmd[qc->tag];
	int ret = 0;

	md_run_cmd_init(&a->run, &p->c);
	p->qc = qc;
	p->tag = qc->tag;
	md_ata_read_regs(&qc->tf, &p->regs);
	spin_lock(&a->run.lock);
	if (mdx_is_dead(&a->run.power) || a->tf.asleep)
		md_run_swallow(&a->run, &p->c);
	else
		ret = md_ata_start(a, p);
	spin_unlock(&a->run.lock);
	return ret ? AC_ERR_SYSTEM : 0;
}

static MDK_FILL_RTF md_ata_qc_fill_rtf(struct ata_queued_cmd *qc)
{
	struct md_ata *a = md_ata_of_port(qc->ap);

	md_ata_write_regs(&a->cmd[qc->tag].result, &qc->result_tf);
	return MDK_FILLED;
}

/* Error handling. */

static void md_ata_freeze(struct ata_port *ap)
{
	struct md_ata *a = md_ata_of_port(ap);

	spin_lock(&a->run.lock);
	md_ata_drop(a);
	spin_unlock(&a->run.lock);
}

static void md_ata_thaw(struct ata_port *ap)
{
}

/* COMRESET. */
static int md_ata_hardreset(struct ata_link *link, unsigned int *class, unsigned long deadline)
{
	struct md_ata *a = md_ata_of_port(link->ap);
	bool online;
	int ret;

	spin_lock_irq(&a->run.lock);
	md_ata_drop(a);
	md_tf_reset(&a->tf);
	a->run.counts.resets++;
	spin_unlock_irq(&a->run.lock);
	ret = sata_link_hardreset(link, sata_ehc_deb_timing(&link->eh_context), deadline,
				  &online, NULL);
	if (online)
		*class = ATA_DEV_ATA;
	return ret;
}

static void md_ata_error_handler(struct ata_port *ap)
{
	/* What is being completed is the error handler's now. */
	md_run_settle(&md_ata_of_port(ap)->run);
	ata_std_error_handler(ap);
}

/* The error handler's own command has ended, or is given up: its buffer goes. */
static void md_ata_post_internal_cmd(struct ata_queued_cmd *qc)
{
	md_run_settle(&md_ata_of_port(qc->ap)->run);
}

static int md_ata_scr_read(struct ata_link *link, unsigned int reg, u32 *val)
{
	struct md_ata *a = md_ata_of_port(link->ap);
	int ret = 0;
	u32 speed;

	spin_lock_irq(&a->run.lock);
	switch (reg) {
	case SCR_STATUS:
		/* No link while it is reset or switched off. */
		speed = a->scontrol >> 4 & 0xf ?: MD_ATA_SPEED;
		*val = a->scontrol & 0xf || mdx_is_dead(&a->run.power) ? 0 :
			MD_ATA_ONLINE | min_t(u32, speed, MD_ATA_SPEED) << 4;
		break;
	case SCR_CONTROL:
		*val = a->scontrol;
		break;
	case SCR_ERROR:
		*val = 0;
		break;
	default:
		ret = -EINVAL;
	}
	spin_unlock_irq(&a->run.lock);
	return ret;
}

static int md_ata_scr_write(struct ata_link *link, unsigned int reg, u32 val)
{
	struct md_ata *a = md_ata_of_port(link->ap);

	if (reg != SCR_CONTROL)
		return reg == SCR_ERROR ? 0 : -EINVAL;
	spin_lock_irq(&a->run.lock);
	a->scontrol = val;
	spin_unlock_irq(&a->run.lock);
	return 0;
}

/* What DIPM may do beside it, a host that lets the link sleep does itself. */
static int md_ata_set_lpm(struct ata_link *link, enum ata_lpm_policy policy, unsigned int hints)
{
	struct md_ata *a = md_ata_of_port(link->ap);

	if (!a->run.cfg->link_wake_us)
		return -EOPNOTSUPP;
	spin_lock_irq(&a->run.lock);
	a->link_sleeps = policy > ATA_LPM_MAX_POWER;
	spin_unlock_irq(&a->run.lock);
	return 0;
}

/* Device and host. */

static void md_ata_dev_config(struct ata_device *dev)
{
	const struct mde_config *cfg = md_ata_of_port(dev->link->ap)->run.cfg;

	dev->max_sectors = min_t(u64, dev->max_sectors, cfg->max_sectors);
}

static struct ata_port_operations md_ata_ops = {
	.inherits		= &sata_port_ops,
	.qc_prep		= md_ata_qc_prep,
	.qc_issue		= md_ata_qc_issue,
	.qc_fill_rtf		= md_ata_qc_fill_rtf,
	.dev_config		= md_ata_dev_config,
	.freeze			= md_ata_freeze,
	.thaw			= md_ata_thaw,
	MDK_RESET(hardreset)	= md_ata_hardreset,
	.error_handler		= md_ata_error_handler,
	.post_internal_cmd	= md_ata_post_internal_cmd,
	.scr_read		= md_ata_scr_read,
	.scr_write		= md_ata_scr_write,
	.set_lpm		= md_ata_set_lpm,
};

static const struct ata_port_info md_ata_info = {
	.flags		= ATA_FLAG_SATA | ATA_FLAG_NCQ | ATA_FLAG_FPDMA_AUX |
			  ATA_FLAG_PIO_DMA,
	.pio_mask	= ATA_PIO4,
	.mwdma_mask	= ATA_MWDMA2,
	.udma_mask	= ATA_UDMA6,
	.port_ops	= &md_ata_ops,
};

static struct attribute *md_ata_shost_attrs[] = {
	&dev_attr_link_power_management_policy.attr,
	NULL,
};
ATTRIBUTE_GROUPS(md_ata_shost);

/* Not const: 6.1 writes to it. */
static struct scsi_host_template md_ata_template = {
	ATA_NCQ_SHT_QD("mechata", MDE_SLOTS),
	.shost_groups	= md_ata_shost_groups,
	.sg_tablesize	= SG_MAX_SEGMENTS,
	.dma_boundary	= ATA_DMA_BOUNDARY,
};

static struct Scsi_Host *md_ata_shost(struct md_run *r)
{
	return md_ata_of(r)->host->ports[0]->scsi_host;
}

static int md_ata_add_device(struct md_ata *a, struct device *parent)
{
	int ret;

	a->pdev = platform_device_alloc("mechata", PLATFORM_DEVID_AUTO);
	if (!a->pdev)
		return -ENOMEM;
	a->pdev->dev.parent = parent;
	ret = dma_coerce_mask_and_coherent(&a->pdev->dev, DMA_BIT_MASK(64));
	if (!ret)
		ret = platform_device_add(a->pdev);
	if (ret)
		platform_device_put(a->pdev);
	return ret;
}

/* Add the disk; it has been probed then, or the drive is none that the kernel wants. */
static int md_ata_attach(struct md_ata *a)
{
	struct scsi_device *sdev;
	bool any = false;
	int ret;

	ret = ata_host_start(a->host);
	if (!ret)
		ret = ata_host_register(a->host, &md_ata_template);
	if (ret)
		return ret;
	wait_for_device_probe();
	shost_for_each_device(sdev, md_ata_shost(&a->run)) {
		blk_queue_rq_timeout(sdev->request_queue,
				     msecs_to_jiffies(a->run.cfg->timeout_ms));
		any = true;
	}
	if (any)
		return 0;
	ata_host_detach(a->host);
	return -ENODEV;
}

static int md_ata_add(struct md_ata *a, const struct mde_config *cfg, struct device *parent)
{
	const struct ata_port_info *info[] = { &md_ata_info, NULL };
	int ret;

	ret = md_ata_add_device(a, parent);
	if (ret)
		return ret;
	ret = -ENOMEM;
	/* Freed with the device. */
	a->host = ata_host_alloc_pinfo(&a->pdev->dev, info, 1);
	if (!a->host)
		goto device;
	a->host->private_data = a;
	ret = md_run_init(&a->run, a->run.port, cfg, a->pdev->id);
	if (ret)
		goto device;
	md_tf_init(&a->tf, cfg, ktime_get_ns());
	ret = md_ata_attach(a);
	if (!ret)
		return 0;
	md_run_exit(&a->run);
device:
	platform_device_unregister(a->pdev);
	return ret;
}

static const struct md_port md_ata_port;

static struct md_run *md_ata_power_on(const struct mde_config *cfg,
				      const struct mdp_modes *saved, struct device *parent)
{
	struct md_ata *a = kzalloc(sizeof(*a), GFP_KERNEL);
	int ret;

	if (!a)
		return ERR_PTR(-ENOMEM);
	a->run.port = &md_ata_port;
	ret = md_ata_add(a, cfg, parent);
	if (!ret)
		return &a->run;
	kfree(a);
	return ERR_PTR(ret);
}

static void md_ata_power_off(struct md_run *r, struct mdp_modes *saved)
{
	struct md_ata *a = md_ata_of(r);

	memset(saved, 0, sizeof(*saved));
	/* Waits for commands in flight; those that hang time out first. */
	ata_host_detach(a->host);
	md_run_exit(r);
	platform_device_unregister(a->pdev);
	kfree(a);
}

static const struct md_port md_ata_port = {
	.name = "sata",
	.faults = BIT(MD_HANG) | BIT(MD_HW_ERROR),
	.power_on = md_ata_power_on,
	.power_off = md_ata_power_off,
	.host = md_ata_shost,
	.move = md_ata_move,
	.done = md_ata_done,
};

static int __init mechata_init(void)
{
	mdc_register(MDE_SATA, &md_ata_port);
	return 0;
}

static void __exit mechata_exit(void)
{
	mdc_unregister(MDE_SATA);
}

module_init(mechata_init);
module_exit(mechata_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Simulated SATA disk drive with mechanics");
