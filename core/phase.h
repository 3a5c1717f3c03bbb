/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Can the phase be found at all? A model of another speed, or of another drive, a RAID, a virtual
 * disk, have reads end at any angle: core/head.c then finds no phase, predicts nothing, and so has
 * nothing to judge the model by. Here reads are compared with one another. Core; the caller
 * serialises.
 */
#ifndef FB_PHASE_H
#define FB_PHASE_H

#include "disk_model.h"

#define FB_PHASE_READS 512		/* reads from the medium that make a verdict ... */
#define FB_PHASE_SHORT 8		/* ... and short ones that count as one of these */
#define FB_PHASE_MARKS 31	/* reads to compare with; a prime, so that all have their turn */
#define FB_PHASE_PAUSE_NS (60ULL * 1000000000)	/* after it was given up; doubles each time ... */
#define FB_PHASE_PAUSE_MAX_NS (3600ULL * 1000000000)	/* ... up to this */

/**
 * struct fb_phase_mark - where the platter was at the end of a read from the medium
 * @ns: when that was reported
 * @angle: the angle after its last sector
 */
struct fb_phase_mark {
	u64 ns;
	u32 angle;
};

/**
 * struct fb_phase - what reads say about the phase
 * @last_ns: when the last command ended
 * @mark: some of the last reads from the medium
 * @marks: how many were noted; the first is @mark[0], and so on
 * @seen: reads of this verdict; one from the medium counts as FB_PHASE_SHORT
 * @compared: those from the medium
 * @fits: those whose angle follows from that of a read before
 * @off_until_ns: given up until then; 0: it is not
 * @pause_ns: length of the next pause
 * @given_up: times it was given up in a row
 */
struct fb_phase {
	u64 last_ns;
	struct fb_phase_mark mark[FB_PHASE_MARKS];
	u32 marks;
	u32 seen;
	u32 compared;
	u32 fits;
	u64 off_until_ns;
	u64 pause_ns;
	u32 given_up;
};

/**
 * struct fb_phase_read - a read of the foreground that has ended, in the order of the policy
 * @lbn: first sector
 * @nsect: sectors
 * @sent_ns: when it was sent
 * @end_ns: when its end was reported
 */
struct fb_phase_read {
	u64 lbn;
	u32 nsect;
	u64 sent_ns;
	u64 end_ns;
};

/**
 * fb_phase_init() - initialise: nothing is known, and nothing given up
 * @p: filled
 */
void fb_phase_init(struct fb_phase *p);

/**
 * fb_phase_read() - learn from a read of the foreground
 * @p: state
 * @dm: model
 * @read: the read
 *
 * Return: true if this call has given the phase up.
 */
bool fb_phase_read(struct fb_phase *p, const struct disk_model *dm,
		   const struct fb_phase_read *read);

/**
 * fb_phase_other() - note the end of any other command, behind which a read may have waited
 * @p: state
 * @end_ns: when it was reported
 */
void fb_phase_other(struct fb_phase *p, u64 end_ns);

/**
 * fb_phase_on() - test whether the phase is known or looked for, and end a pause that is over
 * @p: state
 * @now_ns: monotonic time
 *
 * Return: false while it is given up.
 */
bool fb_phase_on(struct fb_phase *p, u64 now_ns);

#endif /* FB_PHASE_H */
