// SPDX-License-Identifier: GPL-2.0
/*
 * When the phase is given up, against synthetic drives: reads end where a platter of a known speed
 * has their last sector under the head, or anywhere, or at once. Expectations come from
 * core/phase.h; that each case holds for all seeds, from the distance of their shares: one read in
 * twelve fits by chance, nine in ten and more of the model's drive.
 *
 * Planted bugs, each seen to fail: never given up (test_wrong_speed, test_cache,
 * test_lost, test_landed, test_pauses); reads compared with the one before (test_wrong_speed: 4000
 * ppm), or all with the oldest (there, too: 25000 ppm); a cache's answers compared like others
 * (test_true: with a cache); short ones not counted (test_cache); a share of all seen only
 * (test_lost); time from when a read was sent (test_others); long reads of a zero-latency drive
 * compared (test_landed); the pause not doubled, and not reset (test_pauses).
 */
#include "core/phase.h"
#include "support.h"

/* 6 ms per turn; tracks of 400 sectors */
#define DISK(zero_latency) \
	"fbmodel 1\nvendor TEST\nproduct SMALL\nsectors 36000\ncylinders 30\nheads 3\n" \
	"head_order plain\nperiod_ps 6000000000\nhead_switch_ns 200000\nwrite_settle_ns 400000\n" \
	"zero_latency " zero_latency "\nread_report_ns 150000\nwrite_report_ns 80000\n" \
	"seek 1 700000\nseek 29 1600000\n" \
	"zone 0 29 spt 400 angle 0 track_skew 0.11 cyl_skew 0.3 dead 0 spares 0\n"

#define SECTORS 36000
#define TURN_NS 6000000ULL
#define SEC 1000000000ULL
#define SEEDS 24
#define VERDICT (FB_PHASE_READS + FB_PHASE_READS / 8)	/* some are short, by chance */

/* a drive, and what is learnt of it */
static struct rig {
	struct rnd r;	/* random numbers */
	struct disk_model *dm;	/* the model */
	struct fb_phase p;	/* tested */
	u64 now;	/* when the last read ended, ns */
	s64 ppm;	/* how much longer a turn of the drive takes than the model says */
	u64 jitter_ns;	/* reports are late by 0 .. this */
	u32 cached_pct;	/* reads that its cache answers */
	u32 odd_pct;	/* reads that end anywhere */
	u64 think_ns;	/* time before each read */
	u32 nsect;	/* sectors of a read */
} rig;

static void begin(u64 seed, const char *text)
{
	dm_free(rig.dm);
	rig = (struct rig) { .r = { seed }, .now = 1000 * SEC, .jitter_ns = 60000, .nsect = 8 };
	rig.dm = support_model_text(text);
	fb_phase_init(&rig.p);
}

int setup(void **state)
{
	begin(1, DISK("no"));
	return 0;
}

int teardown(void **state)
{
	dm_free(rig.dm);
	rig.dm = NULL;
	return 0;
}

/* the time at or after @ns at which the drive has the angle under its head */
static u64 passes(u64 ns, u32 angle)
{
	long double turn = TURN_NS * (1 + rig.ppm / 1e6L);
	long double at = ns / turn, want = angle / 4294967296.0L;
	long double whole = (u64)at;

	return (u64)((whole + want + (want < at - whole)) * turn) + 1;
}

/* one read; true: the phase was given up */
static bool one(void)
{
	struct fb_phase_read read = {
		.lbn = rnd_below(&rig.r, SECTORS - rig.nsect), .nsect = rig.nsect,
		.sent_ns = rig.now + rig.think_ns,
	};
	u64 moved_ns = read.sent_ns + 500000 + rnd_below(&rig.r, 1000000);
	struct dm_access acc;
	struct dm_place last;

	assert_int_equal(dm_place_of(rig.dm, read.lbn + read.nsect - 1, &last), 0);
	assert_int_equal(dm_access(rig.dm, &last, read.lbn + read.nsect - 1, 1, false, &acc), 0);
	read.end_ns = passes(moved_ns + read.nsect * TURN_NS / 400, acc.end.angle);
	if (rnd_below(&rig.r, 100) < rig.odd_pct)
		read.end_ns = read.end_ns + rnd_below(&rig.r, TURN_NS);
	if (rnd_below(&rig.r, 100) < rig.cached_pct)
		read.end_ns = read.sent_ns + 200000;
	read.end_ns += 150000 + rnd_below(&rig.r, rig.jitter_ns);
	rig.now = read.end_ns;
	return fb_phase_read(&rig.p, rig.dm, &read);
}

/* reads until it is given up; @most: it was not */
static u32 reads(u32 most)
{
	u32 n;

	for (n = 0; n < most && !one(); n++)
		;
	return n;
}

