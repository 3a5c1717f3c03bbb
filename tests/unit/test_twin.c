// SPDX-License-Identifier: GPL-2.0
/*
 * What idle reads cost where the drive orders: a small disk of 6 ms a turn whose phase is known.
 * What its requests take with an idle read and without is computed here from the model, one after
 * the other.
 *
 * Planted bugs, each seen to fail: the drive with idle reads begins where the foreground has left
 * the head (test_rest); the two are taken for alike while one is still at work (test_behind);
 * cached writes are no jobs (test_write), or are waited for (test_write); a read that the drive
 * serves before the idle read is believed to wait for it (test_overtaken); what the drive writes
 * when the idle read comes is charged to that (test_busy), or a turn that it loses is not
 * (test_turn); the head is taken to be back at once (test_alike); a queue that is too long goes on
 * (test_long); a stream of writes is one job without end (test_joined); what is left when the next
 * idle read is sent stays there (test_left); what has not ended when they are lost is dropped, or
 * is taken to end for both at once (test_lost_open); a request that only one of them has room for
 * (test_room); what the drive has read ahead is a job without idle reads, too, or none with them,
 * or remains one when it has come from the cache (test_ahead); they serve what is nearest though
 * the drive goes by address, or go on elsewhere than it (test_rule); what turns out to have been
 * read ahead only when it ends is taken from one of them alone, or though the other has ended it,
 * or waits for ever (test_late_hit); who was merged into another one does (test_merged); a head
 * that is unknown is asked, or read-ahead without room goes on (test_ahead_lost); an idle read is
 * due at a time though the phase is lost (test_not_due).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/twin.h"
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
	"write_overhead_ns 70000\n"
	"read_report_ns 150000\n"
	"write_report_ns 80000\n"
	"seek 1 700000\n"
	"seek 29 1600000\n"
	"zone 0 29 spt 100 angle 0 track_skew 0.11 cyl_skew 0.3 dead 0 spares 0\n";

#define MS 1000000LL
#define READ_OVERHEAD_NS 100000
#define WRITE_OVERHEAD_NS 70000
#define REPORT_NS 150000
#define TURN_NS (6 * MS)
#define IDLE_LBN 8000	/* of all idle reads here ... */
#define IDLE_NSECT 100
#define IDLE_NS (20 * MS)	/* ... and how long they take */

/* a drive as computed here: where its head is and until when it works */
struct lane {
	struct dm_place at;
	u64 free_ns;
};

struct bench {
	struct disk_model *dm;
	struct fb_head head;
	struct fb_twin t;
	u64 now;
	struct lane with;
	struct lane without;
	s64 later_ns;
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
	b->with.at = b->head.at;
	b->without.at = b->head.at;
	fb_twin_init(&b->t, dm_period_ns(b->dm));
}

static void bench_end(struct bench *b)
{
	dm_free(b->dm);
}

static void bench_send(struct bench *b, bool begins)
{
	fb_twin_sent(&b->t, &b->head, b->now, begins, IDLE_LBN, IDLE_NSECT);
}

static void bench_idle_ends(struct bench *b, u64 ns)
{
	fb_twin_ended(&b->t, ns);
	assert_int_equal(dm_place_of(b->dm, IDLE_LBN + IDLE_NSECT - 1, &b->with.at), 0);
	b->with.free_ns = ns - REPORT_NS;
}

static void bench_arrive(struct bench *b, u64 lbn, bool cached)
{
	struct fb_idle_cost_req req = {
		.lbn = lbn, .nsect = 8, .write = cached, .arrived_ns = b->now,
	};

	fb_twin_arrived(&b->t, &b->head, &req, cached);
}

/* when the medium of one of the drives has ended a request that it takes next */
static u64 lane_serve(struct bench *b, struct lane *l, u64 lbn, bool write, u64 came)
{
	u64 ready_ns = came + (write ? WRITE_OVERHEAD_NS : READ_OVERHEAD_NS);
	u64 begin_ns = max(l->free_ns, ready_ns);
	struct dm_access acc;

	l->at.angle = fb_head_angle(&b->head, begin_ns);
	assert_int_equal(dm_access(b->dm, &l->at, lbn, 8, write, &acc), 0);
	l->at = acc.end;
	l->free_ns = begin_ns + acc.total_ns;
	return l->free_ns;
}

