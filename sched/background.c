// SPDX-License-Identifier: GPL-2.0
/*
 * Background reads of others: reads of the idle I/O class (btrfs scrub, backups under ionice, an md
 * check). They wait in a pool of their own and are sent one at a time while there is no foreground.
 * A task of another class may wait for one: so the oldest goes before the foreground when three
 * quarters of its age are over, and metadata stays in the foreground. Locks: fb_disk.lock, held but
 * where said.
 */
#include <linux/hash.h>
#include <linux/ioprio.h>

#include "sched/sched.h"

/* limit of merging: 128 KiB, half a millisecond of a track */
static const u32 fb_background_sectors = 256;
/* up to 1/4 of the maximum age a read that follows the last one goes before the oldest */
static const u32 fb_background_fair = 4;
/* one request in 16 goes first for its age, or one in half of that age, however many are old */
static const u32 fb_background_every = 16;
/* but no more than one in eight, where requests take long */
static const u32 fb_background_share = 8;

void fb_background_init(struct fb_sched *sched)
{
	INIT_LIST_HEAD(&sched->others.reqs);
	sched->others.expire_ns = 250 * NSEC_PER_MSEC;
	sched->others.wait_ns = NSEC_PER_MSEC;
}

static struct task_struct **fb_background_submitter(struct fb_sched *sched)
{
	return &sched->others.submitter[hash_ptr(current, FB_BACKGROUND_SUBMITTER_BITS)];
}

/*
 * Remember whether the current task's bio has the idle class, which limit_depth() does not see; two
 * tasks may share a hash slot. Without locks.
 */
void fb_background_note_bio(struct fb_sched *sched, const struct bio *bio)
{
	struct task_struct **place = fb_background_submitter(sched);

	if (IOPRIO_PRIO_CLASS(bio->bi_ioprio) == IOPRIO_CLASS_IDLE)
		WRITE_ONCE(*place, current);
	else if (READ_ONCE(*place) == current)
		WRITE_ONCE(*place, NULL);
}

/* Idle-class reads wait for long: they may take only half of a queue's requests. Without locks. */
void fb_background_limit_depth(blk_opf_t opf, struct blk_mq_alloc_data *data)
{
	struct fb_sched *sched = data->q->elevator->elevator_data;

	if ((opf & REQ_OP_MASK) == REQ_OP_READ &&
	    (IOPRIO_PRIO_CLASS(get_current_ioprio()) == IOPRIO_CLASS_IDLE ||
	     READ_ONCE(*fb_background_submitter(sched)) == current))
		data->shallow_depth = sched->others.depth;
}

/* Background reads are kept short, for a foreground request may have to wait for one. */
bool fb_background_allow_merge(struct request_queue *q, struct request *rq, struct bio *bio)
{
	const struct fb_sched_rq *fq = fb_sched_rq(rq);

	return !fq || !fq->r.background || blk_rq_sectors(rq) + bio_sectors(bio) <=
		fb_background_sectors;
}

/* ---- recognition ---- */

/* Is the submitter a kernel thread of the idle class? The bios of md's have none. Without locks. */
bool fb_background_submitter_is_idle(void)
{
	return current->flags & PF_KTHREAD &&
	       IOPRIO_PRIO_CLASS(get_current_ioprio()) == IOPRIO_CLASS_IDLE;
}

/* Is a request being inserted a background read? It gets the idle class, which merging compares. */
bool fb_background_recognise(struct fb_sched_rq *fq)
{
	struct request *rq = fq->rq;

	if (IOPRIO_PRIO_CLASS(req_get_ioprio(rq)) == IOPRIO_CLASS_IDLE)
		fq->idle = true;
	if (likely(!fq->idle))
		return false;
	fb_compat_set_ioprio(rq, IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0));
	fq->r.background = req_op(rq) == REQ_OP_READ &&
			 !(rq->cmd_flags & (REQ_META | REQ_PRIO | REQ_POLLED));
	return fq->r.background;
}

/* ---- the pool ---- */

void fb_background_add(struct fb_sched *sched, struct fb_sched_rq *fq)
{
	lockdep_assert_held(&sched->disk->lock);
	fq->since_ns = fq->r.fg.arrived_ns;
	list_add_tail(&fq->r.fg.node, &sched->others.reqs);
	sched->others.count++;
}

/* Remove a read that is sent or merged away. */
void fb_background_del(struct fb_sched *sched, struct fb_sched_rq *fq)
{
	lockdep_assert_held(&sched->disk->lock);
	list_del_init(&fq->r.fg.node);
	sched->others.count--;
}

