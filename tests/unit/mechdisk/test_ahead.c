// SPDX-License-Identifier: GPL-2.0
/*
 * Reading on, on a drive made for calculating by hand (hand.h).  Without
 * overheads a read of 10 to 19 handed in at 0 takes 600 to 1200 us.
 */
#include "hand.h"

#include <stdlib.h>
#include <time.h>

#define BUS (10 * US)
#define RECORDS "cache 4 400 0\nbus_ns 10000\n"

/*
 * After a read of @count from @lbn and a long rest, @last is in the buffer and
 * the sector after it is not.
 */
static void reads_on_to(const char *records, u64 lbn, u32 count, u64 last)
{
	struct hand h;

	hand_begin(&h, records);
	hand_run(&h, 0, MDE_READ, lbn, count);
	assert_true(hand_hits(&h, 60 * MS, lbn, last + 1 - lbn));
	assert_false(hand_hits(&h, 100 * MS, last + 1, 1));
	hand_end(&h);
}

TEST(test_limits)
{
	reads_on_to(RECORDS "read_ahead none\n", 10, 10, 19);
	reads_on_to(RECORDS "read_ahead track\n", 10, 10, 99);
	reads_on_to(RECORDS "read_ahead track\n", 90, 15, 199);
	/* A read that ends with the track ends with it. */
	reads_on_to(RECORDS "read_ahead track\n", 90, 10, 99);
	reads_on_to(RECORDS "read_ahead cylinder\n", 10, 10, 199);
	reads_on_to(RECORDS "read_ahead cylinder\n", 190, 15, 399);
	reads_on_to(RECORDS "read_ahead segment 30\n", 10, 10, 49);
	reads_on_to(RECORDS "read_ahead segment 1\n", 10, 10, 20);
	reads_on_to(RECORDS "read_ahead segment 30\n", 90, 10, 129);
	reads_on_to(RECORDS "read_ahead stream\n", 10, 10, 99);
	/* The segment began on the track before: this track and the next. */
	reads_on_to(RECORDS "read_ahead stream\n", 90, 20, 299);
	reads_on_to(RECORDS "read_ahead track\nlook_ahead off\n", 10, 10, 19);
}

/* Nothing follows the drive's last sector. */
TEST(test_end_of_drive)
{
	static const char *const kinds[] = {
		"read_ahead track\n", "read_ahead cylinder\n",
		"read_ahead segment\n", "read_ahead stream\n",
	};
	struct hand h;
	char text[128];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		snprintf(text, sizeof(text), RECORDS "%s", kinds[i]);
		hand_begin(&h, text);
		assert_int_equal(h.c.sectors, 99 * CYLINDER);
		hand_run(&h, 0, MDE_READ, h.c.sectors - 20, 10);
		assert_true(hand_hits(&h, 100 * MS, h.c.sectors - 20, 20));
		hand_run(&h, 200 * MS, MDE_READ, h.c.sectors - 1, 1);
		hand_until(&h, 300 * MS);
		hand_end(&h);
	}
}

/* Riding along: no move, no rotation. */
TEST(test_ride)
{
	const struct mde_slot *s;
	struct hand h;

	hand_begin(&h, RECORDS "read_ahead track\n");
	hand_run(&h, 0, MDE_READ, 10, 10);
	/* At 1600 us 20 to 25 have passed; 33 has at 2040. */
	s = hand_done(&h, hand_send(&h, 1600 * US, MDE_READ, 24, 10));
	assert_int_equal(hand_ns(s->report), 34 * SECTOR + BUS);
	assert_int_equal(s->held, 2);
	assert_int_equal(s->kind, MDE_READ_MISS);
	assert_int_equal(h.e.stats.partial_hits, 1);
	/* It goes on behind that. */
	assert_true(hand_hits(&h, 10 * MS, 99, 1));
	hand_end(&h);
}

/*
 * So much is read on with a command waiting, and with one that comes meanwhile, but not
 * beyond where reading on ends. Seen to fail: a drive that only does so when idle, and
 * one that stops for what comes meanwhile.
 */
