// SPDX-License-Identifier: GPL-2.0
/*
 * When to read while the disk is idle: Waiting and its two goals. Core; see fb_wait.h.
 */
#include "fb_wait.h"

#define FBW_NS_PER_US 1000U

/* until the drive is known: what no disk for sale is slower than */
#define FBW_TURN_NS 11111111U
#define FBW_SECTOR_PS 5120000U

/*
 * With fewer intervals than this nothing is found, and 100 ms are waited: above that most
 * of the paper's traces keep to a mean of 2 ms (table III).
 */
#define FBW_LEARN 32
#define FBW_LEARN_NS 100000000U
#define FBW_LEARN_SIZE 1	/* 128 KiB */

#define FBW_RETUNE 64		/* intervals until threshold and size are found anew */
#define FBW_AGE 8192		/* intervals after which the past counts half */
#define FBW_FORGET 1024		/* busy periods in which the longest is forgotten */
#define FBW_SIZE_AGE 8192	/* commands of a size, likewise */
#define FBW_STALE 32		/* what is known of sizes not in use fades by such a part */
#define FBW_PRIOR 32		/* commands that what is reckoned of a size counts for */
#define FBW_ALONE_AGE 4096	/* requests, likewise */
#define FBW_SIZE_KNOWN 8	/* commands of a size that tell what it takes */

/* the mean is aimed at from below by one such part, so that the budget seldom steps in */
#define FBW_AIM_PART 16
#define FBW_ALIKE 32		/* yields that differ by less than such a part are alike */
#define FBW_WINDOW 4096		/* requests whose allowance may be saved up */
#define FBW_START 64		/* requests whose allowance there is to begin with */
#define FBW_CONTROL_OF 32	/* one interval in so many is left alone ... */
#define FBW_CONTROL_NS 10000000000ULL	/* ... but for what lasts longer than this */

/*
 * On a disk that hardly anybody uses debts would be paid never. After ten idle minutes
 * another collision does not make a mean.
 */
#define FBW_FORGIVE_NS 600000000000ULL

const char *const fbw_why_name[] = {
	[FBW_RUN] = "reading",
	[FBW_OFF] = "off: the mean slowdown allowed is 0",
	[FBW_BUSY] = "the disk is busy",
	[FBW_READING] = "reading",
	[FBW_WAITING] = "waiting for the threshold",
	[FBW_BUDGET] = "paused: the mean slowdown is at its goal",
	[FBW_SHORT] = "paused: the maximum slowdown allowed is shorter than any read",
	[FBW_CONTROL] = "pausing for this interval, to measure without",
};

/* ---- idle intervals ---- */

/* four bins a doubling from 2^14 ns on; all that is shorter is in the first */
static u32 fbw_bin(u64 ns)
{
	u32 log;

	if (ns < 1ULL << 14)
		return 0;
	log = ns >> 32 ? 32 + __fls(ns >> 32) : __fls(ns & U32_MAX);
	return min_t(u32, 4 * (log - 14) + ((ns >> (log - 2)) & 3) + 1, FBW_BINS - 1);
}

/* the shortest interval of a bin */
static u64 fbw_bin_ns(u32 bin)
{
	return bin ? (4ULL + (bin - 1) % 4) << ((bin - 1) / 4 + 12) : 0;
}

static void fbw_age(struct fb_wait *w)
{
	u32 i;

	w->aged_n = 0;
	for (i = 0; i < FBW_BINS; i++) {
		w->bins[i].n /= 2;
		w->bins[i].requests /= 2;
		w->bins[i].ns = w->bins[i].n ? w->bins[i].ns / 2 : 0;
		w->aged_n += w->bins[i].n;
	}
}

static void fbw_count_interval(struct fb_wait *w)
{
	struct fbw_bin *b = &w->bins[w->bin];

	b->n++;
	b->requests += w->requests;
	b->ns += w->interval_ns;
	w->longest = max(w->longest - w->longest / FBW_FORGET, w->requests);
	if (++w->aged_n >= FBW_AGE)
		fbw_age(w);
}

/* ---- what requests of an idle disk take, with idle reads before them and without ---- */

