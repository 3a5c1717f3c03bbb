/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What blocks are worth in the course of a scan, for the search to weigh: the host
 * keeps one of these per task. Core.
 *
 * The largest gain gap by gap makes the beginning of a scan fast and its end slow: half
 * the time goes into the last tenth. Three things shorten the whole: to leave
 * no crumbs on tracks (powers of what is there, below 1), to let no region lag behind
 * (weights), and to take no risk for a piece that is worth less (the price of a miss).
 */
#ifndef FB_BLOCK_VALUE_H
#define FB_BLOCK_VALUE_H

#include "core/search.h"

/*
 * Recommended time between two calls of fb_block_value_balance(): 2 and 20 s make scans of the
 * Atlas 10K, which take 40 minutes, as fast within 1 %; larger disks take longer.
 */
#define FB_BLOCK_VALUE_BALANCE_NS 5000000000ULL

/**
 * struct fb_block_value - the worth of blocks as a scan goes on
 * @root: for fb_limits.root
 * @weight: for fb_limits.weight
 * @begun: what was left in each region when the scan began
 * @mean: what a gap brings, a running mean times FB_BLOCK_VALUE_GAPS
 */
struct fb_block_value {
	u16 root[FB_ROOTS + 1];
	u16 weight[FB_REGIONS];
	u64 begun[FB_REGIONS];
	u64 mean;
};

/**
 * fb_block_value_init() - the beginning of a scan
 * @w: filled; all regions are worth the same
 * @bm: the map, all that the scan wants registered
 *
 * To be called again when more has been registered.
 */
void fb_block_value_init(struct fb_block_value *w, const struct fb_bitmap *bm);

/**
 * fb_block_value_balance() - weigh the regions by which part of them is left
 * @w: its weights are replaced
 * @bm: the map
 *
 * To be called every few seconds while a scan runs. Cost: that of FB_REGIONS weights,
 * whatever the size of the disk; the map counts by region as it goes.
 *
 * Context: any, but not during a search that uses @w.
 */
void fb_block_value_balance(struct fb_block_value *w, const struct fb_bitmap *bm);

/**
 * fb_block_value_gap() - a gap was searched
 * @w: its mean is moved on
 * @value: fb_plan.value of the plan found; 0 = none
 */
void fb_block_value_gap(struct fb_block_value *w, u64 value);

/**
 * fb_block_value_miss() - the price of a miss, for fb_limits.miss_value without odds
 * @w: it
 * @gaps: a seek without any margin costs what so many gaps bring
 *
 * Return: the price.
 */
u64 fb_block_value_miss(const struct fb_block_value *w, u32 gaps);

/**
 * fb_block_value_turn() - the price of a lost turn, for fb_limits.miss_value with odds
 * @w: it
 * @price: fb_conservatism_odds.price: 256ths of what a gap brings
 *
 * Return: the price.
 */
u64 fb_block_value_turn(const struct fb_block_value *w, u32 price);

#endif /* FB_BLOCK_VALUE_H */
