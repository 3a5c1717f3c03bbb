// SPDX-License-Identifier: GPL-2.0
/*
 * The user-level scheduler (freeblock paper, 4.5): the simulator's pipeline, foreground
 * and scan over a real drive, in real time. One run; settings are arguments NAME=VALUE,
 * results are JSON. People use tools/freeblock sg.
 */
#include <math.h>
#include <signal.h>

#include "sg_drive.h"
#include "sg_keep.h"
#include "../sim/sim_file.h"
#include "../sim/sim_result.h"
#include "../sim/sim_run.h"

#define SGM_PROGRESS_EVENTS 32	/* a drive has some hundreds in a second */
#define SGM_ALLOW_DIO "/sys/module/sg/parameters/allow_dio"

enum sgm_name {
	SGM_DEVICE, SGM_ALLOW_WRITES, SGM_CONFIRM, SGM_REPORT_US, SGM_SEARCH_US,
	SGM_TIMEOUT_MS, SGM_DIRECT, SGM_CRC, SGM_NAMES,
};

/* A setting that only a real drive has */
struct sgm_setting {
	const char *name;	/* as in words */
	const char *preset;	/* default */
	double most;	/* 0: it is a text; else a number from 0 to this */
};

static const struct sgm_setting sgm_settings[SGM_NAMES] = {
	[SGM_DEVICE] = { "device", "", 0 },
	[SGM_ALLOW_WRITES] = { "allow_writes", "0", 1 },
	[SGM_CONFIRM] = { "confirm", "", 0 },
	[SGM_REPORT_US] = { "report_us", "0", 10000 },
	/* a search takes some 100 us, to wake up some 10 */
	[SGM_SEARCH_US] = { "search_us", "500", 10000 },
	/* sd's, too */
	[SGM_TIMEOUT_MS] = { "timeout_ms", "30000", 600000 },
	[SGM_DIRECT] = { "direct", "0", 1 },
	[SGM_CRC] = { "crc", "", 0 },
};

/* set by SIGINT and SIGTERM, and when the drive is lost */
static atomic_int sgm_stop;

/* A run */
struct sgm {
	struct sim sim;	/* what it has in common with the simulator's */
	struct sgv v;	/* the device */
	const char *text[SGM_NAMES];	/* settings of our own, by enum sgm_name */
};

/* ---- settings ---- */

static double sgm_number(const struct sgm *m, enum sgm_name name)
{
	const struct sgm_setting *s = &sgm_settings[name];
	char *end;
	double x = strtod(m->text[name], &end);

	if (end == m->text[name] || *end || !(x >= 0 && x <= s->most) ||
	    (s->most == 1 && x != floor(x)))
		sim_usage("%s: not a number from 0 to %g: '%s'", s->name, s->most, m->text[name]);
	return x;
}

/* is it "name=..." ? */
static const char *sgm_value(const char *word, const char *name)
{
	size_t len = strlen(name);

	return strncmp(word, name, len) || word[len] != '=' ? NULL : word + len + 1;
}

static bool sgm_own(struct sgm *m, const char *word)
{
	const char *value;
	int i;

	for (i = 0; i < SGM_NAMES; i++) {
		value = sgm_value(word, sgm_settings[i].name);
		if (value) {
			m->text[i] = value;
			return true;
		}
	}
	return false;
}

/* words that are neither ours nor of a simulated drive are the simulator's */
static void sgm_read(struct sgm *m, char **words, int n)
{
	static const char * const simulated[] = { "drive", "set", "noise" };
	char **rest = calloc(n + 2, sizeof(*rest));
	bool model = false;
	int i, k, kept = 0;

	if (!rest)
		sim_fail("out of memory");
	for (i = 0; i < SGM_NAMES; i++)
		m->text[i] = sgm_settings[i].preset;
	/* nothing is written unless it is asked for */
	rest[kept++] = "reads=1";
	for (i = 0; i < n; i++) {
		for (k = 0; k < (int)ARRAY_SIZE(simulated); k++)
			if (sgm_value(words[i], simulated[k]))
				sim_usage("%s: only a simulated drive has that", simulated[k]);
		model |= !!sgm_value(words[i], "model");
		if (!sgm_own(m, words[i]))
			rest[kept++] = words[i];
	}
	if (!*m->text[SGM_DEVICE])
		sim_usage("device: which? see lsscsi -g");
	if (!model)
		sim_usage("model: which? there is none that fits all drives");
	simo_read(&m->sim.o, rest, kept);
	m->sim.o.drive = (char *)m->text[SGM_DEVICE];
	free(rest);
}

/* ---- opening ---- */

