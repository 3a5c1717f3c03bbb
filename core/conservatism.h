/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Conservatism "auto": how much to add to a seek estimate, so that free reads cost the foreground
 * no more than a target (freeblock paper, 3.3 and 5.3). The head waits for its sector, so a
 * completion only shows whether the seek's error exceeded the predicted rotational wait, the leg's
 * slack: then a turn is lost. So each completion is a trial at its slack, and the share of turns
 * lost at a slack estimates the tail of the distribution of errors. Core.
 */
#ifndef FB_CONSERVATISM_H
#define FB_CONSERVATISM_H

#include "disk_model.h"

#define FB_PRICE_ONE 256	/* prices of a lost turn: the mean value of a gap */
#define FB_PRICE_MOST (256 * FB_PRICE_ONE)
/* a window changes a price by such a part of the deviation, so that chance hardly moves it */
#define FB_PRICE_GAIN 16
#define FB_PRICE_WINDOW_NS (8ULL * NSEC_PER_SEC)	/* over which what they cost is measured */
#define FB_VALUE_GAPS 256	/* gaps that means are taken over: two seconds of a busy disk */

#define FB_CONSERVATISM_BINS 64		/* bins of slack; the last one holds all longer slacks */
#define FB_CONSERVATISM_BIN_NS 20000	/* width of a bin */
#define FB_CONSERVATISM_TARGET_PPM 5000	/* default target */

/* The role of a command in its gap: who would lose a turn */
enum fb_cause {
	FB_CAUSE_PLAIN,		/* foreground without a free read in its gap */
	FB_CAUSE_PREPEND,	/* foreground with a prepended read */
	FB_CAUSE_SEPARATE,	/* a separate free read itself */
	FB_CAUSE_AFTER,		/* foreground just after a separate read */
	FB_CAUSE_IDLE,		/* a read in idle time */
	FB_CAUSES,
};

/* The seek of a command that has ended */
struct fb_conservatism_leg {
	u32 dist;			/* distance in cylinders */
	enum fb_cause cause;		/* which command it was */
	u64 slack_ns;			/* predicted rotational wait at its end */
	u64 gap_ns;			/* of the foreground alone; FB_CAUSE_PREPEND, _AFTER only */
	s64 late_ns;	/* measured minus predicted media end, whole turns included */
	/*
	 * its end tells of the seek: it is on one track, the head did not land within its sectors
	 */
	bool simple;
};

/* Trials at some slack, in 64ths, because they fade */
struct fb_conservatism_trials {
	u32 n;
	u32 lost;			/* turns lost in them, or gained */
};

/* Seeks by what they can err by; fb_conservatism_kind() */
enum fb_conservatism_kind {
	FB_CONSERVATISM_STILL,		/* within a cylinder: only phase and head switch err */
	FB_CONSERVATISM_SEEK,		/* to another cylinder */
	FB_CONSERVATISM_EARLY,		/* all, that gain a turn, by what was missing of one */
	FB_CONSERVATISM_KINDS,
};

/*
 * Chances and price of a lost turn: the search subtracts the expected cost of a plan's legs from
 * its value, where one margin for all would refuse some that are worth their risk.
 */
struct fb_conservatism_odds {
	u32 floor_ns[FB_CONSERVATISM_KINDS];	/* conservatism that every plan must keep */
	/* for fb_conservatism_chance(): of losing a turn, or gaining one; 16 binary places */
	u16 chance[FB_CONSERVATISM_KINDS][FB_CONSERVATISM_BINS];
	u32 price;			/* cost of a lost turn, in 256ths of a gap's mean value */
};

/* What was learnt; private but for @target_ppm, @odds and @cost_ppm */
struct fb_conservatism {
	u64 period_ns;
	u32 target_ppm;	/* what free reads may cost, 1 .. 1000000; may change at any time */
	/* trials by kind and slack */
	struct fb_conservatism_trials tail[FB_CONSERVATISM_KINDS][FB_CONSERVATISM_BINS];
	/* chances by slack, 30 binary places */
	u32 share[FB_CONSERVATISM_KINDS][FB_CONSERVATISM_BINS];
	struct fb_conservatism_trials own;	/* plain foreground trials in the last bin */
	struct fb_conservatism_odds odds;	/* for a search that weighs the risk itself */
	u64 trials;
	u64 since_ns;			/* beginning of the feedback's window */
	u32 behind;	/* legs with cause FB_CAUSE_PREPEND or FB_CAUSE_AFTER in the window */
	s64 cost_ns;			/* what free reads cost in the window */
	s32 cost_ppm;			/* what they cost in recent windows, as part of the time */
};

/* Begin without trials. @target_ppm: 1 .. 1000000. */
void fb_conservatism_init(struct fb_conservatism *m, const struct disk_model *dm, u32 target_ppm);

/* Fill in @dist, @slack_ns and @simple of the leg of a command. @acc: its access from @from. */
void fb_conservatism_predict(struct fb_conservatism_leg *leg, const struct disk_model *dm,
			     const struct dm_place *from, u32 nsect, const struct dm_access *acc);

static inline enum fb_conservatism_kind fb_conservatism_kind(u32 cyls)
{
	return cyls ? FB_CONSERVATISM_SEEK : FB_CONSERVATISM_STILL;
}

/* Learn from the end of a command that had been predicted. @leg: its leg. */
void fb_conservatism_learn(struct fb_conservatism *m, u64 now_ns,
			   const struct fb_conservatism_leg *leg);

/* Look up a table of struct fb_conservatism_odds. Return: the chance, 16 binary places. */
static inline u32 fb_conservatism_chance(const u16 chance[FB_CONSERVATISM_BINS], u64 margin_ns)
{
	u32 ns = min_t(u64, margin_ns, FB_CONSERVATISM_BINS * FB_CONSERVATISM_BIN_NS), i;

	/* interpolate linearly between the bins' middles */
	ns = max_t(u32, ns, FB_CONSERVATISM_BIN_NS / 2) - FB_CONSERVATISM_BIN_NS / 2;
	i = ns / FB_CONSERVATISM_BIN_NS;
	if (i >= FB_CONSERVATISM_BINS - 1)
		return chance[FB_CONSERVATISM_BINS - 1];
	/* they fall with margin */
	return chance[i] - (chance[i] - chance[i + 1]) * (ns % FB_CONSERVATISM_BIN_NS) /
		FB_CONSERVATISM_BIN_NS;
}

/*
 * The mean of a positioning time: a seek that only just reaches its sector loses a turn at times.
 */
u64 fb_conservatism_expected_ns(const struct fb_conservatism_odds *odds, u64 period_ns, u32 cyls,
				u64 seek_ns, u64 latency_ns);

#endif /* FB_CONSERVATISM_H */
