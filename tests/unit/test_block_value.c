// SPDX-License-Identifier: GPL-2.0
/*
 * What blocks are worth: roots, weights and the price of a miss, against the
 * definitions in floating point.
 *
 * Planted bugs, each seen to fail: a root of a square one too small (test_roots), the
 * square instead of the fourth power, no bound below, a bound twice as far above, regions
 * shifted by one (test_weights), a mean over twice the gaps (test_miss).
 */
#include "core/block_value.h"
#include "support.h"

#define GROUPS 1000
#define PER_GROUP 40

static struct fb_bitmap bm;
static struct fb_block_value w;

/* all wanted, but for what @done takes of each group */
static void fill(u32 (*done)(u32 group))
{
	u32 i;

	fb_bitmap_destroy(&bm);
	assert_int_equal(fb_bitmap_init(&bm, GROUPS * PER_GROUP, GROUPS), 0);
	for (i = 0; i < GROUPS; i++)
		fb_bitmap_want(&bm, i * PER_GROUP, PER_GROUP, i);
	fb_block_value_init(&w, &bm);
	for (i = 0; i < GROUPS; i++)
		fb_bitmap_take(&bm, i * PER_GROUP, done(i), i);
}

static u32 region_of(u32 group)
{
	u32 region = 0;

	while ((region + 1) * GROUPS / FB_REGIONS <= group)
		region++;
	return region;
}

static u64 fifth(u64 x)
{
	return x * x * x * x * x;
}

/* powers of 2/5 are exact, rounded down, and so is how many granules are worth more than one */
TEST(test_roots)
{
	u64 i;
	u32 n;

	fb_block_value_init(&w, &bm);
	for (i = 0; i <= FB_ROOTS; i++)
		assert_in_range(i * i * fifth(FB_WEIGHT_ONE), fifth(w.roots.of[i]),
				fifth(w.roots.of[i] + 1) - 1);
	assert_int_equal(w.roots.of[FB_ROOTS], FB_ROOT_MOST);
	for (i = 0; i <= FB_ROOT_MOST; i++) {
		n = w.roots.above[i];
		assert_true(n > FB_ROOTS || w.roots.of[n] > i);
		assert_true(n && w.roots.of[n - 1] <= i);
	}
}

static u32 half(u32 group)
{
	return PER_GROUP / 2;
}

static u32 slope(u32 group)
{
	return 5 + region_of(group) / 2;
}

static u32 nothing_in_front(u32 group)
{
	return region_of(group) < 8 ? PER_GROUP : region_of(group) == 20 ? 0 : 26;
}

/* the fourth power of the share left against that of the whole, between 1/16 and 16 */
static void check_weights(void)
{
	double all = (double)bm.n_wanted / (GROUPS * PER_GROUP);
	u64 left[FB_REGIONS] = { 0 }, begun[FB_REGIONS] = { 0 };
	u32 i;

	fb_block_value_balance(&w, &bm);
	for (i = 0; i < GROUPS; i++) {
		left[region_of(i)] += fb_bitmap_group(&bm, i);
		begun[region_of(i)] += PER_GROUP;
	}
	for (i = 0; i < FB_REGIONS; i++) {
		double is = (double)w.weights.of[i] / FB_WEIGHT_ONE;
		double want = (double)left[i] / begun[i] / all, off;

		want = min(max(want * want * want * want, 1.0 / 16), 16.0);
		off = is > want ? is - want : want - is;
		assert_true(off <= 0.03 * want + 1.0 / FB_WEIGHT_ONE);
	}
}

TEST(test_weights)
{
	u32 i;

	fill(half);
	for (i = 0; i < FB_REGIONS; i++)
		assert_int_equal(w.weights.of[i], FB_WEIGHT_ONE);
	check_weights();
	fill(slope);
	check_weights();
	assert_true(w.weights.of[0] > FB_WEIGHT_ONE);
	assert_true(w.weights.of[FB_REGIONS - 1] < FB_WEIGHT_ONE);
	fill(nothing_in_front);
	check_weights();
	assert_int_equal(w.weights.of[0], FB_WEIGHT_ONE / 16);
	assert_int_equal(w.weights.of[20], 16 * FB_WEIGHT_ONE);
}

static u32 everything(u32 group)
{
	return PER_GROUP;
}

/* nothing left, and regions with nothing to begin with: the weights are still weights */
TEST(test_empty)
{
	u32 i;

	fill(everything);
	fb_block_value_balance(&w, &bm);
	for (i = 0; i < FB_REGIONS; i++)
		assert_int_equal(w.weights.of[i], FB_WEIGHT_ONE);
	fb_bitmap_untake(&bm, 0, 1, 0);
	/* as if it had all been done when the scan began */
	fb_block_value_init(&w, &bm);
	fb_bitmap_untake(&bm, 999 * PER_GROUP, 1, 999);
	fb_block_value_balance(&w, &bm);
	for (i = 0; i < FB_REGIONS; i++)
		assert_in_range(w.weights.of[i], FB_WEIGHT_ONE / 16, 16 * FB_WEIGHT_ONE);
}

/* the mean follows what gaps bring, and a miss costs so many of them */
TEST(test_miss)
{
	u32 i;

	fb_block_value_init(&w, &bm);
	assert_int_equal(fb_block_value_miss(&w, 6 * 256), 0);
	for (i = 0; i < 3000; i++)
		fb_block_value_gap(&w, i % 2 ? 1000 : 3000);
	assert_in_range(fb_block_value_miss(&w, 6 * 256), 11900, 12100);
	assert_in_range(fb_block_value_miss(&w, 6 * 256 + 128), 12900, 13100);
	for (i = 0; i < 3000; i++)
		fb_block_value_gap(&w, 0);
	assert_in_range(fb_block_value_miss(&w, 6 * 256), 0, 6);
}

/* a change is followed to 63 % in 256 gaps */
TEST(test_pace)
{
	u32 i;

	fb_block_value_init(&w, &bm);
	for (i = 0; i < 256; i++)
		fb_block_value_gap(&w, 10000);
	assert_in_range(fb_block_value_miss(&w, 256), 6300, 6350);
}

/* a single block in all: its region has the share of the whole */
TEST(test_one_block)
{
	fb_bitmap_destroy(&bm);
	assert_int_equal(fb_bitmap_init(&bm, GROUPS * PER_GROUP, GROUPS), 0);
	fb_bitmap_want(&bm, 0, 1, 0);
	fb_block_value_init(&w, &bm);
	fb_block_value_balance(&w, &bm);
	assert_int_equal(w.weights.of[0], FB_WEIGHT_ONE);
}

int teardown(void **state)
{
	fb_bitmap_destroy(&bm);
	return 0;
}
