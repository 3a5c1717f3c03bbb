/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Mechanics of a simulated drive: where the head is and how long it takes to
 * bring sectors under it.
 *
 * Instants and durations are picoseconds since power-on, angles u64 fractions
 * of a turn (2^64 = one revolution).
 */
#ifndef MECHDISK_MECH_H
#define MECHDISK_MECH_H

#include "mechdisk_layout.h"

/**
 * struct mdm - arm, head and platter of a running drive
 * @cfg: its description
 * @nominal: one revolution at power-on, speed error applied, ps
 * @period: one revolution at the instant last told to mdm_drift(), ps
 * @seek_ppm: seeks take longer by so much then
 * @slack: angles that are apart by less are the same, ps
 * @phase0: angle under the head at power-on, as ps since angle 0
 * @cyl: the head's cylinder
 * @head: the surface in use
 * @rng: state of the noise on seeks
 */
struct mdm {
	const struct mde_config *cfg;
	u64 nominal;
	u64 period;
	s64 seek_ppm;
	u64 slack;
	u64 phase0;
	u32 cyl;
	u32 head;
	u64 rng;
};

/**
 * struct mdm_turn - one track's rotational wait and transfer
 * @start: the first sector transferred begins, ps
 * @end: the last one ends, ps
 * @split: sectors taken a turn later than the rest (zero-latency access)
 */
struct mdm_turn {
	u64 start;
	u64 end;
	u32 split;
};

/**
 * mdm_random() - next number of a stream (splitmix64: Steele, Lea, Flood 2014)
 * @state: the stream
 *
 * Return: 64 uniform bits.
 */
u64 mdm_random(u64 *state);

/**
 * mdm_random_below() - next number of a stream, bounded
 * @state: the stream
 * @bound: at least 1
 *
 * Return: uniform in 0 .. @bound - 1.
 */
u64 mdm_random_below(u64 *state, u64 bound);

/**
 * mdm_init() - spin up; the head is at cylinder 0, head 0
 * @m: the mechanics
 * @cfg: what they are; must outlive @m
 */
void mdm_init(struct mdm *m, const struct mde_config *cfg);

/**
 * mdm_drift() - let the speed of platter and arm be those of an instant
 * @m: the mechanics
 * @t: the instant, ps
 *
 * To be called when a job begins.  Angles are exact at any instant without it.
 */
void mdm_drift(struct mdm *m, u64 t);

/**
 * mdm_move_ps() - time to bring the head to another track, without noise
 * @cfg: the drive's description
 * @dist: cylinders to travel
 * @other_head: the surface changes
 * @write: a write follows
 *
 * The longer of seek and head switch; a write settles after any move.  Without
 * drift, too.
 *
 * Return: picoseconds.
 */
u64 mdm_move_ps(const struct mde_config *cfg, u32 dist, bool other_head,
		bool write);

/**
 * mdm_reach() - time to bring the head to a piece's track, without noise
 * @m: the mechanics
 * @p: the piece
 * @write: to write it
 *
 * Return: picoseconds.
 */
u64 mdm_reach(const struct mdm *m, const struct mdl_piece *p, bool write);

/**
 * mdm_move() - bring the head to a piece's track
 * @m: the mechanics
 * @p: the piece
 * @write: to write it
 *
 * Noise is added to each seek, which never undercuts 0.
 *
 * Return: how long it takes, ps.
 */
u64 mdm_move(struct mdm *m, const struct mdl_piece *p, bool write);

/**
 * mdm_pass() - time that sectors take to pass under the head
 * @m: the mechanics
 * @p: on which track
 * @n: how many sectors
 *
 * Return: picoseconds.
 */
static inline u64 mdm_pass(const struct mdm *m, const struct mdl_piece *p, u32 n)
{
	return m->period * n / p->spt;
}

/**
 * mdm_rotate() - when a piece passes under the head
 * @m: the mechanics
 * @p: the piece
 * @t: the head is on its track from then on, ps
 * @zero_latency: a head that lands inside the piece takes the next whole sector
 *	and all up to the end, then those it missed when they come round
 * @turn: out: when
 */
void mdm_rotate(const struct mdm *m, const struct mdl_piece *p, u64 t,
		bool zero_latency, struct mdm_turn *turn);

/**
 * mdm_turned() - how far the platter is from angle 0
 * @m: the mechanics
 * @t: when, ps
 *
 * Return: the angle that has passed since angle 0, in ps of the speed at power-on.
 */
u64 mdm_turned(const struct mdm *m, u64 t);

/**
 * mdm_phase() - what is under the head
 * @m: the mechanics
 * @t: when, ps
 *
 * Return: the time since angle 0 passed, ps.
 */
u64 mdm_phase(const struct mdm *m, u64 t);

#endif /* MECHDISK_MECH_H */
