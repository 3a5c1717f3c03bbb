/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a simulated SATA drive answers: taskfile registers in, registers and
 * pages out (ACS-3).
 *
 * Which sectors a command wants, whether the drive knows it, its features,
 * power conditions and logs.  Moves no sectors; takes no lock, the caller
 * serialises.
 */
#ifndef MECHDISK_TASKFILE_H
#define MECHDISK_TASKFILE_H

#include "mechdisk_reply.h"

/* Status register. */
#define MD_TF_READY	0x50	/* DRDY, and a bit that always was set */
#define MD_TF_FAULT	0x20
#define MD_TF_ERROR	0x01
/* Error register. */
#define MD_TF_UNC	0x40
#define MD_TF_IDNF	0x10
#define MD_TF_ABRT	0x04

/* Pages of logs and IDENTIFY DEVICE data have that many bytes. */
#define MD_TF_PAGE	512
/* Pages of ranges that DATA SET MANAGEMENT takes, and ranges of one. */
#define MD_TF_TRIM_PAGES	1
#define MD_TF_TRIM_RANGES	64

/* Power conditions that have a timer, deepest last. */
enum md_tf_condition {
	MD_TF_IDLE_A, MD_TF_IDLE_B, MD_TF_IDLE_C, MD_TF_STANDBY_Y, MD_TF_STANDBY_Z,
	MD_TF_CONDITIONS, MD_TF_ACTIVE = MD_TF_CONDITIONS
};

/**
 * struct md_tf_regs - registers of a command
 * @command: command
 * @device: device
 * @feature: features
 * @count: sector count
 * @lba: the three LBA registers, twice
 */
struct md_tf_regs {
	u8 command;
	u8 device;
	u16 feature;
	u16 count;
	u64 lba;
};

/**
 * struct md_tf_result - registers when it has ended
 * @status: status
 * @error: error
 * @device: device
 * @count: sector count
 * @lba: the LBA registers
 */
struct md_tf_result {
	u8 status;
	u8 error;
	u8 device;
	u16 count;
	u64 lba;
};

/**
 * enum md_tf_kind - what is to be done for a command
 * @MD_TF_DONE: nothing: it has been carried out or refused
 * @MD_TF_RANGE: it wants sectors, or a flush
 * @MD_TF_REPLY: its pages are those of md_tf_reply()
 * @MD_TF_TAKE: its page goes to md_tf_take()
 * @MD_TF_TRIM: it wants a flush, and then that the sectors that its page names lose their data
 */
enum md_tf_kind { MD_TF_DONE, MD_TF_RANGE, MD_TF_REPLY, MD_TF_TAKE, MD_TF_TRIM };

/**
 * struct md_tf_timer - when the drive goes to a power condition by itself
 * @enabled: it does
 * @ds: after that time without a command, tenths of a second
 */
struct md_tf_timer {
	bool enabled;
	u32 ds;
};

/**
 * struct md_tf - state of a SATA drive
 * @cfg: its description
 * @caching: as SET FEATURES has it
 * @forced: a command put it in this condition; MD_TF_ACTIVE: none did
 * @asleep: by SLEEP: hears a reset only
 * @busy_ns: when the medium was ready for the last command that came for it
 * @standby_ds: standby timer, tenths of a second; 0: off
 * @epc: extended power conditions are enabled
 * @timer: their timers
 * @apm: level of advanced power management; 0: off
 * @erc_ds: SCT error recovery control of reads and writes, tenths of a second; 0: none
 * @sct_command: last SCT command, its function and its result
 * @sct_function: that function
 * @sct_state: that result (extended status code)
 * @failed: an NCQ command has failed, and READ LOG 10h has not been here
 * @failed_tag: its tag
 * @failure: its registers
 */
struct md_tf {
	const struct mde_config *cfg;
	struct mde_caching caching;
	enum md_tf_condition forced;
	bool asleep;
	u64 busy_ns;
	u32 standby_ds;
	bool epc;
	struct md_tf_timer timer[MD_TF_CONDITIONS];
	u8 apm;
	u16 erc_ds[2];
	u16 sct_command;
	u16 sct_function;
	u16 sct_state;
	bool failed;
	u8 failed_tag;
	struct md_tf_result failure;
};

/**
 * md_tf_init() - a drive is being powered on
 * @t: its state
 * @cfg: its description, which must outlive it
 * @now_ns: the time
 */
void md_tf_init(struct md_tf *t, const struct mde_config *cfg, u64 now_ns);

/**
 * md_tf_reset() - the link has been reset
 * @t: the drive
 *
 * Features stay (software settings preservation).
 */
