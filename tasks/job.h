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
struct gendisk;

extern const struct fb_job_kind fb_job_scan, fb_job_scrub;

ssize_t fb_job_store(struct fb_job **slot, const struct fb_job_kind *kind, const char *disk,
		     struct gendisk *gendisk, const char *text, size_t count);
ssize_t fb_job_show(struct fb_job **slot, char *page, bool brief);
ssize_t fb_job_read_coverage(struct fb_job **slot, const char *id, char *buf, loff_t off,
			     size_t count);
ssize_t fb_job_write_coverage(struct fb_job **slot, const char *disk, struct gendisk *gendisk,
			      const char *id, const char *buf, loff_t off, size_t count);
void fb_job_end(struct fb_job **slot);

#endif /* FB_JOB_H */
