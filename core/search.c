// SPDX-License-Identifier: GPL-2.0
/*
 * The search for free reads (freeblock paper, 4.3): which tracks to look at, and when to stop. A
 * gap is one hop at first; a piece found in a hop splits it in two. Counts of wanted granules per
 * track, and the least time of the seeks to a cylinder and on, bound what may still be found, so
 * that most tracks are passed over. Core.
 */
#include "core/plan.h"

/*
 * An arm passes over FB_SEARCH_STRIDE cylinders with too few granules before the next has its turn;
 * a step passes over FB_SEARCH_STRIDES such strides at most, to stay short.
 */
#define FB_SEARCH_STRIDE 8
#define FB_SEARCH_STRIDES 4

/* the rounding of angles lengthens the time that granules take by less */
#define FB_SEARCH_ROUNDING_NS 64

/* ---- one track ---- */

/*
 * What one track has to offer (freeblock paper, 4.3). The usable time of a read on it is what
 * remains of the hop after the legs to the track and from there on, each with its conservatism
 * added. A drive with zero-latency access whose head lands within a request ends there one turn
 * later. The head may land earlier than planned by up to the conservatism, so usable time is
 * limited to a turn less that: then the read has passed before the head could land in it.
 */

static u32 fb_track_find_region(const struct fb_search *s, u32 cyl)
{
	/* DM_CYLINDERS_MAX times FB_REGIONS is 2^30 */
	return cyl * FB_REGIONS / s->info->cylinders;
}

static u32 fb_track_find_weight(const struct fb_search *s, u32 cyl)
{
	return s->lim.weights ? s->lim.weights->of[fb_track_find_region(s, cyl)] : FB_WEIGHT_ONE;
}

/* Conservatism of a leg, ns; @moves: to another cylinder. */
static u64 fb_track_find_con_ns(const struct fb_search *s, bool moves)
{
	return moves || !s->lim.still_ns ? s->lim.conservatism_ns : s->lim.still_ns;
}

/* How many granules, of @granule_ns at least, pass in a time. */
static u64 fb_track_find_passing(u64 usable_ns, u64 granule_ns)
{
	return div64_u64(usable_ns + FB_SEARCH_ROUNDING_NS, granule_ns);
}

static bool fb_same_track(const struct dm_place *p, u32 cyl, u32 head)
{
	return p->cyl == cyl && p->head == head;
}

/* Reads on the tracks where the foreground was or is going may trigger the drive's look-ahead. */
static bool fb_track_find_forbidden(const struct fb_search *s, u32 cyl, u32 head)
{
	u32 lift = s->lim.lift;

	return (!(lift & FB_LIFT_SOURCE) && fb_same_track(&s->hop.from.place, cyl, head)) ||
	       (!(lift & FB_LIFT_DEST) && fb_same_track(&s->hop.to.place, cyl, head));
}

static bool fb_track_find_avoided(const struct fb_search *s, const struct dm_track *t)
{
	u32 i;

	for (i = 0; i < s->lim.navoid; i++)
		if (s->lim.avoid[i].first < t->first_lbn + t->nsect &&
		    t->first_lbn < s->lim.avoid[i].end)
			return true;
	return false;
}

static u64 fb_track_find_leg(const struct fb_search *s, const struct dm_place *a,
			     const struct dm_place *b, bool write)
{
	return dm_seek_ns(s->dm, a, b, write) + fb_track_find_con_ns(s, a->cyl != b->cyl);
}

/* ---- value ---- */

/* wanted granules of a track, even where tracks share counts */
static u32 fb_track_find_left(const struct fb_search *s, const struct dm_track *t)
{
	u32 g = s->lim.granule_sectors;
	u64 first;

	if (!s->bm->shift)
		return fb_bitmap_group(s->bm, dm_track_index(s->dm, t));
	first = fb_granule_first(g, t->first_lbn);
	return fb_bitmap_count(s->bm, first,
			       fb_granule_first(g, t->first_lbn + t->nsect) - first);
}

/* With powers, the granules left behind count, too, or a few would be left on each track. */
static inline u64 fb_track_find_worth(const struct fb_search *s, u32 weight, u32 left, u32 wanted)
{
	if (!s->lim.roots)
		return (u64)wanted * weight;
	/* beyond the table, on tracks of 4 MiB in small blocks, more count for nothing */
	left = min_t(u32, max(left, wanted), FB_ROOTS);
	left = s->lim.roots->of[left] - s->lim.roots->of[left - min(left, wanted)];
	return (u64)left * weight / FB_WEIGHT_ONE;
}

/* The value of the longest read where granules are worth most: no separate read has more. */
static u64 fb_track_find_most(const struct fb_search *s)
{
	if (!s->lim.roots)
		return (u64)s->most * s->most_weight;
	return (u64)s->lim.roots->of[min_t(u32, s->most, FB_ROOTS)] * s->most_weight /
	       FB_WEIGHT_ONE;
}

