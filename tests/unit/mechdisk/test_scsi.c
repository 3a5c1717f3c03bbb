// SPDX-License-Identifier: GPL-2.0
/*
 * SCSI commands of the simulated drive as bytes in and bytes out (mechdisk_reply.h).
 * Expectations are the toy drive's description and SPC-5, SBC-4 (6.4 caching page), SAT-4 (12.2
 * ATA PASS-THROUGH), ACS-3; of a SATA drive what Linux 6.1 has in ata_scsi_simulate() and
 * ata_scsiop_mode_sense().
 *
 * Discards and power conditions are tried by the kernel's own driver: t-trim.sh, t-asleep.sh,
 * t-rest.sh.
 *
 * Seen to fail: a page that is saved without SP; fixed bits of a page that are taken; a list of
 * pages that is taken in part; a cylinder one byte further on; an address's ALTSEC left out;
 * caching that a pass-through does not hand back; mdp_has() that looks at "translated" alone.
 */
#include "support.h"

#include <stdlib.h>

#include "mechdisk_bytes.h"
#include "mechdisk_reply.h"

#define CACHE "cache 4 256 2\nwrite_cache off\n"
#define ROOM 1024

static struct mde_config cfg;
static struct mdy drive;
static struct mdy_answer answer;
static u64 now_ns;
static bool dirty;

static void begin(const char *lines)
{
	mdu_load("toy.fbdrive", lines, &cfg);
	now_ns = 0;
	dirty = false;
	mdy_init(&drive, &cfg, NULL, 0);
}

int teardown(void **state)
{
	mdt_free(&cfg);
	return 0;
}

/* What is a command, and what comes of it: its list, or nothing. */
enum outcome { GOOD, SENSE, WANTS };

static enum outcome run_list(const u8 *cdb, const u8 *list, u32 len)
{
	/* The sanitizer sees what is read beyond the end. */
	u8 *exact = malloc(len ?: 1);
	struct mdy_command c = { cdb, exact, len ?: ROOM, now_ns, dirty };
	bool wants;

	if (len)
		memcpy(exact, list, len);
	wants = mdy_command(&drive, &c, &answer);
	free(exact);
	return wants ? WANTS : answer.sense_len ? SENSE : GOOD;
}

#define RUN(...) run_list((const u8[16]) { __VA_ARGS__ }, NULL, 0)

static u8 asc(void)
{
	return answer.sense[12];
}

/* The byte that the sense data point to. */
static u16 field(void)
{
	assert_int_equal(answer.sense[15] & 0x80, 0x80);
	return get_unaligned_be16(answer.sense + 16);
}

/* Commands that need no state. */

struct row {
	const char *records;
	u8 cdb[16];
	enum outcome outcome;
	u8 asc;			/* of SENSE */
	u32 len;		/* of GOOD */
	struct { u32 at; u8 bytes[8]; u32 n; } has;
};

#define HAS(at, ...) { at, { __VA_ARGS__ }, sizeof((u8[]){ __VA_ARGS__ }) }

