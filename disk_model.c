// SPDX-License-Identifier: GPL-2.0
/*
 * Disk model: layout and mechanics (freeblock paper, 4.2). A zone's sectors are numbered from its
 * first one in the order in which LBNs visit the tracks ("physical" numbers below). LBNs stay on a
 * surface for the tracks of as many cylinders as dm_info.surface_run says (a run), inwards under
 * every other head and outwards under the others, and then go on to the next band of cylinders.
 * Queries under a scheduler's lock use only table look-up, multiplication and shift. Core.
 */
#include "disk_model_private.h"

/* ---- angles ---- */

const struct dm_info *dm_info(const struct disk_model *dm)
{
	return &dm->info;
}

u64 dm_angle_to_ns(const struct disk_model *dm, u32 angle)
{
	const unsigned int shift = 32 + DM_PERIOD_SHIFT;

	return ((u64)angle * dm->period + (1ULL << (shift - 1))) >> shift;
}

u32 dm_ns_to_angle(const struct disk_model *dm, u64 ns)
{
	return mul_u64_u64_shr(ns, dm->rate, DM_RATE_SHIFT);
}

u64 dm_period_ns(const struct disk_model *dm)
{
	return (dm->period + (1U << (DM_PERIOD_SHIFT - 1))) >> DM_PERIOD_SHIFT;
}

/* Angle from sector 0 to @s < spt, exactly floor(s * 2^32 / spt), see DM_SPT_MAX. */
static u32 dm_sector_angle(u64 sector, u32 s)
{
	return (s * sector) >> 32;
}

/* ---- zones ---- */

/* Find the last of the ascending @first that is not above @x, beginning with what @hint says. */
static u32 dm_zone_of(const u64 *first, const u16 *hint, unsigned int shift, u64 x)
{
	u32 zone = hint[x >> shift], n = hint[(x >> shift) + 1] - zone + 1;

	while (n > 1) {
		u32 half = n / 2;

		zone += first[zone + half] <= x ? half : 0;
		n -= half;
	}
	return zone;
}

static u32 dm_zone_of_lbn(const struct disk_model *dm, u64 lbn)
{
	return dm_zone_of(dm->zone_lbn, dm->lbn_hint, dm->lbn_shift, lbn);
}

static u32 dm_zone_of_cyl(const struct disk_model *dm, u32 cyl)
{
	return dm_zone_of(dm->zone_cyl, dm->cyl_hint, dm->cyl_shift, cyl);
}

static bool dm_has_runs(const struct disk_model *dm)
{
	return dm->info.surface_run > 1;
}

/* ---- bands ---- */

/* the cylinders whose runs follow each other in LBN order */
struct dm_cyls {
	u32 first;	/* counted from the zone's first */
	u32 n;		/* how many; less than a run at the zone's end */
};

static struct dm_cyls dm_cyls_at(const struct disk_model *dm, const struct dm_zone *z, u32 c)
{
	u32 run = dm->info.surface_run, first = c - c % run;

	return (struct dm_cyls){ first, min(run, z->cyls - first) };
}

/* Are the heads of the zone's cylinder @c visited from the last to the first? */
static bool dm_backward(const struct disk_model *dm, const struct dm_zone *z, u32 c)
{
	if (dm_has_runs(dm))
		c /= dm->info.surface_run;
	return (c + z->reverse) & dm->serpentine;
}

/* Convert between physical and logical heads of the zone's cylinder @c, in either direction. */
static u32 dm_head(const struct disk_model *dm, const struct dm_zone *z, u32 c, u32 head)
{
	return dm_backward(dm, z, c) ? dm->info.heads - 1 - head : head;
}

/* Convert between a cylinder of @band and the number of its track in the run of head @h. */
static u32 dm_step(const struct dm_cyls *band, u32 h, u32 k)
{
	return h & 1 ? band->n - 1 - k : k;
}

