// SPDX-License-Identifier: GPL-2.0
/*
 * freeblock: an I/O scheduler that orders foreground requests by rotational position,
 * keeps two commands at the drive, and lets wanted blocks be read in the gaps between
 * (Lumb, Schindler, Ganger, "Freeblock Scheduling Outside of Disk Firmware", FAST 2002).
 *
 * This file knows blk-mq and nothing of seeks; fg_policy.c, fb_search.c, fb_head.c and
 * disk_model.c know seeks and nothing of blk-mq.
 *
 * Locks: all state of a queue is guarded by fb_disk.lock of the disk it is attached to
 * (irqsave: completions arrive in hard and soft interrupts). It nests inside blk-mq's
 * locks. Requests are freed, and queues run, after it has been dropped. The table is in
 * fb_disk.h.
 */
#include <linux/blk-integrity.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <trace/events/block.h>

#include "fb_job.h"
#include "fb_sched.h"
#include "fb_sysfs.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

static const u64 fbs_read_expire_ns = 500 * NSEC_PER_MSEC;	/* as mq-deadline */
static const u64 fbs_write_expire_ns = 5 * (u64)NSEC_PER_SEC;	/* as mq-deadline */
/* twice as much brings no more of a whole scan, half 3 % less (Documentation/large.rst) */
static const u64 fbs_search_ns = 100 * NSEC_PER_USEC;
/*
 * The timer and kblockd take so long to send a command that was held back; twice as long
 * as believed, up to a turn, when a plan comes too late, which is forgotten again over
 * some hundred plans.
 */
static const u64 fbs_wake_ns = 100 * NSEC_PER_USEC;
static const u32 fbs_wake_shift = 8;
/*
 * A foreground that follows itself, a stream or two, leaves no gaps: its mean wait for a
 * sector is below 1/32 of a turn. The drive then has its queue for a second, until
 * some twenty requests are looked at again.
 */
static const u32 fbs_stream_share = 32;
static const u64 fbs_stream_ns = NSEC_PER_SEC;
static const u64 fbs_reset_ns = NSEC_PER_SEC;	/* no new anchor for the phase after a reset */
static const u32 fbs_sw_percent = 60;		/* SPTF-SW60%: the paper's choice (5.2) */

static struct kmem_cache *fbs_cache;

/* ---- the choice of the next request, and the gap before it ---- */

/* what is left of the plan in use was reckoned from what is no longer so */
static void fbs_drop_pieces(struct fbs *fs)
{
	if (fs->plan.kind == FB_PLAN_NONE)
		return;
	fs->fd->stats.dropped += fs->plan.npieces - fs->next_piece;
	fs->plan.kind = FB_PLAN_NONE;
}

static void fbs_void_choice(struct fbs *fs)
{
	fbs_drop_pieces(fs);
	fs->choice.req = NULL;
	fs->pinned = false;
	fb_gap_void(fs->fd);
}

static struct fbs_rq *fbs_chosen(const struct fbs *fs)
{
	return container_of(fs->choice.req, struct fbs_rq, fg);
}

/* what the choice would wait for its sector, were nothing read before it */
static u64 fbs_gap_ns(const struct fbs *fs)
{
	return fs->choice.reckoned ? fs->choice.pos_ns - fs->choice.seek_ns : 0;
}

static void fbs_set_margin(const struct fbs *fs, struct fb_limits *lim)
{
	lim->conservatism_ns = fs->conservatism_ns;
	if (!fs->auto_margin)
		return;
	lim->conservatism_ns = fbm_one_ns(&fs->fd->margin);
	lim->odds = &fs->fd->margin.odds;
}

/* of more the drive chooses; of one the command before has not been sent yet */
static bool fbs_is_gap(const struct fbs *fs)
{
	return fs->nr_flight && !fs->nr_untracked && fs->depth == FBS_DEPTH && fs->tail_known &&
	       fs->choice.reckoned;
}

/* from the tail to the choice */
static struct fb_gap fbs_gap(const struct fbs *fs)
{
	const struct fbs_rq *fq = fbs_chosen(fs);

	return (struct fb_gap) {
		.src = fs->tail,
		.dst = fq->fg.start,
		.dst_lbn = fq->fg.lbn,
		.dst_nsect = fq->fg.nsect,
		.dst_write = fq->fg.write,
	};
}

/* offer the gap between the tail and the chosen request to the search */
static void fbs_open_gap(struct fbs *fs)
{
	struct fbs_rq *fq = fbs_chosen(fs);
	struct fb_disk *fd = fs->fd;
	struct fb_gap gap = fbs_gap(fs);
	struct fb_limits lim = {
		.max_sectors = fb_vehicle_max(fd),
		.lift = fs->lift,
		.hop_steps = FB_HOP_STEPS,
		.pipe_ns = { fbf_overhead_ns(fs, false) + FBS_LEAD_NS,
			     fbf_overhead_ns(fs, true) + FBS_LEAD_NS },
		/* a protection payload would be that of the vehicle's first aim */
		.separate = !blk_get_integrity(fs->q->disk),
	};

	if (!fbs_is_gap(fs) || !fbv_may_read(fd)) {
		fb_gap_void(fd);
		return;
	}
	fs->extra_ns = fb_search_extra_ns(fd->model, &gap, fbs_gap_ns(fs));
	if (fs->auto_margin && fbm_spare(&fd->margin, fbs_gap_ns(fs))) {
		fd->stats.spared++;
		fb_gap_void(fd);
		return;
	}
	fbs_set_margin(fs, &lim);
	lim.granule_sectors = dm_info(fd->model)->granule_sectors;
	if (!fq->prepended)
		lim.max_prepend_sectors = fb_buf_prepend_limit(fd, fq->rq);
	fd->search_ns = fs->search_ns;
	fd->probing = fs->auto_lift;
	fb_gap_open(fd, &gap, &lim);
}

