/* SPDX-License-Identifier: GPL-2.0 */
/* All that depends on the kernel's version. Who calls this has no conditionals of its own. */
#ifndef FB_COMPAT_H
#define FB_COMPAT_H

#include <linux/debugfs.h>
#include <linux/device.h>
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/part_stat.h>
#include <linux/version.h>
#include <linux/workqueue.h>
#include <scsi/scsi_device.h>

/* parts of blkdev.h and asm/unaligned.h that got headers of their own */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
#include <linux/bio-integrity.h>
#endif
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

#include "fb_elevator.h"

#ifdef FB_ELV_QUEUE_GIVEN
/* The scheduler sets q->elevator. */
#define FB_COMPAT_INIT_SCHED(fn)						\
	static int fn##_compat(struct request_queue *q, struct elevator_queue *eq)	\
	{									\
		int ret = fn(q, eq);						\
										\
		if (!ret) {							\
			fb_compat_set_async_depth(q);				\
			q->elevator = eq;					\
		}								\
		return ret;							\
	}
#else
/* The scheduler allocates its own elevator_queue and sets q->elevator. */
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
#endif

/* what callbacks of binary files are given */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 16, 0)
#define FB_COMPAT_BIN_ATTR	const struct bin_attribute
#else
#define FB_COMPAT_BIN_ATTR	struct bin_attribute
#endif

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
#define FB_COMPAT_CLASS	const struct class
#else
#define FB_COMPAT_CLASS	struct class
#endif

/* in the definition of a trace event */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#define FB_COMPAT_ASSIGN_STR(dst, src)	__assign_str(dst)
#else
#define FB_COMPAT_ASSIGN_STR(dst, src)	__assign_str(dst, src)
#endif

/* from 7.0 on a queue has a limit for asynchronous requests, which its scheduler sets */
static inline void fb_compat_set_async_depth(struct request_queue *q)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
	q->async_depth = q->nr_requests;
#endif
}

/* insert_requests() with a bool as its last argument */
#define FB_COMPAT_INSERT_REQUESTS(fn)						\
	static void fn##_compat(struct blk_mq_hw_ctx *hctx, struct list_head *list,	\
				FB_ELV_INSERT_T flags)				\
	{									\
		fn(hctx, list, flags & FB_ELV_INSERT_AT_HEAD);			\
	}

/* depth_updated() for each hardware queue */
#ifdef FB_ELV_DEPTH_OF_QUEUE
#define FB_COMPAT_DEPTH_UPDATED(fn)						\
	static void fn##_compat(struct request_queue *q)			\
	{									\
		struct blk_mq_hw_ctx *hctx;					\
		unsigned long i;						\
										\
		queue_for_each_hw_ctx(q, hctx, i)				\
			fn(hctx);						\
	}
#else
#define FB_COMPAT_DEPTH_UPDATED(fn)						\
	static void fn##_compat(struct blk_mq_hw_ctx *hctx)			\
	{									\
		fn(hctx);							\
	}
#endif

#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
#define FB_COMPAT_END_IO(fn)							\
	enum rq_end_io_ret fn(struct request *rq, blk_status_t status,		\
			      const struct io_comp_batch *iob)
#else
#define FB_COMPAT_END_IO(fn)	enum rq_end_io_ret fn(struct request *rq, blk_status_t status)
#endif

/* has the elevator's prepare_request() seen it? */
#ifdef RQF_ELVPRIV
#define FB_COMPAT_PREPARED	RQF_ELVPRIV
#else
#define FB_COMPAT_PREPARED	RQF_USE_SCHED
#endif

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

/* the number of a hardware queue's scheduler tags now; internal_tag is below it */
static inline u32 fb_compat_sched_tags(const struct blk_mq_hw_ctx *hctx)
{
	const struct blk_mq_tags *tags = hctx->sched_tags;

	return tags->nr_reserved_tags + tags->bitmap_tags.sb.depth;
}

/*
 * The shallow depth that limits an allocation to half of a queue's requests at most: before 6.17
 * that of each of its words. The bitmap must be told the smallest depth that will be used.
 */
static inline unsigned int fb_compat_half_depth(struct blk_mq_hw_ctx *hctx)
{
	struct sbitmap_queue *tags = &hctx->sched_tags->bitmap_tags;
	bool total = LINUX_VERSION_CODE >= KERNEL_VERSION(6, 17, 0);
	unsigned int half = max(1U, (total ? tags->sb.depth : 1U << tags->sb.shift) / 2);

	sbitmap_queue_min_shallow_depth(tags, half);
	return half;
}

/*
 * Some kernels, 6.12 among them, do not call completed_request() for a passthrough command, nor
 * account for its end, although its start was accounted for.
 */
static inline bool fb_compat_is_unaccounted(struct request *rq)
{
	return !blk_mq_need_time_stamp(rq);
}

/* do what blk_account_io_done() would have done for a read of a whole disk */
static inline void fb_compat_account_read(struct request *rq, u64 now)
{
	struct block_device *part = rq->part;
	unsigned long stamp;

	if (!(rq->rq_flags & RQF_IO_STAT) || !part)
		return;
	part_stat_lock();
	stamp = READ_ONCE(part->bd_stamp);
	if (time_after(jiffies, stamp) && try_cmpxchg(&part->bd_stamp, &stamp, jiffies))
		__part_stat_add(part, io_ticks, jiffies - stamp);
	part_stat_inc(part, ios[STAT_READ]);
	part_stat_add(part, nsecs[STAT_READ], now - rq->start_time_ns);
	part_stat_local_dec(part, in_flight[READ]);
	part_stat_unlock();
}

