// SPDX-License-Identifier: GPL-2.0
/* When to read while the disk is idle: Waiting and its two goals; see core/idle_policy.h. */
#include "core/idle_policy.h"

#define FB_IDLE_POLICY_WINDOW 4096	/* requests whose allowance may be saved up */
#define FB_IDLE_POLICY_START 64		/* allowances that the first so many requests may owe */

/*
 * An interval that has lasted for two turns tells if the rest is twice the mean interval; by chance
 * alone it is as long.
 */
#define FB_IDLE_POLICY_LONG_NS (2 * FB_IDLE_TURN_NS)
#define FB_IDLE_POLICY_LONGER 2
#define FB_IDLE_POLICY_LENGTHS 1024	/* intervals and busy periods that count */

/* the threshold is a part of a turn, and doubles with each part too little that is saved up */
#define FB_IDLE_POLICY_WAIT_OF 8
#define FB_IDLE_POLICY_WAIT_DOUBLES 6
#define FB_IDLE_POLICY_SAVED_OF 64

/*
 * A stream that nothing is known of has so many intervals without reads, for this long at most, and
 * then so many with reads for each.
 */
#define FB_IDLE_POLICY_CONTROL_RUN 64
#define FB_IDLE_POLICY_CONTROL_NS (10ULL * NSEC_PER_SEC)
#define FB_IDLE_POLICY_CONTROL_OF 128

/* on a disk that is hardly used debts are never paid; after so long one more hardly shows */
#define FB_IDLE_POLICY_FORGIVE_NS (600ULL * NSEC_PER_SEC)

const char *const fb_idle_policy_why_name[] = {
	[FB_IDLE_POLICY_RUN] = "reading",
	[FB_IDLE_POLICY_OFF] = "off: the mean slowdown allowed is 0",
	[FB_IDLE_POLICY_BUSY] = "the disk is busy",
	[FB_IDLE_POLICY_READING] = "reading",
	[FB_IDLE_POLICY_WAITING] = "waiting for the threshold",
	[FB_IDLE_POLICY_STALL] = "paused: the drive was busy with itself",
	[FB_IDLE_POLICY_BUDGET] = "paused: the mean slowdown is at its goal",
	[FB_IDLE_POLICY_SHORT] = "paused: the maximum slowdown allowed is shorter than any read",
	[FB_IDLE_POLICY_CONTROL] = "pausing for this interval, to measure without",
};

/* ---- busy periods ---- */

/* the class of the idle read sent last, see core/idle/learnt.h */
static enum fb_idle_times_class fb_idle_policy_class(const struct fb_idle_policy *w)
{
	if (!w->first)
		return FB_IDLE_TIMES_NEXT;
	return w->soon ? FB_IDLE_TIMES_SOON : FB_IDLE_TIMES_FIRST;
}

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

static void fb_idle_policy_count_period(struct fb_idle_policy *w)
{
	u64 rest_ns = fb_idle_times_rest_ns(&w->times, fb_idle_policy_class(w));

	if (!w->held)
		fb_idle_policy_count_interval(w);
	w->longest = max(w->longest - w->longest / FB_IDLE_POLICY_LENGTHS, w->requests);
	if (w->read && !w->held && rest_ns)
		fb_idle_account_period(&w->account, w->period_ns, w->requests, rest_ns);
}

/* ---- the budget ---- */

/* what may be saved up, or owed */
static u64 fb_idle_policy_most_ns(const struct fb_idle_policy *w)
{
	return w->goal_mean_ns * FB_IDLE_POLICY_WINDOW;
}

/*
 * What is saved up beyond the cost of a collision; below 0: too little. One costs so much if the
 * longest recent busy period follows. Half of the most is enough, because busy periods may have a
 * heavy tail. The first requests may owe.
 */
