// SPDX-License-Identifier: GPL-2.0
/*
 * Other people's background reads: reads of the idle I/O class (btrfs scrub, backups under
 * ionice, an md check whose thread is). They wait in a pool of their own and are sent
 *
 * - in a gap, when the arm can go there and still be at the foreground request in time:
 *   a separate free read that was not ours to choose (freeblock paper, 4.3);
 * - one at a time while there is no foreground at all and has not been for a while (the
 *   Waiting policy of "Practical Scrubbing", DSN 2012, section IV);
 * - like a foreground read before they are older than background_expire.
 *
 * Who waits for such a read although he is not idle himself (a page that an idle process
 * reads, a lock held meanwhile) waits as long: the age bounds it. Reads of metadata are
 * therefore left in the foreground.
 *
 * Locks: fb_disk.lock, held by every caller but where said; the table is in fb_disk.h.
 */
#include <linux/ioprio.h>
#include <linux/sched.h>

#include "fb_sched.h"

static const u64 fbk_expire_ns = 5 * (u64)NSEC_PER_SEC;
static const u64 fbk_wait_ns = NSEC_PER_MSEC;
/* so long after the last of them the drive may order as it likes again */
static const u64 fbk_memory_ns = NSEC_PER_SEC;
/* they are not merged to more than this: 128 KiB, half a millisecond of a track */
static const u32 fbk_sectors = 256;
/* the nearest is preferred to the oldest for this part of the greatest age */
static const u32 fbk_fair = 4;
/* of the time that the head takes to get there so many turns count at most */
static const u32 fbk_far = 4;
/* the foreground's order is reckoned with interrupts off: no more than so many, the oldest */
static const u32 fbk_look = 24;

/**
 * fbk_init() - nothing there yet, and the defaults
 * @fs: the scheduler
 */
void fbk_init(struct fbs *fs)
{
	INIT_LIST_HEAD(&fs->others.reqs);
	fs->others.expire_ns = fbk_expire_ns;
	fs->others.wait_ns = fbk_wait_ns;
}

/**
 * fbk_depth_updated() - a hardware queue has another number of requests
 * @hctx: it
 *
 * Context: by blk-mq, the queue frozen.
 */
void fbk_depth_updated(struct blk_mq_hw_ctx *hctx)
{
	struct fbs *fs = hctx->queue->elevator->elevator_data;

	fs->others.depth = fb_compat_half_depth(hctx);
}

/**
 * fbk_init_hctx() - a hardware queue gets the scheduler
 * @hctx: it
 * @idx: its number
 *
 * Context: by blk-mq, the queue frozen.
 *
 * Return: 0.
 */
int fbk_init_hctx(struct blk_mq_hw_ctx *hctx, unsigned int idx)
{
	fbk_depth_updated(hctx);
	return 0;
}

/**
 * fbk_limit_depth() - how many of a queue's requests there may be for this one to be allocated
 * @opf: what it is to be
 * @data: in: the queue; out: the depth
 *
 * Reads of the idle class wait for long: they may be half of them, or the foreground would
 * have none.
 *
 * Context: by blk-mq, in the submitter's context, without locks.
 */
void fbk_limit_depth(blk_opf_t opf, struct blk_mq_alloc_data *data)
{
	const struct fbs *fs = data->q->elevator->elevator_data;

	if ((opf & REQ_OP_MASK) == REQ_OP_READ &&
	    IOPRIO_PRIO_CLASS(get_current_ioprio()) == IOPRIO_CLASS_IDLE)
		fb_compat_set_depth(data, fs->others.depth);
}

/**
 * fbk_allow_merge() - may a bio be merged into a request?
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
bool fbk_allow_merge(struct request_queue *q, struct request *rq, struct bio *bio)
{
	const struct fbs_rq *fq = fbs_rq(rq);

	return !fq || !fq->background || blk_rq_sectors(rq) + bio_sectors(bio) <= fbk_sectors;
}

/* ---- which they are ---- */

