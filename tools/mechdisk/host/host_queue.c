// SPDX-License-Identifier: GPL-2.0
/*
 * A queue in the driver: requests of standard input arrive when they will, wait,
 * and are given to the drive one at a time in a policy's order.
 *
 * This is the measured device of "An analytic behavior model for disk drives
 * with readahead caches and request reordering" (SIGMETRICS 1998), 5: the queue
 * is the driver's.  LOOK, C-LOOK and SSTF go by cylinder; within one, by LBN
 * from the end of the last request on, cyclically, so that runs stay in order.
 * SPTF is the drive's own (mdq_position_ps(): seek, rotation and where the
 * platter stands, exactly, but not the noise), with the command overhead added;
 * a read that goes on where the last one ended, on a drive that reads ahead,
 * costs nothing, as in the shortest-positioning-with-cache policy of Worthington,
 * Ganger and Patt (SIGMETRICS 1994).
 */
#include <endian.h>
#include <math.h>

#include "host.h"
#include "../mechdisk_queue.h"

/* More wait only if they come faster than the drive will ever serve them. */
#define MDH_WAITING_MAX 16384
#define MDH_PERCENTILES 4

/* A request of --binary. */
struct mdh_record {
	u64 ns;
	u64 lbn;
	u32 count;
	char op;
	char zero[3];
};

/* A request; instants in ns. */
struct mdh_request {
	struct mdh_line line;
	struct mdl_piece first;	/* its first piece */
	u64 number;		/* of the input, from 1 */
	u64 arrival;
	u64 start;
};

/* Times of the requests that count, in the order of service, ms. */
struct mdh_times {
	double *response;
	double *service;
	u64 n;
	u64 room;
};

struct mdh_queue {
	const struct mdh_options *o;
	struct mdh_drive *d;
	unsigned int lines;
	/* Those known to arrive, the first first: of --processes one each, else one. */
	struct mdh_request coming[MDH_PROCESSES_MAX];
	u32 due;
	/* What waits, in order of arrival, and what is at the drive. */
	struct mdh_request waiting[MDH_WAITING_MAX];
	u32 queued;
	struct mdh_request served;
	bool busy;
	/* Where the last command ended, and LOOK's direction. */
	u32 cyl;
	u64 next_lbn;
	bool last_read;
	bool inward;
	/* What it comes to. */
	struct mdh_times times;
	u64 done;
	u64 began;		/* counting, ns */
	u64 ended;		/* the last one served, ns */
	u64 hits;
	u64 partial;
	/* Of reads and verifies [0], of writes [1]: how many counted, their responses, ms. */
	u64 kinds[2];
	double responses[2];
};

/* The input. */

static bool mdh_next_record(struct mdh_queue *q, struct mdh_line *l)
{
	static const char zero[3];
	struct mdh_record r;
	const char *wrong;
	size_t n = fread(&r, 1, sizeof(r), stdin);

	if (ferror(stdin))
		mdh_die("standard input: %s", strerror(errno));
	if (!n)
		return false;
	q->lines++;
	if (n < sizeof(r))
		mdh_die("standard input: record %u: cut off", q->lines);
	if (!strchr("RWV", r.op) || !r.op || memcmp(r.zero, zero, sizeof(zero)))
		mdh_die("standard input: record %u: not R, W or V and 3 zeros",
			q->lines);
	l->op = r.op == 'R' ? MDE_READ : r.op == 'W' ? MDE_WRITE : MDE_VERIFY;
	l->lbn = le64toh(r.lbn);
	l->count = le32toh(r.count);
	l->ns = le64toh(r.ns);
	wrong = mdh_check_line(q->d, l);
	if (wrong)
		mdh_die("standard input: record %u: %s", q->lines, wrong);
	return true;
}

