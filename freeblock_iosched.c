// SPDX-License-Identifier: GPL-2.0
/*
 * freeblock: an I/O scheduler that orders foreground requests by rotational position, keeps two
 * commands at the drive, and reads wanted blocks in the gaps between requests (Lumb, Schindler,
 * Ganger, FAST 2002). Here are the elevator's callbacks. Locks: fb_disk.lock guards all state of a
 * queue; requests are freed and queues are run after it has been dropped.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <trace/events/block.h>

#include "sched/sched.h"

/* ---- insertion ---- */

static bool fb_iosched_is_active(const struct fb_sched *sched)
{
	const struct fb_engine *e = &sched->engine;

	return e->pool.count || e->nr_untracked || !list_empty(&sched->bypass) ||
	       e->nr_flight > e->nr_idle + sched->others.flying;
}

static void fb_iosched_note_activity(struct fb_sched *sched)
{
	bool active = sched->nr_unseen || fb_iosched_is_active(sched);
	bool quiet = sched->disk->fg.active && !active;

	if (active || quiet)
		sched->disk->fg.last_ns = ktime_get_ns();
	sched->disk->fg.active = active;
	if (quiet)
		fb_idle_quiet(sched->disk);
}

/* A foreground request has arrived. @fq: NULL: it bypasses schedulers; @bypass: or the pools. */
static void fb_iosched_arrived(struct fb_sched *sched, const struct fb_sched_rq *fq, bool bypass,
			       u64 now)
{
	struct fb_fg_req req = { .arrived_ns = now };
	bool media = fq && fq->r.media;

	lockdep_assert_held(&sched->disk->lock);
	sched->disk->fg.active = true;
	if (media) {
		req.lbn = blk_rq_pos(fq->rq);
		req.nsect = blk_rq_sectors(fq->rq);
		req.write = op_is_write(req_op(fq->rq));
	}
	fb_late_arrive(sched->disk);
	fb_engine_arrived(&sched->engine, fq ? &fq->r : NULL, media ? &req : NULL,
			  !bypass && !sched->others.flying, now);
}

/*
 * Flushes, FUA writes, passthrough commands and clones of dm bypass schedulers: they are the
 * device's busy commands less ours and less @own, those about to be sent.
 */
static void fb_iosched_look(struct fb_sched *sched, u32 own)
{
	struct fb_disk *disk = sched->disk;
	u64 last_ns = disk->fg.last_ns;
	struct scsi_device *sdev;
	u32 busy, known;

	lockdep_assert_held(&disk->lock);
	if ((!disk->model && !disk->cov) || fb_iosched_is_active(sched))
		return;
	sdev = fb_disk_sdev(disk);
	busy = sdev ? scsi_device_busy(sdev) : 0;
	known = min(busy, sched->engine.nr_flight + own + READ_ONCE(disk->idle.asking));
	if (busy == known && !sched->nr_unseen)
		return;
	if (busy - known > sched->nr_unseen) {
		fb_iosched_arrived(sched, NULL, true, ktime_get_ns());
		fb_engine_lose_head(&sched->engine);
		fb_idle_passed(disk);
	}
	sched->nr_unseen = busy - known;
	fb_iosched_note_activity(sched);
	/* it may be a query that does not wake a sleeping drive: not foreground activity */
	disk->fg.last_ns = last_ns;
	if (sched->nr_unseen && !hrtimer_is_queued(&sched->timer))
		hrtimer_start(&sched->timer, ns_to_ktime(ktime_get_ns() + FB_SCHED_LOOK_NS),
			      HRTIMER_MODE_ABS);
}

/* a command has left the engine's flight: so much for those who count by kinds of their own */
static void fb_iosched_uncount(struct fb_sched *sched, struct fb_sched_rq *fq)
{
	if (fq->r.cmd.cause == FB_CAUSE_IDLE)
		fb_idle_wake(sched->disk);
	sched->others.flying -= fq->r.background;
}

