// SPDX-License-Identifier: GPL-2.0
/*
 * Disk model against a slow, independent walk of the same layout: small random disks
 * with dead sectors, slips, remaps and every head order, each sector of which the test
 * visits in turn, adding skews one by one. What is expected comes from that walk and
 * from exact 128-bit arithmetic, never from disk_model.c. In some zones tracks differ in
 * length from head to head.
 *
 * Planted bugs, each seen to fail: slips counted with "<" for "<=" in
 * dm_unslipped_to_phys() (places); the remap left out of dm_place_of() (places);
 * dm_head() without @reverse (places, order serpentine-disk); the head order left out
 * of dm_track_index() (tracks); "off + span" without "+ 1" and "end" one sector later
 * in dm_window() (windows); dm_window_run() keeping the first two runs (windows);
 * floors taken from the points alone, not from where they lead (seeks); latency from
 * the departure angle (positions); settle left out of a write's head switch (seeks); a
 * landing inside counted from the sector under way, a spare's track angle taken for its
 * sector's (accesses); a seek index one entry off (long seeks). Where heads differ:
 * dm_before() forwards on a backward cylinder, the zone's longest track's sectors for a
 * shorter track's (places, tracks, windows); the longest track that of the last zone
 * (tracks). Where LBNs stay on a surface: all runs inwards, a last band as wide as the others
 * (places, tracks, windows); dm_run.back by the physical head (tracks).
 */
#include <malloc.h>

#include "support.h"

#define DISKS 300
#define MOST_ZONES 4
#define MOST_HEADS 5
#define MOST_SECTORS 65536
#define NONE UINT64_MAX

/* one sector of the disk, as walked */
struct spot {
	u64 lbn;	/* that lies here in order, or NONE */
	u32 angle0;	/* where its track's sector 0 begins */
	u32 cyl;	/* cylinder */
	u32 head;	/* physical head */
	u32 spt;	/* sectors on its track */
	u32 sector;	/* number on its track */
	bool slipped;	/* a slip: a hole in the LBNs */
	bool remapped;	/* @lbn lives elsewhere */
};

/* a random disk: specification, model, and the walk */
struct disk {
	struct dm_spec spec;	/* specification */
	struct dm_spec_zone zone[MOST_ZONES];
	u16 head_spt[MOST_ZONES * MOST_HEADS];
	struct dm_spec_slip slip[MOST_SECTORS];
	struct dm_spec_remap remap[MOST_SECTORS];
	struct dm_spec_seek seek[64];
	struct dm_spec_seek write_seek[64];
	struct disk_model *dm;	/* model built from it */
	struct spot spots[MOST_SECTORS];	/* all sectors in the order of the walk */
	u32 n;	/* how many */
	u32 home[MOST_SECTORS];	/* by LBN: the spot where it lives, remaps followed */
	u32 order[MOST_SECTORS];	/* by LBN: the spot where it lies in order */
};

static struct disk disk;
static struct rnd rnd;

static u32 below(u32 n)
{
	return rnd_below(&rnd, n);
}

/* ---- random disks ---- */

/* Would the line through the last two points of @n lead out of bounds at the stroke? */
static bool leads_astray(const struct dm_spec_seek *p, u32 n, u32 stroke)
{
	double ns, slope;

	if (n < 2)
		return true;
	slope = ((double)p[n - 1].ns - p[n - 2].ns) / (p[n - 1].cyls - p[n - 2].cyls);
	ns = p[n - 1].ns + slope * (stroke - p[n - 1].cyls);
	return ns < 1000 || ns > DM_NS_MAX - 1000;
}

static u32 random_profile(struct dm_spec_seek *p, u32 stroke)
{
	u32 n = 0, cyls = 0;

	while (n < 40) {
		cyls += 1 + below(below(2) ? 2 : stroke / 4 + 1);
		if (cyls > stroke)
			break;
		p[n].cyls = cyls;
		p[n++].ns = 500000 + below(3000000);
	}
	while (n && p[n - 1].cyls != stroke && leads_astray(p, n, stroke))
		n--;
	if (!n) {
		p[n].cyls = stroke;
		p[n++].ns = 1000000 + below(5000000);
	}
	return stroke ? n : 0;
}

