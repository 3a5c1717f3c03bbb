// SPDX-License-Identifier: GPL-2.0
/*
 * A closed loop in user space: the core (model, policies, search, map, head) drives
 * the simulated drive's engine through the pipeline of two of DESIGN 4.
 *
 * It tells in seconds what the lab tells in minutes: whether the core can reach the
 * numbers, and where they are lost if not. It is ideal where the kernel is
 * not: choosing and searching take no time, and the next request of a process arrives
 * the moment its last one has been reported.
 *
 * Workload (paper, 5.1, without think time): 10 outstanding, uniform, reads to writes
 * 2:1, sizes multiples of 4 KiB, exponential with a mean of 8 KiB.
 */
#include <getopt.h>
#include <math.h>

#include "../../fb_head.h"
#include "../../fb_search.h"
#include "../../fg_policy.h"
#include "../unit/support.h"
#include "sim_drive.h"

#define OUTSTANDING_MAX 256
#define DEPTH 2
#define SLOTS 32
#define MAX_SECTORS 1024	/* 512 KiB: a vehicle */
#define SEARCH_STEPS 200	/* 200 us of 1 us each */
#define NS_PER_S 1000000000.0
#define OFF (-1)

/**
 * struct opts - what to run
 * @model: .fbmodel file
 * @drive: .fbdrive file
 * @noise: seek noise, see sim_drive_open()
 * @policy: foreground policy
 * @conservatism_us: OFF: no free reads
 * @outstanding: foreground requests in the system
 * @fixed: sectors of every request; 0 = exponential
 * @steps: search budget
 * @seconds: disk time
 * @seed: of workload and drive
 */
struct opts {
	const char *model;
	const char *drive;
	const char *noise;
	enum fg_policy_id policy;
	int conservatism_us;
	u32 outstanding;
	u32 fixed;
	u32 steps;
	double seconds;
	u64 seed;
};

/**
 * struct cmd - a command at the drive
 * @req: foreground request, or NULL
 * @lbn: first LBN
 * @nsect: sectors
 * @free_end: free part: [@lbn, @free_end); @lbn when there is none
 * @write: direction
 * @end: predicted end
 * @total_ns: predicted head time, from the end of the one before
 */
struct cmd {
	struct fg_req *req;
	u64 lbn;
	u32 nsect;
	u64 free_end;
	bool write;
	struct dm_place end;
	u64 total_ns;
};

/**
 * struct result - what came of it
 * @iops: foreground requests per second
 * @free_mb_s: wanted blocks delivered, 10^6 bytes per second
 * @latency_ms: mean rotational latency of the gaps
 * @within: share of predictions within 50 us
 * @miss: share of foreground requests that took a turn more than predicted
 * @prepend: share of gaps with a prepend
 * @separate: share of gaps with a separate read
 * @granules: mean granules per free read
 * @tracks: tracks searched per gap
 * @unused_ms: mean slack of the plans
 * @odd: share of completions that fb_head found to be at no angle of the model's
 */
struct result {
	double iops;
	double free_mb_s;
	double latency_ms;
	double within;
	double miss;
	double prepend;
	double separate;
	double granules;
	double tracks;
	double unused_ms;
	double odd;
};

struct sim {
	const struct opts *o;
	const struct disk_model *dm;
	struct sim_drive *drive;
	struct fb_bitmap bm;
	struct fg_pool pool;
	struct fg_req req[OUTSTANDING_MAX];
	struct cmd cmd[SLOTS];
	u32 at_drive;
	struct fg_req *committed;	/* its gap is being used: it goes next */
	struct dm_place tail;		/* where the head will be after all that was sent */
	bool tail_known;
	struct fb_head head;
	u64 last_end_ns;
	u64 now;
	struct rnd r;
	u64 reads, gaps, free_granules, within, misses, completions, tracks, latency_ns;
	u64 prepends, separates, slack_ns;
};

static void want_run(void *ctx, u64 first, u32 n, u32 group)
{
	fb_bitmap_want(ctx, first, n, group);
}

static void take_run(void *ctx, u64 first, u32 n, u32 group)
{
	fb_bitmap_take(ctx, first, n, group);
}

static void done_run(void *ctx, u64 first, u32 n, u32 group)
{
	struct sim *s = ctx;

	(void)group;
	s->free_granules += fb_bitmap_done(&s->bm, first, n);
}

