// SPDX-License-Identifier: GPL-2.0
/*
 * How a simulated drive serves commands; see mechdisk_serve.h.
 */
#include "mechdisk_ahead.h"
#include "mechdisk_queue.h"
#include "mechdisk_serve.h"

/* The bus to the host. */

/* A read's way over the bus */
struct mdv_bus {
	struct mde *e;	/* the drive */
	u64 end;	/* the bus has carried what was handed to it so far, ps */
	u32 sectors;	/* how many those were */
	u32 need;	/* the transfer begins when that many are there */
	u64 begin;	/* when it did, ps; 0: not yet */
};

static u64 mdv_bus_ps(const struct mde *e)
{
	return e->cfg->bus_ns * 1000;
}

static void mdv_bus_open(struct mde *e, const struct mde_slot *s,
			 struct mdv_bus *bus)
{
	u64 need = (u64)s->count * e->cfg->bus_watermark_ppm / 1000000;

	bus->e = e;
	bus->end = e->bus_in_free;
	bus->sectors = 0;
	bus->need = max_t(u64, need, 1);
	bus->begin = 0;
}

/* @n sectors come, one each @sector_ps, the first beginning at @start. */
static void mdv_bus_take(void *arg, u64 start, u64 sector_ps, u32 n)
{
	struct mdv_bus *bus = arg;
	u64 ps = mdv_bus_ps(bus->e);
	u64 end;

	if (!n)
		return;
	if (ps <= sector_ps)
		end = start + sector_ps * n + ps;
	else
		end = start + sector_ps + ps * n;
	bus->end = max(end, bus->end + ps * n);
	bus->sectors += n;
	if (!bus->begin && bus->sectors >= bus->need)
		bus->begin = start +
			sector_ps * (n - (bus->sectors - bus->need));
}

/* Sectors that were there already at @t. */
static void mdv_bus_held(struct mdv_bus *bus, u64 t, u32 n)
{
	bus->end = max(bus->end, t) + mdv_bus_ps(bus->e) * n;
	bus->sectors += n;
	if (!bus->begin)
		bus->begin = t;
}

/* The transfer has ended. */
static u64 mdv_bus_close(struct mdv_bus *bus)
{
	u64 least = bus->begin + mdv_bus_ps(bus->e) * bus->sectors;

	if (bus->sectors)
		bus->e->bus_in_free = max(bus->end, least);
	return bus->e->bus_in_free;
}

/* Bad sectors. */

static struct mde_bad *mdv_first_bad(struct mde *e, u64 lbn, u32 count)
{
	struct mde_bad *found = NULL;
	u32 i;

	for (i = 0; i < e->bads; i++) {
		struct mde_bad *b = &e->bad[i];

		if (!b->times || b->lbn >= lbn + count ||
		    b->lbn + b->count <= lbn)
			continue;
		if (!found || b->lbn < found->lbn)
			found = b;
	}
	return found;
}

static void mdv_bad_remove(struct mde *e, u32 i)
{
	e->bad[i] = e->bad[--e->bads];
}

/* A write makes the sectors it covers readable again. */
static void mdv_heal(struct mde *e, u64 lbn, u32 count)
{
	u64 end = lbn + count;
	u32 i = 0;

	while (i < e->bads) {
		struct mde_bad *b = &e->bad[i];
		u64 bad_end = b->lbn + b->count;

		if (b->lbn >= end || bad_end <= lbn) {
			i++;
		} else if (b->lbn >= lbn && bad_end <= end) {
			mdv_bad_remove(e, i);
		} else if (b->lbn < lbn && bad_end > end) {
			struct mde_bad tail = *b;

			b->count = lbn - b->lbn;
			tail.lbn = end;
			tail.count = bad_end - end;
			/* No room for a second part: it heals too. */
			mde_bad_add(e, &tail);
			i++;
		} else if (b->lbn < lbn) {
			b->count = lbn - b->lbn;
			i++;
		} else {
			b->lbn = end;
			b->count = bad_end - end;
			i++;
		}
	}
}

/* When the drive has understood a command, if it turns out to be of a kind. */
u64 mdv_understood(const struct mde *e, const struct mde_slot *s,
		   enum mde_kind kind)
{
	return s->arrived + 1000 * e->cfg->overhead_ns[kind][e->last_write];
}

/* Service. */

