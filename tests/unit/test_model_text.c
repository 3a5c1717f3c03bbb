// SPDX-License-Identifier: GPL-2.0
/*
 * The .fbmodel reader: every way in which a text can be wrong has a row that changes
 * one line of a good text and says which line is blamed and with what words
 * (Documentation/model-format.rst); texts cut off at every byte; the good text itself.
 *
 * Planted bugs, each seen to fail: the slip count left out of the reader (good text);
 * numbers that end at the first other character (rows "not a number"); no check for
 * duplicates, for order of slips, for targets used twice (their rows); the checksum
 * compared with itself (test_end); ">=" for ">" at the bounds of numbers (test_limits);
 * a model handed out though the text is wrong (all rows); a seek profile not freed
 * when the model fails (test_no_memory); no check for a head too many (its row).
 */
#include "tools/model/model_text.h"
#include "support.h"
#include "wrap.h"

#define TEXT_MAX 4096

/* Line numbers stand on the right; rows below use them. */
static const char * const good[] = {
	"fbmodel 1",						/* 1 */
	"# A small drive.",					/* 2 */
	"vendor ACME",						/* 3 */
	"product TINY DISK 2",					/* 4 */
	"serial 0815",						/* 5 */
	"sectors 4762",						/* 6 */
	"physical_sectors 8",					/* 7 */
	"granule_sectors 16",					/* 8 */
	"cylinders 60",						/* 9 */
	"heads 2",						/* 10 */
	"head_order serpentine-disk",				/* 11 */
	"period_ps 6000000000",					/* 12 */
	"head_switch_ns 500000",				/* 13 */
	"write_settle_ns 200000",				/* 14 */
	"zero_latency yes",					/* 15 */
	"read_overhead_ns 1",					/* 16 */
	"write_overhead_ns 2",					/* 17 */
	"read_report_ns 3",					/* 18 */
	"write_report_ns 4",					/* 19 */
	"",							/* 20 */
	"seek 1 1000000",					/* 21 */
	"seek 10 2000000",					/* 22 */
	"seek 30 4000000",					/* 23 */
	"write_seek 1 1500000",					/* 24 */
	"write_seek 59 7000000",				/* 25 */
	"\t # zones",						/* 26 */
	"zone 0 29 spt 48 angle 0 track_skew 0.25 cyl_skew 0.125 dead 10 spares 100",	/* 27 */
	"slip 10",						/* 28 */
	"slip 500 3",						/* 29 */
	"slip 503",						/* 30 */
	"remap 20 to 2879",					/* 31 */
	"remap 600  to\t2800",					/* 32 */
	/* 33: */
	"zone 30 59 spt 34 angle 0.5 track_skew 0.1 cyl_skew 0.999999999999999999 dead 0 spares 48",
};

/* the last one, but with as many sectors on two tracks that differ */
#define ZONE2 "zone 30 59 spt 38 angle 0.5 track_skew 0.1 cyl_skew 0 dead 0 spares 48\n"

#define LINES ARRAY_SIZE(good)

static char text[TEXT_MAX];

/* The good text with line @line replaced (0: none; NULL: left out), sealed. */
static size_t make_text(u32 line, const char *instead)
{
	char records[TEXT_MAX];
	size_t len = 0;
	u32 i;

	for (i = 0; i < LINES; i++) {
		const char *s = i + 1 == line ? instead : good[i];

		if (s)
			len += snprintf(records + len, TEXT_MAX - len, "%s\n", s);
	}
	return support_seal(text, TEXT_MAX, records);
}

static struct disk_model *parse_good(size_t len)
{
	struct dm_fault err = { 0 };
	struct disk_model *dm = NULL;

	if (fb_model_text_parse(text, len, &dm, &err)) {
		print_error("line %u: %s\n", err.line, err.reason);
		fail();
	}
	return dm;
}

