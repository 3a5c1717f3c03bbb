// SPDX-License-Identifier: GPL-2.0
/*
 * Reading on; see mechdisk_ahead.h.
 */
#include "mechdisk_ahead.h"

/* First LBN on the track of @lbn. */
static u64 mda_track_first(const struct mde_config *c, u64 lbn)
{
	struct mdl_piece p;
	u64 first = lbn;
	u32 s;

	mdl_locate(c, lbn, 1, &p);
	for (s = 0; s < p.spt; s++)
		if (!mdl_lbn_at(c, p.cyl, p.head, s, &first))
			break;
	return first;
}

/* LBN after the last one on the track of @lbn. */
static u64 mda_track_end(const struct mde_config *c, u64 lbn)
{
	struct mdl_piece p;
	u32 cyl, head;

	mdl_locate(c, lbn, U32_MAX, &p);
	cyl = p.cyl;
	head = p.head;
	for (; lbn < c->sectors; lbn += p.lbns) {
		mdl_locate(c, lbn, U32_MAX, &p);
		if ((p.cyl != cyl || p.head != head) && !p.remapped)
			break;
	}
	return lbn;
}

static u64 mda_cylinder_end(const struct mde_config *c, u64 lbn)
{
	struct mdl_piece p;
	u32 cyl;

	mdl_locate(c, lbn, U32_MAX, &p);
	for (cyl = p.cyl; lbn < c->sectors; lbn += p.lbns) {
		mdl_locate(c, lbn, U32_MAX, &p);
		if (p.cyl != cyl && !p.remapped)
			break;
	}
	return lbn;
}

/* To the end of the track, and of the next one if the stream came from before. */
static u64 mda_stream_end(const struct mde_config *c, const struct mdb_segment *s,
			  u64 lbn)
{
	u64 end = mda_track_end(c, lbn);

	if (end < c->sectors && s->start < mda_track_first(c, lbn))
		end = mda_track_end(c, end);
	return end;
}

u64 mda_limit(const struct mde *e, const struct mdb_segment *s, u64 end)
{
	const struct mde_config *c = e->cfg;
	u64 limit = end;

	if (!e->caching.read_cache || !e->caching.look_ahead || end >= c->sectors)
		return end;
	switch (c->ahead) {
	case MDE_AHEAD_TRACK:
		limit = mda_track_end(c, end - 1);
		break;
	case MDE_AHEAD_CYLINDER:
		limit = mda_cylinder_end(c, end - 1);
		break;
	case MDE_AHEAD_SEGMENT:
		limit = c->ahead_sectors ? end + c->ahead_sectors :
			max(end, s->start + c->segment_sectors);
		break;
	case MDE_AHEAD_STREAM:
		limit = mda_stream_end(c, s, end);
		break;
	}
	return min(limit, c->sectors);
}

/* A bad sector ends reading on: nobody has asked for it. */
static u64 mda_before_bad(const struct mde *e, u64 from, u64 limit)
{
	u32 i;

	for (i = 0; i < e->bads; i++) {
		const struct mde_bad *b = &e->bad[i];

		if (b->times && b->lbn < limit && b->lbn + b->count > from)
			limit = max(b->lbn, from);
	}
	return limit;
}

void mda_further(struct mde *e, u64 end)
{
	struct mde_ahead_run *a = &e->ahead;
	u64 limit = mda_limit(e, a->segment, end);

	a->limit = max(a->limit, mda_before_bad(e, a->next, limit));
}

void mda_begin(struct mde *e, struct mdb_segment *s, u64 limit, u64 t)
{
	struct mde_ahead_run *a = &e->ahead;

	a->segment = s;
	a->next = s->end;
	a->limit = mda_before_bad(e, s->end, limit);
	a->t = t;
	a->positioned = false;
}

