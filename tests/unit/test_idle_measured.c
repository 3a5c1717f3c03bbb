// SPDX-License-Identifier: GPL-2.0
/*
 * Idle reads without a model: what they cost, what they take, what they leave out, and when a drive
 * that holds writes back is made to write. Expectations come from core/idle/ and core/destage.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/destage.h"
#include "core/idle_order.h"
#include "core/idle_policy.h"

#define US 1000ULL
#define MS 1000000ULL
#define TURN FB_IDLE_TURN_NS

/* ---- the account ---- */

/*
 * A read ends at 10 ms. Who came at 9 has waited 1 ms, who comes meanwhile what is left of that,
 * and who comes to a free drive nothing. Seen to fail with "a->free_ns = now" left out of either
 * function, and without "max" in fb_idle_account_served().
 */
static void test_account(void **state)
{
	struct fb_idle_account a = { 0 };

	(void)state;
	fb_idle_account_read(&a, 10 * MS, 2 * MS);
	assert_int_equal(1 * MS, fb_idle_account_served(&a, 15 * MS, 9 * MS));
	/* without the read the one before would have ended at 14, and the drive have begun then */
	assert_int_equal(1 * MS, fb_idle_account_served(&a, 20 * MS, 12 * MS));
	/* came at 19.6: .4 ms are made up for by the pause that there would have been */
	assert_int_equal(400 * US, fb_idle_account_served(&a, 25 * MS, 19600 * US));
	assert_int_equal(0, fb_idle_account_served(&a, 40 * MS, 30 * MS));
}

/*
 * A drive that wrote first was busy anyway: of 20 ms only 1 was the read's. Seen to fail with
 * fb_idle_account_read() that leaves @without_ns alone.
 */
static void test_account_late(void **state)
{
	struct fb_idle_account a = { 0 };

	(void)state;
	fb_idle_account_read(&a, 30 * MS, 1 * MS);
	assert_int_equal(1 * MS, fb_idle_account_served(&a, 40 * MS, 12 * MS));
}

/*
 * The ratio is of what the mean rest would have cost, whatever the length of reads; it begins at
 * one and has bounds. Seen to fail without FB_IDLE_ACCOUNT_PRIOR_US, and with the clamp left out.
 */
static void test_account_ratio(void **state)
{
	struct fb_idle_account a = { 0 };
	u32 i;

	(void)state;
	assert_int_equal(FB_IDLE_ACCOUNT_ONE, fb_idle_account_ratio(&a));
	for (i = 0; i < 10000; i++)
		fb_idle_account_period(&a, 1 * MS, 2, 1 * MS);
	assert_in_range(fb_idle_account_ratio(&a), FB_IDLE_ACCOUNT_ONE / 2,
			FB_IDLE_ACCOUNT_ONE / 2 + 4);
	for (i = 0; i < 10000; i++)
		fb_idle_account_period(&a, 100 * MS, 1, 1 * MS);
	assert_int_equal(4 * FB_IDLE_ACCOUNT_ONE, fb_idle_account_ratio(&a));
}

/* ---- times ---- */

/*
 * Means count from eight reads on, the usual time from eight reads of a clean drive. The rest of
 * reads of 1 and 3 ms is E[x^2] / 2 E[x] = 1.25 ms. Seen to fail with "clean" not looked at.
 */
static void test_times(void **state)
{
	struct fb_idle_times t = { 0 };
	struct fb_idle_times_mean m;
	u32 i;

	(void)state;
	for (i = 0; i < 7; i++)
		fb_idle_times_add(&t, 0, 128, 1 * MS, true);
	assert_false(fb_idle_times_mean(&t, 0, &m));
	assert_int_equal(0, fb_idle_times_usual_ns(&t, 0));
	fb_idle_times_add(&t, 0, 128, 1 * MS, true);
	for (i = 0; i < 8; i++)
		fb_idle_times_add(&t, 0, 384, 3 * MS, false);
	assert_int_equal(1 * MS, fb_idle_times_usual_ns(&t, 0));
	assert_true(fb_idle_times_mean(&t, 0, &m));
	assert_int_equal(2 * MS, m.ns);
	assert_int_equal(1250 * US, m.rest_ns);
	assert_int_equal(256, m.sectors);
	assert_false(fb_idle_times_mean(&t, FB_IDLE_TIMES_FIRST, &m));
}

