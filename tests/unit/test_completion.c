// SPDX-License-Identifier: GPL-2.0
/*
 * What completions are judged to be and who learns from them, on a drive that does exactly
 * what its model says but for the turns that a test has it lose.
 *
 * Planted bugs, each seen to fail: idle reads learnt from (test_idle); ends of any number of
 * turns believed (test_recovery); misses of plain requests told to the guard (test_guard);
 * commands of the drive's own order told to the probe (test_overtaken); the next one
 * predicted though the drive may choose (test_next); failed commands, and those of the drive's
 * own order, judged (test_silent, each); corrections applied although somebody computes with
 * the model (test_correct).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/completion.h"
#include "support.h"

#define NS_PER_S 1000000000ULL
#define NS_PER_US 1000ULL
#define SETTLED 40	/* completions after which the phase is believed */

/**
 * struct rig - a drive and all who learn from it
 * @at: where its head is
 * @now: the time
 * @rnd: random numbers
 */
struct rig {
	struct disk_model *dm;
	struct fb_head head;
	struct fb_conservatism margin;
	struct fb_seek_fit calib;
	struct fb_guard guard;
	struct fb_lookahead probe;
	struct fb_completion_stats stats;
	struct fb_completion learners;
	struct dm_place at;
	u64 now;
	struct rnd rnd;
};

static struct rig rig;

static int set_up(const char *model)
{
	struct rig *r = &rig;

	memset(r, 0, sizeof(*r));
	r->dm = support_model_file(model);
	fb_head_init(&r->head, r->dm);
	fb_conservatism_init(&r->margin, r->dm, FB_CONSERVATISM_TARGET_PPM);
	fb_seek_fit_init(&r->calib, r->dm);
	fb_guard_init(&r->guard);
	fb_lookahead_init(&r->probe);
	r->learners = (struct fb_completion) {
		.dm = r->dm, .head = &r->head, .margin = &r->margin, .calib = &r->calib,
		.may_correct = true, .guard = &r->guard, .guard_ppm = 1000,
		.probe = &r->probe, .stats = &r->stats,
	};
	r->now = 100 * NS_PER_S;
	r->rnd.state = 1;
	return 0;
}

static int setup(void **state)
{
	return set_up("models/atlas10k.fbmodel");
}

/* it takes a while to begin, so it must read ahead to go on without losing a turn */
static int setup_nearline(void **state)
{
	return set_up("models/nearline16.fbmodel");
}

static int teardown(void **state)
{
	dm_free(rig.dm);
	return 0;
}

static u32 angle_at(const struct rig *r, u64 ns)
{
	u64 rest;

	div64_u64_rem(ns * 1000, dm_info(r->dm)->period_ps, &rest);
	return mul_u64_u64_div_u64(rest, 1ULL << 32, dm_info(r->dm)->period_ps);
}

/* send a read somewhere to the idle drive, which ends @late turns late; the report's time */
static u64 send_sectors(struct rig *r, struct fb_completion_cmd *c, enum fb_cause cause, u32 late,
			u32 nsect)
{
	const struct dm_info *info = dm_info(r->dm);
	struct dm_place tail = { 0 };
	struct dm_access acc;
	u64 start_ns;

	*c = (struct fb_completion_cmd) {
		.lbn = rnd_below(&r->rnd, info->sectors - nsect), .nsect = nsect, .cause = cause,
		.foreground = cause != FB_CAUSE_IDLE, .watched = true, .sent_ns = r->now,
	};
	fb_completion_predict(&r->head, c, NULL, false, &tail);
	start_ns = r->now + info->read_overhead_ns;
	r->at.angle = angle_at(r, start_ns);
	assert_int_equal(dm_access(r->dm, &r->at, c->lbn, c->nsect, false, &acc), 0);
	r->at = acc.end;
	return start_ns + acc.total_ns + info->read_report_ns + late * dm_period_ns(r->dm);
}

static u64 send(struct rig *r, struct fb_completion_cmd *c, enum fb_cause cause, u32 late)
{
	return send_sectors(r, c, cause, late, 8);
}

static void one(struct rig *r, enum fb_cause cause, u32 late, struct fb_completion_result *out)
{
	struct fb_completion_cmd c;
	u64 report_ns = send(r, &c, cause, late);

	fb_completion_judge(&r->learners, &c, report_ns, out);
	r->now = report_ns + 100 * NS_PER_US;
}

static void settle(struct rig *r)
{
	struct fb_completion_result out;
	u32 i;

	for (i = 0; i < SETTLED; i++)
		one(r, FB_CAUSE_PLAIN, 0, &out);
}

