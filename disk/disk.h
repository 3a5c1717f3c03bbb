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
#include <linux/completion.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "core/block_value.h"
#include "core/cost/cost.h"
#include "core/deadline.h"
#include "core/engine/engine.h"
#include "core/leftover.h"
#include "core/model_table.h"
#include "core/phase.h"
#include "core/power.h"
#include "core/quarantine.h"
#include "disk/cookie.h"
#include "disk/parts.h"
#include "include/compat/fb_cleanup.h"
#include "include/freeblock.h"

struct fb_disk;
struct fb_disk_client;
struct fb_job;
struct request;
struct scsi_device;

/* ---- the tasks of a disk, and what serves them jointly ---- */

enum fb_task_state {
	FB_TASK_NEW,
	FB_TASK_RUNNING,
	FB_TASK_PAUSED,
	FB_TASK_STOPPING,
	FB_TASK_OVER,
};

enum fb_op_kind { FB_OP_ADD, FB_OP_REMOVE, FB_OP_PROMOTE };

/* A change of what a task wants, for the thread to enter into its map */
struct fb_op {
	struct list_head node;		/* in freeblock_task.todo */
	enum fb_op_kind kind;		/* what to do with the range */
	u64 first;			/* first granule that is still to be entered */
	u64 n;				/* granules from there on */
	u64 added_ns;	/* when it was requested; reads sent earlier do not serve it */
	bool uncovered;			/* only granules that freeblock_task.coverage lacks count */
	bool initial;	/* requested before the start: what the coverage has was done before */
};

/* Probes that a consumer waits for; see disk/probe.c; all [L] */
struct fb_probe_call {
	struct freeblock_probe *probes;	/* the consumer's, while it waits; or NULL */
	u32 n;				/* how many */
	u32 at;				/* the one that is next, or at the drive */
	u32 number;			/* the call's; 0: none is to be sent */
	bool any;			/* a probe was carried out, and @commands is valid */
	u32 commands;	/* that the device had got with the last one */
	wait_queue_head_t told;		/* the consumer waits here */
};

/* What one consumer wants */
struct freeblock_task {
	struct fb_disk *disk;
	struct list_head node;		/* in fb_coverage.tasks; fb_disk.life and [L] */
	u32 id;				/* shown to users; never reused */
	u32 slot;			/* its place in fb_coverage.task, once it is started */
	char disk_name[FB_NAME_LEN];		/* its disk's name when it was created */
	char name[24];			/* shown to users */
	const struct freeblock_ops *ops;	/* the consumer's callbacks */
	void *ctx;			/* the consumer's private data */
	/* the I/O cgroup of its own foreground reads; NULL: the root's */
	struct cgroup_subsys_state *css;
	u64 bytes;			/* memory charged to it */
	struct freeblock_coverage *coverage;	/* blocks delivered without error, or NULL */
	enum fb_task_state state;	/* [L] */
	enum freeblock_end end;		/* why it is over */
	s32 priority;	/* its consumer writes it at any time, without a lock, like the next two */
	u64 deadline_ns;		/* 0: none */
	u32 foreground_ppm;		/* see freeblock_task_set_foreground() */
	enum freeblock_order order;	/* order of idle reads */
	struct fb_idle_order idle_order;	/* its state; the thread's from the start on */
	u32 regions;			/* see freeblock_task_order() */
	u32 segment_sectors;		/* see freeblock_task_order() */
	struct list_head todo;	/* changes that have not been entered yet, in their order [L] */
	u32 ntodo;			/* how many [L] */
	u32 events;	/* enum freeblock_event that its consumer has not been told yet [L] */
	struct mutex change;		/* serialises additions, also with fb_delivery_sweep() */
	spinlock_t cookie_lock;	/* spinlock of @cookies, which are written with @change held too */
	struct fb_cookies cookies;	/* user_data of its blocks */
	bool sweep;	/* changes were entered since its cookies were last swept; the thread's */
	u64 sweep_done;			/* blocks done when they were; the thread's */
	bool caught_up;			/* all added is delivered, and that was told [L] */
	struct fb_bitmap map;		/* what it wants; the thread's, from the start on */
	struct fb_block_value worth;	/* value of its blocks; the thread's, like what follows */
	bool weighed;			/* @worth is that of @map */
	u64 balanced_ns;		/* when its regions were last weighed */
	u64 passed;	/* its wanted blocks, each time that gaps went to another task */
	bool active;			/* the thread reads for it; the thread's */
	bool behind;	/* changes wait behind the one that is being entered; the thread's */
	struct fb_deadline_rate pace;		/* its rate; the thread's */
	bool late;			/* it would miss its deadline at that rate; the thread's */
	u64 entered_before;	/* blocks of initial changes that its coverage had; the thread's */
	u32 held;	/* reads that wait for its consumer or are being consumed [L] */
	u64 fed_ns;	/* when its consumer got a block last, or could have since */
	enum freeblock_wait waiting_for;	/* see disk/late.c [L] */
	bool able;	/* it wants blocks, and nothing rules out that it gets some [L] */
	bool alarmed;			/* paused by an alarm [L] */
	u64 withheld_ns;	/* when a read, perhaps not the medium's, was withheld [L] */
	struct fb_probe_call probe;	/* what it wants to know the times of */
	u64 total;			/* blocks registered; [L] from here on */
	u64 unwritten;			/* added, but behind a zone's write pointer; the thread's */
	u64 before;			/* done before its start, not in @total: @entered_before */
	u64 wanted;
	u64 flying;
	u64 done;
	u64 failed;			/* blocks delivered with an error */
	struct completion over;		/* completed when the last callback has returned */
	struct work_struct deliver;	/* calls ops->block, ops->event and ops->ended */
	bool ended;			/* it is over, and its consumer has not been told [L] */
};