/* Where discards and the like leave the head is not known. Ours may change (disk/verify.c). */
static void fb_iosched_describe(struct fb_sched_rq *fq)
{
	enum req_op op = req_op(fq->rq);

	fq->r.media = fq->r.ours || op == REQ_OP_READ || op == REQ_OP_WRITE;
	fq->r.fg.write = op_is_write(op);
	fq->r.cacheable = !fq->r.ours && op == REQ_OP_WRITE && !(fq->rq->cmd_flags & REQ_FUA);
}

static void fb_iosched_insert_one(struct fb_sched *sched, struct request *rq, bool at_head,
				  struct list_head *free)
{
	struct fb_sched_rq *fq = fb_sched_rq(rq);
	bool again = fq && fq->state == FB_SCHED_REQUEUED, background;
	u64 now = ktime_get_ns();

	lockdep_assert_held(&sched->disk->lock);
	if (fq)
		fb_iosched_describe(fq);
	/* its insertion is traced when it is aimed, if it ever is */
	if (fq && fb_free_read_is_ours(rq->bio) && fb_free_read_hold(sched->disk, rq)) {
		fq->r.ours = true;
		return;
	}
	if (again) {
		fb_engine_off_flight(&sched->engine, &fq->r, now);
		fb_iosched_uncount(sched, fq);
		fq->state = FB_SCHED_NEW;
		at_head = true;
	}
	background = fq && !at_head && fb_background_recognise(fq);
	if (!at_head && !background && blk_mq_sched_try_insert_merge(sched->q, rq, free))
		return;
	trace_block_rq_insert(rq);
	if (!fq)
		sched->disk->stats.untracked++;
	/* what comes again was counted when it came first, and may be a read of ours */
	if (!again && !background && (fq || rq->rq_flags & FB_COMPAT_PREPARED))
		fb_iosched_arrived(sched, fq, at_head, now);
	if (!again && !background && fq && fq->r.media) {
		fb_trial_arrived(&sched->disk->measure.cost.trial, fq->r.fg.write, now);
		fq->measured_ns = now;
	}
	if (!again && !background && fq)
		fb_destage_arrived(&sched->disk->destage, op_is_write(req_op(rq)));
	if (!fq || at_head) {
		list_add(&rq->queuelist, &sched->bypass);
		return;
	}
	fb_pool_add(sched, fq, now);
	fb_iosched_note_activity(sched);
	if (!background)
		fb_engine_offer(&sched->engine, &fq->r, now);
}

static void fb_iosched_insert_requests(struct blk_mq_hw_ctx *hctx, struct list_head *list,
				       bool at_head)
{
	struct fb_sched *sched = hctx->queue->elevator->elevator_data;
	struct request *rq, *next;
	unsigned long flags;
	LIST_HEAD(free);

	/* a plug may have dozens: interrupts are let in after each */
	list_for_each_entry_safe(rq, next, list, queuelist) {
		list_del_init(&rq->queuelist);
		spin_lock_irqsave(&sched->disk->lock, flags);
		fb_iosched_insert_one(sched, rq, at_head, &free);
		/* a write may have come; blk-mq runs the queue when this returns */
		if (list_empty(list))
			fb_host_decide(sched);
		spin_unlock_irqrestore(&sched->disk->lock, flags);
	}

	list_for_each_entry_safe(rq, next, &free, queuelist) {
		list_del_init(&rq->queuelist);
		blk_mq_free_request(rq);
	}
}

/* ---- sending ---- */

/* A read of ours was sent: it is discarded if a write in flight overlaps it. */
static void fb_iosched_check_writes(struct fb_sched *sched)
{
	struct fb_sched_rq *fq;

	list_for_each_entry(fq, &sched->engine.flight, r.flight)
		if (fq->r.cmd.write)
			fb_free_read_overlap(sched->disk, fq->r.cmd.lbn, fq->r.cmd.nsect);
	/* one without a struct fb_sched_rq may be a write to any place */
	if (sched->engine.nr_untracked)
		fb_free_read_overlap(sched->disk, 0, sched->disk->sectors);
}

