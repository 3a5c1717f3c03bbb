// SPDX-License-Identifier: GPL-2.0
/*
 * Handling of bad blocks. A drive may try for seconds to recover a sector while the foreground
 * waits, and bad sectors come in bursts. So the blocks around one that the medium does not give
 * back are quarantined: they are read only while the disk is idle, with a pause after each slow
 * recovery; if slow recoveries do not end, tasks must pause. An error that does not tell which
 * block is bad, or that may pass, puts blocks in doubt: each is read again alone, and is bad only
 * if it has failed twice that way. Blocks in doubt are not quarantined. Core; see struct
 * fb_quarantine for locking.
 */
#include "core/quarantine.h"

/* least time between reads of blocks in doubt in gaps; also that a passing fault is given */
#define FB_QUARANTINE_DOUBT_NS (5ULL * NSEC_PER_SEC)

/* a read that takes this long is a slow recovery: no seek and no queue of two takes so long */
#define FB_QUARANTINE_SLOW_NS NSEC_PER_SEC

/* sectors per read of what is not in doubt: 128 KiB */
#define FB_QUARANTINE_PIECE 256U

/* Initialise with no bad blocks. @b: zeroed. */
void fb_quarantine_init(struct fb_quarantine *b)
{
	b->quarantine_kib = FB_QUARANTINE_KIB;
	b->slow_s = FB_QUARANTINE_SLOW_S;
	b->slow_most = FB_QUARANTINE_SLOW_MOST;
}

static u32 fb_quarantine_n_doubts(const struct fb_quarantine *b)
{
	return min_t(u32, b->doubts, FB_QUARANTINE_DOUBTS);
}

/*
 * A disk's first task begins: forget all doubt but what was proven by errors that are not the
 * medium's, each of which is dear. Zones end if blocks have another size.
 */
void fb_quarantine_begin(struct fb_quarantine *b, u32 granule, u64 sectors, bool careful)
{
	u32 n = fb_quarantine_n_doubts(b), i;

	b->doubts = 0;
	/* zones are whole blocks */
	if (b->granule != granule)
		b->zones = 0;
	else
		for (i = 0; i < n; i++)
			if (b->doubt[i].proven)
				b->doubt[b->doubts++] = b->doubt[i];
	b->granule = granule;
	b->sectors = sectors;
	b->careful = careful;
	b->failed_row = 0;
}

static bool fb_quarantine_meets(u64 first, u64 count, u64 lbn, u64 nsect)
{
	return lbn < first + count && first < lbn + nsect;
}

/* ---- zones ---- */

/* The first zone that some sectors overlap; NULL: none of them is quarantined. */
const struct fb_avoid *fb_quarantine_zone(const struct fb_quarantine *b, u64 lbn, u64 nsect)
{
	const struct fb_avoid *first = NULL, *z;

	for (z = b->zone; z < b->zone + b->zones; z++)
		if (fb_quarantine_meets(z->first, z->end - z->first, lbn, nsect) &&
		    (!first || z->first < first->first))
			first = z;
	return first;
}

/* Sectors that are quarantined. */
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

/* End the zones whose time is over. The disk's lock held. */
void fb_quarantine_expire(struct fb_quarantine *b, u64 now)
{
	u32 i = b->zones;

	while (i--)
		if (b->until_ns[i] <= now)
			fb_quarantine_end_zone(b, i);
}

/*
 * Add a zone around some sectors, joined with those that it overlaps. Of too many the one without
 * an error for longest ends.
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
		verdict = FB_QUARANTINE_DROPPED;
	}
	b->zone[b->zones].first = first;
	b->zone[b->zones].end = end;
	b->until_ns[b->zones++] = now + FB_QUARANTINE_ZONE_NS;
	return verdict;
}

/* ---- doubt ---- */

/* Is any of these sectors in doubt, so that its block must be read alone? */
bool fb_quarantine_doubts(const struct fb_quarantine *b, u64 lbn, u64 nsect)
{
	u32 i;

	for (i = 0; i < fb_quarantine_n_doubts(b); i++)
		if (fb_quarantine_meets(b->doubt[i].first, b->doubt[i].count, lbn, nsect))
			return true;
	return false;
}

static bool fb_quarantine_failed_alone(const struct fb_quarantine *b, u64 lbn, bool by_read)
{
	u32 i;

	for (i = 0; i < fb_quarantine_n_doubts(b); i++)
		if (b->doubt[i].alone && b->doubt[i].first == lbn &&
		    !(by_read && b->doubt[i].command))
			return true;
	return false;
}