static void fbs_choose(struct fbs *fs, const struct dm_place *head, u64 now)
{
	struct fb_stats *st = &fs->fd->stats;
	u64 ns;

	fg_choose(&fs->pool, fs->fd->model, head, now, &fs->choice);
	ns = ktime_get_ns() - now;
	st->choices++;
	st->choice_ns += ns;
	st->choice_max_ns = max(st->choice_max_ns, ns);
	if (!fs->choice.req) {
		fb_gap_void(fs->fd);
		return;
	}
	trace_freeblock_choice(fs->fd, &fs->pool, &fs->choice);
	fbs_open_gap(fs);
}

/* choose anew with the head at the tail; with an idle drive the choice waits for dispatch */
static void fbs_choose_next(struct fbs *fs)
{
	if (!fs->nr_flight || fbs_is_hands_off(fs)) {
		fbs_void_choice(fs);
		return;
	}
	fbs_choose(fs, fs->tail_known ? &fs->tail : NULL, ktime_get_ns());
}

/* O(1): is the request that has come, or grown at its front, better than the choice? */
static void fbs_reconsider(struct fbs *fs, struct fbs_rq *fq)
{
	if (fq->background || fs->pinned || !fs->nr_flight || fbs_is_hands_off(fs))
		return;
	if (!fs->choice.req)
		fbs_choose_next(fs);
	else if (fg_offer(&fs->pool, fs->fd->model, fs->tail_known ? &fs->tail : NULL, &fq->fg,
			  &fs->choice))
		fbs_open_gap(fs);
}

/* ---- the pool ---- */

/* where @fq begins; in the drive's own order nobody asks */
static void fbs_place(const struct fbs *fs, struct fbs_rq *fq)
{
	bool ask = fbs_is_media(fq) && !fs->deep;

	fg_req_place(&fq->fg, ask ? fs->fd->model : NULL);
}

static void fbs_place_all(struct fbs *fs)
{
	struct fg_req *req;

	list_for_each_entry(req, &fs->pool.reqs, node)
		fbs_place(fs, container_of(req, struct fbs_rq, fg));
	list_for_each_entry(req, &fs->others.reqs, node)
		fbs_place(fs, container_of(req, struct fbs_rq, fg));
}

/* is there foreground work, of that which comes to schedulers? */
static bool fbs_is_active(const struct fbs *fs)
{
	return fs->pool.count || fs->nr_untracked || !list_empty(&fs->bypass) ||
	       fs->nr_flight > fs->nr_idle + fs->others.flying;
}

static void fbs_note_activity(struct fbs *fs)
{
	bool active = fs->nr_unseen || fbs_is_active(fs);
	bool quiet = fs->fd->fg_active && !active;

	if (active || quiet)
		fs->fd->fg_last_ns = ktime_get_ns();
	fs->fd->fg_active = active;
	if (quiet)
		fb_idle_quiet(fs->fd);
}

/* a foreground request has come, of those whose end will be seen */
static void fbs_note_arrival(struct fbs *fs)
{
	fb_idle_arrive(fs->fd);
	fs->fd->fg_active = true;
}

/*
 * Flushes, FUA writes, passthrough commands and clones of dm bypass schedulers, and not
 * every kernel reports their ends: they are what the device has beyond our own commands and
 * @own, those about to be sent. Asked while there is no other foreground.
 */
static void fbs_look(struct fbs *fs, u32 own)
{
	struct fb_disk *fd = fs->fd;
	u64 last_ns = fd->fg_last_ns;
	u32 busy, known;

	lockdep_assert_held(&fd->lock);
	if (!fd->model || fbs_is_active(fs))
		return;
	busy = fb_disk_busy(fd);
	known = min(busy, fs->nr_flight + own + READ_ONCE(fd->idle.asking));
	if (busy == known && !fs->nr_unseen)
		return;
	if (busy - known > fs->nr_unseen) {
		fbs_note_arrival(fs);
		fb_head_lose(&fs->head);
		fs->tail_known = false;
	}
	fs->nr_unseen = busy - known;
	fbs_note_activity(fs);
	/* it may have been a question that a sleeping drive answers */
	fd->fg_last_ns = last_ns;
	if (fs->nr_unseen && !hrtimer_is_queued(&fs->timer))
		hrtimer_start(&fs->timer, ns_to_ktime(ktime_get_ns() + FBS_LOOK_NS),
			      HRTIMER_MODE_ABS);
}

static void fbs_pool_add(struct fbs *fs, struct fbs_rq *fq)
{
	struct request *rq = fq->rq;
	bool write = op_is_write(req_op(rq));

	fq->fg.lbn = blk_rq_pos(rq);
	fq->fg.nsect = blk_rq_sectors(rq);
	fq->fg.write = write;
	fq->fg.arrived_ns = ktime_get_ns();
	fq->fg.deadline_ns = fq->fg.arrived_ns + fs->expire_ns[write];
	fbs_place(fs, fq);
	if (fq->background)
		fbk_add(fs, fq);
	else
		fg_pool_add(&fs->pool, &fq->fg);
	elv_rb_add(&fs->sort[rq_data_dir(rq)], rq);
	if (fb_compat_rq_mergeable(rq)) {
		elv_rqhash_add(fs->q, rq);
		if (!fs->q->last_merge)
			fs->q->last_merge = rq;
	}
	fq->state = FBS_POOLED;
	fbs_note_activity(fs);
}

static void fbs_pool_del(struct fbs *fs, struct fbs_rq *fq)
{
	struct request *rq = fq->rq;

	if (fq->background)
		fbk_del(fs, fq);
	else
		fg_pool_del(&fs->pool, &fq->fg);
	elv_rb_del(&fs->sort[rq_data_dir(rq)], rq);
	elv_rqhash_del(fs->q, rq);
	if (fs->q->last_merge == rq)
		fs->q->last_merge = NULL;
	fq->state = FBS_NEW;
}

