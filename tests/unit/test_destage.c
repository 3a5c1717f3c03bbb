// SPDX-License-Identifier: GPL-2.0
/*
 * What a drive with a write-back cache still has to do: who orders, when it is clean, how long
 * idle reads wait for that. Expectations come from core/destage.h.
 */
#include "core/destage.h"
#include "unit.h"

#define MS 1000000ULL
#define TURN (8 * MS)
#define JOB (12 * MS)			/* alone: a turn and a half */
#define STEP (TURN / 32)
#define BARES 8

/* a write that goes on from no other */
static void write_at(struct fb_destage *d, u64 now)
{
	fb_destage_sent(d, now, true, 1000 + now, 8);
	fb_destage_ended(d, now, true);
}

/* one write at @now, and the first idle read behind it */
static void first_read(struct fb_destage *d, u64 now, bool late)
{
	u64 at = now + 50 * MS;

	write_at(d, now);
	fb_destage_idle_sent(d, at);
	fb_destage_idle_ended(d, at + MS, true, late ? TURN : 0);
}

/* a drive that is known to write at once, or to hold writes back; returns the time */
static u64 known(struct fb_destage *d, bool lazy)
{
	u64 now = 0;
	u32 i;

	fb_destage_init(d, TURN);
	fb_destage_set_cache(d, true, 0);
	for (i = 0; i < BARES; i++)
		first_read(d, now += 100 * MS, !lazy);
	return now + 100 * MS;
}

/* Seen to fail with FB_DESTAGE_READS 33, and without "d->on". */
TEST(test_orders)
{
	struct fb_destage d;
	u32 i;

	fb_destage_init(&d, TURN);
	assert_false(fb_destage_orders(&d));
	fb_destage_set_cache(&d, true, 0);
	assert_true(fb_destage_orders(&d));
	for (i = 0; i < 31; i++)
		fb_destage_arrived(&d, false);
	assert_true(fb_destage_orders(&d));
	fb_destage_arrived(&d, false);
	assert_false(fb_destage_orders(&d));
	fb_destage_arrived(&d, true);
	assert_true(fb_destage_orders(&d));
	fb_destage_set_cache(&d, false, MS);
	assert_false(fb_destage_orders(&d));
}

/* Seen to fail without each of its three conditions. */
TEST(test_rests)
{
	struct fb_destage d;

	fb_destage_init(&d, TURN);
	fb_destage_arrived(&d, false);
	fb_destage_arrived(&d, false);
	assert_false(fb_destage_rests(&d));
	fb_destage_set_cache(&d, true, 0);
	fb_destage_arrived(&d, false);
	d.sure = true;
	assert_false(fb_destage_rests(&d));
	fb_destage_arrived(&d, false);
	assert_true(fb_destage_rests(&d));
	d.sure = false;
	assert_false(fb_destage_rests(&d));
	d.sure = true;
	fb_destage_arrived(&d, true);
	assert_false(fb_destage_rests(&d));
}

/*
 * Another scheduler has used the drive meanwhile. Seen to fail without each line that forgets.
 */
TEST(test_forgotten)
{
	struct fb_destage d;
	u64 now = known(&d, false), lbn, firsts = d.firsts;
	s64 margin_ns = d.margin_ns;
	u32 tries, i;

	/* it was clean for certain, and all were reads */
	for (i = 0; i < 32; i++)
		fb_destage_arrived(&d, false);
	fb_destage_idle_sent(&d, now);
	fb_destage_idle_ended(&d, now + MS, true, 0);
	assert_int_equal(fb_destage_begin_ns(&d, now + 2 * MS), 0);
	now += 1000 * MS;
	fb_destage_forget(&d, now);
	assert_true(fb_destage_begin_ns(&d, now) >= now);
	assert_true(fb_destage_orders(&d));
	/* there was a write to do, and an idle read at the drive */
	fb_destage_idle_sent(&d, now);
	fb_destage_sent(&d, now, false, 7000, 8);
	fb_destage_sent(&d, now, true, 5000, 8);
	now += MS;
	fb_destage_forget(&d, now);
	assert_false(fb_destage_moves(&d, &lbn));
	assert_int_equal(fb_destage_begin_ns(&d, now), now + margin_ns);
	assert_int_equal(d.medium, 0);
	assert_false(d.idle);
	/* a late read teaches nothing of writes */
	tries = d.tries;
	fb_destage_idle_sent(&d, now);
	fb_destage_idle_ended(&d, now + 20 * MS, true, TURN);
	assert_int_equal(d.tries, tries);
	assert_int_equal(d.firsts, firsts);
	assert_int_equal(d.margin_ns, margin_ns);
}

