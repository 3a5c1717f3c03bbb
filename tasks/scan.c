// SPDX-License-Identifier: GPL-2.0
/*
 * The scan: a job that reads a disk or a range once and counts the blocks. On request it keeps
 * a checksum of every block.
 *
 * Calls: the interface of include/freeblock.h. tasks/job.c calls it, through fb_scan_kind.
 * Locks: fb_job.lock, held by tasks/job.c, but not in the callbacks of the task.
 */
#include <linux/crc32.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/sysfs.h>
#include <linux/uaccess.h>

#include "tasks/job.h"

/* fb_job_run.own: a checksum for each block of the range */
struct fb_scan_table {
	u64 bytes;		/* size of the table */
	u64 twice;		/* blocks delivered more than once, which is a bug */
	struct fb_scan_crc {
		u32 crc;
		u32 times;	/* how often it was delivered */
	} block[];
};

/* a record of the debugfs file "scan_crc" */
struct fb_scan_record {
	__le64 block;
	__le32 crc;
	__le32 times;
};

static int fb_scan_prepare(struct fb_job *job, bool crc)
{
	u64 bytes = sizeof(struct fb_scan_table) + job->run.total * sizeof(struct fb_scan_crc);
	struct fb_scan_table *table;

	job->run.own = NULL;
	if (!crc)
		return 0;
	table = freeblock_alloc(bytes, "a table of checksums");
	if (IS_ERR(table))
		return PTR_ERR(table);
	table->bytes = bytes;
	job->run.own = table;
	return 0;
}

static void fb_scan_free(void *own)
{
	struct fb_scan_table *table = own;

	if (table)
		freeblock_free(table, table->bytes);
}

static void fb_scan_good(struct fb_job *job, u64 lbn, u32 sectors, const void *data)
{
	u64 i = div_u64(lbn - job->run.first, job->run.granule);
	struct fb_scan_table *table = job->run.own;

	if (!table)
		return;
	table->block[i].crc = ~crc32_le(~0U, data, (size_t)sectors << SECTOR_SHIFT);
	if (table->block[i].times++)
		table->twice++;
}

static ssize_t fb_scan_show(const struct fb_job *job, char *page, ssize_t len)
{
	const struct fb_scan_table *table = job->run.own;
	u64 i;

	len += sysfs_emit_at(page, len, "blocks_twice %llu\nbad", table ? table->twice : 0);
	for (i = 0; i < min_t(u64, job->run.nbad, FB_JOB_BAD); i++)
		len += sysfs_emit_at(page, len, " %llu", job->run.bad[i]);
	return len + sysfs_emit_at(page, len, "\n");
}

const struct fb_job_kind fb_scan_kind = {
	.name = "scan",
	.word = "crc",
	.order = FREEBLOCK_NEAR,
	.prepare = fb_scan_prepare,
	.free = fb_scan_free,
	.good = fb_scan_good,
	.show = fb_scan_show,
};

/* list the blocks delivered, ascending; @pos is an index into the range's blocks */
static ssize_t fb_scan_crc_read(struct file *file, char __user *buf, size_t count, loff_t *pos)
{
	struct fb_job **slot = file->private_data, *job = READ_ONCE(*slot);
	const struct fb_scan_table *table;
	struct fb_scan_record record;
	ssize_t done = 0;

	if (!job)
		return -ENODATA;
	mutex_lock(&job->lock);
	table = job->run.own;
	for (; table && *pos < job->run.total && done + sizeof(record) <= count; ++*pos) {
		if (!table->block[*pos].times)
			continue;
		record.block = cpu_to_le64(div_u64(job->run.first, job->run.granule) + *pos);
		record.crc = cpu_to_le32(table->block[*pos].crc);
		record.times = cpu_to_le32(table->block[*pos].times);
		if (copy_to_user(buf + done, &record, sizeof(record))) {
			done = done ? done : -EFAULT;
			break;
		}
		done += sizeof(record);
	}
	mutex_unlock(&job->lock);
	return done;
}

const struct file_operations fb_scan_crc_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.read = fb_scan_crc_read,
	.llseek = noop_llseek,
};