/* what the kernel has to do for a command that the engine has sent */
static struct request *fb_iosched_sent(struct fb_sched *sched, struct fb_sched_rq *fq, u64 now)
{
	struct fb_disk *disk = sched->disk;
	struct request *rq = fq->rq;

	lockdep_assert_held(&disk->lock);
	fq->state = FB_SCHED_SENT;
	fb_background_note_sent(sched, fq, now);
	if (fq->r.fg.write)
		fb_free_read_overlap(disk, fq->r.cmd.lbn, fq->r.cmd.nsect);
	rq->rq_flags |= RQF_STARTED;
	fb_iosched_note_activity(sched);
	if (fb_free_read_is_ours(rq->bio)) {
		fq->own = fq->r.cmd.cause != FB_CAUSE_PREPEND;
		fb_iosched_check_writes(sched);
		fb_free_read_begun(rq->bio->bi_private, now);
		fb_verify_apply(rq->bio->bi_private, rq);
	}
	return rq;
}

static struct request *fb_iosched_send(struct fb_sched *sched, struct fb_sched_rq *fq,
				       enum fb_cause cause, u64 now)
{
	const struct fb_engine_send d = {
		.cause = cause,
		.lbn = blk_rq_pos(fq->rq),
		.nsect = blk_rq_sectors(fq->rq),
	};

	fb_engine_send(&sched->engine, &fq->r, &d, now);
	return fb_iosched_sent(sched, fq, now);
}

static struct request *fb_iosched_send_background(struct fb_sched *sched)
{
	u64 now = ktime_get_ns();
	struct fb_sched_rq *fq = fb_background_take(sched, now);
	struct request *rq;

	if (!fq)
		return NULL;
	fb_pool_del(sched, fq);
	rq = fb_iosched_send(sched, fq, FB_CAUSE_PLAIN, now);
	if (sched->engine.pool.count)
		fb_engine_choose_again(&sched->engine, now);
	return rq;
}

/* without a struct fb_sched_rq it cannot be followed: no free reads until it completes */
static void fb_iosched_send_untracked(struct fb_sched *sched, struct request *rq)
{
	if (op_is_write(req_op(rq)))
		fb_free_read_overlap(sched->disk, blk_rq_pos(rq), blk_rq_sectors(rq));
	if (rq->rq_flags & FB_COMPAT_PREPARED && !rq->elv.priv[1]) {
		rq->elv.priv[1] = sched;
		sched->engine.nr_untracked++;
	}
	fb_background_note_foreground(sched);
	rq->rq_flags |= RQF_STARTED;
	fb_gap_void(&sched->disk->mail);
}

static bool fb_iosched_idle_is_due(const struct fb_sched *sched)
{
	return fb_engine_idle_is_due(&sched->engine) && !sched->disk->fg.active &&
	       !sched->others.count && !fb_level_unserved(sched->disk);
}

static struct request *fb_iosched_send_idle(struct fb_sched *sched)
{
	struct fb_idle_reader *reader = &sched->disk->idle.reader;
	u64 now = ktime_get_ns();
	struct request *rq;

	if (!fb_iosched_idle_is_due(sched))
		return NULL;
	/* first, so that what comes meanwhile is seen as busy, or counted later, if not both */
	sched->disk->idle.commands = fb_free_read_commands(sched->disk);
	smp_rmb();	/* a command is busy before it is counted */
	/* the request being dispatched is already in the device's busy count */
	fb_iosched_look(sched, 1);
	if (!reader->ready)
		return NULL;
	reader->ready = false;
	rq = fb_free_read_send(sched->disk, reader->piece.lbn, reader->piece.nsect,
			       FB_FREE_READ_IDLE);
	if (!rq)
		return NULL;
	fb_engine_send_idle(&sched->engine, &fb_sched_rq(rq)->r, now);
	fb_idle_sent(sched->disk);
	return fb_iosched_sent(sched, fb_sched_rq(rq), now);
}