static void fbw_count_alone(struct fbw_first *f, u64 ns)
{
	u64 us = min_t(u64, div_u64(ns, FBW_NS_PER_US), U32_MAX / 64);

	f->us += us;
	f->sq += us * us;
	if (++f->n < FBW_ALONE_AGE)
		return;
	f->n /= 2;
	f->us /= 2;
	f->sq /= 2;
}

/* the variance of a mean, in square microseconds */
static u64 fbw_variance(const struct fbw_first *f, u64 mean)
{
	u64 square = div_u64(f->sq, f->n);

	return square > mean * mean ? div_u64(square - mean * mean, f->n) : 0;
}

/*
 * Idle reads move the head, and end what the drive reads ahead for a stream: the first
 * request behind them may take longer though it met none. What is within two standard
 * errors is chance.
 */
static u64 fbw_moved_ns(const struct fb_wait *w)
{
	const struct fbw_first *without = &w->alone[0], *with = &w->alone[1];
	u64 a, b, more;

	if (without->n < FBW_SIZE_KNOWN || with->n < FBW_SIZE_KNOWN)
		return 0;
	a = div_u64(without->us, without->n);
	b = div_u64(with->us, with->n);
	if (b <= a)
		return 0;
	more = b - a;
	if (more * more <= 4 * (fbw_variance(without, a) + fbw_variance(with, b)))
		return 0;
	return more * FBW_NS_PER_US;
}

/* ---- what idle reads take ---- */

static void fbw_count_read(struct fb_wait *w, u64 ns)
{
	struct fbw_size *s = &w->sizes[w->size];
	u64 us = min_t(u64, div_u64(ns, FBW_NS_PER_US), U32_MAX / 64);

	s->ns += ns;
	s->sq += us * us;
	s->sectors += w->nsect;
	if (++s->n < FBW_SIZE_AGE)
		return;
	s->n /= 2;
	s->ns /= 2;
	s->sq /= 2;
	s->sectors /= 2;
}

static u64 fbw_transfer_ns(const struct fb_wait *w, u64 sectors)
{
	return div_u64(sectors * w->sector_ps, 1000);
}

/* what a command takes besides its transfer, as measured with whatever size */
static u64 fbw_overhead_ns(const struct fb_wait *w)
{
	u64 ns = 0, sectors = 0, transfer_ns;
	u32 n = 0, i;

	for (i = 0; i < FBW_SIZES; i++) {
		n += w->sizes[i].n;
		ns += w->sizes[i].ns;
		sectors += w->sizes[i].sectors;
	}
	if (n < FBW_SIZE_KNOWN)
		return w->turn_ns / 2;
	transfer_ns = fbw_transfer_ns(w, sectors);
	return ns > transfer_ns ? div_u64(ns - transfer_ns, n) : 0;
}

/**
 * struct fbw_cost - what a size is like
 * @ns: time of a command
 * @sectors: what it reads in that
 * @rest_ns: what is left of it on the mean when somebody comes meanwhile
 */
struct fbw_cost {
	u64 ns;
	u64 sectors;
	u64 rest_ns;
};

/*
 * What was measured, and the more of what is reckoned the less that is. Somebody comes
 * during a long command rather than a short one: E[x^2] / 2 E[x] is left of it.
 */
static void fbw_cost(const struct fb_wait *w, u32 size, struct fbw_cost *c)
{
	const struct fbw_size *s = &w->sizes[size];
	u64 sectors = FBW_SECTORS_MIN << size, n = s->n + FBW_PRIOR, ns, us;

	ns = fbw_overhead_ns(w) + fbw_transfer_ns(w, sectors);
	us = div_u64(ns, FBW_NS_PER_US);
	c->sectors = div64_u64(s->sectors + FBW_PRIOR * sectors, n);
	c->ns = div64_u64(s->ns + FBW_PRIOR * ns, n);
	c->rest_ns = mul_u64_u64_div_u64(s->sq + FBW_PRIOR * us * us,
					 (u64)FBW_NS_PER_US * FBW_NS_PER_US,
					 2 * max_t(u64, s->ns + FBW_PRIOR * ns, 1));
}

