// SPDX-License-Identifier: GPL-2.0
/*
 * Threshold and size of idle reads; see core/idle/threshold.h. Core: no locks, the caller
 * serialises.
 */
#include "core/idle/threshold.h"

#define FB_IDLE_POLICY_NS_PER_US 1000U
#define FB_IDLE_POLICY_LEARN_NS 100000000U
#define FB_IDLE_POLICY_LEARN_SIZE 1	/* 128 KiB */
#define FB_IDLE_POLICY_AGE 8192		/* intervals after which the past counts half */
#define FB_IDLE_POLICY_FORGET 1024		/* busy periods in which the longest is forgotten */
#define FB_IDLE_POLICY_SIZE_AGE 8192	/* commands of a size after which they count half */
#define FB_IDLE_POLICY_STALE 8		/* statistics of unused sizes fade by 1 / this */
#define FB_IDLE_POLICY_PRIOR 64		/* weight of a size's estimated cost, in commands */
#define FB_IDLE_POLICY_SIZE_KNOWN 8	/* least commands for a measured mean */

/*
 * Aim at a part of the mean's goal, so that the budget seldom steps in. Without a model the account
 * sees less than reads cost; but where there are streams, more.
 */
#define FB_IDLE_POLICY_AIM_OF 16
#define FB_IDLE_POLICY_AIM 15
#define FB_IDLE_POLICY_AIM_MEASURED 11
#define FB_IDLE_POLICY_AIM_STREAMS 14
#define FB_IDLE_POLICY_RESERVE_PART 16	/* what is kept of the most that may be saved up */
#define FB_IDLE_POLICY_ALIKE 32		/* yields that differ by less than 1 / this are alike */
#define FB_IDLE_POLICY_ALIKE_MEASURED 8	/* the same where each size is measured for itself */
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

