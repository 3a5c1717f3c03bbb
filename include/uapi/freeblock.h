/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Background reads of a disk's blocks through /dev/freeblock/<disk>
 * (Documentation/user-device.rst; the in-kernel interface is include/freeblock.h).
 *
 *	dev = open("/dev/freeblock/sda", O_RDONLY);
 *	ioctl(dev, FREEBLOCK_IOC_SETUP, &setup);	once: the block device, and options
 *	ioctl(dev, FREEBLOCK_IOC_ADD, &range);		at any time, any number of times
 *	ioctl(dev, FREEBLOCK_IOC_START);
 *	while ((n = read(dev, buf, size)) > 0)		struct freeblock_record, data, ...
 *	close(dev);					at any time: ends the task
 *
 * An open file is one task. Opening the device and setting it up need CAP_SYS_RAWIO. The
 * set-up also takes a file descriptor of the block device (the disk or a partition of it),
 * open for reading, which proves access to the data; it may be closed after the set-up. All
 * sectors have 512 bytes and are counted from the start of that block device. Nothing
 * outside it is delivered.
 *
 * Sectors are wanted and delivered in whole blocks of granule_sectors each, counted from
 * the start of the disk: if a partition does not begin or end on a block boundary, its
 * first or last block is shorter. A range must begin and end on a boundary of blocks or of
 * the block device. A block is delivered once, however often it is declared before its
 * read is sent; blocks come in any order. A block holds what the medium held when it was
 * read, without pages not yet written back (for a consistent copy read a snapshot, or let
 * nothing write).
 *
 * read() delivers only whole records, as many as are ready and fit, and returns their
 * size in bytes. While there are none it waits, or fails with EAGAIN (O_NONBLOCK). It
 * returns 0 when everything declared has been delivered; with FREEBLOCK_IOC_KEEP never.
 * Other errors:
 *
 *	EMSGSIZE	the buffer is smaller than the next record; a buffer of
 *			freeblock_ioc_setup.record_bytes always holds a header and a block
 *	EBADFD		not set up, or not started
 *	ECANCELED	stopped (by FREEBLOCK_IOC_STOP or the administrator) before everything
 *			had been delivered
 *	ENODEV		the disk is gone; if it comes back, the task continues and read() works
 *			again
 *	EFAULT, EINTR	as usual; no record is lost
 *
 * There may be several readers, in threads or after fork(); each record goes to one of
 * them. Up to buffer_kib of records wait to be read; then the task waits, but no other one.
 *
 * poll() reports POLLIN when read() would not wait, and POLLHUP when the disk is gone or
 * the task was stopped.
 *
 * ioctl() returns 0; or it fails and changes nothing, and FREEBLOCK_IOC_REASON tells in
 * words why. Errors of all calls but that one:
 *
 *	ENOTTY		no such call
 *	EFAULT		the argument cannot be read or written
 *	EINVAL		reserved fields or unknown flags are not 0; a value is out of range
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
#define FREEBLOCK_IOC_NO_DATA (1u << 1)	/* records without data: blocks are only read */
#define FREEBLOCK_IOC_KEEP (1u << 2)	/* when all is delivered, wait for more to be added */

/* freeblock_ioc_setup.order: order of reads while the disk is idle; not of reads in gaps */
#define FREEBLOCK_IOC_NEAR 0		/* the cheapest from the head's position */
#define FREEBLOCK_IOC_SEQUENTIAL 1	/* ascending */
#define FREEBLOCK_IOC_STAGGERED 2	/* a segment of each region in turn */

