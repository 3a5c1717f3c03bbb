// SPDX-License-Identifier: GPL-2.0
/*
 * Closed loops: the OLTP workload of "Freeblock Scheduling Outside of Disk
 * Firmware", 5.1 (uniform, two reads to one write, multiples of 4 KiB with
 * mean 8 KiB), a fixed number of commands outstanding or thought about; the
 * drive chooses among them.
 */
#include "host.h"

/* The workload's unit, bytes. */
#define MDH_UNIT 4096
/* Sectors that a drive must have, far more than any command of the workload. */
#define MDH_LEAST_SECTORS 65536

/* Rounding must not turn "this sector starts now" into a lost turn; in turns. */
#define MDH_SLACK (U64_MAX / 1000000)

struct mdh_loop {
	const struct mdh_options *o;
	struct mdh_drive *d;
	u64 random;
	/* When thinking ends, in the order of ending, ns. */
	u64 wake[MDE_SLOTS];
	u32 thinking;
	/* When the commands at the drive came, ns. */
	u64 born[MDE_SLOTS];
	/* Where the last command's mechanics ended. */
	u32 cyl;
	u32 head;
	/* Sums. */
	u64 response_ns;
	u64 seek_ps;
	u64 rotate_ps;
	u64 transfer_ps;
};

/* xorshift64 (Marsaglia 2003): the workload's own, never the engine's. */
static u64 mdh_draw(struct mdh_loop *l, u64 bound)
{
	u64 x = l->random;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	l->random = x;
	return mul_u64_u64_shr(x, bound, 64);
}

/* Someone has done thinking: multiples of 4 KiB, of 8 KiB on the mean, an exponential's tail */
static void mdh_arrive(struct mdh_loop *l)
{
	enum mde_op op = mdh_draw(l, 3) ? MDE_READ : MDE_WRITE;
	u32 unit = MDH_UNIT / l->d->cfg.sector_bytes, count = unit;
	u64 lbn;

	l->thinking--;
	memmove(l->wake, l->wake + 1, l->thinking * sizeof(l->wake[0]));
	while (mdh_draw(l, 2))
		count += unit;
	lbn = mdh_draw(l, (l->d->cfg.sectors - count) / unit) * unit;
	l->born[mdh_submit(l->d, op, lbn, count, 0)] = l->d->now;
}

static u64 mdh_turns(const struct mdh_loop *l, u64 ps)
{
	u64 period = l->d->mde.mech.period;

	/* A long double's 64 bits hold any part of a turn. */
	return (long double)(ps % period) / period * 18446744073709551616.0L;
}

static u64 mdh_move_ps(const struct mdh_loop *l, u32 cyl, u32 head,
		       const struct mdl_piece *to, bool write)
{
	u32 dist = cyl > to->cyl ? cyl - to->cyl : to->cyl - cyl;

	return mdm_move_ps(&l->d->cfg, dist, head != to->head, write);
}

/* From @angle to the start of a piece, ps. */
static u64 mdh_wait_ps(const struct mdh_loop *l, u64 angle,
		       const struct mdl_piece *p)
{
	u64 wait = p->angle - angle;

	if (wait > U64_MAX - MDH_SLACK)
		return 0;
	return mul_u64_u64_shr(wait, l->d->mde.mech.period, 64);
}

/* From a command's first sector to its last; @end is set to its last piece. */
static u64 mdh_transfer_ps(const struct mdh_loop *l, u64 lbn, u32 count,
			   bool write, struct mdl_piece *end)
{
	u64 ps = 0, angle = 0, move;
	bool first = true;
	struct mdl_piece p;

	for (; count; lbn += p.lbns, count -= p.lbns) {
		mdl_locate(&l->d->cfg, lbn, count, &p);
		if (!first) {
			move = mdh_move_ps(l, end->cyl, end->head, &p, write);
			ps += move;
			ps += mdh_wait_ps(l, angle + mdh_turns(l, move), &p);
		}
		ps += l->d->mde.mech.period * p.phys / p.spt;
		angle = p.angle + U64_MAX / p.spt * p.phys;
		*end = p;
		first = false;
	}
	return ps;
}

/* Take apart what a command's mechanics did; exact for a drive without noise. */
static void mdh_analyse(struct mdh_drive *d, const struct mde_slot *s)
{
	struct mdh_loop *l = d->private;
	bool write = s->op == MDE_WRITE;
	struct mdl_piece p;
	u64 seek, transfer;

	mdl_locate(&d->cfg, s->lbn, s->count, &p);
	seek = mdh_move_ps(l, l->cyl, l->head, &p, write);
	transfer = mdh_transfer_ps(l, s->lbn, s->count, write, &p);
	l->seek_ps += seek;
	l->transfer_ps += transfer;
	l->rotate_ps += s->media_end - s->started - seek - transfer;
	l->cyl = p.cyl;
	l->head = p.head;
}

static void mdh_complete(struct mdh_loop *l, int slot)
{
	l->response_ns += l->d->now - l->born[slot];
	mde_release(&l->d->mde, slot);
	l->wake[l->thinking++] = l->d->now + l->o->think_ns;
}

/* A closed loop: what it came to is printed, means per command. */
int mdh_loop(const struct mdh_options *o)
{
	struct mdh_loop l = { .o = o, .thinking = o->depth };
	struct mdh_options with_policy = *o;
	u64 done = 0;
	int slot;

	if (o->policy == MDH_LOOK)
		mdh_die("--policy look: queue has it, the closed loop has not");
	if (o->policy_given)
		mdh_set_policy(&with_policy);
	l.d = mdh_open(&with_policy);
	if (l.d->cfg.sectors < MDH_LEAST_SECTORS)
		mdh_die("%s: less than %d sectors", o->drive, MDH_LEAST_SECTORS);
	if (o->depth > l.d->cfg.queue_depth)
		mdh_die("--depth %llu: %s takes %llu commands at once (queue_depth)",
			(unsigned long long)o->depth, o->drive,
			(unsigned long long)l.d->cfg.queue_depth);
	l.d->private = &l;
	l.d->began = mdh_analyse;
	l.random = o->seed * 0x9e3779b97f4a7c15ULL | 1;
	while (done < o->requests) {
		slot = mdh_wait(l.d, l.thinking ? l.wake[0] : MDE_NEVER);
		if (slot < 0) {
			mdh_arrive(&l);
		} else {
			mdh_complete(&l, slot);
			done++;
		}
	}
	printf("{\"requests_per_s\": %.4f, ", 1e9 * done / l.d->now);
	printf("\"response_ms\": %.6f, ", l.response_ns / 1e6 / done);
	printf("\"seek_ms\": %.6f, ", l.seek_ps / 1e9 / done);
	printf("\"rotation_ms\": %.6f, ", l.rotate_ps / 1e9 / done);
	printf("\"transfer_ms\": %.6f}\n", l.transfer_ps / 1e9 / done);
	mdh_close(l.d);
	return 0;
}
