// SPDX-License-Identifier: GPL-2.0
/*
 * Commands that ask a drive about its state: whether it reads ahead, and whether it is spinning.
 * No lock of ours is held while a command is in flight. A worker sends them, for whoever sends a
 * command runs the queue: the tasks' thread would send the foreground's requests at its priority.
 */
#include <linux/ata.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <scsi/scsi_common.h>
#include <scsi/scsi_device.h>
#include <scsi/scsi_proto.h>

#include "disk/disk.h"
#include "disk/drive_query.h"
#include "include/compat/fb_compat.h"

/**
 * struct fb_drive_query - a question to a drive
 * @work: asks it
 * @ask: what sends the commands; may sleep
 * @sdev: the drive
 * @answer: of @ask
 */
struct fb_drive_query {
	struct work_struct work;
	bool (*ask)(struct scsi_device *sdev);
	struct scsi_device *sdev;
	bool answer;
};

static void fb_drive_query_work(struct work_struct *work)
{
	struct fb_drive_query *query = container_of(work, struct fb_drive_query, work);

	query->answer = query->ask(query->sdev);
}

/* false, too, if there is no drive */
static bool fb_drive_query_ask(struct fb_disk *fd, bool (*ask)(struct scsi_device *sdev))
{
	struct fb_drive_query query = { .ask = ask, .sdev = fb_disk_get_scsi(fd) };

	if (!query.sdev)
		return false;
	INIT_WORK_ONSTACK(&query.work, fb_drive_query_work);
	schedule_work(&query.work);
	flush_work(&query.work);
	destroy_work_on_stack(&query.work);
	scsi_device_put(query.sdev);
	return query.answer;
}

/* ---- its look-ahead ---- */

#define FB_QUERY_MODE_LEN 64	/* header, block descriptor and the caching page */
#define FB_QUERY_MODE_TIMEOUT (10 * HZ)
#define FB_QUERY_CACHING_PAGE 0x08	/* SBC-4, 6.5.6 */

/* the caching page: byte 2, bit 0: RCD; byte 12, bit 5: DRA */
static bool fb_drive_query_lookahead_is_off(const u8 *page)
{
	return (page[0] & 0x3f) == FB_QUERY_CACHING_PAGE && page[1] >= 11 &&
	       (page[2] & BIT(0) || page[12] & BIT(5));
}

static bool fb_drive_query_mode_sense(struct scsi_device *sdev, u8 *buf)
{
	struct scsi_mode_data data = {};
	struct scsi_sense_hdr sense;
	u32 at;

	if (fb_compat_mode_sense(sdev, FB_QUERY_CACHING_PAGE, buf, FB_QUERY_MODE_LEN,
				 FB_QUERY_MODE_TIMEOUT, &data, &sense))
		return false;
	at = data.header_length + data.block_descriptor_length;
	return at + 13 <= FB_QUERY_MODE_LEN && fb_drive_query_lookahead_is_off(buf + at);
}

static bool fb_drive_query_lookahead(struct scsi_device *sdev)
{
	u8 *buf = kmalloc(FB_QUERY_MODE_LEN, GFP_NOIO);
	bool off = buf && fb_drive_query_mode_sense(sdev, buf);

	kfree(buf);
	return off;
}

/* ---- is it awake? ---- */

#define FB_QUERY_SENSE_LEN 18
#define FB_QUERY_SENSE_TIMEOUT (10 * HZ)
#define FB_QUERY_ASC_LOW_POWER 0x5e	/* SPC-4, LOW POWER CONDITION ON */

/* ATA PASS-THROUGH (16): SAT-3, 12.2.2 */
#define FB_QUERY_ATA_NO_DATA (3 << 1)
#define FB_QUERY_ATA_CK_COND BIT(5)
#define FB_QUERY_ATA_STATUS_RETURN 0x09
#define FB_QUERY_ATA_ACTIVE 0xff
#define FB_QUERY_ATA_IDLE 0x80

/*
 * libata answers REQUEST SENSE itself, with CHECK CONDITION, and does not know the drive's power
 * mode. CHECK POWER MODE does not change that mode (ACS-3, 7.3) and returns it in the count:
 * below 80h standby, 80h idle, FFh active or idle.
 */
static bool fb_drive_query_ata_awake(struct scsi_device *sdev)
{
	static const u8 cmd[16] = {
		ATA_16, FB_QUERY_ATA_NO_DATA, FB_QUERY_ATA_CK_COND, [14] = ATA_CMD_CHK_POWER
	};
	u8 *sense = kzalloc(SCSI_SENSE_BUFFERSIZE, GFP_NOIO);
	const u8 *desc;
	bool awake;

	if (!sense)
		return false;
	fb_compat_scsi_ask(sdev, cmd, sense, FB_QUERY_SENSE_TIMEOUT);
	desc = scsi_sense_desc_find(sense, SCSI_SENSE_BUFFERSIZE, FB_QUERY_ATA_STATUS_RETURN);
	awake = desc && (desc[5] == FB_QUERY_ATA_ACTIVE || desc[5] == FB_QUERY_ATA_IDLE);
	kfree(sense);
	return awake;
}

/* REQUEST SENSE does not change a drive's power condition (SBC-4, 4.20) */
static bool fb_drive_query_sense_awake(struct scsi_device *sdev)
{
	static const u8 cmd[6] = { REQUEST_SENSE, 0, 0, 0, FB_QUERY_SENSE_LEN, 0 };
	u8 *sense = kzalloc(FB_QUERY_SENSE_LEN, GFP_NOIO);
	struct scsi_sense_hdr hdr;
	bool awake = false;

	if (!sense)
		return false;
	if (!fb_compat_scsi_read(sdev, cmd, sense, FB_QUERY_SENSE_LEN, FB_QUERY_SENSE_TIMEOUT))
		awake = !scsi_normalize_sense(sense, FB_QUERY_SENSE_LEN, &hdr) ||
			(hdr.sense_key != NOT_READY && hdr.asc != FB_QUERY_ASC_LOW_POWER);
	else
		awake = fb_drive_query_ata_awake(sdev);
	kfree(sense);
	return awake;
}

/**
 * fb_drive_query_is_awake() - ask the drive whether it is spinning
 * @fd: the disk
 *
 * Context: may sleep; sends the drive a command that does not wake it. No lock of ours and
 * no carrier may be held.
 *
 * Return: false: it has spun down, does not answer, or is not attached.
 */
bool fb_drive_query_is_awake(struct fb_disk *fd)
{
	return fb_drive_query_ask(fd, fb_drive_query_sense_awake);
}

/**
 * fb_drive_query_once() - ask the drive once whether it reads ahead
 * @cov: the service of its tasks
 *
 * Does nothing while there is a carrier: a queue freeze would wait for the carrier, and the
 * command for the end of the freeze.
 *
 * Context: the tasks' thread; may sleep; sends a command, so the drive should be awake.
 */
void fb_drive_query_once(struct fb_coverage *cov)
{
	struct fb_disk *fd = cov->fd;
	bool off;

	if (cov->asked || READ_ONCE(fd->reads.carrier))
		return;
	off = fb_drive_query_ask(fd, fb_drive_query_lookahead);
	spin_lock_irq(&fd->lock);
	fb_lookahead_off(&fd->lookahead, off);
	spin_unlock_irq(&fd->lock);
	cov->asked = true;
}
