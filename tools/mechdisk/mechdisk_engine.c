// SPDX-License-Identifier: GPL-2.0
/*
 * Firmware of a simulated disk drive: commands, their queue, the cache, the bus.
 *
 * Written from "Freeblock Scheduling Outside of Disk Firmware" (2.1, 3.1-3.3,
 * 4.2), Ruemmler and Wilkes, "An Introduction to Disk Drive Modeling" (1994),
 * and the meaning of DiskSim's disk parameters; on purpose not from the
 * scheduler's disk model: the model predicts, the drive decides.
 *
 * What occupies the medium are jobs: commands, writes of cached data, the
 * drive's own business.  A job's whole course is computed at the instant it
 * starts.  That instant is exact even if the caller's timer was late, since
 * only commands that had arrived by then are considered.
 */
#include "mechdisk_engine.h"
#include "mechdisk_ahead.h"
#include "mechdisk_queue.h"
#include "mechdisk_serve.h"

/*
 * Choosing the next command takes the host some microseconds.  If a report is
 * due this soon after, the report goes first, or the choice would delay it.
 */
#define MDE_DEFER_PS	200000000ULL

/* A stream of random numbers of its own: noise never shifts jitter. */
#define MDE_STREAM_JITTER	0x6a697474ULL
#define MDE_STREAM_SCAN		0x7363616eULL

/* Time: nanoseconds of the caller, picoseconds since power-on. */

static u64 mde_ps(const struct mde *e, u64 now_ns)
{
	return now_ns > e->origin_ns ? (now_ns - e->origin_ns) * 1000 : 0;
}

/*
 * Nothing but the drive's own business happens by @now, each time long over
 * before the next: only the last one shows, and is left to do.
 */
static void mde_internal_skip(struct mde *e, u64 now)
{
	u64 period = e->cfg->internal_period_ns * 1000;
	u64 times;

	if (e->internal_next > now || e->media_free > e->internal_next)
		return;
	times = (now - e->internal_next) / period;
	e->internal_next += times * period;
	e->stats.internals += times;
}

/* The drive's own business, if it is due before anything else that is by @now. */
static bool mde_internal(struct mde *e, u64 before, u64 now)
{
	u64 t = max(e->internal_next, e->media_free);

	if (!e->cfg->internal_period_ns || t > now || t > before)
		return false;
	if (e->destaging)
		mdv_settle(e);
	mda_stop(e, t);
	e->media_free = max(e->media_free, t) + e->cfg->internal_ns * 1000;
	e->mech.cyl = e->cfg->internal_cyl;
	e->internal_next += e->cfg->internal_period_ns * 1000;
	e->stats.internals++;
	if (before == MDE_NEVER)
		mde_internal_skip(e, now);
	return true;
}

/* Start the next job that can by @now; false if there is none. */
static bool mde_step(struct mde *e, u64 now)
{
	u64 t = mdq_next_start(e);
	struct mdq_job job;

	if (mde_internal(e, t, now))
		return true;
	if (t > now)
		return false;
	if (e->destaging && e->media_free <= t) {
		mdv_settle(e);
		return true;
	}
	mdm_drift(&e->mech, t);
	mdq_choose(e, t, &job);
	if (e->ahead.segment &&
	    (job.segment || mdq_needs_medium(e, job.slot))) {
		mda_stop(e, t);
		return true;
	}
	e->clock = max(e->clock, t);
	if (job.slot)
		mdv_serve(e, job.slot, t);
	else
		mdv_destage(e, job.segment, t);
	return true;
}

void mde_advance(struct mde *e, u64 now_ns)
{
	u64 now = mde_ps(e, now_ns);

	while (mde_step(e, now))
		e->changes++;
	if (e->destaging && e->media_free <= now) {
		mdv_settle(e);
		e->changes++;
	}
}

/*
 * A command comes to a drive that may be scanning its medium, a track in a turn: it is
 * late, and the arm is where the scan was.
 */
static void mde_scan(struct mde *e, u64 now)
{
	const struct mde_config *c = e->cfg;
	u64 began = max(e->media_free, e->told) + c->scan_idle_ns * 1000;
	u64 least = c->scan_late_us[0], most = c->scan_late_us[1];
	struct mdl_piece p;
	u64 done;

	if (e->queued || began > now)
		return;
	if (e->destaging)
		mdv_settle(e);
	mda_stop(e, began);
	mdl_locate(c, e->scan_lbn, 1, &p);
	done = (now - began) / e->mech.period * p.spt;
	e->scan_lbn = (e->scan_lbn + done) % c->sectors;
	mdl_locate(c, e->scan_lbn, 1, &p);
	e->mech.cyl = p.cyl;
	e->mech.head = p.head;
	e->media_free = now + 1000000 *
		(least + mdm_random_below(&e->rng_scan, most - least + 1));
	e->stats.scans++;
}

