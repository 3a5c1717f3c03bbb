// SPDX-License-Identifier: GPL-2.0
/*
 * The gap before a request, and what limits the plan for it. Locks: fb_disk.lock, held by every
 * caller.
 */
#include <linux/blk-integrity.h>

#include "sched/sched.h"

static void fb_limits_set_margin(const struct fb_sched *fs, struct fb_limits *lim)
{
	lim->conservatism_ns = fs->conservatism_ns;
	if (!fs->auto_margin)
		return;
	lim->conservatism_ns = fs->fd->conservatism.one_ns;
	lim->odds = &fs->fd->conservatism.odds;
}

/**
 * fb_limits_of_gap() - describe the gap between the tail and a request for the search
 * @fs: the scheduler, its disk locked
 * @fq: the request
 * @latency_ns: its rotational latency if nothing is read before it
 * @gap: out: the gap
 * @lim: out: limits of its plan
 *
 * Context: fb_disk.lock held.
 *
 * Return: false: the gap is left alone.
 */
bool fb_limits_of_gap(struct fb_sched *fs, struct fb_sched_rq *fq, u64 latency_ns,
		      struct fb_gap *gap, struct fb_limits *lim)
{
	struct fb_disk *fd = fs->fd;

	*gap = (struct fb_gap) {
		.src = fs->tail,
		.dst = fq->fg.start,
		.dst_lbn = fq->fg.lbn,
		.dst_nsect = fq->fg.nsect,
		.dst_write = fq->fg.write,
	};
	*lim = (struct fb_limits) {
		.max_sectors = fb_free_read_max(fd),
		.lift = fs->lift,
		.hop_steps = FB_HOP_STEPS,
		.pipe_ns = { fb_completion_overhead_ns(fd->model, false) + FB_SCHED_LEAD_NS,
			     fb_completion_overhead_ns(fd->model, true) + FB_SCHED_LEAD_NS },
		/* a protection payload would not match where the carrier is aimed later */
		.separate = !blk_get_integrity(fs->q->disk),
	};
	if (fs->auto_margin && fb_conservatism_skip_gap(&fd->conservatism, latency_ns)) {
		fd->stats.spared++;
		return false;
	}
	fb_limits_set_margin(fs, lim);
	lim->granule_sectors = dm_info(fd->model)->granule_sectors;
	if (!fq->prepended)
		lim->max_prepend_sectors = fb_free_read_prepend_limit(fd, fq->rq);
	return true;
}
