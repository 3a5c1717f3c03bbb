// SPDX-License-Identifier: GPL-2.0
/*
 * Which command is next and what surrounds its service, on a drive made for
 * calculating by hand (hand.h).
 */
#include "hand.h"

#include <time.h>

#define COMMANDS 5

/*
 * Reads of single sectors: the first at once, the others while it is served.
 * They are reported in the order in which they are served.
 */
static void order(const char *policy, const u64 *lbn, const u64 *expect)
{
	struct hand h;
	u64 last = 0;
	int i, j;

	hand_begin(&h, policy);
	for (i = 0; i < COMMANDS; i++)
		hand_send(&h, i * 100 * US, MDE_READ, lbn[i], 1);
	for (i = 0; i < COMMANDS; i++) {
		for (j = 0; lbn[j] != expect[i]; j++)
			;
		assert_true(hand_report(&h, j) > last);
		last = hand_report(&h, j);
	}
	hand_end(&h);
}

/*
 * Seen to fail: sstf without the branch for lower LBNs; clook without the 2^62.
 */
TEST(test_policies)
{
	static const u64 lbn[COMMANDS] = { 50, 10, 3 * CYLINDER, 80, 40 };
	/* After 51: 11 back to 40; from 41: 31 back, 39 on; then 80. */
	static const u64 sstf[COMMANDS] = { 50, 40, 10, 80, 3 * CYLINDER };
	static const u64 clook[COMMANDS] = { 50, 80, 3 * CYLINDER, 10, 40 };
	/*
	 * After 3060 us: 80 at 4800. Then at 4860: 10 at 6600, 40 at 8400, 1200 us
	 * to cylinder 3, where sector 0 passes at 12000 (6060 is too late).
	 */
	static const u64 sptf[COMMANDS] = { 50, 80, 10, 40, 3 * CYLINDER };

	order("firmware fcfs\n", lbn, lbn);
	order("firmware sstf\n", lbn, sstf);
	order("firmware clook\n", lbn, clook);
	order("firmware sptf\n", lbn, sptf);
}

/* From 10 to 12 ms at cylinder 11, 2 ms away. */
TEST(test_internal)
{
	struct hand h;
	int n;

	hand_begin(&h, "internal_activity 10 2 11\n");
	assert_int_equal(hand_run(&h, 0, MDE_READ, 10, 1), 11 * SECTOR);
	n = hand_send(&h, 10500 * US, MDE_READ, 10, 1);
	assert_int_equal(hand_started(&h, n), 12 * MS);
	/* There at 14 ms, in sector 33; 10 begins at 18600. */
	assert_int_equal(hand_report(&h, n), 3 * TURN + 11 * SECTOR);
	/* From 20 to 22 ms; the arm is where it was. */
	n = hand_send(&h, 21 * MS, MDE_READ, 11 * CYLINDER + 50, 1);
	assert_int_equal(hand_started(&h, n), 22 * MS);
	assert_int_equal(hand_report(&h, n), 4 * TURN + 51 * SECTOR);
	/* What is due at 30 ms waits for the medium, until 36060 us. */
	n = hand_send(&h, 29 * MS, MDE_READ, 0, 1);
	assert_int_equal(hand_report(&h, n), 6 * TURN + SECTOR);
	n = hand_send(&h, 36500 * US, MDE_READ, 11 * CYLINDER, 1);
	assert_int_equal(hand_started(&h, n), 38060 * US);
	/* Nobody waits for the next, and yet they happen. */
	hand_until(&h, 43 * MS);
	assert_true(mde_next_event(&h.e) == MDE_NEVER);
	hand_until(&h, 95 * MS);
	assert_int_equal(h.e.stats.internals, 9);
	hand_end(&h);
}

/*
 * A hundred days with nobody there: 864 million times, too many to go through
 * one by one with interrupts off; and the instants stay those of a drive that
 * somebody looks at all the time.
 *
 * Seen to fail: mde_internal() without mde_internal_skip() (the time).
 */
TEST(test_internal_idle)
{
	const u64 span[] = { 95 * MS, 10000 * MS, 8640000000ULL * MS };
	struct hand h, often;
	clock_t begun = clock();
	u32 i, k;
	int n, m;

	for (i = 0; i < ARRAY_SIZE(span); i++) {
		hand_begin(&h, "internal_activity 10 2 11\n");
		hand_begin(&often, "internal_activity 10 2 11\n");
		hand_run(&h, 0, MDE_READ, 10, 1);
		hand_run(&often, 0, MDE_READ, 10, 1);
		for (k = 1; i < 2 && k < 1000; k++)
			hand_until(&often, span[i] * k / 1000);
		n = hand_send(&h, span[i], MDE_READ, 500, 1);
		m = hand_send(&often, span[i], MDE_READ, 500, 1);
		assert_true(hand_report(&h, n) > span[i]);
		assert_int_equal(hand_report(&h, n), hand_report(&often, m));
		assert_in_range(h.e.stats.internals, span[i] / (10 * MS),
				span[i] / (10 * MS) + 2);
		assert_int_equal(h.e.stats.internals, often.e.stats.internals);
		hand_end(&h);
		hand_end(&often);
	}
	assert_true(clock() - begun < 2 * CLOCKS_PER_SEC);
}

