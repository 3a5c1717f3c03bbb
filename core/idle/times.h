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

/**
 * struct fb_idle_time - times of reads of one class; the counts fade
 * @n: number of reads
 * @us: sum of their times
 * @sq: sum of the squares
 * @sectors: sum of their sectors
 * @clean: those of a drive that surely had nothing to write
 * @clean_us: sum of their times
 */
struct fb_idle_time {
	u32 n;
	u64 us;
	u64 sq;
	u64 sectors;
	u32 clean;
	u64 clean_us;
};

/**
 * struct fb_idle_times - the times; all private
 * @of: by class: those that follow another one by size, and the first of an interval
 */
struct fb_idle_times {
	struct fb_idle_time of[FB_IDLE_TIMES_CLASSES];
};

/**
 * struct fb_idle_times_mean - the mean of a class
 * @ns: time of a read
 * @rest_ns: the rest of one when a request comes meanwhile
 * @sectors: what it reads
 */
struct fb_idle_times_mean {
	u64 ns;
	u64 rest_ns;
	u64 sectors;
};

/**
 * fb_idle_times_add() - note a read that has ended
 * @t: the times
 * @class: the index of its size; of the first of an interval one of those above
 * @nsect: its sectors
 * @ns: its time; if the drive was writing first, what reads of its class usually take
 * @clean: the drive surely had nothing to write
 */
void fb_idle_times_add(struct fb_idle_times *t, u32 class, u32 nsect, u64 ns, bool clean);

/**
 * fb_idle_times_usual_ns() - get what reads of a class take while the drive has nothing to write
 * @t: the times
 * @class: as above
 *
 * Return: ns; 0: not known yet.
 */
u64 fb_idle_times_usual_ns(const struct fb_idle_times *t, u32 class);

/**
 * fb_idle_times_mean() - get the mean of a class
 * @t: the times
 * @class: as above
 * @m: out
 *
 * Return: false: too few reads were of that class.
 */
bool fb_idle_times_mean(const struct fb_idle_times *t, u32 class, struct fb_idle_times_mean *m);

#endif /* FB_IDLE_TIMES_H */