static void fbs_uncount(struct fbs *fs, struct fbs_rq *fq)
{
	list_del_init(&fq->flight);
	fs->nr_flight--;
	if (fq->cause == FB_CAUSE_IDLE) {
		fs->nr_idle--;
		fb_idle_ended(fs->fd);
	}
	fs->others.flying -= fq->background;
}

static void fbs_insert_one(struct fbs *fs, struct request *rq, bool at_head,
			   struct list_head *free)
{
	struct fbs_rq *fq = fbs_rq(rq);
	bool background;

	lockdep_assert_held(&fs->fd->lock);
	if (fq && fb_buf_is_ours(rq->bio) && fb_vehicle_hold(fs->fd, rq)) {
		fq->ours = true;
		trace_block_rq_insert(rq);
		return;
	}
	if (fq && fq->state == FBS_REQUEUED) {
		fbs_uncount(fs, fq);
		fq->state = FBS_NEW;
		at_head = true;
	}
	background = fq && !at_head && fbk_recognise(fq);
	if (!at_head && !background && blk_mq_sched_try_insert_merge(fs->q, rq, free))
		return;
	trace_block_rq_insert(rq);
	if (!fq)
		fs->fd->stats.untracked++;
	if (!background && (fq || rq->rq_flags & RQF_ELVPRIV))
		fbs_note_arrival(fs);
	if (!fq || at_head) {
		list_add(&rq->queuelist, &fs->bypass);
		return;
	}
	fbs_pool_add(fs, fq);
	fbs_reconsider(fs, fq);
}

static void fbs_insert_requests(struct blk_mq_hw_ctx *hctx, struct list_head *list, bool at_head)
{
	struct fbs *fs = hctx->queue->elevator->elevator_data;
	struct request *rq, *next;
	unsigned long flags;
	LIST_HEAD(free);

	spin_lock_irqsave(&fs->fd->lock, flags);
	list_for_each_entry_safe(rq, next, list, queuelist) {
		list_del_init(&rq->queuelist);
		fbs_insert_one(fs, rq, at_head, &free);
	}
	spin_unlock_irqrestore(&fs->fd->lock, flags);

	list_for_each_entry_safe(rq, next, &free, queuelist) {
		list_del_init(&rq->queuelist);
		blk_mq_free_request(rq);
	}
}

/* ---- merging, as mq-deadline ---- */

static bool fbs_bio_merge(struct request_queue *q, struct bio *bio, unsigned int nr_segs)
{
	struct fbs *fs = q->elevator->elevator_data;
	struct request *free = NULL;
	unsigned long flags;
	bool merged;

	spin_lock_irqsave(&fs->fd->lock, flags);
	merged = blk_mq_sched_try_merge(q, bio, nr_segs, &free);
	spin_unlock_irqrestore(&fs->fd->lock, flags);
	if (free)
		blk_mq_free_request(free);
	return merged;
}

static int fbs_request_merge(struct request_queue *q, struct request **rq, struct bio *bio)
{
	struct fbs *fs = q->elevator->elevator_data;
	struct request *found = elv_rb_find(&fs->sort[bio_data_dir(bio)], bio_end_sector(bio));

	lockdep_assert_held(&fs->fd->lock);
	if (!found || !elv_bio_merge_ok(found, bio))
		return ELEVATOR_NO_MERGE;
	*rq = found;
	return fb_compat_discard_mergable(found) ? ELEVATOR_DISCARD_MERGE : ELEVATOR_FRONT_MERGE;
}

/* @rq has grown; at its front: it begins elsewhere now */
static void fbs_request_merged(struct request_queue *q, struct request *rq, enum elv_merge type)
{
	struct fbs *fs = q->elevator->elevator_data;
	struct fbs_rq *fq = fbs_rq(rq);

	lockdep_assert_held(&fs->fd->lock);
	if (!fq || fq->state != FBS_POOLED)
		return;
	fq->fg.nsect = blk_rq_sectors(rq);
	if (type != ELEVATOR_FRONT_MERGE)
		return;
	elv_rb_del(&fs->sort[rq_data_dir(rq)], rq);
	elv_rb_add(&fs->sort[rq_data_dir(rq)], rq);
	fq->fg.lbn = blk_rq_pos(rq);
	fbs_place(fs, fq);
	if (fs->choice.req != &fq->fg)
		fbs_reconsider(fs, fq);
	else if (fs->pinned)
		fbs_drop_pieces(fs);
	else
		fbs_choose_next(fs);
}

/* @next has become part of @rq; it need not be in the pool (7.2 merges before insertion) */
static void fbs_requests_merged(struct request_queue *q, struct request *rq, struct request *next)
{
	struct fbs *fs = q->elevator->elevator_data;
	struct fbs_rq *fq = fbs_rq(rq);
	struct fbs_rq *gone = fbs_rq(next);

	lockdep_assert_held(&fs->fd->lock);
	list_del_init(&next->queuelist);
	if (fq && fq->state == FBS_POOLED)
		fq->fg.nsect = blk_rq_sectors(rq);
	if (!gone || gone->state != FBS_POOLED)
		return;
	if (fq && fq->state == FBS_POOLED) {
		fbk_merged(fs, fq, gone);
		if (!fq->background && !gone->background)
			fq->fg.deadline_ns = min(fq->fg.deadline_ns, gone->fg.deadline_ns);
	}
	if (fs->choice.req == &gone->fg) {
		fb_gap_void(fs->fd);
		fbs_drop_pieces(fs);
		fs->choice.req = NULL;
		if (fq && fq->state == FBS_POOLED && fs->pinned) {
			fs->choice.req = &fq->fg;
			fq->cause = gone->cause;
		}
	}
	fbs_pool_del(fs, gone);
	if (!fs->choice.req) {
		fs->pinned = false;
		if (fs->pool.count)
			fbs_choose_next(fs);
	}
}

/* ---- sending ---- */

