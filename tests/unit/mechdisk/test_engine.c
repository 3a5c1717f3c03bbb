// SPDX-License-Identifier: GPL-2.0
/*
 * Mechanics and firmware on a drive made for calculating by hand: a turn is 6 ms,
 * a track has 100 sectors of 60 us, one cylinder away is 1 ms, ten are 2 ms,
 * a head switch is 0.3 ms, settling 0.2 ms, no skew.
 */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define US 1000ULL
#define TURN (6000 * US)
#define SECTOR (60 * US)
#define TRACK 100
#define CYLINDER 200

static const char drive[] =
	"fbdrive 1\nperiod_ps 6000000000\nheads 2\n"
	"zone 0 99 100 0 0 0 200\n"
	"seek 1 1000000\nseek 11 2000000\nseek 99 10800000\n"
	"head_switch_ns 300000\nwrite_settle_ns 200000\n"
	MDU_QUIET;

struct fixture {
	struct mde_config c;
	struct mde e;
	u64 now;
};

/* A drive with extra records, its head on track 0, sector 0 beginning now. */
static void begin(struct fixture *f, const char *extra)
{
	char text[1024];
	struct mdt_error err;

	snprintf(text, sizeof(text), "%s%s", drive, extra);
	if (mdu_parse(text, &f->c, &err))
		fail_msg("line %u: %s", err.line, err.reason);
	f->now = 5000 * US;
	mde_init(&f->e, &f->c, f->now);
	mde_place_head(&f->e, 0, 0, f->now, 0);
}

static void end(struct fixture *f)
{
	mdt_free(&f->c);
}

/* Picoseconds to nanoseconds; angles are good to a picosecond. */
static u64 ns(u64 ps)
{
	return (ps + 500) / 1000;
}

/* How long after its submission a command on the idle drive is reported, ns. */
static u64 took(struct fixture *f, enum mde_op op, u64 lbn, u32 count)
{
	u64 start = f->now;

	mdu_run(&f->e, &f->now, op, lbn, count);
	return f->now - start;
}

static void test_rotation(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, "");
	/* Sector 10 comes in 600 us; 5 sectors take 300. */
	assert_int_equal(took(&f, MDE_READ, 10, 5), 900 * US);
	/* The next sector follows without a gap. */
	assert_int_equal(took(&f, MDE_READ, 15, 1), SECTOR);
	/* The one just read has gone by. */
	assert_int_equal(took(&f, MDE_READ, 15, 1), TURN);
	assert_int_equal(took(&f, MDE_VERIFY, 14, 1), TURN - SECTOR);
	end(&f);
}

static void test_moves(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, "");
	/* One cylinder: 1000 us, under the head: 16.67; sector 20 at 1200. */
	assert_int_equal(took(&f, MDE_READ, CYLINDER + 20, 1), 1260 * US);
	/* Sector 21, other head: 300 us, 26 has begun: almost a turn. */
	assert_int_equal(took(&f, MDE_READ, CYLINDER + TRACK + 21, 1), TURN + SECTOR);
	/* Six cylinders: half way between 1 and 11: 1500 us, sector 47. */
	assert_int_equal(took(&f, MDE_READ, 7 * CYLINDER + 47, 1), 26 * SECTOR);
	/* A head switch and a settle: 500 us; at 56.33 55 has gone by. */
	assert_int_equal(took(&f, MDE_WRITE, 7 * CYLINDER + TRACK + 55, 1),
			 TURN + 8 * SECTOR);
	/* No settle on the same track. */
	assert_int_equal(took(&f, MDE_WRITE, 7 * CYLINDER + TRACK + 56, 1),
			 SECTOR);
	assert_int_equal(f.e.stats.seeks, 2);
	assert_int_equal(f.e.stats.head_switches, 2);
	end(&f);
}

