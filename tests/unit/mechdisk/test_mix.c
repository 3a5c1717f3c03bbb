// SPDX-License-Identifier: GPL-2.0
/*
 * Everything at once: drives with random features under random commands, by
 * seed.  Whatever the drive is, some things hold; and a caller that looks at it
 * seldom finds the same instants as a punctual one (hand.h).
 *
 * Seen to fail: commands that start as of before what they waited for had ended;
 * a flush that does not wait; mdq_choose() in the order of slots; mdq_room()
 * without write_segments; mdq_position_ps() cut short at a tie; a scan of the medium that
 * begins when the caller has taken the reports.
 */
#include "hand.h"

#include <stdlib.h>

/* As many as the drive holds, so that a caller who never looks can hand them in. */
#define COMMANDS MDE_SLOTS
#define SEEDS 1500
/* The commands stay near one another: LBNs, longest. */
#define MIX_AREA 300
#define MIX_LONGEST 40

/* Something the caller does */
struct mix_step {
	u64 at;	/* when, ns */
	enum mde_op op;	/* a command */
	u64 lbn;	/* its first LBN */
	u32 count;	/* its LBNs */
	u32 flags;	/* its flags */
	struct mde_caching caching;	/* set just before it, if @switches */
	bool switches;	/* there is something to set */
};

/* A drive and what is done to it */
struct mix {
	u64 rng;	/* splitmix64 */
	char text[1800];	/* its records */
	struct mix_step step[COMMANDS];	/* the commands, by time */
};

static u64 below(struct mix *m, u64 n)
{
	return mdm_random_below(&m->rng, n);
}

static bool one_in(struct mix *m, u64 n)
{
	return !below(m, n);
}

static const char *on_off(struct mix *m)
{
	return one_in(m, 2) ? "on" : "off";
}

static void add(struct mix *m, const char *format, ...)
{
	size_t n = strlen(m->text);
	va_list args;

	va_start(args, format);
	vsnprintf(m->text + n, sizeof(m->text) - n, format, args);
	va_end(args);
}

static void draw_cache(struct mix *m)
{
	static const char *const ahead[] = {
		"none", "track", "cylinder", "segment", "segment 7", "stream",
	};
	static const char *const writes[] = { "off", "stream", "back", "back" };
	static const u32 segments[] = { 1, 2, 4 }, sectors[] = { 8, 20, 300 };
	u32 n = segments[below(m, 3)], w = below(m, n + 1);

	if (one_in(m, 8))
		return;
	add(m, "cache %u %u %u\n", n, sectors[below(m, 3)], w);
	add(m, "write_cache %s\n", w ? writes[below(m, 4)] : "off");
	add(m, "read_ahead %s\nread_ahead_on_hit %s\n", ahead[below(m, 6)],
	    on_off(m));
	add(m, "read_ahead_trigger %s\n", one_in(m, 4) ? "same-track" : "any");
	add(m, "read_ahead_stop %s\n", one_in(m, 2) ? "sector" : "at-once");
	add(m, "keep_passing %s\ndiscard_read %s\n", on_off(m),
	    one_in(m, 4) ? "on" : "off");
	add(m, "written_hits %s\nappend_writes %s\n", on_off(m), on_off(m));
	add(m, "destage %s\n", one_in(m, 2) ? "eager" : "idle");
	add(m, "verify %s\n", one_in(m, 2) ? "cache" : "medium");
}

