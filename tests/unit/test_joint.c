// SPDX-License-Identifier: GPL-2.0
/*
 * Requests and their free reads chosen together, against the definitions (core/joint.h) in
 * floating point: candidates, scores, and the price that a controller keeps.
 *
 * Planted bugs, each seen to fail: see beside the tests.
 */
#include <math.h>

#include "core/block_value.h"
#include "core/joint.h"
#include "support.h"

#define MOST 256
#define NOW_NS 1000000000ULL
#define WINDOW_NS 8000000000ULL
#define PRICE_MOST (64 * FB_PRICE_ONE)	/* the highest price that is paid for a gap */

static struct disk_model *dm;
static struct fb_conservatism margin;
static struct fb_policy_pool pool;
static struct fb_policy_req req[MOST];
static struct fb_block_value worth;
static struct fb_joint joint;
static struct fb_joint_round r;
static u32 slice = MOST;	/* requests that are ranked in one step */

int setup(void **state)
{
	dm = support_model_file("models/atlas10k.fbmodel");
	fb_conservatism_init(&margin, dm, FB_CONSERVATISM_TARGET_PPM);
	fb_joint_init(&joint, dm, FB_JOINT_COST_PPM);
	memset(&worth, 0, sizeof(worth));
	memset(&r, 0, sizeof(r));
	return 0;
}

int teardown(void **state)
{
	dm_free(dm);
	return 0;
}

/* @near: close together */
static void fill(struct rnd *rnd, u32 n, bool near)
{
	u64 span = near ? 20000 : dm_info(dm)->sectors - 64;
	u64 base = rnd_below(rnd, dm_info(dm)->sectors - 64 - (near ? span : 0) + 1);
	u32 i;

	fb_policy_pool_init(&pool);
	pool.policy = FB_POLICY_SPTF;
	for (i = 0; i < n; i++) {
		memset(&req[i], 0, sizeof(req[i]));
		req[i].lbn = (near ? base : 0) + rnd_below(rnd, span);
		req[i].nsect = 8 + 8 * rnd_below(rnd, 4);
		req[i].class = FB_POLICY_BE;
		req[i].write = rnd_below(rnd, 3) == 0;
		req[i].arrived_ns = NOW_NS / MOST * i;
		fb_policy_req_place(&req[i], dm);
		fb_policy_pool_add(&pool, &req[i]);
	}
}

/* fills @r for the pool; the choice is that of sptf */
static void rank(const struct dm_place *head, const struct fb_conservatism_odds *odds)
{
	const struct fb_joint_at at = {
		.dm = dm,
		.odds = odds,
		.pool = &pool,
		.head = head,
		.now_ns = NOW_NS,
	};
	struct fb_policy_choice c;
	u32 i;

	fb_policy_choose(&pool, dm, head, NOW_NS, &c);
	assert_true(c.predicted);
	fb_joint_begin(&r, &pool, c.class);
	while (fb_joint_rank(&joint, &at, &r, slice))
		assert_int_not_equal(slice, MOST);
	for (i = 0; i < r.n; i++)
		fb_joint_onward(&joint, &at, &r, i);
}

/* expected positioning time, ns, with the odds of a turn lost or gained */
static double brute_expected(const struct dm_place *head, const struct fb_conservatism_odds *odds,
			     const struct fb_policy_req *q, u64 *latency)
{
	double period = dm_period_ns(dm), ns;
	u32 cyls = head->cyl > q->start.cyl ? head->cyl - q->start.cyl : q->start.cyl - head->cyl;
	u64 seek;

	dm_position(dm, head, &q->start, q->write, &seek, latency);
	ns = seek + *latency;
	if (!odds || !seek)
		return ns;
	if (*latency >= FB_CONSERVATISM_BINS * FB_CONSERVATISM_BIN_NS)
		return ns;
	return ns + period / 65536 *
		fb_conservatism_chance(odds->chance[fb_conservatism_kind(cyls)], *latency);
}

static double brute_onward(u32 n, const struct dm_place *head, const struct fb_policy_req *q)
{
	double least = 1e18;
	u64 seek, latency;
	struct dm_access acc;
	u32 i;

	assert_int_equal(dm_access(dm, head, q->lbn, q->nsect, q->write, &acc), 0);
	for (i = 0; i < n; i++) {
		if (&req[i] == q)
			continue;
		dm_position(dm, &acc.end, &req[i].start, req[i].write, &seek, &latency);
		if (seek + latency < least)
			least = seek + latency;
	}
	return least < 1e18 ? least : 0;
}

