/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The scheduler: which foreground request goes next, what is read in the gap before it, and what is
 * at the drive (freeblock paper, 3 and 4). A request is added to @pool, becomes the choice, a plan
 * is found for the gap before it, fb_engine_next() hands it out, fb_engine_judge() judges its end.
 * The host serialises all calls, and those of struct fb_engine_ops come from within them. Core.
 */
#ifndef FB_ENGINE_H
#define FB_ENGINE_H

#include "core/completion.h"
#include "core/destage.h"
#include "core/idle/reader.h"
#include "core/joint.h"
#include "core/lookahead.h"
#include "core/order_cost.h"
#include "core/orders.h"
#include "core/policy.h"

#define FB_ENGINE_DEPTH 2	/* one command in service, one behind it (freeblock paper, 3.3) */

/* a choice waits for its plan only if its sector comes four waits later, so that no turn is lost */
#define FB_ENGINE_PAUSES 4
/*
 * One in 16 only while more than 1/32 of the last 64 or so were late. Of an idle Atlas 1 in 700 is;
 * of a nearline16 without idle reads, whose head goes on as it reads ahead, 1 in 16.
 */
#define FB_ENGINE_PAUSE_EVERY 16
#define FB_ENGINE_PAUSE_LATE (FB_ONE / 32)
#define FB_ENGINE_PAUSE_SHIFT 6

/* a command must reach the drive this long before its service is to begin */
#define FB_ENGINE_LEAD_NS 200000ULL

/*
 * How the scheduler hands gaps to the search, and gets plans back (freeblock paper, 4.1 and 4.3).
 * Whatever voids a gap changes the generation, and a plan of another generation is void, too: so
 * the scheduler never waits for a search. Core; the caller serialises.
 */
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

/* A foreground request, or a read of the host's own */
struct fb_engine_rq {
	struct fb_policy_req fg;	/* its entry in the pool */
	struct fb_completion_cmd cmd;	/* what is predicted of it, and what its end teaches */
	struct list_head flight;	/* in fb_engine.flight */
	bool media;			/* it reads or writes sectors */
	bool cacheable;			/* a write; it may be reported when the cache has it */
	bool ours;			/* the host's own, and no part of a foreground request */
	bool background;		/* others want it when there is nothing else to do */
};

/* How a command is to be sent */
struct fb_engine_send {
	enum fb_cause cause;		/* what precedes it in its gap */
	u64 lbn;			/* first sector, with what is prepended */
	u32 nsect;
	u32 lifts;			/* enum fb_lift: limits that it lifts */
	u64 gap_ns;			/* its rotational latency if nothing were read before it */
	bool paused;			/* it is the first since a pause */
};

/* Counters */
struct fb_engine_stats {
	u64 choices;			/* made from the whole pool */
	u64 choice_ns;			/* the time they took ... */
	u64 choice_max_ns;		/* ... and the longest */
	u64 gaps;			/* offered to the search */
	u64 several;			/* plans of several pieces begun */
	u64 dropped;			/* their pieces given up: no carrier, or outdated */
	u64 too_late;			/* plans not used: the drive was about to finish */
	u64 out_of_order;		/* completions overtaken by the drive */
	u64 max_in_flight;		/* most predicted commands at the drive at once */
	struct fb_order_cost_sum order;	/* what the order costs against SPTF */
	struct fb_completion_stats ends;	/* of predictions */
};

struct fb_engine;

