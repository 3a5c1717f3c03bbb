// SPDX-License-Identifier: GPL-2.0
/*
 * Host-managed zones. Of a zone that is written in sequence only what lies below its write pointer
 * is wanted; the drive is asked when a range is added. Reads behind a write pointer succeed
 * (sd_zbc.c), so a zone may be reset meanwhile. Drives fail a read that crosses into a zone of
 * another type (ZBC): none does. Locks: fb_disk.lock for the device.
 */
#include <linux/slab.h>

#include "disk/disk.h"
#include "include/compat/fb_compat.h"

#define FB_ZONE_RETRY_NS (10 * (u64)NSEC_PER_SEC)	/* when to ask again after a failure */

/* A question about the zones of a range */
struct fb_zone_query {
	/* whoever sends a command runs the queue, and the thread has the lowest priority */
	struct work_struct work;
	struct gendisk *gd;
	u32 granule;			/* sectors of a block */
	u64 first;			/* first granule of the range */
	u64 n;
	u32 zones;			/* zones that the range lies in */
	/* filled: granules of the range that are not wholly below a write pointer */
	unsigned long *unwritten;
	int told;			/* zones that were told of, or an error */
};

/* the first sector of a zone that holds nothing */
static u64 fb_zone_end(const struct blk_zone *zone)
{
	switch (zone->cond) {
	case BLK_ZONE_COND_OFFLINE:
		return zone->start;
	case BLK_ZONE_COND_NOT_WP:
	case BLK_ZONE_COND_READONLY:
	case BLK_ZONE_COND_FULL:
		return zone->start + zone->capacity;
	default:
		return min(zone->wp, zone->start + zone->capacity);
	}
}

static int fb_zone_look(struct blk_zone *zone, unsigned int idx, void *data)
{
	struct fb_zone_query *q = data;
	u64 from = max(div_u64(fb_zone_end(zone), q->granule), q->first);
	u64 end = min(DIV_ROUND_UP_ULL(zone->start + zone->len, q->granule), q->first + q->n);

	if (from < end)
		bitmap_set(q->unwritten, from - q->first, end - from);
	return 0;
}

static void fb_zone_work(struct work_struct *work)
{
	struct fb_zone_query *q = container_of(work, struct fb_zone_query, work);

	guard(fb_noio)(current);
	q->told = fb_compat_report_zones(q->gd->part0, q->first * q->granule, q->zones,
					 fb_zone_look, q);
}

/* a driver's report_zones() may send no request, which would keep its module */
static struct gendisk *fb_zone_get_disk(struct fb_disk *disk)
{
	struct gendisk *gd;

	guard(spinlock_irq)(&disk->lock);
	gd = disk->q ? disk->q->disk : NULL;
	if (!gd || !try_module_get(gd->fops->owner))
		return NULL;
	get_device(disk_to_dev(gd));
	return gd;
}

/* The scheduler must not take the query for foreground. */
static void fb_zone_ask(struct fb_disk *disk, struct fb_zone_query *q)
{
	struct module *owner;

	q->gd = fb_zone_get_disk(disk);
	if (!q->gd)
		return;
	owner = q->gd->fops->owner;
	WRITE_ONCE(disk->idle.asking, true);
	INIT_WORK_ONSTACK(&q->work, fb_zone_work);
	schedule_work(&q->work);
	flush_work(&q->work);
	destroy_work_on_stack(&q->work);
	WRITE_ONCE(disk->idle.asking, false);
	put_device(disk_to_dev(q->gd));
	module_put(owner);
}

/*
 * Ask which blocks of a range hold nothing: a bit for each, for kvfree(); NULL: not known now. The
 * carrier is returned first: a freeze would wait for it, and the query for the freeze.
 */
unsigned long *fb_zone_unwritten(struct fb_disk *disk, u32 zone, u64 first, u64 n)
{
	u64 end = min((first + n) * disk->granule, disk->sectors);
	struct fb_zone_query q = {
		.granule = disk->granule,
		.first = first,
		.n = n,
		.zones = div_u64(end - 1, zone) - div_u64(first * disk->granule, zone) + 1,
	};

	if (ktime_get_ns() < disk->zone_retry_ns)
		return NULL;
	fb_free_read_return(disk);
	if (READ_ONCE(disk->reads.carrier))
		return NULL;
	q.unwritten = kvcalloc(BITS_TO_LONGS(n), sizeof(long), GFP_NOIO);
	if (q.unwritten)
		fb_zone_ask(disk, &q);
	if (q.told == (int)q.zones)
		return q.unwritten;
	disk->zone_retry_ns = ktime_get_ns() + FB_ZONE_RETRY_NS;
	kvfree(q.unwritten);
	return NULL;
}

/* Shorten a read so that it ends within its zone. */
void fb_zone_cut(const struct fb_disk *disk, struct fb_plan_piece *piece)
{
	u32 zone = READ_ONCE(disk->zone_sectors), over;

	if (!zone)
		return;
	div_u64_rem(piece->lbn, zone, &over);
	piece->nsect = min(piece->nsect, max(zone - over, disk->granule));
}
