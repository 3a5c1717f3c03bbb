// SPDX-License-Identifier: GPL-2.0
/*
 * How many commands the engine serves per second of one processor's time.
 */
#include "host.h"

#include <time.h>

static double mdh_cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

int mdh_bench(const struct mdh_options *options)
{
	static const struct {
		const char *name;
		enum mdh_policy policy;
		u32 depth;
	} run[] = {
		{ "fcfs_1", MDH_FCFS, 1 },
		{ "sptf_4", MDH_SPTF, 4 },
		{ "sptf_10", MDH_SPTF, 10 },
		{ "sptf_32", MDH_SPTF, 32 },
	};
	struct mdh_options o;
	struct mdh_result r;
	double start;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(run); i++) {
		o = *options;
		o.reads_only = true;
		o.policy = run[i].policy;
		o.policy_given = true;
		o.depth = run[i].depth;
		start = mdh_cpu_s();
		mdh_run_loop(&o, false, &r);
		printf("%s\"%s\": %.0f", i ? ", " : "{", run[i].name,
		       o.requests / (mdh_cpu_s() - start));
	}
	puts("}");
	return 0;
}
