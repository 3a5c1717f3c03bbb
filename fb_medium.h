/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads that must come from the medium, not from the drive's cache: how a separate read
 * of ours is sent, and whether the drive did as told (Practical Scrubbing, III).
 */
#ifndef FB_MEDIUM_H
#define FB_MEDIUM_H

#include <linux/blk-mq.h>

#include "fb_head.h"

#define FB_MEDIUM_TEXT 80		/* bytes that fb_medium_describe() needs */

struct fb_buf;
struct fb_disk;
struct fb_disk_client;

/**
 * enum fb_medium_how - how a read of ours was sent
 * @FB_MEDIUM_READ: as any read: it may come from the cache
 * @FB_MEDIUM_FUA: READ with FUA
 * @FB_MEDIUM_VERIFY: VERIFY: nothing is transferred
 */
enum fb_medium_how {
	FB_MEDIUM_READ,
	FB_MEDIUM_FUA,
	FB_MEDIUM_VERIFY,
};

/**
 * struct fb_medium - what of this the drive does; all under fb_disk.lock
 * @no_verify: why VERIFY is not used, for people; NULL: it is
 * @no_fua: the same of FUA
 * @early: VERIFYs too early to have been at the medium; half as many after some thousand
 * @watched: VERIFYs whose end was looked at
 */
struct fb_medium {
	const char *no_verify;
	const char *no_fua;
	u32 early;
	u32 watched;
};

extern const struct fb_disk_client fb_medium_client;

enum fb_medium_how fb_medium_how(const struct fb_disk *fd);
void fb_medium_describe(const struct fb_medium *m, char *text, size_t size);
u32 fb_medium_verify_max(const struct fb_disk *fd);
void fb_medium_apply(const struct fb_buf *buf, struct request *rq);
void fb_medium_restore(struct request *rq);
void fb_medium_judge(struct fb_disk *fd, struct request *rq, const enum fb_head_verdict *verdict);
u32 fb_medium_good(const struct fb_buf *buf);
bool fb_medium_failed(struct request *rq);
bool fb_medium_refused(struct fb_disk *fd, const struct fb_buf *buf);

#endif /* FB_MEDIUM_H */