static struct request *fb_iosched_send_bypass(struct fb_sched *sched)
{
	struct request *rq = list_first_entry_or_null(&sched->bypass, struct request, queuelist);
	struct fb_sched_rq *fq;
	u64 now = ktime_get_ns();

	if (!rq)
		return NULL;
	fq = fb_sched_rq(rq);
	if (fq && fb_engine_is_full(&sched->engine))
		return NULL;
	list_del_init(&rq->queuelist);
	fb_engine_lose_head(&sched->engine);
	fb_engine_drop_plan(&sched->engine);
	/* a requeued command keeps its cause */
	if (fq)
		fb_iosched_send(sched, fq, fq->r.cmd.cause, now);
	else
		fb_iosched_send_untracked(sched, rq);
	if (!sched->engine.pinned)
		fb_engine_choose_again(&sched->engine, now);
	return rq;
}

static struct request *fb_iosched_dispatch_request(struct blk_mq_hw_ctx *hctx)
{
	struct fb_sched *sched = hctx->queue->elevator->elevator_data;
	struct fb_engine_send d;
	struct fb_engine_rq *r;
	struct request *rq;
	unsigned long flags;
	bool back;
	u64 now;

	spin_lock_irqsave(&sched->disk->lock, flags);
	rq = fb_iosched_send_bypass(sched);
	if (!rq && unlikely(sched->others.count))
		rq = fb_iosched_send_background(sched);
	if (!rq) {
		now = ktime_get_ns();
		r = fb_engine_next(&sched->engine, &d, now);
		rq = r ? fb_iosched_sent(sched, fb_sched_rq_of(r), now) : NULL;
	}
	if (!rq)
		rq = fb_iosched_send_idle(sched);
	sched->disk->idle.sent += !!rq;
	back = fb_free_read_is_awaited(sched->disk);
	spin_unlock_irqrestore(&sched->disk->lock, flags);
	if (back)
		fb_free_read_return(sched->disk);
	return rq;
}

/*
 * There is no work while fb_engine.depth is reached or the second command is held back: a
 * completion and the timer run the queue again. This comes last before a queue falls asleep, so
 * what bypasses the scheduler is looked for, and a background read's wait is timed, here.
 */
static bool fb_iosched_has_work(struct blk_mq_hw_ctx *hctx)
{
	struct fb_sched *sched = hctx->queue->elevator->elevator_data;
	bool work;

	guard(spinlock_irqsave)(&sched->disk->lock);
	if (!sched->disk->idle.reader.ready)
		fb_iosched_look(sched, 0);
	work = fb_engine_has_work(&sched->engine, ktime_get_ns());
	if (unlikely(sched->others.count))
		work |= fb_background_is_due(sched);
	if (!list_empty(&sched->bypass))
		work = !fb_engine_is_full(&sched->engine) ||
		       !fb_sched_rq(list_first_entry(&sched->bypass, struct request, queuelist));
	work = work || fb_iosched_idle_is_due(sched) || fb_free_read_is_awaited(sched->disk);
	return work;
}

static enum hrtimer_restart fb_iosched_timer(struct hrtimer *timer)
{
	struct fb_sched *sched = container_of(timer, struct fb_sched, timer);

	scoped_guard(spinlock_irqsave, &sched->disk->lock) {
		/* the window may have been opened again while we waited for the lock */
		if (ktime_get_ns() >= sched->engine.window_ns)
			sched->engine.window_ns = 0;
	}
	blk_mq_run_hw_queues(sched->q, true);
	return HRTIMER_NORESTART;
}

/* ---- completion ---- */

static void fb_iosched_measure_end(struct fb_sched *sched, struct fb_sched_rq *fq, u64 now)
{
	if (fq->measured_ns)
		fb_trial_ended(&sched->disk->measure.cost.trial, fq->r.fg.write,
			       now - fq->measured_ns, now);
	fq->measured_ns = 0;
}

