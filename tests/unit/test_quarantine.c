// SPDX-License-Identifier: GPL-2.0
/*
 * Bad blocks, doubt and quarantine: what a read that is back says of the medium, and what
 * is kept from gaps for it. Expectations come from core/quarantine.h.
 *
 * As it once was, each seen to fail: any error makes a zone (test_passing); a block that failed by
 * itself once is bad (test_alone); zones that never end (test_expire); the 33rd takes in all
 * between (test_many); each bad block has a uevent (test_told); the next pass forgets what was
 * proven, or reads it at once (test_known), or takes what the medium lost as in doubt
 * (test_known_otherwise); the drive's name for a sector is ignored (test_named); on a careful disk
 * a block has to fail alone twice, doubt does not wait, no third error stops (test_careful); no row
 * of errors does (test_stop).
 */
#include <string.h>

#include "core/quarantine.h"
#include "support.h"

#define GRANULE 8U
#define SECTORS 1073741824ULL
#define SIDE 2048ULL	/* FB_QUARANTINE_KIB in sectors */
#define S 1000000000ULL
/* a block that proves bad */
#define FOUND (FB_QUARANTINE_KNOWN | FB_QUARANTINE_NEW | FB_QUARANTINE_REPORT)

static struct fb_quarantine bad;
static struct fb_bitmap bm;
static u64 now;
static struct fb_plan_piece piece;
static struct fb_plan plan;

int setup(void **state)
{
	memset(&bad, 0, sizeof(bad));
	fb_quarantine_init(&bad);
	fb_quarantine_begin(&bad, GRANULE, SECTORS, false);
	now = 100 * S;
	return fb_bitmap_init(&bm, SECTORS / GRANULE, 1);
}

/* another disk of the careful kind, at the same time */
static void setup_again(void)
{
	memset(&bad, 0, sizeof(bad));
	fb_quarantine_init(&bad);
	fb_quarantine_begin(&bad, GRANULE, SECTORS, true);
}

int teardown(void **state)
{
	fb_bitmap_destroy(&bm);
	return 0;
}

static u32 ended(u64 lbn, u32 nsect, u32 good, bool medium)
{
	const struct fb_quarantine_read read = {
		.lbn = lbn, .nsect = nsect, .good = good, .failed = good < nsect,
		.medium = medium, .took_ns = S / 50,
	};

	return fb_quarantine_ended(&bad, &read, now);
}

/* the next idle read has at most @most sectors, and is this */
static void idle_reads(u32 most, u64 lbn, u32 nsect)
{
	assert_true(fb_quarantine_idle(&bad, &bm, now, most, &piece));
	assert_int_equal(piece.lbn, lbn);
	assert_int_equal(piece.nsect, nsect);
}

/* what may pass (unit attention, time-out, link) makes no zone, and is read again alone */
TEST(test_passing)
{
	fb_bitmap_want(&bm, 1000, 64, 0);
	assert_int_equal(ended(8000, 512, 0, false), 0);
	assert_int_equal(bad.zones, 0);
	assert_true(fb_quarantine_doubts(&bad, 8504, 8));
	assert_false(fb_quarantine_idle(&bad, &bm, now, 512, &piece));
	now += 6 * S;
	idle_reads(512, 8000, GRANULE);
	assert_int_equal(ended(8000, 8, 8, false), 0);
	fb_bitmap_unwant(&bm, 1000, 1, 0);
	assert_true(fb_quarantine_idle(&bad, &bm, now, 512, &piece));
	assert_int_equal(piece.lbn, 8008);
	assert_int_equal(bad.total + bad.zones, 0);
}

