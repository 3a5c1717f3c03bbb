// SPDX-License-Identifier: GPL-2.0
/*
 * Large drives: what the core allocates for 24 TB, measured at its allocator, and that it
 * is no more in the worst interleaving; that a search whose counts are shared by tracks
 * finds what one with a count per track finds; that no step of a search is long.
 *
 * Bounds: the project's, 64 MiB for a drive and 1 GiB for sixty of them, buffers included.
 *
 * Planted bugs, each seen to fail: a second plane of bits, a count per track
 * (test_memory); an allocation for what flies (test_worst); counts of twice as many tracks,
 * a fullest group sought in all but the last count, a track passed over that has just
 * enough (test_shared_search); runs of one count over a region's border, or a track too long
 * (test_counts); the value asked for left out, and twice it (test_least); granules of
 * one hop left over for the next (test_several).
 */
#include "core/plan.h"
#include "core/block_value.h"
#include "support.h"
#include "wrap.h"

#define SECTORS 46875541504ULL
#define GRANULE 512U
#define GRANULES (SECTORS / GRANULE)
#define CYLINDERS 599952U
#define HEADS 20U
#define DISKS 60
#define PART_TRACKS (20000 * HEADS)	/* searches look at these */
#define PART (PART_TRACKS * 5280ULL)	/* all in the first zone */
#define BUFFERS (4 * 1280 * 1024)	/* bytes of a host's buffers for such a drive */

static struct disk_model *dm;
static struct fb_bitmap bm;
static size_t allocated, model_bytes;
static u32 allocations;

/* kept, not only while a model is built: an upper bound */
void *__wrap_calloc(size_t n, size_t size)
{
	allocated += n * size;
	allocations++;
	return __real_calloc(n, size);
}

int setup(void **state)
{
	allocated = 0;
	dm = support_model_file("models/nearline24.fbmodel");
	model_bytes = allocated;
	return fb_bitmap_init(&bm, GRANULES, dm_tracks(dm));
}

int teardown(void **state)
{
	fb_bitmap_destroy(&bm);
	dm_free(dm);
	return 0;
}

/* a bit per granule, four bytes per 64 tracks, and little else */
TEST(test_memory)
{
	size_t map = allocated - model_bytes, all;

	assert_int_equal(dm_info(dm)->sectors, SECTORS);
	assert_int_equal(dm_info(dm)->granule_sectors, GRANULE);
	assert_int_equal(dm_tracks(dm), CYLINDERS * HEADS);
	assert_int_equal(map, GRANULES / 8 + 4 * (CYLINDERS * HEADS / 64) + 24 * 1024);
	assert_true(model_bytes <= 64 * 1024);
	assert_true(map + model_bytes <= 64 * 1024 * 1024);
	all = model_bytes + map + sizeof(bm) + sizeof(struct fb_block_value) +
	      sizeof(struct fb_search) + BUFFERS;
	print_message("model %zu, map %zu, with buffers %zu bytes\n", model_bytes, map, all);
	assert_true(DISKS * all <= 1024 * 1024 * 1024);
}

/* reads in random order that overlap, fail and are repeated, all over the disk */
TEST(test_worst)
{
	const fb_runs_fn moves[] = {
		support_want, support_unwant, support_take, support_done, support_untake
	};
	const u32 before = allocations;
	u64 regions = 0, groups = 0;
	struct rnd r = { 1 };
	u32 i;

	for (i = 0; i < 400000; i++) {
		u64 lbn = rnd_below(&r, SECTORS), n = 1 + rnd_below(&r, 50 * GRANULE);

		n = min(n, SECTORS - lbn);
		fb_for_each_run(dm, GRANULE, lbn, n, moves[i % 2 ? rnd_below(&r, 5) : 0], &bm);
		/* more than a host's buffers hold */
		if (bm.flying_words > 100)
			fb_bitmap_done(&bm, 0, (u32)GRANULES, 0);
	}
	fb_bitmap_done(&bm, 0, (u32)GRANULES, 0);
	assert_int_equal(bm.n_flying, 0);
	assert_int_equal(allocations, before);
	for (i = 0; i < FB_REGIONS; i++)
		regions += bm.region[i];
	for (i = 0; i < bm.groups; i += 1U << bm.shift)
		groups += fb_bitmap_group(&bm, i);
	assert_int_equal(regions, bm.n_wanted);
	assert_int_equal(groups, bm.n_wanted);
	assert_int_equal(fb_bitmap_count(&bm, 0, (u32)GRANULES), bm.n_wanted);
	fb_for_each_run(dm, GRANULE, 0, SECTORS, support_unwant, &bm);
	assert_int_equal(bm.n_wanted, 0);
}