/* What the host does for the engine; @search, @submit, @hold and @priced may be NULL */
struct fb_engine_ops {
	u64 (*now)(const struct fb_engine *e);
	bool (*unmapped)(const struct fb_engine *e);	/* no map is used, nothing predicted */
	bool (*by_lbn)(const struct fb_engine *e);	/* then the policy orders by LBN */
	bool (*unphased)(struct fb_engine *e, u64 now_ns);	/* the angle cannot be found */
	/* blocks are wanted, and may be read in gaps */
	bool (*may_read)(const struct fb_engine *e, u64 now_ns);
	/* fill in what tasks want, and tell @destage about the write cache */
	void (*view)(struct fb_engine *e, struct fb_orders_view *v);
	void (*decided)(struct fb_engine *e, bool changed);	/* it is decided who orders */
	void (*learners)(struct fb_engine *e, struct fb_completion *l);
	void (*learnt)(struct fb_engine *e, struct fb_engine_rq *rq,
		       const struct fb_completion_result *result, u64 now_ns);
	/* bound a plan for the gap before a request; false: nothing is read before it */
	bool (*limit)(struct fb_engine *e, struct fb_engine_rq *rq, struct fb_limits *lim);
	fb_policy_above_fn above;
	void (*search)(struct fb_engine *e, u64 now_ns);	/* NULL: another thread searches */
	void (*wake)(struct fb_engine *e);	/* there is something to search */
	/* turn a reserved request into a read of a piece; @more: another will follow. NULL: none */
	struct fb_engine_rq *(*aim)(struct fb_engine *e, const struct fb_plan_piece *p, bool more);
	/* false: the piece does not fit */
	bool (*prepend)(struct fb_engine *e, struct fb_engine_rq *rq,
			const struct fb_plan_piece *p);
	/* a request leaves the pool; its sectors are those that are sent */
	void (*take)(struct fb_engine *e, struct fb_engine_rq *rq);
	/* send a command; returns the time. NULL: the host does it later */
	u64 (*submit)(struct fb_engine *e, struct fb_engine_rq *rq, u64 now_ns);
	/* call fb_engine_next() then; NULL: the host looks at fb_engine.window_ns */
	void (*hold)(struct fb_engine *e, u64 until_ns);
	void (*priced)(struct fb_engine *e);	/* fb_round.joint has ended a window */
};

/* Policies joint and auto: the choice under way, and what it costs */
struct fb_round {
	struct fb_joint joint;		/* the price */
	struct fb_order_cost *order_cost;	/* the same requests in the order of SPTF */
	bool begun;			/* there is a round, if @gen is the mailbox's, too */
	bool ranked;			/* all requests are, and @r is complete */
	bool searching;			/* the search has the gap of the one before @next */
	bool looked_at;			/* the gap of the best has been searched */
	u32 gen;			/* generation of the mailbox */
	u32 next;			/* the candidate that is searched next */
	struct fb_joint_round r;	/* the candidates so far */
	struct fb_gap gap;		/* before the best */
	struct fb_plan plan;		/* of the best; FB_PLAN_NONE: it goes alone */
};

/* The scheduler */
struct fb_engine {
	const struct fb_engine_ops *ops;	/* the host */
	struct disk_model *dm;		/* NULL: there is none, and nothing is predicted */
	struct fb_gap_mail *mail;	/* gaps for the search */
	struct fb_destage *destage;	/* what the drive's cache still has to write */
	struct fb_idle_reader *idle;	/* reads while there is no foreground */
	struct fb_lookahead *probe;	/* what is known of the drive's look-ahead */
	const struct fb_conservatism *margin;	/* the odds of a lost turn */
	struct fb_engine_stats *stats;
	u64 lead_ns;			/* how long before its service a command must be there */
	u64 wake_least_ns;		/* what the host needs at least to send one held back */

	/* settings: they may change at any time, then fb_engine_changed() is called */
	bool auto_depth;		/* the drive orders while that is better */
	u32 depth;			/* commands at the drive while it does not */
	u32 hold;			/* hold the second command back */
	u32 lift;			/* enum fb_lift: limits that searches lift ... */
	bool auto_lift;			/* ... where the probe allows it */
	bool auto_margin;		/* the conservatism is learnt */
	u64 search_ns;			/* time budget of a search */

	/* what is pending, and what goes next */
	struct fb_policy_pool pool;	/* pending foreground requests */
	struct fb_orders orders;	/* who orders, but for settings and the write cache */
	bool drive_orders;		/* nothing is chosen, nor predicted but idle reads */
	struct fb_policy_choice choice;	/* the provisional next request */
	struct fb_round round;		/* what may take its place under policies joint and auto */
	u32 pause_late;	/* share of pauses that a command ended late behind; FB_ONE: all */
	u32 pauses;			/* left out, as too many were late */
	bool paused;	/* @choice waits for its plan until @window_ns, which costs nothing */
	bool pinned;			/* @choice is final: its gap's separate read was sent */
	struct fb_plan plan;		/* in use while @pinned; FB_PLAN_NONE: all of it was sent */
	u32 next_piece;			/* of @plan */
	u32 lifts;			/* limits that the last command sent has lifted */

