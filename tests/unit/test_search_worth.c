// SPDX-License-Identifier: GPL-2.0
/*
 * What a search's plans are worth, told once more and compared with every run of granules of every
 * track: roots, weights, and the price of what may come late.
 *
 * Planted bugs, each seen to fail: the worth of all that is left, a need one too high, one kept for
 * another weight, regions of twice the size, a granule too few in a track's time, tracks passed
 * over for another with more left, a border one region off, no outer arms (test_worth); a track
 * passed over for four times what misses cost, a prepend for half of what passes, a price for ways
 * within a cylinder, a price that falls to nothing within a half, none for a gap of nearly a turn,
 * no granule left unread at either end, odds off by half a bin, of another band, not for head
 * switches, a fixed cost by the other odds (test_miss); a piece given up for all that its misses
 * cost, or for three granules, where it may be shortened (test_net).
 */
#include "search_brute.h"

/* to the power of 2/5 */
static double root_of(u32 n)
{
	double root = n, square = (double)n * n;
	u32 i;

	for (i = 0; n && i < 60; i++)
		root -= (root - square / (root * root * root * root)) / 5;
	return root;
}

/* @wanted granules of a track of @left, told once more */
static double worth(const struct fb_limits *lim, const struct dm_track *t, u32 wanted)
{
	u32 left = fb_bitmap_group(&bm, dm_track_index(dm, t));
	u32 region = (u64)t->cyl * FB_REGIONS / dm_info(dm)->cylinders;
	double value = lim->roots ? root_of(left) - root_of(left - wanted) : wanted;

	return value * (lim->weights ? lim->weights->of[region] : FB_WEIGHT_ONE);
}

/* with roots and weights, too, nothing on one track is worth more than what is found */
TEST(test_worth)
{
	static const u32 density[] = { 1000, 500, 100, 20 };
	struct rnd r = { 30 };
	struct fb_block_value w;
	u32 i, k, nonzero = 0;

	fb_block_value_init(&w, &bm);
	for (i = 0; i < 400; i++) {
		struct fb_limits lim = limits(pick_conservatism(&r), 0);
		double best = 0;
		struct fb_search s;
		struct fb_gap gap;

		w.weights.most = 0;
		for (k = 0; k < FB_REGIONS; k++) {
			w.weights.of[k] = 1 + rnd_below(&r, 1000);
			w.weights.most = max(w.weights.most, w.weights.of[k]);
		}
		if (i % 50 == 0)
			thin_map(&r, density[i / 50 % 4], i % 100 ? 1 : 6);
		lim.weights = i % 3 ? &w.weights : NULL;
		lim.roots = i % 2 ? &w.roots : NULL;
		random_gap(&r, &gap);
		search(&s, &gap, &lim);
		for (k = 0; k < dm_tracks(dm); k++) {
			struct dm_track t;
			double value;

			assert_int_equal(dm_track_by_index(dm, k, &t), 0);
			if (!fb_bitmap_group(&bm, k) || forbidden(&gap, t.cyl, t.head))
				continue;
			value = worth(&lim, &t, brute_track(&gap, &lim, &t));
			best = max(best, value);
		}
		nonzero += best > 0;
		/* roots are rounded to a 256th, and weighed */
		assert_true(s.best.value >= best - 8);
	}
	assert_true(nonzero > 150);
}

/* a table of odds at a margin, between the middles of its bins */
static double chance(const u16 *table, double margin_ns)
{
	double at = max(margin_ns / FB_CONSERVATISM_BIN_NS - 0.5, 0.0);
	u32 i = min(at, FB_CONSERVATISM_BINS - 1.0);

	if (i == FB_CONSERVATISM_BINS - 1)
		return table[i] / 65536.0;
	return (table[i] + (at - i) * ((double)table[i + 1] - table[i])) / 65536;
}

/* what a way may cost that has so much slack */
static double leg_price(const struct fb_limits *lim, const struct dm_place *a, u32 cyl, u32 head,
			double slack_ns)
{
	double margin_ns = leg_con(lim, a, cyl) + slack_ns;

	if (same_track(a, cyl, head))
		return 0;
	return lim->miss_value * chance(lim->odds->chance[a->cyl != cyl], margin_ns);
}

