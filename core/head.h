/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The position of the head and the phase of the platter, derived from completions (freeblock paper,
 * 3.3; Documentation/design.rst, Head and phase). The phase is the platter's angle at some moment,
 * the anchor, and the period. Completions are reported late by a varying time, so the phase follows
 * the early edge of a window of them, and its drift gives the error of the period. The head is
 * where the last mechanical command ended, or unknown. Core.
 */
#ifndef FB_HEAD_H
#define FB_HEAD_H

#include "disk_model.h"

/*
 * A residual of up to this share of a turn is mechanical: 250 us at 10,000 rpm, for reports are
 * late by up to 100 us, and interrupts.
 */
#define FB_HEAD_TOLERANCE_SHARE 24

/* the drive's cache serves a command in less than this part of a turn */
#define FB_HEAD_CACHE_PART 8

#define FB_HEAD_LOCK 16		/* consistent completions before the phase is trusted */
#define FB_HEAD_WINDOW 32	/* completions over which the early edge is taken */

/* What kind of completion it was */
enum fb_head_verdict {
	FB_HEAD_MECHANICAL,		/* it ended at the predicted angle, maybe some turns off */
	FB_HEAD_EARLY,			/* too early to be mechanical: cache hit, cached write */
	FB_HEAD_ODD,	/* late, at another angle: internal activity or a wrong model */
	FB_HEAD_VERDICTS,		/* the number of kinds */
};

/* Head and phase as learnt from completions */
struct fb_head {
	const struct disk_model *dm;
	u64 period_ps;			/* one revolution, tracked */
	u64 anchor_ns;			/* time of the anchor */
	u32 anchor_angle;		/* the platter's angle then */
	bool anchored;			/* @anchor_ns and @anchor_angle are valid */
	u64 hold_until_ns;		/* no new anchor before this (reset, resume, spin-up) */
	u32 trust;	/* consistent completions in a row; locked from FB_HEAD_LOCK on */
	bool known;			/* @at is valid */
	struct dm_place at;	/* where the head was at the end of the last mechanical command */
	u64 at_ns;			/* when that was (media end, free of report noise) */
	u64 ahead_lbn;	/* a drive that reads ahead reads on from this sector; 0: from none ... */
	u64 ahead_ns;			/* ... since this time */
	bool reads_on;			/* it does, by the last read from there */
	u32 tolerance_ns;		/* with a larger residual it did not end at the angle */
	u32 edge_ns;			/* the most that a report may be ahead of the phase */
	u32 win_n;			/* completions in the window */
	s64 win[FB_HEAD_WINDOW];	/* their residuals, ascending, ns */
	u32 windows;			/* windows since the anchor, saturating */
	u64 base_turns;			/* revolutions over which the period is averaged */
	u64 mechanical;			/* count, for status */
	u64 early;			/* count, for status */
	u64 odd;			/* count, for status */
	u32 fits;			/* share of recent completions that were consistent, ppm */
	u32 right;	/* that also took as many turns as predicted, over more completions */
	u32 bounded;	/* windows in a row that left the period at its bound around the model's */
};

/* How one completion was judged */
struct fb_head_end {
	enum fb_head_verdict verdict;
	u64 end_ns;	/* media end, less report overhead; its noise only if not mechanical */
	s32 turns;			/* revolutions beyond the prediction, if there was one */
	/*
	 * report time less overhead, minus when the end angle was nearest; 0: there was no anchor
	 */
	s64 residual_ns;
};

/* Head and phase unknown. @dm must outlive @h, or be replaced by another fb_head_init(). */
void fb_head_init(struct fb_head *h, const struct disk_model *dm);
/* The head is unknown until the next mechanical completion; the phase stays. */
void fb_head_lose(struct fb_head *h);
/* After a reset, resume or spin-up: the phase is unknown, too, and no anchor is taken before. */
void fb_head_reset(struct fb_head *h, u64 until_ns);
/* Say where the head may be, though no completion showed it. The angle of @at does not matter. */
void fb_head_guess(struct fb_head *h, const struct dm_place *at);
/*
 * An early read may have come right from the medium, of a drive that reads ahead no faster than it
 * is asked: the head is at @end if that passed at @ns.
 */
void fb_head_find(struct fb_head *h, const struct dm_place *end, u64 ns);
/* Is the phase trusted? Not if nothing has confirmed it for half a minute. */
bool fb_head_locked(const struct fb_head *h, u64 now_ns);
/* The platter's angle at a moment before or after the anchor, which there is. */
u32 fb_head_angle(const struct fb_head *h, u64 ns);
/* The moment nearest to @ns at which the platter is at an angle. */
u64 fb_head_when(const struct fb_head *h, u64 ns, u32 angle);
/* Do too many commands not end at the predicted angle, or turn, or is the speed another? */
bool fb_head_misfit(const struct fb_head *h);
/* Where the head is at a moment if it stays on its track; false: head or phase are unknown. */
bool fb_head_now(const struct fb_head *h, u64 ns, struct dm_place *p);

/*
 * Learn from a completion reported at @now_ns. @end: where it should have ended; @pred_ns: when, or
 * 0; @started_ns: the earliest start, or 0: it cannot have ended before that and @xfer_ns.
 */
void fb_head_complete(struct fb_head *h, u64 now_ns, const struct dm_place *end,
		      u64 pred_ns, u64 started_ns, u64 xfer_ns, bool write,
		      struct fb_head_end *out);

#endif /* FB_HEAD_H */
