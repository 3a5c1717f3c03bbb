// SPDX-License-Identifier: GPL-2.0
/*
 * Conservatism "auto"; see fb_margin.h.
 *
 * Per band of seek distances the share of lost turns is estimated by slack, and the
 * conservatism put where it falls below a risk that is the same for all bands: then the
 * last microsecond of each leg buys as much time to read at the same price. A slow
 * feedback moves the risk until the time lost matches the target. So the target holds
 * even where the shares are wrong; they say how to spend it.
 */
#include "fb_margin.h"

#define FBM_ONE 0x40000000U	/* 30 binary places */
#define FBM_PPM 1000000
#define FBM_CHANCE_MOST 65535U	/* 16 binary places */

/*
 * Trials fade, lest a bin that was safe last week be trusted when heat or age have
 * changed the drive: by a 128th each 8 s, to half in 12 minutes. So that small numbers
 * fade, too, a trial counts FBM_TRIAL. Bins are halved, too, before they overflow.
 */
#define FBM_TRIAL 64
#define FBM_FADE_SHIFT 7
#define FBM_FULL 0x10000000U

/*
 * A bin without trials is believed to lose 1.3 times what the next longer slack does, with
 * the weight of FBM_PRIOR trials: 76 us from e to e, as an exponential tail with a
 * standard deviation of 110 us has. FBM_SHARE_FAR is at the longest slack what makes it 1 %
 * at FBM_START_NS. In a band it is believed to lose so much more as it does in all bands,
 * with the weight of FBM_PRIOR_BAND.
 */
#define FBM_GROWTH_NUM 13
#define FBM_GROWTH_DEN 10
#define FBM_SHARE_FAR 135
#define FBM_PRIOR (100 * FBM_TRIAL)
#define FBM_PRIOR_BAND (400 * FBM_TRIAL)
#define FBM_PRIOR_GAIN (25 * FBM_TRIAL)

/*
 * A model may say how much seeks vary. Then it begins with the tail of a Laplace distribution of
 * that spread, FBM_LEAST_NS later, for phases err, too; the longest spread is what all
 * bands together are believed to have. Tails that the bins do not hold are cut.
 */
#define FBM_SQRT2 1518500250U	/* 30 binary places */
#define FBM_SPREAD_MOST (FBM_BINS * FBM_BIN_NS / 4)
#define FBM_EXP_SHIFT 12

/*
 * Odds: what a search that weighs them must keep is where it is as good as even. A lost turn
 * costs 14 gaps at first, which is what 5000 ppm come to on an Atlas 10K; the feedback is that
 * of the risk.
 */
#define FBM_RISK_FLOOR (FBM_ONE / 10 * 3)
#define FBM_PRICE_START (14 * 256)
#define FBM_PRICE_LEAST 64
#define FBM_PRICE_MOST (256 * 256)

/* one band is reckoned every so many trials, and moves so little then */
#define FBM_RECKON 16
#define FBM_ENOUGH 512
#define FBM_STEP_NS 10000

/*
 * The least floor: phases are known to some us. What is read where the head is already must
 * not begin right there: a hair decides whether that is now or a turn later, and to
 * predict the wrong one loses the head.
 */
#define FBM_LEAST_NS 20000U

/*
 * Feedback: every 8 s, in which a target of 5000 ppm is 7 turns of a 10,000 rpm disk, by a
 * sixteenth of what is left or overdrawn, in units of the target: a few minutes decide.
 * Counts of so few turns vary by more than the target: what is cut off must be far.
 */
#define FBM_WINDOW_NS 8000000000ULL
#define FBM_GAIN 16
#define FBM_LEFT_MOST 4
#define FBM_BEHIND_MIN 16
#define FBM_RISK_START (FBM_ONE / 100)
#define FBM_RISK_LEAST (FBM_ONE / 20000)
#define FBM_RISK_MOST (FBM_ONE / 8)

/*
 * The conservatism weighs the risk against the last of a read's blocks; giving a gap up
 * weighs it against all of them, some 25 in a gap of nearly a turn.
 */
#define FBM_GAP_BLOCKS 25

/* of gaps not quite so near a turn, one in four goes without, to see what is gained there */
#define FBM_TEST_NS 100000
#define FBM_TEST_SHIFT 6
#define FBM_TEST_MASK 3

