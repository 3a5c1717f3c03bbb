// SPDX-License-Identifier: GPL-2.0
/*
 * freeblock-trips ALONE TASK SECONDS LIMIT_NS SEED DRAWS: how often chance trips the guard
 *
 * ALONE and TASK are logs (freeblock sim --log) of the same arrivals, without free reads and with
 * them. In each of DRAWS days the trial (core/cost/) draws other control stretches; a request takes
 * what ALONE has if it arrives in one, else what TASK has. Printed is in how many of the days the
 * guard stopped something, of how many, and the limit. With ALONE for TASK free reads cost nothing;
 * LIMIT_NS "true" is what TASK takes more than ALONE on the mean: the disk stands at its limit.
 */
#include "core/cost/cost.h"
#include "tools/sim/sim_file.h"

#define TRIPS_IN_SYSTEM 4096
#define TRIPS_NS_PER_S 1000000000ULL
#define TRIPS_OPEN 1000		/* that may have ended in one of two runs only, at the end */
#define TRIPS_MAX_NS 50000000	/* idle_max_us by default */

/* A request of both logs */
struct trips_req {
	u64 at_ns;	/* when it arrives */
	u64 took_ns[FB_TRIAL_ARMS];	/* by arm of the trial */
};

/* The logs */
struct trips {
	struct trips_req *reqs;	/* by arrival */
	size_t n;	/* of them */
	u64 end_ns;	/* a day ends there */
	struct fb_trial_limit limit;	/* of the guard */
};

/* of a request in the system */
struct trips_end {
	u64 at_ns;
	u64 took_ns;
};

/* A day */
struct trips_day {
	struct fb_cost cost;	/* the trial and its guard */
	/* of the requests in the system, a heap with the first on top */
	struct trips_end ends[TRIPS_IN_SYSTEM];
	u32 n;	/* of them */
};

/* ---- logs ---- */

static int trips_compare(const void *a, const void *b)
{
	const struct trips_req *one = a, *other = b;

	return one->at_ns < other->at_ns ? -1 : one->at_ns > other->at_ns;
}

/* sorted by arrival; the response is at @arm of each */
static struct trips_req *trips_read(const char *path, enum fb_trial_arm arm, size_t *n)
{
	size_t len, most = 0;
	char *text = sim_file_read(path, &len), *line = text, *next;
	struct trips_req *reqs = NULL;

	for (*n = 0; *line; line = next) {
		if (*n == most) {
			most = most ? 2 * most : 65536;
			reqs = realloc(reqs, most * sizeof(*reqs));
			if (!reqs)
				sim_fail("out of memory");
		}
		reqs[*n].at_ns = strtoull(line, &next, 10);
		reqs[*n].took_ns[arm] = strtoull(next, &next, 10);
		if (*next != '\n')
			sim_fail("%s: line %zu is not ARRIVAL RESPONSE", path, *n + 1);
		next++;
		(*n)++;
	}
	free(text);
	qsort(reqs, *n, sizeof(*reqs), trips_compare);
	return reqs;
}

static void trips_load(struct trips *t, const char *alone, const char *task)
{
	size_t n, i;
	struct trips_req *with = trips_read(task, FB_TRIAL_TREATED, &n);

	t->reqs = trips_read(alone, FB_TRIAL_CONTROL, &t->n);
	t->n = min(t->n, n);
	for (i = 0; i < t->n && t->reqs[i].at_ns == with[i].at_ns; i++)
		t->reqs[i].took_ns[FB_TRIAL_TREATED] = with[i].took_ns[FB_TRIAL_TREATED];
	if (t->n - i > TRIPS_OPEN)
		sim_fail("request %zu arrives at %llu and %llu", i,
			 (unsigned long long)t->reqs[i].at_ns, (unsigned long long)with[i].at_ns);
	t->n = i;
	free(with);
}

static u64 trips_true_ns(const struct trips *t)
{
	double more = 0;
	size_t i;

	for (i = 0; i < t->n; i++)
		more += (double)t->reqs[i].took_ns[FB_TRIAL_TREATED] -
			t->reqs[i].took_ns[FB_TRIAL_CONTROL];
	return more > 0 ? more / t->n : 0;
}

/* ---- a day ---- */

static void trips_push(struct trips_day *d, struct trips_end end)
{
	u32 i = d->n++;

	if (i == TRIPS_IN_SYSTEM)
		sim_fail("more than %u requests in the system", TRIPS_IN_SYSTEM);
	for (; i && d->ends[(i - 1) / 2].at_ns > end.at_ns; i = (i - 1) / 2)
		d->ends[i] = d->ends[(i - 1) / 2];
	d->ends[i] = end;
}

static struct trips_end trips_pop(struct trips_day *d)
{
	struct trips_end first = d->ends[0], last = d->ends[--d->n];
	u32 i = 0, child;

	for (; (child = 2 * i + 1) < d->n; i = child) {
		child += child + 1 < d->n && d->ends[child + 1].at_ns < d->ends[child].at_ns;
		if (d->ends[child].at_ns >= last.at_ns)
			break;
		d->ends[i] = d->ends[child];
	}
	d->ends[i] = last;
	return first;
}

/* the arm at @now_ns, with a block that has ended judged at once */
static enum fb_trial_arm trips_arm(struct fb_cost *c, u64 now_ns)
{
	struct fb_cost_verdict v;

	fb_cost_may(c, now_ns);
	if (fb_cost_due(c)) {
		fb_cost_judge(c, &v);
		fb_cost_settle(c, &v, now_ns);
	}
	return fb_cost_controls(c) ? FB_TRIAL_CONTROL : FB_TRIAL_TREATED;
}

static bool trips_day(const struct trips *t, u64 seed)
{
	static struct trips_day d;
	size_t i;

	d.n = 0;
	fb_cost_init(&d.cost, seed, true);
	fb_trial_set_limit(&d.cost.trial, &t->limit);
	fb_cost_want(&d.cost, true, 0);
	for (i = 0; i < t->n && t->reqs[i].at_ns < t->end_ns && !d.cost.stops; i++) {
		u64 at_ns = t->reqs[i].at_ns, took_ns;

		while (d.n && d.ends[0].at_ns <= at_ns) {
			struct trips_end end = trips_pop(&d);

			fb_trial_ended(&d.cost.trial, FB_TRIAL_READ, end.took_ns, end.at_ns);
		}
		took_ns = t->reqs[i].took_ns[trips_arm(&d.cost, at_ns)];
		trips_push(&d, (struct trips_end){ at_ns + took_ns, took_ns });
		fb_trial_arrived(&d.cost.trial, FB_TRIAL_READ, at_ns);
	}
	return d.cost.stops;
}

int main(int argc, char **argv)
{
	struct trips t = { 0 };
	u64 seed, draws, i, trips = 0;

	if (argc != 7)
		sim_usage("freeblock-trips ALONE TASK SECONDS LIMIT_NS SEED DRAWS");
	trips_load(&t, argv[1], argv[2]);
	t.end_ns = strtoull(argv[3], NULL, 10) * TRIPS_NS_PER_S;
	t.limit.max_ns = TRIPS_MAX_NS;
	t.limit.ns = strcmp(argv[4], "true") ? strtoull(argv[4], NULL, 10) : trips_true_ns(&t);
	seed = strtoull(argv[5], NULL, 10);
	draws = strtoull(argv[6], NULL, 10);
	for (i = 0; i < draws; i++)
		trips += trips_day(&t, seed + i);
	printf("%llu %llu %llu\n", (unsigned long long)trips, (unsigned long long)draws,
	       (unsigned long long)t.limit.ns);
	free(t.reqs);
	return 0;
}
