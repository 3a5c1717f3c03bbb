// SPDX-License-Identifier: GPL-2.0
/*
 * What foreground requests would have cost without idle reads; see core/idle_cost.h. Core: no
 * locks, the caller serialises.
 */
#include "core/idle_cost.h"

#define FB_IDLE_COST_NS_PER_US 1000
#define FB_IDLE_COST_FADES 1024		/* samples after which they count half */
#define FB_IDLE_COST_AHEAD_FADES 64	/* the same of the read-ahead, which hosts switch */
#define FB_IDLE_COST_ORDERED_FADES 256	/* the same of streams where the drive orders */
#define FB_IDLE_COST_KNOWN 8		/* least samples of a mean */
#define FB_IDLE_COST_PRIOR 8		/* a prediction is believed to be right with this weight */
#define FB_IDLE_COST_SKIP 256		/* sectors that a stream may leave out */
#define FB_IDLE_COST_TURNS 8		/* what takes this much longer is error recovery */
#define FB_IDLE_COST_SHORT 8		/* a request of a track's part is short */
#define FB_IDLE_COST_ONE_NS 1000000000	/* fb_idle_cost.ahead: all of them */

void fb_idle_cost_add_all(struct fb_idle_cost_mean *m, u32 n, s64 ns, u32 fades)
{
	m->us += div_s64(ns, FB_IDLE_COST_NS_PER_US);
	m->n += n;
	if (m->n < fades)
		return;
	m->n /= 2;
	m->us = div_s64(m->us, 2);
}

void fb_idle_cost_add(struct fb_idle_cost_mean *m, s64 ns, u32 fades)
{
	fb_idle_cost_add_all(m, 1, ns, fades);
}

s64 fb_idle_cost_mean_ns(const struct fb_idle_cost_mean *m, u32 prior)
{
	return m->n ? div_s64(m->us * FB_IDLE_COST_NS_PER_US, m->n + prior) : 0;
}

void fb_idle_cost_init(struct fb_idle_cost *c)
{
	u32 i;

	memset(c, 0, sizeof(*c));
	for (i = 0; i < FB_IDLE_COST_STREAMS; i++)
		c->stream[i].next_lbn = U64_MAX;
}

void fb_idle_cost_set_drive(struct fb_idle_cost *c, u64 turn_ns, u32 sector_ps)
{
	fb_idle_cost_init(c);
	c->turn_ns = turn_ns;
	c->short_sectors = div_u64(turn_ns * 1000, max(sector_ps, 1U)) / FB_IDLE_COST_SHORT;
}

/* ---- streams ---- */

static bool fb_idle_cost_goes_on(const struct fb_idle_cost_stream *s,
				 const struct fb_idle_cost_req *req)
{
	return req->lbn >= s->next_lbn && req->lbn - s->next_lbn <= FB_IDLE_COST_SKIP;
}

static struct fb_idle_cost_stream *fb_idle_cost_stream(struct fb_idle_cost *c,
						       const struct fb_idle_cost_req *req)
{
	u32 i;

	for (i = 0; i < FB_IDLE_COST_STREAMS && !req->write; i++)
		if (fb_idle_cost_goes_on(&c->stream[i], req))
			return &c->stream[i];
	return NULL;
}

/* the same if the drive may still have what it has read ahead for it */
static struct fb_idle_cost_stream *fb_idle_cost_whole(struct fb_idle_cost *c,
						      const struct fb_idle_cost_req *req)
{
	struct fb_idle_cost_stream *s = fb_idle_cost_stream(c, req);

	return s && !s->written ? s : NULL;
}

bool fb_idle_cost_is_stream(const struct fb_idle_cost *c, u64 lbn)
{
	u32 i;

	for (i = 0; i < FB_IDLE_COST_STREAMS; i++)
		if (c->stream[i].next_lbn == lbn && c->stream[i].went_on)
			return true;
	return false;
}

