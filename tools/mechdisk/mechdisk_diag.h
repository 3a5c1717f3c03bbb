/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The translation of addresses by SEND DIAGNOSTIC and RECEIVE DIAGNOSTIC RESULTS (SBC,
 * Translate Address page 40h), between LBNs and physical sectors.
 *
 * A "sector" is an LBN's worth.  Bytes in, bytes out; takes no lock.
 */
#ifndef MECHDISK_DIAG_H
#define MECHDISK_DIAG_H

#include "mechdisk_pages.h"

/* Longest parameter list of SEND DIAGNOSTIC, and longest result. */
#define MDD_LIST	14

/* What SEND DIAGNOSTIC left for RECEIVE DIAGNOSTIC RESULTS. */
struct mdd_result {
	u8 page[MDD_LIST];	/* the page */
	u8 len;	/* its length; 0: nothing was sent */
};

/*
 * Carry out SEND DIAGNOSTIC. Returns whether it was carried out. @list: its parameter list. @len:
 * bytes of @list. @result: set if the command is carried out. @err: set if it is refused.
 */
bool mdd_send(const struct mde_config *cfg, const u8 *cdb, const u8 *list,
	      u32 len, struct mdd_result *result, struct mdp_error *err);

#endif /* MECHDISK_DIAG_H */
