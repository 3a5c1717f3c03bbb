// SPDX-License-Identifier: GPL-2.0
/*
 * Jobs: scan and scrub. The scan reads a disk or a range once and counts the blocks. The scrub has
 * every block read from the medium; its coverage, the file "coverage", outlives the task, and can
 * be written back. Locks: fb_job.lock.
 */
#include <linux/blkdev.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "disk/disk.h"
#include "include/compat/fb_compat.h"
#include "include/freeblock.h"
#include "tasks/coverage_file.h"
#include "tasks/tasks.h"

#define FB_JOB_BAD 64		/* bad blocks listed at most; all are counted */

/* default segment of the staggered order, as for idle reads (Practical Scrubbing, V.C) */
#define FB_JOB_SEGMENT_KIB 1024

/* a scrub's pass over the disk, in one or several runs */
struct fb_job_pass {
	struct freeblock_coverage *covered;	/* NULL: no pass has begun */
	u64 began;		/* seconds since 1970; 0: unknown */
	u32 passes;		/* passes completed before this one */
	struct fb_coverage_file file;	/* as it is written back */
};

/* One run. The callbacks, without the lock, write end_ns and what is behind it. */
struct fb_job_run {
	u32 numbers;		/* how many of first and count were given */
	u64 first;		/* range, in sectors */
	u64 count;
	enum freeblock_order order;
	u32 regions;		/* of the order, 0: none */
	u32 segment_kib;	/* likewise */
	bool resume;		/* the present pass is continued */
	u64 total;		/* blocks of the range ... */
	u64 before;		/* ... and those of them already covered by earlier runs */
	u64 deadline;		/* seconds since 1970; 0: none */
	struct freeblock_progress progress;	/* as last queried */
	u64 start_ns;
	u64 end_ns;		/* 0: it has not ended */
	enum freeblock_end why;
	u64 nbad;		/* unreadable blocks */
	u64 bad[FB_JOB_BAD];	/* first sectors of the first FB_JOB_BAD of them */
	u64 skipped;		/* blocks not tried, just behind a bad one */
	u64 unverified;		/* blocks read, but perhaps from the drive's cache */
};

/*
 * The runs of a kind on a disk. The lock serialises commands and readers; it is neither taken in a
 * callback nor held while a task that ran is destroyed: that waits for the disk.
 */
struct fb_job {
	enum fb_job_kind kind;
	struct mutex lock;
	struct fb_disk *disk;
	char name[FB_NAME_LEN];		/* the disk's, at the last command */
	struct gendisk *gendisk;	/* during a command; NULL: the disk is gone */
	struct freeblock_task *task;
	bool active;		/* there is a task, or it is being destroyed */
	struct work_struct reap;
	struct fb_job_run *run;	/* the present or the last one; NULL before the first */
	struct fb_job_pass pass;
	/* who has begun to write a map; only compared: two would mix theirs */
	const struct file *writer;
};

static const char * const fb_job_names[FB_JOB_KINDS] = {
	[FB_JOB_SCAN] = "scan",
	[FB_JOB_SCRUB] = "scrub",
};

/* log why a command is refused */
#define fb_job_refuse(job, ret, fmt, ...) ({						\
	const struct fb_job *_job = (job);						\
											\
	pr_err("freeblock: %s: %s: " fmt "\n", _job->name, fb_job_names[_job->kind],	\
	       ##__VA_ARGS__);								\
	ret;										\
})

static const char *const fb_job_orders[] = {
	[FREEBLOCK_ORDER_NEAR] = "near",
	[FREEBLOCK_ORDER_SEQUENTIAL] = "sequential",
	[FREEBLOCK_ORDER_STAGGERED] = "staggered",
};

/* ---- callbacks ---- */