/* ---- what is left out ---- */

/* reads of a drive on which leaving out @best granules takes 1 ms, and any other number @other */
static u32 place_reads(struct fb_idle_place *p, u32 n, u32 best, u64 other)
{
	u32 chosen = 0, skip;

	while (n--) {
		skip = fb_idle_place_choose(p, FB_IDLE_PLACE_ON);
		chosen += skip == best;
		fb_idle_place_ended(p, skip == best ? 1 * MS : other);
	}
	return chosen;
}

/*
 * The best length is found and kept, one that is hardly better is not taken, and a drive that
 * changes is followed. Seen to fail without FB_IDLE_PLACE_WORTH, and with FB_IDLE_PLACE_TRY_NEW so
 * high that nothing is tried.
 */
static void test_place(void **state)
{
	struct fb_idle_place p = { 0 };

	(void)state;
	place_reads(&p, 2000, 1, 8 * MS);
	assert_in_range(place_reads(&p, 1000, 1, 8 * MS), 990, 1000);
	place_reads(&p, 400000, 0, 8 * MS);
	assert_in_range(place_reads(&p, 1000, 0, 8 * MS), 990, 1000);
	p = (struct fb_idle_place) { 0 };
	place_reads(&p, 2000, 3, 1100 * US);
	assert_int_equal(0, fb_idle_place_choose(&p, FB_IDLE_PLACE_KINDS));
	assert_in_range(place_reads(&p, 1000, 0, 1100 * US), 990, 1000);
}

/* ---- a drive that holds writes back ---- */

static void destage_write(struct fb_destage *d, u64 now)
{
	fb_destage_sent(d, now, true, 1000 + now, 8);
	fb_destage_ended(d, now, true);
}

/* eight first reads that keep away, all late or none; returns the time */
static u64 destage_known(struct fb_destage *d, bool late)
{
	u64 now = 0;
	u32 i;

	fb_destage_init(d, TURN);
	fb_destage_set_cache(d, true, 0);
	for (i = 0; i < 8; i++) {
		destage_write(d, now += 100 * MS);
		assert_int_equal(FB_DESTAGE_AWAY, fb_destage_aim(d));
		fb_destage_idle_sent(d, now + 50 * MS);
		fb_destage_idle_ended(d, now + 51 * MS, true, late ? TURN : 0);
	}
	return now + 100 * MS;
}

/*
 * One that writes at once is read behind the write, one that holds writes back over it, when it
 * should have ended had it begun; now and then it is tried anew, and only those tries count. Seen
 * to fail with fb_destage_is_lazy() that is always false, with the tries of reads over a write
 * counted, and without the wait.
 */
static void test_destage_aim(void **state)
{
	u32 over = 0, i;
	struct fb_destage d;
	u64 now = destage_known(&d, true);

	(void)state;
	destage_write(&d, now);
	assert_int_equal(FB_DESTAGE_BEHIND, fb_destage_aim(&d));
	assert_true(fb_destage_begin_ns(&d, now) > now);
	now = destage_known(&d, false);
	for (i = 0; i < 64; i++) {
		destage_write(&d, now += 100 * MS);
		if (fb_destage_aim(&d) == FB_DESTAGE_OVER)
			over++;
		assert_true(fb_destage_begin_ns(&d, now) > now);
		fb_destage_idle_sent(&d, now + 50 * MS);
		/* it has to write first */
		fb_destage_idle_ended(&d, now + 70 * MS, true, d.over ? TURN : 0);
	}
	assert_int_equal(56, over);
}

/* ---- the order ---- */

#define GRANULE 256