/* a late command has so many turns of it from our reads, the rest is the drive's recovery */
#define FBM_TURNS_MAX 2

static u32 fbm_bin(u64 ns)
{
	return min_t(u64, div_u64(ns, FBM_BIN_NS), FBM_BINS - 1);
}

void fbm_target(struct fb_margin *m, u32 target_ppm)
{
	m->target_ppm = target_ppm;
}

/* ---- the tail ---- */

/**
 * struct fbm_pool - neighbouring bins with one share
 * @share: that
 * @n: trials
 * @end: the bin after the last
 */
struct fbm_pool {
	u32 share;
	u32 n;
	u32 end;
};

/* Longer slack, fewer turns: join neighbours that say otherwise (isotonic regression). */
static void fbm_monotone(const struct fbm_tail *t, u32 share[FBM_BINS], u32 prior)
{
	struct fbm_pool pool[FBM_BINS];
	u32 i, k = 0;

	for (i = 0; i < FBM_BINS; i++) {
		struct fbm_pool p = { .share = share[i], .n = t->n[i] + prior, .end = i + 1 };

		while (k && pool[k - 1].share < p.share) {
			const struct fbm_pool *q = &pool[--k];

			p.share = div_u64((u64)p.share * p.n + (u64)q->share * q->n, p.n + q->n);
			p.n += q->n;
		}
		pool[k++] = p;
	}
	for (i = 0, k = 0; i < FBM_BINS; i++) {
		k += i == pool[k].end;
		share[i] = pool[k].share;
	}
}

/* what to believe of bin @i, that beyond it having been reckoned */
static u32 fbm_belief(const u32 *all, const u32 share[FBM_BINS], u32 i)
{
	u64 belief;

	if (i == FBM_BINS - 1)
		return all ? all[i] : FBM_SHARE_FAR;
	if (all)
		belief = div_u64(((u64)share[i + 1] + FBM_SHARE_FAR) * all[i],
				 all[i + 1] + FBM_SHARE_FAR);
	else
		belief = div_u64((u64)share[i + 1] * FBM_GROWTH_NUM, FBM_GROWTH_DEN);
	return min_t(u64, belief, FBM_ONE);
}

/*
 * @share: out; @all: those of all bands, when @t is one band's, or the model's; @prior: what
 * weight they have
 */
static void fbm_shares(const struct fbm_tail *t, const u32 *all, u32 prior, u32 share[FBM_BINS])
{
	u32 i;

	for (i = FBM_BINS; i--;) {
		u64 sum = (u64)fbm_belief(all, share, i) * prior + (u64)t->lost[i] * FBM_ONE;

		share[i] = div_u64(sum, t->n[i] + prior);
	}
	fbm_monotone(t, share, prior);
}

/*
 * Gaps of nearly a turn mostly have free reads in them, and then nobody sees what would have
 * been gained: errors are believed to be as often early as late, until trials say otherwise.
 */
static void fbm_gains(struct fb_margin *m)
{
	u32 i;

	for (i = 0; i < FBM_BINS; i++) {
		u64 sum = (u64)(m->share[i] - m->share[FBM_BINS - 1]) * FBM_PRIOR_GAIN +
			  (u64)m->early.lost[i] * FBM_ONE;

		m->gain[i] = div_u64(sum, m->early.n[i] + FBM_PRIOR_GAIN);
	}
	fbm_monotone(&m->early, m->gain, FBM_PRIOR_GAIN);
}

/*
 * The slack at which @risk is left, straight between the bins' middles, besides what no
 * slack helps against.
 */
static u32 fbm_quantile_ns(const u32 share[FBM_BINS], u32 risk)
{
	u32 i = 0, part;

	risk += share[FBM_BINS - 1];

	while (i < FBM_BINS - 1 && share[i] > risk)
		i++;
	if (!i)
		return 0;
	part = FBM_BIN_NS;
	if (share[i] <= risk)
		part = div_u64((u64)FBM_BIN_NS * (share[i - 1] - risk), share[i - 1] - share[i]);
	return i * FBM_BIN_NS - FBM_BIN_NS / 2 + part;
}

static u32 fbm_towards(u32 from, u32 to)
{
	if (to > from)
		return from + min_t(u32, to - from, FBM_STEP_NS);
	return from - min_t(u32, from - to, FBM_STEP_NS);
}

