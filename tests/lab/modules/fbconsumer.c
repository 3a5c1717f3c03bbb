// SPDX-License-Identifier: GPL-2.0
/*
 * A second consumer of include/freeblock.h, for tests: notes every block that is
 * delivered, with checksum and time, and can be slow, stop from within a callback, want
 * several ranges. In debugfs, fbconsumer/:
 *
 *	command	"start DISK [FIRST COUNT]...", "stop", "destroy"
 *	state	"key value" lines
 *	blocks	binary, see struct fb_seek_fit_record: each delivery, in the order they came
 *
 * Locks: fb_seek_fit_mutex guards fbc against commands and readers; the callbacks come one at a
 * time and alone write the records and counts, which readers see after the task's end.
 */
#include <linux/atomic.h>
#include <linux/blkdev.h>
#include <linux/crc32.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "include/freeblock.h"

static unsigned int slow_us;
module_param(slow_us, uint, 0644);
MODULE_PARM_DESC(slow_us, "sleep so long at the first block of each read, microseconds");

static unsigned int stop_after;
module_param(stop_after, uint, 0644);
MODULE_PARM_DESC(stop_after, "stop the task from within the callback of this many-th block");

static unsigned int flags;
module_param(flags, uint, 0644);
MODULE_PARM_DESC(flags, "enum freeblock_flags of the next task");

#define FB_SEEK_FIT_RECORDS 131072

/*
 * @ns: when the first block of the same read came: from then on it is the consumer's,
 * however long it takes over the others
 * @status: 0 = good, 1 = medium error, 2 = not tried, 3 = another one: wrong
 */
struct fb_seek_fit_record {
	__le64 lbn;
	__le32 crc;
	__le32 status;
	__le64 ns;
};

/**
 * struct fbc - the one task
 * @task: or NULL
 * @record: deliveries
 * @n: how many
 * @lost: deliveries that found no room
 * @batch: tells one read from the next: its blocks are as far apart as their data
 * @batch_ns: when its first block came
 * @inside: callbacks under way
 * @overlaps: callbacks that found another one under way
 * @late: callbacks after the end
 * @ended: calls of the ended callback
 * @why: its reason
 */
struct fbc {
	struct freeblock_task *task;
	struct fb_seek_fit_record *record;
	u32 n;
	u32 lost;
	u64 batch;
	u64 batch_ns;
	atomic_t inside;
	u32 overlaps;
	u32 late;
	u32 ended;
	enum freeblock_end why;
};

static struct fbc fbc;
static DEFINE_MUTEX(fb_seek_fit_mutex);
static struct dentry *fb_seek_fit_dir;

static void fb_seek_fit_enter(struct fbc *c)
{
	if (atomic_inc_return(&c->inside) != 1)
		c->overlaps++;
	if (c->ended)
		c->late++;
}

static u32 fb_seek_fit_status(const struct freeblock_block *b)
{
	if (b->status == BLK_STS_OK)
		return b->data || flags & FREEBLOCK_NO_DATA ? 0 : 3;
	if (b->data)
		return 3;
	return b->status == BLK_STS_MEDIUM ? 1 : b->status == BLK_STS_IOERR ? 2 : 3;
}

static void fb_seek_fit_block(struct freeblock_task *task, const struct freeblock_block *b)
{
	struct fbc *c = freeblock_task_ctx(task);
	struct fb_seek_fit_record *r = &c->record[c->n];
	u64 batch = (uintptr_t)b->data - b->lbn * 512;

	fb_seek_fit_enter(c);
	if (batch != c->batch || !b->data) {
		c->batch = batch;
		c->batch_ns = ktime_get_ns();
		if (slow_us)
			usleep_range(slow_us, slow_us + slow_us / 4 + 1);
	}
	if (c->n == FB_SEEK_FIT_RECORDS) {
		c->lost++;
	} else {
		r->lbn = cpu_to_le64(b->lbn);
		r->status = cpu_to_le32(fb_seek_fit_status(b));
		r->crc = b->data ? cpu_to_le32(~crc32_le(~0U, b->data, (size_t)b->sectors * 512)) :
				   0;
		r->ns = cpu_to_le64(c->batch_ns);
		c->n++;
	}
	if (stop_after && c->n == stop_after)
		freeblock_task_stop(task);
	atomic_dec(&c->inside);
}

static void fb_seek_fit_ended(struct freeblock_task *task, enum freeblock_end why)
{
	struct fbc *c = freeblock_task_ctx(task);

	fb_seek_fit_enter(c);
	c->why = why;
	c->ended++;
	atomic_dec(&c->inside);
}

static struct freeblock_ops fb_seek_fit_ops = {
	.block = fb_seek_fit_block,
	.ended = fb_seek_fit_ended,
};

static void fb_seek_fit_destroy(void)
{
	lockdep_assert_held(&fb_seek_fit_mutex);
	if (fbc.task)
		freeblock_task_destroy(fbc.task);
	fbc.task = NULL;
}

/* "FIRST COUNT" pairs, or nothing: the whole disk */
static int fb_seek_fit_add_ranges(char *text)
{
	struct freeblock_range range = { .count = freeblock_task_sectors(fbc.task) };
	int ret;

	if (!text)
		return freeblock_task_add(fbc.task, &range, 1, 0);
	while (text) {
		char *first_word = strsep(&text, " ");
		char *count_word = strsep(&text, " ");

		if (!count_word || kstrtou64(first_word, 10, &range.first) ||
		    kstrtou64(count_word, 10, &range.count))
			return -EINVAL;
		ret = freeblock_task_add(fbc.task, &range, 1, 0);
		if (ret)
			return ret;
	}
	return 0;
}

