/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads in the foreground's time, for tasks that are late and allowed to. Kernel only.
 */
#ifndef FB_HURRY_H
#define FB_HURRY_H

#include "core/share.h"

struct fb_coverage;
struct fb_disk;

/* when to try again after no read was found or the queue did not take it */
#define FB_HURRY_RETRY_NS (20 * (u64)NSEC_PER_MSEC)

/**
 * struct fb_hurry - the share that late tasks have in the foreground's time; all [L]
 * @share: what is left of it
 * @ppm: how much it is, for the late task that is served now; 0: none is
 * @flying: a read is on its way or at the drive
 * @retry_ns: no read before this time
 * @arrived: requests of the foreground
 * @seen: @arrived when the last read joined them
 */
struct fb_hurry {
	struct fb_share share;
	u32 ppm;
	bool flying;
	u64 retry_ns;
	u64 arrived;
	u64 seen;
};

void fb_hurry_arrive(struct fb_disk *fd);
u64 fb_hurry_due_ns(struct fb_disk *fd);
u64 fb_hurry_measure_ns(const struct fb_coverage *cov);
void fb_hurry_read(struct fb_coverage *cov);

#endif /* FB_HURRY_H */
