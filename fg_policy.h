/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which pending foreground request goes next (freeblock paper, 4.2). Core.
 *
 * The pool belongs to the caller, who serialises all calls (in the kernel the
 * scheduler's lock, hence the bound of 20 us at 256 pending).
 */
#ifndef FG_POLICY_H
#define FG_POLICY_H

#include "disk_model.h"

enum fg_policy_id {
	FG_FIFO,	/* arrival order */
	FG_CLOOK,	/* ascending LBN from the last one sent, then from the lowest */
	FG_SSTF,	/* shortest seek, ties by rotational latency */
	FG_SPTF,	/* shortest seek + rotational latency */
	FG_SPTF_SW,	/* smallest seek among those within sw_percent of the shortest positioning */
	FG_POLICIES,
};

extern const char * const fg_policy_name[FG_POLICIES];	/* fifo clook sstf sptf sptf-sw */

/**
 * struct fg_req - one pending request, embedded in the host's own
 * @node: in the pool, arrival order
 * @lbn: first sector
 * @nsect: sectors
 * @write: direction
 * @placed: @start is valid (a model was there and the LBN within it)
 * @start: where its first sector begins
 * @deadline_ns: sent before all others once this is past (starvation bound)
 * @seek_ns: scratch of the last choice
 * @pos_ns: scratch of the last choice: seek + rotational latency, U64_MAX = pruned
 */
struct fg_req {
	struct list_head node;
	u64 lbn;
	u32 nsect;
	bool write;
	bool placed;
	struct dm_place start;
	u64 deadline_ns;
	u64 seek_ns;
	u64 pos_ns;
};

/**
 * struct fg_pool - the pending requests and the policy's memory
 * @reqs: all, arrival order
 * @count: how many
 * @policy: in force
 * @sw_percent: n of SPTF-SWn%
 * @last_lbn: end of the request sent last (C-LOOK goes on from here)
 * @batch: transparent mode: requests left in the present direction's batch
 * @starved: transparent mode: times reads went before waiting writes
 * @batch_write: transparent mode: the batch's direction
 */
struct fg_pool {
	struct list_head reqs;
	u32 count;
	enum fg_policy_id policy;
	u32 sw_percent;
	u64 last_lbn;
	u32 batch;
	u32 starved;
	bool batch_write;
};

/**
 * struct fg_choice - the provisional next request
 * @req: it, or NULL
 * @seek_ns: predicted seek (0 when not reckoned)
 * @pos_ns: predicted seek + latency (0 when not reckoned)
 * @best_pos_ns: the shortest positioning time seen in this choice (SPTF-SW)
 * @expired: chosen because its deadline had passed: nothing replaces it
 * @reckoned: seek_ns and pos_ns are valid
 */
struct fg_choice {
	struct fg_req *req;
	u64 seek_ns;
	u64 pos_ns;
	u64 best_pos_ns;
	bool expired;
	bool reckoned;
};

void fg_pool_init(struct fg_pool *pool);
void fg_pool_add(struct fg_pool *pool, struct fg_req *req);	/* at the tail */
void fg_pool_del(struct fg_pool *pool, struct fg_req *req);

/* map @req's start once, at insertion or after a front merge; @dm may be NULL */
void fg_req_place(struct fg_req *req, const struct disk_model *dm);

/*
 * Choose with the head at @head (NULL: unknown, or no model: sstf, sptf and
 * sptf-sw then fall back to clook). Does not remove it from the pool.
 */
void fg_choose(struct fg_pool *pool, const struct disk_model *dm,
	       const struct dm_place *head, u64 now_ns, struct fg_choice *c);

/* O(1): does @req, just inserted or changed by a merge, replace the choice? */
bool fg_offer(struct fg_pool *pool, const struct disk_model *dm,
	      const struct dm_place *head, struct fg_req *req, struct fg_choice *c);

/* the caller sends @req: C-LOOK's position moves (the caller removes it from the pool) */
void fg_sent(struct fg_pool *pool, const struct fg_req *req);

/*
 * Transparent mode: mq-deadline's order (reads first, writes at the latest after
 * two read batches, batches of 16 ascending LBNs, expired requests first), no model.
 */
struct fg_req *fg_choose_deadline(struct fg_pool *pool, u64 now_ns);

#endif /* FG_POLICY_H */