/* Refused, on this line, in words that hold @reason; no model comes out. */
static void parse_bad(const char *bytes, size_t len, u32 line, const char *reason)
{
	struct disk_model *const untouched = (struct disk_model *)&text, *dm = untouched;
	struct dm_fault err = { 0 };
	/* a copy of its own: a byte read beyond it is seen by the sanitizer */
	char *copy = malloc(len);
	int ret;

	memcpy(copy, bytes, len);
	ret = fb_model_text_parse(copy, len, &dm, &err);
	free(copy);
	if (ret != -EINVAL || err.line != line || !strstr(err.reason, reason)) {
		print_error("expected line %u: ...%s...\ngot %d, line %u: %s\n", line, reason,
			    ret, err.line, err.reason);
		fail();
	}
	assert_ptr_equal(dm, untouched);
	assert_null(strchr(err.reason, '\n'));
}

/* ---- the good text ---- */

TEST(test_good)
{
	struct disk_model *dm = parse_good(make_text(0, NULL));
	const struct dm_info *info = dm_info(dm);
	struct dm_place p;
	struct dm_track t;

	assert_string_equal(info->vendor, "ACME");
	assert_string_equal(info->product, "TINY DISK 2");
	assert_string_equal(info->serial, "0815");
	assert_int_equal(info->sectors, 4762);
	assert_int_equal(info->physical_sectors, 8);
	assert_int_equal(info->granule_sectors, 16);
	assert_int_equal(info->cylinders, 60);
	assert_int_equal(info->heads, 2);
	assert_int_equal(info->period_ps, 6000000000ULL);
	assert_int_equal(info->head_switch_ns, 500000);
	assert_int_equal(info->write_settle_ns, 200000);
	assert_true(info->zero_latency);
	assert_int_equal(info->read_overhead_ns, 1);
	assert_int_equal(info->write_overhead_ns, 2);
	assert_int_equal(info->read_report_ns, 3);
	assert_int_equal(info->write_report_ns, 4);

	/* LBN 0 is physical 11: 10 dead, 1 slipped; LBN 9 is physical 20, remapped to 2879 */
	assert_int_equal(dm_place_of(dm, 0, &p), 0);
	assert_int_equal(p.angle, 0x100000000ULL * 11 / 48);
	assert_int_equal(dm_place_of(dm, 9, &p), 0);
	assert_int_equal(p.cyl, 29);
	/* ... and LBN 600 - 10 - 5 to 2800 */
	assert_int_equal(dm_place_of(dm, 585, &p), 0);
	assert_int_equal(p.cyl, 2800 / 96);
	/* cylinder 30 is even, so it runs forward; 31 backward */
	assert_int_equal(dm_track_at(dm, 30, 0, &t), 0);
	assert_int_equal(t.first_lbn, 2880 - 110);
	assert_int_equal(t.angle0, 0x80000000);
	assert_int_equal(dm_track_at(dm, 31, 1, &t), 0);
	assert_int_equal(t.first_lbn, 2880 - 110 + 68);
	/* 0.5 + 0.1 + 0.99...: 0.6 less 10^-18, rounded down */
	assert_int_equal(t.angle0, 0x99999999);
	dm_free(dm);
}

/* Tracks by head, in one line or several, beside a slip and a remap. */
TEST(test_heads)
{
	static const char * const instead[] = {
		ZONE2 "head_spt 0 38 30\nslip 3\nremap 10 to 2030",
		ZONE2 "slip 3\nhead_spt  0\t38\t\nremap 10 to 2030\nhead_spt\t1 30\t",
	};
	struct dm_track t;
	struct dm_place p;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(instead); i++) {
		struct disk_model *dm = parse_good(make_text(33, instead[i]));

		/* cylinder 31 is backward: head 1 comes first; sector 3 is slipped */
		assert_int_equal(dm_track_at(dm, 31, 0, &t), 0);
		assert_int_equal(t.spt, 38);
		assert_int_equal(t.first_lbn, 2770 + 38 + 30 + 30 - 1);
		assert_int_equal(dm_place_of(dm, t.first_lbn - 1, &p), 0);
		assert_int_equal(p.head, 1);
		/* 0.5 + 0.1, and 29 of 30 sectors, each rounded down */
		assert_int_equal(p.angle, 0x99999999 + (u32)((29ULL << 32) / 30));
		/* sector 2030 is number 58 of the last cylinder, backward: 28 of head 0 */
		assert_int_equal(dm_place_of(dm, 2770 + 9, &p), 0);
		assert_int_equal(p.cyl, 59);
		assert_int_equal(p.head, 0);
		dm_free(dm);
	}
}

