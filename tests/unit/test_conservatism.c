// SPDX-License-Identifier: GPL-2.0
/*
 * Conservatism "auto" against a made-up disk: each request has a gap, a free read goes into
 * it when two ways and the margins that are worth their price leave room, seeks err by a
 * distribution that the test chooses, and the test counts turns lost against the same foreground
 * alone.
 * Expectations come from core/conservatism.h and from the distribution's own quantiles.
 */
#include "core/conservatism.h"
#include "support.h"

#define PERIOD 6000000ULL
#define SERVICE 6300000ULL	/* from one foreground request to the next */
#define GRANULE 150000		/* slack beyond the conservatism is up to this */
#define SECOND 1000000000ULL
#define READ 3000000ULL		/* a gap's mean value, as time for reading */

/* how seeks err, and what it cost */
static struct disk {
	struct rnd r;	/* random numbers */
	struct fb_conservatism m;	/* what is tested */
	u64 now;	/* the time */
	u64 spread;	/* mean of the exponential errors to either side */
	s64 bias;	/* what seeks take longer than believed */
	/* lost by free reads, less those that the foreground alone would have lost */
	s64 turns;
	u64 reads;	/* free reads */
} d;

/* ln(2^64 / x), 16 binary places, by squaring */
static u64 log_q16(u64 x)
{
	unsigned int lead = 63 - __fls(x), i;
	u64 y = (x << lead) >> 32, log2 = (u64)lead << 16;

	for (i = 1; i <= 16; i++) {
		y = y * y >> 31;
		if (y >> 32)
			y >>= 1;
		else
			log2 += 1U << (16 - i);
	}
	return log2 * 45426 >> 16;
}

static s64 seek_error(u32 dist)
{
	u64 x = rnd_next(&d.r) | 1;
	s64 error;

	if (!dist)
		return 0;
	error = d.spread * log_q16(x) >> 16;
	if (rnd_below(&d.r, 2))
		error = -error;
	return error + d.bias;
}

static u32 some_distance(void)
{
	return rnd_below(&d.r, 6) ? rnd_below(&d.r, 1 << (1 + rnd_below(&d.r, 13))) : 0;
}

static u64 floor_of(enum fb_conservatism_kind kind)
{
	return d.m.odds.floor_ns[kind];
}

static u32 chance(u64 margin_ns)
{
	return fb_conservatism_chance(d.m.odds.chance[FB_CONSERVATISM_SEEK], margin_ns);
}

static u32 late_per_mille(u64 margin_ns)
{
	return chance(margin_ns) * 1000 >> 16;
}

/* what a turn costs that is lost with a chance of 16 binary places, as time for reading */
static u64 price_ns(u32 chance)
{
	return (d.m.odds.price * READ >> 8) * chance >> 16;
}

/* the margin whose last microsecond is worth what it costs, as a search finds it */
static u64 margin(void)
{
	u64 ns = floor_of(FB_CONSERVATISM_SEEK), step = FB_CONSERVATISM_BIN_NS;

	while (price_ns(chance(ns) - chance(ns + step)) > step)
		ns += step / 4;
	return ns;
}

static s32 turns_of(s64 error, u64 slack)
{
	if (error > (s64)slack)
		return 1 + (error - slack) / PERIOD;
	return error < (s64)slack - (s64)PERIOD ? -1 : 0;
}

/* one leg gone: the turns it lost */
static s32 go(enum fb_cause cause, u32 dist, u64 slack, u64 gap)
{
	s32 turns = turns_of(seek_error(dist), slack);

	fb_conservatism_learn(&d.m, d.now, &(struct fb_conservatism_leg) {
		.dist = dist,
		.cause = cause,
		.slack_ns = slack,
		.gap_ns = gap,
		.late_ns = turns * (s64)PERIOD + (s64)rnd_below(&d.r, 20000),
		.simple = true,
	});
	return turns;
}

