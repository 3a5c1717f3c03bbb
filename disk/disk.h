/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What belongs to a disk: its model, its task, the gap before the next foreground
 * request, and the reads of our own. Kernel only.
 *
 * Locks, outermost first:
 *
 *   fb_disks_mutex	disk/disk.c	disks and their names. Taken in init_sched (queue frozen):
 *			nobody does I/O or allocates for I/O under it.
 *   fb_disk.life	mutex: creation, start and destruction of tasks; what is on its way may
 *			be waited for under it, for that needs no lock but fb_disk.lock.
 *   fb_disk.config	mutex: model upload and swap. Same rule as fb_disks_mutex.
 *   fb_disk.lock	spinlock, irqsave (completions come in hard and soft interrupts):
 *			everything marked [L] below, the attached scheduler's pool and
 *			pipeline included. Nothing sleeps or allocates under it. Inside
 *			blk-mq's own locks; takes none itself but the wait queue's.
 *
 * fb_disk.model is written with both config and lock held, read with either; tasks and
 * their thread read it without, for it cannot change while there is a task. Its seek times
 * do, under lock and by that thread (fb_disk_correct): nobody else reads those without.
 * The coverage maps of started tasks belong to that thread alone.
 */
#ifndef FB_DISK_H
#define FB_DISK_H

#include <linux/bio.h>
#include <linux/blk-mq.h>
#include <linux/kobject.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "disk_model.h"
#include "core/quarantine.h"
#include "fb_bitmap.h"
#include "core/completion.h"
#include "disk/verify.h"
#include "core/search.h"
#include "disk/coverage.h"
#include "core/idle_policy.h"
#include "core/policy.h"
#include "core/model_text.h"

struct dentry;
struct fb_disk;
struct fb_job;
struct scsi_device;
struct fb_user_disk;

/* ---- our own reads (disk/free_read.c) ---- */

/*
 * A buffer holds 1.5 of the drive's longest tracks, the most one gap can give, within
 * these bounds: 256 KiB, which is that of the drives of the papers, and 1280 KiB, the
 * kernel's own limit to a command (max_sectors_kb).
 */
#define FB_FREE_READ_MIN_SECTORS 512
#define FB_FREE_READ_MAX_SECTORS 2560
#define FB_MIN_GRANULE 8	/* sectors */
#define FB_FREE_READ_GRANULES (FB_FREE_READ_MAX_SECTORS / FB_MIN_GRANULE)

/* memory comes in chunks of so much, for few segments; in pages if there are none */
#define FB_FREE_READ_CHUNK_ORDER get_order(64 * 1024)

/*
 * Two commands at the drive, the held carrier, one being checked by its consumer, and
 * as many again to ride out a slow consumer. Those of large drives are not so many: sixty
 * such disks are to do with 1 GiB (Documentation/large.rst).
 */
#define FB_FREE_READS 8
#define FB_FREE_READS_LARGE 4
#define FB_FREE_READ_LARGE_SECTORS 1024	/* so long and longer ones are large */
/* each further task brings what its consumer may hold, so that a slow one delays none else */
#define FB_FREE_READS_MAX (FB_FREE_READS + FREEBLOCK_HELD * (FREEBLOCK_TASKS - 1))

enum fb_free_read_state {
	FB_FREE_READ_FREE,		/* in fb_disk.bufs, nobody's */
	FB_FREE_READ_VEHICLE,		/* the carrier's, not aimed */
	FB_FREE_READ_SENT,		/* at the drive */
	FB_FREE_READ_ENDED,		/* read, waits for the thread */
	FB_FREE_READ_DELIVER,		/* with the consumers */
};