/*
 * Without a cache nothing is waited for, or noted. Seen to fail without "!d->on" in each of the
 * functions that are called here.
 */
TEST(test_off)
{
	struct fb_destage d, none;
	u64 lbn;

	fb_destage_init(&d, TURN);
	fb_destage_sent(&d, MS, true, 8, 8);
	assert_int_equal(d.dirty, 0);
	assert_true(fb_destage_begin_ns(&d, MS) <= MS);
	assert_false(fb_destage_moves(&d, &lbn));
	none = d;
	fb_destage_idle_sent(&d, 2 * MS);
	fb_destage_idle_ended(&d, 3 * MS, true, TURN);
	d.medium = 1;
	none.medium = 1;
	fb_destage_ended(&d, 4 * MS, false);
	assert_memory_equal(&d, &none, sizeof(d));
}

/*
 * What is there already is not begun anew; who ends was sent; an idle read of which nobody knows
 * when it should have ended tells nothing. Seen to fail without each of these conditions.
 */
TEST(test_told_nothing)
{
	struct fb_destage d, before;
	u64 now = known(&d, false);

	before = d;
	fb_destage_set_cache(&d, true, now);
	fb_destage_ended(&d, now, false);
	assert_memory_equal(&d, &before, sizeof(d));
	fb_destage_sent(&d, now, true, 5000, 8);
	fb_destage_idle_sent(&d, now + MS);
	before = d;
	fb_destage_idle_ended(&d, now + 2 * MS, false, TURN);
	assert_int_equal(d.dirty, 1);
	assert_int_equal(d.tries, before.tries);
}

/*
 * A write is a job, and a write that continues the last one is none. Seen to fail with
 * "d->dirty++" for all writes.
 */
TEST(test_writes)
{
	struct fb_destage d;
	u64 now = known(&d, false), lbn = 0;

	assert_true(fb_destage_begin_ns(&d, now) <= now);
	fb_destage_sent(&d, now, true, 5000, 8);
	assert_int_equal(fb_destage_begin_ns(&d, now), now + JOB);
	assert_true(fb_destage_moves(&d, &lbn));
	assert_int_equal(lbn, 5007);
	fb_destage_sent(&d, now, true, 5008, 8);
	assert_int_equal(d.dirty, 1);
	assert_true(fb_destage_moves(&d, &lbn));
	assert_int_equal(lbn, 5015);
	fb_destage_sent(&d, now + 4 * MS, true, 9000, 8);
	assert_int_equal(d.dirty, 2);
	/* two jobs from now on, the first of them shorter: the drive has a choice */
	assert_in_range(fb_destage_begin_ns(&d, now + 4 * MS), now + JOB * 3 / 2,
			now + 2 * JOB);
	/* the waiting is over when it is over, not later by what was slept */
	assert_true(fb_destage_begin_ns(&d, now + 3 * JOB) <= now + 2 * JOB);
	assert_int_equal(d.dirty, 0);
	assert_false(fb_destage_moves(&d, &lbn));
}

/*
 * The medium does one job at a time, in whatever order: a read that took as long as one job has
 * left the write to be done, one that took as long as two has not. Seen to fail without the
 * subtraction of a read's job in fb_destage_ended().
 */
