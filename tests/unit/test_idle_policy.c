// SPDX-License-Identifier: GPL-2.0
/*
 * Waiting: a disk that serves one request after the other, arrivals at random, and idle
 * reads whenever the policy says so. What the requests really wait longer is compared with
 * the goals and with what the policy says.
 */
#include <math.h>

#include "core/idle_policy.h"
#include "support.h"

#define US 1000ULL
#define MS 1000000ULL
#define TURN FB_IDLE_TURN_NS
#define REQUESTS 50000

/* a disk of 10 ms a request and 2 ms + 5 us a sector an idle read, without and with these */
struct lane {
	u64 free_ns;	/* the disk without idle reads is free then */
	u64 real_ns;	/* and with them */
};

/* a request at the disk with idle reads */
struct pending {
	struct fb_fg_req req;
	u64 end_ns;
};

static struct bench {
	struct fb_idle_policy w;
	struct fb_destage d;
	struct rnd rnd;
	double mean_gap_ns;
	double tail;	/* 0: exponential; else the exponent of a Pareto distribution */
	struct lane lane;
	u64 read_ends_ns;
	u64 now;
	u64 requests;
	u64 served;
	u64 late_ns;
	u64 most_ns;
	u64 read_ns;
} b;

static struct pending all[REQUESTS];
static struct fb_idle_policy_status st;

/* ---- what the host does ---- */

static void bench_begin(double mean_gap_ms, double tail, u64 seed)
{
	memset(&b, 0, sizeof(b));
	fb_destage_init(&b.d, TURN);
	fb_idle_policy_init(&b.w, 0);
	fb_idle_policy_set_drive(&b.w, TURN, 10000000);
	b.rnd.state = seed;
	b.mean_gap_ns = mean_gap_ms * 1e6;
	b.tail = tail;
}

int setup(void **state)
{
	bench_begin(0, 0, 1);
	return 0;
}

/* an idle read is sent, and it ends */
static void bench_sent(u64 now, u32 nsect)
{
	fb_idle_policy_sent(&b.w, now, nsect);
	fb_destage_idle_sent(&b.d, now);
}

static void bench_ended(u64 now)
{
	fb_idle_policy_judge(&b.w, now, &b.d);
	fb_idle_policy_ended(&b.w, now);
}

/* one that nobody meets */
static void bench_read(u64 ns)
{
	bench_sent(b.now, 128);
	bench_ended(b.now += ns);
}

/* a request of no stream comes, or ends */
static struct fb_fg_req bench_arrive(u64 now)
{
	struct fb_fg_req req = {
		.lbn = rnd_below(&b.rnd, 1ULL << 40),
		.nsect = 8,
		.arrived_ns = now,
	};

	fb_idle_policy_arrive(&b.w, now, &req);
	return req;
}

/* so many idle intervals of a length, each followed by a request of 10 ms */
static void intervals(u32 n, u64 ns)
{
	struct fb_fg_req req;

	for (; n; n--) {
		req = bench_arrive(b.now += ns);
		fb_idle_policy_served(&b.w, b.now += 10 * MS, &req);
		fb_idle_policy_idle(&b.w, b.now);
	}
}

/* an idle disk, 100 requests alone every 40 ms, 10 ms each, and then idle since @b.now */
static void bench_settle(void)
{
	intervals(100, 40 * MS);
}

/* ---- arrivals at random ---- */

static double bench_unit(void)
{
	return (rnd_next(&b.rnd) >> 11) / 9007199254740992.0;
}

static u64 bench_gap(void)
{
	double u = 1 - bench_unit();

	if (!b.tail)
		return -log(u) * b.mean_gap_ns;
	/* the mean of a Pareto distribution from x0 on is x0 a / (a - 1) */
	return b.mean_gap_ns * (b.tail - 1) / b.tail * pow(u, -1 / b.tail);
}

/* idle reads until the next arrival; the last of them may still be going on then */
static void bench_idle(u64 next)
{
	u64 at, end;
	u32 n;

	while (1) {
		at = fb_idle_policy_begin_ns(&b.w, b.now);
		if (at == FB_IDLE_POLICY_NEVER || max(at, b.now) >= next)
			return;
		b.now = max(at, b.now);
		n = b.w.sectors;
		end = b.now + 2 * MS + n * 5000ULL;
		bench_sent(b.now, n);
		b.read_ns += end - b.now;
		b.lane.real_ns = end;
		b.read_ends_ns = end;
		if (end > next)
			return;
		bench_ended(end);
		b.now = end;
	}
}

