/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The scheduler of one queue: state and functions shared by freeblock_iosched.c and sched/.
 */
#ifndef FB_SCHED_H
#define FB_SCHED_H

#include <linux/hrtimer.h>

#include "core/engine/engine.h"
#include "disk/disk.h"
#include "include/compat/fb_compat.h"

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
 * @r: the engine's part; @r.background reads are in fb_sched.others or sent from there
 * @rq: the request; NULL: no request has this slot
 * @state: enum fb_sched_state
 * @prepended: a read has been prepended to it; this happens only once, as a remainder that
 *	the driver gives back could otherwise be requeued for ever
 * @own: all of it is a read of ours, even if it has joined the foreground; since it was sent
 * @idle: it has the idle I/O class
 * @since_ns: when it arrived as a background read; 0: it never was one, or has been sent
 */
struct fb_sched_rq {
	struct fb_engine_rq r;
	struct request *rq;
	enum fb_sched_state state;
	bool prepended;
	bool own;
	bool idle;
	u64 since_ns;
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
 * struct fb_sched - the scheduler on one queue; all [L] of @fd
 * @engine: what is sent next, and what is at the device
 * @fd: the disk
 * @q: its queue
 * @changed: tells the elevator that a tunable has changed
 * @sort: pending requests by LBN, per class and direction; @others are FB_POLICY_IDLE reads
 * @bypass: requests to send first: requeued ones and those without a struct fb_sched_rq
 * @others: pending background reads of others
 * @nr_unseen: requests at the device that bypassed schedulers, when last checked
 * @timer: runs the queue when fb_engine.window_ns is over
 * @order_timer: decides who orders, and runs the queue at that time
 * @order_due_ns: the time; 0: the timer is not used for that; 1: at once
 * @conservatism_ns: if it is not learnt: added to seek estimates of the freeblock decision
 * @target_ppm: bound of the guard
 * @expire_ns: longest wait of a read [0] and a write [1]
 * @nr_slots: number of @slots: the hardware queues
 * @slots: by hardware queue; if they share their tags, the first is that of all
 */
struct fb_sched {
	struct fb_engine engine;
	struct fb_disk *fd;
	struct request_queue *q;
	void (*changed)(struct fb_sched *fs);
	struct rb_root sort[FB_POLICY_CLASSES][2];
	struct list_head bypass;
	struct fb_background others;
	u32 nr_unseen;
	struct hrtimer timer;
	struct hrtimer order_timer;
	u64 order_due_ns;
	u64 conservatism_ns;
	u32 target_ppm;
	u64 expire_ns[2];

	u32 nr_slots;
	struct fb_slots slots[];
};

/* NULL if @rq bypasses schedulers, or if there was no memory for a slot of its tag */
static inline struct fb_sched_rq *fb_sched_rq(const struct request *rq)
{
	return rq->rq_flags & FB_COMPAT_PREPARED ? rq->elv.priv[0] : NULL;
}

static inline struct rb_root *fb_sched_sort(struct fb_sched *fs, const struct fb_sched_rq *fq)
{
	return &fs->sort[fq->r.fg.class][rq_data_dir(fq->rq)];
}

static inline struct fb_sched *fb_sched_of(const struct fb_engine *e)
{
	return container_of(e, struct fb_sched, engine);
}

static inline struct fb_sched_rq *fb_sched_rq_of(struct fb_engine_rq *r)
{
	return container_of(r, struct fb_sched_rq, r);
}

/* nothing is pending, and nothing at the device; fb_disk_attach() need not have returned */
static inline void fb_sched_set_disk(struct fb_sched *fs, struct fb_disk *fd)
{
	fs->fd = fd;
	fs->engine.mail = &fd->mail;
	fs->engine.destage = &fd->destage;
	fs->engine.probe = &fd->lookahead;
	fs->engine.margin = &fd->conservatism;
	fs->engine.stats = &fd->stats.engine;
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
bool fb_pool_bio_merge(struct request_queue *q, struct bio *bio, unsigned int nr_segs);
int fb_pool_request_merge(struct request_queue *q, struct request **rq, struct bio *bio);
void fb_pool_request_merged(struct request_queue *q, struct request *rq, enum elv_merge type);
void fb_pool_requests_merged(struct request_queue *q, struct request *rq, struct request *next);

/* sched/host.c */
int fb_host_init(struct fb_sched *fs);
void fb_host_exit(struct fb_sched *fs);

/* sched/order.c */
void fb_order_init(struct fb_sched *fs);
void fb_order_exit(struct fb_sched *fs);
bool fb_order_decide(struct fb_sched *fs);
void fb_order_time(struct fb_sched *fs);
void fb_order_run_soon(struct fb_disk *fd);
void fb_order_wants_changed(struct fb_disk *fd);

/* sched/inflight.c */
void fb_inflight_arrived(struct fb_sched *fs, const struct fb_sched_rq *fq, bool bypass, u64 now);
void fb_inflight_served(struct fb_sched *fs, const struct fb_sched_rq *fq, u64 now);
void fb_inflight_check_writes(struct fb_sched *fs);
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