/* This block is bad, and not by the medium's word: no command is at fault. */
static void fb_quarantine_prove(struct fb_quarantine *b, u64 lbn)
{
	u32 i;

	for (i = 0; i < fb_quarantine_n_doubts(b); i++) {
		struct fb_doubt *d = &b->doubt[i];

		if (!fb_quarantine_meets(d->first, d->count, lbn, 1))
			continue;
		d->command = false;
		d->proven |= d->alone;
	}
}

static bool fb_quarantine_is_proven(const struct fb_quarantine *b, u64 lbn)
{
	u32 i;

	for (i = 0; i < fb_quarantine_n_doubts(b); i++)
		if (b->doubt[i].proven && b->doubt[i].first == lbn)
			return true;
	return false;
}

/*
 * Is a plain READ to tell whether a block can be read? On a careful disk each error is dear, and a
 * VERIFY or FUA that fails would prove nothing.
 */
bool fb_quarantine_by_read(const struct fb_quarantine *b, u64 lbn, u32 nsect)
{
	return b->careful && nsect <= b->granule && fb_quarantine_doubts(b, lbn, nsect) &&
	       !fb_quarantine_is_proven(b, lbn);
}

/* cut the first piece before what is in doubt, or to one block of it; false: nothing is left */
static bool fb_quarantine_cut_piece(const struct fb_quarantine *b, const struct fb_bitmap *bm,
				    u64 now, struct fb_plan *plan)
{
	struct fb_plan_piece *p = &plan->piece[0];
	u32 i;

	for (i = 0; i < fb_quarantine_n_doubts(b); i++) {
		u64 first = b->doubt[i].first;

		if (!fb_quarantine_meets(first, b->doubt[i].count, p->lbn, p->nsect))
			continue;
		/* like a zone, it ends some day: the disk may never be idle */
		if (plan->kind == FB_PLAN_PREPEND ||
		    ((b->careful || b->idle_only) && p->lbn >= first &&
		     now - b->failed_ns < FB_QUARANTINE_ZONE_NS) ||
		    (p->lbn >= first && now - b->doubt_ns < FB_QUARANTINE_DOUBT_NS))
			return false;
		p->nsect = p->lbn < first ? first - p->lbn : min(p->nsect, b->granule);
	}
	plan->wanted = fb_bitmap_count(bm, div_u64(p->lbn, b->granule),
				       fb_granule_first(b->granule, p->nsect));
	return true;
}

/*
 * Shorten a plan for a gap: nothing quarantined, blocks in doubt alone and seldom. False: nothing
 * of it is left.
 */
bool fb_quarantine_cut(const struct fb_quarantine *b, const struct fb_bitmap *bm, u64 now,
		       struct fb_plan *plan)
{
	u32 i;