static u32 granule(const struct sim *s)
{
	return dm_info(s->dm)->granule_sectors;
}

static void new_request(struct sim *s, struct fg_req *req)
{
	u32 units = 1;

	/* a geometric number of 4 KiB units: the exponential of that mean, cut into units */
	if (!s->o->fixed)
		units = 1 + (u32)floor(log((rnd_below(&s->r, 1000000) + 0.5) / 1e6) / log(0.5));
	memset(req, 0, sizeof(*req));
	req->nsect = s->o->fixed ? s->o->fixed : min(8 * units, 512u);
	req->lbn = rnd_below(&s->r, dm_info(s->dm)->sectors / 8 - req->nsect / 8) * 8;
	req->write = rnd_below(&s->r, 3) == 0;
	fg_req_place(req, s->dm);
	fg_pool_add(&s->pool, req);
}

static void submit(struct sim *s, struct fg_req *req, u64 lbn, u32 nsect, u64 free_end,
		   bool write)
{
	int slot = sim_drive_submit(s->drive, s->now, write, lbn, nsect);
	struct cmd *c = &s->cmd[slot];
	struct dm_access a;

	c->req = req;
	c->lbn = lbn;
	c->nsect = nsect;
	c->free_end = free_end;
	c->write = write;
	dm_access(s->dm, &s->tail, lbn, nsect, write, &a);
	c->end = a.end;
	c->total_ns = s->tail_known ? a.total_ns : 0;
	s->tail = a.end;
	s->tail_known = true;
	s->at_drive++;
	if (free_end > lbn)
		fb_for_each_run(s->dm, granule(s), lbn, free_end - lbn, take_run, &s->bm);
}

static void send_foreground(struct sim *s, struct fg_req *req, u64 lbn)
{
	fg_sent(&s->pool, req);
	fg_pool_del(&s->pool, req);
	submit(s, req, lbn, req->lbn + req->nsect - lbn, req->lbn, req->write);
	s->committed = NULL;
}

static void search_gap(struct sim *s, const struct fg_req *req, struct fb_plan *plan)
{
	const struct fb_limits lim = {
		.conservatism_ns = s->o->conservatism_us * 1000ULL,
		.max_sectors = MAX_SECTORS,
		.max_prepend_sectors = MAX_SECTORS,
		.separate = true,
		.granule_sectors = granule(s),
	};
	const struct fb_gap gap = {
		.src = s->tail,
		.dst = req->start,
		.dst_lbn = req->lbn,
		.dst_nsect = req->nsect,
		.dst_write = req->write,
	};
	struct fb_search search;
	u32 steps = 0;

	fb_search_start(&search, s->dm, &s->bm, &gap, &lim);
	while (fb_search_step(&search) && ++steps < s->o->steps)
		;
	*plan = search.best;
	s->gaps++;
	s->tracks += search.tracks;
	s->latency_ns += search.latency_ns;
	s->slack_ns += plan->kind == FB_PLAN_NONE ? 0 : plan->slack_ns;
	s->prepends += plan->kind == FB_PLAN_PREPEND;
	s->separates += plan->kind == FB_PLAN_SEPARATE;
}

static void fill_slot(struct sim *s)
{
	struct fb_plan plan = { .kind = FB_PLAN_NONE };
	struct fg_choice c;

	if (s->committed) {
		send_foreground(s, s->committed, s->committed->lbn);
		return;
	}
	fg_choose(&s->pool, s->dm, s->tail_known ? &s->tail : NULL, s->now, &c);
	if (s->o->conservatism_us != OFF && s->tail_known)
		search_gap(s, c.req, &plan);
	if (plan.kind == FB_PLAN_SEPARATE) {
		s->committed = c.req;
		submit(s, NULL, plan.piece[0].lbn, plan.piece[0].nsect,
		       plan.piece[0].lbn + plan.piece[0].nsect, false);
		return;
	}
	send_foreground(s, c.req, plan.kind == FB_PLAN_PREPEND ? plan.piece[0].lbn : c.req->lbn);
}

