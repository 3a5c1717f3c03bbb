// SPDX-License-Identifier: GPL-2.0
/*
 * Defect lists and translated addresses of the toy drive, as command bytes.
 * Expectations are its description: slips, remaps and plain tracks counted by
 * hand, and each LBN's way there and back.
 */
#include "support.h"

#include <stdlib.h>

#include "mechdisk_bytes.h"
#include "mechdisk_diag.h"

enum { SHORT = 0, LONG = 3, INDEX = 4, SECTOR = 5 };

static struct mde_config cfg;
static struct mdd_result result;
static struct mdp_error err;

static void begin(const char *lines)
{
	mdu_load("toy.fbdrive", lines, &cfg);
	memset(&result, 0, sizeof(result));
}

static int end(void **state)
{
	(void)state;
	mdt_free(&cfg);
	return 0;
}

static u64 place(u32 cyl, u32 head, u32 sector)
{
	return (u64)cyl << 40 | (u64)head << 32 | sector;
}

/* Defects. */

/* The whole list; returns how many, at most @room of them in @d. */
static u32 defects_10(u8 bits, u64 *d, u32 room, struct mdd_list *list)
{
	const u8 cdb[10] = { 0x37, 0, bits, 0, 0, 0, 0, 0xff, 0xff, 0 };
	u8 header[MDD_HEADER], one[MDD_ADDRESS];
	u32 n = 0;

	assert_int_equal(mdd_defects(&cfg, cdb, list, header), 4);
	assert_int_equal(header[1] & 0x18, bits & 0x18);
	assert_int_equal(header[1] & 0x07, list->format);
	for (; mdd_next(list, one); n++)
		if (n < room)
			d[n] = get_unaligned_be64(one);
	assert_int_equal(get_unaligned_be16(header + 2), n * 8);
	return n;
}

/*
 * Zone 0: 220 sectors a track, 4 heads: 100 is on the first track, 219 its last,
 * 5000 = track 22 (cylinder 5, head 2) + 160, 200123 = track 909 + 143.
 * Zone 1 from cylinder 500: 359000 = track 1994 + 80.
 * Seen to fail: mdd_next() giving the remap's spare, or slips twice.
 */
static void test_defects(void **state)
{
	const u64 primary[] = {
		place(0, 0, 100), place(0, 0, 219), place(5, 2, 160),
		place(5, 2, 161), place(227, 1, 143),
		place(500, 0, 0), place(998, 2, 80),
		place(1000, 0, 139), place(1000, 1, 0), place(1000, 1, 1),
	};
	const u64 grown[] = {
		place(3, 1, 140), place(284, 0, 80), place(500, 0, 179),
		place(1178, 2, 40),
	};
	struct mdd_list list;
	u64 got[16];

	(void)state;
	begin(NULL);
	assert_int_equal(defects_10(0x10 | SECTOR, got, 16, &list), 10);
	assert_memory_equal(got, primary, sizeof(primary));
	assert_int_equal(defects_10(0x08 | SECTOR, got, 16, &list), 4);
	assert_memory_equal(got, grown, sizeof(grown));
	assert_int_equal(defects_10(0x18 | SECTOR, got, 16, &list), 14);
	assert_memory_equal(got, primary, sizeof(primary));
	assert_memory_equal(got + 10, grown, sizeof(grown));
	assert_false(list.substituted);
	assert_int_equal(defects_10(0x08 | INDEX, got, 16, &list), 4);
	assert_int_equal(got[0], place(3, 1, 140 * 512));
	assert_false(list.substituted);
}

/*
 * A run of slips counts by its sectors; (12) starts anywhere.
 * Seen to fail: mdd_skip() to the begin of a run.
 */
static void test_index(void **state)
{
	u8 cdb[12] = { 0xb7, 0x18 | SECTOR, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0 };
	u8 header[MDD_HEADER], one[MDD_ADDRESS];
	u64 all[64];
	struct mdd_list list;
	u32 n, i;

	(void)state;
	begin("slip 2 1000+20\n");
	n = defects_10(0x18 | SECTOR, all, 64, &list);
	assert_int_equal(n, 34);
	for (i = 0; i <= n + 1; i++) {
		put_unaligned_be32(i, cdb + 2);
		assert_int_equal(mdd_defects(&cfg, cdb, &list, header), 8);
		assert_int_equal(get_unaligned_be32(header + 4),
				 i < n ? (n - i) * 8 : 0);
		if (i < n) {
			assert_true(mdd_next(&list, one));
			assert_int_equal(get_unaligned_be64(one), all[i]);
		} else {
			assert_false(mdd_next(&list, one));
		}
	}
}

