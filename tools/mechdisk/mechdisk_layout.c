// SPDX-License-Identifier: GPL-2.0
/*
 * Where LBNs live on the platters of a simulated drive.
 *
 * Written from "Freeblock Scheduling Outside of Disk Firmware" (4.2) and the
 * published description of the DiskSim disk layouts, and on purpose not from
 * the scheduler's disk model: the model predicts, the drive decides.
 *
 * A zone's physical sectors are counted in LBN order of tracks: its sector
 * @index holds an LBN unless it is dead, slipped or one of the spares at the
 * end.
 *
 * A band is as many cylinders as LBNs stay on one surface for, the zone's last
 * one maybe fewer.  Most drives change heads after each track: their bands are
 * single cylinders.
 *
 * A layout of runs is one of zones that have a surface and a direction each.  Tracks
 * have numbers on their own surface; to the arm, surfaces are displaced against
 * each other.
 */
#include "mechdisk_layout.h"

static const struct mde_zone *mdl_zone_of(const struct mde_config *c, u64 lbn)
{
	u32 lo = 0, hi = c->zones - 1;

	while (lo < hi) {
		u32 mid = (lo + hi + 1) / 2;

		if (c->zone[mid].lbn_first <= lbn)
			lo = mid;
		else
			hi = mid - 1;
	}
	return &c->zone[lo];
}

/*
 * How many of the zone's slips lie before its LBN number @l.  A slip is passed
 * if its index, less all before it that hold no LBN, is at most @l.
 */
