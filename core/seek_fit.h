/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One scale for the model's seek times, learnt from completions: a drive that warms up or ages
 * keeps its layout, but its seeks take a few percent longer. A lost turn says that the error
 * exceeded the predicted wait, a gained one that the seek was shorter by more than the wait lacked
 * of a turn. The median of the errors follows by logistic regression with one unknown, one step of
 * a Kalman filter per trial. Commands that are late for other reasons are late by any amount, so
 * only trials within the spread of the errors count. Core.
 */
#ifndef FB_SEEK_FIT_H
#define FB_SEEK_FIT_H

#include "core/conservatism.h"

#define FB_SEEK_FIT_MOST_PPM 100000	/* largest correction of the seek time */

/* parts of a ppm in an estimate: most trials move it by a hundredth, which must not be lost */
#define FB_SEEK_FIT_FINE 4096LL

/* What was learnt */
struct fb_seek_fit {
	u64 period_ns;			/* one revolution */
	s64 fine;			/* the estimate, FB_SEEK_FIT_FINE parts of a ppm */
	u64 var;			/* its variance, ppm^2 */
	u32 spread_ns;	/* scale of the errors' logistic distribution, 0.55 of their sd */
	u64 trials;			/* completions that counted */
	u64 late;			/* those with an error above the wait */
	u64 since_ns;			/* when the first was; 0: none yet */
	u64 at_ns;			/* time up to which the variance has grown */
	s32 applied;			/* to the model, ppm */
	u64 applied_ns;			/* when */
};

/* No corrections known. @dm, without any, gives the initial spread of errors if it has one. */
void fb_seek_fit_init(struct fb_seek_fit *c, const struct disk_model *dm);
/* Forget what was learnt of a model in use. Corrections applied stay until others are learnt. */
void fb_seek_fit_forget(struct fb_seek_fit *c, const struct disk_model *dm);

/*
 * Learn from the end of a command that the cache did not answer. @acc: as @dm predicted it; a slow
 * zone's turn is no part of the seek.
 */
void fb_seek_fit_learn(struct fb_seek_fit *c, u64 now_ns, const struct disk_model *dm,
		       const struct fb_conservatism_leg *leg, const struct dm_access *acc);

/* Does the correction differ enough to matter, and is that applied last old enough? */
bool fb_seek_fit_due(const struct fb_seek_fit *c, u64 now_ns);

/* Apply a step of the correction to the model, which must not be in use meanwhile. */
void fb_seek_fit_apply(struct fb_seek_fit *c, u64 now_ns, struct disk_model *dm);

/* Do many trials say that seek times are off by about FB_SEEK_FIT_MOST_PPM or more? */
bool fb_seek_fit_misfit(const struct fb_seek_fit *c);
/* How much longer seeks are than in the uncorrected model, ppm. */
s32 fb_seek_fit_ppm(const struct fb_seek_fit *c);
/* Standard deviation of fb_seek_fit_ppm(), ppm. */
u32 fb_seek_fit_error_ppm(const struct fb_seek_fit *c);

#endif /* FB_SEEK_FIT_H */