static void complete(struct sim *s)
{
	struct fb_head_end end;
	struct sim_done done;
	struct cmd *c;
	u64 pred = 0;

	sim_drive_wait(s->drive, &done);
	s->now = done.report_ns;
	s->at_drive--;
	c = &s->cmd[done.slot];
	if (c->total_ns)
		pred = s->last_end_ns + c->total_ns;
	fb_head_complete(&s->head, s->now, &c->end, pred, 0, 0, c->write, &end);
	s->last_end_ns = end.end_ns;
	if (c->req && pred) {
		s->completions++;
		s->within += end.end_ns < pred + 50000 && pred < end.end_ns + 50000;
		s->misses += end.turns > 0;
	}
	if (c->free_end > c->lbn)
		fb_for_each_run(s->dm, granule(s), c->lbn, c->free_end - c->lbn, done_run, s);
	if (c->req) {
		s->reads++;
		new_request(s, c->req);
	}
}

static void run(const struct opts *o, struct result *res)
{
	struct disk_model *dm = support_model_file(o->model);
	struct sim *s = calloc(1, sizeof(*s));
	u64 sectors = dm_info(dm)->sectors;
	double seconds;
	u32 i;

	s->o = o;
	s->dm = dm;
	s->drive = sim_drive_open(o->drive, o->noise, o->seed);
	s->r.state = o->seed;
	fb_head_init(&s->head, dm);
	fb_bitmap_init(&s->bm, (sectors + granule(s) - 1) / granule(s), dm_tracks(dm));
	fb_for_each_run(dm, granule(s), 0, sectors, want_run, &s->bm);
	fg_pool_init(&s->pool);
	s->pool.policy = o->policy;
	for (i = 0; i < o->outstanding; i++)
		new_request(s, &s->req[i]);
	while (s->now < o->seconds * NS_PER_S) {
		while (s->at_drive < DEPTH)
			fill_slot(s);
		complete(s);
	}
	seconds = s->now / NS_PER_S;
	res->iops = s->reads / seconds;
	res->free_mb_s = s->free_granules * granule(s) * 512 / 1e6 / seconds;
	res->latency_ms = s->gaps ? s->latency_ns / 1e6 / s->gaps : 0;
	res->within = (double)s->within / s->completions;
	res->miss = (double)s->misses / s->completions;
	res->prepend = s->gaps ? (double)s->prepends / s->gaps : 0;
	res->separate = s->gaps ? (double)s->separates / s->gaps : 0;
	res->granules = (double)s->free_granules / max(s->prepends + s->separates, (u64)1);
	res->tracks = s->gaps ? (double)s->tracks / s->gaps : 0;
	res->unused_ms = s->slack_ns / 1e6 / max(s->prepends + s->separates, (u64)1);
	res->odd = (double)s->head.odd / s->completions;
	fb_bitmap_destroy(&s->bm);
	sim_drive_close(s->drive);
	free(s);
	dm_free(dm);
}

static void show(const struct opts *o, const struct result *res, double base)
{
	printf("%-8s %-7s ", fg_policy_name[o->policy], o->noise);
	if (o->conservatism_us == OFF)
		printf("   - ");
	else
		printf("%4d ", o->conservatism_us);
	printf("%7.1f %6.2f %6.2f %6.2f %6.2f %6.2f", res->iops,
	       o->conservatism_us == OFF ? 0 : 100 * (1 - res->iops / base), res->free_mb_s,
	       100 * res->within, 100 * res->miss, 100 * res->odd);
	if (o->conservatism_us != OFF)
		printf(" %6.2f %5.1f %5.1f %6.1f %6.2f %6.0f", res->latency_ms,
		       100 * res->prepend, 100 * res->separate, res->granules,
		       res->unused_ms, res->tracks);
	printf("\n");
	fflush(stdout);
}

static void head_line(void)
{
	printf("%-8s %-7s %4s %7s %6s %6s %6s %6s %6s %6s %5s %5s %6s %6s %6s\n", "policy", "noise",
	       "cons", "req/s", "slow%", "MB/s", "in50%", "miss%", "odd%", "gap_ms", "pre%", "sep%",
	       "gran", "slack", "tracks");
}

