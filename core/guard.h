/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The guard stops free reads that cost the foreground too many turns, for a pause that doubles each
 * time. It sums up what they cost beyond the bound, from 0 on (a CUSUM test). Core; the caller
 * serialises.
 */
#ifndef FB_GUARD_H
#define FB_GUARD_H

#include "include/fb_shim.h"

/*
 * Free reads stop at this many lost turns beyond the bound. By chance that comes once in years if
 * they cost half of the bound, and every few minutes if they cost all of it.
 */
#define FB_GUARD_EXCESS 16
#define FB_GUARD_PAUSE_NS (10ULL * NSEC_PER_SEC)
#define FB_GUARD_PAUSE_MAX_NS (640ULL * NSEC_PER_SEC)
#define FB_GUARD_CALM_NS FB_PAUSE_NS	/* trouble-free time that resets the pause */

/* What a drive does not bear is tried again after this, which doubles each time ... */
#define FB_PAUSE_NS (60ULL * NSEC_PER_SEC)
#define FB_PAUSE_MAX_NS (3600ULL * NSEC_PER_SEC)	/* ... up to this */

struct fb_guard {
	s64 excess;			/* turns lost beyond the bound, millionths; not below 0 */
	u64 off_until_ns;		/* free reads are off until then; 0: they are on */
	u64 on_since_ns;		/* when they came on */
	u64 pause_ns;			/* length of the next pause */
	u64 trips;			/* times it switched free reads off */
};

void fb_guard_init(struct fb_guard *g);
bool fb_guard_count(struct fb_guard *g, u64 now_ns, u32 fg, u32 missed, u32 bound_ppm);
bool fb_guard_on(struct fb_guard *g, u64 now_ns);

#endif /* FB_GUARD_H */