/* More than (10) has room to say. */
static void test_many(void **state)
{
	const u8 ten[10] = { 0x37, 0, 0x10 | SECTOR };
	const u8 twelve[12] = { 0xb7, 0x10 | SECTOR };
	u8 header[MDD_HEADER];
	struct mdd_list list;

	(void)state;
	begin("zone 1400 1600 140 0 0 0 20000\nslip 3 5000+9000\n");
	mdd_defects(&cfg, ten, &list, header);
	assert_int_equal(get_unaligned_be16(header + 2), 0xffff);
	mdd_defects(&cfg, twelve, &list, header);
	assert_int_equal(get_unaligned_be32(header + 4), 9010 * 8);
}

/* Translation. */

static bool translate(u8 from, u8 to, u64 address)
{
	const u8 cdb[6] = { 0x1d, 0x10, 0, 0, MDD_LIST, 0 };
	u8 list[MDD_LIST] = { 0x40, 0, 0, 10, from, to };

	put_unaligned_be64(address, list + 6);
	return mdd_send(&cfg, cdb, list, sizeof(list), &result, &err);
}

/* The translated address, which is there; @bits: RAREA, ALTSEC, ALTTK. */
static u64 translated(u8 from, u8 to, u64 address, u8 bits)
{
	assert_true(translate(from, to, address));
	assert_int_equal(result.len, 14);
	assert_int_equal(result.page[0], 0x40);
	assert_int_equal(get_unaligned_be16(result.page + 2), 10);
	assert_int_equal(result.page[4], from);
	assert_int_equal(result.page[5], to | bits);
	return get_unaligned_be64(result.page + 6);
}

/* Seen to fail: mdd_find_place() with the cylinder one byte further on. */
static void test_there_and_back(void **state)
{
	struct mdl_piece p;
	u64 lbn, at;
	u8 alt;

	(void)state;
	begin(NULL);
	for (lbn = 0; lbn < cfg.sectors; lbn += lbn < 5000 ? 1 : 997) {
		mdl_locate(&cfg, lbn, 1, &p);
		alt = p.remapped ? 0x40 : 0;
		at = translated(LONG, SECTOR, lbn, alt);
		assert_int_equal(at, place(p.cyl, p.head, p.sector));
		assert_int_equal(translated(SECTOR, LONG, at, alt), lbn);
		assert_int_equal(translated(SHORT, SECTOR, lbn << 32, alt), at);
		assert_int_equal(translated(SECTOR, SHORT, at, alt), lbn << 32);
		at = translated(LONG, INDEX, lbn, alt);
		assert_int_equal(at, place(p.cyl, p.head, p.sector * 512));
		assert_int_equal(translated(INDEX, LONG, at + 511, alt), lbn);
	}
}

/* Sector 3000 of zone 0 lives in 439990, and no LBN at 3000. */
static void test_remapped(void **state)
{
	u64 lbn;

	(void)state;
	begin(NULL);
	lbn = translated(SECTOR, LONG, place(499, 3, 210), 0x40);
	assert_int_equal(lbn, 2998);	/* two slips before it */
	assert_true(translate(SECTOR, LONG, place(3, 1, 140)));
	assert_int_equal(result.len, 6);
	assert_int_equal(get_unaligned_be16(result.page + 2), 2);
	assert_int_equal(result.page[5], LONG | 0x80);
	/* The place of a place is known, LBN or not. */
	assert_int_equal(translated(SECTOR, INDEX, place(3, 1, 140), 0x80),
			 place(3, 1, 140 * 512));
	/* A slip, and a free spare. */
	assert_true(translate(SECTOR, SHORT, place(0, 0, 100)));
	assert_int_equal(result.page[5], SHORT | 0x80);
	assert_true(translate(SECTOR, SHORT, place(499, 3, 215)));
	assert_int_equal(result.page[5], SHORT | 0x80);
}

