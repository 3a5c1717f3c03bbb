/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How far a disk is served; see disk/level.c.
 */
#ifndef FB_LEVEL_H
#define FB_LEVEL_H

#include "include/freeblock.h"

struct fb_disk;
struct fb_disk_client;

extern const struct fb_disk_client fb_level_client;
const char *fb_level_unserved(const struct fb_disk *fd);
const char *fb_level_unmapped(const struct fb_disk *fd);
bool fb_level_never_orders(const struct fb_disk *fd);
enum freeblock_wait fb_level_waiting_for(const struct fb_disk *fd);

#endif /* FB_LEVEL_H */
