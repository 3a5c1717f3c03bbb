/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where LBNs live on the platters of a simulated drive.
 *
 * An angle is a u64 fraction of a turn (2^64 = one revolution).
 */
#ifndef MECHDISK_LAYOUT_H
#define MECHDISK_LAYOUT_H

#include "mechdisk_config.h"

/**
 * struct mdl_piece - a stretch of a command that one pass over one track covers
 * @lbn: its first LBN
 * @lbns: LBNs in it
 * @zone: index of the zone, or the run
 * @cyl: cylinder; of a run: of the track, with the displacement of its surface
 * @head: surface
 * @sector: physical sector on the track where it starts
 * @phys: physical sectors the head passes over, slipped ones included
 * @spt: sectors on this track
 * @angle: where @sector starts, fraction of a turn
 * @remapped: it is a single sector living in a spare
 */
struct mdl_piece {
	u64 lbn;
	u32 lbns;
	u32 zone;
	u32 cyl;
	u32 head;
	u32 sector;
	u32 phys;
	u32 spt;
	u64 angle;
	bool remapped;
};

/**
 * mdl_finish() - compute a configuration's derived fields
 * @cfg: zones, slips and remaps filled in, sorted by zone and index
 *
 * Sets each zone's LBN range, cylinder size and table indices, what is slipped
 * before each slip, the capacity and the number of cylinders.  The caller has
 * checked that every zone has more sectors than dead and spare ones.
 */
void mdl_finish(struct mde_config *cfg);

/**
 * mdl_index() - sort runs by place
 * @cfg: runs filled in
 *
 * Sets @cfg->place, by which mdl_lbn_at() finds a run: mdl_place_run() tells whose an
 * entry is.
 *
 * Return: 0 or -ENOMEM.
 */
int mdl_index(struct mde_config *cfg);

/* The number of the run that an entry of @place in &struct mde_config names. */
static inline u32 mdl_place_run(u64 entry)
{
	return (u32)entry;
}

/**
 * mdl_zone_sectors() - physical sectors of a zone
 * @cfg: the drive's description
 * @zone: one of its zones
 *
 * Does not need mdl_finish().
 *
 * Return: all of them, dead, slipped and spare ones included.
 */
u64 mdl_zone_sectors(const struct mde_config *cfg, const struct mde_zone *zone);

/**
 * mdl_locate() - where an LBN lives
 * @cfg: the drive's description
 * @lbn: an LBN of the drive
 * @count: LBNs wanted from there on
 * @piece: set to the longest stretch from @lbn that lies on one track,
 *         interrupted by nothing but slipped sectors, at most @count LBNs
 */
void mdl_locate(const struct mde_config *cfg, u64 lbn, u32 count,
		struct mdl_piece *piece);

/**
 * mdl_place() - place of a zone's physical sector
 * @cfg: the drive's description
 * @zone: index of the zone
 * @index: sectors from the zone's first sector, in LBN order of tracks
 * @piece: sets @zone, @cyl, @head, @sector, @spt and @angle
 */
void mdl_place(const struct mde_config *cfg, u32 zone, u64 index,
	       struct mdl_piece *piece);

/**
 * mdl_lbn_at() - which LBN lives at a place
 * @cfg: the drive's description
 * @cyl: cylinder
 * @head: surface
 * @sector: physical sector on that track
 * @lbn: set to the LBN
 *
 * Return: 0, -EINVAL if there is no such place, -ENOENT if no LBN lives there.
 */
int mdl_lbn_at(const struct mde_config *cfg, u32 cyl, u32 head, u32 sector,
	       u64 *lbn);

#endif /* MECHDISK_LAYOUT_H */
