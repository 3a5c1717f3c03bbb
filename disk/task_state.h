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
#include <linux/workqueue.h>

#include "fb_bitmap.h"
#include "core/conservatism.h"
#include "core/idle_order.h"
#include "core/leftover.h"
#include "core/pace.h"
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

/**
 * struct fb_op - a change of what a task wants, for the thread to enter into its map
 * @node: in freeblock_task.todo
 * @kind: what to do with the range
 * @first: first granule that is still to be entered
 * @n: granules from there on
 * @added_ns: when it was requested; reads sent earlier do not serve it
 * @uncovered: only granules that freeblock_task.coverage lacks count
 * @initial: requested before the start: what the coverage has was done before
 * @masked: only granules with their bit set in @bits count
 * @bytes: memory charged for @bits
 * @base: the granule that the first bit of @bits stands for
 * @bits: see @masked
 */
struct fb_op {
	struct list_head node;
	enum fb_op_kind kind;
	u64 first;
	u64 n;
	u64 added_ns;
	bool uncovered;
	bool initial;
	bool masked;
	u64 bytes;
	u64 base;
	unsigned long bits[];
};

/**
 * struct freeblock_task - what one consumer wants
 * @fd: its disk
 * @node: in fb_coverage.tasks; fb_disk.life and [L]
 * @id: shown to users; never reused
 * @slot: its place in fb_coverage.task, once it is started
 * @disk: its disk's name when it was created
 * @name: shown to users
 * @ops: the consumer's callbacks
 * @css: the I/O cgroup that its own foreground reads are charged to; NULL: the root's
 * @ctx: the consumer's private data
 * @bytes: memory charged to it
 * @coverage: record of the blocks delivered without error, or NULL
 * @state: [L]
 * @end: why it is over
 * @priority: its consumer writes it at any time, without a lock, like the next two
 * @deadline_ns: 0: none
 * @foreground_ppm: see freeblock_task_set_foreground()
 * @order: order of idle reads
 * @idle_order: state of that order; the thread's, from the start on
 * @regions: see freeblock_task_order()
 * @segment_sectors: see freeblock_task_order()
 * @todo: changes that have not been entered yet, in their order [L]
 * @ntodo: how many [L]
 * @events: enum freeblock_event that its consumer has not been told yet [L]
 * @change: mutex: serialises additions with each other and with fb_coverage_sweep()
 * @cookie_lock: spinlock of @cookies, which are written with @change held too
 * @cookies: user_data of its blocks
 * @sweep: changes were entered since its cookies were last swept; the thread's
 * @sweep_done: blocks done when they were; the thread's
 * @caught_up: everything added has been delivered, and its consumer has been told [L]
 * @map: what it wants; the thread's, from the start on
 * @active: the thread reads for it: @map is part of fb_coverage.map; the thread's
 * @behind: changes wait behind the one that is being entered; the thread's
 * @pace: its rate; the thread's
 * @late: it would miss its deadline at that rate; the thread's
 * @entered_before: blocks of initial changes that its coverage had; the thread's
 * @held: reads that wait for its consumer or are being consumed [L]
 * @fed_ns: when its consumer got a block last, or since when it could have got any
 * @waiting_for: what keeps it from reading; see disk/waiting.c [L]
 * @able: it wants blocks, and nothing rules out that it gets some [L]
 * @alarmed: paused by an alarm [L]
 * @withheld_ns: when a read was last withheld from it because it may not be the medium's [L]
 * @total: blocks registered; [L] from here on
 * @unwritten: blocks that were added but lie behind a zone's write pointer; the thread's
 * @before: blocks done before its start, which are not in @total: see @entered_before
 * @wanted: blocks wanted
 * @flying: blocks in flight
 * @done: blocks delivered
 * @failed: blocks delivered with an error
 * @over: completed when the last callback has returned
 * @deliver: calls ops->block, ops->event and ops->ended
 * @ended: it is over, and its consumer has not been told [L]
 */
