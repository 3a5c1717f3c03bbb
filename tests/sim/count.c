// SPDX-License-Identifier: GPL-2.0
/*
 * Work for an instruction counter (make -C tests/sim count): choices among 256
 * pending requests, and whole searches on maps covered to some degree, on the
 * Atlas 10K. The counter looks at fg_choose(), or at fb_search_start()
 * and fb_search_step(), only.
 */
#include "../../fb_search.h"
#include "../../fg_policy.h"
#include "../unit/support.h"

#define PENDING 256
#define TIMES 200
#define CONSERVATISM_NS 300000
#define MAX_SECTORS 1024

static struct disk_model *dm;
static struct fb_bitmap bm;
static struct fg_pool pool;
static struct fg_req req[PENDING];
static struct rnd r = { 1 };

/* @cyls: 0: all over the disk, else within so many cylinders */
static void fill(u64 cyls)
{
	u64 sectors = dm_info(dm)->sectors, base = rnd_below(&r, sectors / 2), i;

	fg_pool_init(&pool);
	for (i = 0; i < PENDING; i++) {
		memset(&req[i], 0, sizeof(req[i]));
		req[i].lbn = cyls ? base + rnd_below(&r, cyls * 1800) : rnd_below(&r, sectors);
		req[i].nsect = 8;
		req[i].write = rnd_below(&r, 3) == 0;
		req[i].deadline_ns = U64_MAX;
		fg_req_place(&req[i], dm);
		fg_pool_add(&pool, &req[i]);
	}
}

static void choices(const char *policy, u64 cyls)
{
	int id = fg_policy_by_name(policy), i;
	struct fg_choice c;

	for (i = 0; i < TIMES; i++) {
		struct dm_place head = support_place(&r, dm);

		fill(cyls);
		if (cyls)
			head.cyl = req[0].start.cyl;
		pool.policy = id;
		fg_choose(&pool, dm, &head, 1, &c);
	}
}

static void want_run(void *ctx, u64 first, u32 n, u32 group)
{
	fb_bitmap_want(ctx, first, n, group);
}

static void take_run(void *ctx, u64 first, u32 n, u32 group)
{
	fb_bitmap_take(ctx, first, n, group);
	fb_bitmap_done(ctx, first, n);
}

/* reads of 14 granules, as gaps give them, until @percent is covered */
static void searches(u32 percent)
{
	const struct fb_limits lim = {
		.conservatism_ns = CONSERVATISM_NS,
		.max_sectors = MAX_SECTORS,
		.max_prepend_sectors = MAX_SECTORS,
		.separate = true,
		.granule_sectors = dm_info(dm)->granule_sectors,
	};
	u32 g = lim.granule_sectors, i;
	u64 sectors = dm_info(dm)->sectors, tracks = 0, most = 0, wanted = 0, lbn;
	struct fb_search s;

	fb_bitmap_init(&bm, (sectors + g - 1) / g, dm_tracks(dm));
	fb_for_each_run(dm, g, 0, sectors, want_run, &bm);
	while (bm.n_wanted * 100 > bm.granules * (100 - percent)) {
		lbn = rnd_below(&r, sectors - 14 * g);
		fb_for_each_run(dm, g, lbn, 14 * g, take_run, &bm);
	}
	for (i = 0; i < TIMES; i++) {
		struct fb_gap gap = { .src = support_place(&r, dm), .dst_nsect = 16 };
		struct fg_choice c;

		/* the gap before what SPTF-SW60 chooses among ten */
		fill(0);
		pool.policy = FG_SPTF_SW;
		while (pool.count > 10)
			fg_pool_del(&pool, list_first_entry(&pool.reqs, struct fg_req, node));
		fg_choose(&pool, dm, &gap.src, 1, &c);
		gap.dst = c.req->start;
		gap.dst_lbn = c.req->lbn;
		gap.dst_write = c.req->write;
		fb_search_start(&s, dm, &bm, &gap, &lim);
		while (fb_search_step(&s))
			;
		tracks += s.tracks;
		wanted += s.best.wanted;
		most = max_t(u64, most, s.tracks);
	}
	printf("# tracks per search %.1f, most %llu, wanted granules %.1f\n", 1.0 * tracks / TIMES,
	       (unsigned long long)most, 1.0 * wanted / TIMES);
	fb_bitmap_destroy(&bm);
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: count POLICY CYLINDERS | count search PERCENT\n");
		return 2;
	}
	dm = support_model_file("models/atlas10k.fbmodel");
	if (!strcmp(argv[1], "search"))
		searches(atoi(argv[2]));
	else
		choices(argv[1], atoi(argv[2]));
	dm_free(dm);
	return 0;
}