static void draw_drive(struct mix *m)
{
	static const char *const policy[] = {
		"sptf", "fcfs", "clook", "sstf", "sptf age_ns=200000",
		"sptf age_ns=3000000 bound_ms=30", "clook bound_ms=20", "sstf bound_ms=10",
	};
	static const u32 bus[] = { 0, 10000, 100000 };
	bool runs = one_in(m, 4);

	/* Of unlike tracks, the runs of one direction or both. */
	if (runs)
		add(m, "fbdrive 1\nperiod_ps 6000000000\nheads 3\ndisplacement 0 7 2\n"
		    "seek 1 1000000\nseek 99 10800000\nhead_switch_ns 300000\n"
		    "run 0 0 in 2 30 0 0.1\nrun 2 1 %s 2 27 0.3 0.2\nrun 1 0 in 1 40 0 0\n"
		    "repeat 3 20 0.3 1=37\nslip 0 7+2 50\nslip 4 0+3\n",
		    one_in(m, 2) ? "out" : "in");
	add(m, "firmware %s\nqueueing %s\n", policy[below(m, 8)],
	    one_in(m, 2) ? "tagged" : "ncq");
	add(m, "bus_ns %u\nbus_watermark_ppm %u\n", bus[below(m, 3)],
	    one_in(m, 2) ? 0 : 400000);
	add(m, "zero_latency %s\nearly_seek %s\n", on_off(m), on_off(m));
	add(m, "overhead_ns read_hit 100000 130000\n"
	    "overhead_ns read_miss 200000 500000\n"
	    "overhead_ns write_hit 150000 120000\n"
	    "overhead_ns write_miss 300000 250000\n");
	add(m, "noise laplace 120000\njitter_ns 20000\nseed %u\n",
	    (u32)below(m, 1000));
	add(m, "completion_overhead_ns 40000 70000\n");
	if (one_in(m, 3))
		add(m, "physical_exponent 3\n");
	if (one_in(m, 3))
		add(m, "internal_activity 40 7 3\n");
	if (one_in(m, 3))
		add(m, "write_settle_ns -100000\n");
	if (one_in(m, 3))
		add(m, runs ? "slow_region 2 5\n" : "zone_heads 0 100 80\n");
	if (one_in(m, 3))
		add(m, "medium_scan 15 1000 4000\n");
	if (one_in(m, 4))
		add(m, "medium_error 120 3 recovery_ms=1 times=2\n");
	draw_cache(m);
}

static u64 draw_gap(struct mix *m)
{
	static const u64 longest[] = { 1, 500 * US, 5 * MS, 40 * MS };

	return below(m, longest[below(m, 4)]);
}

static void draw_step(struct mix *m, struct mix_step *s, const struct mix_step *before)
{
	static const enum mde_op ops[] = {
		MDE_READ, MDE_READ, MDE_READ, MDE_READ, MDE_READ,
		MDE_WRITE, MDE_WRITE, MDE_WRITE, MDE_WRITE,
		MDE_VERIFY, MDE_FLUSH,
	};

	s->at = (before ? before->at : 0) + draw_gap(m);
	s->op = ops[below(m, ARRAY_SIZE(ops))];
	s->count = 1 + below(m, one_in(m, 4) ? MIX_LONGEST : 8);
	s->lbn = below(m, MIX_AREA);
	/* Much is done in sequence. */
	if (before && one_in(m, 2))
		s->lbn = before->lbn + before->count;
	s->flags = one_in(m, 8) ? MDE_FUA : 0;
	if (s->op == MDE_FLUSH) {
		s->lbn = 0;
		s->count = 0;
		s->flags = 0;
	}
	s->switches = one_in(m, 16);
	s->caching.read_cache = !one_in(m, 3);
	s->caching.look_ahead = !one_in(m, 3);
	s->caching.write_cache = one_in(m, 2);
}

static void draw(struct mix *m, u64 seed)
{
	int i;

	memset(m, 0, sizeof(*m));
	m->rng = seed;
	draw_drive(m);
	for (i = 0; i < COMMANDS; i++)
		draw_step(m, &m->step[i], i ? &m->step[i - 1] : NULL);
}

static void hand_in(struct hand *h, const struct mix_step *s)
{
	/* Without a cache there is nothing to switch on. */
	if (s->switches && h->c.segments)
		mde_set_caching(&h->e, h->now, &s->caching);
	assert_true(mde_submit(&h->e, h->now, s->op, s->lbn, s->count,
			       s->flags) >= 0);
}