/* what order near finds on a disk of 1,000 granules that are all wanted, but for the first @done */
static u64 order_finds(u64 cursor, bool aimed, u64 aim, bool over, u32 skip, u64 done)
{
	struct fb_idle_order_ask ask = {
		.aimed = aimed,
		.aim = aim,
		.over = over,
		.skip = skip,
		.max_sectors = 128,
	};
	struct fb_idle_order *o = calloc(1, sizeof(*o));
	struct fb_plan_piece p = { 0 };
	struct fb_bitmap bm;
	u64 i;

	assert_int_equal(0, fb_bitmap_init(&bm, 1000, fb_bitmap_spans(1000)));
	for (i = done; i < 1000; i++)
		fb_bitmap_want(&bm, i, 1, i / FB_BITMAP_SPAN);
	ask.bm = &bm;
	assert_non_null(o);
	assert_int_equal(0, fb_idle_order_init(o, &fb_idle_order_near, 1000 * GRANULE, GRANULE, 0,
					       0));
	o->cursor = cursor;
	assert_true(fb_idle_order_next(o, &ask, &p));
	assert_int_equal(GRANULE, p.nsect);
	fb_bitmap_destroy(&bm);
	free(o);
	return p.lbn / GRANULE;
}

/*
 * On from the cursor, or behind the foreground, or over its write; less what is left out; the next
 * that is wanted, from the beginning if none is. Seen to fail with @over ignored, and with @skip.
 */
static void test_order(void **state)
{
	(void)state;
	assert_int_equal(70, order_finds(70, false, 0, false, 0, 0));
	assert_int_equal(72, order_finds(70, false, 0, false, 2, 0));
	assert_int_equal(8, order_finds(70, true, 7 * GRANULE + 1, false, 0, 0));
	assert_int_equal(9, order_finds(70, true, 7 * GRANULE + 1, false, 1, 0));
	assert_int_equal(7, order_finds(70, true, 7 * GRANULE + 1, true, 0, 0));
	assert_int_equal(100, order_finds(70, true, 7 * GRANULE, false, 0, 100));
	assert_int_equal(0, order_finds(999, false, 0, false, 3, 0));
}

/* ---- the policy ---- */

static void policy_init(struct fb_idle_policy *w, struct fb_destage *d, bool cache)
{
	fb_destage_init(d, FB_IDLE_TURN_NS);
	fb_destage_set_cache(d, cache, 0);
	fb_idle_policy_init(w, 0);
	fb_idle_policy_set_drive(w, FB_IDLE_TURN_NS, FB_IDLE_SECTOR_PS);
	fb_idle_policy_set_measured(w, true);
}

/* an idle read of @ns; somebody comes @hit_ns behind its beginning if that is not 0 */
static u64 policy_read(struct fb_idle_policy *w, struct fb_destage *d, u64 now, u64 ns, u64 hit_ns,
		       const struct fb_idle_cost_req *req)
{
	fb_idle_policy_sent(w, now, 1 << 20, 128, NULL);
	fb_destage_idle_sent(d, now);
	if (hit_ns)
		fb_idle_policy_arrive(w, now + hit_ns, NULL, req);
	fb_idle_policy_judge(w, now + ns, d);
	fb_idle_policy_ended(w, now + ns);
	return now + ns;
}

/*
 * Who meets a read is charged the rest of it; if that was late, what such reads usually take.
 * Seen to fail with @blamed always false, and with fb_idle_account_read() told of the whole time.
 */
static void test_policy_charges(void **state)
{
	struct fb_idle_cost_req req = { .lbn = 5000, .nsect = 8 };
	struct fb_idle_policy_status st;
	struct fb_idle_policy w;
	struct fb_destage d;
	u64 now = 0, i;

	(void)state;
	policy_init(&w, &d, true);
	for (i = 0; i < 100; i++)
		now = policy_read(&w, &d, now, 1 * MS, 0, NULL);
	req.arrived_ns = now + 400 * US;
	now = policy_read(&w, &d, now, 1 * MS, 400 * US, &req);
	fb_idle_policy_served(&w, now + 5 * MS, &req);
	fb_idle_policy_idle(&w, now + 5 * MS);
	fb_idle_policy_status(&w, now + 5 * MS, &st);
	assert_int_equal(600 * US, st.mean_ns);
	assert_int_equal(600 * US, st.max_ns);
	/* an interval with two reads, of which the second comes 19 ms late, as the drive writes */
	now = policy_read(&w, &d, now + 20 * MS, 1 * MS, 0, NULL);
	destage_write(&d, now);
	req.lbn = 9000000;
	req.arrived_ns = now + 2 * MS;
	now = policy_read(&w, &d, now, 20 * MS, 2 * MS, &req);
	fb_idle_policy_served(&w, now + 5 * MS, &req);
	fb_idle_policy_idle(&w, now + 5 * MS);
	fb_idle_policy_status(&w, now + 5 * MS, &st);
	assert_int_equal((600 + 1000) * US / 2, st.mean_ns);
}