TEST(test_least)
{
	struct hand h;
	int before, n;

	hand_begin(&h, RECORDS "read_ahead track\nread_ahead_least 20\nfirmware fcfs\n");
	hand_send(&h, 0, MDE_WRITE, CYLINDER, 1);
	before = hand_send(&h, 0, MDE_READ, 10, 10);
	n = hand_send(&h, 0, MDE_READ, CYLINDER + 50, 1);
	assert_int_equal(hand_started(&h, n),
			 hand_report(&h, before) - BUS + 20 * SECTOR);
	assert_true(hand_hits(&h, 40 * MS, 10, 30));
	assert_false(hand_hits(&h, 60 * MS, 40, 1));
	hand_end(&h);
	hand_begin(&h, RECORDS "read_ahead track\nread_ahead_least 20\n");
	hand_run(&h, 0, MDE_READ, 10, 10);
	n = hand_send(&h, 1515 * US, MDE_READ, CYLINDER + 50, 1);
	/* the next sector has begun */
	assert_int_equal(hand_started(&h, n), 41 * SECTOR);
	hand_end(&h);
	hand_begin(&h, RECORDS "read_ahead track\nread_ahead_least 20\n");
	hand_run(&h, 0, MDE_READ, 80, 10);
	n = hand_send(&h, 5515 * US, MDE_READ, CYLINDER + 50, 1);
	assert_int_equal(hand_started(&h, n), TURN);
	hand_end(&h);
}

/*
 * Nobody asked for it: no error, no recovery, and the drive stops there.
 * Seen to fail: mda_before_bad() that finds none.
 */
TEST(test_bad)
{
	const struct mde_slot *s;
	struct hand h;

	hand_begin(&h, RECORDS "read_ahead track\n"
		   "medium_error 50 1 recovery_ms=1 times=1\n");
	assert_int_equal(hand_run(&h, 0, MDE_READ, 10, 10), 20 * SECTOR + BUS);
	assert_true(hand_hits(&h, 12 * MS, 10, 40));
	assert_int_equal(h.e.stats.medium_errors, 0);
	/* Its only failure is still to come: 50 begins at 21 ms. */
	s = hand_done(&h, hand_send(&h, 20 * MS, MDE_READ, 50, 1));
	assert_int_equal(hand_ns(s->report), 22 * MS + SECTOR);
	assert_int_equal(s->asc, 0x11);
	/* It has healed. */
	assert_int_equal(hand_done(&h, hand_send(&h, 30 * MS, MDE_READ, 50, 1))->asc,
			 0);
	hand_end(&h);
	/* Right behind the read. */
	hand_begin(&h, RECORDS "read_ahead track\nmedium_error 20 1\n");
	hand_run(&h, 0, MDE_READ, 10, 10);
	assert_int_equal(hand_done(&h, hand_send(&h, 20 * MS, MDE_READ, 20, 1))->asc,
			 0x11);
	hand_end(&h);
}

/* Look-ahead switched off while the drive reads on: it stops. */
TEST(test_switched_off)
{
	struct mde_caching off = { .read_cache = true };
	struct hand h;

	hand_begin(&h, RECORDS "read_ahead track\n");
	hand_run(&h, 0, MDE_READ, 10, 10);
	hand_until(&h, 1530 * US);
	mde_set_caching(&h.e, h.now, &off);
	assert_true(hand_hits(&h, 20 * MS, 10, 15));
	assert_false(hand_hits(&h, 40 * MS, 27, 1));
	assert_false(hand_hits(&h, 60 * MS, 28, 1));
	hand_end(&h);
}

/*
 * Remapped sectors whose spares lie at the end of a track, the rest of which
 * holds nothing: where that track's LBNs begin is not looked for in vain, which
 * took 10 ms with interrupts off.
 *
 * Seen to fail: the track's first LBN worked out for "read_ahead track", too.
 */
TEST(test_remaps_quickly)
{
	const u32 remaps = 19500, room = 600000;
	char *text = malloc(room);
	struct mdt_error err;
	struct hand h = { 0 };
	clock_t begun;
	u32 n, i;

	n = snprintf(text, room, "fbdrive 1\nperiod_ps 6000000000\nheads 2\n"
		     "zone 0 999 1000 0 0 0 100000\nseek 1 1000000\n"
		     MDU_QUIET "cache 8 1024 0\nread_ahead track\n");
	for (i = 0; i < remaps; i++)
		n += snprintf(text + n, room - n, "remap 0 %u %u\n", i * 20,
			      1999999 - i);
	assert_int_equal(mdu_parse(text, &h.c, &err), 0);
	free(text);
	mde_init(&h.e, &h.c, 0);
	begun = clock();
	for (i = 0; i < 100; i++)
		hand_run(&h, i * 100 * MS, MDE_READ, (remaps - 1 - i) * 20, 1);
	assert_int_equal(h.e.stats.reads, 100);
	assert_true(clock() - begun < CLOCKS_PER_SEC);
	hand_end(&h);
}

