// SPDX-License-Identifier: GPL-2.0
/*
 * The search for free reads (freeblock paper, 4.3): which tracks to look at, and when
 * to stop; see core/search.h.
 *
 * A gap lasts window_ns: the seek to the destination and the rotational latency
 * there. It is one hop at first; a piece found in a hop splits it in two. Counts of wanted
 * granules per track, and the least time of the seeks to a cylinder and on, bound what may
 * still be found, so that most tracks are passed over.
 * core/track_find.c says what a track has to offer. Core: no locks, the caller serialises.
 */
#include "core/search.h"
#include "core/track_find.h"

/*
 * An arm passes over FB_SEARCH_STRIDE cylinders with too few granules before another arm has its
 * turn; a step passes over at most FB_SEARCH_STRIDES such strides, so that it stays short.
 */
#define FB_SEARCH_STRIDE 8
#define FB_SEARCH_STRIDES 4

/* cylinders after which an arm checks whether all its further ones are too far */
#define FB_SEARCH_HORIZON 32

/* ---- granules ---- */

/* in parentheses, so that checkpatch does not take it for a loop */
void (fb_for_each_run)(const struct disk_model *dm, u32 granule_sectors, u64 lbn,
		       u64 nsect, fb_runs_fn fn, void *ctx)
{
	u64 first = fb_granule_first(granule_sectors, lbn);
	u64 end = fb_granule_end(dm_info(dm)->sectors, granule_sectors, lbn + nsect), stop;
	struct dm_track t;

	while (first < end && !dm_track_of(dm, first * granule_sectors, &t)) {
		stop = fb_granule_first(granule_sectors, t.first_lbn + t.nsect);
		stop = min(stop, end);
		fn(ctx, first, stop - first, dm_track_index(dm, &t));
		first = stop;
	}
}

void (fb_for_each_span)(u64 first, u64 end, fb_runs_fn fn, void *ctx)
{
	u32 group;
	u64 stop;

	for (; first < end; first = stop) {
		group = div_u64(first, FB_BITMAP_SPAN);
		stop = min((group + 1ULL) * FB_BITMAP_SPAN, end);
		fn(ctx, first, stop - first, group);
	}
}

/* ---- tracks and cylinders ---- */

static u32 fb_arm_cyl(const struct fb_search_arm *arm)
{
	return arm->up ? arm->base + arm->dist : arm->base - arm->dist;
}

/*
 * Bound from above what is left of the hop after legs over the arm's cylinders from @arm->dist to
 * @end, with no less conservatism than these.
 */
static u64 fb_arm_usable_ns(const struct fb_search *s, const struct fb_search_arm *arm, u32 end,
			    u64 near_ns, u64 far_ns)
{
	u32 far = arm->inner ? s->between - (end - 1) : s->between + arm->dist;
	u64 legs = dm_seek_floor_ns(s->dm, arm->dist) + dm_seek_floor_ns(s->dm, far) + near_ns +
		   far_ns;

	/* either may be the first leg */
	return fb_track_find_usable_ns(s, legs, min(near_ns, far_ns));
}

/* Find where the arm leaves the region it is in, whose granules weigh the same. */
static u32 fb_arm_region_end(const struct fb_search *s, const struct fb_search_arm *arm)
{
	u32 border;

	if (!s->lim.weight)
		return arm->end;
	/* the first cylinder of the next region, or of this one */
	border = fb_track_find_region(s, fb_arm_cyl(arm)) + arm->up;
	border = DIV_ROUND_UP(border * s->cylinders, FB_REGIONS);
	return min(arm->up ? border - arm->base : arm->base + 1 - border, arm->end);
}

/* Skip distances of the same weight and conservatism with too little time, at least the first. */
static void fb_arm_skip_alike(struct fb_search *s, struct fb_search_arm *arm, u32 need)
{
	u32 far = arm->inner ? s->between - arm->dist : s->between + arm->dist;
	/* seeks to any other cylinder have the same conservatism */
	u32 end = arm->dist ? fb_arm_region_end(s, arm) : 1;
	u64 near_ns = fb_track_find_con_ns(s, arm->dist), far_ns = fb_track_find_con_ns(s, far);

	/* An outer arm's nearest cylinder decides anyway; a nearer end helps an inner arm. */
	while (end > arm->dist + 1 &&
	       fb_arm_usable_ns(s, arm, end, near_ns, far_ns) >= s->granule_ns * need)
		end = arm->dist + (arm->inner ? (end - arm->dist) / 4 : 0);
	arm->dist = max(end, arm->dist + 1);
}

