/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The pipeline: what freeblock_iosched.c does between blk-mq and the drive, with the
 * same core beneath.
 */
#ifndef SIM_SCHED_H
#define SIM_SCHED_H

#include "core/completion.h"
#include "core/destage.h"
#include "core/orders.h"
#include "sim_drive.h"
#include "sim_idle.h"
#include "core/shadow.h"
#include "sim_load.h"
#include "sim_stat.h"
#include "sim_task.h"

/**
 * struct sims_cmd - a command at the drive
 * @req: foreground request, or NULL
 * @cmd: where it goes, and what its completion teaches
 * @free_end: its free part is from its first sector to here; that sector: there is none
 * @spoilt: a foreground write overlaps the free part
 */
struct sims_cmd {
	struct siml_req *req;
	struct fb_completion_cmd cmd;
	u64 free_end;
	bool spoilt;
};

/**
 * enum sims_kind - kinds of foreground requests, whose times are told apart
 * @SIMS_READ: they read
 * @SIMS_WRITE: they write
 * @SIMS_FLUSH: they flush the drive's cache
 * @SIMS_KINDS: the number of kinds
 */
enum sims_kind { SIMS_READ, SIMS_WRITE, SIMS_FLUSH, SIMS_KINDS };

/**
 * struct sims_stats - what happened
 * @requests: foreground requests ended
 * @sectors: of theirs
 * @response: from arrival to report
 * @of: the same by enum sims_kind; flushes are in none of the figures above
 * @ends: of predictions
 * @late: report errors of more than half a turn
 * @early: and less than minus that
 * @prepends: sent
 * @separates: sent
 * @several: plans of more than one piece
 * @too_late: plans not used: the drive was about to finish
 * @out_of_order: completions overtaken by the drive
 * @spoilt: free reads overlapped by a foreground write
 * @most: commands at the drive, at most
 * @free_errors: free reads that met a bad sector, or may have
 * @failed: foreground requests that did for good; not among @requests
 * @again: commands that had to be sent again, for another reason
 * @unsearched: gaps that were known too late to be searched
 * @deep: foreground requests left to the drive's own order
 * @order: what the policy's order costs
 * @log: arrival and response of each request, or NULL
 */
struct sims_stats {
	u64 requests;
	u64 sectors;
	struct simh response;
	struct simh of[SIMS_KINDS];
	struct fb_completion_stats ends;
	u64 late;
	u64 early;
	u64 prepends;
	u64 separates;
	u64 several;
	u64 too_late;
	u64 out_of_order;
	u64 spoilt;
	u32 most;
	u64 free_errors;
	u64 failed;
	u64 again;
	u64 unsearched;
	u64 deep;
	struct fb_order_cost_sum order;
	struct sim_file_out *log;
};

/**
 * struct sims - the scheduler
 * @o: settings
 * @dm: model; NULL: none, and the drive orders
 * @drive: the drive
 * @load: the foreground
 * @task: the task
 * @idle: reads for it while nobody else wants anything
 * @shadow: what the drive would do alone
 * @queue: commands that the drive takes
 * @host_ns: see struct sim_drive_info
 * @depth: commands at the drive, at most
 * @deep: the drive orders: commands are neither chosen nor predicted
 * @orders: decides that with depth auto
 * @due_ns: when it is to be asked next though nothing happens; SIML_NEVER: not
 * @pool: pending requests
 * @flushes: flushes that are to be sent, past the pool
 * @choice: the provisional next one
 * @pinned: a separate read has been sent for @choice's gap: @choice is next for good
 * @gap_open: @gap may be searched
 * @gap: from the tail to the choice
 * @gap_ns: since when it has been known
 * @plan: the plan in use while @pinned ...
 * @next_piece: ... and which of its pieces is sent next
 * @lifts: that the command sent last used
 * @flight: slots at the drive, in the order sent
 * @nr_flight: how many
 * @cmd: by slot
 * @head: head and phase
 * @cache: the drive reports writes before they are on the medium
 * @destage: what it still has to write, if the scheduler is to mind that
 * @calib: what seeks take longer than the model says
 * @tail_known: @tail is valid
 * @tail: where the head will be at the end of the command sent last
 * @window_ns: the slot stays open until then; 0: it is not open
 * @stats: what happened
 */
struct sims {
	const struct simo *o;
	struct disk_model *dm;
	struct sim_drive *drive;
	struct siml *load;
	struct simt *task;
	struct simi idle;
	struct fb_shadow shadow;
	u32 queue;
	u64 host_ns;
	u32 depth;
	bool deep;
	struct fb_orders orders;
	u64 due_ns;
	struct fb_policy_pool pool;
	struct list_head flushes;
	struct fb_policy_choice choice;
	bool pinned;
	bool gap_open;
	struct fb_gap gap;
	u64 gap_ns;
	struct fb_plan plan;
	u32 next_piece;
	u32 lifts;
	u32 flight[SIM_DRIVE_SLOTS];
	u32 nr_flight;
	struct sims_cmd cmd[SIM_DRIVE_SLOTS];
	struct fb_head head;
	bool cache;
	struct fb_destage destage;
	struct fb_seek_fit calib;
	bool tail_known;
	struct dm_place tail;
	u64 window_ns;
	struct sims_stats stats;
};

/**
 * sims_init() - an idle scheduler
 * @s: out; @o, @dm, @drive, @load and @task are set already
 */
void sims_init(struct sims *s);

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
