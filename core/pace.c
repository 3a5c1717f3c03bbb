// SPDX-License-Identifier: GPL-2.0
/* Rates and deadlines; see core/pace.h. */
#include "core/pace.h"

#define FB_PACE_NS_PER_SEC 1000000000U

void fb_pace_begin(struct fb_pace *p, u64 done, u64 now_ns)
{
	*p = (struct fb_pace) { .mark_ns = now_ns, .mark_done = done };
}

u64 fb_pace_due_ns(const struct fb_pace *p)
{
	return p->mark_ns + FB_PACE_NS;
}

void fb_pace_measure(struct fb_pace *p, u64 done, u64 now_ns)
{
	if (now_ns < fb_pace_due_ns(p))
		return;
	p->rate = div64_u64((done - p->mark_done) * FB_PACE_NS_PER_SEC, now_ns - p->mark_ns);
	p->rate = max_t(u64, p->rate, 1);
	p->mark_ns = now_ns;
	p->mark_done = done;
}

bool fb_pace_is_late(const struct fb_pace *p, u64 left, u64 deadline_ns, u64 now_ns)
{
	if (!deadline_ns || !p->rate || !left)
		return false;
	return now_ns + div64_u64(left, p->rate) * FB_PACE_NS_PER_SEC > deadline_ns;
}
