// SPDX-License-Identifier: GPL-2.0
/* The orders of reads while the disk is idle; see core/idle_order.h. */
#include "core/idle_order.h"

#define FB_IDLE_ORDER_DONE U32_MAX	/* fb_idle_order.round: nothing of the region is wanted */
#define FB_IDLE_ORDER_STEPS 16		/* regions that one call looks into */

/* staggered: regions of a round from which the head chooses */
#define FB_IDLE_ORDER_STAGGERED_NEXT 8

/* Reading on over 64 KiB that are not wanted, 0.3 to 1 ms, costs less than a new command. */
#define FB_IDLE_ORDER_JOIN_SECTORS 128U

#define FB_IDLE_ORDER_ON_SECTORS 512U	/* near: holes that are passed over without a search */
#define FB_IDLE_ORDER_NEAR_TRACKS 4	/* near: tracks on either side that are looked at */
#define FB_IDLE_ORDER_NEAR_TURNS 3	/* near: tracks from a start that count for its value */
/* near: words of the map on either side that are looked at ... */
#define FB_IDLE_ORDER_NEAR_WORDS 512
#define FB_IDLE_ORDER_NEAR_STARTS 8	/* ... for this many starts of wanted runs */
/* from a read's end until the arm can move for the next one */
#define FB_IDLE_ORDER_TURNAROUND_NS 400000U

/* ---- where something is left ---- */

/* the first count from @count on that is not zero, or @bm->counts */
static u32 fb_idle_order_full_count(const struct fb_bitmap *bm, u32 count)
{
	u32 region, end;

	while (count < bm->counts) {
		region = fb_bitmap_region(bm, count << bm->shift);
		end = region + 1 < FB_REGIONS ?
			fb_bitmap_region_first(bm, region + 1) >> bm->shift : bm->counts;
		/* a count may span two regions */
		if (end <= count)
			end = count + 1;
		else if (!bm->region[region])
			count = end;
		for (; count < end; count++)
			if (bm->count[count])
				return count;
	}
	return bm->counts;
}

static u64 fb_idle_order_count_first(const struct fb_idle_order *o,
				     const struct fb_idle_order_ask *ask, u32 count)
{
	u32 group = count << ask->bm->shift;

	return fb_group_first(ask->dm, o->granule, ask->bm, &group);
}

/* the first wanted granule of a stretch, or @end; passes over parts where nothing is left */
static u64 fb_idle_order_wanted(const struct fb_idle_order *o, const struct fb_idle_order_ask *ask,
				u64 from, u64 end)
{
	const struct fb_bitmap *bm = ask->bm;
	u64 stop, found;
	u32 count;

	if (from >= end)
		return end;
	count = fb_group_of(ask->dm, o->granule, from) >> bm->shift;
	while (1) {
		stop = min(fb_idle_order_count_first(o, ask, count + 1), end);
		found = fb_bitmap_next_wanted(bm, from, stop);
		if (found < stop)
			return found;
		if (stop == end)
			return end;
		count = fb_idle_order_full_count(bm, count + 1);
		from = fb_idle_order_count_first(o, ask, count);
		if (from >= end)
			return end;
	}
}

/* ---- how far to read ---- */

static void fb_idle_order_piece(const struct fb_idle_order *o, u64 first, u64 end,
				struct fb_plan_piece *out)
{
	out->lbn = first * o->granule;
	out->nsect = min(end * o->granule, o->sectors) - out->lbn;
}

static u32 fb_idle_order_max(const struct fb_idle_order *o, const struct fb_idle_order_ask *ask)
{
	return max_t(u32, ask->max_sectors / o->granule, 1);
}

/* the longest read from wanted granule @first on, up to @end, over short holes */
static void fb_idle_order_run(const struct fb_idle_order *o, const struct fb_idle_order_ask *ask,
			      u64 first, u64 end, struct fb_plan_piece *out)
{
	u64 at = first, last = first;

	end = min(end, first + fb_idle_order_max(o, ask));
	while (at < end && at - last <= o->join + 1) {
		if (fb_bitmap_is_wanted(ask->bm, at))
			last = at;
		at++;
	}
	fb_idle_order_piece(o, first, last + 1, out);
}

static u64 fb_idle_order_access_ns(const struct fb_idle_order_ask *ask,
				   const struct fb_plan_piece *p)
{
	struct dm_place to;
	struct dm_access acc;

	if (!dm_access(ask->dm, ask->head, p->lbn, p->nsect, false, &acc))
		return acc.total_ns;
	/* not mapped: half a turn on the mean, and what its sectors would take of a track */
	if (dm_place_of(ask->dm, p->lbn, &to))
		return U64_MAX;
	return dm_seek_ns(ask->dm, ask->head, &to, false) + dm_period_ns(ask->dm) / 2 +
	       div_u64(p->nsect * dm_period_ns(ask->dm), dm_info(ask->dm)->spt_most);
}

