// SPDX-License-Identifier: GPL-2.0
/*
 * Where a read in idle time begins when the head is known: against all candidates that
 * core/idle_order.c says it compares, computed one by one from single accesses; on the
 * Atlas 10K, in blocks of 8 KiB, one of several heads and maps at random.
 */
#include "core/idle_order.h"
#include "support.h"

#define GRANULE 16U
#define DRAWS 300
#define NOTHING U64_MAX
#define MOST (64 * GRANULE)

/* what the order adds to an access: a read of three tracks, a seek later, the host's turn */
#define TURNS 3
#define TURNAROUND_NS 400000U

static struct disk_model *dm;
static struct fb_bitmap bm;
static struct fb_idle_order order;
static struct rnd rnd;
static struct dm_place head;
static struct fb_plan_piece p;

/* the best read so far */
struct best {
	u64 first;
	u64 wanted;
	u64 ns;
};

int setup(void **state)
{
	dm = support_model_file("models/atlas10k.fbmodel");
	rnd.state = 3;
	return fb_bitmap_init(&bm, fb_granule_first(GRANULE, dm_info(dm)->sectors), dm_tracks(dm));
}

int teardown(void **state)
{
	fb_bitmap_destroy(&bm);
	dm_free(dm);
	return 0;
}

static void begin(const char *name)
{
	assert_int_equal(0, fb_idle_order_init(&order, support_order(name),
					       dm_info(dm)->sectors, GRANULE, 0, 0));
}

static void want(u64 first, u64 n)
{
	fb_for_each_run(dm, GRANULE, first * GRANULE, n * GRANULE, support_want, &bm);
}

static void unwant(u64 first, u64 n)
{
	fb_for_each_run(dm, GRANULE, first * GRANULE, n * GRANULE, support_unwant, &bm);
}

static bool next(bool ahead, u64 max_ns)
{
	const struct fb_idle_order_ask ask = { .dm = dm, .bm = &bm, .head = &head,
		.ahead = ahead, .max_sectors = MOST, .max_ns = max_ns };

	return fb_idle_order_next(&order, &ask, &p);
}

/* nothing is wanted behind the last command */
static bool search(bool ahead, u64 max_ns)
{
	order.cursor = bm.granules;
	return next(ahead, max_ns);
}

/* the granules that begin on a track */
static void track(u32 index, u64 *first, u64 *end)
{
	struct dm_track t;

	assert_int_equal(0, dm_track_by_index(dm, index, &t));
	*first = (t.first_lbn + GRANULE - 1) / GRANULE;
	*end = (t.first_lbn + t.nsect + GRANULE - 1) / GRANULE;
}

/* put the head somewhere in the outer half of a cylinder's tracks; the index of its track */
static u32 draw_head(u32 cyl)
{
	struct dm_track t;

	head = (struct dm_place) { cyl, rnd_below(&rnd, dm_info(dm)->heads), rnd_next(&rnd) };
	assert_int_equal(0, dm_track_at(dm, head.cyl, head.head, &t));
	return dm_track_index(dm, &t);
}

static u64 access_ns(u64 first, u64 sectors)
{
	struct dm_access acc;

	assert_int_equal(0, dm_access(dm, &head, first * GRANULE, sectors, false, &acc));
	return acc.total_ns;
}

/* the granule of a track that passes first after the head has come there, from its beginning */
static u64 landing(u64 first, u64 end)
{
	u64 best = first, at;

	for (at = first; at < end; at++)
		if (access_ns(at, 1) < access_ns(best, 1))
			best = at;
	return best;
}

static void offer(struct best *b, u64 first, u64 wanted, u64 ns)
{
	if (wanted && (!b->wanted || wanted * b->ns > b->wanted * ns))
		*b = (struct best) { first, wanted, ns };
}

/* a drive that reads ahead: what is wanted of the next three tracks of @n granules counts */
static void offer_ahead(struct best *b, u64 first, u64 n)
{
	u64 turn_ns = dm_period_ns(dm) + dm_info(dm)->head_switch_ns;

	offer(b, first, fb_bitmap_count(&bm, first, TURNS * n),
	      access_ns(first, 1) + TURNS * turn_ns);
}

/* one that does not: this read of this track, from its first wanted granule to its last */
static void offer_alone(struct best *b, u64 first, u64 end, u64 max_ns)
{
	u32 n = min(end - first, (u64)MOST / GRANULE), wanted;
	u64 ns;

	wanted = fb_bitmap_trim(&bm, &first, &n);
	if (!wanted)
		return;
	ns = access_ns(first, n * GRANULE);
	if (!max_ns || ns <= max_ns)
		offer(b, first, wanted, ns + TURNAROUND_NS);
}

/*
 * The best of the track under the head and four on either side, and of the run's begin. A head
 * that lands behind the beginning of a track's last granule may pass that track over or not:
 * @pass says which.
 */
