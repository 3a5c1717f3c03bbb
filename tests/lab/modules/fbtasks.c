// SPDX-License-Identifier: GPL-2.0
/*
 * Several consumers of include/freeblock.h side by side, for tests: each counts how often
 * every block came and with what checksum. In debugfs, fbtasks/:
 *
 *	command	"new NAME DISK [keep|medium]", and, of a NAME that is there:
 *		"add NAME FIRST COUNT [DATA]",
 *		"remove NAME FIRST COUNT",
 *		"promote NAME FIRST COUNT", "priority NAME N", "deadline NAME MS",
 *		"foreground NAME PPM",
 *		"order NAME sequential|near", "slow NAME US", "again NAME N" (the next N blocks that
 *		come are added again by the callback that gets them), "start NAME", "pause NAME",
 *		"resume NAME", "stop NAME", "destroy NAME"
 *	state	a line each: name state total done failed flying once twice crc last_ms caught_up
 *		data (the sum of user_data of all deliveries) waiting_for told (what waiting_for
 *		was at events, where it had changed: 0.11.0)
 *
 * Locks: fbt_mutex guards the slots against commands and readers; the callbacks of a task
 * come one at a time and alone write its counts.
 */
#include <linux/bitmap.h>
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
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "fbdisk.h"
#include "include/freeblock.h"

#define FBT_TASKS (FREEBLOCK_TASKS + 1)

/**
 * struct fbt - one consumer
 * @name: its name, "" when the slot is free
 * @task: its task
 * @times: how often each block came
 * @blocks: how many there are
 * @granule: sectors of one
 * @slow_us: sleep so long at each block
 * @again: add so many of the next blocks again
 * @once: blocks that came
 * @twice: deliveries of blocks that had come before
 * @crc: checksums of all blocks, summed: in any order the same
 * @caught_up: how often all had been delivered
 * @data: the sum of user_data of all deliveries
 * @last_ns: when the last one came
 * @told: what freeblock_progress.waiting_for was when events came
 * @ended: how often it was said to be over
 * @why: and why
 */
struct fbt {
	char name[16];
	struct freeblock_task *task;
	u8 *times;
	u64 blocks;
	u32 granule;
	u32 slow_us;
	u64 again;
	u64 once;
	u64 twice;
	u64 crc;
	u64 caught_up;
	u64 data;
	u64 last_ns;
	char told[64];
	u32 ended;
	enum freeblock_end why;
};

static struct fbt fbt[FBT_TASKS];
static DEFINE_MUTEX(fbt_mutex);
static struct dentry *fbt_dir;

static void fbt_block(struct freeblock_task *task, const struct freeblock_block *b)
{
	const struct freeblock_range range = { .first = b->lbn, .count = b->sectors };
	struct fbt *t = freeblock_task_ctx(task);
	u64 block = div_u64(b->lbn, t->granule);

	if (READ_ONCE(t->slow_us))
		fsleep(READ_ONCE(t->slow_us));
	if (t->times[block])
		t->twice++;
	else
		t->once++;
	t->times[block] = 1;
	if (b->data)
		t->crc += crc32_le(b->lbn, b->data, (size_t)b->sectors * 512);
	t->data += b->user_data;
	t->last_ns = ktime_get_ns();
	if (READ_ONCE(t->again) && !freeblock_task_add(task, &range, 1, 0))
		t->again--;
}

static void fbt_ended(struct freeblock_task *task, enum freeblock_end why)
{
	struct fbt *t = freeblock_task_ctx(task);

	t->why = why;
	t->ended++;
}

static void fbt_event(struct freeblock_task *task, u32 events)
{
	struct fbt *t = freeblock_task_ctx(task);
	struct freeblock_progress p;
	char now[8];
	size_t len;

	t->caught_up += !!(events & FREEBLOCK_EVENT_CAUGHT_UP);
	if (!(events & FREEBLOCK_EVENT_CHANGED))
		return;
	freeblock_task_progress(task, &p);
	len = strlen(t->told);
	snprintf(now, sizeof(now), ".%u", p.waiting_for);
	if (len < strlen(now) || strcmp(t->told + len - strlen(now), now))
		strlcat(t->told, now, sizeof(t->told));
}

static const struct freeblock_ops fbt_ops = {
	.block = fbt_block,
	.ended = fbt_ended,
	.event = fbt_event,
};

static const struct freeblock_ops fbt_medium_ops = {
	.flags = FREEBLOCK_MEDIUM,
	.block = fbt_block,
	.ended = fbt_ended,
	.event = fbt_event,
};

static const struct freeblock_ops fbt_keep_ops = {
	.flags = FREEBLOCK_KEEP,
	.block = fbt_block,
	.event = fbt_event,
	.ended = fbt_ended,
};

static struct fbt *fbt_find(const char *name)
{
	int i;

	for (i = 0; i < FBT_TASKS; i++)
		if (!strcmp(fbt[i].name, name))
			return &fbt[i];
	return NULL;
}

static void fbt_destroy(struct fbt *t)
{
	if (!t->task)
		return;
	freeblock_task_destroy(t->task);
	vfree(t->times);
	memset(t, 0, sizeof(*t));
}

static int fbt_new(const char *name, const char *disk, const char *kind)
{
	const struct freeblock_ops *ops = &fbt_ops;
	struct freeblock_progress p;
	struct fbt *t = fbt_find("");

	if (!t || fbt_find(name))
		return -EEXIST;
	if (kind && !strcmp(kind, "keep"))
		ops = &fbt_keep_ops;
	else if (kind && !strcmp(kind, "medium"))
		ops = &fbt_medium_ops;
	t->task = fbdisk_create_task(disk, name, ops, t);
	if (IS_ERR(t->task)) {
		int ret = PTR_ERR(t->task);

		t->task = NULL;
		return ret;
	}
	freeblock_task_progress(t->task, &p);
	t->granule = p.granule_sectors;
	t->blocks = DIV_ROUND_UP_ULL(freeblock_task_sectors(t->task), t->granule);
	t->times = vzalloc(t->blocks);
	if (!t->times) {
		fbt_destroy(t);
		return -ENOMEM;
	}
	strscpy(t->name, name, sizeof(t->name));
	return 0;
}

