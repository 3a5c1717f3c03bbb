// SPDX-License-Identifier: GPL-2.0
/*
 * Orders of idle reads: each block once, to the map's very end, from wherever; staggered in
 * its exact order; no read that is predicted to take longer than allowed.
 */
#include "core/idle_order.h"
#include "support.h"

#define GRANULE 64U		/* the toy's last one is short */
#define FRUITLESS 1000		/* questions in a row without an answer, at most */

static struct bench {
	struct disk_model *dm;
	struct fb_bitmap bm;
	struct fb_idle_order order;
	struct dm_place head;
	bool ahead;
	bool lost;
	u64 reads;
	u64 read_sectors;
} b;

static struct fb_plan_piece p;

static void bench_read(void *ctx, u64 first, u32 n, u32 group)
{
	fb_bitmap_take(&b.bm, first, n, group);
	fb_bitmap_done(&b.bm, first, n, group);
}

static void bench_open(const char *model)
{
	u64 sectors;

	teardown(NULL);
	b.dm = support_model_file(model);
	sectors = dm_info(b.dm)->sectors;
	assert_int_equal(0, fb_bitmap_init(&b.bm, (sectors + GRANULE - 1) / GRANULE,
					   dm_tracks(b.dm)));
}

static void bench_want_all(u64 lbn, u64 n)
{
	fb_for_each_run(b.dm, GRANULE, lbn, n, support_want, &b.bm);
}

int teardown(void **state)
{
	fb_bitmap_destroy(&b.bm);
	dm_free(b.dm);
	memset(&b, 0, sizeof(b));
	return 0;
}

/* one question, and its answer read; the head is where it ends, 0.4 ms later */
static bool bench_step(u32 max_sectors, u64 max_ns)
{
	struct fb_idle_order_ask ask = {
		.dm = b.dm,
		.bm = &b.bm,
		.head = b.lost ? NULL : &b.head,
		.ahead = b.ahead,
		.max_sectors = max_sectors,
		.max_ns = max_ns,
	};
	struct dm_access acc;
	u64 wanted = b.bm.n_wanted;

	if (!fb_idle_order_next(&b.order, &ask, &p))
		return false;
	assert_true(p.nsect && p.nsect <= max_sectors);
	assert_true(p.lbn + p.nsect <= dm_info(b.dm)->sectors);
	/* neither its first nor its last block is read in vain */
	assert_true(fb_bitmap_is_wanted(&b.bm, p.lbn / GRANULE));
	assert_true(fb_bitmap_is_wanted(&b.bm, (p.lbn + p.nsect - 1) / GRANULE));
	assert_int_equal(0, dm_access(b.dm, &b.head, p.lbn, p.nsect, false, &acc));
	assert_true(!max_ns || acc.total_ns <= max_ns);
	fb_for_each_run(b.dm, GRANULE, p.lbn, p.nsect, bench_read, NULL);
	assert_true(b.bm.n_wanted < wanted);
	b.head = acc.end;
	b.head.angle += dm_ns_to_angle(b.dm, 400000);
	b.reads++;
	b.read_sectors += p.nsect;
	return true;
}

/* until nothing is left; what is not found now is asked for again a millisecond later */
static void bench_drain(u32 max_sectors, u64 max_ns)
{
	u32 fruitless = 0;

	while (b.bm.n_wanted) {
		if (bench_step(max_sectors, max_ns)) {
			fruitless = 0;
			continue;
		}
		assert_true(++fruitless < FRUITLESS);
		b.head.angle += dm_ns_to_angle(b.dm, 1000000);
	}
	assert_false(bench_step(max_sectors, max_ns));
}

static const char *const bench_orders[] = { "sequential", "staggered", "near" };

static void all_of_it(const char *order, bool ahead, u32 size)
{
	bench_open("models/toy.fbmodel");
	b.ahead = ahead;
	bench_want_all(0, dm_info(b.dm)->sectors);
	assert_int_equal(0, fb_idle_order_init(&b.order, support_order(order),
					       dm_info(b.dm)->sectors, GRANULE, 7, 2 * GRANULE));
	bench_drain(size, 0);
	assert_int_equal(b.bm.n_done, b.bm.granules);
	/* near reads over the holes of a track */
	if (b.order.find != fb_idle_order_near)
		assert_int_equal(b.read_sectors, dm_info(b.dm)->sectors);
}

