// SPDX-License-Identifier: GPL-2.0
/*
 * Corrections of seek times, learnt from completions, in ppm of the seek time. Errors of seeks of
 * time s have a logistic distribution of scale r about the median m = (estimated - applied
 * correction) * s, so a trial with wait x is late with probability 1 / (1 + e^z), where z = (x - m)
 * / r. Core.
 */
#include "core/head.h"
#include "core/seek_fit.h"

/*
 * The prior standard deviation is 1 %. While a drive warms up the estimate may drift by 0.25 % in
 * five minutes. It never exceeds 2 %.
 */
#define FB_SEEK_FIT_SD_PPM 10000
#define FB_SEEK_FIT_VAR ((u64)FB_SEEK_FIT_SD_PPM * FB_SEEK_FIT_SD_PPM)
#define FB_SEEK_FIT_WALK 20000	/* ppm^2 per second ... */
#define FB_SEEK_FIT_WALK_S 600	/* ... of so many without news at most */
#define FB_SEEK_FIT_VAR_MOST (4 * FB_SEEK_FIT_VAR)

/*
 * The scale of the errors begins at 60 us, a standard deviation of 110, and each trial moves it by
 * a 32nd of its gradient. Phases are not known better than the least.
 */
#define FB_SEEK_FIT_SPREAD_NS 60000
#define FB_SEEK_FIT_SPREAD_LEAST_NS 8000
#define FB_SEEK_FIT_SPREAD_MOST_NS 300000
#define FB_SEEK_FIT_SPREAD_SHIFT 5

/* a trial farther from the median than this many scales is late or early for other reasons */
#define FB_SEEK_FIT_FAR 6

/*
 * Corrections are applied less a margin of a quarter of their standard deviation, and in steps of
 * FB_SEEK_FIT_STEP_PPM, 20 us of the longest seeks.
 */
#define FB_SEEK_FIT_MARGIN_PART 4
#define FB_SEEK_FIT_LEAST_PPM 250
#define FB_SEEK_FIT_STEP_PPM 2000
#define FB_SEEK_FIT_EVERY_NS (4ULL * NSEC_PER_SEC)

/* shorter seeks say nothing of the profile */
#define FB_SEEK_FIT_SEEK_LEAST_NS 50000

#define FB_SEEK_FIT_MISFIT_TRIALS 200
#define FB_SEEK_FIT_MISFIT_PPM (FB_SEEK_FIT_MOST_PPM - FB_SEEK_FIT_SD_PPM / 2)

#define FB_SEEK_FIT_EXP_SHIFT 8
#define FB_SEEK_FIT_EXP_BITS 30	/* binary places of a power of e */
#define FB_SEEK_FIT_Z_ONE 256	/* fb_seek_fit_trial.z: a whole scale */
#define FB_SEEK_FIT_SLOPE_SHIFT 10	/* binary places of fb_seek_fit_trial.slope */

void fb_seek_fit_init(struct fb_seek_fit *c, const struct disk_model *dm)
{
	memset(c, 0, sizeof(*c));
	c->period_ns = dm_period_ns(dm);
	c->var = FB_SEEK_FIT_VAR;
	c->spread_ns = FB_SEEK_FIT_SPREAD_NS;
}

void fb_seek_fit_forget(struct fb_seek_fit *c, const struct disk_model *dm)
{
	u64 applied_ns = c->applied_ns;
	s32 applied = c->applied;

	fb_seek_fit_init(c, dm);
	c->applied = applied;
	c->applied_ns = applied_ns;
}

s32 fb_seek_fit_ppm(const struct fb_seek_fit *c)
{
	return div_s64(c->fine, FB_SEEK_FIT_FINE);
}

u32 fb_seek_fit_error_ppm(const struct fb_seek_fit *c)
{
	return int_sqrt64(c->var);
}

