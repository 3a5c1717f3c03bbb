// SPDX-License-Identifier: GPL-2.0
/*
 * Learnt corrections of seek times against a made-up disk: seeks take what its profile says,
 * times a truth that the test knows, plus errors of a distribution that it chooses; the
 * waits are anything. Only what a completion shows is told: how late it was, in which a
 * seek's error appears as a whole turn or not at all.
 *
 * Planted bugs, each seen to fail: waits beyond half a turn not turned into what is missing
 * (test_slower); a landing within the sectors wanted not taken for a lost turn
 * (test_lands_inside); trials at any wait (test_other_causes); corrections added twice, the
 * difference of believed and applied left out of fb_seek_fit_evaluate() (test_slower); no bound
 * to a step (test_steps); what is written down as learnt from free reads (test_free_reads);
 * estimates in whole ppm (test_ample); the floor taken without the correction (test_floor); nothing
 * forgotten, or what is applied, too (test_forgets).
 */
#include "core/seek_fit.h"
#include "support.h"

#define PERIOD 6000000LL
#define SECOND 1000000000ULL
#define CYLINDERS 8192

#define DISK_HEAD \
	"fbmodel 1\n" \
	"vendor TEST\n" \
	"product SEEKS\n" \
	"sectors 819200\n" \
	"cylinders 8192\n" \
	"heads 1\n" \
	"head_order plain\n" \
	"period_ps 6000000000\n" \
	"head_switch_ns 300000\n" \
	"write_settle_ns 400000\n" \
	"zero_latency yes\n" \
	"seek 1 700000\n" \
	"seek 64 1500000\n" \
	"seek 1024 3500000\n" \
	"seek 8191 9000000\n"
#define DISK_ZONE "zone 0 8191 spt 100 angle 0 track_skew 0.1 cyl_skew 0.3 dead 0 spares 0"

static const char disk_text[] = DISK_HEAD DISK_ZONE "\n";
static const char slow_text[] = DISK_HEAD DISK_ZONE " slow\n";

/* how seeks really are */
static struct disk {
	struct rnd r;	/* random numbers */
	struct disk_model *dm;	/* what is believed, corrections included */
	struct disk_model *said;	/* what the profile said */
	struct fb_seek_fit c;	/* what is tested */
	u64 now;	/* the time */
	u64 every;	/* between completions, ns */
	u64 least;	/* no wait is shorter ... */
	u64 most;	/* ... and none as long, ns */
	s64 ppm;	/* seeks take so much longer */
	u64 spread;	/* mean of the exponential errors to either side, ns */
	s64 inside;	/* a head that comes late by less lands within the sectors wanted, ns */
	u32 other_ppm;	/* so many commands lose a turn or two for other reasons */
	enum fb_cause cause;	/* of all commands */
} d;

static void disk_begin(u64 seed)
{
	dm_free(d.dm);
	dm_free(d.said);
	memset(&d, 0, sizeof(d));
	d.r.state = seed;
	d.dm = support_model_text(disk_text);
	d.said = support_model_text(disk_text);
	d.every = 10000000;
	d.most = PERIOD;
	d.spread = 85000;
	fb_seek_fit_init(&d.c, d.dm);
}

int teardown(void **state)
{
	dm_free(d.dm);
	dm_free(d.said);
	memset(&d, 0, sizeof(d));
	return 0;
}

/* an exponential with mean @mean: sums of the tail's binary digits are near enough */
static s64 exponential(struct rnd *r, u64 mean)
{
	s64 sum = 0;
	u64 part = mean / 8;

	while (rnd_below(r, 9))
		sum += part;
	return sum + rnd_below(r, part + 1);
}

static s64 seek_error(u64 said_ns)
{
	s64 error = (s64)said_ns * d.ppm / 1000000;

	if (!d.spread)
		return error;
	return rnd_below(&d.r, 2) ? error + exponential(&d.r, d.spread) :
		error - exponential(&d.r, d.spread);
}

/* how much later than predicted a command ends whose head comes late by @error, wait @wait */
static s64 late_by(s64 error, s64 wait)
{
	s64 turns = 0;

	for (; error > wait + turns * PERIOD; turns++)
		;
	for (; error <= wait + (turns - 1) * PERIOD; turns--)
		;
	error -= wait + (turns - 1) * PERIOD;
	if (turns && error < d.inside)
		return turns * PERIOD - d.inside + error;
	return turns * PERIOD;
}

