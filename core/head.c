// SPDX-License-Identifier: GPL-2.0
/* The position of the head and the phase of the platter; see core/head.h. */
#include "core/head.h"

/*
 * A quarter of the reports are ahead of the phase, by up to this share of a turn: 23 us at 10,000
 * rpm
 */
#define FB_HEAD_EDGE_SHARE 256

/* Seven odd ends in a row of predicted commands void the anchor, three the lock. */
#define FB_HEAD_TRUST_MAX 64

/*
 * how long an unconfirmed phase is trusted: 40 us off then, on a drive that warms up by 200 ppm in
 * an hour and with an error of .5 ppm
 */
#define FB_HEAD_BELIEF_NS (30ULL * NSEC_PER_SEC)

/* the first windows are short: to correct a period off by 500 ppm while it is tolerated */
#define FB_HEAD_SHORT_WINDOW (FB_HEAD_WINDOW / 4)
#define FB_HEAD_SHORT_WINDOWS 4

/*
 * Where requests are few a window may be even shorter, once it has lasted as long as the period is
 * averaged over. Completions before a pause say nothing about the phase after it.
 */
#define FB_HEAD_FEW (FB_HEAD_WINDOW / 8)
#define FB_HEAD_PAUSE_NS (4ULL * NSEC_PER_SEC)

/* over which the period is averaged: 12 s at 10,000 rpm, of which 3 us of an edge are .3 ppm */
#define FB_HEAD_BASE_TURNS 2048

#define FB_HEAD_PERIOD_PPM 2000	/* largest difference of the period from the model's */
#define FB_HEAD_FITS_SHIFT 5	/* @fits averages over 32 predicted completions ... */
#define FB_HEAD_RIGHT_SHIFT 8	/* ... and @right over 256 */

/*
 * Bounds that a drive keeps if its model fits: the seek noise of simulated drives has 2 in 100
 * commands end in another turn than predicted; uncorrected seeks have 10.
 */
#define FB_HEAD_FITS_LEAST (FB_PPM / 2)
#define FB_HEAD_RIGHT_LEAST (FB_PPM - FB_PPM / 4)
#define FB_HEAD_BOUNDED_MOST 16
#define FB_HEAD_JUDGE_MIN 200	/* completions before a model is judged */

static u64 fb_head_period_ns(const struct fb_head *h)
{
	return div_u64(h->period_ps, FB_PS_PER_NS);
}

static void fb_head_unanchor(struct fb_head *h)
{
	h->anchored = false;
	h->trust = 0;
}

void fb_head_init(struct fb_head *h, const struct disk_model *dm)
{
	memset(h, 0, sizeof(*h));
	h->dm = dm;
	h->period_ps = dm_info(dm)->period_ps;
	h->tolerance_ns = div_u64(dm_period_ns(dm), FB_HEAD_TOLERANCE_SHARE);
	h->edge_ns = div_u64(dm_period_ns(dm), FB_HEAD_EDGE_SHARE);
	h->fits = FB_PPM;
	h->right = FB_PPM;
}

void fb_head_lose(struct fb_head *h)
{
	h->known = false;
}

void fb_head_guess(struct fb_head *h, const struct dm_place *at)
{
	h->known = true;
	h->at.cyl = at->cyl;
	h->at.head = at->head;
}

void fb_head_reset(struct fb_head *h, u64 until_ns)
{
	fb_head_lose(h);
	fb_head_unanchor(h);
	h->hold_until_ns = until_ns;
}

bool fb_head_locked(const struct fb_head *h, u64 now_ns)
{
	return h->anchored && h->trust >= FB_HEAD_LOCK &&
	       (now_ns <= h->at_ns || now_ns - h->at_ns <= FB_HEAD_BELIEF_NS);
}

/* The angle that passes in @ns. A thousand whole turns are dropped first, lest it overflows. */
static u32 fb_head_turned(const struct fb_head *h, u64 ns)
{
	u64 rest, ps;

	div64_u64_rem(ns, h->period_ps, &rest);
	div64_u64_rem(rest * FB_PS_PER_NS, h->period_ps, &ps);
	return mul_u64_u64_div_u64(ps, DM_TURN, h->period_ps);
}

u32 fb_head_angle(const struct fb_head *h, u64 ns)
{
	if (ns < h->anchor_ns)
		return h->anchor_angle - fb_head_turned(h, h->anchor_ns - ns);
	return h->anchor_angle + fb_head_turned(h, ns - h->anchor_ns);
}

