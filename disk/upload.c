// SPDX-License-Identifier: GPL-2.0
/*
 * Upload of a model's table, piece by piece, which comes into force as a whole or not at all.
 * Locks: fb_disk.config.
 */
#include <linux/kernel.h>
#include <linux/slab.h>

#include "disk/disk.h"

#define FB_UPLOAD_TAKEN HZ	/* how long a writer waits until its model is in force */

static int __printf(3, 4) fb_upload_refuse(struct fb_disk *disk, int ret, const char *fmt, ...)
{
	char reason[192], name[FB_NAME_LEN];
	va_list args;

	va_start(args, fmt);
	vsnprintf(reason, sizeof(reason), fmt, args);
	va_end(args);
	snprintf(disk->model_status, sizeof(disk->model_status), "refused: %s", reason);
	fb_disk_copy_name(disk, name, sizeof(name));
	pr_err("freeblock: %s: the model was refused: %s\n", name, reason);
	return ret;
}

static int fb_upload_check_model(struct fb_disk *disk, const struct disk_model *dm)
{
	const struct dm_info *info = dm_info(dm);
	char revision[DM_ID_LEN];

	scoped_guard(spinlock_irq, &disk->lock)
		strscpy(revision, disk->revision, sizeof(revision));
	if (info->sectors != disk->sectors)
		return fb_upload_refuse(disk, -EINVAL, "it is for %llu sectors, the disk has %llu",
					info->sectors, disk->sectors);
	if (disk->vendor[0] && strcmp(info->vendor, disk->vendor))
		return fb_upload_refuse(disk, -EINVAL, "it is for vendor '%s', the disk says '%s'",
					info->vendor, disk->vendor);
	if (disk->product[0] && strcmp(info->product, disk->product))
		return fb_upload_refuse(disk, -EINVAL, "it is for product '%s', the disk says '%s'",
					info->product, disk->product);
	BUILD_BUG_ON(DM_GRANULE_MAX > FB_LONGEST_READ_MAX);
	if (info->granule_sectors < FB_MIN_GRANULE)
		return fb_upload_refuse(disk, -EINVAL,
					"granule of %u sectors, at least %u are needed",
					info->granule_sectors, FB_MIN_GRANULE);
	if (disk->cov && info->granule_sectors != disk->granule)
		return fb_upload_refuse(disk, -EBUSY,
					"a task is at work on blocks of %u sectors, the model's have %u: stop it first",
					disk->granule, info->granule_sectors);
	if (!fb_disk_is_firmware(revision, info))
		return fb_upload_refuse(disk, -EINVAL,
					"it is for firmware '%s', the disk says '%s'",
					info->revision, revision);
	if (info->wwn[0] && disk->id[0] && strcasecmp(info->wwn, disk->id))
		return fb_upload_refuse(disk, -EINVAL, "it is for the disk '%s', this one is '%s'",
					info->wwn, disk->id);
	return 0;
}

static int fb_upload_commit(struct fb_disk *disk)
{
	const struct dm_info *info;
	struct dm_fault err;
	char name[FB_NAME_LEN];
	struct disk_model *dm;
	bool same;
	int ret;

	lockdep_assert_held(&disk->config);
	ret = fb_model_table_build(disk->upload, disk->upload_size, &dm, &err);
	if (ret && err.line)
		return fb_upload_refuse(disk, ret, "line %u of its text: %s", err.line, err.reason);
	if (ret)
		return fb_upload_refuse(disk, ret, "%s", err.reason);
	ret = fb_upload_check_model(disk, dm);
	if (ret) {
		dm_free(dm);
		return ret;
	}
	info = dm_info(dm);
	same = disk->table_size == disk->upload_size &&
	       !memcmp(disk->table, disk->upload, disk->table_size);
	/* it may be the tasks' thread that puts it in force, and frees it, when there is another */
	snprintf(disk->model_status, sizeof(disk->model_status),
		 "loaded: %u bytes, '%s' '%s', %llu %% mapped%s%s",
		 disk->upload_size, info->vendor, info->product,
		 div64_u64(100 * info->mapped, info->sectors),
		 info->distrusted[0] ? "; the model is distrusted: " : "", info->distrusted);
	fb_model_set(disk, dm, same);
	kvfree(disk->table);
	disk->table = disk->upload;
	disk->table_size = disk->upload_size;
	disk->upload = NULL;
	fb_disk_copy_name(disk, name, sizeof(name));
	pr_info("freeblock: %s: the model was %s\n", name, disk->model_status);
	return 0;
}

