// SPDX-License-Identifier: GPL-2.0
/*
 * Disk model: layout and mechanics (freeblock paper, 4.2). See disk_model.h.
 *
 * A zone's sectors are numbered from its first one in the order in which LBNs
 * visit the tracks ("physical" numbers below). LBN -> physical number skips the
 * zone's dead front and its slips; physical number -> place is division.
 *
 * Everything a scheduler asks under its lock is table look-up, multiplication
 * and shift: a choice among 256 requests has 20 us on a 1 GHz processor.
 */
#include "disk_model.h"

/*
 * Angle -> ns multiplies by the period in 2^-5 ns: 32 bits hold the slowest
 * drive's (100 ms), and a whole turn is off by at most 1/64 ns.
 */
#define DM_PERIOD_SHIFT 5

/* ns -> angle multiplies by angle units per ns, scaled to fill 64 bits (2^63 at 1 ms) */
#define DM_RATE_SHIFT 51

/* Seek slopes in 2^-24 ns per cylinder: half an ns over the longest stroke. */
#define DM_SLOPE_SHIFT 24

/*
 * Which segment of a seek profile a distance lies on: looked up by the distance itself
 * where profiles are dense (paper, 4.2), by groups of distances beyond. There a segment
 * is longer than a group on usual drives, so the one found is right or the next is.
 */
#define DM_NEAR 512
#define DM_FAR 2048

/* Hints where to begin the search for a zone: several for each zone of usual drives. */
#define DM_HINTS 256

/**
 * struct dm_seg - one line of a seek profile
 * @base: seek time where it begins, 2^-DM_SLOPE_SHIFT ns, and a half ns for rounding
 * @slope: 2^-DM_SLOPE_SHIFT ns per cylinder
 * @cyls: where it begins; the next one's is where it ends
 * @floor: the shortest seek to be had anywhere beyond this segment's beginning, as
 *	far as the segment itself does not rise; see dm_curve_floor()
 */
struct dm_seg {
	s64 base;
	s64 slope;
	u32 cyls;
	u32 floor;
};

/**
 * struct dm_curve - a seek profile, for reads or for writes
 * @head_switch: within a cylinder, ns
 * @far_shift: distances per entry of @far, 2^n
 * @near: segment of each distance below DM_NEAR
 * @far: segment of the first distance of each group
 * @seg: segments, and one more whose @cyls is U32_MAX
 */
struct dm_curve {
	u32 head_switch;
	u32 far_shift;
	u16 near[DM_NEAR];
	u16 far[DM_FAR];
	struct dm_seg seg[];
};

/**
 * struct dm_slip - sectors without LBN
 * @at: first, physical number
 * @before: sectors slipped before it in its zone
 * @n: how many
 */
struct dm_slip {
	u64 at;
	u32 before;
	u32 n;
};

struct dm_remap {
	u64 from;	/* physical numbers in the zone */
	u64 to;
};

/**
 * struct dm_zone - one zone
 * @first_lbn: its first LBN
 * @lbns: how many it holds
 * @dead: physical number of the first sector that may hold one
 * @data_end: physical number after the last that holds one
 * @angle: angle of sector 0 of its first track, 2^-64 turn
 * @track_skew: from track to track of a cylinder, 2^-64 turn
 * @cyl_skew: from first track to first track of neighbouring cylinders, 2^-64 turn
 * @sector: one sector, 2^-64 turn, rounded up
 * @sector_angle: one sector, 2^-32 turn, rounded down
 * @first_cyl: its first cylinder
 * @cyls: how many
 * @spt: sectors per track
 * @cyl_sectors: sectors per cylinder
 * @reverse: 1: its even cylinders are the backward ones (see dm_head())
 * @slip: its slips
 * @slips: how many
 * @remap: its remapped sectors
 * @remaps: how many
 */
struct dm_zone {
	u64 first_lbn;
	u64 lbns;
	u64 dead;
	u64 data_end;
	u64 angle;
	u64 track_skew;
	u64 cyl_skew;
	u64 sector;
	u32 sector_angle;
	u32 first_cyl;
	u32 cyls;
	u32 spt;
	u32 cyl_sectors;
	u32 reverse;
	const struct dm_slip *slip;
	u32 slips;
	const struct dm_remap *remap;
	u32 remaps;
};

/**
 * struct disk_model - a model, read-only once built
 * @info: header facts
 * @rate: angle units per ns, 2^-DM_RATE_SHIFT
 * @period: period in 2^-DM_PERIOD_SHIFT ns
 * @serpentine: 1: every other cylinder runs backwards
 * @write_curve: the write profile was measured, not derived
 * @curve: seek profile for reads and for writes
 * @zones: how many
 * @zone: zones in LBN order
 * @zone_lbn: their first LBNs, side by side for the search
 * @zone_cyl: their first cylinders
 * @lbn_shift: LBNs per hint, 2^n
 * @cyl_shift: cylinders per hint, 2^n
 * @lbn_hint: zone of every 2^@lbn_shift-th LBN, and of the last
 * @cyl_hint: zone of every 2^@cyl_shift-th cylinder, and of the last
 * @slip: all slips
 * @remap: all remaps
 */
