// SPDX-License-Identifier: GPL-2.0
/*
 * Probe of the drive's look-ahead; see fb_probe.h.
 *
 * Wald's sequential probability ratio test for each lift: does it add up to FBP_FINE to the
 * share of commands that are late or odd, or FBP_HARM and more? Commands right behind a pair
 * of reads on one track are tested apart from the second of the pair: look-ahead delays
 * the one, a cache answers the other, and neither is to be diluted by the other. A lift
 * is refused by one of the tests, allowed by both. Later a cumulative sum (Page) watches for
 * the drive to change its mind: firmware adapts.
 *
 * What is seldom late besides is allowed within some 100 trials, what is late every second
 * time is refused within some 10.
 */
#include "fb_probe.h"

/* shares have 16 binary places, scores are logarithms to base 2 with 16 binary places */
#define FBP_ONE 65536U
#define FBP_BIT 65536

/*
 * Excess shares. Two in a hundred is what commands may differ by in slack alone. Ten in a
 * hundred cost, in gaps with such a read, more than free reads may cost altogether.
 */
#define FBP_FINE (FBP_ONE / 50)
#define FBP_HARM (FBP_ONE / 10)

/* wrong verdicts: one in 1024 each way; an allowed lift is refused wrongly every 2^20 trials */
#define FBP_SURE (10 * FBP_BIT)
#define FBP_CHANGE (20 * FBP_BIT)

/* ordinary commands: at first believed to be bad in 2 %; all that count are the last few 1000 */
#define FBP_PRIOR_N 50
#define FBP_PRIOR_BAD 1
#define FBP_BASE_FULL 4096

#define FBP_NS_PER_S 1000000000U

static const u32 fbp_bit[FBP_LIFTS] = { FB_LIFT_SOURCE, FB_LIFT_DEST };

/* ---- state ---- */

static void fbp_enter(struct fbp_lift *l, enum fbp_state state, u64 now_ns)
{
	l->state = state;
	l->since_ns = now_ns;
}

static void fbp_try(struct fbp_lift *l, u64 now_ns)
{
	memset(l->test, 0, sizeof(l->test));
	fbp_enter(l, FBP_TRIAL, now_ns);
}

static void fbp_forget(struct fb_probe *p)
{
	u32 i;

	memset(p->lift, 0, sizeof(p->lift));
	for (i = 0; i < FBP_LIFTS; i++)
		p->lift[i].pause_ns = FBP_PAUSE_NS;
}

void fbp_init(struct fb_probe *p)
{
	memset(p, 0, sizeof(*p));
	fbp_forget(p);
}

void fbp_lookahead_off(struct fb_probe *p, bool known_off)
{
	if (p->off && !known_off)
		fbp_forget(p);
	p->off = known_off;
}

static void fbp_allow(struct fbp_lift *l, u64 now_ns)
{
	l->test[0].score = 0;
	l->test[1].score = 0;
	fbp_enter(l, FBP_ALLOWED, now_ns);
}

/* a drive that was good for longer than the pause would be is not a bad one */
static void fbp_refuse(struct fbp_lift *l, const struct fbp_test *t, u64 now_ns)
{
	if (l->state == FBP_ALLOWED && now_ns - l->since_ns > l->pause_ns)
		l->pause_ns = FBP_PAUSE_NS;
	l->until_ns = now_ns + l->pause_ns;
	l->pause_ns = min_t(u64, 2 * l->pause_ns, FBP_PAUSE_MAX_NS);
	l->refusals++;
	l->n = t->n;
	l->bad = t->bad;
	fbp_enter(l, FBP_REFUSED, now_ns);
}

/* what both were suspected of was the other's doing, until there is new evidence */
static void fbp_acquit(struct fbp_lift *l)
{
	if (l->state != FBP_ALLOWED)
		return;
	l->test[0].score = 0;
	l->test[1].score = 0;
}

/* ---- the test ---- */

/* log2, 16 binary places, by squaring; @x is not 0 */
static s32 fbp_log2(u32 x)
{
	unsigned int whole = __fls(x), i;
	u64 y = (u64)x << (31 - whole);
	s32 log = whole << 16;

	for (i = 1; i <= 16; i++) {
		y = y * y >> 31;
		if (y >> 32) {
			y >>= 1;
			log += 1 << (16 - i);
		}
	}
	return log;
}

/* where every second one is bad, predictions are worth nothing and tests do not matter */
static u32 fbp_usual(const struct fbp_base *b)
{
	u64 bad = (u64)(b->bad + FBP_PRIOR_BAD) * FBP_ONE;

	return min_t(u64, div_u64(bad, b->n + FBP_PRIOR_N), FBP_ONE / 2);
}

/* what a command changes of the odds */
static s32 fbp_weight(const struct fbp_base *b, bool bad)
{
	u32 fine = fbp_usual(b) + FBP_FINE, harm = fbp_usual(b) + FBP_HARM;

	if (bad)
		return fbp_log2(harm) - fbp_log2(fine);
	return fbp_log2(FBP_ONE - harm) - fbp_log2(FBP_ONE - fine);
}

