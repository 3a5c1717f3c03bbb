// SPDX-License-Identifier: GPL-2.0
/*
 * Work for an instruction counter (tests/unit/count/count.py): choices among 256 pending
 * requests, and searches on maps of which some is left to be read. The counter looks at count_...()
 * only, and at each call apart.
 */
#include <valgrind/callgrind.h>

#include "core/plan.h"
#include "core/block_value.h"
#include "core/policy.h"
#include "core/joint.h"
#include "core/order_cost.h"
#include "../support.h"

#define PENDING 256
#define TIMES 400
#define NOW_NS 256000000	/* the oldest of them has waited so long */
#define CONSERVATISM_NS 300000

static struct disk_model *dm;
static struct fb_bitmap bm;
static struct fb_block_value worth;
static struct fb_policy_pool pool;
static struct fb_policy_req req[PENDING];
static struct rnd r = { 1 };

static unsigned int parse_u32(const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (end == text || *end || n > UINT_MAX) {
		fprintf(stderr, "count: not a number: '%s'\n", text);
		exit(2);
	}
	return n;
}

/* @cyls: 0: all over the disk, else within so many cylinders of its outermost zone */
static void fill(u32 cyls)
{
	u64 sectors = dm_info(dm)->sectors, base = rnd_below(&r, sectors / 2), i;
	struct dm_track t;

	dm_track_of(dm, 0, &t);
	fb_policy_pool_init(&pool);
	for (i = 0; i < PENDING; i++) {
		memset(&req[i], 0, sizeof(req[i]));
		req[i].lbn = rnd_below(&r, sectors);
		if (cyls)
			req[i].lbn = base + rnd_below(&r, (u64)cyls * dm_info(dm)->heads * t.spt);
		req[i].arrived_ns = i * (NOW_NS / PENDING);
		req[i].nsect = 8;
		req[i].class = FB_POLICY_BE;
		req[i].write = rnd_below(&r, 3) == 0;
		req[i].deadline_ns = U64_MAX;
		fb_policy_req_place(&req[i], dm);
		fb_policy_pool_add(&pool, &req[i]);
	}
}

static __attribute__((noipa))
void count_choice(const struct dm_place *head, struct fb_policy_choice *c)
{
	fb_policy_choose(&pool, dm, head, NOW_NS, c);
}

static void choices(const char *policy, u32 cyls)
{
	struct fb_policy_choice c;
	int id = 0, i;

	while (id < FB_POLICIES && strcmp(policy, fb_policy_name[id]))
		id++;
	if (id == FB_POLICIES) {
		fprintf(stderr, "count: no such policy: '%s'\n", policy);
		exit(2);
	}
	CALLGRIND_START_INSTRUMENTATION;
	for (i = 0; i < TIMES; i++) {
		struct dm_place head = support_place(&r, dm);

		fill(cyls);
		if (cyls)
			head.cyl = req[0].start.cyl;
		pool.policy = id;
		count_choice(&head, &c);
	}
}

/* ---- choices together with free reads ---- */

static struct fb_conservatism margin;
static struct fb_joint joint;
static struct fb_joint_round joint_round;

/* a step */
static __attribute__((noipa))
bool count_rank(const struct fb_joint_at *at)
{
	return fb_joint_rank(&joint, at, &joint_round, FB_JOINT_SLICE);
}

/* all steps */
static __attribute__((noipa))
void count_round(const struct fb_joint_at *at)
{
	fb_joint_begin(&joint_round, &pool, FB_POLICY_BE);
	while (count_rank(at))
		;
}

static __attribute__((noipa))
void count_onward(const struct fb_joint_at *at)
{
	fb_joint_onward(&joint, at, &joint_round, 0);
}

static __attribute__((noipa))
bool count_shadow(struct fb_order_cost *shadow, const struct fb_order_cost_at *at,
		  const struct fb_policy_choice *c)
{
	struct fb_order_cost_sum sum = { 0 };

	return fb_order_cost_charge(shadow, at, c, &sum);
}