struct freeblock_task {
	struct fb_disk *fd;
	struct list_head node;
	u32 id;
	u32 slot;
	char disk[FB_NAME_LEN];
	char name[24];
	const struct freeblock_ops *ops;
	void *ctx;
	struct cgroup_subsys_state *css;
	u64 bytes;
	struct freeblock_coverage *coverage;
	enum fb_task_state state;
	enum freeblock_end end;
	s32 priority;
	u64 deadline_ns;
	u32 foreground_ppm;
	enum freeblock_order order;
	struct fb_idle_order idle_order;
	u32 regions;
	u32 segment_sectors;
	struct list_head todo;
	u32 ntodo;
	u32 events;
	struct mutex change;
	spinlock_t cookie_lock;
	struct fb_cookies cookies;
	bool sweep;
	u64 sweep_done;
	bool caught_up;
	struct fb_bitmap map;
	bool active;
	bool behind;
	struct fb_pace pace;
	bool late;
	u64 entered_before;
	u32 held;
	u64 fed_ns;
	enum freeblock_wait waiting_for;
	bool able;
	bool alarmed;
	u64 withheld_ns;
	u64 total;
	u64 unwritten;
	u64 before;
	u64 wanted;
	u64 flying;
	u64 done;
	u64 failed;
	struct completion over;
	struct work_struct deliver;
	bool ended;
};

/* Segments at which there may be no room for the cookies of another batch of ranges. */
#define FB_COOKIES_CROWDED (FB_COOKIE_MAX - 2 * FREEBLOCK_RANGES_MAX)

/**
 * struct fb_coverage - what serves the tasks of a disk; it exists while there are tasks
 * @fd: the disk
 * @thread: runs from the first start on
 * @bytes: memory charged to all tasks together; fb_disk.life
 * @tasks: all tasks that have not been destroyed; fb_disk.life and [L]
 * @task: tasks that are started and not over, by slot; written with the lock held:
 *	freeblock_task_start() adds them, the thread, which may read without it, removes them [L]
 * @nactive: tasks with @active set; the thread's, like all that follows
 * @all: what any of them wants; valid while several are active
 * @map: what gaps are searched for: one task's map, @all, or NULL: nothing is wanted
 * @hurried: the late task that may read in the foreground's time, or NULL
 * @weighed: the map that @worth was computed from; NULL: it must be computed again
 * @worth: value of the blocks of @weighed
 * @balanced_ns: when the regions were last weighed
 * @odds: the search's copy of fb_conservatism.odds
 * @search: here and not on the stack because of its size
 * @repeated: blocks that were read again because the drive's cache may have answered; NULL: none,
 *	or no memory
 * @repeated_bytes: its size; 0: it was not needed so far
 * @blocked: a task's first change cannot be entered now; retried when a buffer becomes
 *	free, and periodically
 * @asked: the drive has been asked about its look-ahead
 * @leftover: when to read a block that fits into no gap
 */
struct fb_coverage {
	struct fb_disk *fd;
	struct task_struct *thread;
	u64 bytes;
	struct list_head tasks;
	struct freeblock_task *task[FREEBLOCK_TASKS];
	u32 nactive;
	struct fb_bitmap all;
	struct fb_bitmap *map;
	struct freeblock_task *hurried;
	const struct fb_bitmap *weighed;
	struct fb_block_value worth;
	u64 balanced_ns;
	struct fb_conservatism_odds odds;
	struct fb_search search;
	unsigned long *repeated;
	u64 repeated_bytes;
	bool blocked;
	bool asked;
	struct fb_leftover leftover;
};

/*
 * The task in a slot, for the thread; NULL: there is none. A start may fill an empty slot
 * meanwhile; only the thread empties one. Pairs with smp_store_release() in fb_delivery_start().
 */
static inline struct freeblock_task *fb_coverage_task(const struct fb_coverage *cov, u32 i)
{
	return READ_ONCE(cov->task[i]);
}

/* The next task, from slot @i on, that the thread reads for; @i moves behind it. */
static inline struct freeblock_task *fb_coverage_next_active(const struct fb_coverage *cov, u32 *i)
{
	struct freeblock_task *task;

	while (*i < FREEBLOCK_TASKS) {
		task = fb_coverage_task(cov, (*i)++);
		if (task && task->active)
			return task;
	}
	return NULL;
}

/* Are several tasks active, so that fb_coverage.all is in use? */
static inline bool fb_coverage_is_joint(const struct fb_coverage *cov)
{
	return READ_ONCE(cov->nactive) > 1;
}

#endif /* FB_TASK_STATE_H */
