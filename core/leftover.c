// SPDX-License-Identifier: GPL-2.0
/* When to read a block that fits into no gap; see core/leftover.h. Core. */
#include "core/leftover.h"

/*
 * With more blocks wanted, or after fewer searches in vain, a gap will bring one soon. A search
 * that is cut short says little, but if all are, the scan shall end, too.
 */
#define FB_LEFTOVER_BLOCKS 256
#define FB_LEFTOVER_WHOLE 32
#define FB_LEFTOVER_FRUITLESS (FB_LEFTOVER_WHOLE * FB_LEFTOVER_WHOLE)

bool fb_leftover_due(struct fb_leftover *l, enum fb_leftover_search search, u64 wanted,
		     u32 cost_ppm, u64 now_ns)
{
	if (search == FB_LEFTOVER_FOUND)
		l->fruitless = 0;
	else
		l->fruitless += search == FB_LEFTOVER_CUT ? 1 : FB_LEFTOVER_WHOLE;
	l->fruitless = min_t(u32, l->fruitless, FB_LEFTOVER_FRUITLESS);
	return l->fruitless == FB_LEFTOVER_FRUITLESS && wanted && wanted <= FB_LEFTOVER_BLOCKS &&
	       now_ns - l->read_ns >= mul_u64_u64_div_u64(l->cost_ns, FB_PPM,
							   cost_ppm);
}

/* how much later the foreground request behind the gap ends; where nothing is known, two turns */
void fb_leftover_read(struct fb_leftover *l, const struct disk_model *dm, const struct fb_gap *gap,
		      u64 lbn, u32 nsect, u64 now_ns)
{
	struct dm_access alone, read, behind;
	u64 both_ns;

	l->read_ns = now_ns;
	l->cost_ns = 2 * dm_period_ns(dm);
	if (dm_access(dm, &gap->src, gap->dst_lbn, gap->dst_nsect, gap->dst_write, &alone) ||
	    dm_access(dm, &gap->src, lbn, nsect, false, &read) ||
	    dm_access(dm, &read.end, gap->dst_lbn, gap->dst_nsect, gap->dst_write, &behind))
		return;
	both_ns = read.total_ns + behind.total_ns;
	l->cost_ns = both_ns - min(both_ns, alone.total_ns);
}
