// SPDX-License-Identifier: GPL-2.0
/*
 * The coverage map against a naive one: an array with a state per granule.
 * Expectations come from that array, which knows no words and no masks.
 *
 * Planted bugs, each seen to fail test_random: fb_bitmap_mask() without its
 * second half (runs spill over into the last word); fb_bitmap_untake() without
 * adding to @group_wanted; fb_bitmap_want() without "~flying" (a granule in
 * flight is registered again and delivered twice); a word that flies sought one too late;
 * adds in flight that are forgotten, as they once were. Others: regions that begin a granule
 * early (sanitizer), a count of twice as many groups (test_shared), a list that is never full
 * (sanitizer, test_flying_full).
 */
#include "fb_bitmap.h"
#include "support.h"

enum naive { NONE, WANTED, FLYING };

#define GRANULES 1000U	/* not a multiple of 64 */
#define PER_GROUP 41U	/* an Atlas 10K track: neither divides nor meets words */
#define GROUPS ((GRANULES + PER_GROUP - 1) / PER_GROUP)

struct naive_map {
	u8 state[GRANULES];
	bool again[GRANULES];
	u64 done;
};

static u32 naive_move(struct naive_map *nm, u64 first, u32 n, enum naive from, enum naive to)
{
	u32 moved = 0;
	u64 g;

	for (g = first; g < first + n; g++) {
		if (nm->state[g] != from)
			continue;
		nm->state[g] = to;
		moved++;
	}
	return moved;
}

/* what was added while it flew is wanted when it is done, without being added again */
static u32 naive_done(struct naive_map *nm, u64 first, u32 n)
{
	u32 moved = 0;
	u64 g;

	for (g = first; g < first + n; g++) {
		if (nm->state[g] != FLYING)
			continue;
		nm->state[g] = nm->again[g] ? WANTED : NONE;
		moved++;
	}
	nm->done += moved;
	return moved;
}

static u32 naive_again(struct naive_map *nm, u64 first, u32 n)
{
	u32 told = 0;
	u64 g;

	for (g = first; g < first + n; g++) {
		if (nm->state[g] != FLYING || nm->again[g])
			continue;
		nm->again[g] = true;
		told++;
	}
	return told;
}

static void naive_forget(struct naive_map *nm, u64 first, u32 n)
{
	memset(nm->again + first, 0, n * sizeof(*nm->again));
}

/* region i has the groups from groups * i / FB_REGIONS on */
static u32 region_of(u32 group, u64 groups)
{
	u32 region = 0;

	while (groups * (region + 1) / FB_REGIONS <= group)
		region++;
	return region;
}

static void compare(const struct fb_bitmap *bm, const struct naive_map *nm)
{
	u32 wanted[GROUPS] = { 0 };
	u64 n_wanted = 0, n_flying = 0, n_again = 0, region[FB_REGIONS] = { 0 }, g;
	u32 i;

	for (g = 0; g < GRANULES; g++) {
		assert_int_equal(fb_bitmap_is_wanted(bm, g), nm->state[g] == WANTED);
		assert_int_equal(fb_bitmap_is_flying(bm, g), nm->state[g] == FLYING);
		n_wanted += nm->state[g] == WANTED;
		n_flying += nm->state[g] == FLYING;
		n_again += nm->again[g];
		wanted[g / PER_GROUP] += nm->state[g] == WANTED;
		region[region_of(g / PER_GROUP, GROUPS)] += nm->state[g] == WANTED;
	}
	assert_memory_equal(bm->region, region, sizeof(region));
	assert_int_equal(bm->n_wanted, n_wanted);
	assert_int_equal(bm->n_flying, n_flying);
	assert_int_equal(bm->n_again, n_again);
	assert_int_equal(bm->n_done, nm->done);
	for (i = 0; i < GROUPS; i++)
		assert_int_equal(fb_bitmap_group(bm, i), wanted[i]);
}

