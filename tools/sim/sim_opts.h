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

/* How long foreground requests are */
struct simo_sizes {
	u64 mean;	/* of an exponential distribution in whole units, bytes; 0: by @size */
	u32 n;	/* entries of @size */
	struct {
		u64 bytes;
		double share;
	} size[SIMO_SIZES_MAX];	/* bytes, and the share that is so long, in any unit */
};

/*
 * The settings, under the names and in the units of Documentation/sim.rst; SIMO_AUTO is "auto".
 */
struct simo {
	char *preset;
	char *drive;
	char *set;	/* lines of the description, each with its newline */
	char *model;
	char *knowledge;
	bool map;	/* it has the model */
	char *noise;
	u64 seed;
	char *policy_name;	/* none, or one of fb_policy_name[] */
	u64 foreground_cost_ppm;
	u64 max_kib_s;
	double joint_price;	/* of a turn, in mean values of a gap; 0: as the cost asks for */
	u64 sw_percent;
	double depth;	/* 0: two, and as many as it takes under none */
	u64 hold;
	u64 read_expire_ms;
	u64 write_expire_ms;
	double commit_us;
	double lead_us;
	u64 outstanding;
	double think_ms;
	char *think_name;
	double rate;	/* 0: the closed loop */
	double reads;
	double fua;
	double fsync;
	double burst;
	char *size_text;
	char *place_text;
	char *trace;	/* empty: none */
	char *task_name;
	char *range_text;	/* empty: the whole disk */
	u64 granule;	/* 0: the model's */
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
	double guard_ppm;	/* 0: no guard */
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
	double trial;	/* 0: no trial */
	double trial_s;
	u64 trial_seed;
	u64 trial_guard;
	u64 trial_most_ppm;
	char *start_text;
	char *save;	/* empty: none */
	char *log;	/* empty: none */
	double seconds;	/* 0: no such end, but 60 if there is no other */
	u64 requests;	/* 0: no such end */
	u64 whole;
	/* Read from the texts above, without _text and _name. */
	int policy;	/* SIMO_NONE or an enum fb_policy_id */
	bool joint;	/* requests and free reads are chosen together */
	bool order_cost;	/* fb_policy_has_cost() */
	bool think_constant;
	struct simo_sizes sizes;
	enum simo_place place;
	u64 places;	/* N of it */
	bool scan;	/* there is a task */
	bool fresh;	/* one that wants again what it has read */
	u64 trickle_ms;	/* a block somewhere every so often; 0: no */
	u32 lift;
	bool probe;	/* the drive's look-ahead is */
	u32 guard;	/* ppm */
	bool root;
	bool balance;
	double edge;	/* 0: none */
	bool idle;	/* and there is a task */
	bool verify;
	fb_idle_order_fn order;
	u64 order_regions;	/* 0: as many as the order likes */
	double start_share;	/* 0: none */
	bool start_course;	/* of course:SHARE */
	u64 first;
	u64 count;	/* 0: the whole disk */
};

/*
 * Settings from words. Ends the program when a word is wrong. @o: out: the defaults, and what the
 * words say. @words: "name=value" each; of a name given twice the latter counts, but set= adds
 */
void simo_read(struct simo *o, char **words, int n);

/* The settings as a JSON object */
void simo_print(const struct simo *o, FILE *out);

#endif /* SIM_OPTS_H */