/* both of them take a request next that came now; reads are what is waited for */
static void bench_serve(struct bench *b, u64 lbn, bool cached)
{
	s64 ns = lane_serve(b, &b->with, lbn, cached, b->now) -
		 lane_serve(b, &b->without, lbn, cached, b->now);

	b->later_ns += cached ? 0 : ns;
}

/* what idle reads have cost, when all has long been done */
static s64 bench_cost(struct bench *b)
{
	b->now += 1000 * MS;
	b->head.anchor_ns += 1000 * MS / TURN_NS * TURN_NS;
	bench_arrive(b, 0, true);
	return fb_twin_take(&b->t);
}

/* an idle read, and a read that meets it: it waits for the rest, and the head is elsewhere */
static void test_rest(void **state)
{
	struct bench b;

	(void)state;
	bench_begin(&b);
	bench_send(&b, true);
	bench_idle_ends(&b, b.now + IDLE_NS);
	b.now += 5 * MS;
	bench_arrive(&b, 300, false);
	bench_serve(&b, 300, false);
	assert_true(b.later_ns > 10 * MS);
	assert_int_equal(bench_cost(&b), b.later_ns);
	assert_true(b.t.follows);
	bench_end(&b);
}

/* the next read comes when the first has ended where there was no idle read, and waits behind it */
static void test_behind(void **state)
{
	struct bench b;
	s64 first_ns;

	(void)state;
	bench_begin(&b);
	bench_send(&b, true);
	bench_idle_ends(&b, b.now + IDLE_NS);
	b.now += 5 * MS;
	bench_arrive(&b, 300, false);
	bench_serve(&b, 300, false);
	first_ns = b.later_ns;
	/* there the first is still in service here, and has ended there */
	b.now = b.with.free_ns - 2 * MS;
	assert_true(b.now > b.without.free_ns);
	bench_arrive(&b, 6540, false);
	bench_serve(&b, 6540, false);
	assert_true(b.later_ns > first_ns);
	assert_int_equal(bench_cost(&b), b.later_ns);
	bench_end(&b);
}

/* a cached write that came beside the idle read is done behind it, and a read waits for that */
static void test_write(void **state)
{
	struct bench b;

	(void)state;
	bench_begin(&b);
	bench_send(&b, true);
	b.now += 2 * MS;
	bench_arrive(&b, 4560, true);
	lane_serve(&b, &b.without, 4560, true, b.now);
	bench_idle_ends(&b, 1000 * MS + IDLE_NS);
	lane_serve(&b, &b.with, 4560, true, b.now);
	b.now = 1000 * MS + IDLE_NS + MS;
	assert_true(b.with.free_ns > b.now && b.without.free_ns < b.now);
	bench_arrive(&b, 300, false);
	bench_serve(&b, 300, false);
	assert_true(b.later_ns > MS);
	assert_int_equal(bench_cost(&b), b.later_ns);
	bench_end(&b);
}

/* the drive serves the read first though the idle read was sent before: nothing was lost */
static void test_overtaken(void **state)
{
	struct fb_idle_cost_req req = { .lbn = 300, .nsect = 8 };
	struct bench b;

	(void)state;
	bench_begin(&b);
	bench_send(&b, true);
	b.now += MS;
	req.arrived_ns = b.now;
	bench_arrive(&b, 300, false);
	fb_twin_served(&b.t, lane_serve(&b, &b.without, 300, false, b.now) + REPORT_NS, &req);
	fb_twin_ended(&b.t, b.now + 3 * IDLE_NS);
	assert_int_equal(bench_cost(&b), 0);
	bench_end(&b);
}

