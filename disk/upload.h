/* SPDX-License-Identifier: GPL-2.0 */
#ifndef FB_UPLOAD_H
#define FB_UPLOAD_H

#include <linux/types.h>

struct fb_disk;

ssize_t fb_upload_write(struct fb_disk *fd, const char *data, loff_t off, size_t len);

#endif /* FB_UPLOAD_H */