	/* a search avoids tracks with zones, but a piece may end on the next track */
	for (i = 0; i < plan->npieces; i++)
		if (fb_quarantine_zone(b, plan->piece[i].lbn, plan->piece[i].nsect))
			return false;
	/* with more doubts than are remembered, a forgotten one may be hit, so all reads wait */
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

/* Note that a free or idle read has been sent. */
void fb_quarantine_sent(struct fb_quarantine *b, u64 lbn, u32 nsect, u64 now)
{
	if (fb_quarantine_doubts(b, lbn, nsect))
		b->doubt_ns = now;
}

/* ---- reads that have ended ---- */

/* enter a bad block; is it new, and must it have a uevent? */
static u32 fb_quarantine_enter(struct fb_quarantine *b, u64 lbn, u64 now)
{
	u32 i;

	for (i = 0; i < b->listed; i++) {
		if (b->list[i].lbn == lbn) {
			b->list[i].times++;
			return FB_QUARANTINE_KNOWN;
		}
	}
	b->total++;
	if (b->listed < FB_QUARANTINE_LISTED)
		b->list[b->listed++] = (struct fb_quarantine_bad) { lbn, b->granule, 1 };
	if (!b->unreported &&
	    (!b->reported_ns || now - b->reported_ns >= FB_QUARANTINE_REPORTED_NS)) {
		b->reported_ns = now;
		b->reported = 0;
	}
	if (b->reported == FB_QUARANTINE_REPORTED) {
		b->unreported++;
		return FB_QUARANTINE_KNOWN | FB_QUARANTINE_NEW;
	}
	b->reported++;
	return FB_QUARANTINE_KNOWN | FB_QUARANTINE_NEW | FB_QUARANTINE_REPORT;
}

/* Take the number of bad blocks without a uevent of their own; 0 if too early, but for @flush. */
u32 fb_quarantine_unreported(struct fb_quarantine *b, u64 now, bool flush)
{
	u32 n = b->unreported;

	if (!flush && now - b->reported_ns < FB_QUARANTINE_REPORTED_NS)
		return 0;
	b->unreported = 0;
	return n;
}

static u32 fb_quarantine_count_slow(struct fb_quarantine *b, const struct fb_quarantine_read *read,
				    u64 now)
{
	if (read->took_ns < FB_QUARANTINE_SLOW_NS)
		return 0;
	b->next_ns = max(b->next_ns, now + b->slow_s * NSEC_PER_SEC);
	if (++b->slow_row < b->slow_most)
		return 0;
	b->slow_row = 0;
	b->alarms++;
	return FB_QUARANTINE_ALARM;
}

/* when an error that is not the medium's may be risked again; 0: now */
static u64 fb_quarantine_dare_ns(const struct fb_quarantine *b)
{
	u64 oldest = b->other_ns[b->others];

	return b->careful && oldest ? oldest + FB_QUARANTINE_OTHERS_NS : 0;
}

/*
 * Count an error that is not the medium's: must tasks pause? One more than is risked where
 * something has failed before (@suspect) has all such places wait instead.
 */
static u32 fb_quarantine_count_other(struct fb_quarantine *b, bool suspect, u64 now)
{
	bool many = now < fb_quarantine_dare_ns(b);

	b->other_ns[b->others++] = now;
	b->others %= FB_QUARANTINE_OTHERS;
	if (many && suspect)
		b->next_ns = max(b->next_ns, fb_quarantine_dare_ns(b));
	if (++b->failed_row < FB_QUARANTINE_ROW && (!many || suspect))
		return 0;
	b->failed_row = 0;
	b->alarms++;
	return FB_QUARANTINE_STOP;
}

/* What has been read has not failed by itself. A careful disk's doubts are read in order. */
static void fb_quarantine_absolve(struct fb_quarantine *b, const struct fb_quarantine_read *read)
{
	u64 read_end = read->lbn + read->nsect, end;
	u32 i;

	for (i = 0; i < fb_quarantine_n_doubts(b); i++) {
		struct fb_doubt *d = &b->doubt[i];

		if (!fb_quarantine_meets(d->first, d->count, read->lbn, read->nsect))
			continue;
		end = d->first + d->count;
		if (read_end >= end && (d->alone ? d->first >= read->lbn : b->careful)) {
			*d = (struct fb_doubt) { .first = U64_MAX };
		} else if (!d->alone && b->careful) {
			d->first = read_end;
			d->count = end - read_end;
		}
	}
}

/*
 * Judge from a read that has ended whether a block is bad; enum fb_quarantine_verdict, or-ed. The
 * place of the error is known if the drive said it, or where it stopped, or if it read one block
 * alone. The medium is at fault if the drive says so, or if that block has failed by itself before
 * (on a careful disk: among others), once in a plain READ. Until both are known the blocks are
 * wanted again. The disk's lock is held.
 */
u32 fb_quarantine_ended(struct fb_quarantine *b, const struct fb_quarantine_read *read, u64 now)
{
	u64 bad = read->lbn + read->good - (read->good & (b->granule - 1));
	bool placed = read->named || read->good || (!read->joined && read->nsect <= b->granule);
	bool before, fault, suspect;
	u32 verdict;

	if (!read->failed) {
		b->failed_row = 0;
		fb_quarantine_absolve(b, read);
		if (fb_quarantine_zone(b, read->lbn, read->nsect))
			b->slow_row = 0;
		return 0;
	}
	verdict = fb_quarantine_count_slow(b, read, now);
	b->failed_ns = now;
	before = b->careful && !read->command ? fb_quarantine_doubts(b, bad, 1) :
		 fb_quarantine_failed_alone(b, bad, read->command);
	fault = read->medium || (placed && before);
	suspect = fb_quarantine_zone(b, bad, 1) || fb_quarantine_doubts(b, bad, 1);
	if (!read->medium)
		verdict |= fb_quarantine_count_other(b, suspect, now);
	if (fault)
		verdict |= fb_quarantine_add(b, bad, placed ? b->granule : read->nsect, now);
	else
		b->next_ns = max(b->next_ns, now + FB_QUARANTINE_DOUBT_NS);
	if (placed ? !fb_quarantine_failed_alone(b, bad, false) : !fb_quarantine_doubts(b, bad, 1))
		b->doubt[b->doubts++ % FB_QUARANTINE_DOUBTS] = (struct fb_doubt) {
			.first = bad, .count = placed ? b->granule : read->nsect, .alone = placed,
			.command = read->command
		};
	if (!fault || !placed)
		return verdict;
	if (!read->medium)
		fb_quarantine_prove(b, bad);
	return verdict | fb_quarantine_enter(b, bad, now);
}

/* ---- while the disk is idle ---- */

/* Find the first wanted block of sectors [@first, @end) that is not known to fail, or @dare. */
static bool fb_quarantine_wanted(const struct fb_quarantine *b, const struct fb_bitmap *bm,
				 u64 first, u64 end, bool dare, u64 *at)
{
	u64 last = min(fb_granule_first(b->granule, end), bm->granules);

	*at = fb_bitmap_next_wanted(bm, div_u64(first, b->granule), last);
	while (*at < last && !dare && fb_quarantine_is_proven(b, *at * b->granule))
		*at = fb_bitmap_next_wanted(bm, *at + 1, last);
	return *at < last;
}

/*
 * Find a quarantined piece, or a block in doubt, to read in idle time, before all others. False:
 * none is wanted, or must wait until another error may be risked.
 */
bool fb_quarantine_idle(const struct fb_quarantine *b, const struct fb_bitmap *bm, u64 now,
			u32 max_sectors, struct fb_plan_piece *piece)
{
	u32 most = min(FB_QUARANTINE_PIECE, max_sectors), n = b->granule, i;
	bool dare = now >= fb_quarantine_dare_ns(b);
	u64 at, end = 0;

	if (now < b->next_ns)
		return false;
	for (i = 0; i < b->zones && !end; i++)
		if (fb_quarantine_wanted(b, bm, b->zone[i].first, b->zone[i].end, dare, &at))
			end = min(b->zone[i].end, b->sectors);
	for (i = 0; i < fb_quarantine_n_doubts(b) && !end; i++)
		if ((dare || b->doubt[i].command) &&
		    fb_quarantine_wanted(b, bm, b->doubt[i].first,
					 b->doubt[i].first + b->doubt[i].count, dare, &at))
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

/* the first zone, or range in doubt, that some sectors overlap; false: there is none */
static bool fb_quarantine_obstacle(const struct fb_quarantine *b, u64 lbn, u64 nsect,
				   struct fb_avoid *found)
{
	const struct fb_avoid *z = fb_quarantine_zone(b, lbn, nsect);
	u32 i;

	*found = z ? *z : (struct fb_avoid) { U64_MAX, U64_MAX };
	for (i = 0; i < fb_quarantine_n_doubts(b); i++)
		if (fb_quarantine_meets(b->doubt[i].first, b->doubt[i].count, lbn, nsect) &&
		    b->doubt[i].first < found->first)
			*found = (struct fb_avoid) {
				b->doubt[i].first, b->doubt[i].first + b->doubt[i].count
			};
	return found->first != U64_MAX;
}

/*
 * Keep an idle read off blocks that are quarantined or in doubt: end it before the first, or move
 * it past them. False: nothing else is wanted.
 */
bool fb_quarantine_divert(const struct fb_quarantine *b, const struct fb_bitmap *bm,
			  struct fb_plan_piece *piece)
{
	u32 granule = b->granule, most = fb_granule_first(b->granule, piece->nsect), n = most, i;
	u64 at = div_u64(piece->lbn, granule);
	bool met = false;
	struct fb_avoid z;

	/* pass over all of them in a row, and go on from the start of the disk */
	for (i = 0; i <= 2 * (FB_QUARANTINE_ZONES + FB_QUARANTINE_DOUBTS); i++) {
		met = fb_quarantine_obstacle(b, at * granule, (u64)n * granule, &z);
		if (met && z.first > at * granule) {
			n = div_u64(z.first - at * granule, granule);
			met = false;
		}
		if (!met)
			break;
		at = fb_bitmap_next_wanted(bm, fb_granule_first(b->granule, z.end), bm->granules);
		if (at >= bm->granules)
			at = fb_bitmap_next_wanted(bm, 0, bm->granules);
		if (at >= bm->granules)
			return false;
		n = min((u64)most, bm->granules - at);
	}
	if (met || !fb_bitmap_trim(bm, &at, &n))
		return false;
	piece->lbn = at * granule;
	piece->nsect = min((u64)n * granule, b->sectors - piece->lbn);
	return true;
}
