/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What idle reads have cost the foreground, by measured times alone. Two clocks are kept: when
 * the drive was free, and when it would have been without idle reads. A request begins when it has
 * come and the drive is free, and takes as long without idle reads as it took from there; so the
 * first one behind an idle read pays the rest of it, and who waits behind that one pays what is
 * left of the delay (Lindley's recursion, in the order of completions).
 *
 * A command that takes half a second and more met a stall: the drive had work of its own, as
 * drive-managed shingled disks have when they clean up behind writes. The busy period tells
 * nothing of the foreground then. Behind a read of ours that met one idle reads pause for as long;
 * the foreground may as well have had the drive spin up.
 *
 * Core; the caller serialises. Nothing here sleeps or allocates. All times are nanoseconds of one
 * monotonic clock.
 */
#ifndef FB_IDLE_ACCOUNT_H
#define FB_IDLE_ACCOUNT_H

#include "include/fb_shim.h"

#define FB_IDLE_ACCOUNT_ONE 256U	/* fb_idle_account_ratio(): each waits the whole rest */

/**
 * struct fb_idle_account - the account; all private
 * @free_ns: when the drive ended what it was seen to end last
 * @without_ns: when it would have, without idle reads
 * @stall_ns: when a stall was last seen to end
 * @pause_ns: idle reads pause until then
 * @charge_us: what requests of busy periods behind idle reads have waited, sum ...
 * @most_us: ... and what they would have if each had waited the mean rest; both fade
 */
struct fb_idle_account {
	u64 free_ns;
	u64 without_ns;
	u64 stall_ns;
	u64 pause_ns;
	u64 charge_us;
	u64 most_us;
};

/**
 * fb_idle_account_read_stalled() - note how much longer than usual an idle read took
 * @a: the account
 * @now: the time; it has ended
 * @took_ns: so long
 *
 * Return: true if it met a stall; reads pause for as long, then.
 */
bool fb_idle_account_read_stalled(struct fb_idle_account *a, u64 now, u64 took_ns);

/**
 * fb_idle_account_stalled() - was there a stall?
 * @a: the account
 * @since_ns: since then
 *
 * Return: true if so.
 */
bool fb_idle_account_stalled(const struct fb_idle_account *a, u64 since_ns);

/**
 * fb_idle_account_read() - note that an idle read has ended
 * @a: the account
 * @now: the time
 * @ours_ns: how long before that it was the idle read that kept the drive busy: all of its time,
 *	or less if the drive had to write first
 */
void fb_idle_account_read(struct fb_idle_account *a, u64 now, u64 ours_ns);

/**
 * fb_idle_account_took_ns() - get what the drive has taken for a request that has just ended
 * @a: the account
 * @now: the time
 * @arrived_ns: when it came
 *
 * Return: ns since the drive was free and had it.
 */
u64 fb_idle_account_took_ns(const struct fb_idle_account *a, u64 now, u64 arrived_ns);

/**
 * fb_idle_account_served() - note that a request has ended
 * @a: the account
 * @now: the time
 * @arrived_ns: when it came
 * @lost_ns: how much longer the drive has taken for it than without idle reads, as far as known
 *
 * Return: how much later it has ended than it would have.
 */
s64 fb_idle_account_served(struct fb_idle_account *a, u64 now, u64 arrived_ns, s64 lost_ns);

/**
 * fb_idle_account_period() - note that a busy period behind idle reads is over
 * @a: the account
 * @charge_ns: what its requests were charged
 * @requests: how many they were
 * @rest_ns: the mean rest of such a read
 */
void fb_idle_account_period(struct fb_idle_account *a, u64 charge_ns, u32 requests, u64 rest_ns);

/**
 * fb_idle_account_ratio() - get which part of the rest of a read requests wait on the mean
 * @a: the account
 *
 * A ratio says the same of reads of any length, where the mean of a difference would make short
 * ones look free.
 *
 * Return: of FB_IDLE_ACCOUNT_ONE.
 */
u32 fb_idle_account_ratio(const struct fb_idle_account *a);

#endif /* FB_IDLE_ACCOUNT_H */
