// SPDX-License-Identifier: GPL-2.0
/* What idle reads have cost the foreground; see core/idle/account.h. */
#include "core/idle/account.h"

#define FB_IDLE_ACCOUNT_NS_PER_US 1000U
#define FB_IDLE_ACCOUNT_PRIOR_US 100000U	/* all wait the whole rest, with this weight */
#define FB_IDLE_ACCOUNT_FADES_US 10000000U	/* sum at which the past counts half */

/* error recovery of a sector that could be read in the end looks the same: reads pause, too */
#define FB_IDLE_ACCOUNT_STALL_NS 500000000U
#define FB_IDLE_ACCOUNT_PAUSE_NS 60000000000ULL	/* longest pause behind a stall */

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
	a->charge_us += div_u64(charge_ns, FB_IDLE_ACCOUNT_NS_PER_US);
	a->most_us += div_u64(requests * rest_ns, FB_IDLE_ACCOUNT_NS_PER_US);
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