/* the first ones have no prediction, the others end where and when they were predicted */
static void test_predicted(void **state)
{
	struct fb_completion_result out;
	u32 i;

	settle(&rig);
	assert_in_range(rig.stats.predicted, SETTLED - FB_HEAD_LOCK - 1, SETTLED - FB_HEAD_LOCK);
	for (i = 0; i < 100; i++) {
		one(&rig, FB_CAUSE_PLAIN, 0, &out);
		assert_int_equal(out.end.verdict, FB_HEAD_MECHANICAL);
		assert_true(out.late_ns < 2000 && out.late_ns > -2000);
	}
	assert_int_equal(rig.stats.within_50us, rig.stats.predicted);
	assert_int_equal(rig.stats.end_within_50us, rig.stats.predicted);
	assert_int_equal(rig.stats.hist[FB_HIST_HALF] + rig.stats.hist[FB_HIST_HALF + 1],
			 rig.stats.predicted);
	assert_int_equal(rig.stats.miss[FB_CAUSE_PLAIN] + rig.stats.early_turn, 0);
	assert_int_equal(rig.stats.verdicts[FB_HEAD_MECHANICAL], SETTLED + 100);
	assert_int_equal(rig.stats.verdicts[FB_HEAD_EARLY] + rig.stats.verdicts[FB_HEAD_ODD], 0);
}

/*
 * The leg that is learnt is that of the access as it was predicted, from where the head was then.
 * Seen to fail: without a leg; from another place.
 */
static void test_leg(void **state)
{
	struct fb_completion_result out;
	struct fb_conservatism_leg leg;
	struct fb_completion_cmd c;
	struct dm_place from;
	u64 report_ns;
	u32 i, far = 0;

	settle(&rig);
	for (i = 0; i < 20; i++) {
		from = rig.at;
		report_ns = send(&rig, &c, FB_CAUSE_PLAIN, 0);
		assert_int_equal(c.leg.slack_ns, 0);
		fb_completion_judge(&rig.learners, &c, report_ns, &out);
		fb_conservatism_predict(&leg, rig.dm, &from, c.nsect, &c.acc);
		assert_int_equal(c.leg.dist, leg.dist);
		assert_int_equal(c.leg.slack_ns, leg.slack_ns);
		assert_int_equal(c.leg.simple, leg.simple);
		far += leg.dist && leg.simple;
		rig.now = report_ns + 100 * NS_PER_US;
	}
	assert_true(far > 10);
}

/* only turns that may be the doing of free reads are the guard's business */
static void test_guard(void **state)
{
	struct fb_completion_result out;
	u32 i;

	settle(&rig);
	for (i = 0; i < 30; i++) {
		one(&rig, FB_CAUSE_PLAIN, 1, &out);
		assert_int_equal(out.end.turns, 1);
		assert_false(out.tripped);
	}
	assert_int_equal(rig.stats.miss[FB_CAUSE_PLAIN], 30);
	for (i = 0; i < FB_GUARD_SECONDS; i++)
		assert_int_equal(rig.guard.missed[i], 0);
	for (i = 0; i < FB_GUARD_MIN_MISSES && !out.tripped; i++)
		one(&rig, FB_CAUSE_AFTER, 1, &out);
	assert_true(out.tripped);
	assert_int_equal(rig.stats.miss[FB_CAUSE_AFTER], i);
}

/* an idle read is in no gap: it is counted, and shows the head, but nobody else learns */
static void test_idle(void **state)
{
	struct fb_completion_result out;
	struct fb_conservatism margin;
	struct fb_seek_fit calib;
	struct fb_lookahead probe;
	struct fb_guard guard;
	u64 predicted;

	settle(&rig);
	predicted = rig.stats.predicted;
	margin = rig.margin;
	calib = rig.calib;
	probe = rig.probe;
	guard = rig.guard;
	one(&rig, FB_CAUSE_IDLE, 1, &out);
	assert_int_equal(rig.stats.predicted, predicted + 1);
	assert_int_equal(rig.stats.miss[FB_CAUSE_IDLE], 1);
	assert_memory_equal(&rig.margin, &margin, sizeof(margin));
	assert_memory_equal(&rig.calib, &calib, sizeof(calib));
	assert_memory_equal(&rig.probe, &probe, sizeof(probe));
	assert_memory_equal(&rig.guard, &guard, sizeof(guard));
	assert_true(rig.head.known);
}

/* eight turns late is late; nine is a drive that was busy with itself */
static void test_recovery(void **state)
{
	struct fb_completion_result out;

	settle(&rig);
	one(&rig, FB_CAUSE_PLAIN, 8, &out);
	assert_int_equal(out.end.verdict, FB_HEAD_MECHANICAL);
	assert_int_equal(out.end.turns, 8);
	one(&rig, FB_CAUSE_PLAIN, 9, &out);
	assert_int_equal(out.end.verdict, FB_HEAD_ODD);
	assert_int_equal(rig.stats.verdicts[FB_HEAD_ODD], 1);
	assert_false(rig.head.known);
}