static const struct hand_course courses[] = {
	/* What the drive has not understood by then does not take part. */
	{ "understood", "command_overhead_ns 200000 200000\n", {
		SEND(0, MDE_READ, 50, 1),
		SEND(0, MDE_READ, 10, 1),
		/* 10 is served until 660, 50 begins then; 20 is understood at 700. */
		SEND(500 * US, MDE_READ, 20, 1),
		REPORTED(2, TURN + 21 * SECTOR),
	} },
	/*
	 * SATA: a flush waits for reads that came before it, holds back what follows.
	 * Seen to fail: mdq_barrier() that is 0.
	 */
	{ "ncq flush", "queueing ncq\ncompletion_overhead_ns 70000\n", {
		SEND(0, MDE_READ, 50, 1),
		SEND(10 * US, MDE_READ, 30, 1),
		SEND(20 * US, MDE_FLUSH, 0, 0),
		SEND(30 * US, MDE_READ, 60, 1),
		/* 50 passes until 3060, 30 until 7860 us; the flush follows its report. */
		REPORTED(1, TURN + 31 * SECTOR + 70 * US),
		REPORTED(2, TURN + 31 * SECTOR + 140 * US),
		STARTED(3, TURN + 31 * SECTOR + 140 * US),
		REPORTED(3, TURN + 61 * SECTOR + 70 * US),
	} },
	/* SCSI: nothing waits. */
	{ "ncq flush", "", {
		SEND(0, MDE_READ, 50, 1),
		SEND(20 * US, MDE_FLUSH, 0, 0),
		SEND(30 * US, MDE_READ, 60, 1),
		REPORTED(1, 20 * US),
		REPORTED(2, 61 * SECTOR),
	} },
	/* 60 would pass right after 50, but 30 came before. */
	{ "ncq verify", "queueing ncq\n", {
		SEND(2 * MS, MDE_READ, 50, 1),
		SEND(2010 * US, MDE_WRITE, 30, 1),
		SEND(2020 * US, MDE_VERIFY, 60, 1),
		SEND(2030 * US, MDE_READ, 40, 1),
		REPORTED(0, 51 * SECTOR),
		REPORTED(1, TURN + 31 * SECTOR),
		REPORTED(2, TURN + 61 * SECTOR),
		REPORTED(3, 2 * TURN + 41 * SECTOR),
	} },
	{ "ncq verify", "", {
		SEND(2 * MS, MDE_READ, 50, 1),
		SEND(2010 * US, MDE_WRITE, 30, 1),
		SEND(2020 * US, MDE_VERIFY, 60, 1),
		REPORTED(2, 61 * SECTOR),
	} },
	/*
	 * Blocks of 8: what covers one in part reads it first, which costs a turn.
	 * Seen to fail: mdv_read_first() that says 0.
	 */
	{ "read modify write", "physical_exponent 3\n", {
		RUN(0, MDE_WRITE, 8, 8, 16 * SECTOR),
		/* 8 to 15 are read from 6480 to 6960 us and written a turn later. */
		RUN(1 * MS, MDE_WRITE, 10, 2, 2 * TURN + 16 * SECTOR),
		/* In part at the end: still one turn. */
		RUN(18 * MS, MDE_WRITE, 8, 9, 4 * TURN + 24 * SECTOR),
		/* In part at the front. */
		RUN(30 * MS, MDE_WRITE, 15, 9, 6 * TURN + 24 * SECTOR),
		/* A read takes the block, no more. */
		RUN(42 * MS, MDE_READ, 10, 2, 7 * TURN + 16 * SECTOR),
	} },
	/* Blocks of one. */
	{ "read modify write", "", {
		RUN(0, MDE_WRITE, 10, 2, 12 * SECTOR),
	} },
	/*
	 * Blocks 96 to 103 and 104 to 111, a track each for their parts: 96 to 99 from
	 * 5760 to 6000 us and a turn; 500 us for the other head; its 0 to 11 from 18000
	 * to 18720, and a turn.
	 */
	{ "read modify write tracks", "physical_exponent 3\n", {
		RUN(0, MDE_WRITE, 97, 13, 24720 * US),
	} },
	/* The overhead depends on the command before, and on what it turns out to be. */
	{ "overheads",
	  "cache 4 100 0\noverhead_ns read_hit 10000 20000\n"
	  "overhead_ns read_miss 110000 500000\n"
	  "overhead_ns write_miss 230000 730000\n", {
		SEND(0, MDE_READ, 10, 1),
		STARTED(0, 110 * US),
		SEND(1 * MS, MDE_WRITE, 30, 1),
		STARTED(1, 1230 * US),
		RUN(2 * MS, MDE_READ, 10, 1, 2020 * US),
		RUN(3 * MS, MDE_READ, 10, 1, 3010 * US),
		SEND(4 * MS, MDE_WRITE, 90, 1),
		STARTED(4, 4230 * US),
		SEND(6 * MS, MDE_WRITE, 30, 1),
		STARTED(5, 6730 * US),
		SEND(8 * MS, MDE_READ, 90, 1),
		STARTED(6, 8500 * US),
	} },
	/* Five sectors, 600 to 900 us, on a bus that needs 10 or 100 us for each. */
	{ "watermark", "bus_ns 10000\nbus_watermark_ppm 1000000\n", {
		RUN(0, MDE_READ, 10, 5, 950 * US),
	} },
	/* Two of five: at 720. */
	{ "watermark", "bus_ns 100000\nbus_watermark_ppm 500000\n", {
		RUN(0, MDE_READ, 10, 5, 1220 * US),
	} },
	/* Soon enough not to matter: the last sector has to come. */
	{ "watermark", "bus_ns 10000\nbus_watermark_ppm 500000\n", {
		RUN(0, MDE_READ, 10, 5, 910 * US),
	} },
	/* 50 passes until 3060 us and is reported at 3160, when 52 has begun. */
	{ "early seek", "completion_overhead_ns 100000\n", {
		SEND(0, MDE_READ, 50, 1),
		SEND(10 * US, MDE_READ, 52, 1),
		STARTED(1, 51 * SECTOR),
		REPORTED(1, 53 * SECTOR + 100 * US),
	} },
	{ "early seek", "completion_overhead_ns 100000\nearly_seek off\n", {
		SEND(0, MDE_READ, 50, 1),
		SEND(10 * US, MDE_READ, 52, 1),
		STARTED(1, 3160 * US),
		REPORTED(1, TURN + 53 * SECTOR + 100 * US),
	} },
	{ "completion", "completion_overhead_ns 40000 70000\n", {
		RUN(0, MDE_READ, 10, 1, 700 * US),
		RUN(1 * MS, MDE_WRITE, 30, 1, 1930 * US),
	} },
	/* Head 1 has 50 sectors of 120 us: LBNs 100 to 149 of a cylinder's 150. */
	{ "head tracks", "zone_heads 0 100 50\nbus_ns 0\n", {
		RUN(0, MDE_READ, 105, 1, 720 * US),
		RUN(720 * US, MDE_READ, 106, 4, 1200 * US),
		/* Back: there at 1500, sector 25 of head 0 begins. */
		RUN(1200 * US, MDE_READ, 26, 1, 27 * SECTOR),
		/* The next cylinder begins with LBN 150. */
		RUN(2 * MS, MDE_READ, 150 + 60, 1, 61 * SECTOR),
		/* From head 1's last sector on: a cylinder on, a turn but 0. */
		RUN(6 * MS, MDE_READ, 149, 2, 3 * TURN + SECTOR),
	} },
	/* The same for reading on: 110 to 149 pass until 6000 us. */
	{ "head tracks ahead", "zone_heads 0 100 50\ncache 4 100 0\nread_ahead track\n", {
		RUN(0, MDE_READ, 105, 5, 0),
		/* 110 to 114 have passed at 1800, 115 has not at 1910. */
		HIT(1830 * US, 110, 5),
		RUN(1910 * US, MDE_READ, 114, 3, 17 * 2 * SECTOR),
		HIT(10 * MS, 110, 40),
		MISS(20 * MS, 150, 1),
	} },
	/* 1000 - 500 us: 9 begins at 540. */
	{ "settle", "write_settle_ns -500000\n", {
		RUN(0, MDE_WRITE, CYLINDER + 9, 1, 10 * SECTOR),
		/* A head switch in no time: 300 - 500. */
		RUN(10 * SECTOR, MDE_WRITE, CYLINDER + TRACK + 11, 1, 12 * SECTOR),
		/* Reads do not settle: there at 1720, 28 has gone. */
		RUN(12 * SECTOR, MDE_READ, 28, 1, TURN + 29 * SECTOR),
	} },
};

TEST(test_courses)
{
	hand_courses(courses, ARRAY_SIZE(courses));
}