/**
 * struct fb_free_read - one free read and its memory
 * @bio: its bio, set up anew for each read
 * @bvec: the bio's vectors, as many as chunks
 * @chunk: memory, fb_free_reads.chunks of them
 * @data: the same, mapped contiguously
 * @fd: the disk
 * @state: [L]
 * @dirty: [L] a foreground write overlapped it: discard
 * @taken: the thread has marked its granules as flying
 * @joined: it is linked in front of a foreground read
 * @how: how it was sent
 * @sent_ns: when it was aimed
 * @ended_ns: when its bio ended
 * @over: its bio has ended, its request has not: the verdict is not in [L]
 * @proven: it came from the medium, valid from FB_FREE_READ_ENDED on
 * @rq: the request that carries it while FB_FREE_READ_SENT; NULL: a foreground read of ours [L]
 * @lbn: first sector of the free part [L]; granule-aligned
 * @nsect: its sectors [L]
 * @good: sectors read without error, valid from FB_FREE_READ_ENDED on
 * @status: how it ended
 * @mask: granules that were wanted when it was sent, from @lbn's on
 * @share: those of each task
 * @pending: slots of tasks that still get it [L]
 * @served: slots of those that have got it, for the thread to enter [L]
 * @voided: slots of those that did not get it, for a write had spoilt it [L]
 */
struct fb_free_read {
	struct bio bio;
	struct bio_vec *bvec;
	struct page **chunk;
	void *data;
	struct fb_disk *fd;
	enum fb_free_read_state state;
	bool dirty;
	bool taken;
	bool joined;
	bool over;
	bool proven;
	enum fb_verify_how how;
	u64 sent_ns;
	u64 ended_ns;
	struct request *rq;
	u64 lbn;
	u32 nsect;
	u32 good;
	blk_status_t status;
	DECLARE_BITMAP(mask, FB_FREE_READ_GRANULES);
	struct {
		DECLARE_BITMAP(mask, FB_FREE_READ_GRANULES);
	} share[FREEBLOCK_TASKS];
	u32 pending;
	u32 served;
	u32 voided;
};

/**
 * struct fb_free_reads - the buffers of a disk's tasks
 * @sectors: what one holds
 * @order: of its chunks
 * @chunks: how many it has
 * @n: how many buffers there are; it grows with the tasks [L]
 * @buf: the buffers, room for FB_FREE_READS_MAX
 */
struct fb_free_reads {
	u32 sectors;
	u32 order;
	u32 chunks;
	u32 n;
	struct fb_free_read *buf;
};

/*
 * The request that carries separate reads (disk/free_read.c):
 * NONE -> ENTERING -> HELD -> NONE (flies), or HELD -> NONE (returned).
 */
enum fb_carrier_state {
	FB_FREE_READ_NONE,
	FB_FREE_READ_ENTERING,	/* bio submitted, not yet seen by the scheduler */
	FB_FREE_READ_HELD,	/* the scheduler holds its request */
};

/* ---- statistics, all [L] ---- */

struct fb_stats {
	u64 fg_requests;		/* scheduled foreground requests completed */
	u64 untracked;			/* no memory for our part: sent at once */
	u64 max_in_flight;		/* scheduled commands at the device */
	struct fb_completion_stats ends;
	u64 out_of_order;		/* completions overtaken by the drive */
	u64 gaps;			/* gaps offered to the search */
	u64 spared;			/* gaps left alone: nearly a turn, which may be gained */
	u64 prepends;			/* sent */
	u64 separates;			/* sent */
	u64 several;			/* plans of several pieces begun */
	u64 dropped;			/* their pieces given up: no carrier, or the head lost */
	u64 no_buffer;			/* plans not used: all buffers busy */
	u64 too_late;			/* plans not used: the drive was about to finish */
	u64 not_fit;			/* plans not used: limits of queue or request */
	u64 discarded;			/* free reads overlapped by a foreground write */
	u64 others;			/* background reads of others sent ... */
	u64 others_sectors;		/* ... their sectors */
	u64 others_idle;		/* ... without foreground */
	u64 others_expired;		/* ... as foreground, for their age */
	u64 others_max_age_ns;		/* the longest that one waited here */
	u64 free_sectors;		/* read in wanted granules */
	u64 idles;			/* idle reads sent */
	u64 free_errors;		/* free reads with an error */
	u64 verifies;			/* sent */
	u64 fuas;			/* sent */
	u64 unproven;			/* not counted as from the medium */
	u64 searches;
	u64 search_tracks;
	u64 search_ns;
	u64 search_max_ns;
	u64 choices;
	u64 choice_ns;
	u64 choice_max_ns;
};

