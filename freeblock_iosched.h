/* SPDX-License-Identifier: GPL-2.0 */
#ifndef FB_IOSCHED_H
#define FB_IOSCHED_H

int fb_iosched_register(void);
void fb_iosched_unregister(void);

#endif /* FB_IOSCHED_H */
