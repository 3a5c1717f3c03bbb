// SPDX-License-Identifier: GPL-2.0
/*
 * Threshold and size of idle reads. Where idle intervals end by chance alone, to wait spares
 * nothing: reads begin soon, and pause while the budget is used up. Where those that have lasted
 * last on, or streams go on, the budget sets the threshold: it doubles as less is saved up
 * (Documentation/idle.rst).
 */
#include "core/idle/state.h"

#define FB_IDLE_POLICY_FORGET 1024	/* busy periods in which the longest is forgotten */

/*
 * An interval that has lasted for two turns tells if the rest is twice the mean interval; by chance
 * alone it is as long.
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
	u64 rest_ns = fb_idle_times_rest_ns(&w->times, fb_idle_policy_class(w));

	if (!w->held)
		fb_idle_policy_count_interval(w);
	w->longest = max(w->longest - w->longest / FB_IDLE_POLICY_FORGET, w->requests);
	if (w->read && !w->held && rest_ns)
		fb_idle_account_period(&w->account, w->period_ns, w->requests, rest_ns);
}

u64 fb_idle_policy_hit_ns(const struct fb_idle_policy *w, u64 rest_ns)
{
	return max_t(u64, rest_ns * fb_idle_account_ratio(&w->account) / FB_IDLE_ACCOUNT_ONE, 1);
}

/* ---- times of idle reads ---- */

enum fb_idle_times_class fb_idle_policy_class(const struct fb_idle_policy *w)
{
	if (!w->first)
		return FB_IDLE_TIMES_NEXT;
	return w->soon ? FB_IDLE_TIMES_SOON : FB_IDLE_TIMES_FIRST;
}

/* ---- the budget ---- */

/* what may be saved up, or owed */
u64 fb_idle_policy_most_ns(const struct fb_idle_policy *w)
{
	return w->goal_mean_ns * FB_IDLE_POLICY_WINDOW;
}

/*
 * A collision with a read costs so much if the longest recent busy period follows. Half of the most
 * is enough, because busy periods may have a heavy tail. The first requests may owe.
 */
s64 fb_idle_policy_spare_ns(const struct fb_idle_policy *w)
{
	enum fb_idle_times_class class = FB_IDLE_TIMES_NEXT;
	u64 rest_ns, need, owe = 0;

	if (!w->read)
		class = w->wait_ns < FB_IDLE_TURN_NS / 2 ? FB_IDLE_TIMES_SOON : FB_IDLE_TIMES_FIRST;
	rest_ns = fb_idle_times_rest_ns(&w->times, class);
	/* of what was never tried nothing is known but that it is longer */
	if (!rest_ns)
		rest_ns = (FB_IDLE_TURN_NS + div_u64((u64)w->sectors * w->sector_ps, 1000)) / 2;
	need = fb_idle_policy_hit_ns(w, rest_ns) * max(w->longest, 1U);
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

/* no read is so long that it would not keep the maximum's goal wherever it is */
void fb_idle_policy_find(struct fb_idle_policy *w)
{
	u64 ns = fb_idle_policy_longest_ns(w), most = 0, alone;

	if (ns > w->turn_ns)
		most = div_u64((ns - w->turn_ns) * 1000, w->sector_ps);
	most -= most % FB_IDLE_POLICY_SECTORS_MIN;
	w->sectors = min_t(u64, w->fixed_sectors ? w->fixed_sectors : FB_IDLE_POLICY_SECTORS_MIN,
			   most);
	alone = div_u64(w->turn_ns * (1000 / FB_IDLE_POLICY_ALONE_OF), w->sector_ps);
	alone += FB_IDLE_POLICY_SECTORS_MIN - 1;
	alone -= alone % FB_IDLE_POLICY_SECTORS_MIN;
	w->alone_sectors = w->fixed_sectors ? w->sectors : min(alone, most);
	fb_idle_policy_set_wait(w);
}