/* a request that is no candidate must not rank above one that is */
static void check_candidates(u32 n, const struct dm_place *head,
			     const struct fb_conservatism_odds *odds)
{
	double mean = joint.latency / 256., rank[MOST], worst = 1e9, time, turn = dm_period_ns(dm);
	u32 i, k;

	for (i = 0; i < n; i++) {
		double ns;
		u64 latency;

		ns = brute_expected(head, odds, &req[i], &latency);
		rank[i] = latency / mean - joint.price / 256. * ns / dm_period_ns(dm);
	}
	assert_int_equal(r.n, min(n, (u32)FB_JOINT_CANDIDATES));
	for (k = 0; k < r.n; k++) {
		const struct fb_joint_candidate *c = &r.candidate[k];
		u64 latency;

		i = c->req - req;
		assert_true(rank[i] < worst + .0001);
		worst = rank[i];
		rank[i] = -1e9;
		time = brute_expected(head, odds, c->req, &latency);
		assert_true(fabs(c->expected_ns - time) < 200);
		assert_true(fabs(c->onward_ns - brute_onward(n, head, c->req)) < 2);
		time += 0.3 * c->onward_ns - 0.07 * turn * (NOW_NS - c->req->arrived_ns) /
			(joint.age / 256. + turn);
		assert_true(fabs(c->time_ns - time) < 10000);
	}
	for (i = 0; i < n; i++)
		assert_true(rank[i] < worst + .0001);
}

/*
 * 12,000 random pools of 1-256 requests, all over the disk or close together, without odds, with
 * those expected at first, and with high ones. Seen to fail with candidates in the wrong order,
 * with the candidate itself among what may come after it, with the same cylinder's sectors ruled
 * out by their angle, with angles ruled out from half a rank on.
 */
TEST(test_rank)
{
	struct fb_conservatism_odds high = margin.odds;
	struct rnd rnd = { 7 };
	u32 i;

	for (i = 0; i < 64; i++)
		high.chance[FB_CONSERVATISM_SEEK][i] = i < 20 ? 60000 >> i / 2 : 0;
	for (i = 0; i < 12000; i++) {
		u32 n = i % 4 ? 1 + rnd_below(&rnd, 12) : 1 + rnd_below(&rnd, MOST);
		struct dm_place head = support_place(&rnd, dm);
		const struct fb_conservatism_odds *odds = i & 1 ? &margin.odds :
							  i & 2 ? &high : NULL;

		fill(&rnd, n, i & 4);
		if (i & 4)
			head.cyl = req[0].start.cyl;
		joint.price = 256 + rnd_below(&rnd, 20 * 256);
		joint.latency = 256 * (500000 + rnd_below(&rnd, 4000000));
		joint.age = 256ULL * rnd_below(&rnd, 100000000);
		slice = i & 8 ? 1 + rnd_below(&rnd, n) : MOST;
		rank(&head, odds);
		check_candidates(n, &head, odds);
	}
	slice = MOST;
}

/*
 * Between two steps requests come and go, but for those that the round holds on to; in the end the
 * candidates are the best of all that are there. Seen to fail without the next one in
 * fb_joint_has().
 */
TEST(test_steps)
{
	struct rnd rnd = { 11 };
	u32 i, k, gone;

	for (i = 0; i < 500; i++) {
		struct dm_place head = support_place(&rnd, dm);
		const struct fb_joint_at at = { .dm = dm, .pool = &pool, .head = &head };
		double worst;
		u32 steps = 1;

		fill(&rnd, 64, false);
		for (k = 40; k < 64; k++)
			fb_policy_pool_del(&pool, &req[k]);
		fb_joint_begin(&r, &pool, FB_POLICY_BE);
		assert_true(fb_joint_has(&r, &req[0]));
		for (k = 40; fb_joint_rank(&joint, &at, &r, 8); steps++) {
			gone = rnd_below(&rnd, 40);
			if (!fb_joint_has(&r, &req[gone]) && !list_empty(&req[gone].node))
				fb_policy_pool_del(&pool, &req[gone]);
			if (k < 64)
				fb_policy_pool_add(&pool, &req[k++]);
		}
		assert_in_range(steps, 5, 6);
		for (k = 0; k < r.n; k++)
			assert_true(fb_joint_has(&r, r.candidate[k].req));
		worst = 1. * r.candidate[r.n - 1].rank / (1ULL << 40);
		for (k = 0; k < 64; k++) {
			u64 latency;
			s64 ns = brute_expected(&head, NULL, &req[k], &latency);
			double best = latency / (joint.latency / 256.) -
				joint.price / 256. * ns / dm_period_ns(dm);

			if (!list_empty(&req[k].node) && !fb_joint_has(&r, &req[k]))
				assert_true(best < worst + .0001);
		}
	}
}