static void random_header(struct disk *d)
{
	struct dm_info *info = &d->spec.info;

	memset(&d->spec, 0, sizeof(d->spec));
	info->physical_sectors = 1;
	info->granule_sectors = 8;
	info->heads = 1 + below(MOST_HEADS);
	info->period_ps = 2000000000 + rnd_below(&rnd, 20000000000ULL);
	info->head_switch_ns = below(1000000);
	info->write_settle_ns = below(600000);
	info->zero_latency = below(2);
	d->spec.order = below(3);
	/* half of them longer than most zones */
	info->surface_run = d->spec.order == DM_HEADS_SERPENTINE_DISK || below(2) ? 1 :
			    2 + below(below(2) ? 6 : 40);
	d->spec.zone = d->zone;
	d->spec.head_spt = d->head_spt;
	d->spec.slip = d->slip;
	d->spec.remap = d->remap;
	d->spec.seek = d->seek;
	d->spec.write_seek = d->write_seek;
}

/* Tracks of the zone's heads, at @head_spt if they differ; returns a cylinder's sectors. */
static u32 random_heads(struct disk *d, struct dm_spec_zone *z, u16 *head_spt)
{
	u32 heads = d->spec.info.heads, sum = 0, i;

	if (below(2))
		return heads * z->spt;
	z->head_spts = heads;
	for (i = 0; i < heads; i++)
		head_spt[i] = 1 + below(z->spt);
	head_spt[below(heads)] = z->spt;
	for (i = 0; i < heads; i++)
		sum += head_spt[i];
	return sum;
}

/* Slips of the zone, and how many sectors they take; @room sectors less the dead ones. */
static u32 random_slips(struct disk *d, struct dm_spec_zone *z, u32 room)
{
	u32 at = z->dead + below(20), taken = 0;

	while (at < z->dead + room * 3 / 4 && taken < room / 8) {
		struct dm_spec_slip *s = &d->slip[d->spec.slips++];

		s->at = at;
		s->n = below(4) ? 1 : 1 + below(z->spt + 2);
		taken += s->n;
		at += s->n + (below(3) ? below(60) : 0);
		z->slips++;
	}
	return taken;
}

/* A slip must move an LBN: of those that @slipped sectors are in, drop what does not. */
static void drop_late_slips(struct disk *d, struct dm_spec_zone *z, u32 slipped, u32 end)
{
	while (z->slips) {
		const struct dm_spec_slip *s = &d->slip[d->spec.slips - 1];

		slipped -= s->n;
		if (s->at - slipped < end)
			break;
		d->spec.slips--;
		z->slips--;
	}
}

/* Remaps of the zone, its walk already done: spots @first up to the disk's end. */
static void random_remaps(struct disk *d, struct dm_spec_zone *z, u32 first, u32 spare)
{
	u32 i, target = d->n;

	for (i = first; i < spare && target > spare; i += 1 + below(90)) {
		struct dm_spec_remap *r;

		if (d->spots[i].lbn == NONE || below(3) == 0)
			continue;
		r = &d->remap[d->spec.remaps++];
		r->from = i - first;
		r->to = --target - first;
		d->spots[i].remapped = true;
		d->home[d->spots[i].lbn] = target;
		z->remaps++;
	}
}

static bool runs_back(const struct disk *d, const struct dm_spec_zone *z, u32 cyl)
{
	if (d->spec.order == DM_HEADS_SERPENTINE_ZONE)
		return (cyl - z->first_cyl) / d->spec.info.surface_run % 2;
	return d->spec.order == DM_HEADS_SERPENTINE_DISK && cyl % 2;
}

/* a walk over a zone's sectors */
struct steps {
	const struct dm_spec_zone *z;	/* the zone */
	const struct dm_spec_slip *slip;	/* its slips */
	u32 first;			/* its first spot */
	u64 lbn;			/* the next LBN */
	u64 end;			/* the LBN after its last */
	u32 spare;			/* the spot after the last with an LBN */
};

static void walk_track(struct disk *d, struct steps *w, u32 angle0, u32 cyl, u32 head, u32 spt)
{
	u32 s;

	for (s = 0; s < spt; s++) {
		struct spot *spot = &d->spots[d->n];
		u32 i, k = d->n++ - w->first;

		*spot = (struct spot){ NONE, angle0, cyl, head, spt, s, false, false };
		for (i = 0; i < w->z->slips; i++)
			spot->slipped |= k >= w->slip[i].at && k < w->slip[i].at + w->slip[i].n;
		if (k < w->z->dead || spot->slipped || w->lbn == w->end)
			continue;
		d->home[w->lbn] = d->n - 1;
		d->order[w->lbn] = d->n - 1;
		spot->lbn = w->lbn++;
		w->spare = d->n;
	}
}

