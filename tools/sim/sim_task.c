// SPDX-License-Identifier: GPL-2.0
/*
 * The task; see sim_task.h.
 *
 * A search takes no time here: what the thread of disk/reader.c does beside the disk's mechanics
 * is done at the moment its plan is needed. Its budget is a number of steps.
 */
#include "sim_task.h"
#include "sim_file.h"

#define SIMT_PAGE_SECTORS 8		/* the module's buffers are whole pages */
#define SIMT_GRANULE 256		/* of a drive without a model, as in the module */
#define SIMT_HALF_TRACK 4		/* blocks, where tracks are not known */

/* the disk's last block may be short */
static u32 simt_sectors(const struct simt *t, u64 block)
{
	u64 left = t->sectors - block * t->lim.granule_sectors;

	return min_t(u64, t->lim.granule_sectors, left);
}

static void simt_want_run(void *ctx, u64 first, u32 n, u32 group)
{
	struct simt *t = ctx;

	fb_bitmap_want(&t->bm, first, n, group);
}

static void simt_unwant_run(void *ctx, u64 first, u32 n, u32 group)
{
	struct simt *t = ctx;

	fb_bitmap_unwant(&t->bm, first, n, group);
}

static void simt_take_run(void *ctx, u64 first, u32 n, u32 group)
{
	struct simt *t = ctx;

	fb_bitmap_take(&t->bm, first, n, group);
}

static void simt_untake_run(void *ctx, u64 first, u32 n, u32 group)
{
	struct simt *t = ctx;

	fb_bitmap_untake(&t->bm, first, n, group);
}

static void simt_done_run(void *ctx, u64 first, u32 n, u32 group)
{
	struct simt *t = ctx;
	u64 part;
	u32 i;

	for (i = 0; i < n && t->deliver; i++)
		if (fb_bitmap_is_flying(&t->bm, first + i))
			t->deliver(t->deliver_to, (first + i) * t->lim.granule_sectors,
				   simt_sectors(t, first + i));
	t->got += fb_bitmap_done(&t->bm, first, n, group);
	for (part = t->got * SIMT_PARTS / t->total; part && !t->part_ns[part - 1]; part--)
		t->part_ns[part - 1] = t->now_ns;
}

/* the map stays as it is: what was read is wanted again */
static void simt_keep_run(void *ctx, u64 first, u32 n, u32 group)
{
	struct simt *t = ctx;
	u32 i;

	for (i = 0; i < n; i++)
		t->got += fb_bitmap_is_flying(&t->bm, first + i);
	fb_bitmap_untake(&t->bm, first, n, group);
}

static void simt_skip_run(void *ctx, u64 first, u32 n, u32 group)
{
	struct simt *t = ctx;

	t->skipped += fb_bitmap_done(&t->bm, first, n, group);
}

/* the whole granules of a range, the disk's last one too if it is short */
static void simt_runs(struct simt *t, u64 lbn, u64 end, fb_runs_fn fn)
{
	u32 g = t->lim.granule_sectors;

	fb_for_each_count(t->dm, g, &t->bm, fb_granule_first(g, lbn),
			  end == t->sectors ? t->bm.granules : end / g, fn, t);
}

void simt_take(struct simt *t, u64 lbn, u64 end, u64 now_ns)
{
	fb_quarantine_sent(&t->bad, lbn, end - lbn, now_ns);
	simt_runs(t, lbn, end, simt_take_run);
}

static void simt_run(struct simt *t, u64 lbn, u64 end, fb_runs_fn fn)
{
	if (end > lbn)
		simt_runs(t, lbn, end, fn);
}

void simt_lost(struct simt *t, u64 lbn, u64 end)
{
	simt_runs(t, lbn, end, simt_untake_run);
}

/* as fb_delivery_judge() and fb_coverage_absorb_ended() do */
void simt_ended(struct simt *t, const struct fb_quarantine_read *read, u64 now_ns)
{
	u32 g = t->lim.granule_sectors, verdict = fb_quarantine_ended(&t->bad, read, now_ns);
	u64 end = read->lbn + read->nsect, at = read->lbn + read->good / g * g;

	t->now_ns = now_ns;
	t->paused |= verdict & (FB_QUARANTINE_ALARM | FB_QUARANTINE_STOP);
	if (!read->failed) {
		simt_runs(t, read->lbn, end, t->o->fresh ? simt_keep_run : simt_done_run);
	} else if (!(verdict & FB_QUARANTINE_KNOWN)) {
		simt_lost(t, read->lbn, end);
	} else {
		simt_run(t, read->lbn, at, simt_done_run);
		simt_run(t, at, min(at + g, end), simt_skip_run);
		simt_run(t, at + g, end, simt_untake_run);
	}
}

