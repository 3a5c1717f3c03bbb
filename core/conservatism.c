// SPDX-License-Identifier: GPL-2.0
/*
 * Learnt conservatism ("auto"). The probability of losing a turn is estimated as a function of the
 * slack, for seeks and for what stays within a cylinder. A search weighs it, at a price that a slow
 * feedback adjusts until the time lost matches the target: so that is met even if the estimates are
 * wrong; they only decide where the time is spent. Core.
 */
#include "core/conservatism.h"

#define FB_CONSERVATISM_SHIFT 30
#define FB_CONSERVATISM_ONE ((u32)FB_ONE << (FB_CONSERVATISM_SHIFT - FB_ONE_SHIFT))
#define FB_CONSERVATISM_CHANCE_MOST (FB_ONE - 1U)

/*
 * Counts decay by a 128th every 8 s, to half in 12 minutes, as heat and age change drives. A trial
 * adds FB_CONSERVATISM_TRIAL, so that small ones decay, too.
 */
#define FB_CONSERVATISM_TRIAL 64
#define FB_CONSERVATISM_FADE_SHIFT 7

/*
 * The prior is an exponential tail that falls by 3/16 per bin: 1 % at 400 us, the paper's
 * conservatism. It weighs as much as so many trials. In each bin it follows from the share of the
 * next longer slack, so that what is seen at long slacks moves short ones. Until a few trials say
 * otherwise, seeks are early as often as late: free reads hide most of what would have been gained.
 */
#define FB_CONSERVATISM_PRIOR_LAST 1300U
#define FB_CONSERVATISM_PRIOR (100 * FB_CONSERVATISM_TRIAL)
#define FB_CONSERVATISM_PRIOR_EARLY (FB_CONSERVATISM_PRIOR / 4)

/*
 * A plan must keep the slack at which a turn is almost as likely lost as not, and
 * FB_CONSERVATISM_LEAST_NS, as phases are known only to some microseconds.
 */
#define FB_CONSERVATISM_RISK_FLOOR (FB_CONSERVATISM_ONE / 10 * 3)
#define FB_CONSERVATISM_LEAST_NS 20000U

#define FB_CONSERVATISM_EVERY 16	/* trials between two computations of the chances */

/*
 * The price of a lost turn begins at 14 gaps, which costs about 5000 ppm on an Atlas 10K. Every 8 s
 * it changes by a sixteenth of the deviation, which counts up to FB_CONSERVATISM_LEFT_MOST times
 * the target: the seven turns that are allowed vary by chance.
 */
#define FB_CONSERVATISM_PRICE_START (14 * FB_PRICE_ONE)
#define FB_CONSERVATISM_LEFT_MOST 4
#define FB_CONSERVATISM_BEHIND_MIN 16

/* most turns of delay charged to free reads; longer delays are error recovery by the drive */
#define FB_CONSERVATISM_TURNS_MAX 2

static u32 fb_conservatism_bin(u64 ns)
{
	return min_t(u64, div_u64(ns, FB_CONSERVATISM_BIN_NS), FB_CONSERVATISM_BINS - 1);
}

/* ---- the tail ---- */

/* the slack at which FB_CONSERVATISM_RISK_FLOOR is left of what slack helps against */
static u32 fb_conservatism_floor_ns(const u32 share[FB_CONSERVATISM_BINS])
{
	u32 risk = FB_CONSERVATISM_RISK_FLOOR + share[FB_CONSERVATISM_BINS - 1], i = 0, part;

	while (i < FB_CONSERVATISM_BINS - 1 && share[i] > risk)
		i++;
	if (!i)
		return FB_CONSERVATISM_LEAST_NS;
	part = FB_CONSERVATISM_BIN_NS;
	/* a straight line between the bins' middles */
	if (share[i] <= risk)
		part = div_u64((u64)FB_CONSERVATISM_BIN_NS * (share[i - 1] - risk),
			       share[i - 1] - share[i]);
	return max(i * FB_CONSERVATISM_BIN_NS - FB_CONSERVATISM_BIN_NS / 2 + part,
		   FB_CONSERVATISM_LEAST_NS);
}

/*
 * Make @share fall with slack: join neighbours where it rises (isotonic regression). There are at
 * most as many groups as bins so far, so their shares have room in @share itself.
 */
