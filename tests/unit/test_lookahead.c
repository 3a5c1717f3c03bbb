// SPDX-License-Identifier: GPL-2.0
/*
 * The probe of look-ahead against made-up drives whose commands are late with shares that
 * the test chooses. Expectations come from core/lookahead.h and from the theory of sequential tests
 * (Wald): wrong verdicts in one of 1024, and the numbers of trials that follow from the
 * drift of the scores. Which lifts a plan uses: against plans made by hand, and those of
 * a search that may not use them.
 */
#include "core/lookahead.h"
#include "support.h"

#define GAP_NS 7500000ULL	/* from one foreground request to the next */
#define SECOND 1000000000ULL
#define RUNS 500
#define BOTH (FB_LIFT_SOURCE | FB_LIFT_DEST)

/* what becomes of its commands, and how they were sent */
static struct drive {
	struct rnd r;	/* random numbers */
	struct fb_lookahead p;	/* what is tested */
	u64 now;	/* the time */
	u32 usual;	/* share of commands that are late anyhow, ppm */
	u32 at[2];	/* of those that read where the head was, by lift, besides */
	u32 behind[2];	/* of those behind them, besides */
	u32 early;	/* share of the commands that a lift concerns that gain a turn */
	/* of what is not mechanical; FB_HEAD_MECHANICAL: a turn late */
	enum fb_head_verdict verdict;
	u32 used[2];	/* trials, by lift */
} d;

static const u32 bit[] = { FB_LIFT_SOURCE, FB_LIFT_DEST };

static void new_drive(u64 seed, u32 usual)
{
	d = (struct drive) { .r = { seed }, .now = 1000 * SECOND, .usual = usual };
	fb_lookahead_init(&d.p);
}

int setup(void **state)
{
	new_drive(1, 0);
	return 0;
}

static void command(u8 at, u8 behind, bool ours)
{
	struct fb_lookahead_mark mark = { .at = at, .behind = behind, .ours = ours };
	struct fb_head_end end = { .verdict = FB_HEAD_MECHANICAL };
	u32 share = d.usual, i;

	for (i = 0; i < 2; i++) {
		share += at & bit[i] ? d.at[i] : 0;
		share += behind & bit[i] ? d.behind[i] : 0;
	}
	if (rnd_below(&d.r, 1000000) < share) {
		end.verdict = d.verdict;
		end.turns = d.verdict == FB_HEAD_MECHANICAL;
	} else if ((at || behind) && rnd_below(&d.r, 1000000) < d.early) {
		end.turns = -1;
	}
	fb_lookahead_seen(&d.p, d.now, &mark, &end);
}

/* a gap with a free read, and another without */
static u32 gap(u32 wanted)
{
	u32 lifts = fb_lookahead_allowed(&d.p, wanted, d.now);

	d.now += GAP_NS;
	d.used[0] += !!(lifts & FB_LIFT_SOURCE);
	d.used[1] += !!(lifts & FB_LIFT_DEST);
	command(lifts & FB_LIFT_SOURCE, 0, true);
	command(lifts & FB_LIFT_DEST, lifts & FB_LIFT_SOURCE, true);
	command(0, lifts & FB_LIFT_DEST, false);
	return lifts;
}

/* until both lifts have a verdict; how many gaps with a trial each that took */
static u32 decide(void)
{
	u32 gaps = 0;

	while (d.p.lift[0].state == FB_LOOKAHEAD_TRIAL ||
	       d.p.lift[1].state == FB_LOOKAHEAD_TRIAL) {
		gap(BOTH);
		assert_true(++gaps < 100000);
	}
	return gaps / (2 * FB_LOOKAHEAD_GAPS);
}

static void run(u32 seconds)
{
	u64 end = d.now + seconds * SECOND;

	while (d.now < end)
		gap(BOTH);
}

