// SPDX-License-Identifier: GPL-2.0
/* The controlled trial; see core/cost/trial.h. Core. */
#include "core/cost/trial.h"

/* left out after a change of arms: the queue of the arm before has to be worked off */
#define FB_TRIAL_SETTLE_NS (NSEC_PER_SEC / 2)
/* sums are that old at most: a foreground changes; fading them instead would bias the bound */
#define FB_TRIAL_RESTART_NS (FB_DAY_NS / 4)
#define FB_TRIAL_MOST_NS 1000000000000LL	/* of a difference: a million times that fits */
#define FB_TRIAL_PARTS 4	/* buckets for each power of two ... */
#define FB_TRIAL_TOOK_SHIFT 14	/* ... whose least are so long each, ns */
#define FB_TRIAL_SLOWER 3	/* times what all but one of a hundred take */
#define FB_TRIAL_TOOK_MOST 10000	/* reads of control: half of them are forgotten then */
#define FB_TRIAL_BITS 24	/* of a number whose square is added to 63 others */
#define FB_TRIAL_RATIO_BITS 8	/* of what multiplies such a sum */

/* the bound: a mixture over effects with the information of so many blocks, one error in 20 */
#define FB_TRIAL_Z_MIX 50
#define FB_TRIAL_Z_WARY 5	/* what was stopped was large */
#define FB_TRIAL_LN_BITS 20	/* binary places of logarithms ... */
#define FB_TRIAL_X_BITS 30	/* ... and of what they are taken of */
#define FB_TRIAL_Z_ERROR 6282476	/* 2 ln 20 */
#define FB_TRIAL_LN2 726817		/* ln 2 */

/* ---- random moments ---- */

