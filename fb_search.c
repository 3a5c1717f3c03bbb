// SPDX-License-Identifier: GPL-2.0
/*
 * The search for free reads (freeblock paper, 4.3). Core; see fb_search.h.
 *
 * A gap lasts window_ns: the seek to the destination and the rotational latency
 * there. A separate read on track T may use what is left of it when the ways from
 * the source to T and from T to the destination, each with the conservatism added,
 * are taken off: "usable" below. The plan with the most wanted granules wins.
 *
 * Drives with zero-latency access begin in the middle of a request when the head
 * lands there, and then end where they landed, one turn later. That must not befall
 * a read in a gap: its end would depend on the exact moment of landing, which a
 * conservatism hides. The head lands up to the conservatism earlier than planned; so a
 * read that ends within a turn, less the conservatism, of its planned landing
 * is never met in its tail: usable time is capped so. A head that lands late, within
 * the slack, still finds the first sector ahead; later than that, either kind of drive
 * takes another turn.
 */
#include "fb_search.h"

/* one step passes over at most so many cylinders, to keep it short */
#define FB_SEARCH_STRIDE 16

/* how often an arm asks whether all the rest of it is too far */
#define FB_SEARCH_HORIZON 32

/* ---- granules ---- */

static u64 fb_granule_first(u32 granule_sectors, u64 lbn)
{
	return div_u64(lbn + granule_sectors - 1, granule_sectors);
}

/* granules that end at or before @end; the disk's last one may be short */
static u64 fb_granule_end(const struct disk_model *dm, u32 granule_sectors, u64 end)
{
	if (end >= dm_info(dm)->sectors)
		return fb_granule_first(granule_sectors, dm_info(dm)->sectors);
	return div_u64(end, granule_sectors);
}

/* in parentheses, lest checkpatch take it for a loop */
void (fb_for_each_run)(const struct disk_model *dm, u32 granule_sectors, u64 lbn,
		       u64 nsect, fb_runs_fn fn, void *ctx)
{
	u64 first = fb_granule_first(granule_sectors, lbn);
	u64 end = fb_granule_end(dm, granule_sectors, lbn + nsect), stop;
	struct dm_track t;

	while (first < end && !dm_track_of(dm, first * granule_sectors, &t)) {
		stop = fb_granule_first(granule_sectors, t.first_lbn + t.nsect);
		stop = min(stop, end);
		fn(ctx, first, stop - first, dm_track_index(dm, &t));
		first = stop;
	}
}

/* ---- plans ---- */

static bool fb_same_track(const struct dm_place *p, u32 cyl, u32 head)
{
	return p->cyl == cyl && p->head == head;
}

/* never a read on the source or the destination track: it could start the prefetcher */
static bool fb_forbidden(const struct fb_search *s, u32 cyl, u32 head)
{
	return fb_same_track(&s->gap.src, cyl, head) || fb_same_track(&s->gap.dst, cyl, head);
}

/* Greedy for wanted granules; of equals a prepend, for it costs no command, else slack. */
static void fb_propose(struct fb_search *s, enum fb_plan_kind kind, u64 lbn, u64 end,
		       u32 wanted, u64 slack_ns)
{
	struct fb_plan *best = &s->best;

	if (wanted < best->wanted)
		return;
	if (wanted == best->wanted &&
	    (best->kind != FB_PLAN_SEPARATE || slack_ns <= best->slack_ns))
		return;
	best->kind = kind;
	best->npieces = 1;
	best->piece[0].lbn = lbn;
	best->piece[0].nsect = end - lbn;
	best->wanted = wanted;
	best->slack_ns = slack_ns;
}

/*
 * Prepend: what passes on the destination track after the head can be there and
 * ends exactly where the foreground read begins.
 */