/* a block is bad without the drive's word when it has failed by itself twice */
TEST(test_alone)
{
	assert_int_equal(ended(8000, 512, 0, false), 0);
	assert_int_equal(ended(8000, 8, 0, false), 0);
	assert_int_equal(bad.zones, 0);
	/* others do not count for it */
	assert_int_equal(ended(8008, 8, 0, false), 0);
	assert_int_equal(ended(8000, 8, 0, false), FOUND);
	assert_int_equal(bad.zones, 1);
	assert_int_equal(bad.list[0].lbn, 8000);
	assert_int_equal(bad.list[0].times, 1);
	/* what has been read in between has not failed twice */
	assert_int_equal(ended(300000, 8, 0, false), 0);
	assert_int_equal(ended(300000, 8, 8, false), 0);
	assert_int_equal(ended(300000, 8, 0, false), 0);
	/* named by the drive, the second time by itself */
	assert_int_equal(ended(90000, 64, 20, false), 0);
	assert_int_equal(ended(90016, 8, 0, false), FOUND);
}

/* the drive's word is enough, once the place is known */
TEST(test_medium)
{
	const struct fb_avoid *z;

	assert_int_equal(ended(80000, 512, 100, true), FOUND);
	z = fb_quarantine_zone(&bad, 80096, 8);
	assert_non_null(z);
	assert_int_equal(z->first, 80096 - SIDE);
	assert_int_equal(z->end, 80104 + SIDE);
	assert_int_equal(fb_quarantine_quarantined(&bad), 2 * SIDE + GRANULE);
	assert_int_equal(ended(80000, 512, 100, true), FB_QUARANTINE_KNOWN);
	assert_int_equal(ended(160000, 512, 0, true), 0);
	assert_int_equal(bad.zones, 2);
	assert_int_equal(bad.total, 1);
	/* they meet: one */
	assert_int_equal(ended(83000, 8, 0, true), FOUND);
	assert_int_equal(bad.zones, 2);
	assert_int_equal(fb_quarantine_zone(&bad, 80096, 8)->end, 83008 + SIDE);
}

/* a zone ends a day after its last error */
TEST(test_expire)
{
	ended(80000, 8, 0, true);
	now += FB_QUARANTINE_ZONE_NS / 2;
	ended(900000, 8, 0, true);
	now += FB_QUARANTINE_ZONE_NS / 2 - 1;
	fb_quarantine_expire(&bad, now);
	assert_int_equal(bad.zones, 2);
	fb_quarantine_expire(&bad, now + 1);
	assert_int_equal(bad.zones, 1);
	assert_null(fb_quarantine_zone(&bad, 80000, 8));
	assert_non_null(fb_quarantine_zone(&bad, 900000, 8));
	ended(900000, 8, 0, true);
	fb_quarantine_expire(&bad, now + FB_QUARANTINE_ZONE_NS / 2 + 1);
	assert_int_equal(bad.zones, 1);
	fb_quarantine_expire(&bad, now + FB_QUARANTINE_ZONE_NS);
	assert_int_equal(bad.zones, 0);
}

/* more zones than there is room for: never more of the disk than they are, and it is told */
TEST(test_many)
{
	u32 i;

	for (i = 0; i < FB_QUARANTINE_ZONES; i++, now += S)
		assert_int_equal(ended((i + 1) * 1000000, 8, 0, true) & FB_QUARANTINE_DROPPED, 0);
	assert_int_equal(fb_quarantine_quarantined(&bad), FB_QUARANTINE_ZONES *
			 (2 * SIDE + GRANULE));
	/* the first is no longer the oldest */
	ended(1000000, 8, 0, true);
	assert_int_equal(ended(500000000, 8, 0, true) & FB_QUARANTINE_DROPPED,
			 FB_QUARANTINE_DROPPED);
	assert_int_equal(bad.zones, FB_QUARANTINE_ZONES);
	assert_int_equal(fb_quarantine_quarantined(&bad), FB_QUARANTINE_ZONES *
			 (2 * SIDE + GRANULE));
	assert_non_null(fb_quarantine_zone(&bad, 1000000, 8));
	assert_null(fb_quarantine_zone(&bad, 2000000, 8));
	assert_non_null(fb_quarantine_zone(&bad, 500000000, 8));
}

