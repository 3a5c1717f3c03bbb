/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The mailbox between the scheduler and the thread: the gap before the next foreground request,
 * and the plan for it. Kernel only.
 */
#ifndef FB_GAP_H
#define FB_GAP_H

#include "core/joint.h"
#include "core/plan.h"

struct fb_disk;
struct fb_disk_client;

/**
 * struct fb_gap_mail - the gap and its plan; all [L]
 * @gen: generation of the gap; a plan of another generation is void
 * @open: @gap waits for the search
 * @asked: the scheduler has gaps for the search, one after the other (auto and joint)
 * @shared: @gap is one of those
 * @gap: the gap before the next foreground request
 * @lim: limits of its plan
 * @plan: best plan for @gap, of generation @plan_gen
 * @plan_gen: see @plan
 * @search_ns: budget of a search
 * @probing: of @lim.lift, use only what fb_disk.lookahead allows
 * @spent_ns: what the searches of this round have taken
 * @price: of a lost turn, for a shared gap; see fb_conservatism_odds.price
 * @cost_ppm: fb_joint.cost_ppm, for a shared gap
 * @mean: value gained per gap lately; see fb_block_value.mean
 * @settled: one of the shared gaps is used, and its plan brings @value; the thread has not seen it
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

extern const struct fb_disk_client fb_gap_client;
void fb_gap_open(struct fb_disk *fd, const struct fb_gap *gap, const struct fb_limits *lim);
void fb_gap_ask(struct fb_disk *fd, const struct fb_joint *joint);
void fb_gap_go_on(struct fb_disk *fd, const struct fb_gap *gap, const struct fb_limits *lim);
void fb_gap_settle(struct fb_disk *fd, const struct fb_gap *gap, const struct fb_plan *plan,
		   bool searched);
void fb_gap_void(struct fb_disk *fd);
const struct fb_plan *fb_gap_plan(const struct fb_disk *fd);
bool fb_gap_take(struct fb_disk *fd, struct fb_gap *gap, struct fb_limits *lim);
bool fb_gap_publish(struct fb_disk *fd, const struct fb_plan *plan, u32 gen);

#endif /* FB_GAP_H */