static s32 alone(u32 dist, u64 gap)
{
	return turns_of(seek_error(dist), gap);
}

static void request(bool free)
{
	u64 gap = rnd_below(&d.r, PERIOD);
	u32 to = some_distance(), on = some_distance();
	const u16 *gained = d.m.odds.chance[FB_CONSERVATISM_EARLY];
	u64 con = margin(), early = fb_conservatism_chance(gained, PERIOD - gap);

	d.now += SERVICE;
	/* in one gap of eight nothing is found: that shows what others would gain */
	if (!free || gap < 2 * con + 1000000 || price_ns(early) > READ ||
	    !rnd_below(&d.r, 8)) {
		go(FB_CAUSE_PLAIN, to, gap, 0);
		return;
	}
	d.reads++;
	d.turns += go(FB_CAUSE_SEPARATE, to, con + rnd_below(&d.r, GRANULE), 0);
	d.turns += go(FB_CAUSE_AFTER, on, con + rnd_below(&d.r, GRANULE), gap);
	d.turns -= alone(to, gap);
}

static void run(u32 seconds, bool free)
{
	u64 end = d.now + seconds * SECOND;

	while (d.now < end)
		request(free);
}

static void new_disk(u64 mean)
{
	struct disk_model *dm = support_model_text("fbmodel 1\nvendor A\nproduct B\n"
		"sectors 100000\ncylinders 10000\nheads 1\nhead_order plain\n"
		"period_ps 6000000000\nhead_switch_ns 0\nwrite_settle_ns 0\nzero_latency no\n"
		"seek 9999 9000000\n"
		"zone 0 9999 spt 10 angle 0 track_skew 0 cyl_skew 0 dead 0 spares 0\n");

	d = (struct disk) { .r = { 7 }, .now = 1000 * SECOND, .spread = mean };
	fb_conservatism_init(&d.m, dm, FB_CONSERVATISM_TARGET_PPM);
	dm_free(dm);
}

/* foreground time lost to free reads over half an hour, ppm, after half an hour's learning */
static s64 cost_ppm(void)
{
	run(1800, true);
	d.turns = 0;
	run(1800, true);
	return d.turns * (s64)PERIOD / 1800000;
}

static void assert_cost(u32 least_percent, u32 most_percent)
{
	s64 ppm = cost_ppm();

	if (ppm < FB_CONSERVATISM_TARGET_PPM * least_percent / 100 ||
	    ppm > FB_CONSERVATISM_TARGET_PPM * most_percent / 100)
		fail_msg("%lld ppm instead of %d", (long long)ppm, FB_CONSERVATISM_TARGET_PPM);
}

static void assert_holds(void)
{
	assert_cost(80, 120);
}

/*
 * Spreads from 60 to 200 us (standard deviation; 1.41 times the mean). Seen to fail without
 * feedback, and without the turns that the foreground would gain.
 */
TEST(test_spreads)
{
	static const u64 mean[] = { 42426, 84853, 141421 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(mean); i++) {
		new_disk(mean[i]);
		assert_holds();
	}
}

/*
 * Head switches do not err and need next to nothing. Seen to fail with both kinds counted as one.
 */
TEST(test_kinds)
{
	new_disk(84853);
	assert_holds();
	assert_true(floor_of(FB_CONSERVATISM_STILL) <= FB_CONSERVATISM_BIN_NS);
	assert_true(fb_conservatism_chance(d.m.odds.chance[FB_CONSERVATISM_STILL], 50000) < 400);
	/* exponential: exp(-2) / 2 = 68 per mille are above twice the mean */
	assert_in_range(late_per_mille(169706), 45, 100);
}

/*
 * Seeks take 150 us more than the model says, or less. Turns that the foreground would
 * gain are then believed to be too many, or too few.
 */
