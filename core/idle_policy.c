// SPDX-License-Identifier: GPL-2.0
/*
 * When to read while the disk is idle: Waiting and its two goals; see core/idle_policy.h. Core:
 * no locks, the caller serialises.
 */
#include "core/idle_policy.h"

#define FB_IDLE_POLICY_NS_PER_US 1000U

/* until the drive is known: no disk for sale is slower */
#define FB_IDLE_POLICY_TURN_NS 11111111U
#define FB_IDLE_POLICY_SECTOR_PS 5120000U

/*
 * With fewer intervals than this the threshold is 100 ms: above that most of the paper's traces
 * keep to a mean of 2 ms (table III).
 */
#define FB_IDLE_POLICY_LEARN 32
#define FB_IDLE_POLICY_LEARN_NS 100000000U
#define FB_IDLE_POLICY_LEARN_SIZE 1	/* 128 KiB */
/* intervals until threshold and size are found again */
#define FB_IDLE_POLICY_RETUNE 64
#define FB_IDLE_POLICY_AGE 8192		/* intervals after which the past counts half */
#define FB_IDLE_POLICY_FORGET 1024		/* busy periods in which the longest is forgotten */
#define FB_IDLE_POLICY_SIZE_AGE 8192	/* commands of a size after which they count half */
#define FB_IDLE_POLICY_STALE 8		/* statistics of unused sizes fade by 1 / this */
#define FB_IDLE_POLICY_PRIOR 64		/* weight of a size's estimated cost, in commands */
#define FB_IDLE_POLICY_ALONE_AGE 4096	/* requests after which they count half */
#define FB_IDLE_POLICY_MOVED_AGE 512	/* the same of how much longer they took */
#define FB_IDLE_POLICY_BEHIND_KNOWN 256	/* least requests for a mean that few long queues make */
#define FB_IDLE_POLICY_ALONE_KNOWN 16	/* least requests for a mean */
#define FB_IDLE_POLICY_SIZE_KNOWN 8	/* least commands for a measured mean */

/* aim below the mean's goal by 1 / this, so that the budget seldom steps in */
#define FB_IDLE_POLICY_AIM_PART 16
#define FB_IDLE_POLICY_ALIKE_MEASURED 8	/* the same where each size is measured for itself */
#define FB_IDLE_POLICY_TRY 512		/* one read in so many tries a longer size */
#define FB_IDLE_POLICY_TRY_MORE 3	/* up to so many doublings */
#define FB_IDLE_POLICY_ALIKE 32		/* yields that differ by less than 1 / this are alike */
#define FB_IDLE_POLICY_WINDOW 4096		/* requests whose allowance may be saved up */
#define FB_IDLE_POLICY_RESERVE_PART 16	/* what is kept of the most that may be saved up */
#define FB_IDLE_POLICY_START 64		/* requests whose allowance is granted at first */
#define FB_IDLE_POLICY_CONTROL_OF 32	/* one interval in this many is left without reads ... */
#define FB_IDLE_POLICY_CONTROL_OF_TOLD 128	/* ... where the model tells what reads cost ... */
/* ... for this long at most; of several streams so many in a row, and then none for as long */
#define FB_IDLE_POLICY_CONTROL_NS 10000000000ULL
#define FB_IDLE_POLICY_CONTROL_RUN 64

/* on a disk that is hardly used debts are never paid; after so long one more hardly shows */
#define FB_IDLE_POLICY_FORGIVE_NS 600000000000ULL

const char *const fb_idle_policy_why_name[] = {
	[FB_IDLE_POLICY_RUN] = "reading",
	[FB_IDLE_POLICY_OFF] = "off: the mean slowdown allowed is 0",
	[FB_IDLE_POLICY_BUSY] = "the disk is busy",
	[FB_IDLE_POLICY_READING] = "reading",
	[FB_IDLE_POLICY_WAITING] = "waiting for the threshold",
	[FB_IDLE_POLICY_BUDGET] = "paused: the mean slowdown is at its goal",
	[FB_IDLE_POLICY_SHORT] = "paused: the maximum slowdown allowed is shorter than any read",
	[FB_IDLE_POLICY_CONTROL] = "pausing for this interval, to measure without",
};

/* ---- idle intervals ---- */

