// SPDX-License-Identifier: GPL-2.0
/*
 *	vectors_KIND FILE PLACES.csv [SEEKS.csv]	compare
 *	vectors_KIND FILE -		where the LBNs on stdin live, a line each
 *	vectors_KIND FILE moves		ns of moves by the cylinders on stdin, a line each
 *
 * PLACES.csv has a header line, then lbn,cyl,head,sector,angle,spt,... SEEKS.csv has a
 * header line, then a distance and the ms of a read, a read with a head switch, a write
 * and a write with a head switch. The first mismatches are printed, then a summary.
 * Exit status 1 if there were any, 2 if a file is bad.
 */
#include "vectors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TURN_MAX 0.000001
#define MOVE_MAX_NS 1000
#define SHOWN_MAX 10
#define TEXT_MAX (64UL << 20)

static unsigned long mismatches;

void vec_fail(const char *path, unsigned int line, const char *reason)
{
	printf("%s:%u: %s\n", path, line, reason);
	exit(2);
}

/* How far @got is off @want; more than @margin is a mismatch. */
static double check(const char *what, unsigned long long key, double got, double want,
		    double margin)
{
	double off = got > want ? got - want : want - got;

	if (off > margin && mismatches++ < SHOWN_MAX)
		printf("mismatch: %s of %llu: %.9f, not %.9f\n", what, key, got, want);
	return off;
}

/* The angle next to @near that is @angle but for whole turns. */
static double turned(double angle, double near)
{
	while (angle - near > 0.5)
		angle -= 1;
	while (near - angle > 0.5)
		angle += 1;
	return angle;
}

static FILE *rows_of(const char *path)
{
	FILE *f = fopen(path, "r");
	char line[512];

	if (!f || !fgets(line, sizeof(line), f))
		vec_fail(path, 0, "cannot be read");
	return f;
}

static void check_places(const char *path)
{
	struct vec_place got, want;
	FILE *f = rows_of(path);
	unsigned long long lbn;
	unsigned long rows = 0;
	double off, worst = 0;

	while (fscanf(f, "%llu,%u,%u,%u,%lf,%u%*[^\n]", &lbn, &want.cyl, &want.head,
		      &want.sector, &want.angle, &want.spt) == 6) {
		vec_locate(lbn, &got);
		check("cylinder", lbn, got.cyl, want.cyl, 0);
		check("head", lbn, got.head, want.head, 0);
		check("sector", lbn, got.sector, want.sector, 0);
		check("sectors per track", lbn, got.spt, want.spt, 0);
		off = check("angle", lbn, turned(got.angle, want.angle), want.angle, TURN_MAX);
		worst = off > worst ? off : worst;
		rows++;
	}
	fclose(f);
	printf("places %lu, angles within %.2g turn\n", rows, worst);
}

static void check_moves(const char *path)
{
	unsigned int cyls, way;
	FILE *f = rows_of(path);
	unsigned long rows = 0;
	double ms[4], off, worst = 0;

	while (fscanf(f, "%u,%lf,%lf,%lf,%lf", &cyls, &ms[0], &ms[1], &ms[2], &ms[3]) == 5) {
		for (way = 0; way < 4; way++) {
			off = check("move", cyls, vec_move_ns(cyls, way & 1, way >> 1),
				    ms[way] * 1e6, MOVE_MAX_NS);
			worst = off > worst ? off : worst;
		}
		rows++;
	}
	fclose(f);
	printf("moves %lu, within %.3g ns\n", rows, worst);
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
		vec_fail(argv[0], 0, "usage: FILE PLACES.csv [SEEKS.csv] | FILE -|moves");
	f = fopen(argv[1], "r");
	if (!f)
		vec_fail(argv[1], 0, "cannot be read");
	len = fread(text, 1, TEXT_MAX, f);
	fclose(f);
	printf("sectors %llu\n", vec_load(argv[1], text, len));
	free(text);
	if (!strcmp(argv[2], "-")) {
		print_places();
		return 0;
	}
	if (!strcmp(argv[2], "moves")) {
		print_moves();
		return 0;
	}
	check_places(argv[2]);
	if (argc > 3)
		check_moves(argv[3]);
	printf("mismatches %lu\n", mismatches);
	return mismatches != 0;
}
