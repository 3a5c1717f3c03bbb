// SPDX-License-Identifier: GPL-2.0
/*
 * What the drive would do alone: a small disk of 6 ms a turn whose phase is known. What its
 * requests would take is computed here from the model.
 *
 * Planted bugs, each seen to fail: the shadow's head follows the drive's (test_alone); the oldest
 * request goes first (test_order); a queue that is too long goes on (test_long); the disk is not
 * begun with anew after a request has vanished (test_merged); what is late is not learnt, or also
 * of commands with free reads (test_late), or of what others read or nobody predicted
 * (test_learns_of_others); requests are chosen before they come, or more steps are done at an event
 * (test_later); the drive sees 31 requests, or 33 (test_depth); writes report as reads do
 * (test_write); an unknown phase is followed, or one that is lost (test_unknown).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/shadow.h"
#include "support.h"

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
	"read_overhead_ns 100000\n"
	"write_overhead_ns 3000000\n"
	"read_report_ns 150000\n"
	"write_report_ns 80000\n"
	"seek 1 700000\n"
	"seek 29 1600000\n"
	"zone 0 29 spt 100 angle 0 track_skew 0.11 cyl_skew 0.3 dead 0 spares 0\n";

#define MS 1000000LL
#define OVERHEAD_NS 100000
#define WRITE_OVERHEAD_NS 3000000
#define REPORT_NS 150000
#define TURN_NS (6 * MS)
#define DEPTH 32
#define STEPS 4

struct bench {
	struct disk_model *dm;
	struct fb_head head;
	struct fb_shadow s;
	u64 now;
	/* the drive alone, as computed here */
	struct dm_place at;
	u64 free_ns;
};

static void bench_begin(struct bench *b)
{
	memset(b, 0, sizeof(*b));
	b->dm = support_model_text(small_disk);
	b->now = 1000 * MS;
	fb_head_init(&b->head, b->dm);
	b->head.anchored = true;
	b->head.anchor_ns = b->now;
	b->head.trust = FB_HEAD_LOCK;
	b->head.known = true;
	fb_shadow_init(&b->s);
	fb_shadow_idle(&b->s, &b->head, b->now);
	b->at = b->head.at;
	b->free_ns = b->now;
}

static void bench_end(struct bench *b)
{
	dm_free(b->dm);
}

/* a read comes; returns when */
static u64 bench_arrive(struct bench *b, u64 lbn)
{
	struct fb_fg_req req = { .lbn = lbn, .nsect = 8, .arrived_ns = b->now };

	fb_shadow_arrived(&b->s, &b->head, &req);
	return b->now;
}

/* when the drive alone would end the read that goes next */
static u64 bench_alone(struct bench *b, u64 lbn, u64 arrived_ns)
{
	u64 begin_ns = max(b->free_ns, arrived_ns + OVERHEAD_NS);
	struct dm_access acc;

	b->at.angle = fb_head_angle(&b->head, begin_ns);
	assert_int_equal(dm_access(b->dm, &b->at, lbn, 8, false, &acc), 0);
	b->at = acc.end;
	b->free_ns = begin_ns + acc.total_ns;
	return b->free_ns + REPORT_NS;
}

/* of some requests at the drive alone, the one that it would take next, which is taken out */
static u64 bench_nearest(struct bench *b, u64 *lbn, u32 n, u64 arrived_ns)
{
	u64 seek_ns, latency_ns, best_ns = U64_MAX, best;
	u32 i, k = 0, seen = 0;
	struct dm_place to;

	b->at.angle = fb_head_angle(&b->head, max(b->free_ns, arrived_ns + OVERHEAD_NS));
	for (i = 0; i < n && seen < DEPTH; i++) {
		if (lbn[i] == U64_MAX)
			continue;
		seen++;
		assert_int_equal(dm_place_of(b->dm, lbn[i], &to), 0);
		dm_position(b->dm, &b->at, &to, false, &seek_ns, &latency_ns);
		if (seek_ns + latency_ns < best_ns) {
			best_ns = seek_ns + latency_ns;
			k = i;
		}
	}
	best = lbn[k];
	lbn[k] = U64_MAX;
	return best;
}

