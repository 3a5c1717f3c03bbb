// SPDX-License-Identifier: GPL-2.0
/*
 * What the drive would do without us; see core/shadow.h. Calls: core/vdrive.c, core/head.c,
 * disk_model.c, and the means of core/idle_cost.c. Core: no locks, the caller serialises.
 */
#include "core/shadow.h"

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

/* do what the shadow has begun by now; what is left over is done at the next event */
static void fb_shadow_go_on(struct fb_shadow *s, const struct fb_head *head, u64 now)
{
	const struct dm_info *info = dm_info(head->dm);
	struct fb_vdrive_req r;
	u32 i;

	s->follows = s->follows && head->anchored;
	for (i = 0; i < FB_VDRIVE_STEPS && s->follows && fb_vdrive_serve(&s->drive, head, now, &r);
	     i++) {
		s->drive.free_ns += fb_idle_cost_mean_ns(&s->late, FB_SHADOW_PRIOR);
		s->sum_ns -= s->drive.free_ns +
			(r.req.write ? info->write_report_ns : info->read_report_ns);
	}
}

/* where both have ended the same requests, the sum of times says how much later the drive has */
static void fb_shadow_settle(struct fb_shadow *s)
{
	if (!s->follows || s->open || s->drive.n)
		return;
	s->followed += s->ended;
	s->later_ns += s->sum_ns;
	s->ended = 0;
	s->sum_ns = 0;
}

void fb_shadow_arrived(struct fb_shadow *s, const struct fb_head *head,
		       const struct fb_idle_cost_req *req)
{
	fb_shadow_go_on(s, head, req->arrived_ns);
	fb_shadow_settle(s);
	if (!s->follows)
		return;
	s->follows = fb_vdrive_add(&s->drive, head->dm, req, false);
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
	fb_vdrive_clear(&s->drive, &head->at, now);
	s->open = 0;
	s->ended = 0;
	s->sum_ns = 0;
}
