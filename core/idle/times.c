// SPDX-License-Identifier: GPL-2.0
/* How long idle reads take; see core/idle/times.h. */
#include "core/idle/times.h"

#define FB_IDLE_TIMES_NS_PER_US 1000U
#define FB_IDLE_TIMES_MOST_US 4000000U	/* what takes longer is error recovery */
#define FB_IDLE_TIMES_AGE 2048		/* reads after which they count half */
#define FB_IDLE_TIMES_KNOWN 8		/* least reads for a mean */

static void fb_idle_times_age(struct fb_idle_time *of)
{
	of->n /= 2;
	of->us /= 2;
	of->sq /= 2;
	of->sectors /= 2;
	of->clean /= 2;
	of->clean_us /= 2;
}

void fb_idle_times_add(struct fb_idle_times *t, u32 class, u32 nsect, u64 ns, bool clean)
{
	u64 us = min_t(u64, div_u64(ns, FB_IDLE_TIMES_NS_PER_US), FB_IDLE_TIMES_MOST_US);
	struct fb_idle_time *of = &t->of[class];

	of->n++;
	of->us += us;
	of->sq += us * us;
	of->sectors += nsect;
	of->clean += clean;
	of->clean_us += clean ? us : 0;
	if (of->n >= FB_IDLE_TIMES_AGE)
		fb_idle_times_age(of);
}

u64 fb_idle_times_usual_ns(const struct fb_idle_times *t, u32 class)
{
	const struct fb_idle_time *of = &t->of[class];

	if (of->clean < FB_IDLE_TIMES_KNOWN)
		return 0;
	return div_u64(of->clean_us * FB_IDLE_TIMES_NS_PER_US, of->clean);
}

/* who comes at any time comes to a long read more often: the mean rest is E[x^2] / 2 E[x] */
bool fb_idle_times_mean(const struct fb_idle_times *t, u32 class, struct fb_idle_times_mean *m)
{
	const struct fb_idle_time *of = &t->of[class];

	if (of->n < FB_IDLE_TIMES_KNOWN)
		return false;
	m->ns = max_t(u64, div_u64(of->us * FB_IDLE_TIMES_NS_PER_US, of->n), 1);
	m->rest_ns = mul_u64_u64_div_u64(of->sq, FB_IDLE_TIMES_NS_PER_US,
					 2 * max_t(u64, of->us, 1));
	m->sectors = div_u64(of->sectors, of->n);
	return true;
}
