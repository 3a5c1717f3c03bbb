/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The choice of the next pending foreground request (freeblock paper, 4.2). Core.
 *
 * The pool belongs to the caller, who serialises all calls; in the kernel the scheduler's
 * lock does, so a choice among 256 pending requests all over a disk must take less than 20 us.
 * Requests are kept by cylinder, too, and looked at from the head outward, until no seek is short
 * enough.
 */
#ifndef FB_POLICY_H
#define FB_POLICY_H

#include "disk_model.h"

/**
 * enum fb_policy_id - the policies
 * @FB_POLICY_FIFO: arrival order
 * @FB_POLICY_CLOOK: ascending LBN from the end of the last request sent, then from the lowest
 * @FB_POLICY_SSTF: shortest seek, ties by rotational latency; without a model the nearest LBN
 * @FB_POLICY_SPTF: shortest seek + rotational latency
 * @FB_POLICY_SPTF_SW: smallest seek among those within sw_percent of the shortest positioning
 * @FB_POLICY_AUTO: what is recommended: the same as joint
 * @FB_POLICY_JOINT: each request together with the free read before it (core/joint.h), which is
 *	for the host to do; here it is sptf, for when there is nothing to read or no time to search
 * @FB_POLICIES: how many
 */
enum fb_policy_id {
	FB_POLICY_FIFO,
	FB_POLICY_CLOOK,
	FB_POLICY_SSTF,
	FB_POLICY_SPTF,
	FB_POLICY_SPTF_SW,
	FB_POLICY_AUTO,
	FB_POLICY_JOINT,
	FB_POLICIES,
};

/* fifo, clook, sstf, sptf, sptf-sw, auto, joint */
extern const char * const fb_policy_name[FB_POLICIES];

/**
 * enum fb_policy_class - I/O priority classes
 * @FB_POLICY_RT: real-time requests, before all others
 * @FB_POLICY_BE: ordinary, best-effort requests
 * @FB_POLICY_IDLE: requests that wait while there are others
 * @FB_POLICY_CLASSES: how many
 */
enum fb_policy_class {
	FB_POLICY_RT,
	FB_POLICY_BE,
	FB_POLICY_IDLE,
	FB_POLICY_CLASSES,
};

/**
 * struct fb_policy_req - one pending request, embedded in the host's own structure
 * @node: list entry in the pool, in arrival order within its class
 * @fifo: list entry in the pool, by deadline within its class and direction
 * @near: list entry in the pool, by cylinder, while @placed
 * @lbn: first sector
 * @nsect: sectors
 * @write: direction
 * @class: priority
 * @placed: @start is valid (there was a model, and the LBN was within it)
 * @start: where its first sector begins
 * @bucket: where @near is kept
 * @deadline_ns: it is sent before all others of its class once this is past (starvation
 *	bound); 0 = none. While it is in the pool only fb_policy_pool_merge() changes it.
 * @arrived_ns: when it arrived; not before requests added to the pool earlier
 * @seek_ns: scratch: its seek when last computed
 * @pos_ns: scratch: seek + rotational latency then
 */
struct fb_policy_req {
	struct list_head node;
	struct list_head fifo;
	struct list_head near;
	u64 lbn;
	u32 nsect;
	bool write;
	enum fb_policy_class class;
	bool placed;
	struct dm_place start;
	u32 bucket;
	u64 deadline_ns;
	u64 arrived_ns;
	u64 seek_ns;
	u64 pos_ns;
};

#define FB_POLICY_BUCKETS 64

/**
 * struct fb_policy_near - the placed requests of a class
 * @used: which buckets have any
 * @bucket: their requests; each bucket has as many cylinders, a power of two
 */
struct fb_policy_near {
	u64 used;
	struct list_head bucket[FB_POLICY_BUCKETS];
};

#define FB_POLICY_IDLE_ONE 0x100000	/* fb_policy_pool.idle: every completion */

/**
 * struct fb_policy_pool - the pending requests and the policy's memory
 * @reqs: all requests of each class, in arrival order
 * @fifo: reads [0] and writes [1] of each class, earliest deadline first
 * @near: those of each class that are placed, by cylinder
 * @count: number of all requests
 * @policy: the policy in force
 * @sw_percent: n of SPTF-SWn%
 * @last_lbn: end of the request sent last (C-LOOK goes on from here)
 * @idle: share of recent completions that left nothing to do, of FB_POLICY_IDLE_ONE
 * @batch: transparent mode: requests left in the current batch
 * @starved: transparent mode: batches of reads sent while writes waited
 * @batch_write: transparent mode: the batch's direction
 * @spare: requests that the policy may still choose before another one that has expired goes first
 */