/* sixteen a minute are told one by one, the rest as a number */
TEST(test_told)
{
	u32 i, told = 0;

	for (i = 0; i < 100; i++)
		told += !!(ended(i * 8, 8, 0, true) & FB_QUARANTINE_REPORT);
	assert_int_equal(told, FB_QUARANTINE_REPORTED);
	assert_int_equal(bad.total, 100);
	assert_int_equal(fb_quarantine_unreported(&bad, now, false), 0);
	now += FB_QUARANTINE_REPORTED_NS;
	assert_int_equal(fb_quarantine_unreported(&bad, now, false), 100 - FB_QUARANTINE_REPORTED);
	assert_int_equal(fb_quarantine_unreported(&bad, now, true), 0);
	assert_int_equal(ended(8000000, 8, 0, true), FOUND);
}

/* three slow ones in a row are an alarm, a good read of a zone ends the row */
TEST(test_slow)
{
	struct fb_quarantine_read read = {
		.nsect = 8, .failed = true, .medium = true, .took_ns = 2 * S,
	};
	u32 i, alarms = 0;

	for (i = 0; i < 7; i++) {
		read.lbn = 80000 + i * 8;
		alarms += !!(fb_quarantine_ended(&bad, &read, now) & FB_QUARANTINE_ALARM);
		if (i == 4)
			ended(80800, 8, 8, false);
	}
	assert_int_equal(alarms, 1);
	assert_int_equal(bad.alarms, 1);
	fb_bitmap_want(&bm, 10000, 100, 0);
	assert_false(fb_quarantine_idle(&bad, &bm, now + 59 * S, 512,
					(struct fb_plan_piece[1]) {}));
	assert_true(fb_quarantine_idle(&bad, &bm, now + 60 * S, 512, (struct fb_plan_piece[1]) {}));
}

/* zones are whole blocks: they stay while blocks have one size; doubt goes when tasks begin */
TEST(test_begin)
{
	ended(80000, 8, 0, true);
	ended(160000, 512, 0, false);
	fb_quarantine_begin(&bad, GRANULE, SECTORS, false);
	assert_int_equal(bad.zones, 1);
	assert_false(fb_quarantine_doubts(&bad, 160000, 512));
	fb_quarantine_begin(&bad, 2 * GRANULE, SECTORS, false);
	assert_int_equal(bad.zones, 0);
}

/* a zone is cut off at the ends of the disk, and is whole blocks elsewhere */
TEST(test_zone_ends)
{
	fb_quarantine_begin(&bad, GRANULE, SECTORS - 3, false);
	ended(800, 8, 0, true);
	assert_int_equal(bad.zone[0].first, 0);
	assert_int_equal(bad.zone[0].end, 808 + SIDE);
	ended(SECTORS - 8, 5, 0, true);
	assert_int_equal(bad.zone[1].first, SECTORS - 8 - SIDE);
	assert_int_equal(bad.zone[1].end, SECTORS - 3);
	bad.quarantine_kib = 1;
	ended(80000, 8, 0, true);
	assert_int_equal(bad.zone[2].first, 80000 - GRANULE);
	assert_int_equal(bad.zone[2].end, 80008 + GRANULE);
	assert_null(fb_quarantine_zone(&bad, 80000 - 2 * GRANULE, GRANULE));
	assert_null(fb_quarantine_zone(&bad, 80008 + GRANULE, GRANULE));
	bad.quarantine_kib = 0;
	assert_int_equal(ended(800000, 8, 0, true), FOUND);
	assert_int_equal(bad.zones, 3);
}

/* of several zones that sectors meet, the first on the disk is meant, however they came */
TEST(test_first_zone)
{
	ended(80000, 8, 0, true);
	ended(90000, 8, 0, true);
	ended(70000, 8, 0, true);
	assert_int_equal(fb_quarantine_zone(&bad, 0, 100000)->first, 70000 - SIDE);
	assert_int_equal(fb_quarantine_zone(&bad, 75000, 100000)->first, 80000 - SIDE);
}

/* a plan with these pieces, the second if it has any sectors; is anything of it left? */
static bool cut(enum fb_plan_kind kind, u64 lbn, u32 nsect, u64 lbn2, u32 nsect2)
{
	plan = (struct fb_plan) {
		.kind = kind, .npieces = nsect2 ? 2 : 1, .wanted = 1000,
		.piece = { { lbn, nsect }, { lbn2, nsect2 } },
	};
	return fb_quarantine_cut(&bad, &bm, now, &plan);
}

