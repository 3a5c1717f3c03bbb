// SPDX-License-Identifier: GPL-2.0
/*
 * Waiting: a disk that serves one request after the other, arrivals at random, and idle
 * reads whenever the policy says so. What the requests really wait longer is compared with
 * the goals and with what the policy says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "core/idle_policy.h"
#include "support.h"

#define MS 1000000ULL

/* a disk of 10 ms a request and 2 ms + 5 us a sector an idle read, without and with these */
struct lane {
	u64 free_ns;	/* the disk without idle reads is free then */
	u64 real_ns;	/* and with them */
};

struct bench {
	struct fb_idle_policy w;
	struct rnd rnd;
	double mean_gap_ns;
	double tail;	/* 0: exponential; else the exponent of a Pareto distribution */
	struct lane lane;
	u64 read_ends_ns;
	u64 now;
	u64 requests;
	u64 late_ns;
	u64 most_ns;
	u64 read_ns;
	u64 sectors;
};

static double bench_unit(struct bench *b)
{
	return (rnd_next(&b->rnd) >> 11) / 9007199254740992.0;
}

static u64 bench_gap(struct bench *b)
{
	double u = 1 - bench_unit(b);

	if (!b->tail)
		return -log(u) * b->mean_gap_ns;
	/* the mean of a Pareto distribution from x0 on is x0 a / (a - 1) */
	return b->mean_gap_ns * (b->tail - 1) / b->tail * pow(u, -1 / b->tail);
}

/* idle reads until the next arrival; the last of them may still be going on then */
static void bench_idle(struct bench *b, u64 next)
{
	u64 at, end;
	u32 n;

	while (1) {
		at = fb_idle_policy_begin_ns(&b->w, b->now);
		if (at == FB_IDLE_POLICY_NEVER || max(at, b->now) >= next)
			return;
		b->now = max(at, b->now);
		n = b->w.sectors;
		end = b->now + 2 * MS + n * 5000ULL;
		fb_idle_policy_sent(&b->w, b->now, 0, n, NULL);
		b->read_ns += end - b->now;
		b->sectors += n;
		b->lane.real_ns = end;
		b->read_ends_ns = end;
		if (end > next)
			return;
		fb_idle_policy_ended(&b->w, end);
		b->now = end;
	}
}

static void bench_run(struct bench *b, u64 requests)
{
	u64 next = 0, service, done, late;

	while (b->requests < requests) {
		next += bench_gap(b);
		while (b->w.busy && b->lane.real_ns < next) {
			if (b->w.reading)
				fb_idle_policy_ended(&b->w, b->read_ends_ns);
			fb_idle_policy_idle(&b->w, b->lane.real_ns);
			b->now = b->lane.real_ns;
		}
		if (!b->w.busy)
			bench_idle(b, next);
		if (b->w.reading && b->read_ends_ns <= next)
			fb_idle_policy_ended(&b->w, b->read_ends_ns);
		fb_idle_policy_arrive(&b->w, next, NULL, NULL);
		service = 5 * MS + rnd_below(&b->rnd, 10 * MS);
		done = max(b->lane.free_ns, next) + service;
		b->lane.free_ns = done;
		b->lane.real_ns = max(b->lane.real_ns, next) + service;
		late = b->lane.real_ns - done;
		b->late_ns += late;
		b->most_ns = max(b->most_ns, late);
		b->requests++;
		b->now = next;
	}
	if (b->w.reading)
		fb_idle_policy_ended(&b->w, b->read_ends_ns);
}

static void bench_begin(struct bench *b, double mean_gap_ms, double tail, u64 seed)
{
	memset(b, 0, sizeof(*b));
	fb_idle_policy_init(&b->w, 0);
	fb_idle_policy_set_drive(&b->w, 8 * MS, 10000000);
	b->rnd.state = seed;
	b->mean_gap_ns = mean_gap_ms * 1e6;
	b->tail = tail;
}

static void bench_check(struct bench *b, u64 mean_ns, u64 max_ns)
{
	struct fb_idle_policy_status st;

	fb_idle_policy_status(&b->w, b->now, &st);
	print_message("mean %llu of %llu us, said %llu; max %llu; wait %llu us, %u sectors, %.3f\n",
		      (unsigned long long)(b->late_ns / b->requests / 1000),
		      (unsigned long long)mean_ns / 1000, (unsigned long long)st.mean_ns / 1000,
		      (unsigned long long)b->most_ns / 1000,
		      (unsigned long long)st.wait_ns / 1000, st.sectors,
		      (double)b->read_ns / st.idle_ns);
	assert_true(b->late_ns <= mean_ns * b->requests);
	assert_true(st.mean_ns <= mean_ns);
	assert_true(b->most_ns <= max_ns);
	assert_true(st.max_ns <= max_ns);
	/* what is charged is not less than what was waited */
	assert_true(st.mean_ns * b->requests + b->requests >= b->late_ns);
	assert_int_equal(st.requests, b->requests);
	/* while something is left to be had the goal is used up */
	assert_true(!st.wait_ns || st.mean_ns > mean_ns / 10 * 9);
}

/*
 * Poisson arrivals at 5, 30, 60 and 85 % load, heavy-tailed ones at 5, 30, 60 %, three
 * goals. With heavy tails at 85 % a single busy period has thousands of requests, and the
 * first such cannot be foreseen.
 *
 * Seen to fail: only the first request of a busy period charged; no budget; thresholds found
 * without regard to who is hit; what is saved up is not spent.
 */
static void test_goals_are_kept(void **state)
{
	static const double loads[] = { 0.05, 0.3, 0.6, 0.85 };
	static const u64 means[] = { MS / 5, MS / 2, 2 * MS };
	struct bench b;
	u32 i, k, tail;

	for (tail = 0; tail < 2; tail++)
		for (i = 0; i < ARRAY_SIZE(loads) - tail; i++)
			for (k = 0; k < ARRAY_SIZE(means); k++) {
				bench_begin(&b, 10 / loads[i], tail ? 1.3 : 0, 1 + i);
				fb_idle_policy_set_goals(&b.w, means[k], 50 * MS);
				bench_run(&b, 50000);
				bench_check(&b, means[k], 50 * MS);
				assert_true(b.read_ns > 0);
			}
}

