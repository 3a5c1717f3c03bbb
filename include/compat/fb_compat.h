/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What differs between kernel versions, and nothing else. The sources call these
 * and hold no version conditional of their own.
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
 * Linux 6.1: what ends a request without a bio gets two arguments.
 */
#define FB_COMPAT_END_IO(fn)	enum rq_end_io_ret fn(struct request *rq, blk_status_t status)

/* block/blk.h, not exported: may bios still be merged into @rq? */
static inline bool fb_compat_rq_mergeable(const struct request *rq)
{
	if (blk_rq_is_passthrough((struct request *)rq))
		return false;
	if (req_op(rq) == REQ_OP_FLUSH || req_op(rq) == REQ_OP_WRITE_ZEROES ||
	    req_op(rq) == REQ_OP_ZONE_APPEND)
		return false;
	return !(rq->cmd_flags & REQ_NOMERGE_FLAGS) && !(rq->rq_flags & RQF_NOMERGE_FLAGS);
}

/* block/blk.h, not exported: discards that a driver takes several ranges of */
static inline bool fb_compat_discard_mergable(const struct request *rq)
{
	return req_op(rq) == REQ_OP_DISCARD && queue_max_discard_segments(rq->q) > 1;
}

/*
 * The depth to which half of a queue's requests may be allocated at most. This kernel counts
 * it by word of the bitmap, and wants to be told the least that will be asked for.
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

/* later kernels keep it in the bio only */
static inline void fb_compat_set_ioprio(struct request *rq, unsigned short prio)
{
	rq->ioprio = prio;
}

/* rename a debugfs directory; waits for no reader, so that a queue may be frozen */
static inline void fb_compat_debugfs_rename(struct dentry *parent, struct dentry *dir,
					    const char *name)
{
	if (!IS_ERR_OR_NULL(dir))
		debugfs_rename(parent, dir, parent, name);
}

/* later kernels ask for a subpage, too */
static inline int fb_compat_mode_sense(struct scsi_device *sdev, int page, u8 *buf, int len,
				       int timeout, struct scsi_mode_data *data,
				       struct scsi_sense_hdr *sense)
{
	return scsi_mode_sense(sdev, 0, page, buf, len, timeout, 1, data, sense);
}

/* is it suspended, or about to be? Kernels without runtime power management have no such state */
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

/* a command without data, for what its sense data tell; SCSI_SENSE_BUFFERSIZE of them */
static inline void fb_compat_scsi_ask(struct scsi_device *sdev, const u8 *cmd, u8 *sense,
				      int timeout)
{
	__scsi_execute(sdev, cmd, DMA_NONE, NULL, 0, sense, NULL, timeout, 1, 0, 0, NULL);
}

/* Linux 6.4: the class no longer asks whose it is */
static inline struct class *fb_compat_class_create(const char *name)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
	return class_create(name);
#else
	return class_create(THIS_MODULE, name);
#endif
}

/* Linux 6.2: class.devnode does not change the device */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
#define FB_COMPAT_CONST_DEVICE const
#else
#define FB_COMPAT_CONST_DEVICE
#endif

#endif /* FB_COMPAT_H */
