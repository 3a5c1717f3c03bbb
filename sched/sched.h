/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The scheduler of one queue: state and functions shared by freeblock_iosched.c and sched/.
 */
#ifndef FB_SCHED_H
#define FB_SCHED_H

#include <linux/hrtimer.h>

#include "core/joint.h"
#include "core/order_cost.h"
#include "core/orders.h"
#include "core/policy.h"
#include "disk/disk.h"
#include "include/compat/fb_compat.h"

#define FB_SCHED_DEPTH 2	/* one command in service, one behind it (freeblock paper, 3.3) */

/* a command must reach the drive this long before its service is to begin */
#define FB_SCHED_LEAD_NS (200 * (u64)NSEC_PER_USEC)

#define FB_BACKGROUND_SUBMITTER_BITS 6
/* polling interval for requests that bypass schedulers, whose end may go unreported */
#define FB_SCHED_LOOK_NS (20 * (u64)NSEC_PER_MSEC)

enum fb_sched_state {
	FB_SCHED_NEW,	/* allocated, merged away, or a held carrier */
	FB_SCHED_POOLED,	/* pending, in a pool */
	FB_SCHED_SENT,	/* at the device, counted as in flight */
	FB_SCHED_REQUEUED,	/* returned by the driver, counted until inserted again */
	FB_SCHED_DONE,	/* completed, about to be freed */
};

/**
 * struct fb_sched_rq - the scheduler's data of a request, in elv.priv[0]; [L]
 * @fg: its entry in the pool
 * @rq: the request; NULL: no request has this slot
 * @state: enum fb_sched_state
 * @cmd: the command at the drive: its predicted access, and what its completion teaches
 * @prepended: a read has been prepended to it; this happens only once, as a remainder that
 *	the driver gives back could otherwise be requeued for ever
 * @ours: a separate free read
 * @own: all of it is a read of ours, even if it has joined the foreground; since it was sent
 * @idle: it has the idle I/O class
 * @background: a read of the idle class, in fb_sched.others or sent from there
 * @since_ns: when it arrived as a background read; 0: it never was one, or has been sent
 * @flight: in fb_sched.flight, in dispatch order
 */
struct fb_sched_rq {
	struct fb_policy_req fg;
	struct request *rq;
	enum fb_sched_state state;
	struct fb_completion_cmd cmd;
	bool prepended;
	bool ours;
	bool own;
	bool idle;
	bool background;
	u64 since_ns;
	struct list_head flight;
};

/**
 * struct fb_slots - the struct fb_sched_rq of one set of tags (sched/slots.c)
 * @rq: by request.internal_tag; belongs to who has the tag
 * @n: number of @rq; written with the queue frozen
 */
struct fb_slots {
	struct fb_sched_rq *rq;
	u32 n;
};

/**
 * struct fb_background - background reads of other submitters (sched/background.c); all [L]
 * @reqs: pooled struct fb_sched_rq, the oldest first
 * @count: number of @reqs
 * @flying: number at the drive, without those that joined the foreground
 * @next_lbn: the sector behind the one sent last
 * @fg_end_ns: when the last foreground request completed
 * @expire_ns: maximum age in the pool
 * @wait_ns: time without foreground before one is sent
 * @depth: limit of request allocation for them; written with the queue frozen
 * @submitter: tasks whose last bio had the idle class, hashed; accessed without the lock
 */
struct fb_background {
	struct list_head reqs;
	u32 count;
	u32 flying;
	u64 next_lbn;
	u64 fg_end_ns;
	u64 expire_ns;
	u64 wait_ns;
	u32 depth;
	struct task_struct *submitter[1 << FB_BACKGROUND_SUBMITTER_BITS];
};

