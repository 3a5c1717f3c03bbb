// SPDX-License-Identifier: GPL-2.0
/*
 * freeblock: an I/O scheduler that orders foreground requests by rotational position, keeps two
 * commands at the drive, and reads wanted blocks in the gaps between requests (Lumb, Schindler,
 * Ganger, "Freeblock Scheduling Outside of Disk Firmware", FAST 2002). Here are the elevator's
 * callbacks; this file deals with blk-mq and not with seeks.
 *
 * Locks: fb_disk.lock guards all state of a queue. Requests are freed and queues are run after
 * it has been dropped. The table is in disk/disk.h.
 */
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <trace/events/block.h>

#include "disk/coverage.h"
#include "sched/sched.h"
#include "disk/trace_events.h"
#include "freeblock_iosched.h"

static const u64 fb_iosched_read_expire_ns = 500 * NSEC_PER_MSEC;	/* as mq-deadline */
static const u64 fb_iosched_write_expire_ns = 5 * (u64)NSEC_PER_SEC;	/* as mq-deadline */
/* twice this speeds up a whole scan no further, half costs 3 % (Documentation/large.rst) */
static const u64 fb_iosched_search_ns = 100 * NSEC_PER_USEC;
static const u32 fb_iosched_sw_percent = 60;		/* SPTF-SW60%: the paper's choice (5.2) */

/* ---- insertion ---- */

/* is there foreground work, apart from requests that bypass schedulers? */
static bool fb_iosched_is_active(const struct fb_sched *fs)
{
	return fs->pool.count || fs->nr_untracked || !list_empty(&fs->bypass) ||
	       fs->nr_flight > fs->nr_idle + fs->others.flying;
}

static void fb_iosched_note_activity(struct fb_sched *fs)
{
	bool active = fs->nr_unseen || fb_iosched_is_active(fs);
	bool quiet = fs->fd->fg.active && !active;

	if (active || quiet)
		fs->fd->fg.last_ns = ktime_get_ns();
	fs->fd->fg.active = active;
	if (quiet)
		fb_idle_quiet(fs->fd);
}

/*
 * Flushes, FUA writes, passthrough commands and clones of dm bypass schedulers, and not every
 * kernel reports their completion. They are therefore counted as the device's busy commands
 * less our own and less @own, those about to be sent. This needs to be known only while there
 * is no other foreground.
 */
static void fb_iosched_look(struct fb_sched *fs, u32 own)
{
	struct fb_disk *fd = fs->fd;
	u64 last_ns = fd->fg.last_ns;
	u32 busy, known;

	lockdep_assert_held(&fd->lock);
	if ((!fd->model && !fd->cov) || fb_iosched_is_active(fs))
		return;
	busy = fb_disk_busy(fd);
	known = min(busy, fs->nr_flight + own + READ_ONCE(fd->idle.asking));
	if (busy == known && !fs->nr_unseen)
		return;
	if (busy - known > fs->nr_unseen) {
		fd->fg.active = true;
		fb_idle_arrive_unfollowed(fd, ktime_get_ns(), NULL);
		fb_head_lose(&fs->head);
		fs->tail_known = false;
		fb_idle_passed(fd);
	}
	fs->nr_unseen = busy - known;
	fb_iosched_note_activity(fs);
	/* it may be a query that does not wake a sleeping drive: not foreground activity */
	fd->fg.last_ns = last_ns;
	if (fs->nr_unseen && !hrtimer_is_queued(&fs->timer))
		hrtimer_start(&fs->timer, ns_to_ktime(ktime_get_ns() + FB_SCHED_LOOK_NS),
			      HRTIMER_MODE_ABS);
}

static void fb_iosched_uncount(struct fb_sched *fs, struct fb_sched_rq *fq, bool good)
{
	list_del_init(&fq->flight);
	fs->nr_flight--;
	fb_inflight_ended(fs, fq, ktime_get_ns());
	if (fq->cmd.cause == FB_CAUSE_IDLE) {
		fs->nr_idle--;
		fb_idle_ended(fs->fd, good);
	}
	fs->others.flying -= fq->background;
}

static void fb_iosched_insert_one(struct fb_sched *fs, struct request *rq, bool at_head,
				  struct list_head *free)
{
	struct fb_sched_rq *fq = fb_sched_rq(rq);
	bool again = fq && fq->state == FB_SCHED_REQUEUED, background;
	u64 now = ktime_get_ns();

