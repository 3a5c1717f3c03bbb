/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Host-managed zones; see disk/zone.c.
 */
#ifndef FB_ZONE_H
#define FB_ZONE_H

#include <linux/types.h>

struct fb_disk;
struct fb_plan_piece;

unsigned long *fb_zone_unwritten(struct fb_disk *fd, u32 zone, u64 first, u64 n);
void fb_zone_cut(const struct fb_disk *fd, struct fb_plan_piece *piece);

#endif /* FB_ZONE_H */
