// SPDX-License-Identifier: GPL-2.0
/*
 * Rates and deadlines; see core/pace.h. Core: no locks, the caller serialises.
 */
#include "core/pace.h"

#define FB_PACE_NS_PER_SEC 1000000000U

/**
 * fb_pace_begin() - begin to measure a task's rate
 * @p: filled
 * @done: blocks done so far
 * @now_ns: monotonic time
 */
void fb_pace_begin(struct fb_pace *p, u64 done, u64 now_ns)
{
	*p = (struct fb_pace) { .mark_ns = now_ns, .mark_done = done };
}

/**
 * fb_pace_due_ns() - when the rate can be measured next
 * @p: the rate
 *
 * Return: the time.
 */
u64 fb_pace_due_ns(const struct fb_pace *p)
{
	return p->mark_ns + FB_PACE_NS;
}

/**
 * fb_pace_measure() - measure a task's rate if that is due
 * @p: the rate
 * @done: blocks done so far
 * @now_ns: monotonic time
 */
void fb_pace_measure(struct fb_pace *p, u64 done, u64 now_ns)
{
	if (now_ns < fb_pace_due_ns(p))
		return;
	p->rate = div64_u64((done - p->mark_done) * FB_PACE_NS_PER_SEC, now_ns - p->mark_ns);
	p->rate = max_t(u64, p->rate, 1);
	p->mark_ns = now_ns;
	p->mark_done = done;
}

/**
 * fb_pace_is_late() - would a task miss its deadline at its present rate?
 * @p: its rate
 * @left: blocks left
 * @deadline_ns: its deadline, monotonic time; 0: none
 * @now_ns: monotonic time
 *
 * Return: true if it would; false while its rate is not known, or nothing is left.
 */
bool fb_pace_is_late(const struct fb_pace *p, u64 left, u64 deadline_ns, u64 now_ns)
{
	if (!deadline_ns || !p->rate || !left)
		return false;
	return now_ns + div64_u64(left, p->rate) * FB_PACE_NS_PER_SEC > deadline_ns;
}
