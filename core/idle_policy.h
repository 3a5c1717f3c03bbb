/* SPDX-License-Identifier: GPL-2.0 */
/*
 * When to read while the disk is idle, and how much at once: Waiting(t), the policy of Practical
 * Scrubbing (V), with measurements that keep its two goals, the mean and the maximum slowdown of a
 * foreground request. Once the disk has been idle for a threshold t, reads follow each other until
 * a foreground request arrives: the expected rest of an idle interval grows with its age (V.A).
 * Nothing is known of the drive's mechanics. Each request of a busy period behind idle reads is
 * charged by how much later it ends than it would have (core/idle/learnt.h; of streams
 * core/idle/streams.h). core/idle/reader.h and core/engine/flight.c have the order of the calls.
 * Core; the caller serialises. Times are ns of one monotonic clock.
 */
#ifndef FB_IDLE_POLICY_H
#define FB_IDLE_POLICY_H

#include "core/idle/state.h"

/* Start with an idle disk and default goals. */
void fb_idle_policy_init(struct fb_idle_policy *w, u64 now);

/* Set how slow the drive may be, so that the longest read keeps the maximum's goal. */
void fb_idle_policy_set_drive(struct fb_idle_policy *w, u64 turn_ns, u32 sector_ps);

/* Ask from where the next idle read is to be searched. @d: what the drive still has to write. */
void fb_idle_policy_aim(struct fb_idle_policy *w, struct fb_destage *d,
			struct fb_idle_policy_aim *aim);

/*
 * Judge the idle read that has just ended; one late because the drive was writing is charged and
 * counted with what is usual. Calls fb_destage_idle_ended().
 */
void fb_idle_policy_judge(struct fb_idle_policy *w, u64 now, struct fb_destage *d);

/* Set the mean slowdown per foreground request, 0: no idle reads, and the maximum of one. */
void fb_idle_policy_set_goals(struct fb_idle_policy *w, u64 mean_ns, u64 max_ns);

/* Set the threshold, or FB_IDLE_POLICY_AUTO, and the longest command, or 0: the default. */
void fb_idle_policy_set_fixed(struct fb_idle_policy *w, u64 wait_ns, u32 sectors);

/* Begin an idle interval, as nobody has told what happened meanwhile. */
void fb_idle_policy_restart(struct fb_idle_policy *w, u64 now);

/* A foreground request has arrived. @req: NULL: unknown, or its end will not be told. */
void fb_idle_policy_arrive(struct fb_idle_policy *w, u64 now, const struct fb_fg_req *req);

/*
 * A request has arrived that waits for something else than the medium, so what it takes tells
 * nothing; but a write voids what the drive has read ahead. @req: NULL: unknown.
 */
static inline void fb_idle_policy_arrive_unfollowed(struct fb_idle_policy *w, u64 now,
						    const struct fb_fg_req *req)
{
	fb_idle_policy_arrive(w, now, NULL);
	if (req && req->write)
		fb_idle_streams_wrote(&w->streams, req);
}

/* A write has arrived that the drive's cache takes. */
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
 * The earliest moment for an idle read, past or future; FB_IDLE_POLICY_NEVER: not before an event.
 */
u64 fb_idle_policy_begin_ns(const struct fb_idle_policy *w, u64 now);

/* Why no idle read is sent; FB_IDLE_POLICY_RUN: one may be sent now. */
enum fb_idle_policy_why fb_idle_policy_why(const struct fb_idle_policy *w, u64 now);

/* Is it known what reads take, by those that were made? */
bool fb_idle_policy_knows(const struct fb_idle_policy *w);

void fb_idle_policy_status(const struct fb_idle_policy *w, u64 now,
			   struct fb_idle_policy_status *st);

#endif /* FB_IDLE_POLICY_H */
