// SPDX-License-Identifier: GPL-2.0
/*
 * What a disk and its jobs show of themselves, one value a file: /sys/kernel/freeblock/<disk>/
 * state/, stats/, scan_stats/ and scrub_stats/. Each file is a line of a table here, and
 * described in Documentation/ABI/testing/sysfs-kernel-freeblock-stats. The tables of a disk can
 * also be printed as a whole, for debugfs.
 *
 * Locks: fb_disk.lock, to copy; what was copied is formatted without it. fb_job.lock for jobs.
 */
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "disk/disk.h"
#include "files.h"
#include "sched/sched.h"
#include "tasks/tasks.h"

/* A disk at one moment, so that sums agree */
struct fb_snapshot {
	u64 attached;			/* the scheduler is attached, and @sched valid */
	struct fb_report sched;		/* what it tells */
	struct fb_stats stats;
	struct fb_idle_policy_status idle;	/* state and counters of idle reads */
	u64 modelled;			/* there is a model */
	u64 tasks;			/* started and not over */
	u64 bad_blocks;			/* found */
	u64 alarms;			/* pauses for slow recoveries */
	u64 quarantine_dropped;		/* zones that ended early */
	u64 quarantine_zones;		/* of now */
	u64 quarantine_sectors;		/* their length */
	u64 idle_size_kib;		/* longest idle read */
	bool unfit;			/* the attached device is never scheduled */
	bool served;			/* the disk is scheduled, so it may be read */
	bool gaps;			/* and its gaps may be used */
	const char *scheduling;		/* "yes", or why not */
	/* what of the drive is known and used: "map", or "rates" or "none", and why no map */
	const char *knowledge;
	const char *idle_why;		/* whether idle reads are sent, or why not */
	const char *lift_source;	/* state of the look-ahead probe */
	const char *lift_dest;		/* likewise */
	const char *medium;		/* how the medium is read */
	const char *measured;		/* what free reads cost */
	const char *recovery;		/* how long the drive tries to read a bad sector */
	char why[FB_DOUBT_LEN];		/* text for @knowledge */
	char lifts[2][FB_LOOKAHEAD_TEXT];	/* texts for @lift_source and @lift_dest */
	char how[FB_VERIFY_TEXT];	/* text for @medium */
	char tries[FB_RECOVERY_TEXT];	/* text for @recovery */
	char cost[FB_MEASURE_TEXT];	/* text for @measured */
	u32 floor_ns[FB_CONSERVATISM_KINDS];	/* learnt conservatism */
	u32 counted;			/* requests in the system, as the trial counts them */
};

static void fb_snapshot_copy(struct fb_disk *fd, struct fb_snapshot *s, u64 now)
{
	const struct fb_quarantine *quarantine = &fd->quarantine;
	const char *why, *level;

	lockdep_assert_held(&fd->lock);
	why = fb_level_unserved(fd);
	s->scheduling = why ? why : "yes";
	s->unfit = !!fd->unfit;
	s->served = !why;
	why = fb_level_unmapped(fd);
	if (!why && !fb_phase_on(&fd->phase, now))
		why = "reads end at no angle of the model";
	level = s->served && fb_idle_policy_knows(&fd->idle.wait) ? "rates" : "none";
	if (why)
		snprintf(s->why, sizeof(s->why), "%s: %s", level, why);
	else
		strscpy(s->why, "map", sizeof(s->why));
	s->gaps = !why;
	s->attached = !!fd->sched;
	if (fd->sched)
		fb_report_take(fd, &s->sched);
	s->stats = fd->stats;
	fb_idle_policy_status(&fd->idle.wait, now, &s->idle);
	s->idle_why = fb_idle_why(fd, s->idle.why, now);
	s->modelled = !!fd->model;
	s->tasks = fb_disk_tasks(fd);
	s->bad_blocks = quarantine->total;
	s->alarms = quarantine->alarms;
	s->quarantine_dropped = quarantine->dropped;
	s->quarantine_zones = quarantine->zones;
	s->quarantine_sectors = fb_quarantine_quarantined(quarantine);
	fb_lookahead_describe(&fd->lookahead, FB_LIFT_SOURCE, now, s->lifts[0], FB_LOOKAHEAD_TEXT);
	fb_lookahead_describe(&fd->lookahead, FB_LIFT_DEST, now, s->lifts[1], FB_LOOKAHEAD_TEXT);
	fb_verify_describe(fd, s->how, sizeof(s->how));
	fb_recovery_describe(&fd->recovery, s->tries, sizeof(s->tries));
	fb_measure_describe(fd, s->cost, sizeof(s->cost));
	s->counted = fb_measure_counted(fd);
	memcpy(s->floor_ns, fd->conservatism.odds.floor_ns, sizeof(s->floor_ns));
}