/**
 * fbk_submitter_is_idle() - is a request allocated for a kernel thread of the idle class?
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
bool fbk_submitter_is_idle(void)
{
	return current->flags & PF_KTHREAD &&
	       IOPRIO_PRIO_CLASS(get_current_ioprio()) == IOPRIO_CLASS_IDLE;
}

/**
 * fbk_recognise() - is a request that is inserted one of them?
 * @fq: the request; its idle and background are set
 *
 * Those recognised by their thread get the class, too: requests of different classes are
 * not merged.
 *
 * Context: fb_disk.lock held.
 *
 * Return: true if so.
 */
bool fbk_recognise(struct fbs_rq *fq)
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
 * fbk_add() - one has come
 * @fs: the scheduler, its disk locked
 * @fq: it, recognised, in no pool
 *
 * Context: fb_disk.lock held.
 */
void fbk_add(struct fbs *fs, struct fbs_rq *fq)
{
	lockdep_assert_held(&fs->fd->lock);
	fq->since_ns = fq->fg.arrived_ns;
	list_add_tail(&fq->fg.node, &fs->others.reqs);
	fs->others.count++;
	fs->others.seen_ns = fq->since_ns;
}

/**
 * fbk_del() - one leaves the pool: sent, merged away, or of the foreground now
 * @fs: the scheduler, its disk locked
 * @fq: in the pool
 *
 * Context: fb_disk.lock held.
 */
void fbk_del(struct fbs *fs, struct fbs_rq *fq)
{
	lockdep_assert_held(&fs->fd->lock);
	list_del_init(&fq->fg.node);
	fs->others.count--;
}

/**
 * fbk_merged() - one has grown by another request, which was pooled, too
 * @fs: the scheduler, its disk locked
 * @fq: the one that stays, pooled
 * @gone: the other, still pooled
 *
 * The age is that of the older one; the pool stays ordered by it.
 *
 * Context: fb_disk.lock held.
 */
void fbk_merged(struct fbs *fs, struct fbs_rq *fq, struct fbs_rq *gone)
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

static struct fbs_rq *fbk_oldest(struct fbs *fs)
{
	return list_first_entry_or_null(&fs->others.reqs, struct fbs_rq, fg.node);
}

/* the oldest, if it is to join the foreground */
static struct fbs_rq *fbk_expired(struct fbs *fs, u64 now)
{
	u64 early_ns = min(fs->expire_ns[READ], fs->others.expire_ns / 2);
	struct fbs_rq *fq = fbk_oldest(fs);

	if (!fq)
		return NULL;
	if (fq->since_ns + fs->others.expire_ns <= now + early_ns ||
	    percpu_ref_is_dying(&fs->q->q_usage_counter))
		return fq;
	return NULL;
}

/**
 * fbk_expire() - those that have waited for long are foreground from now on
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
bool fbk_expire(struct fbs *fs)
{
	u64 now = ktime_get_ns();
	struct fbs_rq *fq;
	bool some = false;

	lockdep_assert_held(&fs->fd->lock);
	while ((fq = fbk_expired(fs, now))) {
		fbk_del(fs, fq);
		fq->background = false;
		fq->fg.arrived_ns = now;
		fq->fg.deadline_ns = fq->since_ns + fs->others.expire_ns;
		fg_pool_add(&fs->pool, &fq->fg);
		fs->fd->stats.others_expired++;
		some = true;
	}
	if (some) {
		fb_idle_arrive(fs->fd);
		fs->fd->fg_active = true;
	}
	return some;
}

/**
 * fbk_note_sent() - one goes to the drive, from whichever pool
 * @fs: the scheduler, its disk locked
 * @fq: it
 * @now: the time
 *
 * Context: fb_disk.lock held.
 */
void fbk_note_sent(struct fbs *fs, struct fbs_rq *fq, u64 now)
{
	struct fb_stats *st = &fs->fd->stats;

	lockdep_assert_held(&fs->fd->lock);
	st->others++;
	st->others_sectors += fq->cmd.nsect;
	st->others_max_age_ns = max(st->others_max_age_ns, now - fq->since_ns);
	fs->others.next_lbn = fq->cmd.lbn + fq->cmd.nsect;
	fs->others.sent_ns = now;
	fs->others.flying += fq->background;
	fs->others.seen_ns = now;
}

/* ---- when they go ---- */