static s64 fb_idle_policy_spare_ns(const struct fb_idle_policy *w)
{
	enum fb_idle_times_class class = FB_IDLE_TIMES_NEXT;
	u64 rest_ns, need, owe = 0;

	if (!w->read)
		class = w->wait_ns < FB_IDLE_TURN_NS / 2 ? FB_IDLE_TIMES_SOON : FB_IDLE_TIMES_FIRST;
	rest_ns = fb_idle_times_rest_ns(&w->times, class);
	/* of what was never tried nothing is known but that it is longer */
	if (!rest_ns)
		rest_ns = (FB_IDLE_TURN_NS +
			   div_u64((u64)w->sectors * w->sector_ps, FB_PS_PER_NS)) / 2;
	/* what each request of a busy period behind idle reads waits on the mean */
	need = max_t(u64, rest_ns * fb_idle_account_ratio(&w->account) / FB_IDLE_ACCOUNT_ONE, 1);
	need *= max(w->longest, 1U);
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
	       (w->longs >= FB_IDLE_KNOWN &&
		w->rest_us * w->lengths > FB_IDLE_POLICY_LONGER * w->length_us * w->longs);
}

/*
 * Where idle intervals end by chance alone, to wait spares nothing: reads begin soon, and pause
 * while the budget is used up. Where those that have lasted last on, or streams go on, the budget
 * sets the threshold: it doubles as less is saved up (Documentation/idle.rst). A drive with a write
 * cache that reads ahead has work of its own behind the foreground.
 */
static void fb_idle_policy_set_wait(struct fb_idle_policy *w)
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
static void fb_idle_policy_find(struct fb_idle_policy *w)
{
	u64 ns = fb_idle_policy_longest_ns(w), most = 0, alone;

	if (ns > w->turn_ns)
		most = div_u64((ns - w->turn_ns) * FB_PS_PER_NS, w->sector_ps);
	most -= most % FB_IDLE_POLICY_SECTORS_MIN;
	w->sectors = min_t(u64, w->fixed_sectors ? w->fixed_sectors : FB_IDLE_POLICY_SECTORS_MIN,
			   most);
	alone = div_u64(w->turn_ns * (FB_PS_PER_NS / FB_IDLE_POLICY_ALONE_OF), w->sector_ps);
	alone += FB_IDLE_POLICY_SECTORS_MIN - 1;
	alone -= alone % FB_IDLE_POLICY_SECTORS_MIN;
	w->alone_sectors = w->fixed_sectors ? w->sectors : min(alone, most);
	fb_idle_policy_set_wait(w);
}

/* ---- events ---- */

static bool fb_idle_policy_was_long(const struct fb_idle_policy *w)
{
	return !w->held && w->interval_ns >= w->wait_ns;
}

void fb_idle_policy_init(struct fb_idle_policy *w, u64 now)
{
	memset(w, 0, sizeof(*w));
	w->goal_mean_ns = FB_IDLE_POLICY_MEAN_NS;
	w->goal_max_ns = FB_IDLE_POLICY_MAX_NS;
	w->may_owe = FB_IDLE_POLICY_START;
	w->fixed_ns = FB_IDLE_POLICY_AUTO;
	w->turn_ns = FB_IDLE_TURN_NS;
	w->sector_ps = FB_IDLE_SECTOR_PS;
	w->idle_ns = now;
	fb_idle_streams_init(&w->streams);
	fb_idle_policy_find(w);
}

void fb_idle_policy_set_drive(struct fb_idle_policy *w, u64 turn_ns, u32 sector_ps)
{
	w->turn_ns = turn_ns;
	w->sector_ps = sector_ps;
	fb_idle_policy_find(w);
}

void fb_idle_policy_set_goals(struct fb_idle_policy *w, u64 mean_ns, u64 max_ns)
{
	if (mean_ns != w->goal_mean_ns) {
		w->credit_ns = 0;
		w->may_owe = w->st.requests + FB_IDLE_POLICY_START;
	}
	w->goal_mean_ns = mean_ns;
	w->goal_max_ns = max_ns;
	fb_idle_policy_find(w);
}

void fb_idle_policy_set_fixed(struct fb_idle_policy *w, u64 wait_ns, u32 sectors)
{
	w->fixed_ns = wait_ns;
	w->fixed_sectors = sectors;
	fb_idle_policy_find(w);
}

void fb_idle_policy_restart(struct fb_idle_policy *w, u64 now)
{
	w->st.idle_ns += w->busy ? 0 : now - w->idle_ns;
	w->busy = false;
	w->reading = false;
	w->read = false;
	w->idle_ns = now;
}

