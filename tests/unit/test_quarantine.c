// SPDX-License-Identifier: GPL-2.0
/*
 * Bad blocks, doubt and quarantine: what a read that is back says of the medium, and what
 * is kept from gaps for it. Expectations come from core/quarantine.h.
 *
 * As it once was, each seen to fail: any error makes a zone (test_passing); a block that
 * failed by itself once is bad (test_alone); zones that never end (test_expire); the
 * 33rd takes in all between (test_many); each bad block has a uevent (test_told).
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "core/quarantine.h"
#include "support.h"

#define GRANULE 8U
#define SECTORS 1073741824ULL
#define SIDE 2048ULL	/* FB_QUARANTINE_KIB in sectors */
#define S 1000000000ULL

static struct fb_quarantine bad;
static struct fb_bitmap bm;
static u64 now;

static int setup(void **state)
{
	(void)state;
	memset(&bad, 0, sizeof(bad));
	fb_quarantine_init(&bad);
	fb_quarantine_begin(&bad, GRANULE, SECTORS);
	now = 100 * S;
	return fb_bitmap_init(&bm, SECTORS / GRANULE, 1);
}

static int teardown(void **state)
{
	(void)state;
	fb_bitmap_destroy(&bm);
	return 0;
}

static u32 ended(u64 lbn, u32 nsect, u32 good, bool medium)
{
	const struct fb_quarantine_read read = {
		.lbn = lbn, .nsect = nsect, .good = good, .failed = good < nsect,
		.medium = medium, .took_ns = S / 50,
	};

	return fb_quarantine_ended(&bad, &read, now);
}

/* what may pass (unit attention, time-out, link) makes no zone, and is read again alone */
static void test_passing(void **state)
{
	struct fb_plan_piece piece;

	(void)state;
	fb_bitmap_want(&bm, 1000, 64, 0);
	assert_int_equal(ended(8000, 512, 0, false), 0);
	assert_int_equal(bad.zones, 0);
	assert_true(fb_quarantine_doubts(&bad, 8504, 8));
	assert_false(fb_quarantine_idle(&bad, &bm, now, 512, &piece));
	now += 6 * S;
	assert_true(fb_quarantine_idle(&bad, &bm, now, 512, &piece));
	assert_int_equal(piece.lbn, 8000);
	assert_int_equal(piece.nsect, GRANULE);
	assert_int_equal(ended(8000, 8, 8, false), 0);
	fb_bitmap_unwant(&bm, 1000, 1, 0);
	assert_true(fb_quarantine_idle(&bad, &bm, now, 512, &piece));
	assert_int_equal(piece.lbn, 8008);
	assert_int_equal(bad.total + bad.zones, 0);
}

/* a block is bad without the drive's word when it has failed by itself twice */
static void test_alone(void **state)
{
	(void)state;
	assert_int_equal(ended(8000, 512, 0, false), 0);
	assert_int_equal(ended(8000, 8, 0, false), 0);
	assert_int_equal(bad.zones, 0);
	/* others do not count for it */
	assert_int_equal(ended(8008, 8, 0, false), 0);
	assert_int_equal(ended(8000, 8, 0, false),
			 FB_QUARANTINE_KNOWN | FB_QUARANTINE_NEW | FB_QUARANTINE_REPORT);
	assert_int_equal(bad.zones, 1);
	assert_int_equal(bad.list[0].lbn, 8000);
	/* named by the drive, the second time by itself */
	assert_int_equal(ended(90000, 64, 20, false), 0);
	assert_int_equal(ended(90016, 8, 0, false),
			 FB_QUARANTINE_KNOWN | FB_QUARANTINE_NEW | FB_QUARANTINE_REPORT);
}

/* the drive's word is enough, once the place is known */
static void test_medium(void **state)
{
	const struct fb_avoid *z;

	(void)state;
	assert_int_equal(ended(80000, 512, 100, true),
			 FB_QUARANTINE_KNOWN | FB_QUARANTINE_NEW | FB_QUARANTINE_REPORT);
	z = fb_quarantine_zone(&bad, 80096, 8);
	assert_non_null(z);
	assert_int_equal(z->first, 80096 - SIDE);
	assert_int_equal(z->end, 80104 + SIDE);
	assert_int_equal(fb_quarantine_quarantined(&bad), 2 * SIDE + GRANULE);
	assert_int_equal(ended(80000, 512, 100, true), FB_QUARANTINE_KNOWN);
	assert_int_equal(ended(160000, 512, 0, true), 0);
	assert_int_equal(bad.zones, 2);
	assert_int_equal(bad.total, 1);
	/* they meet: one */
	assert_int_equal(ended(83000, 8, 0, true),
			 FB_QUARANTINE_KNOWN | FB_QUARANTINE_NEW | FB_QUARANTINE_REPORT);
	assert_int_equal(bad.zones, 2);
	assert_int_equal(fb_quarantine_zone(&bad, 80096, 8)->end, 83008 + SIDE);
}