static void fb_search_prepend(struct fb_search *s)
{
	const struct fb_gap *gap = &s->gap;
	u32 g = s->lim.granule_sectors, angle, at, n, wanted, i;
	struct dm_piece piece[2];
	struct dm_track t;
	u64 lbn, first, end, avail;

	if (gap->dst_write || !s->lim.max_prepend_sectors ||
	    s->latency_ns <= s->lim.conservatism_ns)
		return;
	/* a remapped destination is not where its neighbours are */
	if (dm_track_of(s->dm, gap->dst_lbn, &t) || dm_lbn_angle(s->dm, &t, gap->dst_lbn, &at) ||
	    !fb_same_track(&gap->dst, t.cyl, t.head))
		return;

	avail = s->latency_ns - s->lim.conservatism_ns;
	angle = at - dm_ns_to_angle(s->dm, avail);
	/* half a sector more, lest rounding cuts off the last one */
	dm_window(s->dm, &t, angle, (u64)(at - angle) + t.sector_angle / 2, piece);
	i = piece[1].nsect && piece[1].lbn + piece[1].nsect == gap->dst_lbn;
	if (!piece[i].nsect || piece[i].lbn + piece[i].nsect != gap->dst_lbn)
		return;

	lbn = max(piece[i].lbn, gap->dst_lbn - min_t(u64, gap->dst_lbn,
						     s->lim.max_prepend_sectors));
	first = fb_granule_first(g, lbn);
	end = div_u64(gap->dst_lbn, g);
	if (first >= end)
		return;
	n = end - first;
	wanted = fb_bitmap_trim(s->bm, &first, &n);
	if (!wanted || dm_lbn_angle(s->dm, &t, first * g, &at))
		return;
	fb_propose(s, FB_PLAN_PREPEND, first * g, gap->dst_lbn, wanted,
		   dm_angle_to_ns(s->dm, at - angle));
}

/**
 * struct fb_visit - a track seen from the gap
 * @t: the track
 * @angle: the platter's when the head is surely there
 * @usable_ns: from then until the head must surely leave
 */
struct fb_visit {
	struct dm_track t;
	u32 angle;
	u64 usable_ns;
};

/* how long a candidate must have to beat the best plan */
static u64 fb_search_need(const struct fb_search *s)
{
	return (s->best.wanted + 1) * s->granule_ns;
}

/* @legs_ns: to the track and from there to the destination; 0 = not usable */
static u64 fb_search_usable(const struct fb_search *s, u64 legs_ns)
{
	u64 con = s->lim.conservatism_ns, usable;

	legs_ns += 2 * con;
	if (legs_ns >= s->window_ns || con >= s->period_ns)
		return 0;
	usable = s->window_ns - legs_ns;
	return min(usable, s->period_ns - con);
}

/* The best of granules [@first, @end), all of which pass within the visit. */
static void fb_search_run(struct fb_search *s, const struct fb_visit *v, u64 first, u64 end)
{
	u32 g = s->lim.granule_sectors, most = s->lim.max_sectors / g, n, wanted, from, to;
	u64 last, wait, passed;

	if (first >= end)
		return;
	n = end - first;
	wanted = fb_bitmap_trim(s->bm, &first, &n);
	if (n > most) {
		n = most;
		wanted = fb_bitmap_trim(s->bm, &first, &n);
	}
	if (!wanted || wanted < s->best.wanted)
		return;
	last = min((first + n) * g, dm_info(s->dm)->sectors) - 1;
	if (dm_lbn_angle(s->dm, &v->t, first * g, &from) ||
	    dm_lbn_angle(s->dm, &v->t, last, &to))
		return;
	wait = dm_angle_to_ns(s->dm, from - v->angle);
	passed = dm_angle_to_ns(s->dm, to + v->t.sector_angle - v->angle);
	fb_propose(s, FB_PLAN_SEPARATE, first * g, last + 1, wanted,
		   min(wait, v->usable_ns - min(passed, v->usable_ns)));
}

/* A read from @lbn on this track to @end on the next: only the model can tell. */
static bool fb_search_across(struct fb_search *s, const struct fb_visit *v, u64 lbn,
			     u64 end, u32 wanted)
{
	u64 con = s->lim.conservatism_ns, total;
	struct dm_place from = s->gap.src;
	struct dm_access a;
	u32 angle, last;

	if (end - lbn > s->lim.max_sectors || dm_lbn_angle(s->dm, &v->t, lbn, &angle) ||
	    dm_lbn_angle(s->dm, &v->t, v->t.first_lbn + v->t.nsect - 1, &last))
		return false;
	from.angle += dm_ns_to_angle(s->dm, con);
	if (dm_access(s->dm, &from, lbn, end - lbn, false, &a) ||
	    fb_forbidden(s, a.end.cyl, a.end.head))
		return false;
	total = a.total_ns + dm_seek_ns(s->dm, &a.end, &s->gap.dst, s->gap.dst_write) + 2 * con;
	/* the first track's part is not to be met in its tail, as above */
	last += v->t.sector_angle;
	if (total > s->window_ns ||
	    a.latency_ns + dm_angle_to_ns(s->dm, last - angle) + con > s->period_ns)
		return false;
	fb_propose(s, FB_PLAN_SEPARATE, lbn, end, wanted,
		   min(a.latency_ns, s->window_ns - total));
	return true;
}

