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
#include "core/completion.h"
#include "support.h"

#define NS_PER_S 1000000000ULL
#define NS_PER_US 1000ULL
#define SETTLED 40	/* completions after which the phase is believed */

/* a drive and all who learn from it */
static struct rig {
	struct disk_model *dm;
	struct fb_head head;
	struct fb_conservatism margin;
	struct fb_seek_fit calib;
	struct fb_guard guard;
	struct fb_lookahead probe;
	struct fb_completion_stats stats;
	struct fb_completion learners;
	struct dm_place at;	/* where its head is */
	u64 now;	/* the time */
	struct rnd rnd;	/* random numbers */
} rig;

int teardown(void **state)
{
	dm_free(rig.dm);
	return 0;
}

static u32 angle_at(u64 ns)
{
	u64 rest;

	div64_u64_rem(ns * 1000, dm_info(rig.dm)->period_ps, &rest);
	return mul_u64_u64_div_u64(rest, 1ULL << 32, dm_info(rig.dm)->period_ps);
}

/* what the last one was judged to be */
static struct fb_completion_result out;

/* send a read somewhere to the idle drive, which ends @late turns late; the report's time */
static u64 send_sectors(struct fb_completion_cmd *c, enum fb_cause cause, u32 late,
			u32 nsect)
{
	const struct dm_info *info = dm_info(rig.dm);
	struct dm_place tail = { 0 };
	struct dm_access acc;
	u64 start_ns;

	*c = (struct fb_completion_cmd) {
		.lbn = rnd_below(&rig.rnd, info->sectors - nsect), .nsect = nsect, .cause = cause,
		.foreground = cause != FB_CAUSE_IDLE, .watched = true, .sent_ns = rig.now,
	};
	fb_completion_predict(&rig.head, c, NULL, false, &tail);
	start_ns = rig.now + info->read_overhead_ns;
	rig.at.angle = angle_at(start_ns);
	assert_int_equal(dm_access(rig.dm, &rig.at, c->lbn, c->nsect, false, &acc), 0);
	rig.at = acc.end;
	return start_ns + acc.total_ns + info->read_report_ns + late * dm_period_ns(rig.dm);
}

static u64 send(struct fb_completion_cmd *c, enum fb_cause cause, u32 late)
{
	return send_sectors(c, cause, late, 8);
}

/* a command is reported */
static void judge(struct fb_completion_cmd *c, u64 report_ns)
{
	fb_completion_judge(&rig.learners, c, report_ns, &out);
	rig.now = report_ns;
}

static void one(enum fb_cause cause, u32 late)
{
	struct fb_completion_cmd c;
	u64 report_ns = send(&c, cause, late);

	judge(&c, report_ns);
	rig.now = report_ns + 100 * NS_PER_US;
}

static void settle(void)
{
	u32 i;

	for (i = 0; i < SETTLED; i++)
		one(FB_CAUSE_PLAIN, 0);
}

static int set_up(const char *model)
{
	memset(&rig, 0, sizeof(rig));
	rig.dm = support_model_file(model);
	fb_head_init(&rig.head, rig.dm);
	fb_conservatism_init(&rig.margin, rig.dm, FB_CONSERVATISM_TARGET_PPM);
	fb_seek_fit_init(&rig.calib, rig.dm);
	fb_guard_init(&rig.guard);
	fb_lookahead_init(&rig.probe);
	rig.learners = (struct fb_completion) {
		.dm = rig.dm, .head = &rig.head, .margin = &rig.margin, .calib = &rig.calib,
		.may_correct = true, .guard = &rig.guard, .guard_ppm = 1000,
		.probe = &rig.probe, .stats = &rig.stats,
	};
	rig.now = 100 * NS_PER_S;
	rig.rnd.state = 1;
	settle();
	return 0;
}

int setup(void **state)
{
	return set_up("models/atlas10k.fbmodel");
}

/* it takes a while to begin, so it must read ahead to go on without losing a turn */
static int setup_nearline(void **state)
{
	return set_up("models/nearline16.fbmodel");
}

