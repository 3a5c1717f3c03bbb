// SPDX-License-Identifier: GPL-2.0
/*
 * Where array_scrub looks for data, P and Q. Expected: drawings of four and five members, which
 * are those of mdadm(8) and md(4); for other numbers of members an enumeration that knows no
 * formula: each row of a symmetric layout is the one before, turned by one member, in an
 * asymmetric one only parity is turned. tests/lab/s-array.sh asks the kernel.
 *
 * Seen to fail: the data of an asymmetric layout begun behind P; Q's terms in the array's order;
 * P turned the other way.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit.h"
#include "geometry.h"

#define ROWS 5
#define CHUNK 32
#define P (-1)
#define Q (-2)
#define NAMES 6

/* In md's numbers; rows are drawn member by member */
static const struct {
	const char *name;
	const char *raid5[4];
	const char *raid6[ROWS];
} drawings[NAMES] = {
	{ "left-asymmetric",
	  { "0 1 2 P", "3 4 P 5", "6 P 7 8", "P 9 10 11" },
	  { "Q 0 1 2 P", "3 4 5 P Q", "6 7 P Q 8", "9 P Q 10 11", "P Q 12 13 14" } },
	{ "right-asymmetric",
	  { "P 0 1 2", "3 P 4 5", "6 7 P 8", "9 10 11 P" },
	  { "P Q 0 1 2", "3 P Q 4 5", "6 7 P Q 8", "9 10 11 P Q", "Q 12 13 14 P" } },
	{ "left-symmetric",
	  { "0 1 2 P", "4 5 P 3", "8 P 6 7", "P 9 10 11" },
	  { "Q 0 1 2 P", "3 4 5 P Q", "7 8 P Q 6", "11 P Q 9 10", "P Q 12 13 14" } },
	{ "right-symmetric",
	  { "P 0 1 2", "5 P 3 4", "7 8 P 6", "9 10 11 P" },
	  { "P Q 0 1 2", "5 P Q 3 4", "7 8 P Q 6", "9 10 11 P Q", "Q 12 13 14 P" } },
	{ "parity-first",
	  { "P 0 1 2", "P 3 4 5", "P 6 7 8", "P 9 10 11" },
	  { "P Q 0 1 2", "P Q 3 4 5", "P Q 6 7 8", "P Q 9 10 11", "P Q 12 13 14" } },
	{ "parity-last",
	  { "0 1 2 P", "3 4 5 P", "6 7 8 P", "9 10 11 P" },
	  { "0 1 2 P Q", "3 4 5 P Q", "6 7 8 P Q", "9 10 11 P Q", "12 13 14 P Q" } },
};

/* A row as a drawing has it: chunk numbers, P, Q */
static void expect_row(const struct geometry *geometry, uint64_t number, const int *drawn)
{
	unsigned int slot, i, seen = 0, begin = 0;
	struct geometry_row row;

	geometry_row(geometry, number, &row);
	assert_int_equal(row.n, geometry->disks - (geometry->level == 6 ? 2 : 1));
	for (slot = 0; slot < geometry->disks; slot++) {
		if (drawn[slot] == P) {
			assert_int_equal(row.p, slot);
		} else if (drawn[slot] == Q) {
			assert_int_equal(row.q, slot);
			begin = slot + 1;
		} else {
			i = drawn[slot] % row.n;
			assert_int_equal(row.data[i], slot);
			assert_int_equal(geometry_array_sector(geometry, &row, i,
							       number * CHUNK + 7),
					 (uint64_t)drawn[slot] * CHUNK + 7);
			seen++;
		}
	}
	assert_int_equal(seen, row.n);
	if (geometry->level != 6)
		return;
	for (i = 0, seen = 0; i < geometry->disks; i++) {
		slot = (begin + i) % geometry->disks;
		if (drawn[slot] >= 0)
			assert_int_equal(row.term[seen++], slot);
	}
}

