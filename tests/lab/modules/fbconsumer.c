// SPDX-License-Identifier: GPL-2.0
/*
 * A second consumer of include/freeblock.h, for tests: notes every block that is delivered, with
 * checksum and time, and can be slow, and want several ranges. In debugfs, fbconsumer/:
 *
 *	command	"start DISK [FIRST COUNT]...", "promote FIRST COUNT", "stop", "destroy"
 *	state	"key value" lines
 *	blocks	binary, see struct fbc_record: each delivery, in the order they came
 *
 * Locks: fbc_mutex guards fbc against commands and readers; the callbacks come one at a
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

#include "fbdisk.h"
#include "include/freeblock.h"

static unsigned int slow_us;
module_param(slow_us, uint, 0644);
MODULE_PARM_DESC(slow_us, "sleep so long at the first block of each read, microseconds");

static unsigned int flags;
module_param(flags, uint, 0644);
MODULE_PARM_DESC(flags, "enum freeblock_flags of the next task");

static unsigned int records = 131072;
module_param(records, uint, 0444);
MODULE_PARM_DESC(records, "deliveries for which there is room, 24 bytes each");

/*
 * @ns: when the first block of the same read came: from then on it is the consumer's,
 * however long it takes over the others
 * @status: 0 = good, 1 = medium error, 2 = not tried, 3 = another one: wrong
 */
struct fbc_record {
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
	struct fbc_record *record;
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
static DEFINE_MUTEX(fbc_mutex);
static struct dentry *fbc_dir;

static void fbc_enter(struct fbc *c)
{
	if (atomic_inc_return(&c->inside) != 1)
		c->overlaps++;
	if (c->ended)
		c->late++;
}

static u32 fbc_status(const struct freeblock_block *b)
{
	if (b->status == BLK_STS_OK)
		return b->data || flags & FREEBLOCK_NO_DATA ? 0 : 3;
	if (b->data)
		return 3;
	return b->status == BLK_STS_MEDIUM ? 1 : b->status == BLK_STS_IOERR ? 2 : 3;
}

static void fbc_block(struct freeblock_task *task, const struct freeblock_block *b)
{
	struct fbc *c = freeblock_task_ctx(task);
	struct fbc_record *r = &c->record[c->n];
	u64 batch = (uintptr_t)b->data - b->lbn * 512;

	fbc_enter(c);
	if (batch != c->batch || !b->data) {
		c->batch = batch;
		c->batch_ns = ktime_get_ns();
		if (slow_us)
			usleep_range(slow_us, slow_us + slow_us / 4 + 1);
	}
	if (c->n == records) {
		c->lost++;
	} else {
		r->lbn = cpu_to_le64(b->lbn);
		r->status = cpu_to_le32(fbc_status(b));
		r->crc = b->data ? cpu_to_le32(~crc32_le(~0U, b->data, (size_t)b->sectors * 512)) :
				   0;
		r->ns = cpu_to_le64(c->batch_ns);
		c->n++;
	}
	atomic_dec(&c->inside);
}

static void fbc_ended(struct freeblock_task *task, enum freeblock_end why)
{
	struct fbc *c = freeblock_task_ctx(task);

	fbc_enter(c);
	c->why = why;
	c->ended++;
	atomic_dec(&c->inside);
}

static struct freeblock_ops fbc_ops = {
	.block = fbc_block,
	.ended = fbc_ended,
};

static void fbc_destroy(void)
{
	lockdep_assert_held(&fbc_mutex);
	if (fbc.task)
		freeblock_task_destroy(fbc.task);
	fbc.task = NULL;
}

/* "FIRST COUNT" */
static int fbc_parse_range(char **text, struct freeblock_range *range)
{
	char *first_word = strsep(text, " ");
	char *count_word = strsep(text, " ");

	return !count_word || kstrtou64(first_word, 10, &range->first) ||
	       kstrtou64(count_word, 10, &range->count) ? -EINVAL : 0;
}

/* such pairs, or nothing: the whole disk */
static int fbc_add_ranges(char *text)
{
	struct freeblock_range range = { .count = freeblock_task_sectors(fbc.task) };
	int ret;

	if (!text)
		return freeblock_task_add(fbc.task, &range, 1, 0);
	while (text) {
		ret = fbc_parse_range(&text, &range);
		if (!ret)
			ret = freeblock_task_add(fbc.task, &range, 1, 0);
		if (ret)
			return ret;
	}
	return 0;
}

static int fbc_start(const char *disk, char *ranges)
{
	struct fbc_record *record = fbc.record;
	int ret;

	lockdep_assert_held(&fbc_mutex);
	if (fbc.task)
		return -EBUSY;
	memset(&fbc, 0, sizeof(fbc));
	fbc.record = record;
	fbc_ops.flags = flags;
	fbc.task = fbdisk_create_task(disk, "fbconsumer", &fbc_ops, &fbc);
	if (IS_ERR(fbc.task)) {
		ret = PTR_ERR(fbc.task);
		fbc.task = NULL;
		return ret;
	}
	ret = fbc_add_ranges(ranges);
	if (!ret)
		ret = freeblock_task_start(fbc.task);
	if (ret)
		fbc_destroy();
	return ret;
}

static int fbc_promote(char *text)
{
	struct freeblock_range range = {};

	lockdep_assert_held(&fbc_mutex);
	if (!fbc.task || fbc_parse_range(&text, &range))
		return -EINVAL;
	return freeblock_task_promote(fbc.task, &range, 1);
}

static int fbc_command(char *text)
{
	char *word = strsep(&text, " ");

	if (!strcmp(word, "start")) {
		word = strsep(&text, " ");
		return word ? fbc_start(word, text) : -EINVAL;
	}
	if (!strcmp(word, "promote"))
		return fbc_promote(text);
	if (text || !fbc.task)
		return -EINVAL;
	if (!strcmp(word, "stop"))
		freeblock_task_stop(fbc.task);
	else if (!strcmp(word, "destroy"))
		fbc_destroy();
	else
		return -EINVAL;
	return 0;
}

static ssize_t fbc_command_write(struct file *file, const char __user *buf, size_t len,
				 loff_t *pos)
{
	char *text = memdup_user_nul(buf, len);
	int ret;

	if (IS_ERR(text))
		return PTR_ERR(text);
	mutex_lock(&fbc_mutex);
	ret = fbc_command(strim(text));
	mutex_unlock(&fbc_mutex);
	kfree(text);
	return ret ? ret : len;
}

static const struct file_operations fbc_command_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = fbc_command_write,
};

