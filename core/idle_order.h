/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The order of reads while the disk is idle. In gaps, what is free decides the order; here
 * there is a choice, and each order is a table of operations. Core; the caller
 * serialises. Nothing here sleeps or allocates, and a call looks at a bounded number of
 * places, however large the disk and however few blocks are left.
 */
#ifndef FB_IDLE_ORDER_H
#define FB_IDLE_ORDER_H

#include "core/search.h"

/* staggered: default of the paper (Practical Scrubbing, IV.A) */
#define FB_IDLE_ORDER_REGIONS 128
#define FB_IDLE_ORDER_REGIONS_MAX 512U
#define FB_IDLE_ORDER_SEGMENT 128U	/* staggered: default of the paper, sectors: 64 KiB */

/*
 * Until a read has been found and sent; who asks where the head is then has as much margin as that
 * takes less. Without any, a drive that does not read ahead loses a turn in every other read.
 */
#define FB_IDLE_ORDER_SEND_NS 50000U

struct fb_idle_order;

/**
 * struct fb_idle_order_ask - what a read must comply with
 * @dm: model; NULL: there is none, and @bm has fb_bitmap_spans() groups
 * @bm: map, with a granule per fb_idle_order.granule; with a model it has a group per track
 * @head: where the head is when the arm can start, and the angle then; NULL: unknown
 * @aimed: the foreground has moved the head since the last idle read ...
 * @aim: ... to before this LBN; on from there the drive may have read ahead
 * @over: the granule with that sector is meant, and not the one behind
 * @skip: granules to leave out first, there or behind the last read; see core/idle/place.h
 * @ahead: the drive reads ahead after a read and answers from its cache
 * @max_sectors: longest read
 * @max_ns: longest access that may be predicted from @head; 0: any
 */
struct fb_idle_order_ask {
	const struct disk_model *dm;
	const struct fb_bitmap *bm;
	const struct dm_place *head;
	bool ahead;
	bool aimed;
	u64 aim;
	bool over;
	u32 skip;
	u32 max_sectors;
	u64 max_ns;
};

/**
 * struct fb_idle_order_ops - an order
 * @name: its name in the user interface
 * @next: find what to read next; fb_idle_order_next() calls it and shortens the read
 */
struct fb_idle_order_ops {
	const char *name;
	bool (*next)(struct fb_idle_order *o, const struct fb_idle_order_ask *ask,
		     struct fb_plan_piece *out);
};

extern const struct fb_idle_order_ops fb_idle_order_sequential;	/* by LBN */
/*
 * The first segment of each region by LBN, then the second of each, and so on (Oprea and Juels,
 * FAST 2010). If the head is known, the one of the round's next eight that it reaches first.
 */
extern const struct fb_idle_order_ops fb_idle_order_staggered;
/* the read with most wanted sectors per time, starting from the head's place */
extern const struct fb_idle_order_ops fb_idle_order_near;

/**
 * struct fb_idle_order - an order and its position; all private
 * @ops: the order
 * @sectors: sectors of the disk
 * @granules: granules of the map
 * @granule: sectors per granule
 * @join: longest run of unwanted granules between wanted ones that is read, too
 * @cursor: granule after the last read
 * @asked: near: number of searches
 * @weighed: near: granules that were wanted when @weight was computed
 * @weight: near: weight of a granule, by region of the map
 * @regions: staggered: number of regions
 * @region: staggered: granules per region
 * @segment: staggered: granules per segment
 * @round: staggered: for each region a segment before which nothing is wanted; U32_MAX:
 *	nothing is wanted in the region
 */
struct fb_idle_order {
	const struct fb_idle_order_ops *ops;
	u64 sectors;
	u64 granules;
	u32 granule;
	u32 join;
	u64 cursor;
	u32 asked;
	u64 weighed;
	u16 weight[FB_REGIONS];
	u32 regions;
	u64 region;
	u64 segment;
	u32 round[FB_IDLE_ORDER_REGIONS_MAX];
};

/**
 * fb_idle_order_by_name() - look up an order by its name
 * @name: "sequential", "staggered" or "near"
 *
 * Return: its table, or NULL.
 */
const struct fb_idle_order_ops *fb_idle_order_by_name(const char *name);

/**
 * fb_idle_order_init() - set up an order at its beginning
 * @o: filled
 * @ops: the order
 * @sectors: sectors of the disk
 * @granule_sectors: coverage granule, power of two
 * @regions: staggered: 1 .. FB_IDLE_ORDER_REGIONS_MAX; 0: FB_IDLE_ORDER_REGIONS
 * @segment_sectors: staggered: a multiple of @granule_sectors, not 0; 0: FB_IDLE_ORDER_SEGMENT, or
 *	a granule where that is longer
 *
 * Return: 0, or -EINVAL if @regions or @segment_sectors is invalid; @o is unchanged then.
 */
int fb_idle_order_init(struct fb_idle_order *o, const struct fb_idle_order_ops *ops,
		       u64 sectors, u32 granule_sectors, u32 regions, u32 segment_sectors);

/**
 * fb_idle_order_next() - find what to read next
 * @o: the order, which advances only if something is found; it does not track whether the
 *	reads found before succeeded: what is wanted again is found again
 * @ask: what the read must comply with
 * @out: out: whole granules (except at the disk's end), of which first and last are wanted
 *
 * Return: false if nothing is found. If blocks are wanted nevertheless, ask again later,
 * for example in a millisecond.
 */
bool fb_idle_order_next(struct fb_idle_order *o, const struct fb_idle_order_ask *ask,
			struct fb_plan_piece *out);

#endif /* FB_IDLE_ORDER_H */