/* hand @fq to the driver: count it, predict it, and turn to the next */
static struct request *fbs_send(struct fbs *fs, struct fbs_rq *fq, u64 now)
{
	struct fb_disk *fd = fs->fd;
	struct request *rq = fq->rq;

	lockdep_assert_held(&fd->lock);
	fq->lbn = blk_rq_pos(rq);
	fq->nsect = blk_rq_sectors(rq);
	fq->fg.write = op_is_write(req_op(rq));
	fq->sent_ns = now;
	if (fq->since_ns)
		fbk_note_sent(fs, fq, now);
	fq->observed = false;
	fq->placed = false;
	fq->start_ns = 0;
	if (fq->fg.write)
		fb_buf_overlap(fd, fq->lbn, fq->nsect);
	fq->mark.behind = fs->lifts;
	fq->mark.ours = fq->cause != FB_CAUSE_PLAIN;
	fs->lifts = fq->mark.at;
	fq->watched = !fbs_is_hands_off(fs);
	if (fq->watched)
		fbf_predict_sent(fs, fq, now);
	else
		fs->tail_known = false;
	list_add_tail(&fq->flight, &fs->flight);
	fs->nr_flight++;
	fs->nr_idle += fq->cause == FB_CAUSE_IDLE;
	fq->state = FBS_SENT;
	if (fq->watched) {
		fd->stats.max_in_flight = max_t(u64, fd->stats.max_in_flight, fs->nr_flight);
		fbf_hold(fs);
	}
	rq->rq_flags |= RQF_STARTED;
	fbs_note_activity(fs);
	if (fb_buf_is_ours(rq->bio))
		fb_medium_apply(rq->bio->bi_private, rq);
	return rq;
}

/* limits that command @i of a plan was allowed to lift, and does */
static u32 fbs_lifts(const struct fbs *fs, const struct fb_plan *plan, u32 i)
{
	const struct fb_disk *fd = fs->fd;

	if (plan->kind == FB_PLAN_NONE)
		return 0;
	return fbp_lifts(fd->model, &fd->gap, plan, i) & fd->lim.lift;
}

/* pieces of a plan that are commands of their own */
static u32 fbs_commands(const struct fb_plan *plan)
{
	switch (plan->kind) {
	case FB_PLAN_SEPARATE:
		return plan->npieces;
	case FB_PLAN_BOTH:
		return plan->npieces - 1;
	default:
		return 0;
	}
}

/* the next piece of the plan in use that is a command of its own; NULL: there is none */
static struct request *fbs_send_piece(struct fbs *fs, u64 now)
{
	const struct fb_plan_piece *p = &fs->plan.piece[fs->next_piece];
	struct request *rq;
	struct fbs_rq *fq;

	if (fs->next_piece >= fbs_commands(&fs->plan))
		return NULL;
	rq = fb_vehicle_send(fs->fd, p->lbn, p->nsect);
	if (!rq) {
		fbs_drop_pieces(fs);
		return NULL;
	}
	fq = fbs_rq(rq);
	fq->cause = FB_CAUSE_SEPARATE;
	fq->mark.at = fbs_lifts(fs, &fs->plan, fs->next_piece);
	if (++fs->next_piece < fbs_commands(&fs->plan))
		fb_vehicle_need(fs->fd);
	fbs_send(fs, fq, now);
	fbf_check_writes(fs);
	return rq;
}

/* put a plan with commands of its own in use */
static struct request *fbs_begin_plan(struct fbs *fs, const struct fb_plan *plan, u64 now)
{
	struct request *rq;

	fs->plan = *plan;
	fs->next_piece = 0;
	rq = fbs_send_piece(fs, now);
	if (!rq)
		return NULL;
	fs->pinned = true;
	fbs_chosen(fs)->cause = FB_CAUSE_AFTER;
	fb_gap_void(fs->fd);
	if (plan->npieces > 1)
		fs->fd->stats.several++;
	return rq;
}

/* is there anything to gain in the gaps of this foreground? */
static void fbs_note_gap(struct fbs *fs, u64 now)
{
	u64 turn = dm_period_ns(fs->fd->model);

	if (!fs->choice.reckoned)
		return;
	fs->mean_gap_ns -= fs->mean_gap_ns >> FBS_GAP_SHIFT;
	fs->mean_gap_ns += fbs_gap_ns(fs) >> FBS_GAP_SHIFT;
	if (fs->mean_gap_ns >= div_u64(turn, fbs_stream_share))
		return;
	fs->stream_until_ns = now + fbs_stream_ns;
}

/* send the choice, with the read that the plan puts in front of it, if it does */
static struct request *fbs_send_choice(struct fbs *fs, const struct fb_plan_piece *prepend,
				       u64 now)
{
	struct fbs_rq *fq = fbs_chosen(fs);
	struct request *rq = fq->rq;

	fbs_pool_del(fs, fq);
	fg_sent(&fs->pool, &fq->fg);
	if (prepend && fb_buf_prepend(fs->fd, rq, prepend->lbn, prepend->nsect)) {
		fq->prepended = true;
		fq->cause = FB_CAUSE_PREPEND;
	}
	fq->leg.gap_ns = fbs_gap_ns(fs);
	fq->leg.extra_ns = fs->extra_ns;
	fbs_note_gap(fs, now);
	fq->mark.at = fbs_lifts(fs, &fs->plan, fs->next_piece);
	fs->next_piece += !!prepend;
	fbs_void_choice(fs);
	fbs_send(fs, fq, now);
	if (fq->prepended)
		fbf_check_writes(fs);
	if (fs->pool.count)
		fbs_choose_next(fs);
	return rq;
}

/* a separate read has been sent: what is left of its plan, then the choice */
static struct request *fbs_go_on(struct fbs *fs, u64 now)
{
	const struct fb_plan_piece *prepend = NULL;
	struct request *rq;