/* Arrival. */

/* A command has come: answer it at once, or make the drive stop reading on. */
static void mde_arrive(struct mde *e, struct mde_slot *s, u64 now)
{
	e->clock = max(e->clock, now);
	mda_run(e, now);
	mdm_drift(&e->mech, now);
	if (!mdq_blocked(e, s) && mdq_barrier(e, s) <= now) {
		if (s->op == MDE_FLUSH || s->cacheable) {
			mda_stop(e, max(now, e->media_free));
			mdv_serve(e, s, now);
			return;
		}
		if (mdq_answered(e, s)) {
			mdv_serve(e, s, now);
			return;
		}
		if (s->op != MDE_WRITE && mdv_ride(e, s, now))
			return;
	}
	mda_stop(e, max(now, e->media_free));
}

int mde_submit(struct mde *e, u64 now_ns, enum mde_op op, u64 lbn, u32 count,
	       u32 flags)
{
	u64 now = mde_ps(e, now_ns);
	u32 free = ~(e->queued | e->started | e->reporting);
	struct mde_slot *s;

	if (!free)
		return -EBUSY;
	if (!e->plain)
		mde_advance(e, now_ns);
	if (e->cfg->scan_idle_ns)
		mde_scan(e, now);
	s = &e->slot[mdk_lowest(free)];
	memset(s, 0, sizeof(*s));
	s->lbn = lbn;
	s->count = count;
	s->op = op;
	s->flags = flags;
	s->seq = e->seq++;
	s->arrived = now;
	s->cacheable = mdq_cacheable(e, s);
	s->ready = op == MDE_FLUSH ? now :
		mdv_understood(e, s, op != MDE_WRITE ? MDE_READ_MISS :
			       s->cacheable ? MDE_WRITE_HIT :
			       MDE_WRITE_MISS);
	if (op == MDE_WRITE) {
		s->bus_start = max(e->bus_out_free, s->ready);
		e->bus_out_free = s->bus_start + e->cfg->bus_ns * 1000 * count;
	}
	if (op != MDE_FLUSH)
		mdl_locate(e->cfg, lbn, count, &s->first);
	e->queued |= mde_bit(e, s);
	e->outstanding++;
	if (e->outstanding > e->stats.max_outstanding)
		e->stats.max_outstanding = e->outstanding;
	if (!e->plain)
		mde_arrive(e, s, now);
	else if (op == MDE_FLUSH)
		mdv_serve(e, s, now);
	e->changes++;
	return s - e->slot;
}

int mde_started(struct mde *e)
{
	int found = -1;
	u32 left;

	for (left = e->started; left; left &= left - 1) {
		int i = mdk_lowest(left);

		if (found < 0 || e->slot[i].started < e->slot[found].started)
			found = i;
	}
	if (found >= 0) {
		e->started &= ~(1U << found);
		e->reporting |= 1U << found;
	}
	return found;
}

/* The started command that is to be reported first, or -1. */
static int mde_first_report(const struct mde *e)
{
	int found = -1;
	u32 left;

	for (left = e->started | e->reporting; left; left &= left - 1) {
		int i = mdk_lowest(left);

		if (found < 0 || e->slot[i].report < e->slot[found].report)
			found = i;
	}
	return found;
}

int mde_due(const struct mde *e, u64 now_ns)
{
	int i = mde_first_report(e);

	return i >= 0 && mde_report_ns(e, i) <= now_ns ? i : -1;
}

u64 mde_next_event(struct mde *e)
{
	int i = mde_first_report(e);
	/* What nobody waits for is made up for later. */
	u64 t = e->queued ? mdq_next_start(e) : MDE_NEVER;
	u32 left;

	if (i >= 0 && (t == MDE_NEVER || e->slot[i].report < t + MDE_DEFER_PS))
		t = e->slot[i].report;
	if (!e->plain)
		t = min(t, mdq_next_immediate(e));
	for (left = e->started; left; left &= left - 1)
		t = min(t, e->slot[mdk_lowest(left)].started);
	return t == MDE_NEVER ? t : mde_ns(e, t);
}

u64 mde_report_ns(const struct mde *e, int slot)
{
	return mde_ns(e, e->slot[slot].report);
}

