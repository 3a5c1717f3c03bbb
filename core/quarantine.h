/* SPDX-License-Identifier: GPL-2.0 */
/* Blocks that cannot be read, and the quarantine around them. Core; the caller serialises. */
#ifndef FB_QUARANTINE_H
#define FB_QUARANTINE_H

#include "core/search.h"

#define FB_QUARANTINE_LISTED 512	/* bad blocks that are listed; all are counted */
#define FB_QUARANTINE_ZONES 32		/* most quarantined ranges */
/* most ranges in doubt; the oldest are forgotten */
#define FB_QUARANTINE_DOUBTS FB_QUARANTINE_ZONES

#define FB_QUARANTINE_KIB 1024	/* quarantine on each side: at least the neighbouring tracks */
#define FB_QUARANTINE_SLOW_S 60		/* pause after a slow recovery, s */
#define FB_QUARANTINE_SLOW_MOST 3		/* slow recoveries in a row that pause tasks */

/*
 * A zone ends a day after the last error in it, or it would never be read on a disk that is never
 * idle: by then a burst is over.
 */
#define FB_QUARANTINE_ZONE_NS FB_DAY_NS

/* so many errors that are not the medium's are risked in so long on a careful disk */
#define FB_QUARANTINE_OTHERS 2
#define FB_QUARANTINE_OTHERS_NS (600ULL * NSEC_PER_SEC)
/* so many errors in a row that are not the medium's pause tasks: nothing can be read */
#define FB_QUARANTINE_ROW 16

/* this many bad blocks per this time have a uevent each; one uevent sums up the others */
#define FB_QUARANTINE_REPORTED 16
#define FB_QUARANTINE_REPORTED_NS (60ULL * NSEC_PER_SEC)

/* A range that could not be read */
struct fb_doubt {
	u64 first;			/* first sector */
	u64 count;
	bool alone;	/* one block, which failed in a read of its own or was named */
	bool command;	/* a VERIFY or FUA failed, not by the medium: it may be at fault */
	bool proven;	/* that block was found to be bad, by errors that are not the medium's */
};

/* A bad block */
struct fb_quarantine_bad {
	u64 lbn;			/* first sector */
	u32 nsect;
	u32 times;			/* how often it was found to be bad */
};

/* What is known of a disk's bad blocks */
struct fb_quarantine {
	u32 granule;			/* sectors per block */
	u64 sectors;			/* sectors of the disk */
	/*
	 * Quarantined ranges, read only while the disk is idle; they do not overlap. The thread
	 * writes this and what follows with the disk's lock held, so it may read without.
	 */
	struct fb_avoid zone[FB_QUARANTINE_ZONES];
	u64 until_ns[FB_QUARANTINE_ZONES];	/* when each of them ends */
	u32 zones;
	struct fb_doubt doubt[FB_QUARANTINE_DOUBTS];	/* ring of ranges that could not be read */
	u32 doubts;			/* number of entries ever made in @doubt */
	u64 doubt_ns;			/* when one of them was last tried */
	u64 failed_ns;			/* when a read last failed */
	u64 next_ns;	/* nothing in a zone or in doubt is read in idle time before this */
	u32 slow_row;			/* slow recoveries since the last good read of a zone */
	/* errors not the medium's may cost the disk its queue (libata: 4 in 600 s) */
	bool careful;
	bool idle_only;	/* a try may take long: what is in doubt is read in idle time only */
	u64 other_ns[FB_QUARANTINE_OTHERS];	/* the last of these, the oldest at @others */
	u32 others;	/* how many there were in all, modulo FB_QUARANTINE_OTHERS */
	u32 failed_row;			/* errors since the last good read */
	struct fb_quarantine_bad list[FB_QUARANTINE_LISTED]; /* those that were found first */
	u32 listed;
	u64 total;			/* bad blocks found */
	u32 reported;			/* those with a uevent since @reported_ns */
	u64 reported_ns;		/* beginning of the period for which @reported counts */
	u32 unreported;			/* bad blocks without a uevent so far */
	u64 alarms;			/* how often tasks were asked to pause */
	u32 quarantine_kib;		/* see FB_QUARANTINE_KIB; 0: no quarantine */
	u32 slow_s;			/* see FB_QUARANTINE_SLOW_S */
	u32 slow_most;			/* see FB_QUARANTINE_SLOW_MOST */
};

/* A read that has ended */
struct fb_quarantine_read {
	u64 lbn;			/* first sector */
	u32 nsect;
	u32 good;			/* sectors before the first that was not read */
	bool failed;			/* some sector was not read */
	bool named;			/* the drive says which one */
	bool medium;			/* the drive says that the medium is at fault */
	bool command;			/* it was a VERIFY or FUA, and failed without that */
	bool joined;	/* it was prepended to a foreground read in the same command */
	u64 took_ns;			/* how long it took */
};

/* What follows from a read that has ended, or-ed */
enum fb_quarantine_verdict {
	/* the block with its first unread sector is bad; else what was not read is read again */
	FB_QUARANTINE_KNOWN = 1,
	FB_QUARANTINE_NEW = 2,		/* the block was not known to be bad */
	FB_QUARANTINE_REPORT = 4,	/* the block must have a uevent of its own */
	FB_QUARANTINE_ALARM = 8,	/* slow recoveries do not end: tasks must pause */
	FB_QUARANTINE_DROPPED = 16,	/* too many zones: the oldest ended for a new one */
	FB_QUARANTINE_STOP = 32,	/* other errors do not end: tasks must pause */
};

void fb_quarantine_init(struct fb_quarantine *b);
void fb_quarantine_begin(struct fb_quarantine *b, u32 granule, u64 sectors, bool careful);
void fb_quarantine_expire(struct fb_quarantine *b, u64 now);
u64 fb_quarantine_quarantined(const struct fb_quarantine *b);
const struct fb_avoid *fb_quarantine_zone(const struct fb_quarantine *b, u64 lbn, u64 nsect);
bool fb_quarantine_doubts(const struct fb_quarantine *b, u64 lbn, u64 nsect);
bool fb_quarantine_by_read(const struct fb_quarantine *b, u64 lbn, u32 nsect);
bool fb_quarantine_cut(const struct fb_quarantine *b, const struct fb_bitmap *bm, u64 now,
		       struct fb_plan *plan);
void fb_quarantine_sent(struct fb_quarantine *b, u64 lbn, u32 nsect, u64 now);
u32 fb_quarantine_ended(struct fb_quarantine *b, const struct fb_quarantine_read *read, u64 now);
u32 fb_quarantine_unreported(struct fb_quarantine *b, u64 now, bool flush);
bool fb_quarantine_idle(const struct fb_quarantine *b, const struct fb_bitmap *bm, u64 now,
			u32 max_sectors, struct fb_plan_piece *piece);
bool fb_quarantine_divert(const struct fb_quarantine *b, const struct fb_bitmap *bm,
			  struct fb_plan_piece *piece);

#endif /* FB_QUARANTINE_H */