static u64 fb_head_turn_ns(const struct fb_head *h, u32 angle)
{
	return div_u64(mul_u64_u32_shr(h->period_ps, angle, 32) + FB_PS_PER_NS / 2, FB_PS_PER_NS);
}

u64 fb_head_when(const struct fb_head *h, u64 ns, u32 angle)
{
	u32 ahead = angle - fb_head_angle(h, ns);
	u32 back = -ahead;

	return ahead <= back ? ns + fb_head_turn_ns(h, ahead) : ns - fb_head_turn_ns(h, back);
}

bool fb_head_now(const struct fb_head *h, u64 ns, struct dm_place *p)
{
	if (!h->known || !fb_head_locked(h, ns))
		return false;
	p->cyl = h->at.cyl;
	p->head = h->at.head;
	p->angle = fb_head_angle(h, ns);
	return true;
}

static u64 fb_head_bounded(const struct fb_head *h, s64 period_ps)
{
	s64 model = dm_info(h->dm)->period_ps;
	s64 bound = div_s64(model, FB_PPM) * FB_HEAD_PERIOD_PPM;

	return clamp_t(s64, period_ps, model - bound, model + bound);
}

static void fb_head_anchor(struct fb_head *h, u64 ns, u32 angle)
{
	h->anchored = true;
	h->anchor_ns = ns;
	h->anchor_angle = angle;
	h->trust = 0;
	h->windows = 0;
	h->base_turns = 0;
	h->win_n = 0;
}

/* Correct the period by the early edge's mean move since the anchor; the oldest fades. */
static void fb_head_learn_period(struct fb_head *h, s64 moved_ns, u64 turns)
{
	u64 step;

	h->base_turns = max(turns, min_t(u64, h->base_turns + turns, FB_HEAD_BASE_TURNS));
	if (!h->base_turns)
		return;
	step = div64_u64((moved_ns < 0 ? -moved_ns : moved_ns) * FB_PS_PER_NS, h->base_turns);
	h->period_ps = fb_head_bounded(h, moved_ns < 0 ? h->period_ps - step :
					  h->period_ps + step);
}

/*
 * A window is full. Reports can only be late, so its early edge is the platter's phase: the first
 * quartile, for a head that lands within the wanted range ends some sectors early. The anchor moves
 * before the period changes, so that the phase does not jump.
 */
static void fb_head_window_end(struct fb_head *h)
{
	s64 edge = h->win[h->win_n / 4];
	u64 turns = 0, anchor_ns = h->at_ns + edge;

	if (anchor_ns > h->anchor_ns)
		turns = div64_u64(anchor_ns - h->anchor_ns, fb_head_period_ns(h));
	h->anchor_ns = anchor_ns;
	h->anchor_angle = h->at.angle;
	/* the first edge has no earlier one to be compared with */
	if (h->windows)
		fb_head_learn_period(h, edge, turns);
	if (fb_head_bounded(h, h->period_ps - 1) == h->period_ps ||
	    fb_head_bounded(h, h->period_ps + 1) == h->period_ps)
		h->bounded++;
	else
		h->bounded = 0;
	if (h->windows < FB_HEAD_SHORT_WINDOWS)
		h->windows++;
	h->win_n = 0;
}

/* insert a consistent completion, the last one, into the window, which is sorted */
static void fb_head_follow(struct fb_head *h, s64 residual)
{
	u32 full = h->windows < FB_HEAD_SHORT_WINDOWS ? FB_HEAD_SHORT_WINDOW : FB_HEAD_WINDOW;
	u32 i = h->win_n++;

	for (; i && residual < h->win[i - 1]; i--)
		h->win[i] = h->win[i - 1];
	h->win[i] = residual;
	if (h->win_n >= full ||
	    (h->win_n >= FB_HEAD_FEW && h->at_ns > h->anchor_ns &&
	     h->at_ns - h->anchor_ns >= FB_HEAD_BASE_TURNS * fb_head_period_ns(h)))
		fb_head_window_end(h);
}

static void fb_head_fit(struct fb_head *h, bool fits, bool right)
{
	h->fits -= h->fits >> FB_HEAD_FITS_SHIFT;
	h->fits += fits ? FB_PPM >> FB_HEAD_FITS_SHIFT : 0;
	h->right -= h->right >> FB_HEAD_RIGHT_SHIFT;
	h->right += right ? FB_PPM >> FB_HEAD_RIGHT_SHIFT : 0;
}