struct disk_model {
	struct dm_info info;
	u64 rate;
	u32 period;
	u32 serpentine;
	bool write_curve;
	struct dm_curve *curve[2];
	u32 zones;
	struct dm_zone *zone;
	u64 *zone_lbn;
	u64 *zone_cyl;
	unsigned int lbn_shift;
	unsigned int cyl_shift;
	u16 lbn_hint[DM_HINTS + 1];
	u16 cyl_hint[DM_HINTS + 1];
	struct dm_slip *slip;
	struct dm_remap *remap;
};

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

/* An angle that may be a whole turn, in ns. */
static u64 dm_span_to_ns(const struct disk_model *dm, u64 span)
{
	return span >> 32 ? dm_period_ns(dm) : dm_angle_to_ns(dm, span);
}

/* Angle from sector 0 to sector @s < spt: exactly floor(s * 2^32 / spt), see DM_SPT_MAX. */
static u32 dm_sector_angle(const struct dm_zone *z, u32 s)
{
	return (s * z->sector) >> 32;
}

/* The same for @s up to and including spt, where it is a whole turn. */
static u64 dm_sector_end(const struct dm_zone *z, u32 s)
{
	return s == z->spt ? 1ULL << 32 : dm_sector_angle(z, s);
}

/* ---- zones ---- */

/*
 * The last of the ascending @first[0 .. zones - 1] that is not above @x. @hint tells
 * which zones the 2^@shift values around @x may lie in: mostly one or two.
 */
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

/* Physical <-> logical head of the zone's cylinder @c: its own inverse. */
static u32 dm_head(const struct disk_model *dm, const struct dm_zone *z, u32 c, u32 head)
{
	if ((c + z->reverse) & dm->serpentine)
		return dm->info.heads - 1 - head;
	return head;
}

/* Angle of sector 0 of the track at the zone's cylinder @c, logical head @h. */
static u32 dm_track_angle(const struct dm_zone *z, u32 c, u32 h)
{
	return (z->angle + c * z->cyl_skew + h * z->track_skew) >> 32;
}

/* ---- slips and remaps ---- */

static u64 dm_slip_end(const struct dm_slip *slip)
{
	return slip->at + slip->n;
}

/* How many slips of the zone begin before physical number @phys. */
static u32 dm_slips_before(const struct dm_zone *z, u64 phys)
{
	u32 lo = 0, hi = z->slips;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (z->slip[mid].at < phys)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Sector @l of the zone's LBN-bearing ones, the dead front counted: its physical number. */
static u64 dm_unslipped_to_phys(const struct dm_zone *z, u64 l)
{
	u32 lo = 0, hi = z->slips;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (z->slip[mid].at - z->slip[mid].before <= l)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo)
		l += z->slip[lo - 1].before + z->slip[lo - 1].n;
	return l;
}