/**
 * fbk_want_order() - is our order worth keeping for their sake?
 * @fs: the scheduler, its disk locked
 *
 * Context: fb_disk.lock held.
 *
 * Return: true while some wait, and a while longer, if gaps can be told.
 */
bool fbk_want_order(struct fbs *fs)
{
	struct fb_disk *fd = fs->fd;
	u64 now;

	lockdep_assert_held(&fs->fd->lock);
	if (!fs->others.seen_ns)
		return false;
	now = ktime_get_ns();
	if (!fs->others.count && now - fs->others.seen_ns > fbk_memory_ns) {
		fs->others.seen_ns = 0;
		return false;
	}
	return !fb_disk_transparent(fd) && fb_guard_on(&fd->guard, now);
}

/* how long the head takes to be there; U64_MAX: not known */
static u64 fbk_reach_ns(const struct fbs *fs, const struct dm_place *head,
			const struct fbs_rq *fq)
{
	u64 seek_ns, latency_ns;

	if (!head || !fq->fg.placed)
		return U64_MAX;
	dm_position(fs->fd->model, head, &fq->fg.start, false, &seek_ns, &latency_ns);
	return seek_ns + latency_ns;
}

/* what follows the one sent last, else the nearest; NULL if that is not known */
static struct fbs_rq *fbk_next(struct fbs *fs, const struct dm_place *head, u64 *reach_ns)
{
	struct fbs_rq *fq, *best = NULL;
	u64 ns;

	*reach_ns = U64_MAX;
	list_for_each_entry(fq, &fs->others.reqs, fg.node) {
		ns = fbk_reach_ns(fs, head, fq);
		if (fq->fg.lbn == fs->others.next_lbn) {
			/* nothing else has been at the drive since */
			*reach_ns = fs->others.fg_end_ns < fs->others.sent_ns ? 0 : ns;
			return fq;
		}
		if (ns >= *reach_ns)
			continue;
		*reach_ns = ns;
		best = fq;
	}
	return best;
}

/* no head to move away: as many at once as it takes, without a wait */
static bool fbk_is_flash(const struct fbs *fs)
{
	return blk_queue_nonrot(fs->q);
}

/**
 * fbk_pick_idle() - which one goes while there is no foreground, and when
 * @fs: the scheduler, its disk locked
 * @now: the time
 * @due_ns: out: not before; U64_MAX: there is foreground, or one of them at the drive, or none
 *
 * The oldest, once it has waited for a quarter of its time; what follows the one before,
 * which the drive may have read ahead even if it was called away since; else the nearest, or
 * the oldest if the head is not known.
 *
 * The command is a loss if foreground comes before its first sector: the farther it is,
 * the longer we wait. (What the wait is to be for a given foreground "Practical Scrubbing"
 * finds from a trace of it.)
 *
 * Context: fb_disk.lock held.
 *
 * Return: it, or NULL when @due_ns is U64_MAX.
 */
struct fbs_rq *fbk_pick_idle(struct fbs *fs, u64 now, u64 *due_ns)
{
	struct fbs_rq *fq = fbk_oldest(fs), *near;
	u64 reach_ns, turn_ns, start_ns;
	struct dm_place head;
	bool known;

	lockdep_assert_held(&fs->fd->lock);
	*due_ns = U64_MAX;
	if (!fq || fs->pool.count || !list_empty(&fs->bypass) || fs->nr_untracked ||
	    fs->nr_flight > fs->others.flying || (fs->others.flying && !fbk_is_flash(fs)))
		return NULL;
	*due_ns = fs->others.fg_end_ns + (fbk_is_flash(fs) ? 0 : fs->others.wait_ns);
	if (fb_disk_transparent(fs->fd))
		return fq;
	known = fb_completion_idle_head(&fs->head, now, false, &head, &start_ns);
	near = fbk_next(fs, known ? &head : NULL, &reach_ns);
	turn_ns = dm_period_ns(fs->fd->model);
	*due_ns = fs->others.fg_end_ns +
		  div_u64(fs->others.wait_ns * min(reach_ns, fbk_far * turn_ns), turn_ns);
	return near && now - fq->since_ns < fs->others.expire_ns / fbk_fair ? near : fq;
}