/**
 * struct fb_round - policies joint and auto: the choice under way, and what it costs
 *	(sched/round.c); all [L]
 * @joint: the price
 * @order_cost: what the requests would take in the order of shortest positioning times
 * @begun: there is a round if, besides, @gen is that of the mailbox
 * @ranked: all requests are, and @r is complete
 * @searching: the gap of the candidate before @next is with the thread
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
 * struct fb_sched - the scheduler on one queue; all [L] of @fd
 * @fd: the disk
 * @q: its queue
 * @changed: tells the elevator that a tunable has changed
 * @sort: pending requests by LBN, per class and direction; @others are FB_POLICY_IDLE reads
 * @bypass: requests to send first: requeued ones and those without a struct fb_sched_rq
 * @pool: pending foreground requests
 * @others: pending background reads of others
 * @choice: the provisional next request
 * @round: what may take the place of @choice under policies joint and auto
 * @pinned: a separate read was sent for the gap before @choice: @choice is final
 * @plan: the plan in use while @pinned; FB_PLAN_NONE: nothing of it is left to be sent
 * @next_piece: the next piece of @plan
 * @lifts: limits that the last command sent has lifted
 * @extra_ns: fb_search_extra_ns() of the gap offered last
 * @flight: requests at the device, in dispatch order
 * @nr_flight: number of @flight
 * @nr_idle: idle reads among @flight
 * @nr_untracked: requests at the device without a struct fb_sched_rq: no free reads meanwhile
 * @nr_unseen: requests at the device that bypassed schedulers, when last checked
 * @head: head and phase
 * @tail_known: @tail is valid
 * @tail: predicted head position at the end of the last request sent
 * @window_ns: time until which the second command is held back; 0: it is not
 * @timer: runs the queue at that time
 * @deep: the drive orders: commands are not chosen, nor predicted but for idle reads
 * @depth: commands kept at the device when not @deep
 * @auto_depth: @deep is set while no free reads are wanted, or the drive's write cache is in use
 * @order_timer: decides on @deep and runs the queue at that time
 * @order_due_ns: the time; 0: the timer is not used for that; 1: at once
 * @wake_ns: estimated time to send a command that was held back
 * @orders: who orders, but for what the tunables and the write cache ask for
 * @hold: hold the second command back
 * @lift: enum fb_lift: limits that searches lift ...
 * @auto_lift: ... where the probe allows it
 * @auto_margin: the conservatism is learnt, from @target_ppm
 * @conservatism_ns: otherwise: added to seek estimates of the freeblock decision
 * @target_ppm: bound of the guard
 * @expire_ns: longest wait of a read [0] and a write [1]
 * @search_ns: time budget of a search
 * @nr_slots: number of @slots: the hardware queues
 * @slots: by hardware queue; if they share their tags, the first is that of all
 */
struct fb_sched {
	struct fb_disk *fd;
	struct request_queue *q;
	void (*changed)(struct fb_sched *fs);
	struct rb_root sort[FB_POLICY_CLASSES][2];
	struct list_head bypass;
	struct fb_policy_pool pool;
	struct fb_background others;
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
	u32 nr_unseen;
	struct fb_head head;
	bool tail_known;
	struct dm_place tail;
	u64 window_ns;
	struct hrtimer timer;

	bool deep;
	u32 depth;
	bool auto_depth;
	struct hrtimer order_timer;
	u64 order_due_ns;
	u64 wake_ns;
	struct fb_orders orders;
	u32 hold;
	u32 lift;
	bool auto_lift;
	bool auto_margin;
	u64 conservatism_ns;
	u32 target_ppm;
	u64 expire_ns[2];
	u64 search_ns;

	u32 nr_slots;
	struct fb_slots slots[];
};

/*
 * Discards and similar requests move the head in ways that cannot be predicted, and may be
 * gigabytes long. Our own reads may be sent as other operations (disk/verify.c).
 */
static inline bool fb_sched_is_media(const struct fb_sched_rq *fq)
{
	return fq->ours || req_op(fq->rq) == REQ_OP_READ || req_op(fq->rq) == REQ_OP_WRITE;
}

/* a write that the drive reports when its cache has it, and nobody waits for the medium */
static inline bool fb_sched_is_cached(const struct fb_sched *fs, const struct fb_sched_rq *fq)
{
	return fs->fd->destage.on && !fq->ours && req_op(fq->rq) == REQ_OP_WRITE &&
	       !(fq->rq->cmd_flags & REQ_FUA);
}

/* the drive decides the order: it gets all commands it can take, and nothing is predicted */
static inline bool fb_sched_is_hands_off(const struct fb_sched *fs)
{
	return fs->deep || fb_level_unmapped(fs->fd);
}

/* a policy that was set by name orders though there is no map: by LBN, or by arrival */
static inline bool fb_sched_is_by_lbn(const struct fb_sched *fs)
{
	return fb_policy_needs_no_map(fs->pool.policy) && fb_level_unmapped(fs->fd) &&
	       (!fb_level_never_orders(fs->fd) || fs->pool.policy == FB_POLICY_FIFO);
}

