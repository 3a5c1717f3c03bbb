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
 */
#ifndef FB_ORDER_COST_H
#define FB_ORDER_COST_H

#include "core/conservatism.h"
#include "core/policy.h"

#define FB_ORDER_COST_MOST 256	/* with more pending nothing is said */

/**
 * struct fb_order_cost - the second schedule; private
 * @pool: its pending requests
 * @spare: those of @req that are not in @pool
 * @head: where its head is
 * @on: it goes along with the real schedule; else it begins anew with the next choice
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
 * fb_order_cost_next() - send one request
 * @sh: the shadow
 * @dm: model
 * @odds: odds of a turn lost or gained, or NULL: unknown
 * @real: the real pool, which still holds the request that has been chosen from it
 * @head: where the real head will be before that request
 * @now_ns: the time, for deadlines
 * @ns: out: the expected positioning time of the shadow's request
 *
 * Return: true unless nothing can be said this time.
 */
bool fb_order_cost_next(struct fb_order_cost *sh, const struct disk_model *dm,
			const struct fb_conservatism_odds *odds, const struct fb_policy_pool *real,
			const struct dm_place *head, u64 now_ns, s64 *ns);

#endif /* FB_ORDER_COST_H */
