// SPDX-License-Identifier: GPL-2.0
/*
 * The thread of a disk: it searches gaps for wanted blocks, keeps the carrier ready for its plans,
 * and uses idle time (disk/idle.c). Locks: fb_disk.lock; struct fb_coverage belongs to the thread.
 */
#include <linux/kthread.h>

#include "disk/disk.h"

/* A carrier is held so long without foreground: less has a quarter return unused. Freezes, too. */
#define FB_READER_HOLD_NS (20 * NSEC_PER_MSEC)

/* searches in a row: a round's candidates, and one that ends it; then a due carrier may enter */
#define FB_READER_GAPS (FB_JOINT_CANDIDATES + 1)

/* steps of a search, of about a microsecond each, between two looks at the clock */
#define FB_READER_STEPS 4

static bool fb_reader_publish(struct fb_disk *disk, const struct fb_plan *plan, u32 gen)
{
	scoped_guard(spinlock_irq, &disk->lock)
		if (!fb_gap_publish(&disk->mail, plan, gen))
			return false;
	if (plan->kind != FB_PLAN_PREPEND)
		fb_free_read_enter(disk, NULL);
	return true;
}

/* A gap to be searched */
struct fb_reader_job {
	struct fb_gap gap;
	struct fb_limits lim;		/* limits of its plan */
	u32 gen;			/* fb_gap_mail.gen */
	u64 budget_ns;			/* time for the search */
	bool shared;			/* fb_gap_mail.shared */
	/* share of the foreground's time for blocks that fit into no gap */
	u32 cost_ppm;
};

static void fb_reader_ask(struct fb_coverage *cov)
{
	struct fb_disk *disk = cov->disk;
	struct fb_block_value *worth = cov->chosen ? &cov->chosen->worth : NULL;
	struct fb_gap_mail *mail = &disk->mail;

	spin_lock_irq(&disk->lock);
	if (mail->settled && worth)
		fb_block_value_gap(worth, mail->value);
	mail->settled = false;
	mail->mean = worth ? worth->mean : 0;
	while (mail->asked && !mail->open) {
		mail->asked = disk->sched && disk->sched_ops->next_gap(disk);
		spin_unlock_irq(&disk->lock);
		spin_lock_irq(&disk->lock);
	}
	spin_unlock_irq(&disk->lock);
}

/* Take the open gap and its limits; false: no gap is open, or nothing may be read. */
static bool fb_reader_take(struct fb_coverage *cov, struct fb_reader_job *job)
{
	struct fb_disk *disk = cov->disk;
	struct fb_limits *lim = &job->lim;
	u64 spent_ns;
	bool open;

	guard(spinlock_irq)(&disk->lock);
	open = fb_gap_take(&disk->mail, &disk->lookahead, ktime_get_ns()) &&
	       fb_coverage_may_read(disk);
	job->gap = disk->mail.gap;
	*lim = disk->mail.lim;
	job->gen = disk->mail.gen;
	job->shared = disk->mail.shared;
	job->cost_ppm = job->shared ? disk->mail.cost_ppm : FB_LEFTOVER_COST_PPM;
	spent_ns = job->shared ? disk->mail.spent_ns : 0;
	job->budget_ns = disk->mail.search_ns - min(disk->mail.search_ns, spent_ns);
	if (lim->odds) {
		cov->odds = *lim->odds;
		if (job->shared)
			cov->odds.price = disk->mail.price;
		fb_limits_weigh(lim, &cov->odds);
	}
	return open;
}

/* Count a search; true: the round has more gaps, and no carrier is due. */
static bool fb_reader_count(struct fb_disk *disk, u64 ns)
{
	bool more;

	guard(spinlock_irq)(&disk->lock);
	more = disk->mail.asked && !disk->reads.due;
	disk->mail.spent_ns += ns;
	disk->stats.search_ns += ns;
	return more;
}

static u64 fb_reader_step(struct fb_search *s, bool *more)
{
	u64 begin = ktime_get_ns();
	u32 i;

	*more = true;
	for (i = 0; *more && i < FB_READER_STEPS; i++)
		*more = fb_search_step(s);
	return ktime_get_ns() - begin;
}

