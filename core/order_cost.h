/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the foreground would take in the order of shortest positioning times: a second schedule of
 * the same requests. One choice does not tell: a nearest request that is passed over is still near
 * later. So what arrives enters a pool of its own, too, and whenever one is chosen from the real
 * pool, this sends the shortest of its own, from where its own head is. Both pools are of one size,
 * so the difference of their times is what the order costs. Under depth auto it stands for the
 * drive's own queue, which keeps to no deadline. Core; the caller serialises.
 */
#ifndef FB_ORDER_COST_H
#define FB_ORDER_COST_H

#include "core/conservatism.h"
#include "core/policy.h"

#define FB_ORDER_COST_MOST 64	/* with more pending nothing is said: it would take long */

/* What an order has cost */
struct fb_order_cost_sum {
	u64 requests;			/* of which it is known */
	s64 took_ns;			/* their expected service times, positioning and transfer */
	/* how much of that the order of shortest positioning times would have saved */
	s64 later_ns;
};

/* What a choice was made with */
struct fb_order_cost_at {
	const struct disk_model *dm;
	const struct fb_conservatism_odds *odds;	/* or NULL: unknown */
	const struct fb_policy_pool *real;	/* which still holds the request chosen from it */
	const struct dm_place *head;	/* where the real head will be before that request */
	u64 now_ns;			/* for deadlines */
	/* it stands for the drive: no deadlines, and chances of a lost turn count for less */
	bool drives;
};

/* The second schedule; private */
struct fb_order_cost {
	struct fb_policy_pool pool;	/* its pending requests */
	struct list_head spare;		/* those of @req that are not in @pool */
	struct dm_place head;		/* its own */
	bool on;			/* else it begins anew behind the next choice */
	struct fb_policy_req req[FB_ORDER_COST_MOST];	/* copies of requests */
};

void fb_order_cost_init(struct fb_order_cost *sh);

/* A request has entered the real pool. */
void fb_order_cost_arrived(struct fb_order_cost *sh, const struct fb_policy_req *req);
/* The real schedule is out of hand; the shadow begins anew. */
void fb_order_cost_lost(struct fb_order_cost *sh);

/*
 * Send the shadow's next, and add to @sum what @c costs, which really goes, chosen with @at by a
 * policy of fb_policy_has_cost(). False: not known. Under 15,000 instructions.
 */
bool fb_order_cost_charge(struct fb_order_cost *sh, const struct fb_order_cost_at *at,
			  const struct fb_policy_choice *c, struct fb_order_cost_sum *sum);

#endif /* FB_ORDER_COST_H */
