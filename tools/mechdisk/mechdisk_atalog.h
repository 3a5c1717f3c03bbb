/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The state of a simulated SATA drive, its IDENTIFY DEVICE data and its logs; the rules are those
 * of mechdisk_taskfile.h.
 */
#ifndef MECHDISK_ATALOG_H
#define MECHDISK_ATALOG_H

#include "mechdisk_engine.h"

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
 * md_tf_recovery_ms() - how long it takes to leave a power condition
 * @c: the condition
 */
u32 md_tf_recovery_ms(enum md_tf_condition c);

/**
 * md_tf_wwn() - world-wide name: a hash of vendor, product and serial
 * @cfg: the drive
 * @naa: its first digit (SPC-5, 7.7.6.6)
 */
u64 md_tf_wwn(const struct mde_config *cfg, u64 naa);

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

#endif /* MECHDISK_ATALOG_H */
