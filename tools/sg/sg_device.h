/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The device: may it be used at all, and is it what the user believes? Nothing is sent
 * to it here but questions.
 */
#ifndef SG_DEVICE_H
#define SG_DEVICE_H

#include "disk_model.h"

#define SGV_NAME 64		/* of what sysfs names */

/* A disk behind the SCSI generic interface */
struct sgv {
	const char *path;	/* as the user named it */
	int fd;	/* /dev/sgX, exclusive unless others may use the disk, too */
	/* the block device behind it, exclusive, so that nobody can mount it; -1: none */
	int hold;
	char dir[SGV_NAME];	/* the device's folder in sysfs */
	char block[SGV_NAME];	/* the block device's name, such as sda; "": none */
	char vendor[9];	/* as in INQUIRY, blanks removed */
	char product[17];	/* likewise */
	char revision[5];	/* likewise */
	char serial[SGV_NAME];	/* vital product data page 80h, "" if it has none */
	u64 sectors;	/* capacity, of 512 bytes */
	u32 block_sectors;	/* of its blocks, which commands count in */
	u32 physical_sectors;	/* of its physical blocks, a multiple of those */
	u32 first_aligned;	/* first block that begins a physical block */
	u32 queue;	/* commands that Linux hands it at once */
	u32 most_sectors;	/* longest command */
	/*
	 * it says that it does not read ahead (caching page: DRA), or keeps nothing that it could
	 * read ahead for (RCD)
	 */
	bool look_ahead_off;
};

/*
 * Open it, and see whether it may be used. Ends the program, saying why and what to do, if it is
 * no SCSI generic device, no disk of the kind that a model describes, or in use
 */
void sgv_open(struct sgv *v, const char *path, bool in_use);

/* Is it the disk that a model describes? Ends the program if it is not */
void sgv_check_model(const struct sgv *v, const char *path, const struct dm_info *info);

/*
 * Does the user know what is going to be overwritten? Ends the program if not, or if there may be
 * something on it. @confirm: what the user took it for; "": did not say
 */
void sgv_check_writes(const struct sgv *v, const char *confirm);

/* Close it */
void sgv_close(struct sgv *v);

#endif /* SG_DEVICE_H */