/* Of a disk that is not read nothing is being found out, nor is it verified in any way. */
static void fb_snapshot_unserved(struct fb_snapshot *s)
{
	if (!s->served)
		s->medium = "none";
	if (s->unfit)
		s->recovery = "not asked: the disk cannot be scheduled";
	if (!s->gaps) {
		s->lift_source = "off";
		s->lift_dest = "off";
	}
}

/* take a snapshot, for kfree(); NULL: no memory */
static struct fb_snapshot *fb_snapshot_take(struct fb_disk *fd)
{
	/* a queue freeze may be waiting for this reader */
	struct fb_snapshot *s = kzalloc(sizeof(*s), GFP_NOIO);

	if (!s)
		return NULL;
	spin_lock_irq(&fd->lock);
	fb_snapshot_copy(fd, s, ktime_get_ns());
	spin_unlock_irq(&fd->lock);
	s->idle_size_kib = s->idle.sectors / 2;
	s->knowledge = s->why;
	s->lift_source = s->lifts[0];
	s->lift_dest = s->lifts[1];
	s->medium = s->how;
	s->recovery = s->tries;
	s->measured = s->cost;
	fb_snapshot_unserved(s);
	return s;
}

/* ---- a file ---- */

enum fb_snapshot_kind {
	FB_SNAPSHOT_U64,
	FB_SNAPSHOT_S64,
	FB_SNAPSHOT_LINE,	/* a text */
	FB_SNAPSHOT_WORD,	/* a text, of which sysfs shows the first word */
};

/* A value */
struct fb_snapshot_file {
	struct kobj_attribute attr;
	enum fb_snapshot_kind kind;
	size_t offset;	/* where it is in struct fb_snapshot, or in struct fb_job_stats */
	u32 unit;			/* the file's unit in units of the field */
	bool sched;	/* there is no such value while another scheduler is attached */
};

static ssize_t fb_snapshot_emit(const struct fb_snapshot_file *file, const void *snapshot,
				char *page)
{
	const void *field = snapshot + file->offset;
	const char *text;

	switch (file->kind) {
	case FB_SNAPSHOT_U64:
		return sysfs_emit(page, "%llu\n", div_u64(*(const u64 *)field, file->unit));
	case FB_SNAPSHOT_S64:
		return sysfs_emit(page, "%lld\n", div_s64(*(const s64 *)field, file->unit));
	case FB_SNAPSHOT_LINE:
		return sysfs_emit(page, "%s\n", *(const char *const *)field);
	case FB_SNAPSHOT_WORD:
		text = *(const char *const *)field;
		return sysfs_emit(page, "%.*s\n", (int)strcspn(text, " "), text);
	}
	return -EINVAL;
}

static struct fb_disk *fb_snapshot_disk(struct kobject *kobj)
{
	return container_of(kobj, struct fb_disk, folder.kobj);
}

static ssize_t fb_snapshot_show(struct kobject *kobj, struct kobj_attribute *attr, char *page)
{
	const struct fb_snapshot_file *file = container_of(attr, struct fb_snapshot_file, attr);
	struct fb_snapshot *s = fb_snapshot_take(fb_snapshot_disk(kobj));
	ssize_t len = -ENODATA;

	if (!s)
		return -ENOMEM;
	if (s->attached || !file->sched)
		len = fb_snapshot_emit(file, s, page);
	kfree(s);
	return len;
}

/* an element of a group's table, where the group wants the address of its attribute */
#define FB_SNAPSHOT_FILE(_name, _kind, _show, _offset, _unit, _sched)			\
	(&((struct fb_snapshot_file[]) { {						\
		.attr = __ATTR(_name, 0444, _show, NULL),				\
		.kind = _kind,								\
		.offset = _offset,							\
		.unit = _unit,								\
		.sched = _sched,							\
	} })[0].attr.attr)

