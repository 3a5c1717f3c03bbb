/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The choice of the next pending foreground request (freeblock paper, 4.2). In the kernel it is
 * made under the lock: among 256 pending all over a disk it must take less than 20 us. So requests
 * are kept by cylinder, too, and looked at from the head outward. Core; the caller serialises.
 */
#ifndef FB_POLICY_H
#define FB_POLICY_H

#include "disk_model.h"

enum fb_policy_id {
	/* ascending LBN from the last request's end, then from the lowest */
	FB_POLICY_CLOOK,
	FB_POLICY_SSTF,	/* shortest seek, then latency; without a model the nearest LBN */
	FB_POLICY_SPTF,			/* shortest seek + rotational latency */
	FB_POLICY_SPTF_SW,	/* smallest seek within sw_percent of the shortest positioning */
	/*
	 * recommended: each request together with the free read before it (core/joint.h); without
	 * sptf
	 */
	FB_POLICY_AUTO,
	FB_POLICIES,
};

extern const char * const fb_policy_name[FB_POLICIES];

/* I/O priority classes */
enum fb_policy_class {
	FB_POLICY_RT,			/* real-time, before all others */
	FB_POLICY_BE,			/* ordinary, best-effort */
	FB_POLICY_IDLE,			/* wait while there are others */
	FB_POLICY_CLASSES,
};

/* One pending request, embedded in the host's own structure */
struct fb_policy_req {
	struct list_head node;		/* in the pool, in arrival order within its class */
	struct list_head fifo;	/* in the pool, by deadline within its class and direction */
	struct list_head near;		/* in the pool, by cylinder, while @placed */
	u64 lbn;			/* first sector */
	u32 nsect;
	bool write;
	enum fb_policy_class class;
	bool placed;	/* @start is valid (there was a model, and the LBN was within it) */
	struct dm_place start;		/* where its first sector begins */
	u32 bucket;			/* where @near is kept */
	/*
	 * then it goes before all others of its class; 0: never. Changed by fb_policy_pool_merge()
	 */
	u64 deadline_ns;
	u64 arrived_ns;			/* not before requests added to the pool earlier */
	u64 seek_ns;			/* scratch: its seek when last computed */
	u64 pos_ns;			/* scratch: seek + rotational latency then */
};

/* dm_position() rounds angles, so requests are ruled out by angle only beyond this margin */
#define FB_POLICY_ROUNDING_NS 8

#define FB_POLICY_BUCKETS 64

/* The placed requests of a class */
struct fb_policy_near {
	u64 used;			/* bits: which buckets have any */
	struct list_head bucket[FB_POLICY_BUCKETS];
};

#define FB_POLICY_IDLE_ONE 0x100000	/* fb_policy_pool.idle: every completion */

/* The pending requests and the policy's memory */
struct fb_policy_pool {
	struct list_head reqs[FB_POLICY_CLASSES];	/* in arrival order */
	struct list_head fifo[FB_POLICY_CLASSES][2];	/* reads, writes; earliest deadline first */
	struct fb_policy_near near[FB_POLICY_CLASSES];	/* those that are placed, by cylinder */
	u32 count;			/* of all classes */
	enum fb_policy_id policy;	/* in force */
	u32 sw_percent;			/* n of SPTF-SWn% */
	u64 last_lbn;			/* end of the request sent last, for C-LOOK */
	u32 idle;	/* share of completions that left nothing to do, of FB_POLICY_IDLE_ONE */
	u32 batch;			/* transparent mode: requests left in the current batch */
	u32 starved;	/* transparent mode: batches of reads sent while writes waited */
	bool batch_write;		/* transparent mode: the batch's direction */
	u32 spare;	/* requests to choose freely before another that has expired goes first */
};

