/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How much longer seeks take than the model says: learnt from completions, by distance, and
 * put into the model's seek times: a drive that warms up or ages keeps its layout, but its
 * seeks take some percent longer. Core; the caller serialises. Nothing here sleeps or allocates.
 *
 * The source is that of core/conservatism.h: a seek's error cannot be measured, for the head waits
 * for its sector. But each completion is a trial: it says whether the error was above or
 * below the predicted wait, by a turn more, or above or below what was missing of a turn,
 * by one less. From trials at waits around it the median of the errors is found, as a
 * threshold is in psychophysics (logistic regression with one unknown; here one step of a
 * Kalman filter a trial). What is late for another reason is late by anything, so only
 * trials whose waits are within the errors' spread count.
 */
#ifndef FB_SEEK_FIT_H
#define FB_SEEK_FIT_H

#include "core/conservatism.h"

#define FB_SEEK_FIT_MOST_PPM 100000	/* corrections of the seek time end here */

/**
 * struct fb_seek_fit_part - a part of the correction
 * @ppm: what is believed
 * @var: its variance, ppm^2
 */
struct fb_seek_fit_part {
	s32 ppm;
	u64 var;
};

/**
 * struct fb_seek_fit_band - what is known of seeks over one band of distances
 * @own: what is not common to all bands
 * @spread_ns: scale of the errors' logistic distribution, 0.55 of their standard deviation
 * @trials: completions that told something
 * @late: those of them with an error above the wait
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
 * @common: what all bands have in common
 * @band: by dm_band(); that of distance 0 is not used
 * @at_ns: until when the variances have grown
 * @applied: the correction that the model has got, ppm
 * @applied_ns: when it got it
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
 * fb_seek_fit_init() - nothing known yet
 * @c: filled
 * @dm: a model without corrections; its spread of seeks, if it has one, is where that begins
 */
void fb_seek_fit_init(struct fb_seek_fit *c, const struct disk_model *dm);

/**
 * fb_seek_fit_forget() - begin anew
 * @c: state, of a model that is in use
 * @dm: that model
 *
 * What the model has got it keeps, until it is known better.
 */
void fb_seek_fit_forget(struct fb_seek_fit *c, const struct disk_model *dm);

/**
 * fb_seek_fit_learn() - a command has ended that was not answered by the cache
 * @c: state
 * @now_ns: the time
 * @leg: its way, by fb_conservatism_predict(); @late_ns is filled in, too
 * @acc: its access as it was predicted, corrections included
 */
void fb_seek_fit_learn(struct fb_seek_fit *c, u64 now_ns, const struct fb_conservatism_leg *leg,
		       const struct dm_access *acc);

/**
 * fb_seek_fit_due() - are there corrections that the model should get?
 * @c: state
 * @now_ns: the time
 *
 * Return: true if so: by enough to matter, and not too soon.
 */
bool fb_seek_fit_due(const struct fb_seek_fit *c, u64 now_ns);

/**
 * fb_seek_fit_apply() - give them to the model
 * @c: state
 * @now_ns: the time
 * @dm: the model of fb_seek_fit_init(); nobody reckons with it meanwhile
 *
 * By small steps, so that what reckons between them sees nothing jump.
 */
void fb_seek_fit_apply(struct fb_seek_fit *c, u64 now_ns, struct disk_model *dm);

/**
 * fb_seek_fit_misfit() - are the model's seek times wrong beyond correction?
 * @c: state
 *
 * Return: true: those of a band are off by FB_SEEK_FIT_MOST_PPM or more, as many trials say.
 */
bool fb_seek_fit_misfit(const struct fb_seek_fit *c);

/**
 * fb_seek_fit_ppm() - what is believed of a band
 * @c: state
 * @band: by dm_band()
 *
 * Return: by so much its seeks are longer than the model said, ppm.
 */
s32 fb_seek_fit_ppm(const struct fb_seek_fit *c, u32 band);

/**
 * fb_seek_fit_error_ppm() - and how well it is known
 * @c: state
 * @band: by dm_band()
 *
 * Return: standard deviation, ppm.
 */
u32 fb_seek_fit_error_ppm(const struct fb_seek_fit *c, u32 band);

#endif /* FB_SEEK_FIT_H */
