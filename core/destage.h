/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a drive with a write-back cache still has to do: it acknowledges writes at once and puts
 * them on the medium later, in an order of its own. From commands and completions alone this
 * follows how many writes are still in the cache and when the last will be on the medium, and
 * decides who orders. By a map of the drive it is known better (core/writeback.h). Core; the caller
 * serialises. Times are ns of one monotonic clock.
 */
#ifndef FB_DESTAGE_H
#define FB_DESTAGE_H

#include "core/writeback.h"

/* Where the first idle read behind a cached write is to be */
enum fb_destage_aim {
	FB_DESTAGE_BEHIND,	/* behind the last, where the head is when it is on the medium */
	FB_DESTAGE_OVER,		/* over it */
	FB_DESTAGE_AWAY,	/* as without it: to learn if the drive is at work, or it is not */
};

/* The cache and what is learnt of it; all private but @on, @alone and @writeback */
struct fb_destage {
	bool on;			/* there is a write-back cache, and it is on */
	bool alone;	/* nothing is read ahead for the idle read at the drive, or the next one */
	u64 turn_ns;			/* one revolution */
	u32 reads;			/* foreground reads since the last write, saturating */
	u32 medium;	/* commands at the drive that reach the medium before they are reported */
	u32 dirty;			/* writes believed to be in the cache only */
	bool sure;			/* an idle read showed @dirty to be 0, no write since */
	u64 next_lbn;			/* behind the last write: what continues there joins it */
	struct fb_writeback writeback;	/* by a map of the drive: which writes are left */
	u32 astray;	/* share of first idle reads late though it said when; of FB_ONE */
	bool followed;			/* the idle read at the drive was sent when it said */
	u64 at_ns;			/* the account is kept up to this time */
	/* work that no job accounts for yet; < 0: jobs were shorter than believed */
	s64 spare_ns;
	u64 clean_ns;			/* when the last write went to the medium, as believed */
	s64 margin_ns;			/* how much longer than believed idle reads wait */
	bool bare_now;	/* this interval's idle reads do not wait, to learn whether they must */
	u32 passed;	/* times the drive's last command ended since the last idle read */
	u32 tries;			/* first idle reads after a write */
	bool judge;			/* the next idle read is the first since a write */
	u32 owed;			/* @dirty when the drive's last command ended */
	bool idle;			/* an idle read is at the drive */
	u32 before;			/* @dirty when it was sent */
	bool first;			/* it is the first since a write */
	bool single;			/* @owed was 1 when it was sent */
	bool over;	/* the idle read sent next, or at the drive, goes over the last write */
	/*
	 * share of idle reads late that did not wait for the one write believed, of FB_ONE; fades
	 */
	u32 bare;
	u32 bares;			/* how many there were, saturating */
	u64 firsts;	/* count, for status: first idle reads since a single write */
	u64 lates;			/* count, for status: those of them that came late */
};

/* Begin with a clean drive whose cache is off. @turn_ns: one revolution; 0: not known yet. */
void fb_destage_init(struct fb_destage *d, u64 turn_ns);

/* Others have used the drive: what it may have to do is not known. No command is at the drive. */
void fb_destage_forget(struct fb_destage *d, u64 now);

/* Is the drive's write-back cache on? */
void fb_destage_set_cache(struct fb_destage *d, bool on, u64 now);

/* Is the drive to order? While there are writes, which would wait for the medium if held back. */
bool fb_destage_orders(const struct fb_destage *d);
/* Has its cache nothing to write, and were the last two requests reads? */
bool fb_destage_rests(const struct fb_destage *d);

/* A foreground request has come. */
void fb_destage_arrived(struct fb_destage *d, bool write);
/* Any command but an idle read was sent. @cached: a write reported when the cache has it. */
void fb_destage_sent(struct fb_destage *d, u64 now, bool cached, u64 lbn, u32 nsect);
/* It has ended, however. @cached: as when it was sent. */
void fb_destage_ended(struct fb_destage *d, u64 now, bool cached);

/* Does the drive move the head by itself? @lbn: out: end of the write that it may do last. */
bool fb_destage_moves(const struct fb_destage *d, u64 *lbn);

/* Until when idle reads wait for a clean drive, past or future. No command is at the drive. */
u64 fb_destage_begin_ns(struct fb_destage *d, u64 now);

/* Has the drive surely nothing to write? */
static inline bool fb_destage_is_clean(const struct fb_destage *d)
{
	return !d->on || d->sure;
}

/* When an idle read that is sent begins on a clean drive, less overhead; 0: not known. */
u64 fb_destage_clean_ns(const struct fb_destage *d);

/*
 * Where the first idle read behind cached writes is to be. @lbn: out: behind the last of them. A
 * drive that holds writes back puts one on the medium when somebody reads there: better an idle
 * read than the foreground.
 */
enum fb_destage_aim fb_destage_aim(struct fb_destage *d, u64 *lbn);

/* An idle read was sent. */
void fb_destage_idle_sent(struct fb_destage *d, u64 now);
/* It has ended, @late_ns later than predicted, if that is @known. */
void fb_destage_idle_ended(struct fb_destage *d, u64 now, bool known, s64 late_ns);

#endif /* FB_DESTAGE_H */
