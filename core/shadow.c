// SPDX-License-Identifier: GPL-2.0
/*
 * What the drive would do without us; see core/shadow.h. Calls: core/head.c, disk_model.c, and the
 * means of core/idle_cost.c. Core: no locks, the caller serialises.
 */
#include "core/shadow.h"

/* what an event may cost: services of the shadow, each of which looks at what the drive has got */
#define FB_SHADOW_STEPS 4
#define FB_SHADOW_FADES 4096	/* commands at which those learnt from count half */
#define FB_SHADOW_PRIOR 256	/* a prediction is believed to be right with this weight */
#define FB_SHADOW_TURNS 8	/* what takes this much longer is error recovery */

void fb_shadow_init(struct fb_shadow *s)
{
	memset(s, 0, sizeof(*s));
}

void fb_shadow_lose(struct fb_shadow *s)
{
	s->follows = false;
}

/* when the drive could move its arm for a request, were it idle */
static u64 fb_shadow_ready_ns(const struct fb_head *head, const struct fb_idle_cost_req *req)
{
	const struct dm_info *info = dm_info(head->dm);

	return req->arrived_ns + (req->write ? info->write_overhead_ns : info->read_overhead_ns);
}

/* when the next service begins: an idle drive begins with the first request that is ready */
static u64 fb_shadow_begin_ns(const struct fb_shadow *s, const struct fb_head *head)
{
	u64 ready_ns = U64_MAX;
	u32 i;

	for (i = 0; i < min(s->n, FB_SHADOW_DEPTH); i++)
		ready_ns = min(ready_ns, fb_shadow_ready_ns(head, &s->queue[i].req));
	return max(ready_ns, s->free_ns);
}

/* of those that the drive has got and that are ready, the one with the shortest positioning time */
static u32 fb_shadow_choose(const struct fb_shadow *s, const struct fb_head *head,
			    const struct dm_place *from, u64 begin_ns)
{
	u64 seek_ns, latency_ns, best_ns = U64_MAX;
	u32 i, best = 0;

	for (i = 0; i < min(s->n, FB_SHADOW_DEPTH); i++) {
		if (fb_shadow_ready_ns(head, &s->queue[i].req) > begin_ns)
			continue;
		dm_position(head->dm, from, &s->queue[i].start, s->queue[i].req.write, &seek_ns,
			    &latency_ns);
		if (seek_ns + latency_ns >= best_ns)
			continue;
		best_ns = seek_ns + latency_ns;
		best = i;
	}
	return best;
}

static bool fb_shadow_serve(struct fb_shadow *s, const struct fb_head *head, u64 begin_ns)
{
	const struct dm_info *info = dm_info(head->dm);
	const struct fb_idle_cost_req *req;
	struct dm_place from = s->at;
	struct dm_access acc;
	u32 i;

	from.angle = fb_head_angle(head, begin_ns);
	i = fb_shadow_choose(s, head, &from, begin_ns);
	req = &s->queue[i].req;
	if (dm_access(head->dm, &from, req->lbn, req->nsect, req->write, &acc))
		return false;
	s->at = acc.end;
	s->free_ns = begin_ns + acc.total_ns + fb_idle_cost_mean_ns(&s->late, FB_SHADOW_PRIOR);
	s->sum_ns -= s->free_ns + (req->write ? info->write_report_ns : info->read_report_ns);
	s->n--;
	memmove(&s->queue[i], &s->queue[i + 1], (s->n - i) * sizeof(s->queue[0]));
	return true;
}

/* do what the shadow has begun by now; what is left over is done at the next event */
static void fb_shadow_go_on(struct fb_shadow *s, const struct fb_head *head, u64 now)
{
	u64 begin_ns;
	u32 i;

	for (i = 0; s->follows && s->n && i < FB_SHADOW_STEPS; i++) {
		begin_ns = fb_shadow_begin_ns(s, head);
		if (begin_ns > now)
			return;
		s->follows = head->anchored && fb_shadow_serve(s, head, begin_ns);
	}
}

/* where both have ended the same requests, the sum of times says how much later the drive has */
static void fb_shadow_settle(struct fb_shadow *s)
{
	if (!s->follows || s->open || s->n)
		return;
	s->followed += s->ended;
	s->later_ns += s->sum_ns;
	s->ended = 0;
	s->sum_ns = 0;
}

void fb_shadow_arrived(struct fb_shadow *s, const struct fb_head *head,
		       const struct fb_idle_cost_req *req)
{
	struct fb_shadow_req *r;

	fb_shadow_go_on(s, head, req->arrived_ns);
	fb_shadow_settle(s);
	s->follows = s->follows && s->n < FB_SHADOW_QUEUE;
	if (!s->follows)
		return;
	r = &s->queue[s->n];
	r->req = *req;
	s->follows = !dm_place_of(head->dm, req->lbn, &r->start);
	s->n++;
	s->open++;
}

void fb_shadow_served(struct fb_shadow *s, const struct fb_head *head, u64 now, u64 arrived_ns)
{
	if (!s->follows || !s->open || arrived_ns < s->since_ns)
		return;
	s->open--;
	s->ended++;
	s->sum_ns += now;
	fb_shadow_go_on(s, head, now);
	fb_shadow_settle(s);
}

void fb_shadow_learn(struct fb_shadow *s, const struct fb_completion_cmd *c,
		     const struct fb_completion_result *r, u64 turn_ns)
{
	if (!c->foreground || !r->predicted_ns ||
	    r->late_ns > (s64)(FB_SHADOW_TURNS * turn_ns))
		return;
	/*
	 * Where there is a free read the gap is long, so that no turn would have been lost; the
	 * others alone are those with the short gaps.
	 */
	fb_idle_cost_add(&s->late, c->cause == FB_CAUSE_PLAIN ? r->late_ns : 0, FB_SHADOW_FADES);
}

void fb_shadow_idle(struct fb_shadow *s, const struct fb_head *head, u64 now)
{
	/* a request that was merged into another one does not end */
	if (s->follows && !s->open)
		return;
	s->follows = head->known && fb_head_locked(head, now);
	s->since_ns = now;
	s->at = head->at;
	s->free_ns = now;
	s->n = 0;
	s->open = 0;
	s->ended = 0;
	s->sum_ns = 0;
}
