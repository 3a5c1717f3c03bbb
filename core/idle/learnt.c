// SPDX-License-Identifier: GPL-2.0
/* What is learnt for idle reads by measured times alone; see core/idle/learnt.h. */
#include "core/idle/learnt.h"

/* ---- the account ---- */

#define FB_IDLE_ACCOUNT_PRIOR_US 100000U	/* all wait the whole rest, with this weight */
#define FB_IDLE_ACCOUNT_FADES_US 10000000U	/* sum at which the past counts half */

/* error recovery of a sector that could be read in the end looks the same: reads pause, too */
#define FB_IDLE_ACCOUNT_STALL_NS (NSEC_PER_SEC / 2)
#define FB_IDLE_ACCOUNT_PAUSE_NS (60ULL * NSEC_PER_SEC)	/* longest pause behind a stall */

static bool fb_idle_account_stall(struct fb_idle_account *a, u64 now, u64 took_ns)
{
	if (took_ns < FB_IDLE_ACCOUNT_STALL_NS)
		return false;
	a->stall_ns = now;
	return true;
}

bool fb_idle_account_read_stalled(struct fb_idle_account *a, u64 now, u64 took_ns)
{
	bool stall = fb_idle_account_stall(a, now, took_ns);

	if (stall)
		a->pause_ns = now + min(took_ns, FB_IDLE_ACCOUNT_PAUSE_NS);
	return stall;
}

bool fb_idle_account_stalled(const struct fb_idle_account *a, u64 since_ns)
{
	return a->stall_ns > since_ns;
}

void fb_idle_account_read(struct fb_idle_account *a, u64 now, u64 ours_ns)
{
	a->free_ns = now;
	a->without_ns = max(a->without_ns, now - min(ours_ns, now));
}

u64 fb_idle_account_took_ns(const struct fb_idle_account *a, u64 now, u64 arrived_ns)
{
	return now - min(max(arrived_ns, a->free_ns), now);
}

s64 fb_idle_account_served(struct fb_idle_account *a, u64 now, u64 arrived_ns, s64 lost_ns)
{
	u64 took_ns = fb_idle_account_took_ns(a, now, arrived_ns);

	fb_idle_account_stall(a, now, took_ns);
	a->free_ns = now;
	a->without_ns = min(max(a->without_ns, arrived_ns) + took_ns, now) - lost_ns;
	return now - a->without_ns;
}

void fb_idle_account_period(struct fb_idle_account *a, u64 charge_ns, u32 requests, u64 rest_ns)
{
	a->charge_us += div_u64(charge_ns, NSEC_PER_USEC);
	a->most_us += div_u64(requests * rest_ns, NSEC_PER_USEC);
	if (a->most_us < FB_IDLE_ACCOUNT_FADES_US)
		return;
	a->charge_us /= 2;
	a->most_us /= 2;
}

u32 fb_idle_account_ratio(const struct fb_idle_account *a)
{
	u64 ratio = div64_u64((a->charge_us + FB_IDLE_ACCOUNT_PRIOR_US) * FB_IDLE_ACCOUNT_ONE,
			      a->most_us + FB_IDLE_ACCOUNT_PRIOR_US);

	return clamp_t(u64, ratio, FB_IDLE_ACCOUNT_ONE / 8, FB_IDLE_ACCOUNT_ONE * 4);
}

/* ---- times ---- */

#define FB_IDLE_TIMES_MOST_US USEC_PER_SEC	/* what takes longer is error recovery */
#define FB_IDLE_TIMES_FADES (8 * FB_IDLE_FADES)

void fb_idle_times_add(struct fb_idle_times *t, enum fb_idle_times_class class, u64 ns, bool clean)
{
	u64 us = min_t(u64, div_u64(ns, NSEC_PER_USEC), FB_IDLE_TIMES_MOST_US);
	struct fb_idle_time *of = &t->of[class];

	of->us += us;
	of->sq += us * us;
	of->clean += clean;
	of->clean_us += clean ? us : 0;
	if (++of->n < FB_IDLE_TIMES_FADES)
		return;
	of->n /= 2;
	of->us /= 2;
	of->sq /= 2;
	of->clean /= 2;
	of->clean_us /= 2;
}

u64 fb_idle_times_usual_ns(const struct fb_idle_times *t, enum fb_idle_times_class class)
{
	const struct fb_idle_time *of = &t->of[class];

	return of->clean < FB_IDLE_KNOWN ? 0 : div_u64(of->clean_us * NSEC_PER_USEC, of->clean);
}

/* who comes at any time comes to a long read more often: the mean rest is E[x^2] / 2 E[x] */
u64 fb_idle_times_rest_ns(const struct fb_idle_times *t, enum fb_idle_times_class class)
{
	const struct fb_idle_time *of = &t->of[class];

	if (of->n < FB_IDLE_KNOWN)
		return 0;
	return max_t(u64, mul_u64_u64_div_u64(of->sq, NSEC_PER_USEC, 2 * max_t(u64, of->us, 1)), 1);
}

/* ---- places ---- */

#define FB_IDLE_PLACE_MOST_NS (100 * NSEC_PER_MSEC)	/* error recovery says nothing */
#define FB_IDLE_PLACE_TRY 512		/* one choice in so many tries another length ... */
#define FB_IDLE_PLACE_TRY_NEW 8		/* ... and while not all are known */
#define FB_IDLE_PLACE_WORTH 8		/* to leave out more must save 1 / this */

/* the shortest length that no longer one is clearly better than */
static u32 fb_idle_place_best(const struct fb_mean *arm)
{
	s64 best_ns = fb_mean_ns(&arm[0]), ns;
	u32 best = 0, i;

	for (i = 1; i < FB_IDLE_PLACE_SKIPS && arm[0].n >= FB_IDLE_KNOWN; i++) {
		ns = fb_mean_ns(&arm[i]);
		if (arm[i].n < FB_IDLE_KNOWN || ns + ns / FB_IDLE_PLACE_WORTH >= best_ns)
			continue;
		best = i;
		best_ns = ns;
	}
	return best;
}

bool fb_idle_place_ahead(const struct fb_idle_place *p)
{
	return !fb_idle_place_best(p->arm[FB_IDLE_PLACE_ON]);
}

u32 fb_idle_place_choose(struct fb_idle_place *p, enum fb_idle_place_behind behind)
{
	u32 of = FB_IDLE_PLACE_TRY, n, i;

	p->behind = behind;
	p->skip = 0;
	if (behind == FB_IDLE_PLACE_KINDS)
		return 0;
	for (i = 0; i < FB_IDLE_PLACE_SKIPS; i++)
		if (p->arm[behind][i].n < FB_IDLE_KNOWN)
			of = FB_IDLE_PLACE_TRY_NEW;
	n = ++p->tries[behind];
	p->skip = n % of ? fb_idle_place_best(p->arm[behind]) : n / of % FB_IDLE_PLACE_SKIPS;
	return p->skip;
}

void fb_idle_place_ended(struct fb_idle_place *p, u64 ns)
{
	if (p->behind != FB_IDLE_PLACE_KINDS)
		fb_mean_add(&p->arm[p->behind][p->skip], min_t(u64, ns, FB_IDLE_PLACE_MOST_NS),
			    FB_IDLE_FADES);
}
