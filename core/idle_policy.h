/* SPDX-License-Identifier: GPL-2.0 */
/*
 * When to read while the disk is idle, and how much at once: Waiting, the policy of
 * Practical Scrubbing (section V), and its two goals, the mean and the maximum slowdown
 * of a foreground request, kept by measurement. Core; the caller serialises. Nothing
 * here sleeps or allocates.
 *
 * Waiting(t): the disk has been idle for t, and then reads follow each other until a
 * foreground request arrives. There is no criterion to stop earlier: what is left of an
 * idle interval grows with its age (V.A). Threshold and size are those that the idle
 * intervals of the recent past say read most within the mean (V.C).
 *
 * A request that finds an idle read at the drive (a collision) waits for the rest of it,
 * and each further one of that busy period waits as much longer at most; so much is
 * charged for each. All times are nanoseconds of one monotonic clock, passed in.
 */
#ifndef FB_IDLE_POLICY_H
#define FB_IDLE_POLICY_H

#include "include/fb_shim.h"

/* fb_idle_policy_begin_ns(): not before something happens */
#define FB_IDLE_POLICY_NEVER U64_MAX
#define FB_IDLE_POLICY_AUTO U64_MAX	/* fb_idle_policy_set_fixed(): find the threshold */
#define FB_IDLE_POLICY_MEAN_NS 1000000U	/* default of the mean slowdown's goal */
#define FB_IDLE_POLICY_MAX_NS 50000000U	/* default of the maximum's: the paper's */
#define FB_IDLE_POLICY_BINS 104		/* idle intervals by length: from 16 us, four a doubling */
#define FB_IDLE_POLICY_SIZES 7		/* 64 KiB, doubling, to 4 MiB: the paper's range */
#define FB_IDLE_POLICY_SECTORS_MIN 128U
#define FB_IDLE_POLICY_SECTORS_MAX 8192U

/**
 * enum fb_idle_policy_why - why no idle read is sent
 * @FB_IDLE_POLICY_RUN: one may be
 * @FB_IDLE_POLICY_OFF: the mean's goal is 0
 * @FB_IDLE_POLICY_BUSY: a foreground request is in the system
 * @FB_IDLE_POLICY_READING: an idle read is at the drive
 * @FB_IDLE_POLICY_WAITING: the disk has not been idle for long enough
 * @FB_IDLE_POLICY_BUDGET: what was charged lately is above the mean's goal
 * @FB_IDLE_POLICY_SHORT: no read is short enough for the maximum's goal
 * @FB_IDLE_POLICY_CONTROL: an interval is left alone, to measure what reads cost that collide with
 *	nothing
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

/* for people, by enum fb_idle_policy_why */
extern const char *const fb_idle_policy_why_name[];

/**
 * struct fb_idle_policy_bin - idle intervals of about the same length, aged
 * @n: how many
 * @requests: foreground requests of the busy periods behind them
 * @ns: their lengths, sum
 */
struct fb_idle_policy_bin {
	u32 n;
	u32 requests;
	u64 ns;
};

/**
 * struct fb_idle_policy_size - what commands of one size took, aged
 * @n: how many
 * @ns: their times, sum
 * @sq: squares of their times in microseconds, sum
 * @sectors: sum
 */
struct fb_idle_policy_size {
	u32 n;
	u64 ns;
	u64 sq;
	u64 sectors;
};

/**
 * struct fb_idle_policy_first - requests that came alone to an idle disk, aged
 * @n: how many
 * @us: what they took, sum, microseconds
 * @sq: squares of that, sum
 */
struct fb_idle_policy_first {
	u32 n;
	u64 us;
	u64 sq;
};

/**
 * struct fb_idle_policy - the policy; all private
 * @goal_mean_ns: slowdown of a foreground request on the mean; 0: never read when idle
 * @goal_max_ns: the most one may wait
 * @fixed_ns: threshold; FB_IDLE_POLICY_AUTO: found
 * @fixed_sectors: longest command; 0: found
 * @turn_ns: one revolution of the drive
 * @sector_ps: transfer of a sector where it takes longest
 * @wait_ns: the threshold in force
 * @sectors: the longest command in force
 * @busy: foreground requests are in the system
 * @busy_ns: since when
 * @idle_ns: since when there are none
 * @requests: of this busy period
 * @charge_ns: of each request of this busy period
 * @bin: of the idle interval before it ...
 * @interval_ns: ... and its length; 0: there was none
 * @reading: an idle read is at the drive ...
 * @sent_ns: ... since then ...
 * @end_ns: ... and predicted to end at ...
 * @size: ... of this size ...
 * @nsect: ... and so many sectors
 * @hit_ns: when the first request found it there; 0: none has
 * @read: idle reads were made in this interval, or the one before this busy period
 * @control: no idle read is sent in this interval
 * @intervals: those that ended since the threshold was found last
 * @turnstile: intervals in which reads could begin, for @control
 * @credit_ns: what may be charged, may be negative
 * @longest: requests of the longest busy period, slowly forgotten
 * @bins: see struct fb_idle_policy_bin
 * @sizes: see struct fb_idle_policy_size
 * @alone: see struct fb_idle_policy_first: after an interval without idle reads, and with
 * @aged_n: intervals in @bins
 * @n_requests: foreground requests, all
 * @n_collisions: idle reads that one of them found at the drive
 * @n_charged: foreground requests charged for
 * @cost_ns: charged, all
 * @most_ns: the most that one was charged
 * @n_reads: idle reads ended
 * @n_sectors: theirs
 * @used_ns: time of theirs
 * @total_idle_ns: idle intervals, sum
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
	u64 charge_ns;
	u32 bin;
	u64 interval_ns;
	bool reading;
	u64 sent_ns;
	u64 end_ns;
	u32 size;
	u32 nsect;
	u64 hit_ns;
	bool read;
	bool control;
	u32 intervals;
	u32 turnstile;
	s64 credit_ns;
	u32 longest;
	struct fb_idle_policy_bin bins[FB_IDLE_POLICY_BINS];
	struct fb_idle_policy_size sizes[FB_IDLE_POLICY_SIZES];
	struct fb_idle_policy_first alone[2];
	u32 aged_n;
	u64 n_requests;
	u64 n_collisions;
	u64 n_charged;
	u64 cost_ns;
	u64 most_ns;
	u64 n_reads;
	u64 n_sectors;
	u64 used_ns;
	u64 total_idle_ns;
};

/**
 * struct fb_idle_policy_status - how it goes, for people
 * @why: why nothing is sent
 * @wait_ns: threshold
 * @sectors: longest command
 * @mean_ns: charged for idle reads, per foreground request
 * @max_ns: the most that one was charged
 * @requests: foreground requests
 * @collisions: idle reads that one of them found at the drive
 * @reads: idle reads
 * @read_sectors: theirs
 * @used_ns: time of theirs
 * @idle_ns: time without foreground requests
 * @credit_ns: what may be charged before reads pause; negative: they do
 * @moved_ns: what the first request after idle reads takes longer though it met none
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
	u64 moved_ns;
};

/**
 * fb_idle_policy_init() - an idle disk, nothing known, default goals, threshold and size to be
 * found
 * @w: the policy
 * @now: the time
 */
