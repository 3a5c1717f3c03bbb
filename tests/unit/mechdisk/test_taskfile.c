// SPDX-License-Identifier: GPL-2.0
/*
 * The SATA drive's registers and pages.  Expectations are the toy drive's description and
 * ACS-3 (7.5 DATA SET MANAGEMENT, 7.12 IDENTIFY DEVICE, 7.45 SET FEATURES, 4.9 extended power
 * conditions, 8.3.3 error recovery control, A.9) and Serial ATA 3.2 (13.7.4).
 *
 * Seen to fail: a 28-bit count of 0 as 0 (test_short); log 10h that does not end the error
 * (test_queued_error); the deepest condition's time to leave any (test_timers); a range's count
 * of 15 bits, or one that reaches the end refused (test_trim).
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

static void expect_done(u8 command, u16 feature, u16 count, u64 lba)
{
	assert_int_equal(start(command, feature, count, lba, 0x40), MD_TF_DONE);
	assert_int_equal(result.status & 1, 0);
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

static u8 condition(void)
{
	expect_done(0xe5, 0, 0, 0);
	return result.count;
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

TEST(test_urgent)
{
	begin(NULL);
	start(0x60, 16, 5 << 3 | 2 << 14, 77, 0x40);
	assert_true(md_tf_is_urgent(&regs));
	expect_range(MDE_READ, 77, 16, 0);
	start(0x60, 16, 5 << 3 | 1 << 14, 77, 0x40);
	assert_false(md_tf_is_urgent(&regs));
	start(0x60, 16, 5 << 3, 77, 0x40);
	assert_false(md_tf_is_urgent(&regs));
	start(0x25, 0, 2 << 14, 0, 0x40);
	assert_false(md_tf_is_urgent(&regs));
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

TEST(test_caching)
{
	begin("cache 4 256 2\nwrite_cache back\n");
	assert_true(drive.caching.write_cache);
	/* Off it is when the cache is on the medium. */
	assert_int_equal(start(0xef, 0x82, 0, 0, 0), MD_TF_RANGE);
	expect_range(MDE_FLUSH, 0, 0, 0);
	assert_false(drive.caching.write_cache);
	identify();
	assert_int_equal(word(85) & 0x60, 0x40);
	expect_done(0xef, 0x55, 0, 0);
	assert_false(drive.caching.look_ahead);
	expect_done(0xef, 0xaa, 0, 0);
	expect_done(0xef, 0x02, 0, 0);
	assert_true(drive.caching.look_ahead && drive.caching.write_cache);
	expect_abort(0xef, 0x99, 0, 0);
}

TEST(test_no_cache)
{
	begin(NULL);
	expect_abort(0xef, 0x02, 0, 0);
	expect_abort(0xef, 0xaa, 0, 0);
	identify();
	assert_int_equal(word(82) & 0x60, 0);
}

TEST(test_standby)
{
	begin(NULL);
	assert_int_equal(condition(), 0xff);
	expect_done(0xe1, 0, 0, 0);
	assert_int_equal(condition(), 0x80);
	assert_int_equal(start(0xe0, 0, 0, 0, 0), MD_TF_RANGE);
	expect_range(MDE_FLUSH, 0, 0, 0);
	assert_int_equal(condition(), 0x00);
	assert_int_equal(md_tf_wake(&drive, now), MD_TF_STANDBY_Z);
	assert_int_equal(condition(), 0xff);
	/* IDLE with a timer of 2 * 5 s */
	expect_done(0xe3, 0, 2, 0);
	md_tf_wake(&drive, now);
	now += 9 * SECOND;
	assert_int_equal(condition(), 0xff);
	now += SECOND;
	assert_int_equal(condition(), 0x00);
}

/* STANDBY's timer as it is at power-on; extended conditions replace it */
TEST(test_standby_timer)
{
	begin("standby_timer_ms 2000");
	now += SECOND;
	assert_int_equal(condition(), 0xff);
	now += SECOND;
	assert_int_equal(condition(), 0x00);
	md_tf_wake(&drive, now);
	expect_done(0xef, 0x4a, 0, 4);
	now += 60 * SECOND;
	assert_int_equal(condition(), 0xff);
}

TEST(test_sleep)
{
	begin(NULL);
	assert_int_equal(start(0xe6, 0, 0, 0, 0), MD_TF_RANGE);
	assert_true(drive.asleep);
	md_tf_reset(&drive);
	assert_false(drive.asleep);
	assert_int_equal(condition(), 0x00);
}

