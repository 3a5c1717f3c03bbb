/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The model of a disk; see disk/model.c.
 */
#ifndef FB_MODEL_H
#define FB_MODEL_H

#include <linux/types.h>

struct disk_model;
struct fb_bitmap;
struct fb_disk;

u32 fb_model_groups(const struct fb_disk *fd);
void fb_model_regroup(struct fb_disk *fd, struct fb_bitmap *map);
bool fb_model_take(struct fb_disk *fd);
void fb_model_set(struct fb_disk *fd, struct disk_model *dm, bool same);
void fb_model_correct(struct fb_disk *fd);

#endif /* FB_MODEL_H */
