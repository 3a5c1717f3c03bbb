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

/* FUA and a read cache switched off mean the medium. */
TEST(test_not_asked)
{
	struct mde_caching off = { .read_cache = false, .look_ahead = true };
	struct mde_caching on = { .read_cache = true, .look_ahead = true };
	struct hand h;
	int n;

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

/* 20 and 21 are read, 22 is tried for a millisecond. */
TEST(test_bad)
{
	const struct mde_slot *s;
	struct hand h;

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
TEST(test_under_way)
{
	struct hand h;
	int a, b;

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

static const struct hand_course courses[] = {
	{ "whole", RECORDS, {
		/* Sector 10 begins at 600 us, after the overhead; 10 sectors and the bus. */
		RUN(0, MDE_READ, 10, 10, 20 * SECTOR + BUS),
		KIND(0, MDE_READ_MISS),
		/* From the buffer: overhead and bus. */
		RUN(2 * MS, MDE_READ, 12, 3, 2 * MS + 100 * US + 3 * BUS),
		HELD(1, 3),
		GOOD(1, 3),
		RUN(3 * MS, MDE_READ, 10, 10, 3 * MS + 100 * US + 10 * BUS),
		/* The first sector is missing: all of it is read; 9 begins at 6540 us. */
		RUN(4 * MS, MDE_READ, 9, 2, TURN + 11 * SECTOR + BUS),
		STAT(read_hits, 2),
		STAT(partial_hits, 0),
		STAT(reads, 4),
		STAT(sectors_read, 25),
	} },
	{ "partial", RECORDS, {
		RUN(0, MDE_READ, 10, 10, 0),
		/* 15 to 19 are there; understood at 7100, 20 begins at 7200 us. */
		RUN(6900 * US, MDE_READ, 15, 10, TURN + 25 * SECTOR + BUS),
		HELD(1, 5),
		KIND(1, MDE_READ_MISS),
		STAT(partial_hits, 1),
		/* Now one segment holds 10 to 24. */
		RUN(8 * MS, MDE_READ, 10, 15, 8100 * US + 15 * BUS),
		MISS(9 * MS, 25, 1),
	} },
	{ "verify", RECORDS, {
		RUN(0, MDE_READ, 10, 10, 0),
		/* The medium: 12 begins at 6720 us; nothing crosses the bus. */
		RUN(2 * MS, MDE_VERIFY, 12, 3, TURN + 15 * SECTOR),
	} },
	{ "verify", RECORDS "verify cache\n", {
		RUN(0, MDE_READ, 10, 10, 0),
		RUN(2 * MS, MDE_VERIFY, 12, 3, 2100 * US),
		STAT(sectors_verified, 3),
		/* A verify puts nothing into the buffer. */
		RUN(3 * MS, MDE_VERIFY, 40, 3, 0),
		MISS(9 * MS, 40, 1),
	} },
	/* Seen to fail: mdv_serve_hit() without mdb_touch(). */
	{ "replacement", RECORDS "cache 2 200 0\n", {
		RUN(0, MDE_READ, 10, 1, 0),
		RUN(10 * MS, MDE_READ, 30, 1, 0),
		/* 10 is of use again, so 30 goes when 50 comes. */
		HIT(20 * MS, 10, 1),
		MISS(30 * MS, 50, 1),
		HIT(40 * MS, 10, 1),
		HIT(50 * MS, 50, 1),
		/* 30 is read again, in place of 10. */
		MISS(60 * MS, 30, 1),
		HIT(70 * MS, 50, 1),
		MISS(80 * MS, 10, 1),
	} },
	/* A segment keeps the last sectors of what does not fit. */
	{ "wrap", RECORDS "cache 1 8 0\n", {
		RUN(0, MDE_READ, 10, 20, 0),
		HIT(10 * MS, 22, 8),
		MISS(20 * MS, 21, 1),
		/* Continued: 21 and seven more. */
		RUN(30 * MS, MDE_READ, 21, 10, 0),
		STAT(partial_hits, 1),
		HIT(40 * MS, 23, 8),
		MISS(50 * MS, 22, 1),
	} },
	/*
	 * A write makes what other segments hold of its sectors old.
	 * Seen to fail: mdv_keep_written() without mdb_forget().
	 */
	{ "write drops", RECORDS, {
		RUN(0, MDE_READ, 10, 10, 0),
		RUN(10 * MS, MDE_READ, 30, 10, 0),
		RUN(20 * MS, MDE_WRITE, 19, 1, 0),
		/* The neighbours stay. */
		HIT(30 * MS, 30, 10),
		MISS(40 * MS, 19, 1),
		MISS(50 * MS, 10, 1),
	} },
	{ "written hits", RECORDS, {
		RUN(0, MDE_WRITE, 10, 10, 0),
		MISS(10 * MS, 10, 10),
	} },
	{ "written hits", RECORDS "written_hits on\n", {
		RUN(0, MDE_WRITE, 10, 10, 0),
		RUN(10 * MS, MDE_READ, 12, 2, 10100 * US + 2 * BUS),
		/* A read goes on from them. */
		RUN(20 * MS, MDE_READ, 15, 10, 0),
		HELD(2, 5),
	} },
	{ "discard", RECORDS "discard_read on\n", {
		RUN(0, MDE_READ, 10, 10, 0),
		MISS(10 * MS, 10, 10),
	} },
	/* The rest of the track is read on, so there is something to hit. */
	{ "discard", RECORDS "discard_read on\nread_ahead track\n", {
		RUN(0, MDE_READ, 10, 10, 0),
		HIT(20 * MS, 30, 10),
		/* What was passed over is gone as well: a segment is a stretch. */
		HIT(30 * MS, 40, 10),
		MISS(40 * MS, 39, 1),
	} },
	/* From the middle of sector 2 on, 10 wanted: 3 to 9 pass. */
	{ "keep passing", RECORDS "command_overhead_ns 0 0\nkeep_passing on\n", {
		RUN(150 * US, MDE_READ, 10, 2, 0),
		HIT(10 * MS, 3, 9),
		MISS(20 * MS, 2, 1),
	} },
	{ "keep passing", RECORDS "command_overhead_ns 0 0\n", {
		RUN(150 * US, MDE_READ, 10, 2, 0),
		MISS(10 * MS, 9, 1),
	} },
	/* From sector 50 on: the track's other end is no part of it. */
	{ "keep passing", RECORDS "command_overhead_ns 0 0\nkeep_passing on\n", {
		RUN(3030 * US, MDE_READ, 10, 2, 0),
		HIT(20 * MS, 0, 12),
	} },
	/* Landing in 20 of 10 to 29: all of the track before 10 passes. */
	{ "keep passing", RECORDS "command_overhead_ns 0 0\nkeep_passing on\nzero_latency on\n", {
		RUN(1230 * US, MDE_READ, 10, 20, 0),
		HIT(20 * MS, 0, 30),
	} },
	/*
	 * Blocks of 8: all that came off the medium is kept, so that reading on misses nothing; but
	 * for what is behind a bad sector. Seen to fail with what was asked for only.
	 */
	{ "blocks", RECORDS "physical_exponent 3\nmedium_error 22 1\n", {
		/* 8 to 15 pass, and 10 and 11 are sent meanwhile. */
		RUN(0, MDE_READ, 10, 2, 16 * SECTOR),
		HIT(2 * MS, 8, 8),
		MISS(3 * MS, 15, 2),
		RUN(15 * MS, MDE_READ, 17, 3, 0),
		HIT(30 * MS, 16, 6),
		MISS(31 * MS, 20, 3),
	} },
};

TEST(test_courses)
{
	hand_courses(courses, ARRAY_SIZE(courses));
}