struct fb_policy_pool {
	struct list_head reqs[FB_POLICY_CLASSES];
	struct list_head fifo[FB_POLICY_CLASSES][2];
	struct fb_policy_near near[FB_POLICY_CLASSES];
	u32 count;
	enum fb_policy_id policy;
	u32 sw_percent;
	u64 last_lbn;
	u32 idle;
	u32 batch;
	u32 starved;
	bool batch_write;
	u32 spare;
};

/**
 * struct fb_policy_choice - the provisional next request
 * @req: the request, or NULL
 * @seek_ns: predicted seek (0 unless @predicted)
 * @pos_ns: predicted seek + latency (0 unless @predicted)
 * @best_pos_ns: shortest positioning time seen in this choice (SPTF-SW)
 * @class: the class that it was chosen from; FB_POLICY_RT if it has waited for too long there
 * @expired: chosen because its deadline had passed: no request of its class replaces it
 * @predicted: @seek_ns and @pos_ns are valid
 */
struct fb_policy_choice {
	struct fb_policy_req *req;
	u64 seek_ns;
	u64 pos_ns;
	u64 best_pos_ns;
	enum fb_policy_class class;
	bool expired;
	bool predicted;
};

/**
 * fb_policy_needs_no_map() - does a policy order without a model, by LBN or arrival?
 * @policy: the policy in force
 *
 * Return: true if it does.
 */
bool fb_policy_needs_no_map(enum fb_policy_id policy);

/**
 * fb_policy_joins() - are requests chosen together with the free reads before them?
 * @policy: the policy in force
 *
 * If so, and while free reads are wanted, the host does that (core/joint.h); else the choice of
 * this file, shortest positioning time, stands.
 *
 * Return: true for joint and auto.
 */
bool fb_policy_joins(enum fb_policy_id policy);

/**
 * fb_policy_has_cost() - may its order take longer than that of shortest positioning times?
 * @policy: the policy in force
 *
 * If so core/order_cost.h tells by how much, which it can where positions are predicted.
 *
 * Return: true for sstf, sptf-sw, auto and joint.
 */
bool fb_policy_has_cost(enum fb_policy_id policy);

/**
 * fb_policy_by_name() - look up a policy by its name
 * @name: one of fb_policy_name[], exactly
 *
 * Return: its number, or -EINVAL.
 */
int fb_policy_by_name(const char *name);

/**
 * fb_policy_pool_init() - set up an empty pool: fifo, SPTF-SW at 60 %
 * @pool: the pool
 */
void fb_policy_pool_init(struct fb_policy_pool *pool);

/**
 * fb_policy_pool_add() - add a request that has arrived, at the tail
 * @pool: the pool
 * @req: the request, in no pool
 *
 * O(1) if its deadline is the latest of its class and direction, as it usually is.
 */
void fb_policy_pool_add(struct fb_policy_pool *pool, struct fb_policy_req *req);

/**
 * fb_policy_pool_del() - remove a request that is sent, merged away or cancelled
 * @pool: the pool
 * @req: the request, in this pool
 */
void fb_policy_pool_del(struct fb_policy_pool *pool, struct fb_policy_req *req);

/**
 * fb_policy_pool_merge() - give a request the earlier deadline of the two it was merged from
 * @pool: the pool
 * @req: the one that stays, in this pool
 * @gone: the other, still in this pool, of the same class and direction
 */
void fb_policy_pool_merge(struct fb_policy_pool *pool, struct fb_policy_req *req,
			  const struct fb_policy_req *gone);

/**
 * fb_policy_req_place() - find where a request begins, before it is added to a pool
 * @req: in no pool; @lbn is read, @placed and @start are set
 * @dm: model, or NULL: then it is not placed
 */
void fb_policy_req_place(struct fb_policy_req *req, const struct disk_model *dm);

/**
 * fb_policy_pool_place() - find again where a request begins
 * @pool: the pool
 * @req: the request, in this pool
 * @dm: as in fb_policy_req_place(); all requests of a pool are placed by one model
 *
 * Call it after a front merge, and for all requests when another model has been loaded.
 */
void fb_policy_pool_place(struct fb_policy_pool *pool, struct fb_policy_req *req,
			  const struct disk_model *dm);

