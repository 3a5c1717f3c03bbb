// SPDX-License-Identifier: GPL-2.0
/*
 * Recovery: the drive's, which may try for minutes to read a bad sector, and the kernel's, whose
 * error handler resets the device and then the host adapter, with all its disks. Locks:
 * fb_disk.lock for a disk's part; fb_recovery_mutex for the list of disks that have had the
 * scheduler, after that of disk/disk.c and before fb_disk.lock.
 */
#include <scsi/scsi_device.h>
#include <scsi/scsi_host.h>

#include "disk/disk.h"

/* A cluster gives a disk up that is silent for 20 s; drives for arrays give a sector up after 7. */
#define FB_RECOVERY_MOST_MS 7000
/* A read on a drive that may try for longer: it may meet several weak sectors, each with a try. */
#define FB_RECOVERY_SECTORS 1024
/* Suspect sectors of such a drive are read when the foreground has been silent for so long. */
#define FB_RECOVERY_SILENT_NS (10 * NSEC_PER_SEC)

static DEFINE_MUTEX(fb_recovery_mutex);
static LIST_HEAD(fb_recovery_disks);

/* ---- the drive's ---- */

/* May the drive try a bad sector for longer than others can wait? True if that is not known. */
static bool fb_recovery_is_long(const struct fb_disk *disk)
{
	const struct fb_recovery *r = &disk->recovery;

	lockdep_assert_held(&disk->lock);
	return !r->asked || !r->limit_ms || r->limit_ms > FB_RECOVERY_MOST_MS;
}

/* Limit a read of ours that may otherwise have so many sectors. [L] */
u32 fb_recovery_max(const struct fb_disk *disk, u32 sectors)
{
	return fb_recovery_is_long(disk) ?
		min(sectors, max_t(u32, FB_RECOVERY_SECTORS, disk->granule)) : sectors;
}

/* Is it too early to read suspect sectors? Under fb_disk.lock. */
bool fb_recovery_waits(const struct fb_disk *disk, u64 now)
{
	return fb_recovery_is_long(disk) && disk->fg.last_ns &&
	       now < disk->fg.last_ns + FB_RECOVERY_SILENT_NS;
}

/* Say how long the drive tries to read a bad sector. Under fb_disk.lock. */
void fb_recovery_describe(const struct fb_recovery *r, char *text, size_t size)
{
	static const char then[] = ": reads of ours are short, suspect blocks wait for silence";

	if (!r->asked)
		strscpy(text, "not known yet: reads of ours are short", size);
	else if (!r->told || !r->limit_ms)
		snprintf(text, size, "%s%s", r->told ? "no limit" : "not told", then);
	else
		snprintf(text, size, "%u ms%s", r->limit_ms,
			 r->limit_ms > FB_RECOVERY_MOST_MS ? then : "");
}

/* What the drive said of its recovery: @limit_ms, 0: none, if it tells one. */
void fb_recovery_told(struct fb_disk *disk, bool told, u32 limit_ms)
{
	disk->recovery.asked = true;
	disk->recovery.told = told;
	disk->recovery.limit_ms = limit_ms;
	disk->quarantine.idle_only = fb_recovery_is_long(disk);
}

/* ---- the kernel's ---- */

static struct Scsi_Host *fb_recovery_host(struct fb_disk *disk)
{
	const struct scsi_device *sdev;

	guard(spinlock_irq)(&disk->lock);
	sdev = fb_disk_sdev(disk);
	return sdev ? sdev->host : NULL;
}

static void fb_recovery_work(struct work_struct *work)
{
	struct fb_disk *disk = container_of(work, struct fb_disk, recovery.work), *other;
	const struct Scsi_Host *host;

	mutex_lock(&fb_recovery_mutex);
	host = fb_recovery_host(disk);
	list_for_each_entry(other, &fb_recovery_disks, recovery.list) {
		if (!host || fb_recovery_host(other) != host)
			continue;
		spin_lock_irq(&other->lock);
		other->recovery.stop = other->cov;
		wake_up(&other->wait);
		spin_unlock_irq(&other->lock);
	}
	mutex_unlock(&fb_recovery_mutex);
	guard(spinlock_irq)(&disk->lock);
	disk->recovery.hurt = false;
}

/*
 * A read of ours comes back. A time-out that aborting does not end has the error handler stop the
 * host adapter first. libata's always does, but a failed read is back before its time.
 */
void fb_recovery_watch(struct fb_free_read *buf)
{
	const struct scsi_device *sdev = fb_disk_sdev(buf->disk);
	struct fb_recovery *r = &buf->disk->recovery;

	if (!sdev || !scsi_host_in_recovery(sdev->host) || !buf->began_ns || r->hurt ||
	    ktime_get_ns() - buf->began_ns < jiffies_to_nsecs(buf->disk->q->rq_timeout))
		return;
	r->hurt = true;
	schedule_work(&r->work);
}

/* The driver gives a request back, perhaps with a read of ours, to be sent again. */
void fb_recovery_requeued(struct fb_disk *disk, const struct request *rq)
{
	struct fb_free_read *buf = NULL;

	lockdep_assert_held(&disk->lock);
	while ((buf = fb_free_read_next(disk->reads.bufs, buf)))
		if (buf->state == FB_FREE_READ_SENT && (buf->rq == rq || rq->bio == &buf->bio))
			fb_recovery_watch(buf);
}

static void fb_recovery_init(struct fb_disk *disk)
{
	INIT_WORK(&disk->recovery.work, fb_recovery_work);
	INIT_LIST_HEAD(&disk->recovery.list);
}

/* It may have been without power, and drives forget a limit that they were given. */
static void fb_recovery_attach(struct fb_disk *disk, struct gendisk *gd)
{
	mutex_lock(&fb_recovery_mutex);
	if (list_empty(&disk->recovery.list))
		list_add_tail(&disk->recovery.list, &fb_recovery_disks);
	mutex_unlock(&fb_recovery_mutex);
	guard(spinlock_irq)(&disk->lock);
	disk->recovery.asked = false;
	disk->quarantine.idle_only = true;
}

static void fb_recovery_exit(struct fb_disk *disk)
{
	scoped_guard(mutex, &fb_recovery_mutex)
		list_del(&disk->recovery.list);
	flush_work(&disk->recovery.work);
}

const struct fb_disk_client fb_recovery_client = {
	.init = fb_recovery_init,
	.attach = fb_recovery_attach,
	.exit = fb_recovery_exit,
};