/* no gap's read touches a zone; what is far from all trouble stays as it was */
TEST(test_cut_zone)
{
	ended(80000, 8, 0, true);
	now += 10 * S;
	assert_false(cut(FB_PLAN_PREPEND, 80008 + SIDE - 8, 64, 0, 0));
	assert_true(cut(FB_PLAN_PREPEND, 80008 + SIDE, 64, 0, 0));
	assert_false(cut(FB_PLAN_SEPARATE, 90000, 64, 80000, 64));
	assert_true(cut(FB_PLAN_BOTH, 90000, 64, 70000, 64));
	assert_int_equal(plan.kind, FB_PLAN_BOTH);
	assert_int_equal(plan.npieces, 2);
	assert_int_equal(plan.piece[0].nsect, 64);
	assert_int_equal(plan.wanted, 1000);
}

/* a gap's read ends before what is in doubt; a block of that is read alone, every five seconds */
TEST(test_cut_doubt)
{
	fb_bitmap_want(&bm, 0, 100000, 0);
	ended(80000, 64, 0, false);
	fb_quarantine_sent(&bad, 80000, 64, now);
	now += 1;
	assert_true(cut(FB_PLAN_SEPARATE, 79968, 64, 0, 0));
	assert_int_equal(plan.piece[0].lbn, 79968);
	assert_int_equal(plan.piece[0].nsect, 32);
	assert_int_equal(plan.wanted, 4);
	/* it would no longer end where the foreground begins */
	assert_false(cut(FB_PLAN_PREPEND, 79968, 64, 0, 0));
	/* only the first piece is kept, as a command of its own */
	assert_true(cut(FB_PLAN_BOTH, 79968, 32, 80000, 64));
	assert_int_equal(plan.kind, FB_PLAN_SEPARATE);
	assert_int_equal(plan.npieces, 1);
	assert_int_equal(plan.piece[0].nsect, 32);

	assert_false(cut(FB_PLAN_SEPARATE, 80000, 64, 0, 0));
	/* a read of something else does not count */
	fb_quarantine_sent(&bad, 80064, 8, now);
	now += 5 * S - 2;
	assert_false(cut(FB_PLAN_SEPARATE, 80000, 64, 0, 0));
	now++;
	assert_true(cut(FB_PLAN_SEPARATE, 80008, 56, 0, 0));
	assert_int_equal(plan.piece[0].lbn, 80008);
	assert_int_equal(plan.piece[0].nsect, GRANULE);
	assert_int_equal(plan.wanted, 1);
	fb_quarantine_sent(&bad, 80008, GRANULE, now);
	assert_false(cut(FB_PLAN_SEPARATE, 80000, 64, 0, 0));
}

/* with more doubts than are remembered, any read may meet one: all wait after a failure */
TEST(test_cut_forgotten)
{
	u32 i;

	for (i = 0; i < FB_QUARANTINE_DOUBTS; i++)
		ended(i * 1000, 64, 0, false);
	assert_true(fb_quarantine_doubts(&bad, 0, 8));
	assert_true(cut(FB_PLAN_SEPARATE, 900000, 64, 0, 0));
	ended(i * 1000, 64, 0, false);
	assert_false(fb_quarantine_doubts(&bad, 0, 8));
	assert_true(fb_quarantine_doubts(&bad, i * 1000, 8));
	assert_false(cut(FB_PLAN_SEPARATE, 900000, 64, 0, 0));
	now += 5 * S - 1;
	assert_false(cut(FB_PLAN_SEPARATE, 900000, 64, 0, 0));
	now++;
	assert_true(cut(FB_PLAN_SEPARATE, 900000, 64, 0, 0));
}

