// SPDX-License-Identifier: GPL-2.0
/*
 * When to read a block that fits into no gap (core/leftover.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "core/leftover.h"
#include "support.h"

#define SECOND_NS 1000000000ULL
#define VAIN 32		/* searches */
#define FEW 256		/* blocks */

/* how often such a block is read in @searches searches in vain, one each @every_ns */
static u32 reads(u64 wanted, u32 cost_ppm, u32 searches, u64 every_ns)
{
	struct fb_leftover l = { 0 };
	u64 now_ns = SECOND_NS;
	u32 n = 0, i;

	for (i = 0; i < searches; i++, now_ns += every_ns) {
		if (!fb_leftover_due(&l, false, wanted, cost_ppm, now_ns))
			continue;
		l.read_ns = now_ns;
		n++;
	}
	return n;
}

/* Seen to fail: a search that finds something counts as one that does not; one search fewer. */
static void test_in_vain(void **state)
{
	struct fb_leftover l = { 0 };
	u32 i, k;

	for (k = 0; k < 2; k++) {
		for (i = 1; i < VAIN; i++)
			assert_false(fb_leftover_due(&l, false, 1, 10000, 5 * SECOND_NS));
		assert_false(fb_leftover_due(&l, true, 1, 10000, 5 * SECOND_NS));
	}
	for (i = 1; i < VAIN; i++)
		assert_false(fb_leftover_due(&l, false, 1, 10000, 5 * SECOND_NS));
	assert_true(fb_leftover_due(&l, false, 1, 10000, 5 * SECOND_NS));
	/* it was not read: the next time, then */
	assert_true(fb_leftover_due(&l, false, 1, 10000, 5 * SECOND_NS));
}

/* Seen to fail: no bound; one above it; no look at whether anything is wanted. */
static void test_few(void **state)
{
	assert_int_equal(reads(0, 10000, 100, SECOND_NS), 0);
	assert_int_equal(reads(1, 10000, 100, SECOND_NS), 100 - VAIN + 1);
	assert_int_equal(reads(FEW, 10000, 100, SECOND_NS), 100 - VAIN + 1);
	assert_int_equal(reads(FEW + 1, 10000, 100, SECOND_NS), 0);
}

/*
 * Of blocks that cost 10 ms each as many as the share of the time allows.
 *
 * Seen to fail: one a second whatever it may cost; a share in per cent.
 */
static void test_share(void **state)
{
	static const u32 cost_ppm[] = { 1000, 10000, 60000, 500000 };
	u64 searches = 100000, every_ns = SECOND_NS / 200, spent_ns, may_ns;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cost_ppm); i++) {
		spent_ns = reads(1, cost_ppm[i], searches, every_ns) * (SECOND_NS / 100);
		may_ns = searches * every_ns / 1000000 * cost_ppm[i];
		/* searches are 5 ms apart, which the next block waits for at most */
		assert_in_range(spent_ns, may_ns * 75 / 100, may_ns + SECOND_NS / 100);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_vain),
		cmocka_unit_test(test_few),
		cmocka_unit_test(test_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
