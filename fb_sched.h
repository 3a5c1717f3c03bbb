/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The scheduler on one queue: what freeblock_iosched.c and its tunables share.
 */
#ifndef FB_SCHED_H
#define FB_SCHED_H

#include <linux/hrtimer.h>

#include "fb_disk.h"
#include "include/compat/fb_compat.h"

#define FBS_DEPTH 2	/* one command in service, one behind it (freeblock paper, 3.3) */

/* a command must be with the drive this long before it is to start there */
#define FBS_LEAD_NS (200 * (u64)NSEC_PER_USEC)

#define FBK_SUBMITTER_BITS 6
/* what bypasses schedulers may end unreported: so often it is looked for until it has */
#define FBS_LOOK_NS (20 * (u64)NSEC_PER_MSEC)

#define FBS_GAP_SHIFT 4	/* fbs.mean_gap_ns averages over 16 */

enum fbs_state {
	FBS_NEW,	/* allocated, merged away, or a held vehicle */
	FBS_POOLED,	/* waits in the pool */
	FBS_SENT,	/* at the device, counted */
	FBS_REQUEUED,	/* came back from the driver, still counted until re-inserted */
	FBS_DONE,	/* completed, about to be freed */
};

/**
 * struct fbs_rq - our part of a request, in elv.priv[0]; [L]
 * @fg: its place in the pool
 * @rq: the request
 * @state: see there
 * @cmd: as a command at the drive: where it goes, and what its completion teaches
 * @prepended: a read was linked in front of it once: never again, or a remainder that the
 *	driver gives back could go round for ever
 * @ours: a separate free read
 * @idle: of the idle I/O class
 * @background: an idle-class read: in fbs.others, or sent from there
 * @since_ns: when it came, while it was one; 0: it never was
 * @flight: in fbs.flight, in the order sent
 */
struct fbs_rq {
	struct fg_req fg;
	struct request *rq;
	enum fbs_state state;
	struct fb_completion_cmd cmd;
	bool prepended;
	bool ours;
	bool idle;
	bool background;
	u64 since_ns;
	struct list_head flight;
};

/**
 * struct fbk - other people's background reads (fb_others.c); all [L]
 * @reqs: pooled struct fbs_rq, the oldest first
 * @count: how many
 * @flying: how many are at the drive, but for those that joined the foreground
 * @next_lbn: behind the last one that was sent
 * @fg_end_ns: when the last foreground request ended
 * @expire_ns: greatest age in the pool
 * @wait_ns: so long without foreground before one is sent
 * @depth: to which they may allocate requests; written with the queue frozen
 * @submitter: tasks whose last bio was of the idle class, by hash; without the lock
 */
struct fbk {
	struct list_head reqs;
	u32 count;
	u32 flying;
	u64 next_lbn;
	u64 fg_end_ns;
	u64 expire_ns;
	u64 wait_ns;
	u32 depth;
	struct task_struct *submitter[1 << FBK_SUBMITTER_BITS];
};

/**
 * struct fbs - the scheduler on one queue; all [L] of @fd
 * @fd: the disk
 * @q: its queue
 * @changed: tells the elevator that a tunable has changed
 * @sort: pending requests by LBN, of each class reads and writes; @others are FG_IDLE reads
 * @bypass: requests to send before all others: requeued ones, those without our part
 * @pool: pending foreground requests
 * @others: pending background reads of others
 * @choice: the provisional next one
 * @pinned: a separate read has been sent for @choice's gap: @choice is next for good
 * @plan: the plan in use while pinned; FB_PLAN_NONE: nothing of it is left to be sent
 * @next_piece: its next piece
 * @lifts: limits that the command sent last lifted
 * @extra_ns: of the gap offered last: see fb_search_extra_ns()
 * @flight: requests at the device, in the order sent
 * @nr_flight: how many
 * @nr_idle: those of them that are idle reads
 * @nr_untracked: requests at the device without our part: no free reads meanwhile
 * @nr_unseen: requests at the device that have bypassed schedulers, when last looked
 * @head: head and phase
 * @tail_known: @tail is valid
 * @tail: where the head will be at the end of the request sent last
 * @window_ns: the second command is held back until then; 0: it is not
 * @timer: ends that
 * @deep: the drive orders: commands are neither chosen nor predicted
 * @depth: commands kept at the device when not @deep
 * @auto_depth: @deep while no free reads are wanted
 * @wake_ns: what it takes to send a command that was held back, as far as known
 * @mean_gap_ns: what requests wait for their sectors, a running mean
 * @stream_until_ns: no gaps to speak of: @deep until then
 * @hold: hold the second command back
 * @lift: enum fb_lift: limits that searches lift ...
 * @auto_lift: ... where the probe allows it
 * @auto_margin: the conservatism is learnt, from @target_ppm
 * @conservatism_ns: if not: added to seek estimates of the freeblock decision
 * @target_ppm: bound of the guard
 * @expire_ns: longest wait of a read [0] and a write [1]
 * @search_ns: budget of a search
 */