/* Segments at which there may be no room for the cookies of another batch of ranges. */
#define FB_COOKIES_CROWDED (FB_COOKIE_MAX - 2 * FREEBLOCK_RANGES_MAX)

/* What serves the tasks of a disk; it exists while there are tasks */
struct fb_coverage {
	struct fb_disk *disk;
	struct task_struct *thread;	/* runs from the first start on */
	u64 bytes;			/* memory charged to all tasks together; fb_disk.life */
	struct list_head tasks;	/* all tasks that have not been destroyed; fb_disk.life and [L] */
	/*
	 * started and not over, by slot: starts add them, the thread removes them, and reads
	 * without [L]
	 */
	struct freeblock_task *task[FREEBLOCK_TASKS];
	u32 nactive;	/* tasks with @active set; the thread's, like all that follows */
	struct freeblock_task *chosen;	/* whose blocks gaps are searched for, or NULL */
	struct freeblock_task *turn;	/* whose turn it is, unless another is late, or NULL; ... */
	u64 turn_ns;			/* ... until then */
	struct freeblock_task *hurried;	/* late, may read in the foreground's time; or NULL */
	struct fb_conservatism_odds odds;	/* the search's copy of fb_conservatism.odds */
	struct fb_search search;	/* here and not on the stack because of its size */
	unsigned long *repeated;	/* read again, as the cache may have answered; or NULL */
	u64 repeated_bytes;		/* its size; 0: it was not needed so far */
	bool blocked;			/* a task's first change cannot be entered now */
	bool asked;			/* the drive has been asked about its look-ahead */
	struct fb_leftover leftover;	/* when to read a block that fits into no gap */
};

/*
 * The next task that is started and not over, from slot @i on, or NULL. Only the thread empties a
 * slot. Pairs with smp_store_release() in fb_delivery_start().
 */
static inline struct freeblock_task *fb_coverage_next_task(const struct fb_coverage *cov, u32 *i)
{
	struct freeblock_task *task = NULL;

	while (!task && *i < FREEBLOCK_TASKS)
		task = READ_ONCE(cov->task[(*i)++]);
	return task;
}

/* The next of them that the thread reads for. */
static inline struct freeblock_task *fb_coverage_next_active(const struct fb_coverage *cov, u32 *i)
{
	struct freeblock_task *task;

	do
		task = fb_coverage_next_task(cov, i);
	while (task && !task->active);
	return task;
}

/* ---- disk/free_read.c, our own reads; disk/verify.c, those that must come from the medium ---- */

