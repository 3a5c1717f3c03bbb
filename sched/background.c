// SPDX-License-Identifier: GPL-2.0
/*
 * Other people's background reads: reads of the idle I/O class (btrfs scrub, backups under
 * ionice, an md check whose thread has that class). They wait in a pool of their own and are sent
 *
 * - one at a time while there is no foreground at all and has not been for a while (the
 *   Waiting policy of "Practical Scrubbing", DSN 2012, section IV);
 * - like a foreground read before they are older than background_expire.
 *
 * Who waits for such a read although he is not idle himself (a page that an idle process
 * reads, a lock held meanwhile) waits as long: the age bounds it. Reads of metadata are
 * therefore left in the foreground.
 *
 * Calls: sched/choice.c and core/policy.c when a read joins the foreground, disk/idle.c.
 * Locks: fb_disk.lock, held by every caller but where said; the table is in disk/disk.h.
 */
#include <linux/hash.h>
#include <linux/ioprio.h>
#include <linux/sched.h>

#include "sched/sched.h"

static const u64 fb_background_expire_ns = 5 * (u64)NSEC_PER_SEC;
static const u64 fb_background_wait_ns = NSEC_PER_MSEC;
/* they are not merged to more than this: 128 KiB, half a millisecond of a track */
static const u32 fb_background_sectors = 256;
/* what follows the last one is preferred to the oldest for this part of the greatest age */
static const u32 fb_background_fair = 4;

/**
 * fb_background_init() - nothing there yet, and the defaults
 * @fs: the scheduler
 */
void fb_background_init(struct fb_sched *fs)
{
	INIT_LIST_HEAD(&fs->others.reqs);
	fs->others.expire_ns = fb_background_expire_ns;
	fs->others.wait_ns = fb_background_wait_ns;
}

/**
 * fb_background_depth_updated() - a hardware queue has another number of requests
 * @hctx: it
 *
 * Context: by blk-mq, the queue frozen.
 */
void fb_background_depth_updated(struct blk_mq_hw_ctx *hctx)
{
	struct fb_sched *fs = hctx->queue->elevator->elevator_data;

	fs->others.depth = fb_compat_half_depth(hctx);
}

/**
 * fb_background_init_hctx() - a hardware queue gets the scheduler
 * @hctx: it
 * @idx: its number
 *
 * Context: by blk-mq, the queue frozen.
 *
 * Return: 0.
 */
int fb_background_init_hctx(struct blk_mq_hw_ctx *hctx, unsigned int idx)
{
	fb_background_depth_updated(hctx);
	return 0;
}

static struct task_struct **fb_background_submitter(struct fb_sched *fs)
{
	return &fs->others.submitter[hash_ptr(current, FB_BACKGROUND_SUBMITTER_BITS)];
}

/**
 * fb_background_note_bio() - a task has a bio, for which a request may have to be allocated
 * @fs: the scheduler
 * @bio: the bio
 *
 * A bio may have been given the class by itself. Where its request is allocated only the task
 * can be asked (fb_background_limit_depth()), but here, just before, there is the bio. Two tasks
 * that share a place may miss a limit now and then.
 *
 * Context: by blk-mq, in the submitter's context, without locks.
 */
void fb_background_note_bio(struct fb_sched *fs, const struct bio *bio)
{
	struct task_struct **place = fb_background_submitter(fs);

	if (IOPRIO_PRIO_CLASS(bio->bi_ioprio) == IOPRIO_CLASS_IDLE)
		WRITE_ONCE(*place, current);
	else if (READ_ONCE(*place) == current)
		WRITE_ONCE(*place, NULL);
}

/**
 * fb_background_limit_depth() - how many of a queue's requests there may be for this one to be
 * allocated
 * @opf: what it is to be
 * @data: in: the queue; out: the depth
 *
 * Reads of the idle class wait for long: they may be half of them, or the foreground would
 * have none.
 *
 * Context: by blk-mq, in the submitter's context, without locks.
 */
void fb_background_limit_depth(blk_opf_t opf, struct blk_mq_alloc_data *data)
{
	struct fb_sched *fs = data->q->elevator->elevator_data;

	if ((opf & REQ_OP_MASK) == REQ_OP_READ &&
	    (IOPRIO_PRIO_CLASS(get_current_ioprio()) == IOPRIO_CLASS_IDLE ||
	     READ_ONCE(*fb_background_submitter(fs)) == current))
		fb_compat_set_depth(data, fs->others.depth);
}

/**
 * fb_background_allow_merge() - may a bio be merged into a request?
 * @q: their queue
 * @rq: the request
 * @bio: the bio
 *
 * The foreground waits for one command: short ones cost it less, and behind each other they
 * are as fast, for the drive reads ahead.
 *
 * Context: by blk-mq, fb_disk.lock held.
 *
 * Return: false: a background read would become too long.
 */
