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

#define FB_ORDER_COST_MOST 64	/* with more pending nothing is said: it would take long */

/* What an order has cost */
struct fb_order_cost_sum {
	u64 requests;			/* of which it is known */
	s64 took_ns;			/* their expected service times, positioning and transfer */
	/*
	 * how much of that the order of shortest positioning times would have saved; a drive that
	 * is never idle would have served as many requests in so much less time
	 */
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
	/* it goes along with the real one; else it begins anew behind the next choice */
	bool on;
	/* it begins: requests are being copied, some with each choice, and are not yet served */
	bool filling;
	struct fb_policy_req req[FB_ORDER_COST_MOST];	/* copies of requests */
};

void fb_order_cost_init(struct fb_order_cost *sh);

/* A request has entered the real pool. */
void fb_order_cost_arrived(struct fb_order_cost *sh, struct fb_policy_req *req);
/* The real schedule is out of hand; the shadow begins anew. */
void fb_order_cost_lost(struct fb_order_cost *sh);

/*
 * Send the shadow's next, and account for @c, which really goes, chosen with @at by a policy of
 * fb_policy_has_cost(). @sum: its cost is added; both orders have served the same requests in the
 * end, so only sums over many mean something.
 *
 * If the shadow is to begin it does so behind this choice, which is then charged nothing; beside
 * many requests behind the next ones. Such are the choices for an idle drive, which SPTF makes; of
 * the others it is 15 in 60,000 beside ten outstanding. Cost: under 15,000 instructions.
 *
 * False: nothing can be said this time, and nothing is added.
 */
bool fb_order_cost_charge(struct fb_order_cost *sh, const struct fb_order_cost_at *at,
			  const struct fb_policy_choice *c, struct fb_order_cost_sum *sum);

#endif /* FB_ORDER_COST_H */