	lockdep_assert_held(&fs->fd->lock);
	/* its insertion is traced when it is aimed, if it ever is */
	if (fq && fb_free_read_is_ours(rq->bio) && fb_free_read_hold(fs->fd, rq)) {
		fq->ours = true;
		return;
	}
	if (again) {
		fb_iosched_uncount(fs, fq, false);
		fq->state = FB_SCHED_NEW;
		at_head = true;
	}
	background = fq && !at_head && fb_background_recognise(fq);
	if (!at_head && !background && blk_mq_sched_try_insert_merge(fs->q, rq, free))
		return;
	trace_block_rq_insert(rq);
	if (!fq)
		fs->fd->stats.untracked++;
	/* what comes again was counted when it came first, and may be a read of ours */
	if (!again && !background && (fq || rq->rq_flags & FB_COMPAT_PREPARED))
		fb_inflight_arrived(fs, fq, at_head, now);
	if (!again && !background && fq)
		fb_destage_arrived(&fs->fd->destage, op_is_write(req_op(rq)));
	if (!fq || at_head) {
		list_add(&rq->queuelist, &fs->bypass);
		return;
	}
	fb_pool_add(fs, fq, now);
	fb_iosched_note_activity(fs);
	fb_choice_offer(fs, fq);
}

static void fb_iosched_insert_requests(struct blk_mq_hw_ctx *hctx, struct list_head *list,
				       bool at_head)
{
	struct fb_sched *fs = hctx->queue->elevator->elevator_data;
	struct request *rq, *next;
	unsigned long flags;
	LIST_HEAD(free);

	spin_lock_irqsave(&fs->fd->lock, flags);
	list_for_each_entry_safe(rq, next, list, queuelist) {
		list_del_init(&rq->queuelist);
		fb_iosched_insert_one(fs, rq, at_head, &free);
	}
	/* a write may have come; blk-mq runs the queue when this returns */
	fb_order_decide(fs);
	spin_unlock_irqrestore(&fs->fd->lock, flags);

	list_for_each_entry_safe(rq, next, &free, queuelist) {
		list_del_init(&rq->queuelist);
		blk_mq_free_request(rq);
	}
}

/* ---- sending ---- */

/**
 * struct fb_iosched_dispatch - a command that is about to be sent
 * @cause: what precedes it in its gap
 * @lifts: limits that it lifts
 * @gap_ns: its rotational latency if nothing were read before it
 * @extra_ns: what the free read before it costs it even if all goes as planned
 */
struct fb_iosched_dispatch {
	enum fb_cause cause;
	u32 lifts;
	u64 gap_ns;
	u64 extra_ns;
};

/* describe the command afresh: nothing of an earlier dispatch is kept */
static void fb_iosched_describe(struct fb_sched *fs, struct fb_sched_rq *fq,
				const struct fb_iosched_dispatch *d, u64 now)
{
	bool follow = fs->deep && fs->fd->destage.on && !fb_level_unmapped(fs->fd);
	bool write = op_is_write(req_op(fq->rq));

	fq->fg.write = write;
	fq->prepended |= d->cause == FB_CAUSE_PREPEND;
	fq->cmd = (struct fb_completion_cmd) {
		.lbn = blk_rq_pos(fq->rq),
		.nsect = blk_rq_sectors(fq->rq),
		.write = write,
		.unplaced = !fb_sched_is_media(fq),
		.foreground = fb_sched_is_foreground(fq),
		.watched = !fb_sched_is_hands_off(fs) || (follow && fq->ours),
		.own_order = follow,
		.cause = d->cause,
		.sent_ns = now,
		.leg = { .gap_ns = d->gap_ns, .extra_ns = d->extra_ns },
		.mark = { .at = d->lifts },
	};
	fq->state = FB_SCHED_SENT;
}

static struct request *fb_iosched_send(struct fb_sched *fs, struct fb_sched_rq *fq, u64 now,
				       const struct fb_iosched_dispatch *d)
{
	struct fb_disk *fd = fs->fd;
	struct request *rq = fq->rq;

	lockdep_assert_held(&fd->lock);
	fb_iosched_describe(fs, fq, d, now);
	fb_inflight_sent(fs, fq);
	fb_background_note_sent(fs, fq, now);
	if (fq->fg.write)
		fb_free_read_overlap(fd, fq->cmd.lbn, fq->cmd.nsect);
	list_add_tail(&fq->flight, &fs->flight);
	fs->nr_flight++;
	fs->nr_idle += d->cause == FB_CAUSE_IDLE;
	if (fq->cmd.watched) {
		fd->stats.max_in_flight = max_t(u64, fd->stats.max_in_flight, fs->nr_flight);
		fb_inflight_hold(fs);
	}
	rq->rq_flags |= RQF_STARTED;
	fb_iosched_note_activity(fs);
	if (fb_free_read_is_ours(rq->bio)) {
		fq->own = d->cause != FB_CAUSE_PREPEND;
		fb_inflight_check_writes(fs);
		fb_free_read_begun(rq->bio->bi_private, now);
		fb_verify_apply(rq->bio->bi_private, rq);
	}
	return rq;
}