/* shares for a search, without what no slack helps against */
static void fbm_tell(u16 chance[FBM_BINS], const u32 share[FBM_BINS])
{
	u32 i;

	for (i = 0; i < FBM_BINS; i++)
		chance[i] = min((share[i] - share[FBM_BINS - 1]) >> 14, FBM_CHANCE_MOST);
}

/* one band after the other, and all together */
static void fbm_reckon(struct fb_margin *m)
{
	const u32 *told = m->told ? m->prior : NULL;
	u32 share[FBM_BINS], band = m->turn, risk;

	m->turn = band < FBM_BANDS ? band + 1 : 0;
	if (m->trials < FBM_ENOUGH)
		return;
	if (band == FBM_BANDS) {
		fbm_shares(&m->all, told, FBM_PRIOR, m->share);
		m->one_ns = fbm_towards(m->one_ns, fbm_quantile_ns(m->share, m->risk));
		fbm_gains(m);
		risk = min(m->risk * FBM_GAP_BLOCKS, FBM_ONE / 2);
		m->early_ns = fbm_towards(m->early_ns, fbm_quantile_ns(m->gain, risk));
		fbm_tell(m->odds.early, m->gain);
		return;
	}
	if (band)
		fbm_shares(&m->tail[band], m->share, FBM_PRIOR_BAND, share);
	else
		fbm_shares(&m->tail[band], told, FBM_PRIOR, share);
	m->odds.floor_ns[band] = fbm_towards(m->odds.floor_ns[band],
					     max(fbm_quantile_ns(share, FBM_RISK_FLOOR),
						 FBM_LEAST_NS));
	fbm_tell(m->odds.late[band], share);
}

/* how much earlier the head must come to gain a turn */
static u64 fbm_to_turn(const struct fb_margin *m, u64 slack_ns)
{
	return m->period_ns - min(slack_ns, m->period_ns);
}

static void fbm_count(u32 *n, u32 *lost, bool turn)
{
	if (*n >= FBM_FULL) {
		*n /= 2;
		*lost /= 2;
	}
	*n += FBM_TRIAL;
	*lost += turn ? FBM_TRIAL : 0;
}

static void fbm_try(struct fbm_tail *t, u32 bin, bool turn)
{
	fbm_count(&t->n[bin], &t->lost[bin], turn);
}

static void fbm_fade(u32 *n, u32 *lost)
{
	*n -= *n >> FBM_FADE_SHIFT;
	*lost -= *lost >> FBM_FADE_SHIFT;
}

static void fbm_fade_tail(struct fbm_tail *t)
{
	u32 i;

	for (i = 0; i < FBM_BINS; i++)
		fbm_fade(&t->n[i], &t->lost[i]);
}

/* ---- the cost ---- */

/* what the foreground loses with ever so much slack */
static u32 fbm_own(const struct fb_margin *m)
{
	return div_u64((u64)m->own_lost * FBM_ONE, m->own_n + FBM_PRIOR);
}

/*
 * What the foreground behind a free read would have cost alone. With little to wait for it
 * may have lost a turn, with nearly a whole turn to wait have gained one: a free read
 * takes that chance away. What is lost whatever the slack is the drive's own.
 */
static s64 fbm_alone_ns(const struct fb_margin *m, u64 gap_ns)
{
	u32 lost = m->share[fbm_bin(gap_ns)] - m->share[FBM_BINS - 1] + fbm_own(m);
	u32 gained = m->gain[fbm_bin(fbm_to_turn(m, gap_ns))];

	return mul_u64_u32_shr(m->period_ns, lost, 30) -
	       mul_u64_u32_shr(m->period_ns, gained, 30);
}

/* of what was allowed: above 0 is left, below 0 overdrawn, 10 binary places */
static s32 fbm_left(const struct fb_margin *m, u64 span_ns)
{
	u64 target_ns = div_u64(span_ns, FBM_PPM) * m->target_ppm;
	s64 left_ns = target_ns - m->cost_ns;
	u64 size_ns = left_ns < 0 ? -left_ns : left_ns;
	s32 left = div64_u64(min(size_ns, FBM_LEFT_MOST * target_ns) << 10, target_ns);

	return left_ns < 0 ? -left : left;
}