static void read_drawing(const char *text, int *drawn)
{
	char *end;

	while (*text) {
		if (*text == ' ') {
			text++;
		} else if (*text == 'P' || *text == 'Q') {
			*drawn++ = *text++ == 'P' ? P : Q;
		} else {
			*drawn++ = strtol(text, &end, 10);
			text = end;
		}
	}
}

TEST(test_drawings)
{
	struct geometry geometry = { .chunk = CHUNK };
	unsigned int row;
	int drawn[ROWS];

	for (geometry.layout = 0; geometry.layout < NAMES; geometry.layout++) {
		geometry.level = 5;
		geometry.disks = 4;
		assert_string_equal(geometry_layout_name(&geometry),
				    drawings[geometry.layout].name);
		for (row = 0; row < 4; row++) {
			read_drawing(drawings[geometry.layout].raid5[row], drawn);
			expect_row(&geometry, row, drawn);
		}
		geometry.level = 6;
		geometry.disks = 5;
		for (row = 0; row < ROWS; row++) {
			read_drawing(drawings[geometry.layout].raid6[row], drawn);
			expect_row(&geometry, row, drawn);
		}
	}
	assert_null(geometry_layout_name(&geometry));
}

/* One member further, to the left or to the right */
static void turn(int *row, unsigned int n, int left)
{
	int kept = left ? row[0] : row[n - 1];

	memmove(left ? row : row + 1, left ? row + 1 : row, (n - 1) * sizeof(*row));
	row[left ? n - 1 : 0] = kept;
}

/* The rows of an array, one after the other */
static void enumerate(struct geometry *geometry)
{
	unsigned int disks = geometry->disks, slot, rows = 3 * disks + 1, number;
	int left = geometry->layout % 2 == 0, symmetric = geometry->layout >= 2;
	int drawn[64], numbered[64], next = 0;
	unsigned int q = geometry->level == 6;

	for (slot = 0; slot < disks; slot++)
		drawn[slot] = slot;
	/* the first row: parity at the left end, or P at the right one and Q at the left one */
	drawn[left ? disks - 1 : 0] = P;
	if (q)
		drawn[left ? 0 : 1] = Q;
	for (slot = 0, number = 0; slot < disks; slot++)
		if (drawn[slot] >= 0)
			drawn[slot] = number++;
	for (number = 0; number < rows; number++) {
		int behind = 0;

		for (slot = 0; slot < disks; slot++) {
			if (drawn[slot] < 0)
				numbered[slot] = drawn[slot];
			else
				numbered[slot] = next + (symmetric ? drawn[slot] : behind++);
		}
		expect_row(geometry, number, numbered);
		next += disks - 1 - q;
		turn(drawn, disks, left);
	}
}

TEST(test_enumerated)
{
	struct geometry geometry = { .chunk = CHUNK };

	for (geometry.level = 5; geometry.level <= 6; geometry.level++)
		for (geometry.layout = 0; geometry.layout < 4; geometry.layout++)
			for (geometry.disks = geometry.level - 1; geometry.disks < 20;
			     geometry.disks++)
				enumerate(&geometry);
}

TEST(test_span)
{
	struct geometry raid1 = { .level = 1, .disks = 3 };
	struct geometry raid6 = { .level = 6, .layout = 2, .disks = 6, .chunk = CHUNK };
	uint64_t low, high;

	geometry_span(&raid1, 1000, 8, &low, &high);
	assert_int_equal(low, 1000);
	assert_int_equal(high, 1008);
	assert_string_equal(geometry_layout_name(&raid1), "copies");
	/* whole rows of four data chunks */
	geometry_span(&raid6, 3 * CHUNK + 8, 8, &low, &high);
	assert_int_equal(low, 3 * 4 * CHUNK);
	assert_int_equal(high, 4 * 4 * CHUNK);
	geometry_span(&raid6, 4 * CHUNK - 8, 16, &low, &high);
	assert_int_equal(low, 3 * 4 * CHUNK);
	assert_int_equal(high, 5 * 4 * CHUNK);
}