/**
 * struct freeblock_ioc_setup - FREEBLOCK_IOC_SETUP
 * @version: FREEBLOCK_IOC_VERSION
 * @fd: file descriptor of the block device, open for reading
 * @flags: see above
 * @priority: 0 .. 7, idle time goes to higher priorities first; 4 is usual
 * @deadline_ns: time of CLOCK_MONOTONIC when all should be delivered; 0: none
 * @buffer_kib: buffer for blocks not yet read; 0: FREEBLOCK_IOC_BUFFER_KIB; otherwise
 *	between FREEBLOCK_IOC_BUFFER_KIB_MIN and _MAX
 * @order: see above
 * @regions: for FREEBLOCK_IOC_STAGGERED: at least 1; otherwise 0
 * @segment_sectors: for FREEBLOCK_IOC_STAGGERED: a multiple of the granule; otherwise 0
 * @name: shown in the list of tasks; one NUL-terminated ASCII word; empty: the command's
 *	name
 * @sectors: returned: length of the block device
 * @start_sector: returned: where it begins on the disk
 * @granule_sectors: returned: length of a block
 * @record_bytes: returned: buffer size that holds any record of one block; a larger buffer
 *	lets adjacent blocks be joined
 * @reserved: 0
 *
 * Further errors:
 *
 *	EPROTONOSUPPORT	@version is not known
 *	EALREADY	the file is set up already
 *	EPERM		the caller lacks CAP_SYS_RAWIO
 *	EBADF		@fd is not open, or not for reading
 *	ENOTBLK		@fd is not a block device
 *	EXDEV		@fd is neither this disk nor a partition of it
 *	ENODEV		the disk is gone
 *	ENODATA		the disk has no model
 *	EBUSY		the disk has the maximum number of tasks
 *	ENOSPC		the memory limit of all tasks (freeblock.memory_mib) would be exceeded
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
 * @count: number of sectors
 * @reserved: 0
 *
 * ADD: these blocks are wanted; those already delivered or in flight are read and delivered
 * once more. REMOVE: they are no longer wanted; those in flight are still delivered.
 * PROMOTE: those of them that are wanted are read now, as ordinary foreground reads.
 *
 * Further errors:
 *
 *	EINVAL		@count is 0, or the range begins or ends within a block
 *	ERANGE		the range goes beyond the end of the block device
 *	ENOSPC		too many ranges are waiting to be entered: try again later
 *	ESHUTDOWN	stopped, or all has been delivered (and no FREEBLOCK_IOC_KEEP)
 *	EBADFD		(PROMOTE) not started
 *	EOPNOTSUPP	(REMOVE, PROMOTE) not supported by the module
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
#define FREEBLOCK_IOC_FINISHED 3	/* all was read from the disk; records may wait */
#define FREEBLOCK_IOC_STOPPED 4		/* stopped before that; records may wait */

/**
 * struct freeblock_ioc_progress - FREEBLOCK_IOC_PROGRESS
 * @total: blocks declared; grows while ranges are entered, see @entering
 * @done: blocks handed to this file, read() or still waiting, whatever their status
 * @failed: blocks of @done that are unreadable or untried
 * @flying: blocks being read from the disk
 * @granule_sectors: length of a block
 * @state: see above
 * @waiting: blocks that wait to be read()
 * @buffer_blocks: blocks that the buffer can hold
 * @entering: 1: ranges added or removed are still being entered
 * @gone: 1: the disk is gone
 * @stalled_ns: total time the task has waited for readers
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
 * struct freeblock_ioc_urgency - FREEBLOCK_IOC_URGENCY: allowed at any time
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
 * @text: why the last failed call on this file failed, as one NUL-terminated line; "" when
 *	none has failed
 *
 * Calls of other threads count too. It works before the set-up.
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
 * EINVAL: nothing is declared, and no FREEBLOCK_IOC_KEEP; EALREADY: started already;
 * ESHUTDOWN: stopped by the administrator
 */
#define FREEBLOCK_IOC_START _IO(FREEBLOCK_IOC_MAGIC, 4)
/*
 * PAUSE reads nothing until RESUME; blocks in flight are still delivered. EBADFD: not started;
 * EALREADY: paused or running already; ESHUTDOWN: stopped, or all has been delivered
 */
#define FREEBLOCK_IOC_PAUSE _IO(FREEBLOCK_IOC_MAGIC, 5)
#define FREEBLOCK_IOC_RESUME _IO(FREEBLOCK_IOC_MAGIC, 6)
/* Final; records that wait can still be read. EBADFD: not started */
#define FREEBLOCK_IOC_STOP _IO(FREEBLOCK_IOC_MAGIC, 7)
#define FREEBLOCK_IOC_URGENCY _IOW(FREEBLOCK_IOC_MAGIC, 8, struct freeblock_ioc_urgency)
#define FREEBLOCK_IOC_PROGRESS _IOR(FREEBLOCK_IOC_MAGIC, 9, struct freeblock_ioc_progress)
#define FREEBLOCK_IOC_REASON _IOR(FREEBLOCK_IOC_MAGIC, 10, struct freeblock_ioc_reason)

/* freeblock_record.status */
#define FREEBLOCK_RECORD_OK 0
#define FREEBLOCK_RECORD_UNREADABLE 1	/* the medium is bad there */
#define FREEBLOCK_RECORD_UNTRIED 2	/* just behind an unreadable block: too slow to try */

/**
 * struct freeblock_record - header of a record of read(); its data follows directly
 * @lbn: first sector, from the start of the block device
 * @sectors: length, one or more blocks
 * @data_bytes: bytes of data: 512 * @sectors; 0 when @status is not FREEBLOCK_RECORD_OK,
 *	or with FREEBLOCK_IOC_NO_DATA
 * @status: see above
 * @version: FREEBLOCK_IOC_VERSION
 * @header_bytes: offset of the data from the start of this header; the next record begins
 *	at @header_bytes + @data_bytes
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
