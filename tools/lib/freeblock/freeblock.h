/* SPDX-License-Identifier: GPL-2.0 */
/*
 * libfreeblock: blocks of a disk, read in the background (Documentation/libfreeblock.rst,
 * libfreeblock(3)).
 *
 *	struct fb_task *task = fb_open("/dev/sda", NULL);
 *	const struct fb_record *record;
 *
 *	fb_want(task, 0, FB_REST, 0, 0);
 *	while (fb_next(task, &record, -1) > 0)
 *		use(record->first, record->data, record->data_bytes);
 *	fb_close(task);
 *
 * Sectors have 512 bytes and are counted from the start of the block device. Functions that
 * fail return -1, fb_open() NULL; then errno is set, and fb_error() says why in words.
 *
 * Threads may call all functions at once, for one task as for several, with two exceptions:
 * one thread at a time calls fb_next() for a task, for a record is valid until the next one is
 * asked for; and nothing is called for a task beside or after fb_close(). A child of fork()
 * does not use its parent's tasks.
 *
 * Structures that a program hands over begin with their size as the program knows it. What
 * an old program does not know is 0 for a newer library; what an old library does not know must
 * be 0, or the call fails with E2BIG.
 */
#ifndef FREEBLOCK_FREEBLOCK_H
#define FREEBLOCK_FREEBLOCK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct fb_task;

/* fb_options.flags, or-ed */
#define FB_MEDIUM 1u	/* read from the medium, not from the drive's cache */
#define FB_NO_DATA 2u	/* records without data: blocks are only read */
#define FB_KEEP 4u	/* when all is delivered, wait for more to be wanted */
#define FB_EVENTS 0x100u	/* records of events, too: FB_CAUGHT_UP */
#define FB_COVERAGE 0x200u	/* fb_coverage_save() and _restore(), FB_UNCOVERED */
#define FB_PROBES 0x400u	/* FREEBLOCK_IOC_PROBE of fb_fd() (include/uapi/freeblock.h) */

/* fb_options.order of reads while the disk is idle */
#define FB_NEAR 0	/* the cheapest from the head's position */
#define FB_SEQUENTIAL 1	/* ascending */
#define FB_STAGGERED 2	/* a segment of each region in turn */

/* fb_options.priority: idle time goes to higher ones first; 0 is the usual one */
#define FB_PRIORITY_MIN (-4)
#define FB_PRIORITY_MAX 3

/**
 * struct fb_options - what fb_open() is asked for; zeros ask for what is usual
 * @size: sizeof(struct fb_options)
 * @flags: see above
 * @priority: FB_PRIORITY_MIN .. FB_PRIORITY_MAX
 * @order: see above
 * @deadline_ns: time of CLOCK_MONOTONIC when all should be delivered; 0: none
 * @regions: for FB_STAGGERED
 * @segment_sectors: for FB_STAGGERED: a multiple of fb_task_geometry.granule_sectors
 * @foreground_ppm: share of the disk's time, in millionths, that may be taken from the
 *	foreground while the deadline would be missed otherwise
 * @buffer_kib: the module's buffer for blocks that wait for fb_next(); 0: 4096
 * @name: shown in the list of tasks, one word of at most 15 characters; NULL: the
 *	program's name
 */
struct fb_options {
	uint32_t size;
	uint32_t flags;
	int32_t priority;
	uint32_t order;
	uint64_t deadline_ns;
	uint32_t regions;
	uint32_t segment_sectors;
	uint32_t foreground_ppm;
	uint32_t buffer_kib;
	const char *name;
};

/**
 * struct fb_task_geometry - the block device as it was when it was opened
 * @sectors: its length
 * @start_sector: where it begins on the disk
 * @blocks: its length in blocks, shorter ones at its ends included
 * @granule_sectors: length of a block, counted from the start of the disk
 */
struct fb_task_geometry {
	uint64_t sectors;
	uint64_t start_sector;
	uint64_t blocks;
	uint32_t granule_sectors;
};

/**
 * struct fb_range - sectors, and what they mean to the program
 * @first: first sector
 * @sectors: how many
 * @user_data: comes back in fb_record.user_data
 *
 * Begins and ends on a boundary of blocks or of the block device.
 */
struct fb_range {
	uint64_t first;
	uint64_t sectors;
	uint64_t user_data;
};

#define FB_REST UINT64_MAX	/* fb_want() and its like: to the end of the block device */

/* flags of fb_want() and fb_want_ranges() */
#define FB_UNCOVERED 1u		/* only what the coverage lacks */

/* fb_record.type; others are never returned */
#define FB_BLOCKS 0
#define FB_CAUGHT_UP 1	/* FB_EVENTS with FB_KEEP: all wanted so far has been delivered */

