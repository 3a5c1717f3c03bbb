/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the kernel parts of the simulated drive share.
 */
#ifndef MECHDISK_H
#define MECHDISK_H

#include <linux/device.h>
#include <scsi/scsi_cmnd.h>

#include "mechdisk_condition.h"
#include "mechdisk_diag.h"
#include "mechdisk_run.h"
#include "mechdisk_sat.h"

struct mdh;

/* mechdisk_scsi.c: a powered-on SCSI drive. */

extern const struct md_port mdh_port;

/**
 * mdh_pages() - the mode pages as they stand
 * @h: the drive
 * @pages: set to a copy
 *
 * Context: any, as for the next four.
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
 * mdh_pass() - carry out ATA PASS-THROUGH (16), and with it change the drive
 * @h: the drive
 * @cdb: the command
 * @a: filled in
 *
 * May be called again for the same command.
 *
 * Return: what came of it.
 */
enum mds_kind mdh_pass(struct mdh *h, const u8 *cdb, struct mds_answer *a);

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

#endif /* MECHDISK_H */