/* a read that came at @arrived_ns ends; that it is the last one is told a moment later */
static void bench_serve(struct bench *b, u64 end_ns, u64 arrived_ns, bool last)
{
	b->now = end_ns;
	fb_shadow_served(&b->s, &b->head, b->now, arrived_ns);
	if (last)
		fb_shadow_idle(&b->s, &b->head, b->now);
}

/* another request, long after, at which the shadow notices that it has done all before */
static void bench_settle(struct bench *b)
{
	b->now += 1000 * MS;
	b->head.anchor_ns = b->now;
	bench_arrive(b, 0);
}

static void test_alone(void **state)
{
	struct bench b;
	u64 came;
	u32 i;

	(void)state;
	bench_begin(&b);
	for (i = 0; i < 20; i++) {
		came = bench_arrive(&b, i * 397);
		bench_serve(&b, bench_alone(&b, i * 397, came), came, true);
		b.now += i % 4 * MS;
	}
	bench_settle(&b);
	assert_int_equal(b.s.followed, 20);
	assert_int_equal(b.s.later_ns, 0);
	bench_end(&b);
}

/* idle reads keep a request waiting and take the head elsewhere */
static void test_moved(void **state)
{
	struct bench b;
	u64 came, end;

	(void)state;
	bench_begin(&b);
	b.head.at.cyl = 29;
	came = bench_arrive(&b, 300);
	end = bench_alone(&b, 300, came);
	bench_serve(&b, end + 9 * MS, came, true);
	b.head.at.cyl = 0;
	came = bench_arrive(&b, 8950);
	end = bench_alone(&b, 8950, came);
	bench_serve(&b, end + 4 * MS, came, true);
	bench_settle(&b);
	assert_int_equal(b.s.followed, 2);
	assert_int_equal(b.s.later_ns, 13 * MS);
	bench_end(&b);
}

/* three at once: the drive takes them as they lie, we took them as they came, 9 ms each */
static void test_order(void **state)
{
	u64 lbn[3] = { 8700, 4500, 350 };
	struct bench b;
	u64 came, sum = 0;
	u32 i;

	(void)state;
	bench_begin(&b);
	came = bench_arrive(&b, 8700);
	bench_arrive(&b, 4500);
	bench_arrive(&b, 350);
	for (i = 0; i < 3; i++)
		sum += bench_alone(&b, bench_nearest(&b, lbn, 3, came), came);
	for (i = 1; i <= 3; i++)
		bench_serve(&b, came + i * 9 * MS, came, i == 3);
	bench_settle(&b);
	assert_int_equal(b.s.followed, 3);
	assert_int_equal(b.s.later_ns, 3 * came + 6 * 9 * MS - sum);
	bench_end(&b);
}

/*
 * Eight requests, and eight more long after, when the shadow has still to do half of the first:
 * these come first.
 */
static void test_later(void **state)
{
	u64 lbn[8], came[2], sum = 0;
	struct bench b;
	u32 i;

	(void)state;
	bench_begin(&b);
	came[0] = b.now;
	for (i = 0; i < ARRAY_SIZE(lbn); i++) {
		lbn[i] = 150 + i * 1100;
		bench_arrive(&b, lbn[i]);
	}
	for (i = 0; i < ARRAY_SIZE(lbn); i++)
		sum += bench_alone(&b, bench_nearest(&b, lbn, ARRAY_SIZE(lbn), came[0]), came[0]);
	b.now += 500 * MS;
	came[1] = b.now;
	for (i = 0; i < ARRAY_SIZE(lbn); i++) {
		lbn[i] = 160 + i * 1100;
		bench_arrive(&b, lbn[i]);
		if (!i)
			assert_int_equal(b.s.n, ARRAY_SIZE(lbn) - STEPS + 1);
	}
	for (i = 0; i < ARRAY_SIZE(lbn); i++)
		sum += bench_alone(&b, bench_nearest(&b, lbn, ARRAY_SIZE(lbn), came[1]), came[1]);
	b.now += 500 * MS;
	for (i = 0; i < 16; i++)
		bench_serve(&b, b.now, came[i / 8], i == 15);
	bench_settle(&b);
	assert_int_equal(b.s.followed, 16);
	assert_int_equal(b.s.later_ns, 16 * (came[1] + 500 * MS) - sum);
	bench_end(&b);
}