/*
 * Walk a zone band by band, head by head, track by track, sector by sector; returns the LBN after
 * its last. @head_spt: its own, if it has them.
 */
static u64 walk_zone(struct disk *d, struct dm_spec_zone *z, const u16 *head_spt, u64 lbn,
		     u64 lbns)
{
	u32 heads = d->spec.info.heads, run = d->spec.info.surface_run, band, n, h, k;
	struct steps w = {
		.z = z, .slip = d->spec.slip + d->spec.slips - z->slips,
		.first = d->n, .lbn = lbn, .end = lbn + lbns,
	};
	u64 angle = z->angle;

	for (band = z->first_cyl; band <= z->last_cyl; band += n) {
		n = min(run, z->last_cyl + 1 - band);
		for (h = 0; h < heads; h++) {
			u32 head = runs_back(d, z, band) ? heads - 1 - h : h;

			for (k = 0; k < n; k++) {
				walk_track(d, &w, angle >> 32, h % 2 ? band + n - 1 - k : band + k,
					   head, z->head_spts ? head_spt[head] : z->spt);
				if (k + 1 < n)
					angle += z->cyl_skew;
			}
			angle += run == 1 && h + 1 == heads ? z->cyl_skew : z->track_skew;
		}
	}
	random_remaps(d, z, w.first, w.spare);
	return w.lbn;
}

static void random_disk(struct disk *d)
{
	struct dm_fault fault = { 0 };
	u32 zones = 1 + below(MOST_ZONES), cyl = 0;
	u16 *head_spt = d->head_spt;
	u64 lbn = 0;

	random_header(d);
	d->n = 0;
	while (d->spec.zones < zones) {
		struct dm_spec_zone *z = &d->zone[d->spec.zones++];
		u32 room, taken;

		memset(z, 0, sizeof(*z));
		z->first_cyl = cyl;
		z->last_cyl = cyl + below(20);
		cyl = z->last_cyl + 1;
		z->spt = 1 + below(below(2) ? 6 : 60);
		z->angle = rnd_next(&rnd);
		z->track_skew = rnd_next(&rnd);
		z->cyl_skew = rnd_next(&rnd);
		room = (cyl - z->first_cyl) * random_heads(d, z, head_spt);
		z->dead = below(3) ? 0 : below(room / 3 + 1);
		taken = below(3) ? random_slips(d, z, room - z->dead) : 0;
		z->spares = min(room - (u32)z->dead, taken + below(room / 8 + 2));
		drop_late_slips(d, z, taken, room - z->spares);
		lbn = walk_zone(d, z, head_spt, lbn, room - z->dead - z->spares);
		head_spt += z->head_spts;
	}
	d->spec.info.cylinders = cyl;
	d->spec.info.sectors = lbn;
	d->spec.seeks = random_profile(d->seek, cyl - 1);
	d->spec.write_seeks = below(3) ? 0 : random_profile(d->write_seek, cyl - 1);
	if (dm_build(&d->spec, &d->dm, &fault)) {
		print_error("%s\n", fault.reason);
		fail();
	}
}

/* ---- exact arithmetic ---- */

/* Angle of @spot's beginning (its end when @end), by division. */
static u32 spot_angle(const struct spot *spot, bool end)
{
	return spot->angle0 + (u32)(((u64)(spot->sector + end) << 32) / spot->spt);
}

static double angle_ns(const struct disk *d, u32 angle)
{
	return (double)angle * d->spec.info.period_ps / 1000 / 4294967296.0;
}

static u32 ns_angle(const struct disk *d, u64 ns)
{
	return mul_u64_u64_div_u64(ns, 1000ULL << 32, d->spec.info.period_ps);
}

static void assert_near(double a, double b, double tolerance)
{
	if (a - b > tolerance || b - a > tolerance) {
		print_error("%.3f is not within %.3f of %.3f\n", a, tolerance, b);
		fail();
	}
}

static void assert_angles_near(u32 a, u32 b, u32 tolerance)
{
	u32 apart = min(a - b, b - a);

	if (apart > tolerance) {
		print_error("angle %08x is %u units from %08x\n", a, apart, b);
		fail();
	}
}

/* ---- layout ---- */

