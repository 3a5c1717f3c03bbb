/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Can the phase be found at all? With a model of another drive, on a RAID or a virtual disk reads
 * end at any angle: core/head.c finds no phase, predicts nothing, and has nothing to judge the
 * model by. Here reads are compared with one another. Core.
 */
#ifndef FB_PHASE_H
#define FB_PHASE_H

#include "core/guard.h"
#include "disk_model.h"

#define FB_PHASE_READS 512		/* reads from the medium that make a verdict ... */
#define FB_PHASE_SHORT 8		/* ... and short ones that count as one of these */
#define FB_PHASE_MARKS 31	/* reads to compare with; a prime, so that all have their turn */

/* Where the platter was at the end of a read from the medium */
struct fb_phase_mark {
	u64 ns;				/* when that was reported */
	u32 angle;			/* the angle after its last sector */
};

/* What reads say about the phase */
struct fb_phase {
	u64 last_ns;			/* when the last command ended */
	struct fb_phase_mark mark[FB_PHASE_MARKS];	/* some of the last reads from the medium */
	u32 marks;			/* how many were noted; the first is @mark[0], and so on */
	u32 seen;	/* reads of this verdict; one from the medium counts as FB_PHASE_SHORT */
	u32 compared;			/* those from the medium */
	u32 fits;			/* those whose angle follows from that of a read before */
	u64 off_until_ns;		/* given up until then; 0: it is not */
	u64 pause_ns;			/* length of the next pause */
	u32 given_up;			/* times it was given up in a row */
};

/* A read of the foreground that has ended, in the order of the policy */
struct fb_phase_read {
	u64 lbn;			/* first sector */
	u32 nsect;
	u64 sent_ns;			/* when it was sent */
	u64 end_ns;			/* when its end was reported */
};

/* Initialise: nothing is known, and nothing given up. */
void fb_phase_init(struct fb_phase *p);
/* Learn from a read of the foreground. Return: true if this call has given the phase up. */
bool fb_phase_read(struct fb_phase *p, const struct disk_model *dm,
		   const struct fb_phase_read *read);
/* Any other command has ended, behind which a read may have waited. */
void fb_phase_other(struct fb_phase *p, u64 end_ns);
/* Is the phase known or looked for? Ends a pause that is over. False: it is given up. */
bool fb_phase_on(struct fb_phase *p, u64 now_ns);

#endif /* FB_PHASE_H */
