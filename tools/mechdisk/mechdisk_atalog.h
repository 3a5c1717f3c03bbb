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

/* Power conditions, deepest last. */
enum md_tf_condition {
	MD_TF_IDLE_A, MD_TF_IDLE_B, MD_TF_IDLE_C, MD_TF_STANDBY_Y, MD_TF_STANDBY_Z,
	MD_TF_CONDITIONS, MD_TF_ACTIVE = MD_TF_CONDITIONS
};

/* Registers of a command. */
struct md_tf_regs {
	u8 command;	/* command */
	u8 device;	/* device */
	u16 feature;	/* features */
	u16 count;	/* sector count */
	u64 lba;	/* the three LBA registers, twice */
};

/* Registers when it has ended. */
struct md_tf_result {
	u8 status;	/* status */
	u8 error;	/* error */
	u8 device;	/* device */
	u16 count;	/* sector count */
	u64 lba;	/* the LBA registers */
};

/* State of a SATA drive. */
struct md_tf {
	const struct mde_config *cfg;	/* its description */
	struct mde_caching caching;	/* as SET FEATURES has it */
	/* a command put it in this condition; MD_TF_ACTIVE: none did */
	enum md_tf_condition forced;
	bool asleep;	/* by SLEEP: hears a reset only */
	u64 busy_ns;	/* when the medium was ready for the last command that came for it */
	u32 standby_ds;	/* standby timer, tenths of a second; 0: off */
	bool epc;	/* extended power conditions are enabled */
	u8 apm;	/* level of advanced power management; 0: off */
	/* SCT error recovery control of reads and writes, tenths of a second; 0: none */
	u16 erc_ds[2];
	u16 sct_command;	/* last SCT command, its function and its result */
	u16 sct_function;	/* that function */
	u16 sct_state;	/* that result (extended status code) */
	bool failed;	/* an NCQ command has failed, and READ LOG 10h has not been here */
	u8 failed_tag;	/* its tag */
	struct md_tf_result failure;	/* its registers */
};

/* How long it takes to leave a power condition. */
u32 md_tf_recovery_ms(enum md_tf_condition c);

/* World-wide name: a hash of vendor, product and serial. @naa: its first digit (SPC-5, 7.7.6.6). */
u64 md_tf_wwn(const struct mde_config *cfg, u64 naa);

/* IDENTIFY DEVICE data. @page: filled in. */
void md_tf_identify(const struct md_tf *t, u8 page[MD_TF_PAGE]);

/* How many pages a log has. Returns 0 if there is no such log. */
u32 md_tf_log_pages(u8 log);

/* A page of a log. @t: the drive; reading log 10h ends its NCQ error. @page: filled in. */
void md_tf_log(struct md_tf *t, u8 log, u32 n, u8 page[MD_TF_PAGE]);

/* Get after what time a read gives a sector up. Returns ns; 0: there is no limit. */
static inline u64 md_tf_erc_ns(const struct md_tf *t)
{
	return t->erc_ds[0] * 100000000ULL;
}

/*
 * Carry out an SCT command. @page: the command, as written to log E0h. @result: set to how it
 * ends.
 */
void md_tf_sct(struct md_tf *t, const u8 page[MD_TF_PAGE], struct md_tf_result *result);

#endif /* MECHDISK_ATALOG_H */