static void check_places(struct disk *d)
{
	struct dm_place p;
	struct dm_track t;
	u64 lbn;
	u32 angle;

	for (lbn = 0; lbn < d->spec.info.sectors; lbn++) {
		const struct spot *home = &d->spots[d->home[lbn]];
		const struct spot *order = &d->spots[d->order[lbn]];

		assert_int_equal(dm_place_of(d->dm, lbn, &p), 0);
		assert_int_equal(p.cyl, home->cyl);
		assert_int_equal(p.head, home->head);
		assert_int_equal(p.angle, spot_angle(home, false));
		assert_int_equal(dm_track_of(d->dm, lbn, &t), 0);
		assert_int_equal(t.cyl, order->cyl);
		assert_int_equal(t.head, order->head);
		assert_true(lbn >= t.first_lbn && lbn < t.first_lbn + t.nsect);
		angle = 0;
		assert_int_equal(dm_lbn_angle(d->dm, &t, lbn, &angle),
				 order->remapped ? -ENXIO : 0);
		if (!order->remapped)
			assert_int_equal(angle, p.angle);
		assert_int_equal(dm_lbn_angle(d->dm, &t, t.first_lbn + t.nsect, &angle), -ERANGE);
		assert_int_equal(dm_lbn_angle(d->dm, &t, t.first_lbn - 1, &angle), -ERANGE);
	}
	assert_int_equal(dm_place_of(d->dm, lbn, &p), -ERANGE);
	assert_int_equal(dm_track_of(d->dm, lbn, &t), -ERANGE);
	assert_int_equal(dm_place_of(d->dm, U64_MAX, &p), -ERANGE);
}

/* The tracks of the run to which @t belongs, by their numbers, and those next to them. */
static void check_run(const struct disk *d, const struct dm_track *t, u32 index)
{
	struct dm_track far;
	struct dm_run run;
	u32 inner, outer;

	assert_int_equal(dm_run_at(d->dm, t->cyl, t->head, &run), 0);
	assert_int_equal(run.index, index);
	inner = run.back ? index - run.inner : index + run.inner;
	outer = run.back ? index + run.outer : index - run.outer;
	assert_int_equal(dm_track_by_index(d->dm, inner, &far), 0);
	assert_int_equal(far.head, t->head);
	assert_int_equal(far.cyl, t->cyl + run.inner);
	assert_int_equal(dm_track_by_index(d->dm, outer, &far), 0);
	assert_int_equal(far.head, t->head);
	assert_int_equal(far.cyl, t->cyl - run.outer);
	assert_in_range(run.inner + run.outer, 0, d->spec.info.surface_run - 1);
	/* it ends where its band does: at a whole run from the zone's first, or its last */
	if (t->cyl + run.inner < d->zone[t->zone].last_cyl)
		assert_int_equal(run.inner + run.outer, d->spec.info.surface_run - 1);
	assert_int_equal(dm_run_at(d->dm, d->spec.info.cylinders, 0, &run), -ERANGE);
	assert_int_equal(dm_run_at(d->dm, 0, d->spec.info.heads, &run), -ERANGE);
}

/* The track of @spt spots that begins at @spot, number @index in LBN order. */
static void check_track(struct disk *d, const struct spot *spot, u32 index)
{
	struct dm_track t, same;
	bool anomalous = false;
	u64 first = NONE;
	u32 s, n = 0;

	for (s = 0; s < spot->spt; s++) {
		anomalous |= spot[s].slipped || spot[s].remapped;
		if (spot[s].lbn != NONE && !n++)
			first = spot[s].lbn;
	}
	assert_int_equal(dm_track_at(d->dm, spot->cyl, spot->head, &t), 0);
	assert_int_equal(t.cyl, spot->cyl);
	assert_int_equal(t.head, spot->head);
	assert_int_equal(t.spt, spot->spt);
	assert_int_equal(t.nsect, n);
	if (n)
		assert_int_equal(t.first_lbn, first);
	assert_int_equal(t.angle0, spot->angle0);
	assert_int_equal(t.sector_angle, min(0x100000000ULL / t.spt, (u64)U32_MAX));
	assert_int_equal(t.anomalous, anomalous);
	assert_int_equal(dm_track_index(d->dm, &t), index);
	assert_int_equal(dm_track_by_index(d->dm, index, &same), 0);
	assert_int_equal(same.cyl, t.cyl);
	assert_int_equal(same.head, t.head);
	assert_int_equal(same.first_lbn, t.first_lbn);
	assert_int_equal(same.nsect, t.nsect);
	check_run(d, &t, index);
}

