// SPDX-License-Identifier: GPL-2.0
/*
 * What a simulated drive's buffer answers, on a drive made for calculating by
 * hand (hand.h).
 */
#include "hand.h"

/* A sector crosses the bus in 10 us; a hit is understood after 100, a miss 200. */
#define BUS (10 * US)
#define RECORDS \
	"cache 4 200 0\nbus_ns 10000\noverhead_ns read_hit 100000 100000\n" \
	"overhead_ns read_miss 200000 200000\n"

static void test_whole(void **state)
{
	struct hand h;

	(void)state;
	hand_begin(&h, RECORDS);
	/* Sector 10 begins at 600 us, after the overhead; 10 sectors and the bus. */
	assert_int_equal(hand_run(&h, 0, MDE_READ, 10, 10), 20 * SECTOR + BUS);
	assert_int_equal(h.done[0].kind, MDE_READ_MISS);
	/* From the buffer: overhead and bus. */
	assert_int_equal(hand_run(&h, 2 * MS, MDE_READ, 12, 3),
			 2 * MS + 100 * US + 3 * BUS);
	assert_int_equal(h.done[1].held, 3);
	assert_int_equal(h.done[1].good, 3);
	assert_int_equal(hand_run(&h, 3 * MS, MDE_READ, 10, 10),
			 3 * MS + 100 * US + 10 * BUS);
	/* The first sector is missing: all of it is read; 9 begins at 6540 us. */
	assert_int_equal(hand_run(&h, 4 * MS, MDE_READ, 9, 2),
			 TURN + 11 * SECTOR + BUS);
	assert_int_equal(h.e.stats.read_hits, 2);
	assert_int_equal(h.e.stats.partial_hits, 0);
	assert_int_equal(h.e.stats.reads, 4);
	assert_int_equal(h.e.stats.sectors_read, 25);
	hand_end(&h);
}

static void test_partial(void **state)
{
	struct hand h;

	(void)state;
	hand_begin(&h, RECORDS);
	hand_run(&h, 0, MDE_READ, 10, 10);
	/* 15 to 19 are there; understood at 7100, 20 begins at 7200 us. */
	assert_int_equal(hand_run(&h, 6900 * US, MDE_READ, 15, 10),
			 TURN + 25 * SECTOR + BUS);
	assert_int_equal(h.done[1].held, 5);
	assert_int_equal(h.done[1].kind, MDE_READ_MISS);
	assert_int_equal(h.e.stats.partial_hits, 1);
	/* Now one segment holds 10 to 24. */
	assert_int_equal(hand_run(&h, 8 * MS, MDE_READ, 10, 15),
			 8100 * US + 15 * BUS);
	assert_false(hand_hits(&h, 9 * MS, 25, 1));
	hand_end(&h);
}

static void test_verify(void **state)
{
	struct hand h;

	(void)state;
	hand_begin(&h, RECORDS);
	hand_run(&h, 0, MDE_READ, 10, 10);
	/* The medium: 12 begins at 6720 us; nothing crosses the bus. */
	assert_int_equal(hand_run(&h, 2 * MS, MDE_VERIFY, 12, 3),
			 TURN + 15 * SECTOR);
	hand_end(&h);
	hand_begin(&h, RECORDS "verify cache\n");
	hand_run(&h, 0, MDE_READ, 10, 10);
	assert_int_equal(hand_run(&h, 2 * MS, MDE_VERIFY, 12, 3), 2100 * US);
	assert_int_equal(h.e.stats.sectors_verified, 3);
	/* A verify puts nothing into the buffer. */
	hand_run(&h, 3 * MS, MDE_VERIFY, 40, 3);
	assert_false(hand_hits(&h, 9 * MS, 40, 1));
	hand_end(&h);
}

/* FUA and a read cache switched off mean the medium. */
static void test_not_asked(void **state)
{
	struct mde_caching off = { .read_cache = false, .look_ahead = true };
	struct mde_caching on = { .read_cache = true, .look_ahead = true };
	struct hand h;
	int n;

	(void)state;
	hand_begin(&h, RECORDS);
	hand_run(&h, 0, MDE_READ, 10, 10);
	n = hand_send_flags(&h, 2 * MS, MDE_READ, 12, 3, MDE_FUA);
	assert_int_equal(hand_report(&h, n), TURN + 15 * SECTOR + BUS);
	hand_until(&h, 8 * MS);
	mde_set_caching(&h.e, h.now, &off);
	assert_int_equal(hand_run(&h, 8 * MS, MDE_READ, 12, 3),
			 2 * TURN + 15 * SECTOR + BUS);
	mde_set_caching(&h.e, h.now, &on);
	assert_true(hand_hits(&h, 20 * MS, 12, 3));
	hand_end(&h);
	hand_begin(&h, RECORDS "read_cache off\n");
	hand_run(&h, 0, MDE_READ, 10, 10);
	assert_false(hand_hits(&h, 2 * MS, 12, 3));
	hand_end(&h);
}