static void test_several_tracks(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, "");
	/* Up to the track's end, head switch, sector 0 comes a turn later. */
	assert_int_equal(took(&f, MDE_READ, 90, 20), TURN + TURN + 10 * SECTOR);
	end(&f);
	/* With a skew of 5 sectors the head just makes it: 5 * 60 = 300. */
	begin(&f, "fbdrive 1\nperiod_ps 6000000000\nheads 2\n"
	      "zone 0 99 100 0 0.05 0.2 200\nseek 1 1000000\n"
	      "head_switch_ns 300000\n" MDU_QUIET);
	assert_int_equal(took(&f, MDE_READ, 90, 20), TURN + 15 * SECTOR);
	end(&f);
}

/*
 * Seen to fail: the ceiling in mde_rotate() replaced by a floor (a sector that
 * the head is already in the middle of would count as read).
 */
static void test_zero_latency(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, "zero_latency on\n");
	/* Into the middle of sector 0 of 0..49: from 1 on, then 0. */
	mde_place_head(&f.e, 0, 0, f.now, 1ULL << 55);
	assert_true(llabs((long long)took(&f, MDE_READ, 0, 50) -
			  (long long)(TURN + SECTOR - TURN / 512)) <= 2);
	/* Exactly one turn if the head is at a sector's edge. */
	mde_place_head(&f.e, 0, 0, f.now, 0);
	assert_int_equal(took(&f, MDE_WRITE, 0, 100), TURN);
	mde_place_head(&f.e, 0, 0, f.now, 1ULL << 63);
	assert_int_equal(took(&f, MDE_READ, 0, 100), TURN);
	/* In the last sector of the range there is nothing left to start on. */
	mde_place_head(&f.e, 0, 0, f.now, 1ULL << 55);
	assert_true(llabs((long long)took(&f, MDE_READ, 0, 1) -
			  (long long)(TURN + SECTOR - TURN / 512)) <= 2);
	/* Before the range: as without. */
	mde_place_head(&f.e, 0, 0, f.now, 0);
	assert_int_equal(took(&f, MDE_READ, 10, 5), 900 * US);
	end(&f);
}

static void test_overhead(void **state)
{
	struct fixture f;
	int a, b;

	(void)state;
	begin(&f, "command_overhead_ns 590000 610000\n");
	/* Ready at 590 us: sector 10 still comes; at 610 it has gone. */
	assert_int_equal(took(&f, MDE_READ, 10, 1), 11 * SECTOR);
	mde_place_head(&f.e, 0, 0, f.now, 0);
	assert_int_equal(took(&f, MDE_WRITE, 10, 1), TURN + 11 * SECTOR);
	/* Behind another command it is hidden. */
	mde_place_head(&f.e, 0, 0, f.now, 0);
	a = mde_submit(&f.e, f.now, MDE_READ, 50, 1, 0);
	b = mde_submit(&f.e, f.now + US, MDE_WRITE, 51, 1, 0);
	assert_int_equal(mdu_finish(&f.e, &f.now), a);
	mde_release(&f.e, a);
	assert_int_equal(mdu_finish(&f.e, &f.now), b);
	assert_int_equal(f.e.slot[b].started, f.e.slot[a].media_end);
	assert_int_equal(f.e.slot[b].media_end - f.e.slot[a].media_end,
			 SECTOR * 1000);
	end(&f);
}

static void test_bus(void **state)
{
	struct fixture f;

	(void)state;
	/* Faster than the medium: one sector after the last was read. */
	begin(&f, "bus_ns 10000\n");
	assert_int_equal(took(&f, MDE_READ, 10, 5), 910 * US);
	/* A write's 10 sectors are there after 100 us, in time for sector 20. */
	mde_place_head(&f.e, 0, 0, f.now, 0);
	assert_int_equal(took(&f, MDE_WRITE, 20, 10), 30 * SECTOR);
	/* VERIFY transfers nothing. */
	mde_place_head(&f.e, 0, 0, f.now, 0);
	assert_int_equal(took(&f, MDE_VERIFY, 10, 5), 900 * US);
	end(&f);
	/* Slower: all sectors, from the first one read on. */
	begin(&f, "bus_ns 100000\n");
	assert_int_equal(took(&f, MDE_READ, 10, 5), (660 + 500) * US);
	/* Each of 10 sectors is there in time if the first passes after 460 us. */
	mde_place_head(&f.e, 0, 0, f.now, 0);
	assert_int_equal(took(&f, MDE_WRITE, 8, 10), 18 * SECTOR);
	mde_place_head(&f.e, 0, 0, f.now, 0);
	assert_int_equal(took(&f, MDE_WRITE, 7, 10), TURN + 17 * SECTOR);
	end(&f);
}