/* Zones that hold no LBN do not count for the shortest. */
static void check_longest(const struct disk *d)
{
	u32 most = 0, least = U32_MAX, zone_least = U32_MAX, k, z = 0;
	bool lbns = false;

	for (k = 0; k < d->n; k++) {
		const struct spot *spot = &d->spots[k];

		if (spot->cyl > d->zone[z].last_cyl) {
			least = lbns ? min(least, zone_least) : least;
			zone_least = U32_MAX;
			lbns = false;
			z++;
		}
		most = max(most, spot->spt);
		zone_least = min(zone_least, spot->spt);
		lbns |= spot->lbn != NONE;
	}
	least = lbns ? min(least, zone_least) : least;
	assert_int_equal(dm_info(d->dm)->spt_most, most);
	if (d->spec.info.sectors)
		assert_int_equal(dm_info(d->dm)->spt_least, least);
}

static void check_tracks(struct disk *d)
{
	struct dm_track t;
	u32 k, index;

	for (k = 0, index = 0; k < d->n; k += d->spots[k].spt)
		check_track(d, &d->spots[k], index++);
	assert_int_equal(dm_tracks(d->dm), index);
	check_longest(d);
	assert_int_equal(dm_track_by_index(d->dm, index, &t), -ERANGE);
	assert_int_equal(dm_track_at(d->dm, d->spec.info.cylinders, 0, &t), -ERANGE);
	assert_int_equal(dm_track_at(d->dm, 0, d->spec.info.heads, &t), -ERANGE);
}

/* ---- windows ---- */

/*
 * The runs of the track's spots that pass wholly in the window, in order of passing:
 * every sector is asked by itself.
 */
static u32 walk_window(const struct spot *track, u32 angle, u64 span, struct dm_piece *run)
{
	u32 spt = track->spt, first = 0, s, k, runs = 0;
	u64 last = NONE;

	/* the sector that begins first after the window does */
	for (s = 1; s < spt; s++)
		if (spot_angle(&track[s], false) - angle < spot_angle(&track[first], false) - angle)
			first = s;
	for (k = 0; k < spt; k++) {
		const struct spot *spot = &track[(first + k) % spt];
		u32 wait = spot_angle(spot, false) - angle;
		u64 length = spt == 1 ? 1ULL << 32 :
			     spot_angle(spot, true) - spot_angle(spot, false);

		if (wait + length > span || spot->lbn == NONE || spot->remapped)
			continue;
		if (runs && spot->lbn == last + 1)
			run[runs - 1].nsect++;
		else
			run[runs++] = (struct dm_piece){ spot->lbn, 1 };
		last = spot->lbn;
	}
	return runs;
}

static const struct dm_piece *find_run(const struct dm_piece *run, u32 runs,
				       const struct dm_piece *p)
{
	u32 i;

	for (i = 0; i < runs; i++)
		if (run[i].lbn == p->lbn && run[i].nsect == p->nsect)
			return &run[i];
	print_error("no run of %u from %llu\n", p->nsect, (unsigned long long)p->lbn);
	fail();
	return NULL;
}

static void check_window(struct disk *d, const struct spot *track, u32 angle, u64 span)
{
	static struct dm_piece run[128];
	struct dm_piece piece[2];
	struct dm_track t;
	u32 i, runs, longest = 0, second = 0;

	assert_int_equal(dm_track_at(d->dm, track->cyl, track->head, &t), 0);
	runs = walk_window(track, angle, span, run);
	for (i = 0; i < runs; i++) {
		if (run[i].nsect > longest) {
			second = longest;
			longest = run[i].nsect;
		} else {
			second = max(second, run[i].nsect);
		}
	}
	dm_window(d->dm, &t, angle, span, piece);
	assert_int_equal(max(piece[0].nsect, piece[1].nsect), longest);
	assert_int_equal(min(piece[0].nsect, piece[1].nsect), second);
	if (piece[0].nsect)
		find_run(run, runs, &piece[0]);
	if (piece[1].nsect)
		assert_true(find_run(run, runs, &piece[0]) < find_run(run, runs, &piece[1]));
}