/* halve a read while it is predicted to take too long; false: even one granule takes too long */
static bool fb_idle_order_shorten(const struct fb_idle_order *o,
				  const struct fb_idle_order_ask *ask, struct fb_plan_piece *out)
{
	u64 first = div_u64(out->lbn, o->granule);
	u32 n = fb_granule_first(o->granule, out->nsect);

	if (!ask->head || !ask->max_ns)
		return true;
	while (fb_idle_order_access_ns(ask, out) > ask->max_ns) {
		if (n == 1)
			return false;
		n /= 2;
		fb_bitmap_trim(ask->bm, &first, &n);
		fb_idle_order_piece(o, first, first + n, out);
	}
	return true;
}

/* ---- sequential ---- */

bool fb_idle_order_sequential(struct fb_idle_order *o, const struct fb_idle_order_ask *ask,
			      struct fb_plan_piece *out)
{
	u64 first = fb_idle_order_wanted(o, ask, o->cursor, o->granules);

	if (first == o->granules) {
		first = fb_idle_order_wanted(o, ask, 0, o->granules);
		if (first == o->granules)
			return false;
	}
	fb_idle_order_run(o, ask, first, o->granules, out);
	return true;
}

/* ---- staggered ---- */

/* true: the first wanted granule of the region's round is found */
static bool fb_idle_order_staggered_look(struct fb_idle_order *o,
					 const struct fb_idle_order_ask *ask, u32 i,
					 struct fb_plan_piece *out)
{
	u64 start = min(i * o->region, o->granules), end = min(start + o->region, o->granules);
	u64 from = min(start + o->round[i] * o->segment, end), first, round;

	first = fb_idle_order_wanted(o, ask, from, end);
	if (first == end) {
		o->round[i] = FB_IDLE_ORDER_DONE;
		return false;
	}
	round = div64_u64(first - start, o->segment);
	if (round > o->round[i]) {
		o->round[i] = round;
		return false;
	}
	end = min(end, start + (round + 1) * o->segment);
	fb_idle_order_run(o, ask, first, end, out);
	return true;
}

/* Of the round's next regions choose the one that the head reaches first. */
static void fb_idle_order_staggered_nearest(struct fb_idle_order *o,
					    const struct fb_idle_order_ask *ask, u32 i,
					    struct fb_plan_piece *out)
{
	u64 best_ns = fb_idle_order_access_ns(ask, out), ns;
	u32 round = o->round[i], seen = 1;
	struct fb_plan_piece p;

	for (i++; i < o->regions && seen < FB_IDLE_ORDER_STAGGERED_NEXT; i++) {
		if (o->round[i] != round || !fb_idle_order_staggered_look(o, ask, i, &p))
			continue;
		seen++;
		ns = fb_idle_order_access_ns(ask, &p);
		if (out->nsect * ns >= p.nsect * best_ns)
			continue;
		*out = p;
		best_ns = ns;
	}
}

bool fb_idle_order_staggered(struct fb_idle_order *o, const struct fb_idle_order_ask *ask,
			     struct fb_plan_piece *out)
{
	u32 steps, i, k;

	for (steps = 0; steps < FB_IDLE_ORDER_STEPS; steps++) {
		/* the first of the regions with the lowest round */
		for (i = 0, k = 1; k < o->regions; k++)
			if (o->round[k] < o->round[i])
				i = k;
		if (o->round[i] == FB_IDLE_ORDER_DONE)
			memset(o->round, 0, sizeof(o->round));
		else if (fb_idle_order_staggered_look(o, ask, i, out))
			break;
	}
	if (steps == FB_IDLE_ORDER_STEPS)
		return false;
	if (ask->head)
		fb_idle_order_staggered_nearest(o, ask, i, out);
	return true;
}

/* ---- near ---- */

/* the best read so far */
struct fb_idle_order_best {
	u64 first;	/* its first granule */
	u64 end;	/* granule at which it must end */
	u64 wanted;	/* wanted granules */
	u64 ns;		/* time it takes to seek there and read them */
};

static void fb_idle_order_near_offer(struct fb_idle_order_best *best, u64 first, u64 end,
				     u64 wanted, u64 ns)
{
	if (wanted && (!best->wanted || wanted * best->ns > best->wanted * ns))
		*best = (struct fb_idle_order_best) { first, end, wanted, ns };
}

