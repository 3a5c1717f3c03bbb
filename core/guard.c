// SPDX-License-Identifier: GPL-2.0
/* The guard decides when free reads must stop; see core/guard.h. Core. */
#include "core/guard.h"

void fb_guard_init(struct fb_guard *g)
{
	memset(g, 0, sizeof(*g));
	g->pause_ns = FB_GUARD_PAUSE_NS;
}

/* Count foreground requests and turns lost through free reads. True: these are off now. */
bool fb_guard_count(struct fb_guard *g, u64 now_ns, u32 fg, u32 missed, u32 bound_ppm)
{
	g->excess = max_t(s64, g->excess + missed * (s64)FB_PPM - fg * (s64)bound_ppm, 0);
	if (g->off_until_ns || g->excess < FB_GUARD_EXCESS * (s64)FB_PPM)
		return false;
	if (now_ns - g->on_since_ns > FB_GUARD_CALM_NS)
		g->pause_ns = FB_GUARD_PAUSE_NS;
	g->off_until_ns = now_ns + g->pause_ns;
	g->pause_ns = min_t(u64, 2 * g->pause_ns, FB_GUARD_PAUSE_MAX_NS);
	g->trips++;
	return true;
}

/* Are free reads on? Ends a pause that is over. */
bool fb_guard_on(struct fb_guard *g, u64 now_ns)
{
	if (!g->off_until_ns)
		return true;
	if (now_ns < g->off_until_ns)
		return false;
	g->excess = 0;
	g->off_until_ns = 0;
	g->on_since_ns = now_ns;
	return true;
}