static void check_windows(struct disk *d)
{
	u32 k, w;

	for (k = 0; k < d->n; k += d->spots[k].spt) {
		const struct spot *track = &d->spots[k];

		for (w = 0; w < 12; w++) {
			/* on a sector's edge, next to one, anywhere */
			u32 s = below(track->spt), e = below(track->spt);
			u32 angle = spot_angle(&track[s], below(2)) + below(3) - 1;
			u64 span = spot_angle(&track[e], below(2)) - angle +
				   below(3) - 1ULL;

			if (!below(4))
				angle = rnd_next(&rnd);
			if (!below(4))
				span = rnd_next(&rnd) >> (28 + below(20));
			if (!below(6))
				span += 1ULL << 32;
			check_window(d, track, angle, span);
		}
		check_window(d, track, spot_angle(track, false), 1ULL << 32);
		check_window(d, track, below(U32_MAX), U64_MAX);
		check_window(d, track, below(U32_MAX), 0);
	}
}

/* ---- mechanics ---- */

/* The profile by hand: lines between (0, base) and the points. */
static double profile_ns(const struct dm_spec_seek *p, u32 n, u32 base, u32 cyls)
{
	struct dm_spec_seek a = { 0 };
	u32 i;

	for (i = 0; i < n - 1 && p[i].cyls < cyls; i++)
		a = p[i];
	/* p[i] is the first point as far, or the last of all: then the line goes on */
	return base + a.ns + ((double)p[i].ns - a.ns) * (cyls - a.cyls) / (p[i].cyls - a.cyls);
}

static double seek_ns(const struct disk *d, u32 cyls, bool other_head, bool write)
{
	const struct dm_info *info = &d->spec.info;
	u32 settle = write ? info->write_settle_ns : 0;
	double ns = 0, head_switch = other_head ? info->head_switch_ns + settle : 0;

	if (cyls && write && d->spec.write_seeks)
		ns = profile_ns(d->write_seek, d->spec.write_seeks, 0, cyls);
	else if (cyls)
		ns = profile_ns(d->seek, d->spec.seeks, settle, cyls);
	return max(ns, head_switch);
}

static void check_seeks(struct disk *d)
{
	u32 stroke = d->spec.info.cylinders - 1, cyls, way;
	u64 least = U64_MAX;

	assert_int_equal(dm_seek_floor_ns(d->dm, 0), 0);
	for (cyls = stroke + 1; cyls--; ) {
		for (way = 0; way < 4; way++) {
			bool other_head = way & 1, write = way & 2;
			u32 cyl = below(stroke - cyls + 1);
			struct dm_place a = { cyl, 0, below(U32_MAX) };
			struct dm_place b = { cyl + cyls, other_head, below(U32_MAX) };
			u64 ns = dm_seek_ns(d->dm, &a, &b, write);

			assert_near(ns, seek_ns(d, cyls, other_head, write), 1);
			assert_int_equal(dm_seek_ns(d->dm, &b, &a, write), ns);
			if (!other_head)
				least = min(least, ns);
		}
		/* a lower bound, and a tight one */
		if (cyls)
			assert_int_equal(dm_seek_floor_ns(d->dm, cyls), least);
	}
}

static void check_positions(struct disk *d)
{
	u32 k;

	for (k = 0; k < 100; k++) {
		struct dm_place a = support_place(&rnd, d->dm);
		struct dm_place b = support_place(&rnd, d->dm);
		bool write = below(2);
		u64 seek, latency;
		u32 land;

		dm_position(d->dm, &a, &b, write, &seek, &latency);
		assert_int_equal(seek, dm_seek_ns(d->dm, &a, &b, write));
		land = a.angle + ns_angle(d, seek);
		/* one unit of angle is far below a ns, but may be a turn's end */
		if (b.angle - land > 16 && b.angle - land < U32_MAX - 16)
			assert_near(latency, angle_ns(d, b.angle - land), 1);
		else
			assert_true(latency <= 1 || latency + 1 >= dm_period_ns(d->dm));
	}
}

static void check_angles(struct disk *d)
{
	u32 k;

	assert_near(dm_period_ns(d->dm), d->spec.info.period_ps / 1000.0, 1);
	for (k = 0; k < 1000; k++) {
		u32 angle = rnd_next(&rnd) >> (32 + below(32));
		u64 ns = rnd_below(&rnd, 3600000000000ULL) >> below(40);

		assert_near(dm_angle_to_ns(d->dm, angle), angle_ns(d, angle), 1);
		assert_angles_near(dm_ns_to_angle(d->dm, ns), ns_angle(d, ns), 1);
	}
}

/* ---- accesses ---- */