static struct freeblock_task *fb_seek_fit_create(const char *disk)
{
	struct block_device *bdev;
	struct freeblock_task *task;
	char path[DISK_NAME_LEN + 5];

	snprintf(path, sizeof(path), "/dev/%s", disk);
	bdev = blkdev_get_by_path(path, FMODE_READ, NULL);
	if (IS_ERR(bdev))
		return ERR_CAST(bdev);
	task = freeblock_task_create(bdev->bd_disk, "fbconsumer", &fb_seek_fit_ops, &fbc);
	blkdev_put(bdev, FMODE_READ);
	return task;
}

static int fb_seek_fit_start(const char *disk, char *ranges)
{
	struct fb_seek_fit_record *record = fbc.record;
	int ret;

	lockdep_assert_held(&fb_seek_fit_mutex);
	if (fbc.task)
		return -EBUSY;
	memset(&fbc, 0, sizeof(fbc));
	fbc.record = record;
	fb_seek_fit_ops.flags = flags;
	fbc.task = fb_seek_fit_create(disk);
	if (IS_ERR(fbc.task)) {
		ret = PTR_ERR(fbc.task);
		fbc.task = NULL;
		return ret;
	}
	ret = fb_seek_fit_add_ranges(ranges);
	if (!ret)
		ret = freeblock_task_start(fbc.task);
	if (ret)
		fb_seek_fit_destroy();
	return ret;
}

static int fb_seek_fit_command(char *text)
{
	char *word = strsep(&text, " ");

	if (!strcmp(word, "start")) {
		word = strsep(&text, " ");
		return word ? fb_seek_fit_start(word, text) : -EINVAL;
	}
	if (text || !fbc.task)
		return -EINVAL;
	if (!strcmp(word, "stop"))
		freeblock_task_stop(fbc.task);
	else if (!strcmp(word, "destroy"))
		fb_seek_fit_destroy();
	else
		return -EINVAL;
	return 0;
}

static ssize_t fb_seek_fit_command_write(struct file *file, const char __user *buf, size_t len,
					 loff_t *pos)
{
	char *text = memdup_user_nul(buf, len);
	int ret;

	if (IS_ERR(text))
		return PTR_ERR(text);
	mutex_lock(&fb_seek_fit_mutex);
	ret = fb_seek_fit_command(strim(text));
	mutex_unlock(&fb_seek_fit_mutex);
	kfree(text);
	return ret ? ret : len;
}

static const struct file_operations fb_seek_fit_command_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = fb_seek_fit_command_write,
};

static int fb_seek_fit_state_show(struct seq_file *m, void *v)
{
	struct freeblock_progress p = {};

	mutex_lock(&fb_seek_fit_mutex);
	if (fbc.task)
		freeblock_task_progress(fbc.task, &p);
	seq_printf(m, "task %s\n", !fbc.task ? "none" : READ_ONCE(fbc.ended) ? "over" : "running");
	seq_printf(m, "deliveries %u\nlost %u\noverlaps %u\nlate %u\nended %u\nwhy %s\n",
		   fbc.n, fbc.lost, fbc.overlaps, fbc.late, fbc.ended,
		   !fbc.ended ? "-" : fbc.why == FREEBLOCK_FINISHED ? "finished" : "stopped");
	seq_printf(m, "total %llu\ndone %llu\nfailed %llu\nflying %llu\n", p.total, p.done,
		   p.failed, p.flying);
	mutex_unlock(&fb_seek_fit_mutex);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(fb_seek_fit_state);

static ssize_t fb_seek_fit_blocks_read(struct file *file, char __user *buf, size_t len, loff_t *pos)
{
	ssize_t ret;

	mutex_lock(&fb_seek_fit_mutex);
	ret = simple_read_from_buffer(buf, len, pos, fbc.record,
				      (size_t)READ_ONCE(fbc.n) * sizeof(*fbc.record));
	mutex_unlock(&fb_seek_fit_mutex);
	return ret;
}

static const struct file_operations fb_seek_fit_blocks_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.read = fb_seek_fit_blocks_read,
	.llseek = default_llseek,
};

static int __init fb_seek_fit_init(void)
{
	fbc.record = vzalloc(FB_SEEK_FIT_RECORDS * sizeof(*fbc.record));
	if (!fbc.record)
		return -ENOMEM;
	fb_seek_fit_dir = debugfs_create_dir("fbconsumer", NULL);
	debugfs_create_file("command", 0200, fb_seek_fit_dir, NULL, &fb_seek_fit_command_fops);
	debugfs_create_file("state", 0444, fb_seek_fit_dir, NULL, &fb_seek_fit_state_fops);
	debugfs_create_file("blocks", 0444, fb_seek_fit_dir, NULL, &fb_seek_fit_blocks_fops);
	return 0;
}

static void __exit fb_seek_fit_exit(void)
{
	debugfs_remove_recursive(fb_seek_fit_dir);
	mutex_lock(&fb_seek_fit_mutex);
	fb_seek_fit_destroy();
	mutex_unlock(&fb_seek_fit_mutex);
	vfree(fbc.record);
}

module_init(fb_seek_fit_init);
module_exit(fb_seek_fit_exit);

MODULE_DESCRIPTION("Test consumer of the freeblock scheduler");
MODULE_LICENSE("GPL");
