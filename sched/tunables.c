// SPDX-License-Identifier: GPL-2.0
/*
 * The scheduler's tunables and status in sysfs, queue/iosched/
 * (Documentation/ABI/testing/sysfs-block-freeblock). Locks: fb_disk.lock around everything that
 * the scheduler reads.
 */
#include <linux/slab.h>

#include "sched/sched.h"

/**
 * struct fb_tunables_number - a number in struct fb_sched; it is never clamped
 * @name: name of the file
 * @offset: in struct fb_sched
 * @wide: it is a u64, otherwise a u32
 * @unit: the file's unit in units of the field
 * @lowest: allowed, in the file's unit
 * @highest: allowed, in the file's unit
 * @may_be_auto: the file takes "auto", too
 * @auto_offset: offset of the bool that is set by "auto"
 * @auto_value: the number that "auto" sets
 */
struct fb_tunables_number {
	const char *name;
	size_t offset;
	bool wide;
	u32 unit;
	u64 lowest;
	u64 highest;
	bool may_be_auto;
	size_t auto_offset;
	u64 auto_value;
};

static ssize_t fb_tunables_number_show(struct elevator_queue *eq,
				       const struct fb_tunables_number *n, char *page)
{
	struct fb_sched *fs = eq->elevator_data;
	void *field = (void *)fs + n->offset;
	bool adapt;
	u64 value;

	spin_lock_irq(&fs->fd->lock);
	value = n->wide ? *(u64 *)field : *(u32 *)field;
	adapt = n->may_be_auto && *(bool *)((void *)fs + n->auto_offset);
	spin_unlock_irq(&fs->fd->lock);
	return adapt ? sysfs_emit(page, "auto\n") :
		       sysfs_emit(page, "%llu\n", div_u64(value, n->unit));
}

static ssize_t fb_tunables_number_store(struct elevator_queue *eq,
					const struct fb_tunables_number *n, const char *page,
					size_t count)
{
	struct fb_sched *fs = eq->elevator_data;
	bool adapt = n->may_be_auto && sysfs_streq(page, "auto");
	void *field = (void *)fs + n->offset;
	u64 value = n->auto_value;

	if (!adapt && (kstrtou64(page, 10, &value) || value < n->lowest || value > n->highest)) {
		pr_err("freeblock: %s: '%.*s' is not %sa number from %llu to %llu\n", n->name,
		       (int)strcspn(page, "\n"), page, n->may_be_auto ? "auto or " : "",
		       n->lowest, n->highest);
		return -EINVAL;
	}
	spin_lock_irq(&fs->fd->lock);
	if (n->may_be_auto)
		*(bool *)((void *)fs + n->auto_offset) = adapt;
	if (n->wide)
		*(u64 *)field = value * n->unit;
	else
		*(u32 *)field = value * n->unit;
	fs->changed(fs);
	spin_unlock_irq(&fs->fd->lock);
	return count;
}

/* the elevator core does not tell show and store which file they are called for */
#define FB_TUNABLES_NUMBER(file, field, ...)						\
static const struct fb_tunables_number file##_number = {				\
	#file, offsetof(struct fb_sched, field), __VA_ARGS__				\
};											\
											\
