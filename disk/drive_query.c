// SPDX-License-Identifier: GPL-2.0
/*
 * Commands that ask a drive whether it reads ahead or spins, and how it recovers, without a lock of
 * ours. A worker sends them, as that runs the queue, which is not for the tasks' thread.
 */
#include <linux/ata.h>
#include <linux/pm_runtime.h>
#include <linux/slab.h>
#include <scsi/scsi_common.h>
#include <scsi/scsi_device.h>
#include <scsi/scsi_proto.h>

#include "disk/disk.h"
#include "disk/power_answer.h"
#include "include/compat/fb_compat.h"

#define FB_QUERY_TIMEOUT (10 * HZ)

/* A question to a drive */
struct fb_drive_query {
	struct work_struct work;
	u64 (*ask)(struct fb_drive_query *q);	/* what sends the commands; may sleep */
	struct scsi_device *sdev;
	u64 answer;
	u8 sense[SCSI_SENSE_BUFFERSIZE];
	u8 buf[ATA_SECT_SIZE] ____cacheline_aligned;	/* zeroed */
};

static void fb_drive_query_work(struct work_struct *work)
{
	struct fb_drive_query *q = container_of(work, struct fb_drive_query, work);

	q->answer = q->ask(q);
}

/* @none if there is no drive, or no memory */
static u64 fb_drive_query_ask(struct fb_disk *disk, u64 (*ask)(struct fb_drive_query *q), u64 none)
{
	struct fb_drive_query *q = kzalloc(sizeof(*q), GFP_NOIO);

	if (!q)
		return none;
	q->answer = none;
	q->ask = ask;
	q->sdev = fb_disk_get_scsi(disk);
	if (q->sdev) {
		INIT_WORK(&q->work, fb_drive_query_work);
		schedule_work(&q->work);
		flush_work(&q->work);
		scsi_device_put(q->sdev);
	}
	none = q->answer;
	kfree(q);
	return none;
}

/* where IDENTIFY DEVICE data are in VPD page 89h (SAT-3, 12.4.2) */
#define FB_DRIVE_ATA_VPD_ID 60

/* A word of IDENTIFY DEVICE, as it was at the probe; false: no ATA device, or not known. */
static bool fb_drive_ata_identify(struct scsi_device *sdev, u32 word, u16 *value)
{
	const struct scsi_vpd *page;
	bool found;

	rcu_read_lock();
	page = rcu_dereference(sdev->vpd_pg89);
	found = page && page->len >= FB_DRIVE_ATA_VPD_ID + ATA_ID_WORDS * 2;
	if (found)
		*value = get_unaligned_le16(page->data + FB_DRIVE_ATA_VPD_ID + 2 * word);
	rcu_read_unlock();
	return found;
}

/* ---- its mode pages ---- */

#define FB_QUERY_MODE_LEN 64	/* header, block descriptor and a page */
#define FB_QUERY_CACHING_PAGE 0x08	/* SBC-4, 6.5.6 */

/* the bytes of a page, and where it begins; 0: there is no such page */
static u32 fb_drive_query_mode_sense(struct fb_drive_query *q, u8 code, const u8 **page)
{
	struct scsi_mode_data data = {};
	struct scsi_sense_hdr sense;
	u32 at;

	if (fb_compat_mode_sense(q->sdev, code, q->buf, FB_QUERY_MODE_LEN, FB_QUERY_TIMEOUT, &data,
				 &sense))
		return 0;
	at = data.header_length + data.block_descriptor_length;
	*page = q->buf + at;
	return at < FB_QUERY_MODE_LEN ? FB_QUERY_MODE_LEN - at : 0;
}

static u64 fb_drive_query_lookahead(struct fb_drive_query *q)
{
	const u8 *page;

	/* byte 2, bit 0: RCD; byte 12, bit 5: DRA */
	return fb_drive_query_mode_sense(q, FB_QUERY_CACHING_PAGE, &page) >= 13 &&
	       (page[0] & 0x3f) == FB_QUERY_CACHING_PAGE && page[1] >= 11 &&
	       (page[2] & BIT(0) || page[12] & BIT(5));
}

/* ---- how long it tries to read a bad sector ---- */

#define FB_QUERY_RECOVERY_PAGE 0x01	/* SBC-4, 6.5.10 */
#define FB_QUERY_NO_LIMIT U64_MAX	/* the drive tells no limit; else it is in ms, 0: none */

#define FB_QUERY_SCT 206 /* word of IDENTIFY DEVICE: SCT (bit 0), its recovery control (bit 3) */
#define FB_QUERY_SCT_ERC (BIT(0) | BIT(3))

/* ATA PASS-THROUGH (16): SAT-3, 12.2.2 */
#define FB_QUERY_ATA_NO_DATA (3 << 1)
#define FB_QUERY_ATA_PIO_OUT (5 << 1)
#define FB_QUERY_ATA_CK_COND BIT(5)
#define FB_QUERY_ATA_BLOCKS (BIT(2) | 2)	/* so many blocks as the count says */
#define FB_QUERY_ATA_STATUS_RETURN 0x09

/* Send a command that returns the drive's registers, and @len bytes. Return: them, or NULL. */
static const u8 *fb_drive_ata_registers(struct fb_drive_query *q, const u8 *cmd, u32 len)
{
	fb_compat_scsi_ask(q->sdev, cmd, len ? q->buf : NULL, len, q->sense, FB_QUERY_TIMEOUT);
	return scsi_sense_desc_find(q->sense, SCSI_SENSE_BUFFERSIZE, FB_QUERY_ATA_STATUS_RETURN);
}

