/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reading on: what a simulated drive does after a read when nothing else is to
 * be done.  Part of the engine; the same rules apply.
 *
 * Where the head has got to is worked out when somebody asks, from the instant
 * at which the drive began to read on.
 */
#ifndef MECHDISK_AHEAD_H
#define MECHDISK_AHEAD_H

#include "mechdisk_state.h"

/*
 * How far the drive reads on. Returns the LBN to stop at; @end if it does not read on. @s: the
 * segment that is being filled. @end: LBN after the last one wanted.
 */
u64 mda_limit(const struct mde *e, const struct mdb_segment *s, u64 end);

/*
 * Go on at least as far as after a read. @e: the drive, reading on. @end: LBN after the last one
 * the read wanted.
 */
void mda_further(struct mde *e, u64 end);

/*
 * Read on. @e: the drive, not reading on. @s: the segment that continues. @limit: where to stop,
 * beyond the segment's end. @t: the head is free from then on, ps.
 */
void mda_begin(struct mde *e, struct mdb_segment *s, u64 limit, u64 t);

/* Let it read on until a time. */
void mda_run(struct mde *e, u64 t);

/*
 * Something else is to be done. A seek is finished; a sector is, too, unless the drive stops at
 * once.  The medium is free then. @e: the drive, reading on or not. @t: from when on, ps.
 */
void mda_stop(struct mde *e, u64 t);

/*
 * Let it read on until it has read what a command wants. Returns when the last of them had
 * passed, ps. @e: the drive, reading on. @end: LBN after the last one wanted. @took: called for
 * each stretch read: its first sector starts at @start, one each @sector_ps follows, @n in all.
 * @arg: for @took, which may be NULL.
 */
u64 mda_ride(struct mde *e, u64 end,
	     void (*took)(void *arg, u64 start, u64 sector_ps, u32 n), void *arg);

#endif /* MECHDISK_AHEAD_H */