TEST(test_wrong_model)
{
	u64 more_ns;

	new_disk(60000);
	d.bias = 150000;
	assert_cost(20, 120);
	more_ns = margin();
	new_disk(60000);
	d.bias = -150000;
	assert_cost(80, 130);
	assert_true(more_ns > margin() + 120000);
}

/*
 * The odds of an exponential error are half of exp(-margin / mean); a turn has the higher a
 * price the less it may cost. Seen to fail with bins shifted by two, odds halved, and a price that
 * moves the other way.
 */
TEST(test_odds)
{
	static const struct {
		u64 margin_ns;
		u32 percent;
	} odds[] = { { 50000, 28 }, { 100000, 15 }, { 200000, 5 }, { 400000, 0 } };
	u32 i, at;

	new_disk(84853);
	run(3600, true);
	for (i = 0; i < ARRAY_SIZE(odds); i++) {
		at = chance(odds[i].margin_ns) * 100 / 65536;
		assert_in_range(at + 5, odds[i].percent, odds[i].percent + 10);
	}
	assert_in_range(floor_of(FB_CONSERVATISM_SEEK), 25000, 65000);
	/* where the head stays: what its phase is good for, not 0 (seen to fail so) */
	assert_int_equal(floor_of(FB_CONSERVATISM_STILL), 20000);
	at = d.m.odds.price;
	d.m.target_ppm = FB_CONSERVATISM_TARGET_PPM / 5;
	run(600, true);
	assert_true(d.m.odds.price > 2 * at);
}

/*
 * Neither a pause nor a clock set back is taken for cheap reads. Seen to fail when a
 * window with a pause in it counts.
 */
TEST(test_clock)
{
	u32 price;

	new_disk(84853);
	run(600, true);
	d.now -= 500 * SECOND;
	price = d.m.odds.price;
	request(true);
	assert_int_equal(d.m.odds.price, price);
	run(4, true);
	d.now += 86400 * SECOND;
	request(true);
	assert_int_equal(d.m.odds.price, price);
}

/*
 * Ten times the target is less conservative, and held, too. Seen to fail with a constant
 * target.
 */
TEST(test_target)
{
	u32 before;
	s64 ppm;

	new_disk(84853);
	run(1800, true);
	before = d.m.odds.price;
	d.m.target_ppm = 10 * FB_CONSERVATISM_TARGET_PPM;
	ppm = cost_ppm();
	assert_true(d.m.odds.price < before);
	assert_in_range(ppm, 8 * FB_CONSERVATISM_TARGET_PPM, 12 * FB_CONSERVATISM_TARGET_PPM);
}

/* as the comments on its parameters say: 1 in 100 is late by 400 us, a turn is 14 gaps */
TEST(test_begins)
{
	new_disk(0);
	assert_int_equal(d.m.odds.price, 14 * 256);
	assert_in_range(chance(400000), 635, 675);
	/* e times as many in 97 us less */
	assert_in_range(chance(303000), 1730, 1830);
}

/* the leg of a command is its seek, if nothing but the seek decides when it ends */
TEST(test_legs)
{
	struct disk_model *dm = support_model_file("models/toy.fbmodel");
	struct fb_conservatism_leg leg;
	struct dm_place from = { 0 };
	struct dm_access acc;
	struct dm_track t;
	u32 cyl;

	assert_int_equal(0, dm_track_at(dm, 300, 2, &t));
	for (cyl = 290; cyl <= 310; cyl += 10) {
		from.cyl = cyl;
		assert_int_equal(0, dm_access(dm, &from, t.first_lbn + 8, 8, false, &acc));
		fb_conservatism_predict(&leg, dm, &from, 8, &acc);
		assert_int_equal(leg.dist, cyl == 300 ? 0 : 10);
		assert_int_equal(leg.slack_ns, acc.latency_ns);
		assert_true(leg.simple);
		/* a head switch within it */
		assert_int_equal(0, dm_access(dm, &from, t.first_lbn + t.nsect - 4, 8, false,
					      &acc));
		fb_conservatism_predict(&leg, dm, &from, 8, &acc);
		assert_int_equal(leg.dist, cyl == 300 ? 0 : 10);
		assert_false(leg.simple);
	}
	dm_free(dm);
}

