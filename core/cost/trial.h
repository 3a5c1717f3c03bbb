/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What free reads cost the foreground, measured: a controlled trial that never ends. Core; the
 * caller serialises. Nothing here sleeps, allocates or uses floating point.
 *
 * Time is cut into blocks. In one stretch of each block, the control, nothing free is read; what
 * requests take there is compared with the rest, the treated time. No model has a part in it, so
 * all that free reads do is in the difference: collisions, another order, streams that the drive's
 * cache loses. The control begins at a uniformly random moment of its block: on a grid it would
 * beat with a foreground that has a period of its own.
 *
 * Response times come from Little's law, by kind of request and arm: the area under the number in
 * the system over the number of ends. The mean of the requests that arrived in a stretch is wrong
 * in a closed loop, where the requests at the end of a stretch are served in the next one.
 *
 * Events only add to sums. What the sums say takes thousands of instructions: that is worked out
 * once a block, by fb_trial_judge() from a copy, and fb_trial_settle() puts it into effect.
 *
 * Times are ns, areas ns times requests. Documentation/cost.rst has the equations.
 */
#ifndef FB_TRIAL_H
#define FB_TRIAL_H

#include "include/fb_shim.h"

#define FB_TRIAL_STRETCH_NS 4000000000ULL	/* ten times what a queue takes to drain */
#define FB_TRIAL_DOUBT 4	/* stretches in a block while the cost is in doubt */
#define FB_TRIAL_CLEAR 32	/* and while it is not */
#define FB_TRIAL_LEAST 12	/* blocks before anything is concluded from them */
#define FB_TRIAL_ENDS 100	/* and requests that ended in control */
#define FB_TRIAL_BLOCKS 64	/* kept; then they are merged by two */
#define FB_TRIAL_NEVER U64_MAX
#define FB_TRIAL_Z_SHIFT 10	/* of fb_trial_z() */

/**
 * enum fb_trial_kind - kinds of requests that are told apart
 * @FB_TRIAL_READ: reads
 * @FB_TRIAL_WRITE: writes
 * @FB_TRIAL_KINDS: number of kinds; as an argument: both, each by its share of all requests
 */
enum fb_trial_kind { FB_TRIAL_READ, FB_TRIAL_WRITE, FB_TRIAL_KINDS };

/**
 * enum fb_trial_arm - arms of the trial
 * @FB_TRIAL_TREATED: free reads are sent
 * @FB_TRIAL_CONTROL: they are not
 * @FB_TRIAL_ARMS: number of arms
 */
enum fb_trial_arm { FB_TRIAL_TREATED, FB_TRIAL_CONTROL, FB_TRIAL_ARMS };

/**
 * struct fb_trial_sum - what happened in an arm, to requests of a kind
 * @area: area under the number in the system
 * @ends: number of requests that ended
 */
struct fb_trial_sum {
	u64 area;
	u64 ends;
};

/**
 * struct fb_trial_block - what happened in a block, or in several that were merged
 * @sum: by kind and arm
 */
struct fb_trial_block {
	struct fb_trial_sum sum[FB_TRIAL_KINDS][FB_TRIAL_ARMS];
};

/**
 * struct fb_trial_cost - what free reads cost
 * @diff_ns: added to a request, on the mean; negative: it is served sooner
 * @error_ns: standard error of @diff_ns
 * @bound_ns: the same for a bound: with the spread of the other arm where that is larger
 * @alone_ns: what a request takes without free reads
 * @ppm: @diff_ns over @alone_ns
 * @blocks: blocks that it comes from
 * @ends: requests that ended in control stretches
 * @known: it comes from enough blocks and requests, and @error_ns is within the limit
 */
struct fb_trial_cost {
	s64 diff_ns;
	u64 error_ns;
	u64 bound_ns;
	u64 alone_ns;
	s64 ppm;
	u32 blocks;
	u64 ends;
	bool known;
};

/**
 * struct fb_trial_limit - what free reads may add to a request, on the mean
 * @ns: so much ...
 * @ppm: ... and this share of what the request takes without them
 * @most_ppm: but no more than this share; 0: no such bound
 */
