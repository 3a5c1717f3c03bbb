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

/**
 * struct mdb_segment - a stretch of LBNs in the buffer
 * @start: first LBN held; nothing is held if it equals @end
 * @end: LBN after the last one held
 * @dirty: sectors from here to @end are not on the medium yet; @end if all are
 * @writing: up to here they are being written; @dirty if none are
 * @next_arrived: when the oldest write came that joined meanwhile, ps
 * @next_seq: commands that came before that write
 * @arrived: when the oldest write came whose sectors are dirty, ps
 * @seq: commands that came before that write
 * @ready: the drive had understood it, ps
 * @bus_start: what is dirty began to arrive, ps
 * @bus_next: what is to be written after @writing began to arrive, ps
 * @filled: what a command brought last is there from then on, ps
 * @used: when it was last of use, in uses
 * @written: it was filled by writes
 * @first: where @dirty starts on the platter, up to @end
 */
struct mdb_segment {
	u64 start;
	u64 end;
	u64 dirty;
	u64 writing;
	u64 next_arrived;
	u64 next_seq;
	u64 arrived;
	u64 seq;
	u64 ready;
	u64 bus_start;
	u64 bus_next;
	u64 filled;
	u64 used;
	bool written;
	struct mdl_piece first;
};

/**
 * struct mdb - a drive's buffer
 * @segments: how many segments there are
 * @sectors: size of each
 * @uses: clock of the least-recently-used order
 * @segment: the segments
 */
struct mdb {
	u32 segments;
	u32 sectors;
	u64 uses;
	struct mdb_segment segment[MDE_SEGMENTS_MAX];
};

/**
 * mdb_init() - an empty buffer
 * @b: the buffer
 * @cfg: the drive
 */
void mdb_init(struct mdb *b, const struct mde_config *cfg);

/**
 * mdb_is_dirty() - whether a segment holds what is not on the medium
 * @s: the segment
 */
static inline bool mdb_is_dirty(const struct mdb_segment *s)
{
	return s->dirty < s->end;
}

/**
 * mdb_find() - the segment that holds the first sectors of a range
 * @b: the buffer
 * @lbn: first LBN
 * @count: how many
 * @written_too: segments filled by writes count, too
 *
 * Return: the one that holds most of them, of equals the one used last; NULL
 * if none holds the first.
 */
struct mdb_segment *mdb_find(struct mdb *b, u64 lbn, u32 count, bool written_too);

/**
 * mdb_held() - how many of a range's first sectors a segment holds
 * @s: the segment
 * @lbn: first LBN
 * @count: how many
 *
 * Return: 0 to @count.
 */
u32 mdb_held(const struct mdb_segment *s, u64 lbn, u32 count);

/**
 * mdb_touch() - note that a segment was of use
 * @b: the buffer
 * @s: the segment
 */
void mdb_touch(struct mdb *b, struct mdb_segment *s);

/**
 * mdb_take() - find room for new data
 * @b: the buffer
 * @lbn: where they begin
 *
 * An empty segment, or else the least recently used that is not dirty.
 *
 * Return: the segment, empty, at @lbn, or NULL if all are dirty.
 */
struct mdb_segment *mdb_take(struct mdb *b, u64 lbn);

/**
 * mdb_extend() - sectors have been added to a segment
 * @b: the buffer
 * @s: the segment
 * @end: LBN after the last one
 *
 * The oldest are dropped when it is full.
 */
void mdb_extend(const struct mdb *b, struct mdb_segment *s, u64 end);

/**
 * mdb_forget() - drop clean segments that overlap a range about to be written
 * @b: the buffer
 * @keep: but not this one; may be NULL
 * @lbn: first LBN
 * @count: how many
 */
void mdb_forget(struct mdb *b, const struct mdb_segment *keep, u64 lbn, u32 count);

/**
 * mdb_dirty_overlap() - a dirty segment that overlaps a range
 * @b: the buffer
 * @lbn: first LBN
 * @count: how many
 *
 * Return: one of them, or NULL.
 */
struct mdb_segment *mdb_dirty_overlap(struct mdb *b, u64 lbn, u32 count);

/**
 * mdb_continues() - the dirty segment that ends where a write begins
 * @b: the buffer
 * @lbn: first LBN of the write
 * @count: how many
 *
 * Return: the segment if the write fits into it beside what is dirty, or NULL.
 */
struct mdb_segment *mdb_continues(struct mdb *b, u64 lbn, u32 count);

/**
 * mdb_dirty_segments() - how many segments are dirty
 * @b: the buffer
 */
u32 mdb_dirty_segments(const struct mdb *b);

#endif /* MECHDISK_CACHE_H */