/* one of the last blocks, which fits into no gap; a plan without value (sched/round.c) */
static void fb_reader_leftover(struct fb_coverage *cov, enum fb_leftover_search search,
			       const struct fb_reader_job *job)
{
	struct fb_plan plan = { .kind = FB_PLAN_SEPARATE, .npieces = 1, .wanted = 1 };
	const struct fb_bitmap *map = &cov->chosen->map;
	u32 granule = cov->disk->granule;
	u64 now = ktime_get_ns();
	u64 block;

	if (!fb_leftover_due(&cov->leftover, search, map->n_wanted, job->cost_ppm, now))
		return;
	block = fb_bitmap_next_wanted(map, 0, map->granules);
	plan.piece[0].lbn = block * granule;
	plan.piece[0].nsect = min_t(u64, granule, cov->disk->sectors - plan.piece[0].lbn);
	if (fb_quarantine_divert(&cov->disk->quarantine, map, &plan.piece[0]) &&
	    fb_coverage_cut(cov, &plan) && fb_reader_publish(cov->disk, &plan, job->gen))
		fb_leftover_read(&cov->leftover, cov->disk->model, &job->gap, plan.piece[0].lbn,
				 plan.piece[0].nsect, now);
}

/* Search the next gap, if there is one; true: its round has more of them, and nothing is urgent. */
static bool fb_reader_search(struct fb_coverage *cov)
{
	struct fb_disk *disk = cov->disk;
	struct fb_search *s = &cov->search;
	struct fb_reader_job job;
	struct fb_plan plan;
	u64 value = 0, spent_ns = 0;
	u32 found = 0;
	bool more, again;

	fb_reader_ask(cov);
	if (!fb_reader_take(cov, &job))
		return false;
	/* A gap means foreground work, so the drive is awake. */
	fb_drive_query_once(cov);
	/* The search must not find blocks that were sent before this gap was opened. */
	fb_coverage_absorb(cov);
	if (!cov->chosen || !cov->chosen->map.n_wanted ||
	    !fb_task_choice_may_take(cov->chosen))
		return false;
	fb_task_choice_weigh(cov, &job.lim);
	job.lim.avoid = disk->quarantine.zone;
	job.lim.navoid = disk->quarantine.zones;
	fb_search_start(s, disk->model, &cov->chosen->map, &job.gap, &job.lim);
	do {
		/* Time that others run in cond_resched() does not count against the budget. */
		spent_ns += fb_reader_step(s, &more);
		if (s->best.value > value) {
			value = s->best.value;
			plan = s->best;
			if (fb_coverage_cut(cov, &plan)) {
				found = plan.wanted;
				if (!fb_reader_publish(disk, &plan, job.gen))
					break;
			}
		}
		cond_resched();
	} while (more && READ_ONCE(disk->mail.gen) == job.gen && spent_ns < job.budget_ns);
	again = fb_reader_count(disk, spent_ns);
	/* Of gaps that share a choice only the one that is used counts. */
	if (!job.shared)
		fb_block_value_gap(&cov->chosen->worth, value);
	/* who looks for something better only has not looked everywhere */
	if (job.lim.separate && (found || !job.lim.least_value))
		fb_reader_leftover(cov, found ? FB_LEFTOVER_FOUND :
				   more ? FB_LEFTOVER_CUT : FB_LEFTOVER_VAIN, &job);
	return job.shared && again;
}

static bool fb_reader_must_return(struct fb_disk *disk)
{
	lockdep_assert_held(&disk->lock);
	if (!disk->reads.rq)
		return false;
	if ((!fb_coverage_wants(disk) && !fb_probe_waits(disk)) || fb_free_read_is_awaited(disk))
		return true;
	if (disk->fg.active || fb_idle_reader_is_used(&disk->idle.reader))
		return false;
	return ktime_get_ns() - max(disk->fg.last_ns, disk->idle.reader.used_ns) >
	       FB_READER_HOLD_NS;
}

static void fb_reader_mind_carrier(struct fb_disk *disk)
{
	bool back;

	scoped_guard(spinlock_irq, &disk->lock)
		back = fb_reader_must_return(disk);
	if (back)
		fb_free_read_return(disk);
	else if (READ_ONCE(disk->reads.due))
		fb_free_read_enter(disk, NULL);
}

/* A model has come while there are tasks: their maps count by its tracks from now on. */
static void fb_reader_take_model(struct fb_coverage *cov)
{
	struct fb_disk *disk = cov->disk;
	struct freeblock_task *task;
	u32 i = 0;

	if (!READ_ONCE(disk->next_model))
		return;
	/* a queue freeze would wait for it */
	fb_free_read_return(disk);
	guard(mutex)(&disk->config);
	if (fb_model_take(disk)) {
		while ((task = fb_coverage_next_task(cov, &i))) {
			fb_model_regroup(disk, &task->map);
			task->weighed = false;
		}
	}
}