/* Nothing at @arm->dist was usable: skip the distances at which nothing is usable either. */
static void fb_arm_skip(struct fb_search *s, struct fb_search_arm *arm, u32 need)
{
	u64 con = min(fb_track_find_con_ns(s, 0), fb_track_find_con_ns(s, 1));
	u64 usable_ns = fb_arm_usable_ns(s, arm, arm->end, con, con);

	if (usable_ns < s->granule_ns *
	    fb_track_find_need_cached(s, &s->need_most, s->most_weight))
		arm->dist = arm->end;
	else
		fb_arm_skip_alike(s, arm, need);
}

/*
 * Is there time for @need granules on the cylinder? Note how many there is time for at most: one
 * more than pass, which ends on the next track.
 */
static bool fb_cylinder_usable(struct fb_search *s, u32 cyl, u32 need)
{
	const struct dm_place *from = &s->hop.from.place, *to = &s->hop.to.place;
	struct dm_place src = { .cyl = cyl, .head = from->head };
	struct dm_place dst = { .cyl = cyl, .head = to->head };
	u64 con = fb_track_find_con_ns(s, from->cyl != cyl);
	u64 legs, usable_ns;

	s->ways_ns[0] = dm_seek_ns(s->dm, from, &src, false);
	s->ways_ns[1] = dm_seek_ns(s->dm, &dst, to, s->hop.write);
	legs = (u64)s->ways_ns[0] + s->ways_ns[1] + con +
	       fb_track_find_con_ns(s, to->cyl != cyl);
	usable_ns = fb_track_find_usable_ns(s, legs, con);
	s->granules = fb_track_find_passing(usable_ns, s->granule_ns) + 1;
	return usable_ns >= s->granule_ns * need;
}

/* the nearest; of equals the first */
static struct fb_search_arm *fb_nearest_arm(struct fb_search *s)
{
	struct fb_search_arm *arm, *best = NULL;

	for (arm = s->arm; arm < s->arm + ARRAY_SIZE(s->arm); arm++)
		if (arm->dist < arm->end && (!best || arm->dist < best->dist))
			best = arm;
	return best;
}

/*
 * Do LBNs stay on a surface for some cylinders, so that a cylinder's tracks are far apart in them?
 */
static bool fb_search_has_runs(const struct fb_search *s)
{
	return dm_info(s->dm)->surface_run > 1;
}

/*
 * Count the cylinders with too few granules from @first on, up to @n, or up to the end of a band.
 */
static u32 fb_arm_skippable(const struct fb_search *s, const struct fb_search_arm *arm, u32 first,
			    u32 n, u32 need)
{
	u32 heads = dm_info(s->dm)->heads, head;
	struct dm_run run;

	if (!fb_search_has_runs(s))
		return fb_bitmap_skippable(s->bm, first * heads, heads, n, arm->up, need);
	for (head = 0; n && head < heads; head++) {
		dm_run_at(s->dm, first, head, &run);
		n = min(n, (arm->up ? run.inner : run.outer) + 1);
		n = fb_bitmap_skippable(s->bm, run.index, 1, n, arm->up != run.back, need);
	}
	return n;
}

/* Pass over cylinders with too few granules in the arm's stride; false: none is left in it. */
static bool fb_arm_pass(struct fb_search *s, struct fb_search_arm *arm)
{
	u32 end = min(arm->dist / FB_SEARCH_STRIDE * FB_SEARCH_STRIDE + FB_SEARCH_STRIDE,
		      arm->end), n = end - arm->dist;
	u32 first = fb_arm_cyl(arm);
	u32 last = arm->up ? first + n - 1 : first - (n - 1);
	u32 weight = s->most_weight, need;

	/* a stride may span two regions, or more on a small disk */
	if (s->cylinders >= FB_REGIONS * FB_SEARCH_STRIDE)
		weight = max(fb_track_find_weight(s, first), fb_track_find_weight(s, last));
	need = fb_track_find_need_cached(s, &arm->need, weight);
	arm->dist += fb_arm_skippable(s, arm, first, n, need);
	if (arm->dist < end)
		return true;
	if (arm->dist % FB_SEARCH_HORIZON == 0) {
		/* the last cylinder has too few granules, so it was not usable */
		arm->dist--;
		fb_arm_skip(s, arm, need);
	}
	return false;
}

/* Make the tracks of a cylinder the next to be examined. */
static void fb_cylinder_open(struct fb_search *s, u32 cyl)
{
	u32 heads = dm_info(s->dm)->heads, g = s->lim.granule_sectors;
	struct dm_track t;

	s->cyl = cyl;
	s->track = fb_search_has_runs(s) ? 0 : cyl * heads;
	s->track_end = s->track + heads;
	if (!s->bm->shift || fb_search_has_runs(s))
		return;
	dm_track_by_index(s->dm, s->track, &t);
	s->granule = fb_granule_first(g, t.first_lbn);
	dm_track_by_index(s->dm, s->track_end - 1, &t);
	s->granule_end = fb_granule_first(g, t.first_lbn + t.nsect);
}

