/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Conservatism "auto": how much to add to a seek estimate, so that free reads cost the
 * foreground no more than a target (freeblock paper, 3.3 and 5.3). Core; the
 * caller serialises. Nothing here sleeps or allocates.
 *
 * Seek errors cannot be measured: the head waits for its sector, so a command ends at the
 * same angle whether the arm came early or late. What shows is on which side of the
 * predicted rotational wait, the leg's slack, the error was: a longer one costs a
 * turn. So each completion is a trial at its slack, and the share of turns lost
 * at a slack is the tail of the errors' distribution there.
 */
#ifndef FB_CONSERVATISM_H
#define FB_CONSERVATISM_H

#include "disk_model.h"

#define FB_CONSERVATISM_BANDS DM_BANDS
#define FB_CONSERVATISM_BINS 64		/* slacks told apart ... */
#define FB_CONSERVATISM_BIN_NS 20000	/* ... of so much each; the last one is what lies beyond */
/* until there are trials, unless fb_conservatism_expect(): the paper's value */
#define FB_CONSERVATISM_START_NS 400000
#define FB_CONSERVATISM_TARGET_PPM 5000	/* default target */

/**
 * enum fb_conservatism_cause - whose turn it would be
 * @FB_CONSERVATISM_PLAIN: foreground, with nothing of ours before it in its gap
 * @FB_CONSERVATISM_READ: a free read of its own
 * @FB_CONSERVATISM_BEHIND: foreground behind a free read in its gap, or with one prepended
 */
enum fb_conservatism_cause {
	FB_CONSERVATISM_PLAIN,
	FB_CONSERVATISM_READ,
	FB_CONSERVATISM_BEHIND,
};

/**
 * struct fb_conservatism_leg - a way of the head that has been gone
 * @dist: cylinders
 * @cause: why
 * @slack_ns: predicted rotational wait at its end
 * @gap_ns: rotational wait of the foreground had it gone alone; FB_CONSERVATISM_BEHIND only
 * @extra_ns: what the free read costs it though all goes as planned (fb_search.extra_ns);
 *	FB_CONSERVATISM_BEHIND only
 * @late_ns: measured less predicted media end, whole turns included
 * @simple: one track, not landed within the sectors wanted: it says something about the
 *	seek. The others count as cost only
 */
struct fb_conservatism_leg {
	u32 dist;
	enum fb_conservatism_cause cause;
	u64 slack_ns;
	u64 gap_ns;
	u64 extra_ns;
	s64 late_ns;
	bool simple;
};

/**
 * struct fb_conservatism_tail - trials by slack
 * @n: trials, in 64ths, for they fade
 * @lost: turns lost in them, likewise
 */
struct fb_conservatism_tail {
	u32 n[FB_CONSERVATISM_BINS];
	u32 lost[FB_CONSERVATISM_BINS];
};

/**
 * struct fb_conservatism_odds - what may go wrong and what it costs, for fb_limits.odds
 * @floor_ns: conservatism by band that a plan must keep whatever it is worth
 * @late: chance to lose a turn by band and margin, 16 binary places: see fb_conservatism_chance()
 * @early: chance to gain one, by what is missing of a turn
 * @price: what a lost turn costs, in 256ths of what a gap brings
 *
 * A margin that is the same for all plans refuses those that are worth their risk, and takes
 * such as are not. So the search weighs: what a plan brings, less what its
 * legs' chances cost; the feedback moves the price until the target is met.
 */
struct fb_conservatism_odds {
	u32 floor_ns[FB_CONSERVATISM_BANDS];
	u16 late[FB_CONSERVATISM_BANDS][FB_CONSERVATISM_BINS];
	u16 early[FB_CONSERVATISM_BINS];
	u32 price;
};

/**
 * struct fb_conservatism - what was learnt
 * @period_ns: one revolution
 * @target_ppm: foreground time that free reads may cost, of all time
 * @tail: trials by distance band
 * @all: those of every band but 0
 * @early: of every band, by what was missing of a turn, and turns gained
 * @share: chance to lose a turn at a slack, all but band 0, 30 binary places
 * @gain: chance to gain a turn, by what is missing of one
 * @prior: what the model makes believe of @share, if @told
 * @told: the model has said how much seeks vary
 * @own_n: foreground requests of the last slack alone, as in struct fb_conservatism_tail
 * @own_lost: turns lost by them
 * @odds: for a search that weighs the risk itself
 * @one_ns: conservatism for all distances
 * @early_ns: how near a whole turn a gap is left alone
 * @trials: how many
 * @turn: which band is reckoned next
 * @risk: chance of a lost turn at which the conservatism is put, 30 binary places
 * @since_ns: beginning of the feedback's window
 * @behind: legs with cause FB_CONSERVATISM_BEHIND in it
 * @cost_ns: what free reads cost in it
 * @cost_ppm: and in the recent ones, of the time
 */