/**
 * fbk_is_due() - is it time for one of them?
 * @fs: the scheduler, its disk locked
 *
 * If it will be later, without anything else to happen first, the timer runs the queue then.
 *
 * Context: fb_disk.lock held.
 *
 * Return: true if one can be sent.
 */
bool fbk_is_due(struct fbs *fs)
{
	u64 now = ktime_get_ns(), due_ns;

	if (fbk_expired(fs, now))
		return fbs_is_hands_off(fs) || fs->nr_flight < fs->depth;
	if (!fbk_pick_idle(fs, now, &due_ns))
		return false;
	if (now >= due_ns)
		return true;
	hrtimer_start(&fs->timer, ns_to_ktime(due_ns), HRTIMER_MODE_ABS);
	return false;
}

/**
 * struct fbk_gap - the gap before the choice, as fbk_fits() wants it
 * @gap: it
 * @pos_ns: seek and rotational wait of the choice were nothing read before it
 * @margin_ns: conservatism
 */
struct fbk_gap {
	struct fb_gap gap;
	u64 pos_ns;
	u64 margin_ns;
};

/*
 * There, read, and at the foreground's first sector when that would have come anyway, with
 * the conservatism to spare before both (freeblock paper, 3.3).
 */
static bool fbk_fits(const struct disk_model *dm, const struct fbk_gap *g,
		     const struct fbs_rq *fq)
{
	struct fb_plan plan = {
		.kind = FB_PLAN_SEPARATE,
		.npieces = 1,
		.piece[0] = { .lbn = fq->fg.lbn, .nsect = fq->fg.nsect },
	};
	u64 seek_ns, latency_ns;
	struct dm_access acc;

	dm_position(dm, &g->gap.src, &fq->fg.start, false, &seek_ns, &latency_ns);
	if (seek_ns + g->margin_ns >= g->pos_ns ||
	    (!dm_info(dm)->zero_latency && seek_ns + latency_ns >= g->pos_ns))
		return false;
	if (dm_access(dm, &g->gap.src, fq->fg.lbn, fq->fg.nsect, false, &acc) ||
	    acc.latency_ns < g->margin_ns || acc.total_ns + g->margin_ns > g->pos_ns)
		return false;
	/* landing early, within it, would end it a turn later */
	if (dm_info(dm)->zero_latency &&
	    acc.total_ns - acc.seek_ns + g->margin_ns > dm_period_ns(dm))
		return false;
	dm_position(dm, &acc.end, &g->gap.dst, g->gap.dst_write, &seek_ns, &latency_ns);
	/* angles are rounded: a turn more is far more than this */
	if (latency_ns < g->margin_ns ||
	    acc.total_ns + seek_ns + latency_ns > g->pos_ns + g->margin_ns)
		return false;
	/* on these tracks the drive might read on: that is the probe's to find out */
	return !fbp_lifts(dm, &g->gap, &plan, 0);
}

/**
 * fbk_pick_gap() - the one that best fills the gap before the choice
 * @fs: the scheduler, its disk locked, with a choice and a command at the drive
 * @gap: the gap
 * @more: it must have more sectors than this
 * @now: the time
 *
 * Context: fb_disk.lock held.
 *
 * Return: the longest that fits, or NULL.
 */
struct fbs_rq *fbk_pick_gap(struct fbs *fs, const struct fb_gap *gap, u32 more, u64 now)
{
	struct fb_disk *fd = fs->fd;
	struct fbk_gap g = {
		.gap = *gap,
		.pos_ns = fs->choice.pos_ns,
		.margin_ns = fs->auto_margin ? fbm_one_ns(&fd->margin) : fs->conservatism_ns,
	};
	struct fbs_rq *fq, *best = NULL;
	u32 looked = 0;

	lockdep_assert_held(&fs->fd->lock);
	/* one of them is at the drive: no other one, or the foreground waits for two */
	if (fs->others.flying || !fb_guard_on(&fd->guard, now))
		return NULL;
	list_for_each_entry(fq, &fs->others.reqs, fg.node) {
		if (looked++ == fbk_look)
			break;
		if (!fq->fg.placed || fq->fg.nsect <= more || !fbk_fits(fd->model, &g, fq))
			continue;
		best = fq;
		more = fq->fg.nsect;
	}
	return best;
}
