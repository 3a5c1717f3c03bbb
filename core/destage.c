// SPDX-License-Identifier: GPL-2.0
/*
 * What a drive with a write-back cache still has to do. The medium is never idle while there is a
 * command for it or a dirty write. So the time that it has worked, less what the commands that were
 * seen to end should have taken, is time in which it has written. Core.
 */
#include "core/destage.h"

/* after so many reads without a write the policy orders again, and gaps are used */
#define FB_DESTAGE_READS 32

#define FB_DESTAGE_JOB_MOST 8		/* turns; longer jobs are error recovery */
/* writes that are counted: more would take seconds, and flushes that a host cannot see end them */
#define FB_DESTAGE_DIRTY_MOST 256

/*
 * The margin shrinks by this part of a turn with each idle read that comes in time, and grows by
 * twice that with a late one: one in three is late then, fewer would cost more idle time than they
 * save. One for which nothing is read ahead waits for its angle, too, and may keep the drive from a
 * second write: one in seventeen is late.
 */
#define FB_DESTAGE_STEP 32
#define FB_DESTAGE_RISE 2
#define FB_DESTAGE_RISE_ALONE 16
#define FB_DESTAGE_MARGIN_MOST 1
#define FB_DESTAGE_MARGIN_LEAST 2

/*
 * One interval in so many does not wait, and at first some in a row. Nine of ten of their reads
 * come late of drives that write at once, one of those that hold writes back.
 */
#define FB_DESTAGE_BARE_OF 256
#define FB_DESTAGE_BARES 8
#define FB_DESTAGE_LAZY_BARE_OF 8
#define FB_DESTAGE_BARE_LEAST (FB_ONE * 3 / 8)

/* The map is not believed while more reads come late that were sent by it, of 32 or so. */
#define FB_DESTAGE_ASTRAY (FB_ONE / 4)
#define FB_DESTAGE_ASTRAY_SHIFT 5

/*
 * After so many intervals in which the wait was too long, the next one does not wait: only an idle
 * read corrects what is believed.
 */
#define FB_DESTAGE_PASSED 64

static void fb_destage_clean(struct fb_destage *d, u64 ns)
{
	d->dirty = 0;
	d->spare_ns = 0;
	d->clean_ns = ns;
	/* what a map knows is known better */
	if (d->writeback.lost)
		fb_writeback_clean(&d->writeback);
}

void fb_destage_init(struct fb_destage *d, u64 turn_ns)
{
	memset(d, 0, sizeof(*d));
	d->turn_ns = turn_ns;
	d->sure = true;
	d->bare_now = true;
}

void fb_destage_forget(struct fb_destage *d, u64 now)
{
	d->reads = 0;
	d->medium = 0;
	d->idle = false;
	fb_destage_clean(d, now);
	fb_writeback_lose(&d->writeback);
	d->writeback.lost = true;
	d->sure = false;
	/* the next idle read is the first behind a write that we have not seen */
	d->judge = false;
}

void fb_destage_set_cache(struct fb_destage *d, bool on, u64 now)
{
	u64 turn_ns = d->turn_ns;

	if (d->on == on)
		return;
	fb_destage_init(d, turn_ns);
	d->on = on;
	d->at_ns = now;
}

bool fb_destage_orders(const struct fb_destage *d)
{
	return d->on && d->reads < FB_DESTAGE_READS;
}

/* writes stay in the cache for a while: idle reads do not wait, and the head stays */
static bool fb_destage_is_lazy(const struct fb_destage *d)
{
	return d->bares == FB_DESTAGE_BARES && d->bare < FB_DESTAGE_BARE_LEAST;
}

/* is it known by a map when the last write ends, and does that come true? */
static bool fb_destage_has_map(const struct fb_destage *d)
{
	return d->writeback.ends && !fb_destage_is_lazy(d) && d->astray < FB_DESTAGE_ASTRAY;
}

/* do idle reads begin when it says? */
static bool fb_destage_follows(const struct fb_destage *d)
{
	return fb_destage_has_map(d) && !d->bare_now;
}

bool fb_destage_rests(const struct fb_destage *d)
{
	bool written = fb_destage_has_map(d) && !d->writeback.end_lbn;

	return d->on && (d->sure || written) && d->reads > 1;
}

void fb_destage_arrived(struct fb_destage *d, bool write)
{
	d->reads = write ? 0 : min_t(u32, d->reads + 1, FB_DESTAGE_READS);
}

/* ---- the account ---- */

/*
 * What one of @jobs takes: with the nearest first, seek and wait are shorter by n + 1; alone a turn
 * and a half.
 */
static u64 fb_destage_job_ns(const struct fb_destage *d, u32 jobs)
{
	return d->turn_ns / 2 + div_u64(2 * d->turn_ns, jobs + 1);
}

static void fb_destage_settle(struct fb_destage *d)
{
	u64 job_ns;

	for (; d->dirty; d->dirty--) {
		job_ns = fb_destage_job_ns(d, d->medium + d->dirty);
		if (d->spare_ns < (s64)job_ns)
			return;
		d->spare_ns -= job_ns;
	}
	if (!d->medium)
		fb_destage_clean(d, d->at_ns - max_t(s64, d->spare_ns, 0));
}

static void fb_destage_advance(struct fb_destage *d, u64 now)
{
	u64 ns = now - min(d->at_ns, now);

	/* completions are told with their own times, which may lie before what was told last */
	d->at_ns = max(d->at_ns, now);
	if (d->idle || !(d->medium + d->dirty))
		return;
	d->spare_ns += ns;
	/* while there are commands it is not known which job is in service */
	if (!d->medium)
		fb_destage_settle(d);
}

