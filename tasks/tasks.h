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

/* ---- tasks/roster.c: a disk's tasks that are not over, as its files show and control them ---- */

void fb_roster_list(struct fb_disk *fd, struct seq_file *m);
u32 fb_roster_count(const struct fb_disk *fd);
int fb_roster_command(struct fb_disk *fd, const char *text);

/*
 * ---- tasks/job.c: the consumers that users control through a sysfs file, scan and scrub. A disk
 * has a slot for each job, NULL until the first command ----
 */

/* What a job's present or last run has done */
struct fb_job_stats {
	const char *order;		/* of idle reads, as a word */
	u64 regions;			/* of a staggered order, otherwise 0 */
	u64 segment_kib;		/* likewise */
	u64 first;			/* first sector of the range */
	u64 sectors;
	u64 block_sectors;		/* sectors of a block */
	u64 blocks_total;		/* blocks of the range */
	u64 blocks_verified;		/* of those found good, @blocks_before included */
	u64 blocks_before;		/* those covered before this run */
	u64 blocks_delivered;		/* done in this run, bad and skipped ones included */
	u64 blocks_flying;		/* being read or checked now */
	u64 blocks_bad;			/* could not be read */
	u64 blocks_skipped;		/* not tried */
	u64 blocks_unverified;		/* read, but perhaps from the drive's cache */
	u64 rate_kib_s;			/* KiB found good a second, in this run */
	u64 deadline;	/* when it should be over, seconds since 1970; 0: no matter */
	u64 began;			/* when the pass began, seconds since 1970; 0: unknown */
	u64 passes;			/* that came to their end */
};

extern const struct fb_job_kind fb_job_scan, fb_job_scrub;

ssize_t fb_job_store(struct fb_job **slot, const struct fb_job_kind *kind, const char *disk,
		     struct gendisk *gendisk, const char *text, size_t count);
ssize_t fb_job_show(struct fb_job **slot, char *page);
int fb_job_stats(struct fb_job **slot, struct fb_job_stats *s);
void fb_job_describe(struct fb_job **slot, struct seq_file *m);
ssize_t fb_job_read_coverage(struct fb_job **slot, const char *id, char *buf, loff_t off,
			     size_t count);
ssize_t fb_job_write_coverage(struct fb_job **slot, const struct file *file, const char *disk,
			      struct gendisk *gendisk, const char *id, const char *buf,
			      loff_t off, size_t count);
void fb_job_end(struct fb_job **slot);

#endif /* FB_TASKS_H */
