// SPDX-License-Identifier: GPL-2.0
/*
 * What one track has to offer (freeblock paper, 4.3). See core/track_find.h.
 *
 * A hop is a part of the gap, from its beginning or the end of a piece to the next piece or the
 * destination. The usable time of a read on a track is what remains of the hop after the legs to
 * the track and from there on, each with its conservatism added.
 *
 * A drive with zero-latency access whose head lands within a request begins there, and ends there
 * one turn later. This must not happen to a read in a gap, whose end would then depend on the
 * exact moment of landing. The head may land earlier than planned by up to the conservatism, so
 * usable time is limited to a turn less the conservatism: then the read has passed before the head
 * could land in it. A head that lands late, but within the slack, still finds the first sector
 * ahead; if it lands later, any drive takes another turn.
 */
#include "core/track_find.h"

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

static u64 fb_track_find_con(const struct fb_search *s, const struct dm_place *a,
			     const struct dm_place *b)
{
	return fb_track_find_con_ns(s, a->cyl != b->cyl);
}

/* time of the leg from @a to @b, conservatism included */
static u64 fb_track_find_leg(const struct fb_search *s, const struct dm_place *a,
			     const struct dm_place *b, bool write)
{
	return dm_seek_ns(s->dm, a, b, write) + fb_track_find_con(s, a, b);
}

/* ---- value ---- */

/* FB_WEIGHT_ONE times @n to the power of 2/5 (core/block_value.h); 32 times @n gives 4 times it */
static u32 fb_track_find_root(const struct fb_search *s, u32 n)
{
	const u16 *root = s->lim.root;
	u32 shift = 0, part = 0;

	for (; n >= FB_ROOTS; n >>= 5, shift += 2)
		part = n % 32;
	if (!shift)
		return root[n];
	return (root[n] << shift) + ((root[n + 1] - root[n]) * part << shift) / 32;
}

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

/*
 * With powers, the granules left behind count, too: else a few would be left on each track, which
 * would cost a gap per track in the end.
 */
u64 fb_track_find_worth(const struct fb_search *s, u32 weight, u32 left, u32 wanted)
{
	if (!s->lim.root)
		return (u64)wanted * weight;
	left = max(left, wanted);
	left = fb_track_find_root(s, left) - fb_track_find_root(s, left - wanted);
	return (u64)left * weight / FB_WEIGHT_ONE;
}

static u64 fb_track_find_value(const struct fb_search *s, const struct dm_track *t, u32 left,
			       u32 wanted)
{
	return fb_track_find_worth(s, fb_track_find_weight(s, t->cyl), left, wanted);
}

u64 fb_track_find_most(const struct fb_search *s)
{
	u32 most = s->lim.max_sectors / s->lim.granule_sectors;

	if (!s->lim.root)
		return (u64)most * s->most_weight;
	return (u64)fb_track_find_root(s, most) * s->most_weight / FB_WEIGHT_ONE;
}

u32 fb_track_find_need(const struct fb_search *s, u32 weight)
{
	u32 least = 1, most = FB_ROOTS + 1;
	u64 root;

	if (!s->lim.root)
		return min_t(u64, div_u64(s->find.value, weight) + 1, U32_MAX);
	/* granules are worth most if they are all that the track has; the table ends at FB_ROOTS */
	root = div_u64(s->find.value * FB_WEIGHT_ONE, weight);
	while (least < most) {
		u32 n = (least + most) / 2;

		if (s->lim.root[n] > root)
			most = n;
		else
			least = n + 1;
	}
	return least;
}

/* Expected cost of a miss on the leg from @a to @b; 0 on the same track: only seeks vary. */
static u64 fb_track_find_leg_miss(const struct fb_search *s, const struct dm_place *a,
				  const struct dm_place *b, u64 slack_ns)
{
	enum fb_conservatism_kind kind = fb_conservatism_kind(dm_apart(a, b));

	if (!s->lim.odds || fb_same_track(a, b->cyl, b->head))
		return 0;
	slack_ns += fb_track_find_con(s, a, b);
	return s->lim.miss_value *
		fb_conservatism_chance(s->lim.odds->chance[kind], slack_ns) >> FB_ONE_SHIFT;
}

u64 fb_track_find_fixed_cost(const struct fb_search *s)
{
	u64 missing_ns = s->period_ns - min(s->latency_ns, s->period_ns);

	if (!s->lim.odds)
		return 0;
	return s->lim.miss_value *
		fb_conservatism_chance(s->lim.odds->chance[FB_CONSERVATISM_EARLY],
				       missing_ns) >> FB_ONE_SHIFT;
}