/* Number of the track at the zone's cylinder @c, logical head @h, in LBN order. */
static u32 dm_number(const struct disk_model *dm, const struct dm_zone *z, u32 c, u32 h)
{
	struct dm_cyls band;

	if (!dm_has_runs(dm))
		return c * dm->info.heads + h;
	band = dm_cyls_at(dm, z, c);
	return band.first * dm->info.heads + h * band.n + dm_step(&band, h, c - band.first);
}

/* The other way round: the zone's cylinder of the track numbered @n, and its logical head. */
static u32 dm_numbered(const struct disk_model *dm, const struct dm_zone *z, u32 n, u32 *h)
{
	u32 c = n / dm->info.heads;
	struct dm_cyls band;

	if (!dm_has_runs(dm)) {
		*h = n - c * dm->info.heads;
		return c;
	}
	/* a band has a multiple of the heads' number of tracks */
	band = dm_cyls_at(dm, z, c);
	n -= band.first * dm->info.heads;
	*h = n / band.n;
	return band.first + dm_step(&band, *h, n - *h * band.n);
}

/* Angle of sector 0 of the track at the zone's cylinder @c, logical head @h. */
static u32 dm_track_angle(const struct disk_model *dm, const struct dm_zone *z, u32 c, u32 h)
{
	u32 cyls = c, tracks = h;

	if (dm_has_runs(dm)) {
		tracks += c / dm->info.surface_run * dm->info.heads;
		cyls = dm_number(dm, z, c, h) - tracks;
	}
	return (z->angle + cyls * z->cyl_skew + tracks * z->track_skew) >> 32;
}

/* ---- tracks of different length ---- */

static u32 dm_spt(const struct dm_zone *z, u32 head)
{
	return z->before ? z->before[head + 1] - z->before[head] : z->spt;
}

/* Sectors of the zone's cylinder @c on the tracks before that of logical head @h. */
static inline u32 dm_before(const struct disk_model *dm, const struct dm_zone *z, u32 c, u32 h)
{
	if (!z->before)
		return h * z->spt;
	return dm_backward(dm, z, c) ? z->cyl_sectors - z->before[dm->info.heads - h] :
				       z->before[h];
}

/* Find the logical head under which sector @r of the zone's cylinder @c lies, had it no runs. */
static u32 dm_head_under(const struct disk_model *dm, const struct dm_zone *z, u32 c, u32 r)
{
	u32 head = 0, n = dm->info.heads;

	if (!z->before)
		return r / z->spt;
	/* on a backward cylinder sectors are counted from the other end */
	if (dm_backward(dm, z, c))
		r = z->cyl_sectors - 1 - r;
	while (n > 1) {
		u32 half = n / 2;

		head += z->before[head + half] <= r ? half : 0;
		n -= half;
	}
	return dm_head(dm, z, c, head);
}

/* ---- slips and remaps ---- */

static u32 dm_remap_from(const struct dm_zone *z, u64 phys)
{
	return fb_bisect(i, z->remaps, z->remap[i].from < phys);
}

/* ---- places ---- */

/* Find the zone's cylinder with physical number @phys, the logical head, and its track's sector. */
static u32 dm_locate(const struct disk_model *dm, const struct dm_zone *z, u64 phys, u32 *h,
		     u32 *sector)
{
	u32 c = div_u64_rem(phys, z->cyl_sectors, sector), k;
	struct dm_cyls band;

	if (!dm_has_runs(dm)) {
		*h = dm_head_under(dm, z, c, *sector);
		*sector -= dm_before(dm, z, c, *h);
		return c;
	}
	/* a band has a multiple of a cylinder's sectors */
	band = dm_cyls_at(dm, z, c);
	phys -= (u64)band.first * z->cyl_sectors;
	*h = dm_head_under(dm, z, band.first, div_u64(phys, band.n));
	phys -= (u64)band.n * dm_before(dm, z, band.first, *h);
	k = div_u64_rem(phys, dm_spt(z, dm_head(dm, z, band.first, *h)), sector);
	return band.first + dm_step(&band, *h, k);
}

static void dm_phys_place(const struct disk_model *dm, const struct dm_zone *z, u64 phys,
			  struct dm_place *p)
{
	u32 h, r, c = dm_locate(dm, z, phys, &h, &r);
	u64 sector;