/* an idle read behind a cached write, as late as given; what its rest costs a read */
static s64 bench_late(struct bench *b, u64 late_ns)
{
	struct dm_access acc;

	bench_begin(b);
	bench_arrive(b, 4500, true);
	b->with.at.angle = fb_head_angle(&b->head, b->now + READ_OVERHEAD_NS);
	assert_int_equal(dm_access(b->dm, &b->with.at, IDLE_LBN, IDLE_NSECT, false, &acc), 0);
	bench_send(b, true);
	bench_idle_ends(b, b->now + READ_OVERHEAD_NS + acc.total_ns + REPORT_NS + late_ns);
	b->now += MS;
	bench_arrive(b, 300, false);
	return 0;
}

/*
 * What is three turns late: the drive was writing, which the read would have waited for, too. One
 * turn the idle read may have lost itself, or not.
 */
static void test_busy(void **state)
{
	struct bench b;

	(void)state;
	bench_late(&b, 3 * TURN_NS);
	b.without.free_ns = b.now - MS + 3 * TURN_NS - TURN_NS / 2;
	bench_serve(&b, 300, false);
	assert_int_equal(bench_cost(&b), b.later_ns);
	bench_end(&b);
}

/* one turn any command may lose */
static void test_turn(void **state)
{
	struct bench b;

	(void)state;
	bench_late(&b, TURN_NS);
	bench_serve(&b, 300, false);
	assert_true(b.later_ns > TURN_NS);
	assert_int_equal(bench_cost(&b), b.later_ns);
	bench_end(&b);
}

/* who comes when the idle read has ended pays for the head only; who comes behind him, nothing */
static void test_alike(void **state)
{
	struct bench b;
	s64 first_ns;

	(void)state;
	bench_begin(&b);
	bench_send(&b, true);
	bench_idle_ends(&b, b.now + IDLE_NS);
	b.now += 30 * MS;
	bench_arrive(&b, 10, false);
	bench_serve(&b, 10, false);
	first_ns = b.later_ns;
	assert_true(first_ns > 0);
	b.now += 40 * MS;
	bench_arrive(&b, 4000, false);
	bench_serve(&b, 4000, false);
	assert_int_equal(b.later_ns, first_ns);
	assert_true(b.t.alike);
	assert_int_equal(bench_cost(&b), first_ns);
	/* an idle read of the same interval begins anew */
	bench_send(&b, false);
	assert_true(b.t.follows && !b.t.alike);
	bench_end(&b);
}

static void test_long(void **state)
{
	struct bench b;
	u32 i;

	(void)state;
	bench_begin(&b);
	bench_send(&b, true);
	for (i = 0; i < FB_VDRIVE_QUEUE; i++)
		bench_arrive(&b, i * 30, false);
	assert_true(b.t.follows);
	bench_arrive(&b, 8999 - 8, false);
	assert_false(b.t.follows);
	bench_idle_ends(&b, b.now + IDLE_NS);
	bench_send(&b, false);
	assert_false(b.t.follows);
	bench_send(&b, true);
	assert_true(b.t.follows);
	bench_end(&b);
}

/* writes that go on where others end are one job, but what one event walks has a bound */
static void test_joined(void **state)
{
	struct fb_idle_cost_req req = { .nsect = 8, .write = true };
	struct fb_vdrive v;
	struct bench b;

	(void)state;
	bench_begin(&b);
	fb_vdrive_clear(&v, &b.head.at, b.now);
	for (req.lbn = 0; req.lbn < 9000 - 8; req.lbn += 8)
		assert_true(fb_vdrive_add(&v, b.dm, &req, true));
	assert_int_equal(v.n, 2);
	assert_int_equal(v.queue[0].req.nsect, FB_VDRIVE_JOIN);
	bench_end(&b);
}

/* the next idle read is sent at once: the drive must have ended the read before */
static void test_left(void **state)
{
	struct bench b;

	(void)state;
	bench_begin(&b);
	bench_send(&b, true);
	bench_idle_ends(&b, b.now + IDLE_NS);
	b.now += IDLE_NS + MS;
	bench_arrive(&b, 300, false);
	b.now += MS / 100;
	bench_send(&b, false);
	assert_int_equal(b.t.with.n + b.t.without.n, 0);
	assert_int_equal(b.t.open, 0);
	assert_in_range(fb_twin_take(&b.t) + TURN_NS, 0, 2 * TURN_NS);
	bench_end(&b);
}

