// SPDX-License-Identifier: GPL-2.0
/*
 * The SATA drive's registers and pages.  Expectations are the toy drive's description and
 * ACS-3 (7.12 IDENTIFY DEVICE, 8.3.3 error recovery control) and Serial ATA 3.2 (13.7.4). Caching,
 * power conditions, discards, priority and the link's sleep are tried by the kernel's own driver:
 * t-sata.sh, t-asleep.sh, t-trim.sh, t-priority.sh, t-link.sh.
 *
 * Seen to fail: a 28-bit count of 0 as 0 (test_short); log 10h that does not end the error
 * (test_queued_error).
 */
#include "support.h"

#include "mechdisk_taskfile.h"

#define SECOND 1000000000ULL

static struct mde_config cfg;
static struct md_tf drive;
static struct md_tf_regs regs;
static struct mde_range range;
static struct md_tf_result result;
static u8 page[MD_TF_PAGE];
static u64 now;

static void begin(const char *lines)
{
	mdu_load("toy.fbdrive", lines, &cfg);
	now = SECOND;
	md_tf_init(&drive, &cfg, now);
}

int teardown(void **state)
{
	mdt_free(&cfg);
	return 0;
}

static enum md_tf_kind start(u8 command, u16 feature, u16 count, u64 lba, u8 device)
{
	regs = (struct md_tf_regs) {
		.command = command, .device = device, .feature = feature, .count = count,
		.lba = lba,
	};
	return md_tf_start(&drive, &regs, now, &range, &result);
}

static void expect_abort(u8 command, u16 feature, u16 count, u64 lba)
{
	assert_int_equal(start(command, feature, count, lba, 0x40), MD_TF_DONE);
	assert_int_equal(result.status & 1, 1);
	assert_int_equal(result.error, 0x04);
}

static void expect_range(enum mde_op op, u64 lbn, u32 count, u32 flags)
{
	assert_int_equal(range.op, op);
	assert_int_equal(range.lbn, lbn);
	assert_int_equal(range.count, count);
	assert_int_equal(range.flags, flags);
}

static u16 word(u32 n)
{
	return page[n * 2] | page[n * 2 + 1] << 8;
}

static u64 words(u32 n, u32 count)
{
	u64 value = 0;

	while (count--)
		value = value << 16 | word(n + count);
	return value;
}

static u8 sum(void)
{
	u8 all = 0;
	int i;

	for (i = 0; i < MD_TF_PAGE; i++)
		all += page[i];
	return all;
}

static void identify(void)
{
	assert_int_equal(start(0xec, 0, 1, 0, 0), MD_TF_REPLY);
	assert_true(md_tf_reply(&drive, &regs, 0, page));
	assert_int_equal(sum(), 0);
}

static void read_log(u8 log, u8 n)
{
	assert_int_equal(start(0x2f, 0, 1, log | n << 8, 0), MD_TF_REPLY);
	assert_false(md_tf_reply(&drive, &regs, 1, page));
	assert_true(md_tf_reply(&drive, &regs, 0, page));
}

TEST(test_identify)
{
	begin("cache 4 256 2\nqueue_depth 20\n");
	identify();
	assert_memory_equal(page + 54, "OT Y  ", 6);
	assert_int_equal(words(60, 2), cfg.sectors);
	assert_int_equal(words(100, 4), cfg.sectors);
	assert_int_equal(word(75), 19);
	assert_int_equal(word(76) & 0x1100, 0x1100);
	assert_int_equal(word(106), 0x4000);
	assert_int_equal(word(217), 10000);
	assert_int_equal(word(108) >> 12, 5);
	assert_int_equal(word(82) & 0x60, 0x60);
	assert_int_equal(word(85) & 0x60, 0x40);
}

TEST(test_large_sectors)
{
	begin("sector_bytes 4096\n");
	identify();
	assert_int_equal(word(106), 0x5000);
	assert_int_equal(words(117, 2), 2048);
}

TEST(test_short)
{
	begin(NULL);
	assert_int_equal(start(0xc8, 0, 0, 0x1234, 0x40), MD_TF_RANGE);
	expect_range(MDE_READ, 0x1234, 256, 0);
	assert_int_equal(start(0xca, 0, 8, 0x1234, 0x40), MD_TF_RANGE);
	expect_range(MDE_WRITE, 0x1234, 8, 0);
	assert_int_equal(start(0x40, 0, 1, 0xffffff, 0x41), MD_TF_DONE);
	assert_int_equal(result.error, 0x10);
	assert_int_equal(result.lba, 0x1ffffff);
}

TEST(test_long)
{
	begin(NULL);
	assert_int_equal(start(0x25, 0, 1024, 99, 0x40), MD_TF_RANGE);
	expect_range(MDE_READ, 99, 1024, 0);
	assert_int_equal(start(0x3d, 0, 8, 99, 0x40), MD_TF_RANGE);
	expect_range(MDE_WRITE, 99, 8, MDE_FUA);
	assert_int_equal(start(0x42, 0, 8, cfg.sectors - 8, 0x40), MD_TF_RANGE);
	expect_range(MDE_VERIFY, cfg.sectors - 8, 8, 0);
	/* 0 is 65536, longer than max_sectors */
	expect_abort(0x25, 0, 0, 0);
	expect_abort(0x25, 0, 1025, 0);
	/* without the LBA bit it would be a cylinder */
	assert_int_equal(start(0x25, 0, 8, 99, 0), MD_TF_DONE);
	assert_int_equal(result.error, 0x04);
	assert_int_equal(start(0x25, 0, 8, cfg.sectors - 7, 0x40), MD_TF_DONE);
	assert_int_equal(result.error, 0x10);
	assert_int_equal(start(0xea, 0, 0, 0, 0x40), MD_TF_RANGE);
	expect_range(MDE_FLUSH, 0, 0, 0);
}

