// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/kernel/mechdisk: describe drives, switch them on and
 * off, watch them, provoke mishaps.
 *
 * Locks
 *   mdc_lock (mutex): the list of drives.  Taken by writes to "new" and
 *   "delete" and at module exit.
 *   mdc.conf (mutex): one drive's description, error and power.  Taken by the
 *   drive's own files; removing the drive's directory waits for those, so it
 *   is never held (nor waited for) by whoever removes the directory.
 *   Order: mdc_lock, mdc.conf, what a port's driver takes.
 *   mdc_ports: written under mdc_lock, and what goes is waited for with each drive's
 *   conf in turn; read under conf.
 *   md_run.lock (mechdisk_run.c): inside conf, for what the drive is doing meanwhile.
 */
#include <linux/kobject.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "mechdisk_compat.h"
#include "mechdisk_ctl.h"
#include "mechdisk_text.h"

/* A 24 TB drive with 100 000 slips fits. */
#define MDC_TEXT_MAX	(8U << 20)
#define MDC_NAME_MAX	31

/* A drive's directory */
struct mdc {
	struct kobject kobj;	/* its directory */
	struct list_head node;	/* in mdc_drives */
	struct mutex conf;	/* protects the rest */
	char *text;	/* the description */
	size_t len;	/* its length */
	size_t room;	/* bytes allocated for it */
	struct md_run *r;	/* the drive, if it is on */
	struct mde_config cfg;	/* what @text said at power-on, valid while @r is set */
	struct mdp_modes saved;	/* mode pages that MODE SELECT saved, while @has_saved */
	bool has_saved;	/* there are any */
	bool rewritten;	/* @text was written to since the last power-on */
	struct mdt_error err;	/* why the last power-on failed */
	bool failed;	/* it did */
};

static DEFINE_MUTEX(mdc_lock);
static LIST_HEAD(mdc_drives);
/* By enum mde_interface; NULL: no module for it. */
static const struct md_port *mdc_ports[MDE_INTERFACES] = { [MDE_SCSI] = &mdh_port };
static struct kobject *mdc_root;
static struct device *mdc_parent;

static struct mdc *mdc_of(struct kobject *kobj)
{
	return container_of(kobj, struct mdc, kobj);
}

/* Power. */

/* Why a drive that can be read cannot be added. */
static int mdc_blame(struct mdc *d, int ret)
{
	d->err.line = 0;
	if (ret == -ENOMEM)
		strscpy(d->err.reason, "out of memory", sizeof(d->err.reason));
	else if (ret == -EPROTONOSUPPORT)
		strscpy(d->err.reason, "interface sata: module mechata is not loaded",
			sizeof(d->err.reason));
	else if (ret == -ENOSPC)
		snprintf(d->err.reason, sizeof(d->err.reason),
			 "shared_host %llu: it has no room for another drive",
			 d->cfg.shared_host);
	else
		snprintf(d->err.reason, sizeof(d->err.reason),
			 "adding the disk failed (%d)", ret);
	return ret;
}

/* Add the disk that the description, now read, describes. */
static int mdc_attach(struct mdc *d)
{
	const struct md_port *port = READ_ONCE(mdc_ports[d->cfg.interface]);
	struct md_run *r;

	lockdep_assert_held(&d->conf);
	if (!port)
		return -EPROTONOSUPPORT;
	r = port->power_on(&d->cfg, d->has_saved ? &d->saved : NULL, mdc_parent);
	if (IS_ERR(r))
		return PTR_ERR(r);
	d->r = r;
	return 0;
}

static int mdc_power_on(struct mdc *d)
{
	int ret;

	lockdep_assert_held(&d->conf);
	if (d->r)
		return 0;
	/* What was saved belongs to the drive as it was described then. */
	if (d->rewritten)
		d->has_saved = false;
	d->rewritten = false;
	ret = mdt_parse(d->text, d->len, &d->cfg, &d->err);
	if (!ret) {
		ret = mdc_attach(d);
		if (ret)
			mdc_blame(d, ret);
	} else if (ret == -ENOMEM) {
		mdc_blame(d, ret);
	}
	d->failed = ret;
	if (ret)
		mdt_free(&d->cfg);
	return ret;
}

