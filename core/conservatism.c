// SPDX-License-Identifier: GPL-2.0
/*
 * Learnt conservatism ("auto"); see core/conservatism.h.
 *
 * For each band of seek distances, the probability of losing a turn is estimated as a function of
 * the slack. A band's conservatism is the slack at which this probability falls below a risk that
 * all bands have in common, so that in each of them the last microsecond buys reading time at the
 * same price. A slow feedback adjusts the risk until the time lost matches the target. So the
 * target is met even if the estimates are wrong; they only decide where the time is spent.
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
 * The prior share of a bin is 1.3 times that of the next longer slack, with the weight of
 * FB_CONSERVATISM_PRIOR: an exponential tail that falls by a factor of e in 76 us, for a standard
 * deviation of 110 us. FB_CONSERVATISM_SHARE_FAR, the prior share at the longest slack, makes it
 * 1 % at FB_CONSERVATISM_START_NS. In a single band the factor is that of all bands together, with
 * the weight of FB_CONSERVATISM_PRIOR_BAND.
 */
#define FB_CONSERVATISM_GROWTH_NUM 13
#define FB_CONSERVATISM_GROWTH_DEN 10
#define FB_CONSERVATISM_SHARE_FAR 135
#define FB_CONSERVATISM_PRIOR (100 * FB_CONSERVATISM_TRIAL)
#define FB_CONSERVATISM_PRIOR_BAND (400 * FB_CONSERVATISM_TRIAL)
#define FB_CONSERVATISM_PRIOR_GAIN (25 * FB_CONSERVATISM_TRIAL)

/*
 * If the model says how much seeks vary, the prior is the tail of a Laplace distribution of that
 * spread, shifted by FB_CONSERVATISM_LEAST_NS because the phase has errors, too. All bands
 * together begin with the largest spread. Spreads whose tails exceed the bins are limited.
 */
#define FB_CONSERVATISM_SQRT2 1518500250U	/* 30 binary places */
#define FB_CONSERVATISM_SPREAD_MOST (FB_CONSERVATISM_BINS * FB_CONSERVATISM_BIN_NS / 4)
#define FB_CONSERVATISM_EXP_SHIFT 12

/*
 * A search that weighs the risk itself (struct fb_conservatism_odds) must keep only the slack at
 * which the turn is almost as likely lost as not. The price of a lost turn begins at 14 gaps,
 * which costs about 5000 ppm on an Atlas 10K; the feedback adjusts it like the risk.
 */
#define FB_CONSERVATISM_RISK_FLOOR (FB_CONSERVATISM_ONE / 10 * 3)
#define FB_CONSERVATISM_PRICE_START (14 * 256)
#define FB_CONSERVATISM_PRICE_LEAST 64
#define FB_CONSERVATISM_PRICE_MOST (256 * 256)

/* trials between two computations of a band, and the most that its conservatism moves then */
#define FB_CONSERVATISM_EVERY 16
#define FB_CONSERVATISM_ENOUGH 512
#define FB_CONSERVATISM_STEP_NS 10000

/*
 * The least conservatism, because phases are known only to some microseconds. A read on the track
 * where the head already is must not begin right under it: a tiny error would decide whether it
 * begins now or a turn later, and after a wrong prediction the head's position is unknown.
 */
#define FB_CONSERVATISM_LEAST_NS 20000U

/*
 * Every 8 s, in which a target of 5000 ppm allows 7 turns of a 10,000 rpm disk, the feedback
 * changes the risk by a sixteenth of the relative deviation from the target, so that it averages
 * over a few minutes. So few turns vary by chance by more than the target, so deviations count up
 * to FB_CONSERVATISM_LEFT_MOST times the target.
 */
#define FB_CONSERVATISM_WINDOW_NS 8000000000ULL
#define FB_CONSERVATISM_GAIN 16
#define FB_CONSERVATISM_LEFT_MOST 4
#define FB_CONSERVATISM_BEHIND_MIN 16
#define FB_CONSERVATISM_RISK_START (FB_CONSERVATISM_ONE / 100)
#define FB_CONSERVATISM_RISK_LEAST (FB_CONSERVATISM_ONE / 20000)
#define FB_CONSERVATISM_RISK_MOST (FB_CONSERVATISM_ONE / 8)

/*
 * The conservatism weighs the risk against the last block of a read; leaving a gap alone is
 * weighed against all its blocks, some 25 in a gap of nearly a turn.
 */
