/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Differences between kernels 6.1, 6.12 and 7.2.
 */
#ifndef MECHDISK_COMPAT_H
#define MECHDISK_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/sysfs.h>
#include <linux/version.h>
#include <scsi/scsi_device.h>
#include <scsi/scsi_host.h>

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

/* Return type of queuecommand. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
#define MDK_QC_STATUS	enum scsi_qc_status
#else
#define MDK_QC_STATUS	int
#endif

/* The callback that sets up a new device, and its arguments. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 14, 0)
#define MDK_CONFIGURE		.sdev_configure
#define MDK_CONFIGURE_ARGS	struct scsi_device *sdev, struct queue_limits *lim
#else
#define MDK_CONFIGURE		.slave_configure
#define MDK_CONFIGURE_ARGS	struct scsi_device *sdev
#endif

/* Binary attributes became const for their callbacks. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 16, 0)
#define MDK_BIN_ATTR	const struct bin_attribute
#else
#define MDK_BIN_ATTR	struct bin_attribute
#endif

/* libata's callbacks for resets have a struct of their own (Kbuild looks); filling a result
 * became sure.
 */
#ifdef MDK_ATA_RESETS
#define MDK_RESET(op)		.reset.op
#else
#define MDK_RESET(op)		.op
#endif
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 8, 0)
#define MDK_FILL_RTF		void
#define MDK_FILLED
#else
#define MDK_FILL_RTF		bool
#define MDK_FILLED		true
#endif

static inline void mdk_timer_setup(struct hrtimer *timer,
				   enum hrtimer_restart (*fn)(struct hrtimer *))
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 15, 0)
	hrtimer_setup(timer, fn, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
#else
	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	timer->function = fn;
#endif
}

#endif /* MECHDISK_COMPAT_H */