/* SCT Error Recovery Control (ACS-3, 8.3.3): the timer of reads, in the registers. */
static u64 fb_drive_query_erc(struct fb_drive_query *q)
{
	static const u8 cmd[16] = {
		ATA_16, FB_QUERY_ATA_PIO_OUT, FB_QUERY_ATA_CK_COND | FB_QUERY_ATA_BLOCKS,
		[4] = 0xd6, [6] = 1, [8] = 0xe0, [10] = 0x4f, [12] = 0xc2, [14] = ATA_CMD_SMART
	};
	static const u8 erc[] = { 3, 0, 2, 0, 1, 0 };
	const u8 *desc;

	memcpy(q->buf, erc, sizeof(erc));
	desc = fb_drive_ata_registers(q, cmd, ATA_SECT_SIZE);
	return desc && !(desc[13] & ATA_ERR) ? (desc[7] << 8 | desc[5]) * 100 : FB_QUERY_NO_LIMIT;
}

static u64 fb_drive_query_recovery(struct fb_drive_query *q)
{
	const u8 *page;
	u16 sct;

	/* libata's own recovery page says nothing of the drive */
	if (fb_drive_ata_identify(q->sdev, FB_QUERY_SCT, &sct))
		return (sct & FB_QUERY_SCT_ERC) == FB_QUERY_SCT_ERC ? fb_drive_query_erc(q) :
								      FB_QUERY_NO_LIMIT;
	if (fb_drive_query_mode_sense(q, FB_QUERY_RECOVERY_PAGE, &page) >= 12 &&
	    (page[0] & 0x3f) == FB_QUERY_RECOVERY_PAGE && page[1] >= 10)
		return get_unaligned_be16(page + 10);
	return FB_QUERY_NO_LIMIT;
}

/* ---- its power state ---- */

#define FB_QUERY_SENSE_LEN 18

/* libata answers REQUEST SENSE itself; CHECK POWER MODE does not change the mode (ACS-4, 7.3). */
static enum fb_power_state fb_drive_query_ata_power(struct fb_drive_query *q)
{
	static const u8 cmd[16] = {
		ATA_16, FB_QUERY_ATA_NO_DATA, FB_QUERY_ATA_CK_COND, [14] = ATA_CMD_CHK_POWER
	};
	const u8 *desc = fb_drive_ata_registers(q, cmd, 0);

	return desc ? fb_power_of_ata(desc[5]) : FB_POWER_UNKNOWN;
}

/* REQUEST SENSE does not change a drive's power condition (SBC-4, 4.20) */
static u64 fb_drive_query_sense_power(struct fb_drive_query *q)
{
	static const u8 cmd[6] = { REQUEST_SENSE, 0, 0, 0, FB_QUERY_SENSE_LEN, 0 };
	struct scsi_sense_hdr hdr;

	if (fb_compat_scsi_read(q->sdev, cmd, q->buf, FB_QUERY_SENSE_LEN, FB_QUERY_TIMEOUT))
		return fb_drive_query_ata_power(q);
	return scsi_normalize_sense(q->buf, FB_QUERY_SENSE_LEN, &hdr) ?
	       fb_power_of_sense(hdr.sense_key, hdr.asc, hdr.ascq) : FB_POWER_ACTIVE;
}

/* Ask the drive for its power state, which does not wake it. May sleep; no carrier is held. */
enum fb_power_state fb_drive_query_power(struct fb_disk *disk)
{
	bool mute;

	scoped_guard(spinlock_irq, &disk->lock)
		mute = disk->q && !fb_disk_sdev(disk);
	return fb_drive_query_ask(disk, fb_drive_query_sense_power,
				  mute ? FB_POWER_ACTIVE : FB_POWER_UNKNOWN);
}

/* Have the kernel resume a disk that it has suspended. May sleep; does not wait for the disk. */
void fb_drive_query_resume(struct fb_disk *disk)
{
	struct scsi_device *sdev = fb_disk_get_scsi(disk);

	if (!sdev)
		return;
	pm_request_resume(&sdev->sdev_gendev);
	scsi_device_put(sdev);
}

/*
 * Ask the drive, once for a scheduler and its tasks, how it reads ahead and recovers. Not
 * while there is a carrier: a freeze would wait for that, and the command for the freeze.
 */
void fb_drive_query_once(struct fb_coverage *cov)
{
	struct fb_disk *disk = cov->disk;
	u64 limit_ms;
	bool off;

	if ((cov->asked && READ_ONCE(disk->recovery.asked)) || READ_ONCE(disk->reads.carrier))
		return;
	off = fb_drive_query_ask(disk, fb_drive_query_lookahead, false);
	limit_ms = fb_drive_query_ask(disk, fb_drive_query_recovery, FB_QUERY_NO_LIMIT);
	spin_lock_irq(&disk->lock);
	fb_lookahead_off(&disk->lookahead, off);
	fb_recovery_told(disk, limit_ms != FB_QUERY_NO_LIMIT, limit_ms);
	spin_unlock_irq(&disk->lock);
	cov->asked = true;
}

/* When the drive was last used. Brings its power up to date. [L] */
u64 fb_drive_query_touched_ns(struct fb_disk *disk)
{
	const struct scsi_device *sdev = fb_disk_sdev(disk);

	fb_power_foreground(&disk->idle.power, disk->fg.last_ns);
	disk->idle.power.host_ns = sdev ? fb_compat_autosuspend_ns(&sdev->sdev_gendev) : 0;
	return max(disk->fg.last_ns, disk->idle.reader.used_ns);
}

/* Why the drive's power keeps idle reads from being sent; NULL: it does not. [L] */
const char *fb_drive_query_asleep(struct fb_disk *disk, u64 now)
{
	u64 touched_ns = fb_drive_query_touched_ns(disk);

	return disk->fg.active ? NULL : fb_power_why(&disk->idle.power, touched_ns, now);
}