/* How many granules of this weight a track must have to beat the hop's best piece. */
static u32 fb_track_find_need(const struct fb_search *s, u32 weight)
{
	u64 value = s->find.value;

	if (!s->lim.roots)
		return min_t(u64, div_u64(value, weight) + 1, U32_MAX);
	/* granules are worth most if they are all that the track has */
	return s->lim.roots->above[min_t(u64, FB_ROOT_MOST,
					 div_u64(value * FB_WEIGHT_ONE, weight))];
}

/* Expected cost of a miss on the leg from @a to @b; 0 on the same track: only seeks vary. */
static u64 fb_track_find_leg_miss(const struct fb_search *s, const struct dm_place *a,
				  const struct dm_place *b, u64 slack_ns)
{
	enum fb_conservatism_kind kind = fb_conservatism_kind(dm_apart(a, b));

	if (!s->lim.odds || fb_same_track(a, b->cyl, b->head))
		return 0;
	slack_ns += fb_track_find_con_ns(s, a->cyl != b->cyl);
	return s->lim.miss_value *
		fb_conservatism_chance(s->lim.odds->chance[kind], slack_ns) >> FB_ONE_SHIFT;
}

/* What reading anything at all costs, in a plan's value: alone the foreground may gain a turn. */
static u64 fb_track_find_fixed_cost(const struct fb_search *s)
{
	u64 missing_ns = s->period_ns - min(s->latency_ns, s->period_ns);

	if (!s->lim.odds)
		return 0;
	return s->lim.miss_value *
		fb_conservatism_chance(s->lim.odds->chance[FB_CONSERVATISM_EARLY],
				       missing_ns) >> FB_ONE_SHIFT;
}

/* How many granules to leave unread for more slack, where a miss costs @miss. */
static u32 fb_track_find_spare(const struct fb_search *s, const struct dm_place *a,
			       const struct dm_place *b, u64 miss, u64 slack_ns, u64 granule_ns,
			       u64 each)
{
	u64 less;
	u32 n = 0;

	for (; miss > each; miss = less, n++) {
		less = fb_track_find_leg_miss(s, a, b, slack_ns + (n + 1) * granule_ns);
		if (miss - less <= each)
			break;
	}
	return n;
}

/* ---- the plan ---- */

static void fb_track_find_add(struct fb_plan *plan, const struct fb_piece *p)
{
	plan->piece[plan->npieces].lbn = p->lbn;
	plan->piece[plan->npieces].nsect = p->end - p->lbn;
	plan->slack_ns = plan->npieces ? min(plan->slack_ns, p->slack_ns) : p->slack_ns;
	plan->npieces++;
	plan->wanted += p->wanted;
	plan->value += p->value;
	if (p->prepend)
		plan->kind = plan->npieces > 1 ? FB_PLAN_BOTH : FB_PLAN_PREPEND;
	else
		plan->kind = FB_PLAN_SEPARATE;
}

static void fb_track_find_write(struct fb_search *s)
{
	u32 i;

	memset(&s->best, 0, sizeof(s->best));
	for (i = 0; i < s->npieces; i++) {
		if (i == s->at)
			fb_track_find_add(&s->best, &s->find);
		fb_track_find_add(&s->best, &s->piece[i]);
	}
	if (i == s->at)
		fb_track_find_add(&s->best, &s->find);
}

/* Is what follows the next piece in time? It is sent when this one has been read. */
static bool fb_track_find_in_time(const struct fb_search *s, const struct fb_piece *p)
{
	const struct fb_piece *next = &s->piece[s->at];
	u32 pipe_ns = s->lim.pipe_ns[s->at + 1 == s->npieces && s->gap.dst_write];

	return s->hop.last || next->prepend || next->stop.ns - p->stop.ns >= pipe_ns;
}

/* Keep the more valuable piece; of equals a prepend, which costs no command, or more slack. */
static void fb_track_find_propose(struct fb_search *s, const struct fb_piece *p)
{
	const struct fb_piece *best = &s->find;

	if (!p->value || p->value < best->value)
		return;
	if (p->value == best->value && (best->prepend || p->slack_ns <= best->slack_ns))
		return;
	if (!fb_track_find_in_time(s, p))
		return;
	s->find = *p;
	s->need = fb_track_find_need(s, s->weight);
	s->found_at = s->steps;
	fb_track_find_write(s);
}

/* ---- prepending ---- */

/* Shrink a prepend of @n granules from @first on, and value it; @left: of the track's. */
static bool fb_track_find_prepend_trim(const struct fb_search *s, const struct dm_track *t,
				       u64 *first, u32 *n, u32 left, struct fb_piece *p)
{
	p->wanted = fb_bitmap_trim(s->bm, first, n);
	p->lbn = *first * s->lim.granule_sectors;
	p->value = fb_track_find_worth(s, fb_track_find_weight(s, t->cyl), left, p->wanted);
	return p->wanted && !dm_lbn_angle(s->dm, t, p->lbn, &p->begin.place.angle);
}

