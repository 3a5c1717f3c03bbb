/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Probe of the drive's look-ahead: may free reads go where the head just was? Two reads in a row on
 * one track may look sequential to the drive, which may then read on although commands wait
 * (freeblock paper, 3.1, 3.4 and 4.3), or answer from its cache: the next command is a turn late,
 * or does not end where predicted. The paper does not use such reads. Here a few gaps try them, and
 * the ends of the commands concerned are compared with those of the others. Core.
 */
#ifndef FB_LOOKAHEAD_H
#define FB_LOOKAHEAD_H

#include "core/guard.h"
#include "core/head.h"
#include "core/plan.h"

#define FB_LOOKAHEAD_LIFTS 2			/* FB_LIFT_SOURCE, FB_LIFT_DEST */
/* one gap in FB_LOOKAHEAD_GAPS tries a lift; the lifts take turns */
#define FB_LOOKAHEAD_GAPS 8
#define FB_LOOKAHEAD_TEXT 64			/* buffer size for fb_lookahead_describe() */

/* What is known about a lift */
enum fb_lookahead_state {
	FB_LOOKAHEAD_TRIAL,	/* it is unknown whether it triggers look-ahead: some gaps use it */
	FB_LOOKAHEAD_ALLOWED,		/* it does not: all gaps may use it */
	FB_LOOKAHEAD_REFUSED,		/* it does: no gap uses it until a pause is over */
};

/* What the probe needs to know of a command; kept with the command */
struct fb_lookahead_mark {
	u8 at;	/* lifts by which it reads on the track where the previous command ended */
	u8 behind;			/* those of the previous command, which delay this one */
	bool ours;	/* a free read, or with or behind one: the conservatism counts */
};

/* A sequential test */
struct fb_lookahead_test {
	s32 score;	/* bad ends beyond what is harmless, 16 binary places */
	u32 n;
	u32 bad;			/* late or odd ones among them */
};

/* One lift */
struct fb_lookahead_lift {
	enum fb_lookahead_state state;
	/* of commands with it in fb_lookahead_mark.at, and in .behind */
	struct fb_lookahead_test test[2];
	u64 since_ns;			/* when @state began */
	u64 until_ns;			/* end of the pause, when refused */
	u64 pause_ns;			/* length of the next pause */
	u32 refusals;			/* how often it was refused */
	u32 n;				/* commands of the test that refused it */
	u32 bad;			/* late or odd ones among them */
};

/* Ends of commands that no lift concerns */
struct fb_lookahead_base {
	u32 n;				/* commands; the oldest fade */
	u32 bad;			/* late or odd ones among them */
};

/* The probe */
struct fb_lookahead {
	bool off;			/* the drive's look-ahead is known to be off */
	u32 gaps;			/* number of gaps, to tell which lift's turn it is */
	struct fb_lookahead_lift lift[FB_LOOKAHEAD_LIFTS];	/* FB_LIFT_SOURCE, FB_LIFT_DEST */
	/* by fb_lookahead_mark.ours */
	struct fb_lookahead_base base[2];
};

/* Initialise: trials of all lifts. */
void fb_lookahead_init(struct fb_lookahead *p);

/* The drive says that its look-ahead is off (caching page: DRA), so all lifts are allowed. */
void fb_lookahead_off(struct fb_lookahead *p, bool known_off);

/* Those lifts of @wanted that the gap to be searched next may use; FB_LIFT_SEVERAL always. */
u32 fb_lookahead_allowed(struct fb_lookahead *p, u32 wanted, u64 now_ns);

/*
 * Which lifts command @i of a plan uses; @plan->npieces: the foreground. Two pieces on a track may
 * be due to either, so the host takes those that were allowed.
 */
u32 fb_lookahead_lifts(const struct disk_model *dm, const struct fb_gap *gap,
		       const struct fb_plan *plan, u32 i);

/*
 * A predicted command has ended, or was overtaken: FB_HEAD_ODD, for a drive that reads on may
 * prefer a command that arrives meanwhile.
 */
void fb_lookahead_seen(struct fb_lookahead *p, u64 now_ns, const struct fb_lookahead_mark *mark,
		       const struct fb_head_end *end);

/* Format the state of a lift for people. Return: length of @text. */
int fb_lookahead_describe(const struct fb_lookahead *p, u32 lift, u64 now_ns, char *text,
			  size_t size);

#endif /* FB_LOOKAHEAD_H */