/* an idle disk, 100 requests alone every 40 ms, 10 ms each, and then idle since @b->now */
static void bench_settle(struct bench *b)
{
	u32 i;

	bench_begin(b, 0, 0, 1);
	for (i = 0; i < 100; i++) {
		b->now += 40 * MS;
		fb_idle_policy_arrive(&b->w, b->now, NULL, NULL);
		b->now += 10 * MS;
		fb_idle_policy_idle(&b->w, b->now);
	}
}

/* threshold and size as told; a mean of 0 reads nothing; while somebody is there nothing */
static void test_fixed(void **state)
{
	struct bench b;

	bench_settle(&b);
	fb_idle_policy_set_goals(&b.w, 100 * MS, 50 * MS);
	fb_idle_policy_set_fixed(&b.w, 7 * MS, 1000);
	assert_int_equal(fb_idle_policy_begin_ns(&b.w, b.now), b.now + 7 * MS);
	assert_int_equal(b.w.sectors, 1000);
	assert_int_equal(fb_idle_policy_why(&b.w, b.now + 7 * MS - 1), FB_IDLE_POLICY_WAITING);
	assert_int_equal(fb_idle_policy_why(&b.w, b.now + 7 * MS), FB_IDLE_POLICY_RUN);
	/* once it has begun the threshold does not matter any more */
	fb_idle_policy_sent(&b.w, b.now + 7 * MS, 0, 1000, NULL);
	assert_int_equal(fb_idle_policy_begin_ns(&b.w, b.now + 8 * MS), FB_IDLE_POLICY_NEVER);
	assert_int_equal(fb_idle_policy_why(&b.w, b.now + 8 * MS), FB_IDLE_POLICY_READING);
	fb_idle_policy_ended(&b.w, b.now + 9 * MS);
	assert_true(fb_idle_policy_begin_ns(&b.w, b.now + 9 * MS) <= b.now + 9 * MS);
	fb_idle_policy_arrive(&b.w, b.now + 10 * MS, NULL, NULL);
	assert_int_equal(fb_idle_policy_begin_ns(&b.w, b.now + 10 * MS), FB_IDLE_POLICY_NEVER);
	assert_int_equal(fb_idle_policy_why(&b.w, b.now + 10 * MS), FB_IDLE_POLICY_BUSY);
	fb_idle_policy_idle(&b.w, b.now + 20 * MS);
	assert_int_equal(fb_idle_policy_begin_ns(&b.w, b.now + 20 * MS), b.now + 27 * MS);
	fb_idle_policy_set_goals(&b.w, 0, 50 * MS);
	assert_int_equal(fb_idle_policy_begin_ns(&b.w, b.now + 30 * MS), FB_IDLE_POLICY_NEVER);
	assert_int_equal(fb_idle_policy_why(&b.w, b.now + 30 * MS), FB_IDLE_POLICY_OFF);
}

/* no read is allowed that can take longer than the maximum with a turn lost */
static void test_maximum(void **state)
{
	struct bench b;
	u64 most;
	u32 n;

	bench_settle(&b);
	for (most = MS; most < 200 * MS; most += MS) {
		fb_idle_policy_set_goals(&b.w, MS, most);
		fb_idle_policy_set_fixed(&b.w, FB_IDLE_POLICY_AUTO, FB_IDLE_POLICY_SECTORS_MAX);
		n = b.w.sectors;
		assert_true(!n || n * 10000ULL + 2 * 8 * MS <= most);
		if (!n)
			assert_int_equal(fb_idle_policy_why(&b.w, b.now + 900 * MS),
					 FB_IDLE_POLICY_SHORT);
		assert_true(n == FB_IDLE_POLICY_SECTORS_MAX ||
			    2 * max(n, 64U) * 10000ULL + 16 * MS > most);
	}
}

/*
 * By hand: a request finds a read that has 6 ms to go, and another comes 1 ms later and a third
 * when the read has ended: each is charged 6 ms. That is above the mean of 1 ms, and nothing
 * is read any more, but after ten minutes.
 */
static void test_budget(void **state)
{
	struct fb_idle_policy_status st;
	struct bench b;

	bench_settle(&b);
	fb_idle_policy_set_goals(&b.w, MS / 100, 50 * MS);
	fb_idle_policy_set_fixed(&b.w, 0, 128);
	b.w.credit_ns = 100 * MS;
	fb_idle_policy_sent(&b.w, b.now, 0, 128, NULL);
	fb_idle_policy_arrive(&b.w, b.now + 2 * MS, NULL, NULL);
	fb_idle_policy_arrive(&b.w, b.now + 3 * MS, NULL, NULL);
	fb_idle_policy_ended(&b.w, b.now + 8 * MS);
	fb_idle_policy_arrive(&b.w, b.now + 9 * MS, NULL, NULL);
	fb_idle_policy_idle(&b.w, b.now + 30 * MS);
	fb_idle_policy_status(&b.w, b.now + 30 * MS, &st);
	assert_int_equal(st.collisions, 1);
	assert_int_equal(st.max_ns, 6 * MS);
	assert_int_equal(st.mean_ns, 18 * MS / 103);
	b.w.credit_ns = -1;
	b.w.control = false;
	b.now += 30 * MS;
	assert_int_equal(fb_idle_policy_why(&b.w, b.now + 1000 * MS), FB_IDLE_POLICY_BUDGET);
	assert_int_equal(fb_idle_policy_begin_ns(&b.w, b.now), b.now + 600000 * MS);
	assert_int_equal(fb_idle_policy_why(&b.w, b.now + 600000 * MS), FB_IDLE_POLICY_RUN);
}

/*
 * A stream that the drive reads ahead for is served in 0.2 ms; behind idle reads it takes 12 ms
 * more. Nobody is met, and yet the mean of 1 ms is kept.
 */
