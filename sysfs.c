// SPDX-License-Identifier: GPL-2.0
/*
 * A disk's files in /sys/kernel/freeblock/<disk>/: uploads, commands, settings and identity. Locks:
 * fb_disk.config around the model's text, fb_disk.lock around what the scheduler reads.
 */
#include <linux/sysfs.h>

#include "disk/disk.h"
#include "include/compat/fb_compat.h"
#include "files.h"
#include "tasks/tasks.h"

/* ---- a disk ---- */

static struct fb_disk *fb_sysfs_disk(struct kobject *kobj)
{
	return container_of(kobj, struct fb_disk, folder.kobj);
}

static ssize_t model_write(struct file *file, struct kobject *kobj, FB_COMPAT_BIN_ATTR *attr,
			   char *buf, loff_t off, size_t count)
{
	return fb_upload_write(fb_sysfs_disk(kobj), buf, off, count);
}

static ssize_t model_read(struct file *file, struct kobject *kobj, FB_COMPAT_BIN_ATTR *attr,
			  char *buf, loff_t off, size_t count)
{
	struct fb_disk *disk = fb_sysfs_disk(kobj);

	guard(mutex)(&disk->config);
	return memory_read_from_buffer(buf, count, &off, disk->table, disk->table_size);
}

static BIN_ATTR_RW(model, 0);

/* a file that shows something of @disk */
#define FB_SYSFS_VALUE(_name, ...)							\
static ssize_t _name##_show(struct kobject *kobj, struct kobj_attribute *attr, char *page)	\
{											\
	struct fb_disk *disk = fb_sysfs_disk(kobj);					\
											\
	guard(mutex)(&disk->config);							\
	return sysfs_emit(page, __VA_ARGS__);						\
}											\
static struct kobj_attribute _name##_attr = __ATTR_RO(_name)

FB_SYSFS_VALUE(model_status, "%s\n", disk->model_status);
FB_SYSFS_VALUE(id, "%s\n", disk->id[0] ? disk->id : "-");
FB_SYSFS_VALUE(sectors, "%llu\n", disk->sectors);
FB_SYSFS_VALUE(granule_bytes, "%u\n", disk->granule << SECTOR_SHIFT);

static struct kobj_attribute scan_attr;

#define FB_SYSFS_JOB(attr) ((attr) == &scan_attr ? FB_JOB_SCAN : FB_JOB_SCRUB)

static ssize_t fb_sysfs_job_show(struct kobject *kobj, struct kobj_attribute *attr, char *page)
{
	return fb_job_show(fb_sysfs_disk(kobj), FB_SYSFS_JOB(attr), page);
}

static ssize_t fb_sysfs_job_store(struct kobject *kobj, struct kobj_attribute *attr,
				  const char *page, size_t count)
{
	return fb_job_store(fb_sysfs_disk(kobj), FB_SYSFS_JOB(attr), page, count);
}

static struct kobj_attribute scan_attr = __ATTR(scan, 0644, fb_sysfs_job_show, fb_sysfs_job_store);
static struct kobj_attribute scrub_attr = __ATTR(scrub, 0644, fb_sysfs_job_show,
						 fb_sysfs_job_store);

static ssize_t coverage_read(struct file *file, struct kobject *kobj, FB_COMPAT_BIN_ATTR *attr,
			     char *buf, loff_t off, size_t count)
{
	return fb_job_read_coverage(fb_sysfs_disk(kobj), buf, off, count);
}

static ssize_t coverage_write(struct file *file, struct kobject *kobj,
			      FB_COMPAT_BIN_ATTR *attr, char *buf, loff_t off, size_t count)
{
	return fb_job_write_coverage(fb_sysfs_disk(kobj), file, buf, off, count);
}

static BIN_ATTR_ADMIN_RW(coverage, 0);

static ssize_t tasks_show(struct kobject *kobj, struct kobj_attribute *attr, char *page)
{
	struct fb_disk *disk = fb_sysfs_disk(kobj);

	guard(spinlock_irq)(&disk->lock);
	return sysfs_emit(page, "%u\n", fb_task_count(disk));
}

static ssize_t tasks_store(struct kobject *kobj, struct kobj_attribute *attr, const char *page,
			   size_t count)
{
	int ret = fb_task_command(fb_sysfs_disk(kobj), page);

	return ret ? ret : count;
}

static struct kobj_attribute tasks_attr = __ATTR_RW(tasks);

/* ---- settings ---- */

/* A number, or one of two words, in struct fb_disk; it is never clamped */
struct fb_sysfs_setting {
	struct kobj_attribute attr;
	size_t offset;			/* of the u32, or, of words, of the bool */
	u32 lowest;
	u32 highest;
	bool may_be_auto;		/* "auto" may be written, too */
	/* a third one can be written only, and is not named when a word is refused */
	const char *word[3];
	int (*set)(struct fb_disk *disk, u32 value);	/* NULL: as a setting of idle reads */
};

static ssize_t fb_sysfs_setting_show(struct kobject *kobj, struct kobj_attribute *attr, char *page)
{
	const struct fb_sysfs_setting *file = container_of(attr, struct fb_sysfs_setting, attr);
	const void *field = (const void *)fb_sysfs_disk(kobj) + file->offset;
	u32 value;

	if (file->word[0])
		return sysfs_emit(page, "%s\n", file->word[READ_ONCE(*(const bool *)field)]);
	value = READ_ONCE(*(const u32 *)field);
	return file->may_be_auto && value == FB_IDLE_AUTO ? sysfs_emit(page, "auto\n") :
							    sysfs_emit(page, "%u\n", value);
}

