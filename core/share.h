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

/**
 * struct fb_share - the credit
 * @at_ns: time up to which it has been added up
 * @credit_ns: time that reads may take; negative after one that took longer than it might
 */
struct fb_share {
	u64 at_ns;
	s64 credit_ns;
};

u64 fb_share_due_ns(struct fb_share *s, u32 ppm, u64 now_ns);
void fb_share_charge(struct fb_share *s, u64 ns);

#endif /* FB_SHARE_H */
