// SPDX-License-Identifier: GPL-2.0
/*
 * sysfs and debugfs: /sys/kernel/freeblock/<disk>/, the scheduler's tunables in
 * queue/iosched/, /sys/kernel/debug/freeblock/<disk>/. The files are described in
 * Documentation/ABI/testing/sysfs-block-freeblock.
 *
 * Locks: fb_disk.config around the model's text, fb_disk.lock around everything that the
 * scheduler reads; the table is in fb_disk.h.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "fb_scan.h"
#include "fb_sched.h"
#include "fb_scrub.h"
#include "fb_sysfs.h"

/* ---- a disk ---- */

static struct fb_disk *fb_sysfs_disk(struct kobject *kobj)
{
	return container_of(kobj, struct fb_disk, kobj);
}

static ssize_t model_write(struct file *file, struct kobject *kobj, struct bin_attribute *attr,
			   char *buf, loff_t off, size_t count)
{
	return fb_disk_upload(fb_sysfs_disk(kobj), buf, off, count);
}

static ssize_t model_read(struct file *file, struct kobject *kobj, struct bin_attribute *attr,
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

static u32 fb_sysfs_tasks(const struct fb_disk *fd)
{
	u32 i, n = 0;

	for (i = 0; fd->svc && i < FREEBLOCK_TASKS; i++)
		n += !!fd->svc->task[i];
	return n;
}

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
			     fb_sysfs_tasks(fd));
	len += sysfs_emit_at(page, len,
			     "bad_blocks %llu\nalarms %llu\nquarantine_zones %u\nquarantine_sectors %llu\nquarantine_dropped %llu\n",
			     fd->bad.total, fd->bad.alarms, fd->bad.zones,
			     fbb_quarantined(&fd->bad), fd->bad.dropped);
	spin_unlock_irq(&fd->lock);
	return len;
}

static struct kobj_attribute status_attr = __ATTR_RO(status);

static ssize_t scan_show(struct kobject *kobj, struct kobj_attribute *attr, char *page)
{
	return fb_scan_show(&fb_sysfs_disk(kobj)->scan, page);
}

static ssize_t scan_store(struct kobject *kobj, struct kobj_attribute *attr, const char *page,
			  size_t count)
{
	struct fb_disk *fd = fb_sysfs_disk(kobj);
	char name[FB_NAME_LEN];
	int ret;

	fb_disk_copy_name(fd, name, sizeof(name));
	ret = fb_scan_command(&fd->scan, name, page);
	if (ret)
		pr_err("freeblock: %s: scan: '%.*s' refused (%d)\n", name,
		       (int)strcspn(page, "\n"), page, ret);
	return ret ? ret : count;
}

static struct kobj_attribute scan_attr = __ATTR_RW(scan);

/* what the scrubber is to know of a disk */
struct fb_sysfs_scrub {
	struct fb_scrub_disk disk;
	char name[FB_NAME_LEN];
	char id[FB_ID_LEN];
};

static void fb_sysfs_scrub_disk(struct fb_disk *fd, struct fb_sysfs_scrub *s)
{
	memset(s, 0, sizeof(*s));
	fb_disk_copy_name(fd, s->name, sizeof(s->name));
	if (fd->id[0])
		strscpy(s->id, fd->id, sizeof(s->id));
	else
		snprintf(s->id, sizeof(s->id), "name.%s", s->name);
	s->disk.name = s->name;
	s->disk.id = s->id;
	mutex_lock(&fd->config);
	if (fd->model) {
		s->disk.sectors = dm_info(fd->model)->sectors;
		s->disk.granule = dm_info(fd->model)->granule_sectors;
	}
	mutex_unlock(&fd->config);
}

static ssize_t scrub_show(struct kobject *kobj, struct kobj_attribute *attr, char *page)
{
	return fb_scrub_show(&fb_sysfs_disk(kobj)->scrub, page);
}

static ssize_t scrub_store(struct kobject *kobj, struct kobj_attribute *attr, const char *page,
			   size_t count)
{
	struct fb_disk *fd = fb_sysfs_disk(kobj);
	struct fb_sysfs_scrub s;
	int ret;

	fb_sysfs_scrub_disk(fd, &s);
	ret = fb_scrub_command(&fd->scrub, &s.disk, page);
	return ret ? ret : count;
}

static struct kobj_attribute scrub_attr = __ATTR_RW(scrub);