/* number of a plan's pieces that are sent as separate commands */
static u32 fb_iosched_commands(const struct fb_plan *plan)
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

/* send the next separate command of the plan in use; NULL: there is none */
static struct request *fb_iosched_send_piece(struct fb_sched *fs, u64 now)
{
	const struct fb_plan_piece *p = &fs->plan.piece[fs->next_piece];
	struct fb_iosched_dispatch d = { .cause = FB_CAUSE_SEPARATE };
	struct request *rq;

	if (fs->next_piece >= fb_iosched_commands(&fs->plan))
		return NULL;
	rq = fb_free_read_send(fs->fd, p->lbn, p->nsect, FB_FREE_READ_SEPARATE);
	if (!rq) {
		fb_choice_drop_plan(fs);
		return NULL;
	}
	d.lifts = fb_choice_lifts(fs, &fs->plan, fs->next_piece);
	if (++fs->next_piece < fb_iosched_commands(&fs->plan))
		fb_free_read_need(fs->fd);
	return fb_iosched_send(fs, fb_sched_rq(rq), now, &d);
}

static struct request *fb_iosched_begin_plan(struct fb_sched *fs, const struct fb_plan *plan,
					     u64 now)
{
	struct request *rq;

	fs->plan = *plan;
	fs->next_piece = 0;
	rq = fb_iosched_send_piece(fs, now);
	if (!rq)
		return NULL;
	fs->pinned = true;
	fb_gap_void(fs->fd);
	if (plan->npieces > 1)
		fs->fd->stats.several++;
	return rq;
}

/* send the choice, with the plan's prepended read if there is one */
static struct request *fb_iosched_send_choice(struct fb_sched *fs,
					      const struct fb_plan_piece *prepend, u64 now)
{
	struct fb_sched_rq *fq = fb_choice_request(fs);
	struct request *rq = fq->rq;
	bool stream;
	struct fb_iosched_dispatch d = {
		.cause = fs->pinned ? FB_CAUSE_AFTER : FB_CAUSE_PLAIN,
		.lifts = fb_choice_lifts(fs, &fs->plan, fs->next_piece),
		.gap_ns = fb_choice_gap_ns(fs),
		.extra_ns = fs->extra_ns,
	};

	fb_pool_del(fs, fq);
	fb_policy_sent(&fs->pool, &fq->fg, fs->choice.expired);
	if (prepend && fb_free_read_prepend(fs->fd, rq, prepend->lbn, prepend->nsect))
		d.cause = FB_CAUSE_PREPEND;
	stream = fb_order_note_sent(fs, fq, now);
	fs->next_piece += !!prepend;
	fb_choice_void(fs);
	fb_iosched_send(fs, fq, now, &d);
	/* blk-mq asks for more until there is no work */
	if (stream)
		fb_order_decide(fs);
	if (fs->pool.count)
		fb_choice_renew(fs);
	return rq;
}

/* after a separate read: send the rest of its plan, then the choice */
static struct request *fb_iosched_go_on(struct fb_sched *fs, u64 now)
{
	const struct fb_plan_piece *prepend = NULL;
	struct request *rq;

	/* reads have been stopped, or the drive is ahead of us and the rest would be too late */
	if (!fb_coverage_may_read(fs->fd) || !fs->nr_flight || fb_inflight_too_late(fs, now))
		fb_choice_drop_plan(fs);
	rq = fb_iosched_send_piece(fs, now);
	if (rq)
		return rq;
	if (fs->plan.kind == FB_PLAN_BOTH)
		prepend = &fs->plan.piece[fs->next_piece];
	return fb_iosched_send_choice(fs, prepend, now);
}

/* without foreground: send a background read of others if one is due */
static struct request *fb_iosched_send_quiet(struct fb_sched *fs, u64 now)
{
	u64 due_ns;
	struct fb_sched_rq *fq = fb_background_pick_idle(fs, now, &due_ns);