	/* stopped, or the drive did not wait for us: the rest would come too late */
	if (!fbv_may_read(fs->fd) || !fs->nr_flight || fbf_too_late(fs, now))
		fbs_drop_pieces(fs);
	rq = fbs_send_piece(fs, now);
	if (rq)
		return rq;
	if (fs->plan.kind == FB_PLAN_BOTH)
		prepend = &fs->plan.piece[fs->next_piece];
	return fbs_send_choice(fs, prepend, now);
}

/* the plan for the gap before the choice, if it is there in time; or NULL */
static const struct fb_plan *fbs_take_plan(struct fbs *fs, u64 now)
{
	const struct fb_plan *plan = fs->nr_flight ? fb_gap_plan(fs->fd) : NULL;

	if (plan && fbf_too_late(fs, now)) {
		fs->fd->stats.too_late++;
		fs->wake_ns = min(2 * fs->wake_ns, dm_period_ns(fs->fd->model));
		return NULL;
	}
	if (plan)
		fs->wake_ns -= (fs->wake_ns - fbs_wake_ns) >> fbs_wake_shift;
	return plan;
}

static struct request *fbs_send_other(struct fbs *fs, struct fbs_rq *fq, u64 now)
{
	fbs_pool_del(fs, fq);
	return fbs_send(fs, fq, now);
}

/* no foreground at all: the one command that it may find in its way */
static struct request *fbs_send_quiet(struct fbs *fs, u64 now)
{
	u64 due_ns;
	struct fbs_rq *fq = fbk_pick_idle(fs, now, &due_ns);

	if (!fq || now < due_ns)
		return NULL;
	fs->window_ns = 0;
	fs->fd->stats.others_idle++;
	return fbs_send_other(fs, fq, now);
}

/* the best of them that fits before the choice, if it is more than the plan brings */
static struct request *fbs_send_in_gap(struct fbs *fs, const struct fb_plan *plan, u64 now)
{
	struct fb_gap gap;
	struct fbs_rq *fq;
	u32 wanted = 0;

	if (!fbs_is_gap(fs) || fbf_too_late(fs, now) ||
	    (fs->auto_margin && fbm_spare(&fs->fd->margin, fbs_gap_ns(fs))))
		return NULL;
	if (plan)
		wanted = plan->wanted * dm_info(fs->fd->model)->granule_sectors;
	gap = fbs_gap(fs);
	fq = fbk_pick_gap(fs, &gap, wanted, now);
	if (!fq)
		return NULL;
	fs->extra_ns = fb_search_extra_ns(fs->fd->model, &gap, fbs_gap_ns(fs));
	fs->fd->stats.others_gap++;
	fq->cause = FB_CAUSE_SEPARATE;
	fs->pinned = true;
	fbs_chosen(fs)->cause = FB_CAUSE_AFTER;
	fb_gap_void(fs->fd);
	return fbs_send_other(fs, fq, now);
}

/* a slot is free: fill it (DESIGN 4, step 3) */
static struct request *fbs_fill_slot(struct fbs *fs)
{
	u64 now = ktime_get_ns();
	const struct fb_plan *plan;
	struct dm_place head;
	struct request *rq;
	u64 start_ns;

	if (!fs->pool.count)
		return fbs_send_quiet(fs, now);
	if (fs->nr_flight >= fs->depth || fbf_window_open(fs, now))
		return NULL;
	fs->window_ns = 0;
	if (fs->pinned)
		return fbs_go_on(fs, now);
	if (!fs->nr_flight)
		fbs_choose(fs, fbf_idle_head(fs, now, false, &head, &start_ns) ? &head : NULL, now);
	else if (!fs->choice.req)
		fbs_choose_next(fs);
	plan = fbs_take_plan(fs, now);
	rq = fs->others.count ? fbs_send_in_gap(fs, plan, now) : NULL;
	if (rq)
		return rq;
	if (plan && plan->kind == FB_PLAN_PREPEND)
		return fbs_send_choice(fs, &plan->piece[0], now);
	rq = plan ? fbs_begin_plan(fs, plan, now) : NULL;
	return rq ? rq : fbs_send_choice(fs, NULL, now);
}

/*
 * With depth auto the drive orders as it likes while no free read is wanted, or there is
 * nothing to gain: its own choice answers best. Where its head is then is not followed.
 * When free reads come back nothing is sent until all but one of its commands have ended.
 */
static void fbs_set_deep(struct fbs *fs)
{
	bool deep = fs->auto_depth &&
		    ((!fbv_may_read(fs->fd) && !fbk_want_order(fs)) ||
		     ktime_get_ns() < fs->stream_until_ns);

	if (deep == fs->deep)
		return;
	fs->deep = deep;
	if (fs->choice.req)
		fbs_chosen(fs)->cause = FB_CAUSE_PLAIN;
	fs->window_ns = 0;
	fs->lifts = 0;
	fs->tail_known = false;
	fbs_void_choice(fs);
	fb_head_lose(&fs->head);
	fbs_place_all(fs);
	/* four times what ends it: so many requests are looked at first */
	if (fs->fd->model)
		fs->mean_gap_ns = div_u64(dm_period_ns(fs->fd->model), fbs_stream_share / 4);
}

/* not our order: mq-deadline's, as many commands as the drive takes */
static struct request *fbs_fill_transparent(struct fbs *fs)
{
	u64 now = ktime_get_ns();
	struct fg_req *req = fg_choose_deadline(&fs->pool, now);
	struct fbs_rq *fq;

	if (!req)
		return fbs_send_quiet(fs, now);
	fq = container_of(req, struct fbs_rq, fg);
	fbs_pool_del(fs, fq);
	fg_sent(&fs->pool, req);
	return fbs_send(fs, fq, now);
}

/* without our part it cannot be watched: no free read until it is back */
static void fbs_send_untracked(struct fbs *fs, struct request *rq)
{
	if (op_is_write(req_op(rq)))
		fb_buf_overlap(fs->fd, blk_rq_pos(rq), blk_rq_sectors(rq));
	if (rq->rq_flags & RQF_ELVPRIV && !rq->elv.priv[1]) {
		rq->elv.priv[1] = fs;
		fs->nr_untracked++;
	}
	rq->rq_flags |= RQF_STARTED;
	fb_gap_void(fs->fd);
}