static ssize_t coverage_read(struct file *file, struct kobject *kobj, struct bin_attribute *attr,
			     char *buf, loff_t off, size_t count)
{
	struct fb_disk *fd = fb_sysfs_disk(kobj);
	struct fb_sysfs_scrub s;

	fb_sysfs_scrub_disk(fd, &s);
	return fb_scrub_read(&fd->scrub, &s.disk, buf, off, count);
}

static ssize_t coverage_write(struct file *file, struct kobject *kobj,
			      struct bin_attribute *attr, char *buf, loff_t off, size_t count)
{
	struct fb_disk *fd = fb_sysfs_disk(kobj);
	struct fb_sysfs_scrub s;

	fb_sysfs_scrub_disk(fd, &s);
	return fb_scrub_write(&fd->scrub, &s.disk, buf, off, count);
}

static BIN_ATTR_RW(coverage, 0);

#define FB_SYSFS_BAD_LINE 40	/* characters of a line, at most */

static ssize_t bad_blocks_read(struct file *file, struct kobject *kobj,
			       struct bin_attribute *attr, char *buf, loff_t off, size_t count)
{
	struct fb_disk *fd = fb_sysfs_disk(kobj);
	size_t size = FBB_LISTED * FB_SYSFS_BAD_LINE;
	struct fbb_block *list = kvmalloc(sizeof(fd->bad.list), GFP_NOIO);
	char *text = kvmalloc(size, GFP_NOIO);
	ssize_t ret = -ENOMEM;
	u32 listed, i;
	int len = 0;

	if (!list || !text)
		goto out;
	/* formatting would take too long under it */
	spin_lock_irq(&fd->lock);
	listed = fd->bad.listed;
	memcpy(list, fd->bad.list, listed * sizeof(*list));
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

/* a number in struct fb_disk, under its lock; nothing is clamped */
struct fb_sysfs_limit {
	struct kobj_attribute attr;
	size_t offset;
	u32 lowest;
	u32 highest;
};

static u32 *fb_sysfs_limit(struct kobject *kobj, const struct kobj_attribute *attr)
{
	const struct fb_sysfs_limit *l = container_of(attr, struct fb_sysfs_limit, attr);

	return (void *)fb_sysfs_disk(kobj) + l->offset;
}

static ssize_t limit_show(struct kobject *kobj, struct kobj_attribute *attr, char *page)
{
	return sysfs_emit(page, "%u\n", READ_ONCE(*fb_sysfs_limit(kobj, attr)));
}

static ssize_t limit_store(struct kobject *kobj, struct kobj_attribute *attr, const char *page,
			   size_t count)
{
	const struct fb_sysfs_limit *l = container_of(attr, struct fb_sysfs_limit, attr);
	u32 value;

	if (kstrtou32(page, 10, &value) || value < l->lowest || value > l->highest) {
		pr_err("freeblock: %s: '%.*s' is not a number from %u to %u\n", attr->attr.name,
		       (int)strcspn(page, "\n"), page, l->lowest, l->highest);
		return -EINVAL;
	}
	WRITE_ONCE(*fb_sysfs_limit(kobj, attr), value);
	return count;
}

static struct fb_sysfs_limit bad_quarantine_kib_limit = {
	.attr = __ATTR(bad_quarantine_kib, 0644, limit_show, limit_store),
	.offset = offsetof(struct fb_disk, bad.quarantine_kib),
	.lowest = 0,
	.highest = 65536,
};

static struct fb_sysfs_limit bad_slow_s_limit = {
	.attr = __ATTR(bad_slow_s, 0644, limit_show, limit_store),
	.offset = offsetof(struct fb_disk, bad.slow_s),
	.lowest = 1,
	.highest = 86400,
};

static struct fb_sysfs_limit bad_slow_most_limit = {
	.attr = __ATTR(bad_slow_most, 0644, limit_show, limit_store),
	.offset = offsetof(struct fb_disk, bad.slow_most),
	.lowest = 1,
	.highest = 1000,
};

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

static ssize_t progress_show(struct kobject *kobj, struct kobj_attribute *attr, char *page)
{
	return fb_scan_progress(&fb_sysfs_disk(kobj)->scan, page);
}

static struct kobj_attribute progress_attr = __ATTR_RO(progress);

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

/* ---- idle reads ---- */

/**
 * struct fb_sysfs_idle - a setting of idle reads; nothing is clamped
 * @attr: the file
 * @offset: where it is in struct fb_idle, u32
 * @lowest: that may be written
 * @highest: likewise
 * @may_be_auto: "auto" may
 */
struct fb_sysfs_idle {
	struct kobj_attribute attr;
	size_t offset;
	u32 lowest;
	u32 highest;
	bool may_be_auto;
};

static ssize_t fb_sysfs_idle_show(struct kobject *kobj, struct kobj_attribute *attr, char *page)
{
	const struct fb_sysfs_idle *file = container_of(attr, struct fb_sysfs_idle, attr);
	u32 value = READ_ONCE(*(u32 *)((void *)&fb_sysfs_disk(kobj)->idle + file->offset));

	return value == FB_IDLE_AUTO ? sysfs_emit(page, "auto\n") : sysfs_emit(page, "%u\n", value);
}

static ssize_t fb_sysfs_idle_store(struct kobject *kobj, struct kobj_attribute *attr,
				   const char *page, size_t count)
{
	const struct fb_sysfs_idle *file = container_of(attr, struct fb_sysfs_idle, attr);
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
	*(u32 *)((void *)&fd->idle + file->offset) = value;
	fb_idle_changed(fd);
	spin_unlock_irq(&fd->lock);
	return count;
}

#define FB_SYSFS_IDLE(_name, _field, _lowest, _highest, _auto)				\
static struct fb_sysfs_idle _name##_file = {						\
	.attr = __ATTR(_name, 0644, fb_sysfs_idle_show, fb_sysfs_idle_store),		\
	.offset = offsetof(struct fb_idle, _field),					\
	.lowest = _lowest,								\
	.highest = _highest,								\
	.may_be_auto = _auto,								\
}

