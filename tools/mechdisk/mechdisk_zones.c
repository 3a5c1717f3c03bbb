// SPDX-License-Identifier: GPL-2.0
/*
 * Zones, slips and remaps of a .fbdrive text, and lists that grow while it is read.
 */
#include "mechdisk_zones.h"

int mdt_args(struct mdt *m, int lo, int hi)
{
	if (m->words - 1 >= lo && m->words - 1 <= hi)
		return 0;
	if (lo == hi)
		return mdw_blame(m->err, &m->word[0],
				 "takes %d value%s, not %d", lo,
				 lo == 1 ? "" : "s", m->words - 1);
	return mdw_blame(m->err, &m->word[0], "takes %d to %d values, not %d",
			 lo, hi, m->words - 1);
}

/* An array that grows: room for @used + 1 entries, the new ones zeroed. */
static void *mdt_grow(void *array, u32 used, u32 room, size_t size)
{
	void *bigger = mdk_zalloc(room * size);

	if (!bigger)
		return NULL;
	if (used)
		memcpy(bigger, array, used * size);
	mdk_free(array);
	return bigger;
}

void *mdt_more(struct mdt *m, enum mdt_list list, void *array, u32 used, size_t size)
{
	u32 room = m->room[list];
	u32 *line = m->line[list];

	if (used == room) {
		room = room ? room * 2 : 64;
		line = mdt_grow(line, used, room, sizeof(*line));
		if (!line)
			return NULL;
		m->line[list] = line;
		array = mdt_grow(array, used, room, size);
		if (!array)
			return NULL;
		m->room[list] = room;
	}
	line[used] = m->err->line;
	return array;
}

/* One key=value of a zone. */
static int mdt_zone_option(struct mdt *m, const struct mdw_word *w,
			   struct mde_zone *z)
{
	struct mdw_word key, val;

	if (!mdw_cut(w, '=', &key, &val))
		return mdw_blame(m->err, w, "is not key=value");
	if (!mdw_is(&key, "dead"))
		return mdw_blame(m->err, w, "is no option");
	return mdw_number(m->err, &val, 0, MDT_INDEX, &z->dead);
}

int mdt_add_zone(struct mdt *m)
{
	struct mde_config *c = m->cfg;
	struct mdw_word *w = m->word;
	struct mdt_error *err = m->err;
	struct mde_zone *z;
	u32 next = c->zones ? c->zone[c->zones - 1].cyl_last + 1 : 0;
	int ret = mdt_args(m, 7, 8);

	if (ret)
		return ret;
	if (c->runs)
		return mdw_fail(err, "zone behind run: a drive has either");
	z = mdt_more(m, MDT_ZONES, c->zone, c->zones, sizeof(*z));
	if (!z)
		return -ENOMEM;
	c->zone = z;
	z += c->zones;
	if (mdw_number32(err, &w[1], 0, MDT_CYLINDERS, &z->cyl_first) ||
	    mdw_number32(err, &w[2], z->cyl_first, MDT_CYLINDERS,
			 &z->cyl_last) ||
	    mdw_number32(err, &w[3], 1, 65535, &z->spt) ||
	    mdw_fraction(err, &w[4], &z->angle) ||
	    mdw_fraction(err, &w[5], &z->skew_track) ||
	    mdw_fraction(err, &w[6], &z->skew_cyl) ||
	    mdw_number(err, &w[7], 0, MDT_INDEX, &z->spares) ||
	    (m->words == 9 && mdt_zone_option(m, &w[8], z)))
		return -EINVAL;
	if (z->cyl_first != next)
		return mdw_fail(err, "zone %u starts at cylinder %u, not at %u",
				c->zones, z->cyl_first, next);
	c->zones++;
	return 0;
}

/* The zone that a record belongs to: the second word, a zone given, from @lo on. */
static int mdt_in_zone(struct mdt *m, u32 lo, u32 *zone)
{
	if (!m->cfg->zones)
		return mdw_fail(m->err, "no zone yet");
	return mdw_number32(m->err, &m->word[1], lo, m->cfg->zones - 1, zone);
}

