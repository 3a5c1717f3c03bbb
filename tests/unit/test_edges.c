// SPDX-License-Identifier: GPL-2.0
/*
 * Edges of the core: what is refused, what has no effect, and lists that are full. What each file
 * does otherwise is tested by the test of its name.
 */
#include "core/completion.h"
#include "core/idle_order.h"
#include "core/idle_policy.h"
#include "core/policy.h"
#include "core/quarantine.h"
#include "support.h"

#define GRANULE 16U
#define MS 1000000ULL
#define SECOND 1000000000ULL

static struct disk_model *dm;
static struct fb_bitmap bm;

int setup(void **state)
{
	dm = support_model_file("models/toy.fbmodel");
	return fb_bitmap_init(&bm, fb_granule_first(GRANULE, dm_info(dm)->sectors), dm_tracks(dm));
}

int teardown(void **state)
{
	fb_bitmap_destroy(&bm);
	dm_free(dm);
	return 0;
}

/* regions or segments that an order cannot have */
TEST(test_orders_refused)
{
	fb_idle_order_fn near = fb_idle_order_near;
	struct fb_idle_order order, before;

	assert_int_equal(0, fb_idle_order_init(&order, near, dm_info(dm)->sectors, GRANULE, 512,
					       GRANULE));
	before = order;
	assert_int_equal(-EINVAL, fb_idle_order_init(&order, near, dm_info(dm)->sectors, GRANULE,
						     513, GRANULE));
	assert_int_equal(-EINVAL, fb_idle_order_init(&order, near, dm_info(dm)->sectors, GRANULE,
						     512, GRANULE + 1));
	assert_memory_equal(&order, &before, sizeof(order));
}

/* one block that takes longer than allowed is not read, and not passed over for good */
TEST(test_too_long)
{
	static const char *const names[] = { "sequential", "staggered", "near" };
	struct dm_place head = { 0 };
	struct fb_idle_order_ask ask = { .dm = dm, .bm = &bm, .head = &head,
		.max_sectors = 128, .max_ns = 100 };
	struct fb_idle_order order;
	struct fb_plan_piece p;
	u32 i, k;

	fb_for_each_run(dm, GRANULE, 500000 / GRANULE * GRANULE, GRANULE, support_want, &bm);
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		assert_int_equal(0, fb_idle_order_init(&order, support_order(names[i]),
						       dm_info(dm)->sectors, GRANULE, 0, 0));
		ask.max_ns = 100;
		for (k = 0; k < 100; k++)
			assert_false(fb_idle_order_next(&order, &ask, &p));
		ask.max_ns = 1000 * MS;
		/* each call looks into a few regions */
		for (k = 0; k < 100 && !fb_idle_order_next(&order, &ask, &p); k++)
			;
		assert_true(k < 100);
		assert_int_equal(p.lbn, 500000 / GRANULE * GRANULE);
	}
}

/* an order by places goes by numbers while nobody knows where the head is, from any cursor */
TEST(test_no_head)
{
	const struct fb_idle_order_ask ask = { .dm = dm, .bm = &bm, .ahead = true,
		.max_sectors = 128 };
	struct fb_idle_order order;
	struct fb_plan_piece p;

	assert_int_equal(0, fb_idle_order_init(&order, fb_idle_order_near, dm_info(dm)->sectors,
					       GRANULE, 0, 0));
	order.cursor = 1000;
	fb_for_each_run(dm, GRANULE, 999 * GRANULE, GRANULE, support_want, &bm);
	fb_for_each_run(dm, GRANULE, 5000 * GRANULE, GRANULE, support_want, &bm);
	assert_true(fb_idle_order_next(&order, &ask, &p));
	assert_int_equal(p.lbn, 5000 * GRANULE);
	order.cursor = 5001;
	assert_true(fb_idle_order_next(&order, &ask, &p));
	assert_int_equal(p.lbn, 999 * GRANULE);
}

/* a disk that is idle cannot become so, and a read that was not sent cannot end */
TEST(test_events_without_effect)
{
	struct fb_idle_policy w, before;

	fb_idle_policy_init(&w, SECOND);
	before = w;
	fb_idle_policy_idle(&w, 2 * SECOND);
	fb_idle_policy_ended(&w, 3 * SECOND);
	assert_memory_equal(&w, &before, sizeof(w));
}

/* bad blocks are counted, and reported, when there is no room for them in the list any more */
TEST(test_full_list)
{
	struct fb_quarantine_read read = { .nsect = 8, .failed = true, .medium = true };
	struct fb_quarantine bad = { 0 };
	u32 i;

	fb_quarantine_init(&bad);
	fb_quarantine_begin(&bad, 8, 1ULL << 32, false);
	for (i = 0; i < FB_QUARANTINE_LISTED + 10; i++) {
		read.lbn = i * 8;
		fb_quarantine_ended(&bad, &read, (i + 1) * 100 * SECOND);
	}
	assert_int_equal(bad.listed, FB_QUARANTINE_LISTED);
	assert_int_equal(bad.total, FB_QUARANTINE_LISTED + 10);
	assert_int_equal(bad.list[FB_QUARANTINE_LISTED - 1].lbn, (FB_QUARANTINE_LISTED - 1) * 8);
}

/* one block that failed together with the foreground's may not be the one at fault */
TEST(test_joined)
{
	struct fb_quarantine_read read = {
		.lbn = 800, .nsect = 8, .failed = true, .medium = true, .joined = true,
	};
	struct fb_quarantine bad = { 0 };

	fb_quarantine_init(&bad);
	fb_quarantine_begin(&bad, 8, 1ULL << 32, false);
	assert_int_equal(fb_quarantine_ended(&bad, &read, SECOND), 0);
	assert_int_equal(bad.total, 0);
	assert_true(fb_quarantine_doubts(&bad, 800, 8));
	read.joined = false;
	assert_int_equal(fb_quarantine_ended(&bad, &read, 2 * SECOND),
			 FB_QUARANTINE_KNOWN | FB_QUARANTINE_NEW | FB_QUARANTINE_REPORT);
}

/* a group that does not exist has nothing, and places beyond the disk none of its distances */
TEST(test_beyond)
{
	fb_bitmap_want(&bm, bm.granules - 1, 1, bm.groups - 1);
	assert_int_equal(fb_bitmap_group(&bm, bm.groups - 1), 1);
	assert_int_equal(fb_bitmap_group(&bm, bm.groups), 0);
	assert_int_equal(fb_bitmap_group(&bm, U32_MAX), 0);
	assert_int_equal(dm_seek_floor_ns(dm, dm_info(dm)->cylinders), U64_MAX);
	assert_true(dm_seek_floor_ns(dm, dm_info(dm)->cylinders - 1) <= 5000000);
}

/* of requests with the same deadline the one that came first goes first */
TEST(test_same_deadline)
{
	struct fb_policy_req req[3] = {};
	struct fb_policy_pool pool;
	struct fb_policy_choice c;
	u32 i;

	fb_policy_pool_init(&pool);
	for (i = 0; i < 3; i++) {
		req[i].lbn = 300 - 100 * i;
		req[i].class = FB_POLICY_BE;
		req[i].deadline_ns = SECOND;
		fb_policy_pool_add(&pool, &req[i]);
	}
	for (i = 0; i < 3; i++) {
		fb_policy_choose(&pool, NULL, NULL, 2 * SECOND, &c);
		assert_true(c.expired);
		assert_ptr_equal(c.req, &req[i]);
		fb_policy_pool_del(&pool, &req[i]);
	}
}
