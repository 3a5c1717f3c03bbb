/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Times and how they are spread.
 */
#ifndef SIM_STAT_H
#define SIM_STAT_H

#include "../../include/fb_shim.h"

#define SIMH_FINE 7		/* buckets of 1/128 of their value: 0.8 % */
#define SIMH_BUCKETS ((65 - SIMH_FINE) << SIMH_FINE)

/* Times */
struct simh {
	u64 n;	/* how many */
	u64 sum;	/* of all, ns */
	u64 most;	/* the longest, ns */
	u64 bucket[SIMH_BUCKETS];	/* how many in each, see simh_add() */
};

/* One more */
void simh_add(struct simh *h, u64 ns);

/* The mean. Returns ns; 0 of none */
double simh_mean(const struct simh *h);

/*
 * The time that a share of all do not exceed. Returns ns, the middle of its bucket; 0 of none.
 * @share: 0 to 1
 */
double simh_quantile(const struct simh *h, double share);

#endif /* SIM_STAT_H */
