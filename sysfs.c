// SPDX-License-Identifier: GPL-2.0
/*
 * A disk's files in /sys/kernel/freeblock/<disk>/ and
 * /sys/kernel/debug/freeblock/<disk>/. They are described in
 * Documentation/ABI/testing/sysfs-block-freeblock.
 *
 * Calls: tasks/ for the files scan, scrub, coverage and tasks; disk/disk.c for the model;
 * disk/idle.c for the settings of idle reads; core/ for what is shown.
 *
 * Locks: fb_disk.config around the model's text, fb_disk.lock around everything that the
 * scheduler reads; the table is in disk/disk.h.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "disk/disk.h"
#include "disk/upload.h"
#include "include/compat/fb_compat.h"
#include "sysfs.h"
#include "tasks/job.h"
#include "tasks/task.h"

/* ---- a disk ---- */

static struct fb_disk *fb_sysfs_disk(struct kobject *kobj)
{
	return container_of(kobj, struct fb_disk, kobj);
}

static ssize_t model_write(struct file *file, struct kobject *kobj, FB_COMPAT_BIN_ATTR *attr,
			   char *buf, loff_t off, size_t count)
{
	return fb_upload_write(fb_sysfs_disk(kobj), buf, off, count);
}

static ssize_t model_read(struct file *file, struct kobject *kobj, FB_COMPAT_BIN_ATTR *attr,
			  char *buf, loff_t off, size_t count)
{
	struct fb_disk *fd = fb_sysfs_disk(kobj);
	ssize_t ret;

	mutex_lock(&fd->config);
	ret = memory_read_from_buffer(buf, count, &off, fd->text, fd->text_len);
	mutex_unlock(&fd->config);
	return ret;
}

static BIN_ATTR_RW(model, 0);

static ssize_t model_status_show(struct kobject *kobj, struct kobj_attribute *attr, char *page)
{
	struct fb_disk *fd = fb_sysfs_disk(kobj);
	ssize_t len;

	mutex_lock(&fd->config);
	len = sysfs_emit(page, "%s", fd->model_status);
	mutex_unlock(&fd->config);
	return len;
}

static struct kobj_attribute model_status_attr = __ATTR_RO(model_status);

static ssize_t model_force_show(struct kobject *kobj, struct kobj_attribute *attr, char *page)
{
	return sysfs_emit(page, "%d\n", READ_ONCE(fb_sysfs_disk(kobj)->forced));
}

static ssize_t model_force_store(struct kobject *kobj, struct kobj_attribute *attr,
				 const char *page, size_t count)
{
	int ret;

	if (!sysfs_streq(page, "0") && !sysfs_streq(page, "1")) {
		pr_err("freeblock: model_force: '%.*s' is neither 0 nor 1\n",
		       (int)strcspn(page, "\n"), page);
		return -EINVAL;
	}
	ret = fb_disk_force(fb_sysfs_disk(kobj), page[0] == '1');
	return ret ? ret : count;
}

static struct kobj_attribute model_force_attr = __ATTR_RW(model_force);

static ssize_t status_show(struct kobject *kobj, struct kobj_attribute *attr, char *page)
{
	struct fb_disk *fd = fb_sysfs_disk(kobj);
	const char *why;
	ssize_t len;

	spin_lock_irq(&fd->lock);
	why = fb_disk_transparent(fd);
	len = sysfs_emit(page, "id %s\nsectors %llu\nattached %d\nmodel %d\n",
			 fd->id[0] ? fd->id : "-", fd->sectors, !!fd->q, !!fd->model);
	len += sysfs_emit_at(page, len, "scheduling %s\ntasks %u\n", why ? why : "yes",
			     fb_disk_tasks(fd));
	len += sysfs_emit_at(page, len,
			     "bad_blocks %llu\nalarms %llu\nquarantine_zones %u\nquarantine_sectors %llu\nquarantine_dropped %llu\n",
			     fd->quarantine.total, fd->quarantine.alarms, fd->quarantine.zones,
			     fb_quarantine_quarantined(&fd->quarantine), fd->quarantine.dropped);
	spin_unlock_irq(&fd->lock);
	return len;
}

static struct kobj_attribute status_attr = __ATTR_RO(status);

static struct kobj_attribute scan_attr;

static ssize_t fb_sysfs_job_show(struct kobject *kobj, struct kobj_attribute *attr, char *page)
{
	struct fb_disk *fd = fb_sysfs_disk(kobj);

	return fb_job_show(attr == &scan_attr ? &fd->scan : &fd->scrub, page, false);
}

