/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The tasks of a disk and what serves them together: one thread, one coverage map that
 * gaps are searched for, one set of buffers. Kernel only; types only, part of disk/disk.h.
 */
#ifndef FB_TASK_STATE_H
#define FB_TASK_STATE_H

#include <linux/completion.h>
#include <linux/list.h>
#include <linux/workqueue.h>

#include "fb_bitmap.h"
#include "core/conservatism.h"
#include "core/idle_order.h"
#include "core/plan.h"
#include "core/block_value.h"
#include "include/freeblock.h"

struct fb_disk;

#define FB_NAME_LEN 32		/* of a disk, as in /sys/block */

enum fb_task_state {
	FB_TASK_NEW,
	FB_TASK_RUNNING,
	FB_TASK_PAUSED,
	FB_TASK_STOPPING,
	FB_TASK_OVER,
};

enum fb_op_kind { FB_OP_ADD, FB_OP_REMOVE, FB_OP_PROMOTE };

/**
 * struct fb_op - a change of what a task wants, for the thread to enter
 * @node: in freeblock_task.ops
 * @kind: what to do with the range
 * @first: its first granule that is still to be entered
 * @n: granules from there on
 * @added_ns: when it was asked for: reads sent before do not serve it
 * @masked: only those with a bit in @bits
 * @base: the granule of the first of @bits
 * @bits: see @masked
 */
struct fb_op {
	struct list_head node;
	enum fb_op_kind kind;
	u64 first;
	u64 n;
	u64 added_ns;
	bool masked;
	u64 base;
	unsigned long bits[];
};

/**
 * struct freeblock_task - one consumer's wants
 * @fd: its disk
 * @node: in fb_coverage.tasks; fb_disk.life and [L]
 * @id: for people; never used twice
 * @slot: its place in fb_coverage.task, once it is started
 * @disk: its disk's name when it was created
 * @name: for people
 * @ops: the consumer's
 * @ctx: the consumer's
 * @bytes: memory charged to it
 * @coverage: what has been delivered in good order is noted there, or NULL
 * @state: [L]
 * @end: why it is over
 * @priority: [L]
 * @deadline_ns: [L]; 0: none
 * @order: of idle reads
 * @idle_order: the same, at work; the thread's, from the start on
 * @regions: see freeblock_task_order()
 * @segment_sectors: see freeblock_task_order()
 * @todo: changes that wait to be entered, in their order [L]
 * @ntodo: how many [L]
 * @map: what it wants; the thread's, from the start on
 * @active: the thread reads for it: @map is part of fb_coverage.map; the thread's
 * @mark_ns: when its rate was measured last; the thread's
 * @mark_done: what had been done then; the thread's
 * @rate: blocks a second, 0: not known yet; the thread's
 * @held: reads that wait for its consumer or are with it [L]
 * @total: blocks; [L] from here on
 * @wanted: blocks
 * @flying: blocks
 * @done: blocks
 * @failed: blocks
 * @over: completed when the last callback has returned
 * @deliver: calls ops->block
 * @ended: calls ops->ended
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
	u64 bytes;
	struct freeblock_coverage *coverage;
	enum fb_task_state state;
	enum freeblock_end end;
	u32 priority;
	u64 deadline_ns;
	enum freeblock_order order;
	struct fb_idle_order idle_order;
	u32 regions;
	u32 segment_sectors;
	struct list_head todo;
	u32 ntodo;
	struct fb_bitmap map;
	bool active;
	u64 mark_ns;
	u64 mark_done;
	u64 rate;
	u32 held;
	u64 total;
	u64 wanted;
	u64 flying;
	u64 done;
	u64 failed;
	struct completion over;
	struct work_struct deliver;
	struct work_struct ended;
};

/**
 * struct fb_coverage - what serves the tasks of a disk; there is one while there are tasks
 * @fd: the disk
 * @thread: runs from the first start on
 * @bytes: memory charged to all tasks together; fb_disk.life
 * @tasks: those that are not destroyed; fb_disk.life and [L]
 * @task: those that are started and not over, by slot; written with the lock held, by
 *	freeblock_task_start() and by the thread, which alone takes them out [L]
 * @nactive: tasks with @active set; the thread's, as all that follows
 * @all: what any of them wants, valid while there are several
 * @joint: @all is in use
 * @map: what gaps are searched for: of one task, @all, or NULL: nothing is wanted
 * @weighed: the map that @worth was reckoned from, NULL: it must be anew
 * @worth: of blocks of @weighed
 * @balanced_ns: when the regions were weighed last
 * @odds: the search's copy of fb_conservatism.odds
 * @search: here, for stacks are small
 * @blocked: the first change of a task cannot be entered now: tried again when a buffer
 *	becomes free, and every now and then
 * @asked: the drive, about its look-ahead
 * @fruitless: searches in a row that found nothing
 * @leftover_ns: when a block that fits into no gap was read last
 */
struct fb_coverage {
	struct fb_disk *fd;
	struct task_struct *thread;
	u64 bytes;
	struct list_head tasks;
	struct freeblock_task *task[FREEBLOCK_TASKS];
	u32 nactive;
	struct fb_bitmap all;
	bool joint;
	struct fb_bitmap *map;
	const struct fb_bitmap *weighed;
	struct fb_block_value worth;
	u64 balanced_ns;
	struct fb_conservatism_odds odds;
	struct fb_search search;
	bool blocked;
	bool asked;
	u32 fruitless;
	u64 leftover_ns;
};

#endif /* FB_TASK_STATE_H */
