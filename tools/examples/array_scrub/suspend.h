/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Writes to a part of an array, suspended for a moment. A writer waits meanwhile, and would wait
 * for ever if this program died: so a second process watches it, and lifts the suspension
 * when the first one has ended or takes too long. While writes are suspended nothing here may
 * wait for one: no memory is paged in, no file is written.
 */
#ifndef SCRUB_SUSPEND_H
#define SCRUB_SUSPEND_H

#include <stdbool.h>
#include <stdint.h>

#include "array.h"

#define SUSPEND_SECONDS_MAX 10

/*
 * Start the process that watches. Call it while there is one thread and little memory. Returns 0,
 * or -1 with errno
 */
int suspend_init(const struct array *array);

/*
 * Suspend writes; those that were under way have ended when it returns. Returns 0, or -1 with
 * errno; then nothing is suspended
 */
int suspend_begin(uint64_t low, uint64_t high);

/*
 * Let them go on. Returns whether they were suspended until now: nobody else has lifted it. @low:
 * as given to suspend_begin()
 */
bool suspend_end(uint64_t low, uint64_t high);

/* End the process that watches */
void suspend_exit(void);

#endif /* SCRUB_SUSPEND_H */