/* Bring the head to a piece. */
static u64 mdv_reach(struct mde *e, const struct mdl_piece *p, u64 t, bool write)
{
	bool cyl = e->mech.cyl != p->cyl, head = e->mech.head != p->head;
	u64 ps = mdm_move(&e->mech, p, write);

	if (cyl)
		e->stats.seeks++;
	else if (head)
		e->stats.head_switches++;
	e->stats.seek_ps += ps;
	return t + ps;
}

static void mdv_rotate(struct mde *e, const struct mdl_piece *p, u64 t,
		       bool zero_latency, struct mdm_turn *turn)
{
	u64 pass = mdm_pass(&e->mech, p, p->phys);

	mdm_rotate(&e->mech, p, t, zero_latency, turn);
	e->stats.transfer_ps += pass;
	e->stats.rotate_ps += turn->end - t - pass;
}

/* Hand those of a piece's sectors to the bus that lie in @lbn to @end - 1. */
static void mdv_send(struct mde *e, struct mdv_bus *bus,
		     const struct mdl_piece *p, const struct mdm_turn *turn,
		     u64 lbn, u64 end)
{
	u64 from = max(p->lbn, lbn), to = min(p->lbn + p->lbns, end);
	u64 sector_ps = mdm_pass(&e->mech, p, 1);
	u64 late_start = turn->end - sector_ps * turn->split;
	u32 n, late;

	if (from >= to)
		return;
	/* Slipped sectors pass between the others. */
	n = to - from == p->lbns ? p->phys : to - from;
	late = min(turn->split, n);
	if (!late) {
		mdv_bus_take(bus, turn->start + sector_ps * (from - p->lbn),
			     sector_ps, n);
	} else {
		mdv_bus_take(bus, turn->start, sector_ps, n - late);
		mdv_bus_take(bus, late_start, sector_ps, late);
	}
}

/* Tell the witness, if there is one. */
static void mdv_tell(struct mde *e, enum mde_op op, u64 lbn, u32 count, u64 from,
		     u64 to)
{
	struct mde_pass pass = { .op = op, .lbn = lbn, .count = count };

	if (!e->witness || (!count && op != MDE_FLUSH))
		return;
	pass.from_ns = mde_ns(e, from);
	pass.to_ns = mde_ns(e, to);
	e->witness(e->witness_arg, &pass);
}

static void mdv_count(struct mde *e, const struct mde_slot *s)
{
	struct mde_stats *st = &e->stats;

	switch (s->op) {
	case MDE_READ:
		st->reads++;
		st->fua_reads += !!(s->flags & MDE_FUA);
		st->sectors_read += s->good;
		break;
	case MDE_WRITE:
		st->writes++;
		st->sectors_written += s->good;
		break;
	case MDE_VERIFY:
		st->verifies++;
		st->sectors_verified += s->good;
		break;
	case MDE_FLUSH:
		st->flushes++;
		break;
	}
	if (s->asc)
		st->medium_errors++;
}

/* Where the command ends if one of its sectors cannot be read. */
static u64 mdv_meet_bad(struct mde *e, struct mde_slot *s)
{
	struct mde_bad *bad = s->op == MDE_WRITE ? NULL :
		mdv_first_bad(e, s->lbn, s->count);

	s->good = s->count;
	s->asc = 0;
	if (!bad)
		return 0;
	s->good = bad->lbn > s->lbn ? bad->lbn - s->lbn : 0;
	s->asc = bad->asc;
	s->error = bad->error;
	s->info = bad->info;
	if (bad->times != MDE_ALWAYS)
		bad->times--;
	if (e->recovery_limit_ns && bad->recovery_ns > e->recovery_limit_ns)
		return e->recovery_limit_ns * 1000;
	return bad->recovery_ns * 1000;
}

/* The command's service has begun; its report leaves after @done. */
static void mdv_begun(struct mde *e, struct mde_slot *s, u64 done)
{
	bool write = s->op == MDE_WRITE;

	done += e->cfg->completion_ns[write] * 1000;
	if (e->cfg->jitter_ns)
		done += mdm_random_below(&e->rng_jitter,
					 e->cfg->jitter_ns * 1000 + 1);
	s->report = done;
	e->told = max(e->told, done);
	mdv_count(e, s);
	if (s->op != MDE_FLUSH) {
		e->last_write = write;
		e->last_end = s->lbn + s->count;
	}
	e->queued &= ~mde_bit(e, s);
	e->started |= mde_bit(e, s);
}

