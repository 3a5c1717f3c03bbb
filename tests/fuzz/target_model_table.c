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
#include "fuzz_model.h"

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
		fuzz_model_ask(dm);
		dm_free(dm);
	}
	free(t);
	return 0;
}
