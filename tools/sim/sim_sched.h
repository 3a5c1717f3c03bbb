/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The engine's host: what freeblock_iosched.c and sched/ do in the kernel, between a foreground
 * that is drawn and a simulated drive, or a real one.
 */
#ifndef SIM_SCHED_H
#define SIM_SCHED_H

#include "core/cost/cost.h"
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

/**
 * struct sims_idle - idle reads
 * @reads: sent
 * @sectors: theirs
 * @predicted: those of known head ...
 * @most_ns: ... and the longest that was predicted
 */
struct sims_idle {
	u64 reads;
	u64 sectors;
	u64 predicted;
	u64 most_ns;
};

/**
 * struct sims_stats - what happened
 * @requests: foreground requests ended
 * @sectors: of theirs
 * @response: from arrival to report
 * @of: the same by enum sims_kind; flushes are in none of the figures above
 * @late: report errors of more than half a turn
 * @early: and less than minus that
 * @prepends: sent
 * @separates: sent
 * @spoilt: free reads overlapped by a foreground write
 * @most: commands at the drive, at most
 * @free_errors: free reads that met a bad sector, or may have
 * @failed: foreground requests that did for good; not among @requests
 * @again: commands that had to be sent again, for another reason
 * @unsearched: gaps that were known too late to be searched
 * @deep: foreground requests left to the drive's own order
 * @joint_windows: windows of the joint price that count
 * @joint_ppm: what free reads cost in them, sum
 * @idle: idle reads
 * @engine: what the engine counts
 * @log: arrival and response of each request, or NULL
 */
struct sims_stats {
	u64 requests;
	u64 sectors;
	struct simh response;
	struct simh of[SIMS_KINDS];
	u64 late;
	u64 early;
	u64 prepends;
	u64 separates;
	u64 spoilt;
	u32 most;
	u64 free_errors;
	u64 failed;
	u64 again;
	u64 unsearched;
	u64 deep;
	u64 joint_windows;
	s64 joint_ppm;
	struct sims_idle idle;
	struct fb_engine_stats engine;
	struct sim_file_out *log;
};

/**
 * struct sims - a scheduler
 * @engine: what is sent next, and what is at the drive
 * @mail: its gaps, to be searched
 * @order_cost: for it
 * @destage: what the drive still has to write, if the scheduler is to mind that
 * @o: settings
 * @drive: the drive
 * @load: the foreground
 * @task: the task
 * @wait: when to read while nobody else wants anything
 * @reader: those reads
 * @idle_ns: when to look for one; SIML_NEVER: after the next event
 * @active: somebody does want something
 * @now_ns: the time
 * @queue: commands that the drive takes
 * @cache: it reports writes before they are on the medium
 * @cost: what free reads cost, measured, and whether they may be sent
 * @due_ns: when the engine is to be asked who orders though nothing happens; SIML_NEVER: not
 * @gap_ns: since when gaps have been known ...
 * @gap_gen: ... of this generation
 * @flushes: flushes that are to be sent, past the pool
 * @at: what is at the drive, by slot
 * @own: reads of the task's own
 * @calib: what seeks take longer than the model says
 * @stats: what happened
 */
struct sims {
	struct fb_engine engine;
	struct fb_gap_mail mail;
	struct fb_order_cost order_cost;
	struct fb_destage destage;
	const struct simo *o;
	struct sim_drive *drive;
	struct siml *load;
	struct simt *task;
	struct fb_idle_policy wait;
	struct fb_idle_reader reader;
	u64 idle_ns;
	bool active;
	u64 now_ns;
	u32 queue;
	bool cache;
	struct fb_cost cost;
	u64 due_ns;
	u64 gap_ns;
	u32 gap_gen;
	struct list_head flushes;
	struct siml_req *at[SIM_DRIVE_SLOTS];
	struct siml_req own[SIM_DRIVE_SLOTS];
	struct fb_seek_fit calib;
	struct sims_stats stats;
};

/**
 * sims_init() - an idle scheduler
 * @s: out; @o, @drive, @load and @task are set already
 * @dm: model; NULL: none, and the drive orders
 */
void sims_init(struct sims *s, struct disk_model *dm);

/**
 * sims_insert() - a foreground request has come
 * @s: the scheduler
 * @req: the request
 * @now_ns: the time
 */
void sims_insert(struct sims *s, struct siml_req *req, u64 now_ns);

/**
 * sims_complete() - the drive has reported a command
 * @s: the scheduler
 * @done: which, and when
 */
void sims_complete(struct sims *s, const struct sim_drive_done *done);

/**
 * sims_fill() - send what is to be sent now
 * @s: the scheduler
 * @now_ns: the time
 */
void sims_fill(struct sims *s, u64 now_ns);

#endif /* SIM_SCHED_H */
