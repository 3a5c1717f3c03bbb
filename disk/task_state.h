/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The tasks of a disk and what serves them jointly: one thread, one coverage map for the
 * search, one set of buffers. Kernel only; part of disk/disk.h.
 */
#ifndef FB_TASK_STATE_H
#define FB_TASK_STATE_H

#include <linux/completion.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "fb_bitmap.h"
#include "core/conservatism.h"
#include "core/idle_order.h"
#include "core/leftover.h"
#include "core/deadline.h"
#include "core/plan.h"
#include "core/block_value.h"
#include "disk/cookie.h"
#include "include/freeblock.h"

struct fb_disk;

#define FB_NAME_LEN 32		/* of a disk's name, as in /sys/block */

enum fb_task_state {
	FB_TASK_NEW,
	FB_TASK_RUNNING,
	FB_TASK_PAUSED,
	FB_TASK_STOPPING,
	FB_TASK_OVER,
};

enum fb_op_kind { FB_OP_ADD, FB_OP_REMOVE, FB_OP_PROMOTE };

/* A change of what a task wants, for the thread to enter into its map */
struct fb_op {
	struct list_head node;		/* in freeblock_task.todo */
	enum fb_op_kind kind;		/* what to do with the range */
	u64 first;			/* first granule that is still to be entered */
	u64 n;				/* granules from there on */
	u64 added_ns;	/* when it was requested; reads sent earlier do not serve it */
	bool uncovered;			/* only granules that freeblock_task.coverage lacks count */
	bool initial;	/* requested before the start: what the coverage has was done before */
	bool masked;			/* only granules with their bit set in @bits count */
	u64 bytes;			/* memory charged for @bits */
	u64 base;			/* the granule that the first bit of @bits stands for */
	unsigned long bits[];
};

/* Probes that a consumer waits for; see disk/probe.c; all [L] */
struct fb_probe_call {
	struct freeblock_probe *probes;	/* the consumer's, while it waits; or NULL */
	u32 n;				/* how many */
	u32 at;				/* the one that is next, or at the drive */
	u32 number;			/* the call's; 0: none is to be sent */
	bool any;			/* a probe was carried out, and @commands is valid */
	u32 commands;	/* that the device had got with the last one */
	wait_queue_head_t told;		/* the consumer waits here */
};

/* What one consumer wants */
struct freeblock_task {
	struct fb_disk *disk;
	struct list_head node;		/* in fb_coverage.tasks; fb_disk.life and [L] */
	u32 id;				/* shown to users; never reused */
	u32 slot;			/* its place in fb_coverage.task, once it is started */
	char disk_name[FB_NAME_LEN];		/* its disk's name when it was created */
	char name[24];			/* shown to users */
	const struct freeblock_ops *ops;	/* the consumer's callbacks */
	void *ctx;			/* the consumer's private data */
	/* the I/O cgroup that its own foreground reads are charged to; NULL: the root's */
	struct cgroup_subsys_state *css;
	u64 bytes;			/* memory charged to it */
	struct freeblock_coverage *coverage;	/* blocks delivered without error, or NULL */
	enum fb_task_state state;	/* [L] */
	enum freeblock_end end;		/* why it is over */
	s32 priority;	/* its consumer writes it at any time, without a lock, like the next two */
	u64 deadline_ns;		/* 0: none */
	u32 foreground_ppm;		/* see freeblock_task_set_foreground() */
	enum freeblock_order order;	/* order of idle reads */
	struct fb_idle_order idle_order;	/* its state; the thread's from the start on */
	u32 regions;			/* see freeblock_task_order() */
	u32 segment_sectors;		/* see freeblock_task_order() */
	struct list_head todo;	/* changes that have not been entered yet, in their order [L] */
	u32 ntodo;			/* how many [L] */
	u32 events;	/* enum freeblock_event that its consumer has not been told yet [L] */
	struct mutex change;		/* serialises additions, also with fb_delivery_sweep() */
	spinlock_t cookie_lock;	/* spinlock of @cookies, which are written with @change held too */
	struct fb_cookies cookies;	/* user_data of its blocks */
	bool sweep;	/* changes were entered since its cookies were last swept; the thread's */
	u64 sweep_done;			/* blocks done when they were; the thread's */
	bool caught_up;			/* all added is delivered, and that was told [L] */
	struct fb_bitmap map;		/* what it wants; the thread's, from the start on */
	bool active;	/* the thread reads for it: @map is part of fb_coverage.map; the thread's */
	bool behind;	/* changes wait behind the one that is being entered; the thread's */
	struct fb_deadline_rate pace;		/* its rate; the thread's */
	bool late;			/* it would miss its deadline at that rate; the thread's */
	u64 entered_before;	/* blocks of initial changes that its coverage had; the thread's */
	u32 held;	/* reads that wait for its consumer or are being consumed [L] */
	u64 fed_ns;	/* when its consumer got a block last, or could have since */
	enum freeblock_wait waiting_for;	/* see disk/late.c [L] */
	bool able;	/* it wants blocks, and nothing rules out that it gets some [L] */
	bool alarmed;			/* paused by an alarm [L] */
	u64 withheld_ns;	/* when a read, perhaps not the medium's, was withheld [L] */
	struct fb_probe_call probe;	/* what it wants to know the times of */
	u64 total;			/* blocks registered; [L] from here on */
	u64 unwritten;			/* added, but behind a zone's write pointer; the thread's */
	u64 before;			/* done before its start, not in @total: @entered_before */
	u64 wanted;
	u64 flying;
	u64 done;
	u64 failed;			/* blocks delivered with an error */
	struct completion over;		/* completed when the last callback has returned */
	struct work_struct deliver;	/* calls ops->block, ops->event and ops->ended */
	bool ended;			/* it is over, and its consumer has not been told [L] */
};

