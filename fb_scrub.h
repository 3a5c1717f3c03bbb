/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The scrubber: have all blocks of a disk, or of a part of it, read from the medium, and
 * remember which of them could be.
 */
#ifndef FB_SCRUB_H
#define FB_SCRUB_H

#include <linux/types.h>

struct fb_disk_client;
struct fb_scrub;

/**
 * struct fb_scrub_disk - the disk that a command or a file is for
 * @name: as in /sys/block
 * @id: its unique id; "name.<name>" if it has none
 * @sectors: its size, 0: it has no model
 * @granule: sectors of a block
 */
struct fb_scrub_disk {
	const char *name;
	const char *id;
	u64 sectors;
	u32 granule;
};

extern const struct fb_disk_client fb_scrub_client;

int fb_scrub_command(struct fb_scrub **slot, const struct fb_scrub_disk *disk, const char *text);
ssize_t fb_scrub_show(struct fb_scrub **slot, char *page);
ssize_t fb_scrub_read(struct fb_scrub **slot, const struct fb_scrub_disk *disk, char *buf,
		      loff_t off, size_t count);
ssize_t fb_scrub_write(struct fb_scrub **slot, const struct fb_scrub_disk *disk, const char *buf,
		       loff_t off, size_t count);

#endif /* FB_SCRUB_H */