/* Whose it is, and whether it is trusted; how much seeks vary is accepted, and not used. */
TEST(test_extracted)
{
	struct disk_model *dm = parse_good(make_text(26,
		"revision  B 12\nwwn naa.5000c500a1b2c3d4\n"
		"distrusted 60 % within 50 us, 97 % are needed\n"
		"seek_spread 10 30000\nseek_spread 20 50000\nseek_spread 59 40000"));

	assert_string_equal(dm_info(dm)->revision, "B 12");
	assert_string_equal(dm_info(dm)->wwn, "naa.5000c500a1b2c3d4");
	assert_string_equal(dm_info(dm)->distrusted, "60 % within 50 us, 97 % are needed");
	dm_free(dm);
}

/* Without the records that may be left out: their defaults. */
TEST(test_defaults)
{
	static const char * const optional[] = {
		"serial", "physical_sectors", "granule_sectors", "read_overhead_ns",
		"write_overhead_ns", "read_report_ns", "write_report_ns", "write_seek",
		"slip", "remap", "#",
	};
	const struct dm_place from = { 0, 0, 0 }, to = { 59, 0, 0 };
	size_t len = 0;
	struct disk_model *dm;
	u32 i, k;

	for (i = 0; i < LINES; i++) {
		for (k = 0; k < ARRAY_SIZE(optional); k++)
			if (!strncmp(good[i], optional[k], strlen(optional[k])))
				break;
		if (k == ARRAY_SIZE(optional))
			len += snprintf(text + len, TEXT_MAX - len, "%s\n", good[i]);
	}
	dm = support_model_text(text);
	assert_string_equal(dm_info(dm)->serial, "");
	assert_string_equal(dm_info(dm)->revision, "");
	assert_string_equal(dm_info(dm)->wwn, "");
	assert_string_equal(dm_info(dm)->distrusted, "");
	assert_int_equal(dm_info(dm)->physical_sectors, 1);
	assert_int_equal(dm_info(dm)->granule_sectors, 8);
	assert_int_equal(dm_info(dm)->surface_run, 1);
	assert_int_equal(dm_info(dm)->read_overhead_ns, 0);
	assert_int_equal(dm_info(dm)->write_report_ns, 0);
	/* 4 ms at 30 cylinders, on at 2 ms for 20; write = read + settle */
	assert_int_equal(dm_seek_ns(dm, &from, &to, false), 6900000);
	assert_int_equal(dm_seek_ns(dm, &from, &to, true), 7100000);
	dm_free(dm);
}

/* ---- bad texts ---- */

/* one way to be wrong */
struct row {
	u32 line;	/* line of the good text that is replaced */
	const char *instead;	/* with this, maybe several lines; NULL: left out */
	u32 blamed;	/* line that is blamed */
	const char *reason;	/* what the reason says */
};

#define ZONE1 "zone 0 29 spt 48 angle 0 track_skew 0.25 cyl_skew 0.125 dead 10 spares 100"
#define HEADS1 "zone 0 29 spt 50 angle 0 track_skew 0 cyl_skew 0 dead 10 spares 100\nhead_spt 0 50 46"
#define LONG64 "0123456789012345678901234567890123456789012345678901234567890123"
#define LONG39 "123456789012345678901234567890123456789"

