// SPDX-License-Identifier: GPL-2.0
/*
 * The gap before the next foreground request, its plan, and the thread that searches it
 * (freeblock paper, 4.1 and 4.3; DESIGN 4).
 *
 * The scheduler opens a gap when it has chosen the next request, and takes the plan, if
 * there is one of the same generation, when it sends. The foreground never waits for the
 * search. What voids a gap advances fb_disk.gen, which is the paper's stop flag too.
 *
 * Locks: fb_disk.lock; the table is in fb_disk.h.
 */
#include <linux/kthread.h>
#include <linux/sched.h>

#include "fb_disk.h"
#include "trace.h"

/*
 * How long a vehicle is held without foreground work: shorter sends back up to a quarter
 * of them unused, longer gains nothing and keeps the disk from runtime suspend
 * (KERNEL-NOTES, How long to hold). It is the poll for a freeze of a quiesced queue too.
 */
#define FB_GAP_HOLD_NS (20 * NSEC_PER_MSEC)

/*
 * Leftovers: after so many searches in a row that found nothing (some seconds of a busy
 * disk), of so few blocks, one a second: each may cost the foreground a turn or two. The
 * Atlas 10K has eleven of them.
 */
#define FB_GAP_FRUITLESS 256
#define FB_GAP_LEFTOVER 256
#define FB_GAP_LEFTOVER_NS NSEC_PER_SEC

/**
 * fb_gap_open() - there is a new gap: search it
 * @fd: the disk, locked
 * @gap: from the request before to the next one
 * @lim: what a plan may be
 *
 * Context: fb_disk.lock held.
 */
void fb_gap_open(struct fb_disk *fd, const struct fb_gap *gap, const struct fb_limits *lim)
{
	fb_gap_void(fd);
	fd->gap = *gap;
	fd->lim = *lim;
	fd->gap_open = true;
	fd->stats.gaps++;
	trace_freeblock_gap(fd, gap);
	wake_up(&fd->wait);
}

/**
 * fb_gap_void() - no gap any more; its plan and its search are worth nothing
 * @fd: the disk, locked
 *
 * Context: fb_disk.lock held.
 */
void fb_gap_void(struct fb_disk *fd)
{
	lockdep_assert_held(&fd->lock);
	WRITE_ONCE(fd->gen, fd->gen + 1);
	fd->gap_open = false;
	fd->plan.kind = FB_PLAN_NONE;
}

/**
 * fb_gap_plan() - the plan for the present gap
 * @fd: the disk, locked
 *
 * Context: fb_disk.lock held.
 *
 * Return: the plan, or NULL.
 */
const struct fb_plan *fb_gap_plan(const struct fb_disk *fd)
{
	lockdep_assert_held(&fd->lock);
	return fd->plan.kind == FB_PLAN_NONE || fd->plan_gen != fd->gen ? NULL : &fd->plan;
}

static bool fb_gap_publish(struct fb_disk *fd, const struct fb_plan *plan, u32 gen)
{
	bool current_gap;

	spin_lock_irq(&fd->lock);
	current_gap = fd->gen == gen;
	if (current_gap) {
		fd->plan = *plan;
		fd->plan_gen = gen;
		trace_freeblock_plan(fd, plan);
	}
	spin_unlock_irq(&fd->lock);
	if (current_gap && plan->kind != FB_PLAN_PREPEND)
		fb_vehicle_enter(fd);
	return current_gap;
}

static void fb_gap_count(struct fb_disk *fd, const struct fb_search *s, u64 ns)
{
	spin_lock_irq(&fd->lock);
	fd->stats.searches++;
	fd->stats.search_tracks += s->tracks;
	fd->stats.search_ns += ns;
	fd->stats.search_max_ns = max(fd->stats.search_max_ns, ns);
	spin_unlock_irq(&fd->lock);
}

/* take the gap that waits, if anything may be read; the limits come with it */
static bool fb_gap_take(struct fb_svc *svc, struct fb_gap *gap, struct fb_limits *lim,
			u32 *gen, u64 *budget_ns)
{
	struct fb_disk *fd = svc->fd;
	bool open;

	spin_lock_irq(&fd->lock);
	open = fd->gap_open && fbv_may_read(fd);
	fd->gap_open = false;
	if (open && fd->probing)
		fd->lim.lift = fbp_allowed(&fd->probe, fd->lim.lift, ktime_get_ns());
	*gap = fd->gap;
	*lim = fd->lim;
	if (lim->odds) {
		svc->odds = *lim->odds;
		lim->odds = &svc->odds;
		lim->leg_ns = svc->odds.floor_ns;
	}
	*gen = fd->gen;
	*budget_ns = fd->search_ns;
	spin_unlock_irq(&fd->lock);
	return open;
}

