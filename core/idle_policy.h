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
 * Nothing is known of the drive's mechanics. Each request of a busy period behind idle reads is
 * charged by how much later it ends than it would have (core/idle/account.h; of streams
 * core/idle/streams.h). What reads take, and where they take least, is measured, too
 * (core/idle/times.h, core/idle/place.h). All times are nanoseconds of one monotonic clock, passed
 * in. The host
 *
 * * tells of requests by fb_idle_policy_arrive(), fb_idle_policy_served() and
 *   fb_idle_policy_wrote(), and of commands by fb_destage_sent(), fb_destage_ended(),
 *   fb_destage_idle_sent() and fb_destage_flushed();
 * * asks fb_destage_begin_ns() for fb_idle_policy_hold();
 * * asks fb_idle_policy_aim() before it searches an idle read, and passes that on as @aimed, @aim,
 *   @over and @skip of struct fb_idle_order_ask;
 * * calls fb_idle_policy_judge() when the idle read has ended, before fb_idle_policy_ended(). Of a
 *   read that failed it calls fb_destage_idle_ended() by itself, with @known false, instead.
 */
#ifndef FB_IDLE_POLICY_H
#define FB_IDLE_POLICY_H

#include "core/idle/state.h"

/**
 * fb_idle_policy_init() - start with an idle disk and default goals; find threshold and size
 * @w: the policy
 * @now: the time
 */
void fb_idle_policy_init(struct fb_idle_policy *w, u64 now);

/**
 * fb_idle_policy_set_drive() - set how slow the drive may be
 * @w: the policy
 * @turn_ns: one revolution; a read may take this much longer than its transfer
 * @sector_ps: longest transfer time of a sector, picoseconds
 *
 * The longest read keeps the maximum's goal wherever it is. The default is FB_IDLE_TURN_NS and
 * FB_IDLE_SECTOR_PS.
 */
void fb_idle_policy_set_drive(struct fb_idle_policy *w, u64 turn_ns, u32 sector_ps);

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
 * @d: what the drive still has to write
 *
 * A read that came late because the drive was writing is charged, and counted, with the time that
 * such reads usually take. Calls fb_destage_idle_ended().
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
 * fb_idle_policy_hold() - send no idle read before a moment
 * @w: the policy
 * @until_ns: the moment; the threshold counts from there
 */
void fb_idle_policy_hold(struct fb_idle_policy *w, u64 until_ns);

/**
 * fb_idle_policy_withhold() - tell whether idle reads are withheld, to measure without
 * @w: the policy
 * @withheld: they are: requests that arrive meanwhile allow nothing to be spent on others
 */
void fb_idle_policy_withhold(struct fb_idle_policy *w, bool withheld);

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
 * @req: the request; NULL: it is not known where, or fb_idle_policy_served() will not tell its end
 */
void fb_idle_policy_arrive(struct fb_idle_policy *w, u64 now, const struct fb_fg_req *req);

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
						    const struct fb_fg_req *req)
{
	fb_idle_policy_arrive(w, now, NULL);
	if (req && req->write)
		fb_idle_streams_wrote(&w->streams, req);
}

/**
 * fb_idle_policy_wrote() - note that a write has arrived that the drive's cache takes
 * @w: the policy
 * @req: the write
 *
 * Idle reads may not keep it waiting, but what the drive does for it may be what others wait for.
 */
void fb_idle_policy_wrote(struct fb_idle_policy *w, const struct fb_fg_req *req);

/**
 * fb_idle_policy_served() - note that a foreground request has ended, which may be the last one
 * @w: the policy
 * @now: the time
 * @req: the request, as it has arrived
 */
void fb_idle_policy_served(struct fb_idle_policy *w, u64 now, const struct fb_fg_req *req);

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
 * @nsect: its sectors
 */
void fb_idle_policy_sent(struct fb_idle_policy *w, u64 now, u32 nsect);

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
 * fb_idle_policy_why() - get why no idle read is sent
 * @w: the policy
 * @now: the time
 *
 * Return: the reason; FB_IDLE_POLICY_RUN: one may be sent now.
 */
enum fb_idle_policy_why fb_idle_policy_why(const struct fb_idle_policy *w, u64 now);

/**
 * fb_idle_policy_knows() - is it known what reads take, by those that were made?
 * @w: the policy
 *
 * Return: true if so.
 */
bool fb_idle_policy_knows(const struct fb_idle_policy *w);

/**
 * fb_idle_policy_status() - get the state of the policy
 * @w: the policy
 * @now: the time
 * @st: out
 */
void fb_idle_policy_status(const struct fb_idle_policy *w, u64 now,
			   struct fb_idle_policy_status *st);

#endif /* FB_IDLE_POLICY_H */