/* when it was lost it begins with copies of the pool's */
static __attribute__((noipa))
bool count_begin(struct fb_order_cost *shadow, const struct fb_order_cost_at *at,
		 const struct fb_policy_choice *c)
{
	struct fb_order_cost_sum sum = { 0 };

	return fb_order_cost_charge(shadow, at, c, &sum);
}

/* a pool is charged for until the shadow has begun, and once more, with as many as it takes */
static void shadows(const struct dm_place *head)
{
	const struct fb_order_cost_at at = {
		.dm = dm, .odds = &margin.odds, .real = &pool, .head = head, .now_ns = NOW_NS,
	};
	static struct fb_order_cost shadow;
	struct fb_policy_choice c;

	while (pool.count > FB_ORDER_COST_MOST)
		fb_policy_pool_del(&pool, list_first_entry(&pool.reqs[FB_POLICY_BE],
							   struct fb_policy_req, node));
	pool.policy = FB_POLICY_SPTF;
	fb_order_cost_init(&shadow);
	do {
		fb_policy_choose(&pool, dm, head, NOW_NS, &c);
		count_begin(&shadow, &at, &c);
		fb_policy_pool_del(&pool, c.req);
	} while (!shadow.on);
	fb_policy_choose(&pool, dm, head, NOW_NS, &c);
	count_shadow(&shadow, &at, &c);
}

/* @price: of a turn, in gaps */
static void ranks(u32 price, u32 cyls)
{
	struct fb_joint_at at = { .dm = dm, .odds = &margin.odds, .pool = &pool, .now_ns = NOW_NS };
	u32 i;

	fb_conservatism_init(&margin, dm, FB_CONSERVATISM_TARGET_PPM);
	fb_joint_init(&joint, dm, FB_JOINT_COST_PPM);
	joint.price = price * 256;
	CALLGRIND_START_INSTRUMENTATION;
	for (i = 0; i < TIMES; i++) {
		struct dm_place head = support_place(&r, dm);

		fill(cyls);
		if (cyls)
			head.cyl = req[0].start.cyl;
		at.head = &head;
		count_round(&at);
		count_onward(&at);
		shadows(&head);
	}
}

/* ---- searches ---- */

/*
 * Share of the granules left at a place, in 2^-16: everywhere the same, or near the edges
 * of the disk, where the foreground's heads come seldom: 9 |2x - 1|^8 is 1 on average.
 */
static u32 left_at(u64 granule, u32 left, bool edge)
{
	s64 x = (s64)(granule * 2048 / bm.granules) - 1024;
	u64 x2 = x * x, x4 = x2 * x2 >> 20;

	return edge ? min(9 * left * (x4 * x4 >> 20) >> 20, 65536ULL) : left;
}

/* all but @done_percent, in runs of one to nine granules */
static void fill_map(u32 done_percent, bool edge)
{
	u32 g = dm_info(dm)->granule_sectors, left = (100 - done_percent) * 65536 / 100;
	u64 sectors = dm_info(dm)->sectors, first, n;

	fb_bitmap_init(&bm, (sectors + g - 1) / g, dm_tracks(dm));
	for (first = 0; first < bm.granules; first += n) {
		n = min(1 + rnd_below(&r, 9), bm.granules - first);
		if (rnd_below(&r, 65536) < left_at(first, left, edge))
			fb_for_each_run(dm, g, first * g, min(n * g, sectors - first * g),
					support_want, &bm);
	}
	fb_block_value_init(&worth, &bm);
}

/* the gap before what SPTF-SW60 chooses among ten */
static struct fb_gap some_gap(void)
{
	struct fb_gap gap = { .src = support_place(&r, dm), .dst_nsect = 16 };
	struct fb_policy_choice c;

	fill(0);
	pool.policy = FB_POLICY_SPTF_SW;
	while (pool.count > 10)
		fb_policy_pool_del(&pool, list_first_entry(&pool.reqs[FB_POLICY_BE],
							   struct fb_policy_req, node));
	fb_policy_choose(&pool, dm, &gap.src, 1, &c);
	gap.dst = c.req->start;
	gap.dst_lbn = c.req->lbn;
	gap.dst_write = c.req->write;
	return gap;
}

