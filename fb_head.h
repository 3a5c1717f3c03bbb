/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where the head is and what the platter's phase is, from completions (freeblock
 * paper, 3.3 "resync after each request"; DESIGN 4 "Head and phase are two states").
 * Core; the caller serialises.
 */
#ifndef FB_HEAD_H
#define FB_HEAD_H

#include "disk_model.h"

#define FB_HEAD_WINDOW 32	/* completions over which the early edge is taken */

enum fb_head_verdict {
	FB_HEAD_MECHANICAL,	/* ended at the angle the model says, maybe turns off */
	FB_HEAD_EARLY,		/* too early to be mechanical: cache hit, cached write */
	FB_HEAD_ODD,		/* late, and not at the angle: internal activity or wrong model */
};

/**
 * struct fb_head - what completions taught
 * @dm: model
 * @period_ps: one revolution, tracked
 * @anchor_ns: a moment ...
 * @anchor_angle: ... and the platter's angle then
 * @anchored: @anchor_* valid
 * @hold_until_ns: no new anchor before this (reset, resume, spin-up)
 * @trust: consistent completions in a row, saturating; locked from FB_HEAD_LOCK on
 * @known: @at is valid
 * @at: where the head is, at the end of the last mechanical command
 * @at_ns: when that was (media end, free of report noise)
 * @win_n: completions in the window
 * @win_min: smallest residual in it, ns
 * @win_turns: revolutions since the window began (period tracking)
 * @mechanical: count, for status
 * @early: count, for status
 * @odd: count, for status
 * @fits: share of consistent ones among the recent, ppm, decaying average
 */
struct fb_head {
	const struct disk_model *dm;
	u64 period_ps;
	u64 anchor_ns;
	u32 anchor_angle;
	bool anchored;
	u64 hold_until_ns;
	u32 trust;
	bool known;
	struct dm_place at;
	u64 at_ns;
	u32 win_n;
	s64 win_min;
	u64 win_turns;
	u64 mechanical;
	u64 early;
	u64 odd;
	u32 fits;
};

#define FB_HEAD_LOCK 16		/* consistent completions before the phase is believed */

/**
 * struct fb_head_end - what one completion was
 * @verdict: see there
 * @end_ns: media end (report overhead and late noise taken off)
 * @turns: revolutions more (+) or fewer (-) than predicted; 0 when nothing was predicted
 * @residual_ns: report time minus the nearest moment the end angle passed the head
 */
struct fb_head_end {
	enum fb_head_verdict verdict;
	u64 end_ns;
	s32 turns;
	s64 residual_ns;
};

void fb_head_init(struct fb_head *h, const struct disk_model *dm);

/* head unknown until the next mechanical completion; the phase stays */
void fb_head_lose(struct fb_head *h);

/* after reset, resume, spin-up: head and phase unknown, no anchor before @until_ns */
void fb_head_reset(struct fb_head *h, u64 until_ns);

/* the phase is believed at @now_ns (trust, and not older than a minute) */
bool fb_head_locked(const struct fb_head *h, u64 now_ns);

/* the platter's angle at @ns; only when anchored */
u32 fb_head_angle(const struct fb_head *h, u64 ns);

/* the moment nearest to @ns at which the platter is at @angle; only when anchored */
u64 fb_head_when(const struct fb_head *h, u64 ns, u32 angle);

/* where the head will be at @ns if it waits there: @at turned on; false: unknown or not locked */
bool fb_head_now(const struct fb_head *h, u64 ns, struct dm_place *p);

/*
 * A command completed: reported at @now_ns, should have ended at @end (its last
 * sector's end), predicted media end @pred_ns (0: no prediction), @started_ns = the
 * earliest it can have started (a mechanical access cannot have ended before that plus
 * its transfer @xfer_ns), report overhead taken from the model by @write.
 */
void fb_head_complete(struct fb_head *h, u64 now_ns, const struct dm_place *end,
		      u64 pred_ns, u64 started_ns, u64 xfer_ns, bool write,
		      struct fb_head_end *out);

#endif /* FB_HEAD_H */