/* without any value of a gap the shortest time goes; seen to fail with a turn worth 1 at least */
TEST(test_no_value)
{
	r.n = 2;
	r.candidate[0].time_ns = 3000000;
	r.candidate[1].time_ns = 2000000;
	fb_joint_offer(&joint, dm, worth.mean, &r, 0, NULL);
	fb_joint_offer(&joint, dm, worth.mean, &r, 1, NULL);
	assert_int_equal(r.best, 1);
}

/* a hundred windows in which each of 1,000 requests took @over_ns longer than the shadow's */
static u32 price_after(s64 over_ns, s32 missed_ppm, u32 idle, bool fixed)
{
	u64 now_ns = 0;
	u32 i, windows = 0;

	fb_joint_init(&joint, dm, FB_JOINT_COST_PPM);
	joint.fixed = fixed;
	for (i = 0; i < 100 * 1000; i++)
		windows += fb_joint_charge(&joint, over_ns, missed_ppm, idle,
					   now_ns += WINDOW_NS / 1000);
	/* those that cost far too much end early */
	assert_true(windows >= 99 && (windows <= 100 || over_ns > 300000));
	return joint.price;
}

/*
 * A request every 8 ms: 75 us each are 15/16 of the target's 1 %, and the rest is kept back. Seen
 * to fail with the sign of "over" turned round, without @missed_ppm, with @order_ns counted twice.
 */
TEST(test_price)
{
	u32 start;

	start = joint.price;
	assert_true(price_after(120000, 0, 0, false) > start * 3 / 2);
	assert_true(price_after(40000, 0, 0, false) < start * 3 / 4);
	assert_in_range(price_after(75000, 0, 0, false), start - 30, start + 30);
	assert_in_range(price_after(35000, 5000, 0, false), start - 30, start + 30);
	assert_int_equal(price_after(120000, 0, 0, true), start);
	assert_in_range(joint.window_ppm, 14900, 15100);
	/* bounds */
	price_after(8000000, 0, 0, false);
	assert_true(joint.price <= PRICE_MOST);
	price_after(-8000000, 0, 0, false);
	assert_true(joint.price >= 256);
}

/*
 * Requests that end within a microsecond each, though the model says otherwise: no window ends
 * before an eighth of a second. Seen to fail, by a division by zero, without a shortest window.
 */
TEST(test_excess_at_once)
{
	u64 now_ns = 0;
	u32 i, start;

	start = joint.price;
	for (i = 0; i < 500; i++)
		assert_false(fb_joint_charge(&joint, 10000000, 0, 0, now_ns += 1000));
	assert_int_equal(joint.price, start);
	assert_true(fb_joint_charge(&joint, 0, 0, 0, WINDOW_NS / 64));
	assert_in_range(joint.price, 2 * start - 1, 2 * start);
}

/* go on for so many windows in which each of 1,000 requests took @over_ns longer */
static void go_on(u64 *now_ns, u32 windows, s64 over_ns)
{
	for (windows *= 1000; windows; windows--)
		fb_joint_charge(&joint, over_ns, 0, 0, *now_ns += WINDOW_NS / 1000);
}

/*
 * The price leaves a bound when free reads cost too much, or little, again: what has piled up on
 * the way there does not hold it, and nothing piles up there. A request may take 80 us longer. Seen
 * to fail with what is owed the same as long as the price is at a bound, at either bound, and
 * without a stop.
 */
