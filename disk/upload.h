/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Uploads: texts and maps that are written to a file piece by piece, by one writer at a time.
 */
#ifndef FB_UPLOAD_H
#define FB_UPLOAD_H

#include <linux/types.h>

struct fb_disk;
struct file;

/**
 * struct fb_upload_owner - who is uploading
 * @file: the open file that wrote offset 0, only to be compared: it may have been closed since;
 *	NULL: nobody is
 * @wrote_ns: when it wrote last
 */
struct fb_upload_owner {
	const struct file *file;
	u64 wrote_ns;
};

int fb_upload_claim(struct fb_upload_owner *owner, const struct file *file, loff_t off);
void fb_upload_release(struct fb_upload_owner *owner);
ssize_t fb_upload_write(struct fb_disk *fd, const struct file *file, const char *data, loff_t off,
			size_t len);

#endif /* FB_UPLOAD_H */