/*
 * Some blocks fit into no gap: those that span the end of a zone, or a sector that was
 * remapped far away. When only a few are left and nothing else has been found for long,
 * read one of them all the same, seldom enough that it does not count.
 */
static void fb_gap_leftover(struct fb_svc *svc, u32 found, u32 gen)
{
	struct fb_plan plan = { .kind = FB_PLAN_SEPARATE, .npieces = 1, .wanted = 1 };
	u32 granule = dm_info(svc->fd->model)->granule_sectors;
	u64 now = ktime_get_ns();
	u64 block;

	svc->fruitless = found ? 0 : svc->fruitless + 1;
	if (svc->fruitless < FB_GAP_FRUITLESS || svc->map->n_wanted > FB_GAP_LEFTOVER ||
	    now - svc->leftover_ns < FB_GAP_LEFTOVER_NS)
		return;
	block = fb_bitmap_next_wanted(svc->map, 0);
	plan.piece[0].lbn = block * granule;
	plan.piece[0].nsect = min_t(u64, granule, svc->fd->sectors - plan.piece[0].lbn);
	if (fbb_divert(&svc->fd->bad, svc->map, &plan.piece[0]) && fbv_cut(svc, &plan) &&
	    fb_gap_publish(svc->fd, &plan, gen))
		svc->leftover_ns = now;
}

static void fb_gap_search(struct fb_svc *svc)
{
	struct fb_disk *fd = svc->fd;
	struct fb_search *s = &svc->search;
	struct fb_limits lim;
	struct fb_plan plan;
	struct fb_gap gap;
	u64 begin, budget_ns, spent_ns = 0;
	u64 value = 0;
	u32 gen, found = 0;
	bool more;

	if (!fb_gap_take(svc, &gap, &lim, &gen, &budget_ns))
		return;
	/* there is foreground work: the drive is awake */
	fbv_ask_drive(svc);
	/* what was sent before this gap was opened must not be found again */
	fbv_absorb(svc);
	if (!svc->map || !svc->map->n_wanted)
		return;
	fbv_weigh(svc, &lim);
	fbb_limits(&fd->bad, &lim);
	fb_search_start(s, fd->model, svc->map, &gap, &lim);
	do {
		/* the budget is for our own work, not for those we let go first */
		begin = ktime_get_ns();
		more = fb_search_step(s);
		spent_ns += ktime_get_ns() - begin;
		if (s->best.value > value) {
			value = s->best.value;
			plan = s->best;
			if (fbv_cut(svc, &plan)) {
				found = plan.wanted;
				if (!fb_gap_publish(fd, &plan, gen))
					break;
			}
		}
		cond_resched();
	} while (more && READ_ONCE(fd->gen) == gen && spent_ns < budget_ns);
	fb_gap_count(fd, s, spent_ns);
	fb_worth_gap(&svc->worth, value);
	if (lim.separate)
		fb_gap_leftover(svc, found, gen);
}

/*
 * A vehicle is held no longer than the foreground is at work and a plan may need it: a
 * freeze of its queue, or a CPU going offline under its hardware queue, waits for it.
 */
static bool fb_gap_must_return(struct fb_disk *fd)
{
	lockdep_assert_held(&fd->lock);
	if (fd->vehicle != FB_VEHICLE_HELD || !fd->vehicle_rq)
		return false;
	if (fd->let_go || !fbv_wants(fd) ||
	    test_bit(BLK_MQ_S_INACTIVE, &fd->vehicle_rq->mq_hctx->state))
		return true;
	if (fd->fg_active || fd->idle.ready || fd->idle.reading)
		return false;
	return ktime_get_ns() - max(fd->fg_last_ns, fd->idle.used_ns) > FB_GAP_HOLD_NS;
}