TEST(test_conditions)
{
	static const u8 name[] = { 0x81, 0x82, 0x83, 0x01, 0x00 };
	size_t i;

	begin(NULL);
	expect_abort(0xef, 0x4a, 0x82, 1);
	expect_done(0xef, 0x4a, 0, 4);
	for (i = 0; i < sizeof(name); i++) {
		expect_done(0xef, 0x4a, name[i], 1);
		assert_int_equal(condition(), name[i]);
		assert_int_equal(md_tf_wake(&drive, now), i);
		assert_int_equal(condition(), 0xff);
	}
	expect_abort(0xef, 0x4a, 0x84, 1);
	expect_abort(0xef, 0x4a, 0xff, 1);
	identify();
	assert_int_equal(word(120) & 0x80, 0x80);
	expect_done(0xef, 0x4a, 0, 5);
	identify();
	assert_int_equal(word(120) & 0x80, 0);
}

TEST(test_timers)
{
	begin(NULL);
	expect_done(0xef, 0x4a, 0, 4);
	/* idle_b after 2 s, standby_z after 1 min; idle_c set, not enabled */
	expect_done(0xef, 0x4a, 0x82, 2 | 0x20 | 20 << 8);
	expect_done(0xef, 0x4a, 0x00, 2 | 0x20 | 0x80 | 1 << 8);
	expect_done(0xef, 0x4a, 0x83, 2 | 30 << 8);
	assert_int_equal(condition(), 0xff);
	now += 2 * SECOND;
	assert_int_equal(condition(), 0x82);
	now += 57 * SECOND;
	assert_int_equal(condition(), 0x82);
	read_log(0x08, 0);
	assert_int_equal(page[64 + 1] & 0x84, 0x84);
	assert_int_equal(words((64 + 12) / 2, 2), 20);
	assert_int_equal(page[128 + 1] & 0x84, 0x80);
	assert_int_equal(words((128 + 12) / 2, 2), 30);
	now += SECOND;
	assert_int_equal(condition(), 0x00);
	/* They run from when the platters turn again. */
	assert_int_equal(md_tf_wake(&drive, now), MD_TF_STANDBY_Z);
	now += md_tf_recovery_ms(MD_TF_STANDBY_Z) * 1000000ULL + SECOND;
	assert_int_equal(condition(), 0xff);
	now += SECOND;
	assert_int_equal(condition(), 0x82);
	/* restored: none */
	expect_done(0xef, 0x4a, 0xff, 0);
	assert_int_equal(condition(), 0xff);
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

/* A range of DATA SET MANAGEMENT, 7.5.3: 48 bits of LBA, 16 of count. */
static bool trims(u64 lba, u64 count)
{
	u64 entry = lba | count << 48;
	int i;

	for (i = 0; i < 8; i++)
		page[63 * 8 + i] = entry >> 8 * i;
	memset(&result, 0, sizeof(result));
	return md_tf_trim(&drive, page, 63, &range, &result);
}

TEST(test_trim)
{
	begin("");
	identify();
	assert_int_equal(word(169), 0);
	assert_int_equal(word(69), 0);
	expect_abort(0x06, 1, 1, 0);
	teardown(state);
	begin("unmap on\n");
	identify();
	assert_int_equal(word(69), 0x4020);
	assert_int_equal(word(105), 1);
	assert_int_equal(word(169), 1);
	assert_int_equal(start(0x06, 1, 1, 0, 0x40), MD_TF_TRIM);
	expect_range(MDE_FLUSH, 0, 0, 0);
	expect_abort(0x06, 0, 1, 0);
	expect_abort(0x06, 1, 2, 0);
	assert_true(trims(0x1234, 7));
	assert_int_equal(range.gone_lbn, 0x1234);
	assert_int_equal(range.gone, 7);
	assert_true(trims(0, 0));
	assert_int_equal(range.gone, 0);
	trims(1, 0xffff);
	assert_int_equal(range.gone, 0xffff);
	assert_true(trims(cfg.sectors - 8, 8));
	assert_false(trims(cfg.sectors - 8, 9));
	assert_int_equal(result.error, 0x10);
	assert_int_equal(result.lba, cfg.sectors - 8);
	assert_false(trims(0xffffffffffffULL, 1));
}

TEST(test_link)
{
	begin("");
	identify();
	assert_int_equal(word(76) & 0x0200, 0);
	teardown(state);
	begin("link_wake_us 1000\n");
	identify();
	assert_int_equal(word(76) & 0x0200, 0x0200);
}