/* what ends until a moment */
static void bench_until(u64 until)
{
	struct pending *p;

	if (b.w.reading && b.read_ends_ns <= until)
		bench_ended(b.read_ends_ns);
	for (; b.served < b.requests && all[b.served].end_ns <= until; b.served++) {
		p = &all[b.served];
		b.now = p->end_ns;
		fb_idle_policy_served(&b.w, b.now, &p->req);
		if (b.served + 1 == b.requests)
			fb_idle_policy_idle(&b.w, b.now);
	}
}

static void bench_run(void)
{
	u64 next = 0, service, done, late;

	while (b.requests < REQUESTS) {
		next += bench_gap();
		bench_until(next);
		if (!b.w.busy)
			bench_idle(next);
		service = 5 * MS + rnd_below(&b.rnd, 10 * MS);
		done = max(b.lane.free_ns, next) + service;
		b.lane.free_ns = done;
		b.lane.real_ns = max(b.lane.real_ns, next) + service;
		late = b.lane.real_ns - done;
		all[b.requests].req = bench_arrive(next);
		all[b.requests++].end_ns = b.lane.real_ns;
		b.late_ns += late;
		b.most_ns = max(b.most_ns, late);
		b.now = next;
	}
	bench_until(U64_MAX);
}

static void bench_check(u64 mean_ns, u64 max_ns)
{
	fb_idle_policy_status(&b.w, b.now, &st);
	assert_true(b.late_ns <= mean_ns * b.requests);
	assert_true(b.most_ns <= max_ns);
	assert_true(st.max_ns <= max_ns);
	/* what is charged is what was waited */
	assert_int_equal(st.mean_ns, b.late_ns / b.requests);
	assert_int_equal(st.requests, b.requests);
	/* and most of it is used up, or the time is */
	assert_true(st.mean_ns > mean_ns * 65 / 100 || b.read_ns > st.idle_ns);
}

/*
 * Poisson arrivals at 5, 30, 60 and 85 % load, heavy-tailed ones at 5, 30, 60 %, three
 * goals. With heavy tails at 85 % a single busy period has thousands of requests, and the
 * first such cannot be foreseen.
 *
 * Seen to fail: only the first request of a busy period charged; no budget, or one that looks at no
 * more than one request; what is saved up not spent; less of the goal aimed at.
 */
TEST(test_goals_are_kept)
{
	static const double loads[] = { 0.05, 0.3, 0.6, 0.85 };
	static const u64 means[] = { MS / 5, MS / 2, 2 * MS };
	u32 i, k, tail;

	for (tail = 0; tail < 2; tail++)
		for (i = 0; i < ARRAY_SIZE(loads) - tail; i++)
			for (k = 0; k < ARRAY_SIZE(means); k++) {
				bench_begin(10 / loads[i], tail ? 1.3 : 0, 1 + i);
				fb_idle_policy_set_goals(&b.w, means[k], 50 * MS);
				bench_run();
				bench_check(means[k], 50 * MS);
				assert_true(b.read_ns > 0);
			}
}

/*
 * A stream that the drive reads ahead for is served in 0.2 ms; behind idle reads it takes 12 ms
 * more. Nobody is met, and yet the mean of 1 ms is kept, and used up. Seen to fail with what is met
 * charged to it, and with what it lost not in the budget.
 */
TEST(test_goal_of_streams)
{
	struct fb_fg_req req = { .nsect = 8 };
	u64 took, cost = 0, begin;
	u32 i;

	fb_idle_policy_set_goals(&b.w, MS, 50 * MS);
	fb_idle_policy_set_fixed(&b.w, 0, 128);
	for (i = 0; i < 20000; i++) {
		took = MS / 5;
		begin = fb_idle_policy_begin_ns(&b.w, b.now);
		if (begin <= b.now + 10 * MS) {
			bench_sent(max(begin, b.now), 128);
			bench_ended(b.now + 13 * MS);
			took += 12 * MS;
			cost += 12 * MS;
		}
		req.arrived_ns = b.now += 90 * MS + rnd_below(&b.rnd, 20 * MS);
		fb_idle_policy_arrive(&b.w, b.now, &req);
		fb_idle_policy_served(&b.w, b.now += took + rnd_below(&b.rnd, MS / 10), &req);
		fb_idle_policy_idle(&b.w, b.now);
		req.lbn += 8;
	}
	fb_idle_policy_status(&b.w, b.now, &st);
	/* an eighth is kept back */
	assert_in_range(st.mean_ns, MS * 83 / 100, MS * 7 / 8);
	assert_in_range(cost / i, st.mean_ns * 98 / 100, st.mean_ns * 102 / 100);
}