static void mdc_power_off(struct mdc *d)
{
	lockdep_assert_held(&d->conf);
	d->failed = false;
	if (!d->r)
		return;
	d->r->port->power_off(d->r, &d->saved);
	d->has_saved = true;
	d->r = NULL;
	mdt_free(&d->cfg);
}

/* Files of one drive. */

static ssize_t power_show(struct kobject *kobj, struct kobj_attribute *attr,
			  char *page)
{
	struct mdc *d = mdc_of(kobj);
	bool on;

	mutex_lock(&d->conf);
	on = d->r;
	mutex_unlock(&d->conf);
	return sysfs_emit(page, "%d\n", on);
}

static ssize_t power_store(struct kobject *kobj, struct kobj_attribute *attr,
			   const char *page, size_t len)
{
	struct mdc *d = mdc_of(kobj);
	bool on;
	int ret = kstrtobool(page, &on);

	if (ret)
		return ret;
	mutex_lock(&d->conf);
	if (on)
		ret = mdc_power_on(d);
	else
		mdc_power_off(d);
	mutex_unlock(&d->conf);
	return ret ?: len;
}

static ssize_t status_show(struct kobject *kobj, struct kobj_attribute *attr,
			   char *page)
{
	struct mdc *d = mdc_of(kobj);
	char name[MD_RUN_NAME];
	ssize_t n;

	mutex_lock(&d->conf);
	if (d->r) {
		md_run_disk_name(d->r, name);
		n = sysfs_emit(page, "on %s\n", name);
	} else if (d->failed && d->err.line) {
		n = sysfs_emit(page, "error line %u: %s\n", d->err.line,
			       d->err.reason);
	} else if (d->failed) {
		n = sysfs_emit(page, "error: %s\n", d->err.reason);
	} else {
		n = sysfs_emit(page, "off\n");
	}
	mutex_unlock(&d->conf);
	return n;
}

/* The drive if it is on, with conf held; NULL with conf released. */
static struct md_run *mdc_get_on(struct mdc *d)
{
	struct md_run *r;

	mutex_lock(&d->conf);
	r = d->r;
	/* Once released, it may be on. */
	if (!r)
		mutex_unlock(&d->conf);
	return r;
}

static ssize_t stats_show(struct kobject *kobj, struct kobj_attribute *attr,
			  char *page)
{
	struct mdc *d = mdc_of(kobj);
	struct md_run *r = mdc_get_on(d);
	ssize_t n;

	if (!r)
		return -ENODEV;
	n = md_run_show_stats(r, page);
	mutex_unlock(&d->conf);
	return n;
}

static ssize_t stats_reset_store(struct kobject *kobj,
				 struct kobj_attribute *attr, const char *page,
				 size_t len)
{
	struct mdc *d = mdc_of(kobj);
	struct md_run *r = mdc_get_on(d);

	if (!r)
		return -ENODEV;
	md_run_reset_stats(r);
	mutex_unlock(&d->conf);
	return len;
}

static ssize_t medium_errors_show(struct kobject *kobj,
				  struct kobj_attribute *attr, char *page)
{
	struct mdc *d = mdc_of(kobj);
	struct mde_bad *bad = kcalloc(MDE_BAD_MAX, sizeof(*bad), GFP_KERNEL);
	ssize_t n = 0;
	u32 i, bads = 0;

	if (!bad)
		return -ENOMEM;
	mutex_lock(&d->conf);
	if (d->r) {
		spin_lock_irq(&d->r->lock);
		bads = d->r->engine.bads;
		memcpy(bad, d->r->engine.bad, bads * sizeof(*bad));
		spin_unlock_irq(&d->r->lock);
	}
	mutex_unlock(&d->conf);
	for (i = 0; i < bads; i++) {
		n += sysfs_emit_at(page, n,
				   "%llu %llu asc=%02x recovery_ms=%llu info=%d",
				   bad[i].lbn, bad[i].count, bad[i].asc,
				   bad[i].recovery_ns / NSEC_PER_MSEC,
				   bad[i].info);
		if (bad[i].error)
			n += sysfs_emit_at(page, n, " error=%s",
					   bad[i].error == MDE_IDNF ? "idnf" : "abrt");
		if (bad[i].times == MDE_ALWAYS)
			n += sysfs_emit_at(page, n, " times=always\n");
		else
			n += sysfs_emit_at(page, n, " times=%u\n",
					   bad[i].times);
	}
	kfree(bad);
	return n;
}

