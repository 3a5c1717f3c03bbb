// SPDX-License-Identifier: GPL-2.0
/*
 * Target of the fuzzer: records of tasks/user_check.c. A ring of blocks is read with buffers of
 * various sizes until it is empty. Each record must say what its slots say, one by one, fit the
 * buffer, and be as long as it can be.
 *
 * Planted bugs, each seen to fail within a second: a sum of sectors beyond 32 bits; one slot
 * behind the ring's end; a buffer that must have a byte to spare.
 */
#include "tasks/user_check.h"
#include "fuzz.h"

#define SLOTS 24
#define READ_MAX 0x7ffff000	/* no read() of Linux is larger */

static void fill_slot(struct fb_user_check_slot *slot, const struct fb_user_check_slot *before,
		      struct fuzz_bytes *in)
{
	u8 way = fuzz_byte(in);

	*slot = (struct fb_user_check_slot){ .first = before->first + before->sectors,
					 .user_data = before->user_data, .sectors = 8,
					 .status = before->status };
	if (way & 1)
		slot->first = fuzz_number(in) & (U64_MAX >> 1);
	if (way & 2)
		slot->user_data = fuzz_number(in);
	if (way & 4)
		slot->sectors = 1 + (fuzz_number(in) & (U32_MAX >> 1));
	if (way & 8)
		slot->status = fuzz_byte(in) % 3;
}

static size_t data_of(const struct fb_user_check_ring *ring, const struct fb_user_check_slot *slot)
{
	return ring->has_data && slot->status == FREEBLOCK_STATUS_OK ? 512ULL * slot->sectors : 0;
}

static const struct fb_user_check_slot *slot_at(const struct fb_user_check_ring *ring, u32 i)
{
	return &ring->slot[(ring->tail + i) % ring->slots];
}

/* how many slots one record can have */
static u32 most(const struct fb_user_check_ring *ring, size_t size)
{
	const struct fb_user_check_slot *first = slot_at(ring, 0), *slot = first;
	u64 sectors = 0, bytes = sizeof(struct freeblock_record);
	u32 n;

	for (n = 0; n < ring->filled; n++) {
		slot = slot_at(ring, n);
		if (n && (slot->status != first->status || slot->user_data != first->user_data ||
			  slot->first != first->first + sectors))
			break;
		sectors += slot->sectors;
		bytes += data_of(ring, slot);
		if (bytes > size || sectors > U32_MAX)
			break;
	}
	return n;
}

static u32 check_next(const struct fb_user_check_ring *ring, size_t size)
{
	const struct fb_user_check_slot *first = slot_at(ring, 0);
	struct freeblock_record record;
	u32 n = fb_user_check_next(ring, size, &record), i;
	u64 sectors = 0, bytes = 0;

	fuzz_check(n == most(ring, size));
	for (i = 0; i < n; i++) {
		sectors += slot_at(ring, i)->sectors;
		bytes += fb_user_check_bytes(slot_at(ring, i), ring->has_data);
	}
	if (!n)
		return 0;
	fuzz_check(record.header_bytes == sizeof(record) && !record.type);
	fuzz_check(record.status == first->status && record.first == first->first);
	fuzz_check(record.user_data == first->user_data);
	fuzz_check(record.sectors == sectors && record.data_bytes == bytes);
	fuzz_check(record.header_bytes + bytes <= size);
	return n;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz_bytes in = { data, size };
	u32 slots = 1 + fuzz_byte(&in) % SLOTS, i, n;
	struct fb_user_check_slot *slot = malloc(slots * sizeof(*slot)), before = { 0 };
	struct fb_user_check_ring ring = {
		.slot = slot,
		.slots = slots,
		.tail = fuzz_byte(&in) % slots,
		.filled = 1 + fuzz_byte(&in) % slots,
		.has_data = fuzz_byte(&in) & 1,
	};

	for (i = 0; i < slots; i++) {
		fill_slot(&slot[(ring.tail + i) % slots], &before, &in);
		before = slot[(ring.tail + i) % slots];
	}
	while (ring.filled) {
		n = check_next(&ring, fuzz_number(&in) % READ_MAX);
		if (!n && !in.left)
			break;
		ring.tail = (ring.tail + n) % slots;
		ring.filled -= n;
	}
	fuzz_deep += !ring.filled;
	free(slot);
	return 0;
}