/**
 * fb_policy_choose() - choose which request goes next
 * @pool: the pool; nothing is removed from it
 * @dm: model, or NULL
 * @head: where the head will be, or NULL: unknown
 * @now_ns: the time; of the requests whose deadline has passed the earliest goes first
 * @c: out: the choice; @c->req is NULL when the pool is empty
 *
 * The policy chooses among the highest class that is pending. A request of a lower class
 * that has waited for 10 s goes before all others.
 *
 * Without a model or head, or when no request is placed, sstf, sptf and sptf-sw
 * choose as clook does. If only some requests are placed, the others wait for their
 * deadlines. Of equal times the shorter seek goes, of equal seeks any.
 *
 * Cost: at 256 pending under 10,000 instructions if they are all over the disk, under 20,000 if
 * they are within some cylinders, where all are looked at.
 */
void fb_policy_choose(struct fb_policy_pool *pool, const struct disk_model *dm,
		      const struct dm_place *head, u64 now_ns, struct fb_policy_choice *c);

/**
 * fb_policy_is_overdue() - has a request waited for too long?
 * @pool: the pool
 * @now_ns: the time
 *
 * Return: true if the deadline of one has passed that is not of the lowest class.
 */
bool fb_policy_is_overdue(const struct fb_policy_pool *pool, u64 now_ns);

/**
 * fb_policy_offer() - let a request that has just arrived, or grown by a merge, replace the
 *	choice
 * @pool: the pool; it holds @req
 * @dm: as in fb_policy_choose()
 * @head: as in fb_policy_choose(), the same as when @c was made
 * @req: the request
 * @c: the choice; replaced if @req is better
 *
 * O(1). For all policies but sptf-sw the result is that of fb_policy_choose(). A new
 * shortest positioning time narrows sptf-sw's window: if that excludes the current
 * choice, @req takes its place, although a third request may have a shorter seek. If
 * @req is the choice itself and its beginning moved, its times are computed again but not
 * compared with the others'; a host that wants the best request must choose again.
 *
 * Return: true when @c changed so that a plan made for it is void.
 */
bool fb_policy_offer(struct fb_policy_pool *pool, const struct disk_model *dm,
		     const struct dm_place *head, struct fb_policy_req *req,
		     struct fb_policy_choice *c);

/**
 * fb_policy_onward_ns() - get the shortest positioning time from a place
 * @pool: the pool
 * @dm: model
 * @class: only requests of this class count
 * @head: where the head will be
 * @skip: this request does not count, or NULL
 *
 * Overwrites the scratch fields of the class's requests.
 *
 * Return: ns; 0: there is no other request that is placed.
 */
u64 fb_policy_onward_ns(struct fb_policy_pool *pool, const struct disk_model *dm,
			enum fb_policy_class class, const struct dm_place *head,
			const struct fb_policy_req *skip);

/**
 * fb_policy_sent() - note that a request is sent: C-LOOK goes on from its end
 * @pool: the pool; the caller removes the request from it
 * @req: the request
 * @expired: it went first because its deadline had passed
 */
void fb_policy_sent(struct fb_policy_pool *pool, const struct fb_policy_req *req, bool expired);

/**
 * fb_policy_ended() - note that the drive has ended a foreground request
 * @pool: the pool
 * @idle: no foreground request is left, neither pending nor in flight
 *
 * This tells the joint choice how loaded the drive is: the same time costs other shares of
 * throughput and of response time (fb_joint_charge()).
 */
void fb_policy_ended(struct fb_policy_pool *pool, bool idle);

/*
 * Finds the request with the lowest LBN not below @lbn in this class and direction, or NULL.
 * The host provides it and keeps requests sorted, because it is called with interrupts off.
 */
typedef struct fb_policy_req *(*fb_policy_above_fn)(struct fb_policy_pool *pool,
						    enum fb_policy_class class, bool write,
						    u64 lbn);

/**
 * fb_policy_choose_deadline() - choose in mq-deadline's order, without a model
 * @pool: the pool; nothing is removed from it, but the batch is counted down, so the
 *	caller must send the request returned
 * @now_ns: the time, for deadlines
 * @above: finds the next request of a batch
 *
 * This is transparent mode. A request that has waited for 10 s in a lower class goes first,
 * then real-time requests, then best-effort, then idle ones. Within a class reads go first;
 * writes go at the latest after two batches of reads. A batch is 16 requests of ascending
 * LBNs and begins with the direction's earliest deadline if that has passed.
 *
 * Cost: O(1), and two calls of @above.
 *
 * Return: the request, or NULL when the pool is empty.
 */
struct fb_policy_req *fb_policy_choose_deadline(struct fb_policy_pool *pool, u64 now_ns,
						fb_policy_above_fn above);

#endif /* FB_POLICY_H */
