// SPDX-License-Identifier: GPL-2.0
/*
 * What a simulated drive does next; see mechdisk_queue.h.
 */
#include "mechdisk_queue.h"

/*
 * Costs: jobs that have waited for too long, by age; then all the others, those of SPTF around
 * MDQ_YOUNG, for age makes them cheaper.
 */
#define MDQ_OLD		0x1000000000000000ULL
#define MDQ_YOUNG	0x4000000000000000ULL

/* When the head may begin to write sectors @from .. @from + @n - 1 of a write. */
u64 mdq_data_ready(const struct mde *e, u64 bus_start, u32 from, u32 n,
		   u32 all, u64 sector_ps)
{
	u64 bus = e->cfg->bus_ns * 1000;
	u64 last;

	/* The head may land anywhere. */
	if (e->cfg->zero_latency)
		return bus_start + bus * all;
	last = bus_start + bus * (from + n);
	if (bus <= sector_ps)
		return bus_start + bus * (from + 1);
	return last - min(last, sector_ps * (n - 1));
}

/* Time from @t until a piece has passed, less the time it takes to pass, ps. */
u64 mdq_position_ps(const struct mde *e, const struct mdl_piece *p, u64 t,
		    bool write, u64 bus_start, u64 best)
{
	struct mdm_turn turn;
	u64 at = mdm_reach(&e->mech, p, write);

	if (at > best)
		return at;
	at += t;
	if (write)
		at = max(at, mdq_data_ready(e, bus_start, 0, p->lbns, p->lbns,
					    mdm_pass(&e->mech, p, 1)));
	mdm_rotate(&e->mech, p, at, e->cfg->zero_latency, &turn);
	return turn.end - mdm_pass(&e->mech, p, p->phys) - t;
}

/*
 * Positioning time of a job.  A drive whose arm waits for the report has ranked
 * its jobs when the last sector had passed, and does not think of the bus.
 */
static u64 mdq_position_job(const struct mde *e, const struct mdq_job *j, u64 t,
			    u64 best)
{
	const struct mde_slot *s = j->slot;
	const struct mdb_segment *g = j->segment;
	bool write = !s || s->op == MDE_WRITE;
	u64 bus_start = s ? s->bus_start : g->bus_start;

	if (!e->cfg->early_seek && t == e->media_free) {
		t = e->passed;
		bus_start = 0;
	}
	return mdq_position_ps(e, s ? &s->first : &g->first, t, write, bus_start,
			       best);
}

/* How many commands came before it. */
static u64 mdq_came(const struct mdq_job *j)
{
	return j->slot ? j->slot->seq : j->segment->seq;
}

/* How long it has waited at @t, ps. */
static u64 mdq_waited(const struct mdq_job *j, u64 t)
{
	u64 arrived = j->slot ? j->slot->arrived : j->segment->arrived;

	return t - min(arrived, t);
}

static bool mdq_overdue(const struct mde *e, const struct mdq_job *j, u64 t)
{
	return e->cfg->bound_ms && mdq_waited(j, t) >= e->cfg->bound_ms * 1000000000;
}

/*
 * Aged shortest positioning time first: the time less a share of the wait (Jacobson and Wilkes,
 * "Disk scheduling algorithms based on rotational position", 1991).
 */
static u64 mdq_cost_sptf(const struct mde *e, const struct mdq_job *j, u64 t, u64 best)
{
	u64 least = MDQ_YOUNG - min(mul_u64_u64_shr(mdq_waited(j, t), e->ageing, 32),
				    MDQ_YOUNG - MDQ_OLD);

	if (best < least)
		return least;
	return least + mdq_position_job(e, j, t, best - least);
}

/* What the policy wants least of; jobs that came first win ties. */
static u64 mdq_cost(const struct mde *e, const struct mdq_job *j, u64 t, u64 best)
{
	const struct mde_slot *s = j->slot;
	u64 lbn = s ? s->lbn : j->segment->dirty;

	if (mdq_overdue(e, j, t))
		return MDQ_OLD - min(mdq_waited(j, t), MDQ_OLD);
	switch (e->cfg->firmware) {
	case MDE_SPTF:
		return mdq_cost_sptf(e, j, t, best);
	case MDE_CLOOK:
		return MDQ_OLD + (lbn >= e->last_end ? lbn - e->last_end : lbn + MDQ_YOUNG);
	case MDE_SSTF:
		return MDQ_OLD + (lbn >= e->last_end ? lbn - e->last_end : e->last_end - lbn);
	default:
		return mdq_came(j);
	}
}

