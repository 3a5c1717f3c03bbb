/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The engine's host: what freeblock_iosched.c and sched/ do in the kernel, between a foreground
 * that is drawn and a simulated drive, or a real one.
 */
#ifndef SIM_SCHED_H
#define SIM_SCHED_H

#include "core/cost/cost.h"
#include "core/deadline.h"
#include "core/engine/engine.h"
#include "sim_drive.h"
#include "sim_load.h"
#include "sim_stat.h"
#include "sim_task.h"

/**
 * enum sims_kind - kinds of foreground requests, whose times are told apart
 * @SIMS_READ: they read
 * @SIMS_WRITE: they write
 * @SIMS_FLUSH: they flush the drive's cache
 * @SIMS_KINDS: the number of kinds
 */
enum sims_kind { SIMS_READ, SIMS_WRITE, SIMS_FLUSH, SIMS_KINDS };

/* Idle reads */
struct sims_idle {
	u64 reads;	/* sent */
	u64 sectors;	/* theirs */
	u64 predicted;	/* those of known head ... */
	u64 most_ns;	/* ... and the longest that was predicted */
};

/* What happened */
struct sims_stats {
	u64 requests;	/* foreground requests ended */
	u64 sectors;	/* of theirs */
	struct simh response;	/* from arrival to report */
	/* the same by enum sims_kind; flushes are in none of the figures above */
	struct simh of[SIMS_KINDS];
	u64 late;	/* report errors of more than half a turn */
	u64 early;	/* and less than minus that */
	u64 prepends;	/* sent */
	u64 separates;	/* sent */
	u64 spoilt;	/* free reads overlapped by a foreground write */
	u32 most;	/* commands at the drive, at most */
	u64 free_errors;	/* free reads that met a bad sector, or may have */
	u64 failed;	/* foreground requests that did for good; not among @requests */
	u64 again;	/* commands that had to be sent again, for another reason */
	u64 unsearched;	/* gaps that were known too late to be searched */
	u64 deep;	/* foreground requests left to the drive's own order */
	u64 joint_windows;	/* windows of the joint price that count */
	s64 joint_ppm;	/* what free reads cost in them, sum */
	struct sims_idle idle;	/* idle reads */
	struct fb_engine_stats engine;	/* what the engine counts */
	struct sim_file_out *log;	/* arrival and response of each request, or NULL */
};

/* A scheduler */
struct sims {
	struct fb_engine engine;	/* what is sent next, and what is at the drive */
	struct fb_gap_mail mail;	/* its gaps, to be searched */
	struct fb_order_cost order_cost;	/* for it */
	/* what the drive still has to write, if the scheduler is to mind that */
	struct fb_destage destage;
	const struct simo *o;	/* settings */
	struct sim_drive *drive;	/* the drive */
	struct siml *load;	/* the foreground */
	struct simt *task;	/* the task */
	struct fb_idle_policy wait;	/* when to read while nobody else wants anything */
	struct fb_idle_reader reader;	/* those reads */
	u64 idle_ns;	/* when to look for one; SIML_NEVER: after the next event */
	bool active;	/* somebody does want something */
	u64 now_ns;	/* the time */
	u32 queue;	/* commands that the drive takes */
	bool cache;	/* it reports writes before they are on the medium */
	struct fb_cost cost;	/* what free reads cost, measured, and whether they may be sent */
	struct fb_deadline_pace pace;	/* how fast they may be */
	u64 unpaced;	/* sectors of them that have ended, which the pace is not charged for yet */
	/* when the engine is to be asked who orders though nothing happens; SIML_NEVER: not */
	u64 due_ns;
	u64 gap_ns;	/* since when gaps have been known ... */
	u32 gap_gen;	/* ... of this generation */
	struct list_head flushes;	/* flushes that are to be sent, past the pool */
	struct siml_req *at[SIM_DRIVE_SLOTS];	/* what is at the drive, by slot */
	struct siml_req own[SIM_DRIVE_SLOTS];	/* reads of the task's own */
	struct fb_seek_fit calib;	/* what seeks take longer than the model says */
	struct sims_stats stats;	/* what happened */
};

/*
 * An idle scheduler. @s: out; @o, @drive, @load and @task are set already. @dm: model; NULL:
 * none, and the drive orders
 */
void sims_init(struct sims *s, struct disk_model *dm);

/* A foreground request has come */
void sims_insert(struct sims *s, struct siml_req *req, u64 now_ns);

/* The drive has reported a command */
void sims_complete(struct sims *s, const struct sim_drive_done *done);

/* Send what is to be sent now */
void sims_fill(struct sims *s, u64 now_ns);

#endif /* SIM_SCHED_H */
