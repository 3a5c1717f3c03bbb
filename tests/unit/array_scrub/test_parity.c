// SPDX-License-Identifier: GPL-2.0
/*
 * P and Q against multiplication bit by bit, what is wrong, and who is suspected.
 *
 * Seen to fail: another polynomial; 3 in place of 2 as generator; the bit that is carried not
 * taken out of the next byte.
 */
#include <stdlib.h>
#include <string.h>

#include "../unit.h"
#include "compare.h"
#include "parity.h"

#define BYTES 64
#define MEMBERS 257

static unsigned char members[MEMBERS][BYTES];
static const unsigned char *blocks[MEMBERS];
static struct geometry_row row;

/* By the definition: a product of polynomials, then its remainder by 0x11d */
static unsigned char times(unsigned char a, unsigned char b)
{
	unsigned int product = 0, bit;

	for (bit = 0; bit < 8; bit++)
		if (b & 1u << bit)
			product ^= (unsigned int)a << bit;
	for (bit = 15; bit >= 8; bit--)
		if (product & 1u << bit)
			product ^= 0x11du << (bit - 8);
	return product;
}

/* Data drawn, P and Q as they must be; Q between the data, at @q */
static void fill(unsigned int n, unsigned int q)
{
	unsigned int slot, z = 0, at;
	unsigned char power = 1;

	row = (struct geometry_row){ .n = n, .q = q, .p = q ? q - 1 : n + 1 };
	memset(members, 0, sizeof(members));
	for (slot = 0; slot < n + 2; slot++)
		blocks[slot] = members[slot];
	for (slot = q + 1; z < n; slot++) {
		unsigned int member = slot % (n + 2);

		if (member == row.p || member == row.q)
			continue;
		row.term[z++] = member;
		for (at = 0; at < BYTES; at++) {
			members[member][at] = rand();
			members[row.p][at] ^= members[member][at];
			members[row.q][at] ^= times(power, members[member][at]);
		}
		power = times(power, 2);
	}
}

static void expect(unsigned int wrong, int suspect)
{
	assert_int_equal(parity_check(6, &row, blocks, BYTES), wrong);
	assert_int_equal(parity_check(5, &row, blocks, BYTES), wrong & PARITY_P);
	assert_int_equal(parity_suspect(&row, blocks, BYTES), suspect);
}

TEST(test_all_widths)
{
	unsigned int n;

	for (n = 2; n <= 254; n++) {
		unsigned int term, at = rand() % BYTES;

		fill(n, rand() % (n + 2));
		expect(0, -1);
		members[row.p][at] ^= 0x10;
		expect(PARITY_P, row.p);
		members[row.p][at] ^= 0x10;
		members[row.q][at] ^= 0x01;
		expect(PARITY_Q, row.q);
		members[row.q][at] ^= 0x01;
		term = rand() % n;
		members[row.term[term]][at] ^= 0x80;
		members[row.term[term]][BYTES - 1 - at] ^= 0x23;
		expect(PARITY_P | PARITY_Q, row.term[term]);
		members[row.term[(term + 1) % n]][at / 2] ^= 0x80;
		members[row.term[(term + 1) % n]][BYTES - 1] ^= 0x11;
		if (at / 2 != at && at / 2 != BYTES - 1 - at)
			expect(PARITY_P | PARITY_Q, -1);
	}
}

/* Each value of each byte of a word */
TEST(test_all_bytes)
{
	unsigned int value, at;

	for (value = 0; value < 256; value++) {
		fill(3, 0);
		for (at = 0; at < BYTES; at++) {
			unsigned int v = value + at;

			members[row.q][at] ^= times(4, members[row.term[2]][at]) ^ times(4, v);
			members[row.p][at] ^= members[row.term[2]][at] ^ v;
			members[row.term[2]][at] = v;
		}
		expect(0, -1);
	}
}

TEST(test_copies)
{
	struct array array = { .geometry = { .level = 1, .disks = 3 }, .n = 3, .members = {
		{ .slot = 0 }, { .slot = 2 }, { .slot = 3 } } };
	static unsigned char copies[3][512];
	const unsigned char *at[] = { copies[0], copies[1], copies[2] };

	memset(copies, 0, sizeof(copies));
	assert_true(compare_agree(&array, 9, at, 512));
	assert_int_equal(compare_sector(&array, 9, at).kind, FINDING_NONE);
	copies[1][511] = 1;
	assert_false(compare_agree(&array, 9, at, 512));
	assert_int_equal(compare_sector(&array, 9, at).kind, FINDING_COPIES);
	assert_int_equal(compare_sector(&array, 9, at).slot, 2);
	copies[0][511] = 1;
	assert_int_equal(compare_sector(&array, 9, at).slot, 3);
	copies[0][0] = 1;
	assert_int_equal(compare_sector(&array, 9, at).slot, -1);
	array.n = 2;
	assert_int_equal(compare_sector(&array, 9, at).slot, -1);
	assert_int_equal(compare_sector(&array, 9, at).first, 9);
}