/* "clear" or "add LBN COUNT [key=value ...]"; one command a write. */
static ssize_t medium_errors_store(struct kobject *kobj,
				   struct kobj_attribute *attr,
				   const char *page, size_t len)
{
	bool clear = sysfs_streq(page, "clear");
	struct mdc *d = mdc_of(kobj);
	struct md_run *r = mdc_get_on(d);
	struct mdt_error err = { 0 };
	struct mde_bad bad;
	int ret = 0;

	if (!r)
		return -ENODEV;
	if (!clear && strncmp(page, "add ", 4))
		ret = -EINVAL;
	else if (!clear)
		ret = mdt_parse_bad(page + 4, strcspn(page + 4, "\n"), d->cfg.sectors, &bad, &err);
	if (err.reason[0])
		pr_info("mechdisk: %s: medium_errors: %s\n", kobject_name(kobj), err.reason);
	spin_lock_irq(&r->lock);
	if (clear)
		mde_bad_clear(&r->engine);
	else if (!ret)
		ret = mde_bad_add(&r->engine, &bad);
	spin_unlock_irq(&r->lock);
	mutex_unlock(&d->conf);
	return ret ?: len;
}

static const char * const mdc_faults[MD_FAULTS] = {
	[MD_DEVICE_BUSY]	= "fail_next busy",
	[MD_HOST_BUSY]		= "fail_next host_busy",
	[MD_FULL]		= "fail_next full",
	[MD_HANG]		= "hang_next",
	[MD_ATTENTION]		= "attention_next",
	[MD_HW_ERROR]		= "hw_error_next",
	[MD_DEAF]		= "abort_fails_next",
	[MD_STUBBORN]		= "reset_fails_next",
};

static ssize_t inject_show(struct kobject *kobj, struct kobj_attribute *attr,
			   char *page)
{
	struct mdc *d = mdc_of(kobj);
	ssize_t n = 0;
	int i;

	mutex_lock(&d->conf);
	for (i = 0; i < MD_FAULTS; i++)
		n += sysfs_emit_at(page, n, "%s %u\n", mdc_faults[i],
				   d->r ? READ_ONCE(d->r->fault[i]) : 0);
	mutex_unlock(&d->conf);
	return n;
}

static ssize_t inject_store(struct kobject *kobj, struct kobj_attribute *attr,
			    const char *page, size_t len)
{
	struct mdc *d = mdc_of(kobj);
	int i, ret = -EOPNOTSUPP;
	struct md_run *r;
	u32 count;

	for (i = 0; i < MD_FAULTS; i++) {
		size_t n = strlen(mdc_faults[i]);

		if (!strncmp(page, mdc_faults[i], n) && page[n] == ' ' &&
		    !kstrtou32(page + n + 1, 10, &count))
			break;
	}
	if (i == MD_FAULTS)
		return -EINVAL;
	r = mdc_get_on(d);
	if (!r)
		return -ENODEV;
	if (r->port->faults & BIT(i)) {
		spin_lock_irq(&r->lock);
		r->fault[i] = count;
		spin_unlock_irq(&r->lock);
		ret = 0;
	}
	mutex_unlock(&d->conf);
	return ret ?: len;
}

/* "off", "planned", or "dead" with the instant, and what the log has lost. */
static ssize_t cut_show(struct kobject *kobj, struct kobj_attribute *attr, char *page)
{
	struct mdc *d = mdc_of(kobj);
	struct md_run *r = mdc_get_on(d);
	u64 ns, overflow;
	ssize_t n;
	bool dead;

	if (!r)
		return sysfs_emit(page, "off\n");
	spin_lock_irq(&r->lock);
	ns = r->power.cut_ns;
	dead = mdx_is_dead(&r->power);
	overflow = r->power.overflow;
	spin_unlock_irq(&r->lock);
	if (ns == MDE_NEVER)
		n = sysfs_emit(page, "off\n");
	else
		n = sysfs_emit(page, "%s %llu lost %llu\n", dead ? "dead" : "planned", ns,
			       overflow);
	mutex_unlock(&d->conf);
	return n;
}