/* threshold and size as told; a mean of 0 reads nothing; while somebody is there nothing */
TEST(test_fixed)
{
	bench_settle();
	fb_idle_policy_set_goals(&b.w, 100 * MS, 50 * MS);
	fb_idle_policy_set_fixed(&b.w, 7 * MS, 1000);
	assert_int_equal(fb_idle_policy_begin_ns(&b.w, b.now), b.now + 7 * MS);
	assert_int_equal(b.w.sectors, 1000);
	assert_int_equal(fb_idle_policy_why(&b.w, b.now + 7 * MS - 1), FB_IDLE_POLICY_WAITING);
	assert_int_equal(fb_idle_policy_why(&b.w, b.now + 7 * MS), FB_IDLE_POLICY_RUN);
	/* once it has begun the threshold does not matter any more */
	bench_sent(b.now + 7 * MS, 1000);
	assert_int_equal(fb_idle_policy_begin_ns(&b.w, b.now + 8 * MS), FB_IDLE_POLICY_NEVER);
	assert_int_equal(fb_idle_policy_why(&b.w, b.now + 8 * MS), FB_IDLE_POLICY_READING);
	bench_ended(b.now + 9 * MS);
	assert_true(fb_idle_policy_begin_ns(&b.w, b.now + 9 * MS) <= b.now + 9 * MS);
	bench_arrive(b.now + 10 * MS);
	assert_int_equal(fb_idle_policy_begin_ns(&b.w, b.now + 10 * MS), FB_IDLE_POLICY_NEVER);
	assert_int_equal(fb_idle_policy_why(&b.w, b.now + 10 * MS), FB_IDLE_POLICY_BUSY);
	fb_idle_policy_idle(&b.w, b.now + 20 * MS);
	assert_int_equal(fb_idle_policy_begin_ns(&b.w, b.now + 20 * MS), b.now + 27 * MS);
	fb_idle_policy_set_goals(&b.w, 0, 50 * MS);
	assert_int_equal(fb_idle_policy_begin_ns(&b.w, b.now + 30 * MS), FB_IDLE_POLICY_NEVER);
	assert_int_equal(fb_idle_policy_why(&b.w, b.now + 30 * MS), FB_IDLE_POLICY_OFF);
}

/* no read is allowed that can take longer than the maximum with a turn lost */
TEST(test_maximum)
{
	u64 most;
	u32 n;

	bench_settle();
	for (most = MS; most < 200 * MS; most += MS) {
		fb_idle_policy_set_goals(&b.w, MS, most);
		fb_idle_policy_set_fixed(&b.w, FB_IDLE_POLICY_AUTO, FB_IDLE_POLICY_SECTORS_MAX);
		n = b.w.sectors;
		assert_true(!n || n * 10000ULL + 2 * TURN <= most);
		if (!n)
			assert_int_equal(fb_idle_policy_why(&b.w, b.now + 900 * MS),
					 FB_IDLE_POLICY_SHORT);
		assert_true(n == FB_IDLE_POLICY_SECTORS_MAX ||
			    (n + 128) * 10000ULL + 2 * TURN > most);
	}
}

/*
 * By hand: a request finds a read that has 6 ms to go, and another comes 1 ms later and a third
 * when the read has ended: each is charged 6 ms. That is above the mean of 1 ms, and nothing
 * is read any more, but after ten minutes.
 */