/* A command that was at the medium: its report follows those before it. */
static void mdv_ended(struct mde *e, struct mde_slot *s, u64 done)
{
	mdv_begun(e, s, done);
	s->report = max(s->report, e->last_report);
	e->last_report = s->report;
	e->told = max(e->told, s->report);
	e->passed = s->media_end;
	e->media_free = e->cfg->early_seek ? s->media_end : s->report;
	e->stats.busy_ps += s->media_end - s->started;
	if (s->op == MDE_READ)
		e->stats.read_busy_ps += s->media_end - s->started;
}

/* Sectors that a job takes off or puts on the medium */
struct mdv_span {
	u64 lbn;	/* first LBN wanted */
	u64 end;	/* LBN after the last one wanted */
	u64 from;	/* where the medium access begins: @lbn, or its physical block's first */
	u64 to;	/* where it ends */
	bool write;	/* direction */
	bool in_order;	/* up to a bad sector the drive reads in order, for retries */
	u64 bus_start;	/* a write's data begin to arrive, ps */
	struct mdv_bus *bus;	/* where a read's data go, or NULL */
	u64 at;	/* out: the head was on the first track, ps */
	struct mdm_turn turn;	/* out: the first piece's */
	struct mdl_piece last;	/* out: the last piece */
};

/* Widen a span to whole physical blocks. */
static void mdv_widen(const struct mde_config *c, struct mdv_span *x)
{
	u64 mask = (1ULL << c->physical_exponent) - 1;

	x->from = x->lbn & ~mask;
	x->to = min((x->end + mask) & ~mask, c->sectors);
}

/* A write that covers a physical block in part reads it first, a turn before. */
static u64 mdv_read_first(const struct mde *e, const struct mdv_span *x,
			  const struct mdl_piece *p)
{
	bool front = x->from != x->lbn && p->lbn == x->from;
	bool back = x->to != x->end && p->lbn + p->lbns == x->to;

	return x->write && (front || back) ? e->mech.period : 0;
}

/* One piece of a span; returns when it has passed. */
static u64 mdv_piece(struct mde *e, struct mdv_span *x, const struct mdl_piece *p,
		     u64 t, struct mdm_turn *turn)
{
	bool first = p->lbn == x->from;
	u32 all = x->to - x->from, at = p->lbn - x->from;

	t = mdv_reach(e, p, t, x->write);
	if (first)
		x->at = t;
	if (x->write)
		t = max(t, mdq_data_ready(e, x->bus_start, at, p->lbns, all,
					  mdm_pass(&e->mech, p, 1)));
	mdv_rotate(e, p, t, e->cfg->zero_latency && !x->in_order, turn);
	if (x->bus)
		mdv_send(e, x->bus, p, turn, x->lbn, x->end);
	return turn->end + mdv_read_first(e, x, p);
}

/* Take a span off the medium or put it there, from @t on; returns the end. */
static u64 mdv_transfer(struct mde *e, struct mdv_span *x, u64 t)
{
	struct mdm_turn turn;
	u64 lbn = x->from;

	while (lbn < x->to) {
		mdl_locate(e->cfg, lbn, min_t(u64, x->to - lbn, U32_MAX), &x->last);
		t = mdv_piece(e, x, &x->last, t, &turn);
		if (lbn == x->from)
			x->turn = turn;
		lbn += x->last.lbns;
	}
	return t;
}

/* With seek noise a sector can slip by: the first track took a turn more. */
static void mdv_count_turn(struct mde *e, const struct mde_slot *s, u64 nominal,
			   const struct mdv_span *x)
{
	if (nominal && x->turn.end > s->started + nominal + e->mech.period / 2)
		e->stats.extra_turns++;
}

/* Without noise, when the first piece of a command has passed, from @t; or 0. */
static u64 mdv_nominal(const struct mde *e, const struct mde_slot *s, u64 t)
{
	if (e->cfg->noise == MDE_NOISE_OFF && !e->cfg->outlier_ppm)
		return 0;
	return mdq_position_ps(e, &s->first, t, s->op == MDE_WRITE, s->bus_start,
			       U64_MAX) +
		mdm_pass(&e->mech, &s->first, s->first.phys);
}

/* The way of a read's data into the cache, and on from there. */

