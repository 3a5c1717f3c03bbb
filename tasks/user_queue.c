// SPDX-License-Identifier: GPL-2.0
/*
 * The queue of an open file of /dev/freeblock; see tasks/user_queue.h. Locks: fb_user_queue.reader.
 */
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/uaccess.h>

#include "tasks/user_queue.h"

#define FB_USER_QUEUE_LOOK (HZ / 2)	/* how often a waiting callback polls for a stop */

/* @q: zeroed */
void fb_user_queue_init(struct fb_user_queue *q)
{
	mutex_init(&q->reader);
	init_waitqueue_head(&q->readable);
	init_waitqueue_head(&q->space);
}

/*
 * fb_user_queue.granule is set. Return: 0; -EINVAL: not even one block fits; -ENOSPC: memory_mib
 * would be exceeded; -ENOMEM. On failure the caller frees what there is. May sleep.
 */
int fb_user_queue_alloc(struct fb_user_queue *q, u32 kib, bool wants_data)
{
	size_t block = wants_data ? (size_t)q->granule << SECTOR_SHIFT : 0;
	struct fb_record_slot *slot;
	void *data;

	q->slots = ((size_t)kib << 10) / (block + sizeof(*q->slot));
	if (!q->slots)
		return -EINVAL;
	slot = freeblock_alloc(q->slots * sizeof(*slot), "a reader's records");
	if (IS_ERR(slot))
		return PTR_ERR(slot);
	q->slot = slot;
	if (!block)
		return 0;
	data = freeblock_alloc(q->slots * block, "a reader's buffer");
	if (IS_ERR(data))
		return PTR_ERR(data);
	q->data = data;
	return 0;
}

/* Undo fb_user_queue_alloc(). May sleep; the task has been destroyed. */
void fb_user_queue_free(struct fb_user_queue *q)
{
	freeblock_coverage_destroy(q->coverage);
	freeblock_free(q->data, (u64)q->slots * q->granule << SECTOR_SHIFT);
	freeblock_free(q->slot, (u64)q->slots * sizeof(*q->slot));
	q->coverage = NULL;
	q->data = NULL;
	q->slot = NULL;
}

/* Tell the callback not to wait: there are no more readers. May sleep. */
void fb_user_queue_close(struct fb_user_queue *q)
{
	WRITE_ONCE(q->closing, true);
	wake_up(&q->space);
}

/* ---- the task's side ---- */

static u32 fb_user_queue_status(blk_status_t status)
{
	switch (status) {
	case BLK_STS_OK:
		return FREEBLOCK_STATUS_OK;
	case BLK_STS_MEDIUM:
		return FREEBLOCK_STATUS_UNREADABLE;
	case BLK_STS_NOTSUPP:
		return FREEBLOCK_STATUS_UNVERIFIED;
	default:
		return FREEBLOCK_STATUS_UNTRIED;
	}
}

static void *fb_user_queue_data(const struct fb_user_queue *q, u32 i)
{
	return q->data + (((size_t)i * q->granule) << SECTOR_SHIFT);
}

static bool fb_user_queue_has_space(const struct fb_user_queue *q)
{
	return atomic_read_acquire(&q->filled) < q->slots;
}

static struct freeblock_progress fb_user_queue_progress(struct freeblock_task *task)
{
	struct freeblock_progress progress;

	freeblock_task_progress(task, &progress);
	return progress;
}

/*
 * A reader may be slow: the wait is idle, so that it is not reported as a hung task. No event
 * comes meanwhile, for this is the task's work: poll() looks anew now and then, and a stop by
 * the administrator is polled for. What does not fit is then dropped, as the reader may never
 * come.
 */
static bool fb_user_queue_wait(struct fb_user_queue *q, struct freeblock_task *task)
{
	u64 begun;

	if (fb_user_queue_has_space(q))
		return true;
	begun = ktime_get_ns();
	WRITE_ONCE(q->stalled, true);
	while (!fb_user_queue_has_space(q) && !READ_ONCE(q->closing) &&
	       !fb_user_queue_progress(task).stopping) {
		wake_up(&q->readable);
		wait_event_idle_timeout(q->space,
					fb_user_queue_has_space(q) || READ_ONCE(q->closing),
					FB_USER_QUEUE_LOOK);
	}
	WRITE_ONCE(q->stalled, false);
	WRITE_ONCE(q->stalled_ns, q->stalled_ns + ktime_get_ns() - begun);
	return fb_user_queue_has_space(q);
}

