// SPDX-License-Identifier: GPL-2.0
/*
 * A run; see sim_run.h.
 */
#include <time.h>

#include "tools/model/model_text.h"
#include "sim_run.h"
#include "sim_file.h"

#define SIM_NS_PER_S 1000000000ULL
#define SIM_PROGRESS_S 0.5
/* a whole scan that reads nothing in so many foreground requests never ends */
#define SIM_STALL_REQUESTS 1000000

double sim_wall_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

void sim_run_model(struct sim *sim)
{
	struct dm_fault err;
	size_t len;
	char *text = sim_file_read(sim->o.model, &len);

	if (fb_model_text_parse(text, len, &sim->dm, &err))
		sim_fail("%s:%u: %s", sim->o.model, err.line, err.reason);
	free(text);
}

void sim_run_begin(struct sim *sim)
{
	struct sims *s = &sim->sched;
	const struct simo *o = &sim->o;
	struct disk_model *dm = o->map ? sim->dm : NULL;
	struct sim_drive_info info;

	s->o = o;
	s->load = &sim->load;
	s->task = &sim->task;
	sim_drive_info(s->drive, &info);
	if (sim->dm && info.sectors != dm_info(sim->dm)->sectors)
		sim_fail("%s has %llu sectors, %s has %llu", o->drive,
			 (unsigned long long)info.sectors, o->model,
			 (unsigned long long)dm_info(sim->dm)->sectors);
	siml_init(&sim->load, o, sim->dm, info.sectors, info.block);
	simt_init(&sim->task, o, dm, info.sectors, info.block, !info.look_ahead_off);
	sims_init(s, dm);
	/* what "the default" and "the drive's queue" came to */
	if (!sim->o.depth)
		sim->o.depth = s->engine.depth;
	if (*o->log)
		s->stats.log = sim_file_create(o->log);
}

/* how much of the run is done, by what is nearest to its end */
static double sim_share(const struct sim *sim)
{
	const struct simo *o = &sim->o;
	double share = 0;

	if (o->seconds)
		share = max(share, sim->now_ns / (o->seconds * SIM_NS_PER_S));
	if (o->requests)
		share = max(share, (double)sim->sched.stats.requests / o->requests);
	if (o->whole)
		share = max(share, (double)sim->task.got / sim->task.total);
	return max(share, siml_share_done(&sim->load));
}

static bool sim_stopped(const struct sim *sim)
{
	return sim->stop && atomic_load(sim->stop);
}

static bool sim_over(const struct sim *sim)
{
	const struct simo *o = &sim->o;

	return siml_over(&sim->load) ||
	       (o->seconds && sim->now_ns >= o->seconds * SIM_NS_PER_S) ||
	       (o->requests && sim->sched.stats.requests >= o->requests) ||
	       (o->whole && simt_over(&sim->task));
}

static void sim_check_stall(struct sim *sim)
{
	u64 requests = sim->sched.stats.requests;

	if (sim->task.paused)
		sim_fail("whole: the scan has paused: too many reads took seconds");
	if (sim->task.got != sim->got) {
		sim->got = sim->task.got;
		sim->got_requests = requests;
	} else if (requests - sim->got_requests > SIM_STALL_REQUESTS) {
		sim_fail("whole: no block read in %d foreground requests, %llu of %llu are left",
			 SIM_STALL_REQUESTS,
			 (unsigned long long)(sim->task.total - sim->task.got),
			 (unsigned long long)sim->task.total);
	}
}

static void sim_mind(struct sim *sim)
{
	double now_s;

	if (++sim->events % sim->progress_events)
		return;
	if (sim->o.whole)
		sim_check_stall(sim);
	if (!sim->progress)
		return;
	now_s = sim_wall_s();
	if (now_s < sim->told_s + SIM_PROGRESS_S)
		return;
	sim->told_s = now_s;
	fprintf(stderr, "progress %.5f\n", sim_share(sim));
}

static void sim_event(struct sim *sim)
{
	struct sims *s = &sim->sched;
	u64 arrival_ns = siml_next_ns(&sim->load), until_ns = arrival_ns;
	struct sim_drive_done done;

	if (s->engine.window_ns)
		until_ns = min(until_ns, s->engine.window_ns);
	if (s->pace.open_ns)
		until_ns = min(until_ns, s->pace.open_ns);
	until_ns = min(until_ns, min(s->idle_ns, s->due_ns));
	until_ns = min(until_ns, min(sim->task.add_ns, fb_cost_next_ns(&s->cost)));
	if (sim_drive_wait(s->drive, until_ns, &done)) {
		sim->now_ns = done.report_ns;
		sims_complete(s, &done);
	} else if (sim_stopped(sim)) {
		return;
	} else if (until_ns == SIML_NEVER) {
		sim_fail("nothing will ever happen again");
	} else {
		/* a real drive's host may have been late */
		sim->now_ns = max(sim->now_ns, until_ns);
		if (until_ns == arrival_ns)
			sims_insert(s, siml_arrive(&sim->load), until_ns);
		else if (until_ns == s->engine.window_ns)
			s->engine.window_ns = 0;
		if (until_ns == sim->task.add_ns)
			simt_add(&sim->task);
	}
	sims_fill(s, sim->now_ns);
}

void sim_run(struct sim *sim)
{
	sim->began_s = sim_wall_s();
	sims_fill(&sim->sched, sim->now_ns);
	while (!sim_over(sim) && !sim_stopped(sim)) {
		sim_event(sim);
		sim_mind(sim);
	}
}

void sim_run_end(struct sim *sim)
{
	if (sim->sched.stats.log)
		sim_file_finish(sim->sched.stats.log);
	if (*sim->o.save)
		simt_save(&sim->task);
	simt_destroy(&sim->task);
	siml_destroy(&sim->load);
	dm_free(sim->dm);
}
