/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Background reads of a disk's blocks through /dev/freeblock
 * (Documentation/user-device.rst; the in-kernel interface is include/freeblock.h).
 *
 * An open file is one task. All sectors have 512 bytes and are counted from the start of the block
 * device, as it was at the set-up; they are wanted and delivered in whole blocks of
 * granule_sectors, counted from the start of the disk. What read() and poll() return, and errors of
 * all calls, are in Documentation/user-device.rst.
 *
 * Every structure begins with its size as the caller knows it, so that it may grow. Fields that
 * the caller does not know are 0 for the module. Of fields that the module does not know all bytes
 * must be 0, or the call fails with E2BIG. Zeros apart from the size ask for what is usual. A
 * call's number has the size of the first version's structure in it, and stays the same.
 */
#ifndef UAPI_FREEBLOCK_H
#define UAPI_FREEBLOCK_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define FREEBLOCK_API_VERSION 1

/* features, or-ed; what is not asked for is not done */
#define FREEBLOCK_FEATURE_EVENTS (1ull << 0)	/* read() delivers records of events, too */
#define FREEBLOCK_FEATURE_COVERAGE (1ull << 1)	/* the task remembers which blocks were read() */
#define FREEBLOCK_FEATURE_PROBES (1ull << 2)	/* FREEBLOCK_IOC_PROBE: reads that are timed */

#define FREEBLOCK_BUFFER_KIB 4096		/* when freeblock_ioc_setup.buffer_kib is 0 */
#define FREEBLOCK_BUFFER_KIB_MIN 64
#define FREEBLOCK_BUFFER_KIB_MAX 65536
#define FREEBLOCK_NAME_LEN 16
#define FREEBLOCK_REASON_LEN 192

/* freeblock_ioc_setup.flags, or-ed */
#define FREEBLOCK_SETUP_MEDIUM (1u << 0)	/* read from the medium, not the drive's cache */
#define FREEBLOCK_SETUP_NO_DATA (1u << 1)	/* records without data: blocks are only read */
#define FREEBLOCK_SETUP_KEEP (1u << 2)	/* when all is delivered, wait for more to be added */

/* freeblock_ioc_setup.order: of reads while the disk is idle, not in gaps */
enum freeblock_order {
	FREEBLOCK_ORDER_NEAR = 0,	/* the cheapest from the head's position */
	FREEBLOCK_ORDER_SEQUENTIAL = 1,	/* ascending */
	/* the first segment of each region, then the second of each: finds bad bursts soonest */
	FREEBLOCK_ORDER_STAGGERED = 2,
};

/* priorities: idle time goes to higher ones first; 0 is the usual one */
#define FREEBLOCK_PRIORITY_MIN (-4)
#define FREEBLOCK_PRIORITY_MAX 3

/*
 * FREEBLOCK_IOC_API: agree on version and features. Further errors: EPROTONOSUPPORT (of @version),
 * EOPNOTSUPP (the module lacks some of @features), EALREADY (done already).
 */
struct freeblock_ioc_api {
	__u32 size;			/* of this structure */
	__u32 version;			/* FREEBLOCK_API_VERSION */
	__aligned_u64 features;		/* what the caller wants: all are granted, or it fails */
	__aligned_u64 offered;		/* returned: all features of the module */
};

/*
 * FREEBLOCK_IOC_SETUP: the block device, and options. Further errors:
 *
 *	EALREADY	the file is set up already
 *	EPERM		the caller lacks CAP_SYS_RAWIO
 *	EBADF		@fd is not open, or not for reading
 *	ENOTBLK		@fd is not a block device
 *	ENODEV		the disk is gone, or has never had freeblock as its scheduler
 *	ENODATA		the disk's capacity has changed since it got the scheduler
 *	EBUSY		the disk has the maximum number of tasks
 *	ENOSPC		the memory limit of all tasks (freeblock.memory_mib) would be exceeded
 */