static void compare_queries(const struct fb_bitmap *bm, const struct naive_map *nm,
			    u64 first, u32 n)
{
	u64 lo = first, hi = first, g, f = first, next = GRANULES;
	u32 count = 0, len = n;

	for (g = first; g < first + n; g++) {
		if (nm->state[g] != WANTED)
			continue;
		lo = count ? lo : g;
		hi = g;
		count++;
	}
	assert_int_equal(fb_bitmap_count(bm, first, n), count);
	assert_int_equal(fb_bitmap_trim(bm, &f, &len), count);
	assert_int_equal(f, count ? lo : first);
	assert_int_equal(len, count ? hi - lo + 1 : n);
	for (g = GRANULES; g-- > first;)
		next = nm->state[g] == FLYING ? g : next;
	assert_int_equal(fb_bitmap_next_flying(bm, first), next);
	for (next = GRANULES, g = GRANULES; g-- > first;)
		next = nm->state[g] == WANTED ? g : next;
	assert_int_equal(fb_bitmap_next_wanted(bm, first, bm->granules), next);
}

/* 20,000 random moves of random runs within a group: states, counts, queries */
TEST(test_random)
{
	static struct naive_map nm;
	struct fb_bitmap bm;
	struct rnd r = { 1 };
	u32 i;

	memset(&nm, 0, sizeof(nm));
	assert_int_equal(fb_bitmap_init(&bm, GRANULES, GROUPS), 0);
	for (i = 0; i < 20000; i++) {
		u32 group = rnd_below(&r, GROUPS);
		u32 size = min(GRANULES - group * PER_GROUP, PER_GROUP);
		u32 off = rnd_below(&r, size), n = 1 + rnd_below(&r, size - off), moved;
		u64 first = group * PER_GROUP + off;

		switch (rnd_below(&r, 6)) {
		case 0:
			moved = naive_move(&nm, first, n, NONE, WANTED);
			assert_int_equal(fb_bitmap_want(&bm, first, n, group), moved);
			break;
		case 1:
			naive_forget(&nm, first, n);
			moved = naive_move(&nm, first, n, WANTED, NONE);
			assert_int_equal(fb_bitmap_unwant(&bm, first, n, group), moved);
			break;
		case 2:
			moved = naive_move(&nm, first, n, WANTED, FLYING);
			assert_int_equal(fb_bitmap_take(&bm, first, n, group), moved);
			break;
		case 3:
			moved = naive_done(&nm, first, n);
			naive_forget(&nm, first, n);
			assert_int_equal(fb_bitmap_done(&bm, first, n, group), moved);
			break;
		case 4:
			moved = naive_again(&nm, first, n);
			assert_int_equal(fb_bitmap_again(&bm, first, n), moved);
			break;
		default:
			moved = naive_move(&nm, first, n, FLYING, WANTED);
			naive_forget(&nm, first, n);
			assert_int_equal(fb_bitmap_untake(&bm, first, n, group), moved);
		}
		first = rnd_below(&r, GRANULES);
		compare_queries(&bm, &nm, first, 1 + rnd_below(&r, GRANULES - first));
		if (i % 64 == 0)
			compare(&bm, &nm);
	}
	compare(&bm, &nm);
	fb_bitmap_destroy(&bm);
}

/* what lies outside moves nothing; an empty map cannot be made */
TEST(test_bounds)
{
	struct fb_bitmap bm;
	u64 first = 90;
	u32 n = 11;

	assert_int_equal(fb_bitmap_init(&bm, 0, 1), -EINVAL);
	assert_int_equal(fb_bitmap_init(&bm, 1, 0), -EINVAL);
	fb_bitmap_destroy(&bm);
	assert_int_equal(fb_bitmap_init(&bm, 100, 2), 0);
	assert_int_equal(fb_bitmap_want(&bm, 90, 11, 0), 0);
	assert_int_equal(fb_bitmap_want(&bm, U64_MAX, 2, 0), 0);
	assert_int_equal(fb_bitmap_want(&bm, 5, 0, 0), 0);
	assert_int_equal(fb_bitmap_want(&bm, 5, 1, 2), 0);
	assert_int_equal(fb_bitmap_want(&bm, 90, 10, 1), 10);
	assert_int_equal(fb_bitmap_take(&bm, 99, 2, 1), 0);
	assert_int_equal(fb_bitmap_trim(&bm, &first, &n), 0);
	assert_int_equal(first, 90);
	assert_int_equal(n, 11);
	assert_int_equal(fb_bitmap_group(&bm, 1), 10);
	assert_int_equal(fb_bitmap_group(&bm, 2), 0);
	assert_false(fb_bitmap_is_wanted(&bm, 100));
	assert_int_equal(fb_bitmap_next_flying(&bm, 0), 100);
	assert_int_equal(fb_bitmap_next_flying(&bm, 200), 100);
	fb_bitmap_destroy(&bm);
}