static void assert_says(u32 lift, const char *says)
{
	char text[FB_LOOKAHEAD_TEXT];

	assert_int_equal(fb_lookahead_describe(&d.p, lift, d.now, text, sizeof(text)),
			 strlen(says));
	assert_string_equal(text, says);
}

/* One gap in eight tries one lift, by turns. Seen to fail with both lifts in the same gap. */
TEST(test_turns)
{
	u32 i, lifts, source = 0, dest = 0;

	for (i = 0; i < 2 * FB_LOOKAHEAD_GAPS * 10; i++) {
		lifts = fb_lookahead_allowed(&d.p, BOTH | FB_LIFT_SEVERAL, d.now);
		assert_true(lifts & FB_LIFT_SEVERAL);
		assert_int_not_equal(lifts & BOTH, BOTH);
		source += !!(lifts & FB_LIFT_SOURCE);
		dest += !!(lifts & FB_LIFT_DEST);
	}
	assert_int_equal(source, 10);
	assert_int_equal(dest, 10);
	for (i = 0; i < 100; i++)
		assert_int_equal(fb_lookahead_allowed(&d.p, FB_LIFT_SEVERAL, d.now),
				 FB_LIFT_SEVERAL);
}

/* What the drive says about itself is believed. Seen to fail when old evidence is kept. */
TEST(test_off)
{
	u32 i;

	d.behind[0] = 1000000;
	d.behind[1] = 1000000;
	fb_lookahead_off(&d.p, true);
	for (i = 0; i < 1000; i++)
		assert_int_equal(gap(BOTH), BOTH);
	assert_says(FB_LIFT_SOURCE, "allowed (look-ahead off)");
	fb_lookahead_off(&d.p, false);
	assert_says(FB_LIFT_SOURCE, "trial 0/71");
	decide();
	assert_int_equal(d.p.lift[0].state, FB_LOOKAHEAD_REFUSED);
	assert_int_equal(d.p.lift[1].state, FB_LOOKAHEAD_REFUSED);
	fb_lookahead_off(&d.p, true);
	assert_int_equal(gap(BOTH), BOTH);
	fb_lookahead_off(&d.p, false);
	assert_int_equal(d.p.lift[0].state, FB_LOOKAHEAD_TRIAL);
	assert_int_equal(d.p.lift[0].pause_ns, FB_PAUSE_NS);
}

/* how many of RUNS drives have a lift refused; trials until both have a verdict, mean */
static u32 refused(u32 *trials)
{
	const struct drive like = d;
	u32 seed, count = 0, sum = 0;

	for (seed = 1; seed <= RUNS; seed++) {
		d = like;
		d.r.state = seed;
		sum += decide();
		count += d.p.lift[0].refusals || d.p.lift[1].refusals;
	}
	*trials = sum / RUNS;
	return count;
}

/*
 * Not triggered: allowed after some hundred trials (half a minute), be few commands late
 * anyhow or many; some gain a turn. Four tests per drive, each wrong once in 1024 at worst:
 * 2 of 500 drives. Seen to fail with a test against a share of 2 % instead of an excess, and
 * when turns gained count as bad.
 */
TEST(test_not_triggered)
{
	static const struct {
		u32 usual;
		u32 least;
		u32 most;
	} rows[] = {
		{ 0, 74, 80 },
		{ 10000, 96, 140 },
		{ 30000, 130, 210 },
		{ 80000, 200, 360 },
		{ 300000, 300, 900 },
	};
	u32 i, trials;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		new_drive(1, rows[i].usual);
		d.early = 200000;
		assert_true(refused(&trials) <= 2);
		assert_in_range(trials, rows[i].least, rows[i].most);
	}
}

/*
 * Triggered: refused within tens, whichever command is hit and by whatever. Seen to fail
 * when only late ones count; never to end when the command behind is not looked at.
 */
