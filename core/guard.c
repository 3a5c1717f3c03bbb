// SPDX-License-Identifier: GPL-2.0
/* The guard decides when free reads must stop; see core/guard.h. Core. */
#include "core/guard.h"

void fb_guard_init(struct fb_guard *g)
{
	memset(g, 0, sizeof(*g));
	g->pause_ns = FB_GUARD_PAUSE_NS;
}

static void fb_guard_advance(struct fb_guard *g, u64 now_ns)
{
	u32 second = div_u64(now_ns, NSEC_PER_SEC);

	/* the caller's clock may have been read before its lock was taken */
	if (second <= g->second)
		return;
	g->second = max(g->second, second - min_t(u32, second, FB_GUARD_SECONDS));
	while (g->second < second) {
		g->second++;
		g->fg[g->second % FB_GUARD_SECONDS] = 0;
		g->missed[g->second % FB_GUARD_SECONDS] = 0;
	}
}

/*
 * Are there more misses than @bound_ppm of the foreground requests, by two standard deviations of a
 * Poisson count? Without, chance would stop free reads every twenty minutes.
 */
static bool fb_guard_exceeded(const struct fb_guard *g, u32 bound_ppm)
{
	u64 fg = 0, missed = 0, bound;
	const u32 one = 1000;	/* of these parts, so that the square fits */
	u32 i;

	for (i = 0; i < FB_GUARD_SECONDS; i++) {
		fg += g->fg[i];
		missed += g->missed[i];
	}
	missed *= one;
	bound = div_u64(fg * bound_ppm, FB_PPM / one);
	return missed >= one * FB_GUARD_MIN_MISSES && missed > bound &&
	       (missed - bound) * (missed - bound) > 4 * one * bound;
}

/* Count foreground requests and turns lost through free reads. True: these are off now. */
bool fb_guard_count(struct fb_guard *g, u64 now_ns, u32 fg, u32 missed, u32 bound_ppm)
{
	fb_guard_advance(g, now_ns);
	g->fg[g->second % FB_GUARD_SECONDS] += fg;
	g->missed[g->second % FB_GUARD_SECONDS] += missed;
	if (g->off_until_ns || !fb_guard_exceeded(g, bound_ppm))
		return false;
	if (now_ns - g->on_since_ns > FB_GUARD_CALM_NS)
		g->pause_ns = FB_GUARD_PAUSE_NS;
	g->off_until_ns = now_ns + g->pause_ns;
	g->pause_ns = min_t(u64, 2 * g->pause_ns, FB_GUARD_PAUSE_MAX_NS);
	g->trips++;
	return true;
}

/* Are free reads on? Ends a pause that is over; the window then begins empty. */
bool fb_guard_on(struct fb_guard *g, u64 now_ns)
{
	if (!g->off_until_ns)
		return true;
	if (now_ns < g->off_until_ns)
		return false;
	memset(g->fg, 0, sizeof(g->fg));
	memset(g->missed, 0, sizeof(g->missed));
	g->off_until_ns = 0;
	g->on_since_ns = now_ns;
	return true;
}