/* sizes that are not used are to be tried again some day */
static void fbw_fade(struct fb_wait *w)
{
	struct fbw_size *s = w->sizes;

	for (; s < w->sizes + FBW_SIZES; s++) {
		if (s == &w->sizes[w->size])
			continue;
		s->ns -= mul_u64_u64_div_u64(s->ns, s->n / FBW_STALE + !!s->n, max(s->n, 1U));
		s->sq -= mul_u64_u64_div_u64(s->sq, s->n / FBW_STALE + !!s->n, max(s->n, 1U));
		s->sectors -= mul_u64_u64_div_u64(s->sectors, s->n / FBW_STALE + !!s->n,
						  max(s->n, 1U));
		s->n -= s->n / FBW_STALE + !!s->n;
	}
}

/* ---- threshold and size ---- */

/**
 * struct fbw_choice - a threshold and a size
 * @wait_ns: threshold
 * @sectors: size
 * @yield: sectors per idle interval ever seen, in a unit that is the same for all
 */
struct fbw_choice {
	u64 wait_ns;
	u32 sectors;
	u64 yield;
};

/*
 * The shortest threshold with which a size keeps to the mean, and what it yields. Of
 * intervals that are longer each ends with a collision, and each request of the busy
 * period behind it waits for the rest of the read. @requests are all.
 */
static void fbw_try(const struct fb_wait *w, u32 size, u64 requests, struct fbw_choice *c)
{
	u64 allowed, hit = 0, n = 0, ns = 0, moved_ns = fbw_moved_ns(w);
	u32 bin = FBW_BINS - 1;
	struct fbw_cost cost;

	fbw_cost(w, size, &cost);
	allowed = mul_u64_u64_div_u64(w->goal_mean_ns - w->goal_mean_ns / FBW_AIM_PART, requests,
				      max_t(u64, cost.rest_ns + moved_ns, 1));
	while (1) {
		hit += w->bins[bin].requests;
		if (hit > allowed)
			break;
		n += w->bins[bin].n;
		ns += w->bins[bin].ns;
		if (!bin--)
			break;
	}
	bin++;
	c->wait_ns = fbw_bin_ns(bin);
	c->sectors = FBW_SECTORS_MIN << size;
	ns -= min(ns, n * fbw_bin_ns(bin));
	c->yield = mul_u64_u64_div_u64(ns, cost.sectors, max_t(u64, cost.ns, 1));
}

/* the longest size of FBW_SIZES that keeps the maximum, wherever it is read */
static u32 fbw_longest(const struct fb_wait *w)
{
	u64 ns = fbw_longest_ns(w);
	u32 size = FBW_SIZES;

	while (size && fbw_transfer_ns(w, FBW_SECTORS_MIN << (size - 1)) + w->turn_ns > ns)
		size--;
	return size;
}

/*
 * Of the sizes that yield about the most the shortest: it costs least, and what yields
 * differ by is chance.
 */
static void fbw_choose(const struct fb_wait *w, u32 sizes, struct fbw_choice *best)
{
	struct fbw_choice c[FBW_SIZES];
	u64 requests = 0, most = 0;
	u32 i;

	for (i = 0; i < FBW_BINS; i++)
		requests += w->bins[i].requests;
	for (i = 0; i < sizes; i++) {
		fbw_try(w, i, requests, &c[i]);
		most = max(most, c[i].yield);
	}
	for (i = 0; i < sizes && c[i].yield < most - most / FBW_ALIKE; i++)
		;
	*best = c[i];
}

static void fbw_tune(struct fb_wait *w)
{
	struct fbw_choice best = { .wait_ns = FBW_LEARN_NS };
	u32 sizes = fbw_longest(w);

	w->intervals = 0;
	fbw_fade(w);
	if (sizes && w->aged_n >= FBW_LEARN)
		fbw_choose(w, sizes, &best);
	else if (sizes)
		best.sectors = FBW_SECTORS_MIN << min_t(u32, sizes - 1, FBW_LEARN_SIZE);
	w->wait_ns = w->fixed_ns == FBW_AUTO ? best.wait_ns : w->fixed_ns;
	w->sectors = best.sectors;
	if (w->fixed_sectors && sizes)
		w->sectors = min(w->fixed_sectors, FBW_SECTORS_MIN << (sizes - 1));
}

