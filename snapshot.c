// SPDX-License-Identifier: GPL-2.0
/*
 * What a disk and its jobs show of themselves, of one moment: a table of names and fields. The
 * whole of it is debugfs' numbers, for root; some are files in sysfs, too. Locks: fb_disk.lock, to
 * copy; fb_job.lock for jobs.
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
	struct {
		const char *free_reads;	/* "on", or why there are none */
		const char *order;	/* who chooses the next command, a word */
		const char *phase;	/* whether the platter's angle is known, a word */
		u64 period_ps;		/* one revolution as tracked; 0: no model */
		u64 pending;		/* foreground requests */
		u64 background_pending;	/* background reads of others */
		u64 in_flight;		/* commands at the drive */
	} sched;
	u64 counted;			/* requests in the system, as the trial counts them */
	struct fb_stats stats;
	struct fb_idle_policy_status idle;	/* state and counters of idle reads */
	u64 modelled;			/* there is a model */
	u64 mapped;			/* LBNs whose angles it has */
	u64 tasks;			/* started and not over */
	u64 bad_blocks;			/* found */
	u64 alarms;			/* pauses for slow recoveries */
	u64 quarantine_zones;		/* of now */
	u64 quarantine_sectors;		/* their length */
	u64 idle_size_kib;		/* longest idle read */
	const char *scheduling;		/* "yes", or why not */
	const char *idle_why;		/* whether idle reads are sent, or why not */
	/* what of the drive is known and used: "map", or "rates" or "none", and why no map */
	char knowledge[FB_DOUBT_LEN];
	char lift_source[FB_LOOKAHEAD_TEXT];	/* state of the look-ahead probe */
	char lift_dest[FB_LOOKAHEAD_TEXT];	/* likewise */
	char medium[FB_VERIFY_TEXT];	/* how the medium is read */
	char recovery[FB_RECOVERY_TEXT];	/* how long the drive tries to read a bad sector */
	char cost[FB_MEASURE_TEXT];	/* what free reads cost */
	u32 floor_ns[FB_CONSERVATISM_KINDS];	/* learnt conservatism */
	u64 dirty;			/* writes believed to be in the drive's cache only */
	char line[FB_DOUBT_LEN];	/* a value as text */
};

static const char *fb_snapshot_free_reads(struct fb_disk *disk, const struct fb_sched *sched)
{
	const struct scsi_device *sdev = fb_disk_sdev(disk);

	if (fb_level_unserved(disk))
		return "off: not scheduling";
	if (fb_level_unmapped(disk))
		return "off: no map of the drive is in use";
	if (!fb_phase_on(&disk->phase, ktime_get_ns()))
		return "off: reads end at no angle of the model";
	if (!fb_disk_tasks(disk))
		return "no task";
	if (sched->engine.depth != FB_ENGINE_DEPTH)
		return "off: depth is not 2";
	if (sdev && sdev->queue_depth < 2)
		return "off: the device takes one command at a time";
	if (fb_measure_bars(disk, FB_COST_GAPS))
		return fb_measure_bars(disk, FB_COST_GAPS);
	if (!fb_guard_on(&disk->guard, ktime_get_ns()))
		return "off: they cost the foreground too many turns";
	if (sched->engine.drive_orders && fb_destage_orders(&disk->destage))
		return "off: the drive orders, as its write cache is in use";
	return "on";
}

static const char *fb_snapshot_phase(struct fb_disk *disk, const struct fb_sched *sched)
{
	u64 now = ktime_get_ns();

	if (fb_level_unmapped(disk))
		return "unknown";
	if (!fb_phase_on(&disk->phase, now))
		return "given-up";
	return fb_head_locked(&sched->engine.head, now) ? "locked" : "unknown";
}