/* the first ones have no prediction, the others end where and when they were predicted */
TEST(test_predicted)
{
	u32 i;

	assert_in_range(rig.stats.predicted, SETTLED - FB_HEAD_LOCK - 1, SETTLED - FB_HEAD_LOCK);
	for (i = 0; i < 100; i++) {
		one(FB_CAUSE_PLAIN, 0);
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

/* only turns that may be the doing of free reads are the guard's business */
TEST(test_guard)
{
	u32 i;

	for (i = 0; i < 30; i++) {
		one(FB_CAUSE_PLAIN, 1);
		assert_int_equal(out.end.turns, 1);
		assert_false(out.tripped);
	}
	assert_int_equal(rig.stats.miss[FB_CAUSE_PLAIN], 30);
	assert_int_equal(rig.guard.excess, 0);
	for (i = 0; i <= FB_GUARD_EXCESS && !out.tripped; i++)
		one(FB_CAUSE_AFTER, 1);
	assert_true(out.tripped);
	assert_int_equal(rig.stats.miss[FB_CAUSE_AFTER], i);
}

/* an idle read is in no gap: it is counted, and shows the head, but nobody else learns */
TEST(test_idle)
{
	struct fb_conservatism margin;
	struct fb_seek_fit calib;
	struct fb_lookahead probe;
	struct fb_guard guard;
	u64 predicted;

	predicted = rig.stats.predicted;
	margin = rig.margin;
	calib = rig.calib;
	probe = rig.probe;
	guard = rig.guard;
	one(FB_CAUSE_IDLE, 1);
	assert_int_equal(rig.stats.predicted, predicted + 1);
	assert_int_equal(rig.stats.miss[FB_CAUSE_IDLE], 1);
	assert_memory_equal(&rig.margin, &margin, sizeof(margin));
	assert_memory_equal(&rig.calib, &calib, sizeof(calib));
	assert_memory_equal(&rig.probe, &probe, sizeof(probe));
	assert_memory_equal(&rig.guard, &guard, sizeof(guard));
	assert_true(rig.head.known);
}

/* eight turns late is late; nine is a drive that was busy with itself */
TEST(test_recovery)
{
	one(FB_CAUSE_PLAIN, 8);
	assert_int_equal(out.end.verdict, FB_HEAD_MECHANICAL);
	assert_int_equal(out.end.turns, 8);
	one(FB_CAUSE_PLAIN, 9);
	assert_int_equal(out.end.verdict, FB_HEAD_ODD);
	assert_int_equal(rig.stats.verdicts[FB_HEAD_ODD], 1);
	assert_false(rig.head.known);
}

/* a command of 80 sectors, reported so much later than predicted: does the model fit as before? */
static bool fits_when(enum fb_cause cause, s64 later_ns, u64 *transfer_ns)
{
	struct fb_completion_cmd c;
	u64 report_ns;

	do {
		settle();
		report_ns = send_sectors(&c, cause, 0, 80);
		*transfer_ns = c.acc.total_ns - c.acc.seek_ns - c.acc.latency_ns;
		if (*transfer_ns < dm_period_ns(rig.dm) / 2)
			break;
		judge(&c, report_ns);
	} while (true);
	rig.head.fits = 1000000;
	judge(&c, report_ns + later_ns);
	assert_int_equal(out.end.verdict, FB_HEAD_ODD);
	return rig.head.fits == 1000000;
}

/*
 * The head lands within an idle read, and a drive with zero latency reads the rest first. Seen to
 * fail: it is asked of all commands; without either bound; without the excuse.
 */
TEST(test_landed)
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
TEST(test_silent)
{
	struct fb_completion_cmd c;
	u64 report_ns, mechanical;
	u32 i;

	for (i = 0; i < 3; i++) {
		settle();
		mechanical = rig.head.mechanical;
		report_ns = send(&c, FB_CAUSE_PLAIN, 0);
		c.failed = i == 0;
		c.watched = i != 1;
		c.unplaced = i == 2;
		c.placed = i != 2;
		judge(&c, report_ns);
		assert_false(c.observed);
		assert_int_equal(out.end.verdict, FB_HEAD_ODD);
		assert_false(rig.head.known);
		assert_int_equal(rig.head.mechanical, mechanical);
	}
}

/* beside what the drive does by itself; seen to fail without any of the conditions */
TEST(test_own_order)
{
	u64 turn_ns = dm_period_ns(rig.dm), report_ns, mechanical;
	struct fb_completion_cmd c;
	u32 right, trust, fits, i;

	/* late, for the drive did something else first: the model is as right as it was */
	right = rig.head.right;
	report_ns = send(&c, FB_CAUSE_IDLE, 1);
	c.own_order = true;
	judge(&c, report_ns);
	assert_int_equal(out.end.turns, 1);
	assert_int_equal(rig.head.right, right);
	one(FB_CAUSE_IDLE, 1);
	assert_true(rig.head.right < right);

	/* the same at another angle, which says little of the phase */
	right = rig.head.right;
	trust = rig.head.trust;
	fits = rig.head.fits;
	report_ns = send(&c, FB_CAUSE_IDLE, 0) + turn_ns / 3;
	c.own_order = true;
	judge(&c, report_ns);
	assert_int_equal(out.end.verdict, FB_HEAD_ODD);
	assert_int_equal(rig.head.right, right);
	assert_int_equal(rig.head.fits, fits);
	assert_int_equal(rig.head.trust, trust - 1);

	/* where a read ended tells where the head is, unless it came from the cache */
	for (i = 0; i < 2; i++) {
		report_ns = send(&c, FB_CAUSE_PLAIN, 0);
		fb_head_lose(&rig.head);
		mechanical = rig.head.mechanical;
		c.sent_ns = report_ns - turn_ns / 8 - (i ? 0 : 1) + 1;
		fb_completion_follow(&rig.learners, &c, report_ns);
		assert_int_equal(rig.head.known, !i);
		assert_int_equal(rig.head.mechanical, mechanical + !i);
	}
}

/* the probe hears once of a command that was overtaken, never of one in the drive's order */
TEST(test_overtaken)
{
	struct fb_completion_cmd c = { .watched = false };
	u32 n = rig.probe.base[0].n;

	fb_completion_overtaken(&rig.probe, &c, rig.now);
	assert_int_equal(rig.probe.base[0].n, n);
	c.watched = true;
	fb_completion_overtaken(&rig.probe, &c, rig.now);
	fb_completion_overtaken(&rig.probe, &c, rig.now);
	assert_int_equal(rig.probe.base[0].n, n + 1);
	assert_int_equal(rig.probe.base[0].bad, 1);
}

/* the command behind begins where and when this one has ended, unless it came later */
TEST(test_next)
{
	struct fb_completion_cmd next = { .lbn = 1000, .nsect = 8 };

	next.sent_ns = rig.now;
	one(FB_CAUSE_PLAIN, 0);
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
TEST(test_correct)
{
	rig.calib.fine = 10000 * FB_SEEK_FIT_FINE;
	rig.calib.var = 1;
	rig.now += 4 * NS_PER_S;
	rig.learners.may_correct = false;
	one(FB_CAUSE_AFTER, 0);
	assert_true(out.correct);
	assert_int_equal(rig.calib.applied_ns, 0);
	rig.learners.may_correct = true;
	one(FB_CAUSE_AFTER, 0);
	assert_false(out.correct);
	assert_int_not_equal(rig.calib.applied_ns, 0);
}

/* the report of a command that the drive ended @ns later than predicted, and its judgement */
static void shifted(s64 ns)
{
	struct fb_completion_cmd c;
	u64 report_ns = send(&c, FB_CAUSE_PLAIN, 0) + ns;

	judge(&c, report_ns);
	rig.now = report_ns + 100 * NS_PER_US;
}

/* reports are counted by their error, 10 us a bucket, and as good within 50 us on either side */
TEST(test_errors)
{
	struct fb_completion_stats before;

	before = rig.stats;
	shifted(35 * NS_PER_US);
	assert_in_range(out.late_ns, 33 * NS_PER_US, 37 * NS_PER_US);
	assert_int_equal(rig.stats.hist[FB_HIST_HALF + 4], before.hist[FB_HIST_HALF + 4] + 1);
	shifted(-35 * (s64)NS_PER_US);
	assert_int_equal(rig.stats.hist[FB_HIST_HALF - 3], before.hist[FB_HIST_HALF - 3] + 1);
	assert_int_equal(rig.stats.within_50us, before.within_50us + 2);
	shifted(60 * NS_PER_US);
	shifted(-60 * (s64)NS_PER_US);
	assert_int_equal(rig.stats.within_50us, before.within_50us + 2);
	/* the medium was in time each time, which is what the phase says */
	assert_int_equal(rig.stats.end_within_50us, before.end_within_50us + 4);
	assert_int_equal(rig.stats.predicted, before.predicted + 4);
	/* what is beyond the last bucket is in it */
	one(FB_CAUSE_PLAIN, 1);
	assert_int_equal(rig.stats.hist[FB_HIST - 1], before.hist[FB_HIST - 1] + 1);
}

/*
 * An idle read right behind the last command comes from what the drive has read ahead, a turn
 * early: that says nothing against the model. Seen to fail: it counts (and in t-asleep the model is
 * given up beside a scan of an idle disk).
 */
TEST(test_ahead)
{
	struct fb_completion_cmd c;
	u64 report_ns;
	u32 right;

	right = rig.head.right;
	report_ns = send(&c, FB_CAUSE_IDLE, 0);
	c.start_ns += dm_period_ns(rig.dm);
	judge(&c, report_ns);
	assert_int_equal(out.end.turns, -1);
	assert_int_equal(rig.stats.early_turn, 1);
	assert_int_equal(rig.head.right, right);
	report_ns = send(&c, FB_CAUSE_PLAIN, 0);
	c.start_ns += dm_period_ns(rig.dm);
	judge(&c, report_ns);
	assert_true(rig.head.right < right);
}

/* the probe has been told when a command was overtaken; its end is no news */
TEST(test_told_once)
{
	struct fb_completion_cmd c;
	struct fb_lookahead probe;
	u64 report_ns;

	report_ns = send(&c, FB_CAUSE_PLAIN, 0);
	fb_completion_overtaken(&rig.probe, &c, report_ns);
	probe = rig.probe;
	judge(&c, report_ns);
	assert_memory_equal(&rig.probe, &probe, sizeof(probe));
	assert_true(c.observed);
	assert_int_equal(c.verdict, FB_HEAD_MECHANICAL);
}

/* a command is behind the lifts of the one before, and hands on its own */
TEST(test_mark)
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
TEST(test_margin)
{
	s64 cost, turn = dm_period_ns(rig.dm);

	one(FB_CAUSE_SEPARATE, 0);
	cost = rig.margin.cost_ns;
	one(FB_CAUSE_SEPARATE, 1);
	assert_int_equal(rig.margin.cost_ns, cost + turn);
}

/*
 * The next read of a chain, sent soon after the last one is reported. @ahead: the drive has read
 * on; else it begins when it is asked, and needs a turn more.
 */
static void chain(struct fb_completion_cmd *c, bool ahead)
{
	const struct dm_info *info = dm_info(rig.dm);
	u64 sent_ns = rig.now + 60 * NS_PER_US;
	u64 start_ns = ahead ? rig.now - info->read_report_ns : sent_ns + info->read_overhead_ns;
	struct dm_place tail = { 0 };
	struct dm_access acc;

	*c = (struct fb_completion_cmd) {
		.lbn = c->lbn + c->nsect, .nsect = 128, .cause = FB_CAUSE_IDLE, .watched = true,
		.sent_ns = sent_ns,
	};
	fb_completion_predict(&rig.head, c, NULL, false, &tail);
	if (!ahead)
		rig.at.angle = angle_at(start_ns);
	assert_int_equal(dm_access(rig.dm, &rig.at, c->lbn, c->nsect, false, &acc), 0);
	rig.at = acc.end;
	rig.now = start_ns + acc.total_ns + info->read_report_ns;
	judge(c, rig.now);
}

/* what a drive reads ahead is predicted as it passes, so head and phase stay known */
TEST_WITH(test_read_on, setup_nearline, teardown)
{
	struct fb_completion_cmd c;
	u32 i;

	judge(&c, send_sectors(&c, FB_CAUSE_IDLE, 0, 8));
	chain(&c, true);
	assert_true(out.end.verdict == FB_HEAD_EARLY || out.end.turns == -1);
	for (i = 0; i < 20; i++) {
		assert_true(rig.head.known);
		chain(&c, true);
		assert_true(c.read_on);
		assert_int_equal(out.end.verdict, FB_HEAD_MECHANICAL);
		assert_int_equal(out.end.turns, 0);
		assert_true(out.late_ns < 3000 && out.late_ns > -3000);
	}
	/* one that does not is believed at the first read, and again when it does */
	chain(&c, false);
	assert_int_equal(out.end.turns, 1);
	chain(&c, false);
	assert_false(c.read_on);
	assert_int_equal(out.end.turns, 0);
	chain(&c, true);
	assert_true(out.end.verdict == FB_HEAD_EARLY || out.end.turns == -1);
	chain(&c, true);
	assert_true(c.read_on);
}

/* not behind a pause, elsewhere, for the foreground, or when the drive has read all of it */
TEST_WITH(test_not_read_on, setup_nearline, teardown)
{
	struct fb_completion_cmd c, next;
	struct dm_place tail = { 0 };
	u32 i;

	judge(&c, send_sectors(&c, FB_CAUSE_IDLE, 0, 8));
	chain(&c, true);
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
TEST_WITH(test_cached_long_since, setup_nearline, teardown)
{
	struct fb_completion_cmd c;
	struct dm_place tail;
	u32 i;

	for (i = 0; i < 2; i++) {
		settle();
		judge(&c, send_sectors(&c, FB_CAUSE_IDLE, 0, 8));
		chain(&c, true);
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
		judge(&c, rig.now);
		assert_int_equal(out.end.verdict, FB_HEAD_EARLY);
		assert_false(rig.head.known || rig.head.reads_on);
	}
}
