/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the simulated drive's unit tests share.
 */
#ifndef MECHDISK_UNIT_SUPPORT_H
#define MECHDISK_UNIT_SUPPORT_H

#include <stdio.h>

#include "unit.h"
#include "mechdisk_engine.h"
#include "mechdisk_text.h"

/* Lines that silence everything but the mechanics. */
#define MDU_QUIET \
	"noise off\ncommand_overhead_ns 0 0\nbus_ns 0\n" \
	"completion_overhead_ns 0\njitter_ns 0\n"

/*
 * Read one of the shipped descriptions. @extra: lines to append, or NULL. @cfg: filled in; the
 * test fails if the text is refused
 */
void mdu_load(const char *name, const char *extra, struct mde_config *cfg);

/*
 * Read a description given as a string. Returns as mdt_parse(). @text: the description. @cfg:
 * filled in. @err: filled in on an error
 */
int mdu_parse(const char *text, struct mde_config *cfg, struct mdt_error *err);

/*
 * Open a file of vectors, its header line skipped. Returns the file, or NULL after having said
 * that the test is skipped. @name: file below FREEBLOCK_DRIVES
 */
FILE *mdu_vectors(const char *name);

/*
 * Let a drive live until its next report. Returns the slot reported, still to be released. @now:
 * its clock; set to the instant of the report, ns
 */
int mdu_finish(struct mde *e, u64 *now);

/*
 * Carry out one command on an idle drive. Returns the slot as it was when the command was
 * reported. @now: its clock, ns; set to the instant of the report
 */
struct mde_slot mdu_run(struct mde *e, u64 *now, enum mde_op op, u64 lbn,
			u32 count);

/* An angle as a fraction of a turn. Returns 0 to 1. @angle: 2^64 = one revolution */
double mdu_turn(u64 angle);

/* How far two angles differ. Returns 0 to 0.5 turns */
double mdu_turn_apart(double a, double b);

#endif /* MECHDISK_UNIT_SUPPORT_H */
