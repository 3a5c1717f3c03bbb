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

/**
 * struct prs_cmd - a command at the drive
 * @busy: in use
 * @number: which of the caller's it is
 * @late_ns: when it is given up
 * @cdb: the command
 * @sense: what it failed of
 * @data: what it transfers, of the longest command's size
 */
struct prs_cmd {
	bool busy;
	u32 number;
	u64 late_ns;
	u8 cdb[PRB_CDB_LEN];
	u8 sense[SGS_LEN];
	u8 *data;
};

/**
 * struct prs - the drive
 * @v: the device
 * @unit: the drive's blocks in a unit
 * @blocks: capacity, units
 * @longest: most units of a command
 * @gone: nothing is sent any more
 * @stop: SIGINT, or the end of standard input, ends the batch
 * @cmd: commands
 * @flying: how many are at the drive
 * @mask: signals to hold back while waiting: fewer than else
 */
struct prs {
	struct sgv v;
	u32 unit;
	u64 blocks;
	u32 longest;
	bool gone;
	bool stop;
	struct prs_cmd cmd[PRS_AT_DRIVE];
	u32 flying;
	sigset_t mask;
};

/**
 * struct prs_end - a command that has ended
 * @number: which
 * @result: @done, @status and @asc are set
 */
struct prs_end {
	u32 number;
	struct prb_result result;
};

/**
 * prs_now() - the clock
 *
 * Return: ns.
 */
u64 prs_now(void);

/**
 * prs_open() - open a drive, and take care that its times are right
 * @p: out
 * @path: /dev/sgX
 * @in_use: others may use it, too
 *
 * Ends the program, saying why, if it cannot be used.
 */
void prs_open(struct prs *p, const char *path, bool in_use);

/**
 * prs_close() - close it
 * @p: the drive, with no command at it
 */
void prs_close(struct prs *p);

/**
 * prs_begin() - a batch begins: what was to stop an earlier one is forgotten
 * @p: the drive
 */
void prs_begin(struct prs *p);

/**
 * prs_submit() - send an op
 * @p: the drive, with less than PRS_AT_DRIVE commands at it
 * @op: the op, within the drive, and allowed
 * @number: what the caller calls it
 * @submit_ns: out: when it was sent
 *
 * Return: 0, or -errno: it was not sent.
 */
int prs_submit(struct prs *p, const struct prb_op *op, u32 number, u64 *submit_ns);

/**
 * prs_wait() - wait for the end of a command
 * @p: the drive
 * @until_ns: or until then; PRS_NEVER only with a command at the drive
 * @end: out
 *
 * Never waits for ever: a command that the kernel's error handling does not end either
 * is given up, and the drive with it.
 *
 * Return: false if it is @until_ns, or, with none at the drive, @p->stop.
 */
bool prs_wait(struct prs *p, u64 until_ns, struct prs_end *end);

/**
 * prs_command() - carry out a command as such
 * @p: the drive, with no command at it
 * @c: the command
 * @out: data it sends
 * @in: room for the data that it returns
 * @a: out
 *
 * One that meets a unit attention is sent again.
 */
void prs_command(struct prs *p, const struct prb_cdb *c, u8 *out, u8 *in,
		 struct prb_answer *a);

#endif /* PROBE_SG_H */
