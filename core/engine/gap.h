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

/* The gap and its plan */
struct fb_gap_mail {
	u32 gen;			/* of the gap; what is of another generation is void */
	bool open;			/* @gap waits for the search */
	bool asked;	/* the scheduler has gaps for the search, one by one (auto, joint) */
	bool shared;			/* @gap is one of those */
	struct fb_gap gap;		/* the gap before the next foreground request */
	struct fb_limits lim;		/* limits of its plan */
	struct fb_plan plan;		/* best plan for @gap ... */
	u32 plan_gen;			/* ... of this generation */
	u64 search_ns;			/* budget of a search */
	bool probing;	/* use only those of @lim.lift that the look-ahead probe allows */
	u64 spent_ns;			/* what the searches of this round have taken */
	u32 price;	/* of a lost turn, for a shared gap: fb_conservatism_odds.price */
	u32 cost_ppm;			/* fb_joint.cost_ppm, for a shared gap */
	u64 mean;			/* value gained per gap lately: fb_block_value.mean */
	bool settled;			/* a shared gap is used; the search has not seen it ... */
	u64 value;			/* ... and what its plan brings */
};

/* Open a gap for the search. @shared: it is one that the search has asked for. */
void fb_gap_open(struct fb_gap_mail *mail, const struct fb_gap *gap, const struct fb_limits *lim,
		 bool shared);
/* Have the search ask for gaps, one by one (fb_round_next()). @joint: what it may cost. */
void fb_gap_ask(struct fb_gap_mail *mail, const struct fb_joint *joint);
/* Say which gap is used, and with which plan, which may be none. @searched: it has been. */
void fb_gap_settle(struct fb_gap_mail *mail, const struct fb_gap *gap, const struct fb_plan *plan,
		   bool searched);
/* Close the gap; its plan and a search of it become void. */
void fb_gap_void(struct fb_gap_mail *mail);
/* The plan for the present gap, or NULL. */
const struct fb_plan *fb_gap_plan(const struct fb_gap_mail *mail);
/* Take the open gap, @mail->gap with @mail->lim, to search it; false: none is open. */
bool fb_gap_take(struct fb_gap_mail *mail, struct fb_lookahead *probe, u64 now_ns);
/* Publish the best plan so far for a gap of this generation; false: that has been voided. */
bool fb_gap_publish(struct fb_gap_mail *mail, const struct fb_plan *plan, u32 gen);

#endif /* FB_ENGINE_GAP_H */
