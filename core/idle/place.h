/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How much an idle read leaves out, learnt from what reads take. Where the drive reads ahead, what
 * follows the last command comes from its cache, and nothing is left out. Where it does not, what
 * follows has passed the head before the next command has come, and costs a turn; a granule on, it
 * is just in time. Which of a few lengths is best is tried now and then. Core; the caller
 * serialises. Nothing here sleeps or allocates.
 */
#ifndef FB_IDLE_PLACE_H
#define FB_IDLE_PLACE_H

#include "include/fb_shim.h"

#define FB_IDLE_PLACE_SKIPS 4	/* lengths that are compared: 0 to 3 granules */

/**
 * enum fb_idle_place_behind - what an idle read comes behind
 * @FB_IDLE_PLACE_ON: another one
 * @FB_IDLE_PLACE_READ: a read of the foreground
 * @FB_IDLE_PLACE_WRITE: a write of the foreground that went to the medium
 * @FB_IDLE_PLACE_KINDS: the number of kinds; also: anything else, of which nothing is learnt
 */
enum fb_idle_place_behind {
	FB_IDLE_PLACE_ON, FB_IDLE_PLACE_READ, FB_IDLE_PLACE_WRITE, FB_IDLE_PLACE_KINDS,
};

/**
 * struct fb_idle_place_arm - reads that left out so much
 * @n: how many; fades
 * @us: sum of their times
 */
struct fb_idle_place_arm {
	u32 n;
	u64 us;
};

/**
 * struct fb_idle_place - what was learnt; all private
 * @arm: by what they came behind, and granules left out
 * @tries: choices, by what they came behind
 * @behind: the read at the drive came behind this ...
 * @skip: ... and left out so many granules
 */
struct fb_idle_place {
	struct fb_idle_place_arm arm[FB_IDLE_PLACE_KINDS][FB_IDLE_PLACE_SKIPS];
	u32 tries[FB_IDLE_PLACE_KINDS];
	enum fb_idle_place_behind behind;
	u32 skip;
};

/**
 * fb_idle_place_choose() - choose how many granules the next read leaves out
 * @p: what was learnt
 * @behind: what it comes behind
 *
 * Return: granules.
 */
u32 fb_idle_place_choose(struct fb_idle_place *p, enum fb_idle_place_behind behind);

/**
 * fb_idle_place_ended() - note that the read has ended
 * @p: what was learnt
 * @ns: what it took
 */
void fb_idle_place_ended(struct fb_idle_place *p, u64 ns);

#endif /* FB_IDLE_PLACE_H */
