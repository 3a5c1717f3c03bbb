/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The buffer of a simulated drive: segments of consecutive LBNs.
 *
 * Knows which sectors are where and in what state; when things happen is the
 * engine's business (mechdisk_engine.c).
 */
#ifndef MECHDISK_CACHE_H
#define MECHDISK_CACHE_H

#include "mechdisk_layout.h"

/* A stretch of LBNs in the buffer. */
struct mdb_segment {
	u64 start;	/* first LBN held; nothing is held if it equals @end */
	u64 end;	/* LBN after the last one held */
	u64 dirty;	/* sectors from here to @end are not on the medium yet; @end if all are */
	u64 writing;	/* up to here they are being written; @dirty if none are */
	u64 next_arrived;	/* when the oldest write came that joined meanwhile, ps */
	u64 next_seq;	/* commands that came before that write */
	u64 arrived;	/* when the oldest write came whose sectors are dirty, ps */
	u64 seq;	/* commands that came before that write */
	u64 ready;	/* the drive had understood it, ps */
	u64 bus_start;	/* what is dirty began to arrive, ps */
	u64 bus_next;	/* what is to be written after @writing began to arrive, ps */
	u64 filled;	/* what a command brought last is there from then on, ps */
	u64 used;	/* when it was last of use, in uses */
	bool written;	/* it was filled by writes */
	struct mdl_piece first;	/* where @dirty starts on the platter, up to @end */
};

/* A drive's buffer. */
struct mdb {
	u32 segments;	/* how many segments there are */
	u32 sectors;	/* size of each */
	u64 uses;	/* clock of the least-recently-used order */
	struct mdb_segment segment[MDE_SEGMENTS_MAX];	/* the segments */
};

/* An empty buffer. */
void mdb_init(struct mdb *b, const struct mde_config *cfg);

/* Whether a segment holds what is not on the medium. */
static inline bool mdb_is_dirty(const struct mdb_segment *s)
{
	return s->dirty < s->end;
}

/*
 * The segment that holds the first sectors of a range. Returns the one that holds most of them,
 * of equals the one used last; NULL if none holds the first. @written_too: segments filled by
 * writes count, too.
 */
struct mdb_segment *mdb_find(struct mdb *b, u64 lbn, u32 count, bool written_too);

/* How many of a range's first sectors a segment holds. Returns 0 to @count. */
u32 mdb_held(const struct mdb_segment *s, u64 lbn, u32 count);

/* Note that a segment was of use. */
void mdb_touch(struct mdb *b, struct mdb_segment *s);

/*
 * Find room for new data. An empty segment, or else the least recently used that is not dirty.
 * Returns the segment, empty, at @lbn, or NULL if all are dirty. @lbn: where they begin.
 */
struct mdb_segment *mdb_take(struct mdb *b, u64 lbn);

/*
 * Sectors have been added to a segment. The oldest are dropped when it is full. @end: LBN after
 * the last one.
 */
void mdb_extend(const struct mdb *b, struct mdb_segment *s, u64 end);

/*
 * Drop clean segments that overlap a range about to be written. @keep: but not this one; may be
 * NULL.
 */
void mdb_forget(struct mdb *b, const struct mdb_segment *keep, u64 lbn, u32 count);

/* A dirty segment that overlaps a range. Returns one of them, or NULL. */
struct mdb_segment *mdb_dirty_overlap(struct mdb *b, u64 lbn, u32 count);

/*
 * The dirty segment that ends where a write begins. Returns the segment if the write fits into it
 * beside what is dirty, or NULL. @lbn: first LBN of the write.
 */
struct mdb_segment *mdb_continues(struct mdb *b, u64 lbn, u32 count);

/* How many segments are dirty. */
u32 mdb_dirty_segments(const struct mdb *b);

#endif /* MECHDISK_CACHE_H */
