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

/**
 * struct report - how a scrub went
 * @array: array
 * @windows: windows
 * @findings: what was found
 * @second: second comparisons
 * @state: "complete", "interrupted" or "failed"
 * @error: why it failed, or NULL
 * @resumed: it went on where another had been
 * @seconds: that it took, without what another had done
 * @taken: sectors of all members that were read
 */
struct report {
	const struct array *array;
	const struct windows *windows;
	const struct findings *findings;
	const struct second *second;
	const char *state;
	const char *error;
	bool resumed;
	double seconds;
	uint64_t taken;
};

/**
 * report_progress() - one line: how far it is, and when it will be over
 * @report: so far
 * @nr_done: windows that were done when it began
 * @waiting: what it waits for, or NULL
 */
void report_progress(const struct report *report, uint64_t nr_done, const char *waiting);

/**
 * report_text() - the end in words
 * @report: all
 */
void report_text(const struct report *report);

/**
 * report_json() - the end as one object
 * @report: all
 */
void report_json(const struct report *report);

#endif /* SCRUB_REPORT_H */
