/* SPDX-License-Identifier: GPL-2.0 */
/* The scheduler of one queue. [L]: under fb_disk.lock, which callers hold but where it is said. */
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

/* The scheduler's data of a request, in elv.priv[0]; [L] */
struct fb_sched_rq {
	struct fb_engine_rq r;	/* @r.background reads are in fb_sched.others or sent from there */
	struct request *rq;		/* NULL: no request has this slot */
	enum fb_sched_state state;
	/* a read has been prepended: only once, as a remainder could be requeued for ever */
	bool prepended;
	u64 measured_ns;		/* since then the trial counts it; 0: it does not */
	bool own;			/* since it was sent: all of it is ours */
	bool idle;			/* it has the idle I/O class */
	u64 since_ns;	/* arrival as a background read; 0: it is none, or was sent */
};

/* The struct fb_sched_rq of one set of tags */
struct fb_slots {
	struct fb_sched_rq *rq;		/* by request.internal_tag; belongs to who has the tag */
	u32 n;				/* number of @rq; written with the queue frozen */
};

/* Background reads of other submitters (sched/background.c); all [L] */
struct fb_background {
	struct list_head reqs;		/* pooled struct fb_sched_rq, the oldest first */
	u32 count;			/* number of @reqs */
	u32 flying;			/* at the drive */
	u64 next_lbn;			/* the sector behind the one sent last */
	u64 fg_end_ns;			/* when the last foreground request completed */
	u64 expire_ns;			/* maximum age */
	u64 aged_ns;			/* when one last went before the foreground for its age */
	u32 spare;	/* foreground requests to be sent before another does at once */
	u64 wait_ns;			/* time without foreground before one is sent */
	u32 depth;	/* of a queue's requests, so many for them; written with the queue frozen */
	/* tasks whose last bio had the idle class, hashed; without the lock */
	struct task_struct *submitter[1 << FB_BACKGROUND_SUBMITTER_BITS];
};

/* The scheduler on one queue; all [L] of @disk */
struct fb_sched {
	struct fb_engine engine;	/* what is sent next, and what is at the device */
	struct fb_disk *disk;
	struct request_queue *q;
	void (*changed)(struct fb_sched *sched);	/* a tunable has changed */
	/* pending ones by LBN, per class and direction; @others are FB_POLICY_IDLE reads */
	struct rb_root sort[FB_POLICY_CLASSES][2];
	struct list_head bypass; /* requeued, or without a struct fb_sched_rq: to be sent first */
	struct fb_background others;	/* pending background reads of others */
	u32 nr_unseen;			/* requests at the device past schedulers, as last seen */
	struct hrtimer timer;		/* runs the queue when fb_engine.window_ns is over */
	struct hrtimer order_timer;	/* decides who orders, and runs the queue */
	u64 order_due_ns;		/* when; 0: it is not started for that; 1: at once */
	u64 conservatism_ns;		/* if it is not learnt: added to seek estimates */
	u32 target_ppm;			/* bound of the guard */
	u64 expire_ns[2];		/* longest wait of a read [0] and a write [1] */

	u32 nr_slots;			/* number of @slots: the hardware queues */
	/* by hardware queue; if they share their tags, the first is that of all */
	struct fb_slots slots[];
};

/* NULL if @rq bypasses schedulers, or if there was no memory for a slot of its tag */
static inline struct fb_sched_rq *fb_sched_rq(const struct request *rq)
{
	return rq->rq_flags & FB_COMPAT_PREPARED ? rq->elv.priv[0] : NULL;
}

static inline struct rb_root *fb_sched_sort(struct fb_sched *sched, const struct fb_sched_rq *fq)
{
	return &sched->sort[fq->r.fg.class][rq_data_dir(fq->rq)];
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
static inline void fb_sched_set_disk(struct fb_sched *sched, struct fb_disk *disk)
{
	sched->disk = disk;
	sched->engine.mail = &disk->mail;
	sched->engine.destage = &disk->destage;
	sched->engine.idle = &disk->idle.reader;
	sched->engine.probe = &disk->lookahead;
	sched->engine.margin = &disk->conservatism;
	sched->engine.stats = &disk->stats.engine;
}

/* sched/pool.c */
void fb_pool_add(struct fb_sched *sched, struct fb_sched_rq *fq, u64 now);
void fb_pool_del(struct fb_sched *sched, struct fb_sched_rq *fq);
struct fb_policy_req *fb_pool_above(struct fb_policy_pool *pool, enum fb_policy_class class,
				    bool write, u64 lbn);
bool fb_pool_bio_merge(struct request_queue *q, struct bio *bio, unsigned int nr_segs);
int fb_pool_request_merge(struct request_queue *q, struct request **rq, struct bio *bio);
void fb_pool_request_merged(struct request_queue *q, struct request *rq, enum elv_merge type);
void fb_pool_requests_merged(struct request_queue *q, struct request *rq, struct request *next);

/* sched/host.c */
int fb_host_init(struct fb_sched *sched);
void fb_host_exit(struct fb_sched *sched);
bool fb_host_decide(struct fb_sched *sched);
void fb_host_run_soon(struct fb_disk *disk);
void fb_host_wants_changed(struct fb_disk *disk);

/* sched/background.c */
void fb_background_init(struct fb_sched *sched);
void fb_background_note_bio(struct fb_sched *sched, const struct bio *bio);
void fb_background_limit_depth(blk_opf_t opf, struct blk_mq_alloc_data *data);
bool fb_background_allow_merge(struct request_queue *q, struct request *rq, struct bio *bio);
bool fb_background_submitter_is_idle(void);
bool fb_background_recognise(struct fb_sched_rq *fq);
void fb_background_add(struct fb_sched *sched, struct fb_sched_rq *fq);
void fb_background_del(struct fb_sched *sched, struct fb_sched_rq *fq);
void fb_background_merged(struct fb_sched *sched, struct fb_sched_rq *fq, struct fb_sched_rq *gone);
bool fb_background_is_due(struct fb_sched *sched);
void fb_background_note_foreground(struct fb_sched *sched);
void fb_background_note_sent(struct fb_sched *sched, struct fb_sched_rq *fq, u64 now);
struct fb_sched_rq *fb_background_take(struct fb_sched *sched, u64 now);

/* sched/tunables.c */
extern struct elv_fs_entry fb_tunables_attrs[];

/* freeblock_iosched.c */
int fb_iosched_register(void);
void fb_iosched_unregister(void);

#endif /* FB_SCHED_H */