/* Sectors that passed before the first wanted one are worth keeping. */
static u64 mdv_passed_before(const struct mde *e, const struct mdv_span *x)
{
	struct mdl_piece p;
	u64 lbn, n;

	mdl_locate(e->cfg, x->from, 1, &p);
	if (!e->cfg->keep_passing || p.remapped)
		return x->from;
	/* After a landing inside the request, the rest of the turn. */
	n = x->turn.split ? p.sector :
		(x->turn.start - x->at) * p.spt / e->mech.period;
	n = min_t(u64, n, p.sector);
	if (mdl_lbn_at(e->cfg, p.cyl, p.head, p.sector - n, &lbn) || lbn > x->from)
		return x->from;
	return lbn;
}

static bool mdv_triggers(const struct mde *e, const struct mdl_piece *first)
{
	const struct mdl_piece *last = &e->last_read;

	if (e->cfg->ahead_trigger == MDE_TRIGGER_ANY)
		return true;
	return last->lbns && first->cyl == last->cyl &&
		first->head == last->head && first->lbn >= last->lbn + last->lbns;
}

/* The beginning of reading on, which goes on whoever waits. */
static void mdv_read_least(struct mde *e, struct mdb_segment *g)
{
	u64 end = min(g->end + e->cfg->ahead_least, e->ahead.limit);

	g->filled = mda_ride(e, end, NULL, NULL);
	e->media_free = max(e->media_free, g->filled);
}

/* Read on from a segment's end, if the drive does. */
static void mdv_read_on(struct mde *e, struct mdb_segment *g, u64 end, u64 t)
{
	u64 limit;

	/* Working out how far it would go takes time. */
	if (e->queued && e->media_free <= t && !e->cfg->ahead_least)
		return;
	limit = mda_limit(e, g, end);
	if (e->queued && e->cfg->ahead_least)
		limit = min(limit, g->end + e->cfg->ahead_least);
	if (limit <= g->end)
		return;
	mda_begin(e, g, limit, t);
	if (e->cfg->ahead_least)
		mdv_read_least(e, g);
	if (e->queued)
		mda_stop(e, e->media_free);
}

/* Whole blocks came off the medium; what is behind a bad sector is not kept. */
static u64 mdv_kept_end(struct mde *e, const struct mde_slot *s,
			const struct mdv_span *x)
{
	u64 end = s->lbn + s->good;
	const struct mde_bad *bad;

	if (s->asc || x->to <= end)
		return end;
	bad = mdv_first_bad(e, end, x->to - end);
	return bad ? bad->lbn : x->to;
}

/* Keep what a read took off the medium. */
static void mdv_keep(struct mde *e, struct mde_slot *s, struct mdb_segment *g,
		     const struct mdv_span *x)
{
	struct mdl_piece first = s->first;
	bool triggers = mdv_triggers(e, &first);

	e->last_read = x->last;
	if (!g)
		return;
	if (!s->held)
		g->start = min(g->start, mdv_passed_before(e, x));
	mdb_extend(&e->cache, g, mdv_kept_end(e, s, x));
	g->filled = s->media_end;
	if (e->cfg->discard_read)
		g->start = g->end;
	if (!s->asc && triggers)
		mdv_read_on(e, g, g->end, s->media_end);
}

static void mdv_serve_read(struct mde *e, struct mde_slot *s, u64 t)
{
	struct mdb_segment *g = mdq_answer(e, s);
	u64 nominal = mdv_nominal(e, s, t);
	u64 recovery = mdv_meet_bad(e, s);
	struct mdv_span x = { .in_order = s->asc };
	struct mdv_bus bus;

	s->held = g ? mdb_held(g, s->lbn, s->good) : 0;
	s->kind = MDE_READ_MISS;
	if (s->held)
		e->stats.partial_hits++;
	else if (s->op == MDE_READ && e->cache.segments)
		g = mdb_take(&e->cache, s->lbn);
	else
		g = NULL;
	x.lbn = s->lbn + s->held;
	x.end = s->lbn + min(s->good + (s->asc ? 1 : 0), s->count);
	mdv_widen(e->cfg, &x);
	mdv_bus_open(e, s, &bus);
	x.bus = s->op == MDE_READ ? &bus : NULL;
	if (s->held && x.bus)
		mdv_bus_held(&bus, mdv_understood(e, s, MDE_READ_HIT), s->held);
	s->media_end = mdv_transfer(e, &x, t) + recovery;
	mdv_count_turn(e, s, nominal, &x);
	mdv_tell(e, s->op, x.lbn, s->good - s->held, t, s->media_end);
	mdv_ended(e, s, x.bus ? max(s->media_end, mdv_bus_close(&bus)) :
		  s->media_end);
	if (s->op == MDE_READ && e->cache.segments)
		mdv_keep(e, s, g, &x);
}

