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
#include "include/compat/fb_cleanup.h"
#include "core/completion.h"
#include "core/engine/engine.h"
#include "core/order_cost.h"
#include "core/phase.h"
#include "core/model_table.h"
#include "core/quarantine.h"
#include "disk/free_read.h"
#include "disk/parts.h"
#include "disk/task_state.h"

struct fb_disk;
struct fb_job;
struct scsi_device;

/* ---- statistics, all [L] ---- */

/* Of latencies: four an octave, from 2^16 ns (66 us) to 2^36 ns (69 s), and what is beyond */
#define FB_LATENCY_LOW 16
#define FB_LATENCY_BUCKETS 80

struct fb_stats {
	u64 fg_requests;		/* scheduled foreground requests completed, without ours */
	u64 fg_reads;			/* reads among them */
	u64 fg_writes;			/* writes among them */
	u64 fg_read_ns;			/* from those reads' allocation to their end, in all */
	u64 fg_write_ns;		/* the same of those writes */
	u64 fg_sectors[2];		/* of those reads, and of those writes */
	u64 fg_latency[2][FB_LATENCY_BUCKETS];	/* likewise: how many took how long */
	u64 untracked;			/* no memory for our part: sent unscheduled */
	struct fb_engine_stats engine;
	u64 reads[FB_FREE_READ_KINDS];	/* free reads sent ... */
	u64 read_sectors[FB_FREE_READ_KINDS];	/* ... their sectors */
	u64 discarded;			/* free reads overlapped by a foreground write */
	u64 others;			/* background reads of others sent ... */
	u64 others_idle;		/* ... sent while there was no foreground */
	u64 others_expired;		/* ... sent before the foreground for their age */
	u64 others_max_age_ns;		/* longest time that one was pending here */
	u64 free_sectors;		/* read in wanted granules */
	u64 free_errors;		/* free reads with an error */
	u64 verifies;			/* of @reads: sent as VERIFY */
	u64 fuas;			/* of @reads: sent as READ with FUA */
	u64 unproven;			/* withheld: may not have come from the medium */
	u64 guard_trips;		/* times the guard stopped free reads */
	u64 searches;
	u64 search_ns;
};

/* ---- the disk ---- */

#define FB_ID_LEN 48
#define FB_JOB_KINDS 2
#define FB_DISK_SAY 16			/* messages at a time: there are fewer */

/* The reason a model's maker distrusted it, with a prefix; and a status line that holds it. */
#define FB_DOUBT_LEN (DM_TEXT_LEN + 32)
#define FB_MODEL_STATUS_LEN (FB_DOUBT_LEN + 2 * DM_ID_LEN + 64)

/* What the attached scheduler is told; fb_disk.lock held */
struct fb_disk_sched_ops {
	/* the model has been replaced, or is used now, or no longer */
	void (*model_changed)(struct fb_disk *disk);
	/* tasks have begun to want blocks, or no longer do */
	void (*wants_changed)(struct fb_disk *disk);
	/* do one step towards the next gap (fb_gap_ask()); false: there are no more */
	bool (*next_gap)(struct fb_disk *disk);
	void (*run_soon)(struct fb_disk *disk);	/* run the queue, in another context */
};

/* A disk, outliving scheduler switches */
struct fb_disk {
	struct fb_folder folder;	/* its directories, and its references */
	struct list_head node;		/* in fb_disks, or in fb_disks_lost */
	char name[FB_NAME_LEN];	/* as in /sys/block, or was; under fb_disks_mutex, too [L] */
	char id[FB_ID_LEN];		/* unique id as text, or "" when the device has none */
	u64 diskseq;			/* of its last gendisk; never reused; fb_disks_mutex */
	bool gone;	/* its gendisk has been removed; written with fb_disks_mutex */
	u64 sectors;			/* capacity when attached */
	u32 granule;			/* sectors of a block; constant while there are tasks */
	char vendor[DM_ID_LEN];	/* from INQUIRY, without surrounding blanks; "" when not SCSI */
	char product[DM_ID_LEN];	/* likewise */
	char revision[DM_ID_LEN];	/* its firmware's, likewise [L] */

	struct mutex life;
	struct mutex config;
	char *table;			/* the compiled table of @model; config */
	u32 table_size;			/* its bytes; config */
	u32 upload_size;		/* bytes of the table being uploaded; config */
	char *upload;			/* that table; config */
	u32 upload_len;			/* bytes so far; config */
	u64 upload_charged;		/* bytes charged for it; config */
	struct fb_upload_owner uploader;	/* who uploads it; config */
	char model_status[FB_MODEL_STATUS_LEN];	/* result of the last upload; config */
	struct fb_job *job[FB_JOB_KINDS];	/* scan and scrub, private to tasks/job.c */

	struct disk_model *model;
	struct disk_model *next_model;	/* replaces it when the thread comes to it, or NULL [L] */
	bool next_same;			/* its table is that of @model [L] */

