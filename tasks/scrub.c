// SPDX-License-Identifier: GPL-2.0
/*
 * The scrubber (Practical Scrubbing): a job that has every block read from the medium and
 * ignores the data. The task's coverage holds the blocks that were good in a pass. It outlives
 * the task, can be read as the file "coverage" at any time, and can be written back so that a
 * later scrub continues from it.
 *
 * Calls: tasks/job.c, which calls back through fb_scrub_kind; the interface of
 * include/freeblock.h.
 * Locks: fb_job.lock, held by tasks/job.c, but not in the callbacks of the task.
 */
#include <linux/err.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <linux/timekeeping.h>

#include "disk/disk.h"
#include "tasks/job.h"
#include "tasks/task.h"

#define FB_SCRUB_MAGIC "fbcover"
#define FB_SCRUB_VERSION 1

/* header of the file "coverage", little-endian; the map follows, a bit per block */
struct fb_scrub_header {
	char magic[8];
	__le32 version;
	__le32 granule;		/* sectors per block */
	__le64 blocks;		/* blocks of the disk */
	__le64 began;		/* start of this pass, seconds since 1970; 0: unknown */
	__le32 passes;		/* passes completed before this one */
	__le32 reserved;
	char id[88];		/* the disk's id, padded with zeros */
};

/* fb_job_run.own: a pass over the disk, in one or several runs */
struct fb_scrub_pass {
	struct freeblock_coverage *covered;
	u64 began;
	u32 passes;
	size_t given;		/* bytes of the file that have been written back so far */
};

static void fb_scrub_free(void *own)
{
	struct fb_scrub_pass *pass = own;

	if (pass)
		freeblock_coverage_destroy(pass->covered);
	kfree(pass);
}

static struct fb_scrub_pass *fb_scrub_new(const struct fb_job *job, u64 began, u32 passes)
{
	struct fb_scrub_pass *pass = kzalloc(sizeof(*pass), GFP_KERNEL);
	struct freeblock_coverage *covered;

	if (!pass)
		return ERR_PTR(-ENOMEM);
	covered = fb_task_coverage(fb_disk_get_named(job->disk));
	if (IS_ERR(covered)) {
		kfree(pass);
		return fb_job_refuse(job, ERR_CAST(covered), "no model, or no memory for a map");
	}
	pass->covered = covered;
	pass->began = began;
	pass->passes = passes;
	return pass;
}

/* continue the present pass if that is asked for and it fits the model; else begin a new one */
static int fb_scrub_prepare(struct fb_job *job, bool resume)
{
	struct fb_scrub_pass *pass = job->run.own;

	if (resume && pass && !freeblock_task_set_coverage(job->task, pass->covered))
		return 0;
	pass = fb_scrub_new(job, ktime_get_real_seconds(), pass ? pass->passes : 0);
	if (IS_ERR(pass))
		return PTR_ERR(pass);
	job->run.own = pass;
	return freeblock_task_set_coverage(job->task, pass->covered);
}

static void fb_scrub_finished(struct fb_job *job)
{
	struct fb_scrub_pass *pass = job->run.own;

	pass->passes++;
}

static ssize_t fb_scrub_show(const struct fb_job *job, char *page, ssize_t len)
{
	const struct fb_scrub_pass *pass = job->run.own;

	return len + sysfs_emit_at(page, len, "began %llu\npasses %u\n", pass->began, pass->passes);
}

const struct fb_job_kind fb_scrub_kind = {
	.name = "scrub",
	.word = "resume-coverage",
	.order = FREEBLOCK_SEQUENTIAL,
	.flags = FREEBLOCK_MEDIUM | FREEBLOCK_NO_DATA,
	.prepare = fb_scrub_prepare,
	.free = fb_scrub_free,
	.finished = fb_scrub_finished,
	.show = fb_scrub_show,
};

/* ---- the file "coverage" ---- */

/**
 * fb_scrub_read() - read a piece of the file "coverage"
 * @slot: the disk's scrub
 * @id: the disk's unique id; "name.<name>" if it has none
 * @buf: filled in
 * @off: offset of the piece
 * @count: bytes wanted
 *
 * Context: may sleep; does not allocate.
 *
 * Return: bytes read; 0 at the end; -ENODATA if there was no scrub and nothing written back.
 */
