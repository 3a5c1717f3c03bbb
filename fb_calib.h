/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How much longer seeks take than the model says: learnt from completions, by distance, and
 * put into the model's seek times: a drive that warms up or ages keeps its layout, but its
 * seeks take some percent longer. Core; the caller serialises. Nothing here sleeps or allocates.
 *
 * The source is that of fb_margin.h: a seek's error cannot be measured, for the head waits
 * for its sector. But each completion is a trial: it says whether the error was above or
 * below the predicted wait, by a turn more, or above or below what was missing of a turn,
 * by one less. From trials at waits around it the median of the errors is found, as a
 * threshold is in psychophysics (logistic regression with one unknown; here one step of a
 * Kalman filter a trial). What is late for another reason is late by anything, so only
 * trials whose waits are within the errors' spread count.
 */
#ifndef FB_CALIB_H
#define FB_CALIB_H

#include "fb_margin.h"

#define FBC_MOST_PPM 100000	/* corrections of the seek time end here */

/**
 * struct fbc_part - a part of the correction
 * @ppm: what is believed
 * @var: its variance, ppm^2
 */
struct fbc_part {
	s32 ppm;
	u64 var;
};

/**
 * struct fbc_band - what is known of seeks over one band of distances
 * @own: what is not common to all bands
 * @spread_ns: scale of the errors' logistic distribution, 0.55 of their standard deviation
 * @trials: completions that told something
 * @late: those of them with an error above the wait
 * @since_ns: when the first was; 0: none yet
 */
struct fbc_band {
	struct fbc_part own;
	u32 spread_ns;
	u64 trials;
	u64 late;
	u64 since_ns;
};

/**
 * struct fb_calib - what was learnt
 * @period_ns: one revolution
 * @common: what all bands have in common
 * @band: by dm_band(); that of distance 0 is not used
 * @at_ns: until when the variances have grown
 * @applied: the correction that the model has got, ppm
 * @applied_ns: when it got it
 */
struct fb_calib {
	u64 period_ns;
	struct fbc_part common;
	struct fbc_band band[DM_BANDS];
	u64 at_ns;
	s32 applied[DM_BANDS];
	u64 applied_ns;
};

/**
 * fbc_init() - nothing known yet
 * @c: filled
 * @dm: a model without corrections; its spread of seeks, if it has one, is where that begins
 */
void fbc_init(struct fb_calib *c, const struct disk_model *dm);

/**
 * fbc_forget() - begin anew
 * @c: state, of a model that is in use
 * @dm: that model
 *
 * What the model has got it keeps, until it is known better.
 */
void fbc_forget(struct fb_calib *c, const struct disk_model *dm);

/**
 * fbc_learn() - a command has ended that was not answered by the cache
 * @c: state
 * @now_ns: the time
 * @leg: its way, by fbm_predict(); @late_ns is filled in, too
 * @acc: its access as it was predicted, corrections included
 */
void fbc_learn(struct fb_calib *c, u64 now_ns, const struct fbm_leg *leg,
	       const struct dm_access *acc);

/**
 * fbc_due() - are there corrections that the model should get?
 * @c: state
 * @now_ns: the time
 *
 * Return: true if so: by enough to matter, and not too soon.
 */
bool fbc_due(const struct fb_calib *c, u64 now_ns);

/**
 * fbc_apply() - give them to the model
 * @c: state
 * @now_ns: the time
 * @dm: the model of fbc_init(); nobody reckons with it meanwhile
 *
 * By small steps, so that what reckons between them sees nothing jump.
 */
void fbc_apply(struct fb_calib *c, u64 now_ns, struct disk_model *dm);

/**
 * fbc_misfit() - are the model's seek times wrong beyond correction?
 * @c: state
 *
 * Return: true: those of a band are off by FBC_MOST_PPM or more, as many trials say.
 */
bool fbc_misfit(const struct fb_calib *c);

/**
 * fbc_ppm() - what is believed of a band
 * @c: state
 * @band: by dm_band()
 *
 * Return: by so much its seeks are longer than the model said, ppm.
 */
s32 fbc_ppm(const struct fb_calib *c, u32 band);

/**
 * fbc_error_ppm() - and how well it is known
 * @c: state
 * @band: by dm_band()
 *
 * Return: standard deviation, ppm.
 */
u32 fbc_error_ppm(const struct fb_calib *c, u32 band);

#endif /* FB_CALIB_H */
