// SPDX-License-Identifier: GPL-2.0
/*
 * Jobs: see fb_job.h.
 *
 * Locks: fb_job_mutex, held by all callers but those of fb_job_ended(), fb_job_setup() and
 * fb_job_end(). fb_job.state is changed by compare and exchange where a command and the
 * callback meet.
 */
#include <linux/err.h>
#include <linux/kernel.h>

#include "fb_job.h"

DEFINE_MUTEX(fb_job_mutex);	/* see fb_job.h */
static struct workqueue_struct *fb_job_wq;

static const char * const fb_job_state_names[] = {
	[FB_JOB_IDLE] = "idle",
	[FB_JOB_RUNNING] = "running",
	[FB_JOB_STOPPING] = "stopping",
	[FB_JOB_STOPPED] = "stopped",
	[FB_JOB_FINISHED] = "finished",
};

/**
 * fb_job_init() - the workqueue on which ended jobs are reaped
 *
 * Context: module init.
 *
 * Return: 0 or -ENOMEM.
 */
int fb_job_init(void)
{
	fb_job_wq = alloc_workqueue("freeblock_jobs", WQ_UNBOUND, 0);
	return fb_job_wq ? 0 : -ENOMEM;
}

/**
 * fb_job_exit() - undo fb_job_init()
 *
 * Context: module exit, all jobs ended.
 */
void fb_job_exit(void)
{
	destroy_workqueue(fb_job_wq);
}

static void fb_job_reap(struct fb_job *job)
{
	lockdep_assert_held(&fb_job_mutex);
	if (!job->task)
		return;
	freeblock_task_stop(job->task);
	freeblock_task_progress(job->task, &job->progress);
	freeblock_task_destroy(job->task);
	job->task = NULL;
}

static void fb_job_reap_work(struct work_struct *work)
{
	struct fb_job *job = container_of(work, struct fb_job, reap);

	mutex_lock(&fb_job_mutex);
	fb_job_reap(job);
	mutex_unlock(&fb_job_mutex);
}

/**
 * fb_job_setup() - a job that was never started
 * @job: zeroed memory
 *
 * Context: any.
 */
void fb_job_setup(struct fb_job *job)
{
	INIT_WORK(&job->reap, fb_job_reap_work);
}

/**
 * fb_job_create() - a task for a job, for its ranges to be added
 * @job: the job
 * @disk: see freeblock_task_create()
 * @name: see there
 * @ops: see there; @ops->ended is to call fb_job_ended()
 * @ctx: see there
 *
 * Context: may sleep.
 *
 * Return: 0; -EBUSY (it has one) or what freeblock_task_create() says.
 */
int fb_job_create(struct fb_job *job, const char *disk, const char *name,
		  const struct freeblock_ops *ops, void *ctx)
{
	struct freeblock_task *task;

	lockdep_assert_held(&fb_job_mutex);
	if (job->task)
		return -EBUSY;
	task = freeblock_task_create(disk, name, ops, ctx);
	if (IS_ERR(task))
		return PTR_ERR(task);
	job->task = task;
	freeblock_task_progress(task, &job->progress);
	return 0;
}

/**
 * fb_job_start() - start the task
 * @job: the job, created
 *
 * Context: may sleep.
 *
 * Return: 0 or what freeblock_task_start() says: the task is still there then.
 */
int fb_job_start(struct fb_job *job)
{
	enum fb_job_state before = job->state;
	int ret;

	lockdep_assert_held(&fb_job_mutex);
	/* before the callback may say more */
	WRITE_ONCE(job->state, FB_JOB_RUNNING);
	ret = freeblock_task_start(job->task);
	if (ret)
		WRITE_ONCE(job->state, before);
	return ret;
}

/**
 * fb_job_abandon() - destroy a task that was not started
 * @job: the job
 *
 * Context: may sleep.
 */
void fb_job_abandon(struct fb_job *job)
{
	lockdep_assert_held(&fb_job_mutex);
	if (job->task)
		freeblock_task_destroy(job->task);
	job->task = NULL;
}

/**
 * fb_job_stop() - read no more
 * @job: the job, or NULL
 *
 * Context: may sleep. Returns at once: the state tells stopping, then stopped.
 *
 * Return: 0; -EALREADY: nothing is running.
 */
int fb_job_stop(struct fb_job *job)
{
	lockdep_assert_held(&fb_job_mutex);
	if (!job || !job->task)
		return -EALREADY;
	if (cmpxchg(&job->state, FB_JOB_RUNNING, FB_JOB_STOPPING) == FB_JOB_RUNNING)
		freeblock_task_stop(job->task);
	return 0;
}

/**
 * fb_job_ended() - the task is over
 * @job: the job
 * @why: see there
 *
 * Context: a callback of the task.
 */
void fb_job_ended(struct fb_job *job, enum freeblock_end why)
{
	WRITE_ONCE(job->state, why == FREEBLOCK_FINISHED ? FB_JOB_FINISHED : FB_JOB_STOPPED);
	queue_work(fb_job_wq, &job->reap);
}

/**
 * fb_job_end() - stop, wait, be done with it
 * @job: the job, which may be freed then
 *
 * Context: may sleep; no command can come any more.
 */
void fb_job_end(struct fb_job *job)
{
	mutex_lock(&fb_job_mutex);
	fb_job_reap(job);
	mutex_unlock(&fb_job_mutex);
	cancel_work_sync(&job->reap);
}

/**
 * fb_job_update() - bring fb_job.progress up to date
 * @job: the job
 *
 * Context: may sleep.
 */
void fb_job_update(struct fb_job *job)
{
	lockdep_assert_held(&fb_job_mutex);
	if (job->task)
		freeblock_task_progress(job->task, &job->progress);
}

/**
 * fb_job_state_name() - a word for people and programs
 * @job: the job, up to date
 *
 * Context: any.
 *
 * Return: idle, running, paused, stopping, stopped or finished.
 */
const char *fb_job_state_name(const struct fb_job *job)
{
	enum fb_job_state state = READ_ONCE(job->state);

	if (state == FB_JOB_RUNNING && job->progress.paused)
		return "paused";
	return fb_job_state_names[state];
}
