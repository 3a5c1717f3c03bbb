/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is printed: progress while a scrub goes on, and what was found.
 */
#ifndef SCRUB_REPORT_H
#define SCRUB_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "compare.h"
#include "second.h"
#include "window.h"

/* How a scrub went */
struct report {
	const struct array *array;
	const struct windows *windows;
	const struct findings *findings;
	const struct second *second;
	const char *state;	/* "complete", "interrupted" or "failed" */
	const char *error;	/* why it failed, or NULL */
	bool resumed;	/* it went on where another had been */
	double seconds;	/* that it took, without what another had done */
	uint64_t taken;	/* sectors of all members that were read */
};

/* One line: how far it is, and when it will be over. @waiting: what it waits for, or NULL */
void report_progress(const struct report *report, uint64_t nr_done, const char *waiting);

/* The end in words */
void report_text(const struct report *report);

/* The end as a JSON object */
void report_json(const struct report *report);

#endif /* SCRUB_REPORT_H */