static int fb_sysfs_parse(const struct fb_sysfs_setting *file, const char *page, u32 *value)
{
	int word = __sysfs_match_string(file->word, ARRAY_SIZE(file->word), page);

	*value = word;
	if (word >= 0)
		return 0;
	if (file->word[0]) {
		pr_err("freeblock: %s: '%.*s' is neither %s nor %s\n", file->attr.attr.name,
		       (int)strcspn(page, "\n"), page, file->word[0], file->word[1]);
		return -EINVAL;
	}
	*value = FB_IDLE_AUTO;
	if (file->may_be_auto && sysfs_streq(page, "auto"))
		return 0;
	if (!kstrtou32(page, 10, value) && *value >= file->lowest && *value <= file->highest)
		return 0;
	pr_err("freeblock: %s: '%.*s' is not %sa number from %u to %u\n", file->attr.attr.name,
	       (int)strcspn(page, "\n"), page, file->may_be_auto ? "auto or " : "", file->lowest,
	       file->highest);
	return -EINVAL;
}

static ssize_t fb_sysfs_setting_store(struct kobject *kobj, struct kobj_attribute *attr,
				      const char *page, size_t count)
{
	const struct fb_sysfs_setting *file = container_of(attr, struct fb_sysfs_setting, attr);
	struct fb_disk *disk = fb_sysfs_disk(kobj);
	void *field = (void *)disk + file->offset;
	u32 value;
	int ret = fb_sysfs_parse(file, page, &value);

	if (!ret && file->set)
		ret = file->set(disk, value);
	if (ret || file->set)
		return ret ? ret : count;
	guard(spinlock_irq)(&disk->lock);
	if (file->word[0])
		WRITE_ONCE(*(bool *)field, value);
	else
		WRITE_ONCE(*(u32 *)field, value);
	fb_idle_changed(disk);
	fb_disk_tell_wants(disk);
	return count;
}

static int fb_sysfs_set_idle_only(struct fb_disk *disk, u32 on)
{
	guard(spinlock_irq)(&disk->lock);
	WRITE_ONCE(disk->idle_only, on);
	fb_disk_level_changed(disk);
	return 0;
}

static int fb_sysfs_set_trial(struct fb_disk *disk, u32 word)
{
	guard(spinlock_irq)(&disk->lock);
	fb_measure_set(disk, word);
	fb_disk_tell_wants(disk);
	return 0;
}

/* the address of its attribute */
#define FB_SYSFS_SETTING(_name, _field, ...)						\
	(&((struct fb_sysfs_setting[]) { {						\
		.attr = __ATTR(_name, 0644, fb_sysfs_setting_show, fb_sysfs_setting_store),	\
		.offset = offsetof(struct fb_disk, _field), __VA_ARGS__			\
	} })[0].attr.attr)

static struct attribute *fb_sysfs_disk_attrs[] = {
	&model_status_attr.attr,
	FB_SYSFS_SETTING(model_force, forced, .word = { "0", "1" }, .set = fb_disk_force),
	&id_attr.attr,
	&sectors_attr.attr,
	&scan_attr.attr,
	&scrub_attr.attr,
	FB_SYSFS_SETTING(bad_quarantine_kib, quarantine.quarantine_kib, .highest = 65536),
	FB_SYSFS_SETTING(bad_slow_s, quarantine.slow_s, .lowest = 1, .highest = 86400),
	FB_SYSFS_SETTING(bad_slow_most, quarantine.slow_most, .lowest = 1, .highest = 1000),
	&tasks_attr.attr,
	&granule_bytes_attr.attr,
	FB_SYSFS_SETTING(idle_wait_us, idle.wait_us, .highest = 3600U * USEC_PER_SEC,
			 .may_be_auto = true),
	FB_SYSFS_SETTING(idle_size_kib, idle.size_kib, .lowest = FB_IDLE_POLICY_SECTORS_MIN / 2,
			 .highest = FB_IDLE_POLICY_SECTORS_MAX / 2, .may_be_auto = true),
	FB_SYSFS_SETTING(idle_mean_us, idle.goal_mean_us, .highest = 10 * USEC_PER_SEC),
	FB_SYSFS_SETTING(idle_max_us, idle.goal_max_us, .lowest = 1000,
			 .highest = 60 * USEC_PER_SEC),
	FB_SYSFS_SETTING(max_kib_s, measure.max_kib_s, .highest = 4194304),
	FB_SYSFS_SETTING(power, idle.power.keep_awake, .word = { "respect", "keep-awake" }),
	FB_SYSFS_SETTING(idle_only, idle_only, .word = { "0", "1" }, .set = fb_sysfs_set_idle_only),
	FB_SYSFS_SETTING(trial, measure.on, .word = { "0", "1", [FB_MEASURE_STOP] = "stop" },
			 .set = fb_sysfs_set_trial),
	NULL
};

static FB_COMPAT_BIN_ATTR *fb_sysfs_disk_bin_attrs[] = {
	&bin_attr_model,
	&bin_attr_coverage,
	NULL
};

static const struct attribute_group fb_sysfs_disk_group = {
	.attrs = fb_sysfs_disk_attrs,
	.bin_attrs = fb_sysfs_disk_bin_attrs,
};

const struct attribute_group *fb_sysfs_disk_groups[] = {
	&fb_sysfs_disk_group,
	&fb_snapshot_group,
	NULL
};

/* no more commands can arrive */
const struct fb_disk_client fb_sysfs_client = {
	.exit = fb_job_end_all,
};
