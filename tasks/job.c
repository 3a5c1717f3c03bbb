// SPDX-License-Identifier: GPL-2.0
/*
 * Jobs: the commands, reports and life cycle that scan and scrub share; see tasks/job.h.
 *
 * Calls: the interface of include/freeblock.h (tasks/task.c).
 * Locks: fb_job.lock; the table is in Documentation/design.rst.
 */
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "disk/disk.h"
#include "tasks/job.h"
#include "tasks/task.h"

/* default segment of the staggered order, as for idle reads (Practical Scrubbing, V.C) */
#define FB_JOB_SEGMENT_KIB 1024

/* ---- callbacks ---- */

static void fb_job_block(struct freeblock_task *task, const struct freeblock_block *block)
{
	struct fb_job *job = freeblock_task_ctx(task);
	struct fb_job_run *run = &job->run;

	if (block->status == BLK_STS_OK) {
		if (job->kind->good)
			job->kind->good(job, block->lbn, block->sectors, block->data);
	} else if (block->status == BLK_STS_MEDIUM) {
		if (run->nbad < FB_JOB_BAD)
			run->bad[run->nbad] = block->lbn;
		run->nbad++;
	} else {
		run->skipped++;
	}
}

static void fb_job_ended(struct freeblock_task *task, enum freeblock_end why)
{
	struct fb_job *job = freeblock_task_ctx(task);

	if (why == FREEBLOCK_FINISHED && job->kind->finished)
		job->kind->finished(job);
	job->run.why = why;
	WRITE_ONCE(job->run.end_ns, ktime_get_ns());
	queue_work(system_unbound_wq, &job->reap);
}

/* ---- life cycle ---- */

static void fb_job_reap(struct work_struct *work)
{
	struct fb_job *job = container_of(work, struct fb_job, reap);
	struct freeblock_task *task;

	mutex_lock(&job->lock);
	task = job->task;
	if (task)
		freeblock_task_progress(task, &job->progress);
	job->task = NULL;
	mutex_unlock(&job->lock);
	if (!task)
		return;
	freeblock_task_destroy(task);
	mutex_lock(&job->lock);
	job->active = false;
	mutex_unlock(&job->lock);
}

/**
 * fb_job_open() - get a disk's job and lock it, creating it if needed
 * @slot: the disk's slot
 * @kind: kind of the job
 * @disk: the disk's present name
 *
 * Context: may sleep; inside memalloc_noio_save() because a queue may be frozen.
 *
 * Return: the job, locked; NULL if there is no memory.
 */
struct fb_job *fb_job_open(struct fb_job **slot, const struct fb_job_kind *kind,
			   const char *disk)
{
	struct fb_job *job = READ_ONCE(*slot), *other;

	if (!job) {
		job = kzalloc(sizeof(*job), GFP_KERNEL);
		if (!job)
			return NULL;
		job->kind = kind;
		job->ops = (struct freeblock_ops) {
			.flags = kind->flags,
			.block = fb_job_block,
			.ended = fb_job_ended,
		};
		mutex_init(&job->lock);
		INIT_WORK(&job->reap, fb_job_reap);
		other = cmpxchg(slot, NULL, job);
		if (other) {
			kfree(job);
			job = other;
		}
	}
	mutex_lock(&job->lock);
	strscpy(job->disk, disk, sizeof(job->disk));
	return job;
}

/**
 * fb_job_end() - stop a job, wait for its end, and free it
 * @slot: the disk's slot; NULL afterwards
 *
 * Context: may sleep; no more commands or readers can arrive.
 */
void fb_job_end(struct fb_job **slot)
{
	struct fb_job *job = *slot;

	if (!job)
		return;
	fb_job_reap(&job->reap);
	cancel_work_sync(&job->reap);
	job->kind->free(job->run.own);
	kfree(job);
	*slot = NULL;
}

/* ---- commands ---- */

/* a parsed "start" command; 0: not given */
struct fb_job_words {
	int n;
	u64 range[2];
	enum freeblock_order order;
	u32 regions;
	u32 segment_kib;
	bool own;
};

static int fb_job_number(const struct fb_job *job, const char *word, const char *what, u32 *value)
{
	if (kstrtou32(strchr(word, '=') + 1, 10, value) || !*value || *value > U32_MAX / 2)
		return fb_job_refuse(job, -EINVAL, "'%s': %s is a number from 1 on", word, what);
	return 0;
}