/*
 * The granule that begins at the end of this track and ends on the next can be read
 * in no other way than across the head switch, alone or with the run before it.
 */
static void fb_search_straddler(struct fb_search *s, const struct fb_visit *v,
				const struct dm_piece piece[2])
{
	u64 g = s->lim.granule_sectors, track_end = v->t.first_lbn + v->t.nsect;
	u64 straddler = div_u64(track_end, g), first, end;
	u32 n, wanted, angle, i;

	end = min((straddler + 1) * g, dm_info(s->dm)->sectors);
	if (end <= track_end || straddler * g < v->t.first_lbn ||
	    !fb_bitmap_is_wanted(s->bm, straddler))
		return;
	for (i = 0; i < 2; i++) {
		if (!piece[i].nsect || piece[i].lbn + piece[i].nsect <= straddler * g)
			continue;
		first = fb_granule_first(g, piece[i].lbn);
		if (first >= straddler)
			continue;
		n = straddler - first;
		wanted = fb_bitmap_trim(s->bm, &first, &n);
		if (wanted && wanted + 1 > s->best.wanted &&
		    fb_search_across(s, v, first * g, end, wanted + 1))
			return;
	}
	if (s->best.wanted || dm_lbn_angle(s->dm, &v->t, straddler * g, &angle) ||
	    dm_angle_to_ns(s->dm, angle - v->angle) > v->usable_ns)
		return;
	fb_search_across(s, v, straddler * g, end, 1);
}

/* ---- tracks and cylinders ---- */

static void fb_search_track(struct fb_search *s, u32 index)
{
	u32 g = s->lim.granule_sectors, i;
	struct dm_piece piece[2];
	struct dm_place to = { 0 };
	struct fb_visit v;
	u64 seek;

	if (dm_track_by_index(s->dm, index, &v.t) || fb_forbidden(s, v.t.cyl, v.t.head))
		return;
	to.cyl = v.t.cyl;
	to.head = v.t.head;
	seek = dm_seek_ns(s->dm, &s->gap.src, &to, false);
	v.usable_ns = fb_search_usable(s, seek + dm_seek_ns(s->dm, &to, &s->gap.dst,
							    s->gap.dst_write));
	if (v.usable_ns < fb_search_need(s))
		return;
	s->tracks++;
	v.angle = s->gap.src.angle + dm_ns_to_angle(s->dm, seek + s->lim.conservatism_ns);
	dm_window(s->dm, &v.t, v.angle, dm_ns_to_angle(s->dm, v.usable_ns), piece);
	for (i = 0; i < 2; i++)
		if (piece[i].nsect)
			fb_search_run(s, &v, fb_granule_first(g, piece[i].lbn),
				      fb_granule_end(s->dm, g, piece[i].lbn + piece[i].nsect));
	fb_search_straddler(s, &v, piece);
}

/* Shortest ways over any cylinder of the arm at distances from @dist to before @end. */
static bool fb_arm_hopeless(const struct fb_search *s, const struct fb_search_arm *arm,
			    u32 dist, u32 end)
{
	u32 far = arm->inner ? s->between - (end - 1) : s->between + dist;
	u64 legs = dm_seek_floor_ns(s->dm, dist) + dm_seek_floor_ns(s->dm, far);

	return fb_search_usable(s, legs) < fb_search_need(s);
}

/* Nothing at @arm->dist was usable: how far is nothing usable either? */
static void fb_arm_skip(const struct fb_search *s, struct fb_search_arm *arm)
{
	u32 twice = min(2 * arm->dist, arm->end);

	if (fb_arm_hopeless(s, arm, arm->dist, arm->end))
		arm->dist = arm->end;
	else if (twice > arm->dist && fb_arm_hopeless(s, arm, arm->dist, twice))
		arm->dist = twice;
	else
		arm->dist++;
}