/*
 * They are lost while a read waits in both: it can begin when what the idle read keeps back has
 * ended, and where there was none at once. While the idle read is at the drive nothing is known.
 */
static void test_lost_open(void **state)
{
	struct bench b;
	s64 ns;
	u32 i;

	(void)state;
	bench_begin(&b);
	bench_send(&b, true);
	bench_idle_ends(&b, b.now + IDLE_NS);
	b.now += 5 * MS;
	bench_arrive(&b, 300, false);
	bench_serve(&b, 300, false);
	b.now += IDLE_NS - 5 * MS + MS / 10;
	assert_true(b.with.free_ns > b.now && b.without.free_ns < b.now);
	bench_arrive(&b, 6540, false);
	fb_twin_lose(&b.t);
	ns = fb_twin_take(&b.t);
	assert_int_equal(ns, b.later_ns + (s64)(b.with.free_ns - b.now));
	fb_twin_lose(&b.t);
	assert_int_equal(fb_twin_take(&b.t), 0);
	/* too many: the last one is in none of them */
	bench_send(&b, true);
	for (i = 0; i <= FB_VDRIVE_QUEUE; i++)
		bench_arrive(&b, i * 30, false);
	assert_false(b.t.follows);
	bench_idle_ends(&b, b.now + IDLE_NS);
	assert_int_equal(fb_twin_take(&b.t), 0);
	bench_end(&b);
}

/* one of them is full, and the other has room: whoever comes is in none of them */
static void test_room(void **state)
{
	struct fb_idle_cost_req req = { .nsect = 8, .write = true };
	struct bench b;

	(void)state;
	bench_begin(&b);
	bench_send(&b, true);
	bench_idle_ends(&b, b.now + IDLE_NS);
	bench_arrive(&b, 600, false);
	for (req.arrived_ns = b.now; b.t.without.n < FB_VDRIVE_QUEUE; req.lbn += 30)
		assert_true(fb_vdrive_add(&b.t.without, b.dm, &req, true));
	bench_arrive(&b, 300, false);
	assert_false(b.t.follows);
	assert_int_equal(fb_twin_take(&b.t), IDLE_NS - REPORT_NS);
	bench_end(&b);
}

/*
 * A read that idle reads have deprived of what the drive had read ahead: one who comes with it
 * waits for it, and it itself is in no account. If it comes from the cache in spite of them, nobody
 * waits.
 */
static void bench_ahead(struct bench *b, u64 lbn, bool hit)
{
	struct fb_idle_cost_req req = { .lbn = lbn, .nsect = 8 };

	bench_begin(b);
	bench_send(b, true);
	bench_idle_ends(b, b->now + IDLE_NS);
	b->now += IDLE_NS;
	req.arrived_ns = b->now;
	fb_twin_ahead(&b->t, &b->head, &req);
	if (hit)
		fb_twin_hit(&b->t, &req);
	else
		lane_serve(b, &b->with, lbn, false, b->now);
	b->now += MS / 5;
	bench_arrive(b, 6540, false);
	bench_serve(b, 6540, false);
}

static void test_ahead(void **state)
{
	struct fb_idle_cost_req req = { .lbn = 300, .nsect = 8 };
	struct bench b;
	s64 miss_ns;
	u32 i, differ = 0;

	(void)state;
	for (i = 0; i < 80; i++) {
		bench_ahead(&b, 100 * i, false);
		miss_ns = b.later_ns;
		assert_int_equal(bench_cost(&b), miss_ns);
		bench_end(&b);
		bench_ahead(&b, 100 * i, true);
		differ += b.later_ns != miss_ns;
		assert_int_equal(bench_cost(&b), b.later_ns);
		bench_end(&b);
	}
	assert_true(differ > 10);
	/* where both have done the same, both have what was read ahead */
	bench_begin(&b);
	bench_send(&b, true);
	bench_idle_ends(&b, b.now + IDLE_NS);
	fb_twin_lose(&b.t);
	fb_twin_ahead(&b.t, &b.head, &req);
	assert_int_equal(b.t.with.n, 0);
	bench_end(&b);
}