static void fb_idle_policy_wake(struct fb_idle_policy *w, u64 now)
{
	u64 from_ns = max(w->idle_ns, w->hold_ns);

	w->busy = true;
	w->held = from_ns > now;
	w->interval_ns = w->held ? 0 : now - from_ns;
	w->st.idle_ns += now - w->idle_ns;
	w->requests = 0;
	w->period_ns = 0;
	w->eligible += fb_idle_policy_was_long(w);
	if (!w->reading)
		return;
	w->hit_ns = now;
	w->st.collisions++;
}

static void fb_idle_policy_charge(struct fb_idle_policy *w, u32 n, s64 ns)
{
	s64 most = fb_idle_policy_most_ns(w);

	/* a larger debt, from a command of seconds, would take too long to pay */
	w->credit_ns = clamp_t(s64, w->credit_ns - n * ns, -most, most);
	w->cost_ns += n * ns;
	w->period_ns += max_t(s64, n * ns, 0);
}

static void fb_idle_policy_count_read(struct fb_idle_policy *w, u64 now)
{
	u64 took_ns = now - w->sent_ns, ours_ns = took_ns, met_ns;
	enum fb_idle_times_class class = fb_idle_policy_class(w);

	if (w->blamed)
		ours_ns = min(fb_idle_times_usual_ns(&w->times, class), took_ns);
	else if (w->judged)
		fb_idle_place_ended(&w->place, took_ns);
	/* what took long because it failed says nothing of others, nor does a stall at first */
	if (w->judged && ours_ns)
		fb_idle_times_add(&w->times, class, ours_ns, w->clean);
	fb_idle_account_read(&w->account, now, ours_ns);
	if (!w->hit_ns)
		return;
	met_ns = min(now - w->hit_ns, ours_ns);
	w->st.max_ns = max(w->st.max_ns, met_ns);
	fb_idle_policy_charge(w, w->unfollowed, met_ns);
}

void fb_idle_policy_aim(struct fb_idle_policy *w, struct fb_destage *d,
			struct fb_idle_policy_aim *aim)
{
	u64 behind = 0;
	enum fb_destage_aim at = w->wrote ? fb_destage_aim(d, &behind) : FB_DESTAGE_AWAY;

	aim->over = at == FB_DESTAGE_OVER;
	if (at != FB_DESTAGE_AWAY) {
		aim->moved = true;
		aim->lbn = at == FB_DESTAGE_OVER ? w->wrote_lbn : behind;
		aim->skip = fb_idle_place_choose(&w->place, FB_IDLE_PLACE_KINDS);
		return;
	}
	aim->moved = w->from != FB_IDLE_PLACE_ON && !fb_idle_streams_go_on_at(&w->streams, w->aim);
	aim->lbn = w->aim;
	aim->skip = fb_idle_place_choose(&w->place, aim->moved ? w->from : FB_IDLE_PLACE_ON);
}

/*
 * Reads of a surely clean drive tell what is usual. What takes a turn longer was late because the
 * drive was writing, if it may.
 */
void fb_idle_policy_judge(struct fb_idle_policy *w, u64 now, struct fb_destage *d)
{
	u64 usual_ns = fb_idle_times_usual_ns(&w->times, fb_idle_policy_class(w));
	u64 took_ns = now - w->sent_ns;
	s64 late_ns = took_ns - usual_ns - FB_IDLE_TURN_NS;
	bool late = usual_ns && late_ns > (s64)FB_IDLE_TURN_NS / 2;
	bool stall = fb_idle_account_read_stalled(&w->account, now,
						  took_ns - min(usual_ns, took_ns));

	w->judged = true;
	w->caches = d->on;
	w->clean = (fb_destage_is_clean(d) || !usual_ns) && !late && !stall;
	w->blamed = (late && d->on) || stall;
	fb_destage_idle_ended(d, now, usual_ns, late_ns);
}

void fb_idle_policy_arrive(struct fb_idle_policy *w, u64 now, const struct fb_fg_req *req)
{
	/* less than the goal may be charged to a request, for the account misses some of it */
	s64 charge_ns = w->goal_mean_ns - w->goal_mean_ns / 8;

	if (!w->withheld) {
		w->st.requests++;
		w->credit_ns = min_t(s64, w->credit_ns + charge_ns,
				     (s64)fb_idle_policy_most_ns(w));
	}
	if (!w->busy) {
		fb_idle_policy_wake(w, now);
		fb_idle_streams_begin(&w->streams, req, w->read);
	}
	w->unfollowed += w->reading && !req;
	w->requests++;
}