bool mdq_cacheable(const struct mde *e, const struct mde_slot *s)
{
	return s->op == MDE_WRITE && e->caching.write_cache &&
		!(s->flags & MDE_FUA) && e->cfg->write_segments &&
		s->count <= e->cache.sectors;
}

/* The segment that can answer a command's first sectors, or NULL. */
struct mdb_segment *mdq_answer(struct mde *e, const struct mde_slot *s)
{
	bool looks = s->op == MDE_READ ||
		(s->op == MDE_VERIFY && e->cfg->verify == MDE_VERIFY_CACHE);

	if (!looks || (s->flags & MDE_FUA && !e->cfg->fua_cached) || !e->caching.read_cache)
		return NULL;
	return mdb_find(&e->cache, s->lbn, s->count, e->cfg->written_hits);
}

bool mdq_answered(struct mde *e, const struct mde_slot *s)
{
	struct mdb_segment *g = mdq_answer(e, s);

	return g && mdb_held(g, s->lbn, s->count) == s->count;
}

/* A flush that waits for what is dirty must not wait for what joins it, too. */
static bool mdq_flush_waits(const struct mde *e)
{
	u32 left;

	for (left = e->queued; left; left &= left - 1)
		if (e->slot[mdk_lowest(left)].op == MDE_FLUSH)
			return true;
	return false;
}

/* Whether a cached write finds room: @into is the segment it joins, if any. */
bool mdq_room(struct mde *e, const struct mde_slot *s,
	      struct mdb_segment **into)
{
	struct mdb_segment *g = mdb_dirty_overlap(&e->cache, s->lbn, s->count);
	u32 dirty = mdb_dirty_segments(&e->cache);

	*into = g;
	if (g)
		return g != e->destaging && s->lbn >= g->dirty &&
			s->lbn + s->count <= g->end;
	if (e->cfg->append_writes && !mdq_flush_waits(e))
		*into = mdb_continues(&e->cache, s->lbn, s->count);
	if (*into)
		return true;
	if (dirty && e->cfg->write_cache == MDE_WRITE_STREAM)
		return false;
	return dirty < e->cfg->write_segments;
}

/* Whether a command must wait until cached data are on the medium. */
bool mdq_blocked(struct mde *e, const struct mde_slot *s)
{
	struct mdb_segment *g;
	u32 i;

	if (!e->cfg->write_segments)
		return false;
	if (s->op == MDE_FLUSH) {
		for (i = 0; i < e->cache.segments; i++) {
			g = &e->cache.segment[i];
			if (mdb_is_dirty(g) && g->arrived <= s->arrived)
				return true;
		}
		return false;
	}
	if (s->cacheable)
		return !mdq_room(e, s, &g);
	return !mdq_answered(e, s) &&
		mdb_dirty_overlap(&e->cache, s->lbn, s->count);
}

bool mdq_runs_alone(const struct mde_slot *s)
{
	return s->op == MDE_FLUSH || s->op == MDE_VERIFY;
}

/* When the commands have ended that a command must not run beside. */
u64 mdq_barrier(const struct mde *e, const struct mde_slot *s)
{
	u32 left = e->queued | e->started | e->reporting;
	u64 t;

	if (e->cfg->queueing != MDE_NCQ)
		return 0;
	t = mdq_runs_alone(s) ? e->ended : e->ended_alone;
	for (; left; left &= left - 1) {
		const struct mde_slot *o = &e->slot[mdk_lowest(left)];

		if (o->seq >= s->seq ||
		    (!mdq_runs_alone(s) && !mdq_runs_alone(o)))
			continue;
		if (e->queued & mde_bit(e, o))
			return MDE_NEVER;
		t = max(t, o->report);
	}
	return t;
}

/* When a queued command can start; MDE_NEVER: something else has to come first. */
static u64 mdq_earliest(struct mde *e, const struct mde_slot *s, bool needs_medium)
{
	u64 t;

	if (mdq_blocked(e, s))
		return MDE_NEVER;
	t = mdq_barrier(e, s);
	if (t == MDE_NEVER)
		return t;
	/* What it waited for, or what can answer it, was not there before. */
	t = max(max(t, s->ready), e->clock);
	return needs_medium ? max(t, e->media_free) : t;
}

/* Think a queued command over, once after each change. */
static void mdq_consider(struct mde *e, struct mde_slot *s)
{
	if (s->considered == e->changes)
		return;
	s->considered = e->changes;
	s->needs_medium = s->op != MDE_FLUSH && !s->cacheable &&
		!mdq_answered(e, s);
	s->start = mdq_earliest(e, s, s->needs_medium);
}