FB_SYSFS_IDLE(idle_wait_us, wait_us, 0, 3600U * USEC_PER_SEC, true);
FB_SYSFS_IDLE(idle_size_kib, size_kib, FBW_SECTORS_MIN / 2, FBW_SECTORS_MAX / 2, true);
FB_SYSFS_IDLE(idle_mean_us, goal_mean_us, 0, 10 * USEC_PER_SEC, false);
FB_SYSFS_IDLE(idle_max_us, goal_max_us, 1000, 60 * USEC_PER_SEC, false);

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
	&bad_quarantine_kib_limit.attr.attr,
	&bad_slow_s_limit.attr.attr,
	&bad_slow_most_limit.attr.attr,
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

static struct bin_attribute *fb_sysfs_disk_bin_attrs[] = {
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

/* ---- tunables of the scheduler ---- */

enum fb_sysfs_number_id {
	FB_SYSFS_SW_PERCENT,
	FB_SYSFS_DEPTH,
	FB_SYSFS_HOLD,
	FB_SYSFS_CONSERVATISM,
	FB_SYSFS_TARGET,
	FB_SYSFS_READ_EXPIRE,
	FB_SYSFS_WRITE_EXPIRE,
	FB_SYSFS_SEARCH,
	FB_SYSFS_OTHERS_EXPIRE,
	FB_SYSFS_OTHERS_WAIT,
};

/**
 * struct fb_sysfs_number - a number in struct fbs; nothing is clamped
 * @name: of the file
 * @offset: where it is
 * @wide: u64, else u32
 * @unit: of the field in units of the file
 * @lowest: in the file's units
 * @highest: likewise
 * @may_be_auto: the file takes "auto", too
 * @auto_offset: where that is said, a bool
 * @auto_value: what the number is then
 */
struct fb_sysfs_number {
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

static const struct fb_sysfs_number fb_sysfs_numbers[] = {
	[FB_SYSFS_SW_PERCENT] = {
		"sw_percent", offsetof(struct fbs, pool.sw_percent), false, 1, 0, 1000
	},
	[FB_SYSFS_DEPTH] = {
		"depth", offsetof(struct fbs, depth), false, 1, 1, 4,
		true, offsetof(struct fbs, auto_depth), FBS_DEPTH
	},
	[FB_SYSFS_HOLD] = {
		"hold_back", offsetof(struct fbs, hold), false, 1, 0, 1
	},
	[FB_SYSFS_CONSERVATISM] = {
		"conservatism_us", offsetof(struct fbs, conservatism_ns), true,
		NSEC_PER_USEC, 0, 10000, true, offsetof(struct fbs, auto_margin), 0
	},
	[FB_SYSFS_TARGET] = {
		"target_slowdown_ppm", offsetof(struct fbs, target_ppm), false, 1, 0, 1000000
	},
	[FB_SYSFS_READ_EXPIRE] = {
		"read_expire", offsetof(struct fbs, expire_ns[READ]), true,
		NSEC_PER_MSEC, 1, 600000
	},
	[FB_SYSFS_WRITE_EXPIRE] = {
		"write_expire", offsetof(struct fbs, expire_ns[WRITE]), true,
		NSEC_PER_MSEC, 1, 600000
	},
	[FB_SYSFS_SEARCH] = {
		"search_us", offsetof(struct fbs, search_ns), true, NSEC_PER_USEC, 1, 100000
	},
	[FB_SYSFS_OTHERS_EXPIRE] = {
		"background_expire", offsetof(struct fbs, others.expire_ns), true,
		NSEC_PER_MSEC, 1, 600000
	},
	[FB_SYSFS_OTHERS_WAIT] = {
		"background_wait_us", offsetof(struct fbs, others.wait_ns), true,
		NSEC_PER_USEC, 0, 1000000
	},
};

static ssize_t fb_sysfs_number_show(struct elevator_queue *eq, enum fb_sysfs_number_id id,
				    char *page)
{
	const struct fb_sysfs_number *n = &fb_sysfs_numbers[id];
	struct fbs *fs = eq->elevator_data;
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

static ssize_t fb_sysfs_number_store(struct elevator_queue *eq, enum fb_sysfs_number_id id,
				     const char *page, size_t count)
{
	const struct fb_sysfs_number *n = &fb_sysfs_numbers[id];
	struct fbs *fs = eq->elevator_data;
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
	fbs_changed(fs);
	spin_unlock_irq(&fs->fd->lock);
	return count;
}

/* the elevator core does not tell a file's functions which file it is */
#define FB_SYSFS_SHOW(file, id)								\
static ssize_t file##_show(struct elevator_queue *eq, char *page)			\
{											\
	return fb_sysfs_number_show(eq, id, page);					\
}

#define FB_SYSFS_STORE(file, id)							\
static ssize_t file##_store(struct elevator_queue *eq, const char *page, size_t count)	\
{											\
	return fb_sysfs_number_store(eq, id, page, count);				\
}

FB_SYSFS_SHOW(sw_percent, FB_SYSFS_SW_PERCENT)
FB_SYSFS_STORE(sw_percent, FB_SYSFS_SW_PERCENT)
FB_SYSFS_SHOW(depth, FB_SYSFS_DEPTH)
FB_SYSFS_STORE(depth, FB_SYSFS_DEPTH)
FB_SYSFS_SHOW(hold_back, FB_SYSFS_HOLD)
FB_SYSFS_STORE(hold_back, FB_SYSFS_HOLD)
FB_SYSFS_SHOW(conservatism_us, FB_SYSFS_CONSERVATISM)
FB_SYSFS_STORE(conservatism_us, FB_SYSFS_CONSERVATISM)
FB_SYSFS_SHOW(target_slowdown_ppm, FB_SYSFS_TARGET)
FB_SYSFS_STORE(target_slowdown_ppm, FB_SYSFS_TARGET)
FB_SYSFS_SHOW(read_expire, FB_SYSFS_READ_EXPIRE)
FB_SYSFS_STORE(read_expire, FB_SYSFS_READ_EXPIRE)
FB_SYSFS_SHOW(write_expire, FB_SYSFS_WRITE_EXPIRE)
FB_SYSFS_STORE(write_expire, FB_SYSFS_WRITE_EXPIRE)
FB_SYSFS_SHOW(search_us, FB_SYSFS_SEARCH)
FB_SYSFS_STORE(search_us, FB_SYSFS_SEARCH)
FB_SYSFS_SHOW(background_expire, FB_SYSFS_OTHERS_EXPIRE)
FB_SYSFS_STORE(background_expire, FB_SYSFS_OTHERS_EXPIRE)
FB_SYSFS_SHOW(background_wait_us, FB_SYSFS_OTHERS_WAIT)
FB_SYSFS_STORE(background_wait_us, FB_SYSFS_OTHERS_WAIT)

static ssize_t policy_show(struct elevator_queue *eq, char *page)
{
	struct fbs *fs = eq->elevator_data;
	ssize_t len = 0;
	int i;

	for (i = 0; i < FG_POLICIES; i++)
		len += sysfs_emit_at(page, len, i == fs->pool.policy ? "[%s] " : "%s ",
				     fg_policy_name[i]);
	page[len - 1] = '\n';
	return len;
}

static ssize_t policy_store(struct elevator_queue *eq, const char *page, size_t count)
{
	struct fbs *fs = eq->elevator_data;
	int i = __sysfs_match_string(fg_policy_name, FG_POLICIES, page);

	if (i < 0) {
		pr_err("freeblock: policy: '%.*s' is none of fifo clook sstf sptf sptf-sw auto\n",
		       (int)strcspn(page, "\n"), page);
		return -EINVAL;
	}
	spin_lock_irq(&fs->fd->lock);
	fs->pool.policy = i;
	fbs_changed(fs);
	spin_unlock_irq(&fs->fd->lock);
	return count;
}

static const char * const fb_sysfs_lifts[] = { "source", "dest", "several" };

static ssize_t lift_show(struct elevator_queue *eq, char *page)
{
	struct fbs *fs = eq->elevator_data;
	ssize_t len = 0;
	bool probed;
	u32 lift, i;

	spin_lock_irq(&fs->fd->lock);
	probed = fs->auto_lift;
	lift = fs->lift;
	spin_unlock_irq(&fs->fd->lock);
	if (probed)
		return sysfs_emit(page, "auto\n");
	for (i = 0; i < ARRAY_SIZE(fb_sysfs_lifts); i++)
		if (lift & BIT(i))
			len += sysfs_emit_at(page, len, "%s ", fb_sysfs_lifts[i]);
	if (!len)
		return sysfs_emit(page, "none\n");
	page[len - 1] = '\n';
	return len;
}

static int fb_sysfs_parse_lift(char *text, u32 *lift)
{
	char *word;
	int i;

	*lift = 0;
	if (sysfs_streq(text, "none"))
		return 0;
	while ((word = strsep(&text, "\n "))) {
		if (!*word)
			continue;
		i = match_string(fb_sysfs_lifts, ARRAY_SIZE(fb_sysfs_lifts), word);
		if (i < 0)
			return i;
		*lift |= BIT(i);
	}
	return *lift ? 0 : -EINVAL;
}

static ssize_t lift_store(struct elevator_queue *eq, const char *page, size_t count)
{
	struct fbs *fs = eq->elevator_data;
	bool probe = sysfs_streq(page, "auto");
	u32 lift = FB_LIFT_ALL;
	char text[64];

	if (!probe &&
	    (strscpy(text, page, sizeof(text)) < 0 || fb_sysfs_parse_lift(text, &lift))) {
		pr_err("freeblock: lift: '%.*s' is neither auto, nor none, nor of source, dest, several\n",
		       (int)strcspn(page, "\n"), page);
		return -EINVAL;
	}
	spin_lock_irq(&fs->fd->lock);
	fs->auto_lift = probe;
	fs->lift = lift;
	fbs_changed(fs);
	spin_unlock_irq(&fs->fd->lock);
	return count;
}

/* what free reads do now, in a word or two */
static const char *fb_sysfs_free_state(struct fb_disk *fd, const struct fbs *fs)
{
	if (!fb_sysfs_tasks(fd))
		return "no task";
	if (fs->depth != FBS_DEPTH)
		return "off: depth is not 2";
	if (fb_disk_is_single(fd))
		return "off: the device takes one command at a time";
	if (!fb_guard_on(&fd->guard, ktime_get_ns()))
		return "off: they cost the foreground too many turns";
	return "on";
}

/* what status shows, copied under the lock: formatting takes too long for it */
struct fb_sysfs_snapshot {
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
	char probe[2][FBP_TEXT];
	char medium[FB_MEDIUM_TEXT];
	u32 floor_ns[FBM_BANDS];
	s32 cost_ppm;
};

static void fb_sysfs_take_snapshot(struct fbs *fs, struct fb_sysfs_snapshot *s)
{
	struct fb_disk *fd = fs->fd;
	u64 now = ktime_get_ns();
	const char *why;

	spin_lock_irq(&fd->lock);
	s->stats = fd->stats;
	s->head = fs->head;
	why = fb_disk_transparent(fd);
	strscpy(s->transparent, why ? why : "yes", sizeof(s->transparent));
	s->free_reads = why ? "off: not scheduling" : fb_sysfs_free_state(fd, fs);
	s->locked = !why && fb_head_locked(&fs->head, ktime_get_ns());
	s->pending = fs->pool.count;
	s->others = fs->others.count;
	s->in_flight = fs->nr_flight;
	s->trips = fd->guard.trips;
	s->deep = fs->deep;
	fbp_describe(&fd->probe, FB_LIFT_SOURCE, now, s->probe[0], FBP_TEXT);
	fbp_describe(&fd->probe, FB_LIFT_DEST, now, s->probe[1], FBP_TEXT);
	fb_medium_describe(&fd->medium, s->medium, sizeof(s->medium));
	memcpy(s->floor_ns, fd->margin.odds.floor_ns, sizeof(s->floor_ns));
	s->cost_ppm = fd->margin.cost_ppm;
	spin_unlock_irq(&fd->lock);
}

static ssize_t status_text(const struct fb_sysfs_snapshot *s, char *page)
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
			     st->predicted, st->within_50us, st->end_within_50us,
			     st->miss[FB_CAUSE_PLAIN],
			     st->miss[FB_CAUSE_PREPEND], st->miss[FB_CAUSE_SEPARATE],
			     st->miss[FB_CAUSE_AFTER], st->early_turn, s->head.mechanical,
			     s->head.early, s->head.odd, s->head.period_ps);
	len += sysfs_emit_at(page, len,
			     "idle_reads %llu\ngaps %llu\nprepends %llu\nseparates %llu\nseveral %llu\ndropped %llu\ntoo_late %llu\nno_buffer %llu\nnot_fit %llu\ndiscarded %llu\nfree_errors %llu\nfree_sectors %llu\nguard_trips %llu\nverifies %llu\nfuas %llu\nunproven %llu\nmedium %s\n",
			     st->idles, st->gaps, st->prepends, st->separates, st->several,
			     st->dropped, st->too_late, st->no_buffer, st->not_fit, st->discarded,
			     st->free_errors, st->free_sectors, s->trips, st->verifies, st->fuas,
			     st->unproven, s->medium);
	len += sysfs_emit_at(page, len,
			     "searches %llu\nsearch_tracks %llu\nsearch_ns %llu\nsearch_max_ns %llu\nchoices %llu\nchoice_ns %llu\nchoice_max_ns %llu\n",
			     st->searches, st->search_tracks, st->search_ns, st->search_max_ns,
			     st->choices, st->choice_ns, st->choice_max_ns);
	len += sysfs_emit_at(page, len,
			     "background_pending %u\nbackground_sent %llu\nbackground_sectors %llu\nbackground_gap %llu\nbackground_idle %llu\nbackground_expired %llu\nbackground_max_age_us %llu\n",
			     s->others, st->others, st->others_sectors, st->others_gap,
			     st->others_idle, st->others_expired,
			     div_u64(st->others_max_age_ns, NSEC_PER_USEC));
	len += sysfs_emit_at(page, len, "order %s\nlift_source %s\nlift_dest %s\n",
			     s->deep ? "drive" : "policy", s->probe[0], s->probe[1]);
	len += sysfs_emit_at(page, len, "spared %llu\ncost_ppm %d\nconservatism_ns",
			     st->spared, s->cost_ppm);
	for (i = 0; i < FBM_BANDS; i++)
		len += sysfs_emit_at(page, len, " %u", s->floor_ns[i]);
	len += sysfs_emit_at(page, len, "\n");
	return len;
}

static ssize_t sched_status_show(struct elevator_queue *eq, char *page)
{
	struct fb_sysfs_snapshot *s = kmalloc(sizeof(*s), GFP_NOIO);
	ssize_t len;

	if (!s)
		return -ENOMEM;
	fb_sysfs_take_snapshot(eq->elevator_data, s);
	len = status_text(s, page);
	kfree(s);
	return len;
}

struct elv_fs_entry fb_sysfs_sched_attrs[] = {
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

/* ---- debugfs ---- */

/* lower edge of the bucket in microseconds, requests */
static int prediction_error_show(struct seq_file *m, void *v)
{
	struct fb_disk *fd = m->private;
	u64 count;
	int i;

	for (i = 0; i < 2 * FB_HIST_HALF + 2; i++) {
		count = READ_ONCE(fd->stats.hist[i]);
		if (count)
			seq_printf(m, "%d %llu\n",
				   (i - FB_HIST_HALF - 1) * (FB_HIST_STEP_NS / 1000), count);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(prediction_error);

/* any write: all counters of the disk to zero */
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

/**
 * fb_sysfs_debugfs() - the debugfs files of a disk
 * @fd: the disk, with its directory
 *
 * Context: may sleep. Errors are ignored, as debugfs wants it.
 */
void fb_sysfs_debugfs(struct fb_disk *fd)
{
	debugfs_create_file("prediction_error", 0444, fd->debugfs, fd, &prediction_error_fops);
	fbcal_debugfs(fd);
	debugfs_create_file("reset", 0200, fd->debugfs, fd, &reset_fops);
	debugfs_create_file("scan_crc", 0444, fd->debugfs, &fd->scan, &fb_scan_crc_fops);
}
