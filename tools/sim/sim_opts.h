/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What to simulate: settings as words "name=value", checked and told again in the
 * results. Documentation/sim.rst describes each.
 */
#ifndef SIM_OPTS_H
#define SIM_OPTS_H

#include "core/idle_order.h"

#define SIMO_PENDING_MAX 4096	/* foreground requests in the system, at most */
#define SIMO_BURST_MAX 2000	/* requests of a burst, at most */
#define SIMO_SIZES_MAX 16
#define SIMO_TRICKLE_MS_MAX 3600000
#define SIMO_AUTO (-1)		/* "auto", where a setting has it */
#define SIMO_NONE (-1)		/* policy: all at once to the drive's own queue */

enum simo_place { SIMO_UNIFORM, SIMO_ZIPF, SIMO_CYLINDERS, SIMO_STREAMS, SIMO_APPEND };

/**
 * struct simo_sizes - how long foreground requests are
 * @mean: of an exponential distribution in whole units, bytes; 0: by @size
 * @n: entries of @size
 * @size: bytes, and the share that is so long, in any unit
 */
struct simo_sizes {
	u64 mean;
	u32 n;
	struct {
		u64 bytes;
		double share;
	} size[SIMO_SIZES_MAX];
};

/**
 * struct simo - the settings; those of @private are read from the texts above them
 * @preset: whose the defaults are: module or paper
 * @drive: .fbdrive file
 * @set: further lines of it, each with its newline
 * @model: .fbmodel file
 * @knowledge: what the scheduler knows of the drive: "none", "rates", "map"
 * @map: it has the model
 * @noise: see sim_drive_open()
 * @seed: of drive and foreground
 * @policy_name: none, or one of fb_policy_name[]
 * @sw_percent: n of SPTF-SWn%
 * @foreground_cost_ppm: what free reads may cost in all under policy auto
 * @joint_price: of a turn then, in mean values of a gap; 0: as the cost asks for
 * @depth: commands at the drive; 0: two, and as many as it takes under none; SIMO_AUTO: two
 *	while free reads are wanted, else as many as it takes, in its own order
 * @hold: keep the second one back until the first is about to end
 * @read_expire_ms: a read waits no longer; 0: as long as it may be
 * @write_expire_ms: a write likewise
 * @commit_us: how long a free slot waits for the request that a completion provokes
 * @lead_us: a command must be with the drive so long before it is to start there
 * @outstanding: processes of the closed loop
 * @think_ms: mean time between a completion and the process's next request
 * @think_name: constant or exponential
 * @rate: of Poisson arrivals, per second; 0: the closed loop
 * @reads: share of reads
 * @fua: share of the writes with FUA
 * @fsync: share of the writes that are followed by a flush
 * @burst: mean length of the bursts that the arrivals come in, see siml_gap_ns(); 0: none
 * @size_text: bytes (4k), exp:MEAN, or SIZE/SHARE:SIZE/SHARE...
 * @place_text: uniform, zipf, cylinders:N, streams:N or append:N
 * @trace: file of requests, see sim_trace.h; empty: none
 * @task_name: none; scan; fresh: a scan that wants again what it has read; trickle:MS: one that
 *	wants nothing at first, and a block somewhere every so many milliseconds
 * @range_text: FIRST+COUNT, sectors; empty: the whole disk
 * @granule: coverage granule, bytes; 0: the model's
 * @conservatism_us: added to each seek of the freeblock decision; SIMO_AUTO: it is learnt
 * @target_slowdown_ppm: what free reads may cost then
 * @max_sectors: longest separate read; SIMO_AUTO: fb_longest_read()
 * @max_prepend_sectors: longest prepend; SIMO_AUTO: as above
 * @separate: separate reads are allowed
 * @lift_text: which limits of the paper's to lift: source, dest, several, with "+"
 *	between them; all; auto: all, but source and dest as the probe allows; empty: none
 * @pipe_read_us: least head time of the command before a read; SIMO_AUTO: the model's
 *	overhead and @lead_us
 * @pipe_write_us: least head time of the command before a write
 * @hop_steps: steps for one of several pieces; 0: no bound but @steps
 * @value_name: what the blocks of a track are worth: count: each the same, root: the
 *	power of 2/5 of how many they are
 * @weight_text: what a block is worth where it lies: flat; edge or edge:K, see
 *	simt_init_weight(); balance: the more, the more of its region is left
 * @balance_s: disk time between two looks at the balance
 * @steps: search budget, tracks
 * @search_us: how long a gap must have been known before its plan can be used
 * @guard_ppm: turns that free reads may cost the foreground; SIMO_AUTO: as the module lets
 *	them; 0: no guard
 * @calibrate: 1: seek times are corrected by what completions say
 * @destage: 1: mind what a drive with a write cache still has to write
 * @idle_name: off; on: blocks are read when nobody else wants anything, too
 * @idle_wait_us: threshold of the policy; SIMO_AUTO: it is found
 * @idle_size_kib: longest idle read; SIMO_AUTO: it is found
 * @idle_mean_us: what idle reads may cost a foreground request, on the mean
 * @idle_max_us: and at most
 * @order_text: sequential, staggered, staggered:REGIONS or near
 * @segment_kib: staggered: of a region, at a time; 0: 64, or a block
 * @idle_command: read or verify
 * @trial: stretches in a block of the controlled trial, one of which is control; 0: no trial;
 *	SIMO_AUTO: as many as are of use
 * @trial_s: length of a stretch
 * @trial_seed: of the moments at which control begins
 * @trial_guard: 1: free reads stop when they cost too much by the trial
 * @trial_most_ppm: bound of the guard's limit, see struct fb_trial_limit
 * @start_text: what is read already: none, random:SHARE, course:SHARE, or a file that save= has
 *	written
 * @save: file that gets what is left at the end; empty: none
 * @log: file that gets arrival and response of each request; empty: none
 * @seconds: end after so much disk time; 0: no such end, but 60 if there is no other
 * @requests: end after so many foreground requests; 0: no such end
 * @whole: end when the task's blocks are all read
 * @policy: @policy_name; SIMO_NONE or an enum fb_policy_id
 * @joint: of @policy_name: requests and free reads are chosen together
 * @order_cost: of @policy_name: fb_policy_has_cost()
 * @think_constant: of @think_name
 * @sizes: of @size_text
 * @place: of @place_text
 * @places: its N
 * @scan: of @task_name, and so for fresh
 * @fresh: of @task_name
 * @trickle_ms: of @task_name; 0: none
 * @lift: of @lift_text
 * @probe: of @lift_text: the drive's look-ahead is probed
 * @guard: of @guard_ppm and @target_slowdown_ppm, ppm
 * @root: of @value_name
 * @balance: of @weight_text
 * @edge: K of @weight_text; 0: none
 * @idle: of @idle_name, and there is a task
 * @verify: of @idle_command
 * @order: of @order_text
 * @order_regions: of @order_text; 0: as many as the order likes
 * @start_share: SHARE of @start_text; 0: none
 * @start_course: it is of course:SHARE
 * @first: of @range_text
 * @count: of @range_text; 0: the whole disk
 */