	p->cyl = z->first_cyl + c;
	p->head = dm_head(dm, z, c, h);
	sector = z->before ? dm_sector_of(dm_spt(z, p->head)) : z->sector;
	p->angle = dm_track_angle(dm, z, c, h) + dm_sector_angle(sector, r);
}

static u64 dm_lbn_phys(const struct dm_zone *z, u64 lbn)
{
	u64 l = lbn - z->first_lbn + z->dead;
	u32 n = fb_bisect(i, z->slips, z->slip[i].at - z->slip[i].before <= l);

	return n ? l + z->slip[n - 1].before + z->slip[n - 1].n : l;
}

int dm_place_of(const struct disk_model *dm, u64 lbn, struct dm_place *p)
{
	const struct dm_zone *z;
	u64 phys;
	u32 i;

	if (lbn >= dm->info.sectors)
		return -ERANGE;
	z = &dm->zone[dm_zone_of_lbn(dm, lbn)];
	phys = dm_lbn_phys(z, lbn);
	i = dm_remap_from(z, phys);
	if (i < z->remaps && z->remap[i].from == phys)
		phys = z->remap[i].to;
	dm_phys_place(dm, z, phys, p);
	return 0;
}

/* ---- tracks ---- */

/* First LBN of the zone at physical number @phys or later, which is on @t or at its end. */
static u64 dm_track_lbn(const struct dm_zone *z, const struct dm_track *t, u64 phys)
{
	u32 slipped = t->slipped, i;

	if (phys <= z->dead)
		return z->first_lbn;
	if (phys >= z->data_end)
		return z->first_lbn + z->lbns;
	for (i = t->slip0; i < t->slip1 && z->slip[i].at < phys; i++)
		slipped = z->slip[i].before + min_t(u64, z->slip[i].n, phys - z->slip[i].at);
	return z->first_lbn + phys - z->dead - slipped;
}

static u64 dm_track_phys(const struct dm_zone *z, const struct dm_track *t, u64 lbn)
{
	u64 l = lbn - z->first_lbn + z->dead;
	u32 slipped = t->slipped, i;

	for (i = t->slip0; i < t->slip1; i++) {
		if (z->slip[i].at - z->slip[i].before > l)
			break;
		slipped = z->slip[i].before + z->slip[i].n;
	}
	return l + slipped;
}

static void dm_track_anomalies(const struct dm_zone *z, struct dm_track *t)
{
	u64 end = t->phys0 + t->spt;

	if (z->slips) {
		t->slip0 = dm_slips_before(z, t->phys0);
		if (t->slip0 && dm_slip_end(&z->slip[t->slip0 - 1]) > t->phys0)
			t->slip0--;
		if (t->slip0)
			t->slipped = z->slip[t->slip0 - 1].before + z->slip[t->slip0 - 1].n;
		t->slip1 = t->slip0;
		while (t->slip1 < z->slips && z->slip[t->slip1].at < end)
			t->slip1++;
	}
	if (z->remaps) {
		t->remap0 = dm_remap_from(z, t->phys0);
		t->remap1 = t->remap0;
		while (t->remap1 < z->remaps && z->remap[t->remap1].from < end)
			t->remap1++;
	}
	t->anomalous = t->slip1 > t->slip0 || t->remap1 > t->remap0;
}

/* Physical number of the first sector of the track at the zone's cylinder @c, logical head @h. */
static u64 dm_track_phys0(const struct disk_model *dm, const struct dm_zone *z, u32 c, u32 h)
{
	struct dm_cyls band;
	u32 k;

	if (!dm_has_runs(dm))
		return (u64)c * z->cyl_sectors + dm_before(dm, z, c, h);
	band = dm_cyls_at(dm, z, c);
	k = dm_step(&band, h, c - band.first);
	return (u64)band.first * z->cyl_sectors + (u64)band.n * dm_before(dm, z, c, h) +
		(u64)k * dm_spt(z, dm_head(dm, z, c, h));
}