TEST(test_order_is_unknown)
{
	struct fb_destage d;
	u64 now = known(&d, false);

	fb_destage_sent(&d, now, false, 100, 8);
	fb_destage_sent(&d, now, true, 5000, 8);
	fb_destage_ended(&d, now + JOB, false);
	assert_int_equal(d.dirty, 1);
	assert_in_range(fb_destage_begin_ns(&d, now + JOB), now + 20 * MS, now + 2 * JOB);

	now = known(&d, false);
	fb_destage_sent(&d, now, false, 100, 8);
	fb_destage_sent(&d, now, true, 5000, 8);
	fb_destage_ended(&d, now + 2 * JOB, false);
	assert_int_equal(d.dirty, 0);
	assert_true(fb_destage_begin_ns(&d, now + 2 * JOB) <= now + 2 * JOB);
}

/* Seen to fail with the signs of the steps swapped, and without the upper bound. */
TEST(test_margin)
{
	struct fb_destage d;
	u64 now = known(&d, false);
	u32 i;

	assert_int_equal(d.margin_ns, 0);
	first_read(&d, now += 100 * MS, false);
	assert_int_equal(d.margin_ns, -(s64)STEP);
	first_read(&d, now += 100 * MS, true);
	assert_int_equal(d.margin_ns, STEP);
	for (i = 0; i < 50; i++)
		first_read(&d, now += 100 * MS, true);
	assert_int_equal(d.margin_ns, TURN);
	for (i = 0; i < 100; i++)
		first_read(&d, now += 100 * MS, false);
	assert_int_equal(d.margin_ns, -2 * (s64)TURN);
}

/*
 * A drive of which two of eight reads come late holds writes back, and its head stays; of which
 * four do, not. When the first begins to write at once that is noticed. Seen to fail with
 * FB_DESTAGE_BARE_LEAST of two eighths, and of five.
 */
TEST(test_lazy)
{
	struct fb_destage d;
	u32 i, late;
	u64 now, lbn;

	for (late = 2; late <= 4; late += 2) {
		fb_destage_init(&d, TURN);
		fb_destage_set_cache(&d, true, 0);
		for (i = 0; i < BARES; i++)
			first_read(&d, i * 100 * MS, i < late);
		write_at(&d, now = i * 100 * MS);
		assert_int_equal(fb_destage_moves(&d, &lbn), late == 4);
	}
	now = known(&d, true);
	for (i = 0; i < 32; i++)
		first_read(&d, now += 100 * MS, true);
	write_at(&d, now += 100 * MS);
	assert_true(fb_destage_moves(&d, &lbn));
}

/* One in 256 does not wait. Seen to fail without the last line of fb_destage_judge(). */
TEST(test_tries)
{
	struct fb_destage d;
	u64 now = known(&d, false);
	u32 i, bare = 0;

	for (i = 0; i < 1024; i++) {
		bare += d.bare_now;
		first_read(&d, now += 100 * MS, i % 3 == 0 || d.bare_now);
	}
	assert_int_equal(bare, 4);
}

/*
 * One that writes at once is read behind the write, one that holds writes back over it, when it
 * should have ended had it begun; now and then it is tried anew, and only those tries count. Until
 * eight have told, reads keep away. Seen to fail with fb_destage_is_lazy() that is always false,
 * with the tries of reads over a write counted, and without the wait.
 */