#define FB_SNAPSHOT_DISK(_name, _kind, _field, _unit, _sched)				\
	FB_SNAPSHOT_FILE(_name, _kind, fb_snapshot_show,				\
			 offsetof(struct fb_snapshot, _field), _unit, _sched)

/* ---- state ---- */

#define FB_SNAPSHOT_STATE(_name, _kind, _field)						\
	FB_SNAPSHOT_DISK(_name, FB_SNAPSHOT_##_kind, _field, 1, false)

#define FB_SNAPSHOT_SCHED(_name, _kind, _field)						\
	FB_SNAPSHOT_DISK(_name, FB_SNAPSHOT_##_kind, sched._field, 1, true)

static struct attribute *fb_snapshot_state[] = {
	FB_SNAPSHOT_STATE(attached, U64, attached),
	FB_SNAPSHOT_STATE(model, U64, modelled),
	FB_SNAPSHOT_STATE(scheduling, LINE, scheduling),
	FB_SNAPSHOT_STATE(knowledge, LINE, knowledge),
	FB_SNAPSHOT_SCHED(free_reads, LINE, free_reads),
	FB_SNAPSHOT_SCHED(phase, WORD, phase),
	FB_SNAPSHOT_SCHED(order, WORD, order),
	FB_SNAPSHOT_SCHED(period_ps, U64, period_ps),
	FB_SNAPSHOT_SCHED(pending, U64, pending),
	FB_SNAPSHOT_SCHED(background_pending, U64, background_pending),
	FB_SNAPSHOT_SCHED(in_flight, U64, in_flight),
	FB_SNAPSHOT_STATE(tasks, U64, tasks),
	FB_SNAPSHOT_STATE(lift_source, WORD, lift_source),
	FB_SNAPSHOT_STATE(lift_dest, WORD, lift_dest),
	FB_SNAPSHOT_STATE(medium, LINE, medium),
	FB_SNAPSHOT_STATE(recovery, LINE, recovery),
	FB_SNAPSHOT_STATE(cost, LINE, measured),
	FB_SNAPSHOT_STATE(quarantine_zones, U64, quarantine_zones),
	FB_SNAPSHOT_STATE(quarantine_sectors, U64, quarantine_sectors),
	FB_SNAPSHOT_STATE(idle, LINE, idle_why),
	FB_SNAPSHOT_DISK(idle_wait_us, FB_SNAPSHOT_U64, idle.wait_ns, NSEC_PER_USEC, false),
	FB_SNAPSHOT_STATE(idle_size_kib, U64, idle_size_kib),
	FB_SNAPSHOT_STATE(idle_mean_ns, U64, idle.mean_ns),
	NULL
};

const struct attribute_group fb_snapshot_state_group = {
	.name = "state",
	.attrs = fb_snapshot_state,
};

/* ---- counters ---- */

#define FB_SNAPSHOT_COUNTER(_name, _field)						\
	FB_SNAPSHOT_DISK(_name, FB_SNAPSHOT_U64, _field, 1, false)

#define FB_SNAPSHOT_COUNTER_IN(_name, _field, _unit)					\
	FB_SNAPSHOT_DISK(_name, FB_SNAPSHOT_U64, _field, _unit, false)

static struct attribute *fb_snapshot_stats[] = {
	FB_SNAPSHOT_COUNTER(fg_requests, stats.fg_requests),
	FB_SNAPSHOT_COUNTER(fg_reads, stats.fg_reads),
	FB_SNAPSHOT_COUNTER(fg_writes, stats.fg_writes),
	FB_SNAPSHOT_COUNTER(fg_read_ns, stats.fg_read_ns),
	FB_SNAPSHOT_COUNTER(fg_write_ns, stats.fg_write_ns),
	FB_SNAPSHOT_COUNTER(untracked, stats.untracked),
	FB_SNAPSHOT_COUNTER(out_of_order, stats.engine.out_of_order),
	FB_SNAPSHOT_COUNTER(max_in_flight, stats.engine.max_in_flight),
	FB_SNAPSHOT_COUNTER(pred_total, stats.engine.ends.predicted),
	FB_SNAPSHOT_COUNTER(pred_within_50us, stats.engine.ends.within_50us),
	FB_SNAPSHOT_COUNTER(end_within_50us, stats.engine.ends.end_within_50us),
	FB_SNAPSHOT_COUNTER(miss_fg, stats.engine.ends.miss[FB_CAUSE_PLAIN]),
	FB_SNAPSHOT_COUNTER(miss_prepend, stats.engine.ends.miss[FB_CAUSE_PREPEND]),
	FB_SNAPSHOT_COUNTER(miss_separate, stats.engine.ends.miss[FB_CAUSE_SEPARATE]),
	FB_SNAPSHOT_COUNTER(miss_after, stats.engine.ends.miss[FB_CAUSE_AFTER]),
	FB_SNAPSHOT_COUNTER(early_turn, stats.engine.ends.early_turn),
	FB_SNAPSHOT_COUNTER(mechanical, stats.engine.ends.verdicts[FB_HEAD_MECHANICAL]),
	FB_SNAPSHOT_COUNTER(early, stats.engine.ends.verdicts[FB_HEAD_EARLY]),
	FB_SNAPSHOT_COUNTER(odd, stats.engine.ends.verdicts[FB_HEAD_ODD]),
	FB_SNAPSHOT_COUNTER(prepends, stats.reads[FB_FREE_READ_PREPENDED]),
	FB_SNAPSHOT_COUNTER(separates, stats.reads[FB_FREE_READ_SEPARATE]),
	FB_SNAPSHOT_COUNTER(idle_reads, stats.reads[FB_FREE_READ_IDLE]),
	FB_SNAPSHOT_COUNTER(hurried, stats.reads[FB_FREE_READ_HURRIED]),
	FB_SNAPSHOT_COUNTER(promoted, stats.reads[FB_FREE_READ_PROMOTED]),
	FB_SNAPSHOT_COUNTER(prepend_sectors, stats.read_sectors[FB_FREE_READ_PREPENDED]),
	FB_SNAPSHOT_COUNTER(separate_sectors, stats.read_sectors[FB_FREE_READ_SEPARATE]),
	FB_SNAPSHOT_COUNTER(idle_sectors, stats.read_sectors[FB_FREE_READ_IDLE]),
	FB_SNAPSHOT_COUNTER(hurried_sectors, stats.read_sectors[FB_FREE_READ_HURRIED]),
	FB_SNAPSHOT_COUNTER(promoted_sectors, stats.read_sectors[FB_FREE_READ_PROMOTED]),
	FB_SNAPSHOT_COUNTER(gaps, stats.engine.gaps),
	FB_SNAPSHOT_COUNTER(several, stats.engine.several),
	FB_SNAPSHOT_COUNTER(dropped, stats.engine.dropped),
	FB_SNAPSHOT_COUNTER(too_late, stats.engine.too_late),
	FB_SNAPSHOT_COUNTER(no_buffer, stats.no_buffer),
	FB_SNAPSHOT_COUNTER(not_fit, stats.not_fit),
	FB_SNAPSHOT_COUNTER(discarded, stats.discarded),
	FB_SNAPSHOT_COUNTER(free_errors, stats.free_errors),
	FB_SNAPSHOT_COUNTER(free_sectors, stats.free_sectors),
	FB_SNAPSHOT_COUNTER(guard_trips, stats.guard_trips),
	FB_SNAPSHOT_COUNTER(verifies, stats.verifies),
	FB_SNAPSHOT_COUNTER(fuas, stats.fuas),
	FB_SNAPSHOT_COUNTER(unproven, stats.unproven),
	FB_SNAPSHOT_COUNTER(searches, stats.searches),
	FB_SNAPSHOT_COUNTER(search_tracks, stats.search_tracks),
	FB_SNAPSHOT_COUNTER(search_ns, stats.search_ns),
	FB_SNAPSHOT_COUNTER(search_max_ns, stats.search_max_ns),
	FB_SNAPSHOT_COUNTER(choices, stats.engine.choices),
	FB_SNAPSHOT_COUNTER(choice_ns, stats.engine.choice_ns),
	FB_SNAPSHOT_COUNTER(choice_max_ns, stats.engine.choice_max_ns),
	FB_SNAPSHOT_COUNTER(order_requests, stats.engine.order.requests),
	FB_SNAPSHOT_DISK(order_took_us, FB_SNAPSHOT_S64, stats.engine.order.took_ns, NSEC_PER_USEC,
			 false),
	FB_SNAPSHOT_DISK(order_us, FB_SNAPSHOT_S64, stats.engine.order.later_ns, NSEC_PER_USEC,
			 false),
	FB_SNAPSHOT_COUNTER(background_sent, stats.others),
	FB_SNAPSHOT_COUNTER(background_sectors, stats.others_sectors),
	FB_SNAPSHOT_COUNTER(background_idle, stats.others_idle),
	FB_SNAPSHOT_COUNTER(background_expired, stats.others_expired),
	FB_SNAPSHOT_COUNTER_IN(background_max_age_us, stats.others_max_age_ns, NSEC_PER_USEC),
	FB_SNAPSHOT_COUNTER(bad_blocks, bad_blocks),
	FB_SNAPSHOT_COUNTER(alarms, alarms),
	FB_SNAPSHOT_COUNTER(quarantine_dropped, quarantine_dropped),
	FB_SNAPSHOT_COUNTER(idle_requests, idle.requests),
	FB_SNAPSHOT_COUNTER(idle_collisions, idle.collisions),
	FB_SNAPSHOT_COUNTER(idle_reads_ended, idle.reads),
	FB_SNAPSHOT_COUNTER_IN(idle_used_us, idle.used_ns, NSEC_PER_USEC),
	FB_SNAPSHOT_COUNTER_IN(idle_us, idle.idle_ns, NSEC_PER_USEC),
	FB_SNAPSHOT_COUNTER_IN(idle_max_us, idle.max_ns, NSEC_PER_USEC),
	NULL
};

const struct attribute_group fb_snapshot_stats_group = {
	.name = "stats",
	.attrs = fb_snapshot_stats,
};

/* ---- jobs ---- */

static ssize_t fb_snapshot_show_job(struct fb_job **slot, struct kobj_attribute *attr, char *page)
{
	const struct fb_snapshot_file *file = container_of(attr, struct fb_snapshot_file, attr);
	struct fb_job_stats stats;
	int ret = fb_job_stats(slot, &stats);

	return ret ? ret : fb_snapshot_emit(file, &stats, page);
}

static ssize_t fb_snapshot_show_scan(struct kobject *kobj, struct kobj_attribute *attr, char *page)
{
	return fb_snapshot_show_job(&fb_snapshot_disk(kobj)->scan, attr, page);
}

static ssize_t fb_snapshot_show_scrub(struct kobject *kobj, struct kobj_attribute *attr,
				      char *page)
{
	return fb_snapshot_show_job(&fb_snapshot_disk(kobj)->scrub, attr, page);
}

#define FB_SNAPSHOT_JOB(_job, _name, _kind, _field)					\
	FB_SNAPSHOT_FILE(_name, FB_SNAPSHOT_##_kind, fb_snapshot_show_##_job,		\
			 offsetof(struct fb_job_stats, _field), 1, false)

static struct attribute *fb_snapshot_scan[] = {
	FB_SNAPSHOT_JOB(scan, order, WORD, order),
	FB_SNAPSHOT_JOB(scan, regions, U64, regions),
	FB_SNAPSHOT_JOB(scan, segment_kib, U64, segment_kib),
	FB_SNAPSHOT_JOB(scan, first, U64, first),
	FB_SNAPSHOT_JOB(scan, sectors, U64, sectors),
	FB_SNAPSHOT_JOB(scan, block_sectors, U64, block_sectors),
	FB_SNAPSHOT_JOB(scan, blocks_total, U64, blocks_total),
	FB_SNAPSHOT_JOB(scan, blocks_verified, U64, blocks_verified),
	FB_SNAPSHOT_JOB(scan, blocks_before, U64, blocks_before),
	FB_SNAPSHOT_JOB(scan, blocks_delivered, U64, blocks_delivered),
	FB_SNAPSHOT_JOB(scan, blocks_flying, U64, blocks_flying),
	FB_SNAPSHOT_JOB(scan, blocks_bad, U64, blocks_bad),
	FB_SNAPSHOT_JOB(scan, blocks_skipped, U64, blocks_skipped),
	FB_SNAPSHOT_JOB(scan, blocks_unverified, U64, blocks_unverified),
	FB_SNAPSHOT_JOB(scan, rate_kib_s, U64, rate_kib_s),
	FB_SNAPSHOT_JOB(scan, deadline, U64, deadline),
	NULL
};

const struct attribute_group fb_snapshot_scan_group = {
	.name = "scan_stats",
	.attrs = fb_snapshot_scan,
};

static struct attribute *fb_snapshot_scrub[] = {
	FB_SNAPSHOT_JOB(scrub, order, WORD, order),
	FB_SNAPSHOT_JOB(scrub, regions, U64, regions),
	FB_SNAPSHOT_JOB(scrub, segment_kib, U64, segment_kib),
	FB_SNAPSHOT_JOB(scrub, first, U64, first),
	FB_SNAPSHOT_JOB(scrub, sectors, U64, sectors),
	FB_SNAPSHOT_JOB(scrub, block_sectors, U64, block_sectors),
	FB_SNAPSHOT_JOB(scrub, blocks_total, U64, blocks_total),
	FB_SNAPSHOT_JOB(scrub, blocks_verified, U64, blocks_verified),
	FB_SNAPSHOT_JOB(scrub, blocks_before, U64, blocks_before),
	FB_SNAPSHOT_JOB(scrub, blocks_delivered, U64, blocks_delivered),
	FB_SNAPSHOT_JOB(scrub, blocks_flying, U64, blocks_flying),
	FB_SNAPSHOT_JOB(scrub, blocks_bad, U64, blocks_bad),
	FB_SNAPSHOT_JOB(scrub, blocks_skipped, U64, blocks_skipped),
	FB_SNAPSHOT_JOB(scrub, blocks_unverified, U64, blocks_unverified),
	FB_SNAPSHOT_JOB(scrub, rate_kib_s, U64, rate_kib_s),
	FB_SNAPSHOT_JOB(scrub, deadline, U64, deadline),
	FB_SNAPSHOT_JOB(scrub, began, U64, began),
	FB_SNAPSHOT_JOB(scrub, passes, U64, passes),
	NULL
};

const struct attribute_group fb_snapshot_scrub_group = {
	.name = "scrub_stats",
	.attrs = fb_snapshot_scrub,
};

/* ---- all at once ---- */

static void fb_snapshot_print_group(const struct fb_snapshot *s, struct attribute *const *attr,
				    struct seq_file *m)
{
	const struct fb_snapshot_file *file;
	const void *field;

	for (; *attr; attr++) {
		file = container_of(*attr, struct fb_snapshot_file, attr.attr);
		field = (const void *)s + file->offset;
		if (file->sched && !s->attached)
			continue;
		seq_printf(m, "%s ", (*attr)->name);
		if (file->kind == FB_SNAPSHOT_U64)
			seq_printf(m, "%llu\n", div_u64(*(const u64 *)field, file->unit));
		else if (file->kind == FB_SNAPSHOT_S64)
			seq_printf(m, "%lld\n", div_s64(*(const s64 *)field, file->unit));
		else
			seq_printf(m, "%s\n", *(const char *const *)field);
	}
}

/*
 * Print state and counters of one moment, "key value" lines, for people. Texts are whole here. What
 * belongs to a scheduler is left out while there is none. May sleep. Return: 0 or -ENOMEM.
 */
int fb_snapshot_print(struct fb_disk *fd, struct seq_file *m)
{
	struct fb_snapshot *s = fb_snapshot_take(fd);
	int i;

	if (!s)
		return -ENOMEM;
	fb_snapshot_print_group(s, fb_snapshot_state, m);
	fb_snapshot_print_group(s, fb_snapshot_stats, m);
	seq_puts(m, "conservatism_ns");
	for (i = 0; i < FB_CONSERVATISM_KINDS; i++)
		seq_printf(m, " %u", s->floor_ns[i]);
	seq_printf(m, "\ncounted %u\n", s->counted);
	kfree(s);
	return 0;
}