/*
 * A host that is too busy to see every second completion for 100 ms makes neither model nor phase
 * worse. Seen to fail: they count as any others.
 */
static void test_busy_host(void **state)
{
	u64 turn_ns = dm_period_ns(rig.dm), report_ns;
	struct fb_completion_result out;
	struct fb_completion_cmd c;
	u32 i;

	settle(&rig);
	for (i = 0; i < 300; i++) {
		report_ns = send(&rig, &c, FB_CAUSE_PLAIN, 16) + turn_ns / 7 * (1 + i % 6);
		fb_completion_judge(&rig.learners, &c, report_ns, &out);
		assert_int_equal(out.end.verdict, FB_HEAD_ODD);
		rig.now = report_ns + NS_PER_US;
		/* between them the head is found again */
		one(&rig, FB_CAUSE_PLAIN, 0, &out);
		assert_int_equal(rig.head.fits, 1000000);
		assert_true(fb_head_locked(&rig.head, rig.now));
	}
	/* not even if the phase is hardly believed */
	report_ns = send(&rig, &c, FB_CAUSE_PLAIN, 16) + turn_ns / 3;
	rig.head.trust = 1;
	fb_completion_judge(&rig.learners, &c, report_ns, &out);
	assert_int_equal(rig.head.fits, 1000000);
}

/* a command of 80 sectors, reported so much later than predicted: does the model fit as before? */
static bool fits_when(enum fb_cause cause, s64 later_ns, u64 *transfer_ns)
{
	struct fb_completion_result out;
	struct fb_completion_cmd c;
	u64 report_ns;

	do {
		settle(&rig);
		report_ns = send_sectors(&rig, &c, cause, 0, 80);
		*transfer_ns = c.acc.total_ns - c.acc.seek_ns - c.acc.latency_ns;
		if (*transfer_ns < dm_period_ns(rig.dm) / 2)
			break;
		fb_completion_judge(&rig.learners, &c, report_ns, &out);
		rig.now = report_ns + NS_PER_US;
	} while (true);
	rig.head.fits = 1000000;
	fb_completion_judge(&rig.learners, &c, report_ns + later_ns, &out);
	assert_int_equal(out.end.verdict, FB_HEAD_ODD);
	rig.now = report_ns + later_ns + NS_PER_US;
	return rig.head.fits == 1000000;
}

/*
 * The head lands within an idle read, and a drive with zero latency reads the rest first. Seen to
 * fail: it is asked of all commands; without either bound; without the excuse.
 */
static void test_landed(void **state)
{
	s64 turn_ns = dm_period_ns(rig.dm);
	u64 transfer_ns;

	fits_when(FB_CAUSE_IDLE, turn_ns / 3, &transfer_ns);
	assert_true(fits_when(FB_CAUSE_IDLE, turn_ns - (s64)transfer_ns / 2, &transfer_ns));
	assert_false(fits_when(FB_CAUSE_PLAIN, turn_ns - (s64)transfer_ns / 2, &transfer_ns));
	assert_false(fits_when(FB_CAUSE_IDLE, turn_ns / 3, &transfer_ns));
	assert_false(fits_when(FB_CAUSE_IDLE, turn_ns * 4 / 3, &transfer_ns));
}

/*
 * Nobody knows where a command has ended that failed, that the drive ordered or that has no
 * sectors, though it is reported when it was expected
 */
static void test_silent(void **state)
{
	struct fb_completion_result out;
	struct fb_completion_cmd c;
	u64 report_ns, mechanical;
	u32 i;

	for (i = 0; i < 3; i++) {
		settle(&rig);
		mechanical = rig.head.mechanical;
		report_ns = send(&rig, &c, FB_CAUSE_PLAIN, 0);
		c.failed = i == 0;
		c.watched = i != 1;
		c.unplaced = i == 2;
		c.placed = i != 2;
		fb_completion_judge(&rig.learners, &c, report_ns, &out);
		assert_false(c.observed);
		assert_int_equal(out.end.verdict, FB_HEAD_ODD);
		assert_false(rig.head.known);
		assert_int_equal(rig.head.mechanical, mechanical);
		rig.now = report_ns + NS_PER_US;
	}
}