void md_tf_reset(struct md_tf *t);

/**
 * md_tf_is_queued() - whether a command is an NCQ one
 * @r: the command
 */
bool md_tf_is_queued(const struct md_tf_regs *r);

/**
 * md_tf_is_urgent() - whether a command is an NCQ one of high priority
 * @r: the command
 */
bool md_tf_is_urgent(const struct md_tf_regs *r);

/**
 * md_tf_start() - what a command wants
 * @t: the drive
 * @r: the command
 * @now_ns: the time
 * @range: filled in if it is one for the engine
 * @result: set to how it ends; of a range: if all goes well
 *
 * Return: what to do.
 */
enum md_tf_kind md_tf_start(struct md_tf *t, const struct md_tf_regs *r, u64 now_ns,
			    struct mdy_range *range, struct md_tf_result *result);

/**
 * md_tf_wake() - the medium is wanted: leave a power condition
 * @t: the drive
 * @now_ns: the time
 *
 * Return: the condition it was in.
 */
enum md_tf_condition md_tf_wake(struct md_tf *t, u64 now_ns);

/**
 * md_tf_condition_at() - the power condition
 * @t: the drive
 * @now_ns: the time
 */
enum md_tf_condition md_tf_condition_at(const struct md_tf *t, u64 now_ns);

/**
 * md_tf_recovery_ms() - how long it takes to leave a power condition
 * @c: the condition
 */
u32 md_tf_recovery_ms(enum md_tf_condition c);

/**
 * md_tf_reply() - a page of a command's data
 * @t: the drive
 * @r: the command
 * @n: which, from 0
 * @page: filled in
 *
 * Return: whether there is one.
 */
bool md_tf_reply(struct md_tf *t, const struct md_tf_regs *r, u32 n, u8 page[MD_TF_PAGE]);

/**
 * md_tf_take() - take a command's page
 * @t: the drive
 * @r: the command
 * @page: what was sent
 * @result: set to how it ends
 */
void md_tf_take(struct md_tf *t, const struct md_tf_regs *r, const u8 page[MD_TF_PAGE],
		struct md_tf_result *result);

/**
 * md_tf_trim() - which sectors does a page of DATA SET MANAGEMENT name?
 * @t: the drive
 * @page: what was sent
 * @n: which of its ranges, below MD_TF_TRIM_RANGES
 * @range: @gone_lbn and @gone set; an entry of no sectors is one that is not used
 * @result: set to how the command ends if the drive has not got these sectors
 *
 * Return: whether it has.
 */
bool md_tf_trim(const struct md_tf *t, const u8 page[MD_TF_PAGE], u32 n, struct mdy_range *range,
		struct md_tf_result *result);

/**
 * md_tf_unreadable() - how a command ends that has met a bad sector
 * @error: enum mde_error
 * @lba: the sector
 * @result: set
 */
void md_tf_unreadable(enum mde_error error, u64 lba, struct md_tf_result *result);

/**
 * md_tf_fail_queued() - an NCQ command has failed: the drive drops all others
 * @t: the drive
 * @tag: its tag
 * @result: how it ended
 */
void md_tf_fail_queued(struct md_tf *t, u8 tag, const struct md_tf_result *result);

/* mechdisk_atalog.c */

/**
 * md_tf_identify() - IDENTIFY DEVICE data
 * @t: the drive
 * @page: filled in
 */
void md_tf_identify(const struct md_tf *t, u8 page[MD_TF_PAGE]);

/**
 * md_tf_log_pages() - how many pages a log has
 * @log: its address
 *
 * Return: 0 if there is no such log.
 */
u32 md_tf_log_pages(u8 log);

/**
 * md_tf_log() - a page of a log
 * @t: the drive; reading log 10h ends its NCQ error
 * @log: the log's address
 * @n: the page
 * @page: filled in
 */
void md_tf_log(struct md_tf *t, u8 log, u32 n, u8 page[MD_TF_PAGE]);

/**
 * md_tf_erc_ns() - get after what time a read gives a sector up
 * @t: the drive
 *
 * Return: ns; 0: there is no limit.
 */
static inline u64 md_tf_erc_ns(const struct md_tf *t)
{
	return t->erc_ds[0] * 100000000ULL;
}

/**
 * md_tf_sct() - carry out an SCT command
 * @t: the drive
 * @page: the command, as written to log E0h
 * @result: set to how it ends
 */
void md_tf_sct(struct md_tf *t, const u8 page[MD_TF_PAGE], struct md_tf_result *result);

#endif /* MECHDISK_TASKFILE_H */
