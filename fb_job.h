/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the consumers that people start and stop by a file have in common: scan and scrub.
 * Of the rest of the module they see include/freeblock.h only.
 */
#ifndef FB_JOB_H
#define FB_JOB_H

#include <linux/mutex.h>
#include <linux/workqueue.h>

#include "include/freeblock.h"

/*
 * Guards jobs against their commands and readers; never taken in a callback of a task,
 * for a task is destroyed, and so waited for, with it held.
 */
extern struct mutex fb_job_mutex;

enum fb_job_state {
	FB_JOB_IDLE,		/* never started */
	FB_JOB_RUNNING,
	FB_JOB_STOPPING,
	FB_JOB_STOPPED,
	FB_JOB_FINISHED,
};

/**
 * struct fb_job - a task that is started, stopped, and destroyed when it is over
 * @task: NULL when there is none, or it is over and reaped
 * @state: see there; RUNNING -> STOPPING by command, the last two by the callback
 * @progress: the last seen before the task was reaped
 * @reap: destroys the task when it is over
 */
struct fb_job {
	struct freeblock_task *task;
	enum fb_job_state state;
	struct freeblock_progress progress;
	struct work_struct reap;
};

int fb_job_init(void);
void fb_job_exit(void);
void fb_job_setup(struct fb_job *job);
int fb_job_create(struct fb_job *job, const char *disk, const char *name,
		  const struct freeblock_ops *ops, void *ctx);
int fb_job_start(struct fb_job *job);
void fb_job_abandon(struct fb_job *job);
int fb_job_stop(struct fb_job *job);
void fb_job_ended(struct fb_job *job, enum freeblock_end why);
void fb_job_end(struct fb_job *job);
void fb_job_update(struct fb_job *job);
const char *fb_job_state_name(const struct fb_job *job);

#endif /* FB_JOB_H */
