// SPDX-License-Identifier: GPL-2.0
/*
 * Whether the records of a .fbdrive text agree.
 */
#include "mechdisk_check.h"
#include "mechdisk_layout.h"

/* For printing: a u64 is an unsigned long in user space. */
#define MDX_ULL(x) ((unsigned long long)(x))

/* Where to put the reason why @line is refused. */
static struct mdt_error *mdx_at(struct mdt *m, u32 line)
{
	m->err->line = line;
	return m->err;
}

/* What a layout is made of. */
static const char *mdx_kind(const struct mde_config *c)
{
	return c->runs ? "run" : "zone";
}

/* The arm has a surface for each run, and each track is of one run. */
static int mdx_check_runs(struct mdt *m)
{
	struct mde_config *c = m->cfg;
	u32 i;

	if (c->surface_run > 1 || c->order != MDE_PLAIN)
		return mdw_fail(m->err, "surface_run and order go with zone, not with run");
	for (i = 0; i < c->zones; i++)
		if (c->zone[i].head >= c->heads)
			return mdw_fail(mdx_at(m, m->line[MDT_ZONES][i]),
					"run %u: surface %u, but there are %llu", i,
					c->zone[i].head, MDX_ULL(c->heads));
	if (mdl_index(c))
		return -ENOMEM;
	for (i = 1; i < c->zones; i++) {
		u32 a = mdl_place_run(c->place[i - 1]), b = mdl_place_run(c->place[i]);

		if (c->zone[a].head == c->zone[b].head &&
		    c->zone[a].cyl_last >= c->zone[b].cyl_first)
			return mdw_fail(mdx_at(m, m->line[MDT_ZONES][max(a, b)]),
					"run %u: track %u of surface %u is in run %u already",
					max(a, b), c->zone[b].cyl_first, c->zone[b].head,
					min(a, b));
	}
	return 0;
}

/* A run gives the spares that its slips use up. */
static void mdx_count_slips(struct mde_config *c)
{
	u32 s;

	for (s = 0; s < c->slips; s++)
		c->zone[c->slip[s].zone].spares += c->slip[s].count;
}

static int mdx_check_displacement(struct mdt *m)
{
	const struct mde_config *c = m->cfg;

	if (!c->displacements)
		return 0;
	mdx_at(m, m->displacement_line);
	if (!c->runs)
		return mdw_fail(m->err, "displacement goes with run, not with zone");
	if (c->displacements != c->heads)
		return mdw_fail(m->err, "displacement of %u surfaces, but there are %llu",
				c->displacements, MDX_ULL(c->heads));
	return 0;
}

static int mdx_check_heads(struct mdt *m)
{
	u32 heads = m->cfg->heads;

	if (m->cfg->surface_run > 1 && m->cfg->order == MDE_SERPENTINE_DISK)
		return mdw_fail(m->err,
				"surface_run goes with order plain or serpentine, not serpentine-disk");
	if (!m->spts || m->spts == heads)
		return 0;
	return mdw_fail(mdx_at(m, m->spts_line),
			"zone_heads names %u heads, but there are %u",
			m->spts, heads);
}

/* Each zone keeps an LBN. */
static int mdx_check_room(struct mdt *m, u32 i)
{
	const struct mde_config *c = m->cfg;
	const struct mde_zone *z = &c->zone[i];
	u64 sectors = mdl_zone_sectors(c, z);

	if (z->dead + z->spares < sectors)
		return 0;
	mdx_at(m, m->line[MDT_ZONES][i]);
	if (!z->dead)
		return mdw_fail(m->err, "%s %u: %llu spares, but only %llu sectors",
				mdx_kind(c), i, MDX_ULL(z->spares), MDX_ULL(sectors));
	return mdw_fail(m->err, "%s %u: %llu dead, %llu spares, but only %llu sectors",
			mdx_kind(c), i, MDX_ULL(z->dead), MDX_ULL(z->spares), MDX_ULL(sectors));
}

