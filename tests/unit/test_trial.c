// SPDX-License-Identifier: GPL-2.0
/*
 * The controlled trial: what it says of queues whose added cost is known, how often its own error
 * holds, and how often chance passes its bound. Expectations come from queueing: what is added to
 * a service by itself is added to the response; N processes at one server each wait N services.
 */
#include <math.h>

#include "trial_load.h"

#define RUNS 100

/* what many runs said */
struct outcome {
	u32 inside;	/* within two errors */
	double z;	/* mean of the deviation over its error */
	double mean_ns;	/* mean of the costs */
	double error_ns;	/* mean of the errors */
};

/* the same foreground @RUNS times, with other numbers; @true_ns: what free reads add */
static struct outcome runs(const struct load *like, u32 stretches, u64 stretch_ns, u64 for_ns,
			   enum fb_trial_kind kind, s64 true_ns)
{
	struct outcome o = { 0 };
	struct fb_trial_cost got;
	struct fb_cost cost;
	u32 i;

	for (i = 0; i < RUNS; i++) {
		struct load l = *like;

		l.cost = &cost;
		l.r.state = 1000 + i;
		fb_cost_init(&cost, 77 + i, false);
		fb_trial_set_fixed(&cost.trial, stretches, stretch_ns);
		fb_cost_want(&cost, true, 0);
		load_run(&l, for_ns);
		got = cost.trial.told[kind];
		o.inside += fabs((double)(got.diff_ns - true_ns)) <= 2. * got.error_ns;
		o.z += (got.diff_ns - true_ns) / (double)got.error_ns / RUNS;
		o.mean_ns += got.diff_ns / (double)RUNS;
		o.error_ns += got.error_ns / (double)RUNS;
	}
	return o;
}

/*
 * Two errors hold in 95.4 % of all runs: of 100 in 95.4 +- 2.1, so 89 to 100; the mean deviation is
 * within 0.3 errors, three of its own.
 */
static void honest(const struct outcome *o)
{
	assert_in_range(o->inside, 89, 100);
	assert_true(fabs(o->z) < .3);
}

/*
 * Arrivals at random, each served by itself: 1 ms more is 1 ms more, of reads, writes and both.
 * Seen to fail with ends counted in the other arm, and with half of the error.
 */
TEST(test_open)
{
	const struct load l = { .gap_ns = 25 * MS, .took_ns = 15 * MS, .added_ns = MS };
	int kind;

	for (kind = 0; kind <= FB_TRIAL_KINDS; kind += kind == FB_TRIAL_WRITE ? 2 : 1) {
		struct outcome o = runs(&l, 4, 0, 400 * SEC, kind, MS);

		honest(&o);
	}
}

/*
 * Ten processes at one server, 6 ms a service and 0.12 ms more: each waits for ten services, so
 * 1.2 ms more. Seen to fail when ends in what is left out behind a change of arms are counted.
 */
TEST(test_closed)
{
	const struct load l = {
		.processes = 10, .server = true, .took_ns = 6 * MS, .added_ns = 120000,
	};
	struct outcome o = runs(&l, 4, 0, 300 * SEC, FB_TRIAL_KINDS, 1200000);

	honest(&o);
}

/*
 * Sixteen at once every whole second, beside stretches of a second in blocks of sixteen. Seen to
 * fail when control begins on a grid, at the block's beginning: what is left out at its beginning
 * then has all of the burst in each block, no request is left in control, and nothing is said.
 */
TEST(test_grid)
{
	const struct load l = {
		.gap_ns = SEC, .regular = true, .burst = 16, .server = true, .took_ns = 3 * MS,
		.added_ns = 100000,
	};
	struct outcome o = runs(&l, 16, SEC, 1600 * SEC, FB_TRIAL_KINDS, 850000);

	honest(&o);
}

/* A cost that goes on for 400 ms of a control. Seen to fail with nothing left out. */
TEST(test_lingers)
{
	const struct load l = {
		.gap_ns = 25 * MS, .took_ns = 3 * MS, .added_ns = 5 * MS, .lingers_ns = 400 * MS,
	};
	struct outcome o = runs(&l, 4, 0, 600 * SEC, FB_TRIAL_KINDS, 5 * MS);

	honest(&o);
}

