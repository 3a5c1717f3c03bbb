// SPDX-License-Identifier: GPL-2.0
/*
 * Probe of the drive's look-ahead; see core/lookahead.h.
 *
 * Wald's sequential probability ratio test decides for each lift whether it adds at most
 * FB_LOOKAHEAD_FINE to the share of commands that are late or odd, or FB_LOOKAHEAD_HARM and more.
 * Commands right after a pair of reads on one track are tested separately from the second of
 * the pair: look-ahead delays the former, a cache answers the latter, and neither effect may
 * dilute the other. Either test can refuse a lift, and both must pass to allow it. Later a
 * cumulative sum (Page) watches for a change of behaviour, because firmware adapts.
 *
 * A lift that is seldom late is allowed within some 100 trials; one that is late every second
 * time is refused within some 10.
 */
#include "core/lookahead.h"

/* shares have 16 binary places, scores are logarithms to base 2 with 16 binary places */
#define FB_LOOKAHEAD_ONE 65536U
#define FB_LOOKAHEAD_BIT 65536

/*
 * Excess shares. Differences in slack alone may account for two in a hundred. Ten in a hundred
 * cost, in gaps with such a read, more than free reads may cost altogether.
 */
#define FB_LOOKAHEAD_FINE (FB_LOOKAHEAD_ONE / 50)
#define FB_LOOKAHEAD_HARM (FB_LOOKAHEAD_ONE / 10)

/* one verdict in 1024 is wrong either way; an allowed lift is wrongly refused every 2^20 trials */
#define FB_LOOKAHEAD_SURE (10 * FB_LOOKAHEAD_BIT)
#define FB_LOOKAHEAD_CHANGE (20 * FB_LOOKAHEAD_BIT)

/* ordinary commands: 2 % are assumed to be bad at first; only the last few thousand count */
#define FB_LOOKAHEAD_PRIOR_N 50
#define FB_LOOKAHEAD_PRIOR_BAD 1
#define FB_LOOKAHEAD_BASE_FULL 4096

#define FB_LOOKAHEAD_NS_PER_S 1000000000U

static const u32 fb_lookahead_bit[FB_LOOKAHEAD_LIFTS] = { FB_LIFT_SOURCE, FB_LIFT_DEST };

/* ---- state ---- */

static void fb_lookahead_clear(struct fb_lookahead_lift *l)
{
	l->test[0].score = 0;
	l->test[1].score = 0;
}

static void fb_lookahead_enter(struct fb_lookahead_lift *l, enum fb_lookahead_state state,
			       u64 now_ns)
{
	fb_lookahead_clear(l);
	l->state = state;
	l->since_ns = now_ns;
}

static void fb_lookahead_forget(struct fb_lookahead *p)
{
	u32 i;

	memset(p->lift, 0, sizeof(p->lift));
	for (i = 0; i < FB_LOOKAHEAD_LIFTS; i++)
		p->lift[i].pause_ns = FB_LOOKAHEAD_PAUSE_NS;
}

void fb_lookahead_init(struct fb_lookahead *p)
{
	memset(p, 0, sizeof(*p));
	fb_lookahead_forget(p);
}

void fb_lookahead_off(struct fb_lookahead *p, bool known_off)
{
	if (p->off && !known_off)
		fb_lookahead_forget(p);
	p->off = known_off;
}

/* pauses start short again for a drive that was good for longer than the pause would be */
static void fb_lookahead_refuse(struct fb_lookahead_lift *l, const struct fb_lookahead_test *t,
				u64 now_ns)
{
	if (l->state == FB_LOOKAHEAD_ALLOWED && now_ns - l->since_ns > l->pause_ns)
		l->pause_ns = FB_LOOKAHEAD_PAUSE_NS;
	l->until_ns = now_ns + l->pause_ns;
	l->pause_ns = min_t(u64, 2 * l->pause_ns, FB_LOOKAHEAD_PAUSE_MAX_NS);
	l->refusals++;
	l->n = t->n;
	l->bad = t->bad;
	fb_lookahead_enter(l, FB_LOOKAHEAD_REFUSED, now_ns);
}

/* ---- the test ---- */

/* log2, 16 binary places, by squaring; @x is not 0 */
static s32 fb_lookahead_log2(u32 x)
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

/* at most one half: beyond that predictions are worthless, and the tests do not matter */
static u32 fb_lookahead_usual(const struct fb_lookahead_base *b)
{
	u64 bad = (u64)(b->bad + FB_LOOKAHEAD_PRIOR_BAD) * FB_LOOKAHEAD_ONE;

	return min_t(u64, div_u64(bad, b->n + FB_LOOKAHEAD_PRIOR_N), FB_LOOKAHEAD_ONE / 2);
}

/* how much a command changes the score */
static s32 fb_lookahead_weight(const struct fb_lookahead_base *b, bool bad)
{
	u32 fine = fb_lookahead_usual(b) + FB_LOOKAHEAD_FINE;
	u32 harm = fb_lookahead_usual(b) + FB_LOOKAHEAD_HARM;

	if (bad)
		return fb_lookahead_log2(harm) - fb_lookahead_log2(fine);
	return fb_lookahead_log2(FB_LOOKAHEAD_ONE - harm) -
	       fb_lookahead_log2(FB_LOOKAHEAD_ONE - fine);
}

/* true: the lift does harm */
static bool fb_lookahead_test(struct fb_lookahead_test *t, bool trial, s32 weight, bool bad)
{
	t->n++;
	t->bad += bad;
	t->score = max_t(s32, t->score + weight, trial ? -FB_LOOKAHEAD_SURE : 0);
	return t->score >= (trial ? FB_LOOKAHEAD_SURE : FB_LOOKAHEAD_CHANGE);
}