struct freeblock_ioc_setup {
	__u32 size;			/* of this structure */
	__s32 fd;			/* the block device, open for reading */
	__u32 flags;			/* FREEBLOCK_SETUP_... */
	__s32 priority;			/* FREEBLOCK_PRIORITY_MIN .. _MAX */
	/* time of CLOCK_MONOTONIC when all should be delivered; 0: none */
	__aligned_u64 deadline_ns;
	/* buffer for blocks not yet read, FREEBLOCK_BUFFER_KIB_MIN .. _MAX; 0: _KIB */
	__u32 buffer_kib;
	__u32 order;			/* enum freeblock_order */
	__u32 regions;		/* for FREEBLOCK_ORDER_STAGGERED: at least 1; otherwise 0 */
	__u32 segment_sectors;	/* for it: a multiple of the granule; otherwise 0 */
	/*
	 * share of the disk's time, in millionths, that it may take while it is late; at most
	 * 500000
	 */
	__u32 foreground_ppm;
	__u32 pad;			/* 0 */
	/* shown in the list of tasks: a NUL-terminated ASCII word; empty: the command's name */
	char name[FREEBLOCK_NAME_LEN];
	/* returned: */
	__aligned_u64 sectors;		/* length of the block device */
	__aligned_u64 start_sector;	/* where it begins on the disk */
	__aligned_u64 blocks;		/* its length in blocks, shorter ones at its ends, too */
	__u32 granule_sectors;		/* length of a block */
	/* buffer size that holds any record of one block; a larger one lets blocks be joined */
	__u32 record_bytes;
	__u32 ranges_max;		/* ranges that one call takes */
	__u32 pad2;			/* 0 */
};

/* Sectors, and what they mean to the caller */
struct freeblock_range {
	__aligned_u64 first;		/* first sector */
	__aligned_u64 count;		/* number of sectors */
	/*
	 * comes back with the range's blocks; of overlapping ranges that of the one added last. For
	 * REMOVE and PROMOTE: 0
	 */
	__aligned_u64 user_data;
};

/* freeblock_ioc_ranges.flags */
#define FREEBLOCK_RANGES_UNCOVERED (1u << 0)	/* ADD only what the coverage lacks */

/*
 * FREEBLOCK_IOC_ADD, _REMOVE, _PROMOTE: all ranges or, if the call fails, none. ADD: these blocks
 * are read, also if they were delivered, or are in flight. REMOVE: they are no longer wanted; those
 * in flight are still delivered. PROMOTE: those that are wanted are read now, as foreground reads.
 * Further errors: EINVAL (a range is empty, or begins or ends within a block), ERANGE (it goes
 * beyond the end of the block device), ENOSPC (too many ranges wait to be entered, which happens
 * from FREEBLOCK_IOC_START on, or too many values of user_data are remembered: wait for POLLOUT),
 * ESHUTDOWN (stopped, or all has been delivered, and no FREEBLOCK_SETUP_KEEP), EBADFD (PROMOTE: not
 * started), EOPNOTSUPP (FREEBLOCK_RANGES_UNCOVERED without FREEBLOCK_FEATURE_COVERAGE).
 */
struct freeblock_ioc_ranges {
	__u32 size;			/* of this structure */
	__u32 range_bytes;		/* of struct freeblock_range */
	__aligned_u64 ranges;		/* address of an array of struct freeblock_range */
	__u32 nranges;			/* its length: 1 .. freeblock_ioc_setup.ranges_max */
	__u32 flags;			/* FREEBLOCK_RANGES_... */
};

/* freeblock_ioc_progress.state */
#define FREEBLOCK_STATE_NEW 0		/* not started */
#define FREEBLOCK_STATE_RUNNING 1
#define FREEBLOCK_STATE_PAUSED 2
#define FREEBLOCK_STATE_FINISHED 3	/* all was read from the disk; records may wait */
#define FREEBLOCK_STATE_STOPPED 4		/* stopped before that; records may wait */

/*
 * What keeps a task from reading, the first that holds. FREEBLOCK_WAIT_READER and what follows it
 * count when the task has got no block for a second, though it could have. The disk is busy for a
 * second after its last foreground request.
 */
enum freeblock_wait {
	FREEBLOCK_WAIT_NONE = 0,	/* nothing: it reads, is not running, or wants nothing */
	FREEBLOCK_WAIT_DISK = 1,	/* the disk is gone */
	FREEBLOCK_WAIT_SCHEDULER = 2,	/* the disk has another scheduler */
	FREEBLOCK_WAIT_CAPACITY = 3,	/* the disk's capacity has changed */
	FREEBLOCK_WAIT_TRUST = 4,	/* not used any more */
	FREEBLOCK_WAIT_UNFIT = 5,	/* the device cannot be scheduled */
	FREEBLOCK_WAIT_ALARM = 6,	/* paused: too many errors, or slow recoveries */
	FREEBLOCK_WAIT_READER = 7,	/* the buffer is full: read() makes room */
	FREEBLOCK_WAIT_CACHE = 8,	/* blocks come from the drive's cache, not the medium */
	FREEBLOCK_WAIT_GUARD = 9,	/* free reads are off: they cost the foreground too much */
	FREEBLOCK_WAIT_GAP = 10,	/* the disk is busy, and no gap has fitted lately */
	FREEBLOCK_WAIT_IDLE = 11,	/* the disk is idle, but not for long enough yet */
	FREEBLOCK_WAIT_ASLEEP = 12,	/* the drive sleeps, or rests so that it can: not woken */
};

