// SPDX-License-Identifier: GPL-2.0
/*
 * The scheduler's tunables, queue/iosched/ (Documentation/ABI/testing/sysfs-block-freeblock).
 * Locks: fb_disk.lock around everything that the scheduler reads.
 */
#include "sched/sched.h"

/* A number in struct fb_sched; it is never clamped */
struct fb_tunables_number {
	const char *name;		/* of the file */
	size_t offset;			/* in struct fb_sched */
	bool wide;			/* it is a u64, otherwise a u32 */
	u32 unit;			/* the file's unit in units of the field */
	u64 lowest;			/* allowed, in the file's unit */
	u64 highest;			/* allowed, in the file's unit */
	bool may_be_auto;		/* the file takes "auto", too */
	size_t auto_offset;		/* offset of the bool that is set by "auto" */
	u64 auto_value;			/* the number that "auto" sets */
};

static ssize_t fb_tunables_number_show(struct elevator_queue *eq,
				       const struct fb_tunables_number *n, char *page)
{
	struct fb_sched *sched = eq->elevator_data;
	void *field = (void *)sched + n->offset;
	bool adapt;
	u64 value;

	spin_lock_irq(&sched->disk->lock);
	value = n->wide ? *(u64 *)field : *(u32 *)field;
	adapt = n->may_be_auto && *(bool *)((void *)sched + n->auto_offset);
	spin_unlock_irq(&sched->disk->lock);
	return adapt ? sysfs_emit(page, "auto\n") :
		       sysfs_emit(page, "%llu\n", div_u64(value, n->unit));
}

static ssize_t fb_tunables_number_store(struct elevator_queue *eq,
					const struct fb_tunables_number *n, const char *page,
					size_t count)
{
	struct fb_sched *sched = eq->elevator_data;
	bool adapt = n->may_be_auto && sysfs_streq(page, "auto");
	void *field = (void *)sched + n->offset;
	u64 value = n->auto_value;

	if (!adapt && (kstrtou64(page, 10, &value) || value < n->lowest || value > n->highest)) {
		pr_err("freeblock: %s: '%.*s' is not %sa number from %llu to %llu\n", n->name,
		       (int)strcspn(page, "\n"), page, n->may_be_auto ? "auto or " : "",
		       n->lowest, n->highest);
		return -EINVAL;
	}
	guard(spinlock_irq)(&sched->disk->lock);
	if (n->may_be_auto)
		*(bool *)((void *)sched + n->auto_offset) = adapt;
	if (n->wide)
		*(u64 *)field = value * n->unit;
	else
		*(u32 *)field = value * n->unit;
	sched->changed(sched);
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

FB_TUNABLES_NUMBER(sw_percent, engine.pool.sw_percent, false, 1, 0, 1000)
FB_TUNABLES_NUMBER(depth, engine.depth, false, 1, 1, 4,
		   true, offsetof(struct fb_sched, engine.auto_depth), FB_ENGINE_DEPTH)
FB_TUNABLES_NUMBER(hold_back, engine.hold, false, 1, 0, 1)
FB_TUNABLES_NUMBER(lift, engine.lift, false, 1, 0, FB_LIFT_ALL,
		   true, offsetof(struct fb_sched, engine.auto_lift), FB_LIFT_ALL)
FB_TUNABLES_NUMBER(conservatism_us, conservatism_ns, true, NSEC_PER_USEC, 0, 10000,
		   true, offsetof(struct fb_sched, engine.auto_margin), 0)
FB_TUNABLES_NUMBER(target_slowdown_ppm, target_ppm, false, 1, 0, 1000000)
FB_TUNABLES_NUMBER(foreground_cost_ppm, engine.round.joint.cost_ppm, false, 1, 1,
		   FB_JOINT_COST_PPM_MAX)
FB_TUNABLES_NUMBER(read_expire, expire_ns[READ], true, NSEC_PER_MSEC, 1, 600000)
FB_TUNABLES_NUMBER(write_expire, expire_ns[WRITE], true, NSEC_PER_MSEC, 1, 600000)
FB_TUNABLES_NUMBER(search_us, engine.search_ns, true, NSEC_PER_USEC, 1, 100000)
FB_TUNABLES_NUMBER(background_expire, others.expire_ns, true, NSEC_PER_MSEC, 1, 600000)
FB_TUNABLES_NUMBER(background_wait_us, others.wait_ns, true, NSEC_PER_USEC, 0, 1000000)

static ssize_t policy_show(struct elevator_queue *eq, char *page)
{
	const struct fb_sched *sched = eq->elevator_data;

	return sysfs_emit(page, "%s\n", fb_policy_name[READ_ONCE(sched->engine.pool.policy)]);
}

static ssize_t policy_store(struct elevator_queue *eq, const char *page, size_t count)
{
	struct fb_sched *sched = eq->elevator_data;
	int i = __sysfs_match_string(fb_policy_name, FB_POLICIES, page);

	if (i < 0) {
		pr_err("freeblock: policy: '%.*s' is none of clook sstf sptf sptf-sw auto\n",
		       (int)strcspn(page, "\n"), page);
		return -EINVAL;
	}
	guard(spinlock_irq)(&sched->disk->lock);
	WRITE_ONCE(sched->engine.pool.policy, i);
	sched->changed(sched);
	return count;
}

struct elv_fs_entry fb_tunables_attrs[] = {
	__ATTR_RW(policy),
	__ATTR_RW(sw_percent),
	__ATTR_RW(depth),
	__ATTR_RW(hold_back),
	__ATTR_RW(lift),
	__ATTR_RW(conservatism_us),
	__ATTR_RW(target_slowdown_ppm),
	__ATTR_RW(foreground_cost_ppm),
	__ATTR_RW(read_expire),
	__ATTR_RW(write_expire),
	__ATTR_RW(search_us),
	__ATTR_RW(background_expire),
	__ATTR_RW(background_wait_us),
	__ATTR_NULL
};