static ssize_t cut_store(struct kobject *kobj, struct kobj_attribute *attr,
			 const char *page, size_t len)
{
	struct mdc *d = mdc_of(kobj);
	struct md_run *r;
	u32 us;
	int ret = kstrtou32(page, 10, &us);

	if (ret)
		return ret;
	r = mdc_get_on(d);
	if (!r)
		return -ENODEV;
	ret = md_run_cut(r, us);
	mutex_unlock(&d->conf);
	return ret ?: len;
}

static struct kobj_attribute mdc_power = __ATTR_RW(power);
static struct kobj_attribute mdc_status = __ATTR_RO(status);
static struct kobj_attribute mdc_stats = __ATTR_RO(stats);
static struct kobj_attribute mdc_stats_reset = __ATTR_WO(stats_reset);
static struct kobj_attribute mdc_medium_errors = __ATTR_RW(medium_errors);
static struct kobj_attribute mdc_inject = __ATTR_RW(inject);
static struct kobj_attribute mdc_cut = __ATTR_RW(cut);

static struct attribute *mdc_attrs[] = {
	&mdc_power.attr,
	&mdc_status.attr,
	&mdc_stats.attr,
	&mdc_stats_reset.attr,
	&mdc_medium_errors.attr,
	&mdc_inject.attr,
	&mdc_cut.attr,
	NULL,
};

static ssize_t mdc_description_read(struct file *file, struct kobject *kobj,
				    MDK_BIN_ATTR *attr, char *buf, loff_t pos,
				    size_t len)
{
	struct mdc *d = mdc_of(kobj);
	ssize_t n;

	mutex_lock(&d->conf);
	n = memory_read_from_buffer(buf, len, &pos, d->text, d->len);
	mutex_unlock(&d->conf);
	return n;
}

/*
 * Always at the end: the file system does not tell a new text from one more
 * line, so the text itself does ("fbdrive 1" starts anew).
 */
static int mdc_append(struct mdc *d, const char *buf, size_t len)
{
	size_t room = d->room ?: PAGE_SIZE;
	char *text;

	lockdep_assert_held(&d->conf);
	if (len > MDC_TEXT_MAX - d->len)
		return -EFBIG;
	while (room < d->len + len)
		room *= 2;
	if (room > d->room) {
		text = kvmalloc(room, GFP_KERNEL);
		if (!text)
			return -ENOMEM;
		if (d->len)
			memcpy(text, d->text, d->len);
		kvfree(d->text);
		d->text = text;
		d->room = room;
	}
	memcpy(d->text + d->len, buf, len);
	d->len += len;
	d->rewritten = true;
	return 0;
}

static ssize_t mdc_description_write(struct file *file, struct kobject *kobj,
				     MDK_BIN_ATTR *attr, char *buf, loff_t pos,
				     size_t len)
{
	struct mdc *d = mdc_of(kobj);
	int ret;

	mutex_lock(&d->conf);
	ret = mdc_append(d, buf, len);
	mutex_unlock(&d->conf);
	return ret ?: len;
}

static ssize_t mdc_journal_read(struct file *file, struct kobject *kobj,
				MDK_BIN_ATTR *attr, char *buf, loff_t pos,
				size_t len)
{
	struct mdc *d = mdc_of(kobj);
	struct md_run *r = mdc_get_on(d);
	ssize_t n;

	if (!r)
		return -ENODEV;
	n = mds_journal_read(&r->store, pos, buf, len);
	mutex_unlock(&d->conf);
	return n;
}

/* Anything written empties the journal. */
static ssize_t mdc_journal_write(struct file *file, struct kobject *kobj,
				 MDK_BIN_ATTR *attr, char *buf, loff_t pos,
				 size_t len)
{
	struct mdc *d = mdc_of(kobj);
	struct md_run *r = mdc_get_on(d);

	if (!r)
		return -ENODEV;
	mds_journal_clear(&r->store);
	mutex_unlock(&d->conf);
	return len;
}

static ssize_t mdc_cut_log_read(struct file *file, struct kobject *kobj,
				MDK_BIN_ATTR *attr, char *buf, loff_t pos, size_t len)
{
	struct mdc *d = mdc_of(kobj);
	struct md_run *r = mdc_get_on(d);
	ssize_t n;

	if (!r)
		return -ENODEV;
	n = md_run_cut_log(r, pos, buf, len);
	mutex_unlock(&d->conf);
	return n;
}

