/* SPDX-License-Identifier: GPL-2.0 */
#ifndef FB_COVERAGE_H
#define FB_COVERAGE_H

#include "disk/task_state.h"

/*
 * The task in a slot, for the thread; NULL: there is none. A start may fill an empty slot
 * meanwhile; only the thread empties one. Pairs with smp_store_release() in fb_delivery_start().
 */
static inline struct freeblock_task *fb_coverage_task(const struct fb_coverage *cov, u32 i)
{
	return READ_ONCE(cov->task[i]);
}

u64 fb_coverage_wanted(struct fb_disk *fd, bool *tasks);
bool fb_coverage_wants(struct fb_disk *fd);
bool fb_coverage_may_read(struct fb_disk *fd);
struct freeblock_task *fb_coverage_idle_task(struct fb_coverage *cov);
bool fb_coverage_has_work(struct fb_coverage *cov);
void fb_coverage_absorb(struct fb_coverage *cov);
void fb_coverage_attend(struct fb_coverage *cov);
void fb_coverage_weigh(struct fb_coverage *cov, struct fb_limits *lim);
bool fb_coverage_cut(struct fb_coverage *cov, struct fb_plan *plan);

#endif /* FB_COVERAGE_H */
