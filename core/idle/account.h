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

/* The account; all private */
struct fb_idle_account {
	u64 free_ns;			/* when the drive ended what it was seen to end last */
	u64 without_ns;			/* when it would have, without idle reads */
	u64 stall_ns;			/* when a stall was last seen to end */
	u64 pause_ns;			/* idle reads pause until then */
	u64 charge_us;	/* what requests of busy periods behind idle reads have waited, sum ... */
	/* ... and what they would have if each had waited the mean rest; both fade */
	u64 most_us;
};

/* An idle read took @took_ns longer than usual. True: it met a stall, and reads pause as long. */
bool fb_idle_account_read_stalled(struct fb_idle_account *a, u64 now, u64 took_ns);
/* Was there a stall since then? */
bool fb_idle_account_stalled(const struct fb_idle_account *a, u64 since_ns);

/*
 * An idle read has ended. @ours_ns: how long before that it was the idle read that kept the drive
 * busy: all of its time, or less if the drive had to write first.
 */
void fb_idle_account_read(struct fb_idle_account *a, u64 now, u64 ours_ns);

/* What the drive took for a request that has just ended: since it was free and had it. */
u64 fb_idle_account_took_ns(const struct fb_idle_account *a, u64 now, u64 arrived_ns);

/*
 * A request has ended. @lost_ns: how much longer the drive has taken for it than without idle
 * reads, as far as known. Return: how much later it has ended than it would have.
 */
s64 fb_idle_account_served(struct fb_idle_account *a, u64 now, u64 arrived_ns, s64 lost_ns);

/*
 * A busy period behind idle reads is over. @charge_ns: what its requests were charged; @rest_ns:
 * the mean rest of such a read.
 */
void fb_idle_account_period(struct fb_idle_account *a, u64 charge_ns, u32 requests, u64 rest_ns);

/*
 * Which part of the rest of a read requests wait on the mean, of FB_IDLE_ACCOUNT_ONE. A ratio says
 * the same of reads of any length, where the mean of a difference would make short ones look free.
 */
u32 fb_idle_account_ratio(const struct fb_idle_account *a);

#endif /* FB_IDLE_ACCOUNT_H */