/* What the model's correction lacks, less a margin: chance must not spoil a right model. */
static s32 fb_seek_fit_missing(const struct fb_seek_fit *c)
{
	s32 margin = fb_seek_fit_error_ppm(c) / FB_SEEK_FIT_MARGIN_PART, ppm = fb_seek_fit_ppm(c);

	return (ppm < 0 ? min(ppm + margin, 0) : max(ppm - margin, 0)) - c->applied;
}

static void fb_seek_fit_age(struct fb_seek_fit *c, u64 now_ns)
{
	u64 s = div_u64(now_ns - min(c->at_ns, now_ns), NSEC_PER_SEC);

	c->at_ns += s * NSEC_PER_SEC;
	s = min_t(u64, s, FB_SEEK_FIT_WALK_S);
	c->var = min(c->var + FB_SEEK_FIT_WALK * s, FB_SEEK_FIT_VAR_MOST);
}

/* what one completion says */
struct fb_seek_fit_trial {
	s32 z;		/* wait minus the errors' median, FB_SEEK_FIT_Z_ONE: their scale */
	bool late;	/* the error was larger than the wait */
	u32 chance;	/* predicted chance of @late, 16 binary places */
	u64 slope;	/* fall of @z per million ppm: seek time / scale */
};

/* 1 / (1 + e^z), with e^-z = (1 - z / 2^n)^(2^n) */
static u32 fb_seek_fit_chance(s32 z)
{
	const u64 one = 1ULL << FB_SEEK_FIT_EXP_BITS;
	u64 exp = one - ((one / FB_SEEK_FIT_Z_ONE * abs(z)) >> FB_SEEK_FIT_EXP_SHIFT);
	u32 i, late;

	for (i = 0; i < FB_SEEK_FIT_EXP_SHIFT; i++)
		exp = exp * exp >> FB_SEEK_FIT_EXP_BITS;
	late = div64_u64(exp << FB_ONE_SHIFT, one + exp);
	return z < 0 ? FB_ONE - late : late;
}

/*
 * Find by how many @turns the seek made the command late; false if its end fits none. With
 * zero-latency access, a head that lands within the wanted sectors ends there, up to the transfer
 * time before a whole turn.
 */
static bool fb_seek_fit_turns(const struct fb_seek_fit *c, s64 late_ns, u64 transfer_ns, s32 *turns)
{
	s64 tolerance = div_u64(c->period_ns, FB_HEAD_TOLERANCE_SHARE);

	for (*turns = -1; *turns <= 1; (*turns)++) {
		s64 off = late_ns - *turns * (s64)c->period_ns;

		if (off <= tolerance && off >= -(s64)transfer_ns - tolerance)
			return true;
	}
	return false;
}

/*
 * With a wait of up to half a turn, a trial shows whether the error exceeded it, else whether the
 * seek was shorter by more than the wait lacked of a turn.
 */
static bool fb_seek_fit_evaluate(const struct fb_seek_fit *c, const struct fb_conservatism_leg *leg,
				 const struct dm_access *acc, u64 seek_ns,
				 struct fb_seek_fit_trial *t)
{
	u64 transfer_ns = acc->total_ns - acc->seek_ns - acc->latency_ns;
	s64 wait = leg->slack_ns, off, far = (s64)c->spread_ns * FB_SEEK_FIT_FAR;
	s32 turns;

	if (!fb_seek_fit_turns(c, leg->late_ns, transfer_ns, &turns))
		return false;
	t->late = turns > 0;
	if (wait > (s64)c->period_ns / 2) {
		wait -= c->period_ns;
		t->late = turns >= 0;
	}
	if (wait < 0 ? turns > 0 : turns < 0)
		return false;
	off = (s64)(fb_seek_fit_ppm(c) - c->applied) * (s64)seek_ns;
	wait -= div_s64(off, FB_PPM);
	if (wait > far || -wait > far)
		return false;
	t->z = div_s64(wait * FB_SEEK_FIT_Z_ONE, c->spread_ns);
	t->chance = fb_seek_fit_chance(t->z);
	t->slope = div_u64(seek_ns << FB_SEEK_FIT_SLOPE_SHIFT, c->spread_ns);
	return true;
}

