/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Commands that ask a drive about its state.
 */
#ifndef FB_DRIVE_QUERY_H
#define FB_DRIVE_QUERY_H

#include <linux/types.h>

struct fb_coverage;
struct fb_disk;

void fb_drive_query_once(struct fb_coverage *cov);
bool fb_drive_query_is_awake(struct fb_disk *fd);

#endif /* FB_DRIVE_QUERY_H */
