// SPDX-License-Identifier: GPL-2.0
/*
 * Head and phase tracking against synthetic drives: a platter that turns at a known
 * rate, commands that end at known angles, reports that come late by a known spread.
 * What the tracker believes is compared with what the platter does.
 *
 * Planted bugs, each seen to fail: the latest of a window taken for its edge (test_jitter);
 * fb_head_learn_period() that does nothing, the anchor not moved to the window's edge (test_speed);
 * report overhead not taken off (test_jitter); trust not halved (test_jump); hold not heeded
 * (test_reset); ns * 1000 without the reduction (test_long_times); no allowance for what a report
 * may be ahead of the phase (test_on_the_heels).
 */
#include "core/head.h"
#include "support.h"

/* 6 ms per turn; reports 150 us after the medium for reads, 80 us for writes */
static const char small_disk[] =
	"fbmodel 1\n"
	"vendor TEST\n"
	"product SMALL\n"
	"sectors 9000\n"
	"cylinders 30\n"
	"heads 3\n"
	"head_order plain\n"
	"period_ps 6000000000\n"
	"head_switch_ns 200000\n"
	"write_settle_ns 400000\n"
	"zero_latency no\n"
	"read_report_ns 150000\n"
	"write_report_ns 80000\n"
	"seek 1 700000\n"
	"seek 29 1600000\n"
	"zone 0 29 spt 100 angle 0 track_skew 0.11 cyl_skew 0.3 dead 0 spares 0\n";

#define PERIOD_PS 6000000000ULL
#define READ_REPORT_NS 150000
#define WRITE_REPORT_NS 80000
#define SECOND_NS 1000000000ULL

static struct disk_model *dm;
static struct fb_head h;
static struct fb_head_end out;
static struct dm_place end;

/* the truth */
struct platter {
	struct rnd r;	/* random numbers */
	s64 ppm;	/* how much longer a turn takes than the model says */
	s64 warms;	/* ppm by which it turns faster an hour later */
	u32 phase;	/* angle at time 0 */
	u64 jitter_ns;	/* reports are late by 0 .. this */
	u64 now;	/* media end of the last command, ns */
	u64 chain;	/* predicted media end of the next one is computed from here */
};

static double true_period_ns(const struct platter *p)
{
	return PERIOD_PS / 1e3 * (1 + p->ppm / 1e6);
}

static u32 true_angle(const struct platter *p, u64 ns)
{
	long double turns = ns / (long double)true_period_ns(p);

	turns += turns * p->warms / 1e6L * ns / (2 * 3600e9L);
	return p->phase + (u32)(u64)((turns - (u64)turns) * 4294967296.0L);
}

/* the tracker's angle minus the truth, in ns */
static double angle_error_ns(const struct platter *p, u64 ns)
{
	return (s32)(true_angle(p, ns) - fb_head_angle(&h, ns)) / 4294967296.0 * 6e6;
}

static double period_error_ppm(const struct platter *p)
{
	return (h.period_ps / 1e3 - true_period_ns(p)) / true_period_ns(p) * 1e6;
}

/* the next command ends 2 to 14 ms later, now and then after a pause; it was predicted */
static void next_end(struct platter *p)
{
	u64 step = 2000000 + rnd_below(&p->r, 12000000);

	if (rnd_below(&p->r, 50) == 0)
		step += rnd_below(&p->r, 60000000);
	p->now += step;
	end.cyl = rnd_below(&p->r, 30);
	end.head = rnd_below(&p->r, 3);
	end.angle = true_angle(p, p->now);
}

static u64 report(struct platter *p, bool write)
{
	return p->now + (write ? WRITE_REPORT_NS : READ_REPORT_NS) +
	       (p->jitter_ns ? rnd_below(&p->r, p->jitter_ns + 1) : 0);
}

/* one ordinary completion; predicted right but for @turns_off missed turns */
static void ordinary(struct platter *p, s32 turns_off)
{
	bool write = rnd_below(&p->r, 3) == 0;
	u64 pred;

	next_end(p);
	pred = p->now - turns_off * (s64)true_period_ns(p);
	fb_head_complete(&h, report(p, write), &end, pred, p->now - 1900000, 500000, write, &out);
}

static void settle(struct platter *p, u32 n)
{
	while (n--)
		ordinary(p, 0);
}