/* splitmix64 */
static u64 fb_trial_random(struct fb_trial *t)
{
	u64 z = t->random += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/* ---- slow reads ---- */

u32 fb_trial_bucket(u64 took_ns, u32 n)
{
	u64 parts = max_t(u64, took_ns >> FB_TRIAL_TOOK_SHIFT, FB_TRIAL_PARTS);
	u32 octave = fls64(parts) - fls64(FB_TRIAL_PARTS);

	return min_t(u32, FB_TRIAL_PARTS * (octave - 1) + (parts >> octave), n - 1);
}

/* what is slow: three times what all but one of a hundred take in control, and what one may wait */
static u64 fb_trial_slow_ns(struct fb_trial *t)
{
	u32 all = 0, over = 0, i = FB_TRIAL_BUCKETS - 1, old;

	for (old = 0; old < FB_TRIAL_BUCKETS; old++)
		all += t->took[old];
	if (all < FB_TRIAL_ENDS)
		return FB_TRIAL_NEVER;
	while ((over += t->took[i]) <= all / 100)
		i--;
	for (old = 0; old < FB_TRIAL_BUCKETS && all >= FB_TRIAL_TOOK_MOST; old++)
		t->took[old] /= 2;
	return t->limit.max_ns + (FB_TRIAL_SLOWER * (FB_TRIAL_PARTS + 1ULL + i % FB_TRIAL_PARTS) <<
				  (i / FB_TRIAL_PARTS + FB_TRIAL_TOOK_SHIFT));
}

static void fb_trial_begin_block(struct fb_trial *t, u64 at_ns)
{
	u64 stretch_ns = t->stretch_ns, span_ns;

	t->stretches = t->fixed ? t->fixed : t->clear ? FB_TRIAL_CLEAR : FB_TRIAL_DOUBT;
	if (t->wary)
		stretch_ns /= 2;
	span_ns = (t->stretches - 1) * stretch_ns;
	t->control_ns = at_ns + mul_u64_u64_shr(fb_trial_random(t), span_ns, 64);
	t->back_ns = t->control_ns + stretch_ns;
	t->end_ns = at_ns + span_ns + stretch_ns;
	t->slow_ns = fb_trial_slow_ns(t);
	memset(&t->open, 0, sizeof(t->open));
}

/* ---- sums ---- */

static void fb_trial_clear_sums(struct fb_trial *t)
{
	t->restarts++;
	t->since_ns = t->now_ns;
	t->kept = 0;
	t->merged = 1;
	t->ended = 0;
}

static void fb_trial_add_block(struct fb_trial_block *to, const struct fb_trial_block *b)
{
	int kind, arm;

	for (kind = 0; kind < FB_TRIAL_KINDS; kind++)
		for (arm = 0; arm < FB_TRIAL_ARMS; arm++) {
			to->sum[kind][arm].area += b->sum[kind][arm].area;
			to->sum[kind][arm].ends += b->sum[kind][arm].ends;
		}
}

/* neighbours become one: that keeps what loads a minute apart have in common within a block */
static void fb_trial_merge(struct fb_trial *t)
{
	u32 i;

	for (i = 0; i < FB_TRIAL_BLOCKS / 2; i++) {
		t->blocks[i] = t->blocks[2 * i];
		fb_trial_add_block(&t->blocks[i], &t->blocks[2 * i + 1]);
	}
	t->kept = FB_TRIAL_BLOCKS / 2;
	t->merged *= 2;
}

/* a block without requests says nothing, and must not count as one */
static bool fb_trial_is_empty(const struct fb_trial_block *b)
{
	int kind, arm;

	for (kind = 0; kind < FB_TRIAL_KINDS; kind++)
		for (arm = 0; arm < FB_TRIAL_ARMS; arm++)
			if (b->sum[kind][arm].area || b->sum[kind][arm].ends)
				return false;
	return true;
}

/* no block is open: the next begins with a request */
static bool fb_trial_waits(const struct fb_trial *t)
{
	return t->unused >= FB_TRIAL_UNUSED;
}

static void fb_trial_add_open(struct fb_trial *t)
{
	t->unused = fb_trial_is_empty(&t->open) ? t->unused + 1 : 0;
	if (t->unused)
		return;
	if (t->ended % t->merged) {
		fb_trial_add_block(&t->blocks[t->kept - 1], &t->open);
	} else {
		if (t->kept == FB_TRIAL_BLOCKS)
			fb_trial_merge(t);
		t->blocks[t->kept++] = t->open;
	}
	t->ended++;
}

/* ---- estimates ---- */

/* a cost being worked out */
struct fb_trial_est {
	struct fb_trial_block total;	/* of all blocks */
	u64 mean_ns[FB_TRIAL_KINDS][FB_TRIAL_ARMS];
	u32 share[FB_TRIAL_KINDS];	/* of the requests that are of a kind, millionths */
};

/* both kinds in one: the shares are those of all time, so that they do not differ by arm */
static void fb_trial_shares(struct fb_trial_est *est, enum fb_trial_kind which)
{
	u64 ends[FB_TRIAL_KINDS], all = 0;
	int kind, arm;

	for (kind = 0; kind < FB_TRIAL_KINDS; kind++) {
		const struct fb_trial_sum *sum = est->total.sum[kind];
		bool both = true;

		ends[kind] = 0;
		for (arm = 0; arm < FB_TRIAL_ARMS; arm++) {
			both &= sum[arm].ends > 0;
			ends[kind] += sum[arm].ends;
		}
		if (!both || kind != (which == FB_TRIAL_KINDS && kind < FB_TRIAL_SLOW ? kind :
				      (int)which))
			ends[kind] = 0;
		all += ends[kind];
	}
	for (kind = 0; kind < FB_TRIAL_KINDS; kind++)
		est->share[kind] = all ? div64_u64(ends[kind] * FB_PPM, all) : 0;
}

static void fb_trial_estimate(const struct fb_trial *t, enum fb_trial_kind which,
			      struct fb_trial_est *est)
{
	int kind, arm;
	u32 i;

	memset(est, 0, sizeof(*est));
	for (i = 0; i < t->kept; i++)
		fb_trial_add_block(&est->total, &t->blocks[i]);
	fb_trial_shares(est, which);
	for (kind = 0; kind < FB_TRIAL_KINDS; kind++) {
		for (arm = 0; arm < FB_TRIAL_ARMS && est->share[kind]; arm++) {
			const struct fb_trial_sum *sum = &est->total.sum[kind][arm];

			est->mean_ns[kind][arm] = div64_u64(sum->area, sum->ends);
		}
	}
}

static u64 fb_trial_abs(s64 number)
{
	return number < 0 ? -number : number;
}

static u64 fb_trial_square(s64 number, u32 shift)
{
	u64 size = fb_trial_abs(number) >> shift;

	return size * size;
}

/* how far a block moves an arm's mean, ns; within FB_TRIAL_MOST_NS */
static s64 fb_trial_residual(const struct fb_trial_est *est, const struct fb_trial_block *b,
			     enum fb_trial_arm arm)
{
	s64 all = 0, off;
	int kind;

	for (kind = 0; kind < FB_TRIAL_KINDS; kind++) {
		const struct fb_trial_sum *sum = &b->sum[kind][arm];

		if (!est->share[kind])
			continue;
		off = sum->area - est->mean_ns[kind][arm] * sum->ends;
		off = div64_s64(off, est->total.sum[kind][arm].ends);
		off = clamp_t(s64, off, -FB_TRIAL_MOST_NS, FB_TRIAL_MOST_NS);
		all += div_s64(off * est->share[kind], FB_PPM);
	}
	return all;
}

static u64 fb_trial_ends(const struct fb_trial_est *est, enum fb_trial_arm arm)
{
	u64 ends = 0;
	int kind;

	for (kind = 0; kind < FB_TRIAL_KINDS; kind++)
		ends += est->share[kind] ? est->total.sum[kind][arm].ends : 0;
	return ends;
}

/* What is missing in an arm's sum of squares if its requests spread as those of the other. */
static u64 fb_trial_lack(const struct fb_trial_est *est, const u64 *squares, enum fb_trial_arm arm)
{
	enum fb_trial_arm other = arm == FB_TRIAL_CONTROL ? FB_TRIAL_TREATED : FB_TRIAL_CONTROL;
	u64 ends = fb_trial_ends(est, arm), most = ends << FB_TRIAL_RATIO_BITS;
	u64 like = mul_u64_u64_div_u64(squares[other], min(fb_trial_ends(est, other), most), ends);

	return like > squares[arm] ? like - squares[arm] : 0;
}

/*
 * The error is the root of m / (m - 1) times the sum of the squares of what each block does to the
 * difference; the bound has what is missing, too. Numbers are halved until sums fit.
 */
static void fb_trial_errors(const struct fb_trial *t, const struct fb_trial_est *est,
			    struct fb_trial_cost *out)
{
	u64 squares[FB_TRIAL_ARMS] = { 0 }, sum = 0, most;
	u32 shift = 0, i;
	int arm;

	for (i = 0; i < t->kept; i++) {
		s64 off[FB_TRIAL_ARMS], diff;

		for (arm = 0; arm < FB_TRIAL_ARMS; arm++)
			off[arm] = fb_trial_residual(est, &t->blocks[i], arm);
		diff = off[FB_TRIAL_TREATED] - off[FB_TRIAL_CONTROL];
		most = fb_trial_abs(off[FB_TRIAL_TREATED]) + fb_trial_abs(off[FB_TRIAL_CONTROL]);
		for (; most >> shift >> FB_TRIAL_BITS; shift++) {
			sum >>= 2;
			for (arm = 0; arm < FB_TRIAL_ARMS; arm++)
				squares[arm] >>= 2;
		}
		sum += fb_trial_square(diff, shift);
		for (arm = 0; arm < FB_TRIAL_ARMS; arm++)
			squares[arm] += fb_trial_square(off[arm], shift);
	}
	most = sum + fb_trial_lack(est, squares, FB_TRIAL_CONTROL) +
		fb_trial_lack(est, squares, FB_TRIAL_TREATED);
	out->error_ns = (u64)int_sqrt64(sum + div_u64(sum, t->kept - 1)) << shift;
	out->bound_ns = (u64)int_sqrt64(most + div_u64(most, t->kept - 1)) << shift;
}

u64 fb_trial_limit_ns(const struct fb_trial_limit *limit, u64 alone_ns)
{
	u64 ns = limit->ns + mul_u64_u64_div_u64(alone_ns, limit->ppm, FB_PPM);

	if (!limit->most_ppm)
		return ns;
	return min(ns, mul_u64_u64_div_u64(alone_ns, limit->most_ppm, FB_PPM));
}

void fb_trial_now(const struct fb_trial *t, enum fb_trial_kind kind, struct fb_trial_cost *out)
{
	struct fb_trial_est est;
	s64 alone = 0, diff = 0, by;
	int k;

	memset(out, 0, sizeof(*out));
	if (t->kept < 2)
		return;
	fb_trial_estimate(t, kind, &est);
	for (k = 0; k < FB_TRIAL_KINDS; k++) {
		const u64 *mean = est.mean_ns[k];

		if (!est.share[k])
			continue;
		alone += mul_u64_u64_div_u64(mean[FB_TRIAL_CONTROL], est.share[k],
					     FB_PPM);
		by = mean[FB_TRIAL_TREATED] - mean[FB_TRIAL_CONTROL];
		by = clamp_t(s64, by, -FB_TRIAL_MOST_NS, FB_TRIAL_MOST_NS);
		diff += div_s64(by * est.share[k], FB_PPM);
		out->ends += est.total.sum[k][FB_TRIAL_CONTROL].ends;
	}
	if (!out->ends)
		return;
	out->blocks = t->ended;
	out->alone_ns = alone;
	out->diff_ns = diff;
	fb_trial_errors(t, &est, out);
	out->ppm = div64_s64(diff * FB_PPM, max_t(s64, alone, 1));
	out->known = t->ended >= FB_TRIAL_LEAST && out->ends >= FB_TRIAL_ENDS &&
		     out->error_ns <= fb_trial_limit_ns(&t->limit, alone);
}

/* ln(num / den); num / den is from 1 to below 2^FB_TRIAL_LN_BITS */
static u32 fb_trial_ln(u32 num, u32 den)
{
	/* brought to 1 to below 2; each squaring doubles the error */
	u64 x = div_u64((u64)num << FB_TRIAL_X_BITS, den);
	u32 log2 = 0, bit;

	for (; x >> FB_TRIAL_X_BITS > 1; x >>= 1)
		log2 += 1 << FB_TRIAL_LN_BITS;
	for (bit = 1 << (FB_TRIAL_LN_BITS - 1); bit; bit >>= 1) {
		x = (x * x) >> FB_TRIAL_X_BITS;
		if (x >> FB_TRIAL_X_BITS <= 1)
			continue;
		x >>= 1;
		log2 += bit;
	}
	return (u64)log2 * FB_TRIAL_LN2 >> FB_TRIAL_LN_BITS;
}

u32 fb_trial_z(u32 blocks, bool wary)
{
	u32 mix = wary ? FB_TRIAL_Z_WARY : FB_TRIAL_Z_MIX, m = blocks + mix;
	u64 square = FB_TRIAL_Z_ERROR + fb_trial_ln(m, mix);

	return int_sqrt64(div_u64(square * m, blocks));
}

/* ---- time goes on ---- */

enum fb_trial_kind fb_trial_kind_of(const struct fb_trial_cost *costs)
{
	return costs[FB_TRIAL_READ].ends >= FB_TRIAL_ENDS ? FB_TRIAL_READ : FB_TRIAL_KINDS;
}

s64 fb_trial_excess_ns(const struct fb_trial *t, const struct fb_trial_cost *cost, u32 times)
{
	return cost->diff_ns - (s64)(times * fb_trial_limit_ns(&t->limit, cost->alone_ns));
}

bool fb_trial_is_sure(const struct fb_trial *t, const struct fb_trial_cost *cost, s64 excess_ns)
{
	u64 off_ns = fb_trial_abs(excess_ns);

	return cost->blocks >= FB_TRIAL_LEAST && cost->ends >= FB_TRIAL_ENDS &&
	       off_ns > mul_u64_u64_shr(cost->bound_ns, fb_trial_z(cost->blocks, t->wary),
					FB_TRIAL_Z_SHIFT);
}

void fb_trial_judge(const struct fb_trial *t, struct fb_trial_verdict *v)
{
	const struct fb_trial_cost *cost;
	int kind;

	v->restarts = t->restarts;
	for (kind = 0; kind <= FB_TRIAL_KINDS; kind++) {
		const struct fb_trial_cost *before = &t->before[kind];

		cost = &v->now[kind];
		fb_trial_now(t, kind, &v->now[kind]);
		if (before->known && (!cost->known || cost->error_ns > before->error_ns))
			cost = before;
		v->told[kind] = *cost;
	}
	v->kind = fb_trial_kind_of(v->now);
	cost = &v->now[v->kind];
	v->excess_ns = fb_trial_excess_ns(t, cost, 1);
	v->sure = fb_trial_is_sure(t, cost, v->excess_ns);
	v->clear = t->clear;
	/* within an error it is in doubt again */
	if (cost->blocks >= FB_TRIAL_LEAST && cost->ends >= FB_TRIAL_ENDS)
		v->clear = t->clear ? fb_trial_abs(v->excess_ns) > cost->error_ns : v->sure;
	v->old = t->now_ns - t->since_ns >= FB_TRIAL_RESTART_NS ||
		(t->wary && t->ended >= 2 * FB_TRIAL_LEAST);
}

/* nothing changes until @until_ns: count the time */
static void fb_trial_pass(struct fb_trial *t, u64 until_ns)
{
	u64 from_ns = max(t->now_ns, t->counted_ns);
	int kind;

	if (until_ns <= t->now_ns)
		return;
	t->on_ns += until_ns - t->now_ns;
	t->held_ns += t->arm == FB_TRIAL_CONTROL ? until_ns - t->now_ns : 0;
	t->now_ns = until_ns;
	for (kind = 0; kind < FB_TRIAL_KINDS && until_ns > from_ns; kind++)
		t->open.sum[kind][t->arm].area += t->n[kind] * (until_ns - from_ns);
}

static void fb_trial_set_arm(struct fb_trial *t, enum fb_trial_arm arm)
{
	if (arm == t->arm)
		return;
	t->arm = arm;
	t->counted_ns = t->now_ns + FB_TRIAL_SETTLE_NS;
}

static enum fb_trial_arm fb_trial_arm_at(const struct fb_trial *t, u64 at_ns)
{
	bool inside = at_ns >= t->control_ns && at_ns < t->back_ns;

	return inside == t->wary ? FB_TRIAL_TREATED : FB_TRIAL_CONTROL;
}

static u64 fb_trial_edge_ns(const struct fb_trial *t)
{
	if (t->now_ns < t->control_ns)
		return t->control_ns;
	return t->now_ns < t->back_ns ? t->back_ns : t->end_ns;
}

/* the block that was begun is dropped: nobody can say what happened in it */
static void fb_trial_begin(struct fb_trial *t, u64 now_ns)
{
	t->now_ns = now_ns;
	t->unused = 0;
	fb_trial_begin_block(t, now_ns);
	t->arm = fb_trial_arm_at(t, now_ns);
	t->counted_ns = now_ns + FB_TRIAL_SETTLE_NS;
}

void fb_trial_settle(struct fb_trial *t, const struct fb_trial_verdict *v)
{
	/* means over blocks of another share of control would weigh hours by arm */
	bool restart = v->old || (v->clear != t->clear && !t->fixed);

	if (v->restarts != t->restarts)
		return;
	t->clear = v->clear;
	memcpy(t->told, v->told, sizeof(t->told));
	if (!restart)
		return;
	memcpy(t->before, v->now, sizeof(t->before));
	fb_trial_clear_sums(t);
	if (!t->wary)
		return;
	t->wary = false;
	if (t->on)
		fb_trial_begin(t, t->now_ns);
}

static void fb_trial_advance(struct fb_trial *t, u64 now_ns)
{
	if (!t->on || fb_trial_waits(t) || now_ns <= t->now_ns) {
		t->now_ns = max(t->now_ns, now_ns);
		return;
	}
	/* no call for longer than a block: the host slept, or nothing was there to be measured */
	if (now_ns > t->end_ns + t->stretches * t->stretch_ns) {
		fb_trial_begin(t, now_ns);
		return;
	}
	while (fb_trial_edge_ns(t) <= now_ns) {
		fb_trial_pass(t, fb_trial_edge_ns(t));
		if (t->now_ns >= t->end_ns) {
			fb_trial_add_open(t);
			t->looks++;
			if (fb_trial_waits(t)) {
				t->arm = FB_TRIAL_TREATED;
				t->now_ns = now_ns;
				return;
			}
			fb_trial_begin_block(t, t->end_ns);
		}
		fb_trial_set_arm(t, fb_trial_arm_at(t, t->now_ns));
	}
	fb_trial_pass(t, now_ns);
}

/* ---- for the host ---- */

void fb_trial_init(struct fb_trial *t, u64 seed)
{
	memset(t, 0, sizeof(*t));
	t->random = seed;
	t->stretch_ns = FB_TRIAL_STRETCH_NS;
	t->merged = 1;
}

void fb_trial_set_limit(struct fb_trial *t, const struct fb_trial_limit *limit)
{
	if (!memcmp(limit, &t->limit, sizeof(*limit)))
		return;
	t->limit = *limit;
	if (!t->clear)
		return;
	t->clear = false;
	if (t->fixed)
		return;
	memcpy(t->before, t->told, sizeof(t->before));
	fb_trial_clear_sums(t);
	if (t->on)
		fb_trial_begin(t, t->now_ns);
}

void fb_trial_set_fixed(struct fb_trial *t, u32 stretches, u64 stretch_ns)
{
	t->fixed = stretches;
	t->stretch_ns = stretch_ns ? stretch_ns : FB_TRIAL_STRETCH_NS;
}

void fb_trial_run(struct fb_trial *t, bool on, u64 now_ns)
{
	if (t->on == on)
		return;
	fb_trial_advance(t, now_ns);
	t->on = on;
	if (on)
		fb_trial_begin(t, t->now_ns);
	else
		fb_trial_set_arm(t, FB_TRIAL_TREATED);
	if (!t->kept)
		t->since_ns = t->now_ns;
}

void fb_trial_restart(struct fb_trial *t, bool wary, u64 now_ns)
{
	fb_trial_advance(t, now_ns);
	memset(t->before, 0, sizeof(t->before));
	memset(t->told, 0, sizeof(t->told));
	t->clear = false;
	t->wary = wary && !t->fixed;
	fb_trial_clear_sums(t);
	if (t->on)
		fb_trial_begin(t, t->now_ns);
}

void fb_trial_arrived(struct fb_trial *t, enum fb_trial_kind kind, u64 now_ns)
{
	fb_trial_advance(t, now_ns);
	if (t->on && fb_trial_waits(t))
		fb_trial_begin(t, t->now_ns);
	t->n[kind]++;
}

void fb_trial_ended(struct fb_trial *t, enum fb_trial_kind kind, u64 took_ns, u64 now_ns)
{
	struct fb_trial_sum *slow;

	fb_trial_advance(t, now_ns);
	if (!t->n[kind])
		return;
	t->n[kind]--;
	if (!t->on || t->now_ns < t->counted_ns)
		return;
	t->open.sum[kind][t->arm].ends++;
	if (kind != FB_TRIAL_READ)
		return;
	/* one that ended counts as the others do, but its "time" is all or nothing */
	slow = &t->open.sum[FB_TRIAL_SLOW][t->arm];
	slow->ends++;
	slow->area += took_ns > t->slow_ns ? FB_TRIAL_ALL : 0;
	if (t->arm == FB_TRIAL_CONTROL)
		t->took[fb_trial_bucket(took_ns, FB_TRIAL_BUCKETS)]++;
}

bool fb_trial_may_read(struct fb_trial *t, u64 now_ns)
{
	fb_trial_advance(t, now_ns);
	return t->arm == FB_TRIAL_TREATED;
}

u64 fb_trial_next_ns(const struct fb_trial *t)
{
	return t->on && !fb_trial_waits(t) ? fb_trial_edge_ns(t) : FB_TRIAL_NEVER;
}
