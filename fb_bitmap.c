// SPDX-License-Identifier: GPL-2.0
/*
 * Coverage map: which granules are wanted, in flight, done. Core; see
 * fb_bitmap.h. All work is done a machine word at a time.
 */
#include "fb_bitmap.h"

/* the bits of word @w that lie in [@first, @end); they meet, the caller sees to it */
static unsigned long fb_bitmap_mask(u64 w, u64 first, u64 end)
{
	unsigned long mask = ~0UL;

	if (w == first / BITS_PER_LONG)
		mask &= ~0UL << (first % BITS_PER_LONG);
	if (w == (end - 1) / BITS_PER_LONG)
		mask &= ~0UL >> (BITS_PER_LONG - 1 - (end - 1) % BITS_PER_LONG);
	return mask;
}

/* written so that first + n cannot wrap */
static bool fb_bitmap_holds(const struct fb_bitmap *bm, u64 first, u32 n)
{
	return n && first < bm->granules && n <= bm->granules - first;
}

int fb_bitmap_init(struct fb_bitmap *bm, u64 granules, u32 groups)
{
	size_t words = BITS_TO_LONGS(granules);

	memset(bm, 0, sizeof(*bm));
	if (!granules || !groups)
		return -EINVAL;

	bm->wanted = fb_zalloc(words * sizeof(long));
	bm->flying = fb_zalloc(words * sizeof(long));
	bm->group_wanted = fb_zalloc((size_t)groups * sizeof(*bm->group_wanted));
	if (!bm->wanted || !bm->flying || !bm->group_wanted) {
		fb_bitmap_destroy(bm);
		return -ENOMEM;
	}
	bm->granules = granules;
	bm->groups = groups;
	return 0;
}

void fb_bitmap_destroy(struct fb_bitmap *bm)
{
	fb_free(bm->wanted);
	fb_free(bm->flying);
	fb_free(bm->group_wanted);
	memset(bm, 0, sizeof(*bm));
}

u32 fb_bitmap_want(struct fb_bitmap *bm, u64 first, u32 n, u32 group)
{
	u64 end = first + n, w;
	u32 moved = 0;

	if (!fb_bitmap_holds(bm, first, n) || group >= bm->groups)
		return 0;
	for (w = first / BITS_PER_LONG; w <= (end - 1) / BITS_PER_LONG; w++) {
		unsigned long m = fb_bitmap_mask(w, first, end);

		m &= ~(bm->wanted[w] | bm->flying[w]);
		bm->wanted[w] |= m;
		moved += hweight_long(m);
	}
	bm->group_wanted[group] += moved;
	bm->n_wanted += moved;
	return moved;
}

/* granules of the run that are set in @from go over to @to, or nowhere */
static u32 fb_bitmap_move(unsigned long *from, unsigned long *to, u64 first, u64 end)
{
	u32 moved = 0;
	u64 w;

	for (w = first / BITS_PER_LONG; w <= (end - 1) / BITS_PER_LONG; w++) {
		unsigned long m = fb_bitmap_mask(w, first, end) & from[w];

		from[w] &= ~m;
		if (to)
			to[w] |= m;
		moved += hweight_long(m);
	}
	return moved;
}

u32 fb_bitmap_unwant(struct fb_bitmap *bm, u64 first, u32 n, u32 group)
{
	u32 moved;

	if (!fb_bitmap_holds(bm, first, n) || group >= bm->groups)
		return 0;
	moved = fb_bitmap_move(bm->wanted, NULL, first, first + n);
	bm->group_wanted[group] -= moved;
	bm->n_wanted -= moved;
	return moved;
}

u32 fb_bitmap_take(struct fb_bitmap *bm, u64 first, u32 n, u32 group)
{
	u32 moved;

	if (!fb_bitmap_holds(bm, first, n) || group >= bm->groups)
		return 0;
	moved = fb_bitmap_move(bm->wanted, bm->flying, first, first + n);
	bm->group_wanted[group] -= moved;
	bm->n_wanted -= moved;
	bm->n_flying += moved;
	return moved;
}

