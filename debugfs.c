// SPDX-License-Identifier: GPL-2.0
/*
 * A disk's files in /sys/kernel/debug/freeblock/<disk>/, tables for people, which may change
 * (Documentation/ABI/testing/debugfs-freeblock). disk/folder.c removes the directory before the
 * disk goes. Locks: fb_disk.lock, to copy what is then formatted without it.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "disk/disk.h"
#include "files.h"
#include "tasks/tasks.h"

static int numbers_show(struct seq_file *m, void *v)
{
	return fb_snapshot_print(m->private, m);
}
DEFINE_SHOW_ATTRIBUTE(numbers);

static void fb_debugfs_show_cost(struct seq_file *m, const char *kind,
				 const struct fb_trial_cost *cost)
{
	seq_printf(m, "%s %lld %llu %llu %lld %llu %u\n", kind, cost->diff_ns, cost->error_ns,
		   cost->alone_ns, cost->ppm, cost->ends, cost->known);
}

static int trial_show(struct seq_file *m, void *v)
{
	struct fb_disk *disk = m->private;
	struct fb_cost *c = kmalloc(sizeof(*c), GFP_KERNEL);
	u64 now = ktime_get_ns();
	bool on;

	if (!c)
		return -ENOMEM;
	spin_lock_irq(&disk->lock);
	*c = disk->measure.cost;
	on = disk->measure.on;
	spin_unlock_irq(&disk->lock);
	seq_printf(m, "on %u\nruns %u\ncontrol %u\nstretch_us %llu\nstretches %u\nblocks %u\n", on,
		   c->trial.on, fb_cost_controls(c), div_u64(c->trial.stretch_ns, NSEC_PER_USEC),
		   c->trial.stretches, c->trial.ended);
	seq_printf(m, "on_us %llu\nheld_us %llu\nlimit_us %llu\nlimit_ppm %u\n",
		   div_u64(c->trial.on_ns, NSEC_PER_USEC), div_u64(c->trial.held_ns, NSEC_PER_USEC),
		   div_u64(c->trial.limit.ns, NSEC_PER_USEC), c->trial.limit.ppm);
	seq_printf(m, "level %u\nleft_us %llu\nstops %u\n", c->level,
		   c->until_ns > now ? div_u64(c->until_ns - now, NSEC_PER_USEC) : 0, c->stops);
	fb_debugfs_show_cost(m, "read", &c->trial.told[FB_TRIAL_READ]);
	fb_debugfs_show_cost(m, "write", &c->trial.told[FB_TRIAL_WRITE]);
	fb_debugfs_show_cost(m, "slow", &c->trial.told[FB_TRIAL_SLOW]);
	fb_debugfs_show_cost(m, "all", &c->trial.told[FB_TRIAL_KINDS]);
	kfree(c);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(trial);

static int tasks_show(struct seq_file *m, void *v)
{
	fb_task_list(m->private, m);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(tasks);

/* one line per block: first sector, sectors, what is at fault, how often it was found so */
static int bad_blocks_show(struct seq_file *m, void *v)
{
	struct fb_disk *disk = m->private;
	struct fb_quarantine_bad *list = kmalloc(sizeof(disk->quarantine.list), GFP_KERNEL);
	u32 listed, i;

	if (!list)
		return -ENOMEM;
	spin_lock_irq(&disk->lock);
	listed = disk->quarantine.listed;
	memcpy(list, disk->quarantine.list, listed * sizeof(*list));
	spin_unlock_irq(&disk->lock);
	for (i = 0; i < listed; i++)
		seq_printf(m, "%llu %u medium %u\n", list[i].lbn, list[i].nsect, list[i].times);
	kfree(list);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(bad_blocks);

/* one line per bucket: its lower edge in microseconds, number of requests */
static int prediction_error_show(struct seq_file *m, void *v)
{
	struct fb_disk *disk = m->private;
	u64 count;
	int i;

	for (i = 0; i < FB_HIST; i++) {
		count = READ_ONCE(disk->stats.engine.ends.hist[i]);
		if (count)
			seq_printf(m, "%d %llu\n",
				   (i - FB_HIST_HALF - 1) * (FB_HIST_STEP_NS / 1000), count);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(prediction_error);

/* one line per bucket: its upper edge in nanoseconds, number of reads, writes, FUA writes */
static int latency_show(struct seq_file *m, void *v)
{
	const struct fb_stats *stats = &((struct fb_disk *)m->private)->stats;
	u32 i;

	for (i = 0; i < FB_LATENCY_BUCKETS; i++) {
		u64 reads = READ_ONCE(stats->fg_latency[FB_LATENCY_READ][i]);
		u64 writes = READ_ONCE(stats->fg_latency[FB_LATENCY_WRITE][i]);
		u64 fuas = READ_ONCE(stats->fg_latency[FB_LATENCY_FUA][i]);

		if (reads || writes || fuas)
			seq_printf(m, "%llu %llu %llu %llu\n",
				   (5ULL + i % 4) << (FB_LATENCY_LOW - 2 + i / 4), reads, writes,
				   fuas);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(latency);

/* a head that is tracked has a line, all distances are one band */
static int calibration_show(struct seq_file *m, void *v)
{
	u64 now = ktime_get_ns(), model_ps = 0, period_ps = 0;
	struct fb_disk *disk = m->private;
	u32 cylinders = 0, trust = 0, fits = 0;
	struct fb_seek_fit fit = {};
	bool locked = false;

	scoped_guard(spinlock_irq, &disk->lock) {
		if (disk->model) {
			model_ps = dm_info(disk->model)->period_ps;
			cylinders = dm_info(disk->model)->cylinders;
			fit = disk->seek_fit;
		}
		if (disk->model && disk->head && !fb_level_unmapped(disk)) {
			period_ps = disk->head->period_ps;
			trust = disk->head->trust;
			fits = disk->head->fits;
			locked = fb_head_locked(disk->head, now);
		}
	}
	if (!model_ps) {
		seq_puts(m, "no model\n");
		return 0;
	}
	seq_printf(m, "model_period_ps %llu\n", model_ps);
	if (period_ps)
		seq_printf(m, "period_ps %llu\nphase %s\nagreed %u\nfits_ppm %u\n", period_ps,
			   locked ? "locked" : "unknown", trust, fits);
	seq_printf(m, "band 1 %u trials %llu late %llu shift_ppm %d applied_ppm %d error_ppm %u spread_ns %u since_s %llu\n",
		   cylinders - 1, fit.trials, fit.late, fb_seek_fit_ppm(&fit), fit.applied,
		   fb_seek_fit_error_ppm(&fit), fit.spread_ns,
		   fit.since_ns ? div_u64(now - min(fit.since_ns, now), NSEC_PER_SEC) : 0);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(calibration);

static ssize_t reset_write(struct file *file, const char __user *buf, size_t count, loff_t *ppos)
{
	struct fb_disk *disk = file->private_data;

	guard(spinlock_irq)(&disk->lock);
	memset(&disk->stats, 0, sizeof(disk->stats));
	return count;
}

static const struct file_operations reset_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = reset_write,
	.llseek = noop_llseek,
};

static void fb_debugfs_fill(struct fb_disk *disk)
{
	struct dentry *dir = disk->folder.debugfs;

	debugfs_create_file("numbers", 0400, dir, disk, &numbers_fops);
	debugfs_create_file("trial", 0444, dir, disk, &trial_fops);
	debugfs_create_file("tasks", 0444, dir, disk, &tasks_fops);
	debugfs_create_file("bad_blocks", 0444, dir, disk, &bad_blocks_fops);
	debugfs_create_file("latency", 0444, dir, disk, &latency_fops);
	debugfs_create_file("prediction_error", 0444, dir, disk, &prediction_error_fops);
	debugfs_create_file("calibration", 0444, dir, disk, &calibration_fops);
	debugfs_create_file("reset", 0200, dir, disk, &reset_fops);
}

const struct fb_disk_client fb_debugfs_client = {
	.fill = fb_debugfs_fill,
};