#define FB_CONSERVATISM_GAP_BLOCKS 25

/* of gaps slightly farther from a turn, one in four is left alone to see what is gained there */
#define FB_CONSERVATISM_TEST_NS 100000
#define FB_CONSERVATISM_TEST_SHIFT 6
#define FB_CONSERVATISM_TEST_MASK 3

/*
 * What plain requests lose corrects the tables by no more than a factor of two, and hardly before
 * so many turns are expected to be lost: first all slacks alike, then each kind.
 */
#define FB_CONSERVATISM_MORE_ONE 65536
#define FB_CONSERVATISM_MORE_TURNS 64
#define FB_CONSERVATISM_WAIT_NS (4 * FB_CONSERVATISM_BIN_NS)

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
static u32 fb_conservatism_belief(const u32 *all, const u32 share[FB_CONSERVATISM_BINS], u32 i)
{
	u64 belief;

	if (i == FB_CONSERVATISM_BINS - 1)
		return all ? all[i] : FB_CONSERVATISM_SHARE_FAR;
	if (all)
		belief = div_u64(((u64)share[i + 1] + FB_CONSERVATISM_SHARE_FAR) * all[i],
				 all[i + 1] + FB_CONSERVATISM_SHARE_FAR);
	else
		belief = div_u64((u64)share[i + 1] * FB_CONSERVATISM_GROWTH_NUM,
				 FB_CONSERVATISM_GROWTH_DEN);
	return min_t(u64, belief, FB_CONSERVATISM_ONE);
}

/*
 * Compute @share from the trials in @t. @all: shares of all bands if @t is one band's, or the
 * model's, or NULL; @prior: their weight.
 */
static void fb_conservatism_shares(const struct fb_conservatism_trials *t, const u32 *all,
				   u32 prior, u32 share[FB_CONSERVATISM_BINS])
{
	u32 i;

	for (i = FB_CONSERVATISM_BINS; i--;) {
		u64 sum = (u64)fb_conservatism_belief(all, share, i) * prior + (u64)t[i].lost *
			FB_CONSERVATISM_ONE;

		share[i] = div_u64(sum, t[i].n + prior);
	}
	fb_conservatism_monotone(t, share, prior);
}

/*
 * Most gaps of nearly a turn have free reads in them, which hide what would have been gained:
 * until trials say otherwise, seeks are assumed to be early as often as late.
 */
static void fb_conservatism_gains(struct fb_conservatism *m)
{
	u32 i;

	for (i = 0; i < FB_CONSERVATISM_BINS; i++) {
		u64 sum = (u64)(m->share[i] - m->share[FB_CONSERVATISM_BINS - 1]) *
			FB_CONSERVATISM_PRIOR_GAIN +
			  (u64)m->early[i].lost * FB_CONSERVATISM_ONE;

		m->gain[i] = div_u64(sum, m->early[i].n + FB_CONSERVATISM_PRIOR_GAIN);
	}
	fb_conservatism_monotone(m->early, m->gain, FB_CONSERVATISM_PRIOR_GAIN);
}

/*
 * The slack at which @risk is left on top of the share of the longest slack, which no slack
 * helps against; interpolated linearly between the bins' middles.
 */
static u32 fb_conservatism_quantile_ns(const u32 share[FB_CONSERVATISM_BINS], u32 risk)
{
	u32 i = 0, part;

	risk += share[FB_CONSERVATISM_BINS - 1];
	while (i < FB_CONSERVATISM_BINS - 1 && share[i] > risk)
		i++;
	if (!i)
		return 0;
	part = FB_CONSERVATISM_BIN_NS;
	if (share[i] <= risk)
		part = div_u64((u64)FB_CONSERVATISM_BIN_NS * (share[i - 1] - risk),
			       share[i - 1] - share[i]);
	return i * FB_CONSERVATISM_BIN_NS - FB_CONSERVATISM_BIN_NS / 2 + part;
}

