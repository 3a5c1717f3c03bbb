// SPDX-License-Identifier: GPL-2.0
/* A bounded share of a disk's time; see core/share.h. */
#include "core/share.h"

#define FB_SHARE_MILLION 1000000

/* the time in which @ns of credit come in, rounded up */
static u64 fb_share_time_ns(u64 ns, u32 ppm)
{
	return div_u64(ns * FB_SHARE_MILLION + ppm - 1, ppm);
}

static void fb_share_fill(struct fb_share *s, u32 ppm, u64 now_ns)
{
	u64 past_ns = now_ns - s->at_ns, gain_ns;

	if (now_ns <= s->at_ns)
		return;
	if (past_ns >= fb_share_time_ns(FB_SHARE_BURST_NS - s->credit_ns, ppm)) {
		s->credit_ns = FB_SHARE_BURST_NS;
		s->at_ns = now_ns;
		return;
	}
	gain_ns = div_u64(past_ns * ppm, FB_SHARE_MILLION);
	/* what is too short for a nanosecond of credit is added up next time */
	if (!gain_ns)
		return;
	s->credit_ns += gain_ns;
	s->at_ns = now_ns;
}

u64 fb_share_due_ns(struct fb_share *s, u32 ppm, u64 now_ns)
{
	if (!ppm)
		return FB_SHARE_NEVER;
	fb_share_fill(s, ppm, now_ns);
	if (s->credit_ns >= FB_SHARE_READ_NS)
		return now_ns;
	return s->at_ns + fb_share_time_ns(FB_SHARE_READ_NS - s->credit_ns, ppm);
}

void fb_share_charge(struct fb_share *s, u64 ns)
{
	s->credit_ns -= ns;
}
