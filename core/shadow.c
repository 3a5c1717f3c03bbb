// SPDX-License-Identifier: GPL-2.0
/*
 * A second schedule of the same requests, by shortest positioning times; see core/shadow.h.
 *
 * Calls: disk_model.c, core/policy.c, core/conservatism.c for the odds of a seek. Core: no locks,
 * the caller serialises.
 */
#include "core/shadow.h"

void fb_shadow_init(struct fb_shadow *sh)
{
	u32 i;

	memset(sh, 0, sizeof(*sh));
	fb_policy_pool_init(&sh->pool);
	sh->pool.policy = FB_POLICY_SPTF;
	INIT_LIST_HEAD(&sh->spare);
	for (i = 0; i < FB_SHADOW_MOST; i++)
		list_add(&sh->req[i].node, &sh->spare);
}

static void fb_shadow_drop(struct fb_shadow *sh, struct fb_policy_req *req)
{
	fb_policy_pool_del(&sh->pool, req);
	list_add(&req->node, &sh->spare);
}

static struct fb_policy_req *fb_shadow_newest(struct fb_shadow *sh)
{
	int class;

	for (class = FB_POLICY_CLASSES - 1; class > 0; class--)
		if (!list_empty(&sh->pool.reqs[class]))
			break;
	return list_entry(sh->pool.reqs[class].prev, struct fb_policy_req, node);
}

void fb_shadow_lost(struct fb_shadow *sh)
{
	sh->on = false;
	while (sh->pool.count)
		fb_shadow_drop(sh, fb_shadow_newest(sh));
}

void fb_shadow_arrived(struct fb_shadow *sh, const struct fb_policy_req *req)
{
	struct fb_policy_req *copy;

	if (!sh->on)
		return;
	if (list_empty(&sh->spare)) {
		fb_shadow_lost(sh);
		return;
	}
	copy = list_first_entry(&sh->spare, struct fb_policy_req, node);
	list_del_init(&copy->node);
	*copy = *req;
	fb_policy_pool_add(&sh->pool, copy);
}

static void fb_shadow_begin(struct fb_shadow *sh, const struct fb_policy_pool *real,
			    const struct dm_place *head)
{
	const struct fb_policy_req *req;
	int class;

	fb_shadow_lost(sh);
	if (real->count > FB_SHADOW_MOST)
		return;
	sh->on = true;
	sh->head = *head;
	for (class = 0; class < FB_POLICY_CLASSES; class++)
		list_for_each_entry(req, &real->reqs[class], node)
			fb_shadow_arrived(sh, req);
}

static u32 fb_shadow_apart(const struct dm_place *a, const struct dm_place *b)
{
	return a->cyl > b->cyl ? a->cyl - b->cyl : b->cyl - a->cyl;
}

bool fb_shadow_next(struct fb_shadow *sh, const struct disk_model *dm,
		    const struct fb_conservatism_odds *odds, const struct fb_policy_pool *real,
		    const struct dm_place *head, u64 now_ns, s64 *ns)
{
	struct fb_policy_choice c;
	struct dm_access acc;

	/* some were merged into others: as many are left out here */
	while (sh->on && sh->pool.count > real->count)
		fb_shadow_drop(sh, fb_shadow_newest(sh));
	if (!sh->on || sh->pool.count < real->count)
		fb_shadow_begin(sh, real, head);
	if (!sh->on)
		return false;
	fb_policy_choose(&sh->pool, dm, &sh->head, now_ns, &c);
	if (!c.predicted || dm_access(dm, &sh->head, c.req->lbn, c.req->nsect, c.req->write, &acc)) {
		fb_shadow_lost(sh);
		return false;
	}
	*ns = fb_conservatism_expected_ns(odds, dm_period_ns(dm),
					  fb_shadow_apart(&sh->head, &c.req->start), c.seek_ns,
					  c.pos_ns - c.seek_ns);
	sh->head = acc.end;
	fb_shadow_drop(sh, c.req);
	return true;
}
