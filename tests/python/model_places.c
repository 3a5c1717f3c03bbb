// SPDX-License-Identifier: GPL-2.0
/*
 * model_places FILE.fbmodel lbns|moves < NUMBERS: what the scheduler makes of a model
 *
 * Of LBNs where they live, LBN CYLINDER HEAD SECTOR SECTORS_PER_TRACK ANGLE; of distances in
 * cylinders the ns of a read, a read with a head switch, a write, a write with a head switch. A
 * line each, behind "sectors N".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "disk_model.h"
#include "tools/model/model_text.h"

#define TEXT_MAX (64UL << 20)

static struct disk_model *load(const char *path)
{
	char *text = malloc(TEXT_MAX);
	struct disk_model *model;
	struct dm_fault err;
	FILE *f = fopen(path, "r");

	if (!text || !f)
		exit(2);
	if (fb_model_text_parse(text, fread(text, 1, TEXT_MAX, f), &model, &err)) {
		printf("%s:%u: %s\n", path, err.line, err.reason);
		exit(2);
	}
	fclose(f);
	free(text);
	return model;
}

static void print_place(struct disk_model *model, u64 lbn)
{
	struct dm_place p;
	struct dm_track t;
	u64 sectors;

	if (dm_place_of(model, lbn, &p) || dm_track_at(model, p.cyl, p.head, &t))
		exit(2);
	/* the model names no sectors: as many as fit before the angle, to the nearest */
	sectors = (u64)(u32)(p.angle - t.angle0) * t.spt;
	printf("%llu %u %u %u %u %.10f\n", (unsigned long long)lbn, p.cyl, p.head,
	       (u32)(((sectors + (1ULL << 31)) >> 32) % t.spt), t.spt, p.angle / 4294967296.0);
}

static void print_moves(struct disk_model *model, u32 cyls)
{
	struct dm_place from = { 0 }, to = { .cyl = cyls };
	int way;

	for (way = 0; way < 4; way++) {
		to.head = way & 1;
		printf("%llu ", (unsigned long long)dm_seek_ns(model, &from, &to, way >> 1));
	}
	putchar('\n');
}

int main(int argc, char **argv)
{
	struct disk_model *model = load(argc == 3 ? argv[1] : "");
	unsigned long long n;

	printf("sectors %llu\n", (unsigned long long)dm_info(model)->sectors);
	while (scanf("%llu", &n) == 1) {
		if (!strcmp(argv[2], "moves"))
			print_moves(model, n);
		else
			print_place(model, n);
	}
	dm_free(model);
	return 0;
}
