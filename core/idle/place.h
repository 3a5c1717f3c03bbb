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

/* What an idle read comes behind */
enum fb_idle_place_behind {
	FB_IDLE_PLACE_ON,		/* another one */
	FB_IDLE_PLACE_READ,		/* a read of the foreground */
	FB_IDLE_PLACE_WRITE,		/* a write of the foreground that went to the medium */
	FB_IDLE_PLACE_KINDS,	/* their number; also: anything else, which teaches nothing */
};

/* Reads that left out so much */
struct fb_idle_place_arm {
	u32 n;				/* how many; fades */
	u64 us;				/* sum of their times */
};

/* What was learnt; all private */
struct fb_idle_place {
	/* by what they came behind, and granules left out */
	struct fb_idle_place_arm arm[FB_IDLE_PLACE_KINDS][FB_IDLE_PLACE_SKIPS];
	u32 tries[FB_IDLE_PLACE_KINDS];	/* choices, by what they came behind */
	enum fb_idle_place_behind behind;	/* the read at the drive came behind this ... */
	u32 skip;			/* ... and left out so many granules */
};

/* How many granules the next read leaves out. @behind: what it comes behind. */
u32 fb_idle_place_choose(struct fb_idle_place *p, enum fb_idle_place_behind behind);
/* The read has ended, after so long. */
void fb_idle_place_ended(struct fb_idle_place *p, u64 ns);
/* Is nothing left out behind another idle read, as the drive reads ahead? */
bool fb_idle_place_ahead(const struct fb_idle_place *p);

#endif /* FB_IDLE_PLACE_H */