/* beside what the drive does by itself; seen to fail without any of the conditions */
static void test_own_order(void **state)
{
	u64 turn_ns = dm_period_ns(rig.dm), report_ns, mechanical;
	struct fb_completion_result out;
	struct fb_completion_cmd c;
	u32 right, trust, fits, i;

	/* late, for the drive did something else first: the model is as right as it was */
	settle(&rig);
	right = rig.head.right;
	report_ns = send(&rig, &c, FB_CAUSE_IDLE, 1);
	c.own_order = true;
	fb_completion_judge(&rig.learners, &c, report_ns, &out);
	assert_int_equal(out.end.turns, 1);
	assert_int_equal(rig.head.right, right);
	rig.now = report_ns + NS_PER_US;
	one(&rig, FB_CAUSE_IDLE, 1, &out);
	assert_true(rig.head.right < right);

	/* the same at another angle, which says little of the phase */
	right = rig.head.right;
	trust = rig.head.trust;
	fits = rig.head.fits;
	report_ns = send(&rig, &c, FB_CAUSE_IDLE, 0) + turn_ns / 3;
	c.own_order = true;
	fb_completion_judge(&rig.learners, &c, report_ns, &out);
	assert_int_equal(out.end.verdict, FB_HEAD_ODD);
	assert_int_equal(rig.head.right, right);
	assert_int_equal(rig.head.fits, fits);
	assert_int_equal(rig.head.trust, trust - 1);
	rig.now = report_ns + NS_PER_US;

	/* where a read ended tells where the head is, unless it came from the cache */
	for (i = 0; i < 2; i++) {
		report_ns = send(&rig, &c, FB_CAUSE_PLAIN, 0);
		fb_head_lose(&rig.head);
		mechanical = rig.head.mechanical;
		c.sent_ns = report_ns - turn_ns / 8 - (i ? 0 : 1) + 1;
		fb_completion_follow(&rig.learners, &c, report_ns);
		assert_int_equal(rig.head.known, !i);
		assert_int_equal(rig.head.mechanical, mechanical + !i);
		rig.now = report_ns + NS_PER_US;
	}
}

/* the probe hears once of a command that was overtaken, never of one in the drive's order */
static void test_overtaken(void **state)
{
	struct fb_completion_cmd c = { .watched = false };

	fb_completion_overtaken(&rig.probe, &c, rig.now);
	assert_int_equal(rig.probe.base[0].n, 0);
	c.watched = true;
	fb_completion_overtaken(&rig.probe, &c, rig.now);
	fb_completion_overtaken(&rig.probe, &c, rig.now);
	assert_int_equal(rig.probe.base[0].n, 1);
	assert_int_equal(rig.probe.base[0].bad, 1);
}

/* the command behind begins where and when this one has ended, unless it came later */
static void test_next(void **state)
{
	struct fb_completion_result out;
	struct fb_completion_cmd next = { .lbn = 1000, .nsect = 8 };

	settle(&rig);
	next.sent_ns = rig.now;
	one(&rig, FB_CAUSE_PLAIN, 0, &out);
	fb_completion_predict_next(&rig.head, &next, true, &out.end);
	assert_int_equal(next.start_ns, out.end.end_ns);
	fb_completion_predict_next(&rig.head, &next, false, &out.end);
	assert_int_equal(next.start_ns, 0);
	next.sent_ns = rig.now;
	fb_completion_predict_next(&rig.head, &next, true, &out.end);
	assert_int_equal(next.start_ns, rig.now + dm_info(rig.dm)->read_overhead_ns);
	out.end.verdict = FB_HEAD_ODD;
	fb_completion_predict_next(&rig.head, &next, true, &out.end);
	assert_int_equal(next.start_ns, 0);
}

/* seeks are believed to be 1 % longer: that is for whoever may change the model */
static void test_correct(void **state)
{
	struct fb_completion_result out;

	settle(&rig);
	rig.calib.fine = 10000 * FB_SEEK_FIT_FINE;
	rig.calib.var = 1;
	rig.now += 4 * NS_PER_S;
	rig.learners.may_correct = false;
	one(&rig, FB_CAUSE_AFTER, 0, &out);
	assert_true(out.correct);
	assert_int_equal(rig.calib.applied_ns, 0);
	rig.learners.may_correct = true;
	one(&rig, FB_CAUSE_AFTER, 0, &out);
	assert_false(out.correct);
	assert_int_not_equal(rig.calib.applied_ns, 0);
}