void fb_idle_policy_init(struct fb_idle_policy *w, u64 now);

/**
 * fb_idle_policy_set_drive() - what is known of the drive's speed
 * @w: the policy
 * @turn_ns: one revolution; a command may take one more than predicted
 * @sector_ps: transfer of a sector where it takes longest, picoseconds
 *
 * Without a call: 5400 revolutions per minute, 100 MB/s.
 */
void fb_idle_policy_set_drive(struct fb_idle_policy *w, u64 turn_ns, u32 sector_ps);

/**
 * fb_idle_policy_set_goals() - what idle reads may cost
 * @w: the policy
 * @mean_ns: per foreground request on the mean; 0: no idle reads at all
 * @max_ns: one foreground request at most
 */
void fb_idle_policy_set_goals(struct fb_idle_policy *w, u64 mean_ns, u64 max_ns);

/**
 * fb_idle_policy_set_fixed() - threshold and size as told, not found
 * @w: the policy
 * @wait_ns: threshold, or FB_IDLE_POLICY_AUTO
 * @sectors: longest command, 0: found
 *
 * The goals are kept all the same.
 */
void fb_idle_policy_set_fixed(struct fb_idle_policy *w, u64 wait_ns, u32 sectors);

/**
 * fb_idle_policy_arrive() - a foreground request has come
 * @w: the policy
 * @now: the time
 */
void fb_idle_policy_arrive(struct fb_idle_policy *w, u64 now);

/**
 * fb_idle_policy_idle() - the last foreground request in the system has ended
 * @w: the policy
 * @now: the time
 */
void fb_idle_policy_idle(struct fb_idle_policy *w, u64 now);

/**
 * fb_idle_policy_sent() - an idle read has gone to the drive
 * @w: the policy
 * @now: the time
 * @end_ns: when it is predicted to end
 * @nsect: its sectors
 */
void fb_idle_policy_sent(struct fb_idle_policy *w, u64 now, u64 end_ns, u32 nsect);

/**
 * fb_idle_policy_ended() - it has ended, well or not; or was not carried out
 * @w: the policy
 * @now: the time
 */
void fb_idle_policy_ended(struct fb_idle_policy *w, u64 now);

/**
 * fb_idle_policy_begin_ns() - the earliest moment at which an idle read may be sent
 * @w: the policy
 * @now: the time
 *
 * Return: @now or earlier: at once. FB_IDLE_POLICY_NEVER: not before one of the calls above. Else
 * ask again then.
 */
u64 fb_idle_policy_begin_ns(const struct fb_idle_policy *w, u64 now);

/**
 * fb_idle_policy_sectors() - how long the next idle read may be
 * @w: the policy
 *
 * Return: sectors, a power of two; 0: none is short enough.
 */
u32 fb_idle_policy_sectors(const struct fb_idle_policy *w);

/**
 * fb_idle_policy_longest_ns() - and how long it may be predicted to take
 * @w: the policy
 *
 * Return: ns from being sent to its end: the maximum's goal, less a turn that it may miss.
 */
u64 fb_idle_policy_longest_ns(const struct fb_idle_policy *w);

/**
 * fb_idle_policy_why() - why no idle read is sent
 * @w: the policy
 * @now: the time
 *
 * Return: the reason; FB_IDLE_POLICY_RUN: one may be sent now.
 */
enum fb_idle_policy_why fb_idle_policy_why(const struct fb_idle_policy *w, u64 now);

/**
 * fb_idle_policy_status() - how it goes
 * @w: the policy
 * @now: the time
 * @st: out
 */
void fb_idle_policy_status(const struct fb_idle_policy *w, u64 now,
			   struct fb_idle_policy_status *st);

#endif /* FB_IDLE_POLICY_H */
