// SPDX-License-Identifier: GPL-2.0
/*
 * Who orders: the policy, one command behind another, or the drive, which then gets all that it
 * takes; see core/orders.h and core/engine/engine.h.
 */
#include "core/engine/engine.h"

#define FB_ENGINE_HOLES 20	/* 1/20 of the LBNs may be unmapped: see fb_engine_is_blind() */

bool fb_engine_note_sent(struct fb_engine *e, const struct fb_engine_rq *rq, u64 now_ns)
{
	return rq->media && fb_orders_sent(&e->orders, rq->fg.lbn, rq->fg.nsect,
					   !e->nr_flight && !e->pool.count, now_ns);
}

static bool fb_engine_is_overdue(const struct fb_engine *e, u64 now_ns)
{
	const struct fb_engine_rq *rq;

	list_for_each_entry(rq, &e->flight, flight)
		if (fb_engine_is_foreground(rq) && rq->fg.deadline_ns &&
		    rq->fg.deadline_ns < now_ns)
			return true;
	return fb_policy_is_overdue(&e->pool, now_ns);
}

/* foreground requests that are pending or at the drive */
static u32 fb_engine_outstanding(const struct fb_engine *e)
{
	const struct fb_engine_rq *rq;
	u32 n = e->pool.count;

	list_for_each_entry(rq, &e->flight, flight)
		n += fb_engine_is_foreground(rq);
	return n;
}

/*
 * Is too much unmapped to order a deep foreground by the map? Beside a scan of nearline16 ten
 * outstanding requests lose 1 % where all is mapped, 4 % with one LBN in ten unmapped, 14 % with
 * two in three.
 */
static bool fb_engine_is_blind(const struct fb_engine *e)
{
	const struct dm_info *info;

	if (!e->dm)
		return false;
	info = dm_info(e->dm);
	return (info->sectors - info->mapped) * FB_ENGINE_HOLES > info->sectors &&
	       fb_engine_outstanding(e) > FB_ORDERS_SHALLOW;
}

/* does the drive order, as far as streams and wanted blocks decide it? */
static bool fb_engine_is_drives(struct fb_engine *e, u64 now_ns)
{
	struct fb_orders_view v = {
		.now_ns = now_ns,
		.outstanding = e->pool.count + e->nr_flight,
		.blind = fb_engine_is_blind(e),
	};

	e->ops->view(e, &v);
	/* the policy keeps to deadlines, the drive need not */
	if (fb_orders_is_stream(&e->orders, now_ns) && fb_engine_is_overdue(e, now_ns))
		e->orders.stream = false;
	return fb_orders_decide(&e->orders, &v);
}

static void fb_engine_flip(struct fb_engine *e)
{
	struct fb_engine_rq *rq;

	e->drive_orders = !e->drive_orders;
	e->window_ns = 0;
	e->lifts = 0;
	fb_engine_void(e);
	fb_order_cost_lost(e->round.order_cost);
	/* an idle read is alone */
	if (e->nr_flight == e->nr_idle)
		return;
	/* the drive may do now what it has in another order than predicted */
	e->tail_known = false;
	fb_head_lose(&e->head);
	list_for_each_entry(rq, &e->flight, flight)
		if (rq->cmd.cause != FB_CAUSE_IDLE)
			rq->cmd.start_ns = 0;
}

/*
 * With depth auto the drive orders while no free read is wanted or the foreground is a stream, most
 * of the time while few blocks are wanted and the foreground is deep (core/orders.h), and while its
 * write cache takes writes at once (core/destage.h); with any depth while no map is used or the
 * phase is given up (core/phase.h).
 */
bool fb_engine_decide(struct fb_engine *e, u64 now_ns)
{
	bool alone = fb_orders_is_random(&e->orders) && fb_engine_outstanding(e) < 2;
	bool drives = fb_engine_is_drives(e, now_ns) || fb_destage_orders(e->destage, alone);
	bool changed;

	drives = (e->auto_depth && drives) || e->ops->unmapped(e) || e->ops->unphased(e, now_ns);
	changed = drives != e->drive_orders;
	if (changed)
		fb_engine_flip(e);
	e->ops->decided(e, changed);
	return changed;
}
