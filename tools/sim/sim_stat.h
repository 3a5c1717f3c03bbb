/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Times and how they are spread.
 */
#ifndef SIM_STAT_H
#define SIM_STAT_H

#include "../../include/fb_shim.h"

#define SIMH_FINE 7		/* buckets of 1/128 of their value: 0.8 % */
#define SIMH_BUCKETS ((65 - SIMH_FINE) << SIMH_FINE)

/**
 * struct simh - times
 * @n: how many
 * @sum: of all, ns
 * @most: the longest, ns
 * @bucket: how many in each, see simh_add()
 */
struct simh {
	u64 n;
	u64 sum;
	u64 most;
	u64 bucket[SIMH_BUCKETS];
};

/**
 * simh_add() - one more
 * @h: times
 * @ns: the time
 */
void simh_add(struct simh *h, u64 ns);

/**
 * simh_mean() - the mean
 * @h: times
 *
 * Return: ns; 0 of none.
 */
double simh_mean(const struct simh *h);

/**
 * simh_quantile() - the time that a share of all do not exceed
 * @h: times
 * @share: 0 to 1
 *
 * Return: ns, the middle of its bucket; 0 of none.
 */
double simh_quantile(const struct simh *h, double share);

#endif /* SIM_STAT_H */