/* the next cylinder that may hold something; false: there is none */
static bool fb_search_outward(struct fb_search *s)
{
	u32 i;

	for (i = 0; i < FB_SEARCH_STRIDES; i++) {
		struct fb_search_arm *arm = fb_nearest_arm(s);
		u32 cyl, need;

		if (!arm)
			return false;
		if (!fb_arm_pass(s, arm))
			continue;
		cyl = fb_arm_cyl(arm);
		s->weight = fb_track_find_weight(s, cyl);
		/* mostly the stride's weight, of which the need is known */
		if (arm->need.weight == s->weight)
			s->need = arm->need;
		need = fb_track_find_need_cached(s, &s->need, s->weight);
		if (!fb_cylinder_usable(s, cyl, need)) {
			fb_arm_skip(s, arm, need);
			continue;
		}
		arm->dist++;
		fb_cylinder_open(s, cyl);
		break;
	}
	return true;
}

/* Go on to the cylinder's next track; returns its index. */
static u32 fb_cylinder_track(struct fb_search *s)
{
	u32 track = s->track++;
	struct dm_run run;

	if (!fb_search_has_runs(s))
		return track;
	dm_run_at(s->dm, s->cyl, track, &run);
	return run.index;
}

/*
 * May a track be worth as much as the hop's best piece? To pass over one is a step, too. @left is
 * the track's own: more of them may be worth less, see core/block_value.h.
 */
static bool fb_cylinder_worth(struct fb_search *s, u32 left)
{
	if (fb_track_find_worth(s, s->weight, left, min(left, s->granules)) >= s->find.value)
		return true;
	s->steps++;
	return false;
}

/* The next track, by its own count; false: there is none. */
static bool fb_cylinder_counted(struct fb_search *s, struct dm_track *t, u32 *left)
{
	u32 need = fb_track_find_need_cached(s, &s->need, s->weight), g = s->lim.granule_sectors;

	while (s->track < s->track_end) {
		u32 index = fb_cylinder_track(s);
		u64 first;

		*left = fb_bitmap_group(s->bm, index);
		if (*left < need || (!s->bm->shift && !fb_cylinder_worth(s, *left)))
			continue;
		dm_track_by_index(s->dm, index, t);
		if (!s->bm->shift)
			return true;
		first = fb_granule_first(g, t->first_lbn);
		*left = fb_bitmap_count(s->bm, first,
					fb_granule_first(g, t->first_lbn + t->nsect) - first);
		if (*left >= need && fb_cylinder_worth(s, *left))
			return true;
	}
	return false;
}

/* The cylinder's next track with enough granules; false: there is none. */
static bool fb_cylinder_next(struct fb_search *s, struct dm_track *t, u32 *left)
{
	u32 need = fb_track_find_need_cached(s, &s->need, s->weight), g = s->lim.granule_sectors;
	u64 first;

	if (!s->bm->shift || fb_search_has_runs(s))
		return fb_cylinder_counted(s, t, left);
	while (s->granule < s->granule_end) {
		first = fb_bitmap_next_wanted(s->bm, s->granule, s->granule_end);
		s->granule = s->granule_end;
		if (first == s->granule_end || dm_track_of(s->dm, first * g, t))
			return false;
		s->granule = fb_granule_first(g, t->first_lbn + t->nsect);
		*left = fb_bitmap_count(s->bm, first, s->granule - first);
		if (*left >= need && fb_cylinder_worth(s, *left))
			return true;
	}
	return false;
}

/*
 * The hop's beginning and end each have an arm towards the other, which meet in the middle,
 * and an arm away from it; together the arms cover each cylinder once.
 */
static void fb_hop_arms(struct fb_search *s)
{
	u32 src = s->hop.from.place.cyl, dst = s->hop.to.place.cyl, d, i;
	u32 cylinders = dm_info(s->dm)->cylinders;

	d = dm_apart(&s->hop.from.place, &s->hop.to.place);
	s->between = d;
	for (i = 0; i < ARRAY_SIZE(s->arm); i++) {
		struct fb_search_arm *arm = &s->arm[i];
		bool from_src = i % 2 == 0;

		arm->base = from_src ? src : dst;
		arm->inner = i < 2;
		arm->up = (src <= dst) == (from_src == arm->inner);
		arm->dist = arm->inner ? 0 : 1;
		if (arm->inner)
			arm->end = from_src ? d / 2 + 1 : (d + 1) / 2;
		else
			arm->end = arm->up ? cylinders - arm->base : arm->base + 1;
	}
	s->track = 0;
	s->track_end = 0;
	s->granule = 0;
	s->granule_end = 0;
}

