// SPDX-License-Identifier: GPL-2.0
/* Coverage map: which granules are wanted, in flight or done; see fb_bitmap.h. Core. */
#include "fb_bitmap.h"

/* the bits of word @w that lie in [@first, @end), of which there must be some */
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

/* log2 of how many groups share a count, where there is room for so many */
static u32 fb_bitmap_shift(u32 groups, u32 room)
{
	u32 shift = 0;

	while ((groups - 1) >> shift >= room)
		shift++;
	return shift;
}

static u32 fb_bitmap_room(u32 groups)
{
	return ((groups - 1) >> fb_bitmap_shift(groups, FB_BITMAP_COUNTS)) + 1;
}

u64 fb_bitmap_bytes(u64 granules, u32 groups)
{
	return BITS_TO_LONGS(granules) * sizeof(long) + (u64)fb_bitmap_room(groups) * sizeof(u32) +
	       FB_BITMAP_FLYING * sizeof(struct fb_bitmap_word);
}

int fb_bitmap_init(struct fb_bitmap *bm, u64 granules, u32 groups)
{
	memset(bm, 0, sizeof(*bm));
	if (!granules || !groups)
		return -EINVAL;
	bm->granules = granules;
	bm->room = fb_bitmap_room(groups);
	bm->wanted = fb_zalloc(BITS_TO_LONGS(granules) * sizeof(long));
	bm->flying = fb_zalloc(FB_BITMAP_FLYING * sizeof(*bm->flying));
	bm->count = fb_zalloc((size_t)bm->room * sizeof(*bm->count));
	if (!bm->wanted || !bm->flying || !bm->count) {
		fb_bitmap_destroy(bm);
		return -ENOMEM;
	}
	fb_bitmap_regroup(bm, groups);
	return 0;
}

void fb_bitmap_regroup(struct fb_bitmap *bm, u32 groups)
{
	bm->groups = groups;
	bm->shift = fb_bitmap_shift(groups, bm->room);
	bm->counts = ((groups - 1) >> bm->shift) + 1;
	memset(bm->count, 0, (size_t)bm->counts * sizeof(*bm->count));
	memset(bm->region, 0, sizeof(bm->region));
}

/* @more may be negative */
static void fb_bitmap_add(struct fb_bitmap *bm, u32 group, s32 more)
{
	bm->count[group >> bm->shift] += more;
	bm->region[fb_bitmap_region(bm, group)] += more;
}

void fb_bitmap_recount(struct fb_bitmap *bm, u64 first, u32 n, u32 group)
{
	fb_bitmap_add(bm, group, fb_bitmap_count(bm, first, n));
}

void fb_bitmap_destroy(struct fb_bitmap *bm)
{
	fb_free(bm->wanted);
	fb_free(bm->flying);
	fb_free(bm->count);
	memset(bm, 0, sizeof(*bm));
}

/* ---- granules in flight ---- */

static u32 fb_bitmap_flying_at(const struct fb_bitmap *bm, u64 w)
{
	return fb_bisect(i, bm->flying_words, bm->flying[i].index < w);
}

static unsigned long fb_bitmap_flying_word(const struct fb_bitmap *bm, u64 w)
{
	u32 at = fb_bitmap_flying_at(bm, w);

	return at < bm->flying_words && bm->flying[at].index == w ? bm->flying[at].bits : 0;
}

/* false: there is no room */
static bool fb_bitmap_flying_set(struct fb_bitmap *bm, u64 w, unsigned long bits)
{
	u32 at = fb_bitmap_flying_at(bm, w);
	struct fb_bitmap_word *word = &bm->flying[at];

	if (at == bm->flying_words || word->index != w) {
		if (bm->flying_words == FB_BITMAP_FLYING)
			return false;
		memmove(word + 1, word, (bm->flying_words - at) * sizeof(*word));
		bm->flying_words++;
		*word = (struct fb_bitmap_word) { .index = w };
	}
	word->bits |= bits;
	return true;
}