/* what the cost grows by when the foreground after a free read is so much later */
static s64 charged(enum fb_cause cause, s64 late_ns)
{
	const struct fb_conservatism_leg leg = {
		.cause = cause, .late_ns = late_ns, .gap_ns = PERIOD / 2,
	};
	s64 before = d.m.cost_ns;

	fb_conservatism_learn(&d.m, SECOND, &leg);
	return d.m.cost_ns - before;
}

/*
 * Free reads are charged whole turns, two at most, as more is error recovery, less what the
 * foreground would have lost alone.
 */
TEST(test_charges)
{
	s64 usual;

	new_disk(0);
	fb_conservatism_learn(&d.m, SECOND, &(struct fb_conservatism_leg) { 0 });
	assert_int_equal(charged(FB_CAUSE_PLAIN, PERIOD), 0);
	usual = charged(FB_CAUSE_AFTER, 0);
	/* with half a turn's wait it would have lost or gained nothing but for the far bins */
	assert_true(usual <= 0 && usual > -1000);
	assert_int_equal(charged(FB_CAUSE_PREPEND, PERIOD / 2 - 1), usual);
	assert_int_equal(charged(FB_CAUSE_AFTER, PERIOD / 2), usual + (s64)PERIOD);
	assert_int_equal(charged(FB_CAUSE_AFTER, 2 * PERIOD), usual + 2 * (s64)PERIOD);
	assert_int_equal(charged(FB_CAUSE_AFTER, 5 * PERIOD), usual + 2 * (s64)PERIOD);
	assert_int_equal(charged(FB_CAUSE_AFTER, -3 * (s64)PERIOD), usual - (s64)PERIOD);
	assert_int_equal(charged(FB_CAUSE_SEPARATE, PERIOD), PERIOD);
	assert_int_equal(charged(FB_CAUSE_SEPARATE, -(s64)PERIOD), 0);
}

/* so many windows of eight seconds in which the foreground after free reads ends so late */
static void windows(u64 *now, u32 n, s64 late_ns)
{
	const struct fb_conservatism_leg leg = {
		.cause = FB_CAUSE_AFTER, .late_ns = late_ns, .gap_ns = PERIOD / 2,
		.slack_ns = PERIOD / 2, .simple = true,
	};
	u32 i;

	for (n *= 16; n; n--) {
		*now += SECOND / 2;
		for (i = 0; i < 4; i++)
			fb_conservatism_learn(&d.m, *now, &leg);
	}
}

/* the price keeps within bounds however long free reads cost nothing, or far too much */
TEST(test_bounds)
{
	u64 now = SECOND;

	new_disk(0);
	windows(&now, 400, 0);
	assert_int_equal(d.m.odds.price, 64);
	windows(&now, 400, PERIOD);
	assert_int_equal(d.m.odds.price, 256 * 256);
}

/* trials count half after twelve minutes without any */
TEST(test_fades)
{
	u64 now = SECOND;
	u32 before, i;

	new_disk(0);
	windows(&now, 100, PERIOD);
	before = d.m.tail[0][FB_CONSERVATISM_BINS - 1].n;
	assert_true(before > 10000);
	for (i = 0; i < 12 * 60; i++) {
		now += SECOND;
		fb_conservatism_learn(&d.m, now, &(struct fb_conservatism_leg) { 0 });
	}
	assert_in_range(d.m.tail[0][FB_CONSERVATISM_BINS - 1].n, before * 49 / 100,
			before * 51 / 100);
	assert_in_range(d.m.tail[0][FB_CONSERVATISM_BINS - 1].lost, before * 49 / 100,
			before * 51 / 100);
}