struct counted {
	struct fb_bitmap *map;
	u32 calls;
};

static void count_want(void *ctx, u64 first, u32 n, u32 group)
{
	struct counted *c = ctx;

	fb_bitmap_want(c->map, first, n, group);
	c->calls++;
}

/* by counts or by tracks: the same ranges make the same map, the whole disk in few calls */
static void test_counts_of(const char *file, u32 granule, u64 whole_calls)
{
	struct disk_model *m = support_model_file(file);
	u64 sectors = dm_info(m)->sectors, granules = fb_granule_first(granule, sectors), first, n;
	struct fb_bitmap tracks, counts;
	struct counted c = { .map = &counts };
	struct rnd r = { 5 };
	u32 i;

	assert_int_equal(fb_bitmap_init(&tracks, granules, dm_tracks(m)), 0);
	assert_int_equal(fb_bitmap_init(&counts, granules, dm_tracks(m)), 0);
	for (i = 0; i < 3000; i++) {
		first = rnd_below(&r, granules);
		n = min(1 + rnd_below(&r, i % 50 ? 100 : granules / 16), granules - first);
		fb_for_each_run(m, granule, first * granule, n * granule, support_want, &tracks);
		fb_for_each_count(m, granule, &counts, first, first + n, count_want, &c);
	}
	assert_int_equal(counts.n_wanted, tracks.n_wanted);
	assert_memory_equal(counts.region, tracks.region, sizeof(tracks.region));
	assert_memory_equal(counts.count, tracks.count, tracks.counts * sizeof(*tracks.count));
	c.calls = 0;
	fb_for_each_count(m, granule, &counts, 0, granules, count_want, &c);
	assert_int_equal(counts.n_wanted, granules);
	assert_true(c.calls <= whole_calls);
	fb_bitmap_destroy(&tracks);
	fb_bitmap_destroy(&counts);
	dm_free(m);
}

TEST(test_counts)
{
	test_counts_of("models/nearline24.fbmodel", GRANULE, FB_BITMAP_COUNTS + FB_REGIONS);
	test_counts_of("models/nearline16-serpentine.fbmodel", 256, FB_BITMAP_COUNTS + FB_REGIONS);
	test_counts_of("models/nearline16-surfaces.fbmodel", 256, FB_BITMAP_COUNTS + FB_REGIONS);
	test_counts_of("models/atlas10k.fbmodel", 16, 10042 * 6);
}

/* ---- searches ---- */

/* some of the first cylinders, of each tenth of them less */
static void fill_part(struct rnd *r)
{
	u64 part = PART, first, n;

	for (first = 0; first < part; first += n) {
		n = (1 + rnd_below(r, 9)) * GRANULE;
		if (rnd_below(r, 1024) < 1024U >> (first * 10 / part))
			fb_for_each_run(dm, GRANULE, first, n, support_want, &bm);
	}
}

/* a map of the same granules with a count of its own for each track */
static struct fb_bitmap exact_map(void)
{
	struct fb_bitmap exact = bm;
	struct dm_track t;
	u32 i;

	exact.shift = 0;
	exact.counts = exact.groups;
	exact.count = __real_calloc(exact.groups, sizeof(*exact.count));
	for (i = 0; i < PART_TRACKS; i++) {
		assert_int_equal(dm_track_by_index(dm, i, &t), 0);
		u64 first = div_u64(t.first_lbn + GRANULE - 1, GRANULE);
		u64 end = div_u64(t.first_lbn + t.nsect + GRANULE - 1, GRANULE);

		exact.count[i] = fb_bitmap_count(&bm, first, end - first);
	}
	return exact;
}

static struct fb_gap random_gap(struct rnd *r)
{
	struct fb_gap gap = { .src = support_place(r, dm), .dst_nsect = 16 };

	gap.src.cyl = rnd_below(r, PART_TRACKS / HEADS);
	gap.dst_lbn = rnd_below(r, PART);
	assert_int_equal(dm_place_of(dm, gap.dst_lbn, &gap.dst), 0);
	return gap;
}

