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
#include "host.h"
#include "../mechdisk_queue.h"

/* More wait only if they come faster than the drive will ever serve them. */
#define MDH_WAITING_MAX 16384

/* A request; instants in ns. */
struct mdh_request {
	struct mdh_line line;
	struct mdl_piece first;	/* its first piece */
	u64 number;		/* of the input, from 1 */
	u64 arrival;
	u64 start;
};

struct mdh_queue {
	const struct mdh_options *o;
	struct mdh_drive *d;
	unsigned int lines;
	/* The next to arrive, if there is one. */
	struct mdh_request coming;
	bool due;
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
	/* What it comes to; times in ms. */
	u64 done;
	u64 counted;
	u64 began;		/* counting, ns */
	u64 ended;		/* the last one served, ns */
	double response;
	double service;
};

/* The input. */

/* The request after one that came at @last. */
static void mdh_next_request(struct mdh_queue *q, u64 last)
{
	struct mdh_request *r = &q->coming;

	q->due = mdh_read_line(q->d, &q->lines, &r->line);
	if (!q->due)
		return;
	r->number = q->lines;
	r->arrival = r->line.ns;
	if (q->o->closed)
		r->arrival += last;
	else if (r->arrival < last)
		mdh_die("standard input: line %u: arrives before the one before it", q->lines);
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
	*r = q->coming;
	mdl_locate(&q->d->cfg, r->line.lbn, r->line.count, &r->first);
	q->queued++;
	mdh_next_request(q, r->arrival);
	if (!q->busy)
		mdh_dispatch(q);
}

static void mdh_count(struct mdh_queue *q)
{
	const struct mdh_request *r = &q->served;

	if (q->o->details)
		printf("%llu %llu %llu %llu\n", (unsigned long long)r->number,
		       (unsigned long long)r->arrival, (unsigned long long)r->start,
		       (unsigned long long)q->d->now);
	if (q->done++ < q->o->skip) {
		q->began = q->d->now;
		return;
	}
	if (!q->counted++ && !q->o->skip)
		q->began = r->arrival;
	q->ended = q->d->now;
	q->response += (q->d->now - r->arrival) / 1e6;
	q->service += (q->d->now - r->start) / 1e6;
}

static void mdh_complete(struct mdh_queue *q, int slot)
{
	mdh_count(q);
	mde_release(&q->d->mde, slot);
	q->busy = false;
	if (q->o->closed && q->due)
		q->coming.arrival = max(q->coming.arrival, q->d->now);
	if (q->queued)
		mdh_dispatch(q);
}

/* The output. */

static void mdh_print_sums(const struct mdh_queue *q)
{
	double seconds = (q->ended - q->began) / 1e9;

	printf("{\"requests\": %llu, ", (unsigned long long)q->counted);
	printf("\"seconds\": %.9f, ", seconds);
	printf("\"response_ms\": %.6f, ", q->response / q->counted);
	printf("\"service_ms\": %.6f, ", q->service / q->counted);
	printf("\"utilisation\": %.6f}\n", q->service / 1e3 / seconds);
}

int mdh_queue(const struct mdh_options *o)
{
	struct mdh_queue *q = calloc(1, sizeof(*q));
	int slot;

	if (!q)
		mdh_die("out of memory");
	q->o = o;
	q->d = mdh_open(o);
	q->inward = true;
	mdh_next_request(q, 0);
	while (q->busy || q->due) {
		slot = mdh_wait(q->d, q->due && !(o->closed && q->busy) ?
				q->coming.arrival : MDE_NEVER);
		if (slot >= 0)
			mdh_complete(q, slot);
		else
			mdh_arrive(q);
	}
	if (!o->details && !q->counted)
		mdh_die("standard input: %u requests: none to count", q->lines);
	if (!o->details)
		mdh_print_sums(q);
	mdh_close(q->d);
	free(q);
	return 0;
}