/* The medium is free before the report; the next command uses that. */
static void test_report(void **state)
{
	struct fixture f;
	struct mde_slot s;
	u64 lo = U64_MAX, hi = 0, last = 0, sum = 0;
	int i;

	(void)state;
	begin(&f, "jitter_ns 100000\ncompletion_overhead_ns 40000\n");
	for (i = 0; i < 2000; i++) {
		u64 late;

		s = mdu_run(&f.e, &f.now, MDE_READ, 10, 1);
		late = s.report - s.media_end;
		lo = min(lo, late);
		hi = max(hi, late);
		sum += late;
		assert_true(s.report >= last);
		last = s.report;
	}
	assert_in_range(lo, 40000000, 41000000);
	assert_in_range(hi, 139000000, 140000000);
	assert_in_range(sum / 2000, 88000000, 92000000);
	end(&f);
}

static void spread(const char *records, double *mean, double *sd, double *worst)
{
	struct fixture f;
	double sum = 0, sum2 = 0;
	int i, n = 40000;

	begin(&f, records);
	*worst = 0;
	for (i = 0; i < n; i++) {
		double us;

		mde_stats_reset(&f.e);
		mdu_run(&f.e, &f.now, MDE_VERIFY, (i % 2 ? 0 : 60) * CYLINDER,
			1);
		/* 60 cylinders: 6900 us. */
		us = f.e.stats.seek_ps / 1e6 - 6900;
		sum += us;
		sum2 += us * us;
		*worst = fmax(*worst, fabs(us));
	}
	*mean = sum / n;
	*sd = sqrt(sum2 / n - *mean * *mean);
	end(&f);
}

/* Seen to fail: MDE_SQRT_HALF_Q16 left out (sd 170). */
static void test_noise(void **state)
{
	double mean, sd, worst;

	(void)state;
	spread("noise off\n", &mean, &sd, &worst);
	assert_true(worst < 0.001);
	spread("noise laplace 120000\n", &mean, &sd, &worst);
	print_message("laplace: mean %.2f sd %.2f worst %.0f us\n", mean, sd, worst);
	assert_true(fabs(mean) < 3 && fabs(sd - 120) < 3);
	/* P(|x| > 6 sd) = exp(-8.49): 8 of 40000. */
	assert_true(worst > 720 && worst < 2500);
	spread("noise gauss 120000\n", &mean, &sd, &worst);
	print_message("gauss: mean %.2f sd %.2f worst %.0f us\n", mean, sd, worst);
	assert_true(fabs(mean) < 3 && fabs(sd - 120) < 3);
	assert_true(worst > 360 && worst < 720);
	/* One in a hundred, 1 ms: mean 10, sd 99.5. */
	spread("outliers 10000 1000000\n", &mean, &sd, &worst);
	assert_true(fabs(mean - 10) < 2 && fabs(sd - 99.5) < 10);
}

/* Noise never makes a seek shorter than nothing, nor moves a head switch. */
static void test_noise_bounds(void **state)
{
	struct fixture f;
	int i;

	(void)state;
	begin(&f, "noise laplace 10000000\n");
	for (i = 0; i < 2000; i++) {
		struct mde_slot s = mdu_run(&f.e, &f.now, MDE_READ,
					    (i % 2) * CYLINDER, 1);

		assert_true(s.media_end > s.started);
	}
	mde_stats_reset(&f.e);
	mdu_run(&f.e, &f.now, MDE_READ, 10, 1);
	mde_stats_reset(&f.e);
	mdu_run(&f.e, &f.now, MDE_READ, TRACK, 1);
	assert_int_equal(f.e.stats.seek_ps, 300000000);
	end(&f);
}