	/* what is at the drive */
	struct list_head flight;	/* requests, in the order sent */
	u32 nr_flight;			/* number of @flight */
	u32 nr_idle;			/* idle reads among them */
	u32 nr_untracked;		/* not in @flight: nothing is read in gaps meanwhile */
	struct fb_head head;		/* head and phase */
	bool tail_known;		/* @tail is valid */
	struct dm_place tail;		/* where the head will be at the end of the last one sent */
	u64 window_ns;			/* nothing is sent until then; 0: it may be */
	u64 pause_ns;			/* a plan made in a pause must be sent by then */
	u64 wake_ns;			/* estimated time to send a command that was held back */
};

/* its completion will be predicted: the policy orders, by a map of the drive */
static inline bool fb_engine_predicts(const struct fb_engine *e)
{
	return !e->drive_orders && !e->ops->unmapped(e);
}

/* requests are chosen together with the free reads before them */
static inline bool fb_engine_is_joint(const struct fb_engine *e)
{
	return e->pool.policy == FB_POLICY_AUTO;
}

/* of a command at the drive: neither a free read, nor a background read not yet expired */
static inline bool fb_engine_is_foreground(const struct fb_engine_rq *rq)
{
	return !rq->ours && !rq->background;
}

/* a write that the drive reports when its cache has it, and nobody waits for the medium */
static inline bool fb_engine_is_cached(const struct fb_engine *e, const struct fb_engine_rq *rq)
{
	return e->destage->on && rq->cacheable;
}

/* only when there is a choice */
static inline struct fb_engine_rq *fb_engine_chosen(const struct fb_engine *e)
{
	return container_of(e->choice.req, struct fb_engine_rq, fg);
}

/* rotational latency of the choice if nothing is read before it; 0: unknown */
static inline u64 fb_engine_gap_ns(const struct fb_engine *e)
{
	return e->choice.predicted ? e->choice.pos_ns - e->choice.seek_ns : 0;
}

/* the gap between the tail and a request */
static inline struct fb_gap fb_engine_gap(const struct fb_engine *e, const struct fb_engine_rq *rq)
{
	return (struct fb_gap) {
		.src = e->tail,
		.dst = rq->fg.start,
		.dst_lbn = rq->fg.lbn,
		.dst_nsect = rq->fg.nsect,
		.dst_write = rq->fg.write,
	};
}

/* gap.c */

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

/* round.c */

/* Offer a gap to the search, for a plan worth more than @least_value. False: none is read. */
bool fb_engine_open_gap(struct fb_engine *e, struct fb_engine_rq *rq, const struct fb_gap *gap,
			u64 least_value, bool shared);
/* Have the search look for something better than the choice, which is predicted. */
void fb_round_begin(struct fb_engine *e);
/* Is it a candidate of a valid round, or the next that is ranked? */
bool fb_round_has(const struct fb_engine *e, const struct fb_policy_req *req);
/* One step towards the next gap that is to be searched; false: there is none, or no round. */
bool fb_round_next(struct fb_engine *e, u64 now_ns);
/* Has a plan been found for the best candidate so far? */
bool fb_round_has_plan(const struct fb_engine *e);
/* Make the best candidate so far the choice, before it is sent. */
void fb_round_settle(struct fb_engine *e);
/* Account for the choice, which goes next and is still in the pool. @head: where that will be. */
void fb_round_charge(struct fb_engine *e, const struct dm_place *head, u64 now_ns);

/* choice.c */

/* Begin with a zeroed @e whose pointers, from @mail to @stats, and @round.order_cost are set. */
void fb_engine_init(struct fb_engine *e, const struct fb_engine_ops *ops);
/* Add a foreground request to the pool, described but for its place. */
void fb_engine_add(struct fb_engine *e, struct fb_engine_rq *rq);
/* A pooled request begins at another sector. */
void fb_engine_grown(struct fb_engine *e, struct fb_engine_rq *rq, u64 now_ns);
/* @gone is part of @rq now, and of its class and direction. @rq: NULL: it is in no pool. */
void fb_engine_merged(struct fb_engine *e, struct fb_engine_rq *rq, struct fb_engine_rq *gone,
		      u64 now_ns);
