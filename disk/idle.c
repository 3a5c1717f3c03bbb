// SPDX-License-Identifier: GPL-2.0
/*
 * Reads while the disk is idle (Practical Scrubbing, V): the thread's part. core/idle/reader.c
 * decides when and where; here the drive is found to be awake, and the carrier entered. Locks:
 * fb_disk.lock.
 */
#include "disk/disk.h"
#include "include/compat/fb_compat.h"

static void fb_idle_init(struct fb_disk *disk)
{
	disk->idle.goal_mean_us = FB_IDLE_POLICY_MEAN_NS / NSEC_PER_USEC;
	disk->idle.goal_max_us = FB_IDLE_POLICY_MAX_NS / NSEC_PER_USEC;
	disk->idle.wait_us = FB_IDLE_AUTO;
	disk->idle.size_kib = FB_IDLE_AUTO;
	fb_idle_policy_init(&disk->idle.wait, ktime_get_ns());
	fb_destage_init(&disk->destage, FB_IDLE_TURN_NS);
	disk->idle.reader.wait = &disk->idle.wait;
	disk->idle.reader.destage = &disk->destage;
	fb_power_begin(&disk->idle.power, ktime_get_ns());
}

static void fb_idle_model_swapped(struct fb_disk *disk)
{
	const struct disk_model *dm = disk->model;

	lockdep_assert_held(&disk->lock);
	if (dm)
		fb_idle_policy_set_drive(&disk->idle.wait, dm_period_ns(dm),
					 min_t(u64, U32_MAX, div_u64(dm_info(dm)->period_ps,
								     dm_info(dm)->spt_least)));
	else
		fb_idle_policy_set_drive(&disk->idle.wait, FB_IDLE_TURN_NS, FB_IDLE_SECTOR_PS);
}

/* Have the thread compute anew when to read. */
void fb_idle_wake(struct fb_disk *disk)
{
	lockdep_assert_held(&disk->lock);
	if (!disk->cov)
		return;
	disk->idle.woken = true;
	wake_up(&disk->wait);
}

/* Apply changed settings. */
void fb_idle_changed(struct fb_disk *disk)
{
	struct fb_idle *idle = &disk->idle;
	bool wait_auto = idle->wait_us == FB_IDLE_AUTO;

	lockdep_assert_held(&disk->lock);
	fb_idle_policy_set_goals(&idle->wait, (u64)idle->goal_mean_us * NSEC_PER_USEC,
				 (u64)idle->goal_max_us * NSEC_PER_USEC);
	fb_idle_policy_set_fixed(&idle->wait,
				 wait_auto ? FB_IDLE_POLICY_AUTO :
					     (u64)idle->wait_us * NSEC_PER_USEC,
				 idle->size_kib == FB_IDLE_AUTO ? 0 : idle->size_kib * 2);
	fb_idle_wake(disk);
}

/* Another scheduler may have used the disk: what the drive has to write is not known. */
static void fb_idle_attach(struct fb_disk *disk, struct gendisk *gd)
{
	u64 now = ktime_get_ns();

	spin_lock_irq(&disk->lock);
	disk->fg.active = false;
	/* the other's commands count: no probe was sent right behind the one before */
	disk->idle.sent++;
	fb_destage_forget(&disk->destage, now);
	fb_power_begin(&disk->idle.power, now);
	disk->idle.power.doubt = true;
	fb_idle_policy_restart(&disk->idle.wait, now);
	spin_unlock_irq(&disk->lock);
}

static void fb_idle_disk_changed(struct fb_disk *disk)
{
	disk->idle.reader.ready = false;
	fb_idle_wake(disk);
}

const struct fb_disk_client fb_idle_client = {
	.init = fb_idle_init,
	.attach = fb_idle_attach,
	.changed = fb_idle_disk_changed,
	.model_swapped = fb_idle_model_swapped,
};

/* Note that the last foreground request has ended. */
void fb_idle_quiet(struct fb_disk *disk)
{
	lockdep_assert_held(&disk->lock);
	fb_idle_policy_idle(&disk->idle.wait, ktime_get_ns());
	fb_idle_wake(disk);
}

/* Note that the scheduler has sent the idle read. */
void fb_idle_sent(struct fb_disk *disk)
{
	lockdep_assert_held(&disk->lock);
	disk->idle.probing = disk->idle.probe;
	/* so that the next one does not have to wait for its carrier */
	fb_free_read_need(disk);
}