static void test_rpm_error(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, "rpm_error_ppm 10000\n");
	took(&f, MDE_READ, 0, 1);
	assert_in_range(took(&f, MDE_READ, 0, 1), TURN / 1.01 - 1,
			TURN / 1.01 + 2);
	end(&f);
	begin(&f, "rpm_error_ppm -10000\n");
	took(&f, MDE_READ, 0, 1);
	assert_in_range(took(&f, MDE_READ, 0, 1), TURN / 0.99 - 1,
			TURN / 0.99 + 2);
	end(&f);
}

static void test_full(void **state)
{
	struct fixture f;
	int i, slot;

	(void)state;
	begin(&f, "");
	for (i = 0; i < MDE_SLOTS; i++)
		assert_true(mde_submit(&f.e, f.now, MDE_READ, i, 1, 0) >= 0);
	assert_int_equal(mde_submit(&f.e, f.now, MDE_READ, 99, 1, 0), -EBUSY);
	slot = mdu_finish(&f.e, &f.now);
	mde_release(&f.e, slot);
	assert_int_equal(mde_submit(&f.e, f.now, MDE_READ, 99, 1, 0), slot);
	assert_int_equal(f.e.stats.max_outstanding, MDE_SLOTS);
	end(&f);
}

/* Taking commands back, as the host's error handler does. */
static void test_release(void **state)
{
	struct fixture f;
	int a, b, c;

	(void)state;
	begin(&f, "firmware fcfs\n");
	a = mde_submit(&f.e, f.now, MDE_READ, 10, 1, 0);
	b = mde_submit(&f.e, f.now, MDE_READ, 20, 1, 0);
	c = mde_submit(&f.e, f.now, MDE_READ, 30, 1, 0);
	mde_advance(&f.e, f.now);
	assert_int_equal(mde_started(&f.e), a);
	assert_int_equal(mde_started(&f.e), -1);
	mde_release(&f.e, b);
	mde_release(&f.e, a);
	/* a's mechanics went on; b was never served. */
	assert_int_equal(mdu_finish(&f.e, &f.now), c);
	assert_int_equal(ns(f.e.slot[c].started), 11 * SECTOR);
	mde_release(&f.e, c);
	assert_int_equal(f.e.stats.reads, 2);
	assert_int_equal(f.e.outstanding, 0);
	assert_true(mde_next_event(&f.e) == MDE_NEVER);
	end(&f);
}

static void test_bad_sectors(void **state)
{
	struct fixture f;
	struct mde_slot s;

	(void)state;
	begin(&f, "medium_error 15 2 asc=15 recovery_ms=100 times=2 info=0\n");
	/* Up to and with sector 15, then 100 ms. */
	s = mdu_run(&f.e, &f.now, MDE_READ, 10, 20);
	assert_int_equal(s.good, 5);
	assert_int_equal(s.asc, 0x15);
	assert_false(s.info);
	assert_int_equal(ns(s.media_end - s.started),
			 16 * SECTOR + 100000 * US);
	/* The first sector wanted is bad: nothing is good. */
	s = mdu_run(&f.e, &f.now, MDE_VERIFY, 16, 1);
	assert_int_equal(s.good, 0);
	assert_int_equal(s.asc, 0x15);
	/* Twice was enough. */
	s = mdu_run(&f.e, &f.now, MDE_READ, 10, 20);
	assert_int_equal(s.good, 20);
	assert_int_equal(s.asc, 0);
	assert_int_equal(f.e.stats.medium_errors, 2);
	end(&f);
}

/* The drive gives a sector up when its limit is over. */
static void test_recovery_limit(void **state)
{
	struct fixture f;
	struct mde_slot s;

	(void)state;
	begin(&f, "medium_error 15 1 recovery_ms=100\nrecovery_limit_ms 60\n");
	s = mdu_run(&f.e, &f.now, MDE_READ, 10, 20);
	assert_int_equal(ns(s.media_end - s.started), 16 * SECTOR + 60000 * US);
	end(&f);
	begin(&f, "medium_error 15 1 recovery_ms=8000\nrecovery_control off\n");
	s = mdu_run(&f.e, &f.now, MDE_READ, 10, 20);
	assert_int_equal(ns(s.media_end - s.started), 16 * SECTOR + 8000000ULL * US);
	end(&f);
}