/* reports late by up to 100 us: all mechanical, ends known to a few us, never early by much */
TEST(test_jitter)
{
	static const u64 jitter[] = { 0, 20000, 100000 };
	u32 i, k;

	for (k = 0; k < ARRAY_SIZE(jitter); k++) {
		struct platter p = { .r = { 31 + k }, .jitter_ns = jitter[k], .phase = 12345 };
		struct dm_place at;

		fb_head_init(&h, dm);
		assert_false(fb_head_locked(&h, 0));
		for (i = 0; i < FB_HEAD_LOCK; i++) {
			assert_false(fb_head_locked(&h, p.now));
			ordinary(&p, 0);
			assert_int_equal(out.verdict, FB_HEAD_MECHANICAL);
		}
		assert_true(fb_head_locked(&h, p.now));
		settle(&p, 200);
		for (i = 0; i < 3000; i++) {
			ordinary(&p, 0);
			assert_int_equal(out.verdict, FB_HEAD_MECHANICAL);
			assert_int_equal(out.turns, 0);
			/* the quartile of 32 uniform delays: 27 % of their spread, sd 8 % */
			assert_true(out.end_ns + 1000 >= p.now);
			assert_true(out.end_ns <= p.now + jitter[k] * 6 / 10 + 1000);
			assert_true(fb_head_now(&h, p.now + 1000000, &at));
			assert_int_equal(at.cyl, h.at.cyl);
			assert_true(angle_error_ns(&p, p.now + 1000000) <
				    jitter[k] * 0.6 + 1500);
		}
		assert_int_equal(h.mechanical, 3216);
		assert_int_equal(h.early + h.odd, 0);
		assert_int_equal(h.fits, 1000000);
	}
}

/* drives off by up to 500 ppm lock, and in two minutes the period is known to 1 ppm */
TEST(test_speed)
{
	static const s64 ppm[] = { -500, -100, 0, 3, 100, 500 };
	u32 i, k;

	for (k = 0; k < ARRAY_SIZE(ppm); k++) {
		struct platter p = { .r = { 41 + k }, .jitter_ns = 20000, .ppm = ppm[k] };

		fb_head_init(&h, dm);
		settle(&p, 100);
		assert_true(fb_head_locked(&h, p.now));
		while (p.now < 120 * SECOND_NS)
			settle(&p, 1);
		for (i = 0; i < 2000; i++) {
			double error;

			ordinary(&p, 0);
			assert_int_equal(out.verdict, FB_HEAD_MECHANICAL);
			error = period_error_ppm(&p);
			assert_true(error < 1 && error > -1);
			error = angle_error_ns(&p, p.now + 10000000);
			/* 27 % of 20 us, and what 1 ppm makes of a window's 300 ms */
			assert_true(error < 14000 && error > -2000);
		}
		assert_true(h.odd + h.early <= 2);
	}
}

/*
 * Nothing is predicted until the phase is trusted. Meanwhile every second read goes on right behind
 * the one before and takes a turn, for the head lands within it and it ends there: the phase is
 * trusted soon, and one that is wrong is given up. Seen to fail: odd completions halve the trust.
 */
TEST(test_unpredicted)
{
	struct platter p = { .r = { 37 } };
	u32 half = 1U << 31, i, n = 0;

	fb_head_init(&h, dm);
	for (i = 0; !fb_head_locked(&h, p.now) && i < 100; i++) {
		next_end(&p);
		end.angle += i % 3 == 2 ? half : 0;
		fb_head_complete(&h, report(&p, false), &end, 0, 0, 0, false, &out);
		assert_int_equal(out.verdict,
				 i % 3 == 2 ? FB_HEAD_ODD : FB_HEAD_MECHANICAL);
	}
	assert_in_range(i, 40, 50);

	settle(&p, FB_HEAD_LOCK);
	do {
		next_end(&p);
		end.angle += half;
		fb_head_complete(&h, report(&p, false), &end, 0, 0, 0, false, &out);
		n++;
	} while (out.verdict == FB_HEAD_ODD && n < 100);
	assert_in_range(n, FB_HEAD_LOCK, 66);
}