bool simt_may_read(struct simt *t, u64 now_ns)
{
	if (!t->bm.n_wanted || t->paused)
		return false;
	fb_quarantine_expire(&t->bad, now_ns);
	return !t->o->guard || fb_guard_on(&t->guard, now_ns);
}

bool simt_over(const struct simt *t)
{
	return t->total && !t->bm.n_wanted && !t->bm.n_flying;
}

u64 simt_block_bytes(const struct simt *t)
{
	return t->lim.granule_sectors * 512ULL;
}

/* one of the last blocks, which no gap can hold; see fb_reader_leftover() */
static void simt_leftover(struct simt *t, const struct fb_gap *gap, bool cut, u64 now_ns,
			  struct fb_plan *plan)
{
	u32 cost_ppm = t->o->joint ? t->o->foreground_cost_ppm : FB_LEFTOVER_COST_PPM;
	struct fb_plan one = { .kind = FB_PLAN_SEPARATE, .npieces = 1, .wanted = 1 };
	enum fb_leftover_search search = cut ? FB_LEFTOVER_CUT : FB_LEFTOVER_VAIN;
	u64 block;

	if (plan->kind != FB_PLAN_NONE)
		search = FB_LEFTOVER_FOUND;
	if (!fb_leftover_due(&t->leftover, search, t->bm.n_wanted, cost_ppm, now_ns) ||
	    !t->lim.separate)
		return;
	block = fb_bitmap_next_wanted(&t->bm, 0, t->bm.granules);
	one.piece[0].lbn = block * t->lim.granule_sectors;
	one.piece[0].nsect = simt_sectors(t, block);
	if (!fb_quarantine_divert(&t->bad, &t->bm, &one.piece[0]) ||
	    !fb_quarantine_cut(&t->bad, &t->bm, now_ns, &one))
		return;
	*plan = one;
	fb_leftover_read(&t->leftover, t->dm, gap, one.piece[0].lbn, one.piece[0].nsect, now_ns);
	t->leftovers++;
}

/* what the plans before say about the worth of the next */
static void simt_weigh(struct simt *t, const struct fb_gap_mail *mail, struct fb_limits *lim,
		       u64 now_ns)
{
	u32 price;

	if (t->o->balance && now_ns - t->balanced_ns >= t->o->balance_s * 1e9) {
		fb_block_value_balance(&t->worth, &t->bm);
		t->balanced_ns = now_ns;
	}
	if (lim->odds) {
		fb_limits_weigh(lim, lim->odds);
		price = mail->shared ? mail->price : lim->odds->price;
		lim->miss_value = fb_block_value_miss(&t->worth, price);
	}
}

void simt_settled(struct simt *t, struct fb_gap_mail *mail)
{
	if (mail->settled)
		fb_block_value_gap(&t->worth, mail->value);
	mail->settled = false;
	mail->mean = t->worth.mean;
}

static void simt_count(struct simt *t, const struct fb_search *search)
{
	t->gaps++;
	t->tracks += search->tracks;
	t->most_tracks = max_t(u64, t->most_tracks, search->tracks);
	t->latency_ns += search->latency_ns;
	if (search->best.kind == FB_PLAN_NONE)
		return;
	t->plans++;
	t->slack_ns += search->best.slack_ns;
}

