/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who the simulated drive says it is, and which sectors a command names: the
 * part of its SCSI commands that the kernel module and the program in user
 * space have in common.
 *
 * Bytes in, bytes out; takes no lock.
 */
#ifndef MECHDISK_REPLY_H
#define MECHDISK_REPLY_H

#include "mechdisk_engine.h"

/* Room for any reply here. */
#define MDY_REPLY	576
#define MDY_ATA_PASS_16	0x85
#define MDY_ATA_SENSE	22
#define MDY_UNMAP	0x42
#define MDY_UNMAP_LIST	24	/* bytes of its parameter list: one range */

/**
 * struct mdy_range - what a command wants of the engine
 * @op: what it wants
 * @lbn: first sector
 * @count: how many; 0 of a flush
 * @flags: for mde_submit()
 * @same: a write whose data are one sector, repeated
 * @gone_lbn: first of the sectors that lose their data when a flush ends
 * @gone: how many
 * @at_once: it ends when it has begun (a flush with IMMED)
 */
struct mdy_range {
	enum mde_op op;
	u64 lbn;
	u32 count;
	u32 flags;
	bool same;
	u64 gone_lbn;
	u32 gone;
	bool at_once;
};

/**
 * mdy_longest() - longest transfer
 * @cfg: the drive
 *
 * Return: LBNs.
 */
u32 mdy_longest(const struct mde_config *cfg);

/**
 * mdy_wwn() - world-wide name: a hash of vendor, product and serial
 * @cfg: the drive
 * @naa: its first digit (SPC-5, 7.7.6.6)
 */
u64 mdy_wwn(const struct mde_config *cfg, u64 naa);

/* Nominal rotation rate, turns a minute. */
static inline u16 mdy_rpm(const struct mde_config *cfg)
{
	return (60000000000000ULL + cfg->period_ps / 2) / cfg->period_ps;
}

/**
 * mdy_inquiry() - carry out INQUIRY
 * @cfg: the drive
 * @cdb: the command
 * @reply: filled with the whole reply, whatever the allocation length
 *
 * Return: length of the reply; 0 if there is no such page.
 */
u32 mdy_inquiry(const struct mde_config *cfg, const u8 *cdb, u8 reply[MDY_REPLY]);

/**
 * mdy_capacity_10() - carry out READ CAPACITY(10)
 * @cfg: the drive
 * @reply: filled in
 *
 * Return: length of the reply.
 */
u32 mdy_capacity_10(const struct mde_config *cfg, u8 reply[MDY_REPLY]);

/**
 * mdy_capacity_16() - carry out READ CAPACITY(16)
 * @cfg: the drive
 * @reply: filled in
 *
 * Return: length of the reply.
 */
u32 mdy_capacity_16(const struct mde_config *cfg, u8 reply[MDY_REPLY]);

/**
 * mdy_request_sense() - carry out REQUEST SENSE
 * @cfg: the drive
 * @ascq: its power condition, see mdo_ascq()
 * @reply: filled in
 *
 * Return: length of the reply; 0 if the drive does not know the command.
 */
u32 mdy_request_sense(const struct mde_config *cfg, u8 ascq, u8 reply[MDY_REPLY]);

/**
 * mdy_ata() - carry out ATA PASS-THROUGH(16)
 * @cfg: the drive
 * @cdb: the command
 * @sense: filled with the sense data that are its answer, MDY_ATA_SENSE bytes
 *
 * Return: whether the drive answers CHECK POWER MODE, and the command is that.
 */
bool mdy_ata(const struct mde_config *cfg, const u8 *cdb, u8 *sense);

/**
 * mdy_knows() - whether who translates for a drive has a command, or nobody does
 * @cfg: the drive's description
 * @opcode: the command
 *
 * Return: false if a SATA drive refuses it that a SCSI drive would carry out.
 */
bool mdy_knows(const struct mde_config *cfg, u8 opcode);

/**
 * mdy_names_sectors() - which sectors does a command name, and what for?
 * @cdb: the command
 * @r: @op, @lbn and @count set if it names any
 *
 * Return: whether it is a read, write, verify or flush.
 */
bool mdy_names_sectors(const u8 *cdb, struct mdy_range *r);

/**
 * mdy_names_same() - which sectors does WRITE SAME name?
 * @cdb: the command
 * @r: all set if it is one
 *
 * Return: whether it is.
 */
bool mdy_names_same(const u8 *cdb, struct mdy_range *r);

/**
 * mdy_same_flags() - flags of WRITE SAME
 * @cdb: the command
 * @r: with UNMAP it becomes a flush, after which the sectors are gone
 *
 * Return: false if there are others, or no count.
 */
bool mdy_same_flags(const u8 *cdb, struct mdy_range *r);

/**
 * mdy_unmap() - which sectors does UNMAP name?
 * @list: its parameter list
 * @len: bytes of it
 * @r: set to a flush, after which the sectors are gone
 *
 * Return: false if the list is not one of at most one range.
 */
bool mdy_unmap(const u8 *list, u32 len, struct mdy_range *r);

/**
 * mdy_flags() - flags of a command that names sectors
 * @cdb: the command
 * @r: @flags and @at_once set
 *
 * DPO and SYNC_NV are hints that need not be taken.
 *
 * Return: false if it asks for protection information, or VERIFY for a
 * comparison.
 */
bool mdy_flags(const u8 *cdb, struct mdy_range *r);

#endif /* MECHDISK_REPLY_H */
