// SPDX-License-Identifier: GPL-2.0
/*
 * Checks of what programs pass to /dev/freeblock, and the records that they get. A refusal leaves
 * its reason in @why.
 */
#include "tasks/user_check.h"

/* 32-bit programs see the same structures (their fields: tests/unit/test_user_check.c) */
static_assert(sizeof(struct freeblock_ioc_api) == _IOC_SIZE(FREEBLOCK_IOC_API));
static_assert(sizeof(struct freeblock_ioc_setup) == _IOC_SIZE(FREEBLOCK_IOC_SETUP));
static_assert(sizeof(struct freeblock_ioc_ranges) == _IOC_SIZE(FREEBLOCK_IOC_ADD));
static_assert(sizeof(struct freeblock_range) == FB_USER_CHECK_RANGE);
static_assert(sizeof(struct freeblock_ioc_progress) == _IOC_SIZE(FREEBLOCK_IOC_PROGRESS));
static_assert(sizeof(struct freeblock_ioc_urgency) == _IOC_SIZE(FREEBLOCK_IOC_URGENCY));
static_assert(sizeof(struct freeblock_ioc_bits) == _IOC_SIZE(FREEBLOCK_IOC_GET_COVERAGE));
static_assert(sizeof(struct freeblock_ioc_reason) == _IOC_SIZE(FREEBLOCK_IOC_REASON));
static_assert(sizeof(struct freeblock_ioc_probes) == _IOC_SIZE(FREEBLOCK_IOC_PROBE));
static_assert(sizeof(struct freeblock_probe) == FB_USER_CHECK_PROBE);
static_assert(sizeof(struct freeblock_record) == 32);

/* Note why a call is refused. Return: @ret. */
int fb_user_check_refuse(struct fb_user_check_why *why, int ret, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(why->text, sizeof(why->text), fmt, args);
	va_end(args);
	return ret;
}

/* in a function with @why */
#define fb_refuse(ret, ...) fb_user_check_refuse(why, ret, __VA_ARGS__)

/* ---- structures that grow ---- */

/* @first: size of the first version. Return: 0; -EINVAL: less; -E2BIG: no structure is so large. */
int fb_user_check_size(u32 size, u32 first, struct fb_user_check_why *why)
{
	if (size < first)
		return fb_refuse(-EINVAL, "a structure of %u bytes: the first version has %u", size,
				 first);
	if (size > FB_USER_CHECK_SIZE_MAX)
		return fb_refuse(-E2BIG, "a structure of %u bytes: at most %u", size,
				 FB_USER_CHECK_SIZE_MAX);
	return 0;
}

/* ---- agreement and set-up ---- */

/* Return: 0; -EPROTONOSUPPORT, -EOPNOTSUPP: see struct freeblock_ioc_api. */
int fb_user_check_api(const struct freeblock_ioc_api *a, struct fb_user_check_why *why)
{
	if (a->version != FREEBLOCK_API_VERSION)
		return fb_refuse(-EPROTONOSUPPORT, "version %u, this module knows %u", a->version,
				 FREEBLOCK_API_VERSION);
	if (a->features & ~FB_USER_CHECK_FEATURES)
		return fb_refuse(-EOPNOTSUPP, "features 0x%llx: this module has 0x%llx only",
				 a->features, FB_USER_CHECK_FEATURES);
	return 0;
}

/* a name must be empty or one word, as it is printed in the list of tasks */
static bool fb_user_check_is_name(const char *name)
{
	u32 i;

	for (i = 0; i < FREEBLOCK_NAME_LEN && name[i]; i++)
		if (name[i] <= ' ' || name[i] > '~')
			return false;
	return i < FREEBLOCK_NAME_LEN;
}

/* Make a command's name, which may be empty, a task's: one word. */
void fb_user_check_make_word(char *name)
{
	do {
		if (*name <= ' ' || *name > '~')
			*name = '_';
	} while (*++name);
}

static int fb_user_check_order(const struct freeblock_ioc_setup *s, struct fb_user_check_why *why)
{
	if (s->order > FREEBLOCK_ORDER_STAGGERED)
		return fb_refuse(-EINVAL, "order %u is not known", s->order);
	if (s->order == FREEBLOCK_ORDER_STAGGERED ? !s->regions || !s->segment_sectors :
						  s->regions || s->segment_sectors)
		return fb_refuse(-EINVAL,
				 "%u regions and segments of %u sectors: the staggered order needs both, others none",
				 s->regions, s->segment_sectors);
	return 0;
}

