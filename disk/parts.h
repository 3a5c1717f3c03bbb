/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The parts of a disk, a section for each file of this folder: what struct fb_disk holds of it,
 * and what it has others call, which is described above the functions. [L]: under fb_disk.lock; the
 * table of locks is in disk/disk.h, which includes this.
 */
#ifndef FB_PARTS_H
#define FB_PARTS_H

#include <linux/kobject.h>
#include <linux/workqueue.h>

#include "core/cost/cost.h"
#include "core/idle/reader.h"
#include "core/plan.h"
#include "core/power.h"
#include "core/deadline.h"
#include "disk/task_state.h"
#include "include/freeblock.h"

struct dentry;
struct disk_model;
struct fb_disk_client;
struct fb_free_read;
struct file;
struct request;

/* ---- disk/folder.c: its directories in sysfs and debugfs ---- */

/* When, and under which names, they are there is the work item's of disk/folder.c alone. */
struct fb_folder {
	struct kobject kobj;	/* /sys/kernel/freeblock/<disk>; its owner counts references */
	struct dentry *debugfs;	/* /sys/kernel/debug/freeblock/<disk>; NULL until there is one */
	bool gone;			/* it gets no name any more; under fb_folder_lock */
};

int fb_folder_init(void (*fill)(struct fb_folder *folder));
void fb_folder_exit(void);
int fb_folder_set_name(struct fb_folder *folder, const char *name);
void fb_folder_remove(struct fb_folder *folder);

/* ---- disk/memory.c: the account of memory_mib, for all disks ---- */

int fb_memory_charge(u64 *account, u64 bytes, const char *what);
void fb_memory_uncharge(u64 *account, u64 bytes);
void fb_memory_exit(void);

/* ---- disk/model.c: the model, and how maps count by it ---- */

u32 fb_model_groups(const struct fb_disk *disk);
void fb_model_regroup(struct fb_disk *disk, struct fb_bitmap *map);
bool fb_model_take(struct fb_disk *disk);
void fb_model_set(struct fb_disk *disk, struct disk_model *dm, bool same);
void fb_model_correct(struct fb_disk *disk);

/* ---- disk/upload.c: what is written piece by piece, by one writer at a time ---- */

/* Who is uploading */
struct fb_upload_owner {
	const struct file *file;	/* that wrote offset 0, perhaps closed since; NULL: none */
	u64 wrote_ns;			/* when it wrote last */
};

int fb_upload_claim(struct fb_upload_owner *owner, const struct file *file, loff_t off);
const char *fb_upload_why(int ret);
void fb_upload_release(struct fb_upload_owner *owner);
ssize_t fb_upload_write(struct fb_disk *disk, const struct file *file, const char *data, loff_t off,
			size_t len);

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
	u32 pace_kib_s;			/* that @pace is for */
	struct fb_deadline_share pace;	/* time that may be read at that rate */
	u64 ended;			/* fb_reads.ended that it has been charged for */
	u64 open_ns;			/* it is used up until then; 0: it is not */
};

extern const struct fb_disk_client fb_measure_client;

void fb_measure_look(struct fb_disk *disk, u32 gaps_ppm, u64 now);
u64 fb_measure_due_ns(const struct fb_disk *disk);
void fb_measure_set(struct fb_disk *disk, enum fb_measure_word word);
void fb_measure_arrived(struct fb_disk *disk, bool write, u64 now);
void fb_measure_ended(struct fb_disk *disk, bool write, u64 took_ns, u64 now);
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
void fb_delivery_free_op(struct fb_op *op);
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

#endif /* FB_PARTS_H */