/* Propose what lies from @lbn to the foreground, at angle @at; the head is there at @angle. */
static void fb_track_find_prepend_run(struct fb_search *s, const struct dm_track *t, u64 lbn,
				      u32 left, u32 at, u32 angle)
{
	const struct dm_place *from = &s->hop.from.place, *to = &s->hop.to.place;
	struct fb_piece p = { .end = s->gap.dst_lbn, .prepend = true, .stop = s->hop.to };
	u32 g = s->lim.granule_sectors, n, spare;
	u64 first = fb_granule_first(g, lbn), end = div_u64(s->gap.dst_lbn, g), miss;

	if (first >= end)
		return;
	n = end - first;
	p.begin.place = s->gap.dst;
	if (!fb_track_find_prepend_trim(s, t, &first, &n, left, &p))
		return;
	p.slack_ns = dm_angle_to_ns(s->dm, p.begin.place.angle - angle);
	miss = fb_track_find_leg_miss(s, from, to, p.slack_ns);
	spare = fb_track_find_spare(s, from, to, miss, p.slack_ns,
				    dm_angle_to_ns(s->dm, t->sector_angle) * g,
				    div_u64(p.value, p.wanted));
	spare = min(spare, n - 1);
	if (spare) {
		first += spare;
		n -= spare;
		if (!fb_track_find_prepend_trim(s, t, &first, &n, left, &p))
			return;
		p.slack_ns = dm_angle_to_ns(s->dm, p.begin.place.angle - angle);
		miss = fb_track_find_leg_miss(s, from, to, p.slack_ns);
	}
	p.begin.ns = s->hop.to.ns - dm_angle_to_ns(s->dm, at - p.begin.place.angle);
	p.value -= min(p.value, miss);
	fb_track_find_propose(s, &p);
}

static void fb_track_find_prepend(struct fb_search *s)
{
	const struct fb_hop *hop = &s->hop;
	const struct fb_gap *gap = &s->gap;
	struct dm_piece piece[2];
	struct dm_track t;
	u64 lbn, leg, usable_ns;
	u32 angle, at, left, i;

	leg = fb_track_find_leg(s, &hop->from.place, &hop->to.place, false);
	if (!hop->last || gap->dst_write || !s->lim.max_prepend_sectors || hop->window_ns <= leg)
		return;
	usable_ns = hop->window_ns - leg;
	/* a remapped destination is not where its neighbours are */
	if (dm_track_at(s->dm, gap->dst.cyl, gap->dst.head, &t) ||
	    dm_lbn_angle(s->dm, &t, gap->dst_lbn, &at) || fb_track_find_avoided(s, &t))
		return;
	left = fb_track_find_left(s, &t);
	if (fb_track_find_worth(s, fb_track_find_weight(s, t.cyl), left,
				min_t(u64, fb_track_find_passing(usable_ns, s->granule_ns),
				      left)) < s->find.value)
		return;

	angle = at - dm_ns_to_angle(s->dm, usable_ns);
	/* half a sector more, so that rounding does not cut off the last one */
	dm_window(s->dm, &t, angle, (u64)(at - angle) + t.sector_angle / 2, piece);
	i = piece[1].nsect && piece[1].lbn + piece[1].nsect == gap->dst_lbn;
	if (!piece[i].nsect || piece[i].lbn + piece[i].nsect != gap->dst_lbn)
		return;
	lbn = max(piece[i].lbn, gap->dst_lbn - min_t(u64, gap->dst_lbn,
						     s->lim.max_prepend_sectors));
	fb_track_find_prepend_run(s, &t, lbn, left, at, angle);
}

/* ---- pieces of their own ---- */

/* Time left of a hop after both legs; @con_ns: the first's conservatism. */
static u64 fb_track_find_usable_ns(const struct fb_search *s, u64 legs_ns, u64 con_ns)
{
	/* with one seek less, the head may land a turn before the end of a read */
	if (s->lim.lift)
		con_ns *= 2;
	if (legs_ns >= s->hop.window_ns || con_ns >= s->period_ns)
		return 0;
	return min(s->hop.window_ns - legs_ns, s->period_ns - con_ns);
}

/* The value of @wanted granules of the track. */
static u64 fb_track_find_value(const struct fb_search *s, const struct fb_visit *v, u32 wanted)
{
	return fb_track_find_worth(s, s->weight, v->left, wanted);
}

/* Find where and when @n granules from @first on pass, and the slack before and after. */
static bool fb_track_find_pass(const struct fb_search *s, const struct fb_visit *v, u64 first,
			       u32 n, struct fb_piece *p, u64 slack_ns[2])
{
	u32 g = s->lim.granule_sectors, last;
	/* the next command is sent at the hop's beginning, and the drive waits for it */
	u64 pipe_ns = s->lim.pipe_ns[s->hop.write], passed;

	p->lbn = first * g;
	p->end = min((first + n) * g, s->info->sectors);
	p->prepend = false;
	p->begin = v->at;
	p->stop = v->at;
	if (dm_lbn_angle(s->dm, v->t, p->lbn, &p->begin.place.angle) ||
	    dm_lbn_angle(s->dm, v->t, p->end - 1, &last))
		return false;
	p->stop.place.angle = last + v->t->sector_angle;
	slack_ns[0] = dm_angle_to_ns(s->dm, p->begin.place.angle - v->at.place.angle);
	passed = dm_angle_to_ns(s->dm, p->stop.place.angle - v->at.place.angle);
	p->begin.ns += slack_ns[0];
	p->stop.ns += passed;
	passed = max(passed, pipe_ns - min(pipe_ns, v->leg_ns));
	slack_ns[1] = v->usable_ns - min(passed, v->usable_ns);
	return passed <= v->usable_ns;
}

