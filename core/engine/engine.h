/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The scheduler: which foreground request goes next, what is read in the gap before it, and what
 * is at the drive (freeblock paper, 3 and 4). The kernel module, the simulator and the user-level
 * scheduler are its hosts. A request's way: it is added to @pool, becomes the choice, a plan is
 * found for the gap before it, fb_engine_next() hands it out, its end is judged by
 * fb_engine_judge().
 *
 * Core; the caller serialises all calls, and those of struct fb_engine_ops come from within them.
 * Nothing here sleeps or allocates. Times are nanoseconds of a monotonic clock.
 */
#ifndef FB_ENGINE_H
#define FB_ENGINE_H

#include "core/completion.h"
#include "core/destage.h"
#include "core/engine/gap.h"
#include "core/order_cost.h"
#include "core/orders.h"
#include "core/policy.h"

#define FB_ENGINE_DEPTH 2	/* one command in service, one behind it (freeblock paper, 3.3) */

/* a command must reach the drive this long before its service is to begin */
#define FB_ENGINE_LEAD_NS 200000ULL

/**
 * struct fb_engine_rq - a foreground request, or a read of the host's own
 * @fg: its entry in the pool
 * @cmd: the command at the drive: its predicted access, and what its completion teaches
 * @flight: in fb_engine.flight, in the order sent
 * @media: it reads or writes sectors
 * @cacheable: a write that the drive may report when its cache has it
 * @ours: a read of the host's own that is no part of a foreground request
 * @background: a read that others want when there is nothing else to do
 */
struct fb_engine_rq {
	struct fb_policy_req fg;
	struct fb_completion_cmd cmd;
	struct list_head flight;
	bool media;
	bool cacheable;
	bool ours;
	bool background;
};

/**
 * struct fb_engine_send - how a command is to be sent
 * @cause: what precedes it in its gap
 * @lbn: first sector, with what is prepended
 * @nsect: sectors
 * @lifts: limits that it lifts
 * @gap_ns: its rotational latency if nothing were read before it
 * @extra_ns: what the free read before it costs it even if all goes as planned
 */
struct fb_engine_send {
	enum fb_cause cause;
	u64 lbn;
	u32 nsect;
	u32 lifts;
	u64 gap_ns;
	u64 extra_ns;
};

/**
 * struct fb_engine_stats - counters
 * @choices: made from the whole pool ...
 * @choice_ns: ... the time they took ...
 * @choice_max_ns: ... and the longest
 * @gaps: offered to the search
 * @spared: left unused: nearly a turn, which may be gained
 * @several: plans of several pieces begun
 * @dropped: their pieces given up: no carrier, or outdated
 * @too_late: plans not used: the drive was about to finish
 * @out_of_order: completions overtaken by the drive
 * @max_in_flight: most predicted commands at the drive at once
 * @order: what the order costs against shortest positioning times
 * @ends: of predictions
 */
struct fb_engine_stats {
	u64 choices;
	u64 choice_ns;
	u64 choice_max_ns;
	u64 gaps;
	u64 spared;
	u64 several;
	u64 dropped;
	u64 too_late;
	u64 out_of_order;
	u64 max_in_flight;
	struct fb_order_cost_sum order;
	struct fb_completion_stats ends;
};

/**
 * enum fb_engine_event - what traces may tell
 * @FB_ENGINE_CHOICE: a request has been chosen
 * @FB_ENGINE_GAP: a gap is offered to the search
 * @FB_ENGINE_PRICE: fb_round.joint has ended a window
 */
enum fb_engine_event { FB_ENGINE_CHOICE, FB_ENGINE_GAP, FB_ENGINE_PRICE };

struct fb_engine;

/**
 * struct fb_engine_ops - what the host does for the engine
 * @now: the time
 * @unmapped: no map of the drive may be used, so nothing is predicted
 * @by_lbn: without one the policy orders all the same: by LBN, or by arrival
 * @unphased: the platter's angle cannot be found
 * @may_read: blocks are wanted, and may be read in gaps
 * @view: fill in what tasks want, and tell @destage about the write cache
 * @decided: it is decided who orders; @changed: differently
 * @learners: who learns from completions
 * @learnt: they have; @now: the time of the completion
 * @limit: bound a plan for the gap before a request; false: nothing is read before it
 * @above: see fb_policy_choose_deadline()
 * @search: plans are found when they are needed: search the gaps now. NULL: another thread does
 * @wake: it has something to search
 * @aim: turn a reserved request into a read of a piece; @more: another will follow. NULL: none
 * @prepend: prepend a piece to a request; false: it does not fit
 * @take: a request leaves the pool, to be sent; its sectors are those that are sent
 * @submit: hand a command over to the drive; returns the time. NULL: the host does it later
 * @hold: have fb_engine_next() called at this time; may be NULL
 * @event: for traces; may be NULL
 */