static void test_moved(void **state)
{
	u64 took, cost = 0, begin;
	struct fb_idle_policy_status st;
	struct bench b;
	u32 i;

	bench_begin(&b, 0, 0, 1);
	fb_idle_policy_set_goals(&b.w, MS, 50 * MS);
	fb_idle_policy_set_fixed(&b.w, 0, 128);
	for (i = 0; i < 20000; i++) {
		took = MS / 5;
		begin = fb_idle_policy_begin_ns(&b.w, b.now);
		if (begin <= b.now + 10 * MS) {
			fb_idle_policy_sent(&b.w, max(begin, b.now), 0, 128, NULL);
			fb_idle_policy_ended(&b.w, b.now + 13 * MS);
			took += 12 * MS;
			cost += 12 * MS;
		}
		b.now += 90 * MS + rnd_below(&b.rnd, 20 * MS);
		fb_idle_policy_arrive(&b.w, b.now, NULL, NULL);
		b.now += took + rnd_below(&b.rnd, MS / 10);
		fb_idle_policy_idle(&b.w, b.now);
	}
	fb_idle_policy_status(&b.w, b.now, &st);
	print_message("moved %llu us, cost %llu us, said %llu us\n",
		      (unsigned long long)(st.moved_ns / 1000),
		      (unsigned long long)cost / i / 1000, (unsigned long long)st.mean_ns / 1000);
	assert_in_range(st.moved_ns, 11 * MS, 13 * MS);
	/* 64 requests' worth is granted to begin with */
	assert_true(st.mean_ns * i <= MS * (i + 64));
	/* the first ones, before it was known, are not charged */
	assert_true(cost <= MS * i + 1000 * 12 * MS);
	assert_true(cost > MS * i / 4);
}

/* so many idle intervals of a length, each followed by a request of 10 ms */
static void intervals(struct bench *b, u32 n, u64 ns)
{
	for (; n; n--) {
		b->now += ns;
		fb_idle_policy_arrive(&b->w, b->now, NULL, NULL);
		b->now += 10 * MS;
		fb_idle_policy_idle(&b->w, b->now);
	}
}

/* With fewer than 32 intervals the threshold is 100 ms. Seen to fail with 16 and 64. */
static void test_first_intervals(void **state)
{
	struct bench b;

	(void)state;
	bench_begin(&b, 0, 0, 1);
	fb_idle_policy_set_goals(&b.w, 1000 * MS, 2000 * MS);
	intervals(&b, 31, 500 * MS);
	fb_idle_policy_set_goals(&b.w, 1001 * MS, 2000 * MS);
	assert_int_equal(b.w.wait_ns, 100 * MS);
	intervals(&b, 1, 500 * MS);
	assert_int_equal(b.w.wait_ns, 0);
}

/*
 * Requests behind intervals that idle reads had to leave out bear a part of the cost, until they
 * are forgotten. Seen to fail: they do not count, or for ever.
 */
static void test_spared(void **state)
{
	struct bench b;
	u32 i;

	(void)state;
	bench_begin(&b, 0, 0, 1);
	fb_idle_policy_hold(&b.w, b.now + 100 * MS);
	for (i = 0; i < 8; i++)
		fb_idle_policy_arrive(&b.w, b.now + 50 * MS, NULL, NULL);
	fb_idle_policy_idle(&b.w, b.now + 60 * MS);
	assert_int_equal(b.w.spared, 8);
	b.now += 100 * MS;
	intervals(&b, 8191, 50 * MS);
	assert_int_equal(b.w.spared, 8);
	intervals(&b, 1, 50 * MS);
	assert_int_equal(b.w.spared, 4);
}

/*
 * By hand: 64 intervals of 50 ms and as many of 500 ms. A read of 128 sectors is believed to take
 * half a turn and 1.28 ms, so whom it meets waits 2.64 ms, of 256 3.28 ms, of 512 4.56 ms. With a
 * mean of 2 ms, less a sixteenth, 90, 73 and 52 of 128 requests may be met. So the two shorter
 * reads may begin in all long intervals, behind the last length of the bin of the short ones, and
 * the longer of them brings more.
 */
static void test_by_hand(void **state)
{
	struct bench b;

	bench_begin(&b, 0, 0, 1);
	intervals(&b, 64, 50 * MS);
	intervals(&b, 64, 500 * MS);
	fb_idle_policy_set_goals(&b.w, 2 * MS, 1000 * MS);
	assert_int_equal(b.w.wait_ns, 50331648);
	assert_int_equal(b.w.sectors, 256);
	/* 45 and less may be met: none of the intervals known is long enough */
	fb_idle_policy_set_goals(&b.w, MS, 1000 * MS);
	assert_true(b.w.wait_ns > 500 * MS && b.w.wait_ns < 600 * MS);
	/* it is found again after 64 intervals */
	intervals(&b, 63, 5 * MS);
	assert_int_equal(b.w.intervals, 63);
	assert_true(b.w.wait_ns > 500 * MS);
	intervals(&b, 1, 5 * MS);
	assert_int_equal(b.w.intervals, 0);
	assert_int_equal(b.w.wait_ns, 50331648);
}

/* the past fades: intervals count half after 8192, the longest busy period slowly */
static void test_ages(void **state)
{
	struct fb_idle_policy_bin *bin;
	struct bench b;
	u32 i;

	bench_begin(&b, 0, 0, 1);
	fb_idle_policy_set_fixed(&b.w, 0, 0);
	intervals(&b, 8191, 50 * MS);
	bin = &b.w.bins[b.w.bin];
	assert_int_equal(bin->n, 8191);
	intervals(&b, 1, 50 * MS);
	assert_int_equal(b.w.aged_n, 4096);
	assert_int_equal(bin->n, 4096);
	assert_int_equal(bin->requests, 4096);
	assert_int_equal(bin->ns, 4096 * 50 * MS);
	/* requests that came alone after 4096, and again whenever there are so many */
	assert_int_equal(b.w.alone[0].n, 2048);
	assert_int_equal(b.w.alone[0].us, 2048 * 10000);
	assert_int_equal(b.w.alone[0].sq, 2048ULL * 10000 * 10000);

	for (i = 0; i < 10240; i++)
		fb_idle_policy_arrive(&b.w, b.now, NULL, NULL);
	fb_idle_policy_idle(&b.w, b.now);
	assert_int_equal(b.w.longest, 10240);
	intervals(&b, 100, 50 * MS);
	assert_in_range(b.w.longest, 9300, 9350);
}