static void fb_gap_mind_vehicle(struct fb_disk *fd)
{
	bool back;

	spin_lock_irq(&fd->lock);
	if (fd->q && percpu_ref_is_dying(&fd->q->q_usage_counter))
		fd->let_go = true;
	back = fb_gap_must_return(fd);
	if (fd->let_go && fd->q && !percpu_ref_is_dying(&fd->q->q_usage_counter) &&
	    fd->vehicle == FB_VEHICLE_NONE)
		fd->let_go = false;
	spin_unlock_irq(&fd->lock);
	if (back)
		fb_vehicle_return(fd);
	else if (READ_ONCE(fd->vehicle_due))
		fb_vehicle_enter(fd);
}

static bool fb_gap_has_work(struct fb_disk *fd)
{
	bool work;

	if (kthread_should_stop())
		return true;
	spin_lock_irq(&fd->lock);
	work = fd->gap_open || fd->vehicle_due || fd->idle.woken || fbv_has_work(fd->svc) ||
	       fbcal_due(fd) ||
	       (fd->let_go && fd->vehicle == FB_VEHICLE_HELD);
	fd->idle.woken = false;
	spin_unlock_irq(&fd->lock);
	return work;
}

/* how long there may be nothing to do; U64_MAX: as long as nothing happens */
static u64 fb_gap_patience_ns(struct fb_svc *svc)
{
	struct fb_disk *fd = svc->fd;
	u64 ns = U64_MAX, now, due_ns;

	spin_lock_irq(&fd->lock);
	/* nobody tells that a freeze is over */
	if (fd->vehicle != FB_VEHICLE_NONE || svc->blocked || (fd->let_go && fd->q))
		ns = FB_GAP_HOLD_NS;
	now = ktime_get_ns();
	due_ns = fb_idle_due_ns(fd);
	spin_unlock_irq(&fd->lock);
	if (due_ns != FBW_NEVER)
		ns = min(ns, due_ns > now ? due_ns - now : 0);
	return ns;
}

static void fb_gap_wait(struct fb_svc *svc)
{
	struct fb_disk *fd = svc->fd;
	u64 ns = fb_gap_patience_ns(svc);

	if (ns == U64_MAX)
		wait_event_idle(fd->wait, fb_gap_has_work(fd));
	else if (ns && wait_event_interruptible_hrtimeout(fd->wait, fb_gap_has_work(fd),
							  ns_to_ktime(ns)))
		svc->blocked = false;
}

/* nothing of ours is at the drive or with the scheduler */
static bool fb_gap_drained(struct fb_disk *fd)
{
	bool drained = true;
	u32 i;

	spin_lock_irq(&fd->lock);
	for (i = 0; i < fd->bufs->n; i++)
		drained &= fd->bufs->buf[i].state == FB_BUF_FREE;
	spin_unlock_irq(&fd->lock);
	return drained;
}

/* stopping: let go of everything and wait for what is on its way */
static void fb_gap_drain(struct fb_svc *svc)
{
	struct fb_disk *fd = svc->fd;

	for (;;) {
		spin_lock_irq(&fd->lock);
		fd->let_go = true;
		fd->vehicle_due = false;
		fd->idle.ready = false;
		fb_gap_void(fd);
		spin_unlock_irq(&fd->lock);
		fb_vehicle_return(fd);
		fbv_absorb(svc);
		if (fb_gap_drained(fd))
			return;
		wait_event_idle_timeout(fd->wait, fb_gap_drained(fd),
					nsecs_to_jiffies(FB_GAP_HOLD_NS));
	}
}

/**
 * fb_gap_thread() - search gaps for the tasks of a disk until there are none
 * @data: their service
 *
 * Context: a kernel thread at the lowest priority: the foreground's CPU time comes first.
 * It is not frozen for suspend: it owns the held vehicle, which a suspending disk waits
 * for; what it submits does not wait for a queue that is closed (NOWAIT).
 *
 * Return: 0, after kthread_stop(), when all tasks are over.
 */
int fb_gap_thread(void *data)
{
	struct fb_svc *svc = data;

	set_user_nice(current, MAX_NICE);
	while (!kthread_should_stop()) {
		fb_gap_wait(svc);
		/* first: the next piece of a plan in use waits for its vehicle */
		fb_gap_mind_vehicle(svc->fd);
		fbv_absorb(svc);
		fbv_attend(svc);
		fbcal_correct(svc->fd);
		fb_gap_search(svc);
		fb_idle_read(svc);
	}
	fb_gap_drain(svc);
	return 0;
}
