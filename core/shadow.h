/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The shadow of the drive: what it would do with the foreground if we neither read anything for
 * ourselves nor ordered. It gets each request when it comes, keeps its own queue, and serves the
 * one with the shortest positioning time by the disk model, as drives do. How much later a request
 * really ends than in the shadow is what free reads, idle reads, and the order that makes gaps for
 * them cost together. It knows no cache: what the drive has before it is asked for must not be
 * told as a request, but as lost. Core; the caller serialises. Nothing here sleeps or allocates.
 * All times are nanoseconds of one monotonic clock, passed in.
 */
#ifndef FB_SHADOW_H
#define FB_SHADOW_H

#include "core/completion.h"
#include "core/fg_req.h"
#include "core/mean.h"

#define FB_SHADOW_QUEUE 256	/* requests that it takes */

/**
 * struct fb_shadow_req - a request in its queue
 * @req: the request
 * @start: where its first sector begins
 */
struct fb_shadow_req {
	struct fb_fg_req req;
	struct dm_place start;
};

/**
 * struct fb_shadow - the shadow; all private but @followed and @later_ns
 * @followed: requests that both the shadow and the drive have ended
 * @later_ns: sum over them: by how much the drive ended them later
 * @follows: the shadow is kept; false: not before the disk is idle with its head known
 * @since_ns: since when
 * @at: where its head is; the angle means nothing
 * @free_ns: since when it has nothing to do, or until when it is at work
 * @queue: its queue, in the order in which the requests came
 * @n: number of requests there
 * @open: requests that have come and that the drive has not ended
 * @ended: requests that the drive has ended since @followed was counted
 * @sum_ns: the ends of those less the ends of those that the shadow has ended
 * @late: by how much commands of the foreground end later than predicted without any free read:
 *	turns lost by chance, what the drive does for itself, hits of its cache
 */
struct fb_shadow {
	u64 followed;
	s64 later_ns;
	bool follows;
	u64 since_ns;
	struct dm_place at;
	u64 free_ns;
	struct fb_shadow_req queue[FB_SHADOW_QUEUE];
	u32 n;
	u32 open;
	u32 ended;
	s64 sum_ns;
	struct fb_mean late;
};

/**
 * fb_shadow_init() - begin without knowing anything
 * @s: the shadow
 */
void fb_shadow_init(struct fb_shadow *s);

/**
 * fb_shadow_lose() - give up until the disk is idle: something happened that cannot be followed
 * @s: the shadow
 */
void fb_shadow_lose(struct fb_shadow *s);

/**
 * fb_shadow_arrived() - note a foreground request
 * @s: the shadow
 * @head: head and phase of the drive
 * @req: the request
 */
void fb_shadow_arrived(struct fb_shadow *s, const struct fb_head *head,
		       const struct fb_fg_req *req);

/**
 * fb_shadow_served() - note that the drive has ended a foreground request
 * @s: the shadow
 * @head: head and phase of the drive
 * @now: the time
 * @arrived_ns: when the request came
 */
void fb_shadow_served(struct fb_shadow *s, const struct fb_head *head, u64 now, u64 arrived_ns);

/**
 * fb_shadow_learn() - learn how much longer than predicted commands take
 * @s: the shadow
 * @c: a command that has ended
 * @r: how it was judged
 * @turn_ns: one revolution
 */
void fb_shadow_learn(struct fb_shadow *s, const struct fb_completion_cmd *c,
		     const struct fb_completion_result *r, u64 turn_ns);

/**
 * fb_shadow_idle() - note that the drive has no foreground request left
 * @s: the shadow
 * @head: head and phase of the drive
 * @now: the time
 */
void fb_shadow_idle(struct fb_shadow *s, const struct fb_head *head, u64 now);

#endif /* FB_SHADOW_H */