bool fb_background_allow_merge(struct request_queue *q, struct request *rq, struct bio *bio)
{
	const struct fb_sched_rq *fq = fb_sched_rq(rq);

	return !fq || !fq->background || blk_rq_sectors(rq) + bio_sectors(bio) <=
		fb_background_sectors;
}

/* ---- which they are ---- */

/**
 * fb_background_submitter_is_idle() - is a request allocated for a kernel thread of the idle class?
 *
 * md submits past the place where a bio takes the class of its task, so an ionice of
 * mdX_resync would be lost. The thread's name would not do: a check, a resync and a recovery
 * have the same, and on the disks they read from they look the same as well. For what
 * other tasks submit the bio knows best: its class may be set for each request.
 *
 * Context: the submitter's; without locks.
 *
 * Return: true if so.
 */
bool fb_background_submitter_is_idle(void)
{
	return current->flags & PF_KTHREAD &&
	       IOPRIO_PRIO_CLASS(get_current_ioprio()) == IOPRIO_CLASS_IDLE;
}

/**
 * fb_background_recognise() - is a request that is inserted one of them?
 * @fq: the request; its idle and background are set
 *
 * Those recognised by their thread get the class, too: requests of different classes are
 * not merged.
 *
 * Context: fb_disk.lock held.
 *
 * Return: true if so.
 */
bool fb_background_recognise(struct fb_sched_rq *fq)
{
	struct request *rq = fq->rq;

	if (IOPRIO_PRIO_CLASS(req_get_ioprio(rq)) == IOPRIO_CLASS_IDLE)
		fq->idle = true;
	if (likely(!fq->idle))
		return false;
	fb_compat_set_ioprio(rq, IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0));
	fq->background = req_op(rq) == REQ_OP_READ &&
			 !(rq->cmd_flags & (REQ_META | REQ_PRIO | REQ_POLLED));
	return fq->background;
}

/* ---- their pool ---- */

/**
 * fb_background_add() - one has come
 * @fs: the scheduler, its disk locked
 * @fq: it, recognised, in no pool
 *
 * Context: fb_disk.lock held.
 */
void fb_background_add(struct fb_sched *fs, struct fb_sched_rq *fq)
{
	lockdep_assert_held(&fs->fd->lock);
	fq->since_ns = fq->fg.arrived_ns;
	list_add_tail(&fq->fg.node, &fs->others.reqs);
	fs->others.count++;
}

/**
 * fb_background_del() - one leaves the pool: sent, merged away, or of the foreground now
 * @fs: the scheduler, its disk locked
 * @fq: in the pool
 *
 * Context: fb_disk.lock held.
 */
void fb_background_del(struct fb_sched *fs, struct fb_sched_rq *fq)
{
	lockdep_assert_held(&fs->fd->lock);
	list_del_init(&fq->fg.node);
	fs->others.count--;
}

/**
 * fb_background_merged() - one has grown by another request, which was pooled, too
 * @fs: the scheduler, its disk locked
 * @fq: the one that stays, pooled
 * @gone: the other, still pooled
 *
 * The age is that of the older one; the pool stays ordered by it.
 *
 * Context: fb_disk.lock held.
 */
void fb_background_merged(struct fb_sched *fs, struct fb_sched_rq *fq, struct fb_sched_rq *gone)
{
	lockdep_assert_held(&fs->fd->lock);
	if (!fq->background || gone->since_ns >= fq->since_ns)
		return;
	fq->since_ns = gone->since_ns;
	if (gone->background)
		list_move(&fq->fg.node, &gone->fg.node);
	else
		list_move(&fq->fg.node, &fs->others.reqs);
}

static struct fb_sched_rq *fb_background_oldest(struct fb_sched *fs)
{
	return list_first_entry_or_null(&fs->others.reqs, struct fb_sched_rq, fg.node);
}

/* the oldest, if it is to join the foreground */
static struct fb_sched_rq *fb_background_expired(struct fb_sched *fs, u64 now)
{
	u64 early_ns = min(fs->expire_ns[READ], fs->others.expire_ns / 2);
	struct fb_sched_rq *fq = fb_background_oldest(fs);

	if (!fq)
		return NULL;
	if (fq->since_ns + fs->others.expire_ns <= now + early_ns ||
	    percpu_ref_is_dying(&fs->q->q_usage_counter))
		return fq;
	return NULL;
}

