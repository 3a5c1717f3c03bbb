// SPDX-License-Identifier: GPL-2.0
/*
 * The shipped Atlas 10K model against vectors computed by another model of the same
 * drive: DiskSim 4.0's libdiskmodel (CMU). The vectors are not part of this tree:
 * FREEBLOCK_DRIVES names the directory that holds vectors/atlas10k*.csv.
 *
 * Planted bugs, each seen to fail: skews applied to physical instead of logical heads
 * (places); the cylinder skew without the (heads - 1) track skews (places); a seek
 * that stops interpolating at the last point (seeks); settle added to a head switch
 * before a read (seeks, accesses); waits counted from the start of the seek
 * (accesses).
 */
#include "unit.h"

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

/* ---- accesses ---- */

/* The shipped model with or without zero-latency access. */
static struct disk_model *load_variant(bool zero_latency)
{
	static char text[65536], variant[65536];
	const char *root = getenv("FB_ROOT");
	char path[512], *at, *end;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", root ? root : ".", MODEL);
	f = fopen(path, "r");
	assert_non_null(f);
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	at = strstr(text, "\nzero_latency yes\n");
	end = strstr(text, "\nend ");
	assert_true(at && end);
	end[1] = '\0';
	snprintf(variant, sizeof(variant), "%.*s\nzero_latency %s\n%s", (int)(at - text), text,
		 zero_latency ? "yes" : "no", at + strlen("\nzero_latency yes\n"));
	return support_model_text(variant);
}

enum {
	FROM_LBN, FROM_CYL, FROM_HEAD, THETA0, DELAY_MS, TO_LBN, NSECT, RW, ZERO_LATENCY,
	TO_CYL, TO_HEAD, TO_SECTOR, SINGLE_TRACK, SEEK_MS, ROT_FIRST_MS, ROT_ADDL_MS, XFER_MS,
	TOTAL_MS, END_CYL, END_HEAD, END_THETA, ACCESS_FIELDS,
};

/*
 * DiskSim rounds angles to 2^-20 turn (6 ns) and times to ns; a row adds up a few of
 * those. The widest row seen is off by 12 ns, over up to 1146 sectors on five tracks.
 */
#define CLOSE_NS 20

/**
 * struct tally - what became of the rows
 * @close: total and end as in the vectors
 * @inside: one track, the head lands inside: start at the next whole sector, one turn
 * @sooner: several tracks with zero-latency access, done sooner than in the vectors
 * @slips: a slip inside the transfer takes its time here, none in DiskSim
 */
struct tally {
	u32 close;
	u32 inside;
	u32 sooner;
	u32 slips;
};

static double ns_of(const char *ms)
{
	return atof(ms) * 1e6;
}

static bool is_close(double ns)
{
	return ns < CLOSE_NS && ns > -CLOSE_NS;
}

static void check_access(struct disk_model *dm, const char *field[FIELDS], struct tally *tally)
{
	bool single = number(field[SINGLE_TRACK]), zero_latency = number(field[ZERO_LATENCY]);
	double seek = ns_of(field[SEEK_MS]), total = ns_of(field[TOTAL_MS]);
	double turn = dm_info(dm)->period_ps / 1000.0, sector;
	struct dm_place from = { number(field[FROM_CYL]), number(field[FROM_HEAD]), 0 };
	struct dm_access a;
	struct dm_track t;

	from.angle = (u32)(s64)(atof(field[THETA0]) * 4294967296.0) +
		     dm_ns_to_angle(dm, ns_of(field[DELAY_MS]) + 0.5);
	assert_int_equal(dm_access(dm, &from, number(field[TO_LBN]), number(field[NSECT]),
				   field[RW][0] == 'W', &a), 0);
	assert_true(a.seek_ns - seek < 2 && a.seek_ns - seek > -2);
	assert_int_equal(a.end.cyl, number(field[END_CYL]));
	assert_int_equal(a.end.head, number(field[END_HEAD]));
	assert_int_equal(dm_track_at(dm, a.end.cyl, a.end.head, &t), 0);
	sector = turn / t.spt;

	if (is_close(a.total_ns - total)) {
		assert_true(is_close(a.latency_ns - ns_of(field[ROT_FIRST_MS])) || !single);
		assert_true(apart(turns(a.end.angle), atof(field[END_THETA])) * turn < CLOSE_NS);
		tally->close++;
	} else if (single && t.anomalous) {
		assert_true(is_close(a.total_ns - total - sector));
		tally->slips++;
	} else if (single) {
		/*
		 * DiskSim's vectors wait for the first sector although the head is past it,
		 * and then take a turn; the drive they describe starts where it lands.
		 */
		assert_true(zero_latency && atof(field[ROT_ADDL_MS]) > 0);
		assert_true(a.latency_ns < sector);
		total -= ns_of(field[ROT_FIRST_MS]);
		assert_true(is_close(total + a.latency_ns - a.total_ns));
		assert_true(apart(turns(a.end.angle), turns(from.angle) +
				  (a.seek_ns + a.latency_ns) / turn) * turn < CLOSE_NS);
		tally->inside++;
	} else {
		assert_true(zero_latency && a.total_ns < total);
		tally->sooner++;
	}
}

TEST(test_accesses)
{
	FILE *f = open_vectors("atlas10k.access.csv");
	struct disk_model *dm[2] = { load_variant(false), load_variant(true) };
	struct tally tally[2] = { { 0 }, { 0 } };
	const char *field[FIELDS];

	while (next_row(f, field) == ACCESS_FIELDS) {
		u32 zero_latency = number(field[ZERO_LATENCY]);

		check_access(dm[zero_latency], field, &tally[zero_latency]);
	}
	/* all 2501 without zero-latency access; with it all that do not land inside */
	assert_int_equal(tally[0].close, 2501);
	assert_int_equal(tally[1].close, 1900);
	assert_int_equal(tally[1].inside, 359);
	assert_int_equal(tally[1].sooner, 239);
	assert_int_equal(tally[1].slips, 1);
	fclose(f);
	dm_free(dm[0]);
	dm_free(dm[1]);
}
