// SPDX-License-Identifier: GPL-2.0
/*
 * The running scheduler keeps its model's seek times true: completions teach, the model is
 * corrected, and both can be read (DESIGN, "Self-calibration").
 *
 * Seek times are reckoned with under fb_disk.lock, and by the tasks' thread without it. So
 * they change under the lock, and only by that thread while there is one.
 *
 * Locks: fb_disk.lock; the table is in fb_disk.h.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>

#include "fb_sched.h"

/**
 * fbcal_learn() - learn from a completion how long seeks take
 * @fd: the disk, locked, with a model
 * @fq: the command, whose end had been predicted; its @leg is complete
 * @verdict: what its completion was
 * @now: when it was reported
 *
 * Context: fb_disk.lock held.
 */
void fbcal_learn(struct fb_disk *fd, const struct fbs_rq *fq, enum fb_head_verdict verdict,
		 u64 now)
{
	lockdep_assert_held(&fd->lock);
	if (verdict == FB_HEAD_EARLY)
		return;
	fbc_learn(&fd->calib, now, &fq->leg, &fq->acc);
	if (!fbc_due(&fd->calib, now))
		return;
	if (fd->svc)
		wake_up(&fd->wait);
	else
		fbc_apply(&fd->calib, now, fd->model);
}

/**
 * fbcal_due() - is the thread to correct the model?
 * @fd: the disk, locked
 *
 * Context: fb_disk.lock held.
 *
 * Return: true if so.
 */
bool fbcal_due(const struct fb_disk *fd)
{
	lockdep_assert_held(&fd->lock);
	return fbc_due(&fd->calib, ktime_get_ns());
}

/**
 * fbcal_correct() - correct the model if that is due
 * @fd: the disk, with a model
 *
 * Context: the tasks' thread, which does not search meanwhile.
 */
void fbcal_correct(struct fb_disk *fd)
{
	u64 now = ktime_get_ns();

	spin_lock_irq(&fd->lock);
	if (fbc_due(&fd->calib, now))
		fbc_apply(&fd->calib, now, fd->model);
	spin_unlock_irq(&fd->lock);
}

/* ---- debugfs ---- */

/* copied under the lock: formatting takes too long for it */
struct fbcal_snapshot {
	struct fb_calib calib;
	struct fb_head head;
	struct dm_info info;
	bool modelled;
	bool attached;
	bool locked;
};

static void fbcal_take_snapshot(struct fb_disk *fd, struct fbcal_snapshot *s, u64 now)
{
	spin_lock_irq(&fd->lock);
	s->modelled = fd->model;
	if (fd->model) {
		s->info = *dm_info(fd->model);
		s->calib = fd->calib;
	}
	s->attached = fd->model && fd->head && !fb_disk_transparent(fd);
	if (s->attached) {
		s->head = *fd->head;
		s->locked = fb_head_locked(fd->head, now);
	}
	spin_unlock_irq(&fd->lock);
}

static void fbcal_show_head(struct seq_file *m, const struct fbcal_snapshot *s)
{
	seq_printf(m, "period_ps %llu\ntrend_ps_per_s %lld\nphase %s\nagreed %u\nfits_ppm %u\n",
		   s->head.period_ps, s->head.trend_ps, s->locked ? "locked" : "unknown",
		   s->head.trust, s->head.fits);
}

static void fbcal_show_band(struct seq_file *m, const struct fbcal_snapshot *s, u32 i, u64 now)
{
	const struct fbc_band *b = &s->calib.band[i];
	u32 first = dm_band_first(i), last = s->info.cylinders - 1;

	if (i < DM_BANDS - 1)
		last = min(last, dm_band_first(i + 1) - 1);
	seq_printf(m, "band %u %u trials %llu late %llu shift_ppm %d applied_ppm %d error_ppm %u spread_ns %u since_s %llu\n",
		   first, last, b->trials, b->late, fbc_ppm(&s->calib, i), s->calib.applied[i],
		   fbc_error_ppm(&s->calib, i), b->spread_ns,
		   b->since_ns ? div_u64(now - min(b->since_ns, now), NSEC_PER_SEC) : 0);
}

/* Documentation/ABI/testing/sysfs-block-freeblock has the lines */
static int calibration_show(struct seq_file *m, void *v)
{
	struct fbcal_snapshot *s = kzalloc(sizeof(*s), GFP_KERNEL);
	u64 now = ktime_get_ns();
	u32 i;

	if (!s)
		return -ENOMEM;
	fbcal_take_snapshot(m->private, s, now);
	if (!s->modelled) {
		seq_puts(m, "no model\n");
		goto out;
	}
	seq_printf(m, "model_period_ps %llu\n", s->info.period_ps);
	if (s->attached)
		fbcal_show_head(m, s);
	for (i = 1; i < DM_BANDS && dm_band_first(i) < s->info.cylinders; i++)
		fbcal_show_band(m, s, i, now);
out:
	kfree(s);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(calibration);

/**
 * fbcal_debugfs() - the debugfs file that says what was learnt
 * @fd: the disk, with its directory
 *
 * Context: may sleep. Errors are ignored, as debugfs wants it.
 */
void fbcal_debugfs(struct fb_disk *fd)
{
	debugfs_create_file("calibration", 0444, fd->debugfs, fd, &calibration_fops);
}
