/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How long a drive tries to read a bad sector, and what the error handler did after a read of
 * ours. Kernel only.
 */
#ifndef FB_RECOVERY_H
#define FB_RECOVERY_H

#include <linux/types.h>
#include <linux/workqueue.h>

struct fb_disk;
struct fb_disk_client;
struct fb_free_read;
struct request;

#define FB_RECOVERY_TEXT 96	/* bytes that fb_recovery_describe() needs */

/**
 * struct fb_recovery - a drive's own recovery, and the host adapter's
 * @list: in the list of the disks that have had the scheduler
 * @work: has the disks of a host stop
 * @asked: the drive was asked, and the next two are its answer [L]
 * @told: it tells a limit [L]
 * @limit_ms: which one; 0: there is none [L]
 * @hurt: a read of ours brought the error handler beyond an abort [L]
 * @stop: so did one of this host: the thread pauses all tasks [L]
 */
struct fb_recovery {
	struct list_head list;
	struct work_struct work;
	bool asked;
	bool told;
	u32 limit_ms;
	bool hurt;
	bool stop;
};

extern const struct fb_disk_client fb_recovery_client;

bool fb_recovery_is_long(const struct fb_disk *fd);
u32 fb_recovery_max(const struct fb_disk *fd, u32 sectors);
bool fb_recovery_waits(const struct fb_disk *fd, u64 now);
void fb_recovery_describe(const struct fb_recovery *r, char *text, size_t size);
void fb_recovery_told(struct fb_disk *fd, bool told, u32 limit_ms);
void fb_recovery_watch(struct fb_free_read *buf);
void fb_recovery_requeued(struct fb_disk *fd, const struct request *rq);

#endif /* FB_RECOVERY_H */
