// SPDX-License-Identifier: GPL-2.0
/*
 * ATA PASS-THROUGH (16) to a drive that an adapter translates for.  Expectations are
 * SAT-3 12.2 and ACS-3 (7.12 IDENTIFY DEVICE, 7.45 SET FEATURES).
 *
 * Seen to fail: caching that mds_pass() does not hand back (test_features).
 */
#include "support.h"

#include "mechdisk_diag.h"
#include "mechdisk_pages.h"
#include "mechdisk_reply.h"
#include "mechdisk_sat.h"

#define CACHE "translated on\ncache 4 256 2\nread_ahead segment\nwrite_cache back\n"

static struct mde_config cfg;
static struct mde_caching caching;
static struct mds_answer answer;

static int begin(void **state)
{
	(void)state;
	mdu_load("toy.fbdrive", CACHE, &cfg);
	caching = (struct mde_caching) {
		.read_cache = true, .look_ahead = true, .write_cache = true,
	};
	return 0;
}

static int end(void **state)
{
	(void)state;
	mdt_free(&cfg);
	return 0;
}

static enum mds_kind pass(u8 flags, u8 feature, u8 command)
{
	const u8 cdb[16] = { 0x85, 3 << 1, flags, 0, feature, [13] = 0x40, [14] = command };

	return mds_pass(&cfg, &caching, cdb, &answer);
}

/* Bits 6 and 5 of word 85: look-ahead and write cache. */
static int features(void)
{
	assert_int_equal(pass(0, 0, 0xec), MDS_REPLY);
	assert_int_equal(answer.key, 0);
	return answer.page[170] & 0x60;
}

static void test_features(void **state)
{
	(void)state;
	assert_int_equal(features(), 0x60);
	assert_int_equal(pass(0, 0x55, 0xef), MDS_ENDED);
	assert_int_equal(answer.key, 0);
	assert_int_equal(features(), 0x20);
	assert_false(caching.look_ahead);
	assert_int_equal(pass(0, 0x82, 0xef), MDS_FLUSH);
	assert_int_equal(features(), 0);
	assert_false(caching.write_cache);
	assert_true(caching.read_cache);
	assert_int_equal(pass(0, 0xaa, 0xef), MDS_ENDED);
	assert_int_equal(pass(0, 0x02, 0xef), MDS_ENDED);
	assert_int_equal(features(), 0x60);
}

/* ABRT, as sense data; a command that ended well has some if CK_COND asks for them. */
static void test_registers(void **state)
{
	(void)state;
	assert_int_equal(pass(0, 0x03, 0xef), MDS_ENDED);
	assert_int_equal(answer.key, 0x0b);
	assert_int_equal(answer.sense[0], 0x72);
	assert_int_equal(answer.sense[8], 0x09);
	assert_int_equal(answer.sense[11], 0x04);
	assert_int_equal(answer.sense[21], 0x51);
	assert_int_equal(pass(0, 0, 0xe0), MDS_ENDED);
	assert_int_equal(answer.key, 0x0b);
	assert_int_equal(pass(0x20, 0xaa, 0xef), MDS_ENDED);
	assert_int_equal(answer.key, 0x01);
	assert_int_equal(answer.sense[3], 0x1d);
	assert_int_equal(answer.sense[21], 0x50);
}

/* Of the caching page the write cache alone is changeable. */
static void test_pages(void **state)
{
	const u8 cdb[6] = { 0x1a, 0x08, 1 << 6 | 0x08, 0, 255, 0 };
	struct mdp_error err;
	u8 reply[MDP_REPLY];
	struct mdp pages;

	(void)state;
	mdp_init(&pages, &cfg, NULL);
	assert_int_not_equal(mdp_sense(&pages, cdb, reply, &err), 0);
	assert_int_equal(reply[4 + 2], 0x04);
	assert_int_equal(reply[4 + 12], 0);
}

/*
 * What a SCSI drive answers and no SATA one does (Linux 6.1, drivers/ata/libata-scsi.c,
 * ata_scsi_simulate() and ata_scsiop_mode_sense()), whoever translates.
 *
 * Seen to fail: mdp_has() that looks at "translated" alone; mdd_send() that answers.
 */
static void test_profile(void **state)
{
	static const char * const kinds[] = { "translated on\n", "interface sata\n" };
	static const u8 all[] = { 0x01, 0x08, 0x0a };
	static const u8 translate[14] = { 0x40, 0, 0, 10, 0, 5 };
	static const u8 unknown[] = { 0x1c, 0x37, 0xb7 };	/* diagnostic results, defects */
	const u8 send[6] = { 0x1d, 0x10, 0, 0, sizeof(translate) };
	struct mdd_result result;
	struct mdp_error err;
	u8 reply[MDY_REPLY];
	struct mdp pages;
	u32 kind, page, len, at, i;

	for (kind = 0; kind < ARRAY_SIZE(kinds); kind++) {
		end(state);
		mdu_load("toy.fbdrive", kinds[kind], &cfg);
		cfg.standby_timer_ms = 1000;
		mdp_init(&pages, &cfg, NULL);
		for (page = 0; page < 0x3f; page++) {
			const u8 cdb[6] = { 0x1a, 0x08, page, 0, 255 };

			len = mdp_sense(&pages, cdb, reply, &err);
			assert_int_equal(len != 0, !!memchr(all, page, sizeof(all)));
		}
		len = mdp_sense(&pages, (const u8[6]) { 0x1a, 0x08, 0x3f, 0, 255 }, reply, &err);
		for (i = 0, at = 4; at < len; i++, at += 2 + reply[at + 1])
			assert_int_equal(reply[at] & 0x3f, all[i]);
		assert_int_equal(i, sizeof(all));
		result.len = 1;
		assert_true(mdd_send(&cfg, send, translate, sizeof(translate), &result, &err));
		assert_int_equal(result.len, 0);
		for (i = 0; i < sizeof(unknown); i++)
			assert_false(mdy_knows(&cfg, unknown[i]));
		assert_true(mdy_knows(&cfg, 0x28));
		assert_true(mdy_inquiry(&cfg, (const u8[6]) { 0x12, 1, 0x89 }, reply) > 0);
		assert_int_equal(mdy_inquiry(&cfg, (const u8[6]) { 0x12 }, reply), 96);
		assert_memory_equal(reply + 8, kind ? "ATA     " : "MECHDISK", 8);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_features, begin, end),
		cmocka_unit_test_setup_teardown(test_profile, begin, end),
		cmocka_unit_test_setup_teardown(test_registers, begin, end),
		cmocka_unit_test_setup_teardown(test_pages, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