ssize_t fb_scrub_read(struct fb_job **slot, const char *id, char *buf, loff_t off, size_t count)
{
	struct fb_scrub_header h = { .magic = FB_SCRUB_MAGIC };
	struct fb_job *job = READ_ONCE(*slot);
	const struct fb_scrub_pass *pass;
	ssize_t ret = -ENODATA;

	if (!job)
		return ret;
	mutex_lock(&job->lock);
	pass = job->run.own;
	if (pass && off >= sizeof(h)) {
		off -= sizeof(h);
		ret = memory_read_from_buffer(buf, count, &off, pass->covered->map,
					      pass->covered->bytes);
	} else if (pass) {
		h.version = cpu_to_le32(FB_SCRUB_VERSION);
		h.granule = cpu_to_le32(pass->covered->granule_sectors);
		h.blocks = cpu_to_le64(pass->covered->blocks);
		h.began = cpu_to_le64(pass->began);
		h.passes = cpu_to_le32(pass->passes);
		strscpy(h.id, id, sizeof(h.id));
		ret = memory_read_from_buffer(buf, count, &off, &h, sizeof(h));
	}
	mutex_unlock(&job->lock);
	return ret;
}

/* begin an empty pass from a header, which must be this disk's */
static int fb_scrub_restore(struct fb_job *job, const char *id, const struct fb_scrub_header *h)
{
	u64 blocks = le64_to_cpu(h->blocks);
	u32 granule = le32_to_cpu(h->granule);
	struct fb_scrub_pass *pass;
	int ret = 0;

	if (memcmp(h->magic, FB_SCRUB_MAGIC, sizeof(h->magic)) ||
	    le32_to_cpu(h->version) != FB_SCRUB_VERSION)
		return fb_job_refuse(job, -EINVAL,
				     "coverage: not such a file, or of another version");
	if (strncmp(h->id, id, sizeof(h->id)))
		return fb_job_refuse(job, -EINVAL, "coverage: it is of disk '%.*s', this is '%s'",
				     (int)sizeof(h->id), h->id, id);
	pass = fb_scrub_new(job, le64_to_cpu(h->began), le32_to_cpu(h->passes));
	if (IS_ERR(pass))
		return PTR_ERR(pass);
	if (granule != pass->covered->granule_sectors || blocks != pass->covered->blocks)
		ret = fb_job_refuse(job, -EINVAL,
				    "coverage: it has %llu blocks of %u sectors, the disk has %llu of %u",
				    blocks, granule, pass->covered->blocks,
				    pass->covered->granule_sectors);
	else
		swap(job->run.own, *(void **)&pass);
	fb_scrub_free(pass);
	return ret;
}

static int fb_scrub_take(struct fb_job *job, const char *id, const char *buf, loff_t off,
			 size_t count)
{
	size_t header = sizeof(struct fb_scrub_header), n = off ? 0 : header;
	struct fb_scrub_pass *pass;
	int ret;

	if (job->active)
		return fb_job_refuse(job, -EBUSY, "coverage: it is running: stop it first");
	if (!off && count >= header) {
		ret = fb_scrub_restore(job, id, (const void *)buf);
		if (ret)
			return ret;
	}
	pass = job->run.own;
	if (count < n || !pass || off != pass->given ||
	    count - n > pass->covered->bytes + header - n - off)
		return fb_job_refuse(job, -EINVAL,
				     "coverage: %zu bytes at %lld: write it in order, from the start, the header in one piece",
				     count, off);
	memcpy((u8 *)pass->covered->map + off + n - header, buf + n, count - n);
	pass->given = off + count;
	return 0;
}

/**
 * fb_scrub_write() - write back a piece of a saved file "coverage"
 * @slot: the disk's scrub
 * @disk: the disk's present name
 * @id: its unique id; "name.<name>" if it has none
 * @buf: the piece
 * @off: its offset; a piece at 0, with at least the header, replaces the present coverage
 * @count: its length
 *
 * Context: may sleep; does no I/O.
 *
 * Return: @count; or an error of Documentation/ABI, with the reason in the log.
 */
ssize_t fb_scrub_write(struct fb_job **slot, const char *disk, const char *id, const char *buf,
		       loff_t off, size_t count)
{
	unsigned int noio = memalloc_noio_save();
	struct fb_job *job = fb_job_open(slot, &fb_scrub_kind, disk);
	int ret = -ENOMEM;

	if (job) {
		ret = fb_scrub_take(job, id, buf, off, count);
		mutex_unlock(&job->lock);
	}
	memalloc_noio_restore(noio);
	return ret ? ret : count;
}
