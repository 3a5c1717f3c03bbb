/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For the tests of the search: a small disk and its map, random gaps, and what dm_access() says of
 * every run of granules of a track.
 */
#ifndef TESTS_SEARCH_BRUTE_H
#define TESTS_SEARCH_BRUTE_H

#include "core/block_value.h"
#include "support.h"

/*
 * 90 cylinders of 3 heads, 6 ms per turn; 99 and 83 sectors per track, so that
 * granules of 8 straddle tracks with any number of their sectors on the first; a slip,
 * a remap; seeks that are not monotonic.
 */
#define SMALL_DISK(run, skew, spt, kind)						\
	"fbmodel 1\n"									\
	"vendor TEST\n"									\
	"product SMALL\n"								\
	"sectors 24190\n"								\
	"cylinders 90\n"								\
	"heads 3\n"									\
	"head_order serpentine-zone\n"							\
	"period_ps 6000000000\n"							\
	"head_switch_ns 200000\n"							\
	"write_settle_ns 400000\n"							\
	"zero_latency yes\n" run							\
	"seek 1 700000\n"								\
	"seek 2 650000\n"								\
	"seek 10 900000\n"								\
	"seek 89 2600000\n"								\
	"zone 0 39 spt 99 angle 0 track_skew " skew " cyl_skew 0.3 dead 0 spares 1\n"	\
	"slip 700\n"									\
	"zone 40 89 spt " spt " angle 0.9 track_skew 0.13 cyl_skew 0.31 dead 0 spares 139"	\
	kind "\n"									\
	"remap 1000 to 12449\n"

static const char small_disk[] = SMALL_DISK("", "0.11", "83", "");

#define GRANULE 8

static struct disk_model *dm;
static struct fb_bitmap bm;

static inline void new_map(void)
{
	u64 sectors = dm_info(dm)->sectors;

	fb_bitmap_destroy(&bm);
	assert_int_equal(fb_bitmap_init(&bm, (sectors + GRANULE - 1) / GRANULE,
					dm_tracks(dm)), 0);
	fb_for_each_run(dm, GRANULE, 0, sectors, support_want, &bm);
	assert_int_equal(bm.n_wanted, bm.granules);
}

/* leave about @per_mille of the map wanted, in runs of 1 to @longest granules */
static inline void thin_map(struct rnd *r, u32 per_mille, u32 longest)
{
	new_map();
	while (bm.n_wanted * 1000 > bm.granules * per_mille) {
		u64 lbn = rnd_below(r, dm_info(dm)->sectors);
		u64 n = (2 + rnd_below(r, longest)) * GRANULE;

		n = min(n, dm_info(dm)->sectors - lbn);
		fb_for_each_run(dm, GRANULE, lbn, n, support_take, &bm);
		fb_for_each_run(dm, GRANULE, lbn, n, support_done, &bm);
	}
}

static inline void random_gap(struct rnd *r, struct fb_gap *gap)
{
	memset(gap, 0, sizeof(*gap));
	gap->src = support_place(r, dm);
	gap->dst_nsect = 8 + rnd_below(r, 16);
	do {
		gap->dst_lbn = rnd_below(r, dm_info(dm)->sectors - gap->dst_nsect);
		assert_int_equal(dm_place_of(dm, gap->dst_lbn, &gap->dst), 0);
	} while (rnd_below(r, 2) && (gap->dst.cyl > gap->src.cyl + 5 ||
				     gap->dst.cyl + 5 < gap->src.cyl));
	gap->dst_write = rnd_below(r, 3) == 0;
	gap->lead_ns = rnd_below(r, 4) ? 0 : rnd_below(r, 1000000);
}

static inline struct fb_limits limits(u64 conservatism_ns, u32 prepend)
{
	struct fb_limits lim = {
		.conservatism_ns = conservatism_ns,
		.max_sectors = 1024,
		.max_prepend_sectors = prepend,
		.separate = true,
		.granule_sectors = GRANULE,
	};

	return lim;
}

static inline void search(struct fb_search *s, const struct fb_gap *gap,
			  const struct fb_limits *lim)
{
	u32 steps = 0;

	fb_search_start(s, dm, &bm, gap, lim);
	while (fb_search_step(s))
		assert_true(++steps < 10000);
}

/* the conservatism of a way, told once more */
static inline u64 leg_con(const struct fb_limits *lim, const struct dm_place *a, u32 cyl)
{
	return a->cyl == cyl && lim->still_ns ? lim->still_ns : lim->conservatism_ns;
}

/* time left when [lbn, lbn + nsect) is read in the gap; negative: it does not fit */
static inline s64 spare_ns(const struct fb_gap *gap, const struct fb_limits *lim, u64 lbn,
			   u32 nsect, struct dm_access *a)
{
	struct dm_place from = gap->src;
	u64 seek, latency, con;
	struct dm_track t;

	from.angle += dm_ns_to_angle(dm, gap->lead_ns);
	dm_position(dm, &from, &gap->dst, gap->dst_write, &seek, &latency);
	seek = dm_seek_ns(dm, &from, &gap->dst, gap->dst_write);
	assert_int_equal(dm_track_of(dm, lbn, &t), 0);
	con = leg_con(lim, &from, t.cyl);
	from.angle += dm_ns_to_angle(dm, con);
	assert_int_equal(dm_access(dm, &from, lbn, nsect, false, a), 0);
	con += leg_con(lim, &a->end, gap->dst.cyl);
	return seek + latency - con - a->total_ns -
	       dm_seek_ns(dm, &a->end, &gap->dst, gap->dst_write);
}

static inline bool same_track(const struct dm_place *p, u32 cyl, u32 head)
{
	return p->cyl == cyl && p->head == head;
}

static inline bool forbidden(const struct fb_gap *gap, u32 cyl, u32 head)
{
	return same_track(&gap->src, cyl, head) || same_track(&gap->dst, cyl, head);
}

/* most wanted granules that one run of one track, of at most @most granules, can give */
static inline u32 brute_track(const struct fb_gap *gap, const struct fb_limits *lim,
			      const struct dm_track *t)
{
	u64 first = (t->first_lbn + GRANULE - 1) / GRANULE, end, a, b;
	u32 most = lim->max_sectors / GRANULE, best = 0;
	struct dm_access acc;

	end = t->first_lbn + t->nsect == dm_info(dm)->sectors ? bm.granules :
	      (t->first_lbn + t->nsect) / GRANULE;
	for (a = first; a < end; a++) {
		if (!fb_bitmap_is_wanted(&bm, a))
			continue;
		for (b = min(end, a + most); b > a; b--) {
			u32 wanted = fb_bitmap_count(&bm, a, b - a);
			u64 last = min(b * GRANULE, dm_info(dm)->sectors);

			if (wanted <= best)
				break;
			/* what fits only by rounding need not be found */
			if (spare_ns(gap, lim, a * GRANULE, last - a * GRANULE, &acc) < 40)
				continue;
			best = wanted;
			break;
		}
	}
	return best;
}

static inline u64 pick_conservatism(struct rnd *r)
{
	return rnd_below(r, 5) * 100000;
}

int setup(void **state)
{
	dm = support_model_text(small_disk);
	return 0;
}

int teardown(void **state)
{
	fb_bitmap_destroy(&bm);
	dm_free(dm);
	return 0;
}

#endif /* TESTS_SEARCH_BRUTE_H */
