// SPDX-License-Identifier: GPL-2.0
/*
 * The Waiting policy on a trace's idle intervals, one after the other: each
 * depends on what the one before left behind, so that this cannot be done on
 * whole arrays. tools/cli/freeblock/tuning/policy.py says what is simulated and is
 * the only caller; the structs here and there must be alike.
 */

#include <stdint.h>

/* The policy's parameters; ns */
struct replay_rule {
	int64_t threshold;	/* it fires once an interval, with all delays, has lasted so long */
	int64_t first;	/* how long its first request takes */
	int64_t next;	/* and each that follows */
};

/* What it came to */
struct replay_sum {
	int64_t fired;	/* intervals in which it fired */
	int64_t used;	/* ns of idle time in which it did */
	/* foreground requests that came while one of the scrubber was served */
	int64_t collisions;
	int64_t sent;	/* requests of the scrubber */
	int64_t delayed;	/* foreground requests that completed later than in the trace */
	int64_t slowdown;	/* ns, by how much all together */
	int64_t worst;	/* ns, the most of one */
};

/* Fire for @usable ns; what then is left of the request being served. */
static int64_t replay_fire(const struct replay_rule *rule, struct replay_sum *sum, int64_t usable)
{
	int64_t end = rule->first, more = 0;

	if (end < usable)
		more = (usable - end + rule->next - 1) / rule->next;
	end += more * rule->next;
	sum->fired++;
	sum->used += usable;
	sum->sent += 1 + more;
	sum->collisions += end > usable;
	return end - usable;
}

/*
 * The policy on a whole trace. @rule: its parameters. @sum: all zero at first. @count:
 * how many intervals there are. @idle: how long each is in the trace. @requests: of the busy
 * period that ends each
 */
void replay_run(const struct replay_rule *rule, struct replay_sum *sum, int64_t count,
		const int64_t *idle, const int64_t *requests)
{
	int64_t shift = 0;

	for (int64_t i = 0; i < count; i++) {
		int64_t left = idle[i] - shift;

		if (left > rule->threshold)
			shift = replay_fire(rule, sum, left - rule->threshold);
		else
			shift = left < 0 ? -left : 0;
		if (!shift)
			continue;
		sum->delayed += requests[i];
		sum->slowdown += requests[i] * shift;
		if (shift > sum->worst)
			sum->worst = shift;
	}
}
