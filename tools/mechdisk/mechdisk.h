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

struct mdh_host;

/**
 * struct mdh - a powered-on SCSI drive
 * @run: the drive
 * @host: its host
 * @pages: mode pages
 * @diag: result of the last SEND DIAGNOSTIC
 * @condition: whether it spins
 */
struct mdh {
	struct md_run run;
	struct mdh_host *host;
	struct mdp pages;
	struct mdd_result diag;
	struct mdo condition;
};

/* mechdisk_scsi.c */
extern const struct md_port mdh_port;

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