#define FB_VERIFY_TEXT 160		/* bytes that fb_verify_describe() needs */

/* How a read of ours was sent */
enum fb_verify_how {
	FB_VERIFY_READ,			/* as an ordinary read, which may come from the cache */
	FB_VERIFY_FUA,			/* READ with FUA */
	FB_VERIFY_COMMAND,		/* VERIFY: nothing is transferred */
};

/* VERIFY, or READ with FUA, on a disk; all under fb_disk.lock */
struct fb_verify_way {
	const char *barred;		/* why it is not used, as a text; NULL: it is used */
	bool proven;	/* one took as long as the medium needs; none is believed before */
	u32 early;	/* ended too early for the medium; halved every FB_VERIFY_FORGET */
	u32 watched;			/* those whose completion time was checked */
	u32 failed;			/* those in a row that failed where a READ did not */
};

/* How the drive can be made to read the medium; all under fb_disk.lock */
struct fb_verify {
	struct fb_verify_way verify;	/* VERIFY */
	struct fb_verify_way fua;	/* READ with FUA */
	bool sata;	/* the drive is one: it queues FUA, not VERIFY; only NCQ has FUA */
	u32 depth;			/* the queue depth when FUA was refused */
	u64 refused_ns;			/* when that was */
	enum fb_verify_how checking;	/* this failed, not by the medium: READ is to tell */
	u64 check_lbn;			/* where, if known; READ has read what lay before */
	u32 check_nsect;		/* its sectors */
	u64 check_ns;			/* when it failed */
};

/* Whose fault it is that a read of ours failed */
enum fb_verify_fault {
	FB_VERIFY_FAULT_OTHER,		/* what may pass, or the place is not known */
	FB_VERIFY_FAULT_MEDIUM,		/* the medium's */
	FB_VERIFY_FAULT_COMMAND,	/* the command is not known: read in another way */
};

/* Buffers consist of chunks of this order, to need few segments; of pages if those are scarce. */
#define FB_FREE_READ_CHUNK_ORDER get_order(64 * 1024)

/*
 * Two in flight, the held carrier, one with its consumer, and as many for a slow one. Large drives
 * get fewer, so that sixty of them need no more than 1 GiB.
 */
#define FB_FREE_READS 8
#define FB_FREE_READS_LARGE 4
#define FB_FREE_READ_LARGE_SECTORS 1024	/* buffers of this size or more count as large */
/* Each further task adds what its consumer may hold, so that a slow one does not delay others. */
#define FB_FREE_READS_MAX (FB_FREE_READS + FREEBLOCK_HELD * (FREEBLOCK_TASKS - 1))

enum fb_free_read_state {
	FB_FREE_READ_FREE,		/* unused */
	FB_FREE_READ_CARRIER,		/* in the carrier, not aimed yet */
	FB_FREE_READ_SENT,		/* in flight */
	FB_FREE_READ_ENDED,		/* read, waits for the thread */
	FB_FREE_READ_DELIVER,		/* with the consumers */
};

enum fb_free_read_kind {
	FB_FREE_READ_PREPENDED,		/* in front of a foreground read, in its command */
	FB_FREE_READ_SEPARATE,		/* in a gap, a command of its own */
	FB_FREE_READ_IDLE,		/* in idle time */
	FB_FREE_READ_HURRIED,		/* takes a late task's share of the foreground's time */
	FB_FREE_READ_PROMOTED,		/* joins the foreground because its task asked for that */
	FB_FREE_READ_KINDS,
};