/*
 * A read that nobody knew to have been read ahead when it came, as the one that it goes on from was
 * still at the drive: it is a job of both, and of none when it has come from the cache. If one of
 * them has done it by then, it stays one of the other.
 */
static void test_late_hit(void **state)
{
	struct fb_idle_cost_req req = { .lbn = 300, .nsect = 8 };
	struct bench b;

	(void)state;
	bench_begin(&b);
	bench_send(&b, true);
	bench_idle_ends(&b, b.now + IDLE_NS);
	b.now += 5 * MS;
	req.arrived_ns = b.now;
	bench_arrive(&b, req.lbn, false);
	fb_twin_hit(&b.t, &req);
	assert_int_equal(b.t.order.n, 0);
	bench_arrive(&b, 6540, false);
	bench_serve(&b, 6540, false);
	assert_int_equal(bench_cost(&b), b.later_ns);
	assert_int_equal(b.t.open, 0);
	bench_end(&b);

	bench_begin(&b);
	bench_send(&b, true);
	bench_idle_ends(&b, b.now + IDLE_NS);
	b.now += 5 * MS;
	req.arrived_ns = b.now;
	bench_arrive(&b, req.lbn, false);
	bench_serve(&b, req.lbn, false);
	b.now += 13 * MS;
	assert_true(b.without.free_ns < b.now);
	bench_arrive(&b, 6540, false);
	fb_twin_hit(&b.t, &req);
	assert_int_equal(b.t.with.n, 2);
	assert_int_equal(b.t.open, 3);
	b.now += 20 * MS;
	bench_arrive(&b, 0, true);
	assert_int_equal(b.t.open, 0);
	bench_end(&b);
}

/* a read that does not end, for it was merged, waits no longer when an idle read is sent */
static void test_merged(void **state)
{
	struct bench b;

	(void)state;
	bench_begin(&b);
	bench_arrive(&b, 300, false);
	assert_int_equal(b.t.order.n, 1);
	bench_send(&b, true);
	assert_int_equal(b.t.order.n, 0);
	bench_end(&b);
}

/* the drive goes by address: so many reads end in this order */
static void bench_sweep(struct bench *b)
{
	struct fb_idle_cost_req req = { .nsect = 8 };
	u32 i, k;

	for (k = 0; k < 20; k++) {
		req.arrived_ns = b->now;
		for (i = 0; i < 4; i++) {
			req.lbn = (7 * i + 3) % 4 * 1000;
			bench_arrive(b, req.lbn, false);
		}
		for (i = 0; i < 4; i++) {
			b->now += 10 * MS;
			req.lbn = 1000 * i;
			fb_twin_served(&b->t, b->now, &req);
		}
	}
	b->head.anchor_ns = b->now / TURN_NS * TURN_NS;
}

/*
 * A drive that goes by address is at 3008. Reads come while the idle read is at work: without it
 * the drive takes those above 3008, and then what is behind the highest address; with it, all from
 * the lowest on, for the idle read was above them. One that comes when the first without it is in
 * service is behind the drive.
 */
