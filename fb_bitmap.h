/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Coverage: which granules of a disk are wanted, in flight, done (freeblock
 * paper, 4.3). Core.
 *
 * A granule is granule_sectors consecutive LBNs. Granules belong to groups, one
 * per track: the track on which their first sector lies; the group's count of
 * wanted granules lets the search pass over what is done. The map does not know
 * tracks: its caller says which group a run belongs to, and never passes a run
 * that spans two groups (fb_for_each_run() cuts ranges so).
 *
 * Memory is that of a large drive in its worst case, whatever order it is read in: a
 * bit per granule, and counts that groups share where groups are many. What flies is
 * little at any time and kept in a list. All is allocated at once, at the beginning.
 *
 * No locking: one thread owns a map.
 */
#ifndef FB_BITMAP_H
#define FB_BITMAP_H

#include "include/fb_shim.h"

#define FB_REGIONS 64		/* parts of the disk that are counted and weighed apart */
#define FB_BITMAP_COUNTS 262144U	/* counts at most: 1 MiB */
#define FB_BITMAP_FLYING 1024	/* words with flying granules at most: 24 KiB */

/**
 * struct fb_bitmap_word - one word of a map that is mostly zero
 * @index: which
 * @bits: not zero
 * @again: of these, those that have been added again
 */
struct fb_bitmap_word {
	u64 index;
	unsigned long bits;
	unsigned long again;
};

/**
 * struct fb_bitmap - one coverage map
 * @granules: number of granules
 * @groups: number of groups
 * @shift: 2^n groups share a count; 0 = each has its own
 * @counts: number of counts
 * @wanted: bit set = registered, not yet read
 * @count: wanted granules of groups that follow each other
 * @flying: bit set = a read is on its way; never set together with @wanted
 * @flying_words: how many there are of them, in ascending order
 * @region: wanted granules of FB_REGIONS equal parts of the groups
 * @n_wanted: sum of @count
 * @n_flying: granules in flight
 * @n_again: of these, those that will be wanted again when they are done
 * @n_done: granules read since they were registered
 */
struct fb_bitmap {
	u64 granules;
	u32 groups;
	u32 shift;
	u32 counts;
	unsigned long *wanted;
	u32 *count;
	struct fb_bitmap_word *flying;
	u32 flying_words;
	u64 region[FB_REGIONS];
	u64 n_wanted;
	u64 n_flying;
	u64 n_again;
	u64 n_done;
};

/**
 * fb_bitmap_init() - an empty map: nothing registered
 * @bm: the map, its old content is not freed
 * @granules: how many granules, at least one
 * @groups: how many groups, at least one
 *
 * Context: may sleep (allocates a bit per granule and a count per group, at most
 * FB_BITMAP_COUNTS of them).
 *
 * Return: 0, -EINVAL (a size is zero) or -ENOMEM; @bm is empty then and may be
 * destroyed.
 */
int fb_bitmap_init(struct fb_bitmap *bm, u64 granules, u32 groups);

/**
 * fb_bitmap_destroy() - free what fb_bitmap_init() took
 * @bm: the map; unusable, but may be destroyed again
 *
 * Context: may sleep.
 */
void fb_bitmap_destroy(struct fb_bitmap *bm);

/**
 * fb_bitmap_bytes() - what fb_bitmap_init() will allocate
 * @granules: how many granules
 * @groups: how many groups
 *
 * Return: bytes.
 */
u64 fb_bitmap_bytes(u64 granules, u32 groups);

/**
 * fb_bitmap_copy() - make a map say what another one says
 * @to: the map, of the same size
 * @from: the other one
 */
void fb_bitmap_copy(struct fb_bitmap *to, const struct fb_bitmap *from);

/*
 * The six moves below return how many granules changed state; granules in
 * another state stay as they are, so that a move may be repeated without harm.
 * A run that ends beyond the map, or a group that does not exist, moves
 * nothing. Cost: one turn of a loop per 64 granules. They never sleep.
 *
 * A word of FB_BITMAP_FLYING more that has flying granules cannot be remembered: they
 * stay wanted. A host's buffers hold some hundred words.
 */

/**
 * fb_bitmap_want() - register: neither wanted nor flying -> wanted
 * @bm: the map
 * @first: first granule of the run
 * @n: length of the run in granules
 * @group: the group of all of them
 *
 * Return: granules that were not registered before.
 */
u32 fb_bitmap_want(struct fb_bitmap *bm, u64 first, u32 n, u32 group);

/**
 * fb_bitmap_again() - added in flight: flying ones will be wanted again when they are done
 * @bm: the map
 * @first: first granule of the run
 * @n: length of the run in granules
 *
 * One that comes back unread is wanted anyway, and read once more, not twice.
 *
 * Return: granules of which this was not known.
 */
u32 fb_bitmap_again(struct fb_bitmap *bm, u64 first, u32 n);