static void fb_user_queue_push(struct fb_user_queue *q, const struct fb_record_slot *slot)
{
	q->slot[q->head] = *slot;
	q->head = q->head + 1 == q->slots ? 0 : q->head + 1;
	atomic_fetch_inc_release(&q->filled);
	wake_up(&q->readable);
}

/* The task's callback: queue a block's part within the block device. Sleeps until there is room. */
void fb_user_queue_put(struct fb_user_queue *q, struct freeblock_task *task,
		       const struct freeblock_block *block)
{
	u64 lbn = block->lbn, first = max(lbn, q->start);
	u64 end = min(lbn + block->sectors, q->start + q->sectors);
	const struct fb_record_slot slot = {
		.first = first - q->start,
		.user_data = block->user_data,
		.sectors = end - first,
		.type = FREEBLOCK_RECORD_BLOCKS,
		.status = fb_user_queue_status(block->status),
	};

	if (WARN_ON_ONCE(first >= end) || !fb_user_queue_wait(q, task))
		return;
	if (q->data && block->data)
		memcpy(fb_user_queue_data(q, q->head),
		       block->data + ((first - lbn) << SECTOR_SHIFT),
		       (end - first) << SECTOR_SHIFT);
	fb_user_queue_push(q, &slot);
}

/* The task's callback: queue that all was delivered, unless more was added. Sleeps likewise. */
void fb_user_queue_put_event(struct fb_user_queue *q, struct freeblock_task *task, u16 type)
{
	struct fb_record_slot slot = { .type = type };

	if (!fb_user_queue_wait(q, task))
		return;
	/* pairs with fb_user_queue_added(): what is not counted here is known to the task */
	slot.user_data = smp_load_acquire(&q->adds);
	if (!fb_user_queue_progress(task).caught_up)
		return;
	WRITE_ONCE(q->told, slot.user_data);
	atomic_inc(&q->events);
	fb_user_queue_push(q, &slot);
}

/* Ranges were added: events in the queue are no longer true. One call at a time. */
void fb_user_queue_added(struct fb_user_queue *q)
{
	/* pairs with fb_user_queue_put_event() */
	smp_store_release(&q->adds, q->adds + 1);
}

/* The task's callback: it has ended. */
void fb_user_queue_end(struct fb_user_queue *q, enum freeblock_end why)
{
	q->why = why;
	/* pairs with fb_user_queue_has_ended() */
	smp_store_release(&q->ended, true);
	wake_up(&q->readable);
}

/* ---- the reader's side ---- */

/* If true, fb_user_queue.why is valid, and the last block is in the queue. */
bool fb_user_queue_has_ended(const struct fb_user_queue *q)
{
	/* pairs with fb_user_queue_end() */
	return smp_load_acquire(&q->ended);
}

static int fb_user_queue_copy(const struct fb_user_queue *q, const struct freeblock_record *record,
			      u32 n, char __user *to)
{
	u32 i = q->tail;

	if (copy_to_user(to, record, sizeof(*record)))
		return -EFAULT;
	to += sizeof(*record);
	for (; n && record->data_bytes; n--) {
		size_t bytes = fb_record_bytes(&q->slot[i], q->data);

		if (copy_to_user(to, fb_user_queue_data(q, i), bytes))
			return -EFAULT;
		to += bytes;
		i = i + 1 == q->slots ? 0 : i + 1;
	}
	return 0;
}

/* a block counts as covered from when all of its data are with the reader */
static void fb_user_queue_cover(struct fb_user_queue *q, u32 n)
{
	u32 i = q->tail;

	for (; n; n--) {
		const struct fb_record_slot *slot = &q->slot[i];

		if (slot->type != FREEBLOCK_RECORD_BLOCKS)
			atomic_dec(&q->events);
		else if (q->coverage && slot->status == FREEBLOCK_STATUS_OK)
			freeblock_coverage_set(q->coverage,
					       div_u64(q->start + slot->first, q->granule));
		i = i + 1 == q->slots ? 0 : i + 1;
	}
}

