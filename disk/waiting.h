/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What keeps tasks from reading. Kernel only.
 */
#ifndef FB_WAITING_H
#define FB_WAITING_H

#include "disk/task_state.h"

struct fb_disk_client;

extern const struct fb_disk_client fb_waiting_client;

void fb_waiting_arrive(struct fb_disk *fd);
u64 fb_waiting_due_ns(struct fb_disk *fd);
void fb_waiting_update(struct fb_coverage *cov);

#endif /* FB_WAITING_H */
