/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Runs of a .fbdrive text: a layout said surface by surface.
 *
 * All take the record whose words are in the text's current line, and return 0,
 * -EINVAL with a reason, or -ENOMEM.
 */
#ifndef MECHDISK_RUNS_H
#define MECHDISK_RUNS_H

#include "mechdisk_check.h"

/* SURFACE FIRST_TRACK in|out TRACKS SECTORS ANGLE SKEW [dead=N] [spares=N]. */
int mdt_add_run(struct mdt *m);

/* RUNS TIMES ANGLE [SURFACE=SECTORS ...]. */
int mdt_repeat_runs(struct mdt *m);

/* CYLINDERS [CYLINDERS ...]. */
int mdt_set_displacement(struct mdt *m);

#endif /* MECHDISK_RUNS_H */