static void fb_iosched_count_latency(struct fb_stats *stats, enum fb_latency kind, u64 ns)
{
	u32 octave;

	ns = clamp(ns, BIT_ULL(FB_LATENCY_LOW),
		   BIT_ULL(FB_LATENCY_LOW + FB_LATENCY_BUCKETS / 4) - 1);
	octave = ilog2(ns);
	stats->fg_latency[kind][4 * (octave - FB_LATENCY_LOW) + (ns >> (octave - 2)) % 4]++;
}

/* one that a flush comes before or after ends twice: the first time in the flush's sequence */
static bool fb_iosched_is_fua(const struct request *rq)
{
	return req_op(rq) == REQ_OP_WRITE && rq->cmd_flags & REQ_FUA &&
	       !(rq->rq_flags & RQF_FLUSH_SEQ);
}

/* what the foreground waits: the block layer's own counts have our reads in them, too */
static void fb_iosched_note_latency(struct fb_stats *stats, const struct fb_sched_rq *fq, u64 now)
{
	const struct request *rq = fq->rq;
	u64 took_ns = now - rq->start_time_ns;
	bool write = req_op(rq) == REQ_OP_WRITE;

	stats->fg_requests++;
	if (!write && req_op(rq) != REQ_OP_READ)
		return;
	stats->fg_sectors[write] += fq->r.fg.nsect;
	fb_iosched_count_latency(stats, write ? FB_LATENCY_WRITE : FB_LATENCY_READ, took_ns);
	stats->fg_ended[write]++;
	stats->fg_ns[write] += took_ns;
}

/* Return: true if the queue should be run. */
static bool fb_iosched_complete(struct fb_sched *sched, struct fb_sched_rq *fq, u64 now)
{
	struct fb_engine *e = &sched->engine;
	bool failed = fb_verify_failed(fq->rq);
	bool overtaken = fb_engine_landed(e, &fq->r, failed, now);

	lockdep_assert_held(&sched->disk->lock);
	fb_iosched_uncount(sched, fq);
	fq->state = FB_SCHED_DONE;
	sched->disk->fg.end_ns = now;
	fb_iosched_measure_end(sched, fq, now);
	if (fb_engine_is_foreground(&fq->r)) {
		sched->others.fg_end_ns = now;
		fb_policy_ended(&e->pool, !e->pool.count && !e->nr_flight);
		if (!fq->own)
			fb_iosched_note_latency(&sched->disk->stats, fq, now);
		if (fq->r.fg.arrived_ns)
			fb_engine_served(e, &fq->r, now);
	}
	fb_iosched_note_activity(sched);
	return fb_engine_judge(e, &fq->r, overtaken, now) || !list_empty(&sched->bypass);
}

static void fb_iosched_completed_request(struct request *rq, u64 now)
{
	struct fb_sched *sched = rq->q->elevator->elevator_data;
	struct fb_sched_rq *fq = fb_sched_rq(rq);
	unsigned long flags;
	bool run = false;

	if (fq)
		fb_verify_restore(rq);
	spin_lock_irqsave(&sched->disk->lock, flags);
	if (fq && fq->state == FB_SCHED_SENT)
		run = fb_iosched_complete(sched, fq, now);
	if (fb_iosched_is_fua(rq))
		fb_iosched_count_latency(&sched->disk->stats, FB_LATENCY_FUA,
					 now - rq->start_time_ns);
	if (fq && (fq->r.ours || fq->prepended))
		fb_verify_judge(sched->disk, rq, fq->r.cmd.observed ? &fq->r.cmd.verdict : NULL);
	fb_iosched_look(sched, 0);
	run |= fb_host_decide(sched);
	spin_unlock_irqrestore(&sched->disk->lock, flags);
	if (run)
		blk_mq_run_hw_queues(sched->q, true);
}