static s32 fbm_cost_ppm(const struct fb_margin *m, u64 span_ns)
{
	u64 size_ns = m->cost_ns < 0 ? -m->cost_ns : m->cost_ns;
	s32 ppm = div64_u64(size_ns, div_u64(span_ns, FBM_PPM));

	return m->cost_ns < 0 ? -ppm : ppm;
}

/* more may be risked, or less: by what is left of the target */
static void fbm_move(struct fb_margin *m, s32 left)
{
	s32 risk = m->risk, price = m->odds.price;

	risk += (s32)((s64)(risk / FBM_GAIN) * left >> 10);
	m->risk = max_t(s32, min_t(s32, risk, FBM_RISK_MOST), FBM_RISK_LEAST);
	price -= price * left / (FBM_GAIN << 10);
	m->odds.price = max_t(s32, min_t(s32, price, FBM_PRICE_MOST), FBM_PRICE_LEAST);
}

static void fbm_feed_back(struct fb_margin *m, u64 now_ns)
{
	u64 span_ns = now_ns - m->since_ns;
	u32 i;

	if (now_ns >= m->since_ns && span_ns < FBM_WINDOW_NS)
		return;
	/* a window with a long pause in it says nothing; so does one with hardly a free read */
	if (span_ns < 2 * FBM_WINDOW_NS && m->behind >= FBM_BEHIND_MIN &&
	    m->trials >= FBM_ENOUGH) {
		fbm_move(m, fbm_left(m, span_ns));
		m->cost_ppm += (fbm_cost_ppm(m, span_ns) - m->cost_ppm) / FBM_GAIN;
	}
	for (i = 0; i < FBM_BANDS; i++)
		fbm_fade_tail(&m->tail[i]);
	fbm_fade_tail(&m->all);
	fbm_fade_tail(&m->early);
	fbm_fade(&m->own_n, &m->own_lost);
	m->since_ns = now_ns;
	m->behind = 0;
	m->cost_ns = 0;
}

static s32 fbm_turns(const struct fb_margin *m, s64 late_ns)
{
	u64 half = m->period_ns / 2;

	if (late_ns >= 0)
		return min_t(u64, div64_u64(late_ns + half, m->period_ns), FBM_TURNS_MAX);
	return -(s32)min_t(u64, div64_u64(-late_ns + half, m->period_ns), 1);
}

static void fbm_charge(struct fb_margin *m, const struct fbm_leg *leg, s32 turns)
{
	if (leg->cause == FBM_PLAIN || (leg->cause == FBM_READ && turns < 0))
		return;
	m->cost_ns += turns * (s64)m->period_ns;
	if (leg->cause != FBM_BEHIND)
		return;
	m->behind++;
	m->cost_ns += leg->extra_ns;
	m->cost_ns -= fbm_alone_ns(m, leg->gap_ns);
}

void fbm_predict(struct fbm_leg *leg, const struct disk_model *dm, const struct dm_place *from,
		 u64 lbn, u32 nsect, const struct dm_access *acc)
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
	/* another track costs a switch, landing within it most of a turn, slips a sector or two */
	leg->simple = transfer_ns < (nsect + 2ULL) * dm_angle_to_ns(dm, t.sector_angle);
}

void fbm_learn(struct fb_margin *m, u64 now_ns, const struct fbm_leg *leg)
{
	u32 band = fbm_band(leg->dist), bin = fbm_bin(leg->slack_ns);
	s32 turns = fbm_turns(m, leg->late_ns);

	fbm_feed_back(m, now_ns);
	fbm_charge(m, leg, turns);
	if (leg->cause == FBM_PLAIN && bin == FBM_BINS - 1)
		fbm_count(&m->own_n, &m->own_lost, turns > 0);
	if (!leg->simple)
		return;
	fbm_try(&m->tail[band], bin, turns > 0);
	if (band)
		fbm_try(&m->all, bin, turns > 0);
	fbm_try(&m->early, fbm_bin(fbm_to_turn(m, leg->slack_ns)), turns < 0);
	if (++m->trials % FBM_RECKON == 0)
		fbm_reckon(m);
}

/* ---- beginning ---- */