/* true: the lift does harm */
static bool fbp_test(struct fbp_test *t, bool trial, s32 weight, bool bad)
{
	t->n++;
	t->bad += bad;
	t->score = max_t(s32, t->score + weight, trial ? -FBP_SURE : 0);
	return t->score >= (trial ? FBP_SURE : FBP_CHANGE);
}

static void fbp_judge(struct fb_probe *p, u32 i, u64 now_ns, const struct fbp_mark *mark,
		      bool bad)
{
	const bool concerned[2] = { mark->at & fbp_bit[i], mark->behind & fbp_bit[i] };
	struct fbp_lift *l = &p->lift[i];
	bool trial = l->state == FBP_TRIAL;
	s32 weight = fbp_weight(&p->base[mark->ours], bad);
	u32 k;

	if (l->state == FBP_REFUSED)
		return;
	for (k = 0; k < ARRAY_SIZE(concerned); k++) {
		if (concerned[k] && fbp_test(&l->test[k], trial, weight, bad)) {
			fbp_refuse(l, &l->test[k], now_ns);
			fbp_acquit(&p->lift[!i]);
			return;
		}
	}
	if (trial && l->test[0].score == -FBP_SURE && l->test[1].score == -FBP_SURE)
		fbp_allow(l, now_ns);
}

static void fbp_count(struct fbp_base *b, bool bad)
{
	if (b->n >= FBP_BASE_FULL) {
		b->n /= 2;
		b->bad /= 2;
	}
	b->n++;
	b->bad += bad;
}

void fbp_seen(struct fb_probe *p, u64 now_ns, const struct fbp_mark *mark,
	      const struct fb_head_end *end)
{
	/* a turn early is a seek shorter than believed */
	bool bad = end->verdict != FB_HEAD_MECHANICAL || end->turns > 0;
	u32 i;

	if (p->off)
		return;
	if (!mark->at && !mark->behind) {
		fbp_count(&p->base[mark->ours], bad);
		return;
	}
	for (i = 0; i < FBP_LIFTS; i++)
		if ((mark->at | mark->behind) & fbp_bit[i])
			fbp_judge(p, i, now_ns, mark, bad);
}

/* ---- the answer ---- */

static bool fbp_may(struct fbp_lift *l, bool turn, u64 now_ns)
{
	if (l->state == FBP_REFUSED && now_ns >= l->until_ns)
		fbp_try(l, now_ns);
	return l->state == FBP_ALLOWED || (l->state == FBP_TRIAL && turn);
}

u32 fbp_allowed(struct fb_probe *p, u32 wanted, u64 now_ns)
{
	u32 gap = p->gaps++, i;

	if (p->off)
		return wanted;
	for (i = 0; i < FBP_LIFTS; i++) {
		/* never two at once, so that it is known which one is to blame */
		bool turn = gap % (FBP_LIFTS * FBP_GAPS) == i * FBP_GAPS;

		if (wanted & fbp_bit[i] && !fbp_may(&p->lift[i], turn, now_ns))
			wanted &= ~fbp_bit[i];
	}
	return wanted;
}

u32 fbp_lifts(const struct disk_model *dm, const struct fb_gap *gap,
	      const struct fb_plan *plan, u32 i)
{
	bool prepend = plan->kind == FB_PLAN_PREPEND || plan->kind == FB_PLAN_BOTH;
	bool foreground = i + prepend >= plan->npieces;
	struct dm_place from = gap->src, to = gap->dst;

	if (i) {
		const struct fb_plan_piece *before = &plan->piece[i - 1];

		if (dm_place_of(dm, before->lbn + before->nsect - 1, &from))
			return 0;
	}
	if (!foreground && dm_place_of(dm, plan->piece[i].lbn, &to))
		return 0;
	if (from.cyl != to.cyl || from.head != to.head)
		return 0;
	/* a foreground that stays on its track is none of ours */
	if (foreground)
		return i ? FB_LIFT_DEST : 0;
	return i ? FB_LIFT_SOURCE | FB_LIFT_DEST : FB_LIFT_SOURCE;
}

/* commands without harm until the test is over */
static u32 fbp_left(const struct fb_probe *p, const struct fbp_test *t)
{
	u32 each = -fbp_weight(&p->base[1], false);

	return div_u64(t->score + FBP_SURE + each - 1, each);
}

int fbp_describe(const struct fb_probe *p, u32 lift, u64 now_ns, char *text, size_t size)
{
	const struct fbp_lift *l = &p->lift[lift == FB_LIFT_DEST];
	u64 left_ns = l->until_ns > now_ns ? l->until_ns - now_ns : 0;
	u32 n = min(l->test[0].n, l->test[1].n);

	if (p->off)
		return snprintf(text, size, "allowed (look-ahead off)");
	if (l->state == FBP_ALLOWED)
		return snprintf(text, size, "allowed (not triggered in %u trials)", n);
	if (l->state == FBP_REFUSED)
		return snprintf(text, size, "refused (%u of %u late), next trial in %u s",
				l->bad, l->n,
				(u32)div_u64(left_ns + FBP_NS_PER_S - 1, FBP_NS_PER_S));
	return snprintf(text, size, "trial %u/%u", n,
			n + max(fbp_left(p, &l->test[0]), fbp_left(p, &l->test[1])));
}
