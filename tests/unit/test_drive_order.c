// SPDX-License-Identifier: GPL-2.0
/*
 * In which order a drive takes its commands: drives of each kind that requests come to, and of
 * which only reads are seen to end.
 *
 * Planted bugs, each seen to fail: half of the ends against a rule are not enough (test_changed),
 * or none may be (test_rules); what has come since the last end counts as if the drive had got it
 * then (test_later); behind the highest address the next higher of none is the highest (test_wrap);
 * an idle read between is taken for none (test_moved); a rule is believed by few ends (test_few);
 * what was learnt does not fade (test_changed); more than can be looked at overrun the table
 * (test_many); what the cache had stays among those that wait, or tells something (test_hit);
 * what may have come from the cache tells something (test_ahead: a drive that takes what is nearest
 * is held for one that goes by arrival).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/drive_order.h"
#include "support.h"

#define MS 1000000ULL
#define DISK 1000000
#define LATENCY 300000	/* sectors that the longest latency is worth */
#define SERVICE_NS (10 * MS)
#define QUEUE 12

/* a drive with a queue; every third request is a cached write, of which nothing is told */
struct bench {
	struct fb_drive_order o;
	struct rnd rnd;
	struct fb_idle_cost_req queue[QUEUE];
	u32 n;
	u64 now;
	u64 at;
	u32 wrong_of;	/* one in so many is not as the rule says; 0: none */
};

static void bench_begin(struct bench *b)
{
	memset(b, 0, sizeof(*b));
	b->rnd.state = 1;
	b->now = 1000 * MS;
}

static void bench_arrive(struct bench *b, u64 ns)
{
	struct fb_idle_cost_req *r = &b->queue[b->n++];

	*r = (struct fb_idle_cost_req) { rnd_below(&b->rnd, DISK), 8, !rnd_below(&b->rnd, 3), ns };
	if (!r->write)
		fb_drive_order_arrived(&b->o, r);
}

static u64 bench_cost(struct bench *b, enum fb_drive_order_rule rule, u32 i)
{
	u64 lbn = b->queue[i].lbn;

	if (b->wrong_of && !rnd_below(&b->rnd, b->wrong_of))
		return 0;
	if (rule == FB_DRIVE_ORDER_ARRIVAL)
		return i + 1;
	if (rule == FB_DRIVE_ORDER_ADDRESS)
		return 1 + (lbn >= b->at ? lbn - b->at : DISK + lbn);
	return 1 + (lbn > b->at ? lbn - b->at : b->at - lbn) + rnd_below(&b->rnd, LATENCY);
}

/* the drive takes one, and others come meanwhile */
static void bench_serve(struct bench *b, enum fb_drive_order_rule rule)
{
	struct fb_idle_cost_req req;
	u64 cost, best_cost = U64_MAX;
	u32 i, best = 0;

	for (i = 0; i < b->n; i++) {
		cost = bench_cost(b, rule, i);
		if (cost >= best_cost)
			continue;
		best_cost = cost;
		best = i;
	}
	req = b->queue[best];
	b->n--;
	memmove(&b->queue[best], &b->queue[best + 1], (b->n - best) * sizeof(req));
	while (b->n < QUEUE && rnd_below(&b->rnd, 3))
		bench_arrive(b, b->now + SERVICE_NS / 2);
	b->now += SERVICE_NS;
	b->at = req.lbn + req.nsect;
	if (!req.write)
		fb_drive_order_ended(&b->o, b->now, &req);
}

static void bench_run(struct bench *b, enum fb_drive_order_rule rule, u32 n)
{
	while (n--) {
		if (!b->n)
			bench_arrive(b, b->now);
		bench_serve(b, rule);
	}
}