static void test_rule(void **state)
{
	static const u32 with[] = { 0, 3, 1, 2 }, without[] = { 1, 2, 0, 3 };
	struct bench b;
	u64 lbn[4], came;
	u32 i, k;

	(void)state;
	for (i = 0; i < 40; i++) {
		lbn[0] = 70 * i % 2900;
		lbn[1] = 3100 + 530 * i % 2000;
		lbn[2] = 5200 + 370 * i % 2700;
		lbn[3] = 3050;
		bench_begin(&b);
		bench_sweep(&b);
		b.now = b.head.anchor_ns + TURN_NS;
		b.with.free_ns = b.now;
		b.without.free_ns = b.now;
		bench_send(&b, true);
		assert_int_equal(b.t.with.rule, FB_DRIVE_ORDER_ADDRESS);
		bench_idle_ends(&b, b.now + IDLE_NS);
		bench_arrive(&b, lbn[2], false);
		bench_arrive(&b, lbn[0], false);
		bench_arrive(&b, lbn[1], false);
		came = b.now;
		b.now += MS / 2;
		bench_arrive(&b, lbn[3], false);
		for (k = 0; k < 4; k++) {
			b.later_ns += lane_serve(&b, &b.with, lbn[with[k]], false, came);
			b.later_ns -= lane_serve(&b, &b.without, lbn[without[k]], false, came);
		}
		assert_int_equal(bench_cost(&b), b.later_ns);
		bench_end(&b);
	}
}

/* without a known head nothing is followed, and giving up is for the interval */
static void test_lost(void **state)
{
	struct bench b;

	(void)state;
	bench_begin(&b);
	b.head.known = false;
	bench_send(&b, true);
	assert_false(b.t.follows);
	b.head.known = true;
	bench_send(&b, false);
	assert_false(b.t.follows);
	bench_send(&b, true);
	assert_true(b.t.follows);
	fb_twin_arrived(&b.t, NULL, &(struct fb_idle_cost_req) { .nsect = 8 }, false);
	assert_false(b.t.follows);
	b.head.trust = 0;
	bench_send(&b, true);
	assert_false(b.t.follows);
	b.head.trust = FB_HEAD_LOCK;
	bench_send(&b, true);
	assert_true(b.t.follows);
	fb_twin_sent(&b.t, NULL, b.now, false, IDLE_LBN, IDLE_NSECT);
	assert_false(b.t.follows);
	bench_end(&b);
}

/* that the head is unknown for a moment changes nothing; more read ahead than there is room does */
static void test_ahead_lost(void **state)
{
	struct fb_idle_cost_req req = { .lbn = 300, .nsect = 8 };
	struct bench b;
	u32 i;

	(void)state;
	bench_begin(&b);
	bench_send(&b, true);
	req.arrived_ns = b.now;
	fb_twin_ahead(&b.t, NULL, &req);
	assert_int_equal(b.t.with.n, 0);
	for (i = 0; i < FB_VDRIVE_QUEUE; i++) {
		req.lbn = 300 + 20 * i;
		fb_twin_ahead(&b.t, &b.head, &req);
	}
	assert_int_equal(b.t.with.n, FB_VDRIVE_QUEUE);
	assert_true(b.t.follows);
	req.lbn = 100;
	fb_twin_ahead(&b.t, &b.head, &req);
	assert_false(b.t.follows);
	bench_end(&b);
}

/* where the phase is lost nobody says when an idle read behind a write should have ended */
static void test_not_due(void **state)
{
	struct bench b;

	(void)state;
	bench_begin(&b);
	bench_send(&b, true);
	bench_idle_ends(&b, b.now + IDLE_NS);
	b.now += IDLE_NS;
	bench_arrive(&b, 300, true);
	b.head.anchored = false;
	bench_send(&b, false);
	assert_int_equal(b.t.due_ns, 0);
	bench_end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rest),
		cmocka_unit_test(test_behind),
		cmocka_unit_test(test_write),
		cmocka_unit_test(test_overtaken),
		cmocka_unit_test(test_busy),
		cmocka_unit_test(test_turn),
		cmocka_unit_test(test_alike),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_joined),
		cmocka_unit_test(test_left),
		cmocka_unit_test(test_lost_open),
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_ahead),
		cmocka_unit_test(test_late_hit),
		cmocka_unit_test(test_merged),
		cmocka_unit_test(test_rule),
		cmocka_unit_test(test_lost),
		cmocka_unit_test(test_ahead_lost),
		cmocka_unit_test(test_not_due),
	};

	return cmocka_run_group_tests_name("twin", tests, NULL, NULL);
}