static ssize_t mdc_blocks_read(struct file *file, struct kobject *kobj,
			       MDK_BIN_ATTR *attr, char *buf, loff_t pos, size_t len)
{
	struct mdc *d = mdc_of(kobj);
	struct md_run *r = mdc_get_on(d);
	ssize_t n;

	if (!r)
		return -ENODEV;
	n = mds_blocks(&r->store, pos, buf, len);
	mutex_unlock(&d->conf);
	return n;
}

/* How much of @len bytes from @pos on lies within the drive's. */
static size_t mdc_within(const struct mdc *d, loff_t pos, size_t len)
{
	u64 all = d->cfg.sectors * d->cfg.sector_bytes;

	lockdep_assert_held(&d->conf);
	return pos < all ? min_t(u64, len, all - pos) : 0;
}

static ssize_t mdc_store_read(struct file *file, struct kobject *kobj,
			      MDK_BIN_ATTR *attr, char *buf, loff_t pos, size_t len)
{
	struct mdc *d = mdc_of(kobj);
	struct md_run *r = mdc_get_on(d);

	if (!r)
		return -ENODEV;
	len = mdc_within(d, pos, len);
	mds_read(&r->store, pos, buf, len);
	mutex_unlock(&d->conf);
	return len;
}

static ssize_t mdc_store_write(struct file *file, struct kobject *kobj,
			       MDK_BIN_ATTR *attr, char *buf, loff_t pos, size_t len)
{
	struct mdc *d = mdc_of(kobj);
	struct md_run *r = mdc_get_on(d);
	ssize_t ret = -EFBIG;

	if (!r)
		return -ENODEV;
	if (mdc_within(d, pos, len) == len)
		ret = mds_prepare(&r->store, pos, len);
	if (!ret)
		mds_write(&r->store, pos, buf, len);
	mutex_unlock(&d->conf);
	return ret ?: len;
}

static struct bin_attribute mdc_description = {
	.attr = { .name = "description", .mode = 0644 },
	.read = mdc_description_read,
	.write = mdc_description_write,
};

static struct bin_attribute mdc_journal = {
	.attr = { .name = "journal", .mode = 0644 },
	.read = mdc_journal_read,
	.write = mdc_journal_write,
};

static struct bin_attribute mdc_cut_log = {
	.attr = { .name = "cut_log", .mode = 0444 },
	.read = mdc_cut_log_read,
};

static struct bin_attribute mdc_store_bytes = {
	.attr = { .name = "store", .mode = 0644 },
	.read = mdc_store_read,
	.write = mdc_store_write,
};

static struct bin_attribute mdc_store_blocks = {
	.attr = { .name = "store_blocks", .mode = 0444 },
	.read = mdc_blocks_read,
};

static MDK_BIN_ATTR *mdc_bin_attrs[] = {
	&mdc_description,
	&mdc_journal,
	&mdc_cut_log,
	&mdc_store_bytes,
	&mdc_store_blocks,
	NULL,
};

static const struct attribute_group mdc_group = {
	.attrs = mdc_attrs,
	.bin_attrs = mdc_bin_attrs,
};

static const struct attribute_group *mdc_groups[] = { &mdc_group, NULL };

static void mdc_release(struct kobject *kobj)
{
	struct mdc *d = mdc_of(kobj);

	kvfree(d->text);
	kfree(d);
}

static const struct kobj_type mdc_type = {
	.release = mdc_release,
	.sysfs_ops = &kobj_sysfs_ops,
	.default_groups = mdc_groups,
};

/* Files of /sys/kernel/mechdisk itself. */

/* The name written, without its newline; 0 if it is no file name. */
static size_t mdc_name(const char *page, size_t len, char *name)
{
	size_t i;

	if (len && page[len - 1] == '\n')
		len--;
	if (!len || len > MDC_NAME_MAX)
		return 0;
	for (i = 0; i < len; i++)
		if (!isalnum(page[i]) && page[i] != '-' && page[i] != '_')
			return 0;
	memcpy(name, page, len);
	name[len] = '\0';
	return len;
}

static struct mdc *mdc_find(const char *name)
{
	struct mdc *d;

	lockdep_assert_held(&mdc_lock);
	list_for_each_entry(d, &mdc_drives, node)
		if (!strcmp(kobject_name(&d->kobj), name))
			return d;
	return NULL;
}