/*
 * One that failed took long, which says nothing of others, but it was waited for. Seen to fail with
 * @judged always true.
 */
static void test_policy_failed(void **state)
{
	struct fb_idle_cost_req req = { .lbn = 5000, .nsect = 8, .arrived_ns = 100 * MS };
	struct fb_idle_policy_status st;
	struct fb_idle_policy w;
	struct fb_destage d;
	u64 now = 0, i;

	(void)state;
	policy_init(&w, &d, false);
	for (i = 0; i < 16; i++)
		now = policy_read(&w, &d, now, 1 * MS, 0, NULL);
	fb_idle_policy_sent(&w, now, 1 << 20, 128, NULL);
	fb_idle_policy_arrive(&w, 100 * MS, NULL, &req);
	fb_idle_policy_ended(&w, 1000 * MS);
	fb_idle_policy_served(&w, 1010 * MS, &req);
	fb_idle_policy_status(&w, 1010 * MS, &st);
	assert_int_equal(900 * MS, st.mean_ns);
	assert_int_equal(15, w.times.of[0].n);
	assert_int_equal(1 * MS, fb_idle_times_usual_ns(&w.times, 0));
}

/*
 * The drive is silent for three seconds below an idle read: who meets it is charged what such reads
 * usually take, or nothing when that is not known; no time and no interval is learnt; reads pause
 * for as long. Seen to fail with fb_idle_account_stall() always false (the charge), with a
 * time that is learnt before the usual one is known, and with a shorter read taken for a stall.
 */
static void test_policy_stall(void **state)
{
	struct fb_idle_cost_req req = { .lbn = 5000, .nsect = 8 };
	struct fb_idle_policy_status st;
	struct fb_idle_policy w;
	struct fb_destage d;
	u64 now = 10 * MS, i;

	(void)state;
	policy_init(&w, &d, false);
	now = policy_read(&w, &d, now, 3000 * MS, 0, NULL);
	assert_int_equal(0, w.times.of[0].n + w.times.of[FB_IDLE_TIMES_FIRST].n);
	for (i = 0; i < 16; i++)
		now = policy_read(&w, &d, now, 1 * MS, 0, NULL);
	assert_int_equal(1 * MS, fb_idle_times_usual_ns(&w.times, 0));
	now = policy_read(&w, &d, now + 3000 * MS, 100 * US, 0, NULL);
	assert_int_equal(now, fb_idle_policy_begin_ns(&w, now));
	req.arrived_ns = now + 400 * MS;
	now = policy_read(&w, &d, now, 3000 * MS, 400 * MS, &req);
	fb_idle_policy_served(&w, now + 5 * MS, &req);
	fb_idle_policy_idle(&w, now + 5 * MS);
	fb_idle_policy_status(&w, now + 5 * MS, &st);
	assert_in_range(st.mean_ns, 900 * US, 1 * MS);
	assert_in_range(fb_idle_times_usual_ns(&w.times, 0), 900 * US, 1 * MS);
	assert_int_equal(0, w.aged_n);
	assert_in_range(fb_idle_policy_begin_ns(&w, now + 5 * MS), now + 2900 * MS,
			now + 3000 * MS);
}

/*
 * The same below the foreground: a hundred requests have come when it ends, which are not the
 * longest busy period that idle reads have to be paid for. Seen to fail with the interval counted.
 */
static void test_policy_stall_foreground(void **state)
{
	struct fb_idle_cost_req req = { .lbn = 5000, .nsect = 8, .arrived_ns = 1000 * MS };
	struct fb_idle_policy w;
	struct fb_destage d;
	u64 i;

	(void)state;
	policy_init(&w, &d, false);
	for (i = 0; i < 100; i++)
		fb_idle_policy_arrive(&w, 1000 * MS + i, NULL, &req);
	for (i = 0; i < 100; i++)
		fb_idle_policy_served(&w, (4000 + i) * MS, &req);
	fb_idle_policy_idle(&w, 4100 * MS);
	assert_int_equal(0, w.longest);
	assert_int_equal(0, w.aged_n);
	assert_int_equal(7000 * MS, fb_idle_policy_begin_ns(&w, 4100 * MS));
	/* one that takes long because others are before it is no stall */
	req.arrived_ns = 8000 * MS;
	for (i = 0; i < 100; i++)
		fb_idle_policy_arrive(&w, 8000 * MS + i, NULL, &req);
	for (i = 0; i < 100; i++)
		fb_idle_policy_served(&w, (8010 + 10 * i) * MS, &req);
	fb_idle_policy_idle(&w, 9000 * MS);
	assert_int_equal(100, w.longest);
	assert_int_equal(1, w.aged_n);
}