/* First remap of the zone at physical number @phys or later. */
static u32 dm_remap_from(const struct dm_zone *z, u64 phys)
{
	u32 lo = 0, hi = z->remaps;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (z->remap[mid].from < phys)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static u64 dm_remapped(const struct dm_zone *z, u64 phys)
{
	u32 i = dm_remap_from(z, phys);

	return i < z->remaps && z->remap[i].from == phys ? z->remap[i].to : phys;
}

/* ---- places ---- */

static void dm_phys_place(const struct disk_model *dm, const struct dm_zone *z, u64 phys,
			  struct dm_place *p)
{
	u32 c, h, r;

	c = div_u64_rem(phys, z->cyl_sectors, &r);
	h = r / z->spt;
	p->cyl = z->first_cyl + c;
	p->head = dm_head(dm, z, c, h);
	p->angle = dm_track_angle(z, c, h) + dm_sector_angle(z, r - h * z->spt);
}

static u64 dm_lbn_phys(const struct dm_zone *z, u64 lbn)
{
	u64 l = lbn - z->first_lbn + z->dead;

	return z->slips ? dm_unslipped_to_phys(z, l) : l;
}

int dm_place_of(const struct disk_model *dm, u64 lbn, struct dm_place *p)
{
	const struct dm_zone *z;
	u64 phys;

	if (lbn >= dm->info.sectors)
		return -ERANGE;
	z = &dm->zone[dm_zone_of_lbn(dm, lbn)];
	phys = dm_lbn_phys(z, lbn);
	if (z->remaps)
		phys = dm_remapped(z, phys);
	dm_phys_place(dm, z, phys, p);
	return 0;
}

/* ---- tracks ---- */

/* LBN-bearing sectors of the zone before @phys, a number on or at the end of @t. */
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

/* Physical number of an LBN that lies on @t. */
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

/* Which slips and remaps touch the track. */
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

/* The track at the zone's cylinder @c, logical head @h. */
static void dm_track_fill(const struct disk_model *dm, u32 zone, u32 c, u32 h,
			  struct dm_track *t)
{
	const struct dm_zone *z = &dm->zone[zone];

	t->cyl = z->first_cyl + c;
	t->head = dm_head(dm, z, c, h);
	t->zone = zone;
	t->spt = z->spt;
	t->angle0 = dm_track_angle(z, c, h);
	t->sector_angle = z->sector_angle;
	t->phys0 = (u64)c * z->cyl_sectors + h * z->spt;
	t->anomalous = false;
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
	t->first_lbn = dm_track_lbn(z, t, t->phys0);
	t->nsect = dm_track_lbn(z, t, t->phys0 + t->spt) - t->first_lbn;
}

int dm_track_of(const struct disk_model *dm, u64 lbn, struct dm_track *t)
{
	u32 zone, c, r;

	if (lbn >= dm->info.sectors)
		return -ERANGE;
	zone = dm_zone_of_lbn(dm, lbn);
	c = div_u64_rem(dm_lbn_phys(&dm->zone[zone], lbn), dm->zone[zone].cyl_sectors, &r);
	dm_track_fill(dm, zone, c, r / dm->zone[zone].spt, t);
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
	u32 cyl, zone;

	if (index >= dm_tracks(dm))
		return -ERANGE;
	cyl = index / dm->info.heads;
	zone = dm_zone_of_cyl(dm, cyl);
	dm_track_fill(dm, zone, cyl - dm->zone[zone].first_cyl,
		      index - cyl * dm->info.heads, t);
	return 0;
}

u32 dm_track_index(const struct disk_model *dm, const struct dm_track *t)
{
	const struct dm_zone *z = &dm->zone[t->zone];

	return t->cyl * dm->info.heads + dm_head(dm, z, t->cyl - z->first_cyl, t->head);
}

u32 dm_tracks(const struct disk_model *dm)
{
	return dm->info.cylinders * dm->info.heads;
}

int dm_lbn_angle(const struct disk_model *dm, const struct dm_track *t, u64 lbn, u32 *angle)
{
	const struct dm_zone *z = &dm->zone[t->zone];
	u64 phys;
	u32 i;

	if (lbn - t->first_lbn >= t->nsect)
		return -ERANGE;
	phys = dm_track_phys(z, t, lbn);
	for (i = t->remap0; i < t->remap1; i++)
		if (z->remap[i].from == phys)
			return -ENXIO;
	*angle = t->angle0 + dm_sector_angle(z, phys - t->phys0);
	return 0;
}

/* ---- windows ---- */

/* @nsect LBNs from @lbn on, on sectors [@a, @b) of @t, pass next. */
static void dm_window_run(const struct dm_zone *z, const struct dm_track *t, u32 angle,
			  u64 lbn, u32 nsect, u32 a, u32 b, struct dm_piece piece[2])
{
	struct dm_piece *p = &piece[0];
	u32 start = dm_sector_angle(z, a);

	if (piece[0].nsect && piece[1].nsect) {
		/* the shorter one makes room, the order stays */
		if (nsect <= min(piece[0].nsect, piece[1].nsect))
			return;
		if (piece[0].nsect < piece[1].nsect)
			piece[0] = piece[1];
	}
	if (piece[0].nsect)
		p = &piece[1];
	p->lbn = lbn;
	p->nsect = nsect;
	p->wait = t->angle0 + start - angle;
	p->span = dm_sector_end(z, b) - start;
}

/* The same for LBNs [@lbn, @end), maybe none, where there are holes between them. */
static void dm_window_holes(const struct dm_zone *z, const struct dm_track *t, u32 angle,
			    u64 lbn, u64 end, struct dm_piece piece[2])
{
	if (lbn < end)
		dm_window_run(z, t, angle, lbn, end - lbn, dm_track_phys(z, t, lbn) - t->phys0,
			      dm_track_phys(z, t, end - 1) - t->phys0 + 1, piece);
}

/* Sectors [@a, @b) of @t pass next: their LBNs, cut where one is remapped. */
static void dm_window_sectors(const struct dm_zone *z, const struct dm_track *t, u32 angle,
			      u32 a, u32 b, struct dm_piece piece[2])
{
	u64 lbn, end;
	u32 i;

	if (!t->anomalous) {
		u32 front = z->dead > t->phys0 ? z->dead - t->phys0 : 0;

		a = max(a, front);
		b = min(b, front + t->nsect);
		if (a < b)
			dm_window_run(z, t, angle, t->first_lbn + a - front, b - a, a, b, piece);
		return;
	}
	lbn = dm_track_lbn(z, t, t->phys0 + a);
	end = dm_track_lbn(z, t, t->phys0 + b);
	for (i = t->remap0; i < t->remap1; i++) {
		u64 cut = dm_track_lbn(z, t, z->remap[i].from);

		if (cut < lbn)
			continue;
		if (cut >= end)
			break;
		dm_window_holes(z, t, angle, lbn, cut, piece);
		lbn = cut + 1;
	}
	dm_window_holes(z, t, angle, lbn, end, piece);
}

void dm_window(const struct disk_model *dm, const struct dm_track *t, u32 angle,
	       u64 span, struct dm_piece piece[2])
{
	const struct dm_zone *z = &dm->zone[t->zone];
	u32 spt = t->spt, off = angle - t->angle0, first, end;

	piece[0].nsect = 0;
	piece[1].nsect = 0;
	if (!t->nsect)
		return;
	/* Two turns hold every sector; sectors are numbered on beyond the turn's end. */
	span = min_t(u64, span, 1ULL << 33);
	/* the first that begins at off or later: floor(s * 2^32 / spt) >= off */
	first = ((u64)off * spt + U32_MAX) >> 32;
	/* the last that begins, its forerunner so ends, at off + span or earlier */
	end = ((off + span + 1) * spt - 1) >> 32;
	end = min(end, first + spt);
	if (first < spt)
		dm_window_sectors(z, t, angle, first, min(end, spt), piece);
	if (end > spt)
		dm_window_sectors(z, t, angle, max(first, spt) - spt, end - spt, piece);
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

static u32 dm_seg_ns(const struct dm_seg *seg, u32 cyls)
{
	return (seg->base + (cyls - seg->cyls) * seg->slope) >> DM_SLOPE_SHIFT;
}

static u64 dm_curve_floor(const struct dm_curve *curve, u32 cyls)
{
	const struct dm_seg *seg = dm_curve_seg(curve, cyls);

	return min(dm_seg_ns(seg, cyls), seg->floor);
}

static inline u64 dm_seek(const struct disk_model *dm, const struct dm_place *from,
			  const struct dm_place *to, bool write)
{
	u32 cyls = to->cyl > from->cyl ? to->cyl - from->cyl : from->cyl - to->cyl;
	const struct dm_curve *curve = dm->curve[write];
	u32 ns, head_switch = to->head != from->head ? curve->head_switch : 0;

	if (!cyls)
		return head_switch;
	ns = dm_seg_ns(dm_curve_seg(curve, cyls), cyls);
	return max(ns, head_switch);
}

u64 dm_seek_ns(const struct disk_model *dm, const struct dm_place *from,
	       const struct dm_place *to, bool write)
{
	return dm_seek(dm, from, to, write);
}

u32 dm_switch_ns(const struct disk_model *dm, bool write)
{
	return dm->curve[write]->head_switch;
}

u64 dm_seek_floor_ns(const struct disk_model *dm, u32 cyls)
{
	u64 floor;

	if (!cyls)
		return 0;
	if (cyls >= dm->info.cylinders)
		return U64_MAX;
	floor = dm_curve_floor(dm->curve[0], cyls);
	/* a write profile that was not given is the read profile and more */
	return dm->write_curve ? min(floor, dm_curve_floor(dm->curve[1], cyls)) : floor;
}

void dm_position(const struct disk_model *dm, const struct dm_place *from,
		 const struct dm_place *to, bool write, u64 *seek_ns, u64 *latency_ns)
{
	u64 seek = dm_seek(dm, from, to, write);

	*seek_ns = seek;
	*latency_ns = dm_angle_to_ns(dm, to->angle - from->angle - dm_ns_to_angle(dm, seek));
}

/* ---- accesses ---- */

/**
 * struct dm_trip - an access being reckoned
 * @dm: model
 * @write: direction
 * @first: no sector has been transferred yet
 * @a: result so far; @a->end is where the head is
 */
struct dm_trip {
	const struct disk_model *dm;
	bool write;
	bool first;
	struct dm_access *a;
};

/*
 * Where a head that lands at sector-0-relative angle @land starts when it wants
 * sectors [@s, @e) in any order: the angle of the next whole sector, if that is one
 * of them but not the first. Then the access ends there, one turn later.
 */
static bool dm_lands_inside(const struct dm_zone *z, u32 land, u32 s, u32 e, u32 *start)
{
	u32 next = ((u64)land * z->spt + U32_MAX) >> 32;

	if (next <= s || next >= e)
		return false;
	*start = dm_sector_angle(z, next);
	return true;
}

/* Go to the track at @to, whose sector 0 is at @to->angle, and pass sectors [@s, @e). */
static void dm_trip_extent(struct dm_trip *trip, const struct dm_zone *z,
			   const struct dm_place *to, u32 s, u32 e)
{
	const struct disk_model *dm = trip->dm;
	struct dm_access *a = trip->a;
	u64 seek = dm_seek_ns(dm, &a->end, to, trip->write), wait, span;
	u32 land = a->end.angle + dm_ns_to_angle(dm, seek) - to->angle;
	u32 start = dm_sector_angle(z, s);

	if (dm->info.zero_latency && dm_lands_inside(z, land, s, e, &start))
		span = 1ULL << 32;
	else
		span = dm_sector_end(z, e) - start;
	wait = dm_angle_to_ns(dm, start - land);
	if (trip->first) {
		a->seek_ns = seek;
		a->latency_ns = wait;
		trip->first = false;
	}
	a->total_ns += seek + wait + dm_span_to_ns(dm, span);
	a->end.cyl = to->cyl;
	a->end.head = to->head;
	a->end.angle = to->angle + start + (u32)span;
}

/* One remapped sector, on whatever track its spare is. */
static void dm_trip_spare(struct dm_trip *trip, const struct dm_zone *z, u64 phys)
{
	struct dm_place to;
	u32 s;

	dm_phys_place(trip->dm, z, phys, &to);
	div_u64_rem(phys, z->spt, &s);
	to.angle -= dm_sector_angle(z, s);
	dm_trip_extent(trip, z, &to, s, s + 1);
}

/* LBNs [@lbn, @end) of one track. */
static void dm_trip_track(struct dm_trip *trip, const struct dm_track *t, u64 lbn, u64 end)
{
	const struct dm_zone *z = &trip->dm->zone[t->zone];
	struct dm_place to = { .cyl = t->cyl, .head = t->head, .angle = t->angle0 };
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
		dm_trip_extent(trip, z, &to, dm_track_phys(z, t, lbn) - t->phys0,
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
		stop = min(end, t.first_lbn + t.nsect);
		dm_trip_track(&trip, &t, lbn, stop);
		lbn = stop;
	}
	return 0;
}

/* ---- building ---- */

static __printf(3, 4)
int dm_fault_set(struct dm_fault *fault, u32 line, const char *fmt, ...)
{
	va_list args;

	fault->line = line;
	va_start(args, fmt);
	vsnprintf(fault->reason, sizeof(fault->reason), fmt, args);
	va_end(args);
	return -EINVAL;
}

static int dm_check_seek(const struct dm_spec_seek *p, u32 n, u32 stroke,
			 struct dm_fault *fault)
{
	u64 beyond;
	u32 i, rise, run, from, to;

	for (i = 0; i < n; i++) {
		if (p[i].cyls > stroke)
			return dm_fault_set(fault, p[i].line,
					    "seek distance %u is longer than the stroke of %u cylinders",
					    p[i].cyls, stroke);
		if (i && p[i].cyls <= p[i - 1].cyls)
			return dm_fault_set(fault, p[i].line,
					    "seek distance %u does not ascend after %u",
					    p[i].cyls, p[i - 1].cyls);
	}
	if (!n || p[n - 1].cyls == stroke)
		return 0;
	if (n < 2)
		return dm_fault_set(fault, p[0].line,
				    "one seek point at %u cylinders does not reach the stroke of %u",
				    p[0].cyls, stroke);
	/* The line through the last two points must stay sane up to the full stroke. */
	from = p[n - 2].ns;
	to = p[n - 1].ns;
	rise = to > from ? to - from : from - to;
	run = p[n - 1].cyls - p[n - 2].cyls;
	beyond = div_u64((u64)rise * (stroke - p[n - 1].cyls), run);
	if (to > from ? to + beyond > DM_NS_MAX : beyond >= to)
		return dm_fault_set(fault, p[n - 1].line,
				    "the last two seek points lead out of 1..%u ns at %u cylinders",
				    DM_NS_MAX, stroke);
	return 0;
}

static s64 dm_slope(u32 y0, u32 y1, u32 run)
{
	u64 rise = y1 > y0 ? y1 - y0 : y0 - y1;
	s64 slope = div_u64((rise << DM_SLOPE_SHIFT) + run / 2, run);

	return y1 > y0 ? slope : -slope;
}

/* The shortest seek beyond each segment's beginning, from the far end to the near. */
static void dm_curve_floors(struct dm_seg *seg, u32 n, u32 stroke)
{
	u32 beyond = U32_MAX, last = stroke;

	while (n--) {
		seg[n].floor = beyond;
		if (seg[n].slope < 0 && last >= seg[n].cyls)
			seg[n].floor = min(beyond, dm_seg_ns(&seg[n], last));
		beyond = min(seg[n].floor, dm_seg_ns(&seg[n], seg[n].cyls));
		last = seg[n].cyls - 1;
	}
}

/* Which segments the distances 0, 2^@shift, 2 * 2^@shift .. lie on. */
static void dm_curve_index(const struct dm_seg *seg, u16 *index, u32 n, u32 shift)
{
	u32 i, k = 0;

	for (i = 0; i < n; i++) {
		while ((u64)i << shift >= seg[k + 1].cyls)
			k++;
		index[i] = k;
	}
}

/*
 * Lines from (0, @add) through the points, each @add later; on beyond the last point
 * as between the last two.
 */
static struct dm_curve *dm_build_curve(const struct dm_spec_seek *p, u32 n, u32 add, u32 stroke)
{
	struct dm_curve *curve = fb_zalloc(sizeof(*curve) + (n + 2) * sizeof(curve->seg[0]));
	struct dm_seg *seg;
	u32 i, ns = add;

	if (!curve)
		return NULL;
	seg = curve->seg;
	for (i = 0; i <= n; i++) {
		seg[i].base = ((s64)ns << DM_SLOPE_SHIFT) + (1LL << (DM_SLOPE_SHIFT - 1));
		if (i < n) {
			seg[i + 1].cyls = p[i].cyls;
			seg[i].slope = dm_slope(ns, p[i].ns + add, p[i].cyls - seg[i].cyls);
			ns = p[i].ns + add;
		} else if (n) {
			seg[n].slope = seg[n - 1].slope;
		}
	}
	seg[n + 1].cyls = U32_MAX;
	dm_curve_floors(seg, n + 1, stroke);
	while (stroke >> curve->far_shift >= DM_FAR)
		curve->far_shift++;
	dm_curve_index(seg, curve->near, DM_NEAR, 0);
	dm_curve_index(seg, curve->far, DM_FAR, curve->far_shift);
	return curve;
}

static int dm_build_seek(struct disk_model *dm, const struct dm_spec *spec,
			 struct dm_fault *fault)
{
	u32 stroke = dm->info.cylinders - 1, settle = dm->info.write_settle_ns;
	int err;

	if (!spec->seeks && stroke)
		return dm_fault_set(fault, 0, "no seek profile");
	err = dm_check_seek(spec->seek, spec->seeks, stroke, fault);
	if (!err)
		err = dm_check_seek(spec->write_seek, spec->write_seeks, stroke, fault);
	if (err)
		return err;
	dm->write_curve = spec->write_seeks;
	dm->curve[0] = dm_build_curve(spec->seek, spec->seeks, 0, stroke);
	dm->curve[1] = dm->write_curve ?
		       dm_build_curve(spec->write_seek, spec->write_seeks, 0, stroke) :
		       dm_build_curve(spec->seek, spec->seeks, settle, stroke);
	if (!dm->curve[0] || !dm->curve[1])
		return -ENOMEM;
	dm->curve[0]->head_switch = dm->info.head_switch_ns;
	dm->curve[1]->head_switch = dm->info.head_switch_ns + settle;
	return 0;
}

/* Heap order by target: @p[@root] sinks into the heap of @n below it. */
static void dm_remap_sift(struct dm_spec_remap *p, u32 root, u32 n)
{
	while (2 * root + 1 < n) {
		u32 child = 2 * root + 1;
		struct dm_spec_remap tmp = p[root];

		if (child + 1 < n && p[child].to < p[child + 1].to)
			child++;
		if (tmp.to >= p[child].to)
			break;
		p[root] = p[child];
		p[child] = tmp;
		root = child;
	}
}

/* No spare may serve twice: sort a copy by target and look at neighbours. */
static int dm_check_targets(const struct dm_spec_remap *remap, u32 n, struct dm_fault *fault)
{
	struct dm_spec_remap *p = fb_zalloc(n * sizeof(*p));
	int err = 0;
	u32 i;

	if (!p)
		return -ENOMEM;
	memcpy(p, remap, n * sizeof(*p));
	for (i = n / 2; i--; )
		dm_remap_sift(p, i, n);
	for (i = n; --i; ) {
		struct dm_spec_remap tmp = p[0];

		p[0] = p[i];
		p[i] = tmp;
		dm_remap_sift(p, 0, i);
	}
	for (i = 1; i < n && !err; i++)
		if (p[i].to == p[i - 1].to)
			err = dm_fault_set(fault, max(p[i].line, p[i - 1].line),
					   "remap target %llu is used twice",
					   (unsigned long long)p[i].to);
	fb_free(p);
	return err;
}

static int dm_build_remaps(const struct dm_zone *z, struct dm_remap *out, u64 phys_end,
			   const struct dm_spec_remap *p, u32 n, struct dm_fault *fault)
{
	u32 i, k;

	for (i = 0; i < n; i++) {
		unsigned long long from = p[i].from, to = p[i].to;

		if (i && from <= p[i - 1].from)
			return dm_fault_set(fault, p[i].line,
					    "remapped sector %llu does not ascend after %llu",
					    from, (unsigned long long)p[i - 1].from);
		k = dm_slips_before(z, from + 1);
		if (from < z->dead || from >= z->data_end ||
		    (k && from < dm_slip_end(&z->slip[k - 1])))
			return dm_fault_set(fault, p[i].line,
					    "remapped sector %llu holds no LBN", from);
		if (to < z->data_end || to >= phys_end)
			return dm_fault_set(fault, p[i].line,
					    "remap target %llu is not a spare (%llu up to %llu)",
					    to, (unsigned long long)z->data_end,
					    (unsigned long long)phys_end);
		out[i].from = from;
		out[i].to = to;
	}
	return n ? dm_check_targets(p, n, fault) : 0;
}

/* Fills @z->slip's memory @out and @z->data_end. */
static int dm_build_slips(struct dm_zone *z, struct dm_slip *out, u64 spares,
			  const struct dm_spec_slip *p, u32 n, struct dm_fault *fault)
{
	u64 slipped = 0, after = z->dead;
	u32 i;

	for (i = 0; i < n; i++) {
		unsigned long long at = p[i].at;

		if (at < z->dead)
			return dm_fault_set(fault, p[i].line,
					    "slip %llu lies in the zone's %llu dead sectors",
					    at, (unsigned long long)z->dead);
		if (at < after)
			return dm_fault_set(fault, p[i].line,
					    "slip %llu does not ascend: the one before ends at %llu",
					    at, (unsigned long long)after);
		if (at - slipped >= z->dead + z->lbns)
			return dm_fault_set(fault, p[i].line,
					    "slip %llu is beyond the zone's last LBN", at);
		out[i].at = at;
		out[i].before = slipped;
		out[i].n = p[i].n;
		slipped += p[i].n;
		after = at + p[i].n;
		if (slipped > spares || slipped > U32_MAX)
			return dm_fault_set(fault, p[i].line,
					    "%llu sectors slipped, but the zone has %llu spares",
					    (unsigned long long)slipped,
					    (unsigned long long)spares);
	}
	z->data_end = z->dead + z->lbns + slipped;
	return 0;
}

static int dm_check_zone(const struct disk_model *dm, const struct dm_spec_zone *p,
			 u32 first_cyl, struct dm_fault *fault)
{
	u64 room;

	if (p->first_cyl > first_cyl)
		return dm_fault_set(fault, p->line,
				    "cylinders %u..%u are missing before zone %u..%u",
				    first_cyl, p->first_cyl - 1, p->first_cyl, p->last_cyl);
	if (p->first_cyl < first_cyl)
		return dm_fault_set(fault, p->line, "zone %u..%u overlaps the one before, up to %u",
				    p->first_cyl, p->last_cyl, first_cyl - 1);
	if (p->last_cyl < p->first_cyl)
		return dm_fault_set(fault, p->line,
				    "zone's last cylinder %u is before its first, %u",
				    p->last_cyl, p->first_cyl);
	if (p->last_cyl >= dm->info.cylinders)
		return dm_fault_set(fault, p->line, "zone's last cylinder %u: the disk has %u",
				    p->last_cyl, dm->info.cylinders);
	room = (u64)(p->last_cyl - p->first_cyl + 1) * dm->info.heads * p->spt;
	if (p->dead > room || p->spares > room - p->dead)
		return dm_fault_set(fault, p->line,
				    "zone has %llu sectors, fewer than %llu dead and %llu spares",
				    (unsigned long long)room, (unsigned long long)p->dead,
				    (unsigned long long)p->spares);
	return 0;
}

static void dm_fill_zone(struct dm_zone *z, const struct disk_model *dm,
			 const struct dm_spec_zone *p, enum dm_head_order order)
{
	z->cyls = p->last_cyl - p->first_cyl + 1;
	z->first_cyl = p->first_cyl;
	z->spt = p->spt;
	z->cyl_sectors = p->spt * dm->info.heads;
	z->dead = p->dead;
	z->lbns = (u64)z->cyls * z->cyl_sectors - p->dead - p->spares;
	z->angle = p->angle;
	z->track_skew = p->track_skew;
	z->cyl_skew = p->cyl_skew + (dm->info.heads - 1) * p->track_skew;
	z->sector = div64_u64(U64_MAX, p->spt) + 1;
	z->sector_angle = min_t(u64, div_u64(1ULL << 32, p->spt), U32_MAX);
	z->reverse = order == DM_HEADS_SERPENTINE_DISK ? p->first_cyl & 1 : 0;
}

/* Hints for values below @end; returns the shift. */
static unsigned int dm_build_hints(const u64 *first, u32 zones, u64 end, u16 *hint)
{
	unsigned int shift = 0;
	u32 i, zone = 0;

	while ((end - 1) >> shift >= DM_HINTS)
		shift++;
	for (i = 0; i <= DM_HINTS; i++) {
		while (zone + 1 < zones && first[zone + 1] <= (u64)i << shift)
			zone++;
		hint[i] = zone;
	}
	return shift;
}

static int dm_build_zones(struct disk_model *dm, const struct dm_spec *spec,
			  struct dm_fault *fault)
{
	const struct dm_spec_remap *remap = spec->remap;
	const struct dm_spec_slip *slip = spec->slip;
	u64 lbn = 0;
	u32 cyl = 0, i;

	for (i = 0; i < spec->zones; i++) {
		const struct dm_spec_zone *p = &spec->zone[i];
		struct dm_zone *z = &dm->zone[i];
		int err = dm_check_zone(dm, p, cyl, fault);

		if (err)
			return err;
		dm_fill_zone(z, dm, p, spec->order);
		z->slip = dm->slip + (slip - spec->slip);
		z->slips = p->slips;
		err = dm_build_slips(z, dm->slip + (slip - spec->slip), p->spares, slip,
				     p->slips, fault);
		if (err)
			return err;
		z->remap = dm->remap + (remap - spec->remap);
		z->remaps = p->remaps;
		err = dm_build_remaps(z, dm->remap + (remap - spec->remap),
				      z->dead + z->lbns + p->spares, remap, p->remaps, fault);
		if (err)
			return err;
		z->first_lbn = lbn;
		dm->zone_lbn[i] = lbn;
		dm->zone_cyl[i] = cyl;
		lbn += z->lbns;
		cyl += z->cyls;
		slip += p->slips;
		remap += p->remaps;
	}
	if (cyl < dm->info.cylinders)
		return dm_fault_set(fault, 0, "cylinders %u..%u are in no zone", cyl,
				    dm->info.cylinders - 1);
	if (lbn != dm->info.sectors)
		return dm_fault_set(fault, spec->line,
				    "capacity is %llu sectors, but the zones hold %llu",
				    (unsigned long long)dm->info.sectors,
				    (unsigned long long)lbn);
	dm->lbn_shift = dm_build_hints(dm->zone_lbn, dm->zones, max(lbn, 1ULL), dm->lbn_hint);
	dm->cyl_shift = dm_build_hints(dm->zone_cyl, dm->zones, cyl, dm->cyl_hint);
	return 0;
}

static int dm_alloc_zones(struct disk_model *dm, const struct dm_spec *spec)
{
	dm->zones = spec->zones;
	dm->zone = fb_zalloc(spec->zones * sizeof(*dm->zone));
	dm->zone_lbn = fb_zalloc(spec->zones * sizeof(*dm->zone_lbn));
	dm->zone_cyl = fb_zalloc(spec->zones * sizeof(*dm->zone_cyl));
	dm->slip = fb_zalloc((spec->slips + 1) * sizeof(*dm->slip));
	dm->remap = fb_zalloc((spec->remaps + 1) * sizeof(*dm->remap));
	return dm->zone && dm->zone_lbn && dm->zone_cyl && dm->slip && dm->remap ? 0 : -ENOMEM;
}

int dm_build(const struct dm_spec *spec, struct disk_model **out, struct dm_fault *fault)
{
	struct disk_model *dm;
	int err;

	if (!spec->zones)
		return dm_fault_set(fault, 0, "no zones");
	dm = fb_zalloc(sizeof(*dm));
	if (!dm)
		return -ENOMEM;
	dm->info = spec->info;
	dm->serpentine = spec->order != DM_HEADS_PLAIN;
	dm->rate = mul_u64_u64_div_u64(1ULL << 63, 1000ULL << (DM_RATE_SHIFT + 32 - 63),
				       dm->info.period_ps);
	dm->period = div_u64(dm->info.period_ps * (1U << DM_PERIOD_SHIFT) + 500, 1000);
	err = dm_alloc_zones(dm, spec);
	if (!err)
		err = dm_build_seek(dm, spec, fault);
	if (!err)
		err = dm_build_zones(dm, spec, fault);
	if (err) {
		dm_free(dm);
		return err;
	}
	*out = dm;
	return 0;
}

void dm_free(struct disk_model *dm)
{
	if (!dm)
		return;
	fb_free(dm->curve[0]);
	fb_free(dm->curve[1]);
	fb_free(dm->remap);
	fb_free(dm->slip);
	fb_free(dm->zone_cyl);
	fb_free(dm->zone_lbn);
	fb_free(dm->zone);
	fb_free(dm);
}
