/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tasks for user space: /dev/freeblock (include/uapi/freeblock.h).
 */
#ifndef FB_USER_H
#define FB_USER_H

int fb_user_init(void);
void fb_user_exit(void);

#endif /* FB_USER_H */
