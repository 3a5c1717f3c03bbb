// SPDX-License-Identifier: GPL-2.0
/*
 * Speeds that change with time, on the drive made for calculating by hand (hand.h).
 *
 * Seen to fail: platter angles when mdm_turned() took the speed at an instant for that
 * of the time before it; sectors in a row when mdm_slack() left out the drift; turns when
 * mdm_drift() was not called.
 */
#include "hand.h"

#include <math.h>

#define S (1000 * MS)

/* How far a platter of 6 ms that gains @ppm within @ramp seconds has turned after @t s. */
static long double turns(long double ppm, long double ramp, long double t)
{
	long double gain = ppm / 1e6L;

	if (t < ramp)
		return (t + gain * t * t / (2 * ramp)) / 0.006L;
	return (t + gain * (ramp / 2 + t - ramp)) / 0.006L;
}

static void check_angles(const char *record, double ppm, double ramp)
{
	static const u64 at[] = { 0, 1, 7, 49, 50, 51, 99, 100, 101, 3599, 3600, 3601, 86400,
				  1000000 };
	struct hand h;
	u32 i;

	hand_begin(&h, record);
	for (i = 0; i < ARRAY_SIZE(at); i++) {
		long double want = turns(ppm, ramp, at[i]);
		double got = mdu_turn(mde_angle(&h.e, h.start + at[i] * S));

		/* A thousandth of a nanosecond of 6 ms. */
		if (mdu_turn_apart(got, fmodl(want, 1)) > 1.0 / S)
			fail_msg("%s after %llu s: %.12f, not %.12Lf", record,
				 (unsigned long long)at[i], got, want - floorl(want));
	}
	hand_end(&h);
}

TEST(test_angles)
{
	check_angles("", 0, 1);
	check_angles("rpm_drift 200 3600\n", 200, 3600);
	check_angles("rpm_drift -200 3600\n", -200, 3600);
	check_angles("rpm_drift 10000 100\n", 10000, 100);
	check_angles("rpm_drift -10000 1000000\n", -10000, 1000000);
	check_angles("rpm_drift 5 100\nrpm_drift 1000 50\n", 1000, 50);
}

/* A sector that has just gone by comes again after a turn. */
static u64 turn_at(struct hand *h, u64 at)
{
	u64 begin;

	h->now = h->start + at;
	mdu_run(&h->e, &h->now, MDE_READ, 0, 1);
	begin = h->now;
	mdu_run(&h->e, &h->now, MDE_READ, 0, 1);
	return h->now - begin;
}

TEST(test_turns)
{
	struct hand h;

	hand_begin(&h, "rpm_drift 10000 100\n");
	assert_in_range(turn_at(&h, 0), TURN - 6, TURN);
	assert_in_range(turn_at(&h, 50 * S), TURN / 1.005 - 6, TURN / 1.005 + 2);
	assert_in_range(turn_at(&h, 100 * S), TURN / 1.01 - 2, TURN / 1.01 + 2);
	assert_in_range(turn_at(&h, 7200 * S), TURN / 1.01 - 2, TURN / 1.01 + 2);
	hand_end(&h);
	hand_begin(&h, "rpm_drift -200 3600\n");
	assert_in_range(turn_at(&h, 3600 * S), TURN / 0.9998 - 2, TURN / 0.9998 + 2);
	hand_end(&h);
}

/*
 * However fast the speed changes, a sector that begins now has not just gone by: two
 * commands at the drive, so that one begins when the other ends, to the picosecond.
 */
static void check_row(const char *record, const char *slow, u64 sector_ps)
{
	u64 took, ended = 0;
	char text[256];
	struct hand h;
	int slot;
	u32 i;

	snprintf(text, sizeof(text), "firmware fcfs\n%s%s", slow, record);
	hand_begin(&h, text);
	mde_submit(&h.e, h.now, MDE_READ, 0, 1, 0);
	for (i = 1; i < 100 * 97; i++) {
		mde_submit(&h.e, h.now, MDE_READ, i % TRACK, 1, 0);
		slot = mdu_finish(&h.e, &h.now);
		took = h.e.slot[slot].media_end - ended;
		if (took < sector_ps / 100 * 98 || took > sector_ps / 100 * 102)
			fail_msg("%s: sector %u took %llu ps", record, i,
				 (unsigned long long)took);
		ended = h.e.slot[slot].media_end;
		mde_release(&h.e, slot);
	}
	hand_end(&h);
}

TEST(test_row)
{
	check_row("rpm_drift 200 3600\n", "", SECTOR * 1000);
	check_row("rpm_drift 10000 1\n", "", SECTOR * 1000);
	check_row("rpm_drift -10000 1\n", "", SECTOR * 1000);
	check_row("rpm_drift 10000 1\n", "period_ps 100000000000\n", 1000 * US * 1000);
}

/* Tracks in a row: the medium takes as long as it turns, without a slot between. */
TEST(test_tracks)
{
	struct mde_slot s;
	struct hand h;

	hand_begin(&h, "rpm_drift 10000 1\nhead_switch_ns 0\n");
	h.now = h.start + 2 * S;
	mdu_run(&h.e, &h.now, MDE_READ, 0, 1);
	s = mdu_run(&h.e, &h.now, MDE_READ, 1, 199);
	assert_in_range(s.media_end - s.started, 199 * SECTOR * 1000 / 1.01 - 4000,
			199 * SECTOR * 1000 / 1.01 + 4000);
	hand_end(&h);
}

/* A seek over @cyls after @at, ps. */
static u64 seek_at(const char *record, u64 at, u32 cyls)
{
	struct hand h;
	u64 ps;

	hand_begin(&h, record);
	h.now = h.start + at;
	mdu_run(&h.e, &h.now, MDE_READ, cyls * CYLINDER, 1);
	ps = h.e.stats.seek_ps;
	hand_end(&h);
	return ps;
}

TEST(test_seeks)
{
	assert_int_equal(seek_at("", 9999 * S, 11), 2000000000);
	assert_int_equal(seek_at("seek_drift 30000 1200\n", 0, 11), 2000000000);
	assert_int_equal(seek_at("seek_drift 30000 1200\n", 600 * S, 11), 2030000000);
	assert_int_equal(seek_at("seek_drift 30000 1200\n", 1200 * S, 11), 2060000000);
	assert_int_equal(seek_at("seek_drift 30000 1200\n", 9999 * S, 11), 2060000000);
	assert_int_equal(seek_at("seek_drift -200000 1\n", 2 * S, 1), 800000000);
	/* Not the head switch: 300 us; sector 0 of head 1 comes after 300 us and 5700. */
	assert_int_equal(seek_at("seek_drift 200000 1\nhead_switch_ns 1500000\n", 2 * S, 1),
			 1200000000);
}