static const struct row rows[] = {
	/* the first line */
	{ 1, NULL, 1, "does not begin with 'fbmodel 1'" },
	{ 1, "fbmodel", 1, "version '' is not 1" },
	{ 1, "fbmodel 2", 1, "version '2' is not 1" },
	{ 1, "fbmodel 1 x", 1, "'x' is too much" },
	{ 2, "fbmodel 1", 2, "unknown record 'fbmodel'" },

	/* lines */
	{ 2, "colour red", 2, "unknown record 'colour'" },
	{ 2, "#\r", 2, "control character 0x0d" },
	{ 2, "Seek 1 2", 2, "unknown record 'Seek'" },
	{ 2, "#" LONG64 LONG64 LONG64 LONG64, 2, "line of 257 bytes is longer than 255" },
	{ 2, "end 10 00000000", 2, "end record before the end" },
	{ 2, "v\303\244ndor X", 2, "unknown record" },

	/* strings */
	{ 3, "vendor", 3, "vendor: value missing" },
	{ 3, "vendor    ", 3, "vendor: value missing" },
	{ 3, "vendor A\303\204", 3, "byte 0xc3 is not printable" },
	{ 3, "vendor A\tB", 3, "byte 0x09 is not printable" },
	{ 3, "vendor " LONG39 "0", 3, "is longer than 39" },
	{ 4, "vendor ACME", 4, "vendor was given on line 3 already" },

	/* header records left out, or given twice, or too late */
	{ 3, NULL, 26, "no vendor record" },
	{ 4, NULL, 26, "no product record" },
	{ 6, NULL, 26, "no sectors record" },
	{ 9, NULL, 26, "no cylinders record" },
	{ 10, NULL, 26, "no heads record" },
	{ 11, NULL, 26, "no head_order record" },
	{ 12, NULL, 26, "no period_ps record" },
	{ 13, NULL, 26, "no head_switch_ns record" },
	{ 14, NULL, 26, "no write_settle_ns record" },
	{ 15, NULL, 26, "no zero_latency record" },
	{ 20, "heads 2", 20, "heads was given on line 10 already" },
	{ 33, "heads 2", 33, "heads was given on line 10 already" },
	{ 28, "serial 1", 28, "serial was given on line 5 already" },
	{ 16, "heads 3", 16, "heads was given on line 10 already" },
	{ 28, "seek 59 5000000", 28, "header record seek after the first zone" },
	{ 28, "write_seek 59 5000000", 28, "header record write_seek after the first zone" },

	/* numbers */
	{ 5, "revision", 5, "revision: value missing" },
	{ 5, "revision " LONG39 "0", 5, "is longer than 39" },
	{ 5, "wwn " LONG39 "0", 5, "is longer than 39" },
	{ 5, "wwn naa.1\nwwn naa.2", 6, "wwn was given on line 5 already" },
	{ 5, "distrusted", 5, "distrusted: value missing" },
	{ 5, "distrusted " LONG64 LONG64 LONG64 "01234567", 5, "is longer than 199" },
	{ 33, "distrusted late", 33, "header record distrusted after the first zone" },

	{ 6, "sectors", 6, "sectors: number missing" },
	{ 6, "sectors 4762x", 6, "'4762x' is not a number" },
	{ 6, "sectors 4762 5", 6, "'5' is too much" },
	{ 6, "sectors -1", 6, "'-1' is not a number" },
	{ 6, "sectors 0x10", 6, "'0x10' is not a number" },
	{ 6, "sectors +4762", 6, "'+4762' is not a number" },
	{ 6, "sectors 99999999999999999999", 6, "'99999999999999999999' is not a number" },
	{ 6, "sectors 18446744073709551615", 6, "18446744073709551615 is not in 1.." },
	{ 6, "sectors 0", 6, "0 is not in 1.." },
	{ 7, "physical_sectors 4", 27, "physical_sectors: 4 is neither 1 nor 8" },
	{ 7, "physical_sectors 16", 7, "16 is not in 1..8" },
	{ 8, "granule_sectors 24", 27, "24 is not a power of two" },
	{ 8, "granule_sectors 4", 27, "4 is less than physical_sectors, 8" },
	{ 8, "granule_sectors 4096", 8, "4096 is not in 1..2048" },
	{ 9, "cylinders 16777217", 9, "16777217 is not in 1..16777216" },
	{ 10, "heads 129", 10, "129 is not in 1..128" },
	{ 2, "surface_run 0", 2, "0 is not in 1..65535" },
	{ 2, "surface_run 9", 27,
	  "surface_run: 9 goes with head_order plain or serpentine-zone" },
	{ 11, "head_order serpentine", 11,
	  "'serpentine' is none of plain, serpentine-zone, serpentine-disk" },
	{ 11, "head_order", 11, "'' is none of plain" },
	{ 12, "period_ps 999999999", 12, "999999999 is not in 1000000000.." },
	{ 12, "period_ps 100000000001", 12, "100000000001 is not in" },
	{ 13, "head_switch_ns 1000000001", 13, "1000000001 is not in 0..1000000000" },
	{ 14, "write_settle_ns 1.5", 14, "'1.5' is not a number" },
	{ 15, "zero_latency maybe", 15, "'maybe' is none of no, yes" },
	{ 15, "zero_latency yes indeed", 15, "'indeed' is too much" },
	{ 19, "write_report_ns 1e9", 19, "'1e9' is not a number" },

	/* seek profiles */
	{ 21, "seek 0 1000", 21, "seek distance: 0 is not in 1.." },
	{ 21, "seek 1 0", 21, "seek time: 0 is not in 1.." },
	{ 21, "seek 1", 21, "seek time: number missing" },
	{ 21, "seek 1 1000 10", 21, "'10' is too much" },
	{ 22, "seek 1 2000000", 22, "seek distance 1 does not ascend after 1" },
	{ 23, "seek 9 2000000", 23, "seek distance 9 does not ascend after 10" },
	{ 23, "seek 60 9000000", 23, "seek distance 60 is longer than the stroke of 59" },
	{ 23, "seek 11 900000000", 23, "lead out of 1..1000000000 ns at 59" },
	{ 23, "seek 11 100000", 23, "lead out of 1..1000000000 ns at 59" },
	{ 25, NULL, 24, "one seek point at 1 cylinders does not reach the stroke of 59" },
	{ 25, "write_seek 1 1", 25, "seek distance 1 does not ascend after 1" },

	/* spread */
	{ 26, "seek_spread 0 1000", 26, "seek distance: 0 is not in 1.." },
	{ 26, "seek_spread 1 -1", 26, "'-1' is not a number" },
	{ 26, "seek_spread 1 1000000001", 26, "1000000001 is not in 0..1000000000" },
	{ 26, "seek_spread 5 1\nseek_spread 5 1", 27, "seek distance 5 does not ascend after 5" },
	{ 26, "seek_spread 60 1", 26, "seek distance 60 is longer than the stroke of 59" },
	{ 28, "seek_spread 1 1", 28, "header record seek_spread after the first zone" },

	/* zones */
	{ 27, "zone 0 29", 27, "'' stands where 'spt' belongs" },
	{ 27, "zone 0 29 tps 48", 27, "'tps' stands where 'spt' belongs" },
	{ 27, ZONE1 " unmap", 27, "'unmap' is too much" },
	{ 27, ZONE1 " unmapped 5", 27, "'5' is too much" },
	{ 27, ZONE1 " slow unmapped", 27, "'unmapped' is too much" },
	{ 27, "zone 0 29 spt 0 angle 0 track_skew 0 cyl_skew 0 dead 0 spares 0", 27,
	  "zone: spt: 0 is not in 1..65535" },
	{ 27, "zone 0 29 spt 65536 angle 0 track_skew 0 cyl_skew 0 dead 0 spares 0", 27,
	  "zone: spt: 65536 is not in 1..65535" },
	{ 27, "zone 0 29 spt 48 angle 1 track_skew 0 cyl_skew 0 dead 0 spares 0", 27,
	  "zone: angle: '1' is not a fraction" },
	{ 27, "zone 0 29 spt 48 angle 0. track_skew 0 cyl_skew 0 dead 0 spares 0", 27,
	  "'0.' is not a fraction" },
	{ 27, "zone 0 29 spt 48 angle 0 track_skew .5 cyl_skew 0 dead 0 spares 0", 27,
	  "zone: track_skew: '.5' is not a fraction" },
	{ 27, "zone 0 29 spt 48 angle 0 track_skew 0.5e cyl_skew 0 dead 0 spares 0", 27,
	  "'0.5e' is not a fraction" },
	{ 27, "zone 0 29 spt 48 angle 0 track_skew 0 cyl_skew 0.1234567890123456789 dead 0", 27,
	  "zone: cyl_skew: '0.1234567890123456789' has more than 18 digits" },
	{ 27, "zone 0 29 spt 48 angle 0 track_skew", 27, "fraction of a turn missing" },
	{ 27, "zone 1 29 spt 48 angle 0 track_skew 0 cyl_skew 0 dead 0 spares 0", 27,
	  "cylinders 0..0 are missing before zone 1..29" },
	{ 33, "zone 32 59 spt 34 angle 0 track_skew 0 cyl_skew 0 dead 0 spares 0", 33,
	  "cylinders 30..31 are missing before zone 32..59" },
	{ 33, "zone 29 59 spt 34 angle 0 track_skew 0 cyl_skew 0 dead 0 spares 0", 33,
	  "zone 29..59 overlaps the one before, up to 29" },
	{ 33, "zone 30 29 spt 34 angle 0 track_skew 0 cyl_skew 0 dead 0 spares 0", 33,
	  "last cylinder 29 is before its first, 30" },
	{ 33, "zone 30 60 spt 34 angle 0 track_skew 0 cyl_skew 0 dead 0 spares 0", 33,
	  "last cylinder 60: the disk has 60" },
	{ 33, "zone 30 58 spt 34 angle 0 track_skew 0 cyl_skew 0 dead 0 spares 0", 0,
	  "cylinders 59..59 are in no zone" },
	{ 33, "zone 30 59 spt 34 angle 0 track_skew 0 cyl_skew 0 dead 2041 spares 0", 33,
	  "zone has 2040 sectors, fewer than 2041 dead and 0 spares" },
	{ 33, "zone 30 59 spt 34 angle 0 track_skew 0 cyl_skew 0 dead 2000 spares 41", 33,
	  "zone has 2040 sectors, fewer than 2000 dead and 41 spares" },
	{ 33, "zone 30 59 spt 34 angle 0 track_skew 0 cyl_skew 0 dead 0 spares 47", 6,
	  "capacity is 4762 sectors, but the zones hold 4763" },
	{ 6, "sectors 4761", 6, "capacity is 4761 sectors, but the zones hold 4762" },

	/* tracks by head: 38 + 30 sectors are as many as twice 34 */
	{ 27, "head_spt 0 1", 27, "head_spt before the first zone" },
	{ 33, ZONE2 "head_spt", 34, "head_spt: head: number missing" },
	{ 33, ZONE2 "head_spt 0", 34, "head_spt: number missing" },
	{ 33, ZONE2 "head_spt 2 30", 34, "head_spt: head: 2 is not in 0..1" },
	{ 33, ZONE2 "head_spt 1 30", 34, "head 1 stands where head 0 belongs" },
	{ 33, ZONE2 "head_spt 0 38 x", 34, "'x' is not a number" },
	{ 33, ZONE2 "head_spt 0 39 29", 34, "head_spt: 39 is not in 1..38" },
	{ 33, ZONE2 "head_spt 0 38 0", 34, "head_spt: 0 is not in 1..38" },
	{ 33, ZONE2 "head_spt 0 38 30 1", 34, "the zone's 2 heads were given already" },
	{ 33, ZONE2 "head_spt 0 38 30\nhead_spt 0 38 30", 35,
	  "the zone's 2 heads were given already" },
	{ 33, ZONE2 "head_spt 0 38", 33, "names heads 0..0 of this zone, but the disk has 2" },
	{ 33, ZONE2 "head_spt 0 37 31", 33, "zone's spt is 38, but its longest head_spt is 37" },
	{ 33, ZONE2 "head_spt 0 38 29", 6,
	  "capacity is 4762 sectors, but the zones hold 4732" },
	{ 33, ZONE2 "head_spt 0 38\nhead_spt 1 1\nslip 1122", 36, "is beyond the zone's last LBN" },

	/* slips */
	{ 27, "slip 5", 27, "slip before the first zone" },
	{ 28, "slip", 28, "slip: number missing" },
	{ 28, "slip 10 0", 28, "slip: count: 0 is not in 1.." },
	{ 28, "slip 10 1 1", 28, "'1' is too much" },
	{ 28, "slip 9", 28, "slip 9 lies in the zone's 10 dead sectors" },
	{ 29, "slip 10 3", 29, "slip 10 does not ascend: the one before ends at 11" },
	{ 30, "slip 502", 30, "slip 502 does not ascend: the one before ends at 503" },
	{ 30, "slip 2784", 30, "slip 2784 is beyond the zone's last LBN" },
	{ 30, "slip 503 97", 30, "101 sectors slipped, but the zone has 100 spares" },

	/* remaps */
	{ 27, "remap 20 to 30", 27, "remap before the first zone" },
	{ 31, "remap 20 2879", 31, "'2879' stands where 'to' belongs" },
	{ 31, "remap 20 to", 31, "remap: target: number missing" },
	{ 31, "remap 20 to 2879 1", 31, "'1' is too much" },
	{ 31, "remap 9 to 2879", 31, "remapped sector 9 holds no LBN" },
	{ 31, "remap 10 to 2879", 31, "remapped sector 10 holds no LBN" },
	{ 31, "remap 502 to 2879", 31, "remapped sector 502 holds no LBN" },
	{ 32, "remap 2785 to 2879", 32, "remapped sector 2785 holds no LBN" },
	{ 31, "remap 600 to 2879", 32, "remapped sector 600 does not ascend after 600" },
	{ 31, "remap 20 to 2784", 31, "remap target 2784 is not a spare (2785 up to 2880)" },
	{ 31, "remap 20 to 2880", 31, "remap target 2880 is not a spare (2785 up to 2880)" },
	{ 32, "remap 600 to 2879", 32, "remap target 2879 is used twice" },
};

