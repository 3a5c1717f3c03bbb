// SPDX-License-Identifier: GPL-2.0
/*
 * Mechanics of a simulated drive; see mechdisk_mech.h.
 *
 * Written from "Freeblock Scheduling Outside of Disk Firmware" (2.1, 3.1-3.3,
 * 4.2), and on purpose not from the scheduler's disk model: the model
 * predicts, the drive decides.
 */
#include "mechdisk_mech.h"

/*
 * Rounding of angles to picoseconds must not turn "the sector starts now" into
 * "it has just gone by".  1 ns is 1/17000 of a sector.
 */
#define MDM_SLACK_PS	1000ULL
/* ... and scaling them to a speed that has changed. */
#define MDM_SCALE_PS	10ULL

#define MDM_SECOND_PS	1000000000000ULL
#define MDM_MILLION	1000000ULL

/* Streams of random numbers, so that one kind of noise never shifts another. */
#define MDM_STREAM_PHASE	0x70686173ULL
#define MDM_STREAM_NOISE	0x6e6f6973ULL

/* ln 2 and 1/sqrt(2) in 16-bit fixed point. */
#define MDM_LN2_Q16		45426ULL
#define MDM_SQRT_HALF_Q16	46341ULL

u64 mdm_random(u64 *state)
{
	u64 z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

u64 mdm_random_below(u64 *state, u64 bound)
{
	return mul_u64_u64_shr(mdm_random(state), bound, 64);
}

/* -ln of a number uniform in (0, 1], in 24-bit fixed point. */
static u64 mdm_random_exp_q24(u64 *state)
{
	u64 r = mdm_random(state) | 1;
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
	return (((64ULL << 24) - log2) * MDM_LN2_Q16) >> 16;
}

/* Sum of twelve uniform numbers less its mean: variance 1, within +-6. */
static s64 mdm_random_gauss_q16(u64 *state)
{
	s64 sum = 0;
	int i;

	for (i = 0; i < 12; i++)
		sum += mdm_random(state) >> 48;
	return sum - 6 * 65536LL;
}

/* What to add to one seek, ps; may be negative. */
static s64 mdm_noise_ps(struct mdm *m)
{
	const struct mde_config *c = m->cfg;
	s64 sd_ps = c->noise_sd_ns * 1000;
	s64 ps = 0;

	switch (c->noise) {
	case MDE_NOISE_GAUSS:
		ps = sd_ps / 65536 * mdm_random_gauss_q16(&m->rng);
		break;
	case MDE_NOISE_LAPLACE:
		/* An exponential of scale sd / sqrt(2) with a random sign. */
		ps = ((sd_ps * MDM_SQRT_HALF_Q16) >> 16) *
			mdm_random_exp_q24(&m->rng) >> 24;
		if (mdm_random(&m->rng) >> 63)
			ps = -ps;
		break;
	}
	if (c->outlier_ppm &&
	    mdm_random_below(&m->rng, 1000000) < c->outlier_ppm)
		ps += c->outlier_ns * 1000;
	return ps;
}

/* Mechanics: how long it takes. */

/* The seek curve, straight lines between its points and past its end. */
static u64 mdm_seek_ps(const struct mde_config *c, u32 dist)
{
	const struct mde_seek *p = c->seek;
	u32 lo = 0, hi = c->seeks - 1;
	u64 x0 = 0;
	s64 y0 = 0, dx, y;

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
		y0 = p[lo - 1].ns;
	}
	/* In nanoseconds, and the rest in ps: 1 s times 10^7 cylinders fits. */
	dx = p[lo].dist - x0;
	y = ((s64)p[lo].ns - y0) * (s64)(dist - x0);
	y = y0 * 1000 + y / dx * 1000 + y % dx * 1000 / dx;
	return y < 0 ? 0 : y;
}

/* Seek or head switch, whichever takes longer, and settling (may be negative). */
static u64 mdm_move_with(const struct mde_config *c, u64 seek_ps, u32 dist,
			 bool other_head, bool write)
{
	s64 ps = seek_ps;

	if (!dist && !other_head)
		return 0;
	if (other_head)
		ps = max(ps, (s64)(c->head_switch_ns * 1000));
	if (write)
		ps += c->write_settle_ns * 1000;
	return ps < 0 ? 0 : ps;
}

u64 mdm_move_ps(const struct mde_config *c, u32 dist, bool other_head,
		bool write)
{
	return mdm_move_with(c, mdm_seek_ps(c, dist), dist, other_head, write);
}

/* The seek at present. */
static u64 mdm_seek_now_ps(const struct mdm *m, u32 dist)
{
	s64 ps = mdm_seek_ps(m->cfg, dist);

	return ps + ps / 1000 * m->seek_ppm / 1000;
}

static u32 mdm_distance(const struct mdm *m, const struct mdl_piece *p)
{
	return m->cyl > p->cyl ? m->cyl - p->cyl : p->cyl - m->cyl;
}

/* What a seek to a piece takes longer because of where that is. */
static u64 mdm_slow_ps(const struct mdm *m, const struct mdl_piece *p, u32 dist)
{
	const struct mde_config *c = m->cfg;
	u32 i;

	for (i = 0; dist > 1 && i < c->slows; i++)
		if (p->cyl >= c->slow[i].first && p->cyl <= c->slow[i].last)
			return m->period;
	return 0;
}