/* 64 at once, of which the drive sees 32 at a time, in the order in which they came */
static void test_depth(void **state)
{
	u64 lbn[64], came, sum = 0;
	struct bench b;
	u32 i;

	(void)state;
	bench_begin(&b);
	came = b.now;
	for (i = 0; i < ARRAY_SIZE(lbn); i++) {
		lbn[i] = i * 2311 % 8990;
		bench_arrive(&b, lbn[i]);
	}
	for (i = 0; i < ARRAY_SIZE(lbn); i++)
		sum += bench_alone(&b, bench_nearest(&b, lbn, ARRAY_SIZE(lbn), came), came);
	b.now += 1000 * MS;
	for (i = 1; i <= ARRAY_SIZE(lbn); i++)
		bench_serve(&b, b.now, came, i == ARRAY_SIZE(lbn));
	bench_settle(&b);
	assert_int_equal(b.s.followed, ARRAY_SIZE(lbn));
	assert_int_equal(b.s.later_ns, ARRAY_SIZE(lbn) * (came + 1000 * MS) - sum);
	bench_end(&b);
}

static void test_long(void **state)
{
	struct bench b;
	u64 came;
	u32 i;

	(void)state;
	bench_begin(&b);
	came = bench_arrive(&b, 0);
	for (i = 0; i < FB_SHADOW_QUEUE; i++)
		bench_arrive(&b, i % 90 * 100);
	assert_false(b.s.follows);
	for (i = 0; i <= FB_SHADOW_QUEUE; i++)
		bench_serve(&b, b.now + 9 * MS, came, i == FB_SHADOW_QUEUE);
	assert_true(b.s.follows);
	bench_settle(&b);
	assert_int_equal(b.s.followed, 0);
	bench_end(&b);
}

/* of two requests that became one only that one ends: all begins anew, from where the head is */
static void test_merged(void **state)
{
	struct bench b;
	u64 came, lbn;

	(void)state;
	for (lbn = 0; lbn < 9000; lbn += 90) {
		bench_begin(&b);
		came = bench_arrive(&b, 4000);
		bench_arrive(&b, 4008);
		b.head.at.cyl = 29;
		bench_serve(&b, came + MS, came, true);
		b.at = b.head.at;
		b.free_ns = b.now;
		came = bench_arrive(&b, lbn);
		bench_serve(&b, bench_alone(&b, lbn, came) + MS, came, true);
		bench_settle(&b);
		assert_int_equal(b.s.followed, 1);
		assert_int_equal(b.s.later_ns, MS);
		bench_end(&b);
	}
}

/* commands take 200 us longer than predicted: then the drive's alone would, too */
static void test_late(void **state)
{
	struct fb_completion_cmd plain = { .foreground = true, .cause = FB_CAUSE_PLAIN };
	struct fb_completion_cmd joined = { .foreground = true, .cause = FB_CAUSE_PREPEND };
	struct fb_completion_result late = { .predicted_ns = 1, .late_ns = 200000 };
	struct fb_completion_result lost = { .predicted_ns = 1, .late_ns = 100 * TURN_NS };
	struct bench b;
	u64 came;
	u32 i;

	(void)state;
	bench_begin(&b);
	for (i = 0; i < 100000; i++) {
		fb_shadow_learn(&b.s, &plain, &late, TURN_NS);
		fb_shadow_learn(&b.s, &plain, &lost, TURN_NS);
		late.late_ns = 3 * TURN_NS;
		fb_shadow_learn(&b.s, &joined, &late, TURN_NS);
		late.late_ns = 200000;
	}
	came = bench_arrive(&b, 300);
	bench_serve(&b, bench_alone(&b, 300, came) + 200000, came, true);
	bench_settle(&b);
	/* half of them had free reads; the prior weighs a tenth */
	assert_in_range(b.s.later_ns, 100000, 125000);
	bench_end(&b);
}

