// SPDX-License-Identifier: GPL-2.0
/*
 * Learnt conservatism ("auto"); see core/conservatism.h.
 *
 * The probability of losing a turn is estimated as a function of the slack, for seeks and for what
 * stays within a cylinder. A search weighs it, at a price. A slow feedback adjusts the price until
 * the time lost matches the target. So the target is met even if the estimates are wrong; they
 * only decide where the time is spent.
 */
#include "core/conservatism.h"

#define FB_CONSERVATISM_ONE 0x40000000U	/* 30 binary places */
#define FB_CONSERVATISM_PPM 1000000
#define FB_CONSERVATISM_CHANCE_MOST 65535U	/* 16 binary places */

/*
 * Counts decay by a 128th every 8 s, to half in 12 minutes, so that a bin that was safe last week
 * is not trusted after heat or age has changed the drive. A trial adds FB_CONSERVATISM_TRIAL, so
 * that small counts decay, too. Counts are halved before they overflow.
 */
#define FB_CONSERVATISM_TRIAL 64
#define FB_CONSERVATISM_FADE_SHIFT 7
#define FB_CONSERVATISM_FULL 0x10000000U

/*
 * The prior is the tail of a Laplace distribution of the spread that the model says, shifted by
 * FB_CONSERVATISM_LEAST_NS because the phase has errors, too; without one, of 1 % at 400 us, the
 * paper's conservatism. It weighs as much as so many trials. In each bin it is the prior's share of
 * the next longer slack that counts, so that what is seen at long slacks moves short ones.
 * Spreads whose tails exceed the bins are limited.
 */
#define FB_CONSERVATISM_SPREAD_NS 137000
#define FB_CONSERVATISM_SPREAD_MOST (FB_CONSERVATISM_BINS * FB_CONSERVATISM_BIN_NS / 4)
#define FB_CONSERVATISM_SQRT2 1518500250U	/* 30 binary places */
#define FB_CONSERVATISM_EXP_SHIFT 12
#define FB_CONSERVATISM_FAINT 128	/* shares below are nearly none */
#define FB_CONSERVATISM_PRIOR (100 * FB_CONSERVATISM_TRIAL)
#define FB_CONSERVATISM_PRIOR_GAIN (FB_CONSERVATISM_PRIOR / 4)

/*
 * A plan must keep the slack at which a turn is almost as likely lost as not, and no less than
 * FB_CONSERVATISM_LEAST_NS, because phases are known only to some microseconds: a read on the
 * track where the head already is must not begin right under it.
 */
#define FB_CONSERVATISM_RISK_FLOOR (FB_CONSERVATISM_ONE / 10 * 3)
#define FB_CONSERVATISM_LEAST_NS 20000U

#define FB_CONSERVATISM_EVERY 16	/* trials between two computations of the chances */

/*
 * The price of a lost turn begins at 14 gaps, which costs about 5000 ppm on an Atlas 10K. Every
 * 8 s, in which a target of 5000 ppm allows 7 turns of a 10,000 rpm disk, the feedback changes it
 * by a sixteenth of the relative deviation from the target, so that it averages over a few minutes.
 * So few turns vary by chance by more than the target, so deviations count up to
 * FB_CONSERVATISM_LEFT_MOST times the target.
 */
#define FB_CONSERVATISM_PRICE_START (14 * 256)
#define FB_CONSERVATISM_PRICE_LEAST 64
#define FB_CONSERVATISM_PRICE_MOST (256 * 256)
#define FB_CONSERVATISM_WINDOW_NS 8000000000ULL
#define FB_CONSERVATISM_GAIN 16
#define FB_CONSERVATISM_LEFT_MOST 4
#define FB_CONSERVATISM_BEHIND_MIN 16

/* most turns of delay charged to free reads; longer delays are error recovery by the drive */
#define FB_CONSERVATISM_TURNS_MAX 2

static u32 fb_conservatism_bin(u64 ns)
{
	return min_t(u64, div_u64(ns, FB_CONSERVATISM_BIN_NS), FB_CONSERVATISM_BINS - 1);
}

/* ---- the tail ---- */