/* The drive reads ahead: value a read by what is wanted on FB_IDLE_ORDER_NEAR_TURNS tracks. */
static void fb_idle_order_near_ahead(const struct fb_idle_order *o,
				     const struct fb_idle_order_ask *ask, u64 first, u32 track,
				     struct fb_idle_order_best *best)
{
	u32 turn_ns = dm_period_ns(ask->dm) + dm_info(ask->dm)->head_switch_ns;
	u32 n = min_t(u64, FB_IDLE_ORDER_NEAR_TURNS * track, o->granules - first);
	const struct fb_plan_piece p = { .lbn = first * o->granule, .nsect = 1 };

	fb_idle_order_near_offer(best, first, o->granules, fb_bitmap_count(ask->bm, first, n),
				 fb_idle_order_access_ns(ask, &p) +
				 FB_IDLE_ORDER_NEAR_TURNS * turn_ns);
}

/*
 * The drive does not read ahead: each command loses what passes until the next one arrives, least
 * if it reads the rest of a track.
 */
static void fb_idle_order_near_alone(const struct fb_idle_order *o,
				     const struct fb_idle_order_ask *ask, u64 first, u64 end,
				     struct fb_idle_order_best *best)
{
	u32 n = min_t(u64, end - first, fb_idle_order_max(o, ask)), wanted;
	struct fb_plan_piece p;
	u64 ns;

	wanted = fb_bitmap_trim(ask->bm, &first, &n);
	if (!wanted)
		return;
	fb_idle_order_piece(o, first, first + n, &p);
	ns = fb_idle_order_access_ns(ask, &p);
	if (!ask->max_ns || ns <= ask->max_ns)
		fb_idle_order_near_offer(best, first, first + n, wanted, ns +
					 FB_IDLE_ORDER_TURNAROUND_NS);
}

static void fb_idle_order_near_track(const struct fb_idle_order *o, const struct dm_track *t,
				     u64 *first, u64 *end)
{
	*first = fb_granule_first(o->granule, t->first_lbn);
	*end = fb_granule_first(o->granule, t->first_lbn + t->nsect);
	*end = min(*end, o->granules);
}

/* the first granule that passes after the head has reached a track */
static u64 fb_idle_order_near_landing(const struct fb_idle_order *o,
				      const struct fb_idle_order_ask *ask, const struct dm_track *t)
{
	struct dm_place to = { .cyl = t->cyl, .head = t->head };
	struct dm_piece piece[2];
	u64 seek_ns = dm_seek_ns(ask->dm, ask->head, &to, false);

	dm_window(ask->dm, t, ask->head->angle + dm_ns_to_angle(ask->dm, seek_ns), DM_TURN,
		  piece);
	return fb_granule_first(o->granule, piece[0].nsect ? piece[0].lbn : t->first_lbn);
}

static void fb_idle_order_near_look(const struct fb_idle_order *o,
				    const struct fb_idle_order_ask *ask, u64 index,
				    struct fb_idle_order_best *best)
{
	u64 first, end, at;
	struct dm_track t;

	if (index >= dm_tracks(ask->dm) || !fb_bitmap_group(ask->bm, index) ||
	    dm_track_by_index(ask->dm, index, &t) || !t.nsect)
		return;
	fb_idle_order_near_track(o, &t, &first, &end);
	at = fb_idle_order_near_landing(o, ask, &t);
	if (!ask->ahead) {
		fb_idle_order_near_alone(o, ask, first, end, best);
		if (at > first && at < end)
			fb_idle_order_near_alone(o, ask, at, end, best);
		return;
	}
	at = fb_bitmap_next_wanted(ask->bm, clamp(at, first, end), end);
	if (at < end)
		fb_idle_order_near_ahead(o, ask, at, end - first, best);
}

/* Offer the nearest places where a wanted run begins, from @word on in steps of @step words. */
static void fb_idle_order_near_starts(const struct fb_idle_order *o,
				      const struct fb_idle_order_ask *ask, u64 word, int step,
				      u32 track, struct fb_idle_order_best *best)
{
	const unsigned long *wanted = ask->bm->wanted;
	unsigned long w, bit;
	u32 found = 0, i, n;
	u64 first;

	for (i = 0; i < FB_IDLE_ORDER_NEAR_WORDS && found < FB_IDLE_ORDER_NEAR_STARTS;
	     i++, word += step) {
		if (word >= BITS_TO_LONGS(o->granules))
			return;
		w = wanted[word] & ~(wanted[word] << 1);
		if (word && wanted[word - 1] >> (BITS_PER_LONG - 1))
			w &= ~1UL;
		for_each_set_bit(bit, &w, BITS_PER_LONG) {
			first = word * BITS_PER_LONG + bit;
			n = min_t(u64, first, track);
			/* a run begins here, apart from holes */
			if (n && fb_bitmap_count(ask->bm, first - n, n) > n / 4)
				continue;
			fb_idle_order_near_ahead(o, ask, first, track, best);
			found++;
			break;
		}
	}
}

