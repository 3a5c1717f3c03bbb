// SPDX-License-Identifier: GPL-2.0
/*
 * Bad blocks without collateral damage. A drive may try for seconds to recover a sector,
 * and the foreground waits as long; bad sectors come in bursts. So what lies around one
 * that the medium does not give back is quarantined: no gap is used for it. It is read
 * while the disk is idle, after a pause for each slow recovery, and when these do not end,
 * tasks are to pause.
 *
 * An error that does not tell which block is bad, or that may pass (a unit attention, a
 * time-out, a lost link), puts blocks in doubt: they are read again, each alone, and one is
 * bad only when it has failed so twice. Doubt quarantines nothing.
 *
 * All of it is the thread's. What others are to be told is returned, for disk/delivery.c to tell.
 *
 * Calls: fb_bitmap.c. Core: no locks here; see struct fb_quarantine for whose they are.
 */
#include "core/quarantine.h"

/*
 * Blocks in doubt are tried so seldom in gaps, for the drive may take seconds over each;
 * and a fault that may pass gets so long to pass.
 */
#define FB_QUARANTINE_DOUBT_NS (5 * 1000000000ULL)

/* a recovery is slow from here on: no seek and no queue of two takes so long */
#define FB_QUARANTINE_SLOW_NS 1000000000ULL

/* what is not in doubt is read in pieces of so many sectors: 128 KiB */
#define FB_QUARANTINE_PIECE 256U

/**
 * fb_quarantine_init() - nothing is bad
 * @b: zeroed
 *
 * Context: any.
 */
void fb_quarantine_init(struct fb_quarantine *b)
{
	b->quarantine_kib = FB_QUARANTINE_KIB;
	b->slow_s = FB_QUARANTINE_SLOW_S;
	b->slow_most = FB_QUARANTINE_SLOW_MOST;
}

/**
 * fb_quarantine_begin() - a disk's first task begins: no block is in doubt
 * @b: the disk's
 * @granule: sectors of a block
 * @sectors: of the disk
 *
 * Blocks that were in doubt may have been written meanwhile, and what is bad is found again.
 *
 * Context: there is no thread that reads for tasks.
 */
void fb_quarantine_begin(struct fb_quarantine *b, u32 granule, u64 sectors)
{
	b->granule = granule;
	b->sectors = sectors;
	b->doubts = 0;
}

static bool fb_quarantine_meets(u64 first, u64 count, u64 lbn, u64 nsect)
{
	return lbn < first + count && first < lbn + nsect;
}

/* ---- zones ---- */

/**
 * fb_quarantine_limits() - where a search is not to look
 * @b: the disk's
 * @lim: limits of the search
 */
void fb_quarantine_limits(const struct fb_quarantine *b, struct fb_limits *lim)
{
	lim->avoid = b->zone;
	lim->navoid = b->zones;
}

/**
 * fb_quarantine_zone() - is any of these sectors quarantined?
 * @b: the disk's
 * @lbn: first sector
 * @nsect: how many
 *
 * Return: the zone that they meet first; NULL: none.
 */
const struct fb_avoid *fb_quarantine_zone(const struct fb_quarantine *b, u64 lbn, u64 nsect)
{
	const struct fb_avoid *first = NULL, *z;

	for (z = b->zone; z < b->zone + b->zones; z++)
		if (fb_quarantine_meets(z->first, z->end - z->first, lbn, nsect) &&
		    (!first || z->first < first->first))
			first = z;
	return first;
}

/**
 * fb_quarantine_quarantined() - how much of the disk is quarantined
 * @b: the disk's
 *
 * Return: sectors.
 */
u64 fb_quarantine_quarantined(const struct fb_quarantine *b)
{
	u64 sectors = 0;
	u32 i;

	for (i = 0; i < b->zones; i++)
		sectors += b->zone[i].end - b->zone[i].first;
	return sectors;
}

static void fb_quarantine_end_zone(struct fb_quarantine *b, u32 i)
{
	b->zones--;
	b->zone[i] = b->zone[b->zones];
	b->until_ns[i] = b->until_ns[b->zones];
}

/**
 * fb_quarantine_expire() - end the zones whose time is over
 * @b: the disk's
 * @now: the time, ns
 *
 * Context: the disk's lock held.
 */
void fb_quarantine_expire(struct fb_quarantine *b, u64 now)
{
	u32 i = b->zones;

	while (i--)
		if (b->until_ns[i] <= now)
			fb_quarantine_end_zone(b, i);
}