/* the next command leaves the host its lead and the larger overhead before this one's end */
static void test_times(void **state)
{
	const struct dm_info *info = dm_info(rig.dm);
	struct fb_completion_cmd c = { .start_ns = NS_PER_S, .acc.total_ns = NS_PER_S };
	u64 lead_ns = 200 * NS_PER_US;

	assert_int_equal(fb_completion_hold_ns(rig.dm, &c, lead_ns),
			 2 * NS_PER_S - lead_ns - max(info->read_overhead_ns,
						      info->write_overhead_ns));
	assert_false(fb_completion_too_late(&c, 2 * NS_PER_S - lead_ns, lead_ns));
	assert_true(fb_completion_too_late(&c, 2 * NS_PER_S - lead_ns + 1, lead_ns));
	c.start_ns = 0;
	assert_int_equal(fb_completion_hold_ns(rig.dm, &c, lead_ns), 0);
	assert_true(fb_completion_may_hold(true, 56));
	assert_false(fb_completion_may_hold(true, 64));
	assert_true(fb_completion_may_hold(false, 2048));
	assert_true(fb_completion_too_late(&c, 0, lead_ns));
}

/* the report of a command that the drive ended @ns later than predicted, and its judgement */
static void shifted(struct rig *r, s64 ns, struct fb_completion_result *out)
{
	struct fb_completion_cmd c;
	u64 report_ns = send(r, &c, FB_CAUSE_PLAIN, 0) + ns;

	fb_completion_judge(&r->learners, &c, report_ns, out);
	r->now = report_ns + 100 * NS_PER_US;
}

/* reports are counted by their error, 10 us a bucket, and as good within 50 us on either side */
static void test_errors(void **state)
{
	struct fb_completion_result out;
	struct fb_completion_stats before;

	settle(&rig);
	before = rig.stats;
	shifted(&rig, 35 * NS_PER_US, &out);
	assert_in_range(out.late_ns, 33 * NS_PER_US, 37 * NS_PER_US);
	assert_int_equal(rig.stats.hist[FB_HIST_HALF + 4], before.hist[FB_HIST_HALF + 4] + 1);
	shifted(&rig, -35 * (s64)NS_PER_US, &out);
	assert_int_equal(rig.stats.hist[FB_HIST_HALF - 3], before.hist[FB_HIST_HALF - 3] + 1);
	assert_int_equal(rig.stats.within_50us, before.within_50us + 2);
	shifted(&rig, 60 * NS_PER_US, &out);
	shifted(&rig, -60 * (s64)NS_PER_US, &out);
	assert_int_equal(rig.stats.within_50us, before.within_50us + 2);
	/* the medium was in time each time, which is what the phase says */
	assert_int_equal(rig.stats.end_within_50us, before.end_within_50us + 4);
	assert_int_equal(rig.stats.predicted, before.predicted + 4);
	/* what is beyond the last bucket is in it */
	one(&rig, FB_CAUSE_PLAIN, 1, &out);
	assert_int_equal(rig.stats.hist[FB_HIST - 1], before.hist[FB_HIST - 1] + 1);
}

/* a turn gained is counted as such, and is nobody's miss */
static void test_gained(void **state)
{
	struct fb_completion_result out;
	struct fb_completion_cmd c;
	u64 report_ns;

	settle(&rig);
	report_ns = send(&rig, &c, FB_CAUSE_AFTER, 0);
	c.start_ns += dm_period_ns(rig.dm);
	fb_completion_judge(&rig.learners, &c, report_ns, &out);
	assert_int_equal(out.end.verdict, FB_HEAD_MECHANICAL);
	assert_int_equal(out.end.turns, -1);
	assert_int_equal(rig.stats.early_turn, 1);
	assert_int_equal(rig.stats.miss[FB_CAUSE_AFTER], 0);
	assert_int_equal(rig.stats.hist[0], 1);
	assert_int_equal(rig.guard.missed[0], 0);
}

/*
 * An idle read right behind the last command comes from what the drive has read ahead, a turn
 * early: that says nothing against the model. Seen to fail: it counts (and in t-asleep the model is
 * given up beside a scan of an idle disk).
 */
static void test_ahead(void **state)
{
	struct fb_completion_result out;
	struct fb_completion_cmd c;
	u64 report_ns;
	u32 right;

	settle(&rig);
	right = rig.head.right;
	report_ns = send(&rig, &c, FB_CAUSE_IDLE, 0);
	c.start_ns += dm_period_ns(rig.dm);
	fb_completion_judge(&rig.learners, &c, report_ns, &out);
	assert_int_equal(out.end.turns, -1);
	assert_int_equal(rig.head.right, right);
	report_ns = send(&rig, &c, FB_CAUSE_PLAIN, 0);
	c.start_ns += dm_period_ns(rig.dm);
	fb_completion_judge(&rig.learners, &c, report_ns, &out);
	assert_true(rig.head.right < right);
}

