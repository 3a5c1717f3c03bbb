// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of a compiled model (core/model_table.c): the table of a good text is taken; one with any
 * value out of bounds, a wrong count, length or checksum is refused with the value's name; and
 * tables with random words in them are refused or answer every query.
 *
 * Seen to fail: any one line of fb_model_table_info taken out (test_bounds); the counts not
 * compared with the zones' (test_shares, and the sanitizer); the length not compared (test_length);
 * strings not checked for their end (test_texts).
 */
#include "core/model_table.h"
#include "support.h"
#include "tools/model/model_text.h"

#define RANDOM_TABLES 20000

static const char records[] =
	"fbmodel 1\nvendor A\nproduct B\nsectors 95\ncylinders 4\nheads 3\n"
	"head_order serpentine-zone\nperiod_ps 6000000000\nhead_switch_ns 1000\n"
	"write_settle_ns 0\nzero_latency yes\nseek 1 900000\nseek 2 1000000\n"
	"write_seek 1 900000\nwrite_seek 3 1000000\nseek_spread 1 9\nseek_spread 2 5\n"
	"revision 1\nwwn naa.5\ndistrusted not good\n"
	"zone 0 1 spt 10 angle 0.5 track_skew 0.1 cyl_skew 0.05 dead 5 spares 10\n"
	"slip 7 2\nslip 12\nremap 5 to 59\nremap 30 to 55\n"
	"zone 2 3 spt 12 angle 0 track_skew 0.1 cyl_skew 0 dead 0 spares 4\nslip 0\n"
	"head_spt 0 5 12\nhead_spt 2 10\n";

/* a table and its parts */
struct fixture {
	union {
		struct fb_model_table t;
		u64 words[1024];
	};
	size_t len;
	struct dm_spec_zone *zone;
	struct dm_spec_slip *slip;
	struct dm_spec_remap *remap;
	struct dm_spec_seek *seek;	/* 2 for reads, 2 for writes */
	u16 *head_spt;
};

static void make(struct fixture *f)
{
	static char text[2048];
	struct dm_fault fault;
	void *table;

	size_t len = support_seal(text, sizeof(text), records);

	assert_int_equal(0, fb_model_text_compile(text, len, &table, &f->len, &fault));
	assert_in_range(f->len, 1, sizeof(f->words));
	memcpy(f->words, table, f->len);
	fb_free(table);
	f->zone = (void *)(&f->t + 1);
	f->slip = (void *)(f->zone + 2);
	f->remap = (void *)(f->slip + 3);
	f->seek = (void *)(f->remap + 2);
	f->head_spt = (void *)(f->seek + 4);
}

static void seal(struct fixture *f)
{
	f->t.crc32 = ~crc32_le(~0U, (unsigned char *)&f->t.order,
			       f->len - offsetof(struct fb_model_table, order));
}

static void is_refused(struct fixture *f, const char *why)
{
	struct dm_fault fault = { .reason = "none" };
	struct disk_model *dm = NULL;

	assert_int_equal(-EINVAL, fb_model_table_build(f->words, f->len, &dm, &fault));
	assert_null(dm);
	if (!strstr(fault.reason, why))
		fail_msg("'%s' is not the reason '%s'", why, fault.reason);
}

/* The value at @p, of 4 or 8 bytes, is refused as @value, under its name. */
static void is_bound(struct fixture *f, void *p, size_t size, u64 value, const char *name)
{
	u64 before = 0;

	memcpy(&before, p, size);
	memcpy(p, &value, size);
	seal(f);
	is_refused(f, name);
	memcpy(p, &before, size);
	seal(f);
}

#define IS_BOUND(f, field, value, name) is_bound(f, &(field), sizeof(field), value, name)