/**
 * fb_bitmap_unwant() - take back: wanted -> not registered; flying ones stay, but are not
 * wanted again
 * @bm: the map
 * @first: first granule of the run
 * @n: length of the run in granules
 * @group: the group of all of them
 *
 * Return: granules that are no longer wanted.
 */
u32 fb_bitmap_unwant(struct fb_bitmap *bm, u64 first, u32 n, u32 group);

/**
 * fb_bitmap_take() - a read is sent: wanted -> flying
 * @bm: the map
 * @first: first granule of the run
 * @n: length of the run in granules
 * @group: the group of all of them
 *
 * Return: granules now in flight that were not.
 */
u32 fb_bitmap_take(struct fb_bitmap *bm, u64 first, u32 n, u32 group);

/**
 * fb_bitmap_done() - a read delivered its data: flying -> done, or wanted again
 * @bm: the map
 * @first: first granule of the run
 * @n: length of the run in granules
 * @group: the group of all of them
 *
 * Return: granules done by this call: each is to be delivered once.
 */
u32 fb_bitmap_done(struct fb_bitmap *bm, u64 first, u32 n, u32 group);

/**
 * fb_bitmap_untake() - a read failed or its data are void: flying -> wanted
 * @bm: the map
 * @first: first granule of the run
 * @n: length of the run in granules
 * @group: the group of all of them
 *
 * Return: granules wanted again.
 */
u32 fb_bitmap_untake(struct fb_bitmap *bm, u64 first, u32 n, u32 group);

/**
 * fb_bitmap_is_wanted() - is a granule registered and not yet sent for
 * @bm: the map
 * @granule: which; beyond the end: false
 *
 * Return: true when wanted.
 */
bool fb_bitmap_is_wanted(const struct fb_bitmap *bm, u64 granule);

/**
 * fb_bitmap_is_flying() - is a granule being read
 * @bm: the map
 * @granule: which; beyond the end: false
 *
 * Return: true when in flight.
 */
bool fb_bitmap_is_flying(const struct fb_bitmap *bm, u64 granule);

/**
 * fb_bitmap_count() - wanted granules of a run
 * @bm: the map
 * @first: first granule of the run
 * @n: length of the run in granules
 *
 * Return: how many are wanted; 0 for a run that ends beyond the map.
 */
u32 fb_bitmap_count(const struct fb_bitmap *bm, u64 first, u32 n);

/**
 * fb_bitmap_group() - wanted granules of a group
 * @bm: the map
 * @group: which; beyond the last: 0
 *
 * Return: how many are wanted; where it shares its count with others (@bm->shift), of all
 * of them.
 */
static inline u32 fb_bitmap_group(const struct fb_bitmap *bm, u32 group)
{
	return group < bm->groups ? bm->count[group >> bm->shift] : 0;
}

/**
 * fb_bitmap_poor() - how many cylinders can be passed over
 * @bm: the map
 * @group: the first cylinder's first group
 * @unit: groups of a cylinder
 * @n: how many cylinders there are, all of the map
 * @up: the next one's groups are higher
 * @need: a group with so many granules makes a cylinder rich
 *
 * Return: how many are poor before the first rich one, as told by fb_bitmap_group().
 */
u32 fb_bitmap_poor(const struct fb_bitmap *bm, u32 group, u32 unit, u32 n, bool up, u32 need);

/**
 * fb_bitmap_trim() - shrink a run to begin and end with a wanted granule
 * @bm: the map
 * @first: in: first granule of the run; out: its first wanted one
 * @n: in: length of the run; out: up to and with its last wanted granule
 *
 * Return: how many of them are wanted; 0: @first and @n are unchanged.
 */
u32 fb_bitmap_trim(const struct fb_bitmap *bm, u64 *first, u32 *n);

/**
 * fb_bitmap_next_wanted() - the next granule that is still to be read
 * @bm: the map
 * @from: where to begin
 *
 * For what no gap is long enough to hold: granules at a zone's end, whose two parts lie
 * most of a turn apart (11 of the Atlas 10K's 2.2 million), and remapped ones.
 *
 * Return: the first wanted granule at or after @from, or @bm->granules.
 */
u64 fb_bitmap_next_wanted(const struct fb_bitmap *bm, u64 from);

/**
 * fb_bitmap_next_before() - the same, not beyond some place
 * @bm: the map
 * @from: where to begin
 * @end: where to stop, at most @bm->granules
 *
 * Return: the first wanted granule at or after @from, or @end.
 */
u64 fb_bitmap_next_before(const struct fb_bitmap *bm, u64 from, u64 end);

/**
 * fb_bitmap_next_flying() - the next granule in flight
 * @bm: the map
 * @from: where to begin
 *
 * Return: the first flying granule at or after @from, or @bm->granules.
 */
u64 fb_bitmap_next_flying(const struct fb_bitmap *bm, u64 from);

#endif /* FB_BITMAP_H */