/* The error that is told is that of exponential times. Seen to fail with half of it. */
TEST(test_error)
{
	const struct load l = { .gap_ns = 25 * MS, .took_ns = 15 * MS };
	struct outcome o = runs(&l, 4, 0, 600 * SEC, FB_TRIAL_READ, 0);
	/* one service of 15 ms, spread as far; 3.5 s of 16 are control, 11.5 treated, 2/3 reads */
	double per_s = 40 * 2 / 3.;
	double error_ns = 15e6 * sqrt(1 / (per_s * 600 * 3.5 / 16) + 1 / (per_s * 600 * 11.5 / 16));

	assert_true(o.error_ns > .9 * error_ns && o.error_ns < 1.1 * error_ns);
}

/* The bound as it is defined, to a thousandth. Seen to fail with log2 for ln. */
TEST(test_bound)
{
	u32 m, mix;

	for (m = 1; m < 200000; m += 1 + m / 50) {
		for (mix = 5; mix <= 50; mix += 45) {
			double z = sqrt((m + 1. * mix) / m *
					(2 * log(20) + log((m + 1. * mix) / mix)));

			assert_true(fabs(fb_trial_z(m, mix == 5) / 1024. - z) < .002);
		}
	}
}

/* is the limit, which is what free reads add, said to be exceeded after any of the blocks? */
static bool trips(u64 seed, u64 added_ns, u64 limit_ns, u32 blocks)
{
	struct fb_trial_limit limit = { .ns = limit_ns };
	struct fb_cost cost;
	struct load l = {
		.cost = &cost, .r.state = seed, .gap_ns = 600 * MS, .took_ns = 15 * MS,
		.added_ns = added_ns,
	};
	u32 i;

	fb_cost_init(&cost, seed, true);
	fb_trial_set_limit(&cost.trial, &limit);
	fb_trial_set_fixed(&cost.trial, 4, 0);
	fb_cost_want(&cost, true, 0);
	for (i = 1; i <= blocks && !cost.stops; i++)
		load_run(&l, i * 16 * SEC);
	return cost.stops;
}

/*
 * Four hours, asked after each block, 200 times: at the limit fewer than 5 % trip, at no cost and a
 * limit of 1 ms fewer than 1 %, at three times the limit nearly all. Seen to fail with two errors
 * for the bound: 55 trip at the limit.
 */
TEST(test_trips)
{
	u32 at = 0, below = 0, above = 0, i;

	for (i = 0; i < 200; i++) {
		at += trips(i, MS, MS, 900);
		below += trips(i, 0, MS, 900);
		above += i < 40 && trips(i, 9 * MS, 3 * MS, 900);
	}
	assert_in_range(at, 0, 9);
	assert_in_range(below, 0, 1);
	assert_in_range(above, 39, 40);
}

/*
 * After the guard has acted a quarter is treated, for 24 blocks of eight seconds: what costs twice
 * the limit is found in them, mostly in the first twelve; of disks at their limit fewer than 4 %
 * stop. Seen to fail when the arms are not swapped, with the wide bound, and two errors for it.
 */
TEST(test_wary)
{
	struct fb_trial_limit limit = { .ns = 2 * MS };
	u32 at = 0, above = 0, soon = 0, i;

	for (i = 0; i < 400; i++) {
		struct fb_cost cost;
		struct load l = {
			.cost = &cost, .r.state = 1 + i, .gap_ns = 50 * MS, .took_ns = 5 * MS,
			.added_ns = i % 2 ? 9 * MS / 4 : 9 * MS / 2,
		};

		fb_cost_init(&cost, i, true);
		fb_trial_set_limit(&cost.trial, &limit);
		fb_cost_stop(&cost, 0);
		fb_cost_reset(&cost, 0);
		fb_cost_want(&cost, true, 0);
		load_run(&l, 97 * SEC);
		assert_in_range(cost.trial.held_ns, 71 * SEC, 74 * SEC);
		soon += cost.stops && i % 2 == 0;
		load_run(&l, 193 * SEC);
		if (!cost.stops)
			assert_false(cost.trial.wary);
		at += cost.stops && i % 2;
		above += cost.stops && i % 2 == 0;
	}
	assert_in_range(at, 0, 6);
	assert_in_range(above, 190, 200);
	assert_in_range(soon, 150, 200);
}

static struct fb_cost cost;
static struct load load;

