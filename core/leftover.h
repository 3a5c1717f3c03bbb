/* SPDX-License-Identifier: GPL-2.0 */
/*
 * When to read a block that fits into no gap. Core; the caller serialises.
 *
 * Some blocks fit into no gap: those that span the end of a zone, or have a sector that was
 * remapped far away; and few that are left are seldom on the way. Without reading them outside of
 * gaps a scan would never end, or its last few hundred blocks would take minutes. Each costs the
 * foreground a turn or two, so they keep to the share of its time that free reads may cost.
 */
#ifndef FB_LEFTOVER_H
#define FB_LEFTOVER_H

#include "include/fb_shim.h"

#define FB_LEFTOVER_COST_PPM 10000	/* recommended share: one block a second */

/**
 * struct fb_leftover - what is known of a scan's last blocks; all 0 at the beginning
 * @fruitless: searches in a row without a result
 * @read_ns: when a block was last read outside of gaps
 */
struct fb_leftover {
	u32 fruitless;
	u64 read_ns;
};

/**
 * fb_leftover_due() - note that a gap has been searched, and ask whether to read a block anyway
 * @l: state; whoever reads one sets @l->read_ns
 * @found: there is a plan for the gap
 * @wanted: blocks that are wanted
 * @cost_ppm: share of the foreground's time that this may take, above 0
 * @now_ns: the time
 *
 * Return: true: read one of the wanted blocks before the request that the gap is before.
 */
bool fb_leftover_due(struct fb_leftover *l, bool found, u64 wanted, u32 cost_ppm, u64 now_ns);

#endif /* FB_LEFTOVER_H */
