/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Conservatism "auto": how much to add to a seek estimate, so that free reads cost the
 * foreground no more than a target (freeblock paper, 3.3 and 5.3; DESIGN 4). Core; the
 * caller serialises. Nothing here sleeps or allocates.
 *
 * Seek errors cannot be measured: the head waits for its sector, so a command ends at the
 * same angle whether the arm came early or late. What shows is on which side of the
 * predicted rotational wait, the leg's slack, the error was: a longer one costs a
 * turn. So each completion is a trial at its slack, and the share of turns lost
 * at a slack is the tail of the errors' distribution there.
 */
#ifndef FB_MARGIN_H
#define FB_MARGIN_H

#include "disk_model.h"

#define FBM_BANDS DM_BANDS
#define FBM_BINS 64		/* slacks told apart ... */
#define FBM_BIN_NS 20000	/* ... of so much each; the last one is what lies beyond */
#define FBM_START_NS 400000	/* until there are trials, unless fbm_expect(): the paper's value */
#define FBM_TARGET_PPM 5000	/* default target */

/**
 * enum fbm_cause - whose turn it would be
 * @FBM_PLAIN: foreground, with nothing of ours before it in its gap
 * @FBM_READ: a free read of its own
 * @FBM_BEHIND: foreground behind a free read in its gap, or with one prepended
 */
enum fbm_cause {
	FBM_PLAIN,
	FBM_READ,
	FBM_BEHIND,
};

/**
 * struct fbm_leg - a way of the head that has been gone
 * @dist: cylinders
 * @cause: why
 * @slack_ns: predicted rotational wait at its end
 * @gap_ns: rotational wait of the foreground had it gone alone; FBM_BEHIND only
 * @extra_ns: what the free read costs it though all goes as planned (fb_search.extra_ns);
 *	FBM_BEHIND only
 * @late_ns: measured less predicted media end, whole turns included
 * @simple: one track, not landed within the sectors wanted: it says something about the
 *	seek. The others count as cost only
 */
struct fbm_leg {
	u32 dist;
	enum fbm_cause cause;
	u64 slack_ns;
	u64 gap_ns;
	u64 extra_ns;
	s64 late_ns;
	bool simple;
};

/**
 * struct fbm_tail - trials by slack
 * @n: trials, in 64ths, for they fade
 * @lost: turns lost in them, likewise
 */
struct fbm_tail {
	u32 n[FBM_BINS];
	u32 lost[FBM_BINS];
};

/**
 * struct fbm_odds - what may go wrong and what it costs, for fb_limits.odds
 * @floor_ns: conservatism by band that a plan must keep whatever it is worth
 * @late: chance to lose a turn by band and margin, 16 binary places: see fbm_chance()
 * @early: chance to gain one, by what is missing of a turn
 * @price: what a lost turn costs, in 256ths of what a gap brings
 *
 * A margin that is the same for all plans refuses those that are worth their risk, and takes
 * such as are not. So the search weighs: what a plan brings, less what its
 * legs' chances cost; the feedback moves the price until the target is met.
 */
struct fbm_odds {
	u32 floor_ns[FBM_BANDS];
	u16 late[FBM_BANDS][FBM_BINS];
	u16 early[FBM_BINS];
	u32 price;
};

/**
 * struct fb_margin - what was learnt
 * @period_ns: one revolution
 * @target_ppm: foreground time that free reads may cost, of all time
 * @tail: trials by distance band
 * @all: those of every band but 0
 * @early: of every band, by what was missing of a turn, and turns gained
 * @share: chance to lose a turn at a slack, all but band 0, 30 binary places
 * @gain: chance to gain a turn, by what is missing of one
 * @prior: what the model makes believe of @share, if @told
 * @told: the model has said how much seeks vary
 * @own_n: foreground requests of the last slack alone, as in struct fbm_tail
 * @own_lost: turns lost by them
 * @odds: for a search that weighs the risk itself
 * @one_ns: conservatism for all distances
 * @early_ns: how near a whole turn a gap is left alone
 * @trials: how many
 * @turn: which band is reckoned next
 * @risk: chance of a lost turn at which the conservatism is put, 30 binary places
 * @since_ns: beginning of the feedback's window
 * @behind: legs with cause FBM_BEHIND in it
 * @cost_ns: what free reads cost in it
 * @cost_ppm: and in the recent ones, of the time
 */
struct fb_margin {
	u64 period_ns;
	u32 target_ppm;
	struct fbm_tail tail[FBM_BANDS];
	struct fbm_tail all;
	struct fbm_tail early;
	u32 share[FBM_BINS];
	u32 gain[FBM_BINS];
	u32 prior[FBM_BINS];
	bool told;
	u32 own_n;
	u32 own_lost;
	struct fbm_odds odds;
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
 * fbm_init() - nothing known yet: FBM_START_NS everywhere
 * @m: filled
 * @period_ns: one revolution, not 0
 * @target_ppm: what free reads may cost, 1 .. 1000000
 */
void fbm_init(struct fb_margin *m, u64 period_ns, u32 target_ppm);

/**
 * fbm_expect() - begin with how much the model says that seeks vary
 * @m: just after fbm_init()
 * @dm: model; one that says nothing of it changes nothing
 *
 * The conservatism of a band is then where the tail of a Laplace distribution of its spread
 * leaves the risk that there is to begin with, instead of FBM_START_NS.
 */
void fbm_expect(struct fb_margin *m, const struct disk_model *dm);

/**
 * fbm_target() - another target from now on
 * @m: state; what was learnt of the drive stays
 * @target_ppm: 1 .. 1000000
 */
void fbm_target(struct fb_margin *m, u32 target_ppm);

/**
 * fbm_band() - a distance's band
 * @dist: cylinders
 *
 * Return: 0 for a head switch or none, ascending with @dist.
 */
static inline u32 fbm_band(u32 dist)
{
	return dm_band(dist);
}

/**
 * fbm_predict() - what of a leg is known beforehand
 * @leg: @dist, @slack_ns and @simple are filled, the rest is left alone
 * @dm: model
 * @from: where the head sets out
 * @lbn: first LBN of the command
 * @nsect: its length, at least 1
 * @acc: its access by dm_access() from there
 */
void fbm_predict(struct fbm_leg *leg, const struct disk_model *dm, const struct dm_place *from,
		 u64 lbn, u32 nsect, const struct dm_access *acc);

/**
 * fbm_learn() - a command has ended whose end had been predicted
 * @m: state
 * @now_ns: the time
 * @leg: what it was
 */
void fbm_learn(struct fb_margin *m, u64 now_ns, const struct fbm_leg *leg);

/**
 * fbm_one_ns() - what to add to seek estimates, whatever their distances
 * @m: state
 *
 * Return: ns; changes by a few us a second at most.
 */
u32 fbm_one_ns(const struct fb_margin *m);

/**
 * fbm_chance() - read one of the tables of struct fbm_odds
 * @chance: the table
 * @margin_ns: how much later, or earlier, than expected it may be
 *
 * Return: 16 binary places.
 */
u32 fbm_chance(const u16 chance[FBM_BINS], u64 margin_ns);

/**
 * fbm_spare() - had a gap better have no free read?
 * @m: state
 * @gap_ns: rotational wait of its foreground request
 *
 * Where nearly a whole turn is to be waited, the foreground alone often comes early enough
 * to gain that turn. A free read would take the chance away, which costs as much as a miss.
 *
 * Return: true: leave it alone. Some others, too, to see what is gained there.
 */
bool fbm_spare(const struct fb_margin *m, u64 gap_ns);

#endif /* FB_MARGIN_H */
