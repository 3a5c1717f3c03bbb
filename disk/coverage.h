/* SPDX-License-Identifier: GPL-2.0 */
#ifndef FB_COVERAGE_H
#define FB_COVERAGE_H

#include "disk/task_state.h"

u64 fb_coverage_wanted(struct fb_disk *fd, bool *tasks);
bool fb_coverage_wants(struct fb_disk *fd);
bool fb_coverage_may_read(struct fb_disk *fd);
bool fb_coverage_has_work(struct fb_coverage *cov);
void fb_coverage_absorb(struct fb_coverage *cov);
void fb_coverage_attend(struct fb_coverage *cov);
bool fb_coverage_cut(struct fb_coverage *cov, struct fb_plan *plan);

#endif /* FB_COVERAGE_H */
