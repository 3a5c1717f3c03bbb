// SPDX-License-Identifier: GPL-2.0
/*
 * Questions to an ATA drive behind a translation (SAT-3): libata's, or a SAS adapter's. A drive is
 * asked for nothing that its IDENTIFY DEVICE data do not offer: a failed command would cost a pass
 * of the kernel's error handler. No locks.
 */
#include <linux/ata.h>
#include <linux/slab.h>
#include <scsi/scsi_device.h>
#include <scsi/scsi_proto.h>

#include "core/power.h"
#include "disk/drive_ata.h"
#include "include/compat/fb_compat.h"

#define FB_DRIVE_ATA_TIMEOUT (10 * HZ)
#define FB_DRIVE_ATA_POWER_LOG 0x08
#define FB_DRIVE_ATA_POWER_PAGES 2

/* where IDENTIFY DEVICE data are in VPD page 89h (SAT-3, 12.4.2) */
#define FB_DRIVE_ATA_VPD_ID 60

/* ATA PASS-THROUGH (16): SAT-3, 12.2.2. Data in, in blocks, as many as the count says */
#define FB_DRIVE_ATA_PIO_IN (4 << 1)
#define FB_DRIVE_ATA_EXTEND BIT(0)
#define FB_DRIVE_ATA_BLOCKS_IN 0x0e

/* words of IDENTIFY DEVICE data */
#define FB_DRIVE_ATA_SUPPORTED 119
#define FB_DRIVE_ATA_ENABLED 120
#define FB_DRIVE_ATA_EPC BIT(7)
#define FB_DRIVE_ATA_VALID 0x4000	/* of the two upper bits */

static bool fb_drive_ata_has_epc(u16 word)
{
	return (word & 0xc000) == FB_DRIVE_ATA_VALID && word & FB_DRIVE_ATA_EPC;
}

/**
 * fb_drive_ata_identify() - get a word of IDENTIFY DEVICE, as it was when the drive was probed
 * @sdev: the drive
 * @word: which
 * @value: set to it
 *
 * Sends no command.
 *
 * Return: false: it is no ATA device, or the host does not know.
 */
bool fb_drive_ata_identify(struct scsi_device *sdev, u32 word, u16 *value)
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

/* @blocks of 512 bytes; READ LOG EXT, which has 48 bits of registers, reads the log @lba */
static bool fb_drive_ata_read(struct scsi_device *sdev, u8 command, u8 lba, u8 blocks, u8 *buf)
{
	const u8 cmd[16] = {
		ATA_16, FB_DRIVE_ATA_PIO_IN | (lba ? FB_DRIVE_ATA_EXTEND : 0),
		FB_DRIVE_ATA_BLOCKS_IN, [6] = blocks, [8] = lba, [14] = command
	};

	return !fb_compat_scsi_read(sdev, cmd, buf, blocks * ATA_SECT_SIZE, FB_DRIVE_ATA_TIMEOUT);
}

/**
 * fb_drive_ata_timer_ns() - ask for the shortest timer after which the drive sleeps
 * @sdev: the drive
 *
 * Its extended power conditions are in a log. No command tells the timer that hdparm -S sets.
 *
 * Context: may sleep.
 *
 * Return: ns; 0: none is known.
 */
u64 fb_drive_ata_timer_ns(struct scsi_device *sdev)
{
	u32 len = FB_DRIVE_ATA_POWER_PAGES * ATA_SECT_SIZE;
	u64 ns = 0;
	u16 offers;
	u8 *buf;

	if (!fb_drive_ata_identify(sdev, FB_DRIVE_ATA_SUPPORTED, &offers) ||
	    !fb_drive_ata_has_epc(offers))
		return 0;
	buf = kzalloc(len, GFP_NOIO);
	/* enabled is what may have changed since the probe; timers that are not in use stay set */
	if (buf && fb_drive_ata_read(sdev, ATA_CMD_ID_ATA, 0, 1, buf) &&
	    fb_drive_ata_has_epc(get_unaligned_le16(buf + FB_DRIVE_ATA_ENABLED * 2)) &&
	    fb_drive_ata_read(sdev, ATA_CMD_READ_LOG_EXT, FB_DRIVE_ATA_POWER_LOG,
			      FB_DRIVE_ATA_POWER_PAGES, buf))
		ns = fb_power_log_ns(buf, len);
	kfree(buf);
	return ns;
}
