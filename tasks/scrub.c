// SPDX-License-Identifier: GPL-2.0
/*
 * The scrubber (Practical Scrubbing): a job that has every block read from the medium and
 * looks at no data. Which blocks were good in a pass is its task's coverage, which outlives
 * the task, can be read as the file "coverage" at any time, and be given back for a later
 * scrub to go on from.
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

#include "tasks/job.h"

#define FB_SCRUB_MAGIC "fbcover"
#define FB_SCRUB_VERSION 1

/* the file "coverage" begins with this, little-endian; the map follows, a bit for a block */
struct fb_scrub_header {
	char magic[8];
	__le32 version;
	__le32 granule;		/* sectors of a block */
	__le64 blocks;		/* of the disk */
	__le64 began;		/* this pass, seconds since 1970; 0: not known */
	__le32 passes;		/* that came to their end before this one */
	__le32 reserved;
	char id[88];		/* of the disk, filled up with zeros */
};

/* fb_job_run.own: a pass over the disk, in one or several runs */
struct fb_scrub_pass {
	struct freeblock_coverage *covered;
	u64 began;
	u32 passes;
	size_t given;		/* bytes of the file that were given back so far */
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
	covered = freeblock_coverage_create(job->disk);
	if (IS_ERR(covered)) {
		kfree(pass);
		return fb_job_refuse(job, ERR_CAST(covered), "no model, or no memory for a map");
	}
	pass->covered = covered;
	pass->began = began;
	pass->passes = passes;
	return pass;
}

/* go on with a pass that fits the model if told to; else begin one */
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
 * fb_scrub_read() - a piece of the file "coverage"
 * @slot: the disk's scrub
 * @id: the disk's unique id; "name.<name>" if it has none
 * @buf: filled
 * @off: where the piece begins
 * @count: bytes wanted
 *
 * Context: may sleep; takes no memory.
 *
 * Return: bytes; 0: at the end; -ENODATA: there was no scrub yet, and nothing given back.
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

/* a header: begin an empty pass, if it is of this disk */
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
 * fb_scrub_write() - a piece of what was read from the file "coverage" before
 * @slot: the disk's scrub
 * @disk: the disk's present name
 * @id: its unique id; "name.<name>" if it has none
 * @buf: the piece
 * @off: its place; 0, with at least the header, replaces what was covered
 * @count: its length
 *
 * Context: may sleep; does no I/O.
 *
 * Return: @count, or an error of Documentation/ABI, with a line in the log that says why.
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