/* FREEBLOCK_IOC_PROGRESS: all but @size is returned; the call clears POLLPRI. */
struct freeblock_ioc_progress {
	__u32 size;			/* of this structure */
	__u32 state;			/* FREEBLOCK_STATE_... */
	__u32 waiting_for;		/* enum freeblock_wait */
	__u32 entering;	/* ranges added, removed or promoted that are still being entered */
	__aligned_u64 total;	/* blocks declared; grows while ranges are entered, see @entering */
	/* blocks handed to this file, read() or still waiting, whatever their status */
	__aligned_u64 done;
	__aligned_u64 failed;	/* blocks of @done that are unreadable, untried or unverified */
	__aligned_u64 flying;	/* blocks being read from the disk, or handed to this file */
	__u32 queued;			/* blocks that wait to be read() */
	__u32 buffer_blocks;		/* blocks that the buffer can hold */
	__aligned_u64 stalled_ns;	/* it has waited for readers, but for a wait under way */
};

/* FREEBLOCK_IOC_URGENCY, allowed at any time: as in struct freeblock_ioc_setup */
struct freeblock_ioc_urgency {
	__u32 size;			/* of this structure */
	__s32 priority;
	__aligned_u64 deadline_ns;
	__u32 foreground_ppm;
	__u32 pad;			/* 0 */
};

/*
 * FREEBLOCK_IOC_GET_COVERAGE, _SET_COVERAGE: the blocks that were read() without error, by an
 * earlier task, too, if that was set before the start. Valid for the same granule_sectors,
 * start_sector and sectors only. Further errors: EOPNOTSUPP (without FREEBLOCK_FEATURE_COVERAGE),
 * ERANGE (beyond the last block), EBUSY (SET: started already).
 */
struct freeblock_ioc_bits {
	__u32 size;			/* of this structure */
	__u32 pad;			/* 0 */
	__aligned_u64 first;	/* block of the block device, a multiple of 8 */
	/* blocks, at most FREEBLOCK_BITS_MAX, a multiple of 8 unless they are the last */
	__aligned_u64 count;
	/* address of (@count + 7) / 8 bytes: a bit a block, from the lowest of the first byte on */
	__aligned_u64 bits;
};

#define FREEBLOCK_BITS_MAX (8u << 20)		/* blocks of one struct freeblock_ioc_bits */

/* freeblock_probe.flags, or-ed */
#define FREEBLOCK_PROBE_ALONE (1u << 0)	/* the drive got nothing else while it had this read */
#define FREEBLOCK_PROBE_NEXT (1u << 1)	/* ... nor between the probe before and this one */
#define FREEBLOCK_PROBE_MEDIUM (1u << 2)	/* it came from the medium, not the drive's cache */

/* A read of a few sectors, and when it was at the drive */
struct freeblock_probe {
	__aligned_u64 first;		/* first sector, from the start of the block device */
	__u32 count;	/* sectors: whole logical blocks of the disk, at most granule_sectors */
	/* returned: */
	__u32 status;	/* FREEBLOCK_STATUS_...; UNTRIED: failed otherwise, or in doubt */
	/* times of CLOCK_MONOTONIC: handed to the driver, and reported by it; 0: not sent */
	__aligned_u64 sent_ns;
	__aligned_u64 ended_ns;
	__u32 flags;			/* FREEBLOCK_PROBE_... */
	__u32 pad;			/* 0 */
};

/*
 * FREEBLOCK_IOC_PROBE: read, and tell when. Probes are idle reads of the task, one by one, before
 * its blocks. It returns when all are done, after @timeout_ms, or at a signal, with those that are
 * done. Other calls of the file go on meanwhile. A task that wants nothing else needs
 * FREEBLOCK_SETUP_KEEP. Further errors: EOPNOTSUPP (without FREEBLOCK_FEATURE_PROBES; or the disk
 * has zones that are written in sequence), EBADFD (not started), EINVAL (a probe is empty, too
 * long, or not of whole logical blocks), ERANGE (beyond the end of the block device), EBUSY
 * (another thread has probes sent), ESHUTDOWN (stopped, or all has been delivered), ENODEV (the
 * disk is gone), EINTR (a signal, and no probe is done).
 */
struct freeblock_ioc_probes {
	__u32 size;			/* of this structure */
	__u32 probe_bytes;		/* of struct freeblock_probe */
	__aligned_u64 probes;		/* address of an array of struct freeblock_probe */
	__u32 nprobes;			/* its length: 1 .. FREEBLOCK_PROBES_MAX */
	__u32 timeout_ms;		/* at most FREEBLOCK_PROBE_MS_MAX; 0: none */
	__u32 done;			/* returned: those that were carried out, the first ones */
	__u32 pad;			/* 0 */
};