	if (!fq || now < due_ns)
		return NULL;
	fs->window_ns = 0;
	fs->fd->stats.others_idle++;
	fb_pool_del(fs, fq);
	return fb_iosched_send(fs, fq, now,
			       &(struct fb_iosched_dispatch) { .cause = FB_CAUSE_PLAIN });
}

/* a slot is free: fill it (Documentation/design.rst, One request's way, step 5) */
static struct request *fb_iosched_fill_slot(struct fb_sched *fs)
{
	u64 now = ktime_get_ns();
	const struct fb_plan *plan;
	struct dm_place head;
	struct request *rq;
	u64 start_ns;
	bool known;

	if (!fs->pool.count)
		return fb_iosched_send_quiet(fs, now);
	if (fs->nr_flight >= fs->depth || fb_inflight_window_open(fs, now))
		return NULL;
	fs->window_ns = 0;
	if (fs->pinned)
		return fb_iosched_go_on(fs, now);
	if (!fs->nr_flight) {
		known = fb_completion_idle_head(&fs->head, now, false, &head, &start_ns);
		fb_choice_make(fs, known ? &head : NULL, now);
		fb_round_lose(fs);
	} else if (!fs->choice.req) {
		fb_choice_renew(fs);
	}
	plan = fb_choice_take_plan(fs, now);
	fb_round_charge(fs, fs->nr_flight ? &fs->tail : &head, now);
	if (plan && plan->kind == FB_PLAN_PREPEND)
		return fb_iosched_send_choice(fs, &plan->piece[0], now);
	rq = plan ? fb_iosched_begin_plan(fs, plan, now) : NULL;
	return rq ? rq : fb_iosched_send_choice(fs, NULL, now);
}

/* the drive orders, or there is no map */
static struct request *fb_iosched_fill_passthrough(struct fb_sched *fs)
{
	u64 now = ktime_get_ns();
	struct fb_policy_req *req;
	struct fb_sched_rq *fq;

	if (fs->pool.count && fb_sched_is_full(fs))
		return NULL;
	req = fb_pool_passthrough(fs, now);
	if (!req)
		return fb_iosched_send_quiet(fs, now);
	fq = container_of(req, struct fb_sched_rq, fg);
	fb_pool_del(fs, fq);
	fb_policy_sent(&fs->pool, req, false);
	fb_order_note_sent(fs, fq, now);
	return fb_iosched_send(fs, fq, now,
			       &(struct fb_iosched_dispatch) { .cause = FB_CAUSE_PLAIN });
}

/* without a struct fb_sched_rq it cannot be followed: no free reads until it completes */
static void fb_iosched_send_untracked(struct fb_sched *fs, struct request *rq)
{
	if (op_is_write(req_op(rq)))
		fb_free_read_overlap(fs->fd, blk_rq_pos(rq), blk_rq_sectors(rq));
	if (rq->rq_flags & FB_COMPAT_PREPARED && !rq->elv.priv[1]) {
		rq->elv.priv[1] = fs;
		fs->nr_untracked++;
	}
	rq->rq_flags |= RQF_STARTED;
	fb_gap_void(fs->fd);
}

/* an idle read is ready, and the disk is still idle */
static bool fb_iosched_idle_is_due(const struct fb_sched *fs)
{
	return fs->fd->idle.ready && !fs->fd->fg.active && !fs->nr_flight &&
	       !fs->others.count && !fb_level_unserved(fs->fd);
}

static struct request *fb_iosched_send_idle(struct fb_sched *fs)
{
	const struct fb_plan_piece *piece = &fs->fd->idle.piece;
	u64 now = ktime_get_ns();
	struct request *rq;
	struct fb_sched_rq *fq;

	if (!fb_iosched_idle_is_due(fs))
		return NULL;
	/* the request being dispatched is already in the device's busy count */
	fb_iosched_look(fs, 1);
	if (!fs->fd->idle.ready)
		return NULL;
	fs->fd->idle.ready = false;
	rq = fb_free_read_send(fs->fd, piece->lbn, piece->nsect, FB_FREE_READ_IDLE);
	if (!rq)
		return NULL;
	fq = fb_sched_rq(rq);
	fb_iosched_send(fs, fq, now, &(struct fb_iosched_dispatch) { .cause = FB_CAUSE_IDLE });
	fb_idle_sent(fs->fd, now);
	return rq;
}

static struct request *fb_iosched_send_bypass(struct fb_sched *fs)
{
	struct request *rq = list_first_entry_or_null(&fs->bypass, struct request, queuelist);
	struct fb_sched_rq *fq;