/* @gone, still pooled, is merged into @fq: a background read takes the age of the older one. */
void fb_background_merged(struct fb_sched *sched, struct fb_sched_rq *fq, struct fb_sched_rq *gone)
{
	lockdep_assert_held(&sched->disk->lock);
	if (!fq->r.background || gone->since_ns >= fq->since_ns)
		return;
	fq->since_ns = gone->since_ns;
	if (gone->r.background)
		list_move(&fq->r.fg.node, &gone->r.fg.node);
	else
		list_move(&fq->r.fg.node, &sched->others.reqs);
}

/* A foreground request is sent, which brings the turn of an old read nearer. */
void fb_background_note_foreground(struct fb_sched *sched)
{
	lockdep_assert_held(&sched->disk->lock);
	sched->others.spare -= !!sched->others.spare;
}

/* Note a request that is sent, from any pool; a background read is counted once. */
void fb_background_note_sent(struct fb_sched *sched, struct fb_sched_rq *fq, u64 now)
{
	struct fb_stats *st = &sched->disk->stats;

	lockdep_assert_held(&sched->disk->lock);
	sched->others.flying += fq->r.background;
	if (fb_engine_is_foreground(&fq->r))
		fb_background_note_foreground(sched);
	if (!fq->since_ns)
		return;
	st->others++;
	st->others_max_age_ns = max(st->others_max_age_ns, now - fq->since_ns);
	sched->others.next_lbn = fq->r.cmd.lbn + fq->r.cmd.nsect;
	fq->since_ns = 0;
}

/* ---- dispatch ---- */

static bool fb_background_has_foreground(const struct fb_sched *sched)
{
	const struct fb_engine *e = &sched->engine;

	return e->pool.count || e->nr_untracked || e->nr_flight > sched->others.flying;
}

/* When the oldest read goes before the foreground; U64_MAX: not now. A freeze waits for all. */
static u64 fb_background_aged_ns(const struct fb_sched *sched, const struct fb_sched_rq *oldest)
{
	const struct fb_background *others = &sched->others;
	u64 due_ns = oldest->since_ns + others->expire_ns * 3 / 4;

	if (sched->engine.pinned || fb_engine_is_full(&sched->engine))
		return U64_MAX;
	if (percpu_ref_is_dying(&sched->q->q_usage_counter))
		return 0;
	if (!others->spare)
		return due_ns;
	if (others->spare > fb_background_every - fb_background_share)
		return U64_MAX;
	return max(due_ns, others->aged_ns + others->expire_ns / 2);
}

/* The next background read, and when it may be sent; U64_MAX or NULL: something must change. */
static struct fb_sched_rq *fb_background_next(struct fb_sched *sched, u64 now, u64 *due_ns)
{
	struct fb_sched_rq *oldest = list_first_entry_or_null(&sched->others.reqs,
							      struct fb_sched_rq, r.fg.node);
	/* without a head to move away all reads are sent at once, without waiting */
	bool flash = fb_compat_is_flash(sched->q);
	struct request *next = NULL;

	lockdep_assert_held(&sched->disk->lock);
	*due_ns = U64_MAX;
	if (!oldest || !list_empty(&sched->bypass))
		return NULL;
	if (fb_background_has_foreground(sched)) {
		*due_ns = fb_background_aged_ns(sched, oldest);
		return oldest;
	}
	if (!sched->others.flying || flash)
		*due_ns = sched->others.fg_end_ns + (flash ? 0 : sched->others.wait_ns);
	/* what follows the last one may have been read ahead; after a while the oldest */
	if (now - oldest->since_ns < sched->others.expire_ns / fb_background_fair)
		next = elv_rb_find(&sched->sort[FB_POLICY_IDLE][READ], sched->others.next_lbn);
	return next ? fb_sched_rq(next) : oldest;
}

/* The background read that is due; the caller sends it. NULL: none is. */
struct fb_sched_rq *fb_background_take(struct fb_sched *sched, u64 now)
{
	bool beside = fb_background_has_foreground(sched);
	struct fb_sched_rq *fq;
	u64 due_ns;

	fq = fb_background_next(sched, now, &due_ns);
	if (!fq || now < due_ns)
		return NULL;
	if (beside) {
		sched->others.spare = fb_background_every - 1;
		sched->others.aged_ns = now;
	}
	sched->disk->stats.others_expired += beside;
	sched->disk->stats.others_idle += !beside;
	sched->engine.window_ns = 0;
	return fq;
}

/* Can a background read be sent now? If only time is missing the timer will run the queue. */
bool fb_background_is_due(struct fb_sched *sched)
{
	u64 now = ktime_get_ns(), due_ns;

	if (fb_background_next(sched, now, &due_ns) && now >= due_ns)
		return true;
	/* while a command is held back the timer is in use, and will come here again */
	if (due_ns != U64_MAX && !sched->engine.window_ns)
		hrtimer_start(&sched->timer, ns_to_ktime(due_ns), HRTIMER_MODE_ABS);
	return false;
}