static const struct row rows[] = {
	/* INQUIRY */
	{ "", { 0x12, 0, 0, 0, 255 }, GOOD, 0, 96, HAS(7, 2, 'M', 'E', 'C', 'H') },
	{ "", { 0x12, 0, 0, 0, 10 }, GOOD, 0, 10, HAS(0, 0) },
	{ "", { 0x12, 0, 1, 0, 255 }, SENSE, .asc = 0x24 },
	{ "", { 0x12, 1, 0, 0, 255 }, GOOD, 0, 9, HAS(4, 0x00, 0x80, 0x83, 0xb0, 0xb1) },
	{ "unmap on\ntrim on\nactuators 2\n", { 0x12, 1, 0, 0, 255 }, GOOD, 0, 12,
	  HAS(6, 0x83, 0x89, 0xb0, 0xb1, 0xb2, 0xb9) },
	{ "", { 0x12, 1, 0x83, 0, 255 }, GOOD, 0, 16, HAS(4, 1, 3, 0, 8) },
	{ "long_id on\n", { 0x12, 1, 0x83, 0, 255 }, GOOD, 0, 24, HAS(4, 1, 3, 0, 16) },
	{ "", { 0x12, 1, 0x89, 0, 255 }, SENSE, .asc = 0x24 },
	{ "zoned vpd\n", { 0x12, 1, 0xb1, 0, 255 }, GOOD, 0, 64, HAS(4, 0x27, 0x10, 0, 2, 0x20) },
	{ "", { 0x12, 1, 0xb2, 0, 255 }, SENSE, .asc = 0x24 },
	{ "unmap on\n", { 0x12, 1, 0xb2, 0, 255 }, GOOD, 0, 8, HAS(5, 0xe4) },
	/* UNMAP: 512 LBNs of one range; WRITE SAME: 512 */
	{ "max_sectors 512\nunmap on\n", { 0x12, 1, 0xb0, 0, 255 }, GOOD, 0, 64,
	  HAS(20, 0, 0, 2, 0, 0, 0, 0, 1) },
	{ "", { 0x12, 1, 0xb9, 0, 255 }, SENSE, .asc = 0x24 },
	/* READ CAPACITY: 1023760 sectors; provisioning */
	{ "", { 0x25 }, GOOD, 0, 8, HAS(0, 0, 0x0f, 0x9f, 0x0f, 0, 0, 2, 0) },
	{ "", { 0x9e, 0x10, [13] = 32 }, GOOD, 0, 32, HAS(13, 0, 0) },
	{ "unmap on\nphysical_exponent 3\n", { 0x9e, 0x10, [13] = 32 }, GOOD, 0, 32,
	  HAS(13, 3, 0xc0) },
	{ "", { 0x9e, 0x12, [13] = 32 }, SENSE, .asc = 0x24 },
	{ "", { 0xa0, [9] = 16 }, GOOD, 0, 16, HAS(3, 8) },
	{ "", { 0x00 }, .outcome = GOOD },
	{ "", { 0x37 }, SENSE, .asc = 0x20 },
	{ "", { 0x9f }, SENSE, .asc = 0x20 },
	/* MODE SENSE: all pages and the descriptor; a long one; no such page, no such subpage */
	{ "", { 0x5a, 0, 0x3f, [7] = 1 }, GOOD, 0, 8 + 8 + 12 + 20 + 12,
	  HAS(10, 0x9f, 0x10, 0, 0, 2, 0, 0x01) },
	{ "sector_bytes 4096\n", { 0x5a, 0x10, 0x0a, [7] = 1 }, GOOD, 0, 8 + 16 + 12,
	  HAS(20, 0, 0, 0x10, 0, 0x0a) },
	{ "", { 0x1a, 8, 0x07, 0, 255 }, SENSE, .asc = 0x24 },
	{ "", { 0x1a, 8, 0x08, 1, 255 }, SENSE, .asc = 0x24 },
	{ "mode_sense off\n", { 0x1a, 8, 0x3f, 0, 255 }, SENSE, .asc = 0x20 },
	/* The recovery time limit; the caching page: RCD, changeable bits */
	{ "recovery_limit_ms 515\n", { 0x1a, 8, 0x01, 0, 255 }, GOOD, 0, 16, HAS(14, 2, 3) },
	{ "recovery_control off\n", { 0x1a, 8, 0x01, 0, 255 }, SENSE, .asc = 0x24 },
	{ "", { 0x1a, 8, 0x08, 0, 255 }, GOOD, 0, 24, HAS(4, 0x08, 0x12, 0x01, 0) },
	{ "", { 0x1a, 8, 0x48, 0, 255 }, GOOD, 0, 24, HAS(4, 0x08, 0x12, 0, 0) },
	{ "cache 4 256 0\n", { 0x1a, 8, 0x48, 0, 255 }, GOOD, 0, 24, HAS(4, 0x88, 0x12, 1) },
	{ CACHE, { 0x1a, 8, 0x08, 0, 255 }, GOOD, 0, 24, HAS(16, 0x40, 4, 1, 0) },
	{ CACHE "translated on\n", { 0x1a, 8, 0x48, 0, 255 }, GOOD, 0, 24,
	  HAS(4, 0x88, 0x12, 0x04) },
	/* The standby timer, in tenths of a second */
	{ "standby_timer_ms 20000\n", { 0x1a, 8, 0x1a, 0, 255 }, GOOD, 0, 16,
	  HAS(8, 0, 0, 0, 0, 0, 0, 0, 200) },
	/* What a SATA drive has, whoever translates; 37h are defects */
	{ "translated on\nstandby_timer_ms 9\n", { 0x1a, 8, 0x1a, 0, 255 }, SENSE, .asc = 0x24 },
	{ "interface sata\nstandby_timer_ms 9\n", { 0x1a, 8, 0x1a, 0, 255 }, SENSE, .asc = 0x24 },
	{ "interface sata\n", { 0x1a, 8, 0x3f, 0, 255 }, GOOD, .len = 4 + 12 + 20 + 12 },
	{ "interface sata\n", { 0x12, 0, 0, 0, 255 }, GOOD, 0, 96, HAS(8, 'A', 'T', 'A', ' ') },
	{ "translated on\n", { 0x12, 1, 0x89, 2, 255 }, GOOD, 0, 0x23c, HAS(56, 0xec) },
	{ "translated on\n", { 0x1c, [4] = 64 }, SENSE, .asc = 0x20 },
	{ "translated on\n", { 0x1d, 0x10 }, .outcome = GOOD },
	{ "", { 0x85, 6, 0x20, [14] = 0xec }, SENSE, .asc = 0x20 },
	/* Diagnostics: self-tests, nothing to be read */
	{ "", { 0x1d, 4 }, .outcome = GOOD },
	{ "", { 0x1d, 0x20 }, SENSE, .asc = 0x24 },
	{ "", { 0x1c, [4] = 64 }, SENSE, .asc = 0x24 },
	/* Sectors: the last, none, one too many, longest, flags */
	{ "", { 0x28, 0, 0, 0x0f, 0x9f, 0x0f, 0, 0, 1 }, .outcome = WANTS },
	{ "", { 0x28, 0, 0, 0x0f, 0x9f, 0x0f, 0, 0, 0 }, .outcome = GOOD },
	{ "", { 0x28, 0, 0, 0x0f, 0x9f, 0x0f, 0, 0, 2 }, SENSE, .asc = 0x21 },
	{ "", { 0x88, [2] = 1, [13] = 1 }, SENSE, .asc = 0x21 },
	{ "", { 0x28, 0, [8] = 3 }, SENSE, .asc = 0x24 },	/* than its buffer holds */
	{ "", { 0x2f, 0, [7] = 4, [8] = 0 }, .outcome = WANTS },
	{ "", { 0x2f, 0, [7] = 4, [8] = 1 }, SENSE, .asc = 0x24 },
	{ "", { 0x2f, 0x02, [8] = 1 }, SENSE, .asc = 0x24 },	/* compare */
	{ "", { 0x2a, 0x20, [8] = 1 }, SENSE, .asc = 0x24 },	/* protected */
	/* Flushes are for the engine if there is what they could concern */
	{ "", { 0x35 }, .outcome = GOOD },
	{ CACHE, { 0x35 }, .outcome = WANTS },
	{ "queueing ncq\n", { 0x91 }, .outcome = WANTS },
	{ CACHE, { 0x1b, 0, 0, 0, 1 }, .outcome = GOOD },
	{ CACHE, { 0x1b, 0, 0, 0, 4 }, .outcome = GOOD },
	{ CACHE, { 0x1b, 0, 0, 0, 0 }, .outcome = WANTS },
	/* WRITE SAME */
	{ "", { 0x41, [8] = 1 }, SENSE, .asc = 0x20 },
	{ "unmap on\n", { 0x41, 0, [8] = 0 }, SENSE, .asc = 0x24 },
	{ "unmap on\n", { 0x41, 0x20, [8] = 1 }, SENSE, .asc = 0x24 },
	{ "unmap on\n", { 0x93, 0x01, [13] = 1 }, SENSE, .asc = 0x24 },
	/* What REQUEST SENSE says */
	{ "", { 0x03, 0, 0, 0, 18 }, GOOD, 0, 18, HAS(12, 0, 0) },
	{ "power_mode low\n", { 0x03, 0, 0, 0, 18 }, GOOD, 0, 18, HAS(12, 0x5e, 0) },
	{ "power_mode idle\n", { 0x03, 0, 0, 0, 18 }, SENSE, .asc = 0x20 },
};