/* zones are read in idle time in pieces of wanted blocks, 128 KiB at most, to their end */
TEST(test_idle_pieces)
{
	fb_quarantine_begin(&bad, GRANULE, SECTORS - 3, false);
	ended(80000, 8, 0, true);
	assert_false(fb_quarantine_idle(&bad, &bm, now, 512, &piece));
	fb_bitmap_want(&bm, 10001, 100, 0);
	fb_bitmap_unwant(&bm, 10005, 1, 0);
	idle_reads(512, 80008, 4 * GRANULE);
	fb_bitmap_unwant(&bm, 10001, 4, 0);
	idle_reads(512, 80048, 256);
	assert_true(fb_quarantine_idle(&bad, &bm, now, 64, &piece));
	assert_int_equal(piece.nsect, 64);
	/* not beyond the zone */
	fb_bitmap_unwant(&bm, 0, 20000, 0);
	fb_bitmap_want(&bm, (80008 + SIDE) / GRANULE - 1, 10, 0);
	idle_reads(512, 80008 + SIDE - GRANULE, GRANULE);
	/* nor beyond the disk, whose last block is short */
	fb_bitmap_unwant(&bm, 0, 20000, 0);
	ended(SECTORS - 32, 8, 0, true);
	fb_bitmap_want(&bm, SECTORS / GRANULE - 2, 2, 0);
	idle_reads(512, SECTORS - 16, 13);
}

/* what is in doubt within a zone is read block by block */
TEST(test_idle_doubt)
{
	ended(80000, 8, 0, true);
	ended(80008, 32, 0, false);
	now += 5 * S;
	fb_bitmap_want(&bm, 9990, 30, 0);
	idle_reads(512, 9990 * GRANULE, 10 * GRANULE);
	fb_bitmap_unwant(&bm, 9990, 11, 0);
	idle_reads(512, 80008, GRANULE);
}

static bool divert(u64 lbn, u32 nsect)
{
	piece = (struct fb_plan_piece) { lbn, nsect };
	return fb_quarantine_divert(&bad, &bm, &piece);
}

static void diverted(u64 from, u32 most, u64 lbn, u32 nsect)
{
	assert_true(divert(from, most));
	assert_int_equal(piece.lbn, lbn);
	assert_int_equal(piece.nsect, nsect);
}

/* an idle read ends before a zone, or goes on behind it, or at the start of the disk */
TEST(test_divert)
{
	fb_bitmap_want(&bm, 0, 20000, 0);
	ended(80000, 8, 0, true);
	ended(80000 + 2 * SIDE + 16, 8, 0, true);
	assert_int_equal(bad.zones, 2);
	/* nothing in the way */
	diverted(8000, 64, 8000, 64);
	/* before the first */
	diverted(80000 - SIDE - 32, 64, 80000 - SIDE - 32, 32);
	/* between the two there is one block */
	diverted(80000, 64, 80008 + SIDE, GRANULE);
	/* behind both, and only what is wanted there */
	fb_bitmap_unwant(&bm, (80008 + SIDE) / GRANULE, 1, 0);
	fb_bitmap_unwant(&bm, (80024 + 3 * SIDE) / GRANULE + 3, 20, 0);
	diverted(80000, 64, 80024 + 3 * SIDE, 3 * GRANULE);
	/* all behind them is read */
	fb_bitmap_unwant(&bm, (80024 + 3 * SIDE) / GRANULE, 20000, 0);
	diverted(80000, 64, 0, 64);
	/* and all before */
	fb_bitmap_unwant(&bm, 0, (80000 - SIDE) / GRANULE, 0);
	assert_false(divert(80000, 64));
	/* nothing is left anywhere */
	fb_bitmap_unwant(&bm, 0, 20000, 0);
	assert_false(divert(80000, 64));
}

/* a diverted read ends with the disk, whose last block is short */
TEST(test_divert_end)
{
	fb_quarantine_begin(&bad, GRANULE, SECTORS - 3, false);
	ended(SECTORS - 8 - SIDE - 16, 8, 0, true);
	fb_bitmap_want(&bm, SECTORS / GRANULE - 1000, 1000, 0);
	diverted(SECTORS - 2000, 64, SECTORS - 16, 13);
}

