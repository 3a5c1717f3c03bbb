// SPDX-License-Identifier: GPL-2.0
/*
 * Threshold and size of idle reads; see core/idle/state.h. Where idle intervals end by chance alone,
 * to wait spares nothing: reads begin soon, and pause while the budget is used up. Where those that
 * have lasted last on, or streams go on, the budget sets the threshold: it doubles as less is saved
 * up, until what is charged is what is allowed (Documentation/idle.rst).
 */
#include "core/idle/state.h"

#define FB_IDLE_POLICY_FORGET 1024	/* busy periods in which the longest is forgotten */
#define FB_IDLE_POLICY_ALIKE 8		/* sizes within 1 / this are worth the same */

/*
 * An interval that has lasted for two turns says something if what comes then is twice as long as
 * intervals are on the mean. Where they come to their ends by chance alone it is as long.
 */
#define FB_IDLE_POLICY_LONG_NS (2 * FB_IDLE_TURN_NS)
#define FB_IDLE_POLICY_LONGER 2
#define FB_IDLE_POLICY_LENGTHS 1024	/* intervals after which they count half */
#define FB_IDLE_POLICY_LONGS 16		/* least long ones to tell */

/* the threshold is a part of a turn, and doubles with each part too little that is saved up */
#define FB_IDLE_POLICY_WAIT_OF 8
#define FB_IDLE_POLICY_WAIT_DOUBLES 6
#define FB_IDLE_POLICY_SAVED_OF 64

/* ---- busy periods ---- */

static void fb_idle_policy_count_interval(struct fb_idle_policy *w)
{
	w->lengths++;
	w->length_us += div_u64(w->interval_ns, NSEC_PER_USEC);
	if (w->interval_ns > FB_IDLE_POLICY_LONG_NS) {
		w->longs++;
		w->rest_us += div_u64(w->interval_ns - FB_IDLE_POLICY_LONG_NS, NSEC_PER_USEC);
	}
	if (w->lengths < FB_IDLE_POLICY_LENGTHS)
		return;
	w->lengths /= 2;
	w->length_us /= 2;
	w->longs /= 2;
	w->rest_us /= 2;
}

void fb_idle_policy_count_period(struct fb_idle_policy *w)
{
	struct fb_idle_times_mean m;

	if (!w->held)
		fb_idle_policy_count_interval(w);
	w->longest = max(w->longest - w->longest / FB_IDLE_POLICY_FORGET, w->requests);
	if (w->read && !w->held && fb_idle_times_mean(&w->times, fb_idle_policy_class(w), &m))
		fb_idle_account_period(&w->account, w->period_ns, w->requests, m.rest_ns);
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

/* ---- the budget ---- */

/* what may be saved up, or owed */
u64 fb_idle_policy_most_ns(const struct fb_idle_policy *w)
{
	return w->goal_mean_ns * FB_IDLE_POLICY_WINDOW;
}

/*
 * A collision with a read of the size in force costs so much, if the longest recent busy period
 * follows. Half of the most that may be saved up is enough, because busy periods may have a heavy
 * tail. The first requests may owe.
 */
s64 fb_idle_policy_spare_ns(const struct fb_idle_policy *w)
{
	u32 size = fb_idle_policy_size(w), class = size;
	struct fb_idle_times_mean cost;
	u64 need, owe = 0;

	if (!w->read)
		class = w->wait_ns < FB_IDLE_TURN_NS / 2 ? FB_IDLE_TIMES_SOON : FB_IDLE_TIMES_FIRST;
	fb_idle_policy_class_cost(w, class, FB_IDLE_POLICY_SECTORS_MIN << size, &cost);
	need = fb_idle_policy_hit_ns(w, cost.rest_ns) * max(w->longest, 1U);
	if (w->st.requests < w->may_owe)
		owe = w->goal_mean_ns * FB_IDLE_POLICY_START;
	return w->credit_ns + (s64)owe - (s64)min(need, fb_idle_policy_most_ns(w) / 2);
}

/* ---- the threshold ---- */

/* how often it doubles, as too little is saved up; 0: enough is */
static u32 fb_idle_policy_doubles(const struct fb_idle_policy *w)
{
	s64 spare_ns = fb_idle_policy_spare_ns(w);
	u64 part_ns = max_t(u64, fb_idle_policy_most_ns(w) / FB_IDLE_POLICY_SAVED_OF, 1);

	if (spare_ns < 0)
		return FB_IDLE_POLICY_WAIT_DOUBLES;
	return FB_IDLE_POLICY_WAIT_DOUBLES -
	       min_t(u64, div64_u64(spare_ns, part_ns), FB_IDLE_POLICY_WAIT_DOUBLES);
}

/* Does it spare more to wait than to pause? Streams go on soon. */
static bool fb_idle_policy_waits(const struct fb_idle_policy *w)
{
	return fb_idle_streams_known(&w->streams) ||
	       (w->longs >= FB_IDLE_POLICY_LONGS &&
		w->rest_us * w->lengths > FB_IDLE_POLICY_LONGER * w->length_us * w->longs);
}

/* a drive with a write cache that reads ahead has work of its own behind the foreground */
void fb_idle_policy_set_wait(struct fb_idle_policy *w)
{
	u64 part_ns = w->turn_ns / FB_IDLE_POLICY_WAIT_OF;

	if (w->fixed_ns != FB_IDLE_POLICY_AUTO)
		w->wait_ns = w->fixed_ns;
	else if (fb_idle_policy_waits(w))
		w->wait_ns = part_ns << fb_idle_policy_doubles(w);
	else
		w->wait_ns = w->caches && fb_idle_place_ahead(&w->place) ? part_ns : 0;
}

/* ---- sizes ---- */

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
 * What a size is worth: what is read per time or, while that is bounded by the budget, per time
 * and what a collision costs. Of one that was never tried nothing is known.
 */
static u64 fb_idle_policy_worth(const struct fb_idle_policy *w, u32 size, bool bounded)
{
	struct fb_idle_times_mean m;
	u64 worth;

	if (size && !fb_idle_policy_is_tried(w, size))
		return 0;
	fb_idle_policy_class_cost(w, size, FB_IDLE_POLICY_SECTORS_MIN << size, &m);
	worth = mul_u64_u64_div_u64(m.sectors, 1000ULL * FB_IDLE_TURN_NS, m.ns);
	return bounded ? mul_u64_u64_div_u64(worth, FB_IDLE_TURN_NS, max_t(u64, m.rest_ns, 1)) :
			 worth;
}

/* the shortest of the sizes that are worth about most: it costs least */
static u32 fb_idle_policy_choose(const struct fb_idle_policy *w, u32 sizes)
{
	bool bounded = fb_idle_policy_doubles(w);
	u64 worth[FB_IDLE_POLICY_SIZES], most = 0;
	u32 i;

	for (i = 0; i < sizes; i++) {
		worth[i] = fb_idle_policy_worth(w, i, bounded);
		most = max(most, worth[i]);
	}
	for (i = 0; worth[i] < most - most / FB_IDLE_POLICY_ALIKE; i++)
		;
	return FB_IDLE_POLICY_SECTORS_MIN << i;
}

void fb_idle_policy_find(struct fb_idle_policy *w)
{
	u32 sizes = fb_idle_policy_longest(w);

	w->intervals = 0;
	w->sectors = sizes ? fb_idle_policy_choose(w, sizes) : 0;
	if (w->fixed_sectors && sizes)
		w->sectors = min(w->fixed_sectors, FB_IDLE_POLICY_SECTORS_MIN << (sizes - 1));
	w->found = w->sectors;
	fb_idle_policy_set_wait(w);
}
