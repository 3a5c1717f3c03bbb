// SPDX-License-Identifier: GPL-2.0
/*
 * The simulator host: the core (model, policies, search, map, head) and the simulated
 * drive's engine in one program, driven from event to event. One run; settings are
 * arguments NAME=VALUE, results are JSON. People use tools/freeblock sim.
 */
#include "sim_result.h"
#include "sim_run.h"
#include "sim_file.h"

#define SIM_PROGRESS_EVENTS 4096	/* a few milliseconds of ours */

int main(int argc, char **argv)
{
	struct sim *sim = calloc(1, sizeof(*sim));
	const struct simo *o;

	if (!sim)
		sim_fail("out of memory");
	o = &sim->o;
	sim->progress = argc > 1 && !strcmp(argv[1], "--progress");
	sim->progress_events = SIM_PROGRESS_EVENTS;
	simo_read(&sim->o, argv + 1 + sim->progress, argc - 1 - sim->progress);
	/* without a map only a foreground within cylinders asks where those are */
	if (o->map || o->place == SIMO_CYLINDERS)
		sim_run_model(sim);
	sim->sched.drive = sim_drive_open(o->drive, o->set, o->noise, o->seed);
	sim_run_begin(sim);
	sim_run(sim);
	simr_print(&sim->sched, sim->now_ns, sim_wall_s() - sim->began_s, "", stdout);
	sim_drive_close(sim->sched.drive);
	sim_run_end(sim);
	free(sim);
	return 0;
}
