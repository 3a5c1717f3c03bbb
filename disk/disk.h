/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The state of a disk: its model, what serves its tasks, the gap before the next foreground
 * request, and our own reads. Kernel only.
 *
 * Locks, outermost first:
 *
 *   fb_disks_mutex	disk/disk.c	disks and their names. Taken with a queue frozen, or while a
 *			CPU goes offline: no code may do I/O, allocate with I/O, use
 *			sysfs or debugfs, or wait for CPU hotplug under it.
 *   fb_disk.life	mutex: creation, start and destruction of tasks. Code may wait under
 *			it for reads in flight: their completion needs fb_disk.lock only.
 *   freeblock_task.change	mutex: additions to a task, and what the thread drops of its
 *			cookies. Taken in callbacks too; inside none of the others, and only
 *			the following ones inside it.
 *   freeblock_task.cookie_lock	spinlock: look-ups and changes of a task's cookies. Taken in
 *			process context only; fb_disk.lock may be taken inside it.
 *   fb_disk.config	mutex: model upload and swap. Same rule as fb_disks_mutex.
 *   fb_disk.lock	spinlock, irqsave (completions come in hard and soft interrupts):
 *			everything marked [L] below, including the attached scheduler's
 *			pool and pipeline. Nothing sleeps, allocates or prints under it. It nests
 *			inside blk-mq's own locks; only locks of wait and work queues nest
 *			inside it.
 *
 * fb_disk.model is written with both config and lock held, and read with either. While there
 * are tasks only their thread changes it (fb_model_take()), and reads it without a lock. It changes
 * seek times, too, under lock (fb_model_correct()), so everyone else reads them under lock. The
 * coverage maps of started tasks belong to that thread alone.
 */
#ifndef FB_DISK_H
#define FB_DISK_H

#include <linux/blk-mq.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "disk_model.h"
#include "core/completion.h"
#include "core/engine/engine.h"
#include "core/order_cost.h"
#include "core/phase.h"
#include "core/shadow.h"
#include "core/model_text.h"
#include "core/quarantine.h"
#include "disk/folder.h"
#include "disk/free_read.h"
#include "disk/hurry.h"
#include "disk/idle.h"
#include "disk/level.h"
#include "disk/message.h"
#include "disk/recovery.h"
#include "disk/task_state.h"
#include "disk/upload.h"
#include "disk/verify.h"

struct fb_disk;
struct fb_job;
struct scsi_device;

/* ---- statistics, all [L] ---- */

struct fb_stats {
	u64 fg_requests;		/* scheduled foreground requests completed, without ours */
	u64 fg_reads;			/* reads among them */
	u64 fg_writes;			/* writes among them */
	u64 fg_read_ns;			/* from those reads' allocation to their end, in all */
	u64 fg_write_ns;		/* the same of those writes */
	u64 untracked;			/* no memory for our part: sent unscheduled */
	struct fb_engine_stats engine;
	u64 reads[FB_FREE_READ_KINDS];	/* free reads sent ... */
	u64 read_sectors[FB_FREE_READ_KINDS];	/* ... their sectors */
	u64 no_buffer;			/* plans not used: all buffers busy */
	u64 not_fit;			/* plans not used: limits of queue or request */
	u64 discarded;			/* free reads overlapped by a foreground write */
	u64 others;			/* background reads of others sent ... */
	u64 others_sectors;		/* ... their sectors */
	u64 others_idle;		/* ... sent while there was no foreground */
	u64 others_expired;		/* ... moved to the foreground because of their age */
	u64 others_max_age_ns;		/* longest time that one was pending here */
	u64 free_sectors;		/* read in wanted granules */
	u64 free_errors;		/* free reads with an error */
	u64 verifies;			/* of @reads: sent as VERIFY */
	u64 fuas;			/* of @reads: sent as READ with FUA */
	u64 unproven;			/* withheld: may not have come from the medium */
	u64 guard_trips;		/* times the guard stopped free reads */
	u64 searches;
	u64 search_tracks;
	u64 search_ns;
	u64 search_max_ns;
};

/* ---- the disk ---- */

#define FB_ID_LEN 48

/* The reason a model's maker distrusted it, with a prefix; and a status line that holds it. */
#define FB_DOUBT_LEN (DM_TEXT_LEN + 32)
#define FB_MODEL_STATUS_LEN (FB_DOUBT_LEN + 2 * DM_ID_LEN + 64)