void simt_search(struct simt *t, struct fb_gap_mail *mail, u64 now_ns)
{
	struct fb_limits lim = mail->lim;
	struct fb_search search;
	struct fb_plan plan;
	u64 steps = mail->shared ? mail->spent_ns : 0;

	simt_weigh(t, mail, &lim, now_ns);
	lim.avoid = t->bad.zone;
	lim.navoid = t->bad.zones;
	fb_search_start(&search, t->dm, &t->bm, &mail->gap, &lim);
	while (fb_search_step(&search) && ++steps < mail->search_ns)
		;
	mail->spent_ns = steps;
	simt_count(t, &search);
	plan = search.best;
	if (!mail->shared)
		fb_block_value_gap(&t->worth, plan.kind == FB_PLAN_NONE ? 0 : plan.value);
	if (plan.kind != FB_PLAN_NONE && !fb_quarantine_cut(&t->bad, &t->bm, now_ns, &plan))
		plan.kind = FB_PLAN_NONE;
	/* who looks for something better only has not looked everywhere */
	if (plan.kind != FB_PLAN_NONE || !lim.least_value)
		simt_leftover(t, &mail->gap, steps >= mail->search_ns, now_ns, &plan);
	if (plan.kind != FB_PLAN_NONE)
		fb_gap_publish(mail, &plan, mail->gen);
}

bool simt_ahead(const struct simt *t)
{
	return t->ahead;
}

bool simt_find_idle(struct simt *t, struct fb_idle_order_ask *ask, struct fb_plan_piece *piece,
		    u64 now_ns)
{
	ask->dm = t->dm;
	ask->bm = &t->bm;
	ask->max_sectors = min(ask->max_sectors, t->longest);
	return fb_quarantine_idle(&t->bad, &t->bm, now_ns, ask->max_sectors, piece) ||
	       fb_idle_reader_find(&t->order, &t->bad, ask, piece, now_ns);
}

/* ---- beginning and end ---- */

/*
 * A block near the edge of the disk is worth 1 + K |2c/C - 1|^2, c being its cylinder of
 * C: the foreground's heads come there seldom, and what is left at a scan's end is there.
 */
static void simt_init_weight(struct simt *t)
{
	struct fb_weights *w = &t->worth.weights;
	double off;
	u32 i;

	for (i = 0; i < FB_REGIONS && t->o->edge; i++) {
		off = 2 * (i + 0.5) / FB_REGIONS - 1;
		w->of[i] = FB_WEIGHT_ONE * (1 + t->o->edge * off * off) + 0.5;
		w->most = max(w->most, w->of[i]);
	}
	if (t->o->edge || t->o->balance)
		t->lim.weights = &t->worth.weights;
	if (t->o->root)
		t->lim.roots = &t->worth.roots;
}

/* granule, and the longest reads; of @spt sectors on a track, 0: not known */
static void simt_init_sizes(struct simt *t, u32 granule, u32 physical, u32 spt)
{
	const struct simo *o = t->o;
	struct fb_limits *lim = &t->lim;
	u32 longest;

	lim->granule_sectors = o->granule ? o->granule / 512 : granule;
	if (lim->granule_sectors < physical)
		sim_usage("granule: shorter than the drive's blocks of %u bytes", physical * 512);
	longest = max(fb_longest_read(lim->granule_sectors, spt), lim->granule_sectors);
	longest += -longest % SIMT_PAGE_SECTORS;
	lim->max_sectors = o->max_sectors;
	if (o->max_sectors == SIMO_AUTO)
		lim->max_sectors = longest;
	if (lim->max_sectors < lim->granule_sectors)
		sim_usage("max_sectors: shorter than a granule, %u sectors",
			  lim->granule_sectors);
	lim->max_prepend_sectors = o->max_prepend_sectors;
	if (o->max_prepend_sectors == SIMO_AUTO)
		lim->max_prepend_sectors = longest;
}

static void simt_init_limits(struct simt *t, const struct dm_info *info)
{
	const struct simo *o = t->o;
	struct fb_limits *lim = &t->lim;

	simt_init_sizes(t, info->granule_sectors, info->physical_sectors, info->spt_most);
	if (o->conservatism_us == SIMO_AUTO)
		fb_limits_weigh(lim, &t->margin.odds);
	else
		lim->conservatism_ns = o->conservatism_us * 1000;
	lim->separate = o->separate;
	lim->lift = o->lift;
	/* as the kernel does, if not told */
	lim->pipe_ns[0] = o->pipe_read_us * 1000;
	if (o->pipe_read_us == SIMO_AUTO)
		lim->pipe_ns[0] = info->read_overhead_ns + o->lead_us * 1000;
	lim->pipe_ns[1] = o->pipe_write_us * 1000;
	if (o->pipe_write_us == SIMO_AUTO)
		lim->pipe_ns[1] = info->write_overhead_ns + o->lead_us * 1000;
	lim->hop_steps = o->hop_steps;
}