static void fb_job_block(struct freeblock_task *task, const struct freeblock_block *block)
{
	struct fb_job *job = freeblock_task_ctx(task);
	struct fb_job_run *run = job->run;

	if (block->status == BLK_STS_MEDIUM) {
		if (run->nbad < FB_JOB_BAD)
			run->bad[run->nbad] = block->lbn;
		/* whoever sees the count sees the sector: pairs with fb_job_describe() */
		smp_store_release(&run->nbad, run->nbad + 1);
	} else if (block->status == BLK_STS_NOTSUPP) {
		WRITE_ONCE(run->unverified, run->unverified + 1);
	} else if (block->status != BLK_STS_OK) {
		WRITE_ONCE(run->skipped, run->skipped + 1);
	}
}

static void fb_job_ended(struct freeblock_task *task, enum freeblock_end why)
{
	struct fb_job *job = freeblock_task_ctx(task);

	if (why == FREEBLOCK_FINISHED)
		WRITE_ONCE(job->pass.passes, job->pass.passes + 1);
	job->run->why = why;
	WRITE_ONCE(job->run->end_ns, ktime_get_ns());
	queue_work(fb_compat_unbound_wq(), &job->reap);
}

static const struct freeblock_ops fb_job_ops[FB_JOB_KINDS] = {
	[FB_JOB_SCAN] = { .block = fb_job_block, .ended = fb_job_ended },
	[FB_JOB_SCRUB] = {
		.flags = FREEBLOCK_MEDIUM | FREEBLOCK_NO_DATA,
		.block = fb_job_block,
		.ended = fb_job_ended,
	},
};

/* ---- life cycle ---- */

static void fb_job_reap(struct work_struct *work)
{
	struct fb_job *job = container_of(work, struct fb_job, reap);
	struct freeblock_task *task;

	scoped_guard(mutex, &job->lock) {
		task = job->task;
		if (task)
			freeblock_task_progress(task, &job->run->progress);
		job->task = NULL;
	}
	if (!task)
		return;
	freeblock_task_destroy(task);
	guard(mutex)(&job->lock);
	job->active = false;
}

static struct fb_job *fb_job_open(struct fb_disk *disk, enum fb_job_kind kind)
{
	struct fb_job *job = READ_ONCE(disk->job[kind]), *other;
	struct gendisk *gendisk;

	if (!job) {
		/* a queue may be frozen */
		job = kzalloc(sizeof(*job), GFP_NOIO);
		if (!job)
			return NULL;
		job->kind = kind;
		job->disk = disk;
		mutex_init(&job->lock);
		INIT_WORK(&job->reap, fb_job_reap);
		other = cmpxchg(&disk->job[kind], NULL, job);
		if (other) {
			kfree(job);
			job = other;
		}
	}
	gendisk = fb_disk_gendisk(disk);
	mutex_lock(&job->lock);
	fb_disk_copy_name(disk, job->name, sizeof(job->name));
	job->gendisk = gendisk;
	return job;
}

static void fb_job_close(struct fb_job *job)
{
	struct gendisk *gendisk = job->gendisk;

	job->gendisk = NULL;
	mutex_unlock(&job->lock);
	put_disk(gendisk);
}

/* Stop a disk's jobs and free them. May sleep; no more commands or readers can arrive. */
void fb_job_end_all(struct fb_disk *disk)
{
	struct fb_job *job;
	u32 i;

	for (i = 0; i < FB_JOB_KINDS; i++) {
		job = disk->job[i];
		if (!job)
			continue;
		fb_job_reap(&job->reap);
		cancel_work_sync(&job->reap);
		freeblock_coverage_destroy(job->pass.covered);
		kfree(job->run);
		kfree(job);
		disk->job[i] = NULL;
	}
}

/* ---- commands ---- */