static int fbc_state_show(struct seq_file *m, void *v)
{
	struct freeblock_progress p = {};

	mutex_lock(&fbc_mutex);
	if (fbc.task)
		freeblock_task_progress(fbc.task, &p);
	seq_printf(m, "task %s\n", !fbc.task ? "none" : READ_ONCE(fbc.ended) ? "over" : "running");
	seq_printf(m, "deliveries %u\nlost %u\noverlaps %u\nlate %u\nended %u\nwhy %s\n",
		   fbc.n, fbc.lost, fbc.overlaps, fbc.late, fbc.ended,
		   !fbc.ended ? "-" : fbc.why == FREEBLOCK_FINISHED ? "finished" : "stopped");
	seq_printf(m, "total %llu\ndone %llu\nfailed %llu\nflying %llu\n", p.total, p.done,
		   p.failed, p.flying);
	mutex_unlock(&fbc_mutex);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(fbc_state);

static ssize_t fbc_blocks_read(struct file *file, char __user *buf, size_t len, loff_t *pos)
{
	ssize_t ret;

	mutex_lock(&fbc_mutex);
	ret = simple_read_from_buffer(buf, len, pos, fbc.record,
				      (size_t)READ_ONCE(fbc.n) * sizeof(*fbc.record));
	mutex_unlock(&fbc_mutex);
	return ret;
}

static const struct file_operations fbc_blocks_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.read = fbc_blocks_read,
	.llseek = default_llseek,
};

static u64 fbc_bytes(void)
{
	return (u64)records * sizeof(*fbc.record);
}

static int __init fbc_init(void)
{
	fbc.record = freeblock_alloc(fbc_bytes(), "a record of deliveries");
	if (IS_ERR(fbc.record))
		return PTR_ERR(fbc.record);
	fbc_dir = debugfs_create_dir("fbconsumer", NULL);
	debugfs_create_file("command", 0200, fbc_dir, NULL, &fbc_command_fops);
	debugfs_create_file("state", 0444, fbc_dir, NULL, &fbc_state_fops);
	debugfs_create_file("blocks", 0444, fbc_dir, NULL, &fbc_blocks_fops);
	return 0;
}

static void __exit fbc_exit(void)
{
	debugfs_remove_recursive(fbc_dir);
	mutex_lock(&fbc_mutex);
	fbc_destroy();
	mutex_unlock(&fbc_mutex);
	freeblock_free(fbc.record, fbc_bytes());
}

module_init(fbc_init);
module_exit(fbc_exit);

MODULE_DESCRIPTION("Test consumer of the freeblock scheduler");
MODULE_LICENSE("GPL");
