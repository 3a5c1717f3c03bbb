/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Probe of the drive's look-ahead: may free reads go where the head just was? Core; the
 * caller serialises. Nothing here sleeps or allocates.
 *
 * Two reads in a row on one track may look sequential to the drive, which then may read on
 * although commands wait (freeblock paper, 3.1, 3.4 and 4.3), or answer from its cache.
 * What comes next is a turn late, or not where it was predicted. FB_LIFT_SOURCE and
 * FB_LIFT_DEST provoke that: the paper does without them. Here they are tried in a few gaps,
 * and what becomes of the commands concerned is compared with what becomes of the others:
 * seeks that vary make some of these late, too.
 */
#ifndef FB_LOOKAHEAD_H
#define FB_LOOKAHEAD_H

#include "core/head.h"
#include "core/search.h"

#define FB_LOOKAHEAD_LIFTS 2			/* FB_LIFT_SOURCE, FB_LIFT_DEST */
/* one gap in so many tries a lift, each in its turn */
#define FB_LOOKAHEAD_GAPS 8
#define FB_LOOKAHEAD_PAUSE_NS (60ULL * 1000000000)	/* after a refusal; doubles with each ... */
#define FB_LOOKAHEAD_PAUSE_MAX_NS (3600ULL * 1000000000)	/* ... up to this */
#define FB_LOOKAHEAD_TEXT 64			/* what fb_lookahead_describe() needs */

/**
 * enum fb_lookahead_state - what is known about a lift
 * @FB_LOOKAHEAD_TRIAL: nothing sure: some gaps may
 * @FB_LOOKAHEAD_ALLOWED: not triggered by it: all gaps may
 * @FB_LOOKAHEAD_REFUSED: triggered by it: no gap may, until a pause is over
 */
enum fb_lookahead_state {
	FB_LOOKAHEAD_TRIAL,
	FB_LOOKAHEAD_ALLOWED,
	FB_LOOKAHEAD_REFUSED,
};

/**
 * struct fb_lookahead_mark - what about a command concerns the probe; the host keeps it with the
 * command
 * @at: lifts by which it reads on the track where the command before it ended
 * @behind: those of the command before it: what look-ahead they trigger delays this one
 * @ours: a free read, or a foreground request with or behind one: no other than these
 *	depend on the conservatism
 */
struct fb_lookahead_mark {
	u8 at;
	u8 behind;
	bool ours;
};

/**
 * struct fb_lookahead_test - a sequential test
 * @score: log2 of the odds that the drive is triggered, 16 binary places
 * @n: commands
 * @bad: of these, late or odd
 */
struct fb_lookahead_test {
	s32 score;
	u32 n;
	u32 bad;
};

/**
 * struct fb_lookahead_lift - one lift
 * @state: what is known
 * @test: of commands "at" a lift, and of those behind
 * @since_ns: when @state came
 * @until_ns: end of the pause, when refused
 * @pause_ns: length of the next pause
 * @refusals: how often it was refused
 * @n: commands of the test that refused it
 * @bad: of these, late or odd
 */
struct fb_lookahead_lift {
	enum fb_lookahead_state state;
	struct fb_lookahead_test test[2];
	u64 since_ns;
	u64 until_ns;
	u64 pause_ns;
	u32 refusals;
	u32 n;
	u32 bad;
};

/**
 * struct fb_lookahead_base - what becomes of commands that no lift concerns
 * @n: commands; the oldest fade
 * @bad: of these, late or odd
 */
struct fb_lookahead_base {
	u32 n;
	u32 bad;
};

/**
 * struct fb_lookahead - all of it
 * @off: the drive's look-ahead is known to be off
 * @gaps: counted to tell whose turn it is
 * @lift: FB_LIFT_SOURCE, FB_LIFT_DEST
 * @base: of plain foreground requests; of those that are fb_lookahead_mark.ours
 */
struct fb_lookahead {
	bool off;
	u32 gaps;
	struct fb_lookahead_lift lift[FB_LOOKAHEAD_LIFTS];
	struct fb_lookahead_base base[2];
};

/**
 * fb_lookahead_init() - nothing known: trials
 * @p: filled
 */
void fb_lookahead_init(struct fb_lookahead *p);

/**
 * fb_lookahead_off() - what the drive says about its look-ahead
 * @p: state
 * @known_off: it is off (MODE SENSE, caching page: DRA is 1): all lifts are allowed. Else,
 *	if it was known to be off before, trials begin
 */
void fb_lookahead_off(struct fb_lookahead *p, bool known_off);

/**
 * fb_lookahead_allowed() - which lifts may the next gap use?
 * @p: state; call it once for each gap that is to be searched
 * @wanted: enum fb_lift, or-ed
 * @now_ns: monotonic time
 *
 * Return: those of @wanted that it may use; FB_LIFT_SEVERAL is none of the probe's business.
 */
u32 fb_lookahead_allowed(struct fb_lookahead *p, u32 wanted, u64 now_ns);

/**
 * fb_lookahead_lifts() - which lifts does a command of a plan use, with the one before it?
 * @dm: model
 * @gap: the gap
 * @plan: its plan
 * @i: number of the command: that of a piece, or @plan->npieces for a foreground request
 *	that has no prepend
 *
 * Return: FB_LIFT_SOURCE, FB_LIFT_DEST, or 0 when it is not on the track where the one
 * before ended. Of two pieces on a track either lift may be the cause: both, of which the
 * host takes those that fb_lookahead_allowed() had allowed.
 */
u32 fb_lookahead_lifts(const struct disk_model *dm, const struct fb_gap *gap,
		       const struct fb_plan *plan, u32 i);

/**
 * fb_lookahead_seen() - a command has ended whose end had been predicted, or was overtaken
 * @p: state
 * @now_ns: monotonic time
 * @mark: of the command
 * @end: what became of it; FB_HEAD_ODD as soon as the drive has finished a command that was
 *	sent later: while it reads on, another may have come that it likes better
 */
void fb_lookahead_seen(struct fb_lookahead *p, u64 now_ns, const struct fb_lookahead_mark *mark,
		       const struct fb_head_end *end);

/**
 * fb_lookahead_describe() - a lift's state, for people
 * @p: state
 * @lift: FB_LIFT_SOURCE or FB_LIFT_DEST
 * @now_ns: monotonic time
 * @text: out
 * @size: of @text; FB_LOOKAHEAD_TEXT is enough
 *
 * "allowed (look-ahead off)", "trial N/M" (M: as many will be needed if nothing is late from
 * now on), "allowed (not triggered in N trials)", "refused (K of N late), next trial in S s".
 *
 * Return: length of @text.
 */
int fb_lookahead_describe(const struct fb_lookahead *p, u32 lift, u64 now_ns, char *text,
			  size_t size);

#endif /* FB_LOOKAHEAD_H */