/* A write changes what the cache holds. */
static void mdv_keep_written(struct mde *e, const struct mde_slot *s)
{
	struct mdb_segment *g;

	mdb_forget(&e->cache, NULL, s->lbn, s->count);
	g = mdb_take(&e->cache, s->lbn);
	if (!g)
		return;
	g->written = true;
	g->filled = s->media_end;
	mdb_extend(&e->cache, g, s->lbn + s->count);
}

static void mdv_serve_write(struct mde *e, struct mde_slot *s, u64 t)
{
	struct mdv_span x = {
		.lbn = s->lbn, .end = s->lbn + s->count, .write = true,
		.bus_start = s->bus_start,
	};
	u64 nominal = mdv_nominal(e, s, t);

	s->kind = MDE_WRITE_MISS;
	s->good = s->count;
	s->asc = 0;
	mdv_widen(e->cfg, &x);
	s->media_end = mdv_transfer(e, &x, t);
	mdv_count_turn(e, s, nominal, &x);
	mdv_tell(e, MDE_WRITE, s->lbn, s->count, t, s->media_end);
	mdv_heal(e, s->lbn, s->count);
	mdv_ended(e, s, s->media_end);
	if (e->cache.segments)
		mdv_keep_written(e, s);
}

/* Cached data go to the medium. */
void mdv_destage(struct mde *e, struct mdb_segment *g, u64 t)
{
	struct mdv_span x = {
		.lbn = g->dirty, .end = g->end, .write = true,
		.bus_start = g->bus_start,
	};

	mdv_widen(e->cfg, &x);
	g->writing = g->end;
	e->media_free = mdv_transfer(e, &x, t);
	e->passed = e->media_free;
	e->destaging = g;
	mdv_heal(e, x.lbn, x.end - x.lbn);
	mdv_tell(e, MDE_WRITE, x.lbn, x.end - x.lbn, t, e->media_free);
	e->stats.destages++;
	e->stats.busy_ps += e->media_free - t;
	e->last_end = x.end;
}

/* What was being written has been. */
void mdv_settle(struct mde *e)
{
	e->destaging->dirty = e->destaging->writing;
	/* What joined meanwhile is a job of its own. */
	if (mdb_is_dirty(e->destaging)) {
		e->destaging->arrived = e->destaging->next_arrived;
		e->destaging->seq = e->destaging->next_seq;
	}
	e->destaging->ready = max(e->destaging->ready, e->media_free);
	e->destaging->bus_start = max(e->destaging->bus_start,
				      e->destaging->bus_next);
	e->clock = max(e->clock, e->media_free);
	e->destaging = NULL;
}

/* Commands that the medium has nothing to do with. */

static void mdv_serve_hit(struct mde *e, struct mde_slot *s, u64 t)
{
	struct mdb_segment *g = mdq_answer(e, s);
	u64 end = s->lbn + s->count;
	u64 done = max(t, mdv_understood(e, s, MDE_READ_HIT));

	/* Its sectors may still be on their way off the medium, or the bus. */
	done = max(done, g->filled);
	s->kind = MDE_READ_HIT;
	s->held = s->count;
	s->good = s->count;
	s->asc = 0;
	if (s->op == MDE_READ) {
		done = max(done, e->hit_bus_free) + mdv_bus_ps(e) * s->count;
		e->hit_bus_free = done;
	}
	s->media_end = done;
	mdb_touch(&e->cache, g);
	e->stats.read_hits++;
	mdv_begun(e, s, done);
	if (g == e->ahead.segment) {
		mda_further(e, end);
	} else {
		mda_stop(e, max(t, e->media_free));
		if (e->cfg->ahead_on_hit && !mdb_is_dirty(g) && e->media_free <= t)
			mdv_read_on(e, g, end, max(t, s->ready));
	}
	if (e->cfg->discard_read && !mdb_is_dirty(g))
		g->start = max(g->start, min(end, g->end));
}

