// SPDX-License-Identifier: GPL-2.0
/* Threshold and size of idle reads; see core/idle/threshold.h. */
#include "core/idle/threshold.h"

#define FB_IDLE_POLICY_AGE 8192		/* intervals after which the past counts half */
#define FB_IDLE_POLICY_FORGET 1024		/* busy periods in which the longest is forgotten */

#define FB_IDLE_POLICY_ALIKE 8		/* yields of sizes within 1 / this are alike */
#define FB_IDLE_POLICY_ALIKE_WAITS 16	/* the same of thresholds */

/* ---- idle intervals ---- */

/* four bins per doubling from 2^14 ns on; the first bin holds all that is shorter */
u32 fb_idle_policy_bin(u64 ns)
{
	u32 log;

	if (ns < 1ULL << 14)
		return 0;
	log = ns >> 32 ? 32 + __fls(ns >> 32) : __fls(ns & U32_MAX);
	return min_t(u32, 4 * (log - 14) + ((ns >> (log - 2)) & 3) + 1, FB_IDLE_POLICY_BINS - 1);
}

/* the shortest interval of a bin */
static u64 fb_idle_policy_bin_ns(u32 bin)
{
	return bin ? (4ULL + (bin - 1) % 4) << ((bin - 1) / 4 + 12) : 0;
}

static void fb_idle_policy_age(struct fb_idle_policy *w)
{
	u32 i;

	w->aged_n = 0;
	w->spared /= 2;
	for (i = 0; i < FB_IDLE_POLICY_BINS; i++) {
		w->bins[i].n /= 2;
		w->bins[i].requests /= 2;
		w->bins[i].ns = w->bins[i].n ? w->bins[i].ns / 2 : 0;
		w->aged_n += w->bins[i].n;
	}
}

/* as fb_idle_policy_try() counts it: each request waits for the mean rest of a read */
void fb_idle_policy_count_period(struct fb_idle_policy *w)
{
	struct fb_idle_times_mean m;

	if (!w->held && fb_idle_times_mean(&w->times, fb_idle_policy_class(w), &m))
		fb_idle_account_period(&w->account, w->period_ns, w->requests, m.rest_ns);
}

void fb_idle_policy_count_interval(struct fb_idle_policy *w)
{
	struct fb_idle_policy_bin *b = &w->bins[w->bin];

	w->longest = max(w->longest - w->longest / FB_IDLE_POLICY_FORGET, w->requests);
	if (w->held) {
		w->spared += w->requests;
		return;
	}
	b->n++;
	b->requests += w->requests;
	b->ns += w->interval_ns;
	if (++w->aged_n >= FB_IDLE_POLICY_AGE)
		fb_idle_policy_age(w);
}

u64 fb_idle_policy_hit_ns(const struct fb_idle_policy *w, u64 rest_ns)
{
	return max_t(u64, rest_ns * fb_idle_account_ratio(&w->account) / FB_IDLE_ACCOUNT_ONE, 1);
}

/* ---- times of idle reads ---- */

u32 fb_idle_policy_class(const struct fb_idle_policy *w)
{
	if (!w->first)
		return w->size;
	return w->soon ? FB_IDLE_TIMES_SOON : FB_IDLE_TIMES_FIRST;
}

u32 fb_idle_policy_size(const struct fb_idle_policy *w)
{
	u32 size = 0;

	while (size + 1 < FB_IDLE_POLICY_SIZES && FB_IDLE_POLICY_SECTORS_MIN << size < w->sectors)
		size++;
	return size;
}

static u64 fb_idle_policy_transfer_ns(const struct fb_idle_policy *w, u64 sectors)
{
	return div_u64(sectors * w->sector_ps, 1000);
}

/* just behind the foreground the head is where that has left it */
static u32 fb_idle_policy_first_class(const struct fb_idle_policy *w, u64 wait_ns)
{
	struct fb_idle_times_mean m;

	if (wait_ns >= FB_IDLE_TURN_NS / 2)
		return FB_IDLE_TIMES_FIRST;
	/* until it was tried, as if it were as good as the next one, so that it is */
	return fb_idle_times_mean(&w->times, FB_IDLE_TIMES_SOON, &m) ? FB_IDLE_TIMES_SOON :
								       w->size;
}

/* of what was never tried nothing is known but that it takes longer than what was */
static void fb_idle_policy_class_cost(const struct fb_idle_policy *w, u32 class, u64 sectors,
				      struct fb_idle_times_mean *m)
{
	if (fb_idle_times_mean(&w->times, class, m))
		return;
	m->sectors = sectors;
	m->ns = FB_IDLE_TURN_NS + fb_idle_policy_transfer_ns(w, sectors);
	m->rest_ns = m->ns / 2;
}

void fb_idle_policy_next_cost(const struct fb_idle_policy *w, u32 size,
			      struct fb_idle_times_mean *m)
{
	fb_idle_policy_class_cost(w, size, FB_IDLE_POLICY_SECTORS_MIN << size, m);
}

/* the first command moves the head from where the foreground left it */
void fb_idle_policy_first_cost(const struct fb_idle_policy *w, u32 size, u64 wait_ns,
			       struct fb_idle_times_mean *m)
{
	fb_idle_policy_class_cost(w, fb_idle_policy_first_class(w, wait_ns),
				  FB_IDLE_POLICY_SECTORS_MIN << size, m);
}

/* ---- threshold and size ---- */

/* a threshold and a size */
struct fb_idle_policy_choice {
	u64 wait_ns;
	u32 sectors;
	u64 yield;	/* sectors read in the idle intervals of the statistics */
};