u64 mdm_reach(const struct mdm *m, const struct mdl_piece *p, bool write)
{
	u32 dist = mdm_distance(m, p);

	return mdm_slow_ps(m, p, dist) +
		mdm_move_with(m->cfg, mdm_seek_now_ps(m, dist), dist, m->head != p->head, write);
}

u64 mdm_move(struct mdm *m, const struct mdl_piece *p, bool write)
{
	u32 dist = mdm_distance(m, p);
	bool other_head = m->head != p->head;
	s64 seek = mdm_seek_now_ps(m, dist);

	if (dist)
		seek += mdm_noise_ps(m);
	if (seek < 0)
		seek = 0;
	m->cyl = p->cyl;
	m->head = p->head;
	return mdm_slow_ps(m, p, dist) + mdm_move_with(m->cfg, seek, dist, other_head, write);
}

/* Drift. */

/*
 * A speed of 1 + ppm * t / ramp has turned the platter by t + ppm * t^2 / (2 ramp):
 * reckoned from power-on each time, so that no rounding adds up.
 */
u64 mdm_turned(const struct mdm *m, u64 t)
{
	u64 ramp = m->cfg->rpm_drift_s * MDM_SECOND_PS, more;
	s64 ppm = m->cfg->rpm_drift_ppm;

	if (!ppm)
		return (t + m->phase0) % m->nominal;
	more = t < ramp ? mul_u64_u64_div_u64(t, t, 2 * ramp) :
		ramp / 2 + (t - ramp);
	more = mul_u64_u64_div_u64(more, ppm < 0 ? -ppm : ppm, MDM_MILLION);
	return (ppm < 0 ? t + m->phase0 - more : t + m->phase0 + more) %
		m->nominal;
}

/* What has come at @t of @ppm, times the microseconds it takes. */
static s64 mdm_ramp(s64 ppm, u64 seconds, u64 t)
{
	return ppm * (s64)min(t / MDM_MILLION, seconds * MDM_MILLION);
}

void mdm_drift(struct mdm *m, u64 t)
{
	const struct mde_config *c = m->cfg;
	u64 whole = c->rpm_drift_s * MDM_MILLION * MDM_MILLION;

	s64 faster = mdm_ramp(c->rpm_drift_ppm, c->rpm_drift_s, t);

	if (c->rpm_drift_ppm)
		m->period = mul_u64_u64_div_u64(m->nominal, whole, whole + faster);
	if (c->seek_drift_ppm)
		m->seek_ppm = mdm_ramp(c->seek_drift_ppm, c->seek_drift_s, t) /
			(s64)(c->seek_drift_s * MDM_MILLION);
}

u64 mdm_phase(const struct mdm *m, u64 t)
{
	u64 turned = mdm_turned(m, t);

	if (m->period == m->nominal)
		return turned;
	return mul_u64_u64_div_u64(turned, m->period, m->nominal);
}

void mdm_rotate(const struct mdm *m, const struct mdl_piece *p, u64 t,
		bool zero_latency, struct mdm_turn *turn)
{
	u64 first = mul_u64_u64_shr(p->angle, m->period, 64);
	u64 phase = mdm_phase(m, t);
	u64 wait = first >= phase ? first - phase : first + m->period - phase;
	u64 len = mdm_pass(m, p, p->phys);
	u64 into = m->period - wait;

	if (into <= m->slack) {
		wait = 0;
	} else if (zero_latency && into < len && wait) {
		u64 j = (into * p->spt + m->period - 1 - m->slack * p->spt) /
			m->period;

		if (j < p->phys) {
			u64 next = mdm_pass(m, p, j);

			turn->start = t + (next > into ? next - into : 0);
			turn->end = turn->start + m->period;
			turn->split = j;
			return;
		}
	}
	turn->start = t + wait;
	turn->end = turn->start + len;
	turn->split = 0;
}

/* Besides more rounding: what the change of speed in two turns makes of their end. */
static u64 mdm_slack(const struct mde_config *c)
{
	u64 two = 2 * c->period_ps, ppm, changes;

	if (!c->rpm_drift_ppm)
		return MDM_SLACK_PS;
	ppm = c->rpm_drift_ppm < 0 ? -c->rpm_drift_ppm : c->rpm_drift_ppm;
	changes = mul_u64_u64_div_u64(two, two, c->rpm_drift_s * MDM_SECOND_PS);
	return MDM_SLACK_PS + MDM_SCALE_PS + changes * ppm / MDM_MILLION;
}

void mdm_init(struct mdm *m, const struct mde_config *cfg)
{
	u64 seed = cfg->seed ^ MDM_STREAM_PHASE;

	memset(m, 0, sizeof(*m));
	m->cfg = cfg;
	/* The error is small enough for the product to fit 63 bits. */
	m->nominal = cfg->period_ps - (s64)cfg->period_ps * cfg->rpm_error_ppb /
		(1000000000 + cfg->rpm_error_ppb);
	m->period = m->nominal;
	m->slack = mdm_slack(cfg);
	m->phase0 = mdm_random_below(&seed, m->period);
	m->rng = cfg->seed ^ MDM_STREAM_NOISE;
}