static void dm_track_fill(const struct disk_model *dm, u32 zone, u32 c, u32 h,
			  struct dm_track *t)
{
	const struct dm_zone *z = &dm->zone[zone];

	t->cyl = z->first_cyl + c;
	t->head = dm_head(dm, z, c, h);
	t->zone = zone;
	t->angle0 = dm_track_angle(dm, z, c, h);
	t->unmapped = z->unmapped;
	t->phys0 = dm_track_phys0(dm, z, c, h);
	t->spt = z->spt;
	t->sector = z->sector;
	t->sector_angle = z->sector_angle;
	if (z->before) {
		t->spt = dm_spt(z, t->head);
		t->sector = dm_sector_of(t->spt);
		t->sector_angle = dm_sector_angle_of(t->sector);
	}
	t->anomalous = false;
	t->front = 0;
	t->slipped = 0;
	t->slip0 = 0;
	t->slip1 = 0;
	t->remap0 = 0;
	t->remap1 = 0;
	if (z->slips | z->remaps)
		dm_track_anomalies(z, t);
	if (!t->anomalous && t->phys0 >= z->dead && t->phys0 + t->spt <= z->data_end) {
		t->first_lbn = z->first_lbn + t->phys0 - z->dead - t->slipped;
		t->nsect = t->spt;
		return;
	}
	t->front = max(z->dead, t->phys0) - t->phys0;
	t->first_lbn = dm_track_lbn(z, t, t->phys0);
	t->nsect = dm_track_lbn(z, t, t->phys0 + t->spt) - t->first_lbn;
}

int dm_track_of(const struct disk_model *dm, u64 lbn, struct dm_track *t)
{
	const struct dm_zone *z;
	u32 zone, c, r, h;

	if (lbn >= dm->info.sectors)
		return -ERANGE;
	zone = dm_zone_of_lbn(dm, lbn);
	z = &dm->zone[zone];
	c = dm_locate(dm, z, dm_lbn_phys(z, lbn), &h, &r);
	dm_track_fill(dm, zone, c, h, t);
	return 0;
}

int dm_track_at(const struct disk_model *dm, u32 cyl, u32 head, struct dm_track *t)
{
	u32 zone, c;

	if (cyl >= dm->info.cylinders || head >= dm->info.heads)
		return -ERANGE;
	zone = dm_zone_of_cyl(dm, cyl);
	c = cyl - dm->zone[zone].first_cyl;
	dm_track_fill(dm, zone, c, dm_head(dm, &dm->zone[zone], c, head), t);
	return 0;
}

int dm_track_by_index(const struct disk_model *dm, u32 index, struct dm_track *t)
{
	const struct dm_zone *z;
	u32 zone, c, h;

	if (index >= dm_tracks(dm))
		return -ERANGE;
	zone = dm_zone_of_cyl(dm, index / dm->info.heads);
	z = &dm->zone[zone];
	c = dm_numbered(dm, z, index - z->first_cyl * dm->info.heads, &h);
	dm_track_fill(dm, zone, c, h, t);
	return 0;
}

u32 dm_track_index(const struct disk_model *dm, const struct dm_track *t)
{
	const struct dm_zone *z = &dm->zone[t->zone];
	u32 c = t->cyl - z->first_cyl;

	return z->first_cyl * dm->info.heads + dm_number(dm, z, c, dm_head(dm, z, c, t->head));
}

int dm_run_at(const struct disk_model *dm, u32 cyl, u32 head, struct dm_run *run)
{
	const struct dm_zone *z;
	struct dm_cyls band;
	u32 c, h;

	if (cyl >= dm->info.cylinders || head >= dm->info.heads)
		return -ERANGE;
	z = &dm->zone[dm_zone_of_cyl(dm, cyl)];
	c = cyl - z->first_cyl;
	h = dm_head(dm, z, c, head);
	band = dm_has_runs(dm) ? dm_cyls_at(dm, z, c) : (struct dm_cyls){ c, 1 };
	run->index = z->first_cyl * dm->info.heads + dm_number(dm, z, c, h);
	run->back = h & 1;
	run->outer = c - band.first;
	run->inner = band.first + band.n - 1 - c;
	return 0;
}

