/* SPDX-License-Identifier: GPL-2.0 */
/*
 * When to read while the disk is idle, and how much at once: Waiting, the policy of
 * Practical Scrubbing (section V), with measurements that keep its two goals, the mean and
 * the maximum slowdown of a foreground request. Core; the caller serialises. Nothing
 * here sleeps or allocates.
 *
 * Waiting(t): once the disk has been idle for a threshold t, reads follow each other until
 * a foreground request arrives. Nothing stops them earlier, because the expected rest of an
 * idle interval grows with its age (V.A). Threshold and read size are chosen to read most
 * within the mean's goal, judging by recent idle intervals (V.C).
 *
 * Each request of a busy period behind idle reads is charged by how much later it ends than it
 * would have (core/idle_cost.h; core/twin.h where the drive orders by itself). Where that is not
 * known: a request that finds an idle read at the drive (a collision) waits for the rest of it, and
 * each further one of that busy period is delayed by at most as much. Where the drive orders only
 * those wait that come before the read has ended. All times are nanoseconds of one monotonic clock,
 * passed in.
 */
#ifndef FB_IDLE_POLICY_H
#define FB_IDLE_POLICY_H

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
 * fb_idle_policy_init() - start with an idle disk and default goals; find threshold and size
 * @w: the policy
 * @now: the time
 */
void fb_idle_policy_init(struct fb_idle_policy *w, u64 now);

/**
 * fb_idle_policy_set_drive() - set the drive's speed
 * @w: the policy
 * @turn_ns: one revolution; a command may take this much longer than predicted
 * @sector_ps: longest transfer time of a sector, picoseconds
 *
 * The default is 5400 revolutions per minute and 100 MB/s.
 */
void fb_idle_policy_set_drive(struct fb_idle_policy *w, u64 turn_ns, u32 sector_ps);

/**
 * fb_idle_policy_set_measured() - say whether there is a model
 * @w: the policy
 * @measured: there is none: costs and times of reads are to be known from measured times alone
 *
 * Without one the foreground goes in the drive's order, and the host
 *
 * * tells fb_idle_policy_set_drive() and fb_destage_init() what most drives have, FB_IDLE_TURN_NS
 *   and FB_IDLE_SECTOR_PS, before this, and fb_idle_policy_set_own_order() false;
 * * passes NULL for every head, and as before tells of requests by fb_idle_policy_arrive(),
 *   fb_idle_policy_served() and fb_idle_policy_wrote(), and of commands by fb_destage_sent(),
 *   fb_destage_ended(), fb_destage_idle_sent() and fb_destage_flushed();
 * * asks fb_destage_begin_ns() for fb_idle_policy_hold() as before;
 * * asks fb_idle_policy_aim() before it searches an idle read, and passes that on as @aimed, @aim,
 *   @over and @skip of struct fb_idle_order_ask, with no model and no head;
 * * calls fb_idle_policy_judge() when the idle read has ended, before fb_idle_policy_ended(). It
 *   calls fb_destage_idle_ended(), which else the prediction is for. Of a read that failed it calls
 *   fb_destage_idle_ended() by itself, with @known false, and not fb_idle_policy_judge().
 */
void fb_idle_policy_set_measured(struct fb_idle_policy *w, bool measured);

/**
 * fb_idle_policy_aim() - ask from where the next idle read is to be searched
 * @w: the policy
 * @d: what the drive still has to write
 * @aim: out; for fb_idle_order_ask
 */
void fb_idle_policy_aim(struct fb_idle_policy *w, struct fb_destage *d,
			struct fb_idle_policy_aim *aim);

/**
 * fb_idle_policy_judge() - judge the idle read that has just ended by what such reads usually take
 * @w: the policy
 * @now: the time
 * @d: what the drive still has to write; fb_destage_idle_ended() is called with it
 *
 * A read that came late because the drive was writing is charged, and counted, with the time that
 * such reads usually take. Called if there is no model, before fb_idle_policy_ended().
 */
void fb_idle_policy_judge(struct fb_idle_policy *w, u64 now, struct fb_destage *d);

/**
 * fb_idle_policy_set_goals() - set what idle reads may cost
 * @w: the policy
 * @mean_ns: mean slowdown per foreground request; 0: no idle reads
 * @max_ns: maximum slowdown of one foreground request
 */
void fb_idle_policy_set_goals(struct fb_idle_policy *w, u64 mean_ns, u64 max_ns);

/**
 * fb_idle_policy_set_fixed() - set threshold and size instead of finding them
 * @w: the policy
 * @wait_ns: threshold, or FB_IDLE_POLICY_AUTO
 * @sectors: longest command; 0: find it
 *
 * The goals remain in force.
 */
void fb_idle_policy_set_fixed(struct fb_idle_policy *w, u64 wait_ns, u32 sectors);

/**
 * fb_idle_policy_set_own_order() - say who orders the foreground
 * @w: the policy
 * @own: the drive does
 * @lead_ns: what it takes to begin a command, while another one is at the medium
 */