/* the first of many sectors may be the bad one: the drive's name for it says so */
TEST(test_named)
{
	struct fb_quarantine_read read = {
		.lbn = 80000, .nsect = 512, .failed = true, .medium = true, .took_ns = S / 50,
	};

	assert_int_equal(fb_quarantine_ended(&bad, &read, now), 0);
	read.named = true;
	assert_int_equal(fb_quarantine_ended(&bad, &read, now), FOUND);
	assert_int_equal(bad.list[0].lbn, 80000);
}

/*
 * An error that is not the medium's makes libata abort the whole queue, and the fourth in ten
 * minutes takes NCQ away: a sector that the drive aborts is known after two, nothing in doubt is
 * read in gaps, and the third error stops the tasks.
 */
TEST(test_careful)
{
	fb_quarantine_begin(&bad, GRANULE, SECTORS, true);
	fb_bitmap_want(&bm, 1000, 64, 0);
	assert_int_equal(ended(8000, 512, 0, false), 0);
	now += 6 * S;
	assert_false(cut(FB_PLAN_SEPARATE, 8000, 64, 0, 0));
	assert_true(fb_quarantine_idle(&bad, &bm, now, 512, &piece));
	assert_int_equal(ended(piece.lbn, piece.nsect, 0, false), FOUND);
	/* two are all that is risked in ten minutes: the others in doubt wait */
	bad.zones = 0;
	now += 60 * S;
	assert_false(fb_quarantine_idle(&bad, &bm, now, 512, &piece));
	now += 540 * S;
	assert_true(fb_quarantine_idle(&bad, &bm, now, 512, &piece));
	assert_int_equal(ended(500000, 512, 0, false), 0);
	now += 60 * S;
	assert_int_equal(ended(700000, 512, 0, false), 0);
	now += 60 * S;
	assert_int_equal(ended(900000, 512, 0, false), FB_QUARANTINE_STOP);
	assert_int_equal(bad.alarms, 1);
}

/*
 * A careful disk whose VERIFY always fails: that makes no block bad, and READ may tell at once,
 * even if no other error is risked now. What READ cannot read there is bad. Seen to fail: a VERIFY
 * that proves what an earlier one has put in doubt; a READ that waits for the ten minutes.
 */
TEST(test_command)
{
	struct fb_quarantine_read verify = {
		.lbn = 8000, .nsect = 3 * GRANULE, .failed = true, .command = true,
		.took_ns = S / 50,
	};

	fb_quarantine_begin(&bad, GRANULE, SECTORS, true);
	fb_bitmap_want(&bm, 1000, 3, 0);
	assert_int_equal(fb_quarantine_ended(&bad, &verify, now), 0);
	verify.nsect = GRANULE;
	assert_int_equal(fb_quarantine_ended(&bad, &verify, now), 0);
	now += 6 * S;
	idle_reads(512, 8000, GRANULE);
	assert_int_equal(ended(8000, GRANULE, GRANULE, false), 0);
	assert_int_equal(bad.total, 0);
	assert_int_equal(ended(8000 + GRANULE, GRANULE, 0, false), FOUND);
	assert_int_equal(bad.alarms, 0);
}

/* any disk: VERIFY proves bad what READ has failed at alone, not what another VERIFY has */
TEST(test_command_alone)
{
	struct fb_quarantine_read verify = {
		.lbn = 8000, .nsect = GRANULE, .failed = true, .command = true, .took_ns = S / 50,
	};

	assert_int_equal(fb_quarantine_ended(&bad, &verify, now), 0);
	assert_int_equal(fb_quarantine_ended(&bad, &verify, now), 0);
	verify.lbn = 16000;
	assert_int_equal(ended(16000, GRANULE, 0, false), 0);
	assert_int_equal(fb_quarantine_ended(&bad, &verify, now), FOUND);
}

/*
 * A drive that may try for a minute: what is in doubt is no gap's. Seen to fail: without the flag.
 */
