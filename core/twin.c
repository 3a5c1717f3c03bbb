// SPDX-License-Identifier: GPL-2.0
/*
 * What idle reads cost where the drive orders by itself; see core/twin.h. Calls: core/vdrive.c,
 * core/drive_order.c, core/head.c, disk_model.c. Core: no locks, the caller serialises.
 */
#include "core/twin.h"

void fb_twin_init(struct fb_twin *t, u64 turn_ns)
{
	memset(t, 0, sizeof(*t));
	t->order.turn_ns = turn_ns;
}

static void fb_twin_settle(struct fb_twin *t)
{
	if (t->open)
		return;
	t->later_ns += t->sum_ns;
	t->sum_ns = 0;
}

static void fb_twin_count(struct fb_twin *t, const struct fb_vdrive *v, s64 ns)
{
	t->open--;
	t->sum_ns += v == &t->with ? ns : -ns;
}

/*
 * Those that wait in one of them: they begin when it is free, at the earliest, and what they take
 * then is left out of both.
 */
static void fb_twin_drop(struct fb_twin *t, struct fb_vdrive *v)
{
	u32 i;

	for (i = 0; i < v->n; i++)
		if (!v->queue[i].cached)
			fb_twin_count(t, v, max(v->free_ns, v->queue[i].req.arrived_ns));
	v->n = 0;
}

void fb_twin_lose(struct fb_twin *t)
{
	if (t->follows) {
		fb_twin_drop(t, &t->with);
		fb_twin_drop(t, &t->without);
		fb_twin_settle(t);
	}
	t->follows = false;
	t->reading = false;
	fb_drive_order_forget(&t->order);
}

/* do what one of them has begun by now; what is left over is done at the next event */
static void fb_twin_go_on(struct fb_twin *t, struct fb_vdrive *v, const struct fb_head *head,
			  u64 now)
{
	struct fb_vdrive_req r;
	u32 i;

	for (i = 0; i < FB_VDRIVE_STEPS && fb_vdrive_serve(v, head, now, &r); i++)
		if (!r.cached)
			fb_twin_count(t, v, v->free_ns);
}

static bool fb_twin_is_alike(const struct fb_twin *t, u64 now)
{
	return !t->with.n && !t->without.n && max(t->with.free_ns, t->without.free_ns) <= now &&
	       t->with.at.cyl == t->without.at.cyl && t->with.at.head == t->without.at.head;
}

/* when the idle read ends will tell what the drive had to do besides, for both of them */
static void fb_twin_advance(struct fb_twin *t, const struct fb_head *head, u64 now)
{
	if (t->reading)
		return;
	fb_twin_go_on(t, &t->with, head, now);
	fb_twin_go_on(t, &t->without, head, now);
	fb_twin_settle(t);
	t->alike = fb_twin_is_alike(t, now);
}

/* ---- idle reads ---- */

/* the drive has nothing to do, so that neither of them has: the model errs on what is left */
static void fb_twin_clear(struct fb_twin *t, struct fb_vdrive *v, u64 now)
{
	u32 i;

	for (i = 0; i < v->n; i++)
		if (!v->queue[i].cached)
			fb_twin_count(t, v, now);
	v->n = 0;
}

static void fb_twin_finish(struct fb_twin *t, const struct fb_head *head, u64 now)
{
	fb_twin_advance(t, head, now);
	fb_twin_clear(t, &t->with, now);
	fb_twin_clear(t, &t->without, now);
	fb_twin_settle(t);
}

static void fb_twin_begin(struct fb_twin *t, const struct fb_head *head, u64 now)
{
	t->follows = head->known && fb_head_locked(head, now);
	t->alike = false;
	t->open = 0;
	t->sum_ns = 0;
	fb_vdrive_clear(&t->without, &head->at, now);
	fb_vdrive_clear(&t->with, &head->at, now);
	t->without.rule = fb_drive_order_rule(&t->order);
	t->without.next_lbn = t->order.next_lbn;
	t->with.rule = t->without.rule;
	t->with.next_lbn = t->without.next_lbn;
}

/* when the idle read will end if the drive has nothing else to do */
static u64 fb_twin_due_ns(const struct fb_twin *t, const struct fb_head *head)
{
	const struct dm_info *info = dm_info(t->dm);
	u64 begin_ns = t->sent_ns + info->read_overhead_ns;
	struct dm_place from = t->with.at;
	struct dm_access acc;

	from.angle = fb_head_angle(head, begin_ns);
	if (dm_access(t->dm, &from, t->idle.lbn, t->idle.nsect, false, &acc))
		return 0;
	return begin_ns + acc.total_ns + info->read_report_ns;
}