TEST(test_good)
{
	static struct fixture f;
	struct disk_model *dm;
	struct dm_fault fault;
	struct dm_place p;

	make(&f);
	assert_int_equal(f.len, fb_model_table_bytes(f.words));
	assert_int_equal(0, fb_model_table_build(f.words, f.len, &dm, &fault));
	assert_int_equal(95, dm_info(dm)->sectors);
	assert_string_equal("not good", dm_info(dm)->distrusted);
	assert_int_equal(0, dm_place_of(dm, 1, &p));
	/* physical sector 6 of ten, behind five dead ones, on a track that begins at half a turn */
	assert_int_equal(p.angle, 0x19999999);
	dm_free(dm);
}

TEST(test_bounds)
{
	static struct fixture f;
	struct dm_info *info = &f.t.info;

	make(&f);
	IS_BOUND(&f, info->sectors, 0, "sectors: 0 is not in 1..");
	IS_BOUND(&f, info->sectors, U64_MAX, "sectors: ");
	IS_BOUND(&f, info->period_ps, DM_PERIOD_PS_MIN - 1, "period_ps: ");
	IS_BOUND(&f, info->period_ps, DM_PERIOD_PS_MAX + 1, "period_ps: ");
	IS_BOUND(&f, info->physical_sectors, 0, "physical_sectors: ");
	IS_BOUND(&f, info->physical_sectors, 9, "physical_sectors: ");
	IS_BOUND(&f, info->physical_sectors, 2, "physical_sectors: 2 is neither 1 nor 8");
	IS_BOUND(&f, info->granule_sectors, 0, "granule_sectors: ");
	IS_BOUND(&f, info->granule_sectors, 4096, "granule_sectors: ");
	IS_BOUND(&f, info->granule_sectors, 12, "granule_sectors: 12 is not a power of two");
	IS_BOUND(&f, info->cylinders, 0, "cylinders: ");
	IS_BOUND(&f, info->cylinders, DM_CYLINDERS_MAX + 1, "cylinders: ");
	IS_BOUND(&f, info->heads, 0, "heads: ");
	IS_BOUND(&f, info->heads, DM_HEADS_MAX + 1, "heads: ");
	IS_BOUND(&f, info->surface_run, 0, "surface_run: ");
	IS_BOUND(&f, info->surface_run, DM_SURFACE_RUN_MAX + 1, "surface_run: ");
	IS_BOUND(&f, info->head_switch_ns, DM_NS_MAX + 1, "head_switch_ns: ");
	IS_BOUND(&f, info->write_settle_ns, DM_NS_MAX + 1, "write_settle_ns: ");
	IS_BOUND(&f, info->read_overhead_ns, DM_NS_MAX + 1, "read_overhead_ns: ");
	IS_BOUND(&f, info->write_overhead_ns, DM_NS_MAX + 1, "write_overhead_ns: ");
	IS_BOUND(&f, info->read_report_ns, DM_NS_MAX + 1, "read_report_ns: ");
	IS_BOUND(&f, info->write_report_ns, DM_NS_MAX + 1, "write_report_ns: ");
	IS_BOUND(&f, info->zero_latency, 2, "zero_latency: ");
	IS_BOUND(&f, f.t.order, 3, "head_order: 3 is unknown");
	IS_BOUND(&f, f.zone[1].first_cyl, DM_CYLINDERS_MAX, "zone: first_cyl: ");
	IS_BOUND(&f, f.zone[1].last_cyl, DM_CYLINDERS_MAX, "zone: last_cyl: ");
	IS_BOUND(&f, f.zone[1].spt, 0, "zone: spt: ");
	IS_BOUND(&f, f.zone[1].spt, DM_SPT_MAX + 1, "zone: spt: ");
	IS_BOUND(&f, f.zone[1].dead, U64_MAX, "zone: dead: ");
	IS_BOUND(&f, f.zone[1].spares, U64_MAX, "zone: spares: ");
	IS_BOUND(&f, f.zone[1].unmapped, 2, "zone: unmapped: ");
	IS_BOUND(&f, f.zone[1].slow, 2, "zone: slow: ");
	IS_BOUND(&f, f.slip[2].at, U64_MAX, "slip: at: ");
	IS_BOUND(&f, f.slip[2].n, 0, "slip: n: ");
	IS_BOUND(&f, f.remap[1].from, U64_MAX, "remap: from: ");
	IS_BOUND(&f, f.remap[1].to, U64_MAX, "remap: to: ");
	IS_BOUND(&f, f.seek[1].cyls, 0, "seek: cyls: ");
	IS_BOUND(&f, f.seek[1].ns, 0, "seek: ns: ");
	IS_BOUND(&f, f.seek[3].ns, DM_NS_MAX + 1, "write_seek: ns: ");
	IS_BOUND(&f, f.head_spt[1], 0, "head_spt: 0 sectors");
}

