/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The choice of the next request and of the free read before it, together. Whoever chooses by seek
 * alone (freeblock paper, 4.2) searches its gap mostly in vain when few blocks are left. So the
 * pending requests are ranked by what a gap with such a wait brings on the mean, less the price of
 * their time; the gaps of the best few are searched, and that request goes whose plan is worth
 * most, less that price. A controller moves the price, in mean values of a gap, until free reads
 * cost what they may. Core; the caller serialises.
 */
#ifndef FB_JOINT_H
#define FB_JOINT_H

#include "core/conservatism.h"
#include "core/plan.h"
#include "core/policy.h"

#define FB_JOINT_CANDIDATES 3	/* with two a whole scan of the Atlas takes 3.3 % longer */
#define FB_JOINT_SLICE 32		/* requests that are ranked in one step */
#define FB_JOINT_COST_PPM 10000	/* recommended target */
#define FB_JOINT_COST_PPM_MAX (FB_PPM / 2)

/* A request whose gap is to be searched */
struct fb_joint_candidate {
	struct fb_policy_req *req;
	u64 seek_ns;			/* its predicted seek */
	u64 latency_ns;			/* its predicted rotational latency */
	s64 expected_ns;		/* both, with the odds of a lost turn */
	u64 onward_ns;	/* shortest positioning time from its end to another pending request */
	u64 age_ns;			/* its age */
	s64 time_ns;	/* priced: @expected_ns, a part of @onward_ns, less its age's worth */
	s64 rank;			/* private: its rank */
};

/* One choice */
struct fb_joint_round {
	struct fb_joint_candidate candidate[FB_JOINT_CANDIDATES];	/* the best by rank first */
	u32 n;
	enum fb_policy_class class;	/* of them */
	/* of the pool's list, what is ranked next; the list itself: all are */
	const struct list_head *next;
	u32 best;			/* the best so far by score; 0 until one is scored */
	bool scored;			/* one has been */
	s64 score;			/* the score of @best, 256ths of a plan's value */
};

/* What a round is computed with */
struct fb_joint_at {
	const struct disk_model *dm;
	const struct fb_conservatism_odds *odds;	/* odds of a lost turn, or NULL: unknown */
	struct fb_policy_pool *pool;	/* the pending requests; scratch fields are overwritten */
	const struct dm_place *head;	/* where the head will be */
	u64 now_ns;			/* the time, for ages */
};

/* The price, and what it is made from; private but for those named */
struct fb_joint {
	/*
	 * what free reads may cost, order included: a share of the foreground's throughput on a
	 * drive that is never idle, else of its mean response time; may be changed at any time
	 */
	u32 cost_ppm;
	u32 price;			/* of a turn, in 256ths of the mean value of a gap */
	bool fixed;			/* @price does not move */
	s32 window_ppm;	/* what free reads cost in the last window, order included */
	u64 latency;	/* rotational latency of those chosen, mean * FB_VALUE_GAPS */
	u64 age;			/* their age then, the same */
	u64 since_ns;			/* beginning of the controller's window */
	s64 owed_ppm;	/* what free reads have cost too much in all; below 0: too little */
	u32 owed_of_ppm;		/* the @cost_ppm that this is of */
	s64 order_ns;			/* what the order cost in the window */
	u32 rounds;			/* choices in the window */
};

/* Initialise. @cost_ppm: see struct fb_joint. */
void fb_joint_init(struct fb_joint *j, const struct disk_model *dm, u32 cost_ppm);
/* Price of a turn that is lost behind a free read, for fb_block_value_miss(). */
u32 fb_joint_miss_price(const struct fb_joint *j);

/* Begin a round without candidates, of the class that fb_policy_choose() has found. */
void fb_joint_begin(struct fb_joint_round *r, const struct fb_policy_pool *pool,
		    enum fb_policy_class class);
/*
 * Rank @most requests. False: all are. Others than those of fb_joint_has() may come and go between
 * two steps; the head stays. Under 12,000 instructions with FB_JOINT_SLICE.
 */
bool fb_joint_rank(const struct fb_joint *j, const struct fb_joint_at *at,
		   struct fb_joint_round *r, u32 most);
/* Is a request a candidate of the round, or the next to be ranked? */
bool fb_joint_has(const struct fb_joint_round *r, const struct fb_policy_req *req);
/* Look where a candidate leads; before it is offered. Under 20,000 instructions at 256 pending. */
void fb_joint_onward(const struct fb_joint *j, const struct fb_joint_at *at,
		     struct fb_joint_round *r, u32 i);
/* What a candidate's plan must be worth more than to be the best. @mean: fb_block_value.mean. */
u64 fb_joint_least(const struct fb_joint *j, const struct disk_model *dm, u64 mean,
		   const struct fb_joint_round *r, u32 i);
/* Score a candidate whose gap has been searched, or is left alone; of equals the first stays. */
void fb_joint_offer(const struct fb_joint *j, const struct disk_model *dm, u64 mean,
		    struct fb_joint_round *r, u32 i, const struct fb_plan *plan);
/* Make a candidate the best, whatever the others bring. */
void fb_joint_insist(struct fb_joint_round *r, u32 i);
/* Note that @r->best goes next. */
void fb_joint_sent(struct fb_joint *j, const struct fb_joint_round *r);

/*
 * Account for a request that goes next. @order_ns: what the order costs it; @missed_ppm:
 * fb_conservatism.cost_ppm; @idle: fb_policy_pool.idle. True: @j->window_ppm is new.
 */
bool fb_joint_charge(struct fb_joint *j, s64 order_ns, s32 missed_ppm, u32 idle, u64 now_ns);

#endif /* FB_JOINT_H */
