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

/* Arm, head and platter of a running drive. */
struct mdm {
	const struct mde_config *cfg;	/* its description */
	u64 nominal;	/* one revolution at power-on, speed error applied, ps */
	u64 period;	/* one revolution at the instant last told to mdm_drift(), ps */
	s64 seek_ppm;	/* seeks take longer by so much then */
	u64 slack;	/* angles that are apart by less are the same, ps */
	u64 phase0;	/* angle under the head at power-on, as ps since angle 0 */
	u32 cyl;	/* the head's cylinder */
	u32 head;	/* the surface in use */
	u64 rng;	/* state of the noise on seeks */
};

/* One track's rotational wait and transfer. */
struct mdm_turn {
	u64 start;	/* the first sector transferred begins, ps */
	u64 end;	/* the last one ends, ps */
	u32 split;	/* sectors taken a turn later than the rest (zero-latency access) */
};

/* Next number of a stream (splitmix64: Steele, Lea, Flood 2014). Returns 64 uniform bits. */
u64 mdm_random(u64 *state);

/* Next number of a stream, bounded. Returns uniform in 0 .. @bound - 1. @bound: at least 1. */
u64 mdm_random_below(u64 *state, u64 bound);

/* Spin up; the head is at cylinder 0, head 0. @cfg: what they are; must outlive @m. */
void mdm_init(struct mdm *m, const struct mde_config *cfg);

/*
 * Let the speed of platter and arm be those of an instant. To be called when a job begins.
 * Angles are exact at any instant without it.
 */
void mdm_drift(struct mdm *m, u64 t);

/*
 * Time to bring the head to another track, without noise. The longer of seek and head switch; a
 * write settles after any move.  Without drift, too. Returns picoseconds. @dist: cylinders to
 * travel. @other_head: the surface changes. @write: a write follows.
 */
u64 mdm_move_ps(const struct mde_config *cfg, u32 dist, bool other_head,
		bool write);

/*
 * Time to bring the head to a piece's track, without noise. Returns picoseconds. @write: to write
 * it.
 */
u64 mdm_reach(const struct mdm *m, const struct mdl_piece *p, bool write);

/*
 * Bring the head to a piece's track. Noise is added to each seek, which never undercuts 0.
 * Returns how long it takes, ps. @write: to write it.
 */
u64 mdm_move(struct mdm *m, const struct mdl_piece *p, bool write);

/*
 * Time that sectors take to pass under the head. Returns picoseconds. @p: on which track. @n: how
 * many sectors.
 */
static inline u64 mdm_pass(const struct mdm *m, const struct mdl_piece *p, u32 n)
{
	return m->period * n / p->spt;
}

/*
 * When a piece passes under the head. @t: the head is on its track from then on, ps.
 * @zero_latency: a head that lands inside the piece takes the next whole sector and all up to the
 * end, then those it missed when they come round. @turn: out: when.
 */
void mdm_rotate(const struct mdm *m, const struct mdl_piece *p, u64 t,
		bool zero_latency, struct mdm_turn *turn);

/*
 * How far the platter is from angle 0. Returns the angle that has passed since angle 0, in ps of
 * the speed at power-on.
 */
u64 mdm_turned(const struct mdm *m, u64 t);

/* What is under the head. Returns the time since angle 0 passed, ps. */
u64 mdm_phase(const struct mdm *m, u64 t);

#endif /* MECHDISK_MECH_H */
