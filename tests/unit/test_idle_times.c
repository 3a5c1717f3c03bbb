// SPDX-License-Identifier: GPL-2.0
/*
 * What idle reads cost, what they take, and what they leave out, by measured times. Expectations
 * come from core/idle/.
 */
#include "core/idle/learnt.h"
#include "support.h"

#define US 1000ULL
#define MS 1000000ULL

/* ---- the account ---- */

/*
 * A read ends at 10 ms. Who came at 9 has waited 1 ms, who comes meanwhile what is left of that,
 * and who comes to a free drive nothing. Seen to fail with "a->free_ns = now" left out of either
 * function, and without "max" in fb_idle_account_served().
 */
TEST(test_account)
{
	struct fb_idle_account a = { 0 };

	fb_idle_account_read(&a, 10 * MS, 2 * MS);
	assert_int_equal(1 * MS, fb_idle_account_served(&a, 15 * MS, 9 * MS, 0));
	/* without the read the one before would have ended at 14, and the drive have begun then */
	assert_int_equal(1 * MS, fb_idle_account_served(&a, 20 * MS, 12 * MS, 0));
	/* came at 19.6: .4 ms are made up for by the pause that there would have been */
	assert_int_equal(400 * US, fb_idle_account_served(&a, 25 * MS, 19600 * US, 0));
	assert_int_equal(0, fb_idle_account_served(&a, 40 * MS, 30 * MS, 0));
}

/*
 * A drive that wrote first was busy anyway: of 20 ms only 1 was the read's. Seen to fail with
 * fb_idle_account_read() that leaves @without_ns alone.
 */
TEST(test_account_late)
{
	struct fb_idle_account a = { 0 };

	fb_idle_account_read(&a, 30 * MS, 1 * MS);
	assert_int_equal(1 * MS, fb_idle_account_served(&a, 40 * MS, 12 * MS, 0));
}

/*
 * The ratio is of what the mean rest would have cost, whatever the length of reads; it begins at
 * one and has bounds. Seen to fail without FB_IDLE_ACCOUNT_PRIOR_US, and with the clamp left out.
 */
TEST(test_account_ratio)
{
	struct fb_idle_account a = { 0 };
	u32 i;

	assert_int_equal(FB_IDLE_ACCOUNT_ONE, fb_idle_account_ratio(&a));
	for (i = 0; i < 10000; i++)
		fb_idle_account_period(&a, 1 * MS, 2, 1 * MS);
	assert_in_range(fb_idle_account_ratio(&a), FB_IDLE_ACCOUNT_ONE / 2,
			FB_IDLE_ACCOUNT_ONE / 2 + 4);
	for (i = 0; i < 10000; i++)
		fb_idle_account_period(&a, 100 * MS, 1, 1 * MS);
	assert_int_equal(4 * FB_IDLE_ACCOUNT_ONE, fb_idle_account_ratio(&a));
}

/*
 * A stream's request that took 5 ms longer than usual has lost those, too, and so have those that
 * wait behind it. Seen to fail with @without_ns that knows nothing of it.
 */
TEST(test_account_lost)
{
	struct fb_idle_account a = { 0 };

	fb_idle_account_read(&a, 10 * MS, 2 * MS);
	assert_int_equal(6 * MS, fb_idle_account_took_ns(&a, 16 * MS, 9 * MS));
	assert_int_equal(6 * MS, fb_idle_account_served(&a, 16 * MS, 9 * MS, 5 * MS));
	assert_int_equal(6 * MS, fb_idle_account_served(&a, 20 * MS, 9 * MS, 0));
	assert_int_equal(-1 * MS, fb_idle_account_served(&a, 50 * MS, 49 * MS, -1 * MS));
}

/* ---- times ---- */

/*
 * Means count from eight reads on, the usual time from eight reads of a clean drive. The rest of
 * reads of 1 and 3 ms is E[x^2] / 2 E[x] = 1.25 ms. Seen to fail with "clean" not looked at.
 */
TEST(test_times)
{
	struct fb_idle_times t = { 0 };
	u32 i;

	for (i = 0; i < 7; i++)
		fb_idle_times_add(&t, 0, 1 * MS, true);
	assert_int_equal(0, fb_idle_times_rest_ns(&t, 0));
	assert_int_equal(0, fb_idle_times_usual_ns(&t, 0));
	fb_idle_times_add(&t, 0, 1 * MS, true);
	for (i = 0; i < 8; i++)
		fb_idle_times_add(&t, 0, 3 * MS, false);
	assert_int_equal(1 * MS, fb_idle_times_usual_ns(&t, 0));
	assert_int_equal(1250 * US, fb_idle_times_rest_ns(&t, 0));
	assert_int_equal(0, fb_idle_times_rest_ns(&t, FB_IDLE_TIMES_FIRST));
}

/* ---- what is left out ---- */

/* reads of a drive on which leaving out @best granules takes 1 ms, and any other number @other */
static u32 place_reads(struct fb_idle_place *p, u32 n, u32 best, u64 other)
{
	u32 chosen = 0, skip;

	while (n--) {
		skip = fb_idle_place_choose(p, FB_IDLE_PLACE_ON);
		chosen += skip == best;
		fb_idle_place_ended(p, skip == best ? 1 * MS : other);
	}
	return chosen;
}

/*
 * The best length is found and kept, one that is hardly better is not taken, and a drive that
 * changes is followed. Seen to fail without FB_IDLE_PLACE_WORTH, and with FB_IDLE_PLACE_TRY_NEW so
 * high that nothing is tried.
 */
TEST(test_place)
{
	struct fb_idle_place p = { 0 };

	place_reads(&p, 2000, 1, 8 * MS);
	assert_in_range(place_reads(&p, 1000, 1, 8 * MS), 990, 1000);
	place_reads(&p, 400000, 0, 8 * MS);
	assert_in_range(place_reads(&p, 1000, 0, 8 * MS), 990, 1000);
	p = (struct fb_idle_place) { 0 };
	place_reads(&p, 2000, 3, 1100 * US);
	assert_int_equal(0, fb_idle_place_choose(&p, FB_IDLE_PLACE_KINDS));
	assert_in_range(place_reads(&p, 1000, 0, 1100 * US), 990, 1000);
}