TEST(test_triggered)
{
	u32 i, trials;

	for (i = 0; i < 8; i++) {
		u32 *share = i & 1 ? d.at : d.behind;
		u32 most = i & 4 ? 30 : 90;

		new_drive(1, 10000);
		share[0] = i & 4 ? 600000 : 200000;
		share[1] = share[0];
		d.verdict = i & 2 ? FB_HEAD_EARLY : FB_HEAD_MECHANICAL;
		assert_true(refused(&trials) >= RUNS - 1);
		assert_in_range(trials, 4, most);
	}
}

/*
 * An hour with a drive that is triggered: refused after a minute, two, four, ... and tried
 * for some dozen turns in all; in a day no more than some hundred. Seen to fail with a pause
 * that does not grow, and with one that has no bound.
 */
TEST(test_pauses)
{
	u64 pause = FB_PAUSE_NS, at;
	u32 i;

	new_drive(3, 10000);
	d.behind[0] = 700000;
	for (i = 0; i < 9; i++) {
		while (d.p.lift[0].refusals == i)
			gap(FB_LIFT_SOURCE);
		assert_int_equal(d.p.lift[0].until_ns, d.now + pause);
		at = d.now;
		d.now += pause - GAP_NS;
		assert_int_equal(fb_lookahead_allowed(&d.p, BOTH, d.now) & FB_LIFT_SOURCE, 0);
		assert_int_equal(d.p.lift[0].state, FB_LOOKAHEAD_REFUSED);
		d.now = at + pause;
		fb_lookahead_allowed(&d.p, BOTH, d.now);
		assert_int_equal(d.p.lift[0].state, FB_LOOKAHEAD_TRIAL);
		pause = min_t(u64, 2 * pause, FB_PAUSE_MAX_NS);
	}
	assert_int_equal(pause, FB_PAUSE_MAX_NS);
	assert_true(d.used[0] < 9 * 20);
}

/*
 * The drive changes its mind after an hour: refused within tens, without blame for the other
 * lift; after another hour of good behaviour the first pause is a minute again. Seen to fail
 * when the sum is not kept from falling below 0, when blame stays, and when pauses do;
 * never to end when an allowed lift is not watched.
 */
TEST(test_changes)
{
	u32 used;

	new_drive(9, 10000);
	run(3600);
	assert_int_equal(d.p.lift[0].state, FB_LOOKAHEAD_ALLOWED);
	used = d.used[0];
	assert_true(used > 450000);
	d.behind[0] = 500000;
	while (d.p.lift[0].state == FB_LOOKAHEAD_ALLOWED)
		gap(BOTH);
	assert_in_range(d.used[0] - used, 11, 80);
	assert_int_equal(d.p.lift[0].state, FB_LOOKAHEAD_REFUSED);
	assert_int_equal(d.p.lift[1].state, FB_LOOKAHEAD_ALLOWED);
	run(500);
	assert_int_equal(d.p.lift[0].refusals, 4);
	assert_true(d.p.lift[0].pause_ns > 4 * FB_PAUSE_NS);
	d.behind[0] = 0;
	run(3600);
	assert_int_equal(d.p.lift[0].state, FB_LOOKAHEAD_ALLOWED);
	d.behind[0] = 500000;
	while (d.p.lift[0].state == FB_LOOKAHEAD_ALLOWED)
		gap(BOTH);
	assert_int_equal(d.p.lift[0].until_ns, d.now + FB_PAUSE_NS);
}

/*
 * Ordinary commands of ours are late more often than plain ones when the conservatism is
 * small. That is not the lift's. Seen to fail with one base for both.
 */
TEST(test_like_with_like)
{
	u32 seed, i, count = 0;

	for (seed = 1; seed <= 200; seed++) {
		new_drive(seed, 0);
		for (i = 0; i < 100000 && d.p.lift[0].state == FB_LOOKAHEAD_TRIAL; i++) {
			u32 lifts = fb_lookahead_allowed(&d.p, FB_LIFT_SOURCE, d.now);

			d.usual = 200000;
			command(lifts, 0, true);
			command(0, lifts, true);
			d.usual = 5000;
			command(0, 0, false);
		}
		count += d.p.lift[0].state == FB_LOOKAHEAD_REFUSED;
	}
	assert_true(count <= 4);
}