static void refused(u8 from, u8 to, u64 address, u16 field)
{
	assert_false(translate(from, to, address));
	assert_int_equal(err.asc, 0x26);
	assert_int_equal(err.field, field);
}

static void test_no_such_address(void **state)
{
	(void)state;
	begin(NULL);
	refused(LONG, SECTOR, cfg.sectors, 6);
	refused(SHORT, SECTOR, cfg.sectors << 32, 6);
	refused(SHORT, SECTOR, 1, 6);		/* reserved bytes */
	refused(SECTOR, LONG, place(1400, 0, 0), 6);
	refused(SECTOR, LONG, place(0, 4, 0), 6);
	refused(SECTOR, LONG, place(0, 0, 220), 6);
	refused(SECTOR, LONG, place(0, 0, U32_MAX), 6);
	refused(INDEX, LONG, place(0, 0, 220 * 512), 6);
	refused(1, LONG, 0, 4);
	refused(LONG, 7, 0, 5);
}

static void test_translation_off(void **state)
{
	const u8 pcv[6] = { 0x1c, 0x01, 0x00, 0, 255, 0 };
	struct mdd_result page;

	(void)state;
	begin("translate off\n");
	refused(LONG, SECTOR, 0, 0);
	assert_true(mdd_receive(&cfg, pcv, &result, &page, &err));
	assert_int_equal(page.len, 5);
	mdt_free(&cfg);
	begin("translate on\n");
	assert_true(mdd_receive(&cfg, pcv, &result, &page, &err));
	assert_int_equal(page.len, 6);
	assert_int_equal(page.page[5], 0x40);
}

static u8 send_raw(u8 flags, const u8 *list, u32 len)
{
	const u8 cdb[6] = { 0x1d, flags, 0, 0, len, 0 };
	u8 *exact = malloc(len ?: 1);
	bool done;

	memcpy(exact, list, len);
	done = mdd_send(&cfg, cdb, exact, len, &result, &err);
	free(exact);
	return done ? 0 : err.asc;
}

static void test_list_errors(void **state)
{
	u8 list[MDD_LIST] = { 0x40, 0, 0, 10, SHORT, SECTOR };
	const u8 none[4] = { 0x10, 0, 0, 0 };
	u32 len;

	(void)state;
	begin(NULL);
	for (len = 1; len < MDD_LIST; len++)
		assert_int_equal(send_raw(0x10, list, len), 0x1a);
	assert_int_equal(send_raw(0x10, list, MDD_LIST), 0);
	assert_int_equal(send_raw(0x00, list, MDD_LIST), 0x24);
	assert_int_equal(send_raw(0x04, list, 0), 0);
	assert_int_equal(send_raw(0x14, list, MDD_LIST), 0x24);
	assert_int_equal(send_raw(0x20, list, 0), 0x24);
	list[3] = 9;
	assert_int_equal(send_raw(0x10, list, MDD_LIST), 0x26);
	assert_int_equal(send_raw(0x10, none, 4), 0x26);
}

static void test_receive(void **state)
{
	const u8 any[6] = { 0x1c, 0, 0, 0, 255, 0 };
	const u8 mine[6] = { 0x1c, 1, 0x40, 0, 255, 0 };
	struct mdd_result page;

	(void)state;
	begin(NULL);
	assert_false(mdd_receive(&cfg, mine, &result, &page, &err));
	assert_int_equal(err.asc, 0x24);
	assert_true(mdd_receive(&cfg, any, &result, &page, &err));
	assert_int_equal(page.page[0], 0x00);
	assert_true(translate(LONG, SECTOR, 0));
	assert_true(mdd_receive(&cfg, any, &result, &page, &err));
	assert_int_equal(page.page[0], 0x40);
	assert_true(mdd_receive(&cfg, mine, &result, &page, &err));
	assert_memory_equal(&page, &result, sizeof(page));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_defects, end),
		cmocka_unit_test_teardown(test_index, end),
		cmocka_unit_test_teardown(test_many, end),
		cmocka_unit_test_teardown(test_there_and_back, end),
		cmocka_unit_test_teardown(test_remapped, end),
		cmocka_unit_test_teardown(test_no_such_address, end),
		cmocka_unit_test_teardown(test_translation_off, end),
		cmocka_unit_test_teardown(test_list_errors, end),
		cmocka_unit_test_teardown(test_receive, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
