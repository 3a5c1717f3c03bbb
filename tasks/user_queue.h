/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The queue of an open file of /dev/freeblock: the task's callback puts blocks in, sleeping
 * while there is no room, and read() takes them out.
 */
#ifndef FB_USER_QUEUE_H
#define FB_USER_QUEUE_H

#include <linux/atomic.h>
#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/wait.h>

#include "tasks/record.h"
#include "include/freeblock.h"

/**
 * struct fb_user_queue - blocks that wait to be read
 *
 * The callback takes no lock: it alone moves @head, and @filled hands blocks over.
 *
 * @reader: mutex that serialises read() while it takes blocks from the ring: it guards @tail,
 *	and page faults happen under it. It is not held while waiting for blocks.
 * @start: first sector of the block device on the disk
 * @sectors: length of the block device
 * @granule: sectors per block
 * @slots: length of the ring in blocks
 * @slot: the ring
 * @data: the blocks' data; NULL: without data
 * @head: where the next block goes; used by the callback only
 * @tail: the next block to be read; guarded by @reader
 * @filled: blocks between @tail and @head
 * @events: those of them that are events
 * @adds: how often ranges were added: an event that was queued before the last time is stale
 * @told: @adds when an event was last queued; written by the callback only
 * @coverage: blocks that were read() without error; or NULL. Belongs to the queue
 * @stalled: the callback waits for room
 * @needed: bytes of the record that did not fit a reader's buffer
 * @stalled_ns: total time the callback has waited; written by the callback only
 * @closing: the file is being closed: there are no more readers
 * @ended: the task has ended
 * @why: how it ended; valid when @ended
 * @readable: readers wait here
 * @space: the callback waits here
 */
struct fb_user_queue {
	struct mutex reader;
	u64 start;
	u64 sectors;
	u32 granule;
	u32 slots;
	struct fb_record_slot *slot;
	void *data;
	u32 head;
	u32 tail;
	atomic_t filled;
	atomic_t events;
	u64 adds;
	u64 told;
	struct freeblock_coverage *coverage;
	bool stalled;
	size_t needed;
	u64 stalled_ns;
	bool closing;
	bool ended;
	enum freeblock_end why;
	wait_queue_head_t readable;
	wait_queue_head_t space;
};

void fb_user_queue_init(struct fb_user_queue *q);
int fb_user_queue_alloc(struct fb_user_queue *q, u32 kib, bool wants_data);
void fb_user_queue_free(struct fb_user_queue *q);
void fb_user_queue_close(struct fb_user_queue *q);
void fb_user_queue_put(struct fb_user_queue *q, struct freeblock_task *task,
		       const struct freeblock_block *block);
void fb_user_queue_put_event(struct fb_user_queue *q, struct freeblock_task *task, u16 type);
void fb_user_queue_added(struct fb_user_queue *q);
void fb_user_queue_end(struct fb_user_queue *q, enum freeblock_end why);
bool fb_user_queue_has_ended(const struct fb_user_queue *q);
ssize_t fb_user_queue_read(struct fb_user_queue *q, struct freeblock_task *task, char __user *to,
			   size_t size, bool nonblock);
bool fb_user_queue_is_readable(const struct fb_user_queue *q);

#endif /* FB_USER_QUEUE_H */