/* there is an idle read, and still nothing else */
static bool fbs_idle_is_due(const struct fbs *fs)
{
	return fs->fd->idle.ready && !fs->fd->fg_active && !fs->nr_flight &&
	       !fs->others.count && !fb_disk_transparent(fs->fd);
}

static struct request *fbs_send_idle(struct fbs *fs)
{
	const struct fb_plan_piece *piece = &fs->fd->idle.piece;
	u64 now = ktime_get_ns();
	struct request *rq;
	struct fbs_rq *fq;

	if (!fbs_idle_is_due(fs))
		return NULL;
	/* the device has been asked for room for what is dispatched now */
	fbs_look(fs, 1);
	if (!fs->fd->idle.ready)
		return NULL;
	fs->fd->idle.ready = false;
	rq = fb_vehicle_send(fs->fd, piece->lbn, piece->nsect);
	if (!rq)
		return NULL;
	fq = fbs_rq(rq);
	fq->cause = FB_CAUSE_IDLE;
	fs->fd->stats.idles++;
	fbs_send(fs, fq, now);
	fb_idle_sent(fs->fd, now, fq->start_ns ? fq->start_ns + fq->acc.total_ns : 0);
	return rq;
}

static struct request *fbs_send_bypass(struct fbs *fs)
{
	struct request *rq = list_first_entry_or_null(&fs->bypass, struct request, queuelist);
	struct fbs_rq *fq;

	if (!rq)
		return NULL;
	fq = fbs_rq(rq);
	if (fq && !fbs_is_hands_off(fs) && fs->nr_flight >= fs->depth)
		return NULL;
	list_del_init(&rq->queuelist);
	fb_head_lose(&fs->head);
	fs->tail_known = false;
	fbs_drop_pieces(fs);
	if (fq)
		fbs_send(fs, fq, ktime_get_ns());
	else
		fbs_send_untracked(fs, rq);
	if (!fs->pinned)
		fbs_choose_next(fs);
	return rq;
}

/* a freeze waits for the vehicle, and runs the queue */
static bool fbs_must_return(const struct fbs *fs)
{
	return fs->fd->vehicle_rq && percpu_ref_is_dying(&fs->q->q_usage_counter);
}

static struct request *fbs_dispatch_request(struct blk_mq_hw_ctx *hctx)
{
	struct fbs *fs = hctx->queue->elevator->elevator_data;
	struct request *rq;
	unsigned long flags;
	bool back;

	spin_lock_irqsave(&fs->fd->lock, flags);
	if (unlikely(fs->others.count) && fbk_expire(fs) && !fs->pinned)
		fbs_choose_next(fs);
	fbs_set_deep(fs);
	rq = fbs_send_bypass(fs);
	if (!rq)
		rq = fbs_is_hands_off(fs) ? fbs_fill_transparent(fs) : fbs_fill_slot(fs);
	if (!rq)
		rq = fbs_send_idle(fs);
	back = fbs_must_return(fs);
	spin_unlock_irqrestore(&fs->fd->lock, flags);
	if (back)
		fb_vehicle_return(fs->fd);
	return rq;
}

/*
 * False at the limit and while the slot is held open; completed_request() and the timer
 * run the queue again.
 */
static bool fbs_has_work(struct blk_mq_hw_ctx *hctx)
{
	struct fbs *fs = hctx->queue->elevator->elevator_data;
	unsigned long flags;
	bool work;

	spin_lock_irqsave(&fs->fd->lock, flags);
	if (!fs->fd->idle.ready)
		fbs_look(fs, 0);
	fbs_set_deep(fs);
	work = fs->pool.count && (fbs_is_hands_off(fs) ||
				  (fs->nr_flight < fs->depth &&
				   !fbf_window_open(fs, ktime_get_ns())));
	if (unlikely(fs->others.count))
		work |= fbk_is_due(fs);
	if (!list_empty(&fs->bypass))
		work = fbs_is_hands_off(fs) || fs->nr_flight < fs->depth ||
		       !fbs_rq(list_first_entry(&fs->bypass, struct request, queuelist));
	work = work || fbs_idle_is_due(fs) || fbs_must_return(fs);
	spin_unlock_irqrestore(&fs->fd->lock, flags);
	return work;
}

static enum hrtimer_restart fbs_timer(struct hrtimer *timer)
{
	struct fbs *fs = container_of(timer, struct fbs, timer);
	unsigned long flags;

	spin_lock_irqsave(&fs->fd->lock, flags);
	/* it may have been opened anew while we waited for the lock */
	if (ktime_get_ns() >= fs->window_ns)
		fs->window_ns = 0;
	spin_unlock_irqrestore(&fs->fd->lock, flags);
	blk_mq_run_hw_queues(fs->q, true);
	return HRTIMER_NORESTART;
}

/* ---- completion ---- */

/* it is not known when the command in service began: what was reckoned from there is void */
static void fbs_lose_tail(struct fbs *fs)
{
	fs->tail_known = fs->nr_flight && fs->tail_known;
	fb_gap_void(fs->fd);
	fbs_drop_pieces(fs);
}

static void fbs_judge(struct fbs *fs)
{
	if (!fb_disk_judge(fs->fd, &fs->head))
		return;
	fbs_void_choice(fs);
	pr_warn("freeblock: %s: wrong model, or write cache on: scheduling as mq-deadline\n",
		kobject_name(&fs->fd->kobj));
}

/* the drive took another order: the head will be at the end of what is still there */
static void fbs_retail(struct fbs *fs)
{
	struct fbs_rq *last;

	fb_gap_void(fs->fd);
	fbs_drop_pieces(fs);
	fs->tail_known = false;
	if (fs->nr_flight) {
		last = list_last_entry(&fs->flight, struct fbs_rq, flight);
		fs->tail_known = fbf_end_place(fs, last, &fs->tail);
	}
	if (!fs->pinned && fs->pool.count)
		fbs_choose_next(fs);
}