static bool fb_cylinder_usable(const struct fb_search *s, u32 cyl)
{
	struct dm_place src = { .cyl = cyl, .head = s->gap.src.head };
	struct dm_place dst = { .cyl = cyl, .head = s->gap.dst.head };
	u64 legs = dm_seek_ns(s->dm, &s->gap.src, &src, false) +
		   dm_seek_ns(s->dm, &dst, &s->gap.dst, s->gap.dst_write);

	return fb_search_usable(s, legs) >= fb_search_need(s);
}

static struct fb_search_arm *fb_nearest_arm(struct fb_search *s)
{
	struct fb_search_arm *best = NULL;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(s->arm); i++)
		if (s->arm[i].dist < s->arm[i].end && (!best || s->arm[i].dist < best->dist))
			best = &s->arm[i];
	return best;
}

/* Go on to the next cylinder that may hold something; false: there is none. */
static bool fb_search_outward(struct fb_search *s)
{
	u32 heads = dm_info(s->dm)->heads, i;

	for (i = 0; i < FB_SEARCH_STRIDE; i++) {
		struct fb_search_arm *arm = fb_nearest_arm(s);
		u32 cyl, most;

		if (!arm)
			return false;
		cyl = arm->up ? arm->base + arm->dist : arm->base - arm->dist;
		most = fb_bitmap_group_most(s->bm, cyl * heads, heads);
		if (most <= s->best.wanted) {
			if (arm->dist % FB_SEARCH_HORIZON == FB_SEARCH_HORIZON - 1)
				fb_arm_skip(s, arm);
			else
				arm->dist++;
			continue;
		}
		if (!fb_cylinder_usable(s, cyl)) {
			fb_arm_skip(s, arm);
			continue;
		}
		arm->dist++;
		s->track = cyl * heads;
		s->track_end = s->track + heads;
		break;
	}
	return true;
}

bool fb_search_step(struct fb_search *s)
{
	if (!s->begun) {
		s->begun = true;
		s->tracks++;
		fb_search_prepend(s);
		return s->lim.separate;
	}
	while (s->track < s->track_end) {
		u32 index = s->track++;

		if (fb_bitmap_group(s->bm, index) > s->best.wanted) {
			fb_search_track(s, index);
			return true;
		}
	}
	return fb_search_outward(s);
}

/* ---- beginning ---- */

/*
 * Source and destination have an arm towards each other, which meet in the middle, and
 * one away from each other; the arms cover each cylinder once.
 */
static void fb_search_arms(struct fb_search *s)
{
	u32 src = s->gap.src.cyl, dst = s->gap.dst.cyl, d, i;
	u32 cylinders = dm_info(s->dm)->cylinders;

	d = src < dst ? dst - src : src - dst;
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
}

void fb_search_start(struct fb_search *s, const struct disk_model *dm,
		     const struct fb_bitmap *bm, const struct fb_gap *gap,
		     const struct fb_limits *lim)
{
	u32 spt = 1, i;
	struct dm_track t;
	u64 seek;

	memset(s, 0, sizeof(*s));
	s->dm = dm;
	s->bm = bm;
	s->gap = *gap;
	s->lim = *lim;
	/* the platter turns while the arm must wait */
	s->gap.src.angle += dm_ns_to_angle(dm, gap->lead_ns);
	dm_position(dm, &s->gap.src, &gap->dst, gap->dst_write, &seek, &s->latency_ns);
	s->window_ns = seek + s->latency_ns;
	s->period_ns = dm_period_ns(dm);
	/*
	 * Tracks are longest at LBN 0, or so near the gap that they matter; were a
	 * longer one elsewhere, the search might pass over it, nothing worse.
	 */
	if (!dm_track_of(dm, 0, &t))
		spt = max(spt, t.spt);
	for (i = 0; i < 2; i++) {
		const struct dm_place *p = i ? &s->gap.src : &s->gap.dst;

		if (!dm_track_at(dm, p->cyl, p->head, &t))
			spt = max(spt, t.spt);
	}
	s->granule_ns = div_u64(s->period_ns * lim->granule_sectors, spt);
	fb_search_arms(s);
}