bool mdq_needs_medium(struct mde *e, struct mde_slot *s)
{
	if (e->plain)
		return s->op != MDE_FLUSH;
	mdq_consider(e, s);
	return s->needs_medium;
}

static u64 mdq_slot_start(struct mde *e, struct mde_slot *s)
{
	if (e->plain)
		return max(s->ready, e->media_free);
	mdq_consider(e, s);
	return s->start;
}

/*
 * When cached data can be written; MDE_NEVER if there are none. A drive may hold them back for
 * a while, in case more of them come, but not while a command waits for them (@pressed).
 */
static u64 mdq_segment_start(const struct mde *e, const struct mdb_segment *g, bool pressed)
{
	u64 hold = pressed ? 0 : e->cfg->destage_delay_ns * 1000;

	if (!mdb_is_dirty(g) || g == e->destaging)
		return MDE_NEVER;
	return max(max(g->ready, g->arrived + hold), e->media_free);
}

/* When the next job can start, ps; MDE_NEVER if there is none. */
u64 mdq_next_start(struct mde *e)
{
	u64 t = MDE_NEVER, start;
	bool pressed = false;
	u32 left, i;

	for (left = e->queued; left; left &= left - 1) {
		start = mdq_slot_start(e, &e->slot[mdk_lowest(left)]);
		pressed |= start == MDE_NEVER;
		t = min(t, start);
	}
	if (e->plain)
		return t;
	for (i = 0; i < e->cache.segments; i++)
		t = min(t, mdq_segment_start(e, &e->cache.segment[i], pressed));
	/* What has been written may be what a command waits for, or was joined. */
	if (e->destaging)
		t = min(t, e->media_free);
	return t;
}

/* Consider one more job for the medium. */
static void mdq_weigh(struct mde *e, const struct mdq_job *j, u64 t,
		      struct mdq_job *chosen, u64 *best)
{
	bool any = chosen->slot || chosen->segment;
	u64 cost = mdq_cost(e, j, t, any ? *best : U64_MAX);

	if (any && (cost > *best ||
		    (cost == *best && mdq_came(j) >= mdq_came(chosen))))
		return;
	*best = cost;
	*chosen = *j;
}

/* Cached data that are written when idle let commands go first, but not for ever. */
static void mdq_choose_segment(struct mde *e, u64 t, bool pressed,
			       struct mdq_job *chosen, u64 *best)
{
	bool yields = e->cfg->destage == MDE_DESTAGE_IDLE && chosen->slot && !pressed;
	struct mdq_job j = { NULL, NULL };
	u32 i;

	for (i = 0; i < e->cache.segments; i++) {
		j.segment = &e->cache.segment[i];
		if (mdq_segment_start(e, j.segment, pressed) > t ||
		    (yields && !mdq_overdue(e, &j, t)))
			continue;
		mdl_locate(e->cfg, j.segment->dirty,
			   j.segment->end - j.segment->dirty, &j.segment->first);
		mdq_weigh(e, &j, t, chosen, best);
	}
}

u64 mdq_next_immediate(struct mde *e)
{
	u64 t = MDE_NEVER;
	u32 left;

	for (left = e->queued; left; left &= left - 1) {
		struct mde_slot *s = &e->slot[mdk_lowest(left)];

		if (!mdq_needs_medium(e, s))
			t = min(t, mdq_slot_start(e, s));
	}
	return t;
}

/* Of the commands that the medium has nothing to do with the oldest, or NULL. */
static struct mde_slot *mdq_immediate(struct mde *e, u64 t)
{
	struct mde_slot *found = NULL;
	u32 left;

	for (left = e->queued; left; left &= left - 1) {
		struct mde_slot *s = &e->slot[mdk_lowest(left)];

		if (mdq_needs_medium(e, s) || mdq_slot_start(e, s) > t)
			continue;
		if (!found || s->seq < found->seq)
			found = s;
	}
	return found;
}

void mdq_choose(struct mde *e, u64 t, struct mdq_job *chosen)
{
	struct mdq_job j = { NULL, NULL };
	bool pressed = false;
	u64 best = U64_MAX;
	u32 left;

	*chosen = j;
	if (!e->plain)
		chosen->slot = mdq_immediate(e, t);
	if (chosen->slot)
		return;
	for (left = e->queued; left; left &= left - 1) {
		u64 start;

		j.slot = &e->slot[mdk_lowest(left)];
		start = mdq_slot_start(e, j.slot);
		pressed |= start == MDE_NEVER;
		if (start <= t)
			mdq_weigh(e, &j, t, chosen, &best);
	}
	if (!e->plain)
		mdq_choose_segment(e, t, pressed, chosen, &best);
}
