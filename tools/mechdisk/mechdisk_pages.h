/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Mode pages of the simulated drive: MODE SENSE and MODE SELECT.
 *
 * Error recovery (01h), caching (08h), control (0Ah) and, of a SCSI drive with a standby timer,
 * power condition (1Ah).  Bytes in, bytes out; the caller serialises.
 */
#ifndef MECHDISK_PAGES_H
#define MECHDISK_PAGES_H

#include "mechdisk_engine.h"

/* Room for any reply to MODE SENSE. */
#define MDP_REPLY	256
/* Longest parameter list of MODE SELECT: twice a reply. */
#define MDP_LIST	512

/* Additional sense codes of ILLEGAL REQUEST. */
#define MDP_ASC_OPCODE	0x20	/* invalid command operation code */
#define MDP_ASC_LENGTH	0x1a	/* parameter list length error */
#define MDP_ASC_CDB	0x24	/* invalid field in the CDB */
#define MDP_ASC_LIST	0x26	/* invalid field in the parameter list */

/* Why a command is refused. */
struct mdp_error {
	u8 asc;	/* additional sense code */
	u16 field;	/* byte at fault, of the CDB or of the list according to @asc */
};

/* What MODE SELECT can change. */
struct mdp_modes {
	struct mde_caching caching;	/* RCD, DRA (both inverted) and WCE */
};

/* The mode pages of a drive. */
struct mdp {
	const struct mde_config *cfg;	/* its description */
	struct mdp_modes now;	/* current values */
	struct mdp_modes saved;	/* those it starts with when powered on again */
};

/*
 * Mode pages of a drive that is being powered on. @cfg: its description, which must outlive them.
 * @saved: values saved earlier under the same description; NULL: none.
 */
void mdp_init(struct mdp *p, const struct mde_config *cfg,
	      const struct mdp_modes *saved);

/*
 * Carry out MODE SENSE(6) or (10). Returns length of the reply; 0 if refused. @reply: filled with
 * the whole parameter list, whatever the allocation length. @err: set if the command is refused.
 */
u32 mdp_sense(const struct mdp *p, const u8 *cdb, u8 reply[MDP_REPLY],
	      struct mdp_error *err);

/*
 * Carry out MODE SELECT(6) or (10). Returns whether it was carried out. @p: the pages; unchanged
 * if the command is refused. @list: its parameter list. @len: bytes of @list. @err: set if the
 * command is refused.
 */
bool mdp_select(struct mdp *p, const u8 *cdb, const u8 *list, u32 len,
		struct mdp_error *err);

#endif /* MECHDISK_PAGES_H */