TEST(test_budget)
{
	struct fb_fg_req req[3];
	u32 i;

	bench_settle();
	fb_idle_policy_set_goals(&b.w, MS / 100, 50 * MS);
	fb_idle_policy_set_fixed(&b.w, 0, 128);
	b.w.credit_ns = 10 * MS;
	bench_sent(b.now, 128);
	req[0] = bench_arrive(b.now + 2 * MS);
	req[1] = bench_arrive(b.now + 3 * MS);
	bench_ended(b.now += 8 * MS);
	req[2] = bench_arrive(b.now + MS);
	for (i = 0; i < ARRAY_SIZE(req); i++)
		fb_idle_policy_served(&b.w, b.now += 10 * MS, &req[i]);
	fb_idle_policy_idle(&b.w, b.now);
	fb_idle_policy_status(&b.w, b.now, &st);
	assert_int_equal(st.collisions, 1);
	assert_int_equal(st.max_ns, 6 * MS);
	assert_int_equal(st.mean_ns, 18 * MS / 103);
	assert_true(st.credit_ns < 0);
	assert_int_equal(fb_idle_policy_why(&b.w, b.now + 1000 * MS), FB_IDLE_POLICY_BUDGET);
	assert_int_equal(fb_idle_policy_begin_ns(&b.w, b.now), b.now + 600000 * MS);
	assert_int_equal(fb_idle_policy_why(&b.w, b.now + 600000 * MS), FB_IDLE_POLICY_RUN);
}

/*
 * Requests whose ends nobody tells are charged the rest of the read that they meet, each; those
 * that come behind it nothing. Seen to fail with all of them charged, with one of them, and with
 * those of the read before.
 */
TEST(test_unfollowed)
{
	bench_settle();
	bench_sent(b.now, 128);
	fb_idle_policy_arrive(&b.w, b.now + 2 * MS, NULL);
	fb_idle_policy_arrive_unfollowed(&b.w, b.now + 3 * MS, NULL);
	bench_arrive(b.now + 3 * MS);
	bench_ended(b.now + 8 * MS);
	fb_idle_policy_arrive(&b.w, b.now + 9 * MS, NULL);
	assert_int_equal(b.w.cost_ns, 12 * MS);
	fb_idle_policy_idle(&b.w, b.now += 50 * MS);
	bench_sent(b.now, 128);
	fb_idle_policy_arrive(&b.w, b.now + MS, NULL);
	bench_ended(b.now + 8 * MS);
	assert_int_equal(b.w.cost_ns, 19 * MS);
}

/* one more read of a stream, behind an idle read or not */
static s64 bench_stream(u64 *lbn, u64 took_ns, bool read)
{
	struct fb_fg_req req = { *lbn, 8, false, 0 };
	s64 before = b.w.cost_ns;

	if (read)
		bench_read(MS);
	req.arrived_ns = b.now += 50 * MS;
	fb_idle_policy_arrive(&b.w, req.arrived_ns, &req);
	fb_idle_policy_served(&b.w, b.now += took_ns, &req);
	fb_idle_policy_idle(&b.w, b.now);
	*lbn += 8;
	return b.w.cost_ns - before;
}

/*
 * Behind the foreground a drive whose cache takes writes, and that reads ahead, is left an eighth
 * of a turn, others nothing: a granule on is best where it does not read ahead. Seen to fail with
 * these exchanged, and with either of the two not looked at.
 */
TEST(test_wait_least)
{
	u32 i;

	intervals(64, 40 * MS);
	bench_read(MS);
	intervals(1, 40 * MS);
	assert_int_equal(b.w.wait_ns, 0);
	fb_destage_set_cache(&b.d, true, b.now);
	bench_read(MS);
	intervals(1, 40 * MS);
	assert_int_equal(b.w.wait_ns, TURN / 8);
	for (i = 0; i < 400; i++) {
		fb_idle_place_choose(&b.w.place, FB_IDLE_PLACE_ON);
		fb_idle_place_ended(&b.w.place, b.w.place.skip == 1 ? MS : 8 * MS);
	}
	intervals(1, 40 * MS);
	assert_int_equal(b.w.wait_ns, 0);
}

/*
 * By hand: of 110 intervals 10 are of a second, so that what comes behind two turns is 983 ms, and
 * the mean of all 92. Nothing is known of reads but that they take a turn and 1.28 ms, and half of
 * that when they are met: 4.81 ms. With this and three 64ths of what may be saved up the threshold
 * is a turn. Equal ones of 40 ms have 23 behind two turns, and the budget does not count. Seen to
 * fail with means compared that are not divided, and with one part more.
 */
