/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the policy of idle reads knows: its settings, statistics and accounts. core/idle_policy.c
 * and core/idle/threshold.c work on it; hosts see it through core/idle_policy.h.
 */
#ifndef FB_IDLE_STATE_H
#define FB_IDLE_STATE_H

#include "core/idle/account.h"
#include "core/idle/place.h"
#include "core/idle/times.h"
#include "core/destage.h"
#include "core/idle_cost.h"
#include "core/twin.h"

/* fb_idle_policy_begin_ns(): not before the next event */
#define FB_IDLE_POLICY_NEVER U64_MAX
#define FB_IDLE_POLICY_AUTO U64_MAX	/* fb_idle_policy_set_fixed(): find the threshold */
/* of a drive without a model: 7,200 turns a minute and 100 MB/s, whatever it is */
#define FB_IDLE_TURN_NS 8333333U
#define FB_IDLE_SECTOR_PS 5120000U
#define FB_IDLE_POLICY_MEAN_NS 1000000U	/* default goal for the mean slowdown */
#define FB_IDLE_POLICY_MAX_NS 50000000U	/* default goal for the maximum, from the paper */
#define FB_IDLE_POLICY_BINS 104		/* idle intervals by length: four per doubling from 16 us */
#define FB_IDLE_POLICY_SIZES 7		/* 64 KiB to 4 MiB, doubling: the paper's range */
#define FB_IDLE_POLICY_SECTORS_MIN 128U
#define FB_IDLE_POLICY_SECTORS_MAX 8192U

/**
 * enum fb_idle_policy_why - why no idle read is sent
 * @FB_IDLE_POLICY_RUN: one may be sent
 * @FB_IDLE_POLICY_OFF: the mean's goal is 0
 * @FB_IDLE_POLICY_BUSY: a foreground request is pending or in flight
 * @FB_IDLE_POLICY_READING: an idle read is at the drive
 * @FB_IDLE_POLICY_WAITING: the disk has not been idle for long enough
 * @FB_IDLE_POLICY_BUDGET: recent charges are above the mean's goal
 * @FB_IDLE_POLICY_SHORT: no read is short enough for the maximum's goal
 * @FB_IDLE_POLICY_CONTROL: this interval is left without reads, to measure what reads cost
 *	besides collisions
 */
enum fb_idle_policy_why {
	FB_IDLE_POLICY_RUN,
	FB_IDLE_POLICY_OFF,
	FB_IDLE_POLICY_BUSY,
	FB_IDLE_POLICY_READING,
	FB_IDLE_POLICY_WAITING,
	FB_IDLE_POLICY_BUDGET,
	FB_IDLE_POLICY_SHORT,
	FB_IDLE_POLICY_CONTROL,
};

/* messages by enum fb_idle_policy_why */
extern const char *const fb_idle_policy_why_name[];

/**
 * struct fb_idle_policy_bin - idle intervals of about the same length; the counts fade
 * @n: number of intervals
 * @requests: foreground requests of the busy periods after them
 * @ns: sum of their lengths
 */
struct fb_idle_policy_bin {
	u32 n;
	u32 requests;
	u64 ns;
};

/**
 * struct fb_idle_policy_size - times of commands of one size; the counts fade
 * @n: number of commands
 * @ns: sum of their times
 * @sq: sum of the squares of their times in microseconds
 * @sectors: sum of their sectors
 */
struct fb_idle_policy_size {
	u32 n;
	u64 ns;
	u64 sq;
	u64 sectors;
};

/**
 * struct fb_idle_policy_first - requests that came alone to an idle disk; the counts fade
 * @n: number of requests
 * @us: sum of their times in microseconds
 * @sq: sum of the squares
 */
struct fb_idle_policy_first {
	u32 n;
	u64 us;
	u64 sq;
};

/**
 * struct fb_idle_policy_status - state of the policy, for status output
 * @why: why no idle read is sent
 * @wait_ns: threshold
 * @sectors: longest command
 * @mean_ns: mean charge per foreground request
 * @max_ns: the longest that a request has waited for the rest of an idle read
 * @requests: foreground requests
 * @collisions: idle reads that a foreground request found at the drive
 * @reads: idle reads
 * @read_sectors: their sectors
 * @used_ns: their time
 * @idle_ns: time without foreground requests
 * @credit_ns: what may be charged before reads pause; negative: they pause
 * @moved_ns: how much longer the first request after idle reads takes, the rest of a read aside;
 *	negative: it takes less, which counts for the threshold, too
 * @order: the order in which the drive serves what it has, as far as it is known
 */
struct fb_idle_policy_status {
	enum fb_idle_policy_why why;
	u64 wait_ns;
	u32 sectors;
	u64 mean_ns;
	u64 max_ns;
	u64 requests;
	u64 collisions;
	u64 reads;
	u64 read_sectors;
	u64 used_ns;
	u64 idle_ns;
	s64 credit_ns;
	s64 moved_ns;
	enum fb_drive_order_rule order;
};

/**
 * struct fb_idle_policy_aim - from where the next idle read is to be searched
 * @moved: the foreground has moved the head since the last idle read ...
 * @lbn: ... to before this sector
 * @over: the block with that sector is to be read, too
 * @skip: granules to leave out, there or behind the last idle read
 */
struct fb_idle_policy_aim {
	bool moved;
	u64 lbn;
	bool over;
	u32 skip;
};