/* commands count by what they take and read, half after 8192 of a size; but for the first */
static void test_read_times(void **state)
{
	struct fb_idle_policy_status st;
	struct bench b;
	u32 i;

	bench_settle(&b);
	fb_idle_policy_set_fixed(&b.w, 0, 256);
	for (i = 0; i < 8193; i++) {
		if (i == 8192)
			assert_int_equal(b.w.sizes[1].n, 8191);
		fb_idle_policy_sent(&b.w, b.now, 0, 200, NULL);
		b.now += 3 * MS;
		fb_idle_policy_ended(&b.w, b.now);
	}
	fb_idle_policy_status(&b.w, b.now, &st);
	assert_int_equal(st.reads, 8193);
	assert_int_equal(st.read_sectors, 8193 * 200);
	assert_int_equal(st.used_ns, 8193 * 3 * MS);
	assert_int_equal(b.w.firsts.n, 1);
	assert_int_equal(b.w.firsts.ns, 3 * MS);
	assert_int_equal(b.w.sizes[1].n, 4096);
	assert_int_equal(b.w.sizes[1].ns, 4096 * 3 * MS);
	assert_int_equal(b.w.sizes[1].sq, 4096ULL * 3000 * 3000);
	assert_int_equal(b.w.sizes[1].sectors, 4096 * 200);
}

/*
 * Reads that end sooner than their sectors can pass, from a cache, cost nothing but the passing:
 * the longest that keeps the maximum is chosen.
 */
static void test_cached(void **state)
{
	struct bench b;
	u32 i;

	bench_settle(&b);
	for (i = 0; i < 8; i++) {
		fb_idle_policy_sent(&b.w, b.now, 0, 128, NULL);
		fb_idle_policy_ended(&b.w, ++b.now);
	}
	fb_idle_policy_set_goals(&b.w, 1000 * MS, 1000 * MS);
	/* 31/32 of the yield of longer ones is as good */
	assert_in_range(b.w.sectors, 128, FB_IDLE_POLICY_SECTORS_MAX);
	assert_int_equal(b.w.wait_ns, 0);
}

/*
 * The first read of an interval moves the head and takes 10 ms, those behind it 1 ms: whoever
 * comes after 100 ms meets one of these and waits 0.5 ms. Less than a mean of 1 ms, so that reads
 * begin at once. In intervals of 8 ms all meet the first and wait 5 ms: only every fifth may.
 * Seen to fail with one mean for all reads, by which somebody waits 4.6 ms: 100 ms and more.
 */
static void test_first_and_next(void **state)
{
	struct bench b;
	u32 i;

	bench_begin(&b, 0, 0, 1);
	for (i = 0; i < 100; i++) {
		fb_idle_policy_sent(&b.w, b.now, 0, 128, NULL);
		fb_idle_policy_ended(&b.w, b.now + 10 * MS);
		fb_idle_policy_sent(&b.w, b.now + 10 * MS, 0, 128, NULL);
		fb_idle_policy_ended(&b.w, b.now + 11 * MS);
		intervals(&b, 1, 100 * MS);
	}
	fb_idle_policy_set_goals(&b.w, 1 * MS, 1000 * MS);
	assert_int_equal(b.w.wait_ns, 0);
	intervals(&b, 1000, 8 * MS);
	fb_idle_policy_set_goals(&b.w, 1 * MS, 1000 * MS);
	assert_in_range(b.w.wait_ns, 8 * MS, 100 * MS);
}

/*
 * An idle read goes on beyond a request that the drive served beside it, and the next interval. Who
 * comes then has not been undisturbed. Seen to fail without a look at what is at the drive.
 */
static void test_still_there(void **state)
{
	struct fb_fg_req req = { 1000, 8, false, 0 };
	struct bench b;

	bench_settle(&b);
	fb_idle_policy_sent(&b.w, b.now, 0, 128, NULL);
	fb_idle_policy_arrive(&b.w, b.now + MS, NULL, &req);
	fb_idle_policy_idle(&b.w, b.now + 2 * MS);
	fb_idle_policy_arrive(&b.w, b.now + 3 * MS, NULL, &req);
	assert_false(b.w.cost.known);
	fb_idle_policy_ended(&b.w, b.now + 9 * MS);
	fb_idle_policy_idle(&b.w, b.now + 10 * MS);
	fb_idle_policy_arrive(&b.w, b.now + 20 * MS, NULL, &req);
	assert_true(b.w.cost.known);
}

/*
 * Two requests that seem to end a second sooner than they would have give back 64 times the mean's
 * goal and no more. Seen to fail without that bound: two seconds.
 */
static void test_refunds(void **state)
{
	struct fb_fg_req req = { 1000, 8, false, 0 };
	struct bench b;
	s64 before;
	u32 i;

	bench_settle(&b);
	req.arrived_ns = b.now + MS;
	fb_idle_policy_arrive(&b.w, b.now + MS, NULL, &req);
	fb_idle_policy_arrive(&b.w, b.now + MS, NULL, &req);
	b.w.cost.first = false;
	b.w.cost.virtual_ns = b.now + 1000 * MS;
	before = b.w.cost_ns;
	for (i = 0; i < 2; i++)
		fb_idle_policy_served(&b.w, b.now + 2 * MS, &req);
	assert_int_equal(before - b.w.cost_ns, 64 * b.w.goal_mean_ns);
}

/*
 * Intervals of 50 ms and busy periods of 20 requests. All of them wait for a read, but where the
 * drive orders only the first does: then reads may begin in each interval, at once when the drive
 * begins to order, and no longer when it ends. Seen to fail when this is found 64 intervals later.
 */
static void test_own_order(void **state)
{
	struct bench b;
	u64 wait_ns;
	u32 i, k;

	bench_begin(&b, 0, 0, 1);
	fb_idle_policy_set_goals(&b.w, MS / 2, 50 * MS);
	for (i = 0; i < 128; i++) {
		b.now += 50 * MS;
		for (k = 0; k < 20; k++)
			fb_idle_policy_arrive(&b.w, b.now, NULL, NULL);
		b.now += 100 * MS;
		fb_idle_policy_idle(&b.w, b.now);
	}
	wait_ns = b.w.wait_ns;
	assert_true(wait_ns > 50 * MS);
	fb_idle_policy_set_own_order(&b.w, true, 0);
	assert_true(b.w.wait_ns < 50 * MS);
	fb_idle_policy_set_own_order(&b.w, true, MS);
	assert_int_equal(b.w.lead_ns, MS);
	fb_idle_policy_set_own_order(&b.w, false, 0);
	assert_int_equal(b.w.wait_ns, wait_ns);
}