static u32 mdl_slips_passed(const struct mde_config *c,
			    const struct mde_zone *z, u64 l)
{
	const struct mde_slip *slip = c->slip + z->slip_first;
	u32 lo = 0, hi = z->slip_count;

	while (lo < hi) {
		u32 mid = (lo + hi) / 2;

		if (slip[mid].index - slip[mid].before <= z->dead + l)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* How many of the zone's slips start at or before @index. */
static u32 mdl_slips_from(const struct mde_config *c, const struct mde_zone *z,
			  u64 index)
{
	const struct mde_slip *slip = c->slip + z->slip_first;
	u32 lo = 0, hi = z->slip_count;

	while (lo < hi) {
		u32 mid = (lo + hi) / 2;

		if (slip[mid].index <= index)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* The zone's first remap whose defective sector is not before @index. */
static u32 mdl_remap_from(const struct mde_config *c, const struct mde_zone *z,
			  u64 index)
{
	const struct mde_remap *remap = c->remap + z->remap_first;
	u32 lo = 0, hi = z->remap_count;

	while (lo < hi) {
		u32 mid = (lo + hi) / 2;

		if (remap[mid].from < index)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* A zone's band. */
struct mdl_band {
	u32 number;		/* counted within the zone */
	u32 first;		/* its first cylinder, counted within the zone */
	u32 cyls;		/* its cylinders */
};

static struct mdl_band mdl_band(const struct mde_config *c, const struct mde_zone *z, u64 number)
{
	u32 run = c->surface_run, cyls = z->cyl_last - z->cyl_first + 1;

	return (struct mdl_band){
		.number = number,
		.first = number * run,
		.cyls = min(run, cyls - (u32)number * run),
	};
}

/* The head that is the @h-th in LBN order on a zone's band, or the inverse. */
static u32 mdl_head(const struct mde_config *c, const struct mde_zone *z,
		    const struct mdl_band *b, u32 h)
{
	bool back = (c->order == MDE_SERPENTINE && (b->number & 1)) ||
		(c->order == MDE_SERPENTINE_DISK && ((z->cyl_first + b->number) & 1));

	return back ? c->heads - 1 - h : h;
}

/* The band's cylinder whose track is the @k-th in LBN order under its @h-th head, or inverse. */
static u32 mdl_step(const struct mdl_band *b, u32 h, u32 k)
{
	return h & 1 ? b->cyls - 1 - k : k;
}

/* The arm's cylinder of a surface's track 0. */
static u32 mdl_displaced(const struct mde_config *c, u32 head)
{
	return c->displacement ? c->displacement[head] : 0;
}

static u32 mdl_spt(const struct mde_zone *z, u32 head)
{
	return z->head_spt ? z->head_spt[head] : z->spt;
}

/* Skew of the @k-th track in LBN order under the band's @h-th head. */
static u64 mdl_skew(const struct mde_config *c, const struct mde_zone *z,
		    const struct mdl_band *b, u32 h, u32 k)
{
	u64 runs = b->number * c->heads + h;

	if (c->surface_run == 1)
		return z->skew_track * (runs - b->number) + z->skew_cyl * b->number;
	return z->skew_track * runs +
		z->skew_cyl * (b->first * c->heads + (u64)h * b->cyls + k - runs);
}

static void mdl_place_in_run(const struct mde_config *c, const struct mde_zone *z, u64 index,
			     struct mdl_piece *p)
{
	u32 k = index / z->spt;

	p->head = z->head;
	p->spt = z->spt;
	p->cyl = mdl_displaced(c, z->head) + (z->outwards ? z->cyl_last - k : z->cyl_first + k);
	p->sector = index - (u64)k * z->spt;
	p->angle = z->angle + k * z->skew_cyl + U64_MAX / z->spt * p->sector;
}

static void mdl_place_in_zone(const struct mde_config *c, const struct mde_zone *z, u64 index,
			      struct mdl_piece *p)
{
	struct mdl_band b = mdl_band(c, z, index / (c->surface_run * z->cyl_sectors));
	u64 rest = index - b.first * z->cyl_sectors;	/* of the band */
	u32 h = 0, k;					/* in LBN order */

	if (!z->head_spt) {
		h = rest / (b.cyls * z->spt);
		rest -= (u64)h * b.cyls * z->spt;
	}
	for (;; h++) {
		p->head = mdl_head(c, z, &b, h);
		p->spt = mdl_spt(z, p->head);
		if (rest < (u64)b.cyls * p->spt)
			break;
		rest -= (u64)b.cyls * p->spt;
	}
	k = (u32)rest / p->spt;
	p->cyl = z->cyl_first + b.first + mdl_step(&b, h, k);
	p->sector = rest - k * p->spt;
	p->angle = z->angle + mdl_skew(c, z, &b, h, k) + U64_MAX / p->spt * p->sector;
}

void mdl_place(const struct mde_config *c, u32 zone, u64 index,
	       struct mdl_piece *p)
{
	const struct mde_zone *z = &c->zone[zone];

	p->zone = zone;
	if (c->runs)
		mdl_place_in_run(c, z, index, p);
	else
		mdl_place_in_zone(c, z, index, p);
}

/*
 * Length of the stretch that begins at @index, where slip @s is the next: up to
 * @want LBNs that end before @end.
 */
static void mdl_stretch(const struct mde_config *c, const struct mde_zone *z,
			u64 index, u32 s, u64 want, u64 end,
			struct mdl_piece *p)
{
	const struct mde_slip *slip = c->slip + z->slip_first;
	u64 at = index;

	p->lbns = 0;
	while (p->lbns < want && at < end) {
		bool slips = s < z->slip_count && slip[s].index < end;
		u64 stop = slips ? slip[s].index : end;
		u64 n = min(want - p->lbns, stop - at);

		if (n) {
			p->lbns += n;
			p->phys = at + n - index;
		}
		if (!slips)
			break;
		at = stop + slip[s++].count;
	}
}

void mdl_locate(const struct mde_config *c, u64 lbn, u32 count,
		struct mdl_piece *p)
{
	const struct mde_zone *z = mdl_zone_of(c, lbn);
	const struct mde_slip *slip = c->slip + z->slip_first;
	const struct mde_remap *remap = c->remap + z->remap_first;
	u64 l = lbn - z->lbn_first;
	u64 index = z->dead + l;
	u32 s = 0, r = 0;
	u64 end;

	if (z->slip_count)
		s = mdl_slips_passed(c, z, l);
	if (s)
		index += slip[s - 1].before + slip[s - 1].count;
	if (z->remap_count)
		r = mdl_remap_from(c, z, index);
	p->lbn = lbn;
	p->remapped = r < z->remap_count && remap[r].from == index;
	if (p->remapped) {
		p->lbns = 1;
		p->phys = 1;
		mdl_place(c, z - c->zone, remap[r].to, p);
		return;
	}

	mdl_place(c, z - c->zone, index, p);
	end = index - p->sector + p->spt;
	if (r < z->remap_count)
		end = min(end, remap[r].from);
	mdl_stretch(c, z, index, s, min((u64)count, z->lbn_count - l), end, p);
}

/* The zone that has a cylinder, or NULL. */
static const struct mde_zone *mdl_zone_at(const struct mde_config *c, u32 cyl)
{
	u32 lo = 0, hi = c->zones;

	if (cyl >= c->cylinders)
		return NULL;
	while (hi - lo > 1) {
		u32 mid = (lo + hi) / 2;

		if (c->zone[mid].cyl_first <= cyl)
			lo = mid;
		else
			hi = mid;
	}
	return &c->zone[lo];
}

/* Which LBN of the zone a sector holds, remaps apart; -ENOENT: none. */
static int mdl_zone_lbn(const struct mde_config *c, const struct mde_zone *z,
			u64 index, u64 *l)
{
	const struct mde_slip *slip = c->slip + z->slip_first;
	u32 s = mdl_slips_from(c, z, index);
	u64 none = z->dead;

	if (s) {
		slip += s - 1;
		if (index - slip->index < slip->count)
			return -ENOENT;
		none += slip->before + slip->count;
	}
	if (index < none || index - none >= z->lbn_count)
		return -ENOENT;
	*l = index - none;
	return 0;
}

/* Entries of @place sort by surface, by track, and tell which run it is. */
static u64 mdl_entry(u32 head, u32 track, u32 run)
{
	return (u64)head << 56 | (u64)track << 32 | run;
}

static int mdl_compare(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

int mdl_index(struct mde_config *c)
{
	u32 i;

	c->place = mdk_zalloc(c->zones * sizeof(*c->place));
	if (!c->place)
		return -ENOMEM;
	for (i = 0; i < c->zones; i++)
		c->place[i] = mdl_entry(c->zone[i].head, c->zone[i].cyl_first, i);
	mdk_sort(c->place, c->zones, sizeof(*c->place), mdl_compare);
	return 0;
}

/* The run that has a surface's track, or NULL. */
static const struct mde_zone *mdl_run_at(const struct mde_config *c, u32 head, u32 track)
{
	u64 key = mdl_entry(head, track, U32_MAX);
	const struct mde_zone *z;
	u32 lo = 0, hi = c->zones;

	/* The first entry behind it. */
	while (lo < hi) {
		u32 mid = (lo + hi) / 2;

		if (c->place[mid] <= key)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return NULL;
	z = &c->zone[mdl_place_run(c->place[lo - 1])];
	return z->head == head && track <= z->cyl_last ? z : NULL;
}

/* The run that has a place, or NULL; its sector there. */
static const struct mde_zone *mdl_in_run(const struct mde_config *c, u32 cyl, u32 head,
					 u32 sector, u64 *index)
{
	u32 track = cyl - mdl_displaced(c, head);
	const struct mde_zone *z = NULL;

	if (track <= cyl)
		z = mdl_run_at(c, head, track);
	if (!z || sector >= z->spt)
		return NULL;
	*index = (u64)(z->outwards ? z->cyl_last - track : track - z->cyl_first) * z->spt + sector;
	return z;
}

/* The zone that has a place, or NULL; its sector there. */
static const struct mde_zone *mdl_in_zone(const struct mde_config *c, u32 cyl, u32 head,
					  u32 sector, u64 *index)
{
	const struct mde_zone *z = mdl_zone_at(c, cyl);
	struct mdl_band b;
	u32 h;

	if (!z || sector >= mdl_spt(z, head))
		return NULL;
	cyl -= z->cyl_first;
	b = mdl_band(c, z, cyl / (u32)c->surface_run);
	*index = b.first * z->cyl_sectors;
	for (h = 0; mdl_head(c, z, &b, h) != head; h++)
		*index += (u64)b.cyls * mdl_spt(z, mdl_head(c, z, &b, h));
	*index += (u64)mdl_step(&b, h, cyl - b.first) * mdl_spt(z, head) + sector;
	return z;
}

int mdl_lbn_at(const struct mde_config *c, u32 cyl, u32 head, u32 sector,
	       u64 *lbn)
{
	const struct mde_zone *z = NULL;
	const struct mde_remap *remap;
	u64 index = 0, l;
	u32 r;

	if (head < c->heads)
		z = c->runs ? mdl_in_run(c, cyl, head, sector, &index) :
			mdl_in_zone(c, cyl, head, sector, &index);
	if (!z)
		return -EINVAL;
	remap = c->remap + z->remap_first;
	if (!mdl_zone_lbn(c, z, index, &l)) {
		r = mdl_remap_from(c, z, index);
		if (r < z->remap_count && remap[r].from == index)
			return -ENOENT;
		*lbn = z->lbn_first + l;
		return 0;
	}
	/* A spare: whose? */
	for (r = 0; r < z->remap_count && remap[r].to != index; r++)
		;
	if (r == z->remap_count || mdl_zone_lbn(c, z, remap[r].from, &l))
		return -ENOENT;
	*lbn = z->lbn_first + l;
	return 0;
}

u64 mdl_zone_sectors(const struct mde_config *c, const struct mde_zone *z)
{
	u64 sectors = 0;
	u32 head;

	for (head = 0; head < (c->runs ? 1 : c->heads); head++)
		sectors += mdl_spt(z, head);
	return (z->cyl_last - z->cyl_first + 1) * sectors;
}

/* A zone's derived fields; @s and @r are its first slip and remap, and advance. */
static void mdl_finish_zone(struct mde_config *c, u32 i, u32 *s, u32 *r)
{
	struct mde_zone *z = &c->zone[i];
	u64 sectors = mdl_zone_sectors(c, z);
	u64 before = 0;

	z->cyl_sectors = sectors / (z->cyl_last - z->cyl_first + 1);
	z->lbn_count = sectors - z->dead - z->spares;
	z->slip_first = *s;
	for (; *s < c->slips && c->slip[*s].zone == i; ++*s) {
		c->slip[*s].before = before;
		before += c->slip[*s].count;
	}
	z->slip_count = *s - z->slip_first;
	z->remap_first = *r;
	while (*r < c->remaps && c->remap[*r].zone == i)
		++*r;
	z->remap_count = *r - z->remap_first;
}

void mdl_finish(struct mde_config *c)
{
	u32 i, s = 0, r = 0;

	c->sectors = 0;
	c->cylinders = 0;
	for (i = 0; i < c->zones; i++) {
		struct mde_zone *z = &c->zone[i];
		u64 cyls = (u64)z->cyl_last + 1 + (c->runs ? mdl_displaced(c, z->head) : 0);

		mdl_finish_zone(c, i, &s, &r);
		z->lbn_first = c->sectors;
		c->sectors += z->lbn_count;
		c->cylinders = max(c->cylinders, cyls);
	}
}