TEST(test_wait_by_budget)
{
	static const u32 parts[] = { 0, 1, 3, 6, 64 };
	u32 i;

	intervals(110, 40 * MS);
	b.w.credit_ns = 0;
	fb_idle_policy_set_goals(&b.w, MS, 50 * MS);
	assert_int_equal(b.w.wait_ns, 0);

	bench_begin(0, 0, 1);
	intervals(100, 1 * MS);
	intervals(9, 1000 * MS);
	intervals(1, 1000 * MS);
	assert_int_equal(b.w.longs, 10);
	b.w.longs = 8;
	b.w.rest_us = b.w.rest_us / 10 * 8;
	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		b.w.credit_ns = 4810 * US + parts[i] * 64 * MS;
		fb_idle_policy_set_goals(&b.w, MS, 50 * MS);
		assert_int_equal(b.w.wait_ns, (TURN / 8) << (6 - min(parts[i], 6U)));
	}
	b.w.credit_ns = 4800 * US;
	fb_idle_policy_set_goals(&b.w, MS, 50 * MS);
	assert_int_equal(b.w.wait_ns, (TURN / 8) << 6);
	/* seven long ones tell nothing */
	b.w.longs = 7;
	fb_idle_policy_set_goals(&b.w, MS, 50 * MS);
	assert_int_equal(b.w.wait_ns, 0);
}

/* the past fades: intervals count half after 1024, the longest busy period slowly */
TEST(test_ages)
{
	u32 i;

	fb_idle_policy_set_fixed(&b.w, 0, 0);
	intervals(1023, 50 * MS);
	assert_int_equal(b.w.lengths, 1023);
	intervals(1, 50 * MS);
	assert_int_equal(b.w.lengths, 512);
	assert_int_equal(b.w.length_us, 512 * 50000);
	assert_int_equal(b.w.longs, 512);
	assert_int_equal(b.w.rest_us, 512 * ((50 * MS - 2 * TURN) / US));

	for (i = 0; i < 10240; i++)
		bench_arrive(b.now);
	fb_idle_policy_idle(&b.w, b.now);
	assert_int_equal(b.w.longest, 10240);
	intervals(100, 50 * MS);
	assert_in_range(b.w.longest, 9300, 9350);
}

/*
 * Behind idle reads a request of a stream is charged what it takes longer than others, also when it
 * meets one, and it counts where thresholds are found. A write where the stream goes on ends its
 * read-ahead, whether the drive's cache takes it or it is not followed. Seen to fail when the rest
 * that it meets is charged instead, when it is no part of the account's ratio, and when writes are
 * not told to the account of streams.
 */
TEST(test_stream)
{
	struct fb_fg_req write = { 0, 8, true, 0 }, req = { 0, 8, false, 0 };
	u64 lbn = 1000, us;
	s64 ns;
	u32 i;

	for (i = 0; i < 40; i++)
		assert_int_equal(bench_stream(&lbn, MS / 5, false), 0);
	for (i = 0; i < 8; i++)
		bench_read(MS);
	us = b.w.account.charge_us;
	ns = bench_stream(&lbn, 7 * MS, true);
	assert_in_range(ns, 67 * MS / 10, 69 * MS / 10);
	assert_int_equal(b.w.account.charge_us - us, ns / US);
	/* it meets a read that has 3 ms to go */
	ns = b.w.cost_ns;
	req.lbn = lbn;
	bench_sent(b.now, 128);
	req.arrived_ns = b.now + MS;
	fb_idle_policy_arrive(&b.w, req.arrived_ns, &req);
	bench_ended(b.now += 4 * MS);
	fb_idle_policy_served(&b.w, b.now += 4 * MS, &req);
	fb_idle_policy_idle(&b.w, b.now);
	assert_in_range(b.w.cost_ns - ns, 67 * MS / 10, 69 * MS / 10);
	lbn += 8;
	/* two that are not, but for reads */
	req.lbn = lbn;
	fb_idle_policy_arrive_unfollowed(&b.w, b.now + MS, NULL);
	fb_idle_policy_arrive_unfollowed(&b.w, b.now + MS, &req);
	assert_true(fb_idle_streams_is_ahead(&b.w.streams, &req));
	write.lbn = lbn;
	fb_idle_policy_arrive_unfollowed(&b.w, b.now + MS, &write);
	fb_idle_policy_idle(&b.w, b.now + 2 * MS);
	req.lbn = lbn += 8;
	assert_false(fb_idle_streams_is_ahead(&b.w.streams, &req));
	bench_stream(&lbn, 7 * MS, false);
	bench_stream(&lbn, MS / 5, false);
	write.lbn = lbn;
	fb_idle_policy_wrote(&b.w, &write);
	lbn += 8;
	assert_int_equal(bench_stream(&lbn, 7 * MS, true), 0);
}

