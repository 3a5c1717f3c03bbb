/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What one track offers to a part of a gap (freeblock paper, 4.3). Only core/search.c uses
 * this; it decides which tracks to look at. Core.
 */
#ifndef FB_TRACK_FIND_H
#define FB_TRACK_FIND_H

#include "core/plan.h"

/* distance in cylinders */
static inline u32 fb_track_find_apart(u32 a, u32 b)
{
	return a > b ? a - b : b - a;
}

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

/* Conservatism of a leg over @cyls cylinders, ns. */
static inline u64 fb_track_find_con_ns(const struct fb_search *s, u32 cyls)
{
	return cyls || !s->lim.still_ns ? s->lim.conservatism_ns : s->lim.still_ns;
}

/**
 * fb_track_find_usable_ns() - get the part of a hop left after the legs to a track and on
 * @s: the search
 * @legs_ns: time of both legs, conservatism included
 * @con_ns: the first leg's conservatism
 * Return: ns left for waiting and reading; may be 0.
 */
u64 fb_track_find_usable_ns(const struct fb_search *s, u64 legs_ns, u64 con_ns);

/*
 * Bound how many granules of a track pass in a time. @granule_ns: no granule of the track takes
 * less. Return: granules; one that ends on the next track is not counted.
 */
static inline u32 fb_track_find_passing(u64 usable_ns, u64 granule_ns)
{
	/* the rounding of angles may lengthen the time by some ns */
	return div64_u64(usable_ns + 64, granule_ns);
}

/**
 * fb_track_find_most() - bound the value of a separate read from above
 * @s: the search
 * Return: the value of the longest read where granules are worth most.
 */
u64 fb_track_find_most(const struct fb_search *s);

/*
 * Get how many granules a track must have to beat the hop's best piece. @weight: weight of the
 * track's granules. Return: granules; fewer cannot be worth more than that piece.
 */
u32 fb_track_find_need(const struct fb_search *s, u32 weight);

/**
 * fb_track_find_need_cached() - get fb_track_find_need(), cached for repeated calls
 * @s: the search
 * @need: where it is kept; whoever asks for another weight keeps it elsewhere
 * @weight: weight of the track's granules
 * Return: as fb_track_find_need().
 */
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

/**
 * fb_track_find_worth() - get what some of a track's granules are worth
 * @s: the search
 * @weight: weight of the track's granules
 * @left: how many are wanted
 * @wanted: how many of these are read
 * Return: their value; more for more of them, but not for more that are left.
 */
u64 fb_track_find_worth(const struct fb_search *s, u32 weight, u32 left, u32 wanted);

/*
 * Get what reading anything at all in the gap costs. If the wait is nearly a whole turn, the
 * foreground alone may arrive early enough to gain that turn, or land within the request and begin
 * there. Return: the cost, in units of a plan's value.
 */
u64 fb_track_find_fixed_cost(const struct fb_search *s);

/**
 * fb_track_find_prepend() - look for a piece to prepend to the foreground request
 * @s: the search; @s->find and @s->best are replaced if it is better
 */
void fb_track_find_prepend(struct fb_search *s);

/**
 * fb_track_find_track() - look for a piece on a track for the current hop
 * @s: the search; @s->find and @s->best are replaced if it is better
 * @t: the track, on the cylinder being examined
 * @left: its wanted granules
 */
void fb_track_find_track(struct fb_search *s, const struct dm_track *t, u32 left);

#endif /* FB_TRACK_FIND_H */
