/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Jobs are the consumers that users control through a sysfs file: scan and scrub. A disk has a
 * slot for each job, NULL until the first command.
 */
#ifndef FB_JOB_H
#define FB_JOB_H

#include <linux/types.h>

struct fb_job;
struct fb_job_kind;
struct file;
struct gendisk;
struct seq_file;

/**
 * struct fb_job_stats - what a job's present or last run has done
 * @order: of idle reads, as a word
 * @regions: of a staggered order, otherwise 0
 * @segment_kib: likewise
 * @first: first sector of the range
 * @sectors: its length
 * @block_sectors: sectors of a block
 * @blocks_total: blocks of the range
 * @blocks_verified: of those found good, @blocks_before included
 * @blocks_before: those covered before this run
 * @blocks_delivered: done in this run, bad and skipped ones included
 * @blocks_flying: being read or checked now
 * @blocks_bad: could not be read
 * @blocks_skipped: not tried
 * @blocks_unverified: read, but perhaps from the drive's cache
 * @rate_kib_s: KiB found good a second, in this run
 * @deadline: when it should be over, seconds since 1970; 0: no matter
 * @began: when the pass began, seconds since 1970; 0: unknown
 * @passes: that came to their end
 */
struct fb_job_stats {
	const char *order;
	u64 regions;
	u64 segment_kib;
	u64 first;
	u64 sectors;
	u64 block_sectors;
	u64 blocks_total;
	u64 blocks_verified;
	u64 blocks_before;
	u64 blocks_delivered;
	u64 blocks_flying;
	u64 blocks_bad;
	u64 blocks_skipped;
	u64 blocks_unverified;
	u64 rate_kib_s;
	u64 deadline;
	u64 began;
	u64 passes;
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

#endif /* FB_JOB_H */
