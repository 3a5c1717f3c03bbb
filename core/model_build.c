// SPDX-License-Identifier: GPL-2.0
/* Checks a specification and builds a disk model from it; see disk_model.h. Core; may sleep. */
#include "disk_model_private.h"

int dm_fault_set(struct dm_fault *fault, u32 line, const char *fmt, ...)
{
	va_list args;

	fault->line = line;
	va_start(args, fmt);
	vsnprintf(fault->reason, sizeof(fault->reason), fmt, args);
	va_end(args);
	return -EINVAL;
}

static int dm_check_distances(const struct dm_spec_seek *p, u32 n, u32 stroke,
			      struct dm_fault *fault)
{
	u32 i;

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
	return 0;
}

static int dm_check_seek(const struct dm_spec_seek *p, u32 n, u32 stroke,
			 struct dm_fault *fault)
{
	u32 rise, run, from, to;
	u64 beyond;
	int err = dm_check_distances(p, n, stroke, fault);

	if (err)
		return err;
	if (!n || p[n - 1].cyls == stroke)
		return 0;
	if (n < 2)
		return dm_fault_set(fault, p[0].line,
				    "one seek point at %u cylinders does not reach the stroke of %u",
				    p[0].cyls, stroke);
	/* The line through the last two points must stay in bounds up to the full stroke. */
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

/* Fill in each segment's floor, from the far end. */
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

/* Find which segments the distances 0, 2^@shift, 2 * 2^@shift .. lie on. */
static void dm_curve_index(const struct dm_seg *seg, u16 *index, u32 n, u32 shift)
{
	u32 i, k = 0;

	for (i = 0; i < n; i++) {
		while ((u64)i << shift >= seg[k + 1].cyls)
			k++;
		index[i] = k;
	}
}

/* Build lines from (0, @add) through the points plus @add; the last line goes on beyond. */
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
	curve->settle = add;
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

static int dm_compare_targets(const void *a, const void *b)
{
	const struct dm_spec_remap *p = a, *q = b;

	return p->to < q->to ? -1 : p->to > q->to;
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
	sort(p, n, sizeof(*p), dm_compare_targets, NULL);
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

/* the tracks of one of a zone's cylinders */
struct dm_tracks_of {
	u32 sectors;	/* on all of them */
	u32 longest;	/* of a track */
	u32 shortest;
};

static struct dm_tracks_of dm_tracks_of(const struct disk_model *dm, const struct dm_spec_zone *p,
					const u16 *head_spt)
{
	struct dm_tracks_of of = { p->spt * dm->info.heads, p->spt, p->spt };
	u32 i;

	if (p->head_spts)
		of = (struct dm_tracks_of) { .shortest = U32_MAX };
	for (i = 0; i < p->head_spts; i++) {
		of.sectors += head_spt[i];
		of.longest = max_t(u32, of.longest, head_spt[i]);
		of.shortest = min_t(u32, of.shortest, head_spt[i]);
	}
	return of;
}

static int dm_check_zone(const struct disk_model *dm, const struct dm_spec_zone *p,
			 const struct dm_tracks_of *of, u32 first_cyl, struct dm_fault *fault)
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
	if (p->head_spts && p->head_spts != dm->info.heads)
		return dm_fault_set(fault, p->line,
				    "head_spt names heads 0..%u of this zone, but the disk has %u",
				    p->head_spts - 1, dm->info.heads);
	if (of->longest != p->spt)
		return dm_fault_set(fault, p->line,
				    "zone's spt is %u, but its longest head_spt is %u",
				    p->spt, of->longest);
	room = (u64)(p->last_cyl - p->first_cyl + 1) * of->sectors;
	if (p->dead > room || p->spares > room - p->dead)
		return dm_fault_set(fault, p->line,
				    "zone has %llu sectors, fewer than %llu dead and %llu spares",
				    (unsigned long long)room, (unsigned long long)p->dead,
				    (unsigned long long)p->spares);
	return 0;
}

static void dm_fill_zone(struct dm_zone *z, const struct disk_model *dm,
			 const struct dm_spec_zone *p, u32 cyl_sectors, enum dm_head_order order)
{
	z->cyls = p->last_cyl - p->first_cyl + 1;
	z->first_cyl = p->first_cyl;
	z->spt = p->spt;
	z->cyl_sectors = cyl_sectors;
	z->dead = p->dead;
	z->unmapped = p->unmapped;
	z->slow = p->slow;
	z->lbns = (u64)z->cyls * z->cyl_sectors - p->dead - p->spares;
	z->angle = p->angle;
	z->track_skew = p->track_skew;
	z->cyl_skew = p->cyl_skew;
	if (dm->info.surface_run <= 1)
		z->cyl_skew += (dm->info.heads - 1) * p->track_skew;
	z->sector = dm_sector_of(p->spt);
	z->sector_angle = dm_sector_angle_of(z->sector);
	z->reverse = order == DM_HEADS_SERPENTINE_DISK ? p->first_cyl & 1 : 0;
}

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

/* the parts of a specification left for the zones still to be built */
struct dm_rest {
	const u16 *head_spt;			/* sectors per track of zones whose heads differ */
	u32 *before;				/* memory for their dm_zone.before */
	const struct dm_spec_slip *slip;
	const struct dm_spec_remap *remap;
};

/* @z is the zone in @dm, built from its counterpart in @spec; its part of @rest is used up. */
static int dm_build_zone(struct disk_model *dm, struct dm_zone *z, const struct dm_spec *spec,
			 const struct dm_spec_zone *p, const struct dm_tracks_of *of,
			 struct dm_rest *rest, struct dm_fault *fault)
{
	struct dm_remap *remap = dm->remap + (rest->remap - spec->remap);
	struct dm_slip *slip = dm->slip + (rest->slip - spec->slip);
	u32 i;
	int err;