TEST(test_rows)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *r = &rows[i];

		begin(r->records);
		if (run_list(r->cdb, NULL, 0) != r->outcome)
			fail_msg("row %zu: %02x, asc %02x", i, r->cdb[0], asc());
		if (r->outcome == SENSE)
			assert_int_equal(asc(), r->asc);
		if (r->outcome == GOOD && (answer.len != r->len ||
					   memcmp(answer.page + r->has.at, r->has.bytes,
						  r->has.n)))
			fail_msg("row %zu: %02x: %u bytes, %02x %02x", i, r->cdb[0], answer.len,
				 answer.page[r->has.at], answer.page[r->has.at + 1]);
		teardown(state);
	}
}

/* What commands want of the engine. */

static void expect(enum mde_op op, u64 lbn, u32 count, u32 flags)
{
	assert_int_equal(answer.range.op, op);
	assert_int_equal(answer.range.lbn, lbn);
	assert_int_equal(answer.range.count, count);
	assert_int_equal(answer.range.flags, flags);
}

TEST(test_ranges)
{
	begin(CACHE);
	RUN(0x08, 0, 0x12, 0x34, 2);
	expect(MDE_READ, 0x1234, 2, 0);
	RUN(0x28, 0x08, 0, 0, 0x12, 0x34, 0, 0, 2);
	expect(MDE_READ, 0x1234, 2, MDE_FUA);
	RUN(0x8a, 0x08, [8] = 0x12, [9] = 0x34, [13] = 2);
	expect(MDE_WRITE, 0x1234, 2, MDE_FUA);
	RUN(0x8f, 0, [8] = 0x12, [9] = 0x34, [13] = 2);
	expect(MDE_VERIFY, 0x1234, 2, 0);
	assert_int_equal(RUN(0x35, 0x02), WANTS);
	expect(MDE_FLUSH, 0, 0, 0);
	assert_true(answer.range.at_once);
	assert_int_equal(RUN(0x1b, 0x01), WANTS);
	assert_true(answer.range.at_once);
}