/* The request after one that came at @last; with --processes after one that ended then. */
static void mdh_next_request(struct mdh_queue *q, u64 last)
{
	struct mdh_request r = { 0 };
	u32 at = q->due;

	if (!(q->o->binary ? mdh_next_record(q, &r.line) :
	      mdh_read_line(q->d, &q->lines, &r.line)))
		return;
	r.number = q->lines;
	r.arrival = r.line.ns;
	if (q->o->closed || q->o->processes)
		r.arrival += last;
	else if (r.arrival < last)
		mdh_die("standard input: %s %u: arrives before the one before it",
			q->o->binary ? "record" : "line", q->lines);
	for (; at && q->coming[at - 1].arrival > r.arrival; at--)
		q->coming[at] = q->coming[at - 1];
	q->coming[at] = r;
	q->due++;
}

/* The choice. */

/* A choice's cost, the first number first. */
struct mdh_cost {
	u64 most;
	u64 least;
};

static bool mdh_reads_on(const struct mdh_queue *q, const struct mdh_request *r)
{
	const struct mde *e = &q->d->mde;

	return q->last_read && r->line.op == MDE_READ && r->line.lbn == q->next_lbn &&
		e->caching.read_cache && e->caching.look_ahead &&
		e->cfg->ahead != MDE_AHEAD_NONE;
}

/* Until its first piece has passed, if it is sent now, ps. */
static u64 mdh_position_ps(const struct mdh_queue *q, const struct mdh_request *r,
			   u64 best)
{
	const struct mde *e = &q->d->mde;
	bool write = r->line.op == MDE_WRITE;
	u64 overhead, ready;

	if (mdh_reads_on(q, r))
		return 0;
	overhead = e->cfg->overhead_ns[write ? MDE_WRITE_MISS : MDE_READ_MISS]
				      [e->last_write] * 1000;
	ready = q->d->now * 1000 + overhead;
	return mdq_position_ps(e, &r->first, ready, write, ready, best);
}

/* LOOK: what lies behind the arm comes after all that lies before it. */
static u64 mdh_ahead_of_arm(const struct mdh_queue *q, u32 cyl)
{
	bool behind = q->inward ? cyl < q->cyl : cyl > q->cyl;
	u32 dist = cyl > q->cyl ? cyl - q->cyl : q->cyl - cyl;

	return behind ? (1ULL << 32) + dist : dist;
}

static struct mdh_cost mdh_cost(const struct mdh_queue *q,
				const struct mdh_request *r, u64 best)
{
	u32 cyl = r->first.cyl;
	struct mdh_cost c = { .least = r->line.lbn - q->next_lbn };

	switch (q->o->policy) {
	case MDH_FCFS:
		return (struct mdh_cost){ 0 };
	case MDH_LOOK:
		c.most = mdh_ahead_of_arm(q, cyl);
		break;
	case MDH_CLOOK:
		/* What lies behind wraps around and so comes last. */
		c.most = (u64)cyl - q->cyl;
		break;
	case MDH_SSTF:
		c.most = cyl > q->cyl ? cyl - q->cyl : q->cyl - cyl;
		break;
	case MDH_SPTF:
		c.most = mdh_position_ps(q, r, best);
		break;
	}
	return c;
}

/* The best of the queue; of equals, the oldest. */
static u32 mdh_choose(const struct mdh_queue *q)
{
	struct mdh_cost best = mdh_cost(q, &q->waiting[0], U64_MAX), cost;
	u32 i, found = 0;

	if (q->o->policy == MDH_FCFS)
		return 0;
	for (i = 1; i < q->queued; i++) {
		cost = mdh_cost(q, &q->waiting[i], best.most);
		if (cost.most < best.most ||
		    (cost.most == best.most && cost.least < best.least)) {
			best = cost;
			found = i;
		}
	}
	return found;
}