/* true: run the queue */
static bool fbs_complete(struct fbs *fs, struct fbs_rq *fq, u64 now)
{
	struct fb_disk *fd = fs->fd;
	bool overtaken = fq->watched && !fbs_is_hands_off(fs) && fs->flight.next != &fq->flight;

	lockdep_assert_held(&fd->lock);
	if (overtaken) {
		fd->stats.out_of_order++;
		fb_head_lose(&fs->head);
		fbf_overtake(fs, fq, now);
		fq->start_ns = 0;
	}
	fbs_uncount(fs, fq);
	fq->state = FBS_DONE;
	if (fbs_is_foreground(fq)) {
		fs->others.fg_end_ns = now;
		fd->stats.fg_requests++;
		fg_ended(&fs->pool, !fs->pool.count && !fs->nr_flight);
	}
	fbs_note_activity(fs);
	if (fbs_is_hands_off(fs))
		return true;
	/* what the drive ordered may have ended anywhere, and says nothing about the model */
	if (!fq->watched)
		fb_head_lose(&fs->head);
	if (!fq->watched || !fbf_observe(fs, fq, now))
		fbs_lose_tail(fs);
	fbs_judge(fs);
	if (overtaken || !fs->tail_known)
		fbs_retail(fs);
	return !fbf_hold(fs) || !list_empty(&fs->bypass);
}

static void fbs_completed_request(struct request *rq, u64 now)
{
	struct fbs *fs = rq->q->elevator->elevator_data;
	struct fbs_rq *fq = fbs_rq(rq);
	unsigned long flags;
	bool run = false;

	if (fq)
		fb_medium_restore(rq);
	spin_lock_irqsave(&fs->fd->lock, flags);
	if (fq && fq->state == FBS_SENT)
		run = fbs_complete(fs, fq, now);
	if (fq && (fq->ours || fq->prepended))
		fb_medium_judge(fs->fd, rq, fq->observed ? &fq->verdict : NULL);
	fbs_look(fs, 0);
	spin_unlock_irqrestore(&fs->fd->lock, flags);
	if (run)
		blk_mq_run_hw_queues(fs->q, true);
}

/* the driver gave @rq back; it stays counted until it is inserted again or completes */
static void fbs_requeue_request(struct request *rq)
{
	struct fbs *fs = rq->q->elevator->elevator_data;
	struct fbs_rq *fq = fbs_rq(rq);
	unsigned long flags;

	spin_lock_irqsave(&fs->fd->lock, flags);
	/*
	 * A command that timed out may have had the device reset: the phase is in doubt
	 * too. RQF_TIMED_OUT has been cleared already, the deadline has not.
	 */
	if (fs->fd->model && time_after_eq(jiffies, READ_ONCE(rq->deadline)))
		fb_head_reset(&fs->head, ktime_get_ns() + fbs_reset_ns);
	else
		fb_head_lose(&fs->head);
	fb_gap_void(fs->fd);
	fbs_drop_pieces(fs);
	if (fq && fq->state == FBS_SENT) {
		fq->start_ns = 0;
		fq->state = FBS_REQUEUED;
	}
	spin_unlock_irqrestore(&fs->fd->lock, flags);
}

/* ---- our part of a request ---- */

static void fbs_prepare_request(struct request *rq)
{
	struct fbs_rq *fq = kmem_cache_zalloc(fbs_cache, GFP_NOWAIT | __GFP_NOWARN);

	/* without it the request is sent at once, and counted in fb_stats.untracked */
	rq->elv.priv[0] = fq;
	rq->elv.priv[1] = NULL;
	if (!fq)
		return;
	fq->rq = rq;
	fq->idle = fbk_submitter_is_idle();
	INIT_LIST_HEAD(&fq->flight);
	INIT_LIST_HEAD(&fq->fg.node);
}

static void fbs_finish_untracked(struct fbs *fs, struct request *rq)
{
	unsigned long flags;

	if (!rq->elv.priv[1])
		return;
	spin_lock_irqsave(&fs->fd->lock, flags);
	fs->nr_untracked--;
	fbs_note_activity(fs);
	spin_unlock_irqrestore(&fs->fd->lock, flags);
	rq->elv.priv[1] = NULL;
	blk_mq_run_hw_queues(fs->q, true);
}

static void fbs_finish_request(struct request *rq)
{
	struct fbs *fs = rq->q->elevator->elevator_data;
	struct fbs_rq *fq = fbs_rq(rq);
	unsigned long flags;
	bool run;

	if (!fq) {
		fbs_finish_untracked(fs, rq);
		return;
	}
	spin_lock_irqsave(&fs->fd->lock, flags);
	WARN_ON_ONCE(fq->state == FBS_POOLED);
	/* ended without completed_request(), or completed after a requeue that bypassed us */
	run = fq->state == FBS_SENT || fq->state == FBS_REQUEUED;
	if (run) {
		fbs_uncount(fs, fq);
		fb_head_lose(&fs->head);
		fbs_note_activity(fs);
	}
	if (fq->ours || fq->prepended)
		fb_medium_judge(fs->fd, rq, NULL);
	spin_unlock_irqrestore(&fs->fd->lock, flags);
	rq->elv.priv[0] = NULL;
	kmem_cache_free(fbs_cache, fq);
	if (run)
		blk_mq_run_hw_queues(fs->q, true);
}

/* ---- life cycle ---- */

/* what free reads may cost is never nothing at all to what learns from it */
static u32 fbs_target(const struct fbs *fs)
{
	return max(fs->target_ppm, 1U);
}