/* The mode pages. */

/* A page as MODE SENSE(6) has it, without a block descriptor. */
static const u8 *sense(u8 control, u8 page)
{
	assert_int_equal(RUN(0x1a, 0x08, control << 6 | page, 0, 255), GOOD);
	assert_int_equal(answer.page[0], answer.len - 1);
	assert_int_equal(answer.page[2], 0x10);
	return answer.page + 4;
}

/* MODE SELECT(6) of the page in @body, whose length is its own. */
static enum outcome put(const u8 *body, bool save)
{
	const u8 cdb[16] = { 0x15, 0x10 | save, 0, 0, 4 + 2 + body[1], 0 };
	u8 list[64] = { 0 };

	memcpy(list + 4, body, 2 + body[1]);
	return run_list(cdb, list, cdb[4]);
}

TEST(test_caching)
{
	struct mdp_modes saved;
	u8 page[20];

	begin(CACHE);
	assert_int_equal(sense(1, 0x08)[2], 0x05);
	assert_int_equal(sense(1, 0x08)[12], 0x20);
	memcpy(page, sense(0, 0x08), sizeof(page));
	page[2] |= 0x05;
	page[12] |= 0x20;
	assert_int_equal(put(page, false), GOOD);
	assert_true(drive.pages.now.caching.write_cache);
	assert_false(drive.pages.now.caching.read_cache || drive.pages.now.caching.look_ahead);
	assert_int_equal(sense(0, 0x08)[2] & 0x05, 0x05);
	assert_int_equal(sense(0, 0x08)[12] & 0x20, 0x20);
	assert_int_equal((sense(2, 0x08)[2] | sense(3, 0x08)[2]) & 0x05, 0);
	assert_int_equal(put(page, true), GOOD);
	assert_int_equal(sense(3, 0x08)[2] & 0x05, 0x05);
	assert_int_equal(sense(2, 0x08)[2] & 0x05, 0);
	saved = drive.pages.saved;
	mdy_init(&drive, &cfg, &saved, 0);
	assert_true(drive.pages.now.caching.write_cache);
	/* Off it is when the cache is on the medium; a command that comes again waits, too. */
	page[2] &= ~0x04;
	assert_int_equal(put(page, false), WANTS);
	expect(MDE_FLUSH, 0, 0, 0);
	assert_int_equal(put(page, false), GOOD);
	dirty = true;
	assert_int_equal(put(page, false), WANTS);
	mdy_init(&drive, &cfg, NULL, 0);
	assert_false(drive.pages.now.caching.write_cache);
}

