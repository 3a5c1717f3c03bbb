/* SPDX-License-Identifier: GPL-2.0 */
/* What the rest of the module calls of tasks/. Tasks themselves: include/freeblock.h. */
#ifndef FB_TASKS_H
#define FB_TASKS_H

#include <linux/types.h>

struct fb_disk;
struct fb_job;
struct fb_job_kind;
struct file;
struct gendisk;
struct seq_file;

/* ---- tasks/user.c: /dev/freeblock (include/uapi/freeblock.h) ---- */

int fb_user_init(void);
void fb_user_exit(void);

/* ---- tasks/task.c: a disk's tasks that are not over, as its files show and control them ---- */

void fb_task_list(struct fb_disk *disk, struct seq_file *m);
u32 fb_task_count(const struct fb_disk *disk);
int fb_task_command(struct fb_disk *disk, const char *text);

/*
 * ---- tasks/job.c: the consumers that users control through a sysfs file, scan and scrub. A disk
 * has a slot for each job, NULL until the first command ----
 */

extern const struct fb_job_kind fb_job_scan, fb_job_scrub;

ssize_t fb_job_store(struct fb_job **slot, const struct fb_job_kind *kind, const char *disk,
		     struct gendisk *gendisk, const char *text, size_t count);
ssize_t fb_job_show(struct fb_job **slot, char *page);
void fb_job_describe(struct fb_job **slot, const char *name, struct seq_file *m);
ssize_t fb_job_read_coverage(struct fb_job **slot, const char *id, char *buf, loff_t off,
			     size_t count);
ssize_t fb_job_write_coverage(struct fb_job **slot, const struct file *file, const char *disk,
			      struct gendisk *gendisk, const char *id, const char *buf,
			      loff_t off, size_t count);
void fb_job_end(struct fb_job **slot);

#endif /* FB_TASKS_H */
