/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the policy of idle reads knows: its settings, statistics and accounts. core/idle_policy.c
 * and core/idle/threshold.c work on it; hosts see it through core/idle_policy.h.
 */
#ifndef FB_IDLE_STATE_H
#define FB_IDLE_STATE_H

#include "core/idle/account.h"
#include "core/idle/place.h"
#include "core/idle/streams.h"
#include "core/idle/times.h"
#include "core/destage.h"

/* fb_idle_policy_begin_ns(): not before the next event */
#define FB_IDLE_POLICY_NEVER U64_MAX
#define FB_IDLE_POLICY_AUTO U64_MAX	/* fb_idle_policy_set_fixed(): find the threshold */
/* what most drives have, or more: 7,200 turns a minute and 100 MB/s, whatever this one is */
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
 * @FB_IDLE_POLICY_STALL: the drive was silent for long, and is left alone for as long
 * @FB_IDLE_POLICY_BUDGET: recent charges are above the mean's goal
 * @FB_IDLE_POLICY_SHORT: no read is short enough for the maximum's goal
 * @FB_IDLE_POLICY_CONTROL: this interval is left without reads, to measure what a stream takes
 */
enum fb_idle_policy_why {
	FB_IDLE_POLICY_RUN,
	FB_IDLE_POLICY_OFF,
	FB_IDLE_POLICY_BUSY,
	FB_IDLE_POLICY_READING,
	FB_IDLE_POLICY_WAITING,
	FB_IDLE_POLICY_STALL,
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
 * struct fb_idle_policy - the policy; all private but @sectors and @streams
 * @goal_mean_ns: mean slowdown allowed per foreground request; 0: no idle reads
 * @goal_max_ns: maximum slowdown allowed of one foreground request
 * @fixed_ns: threshold set by the user; FB_IDLE_POLICY_AUTO: find it
 * @fixed_sectors: longest command set by the user; 0: find it
 * @turn_ns: one revolution of the drive
 * @sector_ps: longest transfer time of a sector
 * @wait_ns: the threshold in force
 * @sectors: how long the next idle read may be, a power of two if found; 0: none is short enough
 * @busy: foreground requests are pending or in flight
 * @idle_ns: since when there are none
 * @requests: foreground requests of this busy period
 * @hold_ns: no idle read is sent before: the drive is busy with itself
 * @held: the idle interval before was over by then
 * @withheld: see fb_idle_policy_withhold()
 * @bin: bin of the idle interval before it, from @hold_ns on
 * @interval_ns: length of the idle interval before it, from @hold_ns on; 0: there was none
 * @reading: an idle read is at the drive
 * @sent_ns: when it was sent
 * @first: it is the first of its idle interval
 * @size: index of its size
 * @nsect: its sectors
 * @hit_ns: when the first request found it at the drive; 0: none has
 * @read: idle reads were made in this interval, or the one before this busy period
 * @control: no idle read is sent in this interval
 * @intervals: intervals since the threshold was last found
 * @eligible: below 0: number of intervals long enough for reads until @control may be set again
 * @controls: intervals in a row that @control has left without reads, and one
 * @credit_ns: what may still be charged; may be negative
 * @may_owe: until @st.requests is this, reads may begin while the credit is negative
 * @longest: requests of the longest busy period, slowly forgotten
 * @bins: idle intervals by length
 * @aged_n: intervals in @bins
 * @spared: requests behind intervals that were too short for idle reads; the count fades
 * @cost_ns: all charges; single ones may be negative
 * @streams: the foreground's streams
 * @account: what idle reads cost
 * @times: what they take
 * @place: what they leave out
 * @period_ns: charges of this busy period
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
	u64 idle_ns;
	u32 requests;
	u64 hold_ns;
	bool held;
	bool withheld;
	u32 bin;
	u64 interval_ns;
	bool reading;
	u64 sent_ns;
	bool first;
	u32 size;
	u32 nsect;
	u64 hit_ns;
	bool read;
	bool control;
	u32 intervals;
	s32 eligible;
	u32 controls;
	s64 credit_ns;
	u64 may_owe;
	u32 longest;
	struct fb_idle_policy_bin bins[FB_IDLE_POLICY_BINS];
	u32 aged_n;
	u32 spared;
	s64 cost_ns;
	struct fb_idle_streams streams;
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