static int fb_job_parse_word(const struct fb_job *job, const char *word, struct fb_job_run *run)
{
	u32 *number = !strncmp(word, "segment=", 8) ? &run->segment_kib :
		      !strncmp(word, "staggered=", 10) ? &run->regions : NULL;

	if (number && (kstrtou32(strchr(word, '=') + 1, 10, number) || !*number ||
		       *number > U32_MAX / 2))
		return fb_job_refuse(job, -EINVAL, "'%s': %s must be a number, at least 1", word,
				     number == &run->regions ? "REGIONS" : "KIB");
	if (number == &run->regions)
		run->order = FREEBLOCK_ORDER_STAGGERED;
	else if (!strcmp(word, "near"))
		run->order = FREEBLOCK_ORDER_NEAR;
	else if (!strcmp(word, "sequential"))
		run->order = FREEBLOCK_ORDER_SEQUENTIAL;
	else if (job->kind == FB_JOB_SCRUB && !strcmp(word, "resume-coverage"))
		run->resume = true;
	else if (!number && (run->numbers == 2 ||
			     kstrtou64(word, 10, run->numbers++ ? &run->count : &run->first)))
		return fb_job_refuse(job, -EINVAL,
				     "'%s' is none of FIRST COUNT, sequential, staggered=REGIONS, near, segment=KIB%s",
				     word, job->kind == FB_JOB_SCRUB ? ", resume-coverage" : "");
	return 0;
}

static int fb_job_parse(const struct fb_job *job, char *text, struct fb_job_run *run)
{
	char *word;
	int ret = 0;

	run->order = FREEBLOCK_ORDER_NEAR;
	while (!ret && (word = strsep(&text, " ")))
		ret = fb_job_parse_word(job, word, run);
	if (!ret && (run->numbers == 1 || (run->numbers && !run->count)))
		return fb_job_refuse(job, -EINVAL,
				     "FIRST must be followed by COUNT, which must not be 0");
	return ret;
}

static int fb_job_set_order(struct fb_job *job)
{
	u32 block_kib = job->run->progress.granule_sectors / 2;
	struct fb_job_run *run = job->run;
	int ret;

	if ((run->regions || run->segment_kib) && run->order != FREEBLOCK_ORDER_STAGGERED)
		return fb_job_refuse(job, -EINVAL,
				     "regions and segments are only for staggered=REGIONS, not for %s",
				     fb_job_orders[run->order]);
	if (!run->segment_kib && run->order == FREEBLOCK_ORDER_STAGGERED)
		run->segment_kib = max_t(u32, FB_JOB_SEGMENT_KIB, block_kib);
	ret = freeblock_task_order(job->task, run->order, run->regions, run->segment_kib * 2);
	if (ret)
		fb_job_refuse(job, ret,
			      "staggered=%u segment=%u: there are more regions than blocks, or the segment is not whole blocks of %u KiB",
			      run->regions, run->segment_kib, block_kib);
	return ret;
}

static int fb_job_refuse_disk(const struct fb_job *job, int ret, const char *else_why)
{
	return fb_job_refuse(job, ret, "%s", ret == -ENODEV ? "the disk is gone" : else_why);
}

/* begin an empty pass; it is the caller who frees the coverage of the previous one */
static int fb_job_begin_pass(struct fb_job *job, u64 began, u32 passes)
{
	struct freeblock_coverage *covered = job->gendisk ?
		freeblock_coverage_create(job->gendisk) : ERR_PTR(-ENODEV);

	if (IS_ERR(covered))
		return fb_job_refuse_disk(job, PTR_ERR(covered), "there is no memory for a map");
	job->pass = (struct fb_job_pass){ covered, began, passes };
	return 0;
}

static int fb_job_prepare(struct fb_job *job)
{
	int ret;

	if (job->run->resume && job->pass.covered &&
	    !freeblock_task_set_coverage(job->task, job->pass.covered)) {
		/* what is still to come of an upload must not overwrite what this run verifies */
		job->pass.file.given = 0;
		return 0;
	}
	ret = fb_job_begin_pass(job, ktime_get_real_seconds(), job->pass.passes);
	return ret ? ret : freeblock_task_set_coverage(job->task, job->pass.covered);
}

