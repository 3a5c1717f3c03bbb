/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Blocks that cannot be read, and the quarantine around them; a part of struct fb_disk. Core;
 * the caller serialises.
 */
#ifndef FB_QUARANTINE_H
#define FB_QUARANTINE_H

#include "core/search.h"

/* bad blocks that are listed; all are counted */
#define FB_QUARANTINE_LISTED 512
#define FB_QUARANTINE_ZONES 32		/* most quarantined ranges */
/* most ranges in doubt; the oldest are forgotten */
#define FB_QUARANTINE_DOUBTS 32

#define FB_QUARANTINE_KIB 1024	/* quarantine on each side: at least the neighbouring tracks */
#define FB_QUARANTINE_SLOW_S 60		/* pause after a slow recovery, s */
#define FB_QUARANTINE_SLOW_MOST 3		/* slow recoveries in a row that pause tasks */

/*
 * A zone ends a day after the last error in it: by then a burst is over, and what is still
 * bad is found again at the cost of one recovery. If it did not end, its blocks would never be
 * read on a disk that is never idle, and gaps would not be used for repaired sectors.
 */
#define FB_QUARANTINE_ZONE_NS (24 * 3600 * 1000000000ULL)

/* so many errors that are not the medium's are risked in so long on a careful disk */
#define FB_QUARANTINE_OTHERS 2
#define FB_QUARANTINE_OTHERS_NS (600 * 1000000000ULL)
/* so many errors in a row that are not the medium's pause tasks: nothing can be read */
#define FB_QUARANTINE_ROW 16

/* this many bad blocks per this time have a uevent each; one uevent sums up the others */
#define FB_QUARANTINE_REPORTED 16
#define FB_QUARANTINE_REPORTED_NS (60 * 1000000000ULL)

/**
 * struct fb_doubt - a range that could not be read
 * @first: first sector
 * @count: how many
 * @alone: it is one block, which failed in a read of its own, or was named by the drive
 * @command: by a VERIFY or FUA, and not by the medium: that command may be at fault
 * @proven: that block was found to be bad, by errors that are not the medium's
 */
struct fb_doubt {
	u64 first;
	u64 count;
	bool alone;
	bool command;
	bool proven;
};

/**
 * struct fb_quarantine - what is known of a disk's bad blocks
 * @granule: sectors per block
 * @sectors: sectors of the disk
 * @zone: quarantined ranges, for fb_limits.avoid; read only while the disk is idle; they do
 *	not overlap. This and what follows is written by the thread with the disk's lock held,
 *	so the thread may read it without the lock
 * @until_ns: when each of them ends
 * @zones: number of zones
 * @dropped: zones that ended early because there were too many
 * @doubt: ring of ranges that could not be read
 * @doubts: number of entries ever made in @doubt
 * @doubt_ns: when one of them was last tried
 * @failed_ns: when a read last failed
 * @next_ns: nothing in a zone or in doubt is read in idle time before this
 * @slow_row: slow recoveries since the last good read of a zone
 * @careful: an error that is not the medium's stalls all of the disk and may make the kernel take
 *	its queue away (libata: four in ten minutes)
 * @idle_only: a try may take long: what is in doubt is read in idle time only
 * @other_ns: when the last FB_QUARANTINE_OTHERS of these were, the oldest at @others
 * @others: how many there were in all, modulo FB_QUARANTINE_OTHERS
 * @failed_row: errors since the last good read
 * @list: the bad blocks that were found first
 * @listed: length of @list
 * @total: bad blocks found
 * @reported: those with a uevent since @reported_ns
 * @reported_ns: beginning of the period for which @reported counts
 * @unreported: bad blocks without a uevent so far
 * @alarms: how often tasks were asked to pause
 * @quarantine_kib: see FB_QUARANTINE_KIB; 0: no quarantine
 * @slow_s: see FB_QUARANTINE_SLOW_S
 * @slow_most: see FB_QUARANTINE_SLOW_MOST
 */
struct fb_quarantine {
	u32 granule;
	u64 sectors;
	struct fb_avoid zone[FB_QUARANTINE_ZONES];
	u64 until_ns[FB_QUARANTINE_ZONES];
	u32 zones;
	u64 dropped;
	struct fb_doubt doubt[FB_QUARANTINE_DOUBTS];
	u32 doubts;
	u64 doubt_ns;
	u64 failed_ns;
	u64 next_ns;
	u32 slow_row;
	bool careful;
	bool idle_only;
	u64 other_ns[FB_QUARANTINE_OTHERS];
	u32 others;
	u32 failed_row;
	struct fb_plan_piece list[FB_QUARANTINE_LISTED];
	u32 listed;
	u64 total;
	u32 reported;
	u64 reported_ns;
	u32 unreported;
	u64 alarms;
	u32 quarantine_kib;
	u32 slow_s;
	u32 slow_most;
};

/**
 * struct fb_quarantine_read - a read that has ended
 * @lbn: first sector
 * @nsect: how many
 * @good: sectors before the first that was not read
 * @failed: some sector was not read
 * @named: the drive says which one
 * @medium: the drive says that the medium is at fault
 * @command: it was a VERIFY or FUA, and failed without that
 * @joined: it was prepended to a foreground read in the same command
 * @took_ns: how long it took
 */
struct fb_quarantine_read {
	u64 lbn;
	u32 nsect;
	u32 good;
	bool failed;
	bool named;
	bool medium;
	bool command;
	bool joined;
	u64 took_ns;
};

/**
 * enum fb_quarantine_verdict - what follows from a read that has ended, or-ed
 * @FB_QUARANTINE_KNOWN: the block with its first unread sector is bad; without this flag what
 *	was not read must be read again
 * @FB_QUARANTINE_NEW: the block was not known to be bad
 * @FB_QUARANTINE_REPORT: the block must have a uevent of its own
 * @FB_QUARANTINE_ALARM: slow recoveries do not end: tasks must pause
 * @FB_QUARANTINE_DROPPED: there were too many zones: the oldest was ended for a new one
 * @FB_QUARANTINE_STOP: errors that are not the medium's do not end: tasks must pause
 */
enum fb_quarantine_verdict {
	FB_QUARANTINE_KNOWN = 1,
	FB_QUARANTINE_NEW = 2,
	FB_QUARANTINE_REPORT = 4,
	FB_QUARANTINE_ALARM = 8,
	FB_QUARANTINE_DROPPED = 16,
	FB_QUARANTINE_STOP = 32,
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
