// SPDX-License-Identifier: GPL-2.0
/*
 * Rates, deadlines, the bounded share of a disk's time, and the pace. Expectations come from the
 * definitions in core/deadline.h.
 */
#include "core/deadline.h"
#include "support.h"

#define MS 1000000ULL
#define SEC (1000 * MS)

/* 50 blocks a second, 1000 left: 20 s. Seen to fail with the comparison turned round. */
TEST(test_late)
{
	u64 start = 7 * SEC;
	struct fb_deadline_rate p;

	fb_deadline_begin(&p, 300, start);
	fb_deadline_measure(&p, 700, start + FB_DEADLINE_NS - 1);
	assert_int_equal(p.rate, 0);
	assert_false(fb_deadline_is_late(&p, 1000, start, start + 9 * SEC));
	fb_deadline_measure(&p, 800, start + FB_DEADLINE_NS);
	assert_int_equal(p.rate, 50);
	assert_int_equal(fb_deadline_due_ns(&p), start + 2 * FB_DEADLINE_NS);
	assert_false(fb_deadline_is_late(&p, 1000, start + 30 * SEC, start + 10 * SEC));
	assert_true(fb_deadline_is_late(&p, 1000, start + 30 * SEC - 1, start + 10 * SEC));
	assert_false(fb_deadline_is_late(&p, 0, start, start + 10 * SEC));
	assert_false(fb_deadline_is_late(&p, 1000, 0, start + 10 * SEC));
	/* a task that gets nothing has a rate, too */
	fb_deadline_measure(&p, 800, start + 20 * SEC);
	assert_int_equal(p.rate, 1);
	assert_true(fb_deadline_is_late(&p, 1000, start + 1000 * SEC, start + 20 * SEC));
}

/*
 * Reads of @ns each, one after the other, whenever they are due, for @end; returns the time they
 * took, and checks any window from a read's start to another one's end.
 */
static u64 greedy(struct fb_deadline_share *s, u32 ppm, u64 ns, u64 end)
{
	static u64 from[20000];
	u64 now = 200000 * SEC, begin = now, n = 0, i;

	while (now < begin + end) {
		u64 due = fb_deadline_next_ns(s, ppm, now);

		assert_true(due >= now);
		if (due > now) {
			now = due;
			assert_int_equal(fb_deadline_next_ns(s, ppm, now), now);
		}
		assert_true(n < 20000);
		from[n++] = now;
		now += ns;
		fb_deadline_charge(s, ns);
		for (i = 0; i < n && ns <= FB_DEADLINE_READ_NS; i += 1 + n / 64)
			assert_true((n - i) * ns <=
				    (now - from[i]) / 1000 * ppm / 1000 +
				    FB_DEADLINE_BURST_NS + 1000);
	}
	return n * ns;
}

/*
 * The share is kept over any time, and used. Seen to fail with credit that is not bounded.
 */
TEST(test_share)
{
	static const u32 ppms[] = { 1, 1000, 50000, FB_PPM / 2 };
	static const u64 reads[] = { 300000, 7 * MS, 50 * MS };
	u32 i, k;

	for (i = 0; i < 4; i++)
		for (k = 0; k < 3; k++) {
			struct fb_deadline_share s = { 0 };
			u64 end = ppms[i] == 1 ? 1000000 * SEC : 10 * SEC;
			u64 share = end / 1000000 * ppms[i];
			u64 used;

			/* days without a read are worth no more than the burst */
			fb_deadline_next_ns(&s, ppms[i], SEC);
			used = greedy(&s, ppms[i], reads[k], end);
			assert_in_range(used, share, share + FB_DEADLINE_BURST_NS + reads[k]);
		}
}

/*
 * Asked every microsecond, a ppm of it comes in nevertheless; with another share what is owed comes
 * in by that. Seen to fail with what is owed kept as a time.
 */
