// SPDX-License-Identifier: GPL-2.0
/*
 * The foreground; see sim_load.h.
 *
 * What is asked for and when are drawn from streams of their own, and requests are drawn
 * in the order of arrival: runs of one seed see the same requests, whatever the schedule.
 */
#include <math.h>

#include "sim_load.h"
#include "sim_file.h"

#define SIML_UNIT 8		/* 4 KiB: the paper's requests are multiples of it */
#define SIML_EXP_MAX 2048	/* sectors: an exponential's longest request, 1 MiB ... */
#define SIML_EXP_MEAN 8		/* ... and that many times its mean at least: 0.03 % are cut */
#define SIML_EXP_MOST 32	/* ... and so many at most, for drives that take less at once */
#define SIML_BURST_NS 2e6	/* mean time between two requests of a burst */
#define SIML_BURST_TAIL 1.5	/* of their lengths: no variance, but for SIMO_BURST_MAX */
#define SIML_BURST_HALVINGS 50	/* until what lengths are drawn from is as exact as a double */
#define SIML_ZIPF 4096
#define SIML_ZIPF_STEP 2531	/* odd */
#define SIML_TRACE_MAX 2048	/* sectors: a trace's longest request, 1 MiB */
#define SIML_MIN_SHARE 4	/* the disk is that many times longer than any request */