/* Slips and remaps use up spares. */
static int mdx_check_spares(struct mdt *m, u32 i)
{
	const struct mde_config *c = m->cfg;
	const struct mde_zone *z = &c->zone[i];
	u64 slipped = 0;

	if (z->slip_count) {
		const struct mde_slip *last =
			&c->slip[z->slip_first + z->slip_count - 1];

		slipped = last->before + last->count;
	}
	if (slipped + z->remap_count <= z->spares)
		return 0;
	return mdw_fail(mdx_at(m, m->line[MDT_ZONES][i]),
			"%s %u: %llu slips and %u remaps, but only %llu spares",
			mdx_kind(c), i, MDX_ULL(slipped), z->remap_count, MDX_ULL(z->spares));
}

/* Slips lie behind the dead sectors and inside the zone. */
static int mdx_check_slips(struct mdt *m, u32 i)
{
	const struct mde_config *c = m->cfg;
	const struct mde_zone *z = &c->zone[i];
	u64 sectors = mdl_zone_sectors(c, z);
	u32 s;

	for (s = z->slip_first; s < z->slip_first + z->slip_count; s++) {
		const struct mde_slip *slip = &c->slip[s];

		if (slip->index < z->dead)
			return mdw_fail(mdx_at(m, m->line[MDT_SLIPS][s]),
					"%s %u: slip %llu is dead already",
					mdx_kind(c), i, MDX_ULL(slip->index));
		if (slip->index + slip->count > sectors)
			return mdw_fail(mdx_at(m, m->line[MDT_SLIPS][s]),
					"%s %u: slip %llu+%u lies beyond the %s's %llu sectors",
					mdx_kind(c), i, MDX_ULL(slip->index), slip->count,
					mdx_kind(c), MDX_ULL(sectors));
	}
	return 0;
}

/* The sector behind that of the zone's last LBN. */
static u64 mdx_data_end(const struct mde_config *c, const struct mde_zone *z)
{
	u64 end = z->dead + z->lbn_count;
	u32 s;

	for (s = 0; s < z->slip_count; s++) {
		const struct mde_slip *slip = &c->slip[z->slip_first + s];

		if (slip->index >= end)
			break;
		end += slip->count;
	}
	return end;
}