/* Return: 0; -EINVAL. */
int fb_user_check_setup(const struct freeblock_ioc_setup *s, struct fb_user_check_why *why)
{
	const u32 flags = FREEBLOCK_SETUP_MEDIUM | FREEBLOCK_SETUP_NO_DATA | FREEBLOCK_SETUP_KEEP;

	if (s->flags & ~flags)
		return fb_refuse(-EINVAL, "flags 0x%x are not known", s->flags & ~flags);
	if (s->buffer_kib && (s->buffer_kib < FREEBLOCK_BUFFER_KIB_MIN ||
			      s->buffer_kib > FREEBLOCK_BUFFER_KIB_MAX))
		return fb_refuse(-EINVAL, "a buffer of %u KiB: neither 0 nor within %u .. %u",
				 s->buffer_kib, FREEBLOCK_BUFFER_KIB_MIN, FREEBLOCK_BUFFER_KIB_MAX);
	if (!fb_user_check_is_name(s->name))
		return fb_refuse(-EINVAL,
				 "the name has blanks or strange characters, or does not end");
	if (s->pad)
		return fb_refuse(-EINVAL, "pad is not 0");
	return fb_user_check_urgency(s->priority, s->foreground_ppm, why) ?:
	       fb_user_check_order(s, why);
}

/* @priority, @foreground_ppm: as in struct freeblock_ioc_urgency. Return: 0; -EINVAL. */
int fb_user_check_urgency(s32 priority, u32 foreground_ppm, struct fb_user_check_why *why)
{
	if (priority < FREEBLOCK_PRIORITY_MIN || priority > FREEBLOCK_PRIORITY_MAX)
		return fb_refuse(-EINVAL, "priority %d is not within %d .. %d", priority,
				 FREEBLOCK_PRIORITY_MIN, FREEBLOCK_PRIORITY_MAX);
	if (foreground_ppm > FB_PPM / 2)
		return fb_refuse(-EINVAL, "foreground_ppm %u: at most 500000, half of the time",
				 foreground_ppm);
	return 0;
}

/* ---- ranges ---- */

/* @most ranges and these flags are allowed. Return: 0; -EINVAL; -E2BIG: no range is so large. */
int fb_user_check_ranges(const struct freeblock_ioc_ranges *r, u32 most, u32 flags,
			 struct fb_user_check_why *why)
{
	if (r->flags & ~flags)
		return fb_refuse(-EINVAL, "flags 0x%x are not known", r->flags & ~flags);
	if (!r->nranges || r->nranges > most)
		return fb_refuse(-EINVAL, "%u ranges are not within 1 .. %u", r->nranges, most);
	return fb_user_check_size(r->range_bytes, FB_USER_CHECK_RANGE, why);
}

/*
 * Make a range of the block device @at one of whole blocks of the disk. @plain: without user_data.
 * 0; -EINVAL, -ERANGE: @r is as it was.
 */
int fb_user_check_range(const struct fb_user_check_place *at, struct freeblock_range *r, u32 index,
			bool plain, struct fb_user_check_why *why)
{
	u64 last = at->start + at->sectors, mask = at->granule - 1;
	u64 begin = at->start + r->first, end = begin + r->count;

	if (!r->count)
		return fb_refuse(-EINVAL, "range %u is empty", index);
	if (r->first >= at->sectors || r->count > at->sectors - r->first)
		return fb_refuse(-ERANGE, "range %u: sectors %llu+%llu: the block device has %llu",
				 index, r->first, r->count, at->sectors);
	if ((r->first && begin & mask) || (end != last && end & mask))
		return fb_refuse(-EINVAL,
				 "range %u: sectors %llu+%llu: not whole blocks of %u, the device begins at %llu",
				 index, r->first, r->count, at->granule, at->start);
	if (plain && r->user_data)
		return fb_refuse(-EINVAL, "range %u: user_data is for ADD", index);
	r->first = begin & ~mask;
	r->count = min((end + mask) & ~mask, at->disk_sectors) - r->first;
	return 0;
}

/* ---- coverage ---- */

/* Blocks of a block device, shorter ones at its ends included. */
u64 fb_user_check_blocks(const struct fb_user_check_place *at)
{
	return div_u64(at->start + at->sectors + at->granule - 1, at->granule) -
	       div_u64(at->start, at->granule);
}

