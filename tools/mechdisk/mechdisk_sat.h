/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ATA PASS-THROUGH (16) to a simulated drive that an adapter or an enclosure
 * translates for (SAT-3, 12.2): IDENTIFY DEVICE, and SET FEATURES of its caches.
 *
 * Bytes in, bytes out; takes no lock.
 */
#ifndef MECHDISK_SAT_H
#define MECHDISK_SAT_H

#include "mechdisk_taskfile.h"

/**
 * enum mds_kind - what came of a command
 * @MDS_ENDED: it was carried out or refused; there are sense data, or none
 * @MDS_REPLY: its data are in the answer's page
 * @MDS_FLUSH: it ends when the write cache, now off, is on the medium
 */
enum mds_kind { MDS_ENDED, MDS_REPLY, MDS_FLUSH };

/**
 * struct mds_answer - how a command ends
 * @key: sense key; 0: GOOD, without sense data
 * @sense: sense data in descriptor format: the drive's registers
 * @page: data
 */
struct mds_answer {
	u8 key;
	u8 sense[MDY_ATA_SENSE];
	u8 page[MD_TF_PAGE];
};

/**
 * mds_pass() - carry out ATA PASS-THROUGH (16)
 * @cfg: the drive, one that mde_is_ata()
 * @caching: its caches: SET FEATURES changes them
 * @cdb: the command
 * @a: filled in
 *
 * Return: what came of it.
 */
enum mds_kind mds_pass(const struct mde_config *cfg, struct mde_caching *caching,
		       const u8 *cdb, struct mds_answer *a);

#endif /* MECHDISK_SAT_H */