/* All zone_heads name the same number of heads; see also mdx_check_heads(). */
static int mdt_count_heads(struct mdt *m, u32 heads)
{
	if (m->spts && m->spts != heads)
		return mdw_fail(m->err,
				"%u heads, but %u in the zone_heads before",
				heads, m->spts);
	m->spts = heads;
	m->spts_line = m->err->line;
	return 0;
}

int mdt_add_zone_heads(struct mdt *m)
{
	struct mde_zone *z;
	u32 i, zone = 0, most = 0, heads = m->words - 2;
	int ret = mdt_args(m, 2, MDW_WORDS - 1);

	if (!ret && m->cfg->runs)
		return mdw_fail(m->err, "zone_heads goes with zone, not with run");
	if (!ret)
		ret = mdt_in_zone(m, 0, &zone);
	if (!ret)
		ret = mdt_count_heads(m, heads);
	if (ret)
		return ret;
	z = &m->cfg->zone[zone];
	if (z->head_spt)
		return mdw_fail(m->err, "zone %u has a zone_heads already",
				zone);
	z->head_spt = mdk_zalloc(heads * sizeof(*z->head_spt));
	if (!z->head_spt)
		return -ENOMEM;
	for (i = 0; i < heads; i++) {
		ret = mdw_number32(m->err, &m->word[2 + i], 1, z->spt,
				   &z->head_spt[i]);
		if (ret)
			return ret;
		most = max(most, z->head_spt[i]);
	}
	if (most != z->spt)
		return mdw_fail(m->err,
				"zone %u: no head has the zone's %u sectors",
				zone, z->spt);
	return 0;
}

/* INDEX or INDEX+COUNT; ascending within a zone. */
static int mdt_add_slip(struct mdt *m, u32 zone, const struct mdw_word *w)
{
	struct mde_config *c = m->cfg;
	struct mdw_word index, count;
	struct mde_slip *slip;
	u64 lo = 0;

	slip = mdt_more(m, MDT_SLIPS, c->slip, c->slips, sizeof(*slip));
	if (!slip)
		return -ENOMEM;
	c->slip = slip;
	slip += c->slips;
	if (c->slips && slip[-1].zone == zone)
		lo = slip[-1].index + slip[-1].count;
	slip->zone = zone;
	slip->count = 1;
	if (mdw_cut(w, '+', &index, &count) &&
	    mdw_number32(m->err, &count, 1, U32_MAX, &slip->count))
		return -EINVAL;
	if (mdw_number(m->err, &index, lo, MDT_INDEX, &slip->index))
		return -EINVAL;
	c->slips++;
	return 0;
}

int mdt_add_slips(struct mdt *m)
{
	struct mde_config *c = m->cfg;
	u32 zone = 0;
	int i, ret = mdt_args(m, 2, MDW_WORDS - 1);

	if (!ret)
		ret = mdt_in_zone(m, c->slips ? c->slip[c->slips - 1].zone : 0,
				  &zone);
	for (i = 2; !ret && i < m->words; i++)
		ret = mdt_add_slip(m, zone, &m->word[i]);
	return ret;
}

int mdt_add_remap(struct mdt *m)
{
	struct mde_config *c = m->cfg;
	struct mde_remap *remap;
	u64 lo = 0;
	int ret = mdt_args(m, 3, 3);

	if (ret)
		return ret;
	remap = mdt_more(m, MDT_REMAPS, c->remap, c->remaps, sizeof(*remap));
	if (!remap)
		return -ENOMEM;
	c->remap = remap;
	remap += c->remaps;
	ret = mdt_in_zone(m, c->remaps ? remap[-1].zone : 0, &remap->zone);
	if (ret)
		return ret;
	if (c->remaps && remap[-1].zone == remap->zone)
		lo = remap[-1].from + 1;
	if (mdw_number(m->err, &m->word[2], lo, MDT_INDEX, &remap->from) ||
	    mdw_number(m->err, &m->word[3], 0, MDT_INDEX, &remap->to))
		return -EINVAL;
	c->remaps++;
	return 0;
}
