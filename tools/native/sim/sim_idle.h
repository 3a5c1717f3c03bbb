/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads while nobody else wants anything: the policy (core/idle_policy.h) and the order
 * (core/idle_order.h) of one disk, and what came of them. The map is the task's.
 */
#ifndef SIM_IDLE_H
#define SIM_IDLE_H

#include "core/idle_order.h"
#include "core/idle_policy.h"
#include "sim_task.h"

#define SIMI_NEVER U64_MAX

/**
 * struct simi - idle reads
 * @o: settings
 * @task: whose blocks are read
 * @ahead: the drive reads on behind an idle read, and answers from that
 * @longest: sectors of the longest read that there can be: it goes into a buffer of the module,
 *	whatever the policy would like
 * @wait: when
 * @order: where
 * @foreground: requests in the system
 * @next_ns: when to ask again; SIMI_NEVER: after the next event
 * @reads: sent
 * @sectors: theirs
 * @predicted_ns: what those of known head were predicted to take, sum ...
 * @predicted: ... and how many those are
 * @most_ns: the longest that was predicted
 */
struct simi {
	const struct simo *o;
	const struct simt *task;
	bool ahead;
	u32 longest;
	struct fb_idle_policy wait;
	struct fb_idle_order order;
	u32 foreground;
	u64 next_ns;
	u64 reads;
	u64 sectors;
	u64 predicted_ns;
	u64 predicted;
	u64 most_ns;
};

/**
 * simi_init() - an idle disk
 * @i: out
 * @o: settings, kept
 * @task: the task, kept; it is set up already
 * @ahead: the drive may read ahead
 *
 * Ends the program when the order's settings do not fit the disk.
 */
void simi_init(struct simi *i, const struct simo *o, const struct simt *task, bool ahead);

/**
 * simi_arrived() - a foreground request has come
 * @i: idle reads
 * @now_ns: the time
 * @req: the request
 */
void simi_arrived(struct simi *i, u64 now_ns, const struct fb_fg_req *req);

/**
 * simi_arrived_unfollowed() - one has come that waits for something else than the medium
 * @i: idle reads
 * @now_ns: the time
 * @req: a write that we may hold back and the drive's cache takes; NULL: a flush
 */
void simi_arrived_unfollowed(struct simi *i, u64 now_ns, const struct fb_fg_req *req);

/**
 * simi_wrote() - a write has come that the drive's cache takes
 * @i: idle reads
 * @req: the write
 */
void simi_wrote(struct simi *i, const struct fb_fg_req *req);

/**
 * simi_gone() - a foreground request has ended
 * @i: idle reads
 * @now_ns: the time
 * @req: the request; NULL: a flush
 */
void simi_gone(struct simi *i, u64 now_ns, const struct fb_fg_req *req);

/**
 * simi_find() - what to read now
 * @i: idle reads
 * @now_ns: the time; nothing is at the drive and nobody waits
 * @head: where the head is when the arm can start, NULL: unknown
 * @destage: what the drive still has to write
 * @piece: out
 *
 * Return: false: nothing; @i->next_ns says when to ask again.
 */
bool simi_find(struct simi *i, u64 now_ns, const struct dm_place *head,
	       struct fb_destage *destage, struct fb_plan_piece *piece);

/**
 * simi_sent() - it has been sent
 * @i: idle reads
 * @now_ns: the time
 * @end_ns: when it is predicted to end; 0: nobody knows
 * @piece: what
 */
void simi_sent(struct simi *i, u64 now_ns, u64 end_ns, const struct fb_plan_piece *piece);

#endif /* SIM_IDLE_H */