struct fb_engine_ops {
	u64 (*now)(const struct fb_engine *e);
	bool (*unmapped)(const struct fb_engine *e);
	bool (*by_lbn)(const struct fb_engine *e);
	bool (*unphased)(struct fb_engine *e, u64 now_ns);
	bool (*may_read)(const struct fb_engine *e, u64 now_ns);
	void (*view)(struct fb_engine *e, struct fb_orders_view *v);
	void (*decided)(struct fb_engine *e, bool changed);
	void (*learners)(struct fb_engine *e, struct fb_completion *l);
	void (*learnt)(struct fb_engine *e, struct fb_engine_rq *rq,
		       const struct fb_completion_result *result, u64 now_ns);
	bool (*limit)(struct fb_engine *e, struct fb_engine_rq *rq, u64 latency_ns,
		      struct fb_limits *lim);
	fb_policy_above_fn above;
	void (*search)(struct fb_engine *e, u64 now_ns);
	void (*wake)(struct fb_engine *e);
	struct fb_engine_rq *(*aim)(struct fb_engine *e, const struct fb_plan_piece *p, bool more);
	bool (*prepend)(struct fb_engine *e, struct fb_engine_rq *rq,
			const struct fb_plan_piece *p);
	void (*take)(struct fb_engine *e, struct fb_engine_rq *rq);
	u64 (*submit)(struct fb_engine *e, struct fb_engine_rq *rq, u64 now_ns);
	void (*hold)(struct fb_engine *e, u64 until_ns);
	void (*event)(struct fb_engine *e, enum fb_engine_event event);
};

/**
 * struct fb_round - policies joint and auto: the choice under way, and what it costs
 * @joint: the price
 * @order_cost: what the requests would take in the order of shortest positioning times
 * @begun: there is a round if, besides, @gen is that of the mailbox
 * @ranked: all requests are, and @r is complete
 * @searching: the gap of the candidate before @next is with the search
 * @looked_at: the gap of the best has been searched
 * @gen: generation of the mailbox
 * @next: the candidate that is searched next
 * @r: the candidates so far
 * @gap: before the best
 * @plan: of the best; FB_PLAN_NONE: it goes alone
 */
struct fb_round {
	struct fb_joint joint;
	struct fb_order_cost *order_cost;
	bool begun;
	bool ranked;
	bool searching;
	bool looked_at;
	u32 gen;
	u32 next;
	struct fb_joint_round r;
	struct fb_gap gap;
	struct fb_plan plan;
};

/**
 * struct fb_engine - the scheduler
 * @ops: the host
 * @dm: the model; NULL: none, and nothing is predicted
 * @mail: gaps for the search
 * @destage: what the drive's cache still has to write
 * @probe: what is known of the drive's look-ahead
 * @margin: the odds of a lost turn
 * @stats: counters
 * @lead_ns: a command must reach the drive this long before its service is to begin
 * @wake_least_ns: what the host needs at least to send a command that was held back
 *
 * These may be set at any time, then fb_engine_changed() is called:
 * @auto_depth: the drive orders while that is better
 * @depth: commands at the drive while it does not
 * @hold: hold the second command back
 * @lift: enum fb_lift: limits that searches lift ...
 * @auto_lift: ... where the probe allows it
 * @auto_margin: the conservatism is learnt
 * @search_ns: time budget of a search
 *
 * @pool: pending foreground requests
 * @orders: who orders, but for what settings and the write cache ask for
 * @drive_orders: the drive orders: commands are not chosen, nor predicted but for idle reads
 * @choice: the provisional next request
 * @round: what may take the place of @choice under policies joint and auto
 * @pinned: a separate read was sent for the gap before @choice: @choice is final
 * @plan: the plan in use while @pinned; FB_PLAN_NONE: nothing of it is left to be sent
 * @next_piece: the next piece of @plan
 * @lifts: limits that the last command sent has lifted
 * @extra_ns: what the plan in use costs the choice, see fb_search_extra_ns()
 *
 * @flight: requests at the drive, in the order sent
 * @nr_flight: number of @flight
 * @nr_idle: idle reads among @flight
 * @nr_untracked: requests at the drive that are none of @flight: nothing is read in gaps meanwhile
 * @head: head and phase
 * @tail_known: @tail is valid
 * @tail: predicted head position at the end of the last request sent
 * @window_ns: time until which the second command is held back; 0: it is not
 * @wake_ns: estimated time to send a command that was held back
 */
