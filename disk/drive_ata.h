/* SPDX-License-Identifier: GPL-2.0 */
#ifndef FB_DRIVE_ATA_H
#define FB_DRIVE_ATA_H

#include <linux/types.h>

struct scsi_device;

bool fb_drive_ata_identify(struct scsi_device *sdev, u32 word, u16 *value);
u64 fb_drive_ata_timer_ns(struct scsi_device *sdev);

#endif /* FB_DRIVE_ATA_H */
