/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where LBNs live on the platters of a simulated drive.
 *
 * An angle is a u64 fraction of a turn (2^64 = one revolution).
 */
#ifndef MECHDISK_LAYOUT_H
#define MECHDISK_LAYOUT_H

#include "mechdisk_config.h"

/* A stretch of a command that one pass over one track covers. */
struct mdl_piece {
	u64 lbn;	/* its first LBN */
	u32 lbns;	/* LBNs in it */
	u32 zone;	/* index of the zone, or the run */
	u32 cyl;	/* cylinder; of a run: of the track, with the displacement of its surface */
	u32 head;	/* surface */
	u32 sector;	/* physical sector on the track where it starts */
	u32 phys;	/* physical sectors the head passes over, slipped ones included */
	u32 spt;	/* sectors on this track */
	u64 angle;	/* where @sector starts, fraction of a turn */
	bool remapped;	/* it is a single sector living in a spare */
};

/*
 * Compute a configuration's derived fields. Sets each zone's LBN range, cylinder size and table
 * indices, what is slipped before each slip, the capacity and the number of cylinders.  The
 * caller has checked that every zone has more sectors than dead and spare ones. @cfg: zones,
 * slips and remaps filled in, sorted by zone and index.
 */
void mdl_finish(struct mde_config *cfg);

/*
 * Sort runs by place. Sets @cfg->place, by which mdl_lbn_at() finds a run: mdl_place_run() tells
 * whose an entry is. Returns 0 or -ENOMEM. @cfg: runs filled in.
 */
int mdl_index(struct mde_config *cfg);

/* The number of the run that an entry of @place in &struct mde_config names. */
static inline u32 mdl_place_run(u64 entry)
{
	return (u32)entry;
}

/*
 * Physical sectors of a zone. Does not need mdl_finish(). Returns all of them, dead, slipped and
 * spare ones included.
 */
u64 mdl_zone_sectors(const struct mde_config *cfg, const struct mde_zone *zone);

/*
 * Where an LBN lives. @count: LBNs wanted from there on. @piece: set to the longest stretch from
 * @lbn that lies on one track, interrupted by nothing but slipped sectors, at most @count LBNs.
 */
void mdl_locate(const struct mde_config *cfg, u64 lbn, u32 count,
		struct mdl_piece *piece);

/*
 * Place of a zone's physical sector. @index: sectors from the zone's first sector, in LBN order
 * of tracks. @piece: sets @zone, @cyl, @head, @sector, @spt and @angle.
 */
void mdl_place(const struct mde_config *cfg, u32 zone, u64 index,
	       struct mdl_piece *piece);

/*
 * Which LBN lives at a place. Returns 0, -EINVAL if there is no such place, -ENOENT if no LBN
 * lives there. @sector: physical sector on that track. @lbn: set to the LBN.
 */
int mdl_lbn_at(const struct mde_config *cfg, u32 cyl, u32 head, u32 sector,
	       u64 *lbn);

#endif /* MECHDISK_LAYOUT_H */
