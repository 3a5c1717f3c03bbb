// SPDX-License-Identifier: GPL-2.0
/*
 * The tasks of a disk that are not over, as its files show and control them, whoever they
 * belong to.
 * Locks: fb_disk.lock.
 */
#include <linux/seq_file.h>

#include "disk/disk.h"
#include "tasks/tasks.h"

static const char * const fb_roster_states[] = {
	[FB_TASK_NEW] = "new",
	[FB_TASK_RUNNING] = "running",
	[FB_TASK_PAUSED] = "paused",
	[FB_TASK_STOPPING] = "stopping",
	[FB_TASK_OVER] = "over",
};

/* a task as it is shown */
struct fb_roster_row {
	u32 id;
	char name[sizeof_field(struct freeblock_task, name)];
	enum fb_task_state state;
	s32 priority;
	u64 total;
	u64 done;
	u64 failed;
	u32 granule;
};

/* copy the tasks that are not over: formatting would hold the lock for too long */
static u32 fb_roster_copy(struct fb_disk *fd, struct fb_roster_row *row)
{
	const struct freeblock_task *task;
	u32 n = 0;

	spin_lock_irq(&fd->lock);
	if (!fd->cov)
		goto unlock;
	list_for_each_entry(task, &fd->cov->tasks, node) {
		if (task->state == FB_TASK_OVER || n == FREEBLOCK_TASKS)
			continue;
		row[n] = (struct fb_roster_row) {
			.id = task->id,
			.state = task->state,
			.priority = READ_ONCE(task->priority),
			.total = task->before + task->total,
			.done = task->before + task->done,
			.failed = task->failed,
			.granule = fd->granule,
		};
		memcpy(row[n++].name, task->name, sizeof(task->name));
	}
unlock:
	spin_unlock_irq(&fd->lock);
	return n;
}

/*
 * For people, a line each: id, name, state, priority, blocks in total, done and failed, sectors per
 * block. What a coverage had before the start is in total and done.
 */
void fb_roster_list(struct fb_disk *fd, struct seq_file *m)
{
	struct fb_roster_row row[FREEBLOCK_TASKS];
	u32 n = fb_roster_copy(fd, row), i;

	for (i = 0; i < n; i++)
		seq_printf(m, "%u %s %s %d %llu %llu %llu %u\n", row[i].id, row[i].name,
			   fb_roster_states[row[i].state], row[i].priority, row[i].total,
			   row[i].done, row[i].failed, row[i].granule);
}

/*
 * The tasks that are not over, those that are not started included: they are listed, and limited to
 * FREEBLOCK_TASKS. Under fb_disk.life or fb_disk.lock.
 */
u32 fb_roster_count(const struct fb_disk *fd)
{
	const struct freeblock_task *task;
	u32 n = 0;

	lockdep_assert(lockdep_is_held(&fd->life) || lockdep_is_held(&fd->lock));
	if (!fd->cov)
		return 0;
	list_for_each_entry(task, &fd->cov->tasks, node)
		n += READ_ONCE(task->state) != FB_TASK_OVER;
	return n;
}

/*
 * Execute "stop ID", "pause ID" or "resume ID". May sleep. Return: 0; -EINVAL (not a command, or
 * the task is not started or stopping), -ENOENT (no such task), -EALREADY.
 */
int fb_roster_command(struct fb_disk *fd, const char *text)
{
	struct freeblock_task *task;
	int ret = -ENOENT, end = 0;
	char word[8];
	u32 id;

	/* %u of sscanf() would silently truncate a longer number to 32 bits */
	if (sscanf(text, "%7s %n", word, &end) != 1 || kstrtou32(text + end, 10, &id) ||
	    (strcmp(word, "stop") && strcmp(word, "pause") && strcmp(word, "resume"))) {
		pr_err("freeblock: tasks: '%.*s' is none of stop ID, pause ID, resume ID\n",
		       (int)strcspn(text, "\n"), text);
		return -EINVAL;
	}
	spin_lock_irq(&fd->lock);
	if (fd->cov) {
		list_for_each_entry(task, &fd->cov->tasks, node) {
			if (task->id != id || task->state == FB_TASK_OVER)
				continue;
			ret = 0;
			if (word[0] == 's')
				fb_delivery_stop(task);
			else if (word[0] == 'p')
				ret = fb_delivery_switch(task, FB_TASK_RUNNING, FB_TASK_PAUSED);
			else
				ret = fb_delivery_switch(task, FB_TASK_PAUSED, FB_TASK_RUNNING);
		}
	}
	spin_unlock_irq(&fd->lock);
	if (ret == -ENOENT)
		pr_err("freeblock: tasks: there is no task %u on this disk\n", id);
	else if (ret)
		pr_err("freeblock: tasks: '%s %u': it is %s\n", word, id,
		       ret != -EALREADY ? "not started, or stopping" :
		       word[0] == 'p' ? "already paused" : "already running");
	return ret;
}
