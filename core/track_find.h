/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What one track offers to a part of a gap (freeblock paper, 4.3). Only core/search.c uses
 * this; it decides which tracks to look at. Core.
 */
#ifndef FB_TRACK_FIND_H
#define FB_TRACK_FIND_H

#include "core/plan.h"

/* Get the region of a cylinder. Return: its number, below FB_REGIONS. */
static inline u32 fb_track_find_region(const struct fb_search *s, u32 cyl)
{
	/* DM_CYLINDERS_MAX times FB_REGIONS is 2^30 */
	return cyl * FB_REGIONS / s->cylinders;
}

/* Get what a granule of a cylinder is worth. Return: FB_WEIGHT_ONE when all are worth the same. */
static inline u32 fb_track_find_weight(const struct fb_search *s, u32 cyl)
{
	return s->lim.weight ? s->lim.weight[fb_track_find_region(s, cyl)] : FB_WEIGHT_ONE;
}

/* Conservatism of a leg, ns; @moves: to another cylinder. */
static inline u64 fb_track_find_con_ns(const struct fb_search *s, bool moves)
{
	return moves || !s->lim.still_ns ? s->lim.conservatism_ns : s->lim.still_ns;
}

/*
 * Time left of a hop for waiting and reading, after both legs; @con_ns: the first's conservatism.
 */
u64 fb_track_find_usable_ns(const struct fb_search *s, u64 legs_ns, u64 con_ns);

/* How many granules, of @granule_ns at least, pass in a time, but for one that ends elsewhere. */
static inline u32 fb_track_find_passing(u64 usable_ns, u64 granule_ns)
{
	/* the rounding of angles may lengthen the time by some ns */
	return div64_u64(usable_ns + 64, granule_ns);
}

/* The value of the longest read where granules are worth most: no separate read has more. */
u64 fb_track_find_most(const struct fb_search *s);

/* How many granules of this weight a track must have to beat the hop's best piece. */
u32 fb_track_find_need(const struct fb_search *s, u32 weight);

/* The same, kept in @need for repeated calls. */
static inline u32 fb_track_find_need_cached(const struct fb_search *s, struct fb_need *need,
					    u32 weight)
{
	if (need->weight != weight || need->value != s->find.value) {
		need->weight = weight;
		need->value = s->find.value;
		need->granules = fb_track_find_need(s, weight);
	}
	return need->granules;
}

/* What @wanted of a track's @left granules are worth; more for more, but not for more left. */
u64 fb_track_find_worth(const struct fb_search *s, u32 weight, u32 left, u32 wanted);

/* What reading anything at all costs, in a plan's value: alone the foreground may gain a turn. */
u64 fb_track_find_fixed_cost(const struct fb_search *s);

/* Look for a piece to prepend to the foreground request; @s->find and @s->best are the best. */
void fb_track_find_prepend(struct fb_search *s);

/* The same of a track of the cylinder being examined, with @left wanted granules. */
void fb_track_find_track(struct fb_search *s, const struct dm_track *t, u32 left);

#endif /* FB_TRACK_FIND_H */
