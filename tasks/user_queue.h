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

/*
 * Blocks that wait to be read. The callback takes no lock: it alone moves @head, and @filled hands
 * blocks over.
 */
struct fb_user_queue {
	/* serialises read() while it takes blocks, not while it waits; page faults come under it */
	struct mutex reader;
	u64 start;			/* first sector of the block device on the disk */
	u64 sectors;			/* its length */
	u32 granule;			/* sectors per block */
	u32 slots;			/* length of the ring in blocks */
	struct fb_record_slot *slot;	/* the ring */
	void *data;			/* the blocks' data; NULL: without data */
	u32 head;			/* where the next block goes; the callback's */
	u32 tail;			/* the next block to be read; under @reader */
	atomic_t filled;		/* blocks between @tail and @head */
	atomic_t events;		/* those of them that are events */
	u64 adds;	/* how often ranges were added: an event queued before the last is stale */
	u64 told;			/* @adds when an event was last queued; the callback's */
	struct freeblock_coverage *coverage;	/* blocks that were read() without error; or NULL */
	bool stalled;			/* the callback waits for room */
	size_t needed;			/* bytes of the record that did not fit a reader's buffer */
	u64 stalled_ns;			/* time for which the callback has waited; the callback's */
	bool closing;			/* the file is being closed: there are no more readers */
	bool ended;			/* the task has ended, and @why is valid */
	enum freeblock_end why;
	wait_queue_head_t readable;	/* readers wait here */
	wait_queue_head_t space;	/* the callback waits here */
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