static int fbt_change(struct fbt *t, const char *what, const char *arg)
{
	u64 n[3] = {};
	int got = sscanf(arg, "%llu %llu %llu", &n[0], &n[1], &n[2]);
	const struct freeblock_range range = {
		.first = n[0], .count = n[1], .user_data = got == 3 ? n[2] : 0,
	};
	s32 priority;

	if (!strcmp(what, "add") && got >= 2)
		return freeblock_task_add(t->task, &range, 1, 0);
	if (!strcmp(what, "remove") && got == 2)
		return freeblock_task_remove(t->task, &range, 1);
	if (!strcmp(what, "promote") && got == 2)
		return freeblock_task_promote(t->task, &range, 1);
	if (!strcmp(what, "priority") && !kstrtos32(arg, 10, &priority))
		return freeblock_task_set_priority(t->task, priority);
	if (!strcmp(what, "foreground") && got == 1)
		return freeblock_task_set_foreground(t->task, n[0]);
	if (!strcmp(what, "order"))
		return freeblock_task_order(t->task, strcmp(arg, "near") ?
					    FREEBLOCK_ORDER_SEQUENTIAL : FREEBLOCK_ORDER_NEAR,
					    0, 0);
	if (got != 1)
		return -EINVAL;
	if (!strcmp(what, "deadline"))
		freeblock_task_set_deadline(t->task, ktime_get_ns() + n[0] * NSEC_PER_MSEC);
	else if (!strcmp(what, "slow"))
		WRITE_ONCE(t->slow_us, n[0]);
	else if (!strcmp(what, "again"))
		WRITE_ONCE(t->again, n[0]);
	else
		return -EINVAL;
	return 0;
}

static int fbt_steer(struct fbt *t, const char *what)
{
	if (!strcmp(what, "start"))
		return freeblock_task_start(t->task);
	if (!strcmp(what, "pause"))
		return freeblock_task_pause(t->task);
	if (!strcmp(what, "resume"))
		return freeblock_task_resume(t->task);
	if (!strcmp(what, "stop"))
		freeblock_task_stop(t->task);
	else if (!strcmp(what, "destroy"))
		fbt_destroy(t);
	else
		return -EINVAL;
	return 0;
}

static int fbt_command(char *text)
{
	char *what = strsep(&text, " "), *name = text ? strsep(&text, " ") : NULL;
	struct fbt *t;
	char *disk;

	if (!name || !*name)
		return -EINVAL;
	if (!strcmp(what, "new")) {
		disk = strsep(&text, " ");
		return disk ? fbt_new(name, disk, text) : -EINVAL;
	}
	t = fbt_find(name);
	if (!t)
		return -ENOENT;
	return text ? fbt_change(t, what, text) : fbt_steer(t, what);
}

static ssize_t fbt_command_write(struct file *file, const char __user *buf, size_t len,
				 loff_t *pos)
{
	char *text = memdup_user_nul(buf, len);
	int ret;

	if (IS_ERR(text))
		return PTR_ERR(text);
	mutex_lock(&fbt_mutex);
	ret = fbt_command(strim(text));
	mutex_unlock(&fbt_mutex);
	/* what the interface promises */
	WARN_ONCE(ret > 0, "%s: neither 0 nor an error: %d\n", text, ret);
	kfree(text);
	return ret ? ret : len;
}

static const struct file_operations fbt_command_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = fbt_command_write,
};

static const char *fbt_state(const struct fbt *t, const struct freeblock_progress *p)
{
	if (READ_ONCE(t->ended))
		return t->why == FREEBLOCK_FINISHED ? "finished" : "stopped";
	return p->paused ? "paused" : p->entering ? "entering" : "running";
}

static int fbt_state_show(struct seq_file *m, void *v)
{
	struct freeblock_progress p;
	int i;

	mutex_lock(&fbt_mutex);
	for (i = 0; i < FBT_TASKS; i++) {
		const struct fbt *t = &fbt[i];

		if (!t->task)
			continue;
		freeblock_task_progress(t->task, &p);
		seq_printf(m, "%s %s %llu %llu %llu %llu %llu %llu %llx %llu %llu %llu %u %s\n",
			   t->name,
			   fbt_state(t, &p), p.total, p.done, p.failed, p.flying, t->once,
			   t->twice, t->crc, div_u64(t->last_ns, NSEC_PER_MSEC), t->caught_up,
			   t->data, p.waiting_for, t->told);
	}
	mutex_unlock(&fbt_mutex);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(fbt_state);

static int __init fbt_init(void)
{
	fbt_dir = debugfs_create_dir("fbtasks", NULL);
	debugfs_create_file("command", 0200, fbt_dir, NULL, &fbt_command_fops);
	debugfs_create_file("state", 0444, fbt_dir, NULL, &fbt_state_fops);
	return 0;
}

static void __exit fbt_exit(void)
{
	int i;

	debugfs_remove_recursive(fbt_dir);
	mutex_lock(&fbt_mutex);
	for (i = 0; i < FBT_TASKS; i++)
		fbt_destroy(&fbt[i]);
	mutex_unlock(&fbt_mutex);
}

module_init(fbt_init);
module_exit(fbt_exit);

MODULE_DESCRIPTION("Several test consumers of the freeblock scheduler");
MODULE_LICENSE("GPL");