/* ---- where reads go, and what they take ---- */

/* an idle read of @ns; somebody comes @hit_ns behind its beginning if that is not 0 */
static void bench_met(u64 ns, u64 hit_ns, struct fb_fg_req *req)
{
	bench_sent(b.now, 128);
	req->arrived_ns = b.now + hit_ns;
	fb_idle_policy_arrive(&b.w, req->arrived_ns, req);
	bench_ended(b.now += ns);
	fb_idle_policy_served(&b.w, b.now += 5 * MS, req);
	fb_idle_policy_idle(&b.w, b.now);
}

/*
 * Who meets a read is charged the rest of it; if that was late, what such reads usually take.
 * Seen to fail with @blamed always false, and with fb_idle_account_read() told of the whole time.
 */
TEST(test_late)
{
	struct fb_fg_req req = { .lbn = 5000, .nsect = 8 };
	u32 i;

	fb_destage_set_cache(&b.d, true, 0);
	for (i = 0; i < 100; i++)
		bench_read(1 * MS);
	bench_met(1 * MS, 400 * US, &req);
	fb_idle_policy_status(&b.w, b.now, &st);
	assert_int_equal(600 * US, st.mean_ns);
	assert_int_equal(600 * US, st.max_ns);
	/* an interval with two reads, of which the second comes 19 ms late, as the drive writes */
	b.now += 20 * MS;
	bench_read(1 * MS);
	fb_destage_sent(&b.d, b.now, true, 1000, 8);
	fb_destage_ended(&b.d, b.now, true);
	req.lbn = 9000000;
	bench_met(20 * MS, 2 * MS, &req);
	fb_idle_policy_status(&b.w, b.now, &st);
	assert_int_equal((600 + 1000) * US / 2, st.mean_ns);
}

/*
 * The first read goes behind what the foreground did last: a write of the drive's cache before all,
 * and not behind a stream, which goes on there. Seen to fail without fb_idle_streams_go_on_at(),
 * and with @wrote or @from left as they are by fb_idle_policy_sent().
 */
TEST(test_aim)
{
	struct fb_fg_req write = { .lbn = 77777, .nsect = 3, .write = true };
	struct fb_idle_policy_aim aim;
	u64 lbn = 5000;
	u32 i;

	fb_idle_policy_aim(&b.w, &b.d, &aim);
	assert_false(aim.moved);
	for (i = 0; i < 4; i++) {
		bench_stream(&lbn, 5 * MS, false);
		fb_idle_policy_aim(&b.w, &b.d, &aim);
		/* two requests may follow each other by chance */
		assert_int_equal(i < 1, aim.moved);
		if (aim.moved)
			assert_int_equal(lbn, aim.lbn);
	}
	fb_idle_policy_wrote(&b.w, &write);
	b.d.next_lbn = write.lbn + write.nsect;
	b.d.bare_now = false;
	fb_idle_policy_aim(&b.w, &b.d, &aim);
	assert_true(aim.moved && aim.lbn == 77780 && !aim.over);
	bench_read(1 * MS);
	intervals(1, MS);
	fb_idle_policy_aim(&b.w, &b.d, &aim);
	assert_true(aim.moved && aim.lbn != 77780);
	bench_read(1 * MS);
	fb_idle_policy_aim(&b.w, &b.d, &aim);
	assert_false(aim.moved);
}

/* ---- a disk that others had ---- */

/*
 * An hour that another scheduler had the disk is no idle interval, and forgives no debt; it is told
 * as idle all the same, for it may be. Requests and a read whose ends were not seen are over. Seen
 * to fail without each line of fb_idle_policy_restart().
 */