	if (!rq)
		return NULL;
	fq = fb_sched_rq(rq);
	if (fq && fb_sched_is_full(fs))
		return NULL;
	list_del_init(&rq->queuelist);
	fb_head_lose(&fs->head);
	fs->tail_known = false;
	fb_choice_drop_plan(fs);
	/* a requeued command keeps its cause */
	if (fq)
		fb_iosched_send(fs, fq, ktime_get_ns(),
				&(struct fb_iosched_dispatch) { .cause = fq->cmd.cause });
	else
		fb_iosched_send_untracked(fs, rq);
	if (!fs->pinned)
		fb_choice_renew(fs);
	return rq;
}

static struct request *fb_iosched_dispatch_request(struct blk_mq_hw_ctx *hctx)
{
	struct fb_sched *fs = hctx->queue->elevator->elevator_data;
	struct request *rq;
	unsigned long flags;
	bool back;

	spin_lock_irqsave(&fs->fd->lock, flags);
	if (unlikely(fs->others.count) && fb_background_expire(fs) && !fs->pinned)
		fb_choice_renew(fs);
	rq = fb_iosched_send_bypass(fs);
	if (!rq)
		rq = fb_sched_is_hands_off(fs) ? fb_iosched_fill_passthrough(fs) :
			fb_iosched_fill_slot(fs);
	if (!rq)
		rq = fb_iosched_send_idle(fs);
	fs->fd->idle.sent += !!rq;
	back = fb_free_read_is_awaited(fs->fd);
	spin_unlock_irqrestore(&fs->fd->lock, flags);
	if (back)
		fb_free_read_return(fs->fd);
	return rq;
}

/*
 * There is no work while fb_sched.depth is reached or the second command is held back;
 * completed_request() and the timer run the queue again. Who orders is decided elsewhere
 * (fb_order_decide()). Only a run of the queue tells that a request has passed by the scheduler to
 * the device (fb_iosched_look()). This is called last before a queue falls asleep, so the end of a
 * background read's wait is timed here. The lock is taken because it all changes together.
 */
static bool fb_iosched_has_work(struct blk_mq_hw_ctx *hctx)
{
	struct fb_sched *fs = hctx->queue->elevator->elevator_data;
	unsigned long flags;
	bool work;

	spin_lock_irqsave(&fs->fd->lock, flags);
	if (!fs->fd->idle.ready)
		fb_iosched_look(fs, 0);
	work = fs->pool.count && !fb_sched_is_full(fs) &&
	       (fb_sched_is_hands_off(fs) || !fb_inflight_window_open(fs, ktime_get_ns()));
	if (unlikely(fs->others.count))
		work |= fb_background_is_due(fs);
	if (!list_empty(&fs->bypass))
		work = !fb_sched_is_full(fs) ||
		       !fb_sched_rq(list_first_entry(&fs->bypass, struct request, queuelist));
	work = work || fb_iosched_idle_is_due(fs) || fb_free_read_is_awaited(fs->fd);
	spin_unlock_irqrestore(&fs->fd->lock, flags);
	return work;
}

static enum hrtimer_restart fb_iosched_timer(struct hrtimer *timer)
{
	struct fb_sched *fs = container_of(timer, struct fb_sched, timer);
	unsigned long flags;

	spin_lock_irqsave(&fs->fd->lock, flags);
	/* the window may have been opened again while we waited for the lock */
	if (ktime_get_ns() >= fs->window_ns)
		fs->window_ns = 0;
	spin_unlock_irqrestore(&fs->fd->lock, flags);
	blk_mq_run_hw_queues(fs->q, true);
	return HRTIMER_NORESTART;
}

/* ---- completion ---- */

/* the start of the command in service is unknown: void what was computed from it */
static void fb_iosched_lose_tail(struct fb_sched *fs)
{
	fs->tail_known = fs->nr_flight && fs->tail_known;
	fb_gap_void(fs->fd);
	fb_choice_drop_plan(fs);
}

/* the drive changed the order: predict the tail from the last command still in flight */
static void fb_iosched_retail(struct fb_sched *fs)
{
	struct fb_sched_rq *last;

	fb_gap_void(fs->fd);
	fb_choice_drop_plan(fs);
	fs->tail_known = false;
	if (fs->nr_flight) {
		last = list_last_entry(&fs->flight, struct fb_sched_rq, flight);
		fs->tail_known = fb_completion_end_place(fs->fd->model, &last->cmd, &fs->tail);
	}
	if (!fs->pinned && fs->pool.count)
		fb_choice_renew(fs);
}

