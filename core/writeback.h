/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which cached writes are on the medium, by a map of the drive, and when and where the last will
 * be? A drive that has something to write is never idle, and what it reads ends at its sectors'
 * angle. So the time that a command took tells which writes came before it. Core; the caller
 * serialises. Times are ns of one monotonic clock.
 */
#ifndef FB_WRITEBACK_H
#define FB_WRITEBACK_H

#include "core/completion.h"

#define FB_WRITEBACK_SECTORS 8192	/* most of a write, or of several that join: some tracks */
#define FB_WRITEBACK_MOST 6	/* writes that are followed; more are seldom left */

/* A cached write, or several that join; or a command */
struct fb_writeback_job {
	u64 lbn;			/* first sector */
	u32 nsect;
	bool write;
	u64 sent_ns;			/* when the first was sent */
	bool placed;			/* the following is known */
	struct dm_place first;		/* where it begins */
	u64 span_ns;			/* its sectors need no longer to pass the head */
};

/* The end of a job */
struct fb_writeback_end {
	struct dm_place at;		/* where the head is then */
	u64 reach_ns;			/* when it has reached the first sector */
	u64 ns;
};

/* What the drive has to write; private but @ends and what is valid then */
struct fb_writeback {
	bool placed;			/* @at is known ... */
	struct dm_place at;		/* where the head was when the last command had ended ... */
	u64 at_ns;			/* ... and when that was */
	bool lost;	/* what has to be written is not known: not just @write */
	u32 n;				/* number of @write */
	struct fb_writeback_job write[FB_WRITEBACK_MOST];
	bool ends;			/* the following is known */
	u64 due_ns;	/* a read sent then begins just behind the last write */
	u64 end_lbn;	/* the sector behind that; 0: nothing is left since the last command */
	/* for a search, as the stack is short: when each is reached at best, and ends */
	u64 least_ns[FB_WRITEBACK_MOST];
	struct fb_writeback_end before, it, last;
};

/* The drive does what is not followed. */
void fb_writeback_lose(struct fb_writeback *w);
/* Nothing is left to be written. */
void fb_writeback_clean(struct fb_writeback *w);
/* A write was sent that is reported when the cache has it. */
void fb_writeback_sent(struct fb_writeback *w, u64 now, u64 lbn, u32 nsect);
/* A command to the medium has ended, and @head has learnt from it. */
void fb_writeback_ended(struct fb_writeback *w, const struct fb_head *head,
			const struct fb_completion_cmd *c);
/* No command of the foreground is at the drive: find when and where its last write ends. */
void fb_writeback_find(struct fb_writeback *w, const struct fb_head *head, u64 now);

#endif /* FB_WRITEBACK_H */