static bool fb_reader_has_work(struct fb_disk *disk)
{
	bool work;

	if (kthread_should_stop())
		return true;
	guard(spinlock_irq)(&disk->lock);
	work = disk->mail.open || disk->mail.asked || disk->reads.due || disk->idle.woken ||
	       disk->recovery.stop || disk->next_model ||
	       fb_coverage_has_work(disk->cov) ||
	       (disk->model && fb_seek_fit_due(&disk->seek_fit, ktime_get_ns())) ||
	       fb_late_tell_due_ns(disk) <= ktime_get_ns();
	disk->idle.woken = false;
	return work;
}

/* Return how long to wait if nothing happens; U64_MAX: until something does. */
static u64 fb_reader_patience_ns(struct fb_coverage *cov)
{
	struct fb_disk *disk = cov->disk;
	u64 ns = U64_MAX, now, due_ns;

	spin_lock_irq(&disk->lock);
	if (disk->reads.carrier || cov->blocked)
		ns = FB_READER_HOLD_NS;
	now = ktime_get_ns();
	due_ns = min3(fb_idle_due_ns(disk), fb_late_read_due_ns(disk), fb_late_tell_due_ns(disk));
	spin_unlock_irq(&disk->lock);
	due_ns = min(due_ns, fb_late_measure_ns(cov));
	if (due_ns != U64_MAX)
		ns = min(ns, due_ns > now ? due_ns - now : 0);
	return ns;
}

static void fb_reader_wait(struct fb_coverage *cov)
{
	struct fb_disk *disk = cov->disk;
	u64 ns = fb_reader_patience_ns(cov);

	if (ns == U64_MAX)
		wait_event_idle(disk->wait, fb_reader_has_work(disk));
	else if (ns && wait_event_interruptible_hrtimeout(disk->wait, fb_reader_has_work(disk),
							  ns_to_ktime(ns)))
		cov->blocked = false;
}

static bool fb_reader_drained(struct fb_disk *disk)
{
	struct fb_free_read *buf = NULL;
	bool drained = true;

	guard(spinlock_irq)(&disk->lock);
	while ((buf = fb_free_read_next(disk->reads.bufs, buf)))
		drained &= buf->state == FB_FREE_READ_FREE;
	return drained;
}

static void fb_reader_drain(struct fb_coverage *cov)
{
	struct fb_disk *disk = cov->disk;

	for (;;) {
		spin_lock_irq(&disk->lock);
		disk->reads.due = false;
		disk->idle.reader.ready = false;
		fb_gap_void(&disk->mail);
		spin_unlock_irq(&disk->lock);
		fb_free_read_return(disk);
		fb_coverage_absorb(cov);
		if (fb_reader_drained(disk))
			return;
		wait_event_idle_timeout(disk->wait, fb_reader_drained(disk),
					nsecs_to_jiffies(FB_READER_HOLD_NS));
	}
}

/*
 * Read for a disk's tasks. It is not frozen for suspend: a suspending disk waits for the carrier.
 */
int fb_reader_thread(void *data)
{
	struct fb_coverage *cov = data;
	u32 i;

	set_user_nice(current, MAX_NICE);
	while (!kthread_should_stop()) {
		fb_reader_wait(cov);
		/* This comes first: the next piece of a plan in use may be waiting for it. */
		fb_reader_mind_carrier(cov->disk);
		fb_measure_charge(cov->disk);
		fb_reader_take_model(cov);
		fb_coverage_absorb(cov);
		fb_coverage_attend(cov);
		fb_delivery_mind_host(cov);
		fb_late_tell(cov);
		fb_model_correct(cov->disk);
		for (i = 0; i < FB_READER_GAPS && fb_reader_search(cov); i++)
			;
		fb_late_read(cov);
		fb_idle_read(cov);
	}
	fb_reader_drain(cov);
	return 0;
}

/* It gets no new carrier; a submission under way does not wait for the queue (NOWAIT). */
static void fb_reader_detached(struct fb_disk *disk)
{
	wait_event(disk->wait, !READ_ONCE(disk->reads.submitting));
	WARN_ON_ONCE(disk->reads.rq);
}

static void fb_reader_void(struct fb_disk *disk)
{
	fb_gap_void(&disk->mail);
}

const struct fb_disk_client fb_reader_client = {
	.changed = fb_reader_void,
	.model_swapped = fb_reader_void,
	.detached = fb_reader_detached,
	.cpu_offline = fb_free_read_return,
};
