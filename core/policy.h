/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which pending foreground request goes next (freeblock paper, 4.2). Core.
 *
 * The pool belongs to the caller, who serialises all calls (in the kernel the
 * scheduler's lock, hence the bound of 20 us at 256 pending).
 */
#ifndef FB_POLICY_H
#define FB_POLICY_H

#include "disk_model.h"

/**
 * enum fb_policy_policy_id - the policies
 * @FB_POLICY_FIFO: arrival order
 * @FB_POLICY_CLOOK: ascending LBN from the last one sent, then from the lowest
 * @FB_POLICY_SSTF: shortest seek, ties by rotational latency
 * @FB_POLICY_SPTF: shortest seek + rotational latency
 * @FB_POLICY_SPTF_SW: smallest seek among those within sw_percent of the shortest positioning
 * @FB_POLICY_AUTO: sptf-sw while the drive is never idle; else what answers soonest, see
 *	fb_policy_ended()
 * @FB_POLICIES: how many
 */
enum fb_policy_policy_id {
	FB_POLICY_FIFO,
	FB_POLICY_CLOOK,
	FB_POLICY_SSTF,
	FB_POLICY_SPTF,
	FB_POLICY_SPTF_SW,
	FB_POLICY_AUTO,
	FB_POLICIES,
};

/* fifo clook sstf sptf sptf-sw auto */
extern const char * const fb_policy_name[FB_POLICIES];

/**
 * enum fb_policy_class - I/O priority classes
 * @FB_POLICY_RT: before all others
 * @FB_POLICY_BE: ordinary requests
 * @FB_POLICY_IDLE: while there are no others
 * @FB_POLICY_CLASSES: how many
 */
enum fb_policy_class {
	FB_POLICY_RT,
	FB_POLICY_BE,
	FB_POLICY_IDLE,
	FB_POLICY_CLASSES,
};

/**
 * struct fb_policy_req - one pending request, embedded in the host's own
 * @node: in the pool, arrival order within its class
 * @fifo: in the pool, by deadline within its class and direction
 * @lbn: first sector
 * @nsect: sectors
 * @write: direction
 * @class: priority
 * @placed: @start is valid (a model was there and the LBN within it)
 * @start: where its first sector begins
 * @deadline_ns: sent before all others of its class once this is past (starvation bound);
 *	0 = none. While it is in the pool only fb_policy_pool_merge() changes it.
 * @arrived_ns: when it came; of requests in a pool not before those added earlier
 * @seek_ns: scratch: its seek when it was last reckoned
 * @pos_ns: scratch: seek + rotational latency then
 * @cost_ns: scratch: @pos_ns, and under auto what it is behind older ones
 */
struct fb_policy_req {
	struct list_head node;
	struct list_head fifo;
	u64 lbn;
	u32 nsect;
	bool write;
	enum fb_policy_class class;
	bool placed;
	struct dm_place start;
	u64 deadline_ns;
	u64 arrived_ns;
	u64 seek_ns;
	u64 pos_ns;
	u64 cost_ns;
};

#define FB_POLICY_IDLE_BITS 20
#define FB_POLICY_IDLE_ONE 0x100000	/* fb_policy_pool.idle: all of them */

/**
 * struct fb_policy_pool - the pending requests and the policy's memory
 * @reqs: of each class all, arrival order
 * @fifo: of each class the reads [0] and the writes [1], earliest deadline first
 * @count: how many in all
 * @policy: in force
 * @sw_percent: n of SPTF-SWn%
 * @last_lbn: end of the request sent last (C-LOOK goes on from here)
 * @idle: auto: share of the late completions that left nothing to do, of FB_POLICY_IDLE_ONE
 * @loaded: auto: the drive is never idle
 * @batch: transparent mode: requests left in the present direction's batch
 * @starved: transparent mode: times reads went before waiting writes
 * @batch_write: transparent mode: the batch's direction
 */
struct fb_policy_pool {
	struct list_head reqs[FB_POLICY_CLASSES];
	struct list_head fifo[FB_POLICY_CLASSES][2];
	u32 count;
	enum fb_policy_policy_id policy;
	u32 sw_percent;
	u64 last_lbn;
	u32 idle;
	bool loaded;
	u32 batch;
	u32 starved;
	bool batch_write;
};

/**
 * struct fb_policy_choice - the provisional next request
 * @req: it, or NULL
 * @seek_ns: predicted seek (0 when not reckoned)
 * @pos_ns: predicted seek + latency (0 when not reckoned)
 * @cost_ns: what @pos_ns is by age (as @pos_ns but under auto)
 * @best_pos_ns: the positioning time of least cost seen in this choice (SPTF-SW) ...
 * @best_cost_ns: ... and this cost
 * @now_ns: when it was made
 * @class: the class that it was chosen from; FB_POLICY_RT if it has waited for too long there
 * @expired: chosen because its deadline had passed: nothing of its class replaces it
 * @reckoned: seek_ns and pos_ns are valid
 */
struct fb_policy_choice {
	struct fb_policy_req *req;
	u64 seek_ns;
	u64 pos_ns;
	u64 cost_ns;
	u64 best_pos_ns;
	u64 best_cost_ns;
	u64 now_ns;
	enum fb_policy_class class;
	bool expired;
	bool reckoned;
};

/**
 * fb_policy_policy_by_name() - the policy of that name
 * @name: one of fb_policy_name[], exactly
 *
 * Return: its number, or -EINVAL.
 */
int fb_policy_policy_by_name(const char *name);

/**
 * fb_policy_pool_init() - an empty pool: fifo, SPTF-SW at 60 %
 * @pool: the pool
 */
void fb_policy_pool_init(struct fb_policy_pool *pool);

/**
 * fb_policy_pool_add() - a request has arrived: it goes to the tail
 * @pool: the pool
 * @req: in no pool
 *
 * O(1) if its deadline is not before those of its class and direction; as a rule it is the
 * latest.
 */
void fb_policy_pool_add(struct fb_policy_pool *pool, struct fb_policy_req *req);

/**
 * fb_policy_pool_del() - a request is sent, merged away or cancelled
 * @pool: the pool
 * @req: in this pool
 */
void fb_policy_pool_del(struct fb_policy_pool *pool, struct fb_policy_req *req);

/**
 * fb_policy_pool_merge() - a request has grown by another one: the earlier deadline holds
 * @pool: the pool
 * @req: the one that stays, in this pool
 * @gone: the other, still in this pool, of the same class and direction
 */
void fb_policy_pool_merge(struct fb_policy_pool *pool, struct fb_policy_req *req,
			  const struct fb_policy_req *gone);

/**
 * fb_policy_req_place() - find out where a request begins
 * @req: @lbn is read, @placed and @start are set
 * @dm: model, or NULL: then it is not placed
 *
 * To be called once, at insertion, and again after a front merge or when
 * another model has been loaded.
 */
void fb_policy_req_place(struct fb_policy_req *req, const struct disk_model *dm);

/**
 * fb_policy_choose() - which request goes next
 * @pool: the pool; nothing is removed from it
 * @dm: model, or NULL
 * @head: where the head will be, or NULL: unknown
 * @now_ns: for deadlines: the earliest that has passed goes first
 * @c: out: the choice; @c->req is NULL when the pool is empty
 *
 * The policy chooses among the highest class that is pending. What has waited for 10 s in a
 * lower one goes before all.
 *
 * Without model or head, or when no request is placed, sstf, sptf and sptf-sw
 * choose as clook does. A request that is not placed among others that are
 * waits for its deadline. Of equals the oldest goes.
 *
 * Cost: under 15,000 instructions at 256 pending.
 */
void fb_policy_choose(struct fb_policy_pool *pool, const struct disk_model *dm,
		      const struct dm_place *head, u64 now_ns, struct fb_policy_choice *c);

/**
 * fb_policy_offer() - does a request that has just come, or was changed by a merge,
 *	replace the choice
 * @pool: the pool; it holds @req
 * @dm: as in fb_policy_choose()
 * @head: as in fb_policy_choose(), the same as when @c was made
 * @req: the request
 * @c: the choice; replaced if @req is better
 *
 * O(1). For all policies but sptf-sw the result is what fb_policy_choose() would say. A
 * new shortest positioning time narrows sptf-sw's window: if that shuts the
 * present choice out, @req takes its place, although a third may have a smaller
 * seek. If @req is the choice itself and its beginning moved, the choice is
 * reckoned anew but not compared with the others: a host that wants the best
 * chooses again.
 *
 * Return: true when @c changed in any way that voids a plan made for it.
 */
bool fb_policy_offer(struct fb_policy_pool *pool, const struct disk_model *dm,
		     const struct dm_place *head, struct fb_policy_req *req,
		     struct fb_policy_choice *c);

/**
 * fb_policy_sent() - a request is sent: C-LOOK goes on from its end
 * @pool: the pool; the caller removes the request from it
 * @req: the request
 */
void fb_policy_sent(struct fb_policy_pool *pool, const struct fb_policy_req *req);

/**
 * fb_policy_ended() - the drive has ended a foreground request
 * @pool: the pool
 * @idle: nothing of the foreground is left, neither here nor at the drive
 *
 * Tells auto how loaded the drive is. As long as it is idle at times, response time is what
 * counts: shortest positioning within a narrow window, and a request's age counts for
 * it, so that few wait long. When it never is, the policy is sptf-sw, whose short seeks
 * leave most for free reads.
 */
void fb_policy_ended(struct fb_policy_pool *pool, bool idle);

/*
 * The next request upward: that with the lowest LBN, in this class and direction, which is not
 * below @lbn; or NULL. The host's, who keeps the requests sorted: it is asked with interrupts off.
 */
typedef struct fb_policy_req *(*fb_policy_above_fn)(struct fb_policy_pool *pool,
						    enum fb_policy_class class, bool write,
						    u64 lbn);

/**
 * fb_policy_choose_deadline() - transparent mode: mq-deadline's order, without a model
 * @pool: the pool; nothing is removed from it, but the batch is counted down: the
 *	caller sends what this returns
 * @now_ns: for deadlines
 * @above: finds the next request of a batch
 *
 * What has waited for 10 s in a lower class goes first, then real-time requests, then
 * best-effort, then idle ones. In a class reads go first, writes at the latest after two
 * batches of reads; a batch is 16 requests of ascending LBNs and begins with the
 * direction's earliest deadline if that has passed.
 *
 * Cost: O(1), and two calls of @above.
 *
 * Return: the request, or NULL when the pool is empty.
 */
struct fb_policy_req *fb_policy_choose_deadline(struct fb_policy_pool *pool, u64 now_ns,
						fb_policy_above_fn above);

#endif /* FB_POLICY_H */