static ssize_t file##_show(struct elevator_queue *eq, char *page)			\
{											\
	return fb_tunables_number_show(eq, &file##_number, page);			\
}											\
											\
static ssize_t file##_store(struct elevator_queue *eq, const char *page, size_t count)	\
{											\
	return fb_tunables_number_store(eq, &file##_number, page, count);		\
}

FB_TUNABLES_NUMBER(sw_percent, pool.sw_percent, false, 1, 0, 1000)
FB_TUNABLES_NUMBER(depth, depth, false, 1, 1, 4,
		   true, offsetof(struct fb_sched, auto_depth), FB_SCHED_DEPTH)
FB_TUNABLES_NUMBER(hold_back, hold, false, 1, 0, 1)
FB_TUNABLES_NUMBER(conservatism_us, conservatism_ns, true, NSEC_PER_USEC, 0, 10000,
		   true, offsetof(struct fb_sched, auto_margin), 0)
FB_TUNABLES_NUMBER(target_slowdown_ppm, target_ppm, false, 1, 0, 1000000)
FB_TUNABLES_NUMBER(read_expire, expire_ns[READ], true, NSEC_PER_MSEC, 1, 600000)
FB_TUNABLES_NUMBER(write_expire, expire_ns[WRITE], true, NSEC_PER_MSEC, 1, 600000)
FB_TUNABLES_NUMBER(search_us, search_ns, true, NSEC_PER_USEC, 1, 100000)
FB_TUNABLES_NUMBER(background_expire, others.expire_ns, true, NSEC_PER_MSEC, 1, 600000)
FB_TUNABLES_NUMBER(background_wait_us, others.wait_ns, true, NSEC_PER_USEC, 0, 1000000)

static ssize_t policy_show(struct elevator_queue *eq, char *page)
{
	struct fb_sched *fs = eq->elevator_data;
	ssize_t len = 0;
	int i;

	for (i = 0; i < FB_POLICIES; i++)
		len += sysfs_emit_at(page, len, i == fs->pool.policy ? "[%s] " : "%s ",
				     fb_policy_name[i]);
	page[len - 1] = '\n';
	return len;
}

static ssize_t policy_store(struct elevator_queue *eq, const char *page, size_t count)
{
	struct fb_sched *fs = eq->elevator_data;
	int i = __sysfs_match_string(fb_policy_name, FB_POLICIES, page);

	if (i < 0) {
		pr_err("freeblock: policy: '%.*s' is none of fifo clook sstf sptf sptf-sw auto\n",
		       (int)strcspn(page, "\n"), page);
		return -EINVAL;
	}
	spin_lock_irq(&fs->fd->lock);
	fs->pool.policy = i;
	fs->changed(fs);
	spin_unlock_irq(&fs->fd->lock);
	return count;
}

static const char * const fb_tunables_lifts[] = { "source", "dest", "several" };

static ssize_t lift_show(struct elevator_queue *eq, char *page)
{
	struct fb_sched *fs = eq->elevator_data;
	ssize_t len = 0;
	bool probed;
	u32 lift, i;

	spin_lock_irq(&fs->fd->lock);
	probed = fs->auto_lift;
	lift = fs->lift;
	spin_unlock_irq(&fs->fd->lock);
	if (probed)
		return sysfs_emit(page, "auto\n");
	for (i = 0; i < ARRAY_SIZE(fb_tunables_lifts); i++)
		if (lift & BIT(i))
			len += sysfs_emit_at(page, len, "%s ", fb_tunables_lifts[i]);
	if (!len)
		return sysfs_emit(page, "none\n");
	page[len - 1] = '\n';
	return len;
}

static int fb_tunables_parse_lift(char *text, u32 *lift)
{
	char *word;
	int i;

	*lift = 0;
	if (sysfs_streq(text, "none"))
		return 0;
	while ((word = strsep(&text, "\n "))) {
		if (!*word)
			continue;
		i = match_string(fb_tunables_lifts, ARRAY_SIZE(fb_tunables_lifts), word);
		if (i < 0)
			return i;
		*lift |= BIT(i);
	}
	return *lift ? 0 : -EINVAL;
}

static ssize_t lift_store(struct elevator_queue *eq, const char *page, size_t count)
{
	struct fb_sched *fs = eq->elevator_data;
	bool probe = sysfs_streq(page, "auto");
	u32 lift = FB_LIFT_ALL;
	char text[64];

	if (!probe &&
	    (strscpy(text, page, sizeof(text)) < 0 || fb_tunables_parse_lift(text, &lift))) {
		pr_err("freeblock: lift: '%.*s' is neither auto, nor none, nor some of source, dest, several\n",
		       (int)strcspn(page, "\n"), page);
		return -EINVAL;
	}
	spin_lock_irq(&fs->fd->lock);
	fs->auto_lift = probe;
	fs->lift = lift;
	fs->changed(fs);
	spin_unlock_irq(&fs->fd->lock);
	return count;
}

static const char *fb_tunables_free_state(struct fb_disk *fd, const struct fb_sched *fs)
{
	if (!fb_disk_tasks(fd))
		return "no task";
	if (fs->depth != FB_SCHED_DEPTH)
		return "off: depth is not 2";
	if (fb_disk_is_single(fd))
		return "off: the device takes one command at a time";
	if (!fb_guard_on(&fd->guard, ktime_get_ns()))
		return "off: they cost the foreground too many turns";
	return "on";
}

/* what status shows, copied because formatting would hold the lock for too long */
struct fb_tunables_snapshot {
	struct fb_stats stats;
	struct fb_head head;
	char transparent[FB_DOUBT_LEN];
	const char *free_reads;
	bool locked;
	u32 pending;
	u32 others;
	u32 in_flight;
	u64 trips;
	bool deep;
	char probe[2][FB_LOOKAHEAD_TEXT];
	char medium[FB_VERIFY_TEXT];
	u32 floor_ns[DM_BANDS];
	s32 cost_ppm;
};

static void fb_tunables_take_snapshot(struct fb_sched *fs, struct fb_tunables_snapshot *s)
{
	struct fb_disk *fd = fs->fd;
	u64 now = ktime_get_ns();
	const char *why;

	spin_lock_irq(&fd->lock);
	s->stats = fd->stats;
	s->head = fs->head;
	why = fb_disk_transparent(fd);
	strscpy(s->transparent, why ? why : "yes", sizeof(s->transparent));
	s->free_reads = why ? "off: not scheduling" : fb_tunables_free_state(fd, fs);
	s->locked = !why && fb_head_locked(&fs->head, ktime_get_ns());
	s->pending = fs->pool.count;
	s->others = fs->others.count;
	s->in_flight = fs->nr_flight;
	s->trips = fd->guard.trips;
	s->deep = fs->deep;
	fb_lookahead_describe(&fd->lookahead, FB_LIFT_SOURCE, now, s->probe[0], FB_LOOKAHEAD_TEXT);
	fb_lookahead_describe(&fd->lookahead, FB_LIFT_DEST, now, s->probe[1], FB_LOOKAHEAD_TEXT);
	fb_verify_describe(&fd->verify, s->medium, sizeof(s->medium));
	memcpy(s->floor_ns, fd->conservatism.odds.floor_ns, sizeof(s->floor_ns));
	s->cost_ppm = fd->conservatism.cost_ppm;
	spin_unlock_irq(&fd->lock);
}

static ssize_t status_text(const struct fb_tunables_snapshot *s, char *page)
{
	const struct fb_stats *st = &s->stats;
	ssize_t len;
	int i;

	len = sysfs_emit(page,
			 "scheduling %s\nfree_reads %s\nphase %s\npending %u\nin_flight %u\nmax_in_flight %llu\nfg_requests %llu\nuntracked %llu\nout_of_order %llu\n",
			 s->transparent, s->free_reads,
			 s->locked ? "locked" : "unknown", s->pending, s->in_flight,
			 st->max_in_flight, st->fg_requests, st->untracked, st->out_of_order);
	len += sysfs_emit_at(page, len,
			     "pred_total %llu\npred_within_50us %llu\nend_within_50us %llu\nmiss_fg %llu\nmiss_prepend %llu\nmiss_separate %llu\nmiss_after %llu\nearly_turn %llu\nmechanical %llu\nearly %llu\nodd %llu\nperiod_ps %llu\n",
			     st->ends.predicted, st->ends.within_50us, st->ends.end_within_50us,
			     st->ends.miss[FB_CAUSE_PLAIN],
			     st->ends.miss[FB_CAUSE_PREPEND], st->ends.miss[FB_CAUSE_SEPARATE],
			     st->ends.miss[FB_CAUSE_AFTER], st->ends.early_turn, s->head.mechanical,
			     s->head.early, s->head.odd, s->head.period_ps);
	len += sysfs_emit_at(page, len,
			     "idle_reads %llu\nhurried %llu\ngaps %llu\nprepends %llu\nseparates %llu\nseveral %llu\ndropped %llu\ntoo_late %llu\nno_buffer %llu\nnot_fit %llu\ndiscarded %llu\nfree_errors %llu\nfree_sectors %llu\nguard_trips %llu\nverifies %llu\nfuas %llu\nunproven %llu\nmedium %s\n",
			     st->idles, st->hurried, st->gaps, st->prepends, st->separates,
			     st->several, st->dropped, st->too_late, st->no_buffer, st->not_fit,
			     st->discarded, st->free_errors, st->free_sectors, s->trips,
			     st->verifies, st->fuas, st->unproven, s->medium);
	len += sysfs_emit_at(page, len,
			     "searches %llu\nsearch_tracks %llu\nsearch_ns %llu\nsearch_max_ns %llu\nchoices %llu\nchoice_ns %llu\nchoice_max_ns %llu\n",
			     st->searches, st->search_tracks, st->search_ns, st->search_max_ns,
			     st->choices, st->choice_ns, st->choice_max_ns);
	len += sysfs_emit_at(page, len,
			     "background_pending %u\nbackground_sent %llu\nbackground_sectors %llu\nbackground_idle %llu\nbackground_expired %llu\nbackground_max_age_us %llu\n",
			     s->others, st->others, st->others_sectors,
			     st->others_idle, st->others_expired,
			     div_u64(st->others_max_age_ns, NSEC_PER_USEC));
	len += sysfs_emit_at(page, len, "order %s\nlift_source %s\nlift_dest %s\n",
			     s->deep ? "drive" : "policy", s->probe[0], s->probe[1]);
	len += sysfs_emit_at(page, len, "spared %llu\ncost_ppm %d\nconservatism_ns",
			     st->spared, s->cost_ppm);
	for (i = 0; i < DM_BANDS; i++)
		len += sysfs_emit_at(page, len, " %u", s->floor_ns[i]);
	len += sysfs_emit_at(page, len, "\n");
	return len;
}

static ssize_t sched_status_show(struct elevator_queue *eq, char *page)
{
	struct fb_tunables_snapshot *s = kmalloc(sizeof(*s), GFP_NOIO);
	ssize_t len;

	if (!s)
		return -ENOMEM;
	fb_tunables_take_snapshot(eq->elevator_data, s);
	len = status_text(s, page);
	kfree(s);
	return len;
}

struct elv_fs_entry fb_tunables_attrs[] = {
	__ATTR_RW(policy),
	__ATTR_RW(sw_percent),
	__ATTR_RW(depth),
	__ATTR_RW(hold_back),
	__ATTR_RW(lift),
	__ATTR_RW(conservatism_us),
	__ATTR_RW(target_slowdown_ppm),
	__ATTR_RW(read_expire),
	__ATTR_RW(write_expire),
	__ATTR_RW(search_us),
	__ATTR_RW(background_expire),
	__ATTR_RW(background_wait_us),
	__ATTR(status, 0444, sched_status_show, NULL),
	__ATTR_NULL
};