static void fb_conservatism_monotone(const struct fb_conservatism_trials *t,
				     u32 share[FB_CONSERVATISM_BINS], u32 prior)
{
	u32 trials[FB_CONSERVATISM_BINS], i, k = 0;
	u8 end[FB_CONSERVATISM_BINS];

	for (i = 0; i < FB_CONSERVATISM_BINS; i++) {
		u32 one = share[i], n = t[i].n + prior;

		for (; k && share[k - 1] < one; k--) {
			one = div_u64((u64)one * n + (u64)share[k - 1] * trials[k - 1],
				      n + trials[k - 1]);
			n += trials[k - 1];
		}
		share[k] = one;
		trials[k] = n;
		end[k++] = i + 1;
	}
	/* from the last bin down, for a group lies at or before its own bins */
	for (i = FB_CONSERVATISM_BINS; i--;) {
		k -= k > 1 && i < end[k - 2];
		share[i] = share[k - 1];
	}
}

/* shares from trials and the prior, and what a search sees of them */
static void fb_conservatism_compute(struct fb_conservatism *m, enum fb_conservatism_kind kind)
{
	bool early = kind == FB_CONSERVATISM_EARLY;
	u32 weight = early ? FB_CONSERVATISM_PRIOR_EARLY : FB_CONSERVATISM_PRIOR;
	u32 belief = FB_CONSERVATISM_PRIOR_LAST, last = FB_CONSERVATISM_BINS - 1, i;
	const struct fb_conservatism_trials *t = m->tail[kind];
	const u32 *late = m->share[FB_CONSERVATISM_SEEK];
	u32 *share = m->share[kind];

	for (i = last + 1; i--;) {
		/* where phases err as much, slack helps less */
		bool phase = i * FB_CONSERVATISM_BIN_NS <= 2 * FB_CONSERVATISM_LEAST_NS;

		if (early)
			belief = late[i] - late[last];
		share[i] = div_u64((u64)belief * weight + (u64)t[i].lost * FB_CONSERVATISM_ONE,
				   t[i].n + weight);
		belief = share[i] + (phase ? share[i] / 10 : share[i] / 13 * 3);
		belief = min(belief, FB_CONSERVATISM_ONE);
	}
	fb_conservatism_monotone(t, share, weight);
	m->odds.floor_ns[kind] = fb_conservatism_floor_ns(share);
	/* without what no slack helps against */
	for (i = 0; i <= last; i++)
		m->odds.chance[kind][i] = min((share[i] - share[last]) >>
					      (FB_CONSERVATISM_SHIFT - FB_ONE_SHIFT),
					      FB_CONSERVATISM_CHANCE_MOST);
}

static void fb_conservatism_count(struct fb_conservatism_trials *t, bool turn)
{
	t->n += FB_CONSERVATISM_TRIAL;
	t->lost += turn ? FB_CONSERVATISM_TRIAL : 0;
}

static void fb_conservatism_fade(struct fb_conservatism_trials *t, u32 n)
{
	for (; n--; t++) {
		t->n -= t->n >> FB_CONSERVATISM_FADE_SHIFT;
		t->lost -= t->lost >> FB_CONSERVATISM_FADE_SHIFT;
	}
}

/* ---- the cost ---- */

/* how much earlier the head must come to gain a turn */
static u64 fb_conservatism_to_turn(const struct fb_conservatism *m, u64 slack_ns)
{
	return m->period_ns - min(slack_ns, m->period_ns);
}

/*
 * The expected cost of a foreground request without the free read before it: with a short wait it
 * might have lost a turn, with one of nearly a turn gained one. Turns lost even with the longest
 * slack are the drive's own.
 */
static s64 fb_conservatism_alone_ns(const struct fb_conservatism *m, u64 gap_ns)
{
	const u32 *share = m->share[FB_CONSERVATISM_SEEK], *gain = m->share[FB_CONSERVATISM_EARLY];
	u32 lost = share[fb_conservatism_bin(gap_ns)] - share[FB_CONSERVATISM_BINS - 1];
	u32 gained = gain[fb_conservatism_bin(fb_conservatism_to_turn(m, gap_ns))];

	lost += div_u64((u64)m->own.lost * FB_CONSERVATISM_ONE, m->own.n + FB_CONSERVATISM_PRIOR);
	return mul_u64_u32_shr(m->period_ns, lost, FB_CONSERVATISM_SHIFT) -
	       mul_u64_u32_shr(m->period_ns, gained, FB_CONSERVATISM_SHIFT);
}

static void fb_conservatism_move(struct fb_conservatism *m, u64 span_ns)
{
	u64 target_ns = div_u64(span_ns, FB_PPM) * m->target_ppm;
	s64 most_ns = FB_CONSERVATISM_LEFT_MOST * target_ns, price = m->odds.price;
	s32 cost_ppm = div64_s64(m->cost_ns, div_u64(span_ns, FB_PPM));

	price -= div64_s64(price * clamp_t(s64, target_ns - m->cost_ns, -most_ns, most_ns),
			   FB_PRICE_GAIN * target_ns);
	m->odds.price = clamp_t(s64, price, FB_PRICE_ONE / 4, FB_PRICE_MOST);
	m->cost_ppm += (cost_ppm - m->cost_ppm) / FB_PRICE_GAIN;
}