/* ---- what is read already ---- */

/* a run of whole blocks that is not wanted at the beginning */
static void simt_drop_run(void *ctx, u64 first, u32 n, u32 group)
{
	struct simt *t = ctx;

	t->got += fb_bitmap_unwant(&t->bm, first, n, group);
}

static void simt_drop(struct simt *t, u64 first, u64 n)
{
	u64 lbn = first * t->lim.granule_sectors;

	simt_runs(t, lbn, min(lbn + n * t->lim.granule_sectors, t->sectors), simt_drop_run);
}

/* from 0 to below 1; splitmix64, as everywhere */
static double simt_random(u64 *state)
{
	u64 z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	z ^= z >> 31;
	return (z >> 11) / 9007199254740992.0;
}

static void simt_start_random(struct simt *t, u64 state)
{
	u64 i;

	for (i = 0; i < t->bm.granules; i++)
		if (simt_random(&state) < t->o->start_share)
			simt_drop(t, i, 1);
}

/* half a track's blocks */
static u64 simt_half_track(const struct simt *t, u64 block)
{
	struct dm_track track;

	if (!t->dm)
		return SIMT_HALF_TRACK;
	if (dm_track_of(t->dm, block * t->lim.granule_sectors, &track))
		sim_fail("start: no track has block %llu", (unsigned long long)block);
	return max(track.nsect / t->lim.granule_sectors / 2, 1U);
}

/*
 * As a scan leaves a disk: reads of up to half a track, anywhere, until the share is read. What a
 * whole scan of the Atlas 10K has left half way lies in runs of 14 blocks, so in this 13, and in 2
 * if each block is read or not by itself.
 */
static void simt_start_course(struct simt *t, u64 state)
{
	u64 first, n;

	while (t->got < t->o->start_share * t->total) {
		first = t->o->first / t->lim.granule_sectors + t->total * simt_random(&state);
		n = 1 + simt_half_track(t, first) * simt_random(&state);
		simt_drop(t, first, min(n, t->bm.granules - first));
	}
}

/* behind the last of @runs: without that line a map that was cut off would pass for a whole one */
static void simt_start_end(FILE *in, const char *path, u64 runs)
{
	unsigned long long said;

	if (fscanf(in, "end %llu\n", &said) != 1 || said != runs || fgetc(in) != EOF)
		sim_fail("%s:%llu: neither \"FIRST COUNT\" nor \"end %llu\", the map's last line",
			 path, (unsigned long long)runs + 2, (unsigned long long)runs);
}

/*
 * "freeblock-map BLOCK_SECTORS BLOCKS", a line "FIRST COUNT" for each run that is left, and
 * "end RUNS"
 */
static void simt_start_file(struct simt *t, const char *path)
{
	unsigned long long g, n, first, count;
	FILE *in = fopen(path, "r");
	u64 line = 1, done = 0;
	int got;

	if (!in)
		sim_fail("%s: %s", path, strerror(errno));
	if (fscanf(in, "freeblock-map %llu %llu\n", &g, &n) != 2 ||
	    g != t->lim.granule_sectors || n != t->bm.granules)
		sim_fail("%s:1: not \"freeblock-map %u %llu\", a map of this disk", path,
			 t->lim.granule_sectors, (unsigned long long)t->bm.granules);
	while ((got = fscanf(in, "%llu %llu\n", &first, &count)) == 2) {
		line++;
		if (first < done || first >= n || !count || count > n - first)
			sim_fail("%s:%llu: not a run of the disk's %llu blocks behind the last",
				 path, (unsigned long long)line, n);
		simt_drop(t, done, first - done);
		done = first + count;
	}
	if (got == 1)
		sim_fail("%s:%llu: not \"FIRST COUNT\"", path, (unsigned long long)line + 1);
	simt_start_end(in, path, line - 1);
	simt_drop(t, done, n - done);
	fclose(in);
}

static void simt_start(struct simt *t)
{
	u64 state = t->o->seed ^ 0x5ca1ab1edecade00ULL;

	if (t->o->start_share && t->o->start_course)
		simt_start_course(t, state);
	else if (t->o->start_share)
		simt_start_random(t, state);
	else if (strcmp(t->o->start_text, "none") && strncmp(t->o->start_text, "random:", 7) &&
		 !t->o->start_course)
		simt_start_file(t, t->o->start_text);
	t->begun = t->got;
}