/* One free read and its memory */
struct fb_free_read {
	struct bio bio;			/* its bio, set up anew for each read */
	struct bio_vec *bvec;		/* the bio's vectors, one for each chunk */
	struct page **chunk;		/* its memory, fb_free_reads.chunks of them */
	void *data;			/* the same, mapped contiguously */
	enum fb_free_read_state state;	/* [L] */
	struct fb_disk *disk;
	/* what follows is zeroed when it is aimed */
	bool dirty;	/* to be discarded: overwritten, or refused by the drive [L] */
	bool taken;			/* the thread has marked its granules as in flight */
	bool over;	/* its bio has ended but its request has not: there is no verdict yet [L] */
	bool proven;	/* it came from the medium; valid from FB_FREE_READ_ENDED on */
	enum fb_free_read_kind kind;	/* what it is sent as */
	const void *owner;		/* whose foreground read it is; only to be compared */
	enum fb_verify_how how;		/* how it was sent */
	u32 probe;	/* the call that it is a probe of; 0: it is for blocks */
	u32 commands;			/* of a probe: that the device had got before */
	u32 others;			/* of a probe: that the device got until it ended */
	u64 sent_ns;			/* when it was aimed */
	u64 began_ns;	/* when it was handed to the driver; 0: it has not been [L] */
	u64 ended_ns;			/* when its bio ended */
	/* while FB_FREE_READ_SENT; NULL: a foreground read of ours [L] */
	struct request *rq;
	u64 lbn;			/* first sector of the free part [L]; granule-aligned */
	u32 nsect;			/* its sectors [L] */
	u32 good;	/* sectors read without error, valid from FB_FREE_READ_ENDED on */
	bool named;	/* the drive has named the sector behind them as the bad one */
	enum fb_verify_fault fault;	/* whose fault an error is */
	blk_status_t status;
	DECLARE_BITMAP(mask, FB_READ_GRANULES);	/* wanted when it was sent; bit 0: @lbn */
	struct {
		DECLARE_BITMAP(mask, FB_READ_GRANULES);
	} share[FREEBLOCK_TASKS];
	u32 pending;			/* slots of tasks that it is still to be delivered to [L] */
	u32 served;	/* slots of tasks that have it, for the thread to mark as done [L] */
	u32 voided;	/* slots of tasks that it is withheld from: wanted again [L] */
};

/* The buffers of a disk's tasks */
struct fb_free_reads {
	u32 sectors;			/* size of a buffer */
	u32 order;			/* allocation order of its chunks */
	u32 chunks;			/* chunks of a buffer */
	u32 n;	/* how many buffers there are; grows with the number of tasks [L] */
	struct fb_free_read *buf;	/* the buffers; has room for FB_FREE_READS_MAX */
};

/* A disk's own reads; all [L] */
struct fb_reads {
	struct fb_free_read *carrier;	/* from submission until it is sent or back; or NULL */
	struct request *rq;		/* its request while the scheduler holds it; or NULL */
	bool due;			/* the plan in use needs another carrier */
	bool submitting;		/* the thread is submitting a bio */
	u64 ended;			/* sectors that have been read, but for late tasks' */
	struct fb_free_reads *bufs;	/* from the first start to the last destroy; or NULL */
};

/* The buffer behind @buf, or the first one if that is NULL. [L], or the thread */
static inline struct fb_free_read *fb_free_read_next(const struct fb_free_reads *bufs,
						     const struct fb_free_read *buf)
{
	u32 i = buf ? buf - bufs->buf + 1 : 0;

	return bufs && i < READ_ONCE(bufs->n) ? &bufs->buf[i] : NULL;
}

int fb_free_read_provide(struct fb_disk *disk, u32 tasks, u64 *account);
bool fb_free_read_may_promote(const struct freeblock_task *task);
bool fb_free_read_now(struct freeblock_task *task, u64 lbn, u32 nsect, enum fb_free_read_kind kind);
void fb_free_read_begun(struct fb_free_read *buf, u64 now);
void fb_free_read_free_all(struct fb_free_reads *bufs);
bool fb_free_read_is_ours(const struct bio *bio);
bool fb_free_read_prepend(struct fb_disk *disk, struct request *rq, u64 lbn, u32 nsect);
u32 fb_free_read_prepend_limit(const struct fb_disk *disk, struct request *rq);
void fb_free_read_overlap(struct fb_disk *disk, u64 lbn, u64 nsect);
u32 fb_free_read_commands(const struct fb_disk *disk);
u32 fb_free_read_max_data(const struct fb_disk *disk);
u32 fb_free_read_max(const struct fb_disk *disk);
void fb_free_read_enter(struct fb_disk *disk, const struct fb_plan_piece *aim);
bool fb_free_read_hold(struct fb_disk *disk, struct request *rq);
struct request *fb_free_read_send(struct fb_disk *disk, u64 lbn, u32 nsect,
				  enum fb_free_read_kind kind);
