// SPDX-License-Identifier: GPL-2.0
/*
 * The .fbdrive text: what is accepted, what is refused and with which line and
 * reason.
 */
#include "support.h"

#include <stdlib.h>
#include <string.h>

/* Eight lines; the ninth is each test's own. */
#define BASE \
	"fbdrive 1\n" \
	"# a comment\n" \
	"period_ps 6000000000\n" \
	"heads 2\n" \
	"zone 0 99 100 0 0.1 0.2 200\n" \
	"zone 100 199 90 1/2 9/90 18/90 0   # the second\n" \
	"\n" \
	"seek 1 1000000\n"

static void test_defaults(void **state)
{
	struct mde_config c;
	struct mdt_error err;

	(void)state;
	assert_int_equal(mdu_parse(BASE, &c, &err), 0);
	assert_string_equal(c.vendor, "MECHDISK");
	assert_int_equal(c.noise, MDE_NOISE_LAPLACE);
	assert_int_equal(c.noise_sd_ns, 120000);
	assert_int_equal(c.jitter_ns, 20000);
	assert_int_equal(c.firmware, MDE_SPTF);
	assert_int_equal(c.queue_depth, 32);
	assert_int_equal(c.hw_queues, 1);
	assert_int_equal(c.heal_on_write, 1);
	assert_int_equal(c.timeout_ms, 30000);
	assert_int_equal(c.sectors, 100 * 2 * 100 - 200 + 100 * 2 * 90);
	assert_int_equal(c.zone[1].angle, 1ULL << 63);
	mdt_free(&c);
}

static void test_overrides(void **state)
{
	struct mde_config c;
	struct mdt_error err;

	(void)state;
	/* The last scalar counts, blanks are blanks, CR LF is a line's end. */
	assert_int_equal(mdu_parse(BASE "seed 1\nseed\t7 \r# CR\n"
				   "noise laplace 5\nnoise off\nnoise gauss\n"
				   "rpm_error_ppm -12\nmedium_error 5 2 asc=15 times=3 info=0 recovery_ms=7\n"
				   "zero_latency on\norder serpentine\nfirmware fcfs\n"
				   "seek 5 1100000", &c, &err), 0);
	assert_int_equal(c.seed, 7);
	assert_int_equal(c.noise, MDE_NOISE_GAUSS);
	assert_int_equal(c.noise_sd_ns, 5);
	assert_true(c.rpm_error_ppm == -12);
	assert_int_equal(c.bads, 1);
	assert_int_equal(c.bad[0].asc, 0x15);
	assert_int_equal(c.bad[0].times, 3);
	assert_int_equal(c.bad[0].info, false);
	assert_int_equal(c.bad[0].recovery_ns, 7000000);
	assert_int_equal(c.zero_latency, 1);
	assert_int_equal(c.order, MDE_SERPENTINE);
	assert_int_equal(c.firmware, MDE_FCFS);
	assert_int_equal(c.seeks, 2);
	mdt_free(&c);
	/* A second header: what came before is forgotten, even if bad. */
	assert_int_equal(mdu_parse("rubbish\n" BASE "slip 0 5\nnonsense 1\n"
				   BASE "vendor ACME\n", &c, &err), 0);
	assert_string_equal(c.vendor, "ACME");
	assert_int_equal(c.slips, 0);
	assert_int_equal(c.zones, 2);
	mdt_free(&c);
}

static void test_fractions(void **state)
{
	static const struct {
		const char *text;
		double turn;
	} good[] = {
		{ "0", 0 }, { "0.0", 0 }, { "0.5", 0.5 }, { "63/334", 63 / 334. },
		{ "0.123456789", 0.123456789 },
		{ "0.123456789012345678", 0.123456789012345678 },
		{ "4294967294/4294967295", 4294967294. / 4294967295. },
	};
	char text[512];
	struct mde_config c;
	struct mdt_error err;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(good); i++) {
		snprintf(text, sizeof(text), "%szone 200 201 50 %s 0 0 0\n",
			 BASE, good[i].text);
		assert_int_equal(mdu_parse(text, &c, &err), 0);
		assert_true(mdu_turn_apart(mdu_turn(c.zone[2].angle),
					   good[i].turn) < 1 / 1e15);
		mdt_free(&c);
	}
}

