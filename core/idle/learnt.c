// SPDX-License-Identifier: GPL-2.0
/* What is learnt for idle reads by measured times alone; see core/idle/learnt.h. */
#include "core/idle/learnt.h"

/* ---- the account ---- */

#define FB_IDLE_ACCOUNT_PRIOR_US 100000U	/* all wait the whole rest, with this weight */
#define FB_IDLE_ACCOUNT_FADES_US 10000000U	/* sum at which the past counts half */

/* error recovery of a sector that could be read in the end looks the same: reads pause, too */
#define FB_IDLE_ACCOUNT_STALL_NS (500ULL * NSEC_PER_MSEC)
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

void fb_idle_times_add(struct fb_idle_times *t, enum fb_idle_times_class class, u32 nsect, u64 ns,
		       bool clean)
{
	u64 us = min_t(u64, div_u64(ns, NSEC_PER_USEC), FB_IDLE_TIMES_MOST_US);
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

u64 fb_idle_times_usual_ns(const struct fb_idle_times *t, enum fb_idle_times_class class)
{
	const struct fb_idle_time *of = &t->of[class];

	if (of->clean < FB_IDLE_TIMES_KNOWN)
		return 0;
	return div_u64(of->clean_us * NSEC_PER_USEC, of->clean);
}

/* who comes at any time comes to a long read more often: the mean rest is E[x^2] / 2 E[x] */
bool fb_idle_times_mean(const struct fb_idle_times *t, enum fb_idle_times_class class,
			struct fb_idle_times_mean *m)
{
	const struct fb_idle_time *of = &t->of[class];

	if (of->n < FB_IDLE_TIMES_KNOWN)
		return false;
	m->ns = max_t(u64, div_u64(of->us * NSEC_PER_USEC, of->n), 1);
	m->rest_ns = mul_u64_u64_div_u64(of->sq, NSEC_PER_USEC,
					 2 * max_t(u64, of->us, 1));
	m->sectors = div_u64(of->sectors, of->n);
	return true;
}

/* ---- places ---- */

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
	u64 us = div_u64(ns, NSEC_PER_USEC);
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