/* ---- idle reads (disk/idle.c) ---- */

#define FB_IDLE_AUTO U32_MAX

/**
 * struct fb_idle - reads while the disk is idle; all [L]
 * @wait: the Waiting policy
 * @goal_mean_us: setting: mean slowdown of a foreground request; 0: no idle reads
 * @goal_max_us: setting: the most one may wait
 * @wait_us: setting: threshold, or FB_IDLE_AUTO
 * @size_kib: setting: longest read, or FB_IDLE_AUTO
 * @ready: @piece is to be sent when the queue runs, unless the foreground comes first
 * @piece: the next idle read, or the one at the drive
 * @reading: it is at the drive
 * @asking: a command of our own asks the drive something; written by the thread, no lock
 * @woken: something has changed: the thread is to reckon anew
 * @retry_ns: not to look for a read before
 * @used_ns: when one was at the drive last
 */
struct fb_idle {
	struct fb_idle_policy wait;
	u32 goal_mean_us;
	u32 goal_max_us;
	u32 wait_us;
	u32 size_kib;
	bool ready;
	struct fb_plan_piece piece;
	bool reading;
	bool asking;
	bool woken;
	u64 retry_ns;
	u64 used_ns;
};

/* ---- the disk ---- */

#define FB_ID_LEN 48

/* a model's reason to be distrusted, and words before it; the same and who it is for */
#define FB_DOUBT_LEN (DM_TEXT_LEN + 32)
#define FB_MODEL_STATUS_LEN (FB_DOUBT_LEN + 2 * DM_ID_LEN + 64)

/**
 * struct fb_disk - a disk, outliving scheduler switches
 * @kobj: /sys/kernel/freeblock/<disk>
 * @node: in fb_disks, or in fb_disks_lost
 * @name: that of @kobj, written with fb_disks_mutex too [L]
 * @id: unique id as text, or "" when the device has none
 * @diskseq: of its gendisk, which no other gendisk ever has
 * @gone: its gendisk is no more; fb_disks_mutex
 * @sectors: capacity when attached
 * @vendor: as in INQUIRY, trailing blanks removed, "" when not SCSI
 * @product: as in INQUIRY
 * @revision: of its firmware, likewise [L]
 * @life: see the table of locks
 * @config: see the table of locks
 * @text: the text of @model; config
 * @text_len: its length; config
 * @upload: a model on its way in; config
 * @upload_len: bytes so far; config
 * @upload_max: bytes allocated, and charged; config
 * @model_status: how the last upload went; config
 * @debugfs: debugfs directory
 * @scan: tasks/job.c's own
 * @user: tasks/user.c's own, NULL: no character device
 * @scrub: tasks/job.c's own
 * @model: see the table of locks
 * @lock: see the table of locks
 * @q: queue of the attached scheduler or NULL [L]
 * @bdev: its whole-disk block device; valid while @q is [L]
 * @sched: the attached scheduler [L]
 * @head: its head and phase, or NULL [L]
 * @model_changed: tells it that @model has been replaced [L]
 * @unfit: why the attached device is not scheduled, NULL: it is fit [L]
 * @doubt: that and why whoever made @model did not trust it, or "" [L]
 * @forced: @model is used in spite of that [L]
 * @distrusted: the model does not fit what completions say [L]
 * @needs: what the tasks that run need together: FREEBLOCK_MEDIUM if one does,
 *	FREEBLOCK_NO_DATA if none wants data; written with each change of a state [L]
 * @cov: what serves its tasks, NULL: there is none; written with life, config and lock held [L]
 * @wait: its thread waits here
 * @gen: generation of the gap: a plan of another one is void [L]
 * @gap_open: @gap waits for the search [L]
 * @gap: the gap before the next foreground request [L]
 * @lim: limits of its plan [L]
 * @plan: best plan for @gap, of generation @plan_gen [L]
 * @plan_gen: see @plan [L]
 * @search_ns: budget of a search [L]
 * @probing: searches lift what @probe allows of @lim.lift [L]
 * @probe: do free reads trigger the drive's look-ahead? [L]
 * @carrier: state [L]
 * @carrier_rq: its request while held [L]
 * @carrier_buf: its buffer while entering or held [L]
 * @carrier_due: the plan in use needs another one [L]
 * @submitting: the thread is inside submit_bio [L]
 * @fg_last_ns: last moment with foreground work [L]
 * @fg_active: there is a foreground request in the system [L]
 * @idle: see struct fb_idle [L]
 * @bufs: from the first start of a task on, while there is one; else NULL [L]
 * @margin: what completions taught about conservatism [L]
 * @calib: and about seek times [L]
 * @guard: [L]
 * @bad: see there
 * @medium: how what the medium holds is read [L]
 * @stats: [L]
 */