/* Text after BASE, the line blamed (0: the text as a whole), part of the reason. */
static const struct {
	const char *text;
	unsigned int line;
	const char *reason;
} refused[] = {
	{ "bogus 1\n", 9, "'bogus' is no record" },
	{ "seed\n", 9, "'seed' takes 1 value, not 0" },
	{ "seed 1 2\n", 9, "'seed' takes 1 value, not 2" },
	{ "seed -1\n", 9, "'-1' is not a number" },
	{ "seed 18446744073709551616\n", 9, "is not a number" },
	{ "\n\nseed 0x10\n", 11, "'0x10' is not a number" },
	{ "jitter_ns 100001\n", 9, "'100001' is not within 0 to 100000" },
	{ "period_ps 999999999\n", 9, "is not within" },
	{ "heads 65\n", 9, "'65' is not within 1 to 64" },
	{ "order sideways\n", 9, "neither 'plain' nor 'serpentine'" },
	{ "zero_latency 1\n", 9, "neither 'off' nor 'on'" },
	{ "noise uniform\n", 9, "none of 'off', 'gauss', 'laplace'" },
	{ "noise off 5\n", 9, "'noise' takes 1 value, not 2" },
	{ "noise laplace 10000001\n", 9, "is not within" },
	{ "outliers 5\n", 9, "'outliers' takes 2 values, not 1" },
	{ "outliers 1000001 5\n", 9, "is not within" },
	{ "rpm_error_ppm 10001\n", 9, "is not within" },
	{ "rpm_error_ppm -\n", 9, "'' is not a number" },
	{ "vendor LONGVENDOR\n", 9, "longer than 8 characters" },
	{ "serial a\x01z\n", 9, "not plain ASCII" },
	{ "zone 201 300 50 0 0 0 0\n", 9, "zone 2 starts at cylinder 201, not at 200" },
	{ "zone 200 199 50 0 0 0 0\n", 9, "'199' is not within" },
	{ "zone 200 300 0 0 0 0 0\n", 9, "'0' is not within" },
	{ "zone 200 300 50 0 0 0\n", 9, "'zone' takes 7 values, not 6" },
	{ "zone 200 300 50 1 0 0 0\n", 9, "'1' is not a fraction" },
	{ "zone 200 300 50 0 50/50 0 0\n", 9, "'50/50' is not a fraction" },
	{ "zone 200 300 50 0 /50 0 0\n", 9, "is not a fraction" },
	{ "zone 200 300 50 0 5/ 0 0\n", 9, "is not a fraction" },
	{ "zone 200 300 50 0 0.1234567890123456789 0 0\n", 9, "is not a fraction" },
	{ "zone 200 201 50 0 0 0 200\n", 0, "zone 2: 200 spares, but only 200 sectors" },
	{ "slip 2 5\n", 9, "'2' is not within 0 to 1" },
	{ "slip 0 5 5\n", 9, "'5' is not within 6" },
	{ "slip 0 5\nslip 0 4\n", 10, "'4' is not within 6" },
	{ "slip 1 5\nslip 0 4\n", 10, "'0' is not within 1" },
	{ "slip 1 5\n", 0, "zone 1: 1 slips and 0 remaps, but only 0 spares" },
	{ "slip 0 19801\n", 0, "slip 19801 lies beyond the last LBN's sector 19800" },
	{ "remap 0 5\n", 9, "'remap' takes 3 values, not 2" },
	{ "remap 0 5 19799\n", 0, "not from below 19800 to a spare below 20000" },
	{ "remap 0 5 20000\n", 0, "to a spare below 20000" },
	{ "remap 0 19800 19900\n", 0, "not from below 19800" },
	{ "remap 0 5 19900\nremap 0 6 19900\n", 0, "spare 19900 used twice" },
	{ "remap 0 5 19900\nremap 0 5 19901\n", 10, "'5' is not within 6" },
	{ "slip 0 5\nremap 0 5 19900\n", 0, "sector 5 is slipped and remapped" },
	{ "seek 1 5\n", 9, "'1' is not within 2" },
	{ "seek 2\n", 9, "'seek' takes 2 values, not 1" },
	{ "seg_boundary 4095\n", 9, "is not within" },
	{ "seg_boundary 5000\n", 0, "seg_boundary is not a power of two" },
	{ "hw_queues 0\n", 9, "'0' is not within 1 to 64" },
	{ "queue_depth 33\n", 9, "'33' is not within 1 to 32" },
	{ "medium_error 5\n", 9, "LBN and COUNT are missing" },
	{ "medium_error 5 0\n", 9, "'0' is not within" },
	{ "medium_error 5 1 asc=12\n", 9, "'asc=12' is neither 11 nor 15" },
	{ "medium_error 5 1 times=0\n", 9, "'0' is not within" },
	{ "medium_error 5 1 colour=red\n", 9, "'colour=red' is no option" },
	{ "medium_error 5 1 asc\n", 9, "'asc' is not key=value" },
	{ "medium_error 37799 2\n", 0, "the drive has 37800 sectors" },
	{ "fbdrive 2\n", 9, "not 'fbdrive 1'" },
};

