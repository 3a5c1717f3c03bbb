// SPDX-License-Identifier: GPL-2.0
/* Who orders the foreground; see core/orders.h. Core. */
#include "core/orders.h"

/*
 * A foreground is a stream when 7 of 8 of its last requests went on one, which takes 33 at first,
 * and no more when fewer than 3 of 4 do, or when none has for a second.
 */
#define FB_ORDERS_MEASURE 32
#define FB_ORDERS_SHIFT 4
#define FB_ORDERS_ENTER (FB_ONE - FB_ORDERS_RANDOM)
#define FB_ORDERS_LEAVE (FB_ONE - FB_ONE / 4)
#define FB_ORDERS_STREAM_NS NSEC_PER_SEC
/* it is random while no more than 1 of 8 do, alone or not */
#define FB_ORDERS_RANDOM (FB_ONE / 8)

/*
 * Few blocks. Beside more than FB_ORDERS_SHALLOW outstanding, taking the order costs: the drive
 * first has to end all that it has but one command, some 50 ms at a lower rate.
 */
#define FB_ORDERS_KEEP_NS NSEC_PER_SEC
#define FB_ORDERS_PAUSE_NS (15 * FB_ORDERS_KEEP_NS)
#define FB_ORDERS_MANY_PART 16	/* of a small disk */

/* ---- streams ---- */

/* which stream a request goes on; FB_ORDERS_STREAMS: none */
static u32 fb_orders_stream_of(const struct fb_orders *o, u64 lbn)
{
	u32 i = 0;

	while (i < FB_ORDERS_STREAMS && o->end[i] != lbn)
		i++;
	return i;
}

/* does a request go on a stream? The ends move up, and what was served least recently goes */
static bool fb_orders_follow(struct fb_orders *o, u64 lbn, u32 nsect)
{
	u32 i = fb_orders_stream_of(o, lbn);
	bool goes_on = i < FB_ORDERS_STREAMS;

	i = min_t(u32, i, FB_ORDERS_STREAMS - 1);
	memmove(&o->end[1], &o->end[0], i * sizeof(o->end[0]));
	o->end[0] = lbn + nsect;
	return goes_on;
}

bool fb_orders_is_stream(const struct fb_orders *o, u64 now_ns)
{
	return o->stream && now_ns < o->stream_ns;
}

bool fb_orders_sent(struct fb_orders *o, u64 lbn, u32 nsect, bool alone, u64 now_ns)
{
	bool follows = fb_orders_follow(o, lbn, nsect), goes_on = follows && !alone;
	bool was = fb_orders_is_stream(o, now_ns);

	o->measured += o->measured < FB_ORDERS_MEASURE;
	o->follow -= o->follow >> FB_ORDERS_SHIFT;
	o->follow += follows ? FB_ONE >> FB_ORDERS_SHIFT : 0;
	o->share -= o->share >> FB_ORDERS_SHIFT;
	o->share += goes_on ? FB_ONE >> FB_ORDERS_SHIFT : 0;
	o->stream = o->share >= (was ? FB_ORDERS_LEAVE : FB_ORDERS_ENTER);
	if (goes_on)
		o->stream_ns = now_ns + FB_ORDERS_STREAM_NS;
	return !was && fb_orders_is_stream(o, now_ns);
}

bool fb_orders_is_random(const struct fb_orders *o)
{
	return o->measured == FB_ORDERS_MEASURE && o->follow <= FB_ORDERS_RANDOM;
}

bool fb_orders_may_wait(const struct fb_orders *o, u64 lbn)
{
	return o->measured == FB_ORDERS_MEASURE &&
	       fb_orders_stream_of(o, lbn) == FB_ORDERS_STREAMS;
}

/* ---- wanted blocks ---- */

/* the policy's order costs what is not worth it */
static bool fb_orders_costs(const struct fb_orders *o, const struct fb_orders_view *v)
{
	return !o->many && v->outstanding > FB_ORDERS_SHALLOW;
}

static void fb_orders_keep(struct fb_orders *o, const struct fb_orders_view *v)
{
	bool costs = fb_orders_costs(o, v);

	if (v->wanted && !costs)
		o->keep_ns = v->now_ns + FB_ORDERS_KEEP_NS;
	if (v->tasks && v->now_ns < o->keep_ns)
		return;
	o->taken = false;
	if (costs)
		o->retake_ns = v->now_ns + FB_ORDERS_PAUSE_NS;
}

static u64 fb_orders_due_ns(const struct fb_orders *o, const struct fb_orders_view *v)
{
	if (fb_orders_is_stream(o, v->now_ns))
		return o->stream_ns;
	if (!o->taken)
		return v->wanted ? o->retake_ns : 0;
	return !v->wanted || fb_orders_costs(o, v) ? o->keep_ns : 0;
}

bool fb_orders_decide(struct fb_orders *o, const struct fb_orders_view *v)
{
	u64 many = min_t(u64, FB_ORDERS_MANY, v->blocks / FB_ORDERS_MANY_PART);

	o->due_ns = 0;
	if (v->withheld)
		return true;
	/* each change of hands loses the head: one that varies about the bound has one a second */
	if (v->blind && v->now_ns >= o->blind_ns)
		o->blind_ns = v->now_ns + FB_ORDERS_KEEP_NS;
	if (v->blind || v->now_ns < o->blind_ns) {
		o->taken = false;
		o->due_ns = v->blind ? 0 : o->blind_ns;
		return true;
	}
	o->many = v->wanted && (o->many || v->wanted >= many);
	if (o->taken) {
		fb_orders_keep(o, v);
	} else if (v->wanted && (!fb_orders_costs(o, v) || v->now_ns >= o->retake_ns)) {
		o->taken = true;
		o->keep_ns = v->now_ns + FB_ORDERS_KEEP_NS;
	}
	o->due_ns = fb_orders_due_ns(o, v);
	return !o->taken || fb_orders_is_stream(o, v->now_ns);
}
