/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where the head is and what the platter's phase is, from completions (freeblock
 * paper, 3.3 "resync after each request"; Documentation/design.rst, "Head and phase").
 * Core; the caller serialises. Nothing here sleeps.
 *
 * Phase: a moment and the platter's angle then, and the period. Completions are
 * reported late by a varying time, so the phase follows the early edge, the lower
 * quartile, of what a window of them shows. What the edge moves over many revolutions is
 * the error of the period; what the period changes over minutes is its trend.
 *
 * Head: the end of the last mechanical command, or unknown.
 */
#ifndef FB_HEAD_H
#define FB_HEAD_H

#include "disk_model.h"

#define FB_HEAD_LOCK 16		/* consistent completions before the phase is believed */
#define FB_HEAD_WINDOW 32	/* completions over which the early edge is taken */

/**
 * enum fb_head_verdict - what kind of completion it was
 * @FB_HEAD_MECHANICAL: ended at the angle the model says, maybe a turn off
 * @FB_HEAD_EARLY: too early to be mechanical: cache hit, cached write
 * @FB_HEAD_ODD: late, and not at the angle: internal activity or wrong model
 */
enum fb_head_verdict {
	FB_HEAD_MECHANICAL,
	FB_HEAD_EARLY,
	FB_HEAD_ODD,
};

/**
 * struct fb_head - what completions taught
 * @dm: model
 * @period_ps: one revolution, tracked
 * @trend_ps: what becomes of it, ps per second
 * @aged_ns: until when it has become that
 * @mark_ns: the trend is that since this moment, 0 = none ...
 * @mark_ps: ... when this was the period
 * @anchor_ns: a moment ...
 * @anchor_angle: ... and the platter's angle then
 * @anchored: @anchor_* valid
 * @hold_until_ns: no new anchor before this (reset, resume, spin-up)
 * @trust: consistent completions in a row, saturating; locked from FB_HEAD_LOCK on
 * @known: @at is valid
 * @at: where the head is, at the end of the last mechanical command
 * @at_ns: when that was (media end, free of report noise)
 * @tolerance_ns: a larger residual is not the model's angle
 * @edge_ns: so much a report may be ahead of the phase
 * @win_n: completions in the window
 * @win: their residuals, ascending, ns
 * @windows: windows since the anchor, saturating
 * @base_turns: revolutions over which the period is averaged
 * @mechanical: count, for status
 * @early: count, for status
 * @odd: count, for status
 * @fits: share of consistent ones among the recent, ppm, decaying average
 * @right: share of them that took as many turns as predicted, likewise, over more
 * @bounded: windows in a row that left the period as far from the model's as it may be
 */
struct fb_head {
	const struct disk_model *dm;
	u64 period_ps;
	s64 trend_ps;
	u64 aged_ns;
	u64 mark_ns;
	u64 mark_ps;
	u64 anchor_ns;
	u32 anchor_angle;
	bool anchored;
	u64 hold_until_ns;
	u32 trust;
	bool known;
	struct dm_place at;
	u64 at_ns;
	u32 tolerance_ns;
	u32 edge_ns;
	u32 win_n;
	s64 win[FB_HEAD_WINDOW];
	u32 windows;
	u64 base_turns;
	u64 mechanical;
	u64 early;
	u64 odd;
	u32 fits;
	u32 right;
	u32 bounded;
};

/**
 * struct fb_head_end - what one completion was
 * @verdict: see there
 * @end_ns: media end: report overhead taken off, late noise only if mechanical
 * @turns: revolutions more (+) or fewer (-) than predicted; 0 when nothing was predicted
 * @residual_ns: report time less overhead, minus the nearest moment at which the end
 *	angle passed the head; 0 when there was no anchor to compare with
 */
struct fb_head_end {
	enum fb_head_verdict verdict;
	u64 end_ns;
	s32 turns;
	s64 residual_ns;
};

/**
 * fb_head_init() - nothing known yet
 * @h: what is to be filled
 * @dm: model; must outlive @h or be replaced by another fb_head_init()
 */
void fb_head_init(struct fb_head *h, const struct disk_model *dm);

/**
 * fb_head_lose() - the head may have moved: unknown until the next mechanical completion
 * @h: state; the phase stays
 */
void fb_head_lose(struct fb_head *h);

/**
 * fb_head_reset() - after reset, resume, spin-up: head and phase unknown
 * @h: state; the period stays
 * @until_ns: no anchor before this moment
 */
void fb_head_reset(struct fb_head *h, u64 until_ns);

/**
 * fb_head_locked() - the phase is believed
 * @h: state
 * @now_ns: the time; a phase not confirmed for half a minute is not believed
 *
 * Return: true when it is.
 */
bool fb_head_locked(const struct fb_head *h, u64 now_ns);

/**
 * fb_head_angle() - the platter's angle at a moment
 * @h: state, anchored
 * @ns: the moment, before or after the anchor
 *
 * Return: the angle.
 */
u32 fb_head_angle(const struct fb_head *h, u64 ns);

/**
 * fb_head_when() - the moment nearest to another at which the platter is at an angle
 * @h: state, anchored
 * @ns: the other moment
 * @angle: the angle
 *
 * Return: ns.
 */
u64 fb_head_when(const struct fb_head *h, u64 ns, u32 angle);

/**
 * fb_head_misfit() - is the model wrong?
 * @h: state
 *
 * Return: true: too many commands do not end where it says, or not in the turn that it says,
 * or the platter turns at another speed.
 */
bool fb_head_misfit(const struct fb_head *h);

/**
 * fb_head_now() - where the head will be if it waits where it is
 * @h: state
 * @ns: until when
 * @p: out: the place: where the last command ended, turned on to that moment
 *
 * Return: false when the head is unknown or the phase is not believed at @ns.
 */
bool fb_head_now(const struct fb_head *h, u64 ns, struct dm_place *p);

/**
 * fb_head_complete() - learn from a completion
 * @h: state
 * @now_ns: when it was reported
 * @end: where it should have ended: after the sector that passed the head last
 * @pred_ns: predicted media end, 0 = none
 * @started_ns: the earliest it can have started, 0 = not known; a mechanical access
 *	cannot have ended before that plus its transfer ...
 * @xfer_ns: ... which takes so long at least
 * @write: direction: whose report overhead of the model's to take off
 * @out: what it was
 */
void fb_head_complete(struct fb_head *h, u64 now_ns, const struct dm_place *end,
		      u64 pred_ns, u64 started_ns, u64 xfer_ns, bool write,
		      struct fb_head_end *out);

#endif /* FB_HEAD_H */