static int fb_job_parse_word(const struct fb_job *job, const char *word, struct fb_job_words *w)
{
	if (!strncmp(word, "segment=", 8))
		return fb_job_number(job, word, "KIB", &w->segment_kib);
	if (!strncmp(word, "staggered=", 10)) {
		w->order = FREEBLOCK_STAGGERED;
		return fb_job_number(job, word, "REGIONS", &w->regions);
	}
	if (!strcmp(word, "near"))
		w->order = FREEBLOCK_NEAR;
	else if (!strcmp(word, "sequential"))
		w->order = FREEBLOCK_SEQUENTIAL;
	else if (!w->own && !strcmp(word, job->kind->word))
		w->own = true;
	else if (w->n < 2 && !kstrtou64(word, 10, &w->range[w->n]))
		w->n++;
	else
		return fb_job_refuse(job, -EINVAL,
				     "'%s' is none of FIRST COUNT, sequential, staggered=REGIONS, near, segment=KIB, %s",
				     word, job->kind->word);
	return 0;
}

static int fb_job_set_order(struct fb_job *job, const struct fb_job_words *w)
{
	u32 granule_kib = job->run.granule / 2, kib = w->segment_kib;
	char *text = job->run.order;
	int ret;

	if (kib && w->order != FREEBLOCK_STAGGERED)
		return fb_job_refuse(job, -EINVAL, "segment=%u is for staggered=REGIONS", kib);
	if (w->order == FREEBLOCK_STAGGERED) {
		kib = kib ?: max_t(u32, FB_JOB_SEGMENT_KIB, granule_kib);
		snprintf(text, sizeof(job->run.order), "staggered=%u segment=%u", w->regions, kib);
	} else {
		strcpy(text, w->order == FREEBLOCK_NEAR ? "near" : "sequential");
	}
	ret = freeblock_task_order(job->task, w->order, w->regions, kib * 2);
	if (ret)
		return fb_job_refuse(job, ret,
				     "%s: more regions than blocks, or a segment that is not whole blocks of %u KiB",
				     text, granule_kib);
	return 0;
}

static int fb_job_refuse_range(const struct fb_job *job)
{
	const struct fb_job_run *run = &job->run;

	return fb_job_refuse(job, -EINVAL,
			     "sectors %llu+%llu: not whole blocks of %u sectors, of which the disk has %llu",
			     run->first, run->count, run->granule,
			     freeblock_task_sectors(job->task));
}

static int fb_job_add(struct fb_job *job)
{
	struct fb_job_run *run = &job->run;
	s64 left = freeblock_task_add_uncovered(job->task, run->first, run->count);

	if (left == -EINVAL)
		return fb_job_refuse_range(job);
	if (!left)
		return fb_job_refuse(job, -EINVAL, "%s: all of it has been verified: start without",
				     job->kind->word);
	run->before = run->total - left;
	return min_t(s64, left, 0);
}

/* set fb_job.task and fb_job.run; the caller, whose frame is full, undoes it on failure */
static noinline_for_stack int fb_job_begin(struct fb_job *job, const struct fb_job_words *w)
{
	struct fb_job_run *run = &job->run;
	struct freeblock_progress progress;
	struct freeblock_task *task;
	int ret;

	task = fb_task_create(fb_disk_get_named(job->disk), job->kind->name, &job->ops, job);
	if (IS_ERR(task))
		return fb_job_refuse(job, PTR_ERR(task), "%s", PTR_ERR(task) == -ENODATA ?
				     "the disk has no model" : "too many tasks, or no memory");
	job->task = task;
	freeblock_task_progress(task, &progress);
	*run = (struct fb_job_run) {
		.first = w->range[0],
		.count = w->n ? w->range[1] : freeblock_task_sectors(task),
		.granule = progress.granule_sectors,
		.own = run->own,
		.start_ns = ktime_get_ns(),
	};
	/* checked early: prepare() allocates memory in proportion to the range */
	if (run->count > freeblock_task_sectors(task))
		return fb_job_refuse_range(job);
	run->total = DIV_ROUND_UP_ULL(run->count, run->granule);
	ret = fb_job_set_order(job, w);
	if (!ret)
		ret = job->kind->prepare(job, w->own);
	if (!ret)
		ret = fb_job_add(job);
	return ret ? ret : freeblock_task_start(task);
}

/* on failure the previous run is left unchanged */
static int fb_job_start(struct fb_job *job, char *text)
{
	struct fb_job_words w = { .order = job->kind->order };
	struct fb_job_run before = job->run;
	void *drop = before.own;
	char *word;
	int ret = 0;

	while (!ret && (word = strsep(&text, " ")))
		ret = fb_job_parse_word(job, word, &w);
	if (ret)
		return ret;
	if (w.n == 1 || (w.n && !w.range[1]))
		return fb_job_refuse(job, -EINVAL, "FIRST needs a COUNT behind it, not 0");
	if (job->active)
		return fb_job_refuse(job, -EBUSY, "it is running: stop it first");
	ret = fb_job_begin(job, &w);
	if (ret) {
		drop = job->run.own;
		job->run = before;
		if (job->task)
			freeblock_task_destroy(job->task);
		job->task = NULL;
	}
	job->active = !ret;
	if (drop != job->run.own)
		job->kind->free(drop);
	return ret;
}