static void fb_seek_fit_follow(struct fb_seek_fit *c, const struct fb_seek_fit_trial *t)
{
	u64 noise = t->chance * (FB_ONE - t->chance) >> FB_ONE_SHIFT, info, reduction;
	s64 innovation = (t->late ? FB_ONE : 0) - (s64)t->chance, by;

	/* the trial's information relative to the prior: var * noise * slope^2, 16 binary places */
	info = mul_u64_u64_shr(c->var, t->slope * t->slope, 2 * FB_SEEK_FIT_SLOPE_SHIFT);
	info = div_u64(info, FB_PPM);
	info = div_u64(info * noise, FB_PPM);
	reduction = div64_u64(info << FB_ONE_SHIFT, FB_ONE + info);
	/* var * slope / (1 + info) * innovation */
	by = div_u64(mul_u64_u64_shr(c->var, t->slope, FB_SEEK_FIT_SLOPE_SHIFT), FB_PPM);
	by = div64_s64(by * innovation * FB_SEEK_FIT_FINE, FB_ONE + (s64)info);
	c->fine = clamp_t(s64, c->fine + by, -FB_SEEK_FIT_MOST_PPM * FB_SEEK_FIT_FINE,
			  FB_SEEK_FIT_MOST_PPM * FB_SEEK_FIT_FINE);
	c->var -= min(mul_u64_u64_div_u64(c->var, reduction, FB_ONE), c->var - 1);
	/* move the scale of the errors by the slope of the trial's likelihood */
	by = div_s64(innovation * t->z, FB_SEEK_FIT_Z_ONE) * c->spread_ns;
	by >>= FB_ONE_SHIFT + FB_SEEK_FIT_SPREAD_SHIFT;
	c->spread_ns = clamp_t(s64, c->spread_ns + by, FB_SEEK_FIT_SPREAD_LEAST_NS,
			       FB_SEEK_FIT_SPREAD_MOST_NS);
}

void fb_seek_fit_learn(struct fb_seek_fit *c, u64 now_ns, const struct disk_model *dm,
		       const struct fb_conservatism_leg *leg, const struct dm_access *acc)
{
	u64 seek_ns = acc->seek_ns - dm_slow_ns(dm, leg->dist, acc->end.cyl);
	struct fb_seek_fit_trial t;

	if (leg->cause != FB_CAUSE_PLAIN || !leg->simple || !leg->dist ||
	    seek_ns < FB_SEEK_FIT_SEEK_LEAST_NS)
		return;
	fb_seek_fit_age(c, now_ns);
	if (!fb_seek_fit_evaluate(c, leg, acc, seek_ns, &t))
		return;
	if (!c->since_ns)
		c->since_ns = now_ns;
	c->trials++;
	c->late += t.late;
	fb_seek_fit_follow(c, &t);
}

bool fb_seek_fit_due(const struct fb_seek_fit *c, u64 now_ns)
{
	s32 missing = fb_seek_fit_missing(c);

	return now_ns >= c->applied_ns + FB_SEEK_FIT_EVERY_NS &&
	       (missing >= FB_SEEK_FIT_LEAST_PPM || missing <= -FB_SEEK_FIT_LEAST_PPM);
}

bool fb_seek_fit_misfit(const struct fb_seek_fit *c)
{
	s32 ppm = fb_seek_fit_ppm(c);

	return (ppm >= FB_SEEK_FIT_MISFIT_PPM || ppm <= -FB_SEEK_FIT_MISFIT_PPM) &&
	       c->trials >= FB_SEEK_FIT_MISFIT_TRIALS;
}

void fb_seek_fit_apply(struct fb_seek_fit *c, u64 now_ns, struct disk_model *dm)
{
	c->applied_ns = now_ns;
	c->applied += clamp_t(s32, fb_seek_fit_missing(c), -FB_SEEK_FIT_STEP_PPM,
			      FB_SEEK_FIT_STEP_PPM);
	dm_correct(dm, c->applied);
}