u32 fb_bitmap_done(struct fb_bitmap *bm, u64 first, u32 n)
{
	u32 moved;

	if (!fb_bitmap_holds(bm, first, n))
		return 0;
	moved = fb_bitmap_move(bm->flying, NULL, first, first + n);
	bm->n_flying -= moved;
	bm->n_done += moved;
	return moved;
}

u32 fb_bitmap_untake(struct fb_bitmap *bm, u64 first, u32 n, u32 group)
{
	u32 moved;

	if (!fb_bitmap_holds(bm, first, n) || group >= bm->groups)
		return 0;
	moved = fb_bitmap_move(bm->flying, bm->wanted, first, first + n);
	bm->n_flying -= moved;
	bm->group_wanted[group] += moved;
	bm->n_wanted += moved;
	return moved;
}

static bool fb_bitmap_test(const unsigned long *bits, u64 granule)
{
	return bits[granule / BITS_PER_LONG] >> (granule % BITS_PER_LONG) & 1;
}

bool fb_bitmap_is_wanted(const struct fb_bitmap *bm, u64 granule)
{
	return granule < bm->granules && fb_bitmap_test(bm->wanted, granule);
}

bool fb_bitmap_is_flying(const struct fb_bitmap *bm, u64 granule)
{
	return granule < bm->granules && fb_bitmap_test(bm->flying, granule);
}

u32 fb_bitmap_count(const struct fb_bitmap *bm, u64 first, u32 n)
{
	u64 end = first + n, w;
	u32 count = 0;

	if (!fb_bitmap_holds(bm, first, n))
		return 0;
	for (w = first / BITS_PER_LONG; w <= (end - 1) / BITS_PER_LONG; w++)
		count += hweight_long(bm->wanted[w] & fb_bitmap_mask(w, first, end));
	return count;
}

u32 fb_bitmap_group(const struct fb_bitmap *bm, u32 group)
{
	return group < bm->groups ? bm->group_wanted[group] : 0;
}

u32 fb_bitmap_group_most(const struct fb_bitmap *bm, u32 group, u32 n)
{
	u32 i, most = 0;

	if (group >= bm->groups)
		return 0;
	n = min(n, bm->groups - group);
	for (i = group; i < group + n; i++)
		most = max_t(u32, most, bm->group_wanted[i]);
	return most;
}

u32 fb_bitmap_trim(const struct fb_bitmap *bm, u64 *first, u32 *n)
{
	u64 end = *first + *n, lo = 0, hi = 0, w;
	u32 count = 0;

	if (!fb_bitmap_holds(bm, *first, *n))
		return 0;
	for (w = *first / BITS_PER_LONG; w <= (end - 1) / BITS_PER_LONG; w++) {
		unsigned long m = bm->wanted[w] & fb_bitmap_mask(w, *first, end);

		if (!m)
			continue;
		if (!count)
			lo = w * BITS_PER_LONG + __ffs(m);
		hi = w * BITS_PER_LONG + __fls(m);
		count += hweight_long(m);
	}
	if (count) {
		*first = lo;
		*n = hi - lo + 1;
	}
	return count;
}

static u64 fb_bitmap_next(const struct fb_bitmap *bm, const unsigned long *bits, u64 from)
{
	u64 w;

	if (from >= bm->granules)
		return bm->granules;
	for (w = from / BITS_PER_LONG; w <= (bm->granules - 1) / BITS_PER_LONG; w++) {
		unsigned long m = bits[w] & fb_bitmap_mask(w, from, bm->granules);

		if (m)
			return w * BITS_PER_LONG + __ffs(m);
	}
	return bm->granules;
}

u64 fb_bitmap_next_wanted(const struct fb_bitmap *bm, u64 from)
{
	return bm->n_wanted ? fb_bitmap_next(bm, bm->wanted, from) : bm->granules;
}

u64 fb_bitmap_next_flying(const struct fb_bitmap *bm, u64 from)
{
	return bm->n_flying ? fb_bitmap_next(bm, bm->flying, from) : bm->granules;
}
