/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The value of blocks in the course of a scan, for the search to weigh. The host keeps one
 * struct fb_block_value per task. Core.
 *
 * Taking the largest gain in each gap makes a scan begin fast and end slowly: half the
 * time goes into the last tenth. Three things shorten the whole scan: leaving no remnants on
 * tracks (powers below 1 of how many blocks a track has left), letting no region lag behind
 * (weights), and taking no risk for a piece that is worth less (the price of a miss).
 */
#ifndef FB_BLOCK_VALUE_H
#define FB_BLOCK_VALUE_H

#include "core/search.h"

/*
 * Recommended time between two calls of fb_block_value_balance(): with 2 and 20 s, scans of
 * the Atlas 10K (40 minutes) take the same time within 1 %; larger disks take longer.
 */
#define FB_BLOCK_VALUE_BALANCE_NS (5ULL * NSEC_PER_SEC)

/* The value of blocks in the course of a scan */
struct fb_block_value {
	u16 root[FB_ROOTS + 1];		/* for fb_limits.root */
	u16 weight[FB_REGIONS];		/* for fb_limits.weight */
	u64 begun[FB_REGIONS];		/* what was left in each region when the scan began */
	u64 mean;	/* value gained per gap, running, times FB_VALUE_GAPS */
};

/*
 * Initialise at the beginning of a scan, and again when more has been registered: all regions are
 * worth the same. All blocks of the scan are registered in @bm.
 */
void fb_block_value_init(struct fb_block_value *w, const struct fb_bitmap *bm);

/*
 * Weigh each region by how much of it is left, every few seconds while a scan runs, but not during
 * a search that uses @w. Computes FB_REGIONS weights whatever the size of the disk, because the map
 * keeps counts by region.
 */
void fb_block_value_balance(struct fb_block_value *w, const struct fb_bitmap *bm);

/* A gap was searched. @value: fb_plan.value of the plan found; 0 = none. */
void fb_block_value_gap(struct fb_block_value *w, u64 value);

/*
 * Price of a lost turn, for fb_limits.miss_value. @price: FB_PRICE_ONE is a gap's mean value, as in
 * fb_conservatism_odds.price.
 */
u64 fb_block_value_miss(const struct fb_block_value *w, u32 price);

#endif /* FB_BLOCK_VALUE_H */