/* Of a device with so many blocks. Return: 0; -EINVAL, -ERANGE: see struct freeblock_ioc_bits. */
int fb_user_check_bits(const struct freeblock_ioc_bits *b, __u64 blocks,
		       struct fb_user_check_why *why)
{
	if (b->pad)
		return fb_refuse(-EINVAL, "pad is not 0");
	if (!b->count || b->count > FREEBLOCK_BITS_MAX)
		return fb_refuse(-EINVAL, "%llu blocks are not within 1 .. %u", b->count,
				 FREEBLOCK_BITS_MAX);
	if (b->first % 8)
		return fb_refuse(-EINVAL, "block %llu is not a multiple of 8", b->first);
	if (b->first >= blocks || b->count > blocks - b->first)
		return fb_refuse(-ERANGE, "blocks %llu+%llu: the block device has %llu", b->first,
				 b->count, blocks);
	if (b->count % 8 && b->first + b->count != blocks)
		return fb_refuse(-EINVAL, "%llu blocks are no multiple of 8, nor the last ones",
				 b->count);
	return 0;
}

/* Bits behind the @count-th must be 0. Return: 0; -EINVAL. */
int fb_user_check_bits_end(const u8 *bits, u64 count, struct fb_user_check_why *why)
{
	if (count % 8 && bits[count / 8] >> count % 8)
		return fb_refuse(-EINVAL, "bits behind the last block are not 0");
	return 0;
}

/* ---- probes ---- */

/* Return: 0; -EINVAL; -E2BIG: no probe is so large. */
int fb_user_check_probes(const struct freeblock_ioc_probes *p, struct fb_user_check_why *why)
{
	if (p->pad || p->done)
		return fb_refuse(-EINVAL, "%s is not 0", p->pad ? "pad" : "done");
	if (!p->nprobes || p->nprobes > FREEBLOCK_PROBES_MAX)
		return fb_refuse(-EINVAL, "%u probes are not within 1 .. %u", p->nprobes,
				 FREEBLOCK_PROBES_MAX);
	if (p->timeout_ms > FREEBLOCK_PROBE_MS_MAX)
		return fb_refuse(-EINVAL, "timeout_ms %u: at most %u", p->timeout_ms,
				 FREEBLOCK_PROBE_MS_MAX);
	return fb_user_check_size(p->probe_bytes, FB_USER_CHECK_PROBE, why);
}

/* A probe, in sectors of the block device @at. Return: 0; -EINVAL, -ERANGE. */
int fb_user_check_probe(const struct fb_user_check_place *at, const struct freeblock_probe *p,
			u32 index, struct fb_user_check_why *why)
{
	if (p->status || p->sent_ns || p->ended_ns || p->flags || p->pad)
		return fb_refuse(-EINVAL, "probe %u: what is returned is not 0", index);
	if (!p->count || p->count > at->granule)
		return fb_refuse(-EINVAL, "probe %u: %u sectors are not within 1 .. %u", index,
				 p->count, at->granule);
	if (p->first >= at->sectors || p->count > at->sectors - p->first)
		return fb_refuse(-ERANGE, "probe %u: sectors %llu+%u: the block device has %llu",
				 index, p->first, p->count, at->sectors);
	if ((at->start + p->first) % at->logical || p->count % at->logical)
		return fb_refuse(-EINVAL,
				 "probe %u: sectors %llu+%u: not whole logical blocks of %u, the device begins at %llu",
				 index, p->first, p->count, at->logical, at->start);
	return 0;
}

/* ---- records ---- */

/* Bytes of the data that come with a block. @has_data: see struct fb_user_check_ring. */
size_t fb_user_check_bytes(const struct fb_user_check_slot *slot, bool has_data)
{
	return has_data && slot->status == FREEBLOCK_STATUS_OK ? (size_t)slot->sectors * 512 : 0;
}

/* Make the next record that fits in @size bytes with its data. Return: its slots, or 0. */
u32 fb_user_check_next(const struct fb_user_check_ring *ring, size_t size,
		       struct freeblock_record *record)
{
	u32 i = ring->tail, n;

	*record = (struct freeblock_record) {
		.header_bytes = sizeof(*record),
		.type = FREEBLOCK_RECORD_BLOCKS,
		.status = ring->slot[i].status,
		.first = ring->slot[i].first,
		.user_data = ring->slot[i].user_data,
	};
	for (n = 0; n < ring->filled; n++) {
		const struct fb_user_check_slot *slot = &ring->slot[i];
		size_t bytes = fb_user_check_bytes(slot, ring->has_data);

		/* without data a record could exceed its 32-bit count of sectors */
		if (slot->status != record->status || slot->user_data != record->user_data ||
		    slot->first != record->first + record->sectors ||
		    slot->sectors > U32_MAX - record->sectors ||
		    sizeof(*record) + record->data_bytes + bytes > size)
			break;
		record->sectors += slot->sectors;
		record->data_bytes += bytes;
		i = i + 1 == ring->slots ? 0 : i + 1;
	}
	return n;
}
