/* SPDX-License-Identifier: GPL-2.0 */
/*
 * P and Q: P is the sum of all data, Q that of the data times 2^z, in GF(2^8) with the
 * polynomial x^8 + x^4 + x^3 + x^2 + 1 (H. P. Anvin, The mathematics of RAID-6).
 */
#ifndef SCRUB_PARITY_H
#define SCRUB_PARITY_H

#include <stddef.h>

#include "geometry.h"

/* or-ed: what is wrong */
#define PARITY_P 1u
#define PARITY_Q 2u

/*
 * Compare P, and for RAID6 Q, with the data. Returns 0, or what is wrong. @bytes: length of each,
 * a multiple of 8
 */
unsigned int parity_check(unsigned int level, const struct geometry_row *row,
			  const unsigned char *const *blocks, size_t bytes);

/*
 * Which single member explains a RAID6's wrong parity. Returns its slot; -1: none, so that more
 * than one is wrong
 */
int parity_suspect(const struct geometry_row *row, const unsigned char *const *blocks,
		   size_t bytes);

#endif /* SCRUB_PARITY_H */