/* the driver returned @rq; it counts as in flight until it is inserted again or completes */
static void fb_iosched_requeue_request(struct request *rq)
{
	struct fb_sched *sched = rq->q->elevator->elevator_data;
	struct fb_sched_rq *fq = fb_sched_rq(rq);

	if (fq && fq->prepended)
		fb_verify_split(sched->disk, rq);
	guard(spinlock_irqsave)(&sched->disk->lock);
	/* a time-out may have reset the device: no anchor for a second */
	if (sched->disk->model && time_after_eq(jiffies, READ_ONCE(rq->deadline)))
		fb_head_reset(&sched->engine.head, ktime_get_ns() + NSEC_PER_SEC);
	else
		fb_head_lose(&sched->engine.head);
	fb_recovery_requeued(sched->disk, rq);
	fb_gap_void(&sched->disk->mail);
	fb_engine_drop_plan(&sched->engine);
	if (fq && fq->state == FB_SCHED_SENT) {
		fq->r.cmd.start_ns = 0;
		fq->state = FB_SCHED_REQUEUED;
	}
}

/* ---- struct fb_sched_rq ---- */

/*
 * An array for each set of scheduler tags, by request.internal_tag, without locks: a slot is its
 * request's from prepare_request() to finish_request(); arrays are replaced with the queue frozen.
 */

/* Hardware queues that share their tags share the first one's array. */
static struct fb_slots *fb_iosched_slots(struct fb_sched *sched, const struct blk_mq_hw_ctx *hctx)
{
	return &sched->slots[hctx->flags & BLK_MQ_F_TAG_HCTX_SHARED ? 0 : hctx->queue_num];
}

static int fb_iosched_alloc(struct fb_sched *sched, const struct blk_mq_hw_ctx *hctx)
{
	struct fb_slots *slots = fb_iosched_slots(sched, hctx);
	u32 n = fb_compat_sched_tags(hctx);
	struct fb_sched_rq *rq;

	if (n == slots->n)
		return 0;
	scoped_guard(fb_noio, current)
		rq = kvzalloc_node(array_size(n, sizeof(*rq)), GFP_KERNEL, hctx->numa_node);
	if (!rq)
		return -ENOMEM;
	kvfree(slots->rq);
	slots->rq = rq;
	slots->n = n;
	return 0;
}

static void fb_iosched_free_all(struct fb_sched *sched)
{
	u32 i;

	for (i = 0; i < sched->nr_slots; i++) {
		kvfree(sched->slots[i].rq);
		sched->slots[i] = (struct fb_slots) { };
	}
}

/* With fb_sched.nr_slots set; may sleep. Return: 0 or -ENOMEM, then without any slots. */
static int fb_iosched_alloc_all(struct fb_sched *sched)
{
	struct blk_mq_hw_ctx *hctx;
	unsigned long i;

	queue_for_each_hw_ctx(sched->q, hctx, i) {
		if (!fb_iosched_alloc(sched, hctx))
			continue;
		fb_iosched_free_all(sched);
		return -ENOMEM;
	}
	return 0;
}

/* The slot of a request that has just got its tag, empty but for @rq; NULL: there is none. */
static struct fb_sched_rq *fb_iosched_take(struct fb_sched *sched, struct request *rq)
{
	const struct fb_slots *slots = fb_iosched_slots(sched, rq->mq_hctx);
	struct fb_sched_rq *fq;

	if (unlikely((u32)rq->internal_tag >= slots->n))
		return NULL;
	fq = &slots->rq[rq->internal_tag];
	/* two requests with one tag: these are not the tags that the array was made for */
	if (WARN_ON_ONCE(fq->rq))
		return NULL;
	memset(fq, 0, sizeof(*fq));
	fq->rq = rq;
	return fq;
}

static void fb_iosched_prepare_request(struct request *rq)
{
	struct fb_sched_rq *fq = fb_iosched_take(rq->q->elevator->elevator_data, rq);

	/* without it the request is sent at once, and counted in fb_stats.untracked */
	rq->elv.priv[0] = fq;
	rq->elv.priv[1] = NULL;
	if (!fq)
		return;
	fq->idle = fb_background_submitter_is_idle();
	INIT_LIST_HEAD(&fq->r.flight);
	INIT_LIST_HEAD(&fq->r.fg.node);
}