struct fb_disk {
	struct kobject kobj;
	struct list_head node;
	char name[FB_NAME_LEN];
	char id[FB_ID_LEN];
	u64 diskseq;
	bool gone;
	u64 sectors;
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
	char model_status[FB_MODEL_STATUS_LEN];
	struct dentry *debugfs;
	struct fb_job *scan;
	struct fb_user_disk *user;
	struct fb_job *scrub;

	struct disk_model *model;

	spinlock_t lock;
	struct request_queue *q;
	struct block_device *bdev;
	void *sched;
	const struct fb_head *head;
	void (*model_changed)(struct fb_disk *fd);
	const char *unfit;
	char doubt[FB_DOUBT_LEN];
	bool forced;
	bool distrusted;
	u32 needs;
	struct fb_coverage *cov;

	wait_queue_head_t wait;
	u32 gen;
	bool gap_open;
	struct fb_gap gap;
	struct fb_limits lim;
	struct fb_plan plan;
	u32 plan_gen;
	u64 search_ns;
	bool probing;
	struct fb_lookahead lookahead;

	enum fb_carrier_state carrier;
	struct request *carrier_rq;
	struct fb_free_read *carrier_buf;
	bool carrier_due;
	bool submitting;
	u64 fg_last_ns;
	bool fg_active;
	struct fb_idle idle;
	struct fb_free_reads *bufs;

	struct fb_conservatism conservatism;
	struct fb_seek_fit seek_fit;
	struct fb_guard guard;
	struct fb_quarantine quarantine;
	struct fb_verify verify;
	struct fb_stats stats;
};

/* tasks that are started and not over; fb_disk.lock held */
static inline u32 fb_disk_tasks(const struct fb_disk *fd)
{
	u32 i, n = 0;

	for (i = 0; fd->cov && i < FREEBLOCK_TASKS; i++)
		n += !!fd->cov->task[i];
	return n;
}

/**
 * struct fb_disk_client - a part of the module that disks are told to; any may be NULL
 * @init: a disk is seen for the first time, its queue frozen; there is no way back from it
 * @attach: a scheduler is about to attach, queue frozen; the gendisk may be NULL
 * @changed: who schedules the disk has changed, or whether; fb_disk.lock held
 * @model_swapped: the model is another one; fb_disk.lock held
 * @detached: its scheduler has let go of it, queue frozen; may sleep, waits for no I/O
 * @gone: its gendisk is no more, or will be; may sleep, a queue is frozen
 * @exit: nobody will find the disk any more; may sleep
 */
struct fb_disk_client {
	void (*init)(struct fb_disk *fd);
	void (*attach)(struct fb_disk *fd, struct gendisk *disk);
	void (*changed)(struct fb_disk *fd);
	void (*model_swapped)(struct fb_disk *fd);
	void (*detached)(struct fb_disk *fd);
	void (*gone)(struct fb_disk *fd);
	void (*exit)(struct fb_disk *fd);
};