static u64 expected(u32 here, u64 run, bool ahead, u64 max_ns, bool pass)
{
	struct best b = { 0 };
	u64 first, end, at;
	u32 i, index;

	for (i = 0; i <= 8; i++) {
		index = i % 2 ? here + (i + 1) / 2 : here - i / 2;
		track(index, &first, &end);
		at = landing(first, end);
		if (!ahead) {
			offer_alone(&b, first, end, max_ns);
			if (at > first)
				offer_alone(&b, at, end, max_ns);
			continue;
		}
		if (at == first && pass)
			continue;
		at = fb_bitmap_next_wanted(&bm, at, end);
		if (at < end)
			offer_ahead(&b, at, end - first);
	}
	track(here, &first, &end);
	if (ahead)
		offer_ahead(&b, run, end - first);
	/* what is farther away is found from its beginning */
	return b.wanted ? b.first : max_ns ? NOTHING : run;
}

/* runs of all lengths, from before the head to behind it: the read with most per time */
static void compare(bool ahead, u64 max_ns)
{
	u64 run, n, from, end, first;
	u32 i, here, skipped = 0;
	bool found;

	for (i = 0; i < DRAWS; i++) {
		begin("near");
		here = draw_head(300);
		track(here - 7 + rnd_below(&rnd, 12), &from, &end);
		run = from + rnd_below(&rnd, end - from);
		n = 1 + rnd_below(&rnd, 20 << rnd_below(&rnd, 6));
		want(run, n);
		first = expected(here, run, ahead, max_ns, false);
		found = search(ahead, max_ns);
		if (first == NOTHING)
			skipped++;
		else if (!found || p.lbn / GRANULE != first)
			assert_int_equal(p.lbn / GRANULE, expected(here, run, ahead, max_ns, true));
		unwant(run, n);
	}
	/* reads that are found farther away, and made short enough there */
	assert_in_range(skipped, 0, max_ns ? DRAWS / 3 : 0);
}

TEST(test_ahead)
{
	compare(true, 0);
}

TEST(test_alone)
{
	compare(false, 0);
}

TEST(test_alone_short)
{
	compare(false, 8000000);
}

#define ON (512 / GRANULE)

/*
 * What is wanted no more than 512 sectors behind the last read comes next, wherever the head is;
 * not if the drive does not read ahead. Seen to fail: the rule ignored; 31 granules, and 33; asked
 * of drives that do not read ahead, too.
 */
TEST(test_goes_on)
{
	u64 first, end;
	u32 i, hole;

	want(0, bm.granules);
	for (i = 0; i < 20; i++) {
		begin("near");
		track(draw_head(100 + i) + 50 * i, &first, &end);
		for (hole = 0; hole <= ON + 1; hole += i + 1) {
			unwant(first, hole);
			order.cursor = first;
			assert_true(next(true, 0));
			if (hole <= ON)
				assert_int_equal(p.lbn / GRANULE, first + hole);
			else
				assert_int_not_equal(p.lbn / GRANULE, first + hole);
			order.cursor = first;
			assert_true(next(false, 0));
			assert_int_not_equal(p.lbn / GRANULE, first + hole);
			want(first, hole);
		}
	}
}

/* of a round's next eight regions the one whose segment the head has read first */
TEST(test_staggered)
{
	u64 best, at, ns, best_ns;
	u32 i, k;

	want(0, bm.granules);
	for (i = 0; i < DRAWS; i++) {
		begin("staggered");
		draw_head(rnd_below(&rnd, 1000));
		best = 0;
		best_ns = U64_MAX;
		for (k = 0; k < 8; k++) {
			at = k * order.region;
			ns = access_ns(at, FB_IDLE_ORDER_SEGMENT);
			if (ns < best_ns) {
				best = at;
				best_ns = ns;
			}
		}
		assert_true(next(false, 0));
		assert_int_equal(p.lbn / GRANULE, best);
		assert_int_equal(p.nsect, FB_IDLE_ORDER_SEGMENT);
	}
}

/* Nothing is wanted near the head: the next above comes, and behind the last the first. */
TEST(test_far)
{
	static const u32 near[] = { 9, 15, 17, 40, 100, 1000, 5000 };
	u64 up, down, end;
	u32 i, here;

	for (i = 0; i < ARRAY_SIZE(near); i++) {
		begin("near");
		here = draw_head(5000);
		track(here + near[i], &up, &end);
		track(here - near[i], &down, &end);
		want(up, 1);
		want(down, 1);
		assert_true(search(false, 0));
		assert_int_equal(p.lbn / GRANULE, up);
		unwant(up, 1);
		assert_true(search(false, 0));
		assert_int_equal(p.lbn / GRANULE, down);
		unwant(down, 1);
	}
}

/*
 * Beyond the tracks around, eight places where wanted runs begin are compared, the nearest ones: a
 * long run behind seven blocks is found, behind eight it is too far.
 */
TEST(test_starts)
{
	u64 first, end, word;
	u32 i, k, small;

	for (i = 0; i < 20; i++) {
		small = i % 2 ? 7 : 8;
		begin("near");
		track(draw_head(300), &first, &end);
		word = first / BITS_PER_LONG + 2;
		for (k = 0; k < small; k++)
			want((word + k) * BITS_PER_LONG + 60, 1);
		want((word + small) * BITS_PER_LONG + 60, 300);
		assert_true(search(true, 0));
		if (small == 7)
			assert_int_equal(p.lbn / GRANULE, (word + small) * BITS_PER_LONG + 60);
		else
			assert_true(p.lbn / GRANULE < (word + small) * BITS_PER_LONG);
		unwant(word * BITS_PER_LONG, 10000);
	}
}