void dm_cylinder_at(const struct disk_model *dm, u32 cyl, struct dm_cylinder *c)
{
	const struct dm_zone *z;

	c->cyl = cyl;
	c->zone = dm_zone_of_cyl(dm, cyl);
	z = &dm->zone[c->zone];
	c->spt = z->spt;
	c->back = dm_backward(dm, z, cyl - z->first_cyl);
}

void dm_cylinder_track(const struct disk_model *dm, const struct dm_cylinder *c, u32 h,
		       struct dm_track *t)
{
	dm_track_fill(dm, c->zone, c->cyl - dm->zone[c->zone].first_cyl, h, t);
}

u32 dm_track_spt(const struct disk_model *dm, const struct dm_place *p)
{
	return dm_spt(&dm->zone[dm_zone_of_cyl(dm, p->cyl)], p->head);
}

u32 dm_tracks(const struct disk_model *dm)
{
	return dm->info.cylinders * dm->info.heads;
}

int dm_lbn_angle(const struct disk_model *dm, const struct dm_track *t, u64 lbn, u32 *angle)
{
	const struct dm_zone *z;
	u64 phys;
	u32 i;

	if (lbn - t->first_lbn >= t->nsect)
		return -ERANGE;
	if (t->unmapped)
		return -ENXIO;
	if (!t->anomalous) {
		*angle = t->angle0 + dm_sector_angle(t->sector, lbn - t->first_lbn + t->front);
		return 0;
	}
	z = &dm->zone[t->zone];
	phys = dm_track_phys(z, t, lbn);
	for (i = t->remap0; i < t->remap1; i++)
		if (z->remap[i].from == phys)
			return -ENXIO;
	*angle = t->angle0 + dm_sector_angle(t->sector, phys - t->phys0);
	return 0;
}

/* ---- windows ---- */

/* Add the run of LBNs [@lbn, @end), if any; of three drop the shortest, keep the order. */
static inline void dm_window_run(u64 lbn, u64 end, struct dm_piece piece[2])
{
	u32 nsect = end - lbn, i = !!piece[0].nsect;

	if (lbn >= end)
		return;
	if (piece[1].nsect) {
		if (nsect <= min(piece[0].nsect, piece[1].nsect))
			return;
		if (piece[0].nsect < piece[1].nsect)
			piece[0] = piece[1];
	}
	piece[i].lbn = lbn;
	piece[i].nsect = nsect;
}

/* Add the runs of LBNs on sectors [@a, @b) of @t, cut where one is remapped. */
static void dm_window_holes(const struct dm_zone *z, const struct dm_track *t, u32 a, u32 b,
			    struct dm_piece piece[2])
{
	u64 lbn = dm_track_lbn(z, t, t->phys0 + a), end = dm_track_lbn(z, t, t->phys0 + b);
	u32 i;

	for (i = t->remap0; i < t->remap1; i++) {
		u64 cut = dm_track_lbn(z, t, z->remap[i].from);

		if (cut < lbn)
			continue;
		if (cut >= end)
			break;
		dm_window_run(lbn, cut, piece);
		lbn = cut + 1;
	}
	dm_window_run(lbn, end, piece);
}

static inline void dm_window_sectors(const struct disk_model *dm, const struct dm_track *t, u32 a,
				     u32 b, struct dm_piece piece[2])
{
	if (t->anomalous) {
		dm_window_holes(&dm->zone[t->zone], t, a, b, piece);
		return;
	}
	a = max(a, t->front);
	b = min(b, t->front + t->nsect);
	if (a < b)
		dm_window_run(t->first_lbn + a - t->front, t->first_lbn + b - t->front, piece);
}

