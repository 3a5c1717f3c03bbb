/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The order of reads while the disk is idle. A call looks at a bounded number of places, however
 * large the disk and however few blocks are left. Core; the caller serialises.
 */
#ifndef FB_IDLE_ORDER_H
#define FB_IDLE_ORDER_H

#include "core/groups.h"

/* staggered: default of the paper (Practical Scrubbing, IV.A) */
#define FB_IDLE_ORDER_REGIONS 128
#define FB_IDLE_ORDER_REGIONS_MAX 512U
#define FB_IDLE_ORDER_SEGMENT 128U	/* staggered: default of the paper, sectors: 64 KiB */

/* until a read has been found and sent: else a drive that does not read ahead loses turns */
#define FB_IDLE_ORDER_SEND_NS 50000U

struct fb_idle_order;

/* What a read must comply with */
struct fb_idle_order_ask {
	const struct disk_model *dm;	/* or NULL: @bm has fb_bitmap_spans() groups */
	const struct fb_bitmap *bm;	/* with a model a group per track */
	/* where it is when the arm can start; NULL: unknown */
	const struct dm_place *head;
	bool ahead;			/* the drive reads ahead, and answers from its cache */
	bool aimed;	/* the foreground has moved the head since the last read ... */
	u64 aim;	/* ... to before this LBN: there the drive may have read ahead */
	bool over;	/* the granule with that sector is meant, not the one behind */
	u32 skip;			/* granules to leave out, there or behind the last read */
	u32 max_sectors;		/* longest read */
	u64 max_ns;	/* longest access that may be predicted from @head; 0: any */
};

/* An order: finds what to read next; fb_idle_order_next() calls it and shortens the read */
typedef bool (*fb_idle_order_fn)(struct fb_idle_order *o, const struct fb_idle_order_ask *ask,
				 struct fb_plan_piece *out);

/* By LBN. */
bool fb_idle_order_sequential(struct fb_idle_order *o, const struct fb_idle_order_ask *ask,
			      struct fb_plan_piece *out);
/*
 * The first segment of each region by LBN, then the second of each, and so on (Oprea and Juels,
 * FAST 2010); of the round's next eight the one that the head reaches first.
 */
bool fb_idle_order_staggered(struct fb_idle_order *o, const struct fb_idle_order_ask *ask,
			     struct fb_plan_piece *out);
/* The read with most wanted sectors per time, starting from the head's place. */
bool fb_idle_order_near(struct fb_idle_order *o, const struct fb_idle_order_ask *ask,
			struct fb_plan_piece *out);

/* An order and its position; all private */
struct fb_idle_order {
	fb_idle_order_fn find;		/* the order */
	u64 sectors;			/* sectors of the disk */
	u64 granules;			/* granules of the map */
	u32 granule;			/* sectors per granule */
	u32 join;	/* so many unwanted granules between wanted ones are read, too */
	u64 cursor;			/* granule after the last read */
	u32 regions;			/* staggered: number of regions */
	u64 region;			/* staggered: granules per region */
	u64 segment;			/* staggered: granules per segment */
	u32 round[FB_IDLE_ORDER_REGIONS_MAX];	/* by region, wanted from this segment on */
};

/*
 * Set up an order at its beginning. Staggered: @regions and @segment_sectors, of whole granules; 0:
 * the defaults. 0, or -EINVAL: @o is unchanged.
 */
int fb_idle_order_init(struct fb_idle_order *o, fb_idle_order_fn find,
		       u64 sectors, u32 granule_sectors, u32 regions, u32 segment_sectors);

/*
 * Find what to read next; what is wanted again is found again. False: nothing is found; if blocks
 * are wanted nevertheless, ask again, for example in a millisecond.
 */
bool fb_idle_order_next(struct fb_idle_order *o, const struct fb_idle_order_ask *ask,
			struct fb_plan_piece *out);

#endif /* FB_IDLE_ORDER_H */
