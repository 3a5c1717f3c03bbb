// SPDX-License-Identifier: GPL-2.0
/*
 * What free reads cost: the controlled trial of one disk (core/cost/cost.h); and how fast they may
 * be (max_kib_s). Locks: fb_disk.lock, held by every caller; the work judges a copy without it.
 */
#include <linux/module.h>
#include <linux/random.h>

#include "disk/disk.h"

static bool fb_measure_trial = true;
module_param_named(trial, fb_measure_trial, bool, 0444);
MODULE_PARM_DESC(trial, "measure what free reads cost, until a disk's own trial says otherwise");

/* Requests in the system, pending or at the drive. */
u32 fb_measure_counted(const struct fb_disk *disk)
{
	const u32 *n = disk->measure.cost.trial.n;

	return n[FB_TRIAL_READ] + n[FB_TRIAL_WRITE];
}

static u64 fb_measure_hundredths(u64 ns)
{
	return div_u64(ns + 5 * NSEC_PER_USEC, 10 * NSEC_PER_USEC);
}

/* "0.61 +- 0.20 ms (3.1 %)" */
static int fb_measure_number(const struct fb_trial_cost *cost, char *buf, size_t size)
{
	u64 added = fb_measure_hundredths(abs(cost->diff_ns));
	u64 error = fb_measure_hundredths(cost->error_ns);
	u64 per_mille = div_u64(abs(cost->ppm) + 500, 1000);
	const char *sign = cost->diff_ns < 0 ? "-" : "";

	return scnprintf(buf, size, "%s%llu.%02llu +- %llu.%02llu ms (%s%llu.%llu %%)", sign,
			 added / 100, added % 100, error / 100, error % 100, sign, per_mille / 10,
			 per_mille % 10);
}

static int fb_measure_stopped(const struct fb_cost *c, char *buf, size_t size)
{
	static const char *const what[] = {
		[FB_COST_NO_GAPS] = "reads in gaps stopped", [FB_COST_NOTHING] = "stopped",
		[FB_COST_FOR_GOOD] = "stopped for good",
	};
	int len;

	if (c->level == FB_COST_ALL)
		return 0;
	len = scnprintf(buf, size, "; %s", what[c->level]);
	if (!c->stops)
		return len;
	len += scnprintf(buf + len, size - len, c->slow ? ", for slow reads, at " : " at ");
	return len + fb_measure_number(&c->stop, buf + len, size - len);
}

/* What free reads cost, as a line of FB_MEASURE_TEXT at most. */
void fb_measure_describe(const struct fb_disk *disk, char *buf, size_t size)
{
	const struct fb_cost *c = &disk->measure.cost;
	bool read = c->trial.told[FB_TRIAL_READ].known;
	const struct fb_trial_cost *told = &c->trial.told[read ? FB_TRIAL_READ : FB_TRIAL_KINDS];
	int len;

	lockdep_assert_held(&disk->lock);
	if (!disk->measure.on) {
		strscpy(buf, "not measured", size);
		return;
	}
	if (told->known) {
		len = scnprintf(buf, size, "free reads add ");
		len += fb_measure_number(told, buf + len, size - len);
		len += scnprintf(buf + len, size - len, " to a %s", read ? "read" : "request");
	} else {
		len = scnprintf(buf, size, "not known");
	}
	fb_measure_stopped(c, buf + len, size - len);
}

/* The guard has stopped something: log it, and send an event. Without the lock. */
static void fb_measure_tell(struct fb_disk *disk, const struct fb_cost *c, const char *kind,
			    u64 now)
{
	const char *why = c->slow ? "and many are slow" : "over the limit";
	char name[FB_NAME_LEN], number[FB_MEASURE_TEXT];
	u64 minutes = c->until_ns ? div64_u64(c->until_ns - now, 60 * NSEC_PER_SEC) : 0;

	fb_disk_copy_name(disk, name, sizeof(name));
	fb_measure_number(&c->stop, number, sizeof(number));
	if (minutes)
		pr_notice("freeblock: %s: free reads add %s to a %s, %s: %s stop for %llu minutes\n",
			  name, number, kind, why,
			  c->level == FB_COST_NO_GAPS ? "those in gaps" : "they", minutes);
	else
		pr_notice("freeblock: %s: free reads add %s to a %s, %s, for the fourth time in a day: they stop until trial is written\n",
			  name, number, kind, why);
	fb_disk_uevent(disk, "FREEBLOCK_COST_STOPPED", c->level);
}

static void fb_measure_work(struct work_struct *work)
{
	struct fb_measure *m = container_of(work, struct fb_measure, work);
	struct fb_disk *disk = container_of(m, struct fb_disk, measure);
	struct fb_cost_verdict *v = &m->verdict;
	bool stopped;
	u64 now;

	scoped_guard(spinlock_irq, &disk->lock)
		m->copy = m->cost;
	fb_cost_judge(&m->copy, v);
	spin_lock_irq(&disk->lock);
	now = ktime_get_ns();
	stopped = fb_cost_settle(&m->cost, v, now);
	if (stopped)
		m->copy = m->cost;
	/* the scheduler asks what may be read now, and when to ask again */
	fb_disk_tell_wants(disk);
	spin_unlock_irq(&disk->lock);
	if (stopped)
		fb_measure_tell(disk, &m->copy, v->trial.kind == FB_TRIAL_READ ? "read" : "request",
				now);
}

