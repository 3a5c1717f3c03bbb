/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The value of blocks in the course of a scan, one struct per task. Taking the largest gain in each
 * gap makes a scan begin fast and end slowly. Three things shorten it: no remnants on tracks
 * (powers below 1 of how many blocks a track has left), no region that lags behind (weights), and
 * no risk for a piece that is worth less (the price of a miss). Core.
 */
#ifndef FB_BLOCK_VALUE_H
#define FB_BLOCK_VALUE_H

#include "core/plan.h"

/* Time between two calls of fb_block_value_balance(): 2 and 20 s give the same scan, to 1 %. */
#define FB_BLOCK_VALUE_BALANCE_NS (5ULL * NSEC_PER_SEC)

/* The value of blocks in the course of a scan */
struct fb_block_value {
	struct fb_roots roots;		/* for fb_limits.roots */
	struct fb_weights weights;	/* for fb_limits.weights */
	u64 begun[FB_REGIONS];		/* what was left in each region when the scan began */
	u64 mean;	/* value gained per gap, running, times FB_VALUE_GAPS */
};

/* At the beginning of a scan, and when more is registered: all regions are worth the same. */
void fb_block_value_init(struct fb_block_value *w, const struct fb_bitmap *bm);

/* Weigh each region by how much of it is left; not during a search that uses @w. */
void fb_block_value_balance(struct fb_block_value *w, const struct fb_bitmap *bm);

/* A gap was searched. @value: fb_plan.value of the plan found; 0 = none. */
void fb_block_value_gap(struct fb_block_value *w, u64 value);

/* Price of a lost turn. @price: FB_PRICE_ONE is a gap's mean value. */
u64 fb_block_value_miss(const struct fb_block_value *w, u32 price);

#endif /* FB_BLOCK_VALUE_H */
