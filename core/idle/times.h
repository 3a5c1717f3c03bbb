/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How long idle reads take, by measured times alone: what threshold and size are found from, and
 * what tells a read that the drive has kept waiting because it was writing. Nothing is taken from
 * a data sheet: a size counts when it was tried. Core; the caller serialises. Nothing here sleeps
 * or allocates.
 */
#ifndef FB_IDLE_TIMES_H
#define FB_IDLE_TIMES_H

#include "include/fb_shim.h"

#define FB_IDLE_TIMES_SIZES 7		/* 64 KiB to 4 MiB, doubling */
/* classes of the first read of an interval: later than half a turn behind its beginning, sooner */
#define FB_IDLE_TIMES_FIRST FB_IDLE_TIMES_SIZES
#define FB_IDLE_TIMES_SOON (FB_IDLE_TIMES_SIZES + 1)
#define FB_IDLE_TIMES_CLASSES (FB_IDLE_TIMES_SIZES + 2)

/* Times of reads of one class; the counts fade */
struct fb_idle_time {
	u32 n;				/* number of reads */
	u64 us;				/* sum of their times */
	u64 sq;				/* sum of the squares */
	u64 sectors;			/* sum of their sectors */
	u32 clean;			/* those of a drive that surely had nothing to write */
	u64 clean_us;			/* sum of their times */
};

/* The times; all private */
struct fb_idle_times {
	/* those that follow another one by size, and the first of an interval */
	struct fb_idle_time of[FB_IDLE_TIMES_CLASSES];
};

/* The mean of a class */
struct fb_idle_times_mean {
	u64 ns;				/* time of a read */
	u64 rest_ns;			/* the rest of one when a request comes meanwhile */
	u64 sectors;			/* what it reads */
};

/*
 * A read has ended. @class: the index of its size; of the first of an interval one of those above;
 * @ns: its time; if the drive was writing first, what reads of its class usually take; @clean: the
 * drive surely had nothing to write.
 */
void fb_idle_times_add(struct fb_idle_times *t, u32 class, u32 nsect, u64 ns, bool clean);

/* What reads of a class take while the drive has nothing to write; 0: not known yet. */
u64 fb_idle_times_usual_ns(const struct fb_idle_times *t, u32 class);
/* The mean of a class; false: too few reads were of it. */
bool fb_idle_times_mean(const struct fb_idle_times *t, u32 class, struct fb_idle_times_mean *m);

#endif /* FB_IDLE_TIMES_H */
