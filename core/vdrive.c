// SPDX-License-Identifier: GPL-2.0
/*
 * What a drive would do with some requests; see core/vdrive.h. Calls: core/head.c, disk_model.c.
 * Core: no locks, the caller serialises.
 */
#include "core/vdrive.h"

void fb_vdrive_clear(struct fb_vdrive *v, const struct dm_place *at, u64 now)
{
	v->at = *at;
	v->free_ns = now;
	v->n = 0;
}

bool fb_vdrive_add(struct fb_vdrive *v, const struct disk_model *dm,
		   const struct fb_idle_cost_req *req, bool cached)
{
	struct fb_vdrive_req *r = v->n ? &v->queue[v->n - 1] : NULL;

	if (cached && r && r->cached && r->req.write == req->write &&
	    r->req.lbn + r->req.nsect == req->lbn && r->req.nsect < FB_VDRIVE_JOIN) {
		r->req.nsect += req->nsect;
		return true;
	}
	if (v->n == FB_VDRIVE_QUEUE)
		return false;
	r = &v->queue[v->n];
	r->req = *req;
	r->cached = cached;
	if (dm_place_of(dm, req->lbn, &r->start))
		return false;
	v->n++;
	return true;
}

u32 fb_vdrive_find(const struct fb_vdrive *v, const struct fb_idle_cost_req *req)
{
	u32 i = v->n;

	/* it has come lately */
	while (i--)
		if (v->queue[i].req.lbn == req->lbn &&
		    v->queue[i].req.arrived_ns == req->arrived_ns)
			return i;
	return v->n;
}

void fb_vdrive_take_out(struct fb_vdrive *v, u32 i)
{
	v->n--;
	memmove(&v->queue[i], &v->queue[i + 1], (v->n - i) * sizeof(v->queue[0]));
}

/* when the drive could move its arm for a request, were it idle */
static u64 fb_vdrive_ready_ns(const struct fb_head *head, const struct fb_idle_cost_req *req)
{
	const struct dm_info *info = dm_info(head->dm);

	return req->arrived_ns + (req->write ? info->write_overhead_ns : info->read_overhead_ns);
}

/* when the next service begins */
static u64 fb_vdrive_begin_ns(const struct fb_vdrive *v, const struct fb_head *head)
{
	u64 ready_ns = U64_MAX;
	u32 i;

	for (i = 0; i < min(v->n, FB_VDRIVE_DEPTH); i++)
		ready_ns = min(ready_ns, fb_vdrive_ready_ns(head, &v->queue[i].req));
	return max(ready_ns, v->free_ns);
}

/* what the drive wants least of in the next one */
static u64 fb_vdrive_cost(const struct fb_vdrive *v, const struct fb_head *head,
			  const struct dm_place *from, const struct fb_vdrive_req *r)
{
	u64 seek_ns, latency_ns;

	switch (v->rule) {
	case FB_DRIVE_ORDER_ADDRESS:
		return fb_drive_order_cost(v->next_lbn, r->req.lbn);
	case FB_DRIVE_ORDER_ARRIVAL:
		return r->req.arrived_ns;
	default:
		dm_position(head->dm, from, &r->start, r->req.write, &seek_ns, &latency_ns);
		return seek_ns + latency_ns;
	}
}

/* of those that the drive has got and that are ready, the one that it takes */
static u32 fb_vdrive_choose(const struct fb_vdrive *v, const struct fb_head *head,
			    const struct dm_place *from, u64 begin_ns)
{
	u64 cost, best_cost = U64_MAX;
	u32 i, best = 0;

	for (i = 0; i < min(v->n, FB_VDRIVE_DEPTH); i++) {
		if (fb_vdrive_ready_ns(head, &v->queue[i].req) > begin_ns)
			continue;
		cost = fb_vdrive_cost(v, head, from, &v->queue[i]);
		if (cost >= best_cost)
			continue;
		best_cost = cost;
		best = i;
	}
	return best;
}

bool fb_vdrive_serve(struct fb_vdrive *v, const struct fb_head *head, u64 now,
		     struct fb_vdrive_req *out)
{
	u64 begin_ns = fb_vdrive_begin_ns(v, head);
	struct dm_place from = v->at;
	struct dm_access acc;
	u32 i;

	if (!v->n || begin_ns > now || !head->anchored)
		return false;
	from.angle = fb_head_angle(head, begin_ns);
	i = fb_vdrive_choose(v, head, &from, begin_ns);
	*out = v->queue[i];
	/* it is in no place only if the model has changed, which begins anew: it stays till then */
	if (dm_access(head->dm, &from, out->req.lbn, out->req.nsect, out->req.write, &acc))
		return false;
	fb_vdrive_take_out(v, i);
	v->at = acc.end;
	v->next_lbn = out->req.lbn + out->req.nsect;
	v->free_ns = begin_ns + acc.total_ns;
	return true;
}