static void test_refused(void **state)
{
	char text[1024];
	struct mde_config c;
	struct mdt_error err;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(refused); i++) {
		snprintf(text, sizeof(text), "%s%s", BASE, refused[i].text);
		if (mdu_parse(text, &c, &err) != -EINVAL)
			fail_msg("accepted: %s", refused[i].text);
		if (err.line != refused[i].line ||
		    !strstr(err.reason, refused[i].reason))
			fail_msg("%s: line %u: %s", refused[i].text, err.line,
				 err.reason);
		mdt_free(&c);
	}
}

/* What must be there. */
static void test_missing(void **state)
{
	static const char * const text[][2] = {
		{ "", "no 'fbdrive 1'" },
		{ "# nothing\n", "no 'fbdrive 1'" },
		{ "seed 5\n", "'seed' before 'fbdrive 1'" },
		{ "fbdrive 1\n", "no period_ps" },
		{ "fbdrive 1\nperiod_ps 6000000000\n", "no heads" },
		{ "fbdrive 1\nperiod_ps 6000000000\nheads 1\n", "no zone" },
		{ "fbdrive 1\nperiod_ps 6000000000\nheads 1\nslip 0 1\n",
		  "no zone yet" },
		{ "fbdrive 1\nperiod_ps 6000000000\nheads 1\n"
		  "zone 0 9 9 0 0 0 0\n", "no seek time for distance 1" },
		{ "fbdrive 1\nperiod_ps 6000000000\nheads 1\n"
		  "zone 0 9 9 0 0 0 0\nseek 2 5\n", "no seek time for distance 1" },
	};
	struct mde_config c;
	struct mdt_error err;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(text); i++) {
		assert_int_equal(mdu_parse(text[i][0], &c, &err), -EINVAL);
		if (!strstr(err.reason, text[i][1]))
			fail_msg("%s: %s", text[i][0], err.reason);
		mdt_free(&c);
	}
}

/* All that is shipped can be read. */
static void test_shipped(void **state)
{
	static const char * const name[] = {
		"atlas10k.fbdrive", "atlas10k-hs08.fbdrive", "toy.fbdrive",
	};
	struct mde_config c;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(name); i++) {
		mdu_load(name[i], NULL, &c);
		print_message("%s: %llu sectors\n", name[i],
			      (unsigned long long)c.sectors);
		mdt_free(&c);
	}
	mdu_load("atlas10k-hs08.fbdrive", NULL, &c);
	assert_int_equal(c.head_switch_ns, 800000);
	mdt_free(&c);
}

/* Spoiled texts: refused or accepted, but never out of bounds (sanitizers). */
static void test_spoiled(void **state)
{
	static const char junk[] = "0123456789./=-#\n \tzslipremapx\xff";
	const char *text = BASE "slip 0 5 17\nremap 0 6 19900\nnoise gauss 7\n"
		"medium_error 7 3 asc=11 times=always\noutliers 5 6\n";
	size_t len = strlen(text);
	struct mdt_error err;
	unsigned int accepted = 0;
	char copy[1024];
	int i, n;

	(void)state;
	srand(1);
	for (i = 0; i < 30000; i++) {
		struct mde_config c;

		memcpy(copy, text, len + 1);
		for (n = rand() % 4; n >= 0; n--)
			copy[rand() % len] = junk[rand() % (sizeof(junk) - 1)];
		copy[rand() % 8 ? len : rand() % len] = '\0';
		if (!mdu_parse(copy, &c, &err)) {
			struct mde_piece p;
			u64 lbn = rand() % c.sectors;

			mde_locate(&c, lbn, 1, &p);
			mde_locate(&c, c.sectors - 1, 1000, &p);
			accepted++;
		} else {
			assert_true(err.reason[0]);
		}
		mdt_free(&c);
	}
	print_message("%u of 30000 spoiled texts accepted\n", accepted);
	assert_true(accepted > 100 && accepted < 29000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_overrides),
		cmocka_unit_test(test_fractions),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_missing),
		cmocka_unit_test(test_shipped),
		cmocka_unit_test(test_spoiled),
	};

	return cmocka_run_group_tests_name("mechdisk text", tests, NULL, NULL);
}