struct simo {
	char *preset;
	char *drive;
	char *set;
	char *model;
	char *knowledge;
	bool map;
	char *noise;
	u64 seed;
	char *policy_name;
	u64 foreground_cost_ppm;
	double joint_price;
	u64 sw_percent;
	double depth;
	u64 hold;
	u64 read_expire_ms;
	u64 write_expire_ms;
	double commit_us;
	double lead_us;
	u64 outstanding;
	double think_ms;
	char *think_name;
	double rate;
	double reads;
	double fua;
	double fsync;
	double burst;
	char *size_text;
	char *place_text;
	char *trace;
	char *task_name;
	char *range_text;
	u64 granule;
	double conservatism_us;
	u64 target_slowdown_ppm;
	double max_sectors;
	double max_prepend_sectors;
	u64 separate;
	char *lift_text;
	double pipe_read_us;
	double pipe_write_us;
	u64 hop_steps;
	char *value_name;
	char *weight_text;
	double balance_s;
	u64 steps;
	double search_us;
	double guard_ppm;
	u64 calibrate;
	u64 destage;
	char *idle_name;
	double idle_wait_us;
	double idle_size_kib;
	double idle_mean_us;
	double idle_max_us;
	char *order_text;
	u64 segment_kib;
	char *idle_command;
	double trial;
	double trial_s;
	u64 trial_seed;
	u64 trial_guard;
	u64 trial_most_ppm;
	char *start_text;
	char *save;
	char *log;
	double seconds;
	u64 requests;
	u64 whole;
	/* private: */
	int policy;
	bool joint;
	bool order_cost;
	bool think_constant;
	struct simo_sizes sizes;
	enum simo_place place;
	u64 places;
	bool scan;
	bool fresh;
	u64 trickle_ms;
	u32 lift;
	bool probe;
	u32 guard;
	bool root;
	bool balance;
	double edge;
	bool idle;
	bool verify;
	fb_idle_order_fn order;
	u64 order_regions;
	double start_share;
	bool start_course;
	u64 first;
	u64 count;
};

/**
 * simo_read() - settings from words
 * @o: out: the defaults, and what the words say
 * @words: "name=value" each; of a name given twice the latter counts, but set= adds
 * @n: how many
 *
 * Ends the program when a word is wrong.
 */
void simo_read(struct simo *o, char **words, int n);

/**
 * simo_print() - the settings as a JSON object
 * @o: settings
 * @out: where to
 */
void simo_print(const struct simo *o, FILE *out);

#endif /* SIM_OPTS_H */