/* neither what we read nor what was not predicted tells how late the drive is */
static void test_learns_of_others(void **state)
{
	struct fb_completion_cmd cmd = { .foreground = true, .cause = FB_CAUSE_PLAIN };
	struct fb_completion_result r = { .predicted_ns = 1, .late_ns = 200000 };
	struct bench b;

	(void)state;
	bench_begin(&b);
	fb_shadow_learn(&b.s, &cmd, &r, TURN_NS);
	assert_int_equal(b.s.late.n, 1);
	r.predicted_ns = 0;
	fb_shadow_learn(&b.s, &cmd, &r, TURN_NS);
	r.predicted_ns = 1;
	cmd.foreground = false;
	fb_shadow_learn(&b.s, &cmd, &r, TURN_NS);
	assert_int_equal(b.s.late.n, 1);
	bench_end(&b);
}

/* a write begins later, takes the settle time and reports sooner */
static void test_write(void **state)
{
	struct fb_fg_req req = { .nsect = 8, .write = true };
	struct dm_access acc;
	struct bench b;

	(void)state;
	for (req.lbn = 0; req.lbn < 9000; req.lbn += 450) {
		bench_begin(&b);
		req.arrived_ns = b.now;
		fb_shadow_arrived(&b.s, &b.head, &req);
		b.now += WRITE_OVERHEAD_NS;
		b.at.angle = fb_head_angle(&b.head, b.now);
		assert_int_equal(dm_access(b.dm, &b.at, req.lbn, 8, true, &acc), 0);
		bench_serve(&b, b.now + acc.total_ns + 80000 + MS, req.arrived_ns, true);
		bench_settle(&b);
		assert_int_equal(b.s.followed, 1);
		assert_int_equal(b.s.later_ns, MS);
		bench_end(&b);
	}
}

/*
 * Nothing is followed from where the head or the phase is unknown, nor when the phase is lost on
 * the way; a request from before does not count.
 */
static void test_unknown(void **state)
{
	struct bench b;
	u64 came;

	(void)state;
	bench_begin(&b);
	fb_shadow_lose(&b.s);
	b.head.known = false;
	fb_shadow_idle(&b.s, &b.head, b.now);
	assert_false(b.s.follows);
	b.head.known = true;
	b.head.trust = 0;
	fb_shadow_idle(&b.s, &b.head, b.now);
	assert_false(b.s.follows);
	b.head.trust = FB_HEAD_LOCK;
	fb_shadow_idle(&b.s, &b.head, b.now);
	came = bench_arrive(&b, 300);
	fb_shadow_served(&b.s, &b.head, b.now, came - 1);
	assert_int_equal(b.s.open, 1);
	assert_int_equal(b.s.ended, 0);
	b.head.anchored = false;
	bench_serve(&b, came + 20 * MS, came, false);
	assert_false(b.s.follows);
	fb_shadow_served(&b.s, &b.head, b.now, came);
	assert_int_equal(b.s.followed, 0);
	bench_end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alone),
		cmocka_unit_test(test_moved),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_later),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_merged),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_learns_of_others),
		cmocka_unit_test(test_write),
		cmocka_unit_test(test_unknown),
	};

	return cmocka_run_group_tests_name("shadow", tests, NULL, NULL);
}
