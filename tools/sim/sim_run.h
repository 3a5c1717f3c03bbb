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

/* A run */
struct sim {
	struct simo o;	/* settings */
	struct disk_model *dm;	/* model */
	struct sims sched;	/* the scheduler */
	struct siml load;	/* the foreground */
	struct simt task;	/* the task */
	u64 now_ns;	/* disk time */
	bool progress;	/* tell it on standard error ... */
	u32 progress_events;	/* ... looking at the wall's clock so often */
	atomic_int *stop;	/* set from outside: end the run. NULL: nobody does */
	u64 events;	/* so far */
	double began_s;	/* wall time at the beginning */
	double told_s;	/* and when progress was told last */
	u64 got;	/* blocks read when one was read last */
	u64 got_requests;	/* and foreground requests ended then */
};

/* The wall's clock */
double sim_wall_s(void);

/* Read the model. @sim: the run; @o is set. Out: @dm. Ends the program when it is refused */
void sim_run_model(struct sim *sim);

/*
 * Foreground, task and scheduler at their beginning. Ends the program when model and drive
 * differ, or settings do not fit them. @sim: the run; @o, @dm and @sched.drive are set, the rest
 * is zero
 */
void sim_run_begin(struct sim *sim);

/* Until it is over */
void sim_run(struct sim *sim);

/* Free what sim_run_begin() and sim_run_model() took. @sim: the run; its drive is closed already */
void sim_run_end(struct sim *sim);

#endif /* SIM_RUN_H */