static int fb_job_command(struct fb_job *job, char *text)
{
	char *word = strsep(&text, " ");
	int ret = 0;

	if (!strcmp(word, "start"))
		return fb_job_start(job, text);
	if (text || (strcmp(word, "pause") && strcmp(word, "resume") && strcmp(word, "stop")))
		return fb_job_refuse(job, -EINVAL,
				     "'%s%s%s' is none of start ..., pause, resume, stop", word,
				     text ? " " : "", text ? text : "");
	if (!job->task)
		return fb_job_refuse(job, -EALREADY, "'%s': it is not running", word);
	if (word[0] == 's')
		freeblock_task_stop(job->task);
	else if (word[0] == 'p')
		ret = freeblock_task_pause(job->task);
	else
		ret = freeblock_task_resume(job->task);
	if (ret)
		fb_job_refuse(job, ret, "'%s': it is %s", word,
			      ret == -EALREADY ? "so already" : "stopping");
	return ret;
}

/**
 * fb_job_store() - execute a command written to a job's file
 * @slot: the disk's slot
 * @kind: kind of the job
 * @disk: the disk's present name
 * @text: a command of Documentation/ABI; a trailing newline is allowed
 * @count: its length
 *
 * Context: may sleep; does no I/O. It does not wait for the job: its file shows the state.
 *
 * Return: @count; or an error of Documentation/ABI, and nothing has changed.
 */
ssize_t fb_job_store(struct fb_job **slot, const struct fb_job_kind *kind, const char *disk,
		     const char *text, size_t count)
{
	unsigned int noio = memalloc_noio_save();
	char *copy = kstrdup(text, GFP_KERNEL);
	struct fb_job *job = copy ? fb_job_open(slot, kind, disk) : NULL;
	int ret = -ENOMEM;

	if (job) {
		ret = fb_job_command(job, strim(copy));
		mutex_unlock(&job->lock);
	}
	kfree(copy);
	memalloc_noio_restore(noio);
	return ret ? ret : count;
}

/* ---- reports ---- */

static const char *fb_job_state(const struct fb_job *job)
{
	if (!job->active)
		return job->run.why == FREEBLOCK_FINISHED ? "finished" : "stopped";
	if (job->progress.stopping || READ_ONCE(job->run.end_ns))
		return "stopping";
	return job->progress.paused ? "paused" : "running";
}

static ssize_t fb_job_report(const struct fb_job *job, char *page)
{
	const struct freeblock_progress *p = &job->progress;
	const struct fb_job_run *run = &job->run;
	u64 end_ns = READ_ONCE(run->end_ns) ?: ktime_get_ns(), good = p->done - p->failed;
	u64 ms = max(div_u64(end_ns - run->start_ns, NSEC_PER_MSEC), 1ULL);
	ssize_t len;

	if (!run->total)
		return sysfs_emit(page, "state idle\n");
	len = sysfs_emit(page,
			 "state %s\norder %s\nfirst %llu\nsectors %llu\nblock_sectors %u\nblocks_total %llu\nblocks_verified %llu\nblocks_before %llu\nblocks_delivered %llu\nblocks_flying %llu\nblocks_bad %llu\nblocks_skipped %llu\nrate_kib_s %llu\n",
			 fb_job_state(job), run->order, run->first, run->count, run->granule,
			 run->total, run->before + good, run->before, p->done, p->flying,
			 run->nbad, run->skipped,
			 div64_u64(good * run->granule * MSEC_PER_SEC, 2 * ms));
	return job->kind->show(job, page, len);
}

/**
 * fb_job_show() - report on a job
 * @slot: the disk's slot
 * @page: page to write to
 * @brief: only one line: blocks delivered, blocks in total
 *
 * Context: may sleep.
 *
 * Return: bytes written.
 */
ssize_t fb_job_show(struct fb_job **slot, char *page, bool brief)
{
	struct fb_job *job = READ_ONCE(*slot);
	ssize_t len;

	if (!job)
		return sysfs_emit(page, brief ? "0 0\n" : "state idle\n");
	mutex_lock(&job->lock);
	if (job->task)
		freeblock_task_progress(job->task, &job->progress);
	if (brief)
		len = sysfs_emit(page, "%llu %llu\n", job->progress.done, job->run.total);
	else
		len = fb_job_report(job, page);
	mutex_unlock(&job->lock);
	return len;
}