static u32 good(struct fixture *f, u64 lbn, u32 count)
{
	return mdu_run(&f->e, &f->now, MDE_READ, lbn, count).good;
}

static void test_healing(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, "medium_error 10 10 recovery_ms=0\n");
	/* A write succeeds and heals what it covers: the middle. */
	assert_int_equal(mdu_run(&f.e, &f.now, MDE_WRITE, 13, 4).good, 4);
	assert_int_equal(good(&f, 5, 20), 5);
	assert_int_equal(good(&f, 13, 10), 4);
	assert_int_equal(good(&f, 20, 10), 10);
	/* The left part's end, then its rest. */
	mdu_run(&f.e, &f.now, MDE_WRITE, 12, 2);
	assert_int_equal(good(&f, 12, 10), 5);
	mdu_run(&f.e, &f.now, MDE_WRITE, 0, 12);
	assert_int_equal(good(&f, 0, 30), 17);
	/* The right part's start, then all. */
	mdu_run(&f.e, &f.now, MDE_WRITE, 16, 2);
	assert_int_equal(good(&f, 0, 30), 18);
	mdu_run(&f.e, &f.now, MDE_WRITE, 0, 50);
	assert_int_equal(good(&f, 0, 30), 30);
	end(&f);

	begin(&f, "medium_error 10 10 recovery_ms=0\nheal_on_write off\n");
	assert_int_equal(mdu_run(&f.e, &f.now, MDE_WRITE, 0, 50).asc, 0);
	assert_int_equal(good(&f, 0, 30), 10);
	end(&f);
}

static void test_bad_limit(void **state)
{
	struct mde_bad bad = { .lbn = 5, .count = 1, .times = MDE_ALWAYS };
	struct fixture f;
	int i;

	(void)state;
	begin(&f, "");
	for (i = 0; i < MDE_BAD_MAX; i++)
		assert_int_equal(mde_bad_add(&f.e, &bad), 0);
	assert_int_equal(mde_bad_add(&f.e, &bad), -ENOSPC);
	mde_bad_clear(&f.e);
	assert_int_equal(good(&f, 0, 10), 10);
	end(&f);
}

/* A slip inside a transfer passes like any sector; a remap costs the detour. */
static void test_slip_and_remap(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, "slip 0 12\n");
	assert_int_equal(took(&f, MDE_READ, 10, 5), 16 * SECTOR);
	end(&f);
	/* Sector 12 lives at 19950: cylinder 99, head 1, sector 50. */
	begin(&f, "remap 0 12 19950\n");
	/*
	 * 10, 11; 10.8 ms to 50: at 11520 us sector 92 is near, so 50 begins
	 * at 15000; back at 15060 + 10800 = 25860, 13 begins at 30780.
	 */
	assert_int_equal(took(&f, MDE_READ, 10, 5), (30780 + 120) * US);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rotation),
		cmocka_unit_test(test_moves),
		cmocka_unit_test(test_several_tracks),
		cmocka_unit_test(test_zero_latency),
		cmocka_unit_test(test_overhead),
		cmocka_unit_test(test_bus),
		cmocka_unit_test(test_report),
		cmocka_unit_test(test_noise),
		cmocka_unit_test(test_noise_bounds),
		cmocka_unit_test(test_rpm_error),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_release),
		cmocka_unit_test(test_bad_sectors),
		cmocka_unit_test(test_recovery_limit),
		cmocka_unit_test(test_healing),
		cmocka_unit_test(test_bad_limit),
		cmocka_unit_test(test_slip_and_remap),
	};

	return cmocka_run_group_tests_name("mechdisk engine", tests, NULL,
					   NULL);
}