static ssize_t fb_sysfs_job_store(struct kobject *kobj, struct kobj_attribute *attr,
				  const char *page, size_t count)
{
	struct fb_disk *fd = fb_sysfs_disk(kobj);
	char name[FB_NAME_LEN];

	fb_disk_copy_name(fd, name, sizeof(name));
	return attr == &scan_attr ? fb_job_store(&fd->scan, &fb_job_scan, name, page, count) :
				    fb_job_store(&fd->scrub, &fb_job_scrub, name, page, count);
}

static struct kobj_attribute scan_attr = __ATTR(scan, 0644, fb_sysfs_job_show, fb_sysfs_job_store);
static struct kobj_attribute scrub_attr = __ATTR(scrub, 0644, fb_sysfs_job_show,
						 fb_sysfs_job_store);

static ssize_t progress_show(struct kobject *kobj, struct kobj_attribute *attr, char *page)
{
	return fb_job_show(&fb_sysfs_disk(kobj)->scan, page, true);
}

static struct kobj_attribute progress_attr = __ATTR_RO(progress);

static ssize_t coverage_read(struct file *file, struct kobject *kobj, FB_COMPAT_BIN_ATTR *attr,
			     char *buf, loff_t off, size_t count)
{
	struct fb_disk *fd = fb_sysfs_disk(kobj);

	return fb_job_read_coverage(&fd->scrub, fd->id, buf, off, count);
}

static ssize_t coverage_write(struct file *file, struct kobject *kobj,
			      FB_COMPAT_BIN_ATTR *attr, char *buf, loff_t off, size_t count)
{
	struct fb_disk *fd = fb_sysfs_disk(kobj);
	char name[FB_NAME_LEN];

	fb_disk_copy_name(fd, name, sizeof(name));
	return fb_job_write_coverage(&fd->scrub, name, fd->id, buf, off, count);
}

static BIN_ATTR_ADMIN_RW(coverage, 0);

#define FB_SYSFS_BAD_LINE 40	/* longest line, in characters */

static ssize_t bad_blocks_read(struct file *file, struct kobject *kobj,
			       FB_COMPAT_BIN_ATTR *attr, char *buf, loff_t off, size_t count)
{
	struct fb_disk *fd = fb_sysfs_disk(kobj);
	size_t size = FB_QUARANTINE_LISTED * FB_SYSFS_BAD_LINE;
	struct fb_plan_piece *list = kvmalloc(sizeof(fd->quarantine.list), GFP_NOIO);
	char *text = kvmalloc(size, GFP_NOIO);
	ssize_t ret = -ENOMEM;
	u32 listed, i;
	int len = 0;

	if (!list || !text)
		goto out;
	/* formatting would hold the lock for too long */
	spin_lock_irq(&fd->lock);
	listed = fd->quarantine.listed;
	memcpy(list, fd->quarantine.list, listed * sizeof(*list));
	spin_unlock_irq(&fd->lock);
	for (i = 0; i < listed; i++)
		len += scnprintf(text + len, size - len, "%llu %u medium\n", list[i].lbn,
				 list[i].nsect);
	ret = memory_read_from_buffer(buf, count, &off, text, len);
out:
	kvfree(text);
	kvfree(list);
	return ret;
}

static BIN_ATTR_RO(bad_blocks, 0);

static ssize_t tasks_show(struct kobject *kobj, struct kobj_attribute *attr, char *page)
{
	return fb_task_list(fb_sysfs_disk(kobj), page);
}

static ssize_t tasks_store(struct kobject *kobj, struct kobj_attribute *attr, const char *page,
			   size_t count)
{
	int ret = fb_task_command(fb_sysfs_disk(kobj), page);

	return ret ? ret : count;
}

static struct kobj_attribute tasks_attr = __ATTR_RW(tasks);

static ssize_t granule_bytes_show(struct kobject *kobj, struct kobj_attribute *attr, char *page)
{
	struct fb_disk *fd = fb_sysfs_disk(kobj);
	u32 sectors = 0;

	mutex_lock(&fd->config);
	if (fd->model)
		sectors = dm_info(fd->model)->granule_sectors;
	mutex_unlock(&fd->config);
	return sectors ? sysfs_emit(page, "%u\n", sectors << SECTOR_SHIFT) : -ENODATA;
}

static struct kobj_attribute granule_bytes_attr = __ATTR_RO(granule_bytes);

/* ---- settings ---- */

/**
 * struct fb_sysfs_setting - a number in struct fb_disk; it is never clamped
 * @attr: the file
 * @offset: offset of the u32 in struct fb_disk
 * @lowest: allowed
 * @highest: allowed
 * @may_be_auto: "auto" may be written, too
 */