static void fb_track_find_misses(const struct fb_search *s, const struct fb_visit *v,
				 const u64 slack_ns[2], u64 miss[2])
{
	miss[0] = fb_track_find_leg_miss(s, &s->hop.from.place, &v->at.place, slack_ns[0]);
	miss[1] = fb_track_find_leg_miss(s, &v->at.place, &s->hop.to.place, slack_ns[1]);
}

/* Leave granules at both ends unread where slack is worth more; false: none. */
static bool fb_track_find_shorten(const struct fb_search *s, const struct fb_visit *v,
				  const u64 slack_ns[2], const u64 miss[2], u64 each, u64 *first,
				  u32 *n)
{
	u64 granule_ns = dm_angle_to_ns(s->dm, v->t->sector_angle) * s->lim.granule_sectors;
	u32 before = *n, spare;

	spare = fb_track_find_spare(s, &s->hop.from.place, &v->at.place, miss[0], slack_ns[0],
				    granule_ns, each);
	spare = min(spare, *n - 1);
	*first += spare;
	*n -= spare;
	spare = fb_track_find_spare(s, &v->at.place, &s->hop.to.place, miss[1], slack_ns[1],
				    granule_ns, each);
	*n -= min(spare, *n - 1);
	return *n < before;
}

/* Shorten a piece for more slack, take off what misses cost. False: the hop's best is better. */
static bool fb_track_find_settle(const struct fb_search *s, const struct fb_visit *v,
				 struct fb_piece *p, u64 first, u32 n, u64 slack_ns[2])
{
	u64 each = div_u64(p->value, p->wanted), miss[2];

	fb_track_find_misses(s, v, slack_ns, miss);
	/* a granule that is left unread costs no less than the mean, but for rounding */
	if (p->value < s->find.value + min(miss[0], each) + min(miss[1], each))
		return false;
	if (fb_track_find_shorten(s, v, slack_ns, miss, each, &first, &n)) {
		p->wanted = fb_bitmap_trim(s->bm, &first, &n);
		p->value = fb_track_find_value(s, v, p->wanted);
		if (!p->wanted || !fb_track_find_pass(s, v, first, n, p, slack_ns))
			return false;
		fb_track_find_misses(s, v, slack_ns, miss);
	}
	p->slack_ns = min(slack_ns[0], slack_ns[1]);
	p->value -= min(p->value, miss[0] + miss[1]);
	return true;
}

/* Propose the best of granules [@first, @end), all of which pass within the visit. */
static void fb_track_find_run(struct fb_search *s, const struct fb_visit *v, u64 first, u64 end)
{
	u64 slack_ns[2];
	struct fb_piece p;
	u32 n;

	if (first >= end)
		return;
	n = end - first;
	/* a piece of equal value counts, because it may have more slack */
	if (n + 1 < s->need || fb_track_find_value(s, v, min(n, v->left)) < s->find.value)
		return;
	p.wanted = fb_bitmap_trim(s->bm, &first, &n);
	if (n > s->most) {
		n = s->most;
		p.wanted = fb_bitmap_trim(s->bm, &first, &n);
	}
	p.value = fb_track_find_value(s, v, p.wanted);
	if (p.wanted && p.value >= s->find.value &&
	    fb_track_find_pass(s, v, first, n, &p, slack_ns) &&
	    fb_track_find_settle(s, v, &p, first, n, slack_ns))
		fb_track_find_propose(s, &p);
}

