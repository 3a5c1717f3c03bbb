// SPDX-License-Identifier: GPL-2.0
/*
 * The buffer of a simulated drive; see mechdisk_cache.h.
 *
 * Static segments, least recently used first out, as drives of the 1990s had
 * them (Ruemmler and Wilkes, "An Introduction to Disk Drive Modeling", 1994;
 * the field meanings of DiskSim's disk specifications).
 */
#include "mechdisk_cache.h"

void mdb_init(struct mdb *b, const struct mde_config *cfg)
{
	memset(b, 0, sizeof(*b));
	b->segments = cfg->segments;
	b->sectors = cfg->segment_sectors;
}

u32 mdb_held(const struct mdb_segment *s, u64 lbn, u32 count)
{
	if (lbn < s->start || lbn >= s->end)
		return 0;
	return min(s->end - lbn, (u64)count);
}

void mdb_touch(struct mdb *b, struct mdb_segment *s)
{
	s->used = ++b->uses;
}

static bool mdb_overlaps(const struct mdb_segment *s, u64 lbn, u32 count)
{
	return s->start < lbn + count && lbn < s->end;
}

struct mdb_segment *mdb_find(struct mdb *b, u64 lbn, u32 count, bool written_too)
{
	struct mdb_segment *found = NULL;
	u32 i, held, most = 0;

	for (i = 0; i < b->segments; i++) {
		struct mdb_segment *s = &b->segment[i];

		if (s->written && !written_too)
			continue;
		held = mdb_held(s, lbn, count);
		if (held > most || (held && held == most && s->used > found->used)) {
			found = s;
			most = held;
		}
	}
	return found;
}

static void mdb_clear(struct mdb_segment *s, u64 lbn)
{
	memset(s, 0, sizeof(*s));
	s->start = lbn;
	s->end = lbn;
	s->dirty = lbn;
	s->writing = lbn;
}

struct mdb_segment *mdb_take(struct mdb *b, u64 lbn)
{
	struct mdb_segment *found = NULL;
	u32 i;

	for (i = 0; i < b->segments; i++) {
		struct mdb_segment *s = &b->segment[i];

		if (mdb_is_dirty(s))
			continue;
		if (s->start == s->end) {
			found = s;
			break;
		}
		if (!found || s->used < found->used)
			found = s;
	}
	if (found) {
		mdb_clear(found, lbn);
		mdb_touch(b, found);
	}
	return found;
}

void mdb_extend(const struct mdb *b, struct mdb_segment *s, u64 end)
{
	bool dirty = mdb_is_dirty(s);

	s->end = end;
	if (!dirty) {
		s->dirty = end;
		s->writing = end;
	}
	if (s->end - s->start > b->sectors)
		s->start = s->end - b->sectors;
}

void mdb_forget(struct mdb *b, const struct mdb_segment *keep, u64 lbn, u32 count)
{
	u32 i;

	for (i = 0; i < b->segments; i++) {
		struct mdb_segment *s = &b->segment[i];

		if (s != keep && !mdb_is_dirty(s) && mdb_overlaps(s, lbn, count))
			mdb_clear(s, s->end);
	}
}

struct mdb_segment *mdb_dirty_overlap(struct mdb *b, u64 lbn, u32 count)
{
	u32 i;

	for (i = 0; i < b->segments; i++) {
		struct mdb_segment *s = &b->segment[i];

		if (mdb_is_dirty(s) && mdb_overlaps(s, lbn, count))
			return s;
	}
	return NULL;
}

struct mdb_segment *mdb_continues(struct mdb *b, u64 lbn, u32 count)
{
	u32 i;

	for (i = 0; i < b->segments; i++) {
		struct mdb_segment *s = &b->segment[i];

		if (mdb_is_dirty(s) && s->end == lbn &&
		    lbn + count - s->dirty <= b->sectors)
			return s;
	}
	return NULL;
}

u32 mdb_dirty_segments(const struct mdb *b)
{
	u32 i, n = 0;

	for (i = 0; i < b->segments; i++)
		n += mdb_is_dirty(&b->segment[i]);
	return n;
}