/*
 * A write joins a dirty segment.  Its data come later than those before them:
 * what goes to the medium in one piece must have begun to arrive late enough.
 */
static void mdv_join(struct mde *e, struct mdb_segment *g, const struct mde_slot *s)
{
	u64 from = g == e->destaging ? g->writing : g->dirty;
	u64 before = mdv_bus_ps(e) * (s->lbn - from);
	u64 began = s->bus_start - min(before, s->bus_start);
	u64 *start = g == e->destaging ? &g->bus_next : &g->bus_start;

	*start = max(*start, began);
	if (g == e->destaging && g->end == g->writing) {
		g->next_arrived = s->arrived;
		g->next_seq = s->seq;
	}
	if (s->lbn + s->count > g->end)
		mdb_extend(&e->cache, g, s->lbn + s->count);
}

static void mdv_serve_cached_write(struct mde *e, struct mde_slot *s, u64 t)
{
	struct mdb_segment *g;
	u64 end = s->lbn + s->count;

	/* Without room the drive cannot have taken the data. */
	s->bus_start = max(s->bus_start, t);
	mdq_room(e, s, &g);
	mdb_forget(&e->cache, g, s->lbn, s->count);
	if (!g) {
		g = mdb_take(&e->cache, s->lbn);
		g->written = true;
		g->dirty = s->lbn;
		g->writing = s->lbn;
		g->end = end;
		g->arrived = s->arrived;
		g->seq = s->seq;
		g->ready = s->ready;
		g->bus_start = s->bus_start;
	} else {
		mdv_join(e, g, s);
	}
	s->kind = MDE_WRITE_HIT;
	s->held = s->count;
	s->good = s->count;
	s->asc = 0;
	s->media_end = s->bus_start + mdv_bus_ps(e) * s->count;
	e->bus_out_free = max(e->bus_out_free, s->media_end);
	g->filled = s->media_end;
	e->stats.cached_writes++;
	mdv_begun(e, s, s->media_end);
}

static void mdv_serve_flush(struct mde *e, struct mde_slot *s, u64 t)
{
	s->good = 0;
	s->asc = 0;
	s->media_end = t;
	mdv_begun(e, s, t);
	mdv_tell(e, MDE_FLUSH, 0, 0, s->arrived, s->report);
}

void mdv_serve(struct mde *e, struct mde_slot *s, u64 t)
{
	s->started = t;
	if (s->op == MDE_FLUSH)
		mdv_serve_flush(e, s, t);
	else if (s->cacheable)
		mdv_serve_cached_write(e, s, t);
	else if (s->op == MDE_WRITE)
		mdv_serve_write(e, s, t);
	else if (!e->plain && mdq_answered(e, s))
		mdv_serve_hit(e, s, t);
	else
		mdv_serve_read(e, s, t);
}

/* The rest of a read is what the drive is reading on: go along with it. */
bool mdv_ride(struct mde *e, struct mde_slot *s, u64 now)
{
	struct mdb_segment *g = e->ahead.segment;
	u32 held = g && mdq_answer(e, s) == g ? mdb_held(g, s->lbn, s->count) : 0;
	bool front = g && e->cfg->ahead_join && s->lbn == g->end &&
		e->ahead.positioned && s->op == MDE_READ && !(s->flags & MDE_FUA);
	u64 end = s->lbn + s->count;
	struct mdv_bus bus;

	if ((!held && !front) || (e->queued & ~mde_bit(e, s)) || e->media_free > now ||
	    mdv_first_bad(e, s->lbn, s->count))
		return false;
	s->started = now;
	s->kind = MDE_READ_MISS;
	s->held = held;
	s->good = s->count;
	s->asc = 0;
	mdv_bus_open(e, s, &bus);
	if (held)
		mdv_bus_held(&bus, mdv_understood(e, s, MDE_READ_HIT), held);
	s->media_end = mda_ride(e, end, mdv_bus_take, &bus);
	mdv_tell(e, s->op, s->lbn + held, s->count - held, now, s->media_end);
	e->stats.partial_hits++;
	g->filled = s->media_end;
	mdb_touch(&e->cache, g);
	mdv_ended(e, s, s->op == MDE_READ ?
		  max(s->media_end, mdv_bus_close(&bus)) : s->media_end);
	mda_further(e, end);
	return true;
}