bool fb_head_misfit(const struct fb_head *h)
{
	return h->mechanical + h->odd >= FB_HEAD_JUDGE_MIN &&
	       (h->fits < FB_HEAD_FITS_LEAST || h->right < FB_HEAD_RIGHT_LEAST ||
		h->bounded >= FB_HEAD_BOUNDED_MOST);
}

/* (a - b) in revolutions, rounded */
static s32 fb_head_turns(const struct fb_head *h, u64 a, u64 b)
{
	s64 period = fb_head_period_ns(h), diff = a - b;

	return div64_s64(diff < 0 ? diff - period / 2 : diff + period / 2, period);
}

static void fb_head_mechanical(struct fb_head *h, const struct dm_place *end,
			       struct fb_head_end *out)
{
	out->verdict = FB_HEAD_MECHANICAL;
	h->mechanical++;
	h->trust = min_t(u32, h->trust + 1, FB_HEAD_TRUST_MAX);
	h->known = true;
	h->at = *end;
	h->at_ns = out->end_ns;
}

static void fb_head_early(struct fb_head *h, struct fb_head_end *out)
{
	out->verdict = FB_HEAD_EARLY;
	h->early++;
	fb_head_lose(h);
}

void fb_head_find(struct fb_head *h, const struct dm_place *end, u64 ns)
{
	s64 off;

	if (!fb_head_locked(h, ns))
		return;
	off = ns - fb_head_when(h, ns, end->angle);
	if (off > h->tolerance_ns || off < -(s64)h->edge_ns)
		return;
	h->known = true;
	h->at = *end;
	h->at_ns = ns;
}

/* The angle does not fit: a wrong phase, or without a prediction perhaps the cache. */
static void fb_head_odd(struct fb_head *h, const struct dm_place *end, bool predicted,
			struct fb_head_end *out)
{
	out->verdict = FB_HEAD_ODD;
	h->odd++;
	h->trust = predicted ? h->trust / 2 : h->trust - min(h->trust, 1U);
	if (predicted)
		fb_head_fit(h, false, false);
	fb_head_lose(h);
	if (!h->trust)
		fb_head_anchor(h, out->end_ns, end->angle);
}

void fb_head_complete(struct fb_head *h, u64 now_ns, const struct dm_place *end,
		      u64 pred_ns, u64 started_ns, u64 xfer_ns, bool write,
		      struct fb_head_end *out)
{
	const struct dm_info *info = dm_info(h->dm);
	u64 report = write ? info->write_report_ns : info->read_report_ns, nearest;

	memset(out, 0, sizeof(*out));
	out->end_ns = now_ns - min(report, now_ns);
	if (now_ns < h->hold_until_ns) {
		out->verdict = FB_HEAD_ODD;
		fb_head_lose(h);
		return;
	}
	/* less 1/1024, because the drive may turn faster than the model says */
	if (started_ns && out->end_ns + h->edge_ns < started_ns + xfer_ns - (xfer_ns >> 10)) {
		fb_head_early(h, out);
		return;
	}
	if (h->anchored && h->trust >= FB_HEAD_LOCK && !fb_head_locked(h, now_ns))
		fb_head_unanchor(h);
	if (!h->anchored) {
		fb_head_anchor(h, out->end_ns, end->angle);
		out->turns = pred_ns ? fb_head_turns(h, out->end_ns, pred_ns) : 0;
		fb_head_mechanical(h, end, out);
		return;
	}

	nearest = fb_head_when(h, out->end_ns, end->angle);
	out->residual_ns = out->end_ns - nearest;
	if (out->residual_ns > h->tolerance_ns || out->residual_ns < -(s64)h->tolerance_ns) {
		if (pred_ns && out->end_ns + h->tolerance_ns < pred_ns)
			fb_head_early(h, out);
		else
			fb_head_odd(h, end, pred_ns, out);
		return;
	}
	/* a seek shorter than predicted saves one turn, never two */
	out->turns = pred_ns ? fb_head_turns(h, nearest, pred_ns) : 0;
	if (out->turns < -1) {
		fb_head_early(h, out);
		return;
	}
	out->end_ns = nearest;
	/* a pause that is longer than the window has lasted */
	if (nearest > h->at_ns + max(FB_HEAD_PAUSE_NS, h->at_ns - min(h->anchor_ns, h->at_ns)))
		h->win_n = 0;
	if (pred_ns)
		fb_head_fit(h, true, !out->turns);
	fb_head_mechanical(h, end, out);
	fb_head_follow(h, out->residual_ns);
}