/* Take a request out of the pool; it may be a candidate. */
void fb_engine_remove(struct fb_engine *e, struct fb_engine_rq *rq);
/* Place all pending requests again: the model has changed. */
void fb_engine_place_all(struct fb_engine *e);
/* Choose from the whole pool. @head: where it will be; NULL: unknown. */
void fb_engine_choose(struct fb_engine *e, const struct dm_place *head, u64 now_ns);
/* Choose with the head at the tail. If the drive is idle that is left to fb_engine_next(). */
void fb_engine_choose_again(struct fb_engine *e, u64 now_ns);
/* A pooled request is new, or has grown at its front: the choice if it is better, in O(1). */
void fb_engine_offer(struct fb_engine *e, struct fb_engine_rq *rq, u64 now_ns);
/* Drop the rest of the plan in use, whose assumptions no longer hold. */
void fb_engine_drop_plan(struct fb_engine *e);
/* Drop the choice, its gap and its plan. */
void fb_engine_void(struct fb_engine *e);
/* The drive does what is not followed. */
void fb_engine_lose_head(struct fb_engine *e);

/* flight.c */

/* Note a command that is sent, and is in no pool; @d: how. */
void fb_engine_send(struct fb_engine *e, struct fb_engine_rq *rq, const struct fb_engine_send *d,
		    u64 now_ns);
/* The plan for the gap, if there is one, comes too late: the host is slower than believed. */
void fb_engine_note_late(struct fb_engine *e);
/*
 * Have the choice wait for its plan, if the drive is idle or about to be, and the sector comes so
 * much later that no turn is lost. True: nothing is sent yet.
 */
bool fb_engine_pause(struct fb_engine *e, u64 now_ns);
/* Is the next command still held back? */
bool fb_engine_is_holding(const struct fb_engine *e, u64 now_ns);
/* Will the drive, which has a command, finish before one that is sent now reaches it? */
bool fb_engine_too_late(const struct fb_engine *e, u64 now_ns);
/* A command has ended; fb_engine_judge() comes next. True: it overtook one sent earlier. */
bool fb_engine_landed(struct fb_engine *e, struct fb_engine_rq *rq, bool failed, u64 now_ns);
/* A command is no longer at the drive, and what came of it is not known. */
void fb_engine_off_flight(struct fb_engine *e, struct fb_engine_rq *rq, u64 now_ns);
/* Learn from the end of a command off the flight. False: nothing is to be sent yet. */
bool fb_engine_judge(struct fb_engine *e, struct fb_engine_rq *rq, bool overtaken, u64 now_ns);
/*
 * A foreground request has come: @rq, if it is the engine's, at @req, if that is known. @follow: it
 * waits for the medium alone, and fb_engine_served() will be called.
 */
void fb_engine_arrived(struct fb_engine *e, const struct fb_engine_rq *rq,
		       const struct fb_fg_req *req, bool follow, u64 now_ns);
/* A foreground request has ended that was in the pool. */
void fb_engine_served(struct fb_engine *e, const struct fb_engine_rq *rq, u64 now_ns);
/* Is an idle read ready, and nothing pending or at the drive? */
bool fb_engine_idle_is_due(const struct fb_engine *e);
/* Send the idle read that is ready. */
void fb_engine_send_idle(struct fb_engine *e, struct fb_engine_rq *rq, u64 now_ns);

/* dispatch.c */

/*
 * Decide whether the drive orders. True: that has changed, and the host soon calls
 * fb_engine_next(): commands may be held back for a limit that is gone.
 */
bool fb_engine_decide(struct fb_engine *e, u64 now_ns);
/* Does the drive get no more commands now? While it orders it gets all that it takes. */
bool fb_engine_is_full(const struct fb_engine *e);
/* Would fb_engine_next() send something? */
bool fb_engine_has_work(const struct fb_engine *e, u64 now_ns);
/* Send the next command. @d: out: how. The host calls again until NULL: nothing is sent now. */
struct fb_engine_rq *fb_engine_next(struct fb_engine *e, struct fb_engine_send *d, u64 now_ns);
/* There is another model, or none (NULL), or it is used now, or no longer. */
void fb_engine_set_model(struct fb_engine *e, struct disk_model *dm, u64 now_ns);
/* A setting has changed. */
void fb_engine_changed(struct fb_engine *e, u64 now_ns);

#endif /* FB_ENGINE_H */