/*
 * How many granules to leave unread for more slack, where a miss costs @miss: until leaving the
 * next one would cost more than it saves.
 */
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

/* write the pieces found so far, including the hop's best one, to the plan */
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

/* A command must reach the drive while that works on the one before, or the drive would idle. */
static bool fb_track_find_in_time(const struct fb_search *s, const struct fb_piece *p)
{
	const struct fb_piece *next = &s->piece[s->at];
	const u32 *pipe = s->lim.pipe_ns;

	/* the foreground alone would take no longer */
	if (p->prepend)
		return true;
	if (p->stop.ns - s->hop.from.ns < pipe[s->hop.write])
		return false;
	/* what follows the foreground is not known yet */
	if (s->hop.last || next->prepend)
		return s->window_ns - p->stop.ns + s->fg_ns >= max(pipe[0], pipe[1]);
	return next->stop.ns - p->stop.ns >= pipe[s->at + 1 == s->npieces && s->gap.dst_write];
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
	fb_track_find_write(s);
}

/* ---- prepending ---- */

/*
 * Propose the granules from @lbn to the foreground's beginning at angle @at; the head is there at
 * @angle, conservatism included.
 */
static void fb_track_find_prepend_run(struct fb_search *s, const struct dm_track *t, u64 lbn,
				      u32 at, u32 angle)
{
	struct fb_piece p = { .end = s->gap.dst_lbn, .prepend = true, .stop = s->hop.to };
	u32 g = s->lim.granule_sectors, left, n, spare;
	u64 first = fb_granule_first(g, lbn), end = div_u64(s->gap.dst_lbn, g), ns;

	if (first >= end)
		return;
	n = end - first;
	p.wanted = fb_bitmap_trim(s->bm, &first, &n);
	p.begin.place = s->gap.dst;
	if (!p.wanted || dm_lbn_angle(s->dm, t, first * g, &p.begin.place.angle))
		return;
	left = fb_track_find_left(s, t);
	p.value = fb_track_find_value(s, t, left, p.wanted);
	if (s->lim.odds) {
		ns = dm_angle_to_ns(s->dm, p.begin.place.angle - angle);
		spare = fb_track_find_spare(s, &s->hop.from.place, &s->hop.to.place,
					    fb_track_find_leg_miss(s, &s->hop.from.place,
								   &s->hop.to.place, ns), ns,
					    dm_angle_to_ns(s->dm, t->sector_angle) * g,
					    div_u64(p.value, p.wanted));
		spare = min(spare, n - 1);
		first += spare;
		n -= spare;
		p.wanted = fb_bitmap_trim(s->bm, &first, &n);
		if (!p.wanted || dm_lbn_angle(s->dm, t, first * g, &p.begin.place.angle))
			return;
		p.value = fb_track_find_value(s, t, left, p.wanted);
	}
	p.lbn = first * g;
	p.slack_ns = dm_angle_to_ns(s->dm, p.begin.place.angle - angle);
	p.begin.ns = s->hop.to.ns - dm_angle_to_ns(s->dm, at - p.begin.place.angle);
	ns = fb_track_find_leg_miss(s, &s->hop.from.place, &s->hop.to.place, p.slack_ns);
	p.value -= min(p.value, ns);
	fb_track_find_propose(s, &p);
}

/*
 * Prepend what passes on the destination track before the foreground, and ends where that begins.
 */
void fb_track_find_prepend(struct fb_search *s)
{
	const struct fb_hop *hop = &s->hop;
	const struct fb_gap *gap = &s->gap;
	struct dm_piece piece[2];
	struct dm_track t;
	u64 lbn, leg;
	u32 angle, at, i;

	leg = fb_track_find_leg(s, &hop->from.place, &hop->to.place, false);
	if (!hop->last || gap->dst_write || !s->lim.max_prepend_sectors || hop->window_ns <= leg)
		return;
	/* a remapped destination is not where its neighbours are */
	if (dm_track_of(s->dm, gap->dst_lbn, &t) || dm_lbn_angle(s->dm, &t, gap->dst_lbn, &at) ||
	    !fb_same_track(&gap->dst, t.cyl, t.head) || fb_track_find_avoided(s, &t))
		return;

	angle = at - dm_ns_to_angle(s->dm, hop->window_ns - leg);
	/* half a sector more, so that rounding does not cut off the last one */
	dm_window(s->dm, &t, angle, (u64)(at - angle) + t.sector_angle / 2, piece);
	i = piece[1].nsect && piece[1].lbn + piece[1].nsect == gap->dst_lbn;
	if (!piece[i].nsect || piece[i].lbn + piece[i].nsect != gap->dst_lbn)
		return;
	lbn = max(piece[i].lbn, gap->dst_lbn - min_t(u64, gap->dst_lbn,
						     s->lim.max_prepend_sectors));
	fb_track_find_prepend_run(s, &t, lbn, at, angle);
}

