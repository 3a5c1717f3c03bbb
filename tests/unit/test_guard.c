// SPDX-License-Identifier: GPL-2.0
/*
 * The guard: what it allows, when it trips, how long it stays off. Expectations come from
 * its definition in core/guard.h.
 */
#include "core/guard.h"
#include "support.h"

#define SEC 1000000000ULL
#define RATE 150		/* foreground requests a second */
#define PPM 5000		/* bound: three in four seconds */

static struct fb_guard g;

int setup(void **state)
{
	fb_guard_init(&g);
	return 0;
}

/* a second of foreground with @missed turns in it; the moment at which it tripped, or 0 */
static u64 one_second(u64 at, u32 missed)
{
	u32 i;

	for (i = 0; i < RATE; i++) {
		u64 now = at + i * (SEC / RATE);

		if (fb_guard_count(&g, now, 1, i < missed, PPM))
			return now;
	}
	return 0;
}

/* At the bound, for an hour: no trip. Seen to fail with a sum that the bound is not taken from. */
TEST(test_holds)
{
	u64 s;

	for (s = 100; s < 3700; s++)
		assert_int_equal(one_second(s * SEC, s % 4 != 0), 0);
	assert_true(fb_guard_on(&g, s * SEC));
}

/* Chance: half of the bound, drawn at random, for two days. Seen to fail with an excess of 4. */
TEST(test_chance)
{
	struct rnd r = { 3 };
	u32 i;

	for (i = 0; i < 48 * 3600 * RATE; i++)
		assert_false(fb_guard_count(&g, i * (SEC / RATE), 1,
					    rnd_below(&r, 2 * FB_PPM / PPM) == 0, PPM));
}

/*
 * Twenty turns in a second: trips at the 17th, for the requests behind them allow a tenth of one.
 * Seen to fail with the comparison turned round.
 */
TEST(test_trips)
{
	u64 at;

	at = one_second(50 * SEC, 20);
	assert_int_equal(at, 50 * SEC + FB_GUARD_EXCESS * (SEC / RATE));
	assert_false(fb_guard_on(&g, at + FB_GUARD_PAUSE_NS - 1));
	assert_true(fb_guard_on(&g, at + FB_GUARD_PAUSE_NS));
	assert_int_equal(g.trips, 1);
	/* what was lost before the pause is paid for */
	assert_int_equal(one_second(at + FB_GUARD_PAUSE_NS, FB_GUARD_EXCESS), 0);
}

/* What was saved once is not spent later. Seen to fail with a sum that goes below 0. */
TEST(test_saves)
{
	u64 s;

	for (s = 100; s < 1000; s++)
		assert_int_equal(one_second(s * SEC, 0), 0);
	assert_int_not_equal(one_second(s * SEC, 20), 0);
}

/* The pause doubles up to its bound; a calm minute resets it. Seen to fail without both. */
TEST(test_doubles)
{
	u64 now = 10 * SEC, at, pause = FB_GUARD_PAUSE_NS;
	int i;

	g.on_since_ns = now;
	for (i = 0; i < 9; i++) {
		at = one_second(now, 20);
		assert_int_not_equal(at, 0);
		assert_false(fb_guard_on(&g, at + pause - 1));
		now = at + pause;
		assert_true(fb_guard_on(&g, now));
		pause = min_t(u64, 2 * pause, FB_GUARD_PAUSE_MAX_NS);
	}
	assert_int_equal(pause, FB_GUARD_PAUSE_MAX_NS);
	at = one_second(now + FB_GUARD_CALM_NS + SEC, 20);
	assert_false(fb_guard_on(&g, at + FB_GUARD_PAUSE_NS - 1));
	assert_true(fb_guard_on(&g, at + FB_GUARD_PAUSE_NS));
}
