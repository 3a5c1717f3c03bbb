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

/* has a request been pending or at the drive for longer than it may? */
static bool fb_engine_is_overdue(const struct fb_engine *e, u64 now_ns)
{
	const struct fb_engine_rq *rq;

	list_for_each_entry(rq, &e->flight, flight)
		if (fb_engine_is_foreground(rq) && rq->fg.deadline_ns &&
		    rq->fg.deadline_ns < now_ns)
			return true;
	return fb_policy_is_overdue(&e->pool, now_ns);
}

static bool fb_engine_is_deep(const struct fb_engine *e)
{
	const struct fb_engine_rq *rq;
	u32 n = e->pool.count;

	list_for_each_entry(rq, &e->flight, flight)
		n += fb_engine_is_foreground(rq);
	return n > FB_ORDERS_SHALLOW;
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
	       fb_engine_is_deep(e);
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
	if (fb_orders_is_stream(&e->orders, now_ns) && fb_engine_is_overdue(e, now_ns))
		fb_orders_overdue(&e->orders);
	return fb_orders_decide(&e->orders, &v);
}

/* the drive may do now what it has in another order than was predicted; idle reads are alone */
static void fb_engine_doubt(struct fb_engine *e)
{
	struct fb_engine_rq *rq;

	list_for_each_entry(rq, &e->flight, flight)
		if (rq->cmd.cause != FB_CAUSE_IDLE)
			rq->cmd.start_ns = 0;
}

static void fb_engine_flip(struct fb_engine *e)
{
	e->drive_orders = !e->drive_orders;
	e->window_ns = 0;
	e->lifts = 0;
	e->tail_known = false;
	fb_engine_void(e);
	fb_head_lose(&e->head);
	fb_engine_doubt(e);
	fb_order_cost_lost(e->round.order_cost);
}

/*
 * With depth auto the drive orders while no free read is wanted or the foreground is a stream,
 * because its own order gives the best response times; while few blocks are wanted, most of the
 * time, if the foreground is deep (core/orders.h); and while its write cache is on and there
 * are writes among the foreground, which would wait here for a place at the drive though the cache
 * takes them at once (core/destage.h). With any depth it orders while no map is used or the phase
 * is given up (core/phase.h). Its head is tracked meanwhile only with such a cache, for idle
 * reads. When free reads are wanted again, nothing is sent until all but one of its commands have
 * ended.
 */
bool fb_engine_decide(struct fb_engine *e, u64 now_ns)
{
	bool drives = fb_engine_is_drives(e, now_ns) || fb_destage_orders(e->destage);
	bool changed;

	drives = (e->auto_depth && drives) || e->ops->unmapped(e) || e->ops->unphased(e, now_ns);
	changed = drives != e->drive_orders;
	if (changed)
		fb_engine_flip(e);
	e->ops->decided(e, changed);
	return changed;
}