/* Returns the steps. */
static __attribute__((noipa))
u32 count_search(struct fb_search *s, const struct fb_gap *gap, const struct fb_limits *lim,
		 u32 most)
{
	u32 steps = 0;

	fb_search_start(s, dm, &bm, gap, lim);
	while (fb_search_step(s) && ++steps < most)
		;
	return steps;
}

/* the paper's limits, or none of them */
static struct fb_limits limits(bool lifted, u32 hop_steps)
{
	u32 period_us = div_u64(dm_period_ns(dm), 1000);
	struct fb_limits lim = {
		.conservatism_ns = CONSERVATISM_NS,
		.separate = true,
		.granule_sectors = dm_info(dm)->granule_sectors,
	};
	struct dm_track t;

	/* half of the longest track, and no less than a buffer of 256 KiB */
	dm_track_of(dm, 0, &t);
	lim.max_sectors = max(512U, t.spt / 2);
	lim.max_prepend_sectors = lim.max_sectors;
	if (!lifted)
		return lim;
	lim.lift = FB_LIFT_SOURCE | FB_LIFT_DEST | FB_LIFT_SEVERAL;
	lim.hop_steps = hop_steps;
	lim.weights = &worth.weights;
	lim.roots = &worth.roots;
	fb_conservatism_init(&margin, dm, FB_CONSERVATISM_TARGET_PPM);
	fb_limits_weigh(&lim, &margin.odds);
	lim.pipe_ns[0] = period_us * 50;
	lim.pipe_ns[1] = period_us * 50;
	return lim;
}

static void searches(u32 done_percent, bool edge, u32 most_steps, u32 hop_steps)
{
	bool lifted = hop_steps;
	u64 wanted = 0, steps = 0, tracks = 0, most = 0, bytes;
	struct fb_limits lim;
	struct fb_search s;
	u32 i;

	fill_map(done_percent, edge);
	lim = limits(lifted, hop_steps);
	bytes = lim.granule_sectors * 512ULL;
	CALLGRIND_START_INSTRUMENTATION;
	for (i = 0; i < TIMES; i++) {
		struct fb_gap gap = some_gap();
		u32 n;

		if (lifted)
			lim.miss_value = fb_block_value_miss(&worth, 6 * 256);
		n = count_search(&s, &gap, &lim, most_steps);
		fb_block_value_gap(&worth, s.best.value);
		steps += n;
		most = max_t(u64, most, n);
		tracks += s.tracks;
		wanted += s.best.wanted;
	}
	printf("{\"left\": %.4f, \"steps\": %.1f, \"most_steps\": %llu, ",
	       1.0 * bm.n_wanted / bm.granules, 1.0 * steps / TIMES, (unsigned long long)most);
	printf("\"tracks\": %.1f, \"kib\": %.1f}\n", 1.0 * tracks / TIMES,
	       1.0 * wanted * bytes / 1024 / TIMES);
	fb_bitmap_destroy(&bm);
}

int main(int argc, char **argv)
{
	if (argc < 5) {
		fprintf(stderr, "usage: count choose MODEL POLICY CYLINDERS\n"
			"       count rank MODEL PRICE CYLINDERS\n"
			"       count search MODEL PERCENT_DONE random|edge STEPS HOP_STEPS\n"
			"       HOP_STEPS 0: the paper's limits, else all of them lifted\n");
		return 2;
	}
	dm = support_model_file(argv[2]);
	if (!strcmp(argv[1], "choose"))
		choices(argv[3], parse_u32(argv[4]));
	else if (!strcmp(argv[1], "rank"))
		ranks(parse_u32(argv[3]), parse_u32(argv[4]));
	else if (argc == 7)
		searches(parse_u32(argv[3]), !strcmp(argv[4], "edge"), parse_u32(argv[5]),
			 parse_u32(argv[6]));
	dm_free(dm);
	return 0;
}