/* four bins per doubling from 2^14 ns on; the first bin holds all that is shorter */
static u32 fb_idle_policy_bin(u64 ns)
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
static void fb_idle_policy_count_period(struct fb_idle_policy *w)
{
	u32 class = w->first ? FB_IDLE_TIMES_FIRST : w->size;
	struct fb_idle_times_mean m;

	if (!w->held && fb_idle_times_mean(&w->times, class, &m))
		fb_idle_account_period(&w->account, w->period_ns, w->requests, m.rest_ns);
}

/* what requests behind idle reads wait besides the rest of a read that they have met */
static void fb_idle_policy_count_behind(struct fb_idle_policy *w)
{
	if (!w->read || w->held)
		return;
	w->behind_n += w->requests;
	w->behind_ns -= (s64)w->requests * w->met_ns;
}

static void fb_idle_policy_count_interval(struct fb_idle_policy *w)
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

static void fb_idle_policy_count_alone(struct fb_idle_policy_first *f, u64 ns)
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
static bool fb_idle_policy_one_waits(const struct fb_idle_policy *w)
{
	return w->own_order && w->behind.n < FB_IDLE_POLICY_BEHIND_KNOWN;
}

/* the same as followed request by request, which may be negative; else as seen from afar */
static s64 fb_idle_policy_moved_ns(const struct fb_idle_policy *w)
{
	if (w->own_order && w->behind.n >= FB_IDLE_POLICY_BEHIND_KNOWN)
		return fb_idle_cost_mean_ns(&w->behind, 0);
	if (!w->own_order && w->moved.n >= FB_IDLE_POLICY_ALONE_KNOWN)
		return fb_idle_cost_mean_ns(&w->moved, 0);
	return fb_idle_policy_alone_ns(w);
}

/* what a busy period behind idle reads waits on the mean */
static u64 fb_idle_policy_hit_ns(const struct fb_idle_policy *w, u64 rest_ns)
{
	if (w->measured)
		return max(div_u64(rest_ns * fb_idle_account_ratio(&w->account),
				   FB_IDLE_ACCOUNT_ONE), 1ULL);
	return max_t(s64, rest_ns + fb_idle_policy_moved_ns(w), 1);
}

/* ---- times of idle reads ---- */

static u32 fb_idle_policy_class(const struct fb_idle_policy *w)
{
	return w->first ? FB_IDLE_TIMES_FIRST : w->size;
}

static void fb_idle_policy_count_read(struct fb_idle_policy *w, u64 ns)
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
static u32 fb_idle_policy_size(const struct fb_idle_policy *w)
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

/* mean cost of commands of one size */
struct fb_idle_policy_cost {
	u64 ns;		/* time of a command */
	u64 sectors;	/* sectors that it reads */
	u64 rest_ns;	/* mean rest of it when a foreground request arrives meanwhile */
};

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
	*c = (struct fb_idle_policy_cost) { .ns = m.ns, .sectors = m.sectors, .rest_ns = m.rest_ns };
	return true;
}