/* Seen to fail: mdv_serve_hit() without mdb_touch(). */
static void test_replacement(void **state)
{
	struct hand h;

	(void)state;
	hand_begin(&h, RECORDS "cache 2 200 0\n");
	hand_run(&h, 0, MDE_READ, 10, 1);
	hand_run(&h, 10 * MS, MDE_READ, 30, 1);
	/* 10 is of use again, so 30 goes when 50 comes. */
	assert_true(hand_hits(&h, 20 * MS, 10, 1));
	assert_false(hand_hits(&h, 30 * MS, 50, 1));
	assert_true(hand_hits(&h, 40 * MS, 10, 1));
	assert_true(hand_hits(&h, 50 * MS, 50, 1));
	/* 30 is read again, in place of 10. */
	assert_false(hand_hits(&h, 60 * MS, 30, 1));
	assert_true(hand_hits(&h, 70 * MS, 50, 1));
	assert_false(hand_hits(&h, 80 * MS, 10, 1));
	hand_end(&h);
}

/* A segment keeps the last sectors of what does not fit. */
static void test_wrap(void **state)
{
	struct hand h;

	(void)state;
	hand_begin(&h, RECORDS "cache 1 8 0\n");
	hand_run(&h, 0, MDE_READ, 10, 20);
	assert_true(hand_hits(&h, 10 * MS, 22, 8));
	assert_false(hand_hits(&h, 20 * MS, 21, 1));
	/* Continued: 21 and seven more. */
	hand_run(&h, 30 * MS, MDE_READ, 21, 10);
	assert_int_equal(h.e.stats.partial_hits, 1);
	assert_true(hand_hits(&h, 40 * MS, 23, 8));
	assert_false(hand_hits(&h, 50 * MS, 22, 1));
	hand_end(&h);
}

/*
 * A write makes what other segments hold of its sectors old.
 * Seen to fail: mdv_keep_written() without mdb_forget().
 */
static void test_write_drops(void **state)
{
	struct hand h;

	(void)state;
	hand_begin(&h, RECORDS);
	hand_run(&h, 0, MDE_READ, 10, 10);
	hand_run(&h, 10 * MS, MDE_READ, 30, 10);
	hand_run(&h, 20 * MS, MDE_WRITE, 19, 1);
	/* The neighbours stay. */
	assert_true(hand_hits(&h, 30 * MS, 30, 10));
	assert_false(hand_hits(&h, 40 * MS, 19, 1));
	assert_false(hand_hits(&h, 50 * MS, 10, 1));
	hand_end(&h);
}

static void test_written_hits(void **state)
{
	struct hand h;

	(void)state;
	hand_begin(&h, RECORDS);
	hand_run(&h, 0, MDE_WRITE, 10, 10);
	assert_false(hand_hits(&h, 10 * MS, 10, 10));
	hand_end(&h);
	hand_begin(&h, RECORDS "written_hits on\n");
	hand_run(&h, 0, MDE_WRITE, 10, 10);
	assert_int_equal(hand_run(&h, 10 * MS, MDE_READ, 12, 2),
			 10100 * US + 2 * BUS);
	/* A read goes on from them. */
	hand_run(&h, 20 * MS, MDE_READ, 15, 10);
	assert_int_equal(h.done[2].held, 5);
	hand_end(&h);
}

static void test_discard(void **state)
{
	struct hand h;

	(void)state;
	hand_begin(&h, RECORDS "discard_read on\n");
	hand_run(&h, 0, MDE_READ, 10, 10);
	assert_false(hand_hits(&h, 10 * MS, 10, 10));
	hand_end(&h);
	/* The rest of the track is read on, so there is something to hit. */
	hand_begin(&h, RECORDS "discard_read on\nread_ahead track\n");
	hand_run(&h, 0, MDE_READ, 10, 10);
	assert_true(hand_hits(&h, 20 * MS, 30, 10));
	/* What was passed over is gone as well: a segment is a stretch. */
	assert_true(hand_hits(&h, 30 * MS, 40, 10));
	assert_false(hand_hits(&h, 40 * MS, 39, 1));
	hand_end(&h);
}