/* What people read. Seen to fail when one of a lift's two tests is enough. */
TEST(test_describe)
{
	u32 i;

	for (i = 0; i < 200; i++)
		command(FB_LIFT_DEST, 0, true);
	assert_says(FB_LIFT_DEST, "trial 0/71");
	for (i = 0; i < 20; i++)
		command(FB_LIFT_DEST, FB_LIFT_DEST, true);
	assert_says(FB_LIFT_SOURCE, "trial 0/71");
	assert_says(FB_LIFT_DEST, "trial 20/71");
	for (; i < 71; i++)
		command(FB_LIFT_DEST, FB_LIFT_DEST, true);
	assert_says(FB_LIFT_DEST, "allowed (not triggered in 71 trials)");
	d.at[0] = 1000000;
	while (d.p.lift[0].state == FB_LOOKAHEAD_TRIAL)
		command(FB_LIFT_SOURCE, FB_LIFT_SOURCE, true);
	d.now += SECOND / 2;
	assert_says(FB_LIFT_SOURCE, "refused (6 of 6 late), next trial in 60 s");
	d.now += SECOND;
	assert_says(FB_LIFT_SOURCE, "refused (6 of 6 late), next trial in 59 s");
	d.p.lift[0].bad = U32_MAX;
	d.p.lift[0].n = U32_MAX;
	assert_says(FB_LIFT_SOURCE,
		    "refused (4294967295 of 4294967295 late), next trial in 59 s");
}

/* ---- plans ---- */

/* 3 heads, 100 sectors a track: LBN / 100 is the number of the track */
static const char plain_disk[] =
	"fbmodel 1\n"
	"vendor TEST\n"
	"product PLAIN\n"
	"sectors 30000\n"
	"cylinders 100\n"
	"heads 3\n"
	"head_order plain\n"
	"period_ps 6000000000\n"
	"head_switch_ns 200000\n"
	"write_settle_ns 400000\n"
	"zero_latency yes\n"
	"seek 1 700000\n"
	"seek 99 2600000\n"
	"zone 0 99 spt 100 angle 0 track_skew 0.11 cyl_skew 0.3 dead 0 spares 0\n";

#define TRACK(n) (100 * (n))

/* a plan, and what its commands use */
struct row {
	enum fb_plan_kind kind;	/* of the plan */
	struct fb_plan_piece piece[3];	/* its pieces; the rest is empty */
	u32 lifts[4];	/* of each command */
};

/* from track 10 to track 20 */
static const struct row rows[] = {
	{ .kind = FB_PLAN_NONE },
	{ FB_PLAN_PREPEND, { { TRACK(20), 40 } }, { 0 } },
	{ FB_PLAN_SEPARATE, { { TRACK(15), 8 } }, { 0, 0 } },
	{ FB_PLAN_SEPARATE, { { TRACK(10), 8 } }, { FB_LIFT_SOURCE, 0 } },
	{ FB_PLAN_SEPARATE, { { TRACK(20), 8 } }, { 0, FB_LIFT_DEST } },
	{ FB_PLAN_SEPARATE, { { TRACK(10) + 96, 8 } }, { FB_LIFT_SOURCE, 0 } },
	{ FB_PLAN_SEPARATE, { { TRACK(19) + 96, 8 } }, { 0, FB_LIFT_DEST } },
	{ FB_PLAN_SEPARATE, { { TRACK(20) + 96, 8 } }, { 0, 0 } },
	{ FB_PLAN_SEPARATE, { { TRACK(15) + 80, 8 }, { TRACK(15), 8 } }, { 0, BOTH, 0 } },
	{ FB_PLAN_SEPARATE, { { TRACK(10) + 80, 8 }, { TRACK(15), 8 }, { TRACK(20), 8 } },
	  { FB_LIFT_SOURCE, 0, 0, FB_LIFT_DEST } },
	{ FB_PLAN_BOTH, { { TRACK(20) + 80, 8 }, { TRACK(20), 40 } }, { 0, FB_LIFT_DEST } },
	{ FB_PLAN_BOTH, { { TRACK(10) + 80, 8 }, { TRACK(20), 40 } }, { FB_LIFT_SOURCE, 0 } },
};