/* requests had an I/O priority of their own while lists of requests were plain pointers */
static inline void fb_compat_set_ioprio(struct request *rq, unsigned short prio)
{
#ifdef rq_list_peek
	rq->ioprio = prio;
#else
	rq->bio->bi_ioprio = prio;
#endif
}

/* would a drive treat a command of this priority differently: NCQ priority, duration limits? */
static inline bool fb_compat_ioprio_is_special(unsigned short prio)
{
#ifdef IOPRIO_PRIO_HINT
	if (IOPRIO_PRIO_HINT(prio))
		return true;
#endif
	return IOPRIO_PRIO_CLASS(prio) == IOPRIO_CLASS_RT;
}

/* @rq got a segment more at its front: say that there may be gaps between its segments */
static inline void fb_compat_note_segment(struct request *rq)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 19, 0)
	rq->phys_gap_bit = 1;
#endif
}

/* later kernels warn of the old name's use */
static inline struct workqueue_struct *fb_compat_unbound_wq(void)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 18, 0)
	return system_dfl_wq;
#else
	return system_unbound_wq;
#endif
}

static inline void fb_compat_timer_setup(struct hrtimer *timer,
					 enum hrtimer_restart (*fn)(struct hrtimer *),
					 enum hrtimer_mode mode)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(timer, fn, CLOCK_MONOTONIC, mode);
#else
	hrtimer_init(timer, CLOCK_MONOTONIC, mode);
	timer->function = fn;
#endif
}

/* it does not wait for readers, so a queue may be frozen */
static inline void fb_compat_debugfs_rename(struct dentry *parent, struct dentry *dir,
					    const char *name)
{
	if (IS_ERR_OR_NULL(dir))
		return;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 14, 0)
	debugfs_change_name(dir, "%s", name);
#else
	debugfs_rename(parent, dir, parent, name);
#endif
}

static inline int fb_compat_mode_sense(struct scsi_device *sdev, int page, u8 *buf, int len,
				       int timeout, struct scsi_mode_data *data,
				       struct scsi_sense_hdr *sense)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
	return scsi_mode_sense(sdev, 0, page, 0, buf, len, timeout, 1, data, sense);
#else
	return scsi_mode_sense(sdev, 0, page, buf, len, timeout, 1, data, sense);
#endif
}

static inline bool fb_compat_is_flash(struct request_queue *q)
{
#ifdef blk_queue_nonrot
	return blk_queue_nonrot(q);
#else
	return !blk_queue_rot(q);
#endif
}

/* does the device report writes before they are on the medium? */
static inline bool fb_compat_write_cache(struct request_queue *q)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
	return blk_queue_write_cache(q);
#else
	return test_bit(QUEUE_FLAG_WC, &q->queue_flags);
#endif
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

/* after what time without requests the kernel suspends a device; 0: never */
static inline u64 fb_compat_autosuspend_ns(const struct device *dev)
{
#ifdef CONFIG_PM
	int ms = READ_ONCE(dev->power.autosuspend_delay);

	if (dev->power.runtime_auto && dev->power.use_autosuspend && ms > 0)
		return ms * (u64)NSEC_PER_MSEC;
#endif
	return 0;
}

static inline int fb_compat_scsi_read(struct scsi_device *sdev, const u8 *cmd, u8 *buf, int len,
				      int timeout)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	return scsi_execute_cmd(sdev, cmd, REQ_OP_DRV_IN, buf, len, timeout, 1, NULL);
#else
	return scsi_execute_req(sdev, cmd, DMA_FROM_DEVICE, buf, len, NULL, timeout, 1, NULL);
#endif
}

/*
 * send a command for its sense data (SCSI_SENSE_BUFFERSIZE bytes), and the bytes at @buf to the
 * drive
 */
static inline void fb_compat_scsi_ask(struct scsi_device *sdev, const u8 *cmd, u8 *buf, int len,
				      u8 *sense, int timeout)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	const struct scsi_exec_args args = {
		.sense = sense,
		.sense_len = SCSI_SENSE_BUFFERSIZE,
	};

	scsi_execute_cmd(sdev, cmd, len ? REQ_OP_DRV_OUT : REQ_OP_DRV_IN, buf, len, timeout, 1,
			 &args);
#else
	__scsi_execute(sdev, cmd, len ? DMA_TO_DEVICE : DMA_NONE, buf, len, sense, NULL, timeout,
		       1, 0, 0, NULL);
#endif
}

/* there are no zones in kernels without them */
static inline int fb_compat_report_zones(struct block_device *bdev, sector_t sector, u32 zones,
					 report_zones_cb cb, void *data)
{
#ifdef CONFIG_BLK_DEV_ZONED
	return blkdev_report_zones(bdev, sector, zones, cb, data);
#else
	return -EOPNOTSUPP;
#endif
}

#endif /* FB_COMPAT_H */
