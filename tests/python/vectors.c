// SPDX-License-Identifier: GPL-2.0
/*
 *	vectors_KIND FILE -		where the LBNs on stdin live, a line each
 *	vectors_KIND FILE moves		ns of moves by the cylinders on stdin, a line each: of a
 *					read, a read with a head switch, a write, and both
 *
 * Exit status 2 if a file is bad.
 */
#include "vectors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX (64UL << 20)

void vec_fail(const char *path, unsigned int line, const char *reason)
{
	printf("%s:%u: %s\n", path, line, reason);
	exit(2);
}

static void print_places(void)
{
	unsigned long long lbn;
	struct vec_place p;

	while (scanf("%llu", &lbn) == 1) {
		vec_locate(lbn, &p);
		printf("%llu %u %u %u %u %.10f\n", lbn, p.cyl, p.head, p.sector, p.spt, p.angle);
	}
}

static void print_moves(void)
{
	unsigned int cyls;

	while (scanf("%u", &cyls) == 1)
		printf("%.0f %.0f %.0f %.0f\n", vec_move_ns(cyls, 0, 0), vec_move_ns(cyls, 1, 0),
		       vec_move_ns(cyls, 0, 1), vec_move_ns(cyls, 1, 1));
}

int main(int argc, char **argv)
{
	char *text = malloc(TEXT_MAX);
	size_t len;
	FILE *f;

	if (argc < 3 || !text)
		vec_fail(argv[0], 0, "usage: FILE -|moves");
	f = fopen(argv[1], "r");
	if (!f)
		vec_fail(argv[1], 0, "cannot be read");
	len = fread(text, 1, TEXT_MAX, f);
	fclose(f);
	printf("sectors %llu\n", vec_load(argv[1], text, len));
	free(text);
	if (!strcmp(argv[2], "moves"))
		print_moves();
	else
		print_places();
	return 0;
}