static u32 fb_conservatism_towards(u32 from, u32 to, u32 step)
{
	if (to > from)
		return from + min(to - from, step);
	return from - min(from - to, step);
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

/* use new shares of a band, whose conservatism moves by @step at most */
static void fb_conservatism_use(struct fb_conservatism *m, u32 band,
				const u32 share[FB_CONSERVATISM_BINS], u32 step)
{
	u32 floor_ns = fb_conservatism_quantile_ns(share, FB_CONSERVATISM_RISK_FLOOR);

	m->odds.floor_ns[band] = fb_conservatism_towards(m->odds.floor_ns[band],
							 max(floor_ns, FB_CONSERVATISM_LEAST_NS),
							 step);
	fb_conservatism_chances(m->odds.late[band], share);
}

/* use new values of @share, of all bands together; @least: least conservatism */
static void fb_conservatism_use_all(struct fb_conservatism *m, u32 least, u32 step)
{
	u32 risk = min(m->risk * FB_CONSERVATISM_GAP_BLOCKS, FB_CONSERVATISM_ONE / 2);
	u32 one_ns = max(fb_conservatism_quantile_ns(m->share, m->risk), least);

	m->one_ns = fb_conservatism_towards(m->one_ns, one_ns, step);
	fb_conservatism_gains(m);
	m->early_ns = fb_conservatism_towards(m->early_ns,
					      fb_conservatism_quantile_ns(m->gain, risk), step);
	fb_conservatism_chances(m->odds.early, m->gain);
}

/* compute the next band, or after the last one all bands together */
static void fb_conservatism_compute(struct fb_conservatism *m)
{
	const u32 *prior = m->prior_known ? m->prior : NULL;
	u32 band = m->turn;

	m->turn = band < DM_BANDS ? band + 1 : 0;
	if (m->trials < FB_CONSERVATISM_ENOUGH)
		return;
	if (band == DM_BANDS) {
		fb_conservatism_shares(m->all, prior, FB_CONSERVATISM_PRIOR, m->share);
		fb_conservatism_use_all(m, 0, FB_CONSERVATISM_STEP_NS);
		return;
	}
	if (band)
		fb_conservatism_shares(m->tail[band], m->share, FB_CONSERVATISM_PRIOR_BAND,
				       m->band);
	else
		fb_conservatism_shares(m->tail[band], prior, FB_CONSERVATISM_PRIOR, m->band);
	fb_conservatism_use(m, band, m->band, FB_CONSERVATISM_STEP_NS);
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

/* share of turns that the foreground loses even with the longest slack */
static u32 fb_conservatism_own(const struct fb_conservatism *m)
{
	return div_u64((u64)m->own.lost * FB_CONSERVATISM_ONE,
		       m->own.n + FB_CONSERVATISM_PRIOR);
}

/*
 * The expected cost of a foreground request without the free read before it. With a short wait
 * it might have lost a turn; with a wait of nearly a whole turn it might have gained one, which
 * the free read prevented. Turns lost whatever the slack are the drive's own.
 */
static s64 fb_conservatism_alone_ns(const struct fb_conservatism *m, u64 gap_ns)
{
	u32 lost = m->share[fb_conservatism_bin(gap_ns)] - m->share[FB_CONSERVATISM_BINS - 1] +
		fb_conservatism_own(m);
	u32 gained = m->gain[fb_conservatism_bin(fb_conservatism_to_turn(m, gap_ns))];

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

/* raise or lower risk and price by what is left of the target */
static void fb_conservatism_move(struct fb_conservatism *m, s32 left)
{
	s32 risk = m->risk, price = m->odds.price;

	risk += (s32)((s64)(risk / FB_CONSERVATISM_GAIN) * left >> 10);
	m->risk = clamp_t(s32, risk, FB_CONSERVATISM_RISK_LEAST, FB_CONSERVATISM_RISK_MOST);
	price -= price * left / (FB_CONSERVATISM_GAIN << 10);
	m->odds.price = clamp_t(s32, price, FB_CONSERVATISM_PRICE_LEAST,
				FB_CONSERVATISM_PRICE_MOST);
}

/* by how much more than expected is lost, 16 binary places; @prior: so it was taken to be */
static s32 fb_conservatism_more(const struct fb_conservatism *m,
				const struct fb_conservatism_plain *p, s32 prior)
{
	s64 prior_ns = FB_CONSERVATISM_MORE_TURNS * m->period_ns;
	s64 more_ns = p->lost_ns - (s64)p->expected_ns;

	more_ns = more_ns * FB_CONSERVATISM_MORE_ONE + prior_ns * prior;
	return clamp_t(s64, div64_s64(more_ns, p->expected_ns + prior_ns),
		       -FB_CONSERVATISM_MORE_ONE / 2, FB_CONSERVATISM_MORE_ONE);
}

/* what have plain requests lost, against the tables? */
static void fb_conservatism_compare(struct fb_conservatism *m)
{
	struct fb_conservatism_plain all = { 0 };
	s32 more;
	u32 i;

	for (i = 0; i < FB_CONSERVATISM_WAITS; i++) {
		all.lost_ns += m->plain[i].lost_ns;
		all.expected_ns += m->plain[i].expected_ns;
	}
	more = fb_conservatism_more(m, &all, 0);
	for (i = 0; i < FB_CONSERVATISM_WAITS; i++) {
		struct fb_conservatism_plain *p = &m->plain[i];

		m->odds.more[i] = fb_conservatism_more(m, p, more);
		p->lost_ns -= p->lost_ns >> FB_CONSERVATISM_FADE_SHIFT;
		p->expected_ns -= p->expected_ns >> FB_CONSERVATISM_FADE_SHIFT;
	}
}

static void fb_conservatism_feed_back(struct fb_conservatism *m, u64 now_ns)
{
	u64 span_ns = now_ns - m->since_ns;

	if (now_ns >= m->since_ns && span_ns < FB_CONSERVATISM_WINDOW_NS)
		return;
	/* a window with a long pause in it, or with few free reads, says nothing */
	if (span_ns < 2 * FB_CONSERVATISM_WINDOW_NS && m->behind >= FB_CONSERVATISM_BEHIND_MIN &&
	    m->trials >= FB_CONSERVATISM_ENOUGH) {
		fb_conservatism_move(m, fb_conservatism_left(m, span_ns));
		m->cost_ppm += (fb_conservatism_cost_ppm(m, span_ns) -
				m->cost_ppm) / FB_CONSERVATISM_GAIN;
	}
	fb_conservatism_compare(m);
	fb_conservatism_fade(m->tail[0], DM_BANDS * FB_CONSERVATISM_BINS);
	fb_conservatism_fade(m->all, FB_CONSERVATISM_BINS);
	fb_conservatism_fade(m->early, FB_CONSERVATISM_BINS);
	fb_conservatism_fade(&m->own, 1);
	m->since_ns = now_ns;
	m->behind = 0;
	m->cost_ns = 0;
}

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

/* what a chance costs on the mean; beyond the table there is none */
static s64 fb_conservatism_chance_ns(const u16 chance[FB_CONSERVATISM_BINS], u64 period_ns,
				     u64 margin_ns)
{
	if (margin_ns >= FB_CONSERVATISM_BINS * FB_CONSERVATISM_BIN_NS)
		return 0;
	return period_ns * fb_conservatism_chance(chance, margin_ns) >> 16;
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

static u32 fb_conservatism_wait(u64 slack_ns)
{
	return min_t(u64, div_u64(slack_ns, FB_CONSERVATISM_WAIT_NS), FB_CONSERVATISM_WAITS - 1);
}

/* a foreground request without a free read in its gap: what did it lose, and what should it? */
static void fb_conservatism_plain(struct fb_conservatism *m, const struct fb_conservatism_leg *leg,
				  s32 turns)
{
	s64 most_ns = FB_CONSERVATISM_TURNS_MAX * m->period_ns;
	struct fb_conservatism_plain *p;

	/* only seeks vary */
	if (leg->cause != FB_CAUSE_PLAIN || !leg->dist)
		return;
	p = &m->plain[fb_conservatism_wait(leg->slack_ns)];
	if (turns > 0)
		p->lost_ns += min(leg->late_ns, most_ns);
	p->lost_ns -= mul_u64_u32_shr(m->period_ns, fb_conservatism_own(m), 30);
	p->expected_ns += fb_conservatism_chance_ns(m->odds.late[dm_band(leg->dist)], m->period_ns,
						    leg->slack_ns);
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
	u32 band = dm_band(leg->dist), bin = fb_conservatism_bin(leg->slack_ns);
	s32 turns = fb_conservatism_turns(m, leg->late_ns);

	fb_conservatism_feed_back(m, now_ns);
	fb_conservatism_charge(m, leg, turns);
	fb_conservatism_plain(m, leg, turns);
	if (leg->cause == FB_CAUSE_PLAIN && bin == FB_CONSERVATISM_BINS - 1)
		fb_conservatism_count(&m->own, turns > 0);
	if (!leg->simple)
		return;
	fb_conservatism_count(&m->tail[band][bin], turns > 0);
	if (band)
		fb_conservatism_count(&m->all[bin], turns > 0);
	bin = fb_conservatism_bin(fb_conservatism_to_turn(m, leg->slack_ns));
	fb_conservatism_count(&m->early[bin], turns < 0);
	if (++m->trials % FB_CONSERVATISM_EVERY == 0)
		fb_conservatism_compute(m);
}

/* ---- beginning ---- */

void fb_conservatism_init(struct fb_conservatism *m, u64 period_ns, u32 target_ppm)
{
	u32 i;

	memset(m, 0, sizeof(*m));
	m->period_ns = period_ns;
	m->target_ppm = target_ppm;
	m->risk = FB_CONSERVATISM_RISK_START;
	m->one_ns = FB_CONSERVATISM_START_NS;
	m->odds.price = FB_CONSERVATISM_PRICE_START;
	fb_conservatism_shares(m->all, NULL, FB_CONSERVATISM_PRIOR, m->share);
	fb_conservatism_gains(m);
	for (i = 0; i < DM_BANDS; i++) {
		m->odds.floor_ns[i] = FB_CONSERVATISM_START_NS;
		fb_conservatism_chances(m->odds.late[i], m->share);
	}
}

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

/* chance that a seek of this standard deviation is later than each bin's middle */
static void fb_conservatism_laplace(u32 share[FB_CONSERVATISM_BINS], u32 spread_ns)
{
	u64 ns = FB_CONSERVATISM_BIN_NS / 2;
	u32 i;

	for (i = 0; i < FB_CONSERVATISM_BINS; i++, ns += FB_CONSERVATISM_BIN_NS) {
		u64 beyond = ns > FB_CONSERVATISM_LEAST_NS ? ns - FB_CONSERVATISM_LEAST_NS : 0;

		/* its tail falls by e every spread / sqrt(2) */
		share[i] = fb_conservatism_exp(div_u64(beyond * FB_CONSERVATISM_SQRT2,
						       spread_ns)) / 2;
	}
}

/* the largest spread of a band, at least 1; on small disks the last bands are empty */
static u32 fb_conservatism_band_spread(const struct disk_model *dm, u32 band)
{
	u32 first = band ? dm_band_first(band) : 1, end = first * 4 - 1;
	u32 spread_ns = max(dm_spread_ns(dm, first), dm_spread_ns(dm, end));

	return clamp_t(u32, spread_ns, 1, FB_CONSERVATISM_SPREAD_MOST);
}

void fb_conservatism_expect(struct fb_conservatism *m, const struct disk_model *dm)
{
	u32 most_ns = 1, i;

	if (!dm_info(dm)->spread_known)
		return;
	m->prior_known = true;
	for (i = 0; i < DM_BANDS; i++) {
		u32 spread_ns = fb_conservatism_band_spread(dm, i);

		most_ns = max(most_ns, spread_ns);
		fb_conservatism_laplace(m->band, spread_ns);
		fb_conservatism_use(m, i, m->band, U32_MAX);
	}
	fb_conservatism_laplace(m->prior, most_ns);
	memcpy(m->share, m->prior, sizeof(m->share));
	fb_conservatism_use_all(m, FB_CONSERVATISM_LEAST_NS, U32_MAX);
}

/* ---- the answer ---- */

s64 fb_conservatism_expected_ns(const struct fb_conservatism_odds *odds, u64 period_ns, u32 cyls,
				u64 seek_ns, u64 latency_ns)
{
	s64 ns = seek_ns + latency_ns, late_ns;

	/* only seeks vary */
	if (!odds || !seek_ns)
		return ns;
	late_ns = fb_conservatism_chance_ns(odds->late[dm_band(cyls)], period_ns, latency_ns);
	ns += late_ns + (late_ns * odds->more[fb_conservatism_wait(latency_ns)] >> 16);
	return ns - fb_conservatism_chance_ns(odds->early, period_ns,
					      period_ns - min(latency_ns, period_ns));
}

bool fb_conservatism_skip_gap(const struct fb_conservatism *m, u64 gap_ns)
{
	u64 missing_ns = fb_conservatism_to_turn(m, gap_ns);

	if (missing_ns < m->early_ns)
		return true;
	/* the wait's low bits serve as random numbers */
	return missing_ns < m->early_ns + FB_CONSERVATISM_TEST_NS &&
	       (gap_ns >> FB_CONSERVATISM_TEST_SHIFT & FB_CONSERVATISM_TEST_MASK) == 0;
}