static void complete(void)
{
	struct dm_place from = { 0 }, to = { 0 };
	u32 cyls = 1 + rnd_below(&d.r, 1U << (1 + rnd_below(&d.r, 13)));
	struct fb_conservatism_leg leg = { .simple = true, .cause = d.cause };
	struct dm_access acc = { 0 };
	s64 believed, truth;

	to.cyl = min(cyls, (u32)CYLINDERS - 1);
	leg.dist = to.cyl;
	leg.slack_ns = d.least + rnd_below(&d.r, d.most - d.least);
	believed = dm_seek_ns(d.dm, &from, &to, false);
	truth = dm_seek_ns(d.said, &from, &to, false);
	truth += seek_error(truth);
	leg.late_ns = late_by(truth - believed, leg.slack_ns) + rnd_below(&d.r, 20001);
	if (rnd_below(&d.r, 1000000) < d.other_ppm)
		leg.late_ns += (1 + (s64)rnd_below(&d.r, 2)) * PERIOD;
	acc.seek_ns = believed;
	acc.latency_ns = leg.slack_ns;
	acc.total_ns = acc.seek_ns + acc.latency_ns + 120000 + d.inside;
	d.now += d.every;
	fb_seek_fit_learn(&d.c, d.now, d.dm, &leg, &acc);
	if (fb_seek_fit_due(&d.c, d.now))
		fb_seek_fit_apply(&d.c, d.now, d.dm);
}

static void run(u32 n)
{
	while (n--)
		complete();
}

/* the model's seek over @cyls is @ppm longer than said, to within @off ppm */
static void check_seek(const char *what, u32 cyls, s64 ppm, s64 off)
{
	struct dm_place from = { 0 }, to = { .cyl = cyls };
	s64 said = dm_seek_ns(d.said, &from, &to, false);
	s64 now = dm_seek_ns(d.dm, &from, &to, false);
	s64 got = (now - said) * 1000000 / said;

	if (got < ppm - off || got > ppm + off)
		fail_msg("%s: seeks over %u are %lld ppm longer, not %lld +- %lld", what, cyls,
			 (long long)got, (long long)ppm, (long long)off);
}

static void check_all(const char *what, s64 ppm, s64 off)
{
	static const u32 cyls[] = { 20, 100, 500, 2000, 8000 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cyls); i++)
		check_seek(what, cyls[i], ppm, off);
}

/* what does not change is not changed; what does is found, with and without noise */
TEST(test_slower)
{
	static const s64 truth[] = { 0, 30000, -30000, 60000 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(truth); i++) {
		disk_begin(5 + i);
		d.ppm = truth[i];
		run(100000);
		check_all("noise", truth[i], 8000);
		d.spread = 0;
		run(100000);
		check_all("no noise", truth[i], 4000);
		assert_false(fb_seek_fit_misfit(&d.c));
	}
}

/* as it warms up: 3 % in 20 minutes, and 100 or 5 requests a second */
TEST(test_warms_up)
{
	static const u64 every[] = { 10000000, 200000000 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(every); i++) {
		disk_begin(15 + i);
		d.every = every[i];
		while (d.now < 1200 * SECOND) {
			d.ppm = 30000 * d.now / (1200 * SECOND);
			complete();
		}
		check_seek("warm", 2000, 30000, 12000);
		run(1200 * SECOND / d.every);
		check_seek("later", 2000, 30000, 8000);
	}
}

/* who lands within the sectors wanted has lost a turn, though it ends before it is over */
TEST(test_lands_inside)
{
	disk_begin(25);
	d.inside = 600000;
	d.ppm = 20000;
	run(100000);
	check_all("inside", 20000, 6000);
}

/* one command in twenty loses turns whatever its wait: recovery, the drive's own business */
TEST(test_other_causes)
{
	disk_begin(35);
	d.other_ppm = 50000;
	run(200000);
	check_all("other causes", 0, 12000);
}

/* a slow zone's turn is no part of the seek. Seen to fail with the turn scaled as seeks are */
TEST(test_slow)
{
	const struct fb_conservatism_leg leg = {
		.simple = true, .dist = 100, .late_ns = PERIOD, .slack_ns = 60000,
	};
	struct dm_access acc = { .seek_ns = 2000000, .total_ns = 2100000, .end.cyl = 100 };
	s32 ppm[2];
	u32 slow;

	for (slow = 0; slow < 2; slow++) {
		disk_begin(45);
		if (slow) {
			dm_free(d.dm);
			d.dm = support_model_text(slow_text);
			acc.seek_ns += PERIOD;
			acc.total_ns += PERIOD;
		}
		fb_seek_fit_learn(&d.c, SECOND, d.dm, &leg, &acc);
		ppm[slow] = fb_seek_fit_ppm(&d.c);
	}
	assert_true(ppm[0] > 100);
	assert_int_equal(ppm[0], ppm[1]);
}

/* free reads go where there is room: what they lose says nothing of the median */
TEST(test_free_reads)
{
	disk_begin(55);
	d.ppm = 30000;
	d.cause = FB_CAUSE_AFTER;
	run(10000);
	d.cause = FB_CAUSE_SEPARATE;
	run(10000);
	check_all("free reads", 0, 0);
	assert_int_equal(d.c.trials, 0);
}

/*
 * Beside a scan few waits are short. Most trials then are far from the median and not late, and
 * say little each: seeks that are right are still found so, on the mean of many moments.
 */