/* what requests behind idle reads wait besides the rest of a read that they have met */
void fb_idle_policy_count_behind(struct fb_idle_policy *w)
{
	if (!w->read || w->held)
		return;
	w->behind_n += w->requests;
	w->behind_ns -= (s64)w->requests * w->met_ns;
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

/* ---- times of first requests, with idle reads before them and without ---- */

void fb_idle_policy_count_alone(struct fb_idle_policy_first *f, u64 ns)
{
	u64 us = min_t(u64, div_u64(ns, FB_IDLE_POLICY_NS_PER_US), U32_MAX / 64);

	f->us += us;
	f->sq += us * us;
	if (++f->n < FB_IDLE_POLICY_ALONE_AGE)
		return;
	f->n /= 2;
	f->us /= 2;
	f->sq /= 2;
}

/* the variance of a mean, in square microseconds */
static u64 fb_idle_policy_variance(const struct fb_idle_policy_first *f, u64 mean)
{
	u64 square = div_u64(f->sq, f->n);

	return square > mean * mean ? div_u64(square - mean * mean, f->n) : 0;
}

/*
 * Idle reads move the head, and end the drive's read-ahead for a stream, so the first request
 * after them may take longer even without a collision. A difference within three standard errors
 * counts as chance: this is asked anew with each request, so within two it is often more by chance.
 */
static u64 fb_idle_policy_alone_ns(const struct fb_idle_policy *w)
{
	const struct fb_idle_policy_first *without = &w->alone[0], *with = &w->alone[1];
	u64 a, b, more;

	if (min(without->n, with->n) < FB_IDLE_POLICY_ALONE_KNOWN)
		return 0;
	a = div_u64(without->us, without->n);
	b = div_u64(with->us, with->n);
	if (b <= a)
		return 0;
	more = b - a;
	if (more * more <= 9 * (fb_idle_policy_variance(without, a) +
				fb_idle_policy_variance(with, b)))
		return 0;
	return more * FB_IDLE_POLICY_NS_PER_US;
}

/* where the drive orders only the first request waits for a read, until more is known */
bool fb_idle_policy_one_waits(const struct fb_idle_policy *w)
{
	return w->own_order && w->behind.n < FB_IDLE_POLICY_BEHIND_KNOWN;
}

/* the same as followed request by request, which may be negative; else as seen from afar */
s64 fb_idle_policy_moved_ns(const struct fb_idle_policy *w)
{
	if (w->measured)
		return 0;
	if (w->own_order && w->behind.n >= FB_IDLE_POLICY_BEHIND_KNOWN)
		return fb_idle_cost_mean_ns(&w->behind, 0);
	if (!w->own_order && w->moved.n >= FB_IDLE_POLICY_ALONE_KNOWN)
		return fb_idle_cost_mean_ns(&w->moved, 0);
	return fb_idle_policy_alone_ns(w);
}

/* what a busy period behind idle reads waits on the mean */
u64 fb_idle_policy_hit_ns(const struct fb_idle_policy *w, u64 rest_ns)
{
	if (w->measured)
		return max_t(u64, rest_ns * fb_idle_account_ratio(&w->account) /
			     FB_IDLE_ACCOUNT_ONE, 1);
	return max_t(s64, rest_ns + fb_idle_policy_moved_ns(w), 1);
}

/* ---- times of idle reads ---- */

u32 fb_idle_policy_class(const struct fb_idle_policy *w)
{
	if (!w->first)
		return w->size;
	return w->soon ? FB_IDLE_TIMES_SOON : FB_IDLE_TIMES_FIRST;
}

void fb_idle_policy_count_read(struct fb_idle_policy *w, u64 ns)
{
	struct fb_idle_policy_size *s = w->first ? &w->firsts : &w->sizes[w->size];
	u64 us = min_t(u64, div_u64(ns, FB_IDLE_POLICY_NS_PER_US), U32_MAX / 64);

	s->ns += ns;
	s->sq += us * us;
	s->sectors += w->nsect;
	if (++s->n < FB_IDLE_POLICY_SIZE_AGE)
		return;
	s->n /= 2;
	s->ns /= 2;
	s->sq /= 2;
	s->sectors /= 2;
}

/* index of the size in force */
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

/* what is known of the commands after the first, over all sizes */
static struct fb_idle_policy_size fb_idle_policy_all(const struct fb_idle_policy *w)
{
	struct fb_idle_policy_size all = { 0 };
	u32 i;

	for (i = 0; i < FB_IDLE_POLICY_SIZES; i++) {
		all.n += w->sizes[i].n;
		all.ns += w->sizes[i].ns;
		all.sectors += w->sizes[i].sectors;
	}
	return all;
}

/*
 * Estimates the time of a command of @sectors from others of any length: the transfer at the
 * drive's lowest rate, and what those took besides. If they took less, their rate.
 */
static u64 fb_idle_policy_estimate_ns(const struct fb_idle_policy *w,
				      const struct fb_idle_policy_size *others, u64 sectors)
{
	u64 transfer_ns = fb_idle_policy_transfer_ns(w, sectors), theirs_ns;

	if (others->n < FB_IDLE_POLICY_SIZE_KNOWN)
		return w->turn_ns / 2 + transfer_ns;
	theirs_ns = fb_idle_policy_transfer_ns(w, others->sectors);
	if (others->ns > theirs_ns)
		return div_u64(others->ns - theirs_ns, others->n) + transfer_ns;
	return mul_u64_u64_div_u64(others->ns, sectors, max_t(u64, others->sectors, 1));
}

/*
 * Averages what was measured with an estimate that has the weight of FB_IDLE_POLICY_PRIOR
 * commands. Requests are more likely to arrive during a long command than a short one, so the
 * mean rest is E[x^2] / 2 E[x].
 */
static void fb_idle_policy_average(const struct fb_idle_policy_size *s, u64 ns, u64 sectors,
				   struct fb_idle_policy_cost *c)
{
	u64 n = s->n + FB_IDLE_POLICY_PRIOR, us = div_u64(ns, FB_IDLE_POLICY_NS_PER_US);

	c->sectors = div64_u64(s->sectors + FB_IDLE_POLICY_PRIOR * sectors, n);
	c->ns = div64_u64(s->ns + FB_IDLE_POLICY_PRIOR * ns, n);
	c->rest_ns = mul_u64_u64_div_u64(s->sq + FB_IDLE_POLICY_PRIOR * us * us,
					 (u64)FB_IDLE_POLICY_NS_PER_US * FB_IDLE_POLICY_NS_PER_US,
					 2 * max_t(u64, s->ns + FB_IDLE_POLICY_PRIOR * ns, 1));
}

/* just behind the foreground the head is where that has left it */
static u32 fb_idle_policy_first_class(const struct fb_idle_policy *w, u64 wait_ns)
{
	struct fb_idle_times_mean m;

	if (wait_ns >= w->turn_ns / 2)
		return FB_IDLE_TIMES_FIRST;
	/* until it was tried, as if it were as good as the next one, so that it is */
	return fb_idle_times_mean(&w->times, FB_IDLE_TIMES_SOON, &m) ? FB_IDLE_TIMES_SOON :
								       w->size;
}

/* of what was never tried nothing is known but that it takes longer than what was */
static bool fb_idle_policy_measured(const struct fb_idle_policy *w, u32 class, u64 sectors,
				    struct fb_idle_policy_cost *c)
{
	struct fb_idle_times_mean m;

	if (!w->measured)
		return false;
	if (!fb_idle_times_mean(&w->times, class, &m)) {
		m.sectors = sectors;
		m.ns = w->turn_ns + fb_idle_policy_transfer_ns(w, sectors);
		m.rest_ns = m.ns / 2;
	}
	*c = (struct fb_idle_policy_cost) {
		.ns = m.ns,
		.sectors = m.sectors,
		.rest_ns = m.rest_ns,
	};
	return true;
}

/* of commands that follow another one of their idle interval */
void fb_idle_policy_next_cost(const struct fb_idle_policy *w, u32 size,
			      struct fb_idle_policy_cost *c)
{
	struct fb_idle_policy_size all = fb_idle_policy_all(w);
	u64 sectors = FB_IDLE_POLICY_SECTORS_MIN << size;

	if (fb_idle_policy_measured(w, size, sectors, c))
		return;
	fb_idle_policy_average(&w->sizes[size], fb_idle_policy_estimate_ns(w, &all, sectors),
			       sectors, c);
}

/*
 * Of the first command of an idle interval, which moves the head from where the foreground left
 * it. Sizes differ by what they transfer only.
 */
void fb_idle_policy_first_cost(const struct fb_idle_policy *w, u32 size, u64 wait_ns,
			       struct fb_idle_policy_cost *c)
{
	const struct fb_idle_policy_size *f = &w->firsts;
	u64 sectors = FB_IDLE_POLICY_SECTORS_MIN << size, ns;

	if (fb_idle_policy_measured(w, fb_idle_policy_first_class(w, wait_ns), sectors, c))
		return;
	ns = fb_idle_policy_estimate_ns(w, f, sectors);
	*c = (struct fb_idle_policy_cost) { .ns = ns, .sectors = sectors, .rest_ns = ns / 2 };
	if (f->n < FB_IDLE_POLICY_SIZE_KNOWN)
		return;
	fb_idle_policy_average(f, ns, sectors, c);
	c->rest_ns = max_t(s64, c->rest_ns + ((s64)ns - (s64)c->ns) / 2, 0);
	c->ns = ns;
	c->sectors = sectors;
}

/* slowly forget sizes that are not in use, so that they are tried again */
static void fb_idle_policy_fade(struct fb_idle_policy *w)
{
	u32 i;

	for (i = 0; i < FB_IDLE_POLICY_SIZES && !w->measured; i++) {
		struct fb_idle_policy_size *s = &w->sizes[i];
		u32 gone = s->n / FB_IDLE_POLICY_STALE + 1;

		if (i == w->size || !s->n)
			continue;
		s->ns -= mul_u64_u64_div_u64(s->ns, gone, s->n);
		s->sq -= mul_u64_u64_div_u64(s->sq, gone, s->n);
		s->sectors -= mul_u64_u64_div_u64(s->sectors, gone, s->n);
		s->n -= gone;
	}
}

/* ---- threshold and size ---- */

/* a threshold and a size */
struct fb_idle_policy_choice {
	u64 wait_ns;	/* threshold */
	u32 sectors;	/* size */
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
	sum->hit += fb_idle_policy_one_waits(w) ? b->n : b->requests;
}

static u32 fb_idle_policy_aim_part(const struct fb_idle_policy *w)
{
	if (!w->measured)
		return FB_IDLE_POLICY_AIM;
	return fb_idle_cost_knows_streams(&w->cost) ? FB_IDLE_POLICY_AIM_STREAMS :
						      FB_IDLE_POLICY_AIM_MEASURED;
}

/*
 * What may be charged to @requests requests. The model errs: requests wait less for a read than it
 * says, since a drive that has several makes good some of it, and times of reads are those of the
 * threshold in force. What is saved up says so, and is spent but for a reserve.
 */
static u64 fb_idle_policy_allowed_ns(const struct fb_idle_policy *w, u64 requests)
{
	u64 ns = w->goal_mean_ns * fb_idle_policy_aim_part(w) / FB_IDLE_POLICY_AIM_OF * requests;
	u64 most = w->goal_mean_ns * FB_IDLE_POLICY_WINDOW;
	s64 spare = w->credit_ns - (s64)(most / FB_IDLE_POLICY_RESERVE_PART);

	/* without a model it is saved up because the account has not seen all, too */
	return spare > 0 && !w->measured ? ns + mul_u64_u64_div_u64(ns, spare, most) : ns;
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
	u32 alike = fb_idle_cost_knows_streams(&w->cost) ? U32_MAX : FB_IDLE_POLICY_ALIKE_WAITS;
	struct fb_idle_policy_cost first, next;

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
		if (cost_ns > allowed_ns && !w->measured)
			continue;
		yield = all.n * first.sectors +
			mul_u64_u64_div_u64(beyond.ns - beyond.n * (wait_ns + first.ns),
					    next.sectors, max_t(u64, next.ns, 1));
		/* the budget leaves intervals out: only those are read in that can be paid */
		if (cost_ns > allowed_ns)
			yield = mul_u64_u64_div_u64(yield, allowed_ns, cost_ns);
		most = max(most, yield);
		if (w->measured && yield < most - div_u64(most, alike))
			continue;
		c->wait_ns = wait_ns;
		c->yield = yield;
	}
}