void fb_idle_cost_wrote(struct fb_idle_cost *c, const struct fb_idle_cost_req *req)
{
	u32 i;

	for (i = 0; i < FB_IDLE_COST_STREAMS; i++) {
		if (!fb_idle_cost_goes_on(&c->stream[i], req))
			continue;
		c->stream[i].next_lbn = req->lbn + req->nsect;
		c->stream[i].written = true;
	}
}

/* have idle reads come since its last request? */
static bool fb_idle_cost_is_touched(const struct fb_idle_cost *c,
				    const struct fb_idle_cost_stream *s)
{
	return s->reads != c->reads;
}

static void fb_idle_cost_follow(struct fb_idle_cost *c, const struct fb_idle_cost_req *req)
{
	struct fb_idle_cost_stream *s = fb_idle_cost_stream(c, req);

	if (req->write) {
		fb_idle_cost_wrote(c, req);
		return;
	}
	if (!s) {
		s = &c->stream[c->oldest];
		c->oldest = (c->oldest + 1) % FB_IDLE_COST_STREAMS;
		s->reads = c->reads;
		s->went_on = false;
	} else {
		s->went_on = true;
	}
	s->touched = c->touched || fb_idle_cost_is_touched(c, s);
	s->next_lbn = req->lbn + req->nsect;
	s->reads = c->reads;
	s->written = false;
}

static bool fb_idle_cost_mostly_ahead(const struct fb_idle_cost *c)
{
	return fb_idle_cost_mean_ns(&c->ahead, 0) > FB_IDLE_COST_ONE_NS / 2;
}

bool fb_idle_cost_knows_streams(const struct fb_idle_cost *c)
{
	return c->took.n >= FB_IDLE_COST_KNOWN && c->ahead.n >= FB_IDLE_COST_KNOWN;
}

/* the drive has streams' next requests before they come */
static bool fb_idle_cost_reads_ahead(const struct fb_idle_cost *c)
{
	return fb_idle_cost_knows_streams(c) && fb_idle_cost_mostly_ahead(c);
}

bool fb_idle_cost_is_ahead(struct fb_idle_cost *c, const struct fb_idle_cost_req *req)
{
	return fb_idle_cost_reads_ahead(c) && fb_idle_cost_whole(c, req);
}

/* ---- the first request of a busy period ---- */

/* its time by the model, from where the head is or was; 0: unknown */
static u64 fb_idle_cost_predict(struct fb_idle_cost *c, const struct fb_head *head,
				const struct fb_idle_cost_req *req, bool read)
{
	struct dm_place from;
	struct dm_access acc;
	const struct dm_info *info;
	u64 overhead_ns, report_ns;

	if (!head || !head->dm)
		return 0;
	info = dm_info(head->dm);
	overhead_ns = req->write ? info->write_overhead_ns : info->read_overhead_ns;
	report_ns = req->write ? info->write_report_ns : info->read_report_ns;
	if (!fb_head_locked(head, req->arrived_ns) || !(read ? c->home_known : head->known))
		return 0;
	from = read ? c->home : head->at;
	from.angle = fb_head_angle(head, req->arrived_ns + overhead_ns);
	if (dm_access(head->dm, &from, req->lbn, req->nsect, req->write, &acc))
		return 0;
	return overhead_ns + acc.total_ns + report_ns;
}

/*
 * What it should take at least if the drive has not read ahead. Where the head or the phase is
 * unknown, half a turn on the mean, if what is transferred is short beside that; 0: unknown.
 */
static u64 fb_idle_cost_should(const struct fb_idle_cost *c, const struct fb_idle_cost_req *req,
			       u64 predicted_ns)
{
	if (predicted_ns || req->nsect > c->short_sectors)
		return predicted_ns;
	return c->turn_ns / 2;
}