static u32 search(struct fb_search *s, const struct fb_bitmap *map, const struct fb_gap *gap,
		  bool lifted, const struct fb_block_value *worth, u64 least)
{
	struct fb_limits lim = {
		.conservatism_ns = 300000, .separate = true, .granule_sectors = GRANULE,
		.max_sectors = 2560, .max_prepend_sectors = 2560, .least_value = least,
	};
	u32 steps = 1;

	if (lifted) {
		lim.lift = FB_LIFT_SOURCE | FB_LIFT_DEST;
		lim.roots = &worth->roots;
	}
	fb_search_start(s, dm, map, gap, &lim);
	while (fb_search_step(s))
		steps++;
	return steps;
}

/* of plans worth the same, either may find another first; a step looks at one track at most */
TEST(test_shared_search)
{
	struct fb_block_value worth;
	struct fb_bitmap exact;
	struct fb_search s, e;
	struct rnd r = { 2 };
	u32 i, found = 0;
	u64 tracks = 0;

	fill_part(&r);
	fb_block_value_init(&worth, &bm);
	exact = exact_map();
	for (i = 0; i < 200; i++) {
		struct fb_gap gap = random_gap(&r);
		u32 steps = search(&s, &bm, &gap, i % 2, &worth, 0);

		search(&e, &exact, &gap, i % 2, &worth, 0);
		assert_int_equal(s.best.value, e.best.value);
		assert_true(s.tracks <= steps);
		tracks += s.tracks;
		found += s.best.kind != FB_PLAN_NONE;
	}
	print_message("%u plans, %u tracks a search\n", found, (u32)(tracks / 200));
	assert_true(found > 100);
	fb_free(exact.count);
}

/* who asks for more than a value gets the same plan if it is worth more, and else none */
TEST(test_least)
{
	u32 i, same = 0, none = 0, fewer = 0;
	struct fb_block_value worth;
	struct fb_search any, s;
	struct rnd r = { 4 };

	fill_part(&r);
	fb_block_value_init(&worth, &bm);
	for (i = 0; i < 300; i++) {
		struct fb_gap gap = random_gap(&r);
		u64 least;

		search(&any, &bm, &gap, i % 2, &worth, 0);
		least = 1 + rnd_below(&r, 2 * any.best.value + 1);
		search(&s, &bm, &gap, i % 2, &worth, least);
		assert_true(s.tracks <= any.tracks);
		fewer += s.tracks < any.tracks;
		if (any.best.value > least) {
			assert_int_equal(s.best.value, any.best.value);
			assert_int_equal(s.best.slack_ns, any.best.slack_ns);
			same++;
		} else if (any.best.value < least) {
			assert_int_equal(s.best.kind, FB_PLAN_NONE);
			none++;
		}
	}
	assert_true(same > 50 && none > 100 && fewer > 100);
}

/* when the head is at the foreground's first sector, were the plan carried out */
static u64 arrival(const struct fb_plan *plan, const struct fb_gap *gap)
{
	struct dm_access a = { .end = gap->src };
	u64 ns = 0, seek, latency;
	u32 i;

	for (i = 0; i < plan->npieces; i++) {
		const struct dm_place from = a.end;

		assert_int_equal(dm_access(dm, &from, plan->piece[i].lbn, plan->piece[i].nsect,
					   false, &a), 0);
		ns += a.total_ns;
	}
	dm_position(dm, &a.end, &gap->dst, gap->dst_write, &seek, &latency);
	return ns + seek + latency;
}

/*
 * Several pieces in a gap, each searched with little effort: no plan makes the foreground
 * late. Granules of the hop before are none of the next one's.
 */
TEST(test_several)
{
	struct fb_limits lim = {
		.conservatism_ns = 300000, .separate = true, .granule_sectors = GRANULE,
		.max_sectors = 2560, .max_prepend_sectors = 2560, .hop_steps = 15,
		.lift = FB_LIFT_SOURCE | FB_LIFT_DEST | FB_LIFT_SEVERAL,
	};
	u32 i, steps, several = 0;
	struct rnd r = { 3 };

	fill_part(&r);
	for (i = 0; i < 3000; i++) {
		struct fb_gap gap = random_gap(&r);
		struct fb_search s;
		u64 ns;

		fb_search_start(&s, dm, &bm, &gap, &lim);
		for (steps = 0; steps < 50 && fb_search_step(&s); steps++)
			;
		if (s.best.kind == FB_PLAN_NONE || s.best.kind == FB_PLAN_PREPEND)
			continue;
		several += s.best.npieces > 1;
		if (s.best.kind == FB_PLAN_BOTH)
			s.best.npieces--;
		ns = arrival(&s.best, &gap);
		assert_in_range(ns, s.window_ns - 1000, s.window_ns + 1000);
	}
	print_message("%u plans of several pieces\n", several);
	assert_true(several > 30);
}
