/* SPDX-License-Identifier: GPL-2.0 */
/*
 * SCSI commands of the simulated drive, in the kernel and in user space: what they want of
 * the engine, and the answers to those that the medium has no part in (SPC-5, SBC-4, SAT-4).
 *
 * Bytes in, bytes out; the caller serialises.
 */
#ifndef MECHDISK_REPLY_H
#define MECHDISK_REPLY_H

#include "mechdisk_diag.h"
#include "mechdisk_pages.h"

/* Room for any reply here, for any parameter list, and for sense data. */
#define MDY_REPLY	576
#define MDY_LIST	512
#define MDY_SENSE	32

/* What a drive's commands leave behind, apart from the engine. */
struct mdy {
	const struct mde_config *cfg;	/* the drive */
	struct mdp pages;	/* mode pages */
	struct mdd_result diag;	/* result of the last SEND DIAGNOSTIC */
	/* qualifier of 5Eh of the power condition that a command has asked for; 0: none */
	u8 rests;
	u64 used_ns;	/* the last command for the medium */
};

/* A command. */
struct mdy_command {
	const u8 *cdb;	/* the command */
	const u8 *list;	/* its parameter list, of mdy_list_len() bytes */
	u32 bytes;	/* bytes that it can transfer */
	u64 now_ns;	/* the time */
	bool dirty;	/* there are cached data that are not on the medium */
};

/* What came of a command. */
struct mdy_answer {
	struct mde_range range;	/* what it wants of the engine */
	u32 len;	/* bytes of @page to be sent */
	u32 sense_len;	/* bytes of @sense; 0: GOOD */
	u8 sense[MDY_SENSE];	/* sense data */
	u8 page[MDY_REPLY];	/* data */
};

/*
 * A drive is being powered on. @cfg: the drive, which must outlive it. @saved: mode pages saved
 * earlier under the same description; NULL: none.
 */
void mdy_init(struct mdy *y, const struct mde_config *cfg, const struct mdp_modes *saved,
	      u64 now_ns);

/* Bytes of a command's parameter list. Returns 0 if it has none. */
u32 mdy_list_len(const u8 *cdb);

/*
 * Carry a command out, or find out what it wants of the engine. If the engine has no room it may
 * come again. Returns true: it wants @a->range; false: it has ended, with data, sense data, or
 * neither.
 */
bool mdy_command(struct mdy *y, const struct mdy_command *c, struct mdy_answer *a);

/*
 * Sense data of a sector that cannot be read. Returns how many bytes. @asc: additional sense code
 * of one that is uncorrectable. @info: INFORMATION names the sector.
 */
u32 mdy_bad_sector(u8 sense[MDY_SENSE], enum mde_error error, u8 asc, bool info, u64 lbn);

/* Sense data. Returns how many bytes. @key: sense key. @asc: additional sense code. */
u32 mdy_sense(u8 sense[MDY_SENSE], u8 key, u8 asc);

/* A command for the medium arrives. Returns whether it finds the spindle standing, or slow. */
bool mdy_wakes(struct mdy *y, u64 now_ns);

#endif /* MECHDISK_REPLY_H */