void mde_watch(struct mde *e, void (*witness)(void *arg, const struct mde_pass *pass),
	       void *arg)
{
	e->witness = witness;
	e->witness_arg = arg;
}

void mde_release(struct mde *e, int slot)
{
	const struct mde_slot *s = &e->slot[slot];
	u32 keep = ~(1U << slot);

	/* What must not run beside it does not begin before its report. */
	if (!(e->queued & ~keep)) {
		e->ended = max(e->ended, s->report);
		if (mdq_runs_alone(s))
			e->ended_alone = max(e->ended_alone, s->report);
	}
	e->changes++;
	e->queued &= keep;
	e->started &= keep;
	e->reporting &= keep;
	e->outstanding--;
}

void mde_bad_clear(struct mde *e)
{
	e->bads = 0;
}

void mde_stats_reset(struct mde *e)
{
	memset(&e->stats, 0, sizeof(e->stats));
	e->stats.max_outstanding = e->outstanding;
}

void mde_set_caching(struct mde *e, u64 now_ns, const struct mde_caching *caching)
{
	mde_advance(e, now_ns);
	e->clock = max(e->clock, mde_ps(e, now_ns));
	mda_stop(e, max(e->clock, e->media_free));
	e->caching = *caching;
	e->changes++;
}

void mde_hold(struct mde *e, u64 now_ns, u64 ns, bool stood)
{
	struct mdm *m = &e->mech;
	u64 now = mde_ps(e, now_ns);

	mde_advance(e, now_ns);
	e->clock = max(e->clock, now);
	now = max(now, e->media_free);
	if (e->destaging)
		mdv_settle(e);
	mda_stop(e, now);
	e->media_free = now + ns * 1000;
	if (stood)
		m->phase0 = (m->phase0 + mdm_random_below(&e->rng_jitter, m->nominal)) %
			m->nominal;
	e->changes++;
}

void mde_place_head(struct mde *e, u32 cyl, u32 head, u64 now_ns, u64 angle)
{
	struct mdm *m = &e->mech;
	u64 now = mde_ps(e, now_ns);
	u64 want = mul_u64_u64_shr(angle, m->nominal, 64);

	m->cyl = cyl;
	m->head = head;
	e->media_free = now;
	e->changes++;
	m->phase0 = 0;
	m->phase0 = (want + m->nominal - mdm_turned(m, now)) % m->nominal;
}

u64 mde_angle(const struct mde *e, u64 now_ns)
{
	u64 period = e->mech.nominal;
	u64 phase = mdm_turned(&e->mech, mde_ps(e, now_ns));

	/* phase / period as a 64-bit fraction, 24 bits at a time: a phase has 37. */
	u64 hi = (phase << 24) / period;
	u64 mid = (phase << 24) % period;
	u64 lo = (mid << 24) % period;

	mid = (mid << 24) / period;
	return (hi << 40) + (mid << 16) + (lo << 16) / period;
}

/* Whether it matters what the command before was. */
static bool mde_looks_back(const struct mde_config *cfg)
{
	u32 i;

	for (i = 0; i < MDE_KINDS; i++)
		if (cfg->overhead_ns[i][0] != cfg->overhead_ns[i][1])
			return true;
	return false;
}

void mde_init(struct mde *e, const struct mde_config *cfg, u64 now_ns)
{
	memset(e, 0, sizeof(*e));
	e->cfg = cfg;
	e->origin_ns = now_ns;
	mdm_init(&e->mech, cfg);
	mdb_init(&e->cache, cfg);
	e->caching.read_cache = cfg->segments && cfg->read_cache;
	e->caching.look_ahead = cfg->look_ahead;
	e->caching.write_cache = cfg->write_cache_on;
	e->recovery_limit_ns = cfg->recovery_control ? cfg->recovery_limit_ms * 1000000 : 0;
	e->plain = !cfg->segments && cfg->queueing == MDE_TAGGED &&
		!cfg->internal_period_ns && !cfg->scan_idle_ns && !mde_looks_back(cfg);
	e->internal_next = cfg->internal_period_ns * 1000;
	e->ageing = (cfg->age_ns * 1000 << 32) / cfg->period_ps;
	e->changes = 1;
	e->rng_jitter = cfg->seed ^ MDE_STREAM_JITTER;
	e->rng_scan = cfg->seed ^ MDE_STREAM_SCAN;
	memcpy(e->bad, cfg->bad, sizeof(e->bad));
	e->bads = cfg->bads;
}