/* A seek to a slow zone takes a turn more, but from the cylinder next to it; no order spares it. */
TEST(test_slow)
{
	const struct dm_place from = { 0, 0, 0 }, to = { .cyl = 2 }, next = { .cyl = 3 };
	u64 seek_ns[2], latency_ns[2];
	struct disk_model *dm[2];
	static struct fixture f;
	struct dm_fault fault;
	u32 slow;

	for (slow = 0; slow < 2; slow++) {
		make(&f);
		f.zone[1].slow = slow;
		seal(&f);
		assert_int_equal(0, fb_model_table_build(f.words, f.len, &dm[slow], &fault));
		dm_position(dm[slow], &from, &to, false, &seek_ns[slow], &latency_ns[slow]);
	}
	assert_int_equal(seek_ns[0], seek_ns[1]);
	assert_int_equal(latency_ns[0], latency_ns[1]);
	assert_int_equal(dm_seek_ns(dm[1], &from, &to, false),
			 dm_seek_ns(dm[0], &from, &to, false) + dm_period_ns(dm[0]));
	assert_int_equal(dm_seek_ns(dm[1], &to, &from, false),
			 dm_seek_ns(dm[0], &to, &from, false));
	assert_int_equal(dm_seek_ns(dm[1], &to, &next, false),
			 dm_seek_ns(dm[0], &to, &next, false));
	dm_free(dm[0]);
	dm_free(dm[1]);
}

/* Of a zone that is not mapped only its tracks are known. */
TEST(test_unmapped)
{
	const struct dm_place from = { 0, 0, 0 };
	static struct fixture f;
	struct dm_piece piece[2];
	struct disk_model *dm;
	struct dm_fault fault;
	struct dm_access acc;
	struct dm_track t;
	struct dm_place p;
	u64 first;
	u32 angle;

	make(&f);
	f.zone[1].unmapped = 1;
	seal(&f);
	assert_int_equal(0, fb_model_table_build(f.words, f.len, &dm, &fault));
	first = dm_info(dm)->mapped;
	/* the second zone: two cylinders of 5, 12 and 10 sectors, four of them spare */
	assert_int_equal(95 - first, 50);
	assert_int_equal(0, dm_place_of(dm, first, &p));
	assert_int_equal(2, p.cyl);
	assert_int_equal(0, dm_track_of(dm, first, &t));
	assert_int_equal(-ENXIO, dm_lbn_angle(dm, &t, first, &angle));
	dm_window(dm, &t, 0, 1ULL << 32, piece);
	assert_int_equal(0, piece[0].nsect);
	assert_int_equal(-ENXIO, dm_access(dm, &from, first, 1, false, &acc));
	/* it begins where there is a map, and ends where there is none */
	assert_int_equal(-ENXIO, dm_access(dm, &from, first - 1, 2, false, &acc));
	assert_int_equal(0, dm_access(dm, &from, first - 1, 1, false, &acc));
	dm_free(dm);
}

TEST(test_texts)
{
	static struct fixture f;

	make(&f);
	f.t.info.product[0] = '\n';
	seal(&f);
	is_refused(&f, "product: byte 0x0a is not printable ASCII");
	memset(f.t.info.product, 'x', DM_ID_LEN);
	seal(&f);
	is_refused(&f, "product: no end within 40 bytes");
}