static bool fb_idle_order_near_search(const struct fb_idle_order *o,
				      const struct fb_idle_order_ask *ask, const struct dm_track *t,
				      struct fb_idle_order_best *best)
{
	u32 here = dm_track_index(ask->dm, t), i;
	u64 first, end, word;

	fb_idle_order_near_look(o, ask, here, best);
	for (i = 1; i <= FB_IDLE_ORDER_NEAR_TRACKS; i++) {
		fb_idle_order_near_look(o, ask, (u64)here + i, best);
		if (i <= here)
			fb_idle_order_near_look(o, ask, here - i, best);
	}
	if (!t->nsect)
		return best->wanted;
	fb_idle_order_near_track(o, t, &first, &end);
	word = first / BITS_PER_LONG;
	if (ask->ahead)
		fb_idle_order_near_starts(o, ask, word, 1, end - first, best);
	if (ask->ahead && word)
		fb_idle_order_near_starts(o, ask, word - 1, -1, end - first, best);
	return best->wanted;
}

/* is there something wanted at the cursor, or not far behind it? Nobody has been there at first */
static bool fb_idle_order_near_goes_on(const struct fb_idle_order *o,
				       const struct fb_idle_order_ask *ask, u64 *first)
{
	u64 end = min(o->cursor + FB_IDLE_ORDER_ON_SECTORS / o->granule + 1, o->granules);

	*first = fb_bitmap_next_wanted(ask->bm, o->cursor, end);
	return o->cursor && *first < end;
}

/* Where the drive reads ahead, what follows its last command costs least; else a map tells. */
bool fb_idle_order_near(struct fb_idle_order *o, const struct fb_idle_order_ask *ask,
			struct fb_plan_piece *out)
{
	struct fb_idle_order_best best = { .wanted = 0 };
	bool map = ask->dm && ask->head;
	struct dm_track t;
	u64 first;
	u32 here;

	/* on behind what the foreground or the last idle read has ended with */
	if ((!map || ask->ahead) && ask->aimed)
		o->cursor = ask->over ? div_u64(ask->aim, o->granule) :
			    fb_granule_first(o->granule, ask->aim);
	if (!map || ask->ahead)
		o->cursor = min(o->cursor + ask->skip, o->granules);
	if (!map || dm_track_at(ask->dm, ask->head->cyl, ask->head->head, &t))
		return fb_idle_order_sequential(o, ask, out);
	if (ask->ahead && fb_idle_order_near_goes_on(o, ask, &first)) {
		fb_idle_order_run(o, ask, first, o->granules, out);
		return true;
	}
	if (!fb_idle_order_near_search(o, ask, &t, &best)) {
		here = dm_track_index(ask->dm, &t);
		o->cursor = fb_group_first(ask->dm, o->granule, ask->bm, &here);
		return fb_idle_order_sequential(o, ask, out);
	}
	fb_idle_order_run(o, ask, best.first, best.end, out);
	return true;
}

/* ---- for hosts ---- */

int fb_idle_order_init(struct fb_idle_order *o, fb_idle_order_fn find,
		       u64 sectors, u32 granule_sectors, u32 regions, u32 segment_sectors)
{
	if (!regions)
		regions = FB_IDLE_ORDER_REGIONS;
	if (!segment_sectors)
		segment_sectors = max(FB_IDLE_ORDER_SEGMENT, granule_sectors);
	if (regions > FB_IDLE_ORDER_REGIONS_MAX || segment_sectors % granule_sectors)
		return -EINVAL;
	memset(o, 0, sizeof(*o));
	o->find = find;
	o->sectors = sectors;
	o->granule = granule_sectors;
	o->granules = fb_granule_first(granule_sectors, sectors);
	o->join = FB_IDLE_ORDER_JOIN_SECTORS / granule_sectors;
	o->regions = regions;
	o->region = div_u64(o->granules + regions - 1, regions);
	o->segment = segment_sectors / granule_sectors;
	return 0;
}

bool fb_idle_order_next(struct fb_idle_order *o, const struct fb_idle_order_ask *ask,
			struct fb_plan_piece *out)
{
	if (!ask->bm->n_wanted || !o->find(o, ask, out) || !fb_idle_order_shorten(o, ask, out))
		return false;
	o->cursor = fb_granule_first(o->granule, out->lbn + out->nsect);
	return true;
}
