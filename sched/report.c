// SPDX-License-Identifier: GPL-2.0
/* What the scheduler tells of itself, for the files of its disk. Locks: fb_disk.lock. */
#include "sched/sched.h"

static const char *fb_report_free_reads(struct fb_disk *fd, const struct fb_sched *fs)
{
	if (fb_level_unserved(fd))
		return "off: not scheduling";
	if (fb_level_unmapped(fd))
		return "off: no map of the drive is in use";
	if (!fb_phase_on(&fd->phase, ktime_get_ns()))
		return "off: reads end at no angle of the model";
	if (!fb_disk_tasks(fd))
		return "no task";
	if (fs->engine.depth != FB_ENGINE_DEPTH)
		return "off: depth is not 2";
	if (fb_disk_is_single(fd))
		return "off: the device takes one command at a time";
	if (fb_measure_bars(fd, FB_COST_GAPS))
		return fb_measure_bars(fd, FB_COST_GAPS);
	if (!fb_guard_on(&fd->guard, ktime_get_ns()))
		return "off: they cost the foreground too many turns";
	if (fs->engine.drive_orders && fb_destage_orders(&fd->destage))
		return "off: the drive orders, as its write cache is in use";
	return "on";
}

static const char *fb_report_phase(struct fb_disk *fd, const struct fb_sched *fs)
{
	u64 now = ktime_get_ns();

	if (fb_level_unmapped(fd))
		return "unknown";
	if (!fb_phase_on(&fd->phase, now))
		return "given-up";
	return fb_head_locked(&fs->engine.head, now) ? "locked" : "unknown";
}

/* in order of arrival, too: the drive gets all that it takes */
static bool fb_report_drive_orders(const struct fb_sched *fs)
{
	const struct fb_engine *e = &fs->engine;

	return !fb_engine_predicts(e) && (!e->ops->by_lbn(e) || e->pool.policy == FB_POLICY_FIFO);
}

/* A scheduler must be attached. The texts of @r are constant. */
void fb_report_take(struct fb_disk *fd, struct fb_report *r)
{
	const struct fb_sched *fs = fd->sched;

	lockdep_assert_held(&fd->lock);
	*r = (struct fb_report) {
		.free_reads = fb_report_free_reads(fd, fs),
		.order = fb_report_drive_orders(fs) ? "drive" : "policy",
		.phase = fb_report_phase(fd, fs),
		.period_ps = fs->engine.head.period_ps,
		.pending = fs->engine.pool.count,
		.background_pending = fs->others.count,
		.in_flight = fs->engine.nr_flight,
	};
}