/*
 * The toy's whole map, in reads of one granule, of 64 KiB, and of up to a MiB.
 *
 * Seen to fail: the last block as long as the others; parts of the map passed over with
 * their first count.
 */
TEST(test_all_of_it_once)
{
	static const u32 sizes[] = { 64, 128, 2048 };
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(bench_orders); i++)
		for (k = 0; k < 2 * ARRAY_SIZE(sizes); k++)
			all_of_it(bench_orders[i], k % 2, sizes[k / 2]);
}

/* 24 TB of which some blocks are left, the very last one among them */
TEST(test_few_on_a_large_disk)
{
	u32 i, k, asked;
	u64 last;

	bench_open("models/nearline24.fbmodel");
	last = (b.bm.granules - 1) * GRANULE;
	for (i = 0; i < ARRAY_SIZE(bench_orders); i++) {
		assert_int_equal(0, fb_idle_order_init(&b.order,
						       support_order(bench_orders[i]),
						       dm_info(b.dm)->sectors, GRANULE, 512, 0));
		for (k = 0; k < 5; k++)
			bench_want_all(last / 5 * k / GRANULE * GRANULE, GRANULE);
		bench_want_all(last, dm_info(b.dm)->sectors - last);
		assert_int_equal(b.bm.n_wanted, 6);
		for (asked = 0; b.bm.n_wanted; asked++) {
			assert_true(asked < FRUITLESS);
			bench_step(128, 0);
		}
	}
}

/*
 * By hand: the next segment is the first of the next region, then come the seconds; where
 * the head is not known.
 */
TEST(test_staggered_is_exact)
{
	u64 region, round, start, end, n, lbn;
	u32 i;

	bench_open("models/toy.fbmodel");
	b.lost = true;
	n = b.bm.granules;
	bench_want_all(0, dm_info(b.dm)->sectors);
	assert_int_equal(0, fb_idle_order_init(&b.order, fb_idle_order_staggered,
					       dm_info(b.dm)->sectors, GRANULE, 7, 2 * GRANULE));
	region = (n + 6) / 7;
	for (round = 0; b.bm.n_wanted; round++) {
		for (i = 0; i < 7; i++) {
			start = i * region + round * 2;
			end = min(min((i + 1) * region, n), start + 2);
			if (start >= end)
				continue;
			while (!bench_step(2048, 0))
				;
			lbn = end * GRANULE;
			assert_int_equal(p.lbn, start * GRANULE);
			assert_int_equal(p.lbn + p.nsect, min(lbn, dm_info(b.dm)->sectors));
		}
	}
}

/* what order near finds without a map, all being wanted but for the first @done granules */
static u64 unmapped(u64 cursor, struct fb_idle_order_ask ask, u64 done)
{
	struct fb_idle_order order;
	struct fb_bitmap bm;
	u64 i;

	assert_int_equal(0, fb_bitmap_init(&bm, 1000, fb_bitmap_spans(1000)));
	for (i = done; i < 1000; i++)
		fb_bitmap_want(&bm, i, 1, i / FB_BITMAP_SPAN);
	ask.bm = &bm;
	ask.max_sectors = GRANULE;
	assert_int_equal(0, fb_idle_order_init(&order, fb_idle_order_near, 1000 * GRANULE,
					       GRANULE, 0, 0));
	order.cursor = cursor;
	assert_true(fb_idle_order_next(&order, &ask, &p));
	assert_int_equal(GRANULE, p.nsect);
	fb_bitmap_destroy(&bm);
	return p.lbn / GRANULE;
}

/*
 * On from the cursor, or behind the foreground, or over its write; less what is left out; the next
 * that is wanted, from the beginning if none is. Seen to fail with @over ignored, and with @skip.
 */
TEST(test_unmapped)
{
	struct fb_idle_order_ask ask = { 0 };

	assert_int_equal(70, unmapped(70, ask, 0));
	ask.skip = 2;
	assert_int_equal(72, unmapped(70, ask, 0));
	ask.aimed = true;
	ask.aim = 7 * GRANULE + 1;
	assert_int_equal(10, unmapped(70, ask, 0));
	ask.over = true;
	assert_int_equal(9, unmapped(70, ask, 0));
	ask.skip = 0;
	assert_int_equal(7, unmapped(70, ask, 0));
	assert_int_equal(100, unmapped(70, ask, 100));
	ask.aim = 999 * GRANULE;
	ask.skip = 3;
	assert_int_equal(0, unmapped(70, ask, 0));
}
