// SPDX-License-Identifier: GPL-2.0
/* A second schedule of the same requests, by shortest positioning times. Core. */
#include "core/order_cost.h"

/*
 * What short waits lose is known by tables that begin with a prior, and may say a third too much
 * for some minutes. Less this part of it six loads lose less than 1 % beside the drive's own order.
 */
#define FB_ORDER_COST_ODDS_LESS 4

void fb_order_cost_init(struct fb_order_cost *sh)
{
	u32 i;

	memset(sh, 0, sizeof(*sh));
	fb_policy_pool_init(&sh->pool);
	sh->pool.policy = FB_POLICY_SPTF;
	INIT_LIST_HEAD(&sh->spare);
	for (i = 0; i < FB_ORDER_COST_MOST; i++)
		list_add(&sh->req[i].node, &sh->spare);
}

static void fb_order_cost_drop(struct fb_order_cost *sh, struct fb_policy_req *req)
{
	fb_policy_pool_del(&sh->pool, req);
	list_add(&req->node, &sh->spare);
}

void fb_order_cost_lost(struct fb_order_cost *sh)
{
	sh->on = false;
	fb_policy_pool_clear(&sh->pool, &sh->spare);
}

static void fb_order_cost_copy(struct fb_order_cost *sh, const struct fb_policy_req *req)
{
	struct fb_policy_req *copy = list_first_entry(&sh->spare, struct fb_policy_req, node);

	list_del_init(&copy->node);
	*copy = *req;
	fb_policy_pool_add(&sh->pool, copy);
}

void fb_order_cost_arrived(struct fb_order_cost *sh, const struct fb_policy_req *req)
{
	if (!sh->on)
		return;
	if (list_empty(&sh->spare))
		fb_order_cost_lost(sh);
	else
		fb_order_cost_copy(sh, req);
}

/* Begin with all but the choice @c, where the real schedule will be when that has gone: @head. */
static void fb_order_cost_begin(struct fb_order_cost *sh, const struct fb_order_cost_at *at,
				const struct fb_policy_choice *c, const struct dm_place *head)
{
	struct fb_policy_req *req;
	u32 class;

	fb_order_cost_lost(sh);
	if (at->real->count > FB_ORDER_COST_MOST)
		return;
	for (class = 0; class < FB_POLICY_CLASSES; class++)
		list_for_each_entry(req, &at->real->reqs[class], node)
			if (req != c->req)
				fb_order_cost_copy(sh, req);
	sh->on = true;
	sh->head = *head;
}

static s64 fb_order_cost_expected(const struct fb_order_cost_at *at, const struct dm_place *head,
				  const struct fb_policy_choice *c)
{
	s64 ns = fb_conservatism_expected_ns(at->odds, dm_period_ns(at->dm),
					     dm_apart(head, &c->req->start), c->seek_ns,
					     c->pos_ns - c->seek_ns);
	s64 odds_ns = ns - (s64)c->pos_ns;

	if (at->drives)
		odds_ns -= div_s64(odds_ns, FB_ORDER_COST_ODDS_LESS);
	return c->pos_ns + odds_ns;
}

static bool fb_order_cost_next(struct fb_order_cost *sh, const struct fb_order_cost_at *at, s64 *ns)
{
	struct fb_policy_choice c;
	struct dm_access acc;

	/* at time 0 no deadline has passed */
	fb_policy_choose(&sh->pool, at->dm, &sh->head, at->drives ? 0 : at->now_ns, &c);
	if (!c.predicted ||
	    dm_access(at->dm, &sh->head, c.req->lbn, c.req->nsect, c.req->write, &acc)) {
		fb_order_cost_lost(sh);
		return false;
	}
	*ns = fb_order_cost_expected(at, &sh->head, &c);
	sh->head = acc.end;
	fb_policy_sent(&sh->pool, c.req, c.expired);
	fb_order_cost_drop(sh, c.req);
	return true;
}

bool fb_order_cost_charge(struct fb_order_cost *sh, const struct fb_order_cost_at *at,
			  const struct fb_policy_choice *c, struct fb_order_cost_sum *sum)
{
	struct dm_access acc;
	s64 least_ns, ns;
	int class;

	if (!c->predicted ||
	    dm_access(at->dm, at->head, c->req->lbn, c->req->nsect, c->req->write, &acc)) {
		fb_order_cost_lost(sh);
		return false;
	}
	/* some were merged into others: as many of the newest are left out here */
	while (sh->on && sh->pool.count > at->real->count) {
		for (class = FB_POLICY_CLASSES - 1; list_empty(&sh->pool.reqs[class]); class--)
			;
		fb_order_cost_drop(sh, list_last_entry(&sh->pool.reqs[class],
						       struct fb_policy_req, node));
	}
	if (!sh->on || sh->pool.count < at->real->count) {
		fb_order_cost_begin(sh, at, c, &acc.end);
		return false;
	}
	if (!fb_order_cost_next(sh, at, &least_ns))
		return false;
	ns = fb_order_cost_expected(at, at->head, c);
	sum->requests++;
	sum->took_ns += ns + (s64)(acc.total_ns - acc.seek_ns - acc.latency_ns);
	sum->later_ns += ns - least_ns;
	return true;
}
