/* SPDX-License-Identifier: GPL-2.0 */
/* What the rest of the module calls of tasks/. Tasks themselves: include/freeblock.h. */
#ifndef FB_TASKS_H
#define FB_TASKS_H

#include <linux/types.h>

struct fb_disk;
struct seq_file;

/* ---- tasks/user.c: /dev/freeblock (include/uapi/freeblock.h) ---- */

int fb_user_init(void);
void fb_user_exit(void);

/* ---- tasks/task.c: a disk's tasks that are not over, as its files show and control them ---- */

void fb_task_list(struct fb_disk *disk, struct seq_file *m);
u32 fb_task_count(const struct fb_disk *disk);
int fb_task_command(struct fb_disk *disk, const char *text);

/* ---- tasks/job.c: the consumers that users control through a sysfs file ---- */

enum fb_job_kind { FB_JOB_SCAN, FB_JOB_SCRUB };

ssize_t fb_job_store(struct fb_disk *disk, enum fb_job_kind kind, const char *text, size_t count);
ssize_t fb_job_show(struct fb_disk *disk, enum fb_job_kind kind, char *page);
void fb_job_describe(struct fb_disk *disk, struct seq_file *m);
ssize_t fb_job_read_coverage(struct fb_disk *disk, char *buf, loff_t off, size_t count);
ssize_t fb_job_write_coverage(struct fb_disk *disk, const struct file *file, const char *buf,
			      loff_t off, size_t count);
void fb_job_end_all(struct fb_disk *disk);

#endif /* FB_TASKS_H */
