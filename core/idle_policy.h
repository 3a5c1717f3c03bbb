/* SPDX-License-Identifier: GPL-2.0 */
/*
 * When to read while the disk is idle, and how much at once: Waiting, the policy of
 * Practical Scrubbing (section V), with measurements that keep its two goals, the mean and
 * the maximum slowdown of a foreground request. Core; the caller serialises. Nothing
 * here sleeps or allocates.
 *
 * Waiting(t): once the disk has been idle for a threshold t, reads follow each other until
 * a foreground request arrives. Nothing stops them earlier, because the expected rest of an
 * idle interval grows with its age (V.A). The threshold is chosen to read most within the mean's
 * goal, judging by recent idle intervals (V.C).
 *
 * Nothing is known of the drive's mechanics. Each request of a busy period behind idle reads is
 * charged by how much later it ends than it would have (core/idle/account.h; of streams
 * core/idle/streams.h). What reads take, and where they take least, is measured, too
 * (core/idle/times.h, core/idle/place.h). All times are nanoseconds of one monotonic clock, passed
 * in. The host
 *
 * * tells of requests by fb_idle_policy_arrive(), fb_idle_policy_served() and
 *   fb_idle_policy_wrote(), and of commands by fb_destage_sent(), fb_destage_ended() and
 *   fb_destage_idle_sent();
 * * asks fb_destage_begin_ns() for fb_idle_policy_hold();
 * * asks fb_idle_policy_aim() before it searches an idle read, and passes that on as @aimed, @aim,
 *   @over and @skip of struct fb_idle_order_ask;
 * * calls fb_idle_policy_judge() when the idle read has ended, before fb_idle_policy_ended(). Of a
 *   read that failed it calls fb_destage_idle_ended() by itself, with @known false, instead.
 */
#ifndef FB_IDLE_POLICY_H
#define FB_IDLE_POLICY_H

#include "core/idle/state.h"

/* Start with an idle disk and default goals. */
void fb_idle_policy_init(struct fb_idle_policy *w, u64 now);

/*
 * Set how slow the drive may be, so that the longest read keeps the maximum's goal wherever it is:
 * it may take a revolution longer than its transfer. Default: FB_IDLE_TURN_NS and
 * FB_IDLE_SECTOR_PS.
 */
void fb_idle_policy_set_drive(struct fb_idle_policy *w, u64 turn_ns, u32 sector_ps);

/* Ask from where the next idle read is to be searched. @d: what the drive still has to write. */
void fb_idle_policy_aim(struct fb_idle_policy *w, struct fb_destage *d,
			struct fb_idle_policy_aim *aim);

/*
 * Judge the idle read that has just ended by what such reads usually take. One that came late
 * because the drive was writing is charged, and counted, with that time. Calls
 * fb_destage_idle_ended().
 */
void fb_idle_policy_judge(struct fb_idle_policy *w, u64 now, struct fb_destage *d);

/*
 * Set what idle reads may cost: mean slowdown per foreground request, 0: no idle reads; maximum
 * slowdown of one.
 */
void fb_idle_policy_set_goals(struct fb_idle_policy *w, u64 mean_ns, u64 max_ns);

/*
 * Set the threshold instead of finding it, and the size; the goals remain in force. @wait_ns: or
 * FB_IDLE_POLICY_AUTO; @sectors: longest command; 0: the default.
 */
void fb_idle_policy_set_fixed(struct fb_idle_policy *w, u64 wait_ns, u32 sectors);

/* Send no idle read before a moment; the threshold counts from there. */
void fb_idle_policy_hold(struct fb_idle_policy *w, u64 until_ns);

/*
 * Tell whether idle reads are withheld, to measure without. Requests that arrive meanwhile allow
 * nothing to be spent on others.
 */
void fb_idle_policy_withhold(struct fb_idle_policy *w, bool withheld);

/* Begin an idle interval, as nobody has told what happened meanwhile. */
void fb_idle_policy_restart(struct fb_idle_policy *w, u64 now);

/*
 * A foreground request has arrived. @req: NULL: it is not known where, or fb_idle_policy_served()
 * will not tell its end.
 */
void fb_idle_policy_arrive(struct fb_idle_policy *w, u64 now, const struct fb_fg_req *req);

/*
 * A request has arrived that waits for something else than the medium. It passes by the scheduler,
 * or the drive's cache takes it, or others' background reads are before it. What it takes tells
 * nothing, whether fb_idle_policy_served() tells its end or not; but a write voids what the drive
 * has read ahead. @req: NULL: it is not known where.
 */
static inline void fb_idle_policy_arrive_unfollowed(struct fb_idle_policy *w, u64 now,
						    const struct fb_fg_req *req)
{
	fb_idle_policy_arrive(w, now, NULL);
	if (req && req->write)
		fb_idle_streams_wrote(&w->streams, req);
}

/*
 * A write has arrived that the drive's cache takes. Idle reads may not keep it waiting, but what
 * the drive does for it may be what others wait for.
 */
void fb_idle_policy_wrote(struct fb_idle_policy *w, const struct fb_fg_req *req);

/* A foreground request has ended, which may be the last one. @req: as it has arrived. */
void fb_idle_policy_served(struct fb_idle_policy *w, u64 now, const struct fb_fg_req *req);
/* The last foreground request has ended. */
void fb_idle_policy_idle(struct fb_idle_policy *w, u64 now);
/* An idle read was sent to the drive. */
void fb_idle_policy_sent(struct fb_idle_policy *w, u64 now, u32 nsect);
/* The idle read has ended, failed or was not carried out. */
void fb_idle_policy_ended(struct fb_idle_policy *w, u64 now);

/*
 * The earliest moment at which an idle read may be sent: at once if it is not after @now, otherwise
 * ask again then. FB_IDLE_POLICY_NEVER: not before one of the calls above.
 */
u64 fb_idle_policy_begin_ns(const struct fb_idle_policy *w, u64 now);

/* Why no idle read is sent; FB_IDLE_POLICY_RUN: one may be sent now. */
enum fb_idle_policy_why fb_idle_policy_why(const struct fb_idle_policy *w, u64 now);

/* Is it known what reads take, by those that were made? */
bool fb_idle_policy_knows(const struct fb_idle_policy *w);

void fb_idle_policy_status(const struct fb_idle_policy *w, u64 now,
			   struct fb_idle_policy_status *st);

#endif /* FB_IDLE_POLICY_H */
