// SPDX-License-Identifier: GPL-2.0
/*
 * Times on a drive of runs, calculated by hand: a turn is 6 ms, tracks of surface 0 have 100
 * sectors, those of surface 1 60; one cylinder is 1 ms, eleven are 2 ms, a head switch is 1.4 ms.
 * Surface 1 is displaced by 4 cylinders.  Runs: 10 tracks inwards on surface 0, then 10 outwards
 * on surface 1; so again further in, half a turn later.
 *
 * Seen to fail: a move without the displacement, or without the switch; one skew for all tracks.
 */
#include "hand.h"

#define RUNS \
	"fbdrive 1\nperiod_ps 6000000000\nheads 2\ndisplacement 0 4\n" \
	"run 0 0 in 10 100 0 0.2\nrun 1 9 out 10 60 0.1 0.25\nrepeat 2 3 0.5\n" \
	"seek 1 1000000\nseek 11 2000000\nseek 99 10800000\nhead_switch_ns 1400000\n" \
	MDU_QUIET
#define RUN_1 1000		/* first LBNs of runs */
#define RUN_2 1600
#define RUN_3 2600

/* When the sector at an angle, thousandths of a turn, comes next at or after @t. */
static u64 turns_up(u64 t, u64 angle)
{
	u64 at = angle * TURN / 1000, now = t % TURN;

	return t + (at >= now ? at - now : at + TURN - now);
}

/* The second of two reads of a sector: after a move of @move from where the first has left it. */
static void check(u64 first, u64 second, u64 move, u64 angle, u64 sectors)
{
	struct hand h;
	u64 end, want, before;
	int n;

	hand_begin(&h, RUNS);
	hand_run(&h, 0, MDE_READ, first, 1);
	before = h.e.stats.seek_ps;
	n = hand_send(&h, 100 * MS, MDE_READ, second, 1);
	want = turns_up(100 * MS + move, angle) + TURN / sectors;
	end = hand_report(&h, n);
	if (end > want + 2 || end + 2 < want)
		fail_msg("LBN %llu after %llu: at %llu, not %llu", (unsigned long long)second,
			 (unsigned long long)first, (unsigned long long)end,
			 (unsigned long long)want);
	/* Most of it is lost in the wait for the sector. */
	before = hand_ns(h.e.stats.seek_ps - before);
	if (before != move)
		fail_msg("LBN %llu after %llu: a move of %llu, not %llu",
			 (unsigned long long)second, (unsigned long long)first,
			 (unsigned long long)before, (unsigned long long)move);
	hand_end(&h);
}

TEST(test_moves)
{
	/* Within a run: the next track, a skew on; ten tracks would be 1.9 ms, nine are 1.8. */
	check(0, 100, 1000 * US, 200, 100);
	check(0, 900, 1800 * US, 9 * 200 % 1000, 100);
	check(0, 50, 0, 500, 100);
	/* Surface 1, track 9: cylinder 13; from track 9 of surface 0 four, and the switch. */
	check(900, RUN_1, 1400 * US, 100, 60);
	check(0, RUN_1, 2000 * US + 2 * 100 * US, 100, 60);
	/* Its last track is 0, cylinder 4: from cylinder 4 nothing but the switch. */
	check(400, RUN_1 + 540, 1400 * US, (100 + 9 * 250) % 1000, 60);
	/* From there to the next run on surface 0, track 10: six. */
	check(RUN_1 + 540, RUN_2, 1500 * US, 500, 100);
	/* The next on surface 1 begins at track 19, cylinder 23. */
	check(RUN_2 + 900, RUN_3, 1400 * US, 600, 60);
	check(RUN_1, RUN_3, 1900 * US, 600, 60);
}

/* Sectors in a row over the end of a run. */
TEST(test_in_a_row)
{
	struct hand h;
	u64 end, want;

	hand_begin(&h, RUNS);
	end = hand_run(&h, 0, MDE_READ, 980, 50);
	/* Track 9 of surface 0 from its sector 80, then 30 sectors of track 9 of surface 1. */
	want = turns_up(1800 * US, (9 * 200 + 800) % 1000) + 20 * TURN / 100;
	want = turns_up(want + 1400 * US, 100) + 30 * TURN / 60;
	assert_in_range(end, want - 2, want + 2);
	hand_end(&h);
}