void fb_free_read_need(struct fb_disk *disk);
bool fb_free_read_is_awaited(const struct fb_disk *disk);
void fb_free_read_return(struct fb_disk *disk);

extern const struct fb_disk_client fb_verify_client;

enum fb_verify_how fb_verify_how(const struct fb_disk *disk);
u32 fb_verify_proof(const struct fb_disk *disk);
u32 fb_verify_least(const struct fb_disk *disk);
void fb_verify_describe(const struct fb_disk *disk, char *text, size_t size);
u32 fb_verify_max(const struct fb_disk *disk);
void fb_verify_apply(const struct fb_free_read *buf, struct request *rq);
void fb_verify_restore(struct request *rq);
void fb_verify_judge(struct fb_disk *disk, struct request *rq, const enum fb_head_verdict *verdict);
void fb_verify_place(struct fb_free_read *buf);
void fb_verify_split(struct fb_disk *disk, struct request *rq);
bool fb_verify_failed(struct request *rq);
enum fb_verify_fault fb_verify_fault(struct fb_disk *disk, const struct fb_free_read *buf);
void fb_verify_check(struct fb_disk *disk, const struct fb_free_read *buf, bool good);
void fb_verify_is_bad(struct fb_disk *disk, u64 lbn);
void fb_verify_renew(struct fb_disk *disk);
bool fb_verify_has_fua(const struct fb_disk *disk);

/* ---- disk/model.c: the model, and how maps count by it ---- */

u32 fb_model_groups(const struct fb_disk *disk);
void fb_model_regroup(struct fb_disk *disk, struct fb_bitmap *map);
bool fb_model_take(struct fb_disk *disk);
void fb_model_set(struct fb_disk *disk, struct disk_model *dm, bool same);
void fb_model_correct(struct fb_disk *disk);

/* ---- disk/upload.c: a model's table, which is written piece by piece ---- */

ssize_t fb_upload_write(struct fb_disk *disk, const char *data, loff_t off, size_t len);

/* ---- disk/level.c: how far a disk is served ---- */

extern const struct fb_disk_client fb_level_client;

const char *fb_level_unserved(const struct fb_disk *disk);
const char *fb_level_unmapped(const struct fb_disk *disk);
enum freeblock_wait fb_level_waiting_for(const struct fb_disk *disk);

/* ---- disk/measure.c: what free reads cost, measured ---- */

#define FB_MEASURE_TEXT 160	/* bytes that fb_measure_describe() needs */

/* what is written to a disk's file trial */
enum fb_measure_word { FB_MEASURE_OFF, FB_MEASURE_ON, FB_MEASURE_STOP };

struct fb_measure {
	struct fb_cost cost;		/* [L] */
	struct fb_cost copy;		/* the work's: what it judges ... */
	struct fb_cost_verdict verdict;	/* ... and what it finds */
	struct work_struct work;
	bool on;			/* it is not switched off */
	u32 may;			/* FB_COST_GAPS and FB_COST_IDLE: what may be read */
	u32 max_kib_s;			/* as fast as this at most; 0: no limit */
	struct fb_deadline_pace pace;	/* that rate, kept to */
	u64 ended;			/* fb_reads.ended that it has been charged for */
};

extern const struct fb_disk_client fb_measure_client;

void fb_measure_look(struct fb_disk *disk, u32 gaps_ppm, u64 now);
u64 fb_measure_due_ns(const struct fb_disk *disk);
void fb_measure_set(struct fb_disk *disk, enum fb_measure_word word);
u32 fb_measure_counted(const struct fb_disk *disk);
void fb_measure_charge(struct fb_disk *disk);
const char *fb_measure_bars(const struct fb_disk *disk, u32 kind);
void fb_measure_describe(const struct fb_disk *disk, char *buf, size_t size);

/* ---- disk/recovery.c: of bad sectors by the drive, of commands by the kernel ---- */

#define FB_RECOVERY_TEXT 96	/* bytes that fb_recovery_describe() needs */

