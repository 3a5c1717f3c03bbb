/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A bounded share of a disk's time: a bucket of credit that fills at so many millionths of the
 * time that passes, and that reads are charged to when they have ended. Core; the caller
 * serialises.
 */
#ifndef FB_SHARE_H
#define FB_SHARE_H

#include "include/fb_shim.h"

#define FB_SHARE_PPM_MAX 500000
#define FB_SHARE_BURST_NS 100000000	/* most credit */
/*
 * Credit without which no read begins: longer than a seek, a turn and two tracks of any drive.
 * A read that takes no longer does not overdraw.
 */
#define FB_SHARE_READ_NS (FB_SHARE_BURST_NS / 2)
#define FB_SHARE_NEVER U64_MAX

/* The credit */
struct fb_share {
	u64 at_ns;			/* time up to which it has been added up */
	s64 credit_ns;			/* may be taken; negative after too long a read */
};

/*
 * When the next read may begin: @now_ns if it is now; FB_SHARE_NEVER without a share. @ppm: the
 * share, millionths, up to FB_SHARE_PPM_MAX; 0: none. Over any time T reads that begin when they
 * are due and take no longer than FB_SHARE_READ_NS take @ppm of T and FB_SHARE_BURST_NS at most.
 */
u64 fb_share_due_ns(struct fb_share *s, u32 ppm, u64 now_ns);
/* Charge a read that has ended, and has occupied the disk for so long. */
void fb_share_charge(struct fb_share *s, u64 ns);

#endif /* FB_SHARE_H */
