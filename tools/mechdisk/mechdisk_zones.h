/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Zones, slips and remaps of a .fbdrive text, and what readers of its records share.
 *
 * All take the record whose words are in the text's current line, and return 0,
 * -EINVAL with a reason, or -ENOMEM.
 */
#ifndef MECHDISK_ZONES_H
#define MECHDISK_ZONES_H

#include "mechdisk_check.h"

/* Whether a record has as many values as it takes. Returns 0 or -EINVAL. @lo: fewest. @hi: most. */
int mdt_args(struct mdt *m, int lo, int hi);

/*
 * Room for one more entry of a list. Returns the entries, where they are now; NULL: no memory.
 * @m: the text; the line of the new entry is noted. @size: of one, bytes.
 */
void *mdt_more(struct mdt *m, enum mdt_list list, void *array, u32 used, size_t size);

/* FIRST LAST SPT ANGLE TRACK_SKEW CYLINDER_SKEW SPARES [dead=N]. */
int mdt_add_zone(struct mdt *m);

/* ZONE SPT [SPT ...]. */
int mdt_add_zone_heads(struct mdt *m);

/* ZONE INDEX[+COUNT] [INDEX[+COUNT] ...]. */
int mdt_add_slips(struct mdt *m);

/* ZONE FROM TO. */
int mdt_add_remap(struct mdt *m);

#endif /* MECHDISK_ZONES_H */
