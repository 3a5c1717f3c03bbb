/* SPDX-License-Identifier: GPL-2.0 */
/*
 * In which order does a drive take the commands that it has? What the firmware does is said
 * nowhere; most take what has the shortest positioning time, some go by address, as C-LOOK does, or
 * by arrival. The latter two are told by the order in which reads end, whatever the drive writes
 * between them; not by reads that may have come from its cache, where they may have been for long.
 * Core; the caller serialises. Nothing here sleeps or allocates. All times are nanoseconds of one
 * monotonic clock, passed in.
 */
#ifndef FB_DRIVE_ORDER_H
#define FB_DRIVE_ORDER_H

#include "core/idle_cost.h"

#define FB_DRIVE_ORDER_MOST 32	/* requests that are looked at: as many as ATA's queue holds */

/**
 * enum fb_drive_order_rule - what goes next
 * @FB_DRIVE_ORDER_NEAREST: what has the shortest positioning time; also if nothing is known
 * @FB_DRIVE_ORDER_ADDRESS: the next higher address, and from the highest to the lowest
 * @FB_DRIVE_ORDER_ARRIVAL: what came first
 * @FB_DRIVE_ORDER_RULES: their number
 */
enum fb_drive_order_rule {
	FB_DRIVE_ORDER_NEAREST,
	FB_DRIVE_ORDER_ADDRESS,
	FB_DRIVE_ORDER_ARRIVAL,
	FB_DRIVE_ORDER_RULES,
};

/** fb_drive_order_name: a word for each rule, for status output */
extern const char *const fb_drive_order_name[FB_DRIVE_ORDER_RULES];

/**
 * struct fb_drive_order - what is known of it; private but @next_lbn
 * @waits: requests that have not ended, in the order in which they came
 * @n: how many
 * @next_lbn: the sector behind the one that has ended last
 * @ended_ns: when that was; 0: another command came between, or nothing is known
 * @last_ns: when any has ended last, from the cache, too
 * @turn_ns: one revolution
 * @tries: ends that a rule could be told by
 * @right: of these, those that agree with each
 */
struct fb_drive_order {
	struct fb_idle_cost_req waits[FB_DRIVE_ORDER_MOST];
	u32 n;
	u64 next_lbn;
	u64 ended_ns;
	u64 last_ns;
	u64 turn_ns;
	u32 tries;
	u32 right[FB_DRIVE_ORDER_RULES];
};

/**
 * fb_drive_order_cost() - rank a request by address
 * @next_lbn: the sector behind what the drive has done last
 * @lbn: the request's first
 *
 * Return: what goes first has least.
 */
static inline u64 fb_drive_order_cost(u64 next_lbn, u64 lbn)
{
	return lbn >= next_lbn ? lbn - next_lbn : lbn + (1ULL << 62);
}

/**
 * fb_drive_order_arrived() - note a request that the medium has to serve
 * @o: the order
 * @req: the request
 */
void fb_drive_order_arrived(struct fb_drive_order *o, const struct fb_idle_cost_req *req);

/**
 * fb_drive_order_ended() - note that a request has ended
 * @o: the order
 * @now: the time
 * @req: the request
 */
void fb_drive_order_ended(struct fb_drive_order *o, u64 now, const struct fb_idle_cost_req *req);

/**
 * fb_drive_order_hit() - note that a request has ended without the medium
 * @o: the order
 * @req: the request
 */
void fb_drive_order_hit(struct fb_drive_order *o, const struct fb_idle_cost_req *req);

/**
 * fb_drive_order_moved() - note another command: where the drive goes on is not known
 * @o: the order
 */
void fb_drive_order_moved(struct fb_drive_order *o);

/**
 * fb_drive_order_forget() - forget who waits, as not all ends will be told
 * @o: the order
 */
void fb_drive_order_forget(struct fb_drive_order *o);

/**
 * fb_drive_order_rule() - which is it?
 * @o: the order
 *
 * Return: the rule.
 */
enum fb_drive_order_rule fb_drive_order_rule(const struct fb_drive_order *o);

#endif /* FB_DRIVE_ORDER_H */