struct fb_conservatism {
	u64 period_ns;
	u32 target_ppm;
	struct fb_conservatism_tail tail[FB_CONSERVATISM_BANDS];
	struct fb_conservatism_tail all;
	struct fb_conservatism_tail early;
	u32 share[FB_CONSERVATISM_BINS];
	u32 gain[FB_CONSERVATISM_BINS];
	u32 prior[FB_CONSERVATISM_BINS];
	bool told;
	u32 own_n;
	u32 own_lost;
	struct fb_conservatism_odds odds;
	u32 one_ns;
	u32 early_ns;
	u64 trials;
	u32 turn;
	u32 risk;
	u64 since_ns;
	u32 behind;
	s64 cost_ns;
	s32 cost_ppm;
};

/**
 * fb_conservatism_init() - nothing known yet: FB_CONSERVATISM_START_NS everywhere
 * @m: filled
 * @period_ns: one revolution, not 0
 * @target_ppm: what free reads may cost, 1 .. 1000000
 */
void fb_conservatism_init(struct fb_conservatism *m, u64 period_ns, u32 target_ppm);

/**
 * fb_conservatism_expect() - begin with how much the model says that seeks vary
 * @m: just after fb_conservatism_init()
 * @dm: model; one that says nothing of it changes nothing
 *
 * The conservatism of a band is then where the tail of a Laplace distribution of its spread
 * leaves the risk that there is to begin with, instead of FB_CONSERVATISM_START_NS.
 */
void fb_conservatism_expect(struct fb_conservatism *m, const struct disk_model *dm);

/**
 * fb_conservatism_target() - another target from now on
 * @m: state; what was learnt of the drive stays
 * @target_ppm: 1 .. 1000000
 */
void fb_conservatism_target(struct fb_conservatism *m, u32 target_ppm);

/**
 * fb_conservatism_band() - a distance's band
 * @dist: cylinders
 *
 * Return: 0 for a head switch or none, ascending with @dist.
 */
static inline u32 fb_conservatism_band(u32 dist)
{
	return dm_band(dist);
}

/**
 * fb_conservatism_predict() - what of a leg is known beforehand
 * @leg: @dist, @slack_ns and @simple are filled, the rest is left alone
 * @dm: model
 * @from: where the head sets out
 * @lbn: first LBN of the command
 * @nsect: its length, at least 1
 * @acc: its access by dm_access() from there
 */
void fb_conservatism_predict(struct fb_conservatism_leg *leg, const struct disk_model *dm,
			     const struct dm_place *from, u64 lbn, u32 nsect,
			     const struct dm_access *acc);

/**
 * fb_conservatism_learn() - a command has ended whose end had been predicted
 * @m: state
 * @now_ns: the time
 * @leg: what it was
 */
void fb_conservatism_learn(struct fb_conservatism *m, u64 now_ns,
			   const struct fb_conservatism_leg *leg);

/**
 * fb_conservatism_one_ns() - what to add to seek estimates, whatever their distances
 * @m: state
 *
 * Return: ns; changes by a few us a second at most.
 */
u32 fb_conservatism_one_ns(const struct fb_conservatism *m);

/**
 * fb_conservatism_chance() - read one of the tables of struct fb_conservatism_odds
 * @chance: the table
 * @margin_ns: how much later, or earlier, than expected it may be
 *
 * Return: 16 binary places.
 */
u32 fb_conservatism_chance(const u16 chance[FB_CONSERVATISM_BINS], u64 margin_ns);

/**
 * fb_conservatism_spare() - had a gap better have no free read?
 * @m: state
 * @gap_ns: rotational wait of its foreground request
 *
 * Where nearly a whole turn is to be waited, the foreground alone often comes early enough
 * to gain that turn. A free read would take the chance away, which costs as much as a miss.
 *
 * Return: true: leave it alone. Some others, too, to see what is gained there.
 */
bool fb_conservatism_spare(const struct fb_conservatism *m, u64 gap_ns);

#endif /* FB_CONSERVATISM_H */
