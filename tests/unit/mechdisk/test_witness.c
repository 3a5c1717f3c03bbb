// SPDX-License-Identifier: GPL-2.0
/*
 * What a witness is told of the medium, on a drive made for calculating by hand (hand.h).
 * Commands handed in at 0 are understood at once, sector n is under the head from n * 60 us on.
 *
 * Seen to fail: hits that are told; a cached write told when it is reported; a read told with
 * the sector that is bad.
 */
#include "hand.h"

#define RECORDS "cache 4 100 2\nwrite_cache back\n"
#define PASSES 16

struct witness {
	struct mde_pass pass[PASSES];
	u32 passes;
	u64 start;
};

static void witness_pass(void *arg, const struct mde_pass *pass)
{
	struct witness *w = arg;

	assert_true(w->passes < PASSES);
	w->pass[w->passes++] = *pass;
}

static void witness_begin(struct witness *w, struct hand *h, const char *records)
{
	hand_begin(h, records);
	w->passes = 0;
	w->start = h->start;
	mde_watch(&h->e, witness_pass, w);
}

static void witness_told(const struct witness *w, u32 i, enum mde_op op, u64 lbn, u32 count,
			 u64 from, u64 to)
{
	const struct mde_pass *p = &w->pass[i];

	assert_true(i < w->passes);
	assert_int_equal(p->op, op);
	assert_int_equal(p->lbn, lbn);
	assert_int_equal(p->count, count);
	assert_int_equal(p->from_ns - w->start, from);
	assert_int_equal(p->to_ns - w->start, to);
}

/* What comes off the medium is told, what the cache has is not. */
TEST(test_reads)
{
	struct witness w;
	struct hand h;

	witness_begin(&w, &h, RECORDS);
	hand_run(&h, 0, MDE_READ, 10, 10);
	witness_told(&w, 0, MDE_READ, 10, 10, 0, 20 * SECTOR);
	hand_run(&h, 2 * MS, MDE_READ, 12, 4);
	assert_int_equal(h.done[1].kind, MDE_READ_HIT);
	assert_int_equal(w.passes, 1);
	/* Two sectors are there already. */
	hand_run(&h, TURN, MDE_READ, 18, 6);
	witness_told(&w, 1, MDE_READ, 20, 4, TURN, TURN + 24 * SECTOR);
	hand_run(&h, 2 * TURN, MDE_VERIFY, 10, 10);
	witness_told(&w, 2, MDE_VERIFY, 10, 10, 2 * TURN, 2 * TURN + 20 * SECTOR);
	assert_int_equal(w.passes, 3);
	hand_end(&h);
}

/* Up to a bad sector, which is none that was read. */
TEST(test_bad_read)
{
	struct witness w;
	struct hand h;

	witness_begin(&w, &h, RECORDS "medium_error 15 1 recovery_ms=0\n");
	hand_run(&h, 0, MDE_READ, 10, 10);
	witness_told(&w, 0, MDE_READ, 10, 5, 0, 16 * SECTOR);
	hand_run(&h, TURN, MDE_READ, 15, 1);
	assert_int_equal(w.passes, 1);
	hand_end(&h);
}

/* Cached data with the job that brings them to the medium; FUA at once; each flush. */
TEST(test_writes)
{
	struct witness w;
	struct hand h;

	witness_begin(&w, &h, RECORDS);
	hand_run(&h, 0, MDE_WRITE, 10, 10);
	assert_int_equal(h.done[0].kind, MDE_WRITE_HIT);
	hand_run(&h, 100 * US, MDE_FLUSH, 0, 0);
	assert_int_equal(w.passes, 2);
	witness_told(&w, 0, MDE_WRITE, 10, 10, 0, 20 * SECTOR);
	witness_told(&w, 1, MDE_FLUSH, 0, 0, 100 * US, 20 * SECTOR);
	hand_send_flags(&h, TURN, MDE_WRITE, 30, 10, MDE_FUA);
	hand_run(&h, 2 * TURN, MDE_FLUSH, 0, 0);
	witness_told(&w, 2, MDE_WRITE, 30, 10, TURN, TURN + 40 * SECTOR);
	witness_told(&w, 3, MDE_FLUSH, 0, 0, 2 * TURN, 2 * TURN);
	hand_end(&h);
}