void fb_twin_sent(struct fb_twin *t, const struct fb_head *head, u64 now, bool begins, u64 lbn,
		  u32 nsect)
{
	bool wrote = t->wrote;

	t->wrote = false;
	fb_drive_order_moved(&t->order);
	/* nobody waits; whose end was not told was merged into another one */
	fb_drive_order_forget(&t->order);
	if (!head) {
		fb_twin_lose(t);
		return;
	}
	if (t->follows && !t->alike)
		fb_twin_finish(t, head, now);
	if (begins || (t->follows && t->alike))
		fb_twin_begin(t, head, now);
	if (!t->follows)
		return;
	t->reading = true;
	t->idle = (struct fb_idle_cost_req) { .lbn = lbn, .nsect = nsect };
	t->dm = head->dm;
	t->sent_ns = now;
	t->due_ns = wrote && head->anchored ? fb_twin_due_ns(t, head) : 0;
}

/*
 * Until when the drive was still writing when the idle read came. Where the head was is believed
 * only, and any command may lose a turn: what is later than that tells. Whether this one has lost a
 * turn besides it does not: it counts for half a turn.
 */
static u64 fb_twin_busy_ns(const struct fb_twin *t, u64 now)
{
	u64 turn_ns = dm_period_ns(t->dm);

	if (!t->due_ns || now < t->due_ns + turn_ns + turn_ns / 2)
		return 0;
	return t->sent_ns + (now - t->due_ns) - turn_ns / 2;
}

void fb_twin_ended(struct fb_twin *t, u64 now)
{
	if (!t->reading)
		return;
	t->reading = false;
	t->with.free_ns = now - dm_info(t->dm)->read_report_ns;
	t->with.next_lbn = t->idle.lbn + t->idle.nsect;
	t->without.free_ns = max(t->without.free_ns, fb_twin_busy_ns(t, now));
	if (dm_place_of(t->dm, t->idle.lbn + t->idle.nsect - 1, &t->with.at))
		fb_twin_lose(t);
}

/* ---- the foreground ---- */

void fb_twin_served(struct fb_twin *t, u64 now, const struct fb_idle_cost_req *req)
{
	fb_drive_order_ended(&t->order, now, req);
	if (!t->reading || req->arrived_ns < t->sent_ns)
		return;
	t->reading = false;
	t->idle.arrived_ns = now;
	if (!fb_vdrive_add(&t->with, t->dm, &t->idle, true))
		fb_twin_lose(t);
}

void fb_twin_arrived(struct fb_twin *t, const struct fb_head *head,
		     const struct fb_idle_cost_req *req, bool cached)
{
	t->wrote |= cached;
	if (!cached)
		fb_drive_order_arrived(&t->order, req);
	if (!t->follows || t->alike)
		return;
	if (!head) {
		fb_twin_lose(t);
		return;
	}
	fb_twin_advance(t, head, req->arrived_ns);
	if (t->alike)
		return;
	/* both get it, or none */
	if (max(t->with.n, t->without.n) == FB_VDRIVE_QUEUE ||
	    !fb_vdrive_add(&t->with, head->dm, req, cached) ||
	    !fb_vdrive_add(&t->without, head->dm, req, cached))
		fb_twin_lose(t);
	else if (!cached)
		t->open += 2;
}

void fb_twin_ahead(struct fb_twin *t, const struct fb_head *head,
		   const struct fb_idle_cost_req *req)
{
	if (!t->follows || t->alike || !head)
		return;
	fb_twin_advance(t, head, req->arrived_ns);
	if (!t->alike && !fb_vdrive_add(&t->with, head->dm, req, true))
		fb_twin_lose(t);
}

void fb_twin_hit(struct fb_twin *t, const struct fb_idle_cost_req *req)
{
	u32 with, without;

	fb_drive_order_hit(&t->order, req);
	with = fb_vdrive_find(&t->with, req);
	if (!t->follows || with == t->with.n)
		return;
	if (!t->with.queue[with].cached) {
		without = fb_vdrive_find(&t->without, req);
		/* it has ended there */
		if (without == t->without.n)
			return;
		fb_vdrive_take_out(&t->without, without);
		t->open -= 2;
	}
	fb_vdrive_take_out(&t->with, with);
}

s64 fb_twin_take(struct fb_twin *t)
{
	s64 ns = t->later_ns;

	t->later_ns = 0;
	return ns;
}
