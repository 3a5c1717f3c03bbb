/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a SCSI command came to: status, sense data, big-endian numbers (SPC-4, SBC-3).
 */
#ifndef SG_SENSE_H
#define SG_SENSE_H

#include "../../include/fb_shim.h"

#define SGS_LEN 64		/* bytes of sense data asked for */

#define SGS_CHECK_CONDITION 0x02	/* status */
#define SGS_RESERVATION_CONFLICT 0x18

enum sgs_key {
	SGS_NO_SENSE = 0x0,
	SGS_RECOVERED = 0x1,
	SGS_NOT_READY = 0x2,
	SGS_MEDIUM = 0x3,
	SGS_HARDWARE = 0x4,
	SGS_ILLEGAL = 0x5,
	SGS_ATTENTION = 0x6,
	SGS_ABORTED = 0xb,
};

/* Sense data */
struct sgs {
	u8 key;	/* enum sgs_key */
	u8 asc;	/* additional sense code */
	u8 ascq;	/* and its qualifier */
	bool info;	/* @block is valid */
	u64 block;	/* INFORMATION: for a medium error the drive's block that failed */
};

/* Understand sense data, of either format */
void sgs_read(const u8 *data, size_t len, struct sgs *s);

/* A big-endian number. @bytes: how many, at most 8 */
u64 sgs_get(const u8 *p, u32 bytes);

/* Write one. @bytes: how many, at most 8 */
void sgs_put(u8 *p, u32 bytes, u64 value);

#endif /* SG_SENSE_H */
