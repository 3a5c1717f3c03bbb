// SPDX-License-Identifier: GPL-2.0
/*
 * Writes reported before they are on the medium, on a drive made for calculating
 * by hand (hand.h).  10 to 19 handed in at 0 are understood at 150 us, reported
 * at 250, when their data have come, and on the medium from 600 to 1200 us.
 */
#include "hand.h"

#define BUS (10 * US)
#define RECORDS \
	"cache 4 100 2\nwrite_cache back\nbus_ns 10000\n" \
	"overhead_ns write_hit 150000 150000\n" \
	"overhead_ns write_miss 250000 250000\n"

/* When a flush handed in at @at is reported: what came before is on the medium. */
static u64 flushed(struct hand *h, u64 at)
{
	return hand_run(h, at, MDE_FLUSH, 0, 0);
}

/*
 * Held back for 20 ms, unless a command waits. Seen to fail: @pressed left out of
 * mdq_segment_start().
 */
TEST(test_delay)
{
	struct hand h;

	hand_begin(&h, RECORDS "destage_delay_ns 20000000\n");
	hand_send(&h, 0, MDE_WRITE, 10, 10);
	hand_until(&h, 19 * MS);
	assert_int_equal(h.e.stats.destages, 0);
	hand_until(&h, 21 * MS);
	assert_int_equal(h.e.stats.destages, 1);
	hand_send(&h, 40 * MS, MDE_WRITE, 50, 10);
	assert_true(flushed(&h, 41 * MS) < 60 * MS);
	assert_int_equal(h.e.stats.destages, 2);
	hand_end(&h);
}

/*
 * No sector passes the head before its data have come: 11 to 30 cross a slow
 * bus from 6450 to 8450 us, while the medium is free at 6540.
 * Seen to fail: joining without a word on bus_start.
 */
TEST(test_append_data)
{
	struct hand h;

	hand_begin(&h, RECORDS "append_writes on\nbus_ns 100000\n");
	hand_send(&h, 1 * MS, MDE_READ, 8, 1);
	hand_send(&h, 1 * MS, MDE_WRITE, 10, 1);
	hand_send(&h, 6300 * US, MDE_WRITE, 11, 20);
	assert_true(flushed(&h, 8460 * US) >= 8450 * US + SECTOR);
	hand_end(&h);
}

/* MODE SELECT. */
TEST(test_switch)
{
	struct mde_caching off = { .read_cache = true, .look_ahead = true };
	struct mde_caching on = off;
	struct hand h;
	int n;

	on.write_cache = true;
	hand_begin(&h, RECORDS "write_cache off\n");
	assert_int_equal(hand_run(&h, 0, MDE_WRITE, 10, 10), 20 * SECTOR);
	hand_until(&h, 5 * MS);
	mde_set_caching(&h.e, h.now, &on);
	assert_int_equal(hand_run(&h, 6 * MS, MDE_WRITE, 10, 10), 6250 * US);
	/* Off with dirty data: they go to the medium, but need not be waited for. */
	mde_set_caching(&h.e, h.now, &off);
	n = hand_send(&h, 6300 * US, MDE_WRITE, 50, 10);
	assert_int_equal(flushed(&h, 6400 * US), TURN + 20 * SECTOR);
	assert_int_equal(hand_report(&h, n), TURN + 60 * SECTOR);
	assert_int_equal(h.done[n].kind, MDE_WRITE_MISS);
	hand_end(&h);
}

