/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where to read next while the disk is idle. In gaps the order is whatever is free; here
 * there is a choice, and each order is a table of operations. Core; the caller
 * serialises. Nothing here sleeps or allocates, and a call looks at a bounded number of
 * places, however few blocks are left on however large a disk.
 */
#ifndef FB_IDLE_ORDER_H
#define FB_IDLE_ORDER_H

#include "core/search.h"

/* staggered: default, the paper's (Practical Scrubbing, IV.A) */
#define FB_IDLE_ORDER_REGIONS 128
#define FB_IDLE_ORDER_REGIONS_MAX 512U
#define FB_IDLE_ORDER_SEGMENT 128U	/* staggered: default, sectors: 64 KiB, the paper's */

struct fb_idle_order;

/**
 * struct fb_idle_order_ask - a question
 * @dm: model
 * @bm: map, with a granule per fb_idle_order.granule and a group per track of @dm
 * @head: where the head is, and the angle then, when the arm can start; NULL: unknown
 * @ahead: the drive reads on behind a read, and answers from that
 * @max_sectors: longest read
 * @max_ns: longest access that is predicted from @head; 0: any
 */
struct fb_idle_order_ask {
	const struct disk_model *dm;
	const struct fb_bitmap *bm;
	const struct dm_place *head;
	bool ahead;
	u32 max_sectors;
	u64 max_ns;
};

/**
 * struct fb_idle_order_ops - an order
 * @name: as people write it
 * @start: from the beginning; may be NULL
 * @next: what to read next, as fb_idle_order_next(); lengths are cut there
 */
struct fb_idle_order_ops {
	const char *name;
	void (*start)(struct fb_idle_order *o);
	bool (*next)(struct fb_idle_order *o, const struct fb_idle_order_ask *ask,
		     struct fb_plan_piece *out);
};

extern const struct fb_idle_order_ops fb_idle_order_sequential;	/* by LBN */
/*
 * The first segment of each region by LBN, then the second (Oprea and Juels, FAST 2010). Where the
 * head is known it takes that of the round's next eight that it comes to first.
 */
extern const struct fb_idle_order_ops fb_idle_order_staggered;
/* most wanted sectors per time from the head */
extern const struct fb_idle_order_ops fb_idle_order_near;

/**
 * struct fb_idle_order - an order and where it is; all private
 * @ops: which
 * @granules: of the map
 * @granule: sectors of a granule
 * @join: unwanted granules between wanted ones that are read along
 * @cursor: next granule, where the order has one
 * @asked: near: questions
 * @weight: near: of a granule, by region of the map
 * @regions: staggered: how many
 * @region: staggered: granules of a region
 * @segment: staggered: granules of a segment
 * @round: staggered: of each region a segment before which nothing is wanted; U32_MAX:
 *	nothing at all
 */
struct fb_idle_order {
	const struct fb_idle_order_ops *ops;
	u64 granules;
	u32 granule;
	u32 join;
	u64 cursor;
	u32 asked;
	u16 weight[FB_REGIONS];
	u32 regions;
	u64 region;
	u64 segment;
	u32 round[FB_IDLE_ORDER_REGIONS_MAX];
};

/**
 * fb_idle_order_by_name() - an order by its name
 * @name: "sequential", "staggered" or "near"
 *
 * Return: its table, NULL: there is none of that name.
 */
const struct fb_idle_order_ops *fb_idle_order_by_name(const char *name);

/**
 * fb_idle_order_init() - an order at its beginning
 * @o: filled
 * @ops: which order
 * @dm: model
 * @granule_sectors: coverage granule, power of two
 * @regions: staggered: 1 .. FB_IDLE_ORDER_REGIONS_MAX; 0: FB_IDLE_ORDER_REGIONS
 * @segment_sectors: staggered: a multiple of @granule_sectors, not 0; 0: FB_IDLE_ORDER_SEGMENT, or
 *	a granule where that is longer
 *
 * Return: 0; -EINVAL: regions or segment are not as said, @o is unchanged.
 */
int fb_idle_order_init(struct fb_idle_order *o, const struct fb_idle_order_ops *ops,
		       const struct disk_model *dm, u32 granule_sectors, u32 regions,
		       u32 segment_sectors);

/**
 * fb_idle_order_next() - what to read next
 * @o: the order, which goes on only if something is found; it never minds what has
 *	become of what it found before: what is wanted again is found again
 * @ask: the question
 * @out: out: whole granules but for the disk's end, the first and the last one wanted
 *
 * Return: false: nothing is found. If blocks are wanted: nothing now; ask again later, in
 * a millisecond, say.
 */
bool fb_idle_order_next(struct fb_idle_order *o, const struct fb_idle_order_ask *ask,
			struct fb_plan_piece *out);

#endif /* FB_IDLE_ORDER_H */
