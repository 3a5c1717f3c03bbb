/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Deadlines: whether a task will make its deadline at its rate, and a bounded share of a disk's
 * time for one that will not: a bucket of credit that fills with a share of the time that passes,
 * and that reads are charged to when they have ended. And a pace, that reads are not to exceed.
 * Core.
 */
#ifndef FB_DEADLINE_H
#define FB_DEADLINE_H

#include "include/fb_shim.h"

#define FB_DEADLINE_NS (10ULL * NSEC_PER_SEC)	/* time over which the rate is measured */

/* A task's rate */
struct fb_deadline_rate {
	u64 mark_ns;			/* when it was last measured */
	u64 mark_done;			/* blocks done then */
	u64 rate;			/* blocks a second, at least 1; 0: not measured yet */
};

/* Begin to measure. @done: blocks done so far. */
void fb_deadline_begin(struct fb_deadline_rate *p, u64 done, u64 now_ns);
/* Measure the rate if that is due. */
void fb_deadline_measure(struct fb_deadline_rate *p, u64 done, u64 now_ns);
/* When it can be measured next. */
u64 fb_deadline_due_ns(const struct fb_deadline_rate *p);
/* Would a task miss its deadline, 0: none? Not if its rate is not known, or nothing is left. */
bool fb_deadline_is_late(const struct fb_deadline_rate *p, u64 left, u64 deadline_ns, u64 now_ns);

#define FB_DEADLINE_BURST_NS (100 * NSEC_PER_MSEC)	/* most credit */
/* Credit without which no read begins: longer than a seek, a turn and two tracks. */
#define FB_DEADLINE_READ_NS (FB_DEADLINE_BURST_NS / 2)
#define FB_DEADLINE_NEVER U64_MAX

/* The credit */
struct fb_deadline_share {
	u64 full_ns;	/* when it will be FB_DEADLINE_BURST_NS, if nothing is read */
	u32 ppm;			/* the share that it comes from */
};

/*
 * When the next read may begin, maybe now; FB_DEADLINE_NEVER without a share, @ppm. Over any time T
 * reads take @ppm of T and FB_DEADLINE_BURST_NS at most.
 */
u64 fb_deadline_next_ns(struct fb_deadline_share *s, u32 ppm, u64 now_ns);
/* Charge a read that was due, has ended, and has occupied the disk for so long. */
void fb_deadline_charge(struct fb_deadline_share *s, u64 ns);

/*
 * Read in one go what the pace allows in so long. A read alone comes after a seek and a part of a
 * turn, which a request may meet; reads that follow each other do not.
 */
#define FB_DEADLINE_GO_NS NSEC_PER_SEC

/* A rate that reads keep to */
struct fb_deadline_pace {
	u32 kib_s;			/* the rate; 0: none */
	u64 at_ns;			/* time up to which @credit_ns has been added up */
	s64 credit_ns;	/* time whose reads may still be made; negative after too long a read */
	u64 open_ns;			/* none is to begin until then; 0: they may */
};

/*
 * Charge ended reads with their @sectors. @kib_s: the present pace; a change takes effect at once.
 * Over any time T reads exceed the pace by 2 FB_DEADLINE_GO_NS of it, and one read, at most.
 */
void fb_deadline_keep_pace(struct fb_deadline_pace *p, u32 kib_s, u64 sectors, u64 now_ns);

#endif /* FB_DEADLINE_H */
