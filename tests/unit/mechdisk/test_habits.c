// SPDX-License-Identifier: GPL-2.0
/*
 * What a drive does of its own mind: scans of its medium, and seeks that take a turn longer; on
 * the drive made for calculating by hand (hand.h).
 *
 * Seen to fail: a scan that leaves the arm where it was; one that begins when the last command
 * came, not when it ended; a delay that is always the least one; a region without its last
 * cylinder; a turn for moves over one cylinder, too.
 */
#include "hand.h"

#define SCAN "medium_scan 500 1000 4000\n"
#define IDLE (500 * MS)

/* How long a read waits that comes @idle after the end of the one before. */
static u64 wait_after(struct hand *h, u64 *end, u64 idle, u64 lbn)
{
	int n = hand_send(h, *end + idle, MDE_READ, lbn, 1);
	u64 waits = hand_started(h, n) - (*end + idle);

	*end = hand_report(h, n);
	return waits;
}

TEST(test_scan)
{
	u64 end = 0, waits, sum = 0, least = U64_MAX, most = 0;
	struct hand h;
	u32 i;

	hand_begin(&h, SCAN);
	wait_after(&h, &end, 0, 50);
	assert_int_equal(wait_after(&h, &end, IDLE - US, 5000), 0);
	assert_int_equal(h.e.stats.scans, 0);
	for (i = 0; i < 400; i++) {
		waits = wait_after(&h, &end, IDLE + MS, 7 * i);
		least = min(least, waits);
		most = max(most, waits);
		sum += waits;
	}
	assert_int_equal(h.e.stats.scans, 400);
	assert_in_range(least, MS, MS + 60 * US);
	assert_in_range(most, 4 * MS - 60 * US, 4 * MS);
	assert_in_range(sum / 400, 2400 * US, 2600 * US);
	hand_end(&h);
}

/* A track in a turn, from where the scan was the time before; the arm is there. */
TEST(test_place)
{
	struct hand h;
	u64 end = 0;

	hand_begin(&h, SCAN);
	hand_send(&h, IDLE + 60 * TURN + MS, MDE_READ, 15000, 1);
	assert_int_equal(h.e.mech.cyl, 30);
	hand_done(&h, 0);
	end = hand_report(&h, 0);
	assert_int_equal(wait_after(&h, &end, 90 * MS, 3000), 0);
	hand_send(&h, end + IDLE + 21 * TURN + MS, MDE_READ, 15000, 1);
	assert_int_equal(h.e.mech.cyl, 40);
	assert_int_equal(h.e.mech.head, 1);
	/* Past the last of 19800 sectors it begins anew. */
	end = hand_report(&h, 2);
	hand_send(&h, end + IDLE + 120 * TURN + MS, MDE_READ, 15000, 1);
	assert_int_equal(h.e.mech.cyl, 1);
	hand_end(&h);
}

/* When a read is reported that goes from cylinder 0 to @from and then to @to. */
static u64 way(const char *extra, u32 from, u32 to)
{
	struct hand h;
	u64 end;
	int n;

	hand_begin(&h, extra);
	end = hand_run(&h, 0, MDE_READ, from * CYLINDER, 1);
	n = hand_send(&h, 90 * MS, MDE_READ, to * CYLINDER + TRACK, 1);
	assert_true(end < 90 * MS);
	end = hand_report(&h, n);
	hand_end(&h);
	return end;
}

TEST(test_slow)
{
	static const struct {
		u32 from;
		u32 to;
		bool slow;
	} ways[] = {
		{ 0, 49, false }, { 0, 50, true }, { 0, 60, true }, { 0, 61, false },
		{ 99, 55, true }, { 55, 0, false }, { 52, 54, true }, { 53, 54, false },
		{ 54, 54, false }, { 0, 80, true }, { 0, 81, false },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		u64 longer = way("slow_region 50 60\nslow_region 80 80\n", ways[i].from,
				 ways[i].to) - way("", ways[i].from, ways[i].to);

		if (longer != (ways[i].slow ? TURN : 0))
			fail_msg("from %u to %u: %llu ns longer", ways[i].from, ways[i].to,
				 (unsigned long long)longer);
	}
}
