/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The file from which a scrub goes on: lines of text.
 */
#ifndef SCRUB_STATE_H
#define SCRUB_STATE_H

#include "compare.h"
#include "window.h"

/**
 * state_load() - go on where a file says
 * @path: of the file
 * @array: array
 * @windows: returned: initialised, if there is such a file
 * @findings: returned: what had been found
 *
 * Return: 1: it is so; 0: there is no such file; -1: refusal() says what is wrong with it.
 */
int state_load(const char *path, const struct array *array, struct windows *windows,
	       struct findings *findings);

/**
 * state_save() - write it, replacing the old one when it is on the disk
 * @path: of the file
 * @array: array
 * @windows: those that are done are noted
 * @findings: what was found
 *
 * Return: 0, or -1 with errno; then the old one is as it was.
 */
int state_save(const char *path, const struct array *array, const struct windows *windows,
	       const struct findings *findings);

#endif /* SCRUB_STATE_H */