static void fb_snapshot_copy_sched(struct fb_disk *disk, struct fb_snapshot *s)
{
	const struct fb_sched *sched = disk->sched;
	const struct fb_engine *e = &sched->engine;

	s->attached = !!sched;
	if (!sched)
		return;
	s->sched.free_reads = fb_snapshot_free_reads(disk, sched);
	s->sched.order = fb_engine_predicts(e) || e->ops->by_lbn(e) ? "policy" : "drive";
	s->sched.phase = fb_snapshot_phase(disk, sched);
	s->sched.period_ps = e->head.period_ps;
	s->sched.pending = e->pool.count;
	s->sched.background_pending = sched->others.count;
	s->sched.in_flight = e->nr_flight;
}

static void fb_snapshot_copy(struct fb_disk *disk, struct fb_snapshot *s, u64 now)
{
	const struct fb_quarantine *quarantine = &disk->quarantine;
	const char *why, *unserved;

	lockdep_assert_held(&disk->lock);
	unserved = fb_level_unserved(disk);
	s->scheduling = unserved ? unserved : "yes";
	why = fb_level_unmapped(disk);
	if (!why && !fb_phase_on(&disk->phase, now))
		why = "reads end at no angle of the model";
	strscpy(s->knowledge, "map", sizeof(s->knowledge));
	if (why)
		snprintf(s->knowledge, sizeof(s->knowledge), "%s: %s", !unserved &&
			 fb_idle_policy_knows(&disk->idle.wait) ? "rates" : "none", why);
	fb_snapshot_copy_sched(disk, s);
	s->stats = disk->stats;
	fb_idle_policy_status(&disk->idle.wait, now, &s->idle);
	s->idle_why = fb_idle_why(disk, s->idle.why, now);
	s->modelled = !!disk->model;
	s->mapped = disk->model ? dm_info(disk->model)->mapped : 0;
	s->tasks = fb_disk_tasks(disk);
	s->bad_blocks = quarantine->total;
	s->alarms = quarantine->alarms;
	s->quarantine_zones = quarantine->zones;
	s->quarantine_sectors = fb_quarantine_quarantined(quarantine);
	/* of a disk that is not read nothing is being found out, nor is it verified in any way */
	strscpy(s->lift_source, "off", sizeof(s->lift_source));
	strscpy(s->lift_dest, "off", sizeof(s->lift_dest));
	if (!why) {
		fb_lookahead_describe(&disk->lookahead, FB_LIFT_SOURCE, now, s->lift_source,
				      sizeof(s->lift_source));
		fb_lookahead_describe(&disk->lookahead, FB_LIFT_DEST, now, s->lift_dest,
				      sizeof(s->lift_dest));
	}
	strscpy(s->medium, "none", sizeof(s->medium));
	if (!unserved)
		fb_verify_describe(disk, s->medium, sizeof(s->medium));
	strscpy(s->recovery, "not asked: the disk cannot be scheduled", sizeof(s->recovery));
	if (!disk->unfit)
		fb_recovery_describe(&disk->recovery, s->recovery, sizeof(s->recovery));
	fb_measure_describe(disk, s->cost, sizeof(s->cost));
	s->counted = fb_measure_counted(disk);
	memcpy(s->floor_ns, disk->conservatism.odds.floor_ns, sizeof(s->floor_ns));
	/* brings the account up to now */
	fb_destage_begin_ns(&disk->destage, now);
	s->dirty = disk->destage.dirty;
}

static struct fb_snapshot *fb_snapshot_take(struct fb_disk *disk)
{
	/* a queue freeze may be waiting for this reader */
	struct fb_snapshot *s = kzalloc(sizeof(*s), GFP_NOIO);

	if (!s)
		return NULL;
	spin_lock_irq(&disk->lock);
	fb_snapshot_copy(disk, s, ktime_get_ns());
	spin_unlock_irq(&disk->lock);
	s->idle_size_kib = s->idle.sectors / 2;
	return s;
}

/* ---- the table ---- */

enum fb_snapshot_kind {
	FB_SNAPSHOT_U64,
	FB_SNAPSHOT_US,		/* a u64, nanoseconds, shown as microseconds */
	FB_SNAPSHOT_TEXT,	/* a pointer to one */
	FB_SNAPSHOT_CHARS,	/* one in place */
};