/* a zone ends a day after its last error */
static void test_expire(void **state)
{
	(void)state;
	ended(80000, 8, 0, true);
	now += FB_QUARANTINE_ZONE_NS / 2;
	ended(900000, 8, 0, true);
	now += FB_QUARANTINE_ZONE_NS / 2 - 1;
	fb_quarantine_expire(&bad, now);
	assert_int_equal(bad.zones, 2);
	fb_quarantine_expire(&bad, now + 1);
	assert_int_equal(bad.zones, 1);
	assert_null(fb_quarantine_zone(&bad, 80000, 8));
	assert_non_null(fb_quarantine_zone(&bad, 900000, 8));
	ended(900000, 8, 0, true);
	fb_quarantine_expire(&bad, now + FB_QUARANTINE_ZONE_NS / 2 + 1);
	assert_int_equal(bad.zones, 1);
	fb_quarantine_expire(&bad, now + FB_QUARANTINE_ZONE_NS);
	assert_int_equal(bad.zones, 0);
}

/* more zones than there is room for: never more of the disk than they are, and it is told */
static void test_many(void **state)
{
	u32 i;

	(void)state;
	for (i = 0; i < FB_QUARANTINE_ZONES; i++, now += S)
		assert_int_equal(ended((i + 1) * 1000000, 8, 0, true) & FB_QUARANTINE_DROPPED, 0);
	assert_int_equal(fb_quarantine_quarantined(&bad), FB_QUARANTINE_ZONES *
			 (2 * SIDE + GRANULE));
	/* the first is no longer the oldest */
	ended(1000000, 8, 0, true);
	assert_int_equal(ended(500000000, 8, 0, true) & FB_QUARANTINE_DROPPED,
			 FB_QUARANTINE_DROPPED);
	assert_int_equal(bad.zones, FB_QUARANTINE_ZONES);
	assert_int_equal(bad.dropped, 1);
	assert_int_equal(fb_quarantine_quarantined(&bad), FB_QUARANTINE_ZONES *
			 (2 * SIDE + GRANULE));
	assert_non_null(fb_quarantine_zone(&bad, 1000000, 8));
	assert_null(fb_quarantine_zone(&bad, 2000000, 8));
	assert_non_null(fb_quarantine_zone(&bad, 500000000, 8));
}

/* sixteen a minute are told one by one, the rest as a number */
static void test_told(void **state)
{
	u32 i, told = 0;

	(void)state;
	for (i = 0; i < 100; i++)
		told += !!(ended(i * 8, 8, 0, true) & FB_QUARANTINE_REPORT);
	assert_int_equal(told, FB_QUARANTINE_REPORTED);
	assert_int_equal(bad.total, 100);
	assert_int_equal(fb_quarantine_unreported(&bad, now, false), 0);
	now += FB_QUARANTINE_REPORTED_NS;
	assert_int_equal(fb_quarantine_unreported(&bad, now, false), 100 - FB_QUARANTINE_REPORTED);
	assert_int_equal(fb_quarantine_unreported(&bad, now, true), 0);
	assert_int_equal(ended(8000000, 8, 0, true),
			 FB_QUARANTINE_KNOWN | FB_QUARANTINE_NEW | FB_QUARANTINE_REPORT);
}

/* three slow ones in a row are an alarm, a good read of a zone ends the row */
static void test_slow(void **state)
{
	struct fb_quarantine_read read = {
		.nsect = 8, .failed = true, .medium = true, .took_ns = 2 * S,
	};
	u32 i, alarms = 0;

	(void)state;
	for (i = 0; i < 7; i++) {
		read.lbn = 80000 + i * 8;
		alarms += !!(fb_quarantine_ended(&bad, &read, now) & FB_QUARANTINE_ALARM);
		if (i == 4)
			ended(80800, 8, 8, false);
	}
	assert_int_equal(alarms, 1);
	assert_int_equal(bad.alarms, 1);
	fb_bitmap_want(&bm, 10000, 100, 0);
	assert_false(fb_quarantine_idle(&bad, &bm, now + 59 * S, 512,
					(struct fb_plan_piece[1]) {}));
	assert_true(fb_quarantine_idle(&bad, &bm, now + 60 * S, 512, (struct fb_plan_piece[1]) {}));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_passing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_medium, setup, teardown),
		cmocka_unit_test_setup_teardown(test_expire, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many, setup, teardown),
		cmocka_unit_test_setup_teardown(test_told, setup, teardown),
		cmocka_unit_test_setup_teardown(test_slow, setup, teardown),
	};

	return cmocka_run_group_tests_name("bad", tests, NULL, NULL);
}
