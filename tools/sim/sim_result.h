/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What came of a run, as JSON. Documentation/sim.rst describes each value.
 */
#ifndef SIM_RESULT_H
#define SIM_RESULT_H

#include "sim_sched.h"

/*
 * Settings and results. @s: the scheduler at the end of the run. @end_ns: disk time of the run.
 * @wall_s: how long it took us. @more: further members, as JSON, each with a comma before it
 */
void simr_print(const struct sims *s, u64 end_ns, double wall_s, const char *more,
		FILE *out);

#endif /* SIM_RESULT_H */
