/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A virtual drive: what a drive would do with some requests, by the disk model. It keeps its own
 * queue, and serves of those that it has got the one with the shortest positioning time, as drives
 * do, or by another rule. Cached writes are jobs of its queue like others: the medium has to do
 * them some time. Core; the caller serialises. Nothing here sleeps or allocates. All times are
 * nanoseconds of one monotonic clock, passed in.
 */
#ifndef FB_VDRIVE_H
#define FB_VDRIVE_H

#include "core/drive_order.h"

#define FB_VDRIVE_DEPTH 32U	/* of so many requests the drive chooses, as with ATA's queueing */
#define FB_VDRIVE_QUEUE 256	/* requests that it takes */
/* sectors from which on a job takes no further write: its tracks are walked under the lock */
#define FB_VDRIVE_JOIN 8192U
/* what an event may cost: services, each of which looks at what the drive has got */
#define FB_VDRIVE_STEPS 4

/**
 * struct fb_vdrive_req - a request in its queue
 * @req: the request
 * @cached: nobody waits for it: a write that was reported when the cache had it
 * @start: where its first sector begins
 */
struct fb_vdrive_req {
	struct fb_idle_cost_req req;
	bool cached;
	struct dm_place start;
};

/**
 * struct fb_vdrive - a virtual drive
 * @at: where the head is; the angle means nothing
 * @free_ns: since when it has nothing to do, or until when it is at work
 * @rule: in which order it serves
 * @next_lbn: the sector behind what it has done last
 * @queue: its queue, in the order in which the requests came
 * @n: number of requests there
 */
struct fb_vdrive {
	struct dm_place at;
	u64 free_ns;
	enum fb_drive_order_rule rule;
	u64 next_lbn;
	struct fb_vdrive_req queue[FB_VDRIVE_QUEUE];
	u32 n;
};

/**
 * fb_vdrive_clear() - have nothing to do from a moment on
 * @v: the drive
 * @at: where the head is then
 * @now: the moment
 */
void fb_vdrive_clear(struct fb_vdrive *v, const struct dm_place *at, u64 now);

/**
 * fb_vdrive_add() - note that a request has come
 * @v: the drive
 * @dm: its model
 * @req: the request
 * @cached: nobody waits for it; one that goes on where the last one ends joins it, if that has
 *	less than FB_VDRIVE_JOIN sectors
 *
 * Return: false if there is no room for it, or no such place.
 */
bool fb_vdrive_add(struct fb_vdrive *v, const struct disk_model *dm,
		   const struct fb_idle_cost_req *req, bool cached);

/**
 * fb_vdrive_find() - find a request in the queue
 * @v: the drive
 * @req: the request
 *
 * Return: its index; @v->n: it is not there, has been served or has joined another one.
 */
u32 fb_vdrive_find(const struct fb_vdrive *v, const struct fb_idle_cost_req *req);

/**
 * fb_vdrive_take_out() - take out a request that need not be served
 * @v: the drive
 * @i: its index, below @v->n
 */
void fb_vdrive_take_out(struct fb_vdrive *v, u32 i);

/**
 * fb_vdrive_serve() - serve a request, if one has been begun by now
 * @v: the drive
 * @head: phase
 * @now: the time
 * @out: which
 *
 * @v->free_ns is then when the medium has ended it. An idle drive begins with the first request
 * that is ready.
 *
 * Return: true if so; false, too, if the phase is unknown.
 */
bool fb_vdrive_serve(struct fb_vdrive *v, const struct fb_head *head, u64 now,
		     struct fb_vdrive_req *out);

#endif /* FB_VDRIVE_H */