void fbm_init(struct fb_margin *m, u64 period_ns, u32 target_ppm)
{
	u32 i;

	memset(m, 0, sizeof(*m));
	m->period_ns = period_ns;
	m->target_ppm = target_ppm;
	m->risk = FBM_RISK_START;
	m->one_ns = FBM_START_NS;
	m->odds.price = FBM_PRICE_START;
	fbm_shares(&m->all, NULL, FBM_PRIOR, m->share);
	fbm_gains(m);
	for (i = 0; i < FBM_BANDS; i++) {
		m->odds.floor_ns[i] = FBM_START_NS;
		fbm_tell(m->odds.late[i], m->share);
	}
}

/* exp(-@x), 30 binary places both: (1 - x / 2^n)^(2^n) */
static u32 fbm_exp(u64 x)
{
	u64 y;
	u32 i;

	x >>= FBM_EXP_SHIFT;
	if (x >= FBM_ONE)
		return 0;
	y = FBM_ONE - x;
	for (i = 0; i < FBM_EXP_SHIFT; i++)
		y = y * y >> 30;
	return y;
}

/* chance that a seek of this standard deviation is later than each bin's middle */
static void fbm_laplace(u32 share[FBM_BINS], u32 spread_ns)
{
	u64 ns = FBM_BIN_NS / 2;
	u32 i;

	for (i = 0; i < FBM_BINS; i++, ns += FBM_BIN_NS) {
		u64 beyond = ns > FBM_LEAST_NS ? ns - FBM_LEAST_NS : 0;

		/* its tail falls by e every spread / sqrt(2) */
		share[i] = fbm_exp(div_u64(beyond * FBM_SQRT2, spread_ns)) / 2;
	}
}

/* the most that seeks of a band vary; 1: they do not; the last bands of small disks are empty */
static u32 fbm_band_spread(const struct disk_model *dm, u32 band)
{
	u32 first = band ? 1U << 2 * (band - 1) : 1, end = first * 4 - 1;
	u32 spread_ns = max(dm_spread_ns(dm, first), dm_spread_ns(dm, end));

	return max_t(u32, min_t(u32, spread_ns, FBM_SPREAD_MOST), 1);
}

void fbm_expect(struct fb_margin *m, const struct disk_model *dm)
{
	u32 share[FBM_BINS], most_ns = 1, risk = min(m->risk * FBM_GAP_BLOCKS, FBM_ONE / 2), i;

	if (!dm_spread_is_known(dm))
		return;
	m->told = true;
	for (i = 0; i < FBM_BANDS; i++) {
		u32 spread_ns = fbm_band_spread(dm, i);

		most_ns = max(most_ns, spread_ns);
		fbm_laplace(share, spread_ns);
		m->odds.floor_ns[i] = max(fbm_quantile_ns(share, FBM_RISK_FLOOR), FBM_LEAST_NS);
		fbm_tell(m->odds.late[i], share);
	}
	fbm_laplace(m->prior, most_ns);
	memcpy(m->share, m->prior, sizeof(m->share));
	m->one_ns = max(fbm_quantile_ns(m->share, m->risk), FBM_LEAST_NS);
	fbm_gains(m);
	m->early_ns = fbm_quantile_ns(m->gain, risk);
	fbm_tell(m->odds.early, m->gain);
}

/* ---- the answer ---- */

u32 fbm_one_ns(const struct fb_margin *m)
{
	return m->one_ns;
}

u32 fbm_chance(const u16 chance[FBM_BINS], u64 margin_ns)
{
	u32 ns = min_t(u64, margin_ns, FBM_BINS * FBM_BIN_NS), i;

	/* straight between the bins' middles */
	ns = max_t(u32, ns, FBM_BIN_NS / 2) - FBM_BIN_NS / 2;
	i = ns / FBM_BIN_NS;
	if (i >= FBM_BINS - 1)
		return chance[FBM_BINS - 1];
	/* more margin, less chance (fbm_monotone) */
	return chance[i] - (chance[i] - chance[i + 1]) * (ns % FBM_BIN_NS) / FBM_BIN_NS;
}

bool fbm_spare(const struct fb_margin *m, u64 gap_ns)
{
	u64 missing_ns = fbm_to_turn(m, gap_ns);

	if (missing_ns < m->early_ns)
		return true;
	/* the wait's low bits are as good as dice */
	return missing_ns < m->early_ns + FBM_TEST_NS &&
	       (gap_ns >> FBM_TEST_SHIFT & FBM_TEST_MASK) == 0;
}
