// SPDX-License-Identifier: GPL-2.0
/*
 * Times and how they are spread; see sim_stat.h.
 */
#include <math.h>

#include "sim_stat.h"

/*
 * Values below 2^(FINE+1) have buckets of their own; above, the leading FINE+1 bits
 * are the bucket of an octave.
 */
static u32 simh_index(u64 ns)
{
	u32 shift = ns >> (SIMH_FINE + 1) ? __fls(ns) - SIMH_FINE : 0;

	return (shift << SIMH_FINE) + (ns >> shift);
}

static double simh_middle(u32 index)
{
	u32 shift = index >> (SIMH_FINE + 1) ? (index >> SIMH_FINE) - 1 : 0;
	u64 lead = index - (shift << SIMH_FINE);

	return shift ? ldexp(lead + 0.5, shift) : lead;
}

void simh_add(struct simh *h, u64 ns)
{
	h->n++;
	h->sum += ns;
	h->most = max(h->most, ns);
	h->bucket[simh_index(ns)]++;
}

double simh_mean(const struct simh *h)
{
	return h->n ? (double)h->sum / h->n : 0;
}

double simh_quantile(const struct simh *h, double share)
{
	u64 want = ceil(share * h->n), seen = 0;
	u32 i;

	if (!h->n)
		return 0;
	for (i = 0; i < SIMH_BUCKETS - 1; i++) {
		seen += h->bucket[i];
		if (seen >= want)
			break;
	}
	return simh_middle(i);
}
