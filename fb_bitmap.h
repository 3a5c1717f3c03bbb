/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Coverage map: which granules, of granule_sectors LBNs, are wanted, in flight or done (freeblock
 * paper, 4.3). A granule belongs to the group of the track on which its first sector lies, or of
 * FB_BITMAP_SPAN granules; groups' counts let the search pass over tracks that are done. The caller
 * says which group a run belongs to, and passes none that spans two, unless both are counted
 * together (core/groups.h). fb_bitmap_init() allocates all memory. Core; one thread owns a map.
 */
#ifndef FB_BITMAP_H
#define FB_BITMAP_H

#include "include/fb_shim.h"

#define FB_REGIONS 64		/* parts of the disk that are counted and weighed separately */
#define FB_BITMAP_SPAN 64U	/* granules of a group where tracks are not known */
#define FB_BITMAP_COUNTS 262144U	/* most counts of a map: 1 MiB */
#define FB_BITMAP_FLYING 1024	/* most words with granules in flight: 24 KiB */

/* One nonzero word of a map that is mostly zero */
struct fb_bitmap_word {
	u64 index;
	unsigned long bits;
	unsigned long again;		/* those of @bits that have been added again */
};

/* One coverage map */
struct fb_bitmap {
	u64 granules;
	u32 groups;
	u32 shift;			/* 2^@shift groups share a count; 0 = each has its own */
	u32 counts;
	u32 room;			/* number of counts that there is memory for */
	unsigned long *wanted;		/* bit set = registered, not yet read */
	u32 *count;			/* wanted granules of 2^@shift consecutive groups */
	struct fb_bitmap_word *flying;	/* in flight, as words, ascending; none in @wanted */
	u32 flying_words;
	u64 region[FB_REGIONS];	/* wanted granules of FB_REGIONS equal parts of the groups */
	u64 n_wanted;			/* sum of @count */
	u64 n_flying;			/* granules in flight */
	u64 n_again;	/* those of @n_flying that will be wanted again when they are done */
	u64 n_done;			/* granules read since they were registered */
};

/* Groups where tracks are not known. */
static inline u32 fb_bitmap_spans(u64 granules)
{
	return div_u64(granules + FB_BITMAP_SPAN - 1, FB_BITMAP_SPAN);
}

/* The region of a group; and the first group of one: FB_REGIONS: behind the last. */
static inline u32 fb_bitmap_region(const struct fb_bitmap *bm, u32 group)
{
	return div_u64((u64)group * FB_REGIONS + FB_REGIONS - 1, bm->groups);
}

static inline u32 fb_bitmap_region_first(const struct fb_bitmap *bm, u32 region)
{
	return div_u64((u64)region * bm->groups, FB_REGIONS);
}

/* The last of the groups that are counted with @group, and lie in its region. */
static inline u32 fb_bitmap_last_alike(const struct fb_bitmap *bm, u32 group)
{
	u32 next = fb_bitmap_region_first(bm, fb_bitmap_region(bm, group) + 1);

	return min(group | ((1U << bm->shift) - 1), next - 1);
}

/* Set up an empty map; may sleep. 0, -EINVAL (a size is 0) or -ENOMEM: @bm is empty then, too. */
int fb_bitmap_init(struct fb_bitmap *bm, u64 granules, u32 groups);
/* Give a map other groups: the caller has fb_bitmap_recount() called for each run of a group. */
void fb_bitmap_regroup(struct fb_bitmap *bm, u32 groups);
/* Count what is wanted of a run again. */
void fb_bitmap_recount(struct fb_bitmap *bm, u64 first, u32 n, u32 group);
/* Free what fb_bitmap_init() allocated. May sleep. */
void fb_bitmap_destroy(struct fb_bitmap *bm);
/* How many bytes fb_bitmap_init() will allocate. */
u64 fb_bitmap_bytes(u64 granules, u32 groups);

/*
 * The moves below return how many granules changed state; those in another state, or beyond the
 * map, are left alone. Once FB_BITMAP_FLYING words have granules in flight, others stay wanted.
 */

/* Register: neither wanted nor in flight -> wanted. */
u32 fb_bitmap_want(struct fb_bitmap *bm, u64 first, u32 n, u32 group);
/* Granules in flight are wanted again when they are done. */
u32 fb_bitmap_again(struct fb_bitmap *bm, u64 first, u32 n);
/* Withdraw: wanted -> not registered. Those in flight stay so, and are not wanted again. */
u32 fb_bitmap_unwant(struct fb_bitmap *bm, u64 first, u32 n, u32 group);
/* A read is sent: wanted -> in flight. */
u32 fb_bitmap_take(struct fb_bitmap *bm, u64 first, u32 n, u32 group);
/* A read delivered: in flight -> done, or wanted again. What is returned is delivered, once. */
u32 fb_bitmap_done(struct fb_bitmap *bm, u64 first, u32 n, u32 group);
/* A read failed or is void: in flight -> wanted. */
u32 fb_bitmap_untake(struct fb_bitmap *bm, u64 first, u32 n, u32 group);

/* Is a granule registered, and its read not sent? Is it being read? Beyond the end: false. */
bool fb_bitmap_is_wanted(const struct fb_bitmap *bm, u64 granule);
bool fb_bitmap_is_flying(const struct fb_bitmap *bm, u64 granule);
/* Wanted granules of a run; 0 for one that ends beyond the map. */
u32 fb_bitmap_count(const struct fb_bitmap *bm, u64 first, u32 n);

/* Wanted granules in all groups that share a group's count (@bm->shift); beyond the last: 0. */
static inline u32 fb_bitmap_group(const struct fb_bitmap *bm, u32 group)
{
	return group < bm->groups ? bm->count[group >> bm->shift] : 0;
}

/* How many of @n cylinders, of @unit groups each, come before the first with @need wanted. */
u32 fb_bitmap_skippable(const struct fb_bitmap *bm, u32 group, u32 unit, u32 n, bool up, u32 need);
/* Shrink a run to begin and end with a wanted granule. Wanted in it; 0: it stays as it was. */
u32 fb_bitmap_trim(const struct fb_bitmap *bm, u64 *first, u32 *n);
/* The first wanted granule at or after @from, or @end, which is at most @bm->granules. */
u64 fb_bitmap_next_wanted(const struct fb_bitmap *bm, u64 from, u64 end);
/* The first granule in flight at or after @from, or @bm->granules. */
u64 fb_bitmap_next_flying(const struct fb_bitmap *bm, u64 from);

#endif /* FB_BITMAP_H */
