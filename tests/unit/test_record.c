// SPDX-License-Identifier: GPL-2.0
/*
 * Records of /dev/freeblock: which blocks are joined to one, by include/uapi/freeblock.h.
 *
 * Seen to fail without the bound of fb_user_check_next(): two halves of 2^32 sectors became a
 * record of none (test_long); without the comparison of user_data (test_apart).
 */
#include "tasks/user_check.h"
#include "support.h"

#define HEADER sizeof(struct freeblock_record)
#define SLOT(first, user_data, sectors) { first, user_data, sectors, FREEBLOCK_STATUS_OK }

/* adjoining blocks of one status, around the end of the ring, as many as fit */
TEST(test_joined)
{
	const struct fb_user_check_slot slot[] = {
		SLOT(16, 5, 8), { 24, 5, 8, FREEBLOCK_STATUS_UNREADABLE }, SLOT(0, 5, 8),
		SLOT(8, 5, 8),
	};
	const struct fb_user_check_ring ring = { slot, 4, 2, 4, true };
	const struct fb_user_check_ring last = { slot, 4, 1, 1, true };
	struct freeblock_record record;

	assert_int_equal(fb_user_check_next(&ring, 1 << 20, &record), 3);
	assert_int_equal(record.first, 0);
	assert_int_equal(record.sectors, 24);
	assert_int_equal(record.data_bytes, 24 * 512);
	assert_int_equal(fb_user_check_next(&ring, HEADER + 16 * 512, &record), 2);
	assert_int_equal(fb_user_check_next(&ring, HEADER + 8 * 512 - 1, &record), 0);
	assert_int_equal(fb_user_check_next(&last, HEADER, &record), 1);
	assert_int_equal(record.status, FREEBLOCK_STATUS_UNREADABLE);
	assert_int_equal(record.data_bytes, 0);
}

/* without data a record may be long, but not longer than it can say */
TEST(test_long)
{
	const struct fb_user_check_slot slot[] = {
		SLOT(0, 0, 1U << 31), SLOT(1ULL << 31, 0, 1U << 31),
	};
	const struct fb_user_check_ring ring = { slot, 2, 0, 2, false };
	struct freeblock_record record;

	assert_int_equal(fb_user_check_next(&ring, HEADER, &record), 1);
	assert_int_equal(record.sectors, 1U << 31);
}

/* blocks that mean different things are told apart */
TEST(test_apart)
{
	const struct fb_user_check_slot slot[] = {
		SLOT(0, 1, 8), SLOT(8, 1, 8), SLOT(16, 2, 8), SLOT(0, 0, 8),
	};
	struct fb_user_check_ring ring = { slot, 4, 0, 4, true };
	struct freeblock_record record;

	assert_int_equal(fb_user_check_next(&ring, 1 << 20, &record), 2);
	assert_int_equal(record.user_data, 1);
	ring.tail = 2;
	assert_int_equal(fb_user_check_next(&ring, 1 << 20, &record), 1);
	assert_int_equal(record.user_data, 2);
	assert_int_equal(record.type, FREEBLOCK_RECORD_BLOCKS);
	assert_int_equal(fb_user_check_next(&ring, HEADER - 1, &record), 0);
	assert_int_equal(record.header_bytes, HEADER);
}
