/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the kernel parts of the simulated drive share.
 */
#ifndef MECHDISK_H
#define MECHDISK_H

#include <linux/device.h>
#include <scsi/scsi_cmnd.h>

#include "mechdisk_diag.h"
#include "mechdisk_engine.h"
#include "mechdisk_pages.h"
#include "mechdisk_condition.h"
#include "mechdisk_power.h"
#include "mechdisk_reply.h"
#include "mechdisk_store.h"

struct mdh;

/* Room for the name of a block device, as DISK_NAME_LEN. */
#define MDH_NAME	32

/**
 * enum mdh_fault - mishaps that can be provoked
 * @MDH_DEVICE_BUSY: queuecommand returns SCSI_MLQUEUE_DEVICE_BUSY
 * @MDH_HOST_BUSY: queuecommand returns SCSI_MLQUEUE_HOST_BUSY
 * @MDH_FULL: the command ends at once with TASK SET FULL
 * @MDH_HANG: the command is swallowed until the error handler asks for it
 * @MDH_ATTENTION: the command ends at once with a unit attention
 * @MDH_HW_ERROR: the command ends in its normal time with a hardware error
 * @MDH_FAULTS: how many there are
 */
enum mdh_fault {
	MDH_DEVICE_BUSY,
	MDH_HOST_BUSY,
	MDH_FULL,
	MDH_HANG,
	MDH_ATTENTION,
	MDH_HW_ERROR,
	MDH_FAULTS
};

/* mechdisk_scsi.c: a powered-on drive. */

/**
 * mdh_power_on() - add a disk
 * @cfg: what it is; must stay until mdh_power_off()
 * @saved: saved mode pages, or NULL
 * @parent: parent device of the SCSI host
 *
 * Context: process, sleeps until the disk has been probed.
 * Return: the drive or an ERR_PTR().
 */
struct mdh *mdh_power_on(const struct mde_config *cfg,
			 const struct mdp_modes *saved, struct device *parent);

/**
 * mdh_power_off() - remove a disk, whatever it is doing
 * @h: the drive; gone afterwards, its data too
 * @saved: set to the saved mode pages
 *
 * Commands in flight end in their time.  Context: process, sleeps.
 */
void mdh_power_off(struct mdh *h, struct mdp_modes *saved);

/**
 * mdh_disk_name() - name of the block device
 * @h: the drive
 * @name: set to for example "sda", or to "" if there is none
 */
void mdh_disk_name(struct mdh *h, char name[MDH_NAME]);

/**
 * mdh_show_stats() - counters as "key value" lines
 * @h: the drive
 * @page: a page to fill
 *
 * Return: bytes written.
 */
ssize_t mdh_show_stats(struct mdh *h, char *page);

/**
 * mdh_reset_stats() - start counting anew; empties the journal too
 * @h: the drive
 */
void mdh_reset_stats(struct mdh *h);

/**
 * mdh_cut() - plan a loss of power
 * @h: the drive
 * @us: so many microseconds from now
 *
 * From then on no command ends, and none is served.  Another instant may have been planned
 * before.  Context: process, sleeps.
 * Return: 0, -EBUSY if it has no power any more, or -ENOMEM.
 */
int mdh_cut(struct mdh *h, u64 us);

/**
 * mdh_cut_ns() - when the power goes
 * @h: the drive
 * @dead: set to whether it has gone
 * @overflow: set to the entries that the log has lost
 *
 * Return: that instant, CLOCK_MONOTONIC, or MDE_NEVER.
 */
u64 mdh_cut_ns(struct mdh *h, bool *dead, u64 *overflow);

/**
 * mdh_cut_log() - copy bytes of the log of a drive that has lost its power
 * @h: the drive
 * @pos: the first
 * @buf: where to
 * @len: how many
 *
 * Context: process, sleeps.
 * Return: bytes copied, or -EBUSY while it still has power.
 */