/* A drive's own recovery, and the host adapter's */
struct fb_recovery {
	struct list_head list;		/* in the list of the disks that have had the scheduler */
	struct work_struct work;	/* has the disks of a host stop */
	bool asked;	/* the drive was asked, and the next two are its answer [L] */
	bool told;			/* it tells a limit [L] */
	u32 limit_ms;			/* which one; 0: there is none [L] */
	bool hurt;	/* a read of ours brought the error handler beyond an abort [L] */
	bool stop;	/* so did one of this host: the thread pauses all tasks [L] */
};

extern const struct fb_disk_client fb_recovery_client;

u32 fb_recovery_max(const struct fb_disk *disk, u32 sectors);
bool fb_recovery_waits(const struct fb_disk *disk, u64 now);
void fb_recovery_describe(const struct fb_recovery *r, char *text, size_t size);
void fb_recovery_told(struct fb_disk *disk, bool told, u32 limit_ms);
void fb_recovery_watch(struct fb_free_read *buf);
void fb_recovery_requeued(struct fb_disk *disk, const struct request *rq);

/* ---- disk/drive_query.c: questions to the drive ---- */

void fb_drive_query_once(struct fb_coverage *cov);
enum fb_power_state fb_drive_query_power(struct fb_disk *disk);
void fb_drive_query_resume(struct fb_disk *disk);
u64 fb_drive_query_touched_ns(struct fb_disk *disk);
const char *fb_drive_query_asleep(struct fb_disk *disk, u64 now);

/* ---- disk/zone.c: host-managed zones ---- */

unsigned long *fb_zone_unwritten(struct fb_disk *disk, u32 zone, u64 first, u64 n);
void fb_zone_cut(const struct fb_disk *disk, struct fb_plan_piece *piece);

/* ---- disk/task_choice.c: which task gaps and idle time go to ---- */

bool fb_task_choice_is_stalled(const struct freeblock_task *task);
bool fb_task_choice_may_take(const struct freeblock_task *task);
struct freeblock_task *fb_task_choice_idle(struct fb_coverage *cov);
void fb_task_choice_map(struct fb_coverage *cov);
void fb_task_choice_weigh(struct fb_coverage *cov, struct fb_limits *lim);

/* ---- disk/coverage.c: what all tasks want together ---- */

u64 fb_coverage_wanted(struct fb_disk *disk, bool *tasks);
bool fb_coverage_wants(struct fb_disk *disk);
bool fb_coverage_may_read(struct fb_disk *disk);
bool fb_coverage_has_work(struct fb_coverage *cov);
void fb_coverage_absorb(struct fb_coverage *cov);
void fb_coverage_attend(struct fb_coverage *cov);
bool fb_coverage_cut(struct fb_coverage *cov, struct fb_plan *plan);

/* ---- disk/delivery.c: blocks, states and events to consumers ---- */

int fb_delivery_init(void);
void fb_delivery_exit(void);
void fb_delivery_setup(struct freeblock_task *task);
void fb_delivery_begin(struct freeblock_task *task);
void fb_delivery_raise(struct freeblock_task *task, u32 events);
void fb_delivery_sweep(struct freeblock_task *task);
void fb_delivery_catch_up(struct freeblock_task *task);
void fb_delivery_try_end(struct freeblock_task *task);
void fb_delivery_free_ops(struct list_head *ops);
int fb_delivery_start(struct freeblock_task *task);
void fb_delivery_stop(struct freeblock_task *task);
int fb_delivery_switch(struct freeblock_task *task, enum fb_task_state from, enum fb_task_state to);
void fb_delivery_count(struct freeblock_task *task, u64 wanted, u64 flying, u64 total);
void fb_delivery_mind_host(struct fb_coverage *cov);
bool fb_delivery_judge(struct fb_coverage *cov, const struct fb_free_read *buf);
void fb_delivery_mind_bad(struct fb_coverage *cov, bool flush);

/* ---- disk/idle.c: reads while the disk is idle ---- */

#define FB_IDLE_AUTO U32_MAX

