// SPDX-License-Identifier: GPL-2.0
/*
 * Pending requests: their class, pools and sort trees, and merging. Locks: fb_disk.lock, held but
 * where said.
 */
#include <linux/ioprio.h>

#include "sched/sched.h"

static enum fb_policy_class fb_pool_class(unsigned short ioprio)
{
	switch (IOPRIO_PRIO_CLASS(ioprio)) {
	case IOPRIO_CLASS_RT:
		return FB_POLICY_RT;
	case IOPRIO_CLASS_IDLE:
		return FB_POLICY_IDLE;
	default:
		return FB_POLICY_BE;
	}
}

/* Add a new request to its pool; its @background is set. @now: see fb_iosched_arrived(). */
void fb_pool_add(struct fb_sched *sched, struct fb_sched_rq *fq, u64 now)
{
	struct request *rq = fq->rq;
	bool write = op_is_write(req_op(rq));

	fq->r.fg.class = fb_pool_class(req_get_ioprio(rq));
	/* metadata: tasks of other classes may wait for it */
	if (fq->r.fg.class == FB_POLICY_IDLE && !write && !fq->r.background)
		fq->r.fg.class = FB_POLICY_BE;
	fq->r.fg.lbn = blk_rq_pos(rq);
	fq->r.fg.nsect = blk_rq_sectors(rq);
	fq->r.fg.write = write;
	fq->r.fg.arrived_ns = now;
	fq->r.fg.deadline_ns = now + sched->expire_ns[write];
	if (fq->r.background)
		fb_background_add(sched, fq);
	else
		fb_engine_add(&sched->engine, &fq->r);
	elv_rb_add(fb_sched_sort(sched, fq), rq);
	if (fb_compat_rq_mergeable(rq)) {
		elv_rqhash_add(sched->q, rq);
		if (!sched->q->last_merge)
			sched->q->last_merge = rq;
	}
	fq->state = FB_SCHED_POOLED;
}

static void fb_pool_unhash(struct fb_sched *sched, struct fb_sched_rq *fq)
{
	struct request *rq = fq->rq;

	elv_rb_del(fb_sched_sort(sched, fq), rq);
	elv_rqhash_del(sched->q, rq);
	if (sched->q->last_merge == rq)
		sched->q->last_merge = NULL;
	fq->state = FB_SCHED_NEW;
}

/* Remove a request that is sent. */
void fb_pool_del(struct fb_sched *sched, struct fb_sched_rq *fq)
{
	if (fq->r.background)
		fb_background_del(sched, fq);
	else
		fb_engine_remove(&sched->engine, &fq->r);
	fb_pool_unhash(sched, fq);
}

/* A fb_policy_above_fn; background reads, which are sorted here, too, are not in its pool. */
struct fb_policy_req *fb_pool_above(struct fb_policy_pool *pool, enum fb_policy_class class,
				    bool write, u64 lbn)
{
	struct fb_sched *sched = container_of(pool, struct fb_sched, engine.pool);
	struct rb_node *node = sched->sort[class][write].rb_node;
	struct fb_sched_rq *fq, *best = NULL;

	while (node) {
		fq = fb_sched_rq(rb_entry(node, struct request, rb_node));
		if (blk_rq_pos(fq->rq) < lbn) {
			node = node->rb_right;
			continue;
		}
		best = fq;
		node = node->rb_left;
	}
	return best && !best->r.background ? &best->r.fg : NULL;
}

/* Merge a bio into a pending request if possible. In the submitter's context, without locks. */
bool fb_pool_bio_merge(struct request_queue *q, struct bio *bio, unsigned int nr_segs)
{
	struct fb_sched *sched = q->elevator->elevator_data;
	struct request *free = NULL;
	unsigned long flags;
	bool merged;

	fb_background_note_bio(sched, bio);
	spin_lock_irqsave(&sched->disk->lock, flags);
	merged = blk_mq_sched_try_merge(q, bio, nr_segs, &free);
	spin_unlock_irqrestore(&sched->disk->lock, flags);
	if (free)
		blk_mq_free_request(free);
	return merged;
}

/* Find a pending request that begins where a bio ends. */
int fb_pool_request_merge(struct request_queue *q, struct request **rq, struct bio *bio)
{
	struct fb_sched *sched = q->elevator->elevator_data;
	struct rb_root *sort = &sched->sort[fb_pool_class(bio->bi_ioprio)][bio_data_dir(bio)];
	struct request *found = elv_rb_find(sort, bio_end_sector(bio));

	lockdep_assert_held(&sched->disk->lock);
	if (!found || !elv_bio_merge_ok(found, bio))
		return ELEVATOR_NO_MERGE;
	*rq = found;
	return fb_compat_discard_mergable(found) ? ELEVATOR_DISCARD_MERGE : ELEVATOR_FRONT_MERGE;
}

/* A bio was merged into a request; after a front merge that begins elsewhere. */
void fb_pool_request_merged(struct request_queue *q, struct request *rq, enum elv_merge type)
{
	struct fb_sched *sched = q->elevator->elevator_data;
	struct fb_sched_rq *fq = fb_sched_rq(rq);

	lockdep_assert_held(&sched->disk->lock);
	if (!fq || fq->state != FB_SCHED_POOLED)
		return;
	fq->r.fg.nsect = blk_rq_sectors(rq);
	if (type != ELEVATOR_FRONT_MERGE)
		return;
	elv_rb_del(fb_sched_sort(sched, fq), rq);
	elv_rb_add(fb_sched_sort(sched, fq), rq);
	fq->r.fg.lbn = blk_rq_pos(rq);
	/* it is in no fb_policy_pool */
	if (!fq->r.background)
		fb_engine_grown(&sched->engine, &fq->r, ktime_get_ns());
}

/* @next, which need not be in the pool (Linux 7.2 merges before insertion), is part of @rq now. */
void fb_pool_requests_merged(struct request_queue *q, struct request *rq, struct request *next)
{
	struct fb_sched *sched = q->elevator->elevator_data;
	struct fb_sched_rq *fq = fb_sched_rq(rq);
	struct fb_sched_rq *gone = fb_sched_rq(next);

	lockdep_assert_held(&sched->disk->lock);
	list_del_init(&next->queuelist);
	if (fq && fq->state == FB_SCHED_POOLED)
		fq->r.fg.nsect = blk_rq_sectors(rq);
	if (!gone || gone->state != FB_SCHED_POOLED)
		return;
	if (fq && fq->state != FB_SCHED_POOLED)
		fq = NULL;
	if (fq)
		fb_background_merged(sched, fq, gone);
	fb_pool_unhash(sched, gone);
	if (gone->r.background) {
		fb_background_del(sched, gone);
		return;
	}
	/* both have the same I/O priority and direction, hence the same class */
	fb_engine_merged(&sched->engine, fq && !fq->r.background ? &fq->r : NULL, &gone->r,
			 ktime_get_ns());
}
