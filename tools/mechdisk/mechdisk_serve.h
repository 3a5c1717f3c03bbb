/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How a simulated drive serves commands: medium, bus and cache.  Part of the
 * engine; the same rules apply.
 */
#ifndef MECHDISK_SERVE_H
#define MECHDISK_SERVE_H

#include "mechdisk_state.h"

/*
 * When the drive has understood a command. Returns picoseconds since power-on. @kind: if it turns
 * out to be of that kind.
 */
u64 mdv_understood(const struct mde *e, const struct mde_slot *s,
		   enum mde_kind kind);

/*
 * Begin to serve a queued command. Works its whole course out. @e: the drive; nothing stands in
 * the command's way. @t: now, ps.
 */
void mdv_serve(struct mde *e, struct mde_slot *s, u64 t);

/*
 * Serve a read whose rest the drive is just reading on. Returns false, with nothing done, if it
 * is no such read.
 */
bool mdv_ride(struct mde *e, struct mde_slot *s, u64 now);

/*
 * Begin to write cached data to the medium. @e: the drive, medium free, writing none. @g: what to
 * write. @t: now, ps.
 */
void mdv_destage(struct mde *e, struct mdb_segment *g, u64 t);

/* What was being written has been. */
void mdv_settle(struct mde *e);

#endif /* MECHDISK_SERVE_H */