static void mdh_dispatch(struct mdh_queue *q)
{
	struct mdh_request *r = &q->served;
	u32 found = mdh_choose(q);
	struct mdl_piece last;

	*r = q->waiting[found];
	q->queued--;
	memmove(&q->waiting[found], &q->waiting[found + 1],
		(q->queued - found) * sizeof(*r));
	r->start = q->d->now;
	mdh_submit(q->d, r->line.op, r->line.lbn, r->line.count, 0);
	q->busy = true;
	if (r->first.cyl != q->cyl)
		q->inward = r->first.cyl > q->cyl;
	q->next_lbn = r->line.lbn + r->line.count;
	q->last_read = r->line.op == MDE_READ;
	mdl_locate(&q->d->cfg, q->next_lbn - 1, 1, &last);
	q->cyl = last.cyl;
}

/* What happens. */

static void mdh_arrive(struct mdh_queue *q)
{
	struct mdh_request *r = &q->waiting[q->queued];

	if (q->queued == MDH_WAITING_MAX)
		mdh_die("%d requests wait: they come faster than the drive serves them",
			MDH_WAITING_MAX);
	*r = q->coming[0];
	mdl_locate(&q->d->cfg, r->line.lbn, r->line.count, &r->first);
	q->queued++;
	q->due--;
	memmove(q->coming, q->coming + 1, q->due * sizeof(*q->coming));
	if (!q->o->processes)
		mdh_next_request(q, r->arrival);
	if (!q->busy)
		mdh_dispatch(q);
}

static void mdh_note(struct mdh_times *t, double response, double service)
{
	if (t->n == t->room) {
		t->room = max(t->room * 2, (u64)1024);
		t->response = realloc(t->response, t->room * sizeof(double));
		t->service = realloc(t->service, t->room * sizeof(double));
		if (!t->response || !t->service)
			mdh_die("out of memory");
	}
	t->response[t->n] = response;
	t->service[t->n++] = service;
}

static void mdh_count(struct mdh_queue *q, const struct mde_slot *s)
{
	const struct mdh_request *r = &q->served;
	bool write = r->line.op == MDE_WRITE;

	if (q->o->details)
		printf("%llu %llu %llu %llu %s %u\n", (unsigned long long)r->number,
		       (unsigned long long)r->arrival, (unsigned long long)r->start,
		       (unsigned long long)q->d->now, mdh_kind_name(s->kind), s->held);
	if (q->done++ < q->o->skip) {
		q->began = q->d->now;
		mde_stats_reset(&q->d->mde);
		return;
	}
	if (!q->times.n && !q->o->skip)
		q->began = r->arrival;
	q->ended = q->d->now;
	q->hits += s->kind == MDE_READ_HIT;
	q->partial += s->kind == MDE_READ_MISS && s->held;
	q->kinds[write]++;
	q->responses[write] += (q->d->now - r->arrival) / 1e6;
	mdh_note(&q->times, (q->d->now - r->arrival) / 1e6,
		 (q->d->now - r->start) / 1e6);
}

static void mdh_complete(struct mdh_queue *q, int slot)
{
	mdh_count(q, &q->d->mde.slot[slot]);
	mde_release(&q->d->mde, slot);
	q->busy = false;
	if (q->o->closed && q->due)
		q->coming[0].arrival = max(q->coming[0].arrival, q->d->now);
	if (q->o->processes)
		mdh_next_request(q, q->d->now);
	if (q->queued)
		mdh_dispatch(q);
}

/* The output. */

static double mdh_mean(const double *x, u64 n)
{
	double sum = 0;
	u64 i;

	for (i = 0; i < n; i++)
		sum += x[i];
	return sum / n;
}

static double mdh_variance(const double *x, u64 n)
{
	double mean = mdh_mean(x, n), sum = 0;
	u64 i;

	for (i = 0; i < n; i++)
		sum += (x[i] - mean) * (x[i] - mean);
	return sum / n;
}

static int mdh_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Sorts @x. */
static void mdh_print_percentiles(double *x, u64 n)
{
	static const u32 which[MDH_PERCENTILES] = { 50, 90, 95, 99 };
	u32 i;

	qsort(x, n, sizeof(*x), mdh_compare);
	printf("\"response_percentiles_ms\": {");
	for (i = 0; i < MDH_PERCENTILES; i++)
		printf("%s\"%u\": %.6f", i ? ", " : "", which[i],
		       x[(n - 1) * which[i] / 100]);
	printf("}, ");
}