/* an access, sector by sector */
struct walk {
	struct disk *d;	/* disk */
	bool write;	/* direction */
	struct dm_place at;	/* where the head is */
	double seek;	/* seek before the first sector, ns */
	double latency;	/* wait before the first sector, ns */
	double total;	/* time so far, ns */
	u32 steps;	/* results of disk_model.c rounded to whole ns */
	u32 loose;	/* sectors by which the end may differ: holes in a zero-latency access */
	double sector;	/* longest sector passed, ns */
};

/*
 * @n spots of one track from @spot on hold consecutive LBNs, holes between them.
 * The head goes there and lets the platter turn until all of them have passed:
 * in order of passing with zero-latency access, else beginning with the first.
 */
static void walk_extent(struct walk *w, const struct spot *spot, u32 n)
{
	struct dm_place to = { spot->cyl, spot->head, 0 };
	double seek = dm_seek_ns(w->d->dm, &w->at, &to, w->write);
	u32 land = w->at.angle + ns_angle(w->d, seek), start = spot_angle(spot, false);
	u64 passed = 0, last = 0, first = U64_MAX;
	u32 i;

	for (i = 0; i < n; i++) {
		/* when this sector's end has passed, as an angle from the landing */
		u32 wait = spot_angle(&spot[i], false) - land;
		u64 length = spot->spt == 1 ? 1ULL << 32 :
			     spot_angle(&spot[i], true) - spot_angle(&spot[i], false);

		if (spot[i].slipped) {
			w->loose += w->d->spec.info.zero_latency;
			continue;
		}
		passed = wait;
		if (!w->d->spec.info.zero_latency) /* all differences are mod 2^32 */
			passed = (u64)(start - land) + (spot_angle(&spot[i], false) - start);
		first = min(first, passed);
		passed += length;
		if (passed > last) {
			last = passed;
			w->at.angle = land + (u32)last;
		}
		w->sector = max(w->sector, w->d->spec.info.period_ps / 1000.0 / spot->spt);
	}
	if (!w->steps) {
		w->seek = seek;
		w->latency = angle_ns(w->d, first);
	}
	w->steps++;
	w->total += seek + (double)last * w->d->spec.info.period_ps / 1000 / 4294967296.0;
	w->at.cyl = spot->cyl;
	w->at.head = spot->head;
}

static void walk_access(struct walk *w, u64 lbn, u32 nsect)
{
	u64 end = lbn + nsect;

	while (lbn < end) {
		const struct spot *spot = &w->d->spots[w->d->home[lbn]];
		u32 n = 1;

		/* further spots of the track, as long as the next LBN is in them, at home */
		while (!w->d->spots[w->d->order[lbn]].remapped && lbn + 1 < end &&
		       !w->d->spots[w->d->order[lbn + 1]].remapped &&
		       w->d->spots[w->d->home[lbn + 1]].cyl == spot->cyl &&
		       w->d->spots[w->d->home[lbn + 1]].head == spot->head) {
			lbn++;
			n = &w->d->spots[w->d->home[lbn]] - spot + 1;
		}
		walk_extent(w, spot, n);
		lbn++;
	}
}

static void check_access(struct disk *d)
{
	struct walk w = { .d = d, .write = below(2), .at = support_place(&rnd, d->dm) };
	u64 lbn = rnd_below(&rnd, d->spec.info.sectors);
	u32 nsect = 1 + below(min((u64)(below(2) ? 20 : 300), d->spec.info.sectors - lbn));
	struct dm_access a;
	struct dm_place from = w.at;
	double loose;

	/* Often on an edge: begin where a sector ends, as after the access before. */
	if (below(2))
		from.angle = spot_angle(&d->spots[below(d->n)], true);
	w.at = from;
	assert_int_equal(dm_access(d->dm, &from, lbn, nsect, w.write, &a), 0);
	walk_access(&w, lbn, nsect);
	if (w.loose && w.steps > 1)
		return; /* the next track's wait depends on where the holes were */
	loose = w.loose * w.sector;
	assert_near(a.seek_ns, w.seek, 1);
	if (!w.loose)
		assert_near(a.latency_ns, w.latency, 2);
	assert_near(a.total_ns, w.total, 2 * w.steps + loose);
	assert_int_equal(a.end.cyl, w.at.cyl);
	assert_int_equal(a.end.head, w.at.head);
	if (!w.loose)
		assert_angles_near(a.end.angle, w.at.angle, 1);
}

