// SPDX-License-Identifier: GPL-2.0
/*
 * The scan, first consumer of include/freeblock.h, of which it sees nothing else.
 *
 * Locks: fb_job_mutex guards scans against their commands and readers. The callbacks come
 * one at a time and alone write the counts and the table of checksums; readers see them
 * word by word.
 */
#include <linux/crc32.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "fb_disk.h"
#include "fb_job.h"
#include "fb_scan.h"

#define FB_SCAN_BAD 64			/* bad blocks that are listed; all are counted */
#define FB_SCAN_TABLE_MAX (64UL << 20)	/* bytes of checksums */

/* one block's checksum; @times it was delivered: 1, or something is wrong */
struct fb_scan_crc {
	u32 crc;
	u32 times;
};

/* a record of the binary file */
struct fb_scan_record {
	__le64 block;
	__le32 crc;
	__le32 times;
};

/**
 * struct fb_scan - one scan, running or over
 * @job: its task
 * @first: first sector
 * @count: sectors
 * @granule: sectors of a block
 * @blocks: blocks of the range
 * @table: a checksum for each block of the range, or NULL
 * @twice: blocks delivered more than once (counted with @table only)
 * @bad: first sectors of the first bad blocks
 * @nbad: blocks that could not be read
 * @skipped: blocks not tried, just behind a bad one
 */
struct fb_scan {
	struct fb_job job;
	u64 first;
	u64 count;
	u32 granule;
	u64 blocks;
	struct fb_scan_crc *table;
	u64 twice;
	u64 bad[FB_SCAN_BAD];
	u64 nbad;
	u64 skipped;
};

/* ---- callbacks ---- */

static void fb_scan_checksum(struct fb_scan *scan, u64 lbn, u32 sectors, const void *data)
{
	struct fb_scan_crc *entry = &scan->table[div_u64(lbn - scan->first, scan->granule)];

	entry->crc = ~crc32_le(~0U, data, (size_t)sectors << SECTOR_SHIFT);
	if (entry->times++)
		scan->twice++;
}

static void fb_scan_block(struct freeblock_task *task, sector_t lbn, unsigned int sectors,
			  const void *data, blk_status_t status)
{
	struct fb_scan *scan = freeblock_task_ctx(task);

	if (status == BLK_STS_OK) {
		if (scan->table)
			fb_scan_checksum(scan, lbn, sectors, data);
	} else if (status == BLK_STS_MEDIUM) {
		if (scan->nbad < FB_SCAN_BAD)
			scan->bad[scan->nbad] = lbn;
		scan->nbad++;
	} else {
		scan->skipped++;
	}
}

static void fb_scan_ended(struct freeblock_task *task, enum freeblock_end why)
{
	struct fb_scan *scan = freeblock_task_ctx(task);

	fb_job_ended(&scan->job, why);
}

static const struct freeblock_ops fb_scan_ops = {
	.block = fb_scan_block,
	.ended = fb_scan_ended,
};

/* ---- begin and end ---- */

static int fb_scan_add(struct fb_scan *scan)
{
	int ret = freeblock_task_add(scan->job.task, scan->first, scan->count);

	if (ret)
		pr_err("freeblock: scan: sectors %llu+%llu: not whole blocks of this disk\n",
		       scan->first, scan->count);
	return ret;
}

static int fb_scan_table(struct fb_scan *scan)
{
	u64 bytes = scan->blocks * sizeof(*scan->table);

	if (bytes > FB_SCAN_TABLE_MAX) {
		pr_err("freeblock: scan: checksums of %llu blocks take more than %lu MiB: scan a smaller range or without 'crc'\n",
		       scan->blocks, FB_SCAN_TABLE_MAX >> 20);
		return -EFBIG;
	}
	scan->table = vzalloc(bytes);
	return scan->table ? 0 : -ENOMEM;
}

static void fb_scan_free(struct fb_scan *scan)
{
	if (!scan)
		return;
	vfree(scan->table);
	kfree(scan);
}