void dm_window(const struct disk_model *dm, const struct dm_track *t, u32 angle,
	       u64 span, struct dm_piece piece[2])
{
	u32 spt = t->spt, off = angle - t->angle0, first, end;

	piece[0].nsect = 0;
	piece[1].nsect = 0;
	if (!t->nsect || t->unmapped)
		return;
	/* Two turns hold every sector; numbering goes on beyond the end of the first turn. */
	span = min_t(u64, span, 2 * DM_TURN);
	/* the first that begins at off or later: floor(s * 2^32 / spt) >= off */
	first = ((u64)off * spt + U32_MAX) >> 32;
	/* the last that begins at off + span or earlier; the one before it ends there */
	end = ((off + span + 1) * spt - 1) >> 32;
	end = min(end, first + spt);
	if (first < spt)
		dm_window_sectors(dm, t, first, min(end, spt), piece);
	if (end > spt)
		dm_window_sectors(dm, t, max(first, spt) - spt, end - spt, piece);
}

/* ---- seeks ---- */

static const struct dm_seg *dm_curve_seg(const struct dm_curve *curve, u32 cyls)
{
	const struct dm_seg *seg = &curve->seg[cyls < DM_NEAR ? curve->near[cyls] :
							curve->far[cyls >> curve->far_shift]];

	while (cyls >= seg[1].cyls)
		seg++;
	return seg;
}

static u32 dm_longer_ns(const struct dm_curve *curve, u32 ns, s32 longer)
{
	return ns + (((s64)ns - curve->settle) * longer >> DM_LONGER_SHIFT);
}

static inline u64 dm_curve_floor(const struct disk_model *dm, bool write, u32 cyls)
{
	const struct dm_curve *curve = dm->curve[write];
	const struct dm_seg *seg = dm_curve_seg(curve, cyls);

	return dm_longer_ns(curve, min(dm_seg_ns(seg, cyls), seg->floor), dm->longer);
}

void dm_correct(struct disk_model *dm, s32 ppm)
{
	dm->longer = div_s64(ppm * (1LL << DM_LONGER_SHIFT), 1000000);
}

/* inline, because choices compute many */
static inline u64 dm_seek_over(const struct disk_model *dm, u32 cyls, bool write)
{
	const struct dm_curve *curve = dm->curve[write];

	return cyls ? dm_longer_ns(curve, dm_seg_ns(dm_curve_seg(curve, cyls), cyls), dm->longer) :
		      0;
}

static inline u64 dm_seek(const struct disk_model *dm, const struct dm_place *from,
			  const struct dm_place *to, bool write)
{
	u64 ns = dm_seek_over(dm, dm_apart(from, to), write);

	return to->head != from->head ? max_t(u64, ns, dm->curve[write]->head_switch) : ns;
}

u64 dm_seek_ns(const struct disk_model *dm, const struct dm_place *from,
	       const struct dm_place *to, bool write)
{
	return dm_seek(dm, from, to, write) + dm_slow_ns(dm, dm_apart(from, to), to->cyl);
}

u64 dm_slow_ns(const struct disk_model *dm, u32 cyls, u32 to)
{
	return dm->slow && cyls > 1 && dm->zone[dm_zone_of_cyl(dm, to)].slow ? dm_period_ns(dm) : 0;
}

u64 dm_seek_over_ns(const struct disk_model *dm, u32 cyls, bool write)
{
	return dm_seek_over(dm, cyls, write);
}

u64 dm_seek_floor_ns(const struct disk_model *dm, u32 cyls)
{
	u64 floor;

	if (!cyls)
		return 0;
	if (cyls >= dm->info.cylinders)
		return U64_MAX;
	floor = dm_curve_floor(dm, false, cyls);
	/* a write profile that was not given is nowhere below the read profile */
	return dm->write_curve ? min(floor, dm_curve_floor(dm, true, cyls)) : floor;
}

void dm_position(const struct disk_model *dm, const struct dm_place *from,
		 const struct dm_place *to, bool write, u64 *seek_ns, u64 *latency_ns)
{
	u64 seek = dm_seek(dm, from, to, write);

	*seek_ns = seek;
	*latency_ns = dm_angle_to_ns(dm, to->angle - from->angle - dm_ns_to_angle(dm, seek));
}