TEST(test_bounds)
{
	u64 now_ns = 0;

	go_on(&now_ns, 1000, 20000);
	assert_in_range(joint.price, 256, 260);
	go_on(&now_ns, 1000, 120000);
	assert_true(joint.price > PRICE_MOST / 2);
	go_on(&now_ns, 1000, 160000);
	assert_in_range(joint.price, PRICE_MOST - 64, PRICE_MOST);
	go_on(&now_ns, 1000, 40000);
	assert_true(joint.price < 512);

	fb_joint_init(&joint, dm, FB_JOINT_COST_PPM);
	joint.price = PRICE_MOST;
	go_on(&now_ns, 100, 120000);
	assert_int_equal(joint.owed_ppm, 0);
	fb_joint_init(&joint, dm, FB_JOINT_COST_PPM);
	joint.price = 256;
	go_on(&now_ns, 100, 20000);
	assert_int_equal(joint.owed_ppm, 0);
}

/*
 * While a scan goes on free reads cost ever more at the same price, here by 0.1 % a window: their
 * cost is what it may be all the same, on the mean. Seen to fail without what is owed: 85 us.
 */
TEST(test_owed)
{
	s64 over_ns = 80000 * 256, sum_ns = 0;
	u64 now_ns = 0;
	u32 i, start;

	start = joint.price;
	for (i = 0; i < 1000; i++, over_ns += over_ns / 1000) {
		s64 each_ns = over_ns * start / joint.price / 256;

		go_on(&now_ns, 1, each_ns);
		if (i >= 200)
			sum_ns += each_ns;
	}
	/* 800 windows with a request each 8 ms: 75 us are 15/16 of 1 % */
	assert_in_range(sum_ns / 800, 74000, 76000);
}

/*
 * Another cost counts from when it is set: what was saved, or spent, while more, or less, was
 * allowed does not let free reads cost more, or less, now. So a price with such a past goes the
 * way of one without. Requests may take 528 us longer, then 80, and the reverse; first they take
 * 400 and 160. Seen to fail with what is owed kept.
 */
TEST(test_change)
{
	static const struct {
		u32 cost_ppm;
		s64 over_ns;
		u32 then_ppm;
	} change[] = {
		{ 66000, 400000, FB_JOINT_COST_PPM },
		{ FB_JOINT_COST_PPM, 160000, 66000 },
	};
	u32 i, price, with_past;
	u64 now_ns;

	for (i = 0; i < ARRAY_SIZE(change); i++) {
		now_ns = 0;
		fb_joint_init(&joint, dm, change[i].cost_ppm);
		go_on(&now_ns, 10, change[i].over_ns);
		assert_true(joint.owed_ppm);
		price = joint.price;
		joint.cost_ppm = change[i].then_ppm;
		go_on(&now_ns, 10, 160000);
		with_past = joint.price;

		now_ns = 0;
		fb_joint_init(&joint, dm, change[i].then_ppm);
		joint.price = price;
		go_on(&now_ns, 10, 160000);
		assert_int_equal(with_past, joint.price);
	}
}

/*
 * A window says nothing if it has less than 64 choices, or a pause as long as itself. Seen to fail
 * with "or" in place of "and", with 63 and with 65.
 */
TEST(test_windows)
{
	static const struct {
		u32 rounds;
		u64 span_ns;
		bool says;
	} window[] = {
		{ 63, WINDOW_NS, false },
		{ 64, WINDOW_NS, true },
		{ 64, 2 * WINDOW_NS - 1, true },
		{ 64, 2 * WINDOW_NS, false },
		{ 64, 3 * WINDOW_NS, false },
	};
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(window); i++) {
		fb_joint_init(&joint, dm, FB_JOINT_COST_PPM);
		for (k = 1; k < window[i].rounds; k++)
			assert_false(fb_joint_charge(&joint, 1000, 0, 0, k));
		assert_int_equal(fb_joint_charge(&joint, 1000, 0, 0, window[i].span_ns),
				 window[i].says);
		assert_int_equal(joint.rounds, 0);
	}
}

/* Seen to fail with the price of a turn as it is. */
TEST(test_miss_price)
{
	joint.price = PRICE_MOST;
	assert_int_equal(fb_joint_miss_price(&joint), PRICE_MOST + PRICE_MOST / 2);
}

/* until it is known a latency is a third of a turn; seen to fail without the average's scale */
TEST(test_first_latency)
{
	u64 third_ns = dm_period_ns(dm) / 3;

	r.n = 1;
	r.candidate[0].latency_ns = third_ns;
	fb_joint_sent(&joint, &r);
	assert_in_range(joint.latency / 256, third_ns - 1, third_ns);
}