/* ---- power ---- */

static bool fb_idle_is_wanted(struct fb_disk *disk)
{
	return fb_coverage_wants(disk) || fb_probe_waits(disk);
}

/* Have commands bypassed the scheduler? Those that end at once no kernel tells; retries count. */
static bool fb_idle_was_passed(struct fb_disk *disk)
{
	const struct scsi_device *sdev = fb_disk_sdev(disk);
	u32 passed = (sdev ? atomic_read(&sdev->iorequest_cnt) : 0) - disk->idle.sent;
	bool more = passed != disk->idle.passed;

	disk->idle.passed = passed;
	return more;
}

/* A command bypasses the scheduler. It may have put the drive to sleep, so a query comes first. */
void fb_idle_passed(struct fb_disk *disk)
{
	lockdep_assert_held(&disk->lock);
	disk->idle.reader.ready = false;
	disk->idle.power.doubt = true;
	fb_idle_wake(disk);
}

/* Whether idle reads are sent, as a message. @why: the Waiting policy's. [L] */
const char *fb_idle_why(struct fb_disk *disk, enum fb_idle_policy_why why, u64 now)
{
	const char *asleep = NULL;

	if (fb_level_unserved(disk))
		return "off: not scheduling";
	if (fb_measure_bars(disk, FB_COST_IDLE))
		return fb_measure_bars(disk, FB_COST_IDLE);
	if (why != FB_IDLE_POLICY_OFF && fb_idle_is_wanted(disk))
		asleep = disk->measure.pace.open_ns ? "paused: max_kib_s is reached" :
						       fb_drive_query_asleep(disk, now);
	return asleep ? asleep : fb_idle_policy_why_name[why];
}

/* When to look for an idle read, past or future; FB_IDLE_POLICY_NEVER: something must change. */
u64 fb_idle_due_ns(struct fb_disk *disk)
{
	struct fb_idle *idle = &disk->idle;
	u64 now = ktime_get_ns(), least_ns = FB_IDLE_POLICY_NEVER;

	lockdep_assert_held(&disk->lock);
	/* a probe whose end is not entered yet is still the next one of its call */
	if (!idle->probing && !disk->fg.active && fb_idle_is_wanted(disk) &&
	    disk->measure.may & FB_COST_IDLE)
		least_ns = fb_power_due_ns(&idle->power, fb_drive_query_touched_ns(disk), now);
	return fb_idle_reader_due_ns(&idle->reader, least_ns, now);
}

/* Is there a task that is past its deadline? No deadline, 0, wraps to the largest. */
static bool fb_idle_is_overdue(const struct fb_coverage *cov)
{
	const struct freeblock_task *task;
	u64 now = ktime_get_ns();
	u32 i = 0;

	while ((task = fb_coverage_next_active(cov, &i)))
		if (READ_ONCE(task->deadline_ns) - 1 < now && task->map.n_wanted)
			return true;
	return false;
}

/* the drive's power state: suspended, asked for, or active as it has just had a command */
static enum fb_power_state fb_idle_ask(struct fb_disk *disk)
{
	struct fb_power *power = &disk->idle.power;
	bool ask, suspended;

	spin_lock_irq(&disk->lock);
	if (fb_idle_was_passed(disk))
		power->doubt = true;
	ask = fb_power_must_ask(power, fb_drive_query_touched_ns(disk), ktime_get_ns());
	suspended = !disk->q || fb_compat_queue_sleeps(disk->q);
	power->doubt = false;
	if (ask)
		power->asked_ns = ktime_get_ns();
	spin_unlock_irq(&disk->lock);
	if (suspended)
		return FB_POWER_SUSPENDED;
	if (!ask)
		return FB_POWER_ACTIVE;
	/* a freeze would wait for it, and the query for the end of the freeze */
	fb_free_read_return(disk);
	return fb_drive_query_power(disk);
}

/* A drive that sleeps is woken for a task that is overdue, if the policy allows it. */
static bool fb_idle_is_awake(struct fb_coverage *cov)
{
	struct fb_disk *disk = cov->disk;
	struct fb_power *power = &disk->idle.power;
	enum fb_power_state state = fb_idle_ask(disk);
	bool wake = READ_ONCE(power->keep_awake) && fb_idle_is_overdue(cov);
	u64 now;

	spin_lock_irq(&disk->lock);
	now = ktime_get_ns();
	fb_power_told(power, state, fb_drive_query_touched_ns(disk), now);
	if (wake && state && state != FB_POWER_SUSPENDED) {
		disk->idle.reader.spins_up = true;
		fb_power_begin(power, now);
	}
	wake &= state == FB_POWER_SUSPENDED;
	spin_unlock_irq(&disk->lock);
	if (wake)
		fb_drive_query_resume(disk);
	return READ_ONCE(power->state) == FB_POWER_ACTIVE;
}