/* disk/disk.c */
int fb_disk_init(const struct fb_disk_client *const *clients,
		 const struct attribute_group **groups);
void fb_disk_exit(void);
struct fb_disk *fb_disk_attach(struct request_queue *q, void *sched, const struct fb_head *head,
			       void (*model_changed)(struct fb_disk *fd));
void fb_disk_detach(struct fb_disk *fd);
struct fb_disk *fb_disk_get(const char *name);
void fb_disk_put(struct fb_disk *fd);
void fb_disk_uevent(struct fb_disk *fd, const char *what, u64 value);
void fb_disk_copy_name(struct fb_disk *fd, char *name, size_t size);
const char *fb_disk_transparent(const struct fb_disk *fd);
int fb_disk_force(struct fb_disk *fd, bool force);
bool fb_disk_judge(struct fb_disk *fd, const struct fb_head *h);
void fb_disk_correct(struct fb_disk *fd);
struct scsi_device *fb_disk_scsi(struct gendisk *disk);
struct scsi_device *fb_disk_get_scsi(struct fb_disk *fd);
bool fb_disk_is_single(const struct fb_disk *fd);
u32 fb_disk_busy(const struct fb_disk *fd);
ssize_t fb_disk_upload(struct fb_disk *fd, const char *data, loff_t off, size_t len);

/* disk/idle.c */
extern const struct fb_disk_client fb_idle_client;
void fb_idle_changed(struct fb_disk *fd);
void fb_idle_wake(struct fb_disk *fd);
void fb_idle_arrive(struct fb_disk *fd);
void fb_idle_quiet(struct fb_disk *fd);
void fb_idle_sent(struct fb_disk *fd, u64 now, u64 end_ns);
void fb_idle_ended(struct fb_disk *fd);
u64 fb_idle_due_ns(struct fb_disk *fd);
void fb_idle_read(struct fb_coverage *cov);
ssize_t fb_idle_describe(struct fb_disk *fd, char *page);

/* disk/gap.c */
extern const struct fb_disk_client fb_gap_client;
void fb_gap_open(struct fb_disk *fd, const struct fb_gap *gap, const struct fb_limits *lim);
void fb_gap_void(struct fb_disk *fd);
const struct fb_plan *fb_gap_plan(const struct fb_disk *fd);
bool fb_gap_take(struct fb_disk *fd, struct fb_gap *gap, struct fb_limits *lim);
bool fb_gap_publish(struct fb_disk *fd, const struct fb_plan *plan, u32 gen);

/* disk/free_read.c */
struct fb_free_reads *fb_free_read_alloc_all(struct fb_disk *fd);
int fb_free_read_grow(struct fb_disk *fd, u32 n);
u32 fb_free_read_missing(const struct fb_disk *fd, u32 tasks);
u64 fb_free_read_bytes(const struct disk_model *dm, u32 n);
bool fb_free_read_now(struct fb_disk *fd, u64 lbn, u32 nsect);
void fb_free_read_free_all(struct fb_free_reads *bufs);
bool fb_free_read_is_ours(const struct bio *bio);
bool fb_free_read_prepend(struct fb_disk *fd, struct request *rq, u64 lbn, u32 nsect);
u32 fb_free_read_prepend_limit(const struct fb_disk *fd, struct request *rq);
void fb_free_read_overlap(struct fb_disk *fd, u64 lbn, u32 nsect);
u32 fb_free_read_max_data(const struct fb_disk *fd);
u32 fb_free_read_max(const struct fb_disk *fd);
void fb_free_read_enter(struct fb_disk *fd, const struct fb_plan_piece *aim);
bool fb_free_read_hold(struct fb_disk *fd, struct request *rq);
struct request *fb_free_read_send(struct fb_disk *fd, u64 lbn, u32 nsect);
void fb_free_read_need(struct fb_disk *fd);
void fb_free_read_return(struct fb_disk *fd);

#endif /* FB_DISK_H */