/* Returns those of @bits that were set; @again: out: those of them that were added meanwhile. */
static unsigned long fb_bitmap_flying_clear(struct fb_bitmap *bm, u64 w, unsigned long bits,
					    unsigned long *again)
{
	u32 at = fb_bitmap_flying_at(bm, w);
	struct fb_bitmap_word *word = &bm->flying[at];

	*again = 0;
	if (at == bm->flying_words || word->index != w)
		return 0;
	bits &= word->bits;
	*again = bits & word->again;
	word->bits &= ~bits;
	word->again &= ~bits;
	bm->n_again -= hweight_long(*again);
	if (!word->bits) {
		bm->flying_words--;
		memmove(word, word + 1, (bm->flying_words - at) * sizeof(*word));
	}
	return bits;
}

/* ---- moves ---- */

/* moves those granules @bits of word @w that are in the state to be moved from */
typedef u32 (*fb_bitmap_move_fn)(struct fb_bitmap *bm, u64 w, unsigned long bits);

/* apply a move to all words of a run, and add the change in wanted granules to @group's count */
static inline u32 fb_bitmap_move(struct fb_bitmap *bm, u64 first, u32 n, u32 group,
				 fb_bitmap_move_fn fn)
{
	u64 last = first + n - 1, before = bm->n_wanted, w = first / BITS_PER_LONG;
	unsigned long mask = ~0UL << (first % BITS_PER_LONG);
	u32 moved = 0;

	if (!fb_bitmap_holds(bm, first, n) || group >= bm->groups)
		return 0;
	for (; w < last / BITS_PER_LONG; w++, mask = ~0UL)
		moved += fn(bm, w, mask);
	moved += fn(bm, w, mask & ~0UL >> (BITS_PER_LONG - 1 - last % BITS_PER_LONG));
	fb_bitmap_add(bm, group, bm->n_wanted - before);
	return moved;
}

static u32 fb_bitmap_set_wanted(struct fb_bitmap *bm, u64 w, unsigned long bits)
{
	/* of a whole disk nearly all words are full, and few CPUs have no instruction for others */
	u32 n = ~bits ? hweight_long(bits) : BITS_PER_LONG;

	bm->wanted[w] |= bits;
	bm->n_wanted += n;
	return n;
}

static u32 fb_bitmap_clear_wanted(struct fb_bitmap *bm, u64 w, unsigned long bits)
{
	u32 n = hweight_long(bits);

	bm->wanted[w] &= ~bits;
	bm->n_wanted -= n;
	return n;
}

static u32 fb_bitmap_want_word(struct fb_bitmap *bm, u64 w, unsigned long bits)
{
	unsigned long flying = bm->flying_words ? fb_bitmap_flying_word(bm, w) : 0;

	return fb_bitmap_set_wanted(bm, w, bits & ~(bm->wanted[w] | flying));
}

static u32 fb_bitmap_again_word(struct fb_bitmap *bm, u64 w, unsigned long bits)
{
	struct fb_bitmap_word *word = &bm->flying[fb_bitmap_flying_at(bm, w)];
	u32 n;

	bits &= fb_bitmap_flying_word(bm, w);
	if (!bits)
		return 0;
	n = hweight_long(bits & ~word->again);
	word->again |= bits;
	bm->n_again += n;
	return n;
}

static u32 fb_bitmap_unwant_word(struct fb_bitmap *bm, u64 w, unsigned long bits)
{
	struct fb_bitmap_word *word = &bm->flying[fb_bitmap_flying_at(bm, w)];

	if (bm->n_again && fb_bitmap_flying_word(bm, w)) {
		bm->n_again -= hweight_long(bits & word->again);
		word->again &= ~bits;
	}
	return fb_bitmap_clear_wanted(bm, w, bits & bm->wanted[w]);
}

static u32 fb_bitmap_take_word(struct fb_bitmap *bm, u64 w, unsigned long bits)
{
	u32 n;

	bits &= bm->wanted[w];
	if (!bits || !fb_bitmap_flying_set(bm, w, bits))
		return 0;
	n = fb_bitmap_clear_wanted(bm, w, bits);
	bm->n_flying += n;
	return n;
}

static u32 fb_bitmap_done_word(struct fb_bitmap *bm, u64 w, unsigned long bits)
{
	unsigned long again;
	u32 n = hweight_long(fb_bitmap_flying_clear(bm, w, bits, &again));

	fb_bitmap_set_wanted(bm, w, again);
	bm->n_flying -= n;
	bm->n_done += n;
	return n;
}

