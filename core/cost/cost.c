// SPDX-License-Identifier: GPL-2.0
/* The guard by the measured cost; see core/cost/cost.h. Core. */
#include "core/cost/cost.h"

/* the trial runs while both arms differ */
static void fb_cost_run(struct fb_cost *c, u64 now_ns)
{
	fb_trial_run(&c->trial, c->wanted && c->level < FB_COST_NOTHING, now_ns);
}

/* costs of another level are none of this one */
static void fb_cost_set_level(struct fb_cost *c, enum fb_cost_level level, u64 now_ns)
{
	fb_trial_restart(&c->trial, level != c->level, now_ns);
	c->level = level;
	fb_cost_run(c, now_ns);
}

static void fb_cost_trip(struct fb_cost *c, const struct fb_cost_verdict *v, u64 now_ns)
{
	u32 last = (c->resumes + FB_COST_RESUMES - 1) % FB_COST_RESUMES;

	c->stops++;
	c->stop = v->trial.now[v->trial.kind];
	c->slow = v->slow;
	/* there were as many resumes within a day as there may be */
	if (c->level == FB_COST_ALL && c->resumes >= FB_COST_RESUMES &&
	    now_ns - c->resumed_ns[c->resumes % FB_COST_RESUMES] < FB_DAY_NS) {
		fb_cost_set_level(c, FB_COST_FOR_GOOD, now_ns);
		return;
	}
	/* a calm day makes pauses short again */
	if (!c->resumes || now_ns - c->resumed_ns[last] >= FB_DAY_NS)
		c->pause_ns = FB_COST_PAUSE_NS;
	c->until_ns = now_ns + c->pause_ns;
	if (c->level == FB_COST_ALL && c->gaps && !v->disaster)
		fb_cost_set_level(c, FB_COST_NO_GAPS, now_ns);
	else
		fb_cost_set_level(c, FB_COST_NOTHING, now_ns);
}

void fb_cost_init(struct fb_cost *c, u64 seed, bool guarded)
{
	memset(c, 0, sizeof(*c));
	fb_trial_init(&c->trial, seed);
	c->guarded = guarded;
	c->gaps = true;
	c->pause_ns = FB_COST_PAUSE_NS;
}

void fb_cost_want(struct fb_cost *c, bool wanted, u64 now_ns)
{
	c->wanted = wanted;
	fb_cost_run(c, now_ns);
}

u32 fb_cost_may(struct fb_cost *c, u64 now_ns)
{
	bool treated = fb_trial_may_read(&c->trial, now_ns);

	if (c->until_ns && now_ns >= c->until_ns) {
		c->resumed_ns[c->resumes++ % FB_COST_RESUMES] = now_ns;
		c->pause_ns *= 2;
		c->until_ns = 0;
		fb_cost_set_level(c, FB_COST_ALL, now_ns);
		treated = fb_trial_may_read(&c->trial, now_ns);
	}
	if (!treated || c->level >= FB_COST_NOTHING)
		return 0;
	return c->level == FB_COST_ALL ? FB_COST_GAPS | FB_COST_IDLE : FB_COST_IDLE;
}

bool fb_cost_due(const struct fb_cost *c)
{
	return c->looks != c->trial.looks;
}

void fb_cost_judge(const struct fb_cost *c, struct fb_cost_verdict *v)
{
	const struct fb_trial_verdict *trial = &v->trial;
	const struct fb_trial_cost *cost, *slow = &trial->now[FB_TRIAL_SLOW];
	s64 over, more;

	v->looks = c->trial.looks;
	fb_trial_judge(&c->trial, &v->trial);
	more = slow->diff_ns - FB_COST_SLOW;
	v->slow = more > 0 && fb_trial_is_sure(&c->trial, slow, more);
	cost = &trial->now[trial->kind];
	over = trial->excess_ns -
		(s64)(fb_trial_limit_ns(&c->trial.limit, cost->alone_ns) / FB_COST_MARGIN);
	v->trips = c->guarded &&
		(v->slow || (over > 0 && fb_trial_is_sure(&c->trial, cost, over)));
	v->disaster = v->slow || fb_trial_excess_ns(&c->trial, cost, FB_COST_DISASTER) > 0;
}

bool fb_cost_settle(struct fb_cost *c, const struct fb_cost_verdict *v, u64 now_ns)
{
	c->looks = v->looks;
	if (!v->trips || v->trial.restarts != c->trial.restarts) {
		fb_trial_settle(&c->trial, &v->trial);
		return false;
	}
	fb_cost_trip(c, v, now_ns);
	return true;
}

bool fb_cost_controls(const struct fb_cost *c)
{
	return c->trial.arm == FB_TRIAL_CONTROL;
}

u64 fb_cost_next_ns(const struct fb_cost *c)
{
	u64 next_ns = fb_trial_next_ns(&c->trial);

	return c->until_ns ? min(next_ns, c->until_ns) : next_ns;
}

void fb_cost_stop(struct fb_cost *c, u64 now_ns)
{
	c->until_ns = 0;
	fb_cost_set_level(c, FB_COST_FOR_GOOD, now_ns);
}

void fb_cost_reset(struct fb_cost *c, u64 now_ns)
{
	c->resumes = 0;
	c->pause_ns = FB_COST_PAUSE_NS;
	c->until_ns = 0;
	fb_cost_set_level(c, FB_COST_ALL, now_ns);
}