static bool simt_is_left(const struct simt *t, u64 block)
{
	return fb_bitmap_is_wanted(&t->bm, block) || fb_bitmap_is_flying(&t->bm, block);
}

void simt_save(const struct simt *t)
{
	struct sim_file_out *out = sim_file_create(t->o->save);
	u64 at = 0, runs = 0, first;

	sim_file_print(out, "freeblock-map %u %llu\n", t->lim.granule_sectors,
		       (unsigned long long)t->bm.granules);
	while (at < t->bm.granules) {
		first = at;
		while (at < t->bm.granules && simt_is_left(t, at))
			at++;
		if (at == first) {
			at++;
			continue;
		}
		sim_file_print(out, "%llu %llu\n", (unsigned long long)first,
			       (unsigned long long)(at - first));
		runs++;
	}
	sim_file_print(out, "end %llu\n", (unsigned long long)runs);
	sim_file_finish(out);
}

/* of all that it wanted nothing is left; the rest of a run takes a block in every so long */
static void simt_begin_trickle(struct simt *t, u64 count)
{
	simt_runs(t, t->o->first, t->o->first + count, simt_unwant_run);
	t->random = t->o->seed ^ 0x7e11c0ffee000000ULL;
	t->add_ns = 0;
}

void simt_add(struct simt *t)
{
	u64 block = t->o->first / t->lim.granule_sectors + simt_random(&t->random) * t->total;

	simt_run(t, block * t->lim.granule_sectors,
		 block * t->lim.granule_sectors + simt_sectors(t, block), simt_want_run);
	t->add_ns += t->o->trickle_ms * 1000000;
}

static void simt_init_map(struct simt *t)
{
	u32 g = t->lim.granule_sectors;
	u64 count = t->o->count ? t->o->count : t->sectors, granules = (t->sectors + g - 1) / g;

	if (t->o->first >= t->sectors || count > t->sectors - t->o->first)
		sim_usage("range: beyond the disk's %llu sectors",
			  (unsigned long long)t->sectors);
	if (t->o->first % g || (count % g && t->o->first + count != t->sectors))
		sim_usage("range: not whole blocks of %u sectors", g);
	if (fb_bitmap_init(&t->bm, granules, t->dm ? dm_tracks(t->dm) : fb_bitmap_spans(granules)))
		sim_fail("out of memory");
	simt_runs(t, t->o->first, t->o->first + count, simt_want_run);
	t->total = t->bm.n_wanted;
	if (t->o->trickle_ms)
		simt_begin_trickle(t, count);
	simt_start(t);
	fb_block_value_init(&t->worth, &t->bm);
}

static void simt_init_idle(struct simt *t, bool ahead)
{
	const struct simo *o = t->o;
	u32 granule = t->lim.granule_sectors;

	t->ahead = ahead && !o->verify;
	t->longest = o->verify ? fb_longest_verify(granule) : t->lim.max_sectors;
	fb_quarantine_init(&t->bad);
	fb_quarantine_begin(&t->bad, granule, t->sectors, false);
	if (o->idle && fb_idle_order_init(&t->order, o->order, t->sectors, granule,
					  o->order_regions, o->segment_kib * 2))
		sim_usage("segment_kib: not whole blocks of %u sectors", granule);
}

void simt_init(struct simt *t, const struct simo *o, const struct disk_model *dm, u64 sectors,
	       u32 block, bool ahead)
{
	memset(t, 0, sizeof(*t));
	t->o = o;
	t->dm = dm;
	t->sectors = sectors;
	t->add_ns = U64_MAX;
	fb_guard_init(&t->guard);
	fb_lookahead_init(&t->probe);
	if (dm)
		fb_conservatism_init(&t->margin, dm, o->target_slowdown_ppm);
	if (!o->scan)
		return;
	if (dm)
		simt_init_limits(t, dm_info(dm));
	else
		simt_init_sizes(t, SIMT_GRANULE, block, 0);
	simt_init_map(t);
	simt_init_weight(t);
	simt_init_idle(t, ahead);
}

void simt_destroy(struct simt *t)
{
	fb_bitmap_destroy(&t->bm);
}