static ssize_t new_store(struct kobject *kobj, struct kobj_attribute *attr,
			 const char *page, size_t len)
{
	char name[MDC_NAME_MAX + 1];
	struct mdc *d;
	int ret;

	if (!mdc_name(page, len, name) || !strcmp(name, "new") ||
	    !strcmp(name, "delete"))
		return -EINVAL;
	mutex_lock(&mdc_lock);
	ret = -EEXIST;
	if (mdc_find(name))
		goto out;
	ret = -ENOMEM;
	d = kzalloc(sizeof(*d), GFP_KERNEL);
	if (!d)
		goto out;
	mutex_init(&d->conf);
	ret = kobject_init_and_add(&d->kobj, &mdc_type, mdc_root, "%s", name);
	if (ret) {
		kobject_put(&d->kobj);
		goto out;
	}
	list_add_tail(&d->node, &mdc_drives);
	kobject_uevent(&d->kobj, KOBJ_ADD);
out:
	mutex_unlock(&mdc_lock);
	return ret ?: len;
}

static void mdc_remove(struct mdc *d)
{
	lockdep_assert_held(&mdc_lock);
	list_del(&d->node);
	mutex_lock(&d->conf);
	mdc_power_off(d);
	mutex_unlock(&d->conf);
	/* A late "power on" finds its file gone, or has finished by then. */
	kobject_del(&d->kobj);
	mutex_lock(&d->conf);
	mdc_power_off(d);
	mutex_unlock(&d->conf);
	kobject_put(&d->kobj);
}

static ssize_t delete_store(struct kobject *kobj, struct kobj_attribute *attr,
			    const char *page, size_t len)
{
	char name[MDC_NAME_MAX + 1];
	ssize_t ret = -ENOENT;
	struct mdc *d;

	if (!mdc_name(page, len, name))
		return -EINVAL;
	mutex_lock(&mdc_lock);
	d = mdc_find(name);
	if (d) {
		mdc_remove(d);
		ret = len;
	}
	mutex_unlock(&mdc_lock);
	return ret;
}

static struct kobj_attribute mdc_new = __ATTR_WO(new);
static struct kobj_attribute mdc_delete = __ATTR_WO(delete);

static const struct attribute *mdc_root_attrs[] = {
	&mdc_new.attr,
	&mdc_delete.attr,
	NULL,
};

/* What other modules attach drives by. */

void mdc_register(enum mde_interface interface, const struct md_port *port)
{
	mutex_lock(&mdc_lock);
	WRITE_ONCE(mdc_ports[interface], port);
	mutex_unlock(&mdc_lock);
}
EXPORT_SYMBOL_GPL(mdc_register);

void mdc_unregister(enum mde_interface interface)
{
	const struct md_port *port = mdc_ports[interface];
	struct mdc *d;

	mutex_lock(&mdc_lock);
	WRITE_ONCE(mdc_ports[interface], NULL);
	list_for_each_entry(d, &mdc_drives, node) {
		mutex_lock(&d->conf);
		if (d->r && d->r->port == port)
			mdc_power_off(d);
		mutex_unlock(&d->conf);
	}
	mutex_unlock(&mdc_lock);
}
EXPORT_SYMBOL_GPL(mdc_unregister);

static int __init mechdisk_init(void)
{
	int ret;

	mdc_parent = root_device_register("mechdisk");
	if (IS_ERR(mdc_parent))
		return PTR_ERR(mdc_parent);
	ret = -ENOMEM;
	mdc_root = kobject_create_and_add("mechdisk", kernel_kobj);
	if (!mdc_root)
		goto parent;
	ret = sysfs_create_files(mdc_root, mdc_root_attrs);
	if (ret)
		goto root;
	return 0;
root:
	kobject_put(mdc_root);
parent:
	root_device_unregister(mdc_parent);
	return ret;
}

static void __exit mechdisk_exit(void)
{
	struct mdc *d, *next;

	sysfs_remove_files(mdc_root, mdc_root_attrs);
	mutex_lock(&mdc_lock);
	list_for_each_entry_safe(d, next, &mdc_drives, node)
		mdc_remove(d);
	mutex_unlock(&mdc_lock);
	kobject_put(mdc_root);
	root_device_unregister(mdc_parent);
}

module_init(mechdisk_init);
module_exit(mechdisk_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Simulated disk drive with mechanics");