struct fb_trial_limit {
	u64 ns;
	u32 ppm;
	u32 most_ppm;
};

/**
 * struct fb_trial - state of the trial; private
 * @random: state of the generator
 * @limit: what is in doubt: whether the cost is below
 * @stretch_ns: length of a control
 * @fixed: stretches in a block, whatever is known; 0: by what is known
 * @stretches: stretches in the block
 * @on: the trial is running
 * @clear: by the bound the cost is on one side of the limit
 * @n: number in the system, by kind
 * @arm: the arm
 * @now_ns: everything until then is counted
 * @since_ns: the sums begin there
 * @counted_ns: nothing before that moment counts: the arm has just changed
 * @control_ns: the block's control begins
 * @back_ns: it ends
 * @end_ns: the block ends
 * @open: sums of the block
 * @blocks: sums of the blocks before
 * @kept: how many of @blocks are in use
 * @merged: blocks in each of them
 * @ended: blocks in all of them
 * @looks: changes when a block has ended
 * @restarts: changes when the sums are restarted
 * @before: costs before the sums were restarted last, by kind and for both
 * @told: costs as of the last block, by kind and for both: since the sums were restarted, or before
 *	that as long as no more is known
 * @on_ns: time for which the trial has run
 * @held_ns: time of that in control stretches
 */
struct fb_trial {
	u64 random;
	struct fb_trial_limit limit;
	u64 stretch_ns;
	u32 fixed;
	u32 stretches;
	bool on;
	bool clear;
	u32 n[FB_TRIAL_KINDS];
	enum fb_trial_arm arm;
	u64 now_ns;
	u64 since_ns;
	u64 counted_ns;
	u64 control_ns;
	u64 back_ns;
	u64 end_ns;
	struct fb_trial_block open;
	struct fb_trial_block blocks[FB_TRIAL_BLOCKS];
	u32 kept;
	u32 merged;
	u32 ended;
	u32 looks;
	u32 restarts;
	struct fb_trial_cost before[FB_TRIAL_KINDS + 1];
	struct fb_trial_cost told[FB_TRIAL_KINDS + 1];
	u64 on_ns;
	u64 held_ns;
};

/**
 * struct fb_trial_verdict - what a block's end says
 * @restarts: of the sums that it comes from
 * @now: costs since the sums were restarted, by kind and for both
 * @told: what is told from now on
 * @kind: of @now, the cost that the limit is compared with: reads', where enough have ended
 * @excess_ns: by how much it is above the limit; negative: it is below
 * @sure: @excess_ns is certainly not 0
 * @clear: by the bound the cost is on one side of the limit
 * @old: the sums are to be restarted in any case
 */
struct fb_trial_verdict {
	u32 restarts;
	struct fb_trial_cost now[FB_TRIAL_KINDS + 1];
	struct fb_trial_cost told[FB_TRIAL_KINDS + 1];
	enum fb_trial_kind kind;
	s64 excess_ns;
	bool sure;
	bool clear;
	bool old;
};

/**
 * fb_trial_init() - initialise, with the trial not running
 * @t: the trial
 * @seed: of the moments at which control begins
 */
void fb_trial_init(struct fb_trial *t, u64 seed);

/**
 * fb_trial_set_limit() - set what free reads may cost
 * @t: the trial
 * @limit: the limit; it decides how much control there is, and which error is small enough
 *
 * Of another one it is in doubt whether the cost is below.
 */
void fb_trial_set_limit(struct fb_trial *t, const struct fb_trial_limit *limit);

/**
 * fb_trial_set_fixed() - have the same share of control always
 * @t: the trial, not running
 * @stretches: stretches in a block, at least 2; 0: as many as are of use
 * @stretch_ns: length of a stretch; 0: FB_TRIAL_STRETCH_NS
 */
void fb_trial_set_fixed(struct fb_trial *t, u32 stretches, u64 stretch_ns);

