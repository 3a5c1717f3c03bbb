/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Blocks of a disk, read in the background: /dev/freeblock/<disk>
 * (Documentation/user-device.rst; the kernel's own interface is include/freeblock.h).
 *
 *	dev = open("/dev/freeblock/sda", O_RDONLY);
 *	ioctl(dev, FREEBLOCK_IOC_SETUP, &setup);	once: which block device, how
 *	ioctl(dev, FREEBLOCK_IOC_ADD, &range);		at any time, any number of them
 *	ioctl(dev, FREEBLOCK_IOC_START);
 *	while ((n = read(dev, buf, size)) > 0)		struct freeblock_record, data, ...
 *	close(dev);					at any time: all of it is undone
 *
 * An open file is one task. Whoever opens it needs CAP_SYS_RAWIO; whoever sets it up shows
 * that the data is theirs by a file descriptor of the block device, open for reading: the
 * disk, or a partition of it. All sectors are of 512 bytes and are counted from the start
 * of that block device. Nothing outside of it is delivered. The descriptor may be closed
 * after the set-up.
 *
 * Sectors are wanted and delivered in whole blocks, of granule_sectors each, which are
 * counted from the start of the disk: of a partition that does not begin or end with a
 * block, the first or last one is shorter. A range begins and ends where blocks do, or
 * where the block device does. A block is delivered once, however often it is declared
 * before its read is sent; in any order. It holds what the medium held when it was read:
 * pages not yet written back are not in it (a consistent copy needs a snapshot, or nobody
 * who writes).
 *
 * read() delivers whole records only, as many as there are and fit, and returns their
 * bytes. While there are none it waits, or returns EAGAIN (O_NONBLOCK). It returns 0 when
 * everything declared has been delivered; with FREEBLOCK_IOC_KEEP never. Other than that:
 *
 *	EMSGSIZE	@size is less than the next record: a header and a block always fit
 *			into freeblock_ioc_setup.record_bytes
 *	EBADFD		not set up, or not started
 *	ECANCELED	stopped (FREEBLOCK_IOC_STOP, or by the administrator) before all had
 *			been delivered
 *	ENODEV		the disk is gone. The task goes on when it comes back, and so may read()
 *	EFAULT, EINTR	as ever; nothing is lost
 *
 * Readers may be several, in threads or after fork(): each record goes to one of them.
 * What is not read is kept, buffer_kib of it at most; then the task waits, and only it.
 *
 * poll(): POLLIN: read() would not wait. POLLHUP: the disk is gone, or the task stopped.
 *
 * ioctl() returns 0 or fails, changes nothing then, and FREEBLOCK_IOC_REASON says in words
 * why. Common to all but that one:
 *
 *	ENOTTY		no such call
 *	EFAULT		the argument cannot be read or written
 *	EINVAL		reserved fields or flags that are not 0; a value out of its range
 *	EBADFD		not set up yet
 *	ENOMEM
 */
#ifndef UAPI_FREEBLOCK_H
#define UAPI_FREEBLOCK_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define FREEBLOCK_IOC_VERSION 1

#define FREEBLOCK_IOC_BUFFER_KIB 4096		/* when freeblock_ioc_setup.buffer_kib is 0 */
#define FREEBLOCK_IOC_BUFFER_KIB_MIN 64
#define FREEBLOCK_IOC_BUFFER_KIB_MAX 65536
#define FREEBLOCK_IOC_NAME_LEN 16
#define FREEBLOCK_IOC_REASON_LEN 192

/* freeblock_ioc_setup.flags, or-ed */
#define FREEBLOCK_IOC_MEDIUM (1u << 0)	/* read from the medium, not from the drive's cache */
#define FREEBLOCK_IOC_NO_DATA (1u << 1)	/* records without data: it is read and forgotten */
#define FREEBLOCK_IOC_KEEP (1u << 2)	/* when all is delivered, wait for more to be added */

/* freeblock_ioc_setup.order: of reads while the disk is idle; gaps have their own */
#define FREEBLOCK_IOC_NEAR 0		/* what is cheapest from where the head is */
#define FREEBLOCK_IOC_SEQUENTIAL 1	/* ascending */
#define FREEBLOCK_IOC_STAGGERED 2	/* a segment of each region in turn */

/**
 * struct freeblock_ioc_setup - FREEBLOCK_IOC_SETUP
 * @version: FREEBLOCK_IOC_VERSION
 * @fd: file descriptor of the block device, open for reading
 * @flags: see above
 * @priority: 0 .. 7, idle time goes to higher ones first; 4 is usual
 * @deadline_ns: when all should be delivered, of CLOCK_MONOTONIC; 0: whenever
 * @buffer_kib: what may wait to be read; 0: FREEBLOCK_IOC_BUFFER_KIB; else between
 *	FREEBLOCK_IOC_BUFFER_KIB_MIN and _MAX
 * @order: see above
 * @regions: of FREEBLOCK_IOC_STAGGERED, at least 1; else 0
 * @segment_sectors: of FREEBLOCK_IOC_STAGGERED, a multiple of the disk's granule; else 0
 * @name: for people, in the list of tasks; one word of ASCII, ends with a 0; empty: the
 *	command's
 * @sectors: returned: length of the block device
 * @start_sector: returned: where it begins on the disk
 * @granule_sectors: returned: length of a block
 * @record_bytes: returned: into so much any record fits; more lets blocks be joined
 * @reserved: 0
 *
 * Beyond the common errors:
 *
 *	EPROTONOSUPPORT	@version is not known
 *	EALREADY	the file is set up
 *	EPERM		without CAP_SYS_RAWIO
 *	EBADF		@fd is not open, or not for reading
 *	ENOTBLK		@fd is not a block device
 *	EXDEV		@fd is not this disk nor a partition of it
 *	ENODEV		the disk is gone
 *	ENODATA		the disk has no model
 *	EBUSY		the disk has as many tasks as it can have
 *	ENOSPC		the memory that all tasks may have (freeblock.memory_mib) is in use
 */
struct freeblock_ioc_setup {
	__u32 version;
	__s32 fd;
	__u32 flags;
	__u32 priority;
	__u64 deadline_ns;
	__u32 buffer_kib;
	__u32 order;
	__u32 regions;
	__u32 segment_sectors;
	char name[FREEBLOCK_IOC_NAME_LEN];
	__u64 sectors;
	__u64 start_sector;
	__u32 granule_sectors;
	__u32 record_bytes;
	__u64 reserved[4];
};

/**
 * struct freeblock_ioc_range - FREEBLOCK_IOC_ADD, _REMOVE, _PROMOTE
 * @first: first sector
 * @count: how many
 * @reserved: 0
 *
 * ADD: want these blocks; those that have been delivered, or are on their way, are read
 * and delivered once more. REMOVE: want
 * them no longer; what is on its way still comes. PROMOTE: read now, as any other read,
 * those of them that are wanted.
 *
 * Beyond the common errors:
 *
 *	EINVAL		@count is 0; or it begins or ends within a block
 *	ERANGE		it goes beyond the end of the block device
 *	ENOSPC		too many ranges wait to be entered: try again later
 *	ESHUTDOWN	stopped, or all has been delivered (and no FREEBLOCK_IOC_KEEP)
 *	EBADFD		(PROMOTE) not started
 *	EOPNOTSUPP	(REMOVE, PROMOTE) the module cannot
 */
struct freeblock_ioc_range {
	__u64 first;
	__u64 count;
	__u64 reserved[2];
};

/* freeblock_ioc_progress.state */
#define FREEBLOCK_IOC_NEW 0		/* not started */
#define FREEBLOCK_IOC_RUNNING 1
#define FREEBLOCK_IOC_PAUSED 2
#define FREEBLOCK_IOC_FINISHED 3	/* all declared has been read: records may wait */
#define FREEBLOCK_IOC_STOPPED 4		/* some of it has not: records may wait */

/**
 * struct freeblock_ioc_progress - FREEBLOCK_IOC_PROGRESS
 * @total: blocks declared; it grows while ranges are entered, see @entering
 * @done: blocks handed to this file, read or waiting to be read, whatever their status
 * @failed: those of @done that are unreadable or untried
 * @flying: blocks being read from the disk
 * @granule_sectors: length of a block
 * @state: see above
 * @waiting: blocks that wait to be read()
 * @buffer_blocks: blocks that can wait
 * @entering: 1: ranges added or removed are still being entered
 * @gone: 1: the disk is gone
 * @stalled_ns: so long the task has waited for readers in all
 * @reserved: returned as 0
 */
struct freeblock_ioc_progress {
	__u64 total;
	__u64 done;
	__u64 failed;
	__u64 flying;
	__u32 granule_sectors;
	__u32 state;
	__u32 waiting;
	__u32 buffer_blocks;
	__u32 entering;
	__u32 gone;
	__u64 stalled_ns;
	__u64 reserved[4];
};

/**
 * struct freeblock_ioc_urgency - FREEBLOCK_IOC_URGENCY: change it, at any time
 * @priority: as in struct freeblock_ioc_setup
 * @pad: 0
 * @deadline_ns: as in struct freeblock_ioc_setup
 */
struct freeblock_ioc_urgency {
	__u32 priority;
	__u32 pad;
	__u64 deadline_ns;
};

/**
 * struct freeblock_ioc_reason - FREEBLOCK_IOC_REASON
 * @text: why the last call on this file that failed did so, in a line that ends with a 0;
 *	"" when none has failed
 *
 * Other threads' calls count too. Works before the set-up.
 */
struct freeblock_ioc_reason {
	char text[FREEBLOCK_IOC_REASON_LEN];
};

#define FREEBLOCK_IOC_MAGIC 0xfb

#define FREEBLOCK_IOC_SETUP _IOWR(FREEBLOCK_IOC_MAGIC, 0, struct freeblock_ioc_setup)
#define FREEBLOCK_IOC_ADD _IOW(FREEBLOCK_IOC_MAGIC, 1, struct freeblock_ioc_range)
#define FREEBLOCK_IOC_REMOVE _IOW(FREEBLOCK_IOC_MAGIC, 2, struct freeblock_ioc_range)
#define FREEBLOCK_IOC_PROMOTE _IOW(FREEBLOCK_IOC_MAGIC, 3, struct freeblock_ioc_range)
/*
 * EINVAL: nothing is declared, and no FREEBLOCK_IOC_KEEP; EALREADY: it was started;
 * ESHUTDOWN: the administrator has stopped it
 */
#define FREEBLOCK_IOC_START _IO(FREEBLOCK_IOC_MAGIC, 4)
/*
 * Read nothing until RESUME; what is on its way still comes. EBADFD: not started; EALREADY:
 * it is that; ESHUTDOWN: stopped, or all has been delivered
 */
#define FREEBLOCK_IOC_PAUSE _IO(FREEBLOCK_IOC_MAGIC, 5)
#define FREEBLOCK_IOC_RESUME _IO(FREEBLOCK_IOC_MAGIC, 6)
/* for good; what waits can still be read. EBADFD: not started */
#define FREEBLOCK_IOC_STOP _IO(FREEBLOCK_IOC_MAGIC, 7)
#define FREEBLOCK_IOC_URGENCY _IOW(FREEBLOCK_IOC_MAGIC, 8, struct freeblock_ioc_urgency)
#define FREEBLOCK_IOC_PROGRESS _IOR(FREEBLOCK_IOC_MAGIC, 9, struct freeblock_ioc_progress)
#define FREEBLOCK_IOC_REASON _IOR(FREEBLOCK_IOC_MAGIC, 10, struct freeblock_ioc_reason)

/* freeblock_record.status */
#define FREEBLOCK_RECORD_OK 0
#define FREEBLOCK_RECORD_UNREADABLE 1	/* the medium is bad there */
#define FREEBLOCK_RECORD_UNTRIED 2	/* just behind an unreadable one: too slow to try */

/**
 * struct freeblock_record - what read() delivers; its data follows at once
 * @lbn: first sector, from the start of the block device
 * @sectors: length, one or more blocks
 * @data_bytes: bytes of data behind this header: 512 * @sectors; 0 when @status is not
 *	FREEBLOCK_RECORD_OK, or with FREEBLOCK_IOC_NO_DATA
 * @status: see above
 * @version: FREEBLOCK_IOC_VERSION
 * @header_bytes: where the data begins, from the start of this header; the next record
 *	follows @header_bytes + @data_bytes behind it
 * @reserved: 0
 */
struct freeblock_record {
	__u64 lbn;
	__u32 sectors;
	__u32 data_bytes;
	__u32 status;
	__u16 version;
	__u16 header_bytes;
	__u64 reserved;
};

#endif /* UAPI_FREEBLOCK_H */