TEST(test_restart)
{
	const u64 away_ns = 3600000 * MS;
	u64 idle_ns;

	bench_settle();
	idle_ns = b.w.st.idle_ns;
	fb_idle_policy_set_fixed(&b.w, 7 * MS, 128);
	b.w.credit_ns = -MS;
	b.now += away_ns;
	fb_idle_policy_restart(&b.w, b.now);
	assert_int_equal(b.w.st.idle_ns, idle_ns + away_ns);
	assert_int_equal(fb_idle_policy_why(&b.w, b.now + 60 * MS), FB_IDLE_POLICY_BUDGET);
	b.w.credit_ns = 50 * MS;
	assert_int_equal(fb_idle_policy_begin_ns(&b.w, b.now), b.now + 7 * MS);
	bench_sent(b.now + 7 * MS, 128);
	fb_idle_policy_arrive(&b.w, b.now + 8 * MS, NULL);
	assert_int_equal(b.w.interval_ns, 8 * MS);
	idle_ns = b.w.st.idle_ns;
	b.now += away_ns;
	fb_idle_policy_restart(&b.w, b.now);
	assert_int_equal(b.w.st.idle_ns, idle_ns);
	assert_int_equal(fb_idle_policy_begin_ns(&b.w, b.now), b.now + 7 * MS);
	bench_ended(b.now + MS);
	assert_int_equal(b.w.cost_ns, 0);
}

/* ---- intervals without reads ---- */

/* what control leaves without reads */
struct left {
	u32 n;
	u32 first;
	u32 last;
	u32 longest;
};

static void bench_control(void)
{
	setup(NULL);
	fb_idle_policy_set_goals(&b.w, 1000 * MS, 2000 * MS);
	fb_idle_policy_set_fixed(&b.w, 0, 128);
}

/* an interval, with a read unless it is left without */
static void bench_interval(struct left *left, u32 i, u32 *run)
{
	*run = b.w.control ? *run + 1 : 0;
	left->longest = max(left->longest, *run);
	left->n += b.w.control;
	if (b.w.control) {
		left->first = min(left->first, i);
		left->last = i;
	} else {
		bench_sent(b.now, 128);
		bench_ended(b.now + 10 * MS);
	}
	b.now += 20 * MS;
}

/*
 * @n busy periods of one request of @nsect, which one of @streams goes on with, or if there is but
 * one every other; @known: streams can be learnt.
 */
static struct left bench_streams(u32 n, u32 nsect, u32 streams, bool known)
{
	struct fb_fg_req req = { .nsect = nsect };
	struct left left = { .first = U32_MAX };
	u64 next[8] = { 0 };
	u32 i, k, run = 0;

	for (i = 0; i < n; i++) {
		bench_interval(&left, i, &run);
		k = rnd_below(&b.rnd, streams);
		req.lbn = 1000000 * k + next[k];
		if (streams == 1 && i % 2)
			req.lbn = 400000000 + 1000 * i;
		else
			next[k] += nsect;
		req.arrived_ns = b.now;
		fb_idle_policy_arrive(&b.w, b.now, &req);
		fb_idle_policy_served(&b.w, b.now += MS / 5, &req);
		if (!known)
			b.w.streams.took[true].n = 0;
		fb_idle_policy_idle(&b.w, b.now);
	}
	return left;
}

/*
 * Nothing is charged to streams before they are known: the first intervals are left without reads
 * until they are, though every other busy period is of no stream, or another stream comes each
 * time; and then none any more. Seen to fail: the run ends with what is of no stream; it goes on
 * when they are known.
 */
TEST(test_control)
{
	struct left left;

	bench_control();
	left = bench_streams(64000, 8, 1, true);
	/* the stream's third request begins the run, its fourth is touched, eight are needed */
	assert_int_equal(left.first, 5);
	assert_int_equal(left.n, 18);
	assert_int_equal(left.last, 22);
	assert_true(b.w.streams.took[true].n >= 8);
	bench_control();
	left = bench_streams(64000, 8, 8, true);
	assert_in_range(left.first, 2, 16);
	assert_in_range(left.n, 8, 48);
	assert_int_equal(left.longest, left.n);
	assert_true(b.w.streams.took[true].n >= 8);
}

/*
 * If streams are never known a run ends all the same, and is made good before the next one. What
 * says nothing of the drive's read-ahead, for it takes long anyway, begins none; nor goes one on in
 * which reads have begun, as it was idle for so long. Seen to fail: without the debt, with shorter
 * runs and longer ones, and with runs for long requests.
 */
TEST(test_control_never_known)
{
	struct fb_fg_req req = { .nsect = 8 };
	struct left left;
	u32 i;

	bench_control();
	left = bench_streams(64000, 8, 1, false);
	assert_int_equal(left.first, 5);
	assert_in_range(left.longest, 60, 64);
	assert_in_range(left.n, 64000 / 129 - 64, 64000 / 129 + 64);
	bench_control();
	assert_int_equal(bench_streams(64000, 256, 1, true).n, 0);
	bench_control();
	for (i = 0; i < 4; i++) {
		bench_read(10 * MS);
		req.lbn = 8 * i;
		req.arrived_ns = b.now += 11000 * MS;
		fb_idle_policy_arrive(&b.w, b.now, &req);
		fb_idle_policy_served(&b.w, b.now += MS / 5, &req);
		fb_idle_policy_idle(&b.w, b.now);
	}
	assert_false(b.w.control);
	assert_int_equal(b.w.controls, 0);
}