static bool covers(const struct mix_step *s, u64 lbn)
{
	return s->op == MDE_WRITE && lbn >= s->lbn && lbn < s->lbn + s->count;
}

static bool is_dirty(const struct hand *h, u64 lbn)
{
	u32 i;

	for (i = 0; i < h->e.cache.segments; i++) {
		const struct mdb_segment *g = &h->e.cache.segment[i];

		if (lbn >= g->dirty && lbn < g->end)
			return true;
	}
	return false;
}

/* Whether write @i had been reported when flush @n came. */
static bool precedes(const struct hand *h, int i, int n)
{
	return i < n && h->reported[i] && h->done[i].report <= h->done[n].arrived;
}

/* Whether a write that flush @n has nothing to do with puts @lbn there (again). */
static bool written_beside(const struct mix *m, const struct hand *h, int n, u64 lbn)
{
	int i;

	for (i = 0; i < COMMANDS; i++)
		if (covers(&m->step[i], lbn) && !precedes(h, i, n))
			return true;
	return false;
}

/* Flush @n has just been reported: what was reported before it came is safe. */
static void check_flush(const struct mix *m, const struct hand *h, int n)
{
	u64 lbn;
	int i;

	for (i = 0; i < n; i++) {
		const struct mix_step *s = &m->step[i];

		if (s->op != MDE_WRITE || !precedes(h, i, n))
			continue;
		for (lbn = s->lbn; lbn < s->lbn + s->count; lbn++)
			if (!written_beside(m, h, n, lbn) && is_dirty(h, lbn))
				fail_msg("flush %d, but %llu of write %d is dirty",
					 n, (unsigned long long)lbn, i);
	}
}

/* Live until @until, looking at each flush as it is reported. */
static void watch(const struct mix *m, struct hand *h, u64 until)
{
	u32 seen[COMMANDS], looks = 0;
	bool more = true;
	int i;

	while (more) {
		memcpy(seen, h->reported, sizeof(seen));
		more = hand_look(h, until);
		assert_true(looks++ < HAND_LOOKS);
		for (i = 0; i < COMMANDS; i++)
			if (m->step[i].op == MDE_FLUSH && h->reported[i] > seen[i])
				check_flush(m, h, i);
	}
}

static void live_punctually(struct mix *m, struct hand *h)
{
	int i;

	hand_begin(h, m->text);
	for (i = 0; i < COMMANDS; i++) {
		watch(m, h, h->start + m->step[i].at);
		hand_until(h, m->step[i].at);
		hand_in(h, &m->step[i]);
	}
	watch(m, h, MDE_NEVER - 1);
}

static void live_late(struct mix *m, struct hand *h)
{
	int i;

	hand_begin(h, m->text);
	for (i = 0; i < COMMANDS; i++) {
		h->now = h->start + m->step[i].at;
		if (one_in(m, 4)) {
			mde_advance(&h->e, h->now);
			hand_collect(h);
		}
		hand_in(h, &m->step[i]);
	}
	/* Long after. */
	h->now += 100 * 1000 * MS;
	mde_advance(&h->e, h->now);
	hand_collect(h);
}

static bool is_bad(const struct hand *h, const struct mde_slot *s)
{
	u64 bad = s->lbn + s->good;

	return h->c.bads && bad >= h->c.bad[0].lbn &&
		bad < h->c.bad[0].lbn + h->c.bad[0].count;
}

static bool at_medium(const struct mde_slot *s)
{
	return s->op != MDE_FLUSH && s->kind != MDE_READ_HIT &&
		s->kind != MDE_WRITE_HIT;
}

