// SPDX-License-Identifier: GPL-2.0
/*
 * What the drive would do without us; see core/shadow.h. Core: no locks, the caller serialises.
 */
#include "core/shadow.h"

#define FB_SHADOW_FADES 4096	/* commands at which those learnt from count half */
#define FB_SHADOW_PRIOR 256	/* a prediction is believed to be right with this weight */
#define FB_SHADOW_TURNS 8	/* what takes this much longer is error recovery */
#define FB_SHADOW_DEPTH 32U	/* of so many requests the drive chooses, as with ATA's queueing */
/* what an event may cost: services, each of which looks at what the drive has got */
#define FB_SHADOW_STEPS 4

void fb_shadow_init(struct fb_shadow *s)
{
	memset(s, 0, sizeof(*s));
}

void fb_shadow_lose(struct fb_shadow *s)
{
	s->follows = false;
}

/* ---- its queue ---- */

static bool fb_shadow_add(struct fb_shadow *s, const struct disk_model *dm,
			  const struct fb_fg_req *req)
{
	if (s->n == FB_SHADOW_QUEUE || dm_place_of(dm, req->lbn, &s->queue[s->n].start))
		return false;
	s->queue[s->n++].req = *req;
	return true;
}

/* when it could move its arm for a request, were it idle */
static u64 fb_shadow_ready_ns(const struct fb_head *head, const struct fb_fg_req *req)
{
	const struct dm_info *info = dm_info(head->dm);

	return req->arrived_ns + (req->write ? info->write_overhead_ns : info->read_overhead_ns);
}

/* when the next service begins */
static u64 fb_shadow_begin_ns(const struct fb_shadow *s, const struct fb_head *head)
{
	u64 ready_ns = U64_MAX;
	u32 i;

	for (i = 0; i < min(s->n, FB_SHADOW_DEPTH); i++)
		ready_ns = min(ready_ns, fb_shadow_ready_ns(head, &s->queue[i].req));
	return max(ready_ns, s->free_ns);
}

/* of those that are ready, the one that it takes */
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

/* serve a request, if one has been begun by now */
static bool fb_shadow_serve(struct fb_shadow *s, const struct fb_head *head, u64 now)
{
	const struct dm_info *info = dm_info(head->dm);
	u64 begin_ns = fb_shadow_begin_ns(s, head);
	struct dm_place from = s->at;
	struct fb_fg_req req;
	struct dm_access acc;
	u32 i;

	if (!s->n || begin_ns > now || !head->anchored)
		return false;
	from.angle = fb_head_angle(head, begin_ns);
	i = fb_shadow_choose(s, head, &from, begin_ns);
	req = s->queue[i].req;
	/* it is in no place only if the model has changed, which begins anew: it stays till then */
	if (dm_access(head->dm, &from, req.lbn, req.nsect, req.write, &acc))
		return false;
	s->n--;
	memmove(&s->queue[i], &s->queue[i + 1], (s->n - i) * sizeof(s->queue[0]));
	s->at = acc.end;
	s->free_ns = begin_ns + acc.total_ns + fb_mean_ns(&s->late, FB_SHADOW_PRIOR);
	s->sum_ns -= s->free_ns + (req.write ? info->write_report_ns : info->read_report_ns);
	return true;
}

/* do what it has begun by now; what is left over is done at the next event */
static void fb_shadow_go_on(struct fb_shadow *s, const struct fb_head *head, u64 now)
{
	u32 i;

	s->follows = s->follows && head->anchored;
	for (i = 0; i < FB_SHADOW_STEPS && s->follows; i++)
		if (!fb_shadow_serve(s, head, now))
			break;
}

/* ---- events ---- */

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
		       const struct fb_fg_req *req)
{
	fb_shadow_go_on(s, head, req->arrived_ns);
	fb_shadow_settle(s);
	if (!s->follows)
		return;
	s->follows = fb_shadow_add(s, head->dm, req);
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
	fb_mean_add(&s->late, c->cause == FB_CAUSE_PLAIN ? r->late_ns : 0, FB_SHADOW_FADES);
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
