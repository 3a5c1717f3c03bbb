// SPDX-License-Identifier: GPL-2.0
/*
 * Reads for the medium that are repeated, because the drive may have answered from its cache: each
 * block once before it is delivered. Locks: none; all functions run in the tasks' thread.
 */
#include <linux/bitmap.h>
#include <linux/err.h>

#include "disk/disk.h"
#include "disk/repeat.h"

static void fb_repeat_alloc(struct fb_coverage *cov)
{
	u64 granules = fb_disk_granules(cov->fd);
	void *map;

	/* it is tried once, for a refusal has a line in the log */
	if (cov->repeated_bytes)
		return;
	cov->repeated_bytes = BITS_TO_LONGS(granules) * sizeof(long);
	map = freeblock_alloc(cov->repeated_bytes, "blocks read again");
	if (!IS_ERR(map))
		cov->repeated = map;
}

static bool fb_repeat_is_for_medium(const struct fb_coverage *cov, unsigned long slots)
{
	u32 i;

	for_each_set_bit(i, &slots, FREEBLOCK_TASKS)
		if (cov->task[i]->ops->flags & FREEBLOCK_MEDIUM)
			return true;
	return false;
}

/**
 * fb_repeat_again() - are a read's blocks to be read again?
 * @cov: the service
 * @buf: the read, which has ended well or names a bad block
 *
 * The second time may be no better, and a pass has to end.
 *
 * Context: the thread.
 *
 * Return: true: withhold it from the tasks that need the medium's content.
 */
bool fb_repeat_again(struct fb_coverage *cov, const struct fb_free_read *buf)
{
	u64 first = div_u64(buf->lbn, cov->fd->granule);
	u32 n = DIV_ROUND_UP(buf->nsect, cov->fd->granule);
	unsigned long *map, at = first % BITS_PER_LONG;
	bool again;

	if (!fb_repeat_is_for_medium(cov, buf->pending))
		return false;
	if (!buf->proven)
		fb_repeat_alloc(cov);
	/* without memory none is: they are reported as unverified */
	if (!cov->repeated)
		return false;
	/* bitmap_set() itself takes an int */
	map = cov->repeated + first / BITS_PER_LONG;
	again = !buf->proven && find_next_zero_bit(map, at + n, at) < at + n;
	if (again)
		bitmap_set(map, at, n);
	else
		bitmap_clear(map, at, n);
	return again;
}
