/* SPDX-License-Identifier: GPL-2.0 */
#ifndef FB_TASK_CHOICE_H
#define FB_TASK_CHOICE_H

#include "disk/task_state.h"

bool fb_task_choice_is_stalled(const struct freeblock_task *task);
struct freeblock_task *fb_task_choice_idle(struct fb_coverage *cov);
void fb_task_choice_map(struct fb_coverage *cov);
void fb_task_choice_weigh(struct fb_coverage *cov, struct fb_limits *lim);

#endif /* FB_TASK_CHOICE_H */
