// SPDX-License-Identifier: GPL-2.0
/*
 * The shipped Atlas 10K model against vectors computed by another model of the same
 * drive: DiskSim 4.0's libdiskmodel (CMU). The vectors are not part of this tree:
 * FREEBLOCK_DRIVES names the directory that holds vectors/atlas10k*.csv.
 *
 * Planted bugs, each seen to fail: skews applied to physical instead of logical heads
 * (places); the cylinder skew without the (heads - 1) track skews (places); a seek
 * that stops interpolating at the last point (seeks); settle added to a head switch
 * before a read (seeks).
 */
#include "support.h"

#define MODEL "models/atlas10k.fbmodel"
#define FIELDS 24

/* Opens one file of vectors and skips its header line; without it the test is skipped. */
static FILE *open_vectors(const char *name)
{
	const char *drives = getenv("FREEBLOCK_DRIVES");
	char path[512], line[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/vectors/%s", drives ? drives : "../shared/data/drives",
		 name);
	f = fopen(path, "r");
	if (!f) {
		print_message("SKIP: no %s (set FREEBLOCK_DRIVES)\n", path);
		skip();
	}
	assert_non_null(fgets(line, sizeof(line), f));
	return f;
}

/* The next line's fields; they point into a static buffer. */
static u32 next_row(FILE *f, const char *field[FIELDS])
{
	static char line[512];
	u32 n = 0;
	char *p;

	if (!fgets(line, sizeof(line), f))
		return 0;
	line[strcspn(line, "\r\n")] = '\0';
	for (p = line; p && n < FIELDS; ) {
		field[n++] = p;
		p = strchr(p, ',');
		if (p)
			*p++ = '\0';
	}
	return n;
}

static u32 number(const char *s)
{
	return strtoul(s, NULL, 10);
}

static double apart(double turn_a, double turn_b)
{
	double d = turn_a - turn_b;

	d -= (s64)d;
	d = d < 0 ? -d : d;
	return d > 0.5 ? 1 - d : d;
}

static double turns(u32 angle)
{
	return angle / 4294967296.0;
}

/* ---- layout: places exact, angles within 1e-6 turn ---- */

TEST(test_places)
{
	FILE *f = open_vectors("atlas10k.csv");
	struct disk_model *dm = support_model_file(MODEL);
	const char *field[FIELDS];
	u32 rows = 0;

	while (next_row(f, field) >= 7) {
		struct dm_place p;
		struct dm_track t;
		u32 lbn = number(field[0]), angle;

		assert_int_equal(dm_place_of(dm, lbn, &p), 0);
		assert_int_equal(p.cyl, number(field[1]));
		assert_int_equal(p.head, number(field[2]));
		assert_int_equal(dm_track_at(dm, p.cyl, p.head, &t), 0);
		assert_int_equal(t.spt, number(field[5]));
		assert_true(lbn - t.first_lbn < t.nsect);
		assert_int_equal(dm_lbn_angle(dm, &t, lbn, &angle), 0);
		assert_int_equal(angle, p.angle);
		/* the sector: as many of them as fit before the angle, to the nearest */
		assert_int_equal((((u64)(p.angle - t.angle0) * t.spt + (1U << 31)) >> 32) % t.spt,
				 number(field[3]));
		assert_true(apart(turns(p.angle), atof(field[4])) < 0.000001);
		rows++;
	}
	assert_int_equal(rows, 2420);
	fclose(f);
	dm_free(dm);
}

/* ---- seeks: the vectors have 1 ns resolution ---- */

TEST(test_seeks)
{
	FILE *f = open_vectors("atlas10k.seek.csv");
	struct disk_model *dm = support_model_file(MODEL);
	const char *field[FIELDS];
	u32 rows = 0, way;

	while (next_row(f, field) == 5) {
		struct dm_place from = { 0, 0, 0 }, to = { number(field[0]), 0, 0 };

		for (way = 0; way < 4; way++) {
			double ns;

			to.head = way & 1;
			ns = dm_seek_ns(dm, &from, &to, way & 2) - atof(field[1 + way]) * 1e6;
			assert_true(ns < 2 && ns > -2);
		}
		rows++;
	}
	assert_int_equal(rows, 10042);
	fclose(f);
	dm_free(dm);
}
