// SPDX-License-Identifier: GPL-2.0
/*
 * Probe of the drive's look-ahead: a sequential test for each lift. A command's score is how much
 * worse it ended than FB_LOOKAHEAD_EXCESS above the usual share of late or odd ones; the sum
 * decides at either bound. Commands right behind a pair of reads on one track, which look-ahead
 * delays, are tested apart from the second of the pair, which a cache answers. Either test can
 * refuse a lift, and both must pass to allow it. Later the sum, not below 0 then, watches for a
 * change of behaviour. A lift that is seldom late is allowed within some 100 trials; one late every
 * second time is refused within some 15.
 */
#include "core/lookahead.h"

/* slack may account for two in a hundred more; ten cost more than free reads altogether may */
#define FB_LOOKAHEAD_EXCESS (FB_ONE / 20)

/*
 * 80 good ends in a row where all are good: one verdict in a thousand is wrong; twice for an
 * allowed lift
 */
#define FB_LOOKAHEAD_SURE(usual) (4 * FB_ONE + 48 * (usual))

/* ordinary commands: 2 % are assumed to be bad at first; only the last few thousand count */
#define FB_LOOKAHEAD_PRIOR_N 50
#define FB_LOOKAHEAD_PRIOR_BAD 1
#define FB_LOOKAHEAD_BASE_FULL 4096

static const u32 fb_lookahead_bit[FB_LOOKAHEAD_LIFTS] = { FB_LIFT_SOURCE, FB_LIFT_DEST };

/* ---- state ---- */

static void fb_lookahead_enter(struct fb_lookahead_lift *l, enum fb_lookahead_state state,
			       u64 now_ns)
{
	l->test[0].score = 0;
	l->test[1].score = 0;
	l->state = state;
	l->since_ns = now_ns;
}

static void fb_lookahead_forget(struct fb_lookahead *p)
{
	u32 i;

	memset(p->lift, 0, sizeof(p->lift));
	for (i = 0; i < FB_LOOKAHEAD_LIFTS; i++)
		p->lift[i].pause_ns = FB_PAUSE_NS;
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
		l->pause_ns = FB_PAUSE_NS;
	l->until_ns = now_ns + l->pause_ns;
	l->pause_ns = min_t(u64, 2 * l->pause_ns, FB_PAUSE_MAX_NS);
	l->refusals++;
	l->n = t->n;
	l->bad = t->bad;
	fb_lookahead_enter(l, FB_LOOKAHEAD_REFUSED, now_ns);
}

/* ---- the test ---- */

/* at most one half: beyond that predictions are worthless, and the tests do not matter */
static s32 fb_lookahead_usual(const struct fb_lookahead_base *b)
{
	u64 bad = (u64)(b->bad + FB_LOOKAHEAD_PRIOR_BAD) * FB_ONE;

	return min_t(u64, div_u64(bad, b->n + FB_LOOKAHEAD_PRIOR_N), FB_ONE / 2);
}

/* true: the lift does harm */
static bool fb_lookahead_test(struct fb_lookahead_test *t, bool trial, s32 usual, bool bad)
{
	s32 score = t->score + (bad ? FB_ONE : 0) - usual - FB_LOOKAHEAD_EXCESS;

	t->n++;
	t->bad += bad;
	t->score = max(score, trial ? -FB_LOOKAHEAD_SURE(usual) : 0);
	return t->score >= FB_LOOKAHEAD_SURE(usual) * (trial ? 1 : 2);
}

static void fb_lookahead_judge(struct fb_lookahead *p, u32 i, u64 now_ns,
			       const struct fb_lookahead_mark *mark, bool bad)
{
	const u32 concerned[2] = { mark->at, mark->behind };
	struct fb_lookahead_lift *l = &p->lift[i], *other = &p->lift[!i];
	s32 usual = fb_lookahead_usual(&p->base[mark->ours]);
	bool trial = l->state == FB_LOOKAHEAD_TRIAL;
	u32 k;

	if (l->state == FB_LOOKAHEAD_REFUSED)
		return;
	for (k = 0; k < ARRAY_SIZE(concerned); k++) {
		if (!(concerned[k] & fb_lookahead_bit[i]) ||
		    !fb_lookahead_test(&l->test[k], trial, usual, bad))
			continue;
		fb_lookahead_refuse(l, &l->test[k], now_ns);
		/* the other lift may have been suspected of the same */
		if (other->state == FB_LOOKAHEAD_ALLOWED)
			fb_lookahead_enter(other, FB_LOOKAHEAD_ALLOWED, other->since_ns);
		return;
	}
	if (trial && max(l->test[0].score, l->test[1].score) <= -FB_LOOKAHEAD_SURE(usual))
		fb_lookahead_enter(l, FB_LOOKAHEAD_ALLOWED, now_ns);
}

void fb_lookahead_seen(struct fb_lookahead *p, u64 now_ns, const struct fb_lookahead_mark *mark,
		       const struct fb_head_end *end)
{
	/* a command is a turn early if the seek was shorter than predicted, which is no harm */
	bool bad = end->verdict != FB_HEAD_MECHANICAL || end->turns > 0;
	struct fb_lookahead_base *b = &p->base[mark->ours];
	u32 i;

	if (p->off)
		return;
	if (!mark->at && !mark->behind) {
		if (b->n >= FB_LOOKAHEAD_BASE_FULL) {
			b->n /= 2;
			b->bad /= 2;
		}
		b->n++;
		b->bad += bad;
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

static u32 fb_lookahead_left(const struct fb_lookahead *p, const struct fb_lookahead_test *t)
{
	s32 usual = fb_lookahead_usual(&p->base[1]);

	return DIV_ROUND_UP(max(t->score + FB_LOOKAHEAD_SURE(usual), 0),
			    usual + FB_LOOKAHEAD_EXCESS);
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
				l->n, (u32)div_u64(left_ns + NSEC_PER_SEC - 1, NSEC_PER_SEC));
	return snprintf(text, size, "trial %u/%u", n, n + max(fb_lookahead_left(p, &l->test[0]),
							      fb_lookahead_left(p, &l->test[1])));
}