static void fb_iosched_finish_untracked(struct fb_sched *sched, struct request *rq)
{
	if (!rq->elv.priv[1])
		return;
	scoped_guard(spinlock_irqsave, &sched->disk->lock) {
		sched->engine.nr_untracked--;
		fb_iosched_note_activity(sched);
	}
	rq->elv.priv[1] = NULL;
	blk_mq_run_hw_queues(sched->q, true);
}

static void fb_iosched_finish_request(struct request *rq)
{
	struct fb_sched *sched = rq->q->elevator->elevator_data;
	struct fb_sched_rq *fq = fb_sched_rq(rq);
	unsigned long flags;
	bool run;

	if (!fq) {
		fb_iosched_finish_untracked(sched, rq);
		return;
	}
	/* a VERIFY, in flight, or requeued past the scheduler */
	if (fb_compat_is_unaccounted(rq)) {
		fb_iosched_completed_request(rq, ktime_get_ns());
		fb_compat_account_read(rq, ktime_get_ns());
	}
	spin_lock_irqsave(&sched->disk->lock, flags);
	WARN_ON_ONCE(fq->state == FB_SCHED_POOLED);
	fb_iosched_measure_end(sched, fq, ktime_get_ns());
	/* no completed_request(), or a requeue that bypassed the scheduler before it completed */
	run = fq->state == FB_SCHED_SENT || fq->state == FB_SCHED_REQUEUED;
	if (run) {
		fb_engine_off_flight(&sched->engine, &fq->r, ktime_get_ns());
		fb_iosched_uncount(sched, fq);
		fb_head_lose(&sched->engine.head);
		fb_iosched_note_activity(sched);
	}
	if (fq->r.ours || fq->prepended)
		fb_verify_judge(sched->disk, rq, NULL);
	spin_unlock_irqrestore(&sched->disk->lock, flags);
	rq->elv.priv[0] = NULL;
	fq->rq = NULL;
	if (run)
		blk_mq_run_hw_queues(sched->q, true);
}

/* ---- life cycle ---- */

static void fb_iosched_use_model(struct fb_sched *sched, struct fb_disk *disk)
{
	lockdep_assert_held(&disk->lock);
	fb_sched_set_disk(sched, disk);
	/* the learnt conservatism needs a target above 0 */
	disk->conservatism.target_ppm = max(sched->target_ppm, 1U);
	fb_engine_set_model(&sched->engine, disk->model, ktime_get_ns());
}

/* the model was replaced, or is used now or no longer; fb_disk_attach() need not have returned */
static void fb_iosched_model_changed(struct fb_disk *disk)
{
	fb_iosched_use_model(disk->sched, disk);
	/* without a model the drive gets all requests, whoever orders */
	fb_host_run_soon(disk);
}

/* the thread asks for a gap: one step towards it */
static bool fb_iosched_next_gap(struct fb_disk *disk)
{
	struct fb_sched *sched = disk->sched;

	lockdep_assert_held(&disk->lock);
	return fb_round_next(&sched->engine, ktime_get_ns());
}

static const struct fb_disk_sched_ops fb_iosched_disk_ops = {
	.model_changed = fb_iosched_model_changed,
	.wants_changed = fb_host_wants_changed,
	.next_gap = fb_iosched_next_gap,
	.run_soon = fb_host_run_soon,
};

/* a tunable: it may be one that keeps requests from being sent */
static void fb_iosched_changed(struct fb_sched *sched)
{
	lockdep_assert_held(&sched->disk->lock);
	sched->disk->conservatism.target_ppm = max(sched->target_ppm, 1U);
	fb_engine_changed(&sched->engine, ktime_get_ns());
	fb_host_run_soon(sched->disk);
}