static const struct hand_course courses[] = {
	{ "report", RECORDS "completion_overhead_ns 0 40000\n", {
		RUN(0, MDE_WRITE, 10, 10, 290 * US),
		KIND(0, MDE_WRITE_HIT),
		STAT(cached_writes, 1),
	} },
	/* The bus may be the longer one. */
	{ "report", RECORDS, {
		SEND(0, MDE_WRITE, 10, 10),
		RUN(50 * US, MDE_WRITE, 30, 10, 350 * US),
	} },
	/*
	 * As long as it takes, not longer; without dirty data not at all.
	 * Seen to fail: a flush that is reported as of its arrival.
	 */
	{ "flush", RECORDS "completion_overhead_ns 40000\n", {
		RUN(0, MDE_FLUSH, 0, 0, 40 * US),
		SEND(100 * US, MDE_WRITE, 10, 10),
		RUN(400 * US, MDE_FLUSH, 0, 0, 20 * SECTOR + 40 * US),
		STAT(destages, 1),
		RUN(2 * MS, MDE_FLUSH, 0, 0, 2040 * US),
	} },
	/* Two segments: 50 to 59 follow from 3000 to 3600. */
	{ "flush", RECORDS, {
		SEND(0, MDE_WRITE, 10, 10),
		SEND(0, MDE_WRITE, 50, 10),
		RUN(400 * US, MDE_FLUSH, 0, 0, 60 * SECTOR),
	} },
	/*
	 * What came after a flush does not delay it.
	 * Seen to fail: mdq_blocked() of a flush without g->arrived.
	 */
	{ "flush and later", RECORDS, {
		SEND(0, MDE_WRITE, 10, 10),
		SEND(300 * US, MDE_FLUSH, 0, 0),
		SEND(400 * US, MDE_WRITE, 50, 10),
		REPORTED(1, 20 * SECTOR),
	} },
	/* Not even if it joins. */
	{ "flush and later", RECORDS "append_writes on\n", {
		SEND(0, MDE_WRITE, 10, 10),
		SEND(300 * US, MDE_FLUSH, 0, 0),
		SEND(400 * US, MDE_WRITE, 20, 10),
		REPORTED(1, 20 * SECTOR),
		RUN(1300 * US, MDE_FLUSH, 0, 0, 30 * SECTOR),
	} },
	/*
	 * 50 is being read until 3060 us, 10 to 19 wait for the medium, and so do 60 to
	 * 69, to be read, later.
	 */
	{ "destage", RECORDS "firmware fcfs\n", {
		SEND(0, MDE_READ, 50, 1),
		SEND(100 * US, MDE_WRITE, 10, 10),
		SEND(500 * US, MDE_READ, 60, 10),
		/* First come: 6600 to 7200. */
		STARTED(2, TURN + 20 * SECTOR),
		REPORTED(2, TURN + 70 * SECTOR + BUS),
	} },
	{ "destage", RECORDS "firmware fcfs\ndestage idle\n", {
		SEND(0, MDE_READ, 50, 1),
		SEND(100 * US, MDE_WRITE, 10, 10),
		SEND(500 * US, MDE_READ, 60, 10),
		STARTED(2, 51 * SECTOR),
		REPORTED(2, 70 * SECTOR + BUS),
		/* Then there is nothing else to do. */
		RUN(5 * MS, MDE_FLUSH, 0, 0, TURN + 20 * SECTOR),
	} },
	/*
	 * One segment for writes: the second's data come when the first has gone.
	 * Seen to fail: mdq_room() without write_segments.
	 */
	{ "room", RECORDS "cache 4 100 1\n", {
		SEND(0, MDE_WRITE, 10, 10),
		SEND(300 * US, MDE_WRITE, 50, 10),
		REPORTED(1, 20 * SECTOR + 10 * BUS),
		KIND(1, MDE_WRITE_HIT),
		RUN(1300 * US, MDE_FLUSH, 0, 0, 60 * SECTOR),
	} },
	/* With two it is not, but the third is. */
	{ "room", RECORDS, {
		SEND(0, MDE_WRITE, 10, 10),
		RUN(300 * US, MDE_WRITE, 50, 10, 550 * US),
		SEND(600 * US, MDE_WRITE, 70, 10),
		REPORTED(2, 20 * SECTOR + 10 * BUS),
	} },
	/* The medium is busy until 5460 us; then 10 to 29 are written in one go. */
	{ "append", RECORDS "cache 4 100 1\nappend_writes on\n", {
		SEND(0, MDE_READ, 90, 1),
		SEND(0, MDE_WRITE, 10, 10),
		RUN(300 * US, MDE_WRITE, 20, 10, 550 * US),
		RUN(600 * US, MDE_FLUSH, 0, 0, TURN + 30 * SECTOR),
		STAT(destages, 1),
	} },
	{ "append", RECORDS "cache 4 100 1\n", {
		SEND(0, MDE_READ, 90, 1),
		SEND(0, MDE_WRITE, 10, 10),
		RUN(300 * US, MDE_WRITE, 20, 10, TURN + 20 * SECTOR + 10 * BUS),
	} },
	/* No longer than a segment. */
	{ "append", RECORDS "cache 4 15 1\nappend_writes on\n", {
		SEND(0, MDE_READ, 90, 1),
		SEND(0, MDE_WRITE, 10, 10),
		RUN(300 * US, MDE_WRITE, 20, 6, TURN + 20 * SECTOR + 6 * BUS),
	} },
	/* Written over in the buffer: once on the medium. */
	{ "overwrite", RECORDS "cache 4 100 1\n", {
		SEND(0, MDE_READ, 90, 1),
		SEND(0, MDE_WRITE, 10, 10),
		RUN(300 * US, MDE_WRITE, 12, 2, 470 * US),
		RUN(600 * US, MDE_FLUSH, 0, 0, TURN + 20 * SECTOR),
		STAT(destages, 1),
	} },
	/* While the old ones are being written the new ones wait. */
	{ "overwrite", RECORDS, {
		SEND(0, MDE_WRITE, 10, 10),
		SEND(700 * US, MDE_WRITE, 12, 2),
		REPORTED(1, 20 * SECTOR + 2 * BUS),
		RUN(1300 * US, MDE_FLUSH, 0, 0, TURN + 14 * SECTOR),
	} },
	/* So does what overlaps in part: 15 to 24 begin to pass at 6900. */
	{ "overwrite", RECORDS, {
		SEND(0, MDE_WRITE, 10, 10),
		SEND(200 * US, MDE_WRITE, 15, 10),
		REPORTED(1, 20 * SECTOR + 10 * BUS),
		RUN(1300 * US, MDE_FLUSH, 0, 0, TURN + 25 * SECTOR),
	} },
	{ "read", RECORDS "written_hits on\n", {
		SEND(0, MDE_WRITE, 10, 10),
		RUN(300 * US, MDE_READ, 12, 2, 320 * US),
		/* In part: 15 to 19 are there, 20 begins when 19 has been written. */
		RUN(400 * US, MDE_READ, 15, 10, 25 * SECTOR + BUS),
	} },
	/* Not answered by written data: 12 begins at 6720. */
	{ "read", RECORDS, {
		SEND(0, MDE_WRITE, 10, 10),
		RUN(300 * US, MDE_READ, 12, 2, TURN + 14 * SECTOR + BUS),
	} },
	/* Its neighbours have nothing to wait for, but the medium. */
	{ "read", RECORDS, {
		SEND(0, MDE_WRITE, 10, 10),
		RUN(300 * US, MDE_READ, 20, 2, 22 * SECTOR + BUS),
	} },
	{ "fua", RECORDS "written_hits on\n", {
		SEND(0, MDE_WRITE, 10, 10),
		/* A read: from the medium, and that has to have them first. */
		FUA(300 * US, MDE_READ, 12, 2, TURN + 14 * SECTOR + BUS),
		/* A write: reported when it is on the medium. */
		FUA(8 * MS, MDE_WRITE, 50, 10, TURN + 60 * SECTOR),
		KIND(2, MDE_WRITE_MISS),
		/* 14 begins too late for the overhead of a miss (250 us): a turn more. */
		FUA(12600 * US, MDE_WRITE, 14, 1, 3 * TURN + 15 * SECTOR),
		/* Over dirty data: after them. */
		SEND(24 * MS, MDE_WRITE, 10, 10),
		FUA(24300 * US, MDE_WRITE, 12, 2, 5 * TURN + 14 * SECTOR),
		STAT(destages, 2),
	} },
	/* Only what continues the write under way. */
	{ "stream", RECORDS "write_cache stream\nappend_writes on\n", {
		SEND(0, MDE_WRITE, 10, 10),
		RUN(300 * US, MDE_WRITE, 20, 10, 550 * US),
		SEND(600 * US, MDE_WRITE, 50, 10),
		REPORTED(2, 30 * SECTOR + 10 * BUS),
		KIND(2, MDE_WRITE_HIT),
	} },
	/*
	 * Sent to the host, but still to be written: FUA waits for the medium even with
	 * discard_read.  The read of 90 ends at 5460, 10 to 19 are written until 7200.
	 */
	{ "discard", RECORDS "written_hits on\ndiscard_read on\ndestage idle\n", {
		SEND(0, MDE_READ, 90, 1),
		SEND(0, MDE_WRITE, 10, 10),
		RUN(300 * US, MDE_READ, 10, 10, 400 * US),
		FUA(500 * US, MDE_READ, 10, 10, 0),
		REPORTED(3, 2 * TURN + 20 * SECTOR + BUS),
	} },
};

TEST(test_courses)
{
	hand_courses(courses, ARRAY_SIZE(courses));
}