/* Return: true if the queue should be run. */
static bool fb_iosched_complete(struct fb_sched *fs, struct fb_sched_rq *fq, u64 now)
{
	struct fb_disk *fd = fs->fd;
	bool overtaken = fq->cmd.watched && !fb_sched_is_hands_off(fs) && fs->flight.next !=
		&fq->flight;

	lockdep_assert_held(&fd->lock);
	if (overtaken) {
		fd->stats.out_of_order++;
		fb_head_lose(&fs->head);
		fb_inflight_overtake(fs, fq, now);
		fq->cmd.start_ns = 0;
	}
	fb_iosched_uncount(fs, fq, !fb_verify_failed(fq->rq));
	fq->state = FB_SCHED_DONE;
	fd->fg.end_ns = now;
	if (fb_sched_is_foreground(fq)) {
		fs->others.fg_end_ns = now;
		fb_policy_ended(&fs->pool, !fs->pool.count && !fs->nr_flight);
		fb_inflight_served(fs, fq, now);
	}
	fb_iosched_note_activity(fs);
	if (fb_sched_is_hands_off(fs)) {
		if (!fb_level_unmapped(fd))
			fb_inflight_follow(fs, fq, now);
		return true;
	}
	if (!fb_inflight_observe(fs, fq, now))
		fb_iosched_lose_tail(fs);
	if (fb_disk_judge(fd, &fs->head)) {
		fb_choice_void(fs);
		fb_message_note(fd, FB_MESSAGE_MISFIT);
	}
	if (overtaken || !fs->tail_known)
		fb_iosched_retail(fs);
	return !fb_inflight_hold(fs) || !list_empty(&fs->bypass);
}

static void fb_iosched_completed_request(struct request *rq, u64 now)
{
	struct fb_sched *fs = rq->q->elevator->elevator_data;
	struct fb_sched_rq *fq = fb_sched_rq(rq);
	unsigned long flags;
	bool run = false;

	if (fq)
		fb_verify_restore(rq);
	spin_lock_irqsave(&fs->fd->lock, flags);
	if (fq && fq->state == FB_SCHED_SENT)
		run = fb_iosched_complete(fs, fq, now);
	if (fq && (fq->ours || fq->prepended))
		fb_verify_judge(fs->fd, rq, fq->cmd.observed ? &fq->cmd.verdict : NULL);
	fb_iosched_look(fs, 0);
	run |= fb_order_decide(fs);
	spin_unlock_irqrestore(&fs->fd->lock, flags);
	if (run)
		blk_mq_run_hw_queues(fs->q, true);
}

/* the driver returned @rq; it counts as in flight until it is inserted again or completes */
static void fb_iosched_requeue_request(struct request *rq)
{
	struct fb_sched *fs = rq->q->elevator->elevator_data;
	struct fb_sched_rq *fq = fb_sched_rq(rq);
	unsigned long flags;

	if (fq && fq->prepended)
		fb_verify_split(fs->fd, rq);
	spin_lock_irqsave(&fs->fd->lock, flags);
	fb_inflight_returned(fs, rq);
	fb_recovery_requeued(fs->fd, rq);
	fb_gap_void(fs->fd);
	fb_choice_drop_plan(fs);
	if (fq && fq->state == FB_SCHED_SENT) {
		fq->cmd.start_ns = 0;
		fq->state = FB_SCHED_REQUEUED;
		/* most pass by the scheduler from here on, and their ends are not told */
		fb_shadow_lose(&fs->fd->shadow);
	}
	spin_unlock_irqrestore(&fs->fd->lock, flags);
}

/* ---- struct fb_sched_rq ---- */

static void fb_iosched_prepare_request(struct request *rq)
{
	struct fb_sched_rq *fq = fb_slots_take(rq->q->elevator->elevator_data, rq);

	/* without it the request is sent at once, and counted in fb_stats.untracked */
	rq->elv.priv[0] = fq;
	rq->elv.priv[1] = NULL;
	if (!fq)
		return;
	fq->idle = fb_background_submitter_is_idle();
	INIT_LIST_HEAD(&fq->flight);
	INIT_LIST_HEAD(&fq->fg.node);
}

static void fb_iosched_finish_untracked(struct fb_sched *fs, struct request *rq)
{
	unsigned long flags;

	if (!rq->elv.priv[1])
		return;
	spin_lock_irqsave(&fs->fd->lock, flags);
	fs->nr_untracked--;
	fb_iosched_note_activity(fs);
	spin_unlock_irqrestore(&fs->fd->lock, flags);
	rq->elv.priv[1] = NULL;
	blk_mq_run_hw_queues(fs->q, true);
}

