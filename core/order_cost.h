/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the foreground would take in the order of shortest positioning times: a second schedule
 * of the same requests, on paper. Core; the caller serialises. Nothing here sleeps or allocates.
 *
 * What another order costs cannot be seen from one choice: who passes over the nearest request
 * takes longer now and less later, for that one is still near, and so are more of those that
 * come. So the shadow has a pool of its own. What arrives enters both pools; whenever a
 * request is chosen from the real one, the shadow sends what has the shortest positioning time in
 * its own, from where its own head is. Both pools are always of one size, and get the same
 * requests, so the difference of their times is what the order costs.
 *
 * The shadow stands for what the foreground has without free reads. Under depth auto that is the
 * drive's own queue, which keeps to no deadline: the shadow then has none, and the order's cost
 * includes that of read_expire, up to 4 % beside 32 outstanding. A depth that is set keeps to
 * deadlines without free reads, too.
 */
#ifndef FB_ORDER_COST_H
#define FB_ORDER_COST_H

#include "core/conservatism.h"
#include "core/policy.h"

#define FB_ORDER_COST_MOST 128	/* with more pending nothing is said */

/**
 * struct fb_order_cost_sum - what an order has cost
 * @requests: of which it is known
 * @took_ns: their expected service times, positioning and transfer
 * @later_ns: how much of that the order of shortest positioning times would have saved; a drive
 *	that is never idle would have served as many requests in so much less time
 */
struct fb_order_cost_sum {
	u64 requests;
	s64 took_ns;
	s64 later_ns;
};

/**
 * struct fb_order_cost_at - what a choice was made with
 * @dm: model
 * @odds: odds of a turn lost or gained, or NULL: unknown
 * @real: the real pool, which still holds the request that has been chosen from it
 * @head: where the real head will be before that request
 * @now_ns: the time, for deadlines
 * @drives: the shadow stands for the drive's own order: it has no deadlines, and chances of a turn
 *	lost count for less
 */
struct fb_order_cost_at {
	const struct disk_model *dm;
	const struct fb_conservatism_odds *odds;
	const struct fb_policy_pool *real;
	const struct dm_place *head;
	u64 now_ns;
	bool drives;
};

/**
 * struct fb_order_cost - the second schedule; private
 * @pool: its pending requests
 * @spare: those of @req that are not in @pool
 * @head: where its head is
 * @on: it goes along with the real schedule; else it begins anew behind the next choice
 * @req: copies of requests
 */
struct fb_order_cost {
	struct fb_policy_pool pool;
	struct list_head spare;
	struct dm_place head;
	bool on;
	struct fb_policy_req req[FB_ORDER_COST_MOST];
};

/**
 * fb_order_cost_init() - initialise
 * @sh: filled
 */
void fb_order_cost_init(struct fb_order_cost *sh);

/**
 * fb_order_cost_arrived() - note that a request has entered the real pool
 * @sh: the shadow
 * @req: the request
 */
void fb_order_cost_arrived(struct fb_order_cost *sh, const struct fb_policy_req *req);

/**
 * fb_order_cost_lost() - note that the real schedule is out of hand; the shadow begins anew
 * @sh: the shadow
 */
void fb_order_cost_lost(struct fb_order_cost *sh);

/**
 * fb_order_cost_charge() - send one request, and account for the one that really goes
 * @sh: the shadow
 * @at: what the real choice was made with
 * @c: that choice, of a policy of fb_policy_has_cost()
 * @sum: its cost is added; both orders have served the same requests in the end, so only sums over
 *	many mean something
 *
 * If the shadow is to begin it does so behind this choice, which is then charged nothing. Such are
 * the choices for an idle drive, which SPTF makes; of the others it is 15 in 60,000 beside ten
 * outstanding.
 *
 * Cost: under 15,000 instructions.
 *
 * Return: true unless nothing can be said this time, and nothing is added.
 */
bool fb_order_cost_charge(struct fb_order_cost *sh, const struct fb_order_cost_at *at,
			  const struct fb_policy_choice *c, struct fb_order_cost_sum *sum);

#endif /* FB_ORDER_COST_H */