/* What is fixed cannot be changed, and a list is taken whole or not at all. */
TEST(test_atomic)
{
	u8 list[4 + 20 + 12] = { 0 };
	const u8 cdb[16] = { 0x15, 0x10, 0, 0, sizeof(list), 0 };

	begin(CACHE);
	memcpy(list + 4, sense(0, 0x08), 20);
	memcpy(list + 24, sense(0, 0x0a), 12);
	list[6] |= 0x04;
	list[24 + 3] ^= 1;
	assert_int_equal(run_list(cdb, list, sizeof(list)), SENSE);
	assert_int_equal(asc(), 0x26);
	assert_int_equal(field(), 24 + 3);
	assert_false(drive.pages.now.caching.write_cache);
	list[24 + 3] ^= 1;
	assert_int_equal(run_list(cdb, list, sizeof(list)), GOOD);
	assert_true(drive.pages.now.caching.write_cache);
}

/* Translation of addresses. */

enum { SHORT = 0, LONG = 3, SECTOR = 5 };

static u64 place(u32 cyl, u32 head, u32 sector)
{
	return (u64)cyl << 40 | (u64)head << 32 | sector;
}

static enum outcome translate(u8 from, u8 to, u64 address)
{
	const u8 cdb[16] = { 0x1d, 0x10, 0, 0, MDD_LIST, 0 };
	u8 list[MDD_LIST] = { 0x40, 0, 0, 10, from, to };

	put_unaligned_be64(address, list + 6);
	return run_list(cdb, list, sizeof(list));
}

/* The address, and what is said of it; @bits: RAREA, ALTSEC. */
static u64 translated(u8 from, u8 to, u64 address, u8 bits)
{
	u32 len = bits & 0x80 ? 6 : 14;

	assert_int_equal(translate(from, to, address), GOOD);
	assert_int_equal(RUN(0x1c, 1, 0x40, 0, 255), GOOD);
	assert_int_equal(answer.len, len);
	assert_int_equal(answer.page[0], 0x40);
	assert_int_equal(get_unaligned_be16(answer.page + 2), len - 4);
	assert_int_equal(answer.page[4], from);
	assert_int_equal(answer.page[5], to | bits);
	return get_unaligned_be64(answer.page + 6);
}