/* Go for the next piece; false if there is none. */
static bool mda_position(struct mde *e)
{
	struct mde_ahead_run *a = &e->ahead;
	struct mdm_turn turn;
	u64 left;

	if (a->positioned)
		return true;
	if (a->next >= a->limit)
		return false;
	left = a->limit - a->next;
	mdl_locate(e->cfg, a->next, min_t(u64, left, U32_MAX), &a->piece);
	a->arrive = a->t + mdm_move(&e->mech, &a->piece, false);
	mdm_rotate(&e->mech, &a->piece, a->arrive, false, &turn);
	a->start = turn.start;
	a->positioned = true;
	return true;
}

static u64 mda_piece_end(const struct mde *e)
{
	return e->ahead.start +
		mdm_pass(&e->mech, &e->ahead.piece, e->ahead.piece.phys);
}

/* Sectors that the head passes over for the first @lbns of a piece. */
static u32 mda_phys(const struct mdl_piece *p, u32 lbns)
{
	return lbns == p->lbns ? p->phys : lbns;
}

/* LBNs of the current piece that have passed at @t. */
static u32 mda_passed(const struct mde *e, u64 t)
{
	const struct mde_ahead_run *a = &e->ahead;
	u64 sectors;

	if (t <= a->start)
		return 0;
	sectors = (t - a->start) * a->piece.spt / e->mech.period;
	if (sectors >= a->piece.phys)
		return a->piece.lbns;
	return sectors * a->piece.lbns / a->piece.phys;
}

static void mda_got(struct mde *e, u64 end)
{
	if (end > e->ahead.segment->end)
		mdb_extend(&e->cache, e->ahead.segment, end);
}

void mda_run(struct mde *e, u64 t)
{
	struct mde_ahead_run *a = &e->ahead;

	if (!a->segment)
		return;
	while (a->positioned || t > a->t) {
		u64 end;

		if (!mda_position(e)) {
			a->segment = NULL;
			return;
		}
		end = mda_piece_end(e);
		if (t < end) {
			mda_got(e, a->piece.lbn + mda_passed(e, t));
			return;
		}
		a->next = a->piece.lbn + a->piece.lbns;
		mda_got(e, a->next);
		a->t = end;
		a->positioned = false;
	}
}

/* When the head can leave the piece it is on. */
static u64 mda_leave(const struct mde *e, u64 t)
{
	const struct mde_ahead_run *a = &e->ahead;
	u64 sector_end;

	if (t < a->arrive)
		return a->arrive;
	if (t <= a->start || e->cfg->ahead_stops_at_once)
		return t;
	sector_end = (t - a->start) * a->piece.spt / e->mech.period + 1;
	return a->start + mdm_pass(&e->mech, &a->piece, sector_end);
}

void mda_stop(struct mde *e, u64 t)
{
	struct mde_ahead_run *a = &e->ahead;

	mda_run(e, t);
	if (a->segment && a->positioned) {
		u64 leave = mda_leave(e, t);

		mda_got(e, a->piece.lbn + mda_passed(e, leave));
		e->media_free = max(e->media_free, leave);
	}
	a->segment = NULL;
}

u64 mda_ride(struct mde *e, u64 end,
	     void (*took)(void *arg, u64 start, u64 sector_ps, u32 n), void *arg)
{
	struct mde_ahead_run *a = &e->ahead;
	u64 t = a->t;

	a->limit = max(a->limit, end);
	while (a->segment->end < end && mda_position(e)) {
		u64 from = a->segment->end - a->piece.lbn;
		u64 to = min(end - a->piece.lbn, (u64)a->piece.lbns);
		u64 start = a->start + mdm_pass(&e->mech, &a->piece, from);

		if (took)
			took(arg, start, mdm_pass(&e->mech, &a->piece, 1), to - from);
		t = a->start + mdm_pass(&e->mech, &a->piece,
					mda_phys(&a->piece, to));
		mdb_extend(&e->cache, a->segment, a->piece.lbn + to);
		if (to < a->piece.lbns)
			break;
		a->next = a->piece.lbn + a->piece.lbns;
		a->t = t;
		a->positioned = false;
	}
	return t;
}