	dm_fill_zone(z, dm, p, of->sectors, spec->order);
	dm->info.spt_most = max(dm->info.spt_most, p->spt);
	if (z->lbns)
		dm->info.spt_least = min(dm->info.spt_least, of->shortest);
	if (p->head_spts) {
		for (i = 0; i < p->head_spts; i++)
			rest->before[i + 1] = rest->before[i] + rest->head_spt[i];
		z->before = rest->before;
		rest->before += p->head_spts + 1;
	}
	z->slip = slip;
	z->slips = p->slips;
	err = dm_build_slips(z, slip, p->spares, rest->slip, p->slips, fault);
	if (err)
		return err;
	z->remap = remap;
	z->remaps = p->remaps;
	err = dm_build_remaps(z, remap, z->dead + z->lbns + p->spares, rest->remap, p->remaps,
			      fault);
	rest->head_spt += p->head_spts;
	rest->slip += p->slips;
	rest->remap += p->remaps;
	return err;
}

static int dm_build_zones(struct disk_model *dm, const struct dm_spec *spec,
			  struct dm_fault *fault)
{
	struct dm_rest rest = { spec->head_spt, dm->before, spec->slip, spec->remap };
	u64 lbn = 0;
	u32 cyl = 0, i;

	for (i = 0; i < spec->zones; i++) {
		const struct dm_spec_zone *p = &spec->zone[i];
		struct dm_tracks_of of = dm_tracks_of(dm, p, rest.head_spt);
		struct dm_zone *z = &dm->zone[i];
		int err = dm_check_zone(dm, p, &of, cyl, fault);

		if (!err)
			err = dm_build_zone(dm, z, spec, p, &of, &rest, fault);
		if (err)
			return err;
		z->first_lbn = lbn;
		dm->zone_lbn[i] = lbn;
		dm->zone_cyl[i] = cyl;
		lbn += z->lbns;
		cyl += z->cyls;
		dm->info.mapped += z->unmapped ? 0 : z->lbns;
		dm->slow |= z->slow;
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
	u32 different = 0, i;

	for (i = 0; i < spec->zones; i++)
		different += !!spec->zone[i].head_spts;
	if (different) {
		dm->before = fb_zalloc((size_t)different * (dm->info.heads + 1) *
				       sizeof(*dm->before));
		if (!dm->before)
			return -ENOMEM;
	}
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
	dm->info.mapped = 0;
	dm->info.spt_most = 0;
	dm->info.spt_least = DM_SPT_MAX;
	dm->serpentine = spec->order != DM_HEADS_PLAIN;
	dm->rate = mul_u64_u64_div_u64(1ULL << 63, (u64)FB_PS_PER_NS << (DM_RATE_SHIFT + 32 - 63),
				       dm->info.period_ps);
	dm->period = div_u64(dm->info.period_ps * (1U << DM_PERIOD_SHIFT) +
			     FB_PS_PER_NS / 2, FB_PS_PER_NS);
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
	fb_free(dm->before);
	fb_free(dm->remap);
	fb_free(dm->slip);
	fb_free(dm->zone_cyl);
	fb_free(dm->zone_lbn);
	fb_free(dm->zone);
	fb_free(dm);
}