/* ---- pieces of their own ---- */

/* a track as seen from the hop */
struct fb_visit {
	const struct dm_track *t;	/* the track */
	u32 left;			/* its wanted granules */
	struct fb_spot at;		/* the head's arrival there, conservatism included */
	/* from then until the head must leave, conservatism included */
	u64 usable_ns;
};

u64 fb_track_find_usable_ns(const struct fb_search *s, u64 legs_ns, u64 con_ns)
{
	/* with one seek less, the head may land a turn before the end of a read */
	if (s->lim.lift)
		con_ns *= 2;
	if (legs_ns >= s->hop.window_ns || con_ns >= s->period_ns)
		return 0;
	return min(s->hop.window_ns - legs_ns, s->period_ns - con_ns);
}

/* Find where and when @n granules from @first on pass, and the slack before and after. */
static bool fb_track_find_pass(const struct fb_search *s, const struct fb_visit *v, u64 first,
			       u32 n, struct fb_piece *p, u64 slack_ns[2])
{
	u32 g = s->lim.granule_sectors, last;
	u64 passed;

	p->lbn = first * g;
	p->end = min((first + n) * g, dm_info(s->dm)->sectors);
	p->begin = v->at;
	p->stop = v->at;
	if (dm_lbn_angle(s->dm, v->t, p->lbn, &p->begin.place.angle) ||
	    dm_lbn_angle(s->dm, v->t, p->end - 1, &last))
		return false;
	p->stop.place.angle = last + v->t->sector_angle;
	slack_ns[0] = dm_angle_to_ns(s->dm, p->begin.place.angle - v->at.place.angle);
	passed = dm_angle_to_ns(s->dm, p->stop.place.angle - v->at.place.angle);
	slack_ns[1] = v->usable_ns - min(passed, v->usable_ns);
	p->begin.ns += slack_ns[0];
	p->stop.ns += passed;
	return true;
}

/* What a miss costs on the leg to a piece with so much slack, and on the leg from it. */
static void fb_track_find_misses(const struct fb_search *s, const struct fb_visit *v,
				 const u64 slack_ns[2], u64 miss[2])
{
	miss[0] = fb_track_find_leg_miss(s, &s->hop.from.place, &v->at.place, slack_ns[0]);
	miss[1] = fb_track_find_leg_miss(s, &v->at.place, &s->hop.to.place, slack_ns[1]);
}

/*
 * Leave granules at both ends unread where slack is worth more, as misses cost @miss and a granule
 * is worth @each; false: none.
 */
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

/*
 * Shorten a piece for more slack, and take off its value what misses cost. False: it cannot be
 * worth as much as the hop's best piece.
 */
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
		p->value = fb_track_find_value(s, v->t, v->left, p->wanted);
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
	u32 most = s->lim.max_sectors / s->lim.granule_sectors, n;
	struct fb_piece p = { 0 };
	u64 slack_ns[2];

	if (first >= end)
		return;
	n = end - first;
	/* a piece of equal value counts, because it may have more slack */
	if (n + 1 < fb_track_find_need_cached(s, &s->need, s->weight))
		return;
	p.wanted = fb_bitmap_trim(s->bm, &first, &n);
	if (n > most) {
		n = most;
		p.wanted = fb_bitmap_trim(s->bm, &first, &n);
	}
	p.value = fb_track_find_value(s, v->t, v->left, p.wanted);
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
	u64 con = fb_track_find_con(s, &from, &v->at.place), total, miss;
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
	total = con + a.total_ns + fb_track_find_leg(s, &a.end, &s->hop.to.place, s->hop.write);
	/* the head must not land in the first track's part, as at the top of this file */
	last += v->t->sector_angle - p.begin.place.angle;
	if (total > s->hop.window_ns ||
	    a.latency_ns + dm_angle_to_ns(s->dm, last) + con > s->period_ns)
		return false;
	p.value = fb_track_find_value(s, v->t, v->left, wanted);
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