/*
 * On a drive that is idle at times a share of its time is five times that share of the mean
 * response time, in between less. Seen to fail with a weight that is not bounded, and without any.
 */
TEST(test_idle)
{
	u32 start, half = FB_POLICY_IDLE_ONE / 32;

	start = joint.price;
	assert_in_range(price_after(15000, 0, FB_POLICY_IDLE_ONE / 4, false), start - 30,
			start + 30);
	assert_in_range(joint.window_ppm, 9300, 9450);
	assert_in_range(price_after(75000 / 3, 0, half, false), start - 30, start + 30);
	assert_true(price_after(24000, 0, FB_POLICY_IDLE_ONE / 4, false) > start * 11 / 10);
	assert_true(price_after(8000, 0, FB_POLICY_IDLE_ONE / 4, false) < start * 9 / 10);
}

/*
 * What a plan must be worth to become the best, and no less: one that is worth a little more does,
 * where the odds add to the time, and one that is worth as much does not, whatever the odds. Who is
 * the best without a plan need not find one, nor may who is first, or behind one that must go.
 * Seen to fail with the odds' time in it, without the bound by that time, and without the one that
 * must go.
 */
TEST(test_least)
{
	struct rnd rnd = { 33 };
	u32 i, won = 0, none = 0;

	for (i = 0; i < 2000; i++) {
		struct fb_plan plan = { .kind = FB_PLAN_SEPARATE, .value = rnd_below(&rnd, 20000) };
		s64 odds_ns = (s64)rnd_below(&rnd, 1000000) - 500000;
		u64 mean = 256 * (1 + rnd_below(&rnd, 5000)), least;

		joint.price = 256 + rnd_below(&rnd, 20 * 256);
		memset(&r, 0, sizeof(r));
		r.n = 2;
		assert_int_equal(fb_joint_least(&joint, dm, mean, &r, 0), 0);
		r.candidate[0].time_ns = rnd_below(&rnd, 10000000);
		r.candidate[0].expected_ns = r.candidate[0].time_ns;
		r.candidate[0].latency_ns = r.candidate[0].time_ns;
		r.candidate[1].latency_ns = 1000000 + rnd_below(&rnd, 10000000);
		r.candidate[1].expected_ns = r.candidate[1].latency_ns + odds_ns;
		r.candidate[1].time_ns = r.candidate[1].expected_ns;
		fb_joint_offer(&joint, dm, mean, &r, 0, i % 3 ? &plan : NULL);
		least = fb_joint_least(&joint, dm, mean, &r, 1);
		plan.value = least;
		if (least)
			fb_joint_offer(&joint, dm, mean, &r, 1, &plan);
		assert_int_equal(r.best, 0);
		plan.value = least + 2;
		if (odds_ns >= 0)
			fb_joint_offer(&joint, dm, mean, &r, 1, &plan);
		won += r.best == 1;
		assert_true(odds_ns < 0 || r.best == 1);
		if (odds_ns < 0 && least) {
			fb_joint_offer(&joint, dm, mean, &r, 1, NULL);
			assert_int_equal(r.best, 0);
		}
		none += !least;
	}
	assert_true(won > 900 && none > 100 && none < 900);
	fb_joint_insist(&r, 0);
	r.candidate[1].time_ns = 100000000;
	assert_true(fb_joint_least(&joint, dm, 256, &r, 1) > U32_MAX);
}

/* who insists goes, whatever is offered before and after; seen to fail with the score it had */
TEST(test_insist)
{
	struct fb_plan plan = { .kind = FB_PLAN_SEPARATE, .value = 1 };

	r.n = 3;
	fb_joint_offer(&joint, dm, 1, &r, 0, &plan);
	assert_int_equal(r.best, 0);
	fb_joint_insist(&r, 1);
	plan.value = U32_MAX;
	fb_joint_offer(&joint, dm, 1, &r, 0, &plan);
	assert_int_equal(r.best, 1);
	/* before anything is offered; seen to fail when that counts as nothing scored */
	r.scored = false;
	fb_joint_insist(&r, 1);
	fb_joint_offer(&joint, dm, 1, &r, 0, &plan);
	assert_int_equal(r.best, 1);
}