TEST(test_there_and_back)
{
	struct mdl_piece p;
	u64 lbn, at;
	u8 alt;

	begin(NULL);
	for (lbn = 0; lbn < cfg.sectors; lbn += lbn < 5000 ? 1 : 997) {
		mdl_locate(&cfg, lbn, 1, &p);
		alt = p.remapped ? 0x40 : 0;
		at = translated(LONG, SECTOR, lbn, alt);
		assert_int_equal(at, place(p.cyl, p.head, p.sector));
		assert_int_equal(translated(SECTOR, LONG, at, alt), lbn);
		assert_int_equal(translated(SHORT, SECTOR, lbn << 32, alt), at);
		assert_int_equal(translated(SECTOR, SHORT, at, alt), lbn << 32);
	}
	/* Sector 3000 of zone 0 lives in 439990, two slips before it, and no LBN at 3000. */
	assert_int_equal(translated(SECTOR, LONG, place(499, 3, 210), 0x40), 2998);
	translated(SECTOR, LONG, place(3, 1, 140), 0x80);
	/* A slip, and a free spare. */
	translated(SECTOR, SHORT, place(0, 0, 100), 0x80);
	translated(SECTOR, SHORT, place(499, 3, 215), 0x80);
}

/* ATA PASS-THROUGH (16). */

static enum outcome pass(u8 flags, u8 feature, u8 command)
{
	return RUN(0x85, 3 << 1, flags, 0, feature, [13] = 0x40, [14] = command);
}

/* Bits 6 and 5 of word 85: look-ahead and write cache. */
static int features(void)
{
	assert_int_equal(pass(0, 0, 0xec), GOOD);
	assert_int_equal(answer.len, 512);
	return answer.page[170] & 0x60;
}

TEST(test_pass)
{
	begin("translated on\ncache 4 256 2\nread_ahead segment\nwrite_cache back\n");
	assert_int_equal(features(), 0x60);
	assert_int_equal(pass(0, 0x55, 0xef), GOOD);
	assert_int_equal(features(), 0x20);
	assert_int_equal(pass(0, 0x82, 0xef), WANTS);
	expect(MDE_FLUSH, 0, 0, 0);
	assert_int_equal(features(), 0);
	assert_true(drive.pages.now.caching.read_cache);
	assert_false(drive.pages.now.caching.write_cache);
	assert_int_equal(pass(0, 0xaa, 0xef), GOOD);
	/* A command that ended well has registers if CK_COND asks for them. */
	assert_int_equal(pass(0x20, 0x02, 0xef), SENSE);
	assert_memory_equal(answer.sense, ((u8[]){ 0x72, 1, 0, 0x1d }), 4);
	assert_int_equal(answer.sense[21], 0x50);
	assert_int_equal(features(), 0x60);
	/* ABRT: another feature, another command */
	assert_int_equal(pass(0, 0x03, 0xef), SENSE);
	assert_memory_equal(answer.sense, ((u8[]){ 0x72, 0x0b, 0, 0 }), 4);
	assert_int_equal(answer.sense[8], 0x09);
	assert_int_equal(answer.sense[11], 0x04);
	assert_int_equal(answer.sense[21], 0x51);
	assert_int_equal(pass(0, 0, 0xe0), SENSE);
	teardown(state);
	begin("power_mode idle_b\n");
	assert_int_equal(pass(0x20, 0, 0xe5), SENSE);
	assert_int_equal(answer.sense[13], 0x82);
}

/* Sense data of a sector that cannot be read. */
TEST(test_bad_sector)
{
	u8 s[MDY_SENSE];

	assert_int_equal(mdy_bad_sector(s, MDE_UNC, 0x15, true, 0x12345678), 18);
	assert_memory_equal(s, ((u8[]){ 0xf0, 0, 3, 0x12, 0x34, 0x56, 0x78 }), 7);
	assert_int_equal(s[12] << 8 | s[13], 0x1500);
	assert_int_equal(mdy_bad_sector(s, MDE_IDNF, 0x11, false, 5), 18);
	assert_memory_equal(s, ((u8[]){ 0x70, 0, 3, 0, 0, 0, 0 }), 7);
	assert_int_equal(s[12] << 8 | s[13], 0x1401);
	assert_int_equal(mdy_bad_sector(s, MDE_ABRT, 0x11, true, 0x123456789aULL), 20);
	assert_memory_equal(s, ((u8[]){ 0x72, 0x0b, 0, 0 }), 4);
	assert_int_equal(get_unaligned_be64(s + 12), 0x123456789aULL);
}
