// SPDX-License-Identifier: GPL-2.0
/*
 * When to read while the disk is idle: Waiting and its two goals; see core/idle_policy.h. Core:
 * no locks, the caller serialises.
 */
#include "core/idle_policy.h"
#include "core/idle/threshold.h"

/* until the drive is known: no disk for sale is slower */
#define FB_IDLE_POLICY_TURN_NS 11111111U
#define FB_IDLE_POLICY_SECTOR_PS 5120000U

/* intervals until threshold and size are found again */
#define FB_IDLE_POLICY_RETUNE 64
#define FB_IDLE_POLICY_MOVED_AGE 512	/* first requests, moved by a read, that count half */
#define FB_IDLE_POLICY_TRY 512		/* one read in so many tries a longer size */
#define FB_IDLE_POLICY_TRY_MORE 3	/* up to so many doublings */
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
		fb_idle_policy_first_cost(w, fb_idle_policy_size(w), w->wait_ns, &cost);
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
	else if (w->judged)
		fb_idle_place_ended(&w->place, took_ns);
	/* what took long because it failed says nothing of others, nor does a stall at first */
	if (w->judged && ours_ns)
		fb_idle_times_add(&w->times, class, w->nsect, ours_ns, w->clean);
	fb_idle_account_read(&w->account, now, ours_ns);
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
	u64 took_ns = now - w->sent_ns;
	s64 late_ns = took_ns - usual_ns - w->turn_ns / 1;
	bool late = usual_ns && late_ns > (s64)w->turn_ns / 2;
	bool stall = fb_idle_account_stall(&w->account, now, took_ns - min(usual_ns, took_ns));

	w->judged = true;
	w->clean = (fb_destage_is_clean(d) || !usual_ns) && !late && !stall;
	w->blamed = (late && d->on) || stall;
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
				   w->measured || w->moved.n >= FB_IDLE_POLICY_ALONE_KNOWN;
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
	if ((w->own_order || w->measured) && w->eligible >= 0 && !w->controls)
		w->controls = fb_idle_cost_is_new_stream(&w->cost);
	w->control = w->controls || w->eligible >= of;
}

void fb_idle_policy_idle(struct fb_idle_policy *w, u64 now)
{
	if (!w->busy)
		return;
	if (!fb_idle_account_stalled(&w->account, w->idle_ns)) {
		fb_idle_policy_count_interval(w);
		if (w->measured && w->read)
			fb_idle_policy_count_period(w);
	}
	fb_idle_policy_count_behind(w);
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
	w->judged = false;
	w->blamed = false;
	w->soon = now < max(w->idle_ns, w->hold_ns) + w->turn_ns / 2;
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
		return max(max(now, w->hold_ns), w->account.pause_ns);
	return max(max(w->idle_ns, w->hold_ns) +
		   min_t(u64, w->wait_ns, FB_IDLE_POLICY_FORGIVE_NS), w->account.pause_ns);
}

enum fb_idle_policy_why fb_idle_policy_why(const struct fb_idle_policy *w, u64 now)
{
	enum fb_idle_policy_why why = fb_idle_policy_blocked(w, now);

	return why == FB_IDLE_POLICY_RUN && fb_idle_policy_begin_ns(w, now) > now ?
		FB_IDLE_POLICY_WAITING : why;
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