/*
 * The granule that ends on the next track can only be read across the head switch, alone or with
 * the run before it.
 */
static void fb_track_find_straddler(struct fb_search *s, const struct fb_visit *v,
				    const struct dm_piece piece[2])
{
	u64 g = s->lim.granule_sectors, track_end = v->t->first_lbn + v->t->nsect;
	u64 straddler = div_u64(track_end, g), first, end;
	u32 n, wanted, angle, i;

	end = min((straddler + 1) * g, dm_info(s->dm)->sectors);
	if (end <= track_end || straddler * g < v->t->first_lbn ||
	    !fb_bitmap_is_wanted(s->bm, straddler))
		return;
	for (i = 0; i < 2; i++) {
		if (!piece[i].nsect || piece[i].lbn + piece[i].nsect <= straddler * g)
			continue;
		first = fb_granule_first(g, piece[i].lbn);
		if (first >= straddler)
			continue;
		n = straddler - first;
		if (n + 1 < fb_track_find_need_cached(s, &s->need, s->weight))
			continue;
		wanted = fb_bitmap_trim(s->bm, &first, &n);
		if (wanted && fb_track_find_value(s, v->t, v->left, wanted + 1) > s->find.value &&
		    fb_track_find_across(s, v, first * g, end, wanted + 1))
			return;
	}
	if (s->find.value >= fb_track_find_value(s, v->t, v->left, 1) ||
	    dm_lbn_angle(s->dm, v->t, straddler * g, &angle) ||
	    dm_angle_to_ns(s->dm, angle - v->at.place.angle) > v->usable_ns)
		return;
	fb_track_find_across(s, v, straddler * g, end, 1);
}

/* leg @i to or from the cylinder being examined, with a head switch if @other */
static u64 fb_track_find_way(const struct fb_search *s, u32 i, bool moves, bool other,
			     bool write)
{
	u32 ns = s->ways_ns[i];

	return (other ? max(ns, s->switch_ns[write]) : ns) + fb_track_find_con_ns(s, moves);
}

void fb_track_find_track(struct fb_search *s, const struct dm_track *t, u32 left)
{
	struct fb_visit v = { .t = t, .left = left };
	const struct fb_hop *hop = &s->hop;
	bool other = hop->from.place.head != t->head, moves = hop->from.place.cyl != t->cyl;
	u32 g = s->lim.granule_sectors, i;
	u64 leg = fb_track_find_way(s, 0, moves, other, false), legs;
	struct dm_piece piece[2];
	u32 most;

	if (fb_track_find_forbidden(s, t->cyl, t->head) || fb_track_find_avoided(s, t))
		return;
	legs = leg + fb_track_find_way(s, 1, hop->to.place.cyl != t->cyl,
				       hop->to.place.head != t->head, hop->write);
	v.usable_ns = fb_track_find_usable_ns(s, legs, fb_track_find_con_ns(s, moves));
	if (v.usable_ns < s->granule_ns * fb_track_find_need_cached(s, &s->need, s->weight))
		return;
	/* what core/search.c asked of the cylinder, of this track and its longer sectors */
	most = fb_track_find_passing(v.usable_ns, div_u64(s->period_ns * g, t->spt));
	/* does a granule end on the next track? */
	if ((t->first_lbn + t->nsect) & (g - 1))
		most++;
	if (fb_track_find_worth(s, s->weight, left, min(left, most)) < s->find.value)
		return;
	s->tracks++;
	v.at.place.cyl = t->cyl;
	v.at.place.head = t->head;
	v.at.place.angle = hop->from.place.angle + dm_ns_to_angle(s->dm, leg);
	v.at.ns = hop->from.ns + leg;
	dm_window(s->dm, t, v.at.place.angle, dm_ns_to_angle(s->dm, v.usable_ns), piece);
	for (i = 0; i < 2; i++) {
		u64 lbn = piece[i].lbn, end = lbn + piece[i].nsect;

		if (piece[i].nsect)
			fb_track_find_run(s, &v, fb_granule_first(g, lbn),
					  fb_granule_end(dm_info(s->dm)->sectors, g, end));
	}
	fb_track_find_straddler(s, &v, piece);
}