/**
 * fb_background_expire() - those that have waited for long are foreground from now on
 * @fs: the scheduler, its disk locked
 *
 * That is somewhat before their greatest age, so that the policy can find them a good place;
 * at the greatest age the deadline puts them before all others. At a queue freeze nobody
 * comes any more, and who freezes is waiting: then all of them.
 *
 * Context: fb_disk.lock held.
 *
 * Return: true if the foreground has got one: the caller chooses anew.
 */
bool fb_background_expire(struct fb_sched *fs)
{
	u64 now = ktime_get_ns();
	struct fb_sched_rq *fq;
	bool some = false;

	lockdep_assert_held(&fs->fd->lock);
	while ((fq = fb_background_expired(fs, now))) {
		fb_background_del(fs, fq);
		elv_rb_del(fb_sched_sort(fs, fq), fq->rq);
		fq->background = false;
		fq->fg.class = FB_POLICY_BE;
		elv_rb_add(fb_sched_sort(fs, fq), fq->rq);
		fq->fg.arrived_ns = now;
		fq->fg.deadline_ns = min(fq->since_ns + fs->others.expire_ns,
					 now + fs->expire_ns[READ]);
		fb_choice_place(fs, fq);
		fb_policy_pool_add(&fs->pool, &fq->fg);
		fs->fd->stats.others_expired++;
		some = true;
	}
	if (some) {
		fb_idle_arrive(fs->fd);
		fs->fd->fg.active = true;
	}
	return some;
}

/**
 * fb_background_note_sent() - one goes to the drive, from whichever pool
 * @fs: the scheduler, its disk locked
 * @fq: it
 * @now: the time
 *
 * Context: fb_disk.lock held.
 */
void fb_background_note_sent(struct fb_sched *fs, struct fb_sched_rq *fq, u64 now)
{
	struct fb_stats *st = &fs->fd->stats;

	lockdep_assert_held(&fs->fd->lock);
	st->others++;
	st->others_sectors += fq->cmd.nsect;
	st->others_max_age_ns = max(st->others_max_age_ns, now - fq->since_ns);
	fs->others.next_lbn = fq->cmd.lbn + fq->cmd.nsect;
	fs->others.flying += fq->background;
}

/* ---- when they go ---- */

/* no head to move away: as many at once as it takes, without a wait */
static bool fb_background_is_flash(const struct fb_sched *fs)
{
	return blk_queue_nonrot(fs->q);
}

/**
 * fb_background_pick_idle() - which one goes while there is no foreground, and when
 * @fs: the scheduler, its disk locked
 * @now: the time
 * @due_ns: out: not before; U64_MAX: there is foreground, or one of them at the drive, or none
 *
 * What follows the one before, which the drive may have read ahead even if it was called away
 * since; else, or once that has waited for a quarter of its time, the oldest. (What the wait
 * is to be for a given foreground "Practical Scrubbing" finds from a trace of it.)
 *
 * Context: fb_disk.lock held.
 *
 * Return: it, or NULL when @due_ns is U64_MAX.
 */
struct fb_sched_rq *fb_background_pick_idle(struct fb_sched *fs, u64 now, u64 *due_ns)
{
	struct fb_sched_rq *fq = fb_background_oldest(fs);
	struct request *next;

	lockdep_assert_held(&fs->fd->lock);
	*due_ns = U64_MAX;
	if (!fq || fs->pool.count || !list_empty(&fs->bypass) || fs->nr_untracked ||
	    fs->nr_flight > fs->others.flying || (fs->others.flying && !fb_background_is_flash(fs)))
		return NULL;
	*due_ns = fs->others.fg_end_ns + (fb_background_is_flash(fs) ? 0 : fs->others.wait_ns);
	if (now - fq->since_ns >= fs->others.expire_ns / fb_background_fair)
		return fq;
	next = elv_rb_find(&fs->sort[FB_POLICY_IDLE][READ], fs->others.next_lbn);
	return next ? fb_sched_rq(next) : fq;
}

/**
 * fb_background_is_due() - is it time for one of them?
 * @fs: the scheduler, its disk locked
 *
 * If it will be later, without anything else to happen first, the timer runs the queue then.
 *
 * Context: fb_disk.lock held.
 *
 * Return: true if one can be sent.
 */
bool fb_background_is_due(struct fb_sched *fs)
{
	u64 now = ktime_get_ns(), due_ns;

	if (fb_background_expired(fs, now))
		return fb_sched_is_hands_off(fs) || fs->nr_flight < fs->depth;
	if (!fb_background_pick_idle(fs, now, &due_ns))
		return false;
	if (now >= due_ns)
		return true;
	hrtimer_start(&fs->timer, ns_to_ktime(due_ns), HRTIMER_MODE_ABS);
	return false;
}