static void fb_user_queue_drop(struct fb_user_queue *q, u32 n)
{
	fb_user_queue_cover(q, n);
	q->tail = q->tail + n >= q->slots ? q->tail + n - q->slots : q->tail + n;
	atomic_fetch_sub_release(n, &q->filled);
	wake_up(&q->space);
}

/* drop events that were queued before ranges were added: more is to come */
static void fb_user_queue_drop_stale(struct fb_user_queue *q)
{
	while (atomic_read_acquire(&q->filled)) {
		const struct fb_record_slot *slot = &q->slot[q->tail];

		if (slot->type == FREEBLOCK_RECORD_BLOCKS || slot->user_data == READ_ONCE(q->adds))
			return;
		fb_user_queue_drop(q, 1);
	}
}

/* a record leaves the ring only when all of it was copied; returns 0 if there is none */
static ssize_t fb_user_queue_take(struct fb_user_queue *q, char __user *to, size_t size)
{
	struct fb_record_ring ring = { q->slot, q->slots, .has_data = q->data };
	struct freeblock_record record;
	size_t done = 0;
	u32 n;

	lockdep_assert_held(&q->reader);
	for (;;) {
		fb_user_queue_drop_stale(q);
		ring.filled = atomic_read_acquire(&q->filled);
		if (!ring.filled)
			break;
		ring.tail = q->tail;
		n = fb_record_next(&ring, size - done, &record);
		if (!n && !done) {
			WRITE_ONCE(q->needed, sizeof(record) +
				   fb_record_bytes(&q->slot[q->tail], q->data));
			return -EMSGSIZE;
		}
		if (!n)
			break;
		if (fb_user_queue_copy(q, &record, n, to + done))
			return done ? done : -EFAULT;
		done += sizeof(record) + record.data_bytes;
		fb_user_queue_drop(q, n);
	}
	return done;
}

static ssize_t fb_user_queue_take_locked(struct fb_user_queue *q, char __user *to, size_t size,
					 bool nonblock)
{
	ssize_t ret;

	if (nonblock) {
		/* the holder may be sleeping in a page fault */
		if (!mutex_trylock(&q->reader))
			return -EAGAIN;
	} else if (mutex_lock_interruptible(&q->reader)) {
		return -ERESTARTSYS;
	}
	ret = fb_user_queue_take(q, to, size);
	mutex_unlock(&q->reader);
	return ret;
}

static bool fb_user_queue_would_not_wait(const struct fb_user_queue *q, struct freeblock_task *task)
{
	return atomic_read(&q->filled) || READ_ONCE(q->ended) || fb_user_queue_progress(task).gone;
}

/*
 * Copy records to a reader. May sleep. Return: bytes copied; 0: all was delivered and read;
 * -EMSGSIZE: the next record does not fit, see fb_user_queue.needed; -EFAULT; -EAGAIN: there is no
 * block yet; -ECANCELED: stopped before all was delivered; -ENODEV: the disk is gone; -ERESTARTSYS.
 */
ssize_t fb_user_queue_read(struct fb_user_queue *q, struct freeblock_task *task, char __user *to,
			   size_t size, bool nonblock)
{
	for (;;) {
		/* checked first, so that blocks queued before the end are seen */
		bool ended = fb_user_queue_has_ended(q);
		ssize_t ret = fb_user_queue_take_locked(q, to, size, nonblock);

		if (ret)
			return ret;
		if (ended)
			return q->why == FREEBLOCK_FINISHED ? 0 : -ECANCELED;
		if (fb_user_queue_progress(task).gone)
			return -ENODEV;
		if (nonblock)
			return -EAGAIN;
		if (wait_event_interruptible(q->readable, fb_user_queue_would_not_wait(q, task)))
			return -ERESTARTSYS;
	}
}

/* Would read() return at once: are there records of a started task, or has it ended? */
bool fb_user_queue_is_readable(const struct fb_user_queue *q)
{
	int filled = atomic_read(&q->filled), events = atomic_read(&q->events);

	/* stale events are no records; but if they fill the ring only read() makes room */
	return fb_user_queue_has_ended(q) || filled > events || filled >= (int)q->slots ||
	       (filled && READ_ONCE(q->told) == READ_ONCE(q->adds));
}
