/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What free reads cost the foreground, measured: a controlled trial that never ends. Time is cut
 * into blocks. In one stretch of each, the control, nothing free is read; what requests take there
 * is compared with the rest, the treated time. So all that free reads do is in the difference:
 * collisions, another order, streams that the drive's cache loses. The control begins at a random
 * moment: on a grid it would beat with the foreground. After the guard has acted stretches are half
 * as long and the arms are swapped for two dozen blocks: what was too much mostly still is. After
 * FB_TRIAL_UNUSED blocks without a request the next block begins with a request: free reads cost
 * nobody anything meanwhile. A request that begins a block is not counted, so other blocks follow.
 * Response times come from Little's law, by kind of request and arm: the area under the number in
 * the system over the number of ends; a mean by arrival is wrong in a closed loop, where a
 * stretch's last requests are served in the next one. A mean can hide a disaster: reads are counted
 * apart that take more than three times what 99 of 100 take in control, and what one may have to
 * wait. Events only add to sums; what these say takes thousands of instructions, and is worked out
 * once a block, from a copy. Times are ns, areas ns times requests. Documentation/cost.rst has the
 * equations. Core.
 */
#ifndef FB_TRIAL_H
#define FB_TRIAL_H

#include "include/fb_shim.h"

#define FB_TRIAL_STRETCH_NS 4000000000ULL	/* ten times what a queue takes to drain */
#define FB_TRIAL_DOUBT 4	/* stretches in a block while the cost is in doubt */
#define FB_TRIAL_CLEAR 32	/* and while it is not */
#define FB_TRIAL_LEAST 12	/* blocks before anything is concluded from them */
#define FB_TRIAL_ENDS 100	/* and requests that ended in control */
#define FB_TRIAL_UNUSED 16	/* blocks without any request, one after the other */
#define FB_TRIAL_BLOCKS 64	/* kept; then they are merged by two */
#define FB_TRIAL_BUCKETS 64	/* four for each power of two, from 65 us */
#define FB_TRIAL_ALL 1000000000	/* all reads, as a share of them */
#define FB_TRIAL_NEVER U64_MAX
#define FB_TRIAL_Z_SHIFT 10	/* of fb_trial_z() */

/* kinds of requests that are told apart; as an argument FB_TRIAL_KINDS is reads and writes, each by
 * its share. Of FB_TRIAL_SLOW, reads again, a "time" is a share of 1e9: of those that are slow.
 */
enum fb_trial_kind { FB_TRIAL_READ, FB_TRIAL_WRITE, FB_TRIAL_SLOW, FB_TRIAL_KINDS };

enum fb_trial_arm { FB_TRIAL_TREATED, FB_TRIAL_CONTROL, FB_TRIAL_ARMS };

struct fb_trial_sum {
	u64 area;	/* under the number in the system */
	u64 ends;	/* requests that ended */
};

/* a block, or several that were merged */
struct fb_trial_block {
	struct fb_trial_sum sum[FB_TRIAL_KINDS][FB_TRIAL_ARMS];
};

/* what free reads cost */
struct fb_trial_cost {
	s64 diff_ns;	/* added to a request, on the mean; negative: it is served sooner */
	u64 error_ns;	/* its standard error */
	u64 bound_ns;	/* for a bound: with the spread of the other arm where that is larger */
	u64 alone_ns;	/* what a request takes without free reads */
	s64 ppm;	/* diff_ns over alone_ns */
	u32 blocks;	/* that it comes from */
	u64 ends;	/* requests that ended in control */
	bool known;	/* there are enough of both, and error_ns is within the limit */
};

/* what free reads may add to a request */
struct fb_trial_limit {
	u64 ns;		/* on the mean: so much ... */
	u32 ppm;	/* ... and this share of what the request takes without them */
	u32 most_ppm;	/* but no more than this share; 0: no such bound */
	u64 max_ns;	/* to one of them at most, where all is well */
};

