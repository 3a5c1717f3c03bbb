/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a disk and its jobs show of themselves, a value a file: state/, stats/, scan_stats/ and
 * scrub_stats/.
 */
#ifndef FB_SNAPSHOT_H
#define FB_SNAPSHOT_H

struct attribute_group;
struct fb_disk;
struct seq_file;

extern const struct attribute_group fb_snapshot_state_group, fb_snapshot_stats_group,
	fb_snapshot_scan_group, fb_snapshot_scrub_group;

int fb_snapshot_print(struct fb_disk *fd, struct seq_file *m);

#endif /* FB_SNAPSHOT_H */
