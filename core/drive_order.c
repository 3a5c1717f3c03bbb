// SPDX-License-Identifier: GPL-2.0
/*
 * In which order a drive takes its commands; see core/drive_order.h. Core: no locks, the caller
 * serialises.
 */
#include "core/drive_order.h"

#define FB_DRIVE_ORDER_LEAST 2	/* one alone tells nothing */
#define FB_DRIVE_ORDER_KNOWN 32	/* least ends by which a rule is believed ... */
#define FB_DRIVE_ORDER_WRONG 8	/* ... if less than one in so many is against it */
#define FB_DRIVE_ORDER_FADES 128	/* ends after which they count half */
/* what ends within this part of a turn behind the one before may have come from the cache */
#define FB_DRIVE_ORDER_HIT_PART 8

const char *const fb_drive_order_name[FB_DRIVE_ORDER_RULES] = {
	[FB_DRIVE_ORDER_NEAREST] = "nearest",
	[FB_DRIVE_ORDER_ADDRESS] = "address",
	[FB_DRIVE_ORDER_ARRIVAL] = "arrival",
};

void fb_drive_order_arrived(struct fb_drive_order *o, const struct fb_idle_cost_req *req)
{
	/* the drive has more than we can look at */
	if (o->n == FB_DRIVE_ORDER_MOST)
		fb_drive_order_forget(o);
	o->waits[o->n++] = *req;
}

/* of the first @n, which would be next by address? */
static u32 fb_drive_order_by_address(const struct fb_drive_order *o, u32 n)
{
	u64 cost, best_cost = U64_MAX;
	u32 i, best = 0;

	for (i = 0; i < n; i++) {
		cost = fb_drive_order_cost(o->next_lbn, o->waits[i].lbn);
		if (cost >= best_cost)
			continue;
		best_cost = cost;
		best = i;
	}
	return best;
}

/* the drive has taken one of those that it had when the last one ended */
static void fb_drive_order_learn(struct fb_drive_order *o, u32 taken)
{
	u32 i, n = 0;

	while (n < o->n && o->waits[n].arrived_ns < o->ended_ns)
		n++;
	if (n < FB_DRIVE_ORDER_LEAST || taken >= n)
		return;
	o->tries++;
	o->right[FB_DRIVE_ORDER_ARRIVAL] += !taken;
	o->right[FB_DRIVE_ORDER_ADDRESS] += taken == fb_drive_order_by_address(o, n);
	if (o->tries < FB_DRIVE_ORDER_FADES)
		return;
	o->tries /= 2;
	for (i = 0; i < FB_DRIVE_ORDER_RULES; i++)
		o->right[i] /= 2;
}

/* where is it among those that wait? @o->n: it is not */
static u32 fb_drive_order_at(const struct fb_drive_order *o, const struct fb_idle_cost_req *req)
{
	u32 i;

	for (i = 0; i < o->n; i++)
		if (o->waits[i].lbn == req->lbn && o->waits[i].arrived_ns == req->arrived_ns)
			break;
	return i;
}

static void fb_drive_order_take_out(struct fb_drive_order *o, u32 i)
{
	if (i == o->n)
		return;
	o->n--;
	memmove(&o->waits[i], &o->waits[i + 1], (o->n - i) * sizeof(o->waits[0]));
}

void fb_drive_order_ended(struct fb_drive_order *o, u64 now, const struct fb_idle_cost_req *req)
{
	u64 begun_ns = max(o->last_ns, req->arrived_ns);
	bool hit = now < begun_ns + o->turn_ns / FB_DRIVE_ORDER_HIT_PART;
	u32 i = fb_drive_order_at(o, req);

	if (i < o->n && !hit)
		fb_drive_order_learn(o, i);
	fb_drive_order_take_out(o, i);
	o->last_ns = now;
	if (hit) {
		fb_drive_order_moved(o);
		return;
	}
	o->next_lbn = req->lbn + req->nsect;
	o->ended_ns = now;
}

void fb_drive_order_hit(struct fb_drive_order *o, const struct fb_idle_cost_req *req)
{
	fb_drive_order_take_out(o, fb_drive_order_at(o, req));
}

void fb_drive_order_moved(struct fb_drive_order *o)
{
	o->ended_ns = 0;
}

void fb_drive_order_forget(struct fb_drive_order *o)
{
	o->n = 0;
}

enum fb_drive_order_rule fb_drive_order_rule(const struct fb_drive_order *o)
{
	u32 rule;

	for (rule = FB_DRIVE_ORDER_ADDRESS; rule < FB_DRIVE_ORDER_RULES; rule++)
		if (o->tries >= FB_DRIVE_ORDER_KNOWN &&
		    (o->tries - o->right[rule]) * FB_DRIVE_ORDER_WRONG < o->tries)
			return rule;
	return FB_DRIVE_ORDER_NEAREST;
}