/* From the middle of sector 2 on, 10 wanted: 3 to 9 pass. */
static void test_keep_passing(void **state)
{
	struct hand h;

	(void)state;
	hand_begin(&h, RECORDS "command_overhead_ns 0 0\nkeep_passing on\n");
	hand_run(&h, 150 * US, MDE_READ, 10, 2);
	assert_true(hand_hits(&h, 10 * MS, 3, 9));
	assert_false(hand_hits(&h, 20 * MS, 2, 1));
	hand_end(&h);
	hand_begin(&h, RECORDS "command_overhead_ns 0 0\n");
	hand_run(&h, 150 * US, MDE_READ, 10, 2);
	assert_false(hand_hits(&h, 10 * MS, 9, 1));
	hand_end(&h);
	/* From sector 50 on: the track's other end is no part of it. */
	hand_begin(&h, RECORDS "command_overhead_ns 0 0\nkeep_passing on\n");
	hand_run(&h, 3030 * US, MDE_READ, 10, 2);
	assert_true(hand_hits(&h, 20 * MS, 0, 12));
	hand_end(&h);
	/* Landing in 20 of 10 to 29: all of the track before 10 passes. */
	hand_begin(&h, RECORDS
		   "command_overhead_ns 0 0\nkeep_passing on\nzero_latency on\n");
	hand_run(&h, 1230 * US, MDE_READ, 10, 20);
	assert_true(hand_hits(&h, 20 * MS, 0, 30));
	hand_end(&h);
}

/* 20 and 21 are read, 22 is tried for a millisecond. */
static void test_bad(void **state)
{
	const struct mde_slot *s;
	struct hand h;

	(void)state;
	hand_begin(&h, RECORDS "medium_error 22 1 recovery_ms=1\n");
	hand_run(&h, 0, MDE_READ, 10, 10);
	s = hand_done(&h, hand_send(&h, 6900 * US, MDE_READ, 15, 10));
	assert_int_equal(hand_ns(s->report), TURN + 23 * SECTOR + MS);
	assert_int_equal(s->held, 5);
	assert_int_equal(s->good, 7);
	assert_int_equal(s->asc, 0x11);
	/* What was good is kept, what was not is not. */
	assert_true(hand_hits(&h, 20 * MS, 10, 12));
	assert_int_equal(hand_done(&h, hand_send(&h, 30 * MS, MDE_READ, 22, 1))->asc,
			 0x11);
	hand_end(&h);
}

/*
 * Sectors that a command is just reading are not there before they have passed:
 * 50 has at 3060 us.
 */
static void test_under_way(void **state)
{
	struct hand h;
	int a, b;

	(void)state;
	hand_begin(&h, RECORDS);
	a = hand_send(&h, 0, MDE_READ, 10, 50);
	b = hand_send(&h, 500 * US, MDE_READ, 50, 1);
	assert_true(hand_report(&h, b) >= 51 * SECTOR + BUS);
	assert_int_equal(hand_report(&h, a), 60 * SECTOR + BUS);
	hand_end(&h);
	/* The same if both were waiting. */
	hand_begin(&h, RECORDS);
	hand_send(&h, 0, MDE_READ, 5, 1);
	a = hand_send(&h, 10 * US, MDE_READ, 10, 50);
	b = hand_send(&h, 20 * US, MDE_READ, 10, 50);
	assert_int_equal(hand_report(&h, a), 60 * SECTOR + BUS);
	assert_true(hand_report(&h, b) > 60 * SECTOR);
	hand_end(&h);
}

/*
 * Blocks of 8: all that came off the medium is kept, so that reading on misses nothing; but for
 * what is behind a bad sector. Seen to fail with what was asked for only.
 */
static void test_blocks(void **state)
{
	struct hand h;

	(void)state;
	hand_begin(&h, RECORDS "physical_exponent 3\nmedium_error 22 1\n");
	/* 8 to 15 pass, and 10 and 11 are sent meanwhile. */
	assert_int_equal(hand_run(&h, 0, MDE_READ, 10, 2), 16 * SECTOR);
	assert_true(hand_hits(&h, 2 * MS, 8, 8));
	assert_false(hand_hits(&h, 3 * MS, 15, 2));
	hand_run(&h, 15 * MS, MDE_READ, 17, 3);
	assert_true(hand_hits(&h, 30 * MS, 16, 6));
	assert_false(hand_hits(&h, 31 * MS, 20, 3));
	hand_end(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_partial),
		cmocka_unit_test(test_verify),
		cmocka_unit_test(test_not_asked),
		cmocka_unit_test(test_replacement),
		cmocka_unit_test(test_wrap),
		cmocka_unit_test(test_write_drops),
		cmocka_unit_test(test_written_hits),
		cmocka_unit_test(test_discard),
		cmocka_unit_test(test_keep_passing),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_under_way),
	};

	return cmocka_run_group_tests_name("mechdisk cache", tests, NULL, NULL);
}