/*
 * Where the drive orders, an idle read of 10 ms of which the last 8 are met by the first of two
 * requests: what they wait is what the virtual drives say, 12 ms together, and so 2 ms less each
 * than what is left of the read. Where nothing is followed, the 8 ms. Seen to fail when what is met
 * is charged besides, when requests do not count for the mean, and when those of intervals that the
 * drive was busy in do.
 */
static void test_twin(void **state)
{
	struct fb_fg_req req = { 1000, 8, false, 0 };
	struct bench b;
	s64 before;
	u32 i, k;

	bench_begin(&b, 0, 0, 1);
	fb_idle_policy_set_own_order(&b.w, true, 0);
	for (i = 0; i < 40; i++) {
		b.now += 100 * MS;
		fb_idle_policy_sent(&b.w, b.now, 0, 128, NULL);
		b.w.twin.follows = i != 39;
		b.w.twin.alike = true;
		before = b.w.cost_ns;
		req.arrived_ns = b.now + 2 * MS;
		fb_idle_policy_arrive(&b.w, req.arrived_ns, NULL, &req);
		fb_idle_policy_ended(&b.w, b.now + 10 * MS);
		assert_int_equal(b.w.cost_ns - before, i == 39 ? 8 * MS : 0);
		b.w.twin.later_ns = 12 * MS;
		fb_idle_policy_arrive(&b.w, b.now + 11 * MS, NULL, &req);
		if (i != 39)
			assert_int_equal(b.w.cost_ns - before, 12 * MS);
		for (k = 0; k < 2; k++)
			fb_idle_policy_served(&b.w, b.now + 20 * MS, &req);
		fb_idle_policy_idle(&b.w, b.now + 20 * MS);
		/* a request before the drive has written does not count */
		fb_idle_policy_hold(&b.w, b.now + 60 * MS);
		fb_idle_policy_arrive(&b.w, b.now + 40 * MS, NULL, &req);
		fb_idle_policy_served(&b.w, b.now + 50 * MS, &req);
		fb_idle_policy_idle(&b.w, b.now + 50 * MS);
	}
	assert_int_equal(b.w.behind.n, 2 * 39);
	assert_int_equal(fb_idle_cost_mean_ns(&b.w.behind, 0), -2 * (s64)MS);
}

/* one more read of a stream where the drive orders, behind an idle read or not */
static s64 bench_stream(struct bench *b, u64 *lbn, u64 took_ns, bool read)
{
	struct fb_fg_req req = { *lbn, 8, false, 0 };
	s64 before = b->w.cost_ns;

	if (read) {
		fb_idle_policy_sent(&b->w, b->now, 0, 128, NULL);
		fb_idle_policy_ended(&b->w, b->now + MS);
	}
	req.arrived_ns = b->now + 50 * MS;
	fb_idle_policy_arrive(&b->w, req.arrived_ns, NULL, &req);
	b->now = req.arrived_ns + took_ns;
	fb_idle_policy_served(&b->w, b->now, &req);
	fb_idle_policy_idle(&b->w, b->now);
	*lbn += 8;
	return b->w.cost_ns - before;
}

/*
 * Where the drive orders and reads ahead for a stream, a request behind idle reads is charged what
 * it takes longer than others, of which the virtual drives know nothing; and a write where the
 * stream goes on ends its read-ahead. Seen to fail when such requests are told to the virtual
 * drives only, when writes are not told to the account of streams, and when it is not in the mean
 * that thresholds are found by.
 */
static void test_ordered_stream(void **state)
{
	struct fb_fg_req write = { 0, 8, true, 0 };
	struct bench b;
	u64 lbn = 1000;
	s64 ns;
	u32 i;

	(void)state;
	bench_begin(&b, 0, 0, 1);
	fb_idle_policy_set_own_order(&b.w, true, 0);
	for (i = 0; i < 40; i++)
		assert_int_equal(bench_stream(&b, &lbn, MS / 5, false), 0);
	b.w.behind_ns = 0;
	ns = bench_stream(&b, &lbn, 7 * MS, true);
	assert_in_range(ns, 67 * MS / 10, 69 * MS / 10);
	assert_int_equal(b.w.behind_ns, ns);
	write.lbn = lbn;
	fb_idle_policy_wrote(&b.w, NULL, &write);
	lbn += 8;
	assert_int_equal(bench_stream(&b, &lbn, 7 * MS, true), 0);
}

/*
 * A write that is held back for a place at the drive, whose cache then takes it, is not followed,
 * but ends the read-ahead of a stream. Seen to fail when the account of streams is not told.
 */
static void test_unfollowed(void **state)
{
	struct fb_fg_req req = { 1000 + 40 * 8, 8, false, 0 };
	struct bench b;
	u64 lbn = 1000;
	u32 i;

	(void)state;
	bench_begin(&b, 0, 0, 1);
	fb_idle_policy_set_own_order(&b.w, true, 0);
	for (i = 0; i < 40; i++)
		bench_stream(&b, &lbn, MS / 5, false);
	fb_idle_policy_set_own_order(&b.w, false, 0);
	fb_idle_policy_arrive_unfollowed(&b.w, b.now + MS, NULL);
	fb_idle_policy_arrive_unfollowed(&b.w, b.now + MS, &req);
	assert_true(fb_idle_cost_is_ahead(&b.w.cost, &req));
	req.write = true;
	fb_idle_policy_arrive_unfollowed(&b.w, b.now + MS, &req);
	req.write = false;
	req.lbn += 8;
	assert_false(fb_idle_cost_is_ahead(&b.w.cost, &req));
}

/*
 * Behind reads that nobody has met, first requests end 3 ms sooner than they would have, or 2 ms
 * later: 0.5 ms sooner on the mean. Seen to fail with samples bounded by what may be given back.
 */