/*
 * Make @share fall with slack: join neighbours where it rises (isotonic regression). There are at
 * most as many groups of them as bins so far, so that their shares have room in @share itself.
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

/* prior share of bin @i, from the share of the next bin */
static u32 fb_conservatism_belief(const u32 *prior, const u32 *share, u32 i)
{
	u64 belief;

	if (i == FB_CONSERVATISM_BINS - 1)
		return prior[i];
	belief = div_u64(((u64)share[i + 1] + FB_CONSERVATISM_FAINT) * prior[i],
			 prior[i + 1] + FB_CONSERVATISM_FAINT);
	return min_t(u64, belief, FB_CONSERVATISM_ONE);
}

static u32 fb_conservatism_share(const struct fb_conservatism_trials *t, u32 belief, u32 prior)
{
	return div_u64((u64)belief * prior + (u64)t->lost * FB_CONSERVATISM_ONE, t->n + prior);
}

/* convert shares to chances for a search, without those that no slack helps against */
static void fb_conservatism_chances(u16 chance[FB_CONSERVATISM_BINS],
				    const u32 share[FB_CONSERVATISM_BINS])
{
	u32 i;

	for (i = 0; i < FB_CONSERVATISM_BINS; i++)
		chance[i] = min((share[i] - share[FB_CONSERVATISM_BINS - 1]) >> 14,
				FB_CONSERVATISM_CHANCE_MOST);
}

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

static void fb_conservatism_compute(struct fb_conservatism *m, enum fb_conservatism_kind kind)
{
	const struct fb_conservatism_trials *t = m->tail[kind];
	u32 *share = m->share[kind], i;

	for (i = FB_CONSERVATISM_BINS; i--;)
		share[i] = fb_conservatism_share(&t[i], fb_conservatism_belief(m->prior, share, i),
						 FB_CONSERVATISM_PRIOR);
	fb_conservatism_monotone(t, share, FB_CONSERVATISM_PRIOR);
	m->odds.floor_ns[kind] = fb_conservatism_floor_ns(share);
	fb_conservatism_chances(m->odds.late[kind], share);
}

/*
 * Most gaps of nearly a turn have free reads in them, which hide what would have been gained:
 * until trials say otherwise, seeks are assumed to be early as often as late.
 */
static void fb_conservatism_gains(struct fb_conservatism *m)
{
	const u32 *share = m->share[FB_CONSERVATISM_SEEK];
	u32 i;

	for (i = 0; i < FB_CONSERVATISM_BINS; i++)
		m->gain[i] = fb_conservatism_share(&m->early[i],
						   share[i] - share[FB_CONSERVATISM_BINS - 1],
						   FB_CONSERVATISM_PRIOR_GAIN);
	fb_conservatism_monotone(m->early, m->gain, FB_CONSERVATISM_PRIOR_GAIN);
	fb_conservatism_chances(m->odds.early, m->gain);
}

/* how much earlier the head must come to gain a turn */
static u64 fb_conservatism_to_turn(const struct fb_conservatism *m, u64 slack_ns)
{
	return m->period_ns - min(slack_ns, m->period_ns);
}