static void fb_iosched_init(struct fb_sched *sched, struct request_queue *q)
{
	sched->q = q;
	sched->changed = fb_iosched_changed;
	INIT_LIST_HEAD(&sched->bypass);
	fb_background_init(sched);
	fb_compat_timer_setup(&sched->timer, fb_iosched_timer, HRTIMER_MODE_ABS);
	sched->engine.pool.sw_percent = 60;	/* SPTF-SW60%: the paper's choice (5.2) */
	/* twice this speeds up a whole scan no further, half costs 3 % */
	sched->engine.search_ns = 100 * NSEC_PER_USEC;
	sched->target_ppm = FB_CONSERVATISM_TARGET_PPM;
	/* as mq-deadline */
	sched->expire_ns[READ] = 500 * NSEC_PER_MSEC;
	sched->expire_ns[WRITE] = 5 * (u64)NSEC_PER_SEC;
}

static int fb_iosched_init_sched(struct request_queue *q, struct elevator_queue *eq)
{
	struct fb_sched *sched;
	struct fb_disk *disk;

	guard(fb_noio)(current);
	sched = kzalloc_node(struct_size(sched, slots, q->nr_hw_queues), GFP_KERNEL, q->node);
	if (!sched)
		return -ENOMEM;
	sched->nr_slots = q->nr_hw_queues;
	if (fb_host_init(sched))
		goto free_sched;
	fb_iosched_init(sched, q);
	if (fb_iosched_alloc_all(sched))
		goto free_host;
	disk = fb_disk_attach(q, sched, &sched->engine.head, &fb_iosched_disk_ops);
	if (!disk)
		goto free_slots;
	scoped_guard(spinlock_irq, &disk->lock)
		fb_iosched_use_model(sched, disk);
	eq->elevator_data = sched;
	/* one order for the queue, however many hardware queues it has */
	blk_queue_flag_set(QUEUE_FLAG_SQ_SCHED, q);
	return 0;

free_slots:
	fb_iosched_free_all(sched);
free_host:
	fb_host_exit(sched);
free_sched:
	kfree(sched);
	return -ENOMEM;
}

static int fb_iosched_init_hctx(struct blk_mq_hw_ctx *hctx, unsigned int idx)
{
	struct fb_sched *sched = hctx->queue->elevator->elevator_data;

	sched->others.depth = fb_compat_half_depth(hctx);
	return 0;
}

static void fb_iosched_depth_updated(struct blk_mq_hw_ctx *hctx)
{
	struct fb_sched *sched = hctx->queue->elevator->elevator_data;
	char name[FB_NAME_LEN];

	sched->others.depth = fb_compat_half_depth(hctx);
	/* without memory the slots stay, and greater tags get none */
	if (!fb_iosched_alloc(sched, hctx))
		return;
	fb_disk_copy_name(sched->disk, name, sizeof(name));
	pr_warn("freeblock: %s: no memory to schedule all requests of the queue: those beyond %u are sent at once\n",
		name, fb_iosched_slots(sched, hctx)->n);
}

FB_COMPAT_INIT_SCHED(fb_iosched_init_sched)
FB_COMPAT_INSERT_REQUESTS(fb_iosched_insert_requests)
FB_COMPAT_DEPTH_UPDATED(fb_iosched_depth_updated)

static void fb_iosched_exit_sched(struct elevator_queue *eq)
{
	struct fb_sched *sched = eq->elevator_data;

	/* nobody starts the timers any more */
	fb_disk_detach(sched->disk);
	hrtimer_cancel(&sched->order_timer);
	hrtimer_cancel(&sched->timer);
	WARN_ON_ONCE(sched->engine.pool.count || sched->others.count || sched->others.flying);
	WARN_ON_ONCE(sched->engine.nr_flight);
	WARN_ON_ONCE(!list_empty(&sched->bypass));
	fb_disk_put(sched->disk);
	fb_iosched_free_all(sched);
	fb_host_exit(sched);
	kfree(sched);
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