TEST(test_queued)
{
	begin(NULL);
	assert_int_equal(start(0x60, 16, 5 << 3, 77, 0xc0), MD_TF_RANGE);
	expect_range(MDE_READ, 77, 16, MDE_FUA);
	assert_true(md_tf_is_queued(&regs));
	assert_int_equal(start(0x61, 16, 5 << 3, 77, 0x40), MD_TF_RANGE);
	expect_range(MDE_WRITE, 77, 16, 0);
}

TEST(test_queued_error)
{
	begin(NULL);
	start(0x60, 16, 5 << 3, 0x12345678, 0x40);
	md_tf_unreadable(MDE_UNC, 0xa1b2c3d4e5f6ULL, &result);
	md_tf_fail_queued(&drive, 5, &result);
	expect_abort(0x60, 16, 0, 77);
	expect_abort(0x2f, 0, 1, 0x30);
	md_tf_unreadable(MDE_UNC, 0xa1b2c3d4e5f6ULL, &result);
	assert_int_equal(start(0x47, 0, 1, 0x10, 0), MD_TF_REPLY);
	assert_true(md_tf_reply(&drive, &regs, 0, page));
	assert_int_equal(page[0], 5);
	assert_int_equal(sum(), 0);
	assert_int_equal(start(0x60, 16, 0, 77, 0x40), MD_TF_RANGE);
	/* To read it has ended the error. */
	read_log(0x10, 0);
	assert_int_equal(page[0], 0x80);
}

TEST(test_error_log)
{
	static const u8 lba[] = { 0xf6, 0xe5, 0xd4, 0x40, 0xc3, 0xb2, 0xa1 };

	begin(NULL);
	start(0x60, 16, 5 << 3, 1, 0x40);
	md_tf_unreadable(MDE_IDNF, 0xa1b2c3d4e5f6ULL, &result);
	md_tf_fail_queued(&drive, 31, &result);
	assert_int_equal(start(0x2f, 0, 1, 0x10, 0), MD_TF_REPLY);
	assert_true(md_tf_reply(&drive, &regs, 0, page));
	assert_int_equal(page[0], 31);
	assert_int_equal(page[2], 0x51);
	assert_int_equal(page[3], 0x10);
	assert_memory_equal(page + 4, lba, sizeof(lba));
	md_tf_unreadable(MDE_UNC, 1, &result);
	assert_int_equal(result.error, 0x40);
	md_tf_unreadable(MDE_ABRT, 1, &result);
	assert_int_equal(result.error, 0x04);
}

TEST(test_logs)
{
	begin(NULL);
	read_log(0x00, 0);
	assert_int_equal(word(0), 1);
	assert_int_equal(word(0x10), 1);
	assert_int_equal(word(0x30), 9);
	assert_int_equal(word(0x12), 0);
	expect_abort(0x2f, 0, 1, 0x12);
	expect_abort(0x2f, 0, 2, 0x10);
	expect_abort(0x2f, 0, 1, 0x930);
	expect_abort(0x2f, 0, 0, 0x30);
	read_log(0x30, 0);
	assert_int_equal(page[8], 3);
	assert_int_equal(page[10], 1);
	assert_int_equal(page[11], 8);
	/* page 8: NCQ priority */
	read_log(0x30, 8);
	assert_int_equal(page[0] | page[2] << 8, 0x801);
	assert_int_equal(page[9], 8);
}

static void sct(u16 action, u16 function, u16 selection, u16 value)
{
	u8 out[MD_TF_PAGE] = {
		action, action >> 8, function, function >> 8, selection, selection >> 8,
		value, value >> 8,
	};

	assert_int_equal(start(0xb0, 0xd6, 1, 0xc24fe0, 0), MD_TF_TAKE);
	md_tf_take(&drive, &regs, out, &result);
}

TEST(test_recovery)
{
	begin(NULL);
	sct(3, 2, 1, 0);
	assert_int_equal(result.status, 0x50);
	assert_int_equal(result.count, 70);
	sct(3, 1, 1, 0x146);
	sct(3, 1, 2, 70);
	sct(3, 2, 1, 0);
	assert_int_equal(result.count | result.lba << 8, 0x146);
	assert_int_equal(md_tf_erc_ns(&drive), 0x146 * 100000000ULL);
	sct(3, 2, 2, 0);
	assert_int_equal(result.count, 70);
	sct(3, 2, 3, 0);
	assert_int_equal(result.error, 0x04);
	sct(9, 1, 1, 0);
	assert_int_equal(result.error, 0x04);
	assert_int_equal(start(0xb0, 0xd5, 1, 0xc24fe0, 0), MD_TF_REPLY);
	assert_true(md_tf_reply(&drive, &regs, 0, page));
	assert_int_equal(word(8), 9);
	expect_abort(0xb0, 0xd6, 1, 0xc24fe1);
	expect_abort(0xb0, 0xda, 1, 0);
	assert_int_equal(start(0xec, 0, 0, 0, 0), MD_TF_REPLY);
	assert_true(md_tf_reply(&drive, &regs, 0, page));
	assert_int_equal(word(206), 9);
	teardown(state);
	begin("recovery_control off\n");
	sct(3, 2, 1, 0);
	assert_int_equal(result.error, 0x04);
	assert_int_equal(start(0xec, 0, 0, 0, 0), MD_TF_REPLY);
	assert_true(md_tf_reply(&drive, &regs, 0, page));
	assert_int_equal(word(206), 1);
}