/* arrivals at random, each served by itself */
static void begin(u64 seed, bool guarded, u64 limit_ns, u64 added_ns)
{
	const struct fb_trial_limit limit = { .ns = limit_ns };

	load = (struct load) {
		.cost = &cost, .r.state = seed, .gap_ns = 25 * MS, .took_ns = 15 * MS,
		.added_ns = added_ns,
	};
	fb_cost_init(&cost, seed, guarded);
	fb_trial_set_limit(&cost.trial, &limit);
	fb_cost_want(&cost, true, 0);
}

/* Clear after an hour at no cost: one stretch in 32 is control; in doubt one in 4. */
TEST(test_share)
{
	u64 on_ns, held_ns;

	begin(5, false, 10 * MS, 0);
	load_run(&load, 192 * SEC);
	assert_in_range(cost.trial.held_ns, 47 * SEC, 49 * SEC);
	load_run(&load, 3600 * SEC);
	on_ns = cost.trial.on_ns;
	held_ns = cost.trial.held_ns;
	assert_int_equal(on_ns, 3600 * SEC);
	load_run(&load, 36000 * SEC);
	on_ns = cost.trial.on_ns - on_ns;
	held_ns = cost.trial.held_ns - held_ns;
	assert_in_range(held_ns, on_ns / 33, on_ns / 31);
}

/*
 * On an unused disk free reads go on after the first blocks. A request begins another block.
 * Seen to fail with blocks that follow each other, and with one block only behind a request.
 */
TEST(test_unused)
{
	u64 now;

	fb_cost_init(&cost, 3, true);
	fb_cost_want(&cost, true, 0);
	for (now = 0; now < FB_TRIAL_UNUSED * 16 * SEC; now += SEC)
		fb_cost_may(&cost, now);
	assert_true(fb_cost_next_ns(&cost) <= now);
	fb_cost_may(&cost, now);
	assert_true(fb_cost_next_ns(&cost) == FB_TRIAL_NEVER);
	assert_true(fb_cost_may(&cost, 3600 * SEC));
	assert_in_range(cost.trial.held_ns, FB_TRIAL_UNUSED * 3 * SEC, FB_TRIAL_UNUSED * 4 * SEC);
	fb_trial_arrived(&cost.trial, FB_TRIAL_READ, 3600 * SEC);
	assert_in_range(fb_cost_next_ns(&cost), 3600 * SEC, 3616 * SEC);
	fb_trial_ended(&cost.trial, FB_TRIAL_READ, MS, 3600 * SEC + MS);
	/* others may follow, which are counted */
	for (now = 3600 * SEC; now < 3600 * SEC + (FB_TRIAL_UNUSED - 1) * 16 * SEC; now += SEC)
		fb_cost_may(&cost, now);
	assert_true(fb_cost_next_ns(&cost) < now + 16 * SEC);
	/* switched off and on by somebody: nothing was too much */
	fb_cost_reset(&cost, 4000 * SEC);
	assert_false(cost.trial.wary);
}

/* What was known is told on when sums begin anew, and not when what is read has changed. */
TEST(test_restart)
{
	const struct fb_trial_cost *told = &cost.trial.told[FB_TRIAL_READ];
	struct fb_trial_cost after;

	begin(6, false, 10 * MS, 2 * MS);
	fb_cost_want(&cost, false, 0);
	fb_trial_set_fixed(&cost.trial, 16, 0);
	fb_cost_want(&cost, true, 0);
	load_run(&load, 21599 * SEC);
	assert_true(told->known);
	assert_in_range(told->blocks, 336, 337);
	load_run(&load, 21800 * SEC);
	fb_trial_now(&cost.trial, FB_TRIAL_READ, &after);
	assert_in_range(after.blocks, 0, 4);
	assert_true(told->known);
	assert_in_range(told->diff_ns, 3 * MS / 2, 5 * MS / 2);
	fb_trial_restart(&cost.trial, true, 21800 * SEC);
	assert_false(told->known);
}

/* Another limit is in doubt at once, not after blocks of two minutes. Seen to fail without that. */
TEST(test_limit)
{
	const struct fb_trial_limit limit = { .ns = MS };

	begin(11, true, 100 * MS, 6 * MS);
	load_run(&load, 400 * SEC);
	assert_int_equal(cost.trial.stretches, FB_TRIAL_CLEAR);
	fb_trial_set_limit(&cost.trial, &limit);
	assert_int_equal(cost.trial.stretches, FB_TRIAL_DOUBT);
	assert_true(cost.trial.told[FB_TRIAL_READ].known);
	load_run(&load, 620 * SEC);
	assert_int_equal(cost.stops, 1);
}