/* the drive gets all commands, and orders them; in order of arrival, or mq-deadline's */
static inline bool fb_sched_is_passthrough(const struct fb_sched *fs)
{
	return fb_sched_is_hands_off(fs) &&
	       (!fb_sched_is_by_lbn(fs) || fs->pool.policy == FB_POLICY_FIFO);
}

/* the drive gets no more commands now */
static inline bool fb_sched_is_full(const struct fb_sched *fs)
{
	return fs->nr_flight >= fs->depth && !fb_sched_is_passthrough(fs);
}

/* requests are chosen together with the free reads before them */
static inline bool fb_sched_is_joint(const struct fb_sched *fs)
{
	return fb_policy_joins(fs->pool.policy);
}

/* NULL if @rq bypasses schedulers, or if there was no memory for a slot of its tag */
static inline struct fb_sched_rq *fb_sched_rq(const struct request *rq)
{
	return rq->rq_flags & FB_COMPAT_PREPARED ? rq->elv.priv[0] : NULL;
}

/* of a command at the drive: neither a free read, nor a background read not yet expired */
static inline bool fb_sched_is_foreground(const struct fb_sched_rq *fq)
{
	return !fq->ours && !fq->background;
}

static inline struct rb_root *fb_sched_sort(struct fb_sched *fs, const struct fb_sched_rq *fq)
{
	return &fs->sort[fq->fg.class][rq_data_dir(fq->rq)];
}

/* only when there is a choice */
static inline struct fb_sched_rq *fb_choice_request(const struct fb_sched *fs)
{
	return container_of(fs->choice.req, struct fb_sched_rq, fg);
}

/* sched/slots.c */
int fb_slots_init(struct fb_sched *fs);
void fb_slots_exit(struct fb_sched *fs);
void fb_slots_resize(struct fb_sched *fs, const struct blk_mq_hw_ctx *hctx);
struct fb_sched_rq *fb_slots_take(struct fb_sched *fs, struct request *rq);
void fb_slots_leave(struct fb_sched_rq *fq);

/* sched/pool.c */
void fb_pool_add(struct fb_sched *fs, struct fb_sched_rq *fq, u64 now);
void fb_pool_del(struct fb_sched *fs, struct fb_sched_rq *fq);
struct fb_policy_req *fb_pool_above(struct fb_policy_pool *pool, enum fb_policy_class class,
				    bool write, u64 lbn);
struct fb_policy_req *fb_pool_passthrough(struct fb_sched *fs, u64 now);
bool fb_pool_bio_merge(struct request_queue *q, struct bio *bio, unsigned int nr_segs);
int fb_pool_request_merge(struct request_queue *q, struct request **rq, struct bio *bio);
void fb_pool_request_merged(struct request_queue *q, struct request *rq, enum elv_merge type);
void fb_pool_requests_merged(struct request_queue *q, struct request *rq, struct request *next);

/* sched/limits.c */
bool fb_limits_of_gap(struct fb_sched *fs, struct fb_sched_rq *fq, u64 latency_ns,
		      struct fb_gap *gap, struct fb_limits *lim);

/* sched/choice.c */
void fb_choice_init(struct fb_sched *fs);
void fb_choice_place(const struct fb_sched *fs, struct fb_sched_rq *fq);
void fb_choice_moved(struct fb_sched *fs, struct fb_sched_rq *fq);
void fb_choice_place_all(struct fb_sched *fs);
void fb_choice_drop_plan(struct fb_sched *fs);
void fb_choice_void(struct fb_sched *fs);
u64 fb_choice_gap_ns(const struct fb_sched *fs);
void fb_choice_make(struct fb_sched *fs, const struct dm_place *head, u64 now);
void fb_choice_renew(struct fb_sched *fs);
void fb_choice_offer(struct fb_sched *fs, struct fb_sched_rq *fq);
const struct fb_plan *fb_choice_take_plan(struct fb_sched *fs, u64 now);
u32 fb_choice_lifts(const struct fb_sched *fs, const struct fb_plan *plan, u32 i);

