/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A run, whatever the drive: three things happen. A foreground request comes, the drive
 * reports a command, the moment passes until which a free slot was held open. After each
 * the scheduler sends what it can.
 */
#ifndef SIM_RUN_H
#define SIM_RUN_H

#include <stdatomic.h>

#include "sim_sched.h"

/**
 * struct sim - a run
 * @o: settings
 * @dm: model
 * @sched: the scheduler
 * @load: the foreground
 * @task: the task
 * @now_ns: disk time
 * @progress: tell it on standard error ...
 * @progress_events: ... looking at the wall's clock so often
 * @stop: set from outside: end the run. NULL: nobody does
 * @events: so far
 * @began_s: wall time at the beginning
 * @told_s: and when progress was told last
 * @got: blocks read when one was read last
 * @got_requests: and foreground requests ended then
 */
struct sim {
	struct simo o;
	struct disk_model *dm;
	struct sims sched;
	struct siml load;
	struct simt task;
	u64 now_ns;
	bool progress;
	u32 progress_events;
	atomic_int *stop;
	u64 events;
	double began_s;
	double told_s;
	u64 got;
	u64 got_requests;
};

/**
 * sim_wall_s() - the wall's clock
 *
 * Return: seconds, since some moment.
 */
double sim_wall_s(void);

/**
 * sim_run_model() - read the model
 * @sim: the run; @o is set. Out: @dm. Ends the program when it is refused
 */
void sim_run_model(struct sim *sim);

/**
 * sim_run_begin() - foreground, task and scheduler at their beginning
 * @sim: the run; @o, @dm and @sched.drive are set, the rest is zero
 *
 * Ends the program when model and drive differ, or settings do not fit them.
 */
void sim_run_begin(struct sim *sim);

/**
 * sim_run() - until it is over
 * @sim: the run
 */
void sim_run(struct sim *sim);

/**
 * sim_run_end() - free what sim_run_begin() and sim_run_model() took
 * @sim: the run; its drive is closed already
 */
void sim_run_end(struct sim *sim);

#endif /* SIM_RUN_H */
