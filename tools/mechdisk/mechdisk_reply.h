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

/**
 * struct mdy - what a drive's commands leave behind, apart from the engine
 * @cfg: the drive
 * @pages: mode pages
 * @diag: result of the last SEND DIAGNOSTIC
 * @rests: qualifier of 5Eh of the power condition that a command has asked for; 0: none
 * @used_ns: the last command for the medium
 */
struct mdy {
	const struct mde_config *cfg;
	struct mdp pages;
	struct mdd_result diag;
	u8 rests;
	u64 used_ns;
};

/**
 * struct mdy_command - a command
 * @cdb: the command
 * @list: its parameter list, of mdy_list_len() bytes
 * @bytes: bytes that it can transfer
 * @now_ns: the time
 * @dirty: there are cached data that are not on the medium
 */
struct mdy_command {
	const u8 *cdb;
	const u8 *list;
	u32 bytes;
	u64 now_ns;
	bool dirty;
};

/**
 * struct mdy_answer - what came of a command
 * @range: what it wants of the engine
 * @len: bytes of @page to be sent
 * @sense_len: bytes of @sense; 0: GOOD
 * @sense: sense data
 * @page: data
 */
struct mdy_answer {
	struct mde_range range;
	u32 len;
	u32 sense_len;
	u8 sense[MDY_SENSE];
	u8 page[MDY_REPLY];
};

/**
 * mdy_init() - a drive is being powered on
 * @y: out
 * @cfg: the drive, which must outlive it
 * @saved: mode pages saved earlier under the same description; NULL: none
 * @now_ns: the time
 */
void mdy_init(struct mdy *y, const struct mde_config *cfg, const struct mdp_modes *saved,
	      u64 now_ns);

/**
 * mdy_list_len() - bytes of a command's parameter list
 * @cdb: the command
 *
 * Return: 0 if it has none.
 */
u32 mdy_list_len(const u8 *cdb);

/**
 * mdy_command() - carry a command out, or find out what it wants of the engine
 * @y: the drive
 * @c: the command
 * @a: out
 *
 * If the engine has no room it may come again.
 *
 * Return: true: it wants @a->range; false: it has ended, with data, sense data, or neither.
 */
bool mdy_command(struct mdy *y, const struct mdy_command *c, struct mdy_answer *a);

/**
 * mdy_bad_sector() - sense data of a sector that cannot be read
 * @sense: out
 * @error: enum mde_error
 * @asc: additional sense code of one that is uncorrectable
 * @info: INFORMATION names the sector
 * @lbn: the sector
 *
 * Return: how many bytes.
 */
u32 mdy_bad_sector(u8 sense[MDY_SENSE], enum mde_error error, u8 asc, bool info, u64 lbn);

/**
 * mdy_sense() - sense data
 * @sense: out
 * @key: sense key
 * @asc: additional sense code
 *
 * Return: how many bytes.
 */
u32 mdy_sense(u8 sense[MDY_SENSE], u8 key, u8 asc);

/**
 * mdy_wakes() - a command for the medium arrives
 * @y: the drive
 * @now_ns: the time
 *
 * Return: whether it finds the spindle standing, or slow.
 */
bool mdy_wakes(struct mdy *y, u64 now_ns);

#endif /* MECHDISK_REPLY_H */