/* ---- what is charged ---- */

static void fbw_charge(struct fb_wait *w, u32 n, u64 ns)
{
	s64 least = -(s64)(w->goal_mean_ns * FBW_WINDOW);

	/* a debt beyond this, a command of seconds, would not be paid in any time that matters */
	w->credit_ns = max_t(s64, w->credit_ns - (s64)(n * ns), least);
	w->cost_ns += n * ns;
	w->n_charged += n;
	w->most_ns = max(w->most_ns, ns);
}

static void fbw_allow(struct fb_wait *w)
{
	s64 most = (s64)(w->goal_mean_ns * FBW_WINDOW);

	w->n_requests++;
	w->credit_ns = min_t(s64, w->credit_ns + (s64)w->goal_mean_ns, most);
}

/*
 * A collision of the size in force before the longest busy period lately can be paid, or
 * half of all that may be saved up is there: busy periods may have a heavy tail.
 */
static bool fbw_affords(const struct fb_wait *w, u64 now)
{
	struct fbw_cost cost;
	u32 size = 0;
	u64 need;

	if (!w->n_requests || now - w->idle_ns >= FBW_FORGIVE_NS)
		return true;
	while (size + 1 < FBW_SIZES && FBW_SECTORS_MIN << size < w->sectors)
		size++;
	fbw_cost(w, size, &cost);
	need = (cost.rest_ns + fbw_moved_ns(w)) * max(w->longest, 1U);
	return w->credit_ns >= (s64)min(need, w->goal_mean_ns * FBW_WINDOW / 2);
}

/* ---- events ---- */

void fbw_init(struct fb_wait *w, u64 now)
{
	memset(w, 0, sizeof(*w));
	w->goal_mean_ns = FBW_MEAN_NS;
	w->goal_max_ns = FBW_MAX_NS;
	w->credit_ns = FBW_START * FBW_MEAN_NS;
	w->fixed_ns = FBW_AUTO;
	w->turn_ns = FBW_TURN_NS;
	w->sector_ps = FBW_SECTOR_PS;
	w->idle_ns = now;
	fbw_tune(w);
}

void fbw_set_drive(struct fb_wait *w, u64 turn_ns, u32 sector_ps)
{
	w->turn_ns = turn_ns;
	w->sector_ps = sector_ps;
	fbw_tune(w);
}

void fbw_set_goals(struct fb_wait *w, u64 mean_ns, u64 max_ns)
{
	if (mean_ns != w->goal_mean_ns)
		w->credit_ns = mean_ns * FBW_START;
	w->goal_mean_ns = mean_ns;
	w->goal_max_ns = max_ns;
	fbw_tune(w);
}

void fbw_set_fixed(struct fb_wait *w, u64 wait_ns, u32 sectors)
{
	w->fixed_ns = wait_ns;
	w->fixed_sectors = sectors;
	fbw_tune(w);
}

/* the idle interval is over */
static void fbw_wake(struct fb_wait *w, u64 now)
{
	bool could = now - w->idle_ns >= w->wait_ns;

	w->busy = true;
	w->busy_ns = now;
	w->interval_ns = now - w->idle_ns;
	w->bin = fbw_bin(w->interval_ns);
	w->total_idle_ns += w->interval_ns;
	w->requests = 0;
	w->charge_ns = 0;
	if (could)
		w->turnstile++;
	if (!w->reading)
		return;
	w->hit_ns = now;
	w->n_collisions++;
}

void fbw_arrive(struct fb_wait *w, u64 now)
{
	fbw_allow(w);
	if (!w->busy)
		fbw_wake(w, now);
	w->requests++;
	if (w->charge_ns)
		fbw_charge(w, 1, w->charge_ns);
	else if (w->requests == 1 && w->read && !w->reading)
		fbw_charge(w, 1, fbw_moved_ns(w));
}