/* the model has been replaced: all places are void; called with the lock held */
static void fbs_model_changed(struct fb_disk *fd)
{
	struct fbs *fs = fd->sched;
	struct fbs_rq *fq;

	lockdep_assert_held(&fd->lock);
	/* may be called before fb_disk_attach() has returned */
	fs->fd = fd;
	fb_head_init(&fs->head, fd->model);
	fbm_target(&fd->margin, fbs_target(fs));
	fs->tail_known = false;
	list_for_each_entry(fq, &fs->flight, flight) {
		fq->placed = false;
		fq->start_ns = 0;
	}
	fbs_place_all(fs);
	fbs_void_choice(fs);
}

/**
 * fbs_changed() - a tunable has changed
 * @fs: the scheduler, its disk locked
 *
 * Context: fb_disk.lock held.
 */
void fbs_changed(struct fbs *fs)
{
	lockdep_assert_held(&fs->fd->lock);
	fbs_set_deep(fs);
	fbm_target(&fs->fd->margin, fbs_target(fs));
	if (!fs->pinned)
		fbs_choose_next(fs);
}

static void fbs_init(struct fbs *fs, struct request_queue *q)
{
	fs->q = q;
	fs->sort[READ] = RB_ROOT;
	fs->sort[WRITE] = RB_ROOT;
	INIT_LIST_HEAD(&fs->bypass);
	INIT_LIST_HEAD(&fs->flight);
	fg_pool_init(&fs->pool);
	fbk_init(fs);
	fs->pool.policy = FG_AUTO;
	fs->pool.sw_percent = fbs_sw_percent;
	hrtimer_init(&fs->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	fs->timer.function = fbs_timer;
	fs->depth = FBS_DEPTH;
	fs->auto_depth = true;
	fs->deep = true;
	fs->hold = true;
	fs->wake_ns = fbs_wake_ns;
	fs->auto_lift = true;
	fs->lift = FB_LIFT_ALL;
	fs->auto_margin = true;
	fs->target_ppm = FBM_TARGET_PPM;
	fs->expire_ns[READ] = fbs_read_expire_ns;
	fs->expire_ns[WRITE] = fbs_write_expire_ns;
	fs->search_ns = fbs_search_ns;
}

static int fbs_init_sched(struct request_queue *q, struct elevator_queue *eq)
{
	unsigned int noio = memalloc_noio_save();
	struct fbs *fs = kzalloc_node(sizeof(*fs), GFP_KERNEL, q->node);
	int ret = -ENOMEM;

	if (!fs)
		goto out;
	fbs_init(fs, q);
	fs->fd = fb_disk_attach(q, fs, &fs->head, fbs_model_changed);
	if (!fs->fd) {
		kfree(fs);
		goto out;
	}
	spin_lock_irq(&fs->fd->lock);
	if (fs->fd->model) {
		fb_head_init(&fs->head, fs->fd->model);
		fbm_target(&fs->fd->margin, fbs_target(fs));
	}
	spin_unlock_irq(&fs->fd->lock);
	eq->elevator_data = fs;
	/* one order for the queue, however many hardware queues it has */
	blk_queue_flag_set(QUEUE_FLAG_SQ_SCHED, q);
	ret = 0;
out:
	memalloc_noio_restore(noio);
	return ret;
}

FB_COMPAT_INIT_SCHED(fbs_init_sched)

static void fbs_exit_sched(struct elevator_queue *eq)
{
	struct fbs *fs = eq->elevator_data;

	hrtimer_cancel(&fs->timer);
	fb_disk_detach(fs->fd);
	WARN_ON_ONCE(fs->pool.count || fs->others.count || fs->others.flying);
	WARN_ON_ONCE(fs->nr_flight);
	WARN_ON_ONCE(!list_empty(&fs->bypass));
	kfree(fs);
}

static struct elevator_type fbs_type = {
	.ops = {
		.init_sched		= fbs_init_sched_compat,
		.exit_sched		= fbs_exit_sched,
		.init_hctx		= fbk_init_hctx,
		.depth_updated		= fbk_depth_updated,
		.allow_merge		= fbk_allow_merge,
		.bio_merge		= fbs_bio_merge,
		.request_merge		= fbs_request_merge,
		.request_merged		= fbs_request_merged,
		.requests_merged	= fbs_requests_merged,
		.former_request		= elv_rb_former_request,
		.next_request		= elv_rb_latter_request,
		.limit_depth		= fbk_limit_depth,
		.prepare_request	= fbs_prepare_request,
		.finish_request		= fbs_finish_request,
		.insert_requests	= fbs_insert_requests,
		.dispatch_request	= fbs_dispatch_request,
		.has_work		= fbs_has_work,
		.completed_request	= fbs_completed_request,
		.requeue_request	= fbs_requeue_request,
	},
	.elevator_attrs = fb_sysfs_sched_attrs,
	.elevator_name = "freeblock",
	.elevator_owner = THIS_MODULE,
};

static int __init fbs_module_init(void)
{
	int ret = -ENOMEM;

	fbs_cache = KMEM_CACHE(fbs_rq, 0);
	if (!fbs_cache)
		return ret;
	ret = fb_task_init();
	if (ret)
		goto destroy_cache;
	ret = fb_job_init();
	if (ret)
		goto exit_task;
	ret = fb_disk_init();
	if (ret)
		goto exit_job;
	ret = elv_register(&fbs_type);
	if (ret)
		goto exit_disk;
	return 0;

exit_disk:
	fb_disk_exit();
exit_job:
	fb_job_exit();
exit_task:
	fb_task_exit();
destroy_cache:
	kmem_cache_destroy(fbs_cache);
	return ret;
}

static void __exit fbs_module_exit(void)
{
	elv_unregister(&fbs_type);
	fb_disk_exit();
	fb_job_exit();
	fb_task_exit();
	kmem_cache_destroy(fbs_cache);
}

module_init(fbs_module_init);
module_exit(fbs_module_exit);

MODULE_DESCRIPTION("Freeblock I/O scheduler: background reads in rotational gaps");
MODULE_LICENSE("GPL");
