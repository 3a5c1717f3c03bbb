/* SPDX-License-Identifier: GPL-2.0 */
#ifndef FB_DRIVE_QUERY_H
#define FB_DRIVE_QUERY_H

#include <linux/types.h>

#include "core/power.h"

struct fb_coverage;
struct fb_disk;

void fb_drive_query_once(struct fb_coverage *cov);
enum fb_power_state fb_drive_query_power(struct fb_disk *fd);
u32 fb_drive_query_commands(const struct fb_disk *fd);
u64 fb_drive_query_autosuspend_ns(const struct fb_disk *fd);
void fb_drive_query_resume(struct fb_disk *fd);
u64 fb_drive_query_touched_ns(struct fb_disk *fd);
const char *fb_drive_query_asleep(struct fb_disk *fd, u64 now);

#endif /* FB_DRIVE_QUERY_H */