/* Propose a read from @lbn on this track to @end on the next; only dm_access() can time it. */
static bool fb_track_find_across(struct fb_search *s, const struct fb_visit *v, u64 lbn,
				 u64 end, u32 wanted)
{
	struct fb_piece p = { .lbn = lbn, .end = end, .wanted = wanted, .begin = v->at };
	struct dm_place from = s->hop.from.place;
	u64 con = s->con_ns[0], total, miss;
	struct dm_access a;
	u32 last;

	if (end - lbn > s->lim.max_sectors ||
	    dm_lbn_angle(s->dm, v->t, lbn, &p.begin.place.angle) ||
	    dm_lbn_angle(s->dm, v->t, v->t->first_lbn + v->t->nsect - 1, &last))
		return false;
	from.angle += dm_ns_to_angle(s->dm, con);
	if (dm_access(s->dm, &from, lbn, end - lbn, false, &a) ||
	    fb_track_find_forbidden(s, a.end.cyl, a.end.head))
		return false;
	total = max(con + a.total_ns, s->lim.pipe_ns[s->hop.write]) +
		fb_track_find_leg(s, &a.end, &s->hop.to.place, s->hop.write);
	/* the head must not land in the first track's part, as at the top of this file */
	last += v->t->sector_angle - p.begin.place.angle;
	if (total > s->hop.window_ns ||
	    a.latency_ns + dm_angle_to_ns(s->dm, last) + con > s->period_ns)
		return false;
	p.value = fb_track_find_value(s, v, wanted);
	p.begin.ns = s->hop.from.ns + con + a.seek_ns + a.latency_ns;
	p.stop.place = a.end;
	p.stop.ns = s->hop.from.ns + con + a.total_ns;
	p.slack_ns = min(a.latency_ns, s->hop.window_ns - total);
	miss = fb_track_find_leg_miss(s, &from, &v->at.place, a.latency_ns) +
	       fb_track_find_leg_miss(s, &a.end, &s->hop.to.place, s->hop.window_ns - total);
	p.value -= min(p.value, miss);
	fb_track_find_propose(s, &p);
	return true;
}

/* The granule that ends on the next track is read across the head switch, with what is before. */
static void fb_track_find_straddler(struct fb_search *s, const struct fb_visit *v,
				    const struct dm_piece piece[2])
{
	u64 g = s->lim.granule_sectors, track_end = v->t->first_lbn + v->t->nsect;
	u64 straddler = div_u64(track_end, g), begin = straddler * g, first, end;
	u32 n, wanted, i = 0;

	/* the longer one of a track that has holes is enough */
	while (i < 2 && (!piece[i].nsect || piece[i].lbn + piece[i].nsect <= begin))
		i++;
	end = min(begin + g, s->info->sectors);
	if (i == 2 || end <= track_end || begin < v->t->first_lbn ||
	    !fb_bitmap_is_wanted(s->bm, straddler))
		return;
	first = fb_granule_first(g, piece[i].lbn);
	if (first < straddler && straddler - first + 1 >= s->need) {
		n = straddler - first;
		wanted = fb_bitmap_trim(s->bm, &first, &n);
		if (wanted && fb_track_find_value(s, v, wanted + 1) > s->find.value &&
		    fb_track_find_across(s, v, first * g, end, wanted + 1))
			return;
	}
	if (fb_track_find_value(s, v, 1) > s->find.value)
		fb_track_find_across(s, v, begin, end, 1);
}

/* Look for a piece on a track of the cylinder being examined, with @left wanted granules. */
static void fb_track_find_track(struct fb_search *s, const struct dm_track *t, u32 left)
{
	u32 g = s->lim.granule_sectors, i;
	struct fb_visit *v = &s->visit;
	struct dm_piece piece[2];

	if (fb_track_find_avoided(s, t))
		return;
	s->tracks++;
	v->t = t;
	v->left = left;
	v->at.place.angle = s->hop.from.place.angle + dm_ns_to_angle(s->dm, v->leg_ns);
	v->at.ns = s->hop.from.ns + v->leg_ns;
	dm_window(s->dm, t, v->at.place.angle, dm_ns_to_angle(s->dm, v->usable_ns), piece);
	for (i = 0; i < 2; i++) {
		u64 lbn = piece[i].lbn, end = lbn + piece[i].nsect;

		if (piece[i].nsect)
			fb_track_find_run(s, v, fb_granule_first(g, lbn),
					  fb_granule_end(s->info->sectors, g, end));
	}
	fb_track_find_straddler(s, v, piece);
}

/* ---- tracks and cylinders ---- */

static u32 fb_arm_cyl(const struct fb_search_arm *arm)
{
	return arm->up ? arm->base + arm->dist : arm->base - arm->dist;
}

static u32 fb_arm_far(const struct fb_search *s, const struct fb_search_arm *arm, u32 dist)
{
	return arm->inner ? s->between - dist : s->between + dist;
}

/* Bound what is left of the hop after legs over the arm's cylinders, @arm->dist to @end. */
static u64 fb_arm_usable_ns(const struct fb_search *s, const struct fb_search_arm *arm, u32 end,
			    u64 near_ns, u64 far_ns)
{
	u32 far = fb_arm_far(s, arm, arm->inner ? end - 1 : arm->dist);
	u64 legs = dm_seek_floor_ns(s->dm, arm->dist) + dm_seek_floor_ns(s->dm, far) + near_ns +
		   far_ns;

	/* either may be the first leg */
	return fb_track_find_usable_ns(s, legs, min(near_ns, far_ns));
}

/* Weigh the granules of the arm's next cylinder, and find where the arm leaves its region. */
static void fb_arm_weigh(struct fb_search *s, struct fb_search_arm *arm)
{
	u32 region, border;

	if (arm->dist >= arm->alike) {
		region = fb_track_find_region(s, fb_arm_cyl(arm));
		/* the first cylinder of the next region, or of this one */
		border = DIV_ROUND_UP((region + arm->up) * s->info->cylinders, FB_REGIONS);
		arm->alike = min(arm->up ? border - arm->base : arm->base + 1 - border, arm->end);
		arm->weight = s->lim.weights ? s->lim.weights->of[region] : FB_WEIGHT_ONE;
	}
	if (s->weight == arm->weight)
		return;
	s->weight = arm->weight;
	s->need = fb_track_find_need(s, s->weight);
}

