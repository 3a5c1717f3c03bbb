// SPDX-License-Identifier: GPL-2.0
/*
 * Reads while nobody else wants anything; see sim_idle.h.
 */
#include "sim_idle.h"
#include "sim_file.h"

#define SIMI_AGAIN_NS 1000000ULL	/* fb_idle_order_next(): when to ask again */

void simi_init(struct simi *i, const struct simo *o, const struct simt *task, bool ahead)
{
	u64 wait_ns = FB_IDLE_POLICY_AUTO;
	u32 sectors = 0;

	memset(i, 0, sizeof(*i));
	i->o = o;
	i->task = task;
	i->ahead = ahead && !o->verify;
	i->longest = o->verify ? fb_longest_verify(task->lim.granule_sectors) :
		     task->lim.max_sectors;
	i->next_ns = SIMI_NEVER;
	if (!o->idle)
		return;
	fb_idle_policy_init(&i->wait, 0);
	if (task->dm)
		fb_idle_policy_set_drive(&i->wait, dm_period_ns(task->dm),
					 dm_info(task->dm)->period_ps /
					 dm_info(task->dm)->spt_least);
	fb_idle_policy_set_goals(&i->wait, o->idle_mean_us * 1000, o->idle_max_us * 1000);
	if (o->idle_wait_us != SIMO_AUTO)
		wait_ns = o->idle_wait_us * 1000;
	if (o->idle_size_kib != SIMO_AUTO)
		sectors = o->idle_size_kib * 2;
	fb_idle_policy_set_fixed(&i->wait, wait_ns, sectors);
	if (fb_idle_order_init(&i->order, o->order, task->sectors, task->lim.granule_sectors,
			       o->order_regions, o->segment_kib * 2))
		sim_usage("segment_kib: not whole blocks of %u sectors", task->lim.granule_sectors);
}

void simi_arrived(struct simi *i, u64 now_ns, const struct fb_fg_req *req)
{
	i->foreground++;
	if (i->o->idle)
		fb_idle_policy_arrive(&i->wait, now_ns, req);
}

void simi_arrived_unfollowed(struct simi *i, u64 now_ns, const struct fb_fg_req *req)
{
	i->foreground++;
	if (i->o->idle)
		fb_idle_policy_arrive_unfollowed(&i->wait, now_ns, req);
}

void simi_gone(struct simi *i, u64 now_ns, const struct fb_fg_req *req)
{
	if (i->o->idle && req)
		fb_idle_policy_served(&i->wait, now_ns, req);
	if (!--i->foreground && i->o->idle)
		fb_idle_policy_idle(&i->wait, now_ns);
}

bool simi_find(struct simi *i, u64 now_ns, const struct dm_place *head,
	       struct fb_destage *destage, struct fb_plan_piece *piece)
{
	struct fb_idle_order_ask ask = {
		.dm = i->task->dm,
		.bm = &i->task->bm,
		.head = head,
		.ahead = i->ahead,
		.max_sectors = min(i->wait.sectors, i->longest),
		.max_ns = fb_idle_policy_longest_ns(&i->wait),
	};
	u64 begin_ns = fb_idle_policy_begin_ns(&i->wait, now_ns);
	struct fb_idle_policy_aim aim;

	i->next_ns = begin_ns == FB_IDLE_POLICY_NEVER ? SIMI_NEVER : begin_ns;
	if (begin_ns > now_ns)
		return false;
	i->next_ns = i->task->bm.n_wanted ? now_ns + SIMI_AGAIN_NS : SIMI_NEVER;
	fb_idle_policy_aim(&i->wait, destage, &aim);
	ask.aimed = aim.moved;
	ask.aim = aim.lbn;
	ask.over = aim.over;
	ask.skip = aim.skip;
	return fb_idle_order_next(&i->order, &ask, piece);
}

void simi_wrote(struct simi *i, const struct fb_fg_req *req)
{
	if (i->o->idle)
		fb_idle_policy_wrote(&i->wait, req);
}

void simi_sent(struct simi *i, u64 now_ns, u64 end_ns, const struct fb_plan_piece *piece)
{
	i->next_ns = SIMI_NEVER;
	i->reads++;
	i->sectors += piece->nsect;
	fb_idle_policy_sent(&i->wait, now_ns, piece->nsect);
	if (!end_ns)
		return;
	i->predicted++;
	i->predicted_ns += end_ns - now_ns;
	i->most_ns = max(i->most_ns, end_ns - now_ns);
}
