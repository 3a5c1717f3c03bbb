/* SPDX-License-Identifier: GPL-2.0 */
/*
 * SCSI commands of the simulated drive in user space, as mechdisk_cdb.c and
 * mechdisk_scsi.c carry them out in the kernel.  One at a time.
 */
#ifndef MECHDISK_HOST_SCSI_H
#define MECHDISK_HOST_SCSI_H

#include "host.h"
#include "../mechdisk_diag.h"
#include "../mechdisk_pages.h"
#include "../../probe/probe_protocol.h"

/* Sense keys. */
#define MDX_RECOVERED	0x1
#define MDX_MEDIUM	0x3
#define MDX_ILLEGAL	0x5

/**
 * struct mdx - what commands leave behind, apart from the engine
 * @pages: mode pages
 * @diag: result of the last SEND DIAGNOSTIC
 * @longest: longest transfer, LBNs
 */
struct mdx {
	struct mdp pages;
	struct mdd_result diag;
	u32 longest;
};

/**
 * mdx_init() - as the drive is powered on
 * @x: out
 * @d: the drive
 */
void mdx_init(struct mdx *x, struct mdh_drive *d);

/**
 * mdx_pass() - let time pass
 * @d: the drive, with no command that anyone waits for
 * @until: the time, ns
 */
void mdx_pass(struct mdh_drive *d, u64 until);

/**
 * mdx_command() - carry out a command
 * @x: what commands leave behind
 * @d: the idle drive; its clock is set to the command's end
 * @c: the command
 * @out: data it sends
 * @in: room for @c->in bytes of data that it returns
 * @a: status, data length and sense data are set
 */
void mdx_command(struct mdx *x, struct mdh_drive *d, const struct prb_cdb *c,
		 const u8 *out, u8 *in, struct prb_answer *a);

#endif /* MECHDISK_HOST_SCSI_H */