static int fb_scan_prepare(struct fb_scan *scan, const char *disk, bool crc)
{
	int ret;

	ret = fb_job_create(&scan->job, disk, "scan", &fb_scan_ops, scan);
	if (ret)
		return ret;
	scan->granule = scan->job.progress.granule_sectors;
	if (!scan->count)
		scan->count = freeblock_task_sectors(scan->job.task);
	scan->blocks = DIV_ROUND_UP_ULL(scan->count, scan->granule);
	ret = fb_scan_add(scan);
	if (!ret && crc)
		ret = fb_scan_table(scan);
	if (!ret)
		ret = fb_job_start(&scan->job);
	return ret;
}

static int fb_scan_start(struct fb_scan **slot, const char *disk, u64 first, u64 count, bool crc)
{
	struct fb_scan *scan;
	int ret;

	if (*slot && (*slot)->job.task)
		return -EBUSY;
	scan = kzalloc(sizeof(*scan), GFP_KERNEL);
	if (!scan)
		return -ENOMEM;
	scan->first = first;
	scan->count = count;
	fb_job_setup(&scan->job);
	ret = fb_scan_prepare(scan, disk, crc);
	if (ret) {
		fb_job_abandon(&scan->job);
		fb_scan_free(scan);
		return ret;
	}
	fb_scan_free(*slot);
	*slot = scan;
	return 0;
}

/* "start [FIRST COUNT] [crc]" or "stop" */
static int fb_scan_parse(struct fb_scan **slot, const char *disk, char *text)
{
	char *word = strsep(&text, " ");
	u64 range[2] = {};
	bool crc = false;
	int n = 0;

	if (!strcmp(word, "stop") && !text)
		return fb_job_stop(*slot ? &(*slot)->job : NULL);
	if (strcmp(word, "start"))
		return -EINVAL;
	while ((word = strsep(&text, " "))) {
		if (!strcmp(word, "crc") && !crc)
			crc = true;
		else if (crc || n == 2 || kstrtou64(word, 10, &range[n++]))
			return -EINVAL;
	}
	if (n == 1 || (n == 2 && !range[1]))
		return -EINVAL;
	return fb_scan_start(slot, disk, range[0], range[1], crc);
}

/**
 * fb_scan_command() - start or stop the scan of a disk
 * @slot: the disk's scan, NULL before the first
 * @disk: the disk's name
 * @text: "start", "start FIRST COUNT", either with " crc" behind it, or "stop"; a
 *	trailing newline is allowed
 *
 * Context: may sleep; does no I/O. Returns at once: the state tells stopping, then
 * stopped.
 *
 * Return: 0; -EINVAL (not a command, or a range that is not whole blocks of the disk),
 * -EBUSY (one is running), -EALREADY (none is), -ENODATA (no model), -EFBIG (too many
 * checksums), -ENOMEM.
 */
int fb_scan_command(struct fb_scan **slot, const char *disk, const char *text)
{
	unsigned int noio = memalloc_noio_save();
	char *copy = kstrdup(text, GFP_KERNEL);
	int ret = -ENOMEM;

	if (copy) {
		mutex_lock(&fb_job_mutex);
		ret = fb_scan_parse(slot, disk, strim(copy));
		mutex_unlock(&fb_job_mutex);
		kfree(copy);
	}
	memalloc_noio_restore(noio);
	return ret;
}

/* no command can come any more: stop the scan, wait, forget it */
static void fb_scan_exit(struct fb_disk *fd)
{
	struct fb_scan *scan = fd->scan;

	if (!scan)
		return;
	fb_job_end(&scan->job);
	fb_scan_free(scan);
	fd->scan = NULL;
}

const struct fb_disk_client fb_scan_client = {
	.exit = fb_scan_exit,
};

/* ---- what it tells ---- */

/**
 * fb_scan_show() - the state of the scan
 * @slot: the disk's scan
 * @page: a page to write to
 *
 * Context: may sleep.
 *
 * Return: bytes written.
 */
