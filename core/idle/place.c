// SPDX-License-Identifier: GPL-2.0
/* How much an idle read leaves out; see core/idle/place.h. */
#include "core/idle/place.h"

#define FB_IDLE_PLACE_NS_PER_US 1000U
#define FB_IDLE_PLACE_AGE 256		/* reads after which they count half */
#define FB_IDLE_PLACE_KNOWN 8		/* least reads for a mean */
#define FB_IDLE_PLACE_MOST_US 100000U	/* error recovery says nothing */
#define FB_IDLE_PLACE_TRY 512		/* one choice in so many tries another length ... */
#define FB_IDLE_PLACE_TRY_NEW 8		/* ... and while not all are known */
#define FB_IDLE_PLACE_WORTH 8		/* to leave out more must save 1 / this */

static u64 fb_idle_place_us(const struct fb_idle_place_arm *a)
{
	return div_u64(a->us, max(a->n, 1U));
}

/* the shortest length that no longer one is clearly better than */
static u32 fb_idle_place_best(const struct fb_idle_place_arm *arm)
{
	u64 best_us = fb_idle_place_us(&arm[0]), us;
	u32 best = 0, i;

	for (i = 1; i < FB_IDLE_PLACE_SKIPS && arm[0].n >= FB_IDLE_PLACE_KNOWN; i++) {
		us = fb_idle_place_us(&arm[i]);
		if (arm[i].n < FB_IDLE_PLACE_KNOWN ||
		    us + us / FB_IDLE_PLACE_WORTH >= best_us)
			continue;
		best = i;
		best_us = us;
	}
	return best;
}

static bool fb_idle_place_knows(const struct fb_idle_place_arm *arm)
{
	u32 i;

	for (i = 0; i < FB_IDLE_PLACE_SKIPS && arm[i].n >= FB_IDLE_PLACE_KNOWN; i++)
		;
	return i == FB_IDLE_PLACE_SKIPS;
}

bool fb_idle_place_ahead(const struct fb_idle_place *p)
{
	return !fb_idle_place_best(p->arm[FB_IDLE_PLACE_ON]);
}

u32 fb_idle_place_choose(struct fb_idle_place *p, enum fb_idle_place_behind behind)
{
	const struct fb_idle_place_arm *arm;
	u32 of, n;

	p->behind = behind;
	p->skip = 0;
	if (behind == FB_IDLE_PLACE_KINDS)
		return 0;
	arm = p->arm[behind];
	of = fb_idle_place_knows(arm) ? FB_IDLE_PLACE_TRY : FB_IDLE_PLACE_TRY_NEW;
	n = ++p->tries[behind];
	p->skip = n % of ? fb_idle_place_best(arm) : n / of % FB_IDLE_PLACE_SKIPS;
	return p->skip;
}

void fb_idle_place_ended(struct fb_idle_place *p, u64 ns)
{
	u64 us = div_u64(ns, FB_IDLE_PLACE_NS_PER_US);
	struct fb_idle_place_arm *a;

	if (p->behind == FB_IDLE_PLACE_KINDS)
		return;
	a = &p->arm[p->behind][p->skip];
	a->us += min_t(u64, us, FB_IDLE_PLACE_MOST_US);
	if (++a->n < FB_IDLE_PLACE_AGE)
		return;
	a->us /= 2;
	a->n /= 2;
}