TEST(test_idle_only)
{
	fb_bitmap_want(&bm, 1000, 64, 0);
	assert_int_equal(ended(8000, 512, 0, false), 0);
	now += 6 * S;
	assert_true(cut(FB_PLAN_SEPARATE, 8000, 64, 0, 0));
	bad.idle_only = true;
	assert_false(cut(FB_PLAN_SEPARATE, 8000, 64, 0, 0));
	/* some day it is, for the disk may never be idle */
	now += 24 * 3600 * S;
	assert_true(cut(FB_PLAN_SEPARATE, 8000, 64, 0, 0));
}

/* a block that the drive aborts, found by two errors: among others, then alone */
static void find_aborted(u64 lbn)
{
	fb_bitmap_want(&bm, lbn / GRANULE, 1, 0);
	assert_int_equal(ended(lbn, 512, 0, false), 0);
	now += 5 * S;
	assert_true(fb_quarantine_idle(&bad, &bm, now, 512, &piece));
	assert_int_equal(piece.lbn, lbn);
	assert_true(ended(lbn, GRANULE, 0, false) & FB_QUARANTINE_NEW);
	fb_bitmap_unwant(&bm, lbn / GRANULE, 1, 0);
}

/*
 * A pass that begins soon after one that met such a block reads all else, and that block alone when
 * an error may be risked again: it costs one, and no alarm. If it can be read then it is forgotten.
 */
TEST(test_known)
{
	fb_quarantine_begin(&bad, GRANULE, SECTORS, true);
	find_aborted(8000);
	fb_quarantine_begin(&bad, GRANULE, SECTORS, true);
	fb_bitmap_want(&bm, 998, 8, 0);
	now += 60 * S;
	/* in pieces that end before it and begin behind it */
	idle_reads(512, 7984, 2 * GRANULE);
	fb_bitmap_unwant(&bm, 998, 2, 0);
	idle_reads(512, 8008, 5 * GRANULE);
	fb_bitmap_unwant(&bm, 1001, 5, 0);
	assert_false(fb_quarantine_idle(&bad, &bm, now, 512, &piece));
	/* nor elsewhere, if there are no zones */
	bad.zones = 0;
	assert_false(fb_quarantine_idle(&bad, &bm, now, 512, &piece));
	assert_false(cut(FB_PLAN_SEPARATE, 8000, 64, 0, 0));
	now += 535 * S - 1;
	assert_false(fb_quarantine_idle(&bad, &bm, now, 512, &piece));
	now++;
	idle_reads(512, 8000, GRANULE);
	assert_int_equal(ended(8000, GRANULE, 0, false), FB_QUARANTINE_KNOWN);
	assert_int_equal(bad.alarms, 0);
	assert_int_equal(bad.total, 1);
	fb_quarantine_begin(&bad, GRANULE, SECTORS, true);
	assert_true(fb_quarantine_doubts(&bad, 8000, GRANULE));
	ended(8000, GRANULE, GRANULE, false);
	assert_false(fb_quarantine_doubts(&bad, 8000, GRANULE));
	/* blocks of another size are others */
	fb_bitmap_unwant(&bm, 1000, 1, 0);
	now += 600 * S;
	find_aborted(16000);
	fb_quarantine_begin(&bad, 2 * GRANULE, SECTORS, true);
	assert_false(fb_quarantine_doubts(&bad, 16000, GRANULE));
}

/*
 * A scrub's pass over 48 blocks in idle time, of which the 13th and some after it abort each
 * command; the first FUA has failed among 32. What READ proves to be readable is read once more.
 *
 * Return: errors, or 0 if the pass does not end within 25 minutes.
 */
