// SPDX-License-Identifier: GPL-2.0
/* Can the phase be found at all? See core/phase.h. */
#include "core/head.h"
#include "core/phase.h"

/*
 * A read served in less than this part of a turn may come from a cache, and says nothing of angles,
 * nor does one longer than this part of a track, if it may begin in its middle. It counts a little:
 * behind a cache that answers all there is no phase.
 */
#define FB_PHASE_PART FB_HEAD_CACHE_PART

/*
 * Reads are compared that are so many turns apart at most: a period that is 500 ppm off is 3 % of a
 * turn off by then. They are at all distances up to that, as a wrong period may fit over any one:
 * each FB_PHASE_EACH-th read is noted, and the stride goes through all of them.
 */
#define FB_PHASE_TURNS 64
#define FB_PHASE_EACH 4
#define FB_PHASE_STRIDE 12

/*
 * Of reads that end anywhere one in twelve fits; with a speed 4000 ppm off one in seven; if one in
 * five ends anywhere two thirds. Where a cache answers nine in ten 8/17 of what counts is read.
 */
#define FB_PHASE_FITS_COMPARED 2	/* one in so many from the medium must fit ... */
#define FB_PHASE_FITS_SEEN 3		/* ... and of all */

void fb_phase_init(struct fb_phase *p)
{
	memset(p, 0, sizeof(*p));
	p->pause_ns = FB_PAUSE_NS;
}

static void fb_phase_restart(struct fb_phase *p)
{
	p->seen = 0;
	p->compared = 0;
	p->fits = 0;
}

/* the read to compare the next one with, which ends at @ns; NULL: there is none */
static const struct fb_phase_mark *fb_phase_before(const struct fb_phase *p, u64 period_ns, u64 ns)
{
	u32 back = min(1 + p->compared * FB_PHASE_STRIDE % FB_PHASE_MARKS, p->marks);
	const struct fb_phase_mark *mark;

	for (; back; back /= 2) {
		mark = &p->mark[(p->marks - back) % FB_PHASE_MARKS];
		if (ns - mark->ns <= FB_PHASE_TURNS * period_ns)
			return mark;
	}
	return NULL;
}

static bool fb_phase_fits(const struct fb_phase_mark *mark, u64 period_ns, u32 angle, u64 ns)
{
	u64 due_ns = mul_u64_u32_shr(period_ns, angle - mark->angle, 32), off_ns;

	div64_u64_rem(ns - mark->ns, period_ns, &off_ns);
	off_ns = off_ns > due_ns ? off_ns - due_ns : due_ns - off_ns;
	return min(off_ns, period_ns - off_ns) * FB_HEAD_TOLERANCE_SHARE <= period_ns;
}

/* A read from the medium. The tracked period may have followed reads that fitted by chance. */
static void fb_phase_compare(struct fb_phase *p, u64 period_ns, u32 angle, u64 ns)
{
	const struct fb_phase_mark *before = fb_phase_before(p, period_ns, ns);

	if (before) {
		p->seen += FB_PHASE_SHORT;
		p->compared++;
		p->fits += fb_phase_fits(before, period_ns, angle, ns);
	}
	if (p->compared % FB_PHASE_EACH == 0)
		p->mark[p->marks++ % FB_PHASE_MARKS] =
			(struct fb_phase_mark) { .ns = ns, .angle = angle };
}

/* the angle behind the last sector; false: the drive may have ended the read elsewhere */
static bool fb_phase_angle(const struct disk_model *dm, const struct fb_phase_read *read,
			   u32 *angle)
{
	u64 lbn = read->lbn + read->nsect - 1;
	struct dm_track track;

	/* not that of a remapped sector: it has none on this track */
	if (dm_track_of(dm, lbn, &track) || dm_lbn_angle(dm, &track, lbn, angle))
		return false;
	*angle += track.sector_angle;
	return !dm_info(dm)->zero_latency || read->nsect * FB_PHASE_PART <= track.nsect;
}

static bool fb_phase_decide(struct fb_phase *p, u64 now_ns)
{
	bool hopeless = p->fits * FB_PHASE_FITS_COMPARED < p->compared ||
			p->fits * FB_PHASE_FITS_SEEN * FB_PHASE_SHORT < p->seen;

	fb_phase_restart(p);
	if (!hopeless) {
		p->pause_ns = FB_PAUSE_NS;
		p->given_up = 0;
		return false;
	}
	p->off_until_ns = now_ns + p->pause_ns;
	p->pause_ns = min_t(u64, 2 * p->pause_ns, FB_PAUSE_MAX_NS);
	p->given_up++;
	return true;
}

bool fb_phase_read(struct fb_phase *p, const struct disk_model *dm,
		   const struct fb_phase_read *read)
{
	u64 began_ns = max(read->sent_ns, p->last_ns), period_ns = dm_period_ns(dm);
	u32 angle;

	fb_phase_other(p, read->end_ns);
	if (p->off_until_ns || !fb_phase_angle(dm, read, &angle))
		return false;
	if (read->end_ns < began_ns + period_ns / FB_PHASE_PART)
		p->seen++;
	else
		fb_phase_compare(p, period_ns, angle, read->end_ns);
	return p->seen >= FB_PHASE_READS * FB_PHASE_SHORT && fb_phase_decide(p, read->end_ns);
}

void fb_phase_other(struct fb_phase *p, u64 end_ns)
{
	p->last_ns = max(p->last_ns, end_ns);
}

bool fb_phase_on(struct fb_phase *p, u64 now_ns)
{
	if (!p->off_until_ns)
		return true;
	if (now_ns < p->off_until_ns)
		return false;
	p->off_until_ns = 0;
	p->marks = 0;
	fb_phase_restart(p);
	return true;
}