#define FREEBLOCK_PROBES_MAX 256
#define FREEBLOCK_PROBE_MS_MAX 3600000

/* FREEBLOCK_IOC_REASON: works before the handshake; calls of other threads count, too. */
struct freeblock_ioc_reason {
	__u32 size;			/* of this structure */
	__u32 pad;			/* 0 */
	/* returned: why the last failed call on this file failed, one line; "": none has failed */
	char text[FREEBLOCK_REASON_LEN];
};

#define FREEBLOCK_IOC_MAGIC 0xfb

/* the calls' numbers keep the sizes of the first version when structures grow */
#define FREEBLOCK_IOC_API _IOWR(FREEBLOCK_IOC_MAGIC, 0, char[24])
#define FREEBLOCK_IOC_SETUP _IOWR(FREEBLOCK_IOC_MAGIC, 1, char[104])
#define FREEBLOCK_IOC_ADD _IOW(FREEBLOCK_IOC_MAGIC, 2, char[24])
#define FREEBLOCK_IOC_REMOVE _IOW(FREEBLOCK_IOC_MAGIC, 3, char[24])
#define FREEBLOCK_IOC_PROMOTE _IOW(FREEBLOCK_IOC_MAGIC, 4, char[24])
/*
 * EINVAL: nothing is declared, and no FREEBLOCK_SETUP_KEEP; EALREADY: started already;
 * ESHUTDOWN: stopped by the administrator
 */
#define FREEBLOCK_IOC_START _IO(FREEBLOCK_IOC_MAGIC, 5)
/*
 * PAUSE reads nothing until RESUME; blocks in flight are still delivered. EBADFD: not started;
 * EALREADY: paused or running already; ESHUTDOWN: stopped, or all has been delivered
 */
#define FREEBLOCK_IOC_PAUSE _IO(FREEBLOCK_IOC_MAGIC, 6)
#define FREEBLOCK_IOC_RESUME _IO(FREEBLOCK_IOC_MAGIC, 7)
/* Final; records that wait can still be read. EBADFD: not started */
#define FREEBLOCK_IOC_STOP _IO(FREEBLOCK_IOC_MAGIC, 8)
#define FREEBLOCK_IOC_URGENCY _IOW(FREEBLOCK_IOC_MAGIC, 9, char[24])
#define FREEBLOCK_IOC_PROGRESS _IOWR(FREEBLOCK_IOC_MAGIC, 10, char[64])
#define FREEBLOCK_IOC_GET_COVERAGE _IOW(FREEBLOCK_IOC_MAGIC, 11, char[32])
#define FREEBLOCK_IOC_SET_COVERAGE _IOW(FREEBLOCK_IOC_MAGIC, 12, char[32])
#define FREEBLOCK_IOC_REASON _IOWR(FREEBLOCK_IOC_MAGIC, 13, char[200])
#define FREEBLOCK_IOC_PROBE _IOWR(FREEBLOCK_IOC_MAGIC, 14, char[32])

/* freeblock_record.type; records of other types are to be skipped */
#define FREEBLOCK_RECORD_BLOCKS 0
/*
 * All that was added is delivered by the records before. Only with FREEBLOCK_FEATURE_EVENTS and
 * FREEBLOCK_SETUP_KEEP; @first, @sectors and @user_data are 0.
 */
#define FREEBLOCK_RECORD_CAUGHT_UP 1

/* freeblock_record.status */
#define FREEBLOCK_STATUS_OK 0
#define FREEBLOCK_STATUS_UNREADABLE 1	/* the medium is bad there */
#define FREEBLOCK_STATUS_UNTRIED 2	/* just behind an unreadable block: too slow to try */
/* read, but perhaps from the drive's cache, again and again; only with FREEBLOCK_SETUP_MEDIUM */
#define FREEBLOCK_STATUS_UNVERIFIED 3

/* Header of a record of read(); its data follows directly */
struct freeblock_record {
	/* offset of the data, and end of this header, which may grow */
	__u16 header_bytes;
	__u16 type;			/* FREEBLOCK_RECORD_... */
	__u32 status;			/* FREEBLOCK_STATUS_... */
	__aligned_u64 first;		/* first sector, from the start of the block device */
	__aligned_u64 user_data;	/* freeblock_range.user_data of these blocks */
	__u32 sectors;			/* length, one or more blocks */
	/* 512 * @sectors; 0 without FREEBLOCK_STATUS_OK, or with FREEBLOCK_SETUP_NO_DATA */
	__u32 data_bytes;
};

#endif /* UAPI_FREEBLOCK_H */
