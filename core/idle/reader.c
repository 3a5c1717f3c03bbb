// SPDX-License-Identifier: GPL-2.0
/* Reads while the disk is idle, one after the other; see core/idle/reader.h. */
#include "core/completion.h"
#include "core/idle/reader.h"

u64 fb_idle_reader_due_ns(struct fb_idle_reader *r, u64 least_ns, u64 now)
{
	u64 clean_ns = fb_destage_clean_ns(r->destage), due_ns;

	if (fb_idle_reader_is_used(r) || least_ns == FB_IDLE_POLICY_NEVER)
		return FB_IDLE_POLICY_NEVER;
	r->wait->hold_ns = fb_destage_begin_ns(r->destage, now);
	/* the drive is known to be at work: the threshold need not tell */
	if (clean_ns)
		r->wait->hold_ns -= min(r->wait->hold_ns, FB_IDLE_READER_LEAD_NS +
					(r->wait->read ? 0 : r->wait->wait_ns));
	due_ns = fb_idle_policy_begin_ns(r->wait, now);
	return max(max(due_ns, r->retry_ns), least_ns);
}

void fb_idle_reader_ask(struct fb_idle_reader *r, const struct fb_head *head, bool ahead,
			struct dm_place *at, struct fb_idle_order_ask *ask, u64 now)
{
	struct fb_idle_policy_aim aim;
	u64 at_ns = max(now + FB_IDLE_ORDER_SEND_NS, fb_destage_clean_ns(r->destage)), start_ns;

	fb_idle_policy_aim(r->wait, r->destage, &aim);
	*ask = (struct fb_idle_order_ask) {
		.max_sectors = r->wait->sectors,
		.max_ns = fb_idle_policy_longest_ns(r->wait),
		.ahead = ahead,
		/* it best begins where the foreground has left the head */
		.aimed = aim.moved,
		.aim = aim.lbn,
		.over = aim.over,
		.skip = aim.skip,
	};
	if (head && fb_completion_idle_head(head, at_ns, false, at, &start_ns))
		ask->head = at;
	if (ask->head && !ahead)
		ask->max_sectors = r->wait->alone_sectors;
	r->destage->alone = !ahead;
}

bool fb_idle_reader_find(struct fb_idle_order *o, const struct fb_quarantine *b,
			 const struct fb_idle_order_ask *ask, struct fb_plan_piece *out, u64 now)
{
	struct fb_plan plan = { .kind = FB_PLAN_SEPARATE, .npieces = 1 };

	if (!fb_idle_order_next(o, ask, &plan.piece[0]) ||
	    !fb_quarantine_divert(b, ask->bm, &plan.piece[0]) ||
	    !fb_quarantine_cut(b, ask->bm, now, &plan))
		return false;
	*out = plan.piece[0];
	return true;
}

void fb_idle_reader_offer(struct fb_idle_reader *r, const struct fb_plan_piece *piece, u64 now)
{
	r->piece = *piece;
	r->ready = true;
	/* in case the host finds that it cannot be sent */
	fb_idle_reader_miss(r, now);
}

void fb_idle_reader_miss(struct fb_idle_reader *r, u64 now)
{
	r->retry_ns = now + FB_IDLE_READER_RETRY_NS;
}

void fb_idle_reader_withdraw(struct fb_idle_reader *r)
{
	if (r->ready)
		r->retry_ns = 0;
	r->ready = false;
}

void fb_idle_reader_sent(struct fb_idle_reader *r, u64 now)
{
	r->ready = false;
	r->retry_ns = 0;
	r->used_ns = now;
	fb_idle_policy_sent(r->wait, now, r->piece.nsect);
}

void fb_idle_reader_ended(struct fb_idle_reader *r, bool good, u64 now)
{
	r->used_ns = now;
	if (good && !r->spins_up)
		fb_idle_policy_judge(r->wait, now, r->destage);
	else
		fb_destage_idle_ended(r->destage, now, false, 0);
	fb_idle_policy_ended(r->wait, now);
	r->spins_up = false;
}
