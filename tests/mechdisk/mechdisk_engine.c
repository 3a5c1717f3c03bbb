// SPDX-License-Identifier: GPL-2.0
/*
 * Mechanics and firmware of a simulated disk drive.
 *
 * Written from "Freeblock Scheduling Outside of Disk Firmware" (2.1, 3.1-3.3,
 * 4.2) and from the published description of the DiskSim disk layouts, and on
 * purpose not from the scheduler's disk model: the model predicts, the drive
 * decides.
 *
 * A command's whole service is computed at the instant its mechanics start.
 * That instant is exact even if the caller's timer was late, since only
 * commands that had arrived by then are considered.
 */
#include "mechdisk_engine.h"

/*
 * Rounding of angles to picoseconds must not turn "the sector starts now" into
 * "it has just gone by".  1 ns is 1/17000 of a sector.
 */
#define MDE_SLACK_PS	1000ULL

/*
 * Choosing the next command takes the host some microseconds.  If a report is
 * due this soon after, the report goes first, or the choice would delay it.
 */
#define MDE_DEFER_PS	200000000ULL

/* Streams of random numbers, so that one kind of noise never shifts another. */
#define MDE_STREAM_PHASE	0x70686173ULL
#define MDE_STREAM_NOISE	0x6e6f6973ULL
#define MDE_STREAM_JITTER	0x6a697474ULL

/* ln 2 and 1/sqrt(2) in 16-bit fixed point. */
#define MDE_LN2_Q16		45426ULL
#define MDE_SQRT_HALF_Q16	46341ULL

