// SPDX-License-Identifier: GPL-2.0
/*
 * Runs of a .fbdrive text: a layout said surface by surface.
 *
 * A run is kept as a zone of one surface; a repeat becomes the runs that it
 * stands for, so that nothing else has to know of it.
 */
#include "mechdisk_runs.h"
#include "mechdisk_zones.h"

/* Largest number of a surface. */
#define MDT_SURFACE	63

/* A new run at the end of the list, zeroed; NULL with *@ret: why there is none. */
static struct mde_zone *mdt_new_run(struct mdt *m, int *ret)
{
	struct mde_config *c = m->cfg;
	struct mde_zone *z;

	if (c->zones == MDT_RUNS) {
		*ret = mdw_fail(m->err, "more than %u runs", MDT_RUNS);
		return NULL;
	}
	z = mdt_more(m, MDT_ZONES, c->zone, c->zones, sizeof(*z));
	if (!z) {
		*ret = -ENOMEM;
		return NULL;
	}
	c->zone = z;
	return z + c->zones;
}

/* One key=value of a run. */
static int mdt_run_option(struct mdt *m, const struct mdw_word *w, struct mde_zone *z)
{
	struct mdw_word key, val;

	if (!mdw_cut(w, '=', &key, &val))
		return mdw_blame(m->err, w, "is not key=value");
	if (mdw_is(&key, "dead"))
		return mdw_number(m->err, &val, 0, MDT_INDEX, &z->dead);
	if (mdw_is(&key, "spares"))
		return mdw_number(m->err, &val, 0, MDT_INDEX, &z->spares);
	return mdw_blame(m->err, w, "is no option");
}

/* The tracks that a run covers, which begins at @first and has @tracks. */
static int mdt_run_tracks(struct mdt *m, struct mde_zone *z, u32 first, u32 tracks)
{
	if (z->outwards && tracks > first + 1)
		return mdw_fail(m->err, "%u tracks outwards from track %u: there are %u",
				tracks, first, first + 1);
	if (!z->outwards && tracks - 1 > MDT_CYLINDERS - first)
		return mdw_fail(m->err, "%u tracks inwards from track %u: the last is %u",
				tracks, first, MDT_CYLINDERS);
	z->cyl_first = z->outwards ? first - (tracks - 1) : first;
	z->cyl_last = z->cyl_first + tracks - 1;
	return 0;
}

int mdt_add_run(struct mdt *m)
{
	static const char *const directions[] = { "in", "out", NULL };
	struct mdt_error *err = m->err;
	struct mde_config *c = m->cfg;
	struct mdw_word *w = m->word;
	u32 first = 0, tracks = 0;
	struct mde_zone *z;
	u64 out = 0;
	int i, ret = mdt_args(m, 7, 9);

	if (ret)
		return ret;
	if (c->zones && !c->runs)
		return mdw_fail(err, "run behind zone: a drive has either");
	z = mdt_new_run(m, &ret);
	if (!z)
		return ret;
	/* What a record before has left that was refused. */
	memset(z, 0, sizeof(*z));
	if (mdw_number32(err, &w[1], 0, MDT_SURFACE, &z->head) ||
	    mdw_number32(err, &w[2], 0, MDT_CYLINDERS, &first) ||
	    mdw_choice(err, &w[3], directions, &out) ||
	    mdw_number32(err, &w[4], 1, MDT_CYLINDERS, &tracks) ||
	    mdw_number32(err, &w[5], 1, 65535, &z->spt) ||
	    mdw_fraction(err, &w[6], &z->angle) ||
	    mdw_fraction(err, &w[7], &z->skew_cyl))
		return -EINVAL;
	for (i = 8; i < m->words; i++)
		if (mdt_run_option(m, &w[i], z))
			return -EINVAL;
	z->outwards = out;
	if (mdt_run_tracks(m, z, first, tracks))
		return -EINVAL;
	c->runs = true;
	c->zones++;
	return 0;
}