struct fb_engine {
	const struct fb_engine_ops *ops;
	struct disk_model *dm;
	struct fb_gap_mail *mail;
	struct fb_destage *destage;
	struct fb_lookahead *probe;
	const struct fb_conservatism *margin;
	struct fb_engine_stats *stats;
	u64 lead_ns;
	u64 wake_least_ns;

	bool auto_depth;
	u32 depth;
	u32 hold;
	u32 lift;
	bool auto_lift;
	bool auto_margin;
	u64 search_ns;

	struct fb_policy_pool pool;
	struct fb_orders orders;
	bool drive_orders;
	struct fb_policy_choice choice;
	struct fb_round round;
	bool pinned;
	struct fb_plan plan;
	u32 next_piece;
	u32 lifts;
	u64 extra_ns;

	struct list_head flight;
	u32 nr_flight;
	u32 nr_idle;
	u32 nr_untracked;
	struct fb_head head;
	bool tail_known;
	struct dm_place tail;
	u64 window_ns;
	u64 wake_ns;
};

/* its completion will be predicted: the policy orders, by a map of the drive */
static inline bool fb_engine_predicts(const struct fb_engine *e)
{
	return !e->drive_orders && !e->ops->unmapped(e);
}

/* requests are chosen together with the free reads before them */
static inline bool fb_engine_is_joint(const struct fb_engine *e)
{
	return fb_policy_joins(e->pool.policy);
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

static inline void fb_engine_tell(struct fb_engine *e, enum fb_engine_event event)
{
	if (e->ops->event)
		e->ops->event(e, event);
}

/* round.c */
bool fb_engine_open_gap(struct fb_engine *e, struct fb_engine_rq *rq, const struct fb_gap *gap,
			u64 latency_ns, u64 least_value, bool shared);
void fb_round_begin(struct fb_engine *e);
void fb_round_offer(struct fb_engine *e, struct fb_policy_req *req, u64 now_ns);
bool fb_round_has(const struct fb_engine *e, const struct fb_policy_req *req);
bool fb_round_next(struct fb_engine *e, u64 now_ns);
bool fb_round_has_plan(const struct fb_engine *e);
void fb_round_settle(struct fb_engine *e);
void fb_round_charge(struct fb_engine *e, const struct dm_place *head, u64 now_ns);

/* choice.c */
void fb_engine_init(struct fb_engine *e, const struct fb_engine_ops *ops);
void fb_engine_add(struct fb_engine *e, struct fb_engine_rq *rq);
void fb_engine_grown(struct fb_engine *e, struct fb_engine_rq *rq, u64 now_ns);
void fb_engine_merged(struct fb_engine *e, struct fb_engine_rq *rq, struct fb_engine_rq *gone,
		      u64 now_ns);
void fb_engine_remove(struct fb_engine *e, struct fb_engine_rq *rq);
void fb_engine_place_all(struct fb_engine *e);
void fb_engine_choose(struct fb_engine *e, const struct dm_place *head, u64 now_ns);
void fb_engine_choose_again(struct fb_engine *e, u64 now_ns);
void fb_engine_offer(struct fb_engine *e, struct fb_engine_rq *rq, u64 now_ns);
void fb_engine_drop_plan(struct fb_engine *e);
void fb_engine_void(struct fb_engine *e);
void fb_engine_lose_head(struct fb_engine *e);

/* flight.c */
void fb_engine_send(struct fb_engine *e, struct fb_engine_rq *rq, const struct fb_engine_send *d,
		    u64 now_ns);
bool fb_engine_is_holding(const struct fb_engine *e, u64 now_ns);
bool fb_engine_too_late(const struct fb_engine *e, u64 now_ns);
bool fb_engine_landed(struct fb_engine *e, struct fb_engine_rq *rq, u64 now_ns);
void fb_engine_off_flight(struct fb_engine *e, struct fb_engine_rq *rq, u64 now_ns);
bool fb_engine_judge(struct fb_engine *e, struct fb_engine_rq *rq, bool overtaken, u64 now_ns);

/* order.c */
bool fb_engine_note_sent(struct fb_engine *e, const struct fb_engine_rq *rq, u64 now_ns);
bool fb_engine_decide(struct fb_engine *e, u64 now_ns);

/* dispatch.c */
bool fb_engine_is_full(const struct fb_engine *e);
bool fb_engine_has_work(const struct fb_engine *e, u64 now_ns);
struct fb_engine_rq *fb_engine_next(struct fb_engine *e, struct fb_engine_send *d, u64 now_ns);
void fb_engine_set_model(struct fb_engine *e, struct disk_model *dm, u64 now_ns);
void fb_engine_changed(struct fb_engine *e, u64 now_ns);

#endif /* FB_ENGINE_H */