/* the longest command; what nobody has set is as long as the device takes it */
static u32 sgm_longest(struct sgm *m)
{
	const struct simo *o = &m->sim.o;
	struct fb_limits *lim = &m->sim.task.lim;
	u32 own = siml_longest(&m->sim.load), longest = own, most = m->v.most_sectors;

	if (o->scan && lim->granule_sectors > most)
		sim_usage("granule: blocks of %u sectors, %s takes %u: lower it",
			  lim->granule_sectors, m->v.path, most);
	if (o->scan && o->max_sectors == SIMO_AUTO)
		lim->max_sectors = min(lim->max_sectors,
				       most - most % lim->granule_sectors);
	if (o->scan && o->max_prepend_sectors == SIMO_AUTO && most >= own)
		lim->max_prepend_sectors = min(lim->max_prepend_sectors, most - own);
	if (o->scan)
		longest = max_t(u32, own + lim->max_prepend_sectors, lim->max_sectors);
	if (longest > most)
		sim_fail("commands of %u sectors, %s takes %u: %s, or raise max_sectors_kb of %s",
			 longest, m->v.path, most,
			 "lower max_prepend_sectors, max_sectors or size",
			 m->v.block);
	m->sim.task.longest = min(m->sim.task.longest, longest);
	return longest;
}

static void sgm_check_direct(void)
{
	char allowed = '0';
	FILE *f = fopen(SGM_ALLOW_DIO, "r");

	if (!f || fread(&allowed, 1, 1, f) != 1 || allowed != '1')
		sim_fail("direct: the driver does not allow it: echo 1 > %s", SGM_ALLOW_DIO);
	fclose(f);
}

static void sgm_check_writes(const struct sgm *m, bool allowed)
{
	bool writes = siml_writes(&m->sim.load);

	if (writes && !allowed)
		sim_usage("the foreground writes, which destroys what is on %s: %s", m->v.path,
			  "reads=1, or allow_writes=1 and confirm=");
	if (!writes && allowed)
		sim_usage("allow_writes: the foreground does not write; say reads= or trace=, too");
	if (*m->text[SGM_CONFIRM] && !allowed)
		sim_usage("confirm: nothing is going to be written, see allow_writes");
	if (writes)
		sgv_check_writes(&m->v, m->text[SGM_CONFIRM]);
}

static void sgm_check_crc(const struct sgm *m)
{
	if (!*m->text[SGM_CRC])
		return;
	if (!m->sim.o.scan)
		sim_usage("crc: there is no task to check the blocks of");
	if (m->sim.task.lim.granule_sectors % SGK_SECTORS)
		sim_usage("crc: its blocks have %u bytes, granule is shorter", SGK_SECTORS * 512);
}

/* nothing is sent, and no file made, before all is checked */
static void sgm_open(struct sgm *m)
{
	struct sim *sim = &m->sim;
	struct sgd_config cfg = {
		.report_ns = sgm_number(m, SGM_REPORT_US) * 1000,
		.timeout_ms = sgm_number(m, SGM_TIMEOUT_MS),
		.direct = sgm_number(m, SGM_DIRECT),
		.writes = sgm_number(m, SGM_ALLOW_WRITES),
		.crc = m->text[SGM_CRC],
	};

	if (!cfg.timeout_ms)
		sim_usage("timeout_ms: less than one is no time at all");
	if (cfg.direct)
		sgm_check_direct();
	sim_run_model(sim);
	sgv_open(&m->v, m->text[SGM_DEVICE], false);
	sgv_check_model(&m->v, sim->o.model, dm_info(sim->dm));
	sim->sched.drive = sgd_open(&m->v, sgm_number(m, SGM_SEARCH_US) * 1000, &sgm_stop);
	sim_run_begin(sim);
	sgm_check_writes(m, cfg.writes);
	sgm_check_crc(m);
	cfg.longest = sgm_longest(m);
	sgd_start(sim->sched.drive, &cfg);
	if (!*cfg.crc)
		return;
	sim->task.deliver = sgd_deliver;
	sim->task.deliver_to = sim->sched.drive;
}

/* ---- running ---- */

static void sgm_interrupt(int sig)
{
	atomic_store(&sgm_stop, sig);
}

static void sgm_handle_signals(void)
{
	/* a second one ends the program at once */
	struct sigaction act = { .sa_handler = sgm_interrupt, .sa_flags = SA_RESETHAND };

	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
}

static void sgm_tell(const struct sgm *m)
{
	const struct sim *sim = &m->sim;
	char *more = NULL;
	size_t len;
	FILE *f = open_memstream(&more, &len);

	if (!f)
		sim_fail("out of memory");
	sgd_print(sim->sched.drive, f);
	fclose(f);
	simr_print(&sim->sched, sim->now_ns, sim_wall_s() - sim->began_s, more, stdout);
	fflush(stdout);
	free(more);
}

int main(int argc, char **argv)
{
	struct sgm *m = calloc(1, sizeof(*m));
	struct sim *sim;
	bool lost;

	if (!m)
		sim_fail("out of memory");
	sim = &m->sim;
	sim->progress = argc > 1 && !strcmp(argv[1], "--progress");
	sim->progress_events = SGM_PROGRESS_EVENTS;
	sim->stop = &sgm_stop;
	sgm_read(m, argv + 1 + sim->progress, argc - 1 - sim->progress);
	sgm_handle_signals();
	sgm_open(m);
	sim_run(sim);
	sgd_drain(sim->sched.drive);
	sgm_tell(m);
	lost = sgd_lost(sim->sched.drive);
	if (lost)
		fprintf(stderr, "freeblock-sg: %s; the results are of the time before\n",
			sgd_lost(sim->sched.drive));
	sim_drive_close(sim->sched.drive);
	sgv_close(&m->v);
	sim_run_end(sim);
	free(m);
	return lost;
}