static u32 fb_bitmap_untake_word(struct fb_bitmap *bm, u64 w, unsigned long bits)
{
	unsigned long again;
	u32 n = fb_bitmap_set_wanted(bm, w, fb_bitmap_flying_clear(bm, w, bits, &again));

	bm->n_flying -= n;
	return n;
}

u32 fb_bitmap_want(struct fb_bitmap *bm, u64 first, u32 n, u32 group)
{
	return fb_bitmap_move(bm, first, n, group, fb_bitmap_want_word);
}

u32 fb_bitmap_again(struct fb_bitmap *bm, u64 first, u32 n)
{
	return fb_bitmap_move(bm, first, n, 0, fb_bitmap_again_word);
}

u32 fb_bitmap_unwant(struct fb_bitmap *bm, u64 first, u32 n, u32 group)
{
	return fb_bitmap_move(bm, first, n, group, fb_bitmap_unwant_word);
}

u32 fb_bitmap_take(struct fb_bitmap *bm, u64 first, u32 n, u32 group)
{
	return fb_bitmap_move(bm, first, n, group, fb_bitmap_take_word);
}

u32 fb_bitmap_done(struct fb_bitmap *bm, u64 first, u32 n, u32 group)
{
	return fb_bitmap_move(bm, first, n, group, fb_bitmap_done_word);
}

u32 fb_bitmap_untake(struct fb_bitmap *bm, u64 first, u32 n, u32 group)
{
	return fb_bitmap_move(bm, first, n, group, fb_bitmap_untake_word);
}

/* ---- queries ---- */

bool fb_bitmap_is_wanted(const struct fb_bitmap *bm, u64 granule)
{
	return granule < bm->granules &&
	       bm->wanted[granule / BITS_PER_LONG] >> (granule % BITS_PER_LONG) & 1;
}

bool fb_bitmap_is_flying(const struct fb_bitmap *bm, u64 granule)
{
	return fb_bitmap_flying_word(bm, granule / BITS_PER_LONG) >>
	       (granule % BITS_PER_LONG) & 1;
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

u32 fb_bitmap_skippable(const struct fb_bitmap *bm, u32 group, u32 unit, u32 n, bool up, u32 need)
{
	u32 i;

	for (i = 0; i < n; i++) {
		const u32 *count = &bm->count[group >> bm->shift];
		const u32 *last = &bm->count[(group + unit - 1) >> bm->shift];

		for (; count <= last; count++)
			if (*count >= need)
				return i;
		group += up ? unit : -unit;
	}
	return n;
}

u32 fb_bitmap_trim(const struct fb_bitmap *bm, u64 *first, u32 *n)
{
	u64 last = *first + *n - 1, w = *first / BITS_PER_LONG, begin = U64_MAX, end = 0;
	unsigned long m, mask = ~0UL << (*first % BITS_PER_LONG);
	u32 count = 0;

	if (!fb_bitmap_holds(bm, *first, *n))
		return 0;
	for (; w <= last / BITS_PER_LONG; w++, mask = ~0UL) {
		if (w == last / BITS_PER_LONG)
			mask &= ~0UL >> (BITS_PER_LONG - 1 - last % BITS_PER_LONG);
		m = bm->wanted[w] & mask;
		if (!m)
			continue;
		begin = min(begin, w * BITS_PER_LONG + __ffs(m));
		end = w * BITS_PER_LONG + __fls(m) + 1;
		count += hweight_long(m);
	}
	if (count) {
		*first = begin;
		*n = end - begin;
	}
	return count;
}

u64 fb_bitmap_next_wanted(const struct fb_bitmap *bm, u64 from, u64 end)
{
	return bm->n_wanted ? find_next_bit(bm->wanted, end, from) : end;
}

u64 fb_bitmap_next_flying(const struct fb_bitmap *bm, u64 from)
{
	u32 at;

	if (from >= bm->granules)
		return bm->granules;
	for (at = fb_bitmap_flying_at(bm, from / BITS_PER_LONG); at < bm->flying_words; at++) {
		const struct fb_bitmap_word *word = &bm->flying[at];
		unsigned long m = word->bits & fb_bitmap_mask(word->index, from, bm->granules);

		if (m)
			return word->index * BITS_PER_LONG + __ffs(m);
	}
	return bm->granules;
}