static void check_command(const struct mix *m, const struct hand *h, int n)
{
	const struct mde_slot *s = &h->done[n];
	/* A read whose first sectors are there is answered like a hit. */
	const u64 *overhead = h->c.overhead_ns[s->kind == MDE_READ_MISS ?
					       MDE_READ_HIT : s->kind];
	int i;

	assert_int_equal(h->reported[n], 1);
	assert_int_equal(hand_ns(s->arrived), m->step[n].at);
	if (s->op != MDE_FLUSH)
		assert_true(s->report >= s->arrived +
			    1000 * min(overhead[0], overhead[1]));
	assert_true(s->started >= s->arrived && s->report >= s->started);
	if (s->asc)
		assert_true(s->op != MDE_WRITE && is_bad(h, s));
	else
		assert_int_equal(s->good, m->step[n].count);
	/* One at a time at the medium. */
	for (i = 0; i < COMMANDS && at_medium(s); i++) {
		const struct mde_slot *o = &h->done[i];

		if (i != n && at_medium(o))
			assert_true(o->started >= s->media_end ||
				    s->started >= o->media_end);
	}
}

/* At rest: nothing is left to be done. */
static void check_rest(struct hand *h)
{
	u32 i;

	hand_until(h, h->now - h->start + 1000 * MS);
	assert_int_equal(h->e.outstanding, 0);
	assert_true(mde_next_event(&h->e) == MDE_NEVER);
	for (i = 0; i < h->e.cache.segments; i++) {
		const struct mdb_segment *g = &h->e.cache.segment[i];

		assert_false(mdb_is_dirty(g));
		assert_true(g->start <= g->end);
		assert_true(g->end - g->start <= h->c.segment_sectors);
	}
}

static void check_same(const struct hand *a, const struct hand *b)
{
	int i;

	for (i = 0; i < COMMANDS; i++) {
		const struct mde_slot *s = &a->done[i], *o = &b->done[i];

		assert_int_equal(b->reported[i], 1);
		assert_int_equal(s->report, o->report);
		assert_int_equal(s->started, o->started);
		assert_int_equal(s->media_end, o->media_end);
		assert_int_equal(s->kind, o->kind);
		assert_int_equal(s->held, o->held);
		assert_int_equal(s->good, o->good);
		assert_int_equal(s->asc, o->asc);
	}
	assert_memory_equal(&a->e.cache, &b->e.cache, sizeof(a->e.cache));
}

/* A seed that failed comes again alone: MIX_SEED. */
static void seeds(u64 *from, u64 *to)
{
	const char *only = getenv("MIX_SEED");

	*from = only ? strtoull(only, NULL, 0) : 0;
	*to = only ? *from + 1 : SEEDS;
}

TEST(test_mix)
{
	static struct hand h;
	u64 seed, to, hits = 0, rides = 0, cached = 0, internals = 0;
	struct mix m;
	int i;

	for (seeds(&seed, &to); seed < to; seed++) {
		print_message("\rseed %llu", (unsigned long long)seed);
		draw(&m, seed);
		live_punctually(&m, &h);
		for (i = 0; i < COMMANDS; i++)
			check_command(&m, &h, i);
		/* No report was due before a look that did not find it. */
		assert_int_equal(h.late, 0);
		check_rest(&h);
		hits += h.e.stats.read_hits;
		rides += h.e.stats.partial_hits;
		cached += h.e.stats.cached_writes;
		internals += h.e.stats.internals;
		hand_end(&h);
	}
	print_message("\r%llu hits, %llu in part, %llu cached writes, %llu internal\n",
		      (unsigned long long)hits, (unsigned long long)rides,
		      (unsigned long long)cached, (unsigned long long)internals);
	if (!getenv("MIX_SEED"))
		assert_true(hits > SEEDS / 4 && rides > SEEDS / 10 &&
			    cached > SEEDS && internals > SEEDS);
}

TEST(test_late)
{
	static struct hand h, late;
	struct mix m;
	u64 seed, to;

	for (seeds(&seed, &to); seed < to; seed++) {
		print_message("\rseed %llu", (unsigned long long)seed);
		draw(&m, seed);
		live_punctually(&m, &h);
		hand_until(&h, m.step[COMMANDS - 1].at + 100 * 1000 * MS);
		live_late(&m, &late);
		check_same(&h, &late);
		hand_end(&h);
		hand_end(&late);
	}
	print_message("\n");
}