/* Skip distances of the same weight and conservatism with too little time, at least the first. */
static void fb_arm_skip_alike(struct fb_search *s, struct fb_search_arm *arm)
{
	/* seeks to any other cylinder have the same conservatism */
	u32 end = arm->dist ? arm->alike : 1;
	u64 near_ns = fb_track_find_con_ns(s, arm->dist);
	u64 far_ns = fb_track_find_con_ns(s, fb_arm_far(s, arm, arm->dist));

	/* An outer arm's nearest cylinder decides anyway; a nearer end helps an inner arm. */
	while (end > arm->dist + 1 &&
	       fb_arm_usable_ns(s, arm, end, near_ns, far_ns) >= s->granule_ns * s->need)
		end = arm->dist + (arm->inner ? (end - arm->dist) / 4 : 0);
	arm->dist = max(end, arm->dist + 1);
}

/* May anything be usable at @arm->dist or beyond? */
static bool fb_arm_may_go_on(const struct fb_search *s, const struct fb_search_arm *arm)
{
	u64 con = min(fb_track_find_con_ns(s, 0), fb_track_find_con_ns(s, 1));

	return fb_arm_usable_ns(s, arm, arm->end, con, con) >=
	       s->granule_ns * fb_track_find_need(s, s->most_weight);
}

/* Nothing is left for an arm, nor for the one from the hop's other end at the same distances. */
static void fb_arm_end(struct fb_search *s, struct fb_search_arm *arm)
{
	struct fb_search_arm *twin = &s->arm[(arm - s->arm) ^ 1];

	if (twin->dist >= arm->dist && (!arm->inner || twin->end <= arm->end))
		twin->dist = twin->end;
	arm->dist = arm->end;
}

/* Nothing at @arm->dist was usable: skip the distances at which nothing is usable either. */
static void fb_arm_skip(struct fb_search *s, struct fb_search_arm *arm)
{
	if (fb_arm_may_go_on(s, arm))
		fb_arm_skip_alike(s, arm);
	else
		fb_arm_end(s, arm);
}

/* Is there time on a cylinder for as many granules as are needed? */
static bool fb_cylinder_usable(struct fb_search *s, const struct fb_search_arm *arm)
{
	u32 near = arm->dist, far = fb_arm_far(s, arm, near), i;
	bool from_src = (arm - s->arm) % 2 == 0;
	u32 from = from_src ? near : far, to = from_src ? far : near;
	u64 usable_ns;

	s->ways_ns[0] = dm_seek_over_ns(s->dm, from, false);
	s->ways_ns[1] = dm_seek_over_ns(s->dm, to, s->hop.write);
	s->con_ns[0] = fb_track_find_con_ns(s, from);
	s->con_ns[1] = fb_track_find_con_ns(s, to);
	usable_ns = fb_track_find_usable_ns(s, s->ways_ns[0] + s->ways_ns[1] + s->con_ns[0] +
					    s->con_ns[1], s->con_ns[0]);
	if (usable_ns < s->granule_ns * s->need)
		return false;
	dm_cylinder_at(s->dm, fb_arm_cyl(arm), &s->on);
	s->slow_ns[0] = dm_slow_ns(s->dm, from, s->on.cyl);
	s->slow_ns[1] = dm_slow_ns(s->dm, to, s->hop.to.place.cyl);
	s->on_granule_ns = div_u64(s->period_ns * s->lim.granule_sectors, s->on.spt);
	/* most seeks take longer than the head switch that they hide */
	s->others = (s->ways_ns[0] <= s->switch_ns[0]) |
		    (s->ways_ns[1] <= s->switch_ns[s->hop.write]) << 1;
	for (i = 0; i < ARRAY_SIZE(s->vain); i++)
		s->vain[i] = U32_MAX;
	return usable_ns >= s->on_granule_ns * s->need;
}

/* LBNs stay on a surface for some cylinders: a cylinder's tracks are far apart in them. */
static bool fb_search_has_runs(const struct fb_search *s)
{
	return s->info->surface_run > 1;
}

/* Count the cylinders with too few granules from @first on, up to @n or a band's end. */
static u32 fb_arm_skippable(const struct fb_search *s, const struct fb_search_arm *arm, u32 first,
			    u32 n, u32 need)
{
	u32 heads = s->info->heads, head;
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
	u32 end;

	fb_arm_weigh(s, arm);
	end = min(arm->dist / FB_SEARCH_STRIDE * FB_SEARCH_STRIDE + FB_SEARCH_STRIDE, arm->alike);
	arm->dist += fb_arm_skippable(s, arm, fb_arm_cyl(arm), end - arm->dist, s->need);
	if (arm->dist < end)
		return true;
	/* the last cylinder has too few granules, so it was not usable */
	arm->dist--;
	fb_arm_skip(s, arm);
	return false;
}

