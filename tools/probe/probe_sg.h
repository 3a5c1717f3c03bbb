/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Commands at a real drive, and their times: a disk behind the SCSI generic interface.
 */
#ifndef PROBE_SG_H
#define PROBE_SG_H

#include <signal.h>

#include "probe_protocol.h"
#include "../sg/sg_device.h"
#include "../sg/sg_sense.h"

#define PRS_AT_DRIVE 2		/* commands at the drive at once */
#define PRS_NEVER U64_MAX

/* A command at the drive */
struct prs_cmd {
	bool busy;	/* in use */
	u32 number;	/* which of the caller's it is */
	u64 late_ns;	/* when it is given up */
	u8 cdb[PRB_CDB_LEN];	/* the command */
	u8 sense[SGS_LEN];	/* what it failed of */
	u8 *data;	/* what it transfers, of the longest command's size */
};

/* The drive */
struct prs {
	struct sgv v;	/* the device */
	u32 unit;	/* the drive's blocks in a unit */
	u64 blocks;	/* capacity, units */
	u32 longest;	/* most units of a command */
	bool gone;	/* nothing is sent any more */
	bool stop;	/* SIGINT, or the end of standard input, ends the batch */
	struct prs_cmd cmd[PRS_AT_DRIVE];	/* commands */
	u32 flying;	/* how many are at the drive */
	sigset_t mask;	/* signals to hold back while waiting: fewer than else */
};

/* A command that has ended */
struct prs_end {
	u32 number;	/* which */
	struct prb_result result;	/* @done, @status and @asc are set */
};

/* The clock */
u64 prs_now(void);

/*
 * Open a drive, and take care that its times are right. Ends the program, saying why, if it
 * cannot be used
 */
void prs_open(struct prs *p, const char *path, bool in_use);

/* Close it. @p: the drive, with no command at it */
void prs_close(struct prs *p);

/* A batch begins: what was to stop an earlier one is forgotten */
void prs_begin(struct prs *p);

/*
 * Send an op. Returns 0, or -errno: it was not sent. @p: the drive, with less than PRS_AT_DRIVE
 * commands at it. @op: the op, within the drive, and allowed. @submit_ns: out: when it was sent
 */
int prs_submit(struct prs *p, const struct prb_op *op, u32 number, u64 *submit_ns);

/*
 * Wait for the end of a command. Never waits for ever: a command that the kernel's error handling
 * does not end either is given up, and the drive with it. Returns false if it is @until_ns, or,
 * with none at the drive, @p->stop. @until_ns: or until then; PRS_NEVER only with a command at
 * the drive
 */
bool prs_wait(struct prs *p, u64 until_ns, struct prs_end *end);

/*
 * Carry out a command as such. One that meets a unit attention is sent again. @p: the drive, with
 * no command at it. @out: data it sends. @in: room for the data that it returns
 */
void prs_command(struct prs *p, const struct prb_cdb *c, u8 *out, u8 *in,
		 struct prb_answer *a);

#endif /* PROBE_SG_H */
