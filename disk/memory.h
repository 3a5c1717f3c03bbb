/* SPDX-License-Identifier: GPL-2.0 */
#ifndef FB_MEMORY_H
#define FB_MEMORY_H

#include <linux/types.h>

int fb_memory_charge(u64 *account, u64 bytes, const char *what);
void fb_memory_uncharge(u64 *account, u64 bytes);
void fb_memory_exit(void);

#endif /* FB_MEMORY_H */