ssize_t fb_scan_show(struct fb_scan **slot, char *page)
{
	struct fb_scan *scan;
	ssize_t len;
	u64 i;

	mutex_lock(&fb_job_mutex);
	scan = *slot;
	if (!scan) {
		mutex_unlock(&fb_job_mutex);
		return sysfs_emit(page, "state idle\n");
	}
	fb_job_update(&scan->job);
	len = sysfs_emit(page,
			 "state %s\nfirst %llu\nsectors %llu\nblock_sectors %u\nblocks_total %llu\nblocks_delivered %llu\nblocks_flying %llu\nblocks_bad %llu\nblocks_skipped %llu\nblocks_twice %llu\nbad",
			 fb_job_state_name(&scan->job), scan->first, scan->count,
			 scan->granule, scan->blocks, scan->job.progress.done,
			 scan->job.progress.flying, scan->nbad, scan->skipped, scan->twice);
	for (i = 0; i < min_t(u64, scan->nbad, FB_SCAN_BAD); i++)
		len += sysfs_emit_at(page, len, " %llu", scan->bad[i]);
	len += sysfs_emit_at(page, len, "\n");
	mutex_unlock(&fb_job_mutex);
	return len;
}

/**
 * fb_scan_progress() - the scan in one line: blocks delivered and in all
 * @slot: the disk's scan
 * @page: a page to write to
 *
 * Context: may sleep.
 *
 * Return: bytes written.
 */
ssize_t fb_scan_progress(struct fb_scan **slot, char *page)
{
	struct fb_scan *scan;
	ssize_t len;

	mutex_lock(&fb_job_mutex);
	scan = *slot;
	if (scan)
		fb_job_update(&scan->job);
	len = sysfs_emit(page, "%llu %llu\n", scan ? scan->job.progress.done : 0,
			 scan ? scan->blocks : 0);
	mutex_unlock(&fb_job_mutex);
	return len;
}

/* ---- checksums: a binary file, blocks ascending, those delivered only ---- */

static struct fb_scan *fb_scan_of(struct seq_file *m)
{
	struct fb_scan **slot = m->private;

	return *slot;
}

static void *fb_scan_crc_at(struct seq_file *m, loff_t *pos)
{
	struct fb_scan *scan = fb_scan_of(m);

	if (!scan || !scan->table)
		return NULL;
	for (; *pos < scan->blocks; ++*pos)
		if (scan->table[*pos].times)
			return &scan->table[*pos];
	return NULL;
}

static void *fb_scan_crc_start(struct seq_file *m, loff_t *pos)
{
	mutex_lock(&fb_job_mutex);
	return fb_scan_crc_at(m, pos);
}

static void *fb_scan_crc_next(struct seq_file *m, void *v, loff_t *pos)
{
	++*pos;
	return fb_scan_crc_at(m, pos);
}

static void fb_scan_crc_stop(struct seq_file *m, void *v)
{
	mutex_unlock(&fb_job_mutex);
}

static int fb_scan_crc_show(struct seq_file *m, void *v)
{
	struct fb_scan *scan = fb_scan_of(m);
	struct fb_scan_crc *entry = v;
	u64 base = div_u64(scan->first, scan->granule);
	struct fb_scan_record record = {
		.block = cpu_to_le64(base + (entry - scan->table)),
		.crc = cpu_to_le32(entry->crc),
		.times = cpu_to_le32(entry->times),
	};

	seq_write(m, &record, sizeof(record));
	return 0;
}

static const struct seq_operations fb_scan_crc_ops = {
	.start = fb_scan_crc_start,
	.next = fb_scan_crc_next,
	.stop = fb_scan_crc_stop,
	.show = fb_scan_crc_show,
};

static int fb_scan_crc_open(struct inode *inode, struct file *file)
{
	int ret = seq_open(file, &fb_scan_crc_ops);

	if (!ret)
		((struct seq_file *)file->private_data)->private = inode->i_private;
	return ret;
}

const struct file_operations fb_scan_crc_fops = {
	.owner = THIS_MODULE,
	.open = fb_scan_crc_open,
	.read = seq_read,
	.llseek = seq_lseek,
	.release = seq_release,
};