/* a read that needs its transfer time only, from the end of the one before: no cache hit */
TEST(test_on_the_heels)
{
	struct platter p = { .r = { 53 }, .jitter_ns = 20000 };
	u64 before;
	u32 i;

	fb_head_init(&h, dm);
	settle(&p, 300);
	for (i = 0; i < 300; i++) {
		ordinary(&p, 0);
		before = p.now;
		next_end(&p);
		fb_head_complete(&h, report(&p, false), &end, p.now, out.end_ns, p.now - before,
				 false, &out);
		assert_int_equal(out.verdict, FB_HEAD_MECHANICAL);
	}
}

/* the platter jumps (a spin-down nobody told of): the lock is lost, then found anew */
TEST(test_jump)
{
	struct platter p = { .r = { 81 }, .jitter_ns = 100000 };
	u32 i, odd = 0;

	fb_head_init(&h, dm);
	settle(&p, 300);
	p.phase += 0x60000000;
	for (i = 0; i < 12; i++) {
		ordinary(&p, 0);
		odd += out.verdict == FB_HEAD_ODD;
	}
	assert_true(odd >= 3);
	assert_false(fb_head_locked(&h, p.now));
	settle(&p, 60);
	assert_true(fb_head_locked(&h, p.now));
	assert_true(h.known);
	assert_true(angle_error_ns(&p, p.now) < 60000);
	assert_true(angle_error_ns(&p, p.now) > -20000);
}

/* reset: nothing is believed before the hold is over, then 16 completions lock */
TEST(test_reset)
{
	struct platter p = { .r = { 91 }, .jitter_ns = 100000 };
	struct dm_place at;
	u64 until;
	u32 i;

	fb_head_init(&h, dm);
	settle(&p, 300);
	until = p.now + SECOND_NS;
	fb_head_reset(&h, until);
	p.phase += 0x12345678;
	assert_false(fb_head_locked(&h, p.now));
	assert_false(fb_head_now(&h, p.now, &at));
	while (p.now + 200000000 < until) {
		ordinary(&p, 0);
		assert_int_equal(out.verdict, FB_HEAD_ODD);
		assert_false(h.anchored);
		assert_false(h.known);
	}
	p.now = until;
	for (i = 0; i < FB_HEAD_LOCK; i++)
		ordinary(&p, 0);
	assert_true(fb_head_locked(&h, p.now));
	assert_true(fb_head_now(&h, p.now, &at));
	fb_head_lose(&h);
	assert_false(fb_head_now(&h, p.now, &at));
	assert_true(fb_head_locked(&h, p.now));
	/* a guess is where it says, at the known angle; seen to fail without its cylinder */
	i = h.at.cyl + 3;
	fb_head_guess(&h, &(struct dm_place) { .cyl = i, .head = 1 });
	assert_true(fb_head_now(&h, p.now, &at));
	assert_int_equal(at.cyl, i);
	assert_int_equal(at.head, 1);
}

/* a phase that nothing confirmed for half a minute is not believed, and is then made anew */
TEST(test_belief)
{
	struct platter p = { .r = { 101 }, .jitter_ns = 100000 };

	fb_head_init(&h, dm);
	settle(&p, 3000);
	assert_true(fb_head_locked(&h, p.now + 29 * SECOND_NS));
	assert_false(fb_head_locked(&h, p.now + 31 * SECOND_NS));
	p.now += 3600 * SECOND_NS;
	ordinary(&p, 0);
	assert_int_equal(out.verdict, FB_HEAD_MECHANICAL);
	assert_false(fb_head_locked(&h, p.now));
	settle(&p, FB_HEAD_LOCK);
	assert_true(fb_head_locked(&h, p.now));
}

/* one command in @every takes a turn more than predicted, one in @odd ends anywhere */
static bool judged(s64 ppm, u32 every, u32 odd)
{
	struct platter p = { .r = { 131 }, .jitter_ns = 20000, .ppm = ppm };
	u32 i;

	fb_head_init(&h, dm);
	settle(&p, 199);
	assert_false(fb_head_misfit(&h));
	for (i = 0; i < 2000; i++) {
		if (odd && i % odd == 0) {
			next_end(&p);
			p.now += rnd_below(&p.r, 6000000);
			fb_head_complete(&h, report(&p, false), &end, p.now, 0, 0, false, &out);
		}
		ordinary(&p, every && i % every == 0);
	}
	return fb_head_misfit(&h);
}

/*
 * A model is wrong when too much does not end as it says, and not before. Seen to fail: no
 * look at the turns, none at the period's bound.
 */