static u64 fb_idle_cost_without(const struct fb_idle_cost *c)
{
	bool predicted = c->predicted_ns;
	s64 ns;

	if (c->is_stream && c->took.n >= FB_IDLE_COST_KNOWN &&
	    (fb_idle_cost_reads_ahead(c) || !predicted || c->ahead.n < FB_IDLE_COST_KNOWN))
		return fb_idle_cost_mean_ns(&c->took, 0);
	if (!predicted || (c->is_stream && c->ahead.n < FB_IDLE_COST_KNOWN))
		return 0;
	ns = c->predicted_ns + fb_idle_cost_mean_ns(&c->off[c->is_stream], FB_IDLE_COST_PRIOR);
	return max_t(s64, ns, FB_IDLE_COST_NS_PER_US);
}

void fb_idle_cost_sent(struct fb_idle_cost *c, const struct fb_head *head, bool begins)
{
	c->reads++;
	if (!begins)
		return;
	c->home_known = head && head->known;
	if (c->home_known)
		c->home = head->at;
}

void fb_idle_cost_begin(struct fb_idle_cost *c, const struct fb_head *head,
			const struct fb_idle_cost_req *req, bool read)
{
	const struct fb_idle_cost_stream *s;
	bool ended;

	c->known = req;
	c->is_stream = false;
	c->goes_on = false;
	c->touched = read;
	if (!req)
		return;
	s = fb_idle_cost_whole(c, req);
	c->touched = read || (s && fb_idle_cost_is_touched(c, s));
	/* what the drive may have read ahead was ended, by an idle read or who waited for one */
	ended = s && (s->touched || c->touched);
	c->first = true;
	c->is_stream = s;
	c->goes_on = s && s->went_on;
	c->clean = !c->touched && !ended;
	c->moved = read || (ended && fb_idle_cost_reads_ahead(c));
	c->begun_ns = req->arrived_ns;
	c->predicted_ns = fb_idle_cost_predict(c, head, req, read);
	c->should_ns = fb_idle_cost_should(c, req, c->predicted_ns);
	c->without_ns = c->moved ? fb_idle_cost_without(c) : 0;
	c->known = !c->moved || c->without_ns;
}

void fb_idle_cost_lose(struct fb_idle_cost *c)
{
	c->known = false;
}

/* the first request's stream can tell what is not known of streams; long requests never do */
static bool fb_idle_cost_would_tell(const struct fb_idle_cost *c)
{
	return c->should_ns && !fb_idle_cost_knows_streams(c);
}

bool fb_idle_cost_is_new_stream(const struct fb_idle_cost *c)
{
	return c->goes_on && fb_idle_cost_would_tell(c);
}

bool fb_idle_cost_wants_clean(const struct fb_idle_cost *c, bool begun)
{
	if (!c->is_stream)
		return begun;
	return !c->clean || fb_idle_cost_would_tell(c);
}

/* ---- what is served ---- */

/* error recovery is no idle read's fault, nor what requests usually take */
static bool fb_idle_cost_is_recovery(const struct fb_idle_cost *c, u64 took_ns, u64 usual_ns)
{
	return took_ns > usual_ns + FB_IDLE_COST_TURNS * c->turn_ns;
}

/* a request that nobody had disturbed */
static void fb_idle_cost_learn(struct fb_idle_cost *c, u64 took_ns)
{
	s64 off_ns = took_ns - c->predicted_ns;

	if (c->is_stream)
		fb_idle_cost_add(&c->took, took_ns, FB_IDLE_COST_FADES);
	if (c->predicted_ns)
		fb_idle_cost_add(&c->off[c->is_stream], off_ns, FB_IDLE_COST_FADES);
}