/* a command that was not predicted ends at the end of its last sector, if that has a place */
static void test_end_place(void **state)
{
	struct fb_completion_cmd c = { .lbn = 5000, .nsect = 16 };
	struct dm_place end, last;
	struct dm_access acc;

	assert_true(fb_completion_end_place(rig.dm, &c, &end));
	assert_int_equal(dm_place_of(rig.dm, 5015, &last), 0);
	assert_int_equal(dm_access(rig.dm, &last, 5015, 1, false, &acc), 0);
	assert_memory_equal(&end, &acc.end, sizeof(end));
	c.unplaced = true;
	assert_false(fb_completion_end_place(rig.dm, &c, &end));
	c.unplaced = false;
	c.lbn = dm_info(rig.dm)->sectors - 15;
	assert_false(fb_completion_end_place(rig.dm, &c, &end));
	c.lbn--;
	assert_true(fb_completion_end_place(rig.dm, &c, &end));
}

/* commands behind one another: each begins when and where the one before ends */
static void test_chain(void **state)
{
	struct fb_completion_cmd first = { .lbn = 5000, .nsect = 8, .sent_ns = rig.now };
	struct fb_completion_cmd second = { .lbn = 900000, .nsect = 8, .write = true };
	struct dm_place tail, from;
	struct dm_access acc;

	settle(&rig);
	first.sent_ns = rig.now;
	assert_true(fb_completion_predict(&rig.head, &first, NULL, false, &tail));
	assert_true(first.placed);
	assert_int_equal(first.start_ns, rig.now + dm_info(rig.dm)->read_overhead_ns);
	from = tail;
	assert_true(fb_completion_predict(&rig.head, &second, &first, true, &tail));
	assert_int_equal(second.start_ns, first.start_ns + first.acc.total_ns);
	assert_int_equal(dm_access(rig.dm, &from, 900000, 8, true, &acc), 0);
	assert_int_equal(second.acc.total_ns, acc.total_ns);
	assert_memory_equal(&tail, &acc.end, sizeof(tail));
	/* where the first ends is not known: nor is when the second does, but where it does is */
	assert_true(fb_completion_predict(&rig.head, &second, &first, false, &tail));
	assert_false(second.placed);
	assert_int_equal(second.start_ns, 0);
	/* one without sectors: the head may be anywhere */
	second.unplaced = true;
	assert_false(fb_completion_predict(&rig.head, &second, &first, true, &tail));
	assert_int_equal(fb_completion_end_ns(&second), 0);
	second.unplaced = false;
	/* an access that the model refuses */
	second.lbn = dm_info(rig.dm)->sectors;
	assert_false(fb_completion_predict(&rig.head, &second, &first, true, &tail));
	/* an idle drive whose head is lost */
	fb_head_lose(&rig.head);
	assert_true(fb_completion_predict(&rig.head, &first, NULL, true, &tail));
	assert_false(first.placed);
}

/* an idle drive takes the direction's overhead before the arm moves */
static void test_overhead(void **state)
{
	const struct dm_info *info = dm_info(rig.dm);
	struct dm_place from;
	u64 start_ns;

	settle(&rig);
	assert_int_not_equal(info->read_overhead_ns, info->write_overhead_ns);
	assert_true(fb_completion_idle_head(&rig.head, rig.now, true, &from, &start_ns));
	assert_int_equal(start_ns, rig.now + info->write_overhead_ns);
	assert_int_equal(from.angle, fb_head_angle(&rig.head, start_ns));
	assert_true(fb_completion_idle_head(&rig.head, rig.now, false, &from, &start_ns));
	assert_int_equal(start_ns, rig.now + info->read_overhead_ns);
}

/* the head is lost while the next command is on its way: it has no prediction any more */
static void test_next_lost(void **state)
{
	struct fb_completion_result out;
	struct fb_completion_cmd next = { .lbn = 1000, .nsect = 8 };

	settle(&rig);
	one(&rig, FB_CAUSE_PLAIN, 0, &out);
	next.sent_ns = out.end.end_ns;
	fb_completion_predict_next(&rig.head, &next, true, &out.end);
	assert_int_equal(next.start_ns, out.end.end_ns);
	fb_head_lose(&rig.head);
	next.sent_ns = out.end.end_ns + 1;
	fb_completion_predict_next(&rig.head, &next, true, &out.end);
	assert_int_equal(next.start_ns, 0);
	assert_false(next.placed);
}

/* those who do not want to learn are left out; the others still do */
static void test_left_out(void **state)
{
	struct fb_completion_result out;
	struct fb_conservatism margin;
	struct fb_seek_fit calib;

	settle(&rig);
	margin = rig.margin;
	calib = rig.calib;
	rig.learners.margin = NULL;
	rig.learners.calib = NULL;
	rig.learners.guard = NULL;
	one(&rig, FB_CAUSE_AFTER, 1, &out);
	assert_int_equal(out.end.turns, 1);
	assert_int_equal(rig.stats.miss[FB_CAUSE_AFTER], 1);
	assert_memory_equal(&rig.margin, &margin, sizeof(margin));
	assert_memory_equal(&rig.calib, &calib, sizeof(calib));
	assert_false(out.tripped);
	assert_int_equal(rig.probe.base[0].bad, 1);
}

