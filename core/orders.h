/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who orders the foreground: the policy, two commands at a time, or the drive, which then gets all
 * that it takes. The drive orders what leaves no gaps: streams, known by requests that begin where
 * an earlier one ended. The policy's order costs a deep foreground 2 to 5 % of its throughput
 * (Documentation/results.rst), so demand for a few blocks takes it from the drive only where that
 * costs next to nothing, or for a second in sixteen. While the map has holes, behind whose requests
 * the policy does not know where the head is, the drive orders whatever is deep. Core.
 */
#ifndef FB_ORDERS_H
#define FB_ORDERS_H

#include "include/fb_shim.h"

#define FB_ORDERS_STREAMS 8	/* that are followed at a time */
#define FB_ORDERS_SHALLOW 2	/* outstanding requests that the policy's order costs nothing */
#define FB_ORDERS_MANY 4096	/* wanted blocks that are worth the policy's order */

/* The decision, and what it is made from; all 0 at the beginning; private but @due_ns */
struct fb_orders {
	/* where the last request of each stream ended, that served last first */
	u64 end[FB_ORDERS_STREAMS];
	u32 follow;	/* share of the last requests that went on a stream; FB_ONE: all */
	u32 share;	/* of those that went on a stream while another request was outstanding */
	u32 measured;			/* requests noted, FB_ORDERS_MEASURE at most */
	bool stream;			/* the foreground is a stream, until @stream_ns */
	u64 stream_ns;			/* then, unless requests go on a stream */
	bool taken;			/* the policy orders for the wanted blocks */
	bool many;			/* the wanted blocks are worth it */
	u64 keep_ns;			/* until then it does for few or none, too */
	u64 retake_ns;			/* few are reason for it again from then on */
	u64 blind_ns;			/* until then the drive orders, as the map has holes */
	u64 due_ns;	/* time alone may change the decision then; 0: it will not */
};

/* What it is decided by */
struct fb_orders_view {
	u64 now_ns;
	bool tasks;	/* there are tasks that read or may want blocks at any time */
	u64 wanted;			/* by them */
	u64 blocks;			/* of the disk */
	u32 outstanding;		/* requests pending and commands at the drive */
	/*
	 * free reads are withheld, to measure without: the drive orders, and nothing is remembered
	 */
	bool withheld;
	bool blind;			/* the foreground is deep, and the map has many holes */
};

/*
 * A foreground request is sent. @alone: nothing else is outstanding. True: it has made the
 * foreground a stream, so fb_orders_decide() must be called.
 */
bool fb_orders_sent(struct fb_orders *o, u64 lbn, u32 nsect, bool alone, u64 now_ns);

bool fb_orders_is_stream(const struct fb_orders *o, u64 now_ns);

/* Does hardly a request go on a stream? */
bool fb_orders_is_random(const struct fb_orders *o);

/* May a request be passed over? Not on a stream, or until that is known: it would lose a turn. */
bool fb_orders_may_wait(const struct fb_orders *o, u64 lbn);

/* Decide who orders. True: the drive. */
bool fb_orders_decide(struct fb_orders *o, const struct fb_orders_view *v);

#endif /* FB_ORDERS_H */
