/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How the scheduler hands gaps to the search, and gets plans back (freeblock paper, 4.1 and 4.3;
 * Documentation/design.rst, The gap, the plan, and the carrier). Whatever voids a gap changes the
 * generation, and a plan of another generation is void, too: so nobody waits for a search.
 * Core; the caller serialises. Nothing here sleeps or allocates.
 */
#ifndef FB_ENGINE_GAP_H
#define FB_ENGINE_GAP_H

#include "core/joint.h"
#include "core/lookahead.h"
#include "core/plan.h"

/**
 * struct fb_gap_mail - the gap and its plan
 * @gen: generation of the gap; a plan of another generation is void
 * @open: @gap waits for the search
 * @asked: the scheduler has gaps for the search, one after the other (auto and joint)
 * @shared: @gap is one of those
 * @gap: the gap before the next foreground request
 * @lim: limits of its plan
 * @plan: best plan for @gap, of generation @plan_gen
 * @plan_gen: see @plan
 * @search_ns: budget of a search
 * @probing: of @lim.lift, use only what the look-ahead probe allows
 * @spent_ns: what the searches of this round have taken
 * @price: of a lost turn, for a shared gap; see fb_conservatism_odds.price
 * @cost_ppm: fb_joint.cost_ppm, for a shared gap
 * @mean: value gained per gap lately; see fb_block_value.mean
 * @settled: one of the shared gaps is used, and its plan brings @value; the search has not seen it
 * @value: see @settled
 */
struct fb_gap_mail {
	u32 gen;
	bool open;
	bool asked;
	bool shared;
	struct fb_gap gap;
	struct fb_limits lim;
	struct fb_plan plan;
	u32 plan_gen;
	u64 search_ns;
	bool probing;
	u64 spent_ns;
	u32 price;
	u32 cost_ppm;
	u64 mean;
	bool settled;
	u64 value;
};

void fb_gap_open(struct fb_gap_mail *mail, const struct fb_gap *gap, const struct fb_limits *lim,
		 bool shared);
void fb_gap_ask(struct fb_gap_mail *mail, const struct fb_joint *joint);
void fb_gap_settle(struct fb_gap_mail *mail, const struct fb_gap *gap, const struct fb_plan *plan,
		   bool searched);
void fb_gap_void(struct fb_gap_mail *mail);
const struct fb_plan *fb_gap_plan(const struct fb_gap_mail *mail);
bool fb_gap_take(struct fb_gap_mail *mail, struct fb_lookahead *probe, u64 now_ns);
bool fb_gap_publish(struct fb_gap_mail *mail, const struct fb_plan *plan, u32 gen);

#endif /* FB_ENGINE_GAP_H */