/* the probe has been told when a command was overtaken; its end is no news */
static void test_told_once(void **state)
{
	struct fb_completion_result out;
	struct fb_completion_cmd c;
	struct fb_lookahead probe;
	u64 report_ns;

	settle(&rig);
	report_ns = send(&rig, &c, FB_CAUSE_PLAIN, 0);
	fb_completion_overtaken(&rig.probe, &c, report_ns);
	probe = rig.probe;
	fb_completion_judge(&rig.learners, &c, report_ns, &out);
	assert_memory_equal(&rig.probe, &probe, sizeof(probe));
	assert_true(c.observed);
	assert_int_equal(c.verdict, FB_HEAD_MECHANICAL);
}

/* a command is behind the lifts of the one before, and hands on its own */
static void test_mark(void **state)
{
	struct fb_completion_cmd c = { .cause = FB_CAUSE_SEPARATE, .mark.at = FB_LIFT_DEST };
	u32 lifts = FB_LIFT_SOURCE;

	fb_completion_mark(&c, &lifts);
	assert_int_equal(c.mark.behind, FB_LIFT_SOURCE);
	assert_true(c.mark.ours);
	assert_int_equal(lifts, FB_LIFT_DEST);
	c = (struct fb_completion_cmd) { .cause = FB_CAUSE_PLAIN };
	fb_completion_mark(&c, &lifts);
	assert_int_equal(c.mark.behind, FB_LIFT_DEST);
	assert_false(c.mark.ours);
	assert_int_equal(lifts, 0);
}

/* who weighs the risk hears how late a command was: a turn costs a turn */
static void test_margin(void **state)
{
	struct fb_completion_result out;
	s64 cost, turn = dm_period_ns(rig.dm);

	settle(&rig);
	one(&rig, FB_CAUSE_SEPARATE, 0, &out);
	cost = rig.margin.cost_ns;
	one(&rig, FB_CAUSE_SEPARATE, 1, &out);
	assert_int_equal(rig.margin.cost_ns, cost + turn);
}

/*
 * The next read of a chain, sent soon after the last one is reported. @ahead: the drive has read
 * on; else it begins when it is asked, and needs a turn more.
 */
static void chain(struct rig *r, struct fb_completion_cmd *c, bool ahead,
		  struct fb_completion_result *out)
{
	const struct dm_info *info = dm_info(r->dm);
	u64 sent_ns = r->now + 60 * NS_PER_US;
	u64 start_ns = ahead ? r->now - info->read_report_ns : sent_ns + info->read_overhead_ns;
	struct dm_place tail = { 0 };
	struct dm_access acc;

	*c = (struct fb_completion_cmd) {
		.lbn = c->lbn + c->nsect, .nsect = 128, .cause = FB_CAUSE_IDLE, .watched = true,
		.sent_ns = sent_ns,
	};
	fb_completion_predict(&r->head, c, NULL, false, &tail);
	if (!ahead)
		r->at.angle = angle_at(r, start_ns);
	assert_int_equal(dm_access(r->dm, &r->at, c->lbn, c->nsect, false, &acc), 0);
	r->at = acc.end;
	r->now = start_ns + acc.total_ns + info->read_report_ns;
	fb_completion_judge(&r->learners, c, r->now, out);
}

/* what a drive reads ahead is predicted as it passes, so head and phase stay known */
static void test_read_on(void **state)
{
	struct fb_completion_result out;
	struct fb_completion_cmd c;
	u32 i;

	settle(&rig);
	rig.now = send_sectors(&rig, &c, FB_CAUSE_IDLE, 0, 8);
	fb_completion_judge(&rig.learners, &c, rig.now, &out);
	chain(&rig, &c, true, &out);
	assert_true(out.end.verdict == FB_HEAD_EARLY || out.end.turns == -1);
	for (i = 0; i < 20; i++) {
		assert_true(rig.head.known);
		chain(&rig, &c, true, &out);
		assert_true(c.read_on);
		assert_int_equal(out.end.verdict, FB_HEAD_MECHANICAL);
		assert_int_equal(out.end.turns, 0);
		assert_true(out.late_ns < 3000 && out.late_ns > -3000);
	}
	/* one that does not is believed at the first read, and again when it does */
	chain(&rig, &c, false, &out);
	assert_int_equal(out.end.turns, 1);
	chain(&rig, &c, false, &out);
	assert_false(c.read_on);
	assert_int_equal(out.end.turns, 0);
	chain(&rig, &c, true, &out);
	assert_true(out.end.verdict == FB_HEAD_EARLY || out.end.turns == -1);
	chain(&rig, &c, true, &out);
	assert_true(c.read_on);
}

