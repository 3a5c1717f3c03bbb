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

static int fua(struct hand *h, u64 at, enum mde_op op, u64 lbn, u32 count)
{
	return hand_send_flags(h, at, op, lbn, count, MDE_FUA);
}

static void test_report(void **state)
{
	struct hand h;

	(void)state;
	hand_begin(&h, RECORDS "completion_overhead_ns 0 40000\n");
	assert_int_equal(hand_run(&h, 0, MDE_WRITE, 10, 10), 290 * US);
	assert_int_equal(h.done[0].kind, MDE_WRITE_HIT);
	assert_int_equal(h.e.stats.cached_writes, 1);
	hand_end(&h);
	/* The bus may be the longer one. */
	hand_begin(&h, RECORDS);
	hand_send(&h, 0, MDE_WRITE, 10, 10);
	assert_int_equal(hand_run(&h, 50 * US, MDE_WRITE, 30, 10), 350 * US);
	hand_end(&h);
}

/*
 * As long as it takes, not longer; without dirty data not at all.
 * Seen to fail: a flush that is reported as of its arrival.
 */
static void test_flush(void **state)
{
	struct hand h;

	(void)state;
	hand_begin(&h, RECORDS "completion_overhead_ns 40000\n");
	assert_int_equal(flushed(&h, 0), 40 * US);
	hand_send(&h, 100 * US, MDE_WRITE, 10, 10);
	assert_int_equal(flushed(&h, 400 * US), 20 * SECTOR + 40 * US);
	assert_int_equal(h.e.stats.destages, 1);
	assert_int_equal(flushed(&h, 2 * MS), 2040 * US);
	assert_int_equal(h.late, 0);
	hand_end(&h);
	/* Two segments: 50 to 59 follow from 3000 to 3600. */
	hand_begin(&h, RECORDS);
	hand_send(&h, 0, MDE_WRITE, 10, 10);
	hand_send(&h, 0, MDE_WRITE, 50, 10);
	assert_int_equal(flushed(&h, 400 * US), 60 * SECTOR);
	hand_end(&h);
}

/*
 * Held back for 20 ms, unless a command waits. Seen to fail: @pressed left out of
 * mdq_segment_start().
 */