/* what it costs that anything is read in the gap */
static double fixed_cost(const struct fb_limits *lim, const struct fb_search *s)
{
	const u16 *early = lim->odds->chance[FB_CONSERVATISM_EARLY];
	double missing_ns = s->period_ns - s->latency_ns;

	return chance(early, missing_ns) * lim->miss_value;
}

/* odds that fall with the margin, each kind's in its own way */
static void random_odds(struct rnd *r, struct fb_conservatism_odds *odds)
{
	u32 i, k, late;

	for (k = 0; k < FB_CONSERVATISM_KINDS; k++) {
		odds->floor_ns[k] = rnd_below(r, 100000);
		late = rnd_below(r, 40000);
		for (i = 0; i < FB_CONSERVATISM_BINS; i++) {
			odds->chance[k][i] = late;
			late -= late * rnd_below(r, 20) / 100;
		}
	}
}

/* what a plan of one piece is worth, less what may go wrong; -1: it spans two tracks */
static double net_value(const struct fb_plan *plan, const struct fb_limits *lim,
			const struct fb_gap *gap)
{
	const struct fb_plan_piece *p = &plan->piece[0];
	struct dm_access a;
	struct dm_track t;
	double value;
	s64 spare;
	u32 n;

	assert_int_equal(dm_track_of(dm, p->lbn, &t), 0);
	if (p->lbn + p->nsect > t.first_lbn + t.nsect)
		return -1;
	n = p->nsect + (plan->kind == FB_PLAN_PREPEND ? 0 : GRANULE - 1);
	assert_int_equal(plan->wanted, fb_bitmap_count(&bm, p->lbn / GRANULE, n / GRANULE));
	value = worth(lim, &t, plan->wanted);
	if (plan->kind == FB_PLAN_PREPEND)
		return value - leg_price(lim, &gap->src, t.cyl, t.head, plan->slack_ns);
	spare = spare_ns(gap, lim, p->lbn, p->nsect, &a);
	value -= leg_price(lim, &gap->src, t.cyl, t.head, a.latency_ns);
	return value - leg_price(lim, &gap->dst, t.cyl, t.head, max_t(s64, spare, 0));
}

/* one granule less at either end would not be worth more */
static void check_length(const struct fb_search *s, const struct fb_limits *lim,
			 const struct fb_gap *gap, double net)
{
	u32 i;

	for (i = 0; i < 2; i++) {
		struct fb_plan plan = s->best;
		struct fb_plan_piece *p = &plan.piece[0];
		struct dm_place was, is;

		if (p->nsect <= 2 * GRANULE || (i && plan.kind == FB_PLAN_PREPEND))
			continue;
		/* the disk's last granule is short */
		if (plan.kind != FB_PLAN_PREPEND && p->nsect % GRANULE)
			continue;
		assert_int_equal(dm_place_of(dm, p->lbn, &was), 0);
		p->lbn += i ? 0 : GRANULE;
		assert_int_equal(dm_place_of(dm, p->lbn, &is), 0);
		plan.slack_ns += dm_angle_to_ns(dm, is.angle - was.angle);
		p->nsect -= GRANULE;
		plan.wanted = fb_bitmap_count(&bm, p->lbn / GRANULE, p->nsect / GRANULE);
		assert_true(net_value(&plan, lim, gap) <= net + 3 + lim->miss_value / 1000);
	}
}