/* sums over the idle intervals longer than some */
struct fb_idle_policy_sum {
	u64 n;
	u64 ns;
	u64 hit;	/* requests that wait for a read that the intervals end with */
};

static void fb_idle_policy_add(const struct fb_idle_policy *w, u32 bin,
			       struct fb_idle_policy_sum *sum)
{
	const struct fb_idle_policy_bin *b = &w->bins[bin];

	sum->n += b->n;
	sum->ns += b->ns;
	sum->hit += b->requests;
}

/* what may be charged to @requests requests */
static u64 fb_idle_policy_allowed_ns(const struct fb_idle_policy *w, u64 requests)
{
	return fb_idle_policy_aim_ns(w) * requests;
}

/*
 * Find the shortest threshold with which a size keeps to the mean, and its yield. Every longer
 * interval ends with a collision, and each request of the busy period after it waits for
 * the rest of the read: of the first one, if the interval ends before that does, else of one of
 * those that follow. @requests counts the requests of all intervals. A shorter threshold may cost
 * less than a longer one, for fewer intervals end in the first read.
 */
static void fb_idle_policy_try(const struct fb_idle_policy *w, u32 size, u64 requests,
			       struct fb_idle_policy_choice *c)
{
	struct fb_idle_policy_sum all = { 0 }, beyond = { 0 };
	u32 bin = FB_IDLE_POLICY_BINS, from = FB_IDLE_POLICY_BINS;
	u64 allowed_ns = fb_idle_policy_allowed_ns(w, requests);
	u64 wait_ns, first_hit_ns, next_hit_ns, cost_ns, yield, most = 0;
	/* streams go on at once, so that to wait spares them */
	u32 alike = fb_idle_streams_known(&w->streams) ? U32_MAX : FB_IDLE_POLICY_ALIKE_WAITS;
	struct fb_idle_times_mean first, next;

	fb_idle_policy_next_cost(w, size, &next);
	next_hit_ns = fb_idle_policy_hit_ns(w, next.rest_ns);
	c->wait_ns = fb_idle_policy_bin_ns(bin);
	c->sectors = FB_IDLE_POLICY_SECTORS_MIN << size;
	c->yield = 0;
	while (bin--) {
		wait_ns = fb_idle_policy_bin_ns(bin);
		fb_idle_policy_first_cost(w, size, wait_ns, &first);
		first_hit_ns = fb_idle_policy_hit_ns(w, first.rest_ns);
		fb_idle_policy_add(w, bin, &all);
		while (from && fb_idle_policy_bin_ns(from - 1) >= wait_ns + first.ns)
			fb_idle_policy_add(w, --from, &beyond);
		cost_ns = (all.hit - beyond.hit) * first_hit_ns + beyond.hit * next_hit_ns;
		yield = all.n * first.sectors +
			mul_u64_u64_div_u64(beyond.ns - beyond.n * (wait_ns + first.ns),
					    next.sectors, max_t(u64, next.ns, 1));
		/* the budget leaves intervals out: only those are read in that can be paid */
		if (cost_ns > allowed_ns)
			yield = mul_u64_u64_div_u64(yield, allowed_ns, cost_ns);
		most = max(most, yield);
		if (yield < most - div_u64(most, alike))
			continue;
		c->wait_ns = wait_ns;
		c->yield = yield;
	}
}

u32 fb_idle_policy_longest(const struct fb_idle_policy *w)
{
	u64 ns = fb_idle_policy_longest_ns(w);
	u32 size = FB_IDLE_POLICY_SIZES;

	while (size && fb_idle_policy_transfer_ns(w, FB_IDLE_POLICY_SECTORS_MIN << (size - 1)) +
	       w->turn_ns > ns)
		size--;
	return size;
}

bool fb_idle_policy_is_tried(const struct fb_idle_policy *w, u32 size)
{
	struct fb_idle_times_mean m;

	return fb_idle_times_mean(&w->times, size, &m);
}

/*
 * Choose the shortest of the sizes whose yields are about the largest: it costs least, and the
 * small differences are chance.
 */
static void fb_idle_policy_choose(const struct fb_idle_policy *w, u32 sizes,
				  struct fb_idle_policy_choice *best)
{
	struct fb_idle_policy_choice c[FB_IDLE_POLICY_SIZES];
	u64 requests = w->spared, most = 0;
	u32 i;

	for (i = 0; i < FB_IDLE_POLICY_BINS; i++)
		requests += w->bins[i].requests;
	for (i = 0; i < sizes; i++) {
		fb_idle_policy_try(w, i, requests, &c[i]);
		if (i && !fb_idle_policy_is_tried(w, i))
			c[i].yield = 0;
		most = max(most, c[i].yield);
	}
	for (i = 0; i < sizes && c[i].yield < most - most / FB_IDLE_POLICY_ALIKE; i++)
		;
	*best = c[i];
}

void fb_idle_policy_find(struct fb_idle_policy *w)
{
	/* what first reads take is learnt where they are cheap, and the budget watches */
	struct fb_idle_policy_choice best = { .wait_ns = 0 };
	u32 sizes = fb_idle_policy_longest(w);

	w->intervals = 0;
	if (sizes && w->aged_n >= FB_IDLE_POLICY_LEARN)
		fb_idle_policy_choose(w, sizes, &best);
	else if (sizes)
		best.sectors = FB_IDLE_POLICY_SECTORS_MIN;
	w->wait_ns = w->fixed_ns == FB_IDLE_POLICY_AUTO ? best.wait_ns : w->fixed_ns;
	w->sectors = best.sectors;
	if (w->fixed_sectors && sizes)
		w->sectors = min(w->fixed_sectors, FB_IDLE_POLICY_SECTORS_MIN << (sizes - 1));
	w->found = w->sectors;
}