static bool fb_idle_find_block(struct fb_coverage *cov, struct freeblock_task *task,
			       struct fb_plan_piece *piece)
{
	struct fb_disk *disk = cov->disk;
	struct fb_idle_order_ask ask;
	struct dm_place head;
	bool checks, waits;
	u64 now;

	spin_lock_irq(&disk->lock);
	now = ktime_get_ns();
	fb_idle_reader_ask(&disk->idle.reader, fb_level_unmapped(disk) ? NULL : disk->head,
			   !disk->lookahead.off && fb_verify_how(disk) == FB_VERIFY_READ, &head,
			   &ask, now);
	ask.dm = disk->model;
	ask.bm = &task->map;
	ask.max_sectors = disk->q ? min(max(ask.max_sectors, fb_verify_least(disk)),
					fb_free_read_max(disk)) : 0;
	/* READ is to tell of a failed command first: others would come from the cache */
	waits = fb_recovery_waits(disk, now);
	checks = disk->verify.checking && disk->needs & FREEBLOCK_MEDIUM;
	spin_unlock_irq(&disk->lock);
	if (!ask.max_sectors)
		return false;
	if (!waits && fb_quarantine_idle(&disk->quarantine, &task->map, now, ask.max_sectors,
					 piece))
		return true;
	return !checks && fb_idle_reader_find(&task->idle_order, &disk->quarantine, &ask, piece,
					      now);
}

/* Find the next read. @probe: out: the call that it is a probe of; 0: it is for blocks. */
static bool fb_idle_find(struct fb_coverage *cov, struct fb_plan_piece *piece, u32 *probe)
{
	struct freeblock_task *task = fb_task_choice_idle(cov);

	*probe = task ? fb_probe_next(task, piece) : 0;
	if (*probe)
		return true;
	if (!task || !fb_idle_find_block(cov, task, piece))
		return false;
	fb_zone_cut(cov->disk, piece);
	return true;
}

/* Offer a read; false: it is no longer due. This thread must not run the queue at its priority. */
static bool fb_idle_offer(struct fb_disk *disk, const struct fb_plan_piece *piece, u32 probe)
{
	bool due;

	spin_lock_irq(&disk->lock);
	due = disk->reads.rq && fb_idle_due_ns(disk) <= ktime_get_ns();
	if (due) {
		disk->idle.probe = probe;
		fb_idle_reader_offer(&disk->idle.reader, piece, ktime_get_ns());
		disk->sched_ops->run_soon(disk);
	}
	spin_unlock_irq(&disk->lock);
	return due;
}

/* Begin an idle read if one is due. Called by the thread; may sleep, but not for the queue. */
void fb_idle_read(struct fb_coverage *cov)
{
	struct fb_disk *disk = cov->disk;
	struct fb_plan_piece piece;
	bool awake, due;
	u32 probe;

	spin_lock_irq(&disk->lock);
	due = fb_idle_due_ns(disk) <= ktime_get_ns();
	spin_unlock_irq(&disk->lock);
	if (!due)
		return;
	/* The scheduler must not take our query for foreground. */
	WRITE_ONCE(disk->idle.asking, true);
	awake = fb_idle_is_awake(cov);
	if (awake)
		fb_drive_query_once(cov);
	WRITE_ONCE(disk->idle.asking, false);
	/* its own commands */
	spin_lock_irq(&disk->lock);
	fb_idle_was_passed(disk);
	spin_unlock_irq(&disk->lock);
	if (!awake)
		return;
	/* This takes a while, so do it before fb_idle_find() computes the head's position. */
	fb_free_read_enter(disk, NULL);
	if (fb_idle_find(cov, &piece, &probe)) {
		fb_free_read_enter(disk, &piece);
		if (fb_idle_offer(disk, &piece, probe))
			return;
	}
	spin_lock_irq(&disk->lock);
	fb_idle_reader_miss(&disk->idle.reader, ktime_get_ns());
	spin_unlock_irq(&disk->lock);
}