/* all [L] */
struct fb_idle {
	struct fb_idle_policy wait;
	u32 goal_mean_us;	/* setting: mean slowdown of a request; 0: no idle reads */
	u32 goal_max_us;		/* setting: longest slowdown of a foreground request */
	u32 wait_us;			/* setting: threshold, or FB_IDLE_AUTO */
	u32 size_kib;			/* setting: longest read, or FB_IDLE_AUTO */
	struct fb_idle_reader reader;	/* the next idle read, or the one in flight */
	u32 probe;	/* the call that it is a probe of; 0: it is for blocks */
	u32 probes;			/* the number of the last call */
	bool probing;	/* a probe was sent, and the thread has not entered its end yet */
	u32 commands;	/* that the device had got before the idle read that is being sent */
	bool asking;	/* a query of ours is in flight; written by the thread without a lock */
	bool woken;	/* something has changed: the thread must compute anew when to read */
	struct fb_power power;		/* the drive's power state, and whether it may sleep */
	u32 sent;	/* commands that the scheduler has handed out, as the device counts them */
	u32 passed;	/* the device's count beyond @sent, when it was last looked at */
};

extern const struct fb_disk_client fb_idle_client;

void fb_idle_changed(struct fb_disk *disk);
void fb_idle_wake(struct fb_disk *disk);
void fb_idle_quiet(struct fb_disk *disk);
void fb_idle_sent(struct fb_disk *disk);
void fb_idle_passed(struct fb_disk *disk);
const char *fb_idle_why(struct fb_disk *disk, enum fb_idle_policy_why why, u64 now);
u64 fb_idle_due_ns(struct fb_disk *disk);
void fb_idle_read(struct fb_coverage *cov);

/* ---- disk/probe.c: reads that return their times ---- */

bool fb_probe_waits(const struct fb_disk *disk);
u32 fb_probe_next(struct freeblock_task *task, struct fb_plan_piece *piece);
void fb_probe_absorb(struct fb_coverage *cov, struct fb_free_read *buf);

/* ---- disk/late.c: tasks that get too little ---- */

/* when to try again after no read was found or the queue did not take it */
#define FB_LATE_RETRY_NS (20 * (u64)NSEC_PER_MSEC)

/* The share that late tasks have in the foreground's time; all [L] */
struct fb_late {
	struct fb_deadline_share share;		/* what is left of it */
	u32 ppm;	/* how much it is, for the late task that is served now; 0: none is */
	bool flying;			/* a read is on its way or at the drive */
	u64 retry_ns;			/* no read before this time */
	u64 arrived;			/* requests of the foreground */
	u64 seen;			/* @arrived when the last read joined them */
};

extern const struct fb_disk_client fb_late_client;

void fb_late_arrive(struct fb_disk *disk);
u64 fb_late_read_due_ns(struct fb_disk *disk);
u64 fb_late_measure_ns(const struct fb_coverage *cov);
void fb_late_read(struct fb_coverage *cov);
u64 fb_late_tell_due_ns(struct fb_disk *disk);
void fb_late_tell(struct fb_coverage *cov);

/* ---- disk/reader.c: the thread ---- */

extern const struct fb_disk_client fb_reader_client;

int fb_reader_thread(void *data);

/* ---- statistics, all [L] ---- */

/* Of latencies: four an octave, from 2^16 ns (66 us) to 2^36 ns (69 s), and what is beyond */
#define FB_LATENCY_LOW 16
#define FB_LATENCY_BUCKETS 80

/* Of which requests. Linux before 6.5 schedules no FUA writes, later ones are writes, too */
enum fb_latency {
	FB_LATENCY_READ,
	FB_LATENCY_WRITE,
	FB_LATENCY_FUA,
	FB_LATENCY_KINDS
};

struct fb_stats {
	u64 fg_requests;		/* scheduled foreground requests completed, without ours */
	u64 fg_ended[2];		/* reads [0] and writes [1] among them */
	u64 fg_ns[2];			/* from their allocation to their end, in all */
	u64 fg_sectors[2];		/* of those reads, and of those writes */
	u64 fg_latency[FB_LATENCY_KINDS][FB_LATENCY_BUCKETS];	/* how many took how long */
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
	u64 search_ns;			/* CPU time of all searches */
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

	struct fb_gap_mail mail;	/* see core/engine/engine.h [L] */
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
