/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The mailbox between the scheduler and the thread: the gap before the next foreground request,
 * and the plan for it. Kernel only.
 */
#ifndef FB_GAP_H
#define FB_GAP_H

#include "core/plan.h"

struct fb_disk;
struct fb_disk_client;

/**
 * struct fb_gap_mail - the gap and its plan; all [L]
 * @gen: generation of the gap; a plan of another generation is void
 * @open: @gap waits for the search
 * @gap: the gap before the next foreground request
 * @lim: limits of its plan
 * @plan: best plan for @gap, of generation @plan_gen
 * @plan_gen: see @plan
 * @search_ns: budget of a search
 * @probing: of @lim.lift, use only what fb_disk.lookahead allows
 */
struct fb_gap_mail {
	u32 gen;
	bool open;
	struct fb_gap gap;
	struct fb_limits lim;
	struct fb_plan plan;
	u32 plan_gen;
	u64 search_ns;
	bool probing;
};

extern const struct fb_disk_client fb_gap_client;
void fb_gap_open(struct fb_disk *fd, const struct fb_gap *gap, const struct fb_limits *lim);
void fb_gap_void(struct fb_disk *fd);
const struct fb_plan *fb_gap_plan(const struct fb_disk *fd);
bool fb_gap_take(struct fb_disk *fd, struct fb_gap *gap, struct fb_limits *lim);
bool fb_gap_publish(struct fb_disk *fd, const struct fb_plan *plan, u32 gen);

#endif /* FB_GAP_H */