static void fb_lookahead_judge(struct fb_lookahead *p, u32 i, u64 now_ns,
			       const struct fb_lookahead_mark *mark, bool bad)
{
	const bool concerned[2] = {
		mark->at & fb_lookahead_bit[i],
		mark->behind & fb_lookahead_bit[i],
	};
	struct fb_lookahead_lift *l = &p->lift[i];
	bool trial = l->state == FB_LOOKAHEAD_TRIAL;
	s32 weight = fb_lookahead_weight(&p->base[mark->ours], bad);
	u32 k;

	if (l->state == FB_LOOKAHEAD_REFUSED)
		return;
	for (k = 0; k < ARRAY_SIZE(concerned); k++) {
		if (concerned[k] && fb_lookahead_test(&l->test[k], trial, weight, bad)) {
			fb_lookahead_refuse(l, &l->test[k], now_ns);
			/* the other lift may have been suspected of the same */
			if (p->lift[!i].state == FB_LOOKAHEAD_ALLOWED)
				fb_lookahead_clear(&p->lift[!i]);
			return;
		}
	}
	if (trial && l->test[0].score == -FB_LOOKAHEAD_SURE && l->test[1].score ==
	    -FB_LOOKAHEAD_SURE)
		fb_lookahead_enter(l, FB_LOOKAHEAD_ALLOWED, now_ns);
}

static void fb_lookahead_count(struct fb_lookahead_base *b, bool bad)
{
	if (b->n >= FB_LOOKAHEAD_BASE_FULL) {
		b->n /= 2;
		b->bad /= 2;
	}
	b->n++;
	b->bad += bad;
}

void fb_lookahead_seen(struct fb_lookahead *p, u64 now_ns, const struct fb_lookahead_mark *mark,
		       const struct fb_head_end *end)
{
	/* a command is a turn early if the seek was shorter than predicted, which is no harm */
	bool bad = end->verdict != FB_HEAD_MECHANICAL || end->turns > 0;
	u32 i;

	if (p->off)
		return;
	if (!mark->at && !mark->behind) {
		fb_lookahead_count(&p->base[mark->ours], bad);
		return;
	}
	for (i = 0; i < FB_LOOKAHEAD_LIFTS; i++)
		if ((mark->at | mark->behind) & fb_lookahead_bit[i])
			fb_lookahead_judge(p, i, now_ns, mark, bad);
}

/* ---- the answer ---- */

static bool fb_lookahead_may(struct fb_lookahead_lift *l, bool turn, u64 now_ns)
{
	if (l->state == FB_LOOKAHEAD_REFUSED && now_ns >= l->until_ns) {
		memset(l->test, 0, sizeof(l->test));
		fb_lookahead_enter(l, FB_LOOKAHEAD_TRIAL, now_ns);
	}
	return l->state == FB_LOOKAHEAD_ALLOWED || (l->state == FB_LOOKAHEAD_TRIAL && turn);
}

u32 fb_lookahead_allowed(struct fb_lookahead *p, u32 wanted, u64 now_ns)
{
	u32 gap = p->gaps++, i;

	if (p->off)
		return wanted;
	for (i = 0; i < FB_LOOKAHEAD_LIFTS; i++) {
		/* never try two at once, so that it is known which one is to blame */
		bool turn = gap % (FB_LOOKAHEAD_LIFTS * FB_LOOKAHEAD_GAPS) == i * FB_LOOKAHEAD_GAPS;

		if (wanted & fb_lookahead_bit[i] && !fb_lookahead_may(&p->lift[i], turn, now_ns))
			wanted &= ~fb_lookahead_bit[i];
	}
	return wanted;
}

u32 fb_lookahead_lifts(const struct disk_model *dm, const struct fb_gap *gap,
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
	/* without a free read a foreground request that stays on its track uses no lift */
	if (foreground)
		return i ? FB_LIFT_DEST : 0;
	return i ? FB_LIFT_SOURCE | FB_LIFT_DEST : FB_LIFT_SOURCE;
}

/* how many harmless commands end the test */
static u32 fb_lookahead_left(const struct fb_lookahead *p, const struct fb_lookahead_test *t)
{
	u32 each = -fb_lookahead_weight(&p->base[1], false);

	return div_u64(t->score + FB_LOOKAHEAD_SURE + each - 1, each);
}

int fb_lookahead_describe(const struct fb_lookahead *p, u32 lift, u64 now_ns, char *text,
			  size_t size)
{
	const struct fb_lookahead_lift *l = &p->lift[lift == FB_LIFT_DEST];
	u64 left_ns = l->until_ns > now_ns ? l->until_ns - now_ns : 0;
	u32 n = min(l->test[0].n, l->test[1].n);

	if (p->off)
		return snprintf(text, size, "allowed (look-ahead off)");
	if (l->state == FB_LOOKAHEAD_ALLOWED)
		return snprintf(text, size, "allowed (not triggered in %u trials)", n);
	if (l->state == FB_LOOKAHEAD_REFUSED)
		return snprintf(text, size, "refused (%u of %u late), next trial in %u s", l->bad,
				l->n, (u32)div_u64(left_ns + FB_LOOKAHEAD_NS_PER_S - 1,
						   FB_LOOKAHEAD_NS_PER_S));
	return snprintf(text, size, "trial %u/%u", n, n + max(fb_lookahead_left(p, &l->test[0]),
							      fb_lookahead_left(p, &l->test[1])));
}