/* a plan's value is what it brings less what may go wrong, and that decides */
TEST(test_miss)
{
	static const u32 density[] = { 1000, 500, 100, 20 };
	u32 i, found = 0, compared = 0, worse = 0, refused = 0;
	double sum = 0, sum_free = 0;
	struct rnd r = { 31 };
	struct fb_conservatism_odds odds;

	for (i = 0; i < 4000; i++) {
		struct fb_limits lim = limits(rnd_below(&r, 3) * 50000, 1024), none;
		struct fb_search s, free_s;
		struct fb_gap gap;
		double net, fixed;

		if (i % 500 == 0)
			thin_map(&r, density[i / 500 % 4], 1 + i % 7);
		random_gap(&r, &gap);
		random_odds(&r, &odds);
		fb_limits_weigh(&lim, &odds);
		none = lim;
		none.odds = NULL;
		lim.miss_value = rnd_below(&r, 20000);
		search(&s, &gap, &lim);
		search(&free_s, &gap, &none);
		fixed = fixed_cost(&lim, &s);
		if (free_s.best.kind == FB_PLAN_NONE)
			assert_int_equal(s.best.kind, FB_PLAN_NONE);
		refused += free_s.best.kind && !s.best.kind && fixed > FB_WEIGHT_ONE;
		/* refused for its price only */
		if (free_s.best.kind && !s.best.kind)
			assert_true(net_value(&free_s.best, &lim, &gap) <= fixed + 3 +
				    lim.miss_value / 1000.);
		net = s.best.kind ? net_value(&s.best, &lim, &gap) : 0;
		if (s.best.kind && net >= 0) {
			found++;
			assert_true(s.best.value + 3 + lim.miss_value / 1000 >= net &&
				    s.best.value <= net + 3 + lim.miss_value / 1000);
			assert_true(s.best.value + 2 >= fixed);
			check_length(&s, &lim, &gap, net);
		}
		if (!free_s.best.kind || net < 0 || net_value(&free_s.best, &lim, &gap) < 0)
			continue;
		compared++;
		sum += net;
		sum_free += net_value(&free_s.best, &lim, &gap);
		worse += net + fixed + 3 < net_value(&free_s.best, &lim, &gap);
	}
	assert_true(found > 1500 && compared > 1500 && refused > 20);
	assert_true(sum > 1.03 * sum_free && worse < compared / 100);
}

/* the best net value of all runs of all tracks that may be read apart */
static double best_net(const struct fb_gap *gap, const struct fb_limits *lim)
{
	struct fb_plan plan = { .kind = FB_PLAN_SEPARATE, .npieces = 1 };
	struct dm_access acc;
	double best = 0;
	u64 a, b;
	u32 i;

	for (i = 0; i < dm_tracks(dm); i++) {
		struct dm_track t;

		assert_int_equal(dm_track_by_index(dm, i, &t), 0);
		if (!fb_bitmap_group(&bm, i) || forbidden(gap, t.cyl, t.head))
			continue;
		for (a = (t.first_lbn + GRANULE - 1) / GRANULE;
		     (a + 1) * GRANULE <= t.first_lbn + t.nsect; a++)
			for (b = a + 1; b * GRANULE <= t.first_lbn + t.nsect; b++) {
				plan.piece[0].lbn = a * GRANULE;
				plan.piece[0].nsect = (b - a) * GRANULE;
				plan.wanted = fb_bitmap_count(&bm, a, b - a);
				if (!plan.wanted || spare_ns(gap, lim, a * GRANULE,
							     (b - a) * GRANULE, &acc) < 0)
					break;
				best = max(best, net_value(&plan, lim, gap));
			}
	}
	return best;
}

/*
 * With a price for lost turns nothing is passed over that would have been worth more: all in all
 * the values are 1.001 of those of runs, for a read may end on the next track.
 */
TEST(test_net)
{
	double sum = 0, sum_best = 0, fixed, best;
	struct fb_conservatism_odds odds;
	struct rnd r = { 33 };
	u32 i;

	for (i = 0; i < 150; i++) {
		struct fb_limits lim = limits(rnd_below(&r, 3) * 50000, 0);
		struct fb_search s;
		struct fb_gap gap;

		if (i % 30 == 0)
			thin_map(&r, i % 60 ? 500 : 1000, 1 + i % 7);
		random_gap(&r, &gap);
		random_odds(&r, &odds);
		lim.miss_value = rnd_below(&r, 20000);
		fb_limits_weigh(&lim, &odds);
		search(&s, &gap, &lim);
		best = best_net(&gap, &lim);
		fixed = fixed_cost(&lim, &s);
		sum += s.best.kind ? s.best.value - fixed : 0;
		sum_best += max(best - fixed, 0.);
	}
	assert_true(sum > .997 * sum_best && sum < 1.01 * sum_best);
}