static void fb_measure_init(struct fb_disk *disk)
{
	INIT_WORK(&disk->measure.work, fb_measure_work);
	fb_cost_init(&disk->measure.cost, get_random_u64(), true);
	disk->measure.may = FB_COST_GAPS | FB_COST_IDLE;
	disk->measure.on = fb_measure_trial;
}

/* without a scheduler no request is counted; those that were have ended */
static void fb_measure_changed(struct fb_disk *disk)
{
	if (disk->sched)
		return;
	WARN_ON_ONCE(fb_measure_counted(disk));
	fb_cost_want(&disk->measure.cost, false, ktime_get_ns());
}

static void fb_measure_exit(struct fb_disk *disk)
{
	cancel_work_sync(&disk->measure.work);
}

const struct fb_disk_client fb_measure_client = {
	.init = fb_measure_init,
	.exit = fb_measure_exit,
	.changed = fb_measure_changed,
};

static void fb_measure_allow(struct fb_disk *disk, u32 may)
{
	lockdep_assert_held(&disk->lock);
	disk->idle.wait.withheld = fb_cost_controls(&disk->measure.cost);
	if (may == disk->measure.may)
		return;
	disk->measure.may = may;
	if (!(may & FB_COST_GAPS))
		fb_gap_void(&disk->mail);
	if (!(may & FB_COST_IDLE))
		disk->idle.reader.ready = false;
	/* on a disk that nobody else uses nothing else wakes the thread */
	disk->idle.woken = true;
	wake_up(&disk->wait);
}

/* What may be read: by what it costs, and by how much has been read. */
static u32 fb_measure_may(struct fb_disk *disk, u64 now)
{
	struct fb_measure *m = &disk->measure;
	/* whatever the pace: the trial goes on, or the timer would be set to a time that is over */
	u32 may = fb_cost_may(&m->cost, now);

	fb_deadline_keep_pace(&m->pace, READ_ONCE(m->max_kib_s), disk->reads.ended - m->ended, now);
	m->ended = disk->reads.ended;
	return m->pace.open_ns ? 0 : may;
}

/* Reads may have ended: none is sent until their time at max_kib_s is over. */
void fb_measure_charge(struct fb_disk *disk)
{
	struct fb_measure *m = &disk->measure;
	u32 may;

	if (!READ_ONCE(m->max_kib_s))
		return;
	guard(spinlock_irq)(&disk->lock);
	may = m->may;
	fb_measure_allow(disk, fb_measure_may(disk, ktime_get_ns()));
	if (m->may != may)
		fb_disk_tell_wants(disk);
}

/* A stretch of the trial may have ended: what may be read now? @gaps_ppm: what gaps may cost. */
void fb_measure_look(struct fb_disk *disk, u32 gaps_ppm, u64 now)
{
	const struct fb_trial_limit limit = {
		.ns = disk->idle.wait.goal_mean_ns,
		.ppm = gaps_ppm,
		.most_ppm = FB_COST_MOST_PPM,
		.max_ns = disk->idle.wait.goal_max_ns,
	};
	struct fb_measure *m = &disk->measure;
	bool tasks;

	lockdep_assert_held(&disk->lock);
	if (m->on) {
		m->cost.gaps = !fb_level_unmapped(disk);
		fb_trial_set_limit(&m->cost.trial, &limit);
		fb_coverage_wanted(disk, &tasks);
		fb_cost_want(&m->cost, tasks, now);
	}
	fb_measure_allow(disk, fb_measure_may(disk, now));
	if (m->on && fb_cost_due(&m->cost))
		schedule_work(&m->work);
}

/* When to look next, if nothing happens before; 0: never. */
u64 fb_measure_due_ns(const struct fb_disk *disk)
{
	const struct fb_measure *m = &disk->measure;
	u64 due_ns = m->on ? fb_cost_next_ns(&m->cost) : FB_TRIAL_NEVER;

	if (m->pace.open_ns)
		due_ns = min(due_ns, m->pace.open_ns);
	return due_ns == FB_TRIAL_NEVER ? 0 : due_ns;
}

/* Switch the trial on or off: what was stopped resumes. Or stop all, as for good. */
void fb_measure_set(struct fb_disk *disk, enum fb_measure_word word)
{
	u64 now = ktime_get_ns();

	lockdep_assert_held(&disk->lock);
	WRITE_ONCE(disk->measure.on, word != FB_MEASURE_OFF);
	fb_cost_want(&disk->measure.cost, false, now);
	if (word == FB_MEASURE_STOP)
		fb_cost_stop(&disk->measure.cost, now);
	else
		fb_cost_reset(&disk->measure.cost, now);
	fb_measure_allow(disk, fb_measure_may(disk, now));
}

/* Why nothing is read in gaps or idle time (@kind); NULL: it is no matter of this. */
const char *fb_measure_bars(const struct fb_disk *disk, u32 kind)
{
	if (disk->measure.may & kind || disk->measure.pace.open_ns)
		return NULL;
	return fb_cost_controls(&disk->measure.cost) ? "off: withheld, to measure what they cost" :
		"off: they cost the foreground more than they may";
}
