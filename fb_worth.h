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
#ifndef FB_WORTH_H
#define FB_WORTH_H

#include "fb_search.h"

/*
 * Recommended time between two calls of fb_worth_balance(): 2 and 20 s make scans of the Atlas
 * 10K, which take 40 minutes, as fast within 1 %; larger disks take longer.
 */
#define FB_WORTH_BALANCE_NS 5000000000ULL

/**
 * struct fb_worth - the worth of blocks as a scan goes on
 * @root: for fb_limits.root
 * @weight: for fb_limits.weight
 * @begun: what was left in each region when the scan began
 * @mean: what a gap brings, a running mean times FB_WORTH_GAPS
 */
struct fb_worth {
	u16 root[FB_ROOTS + 1];
	u16 weight[FB_REGIONS];
	u64 begun[FB_REGIONS];
	u64 mean;
};

/**
 * fb_worth_init() - the beginning of a scan
 * @w: filled; all regions are worth the same
 * @bm: the map, all that the scan wants registered
 *
 * To be called again when more has been registered.
 */
void fb_worth_init(struct fb_worth *w, const struct fb_bitmap *bm);

/**
 * fb_worth_balance() - weigh the regions by which part of them is left
 * @w: its weights are replaced
 * @bm: the map
 *
 * To be called every few seconds while a scan runs. Cost: that of FB_REGIONS weights,
 * whatever the size of the disk; the map counts by region as it goes.
 *
 * Context: any, but not during a search that uses @w.
 */
void fb_worth_balance(struct fb_worth *w, const struct fb_bitmap *bm);

/**
 * fb_worth_gap() - a gap was searched
 * @w: its mean is moved on
 * @value: fb_plan.value of the plan found; 0 = none
 */
void fb_worth_gap(struct fb_worth *w, u64 value);

/**
 * fb_worth_miss() - the price of a miss, for fb_limits.miss_value without odds
 * @w: it
 * @gaps: a seek without any margin costs what so many gaps bring
 *
 * Return: the price.
 */
u64 fb_worth_miss(const struct fb_worth *w, u32 gaps);

/**
 * fb_worth_turn() - the price of a lost turn, for fb_limits.miss_value with odds
 * @w: it
 * @price: fbm_odds.price: 256ths of what a gap brings
 *
 * Return: the price.
 */
u64 fb_worth_turn(const struct fb_worth *w, u32 price);

#endif /* FB_WORTH_H */