/**
 * struct fb_disk_sched_ops - what the attached scheduler is told; fb_disk.lock held
 * @model_changed: the model has been replaced, or is used now, or no longer
 * @wants_changed: tasks have begun to want blocks, or no longer do
 * @next_gap: do one step towards the next gap (fb_gap_ask()); false: there are no more
 * @run_soon: run the queue, in another context
 */
struct fb_disk_sched_ops {
	void (*model_changed)(struct fb_disk *fd);
	void (*wants_changed)(struct fb_disk *fd);
	bool (*next_gap)(struct fb_disk *fd);
	void (*run_soon)(struct fb_disk *fd);
};

/**
 * struct fb_disk - a disk, outliving scheduler switches
 * @folder: its directories, which follow @name, and the count of its references
 * @node: in fb_disks, or in fb_disks_lost
 * @name: as in /sys/block, or what it was; written with fb_disks_mutex held too [L]
 * @id: unique id as text, or "" when the device has none
 * @diskseq: sequence number of its last gendisk, which is never reused; fb_disks_mutex
 * @gone: its gendisk has been removed; written with fb_disks_mutex
 * @sectors: capacity when attached
 * @granule: sectors of a block; constant while there are tasks
 * @vendor: from INQUIRY, without surrounding blanks; "" when not SCSI
 * @product: likewise
 * @revision: its firmware's, likewise [L]
 * @life: see the table of locks
 * @config: see the table of locks
 * @text: the text of @model; config
 * @text_len: its length; config
 * @upload: the model text being uploaded; config
 * @upload_len: bytes so far; config
 * @upload_max: bytes allocated and charged; config
 * @uploader: who uploads it; config
 * @model_status: result of the last upload; config
 * @scan: private to tasks/job.c
 * @scrub: private to tasks/job.c
 * @model: see the table of locks
 * @next_model: replaces it when the tasks' thread comes to it; NULL: none does [L]
 * @next_same: its text is that of @model [L]
 * @lock: see the table of locks
 * @q: queue of the attached scheduler or NULL [L]
 * @bdev: its whole-disk block device; valid while @q is [L]
 * @sched: the attached scheduler [L]
 * @head: its head and phase, or NULL [L]
 * @sched_ops: what @sched is to be told of [L]
 * @unfit: why the attached device is not served at all; NULL: it is fit [L]
 * @zone_sectors: length of its host-managed zones; 0: it has none [L]
 * @zone_retry_ns: the drive is not asked for them before; the thread's
 * @idle_only: the foreground is not ordered, whatever is known of the drive [L]
 * @mapless: why no model of it can be used; NULL: one can [L]
 * @doubt: why the maker of @model distrusted it, as a message, or "" [L]
 * @forced: @model is used in spite of @doubt [L]
 * @distrusted: completions contradict the model [L]
 * @needs: joint needs of the running tasks: FREEBLOCK_MEDIUM if any has it,
 *	FREEBLOCK_NO_DATA if all have it; updated with each change of a task's state [L]
 * @cov: what serves its tasks; NULL: no tasks; written with life, config and lock held [L]
 * @wait: its thread waits here
 * @mail: the gap before the next foreground request, and its plan [L]
 * @reads: our own reads; see disk/free_read.c [L]
 * @idle: reads while there is no foreground; see disk/idle.c [L]
 * @hurry: reads in the foreground's time; see disk/hurry.c [L]
 * @fg: foreground activity, written by the scheduler: when there was some last, when a
 *	command of whatever kind ended last, and whether there is some now [L]
 * @destage: what a drive with a write cache still has to do [L]
 * @shadow: what the drive would do with the foreground alone [L]
 * @lookahead: whether free reads trigger the drive's look-ahead [L]
 * @conservatism: what completions have taught about conservatism [L]
 * @seek_fit: what they have taught about seek times [L]
 * @guard: stops free reads that cost the foreground too much [L]
 * @phase: whether the phase can be found at all [L]
 * @quarantine: bad blocks and their surroundings [L]
 * @recovery: how long the drive, and the host adapter, may take to recover
 * @messages: what is to be printed without @lock
 * @verify: how to read from the medium and not from the drive's cache [L]
 * @stats: statistics [L]
 */
struct fb_disk {
	struct fb_folder folder;
	struct list_head node;
	char name[FB_NAME_LEN];
	char id[FB_ID_LEN];
	u64 diskseq;
	bool gone;
	u64 sectors;
	u32 granule;
	char vendor[DM_ID_LEN];
	char product[DM_ID_LEN];
	char revision[DM_ID_LEN];

	struct mutex life;
	struct mutex config;
	char *text;
	size_t text_len;
	char *upload;
	size_t upload_len;
	u64 upload_max;
	struct fb_upload_owner uploader;
	char model_status[FB_MODEL_STATUS_LEN];
	struct fb_job *scan;
	struct fb_job *scrub;

