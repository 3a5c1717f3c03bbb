/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tasks for user space: /dev/freeblock/<disk> (include/uapi/freeblock.h).
 */
#ifndef FB_USER_H
#define FB_USER_H

struct fb_disk_client;

extern const struct fb_disk_client fb_user_client;

int fb_user_init(void);
void fb_user_exit(void);

#endif /* FB_USER_H */
