/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What idle reads cost where the drive orders by itself: two virtual drives get the same requests
 * and cached writes, and one of them the idle reads, too. By how much later reads end there is what
 * the idle reads have cost: the rest of one, the head that was moved, the writes that are put on
 * the medium later, and all who wait behind. What the order of the real drive has otherwise than
 * the virtual ones is the same in both, and drops out. They are followed from the first idle read
 * of an interval until both have done all and their heads are at one place again. Core; the caller
 * serialises. Nothing here sleeps or allocates. All times are nanoseconds of one monotonic clock,
 * passed in.
 */
#ifndef FB_TWIN_H
#define FB_TWIN_H

#include "core/vdrive.h"

/**
 * struct fb_twin - the two; all private but @follows
 * @follows: what idle reads cost is known
 * @alike: they have both done the same, and nothing need be followed before the next idle read
 * @reading: an idle read is at the drive, and the virtual one that gets it waits for its end
 * @idle: which
 * @dm: the model when it was sent
 * @sent_ns: when it was sent
 * @due_ns: when it should end if the drive has nothing else to do; 0: it does not matter
 * @wrote: a cached write has come since the last idle read was sent
 * @order: in which order the drive serves
 * @with: the drive with idle reads
 * @without: the one without
 * @open: requests that somebody waits for and that one of them has not ended, for each
 * @sum_ns: ends of those that have ended, with less without
 * @later_ns: the same where both have ended all
 */
struct fb_twin {
	bool follows;
	bool alike;
	bool reading;
	struct fb_idle_cost_req idle;
	const struct disk_model *dm;
	u64 sent_ns;
	u64 due_ns;
	bool wrote;
	struct fb_drive_order order;
	struct fb_vdrive with;
	struct fb_vdrive without;
	u32 open;
	s64 sum_ns;
	s64 later_ns;
};

/**
 * fb_twin_init() - follow nothing
 * @t: the two
 * @turn_ns: one revolution
 */
void fb_twin_init(struct fb_twin *t, u64 turn_ns);

/**
 * fb_twin_lose() - give up until the next interval: something happened that cannot be followed
 * @t: the two
 *
 * What is known by then is in what fb_twin_take() returns next: of those that have not ended, by
 * how much later they could begin; nothing of those that wait for an idle read that has not ended.
 */
void fb_twin_lose(struct fb_twin *t);

/**
 * fb_twin_sent() - note that an idle read is sent
 * @t: the two
 * @head: head and phase; NULL: unknown
 * @now: the time; the drive has nothing else to do
 * @begins: it is the first of its interval, so the head is where the foreground has left it
 * @lbn: its first sector
 * @nsect: its sectors
 */
void fb_twin_sent(struct fb_twin *t, const struct fb_head *head, u64 now, bool begins, u64 lbn,
		  u32 nsect);

/**
 * fb_twin_ended() - note that it has ended
 * @t: the two
 * @now: the time
 */
void fb_twin_ended(struct fb_twin *t, u64 now);

/**
 * fb_twin_served() - note that a request of the foreground has ended
 * @t: the two
 * @now: the time
 * @req: the request
 *
 * If it came behind an idle read that has not ended, the drive had not begun with that, and has
 * taken what else there was first.
 */
void fb_twin_served(struct fb_twin *t, u64 now, const struct fb_idle_cost_req *req);

/**
 * fb_twin_arrived() - note a request of the foreground
 * @t: the two
 * @head: head and phase; NULL: unknown
 * @req: the request
 * @cached: it is a write that the drive reports when its cache has it
 */
void fb_twin_arrived(struct fb_twin *t, const struct fb_head *head,
		     const struct fb_idle_cost_req *req, bool cached);

/**
 * fb_twin_ahead() - note a read that without idle reads would come from the drive's cache
 * @t: the two
 * @head: head and phase; NULL: unknown
 * @req: the request
 *
 * What it waits itself is known otherwise, and is not in what fb_twin_take() returns. With idle
 * reads it is a job of the medium, which others wait for, unless fb_twin_hit() says that it was
 * none.
 */
void fb_twin_ahead(struct fb_twin *t, const struct fb_head *head,
		   const struct fb_idle_cost_req *req);

/**
 * fb_twin_hit() - note that such a read came from the cache in spite of idle reads
 * @t: the two
 * @req: the request
 *
 * Perhaps only its end shows that the drive had read it ahead, and fb_twin_arrived() was told of
 * it. Then it need not be served without idle reads either.
 */
void fb_twin_hit(struct fb_twin *t, const struct fb_idle_cost_req *req);

/**
 * fb_twin_take() - get what idle reads have cost since this was asked last
 * @t: the two
 *
 * Return: ns, of all requests together; may be negative.
 */
s64 fb_twin_take(struct fb_twin *t);

#endif /* FB_TWIN_H */