	struct disk_model *model;
	struct disk_model *next_model;
	bool next_same;

	spinlock_t lock;
	struct request_queue *q;
	struct block_device *bdev;
	void *sched;
	const struct fb_head *head;
	const struct fb_disk_sched_ops *sched_ops;
	const char *unfit;
	const char *mapless;
	u32 zone_sectors;
	u64 zone_retry_ns;
	bool idle_only;
	char doubt[FB_DOUBT_LEN];
	bool forced;
	bool distrusted;
	u32 needs;
	struct fb_coverage *cov;

	wait_queue_head_t wait;

	struct fb_gap_mail mail;
	struct fb_reads reads;
	struct fb_idle idle;
	struct fb_hurry hurry;
	struct {
		u64 last_ns;
		u64 end_ns;
		bool active;
	} fg;

	struct fb_destage destage;
	struct fb_shadow shadow;
	struct fb_lookahead lookahead;
	struct fb_conservatism conservatism;
	struct fb_seek_fit seek_fit;
	struct fb_guard guard;
	struct fb_phase phase;
	struct fb_quarantine quarantine;
	struct fb_recovery recovery;
	struct fb_messages messages;
	struct fb_verify verify;
	struct fb_stats stats;
};

static inline u64 fb_disk_granules(const struct fb_disk *fd)
{
	return DIV_ROUND_UP_ULL(fd->sectors, fd->granule);
}

/* The number of tasks that have been started and are not over; fb_disk.lock held. */
static inline u32 fb_disk_tasks(const struct fb_disk *fd)
{
	u32 i, n = 0;

	for (i = 0; fd->cov && i < FREEBLOCK_TASKS; i++)
		n += !!fd->cov->task[i];
	return n;
}

/**
 * struct fb_disk_client - callbacks about a disk for another part of the module; any may be NULL
 * @init: the disk is seen for the first time, queue frozen; cannot fail
 * @fill: its directory in debugfs has been made, and is empty; may sleep
 * @attach: a scheduler is about to attach, queue frozen; the gendisk may be NULL
 * @changed: the disk has another scheduler, is now scheduled or no longer, has gone or has come
 *	back; fb_disk.lock held
 * @model_swapped: the model has been replaced; fb_disk.lock held
 * @detached: its scheduler has detached, queue frozen; may sleep but must not wait for I/O
 * @cpu_offline: a CPU goes offline, blk-mq will then wait for requests; may sleep
 * @exit: the disk can no longer be found; may sleep
 */
struct fb_disk_client {
	void (*init)(struct fb_disk *fd);
	void (*fill)(struct fb_disk *fd);
	void (*attach)(struct fb_disk *fd, struct gendisk *disk);
	void (*changed)(struct fb_disk *fd);
	void (*model_swapped)(struct fb_disk *fd);
	void (*detached)(struct fb_disk *fd);
	void (*cpu_offline)(struct fb_disk *fd);
	void (*exit)(struct fb_disk *fd);
};

/* disk/disk.c */
int fb_disk_init(const struct fb_disk_client *const *clients,
		 const struct attribute_group **groups);
void fb_disk_exit(void);
struct fb_disk *fb_disk_attach(struct request_queue *q, void *sched, const struct fb_head *head,
			       const struct fb_disk_sched_ops *ops);
void fb_disk_detach(struct fb_disk *fd);
struct fb_disk *fb_disk_get(const struct gendisk *disk);
struct gendisk *fb_disk_gendisk(const struct fb_disk *fd);
void fb_disk_put(struct fb_disk *fd);
void fb_disk_tell_wants(struct fb_disk *fd);
void fb_disk_level_changed(struct fb_disk *fd);
void fb_disk_uevent(struct fb_disk *fd, const char *what, u64 value);
void fb_disk_copy_name(struct fb_disk *fd, char *name, size_t size);
int fb_disk_force(struct fb_disk *fd, bool force);
bool fb_disk_judge(struct fb_disk *fd, const struct fb_head *h);
struct scsi_device *fb_disk_scsi(struct gendisk *disk);
struct scsi_device *fb_disk_get_scsi(struct fb_disk *fd);
bool fb_disk_is_single(const struct fb_disk *fd);
u32 fb_disk_busy(const struct fb_disk *fd);
bool fb_disk_is_firmware(const char *revision, const struct dm_info *info);
void fb_disk_model_swapped(struct fb_disk *fd);

#endif /* FB_DISK_H */