/*
 * The first read goes behind what the foreground did last: a write of the drive's cache before all,
 * and not behind a stream, which goes on there. Seen to fail without fb_idle_cost_is_stream(), and
 * with @wrote left set by fb_idle_policy_sent().
 */
static void test_policy_aim(void **state)
{
	struct fb_idle_cost_req req = { .lbn = 5000, .nsect = 8 };
	struct fb_idle_policy_aim aim;
	struct fb_idle_policy w;
	struct fb_destage d;
	u64 now = 0, i;

	(void)state;
	policy_init(&w, &d, false);
	fb_idle_policy_aim(&w, &d, &aim);
	assert_false(aim.moved);
	for (i = 0; i < 4; i++) {
		req.arrived_ns = now += 50 * MS;
		fb_idle_policy_arrive(&w, now, NULL, &req);
		fb_idle_policy_served(&w, now + 5 * MS, &req);
		fb_idle_policy_idle(&w, now + 5 * MS);
		fb_idle_policy_aim(&w, &d, &aim);
		/* two requests may follow each other by chance */
		assert_int_equal(i < 1, aim.moved);
		if (aim.moved)
			assert_int_equal(req.lbn + 8, aim.lbn);
		req.lbn += 8;
	}
	req = (struct fb_idle_cost_req) { .lbn = 77777, .nsect = 3, .write = true };
	fb_idle_policy_wrote(&w, NULL, &req);
	d.bare_now = false;
	fb_idle_policy_aim(&w, &d, &aim);
	assert_true(aim.moved && aim.lbn == 77780 && !aim.over);
	policy_read(&w, &d, now + 20 * MS, 1 * MS, 0, NULL);
	fb_idle_policy_aim(&w, &d, &aim);
	assert_false(aim.moved);
}

/*
 * It begins with 64 KiB, tries longer ones now and then, and takes one only if it was measured to
 * bring more: here reads of any length take 2 ms. The rate of the data sheet would have 1 MiB take
 * 10 ms. Seen to fail without fb_idle_policy_try_size(), and with LEARN_SIZE as with a model.
 */
static void test_policy_size(void **state)
{
	struct fb_idle_cost_req req = { .lbn = 5000, .nsect = 8 };
	struct fb_idle_policy w;
	struct fb_destage d;
	u32 i, k, tried = 0;
	u64 now = 0;

	(void)state;
	policy_init(&w, &d, false);
	assert_int_equal(128, w.sectors);
	for (i = 0; i < 3000; i++) {
		for (k = 0; k < 16; k++) {
			tried += w.sectors > w.found;
			fb_idle_policy_sent(&w, now, 1 << 20, w.sectors, NULL);
			fb_idle_policy_judge(&w, now + 2 * MS, &d);
			fb_idle_policy_ended(&w, now += 2 * MS);
		}
		req.lbn += 1000000;
		req.arrived_ns = now += 1 * MS;
		fb_idle_policy_arrive(&w, now, NULL, &req);
		fb_idle_policy_served(&w, now += 8 * MS, &req);
		fb_idle_policy_idle(&w, now);
		now += 1 * MS;
	}
	/* one in 512 at most: none is left that is longer than the longest */
	assert_in_range(tried, 16, 3000 * 16 / 512 + 1);
	assert_true(w.found >= 512);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_account),
		cmocka_unit_test(test_account_late),
		cmocka_unit_test(test_account_ratio),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_place),
		cmocka_unit_test(test_destage_aim),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_policy_charges),
		cmocka_unit_test(test_policy_failed),
		cmocka_unit_test(test_policy_stall),
		cmocka_unit_test(test_policy_stall_foreground),
		cmocka_unit_test(test_policy_aim),
		cmocka_unit_test(test_policy_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