static u32 pass_aborted(u32 n_bad)
{
	const u64 first = 1000, n_granules = 48, bad_first = 1012;
	u64 until = now + 1500 * S, again = 0;
	u32 errors = 1;

	fb_bitmap_want(&bm, first, n_granules, 0);
	fb_quarantine_ended(&bad, &(struct fb_quarantine_read) {
		.lbn = first * GRANULE, .nsect = 32 * GRANULE, .failed = true, .command = true,
		.took_ns = S / 50,
	}, now);
	while (now < until && fb_bitmap_next_wanted(&bm, 0, bm.granules) < bm.granules) {
		struct fb_quarantine_read read = { .took_ns = S / 50 };
			u64 at, n;

		now += S / 10;
		if (!fb_quarantine_idle(&bad, &bm, now, 512, &piece)) {
			/* the rest of the pass */
			piece = (struct fb_plan_piece) { (first + 32) * GRANULE, 16 * GRANULE };
			if (fb_bitmap_is_wanted(&bm, first + 32) &&
			    fb_quarantine_divert(&bad, &bm, &piece))
				fb_bitmap_unwant(&bm, first + 32, 16, 0);
			continue;
		}
		at = piece.lbn / GRANULE;
		n = piece.nsect / GRANULE;
		read.lbn = piece.lbn;
		read.nsect = piece.nsect;
		read.failed = at < bad_first + n_bad && bad_first < at + n;
		read.command = read.failed && !fb_quarantine_by_read(&bad, piece.lbn, piece.nsect);
		errors += read.failed;
		/* of a READ the block may come from the cache: once more, by FUA */
		if (!read.failed && fb_quarantine_by_read(&bad, piece.lbn, piece.nsect)) {
			assert_false(again & BIT_ULL(at - first));
			again |= BIT_ULL(at - first);
		} else if (!read.failed) {
			fb_bitmap_unwant(&bm, at, n, 0);
		}
		if (fb_quarantine_ended(&bad, &read, now) & FB_QUARANTINE_KNOWN)
			fb_bitmap_unwant(&bm, at, 1, 0);
	}
	return now < until ? errors : 0;
}

/*
 * A READ tells of what is in doubt: one error each, and one for what they lie in; the third begins
 * the ten minutes. Seen to fail: FUA for what is in doubt (none is bad, and the pass does not end);
 * what READ has read stays in doubt (READ again, which proves no more).
 */
TEST(test_adjacent)
{
	u64 began_ns = now;

	fb_quarantine_begin(&bad, GRANULE, SECTORS, true);
	assert_int_equal(pass_aborted(1), 2);
	assert_in_range(now - began_ns, 5 * S, 20 * S);
	assert_int_equal(bad.total, 1);
	now += 600 * S;
	setup_again();
	began_ns = now;
	assert_int_equal(pass_aborted(2), 3);
	assert_in_range(now - began_ns, 600 * S, 660 * S);
	assert_int_equal(bad.total, 2);
	now += 600 * S;
	setup_again();
	began_ns = now;
	assert_int_equal(pass_aborted(3), 4);
	assert_in_range(now - began_ns, 600 * S, 660 * S);
	assert_int_equal(bad.total, 3);
	assert_int_equal(bad.alarms, 0);
}

/* a disk of another kind has its known bad block read alone, too, and at once */
TEST(test_known_otherwise)
{
	ended(8000, 512, 0, false);
	now += 5 * S;
	assert_int_equal(ended(8000, GRANULE, 0, false), 0);
	now += 5 * S;
	assert_true(ended(8000, GRANULE, 0, false) & FB_QUARANTINE_NEW);
	ended(90000, GRANULE, 0, true);
	fb_quarantine_begin(&bad, GRANULE, SECTORS, false);
	fb_bitmap_want(&bm, 1000, 8, 0);
	idle_reads(512, 8000, GRANULE);
	assert_int_equal(ended(8000, GRANULE, 0, false), FB_QUARANTINE_KNOWN);
	/* what the medium has lost is no doubt */
	assert_false(fb_quarantine_doubts(&bad, 90000, GRANULE));
}

/* nothing can be read, and the medium is not at fault: tasks stop; bad sectors do not stop them */
TEST(test_stop)
{
	u32 i;

	for (i = 1; i < 16; i++)
		assert_int_equal(ended(i * 10000, 512, 0, false), 0);
	assert_int_equal(ended(5000000, 512, 512, false), 0);
	for (i = 1; i < 16; i++)
		assert_int_equal(ended(i * 10000, 512, 0, false), 0);
	assert_int_equal(ended(i * 10000, 512, 0, false), FB_QUARANTINE_STOP);
	for (i = 0; i < 40; i++)
		ended(6000000 + 8 * i, 8, 0, true);
	assert_int_equal(bad.alarms, 1);
}