static void check_accesses(struct disk *d)
{
	struct dm_place p = { 0, 0, 0 };
	struct dm_access a;
	u32 k;

	for (k = 0; d->spec.info.sectors && k < 300; k++)
		check_access(d);
	assert_int_equal(dm_access(d->dm, &p, 0, 0, false, &a), -ERANGE);
	k = d->spec.info.sectors;
	assert_int_equal(dm_access(d->dm, &p, k, 1, false, &a), -ERANGE);
	assert_int_equal(dm_access(d->dm, &p, 1, k, false, &a), -ERANGE);
}

TEST(test_random_disks)
{
	u32 i;

	for (i = 0; i < DISKS; i++) {
		random_disk(&disk);
		check_places(&disk);
		check_tracks(&disk);
		check_windows(&disk);
		check_seeks(&disk);
		check_positions(&disk);
		check_angles(&disk);
		check_accesses(&disk);
		dm_free(disk.dm);
	}
}

/* A long stroke, points dense at first: every bucket of the seek table. */
TEST(test_long_seeks)
{
	const struct spot *track;

	random_disk(&disk);
	track = disk.spots;
	dm_free(disk.dm);
	disk.spec.zones = 1;
	disk.spec.slips = 0;
	disk.spec.remaps = 0;
	disk.spec.info.cylinders = 200000;
	disk.zone[0] = (struct dm_spec_zone){ .last_cyl = 199999, .spt = track->spt };
	disk.spec.info.sectors = 200000ULL * disk.spec.info.heads * track->spt;
	disk.spec.seeks = random_profile(disk.seek, 199999);
	disk.spec.write_seeks = 0;
	assert_int_equal(dm_build(&disk.spec, &disk.dm, &(struct dm_fault){ 0 }), 0);
	check_seeks(&disk);
	dm_free(disk.dm);
}

/* ---- size ---- */

/*
 * 24 TB, 40 zones, 100 000 slips: a few MiB, and every LBN asked leads to a
 * track that leads back to its place.
 */
TEST(test_24_tb)
{
	static struct dm_spec_zone zone[40];
	struct dm_spec_slip *slip = calloc(100000, sizeof(*slip));
	struct dm_spec_seek seek[2] = { { 1, 1000000, 0 }, { 479999, 15000000, 0 } };
	struct dm_spec spec = { .zone = zone, .zones = 40, .slip = slip, .slips = 100000,
				.seek = seek, .seeks = 2 };
	struct dm_fault fault;
	struct disk_model *dm;
	size_t before;
	u32 i;

	spec.info = (struct dm_info){ .cylinders = 480000, .heads = 20, .period_ps = 8333333333,
				      .physical_sectors = 8, .granule_sectors = 128 };
	for (i = 0; i < 40; i++) {
		zone[i] = (struct dm_spec_zone){ .first_cyl = i * 12000,
			.last_cyl = i * 12000 + 11999, .spt = 6600 - 80 * i,
			.track_skew = 0x1234567890abcdefULL, .cyl_skew = 0x0fedcba987654321ULL,
			.spares = 10000, .slips = 2500 };
		spec.info.sectors += 240000ULL * zone[i].spt - 10000;
	}
	for (i = 0; i < 100000; i++)
		slip[i] = (struct dm_spec_slip){ (i % 2500) * 300001ULL, 1, 0 };
	before = mallinfo2().uordblks;
	assert_int_equal(dm_build(&spec, &dm, &fault), 0);
	assert_true(spec.info.sectors > 24000000000000ULL / 512);
	assert_true(mallinfo2().uordblks - before < 3 << 20);
	rnd.state = 24;
	for (i = 0; i < 200000; i++) {
		u64 lbn = rnd_below(&rnd, spec.info.sectors);
		struct dm_track t, u;
		struct dm_place p;
		u32 angle;

		assert_int_equal(dm_place_of(dm, lbn, &p), 0);
		assert_int_equal(dm_track_at(dm, p.cyl, p.head, &t), 0);
		assert_int_equal(dm_lbn_angle(dm, &t, lbn, &angle), 0);
		assert_int_equal(angle, p.angle);
		assert_int_equal(dm_track_by_index(dm, dm_track_index(dm, &t) + 1, &u), 0);
		assert_int_equal(u.first_lbn, t.first_lbn + t.nsect);
	}
	dm_free(dm);
	free(slip);
}

int setup(void **state)
{
	rnd.state = 1;
	return 0;
}