/* A value */
struct fb_snapshot_row {
	const char *name;
	enum fb_snapshot_kind kind;
	size_t offset;			/* in struct fb_snapshot */
};

#define FB_SNAPSHOT(_name, _kind, _field)						\
	{ _name, FB_SNAPSHOT_##_kind, offsetof(struct fb_snapshot, _field) }

static const struct fb_snapshot_row fb_snapshot_rows[] = {
	FB_SNAPSHOT("state/attached", U64, attached),
	FB_SNAPSHOT("state/model", U64, modelled),
	FB_SNAPSHOT("state/mapped_sectors", U64, mapped),
	FB_SNAPSHOT("state/scheduling", TEXT, scheduling),
	FB_SNAPSHOT("state/knowledge", CHARS, knowledge),
	FB_SNAPSHOT("state/free_reads", TEXT, sched.free_reads),
	FB_SNAPSHOT("state/phase", TEXT, sched.phase),
	FB_SNAPSHOT("state/order", TEXT, sched.order),
	FB_SNAPSHOT("state/period_ps", U64, sched.period_ps),
	FB_SNAPSHOT("state/pending", U64, sched.pending),
	FB_SNAPSHOT("state/background_pending", U64, sched.background_pending),
	FB_SNAPSHOT("state/in_flight", U64, sched.in_flight),
	FB_SNAPSHOT("state/counted", U64, counted),
	FB_SNAPSHOT("state/tasks", U64, tasks),
	FB_SNAPSHOT("state/lift_source", CHARS, lift_source),
	FB_SNAPSHOT("state/lift_dest", CHARS, lift_dest),
	FB_SNAPSHOT("state/medium", CHARS, medium),
	FB_SNAPSHOT("state/recovery", CHARS, recovery),
	FB_SNAPSHOT("state/cost", CHARS, cost),
	FB_SNAPSHOT("state/quarantine_zones", U64, quarantine_zones),
	FB_SNAPSHOT("state/quarantine_sectors", U64, quarantine_sectors),
	FB_SNAPSHOT("state/idle", TEXT, idle_why),
	FB_SNAPSHOT("state/idle_wait_us", US, idle.wait_ns),
	FB_SNAPSHOT("state/idle_size_kib", U64, idle_size_kib),
	FB_SNAPSHOT("state/idle_mean_ns", U64, idle.mean_ns),
	FB_SNAPSHOT("state/bad_blocks", U64, bad_blocks),
	FB_SNAPSHOT("state/alarms", U64, alarms),
	FB_SNAPSHOT("stats/fg_requests", U64, stats.fg_requests),
	FB_SNAPSHOT("stats/fg_reads", U64, stats.fg_ended[0]),
	FB_SNAPSHOT("stats/fg_writes", U64, stats.fg_ended[1]),
	FB_SNAPSHOT("stats/fg_read_ns", U64, stats.fg_ns[0]),
	FB_SNAPSHOT("stats/fg_write_ns", U64, stats.fg_ns[1]),
	FB_SNAPSHOT("stats/fg_read_sectors", U64, stats.fg_sectors[0]),
	FB_SNAPSHOT("stats/fg_write_sectors", U64, stats.fg_sectors[1]),
	FB_SNAPSHOT("stats/untracked", U64, stats.untracked),
	FB_SNAPSHOT("stats/out_of_order", U64, stats.engine.out_of_order),
	FB_SNAPSHOT("stats/max_in_flight", U64, stats.engine.max_in_flight),
	FB_SNAPSHOT("stats/pred_total", U64, stats.engine.ends.predicted),
	FB_SNAPSHOT("stats/pred_within_50us", U64, stats.engine.ends.within_50us),
	FB_SNAPSHOT("stats/end_within_50us", U64, stats.engine.ends.end_within_50us),
	FB_SNAPSHOT("stats/miss_fg", U64, stats.engine.ends.miss[FB_CAUSE_PLAIN]),
	FB_SNAPSHOT("stats/miss_prepend", U64, stats.engine.ends.miss[FB_CAUSE_PREPEND]),
	FB_SNAPSHOT("stats/miss_separate", U64, stats.engine.ends.miss[FB_CAUSE_SEPARATE]),
	FB_SNAPSHOT("stats/miss_after", U64, stats.engine.ends.miss[FB_CAUSE_AFTER]),
	FB_SNAPSHOT("stats/early_turn", U64, stats.engine.ends.early_turn),
	FB_SNAPSHOT("stats/mechanical", U64, stats.engine.ends.verdicts[FB_HEAD_MECHANICAL]),
	FB_SNAPSHOT("stats/early", U64, stats.engine.ends.verdicts[FB_HEAD_EARLY]),
	FB_SNAPSHOT("stats/odd", U64, stats.engine.ends.verdicts[FB_HEAD_ODD]),
	FB_SNAPSHOT("stats/prepends", U64, stats.reads[FB_FREE_READ_PREPENDED]),
	FB_SNAPSHOT("stats/separates", U64, stats.reads[FB_FREE_READ_SEPARATE]),
	FB_SNAPSHOT("stats/idle_reads", U64, stats.reads[FB_FREE_READ_IDLE]),
	FB_SNAPSHOT("stats/hurried", U64, stats.reads[FB_FREE_READ_HURRIED]),
	FB_SNAPSHOT("stats/promoted", U64, stats.reads[FB_FREE_READ_PROMOTED]),
	FB_SNAPSHOT("stats/prepend_sectors", U64, stats.read_sectors[FB_FREE_READ_PREPENDED]),
	FB_SNAPSHOT("stats/separate_sectors", U64, stats.read_sectors[FB_FREE_READ_SEPARATE]),
	FB_SNAPSHOT("stats/idle_sectors", U64, stats.read_sectors[FB_FREE_READ_IDLE]),
	FB_SNAPSHOT("stats/hurried_sectors", U64, stats.read_sectors[FB_FREE_READ_HURRIED]),
	FB_SNAPSHOT("stats/promoted_sectors", U64, stats.read_sectors[FB_FREE_READ_PROMOTED]),
	FB_SNAPSHOT("stats/gaps", U64, stats.engine.gaps),
	FB_SNAPSHOT("stats/several", U64, stats.engine.several),
	FB_SNAPSHOT("stats/dropped", U64, stats.engine.dropped),
	FB_SNAPSHOT("stats/too_late", U64, stats.engine.too_late),
	FB_SNAPSHOT("stats/discarded", U64, stats.discarded),
	FB_SNAPSHOT("stats/free_errors", U64, stats.free_errors),
	FB_SNAPSHOT("stats/free_sectors", U64, stats.free_sectors),
	FB_SNAPSHOT("stats/guard_trips", U64, stats.guard_trips),
	FB_SNAPSHOT("stats/verifies", U64, stats.verifies),
	FB_SNAPSHOT("stats/fuas", U64, stats.fuas),
	FB_SNAPSHOT("stats/unproven", U64, stats.unproven),
	FB_SNAPSHOT("stats/search_ns", U64, stats.search_ns),
	FB_SNAPSHOT("stats/choices", U64, stats.engine.choices),
	FB_SNAPSHOT("stats/choice_ns", U64, stats.engine.choice_ns),
	FB_SNAPSHOT("stats/choice_max_ns", U64, stats.engine.choice_max_ns),
	FB_SNAPSHOT("stats/background_sent", U64, stats.others),
	FB_SNAPSHOT("stats/background_idle", U64, stats.others_idle),
	FB_SNAPSHOT("stats/background_expired", U64, stats.others_expired),
	FB_SNAPSHOT("stats/background_max_age_us", US, stats.others_max_age_ns),
	FB_SNAPSHOT("stats/idle_requests", U64, idle.requests),
	FB_SNAPSHOT("stats/idle_collisions", U64, idle.collisions),
	FB_SNAPSHOT("stats/idle_reads_ended", U64, idle.reads),
	FB_SNAPSHOT("stats/idle_used_us", US, idle.used_ns),
	FB_SNAPSHOT("stats/idle_us", US, idle.idle_ns),
	FB_SNAPSHOT("stats/idle_max_us", US, idle.max_ns),
	FB_SNAPSHOT("stats/dirty", U64, dirty),
};

#define FB_SNAPSHOT_END (fb_snapshot_rows + ARRAY_SIZE(fb_snapshot_rows))

static bool fb_snapshot_lacks(const struct fb_snapshot *s, const struct fb_snapshot_row *row)
{
	return !s->attached && row->offset >= offsetof(struct fb_snapshot, sched) &&
	       row->offset < offsetofend(struct fb_snapshot, sched);
}

static const char *fb_snapshot_text(struct fb_snapshot *s, const struct fb_snapshot_row *row)
{
	const void *field = (const void *)s + row->offset;
	u32 unit = row->kind == FB_SNAPSHOT_US ? NSEC_PER_USEC : 1;

	if (row->kind == FB_SNAPSHOT_CHARS)
		return field;
	if (row->kind == FB_SNAPSHOT_TEXT)
		return *(const char *const *)field;
	snprintf(s->line, sizeof(s->line), "%llu", div_u64(*(const u64 *)field, unit));
	return s->line;
}

/* ---- files ---- */

static ssize_t fb_snapshot_show(struct kobject *kobj, struct kobj_attribute *attr, char *page)
{
	struct fb_disk *disk = container_of(kobj, struct fb_disk, folder.kobj);
	struct fb_snapshot *s = fb_snapshot_take(disk);
	const struct fb_snapshot_row *row;
	ssize_t len = -ENODATA;

	if (!s)
		return -ENOMEM;
	for (row = fb_snapshot_rows; row < FB_SNAPSHOT_END; row++)
		if (!strcmp(kbasename(row->name), attr->attr.name) && !fb_snapshot_lacks(s, row))
			len = sysfs_emit(page, "%s\n", fb_snapshot_text(s, row));
	kfree(s);
	return len;
}

/* a row that is a file: the address of its attribute */
#define FB_SNAPSHOT_FILE(_name)								\
	(&((struct kobj_attribute[]) { __ATTR(_name, 0444, fb_snapshot_show, NULL) })[0].attr)

static struct attribute *fb_snapshot_files[] = {
	FB_SNAPSHOT_FILE(attached),
	FB_SNAPSHOT_FILE(model),
	FB_SNAPSHOT_FILE(mapped_sectors),
	FB_SNAPSHOT_FILE(scheduling),
	FB_SNAPSHOT_FILE(knowledge),
	FB_SNAPSHOT_FILE(free_reads),
	FB_SNAPSHOT_FILE(medium),
	FB_SNAPSHOT_FILE(recovery),
	FB_SNAPSHOT_FILE(cost),
	FB_SNAPSHOT_FILE(idle),
	FB_SNAPSHOT_FILE(bad_blocks),
	FB_SNAPSHOT_FILE(alarms),
	NULL
};

const struct attribute_group fb_snapshot_group = {
	.name = "state",
	.attrs = fb_snapshot_files,
};

/*
 * Print lines "name value", but what belongs to a scheduler that is not there, or a job before its
 * first run. May sleep. Return: 0 or -ENOMEM.
 */
int fb_snapshot_print(struct fb_disk *disk, struct seq_file *m)
{
	struct fb_snapshot *s = fb_snapshot_take(disk);
	const struct fb_snapshot_row *row;
	int i;

	if (!s)
		return -ENOMEM;
	for (row = fb_snapshot_rows; row < FB_SNAPSHOT_END; row++)
		if (!fb_snapshot_lacks(s, row))
			seq_printf(m, "%s %s\n", row->name, fb_snapshot_text(s, row));
	seq_puts(m, "stats/conservatism_ns");
	for (i = 0; i < FB_CONSERVATISM_KINDS; i++)
		seq_printf(m, " %u", s->floor_ns[i]);
	seq_putc(m, '\n');
	kfree(s);
	fb_job_describe(disk, m);
	return 0;
}