/* create and start a task for fb_job.run; the caller undoes it on failure */
static int fb_job_begin(struct fb_job *job)
{
	struct fb_job_run *run = job->run;
	struct freeblock_task *task;
	s64 left;
	int ret;

	task = job->gendisk ?
	       freeblock_task_create(job->gendisk, fb_job_names[job->kind], &fb_job_ops[job->kind],
				     job) : ERR_PTR(-ENODEV);
	if (IS_ERR(task))
		return fb_job_refuse_disk(job, PTR_ERR(task),
					  "there are too many tasks, or there is no memory");
	job->task = task;
	freeblock_task_progress(task, &run->progress);
	if (!run->numbers)
		run->count = freeblock_task_sectors(task);
	run->total = DIV_ROUND_UP_ULL(run->count, run->progress.granule_sectors);
	run->start_ns = ktime_get_ns();
	ret = fb_job_set_order(job);
	if (!ret && job->kind == FB_JOB_SCRUB)
		ret = fb_job_prepare(job);
	if (ret)
		return ret;
	left = freeblock_task_add_uncovered(task, run->first, run->count);
	if (left == -EINVAL)
		return fb_job_refuse(job, -EINVAL,
				     "sectors %llu+%llu are not whole blocks of %u sectors of the disk, which has %llu",
				     run->first, run->count, run->progress.granule_sectors,
				     freeblock_task_sectors(task));
	if (!left)
		return fb_job_refuse(job, -EINVAL,
				     "resume-coverage: all of it has already been verified, start without it");
	run->before = run->total - left;
	return left < 0 ? left : freeblock_task_start(task);
}

/* on failure the previous run and pass are left unchanged */
static int fb_job_start(struct fb_job *job, char *text)
{
	struct fb_job_run *run = kzalloc(sizeof(*run), GFP_KERNEL);
	struct fb_job_pass pass = job->pass;
	int ret = run ? fb_job_parse(job, text, run) : -ENOMEM;

	if (!ret && job->active)
		ret = fb_job_refuse(job, -EBUSY, "it is running: stop it first");
	if (ret)
		goto out;
	swap(job->run, run);
	ret = fb_job_begin(job);
	job->active = !ret;
	if (ret) {
		swap(job->run, run);
		swap(job->pass, pass);
		if (job->task)
			freeblock_task_destroy(job->task);
		job->task = NULL;
	}
	if (pass.covered != job->pass.covered)
		freeblock_coverage_destroy(pass.covered);
out:
	kfree(run);
	return ret;
}

/* when the run should be over: in so many seconds, however the clock is set; 0: no matter */
static int fb_job_set_deadline(struct fb_job *job, const char *text)
{
	u32 seconds;

	if (!text || kstrtou32(text, 10, &seconds))
		return fb_job_refuse(job, -EINVAL, "'deadline %s': SECONDS must be a number",
				     text ?: "");
	if (!job->task)
		return fb_job_refuse(job, -EALREADY, "'deadline': it is not running");
	job->run->deadline = seconds ? ktime_get_real_seconds() + seconds : 0;
	freeblock_task_set_deadline(job->task, seconds ? ktime_get_ns() +
				    (u64)seconds * NSEC_PER_SEC : 0);
	return 0;
}

static int fb_job_command(struct fb_job *job, char *text)
{
	char *word = strsep(&text, " ");
	bool pause = !strcmp(word, "pause"), stop = !strcmp(word, "stop");
	int ret = 0;

	if (!strcmp(word, "start"))
		return fb_job_start(job, text);
	if (!strcmp(word, "deadline"))
		return fb_job_set_deadline(job, text);
	if (text || (!pause && !stop && strcmp(word, "resume")))
		return fb_job_refuse(job, -EINVAL,
				     "'%s%s%s' is none of start ..., deadline SECONDS, pause, resume, stop",
				     word, text ? " " : "", text ? text : "");
	if (!job->task)
		return fb_job_refuse(job, -EALREADY, "'%s': it is not running", word);
	if (stop)
		freeblock_task_stop(job->task);
	else
		ret = pause ? freeblock_task_pause(job->task) : freeblock_task_resume(job->task);
	if (ret)
		fb_job_refuse(job, ret, "'%s': it is %s", word, ret != -EALREADY ? "stopping" :
			      pause ? "already paused" : "already running");
	return ret;
}

/*
 * Execute a command of Documentation/ABI. May sleep; does no I/O, nor waits for the job. Return:
 * @count; or an error, and nothing has changed.
 */