static void fb_iosched_finish_request(struct request *rq)
{
	struct fb_sched *fs = rq->q->elevator->elevator_data;
	struct fb_sched_rq *fq = fb_sched_rq(rq);
	unsigned long flags;
	bool run;

	if (!fq) {
		fb_iosched_finish_untracked(fs, rq);
		return;
	}
	/* a VERIFY, in flight, or requeued past the scheduler */
	if (fb_compat_is_unaccounted(rq)) {
		fb_iosched_completed_request(rq, ktime_get_ns());
		fb_compat_account_read(rq, ktime_get_ns());
	}
	spin_lock_irqsave(&fs->fd->lock, flags);
	WARN_ON_ONCE(fq->state == FB_SCHED_POOLED);
	/* no completed_request(), or a requeue that bypassed the scheduler before it completed */
	run = fq->state == FB_SCHED_SENT || fq->state == FB_SCHED_REQUEUED;
	if (run) {
		fb_iosched_uncount(fs, fq, false);
		fb_head_lose(&fs->head);
		fb_iosched_note_activity(fs);
	}
	if (fq->ours || fq->prepended)
		fb_verify_judge(fs->fd, rq, NULL);
	spin_unlock_irqrestore(&fs->fd->lock, flags);
	rq->elv.priv[0] = NULL;
	fb_slots_leave(fq);
	if (run)
		blk_mq_run_hw_queues(fs->q, true);
}

/* ---- life cycle ---- */

/* the learnt conservatism needs a target above 0 */
static u32 fb_iosched_target(const struct fb_sched *fs)
{
	return max(fs->target_ppm, 1U);
}

/* the model was replaced, or is used now or no longer: void all places */
static void fb_iosched_model_changed(struct fb_disk *fd)
{
	struct fb_sched *fs = fd->sched;
	struct fb_sched_rq *fq;

	lockdep_assert_held(&fd->lock);
	/* this may run before fb_disk_attach() has returned */
	fs->fd = fd;
	fb_head_init(&fs->head, fd->model);
	fb_round_reset(fs);
	fd->conservatism.target_ppm = fb_iosched_target(fs);
	fs->tail_known = false;
	list_for_each_entry(fq, &fs->flight, flight) {
		fq->cmd.placed = false;
		fq->cmd.start_ns = 0;
	}
	fb_choice_place_all(fs);
	fb_choice_void(fs);
	fb_order_decide(fs);
	/* without a model the drive gets all requests, whoever orders */
	fb_order_run_soon(fd);
}

static const struct fb_disk_sched_ops fb_iosched_disk_ops = {
	.model_changed = fb_iosched_model_changed,
	.wants_changed = fb_order_wants_changed,
	.next_gap = fb_round_next,
	.run_soon = fb_order_run_soon,
};

/* a tunable: it may be one that keeps requests from being sent */
static void fb_iosched_changed(struct fb_sched *fs)
{
	lockdep_assert_held(&fs->fd->lock);
	fb_order_decide(fs);
	fs->fd->conservatism.target_ppm = fb_iosched_target(fs);
	fb_round_lose(fs);
	if (!fs->pinned)
		fb_choice_renew(fs);
	fb_order_run_soon(fs->fd);
}

static void fb_iosched_init(struct fb_sched *fs, struct request_queue *q)
{
	fs->q = q;
	fs->changed = fb_iosched_changed;
	INIT_LIST_HEAD(&fs->bypass);
	INIT_LIST_HEAD(&fs->flight);
	fb_policy_pool_init(&fs->pool);
	fb_background_init(fs);
	fb_choice_init(fs);
	fb_order_init(fs);
	fs->pool.policy = FB_POLICY_AUTO;
	fs->pool.sw_percent = fb_iosched_sw_percent;
	fb_compat_timer_setup(&fs->timer, fb_iosched_timer, HRTIMER_MODE_ABS);
	fs->hold = true;
	fs->auto_lift = true;
	fs->lift = FB_LIFT_ALL;
	fs->auto_margin = true;
	fs->target_ppm = FB_CONSERVATISM_TARGET_PPM;
	fs->expire_ns[READ] = fb_iosched_read_expire_ns;
	fs->expire_ns[WRITE] = fb_iosched_write_expire_ns;
	fs->search_ns = fb_iosched_search_ns;
}