static void test_sooner(void **state)
{
	struct fb_fg_req req = { 1000, 8, false, 0 };
	struct bench b;
	u32 i;

	bench_settle(&b);
	fb_idle_policy_set_goals(&b.w, MS / 100, 50 * MS);
	for (i = 0; i < 100; i++) {
		fb_idle_policy_sent(&b.w, b.now, 0, 128, NULL);
		fb_idle_policy_ended(&b.w, b.now + 8 * MS);
		req.arrived_ns = b.now + 20 * MS;
		fb_idle_policy_arrive(&b.w, req.arrived_ns, NULL, &req);
		b.w.cost.known = true;
		b.w.cost.without_ns = 4 * MS;
		b.w.cost.turn_ns = 8 * MS;
		b.now = req.arrived_ns + (i % 2 ? MS : 6 * MS);
		fb_idle_policy_served(&b.w, b.now, &req);
		fb_idle_policy_idle(&b.w, b.now);
	}
	assert_int_equal(fb_idle_cost_mean_ns(&b.w.moved, 0), -(s64)MS / 2);
}

/* requests wait for the last 6 ms of a read; at first all of them are followed */
static struct fb_fg_req bench_meet(struct bench *b)
{
	struct fb_fg_req req = { 1000, 8, false, 0 };

	bench_settle(b);
	b->w.alone[0] = (struct fb_idle_policy_first) { 0 };
	b->w.cost_ns = 0;
	fb_idle_policy_sent(&b->w, b->now, 0, 128, NULL);
	req.arrived_ns = b->now + 2 * MS;
	fb_idle_policy_arrive(&b->w, b->now + 2 * MS, NULL, &req);
	b->w.cost.known = true;
	b->w.cost.without_ns = MS;
	b->w.cost.turn_ns = 8 * MS;
	fb_idle_policy_arrive(&b->w, b->now + 3 * MS, NULL, &req);
	return req;
}

/*
 * A request that cannot be followed comes: those before it that have not ended are charged as if
 * nothing had been known, each once. Seen to fail when they are forgiven, and when those that have
 * ended are charged again.
 */
static void test_lost(void **state)
{
	struct fb_fg_req req;
	struct bench b;

	/* when the read has ended: three wait, and their ends cost no more */
	req = bench_meet(&b);
	fb_idle_policy_ended(&b.w, b.now + 8 * MS);
	assert_int_equal(b.w.cost_ns, 0);
	fb_idle_policy_arrive(&b.w, b.now + 9 * MS, NULL, NULL);
	assert_int_equal(b.w.cost_ns, 18 * MS);
	fb_idle_policy_lose(&b.w);
	fb_idle_policy_served(&b.w, b.now + 20 * MS, &req);
	assert_int_equal(b.w.cost_ns, 18 * MS);
	/* before that */
	bench_meet(&b);
	fb_idle_policy_arrive(&b.w, b.now + 4 * MS, NULL, NULL);
	fb_idle_policy_ended(&b.w, b.now + 8 * MS);
	assert_int_equal(b.w.cost_ns, 18 * MS);
	/* when the first, which alone would have taken 1 ms, has ended: it has cost 6 ms and 0.5 */
	req = bench_meet(&b);
	fb_idle_policy_ended(&b.w, b.now + 8 * MS);
	fb_idle_policy_served(&b.w, b.now + 95 * MS / 10, &req);
	assert_int_equal(b.w.cost_ns, 65 * MS / 10);
	fb_idle_policy_lose(&b.w);
	assert_int_equal(b.w.cost_ns, 125 * MS / 10);
}

/*
 * The drive begins to order while requests wait for an idle read: they are charged once, as it
 * ends. The write for which it orders counts as one behind which the next idle read goes. Seen to
 * fail when only the virtual drives are lost, and when a write does not count before the drive
 * orders.
 */
static void test_begins_to_order(void **state)
{
	struct fb_fg_req req;
	struct bench b;

	(void)state;
	req = bench_meet(&b);
	fb_idle_policy_wrote(&b.w, NULL, &req);
	assert_true(b.w.twin.wrote);
	fb_idle_policy_set_own_order(&b.w, true, 0);
	fb_idle_policy_ended(&b.w, b.now + 8 * MS);
	assert_int_equal(b.w.cost_ns, 12 * MS);
	fb_idle_policy_served(&b.w, b.now + 20 * MS, &req);
	fb_idle_policy_served(&b.w, b.now + 30 * MS, &req);
	assert_int_equal(b.w.cost_ns, 12 * MS);
}

/*
 * What the virtual drives know is charged when they are lost, as nobody asks them later. Seen to
 * fail when it is not.
 */
static void test_lost_twin(void **state)
{
	struct bench b;

	(void)state;
	bench_begin(&b, 0, 0, 1);
	fb_idle_policy_set_own_order(&b.w, true, 0);
	b.w.twin.follows = true;
	b.w.twin.later_ns = 5 * MS;
	fb_idle_policy_set_own_order(&b.w, false, 0);
	assert_int_equal(b.w.cost_ns, 5 * MS);
	b.w.twin.later_ns = 3 * MS;
	fb_idle_policy_restart(&b.w, b.now);
	assert_int_equal(b.w.cost_ns, 8 * MS);
}

/*
 * The same where no read was met: the first one is charged what they take longer on the mean. Seen
 * to fail when it is forgiven.
 */
static void test_lost_moved(void **state)
{
	struct fb_fg_req req;
	struct bench b;

	bench_meet(&b);
	fb_idle_policy_ended(&b.w, b.now + 8 * MS);
	fb_idle_policy_idle(&b.w, b.now + 20 * MS);
	b.w.moved = (struct fb_idle_cost_mean) { .n = 100, .us = 300000 };
	fb_idle_policy_sent(&b.w, b.now + 30 * MS, 0, 128, NULL);
	fb_idle_policy_ended(&b.w, b.now + 40 * MS);
	req = (struct fb_fg_req) { 1000, 8, false, b.now + 50 * MS };
	fb_idle_policy_arrive(&b.w, req.arrived_ns, NULL, &req);
	b.w.cost.known = true;
	b.w.cost_ns = 0;
	fb_idle_policy_lose(&b.w);
	assert_int_equal(b.w.cost_ns, 3 * MS);
	/* a disk that is idle has nothing to lose */
	fb_idle_policy_idle(&b.w, b.now + 60 * MS);
	b.w.cost.known = true;
	fb_idle_policy_lose(&b.w);
	assert_int_equal(b.w.cost_ns, 3 * MS);
}