TEST(test_rows)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t len = make_text(rows[i].line, rows[i].instead);

		parse_bad(text, len, rows[i].blamed, rows[i].reason);
	}
}

/* The least and greatest numbers are in. */
TEST(test_limits)
{
	static const struct row in[] = {
		{ 13, "head_switch_ns 0", 0, NULL },
		{ 13, "head_switch_ns 1000000000", 0, NULL },
		{ 8, "granule_sectors 2048", 0, NULL },
		{ 8, "granule_sectors 8", 0, NULL },
		{ 12, "period_ps 1000000000", 0, NULL },
		{ 12, "period_ps 100000000000", 0, NULL },
		{ 23, "seek 59 1000000000", 0, NULL },
		{ 3, "vendor " LONG39, 0, NULL },
		{ 5, "revision " LONG39, 0, NULL },
		{ 5, "wwn " LONG39, 0, NULL },
		{ 5, "distrusted " LONG64 LONG64 LONG64 "0123456", 0, NULL },
		{ 26, "seek_spread 1 0\nseek_spread 59 1000000000", 0, NULL },
		{ 30, "slip 503 16", 0, NULL },	/* LBNs end where the spare 2800 begins */
		{ 30, "slip 2783", 0, NULL },
		{ 31, "remap 20 to 2785", 0, NULL },
		{ 2, "#" LONG64 LONG64 LONG64 LONG39 "01234567890123456789012", 0, NULL },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(in); i++)
		dm_free(parse_good(make_text(in[i].line, in[i].instead)));
}