static void fb_cylinder_open(struct fb_search *s)
{
	u32 heads = s->info->heads, g = s->lim.granule_sectors;
	struct dm_track t;

	s->track = 0;
	if (!s->bm->shift || fb_search_has_runs(s))
		return;
	dm_cylinder_track(s->dm, &s->on, 0, &t);
	s->granule = fb_granule_first(g, t.first_lbn);
	dm_cylinder_track(s->dm, &s->on, heads - 1, &t);
	s->granule_end = fb_granule_first(g, t.first_lbn + t.nsect);
}

static bool fb_search_outward(struct fb_search *s)
{
	u32 i;

	for (i = 0; i < FB_SEARCH_STRIDES; i++) {
		struct fb_search_arm *arm = NULL, *a;

		/* the nearest; of equals the first */
		for (a = s->arm; a < s->arm + ARRAY_SIZE(s->arm); a++)
			if (a->dist < a->end && (!arm || a->dist < arm->dist))
				arm = a;
		if (!arm)
			return false;
		if (!fb_arm_pass(s, arm))
			continue;
		if (!fb_cylinder_usable(s, arm)) {
			fb_arm_skip(s, arm);
			continue;
		}
		fb_cylinder_open(s);
		arm->dist++;
		break;
	}
	return true;
}

/* Note the legs to and from a track under @head of the cylinder being examined. */
static void fb_cylinder_legs(struct fb_search *s, u32 head)
{
	struct fb_visit *v = &s->visit;
	u64 next_ns;

	v->at.place.cyl = s->on.cyl;
	v->at.place.head = head;
	v->leg_ns = s->con_ns[0] + s->slow_ns[0] +
		    max(s->ways_ns[0], v->other & 1 ? s->switch_ns[0] : 0);
	next_ns = s->con_ns[1] + s->slow_ns[1] +
		  max(s->ways_ns[1], v->other & 2 ? s->switch_ns[s->hop.write] : 0);
	v->usable_ns = 0;
	if (!fb_track_find_forbidden(s, s->on.cyl, head))
		v->usable_ns = fb_track_find_usable_ns(s, v->leg_ns + next_ns, s->con_ns[0]);
}

/*
 * May a piece on a track with @left wanted granules be worth as much as the hop's best? The more
 * granules it has, the less slack its legs have in all. The granule that ends on the next track
 * takes no less time than others.
 */
static bool fb_cylinder_may_win(struct fb_search *s, u32 left)
{
	const struct fb_visit *v = &s->visit;
	u32 most = min_t(u64, fb_track_find_passing(v->usable_ns, s->on_granule_ns), s->most), n;

	for (n = min(most, left); n; n--) {
		u64 value = fb_track_find_worth(s, s->weight, left, n), slack_ns, miss;

		if (value < s->find.value)
			break;
		slack_ns = v->usable_ns + FB_SEARCH_ROUNDING_NS - n * s->on_granule_ns;
		miss = fb_track_find_leg_miss(s, &s->hop.from.place, &v->at.place, slack_ns) +
		       fb_track_find_leg_miss(s, &v->at.place, &s->hop.to.place, slack_ns);
		if (value > miss && value - miss >= s->find.value)
			return true;
	}
	/* where more are left each is worth less */
	if (most <= left)
		s->vain[v->other] = left;
	return false;
}

/* Is a track under @head worth a look? To pass over one with enough granules is a step, too. */
static bool fb_cylinder_worth(struct fb_search *s, u32 head, u32 left)
{
	const struct fb_hop *hop = &s->hop;
	u32 other = (hop->from.place.head != head) | (hop->to.place.head != head) << 1;

	if (left < s->need)
		return false;
	other &= s->others;
	if (left < s->vain[other]) {
		s->visit.other = other;
		fb_cylinder_legs(s, head);
		if (fb_cylinder_may_win(s, left))
			return true;
	}
	s->steps++;
	return false;
}

/* Find the cylinder's next track by its count of wanted granules. */
static bool fb_cylinder_counted(struct fb_search *s, struct dm_track *t, u32 *left)
{
	u32 heads = s->info->heads;
	bool runs = fb_search_has_runs(s);

	while (s->track < heads) {
		/* of head, and of its place among those that LBNs visit, one is counted */
		u32 k = s->track++, other = s->on.back ? heads - 1 - k : k;
		u32 index = s->on.cyl * heads + k;
		struct dm_run run;

		if (runs) {
			dm_run_at(s->dm, s->on.cyl, k, &run);
			index = run.index;
		}
		*left = fb_bitmap_group(s->bm, index);
		if (s->bm->shift ? *left < s->need :
				   !fb_cylinder_worth(s, runs ? k : other, *left))
			continue;
		dm_cylinder_track(s->dm, &s->on, runs ? other : k, t);
		if (!s->bm->shift)
			return true;
		*left = fb_track_find_left(s, t);
		if (fb_cylinder_worth(s, t->head, *left))
			return true;
	}
	return false;
}