/* fb_record.status */
#define FB_OK 0
#define FB_UNREADABLE 1	/* the medium is bad there */
#define FB_UNTRIED 2	/* just behind an unreadable block: too slow to try */
/* read, but perhaps from the drive's cache, again and again; only with FB_MEDIUM */
#define FB_UNVERIFIED 3

/**
 * struct fb_record - what fb_next() returns
 * @first: first sector
 * @user_data: fb_range.user_data of these blocks
 * @data: what was read; NULL if nothing was
 * @data_bytes: its length: 512 * @sectors, or 0
 * @sectors: one or more whole blocks; 0 for events
 * @status: see above
 * @type: see above
 */
struct fb_record {
	uint64_t first;
	uint64_t user_data;
	const void *data;
	size_t data_bytes;
	uint32_t sectors;
	uint32_t status;
	uint32_t type;
};

/* fb_task_progress.state */
#define FB_NEW 0	/* not started */
#define FB_RUNNING 1
#define FB_PAUSED 2
#define FB_FINISHED 3	/* all was read from the disk; records may wait */
#define FB_STOPPED 4	/* stopped before that; records may wait */

/**
 * struct fb_task_progress - how far a task is
 * @size: sizeof(struct fb_task_progress), set by the caller; all else is returned
 * @state: see above
 * @waiting_for: what keeps the task from reading: see fb_waiting_for()
 * @entering: ranges added, removed or promoted that are still being entered
 * @total: blocks wanted
 * @done: blocks delivered, returned by fb_next() or waiting for it
 * @failed: blocks of @done that are unreadable, untried or unverified
 * @flying: blocks being read, or being handed over
 * @queued: blocks in the module's buffer
 * @buffer_blocks: blocks that it can hold
 * @stalled_ns: total time that the task has waited for fb_next(), apart from a wait under way
 */
struct fb_task_progress {
	uint32_t size;
	uint32_t state;
	uint32_t waiting_for;
	uint32_t entering;
	uint64_t total;
	uint64_t done;
	uint64_t failed;
	uint64_t flying;
	uint32_t queued;
	uint32_t buffer_blocks;
	uint64_t stalled_ns;
};

/**
 * fb_open() - make a task on a disk or partition
 * @path: of the block device
 * @options: NULL asks for what is usual
 *
 * Needs CAP_SYS_RAWIO and the right to read the block device.
 *
 * Return: the task, or NULL. ENOENT: there is no such block device, or the module is not loaded;
 * EPROTONOSUPPORT or EOPNOTSUPP: the module has another version, or lacks what the flags ask for;
 * ENODEV: the disk is gone, or has never had the scheduler; EBUSY, ENOSPC: it has the maximum
 * number of tasks, or memory is used up; EINVAL: a value is out of range.
 */
struct fb_task *fb_open(const char *path, const struct fb_options *options);

/**
 * fb_close() - end a task; what was not read is read by nobody
 * @task: task or NULL
 *
 * errno stays as it is.
 */
void fb_close(struct fb_task *task);

/**
 * fb_error() - why the calling thread's last failed call failed
 *
 * Return: one line, in the kernel's words where it has some; "" if none has failed. Valid
 * until the thread's next call that fails.
 */
const char *fb_error(void);

/**
 * fb_geometry() - length, place and blocks of the block device
 * @task: task
 *
 * Return: valid as long as the task is.
 */
const struct fb_task_geometry *fb_geometry(const struct fb_task *task);

/**
 * fb_fd() - a file descriptor for poll()
 * @task: task
 *
 * POLLIN: fb_next() has something or an end to tell, provided it was called until it failed
 * with ETIMEDOUT; POLLOUT: ranges can be wanted; POLLPRI: what fb_progress() tells has changed;
 * POLLHUP: the disk is gone, or the task was stopped. Nothing else is to be done with it,
 * but for FB_PROBES.
 *
 * Return: the file descriptor.
 */
int fb_fd(const struct fb_task *task);

/**
 * fb_want() - want sectors
 * @task: task
 * @first: first sector
 * @sectors: how many, or FB_REST
 * @user_data: comes back in fb_record.user_data
 * @flags: 0 or FB_UNCOVERED
 *
 * Return: 0 or -1. ENOSPC: too many wait to be entered: fb_start() if nobody has, and poll() for
 * POLLOUT; ESHUTDOWN: the task has ended; EINVAL: a range is empty, or ends within a block; ERANGE:
 * it goes beyond the end.
 */
int fb_want(struct fb_task *task, uint64_t first, uint64_t sectors, uint64_t user_data,
	    unsigned int flags);

