// SPDX-License-Identifier: GPL-2.0
/*
 * When to read a block that fits into no gap; see core/leftover.h.
 *
 * Calls: nothing. Core: no locks, the caller serialises.
 */
#include "core/leftover.h"

/* with more blocks wanted, or after fewer searches in vain, a gap will bring one soon */
#define FB_LEFTOVER_BLOCKS 256
#define FB_LEFTOVER_FRUITLESS 32

/* a seek, half a turn, and the way back: what a block costs the foreground, times a million */
#define FB_LEFTOVER_TIME_NS 10000000000000ULL

bool fb_leftover_due(struct fb_leftover *l, bool found, u64 wanted, u32 cost_ppm, u64 now_ns)
{
	l->fruitless = found ? 0 : l->fruitless + 1;
	return l->fruitless >= FB_LEFTOVER_FRUITLESS && wanted && wanted <= FB_LEFTOVER_BLOCKS &&
	       now_ns - l->read_ns >= div_u64(FB_LEFTOVER_TIME_NS, cost_ppm);
}