static bool fb_cylinder_next(struct fb_search *s, struct dm_track *t, u32 *left)
{
	u32 g = s->lim.granule_sectors;
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
		if (fb_cylinder_worth(s, t->head, *left))
			return true;
	}
	return false;
}

/* The hop's ends each have an arm towards the other and one away: all cylinders are met once. */
static void fb_hop_arms(struct fb_search *s)
{
	u32 src = s->hop.from.place.cyl, dst = s->hop.to.place.cyl, d, i;

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
			arm->end = arm->up ? s->info->cylinders - arm->base : arm->base + 1;
		arm->alike = 0;
	}
	/* most outer arms have no time to begin with */
	if (!fb_arm_may_go_on(s, &s->arm[2]))
		fb_arm_end(s, &s->arm[2]);
	s->track = s->info->heads;
	s->granule = 0;
	s->granule_end = 0;
}

/* ---- hops ---- */

/* A hop begins where a piece ends; but its command was sent when that piece was begun. */
static void fb_hop_begin(struct fb_search *s, u32 at)
{
	u64 ready_ns = s->lim.pipe_ns[0] + (at > 1 ? s->piece[at - 2].stop.ns : 0);
	struct fb_hop *hop = &s->hop;

	hop->from = s->piece[at - 1].stop;
	ready_ns = clamp(ready_ns, hop->from.ns, hop->to.ns);
	hop->from.place.angle += dm_ns_to_angle(s->dm, ready_ns - hop->from.ns);
	hop->from.ns = ready_ns;
}

static void fb_hop_open(struct fb_search *s, u32 at)
{
	struct fb_hop *hop = &s->hop;

	s->find.value = 0;
	s->find.slack_ns = 0;
	s->find.wanted = 0;
	s->find.prepend = false;
	s->at = at;
	s->steps = 0;
	s->open &= ~(1U << at);
	hop->last = at == s->npieces;
	hop->write = hop->last && s->gap.dst_write;
	hop->to.place = s->gap.dst;
	hop->to.ns = s->window_ns;
	if (!hop->last)
		hop->to = s->piece[at].begin;
	hop->from.place = s->gap.src;
	hop->from.ns = 0;
	if (at)
		fb_hop_begin(s, at);
	hop->window_ns = hop->to.ns - hop->from.ns;
	if (!s->npieces)
		s->find.value = max(fb_track_find_fixed_cost(s), s->lim.least_value);
	s->need = fb_track_find_need(s, s->weight);
	if (hop->last)
		fb_track_find_prepend(s);
	fb_hop_arms(s);
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

/*
 * How many steps a hop is worth. Most find their best piece within a few; who must beat another
 * gap's plan does that soon, or not at all.
 */
static u32 fb_hop_steps(const struct fb_search *s)
{
	u32 most = s->lim.hop_steps;

	if (!most)
		return U32_MAX;
	/* a piece that is prepended is found before the first step */
	if (s->find.wanted && !s->find.prepend)
		return min(most / 4 + 2 * s->found_at, most);
	return s->lim.least_value && !s->npieces ? most / 4 : most;
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
	if (s->find.value >= s->most_value || s->steps++ >= fb_hop_steps(s))
		return fb_hop_next(s);
	if (fb_cylinder_next(s, &t, &left)) {
		fb_track_find_track(s, &t, left);
		return true;
	}
	return fb_search_outward(s) || fb_hop_next(s);
}

/* ---- beginning ---- */

void fb_search_start(struct fb_search *s, const struct disk_model *dm,
		     const struct fb_bitmap *bm, const struct fb_gap *gap,
		     const struct fb_limits *lim)
{
	const struct dm_info *info = dm_info(dm);
	u64 seek;

	memset(s, 0, sizeof(*s));
	s->dm = dm;
	s->info = info;
	s->bm = bm;
	s->gap = *gap;
	s->lim = *lim;
	/* with one piece per gap, steps are not limited */
	if (!(lim->lift & FB_LIFT_SEVERAL))
		s->lim.hop_steps = 0;
	/* the platter turns while the arm must wait */
	s->gap.src.angle += dm_ns_to_angle(dm, gap->lead_ns);
	dm_position(dm, &s->gap.src, &gap->dst, gap->dst_write, &seek, &s->latency_ns);
	s->window_ns = dm_seek_ns(dm, &s->gap.src, &gap->dst, gap->dst_write) + s->latency_ns;
	s->period_ns = dm_period_ns(dm);
	s->switch_ns[0] = info->head_switch_ns;
	s->switch_ns[1] = info->head_switch_ns + info->write_settle_ns;
	/* the longest track gives the shortest time, which is the safe bound */
	s->granule_ns = div_u64(s->period_ns * lim->granule_sectors, info->spt_most);
	s->most = lim->max_sectors / lim->granule_sectors;
	s->most_weight = lim->weights ? lim->weights->most : FB_WEIGHT_ONE;
	s->weight = s->most_weight;
	s->most_value = fb_track_find_most(s);
}
