/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who orders the foreground: the policy, two commands at a time, or the drive, which then gets all
 * that it takes. Core; the caller serialises. Nothing here sleeps or allocates.
 *
 * The drive orders what leaves no gaps: streams, known by requests that begin where an earlier one
 * ended. A hot spot has short gaps, too, but they can be used, and the drive may pass requests over
 * for as long as it likes, so it is left to the policy.
 *
 * The policy's order costs a deep foreground 2 to 5 % of its throughput, most of it for keeping to
 * read_expire (Documentation/sim.rst). So demand for a few blocks takes the order from the drive
 * only where that costs next to nothing, or for a second in sixteen.
 */
#ifndef FB_ORDERS_H
#define FB_ORDERS_H

#include "include/fb_shim.h"

#define FB_ORDERS_STREAMS 8	/* that are followed at a time */
#define FB_ORDERS_MANY 4096	/* wanted blocks that are worth the policy's order */

/**
 * struct fb_orders - the decision, and what it is made from; all 0 at the beginning; private but
 *	for what is said to be public
 * @end: where the last request of each stream ended, that of the stream served last first
 * @share: requests that went on a stream, of the last, FB_ORDERS_ONE: all
 * @measured: number of requests noted, FB_ORDERS_MEASURE at most
 * @stream: the foreground is a stream, until @stream_ns
 * @stream_ns: then, unless requests go on a stream
 * @taken: the policy orders for the wanted blocks
 * @many: they are worth it
 * @keep_ns: if they are few or none the policy orders until then
 * @retake_ns: few are reason for the policy again from then on
 * @due_ns: public: time alone may change the decision then; 0: it will not
 */
struct fb_orders {
	u64 end[FB_ORDERS_STREAMS];
	u32 share;
	u32 measured;
	bool stream;
	u64 stream_ns;
	bool taken;
	bool many;
	u64 keep_ns;
	u64 retake_ns;
	u64 due_ns;
};

/**
 * struct fb_orders_view - what it is decided by
 * @now_ns: the time
 * @tasks: there are tasks that read or may want blocks at any time
 * @wanted: blocks wanted by them
 * @blocks: blocks of the disk
 * @outstanding: requests pending and commands at the drive
 * @withheld: free reads are withheld, to measure without: the drive orders, and what is decided
 *	when they are not depends on none of this
 */
struct fb_orders_view {
	u64 now_ns;
	bool tasks;
	u64 wanted;
	u64 blocks;
	u32 outstanding;
	bool withheld;
};

/**
 * fb_orders_sent() - note a foreground request that is sent, whoever orders
 * @o: state
 * @lbn: first sector
 * @nsect: sectors
 * @alone: nothing else is outstanding, so it has no gap before it that could be used
 * @now_ns: the time
 *
 * Return: true: it has made the foreground a stream, so fb_orders_decide() must be called.
 */
bool fb_orders_sent(struct fb_orders *o, u64 lbn, u32 nsect, bool alone, u64 now_ns);

/**
 * fb_orders_is_stream() - is the foreground a stream?
 * @o: state
 * @now_ns: the time
 */
bool fb_orders_is_stream(const struct fb_orders *o, u64 now_ns);

/**
 * fb_orders_overdue() - note that a request, pending or at the drive, is past its deadline
 * @o: state
 *
 * The policy keeps to deadlines, the drive need not: no stream is reason for its order until the
 * next request is sent.
 */
void fb_orders_overdue(struct fb_orders *o);

/**
 * fb_orders_may_wait() - may a request be passed over for the gap before another?
 * @o: state
 * @lbn: its first sector
 *
 * Return: false: it goes on a stream, or that is not known yet, and that would cost it a turn.
 */
bool fb_orders_may_wait(const struct fb_orders *o, u64 lbn);

/**
 * fb_orders_decide() - decide who orders
 * @o: state
 * @v: what it is decided by
 *
 * Return: true: the drive.
 */
bool fb_orders_decide(struct fb_orders *o, const struct fb_orders_view *v);

#endif /* FB_ORDERS_H */