TEST(test_ample)
{
	s64 sum = 0;
	u32 i;

	disk_begin(105);
	d.every = 50000000;
	d.least = 100000;
	d.most = 600000;
	run(20000);
	for (i = 0; i < 800; i++) {
		run(100);
		sum += fb_seek_fit_ppm(&d.c);
	}
	if (sum / 800 < -1500 || sum / 800 > 1500)
		fail_msg("seeks are %lld ppm longer on the mean", (long long)(sum / 800));
}

/* what is applied moves by small steps, and never beyond its bound */
TEST(test_steps)
{
	u64 moved = 0, since = 0;
	s32 last = 0;
	u32 n;

	disk_begin(65);
	d.ppm = 300000;
	d.every = SECOND / 5;
	for (n = 0; n < 100000; n++) {
		complete();
		if (d.c.applied == last)
			continue;
		assert_in_range(d.c.applied - last + 2000, 0, 4000);
		assert_true(!moved || d.now - since >= 4 * SECOND);
		last = d.c.applied;
		since = d.now;
		moved++;
	}
	assert_true(moved > 40);
	assert_in_range(last, FB_SEEK_FIT_MOST_PPM * 9 / 10, FB_SEEK_FIT_MOST_PPM);
	assert_true(fb_seek_fit_misfit(&d.c));
}

/* a model that did not fit is judged anew, and gets back what it had got */
TEST(test_forgets)
{
	s32 applied;

	disk_begin(85);
	d.ppm = 300000;
	d.every = SECOND / 5;
	run(10000);
	assert_true(fb_seek_fit_misfit(&d.c));
	applied = d.c.applied;
	assert_true(applied > 50000);
	fb_seek_fit_forget(&d.c, d.dm);
	assert_false(fb_seek_fit_misfit(&d.c));
	assert_int_equal(d.c.applied, applied);
	d.ppm = 0;
	run(20000);
	check_all("forgotten", 0, 8000);
	d.ppm = 300000;
	run(10000);
	assert_true(fb_seek_fit_misfit(&d.c));
}

/* of any distance on no seek is shorter than the floor says, whatever the corrections */
TEST(test_floor)
{
	struct disk_model *dm = support_model_text(disk_text);
	struct dm_place from = { 0 }, to = { 0 };
	struct rnd r = { 75 };
	u32 k;

	for (k = 0; k < 20; k++) {
		u64 least = U64_MAX;

		dm_correct(dm, (s32)rnd_below(&r, 200001) - 100000);
		for (to.cyl = CYLINDERS - 1; to.cyl; to.cyl--) {
			least = min(least, dm_seek_ns(dm, &from, &to, false));
			least = min(least, dm_seek_ns(dm, &from, &to, true));
			assert_true(dm_seek_floor_ns(dm, to.cyl) <= least);
		}
	}
	dm_free(dm);
}

/* a write settles for as long as ever */
TEST(test_settle)
{
	struct disk_model *dm = support_model_text(disk_text);
	struct dm_place from = { 0 }, to = { .cyl = 1024 };

	dm_correct(dm, 30000);
	assert_in_range(dm_seek_ns(dm, &from, &to, false), 3605000 - 5, 3605000 + 5);
	assert_in_range(dm_seek_ns(dm, &from, &to, true), 4005000 - 5, 4005000 + 5);
	/* a head switch is not corrected */
	to = (struct dm_place) { .cyl = from.cyl, .head = !from.head };
	assert_int_equal(dm_seek_ns(dm, &from, &to, false), 300000);
	dm_free(dm);
}

/*
 * What is known becomes less certain with time: by 20,000 ppm^2 a second, for ten minutes without
 * a trial, and to 2 %.
 */
TEST(test_ages)
{
	static const struct {
		u64 now;
		u64 var;
	} all[] = {
		{ 100 * SECOND, 102000000 }, { 101 * SECOND - 1, 102000000 },
		{ 101 * SECOND, 102020000 }, { 3701 * SECOND, 114020000 },
	};
	struct fb_conservatism_leg leg = { .simple = true, .dist = 100, .late_ns = PERIOD / 2 };
	const struct dm_access acc = { .seek_ns = 2000000, .total_ns = 2100000 };
	u32 i;

	disk_begin(1);
	for (i = 0; i < ARRAY_SIZE(all); i++) {
		/* its end fits no turn, so it says nothing of seeks */
		fb_seek_fit_learn(&d.c, all[i].now, d.dm, &leg, &acc);
		assert_int_equal(d.c.var, all[i].var);
	}
	assert_int_equal(d.c.trials, 0);
	for (i = 1; i < 1000; i++)
		fb_seek_fit_learn(&d.c, (3701 + i * 600) * SECOND, d.dm, &leg, &acc);
	assert_int_equal(d.c.var, 20000ULL * 20000);
}