/* how many of the FB_IDLE_POLICY_SIZES sizes keep the maximum wherever they are read */
u32 fb_idle_policy_longest(const struct fb_idle_policy *w)
{
	u64 ns = fb_idle_policy_longest_ns(w);
	u32 size = FB_IDLE_POLICY_SIZES;

	while (size && fb_idle_policy_transfer_ns(w, FB_IDLE_POLICY_SECTORS_MIN << (size - 1)) +
	       w->turn_ns > ns)
		size--;
	return size;
}

static bool fb_idle_policy_is_tried(const struct fb_idle_policy *w, u32 size)
{
	struct fb_idle_times_mean m;

	return !w->measured || fb_idle_times_mean(&w->times, size, &m);
}

/*
 * Choose the shortest of the sizes whose yields are about the largest: it costs least, and the
 * small differences are chance.
 */
static void fb_idle_policy_choose(const struct fb_idle_policy *w, u32 sizes,
				  struct fb_idle_policy_choice *best)
{
	struct fb_idle_policy_choice c[FB_IDLE_POLICY_SIZES];
	u32 alike = w->measured ? FB_IDLE_POLICY_ALIKE_MEASURED : FB_IDLE_POLICY_ALIKE;
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
	for (i = 0; i < sizes && c[i].yield < most - most / alike; i++)
		;
	*best = c[i];
}

