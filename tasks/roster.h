/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The tasks of a disk that are not over, as its files show and control them.
 */
#ifndef FB_ROSTER_H
#define FB_ROSTER_H

#include <linux/types.h>

struct fb_disk;
struct seq_file;

void fb_roster_list(struct fb_disk *fd, struct seq_file *m);
u32 fb_roster_count(const struct fb_disk *fd);
int fb_roster_command(struct fb_disk *fd, const char *text);

#endif /* FB_ROSTER_H */