/* Counts that the zones do not have, that the table is too short for, or beyond bounds. */
TEST(test_shares)
{
	static struct fixture f;

	make(&f);
	IS_BOUND(&f, f.zone[0].slips, 3, "the zones count 4 slips");
	IS_BOUND(&f, f.zone[1].remaps, 1, "3 remaps");
	IS_BOUND(&f, f.zone[1].head_spts, 2, "2 track lengths");
	IS_BOUND(&f, f.t.slips, 4, "counts do not come to");
	IS_BOUND(&f, f.t.slips, U32_MAX, "counts do not come to");
	IS_BOUND(&f, f.t.head_spts, 2, "counts do not come to");
	IS_BOUND(&f, f.t.zones, 0, "counts do not come to");
}

TEST(test_length)
{
	static struct fixture f;
	size_t len;

	make(&f);
	f.len--;
	is_refused(&f, "no whole table");
	for (len = 0; len < sizeof(f.t); len++) {
		f.len = len;
		is_refused(&f, "no whole table");
	}
	make(&f);
	f.t.info.vendor[1] = 'x';
	is_refused(&f, "says crc32");
	make(&f);
	f.t.magic++;
	assert_int_equal(0, fb_model_table_bytes(f.words));
	is_refused(&f, "of this version");
	make(&f);
	f.t.bytes = FB_MODEL_TABLE_MAX + 1;
	assert_int_equal(0, fb_model_table_bytes(f.words));
	f.t.bytes = sizeof(f.t) - 1;
	assert_int_equal(0, fb_model_table_bytes(f.words));
}

/* Ask a model for every LBN and every track. */
static void ask(struct disk_model *dm)
{
	u64 lbn, sectors = min(dm_info(dm)->sectors, (u64)200);
	struct dm_place p = { 0, 0, 0 };
	struct dm_access a;
	struct dm_track t;
	u32 i;
	int err;

	for (lbn = 0; lbn < sectors; lbn++) {
		assert_int_equal(0, dm_place_of(dm, lbn, &p));
		assert_true(p.cyl < dm_info(dm)->cylinders && p.head < dm_info(dm)->heads);
		assert_int_equal(0, dm_track_of(dm, lbn, &t));
		assert_true(lbn >= t.first_lbn && lbn - t.first_lbn < t.nsect);
		err = dm_access(dm, &p, lbn, 1, true, &a);
		assert_true(!err || err == -ENXIO);
	}
	for (i = 0; i < min(dm_tracks(dm), 64U); i++)
		assert_int_equal(0, dm_track_by_index(dm, i, &t));
}

/* Random words in a table, which is sealed: a good part must still build. */
TEST(test_random)
{
	static const u32 values[] = { 0, 1, 2, 3, 5, 9, 12, 255, 65535, 65536, 1U << 24, U32_MAX };
	struct rnd rnd = { 2026 };
	static struct fixture f;
	u32 n, built = 0;

	for (n = 0; n < RANDOM_TABLES; n++) {
		u32 changes = 1 + rnd_below(&rnd, 3);
		struct disk_model *dm;
		struct dm_fault fault;

		make(&f);
		while (changes--) {
			u32 at = 12 + rnd_below(&rnd, f.len - 12 - 3);
			u32 one = values[rnd_below(&rnd, ARRAY_SIZE(values))];
			u32 value = rnd_below(&rnd, 2) ? one : rnd_next(&rnd);

			memcpy((char *)f.words + (rnd_below(&rnd, 4) ? at & ~3U : at), &value, 4);
		}
		seal(&f);
		if (fb_model_table_build(f.words, f.len, &dm, &fault))
			continue;
		built++;
		ask(dm);
		dm_free(dm);
	}
	assert_in_range(built, RANDOM_TABLES / 10, RANDOM_TABLES * 9 / 10);
}
