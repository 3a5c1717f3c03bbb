/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads that are repeated because the drive's cache may have answered; see disk/repeat.c.
 */
#ifndef FB_REPEAT_H
#define FB_REPEAT_H

#include <linux/types.h>

struct fb_coverage;
struct fb_free_read;

bool fb_repeat_again(struct fb_coverage *cov, const struct fb_free_read *buf);

#endif /* FB_REPEAT_H */
