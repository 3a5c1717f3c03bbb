// SPDX-License-Identifier: GPL-2.0
/*
 * Records of /dev/freeblock: which blocks are joined to one, by include/uapi/freeblock.h.
 *
 * Seen to fail without the bound of fb_record_joins(): two halves of 2^32 sectors became a
 * record of none (test_long).
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tasks/record.h"

#define HEADER sizeof(struct freeblock_record)

/* adjoining blocks of one status, around the end of the ring, as many as fit */
static void test_joined(void **state)
{
	const struct fb_record_slot slot[] = {
		{ 16, 8, FREEBLOCK_RECORD_OK }, { 24, 8, FREEBLOCK_RECORD_UNREADABLE },
		{ 0, 8, FREEBLOCK_RECORD_OK }, { 8, 8, FREEBLOCK_RECORD_OK },
	};
	const struct fb_record_ring ring = { slot, 4, 2, 4, true }, last = { slot, 4, 1, 1, true };
	struct freeblock_record record;

	(void)state;
	assert_int_equal(fb_record_next(&ring, 1 << 20, &record), 3);
	assert_int_equal(record.lbn, 0);
	assert_int_equal(record.sectors, 24);
	assert_int_equal(record.data_bytes, 24 * 512);
	assert_int_equal(fb_record_next(&ring, HEADER + 16 * 512, &record), 2);
	assert_int_equal(fb_record_next(&ring, HEADER + 8 * 512 - 1, &record), 0);
	assert_int_equal(fb_record_next(&last, HEADER, &record), 1);
	assert_int_equal(record.status, FREEBLOCK_RECORD_UNREADABLE);
	assert_int_equal(record.data_bytes, 0);
}

/* without data a record may be long, but not longer than it can say */
static void test_long(void **state)
{
	const struct fb_record_slot slot[] = {
		{ 0, 1U << 31, FREEBLOCK_RECORD_OK }, { 1ULL << 31, 1U << 31, FREEBLOCK_RECORD_OK },
	};
	const struct fb_record_ring ring = { slot, 2, 0, 2, false };
	struct freeblock_record record;

	(void)state;
	assert_int_equal(fb_record_next(&ring, HEADER, &record), 1);
	assert_int_equal(record.sectors, 1U << 31);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_joined),
		cmocka_unit_test(test_long),
	};

	return cmocka_run_group_tests_name("record", tests, NULL, NULL);
}