/* ---- the end record ---- */

TEST(test_end)
{
	static const char * const malformed[] = {
		"end", "end ", "end 5", "end 5 ", "end 5 1234567", "end 5 123456789",
		"end 5 1234567g", "end 5 12345678 ", "end x 12345678", "end  5 12345678",
		"end\t5 1", "end 5  12345678", "ending 5 12345678",
		"end 99999999999999999999999999999999999999999999999999999999999 12345678",
	};
	size_t len = make_text(0, NULL), at = strstr(text, "\nend ") + 1 - text, i;
	char copy[TEXT_MAX];

	for (i = 0; i < ARRAY_SIZE(malformed); i++) {
		snprintf(copy, sizeof(copy), "%.*s%s\n", (int)at, text, malformed[i]);
		parse_bad(copy, strlen(copy), LINES + 1, "not an end record");
	}
	snprintf(copy, sizeof(copy), "%.*send %zu %08x\n", (int)at, text, at + 1,
		 support_crc32(text, at));
	parse_bad(copy, strlen(copy), LINES + 1, "bytes, but");
	parse_bad("end 0 00000000\n", 15, 0, "nothing before the end record");
	parse_bad("\n", 1, 0, "no end record");
	parse_bad("", 0, 0, "the text is empty");

	/* upper case is hexadecimal, too */
	for (i = len - 9; i < len; i++)
		text[i] = toupper(text[i]);
	dm_free(parse_good(len));
	/* one bit changed anywhere before the end record's line */
	for (i = 0; i < at - 1; i++) {
		make_text(0, NULL);
		text[i] ^= 1;
		parse_bad(text, len, LINES + 1 - ((text[i] ^ 1) == '\n'), "says crc32");
	}
}