/*
 * An interval that is left alone waits ten seconds, and reads then. Seen to fail with reads at once
 * and with none at all.
 */
TEST(test_control_ends)
{
	u64 lbn = 0;
	u32 i;

	bench_control();
	for (i = 0; i < 3; i++)
		bench_stream(&lbn, MS / 5, false);
	assert_true(b.w.control);
	assert_int_equal(fb_idle_policy_why(&b.w, b.now + 9999 * MS), FB_IDLE_POLICY_CONTROL);
	assert_int_equal(fb_idle_policy_begin_ns(&b.w, b.now), b.now + 10000 * MS);
	assert_int_equal(fb_idle_policy_why(&b.w, b.now + 10000 * MS), FB_IDLE_POLICY_RUN);
}

/*
 * The drive is silent for three seconds below an idle read: who meets it is charged what such reads
 * usually take, or nothing when that is not known; no time and no interval is learnt; reads pause
 * for as long. Seen to fail with fb_idle_account_stall() always false (the charge), with a time
 * that is learnt before the usual one is known, and with a shorter read taken for a stall.
 */
TEST(test_stall)
{
	struct fb_fg_req req;
	u32 i;

	b.now = 10 * MS;
	bench_read(3000 * MS);
	assert_int_equal(0, b.w.times.of[0].n + b.w.times.of[FB_IDLE_TIMES_FIRST].n);
	for (i = 0; i < 16; i++)
		bench_read(1 * MS);
	assert_int_equal(1 * MS, fb_idle_times_usual_ns(&b.w.times, 0));
	b.now += 3000 * MS;
	bench_read(100 * US);
	assert_int_equal(b.now, fb_idle_policy_begin_ns(&b.w, b.now));
	bench_sent(b.now, 128);
	req = bench_arrive(b.now + 400 * MS);
	bench_ended(b.now += 3000 * MS);
	fb_idle_policy_served(&b.w, b.now + 5 * MS, &req);
	fb_idle_policy_idle(&b.w, b.now + 5 * MS);
	fb_idle_policy_status(&b.w, b.now + 5 * MS, &st);
	assert_in_range(st.mean_ns, 900 * US, 1 * MS);
	assert_in_range(fb_idle_times_usual_ns(&b.w.times, 0), 900 * US, 1 * MS);
	assert_int_equal(0, b.w.lengths);
	assert_in_range(fb_idle_policy_begin_ns(&b.w, b.now + 5 * MS), b.now + 2900 * MS,
			b.now + 3000 * MS);
	assert_int_equal(FB_IDLE_POLICY_STALL, fb_idle_policy_why(&b.w, b.now + 5 * MS));
}

/* a hundred requests at once, the first of which ends at @first_ns, and then each @each_ns later */
static void bench_crowd(u64 first_ns, u64 each_ns)
{
	u32 i;

	for (i = 0; i < 100; i++)
		all[i].req = bench_arrive(b.now);
	for (i = 0; i < 100; i++)
		fb_idle_policy_served(&b.w, b.now + first_ns + i * each_ns, &all[i].req);
	b.now += first_ns + 100 * each_ns;
	fb_idle_policy_idle(&b.w, b.now);
}

/*
 * The same below the foreground: a hundred requests have come when it ends, which are not the
 * longest busy period that idle reads have to be paid for. Who takes long because others are before
 * it has met no stall. Seen to fail with the interval counted.
 */
TEST(test_stall_foreground)
{
	b.now = 1000 * MS;
	bench_crowd(3000 * MS, MS);
	assert_int_equal(0, b.w.longest);
	assert_int_equal(0, b.w.lengths);
	/* the drive may have spun up: no reason to pause */
	assert_int_equal(b.now, fb_idle_policy_begin_ns(&b.w, b.now));
	b.now += 4000 * MS;
	bench_crowd(10 * MS, 10 * MS);
	assert_int_equal(100, b.w.longest);
	assert_int_equal(1, b.w.lengths);
}
