// SPDX-License-Identifier: GPL-2.0
/*
 * The thread of a disk: it searches gaps for the blocks that tasks want, keeps the carrier
 * ready for its plans, and uses idle time (disk/idle.c). It passes plans to the scheduler
 * through the mailbox (disk/gap.c).
 *
 * Calls: disk/coverage.c for what is wanted, core/search.c, disk/free_read.c for the carrier,
 * disk/idle.c, disk/gap.c.
 * Locks: fb_disk.lock; the table is in disk/disk.h. struct fb_coverage belongs to the thread.
 */
#include <linux/kthread.h>
#include <linux/sched.h>

#include "disk/coverage.h"
#include "disk/disk.h"
#include "disk/drive_query.h"
#include "disk/reader.h"

/*
 * How long a carrier is held without foreground work. With less, up to a quarter of them
 * return unused; more gains nothing and keeps the disk from runtime suspend.
 * It is also the interval of polling for the freeze of a quiesced queue.
 */
#define FB_READER_HOLD_NS (20 * NSEC_PER_MSEC)

/*
 * Leftovers: after FRUITLESS searches in a row without a result (some seconds of a busy disk),
 * and with at most LEFTOVER blocks wanted, read one a second: each may cost the foreground a
 * turn or two. The Atlas 10K has eleven of them.
 */
#define FB_READER_FRUITLESS 256
#define FB_READER_LEFTOVER 256
#define FB_READER_LEFTOVER_NS NSEC_PER_SEC

static bool fb_reader_publish(struct fb_disk *fd, const struct fb_plan *plan, u32 gen)
{
	if (!fb_gap_publish(fd, plan, gen))
		return false;
	if (plan->kind != FB_PLAN_PREPEND)
		fb_free_read_enter(fd, NULL);
	return true;
}

/* Take the open gap and its limits; false: no gap is open, or nothing may be read. */
static bool fb_reader_take(struct fb_coverage *cov, struct fb_gap *gap, struct fb_limits *lim,
			   u32 *gen, u64 *budget_ns)
{
	struct fb_disk *fd = cov->fd;
	bool open;

	spin_lock_irq(&fd->lock);
	open = fb_gap_take(fd, gap, lim) && fb_coverage_may_read(fd);
	if (lim->odds) {
		cov->odds = *lim->odds;
		lim->odds = &cov->odds;
		lim->leg_ns = cov->odds.floor_ns;
	}
	*gen = fd->mail.gen;
	*budget_ns = fd->mail.search_ns;
	spin_unlock_irq(&fd->lock);
	return open;
}

static void fb_reader_count(struct fb_disk *fd, const struct fb_search *s, u64 ns)
{
	spin_lock_irq(&fd->lock);
	fd->stats.searches++;
	fd->stats.search_tracks += s->tracks;
	fd->stats.search_ns += ns;
	fd->stats.search_max_ns = max(fd->stats.search_max_ns, ns);
	spin_unlock_irq(&fd->lock);
}

/*
 * Some blocks fit into no gap: those that span the end of a zone, or have a sector that was
 * remapped far away. When few blocks are left and nothing has been found for long, read one
 * of them anyway, seldom enough that the cost is negligible.
 */
static void fb_reader_leftover(struct fb_coverage *cov, u32 found, u32 gen)
{
	struct fb_plan plan = { .kind = FB_PLAN_SEPARATE, .npieces = 1, .wanted = 1 };
	u32 granule = dm_info(cov->fd->model)->granule_sectors;
	u64 now = ktime_get_ns();
	u64 block;

	cov->fruitless = found ? 0 : cov->fruitless + 1;
	if (cov->fruitless < FB_READER_FRUITLESS || cov->map->n_wanted > FB_READER_LEFTOVER ||
	    now - cov->leftover_ns < FB_READER_LEFTOVER_NS)
		return;
	block = fb_bitmap_next_wanted(cov->map, 0);
	plan.piece[0].lbn = block * granule;
	plan.piece[0].nsect = min_t(u64, granule, cov->fd->sectors - plan.piece[0].lbn);
	if (fb_quarantine_divert(&cov->fd->quarantine, cov->map, &plan.piece[0]) &&
	    fb_coverage_cut(cov, &plan) && fb_reader_publish(cov->fd, &plan, gen))
		cov->leftover_ns = now;
}

static void fb_reader_search(struct fb_coverage *cov)
{
	struct fb_disk *fd = cov->fd;
	struct fb_search *s = &cov->search;
	struct fb_limits lim;
	struct fb_plan plan;
	struct fb_gap gap;
	u64 begin, budget_ns, spent_ns = 0;
	u64 value = 0;
	u32 gen, found = 0;
	bool more;

	if (!fb_reader_take(cov, &gap, &lim, &gen, &budget_ns))
		return;
	/* A gap means foreground work, so the drive is awake. */
	fb_drive_query_once(cov);
	/* The search must not find blocks that were sent before this gap was opened. */
	fb_coverage_absorb(cov);
	if (!cov->map || !cov->map->n_wanted)
		return;
	fb_coverage_weigh(cov, &lim);
	fb_quarantine_limits(&fd->quarantine, &lim);
	fb_search_start(s, fd->model, cov->map, &gap, &lim);
	do {
		/* Time that others run in cond_resched() does not count against the budget. */
		begin = ktime_get_ns();
		more = fb_search_step(s);
		spent_ns += ktime_get_ns() - begin;
		if (s->best.value > value) {
			value = s->best.value;
			plan = s->best;
			if (fb_coverage_cut(cov, &plan)) {
				found = plan.wanted;
				if (!fb_reader_publish(fd, &plan, gen))
					break;
			}
		}
		cond_resched();
	} while (more && READ_ONCE(fd->mail.gen) == gen && spent_ns < budget_ns);
	fb_reader_count(fd, s, spent_ns);
	fb_block_value_gap(&cov->worth, value);
	if (lim.separate)
		fb_reader_leftover(cov, found, gen);
}

