/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Jobs: the consumers that people start, stop and watch by a file, scan and scrub. Of the
 * rest of the module they see include/freeblock.h only. A disk has a slot for each, NULL
 * until the first command.
 */
#ifndef FB_JOB_H
#define FB_JOB_H

#include <linux/blkdev.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>

#include "include/freeblock.h"

#define FB_JOB_BAD 64		/* bad blocks that are listed; all are counted */

struct fb_job;

/* scan, or scrub */
struct fb_job_kind {
	const char *name;		/* its file's */
	const char *word;		/* of "start", beside those that all know */
	enum freeblock_order order;	/* of idle reads, unless told */
	u32 flags;			/* see struct freeblock_ops */

	/*
	 * Set fb_job_run.own, that of the run before, for a task with a range; @word was given
	 * or not. Which of the two is not needed any more is freed.
	 */
	int (*prepare)(struct fb_job *job, bool word);
	void (*free)(void *own);

	/* callbacks of the task, or NULL: a block was read; all were delivered */
	void (*good)(struct fb_job *job, u64 lbn, u32 sectors, const void *data);
	void (*finished)(struct fb_job *job);

	/* lines of its own behind @len characters; returns the new length */
	ssize_t (*show)(const struct fb_job *job, char *page, ssize_t len);
};

/* one run; the callbacks, which come one at a time, write what follows @end_ns */
struct fb_job_run {
	u64 first;		/* of the range, sectors */
	u64 count;
	u64 total;		/* its blocks ... */
	u64 before;		/* ... that need not be read: they were before */
	u32 granule;		/* sectors of a block */
	char order[48];		/* of idle reads, in words */
	void *own;		/* its kind's */
	u64 start_ns;
	u64 end_ns;		/* 0: it has not ended */
	enum freeblock_end why;
	u64 nbad;		/* blocks that could not be read */
	u64 bad[FB_JOB_BAD];	/* first sectors of the first of them */
	u64 skipped;		/* blocks not tried, just behind a bad one */
};

/*
 * The runs of a kind on a disk, one after the other. The lock guards all of it against commands
 * and readers. It is never taken in a callback, nor held while a task that ran is destroyed,
 * for that waits for the disk.
 */
struct fb_job {
	const struct fb_job_kind *kind;
	struct mutex lock;	/* see above */
	char disk[DISK_NAME_LEN];
	struct freeblock_ops ops;
	struct freeblock_task *task;
	bool active;		/* there is a task, or one that is being destroyed */
	struct freeblock_progress progress;	/* the last that was seen */
	struct work_struct reap;
	struct fb_job_run run;
};

/* say in the log why a command is refused */
#define fb_job_refuse(job, ret, fmt, ...) ({						\
	const struct fb_job *_job = (job);						\
											\
	pr_err("freeblock: %s: %s: " fmt "\n", _job->disk, _job->kind->name, ##__VA_ARGS__); \
	ret;										\
})

extern const struct fb_job_kind fb_scan_kind, fb_scrub_kind;
extern const struct file_operations fb_scan_crc_fops;	/* debugfs, see Documentation/ABI */

struct fb_job *fb_job_open(struct fb_job **slot, const struct fb_job_kind *kind,
			   const char *disk);
ssize_t fb_job_store(struct fb_job **slot, const struct fb_job_kind *kind, const char *disk,
		     const char *text, size_t count);
ssize_t fb_job_show(struct fb_job **slot, char *page, bool brief);
void fb_job_end(struct fb_job **slot);
ssize_t fb_scrub_read(struct fb_job **slot, const char *id, char *buf, loff_t off, size_t count);
ssize_t fb_scrub_write(struct fb_job **slot, const char *disk, const char *id, const char *buf,
		       loff_t off, size_t count);

#endif /* FB_JOB_H */