/* not behind a pause, elsewhere, for the foreground, or when the drive has read all of it */
static void test_not_read_on(void **state)
{
	struct fb_completion_result out;
	struct fb_completion_cmd c, next;
	struct dm_place tail = { 0 };
	u32 i;

	settle(&rig);
	rig.now = send_sectors(&rig, &c, FB_CAUSE_IDLE, 0, 8);
	fb_completion_judge(&rig.learners, &c, rig.now, &out);
	chain(&rig, &c, true, &out);
	assert_true(rig.head.reads_on);
	for (i = 0; i < 5; i++) {
		next = (struct fb_completion_cmd) {
			.lbn = c.lbn + c.nsect + (i == 1), .nsect = i == 4 ? 8 : 128,
			.cause = i == 2 ? FB_CAUSE_PLAIN : FB_CAUSE_IDLE, .watched = true,
			.sent_ns = rig.now + (i == 0 ? dm_period_ns(rig.dm) / 4 : 100 * NS_PER_US),
		};
		fb_completion_predict(&rig.head, &next, NULL, false, &tail);
		assert_int_equal(next.read_on, i == 3);
		assert_true(i != 4 || !next.start_ns);
	}
}

/* data that the drive had long since says nothing of where the head is */
static void test_cached_long_since(void **state)
{
	struct fb_completion_result out;
	struct fb_completion_cmd c;
	struct dm_place tail;
	u32 i;

	for (i = 0; i < 2; i++) {
		settle(&rig);
		rig.now = send_sectors(&rig, &c, FB_CAUSE_IDLE, 0, 8);
		fb_completion_judge(&rig.learners, &c, rig.now, &out);
		chain(&rig, &c, true, &out);
		assert_true(rig.head.known && rig.head.reads_on);
		/* its last sector has yet to pass, or has passed since the last report */
		rig.head.reads_on = false;
		rig.now += i * 900 * NS_PER_US;
		c = (struct fb_completion_cmd) {
			.lbn = c.lbn + c.nsect, .nsect = 128, .cause = FB_CAUSE_IDLE,
			.watched = true, .sent_ns = rig.now,
		};
		fb_completion_predict(&rig.head, &c, NULL, false, &tail);
		rig.now += 50 * NS_PER_US;
		fb_completion_judge(&rig.learners, &c, rig.now, &out);
		assert_int_equal(out.end.verdict, FB_HEAD_EARLY);
		assert_false(rig.head.known || rig.head.reads_on);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_predicted, setup, teardown),
		cmocka_unit_test_setup_teardown(test_leg, setup, teardown),
		cmocka_unit_test_setup_teardown(test_guard, setup, teardown),
		cmocka_unit_test_setup_teardown(test_idle, setup, teardown),
		cmocka_unit_test_setup_teardown(test_recovery, setup, teardown),
		cmocka_unit_test_setup_teardown(test_silent, setup, teardown),
		cmocka_unit_test_setup_teardown(test_busy_host, setup, teardown),
		cmocka_unit_test_setup_teardown(test_landed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_own_order, setup, teardown),
		cmocka_unit_test_setup_teardown(test_overtaken, setup, teardown),
		cmocka_unit_test_setup_teardown(test_next, setup, teardown),
		cmocka_unit_test_setup_teardown(test_correct, setup, teardown),
		cmocka_unit_test_setup_teardown(test_times, setup, teardown),
		cmocka_unit_test_setup_teardown(test_errors, setup, teardown),
		cmocka_unit_test_setup_teardown(test_gained, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ahead, setup, teardown),
		cmocka_unit_test_setup_teardown(test_end_place, setup, teardown),
		cmocka_unit_test_setup_teardown(test_chain, setup, teardown),
		cmocka_unit_test_setup_teardown(test_overhead, setup, teardown),
		cmocka_unit_test_setup_teardown(test_next_lost, setup, teardown),
		cmocka_unit_test_setup_teardown(test_left_out, setup, teardown),
		cmocka_unit_test_setup_teardown(test_told_once, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mark, setup, teardown),
		cmocka_unit_test_setup_teardown(test_margin, setup, teardown),
		cmocka_unit_test_setup_teardown(test_read_on, setup_nearline, teardown),
		cmocka_unit_test_setup_teardown(test_not_read_on, setup_nearline, teardown),
		cmocka_unit_test_setup_teardown(test_cached_long_since, setup_nearline, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
