/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Jobs are the consumers that users control through a sysfs file: scan and scrub. Of the rest
 * of the module they use include/freeblock.h, and what finds a disk by its name. A disk has a
 * slot for each job, NULL until the first command.
 */
#ifndef FB_JOB_H
#define FB_JOB_H

#include <linux/blkdev.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>

#include "include/freeblock.h"

#define FB_JOB_BAD 64		/* bad blocks listed at most; all are counted */

struct fb_job;

/* scan, or scrub */
struct fb_job_kind {
	const char *name;		/* the file's name */
	const char *word;		/* extra option of "start" for this kind only */
	enum freeblock_order order;	/* default order of idle reads */
	u32 flags;			/* see struct freeblock_ops */

	/*
	 * Keep or replace fb_job_run.own, which is the previous run's, for a task whose range is
	 * known; @word: the option was given. Of the two, the one not used is freed afterwards.
	 */
	int (*prepare)(struct fb_job *job, bool word);
	void (*free)(void *own);

	/* called when a block was read, and when all were delivered; or NULL */
	void (*good)(struct fb_job *job, u64 lbn, u32 sectors, const void *data);
	void (*finished)(struct fb_job *job);

	/* append lines of this kind at @len; returns the new length */
	ssize_t (*show)(const struct fb_job *job, char *page, ssize_t len);
};

/* one run; the callbacks, called one at a time, write end_ns and the fields behind it */
struct fb_job_run {
	u64 first;		/* range, in sectors */
	u64 count;
	u64 total;		/* blocks of the range ... */
	u64 before;		/* ... and those of them already covered by earlier runs */
	u32 granule;		/* sectors per block */
	char order[48];		/* order of idle reads, as text */
	void *own;		/* data of the kind */
	u64 start_ns;
	u64 end_ns;		/* 0: it has not ended */
	enum freeblock_end why;
	u64 nbad;		/* unreadable blocks */
	u64 bad[FB_JOB_BAD];	/* first sectors of the first FB_JOB_BAD of them */
	u64 skipped;		/* blocks not tried, just behind a bad one */
};

/*
 * The runs of a kind on a disk, one after the other. The lock serialises commands and readers.
 * It is neither taken in a callback nor held while a task that ran is destroyed, because that
 * waits for the disk.
 */
struct fb_job {
	const struct fb_job_kind *kind;
	struct mutex lock;	/* see above */
	char disk[DISK_NAME_LEN];
	struct freeblock_ops ops;
	struct freeblock_task *task;
	bool active;		/* there is a task, or it is being destroyed */
	struct freeblock_progress progress;	/* as last queried */
	struct work_struct reap;
	struct fb_job_run run;
};

/* log why a command is refused */
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