/*
 * An hour that another scheduler had the disk is no idle interval, and forgives no debt; it is told
 * as idle all the same, for it may be. Requests and a read whose ends were not seen are over. Seen
 * to fail without each line of fb_idle_policy_restart().
 */
static void test_restart(void **state)
{
	const u64 away_ns = 3600000 * MS;
	struct bench b;
	u64 idle_ns;

	bench_settle(&b);
	idle_ns = b.w.st.idle_ns;
	fb_idle_policy_set_fixed(&b.w, 7 * MS, 128);
	b.w.credit_ns = -MS;
	b.now += away_ns;
	fb_idle_policy_restart(&b.w, b.now);
	assert_int_equal(b.w.st.idle_ns, idle_ns + away_ns);
	assert_int_equal(fb_idle_policy_why(&b.w, b.now + 60 * MS), FB_IDLE_POLICY_BUDGET);
	b.w.credit_ns = 50 * MS;
	assert_int_equal(fb_idle_policy_begin_ns(&b.w, b.now), b.now + 7 * MS);
	fb_idle_policy_sent(&b.w, b.now + 7 * MS, 0, 128, NULL);
	fb_idle_policy_arrive(&b.w, b.now + 8 * MS, NULL, NULL);
	assert_int_equal(b.w.interval_ns, 8 * MS);
	idle_ns = b.w.st.idle_ns;
	b.now += away_ns;
	fb_idle_policy_restart(&b.w, b.now);
	assert_int_equal(b.w.st.idle_ns, idle_ns);
	assert_int_equal(fb_idle_policy_begin_ns(&b.w, b.now), b.now + 7 * MS);
	fb_idle_policy_ended(&b.w, b.now + MS);
	assert_int_equal(b.w.cost_ns, 0);
}

/*
 * One interval in 128 is left without reads, to see what streams take undisturbed. Of eight streams
 * another one may come each time, so that several such intervals follow each other, until a request
 * has taught something; the share stays what it is. Seen to fail when each such interval is alone,
 * and when what is left out is not made good.
 */
static void test_control(void **state)
{
	struct fb_fg_req req = { .nsect = 8 };
	u32 i, controls = 0, run = 0, longest = 0;
	u64 next[8];
	struct bench b;

	(void)state;
	bench_begin(&b, 0, 0, 1);
	fb_idle_policy_set_goals(&b.w, 1000 * MS, 2000 * MS);
	fb_idle_policy_set_fixed(&b.w, 0, 128);
	for (i = 0; i < ARRAY_SIZE(next); i++)
		next[i] = i * 1000000;
	for (i = 0; i < 64000; i++) {
		u32 k = rnd_below(&b.rnd, ARRAY_SIZE(next));

		run = b.w.control ? run + 1 : 0;
		longest = max(longest, run);
		controls += b.w.control;
		if (!b.w.control) {
			fb_idle_policy_sent(&b.w, b.now, 8000000, 128, NULL);
			fb_idle_policy_ended(&b.w, b.now + 10 * MS);
		}
		b.now += 20 * MS;
		req.lbn = next[k];
		req.arrived_ns = b.now;
		next[k] += 8;
		fb_idle_policy_arrive(&b.w, b.now, NULL, &req);
		b.now += MS / 5;
		b.w.cost.should_ns = 5 * MS;
		b.w.cost.turn_ns = 8 * MS;
		fb_idle_policy_served(&b.w, b.now, &req);
		fb_idle_policy_idle(&b.w, b.now);
	}
	print_message("%u of %u intervals, at most %u in a row, %u known\n", controls, i, longest,
		      b.w.cost.took.n);
	assert_in_range(longest, 12, 64);
	assert_in_range(controls * 128, i / 2, i + 64 * 128);
	assert_true(b.w.cost.took.n > 8);
}

/* what control leaves without reads */
struct left {
	u32 n;
	u32 first;
	u32 longest;
};

/*
 * @n busy periods of one request of @nsect, every other one of a stream, 20 ms after the one
 * before; @known: streams can be learnt.
 */
static struct left bench_streams(struct bench *b, u32 n, u32 nsect, bool known)
{
	struct fb_fg_req req = { .nsect = nsect };
	struct left left = { .first = U32_MAX };
	u32 i, run = 0;
	u64 next = 0;

	for (i = 0; i < n; i++) {
		run = b->w.control ? run + 1 : 0;
		left.longest = max(left.longest, run);
		left.n += b->w.control;
		if (b->w.control) {
			left.first = min(left.first, i);
		} else {
			fb_idle_policy_sent(&b->w, b->now, 8000000, 128, NULL);
			fb_idle_policy_ended(&b->w, b->now + 10 * MS);
		}
		b->now += 20 * MS;
		req.lbn = i % 2 ? 400000000 + 1000 * i : next;
		next += i % 2 ? 0 : nsect;
		req.arrived_ns = b->now;
		fb_idle_policy_arrive(&b->w, b->now, NULL, &req);
		b->now += MS / 5;
		fb_idle_policy_served(&b->w, b->now, &req);
		if (!known)
			b->w.cost.took.n = 0;
		fb_idle_policy_idle(&b->w, b->now);
	}
	print_message("%u intervals of %u, from %u on, %u in a row, %u known\n", left.n, n,
		      left.first, left.longest, b->w.cost.took.n);
	return left;
}

static void bench_orders(struct bench *b, bool own)
{
	bench_begin(b, 0, 0, 1);
	fb_idle_policy_set_goals(&b->w, 1000 * MS, 2000 * MS);
	fb_idle_policy_set_fixed(&b->w, 0, 128);
	fb_idle_policy_set_own_order(&b->w, own, 0);
	b->w.cost.turn_ns = 8 * MS;
	b->w.cost.short_sectors = 64;
}

/*
 * Where the drive orders nothing is charged to streams before they are known: the first intervals
 * are left without reads until they are, though every other busy period is of no stream, and are
 * paid for. Seen to fail: the run waits for its turn, and ends with what is of no stream; it begins
 * though we order.
 */
