/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Corrections of the model's seek times by distance, learnt from completions: a drive that warms
 * up or ages keeps its layout, but its seeks take a few percent longer. Core; the caller
 * serialises. Nothing here sleeps or allocates.
 *
 * As in core/conservatism.h, seek errors cannot be measured directly. But each completion is a
 * yes-or-no trial: a lost turn says that the error exceeded the predicted wait, a gained turn that
 * the seek was shorter by more than the wait lacked of a whole turn. The median of the errors
 * follows by logistic regression with one unknown, here one step of a Kalman filter per trial.
 * Commands that are late for other reasons are late by any amount, so only trials whose waits are
 * within the spread of the errors count.
 */
#ifndef FB_SEEK_FIT_H
#define FB_SEEK_FIT_H

#include "core/conservatism.h"

#define FB_SEEK_FIT_MOST_PPM 100000	/* largest correction of the seek time */

/*
 * Parts of a ppm in an estimate. A trial with an ample wait that is not late, as most are, moves
 * it by a hundredth of a ppm, and a late one by hundreds: if the many small steps down were
 * rounded to none, seeks would look some 15 us longer than they are beside a scan, which leaves
 * few trials with short waits.
 */
#define FB_SEEK_FIT_FINE 4096LL

/**
 * struct fb_seek_fit_part - a part of the correction
 * @fine: its estimate, FB_SEEK_FIT_FINE parts of a ppm
 * @var: variance of the estimate, ppm^2
 */
struct fb_seek_fit_part {
	s64 fine;
	u64 var;
};

/**
 * struct fb_seek_fit_band - what is known of seeks over one band of distances
 * @own: the band's own part of the correction
 * @spread_ns: scale of the errors' logistic distribution, 0.55 of their standard deviation
 * @trials: completions that counted
 * @late: those with an error above the wait
 * @since_ns: when the first was; 0: none yet
 */
struct fb_seek_fit_band {
	struct fb_seek_fit_part own;
	u32 spread_ns;
	u64 trials;
	u64 late;
	u64 since_ns;
};

/**
 * struct fb_seek_fit - what was learnt
 * @period_ns: one revolution
 * @common: part of the correction that all bands have in common
 * @band: by dm_band(); band 0 is not used
 * @at_ns: time up to which the variances have grown
 * @applied: correction applied to the model, ppm
 * @applied_ns: when it was applied
 */
struct fb_seek_fit {
	u64 period_ns;
	struct fb_seek_fit_part common;
	struct fb_seek_fit_band band[DM_BANDS];
	u64 at_ns;
	s32 applied[DM_BANDS];
	u64 applied_ns;
};

/**
 * fb_seek_fit_init() - initialise: no corrections known
 * @c: filled
 * @dm: a model without corrections; gives the initial spread of errors, if it has one
 */
void fb_seek_fit_init(struct fb_seek_fit *c, const struct disk_model *dm);

/**
 * fb_seek_fit_forget() - forget what was learnt and start again
 * @c: state, of a model that is in use
 * @dm: that model
 *
 * The model keeps the corrections applied until new ones are learnt.
 */
void fb_seek_fit_forget(struct fb_seek_fit *c, const struct disk_model *dm);

/**
 * fb_seek_fit_learn() - learn from the end of a command that was not answered by the cache
 * @c: state
 * @now_ns: the time
 * @leg: its leg, by fb_conservatism_predict(), with @late_ns filled in
 * @acc: its access as it was predicted, corrections included
 */
void fb_seek_fit_learn(struct fb_seek_fit *c, u64 now_ns, const struct fb_conservatism_leg *leg,
		       const struct dm_access *acc);

/**
 * fb_seek_fit_due() - test whether corrections should be applied to the model
 * @c: state
 * @now_ns: the time
 *
 * Return: true if they differ enough to matter and the last ones are old enough.
 */
bool fb_seek_fit_due(const struct fb_seek_fit *c, u64 now_ns);

/**
 * fb_seek_fit_apply() - apply corrections to the model
 * @c: state
 * @now_ns: the time
 * @dm: the model of fb_seek_fit_init(); must not be in use meanwhile
 *
 * Each call changes them by a small step, so that predictions do not jump.
 */
void fb_seek_fit_apply(struct fb_seek_fit *c, u64 now_ns, struct disk_model *dm);

/**
 * fb_seek_fit_misfit() - test whether the model's seek times are wrong beyond correction
 * @c: state
 *
 * Return: true if many trials say that those of a band are off by FB_SEEK_FIT_MOST_PPM or more.
 */
bool fb_seek_fit_misfit(const struct fb_seek_fit *c);

/**
 * fb_seek_fit_ppm() - get the estimated correction of a band
 * @c: state
 * @band: by dm_band()
 *
 * Return: how much longer its seeks are than in the uncorrected model, ppm.
 */
s32 fb_seek_fit_ppm(const struct fb_seek_fit *c, u32 band);

/**
 * fb_seek_fit_error_ppm() - get the uncertainty of fb_seek_fit_ppm()
 * @c: state
 * @band: by dm_band()
 *
 * Return: standard deviation, ppm.
 */
u32 fb_seek_fit_error_ppm(const struct fb_seek_fit *c, u32 band);

#endif /* FB_SEEK_FIT_H */
