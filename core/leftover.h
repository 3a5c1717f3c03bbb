/* SPDX-License-Identifier: GPL-2.0 */
/*
 * When to read a block that fits into no gap: it spans the end of a zone, has a sector that was
 * remapped far away, or is one of few left. Else a scan would never end, or take minutes for its
 * last few hundred blocks. Each costs the foreground a turn or two, within its share. Core.
 */
#ifndef FB_LEFTOVER_H
#define FB_LEFTOVER_H

#include "core/plan.h"

#define FB_LEFTOVER_COST_PPM 10000	/* recommended share: about one block a second */

/* How the search of a gap has ended */
enum fb_leftover_search {
	FB_LEFTOVER_FOUND,		/* with a plan */
	FB_LEFTOVER_VAIN,		/* everything was looked at, without a result */
	FB_LEFTOVER_CUT,		/* before it had one its budget or its time was over */
};

/* What is known of a scan's last blocks; all 0 at the beginning */
struct fb_leftover {
	u32 fruitless;			/* private: what searches in a row without a result say */
	u64 read_ns;			/* when a block was last read outside of gaps */
	u64 cost_ns;			/* by how much that delayed the foreground */
};

/* A gap has been searched: is one of @wanted blocks to be read before its request? @cost_ppm > 0 */
bool fb_leftover_due(struct fb_leftover *l, enum fb_leftover_search search, u64 wanted,
		     u32 cost_ppm, u64 now_ns);

/* A block that is too long for @gap is read outside of it; the next waits until it is paid for. */
void fb_leftover_read(struct fb_leftover *l, const struct disk_model *dm, const struct fb_gap *gap,
		      u64 lbn, u32 nsect, u64 now_ns);

#endif /* FB_LEFTOVER_H */
