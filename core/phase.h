/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Can the phase be found at all? With a model of another drive, on a RAID or a virtual disk reads
 * end at any angle: core/head.c finds no phase, predicts nothing, and has nothing to judge the
 * model by. So many reads without a phase are enough. Core.
 */
#ifndef FB_PHASE_H
#define FB_PHASE_H

#include "core/guard.h"
#include "core/head.h"

#define FB_PHASE_READS 512	/* from the medium; of the drive's model FB_HEAD_LOCK find it */
/* so many that a cache has answered count as one: behind one that answers all there is no phase */
#define FB_PHASE_SHORT FB_HEAD_CACHE_PART

/* What reads say about the phase */
struct fb_phase {
	u64 last_ns;			/* when the last command ended */
	u32 seen;	/* reads without a phase; one from the medium counts as FB_PHASE_SHORT */
	u64 off_until_ns;		/* given up until then; 0: it is not */
	u64 pause_ns;			/* length of the next pause */
	u32 given_up;			/* times it was given up in a row */
};

/* Initialise: nothing is known, and nothing given up. */
void fb_phase_init(struct fb_phase *p);
/* A read of the foreground has ended. Return: true if this call has given the phase up. */
bool fb_phase_read(struct fb_phase *p, const struct fb_head *head, u64 sent_ns, u64 end_ns);
/* Any other command has ended, behind which a read may have waited. */
void fb_phase_other(struct fb_phase *p, u64 end_ns);
/* Is the phase known or looked for? Ends a pause that is over. False: it is given up. */
bool fb_phase_on(struct fb_phase *p, u64 now_ns);

#endif /* FB_PHASE_H */