static void fb_upload_drop(struct fb_disk *disk)
{
	kvfree(disk->upload);
	disk->upload = NULL;
	disk->upload_len = 0;
	fb_memory_uncharge(&disk->upload_charged, disk->upload_charged);
}

/* The first piece says how long the table is: make room for all of it. */
static int fb_upload_begin(struct fb_disk *disk, const char *data, size_t len)
{
	fb_upload_drop(disk);
	if (len < 2 * sizeof(u32) || !fb_model_table_bytes(data))
		return fb_upload_refuse(disk, -EINVAL,
					"it is no compiled model of this version (freeblock models compile)");
	disk->upload_size = fb_model_table_bytes(data);
	if (fb_memory_charge(&disk->upload_charged, disk->upload_size, "a model's table"))
		return fb_upload_refuse(disk, -ENOSPC, "memory_mib leaves no room for its table");
	disk->upload = kvmalloc(disk->upload_size, GFP_KERNEL);
	if (!disk->upload)
		return fb_upload_refuse(disk, -ENOMEM, "out of memory");
	return 0;
}

static int fb_upload_append(struct fb_disk *disk, const char *data, loff_t off, size_t len)
{
	int ret = off ? 0 : fb_upload_begin(disk, data, len);

	if (ret)
		return ret;
	if (off != disk->upload_len)
		return fb_upload_refuse(disk, -EINVAL,
					"bytes came at offset %lld, not %u: write the table in order",
					off, disk->upload_len);
	if (len > disk->upload_size - disk->upload_len)
		return fb_upload_refuse(disk, -EFBIG, "it says that it has %u bytes, but has more",
					disk->upload_size);
	memcpy(disk->upload + off, data, len);
	disk->upload_len += len;
	if (disk->upload_len == disk->upload_size)
		return fb_upload_commit(disk);
	snprintf(disk->model_status, sizeof(disk->model_status), "incomplete: %u bytes of %u",
		 disk->upload_len, disk->upload_size);
	return 0;
}

static int fb_upload_take(struct fb_disk *disk, const char *data, loff_t off, size_t len)
{
	char name[FB_NAME_LEN];
	int ret;

	guard(fb_noio)(current);
	/* Some writers go on after an error; keep the first reason in model_status. */
	if (off && !disk->upload) {
		fb_disk_copy_name(disk, name, sizeof(name));
		pr_err_ratelimited("freeblock: %s: a model was refused: %zu bytes at %lld: write it in order, from the start\n",
				   name, len, off);
		return -EINVAL;
	}
	ret = fb_upload_append(disk, data, off, len);
	if (ret || !disk->upload)
		fb_upload_drop(disk);
	return ret;
}

/*
 * Take a piece of a model's table. A write at 0 begins an upload, writes at the end append, the
 * last byte commits. May sleep; does no I/O, as a queue freeze may wait for this store. Return:
 * @len; or an error, with the reason in the log and in model_status.
 */
ssize_t fb_upload_write(struct fb_disk *disk, const char *data, loff_t off, size_t len)
{
	int ret;

	scoped_guard(mutex, &disk->config)
		ret = fb_upload_take(disk, data, off, len);
	/* so that what is asked next is of this model, if the tasks' thread is not held up */
	wait_event_timeout(disk->wait, !READ_ONCE(disk->next_model), FB_UPLOAD_TAKEN);
	return ret ? ret : len;
}