static void fb_conservatism_feed_back(struct fb_conservatism *m, u64 now_ns)
{
	u64 span_ns = now_ns - m->since_ns;

	if (now_ns >= m->since_ns && span_ns < FB_PRICE_WINDOW_NS)
		return;
	/* a window with a long pause in it, or with few free reads, says nothing */
	if (span_ns < 2 * FB_PRICE_WINDOW_NS && m->behind >= FB_CONSERVATISM_BEHIND_MIN)
		fb_conservatism_move(m, span_ns);
	fb_conservatism_fade(m->tail[0], FB_CONSERVATISM_KINDS * FB_CONSERVATISM_BINS);
	fb_conservatism_fade(&m->own, 1);
	m->since_ns = now_ns;
	m->behind = 0;
	m->cost_ns = 0;
}

static void fb_conservatism_charge(struct fb_conservatism *m, const struct fb_conservatism_leg *leg,
				   s32 turns)
{
	if (leg->cause == FB_CAUSE_PLAIN || (leg->cause == FB_CAUSE_SEPARATE && turns < 0))
		return;
	m->cost_ns += turns * (s64)m->period_ns;
	if (leg->cause == FB_CAUSE_SEPARATE)
		return;
	m->behind++;
	m->cost_ns -= fb_conservatism_alone_ns(m, leg->gap_ns);
}

void fb_conservatism_predict(struct fb_conservatism_leg *leg, const struct disk_model *dm,
			     const struct dm_place *from, u32 nsect, const struct dm_access *acc)
{
	u64 transfer_ns = acc->total_ns - acc->seek_ns - acc->latency_ns;
	u64 turn_ns = dm_period_ns(dm) * (nsect + 2ULL);

	leg->slack_ns = acc->latency_ns;
	leg->dist = dm_apart(&acc->end, from);
	/* another track adds a switch, landing within it most of a turn, slips a sector or two */
	leg->simple = transfer_ns * dm_track_spt(dm, &acc->end) < turn_ns;
}

void fb_conservatism_learn(struct fb_conservatism *m, u64 now_ns,
			   const struct fb_conservatism_leg *leg)
{
	enum fb_conservatism_kind kind = fb_conservatism_kind(leg->dist);
	s64 half = m->period_ns / 2, late_ns = leg->late_ns + (leg->late_ns < 0 ? -half : half);
	s32 turns = clamp_t(s64, div64_s64(late_ns, m->period_ns), -1, FB_CONSERVATISM_TURNS_MAX);
	u32 bin = fb_conservatism_bin(leg->slack_ns);

	fb_conservatism_feed_back(m, now_ns);
	fb_conservatism_charge(m, leg, turns);
	if (leg->cause == FB_CAUSE_PLAIN && bin == FB_CONSERVATISM_BINS - 1)
		fb_conservatism_count(&m->own, turns > 0);
	if (!leg->simple)
		return;
	fb_conservatism_count(&m->tail[kind][bin], turns > 0);
	bin = fb_conservatism_bin(fb_conservatism_to_turn(m, leg->slack_ns));
	fb_conservatism_count(&m->tail[FB_CONSERVATISM_EARLY][bin], turns < 0);
	/* one table at a time: completions hold the host's lock */
	if (++m->trials % FB_CONSERVATISM_EVERY == 0)
		fb_conservatism_compute(m, kind);
	else if (m->trials % FB_CONSERVATISM_EVERY == FB_CONSERVATISM_EVERY / 2)
		fb_conservatism_compute(m, FB_CONSERVATISM_EARLY);
}

void fb_conservatism_init(struct fb_conservatism *m, const struct disk_model *dm, u32 target_ppm)
{
	u32 i;

	memset(m, 0, sizeof(*m));
	m->period_ns = dm_period_ns(dm);
	m->target_ppm = target_ppm;
	m->odds.price = FB_CONSERVATISM_PRICE_START;
	for (i = 0; i < FB_CONSERVATISM_KINDS; i++)
		fb_conservatism_compute(m, i);
}

/* ---- the answer ---- */

u64 fb_conservatism_expected_ns(const struct fb_conservatism_odds *odds, u64 period_ns, u32 cyls,
				u64 seek_ns, u64 latency_ns)
{
	u64 ns = seek_ns + latency_ns;

	/* only seeks vary; beyond the table there is no chance */
	if (!odds || !seek_ns || latency_ns >= FB_CONSERVATISM_BINS * FB_CONSERVATISM_BIN_NS)
		return ns;
	return ns + (period_ns * fb_conservatism_chance(odds->chance[fb_conservatism_kind(cyls)],
							latency_ns) >> FB_ONE_SHIFT);
}