/* splitmix64 (Steele, Lea, Flood 2014). */
static u64 mde_random(u64 *state)
{
	u64 z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/* Uniform in 0 .. bound - 1. */
static u64 mde_random_below(u64 *state, u64 bound)
{
	return mul_u64_u64_shr(mde_random(state), bound, 64);
}

/* -ln of a number uniform in (0, 1], in 24-bit fixed point. */
static u64 mde_random_exp_q24(u64 *state)
{
	u64 r = mde_random(state) | 1;
	int msb = fls64(r) - 1;
	u64 x = msb > 62 ? r >> (msb - 62) : r << (62 - msb);
	u64 log2 = msb;
	int i;

	/* Binary logarithm of the mantissa, a bit per squaring. */
	for (i = 0; i < 24; i++) {
		x = mul_u64_u64_shr(x, x, 62);
		log2 <<= 1;
		if (x >> 63) {
			log2 |= 1;
			x >>= 1;
		}
	}
	return (((64ULL << 24) - log2) * MDE_LN2_Q16) >> 16;
}

/* Sum of twelve uniform numbers less its mean: variance 1, within +-6. */
static s64 mde_random_gauss_q16(u64 *state)
{
	s64 sum = 0;
	int i;

	for (i = 0; i < 12; i++)
		sum += mde_random(state) >> 48;
	return sum - 6 * 65536LL;
}

/* What to add to one seek, ps; may be negative. */
static s64 mde_noise_ps(struct mde *e)
{
	const struct mde_config *c = e->cfg;
	s64 sd_ps = c->noise_sd_ns * 1000;
	s64 ps = 0;

	switch (c->noise) {
	case MDE_NOISE_GAUSS:
		ps = sd_ps / 65536 * mde_random_gauss_q16(&e->rng_noise);
		break;
	case MDE_NOISE_LAPLACE:
		/* An exponential of scale sd / sqrt(2) with a random sign. */
		ps = ((sd_ps * MDE_SQRT_HALF_Q16) >> 16) *
			mde_random_exp_q24(&e->rng_noise) >> 24;
		if (mde_random(&e->rng_noise) >> 63)
			ps = -ps;
		break;
	}
	if (c->outlier_ppm &&
	    mde_random_below(&e->rng_noise, 1000000) < c->outlier_ppm)
		ps += c->outlier_ns * 1000;
	return ps;
}

/* Layout: LBN to place (paper, 4.2; sparing at the zone's end). */

static const struct mde_zone *mde_zone_of(const struct mde_config *c, u64 lbn)
{
	u32 lo = 0, hi = c->zones - 1;

	while (lo < hi) {
		u32 mid = (lo + hi + 1) / 2;

		if (c->zone[mid].lbn_first <= lbn)
			lo = mid;
		else
			hi = mid - 1;
	}
	return &c->zone[lo];
}

/*
 * Physical index of the zone's LBN number @l.  With slips sorted, slip i is
 * passed if its index, less the i slips before it, is at most @l.
 */
static u64 mde_slip_past(const struct mde_config *c, const struct mde_zone *z,
			 u64 l)
{
	const struct mde_slip *slip = c->slip + z->slip_first;
	u32 lo = 0, hi = z->slip_count;

	while (lo < hi) {
		u32 mid = (lo + hi) / 2;

		if (slip[mid].index - mid <= l)
			lo = mid + 1;
		else
			hi = mid;
	}
	return l + lo;
}

/* The zone's first remap whose defective sector is not before @index. */
static u32 mde_remap_from(const struct mde_config *c, const struct mde_zone *z,
			  u64 index)
{
	const struct mde_remap *remap = c->remap + z->remap_first;
	u32 lo = 0, hi = z->remap_count;

	while (lo < hi) {
		u32 mid = (lo + hi) / 2;

		if (remap[mid].from < index)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Cylinder, head, sector and angle of a zone's physical sector. */
static void mde_place(const struct mde_config *c, const struct mde_zone *z,
		      u64 index, struct mde_piece *p)
{
	u64 track = index / z->spt;
	u32 cyl = track / c->heads;		/* within the zone */
	u32 head = track % c->heads;		/* in LBN order */

	p->sector = index % z->spt;
	p->spt = z->spt;
	p->zone = z - c->zone;
	p->cyl = z->cyl_first + cyl;
	p->head = c->order == MDE_SERPENTINE && (cyl & 1) ?
		c->heads - 1 - head : head;
	p->angle = z->angle +
		z->skew_track * (head + (c->heads - 1) * cyl) +
		z->skew_cyl * cyl + U64_MAX / z->spt * p->sector;
}

void mde_locate(const struct mde_config *c, u64 lbn, u32 count,
		struct mde_piece *p)
{
	const struct mde_zone *z = mde_zone_of(c, lbn);
	const struct mde_remap *remap = c->remap + z->remap_first;
	u64 l = lbn - z->lbn_first;
	u64 index = mde_slip_past(c, z, l);
	u32 r = mde_remap_from(c, z, index);
	u64 end, last;

	p->lbn = lbn;
	p->remapped = r < z->remap_count && remap[r].from == index;
	if (p->remapped) {
		p->lbns = 1;
		p->phys = 1;
		mde_place(c, z, remap[r].to, p);
		return;
	}

	mde_place(c, z, index, p);
	end = index - p->sector + z->spt;
	if (r < z->remap_count)
		end = min(end, remap[r].from);
	last = min((u64)count, z->lbn_count - l) - 1;
	/* Every LBN uses at least one sector: that bounds the search below. */
	last = min(last, end - index - 1);
	while (mde_slip_past(c, z, l + last) >= end)
		last--;
	p->lbns = last + 1;
	p->phys = mde_slip_past(c, z, l + last) + 1 - index;
}

void mde_config_finish(struct mde_config *c)
{
	u64 lbn = 0;
	u32 i, s = 0, r = 0;

	for (i = 0; i < c->zones; i++) {
		struct mde_zone *z = &c->zone[i];

		z->lbn_first = lbn;
		z->lbn_count = (u64)(z->cyl_last - z->cyl_first + 1) *
			c->heads * z->spt - z->spares;
		lbn += z->lbn_count;
		for (z->slip_first = s; s < c->slips && c->slip[s].zone == i; s++)
			;
		z->slip_count = s - z->slip_first;
		for (z->remap_first = r;
		     r < c->remaps && c->remap[r].zone == i; r++)
			;
		z->remap_count = r - z->remap_first;
	}
	c->sectors = lbn;
	c->cylinders = c->zones ? c->zone[c->zones - 1].cyl_last + 1 : 0;
}

/* Mechanics: how long it takes. */

/* The seek curve, straight lines between its points and past its end. */
static u64 mde_seek_ps(const struct mde_config *c, u32 dist)
{
	const struct mde_seek *p = c->seek;
	u32 lo = 0, hi = c->seeks - 1;
	u64 x0 = 0;
	s64 y0 = 0, y;

	if (!dist)
		return 0;
	while (lo < hi) {
		u32 mid = (lo + hi) / 2;

		if (p[mid].dist < dist)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (p[lo].dist == dist)
		return p[lo].ns * 1000;
	if (lo) {
		x0 = p[lo - 1].dist;
		y0 = p[lo - 1].ns * 1000;
	}
	y = y0 + ((s64)(p[lo].ns * 1000) - y0) * (s64)(dist - x0) /
		(s64)(p[lo].dist - x0);
	return y < 0 ? 0 : y;
}

static u64 mde_move_with(const struct mde_config *c, u64 seek_ps, u32 dist,
			 bool other_head, bool write)
{
	u64 ps = seek_ps;

	if (!dist && !other_head)
		return 0;
	if (other_head)
		ps = max(ps, (u64)c->head_switch_ns * 1000);
	if (write)
		ps += c->write_settle_ns * 1000;
	return ps;
}

u64 mde_move_ps(const struct mde_config *c, u32 dist, bool other_head,
		bool write)
{
	return mde_move_with(c, mde_seek_ps(c, dist), dist, other_head, write);
}

static u32 mde_distance(u32 a, u32 b)
{
	return a > b ? a - b : b - a;
}

/* A move as it really happens: noise on each seek, which never undercuts 0. */
static u64 mde_move_noisy(struct mde *e, const struct mde_piece *p, bool write)
{
	const struct mde_config *c = e->cfg;
	u32 dist = mde_distance(e->cyl, p->cyl);
	bool other_head = e->head != p->head;
	s64 seek = mde_seek_ps(c, dist);
	u64 ps;

	if (dist) {
		seek += mde_noise_ps(e);
		if (seek < 0)
			seek = 0;
		e->stats.seeks++;
	} else if (other_head) {
		e->stats.head_switches++;
	}
	ps = mde_move_with(c, seek, dist, other_head, write);
	e->stats.seek_ps += ps;
	return ps;
}

/* Angle under the head, as the time since angle 0 passed it, ps. */
static u64 mde_phase(const struct mde *e, u64 ps)
{
	return (ps + e->phase0) % e->period;
}

/* Time that @n sectors take to pass under the head, ps. */
static u64 mde_pass(const struct mde *e, const struct mde_piece *p, u32 n)
{
	return e->period * n / p->spt;
}

/**
 * struct mde_turn - one track's rotational wait and transfer
 * @start: the first sector transferred begins, ps
 * @end: the last one ends, ps
 * @split: sectors taken a turn later than the rest (zero-latency access)
 */
struct mde_turn {
	u64 start;
	u64 end;
	u32 split;
};

/*
 * The head settles on the track of @p at @t.  With zero-latency access a head
 * that lands inside the wanted sectors takes the next whole one and all up to
 * the end, then those it missed when they come round.
 */
static void mde_rotate(const struct mde *e, const struct mde_piece *p, u64 t,
		       bool zero_latency, struct mde_turn *turn)
{
	u64 first = mul_u64_u64_shr(p->angle, e->period, 64);
	u64 phase = mde_phase(e, t);
	u64 wait = first >= phase ? first - phase : first + e->period - phase;
	u64 len = mde_pass(e, p, p->phys);
	u64 into = e->period - wait;

	if (into <= MDE_SLACK_PS) {
		wait = 0;
	} else if (zero_latency && into < len && wait) {
		u64 j = (into * p->spt + e->period - 1 -
			 MDE_SLACK_PS * p->spt) / e->period;

		if (j < p->phys) {
			u64 next = mde_pass(e, p, j);

			turn->start = t + (next > into ? next - into : 0);
			turn->end = turn->start + e->period;
			turn->split = j;
			return;
		}
	}
	turn->start = t + wait;
	turn->end = turn->start + len;
	turn->split = 0;
}

/*
 * When the bus has carried @n sectors that come off the medium from @start on,
 * one each @sector_ps.  They cross in the order in which they are read.
 */
static void mde_bus_in(struct mde *e, u64 start, u64 sector_ps, u32 n)
{
	u64 bus = e->cfg->bus_ns * 1000;
	u64 end;

	if (!n)
		return;
	if (bus <= sector_ps)
		end = start + sector_ps * n + bus;
	else
		end = start + sector_ps + bus * n;
	e->bus_in_free = max(end, e->bus_in_free + bus * n);
}

/* Firmware: bad sectors, choice of the next command, service. */

static struct mde_bad *mde_first_bad(struct mde *e, const struct mde_slot *s)
{
	struct mde_bad *found = NULL;
	u32 i;

	for (i = 0; i < e->bads; i++) {
		struct mde_bad *b = &e->bad[i];

		if (!b->times || b->lbn >= s->lbn + s->count ||
		    b->lbn + b->count <= s->lbn)
			continue;
		if (!found || b->lbn < found->lbn)
			found = b;
	}
	return found;
}

static void mde_bad_remove(struct mde *e, u32 i)
{
	e->bad[i] = e->bad[--e->bads];
}

/* A write makes the sectors it covers readable again. */
static void mde_heal(struct mde *e, u64 lbn, u32 count)
{
	u64 end = lbn + count;
	u32 i = 0;

	while (i < e->bads) {
		struct mde_bad *b = &e->bad[i];
		u64 bad_end = b->lbn + b->count;

		if (b->lbn >= end || bad_end <= lbn) {
			i++;
		} else if (b->lbn >= lbn && bad_end <= end) {
			mde_bad_remove(e, i);
		} else if (b->lbn < lbn && bad_end > end) {
			struct mde_bad tail = *b;

			b->count = lbn - b->lbn;
			tail.lbn = end;
			tail.count = bad_end - end;
			/* No room for a second part: it heals too. */
			mde_bad_add(e, &tail);
			i++;
		} else if (b->lbn < lbn) {
			b->count = lbn - b->lbn;
			i++;
		} else {
			b->lbn = end;
			b->count = bad_end - end;
			i++;
		}
	}
}

/* What a command costs if it starts at @t: all but its own transfer, ps. */
static u64 mde_cost(const struct mde *e, const struct mde_slot *s, u64 t,
		    u64 best)
{
	const struct mde_piece *p = &s->first;
	bool write = s->op == MDE_WRITE;
	struct mde_turn turn;
	u64 at = mde_move_ps(e->cfg, mde_distance(e->cyl, p->cyl),
			     e->head != p->head, write);

	if (at >= best)
		return at;
	at += t;
	if (write)
		at = max(at, s->data_ready);
	mde_rotate(e, p, at, e->cfg->zero_latency, &turn);
	return turn.end - mde_pass(e, p, p->phys) - t;
}

/* The command to start at @t, among those the drive has understood by then. */
static struct mde_slot *mde_choose(struct mde *e, u64 t)
{
	struct mde_slot *chosen = NULL;
	u64 best = U64_MAX;
	u32 left;

	for (left = e->queued; left; left &= left - 1) {
		struct mde_slot *s = &e->slot[mdk_lowest(left)];
		u64 cost;

		if (s->ready > t)
			continue;
		if (e->cfg->firmware == MDE_FCFS)
			cost = s->ready;
		else
			cost = mde_cost(e, s, t, best);
		/* Of equals, the one that came first. */
		if (cost < best || (chosen && cost == best &&
				    s->arrived < chosen->arrived)) {
			best = cost;
			chosen = s;
		}
	}
	return chosen;
}

/* Bring the head to one piece and transfer it.  Returns when that is done. */
static u64 mde_serve_piece(struct mde *e, const struct mde_slot *s,
			   const struct mde_piece *p, u64 t, bool zero_latency)
{
	u64 sector_ps = mde_pass(e, p, 1);
	struct mde_turn turn;

	t += mde_move_noisy(e, p, s->op == MDE_WRITE);
	if (s->op == MDE_WRITE)
		t = max(t, s->data_ready);
	mde_rotate(e, p, t, zero_latency, &turn);
	if (s->op == MDE_READ) {
		mde_bus_in(e, turn.start, sector_ps, p->phys - turn.split);
		mde_bus_in(e, turn.end - sector_ps * turn.split, sector_ps,
			   turn.split);
	}
	e->cyl = p->cyl;
	e->head = p->head;
	e->stats.transfer_ps += mde_pass(e, p, p->phys);
	e->stats.rotate_ps += turn.end - t - mde_pass(e, p, p->phys);
	return turn.end;
}

static void mde_count(struct mde *e, const struct mde_slot *s)
{
	struct mde_stats *st = &e->stats;

	switch (s->op) {
	case MDE_READ:
		st->reads++;
		st->sectors_read += s->good;
		break;
	case MDE_WRITE:
		st->writes++;
		st->sectors_written += s->good;
		break;
	case MDE_VERIFY:
		st->verifies++;
		st->sectors_verified += s->good;
		break;
	}
	if (s->asc)
		st->medium_errors++;
	st->busy_ps += s->media_end - s->started;
}

/* Where the command ends if one of its sectors cannot be read. */
static u64 mde_meet_bad(struct mde *e, struct mde_slot *s)
{
	struct mde_bad *bad = s->op == MDE_WRITE ? NULL : mde_first_bad(e, s);

	s->good = s->count;
	s->asc = 0;
	if (!bad)
		return 0;
	s->good = bad->lbn > s->lbn ? bad->lbn - s->lbn : 0;
	s->asc = bad->asc;
	s->info = bad->info;
	if (bad->times != MDE_ALWAYS)
		bad->times--;
	return bad->recovery_ns * 1000;
}

static void mde_report(struct mde *e, struct mde_slot *s)
{
	u64 done = s->media_end;

	if (s->op == MDE_READ)
		done = max(done, e->bus_in_free);
	done += e->cfg->completion_overhead_ns * 1000;
	if (e->cfg->jitter_ns)
		done += mde_random_below(&e->rng_jitter,
					 e->cfg->jitter_ns * 1000 + 1);
	/* One port: reports leave in the order in which commands ended. */
	s->report = max(done, e->last_report);
	e->last_report = s->report;
}

/* A slot's bit in the masks. */
static u32 mde_bit(const struct mde *e, const struct mde_slot *s)
{
	return 1U << (s - e->slot);
}

static void mde_serve(struct mde *e, struct mde_slot *s, u64 t)
{
	u64 nominal = mde_cost(e, s, t, U64_MAX) +
		mde_pass(e, &s->first, s->first.phys);
	u64 recovery = mde_meet_bad(e, s);
	u32 left = min(s->good + (s->asc ? 1 : 0), s->count);
	struct mde_piece p = s->first;
	u64 lbn = s->lbn;

	s->started = t;
	for (;;) {
		/* Up to a bad sector the drive reads in order, for retries. */
		if (s->asc || lbn != s->lbn)
			mde_locate(e->cfg, lbn, left, &p);
		t = mde_serve_piece(e, s, &p, t,
				    e->cfg->zero_latency && !s->asc);
		if (lbn == s->lbn &&
		    t > s->started + nominal + e->period / 2)
			e->stats.extra_turns++;
		lbn += p.lbns;
		left -= p.lbns;
		if (!left)
			break;
	}
	s->media_end = t + recovery;
	if (s->op == MDE_WRITE && e->cfg->heal_on_write)
		mde_heal(e, s->lbn, s->count);
	mde_report(e, s);
	mde_count(e, s);
	e->media_free = s->media_end;
	e->queued &= ~mde_bit(e, s);
	e->started |= mde_bit(e, s);
}

/* Time: nanoseconds of the caller, picoseconds since power-on. */

static u64 mde_ps(const struct mde *e, u64 now_ns)
{
	return now_ns > e->origin_ns ? (now_ns - e->origin_ns) * 1000 : 0;
}

static u64 mde_ns(const struct mde *e, u64 ps)
{
	return e->origin_ns + (ps + 999) / 1000;
}

/* When the next command can start, ps; MDE_NEVER if none waits. */
static u64 mde_next_start(const struct mde *e)
{
	u64 ready = MDE_NEVER;
	u32 left;

	for (left = e->queued; left; left &= left - 1)
		ready = min(ready, e->slot[mdk_lowest(left)].ready);
	return ready == MDE_NEVER ? ready : max(ready, e->media_free);
}

void mde_advance(struct mde *e, u64 now_ns)
{
	u64 now = mde_ps(e, now_ns);
	u64 t;

	while ((t = mde_next_start(e)) <= now)
		mde_serve(e, mde_choose(e, t), t);
}

int mde_submit(struct mde *e, u64 now_ns, enum mde_op op, u64 lbn, u32 count)
{
	const struct mde_config *c = e->cfg;
	u64 now = mde_ps(e, now_ns);
	u32 free = ~(e->queued | e->started | e->reporting);
	struct mde_slot *s;

	if (!free)
		return -EBUSY;
	s = &e->slot[mdk_lowest(free)];
	s->lbn = lbn;
	s->count = count;
	s->op = op;
	s->arrived = now;
	s->ready = now + 1000 * (op == MDE_WRITE ? c->overhead_write_ns :
				 c->overhead_read_ns);
	s->data_ready = 0;
	if (op == MDE_WRITE) {
		e->bus_out_free = max(e->bus_out_free, s->ready) +
			c->bus_ns * 1000 * count;
		s->data_ready = e->bus_out_free;
	}
	mde_locate(c, lbn, count, &s->first);
	e->queued |= mde_bit(e, s);
	e->outstanding++;
	if (e->outstanding > e->stats.max_outstanding)
		e->stats.max_outstanding = e->outstanding;
	return s - e->slot;
}

int mde_started(struct mde *e)
{
	int found = -1;
	u32 left;

	for (left = e->started; left; left &= left - 1) {
		int i = mdk_lowest(left);

		if (found < 0 || e->slot[i].started < e->slot[found].started)
			found = i;
	}
	if (found >= 0) {
		e->started &= ~(1U << found);
		e->reporting |= 1U << found;
	}
	return found;
}

/* The started command that is to be reported first, or -1. */
static int mde_first_report(const struct mde *e)
{
	int found = -1;
	u32 left;

	for (left = e->started | e->reporting; left; left &= left - 1) {
		int i = mdk_lowest(left);

		if (found < 0 || e->slot[i].report < e->slot[found].report)
			found = i;
	}
	return found;
}

int mde_due(const struct mde *e, u64 now_ns)
{
	int i = mde_first_report(e);

	return i >= 0 && mde_report_ns(e, i) <= now_ns ? i : -1;
}

u64 mde_next_event(const struct mde *e)
{
	int i = mde_first_report(e);
	u64 t = mde_next_start(e);

	if (i >= 0 && (t == MDE_NEVER || e->slot[i].report < t + MDE_DEFER_PS))
		t = e->slot[i].report;
	return t == MDE_NEVER ? t : mde_ns(e, t);
}

u64 mde_report_ns(const struct mde *e, int slot)
{
	return mde_ns(e, e->slot[slot].report);
}

void mde_release(struct mde *e, int slot)
{
	u32 keep = ~(1U << slot);

	e->queued &= keep;
	e->started &= keep;
	e->reporting &= keep;
	e->outstanding--;
}

int mde_bad_add(struct mde *e, const struct mde_bad *bad)
{
	if (e->bads == MDE_BAD_MAX)
		return -ENOSPC;
	e->bad[e->bads++] = *bad;
	return 0;
}

void mde_bad_clear(struct mde *e)
{
	e->bads = 0;
}

void mde_stats_reset(struct mde *e)
{
	memset(&e->stats, 0, sizeof(e->stats));
	e->stats.max_outstanding = e->outstanding;
}

void mde_place_head(struct mde *e, u32 cyl, u32 head, u64 now_ns, u64 angle)
{
	u64 now = mde_ps(e, now_ns);
	u64 want = mul_u64_u64_shr(angle, e->period, 64);

	e->cyl = cyl;
	e->head = head;
	e->media_free = now;
	e->phase0 = (want + e->period - now % e->period) % e->period;
}

u64 mde_angle(const struct mde *e, u64 now_ns)
{
	u64 phase = mde_phase(e, mde_ps(e, now_ns));

	/* phase / period as a 64-bit fraction, 24 bits at a time: a phase has 37. */
	u64 hi = (phase << 24) / e->period;
	u64 mid = (phase << 24) % e->period;
	u64 lo = (mid << 24) % e->period;

	mid = (mid << 24) / e->period;
	return (hi << 40) + (mid << 16) + (lo << 16) / e->period;
}

void mde_init(struct mde *e, const struct mde_config *cfg, u64 now_ns)
{
	u64 phase_seed = cfg->seed ^ MDE_STREAM_PHASE;

	memset(e, 0, sizeof(*e));
	e->cfg = cfg;
	e->origin_ns = now_ns;
	e->period = (u64)((s64)cfg->period_ps * 1000000 /
			  (1000000 + cfg->rpm_error_ppm));
	e->phase0 = mde_random_below(&phase_seed, e->period);
	e->rng_noise = cfg->seed ^ MDE_STREAM_NOISE;
	e->rng_jitter = cfg->seed ^ MDE_STREAM_JITTER;
	memcpy(e->bad, cfg->bad, sizeof(e->bad));
	e->bads = cfg->bads;
}