/**
 * struct fb_idle_policy - the policy; all private but @sectors, @sector_ps, @measured and @cost
 * @goal_mean_ns: mean slowdown allowed per foreground request; 0: no idle reads
 * @goal_max_ns: maximum slowdown allowed of one foreground request
 * @fixed_ns: threshold set by the user; FB_IDLE_POLICY_AUTO: find it
 * @fixed_sectors: longest command set by the user; 0: find it
 * @turn_ns: one revolution of the drive
 * @sector_ps: longest transfer time of a sector
 * @wait_ns: the threshold in force
 * @sectors: how long the next idle read may be, a power of two if found; 0: none is short enough
 * @busy: foreground requests are pending or in flight
 * @busy_ns: since when they are
 * @idle_ns: since when there are none
 * @requests: foreground requests of this busy period
 * @open: those of them that are not known to have ended; those merged into others stay
 * @charge_ns: charge for each request of this busy period
 * @own_order: the drive orders by itself
 * @hold_ns: no idle read is sent before: the drive is busy with itself
 * @held: the idle interval before was over by then
 * @bin: bin of the idle interval before it, from @hold_ns on
 * @interval_ns: length of the idle interval before it, from @hold_ns on; 0: there was none
 * @reading: an idle read is at the drive
 * @sent_ns: when it was sent
 * @first: it is the first of its idle interval
 * @size: index of its size in @sizes
 * @nsect: its sectors
 * @lead_ns: what the drive takes to begin a command, beside another one
 * @hit_ns: when the first request found it at the drive; 0: none has
 * @read: idle reads were made in this interval, or the one before this busy period
 * @control: no idle read is sent in this interval
 * @intervals: intervals since the threshold was last found
 * @eligible: intervals in which reads could begin since the last ones for @control; negative: so
 *	many are to come before they count
 * @controls: intervals in a row that @control has left without reads; one more for new streams
 * @credit_ns: what may still be charged; may be negative
 * @refunds_ns: most by which the charges of this busy period may still be negative
 * @longest: requests of the longest busy period, slowly forgotten
 * @bins: idle intervals by length
 * @sizes: times of idle reads by size, but for the first of each interval
 * @firsts: times of those
 * @alone: first requests after an interval without idle reads [0], and with [1]
 * @aged_n: intervals in @bins
 * @spared: requests behind intervals that were too short for idle reads; the count fades
 * @cost: what requests would have cost without idle reads
 * @moved: how much longer first requests behind idle reads took, the rest of a read aside
 * @twin: what idle reads cost where the drive orders by itself
 * @behind: what a request of a busy period behind idle reads waits there, besides what is left
 *	of the read that the first one has met
 * @behind_n: requests that it is still to be learnt from ...
 * @behind_ns: ... and the sum
 * @met_ns: the rest of the read that this busy period has met
 * @cost_ns: all charges; single ones may be negative
 * @measured: there is no model: costs and times of reads are known from measured times alone
 * @account: what idle reads cost, if @measured
 * @times: what they take, if @measured
 * @place: what they leave out, if @measured
 * @period_ns: charges of this busy period, if @measured
 * @unfollowed: requests that came while this idle read was at the drive, and cannot be followed
 * @soon: the idle read sent last came just behind the foreground
 * @found: longest command, as found; @sectors may be another one that is tried
 * @judged: fb_idle_policy_judge() was called for the read that has just ended
 * @blamed: the read at the drive was late as the drive was writing
 * @clean: it surely had nothing to write
 * @from: what the foreground did last since the last idle read
 * @aim: where that ended
 * @wrote: a write has come since that the drive's cache has taken ...
 * @wrote_lbn: ... from here ...
 * @wrote_end: ... to here
 * @st: counts for fb_idle_policy_status(), which fills in the rest; @idle_ns: of all intervals
 *	that are over
 */
struct fb_idle_policy {
	u64 goal_mean_ns;
	u64 goal_max_ns;
	u64 fixed_ns;
	u32 fixed_sectors;
	u64 turn_ns;
	u32 sector_ps;
	u64 wait_ns;
	u32 sectors;
	bool busy;
	u64 busy_ns;
	u64 idle_ns;
	u32 requests;
	u32 open;
	u64 charge_ns;
	bool own_order;
	u64 hold_ns;
	bool held;
	u32 bin;
	u64 interval_ns;
	bool reading;
	u64 sent_ns;
	bool first;
	u32 size;
	u32 nsect;
	u64 lead_ns;
	u64 hit_ns;
	bool read;
	bool control;
	u32 intervals;
	s32 eligible;
	u32 controls;
	s64 credit_ns;
	s64 refunds_ns;
	u32 longest;
	struct fb_idle_policy_bin bins[FB_IDLE_POLICY_BINS];
	struct fb_idle_policy_size sizes[FB_IDLE_POLICY_SIZES];
	struct fb_idle_policy_size firsts;
	struct fb_idle_policy_first alone[2];
	u32 aged_n;
	u32 spared;
	struct fb_idle_cost cost;
	struct fb_idle_cost_mean moved;
	struct fb_twin twin;
	struct fb_idle_cost_mean behind;
	u32 behind_n;
	s64 behind_ns;
	u64 met_ns;
	s64 cost_ns;
	bool measured;
	struct fb_idle_account account;
	struct fb_idle_times times;
	struct fb_idle_place place;
	u64 period_ns;
	u32 unfollowed;
	bool soon;
	u32 found;
	bool judged;
	bool blamed;
	bool clean;
	enum fb_idle_place_behind from;
	u64 aim;
	bool wrote;
	u64 wrote_lbn;
	u64 wrote_end;
	struct fb_idle_policy_status st;
};

/**
 * fb_idle_policy_longest_ns() - get how long the next idle read may be predicted to take
 * @w: the policy
 *
 * Return: ns from sending to its end: the maximum's goal, less a turn that it may miss.
 */
static inline u64 fb_idle_policy_longest_ns(const struct fb_idle_policy *w)
{
	return w->goal_max_ns > w->turn_ns ? w->goal_max_ns - w->turn_ns : 0;
}

#endif /* FB_IDLE_STATE_H */