	spinlock_t lock;
	struct request_queue *q;	/* queue of the attached scheduler or NULL [L] */
	struct block_device *bdev;	/* its whole-disk block device; valid while @q is [L] */
	void *sched;			/* the attached scheduler [L] */
	const struct fb_head *head;	/* its head and phase, or NULL [L] */
	const struct fb_disk_sched_ops *sched_ops;	/* what @sched is to be told of [L] */
	const char *unfit;		/* why the device is not served at all; NULL: it is [L] */
	const char *mapless;		/* why no model of it can be used; NULL: one can [L] */
	u32 zone_sectors;		/* length of its host-managed zones; 0: it has none [L] */
	u64 zone_retry_ns;		/* the drive is not asked for them before; the thread's */
	bool idle_only;	/* the foreground is not ordered, whatever is known of the drive [L] */
	char doubt[FB_DOUBT_LEN];	/* why its maker distrusted @model, or "" [L] */
	bool forced;			/* @model is used in spite of @doubt [L] */
	bool distrusted;		/* completions contradict the model [L] */
	u32 needs;	/* FREEBLOCK_MEDIUM if any running task has it, _NO_DATA if all have [L] */
	struct fb_coverage *cov;	/* NULL: no task; written under life, config, lock [L] */

	wait_queue_head_t wait;		/* its thread waits here */

	struct fb_gap_mail mail;	/* see core/engine/gap.h [L] */
	struct fb_reads reads;		/* see disk/free_read.c [L] */
	struct fb_idle idle;		/* see disk/idle.c [L] */
	struct fb_measure measure;	/* see disk/measure.c [L] */
	struct fb_late late;		/* see disk/late.c [L] */
	struct {			/* the foreground, written by the scheduler [L] */
		u64 last_ns;		/* when there was some last */
		u64 end_ns;		/* when a command of whatever kind ended last */
		bool active;		/* there is some now */
	} fg;

	struct fb_destage destage;	/* what a drive with a write cache still has to do [L] */
	struct fb_lookahead lookahead;	/* whether free reads trigger the drive's look-ahead [L] */
	struct fb_conservatism conservatism;	/* learnt from completions [L] */
	struct fb_seek_fit seek_fit;	/* seek times, likewise [L] */
	struct fb_guard guard;		/* stops free reads that cost the foreground too much [L] */
	struct fb_phase phase;		/* whether the phase can be found at all [L] */
	struct fb_quarantine quarantine;	/* bad blocks and their surroundings [L] */
	struct fb_recovery recovery;	/* how long drive and host adapter may recover */
	struct {			/* what is to be printed without @lock */
		struct work_struct work;
		const char *due[FB_DISK_SAY];	/* texts, then NULL [L] */
	} say;
	struct fb_verify verify;	/* how to read the medium, not the cache [L] */
	struct fb_stats stats;		/* [L] */
};

static inline u64 fb_disk_granules(const struct fb_disk *disk)
{
	return DIV_ROUND_UP_ULL(disk->sectors, disk->granule);
}

/* The number of tasks that have been started and are not over; fb_disk.lock held. */
static inline u32 fb_disk_tasks(const struct fb_disk *disk)
{
	u32 i, n = 0;

	for (i = 0; disk->cov && i < FREEBLOCK_TASKS; i++)
		n += !!disk->cov->task[i];
	return n;
}

/* Callbacks about a disk for another part of the module; any may be NULL */
struct fb_disk_client {
	/* the disk is seen for the first time, queue frozen; cannot fail */
	void (*init)(struct fb_disk *disk);
	/* its directory in debugfs has been made, and is empty; may sleep */
	void (*fill)(struct fb_disk *disk);
	/* a scheduler is about to attach, queue frozen; the gendisk may be NULL */
	void (*attach)(struct fb_disk *disk, struct gendisk *gd);
	/* another scheduler; served now, or no longer; gone, or back; fb_disk.lock held */
	void (*changed)(struct fb_disk *disk);
	/* the model has been replaced; fb_disk.lock held */
	void (*model_swapped)(struct fb_disk *disk);
	/* its scheduler has detached, queue frozen; may sleep but must not wait for I/O */
	void (*detached)(struct fb_disk *disk);
	/* a CPU goes offline, blk-mq will then wait for requests; may sleep */
	void (*cpu_offline)(struct fb_disk *disk);
	void (*exit)(struct fb_disk *disk);	/* the disk can no longer be found; may sleep */
};

/* disk/disk.c */
int fb_disk_init(const struct fb_disk_client *const *clients,
		 const struct attribute_group **groups);
void fb_disk_exit(void);
struct fb_disk *fb_disk_attach(struct request_queue *q, void *sched, const struct fb_head *head,
			       const struct fb_disk_sched_ops *ops);
void fb_disk_detach(struct fb_disk *disk);
struct fb_disk *fb_disk_get(const struct gendisk *gd);
struct gendisk *fb_disk_gendisk(const struct fb_disk *disk);
void fb_disk_put(struct fb_disk *disk);
void fb_disk_say(struct fb_disk *disk, const char *text);
void fb_disk_tell_wants(struct fb_disk *disk);
void fb_disk_level_changed(struct fb_disk *disk);
void fb_disk_uevent(struct fb_disk *disk, const char *what, u64 value);
void fb_disk_copy_name(struct fb_disk *disk, char *name, size_t size);
int fb_disk_force(struct fb_disk *disk, u32 force);
bool fb_disk_judge(struct fb_disk *disk, const struct fb_head *h);
struct scsi_device *fb_disk_scsi(struct gendisk *gd);
struct scsi_device *fb_disk_sdev(const struct fb_disk *disk);
struct scsi_device *fb_disk_get_scsi(struct fb_disk *disk);
bool fb_disk_is_firmware(const char *revision, const struct dm_info *info);
void fb_disk_model_swapped(struct fb_disk *disk);

#endif /* FB_DISK_H */