static void test_control_new_stream(void **state)
{
	struct left left;
	struct bench b;

	(void)state;
	bench_orders(&b, true);
	left = bench_streams(&b, 500, 8, true);
	/* the stream's third request begins the run, its fourth is touched, eight are needed */
	assert_int_equal(left.first, 5);
	assert_int_equal(left.n, 18);
	assert_int_equal(left.longest, 18);
	assert_true(b.w.cost.took.n >= 8);
	bench_orders(&b, false);
	assert_in_range(bench_streams(&b, 500, 8, true).first, 32, 128);
}

/*
 * If streams are never known the share is what it is otherwise, and a run ends. What says nothing
 * of the drive's read-ahead, for it takes long anyway, begins none; nor goes one on in which reads
 * have begun, as it was idle for so long. Seen to fail: without the debt, with shorter runs and
 * longer ones, and with runs for long requests or slow ones.
 */
static void test_control_never_known(void **state)
{
	struct fb_fg_req req = { .nsect = 8 };
	struct left left;
	struct bench b;
	u32 i;

	(void)state;
	bench_orders(&b, true);
	left = bench_streams(&b, 64000, 8, false);
	assert_int_equal(left.first, 5);
	assert_in_range(left.n, 64000 / 129 - 64, 64000 / 31);
	assert_in_range(left.longest, 60, 64);
	bench_orders(&b, true);
	left = bench_streams(&b, 64000, 128, true);
	assert_in_range(left.first, 31, 128);
	assert_in_range(left.n, 64000 / 129 - 64, 64000 / 31);
	assert_in_range(left.longest, 1, 16);
	bench_orders(&b, true);
	for (i = 0; i < 4; i++) {
		fb_idle_policy_sent(&b.w, b.now, 8000000, 128, NULL);
		fb_idle_policy_ended(&b.w, b.now + 10 * MS);
		b.now += 11000 * MS;
		req.lbn = 8 * i;
		req.arrived_ns = b.now;
		fb_idle_policy_arrive(&b.w, b.now, NULL, &req);
		b.now += MS / 5;
		fb_idle_policy_served(&b.w, b.now, &req);
		fb_idle_policy_idle(&b.w, b.now);
	}
	assert_false(b.w.control);
	assert_int_equal(b.w.controls, 0);
}

/* Two reads that are near each other by chance are no stream. Seen to fail: they begin a run. */
static void test_control_by_chance(void **state)
{
	struct fb_fg_req req = { .nsect = 8 };
	struct bench b;
	u32 i;

	(void)state;
	bench_orders(&b, true);
	for (i = 0; i < 12; i++) {
		req.lbn = 1000000 * (i / 2) + 8 * (i % 2);
		req.arrived_ns = b.now + 20 * MS;
		b.now += 20 * MS;
		fb_idle_policy_arrive(&b.w, b.now, NULL, &req);
		b.now += MS / 5;
		fb_idle_policy_served(&b.w, b.now, &req);
		fb_idle_policy_idle(&b.w, b.now);
		assert_false(b.w.control);
	}
}

/*
 * While nothing tells what requests behind reads wait, one interval in 32 is left alone; where the
 * drive orders, one in 128 once enough were followed, though others cannot be. Seen to fail: what
 * is followed just now decides.
 */
static void test_control_unknown(void **state)
{
	u32 own, i, controls;
	struct bench b;

	(void)state;
	for (own = 0; own < 2; own++) {
		bench_begin(&b, 0, 0, 1);
		fb_idle_policy_set_goals(&b.w, 1000 * MS, 2000 * MS);
		fb_idle_policy_set_fixed(&b.w, 0, 128);
		fb_idle_policy_set_own_order(&b.w, own, 0);
		controls = 0;
		for (i = 0; i < 6400; i++) {
			b.w.behind.n = own ? 256 : 0;
			controls += b.w.control;
			if (!b.w.control) {
				fb_idle_policy_sent(&b.w, b.now, 8000000, 128, NULL);
				fb_idle_policy_ended(&b.w, b.now + 10 * MS);
			}
			intervals(&b, 1, 20 * MS);
		}
		assert_in_range(controls, 6400 / (own ? 129 : 33) - 2, 6400 / (own ? 128 : 32));
	}
}

/* first requests that take longer behind idle reads count as moved beyond three standard errors */
static void test_chance(void **state)
{
	const u32 mean = 1000, sd = 300, n = 100;
	struct fb_idle_policy_status st;
	struct bench b;
	u32 more;

	bench_begin(&b, 0, 0, 1);
	for (more = 120; more < 135; more++) {
		u64 with = mean + more;

		b.w.alone[0] = (struct fb_idle_policy_first) {
			n, n * mean, n * ((u64)mean * mean + sd * sd),
		};
		b.w.alone[1] = (struct fb_idle_policy_first) {
			n, n * with, n * (with * with + sd * sd),
		};
		fb_idle_policy_status(&b.w, 0, &st);
		/* 3 sqrt(2 300^2 / 100) = 127.3 */
		assert_int_equal(st.moved_ns, more < 128 ? 0 : more * 1000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_goals_are_kept),
		cmocka_unit_test(test_fixed),
		cmocka_unit_test(test_maximum),
		cmocka_unit_test(test_budget),
		cmocka_unit_test(test_moved),
		cmocka_unit_test(test_first_intervals),
		cmocka_unit_test(test_spared),
		cmocka_unit_test(test_by_hand),
		cmocka_unit_test(test_ages),
		cmocka_unit_test(test_read_times),
		cmocka_unit_test(test_cached),
		cmocka_unit_test(test_first_and_next),
		cmocka_unit_test(test_still_there),
		cmocka_unit_test(test_refunds),
		cmocka_unit_test(test_own_order),
		cmocka_unit_test(test_twin),
		cmocka_unit_test(test_ordered_stream),
		cmocka_unit_test(test_unfollowed),
		cmocka_unit_test(test_sooner),
		cmocka_unit_test(test_restart),
		cmocka_unit_test(test_lost),
		cmocka_unit_test(test_begins_to_order),
		cmocka_unit_test(test_lost_twin),
		cmocka_unit_test(test_lost_moved),
		cmocka_unit_test(test_control),
		cmocka_unit_test(test_control_new_stream),
		cmocka_unit_test(test_control_never_known),
		cmocka_unit_test(test_control_by_chance),
		cmocka_unit_test(test_control_unknown),
		cmocka_unit_test(test_chance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
