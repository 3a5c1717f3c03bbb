/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What one track has to offer to a part of a gap (freeblock paper, 4.3): for
 * core/search.c only, which says which tracks to look at. Core.
 */
#ifndef FB_TRACK_FIND_H
#define FB_TRACK_FIND_H

#include "core/plan.h"

/* cylinders from one to the other */
static inline u32 fb_track_find_apart(u32 a, u32 b)
{
	return a > b ? a - b : b - a;
}

/* the first granule that begins at @lbn or later */
static inline u64 fb_granule_first(u32 granule_sectors, u64 lbn)
{
	return div_u64(lbn + granule_sectors - 1, granule_sectors);
}

/* granules that end at or before @end; the disk's last one may be short */
static inline u64 fb_granule_end(const struct disk_model *dm, u32 granule_sectors, u64 end)
{
	if (end >= dm_info(dm)->sectors)
		return fb_granule_first(granule_sectors, dm_info(dm)->sectors);
	return div_u64(end, granule_sectors);
}

/**
 * fb_track_find_weight() - what a granule of a cylinder is worth
 * @s: the search
 * @cyl: the cylinder
 *
 * Return: FB_WEIGHT_ONE when all are worth the same.
 */
static inline u32 fb_track_find_weight(const struct fb_search *s, u32 cyl)
{
	return s->lim.weight ? s->lim.weight[mul_u64_u32_shr(cyl, s->region, 32)] :
			       FB_WEIGHT_ONE;
}

/**
 * fb_track_find_con_ns() - the conservatism of a way, or a lower bound
 * @s: the search
 * @cyls: its length in cylinders
 * @head: another head, or not known
 * @track: the same track, or not known
 *
 * Return: ns; the least of what may apply when it is not known what does.
 */
static inline u64 fb_track_find_con_ns(const struct fb_search *s, u32 cyls, bool head, bool track)
{
	const struct fb_limits *lim = &s->lim;
	u64 con = lim->leg_ns ? lim->leg_ns[fb_conservatism_band(cyls)] : lim->conservatism_ns;

	if (cyls)
		return con;
	if (head && lim->switch_ns)
		con = lim->switch_ns;
	if (track && lim->turn_ns)
		con = head ? min_t(u64, con, lim->turn_ns) : lim->turn_ns;
	return con;
}

/**
 * fb_track_find_con_floor_ns() - a lower bound of the conservatism of ways
 * @s: the search
 * @cyls: their least length in cylinders
 *
 * Return: ns; no way of @cyls cylinders or more has less.
 */
static inline u64 fb_track_find_con_floor_ns(const struct fb_search *s, u32 cyls)
{
	if (s->lim.leg_ns)
		return s->floor_ns[fb_conservatism_band(cyls)];
	return fb_track_find_con_ns(s, cyls, true, true);
}

/**
 * fb_track_find_usable_ns() - what ways to a track and on leave of the hop
 * @s: the search
 * @legs_ns: both ways, conservatism included
 * @con_ns: the first one's conservatism
 *
 * Return: ns for waiting and reading; 0 = nothing.
 */
u64 fb_track_find_usable_ns(const struct fb_search *s, u64 legs_ns, u64 con_ns);

/**
 * fb_track_find_most() - what no piece of its own can be worth more than
 * @s: the search
 *
 * Return: the value of as many granules as one read may have, where they are worth most.
 */
u64 fb_track_find_most(const struct fb_search *s);

/**
 * fb_track_find_need() - how many granules a track must have to beat the hop's best piece
 * @s: the search
 * @weight: the track's
 *
 * Return: so many; no fewer are worth more.
 */
u32 fb_track_find_need(const struct fb_search *s, u32 weight);

/**
 * fb_track_find_need_cached() - fb_track_find_need(), which is mostly asked for the same again
 * @s: the search
 * @weight: the track's
 *
 * Return: as there.
 */
static inline u32 fb_track_find_need_cached(struct fb_search *s, u32 weight)
{
	if (s->need_weight != weight || s->need_value != s->find.value) {
		s->need_weight = weight;
		s->need_value = s->find.value;
		s->need = fb_track_find_need(s, weight);
	}
	return s->need;
}

/**
 * fb_track_find_toll() - what it costs that anything at all is read in the gap
 * @s: the search
 *
 * Where nearly a whole turn is to be waited the foreground alone may come early enough to
 * gain that turn; or it would land within the request and begin there.
 *
 * Return: the cost, to be weighed against a plan's value.
 */
u64 fb_track_find_toll(const struct fb_search *s);

/**
 * fb_track_find_prepend() - look at what ends where the foreground begins
 * @s: the search; @s->find and @s->best are replaced if it is better
 */
void fb_track_find_prepend(struct fb_search *s);

/**
 * fb_track_find_track() - look at what a track has for the present hop
 * @s: the search; @s->find and @s->best are replaced if it is better
 * @t: the track, on the cylinder being examined
 * @left: its wanted granules
 */
void fb_track_find_track(struct fb_search *s, const struct dm_track *t, u32 left);

#endif /* FB_TRACK_FIND_H */