static void table(struct opts *o)
{
	static const char * const noise[] = { "off", "laplace" };
	static const enum fg_policy_id policy[] = { FG_FIFO, FG_CLOOK, FG_SSTF, FG_SPTF,
						    FG_SPTF_SW };
	struct result res;
	double base = 0;
	u32 i, k;

	head_line();
	for (i = 0; i < ARRAY_SIZE(noise); i++) {
		o->noise = noise[i];
		o->conservatism_us = OFF;
		for (k = 0; k < ARRAY_SIZE(policy); k++) {
			o->policy = policy[k];
			run(o, &res);
			show(o, &res, 0);
			base = res.iops;
		}
		for (k = 0; k <= 600; k += 100) {
			o->conservatism_us = k;
			run(o, &res);
			show(o, &res, base);
		}
	}
}

static bool expect(bool ok, const char *what, double is, double least, double most)
{
	printf("%s %s: %.2f (%.2f to %.2f)\n", ok ? "ok" : "not ok", what, is, least, most);
	return ok;
}

static bool within(const char *what, double is, double least, double most)
{
	return expect(is >= least && is <= most, what, is, least, most);
}

/* What the lab must reach is reached here first; the drive and its time are simulated. */
static bool check(struct opts *o)
{
	struct result sptf, sw, free;
	bool ok;

	o->conservatism_us = OFF;
	o->policy = FG_SPTF;
	o->noise = "off";
	run(o, &sptf);
	ok = within("requests/s, SPTF, no seek noise", sptf.iops, 169, 180);
	o->noise = "laplace";
	run(o, &sptf);
	ok &= within("requests/s, SPTF, seek noise", sptf.iops, 165, 175);
	o->policy = FG_SPTF_SW;
	run(o, &sw);
	ok &= within("SPTF-SW60 below SPTF, %", 100 * (1 - sw.iops / sptf.iops), 4, 8);
	o->conservatism_us = 300;
	run(o, &free);
	ok &= within("free MB/s at 300 us", free.free_mb_s, 6.5, 9);
	ok &= within("slowdown there, %", 100 * (1 - free.iops / sw.iops), 0, 2);
	return ok;
}

static void help(void)
{
	printf("usage: sim [-p POLICY] [-c CONSERVATISM_US|off] [-n off|laplace|gauss]\n"
	       "           [-m MODEL] [-d DRIVE] [-o OUTSTANDING] [-f SECTORS] [-b STEPS]\n"
	       "           [-t SECONDS] [-s SEED] | -C\n"
	       "-C: check the numbers that the lab must reach, with the options before it.\n"
	       "Without -p and -c: a table of all policies, and of free reads under sptf-sw.\n"
	       "Run it in the project's root.\n");
}

int main(int argc, char **argv)
{
	struct opts o = {
		.model = "models/atlas10k.fbmodel",
		.drive = "tests/mechdisk/drives/atlas10k.fbdrive",
		.noise = "laplace",
		.policy = FG_SPTF_SW,
		.conservatism_us = OFF,
		.outstanding = 10,
		.steps = SEARCH_STEPS,
		.seconds = 60,
		.seed = 1,
	};
	struct result base, res;
	bool one = false;
	int c, policy;

	while ((c = getopt(argc, argv, "p:c:n:m:d:o:f:b:t:s:Ch")) != -1) {
		switch (c) {
		case 'p':
			policy = fg_policy_by_name(optarg);
			if (policy < 0) {
				help();
				return 2;
			}
			o.policy = policy;
			one = true;
			break;
		case 'c':
			o.conservatism_us = strcmp(optarg, "off") ? atoi(optarg) : OFF;
			one = true;
			break;
		case 'C':
			return !check(&o);
		case 'n':
			o.noise = optarg;
			break;
		case 'm':
			o.model = optarg;
			break;
		case 'd':
			o.drive = optarg;
			break;
		case 'o':
			o.outstanding = min(atoi(optarg), OUTSTANDING_MAX);
			break;
		case 'f':
			o.fixed = atoi(optarg);
			break;
		case 'b':
			o.steps = atoi(optarg);
			break;
		case 't':
			o.seconds = atof(optarg);
			break;
		case 's':
			o.seed = strtoull(optarg, NULL, 0);
			break;
		default:
			help();
			return c == 'h' ? 0 : 2;
		}
	}
	if (!one) {
		table(&o);
		return 0;
	}
	head_line();
	c = o.conservatism_us;
	o.conservatism_us = OFF;
	run(&o, &base);
	show(&o, &base, 0);
	if (c != OFF) {
		o.conservatism_us = c;
		run(&o, &res);
		show(&o, &res, base.iops);
	}
	return 0;
}
