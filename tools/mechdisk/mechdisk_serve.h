/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How a simulated drive serves commands: medium, bus and cache.  Part of the
 * engine; the same rules apply.
 */
#ifndef MECHDISK_SERVE_H
#define MECHDISK_SERVE_H

#include "mechdisk_state.h"

/**
 * mdv_understood() - when the drive has understood a command
 * @e: the drive
 * @s: the command
 * @kind: if it turns out to be of that kind
 *
 * Return: picoseconds since power-on.
 */
u64 mdv_understood(const struct mde *e, const struct mde_slot *s,
		   enum mde_kind kind);

/**
 * mdv_serve() - begin to serve a queued command
 * @e: the drive; nothing stands in the command's way
 * @s: the command
 * @t: now, ps
 *
 * Works its whole course out.
 */
void mdv_serve(struct mde *e, struct mde_slot *s, u64 t);

/**
 * mdv_ride() - serve a read whose rest the drive is just reading on
 * @e: the drive
 * @s: the command
 * @now: the time, ps
 *
 * Return: false, with nothing done, if it is no such read.
 */
bool mdv_ride(struct mde *e, struct mde_slot *s, u64 now);

/**
 * mdv_destage() - begin to write cached data to the medium
 * @e: the drive, medium free, writing none
 * @g: what to write
 * @t: now, ps
 */
void mdv_destage(struct mde *e, struct mdb_segment *g, u64 t);

/**
 * mdv_settle() - what was being written has been
 * @e: the drive
 */
void mdv_settle(struct mde *e);

#endif /* MECHDISK_SERVE_H */