TEST(test_fractions)
{
	struct fb_deadline_share s = { 0 };
	u64 now, due;

	fb_deadline_next_ns(&s, 7, SEC);
	fb_deadline_charge(&s, FB_DEADLINE_BURST_NS);
	due = fb_deadline_next_ns(&s, 7, SEC);
	assert_in_range(due, FB_DEADLINE_READ_NS / 7 * 1000000,
			FB_DEADLINE_READ_NS / 7 * 1000000 + 2 * SEC);
	for (now = SEC; now < 2 * SEC; now += 1000)
		assert_int_equal(fb_deadline_next_ns(&s, 7, now), due);
	assert_in_range(fb_deadline_next_ns(&s, 70, now), due / 10, due / 10 + 2 * SEC);
}

/* A read that took five seconds is paid for; without a share nothing is ever due. */
TEST(test_debt)
{
	struct fb_deadline_share s = { 0 };

	assert_int_equal(fb_deadline_next_ns(&s, 0, 100 * SEC), FB_DEADLINE_NEVER);
	assert_int_equal(fb_deadline_next_ns(&s, 100000, 100 * SEC), 100 * SEC);
	fb_deadline_charge(&s, 5 * SEC);
	assert_int_equal(fb_deadline_next_ns(&s, 100000, 105 * SEC),
			 100 * SEC + (5 * SEC - FB_DEADLINE_BURST_NS + FB_DEADLINE_READ_NS) * 10);
	/* a clock read before another caller's */
	assert_true(fb_deadline_next_ns(&s, 100000, 104 * SEC) > 105 * SEC);
}

/*
 * Read 128 KiB in half a millisecond each, whenever the pace allows it, for @end from @now on;
 * returns the KiB, and in how many goes.
 */
static u64 keep_pace(struct fb_deadline_pace *p, u32 kib_s, u64 now, u64 end, u32 *goes)
{
	u64 done = 0, until = now + end;
	bool open = false;

	*goes = 0;
	fb_deadline_keep_pace(p, kib_s, 0, now);
	while (now < until) {
		*goes += !open && !p->open_ns;
		open = !p->open_ns;
		if (open) {
			now += MS / 2;
			done += 128;
		} else {
			assert_true(p->open_ns > now);
			/* others ask, too */
			now = min(p->open_ns, now + 50 * MS);
		}
		fb_deadline_keep_pace(p, kib_s, open ? 256 : 0, now);
	}
	return done;
}

/*
 * Reads keep to a pace, and are made in goes: a second's in one, or one read that takes longer to
 * pay for. Seen to fail with goes that begin at any credit (50 times as many).
 */
TEST(test_pace)
{
	static const u32 rates[] = { 20, 200, 6054, 50000 };
	u32 i, goes;

	for (i = 0; i < ARRAY_SIZE(rates); i++) {
		struct fb_deadline_pace p = { 0 };
		u64 kib = keep_pace(&p, rates[i], 1000 * SEC, 100 * SEC, &goes);

		assert_in_range(kib, 98ULL * rates[i] - 128, 101ULL * rates[i] + 128);
		assert_in_range(goes, min(100U, 99 * rates[i] / 128) / 2, 101);
	}
}

/* What was not read for an hour is not made up for; debts of hours are paid. */
TEST(test_pace_ends)
{
	struct fb_deadline_pace p = { 0 };
	u64 now = 1000 * SEC;
	u32 goes;

	fb_deadline_keep_pace(&p, 1000, 0, now);
	now += 3600 * SEC;
	assert_in_range(keep_pace(&p, 1000, now, SEC, &goes), 2000, 3256);
	/* 16 MiB, at 1 KiB/s: another pace counts at once, and its own debts only */
	now += SEC;
	fb_deadline_keep_pace(&p, 1, 0, now);
	assert_int_equal(p.open_ns, now + FB_DEADLINE_GO_NS);
	fb_deadline_keep_pace(&p, 1, 32768, now);
	assert_int_equal(p.open_ns, now + 16384 * SEC + FB_DEADLINE_GO_NS);
	fb_deadline_keep_pace(&p, 1, 0, now + 16384 * SEC);
	assert_int_equal(p.open_ns, now + 16384 * SEC + FB_DEADLINE_GO_NS);
	fb_deadline_keep_pace(&p, 1, 0, p.open_ns);
	assert_int_equal(p.open_ns, 0);
	fb_deadline_keep_pace(&p, 1, 32768, p.open_ns);
	fb_deadline_keep_pace(&p, 0, 0, now);
	assert_int_equal(p.open_ns, 0);
}