/*
 * A carrier is held only while there is work for which it may be needed. A queue freeze waits
 * for it, and so does a CPU of its hardware queue that goes offline: then a queue run returns
 * it, or the thread if the queue is quiesced.
 */
static bool fb_reader_must_return(struct fb_disk *fd)
{
	lockdep_assert_held(&fd->lock);
	if (fd->reads.carrier != FB_CARRIER_HELD || !fd->reads.rq)
		return false;
	if (!fb_coverage_wants(fd) || percpu_ref_is_dying(&fd->q->q_usage_counter) ||
	    test_bit(BLK_MQ_S_INACTIVE, &fd->reads.rq->mq_hctx->state))
		return true;
	if (fd->fg.active || fd->idle.ready || fd->idle.reading)
		return false;
	return ktime_get_ns() - max(fd->fg.last_ns, fd->idle.used_ns) > FB_READER_HOLD_NS;
}

static void fb_reader_mind_carrier(struct fb_disk *fd)
{
	bool back;

	spin_lock_irq(&fd->lock);
	back = fb_reader_must_return(fd);
	spin_unlock_irq(&fd->lock);
	if (back)
		fb_free_read_return(fd);
	else if (READ_ONCE(fd->reads.due))
		fb_free_read_enter(fd, NULL);
}

static bool fb_reader_has_work(struct fb_disk *fd)
{
	bool work;

	if (kthread_should_stop())
		return true;
	spin_lock_irq(&fd->lock);
	work = fd->mail.open || fd->reads.due || fd->idle.woken || fb_coverage_has_work(fd->cov) ||
	       fb_seek_fit_due(&fd->seek_fit, ktime_get_ns());
	fd->idle.woken = false;
	spin_unlock_irq(&fd->lock);
	return work;
}

/* Return how long to wait if nothing happens; U64_MAX: until something does. */
static u64 fb_reader_patience_ns(struct fb_coverage *cov)
{
	struct fb_disk *fd = cov->fd;
	u64 ns = U64_MAX, now, due_ns;

	spin_lock_irq(&fd->lock);
	if (fd->reads.carrier != FB_CARRIER_NONE || cov->blocked)
		ns = FB_READER_HOLD_NS;
	now = ktime_get_ns();
	due_ns = fb_idle_due_ns(fd);
	spin_unlock_irq(&fd->lock);
	if (due_ns != FB_IDLE_POLICY_NEVER)
		ns = min(ns, due_ns > now ? due_ns - now : 0);
	return ns;
}

static void fb_reader_wait(struct fb_coverage *cov)
{
	struct fb_disk *fd = cov->fd;
	u64 ns = fb_reader_patience_ns(cov);

	if (ns == U64_MAX)
		wait_event_idle(fd->wait, fb_reader_has_work(fd));
	else if (ns && wait_event_interruptible_hrtimeout(fd->wait, fb_reader_has_work(fd),
							  ns_to_ktime(ns)))
		cov->blocked = false;
}

/* No buffer of ours is in use by the drive, the scheduler or a consumer. */
static bool fb_reader_drained(struct fb_disk *fd)
{
	bool drained = true;
	u32 i;

	spin_lock_irq(&fd->lock);
	for (i = 0; i < fd->reads.bufs->n; i++)
		drained &= fd->reads.bufs->buf[i].state == FB_FREE_READ_FREE;
	spin_unlock_irq(&fd->lock);
	return drained;
}

/* Stopping: give up plans and the carrier, and wait for reads in flight. */
static void fb_reader_drain(struct fb_coverage *cov)
{
	struct fb_disk *fd = cov->fd;

	for (;;) {
		spin_lock_irq(&fd->lock);
		fd->reads.due = false;
		fd->idle.ready = false;
		fb_gap_void(fd);
		spin_unlock_irq(&fd->lock);
		fb_free_read_return(fd);
		fb_coverage_absorb(cov);
		if (fb_reader_drained(fd))
			return;
		wait_event_idle_timeout(fd->wait, fb_reader_drained(fd),
					nsecs_to_jiffies(FB_READER_HOLD_NS));
	}
}

/**
 * fb_reader_thread() - read for the tasks of a disk until there are none
 * @data: their struct fb_coverage
 *
 * Context: a kernel thread at the lowest priority: the foreground's CPU time comes first.
 * It is not frozen for suspend, because a suspending disk waits for the held carrier, which
 * the thread owns; its submissions do not wait for a frozen queue (NOWAIT).
 *
 * Return: 0, after kthread_stop(), when all tasks are over.
 */
int fb_reader_thread(void *data)
{
	struct fb_coverage *cov = data;

	set_user_nice(current, MAX_NICE);
	while (!kthread_should_stop()) {
		fb_reader_wait(cov);
		/* This comes first: the next piece of a plan in use may be waiting for it. */
		fb_reader_mind_carrier(cov->fd);
		fb_coverage_absorb(cov);
		fb_coverage_attend(cov);
		fb_disk_correct(cov->fd);
		fb_reader_search(cov);
		fb_idle_read(cov);
	}
	fb_reader_drain(cov);
	return 0;
}

/*
 * A detached disk gets no new carrier, and a submission under way does not wait for the
 * queue (NOWAIT).
 */
static void fb_reader_detached(struct fb_disk *fd)
{
	wait_event(fd->wait, !READ_ONCE(fd->reads.submitting));
	WARN_ON_ONCE(fd->reads.carrier == FB_CARRIER_HELD);
}

const struct fb_disk_client fb_reader_client = {
	.detached = fb_reader_detached,
};