struct fb_sysfs_setting {
	struct kobj_attribute attr;
	size_t offset;
	u32 lowest;
	u32 highest;
	bool may_be_auto;
};

static ssize_t fb_sysfs_setting_show(struct kobject *kobj, struct kobj_attribute *attr, char *page)
{
	const struct fb_sysfs_setting *file = container_of(attr, struct fb_sysfs_setting, attr);
	u32 value = READ_ONCE(*(u32 *)((void *)fb_sysfs_disk(kobj) + file->offset));

	return file->may_be_auto && value == FB_IDLE_AUTO ? sysfs_emit(page, "auto\n") :
							    sysfs_emit(page, "%u\n", value);
}

static ssize_t fb_sysfs_setting_store(struct kobject *kobj, struct kobj_attribute *attr,
				      const char *page, size_t count)
{
	const struct fb_sysfs_setting *file = container_of(attr, struct fb_sysfs_setting, attr);
	struct fb_disk *fd = fb_sysfs_disk(kobj);
	u32 value = FB_IDLE_AUTO;

	if (!(file->may_be_auto && sysfs_streq(page, "auto")) &&
	    (kstrtou32(page, 10, &value) || value < file->lowest || value > file->highest)) {
		pr_err("freeblock: %s: '%.*s' is not %sa number from %u to %u\n",
		       attr->attr.name, (int)strcspn(page, "\n"), page,
		       file->may_be_auto ? "auto or " : "", file->lowest, file->highest);
		return -EINVAL;
	}
	spin_lock_irq(&fd->lock);
	WRITE_ONCE(*(u32 *)((void *)fd + file->offset), value);
	fb_idle_changed(fd);
	spin_unlock_irq(&fd->lock);
	return count;
}

#define FB_SYSFS_SETTING(_name, _field, _lowest, _highest, _auto)			\
static struct fb_sysfs_setting _name##_file = {						\
	.attr = __ATTR(_name, 0644, fb_sysfs_setting_show, fb_sysfs_setting_store),	\
	.offset = offsetof(struct fb_disk, _field),					\
	.lowest = _lowest,								\
	.highest = _highest,								\
	.may_be_auto = _auto,								\
}

FB_SYSFS_SETTING(bad_quarantine_kib, quarantine.quarantine_kib, 0, 65536, false);
FB_SYSFS_SETTING(bad_slow_s, quarantine.slow_s, 1, 86400, false);
FB_SYSFS_SETTING(bad_slow_most, quarantine.slow_most, 1, 1000, false);
FB_SYSFS_SETTING(idle_wait_us, idle.wait_us, 0, 3600U * USEC_PER_SEC, true);
FB_SYSFS_SETTING(idle_size_kib, idle.size_kib, FB_IDLE_POLICY_SECTORS_MIN / 2,
		 FB_IDLE_POLICY_SECTORS_MAX / 2, true);
FB_SYSFS_SETTING(idle_mean_us, idle.goal_mean_us, 0, 10 * USEC_PER_SEC, false);
FB_SYSFS_SETTING(idle_max_us, idle.goal_max_us, 1000, 60 * USEC_PER_SEC, false);

static ssize_t idle_status_show(struct kobject *kobj, struct kobj_attribute *attr, char *page)
{
	return fb_idle_describe(fb_sysfs_disk(kobj), page);
}

static struct kobj_attribute idle_status_attr = __ATTR_RO(idle_status);

static struct attribute *fb_sysfs_disk_attrs[] = {
	&model_status_attr.attr,
	&model_force_attr.attr,
	&status_attr.attr,
	&scan_attr.attr,
	&scrub_attr.attr,
	&bad_quarantine_kib_file.attr.attr,
	&bad_slow_s_file.attr.attr,
	&bad_slow_most_file.attr.attr,
	&tasks_attr.attr,
	&progress_attr.attr,
	&granule_bytes_attr.attr,
	&idle_wait_us_file.attr.attr,
	&idle_size_kib_file.attr.attr,
	&idle_mean_us_file.attr.attr,
	&idle_max_us_file.attr.attr,
	&idle_status_attr.attr,
	NULL
};

static FB_COMPAT_BIN_ATTR *fb_sysfs_disk_bin_attrs[] = {
	&bin_attr_model,
	&bin_attr_coverage,
	&bin_attr_bad_blocks,
	NULL
};

static const struct attribute_group fb_sysfs_disk_group = {
	.attrs = fb_sysfs_disk_attrs,
	.bin_attrs = fb_sysfs_disk_bin_attrs,
};

