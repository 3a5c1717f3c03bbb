/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The file from which a scrub goes on: lines of text.
 */
#ifndef SCRUB_STATE_H
#define SCRUB_STATE_H

#include "compare.h"
#include "window.h"

/*
 * Go on where a file says. Returns 1: it is so; 0: there is no such file; -1: refusal() says what
 * is wrong with it. @windows: returned: initialised, if there is such a file; @findings:
 * returned: what had been found
 */
int state_load(const char *path, const struct array *array, struct windows *windows,
	       struct findings *findings);

/*
 * Write it, replacing the old one when it is on the disk. Returns 0, or -1 with errno; then the
 * old one is as it was
 */
int state_save(const char *path, const struct array *array, const struct windows *windows,
	       const struct findings *findings);

#endif /* SCRUB_STATE_H */