static int fb_iosched_init_sched(struct request_queue *q, struct elevator_queue *eq)
{
	unsigned int noio = memalloc_noio_save();
	u32 n = q->nr_hw_queues;
	struct fb_sched *fs = kzalloc_node(struct_size(fs, slots, n), GFP_KERNEL, q->node);

	if (!fs)
		goto out;
	fs->nr_slots = n;
	fb_iosched_init(fs, q);
	if (fb_slots_init(fs))
		goto free_sched;
	if (fb_round_init(fs))
		goto free_slots;
	fs->fd = fb_disk_attach(q, fs, &fs->head, &fb_iosched_disk_ops);
	if (!fs->fd)
		goto free_round;
	spin_lock_irq(&fs->fd->lock);
	if (fs->fd->model) {
		fb_head_init(&fs->head, fs->fd->model);
		fb_round_reset(fs);
		fs->fd->conservatism.target_ppm = fb_iosched_target(fs);
	}
	fb_order_decide(fs);
	spin_unlock_irq(&fs->fd->lock);
	eq->elevator_data = fs;
	/* one order for the queue, however many hardware queues it has */
	blk_queue_flag_set(QUEUE_FLAG_SQ_SCHED, q);
	memalloc_noio_restore(noio);
	return 0;

free_round:
	fb_round_exit(fs);
free_slots:
	fb_slots_exit(fs);
free_sched:
	kfree(fs);
out:
	memalloc_noio_restore(noio);
	return -ENOMEM;
}

static int fb_iosched_init_hctx(struct blk_mq_hw_ctx *hctx, unsigned int idx)
{
	fb_background_set_depth(hctx->queue->elevator->elevator_data, hctx);
	return 0;
}

static void fb_iosched_depth_updated(struct blk_mq_hw_ctx *hctx)
{
	struct fb_sched *fs = hctx->queue->elevator->elevator_data;

	fb_background_set_depth(fs, hctx);
	fb_slots_resize(fs, hctx);
}

FB_COMPAT_INIT_SCHED(fb_iosched_init_sched)
FB_COMPAT_INSERT_REQUESTS(fb_iosched_insert_requests)
FB_COMPAT_DEPTH_UPDATED(fb_iosched_depth_updated)

static void fb_iosched_exit_sched(struct elevator_queue *eq)
{
	struct fb_sched *fs = eq->elevator_data;

	/* nobody starts the timers any more */
	fb_disk_detach(fs->fd);
	fb_order_exit(fs);
	hrtimer_cancel(&fs->timer);
	WARN_ON_ONCE(fs->pool.count || fs->others.count || fs->others.flying);
	WARN_ON_ONCE(fs->nr_flight);
	WARN_ON_ONCE(!list_empty(&fs->bypass));
	fb_disk_put(fs->fd);
	fb_round_exit(fs);
	fb_slots_exit(fs);
	kfree(fs);
}

static struct elevator_type fb_iosched_type = {
	.ops = {
		.init_sched		= fb_iosched_init_sched_compat,
		.exit_sched		= fb_iosched_exit_sched,
		.init_hctx		= fb_iosched_init_hctx,
		.depth_updated		= fb_iosched_depth_updated_compat,
		.allow_merge		= fb_background_allow_merge,
		.bio_merge		= fb_pool_bio_merge,
		.request_merge		= fb_pool_request_merge,
		.request_merged		= fb_pool_request_merged,
		.requests_merged	= fb_pool_requests_merged,
		.former_request		= elv_rb_former_request,
		.next_request		= elv_rb_latter_request,
		.limit_depth		= fb_background_limit_depth,
		.prepare_request	= fb_iosched_prepare_request,
		.finish_request		= fb_iosched_finish_request,
		.insert_requests	= fb_iosched_insert_requests_compat,
		.dispatch_request	= fb_iosched_dispatch_request,
		.has_work		= fb_iosched_has_work,
		.completed_request	= fb_iosched_completed_request,
		.requeue_request	= fb_iosched_requeue_request,
	},
	.elevator_attrs = fb_tunables_attrs,
	.elevator_name = "freeblock",
	.elevator_owner = THIS_MODULE,
};

/**
 * fb_iosched_register() - offer the scheduler to queues
 *
 * Context: module init.
 *
 * Return: 0 or an error of elv_register().
 */
int __init fb_iosched_register(void)
{
	return elv_register(&fb_iosched_type);
}

/**
 * fb_iosched_unregister() - undo fb_iosched_register()
 *
 * Context: module exit; no queue uses the scheduler.
 */
void fb_iosched_unregister(void)
{
	elv_unregister(&fb_iosched_type);
}
