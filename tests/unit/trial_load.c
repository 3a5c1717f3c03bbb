// SPDX-License-Identifier: GPL-2.0
/*
 * Queues whose added cost is known; see trial_load.h.
 */
#include <math.h>

#include "trial_load.h"

static u64 exponential(struct load *l, u64 mean_ns)
{
	return 1 - log((rnd_below(&l->r, 1000000000) + 1) / 1e9) * mean_ns;
}

u32 load_may(struct load *l)
{
	struct fb_cost_verdict v;
	u32 may = fb_cost_may(l->cost, l->now_ns);

	if (!fb_cost_due(l->cost))
		return may;
	fb_cost_judge(l->cost, &v);
	fb_cost_settle(l->cost, &v, l->now_ns);
	return fb_cost_may(l->cost, l->now_ns);
}

static u64 service(struct load *l)
{
	u32 may = load_may(l);
	bool costs;

	if (may)
		l->allowed_ns = l->now_ns;
	costs = may || l->now_ns < l->allowed_ns + l->lingers_ns;
	if (costs && l->rare)
		costs = !rnd_below(&l->r, l->rare);
	return exponential(l, l->took_ns) + (costs ? l->added_ns * max(l->rare, 1U) : 0) +
	       (may & FB_COST_GAPS ? l->gaps_ns : 0);
}

static bool is_served(const struct load *l)
{
	u32 i;

	for (i = 0; i < LOAD_MOST; i++)
		if (l->end_ns[i] && l->end_ns[i] != U64_MAX)
			return true;
	return false;
}

/* the server takes the next; which of those that wait makes no difference to the mean */
static void serve(struct load *l)
{
	u32 i;

	for (i = 0; i < LOAD_MOST; i++) {
		if (l->end_ns[i] != U64_MAX)
			continue;
		l->end_ns[i] = l->now_ns + service(l);
		return;
	}
}

static void arrive(struct load *l)
{
	u32 i = 0;

	while (i < LOAD_MOST && l->end_ns[i])
		i++;
	assert_in_range(i, 0, LOAD_MOST - 1);
	l->kind[i] = rnd_below(&l->r, 3) ? FB_TRIAL_READ : FB_TRIAL_WRITE;
	l->at_ns[i] = l->now_ns;
	fb_trial_arrived(&l->cost->trial, l->kind[i], l->now_ns);
	if (!l->server) {
		l->end_ns[i] = l->now_ns + service(l);
		return;
	}
	l->end_ns[i] = U64_MAX;
	if (!is_served(l))
		serve(l);
}

static void end(struct load *l, u32 i)
{
	fb_trial_ended(&l->cost->trial, l->kind[i], l->now_ns - l->at_ns[i], l->now_ns);
	l->end_ns[i] = 0;
	if (l->server)
		serve(l);
	if (!l->gap_ns)
		arrive(l);
}

static u32 first_end(const struct load *l)
{
	u32 i, first = 0;

	for (i = 1; i < LOAD_MOST; i++)
		if (l->end_ns[i] && (!l->end_ns[first] || l->end_ns[i] < l->end_ns[first]))
			first = i;
	return first;
}

void load_run(struct load *l, u64 until_ns)
{
	bool begins = !l->gap_ns && !is_served(l);
	u32 i;

	for (i = 0; begins && i < l->processes; i++)
		arrive(l);
	for (;;) {
		u64 end_ns;

		i = first_end(l);
		end_ns = l->end_ns[i] ? l->end_ns[i] : U64_MAX;
		if (min(end_ns, l->gap_ns ? l->next_ns : U64_MAX) >= until_ns)
			break;
		if (l->gap_ns && l->next_ns < end_ns) {
			l->now_ns = l->next_ns;
			for (i = 0; i < max(l->burst, 1U); i++)
				arrive(l);
			l->next_ns += l->regular ? l->gap_ns : exponential(l, l->gap_ns);
		} else {
			l->now_ns = end_ns;
			end(l, i);
		}
	}
	l->now_ns = until_ns;
	load_may(l);
}
