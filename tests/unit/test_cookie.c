// SPDX-License-Identifier: GPL-2.0
/*
 * Cookies (disk/cookie.c): random batches of ranges against a model with a value for each block.
 * The array must have the model's values, be sorted, without overlap, joined where neighbours
 * are equal, and without values of 0; a batch that fails changes nothing.
 *
 * Seen to fail with: a look-up that takes the block behind a segment for its last one; earlier
 * ranges of a batch winning; values of 0 kept; equal neighbours not joined.
 */
#include "disk/cookie.h"
#include "support.h"

#define BLOCKS 600
#define BATCH 70

static struct rnd rnd = { 7 };

static void check(const struct fb_cookies *c, const u64 *model)
{
	u64 b;
	u32 i;

	for (b = 0; b < BLOCKS; b++)
		assert_int_equal(fb_cookie_find(c, b), model[b]);
	for (i = 0; i < c->n; i++) {
		assert_true(c->segment[i].first < c->segment[i].end);
		assert_true(c->segment[i].value != 0);
		if (!i)
			continue;
		assert_true(c->segment[i - 1].end <= c->segment[i].first);
		assert_true(c->segment[i - 1].end < c->segment[i].first ||
			    c->segment[i - 1].value != c->segment[i].value);
	}
	assert_true(c->n <= c->room);
}

static u32 random_batch(struct fb_cookie_segment *range, u64 *model)
{
	u32 n = 1 + rnd_below(&rnd, BATCH), i, most = rnd_below(&rnd, 2) ? 3 : 120;
	u64 b;

	for (i = 0; i < n; i++) {
		range[i].first = rnd_below(&rnd, BLOCKS);
		range[i].end = range[i].first + 1 + rnd_below(&rnd, most);
		range[i].end = min_t(u64, range[i].end, BLOCKS);
		range[i].value = rnd_below(&rnd, 4);
		for (b = range[i].first; b < range[i].end; b++)
			model[b] = range[i].value;
	}
	return n;
}

/* segments that were given up: the others are found before and after they are packed */
TEST(test_drop)
{
	struct fb_cookie_segment range[BATCH];
	u64 model[BLOCKS] = {}, b;
	struct fb_cookies c = {}, made;
	u32 round, i, k;

	for (round = 0; round < 3000; round++) {
		u32 n = random_batch(range, model);

		assert_int_equal(fb_cookie_lay(&c, range, n, &made), 0);
		fb_cookie_free(&c);
		c = made;
		for (k = 0; k < 10 && c.n; k++) {
			i = rnd_below(&rnd, c.n);
			for (b = c.segment[i].first; b < c.segment[i].end; b++)
				model[b] = 0;
			fb_cookie_drop(&c, i);
		}
		for (b = 0; b < BLOCKS; b++)
			assert_int_equal(fb_cookie_find(&c, b), model[b]);
		fb_cookie_pack(&c);
		check(&c, model);
	}
	fb_cookie_free(&c);
	assert_int_equal(fb_cookie_bytes(&c), 0);
}

/* as many segments as there may be, and one more */
TEST(test_limit)
{
	static struct fb_cookie_segment range[FB_COOKIE_MAX + 1];
	struct fb_cookies c = {}, made = {};
	u32 i;

	for (i = 0; i <= FB_COOKIE_MAX; i++)
		range[i] = (struct fb_cookie_segment) { 2 * i, 2 * i + 1, 1 + i };
	for (i = 0; i < FB_COOKIE_MAX; i += 1024) {
		assert_int_equal(fb_cookie_lay(&c, &range[i], 1024, &made), 0);
		fb_cookie_free(&c);
		c = made;
	}
	assert_int_equal(c.n, FB_COOKIE_MAX);
	range[0].first = 1;
	range[0].end = 2;
	range[0].value = ~0ULL;
	assert_int_equal(fb_cookie_lay(&c, range, 1, &made), -ENOSPC);
	assert_int_equal(fb_cookie_find(&c, 1), 0);
	assert_int_equal(fb_cookie_find(&c, 2 * (FB_COOKIE_MAX - 1)), FB_COOKIE_MAX);
	/* a value of 0 cuts a hole: that is room for another one */
	range[1] = (struct fb_cookie_segment) { 8, 9, 0 };
	assert_int_equal(fb_cookie_lay(&c, range, 2, &made), 0);
	assert_int_equal(made.n, FB_COOKIE_MAX);
	fb_cookie_free(&made);
	fb_cookie_free(&c);
}

/* a value of 0 costs nothing, and the whole range of blocks can be named */
TEST(test_edges)
{
	const struct fb_cookie_segment none = { 0, 1000, 0 }, all = { 0, U64_MAX, 9 };
	const struct fb_cookie_segment middle = { 10, 20, 0 };
	struct fb_cookies c = {}, made;

	assert_int_equal(fb_cookie_lay(&c, &none, 1, &made), 0);
	assert_int_equal(made.n, 0);
	fb_cookie_free(&made);
	assert_int_equal(fb_cookie_lay(&c, &all, 1, &c), 0);
	assert_int_equal(fb_cookie_find(&c, 0), 9);
	assert_int_equal(fb_cookie_find(&c, U64_MAX - 1), 9);
	assert_int_equal(fb_cookie_lay(&c, &middle, 1, &made), 0);
	assert_int_equal(made.n, 2);
	assert_int_equal(fb_cookie_find(&made, 9), 9);
	assert_int_equal(fb_cookie_find(&made, 10), 0);
	assert_int_equal(fb_cookie_find(&made, 19), 0);
	assert_int_equal(fb_cookie_find(&made, 20), 9);
	fb_cookie_free(&made);
	fb_cookie_free(&c);
}