/* Runs that come again */
struct mdt_pattern {
	u32 runs;	/* how many */
	u64 angle;	/* added to their angles each time */
	u32 tracks[MDT_SURFACE + 1];	/* tracks that they have on each surface */
	u32 shift;	/* largest of these: they come again so much further in */
	/* sectors that tracks of a surface have from now on; 0: as before */
	u32 spt[MDT_SURFACE + 1];
};

/* SURFACE=SECTORS, of a surface that the pattern has. */
static int mdt_repeat_option(struct mdt *m, const struct mdw_word *w, struct mdt_pattern *p)
{
	struct mdw_word key, val;
	u32 surface = 0;

	if (!mdw_cut(w, '=', &key, &val))
		return mdw_blame(m->err, w, "is not SURFACE=SECTORS");
	if (mdw_number32(m->err, &key, 0, MDT_SURFACE, &surface))
		return -EINVAL;
	if (!p->tracks[surface])
		return mdw_blame(m->err, &key, "is a surface that the runs do not have");
	return mdw_number32(m->err, &val, 1, 65535, &p->spt[surface]);
}

/* Copy the run that is @p->runs before the end of the list to that end. */
static int mdt_copy_run(struct mdt *m, const struct mdt_pattern *p)
{
	struct mde_config *c = m->cfg;
	struct mde_zone *z;
	int ret = 0;

	z = mdt_new_run(m, &ret);
	if (!z)
		return ret;
	*z = z[-(int)p->runs];
	if (p->shift > MDT_CYLINDERS - z->cyl_last)
		return mdw_fail(m->err, "surface %u has tracks beyond track %u then",
				z->head, MDT_CYLINDERS);
	z->cyl_first += p->shift;
	z->cyl_last += p->shift;
	z->angle += p->angle;
	if (p->spt[z->head])
		z->spt = p->spt[z->head];
	c->zones++;
	return 0;
}

int mdt_repeat_runs(struct mdt *m)
{
	const struct mde_config *c = m->cfg;
	struct mdt_pattern p = { 0 };
	u32 i, times = 0;
	int w, ret = mdt_args(m, 3, MDW_WORDS - 1);

	if (ret)
		return ret;
	if (!c->runs)
		return mdw_fail(m->err, "no run yet");
	if (mdw_number32(m->err, &m->word[1], 1, c->zones, &p.runs) ||
	    mdw_number32(m->err, &m->word[2], 1, MDT_RUNS, &times) ||
	    mdw_fraction(m->err, &m->word[3], &p.angle))
		return -EINVAL;
	for (i = c->zones - p.runs; i < c->zones; i++) {
		u32 *tracks = &p.tracks[c->zone[i].head];

		*tracks += c->zone[i].cyl_last - c->zone[i].cyl_first + 1;
		p.shift = max(p.shift, *tracks);
	}
	for (w = 4; w < m->words; w++)
		if (mdt_repeat_option(m, &m->word[w], &p))
			return -EINVAL;
	for (; !ret && times; times--)
		for (i = 0; !ret && i < p.runs; i++)
			ret = mdt_copy_run(m, &p);
	return ret;
}

/* The last such record counts; see also mdx_check_heads(). */
int mdt_set_displacement(struct mdt *m)
{
	struct mde_config *c = m->cfg;
	u32 i, heads = m->words - 1;
	int ret = mdt_args(m, 1, MDT_SURFACE + 1);

	if (ret)
		return ret;
	mdk_free(c->displacement);
	c->displacements = 0;
	c->displacement = mdk_zalloc(heads * sizeof(*c->displacement));
	if (!c->displacement)
		return -ENOMEM;
	for (i = 0; !ret && i < heads; i++)
		ret = mdw_number32(m->err, &m->word[1 + i], 0, 65535, &c->displacement[i]);
	c->displacements = heads;
	m->displacement_line = m->err->line;
	return ret;
}