/**
 * fb_trial_run() - start or stop the trial
 * @t: the trial
 * @on: there is something to read, or may be at any time
 * @now_ns: the time
 *
 * Requests are counted in any case: their number must be right when the trial starts.
 */
void fb_trial_run(struct fb_trial *t, bool on, u64 now_ns);

/**
 * fb_trial_restart() - forget all sums: what is read has changed
 * @t: the trial
 * @now_ns: the time
 */
void fb_trial_restart(struct fb_trial *t, u64 now_ns);

/**
 * fb_trial_arrived() - a foreground request has arrived
 * @t: the trial
 * @kind: its kind
 * @now_ns: the time; a little less than in the call before is taken for that
 */
void fb_trial_arrived(struct fb_trial *t, enum fb_trial_kind kind, u64 now_ns);

/**
 * fb_trial_ended() - a foreground request has ended, well or not
 * @t: the trial
 * @kind: its kind
 * @now_ns: the time
 */
void fb_trial_ended(struct fb_trial *t, enum fb_trial_kind kind, u64 now_ns);

/**
 * fb_trial_may_read() - may free reads be sent?
 * @t: the trial
 * @now_ns: the time
 *
 * Return: false: it is a control stretch, in which the drive is served as without any task.
 */
bool fb_trial_may_read(struct fb_trial *t, u64 now_ns);

/**
 * fb_trial_next_ns() - when the answer of fb_trial_may_read() changes
 * @t: the trial
 *
 * Return: the time, FB_TRIAL_NEVER when the trial is not running.
 */
u64 fb_trial_next_ns(const struct fb_trial *t);

/**
 * fb_trial_limit_ns() - get a limit for requests that take so long
 * @limit: the limit
 * @alone_ns: what they take without free reads
 *
 * Return: ns.
 */
u64 fb_trial_limit_ns(const struct fb_trial_limit *limit, u64 alone_ns);

/**
 * fb_trial_now() - tell what free reads cost since the sums were restarted
 * @t: the trial
 * @kind: a kind, or FB_TRIAL_KINDS
 * @out: out
 */
void fb_trial_now(const struct fb_trial *t, enum fb_trial_kind kind, struct fb_trial_cost *out);

/**
 * fb_trial_kind_of() - get which of some costs is compared with the limit
 * @costs: by kind and for both
 *
 * Return: reads, where enough have ended, else both kinds.
 */
enum fb_trial_kind fb_trial_kind_of(const struct fb_trial_cost *costs);

/**
 * fb_trial_excess_ns() - get by how much a cost is above the limit
 * @t: the trial
 * @cost: the cost
 * @times: compare with so many times the limit
 *
 * Return: ns; negative: it is below.
 */
s64 fb_trial_excess_ns(const struct fb_trial *t, const struct fb_trial_cost *cost, u32 times);

/**
 * fb_trial_is_sure() - is it certain that the excess is not 0?
 * @cost: the cost
 * @excess_ns: its excess
 *
 * Return: true: by the bound, which holds however often this is asked.
 */
bool fb_trial_is_sure(const struct fb_trial_cost *cost, s64 excess_ns);

/**
 * fb_trial_judge() - work out what the sums say
 * @t: the trial, or a copy, after a block: @t->looks has changed
 * @v: out
 */
void fb_trial_judge(const struct fb_trial *t, struct fb_trial_verdict *v);

/**
 * fb_trial_settle() - have a verdict take effect
 * @t: the trial
 * @v: the verdict; void if the sums have been restarted since
 *
 * While it is certain on which side of the limit the cost is, there is little control. When this
 * changes the sums are restarted.
 */
void fb_trial_settle(struct fb_trial *t, const struct fb_trial_verdict *v);

/**
 * fb_trial_z() - get the bound of a question that is asked after each block
 * @blocks: number of blocks, at least 1
 *
 * Return: standard errors, times 2^FB_TRIAL_Z_SHIFT, that chance exceeds in one trial of twenty
 * however often it is asked.
 */
u32 fb_trial_z(u32 blocks);

#endif /* FB_TRIAL_H */