ssize_t mdh_cut_log(struct mdh *h, loff_t pos, void *buf, size_t len);

/**
 * mdh_inject() - provoke mishaps
 * @h: the drive
 * @fault: which
 * @count: the next so many reads, writes and verifies; 0 for no more
 */
void mdh_inject(struct mdh *h, enum mdh_fault fault, u32 count);

/**
 * mdh_faults_left() - mishaps still to come
 * @h: the drive
 * @left: set to the number of each
 */
void mdh_faults_left(struct mdh *h, u32 left[MDH_FAULTS]);

/**
 * mdh_bad_add() - make sectors unreadable
 * @h: the drive
 * @bad: the sectors, within the drive
 *
 * Return: 0 or -ENOSPC.
 */
int mdh_bad_add(struct mdh *h, const struct mde_bad *bad);

/**
 * mdh_bad_clear() - make all sectors readable
 * @h: the drive
 */
void mdh_bad_clear(struct mdh *h);

/**
 * mdh_bad_get() - the bad ranges as they stand
 * @h: the drive
 * @bad: room for MDE_BAD_MAX
 *
 * Return: how many there are.
 */
u32 mdh_bad_get(struct mdh *h, struct mde_bad *bad);

/**
 * mdh_store() - a drive's data and journal
 * @h: the drive
 *
 * Return: the store, valid until mdh_power_off().
 */
struct mds *mdh_store(struct mdh *h);

/**
 * mdh_pages() - the mode pages as they stand
 * @h: the drive
 * @pages: set to a copy
 *
 * Context: any, as for the next three.
 */
void mdh_pages(struct mdh *h, struct mdp *pages);

/**
 * mdh_mode_select() - change mode pages and, with them, the drive
 * @h: the drive
 * @cdb: MODE SELECT
 * @list: its parameter list
 * @len: bytes of it
 * @err: set if the command is refused
 *
 * May be called again for the same command.
 *
 * Return: 0; 1 if the command ends when the write cache, now off, is empty;
 * -EINVAL if it is refused.
 */
int mdh_mode_select(struct mdh *h, const u8 *cdb, const u8 *list, u32 len,
		    struct mdp_error *err);

/**
 * mdh_diag_set() - keep what SEND DIAGNOSTIC found out
 * @h: the drive
 * @result: the page
 */
void mdh_diag_set(struct mdh *h, const struct mdd_result *result);

/**
 * mdh_diag_get() - what the last SEND DIAGNOSTIC found out
 * @h: the drive
 * @result: set to the page
 */
void mdh_diag_get(struct mdh *h, struct mdd_result *result);

/**
 * mdh_condition() - the power condition as it stands
 * @h: the drive
 *
 * Return: see mdo_ascq().
 */
u8 mdh_condition(struct mdh *h);

/**
 * mdh_start_stop() - change the power condition
 * @h: the drive
 * @cdb: START STOP UNIT
 */
void mdh_start_stop(struct mdh *h, const u8 *cdb);

/* mechdisk_cdb.c: what commands want; those that the medium has no part in. */

/**
 * mdr_decode() - find out what a command wants
 * @h: the drive
 * @cfg: what it is
 * @cmd: the command
 * @range: filled in if it is one for the engine
 *
 * Context: any; takes the drive's lock for a moment.
 * Return: true if it is one for the engine; false if it was carried out or
 * refused on the spot and can be completed.
 */
bool mdr_decode(struct mdh *h, const struct mde_config *cfg,
		struct scsi_cmnd *cmd, struct mdy_range *range);

/* mechdisk_ctl.c: /sys/kernel/mechdisk. */

/**
 * mdc_init() - create /sys/kernel/mechdisk
 *
 * Return: 0 or a negative error.
 */
int mdc_init(void);

/**
 * mdc_exit() - remove all drives and /sys/kernel/mechdisk
 */
void mdc_exit(void);

#endif /* MECHDISK_H */
