/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All differences between kernel versions. The sources call these wrappers and have no
 * version conditionals of their own.
 */
#ifndef FB_COMPAT_H
#define FB_COMPAT_H

#include <linux/debugfs.h>
#include <linux/device.h>
#include <linux/module.h>
#include <linux/version.h>
#include <scsi/scsi_device.h>

#include "fb_elevator.h"

/*
 * Linux 6.1: the scheduler allocates its own elevator_queue and sets q->elevator.
 */
#define FB_COMPAT_INIT_SCHED(fn)						\
	static int fn##_compat(struct request_queue *q, struct elevator_type *e)	\
	{									\
		struct elevator_queue *eq = elevator_alloc(q, e);		\
		int ret;							\
										\
		if (!eq)							\
			return -ENOMEM;						\
		ret = fn(q, eq);						\
		if (ret)							\
			kobject_put(&eq->kobj);					\
		else								\
			q->elevator = eq;					\
		return ret;							\
	}

/*
 * Linux 6.1: the end_io function of a request takes two arguments.
 */
#define FB_COMPAT_END_IO(fn)	enum rq_end_io_ret fn(struct request *rq, blk_status_t status)

/* copy of rq_mergeable() of block/blk.h, which modules cannot include */
static inline bool fb_compat_rq_mergeable(const struct request *rq)
{
	if (blk_rq_is_passthrough((struct request *)rq))
		return false;
	if (req_op(rq) == REQ_OP_FLUSH || req_op(rq) == REQ_OP_WRITE_ZEROES ||
	    req_op(rq) == REQ_OP_ZONE_APPEND)
		return false;
	return !(rq->cmd_flags & REQ_NOMERGE_FLAGS) && !(rq->rq_flags & RQF_NOMERGE_FLAGS);
}

/* copy of blk_discard_mergable() of block/blk.h: a driver may take several ranges at once */
static inline bool fb_compat_discard_mergable(const struct request *rq)
{
	return req_op(rq) == REQ_OP_DISCARD && queue_max_discard_segments(rq->q) > 1;
}

/*
 * The shallow depth that limits an allocation to half of a queue's requests. Linux 6.1 counts
 * it per word of the bitmap, and must be told the smallest depth that will be used.
 */
static inline unsigned int fb_compat_half_depth(struct blk_mq_hw_ctx *hctx)
{
	struct sbitmap_queue *tags = &hctx->sched_tags->bitmap_tags;
	unsigned int half = max(1U, (1U << tags->sb.shift) / 2);

	sbitmap_queue_min_shallow_depth(tags, half);
	return half;
}

static inline void fb_compat_set_depth(struct blk_mq_alloc_data *data, unsigned int depth)
{
	data->shallow_depth = depth;
}

/* later kernels keep the I/O priority in the bio only */
static inline void fb_compat_set_ioprio(struct request *rq, unsigned short prio)
{
	rq->ioprio = prio;
}

/* it does not wait for readers, so a queue may be frozen */
static inline void fb_compat_debugfs_rename(struct dentry *parent, struct dentry *dir,
					    const char *name)
{
	if (!IS_ERR_OR_NULL(dir))
		debugfs_rename(parent, dir, parent, name);
}

/* later kernels take a subpage, too */
static inline int fb_compat_mode_sense(struct scsi_device *sdev, int page, u8 *buf, int len,
				       int timeout, struct scsi_mode_data *data,
				       struct scsi_sense_hdr *sense)
{
	return scsi_mode_sense(sdev, 0, page, buf, len, timeout, 1, data, sense);
}

/* is the device suspended or about to be? Without CONFIG_PM there is no such state */
static inline bool fb_compat_queue_sleeps(const struct request_queue *q)
{
#ifdef CONFIG_PM
	return q->dev && q->rpm_status != RPM_ACTIVE;
#else
	return false;
#endif
}

/* scsi_execute_cmd() from 6.3 on */
static inline int fb_compat_scsi_read(struct scsi_device *sdev, const u8 *cmd, u8 *buf, int len,
				      int timeout)
{
	return scsi_execute_req(sdev, cmd, DMA_FROM_DEVICE, buf, len, NULL, timeout, 1, NULL);
}

/* send a command without data for its sense data; @sense has SCSI_SENSE_BUFFERSIZE bytes */
static inline void fb_compat_scsi_ask(struct scsi_device *sdev, const u8 *cmd, u8 *sense,
				      int timeout)
{
	__scsi_execute(sdev, cmd, DMA_NONE, NULL, 0, sense, NULL, timeout, 1, 0, 0, NULL);
}

#endif /* FB_COMPAT_H */