TEST(test_misfit)
{
	assert_false(judged(0, 0, 0));
	assert_false(judged(1500, 0, 0));
	assert_false(judged(0, 10, 10));
	assert_true(judged(0, 3, 0));
	assert_true(judged(2200, 0, 0));
	assert_true(judged(6000, 0, 0));
}

/* few completions */
struct seldom {
	u64 every_ns;	/* one on the mean */
	u64 pause_ns;	/* now and then nothing for up to so long */
	s64 warms;	/* as in struct platter */
	u32 in_ppm;	/* at least so many ends lie within 35 us of where the phase said */
};

/*
 * An hour with few requests and pauses: wherever a moment is predicted, the phase is known,
 * though the drive turns ever faster. Reports are late by up to 20 us, so 35 us of the phase
 * are 50 us of a report. Seen to fail: FB_HEAD_BASE_TURNS taken for the turns of a longer
 * window, windows that last until they are full, a belief of a minute.
 */
TEST(test_seldom)
{
	static const struct seldom seldom[] = {
		{ 200000000, 0, 0, 999000 },
		{ 200000000, 0, 200, 999000 },
		{ 200000000, 29 * SECOND_NS, 200, 983000 },
		{ 200000000, 180 * SECOND_NS, -200, 994000 },
		{ 2 * SECOND_NS, 0, 0, 999000 },
		{ 2 * SECOND_NS, 0, 200, 994000 },
		{ 5 * SECOND_NS, 0, -200, 800000 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(seldom); i++) {
		const struct seldom *s = &seldom[i];
		struct platter p = { .r = { 71 + i }, .jitter_ns = 20000, .warms = s->warms };
		u32 n = 0, within = 0;

		fb_head_init(&h, dm);
		while (p.now < 3600 * SECOND_NS) {
			next_end(&p);
			p.now += s->every_ns / 2 + rnd_below(&p.r, s->every_ns);
			if (s->pause_ns && rnd_below(&p.r, 100) == 0)
				p.now += rnd_below(&p.r, s->pause_ns);
			end.angle = true_angle(&p, p.now);
			if (fb_head_locked(&h, p.now) && p.now > 400 * SECOND_NS) {
				double off_ns = angle_error_ns(&p, p.now);

				n++;
				within += off_ns > -35000 && off_ns < 35000;
			}
			fb_head_complete(&h, report(&p, false), &end, p.now, p.now - 1900000,
					 500000, false, &out);
		}
		print_message("every %llu ms, %lld ppm: %.3f %% of %u\n",
			      (unsigned long long)s->every_ns / 1000000, (long long)s->warms,
			      within * 100.0 / n, n);
		assert_true(n > 3000 * SECOND_NS / (s->every_ns + s->pause_ns / 100) / 2);
		assert_true(within >= (u64)n * s->in_ppm / 1000000);
	}
}

/* a year from the anchor, both ways, against 128-bit arithmetic; when() inverts angle() */
TEST(test_long_times)
{
	const u64 year = 365 * 86400 * SECOND_NS;
	struct rnd r = { 111 };
	u32 i;

	fb_head_init(&h, dm);
	h.anchored = true;
	for (i = 0; i < 20000; i++) {
		unsigned __int128 turned;
		u64 ns = rnd_below(&r, 2 * year), when, delta;
		u32 angle = rnd_next(&r);

		h.anchor_ns = year;
		h.anchor_angle = rnd_next(&r);
		h.period_ps = PERIOD_PS - 3000000 + rnd_below(&r, 6000000);
		delta = ns > year ? ns - year : year - ns;
		turned = (unsigned __int128)delta * 1000 % h.period_ps;
		turned = (turned << 32) / h.period_ps;
		assert_int_equal(fb_head_angle(&h, ns), ns > year ?
				 h.anchor_angle + (u32)turned : h.anchor_angle - (u32)turned);
		when = fb_head_when(&h, ns, angle);
		assert_true((when > ns ? when - ns : ns - when) <= h.period_ps / 2000 + 1);
		/* 1 ns is 716 units of angle */
		assert_true((u32)(fb_head_angle(&h, when) - angle + 720) <= 1440);
	}
}

int setup(void **state)
{
	dm = support_model_text(small_disk);
	return 0;
}

int teardown(void **state)
{
	dm_free(dm);
	return 0;
}
