/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the simulated drive's unit tests share.
 */
#ifndef MECHDISK_UNIT_SUPPORT_H
#define MECHDISK_UNIT_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "mechdisk_engine.h"
#include "mechdisk_text.h"

/* Lines that silence everything but the mechanics. */
#define MDU_QUIET \
	"noise off\ncommand_overhead_ns 0 0\nbus_ns 0\n" \
	"completion_overhead_ns 0\njitter_ns 0\n"

/**
 * mdu_load() - read one of the shipped descriptions
 * @name: file in tools/mechdisk/drives
 * @extra: lines to append, or NULL
 * @cfg: filled in; the test fails if the text is refused
 */
void mdu_load(const char *name, const char *extra, struct mde_config *cfg);

/**
 * mdu_parse() - read a description given as a string
 * @text: the description
 * @cfg: filled in
 * @err: filled in on an error
 *
 * Return: as mdt_parse().
 */
int mdu_parse(const char *text, struct mde_config *cfg, struct mdt_error *err);

/**
 * mdu_vectors() - open a file of vectors, its header line skipped
 * @name: file below FREEBLOCK_DRIVES
 *
 * Return: the file, or NULL after having said that the test is skipped.
 */
FILE *mdu_vectors(const char *name);

/**
 * mdu_finish() - let a drive live until its next report
 * @e: the drive
 * @now: its clock; set to the instant of the report, ns
 *
 * Return: the slot reported, still to be released.
 */
int mdu_finish(struct mde *e, u64 *now);

/**
 * mdu_run() - carry out one command on an idle drive
 * @e: the drive
 * @now: its clock, ns; set to the instant of the report
 * @op: what to do
 * @lbn: first LBN
 * @count: LBNs
 *
 * Return: the slot as it was when the command was reported.
 */
struct mde_slot mdu_run(struct mde *e, u64 *now, enum mde_op op, u64 lbn,
			u32 count);

/**
 * mdu_turn() - an angle as a fraction of a turn
 * @angle: 2^64 = one revolution
 *
 * Return: 0 to 1.
 */
double mdu_turn(u64 angle);

/**
 * mdu_turn_apart() - how far two angles differ
 * @a: fraction of a turn
 * @b: fraction of a turn
 *
 * Return: 0 to 0.5 turns.
 */
double mdu_turn_apart(double a, double b);

#endif /* MECHDISK_UNIT_SUPPORT_H */