/* Means of equal stretches of the run; what is left over counts in none. */
static void mdh_print_batches(const char *name, const double *x, u64 n, u64 batches)
{
	u64 size = n / batches, i;

	printf("\"%s\": [", name);
	for (i = 0; size && i < batches; i++)
		printf("%s%.6f", i ? ", " : "", mdh_mean(x + i * size, size));
	printf("], ");
}

/* Mean response of reads or of writes; null without any. */
static void mdh_print_kind(const struct mdh_queue *q, const char *name, u32 kind)
{
	if (q->kinds[kind])
		printf("\"%s\": %.6f, ", name, q->responses[kind] / q->kinds[kind]);
	else
		printf("\"%s\": null, ", name);
}

static void mdh_print_sums(struct mdh_queue *q)
{
	const struct mde_stats *s = &q->d->mde.stats;
	struct mdh_times *t = &q->times;
	double seconds = (q->ended - q->began) / 1e9;
	double response = mdh_mean(t->response, t->n);
	double service = mdh_mean(t->service, t->n);

	printf("{\"requests\": %llu, ", (unsigned long long)t->n);
	printf("\"seconds\": %.9f, ", seconds);
	printf("\"requests_per_s\": %.6f, ", t->n / seconds);
	printf("\"response_ms\": %.6f, ", response);
	mdh_print_kind(q, "read_response_ms", 0);
	mdh_print_kind(q, "write_response_ms", 1);
	printf("\"medium_utilisation\": %.6f, ", s->busy_ps / 1e12 / seconds);
	printf("\"response_variance_ms2\": %.6f, ", mdh_variance(t->response, t->n));
	printf("\"service_ms\": %.6f, ", service);
	printf("\"service_variance_ms2\": %.6f, ", mdh_variance(t->service, t->n));
	printf("\"delay_ms\": %.6f, ", response - service);
	printf("\"utilisation\": %.6f, ", service * t->n / 1e3 / seconds);
	printf("\"waiting\": %.6f, ", (response - service) * t->n / 1e3 / seconds);
	printf("\"hits\": %llu, ", (unsigned long long)q->hits);
	printf("\"partial_hits\": %llu, ", (unsigned long long)q->partial);
	printf("\"seek_ms\": %.6f, ", s->seek_ps / 1e9 / t->n);
	printf("\"rotation_ms\": %.6f, ", s->rotate_ps / 1e9 / t->n);
	printf("\"transfer_ms\": %.6f, ", s->transfer_ps / 1e9 / t->n);
	mdh_print_batches("response_batches_ms", t->response, t->n, q->o->batches);
	mdh_print_batches("service_batches_ms", t->service, t->n, q->o->batches);
	mdh_print_percentiles(t->response, t->n);
	printf("\"response_max_ms\": %.6f}\n", t->response[t->n - 1]);
}

int mdh_queue(const struct mdh_options *o)
{
	struct mdh_queue *q = calloc(1, sizeof(*q));
	int slot;
	u64 i;

	if (!q)
		mdh_die("out of memory");
	if (o->closed && o->processes)
		mdh_die("--closed is one process: not with --processes");
	q->o = o;
	q->d = mdh_open(o);
	q->inward = true;
	for (i = 0; i < max_t(u64, o->processes, 1); i++)
		mdh_next_request(q, 0);
	while (q->busy || q->due) {
		slot = mdh_wait(q->d, q->due && !(o->closed && q->busy) ?
				q->coming[0].arrival : MDE_NEVER);
		if (slot >= 0)
			mdh_complete(q, slot);
		else
			mdh_arrive(q);
	}
	if (!o->details && !q->times.n)
		mdh_die("standard input: %u requests: none to count", q->lines);
	if (!o->details)
		mdh_print_sums(q);
	free(q->times.response);
	free(q->times.service);
	mdh_close(q->d);
	free(q);
	return 0;
}