/*
 * A zone around some sectors; those that it meets become part of it. Were there too many,
 * the one that had no error for longest ends: what is bad in it is found again, while a
 * zone over all between two of them would keep much of the disk from being read.
 */
static u32 fb_quarantine_add(struct fb_quarantine *b, u64 lbn, u32 nsect, u64 now)
{
	u64 side = (u64)b->quarantine_kib * 2, first, end;
	u32 verdict = 0, oldest = 0, i = b->zones;

	if (!side)
		return 0;
	first = lbn - min(lbn, side);
	first -= first & (b->granule - 1);
	end = min(lbn + nsect + side + b->granule - 1, b->sectors);
	end = end == b->sectors ? end : end & ~(u64)(b->granule - 1);
	while (i--) {
		if (!fb_quarantine_meets(b->zone[i].first, b->zone[i].end - b->zone[i].first, first,
					 end - first))
			continue;
		first = min(first, b->zone[i].first);
		end = max(end, b->zone[i].end);
		fb_quarantine_end_zone(b, i);
	}
	if (b->zones == FB_QUARANTINE_ZONES) {
		for (i = 1; i < FB_QUARANTINE_ZONES; i++)
			if (b->until_ns[i] < b->until_ns[oldest])
				oldest = i;
		fb_quarantine_end_zone(b, oldest);
		b->dropped++;
		verdict = FB_QUARANTINE_DROPPED;
	}
	b->zone[b->zones].first = first;
	b->zone[b->zones].end = end;
	b->until_ns[b->zones++] = now + FB_QUARANTINE_ZONE_NS;
	return verdict;
}

/* ---- doubt ---- */

/**
 * fb_quarantine_doubts() - is any of these sectors in doubt?
 * @b: the disk's
 * @lbn: first sector
 * @nsect: how many
 *
 * Return: true: it is to be read alone.
 */
bool fb_quarantine_doubts(const struct fb_quarantine *b, u64 lbn, u64 nsect)
{
	u32 i;

	for (i = 0; i < min_t(u32, b->doubts, FB_QUARANTINE_DOUBTS); i++)
		if (fb_quarantine_meets(b->doubt[i].first, b->doubt[i].count, lbn, nsect))
			return true;
	return false;
}

/* did this block fail by itself before? */
static bool fb_quarantine_failed_alone(const struct fb_quarantine *b, u64 lbn)
{
	u32 i;

	for (i = 0; i < min_t(u32, b->doubts, FB_QUARANTINE_DOUBTS); i++)
		if (b->doubt[i].alone && b->doubt[i].first == lbn)
			return true;
	return false;
}

static void fb_quarantine_doubt(struct fb_quarantine *b, u64 lbn, u64 nsect, bool alone)
{
	u32 i = b->doubts++ % FB_QUARANTINE_DOUBTS;

	b->doubt[i].first = lbn;
	b->doubt[i].count = nsect;
	b->doubt[i].alone = alone;
}

/* the first piece reads up to what is in doubt, or one block of it; false: nothing */
static bool fb_quarantine_cut_piece(const struct fb_quarantine *b, const struct fb_bitmap *bm,
				    u64 now, struct fb_plan *plan)
{
	struct fb_plan_piece *p = &plan->piece[0];
	u32 i;

	for (i = 0; i < min_t(u32, b->doubts, FB_QUARANTINE_DOUBTS); i++) {
		u64 first = b->doubt[i].first;

		if (!fb_quarantine_meets(first, b->doubt[i].count, p->lbn, p->nsect))
			continue;
		if (plan->kind == FB_PLAN_PREPEND ||
		    (p->lbn >= first && now - b->doubt_ns < FB_QUARANTINE_DOUBT_NS))
			return false;
		p->nsect = p->lbn < first ? first - p->lbn : min(p->nsect, b->granule);
	}
	plan->wanted = fb_bitmap_count(bm, div_u64(p->lbn, b->granule),
				       div_u64(p->nsect + b->granule - 1, b->granule));
	return true;
}

/**
 * fb_quarantine_cut() - shorten a plan for a gap so that nothing is read that may be bad
 * @b: the disk's
 * @bm: what is wanted
 * @now: the time, ns
 * @plan: the plan; it may read less afterwards, never anything else
 *
 * Quarantined blocks are not read in gaps; blocks in doubt alone, and seldom.
 *
 * Return: false: nothing of it may be read now.
 */
bool fb_quarantine_cut(const struct fb_quarantine *b, const struct fb_bitmap *bm, u64 now,
		       struct fb_plan *plan)
{
	u32 i;

