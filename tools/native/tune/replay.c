// SPDX-License-Identifier: GPL-2.0
/*
 * A scrubbing policy on a trace's idle intervals, one after the other: each
 * depends on what the one before left behind, so that this cannot be done on
 * whole arrays. tools/python/freeblock/tuning/policy.py says what is simulated and is
 * the only caller; the structs here and there must be alike.
 */

#include <stdint.h>

/**
 * struct replay_rule - a policy with its parameters; ns
 * @threshold: it fires once an interval, as it is with all delays, is longer
 * @wait:      it waits for the threshold, else it fires from the begin
 * @length:    an interval must be longer in the trace
 * @predicted: a prediction must be larger, if there are any
 * @sizes:     how many entries @ends and @kib have
 * @ends:      when each request ends after it began to fire
 * @kib:       how much is read by then
 * @step:      of those after the last: how long one takes
 * @step_kib:  and its size
 */
struct replay_rule {
	int64_t threshold;
	int64_t wait;
	int64_t length;
	double predicted;
	int64_t sizes;
	const int64_t *ends;
	const int64_t *kib;
	int64_t step;
	int64_t step_kib;
};

/**
 * struct replay_sum - what a rule came to so far
 * @shift:      ns by which the busy period before the next interval was late
 * @fired:      intervals in which it fired
 * @used:       ns of idle time in which it did
 * @collisions: foreground requests that came while one of the scrubber was served
 * @kib:        read
 * @delayed:    foreground requests that completed later than in the trace
 * @slowdown:   ns, by how much all together
 * @worst:      ns, the most of one
 */
struct replay_sum {
	int64_t shift;
	int64_t fired;
	int64_t used;
	int64_t collisions;
	int64_t kib;
	int64_t delayed;
	int64_t slowdown;
	int64_t worst;
};

/* The first request that does not end before @usable. */
static int64_t replay_last(const struct replay_rule *rule, int64_t usable)
{
	int64_t low = 0, high = rule->sizes - 1;

	while (low < high) {
		int64_t middle = (low + high) / 2;

		if (rule->ends[middle] < usable)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Fire for @usable ns; what then is left of the request being served. */
static int64_t replay_fire(const struct replay_rule *rule, struct replay_sum *sum, int64_t usable)
{
	int64_t last = replay_last(rule, usable);
	int64_t end = rule->ends[last], more = 0;

	if (end < usable)
		more = (usable - end + rule->step - 1) / rule->step;
	end += more * rule->step;
	sum->fired++;
	sum->used += usable;
	sum->kib += rule->kib[last] + more * rule->step_kib;
	sum->collisions += end > usable;
	return end - usable;
}

/**
 * replay_run() - go on with a rule
 * @rule:      the rule
 * @sum:       all zero at first
 * @count:     how many intervals follow
 * @idle:      how long each is in the trace
 * @requests:  of the busy period that ends each
 * @predicted: of each its length as predicted before it, or NULL
 */
void replay_run(const struct replay_rule *rule, struct replay_sum *sum, int64_t count,
		const int64_t *idle, const int64_t *requests, const double *predicted)
{
	for (int64_t i = 0; i < count; i++) {
		int64_t left = idle[i] - sum->shift;

		if (left > rule->threshold && idle[i] > rule->length &&
		    (!predicted || predicted[i] > rule->predicted))
			sum->shift = replay_fire(rule, sum, left - rule->wait * rule->threshold);
		else
			sum->shift = left < 0 ? -left : 0;
		if (!sum->shift)
			continue;
		sum->delayed += requests[i];
		sum->slowdown += requests[i] * sum->shift;
		if (sum->shift > sum->worst)
			sum->worst = sum->shift;
	}
}
