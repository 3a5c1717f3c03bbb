/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads that must come from the medium, not from the drive's cache: how our separate reads
 * are sent, and whether the drive obeyed (Practical Scrubbing, III).
 */
#ifndef FB_VERIFY_H
#define FB_VERIFY_H

#include <linux/blk-mq.h>

#include "core/head.h"

#define FB_VERIFY_TEXT 80		/* bytes that fb_verify_describe() needs */

struct fb_free_read;
struct fb_disk;
struct fb_disk_client;

/**
 * enum fb_verify_how - how a read of ours was sent
 * @FB_VERIFY_READ: as an ordinary read, which may come from the cache
 * @FB_VERIFY_FUA: READ with FUA
 * @FB_VERIFY_COMMAND: VERIFY: nothing is transferred
 */
enum fb_verify_how {
	FB_VERIFY_READ,
	FB_VERIFY_FUA,
	FB_VERIFY_COMMAND,
};

/**
 * struct fb_verify - which of these the drive can do; all under fb_disk.lock
 * @no_verify: why VERIFY is not used, as a text; NULL: it is used
 * @no_fua: likewise for FUA
 * @early: VERIFYs that ended too early to have read the medium; halved every FB_VERIFY_FORGET
 * @watched: VERIFYs whose completion time was checked
 */
struct fb_verify {
	const char *no_verify;
	const char *no_fua;
	u32 early;
	u32 watched;
};

extern const struct fb_disk_client fb_verify_client;

enum fb_verify_how fb_verify_how(const struct fb_disk *fd);
void fb_verify_describe(const struct fb_verify *m, char *text, size_t size);
u32 fb_verify_max(const struct fb_disk *fd);
void fb_verify_apply(const struct fb_free_read *buf, struct request *rq);
void fb_verify_restore(struct request *rq);
void fb_verify_judge(struct fb_disk *fd, struct request *rq, const enum fb_head_verdict *verdict);
u32 fb_verify_good(const struct fb_free_read *buf);
bool fb_verify_failed(struct request *rq);
bool fb_verify_refused(struct fb_disk *fd, const struct fb_free_read *buf);

#endif /* FB_VERIFY_H */