/* of commands that follow another one of their idle interval */
static void fb_idle_policy_next_cost(const struct fb_idle_policy *w, u32 size,
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
static void fb_idle_policy_first_cost(const struct fb_idle_policy *w, u32 size,
				      struct fb_idle_policy_cost *c)
{
	const struct fb_idle_policy_size *f = &w->firsts;
	u64 sectors = FB_IDLE_POLICY_SECTORS_MIN << size, ns;

	if (fb_idle_policy_measured(w, FB_IDLE_TIMES_FIRST, sectors, c))
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

/*
 * What may be charged to @requests requests. The model errs: requests wait less for a read than it
 * says, since a drive that has several makes good some of it, and times of reads are those of the
 * threshold in force. What is saved up says so, and is spent but for a reserve.
 */
static u64 fb_idle_policy_allowed_ns(const struct fb_idle_policy *w, u64 requests)
{
	u64 ns = (w->goal_mean_ns - w->goal_mean_ns / FB_IDLE_POLICY_AIM_PART) * requests;
	u64 most = w->goal_mean_ns * FB_IDLE_POLICY_WINDOW;
	s64 spare = w->credit_ns - (s64)(most / FB_IDLE_POLICY_RESERVE_PART);

	return spare > 0 ? ns + mul_u64_u64_div_u64(ns, spare, most) : ns;
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
	u64 wait_ns, first_hit_ns, next_hit_ns;
	struct fb_idle_policy_cost first, next;

	fb_idle_policy_first_cost(w, size, &first);
	fb_idle_policy_next_cost(w, size, &next);
	first_hit_ns = fb_idle_policy_hit_ns(w, first.rest_ns);
	next_hit_ns = fb_idle_policy_hit_ns(w, next.rest_ns);
	c->wait_ns = fb_idle_policy_bin_ns(bin);
	c->sectors = FB_IDLE_POLICY_SECTORS_MIN << size;
	c->yield = 0;
	while (bin--) {
		wait_ns = fb_idle_policy_bin_ns(bin);
		fb_idle_policy_add(w, bin, &all);
		while (from && fb_idle_policy_bin_ns(from - 1) >= wait_ns + first.ns)
			fb_idle_policy_add(w, --from, &beyond);
		if ((all.hit - beyond.hit) * first_hit_ns + beyond.hit * next_hit_ns > allowed_ns)
			continue;
		c->wait_ns = wait_ns;
		c->yield = all.n * first.sectors +
			mul_u64_u64_div_u64(beyond.ns - beyond.n * (wait_ns + first.ns),
					    next.sectors, max_t(u64, next.ns, 1));
	}
}

/* how many of the FB_IDLE_POLICY_SIZES sizes keep the maximum wherever they are read */
static u32 fb_idle_policy_longest(const struct fb_idle_policy *w)
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

static void fb_idle_policy_find(struct fb_idle_policy *w)
{
	struct fb_idle_policy_choice best = { .wait_ns = FB_IDLE_POLICY_LEARN_NS };
	u32 sizes = fb_idle_policy_longest(w);

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

static void fb_idle_policy_tune(struct fb_idle_policy *w)
{
	w->intervals = 0;
	fb_idle_policy_fade(w);
	fb_idle_policy_find(w);
}

/* ---- charges ---- */

static void fb_idle_policy_charge(struct fb_idle_policy *w, u32 n, s64 ns)
{
	s64 most = w->goal_mean_ns * FB_IDLE_POLICY_WINDOW;

	/* a larger debt, from a command of seconds, would take too long to pay */
	w->credit_ns = clamp_t(s64, w->credit_ns - n * ns, -most, most);
	w->cost_ns += n * ns;
}

static void fb_idle_policy_allow(struct fb_idle_policy *w)
{
	w->st.requests++;
	w->credit_ns = min_t(s64, w->credit_ns + (s64)w->goal_mean_ns,
			     w->goal_mean_ns * FB_IDLE_POLICY_WINDOW);
}

/*
 * Can a collision with a read of the size in force be paid if the longest recent busy period
 * follows? Half of the most that may be saved up is enough, too, because busy periods may have
 * a heavy tail.
 */
static bool fb_idle_policy_in_budget(const struct fb_idle_policy *w, u64 now)
{
	struct fb_idle_policy_cost cost;
	u64 need;

	if (!w->st.requests || now - w->idle_ns >= FB_IDLE_POLICY_FORGIVE_NS)
		return true;
	if (w->read)
		fb_idle_policy_next_cost(w, fb_idle_policy_size(w), &cost);
	else
		fb_idle_policy_first_cost(w, fb_idle_policy_size(w), &cost);
	need = fb_idle_policy_hit_ns(w, cost.rest_ns);
	if (!fb_idle_policy_one_waits(w))
		need *= max(w->longest, 1U);
	return w->credit_ns >= (s64)min(need, w->goal_mean_ns * FB_IDLE_POLICY_WINDOW / 2);
}

/* ---- events ---- */

/* was the idle interval before this busy period long enough for reads? */
static bool fb_idle_policy_was_long(const struct fb_idle_policy *w)
{
	return !w->held && w->interval_ns >= w->wait_ns;
}

void fb_idle_policy_init(struct fb_idle_policy *w, u64 now)
{
	memset(w, 0, sizeof(*w));
	w->goal_mean_ns = FB_IDLE_POLICY_MEAN_NS;
	w->goal_max_ns = FB_IDLE_POLICY_MAX_NS;
	w->credit_ns = FB_IDLE_POLICY_START * FB_IDLE_POLICY_MEAN_NS;
	w->fixed_ns = FB_IDLE_POLICY_AUTO;
	w->turn_ns = FB_IDLE_POLICY_TURN_NS;
	w->sector_ps = FB_IDLE_POLICY_SECTOR_PS;
	w->idle_ns = now;
	fb_idle_cost_init(&w->cost);
	fb_idle_policy_tune(w);
}

void fb_idle_policy_set_drive(struct fb_idle_policy *w, u64 turn_ns, u32 sector_ps)
{
	w->turn_ns = turn_ns;
	w->sector_ps = sector_ps;
	/* places of the old model mean nothing any more */
	fb_idle_cost_set_drive(&w->cost, turn_ns, sector_ps);
	w->moved = (struct fb_idle_cost_mean) { 0 };
	fb_twin_init(&w->twin, turn_ns);
	w->behind = (struct fb_idle_cost_mean) { 0 };
	fb_idle_policy_tune(w);
}

void fb_idle_policy_set_goals(struct fb_idle_policy *w, u64 mean_ns, u64 max_ns)
{
	if (mean_ns != w->goal_mean_ns)
		w->credit_ns = mean_ns * FB_IDLE_POLICY_START;
	w->goal_mean_ns = mean_ns;
	w->goal_max_ns = max_ns;
	fb_idle_policy_tune(w);
}

void fb_idle_policy_set_fixed(struct fb_idle_policy *w, u64 wait_ns, u32 sectors)
{
	w->fixed_ns = wait_ns;
	w->fixed_sectors = sectors;
	fb_idle_policy_tune(w);
}

void fb_idle_policy_set_own_order(struct fb_idle_policy *w, bool own, u64 lead_ns)
{
	w->lead_ns = lead_ns;
	if (own == w->own_order)
		return;
	/* what this busy period was followed by ends here, or both accounts would charge */
	fb_idle_policy_lose(w);
	w->own_order = own;
	/* others wait for a read then; this may happen often, so nothing fades */
	fb_idle_policy_find(w);
}

void fb_idle_policy_hold(struct fb_idle_policy *w, u64 until_ns)
{
	w->hold_ns = until_ns;
}

/* what is wrong of the first request is so of all of a long busy period */
static void fb_idle_policy_charge_known(struct fb_idle_policy *w, s64 ns)
{
	if (ns < 0) {
		ns = max(ns, -w->refunds_ns);
		w->refunds_ns += ns;
	}
	fb_idle_policy_charge(w, 1, ns);
}

static void fb_idle_policy_take(struct fb_idle_policy *w)
{
	s64 ns = fb_twin_take(&w->twin);

	w->behind_ns += ns;
	fb_idle_policy_charge_known(w, ns);
}

/* what the virtual drives know by then is charged at once: nobody may ask again */
static void fb_idle_policy_lose_twin(struct fb_idle_policy *w)
{
	fb_twin_lose(&w->twin);
	fb_idle_policy_take(w);
}

void fb_idle_policy_restart(struct fb_idle_policy *w, u64 now)
{
	w->st.idle_ns += w->busy ? 0 : now - w->idle_ns;
	w->busy = false;
	w->reading = false;
	w->read = false;
	w->idle_ns = now;
	fb_idle_policy_lose_twin(w);
}

/* the idle interval is over */
static void fb_idle_policy_wake(struct fb_idle_policy *w, u64 now)
{
	u64 from_ns = max(w->idle_ns, w->hold_ns);

	w->busy = true;
	w->busy_ns = now;
	w->held = from_ns > now;
	w->interval_ns = w->held ? 0 : now - from_ns;
	w->bin = fb_idle_policy_bin(w->interval_ns);
	w->st.idle_ns += now - w->idle_ns;
	w->requests = 0;
	w->open = 0;
	w->charge_ns = 0;
	w->met_ns = 0;
	w->eligible += fb_idle_policy_was_long(w);
	if (!w->reading)
		return;
	w->hit_ns = now;
	w->st.collisions++;
}

/* what requests would have cost without idle reads is known */
static bool fb_idle_policy_follows(const struct fb_idle_policy *w)
{
	if (w->measured)
		return true;
	return w->own_order ? w->twin.follows : w->cost.known;
}

/*
 * Charge, where it is not known what requests would have cost, the @n that wait for the rest of an
 * idle read.
 */
static void fb_idle_policy_charge_met(struct fb_idle_policy *w, u32 n, u64 ns)
{
	if (!fb_idle_policy_follows(w))
		fb_idle_policy_charge(w, n, ns);
	w->st.max_ns = max(w->st.max_ns, ns);
}

void fb_idle_policy_lose(struct fb_idle_policy *w)
{
	if (w->measured)
		return;
	fb_idle_policy_lose_twin(w);
	if (!w->busy || !w->cost.known)
		return;
	fb_idle_cost_lose(&w->cost);
	/* those that wait for a read that is still at the drive are charged when it ends */
	if (w->reading)
		return;
	if (w->charge_ns)
		fb_idle_policy_charge(w, w->open, w->charge_ns);
	else if (w->read && w->cost.first)
		fb_idle_policy_charge(w, 1, fb_idle_policy_moved_ns(w));
}

static void fb_idle_policy_arrive_twin(struct fb_idle_policy *w, const struct fb_head *head,
				       const struct fb_idle_cost_req *req)
{
	if (fb_idle_cost_is_ahead(&w->cost, req))
		fb_twin_ahead(&w->twin, head, req);
	else
		fb_twin_arrived(&w->twin, head, req, false);
}

/* what a read has waited that without idle reads would have come from the drive's cache */
static void fb_idle_policy_served_ahead(struct fb_idle_policy *w, u64 now,
					const struct fb_idle_cost_req *req)
{
	bool ahead = fb_idle_cost_is_ahead(&w->cost, req);
	s64 ns = fb_idle_cost_ordered(&w->cost, now, req);

	if (ahead && fb_idle_cost_is_hit(&w->cost, now, req))
		fb_twin_hit(&w->twin, req);
	else
		fb_twin_served(&w->twin, now, req);
	/* else the rest of an idle read that it has met was charged when that ended */
	if (!w->twin.follows && w->met_ns)
		ns = max_t(s64, ns - (s64)w->met_ns, 0);
	w->behind_ns += ns;
	fb_idle_policy_charge_known(w, ns);
}

/* ---- without a model ---- */

static void fb_idle_policy_arrive_measured(struct fb_idle_policy *w, u64 now,
					   const struct fb_idle_cost_req *req)
{
	if (!w->busy) {
		fb_idle_policy_wake(w, now);
		w->period_ns = 0;
		/* streams are told */
		fb_idle_cost_begin(&w->cost, NULL, req, w->read);
	}
	w->unfollowed += w->reading && !req;
	w->requests++;
	w->open++;
}

static void fb_idle_policy_charge_measured(struct fb_idle_policy *w, u32 n, s64 ns)
{
	fb_idle_policy_charge(w, n, ns);
	w->period_ns += max_t(s64, n * ns, 0);
}

static void fb_idle_policy_moved(struct fb_idle_policy *w, const struct fb_idle_cost_req *req,
				 enum fb_idle_place_behind from)
{
	w->from = from;
	w->aim = req->lbn + req->nsect;
}

/* a read that would have come from the drive's cache keeps nobody waiting there */
static void fb_idle_policy_served_measured(struct fb_idle_policy *w, u64 now,
					   const struct fb_idle_cost_req *req)
{
	bool ahead = fb_idle_cost_is_ahead(&w->cost, req);
	s64 ns = fb_idle_cost_ordered(&w->cost, now, req);
	u64 waited_ns = fb_idle_account_served(&w->account, now, req->arrived_ns);

	fb_idle_policy_charge_measured(w, 1, ahead ? ns : (s64)waited_ns);
	fb_idle_cost_served(&w->cost, now, req, w->requests == 1, w->met_ns);
	fb_idle_policy_moved(w, req, req->write ? FB_IDLE_PLACE_WRITE : FB_IDLE_PLACE_READ);
	w->open -= min(w->open, 1U);
}

static void fb_idle_policy_ended_measured(struct fb_idle_policy *w, u64 now)
{
	u64 took_ns = now - w->sent_ns, ours_ns = took_ns;
	u32 class = fb_idle_policy_class(w);

	if (w->blamed)
		ours_ns = min(fb_idle_times_usual_ns(&w->times, class), took_ns);
	else
		fb_idle_place_ended(&w->place, took_ns);
	fb_idle_times_add(&w->times, class, w->nsect, ours_ns, w->clean);
	fb_idle_account_read(&w->account, now, ours_ns);
	w->blamed = false;
	if (!w->hit_ns)
		return;
	w->met_ns = min(now - w->hit_ns, ours_ns);
	w->st.max_ns = max(w->st.max_ns, w->met_ns);
	fb_idle_policy_charge_measured(w, w->unfollowed, w->met_ns);
}

/* sizes that were never tried are now and then */
static void fb_idle_policy_try_size(struct fb_idle_policy *w)
{
	u32 n = w->st.reads / FB_IDLE_POLICY_TRY;

	w->sectors = w->found;
	if (w->fixed_sectors || w->st.reads % FB_IDLE_POLICY_TRY != FB_IDLE_POLICY_TRY - 1)
		return;
	w->sectors = w->found << (1 + n % FB_IDLE_POLICY_TRY_MORE);
	w->sectors = min(w->sectors, FB_IDLE_POLICY_SECTORS_MIN <<
			 (max(fb_idle_policy_longest(w), 1U) - 1));
}

void fb_idle_policy_set_measured(struct fb_idle_policy *w, bool measured)
{
	w->measured = measured;
	w->from = FB_IDLE_PLACE_ON;
	fb_idle_policy_find(w);
}

void fb_idle_policy_aim(struct fb_idle_policy *w, struct fb_destage *d,
			struct fb_idle_policy_aim *aim)
{
	enum fb_destage_aim at = w->wrote ? fb_destage_aim(d) : FB_DESTAGE_AWAY;

	aim->over = at == FB_DESTAGE_OVER;
	if (at != FB_DESTAGE_AWAY) {
		aim->moved = true;
		aim->lbn = at == FB_DESTAGE_OVER ? w->wrote_lbn : w->wrote_end;
		aim->skip = fb_idle_place_choose(&w->place, FB_IDLE_PLACE_KINDS);
		return;
	}
	aim->moved = w->from != FB_IDLE_PLACE_ON && !fb_idle_cost_is_stream(&w->cost, w->aim);
	aim->lbn = w->aim;
	aim->skip = fb_idle_place_choose(&w->place, aim->moved ? w->from : FB_IDLE_PLACE_ON);
}

/*
 * Reads of a surely clean drive tell what is usual. What takes a turn longer was late because the
 * drive was writing, if it may: one that holds writes back is not clean though a read was in time.
 */
void fb_idle_policy_judge(struct fb_idle_policy *w, u64 now, struct fb_destage *d)
{
	u64 usual_ns = fb_idle_times_usual_ns(&w->times, fb_idle_policy_class(w));
	s64 late_ns = now - w->sent_ns - usual_ns - w->turn_ns / 1;
	bool late = usual_ns && late_ns > (s64)w->turn_ns / 2;

	w->clean = (fb_destage_is_clean(d) || !usual_ns) && !late;
	w->blamed = late && d->on;
	fb_destage_idle_ended(d, now, usual_ns, late_ns);
}

void fb_idle_policy_arrive(struct fb_idle_policy *w, u64 now, const struct fb_head *head,
			   const struct fb_idle_cost_req *req)
{
	fb_idle_policy_allow(w);
	if (w->measured) {
		fb_idle_policy_arrive_measured(w, now, req);
		return;
	}
	if (!req)
		fb_idle_policy_lose_twin(w);
	else if (w->own_order)
		fb_idle_policy_arrive_twin(w, head, req);
	if (!w->busy) {
		fb_idle_policy_wake(w, now);
		w->refunds_ns = w->goal_mean_ns * FB_IDLE_POLICY_START;
		/* an idle read of the interval before may still be at the drive */
		if (w->held || (w->reading && !w->read))
			req = NULL;
		/* where the drive orders nothing is predicted, but streams are told */
		fb_idle_cost_begin(&w->cost, w->own_order ? NULL : head, req, w->read);
		if (w->own_order)
			fb_idle_cost_lose(&w->cost);
	} else if (!req) {
		fb_idle_policy_lose(w);
	}
	if (w->own_order)
		fb_idle_policy_take(w);
	w->requests++;
	w->open++;
	if (w->charge_ns)
		fb_idle_policy_charge_met(w, 1, w->charge_ns);
	else if (w->requests == 1 && w->read && !w->reading && !w->held &&
		 !fb_idle_policy_follows(w))
		fb_idle_policy_charge(w, 1, fb_idle_policy_moved_ns(w));
}

void fb_idle_policy_served(struct fb_idle_policy *w, u64 now, const struct fb_idle_cost_req *req)
{
	bool first = w->cost.first;
	s64 ns;

	if (w->measured) {
		fb_idle_policy_served_measured(w, now, req);
		return;
	}
	if (w->own_order)
		fb_idle_policy_served_ahead(w, now, req);
	ns = fb_idle_cost_served(&w->cost, now, req, w->requests == 1, w->met_ns);
	w->open -= min(w->open, 1U);
	if (!w->cost.known)
		return;
	/* the mean would be too high, were single ones bounded as charges are */
	if (first && w->read)
		fb_idle_cost_add(&w->moved, ns - (s64)w->met_ns, FB_IDLE_POLICY_MOVED_AGE);
	fb_idle_policy_charge_known(w, ns);
}

void fb_idle_policy_wrote(struct fb_idle_policy *w, const struct fb_head *head,
			  const struct fb_idle_cost_req *req)
{
	fb_idle_cost_wrote(&w->cost, req);
	w->wrote = true;
	w->wrote_lbn = req->lbn;
	w->wrote_end = req->lbn + req->nsect;
	/* also if the drive is about to order for its sake */
	fb_twin_arrived(&w->twin, head, req, true);
}

/* is the next interval left without reads? Those of a run are paid for behind it */
static void fb_idle_policy_control(struct fb_idle_policy *w)
{
	bool told = w->own_order ? w->twin.follows || w->behind.n >= FB_IDLE_POLICY_BEHIND_KNOWN :
				   w->moved.n >= FB_IDLE_POLICY_ALONE_KNOWN;
	s32 of = told ? FB_IDLE_POLICY_CONTROL_OF_TOLD : FB_IDLE_POLICY_CONTROL_OF;

	if (w->control && fb_idle_policy_was_long(w)) {
		w->controls++;
		if (w->controls >= FB_IDLE_POLICY_CONTROL_RUN || w->read ||
		    !fb_idle_cost_wants_clean(&w->cost, w->controls > 1)) {
			w->eligible = -(s32)(w->controls - 1) * of;
			w->controls = 0;
		}
	}
	/* where the drive orders, what streams lose is not charged before they are known */
	if (w->own_order && w->eligible >= 0 && !w->controls)
		w->controls = fb_idle_cost_is_new_stream(&w->cost);
	w->control = w->controls || w->eligible >= of;
}

void fb_idle_policy_idle(struct fb_idle_policy *w, u64 now)
{
	if (!w->busy)
		return;
	fb_idle_policy_count_interval(w);
	fb_idle_policy_count_behind(w);
	if (w->measured && w->read)
		fb_idle_policy_count_period(w);
	if (w->requests == 1 && !w->hit_ns && !w->held &&
	    (w->read || fb_idle_policy_was_long(w)))
		fb_idle_policy_count_alone(&w->alone[w->read], now - w->busy_ns);
	fb_idle_policy_control(w);
	w->busy = false;
	w->read = false;
	w->hit_ns = 0;
	w->charge_ns = 0;
	w->idle_ns = now;
	if (++w->intervals >= FB_IDLE_POLICY_RETUNE || w->aged_n == FB_IDLE_POLICY_LEARN)
		fb_idle_policy_tune(w);
}

static void fb_idle_policy_sent_twin(struct fb_idle_policy *w, u64 now, u64 lbn, u32 nsect,
				     const struct fb_head *head)
{
	bool followed = w->twin.follows;

	fb_twin_sent(&w->twin, head, now, w->first, lbn, nsect);
	fb_idle_policy_take(w);
	if (!w->first)
		return;
	if (followed)
		fb_idle_cost_add_all(&w->behind, w->behind_n, w->behind_ns,
				     FB_IDLE_POLICY_ALONE_AGE);
	w->behind_n = 0;
	w->behind_ns = 0;
}

void fb_idle_policy_sent(struct fb_idle_policy *w, u64 now, u64 lbn, u32 nsect,
			 const struct fb_head *head)
{
	w->first = !w->read;
	if (w->own_order)
		fb_idle_policy_sent_twin(w, now, lbn, nsect, head);
	fb_idle_cost_sent(&w->cost, head, w->first);
	w->reading = true;
	w->read = true;
	w->sent_ns = now;
	w->nsect = nsect;
	w->size = fb_idle_policy_size(w);
	w->hit_ns = 0;
	w->unfollowed = 0;
	w->from = FB_IDLE_PLACE_ON;
	w->wrote = false;
}

/*
 * What each request that met the idle read has waited for it. A drive that has several commands
 * begins one beside another.
 */
static u64 fb_idle_policy_met_ns(const struct fb_idle_policy *w, u64 now)
{
	u64 ns = now - w->hit_ns;

	if (!w->own_order)
		return ns;
	return ns - min(ns, w->lead_ns);
}

void fb_idle_policy_ended(struct fb_idle_policy *w, u64 now)
{
	u64 took_ns = now - w->sent_ns;

	if (!w->reading)
		return;
	fb_twin_ended(&w->twin, now);
	w->reading = false;
	w->st.reads++;
	w->st.read_sectors += w->nsect;
	w->st.used_ns += took_ns;
	if (w->measured) {
		fb_idle_policy_ended_measured(w, now);
		fb_idle_policy_try_size(w);
		return;
	}
	fb_idle_policy_count_read(w, took_ns);
	if (!w->hit_ns)
		return;
	w->met_ns = fb_idle_policy_met_ns(w, now);
	fb_idle_policy_charge_met(w, w->requests, w->met_ns);
	w->charge_ns = w->own_order ? 0 : w->met_ns;
}

/* ---- questions ---- */

/* why nothing can be sent, FB_IDLE_POLICY_WAITING aside; FB_IDLE_POLICY_RUN: nothing bars it */
static enum fb_idle_policy_why fb_idle_policy_blocked(const struct fb_idle_policy *w, u64 now)
{
	if (!w->goal_mean_ns)
		return FB_IDLE_POLICY_OFF;
	if (!w->sectors)
		return FB_IDLE_POLICY_SHORT;
	if (w->busy)
		return FB_IDLE_POLICY_BUSY;
	if (w->reading)
		return FB_IDLE_POLICY_READING;
	if (w->control && now - w->idle_ns < FB_IDLE_POLICY_CONTROL_NS)
		return FB_IDLE_POLICY_CONTROL;
	return fb_idle_policy_in_budget(w, now) ? FB_IDLE_POLICY_RUN : FB_IDLE_POLICY_BUDGET;
}

u64 fb_idle_policy_begin_ns(const struct fb_idle_policy *w, u64 now)
{
	switch (fb_idle_policy_blocked(w, now)) {
	case FB_IDLE_POLICY_RUN:
		break;
	case FB_IDLE_POLICY_BUDGET:
		return w->idle_ns + FB_IDLE_POLICY_FORGIVE_NS;
	case FB_IDLE_POLICY_CONTROL:
		return w->idle_ns + max_t(u64, FB_IDLE_POLICY_CONTROL_NS, w->wait_ns);
	default:
		return FB_IDLE_POLICY_NEVER;
	}
	if (w->read)
		return max(now, w->hold_ns);
	return max(w->idle_ns, w->hold_ns) + min_t(u64, w->wait_ns, FB_IDLE_POLICY_FORGIVE_NS);
}

enum fb_idle_policy_why fb_idle_policy_why(const struct fb_idle_policy *w, u64 now)
{
	enum fb_idle_policy_why why = fb_idle_policy_blocked(w, now);

	return why == FB_IDLE_POLICY_RUN && fb_idle_policy_begin_ns(w, now) > now ?
		FB_IDLE_POLICY_WAITING : why;
}

u64 fb_idle_policy_longest_ns(const struct fb_idle_policy *w)
{
	return w->goal_max_ns > w->turn_ns ? w->goal_max_ns - w->turn_ns : 0;
}

void fb_idle_policy_status(const struct fb_idle_policy *w, u64 now,
			   struct fb_idle_policy_status *st)
{
	*st = w->st;
	st->why = fb_idle_policy_why(w, now);
	st->wait_ns = w->wait_ns;
	st->sectors = w->sectors;
	st->mean_ns = st->requests ? div64_u64(max_t(s64, w->cost_ns, 0), st->requests) : 0;
	st->idle_ns += w->busy ? 0 : now - w->idle_ns;
	st->credit_ns = w->credit_ns;
	st->moved_ns = fb_idle_policy_moved_ns(w);
	st->order = fb_drive_order_rule(&w->twin.order);
}