const struct attribute_group *fb_sysfs_disk_groups[] = {
	&fb_sysfs_disk_group,
	NULL
};

/* ---- debugfs ---- */

/* one line per bucket: its lower edge in microseconds, number of requests */
static int prediction_error_show(struct seq_file *m, void *v)
{
	struct fb_disk *fd = m->private;
	u64 count;
	int i;

	for (i = 0; i < FB_HIST; i++) {
		count = READ_ONCE(fd->stats.ends.hist[i]);
		if (count)
			seq_printf(m, "%d %llu\n",
				   (i - FB_HIST_HALF - 1) * (FB_HIST_STEP_NS / 1000), count);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(prediction_error);

/* copied because formatting would hold the lock for too long */
struct fb_calibration {
	struct fb_seek_fit calib;
	struct fb_head head;
	struct dm_info info;
	bool modelled;
	bool attached;
	bool locked;
};

static void calibration_copy(struct fb_disk *fd, struct fb_calibration *s, u64 now)
{
	spin_lock_irq(&fd->lock);
	s->modelled = fd->model;
	if (fd->model) {
		s->info = *dm_info(fd->model);
		s->calib = fd->seek_fit;
	}
	s->attached = fd->model && fd->head && !fb_disk_transparent(fd);
	if (s->attached) {
		s->head = *fd->head;
		s->locked = fb_head_locked(fd->head, now);
	}
	spin_unlock_irq(&fd->lock);
}

static void calibration_band(struct seq_file *m, const struct fb_calibration *s, u32 i, u64 now)
{
	const struct fb_seek_fit_band *b = &s->calib.band[i];
	u32 first = dm_band_first(i), last = s->info.cylinders - 1;

	if (i < DM_BANDS - 1)
		last = min(last, dm_band_first(i + 1) - 1);
	seq_printf(m, "band %u %u trials %llu late %llu shift_ppm %d applied_ppm %d error_ppm %u spread_ns %u since_s %llu\n",
		   first, last, b->trials, b->late, fb_seek_fit_ppm(&s->calib, i),
		   s->calib.applied[i], fb_seek_fit_error_ppm(&s->calib, i), b->spread_ns,
		   b->since_ns ? div_u64(now - min(b->since_ns, now), NSEC_PER_SEC) : 0);
}

/* the lines are described in Documentation/ABI/testing/sysfs-block-freeblock */
static int calibration_show(struct seq_file *m, void *v)
{
	struct fb_calibration *s = kzalloc(sizeof(*s), GFP_KERNEL);
	u64 now = ktime_get_ns();
	u32 i;

	if (!s)
		return -ENOMEM;
	calibration_copy(m->private, s, now);
	if (!s->modelled) {
		seq_puts(m, "no model\n");
		goto out;
	}
	seq_printf(m, "model_period_ps %llu\n", s->info.period_ps);
	if (s->attached)
		seq_printf(m, "period_ps %llu\ntrend_ps_per_s %lld\nphase %s\nagreed %u\nfits_ppm %u\n",
			   s->head.period_ps, s->head.trend_ps, s->locked ? "locked" : "unknown",
			   s->head.trust, s->head.fits);
	for (i = 1; i < DM_BANDS && dm_band_first(i) < s->info.cylinders; i++)
		calibration_band(m, s, i, now);
out:
	kfree(s);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(calibration);

/* any write resets all counters of the disk */
static ssize_t reset_write(struct file *file, const char __user *buf, size_t count, loff_t *ppos)
{
	struct fb_disk *fd = file->private_data;

	spin_lock_irq(&fd->lock);
	memset(&fd->stats, 0, sizeof(fd->stats));
	spin_unlock_irq(&fd->lock);
	return count;
}

static const struct file_operations reset_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = reset_write,
	.llseek = noop_llseek,
};

/* debugfs callers are meant to ignore errors */
static void fb_sysfs_debugfs(struct fb_disk *fd)
{
	debugfs_create_file("prediction_error", 0444, fd->debugfs, fd, &prediction_error_fops);
	debugfs_create_file("calibration", 0444, fd->debugfs, fd, &calibration_fops);
	debugfs_create_file("reset", 0200, fd->debugfs, fd, &reset_fops);
}

/* no more commands can arrive */
static void fb_sysfs_exit(struct fb_disk *fd)
{
	fb_job_end(&fd->scan);
	fb_job_end(&fd->scrub);
}

const struct fb_disk_client fb_sysfs_client = {
	.init = fb_sysfs_debugfs,
	.exit = fb_sysfs_exit,
};
