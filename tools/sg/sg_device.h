/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The device: may it be used at all, and is it what the user believes? Nothing is sent
 * to it here but questions.
 */
#ifndef SG_DEVICE_H
#define SG_DEVICE_H

#include "disk_model.h"

#define SGV_NAME 64		/* of what sysfs names */

/**
 * struct sgv - a disk behind the SCSI generic interface
 * @path: as the user named it
 * @fd: /dev/sgX, exclusive unless others may use the disk, too
 * @hold: the block device behind it, exclusive, so that nobody can mount it; -1: none
 * @dir: the device's folder in sysfs
 * @block: the block device's name, such as sda; "": none
 * @vendor: as in INQUIRY, blanks removed
 * @product: likewise
 * @revision: likewise
 * @serial: vital product data page 80h, "" if it has none
 * @sectors: capacity, of 512 bytes
 * @block_sectors: of its blocks, which commands count in
 * @physical_sectors: of its physical blocks, a multiple of those
 * @first_aligned: first block that begins a physical block
 * @queue: commands that Linux hands it at once
 * @most_sectors: longest command
 * @look_ahead_off: it says that it does not read ahead (caching page: DRA), or keeps
 *	nothing that it could read ahead for (RCD)
 */
struct sgv {
	const char *path;
	int fd;
	int hold;
	char dir[SGV_NAME];
	char block[SGV_NAME];
	char vendor[9];
	char product[17];
	char revision[5];
	char serial[SGV_NAME];
	u64 sectors;
	u32 block_sectors;
	u32 physical_sectors;
	u32 first_aligned;
	u32 queue;
	u32 most_sectors;
	bool look_ahead_off;
};

/**
 * sgv_open() - open it, and see whether it may be used
 * @v: out
 * @path: /dev/sgX
 * @in_use: others may use it, too
 *
 * Ends the program, saying why and what to do, if it is no SCSI generic device, no disk
 * of the kind that a model describes, or in use.
 */
void sgv_open(struct sgv *v, const char *path, bool in_use);

/**
 * sgv_check_model() - is it the disk that a model describes?
 * @v: the device
 * @path: of the model, for messages
 * @info: the model's header
 *
 * Ends the program if it is not.
 */
void sgv_check_model(const struct sgv *v, const char *path, const struct dm_info *info);

/**
 * sgv_check_writes() - does the user know what is going to be overwritten?
 * @v: the device
 * @confirm: what the user took it for; "": did not say
 *
 * Ends the program if not, or if there may be something on it.
 */
void sgv_check_writes(const struct sgv *v, const char *confirm);

/**
 * sgv_close() - close it
 * @v: the device
 */
void sgv_close(struct sgv *v);

#endif /* SG_DEVICE_H */