/* private */
struct fb_trial {
	u64 random;		/* state of the generator */
	struct fb_trial_limit limit;	/* in doubt is whether the cost is below */
	u64 stretch_ns;		/* length of a control */
	u32 fixed;		/* stretches in a block, whatever is known; 0: by what is known */
	u32 stretches;		/* in the block */
	bool on;		/* the trial is running */
	bool clear;		/* by the bound the cost is on one side of the limit */
	bool wary;		/* the guard has acted: the arms are swapped, for a while */
	u32 unused;	/* blocks without any request; at FB_TRIAL_UNUSED none is open */
	u32 n[FB_TRIAL_KINDS];	/* in the system */
	enum fb_trial_arm arm;
	u64 now_ns;		/* everything until then is counted */
	u64 since_ns;		/* the sums begin there */
	u64 counted_ns;		/* nothing before counts: the arm has just changed */
	u64 control_ns;		/* the block's control begins, */
	u64 back_ns;		/* it ends, */
	u64 end_ns;		/* the block ends */
	u64 slow_ns;		/* a read that takes longer is slow, in this block */
	u32 took[FB_TRIAL_BUCKETS];	/* reads of control, by the logarithm of what they took */
	struct fb_trial_block open;	/* the block */
	struct fb_trial_block blocks[FB_TRIAL_BLOCKS];	/* and those before */
	u32 kept;		/* of them in use */
	u32 merged;		/* in each */
	u32 ended;		/* in all */
	u32 looks;		/* changes when a block has ended */
	u32 restarts;		/* changes when the sums are restarted */
	/* before the sums were restarted last; and as of the last block, since or before that */
	struct fb_trial_cost before[FB_TRIAL_KINDS + 1];
	struct fb_trial_cost told[FB_TRIAL_KINDS + 1];
	u64 on_ns;		/* for which the trial has run, */
	u64 held_ns;		/* of that in control */
};

/* what a block's end says */
struct fb_trial_verdict {
	u32 restarts;		/* of the sums that it comes from */
	struct fb_trial_cost now[FB_TRIAL_KINDS + 1];	/* since they were restarted */
	struct fb_trial_cost told[FB_TRIAL_KINDS + 1];	/* from now on */
	enum fb_trial_kind kind;	/* that the limit is for: reads, where enough have ended */
	s64 excess_ns;		/* how much that is above the limit; negative: below */
	bool sure;		/* excess_ns is certainly not 0 */
	bool clear;		/* by the bound the cost is on one side of the limit */
	bool old;		/* the sums are to be restarted in any case */
};

/* It does not run yet. @seed: of the moments at which control begins. */
void fb_trial_init(struct fb_trial *t, u64 seed);
/* The limit decides how much control there is, and which error is small enough. */
void fb_trial_set_limit(struct fb_trial *t, const struct fb_trial_limit *limit);
/* Set the number of stretches in each block, at least 2; 0: number and length are chosen. */
void fb_trial_set_fixed(struct fb_trial *t, u32 stretches, u64 stretch_ns);
/* Start or stop it. Requests are counted in any case: their number must be right at the start. */
void fb_trial_run(struct fb_trial *t, bool on, u64 now_ns);
/* Forget all sums. @wary: the guard has changed what is read. */
void fb_trial_restart(struct fb_trial *t, bool wary, u64 now_ns);
/* A foreground request has arrived. A time a little before the last call's is taken for that. */
void fb_trial_arrived(struct fb_trial *t, enum fb_trial_kind kind, u64 now_ns);
/* It has ended, well or not, so long after it arrived. */
void fb_trial_ended(struct fb_trial *t, enum fb_trial_kind kind, u64 took_ns, u64 now_ns);
/* The bucket of a time, among @n: four for each power of two, from 2^16 ns on. */
u32 fb_trial_bucket(u64 took_ns, u32 n);
/* May free reads be sent? Not in control, when the drive is served as without any task. */
bool fb_trial_may_read(struct fb_trial *t, u64 now_ns);
/* When the answer of fb_trial_may_read() changes; FB_TRIAL_NEVER: not before a request comes. */
u64 fb_trial_next_ns(const struct fb_trial *t);
/* The limit of requests that take so long without free reads. */
u64 fb_trial_limit_ns(const struct fb_trial_limit *limit, u64 alone_ns);
/* What free reads cost since the sums were restarted. @kind: or FB_TRIAL_KINDS. */
void fb_trial_now(const struct fb_trial *t, enum fb_trial_kind kind, struct fb_trial_cost *out);
/* Which costs, by kind and for both, count: those of reads, where enough have ended, or of both. */
enum fb_trial_kind fb_trial_kind_of(const struct fb_trial_cost *costs);
/* How far a cost is above a multiple of the limit; negative: below. */
s64 fb_trial_excess_ns(const struct fb_trial *t, const struct fb_trial_cost *cost, u32 times);
/* Is it certain that the excess is not 0? By the bound, which holds however often this is asked. */
bool fb_trial_is_sure(const struct fb_trial *t, const struct fb_trial_cost *cost, s64 excess_ns);
/* Work out what the sums say, after a block: @t->looks has changed. @t: or a copy. */
void fb_trial_judge(const struct fb_trial *t, struct fb_trial_verdict *v);

/* A verdict takes effect; void if the sums have been restarted since. */
void fb_trial_settle(struct fb_trial *t, const struct fb_trial_verdict *v);

/*
 * Standard errors, times 2^FB_TRIAL_Z_SHIFT, that chance exceeds in one trial of twenty, if asked
 * after each block. @wary: narrow for a few blocks, wider for many.
 */
u32 fb_trial_z(u32 blocks, bool wary);

#endif /* FB_TRIAL_H */
