/* SPDX-License-Identifier: GPL-2.0 */
/* A mean of times, of which old samples count less and less. */
#ifndef FB_MEAN_H
#define FB_MEAN_H

#include "include/fb_shim.h"

#define FB_MEAN_NS_PER_US 1000

struct fb_mean {
	u32 n;				/* number of samples */
	s64 us;				/* their sum, microseconds */
};

/* Add a sample. @fades: number of samples at which they count half. */
static inline void fb_mean_add(struct fb_mean *m, s64 ns, u32 fades)
{
	m->us += div_s64(ns, FB_MEAN_NS_PER_US);
	if (++m->n < fades)
		return;
	m->n /= 2;
	m->us = div_s64(m->us, 2);
}

/* The mean; 0: there are no samples. @prior: samples of 0 that are put in. */
static inline s64 fb_mean_ns(const struct fb_mean *m, u32 prior)
{
	return m->n ? div_s64(m->us * FB_MEAN_NS_PER_US, m->n + prior) : 0;
}

#endif /* FB_MEAN_H */