ssize_t fb_job_store(struct fb_disk *disk, enum fb_job_kind kind, const char *text, size_t count)
{
	char *copy = kstrdup(text, GFP_NOIO);
	struct fb_job *job = copy ? fb_job_open(disk, kind) : NULL;
	int ret = -ENOMEM;

	guard(fb_noio)(current);
	if (job) {
		ret = fb_job_command(job, strim(copy));
		fb_job_close(job);
	}
	kfree(copy);
	return ret ? ret : count;
}

/* ---- reports ---- */

static const char *fb_job_state(const struct fb_job *job)
{
	if (!job->active)
		return job->run->why == FREEBLOCK_FINISHED ? "finished" : "stopped";
	if (job->run->progress.stopping || READ_ONCE(job->run->end_ns))
		return "stopping";
	return job->run->progress.paused ? "paused" : "running";
}

/* get a job, locked, its run's progress up to date; NULL: there was no run */
static struct fb_job *fb_job_look(struct fb_disk *disk, enum fb_job_kind kind)
{
	struct fb_job *job = READ_ONCE(disk->job[kind]);

	if (!job)
		return NULL;
	mutex_lock(&job->lock);
	if (job->task)
		freeblock_task_progress(job->task, &job->run->progress);
	if (job->run)
		return job;
	mutex_unlock(&job->lock);
	return NULL;
}

/* The state, as a word. Return: bytes written. May sleep. */
ssize_t fb_job_show(struct fb_disk *disk, enum fb_job_kind kind, char *page)
{
	struct fb_job *job = fb_job_look(disk, kind);
	ssize_t len = sysfs_emit(page, "%s\n", job ? fb_job_state(job) : "idle");

	if (job)
		mutex_unlock(&job->lock);
	return len;
}

static void fb_job_describe_run(const struct fb_job *job, struct seq_file *m)
{
	const char *name = fb_job_names[job->kind];
	const struct fb_job_run *run = job->run;
	const struct freeblock_progress *p = &run->progress;
	u64 end_ns = READ_ONCE(run->end_ns) ?: ktime_get_ns(), good = p->done - p->failed;
	u64 ms = max(div_u64(end_ns - run->start_ns, NSEC_PER_MSEC), 1ULL);
	const struct {
		const char *key;
		u64 value;
	} lines[] = {
		{ "regions", run->regions },
		{ "segment_kib", run->segment_kib },
		{ "first", run->first },
		{ "sectors", run->count },
		{ "block_sectors", p->granule_sectors },
		{ "blocks_total", run->total - p->unwritten },
		{ "blocks_verified", run->before + good },
		{ "blocks_before", run->before },
		{ "blocks_delivered", p->done },
		{ "blocks_flying", p->flying },
		{ "blocks_bad", READ_ONCE(run->nbad) },
		{ "blocks_skipped", READ_ONCE(run->skipped) },
		{ "blocks_unverified", READ_ONCE(run->unverified) },
		{ "rate_kib_s", div64_u64(good * p->granule_sectors * MSEC_PER_SEC, 2 * ms) },
		{ "deadline", run->deadline },
		/* only of those that keep a coverage */
		{ "began", job->pass.began },
		{ "passes", READ_ONCE(job->pass.passes) },
	};
	u32 i, n = ARRAY_SIZE(lines) - (job->kind == FB_JOB_SCRUB ? 0 : 2);

	seq_printf(m, "%s_stats/order %s\n", name, fb_job_orders[run->order]);
	for (i = 0; i < n; i++)
		seq_printf(m, "%s_stats/%s %llu\n", name, lines[i].key, lines[i].value);
	seq_printf(m, "%s_stats/bad", name);
	/* pairs with smp_store_release() in fb_job_block() */
	n = min_t(u64, smp_load_acquire(&run->nbad), FB_JOB_BAD);
	for (i = 0; i < n; i++)
		seq_printf(m, " %llu", run->bad[i]);
	seq_putc(m, '\n');
}

/* Lines "<name>_stats/key value" of the present or the last runs; none before. May sleep. */
void fb_job_describe(struct fb_disk *disk, struct seq_file *m)
{
	struct fb_job *job;
	u32 i;

	for (i = 0; i < FB_JOB_KINDS; i++) {
		job = fb_job_look(disk, i);
		if (!job)
			continue;
		fb_job_describe_run(job, m);
		mutex_unlock(&job->lock);
	}
}

