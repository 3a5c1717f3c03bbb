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

/* A request in its queue */
struct fb_shadow_req {
	struct fb_fg_req req;
	struct dm_place start;		/* where its first sector begins */
};

/* The shadow; all private but @followed and @later_ns */
struct fb_shadow {
	u64 followed;			/* requests that both the shadow and the drive have ended */
	s64 later_ns;			/* sum over them: by how much the drive ended them later */
	bool follows;	/* it is kept; false: not before the disk is idle with its head known */
	u64 since_ns;			/* since when */
	struct dm_place at;		/* its head; the angle means nothing */
	u64 free_ns;	/* since when it has nothing to do, or until when it is at work */
	struct fb_shadow_req queue[FB_SHADOW_QUEUE];	/* in order of arrival */
	u32 n;
	u32 open;	/* requests that have come and that the drive has not ended */
	u32 ended;	/* requests that the drive has ended since @followed was counted */
	s64 sum_ns;	/* the ends of those less the ends of those that the shadow has ended */
	/*
	 * by how much the foreground ends later than predicted without any free read: turns lost by
	 * chance, what the drive does for itself, hits of its cache
	 */
	struct fb_mean late;
};

void fb_shadow_init(struct fb_shadow *s);

/* Something happened that cannot be followed: give up until the disk is idle. */
void fb_shadow_lose(struct fb_shadow *s);

/* A foreground request has come. */
void fb_shadow_arrived(struct fb_shadow *s, const struct fb_head *head,
		       const struct fb_fg_req *req);

/* The drive has ended a foreground request that came at @arrived_ns. */
void fb_shadow_served(struct fb_shadow *s, const struct fb_head *head, u64 now, u64 arrived_ns);

/* Learn from a command's end how much longer than predicted they take. @turn_ns: a revolution. */
void fb_shadow_learn(struct fb_shadow *s, const struct fb_completion_cmd *c,
		     const struct fb_completion_result *r, u64 turn_ns);

/* The drive has no foreground request left. */
void fb_shadow_idle(struct fb_shadow *s, const struct fb_head *head, u64 now);

#endif /* FB_SHADOW_H */