TEST(test_aim)
{
	u32 over = 0, i;
	struct fb_destage d;
	u64 now;

	fb_destage_init(&d, TURN);
	fb_destage_set_cache(&d, true, 0);
	for (i = 0; i < BARES; i++) {
		assert_int_equal(FB_DESTAGE_AWAY, fb_destage_aim(&d));
		first_read(&d, i * 100 * MS, true);
	}
	write_at(&d, now = i * 100 * MS);
	assert_int_equal(FB_DESTAGE_BEHIND, fb_destage_aim(&d));
	assert_true(fb_destage_begin_ns(&d, now) > now);
	now = known(&d, true);
	for (i = 0; i < 64; i++) {
		write_at(&d, now += 100 * MS);
		over += fb_destage_aim(&d) == FB_DESTAGE_OVER;
		assert_true(fb_destage_begin_ns(&d, now) > now);
		fb_destage_idle_sent(&d, now + 50 * MS);
		/* it has to write first */
		fb_destage_idle_ended(&d, now + 70 * MS, true, d.over ? TURN : 0);
	}
	assert_int_equal(56, over);
}

/*
 * A write that came while an idle read was at the drive is still to be done. Seen to fail with
 * "d->dirty = 0" in fb_destage_idle_ended().
 */
TEST(test_behind_idle)
{
	struct fb_destage d;
	u64 now = known(&d, false), lbn = 0;

	fb_destage_idle_sent(&d, now);
	fb_destage_sent(&d, now + MS, true, 5000, 8);
	fb_destage_idle_ended(&d, now + 2 * MS, true, 0);
	assert_int_equal(d.dirty, 1);
	assert_true(fb_destage_moves(&d, &lbn));
	assert_int_equal(lbn, 5007);
	assert_int_equal(fb_destage_begin_ns(&d, now + 2 * MS), now + 2 * MS + JOB);
}

/*
 * An idle read that ends in time says that all the writes before it were done; one that comes late,
 * that one of them was. Seen to fail the other way round.
 */
TEST(test_several)
{
	struct fb_destage d;
	u32 late;

	for (late = 0; late < 2; late++) {
		u64 now = known(&d, false);

		fb_destage_sent(&d, now, true, 5000, 8);
		fb_destage_sent(&d, now, true, 9000, 8);
		fb_destage_idle_sent(&d, now + MS);
		fb_destage_idle_ended(&d, now + 2 * MS, true, late ? TURN : 0);
		assert_int_equal(d.dirty, late);
	}
}

/*
 * Beside a command that took long one of two writes was done, so the idle read behind them is
 * behind a single one. Seen to fail with "d->owed" as it was when the writes came.
 */
TEST(test_single)
{
	struct fb_destage d;
	u64 now = known(&d, false), firsts = d.firsts;

	fb_destage_sent(&d, now, true, 5000, 8);
	fb_destage_sent(&d, now, true, 9000, 8);
	assert_int_equal(d.owed, 2);
	fb_destage_sent(&d, now, false, 100, 8);
	fb_destage_ended(&d, now + 2 * JOB, false);
	assert_int_equal(d.dirty, 1);
	fb_destage_idle_sent(&d, now + 2 * JOB);
	fb_destage_idle_ended(&d, now + 3 * JOB, true, 0);
	assert_int_equal(d.firsts, firsts + 1);
}

/*
 * A write that came beside an idle read is the only one left when that has ended. Seen to fail
 * without "d->owed" in fb_destage_idle_ended().
 */
TEST(test_beside)
{
	struct fb_destage d;
	u64 now = known(&d, false), firsts = d.firsts;

	fb_destage_sent(&d, now, true, 5000, 8);
	fb_destage_idle_sent(&d, now + MS);
	fb_destage_sent(&d, now + 2 * MS, true, 9000, 8);
	fb_destage_idle_ended(&d, now + 3 * MS, true, 0);
	assert_int_equal(d.dirty, 1);
	assert_int_equal(d.firsts, firsts + 1);
	fb_destage_idle_sent(&d, now + 100 * MS);
	fb_destage_idle_ended(&d, now + 101 * MS, true, 0);
	assert_int_equal(d.firsts, firsts + 2);
}