/* ---- the file "coverage" ---- */

static struct fb_coverage_file_header fb_job_header(const struct fb_job *job)
{
	const char *id = job->disk->id;
	const struct fb_job_pass *pass = &job->pass;
	struct fb_coverage_file_header h = {
		.magic = "fbcover",
		.version = cpu_to_le32(1),
		.granule = cpu_to_le32(pass->covered->granule_sectors),
		.blocks = cpu_to_le64(pass->covered->blocks),
		.began = cpu_to_le64(pass->began),
		.passes = cpu_to_le32(READ_ONCE(pass->passes)),
	};

	snprintf(h.id, sizeof(h.id), "%s%s", id[0] ? "" : "name.", id[0] ? id : job->name);
	return h;
}

/* Read a piece of the file "coverage"; -ENODATA if there was no scrub and nothing written back. */
ssize_t fb_job_read_coverage(struct fb_disk *disk, char *buf, loff_t off, size_t count)
{
	struct fb_job *job = READ_ONCE(disk->job[FB_JOB_SCRUB]);
	const struct freeblock_coverage *covered;
	struct fb_coverage_file_header h;

	if (!job)
		return -ENODATA;
	guard(mutex)(&job->lock);
	covered = job->pass.covered;
	if (!covered)
		return -ENODATA;
	if (off < sizeof(h)) {
		h = fb_job_header(job);
		return memory_read_from_buffer(buf, count, &off, &h, sizeof(h));
	}
	off -= sizeof(h);
	/* bits may be set meanwhile: those that are there are true */
	return data_race(memory_read_from_buffer(buf, count, &off, covered->map, covered->bytes));
}

/* begin an empty pass from the header in the piece at offset 0, which must be this disk's */
static int fb_job_restore(struct fb_job *job, const char *buf, size_t count)
{
	struct fb_job_pass before = job->pass, *pass = &job->pass;
	struct fb_coverage_file *file = &pass->file;
	char why[FB_COVERAGE_FILE_WHY];
	int ret = fb_job_begin_pass(job, 0, 0);

	if (ret)
		return ret;
	file->header = fb_job_header(job);
	file->map = pass->covered->map;
	file->bytes = pass->covered->bytes;
	ret = fb_coverage_file_begin(file, buf, count, why);
	if (ret) {
		fb_job_refuse(job, ret, "coverage: %s", why);
		swap(job->pass, before);
	} else {
		pass->began = le64_to_cpu(file->header.began);
		pass->passes = le32_to_cpu(file->header.passes);
	}
	freeblock_coverage_destroy(before.covered);
	return ret;
}

/* the piece is taken as a whole or not at all */
static int fb_job_take_piece(struct fb_job *job, const struct file *writer, const char *buf,
			     loff_t off, size_t count)
{
	char why[FB_COVERAGE_FILE_WHY];
	int ret = 0;

	if (job->active)
		return fb_job_refuse(job, -EBUSY, "coverage: it is running: stop it first");
	if (!off)
		ret = fb_job_restore(job, buf, count);
	else if (job->writer != writer)
		ret = fb_job_refuse(job, -EINVAL,
				    "coverage: this open file did not begin it: write from byte 0");
	if (ret)
		return ret;
	job->writer = writer;
	ret = fb_coverage_file_take(&job->pass.file, off, buf, count, why);
	return ret ? fb_job_refuse(job, ret, "coverage: %s", why) : 0;
}

/* Write back a piece of a saved file "coverage". May sleep; does no I/O. */
ssize_t fb_job_write_coverage(struct fb_disk *disk, const struct file *file, const char *buf,
			      loff_t off, size_t count)
{
	struct fb_job *job = fb_job_open(disk, FB_JOB_SCRUB);
	int ret;

	guard(fb_noio)(current);
	if (!job)
		return -ENOMEM;
	ret = fb_job_take_piece(job, file, buf, off, count);
	fb_job_close(job);
	return ret ? ret : count;
}