/* a stream's request that nobody had disturbed: does the drive read ahead? */
static void fb_idle_cost_learn_ahead(struct fb_idle_cost *c, u64 took_ns, u64 should_ns)
{
	bool ahead = took_ns + c->turn_ns / 4 < should_ns;
	bool mostly = fb_idle_cost_mostly_ahead(c);

	if (should_ns < c->turn_ns / 2)
		return;
	fb_idle_cost_add(&c->ahead, ahead ? FB_IDLE_COST_ONE_NS : 0, FB_IDLE_COST_AHEAD_FADES);
	if (fb_idle_cost_mostly_ahead(c) == mostly)
		return;
	/* it was switched: what streams took before says nothing any more, and fades far slower */
	c->took = (struct fb_idle_cost_mean) { 0 };
	c->off[true] = (struct fb_idle_cost_mean) { 0 };
}

/* how long the first request would have taken */
static u64 fb_idle_cost_first(struct fb_idle_cost *c, u64 took_ns, bool alone, u64 met_ns)
{
	c->first = false;
	if (!c->moved) {
		if (alone && c->clean &&
		    !fb_idle_cost_is_recovery(c, took_ns, c->predicted_ns)) {
			if (c->is_stream)
				fb_idle_cost_learn_ahead(c, took_ns, c->should_ns);
			fb_idle_cost_learn(c, took_ns);
		}
		return took_ns;
	}
	if (fb_idle_cost_is_recovery(c, took_ns, met_ns + c->without_ns))
		return took_ns - met_ns;
	return c->without_ns;
}

/* how long another one would have taken: as long as it has, but for the read-ahead */
static u64 fb_idle_cost_further(struct fb_idle_cost *c, u64 took_ns,
				const struct fb_idle_cost_req *req)
{
	const struct fb_idle_cost_stream *s = fb_idle_cost_whole(c, req);

	if (!s || !fb_idle_cost_is_touched(c, s) || !fb_idle_cost_reads_ahead(c))
		return took_ns;
	return min_t(u64, took_ns, fb_idle_cost_mean_ns(&c->took, 0));
}

s64 fb_idle_cost_served(struct fb_idle_cost *c, u64 now, const struct fb_idle_cost_req *req,
			bool alone, u64 met_ns)
{
	u64 begun_ns = c->first ? c->begun_ns : max(c->served_ns, req->arrived_ns);
	u64 ns = now - min(begun_ns, now);

	if (c->known && c->first)
		/* the policy may have served one first that came later */
		c->virtual_ns = max(begun_ns + fb_idle_cost_first(c, ns, alone, met_ns),
				    req->arrived_ns);
	else if (c->known)
		c->virtual_ns = max(c->virtual_ns, req->arrived_ns) +
				fb_idle_cost_further(c, ns, req);
	c->first = false;
	c->served_ns = now;
	fb_idle_cost_follow(c, req);
	return c->known ? (s64)(now - c->virtual_ns) : 0;
}

/* ---- where the drive orders ---- */

bool fb_idle_cost_is_hit(const struct fb_idle_cost *c, u64 now, const struct fb_idle_cost_req *req)
{
	return now < req->arrived_ns + c->turn_ns / 4;
}

s64 fb_idle_cost_ordered(struct fb_idle_cost *c, u64 now, const struct fb_idle_cost_req *req)
{
	const struct fb_idle_cost_stream *s = fb_idle_cost_whole(c, req);
	u64 took_ns = now - min(req->arrived_ns, now);

	if (!s)
		return 0;
	if (c->touched || s->touched || fb_idle_cost_is_touched(c, s))
		return fb_idle_cost_reads_ahead(c) ?
			(s64)min(took_ns, FB_IDLE_COST_TURNS * c->turn_ns) -
			fb_idle_cost_mean_ns(&c->took, 0) : 0;
	if (fb_idle_cost_is_recovery(c, took_ns, 0))
		return 0;
	fb_idle_cost_learn_ahead(c, took_ns, fb_idle_cost_should(c, req, 0));
	fb_idle_cost_add(&c->took, took_ns, FB_IDLE_COST_ORDERED_FADES);
	return 0;
}