static void test_delay(void **state)
{
	struct hand h;

	(void)state;
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
 * What came after a flush does not delay it.
 * Seen to fail: mdq_blocked() of a flush without g->arrived.
 */
static void test_flush_and_later(void **state)
{
	struct hand h;
	int n;

	(void)state;
	hand_begin(&h, RECORDS);
	hand_send(&h, 0, MDE_WRITE, 10, 10);
	n = hand_send(&h, 300 * US, MDE_FLUSH, 0, 0);
	hand_send(&h, 400 * US, MDE_WRITE, 50, 10);
	assert_int_equal(hand_report(&h, n), 20 * SECTOR);
	hand_end(&h);
	/* Not even if it joins. */
	hand_begin(&h, RECORDS "append_writes on\n");
	hand_send(&h, 0, MDE_WRITE, 10, 10);
	n = hand_send(&h, 300 * US, MDE_FLUSH, 0, 0);
	hand_send(&h, 400 * US, MDE_WRITE, 20, 10);
	assert_int_equal(hand_report(&h, n), 20 * SECTOR);
	assert_int_equal(flushed(&h, 1300 * US), 30 * SECTOR);
	hand_end(&h);
}

/*
 * 50 is being read until 3060 us, 10 to 19 wait for the medium, and so do 60 to
 * 69, to be read, later.
 */
static void test_destage(void **state)
{
	struct hand h;
	int n;

	(void)state;
	hand_begin(&h, RECORDS "firmware fcfs\n");
	hand_send(&h, 0, MDE_READ, 50, 1);
	hand_send(&h, 100 * US, MDE_WRITE, 10, 10);
	n = hand_send(&h, 500 * US, MDE_READ, 60, 10);
	/* First come: 6600 to 7200. */
	assert_int_equal(hand_started(&h, n), TURN + 20 * SECTOR);
	assert_int_equal(hand_report(&h, n), TURN + 70 * SECTOR + BUS);
	hand_end(&h);
	hand_begin(&h, RECORDS "firmware fcfs\ndestage idle\n");
	hand_send(&h, 0, MDE_READ, 50, 1);
	hand_send(&h, 100 * US, MDE_WRITE, 10, 10);
	n = hand_send(&h, 500 * US, MDE_READ, 60, 10);
	assert_int_equal(hand_started(&h, n), 51 * SECTOR);
	assert_int_equal(hand_report(&h, n), 70 * SECTOR + BUS);
	/* Then there is nothing else to do. */
	assert_int_equal(flushed(&h, 5 * MS), TURN + 20 * SECTOR);
	hand_end(&h);
}

/*
 * One segment for writes: the second's data come when the first has gone.
 * Seen to fail: mdq_room() without write_segments.
 */
static void test_room(void **state)
{
	struct hand h;
	int n;

	(void)state;
	hand_begin(&h, RECORDS "cache 4 100 1\n");
	hand_send(&h, 0, MDE_WRITE, 10, 10);
	n = hand_send(&h, 300 * US, MDE_WRITE, 50, 10);
	assert_int_equal(hand_report(&h, n), 20 * SECTOR + 10 * BUS);
	assert_int_equal(h.done[n].kind, MDE_WRITE_HIT);
	assert_int_equal(flushed(&h, 1300 * US), 60 * SECTOR);
	assert_int_equal(h.late, 0);
	hand_end(&h);
	/* With two it is not, but the third is. */
	hand_begin(&h, RECORDS);
	hand_send(&h, 0, MDE_WRITE, 10, 10);
	assert_int_equal(hand_run(&h, 300 * US, MDE_WRITE, 50, 10), 550 * US);
	n = hand_send(&h, 600 * US, MDE_WRITE, 70, 10);
	assert_int_equal(hand_report(&h, n), 20 * SECTOR + 10 * BUS);
	hand_end(&h);
}

/* The medium is busy until 5460 us; then 10 to 29 are written in one go. */
static void test_append(void **state)
{
	struct hand h;

	(void)state;
	hand_begin(&h, RECORDS "cache 4 100 1\nappend_writes on\n");
	hand_send(&h, 0, MDE_READ, 90, 1);
	hand_send(&h, 0, MDE_WRITE, 10, 10);
	assert_int_equal(hand_run(&h, 300 * US, MDE_WRITE, 20, 10), 550 * US);
	assert_int_equal(flushed(&h, 600 * US), TURN + 30 * SECTOR);
	assert_int_equal(h.e.stats.destages, 1);
	hand_end(&h);
	hand_begin(&h, RECORDS "cache 4 100 1\n");
	hand_send(&h, 0, MDE_READ, 90, 1);
	hand_send(&h, 0, MDE_WRITE, 10, 10);
	assert_int_equal(hand_run(&h, 300 * US, MDE_WRITE, 20, 10),
			 TURN + 20 * SECTOR + 10 * BUS);
	hand_end(&h);
	/* No longer than a segment. */
	hand_begin(&h, RECORDS "cache 4 15 1\nappend_writes on\n");
	hand_send(&h, 0, MDE_READ, 90, 1);
	hand_send(&h, 0, MDE_WRITE, 10, 10);
	assert_int_equal(hand_run(&h, 300 * US, MDE_WRITE, 20, 6),
			 TURN + 20 * SECTOR + 6 * BUS);
	hand_end(&h);
}

/*
 * No sector passes the head before its data have come: 11 to 30 cross a slow
 * bus from 6450 to 8450 us, while the medium is free at 6540.
 * Seen to fail: joining without a word on bus_start.
 */
static void test_append_data(void **state)
{
	struct hand h;

	(void)state;
	hand_begin(&h, RECORDS "append_writes on\nbus_ns 100000\n");
	hand_send(&h, 1 * MS, MDE_READ, 8, 1);
	hand_send(&h, 1 * MS, MDE_WRITE, 10, 1);
	hand_send(&h, 6300 * US, MDE_WRITE, 11, 20);
	assert_true(flushed(&h, 8460 * US) >= 8450 * US + SECTOR);
	hand_end(&h);
}

/* Written over in the buffer: once on the medium. */
static void test_overwrite(void **state)
{
	struct hand h;
	int n;

	(void)state;
	hand_begin(&h, RECORDS "cache 4 100 1\n");
	hand_send(&h, 0, MDE_READ, 90, 1);
	hand_send(&h, 0, MDE_WRITE, 10, 10);
	assert_int_equal(hand_run(&h, 300 * US, MDE_WRITE, 12, 2), 470 * US);
	assert_int_equal(flushed(&h, 600 * US), TURN + 20 * SECTOR);
	assert_int_equal(h.e.stats.destages, 1);
	hand_end(&h);
	/* While the old ones are being written the new ones wait. */
	hand_begin(&h, RECORDS);
	hand_send(&h, 0, MDE_WRITE, 10, 10);
	n = hand_send(&h, 700 * US, MDE_WRITE, 12, 2);
	assert_int_equal(hand_report(&h, n), 20 * SECTOR + 2 * BUS);
	assert_int_equal(flushed(&h, 1300 * US), TURN + 14 * SECTOR);
	assert_int_equal(h.late, 0);
	hand_end(&h);
	/* So does what overlaps in part: 15 to 24 begin to pass at 6900. */
	hand_begin(&h, RECORDS);
	hand_send(&h, 0, MDE_WRITE, 10, 10);
	n = hand_send(&h, 200 * US, MDE_WRITE, 15, 10);
	assert_int_equal(hand_report(&h, n), 20 * SECTOR + 10 * BUS);
	assert_int_equal(flushed(&h, 1300 * US), TURN + 25 * SECTOR);
	hand_end(&h);
}

static void test_read(void **state)
{
	struct hand h;

	(void)state;
	hand_begin(&h, RECORDS "written_hits on\n");
	hand_send(&h, 0, MDE_WRITE, 10, 10);
	assert_int_equal(hand_run(&h, 300 * US, MDE_READ, 12, 2), 320 * US);
	/* In part: 15 to 19 are there, 20 begins when 19 has been written. */
	assert_int_equal(hand_run(&h, 400 * US, MDE_READ, 15, 10),
			 25 * SECTOR + BUS);
	hand_end(&h);
	/* Not answered by written data: 12 begins at 6720. */
	hand_begin(&h, RECORDS);
	hand_send(&h, 0, MDE_WRITE, 10, 10);
	assert_int_equal(hand_run(&h, 300 * US, MDE_READ, 12, 2),
			 TURN + 14 * SECTOR + BUS);
	hand_end(&h);
	/* Its neighbours have nothing to wait for, but the medium. */
	hand_begin(&h, RECORDS);
	hand_send(&h, 0, MDE_WRITE, 10, 10);
	assert_int_equal(hand_run(&h, 300 * US, MDE_READ, 20, 2),
			 22 * SECTOR + BUS);
	hand_end(&h);
}

static void test_fua(void **state)
{
	struct hand h;

	(void)state;
	hand_begin(&h, RECORDS "written_hits on\n");
	hand_send(&h, 0, MDE_WRITE, 10, 10);
	/* A read: from the medium, and that has to have them first. */
	assert_int_equal(hand_report(&h, fua(&h, 300 * US, MDE_READ, 12, 2)),
			 TURN + 14 * SECTOR + BUS);
	/* A write: reported when it is on the medium. */
	assert_int_equal(hand_report(&h, fua(&h, 8 * MS, MDE_WRITE, 50, 10)),
			 TURN + 60 * SECTOR);
	assert_int_equal(h.done[2].kind, MDE_WRITE_MISS);
	/* 14 begins too late for the overhead of a miss (250 us): a turn more. */
	assert_int_equal(hand_report(&h, fua(&h, 12600 * US, MDE_WRITE, 14, 1)),
			 3 * TURN + 15 * SECTOR);
	/* Over dirty data: after them. */
	hand_send(&h, 24 * MS, MDE_WRITE, 10, 10);
	assert_int_equal(hand_report(&h, fua(&h, 24300 * US, MDE_WRITE, 12, 2)),
			 5 * TURN + 14 * SECTOR);
	assert_int_equal(h.e.stats.destages, 2);
	hand_end(&h);
}

/* Only what continues the write under way. */
static void test_stream(void **state)
{
	struct hand h;
	int n;

	(void)state;
	hand_begin(&h, RECORDS "write_cache stream\nappend_writes on\n");
	hand_send(&h, 0, MDE_WRITE, 10, 10);
	assert_int_equal(hand_run(&h, 300 * US, MDE_WRITE, 20, 10), 550 * US);
	n = hand_send(&h, 600 * US, MDE_WRITE, 50, 10);
	assert_int_equal(hand_report(&h, n), 30 * SECTOR + 10 * BUS);
	assert_int_equal(h.done[n].kind, MDE_WRITE_HIT);
	hand_end(&h);
}

/* MODE SELECT. */
static void test_switch(void **state)
{
	struct mde_caching off = { .read_cache = true, .look_ahead = true };
	struct mde_caching on = off;
	struct hand h;
	int n;

	(void)state;
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

/*
 * Sent to the host, but still to be written: FUA waits for the medium even with
 * discard_read.  The read of 90 ends at 5460, 10 to 19 are written until 7200.
 */
static void test_discard(void **state)
{
	struct hand h;
	int n;

	(void)state;
	hand_begin(&h, RECORDS
		   "written_hits on\ndiscard_read on\ndestage idle\n");
	hand_send(&h, 0, MDE_READ, 90, 1);
	hand_send(&h, 0, MDE_WRITE, 10, 10);
	assert_int_equal(hand_run(&h, 300 * US, MDE_READ, 10, 10), 400 * US);
	n = fua(&h, 500 * US, MDE_READ, 10, 10);
	assert_int_equal(hand_report(&h, n), 2 * TURN + 20 * SECTOR + BUS);
	hand_end(&h);
}

/*
 * write_move_ns: at least that long is the move to what does not continue what
 * was written before; 20 to 29 do continue 10 to 19.
 */
static void test_move(void **state)
{
	struct hand h;

	(void)state;
	hand_begin(&h, RECORDS "write_move_ns 1000000\n");
	hand_send(&h, 0, MDE_WRITE, 10, 10);
	/* From 150 us on, there at 1150: 10 has gone. */
	hand_send(&h, 200 * US, MDE_WRITE, 20, 10);
	assert_int_equal(flushed(&h, 500 * US), TURN + 30 * SECTOR);
	hand_end(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_report),
		cmocka_unit_test(test_flush),
		cmocka_unit_test(test_delay),
		cmocka_unit_test(test_flush_and_later),
		cmocka_unit_test(test_destage),
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_append),
		cmocka_unit_test(test_append_data),
		cmocka_unit_test(test_overwrite),
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_fua),
		cmocka_unit_test(test_stream),
		cmocka_unit_test(test_switch),
		cmocka_unit_test(test_discard),
		cmocka_unit_test(test_move),
	};

	return cmocka_run_group_tests_name("mechdisk write cache", tests, NULL,
					   NULL);
}
