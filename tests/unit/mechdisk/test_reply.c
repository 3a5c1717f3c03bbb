// SPDX-License-Identifier: GPL-2.0
/*
 * UNMAP and WRITE SAME of the simulated drive (SBC-3, 5.28, 5.42, 5.43, 6.5.3, 6.5.4): which
 * sectors they name, and what the drive says of them.
 *
 * Seen to fail with: the UNMAP bit of WRITE SAME not looked at (test_same).
 */
#include "support.h"
#include "mechdisk_reply.h"

static struct mde_config cfg;
static struct mdy_range range;

static int end(void **state)
{
	(void)state;
	mdt_free(&cfg);
	return 0;
}

static void expect_gone(u64 lbn, u32 count)
{
	assert_int_equal(range.op, MDE_FLUSH);
	assert_int_equal(range.count, 0);
	assert_int_equal(range.gone_lbn, lbn);
	assert_int_equal(range.gone, count);
}

static void test_unmap(void **state)
{
	u8 list[MDY_UNMAP_LIST] = { 0, 22, 0, 16, [14] = 0x12, [15] = 0x34, [18] = 1, [19] = 2 };

	(void)state;
	assert_true(mdy_unmap(list, sizeof(list), &range));
	expect_gone(0x1234, 0x102);
	/* cut off; of two ranges; of none; none at all */
	assert_false(mdy_unmap(list, 23, &range));
	list[3] = 32;
	assert_false(mdy_unmap(list, sizeof(list), &range));
	list[3] = 0;
	assert_true(mdy_unmap(list, 8, &range));
	expect_gone(0, 0);
	assert_true(mdy_unmap(list, 0, &range));
	assert_false(mdy_unmap(list, 4, &range));
}

static void test_same(void **state)
{
	u8 ten[10] = { 0x41, 0, 0, 0, 0x12, 0x34, 0, 1, 2 };
	u8 sixteen[16] = { 0x93, 0, [8] = 0x12, [9] = 0x34, [12] = 1, [13] = 2 };
	u8 *cdbs[] = { ten, sixteen };
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		u8 *cdb = cdbs[i];

		memset(&range, 0, sizeof(range));
		assert_false(mdy_names_sectors(cdb, &range));
		assert_true(mdy_names_same(cdb, &range));
		assert_true(mdy_same_flags(cdb, &range));
		assert_int_equal(range.op, MDE_WRITE);
		assert_true(range.same);
		assert_int_equal(range.lbn, 0x1234);
		assert_int_equal(range.count, 0x102);
		assert_int_equal(range.gone, 0);
		cdb[1] = 0x08;
		assert_true(mdy_names_same(cdb, &range));
		assert_true(mdy_same_flags(cdb, &range));
		expect_gone(0x1234, 0x102);
		/* without a buffer; protected */
		assert_true(mdy_names_same(cdb, &range));
		cdb[1] = 0x01;
		assert_false(mdy_same_flags(cdb, &range));
		cdb[1] = 0x20;
		assert_false(mdy_same_flags(cdb, &range));
		cdb[1] = 0;
		range.count = 0;
		assert_false(mdy_same_flags(cdb, &range));
	}
}

static void test_told(void **state)
{
	static const u8 limits[6] = { 0x12, 1, 0xb0 }, provisioning[6] = { 0x12, 1, 0xb2 };
	u8 reply[MDY_REPLY];

	(void)state;
	mdu_load("toy.fbdrive", "max_sectors 512", &cfg);
	assert_int_equal(mdy_inquiry(&cfg, provisioning, reply), 0);
	mdy_capacity_16(&cfg, reply);
	assert_int_equal(reply[14], 0);
	mdt_free(&cfg);
	mdu_load("toy.fbdrive", "max_sectors 512\nunmap on", &cfg);
	assert_int_equal(mdy_inquiry(&cfg, provisioning, reply), 8);
	assert_int_equal(reply[5], 0xe4);
	mdy_capacity_16(&cfg, reply);
	assert_int_equal(reply[14], 0xc0);
	assert_int_equal(mdy_inquiry(&cfg, limits, reply), 64);
	/* UNMAP: 512 LBNs of one range; WRITE SAME: 512 */
	assert_int_equal(reply[4], 1);
	assert_int_equal(reply[22] << 8 | reply[23], 512);
	assert_int_equal(reply[27], 1);
	assert_int_equal(reply[42] << 8 | reply[43], 512);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unmap),
		cmocka_unit_test(test_same),
		cmocka_unit_test_teardown(test_told, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