/* ---- hops ---- */

/* Begin to search the hop before piece @at. */
static void fb_hop_open(struct fb_search *s, u32 at)
{
	struct fb_hop *hop = &s->hop;

	memset(&s->find, 0, sizeof(s->find));
	s->at = at;
	s->steps = 0;
	s->open &= ~(1U << at);
	hop->last = at == s->npieces;
	hop->write = hop->last && s->gap.dst_write;
	hop->from.place = s->gap.src;
	hop->from.ns = 0;
	if (at)
		hop->from = s->piece[at - 1].stop;
	hop->to.place = s->gap.dst;
	hop->to.ns = s->window_ns;
	if (!hop->last)
		hop->to = s->piece[at].begin;
	hop->window_ns = hop->to.ns - hop->from.ns;
	if (!s->npieces)
		s->find.value = max(fb_track_find_fixed_cost(s), s->lim.least_value);
	fb_hop_arms(s);
	if (hop->last)
		fb_track_find_prepend(s);
}

/* Keep the hop's best piece in the plan, and split the hop into one before it and one after. */
static void fb_hop_split(struct fb_search *s)
{
	u32 before = s->open & ((1U << s->at) - 1), i;

	for (i = s->npieces; i > s->at; i--)
		s->piece[i] = s->piece[i - 1];
	s->piece[s->at] = s->find;
	s->npieces++;
	s->open = before | (s->open & ~before) << 1 | 1U << s->at;
	/* nothing fits between a prepend and the foreground */
	if (!s->find.prepend)
		s->open |= 2U << s->at;
}

/* Go on to a hop that is still to be searched; false: there is none. */
static bool fb_hop_next(struct fb_search *s)
{
	if (!(s->lim.lift & FB_LIFT_SEVERAL) || s->npieces == FB_PLAN_PIECES)
		return false;
	if (s->find.wanted)
		fb_hop_split(s);
	if (!s->open || s->npieces == FB_PLAN_PIECES)
		return false;
	fb_hop_open(s, __ffs(s->open));
	return true;
}

bool fb_search_step(struct fb_search *s)
{
	struct dm_track t;
	u32 left;

	if (!s->begun) {
		s->begun = true;
		s->tracks++;
		fb_hop_open(s, 0);
		return s->lim.separate;
	}
	if (s->find.value >= s->most_value ||
	    (s->lim.lift & FB_LIFT_SEVERAL && s->lim.hop_steps &&
	     s->steps++ >= s->lim.hop_steps))
		return fb_hop_next(s);
	if (fb_cylinder_next(s, &t, &left)) {
		fb_track_find_track(s, &t, left);
		return true;
	}
	return fb_search_outward(s) || fb_hop_next(s);
}

/* ---- beginning ---- */

/* the largest weight of all regions, to decide when to give arms up */
static u32 fb_search_most_weight(const struct fb_limits *lim)
{
	u32 most = 1, i;

	if (!lim->weight)
		return FB_WEIGHT_ONE;
	for (i = 0; i < FB_REGIONS; i++)
		most = max_t(u32, most, lim->weight[i]);
	return most;
}

void fb_search_start(struct fb_search *s, const struct disk_model *dm,
		     const struct fb_bitmap *bm, const struct fb_gap *gap,
		     const struct fb_limits *lim)
{
	const struct dm_info *info = dm_info(dm);
	u64 seek;

	memset(s, 0, sizeof(*s));
	s->dm = dm;
	s->bm = bm;
	s->gap = *gap;
	s->lim = *lim;
	/* with one piece per gap, steps are not limited */
	if (!(lim->lift & FB_LIFT_SEVERAL))
		s->lim.hop_steps = 0;
	/* the platter turns while the arm must wait */
	s->gap.src.angle += dm_ns_to_angle(dm, gap->lead_ns);
	dm_position(dm, &s->gap.src, &gap->dst, gap->dst_write, &seek, &s->latency_ns);
	s->window_ns = seek + s->latency_ns;
	s->period_ns = dm_period_ns(dm);
	s->switch_ns[0] = info->head_switch_ns;
	s->switch_ns[1] = info->head_switch_ns + info->write_settle_ns;
	/* the longest track gives the shortest time, which is the safe bound */
	s->granule_ns = div_u64(s->period_ns * lim->granule_sectors, info->spt_most);
	s->fg_ns = div_u64(s->period_ns * gap->dst_nsect, info->spt_most);
	s->cylinders = info->cylinders;
	s->most_weight = fb_search_most_weight(lim);
	s->weight = s->most_weight;
	s->most_value = fb_track_find_most(s);
}