/* sched/round.c */
int fb_round_init(struct fb_sched *fs);
void fb_round_exit(struct fb_sched *fs);
void fb_round_reset(struct fb_sched *fs);
void fb_round_arrived(struct fb_sched *fs, const struct fb_sched_rq *fq);
void fb_round_lose(struct fb_sched *fs);
void fb_round_charge(struct fb_sched *fs, const struct dm_place *head, u64 now);
void fb_round_begin(struct fb_sched *fs);
void fb_round_offer(struct fb_sched *fs, struct fb_policy_req *req);
bool fb_round_has(const struct fb_sched *fs, const struct fb_policy_req *req);
bool fb_round_next(struct fb_disk *fd);
bool fb_round_has_plan(const struct fb_sched *fs);
void fb_round_settle(struct fb_sched *fs);

/* sched/order.c */
void fb_order_init(struct fb_sched *fs);
void fb_order_exit(struct fb_sched *fs);
bool fb_order_note_sent(struct fb_sched *fs, const struct fb_sched_rq *fq, u64 now);
bool fb_order_decide(struct fb_sched *fs);
void fb_order_run_soon(struct fb_disk *fd);
void fb_order_wants_changed(struct fb_disk *fd);

/* sched/inflight.c */
void fb_inflight_sent(struct fb_sched *fs, struct fb_sched_rq *fq);
void fb_inflight_ended(struct fb_sched *fs, const struct fb_sched_rq *fq, u64 now);
void fb_inflight_arrived(struct fb_sched *fs, const struct fb_sched_rq *fq, bool bypass, u64 now);
void fb_inflight_served(struct fb_sched *fs, const struct fb_sched_rq *fq, u64 now);
bool fb_inflight_hold(struct fb_sched *fs);
bool fb_inflight_window_open(const struct fb_sched *fs, u64 now);
bool fb_inflight_too_late(const struct fb_sched *fs, u64 now);
void fb_inflight_check_writes(struct fb_sched *fs);
bool fb_inflight_observe(struct fb_sched *fs, struct fb_sched_rq *fq, u64 now);
void fb_inflight_follow(struct fb_sched *fs, struct fb_sched_rq *fq, u64 now);
void fb_inflight_overtake(struct fb_sched *fs, const struct fb_sched_rq *fq, u64 now);
void fb_inflight_returned(struct fb_sched *fs, const struct request *rq);

/* sched/background.c */
void fb_background_init(struct fb_sched *fs);
void fb_background_set_depth(struct fb_sched *fs, struct blk_mq_hw_ctx *hctx);
void fb_background_note_bio(struct fb_sched *fs, const struct bio *bio);
void fb_background_limit_depth(blk_opf_t opf, struct blk_mq_alloc_data *data);
bool fb_background_allow_merge(struct request_queue *q, struct request *rq, struct bio *bio);
bool fb_background_submitter_is_idle(void);
bool fb_background_recognise(struct fb_sched_rq *fq);
void fb_background_add(struct fb_sched *fs, struct fb_sched_rq *fq);
void fb_background_del(struct fb_sched *fs, struct fb_sched_rq *fq);
void fb_background_merged(struct fb_sched *fs, struct fb_sched_rq *fq, struct fb_sched_rq *gone);
bool fb_background_expire(struct fb_sched *fs);
bool fb_background_is_due(struct fb_sched *fs);
void fb_background_note_sent(struct fb_sched *fs, struct fb_sched_rq *fq, u64 now);
struct fb_sched_rq *fb_background_pick_idle(struct fb_sched *fs, u64 now, u64 *due_ns);

/**
 * struct fb_report - what the scheduler tells of itself
 * @free_reads: "on", or why there are none, as a text
 * @order: who chooses the next command, as a word
 * @phase: whether the platter's angle is known, as a word
 * @period_ps: one revolution as tracked; 0: there is no model
 * @pending: foreground requests in the scheduler
 * @background_pending: background reads of others in the scheduler
 * @in_flight: its commands at the drive
 */
struct fb_report {
	const char *free_reads;
	const char *order;
	const char *phase;
	u64 period_ps;
	u64 pending;
	u64 background_pending;
	u64 in_flight;
};

/* sched/report.c */
void fb_report_take(struct fb_disk *fd, struct fb_report *r);

/* sched/tunables.c */
extern struct elv_fs_entry fb_tunables_attrs[];

#endif /* FB_SCHED_H */
