/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tasks for user space: /dev/freeblock/<disk> (include/uapi/freeblock.h).
 */
#ifndef FB_USER_H
#define FB_USER_H

#include <linux/types.h>

struct fbu_disk;

int fbu_init(void);
void fbu_exit(void);
struct fbu_disk *fbu_disk_new(void);
void fbu_disk_here(struct fbu_disk *ud, const char *name, dev_t dev);
void fbu_disk_gone(struct fbu_disk *ud);
void fbu_disk_free(struct fbu_disk *ud);

#endif /* FB_USER_H */
