// SPDX-License-Identifier: GPL-2.0
#include <stdint.h>
#include <string.h>

#include "parity.h"

#define POLYNOMIAL 0x1d	/* without x^8, which it replaces */
#define EACH_BYTE 0x0101010101010101ull

/* Eight bytes, each times 2 */
static uint64_t twice(uint64_t v)
{
	uint64_t carries = v >> 7 & EACH_BYTE;

	return (v & ~(EACH_BYTE << 7)) << 1 ^ carries * POLYNOMIAL;
}

static uint64_t word(const unsigned char *block, size_t at)
{
	uint64_t v;

	memcpy(&v, block + at, sizeof(v));
	return v;
}

unsigned int parity_check(unsigned int level, const struct geometry_row *row,
			  const unsigned char *const *blocks, size_t bytes)
{
	uint64_t wrong_p = 0, wrong_q = 0;
	size_t at;

	for (at = 0; at < bytes; at += sizeof(uint64_t)) {
		uint64_t p = 0, q = 0;
		unsigned int z = row->n;

		while (z--) {
			uint64_t v = word(blocks[row->term[z]], at);

			p ^= v;
			q = twice(q) ^ v;
		}
		wrong_p |= p ^ word(blocks[row->p], at);
		if (level == 6)
			wrong_q |= q ^ word(blocks[row->q], at);
	}
	return (wrong_p ? PARITY_P : 0) | (wrong_q ? PARITY_Q : 0);
}

/* What P and Q of one byte are off by */
static void off_by(const struct geometry_row *row, const unsigned char *const *blocks, size_t at,
		   unsigned char *p, unsigned char *q)
{
	unsigned int z = row->n;
	unsigned char own_p = 0, own_q = 0;

	while (z--) {
		own_p ^= blocks[row->term[z]][at];
		own_q = twice(own_q) ^ blocks[row->term[z]][at];
	}
	*p = own_p ^ blocks[row->p][at];
	*q = own_q ^ blocks[row->q][at];
}

/* The slot that one byte accuses: data of term z that are off by d put P off by d, Q by d 2^z */
static int accused(const struct geometry_row *row, unsigned char p, unsigned char q)
{
	unsigned int z;

	if (!q)
		return row->p;
	if (!p)
		return row->q;
	for (z = 0; z < row->n; z++) {
		if (p == q)
			return row->term[z];
		p = twice(p);
	}
	return -1;
}

int parity_suspect(const struct geometry_row *row, const unsigned char *const *blocks,
		   size_t bytes)
{
	int suspect = -1;
	size_t at;

	for (at = 0; at < bytes; at++) {
		unsigned char p, q;
		int slot;

		off_by(row, blocks, at, &p, &q);
		if (!p && !q)
			continue;
		slot = accused(row, p, q);
		if (slot < 0 || (suspect >= 0 && slot != suspect))
			return -1;
		suspect = slot;
	}
	return suspect;
}