void fb_idle_policy_find(struct fb_idle_policy *w)
{
	struct fb_idle_policy_choice best = { .wait_ns = FB_IDLE_POLICY_LEARN_NS };
	u32 sizes = fb_idle_policy_longest(w);

	/* what first reads take is learnt where they are cheap, and the budget watches */
	if (w->measured)
		best.wait_ns = 0;
	if (sizes && w->aged_n >= FB_IDLE_POLICY_LEARN)
		fb_idle_policy_choose(w, sizes, &best);
	else if (sizes)
		best.sectors = FB_IDLE_POLICY_SECTORS_MIN <<
			min_t(u32, sizes - 1, w->measured ? 0 : FB_IDLE_POLICY_LEARN_SIZE);
	w->wait_ns = w->fixed_ns == FB_IDLE_POLICY_AUTO ? best.wait_ns : w->fixed_ns;
	w->sectors = best.sectors;
	if (w->fixed_sectors && sizes)
		w->sectors = min(w->fixed_sectors, FB_IDLE_POLICY_SECTORS_MIN << (sizes - 1));
	w->found = w->sectors;
}

void fb_idle_policy_tune(struct fb_idle_policy *w)
{
	w->intervals = 0;
	fb_idle_policy_fade(w);
	fb_idle_policy_find(w);
}