/* splitmix64 */
static u64 draw(u64 *seed)
{
	u64 z = *seed += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/* Waits that were too long for many intervals end. Seen to fail without "d->passed" there. */
TEST(test_passed)
{
	struct fb_destage d;
	u64 now = known(&d, false);
	u32 i;

	for (i = 0; i < 64; i++, now += 5 * MS) {
		fb_destage_sent(&d, now, true, 1000 * (i + 1), 8);
		assert_true(fb_destage_begin_ns(&d, now) > now);
		fb_destage_sent(&d, now, false, 100, 8);
		fb_destage_ended(&d, now + 4 * MS, false);
	}
	assert_true(fb_destage_begin_ns(&d, now) <= now);
	fb_destage_idle_sent(&d, now);
	fb_destage_idle_ended(&d, now + TURN, true, TURN);
	fb_destage_sent(&d, now + TURN, true, 5000, 8);
	assert_true(fb_destage_begin_ns(&d, now + TURN) > now + TURN);
}

/*
 * What is believed stays within bounds, whatever comes. Seen to fail without min_t() in
 * fb_destage_wrote() and without max_t() in fb_destage_ended().
 */
TEST(test_bounds)
{
	struct fb_destage d;
	u64 now = known(&d, false), begin;
	u32 i;

	for (i = 0; i < 1000; i++)
		fb_destage_sent(&d, now, true, 1000 * (1 + i % 2) + 8 * (u64)i, 8);
	assert_int_equal(d.dirty, 256);
	begin = fb_destage_begin_ns(&d, now);
	assert_in_range(begin, now + 64 * JOB, now + 256 * JOB);

	/* reads that the drive's cache serves take no time from the medium */
	now = known(&d, false);
	fb_destage_sent(&d, now, true, 5000, 8);
	for (i = 0; i < 10000; i++) {
		fb_destage_sent(&d, now, false, 100 + 8 * i, 8);
		fb_destage_ended(&d, now += MS / 10, false);
	}
	d.passed = 0;
	assert_in_range(fb_destage_begin_ns(&d, now), now, now + 8 * TURN + JOB + MS);
}

/* of five drives whose jobs take 4 to 20 ms: the share of idle reads that come late */
static double late_share(bool alone)
{
	double late = 0;
	u64 seed;

	for (seed = 1; seed <= 5; seed++) {
		u64 rnd = seed, now, ready, at, firsts, lates;
		struct fb_destage d;
		u32 i;

		now = known(&d, false);
		d.alone = alone;
		firsts = d.firsts;
		lates = d.lates;
		for (i = 0; i < 5000; i++) {
			/* a read, then a write, then nothing */
			ready = now + 4 * MS + draw(&rnd) % (16 * MS);
			fb_destage_sent(&d, now, false, draw(&rnd) % 100000000, 8);
			fb_destage_ended(&d, ready, false);
			now = ready + 30 * MS;
			fb_destage_sent(&d, now, true, draw(&rnd) % 100000000, 8);
			ready = now + 4 * MS + draw(&rnd) % (16 * MS);
			at = max(now, fb_destage_begin_ns(&d, now));
			fb_destage_idle_sent(&d, at);
			at = max(at, ready) + MS;
			/* as the head was elsewhere a late read loses a turn */
			fb_destage_idle_ended(&d, at, true, at > ready + MS ? 0 : TURN);
			now = at + 20 * MS;
		}
		late += (double)(d.lates - lates) / (d.firsts - firsts) / 5;
	}
	return late;
}

/*
 * Of idle reads behind a single write one in three should come late (0.34 of seeds 1 to 5). Of
 * those for which nothing is read ahead one in seventeen should, or more (0.10): the margin ends at
 * a turn.
 * Seen to fail with FB_DESTAGE_RISE 1, with "d->bare_now = true", with FB_DESTAGE_RISE for both.
 */
TEST(test_lates)
{
	double late = late_share(false), alone = late_share(true);

	assert_true(late > 0.28 && late < 0.38);
	assert_true(alone > 0.08 && alone < 0.12);
}