/* each command of the plan, the foreground's among them, uses what @row says */
static void assert_lifts(const struct disk_model *dm, const struct fb_gap *gap,
			 const struct row *row)
{
	struct fb_plan plan = { .kind = row->kind };
	u32 commands, i;

	while (plan.npieces < ARRAY_SIZE(row->piece) && row->piece[plan.npieces].nsect) {
		plan.piece[plan.npieces] = row->piece[plan.npieces];
		plan.npieces++;
	}
	commands = plan.npieces + (row->kind == FB_PLAN_NONE || row->kind == FB_PLAN_SEPARATE);
	for (i = 0; i < commands; i++)
		assert_int_equal(fb_lookahead_lifts(dm, gap, &plan, i), row->lifts[i]);
}

/*
 * A foreground that stays on its track uses nothing, what is read between does. Seen to fail
 * when a piece is taken to be where it begins, when a prepend counts as a piece, and when
 * the foreground is told to use the source.
 */
TEST(test_lifts)
{
	static const struct row stays = {
		FB_PLAN_SEPARATE, { { TRACK(10), 8 } }, { FB_LIFT_SOURCE, FB_LIFT_DEST },
	};
	struct disk_model *dm = support_model_text(plain_disk);
	struct fb_gap gap = { .dst_lbn = TRACK(20) + 40, .dst_nsect = 8 };
	u32 i;

	assert_int_equal(dm_place_of(dm, TRACK(10) + 50, &gap.src), 0);
	assert_int_equal(dm_place_of(dm, gap.dst_lbn, &gap.dst), 0);
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		assert_lifts(dm, &gap, &rows[i]);
	gap.dst_lbn = TRACK(10) + 70;
	assert_int_equal(dm_place_of(dm, gap.dst_lbn, &gap.dst), 0);
	assert_lifts(dm, &gap, &rows[0]);
	assert_lifts(dm, &gap, &stays);
	dm_free(dm);
}

/* so many commands that read where the head was, late or not, of a lift on trial */
static void marks(struct fb_lookahead *p, u32 n, bool late, u64 now)
{
	const struct fb_lookahead_mark mark = { .at = FB_LIFT_SOURCE, .ours = true };
	const struct fb_head_end end = { .verdict = FB_HEAD_MECHANICAL, .turns = late };

	while (n--)
		fb_lookahead_seen(p, now, &mark, &end);
}

/*
 * Where nine of ten commands are late anyhow, half is taken for usual: then a late one is 0.45
 * worse, and 4 + 48 * 0.5 is more than 62 of them.
 */
TEST(test_usual)
{
	const struct fb_lookahead_mark plain = { .ours = true };
	struct fb_head_end end = { .verdict = FB_HEAD_MECHANICAL };
	struct fb_lookahead p;
	u32 i;

	fb_lookahead_init(&p);
	for (i = 0; i < 1000; i++) {
		end.turns = i % 10 > 0;
		fb_lookahead_seen(&p, SECOND, &plain, &end);
	}
	marks(&p, 62, true, SECOND);
	assert_int_equal(p.lift[0].state, FB_LOOKAHEAD_TRIAL);
	marks(&p, 1, true, SECOND);
	assert_int_equal(p.lift[0].state, FB_LOOKAHEAD_REFUSED);
}