/* ---- accesses ---- */

/* an access being predicted */
struct dm_trip {
	const struct disk_model *dm;
	bool write;
	bool first;			/* no sector has been transferred yet */
	struct dm_access *a;		/* result so far; @a->end is where the head is */
};

/* Does a head that lands at @land start within sectors [@s, @e)? The access then takes a turn. */
static bool dm_lands_inside(const struct dm_track *t, u32 land, u32 s, u32 e, u32 *start)
{
	u32 next = ((u64)land * t->spt + U32_MAX) >> 32;

	if (next <= s || next >= e)
		return false;
	*start = dm_sector_angle(t->sector, next);
	return true;
}

static void dm_trip_extent(struct dm_trip *trip, const struct dm_track *t, u32 s, u32 e)
{
	const struct disk_model *dm = trip->dm;
	struct dm_access *a = trip->a;
	struct dm_place to = { .cyl = t->cyl, .head = t->head };
	u64 seek = dm_seek_ns(dm, &a->end, &to, trip->write), wait, span;
	u32 land = a->end.angle + dm_ns_to_angle(dm, seek) - t->angle0;
	u32 start = dm_sector_angle(t->sector, s);

	if (dm->info.zero_latency && dm_lands_inside(t, land, s, e, &start))
		span = DM_TURN;
	else
		span = (e == t->spt ? DM_TURN : dm_sector_angle(t->sector, e)) - start;
	wait = dm_angle_to_ns(dm, start - land);
	if (trip->first) {
		a->seek_ns = seek;
		a->latency_ns = wait;
		trip->first = false;
	}
	a->total_ns += seek + wait + (span >> 32 ? dm_period_ns(dm) : dm_angle_to_ns(dm, span));
	a->end.cyl = t->cyl;
	a->end.head = t->head;
	a->end.angle = t->angle0 + start + (u32)span;
}

static void dm_trip_spare(struct dm_trip *trip, const struct dm_zone *z, u64 phys)
{
	struct dm_track t;
	struct dm_place p;

	dm_phys_place(trip->dm, z, phys, &p);
	dm_track_at(trip->dm, p.cyl, p.head, &t);
	dm_trip_extent(trip, &t, phys - t.phys0, phys - t.phys0 + 1);
}

static void dm_trip_track(struct dm_trip *trip, const struct dm_track *t, u64 lbn, u64 end)
{
	const struct dm_zone *z = &trip->dm->zone[t->zone];
	u32 i = t->remap0;

	while (lbn < end) {
		u64 cut = end;

		while (i < t->remap1 && dm_track_lbn(z, t, z->remap[i].from) < lbn)
			i++;
		if (i < t->remap1)
			cut = min(end, dm_track_lbn(z, t, z->remap[i].from));
		if (cut == lbn) {
			dm_trip_spare(trip, z, z->remap[i].to);
			lbn++;
			continue;
		}
		dm_trip_extent(trip, t, dm_track_phys(z, t, lbn) - t->phys0,
			       dm_track_phys(z, t, cut - 1) - t->phys0 + 1);
		lbn = cut;
	}
}

int dm_access(const struct disk_model *dm, const struct dm_place *from,
	      u64 lbn, u32 nsect, bool write, struct dm_access *a)
{
	struct dm_trip trip = { .dm = dm, .write = write, .first = true, .a = a };
	u64 end = lbn + nsect;

	if (!nsect || lbn >= dm->info.sectors || nsect > dm->info.sectors - lbn)
		return -ERANGE;
	a->total_ns = 0;
	a->end = *from;
	while (lbn < end) {
		struct dm_track t;
		u64 stop;

		dm_track_of(dm, lbn, &t);
		if (t.unmapped)
			return -ENXIO;
		stop = min(end, t.first_lbn + t.nsect);
		if (t.anomalous)
			dm_trip_track(&trip, &t, lbn, stop);
		else
			dm_trip_extent(&trip, &t, lbn - t.first_lbn + t.front,
				       stop - t.first_lbn + t.front);
		lbn = stop;
	}
	return 0;
}
