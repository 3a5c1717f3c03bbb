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

#include "sched/sched.h"
#include "disk/trace_events.h"

static const u64 fb_iosched_read_expire_ns = 500 * NSEC_PER_MSEC;	/* as mq-deadline */
static const u64 fb_iosched_write_expire_ns = 5 * (u64)NSEC_PER_SEC;	/* as mq-deadline */
/* twice this speeds up a whole scan no further, half costs 3 % (Documentation/large.rst) */
static const u64 fb_iosched_search_ns = 100 * NSEC_PER_USEC;
static const u32 fb_iosched_sw_percent = 60;		/* SPTF-SW60%: the paper's choice (5.2) */

/* for this long after a reset the phase gets no new anchor */
static const u64 fb_iosched_reset_ns = NSEC_PER_SEC;

/* ---- insertion ---- */

/* is there foreground work, apart from requests that bypass schedulers? */
static bool fb_iosched_is_active(const struct fb_sched *fs)
{
	return fs->engine.pool.count || fs->engine.nr_untracked || !list_empty(&fs->bypass) ||
	       fs->engine.nr_flight > fs->engine.nr_idle + fs->others.flying;
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
	struct scsi_device *sdev;
	u32 busy, known;

	lockdep_assert_held(&fd->lock);
	if ((!fd->model && !fd->cov) || fb_iosched_is_active(fs))
		return;
	sdev = fb_disk_sdev(fd);
	busy = sdev ? scsi_device_busy(sdev) : 0;
	known = min(busy, fs->engine.nr_flight + own + READ_ONCE(fd->idle.asking));
	if (busy == known && !fs->nr_unseen)
		return;
	if (busy - known > fs->nr_unseen) {
		fd->fg.active = true;
		fb_idle_withdraw(fd);
		fb_idle_policy_arrive_unfollowed(&fd->idle.wait, ktime_get_ns(), NULL);
		fb_engine_lose_head(&fs->engine);
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

/* a command has left the engine's flight: so much for those who count by kinds of their own */
static void fb_iosched_uncount(struct fb_sched *fs, struct fb_sched_rq *fq, bool good)
{
	if (fq->r.cmd.cause == FB_CAUSE_IDLE)
		fb_idle_ended(fs->fd, good);
	fs->others.flying -= fq->r.background;
}

/*
 * Discards and similar requests move the head in ways that cannot be predicted, and may be
 * gigabytes long. (Our own reads may be sent as other operations later, disk/verify.c.)
 */
static void fb_iosched_describe(struct fb_sched_rq *fq)
{
	enum req_op op = req_op(fq->rq);

	fq->r.media = fq->r.ours || op == REQ_OP_READ || op == REQ_OP_WRITE;
	fq->r.fg.write = op_is_write(op);
	fq->r.cacheable = !fq->r.ours && op == REQ_OP_WRITE && !(fq->rq->cmd_flags & REQ_FUA);
}

static void fb_iosched_insert_one(struct fb_sched *fs, struct request *rq, bool at_head,
				  struct list_head *free)
{
	struct fb_sched_rq *fq = fb_sched_rq(rq);
	bool again = fq && fq->state == FB_SCHED_REQUEUED, background;
	u64 now = ktime_get_ns();

	lockdep_assert_held(&fs->fd->lock);
	if (fq)
		fb_iosched_describe(fq);
	/* its insertion is traced when it is aimed, if it ever is */
	if (fq && fb_free_read_is_ours(rq->bio) && fb_free_read_hold(fs->fd, rq)) {
		fq->r.ours = true;
		return;
	}
	if (again) {
		fb_engine_off_flight(&fs->engine, &fq->r, now);
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
	if (!again && !background && fq && fq->r.media) {
		fb_measure_arrived(fs->fd, fq->r.fg.write, now);
		fq->measured_ns = now;
	}
	if (!again && !background && fq)
		fb_destage_arrived(&fs->fd->destage, op_is_write(req_op(rq)));
	if (!fq || at_head) {
		list_add(&rq->queuelist, &fs->bypass);
		return;
	}
	fb_pool_add(fs, fq, now);
	fb_iosched_note_activity(fs);
	if (!background)
		fb_engine_offer(&fs->engine, &fq->r, now);
}

static void fb_iosched_insert_requests(struct blk_mq_hw_ctx *hctx, struct list_head *list,
				       bool at_head)
{
	struct fb_sched *fs = hctx->queue->elevator->elevator_data;
	struct request *rq, *next;
	unsigned long flags;
	LIST_HEAD(free);

	/* a plug may have dozens: interrupts are let in after each */
	list_for_each_entry_safe(rq, next, list, queuelist) {
		list_del_init(&rq->queuelist);
		spin_lock_irqsave(&fs->fd->lock, flags);
		fb_iosched_insert_one(fs, rq, at_head, &free);
		/* a write may have come; blk-mq runs the queue when this returns */
		if (list_empty(list))
			fb_order_decide(fs);
		spin_unlock_irqrestore(&fs->fd->lock, flags);
	}

	list_for_each_entry_safe(rq, next, &free, queuelist) {
		list_del_init(&rq->queuelist);
		blk_mq_free_request(rq);
	}
}

/* ---- sending ---- */

/* what the kernel has to do for a command that the engine has sent */
static struct request *fb_iosched_sent(struct fb_sched *fs, struct fb_sched_rq *fq, u64 now)
{
	struct fb_disk *fd = fs->fd;
	struct request *rq = fq->rq;

	lockdep_assert_held(&fd->lock);
	fq->state = FB_SCHED_SENT;
	fb_background_note_sent(fs, fq, now);
	if (fq->r.fg.write)
		fb_free_read_overlap(fd, fq->r.cmd.lbn, fq->r.cmd.nsect);
	rq->rq_flags |= RQF_STARTED;
	fb_iosched_note_activity(fs);
	if (fb_free_read_is_ours(rq->bio)) {
		fq->own = fq->r.cmd.cause != FB_CAUSE_PREPEND;
		fb_inflight_check_writes(fs);
		fb_free_read_begun(rq->bio->bi_private, now);
		fb_verify_apply(rq->bio->bi_private, rq);
	}
	return rq;
}

/* send a command that the engine has not chosen */
static struct request *fb_iosched_send(struct fb_sched *fs, struct fb_sched_rq *fq,
				       enum fb_cause cause, u64 now)
{
	const struct fb_engine_send d = {
		.cause = cause,
		.lbn = blk_rq_pos(fq->rq),
		.nsect = blk_rq_sectors(fq->rq),
	};

	fb_engine_send(&fs->engine, &fq->r, &d, now);
	return fb_iosched_sent(fs, fq, now);
}

/* without foreground: send a background read of others if one is due */
static struct request *fb_iosched_send_quiet(struct fb_sched *fs)
{
	u64 now = ktime_get_ns(), due_ns;
	struct fb_sched_rq *fq = fb_background_pick_idle(fs, now, &due_ns);

	if (!fq || now < due_ns)
		return NULL;
	fs->engine.window_ns = 0;
	fs->fd->stats.others_idle++;
	fb_pool_del(fs, fq);
	return fb_iosched_send(fs, fq, FB_CAUSE_PLAIN, now);
}

/* without a struct fb_sched_rq it cannot be followed: no free reads until it completes */
static void fb_iosched_send_untracked(struct fb_sched *fs, struct request *rq)
{
	if (op_is_write(req_op(rq)))
		fb_free_read_overlap(fs->fd, blk_rq_pos(rq), blk_rq_sectors(rq));
	if (rq->rq_flags & FB_COMPAT_PREPARED && !rq->elv.priv[1]) {
		rq->elv.priv[1] = fs;
		fs->engine.nr_untracked++;
	}
	rq->rq_flags |= RQF_STARTED;
	fb_gap_void(&fs->fd->mail);
}

/* an idle read is ready, and the disk is still idle */
static bool fb_iosched_idle_is_due(const struct fb_sched *fs)
{
	return fs->fd->idle.ready && !fs->fd->fg.active && !fs->engine.nr_flight &&
	       !fs->others.count && !fb_level_unserved(fs->fd);
}

static struct request *fb_iosched_send_idle(struct fb_sched *fs)
{
	const struct fb_plan_piece *piece = &fs->fd->idle.piece;
	u64 now = ktime_get_ns();
	struct request *rq;

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
	fb_iosched_send(fs, fb_sched_rq(rq), FB_CAUSE_IDLE, now);
	fb_idle_sent(fs->fd, now);
	return rq;
}

static struct request *fb_iosched_send_bypass(struct fb_sched *fs)
{
	struct request *rq = list_first_entry_or_null(&fs->bypass, struct request, queuelist);
	struct fb_sched_rq *fq;
	u64 now = ktime_get_ns();

	if (!rq)
		return NULL;
	fq = fb_sched_rq(rq);
	if (fq && fb_engine_is_full(&fs->engine))
		return NULL;
	list_del_init(&rq->queuelist);
	fb_engine_lose_head(&fs->engine);
	fb_engine_drop_plan(&fs->engine);
	/* a requeued command keeps its cause */
	if (fq)
		fb_iosched_send(fs, fq, fq->r.cmd.cause, now);
	else
		fb_iosched_send_untracked(fs, rq);
	if (!fs->engine.pinned)
		fb_engine_choose_again(&fs->engine, now);
	return rq;
}

static struct request *fb_iosched_dispatch_request(struct blk_mq_hw_ctx *hctx)
{
	struct fb_sched *fs = hctx->queue->elevator->elevator_data;
	struct fb_engine_send d;
	struct fb_engine_rq *r;
	struct request *rq;
	unsigned long flags;
	bool back;
	u64 now;

	spin_lock_irqsave(&fs->fd->lock, flags);
	if (unlikely(fs->others.count) && fb_background_expire(fs) && !fs->engine.pinned)
		fb_engine_choose_again(&fs->engine, ktime_get_ns());
	rq = fb_iosched_send_bypass(fs);
	if (!rq) {
		now = ktime_get_ns();
		r = fb_engine_next(&fs->engine, &d, now);
		rq = r ? fb_iosched_sent(fs, fb_sched_rq_of(r), now) : NULL;
	}
	if (!rq && !fs->engine.pool.count)
		rq = fb_iosched_send_quiet(fs);
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
 * There is no work while fb_engine.depth is reached or the second command is held back;
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
	work = fb_engine_has_work(&fs->engine, ktime_get_ns());
	if (unlikely(fs->others.count))
		work |= fb_background_is_due(fs);
	if (!list_empty(&fs->bypass))
		work = !fb_engine_is_full(&fs->engine) ||
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
	if (ktime_get_ns() >= fs->engine.window_ns)
		fs->engine.window_ns = 0;
	spin_unlock_irqrestore(&fs->fd->lock, flags);
	blk_mq_run_hw_queues(fs->q, true);
	return HRTIMER_NORESTART;
}

/* ---- completion ---- */

/* a request has ended, or is part of another one */
static void fb_iosched_measure_end(struct fb_sched *fs, struct fb_sched_rq *fq, u64 now)
{
	if (fq->measured_ns)
		fb_measure_ended(fs->fd, fq->r.fg.write, now - fq->measured_ns, now);
	fq->measured_ns = 0;
}

/* Return: true if the queue should be run. */
static bool fb_iosched_complete(struct fb_sched *fs, struct fb_sched_rq *fq, u64 now)
{
	struct fb_engine *e = &fs->engine;
	bool failed = fb_verify_failed(fq->rq);
	bool overtaken = fb_engine_landed(e, &fq->r, now);

	lockdep_assert_held(&fs->fd->lock);
	fb_iosched_uncount(fs, fq, !failed);
	fq->state = FB_SCHED_DONE;
	fs->fd->fg.end_ns = now;
	fb_iosched_measure_end(fs, fq, now);
	if (fb_engine_is_foreground(&fq->r)) {
		fs->others.fg_end_ns = now;
		fb_policy_ended(&e->pool, !e->pool.count && !e->nr_flight);
		fb_inflight_served(fs, fq, now);
	}
	fb_iosched_note_activity(fs);
	fq->r.cmd.failed = failed;
	return fb_engine_judge(e, &fq->r, overtaken, now) || !list_empty(&fs->bypass);
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
	if (fq && (fq->r.ours || fq->prepended))
		fb_verify_judge(fs->fd, rq, fq->r.cmd.observed ? &fq->r.cmd.verdict : NULL);
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
	/*
	 * A time-out may have reset the device, which puts the phase in doubt, too. RQF_TIMED_OUT
	 * has been cleared already, the deadline has not.
	 */
	if (fs->fd->model && time_after_eq(jiffies, READ_ONCE(rq->deadline)))
		fb_head_reset(&fs->engine.head, ktime_get_ns() + fb_iosched_reset_ns);
	else
		fb_head_lose(&fs->engine.head);
	fb_recovery_requeued(fs->fd, rq);
	fb_gap_void(&fs->fd->mail);
	fb_engine_drop_plan(&fs->engine);
	if (fq && fq->state == FB_SCHED_SENT) {
		fq->r.cmd.start_ns = 0;
		fq->state = FB_SCHED_REQUEUED;
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
	INIT_LIST_HEAD(&fq->r.flight);
	INIT_LIST_HEAD(&fq->r.fg.node);
}

static void fb_iosched_finish_untracked(struct fb_sched *fs, struct request *rq)
{
	unsigned long flags;

	if (!rq->elv.priv[1])
		return;
	spin_lock_irqsave(&fs->fd->lock, flags);
	fs->engine.nr_untracked--;
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
	fb_iosched_measure_end(fs, fq, ktime_get_ns());
	/* no completed_request(), or a requeue that bypassed the scheduler before it completed */
	run = fq->state == FB_SCHED_SENT || fq->state == FB_SCHED_REQUEUED;
	if (run) {
		fb_engine_off_flight(&fs->engine, &fq->r, ktime_get_ns());
		fb_iosched_uncount(fs, fq, false);
		fb_head_lose(&fs->engine.head);
		fb_iosched_note_activity(fs);
	}
	if (fq->r.ours || fq->prepended)
		fb_verify_judge(fs->fd, rq, NULL);
	spin_unlock_irqrestore(&fs->fd->lock, flags);
	rq->elv.priv[0] = NULL;
	fq->rq = NULL;
	if (run)
		blk_mq_run_hw_queues(fs->q, true);
}

/* ---- life cycle ---- */

/* the learnt conservatism needs a target above 0 */
static u32 fb_iosched_target(const struct fb_sched *fs)
{
	return max(fs->target_ppm, 1U);
}

/* the model was replaced, or is used now or no longer */
static void fb_iosched_model_changed(struct fb_disk *fd)
{
	struct fb_sched *fs = fd->sched;

	lockdep_assert_held(&fd->lock);
	/* this may run before fb_disk_attach() has returned */
	fb_sched_set_disk(fs, fd);
	fd->conservatism.target_ppm = fb_iosched_target(fs);
	fb_engine_set_model(&fs->engine, fd->model, ktime_get_ns());
	/* without a model the drive gets all requests, whoever orders */
	fb_order_run_soon(fd);
}

/* the thread asks for a gap: one step towards it */
static bool fb_iosched_next_gap(struct fb_disk *fd)
{
	struct fb_sched *fs = fd->sched;

	lockdep_assert_held(&fd->lock);
	return fb_round_next(&fs->engine, ktime_get_ns());
}

static const struct fb_disk_sched_ops fb_iosched_disk_ops = {
	.model_changed = fb_iosched_model_changed,
	.wants_changed = fb_order_wants_changed,
	.next_gap = fb_iosched_next_gap,
	.run_soon = fb_order_run_soon,
};

/* a tunable: it may be one that keeps requests from being sent */
static void fb_iosched_changed(struct fb_sched *fs)
{
	lockdep_assert_held(&fs->fd->lock);
	fs->fd->conservatism.target_ppm = fb_iosched_target(fs);
	fb_engine_changed(&fs->engine, ktime_get_ns());
	fb_order_run_soon(fs->fd);
}

static void fb_iosched_init(struct fb_sched *fs, struct request_queue *q)
{
	fs->q = q;
	fs->changed = fb_iosched_changed;
	INIT_LIST_HEAD(&fs->bypass);
	fb_background_init(fs);
	fb_order_init(fs);
	fb_compat_timer_setup(&fs->timer, fb_iosched_timer, HRTIMER_MODE_ABS);
	fs->engine.pool.sw_percent = fb_iosched_sw_percent;
	fs->engine.search_ns = fb_iosched_search_ns;
	fs->target_ppm = FB_CONSERVATISM_TARGET_PPM;
	fs->expire_ns[READ] = fb_iosched_read_expire_ns;
	fs->expire_ns[WRITE] = fb_iosched_write_expire_ns;
}

static int fb_iosched_init_sched(struct request_queue *q, struct elevator_queue *eq)
{
	unsigned int noio = memalloc_noio_save();
	u32 n = q->nr_hw_queues;
	struct fb_sched *fs = kzalloc_node(struct_size(fs, slots, n), GFP_KERNEL, q->node);
	struct fb_disk *fd;

	if (!fs)
		goto out;
	fs->nr_slots = n;
	if (fb_host_init(fs))
		goto free_sched;
	fb_iosched_init(fs, q);
	if (fb_slots_init(fs))
		goto free_host;
	fd = fb_disk_attach(q, fs, &fs->engine.head, &fb_iosched_disk_ops);
	if (!fd)
		goto free_slots;
	spin_lock_irq(&fd->lock);
	fb_sched_set_disk(fs, fd);
	fd->conservatism.target_ppm = fb_iosched_target(fs);
	fb_engine_set_model(&fs->engine, fd->model, ktime_get_ns());
	spin_unlock_irq(&fd->lock);
	eq->elevator_data = fs;
	/* one order for the queue, however many hardware queues it has */
	blk_queue_flag_set(QUEUE_FLAG_SQ_SCHED, q);
	memalloc_noio_restore(noio);
	return 0;

free_slots:
	fb_slots_exit(fs);
free_host:
	fb_host_exit(fs);
free_sched:
	kfree(fs);
out:
	memalloc_noio_restore(noio);
	return -ENOMEM;
}

static int fb_iosched_init_hctx(struct blk_mq_hw_ctx *hctx, unsigned int idx)
{
	struct fb_sched *fs = hctx->queue->elevator->elevator_data;

	fs->others.depth = fb_compat_half_depth(hctx);
	return 0;
}

static void fb_iosched_depth_updated(struct blk_mq_hw_ctx *hctx)
{
	struct fb_sched *fs = hctx->queue->elevator->elevator_data;

	fs->others.depth = fb_compat_half_depth(hctx);
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
	WARN_ON_ONCE(fs->engine.pool.count || fs->others.count || fs->others.flying);
	WARN_ON_ONCE(fs->engine.nr_flight);
	WARN_ON_ONCE(!list_empty(&fs->bypass));
	fb_disk_put(fs->fd);
	fb_slots_exit(fs);
	fb_host_exit(fs);
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

int __init fb_iosched_register(void)
{
	return elv_register(&fb_iosched_type);
}

void fb_iosched_unregister(void)
{
	elv_unregister(&fb_iosched_type);
}