static void test_rules(void **state)
{
	enum fb_drive_order_rule rule;
	struct bench b;
	u32 i;

	(void)state;
	for (rule = 0; rule < FB_DRIVE_ORDER_RULES; rule++) {
		bench_begin(&b);
		bench_run(&b, rule, 500);
		for (i = 0; i < 1000; i++) {
			bench_run(&b, rule, 1);
			assert_int_equal(fb_drive_order_rule(&b.o), rule);
		}
		/* one in sixty is another, as an error makes it: it is still that rule */
		b.wrong_of = 60 * QUEUE;
		bench_run(&b, rule, 500);
		assert_int_equal(fb_drive_order_rule(&b.o), rule);
	}
}

/* ---- one end after the other ---- */

static void send(struct fb_drive_order *o, u64 lbn, u64 ns)
{
	struct fb_idle_cost_req req = { lbn, 8, false, ns };

	fb_drive_order_arrived(o, &req);
}

static void end(struct fb_drive_order *o, u64 lbn, u64 came_ns, u64 ns)
{
	struct fb_idle_cost_req req = { lbn, 8, false, came_ns };

	fb_drive_order_ended(o, ns, &req);
}

/* two wait when the first has ended */
static void begin(struct fb_drive_order *o)
{
	memset(o, 0, sizeof(*o));
	send(o, 100, 1 * MS);
	send(o, 900, 2 * MS);
	send(o, 500, 3 * MS);
	end(o, 100, 1 * MS, 10 * MS);
}

/* what was there when the last one ended tells, and only that */
static void test_later(void **state)
{
	struct fb_drive_order o;

	(void)state;
	begin(&o);
	assert_int_equal(o.tries, 0);
	end(&o, 500, 3 * MS, 20 * MS);
	assert_int_equal(o.tries, 1);
	assert_int_equal(o.right[FB_DRIVE_ORDER_ADDRESS], 1);
	assert_int_equal(o.right[FB_DRIVE_ORDER_ARRIVAL], 0);
	/* 900 is alone then, and 600 has come since */
	send(&o, 600, 25 * MS);
	end(&o, 900, 2 * MS, 30 * MS);
	assert_int_equal(o.tries, 1);
	send(&o, 950, 26 * MS);
	end(&o, 950, 26 * MS, 40 * MS);
	assert_int_equal(o.tries, 2);
	assert_int_equal(o.right[FB_DRIVE_ORDER_ADDRESS], 2);
}

/* behind the highest address the lowest is next */
static void test_wrap(void **state)
{
	struct fb_drive_order o = { 0 };

	(void)state;
	send(&o, 900, 1 * MS);
	send(&o, 500, 2 * MS);
	send(&o, 100, 3 * MS);
	end(&o, 900, 1 * MS, 10 * MS);
	end(&o, 100, 3 * MS, 20 * MS);
	assert_int_equal(o.tries, 1);
	assert_int_equal(o.right[FB_DRIVE_ORDER_ADDRESS], 1);
}

/* an idle read came between: where the drive went on is not known */
static void test_moved(void **state)
{
	struct fb_drive_order o;

	(void)state;
	begin(&o);
	fb_drive_order_moved(&o);
	end(&o, 500, 3 * MS, 20 * MS);
	assert_int_equal(o.tries, 0);
	/* nor whose end was not told */
	send(&o, 700, 11 * MS);
	fb_drive_order_forget(&o);
	end(&o, 900, 2 * MS, 30 * MS);
	assert_int_equal(o.tries, 0);
}

/* what the cache had at once tells nothing of the order, and waits no longer */
static void test_hit(void **state)
{
	struct fb_idle_cost_req req = { 900, 8, false, 2 * MS };
	struct fb_drive_order o;

	(void)state;
	begin(&o);
	send(&o, 700, 4 * MS);
	fb_drive_order_hit(&o, &req);
	assert_int_equal(o.tries, 0);
	assert_int_equal(o.n, 2);
	assert_int_equal(o.next_lbn, 108);
	end(&o, 500, 3 * MS, 20 * MS);
	assert_int_equal(o.tries, 1);
	assert_int_equal(o.right[FB_DRIVE_ORDER_ARRIVAL], 1);
	fb_drive_order_hit(&o, &req);
	assert_int_equal(o.n, 1);
}

