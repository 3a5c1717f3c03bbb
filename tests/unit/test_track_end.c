// SPDX-License-Identifier: GPL-2.0
/*
 * The freeblock paper's figure 11: what passes under the head spans LBNs 1326-1334 at
 * the end of a track and 1112-1145 at the beginning of the same track. It takes two
 * commands; a scheduler that may send only one to a track takes the larger range and
 * leaves the smaller.
 *
 * Seen to fail: limits lifted whatever is allowed, several pieces likewise
 * (test_one_request); the steps bounded whatever is allowed (test_steps); the hop
 * before a piece not searched (test_both).
 */
#include "core/plan.h"
#include "support.h"

#define TAIL_LBN 1326
#define TAIL 9
#define TRACK_LBN 1112
#define HEAD 34

#define TRACK_CYL 2
#define APART_CYL 10
#define SEEK_NS 900000		/* of so many cylinders, from the text below */
#define SPARE_NS 5000		/* the head is that early at the first sector */

/* zone 0 has 1112 sectors, so that the first track of zone 1 is that of the figure */
static const char disk[] =
	"fbmodel 1\n"
	"vendor TEST\n"
	"product TRACKEND\n"
	"sectors 18060\n"
	"cylinders 40\n"
	"heads 2\n"
	"head_order plain\n"
	"period_ps 6000000000\n"
	"head_switch_ns 700000\n"
	"write_settle_ns 0\n"
	"zero_latency yes\n"
	"seek 1 700000\n"
	"seek 10 900000\n"
	"seek 39 1500000\n"
	"zone 0 1 spt 278 angle 0 track_skew 0.13 cyl_skew 0.15 dead 0 spares 0\n"
	"zone 2 39 spt 223 angle 0.4 track_skew 0.13 cyl_skew 0.15 dead 0 spares 0\n";

static struct disk_model *dm;
static struct fb_bitmap bm;

static u32 angle_of_ns(u64 ns)
{
	return div_u64(ns << 32, dm_period_ns(dm));
}

static u64 sectors_ns(u32 n)
{
	return dm_period_ns(dm) * n / 223;
}

/* the first LBN of a track APART_CYL further on that passes at @ns or after it */
static u64 lbn_passing(const struct dm_place *src, u64 ns)
{
	u32 best_wait = U32_MAX, angle = src->angle + angle_of_ns(ns);
	struct dm_place p;
	struct dm_track t;
	u64 lbn, best = 0;

	assert_int_equal(dm_track_by_index(dm, (TRACK_CYL + APART_CYL) * 2, &t), 0);
	for (lbn = t.first_lbn; lbn < t.first_lbn + t.nsect; lbn++) {
		assert_int_equal(dm_place_of(dm, lbn, &p), 0);
		if (p.angle - angle < best_wait) {
			best_wait = p.angle - angle;
			best = lbn;
		}
	}
	return best;
}

/*
 * The head comes from APART_CYL cylinders further on, reaches the track just before LBN
 * 1326, and must leave it just after LBN 1145, to be where it came from in time.
 */
static void make_gap(struct fb_gap *gap)
{
	u64 stay_ns = SPARE_NS + sectors_ns(TAIL + HEAD) + SPARE_NS;
	struct dm_place tail;

	memset(gap, 0, sizeof(*gap));
	assert_int_equal(dm_place_of(dm, TAIL_LBN, &tail), 0);
	gap->src.cyl = TRACK_CYL + APART_CYL;
	gap->src.angle = tail.angle - angle_of_ns(SEEK_NS + SPARE_NS);
	gap->dst_lbn = lbn_passing(&gap->src, SEEK_NS + stay_ns + SEEK_NS);
	gap->dst_nsect = 8;
	assert_int_equal(dm_place_of(dm, gap->dst_lbn, &gap->dst), 0);
}

static void search(u32 lift, u32 hop_steps, struct fb_plan *plan)
{
	struct fb_limits lim = {
		.max_sectors = 1024,
		.max_prepend_sectors = 1024,
		.separate = true,
		.granule_sectors = 1,
		.lift = lift,
		.hop_steps = hop_steps,
	};
	struct fb_search s;
	struct fb_gap gap;

	make_gap(&gap);
	fb_search_start(&s, dm, &bm, &gap, &lim);
	while (fb_search_step(&s))
		;
	*plan = s.best;
}

static void assert_larger(const struct fb_plan *plan)
{
	assert_int_equal(plan->kind, FB_PLAN_SEPARATE);
	assert_int_equal(plan->npieces, 1);
	assert_int_equal(plan->piece[0].lbn, TRACK_LBN);
	assert_int_equal(plan->piece[0].nsect, HEAD);
}

/* the paper's rule: the larger range, and the smaller is left */
TEST(test_one_request)
{
	struct fb_plan plan;

	search(0, 0, &plan);
	assert_larger(&plan);
	/* several pieces, but on different tracks */
	search(FB_LIFT_SEVERAL, 0, &plan);
	assert_larger(&plan);
	/* two commands to a track, but one to a gap */
	search(FB_LIFT_SOURCE | FB_LIFT_DEST, 0, &plan);
	assert_larger(&plan);
}

/* the steps of one of several pieces are no bound where there may be only one */
TEST(test_steps)
{
	struct fb_plan plan;

	search(FB_LIFT_SEVERAL, 1, &plan);
	assert_int_equal(plan.kind, FB_PLAN_NONE);
	search(0, 1, &plan);
	assert_larger(&plan);
}

/* the rule lifted: the larger is found first, then the smaller on the way to it */
TEST(test_both)
{
	static const u32 lifts[] = {
		FB_LIFT_DEST | FB_LIFT_SEVERAL,
		FB_LIFT_SOURCE | FB_LIFT_DEST | FB_LIFT_SEVERAL,
	};
	struct fb_plan plan;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lifts); i++) {
		search(lifts[i], 0, &plan);
		assert_int_equal(plan.kind, FB_PLAN_SEPARATE);
		assert_int_equal(plan.npieces, 2);
		assert_int_equal(plan.piece[0].lbn, TAIL_LBN);
		/* its last sector ends when the next piece begins, give or take a ns */
		assert_in_range(plan.piece[0].nsect, TAIL - 1, TAIL);
		assert_int_equal(plan.piece[1].lbn, TRACK_LBN);
		assert_int_equal(plan.piece[1].nsect, HEAD);
		assert_int_equal(plan.wanted, plan.piece[0].nsect + HEAD);
	}
}

int setup(void **state)
{
	dm = support_model_text(disk);
	assert_int_equal(fb_bitmap_init(&bm, dm_info(dm)->sectors, dm_tracks(dm)), 0);
	fb_for_each_run(dm, 1, TRACK_LBN, HEAD, support_want, &bm);
	fb_for_each_run(dm, 1, TAIL_LBN, TAIL, support_want, &bm);
	assert_int_equal(bm.n_wanted, TAIL + HEAD);
	return 0;
}

int teardown(void **state)
{
	fb_bitmap_destroy(&bm);
	dm_free(dm);
	return 0;
}