/* Nothing known is not "fine": of no requests, of few blocks, or with an error above the limit. */
TEST(test_unknown)
{
	const struct fb_trial_limit limit = { .ns = MS / 100 };
	struct fb_trial_cost got;

	begin(7, false, 10 * MS, 0);
	assert_false(cost.trial.told[FB_TRIAL_READ].known);
	load_run(&load, 11 * 16 * SEC + SEC);
	assert_false(cost.trial.told[FB_TRIAL_READ].known);
	load_run(&load, 12 * 16 * SEC + SEC);
	assert_true(cost.trial.told[FB_TRIAL_READ].known);
	fb_trial_set_limit(&cost.trial, &limit);
	fb_trial_now(&cost.trial, FB_TRIAL_READ, &got);
	assert_false(got.known);
}

/*
 * A rare burst that has come in treated time alone: the bound counts control as spread like that,
 * which with a third of the requests doubles the error; the error that is told stays. Seen to fail
 * without that, and with the other arm's.
 */
TEST(test_tail)
{
	struct fb_trial_cost got;
	struct fb_trial t;
	u32 i;

	fb_trial_init(&t, 10);
	for (i = 0; i < 40; i++) {
		t.blocks[i].sum[FB_TRIAL_READ][FB_TRIAL_TREATED] = (struct fb_trial_sum) {
			.area = i == 7 ? 300 * SEC : 3 * SEC, .ends = 300,
		};
		t.blocks[i].sum[FB_TRIAL_READ][FB_TRIAL_CONTROL] = (struct fb_trial_sum) {
			.area = SEC, .ends = 100,
		};
	}
	t.kept = 40;
	t.ended = 40;
	fb_trial_now(&t, FB_TRIAL_READ, &got);
	assert_in_range(got.error_ns, 24 * MS, 26 * MS);
	assert_in_range(got.bound_ns, 2 * got.error_ns - MS / 10, 2 * got.error_ns + MS / 10);
}

/* A clock that goes back a little, a night's sleep, and an end without a beginning: no harm. */
TEST(test_clock)
{
	struct fb_trial t;

	fb_trial_init(&t, 8);
	fb_trial_run(&t, true, 100 * SEC);
	fb_trial_ended(&t, FB_TRIAL_READ, SEC, 101 * SEC);
	assert_int_equal(t.n[FB_TRIAL_READ], 0);
	fb_trial_arrived(&t, FB_TRIAL_READ, 102 * SEC);
	fb_trial_ended(&t, FB_TRIAL_READ, 0, 102 * SEC - 5);
	assert_int_equal(t.now_ns, 102 * SEC);
	fb_trial_may_read(&t, 30000 * SEC);
	assert_int_equal(t.ended, 0);
	assert_in_range(fb_trial_next_ns(&t), 30000 * SEC, 30016 * SEC);
	fb_trial_run(&t, false, 30020 * SEC);
	assert_true(fb_trial_may_read(&t, 30021 * SEC));
	assert_true(fb_trial_next_ns(&t) == FB_TRIAL_NEVER);
}

/* Minutes of a queue of thousands, a second's response each: no number is too large. */
TEST(test_large)
{
	struct fb_trial_cost got;
	struct fb_trial t;
	u32 i;

	fb_trial_init(&t, 9);
	fb_trial_run(&t, true, 0);
	for (i = 0; i < 4096; i++)
		fb_trial_arrived(&t, FB_TRIAL_READ, SEC);
	for (i = 1; i < 20000; i++) {
		fb_trial_ended(&t, FB_TRIAL_READ, SEC, i * SEC);
		fb_trial_arrived(&t, FB_TRIAL_READ, i * SEC);
	}
	fb_trial_now(&t, FB_TRIAL_READ, &got);
	/* Little's law: 4096 in the system, one a second; what is left out is no whole second */
	assert_in_range(got.alone_ns, 3800 * SEC, 4400 * SEC);
	assert_true((u64)llabs(got.diff_ns) < 4 * got.error_ns + SEC);
}