/* of a large disk, groups that follow each other share a count */
TEST(test_shared)
{
	const u32 groups = 4 * FB_BITMAP_COUNTS - 5, size = 3;
	u64 region[FB_REGIONS] = { 0 };
	struct fb_bitmap bm;
	struct rnd r = { 3 };
	u32 i, k;

	assert_int_equal(fb_bitmap_init(&bm, (u64)groups * size, groups), 0);
	assert_int_equal(bm.counts, FB_BITMAP_COUNTS - 1);
	for (i = 0; i < groups; i++) {
		k = 1 + rnd_below(&r, size);
		fb_bitmap_want(&bm, i * size, k, i);
		if (rnd_below(&r, 3) == 0) {
			fb_bitmap_take(&bm, i * size, 1, i);
			fb_bitmap_done(&bm, i * size, 1, i);
			k--;
		}
		region[region_of(i, groups)] += k;
	}
	assert_memory_equal(bm.region, region, sizeof(region));
	for (i = 0; i < groups; i += 4)
		assert_int_equal(fb_bitmap_group(&bm, i + rnd_below(&r, min(4U, groups - i))),
				 fb_bitmap_count(&bm, i * size,
						 min(4U, groups - i) * size));
	fb_bitmap_destroy(&bm);
}

/* A map that was made for few groups has room for few counts: more groups share them. */
TEST(test_regroup)
{
	struct fb_bitmap bm;

	assert_int_equal(fb_bitmap_init(&bm, 1000, 7), 0);
	fb_bitmap_want(&bm, 0, 3, 0);
	fb_bitmap_regroup(&bm, 300);
	assert_true(bm.shift > 0);
	assert_int_equal(bm.n_wanted, 3);
	assert_int_equal(fb_bitmap_group(&bm, 0), 0);
	fb_bitmap_recount(&bm, 0, 3, 299);
	assert_int_equal(fb_bitmap_group(&bm, 299), 3);
	fb_bitmap_destroy(&bm);
}

/* what cannot be remembered as flying stays wanted, and nothing is lost */
TEST(test_flying_full)
{
	const u64 granules = (FB_BITMAP_FLYING + 2) * (u64)BITS_PER_LONG;
	struct fb_bitmap bm;
	u64 g;

	assert_int_equal(fb_bitmap_init(&bm, granules, 1), 0);
	assert_int_equal(fb_bitmap_want(&bm, 0, granules, 0), granules);
	/* from the end, so that the list is moved */
	for (g = granules - 1; g >= 2 * BITS_PER_LONG; g -= BITS_PER_LONG)
		assert_int_equal(fb_bitmap_take(&bm, g, 1, 0), 1);
	assert_int_equal(fb_bitmap_take(&bm, 0, 2 * BITS_PER_LONG, 0), 0);
	assert_int_equal(fb_bitmap_take(&bm, granules - 2, 1, 0), 1);
	assert_int_equal(bm.n_flying, FB_BITMAP_FLYING + 1);
	assert_int_equal(bm.n_wanted, granules - FB_BITMAP_FLYING - 1);
	assert_true(fb_bitmap_is_wanted(&bm, 0));
	assert_int_equal(fb_bitmap_next_flying(&bm, 0), 3 * BITS_PER_LONG - 1);
	assert_int_equal(fb_bitmap_done(&bm, 0, granules, 0), FB_BITMAP_FLYING + 1);
	assert_int_equal(fb_bitmap_next_flying(&bm, 0), granules);
	assert_int_equal(fb_bitmap_take(&bm, 0, BITS_PER_LONG, 0), BITS_PER_LONG);
	fb_bitmap_destroy(&bm);
}