void fb_idle_policy_set_own_order(struct fb_idle_policy *w, bool own, u64 lead_ns);

/**
 * fb_idle_policy_hold() - send no idle read before a moment
 * @w: the policy
 * @until_ns: the moment; the threshold counts from there
 */
void fb_idle_policy_hold(struct fb_idle_policy *w, u64 until_ns);

/**
 * fb_idle_policy_restart() - begin an idle interval, as nobody has told what happened meanwhile
 * @w: the policy
 * @now: the time
 */
void fb_idle_policy_restart(struct fb_idle_policy *w, u64 now);

/**
 * fb_idle_policy_arrive() - note that a foreground request has arrived
 * @w: the policy
 * @now: the time
 * @head: head and phase; NULL: unknown
 * @req: the request; NULL: it is not known where, or fb_idle_policy_served() will not tell its end
 */
void fb_idle_policy_arrive(struct fb_idle_policy *w, u64 now, const struct fb_head *head,
			   const struct fb_idle_cost_req *req);

/**
 * fb_idle_policy_arrive_unfollowed() - note a request that waits for something else than the medium
 * @w: the policy
 * @now: the time
 * @req: the request; NULL: it is not known where
 *
 * It passes by the scheduler, or the drive's cache takes it, or others' background reads are before
 * it. What it takes tells nothing, whether fb_idle_policy_served() tells its end or not; but a
 * write voids what the drive has read ahead.
 */
static inline void fb_idle_policy_arrive_unfollowed(struct fb_idle_policy *w, u64 now,
						    const struct fb_idle_cost_req *req)
{
	fb_idle_policy_arrive(w, now, NULL, NULL);
	if (req && req->write)
		fb_idle_cost_wrote(&w->cost, req);
}

/**
 * fb_idle_policy_wrote() - note that a write has arrived that the drive's cache takes
 * @w: the policy
 * @head: head and phase; NULL: unknown
 * @req: the write
 *
 * Idle reads may not keep it waiting, but what the drive does for it may be what others wait for.
 */
void fb_idle_policy_wrote(struct fb_idle_policy *w, const struct fb_head *head,
			  const struct fb_idle_cost_req *req);

/**
 * fb_idle_policy_lose() - note that this busy period cannot be followed any further
 * @w: the policy
 *
 * What has not ended is charged for the rest of the idle read that it has met.
 */
void fb_idle_policy_lose(struct fb_idle_policy *w);

/**
 * fb_idle_policy_served() - note that a foreground request has ended, which may be the last one
 * @w: the policy
 * @now: the time
 * @req: the request, as it has arrived
 */
void fb_idle_policy_served(struct fb_idle_policy *w, u64 now, const struct fb_idle_cost_req *req);

/**
 * fb_idle_policy_idle() - note that the last foreground request has ended
 * @w: the policy
 * @now: the time
 */
void fb_idle_policy_idle(struct fb_idle_policy *w, u64 now);

/**
 * fb_idle_policy_sent() - note that an idle read was sent to the drive
 * @w: the policy
 * @now: the time
 * @lbn: its first sector
 * @nsect: its sectors
 * @head: head and phase; NULL: unknown
 */
void fb_idle_policy_sent(struct fb_idle_policy *w, u64 now, u64 lbn, u32 nsect,
			 const struct fb_head *head);

/**
 * fb_idle_policy_ended() - note that the idle read has ended, failed or was not carried out
 * @w: the policy
 * @now: the time
 */
void fb_idle_policy_ended(struct fb_idle_policy *w, u64 now);

/**
 * fb_idle_policy_begin_ns() - get the earliest moment at which an idle read may be sent
 * @w: the policy
 * @now: the time
 *
 * Return: the moment: at once if it is not after @now, otherwise ask again then.
 * FB_IDLE_POLICY_NEVER: not before one of the calls above.
 */
u64 fb_idle_policy_begin_ns(const struct fb_idle_policy *w, u64 now);

/**
 * fb_idle_policy_longest_ns() - get how long the next idle read may be predicted to take
 * @w: the policy
 *
 * Return: ns from sending to its end: the maximum's goal, less a turn that it may miss.
 */
u64 fb_idle_policy_longest_ns(const struct fb_idle_policy *w);

/**
 * fb_idle_policy_why() - get why no idle read is sent
 * @w: the policy
 * @now: the time
 *
 * Return: the reason; FB_IDLE_POLICY_RUN: one may be sent now.
 */
enum fb_idle_policy_why fb_idle_policy_why(const struct fb_idle_policy *w, u64 now);

/**
 * fb_idle_policy_status() - get the state of the policy
 * @w: the policy
 * @now: the time
 * @st: out
 */
void fb_idle_policy_status(const struct fb_idle_policy *w, u64 now,
			   struct fb_idle_policy_status *st);

#endif /* FB_IDLE_POLICY_H */