static bool mdx_slipped(const struct mde_config *c, const struct mde_zone *z,
			u64 index)
{
	const struct mde_slip *slip = c->slip + z->slip_first;
	u32 lo = 0, hi = z->slip_count;

	while (lo < hi) {
		u32 mid = (lo + hi) / 2;

		if (slip[mid].index + slip[mid].count <= index)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < z->slip_count && slip[lo].index <= index;
}

static int mdx_check_remap(struct mdt *m, u32 i, u64 end, u32 r)
{
	const struct mde_config *c = m->cfg;
	const struct mde_zone *z = &c->zone[i];
	const struct mde_remap *remap = &c->remap[r];
	u64 sectors = mdl_zone_sectors(c, z);

	mdx_at(m, m->line[MDT_REMAPS][r]);
	if (remap->from < z->dead || remap->from >= end)
		return mdw_fail(m->err, "%s %u: remap %llu, but LBNs are within %llu to %llu",
				mdx_kind(c), i, MDX_ULL(remap->from), MDX_ULL(z->dead),
				MDX_ULL(end - 1));
	if (remap->to < end || remap->to >= sectors)
		return mdw_fail(m->err,
				"%s %u: remap to %llu, but spares are within %llu to %llu",
				mdx_kind(c), i, MDX_ULL(remap->to), MDX_ULL(end),
				MDX_ULL(sectors - 1));
	if (mdx_slipped(c, z, remap->from))
		return mdw_fail(m->err, "%s %u: sector %llu is slipped and remapped",
				mdx_kind(c), i, MDX_ULL(remap->from));
	if (mdx_slipped(c, z, remap->to))
		return mdw_fail(m->err, "%s %u: spare %llu is slipped",
				mdx_kind(c), i, MDX_ULL(remap->to));
	return 0;
}

static int mdx_compare(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/* No spare serves twice. */
static int mdx_check_twice(struct mdt *m, u32 i)
{
	const struct mde_config *c = m->cfg;
	u32 n = c->zone[i].remap_count, r = c->zone[i].remap_first + n, k;
	u64 *to, twice = U64_MAX;

	if (!n)
		return 0;
	to = mdk_zalloc(n * sizeof(*to));
	if (!to)
		return -ENOMEM;
	for (k = 0; k < n; k++)
		to[k] = c->remap[c->zone[i].remap_first + k].to;
	mdk_sort(to, n, sizeof(*to), mdx_compare);
	for (k = 1; k < n; k++)
		if (to[k] == to[k - 1])
			twice = to[k];
	mdk_free(to);
	if (twice == U64_MAX)
		return 0;
	/* The last that says so. */
	while (c->remap[--r].to != twice)
		;
	return mdw_fail(mdx_at(m, m->line[MDT_REMAPS][r]),
			"%s %u: spare %llu used twice", mdx_kind(c), i, MDX_ULL(twice));
}

static int mdx_check_zone(struct mdt *m, u32 i)
{
	const struct mde_config *c = m->cfg;
	const struct mde_zone *z = &c->zone[i];
	u64 end = mdx_data_end(c, z);
	u32 r;
	int ret = mdx_check_spares(m, i);

	if (!ret)
		ret = mdx_check_slips(m, i);
	for (r = 0; !ret && r < z->remap_count; r++)
		ret = mdx_check_remap(m, i, end, z->remap_first + r);
	return ret ? ret : mdx_check_twice(m, i);
}

static int mdx_check_layout(struct mdt *m)
{
	struct mde_config *c = m->cfg;
	int ret;
	u32 i;

	ret = mdx_check_displacement(m);
	if (!ret)
		ret = c->runs ? mdx_check_runs(m) : mdx_check_heads(m);
	if (!ret && c->runs)
		mdx_count_slips(c);
	for (i = 0; !ret && i < c->zones; i++)
		ret = mdx_check_room(m, i);
	if (ret)
		return ret;
	mdl_finish(c);
	for (i = 0; !ret && i < c->zones; i++)
		ret = mdx_check_zone(m, i);
	if (ret)
		return ret;
	if (c->sectors >= 1ULL << 48)
		return mdw_fail(mdx_at(m, 0), "more than 2^48 sectors");
	return 0;
}

/* The rest depends on the layout. */
static int mdx_check_places(struct mdt *m)
{
	const struct mde_config *c = m->cfg;
	u32 i;

	for (i = 0; i < c->bads; i++)
		if (c->bad[i].lbn + c->bad[i].count > c->sectors)
			return mdw_fail(mdx_at(m, m->bad_line[i]),
					"medium error at %llu: the drive has %llu sectors",
					MDX_ULL(c->bad[i].lbn), MDX_ULL(c->sectors));
	for (i = 0; i < c->slows; i++)
		if (c->slow[i].last >= c->cylinders)
			return mdw_fail(mdx_at(m, m->slow_line[i]),
					"slow region up to cylinder %u: the last is %llu",
					c->slow[i].last, MDX_ULL(c->cylinders - 1));
	if (c->internal_cyl >= c->cylinders)
		return mdw_fail(mdx_at(m, m->internal_line),
				"internal activity at cylinder %llu: the last is %llu",
				MDX_ULL(c->internal_cyl), MDX_ULL(c->cylinders - 1));
	return 0;
}

static int mdx_check_cache(struct mdt *m)
{
	const struct mde_config *c = m->cfg;

	if (!c->write_cache_on || c->write_segments)
		return 0;
	return mdw_fail(mdx_at(m, m->write_cache_line), c->segments ?
			"write_cache, but the cache has no segments for writes" :
			"write_cache, but there is no cache");
}

int mdx_check(struct mdt *m)
{
	struct mde_config *c = m->cfg;
	int ret;

	if (!c->period_ps)
		return mdw_fail(m->err, "no period_ps");
	if (!c->heads)
		return mdw_fail(m->err, "no heads");
	if (!c->zones)
		return mdw_fail(m->err, "no zone");
	if (!c->seeks)
		return mdw_fail(m->err, "no seek time for distance 1");
	if (c->seek[0].dist != 1)
		return mdw_fail(mdx_at(m, m->line[MDT_SEEKS][0]),
				"no seek time for distance 1");
	ret = mdx_check_layout(m);
	if (!ret)
		ret = mdx_check_places(m);
	return ret ? ret : mdx_check_cache(m);
}