/* The model's drive: never, with a cache, at another temperature, seldom used, read ten times. */
TEST(test_true)
{
	static const struct { s64 ppm; u32 cached_pct, odd_pct; u64 think_ns; } drives[] = {
		{ 0, 0, 0, 0 }, { 500, 0, 0, 0 }, { -500, 0, 5, 0 }, { 100, 50, 0, 0 },
		{ 0, 70, 5, 0 }, { 0, 90, 0, 0 }, { 50, 0, 10, 50000000 }, { 0, 0, 20, 0 },
		{ 300, 20, 5, 2000000000 },
	};
	u32 i, seed;

	for (i = 0; i < ARRAY_SIZE(drives); i++)
		for (seed = 1; seed <= SEEDS; seed++) {
			begin(seed, DISK("no"));

			rig.ppm = drives[i].ppm;
			rig.cached_pct = drives[i].cached_pct;
			rig.odd_pct = drives[i].odd_pct;
			rig.think_ns = drives[i].think_ns;
			assert_int_equal(reads(20 * VERDICT), 20 * VERDICT);
			assert_true(fb_phase_on(&rig.p, rig.now));
		}
}

/*
 * A drive of another speed: by the first verdict, from where the head can find a phase no more
 * (3500 ppm) to 7200 turns a minute that should be 5400.
 */
TEST(test_wrong_speed)
{
	static const s64 ppm[] = { 4000, -4000, 25000, 50000, -166667, 250000 };
	u32 i, seed;

	for (i = 0; i < ARRAY_SIZE(ppm); i++)
		for (seed = 1; seed <= SEEDS; seed++) {
			begin(seed, DISK("no"));

			rig.ppm = ppm[i];
			assert_in_range(reads(4 * VERDICT), FB_PHASE_READS, VERDICT);
			assert_false(fb_phase_on(&rig.p, rig.now));
		}
}

/* A disk without mechanics, all answers at once; it takes more of them. */
TEST(test_cache)
{
	rig.cached_pct = 100;
	assert_int_equal(reads(10 * FB_PHASE_SHORT * FB_PHASE_READS),
			 FB_PHASE_SHORT * FB_PHASE_READS - 1);
}

/* A drive that is the model's for a while and then is not, again and again. */
TEST(test_lost)
{
	u32 seed, n;

	for (seed = 1; seed <= SEEDS; seed++) {
		begin(seed, DISK("no"));
		bool over = false;

		for (n = 0; n < VERDICT && !over; n++) {
			rig.odd_pct = n % 32 < 18 ? 0 : 100;
			over = one();
		}
		assert_true(over);
		assert_true(n >= FB_PHASE_READS);
	}
}

/* Reads of whole tracks end where the head has landed, if it may begin in their middle. */
TEST(test_landed)
{
	begin(1, DISK("yes"));

	rig.odd_pct = 100;
	rig.nsect = 51;
	assert_int_equal(reads(4 * VERDICT), 4 * VERDICT);
	rig.nsect = 50;
	assert_true(reads(4 * VERDICT) <= VERDICT);
}

/* A pause doubles, up to an hour; a verdict that the phase is there ends that. */
TEST(test_pauses)
{
	u64 pause_ns = FB_PAUSE_NS;
	u32 i;

	rig.odd_pct = 100;
	for (i = 1; i < 9; i++) {
		assert_true(reads(4 * VERDICT) <= VERDICT);
		assert_int_equal(rig.p.given_up, i);
		/* nothing is learnt meanwhile */
		assert_false(one());
		assert_false(fb_phase_on(&rig.p, rig.now));
		rig.now = rig.p.off_until_ns;
		assert_false(fb_phase_on(&rig.p, rig.now - 1));
		assert_true(fb_phase_on(&rig.p, rig.now));
		pause_ns = min(2 * pause_ns, FB_PAUSE_MAX_NS);
		assert_int_equal(rig.p.pause_ns, pause_ns);
	}
	assert_int_equal(pause_ns, FB_PAUSE_MAX_NS);
	rig.odd_pct = 0;
	assert_int_equal(reads(VERDICT), VERDICT);
	assert_int_equal(rig.p.pause_ns, FB_PAUSE_NS);
	assert_int_equal(rig.p.given_up, 0);
}

/* A read that waited for a command of another kind is not measured from when it was sent. */
TEST(test_others)
{
	struct fb_phase_read read = { .nsect = 8, .sent_ns = SEC };

	fb_phase_other(&rig.p, SEC + TURN_NS);
	fb_phase_other(&rig.p, SEC);
	read.end_ns = SEC + TURN_NS + TURN_NS / 8 - 1;
	assert_false(fb_phase_read(&rig.p, rig.dm, &read));
	assert_int_equal(rig.p.seen, 1);
	assert_int_equal(rig.p.marks, 0);
	read.end_ns += TURN_NS / 8;
	assert_false(fb_phase_read(&rig.p, rig.dm, &read));
	assert_int_equal(rig.p.marks, 1);
}
