// SPDX-License-Identifier: GPL-2.0
/* Deadlines, and what a task may take to make its own; see core/deadline.h. */
#include "core/deadline.h"

void fb_deadline_begin(struct fb_deadline_rate *p, u64 done, u64 now_ns)
{
	*p = (struct fb_deadline_rate) { .mark_ns = now_ns, .mark_done = done };
}

u64 fb_deadline_due_ns(const struct fb_deadline_rate *p)
{
	return p->mark_ns + FB_DEADLINE_NS;
}

void fb_deadline_measure(struct fb_deadline_rate *p, u64 done, u64 now_ns)
{
	if (now_ns < fb_deadline_due_ns(p))
		return;
	p->rate = div64_u64((done - p->mark_done) * NSEC_PER_SEC, now_ns - p->mark_ns);
	p->rate = max_t(u64, p->rate, 1);
	p->mark_ns = now_ns;
	p->mark_done = done;
}

bool fb_deadline_is_late(const struct fb_deadline_rate *p, u64 left, u64 deadline_ns, u64 now_ns)
{
	if (!deadline_ns || !p->rate || !left)
		return false;
	return now_ns + div64_u64(left, p->rate) * NSEC_PER_SEC > deadline_ns;
}

/* ---- the share ---- */

/* the time in which @ns of credit come in, rounded up */
static u64 fb_deadline_share_time_ns(u64 ns, u32 ppm)
{
	u64 time_ns = mul_u64_u64_div_u64(ns, FB_PPM, ppm);

	return time_ns + (mul_u64_u64_div_u64(time_ns, ppm, FB_PPM) < ns);
}

u64 fb_deadline_next_ns(struct fb_deadline_share *s, u32 ppm, u64 now_ns)
{
	u64 spare_ns;

	if (!ppm)
		return FB_DEADLINE_NEVER;
	/* what was taken is still to come in, by the present share */
	if (ppm != s->ppm && s->full_ns > now_ns)
		s->full_ns = now_ns + mul_u64_u64_div_u64(s->full_ns - now_ns, s->ppm, ppm);
	s->ppm = ppm;
	s->full_ns = max(s->full_ns, now_ns);
	spare_ns = fb_deadline_share_time_ns(FB_DEADLINE_BURST_NS - FB_DEADLINE_READ_NS, ppm);
	return max(s->full_ns, now_ns + spare_ns) - spare_ns;
}

void fb_deadline_charge(struct fb_deadline_share *s, u64 ns)
{
	s->full_ns += fb_deadline_share_time_ns(ns, s->ppm);
}

/* ---- the pace ---- */

void fb_deadline_keep_pace(struct fb_deadline_pace *p, u32 kib_s, u64 sectors, u64 now_ns)
{
	bool shut = p->open_ns;

	if (!kib_s || kib_s != p->kib_s) {
		*p = (struct fb_deadline_pace) { .kib_s = kib_s, .at_ns = now_ns };
		shut = kib_s;
	} else {
		p->credit_ns -= div_u64(sectors * (NSEC_PER_SEC / 2), kib_s);
	}
	if (now_ns > p->at_ns) {
		p->credit_ns = min_t(s64, p->credit_ns + (now_ns - p->at_ns),
				     2 * FB_DEADLINE_GO_NS);
		p->at_ns = now_ns;
	}
	/* what one go lacks at its end, as none was idle long enough, the next one has */
	if (kib_s && p->credit_ns < (shut ? (s64)FB_DEADLINE_GO_NS : 1))
		p->open_ns = p->at_ns + FB_DEADLINE_GO_NS - p->credit_ns;
	else
		p->open_ns = 0;
}
