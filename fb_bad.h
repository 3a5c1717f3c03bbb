/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Blocks that cannot be read, and what may lie around them. Kernel only; part of fb_disk.h.
 */
#ifndef FB_BAD_H
#define FB_BAD_H

#include "fb_search.h"

struct fb_buf;
struct fb_disk;
struct fb_disk_client;
struct fb_svc;

#define FBB_LISTED 512		/* bad blocks that are remembered; all are counted */
#define FBB_ZONES 32		/* quarantined ranges */
#define FBB_DOUBTS 32		/* ranges in doubt that are remembered; the oldest are forgotten */

#define FBB_QUARANTINE_KIB 1024	/* so much on each side: the neighbouring tracks at least */
#define FBB_SLOW_S 60		/* one slow recovery in so long */
#define FBB_SLOW_MOST 3		/* so many in a row, and tasks pause */

/**
 * struct fb_bad - what is known of a disk's bad blocks
 * @zone: quarantined: read while the disk is idle only; the thread's
 * @zones: how many
 * @doubt: a ring of sectors that could not be read; the thread's
 * @doubts: so many have been entered
 * @doubt_ns: when one of them was tried last
 * @failed_ns: when a read failed last
 * @next_ns: nothing of a quarantined zone is read before; the thread's
 * @slow_row: slow recoveries since the last good read of a zone; the thread's
 * @list: the bad blocks that were found first [L]
 * @listed: how many [L]
 * @total: bad blocks found [L]
 * @alarms: times that tasks were paused for slow recoveries [L]
 * @quarantine_kib: see FBB_QUARANTINE_KIB; 0: no quarantine [L]
 * @slow_s: see FBB_SLOW_S [L]
 * @slow_most: see FBB_SLOW_MOST [L]
 */
struct fb_bad {
	struct fb_avoid zone[FBB_ZONES];
	u32 zones;
	struct {
		u64 first;
		u64 count;
	} doubt[FBB_DOUBTS];
	u32 doubts;
	u64 doubt_ns;
	u64 failed_ns;
	u64 next_ns;
	u32 slow_row;
	struct {
		u64 lbn;
		u32 nsect;
	} list[FBB_LISTED];
	u32 listed;
	u64 total;
	u64 alarms;
	u32 quarantine_kib;
	u32 slow_s;
	u32 slow_most;
};

extern const struct fb_disk_client fb_bad_client;

void fbb_limits(const struct fb_bad *b, struct fb_limits *lim);
const struct fb_avoid *fbb_zone(const struct fb_bad *b, u64 lbn, u64 nsect);
void fbb_forget(struct fb_bad *b);
bool fbb_doubts(const struct fb_bad *b, u64 lbn, u64 nsect);
bool fbb_cut(struct fb_svc *svc, struct fb_plan *plan);
void fbb_sent(struct fb_svc *svc, const struct fb_buf *buf);
void fbb_ended(struct fb_svc *svc, const struct fb_buf *buf);
bool fbb_error_is_known(struct fb_svc *svc, const struct fb_buf *buf);
bool fbb_idle(const struct fb_svc *svc, const struct fb_bitmap *bm, u32 max_sectors,
	      struct fb_plan_piece *piece);
bool fbb_divert(const struct fb_svc *svc, const struct fb_bitmap *bm, struct fb_plan_piece *piece);
ssize_t fbb_read_list(struct fb_disk *fd, char *buf, loff_t off, size_t count);

#endif /* FB_BAD_H */
