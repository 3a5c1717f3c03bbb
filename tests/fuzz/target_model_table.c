// SPDX-License-Identifier: GPL-2.0
/*
 * Target of the fuzzer: a compiled model, as any program may write it into sysfs. The input is a
 * table without its first twelve bytes, which are made right: else the checksum would keep
 * everything behind it from being reached. What is built from it must answer every query.
 *
 * Planted bugs, each seen to fail: the counts not compared with the zones'; the sum of slips not
 * bounded; a table's length not compared with its counts.
 */
#include "core/model_table.h"
#include "fuzz.h"

#define ASKED 128

static void ask(const struct disk_model *dm)
{
	const struct dm_info *info = dm_info(dm);
	struct dm_place p = { 0, 0, 0 };
	struct dm_piece piece[2];
	struct dm_access a;
	struct dm_track t;
	u64 lbn = 0;
	u32 i;

	for (i = 0; i < ASKED; i++, lbn = (lbn * 31 + 7) % info->sectors) {
		fuzz_check(!dm_place_of(dm, lbn, &p));
		fuzz_check(p.cyl < info->cylinders && p.head < info->heads);
		fuzz_check(!dm_track_of(dm, lbn, &t));
		fuzz_check(lbn >= t.first_lbn && lbn - t.first_lbn < t.nsect);
		fuzz_check(t.spt <= info->spt_most);
		if (dm_access(dm, &p, lbn, 1, i & 1, &a))
			fuzz_check(info->mapped < info->sectors);
		else
			fuzz_check(a.total_ns >= a.seek_ns + a.latency_ns);
		dm_window(dm, &t, p.angle, 1ULL << 32, piece);
		fuzz_check(piece[0].nsect <= t.nsect && piece[1].nsect <= t.nsect);
		fuzz_check(!dm_track_by_index(dm, lbn % dm_tracks(dm), &t));
	}
	for (i = 1; i < info->cylinders; i += 1 + info->cylinders / 16)
		fuzz_check(dm_seek_floor_ns(dm, i) <= 4ULL * DM_NS_MAX);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	const size_t skipped = offsetof(struct fb_model_table, order);
	struct dm_fault fault = { .reason = "" };
	struct disk_model *dm = NULL;
	/* without a byte to spare, so that a read beyond it is seen */
	struct fb_model_table *t = malloc(size + skipped);

	memcpy((u8 *)t + skipped, data, size);
	t->magic = FB_MODEL_TABLE_MAGIC;
	t->bytes = size + skipped;
	t->crc32 = ~crc32_le(~0U, data, size);
	if (fb_model_table_build(t, size + skipped, &dm, &fault)) {
		fuzz_check(!dm && fault.reason[0]);
		fuzz_check(memchr(fault.reason, '\0', sizeof(fault.reason)));
	} else {
		fuzz_deep++;
		ask(dm);
		dm_free(dm);
	}
	free(t);
	return 0;
}