static void fb_conservatism_count(struct fb_conservatism_trials *t, bool turn)
{
	if (t->n >= FB_CONSERVATISM_FULL) {
		t->n /= 2;
		t->lost /= 2;
	}
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

/*
 * The expected cost of a foreground request without the free read before it. With a short wait
 * it might have lost a turn; with a wait of nearly a whole turn it might have gained one, which
 * the free read prevented. Turns lost even with the longest slack are the drive's own.
 */
static s64 fb_conservatism_alone_ns(const struct fb_conservatism *m, u64 gap_ns)
{
	const u32 *share = m->share[FB_CONSERVATISM_SEEK];
	u32 lost = share[fb_conservatism_bin(gap_ns)] - share[FB_CONSERVATISM_BINS - 1];
	u32 gained = m->gain[fb_conservatism_bin(fb_conservatism_to_turn(m, gap_ns))];

	lost += div_u64((u64)m->own.lost * FB_CONSERVATISM_ONE, m->own.n + FB_CONSERVATISM_PRIOR);
	return mul_u64_u32_shr(m->period_ns, lost, 30) -
	       mul_u64_u32_shr(m->period_ns, gained, 30);
}

/* part of the target that is left, or if negative overdrawn, 10 binary places */
static s32 fb_conservatism_left(const struct fb_conservatism *m, u64 span_ns)
{
	u64 target_ns = div_u64(span_ns, FB_CONSERVATISM_PPM) * m->target_ppm;
	s64 most_ns = FB_CONSERVATISM_LEFT_MOST * target_ns;

	return div64_s64(clamp_t(s64, target_ns - m->cost_ns, -most_ns, most_ns) * 1024, target_ns);
}

static s32 fb_conservatism_cost_ppm(const struct fb_conservatism *m, u64 span_ns)
{
	return div64_s64(m->cost_ns, div_u64(span_ns, FB_CONSERVATISM_PPM));
}

/* raise or lower the price by what is left of the target */
static void fb_conservatism_move(struct fb_conservatism *m, s32 left)
{
	s32 price = m->odds.price;

	price -= price * left / (FB_CONSERVATISM_GAIN << 10);
	m->odds.price = clamp_t(s32, price, FB_CONSERVATISM_PRICE_LEAST,
				FB_CONSERVATISM_PRICE_MOST);
}

static void fb_conservatism_feed_back(struct fb_conservatism *m, u64 now_ns)
{
	u64 span_ns = now_ns - m->since_ns;

	if (now_ns >= m->since_ns && span_ns < FB_CONSERVATISM_WINDOW_NS)
		return;
	/* a window with a long pause in it, or with few free reads, says nothing */
	if (span_ns < 2 * FB_CONSERVATISM_WINDOW_NS && m->behind >= FB_CONSERVATISM_BEHIND_MIN) {
		fb_conservatism_move(m, fb_conservatism_left(m, span_ns));
		m->cost_ppm += (fb_conservatism_cost_ppm(m, span_ns) -
				m->cost_ppm) / FB_CONSERVATISM_GAIN;
	}
	fb_conservatism_fade(m->tail[0], FB_CONSERVATISM_KINDS * FB_CONSERVATISM_BINS);
	fb_conservatism_fade(m->early, FB_CONSERVATISM_BINS);
	fb_conservatism_fade(&m->own, 1);
	m->since_ns = now_ns;
	m->behind = 0;
	m->cost_ns = 0;
}

static s32 fb_conservatism_turns(const struct fb_conservatism *m, s64 late_ns)
{
	s64 half = m->period_ns / 2;

	late_ns += late_ns < 0 ? -half : half;
	return clamp_t(s64, div64_s64(late_ns, m->period_ns), -1, FB_CONSERVATISM_TURNS_MAX);
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
	m->cost_ns += leg->extra_ns;
	m->cost_ns -= fb_conservatism_alone_ns(m, leg->gap_ns);
}

void fb_conservatism_predict(struct fb_conservatism_leg *leg, const struct disk_model *dm,
			     const struct dm_place *from, u64 lbn, u32 nsect,
			     const struct dm_access *acc)
{
	u64 transfer_ns = acc->total_ns - acc->seek_ns - acc->latency_ns;
	struct dm_place to;
	struct dm_track t;

	leg->simple = false;
	leg->dist = 0;
	leg->slack_ns = acc->latency_ns;
	if (dm_place_of(dm, lbn, &to) || dm_track_of(dm, lbn, &t))
		return;
	leg->dist = to.cyl > from->cyl ? to.cyl - from->cyl : from->cyl - to.cyl;
	/* another track adds a switch, landing within it most of a turn, slips a sector or two */
	leg->simple = transfer_ns < (nsect + 2ULL) * dm_angle_to_ns(dm, t.sector_angle);
}

void fb_conservatism_learn(struct fb_conservatism *m, u64 now_ns,
			   const struct fb_conservatism_leg *leg)
{
	enum fb_conservatism_kind kind = fb_conservatism_kind(leg->dist);
	s32 turns = fb_conservatism_turns(m, leg->late_ns);
	u32 bin = fb_conservatism_bin(leg->slack_ns);

	fb_conservatism_feed_back(m, now_ns);
	fb_conservatism_charge(m, leg, turns);
	if (leg->cause == FB_CAUSE_PLAIN && bin == FB_CONSERVATISM_BINS - 1)
		fb_conservatism_count(&m->own, turns > 0);
	if (!leg->simple)
		return;
	fb_conservatism_count(&m->tail[kind][bin], turns > 0);
	bin = fb_conservatism_bin(fb_conservatism_to_turn(m, leg->slack_ns));
	fb_conservatism_count(&m->early[bin], turns < 0);
	if (++m->trials % FB_CONSERVATISM_EVERY)
		return;
	fb_conservatism_compute(m, kind);
	if (kind == FB_CONSERVATISM_SEEK)
		fb_conservatism_gains(m);
}

/* ---- beginning ---- */

/* exp(-@x), 30 binary places both: (1 - x / 2^n)^(2^n) */
static u32 fb_conservatism_exp(u64 x)
{
	u64 y;
	u32 i;

	x >>= FB_CONSERVATISM_EXP_SHIFT;
	if (x >= FB_CONSERVATISM_ONE)
		return 0;
	y = FB_CONSERVATISM_ONE - x;
	for (i = 0; i < FB_CONSERVATISM_EXP_SHIFT; i++)
		y = y * y >> 30;
	return y;
}

/* the largest spread of seeks, at least 1 */
static u32 fb_conservatism_spread_ns(const struct disk_model *dm)
{
	const struct dm_info *info = dm_info(dm);
	u32 spread_ns = 1, cyls;

	if (!info->spread_known)
		return FB_CONSERVATISM_SPREAD_NS;
	for (cyls = 1; cyls < info->cylinders; cyls *= 2)
		spread_ns = max(spread_ns, dm_spread_ns(dm, cyls));
	spread_ns = max(spread_ns, dm_spread_ns(dm, info->cylinders));
	return min_t(u32, spread_ns, FB_CONSERVATISM_SPREAD_MOST);
}

void fb_conservatism_init(struct fb_conservatism *m, const struct disk_model *dm, u32 target_ppm)
{
	u64 ns = FB_CONSERVATISM_BIN_NS / 2, beyond, spread_ns = fb_conservatism_spread_ns(dm);
	u32 i;

	memset(m, 0, sizeof(*m));
	m->period_ns = dm_period_ns(dm);
	m->target_ppm = target_ppm;
	m->odds.price = FB_CONSERVATISM_PRICE_START;
	for (i = 0; i < FB_CONSERVATISM_BINS; i++, ns += FB_CONSERVATISM_BIN_NS) {
		beyond = max_t(u64, ns, FB_CONSERVATISM_LEAST_NS) - FB_CONSERVATISM_LEAST_NS;
		/* its tail falls by e every spread / sqrt(2) */
		m->prior[i] = fb_conservatism_exp(div_u64(beyond * FB_CONSERVATISM_SQRT2,
							  spread_ns)) / 2;
	}
	for (i = 0; i < FB_CONSERVATISM_KINDS; i++)
		fb_conservatism_compute(m, i);
	fb_conservatism_gains(m);
}

/* ---- the answer ---- */

u32 fb_conservatism_chance(const u16 chance[FB_CONSERVATISM_BINS], u64 margin_ns)
{
	u32 ns = min_t(u64, margin_ns, FB_CONSERVATISM_BINS * FB_CONSERVATISM_BIN_NS), i;

	/* interpolate linearly between the bins' middles */
	ns = max_t(u32, ns, FB_CONSERVATISM_BIN_NS / 2) - FB_CONSERVATISM_BIN_NS / 2;
	i = ns / FB_CONSERVATISM_BIN_NS;
	if (i >= FB_CONSERVATISM_BINS - 1)
		return chance[FB_CONSERVATISM_BINS - 1];
	/* fb_conservatism_monotone() made chances fall with margin */
	return chance[i] - (chance[i] - chance[i + 1]) *
		(ns % FB_CONSERVATISM_BIN_NS) / FB_CONSERVATISM_BIN_NS;
}

u64 fb_conservatism_expected_ns(const struct fb_conservatism_odds *odds, u64 period_ns, u32 cyls,
				u64 seek_ns, u64 latency_ns)
{
	u64 ns = seek_ns + latency_ns;

	/* only seeks vary */
	if (!odds || !seek_ns)
		return ns;
	/* beyond the table there is no chance */
	if (latency_ns >= FB_CONSERVATISM_BINS * FB_CONSERVATISM_BIN_NS)
		return ns;
	return ns + (period_ns * fb_conservatism_chance(odds->late[fb_conservatism_kind(cyls)],
							latency_ns) >> 16);
}