void fbw_idle(struct fb_wait *w, u64 now)
{
	if (!w->busy)
		return;
	fbw_count_interval(w);
	if (w->requests == 1 && !w->hit_ns && (w->read || w->interval_ns >= w->wait_ns))
		fbw_count_alone(&w->alone[w->read], now - w->busy_ns);
	if (w->control && w->interval_ns >= w->wait_ns)
		w->turnstile = 0;
	w->control = w->turnstile >= FBW_CONTROL_OF;
	w->busy = false;
	w->read = false;
	w->hit_ns = 0;
	w->charge_ns = 0;
	w->idle_ns = now;
	if (++w->intervals >= FBW_RETUNE || w->aged_n == FBW_LEARN)
		fbw_tune(w);
}

void fbw_sent(struct fb_wait *w, u64 now, u64 end_ns, u32 nsect)
{
	w->reading = true;
	w->read = true;
	w->sent_ns = now;
	w->end_ns = end_ns;
	w->nsect = nsect;
	w->size = 0;
	while (w->size + 1 < FBW_SIZES && FBW_SECTORS_MIN << w->size < w->sectors)
		w->size++;
	w->hit_ns = 0;
}

void fbw_ended(struct fb_wait *w, u64 now)
{
	u64 took_ns = now - w->sent_ns;

	if (!w->reading)
		return;
	w->reading = false;
	w->n_reads++;
	w->n_sectors += w->nsect;
	w->used_ns += took_ns;
	fbw_count_read(w, took_ns);
	if (!w->hit_ns)
		return;
	w->charge_ns = now - w->hit_ns;
	fbw_charge(w, w->requests, w->charge_ns);
}

/* ---- questions ---- */

/* FBW_RUN and FBW_WAITING aside: why nothing can be sent whatever the time */
static enum fbw_why fbw_barred(const struct fb_wait *w, u64 now)
{
	if (!w->goal_mean_ns)
		return FBW_OFF;
	if (!w->sectors)
		return FBW_SHORT;
	if (w->busy)
		return FBW_BUSY;
	if (w->reading)
		return FBW_READING;
	if (w->control && now - w->idle_ns < FBW_CONTROL_NS)
		return FBW_CONTROL;
	return fbw_affords(w, now) ? FBW_RUN : FBW_BUDGET;
}

u64 fbw_begin_ns(const struct fb_wait *w, u64 now)
{
	switch (fbw_barred(w, now)) {
	case FBW_RUN:
		break;
	case FBW_BUDGET:
		return w->idle_ns + FBW_FORGIVE_NS;
	case FBW_CONTROL:
		return w->idle_ns + max_t(u64, FBW_CONTROL_NS, w->wait_ns);
	default:
		return FBW_NEVER;
	}
	if (w->read)
		return now;
	return w->idle_ns + min_t(u64, w->wait_ns, FBW_FORGIVE_NS);
}

enum fbw_why fbw_why(const struct fb_wait *w, u64 now)
{
	enum fbw_why why = fbw_barred(w, now);

	return why == FBW_RUN && fbw_begin_ns(w, now) > now ? FBW_WAITING : why;
}

u32 fbw_sectors(const struct fb_wait *w)
{
	return w->sectors;
}

u64 fbw_longest_ns(const struct fb_wait *w)
{
	return w->goal_max_ns > w->turn_ns ? w->goal_max_ns - w->turn_ns : 0;
}

void fbw_status(const struct fb_wait *w, u64 now, struct fbw_status *st)
{
	*st = (struct fbw_status) {
		.why = fbw_why(w, now),
		.wait_ns = w->wait_ns,
		.sectors = w->sectors,
		.mean_ns = w->n_requests ? div64_u64(w->cost_ns, w->n_requests) : 0,
		.max_ns = w->most_ns,
		.requests = w->n_requests,
		.collisions = w->n_collisions,
		.reads = w->n_reads,
		.read_sectors = w->n_sectors,
		.used_ns = w->used_ns,
		.idle_ns = w->total_idle_ns + (w->busy ? 0 : now - w->idle_ns),
		.credit_ns = w->credit_ns,
		.moved_ns = fbw_moved_ns(w),
	};
}