/**
 * fb_want_ranges() - want many ranges
 * @task: task
 * @ranges: array
 * @n: its length
 * @flags: 0 or FB_UNCOVERED
 *
 * Return: how many of them, from the first on, are wanted now; -1 if none. If they are fewer
 * than @n, asking for the rest says why (ENOSPC as in fb_want(), or what is wrong with them).
 */
long fb_want_ranges(struct fb_task *task, const struct fb_range *ranges, size_t n,
		    unsigned int flags);

/**
 * fb_unwant() - want sectors no longer
 * @task: task
 * @first: first sector
 * @sectors: how many, or FB_REST
 *
 * Those in flight are still delivered.
 *
 * Return: 0 or -1.
 */
int fb_unwant(struct fb_task *task, uint64_t first, uint64_t sectors);

/**
 * fb_promote() - have wanted sectors read now, as an ordinary foreground read
 * @task: task that has started
 * @first: first sector
 * @sectors: how many, or FB_REST
 *
 * Return: 0 or -1.
 */
int fb_promote(struct fb_task *task, uint64_t first, uint64_t sectors);

/**
 * fb_start() - begin to read
 * @task: task
 *
 * The first fb_next() does it if nobody has.
 *
 * Return: 0 or -1. EINVAL: nothing is wanted, or all of it is covered, and no FB_KEEP.
 */
int fb_start(struct fb_task *task);

/**
 * fb_next() - the next record
 * @task: task
 * @record: returned; it and its data are valid until the next call
 * @timeout_ms: how long to wait for one; -1: for ever; 0: not at all
 *
 * Return: 1: there is one; 0: all that was wanted has been delivered; -1: ETIMEDOUT; EINTR: a
 * signal came; ECANCELED: the task was stopped, and this is all; ENODEV: the disk is gone: if
 * it comes back, later calls go on; EBADMSG: the module is newer than this library.
 */
int fb_next(struct fb_task *task, const struct fb_record **record, int timeout_ms);

/**
 * fb_progress() - how far the task is
 * @task: task
 * @progress: returned; its size is set by the caller
 *
 * Return: 0 or -1.
 */
int fb_progress(struct fb_task *task, struct fb_task_progress *progress);

/**
 * fb_waiting_for() - fb_task_progress.waiting_for in words
 * @waiting_for: number
 *
 * Return: "nothing", "the disk is gone", ...; for a number of a newer module "something that
 * libfreeblock does not know".
 */
const char *fb_waiting_for(uint32_t waiting_for);

/**
 * fb_pause() - read nothing until fb_resume()
 * @task: task that has started
 *
 * Return: 0 or -1. EALREADY: it is so; EBADFD: the task has not started; ESHUTDOWN: it has ended.
 */
int fb_pause(struct fb_task *task);

/**
 * fb_resume() - go on after fb_pause()
 * @task: task
 *
 * Return: 0 or -1. EALREADY: it is not paused.
 */
int fb_resume(struct fb_task *task);

/**
 * fb_stop() - read nothing any more; what has been read can still be had from fb_next()
 * @task: task that has started
 *
 * Return: 0 or -1.
 */
int fb_stop(struct fb_task *task);

/**
 * fb_urgency() - change priority, deadline and share, at any time
 * @task: task
 * @priority: as in struct fb_options, like all that follows
 * @deadline_ns: likewise
 * @foreground_ppm: likewise
 *
 * Return: 0 or -1.
 */
int fb_urgency(struct fb_task *task, int priority, uint64_t deadline_ns, uint32_t foreground_ppm);

/**
 * fb_coverage_save() - write down which blocks are done
 * @task: task opened with FB_COVERAGE
 * @path: file; replaced as a whole, and on the disk when this returns
 *
 * Done are the blocks of all records without error before the one that fb_next() returned
 * last; that one is when the next is asked for. The program has what it made of them on its
 * disk first: fsync().
 *
 * Return: 0; or -1, and a file that was there is as it was.
 */
int fb_coverage_save(struct fb_task *task, const char *path);

/**
 * fb_coverage_restore() - go on where fb_coverage_save() was
 * @task: task opened with FB_COVERAGE, not started
 * @path: file
 *
 * Afterwards FB_UNCOVERED wants the rest.
 *
 * Return: 0; or -1, and of a file that is refused nothing is taken over. ENOENT: there is no
 * such file; EXDEV: it is of another disk, or of another place or block size there;
 * EPROTONOSUPPORT: of another version; EBADMSG: damaged, or no such file at all.
 */
int fb_coverage_restore(struct fb_task *task, const char *path);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* FREEBLOCK_FREEBLOCK_H */