/*
 * Two streams that the drive reads ahead for, each with two requests at the drive: both have long
 * been in its cache, and end one behind the other as they have come
 */
static void test_ahead(void **state)
{
	struct fb_drive_order o = { .turn_ns = 8 * MS };
	u64 ns = 0;
	u32 i;

	(void)state;
	for (i = 0; i < 100; i++, ns += 50 * MS) {
		send(&o, 100 + 8 * i, ns + 1 * MS);
		send(&o, 5000 + 8 * i, ns + 2 * MS);
		send(&o, 9000 + 8 * i, ns + 3 * MS);
		/* the first waits for something else */
		end(&o, 100 + 8 * i, ns + 1 * MS, ns + 20 * MS);
		end(&o, 5000 + 8 * i, ns + 2 * MS, ns + 20 * MS + MS / 5);
		end(&o, 9000 + 8 * i, ns + 3 * MS, ns + 20 * MS + 2 * MS / 5);
	}
	assert_int_equal(o.n, 0);
	assert_int_equal(fb_drive_order_rule(&o), FB_DRIVE_ORDER_NEAREST);
	/* behind these it is not known where the drive goes on, but behind the next one it is */
	send(&o, 100, ns + 1 * MS);
	send(&o, 900, ns + 2 * MS);
	send(&o, 500, ns + 3 * MS);
	end(&o, 100, ns + 1 * MS, ns + 10 * MS);
	end(&o, 500, ns + 3 * MS, ns + 18 * MS);
	assert_int_equal(o.tries, 1);
	assert_int_equal(o.right[FB_DRIVE_ORDER_ADDRESS], 1);
}

static void test_few(void **state)
{
	struct bench b;

	(void)state;
	bench_begin(&b);
	while (b.o.tries < 31) {
		assert_int_equal(fb_drive_order_rule(&b.o), FB_DRIVE_ORDER_NEAREST);
		bench_run(&b, FB_DRIVE_ORDER_ARRIVAL, 1);
	}
	assert_int_equal(fb_drive_order_rule(&b.o), FB_DRIVE_ORDER_NEAREST);
	bench_run(&b, FB_DRIVE_ORDER_ARRIVAL, 10);
	assert_int_equal(fb_drive_order_rule(&b.o), FB_DRIVE_ORDER_ARRIVAL);
}

/* a host may switch it (SCSI: queue algorithm modifier) */
static void test_changed(void **state)
{
	struct bench b;

	(void)state;
	bench_begin(&b);
	bench_run(&b, FB_DRIVE_ORDER_ARRIVAL, 5000);
	bench_run(&b, FB_DRIVE_ORDER_NEAREST, 100);
	assert_int_equal(fb_drive_order_rule(&b.o), FB_DRIVE_ORDER_NEAREST);
	bench_run(&b, FB_DRIVE_ORDER_ADDRESS, 800);
	assert_int_equal(fb_drive_order_rule(&b.o), FB_DRIVE_ORDER_ADDRESS);
}

static void test_many(void **state)
{
	struct fb_drive_order o = { 0 };
	u32 i;

	(void)state;
	for (i = 0; i < 10 * FB_DRIVE_ORDER_MOST; i++)
		send(&o, i * 100, i * MS);
	assert_true(o.n <= FB_DRIVE_ORDER_MOST);
	end(&o, 100, MS, 1000 * MS);
	assert_int_equal(o.next_lbn, 108);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_later),
		cmocka_unit_test(test_wrap),
		cmocka_unit_test(test_moved),
		cmocka_unit_test(test_hit),
		cmocka_unit_test(test_ahead),
		cmocka_unit_test(test_few),
		cmocka_unit_test(test_changed),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