/* Cut off after any byte: refused. */
TEST(test_truncated)
{
	size_t len = make_text(0, NULL), i;

	for (i = 0; i < len; i++)
		parse_bad(text, i, 0, i ? "truncated" : "empty");
	/* more text after the end record */
	strcpy(text + len, "# more\n");
	parse_bad(text, len + 7, 0, "no end record");
}

TEST(test_nul_byte)
{
	size_t len, at;

	make_text(0, NULL);
	at = strstr(text, "\nend ") + 1 - text;
	*strchr(text, '#') = '\0';
	len = at + sprintf(text + at, "end %zu %08x\n", at, support_crc32(text, at));
	parse_bad(text, len, 2, "control character 0x00");
}

TEST(test_too_long)
{
	char *big = calloc(1, FB_MODEL_TEXT_MAX + 1);

	memset(big, '\n', FB_MODEL_TEXT_MAX + 1);
	parse_bad(big, FB_MODEL_TEXT_MAX + 1, 0, "16777217 bytes are more than 16777216");
	free(big);
}

/* ---- no memory ---- */

static long allocations_left = -1;	/* before they fail; -1: they do not */

void *__wrap_calloc(size_t n, size_t size)
{
	if (!allocations_left)
		return NULL;
	if (allocations_left > 0)
		allocations_left--;
	return __real_calloc(n, size);
}