void fb_idle_policy_served(struct fb_idle_policy *w, u64 now, const struct fb_fg_req *req)
{
	u64 took_ns = fb_idle_account_took_ns(&w->account, now, req->arrived_ns);
	s64 lost_ns = fb_idle_streams_served(&w->streams, took_ns, req);

	lost_ns = fb_idle_account_served(&w->account, now, req->arrived_ns, lost_ns);
	fb_idle_policy_charge(w, 1, lost_ns);
	w->from = req->write ? FB_IDLE_PLACE_WRITE : FB_IDLE_PLACE_READ;
	w->aim = req->lbn + req->nsect;
}

void fb_idle_policy_wrote(struct fb_idle_policy *w, const struct fb_fg_req *req)
{
	fb_idle_streams_wrote(&w->streams, req);
	w->wrote = true;
	w->wrote_lbn = req->lbn;
}

/* is the next interval left without reads? Those of a run are paid for behind it */
static void fb_idle_policy_control(struct fb_idle_policy *w)
{
	if (w->control && fb_idle_policy_was_long(w)) {
		w->controls++;
		if (w->controls >= FB_IDLE_POLICY_CONTROL_RUN || w->read ||
		    !fb_idle_streams_want_clean(&w->streams, w->controls > 1)) {
			w->eligible = -(s32)(w->controls - 1) * FB_IDLE_POLICY_CONTROL_OF;
			w->controls = 0;
		}
	}
	if (w->eligible >= 0 && !w->controls)
		w->controls = fb_idle_streams_is_new(&w->streams);
	w->control = w->controls;
}

void fb_idle_policy_idle(struct fb_idle_policy *w, u64 now)
{
	if (!w->busy)
		return;
	if (!fb_idle_account_stalled(&w->account, w->idle_ns))
		fb_idle_policy_count_period(w);
	fb_idle_policy_control(w);
	w->busy = false;
	w->read = false;
	w->hit_ns = 0;
	w->idle_ns = now;
	fb_idle_policy_set_wait(w);
}

void fb_idle_policy_sent(struct fb_idle_policy *w, u64 now, u32 nsect)
{
	w->first = !w->read;
	w->streams.reads++;
	w->reading = true;
	w->read = true;
	w->sent_ns = now;
	w->nsect = nsect;
	w->hit_ns = 0;
	w->unfollowed = 0;
	w->judged = false;
	w->blamed = false;
	w->soon = now < max(w->idle_ns, w->hold_ns) + FB_IDLE_TURN_NS / 2;
	w->from = FB_IDLE_PLACE_ON;
	w->wrote = false;
}

void fb_idle_policy_ended(struct fb_idle_policy *w, u64 now)
{
	u64 took_ns = now - w->sent_ns;

	if (!w->reading)
		return;
	w->reading = false;
	w->st.reads++;
	w->st.read_sectors += w->nsect;
	w->st.used_ns += took_ns;
	fb_idle_policy_count_read(w, now);
}

/* ---- questions ---- */

/* why nothing can be sent, time aside; FB_IDLE_POLICY_RUN: nothing bars it */
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
	if (w->st.requests && now - w->idle_ns < FB_IDLE_POLICY_FORGIVE_NS &&
	    fb_idle_policy_spare_ns(w) < 0)
		return FB_IDLE_POLICY_BUDGET;
	return FB_IDLE_POLICY_RUN;
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
		return max(max(now, w->hold_ns), w->account.pause_ns);
	return max(max(w->idle_ns, w->hold_ns) +
		   min_t(u64, w->wait_ns, FB_IDLE_POLICY_FORGIVE_NS), w->account.pause_ns);
}

enum fb_idle_policy_why fb_idle_policy_why(const struct fb_idle_policy *w, u64 now)
{
	enum fb_idle_policy_why why = fb_idle_policy_blocked(w, now);

	if (why != FB_IDLE_POLICY_RUN || fb_idle_policy_begin_ns(w, now) <= now)
		return why;
	return w->account.pause_ns > now ? FB_IDLE_POLICY_STALL : FB_IDLE_POLICY_WAITING;
}

bool fb_idle_policy_knows(const struct fb_idle_policy *w)
{
	return fb_idle_times_rest_ns(&w->times, FB_IDLE_TIMES_NEXT);
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
}