struct fbs {
	struct fb_disk *fd;
	struct request_queue *q;
	void (*changed)(struct fbs *fs);
	struct rb_root sort[FG_CLASSES][2];
	struct list_head bypass;
	struct fg_pool pool;
	struct fbk others;
	struct fg_choice choice;
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
	u64 wake_ns;
	u64 mean_gap_ns;
	u64 stream_until_ns;
	u32 hold;
	u32 lift;
	bool auto_lift;
	bool auto_margin;
	u64 conservatism_ns;
	u32 target_ppm;
	u64 expire_ns[2];
	u64 search_ns;
};

/*
 * Discards and their like move no head that we could follow, and may be gigabytes long. Our
 * own reads may look like something else (fb_medium.c).
 */
static inline bool fbs_is_media(const struct fbs_rq *fq)
{
	return fq->ours || req_op(fq->rq) == REQ_OP_READ || req_op(fq->rq) == REQ_OP_WRITE;
}

/* the order is not ours: as many commands as the drive takes, and no predictions */
static inline bool fbs_is_hands_off(const struct fbs *fs)
{
	return fs->deep || fb_disk_transparent(fs->fd);
}

/* our part of @rq; NULL: none, because it bypasses schedulers or memory was short */
static inline struct fbs_rq *fbs_rq(const struct request *rq)
{
	return rq->rq_flags & RQF_ELVPRIV ? rq->elv.priv[0] : NULL;
}

/* at the drive: not a free read, and no background read of others before its age */
static inline bool fbs_is_foreground(const struct fbs_rq *fq)
{
	return !fq->ours && !fq->background;
}

static inline struct rb_root *fbs_sort(struct fbs *fs, const struct fbs_rq *fq)
{
	return &fs->sort[fq->fg.class][rq_data_dir(fq->rq)];
}

/* the request that is the choice, of which there is one */
static inline struct fbs_rq *fb_choice_request(const struct fbs *fs)
{
	return container_of(fs->choice.req, struct fbs_rq, fg);
}

/* freeblock_iosched.c */
int fbs_register(void);
void fbs_unregister(void);

/* fb_pool.c */
void fb_pool_add(struct fbs *fs, struct fbs_rq *fq);
void fb_pool_del(struct fbs *fs, struct fbs_rq *fq);
struct fg_req *fb_pool_above(struct fg_pool *pool, enum fg_class class, bool write, u64 lbn);
bool fb_pool_bio_merge(struct request_queue *q, struct bio *bio, unsigned int nr_segs);
int fb_pool_request_merge(struct request_queue *q, struct request **rq, struct bio *bio);
void fb_pool_request_merged(struct request_queue *q, struct request *rq, enum elv_merge type);
void fb_pool_requests_merged(struct request_queue *q, struct request *rq, struct request *next);

/* fb_choice.c */
void fb_choice_init(struct fbs *fs);
void fb_choice_place(const struct fbs *fs, struct fbs_rq *fq);
void fb_choice_place_all(struct fbs *fs);
void fb_choice_drop_plan(struct fbs *fs);
void fb_choice_void(struct fbs *fs);
u64 fb_choice_gap_ns(const struct fbs *fs);
void fb_choice_make(struct fbs *fs, const struct dm_place *head, u64 now);
void fb_choice_renew(struct fbs *fs);
void fb_choice_offer(struct fbs *fs, struct fbs_rq *fq);
const struct fb_plan *fb_choice_take_plan(struct fbs *fs, u64 now);
void fb_choice_note_gap(struct fbs *fs, u64 now);
void fb_choice_set_deep(struct fbs *fs);

/* fb_flight.c */
void fbf_sent(struct fbs *fs, struct fbs_rq *fq);
bool fbf_hold(struct fbs *fs);
bool fbf_window_open(const struct fbs *fs, u64 now);
bool fbf_too_late(const struct fbs *fs, u64 now);
void fbf_check_writes(struct fbs *fs);
bool fbf_observe(struct fbs *fs, struct fbs_rq *fq, u64 now);
void fbf_overtake(struct fbs *fs, const struct fbs_rq *fq, u64 now);

/* fb_others.c */
void fbk_init(struct fbs *fs);
int fbk_init_hctx(struct blk_mq_hw_ctx *hctx, unsigned int idx);
void fbk_depth_updated(struct blk_mq_hw_ctx *hctx);
void fbk_note_bio(struct fbs *fs, const struct bio *bio);
void fbk_limit_depth(blk_opf_t opf, struct blk_mq_alloc_data *data);
bool fbk_allow_merge(struct request_queue *q, struct request *rq, struct bio *bio);
bool fbk_submitter_is_idle(void);
bool fbk_recognise(struct fbs_rq *fq);
void fbk_add(struct fbs *fs, struct fbs_rq *fq);
void fbk_del(struct fbs *fs, struct fbs_rq *fq);
void fbk_merged(struct fbs *fs, struct fbs_rq *fq, struct fbs_rq *gone);
bool fbk_expire(struct fbs *fs);
bool fbk_is_due(struct fbs *fs);
void fbk_note_sent(struct fbs *fs, struct fbs_rq *fq, u64 now);
struct fbs_rq *fbk_pick_idle(struct fbs *fs, u64 now, u64 *due_ns);

/* fb_tunables.c */
extern struct elv_fs_entry fb_tunables_attrs[];

#endif /* FB_SCHED_H */