static u64 siml_bits(struct siml_rnd *r)
{
	u64 z = r->state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/* 0 .. @n - 1 */
static u64 siml_below(struct siml_rnd *r, u64 n)
{
	return mul_u64_u64_shr(siml_bits(r), n, 64);
}

/* in (0, 1) */
static double siml_share(struct siml_rnd *r)
{
	return ((siml_bits(r) >> 11) + 0.5) / 9007199254740992.0;
}

static double siml_exponential(struct siml_rnd *r, double mean)
{
	return -mean * log(siml_share(r));
}

/* units that hold @sectors */
static u64 siml_units(const struct siml *l, u64 sectors)
{
	return (sectors + l->unit - 1) / l->unit;
}

/* ---- what ---- */

/* of an exponential only whole units: as long as it is beyond one more unit */
static u32 siml_exp_sectors(struct siml *l, u64 mean)
{
	double more = 1 - (double)l->unit * 512 / mean, units = 1;

	if (more > 0)
		units += floor(log(siml_share(&l->what)) / log(more));
	return min(units * l->unit, (double)siml_longest(l));
}

static u32 siml_sectors(struct siml *l)
{
	const struct simo_sizes *z = &l->o->sizes;
	double sum = 0, at;
	u32 i;

	if (z->mean)
		return siml_exp_sectors(l, z->mean);
	for (i = 0; i < z->n; i++)
		sum += z->size[i].share;
	at = siml_share(&l->what) * sum;
	for (i = 0; i + 1 < z->n && at >= z->size[i].share; i++)
		at -= z->size[i].share;
	return z->size[i].bytes / 512;
}

static u64 siml_stream_lbn(struct siml *l, u32 process, u32 nsect)
{
	u64 *next = &l->stream[process % l->o->places];
	u64 lbn;

	if (*next + nsect > l->units * l->unit)
		*next = 0;
	lbn = *next;
	*next += nsect;
	return lbn;
}

/*
 * Zipf's law over SIML_ZIPF places, of exponent 1: rank r is as likely as 1/r. They are all over
 * the disk, as by a step that has no factor in common with their number.
 */
static u64 siml_zipf_lbn(struct siml *l, u64 units)
{
	u64 rank = min_t(u64, exp(siml_share(&l->what) * log(SIML_ZIPF + 1)), SIML_ZIPF) - 1;
	u64 each = l->units / SIML_ZIPF;

	return (rank * SIML_ZIPF_STEP % SIML_ZIPF * each + siml_below(&l->what, each - units + 1)) *
		l->unit;
}

static u64 siml_lbn(struct siml *l, u32 process, u32 nsect)
{
	u64 units = siml_units(l, nsect);

	switch (l->o->place) {
	case SIMO_APPEND:
		if (process < l->o->places)
			return siml_stream_lbn(l, 0, nsect);
		break;
	case SIMO_ZIPF:
		return siml_zipf_lbn(l, units);
	case SIMO_STREAMS:
		return siml_stream_lbn(l, process, nsect);
	case SIMO_CYLINDERS:
		return (l->cyl_first + siml_below(&l->what, l->cyl_units - units + 1)) * l->unit;
	case SIMO_UNIFORM:
		break;
	}
	return siml_below(&l->what, l->units - units + 1) * l->unit;
}

u32 siml_longest(const struct siml *l)
{
	const struct simo *o = l->o;
	u64 most = 0;
	u32 i;

	if (l->trace.n)
		return l->trace.longest;
	if (o->sizes.mean)
		return min_t(u64, SIML_EXP_MAX, SIML_EXP_MOST * o->sizes.mean / 512);
	for (i = 0; i < o->sizes.n; i++)
		most = max(most, o->sizes.size[i].bytes / 512);
	return most;
}

/*
 * The band of cylinders lies anywhere, as the seed wills: as many tracks, in the order of LBNs.
 */
static void siml_init_band(struct siml *l, const struct disk_model *dm, u32 longest)
{
	u64 cylinders = dm_info(dm)->cylinders, most, first, end;
	struct dm_track a, b;
	u32 cyl;

	if (l->o->places > cylinders)
		sim_usage("locality: the disk has only %llu cylinders",
			  (unsigned long long)cylinders);
	most = cylinders - l->o->places;
	cyl = siml_below(&l->what, most + 1);
	while (dm_track_by_index(dm, cyl * dm_info(dm)->heads, &a) || !a.nsect) {
		if (!cyl--)
			sim_fail("locality: the disk's first cylinders are empty");
	}
	first = a.first_lbn;
	end = dm_info(dm)->sectors;
	if (cyl + l->o->places < cylinders &&
	    !dm_track_by_index(dm, (cyl + l->o->places) * dm_info(dm)->heads, &b) && b.nsect)
		end = b.first_lbn;
	l->cyl_first = siml_units(l, first);
	/* a band shorter than a unit may end before the first that begins in it */
	l->cyl_units = max(end / l->unit, l->cyl_first) - l->cyl_first;
	if (l->cyl_units * l->unit < longest)
		sim_usage("locality: %llu cylinders are shorter than a request",
			  (unsigned long long)l->o->places);
}

/* ---- when ---- */

static void siml_swap(struct siml *l, u32 a, u32 b)
{
	struct siml_wake w = l->wake[a];

	l->wake[a] = l->wake[b];
	l->wake[b] = w;
}

static bool siml_before(const struct siml *l, u32 a, u32 b)
{
	const struct siml_wake *x = &l->wake[a], *y = &l->wake[b];

	return x->ns < y->ns || (x->ns == y->ns && x->process < y->process);
}

static void siml_think(struct siml *l, u32 process, u64 until_ns)
{
	u32 i = l->thinking++;

	l->wake[i].ns = until_ns;
	l->wake[i].process = process;
	for (; i && siml_before(l, i, (i - 1) / 2); i = (i - 1) / 2)
		siml_swap(l, i, (i - 1) / 2);
}

static u32 siml_wake_up(struct siml *l)
{
	u32 process = l->wake[0].process, i = 0, child;

	l->wake[0] = l->wake[--l->thinking];
	while ((child = 2 * i + 1) < l->thinking) {
		if (child + 1 < l->thinking && siml_before(l, child + 1, child))
			child++;
		if (!siml_before(l, child, i))
			break;
		siml_swap(l, i, child);
		i = child;
	}
	return process;
}

static u64 siml_think_ns(struct siml *l)
{
	double ns = l->o->think_ms * 1e6;

	return l->o->think_constant ? ns : siml_exponential(&l->when, ns);
}

/* of bursts drawn from @least on, whole and bounded: the sum of how many reach each length */
static double siml_burst_mean(double least)
{
	double mean = 1;
	u32 n;

	for (n = 2; n <= SIMO_BURST_MAX; n++)
		mean += min(pow(least / n, SIML_BURST_TAIL), 1.);
	return mean;
}

/* Pareto's own mean is not that of whole and bounded lengths: find what gives them the mean */
static void siml_init_burst(struct siml *l)
{
	double low = 0, high = SIMO_BURST_MAX, most;
	double within_ns = (l->o->burst - 1) * SIML_BURST_NS;
	int i;

	/* of single requests any number */
	most = l->o->burst * 1e9 / within_ns;
	if (l->o->rate > most)
		sim_usage("rate: bursts of %g requests on the mean, %g ms apart, allow for %g/s",
			  l->o->burst, SIML_BURST_NS / 1e6, most);
	for (i = 0; i < SIML_BURST_HALVINGS; i++) {
		l->burst_least = (low + high) / 2;
		if (siml_burst_mean(l->burst_least) < l->o->burst)
			low = l->burst_least;
		else
			high = l->burst_least;
	}
}

/*
 * When the next request comes. Bursts come at random, and their lengths have a heavy tail (Pareto),
 * so that there are long pauses and long bursts at any mean rate.
 */
static u64 siml_gap_ns(struct siml *l)
{
	double n;

	if (!l->o->burst)
		return siml_exponential(&l->when, 1e9 / l->o->rate);
	if (l->left) {
		l->left--;
		return siml_exponential(&l->when, SIML_BURST_NS);
	}
	n = l->burst_least * pow(siml_share(&l->when), -1 / SIML_BURST_TAIL);
	l->left = clamp(n, 1., (double)SIMO_BURST_MAX) - 1;
	return siml_exponential(&l->when, l->o->burst * 1e9 / l->o->rate -
					  (l->o->burst - 1) * SIML_BURST_NS);
}

u64 siml_next_ns(const struct siml *l)
{
	if (l->trace.n)
		return l->traced < l->trace.n ? l->trace.req[l->traced].ns : SIML_NEVER;
	if (l->o->rate)
		return l->next_ns;
	return l->thinking ? l->wake[0].ns : SIML_NEVER;
}

static void siml_trace_next(struct siml *l, struct siml_req *req)
{
	const struct sim_trace_req *r = &l->trace.req[l->traced++];

	req->r.fg.nsect = r->nsect;
	req->r.fg.lbn = r->lbn;
	req->r.fg.write = r->write;
}

static void siml_draw_next(struct siml *l, struct siml_req *req)
{
	if (l->o->rate) {
		l->next_ns += siml_gap_ns(l);
		req->process = l->o->place == SIMO_STREAMS ?
			siml_below(&l->what, l->o->places) : 0;
	} else {
		req->process = siml_wake_up(l);
	}
	req->r.fg.nsect = siml_sectors(l);
	req->r.fg.lbn = siml_lbn(l, req->process, req->r.fg.nsect);
	req->r.fg.write = siml_share(&l->what) >= l->o->reads;
	if (l->o->place == SIMO_APPEND)
		req->r.fg.write = req->process < l->o->places;
	if (!req->r.fg.write)
		return;
	req->fua = l->o->fua && siml_share(&l->what) < l->o->fua;
	req->fsync = l->o->fsync && siml_share(&l->what) < l->o->fsync;
}

struct siml_req *siml_arrive(struct siml *l)
{
	u64 now_ns = siml_next_ns(l);
	struct siml_req *req;

	if (!l->n_free)
		sim_fail("%s: the drive cannot keep up, %d requests wait after %.0f s",
			 l->trace.n ? "trace" : "rate", SIMO_PENDING_MAX, now_ns / 1e9);
	req = l->free[--l->n_free];
	memset(req, 0, sizeof(*req));
	req->arrived_ns = now_ns;
	if (l->trace.n)
		siml_trace_next(l, req);
	else
		siml_draw_next(l, req);
	return req;
}

bool siml_writes(const struct siml *l)
{
	return l->trace.n ? l->trace.writes : l->o->reads < 1 || l->o->place == SIMO_APPEND;
}

bool siml_over(const struct siml *l)
{
	return l->trace.n && l->traced == l->trace.n && l->n_free == SIMO_PENDING_MAX;
}

double siml_share_done(const struct siml *l)
{
	return l->trace.n ? (double)l->traced / l->trace.n : 0;
}

void siml_destroy(struct siml *l)
{
	sim_trace_free(&l->trace);
}

void siml_done(struct siml *l, struct siml_req *req, u64 now_ns)
{
	if (!l->o->rate && !l->trace.n)
		siml_think(l, req->process, now_ns + siml_think_ns(l));
	l->free[l->n_free++] = req;
}

/* ---- beginning ---- */

static void siml_check_sizes(const struct simo_sizes *z, u32 block)
{
	u32 i;

	for (i = 0; i < z->n; i++)
		if (z->size[i].bytes / 512 % block)
			sim_usage("size: %llu bytes are not whole blocks of the drive, of %u bytes",
				  (unsigned long long)z->size[i].bytes, block * 512);
}

void siml_init(struct siml *l, const struct simo *o, const struct disk_model *dm, u64 sectors,
	       u32 block)
{
	u32 physical = dm ? dm_info(dm)->physical_sectors : block;
	u32 longest, i;

	memset(l, 0, sizeof(*l));
	l->o = o;
	if (*o->trace)
		sim_trace_read(&l->trace, o->trace, sectors, physical, SIML_TRACE_MAX);
	else
		siml_check_sizes(&o->sizes, block);
	longest = siml_longest(l);
	l->unit = max_t(u32, SIML_UNIT, physical);
	l->units = sectors / l->unit;
	if (longest > sectors / SIML_MIN_SHARE)
		sim_usage("size: requests of %u sectors on a disk of %llu", longest,
			  (unsigned long long)sectors);
	l->what.state = o->seed;
	l->when.state = ~o->seed;
	if (o->sizes.mean && (o->sizes.mean < l->unit * 512 ||
			      o->sizes.mean > SIML_EXP_MAX / SIML_EXP_MEAN * 512))
		sim_usage("size: an exponential's mean is from %u to %u bytes", l->unit * 512,
			  SIML_EXP_MAX / SIML_EXP_MEAN * 512);
	if (o->place == SIMO_CYLINDERS)
		siml_init_band(l, dm, longest);
	for (i = 0; i < o->places && o->place >= SIMO_STREAMS; i++)
		l->stream[i] = siml_below(&l->what, l->units) * l->unit;
	for (i = 0; i < SIMO_PENDING_MAX; i++)
		l->free[l->n_free++] = &l->req[i];
	if (o->rate && o->burst)
		siml_init_burst(l);
	if (o->rate)
		l->next_ns = siml_gap_ns(l);
	for (i = 0; i < o->outstanding && !o->rate && !l->trace.n; i++)
		siml_think(l, i, 0);
}
