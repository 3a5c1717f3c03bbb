// SPDX-License-Identifier: GPL-2.0
/*
 * The guard: what it allows, when it trips, how long it stays off. Expectations come from
 * its definition in core/guard.h and from the Poisson distribution.
 */
#include "core/guard.h"
#include "support.h"

#define SEC 1000000000ULL
#define RATE 150		/* foreground requests a second */
#define PPM 5000		/* bound: 7.5 of 1500 in ten seconds */

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

/* At the bound, for an hour: no trip. Seen to fail without the margin for chance. */
TEST(test_holds)
{
	u64 s;

	for (s = 100; s < 3700; s++)
		assert_int_equal(one_second(s * SEC, s % 4 != 0), 0);
	assert_true(fb_guard_on(&g, s * SEC));
}

/*
 * 14 turns in the first of ten seconds: 13.0 is 7.5 and two standard deviations. Trips at
 * the 14th at the latest, for the window is not full and the bound lower. Seen to fail
 * with the comparison turned round.
 */
TEST(test_trips)
{
	u64 at;

	at = one_second(50 * SEC, 14);
	assert_in_range(at, 50 * SEC, 50 * SEC + 14 * (SEC / RATE));
	assert_false(fb_guard_on(&g, at + FB_GUARD_PAUSE_NS - 1));
	assert_true(fb_guard_on(&g, at + FB_GUARD_PAUSE_NS));
	assert_int_equal(g.trips, 1);
}

/* Four are no evidence, even of four requests. Seen to fail without the minimum. */
TEST(test_few)
{
	u32 i;

	for (i = 0; i < FB_GUARD_MIN_MISSES - 1; i++)
		assert_false(fb_guard_count(&g, 7 * SEC + i, 1, 1, PPM));
	assert_true(fb_guard_count(&g, 7 * SEC + i, 1, 1, PPM));
}

/* what the window holds */
static u32 sum(const u32 count[FB_GUARD_SECONDS])
{
	u32 n = 0, i;

	for (i = 0; i < FB_GUARD_SECONDS; i++)
		n += count[i];
	return n;
}

/* Misses leave the window after ten seconds. Seen to fail when slots are not cleared. */
TEST(test_forgets)
{
	u64 s;

	assert_int_equal(one_second(100 * SEC, 4), 0);
	for (s = 101; s < 110; s++)
		assert_int_equal(one_second(s * SEC, 0), 0);
	assert_int_equal(sum(g.missed), 4);
	assert_int_equal(sum(g.fg), FB_GUARD_SECONDS * RATE);
	one_second(110 * SEC, 0);
	assert_int_equal(sum(g.missed), 0);
	assert_int_equal(sum(g.fg), FB_GUARD_SECONDS * RATE);
	one_second(1000 * SEC, 0);
	assert_int_equal(sum(g.fg), RATE);
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

/*
 * The bound is exceeded beyond two standard deviations of a Poisson distribution: with 36 misses
 * that is so while fewer than 25.8345 are allowed, for 36 - x > 2 sqrt(x).
 */
TEST(test_exact)
{
	u32 fg, i;

	for (fg = 25830; fg < 25840; fg++) {
		bool tripped = false;

		fb_guard_init(&g);
		fb_guard_count(&g, SEC, fg, 0, 1000);
		for (i = 0; i < 36; i++)
			tripped = fb_guard_count(&g, SEC, 0, 1, 1000);
		assert_int_equal(tripped, fg < 25835);
	}
}