void fb_destage_sent(struct fb_destage *d, u64 now, bool cached, u64 lbn, u32 nsect)
{
	if (!d->on)
		return;
	fb_destage_advance(d, now);
	if (!cached) {
		d->medium++;
		return;
	}
	d->sure = false;
	if (!d->dirty || lbn != d->next_lbn)
		d->dirty = min_t(u32, d->dirty + 1, FB_DESTAGE_DIRTY_MOST);
	d->next_lbn = lbn + nsect;
	d->owed = d->dirty;
	d->judge = true;
}

void fb_destage_ended(struct fb_destage *d, u64 now, bool cached)
{
	if (!d->on || cached || !d->medium)
		return;
	fb_destage_advance(d, now);
	/* commands that the cache has served are shorter than jobs, however many come */
	d->spare_ns = max_t(s64, d->spare_ns - (s64)fb_destage_job_ns(d, d->medium + d->dirty),
			    -(s64)(FB_DESTAGE_JOB_MOST * d->turn_ns));
	d->medium--;
	fb_destage_settle(d);
	d->owed = d->dirty;
	d->passed += !d->medium;
}

/* ---- idle reads ---- */

bool fb_destage_moves(const struct fb_destage *d, u64 *lbn)
{
	bool follows = fb_destage_follows(d);
	u64 next = follows ? d->writeback.end_lbn : d->next_lbn;

	if (follows ? !next : (!d->dirty || d->bare_now))
		return false;
	*lbn = next - 1;
	return true;
}

u64 fb_destage_clean_ns(const struct fb_destage *d)
{
	return fb_destage_follows(d) ? d->writeback.due_ns : 0;
}

u64 fb_destage_begin_ns(struct fb_destage *d, u64 now)
{
	s64 ns;
	u32 i;

	if (!d->on || d->sure)
		return 0;
	fb_destage_advance(d, now);
	if (fb_destage_follows(d))
		return d->writeback.due_ns;
	/* over a write it is the drive's work that is waited for, and early it costs most */
	if ((d->bare_now && !fb_destage_is_lazy(d)) || d->passed >= FB_DESTAGE_PASSED)
		return 0;
	ns = d->dirty ? d->at_ns - d->spare_ns : d->clean_ns;
	for (i = d->dirty; i; i--)
		ns += fb_destage_job_ns(d, i);
	return max_t(s64, ns + d->margin_ns, 0);
}

enum fb_destage_aim fb_destage_aim(struct fb_destage *d, u64 *lbn)
{
	*lbn = d->next_lbn;
	/* some do not go there, or nothing would be learnt any more */
	d->over = fb_destage_is_lazy(d) && d->tries % FB_DESTAGE_LAZY_BARE_OF;
	if (d->over)
		return FB_DESTAGE_OVER;
	if (fb_destage_follows(d)) {
		*lbn = d->writeback.end_lbn;
		return *lbn ? FB_DESTAGE_BEHIND : FB_DESTAGE_AWAY;
	}
	return d->bare_now ? FB_DESTAGE_AWAY : FB_DESTAGE_BEHIND;
}

void fb_destage_idle_sent(struct fb_destage *d, u64 now)
{
	if (!d->on)
		return;
	fb_destage_advance(d, now);
	d->idle = true;
	d->followed = fb_destage_follows(d);
	d->passed = 0;
	d->before = d->dirty;
	d->first = d->judge;
	d->single = d->owed == 1;
	d->judge = false;
}

static void fb_destage_learn_wait(struct fb_destage *d, bool late)
{
	s64 step = div_u64(d->turn_ns, FB_DESTAGE_STEP);
	s64 rise = step * (d->alone ? FB_DESTAGE_RISE_ALONE : FB_DESTAGE_RISE);

	d->firsts++;
	d->lates += late;
	if (d->over)
		return;
	if (d->bare_now) {
		d->bares = min_t(u32, d->bares + 1, FB_DESTAGE_BARES);
		d->bare -= d->bare / d->bares;
		d->bare += late ? FB_ONE / d->bares : 0;
	} else if (!d->followed) {
		d->margin_ns = clamp_t(s64, d->margin_ns + (late ? rise : -step),
				       -(s64)d->turn_ns * FB_DESTAGE_MARGIN_LEAST,
				       (s64)d->turn_ns * FB_DESTAGE_MARGIN_MOST);
	}
}

void fb_destage_idle_ended(struct fb_destage *d, u64 now, bool known, s64 late_ns)
{
	bool late = late_ns > (s64)d->turn_ns / 2;

	if (!d->on)
		return;
	d->idle = false;
	d->at_ns = now;
	if (!known)
		return;
	/* the first since a write: only behind a single one is it known where the head was */
	if (d->first) {
		d->tries++;
		d->astray -= d->astray >> FB_DESTAGE_ASTRAY_SHIFT;
		d->astray += late && d->followed ? FB_ONE >> FB_DESTAGE_ASTRAY_SHIFT : 0;
		if (d->single)
			fb_destage_learn_wait(d, late);
		d->bare_now = d->bares < FB_DESTAGE_BARES || fb_destage_is_lazy(d) ||
			      !(d->tries % FB_DESTAGE_BARE_OF);
	}
	/* a write that came behind the read is still to be done */
	d->spare_ns = 0;
	/* some of them may have been settled meanwhile, as a command beside the read has ended */
	d->dirty -= min(d->dirty, late ? min(d->before, 1U) : d->before);
	d->owed = d->dirty;
	if (!d->dirty) {
		fb_destage_clean(d, now);
		fb_writeback_clean(&d->writeback);
		d->sure = true;
	}
}
