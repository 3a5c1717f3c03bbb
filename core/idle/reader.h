/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads while the disk is idle: the host looks for one when fb_idle_reader_due_ns() says so, and
 * offers it; the engine sends it unless a foreground request comes first (core/engine/flight.c).
 * Core.
 */
#ifndef FB_IDLE_READER_H
#define FB_IDLE_READER_H

#include "core/head.h"
#include "core/idle_order.h"
#include "core/idle_policy.h"
#include "core/quarantine.h"

/* how much earlier a read is sent than it can begin: the host is late at times */
#define FB_IDLE_READER_LEAD_NS (400 * (u64)NSEC_PER_USEC)

/* when to look again after no read was found, or the one that was offered could not be sent */
#define FB_IDLE_READER_RETRY_NS (20 * (u64)NSEC_PER_MSEC)

/* The idle read of a disk */
struct fb_idle_reader {
	struct fb_idle_policy *wait;	/* when one may be sent */
	struct fb_destage *destage;	/* what the drive's cache still has to write */
	bool ready;	/* @piece is sent next, unless a foreground request comes first */
	struct fb_plan_piece piece;	/* the next read, or the one at the drive */
	bool spins_up;	/* the drive spins up for the next one: its time tells nothing */
	u64 retry_ns;			/* no read is looked for before this time */
	u64 used_ns;			/* when one was last sent, or ended */
};

/* one is ready, or at the drive */
static inline bool fb_idle_reader_is_used(const struct fb_idle_reader *r)
{
	return r->ready || r->wait->reading;
}

/* When to look for a read, but not before @least_ns; or FB_IDLE_POLICY_NEVER. */
u64 fb_idle_reader_due_ns(struct fb_idle_reader *r, u64 least_ns, u64 now);
/*
 * Say what the next read must comply with; the host adds its map. @head: NULL: no map of the drive;
 * @ahead: the drive reads ahead for it; @at: out: for @ask->head.
 */
void fb_idle_reader_ask(struct fb_idle_reader *r, const struct fb_head *head, bool ahead,
			struct dm_place *at, struct fb_idle_order_ask *ask, u64 now);
/* Find the next read in an order, off what is quarantined or in doubt. */
bool fb_idle_reader_find(struct fb_idle_order *o, const struct fb_quarantine *b,
			 const struct fb_idle_order_ask *ask, struct fb_plan_piece *out, u64 now);
/* A read has been found: it is ready. */
void fb_idle_reader_offer(struct fb_idle_reader *r, const struct fb_plan_piece *piece, u64 now);
/* None has. */
void fb_idle_reader_miss(struct fb_idle_reader *r, u64 now);
/* A foreground request has come: a read that is ready is dropped. */
void fb_idle_reader_withdraw(struct fb_idle_reader *r);
/* The read that was ready has been sent. */
void fb_idle_reader_sent(struct fb_idle_reader *r, u64 now);
/* The read is no longer at the drive. @good: the drive has carried it out, without an error. */
void fb_idle_reader_ended(struct fb_idle_reader *r, bool good, u64 now);

#endif /* FB_IDLE_READER_H */