static const struct hand_course courses[] = {
	/*
	 * A host that asks for the next sectors at once: 20 is just under the head, and
	 * it comes with it, or else a stream would lose a turn at each command.
	 */
	{ "front", RECORDS "read_ahead track\n", {
		RUN(0, MDE_READ, 10, 10, 20 * SECTOR + BUS),
		RUN(20 * SECTOR + BUS, MDE_READ, 20, 10, 30 * SECTOR + BUS),
	} },
	{ "trigger", RECORDS "read_ahead track\nread_ahead_trigger same-track\n", {
		/* No read before it. */
		RUN(0, MDE_READ, 10, 10, 0),
		/* Further on, same track: to its end. */
		MISS(20 * MS, 30, 10),
		HIT(40 * MS, 99, 1),
		/* Not further on. */
		MISS(60 * MS, 5, 2),
		MISS(80 * MS, 7, 1),
		/* That was further on. */
		HIT(100 * MS, 8, 1),
		/* Another track. */
		MISS(120 * MS, TRACK + 50, 1),
		MISS(140 * MS, TRACK + 51, 1),
	} },
	{ "on hit", RECORDS "read_ahead segment 30\nread_ahead_on_hit on\n", {
		RUN(0, MDE_READ, 10, 10, 0),
		/* 10 to 49 are there; 30 sectors after the hit: to 69. */
		HIT(20 * MS, 30, 10),
		HIT(40 * MS, 50, 20),
		/* And again: to 99. */
		HIT(60 * MS, 70, 30),
	} },
	{ "on hit", RECORDS "read_ahead segment 30\n", {
		RUN(0, MDE_READ, 10, 10, 0),
		HIT(20 * MS, 30, 10),
		MISS(40 * MS, 50, 1),
	} },
	/*
	 * A miss elsewhere, 1000 us away, in the middle of sector 25.
	 * Seen to fail: mda_leave() without ahead_stops_at_once.
	 */
	{ "stop", RECORDS "read_ahead track\n", {
		RUN(0, MDE_READ, 10, 10, 0),
		/* 25 ends at 1560 us; the arm is there at 2560: 42 has begun. */
		SEND(1515 * US, MDE_READ, CYLINDER + 42, 1),
		STARTED(1, 26 * SECTOR),
		REPORTED(1, TURN + 43 * SECTOR + BUS),
	} },
	{ "stop", RECORDS "read_ahead track\nread_ahead_stop at-once\n", {
		RUN(0, MDE_READ, 10, 10, 0),
		/* The arm is there at 2515: 42 begins at 2520. */
		SEND(1515 * US, MDE_READ, CYLINDER + 42, 1),
		STARTED(1, 1515 * US),
		REPORTED(1, 43 * SECTOR + BUS),
		/* What had passed is kept. */
		HIT(60 * MS, 10, 15),
		MISS(80 * MS, 25, 1),
	} },
	/* The head switch from 6000 to 6300 us is finished, and then the way back. */
	{ "stop seek", RECORDS "read_ahead cylinder\nread_ahead_stop at-once\n", {
		RUN(0, MDE_READ, 90, 10, 0),
		SEND(6100 * US, MDE_READ, 9, 1),
		STARTED(1, 6300 * US),
		/* At 6600 sector 9 has gone. */
		REPORTED(1, 2 * TURN + 10 * SECTOR + BUS),
	} },
	/* Rotation is not waited for. */
	{ "stop seek", RECORDS "read_ahead cylinder\n", {
		RUN(0, MDE_READ, 90, 10, 0),
		SEND(6400 * US, MDE_READ, 50, 1),
		STARTED(1, 6400 * US),
	} },
	/* With a command waiting the drive does not begin to read on. */
	/* Handed in before the first is served. */
	{ "not begun", RECORDS "read_ahead cylinder\nfirmware fcfs\n", {
		SEND(0, MDE_READ, 90, 10),
		SEND(0, MDE_READ, 50, 1),
		STARTED(1, TURN),
		REPORTED(1, TURN + 51 * SECTOR + BUS),
	} },
	/* While it is served. */
	{ "not begun", RECORDS "read_ahead cylinder\n", {
		SEND(0, MDE_READ, 90, 10),
		SEND(3 * MS, MDE_READ, 50, 1),
		STARTED(1, TURN),
		REPORTED(1, TURN + 51 * SECTOR + BUS),
	} },
};

TEST(test_courses)
{
	hand_courses(courses, ARRAY_SIZE(courses));
}