	/* a search keeps off the tracks of zones; what ends on the next one may meet one */
	for (i = 0; i < plan->npieces; i++)
		if (fb_quarantine_zone(b, plan->piece[i].lbn, plan->piece[i].nsect))
			return false;
	/* more than are remembered: those forgotten wait like the others */
	if (b->doubts > FB_QUARANTINE_DOUBTS && now - b->failed_ns < FB_QUARANTINE_DOUBT_NS)
		return false;
	i = 0;
	while (i < plan->npieces && !fb_quarantine_doubts(b, plan->piece[i].lbn,
							  plan->piece[i].nsect))
		i++;
	if (i == plan->npieces)
		return true;
	if (plan->npieces > 1)
		plan->kind = FB_PLAN_SEPARATE;
	plan->npieces = 1;
	return fb_quarantine_cut_piece(b, bm, now, plan);
}

/**
 * fb_quarantine_sent() - a read of ours has been sent
 * @b: the disk's
 * @lbn: first sector
 * @nsect: how many
 * @now: the time, ns
 */
void fb_quarantine_sent(struct fb_quarantine *b, u64 lbn, u32 nsect, u64 now)
{
	if (fb_quarantine_doubts(b, lbn, nsect))
		b->doubt_ns = now;
}

/* ---- what is back ---- */

/* a block is bad; is that news? */
static u32 fb_quarantine_enter(struct fb_quarantine *b, u64 lbn, u64 now)
{
	u32 i;

	for (i = 0; i < b->listed; i++)
		if (b->list[i].lbn == lbn)
			return FB_QUARANTINE_KNOWN;
	b->total++;
	if (b->listed < FB_QUARANTINE_LISTED)
		b->list[b->listed++] = (struct fb_quarantine_block) { lbn, b->granule };
	if (!b->untold && (!b->told_ns || now - b->told_ns >= FB_QUARANTINE_TOLD_NS)) {
		b->told_ns = now;
		b->told = 0;
	}
	if (b->told == FB_QUARANTINE_TOLD) {
		b->untold++;
		return FB_QUARANTINE_KNOWN | FB_QUARANTINE_NEW;
	}
	b->told++;
	return FB_QUARANTINE_KNOWN | FB_QUARANTINE_NEW | FB_QUARANTINE_TELL;
}

/**
 * fb_quarantine_untold() - take the bad blocks that had no uevent of their own
 * @b: the disk's
 * @now: the time, ns
 * @flush: although it is too early
 *
 * Context: the disk's lock held.
 *
 * Return: how many; 0: none, or it is too early to tell.
 */
u32 fb_quarantine_untold(struct fb_quarantine *b, u64 now, bool flush)
{
	u32 n = b->untold;

	if (!flush && now - b->told_ns < FB_QUARANTINE_TOLD_NS)
		return 0;
	b->untold = 0;
	return n;
}

static u32 fb_quarantine_count_slow(struct fb_quarantine *b, const struct fb_quarantine_read *read,
				    u64 now)
{
	if (read->took_ns < FB_QUARANTINE_SLOW_NS)
		return 0;
	b->next_ns = max(b->next_ns, now + b->slow_s * 1000000000ULL);
	if (++b->slow_row < b->slow_most)
		return 0;
	b->slow_row = 0;
	b->alarms++;
	return FB_QUARANTINE_ALARM;
}

/**
 * fb_quarantine_ended() - a read of ours is back: is a block bad?
 * @b: the disk's
 * @read: the read
 * @now: the time, ns
 *
 * The place is known if some of it was read, for then the drive said where it was stopped;
 * and if it was of one block, with no foreground read behind it. The fault is the medium's
 * if the drive says so, or if that block failed by itself before: what Linux would retry
 * (ASC 15h), a time-out, or a unit attention may be over. Until both are known the blocks are
 * wanted again, and read alone where the place is in doubt.
 *
 * Context: the disk's lock held.
 *
 * Return: enum fb_quarantine_verdict, or-ed.
 */