/* The provisional next request */
struct fb_policy_choice {
	struct fb_policy_req *req;	/* or NULL */
	u64 seek_ns;			/* predicted seek (0 unless @predicted) */
	u64 pos_ns;			/* predicted seek + latency (0 unless @predicted) */
	u64 best_pos_ns;	/* shortest positioning time seen in this choice (SPTF-SW) */
	/* its own; or FB_POLICY_RT: it has waited for too long in a lower one */
	enum fb_policy_class class;
	bool expired;	/* its deadline had passed: no request of its class replaces it */
	bool predicted;			/* @seek_ns and @pos_ns are valid */
};

/* Does a policy order without a model, by LBN or arrival? */
bool fb_policy_needs_no_map(enum fb_policy_id policy);
/* May its order take longer than that of shortest positioning times (core/order_cost.h)? */
bool fb_policy_has_cost(enum fb_policy_id policy);

/* An empty pool: auto, SPTF-SW at 60 %. */
void fb_policy_pool_init(struct fb_policy_pool *pool);
/* Add one that arrives: O(1) if its class and direction have no later deadline, as is usual. */
void fb_policy_pool_add(struct fb_policy_pool *pool, struct fb_policy_req *req);
/* Remove a request that is sent, merged away or cancelled. */
void fb_policy_pool_del(struct fb_policy_pool *pool, struct fb_policy_req *req);
/* Take out all requests, whose list @node is in @to then. */
void fb_policy_pool_clear(struct fb_policy_pool *pool, struct list_head *to);
/* Give @req the earlier deadline of both. @gone, merged into it, is still in the pool beside it. */
void fb_policy_pool_merge(struct fb_policy_pool *pool, struct fb_policy_req *req,
			  const struct fb_policy_req *gone);
/* Find where a request begins, before it is added to a pool. @dm: NULL: it is not placed. */
void fb_policy_req_place(struct fb_policy_req *req, const struct disk_model *dm);
/* The same of one in the pool: it has grown, or of all of them: there is another model. */
void fb_policy_pool_place(struct fb_policy_pool *pool, struct fb_policy_req *req,
			  const struct disk_model *dm);

/*
 * Choose which request of the highest class pending goes next; what has waited for 10 s in a lower
 * one goes first, then what is past its deadline. Without a model or head, mechanical policies
 * choose as clook does. Under 10,000 instructions at 256 pending, 20,000 if all are within some
 * cylinders.
 */
void fb_policy_choose(struct fb_policy_pool *pool, const struct disk_model *dm,
		      const struct dm_place *head, u64 now_ns, struct fb_policy_choice *c);

/* Has the deadline of a request passed that is not of the lowest class? */
bool fb_policy_is_overdue(const struct fb_policy_pool *pool, u64 now_ns);

/*
 * Let a request that has arrived, or grown by a merge, replace the choice if it is better, in O(1):
 * what a third one gains by it is not looked at. True: a plan made for the choice is void.
 */
bool fb_policy_offer(struct fb_policy_pool *pool, const struct disk_model *dm,
		     const struct dm_place *head, struct fb_policy_req *req,
		     struct fb_policy_choice *c);

/* Shortest positioning time from @head to a request of @class but @skip; 0: there is none. */
u64 fb_policy_onward_ns(struct fb_policy_pool *pool, const struct disk_model *dm,
			enum fb_policy_class class, const struct dm_place *head,
			const struct fb_policy_req *skip);

/* A request is sent; the caller removes it. @expired: its deadline had passed, so it went first. */
void fb_policy_sent(struct fb_policy_pool *pool, const struct fb_policy_req *req, bool expired);
/* A foreground request has ended. @idle: no other is left, pending or in flight. */
void fb_policy_ended(struct fb_policy_pool *pool, bool idle);

/* Finds the request with the lowest LBN not below @lbn, or NULL. Called with interrupts off. */
typedef struct fb_policy_req *(*fb_policy_above_fn)(struct fb_policy_pool *pool,
						    enum fb_policy_class class, bool write,
						    u64 lbn);

/* Choose in mq-deadline's order, without a model; what is returned must be sent. */
struct fb_policy_req *fb_policy_choose_deadline(struct fb_policy_pool *pool, u64 now_ns,
						fb_policy_above_fn above);

#endif /* FB_POLICY_H */
