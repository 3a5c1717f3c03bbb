// SPDX-License-Identifier: GPL-2.0
/* Power states and the policy that lets a drive sleep; see core/power.h. */
#include "core/power.h"

/* messages by enum fb_power_state, of those that hold reads */
static const char *const fb_power_name[] = {
	[FB_POWER_IDLE_C] = "asleep (idle_c)",
	[FB_POWER_STANDBY_Y] = "asleep (standby_y)",
	[FB_POWER_STANDBY_Z] = "asleep (standby_z)",
	[FB_POWER_STOPPED] = "asleep (stopped)",
	[FB_POWER_LOW] = "asleep (low power)",
	[FB_POWER_SUSPENDED] = "asleep (suspended)",
	[FB_POWER_UNKNOWN] = "asleep (no known answer)",
};

/* The sooner of the host's timer and what a drive's own may be; a rest finds a longer one. */
static u64 fb_power_timer_ns(const struct fb_power *p)
{
	return p->host_ns ? min(p->host_ns, FB_POWER_TIMER_NS) : FB_POWER_TIMER_NS;
}

/* Its timer restarts with the last read; half of it more for what is slow to look. */
static u64 fb_power_rest_ns(const struct fb_power *p)
{
	u64 timer_ns = fb_power_timer_ns(p);

	return (timer_ns + timer_ns / 2) << p->rests;
}

static bool fb_power_is_resting(const struct fb_power *p, u64 now)
{
	u64 spell_ns = p->rests ? fb_power_rest_ns(p) / 2 : fb_power_timer_ns(p);

	/* a drive that did not use a rest longer than any timer stays awake */
	return !p->keep_awake && !(p->rests && spell_ns >= FB_POWER_LONGEST_NS) &&
	       now >= p->from_ns + spell_ns;
}

/* Begin a spell of idle reads. */
void fb_power_begin(struct fb_power *p, u64 now)
{
	p->state = FB_POWER_ACTIVE;
	p->from_ns = now;
	p->rests = 0;
}

/* The foreground, which wakes the drive, was last active then; as before: it is silent. */
void fb_power_foreground(struct fb_power *p, u64 fg_ns)
{
	if (fg_ns == p->fg_ns)
		return;
	p->fg_ns = fg_ns;
	fb_power_begin(p, fg_ns);
}

/* Should the drive be asked for its state before an idle read? For "touched" see core/power.h. */
bool fb_power_must_ask(const struct fb_power *p, u64 touched_ns, u64 now)
{
	/* an answer stays good for a moment though nothing was found to read then */
	if (!p->doubt && !p->state && p->asked_ns &&
	    now - p->asked_ns < FB_POWER_AGAIN_NS)
		return false;
	return p->doubt || p->state || fb_power_is_resting(p, now) ||
	       now - touched_ns > FB_POWER_ASK_NS;
}

/* Note the drive's answer. The caller clears @p->doubt before it asks. */
void fb_power_told(struct fb_power *p, enum fb_power_state state, u64 touched_ns, u64 now)
{
	bool woken = p->state && !state;
	bool unused = !state && fb_power_is_resting(p, now) &&
		      now >= touched_ns + fb_power_rest_ns(p);

	p->told_ns = now;
	if (woken) {
		/* by a command that is no foreground */
		fb_power_begin(p, now);
	} else if (unused) {
		p->from_ns = now;
		p->rests++;
	}
	p->state = state;
}

/* When the next idle read may be sent, or the drive asked; it may be past. */
u64 fb_power_due_ns(const struct fb_power *p, u64 touched_ns, u64 now)
{
	if (p->state)
		return p->doubt ? 0 : p->told_ns + FB_POWER_ASK_NS;
	return fb_power_is_resting(p, now) ? touched_ns + fb_power_rest_ns(p) : 0;
}

/* Why the drive's power keeps idle reads from being sent; NULL: it does not. */
const char *fb_power_why(const struct fb_power *p, u64 touched_ns, u64 now)
{
	if (p->state)
		return fb_power_name[p->state];
	if (fb_power_due_ns(p, touched_ns, now) > now)
		return "resting: the drive may fall asleep";
	return NULL;
}