u32 fb_quarantine_ended(struct fb_quarantine *b, const struct fb_quarantine_read *read, u64 now)
{
	u64 bad = read->lbn + read->good - (read->good & (b->granule - 1));
	bool placed = read->good || (!read->joined && read->nsect <= b->granule), fault;
	u32 verdict;

	if (!read->failed) {
		if (fb_quarantine_zone(b, read->lbn, read->nsect))
			b->slow_row = 0;
		return 0;
	}
	verdict = fb_quarantine_count_slow(b, read, now);
	b->failed_ns = now;
	fault = read->medium || (placed && fb_quarantine_failed_alone(b, bad));
	if (fault)
		verdict |= fb_quarantine_add(b, bad, placed ? b->granule : read->nsect, now);
	else
		b->next_ns = max(b->next_ns, now + FB_QUARANTINE_DOUBT_NS);
	if (placed ? !fb_quarantine_failed_alone(b, bad) : !fb_quarantine_doubts(b, bad, 1))
		fb_quarantine_doubt(b, bad, placed ? b->granule : read->nsect, placed);
	return fault && placed ? verdict | fb_quarantine_enter(b, bad, now) : verdict;
}

/* ---- while the disk is idle ---- */

static u64 fb_quarantine_blocks(const struct fb_quarantine *b, u64 sectors)
{
	return div_u64(sectors + b->granule - 1, b->granule);
}

/* the first block wanted of [@first, @end) sectors; false: none is */
static bool fb_quarantine_wanted(const struct fb_quarantine *b, const struct fb_bitmap *bm,
				 u64 first, u64 end, u64 *at)
{
	u64 last = min(fb_quarantine_blocks(b, end), bm->granules);

	*at = fb_bitmap_next_before(bm, div_u64(first, b->granule), last);
	return *at < last;
}

/**
 * fb_quarantine_idle() - a piece of what is quarantined or in doubt, for idle time
 * @b: the disk's
 * @bm: what is wanted
 * @now: the time, ns
 * @max_sectors: the longest read
 * @piece: out: the read; what is in doubt alone
 *
 * Goes before all others, but for the pause after a slow recovery, and after a fault that
 * may pass.
 *
 * Return: false: nothing of it is wanted, or it must wait.
 */
bool fb_quarantine_idle(const struct fb_quarantine *b, const struct fb_bitmap *bm, u64 now,
			u32 max_sectors, struct fb_plan_piece *piece)
{
	u32 most = min(FB_QUARANTINE_PIECE, max_sectors), n = b->granule, i;
	u64 at, end = 0;

	if (now < b->next_ns)
		return false;
	for (i = 0; i < b->zones && !end; i++)
		if (fb_quarantine_wanted(b, bm, b->zone[i].first, b->zone[i].end, &at))
			end = min(b->zone[i].end, b->sectors);
	for (i = 0; i < min_t(u32, b->doubts, FB_QUARANTINE_DOUBTS) && !end; i++)
		if (fb_quarantine_wanted(b, bm, b->doubt[i].first,
					 b->doubt[i].first + b->doubt[i].count, &at))
			end = min((at + 1) * b->granule, b->sectors);
	if (!end)
		return false;
	piece->lbn = at * b->granule;
	while (n + b->granule <= most && piece->lbn + n < end &&
	       fb_bitmap_is_wanted(bm, div_u64(piece->lbn + n, b->granule)) &&
	       !fb_quarantine_doubts(b, piece->lbn, n + b->granule))
		n += b->granule;
	piece->nsect = min((u64)n, b->sectors - piece->lbn);
	return true;
}

/**
 * fb_quarantine_divert() - keep an idle read off what is quarantined and must wait
 * @b: the disk's
 * @bm: what is wanted
 * @piece: a read that begins with something wanted; changed: what is left before the zone
 *	that it meets, or something behind
 *
 * Return: false: there is nothing outside of zones.
 */
bool fb_quarantine_divert(const struct fb_quarantine *b, const struct fb_bitmap *bm,
			  struct fb_plan_piece *piece)
{
	u32 granule = b->granule, most = fb_quarantine_blocks(b, piece->nsect), n = most, i;
	u64 at = div_u64(piece->lbn, granule);
	const struct fb_avoid *z = NULL;

	/* past all zones in a row, and from the start of the disk again */
	for (i = 0; i <= 2 * FB_QUARANTINE_ZONES; i++) {
		z = fb_quarantine_zone(b, at * granule, (u64)n * granule);
		if (z && z->first > at * granule) {
			n = div_u64(z->first - at * granule, granule);
			z = NULL;
		}
		if (!z)
			break;
		at = fb_bitmap_next_wanted(bm, fb_quarantine_blocks(b, z->end));
		if (at >= bm->granules)
			at = fb_bitmap_next_wanted(bm, 0);
		if (at >= bm->granules)
			return false;
		n = min((u64)most, bm->granules - at);
	}
	if (z || !fb_bitmap_trim(bm, &at, &n))
		return false;
	piece->lbn = at * granule;
	piece->nsect = min((u64)n * granule, b->sectors - piece->lbn);
	return true;
}