/* Each allocation fails once: an error, nothing leaks (the sanitizer tells), no model. */
TEST(test_no_memory)
{
	struct dm_fault err = { 0 };
	struct disk_model *dm = NULL;
	size_t len = make_text(27, "seek_spread 1 1\n" HEADS1);
	long n;
	int ret;

	for (n = 0; n < 100; n++) {
		allocations_left = n;
		ret = fb_model_text_parse(text, len, &dm, &err);
		allocations_left = -1;
		if (!ret)
			break;
		assert_int_equal(ret, -ENOMEM);
		assert_string_equal(err.reason, "out of memory");
		assert_null(dm);
	}
	/* reader, its seven arrays, table, model, its seven arrays, two profiles, a sort */
	assert_in_range(n, 19, 23);
	dm_free(dm);
}

/* a line may give the lengths of as many heads as its 255 bytes have numbers */
TEST(test_many_heads)
{
	char records[1024], spts[256] = "head_spt 0 2";
	struct disk_model *dm;
	struct dm_track t;
	u32 i;

	for (i = 1; i < 122; i++)
		strcat(spts, " 1");
	snprintf(records, sizeof(records),
		 "fbmodel 1\nvendor A\nproduct B\nsectors 246\ncylinders 2\nheads 122\n"
		 "head_order plain\nperiod_ps 6000000000\nhead_switch_ns 0\nwrite_settle_ns 0\n"
		 "zero_latency no\nseek 1 700000\n"
		 "zone 0 1 spt 2 angle 0 track_skew 0 cyl_skew 0 dead 0 spares 0\n%s\n", spts);
	dm = support_model_text(records);
	for (i = 0; i < 122; i++) {
		assert_int_equal(0, dm_track_at(dm, 1, i, &t));
		assert_int_equal(t.nsect, i ? 1 : 2);
	}
	dm_free(dm);
}