/* Segments at which there may be no room for the cookies of another batch of ranges. */
#define FB_COOKIES_CROWDED (FB_COOKIE_MAX - 2 * FREEBLOCK_RANGES_MAX)

/* What serves the tasks of a disk; it exists while there are tasks */
struct fb_coverage {
	struct fb_disk *disk;
	struct task_struct *thread;	/* runs from the first start on */
	u64 bytes;			/* memory charged to all tasks together; fb_disk.life */
	struct list_head tasks;	/* all tasks that have not been destroyed; fb_disk.life and [L] */
	/*
	 * tasks that are started and not over, by slot; written with the lock held:
	 * freeblock_task_start() adds them, the thread, which may read without it, removes them [L]
	 */
	struct freeblock_task *task[FREEBLOCK_TASKS];
	u32 nactive;	/* tasks with @active set; the thread's, like all that follows */
	struct fb_bitmap all;		/* what any of them wants; valid while several are active */
	struct fb_bitmap *map;		/* what gaps are searched for: a task's, @all, or NULL */
	struct freeblock_task *hurried;	/* late, may read in the foreground's time; or NULL */
	const struct fb_bitmap *weighed;	/* what @worth is of; NULL: to be computed again */
	struct fb_block_value worth;	/* value of the blocks of @weighed */
	u64 balanced_ns;		/* when the regions were last weighed */
	struct fb_conservatism_odds odds;	/* the search's copy of fb_conservatism.odds */
	struct fb_search search;	/* here and not on the stack because of its size */
	unsigned long *repeated;	/* read again, as the cache may have answered; or NULL */
	u64 repeated_bytes;		/* its size; 0: it was not needed so far */
	bool blocked;			/* a task's first change cannot be entered now */
	bool asked;			/* the drive has been asked about its look-ahead */
	struct fb_leftover leftover;	/* when to read a block that fits into no gap */
};

/*
 * The next task that is started and not over, from slot @i on, which moves behind it; or NULL. A
 * start may fill an empty slot meanwhile; only the thread empties one. Pairs with
 * smp_store_release() in fb_delivery_start().
 */
static inline struct freeblock_task *fb_coverage_next_task(const struct fb_coverage *cov, u32 *i)
{
	struct freeblock_task *task = NULL;

	while (!task && *i < FREEBLOCK_TASKS)
		task = READ_ONCE(cov->task[(*i)++]);
	return task;
}

/* The next of them that the thread reads for. */
static inline struct freeblock_task *fb_coverage_next_active(const struct fb_coverage *cov, u32 *i)
{
	struct freeblock_task *task;

	do
		task = fb_coverage_next_task(cov, i);
	while (task && !task->active);
	return task;
}

/* Are several tasks active, so that fb_coverage.all is in use? */
static inline bool fb_coverage_is_joint(const struct fb_coverage *cov)
{
	return READ_ONCE(cov->nactive) > 1;
}

#endif /* FB_TASK_STATE_H */
