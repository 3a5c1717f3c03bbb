/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The scan: read a disk or a range once, in the gaps; count, and keep a checksum of every
 * block if asked.
 */
#ifndef FB_SCAN_H
#define FB_SCAN_H

#include <linux/types.h>

struct fb_disk_client;
struct fb_scan;
struct seq_file;

extern const struct fb_disk_client fb_scan_client;

int fb_scan_command(struct fb_scan **slot, const char *disk, const char *text);
ssize_t fb_scan_show(struct fb_scan **slot, char *page);
ssize_t fb_scan_progress(struct fb_scan **slot, char *page);

/* debugfs: binary records of the checksums, see Documentation/ABI */
extern const struct file_operations fb_scan_crc_fops;

#endif /* FB_SCAN_H */
